//! Line, scatter and bar charts as SVG: one panel or several side by side with one
//! legend and one vertical axis.
//!
//! Series are told apart by colour *and* by marker, in the palette of Okabe and Ito, so that charts
//! also work for colour-blind readers and in grey print. The same figure always gives the same
//! text.

use std::fmt::Write;

use super::axis::{Axis, Scale};
use super::number::compact;
use super::svg::{escaped, place};

/// Blue, vermillion, green, purple, orange, sky blue and ink: the colours of the palette that are
/// legible on white.
const COLORS: [&str; 7] =
    ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#3a3f4a"];
const INK: &str = "#24272e";
const QUIET: &str = "#5f6570";
const GRID: &str = "#e3e5e9";
const HAIRLINE: &str = "#f1f2f4";
const LEVEL: &str = "#8a8f99";

const FONT: f64 = 13.0;
/// Average width of a character as a share of the font size, only for estimating free room.
const CHARACTER: f64 = 0.56;
const PADDING: f64 = 18.0;
const PANEL_HEIGHT: f64 = 290.0;
/// Width of one panel alone, and of each of several.
const ONE_PANEL: f64 = 430.0;
const OF_SEVERAL: f64 = 300.0;
const BETWEEN_PANELS: f64 = 26.0;
const LEGEND_LINE: f64 = 22.0;
const LEGEND_SAMPLE: f64 = 34.0;
/// Over more than three decades, lines between them do not help.
const MOST_HAIRLINES: usize = 26;
/// Half the size of a marker.
const MARKER: f64 = 4.0;

/// Panels with one title, one legend and one vertical axis.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    pub title: String,
    /// Small, under the panels.
    pub note: String,
    pub vertical: AxisSide,
    pub panels: Vec<Panel>,
}

/// A coordinate system. Series of the same name in several panels look the same.
#[derive(Debug, Clone, PartialEq)]
pub struct Panel {
    pub title: String,
    pub horizontal: AxisSide,
    pub series: Vec<ChartSeries>,
}

/// One direction of a coordinate system.
#[derive(Debug, Clone, PartialEq)]
pub struct AxisSide {
    pub label: String,
    pub scale: Scale,
    /// The positions of labels; empty for round numbers.
    pub ticks: Vec<(f64, String)>,
    /// Whether its values are shares, labelled in percent.
    pub percent: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ChartSeries {
    /// Empty if there is nothing to distinguish.
    pub name: String,
    pub mark: Mark,
    pub points: Vec<Point>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// A line with a marker at every point.
    Line,
    /// A line alone, for many points.
    Curve,
    /// Markers alone.
    Points,
    /// Bars side by side around their place; places are 1 apart.
    Bars,
    /// A dashed line without a marker, for a reference.
    Level,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    pub x: f64,
    pub y: f64,
    /// Reaches from y − spread to y + spread.
    pub spread: Option<f64>,
}

impl Point {
    pub fn new(x: f64, y: f64) -> Self {
        Self { x, y, spread: None }
    }
}

impl AxisSide {
    pub fn linear(label: &str) -> Self {
        Self { label: label.to_owned(), scale: Scale::Linear, ticks: Vec::new(), percent: false }
    }

    pub fn in_percent(self, percent: bool) -> Self {
        Self { percent, ..self }
    }

    pub fn log(label: &str) -> Self {
        Self { scale: Scale::Log, ..Self::linear(label) }
    }

    /// With labels only at these values.
    pub fn at(mut self, values: &[f64]) -> Self {
        let finite = values.iter().filter(|value| value.is_finite());
        self.ticks = finite.map(|value| (*value, compact(*value))).collect();
        self
    }

    /// With names at 0, 1, 2 …
    pub fn named(label: &str, names: &[&str]) -> Self {
        let ticks = (0_u32..).zip(names).map(|(k, name)| (f64::from(k), (*name).to_owned()));
        Self { ticks: ticks.collect(), ..Self::linear(label) }
    }

    fn shows(&self, value: f64) -> bool {
        value.is_finite() && (self.scale == Scale::Linear || value > 0.0)
    }

    fn axis(&self, values: impl Iterator<Item = f64>) -> Axis {
        let within = values.filter(|value| self.shows(*value));
        let (low, high) = within.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
            (low.min(value), high.max(value))
        });
        if low <= high { Axis::around(low, high, self.scale) } else { Axis::exactly(0.0, 1.0) }
    }

    fn labels(&self, axis: &Axis, count: u16) -> Vec<(f64, String)> {
        if self.ticks.is_empty() {
            let ticks =
                if self.percent { axis.percent_ticks(count) } else { axis.ticks(count, false) };
            ticks.into_iter().map(|tick| (tick.value, tick.label)).collect()
        } else {
            self.ticks.clone()
        }
    }
}

/// The position of a panel on the page, and its axes.
struct PanelFrame {
    left: f64,
    top: f64,
    width: f64,
    horizontal: Axis,
    vertical: Axis,
}

impl PanelFrame {
    fn x(&self, value: f64) -> f64 {
        self.left + self.width * self.horizontal.fraction(value)
    }

    fn y(&self, value: f64) -> f64 {
        self.top + PANEL_HEIGHT * (1.0 - self.vertical.fraction(value))
    }

    fn bottom(&self) -> f64 {
        self.top + PANEL_HEIGHT
    }

    fn right(&self) -> f64 {
        self.left + self.width
    }
}

/// The look of a series.
#[derive(Clone, Copy)]
struct SeriesLook {
    color: &'static str,
    /// The index of the marker.
    shape: usize,
    /// Dashes of a level.
    dashes: &'static str,
}

fn width_of(text: &str) -> f64 {
    text.chars().count() as f64 * FONT * CHARACTER
}

impl Figure {
    /// Names of all series in the order of their first appearance, with their look.
    fn legend(&self) -> Vec<(&str, Mark, SeriesLook)> {
        const DASHES: [&str; 3] = ["7 4", "2 3", "9 3 2 3"];
        let mut known: Vec<(&str, Mark, SeriesLook)> = Vec::new();
        for series in self.panels.iter().flat_map(|panel| &panel.series) {
            if known.iter().any(|(name, _, _)| *name == series.name) {
                continue;
            }
            let alike = |mark: &Mark| (*mark == Mark::Level) == (series.mark == Mark::Level);
            let count = known.iter().filter(|(_, mark, _)| alike(mark)).count();
            let level = series.mark == Mark::Level;
            let look = SeriesLook {
                color: if level { LEVEL } else { COLORS[count % COLORS.len()] },
                shape: count,
                dashes: DASHES[count % DASHES.len()],
            };
            known.push((&series.name, series.mark, look));
        }
        known
    }

    /// A self-contained SVG document.
    pub fn svg(&self) -> String {
        let vertical = self.vertical_axis();
        let labels = self.vertical.labels(&vertical, 6);
        let legend = self.legend();
        let label_room = labels.iter().map(|(_, text)| width_of(text)).fold(0.0, f64::max);
        let left = PADDING + label_room + 10.0;
        // Title, label of the vertical axis and, over several panels, their titles.
        let named = self.panels.iter().any(|panel| !panel.title.is_empty());
        let top = PADDING + 22.0 + 28.0 + if named { 22.0 } else { 0.0 };
        let width = if self.panels.len() > 1 { OF_SEVERAL } else { ONE_PANEL };
        let panels = self.panels.len().max(1) as f64;
        let right = left + panels * width + (panels - 1.0) * BETWEEN_PANELS;
        let mut explained = legend.clone();
        explained.retain(|(name, _, _)| !name.is_empty());
        let names = explained.iter().map(|(name, _, _)| width_of(name)).fold(0.0, f64::max);
        let legend_room = if explained.is_empty() { 0.0 } else { 26.0 + LEGEND_SAMPLE + names };
        let total_width = (right + legend_room).max(width_of(&self.title) * 1.25) + PADDING;
        let note_room = if self.note.is_empty() { 0.0 } else { 24.0 };
        let total_height = top + PANEL_HEIGHT + 48.0 + note_room + 6.0;

        let (total_width, total_height) = (total_width.ceil(), total_height.ceil());
        let mut out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{total_width}\" \
             height=\"{total_height}\" viewBox=\"0 0 {total_width} {total_height}\" role=\"img\" \
             font-family=\"system-ui,'Segoe UI','DejaVu Sans',Helvetica,Arial,sans-serif\" \
             font-size=\"{FONT}\" fill=\"{INK}\">\n<title>{}</title>\n\
             <rect width=\"{total_width}\" height=\"{total_height}\" rx=\"8\" fill=\"#ffffff\"/>\n",
            escaped(&self.title)
        );
        let title = " font-size=\"16\" font-weight=\"600\"";
        draw_text(&mut out, PADDING, PADDING + 14.0, title, &self.title);
        let quiet = format!(" fill=\"{QUIET}\"");
        draw_text(&mut out, PADDING, PADDING + 38.0, &quiet, &self.vertical.label);
        if !self.note.is_empty() {
            let small = format!(" fill=\"{QUIET}\" font-size=\"11\"");
            draw_text(&mut out, PADDING, total_height - 14.0, &small, &self.note);
        }
        for (index, panel) in self.panels.iter().enumerate() {
            let shift = index as f64 * (width + BETWEEN_PANELS);
            let horizontal = panel.horizontal_axis();
            let frame = PanelFrame { left: left + shift, top, width, horizontal, vertical };
            panel.draw_grid(&mut out, &frame, &labels, index == 0);
            panel.draw_series(&mut out, &frame, &legend);
        }
        if !explained.is_empty() {
            draw_legend(&mut out, &explained, right + 26.0, top + 10.0);
        }
        out.push_str("</svg>\n");
        out
    }

    fn vertical_axis(&self) -> Axis {
        let series = self.panels.iter().flat_map(|panel| &panel.series);
        let bars = series.clone().any(|series| series.mark == Mark::Bars);
        let points = series.flat_map(|series| &series.points);
        let ends = points.flat_map(|point| {
            let spread = point.spread.unwrap_or(0.0);
            [point.y, point.y - spread, point.y + spread]
        });
        // Bars are read by their length, so they begin at zero.
        let from = (bars && self.vertical.scale == Scale::Linear).then_some(0.0);
        self.vertical.axis(ends.chain(from))
    }
}

impl Panel {
    fn horizontal_axis(&self) -> Axis {
        let points = self.series.iter().flat_map(|series| {
            let reach = if series.mark == Mark::Bars { 0.5 } else { 0.0 };
            series.points.iter().flat_map(move |point| [point.x - reach, point.x + reach])
        });
        let ticks = self.horizontal.ticks.iter().map(|(value, _)| *value);
        let axis = self.horizontal.axis(points.clone().chain(ticks));
        if self.series.iter().any(|series| series.mark == Mark::Bars) {
            let low = points.clone().fold(f64::INFINITY, f64::min);
            return Axis::exactly(low, points.fold(low, f64::max));
        }
        axis
    }

    fn draw_grid(
        &self,
        out: &mut String,
        frame: &PanelFrame,
        labels: &[(f64, String)],
        first: bool,
    ) {
        let (left, right) = (place(frame.left), place(frame.right()));
        let (top, bottom) = (place(frame.top), place(frame.bottom()));
        let mut across = |y: f64, color: &str| {
            let y = place(y);
            let _ = writeln!(out, "<path d=\"M{left} {y}H{right}\" stroke=\"{color}\"/>");
        };
        let between = frame.vertical.between_decades();
        for value in between.iter().filter(|_| between.len() <= MOST_HAIRLINES) {
            across(frame.y(*value), HAIRLINE);
        }
        for (value, _) in labels {
            across(frame.y(*value), GRID);
        }
        across(frame.bottom(), QUIET);
        if first {
            let end = format!(" text-anchor=\"end\" fill=\"{QUIET}\"");
            for (value, label) in labels {
                draw_text(out, frame.left - 8.0, frame.y(*value) + 4.5, &end, label);
            }
        }
        let bars = self.series.iter().any(|series| series.mark == Mark::Bars);
        let centred = format!(" text-anchor=\"middle\" fill=\"{QUIET}\"");
        for (value, label) in self.horizontal.labels(&frame.horizontal, 6) {
            let x = frame.x(value);
            if !bars {
                let x = place(x);
                let _ = writeln!(out, "<path d=\"M{x} {top}V{bottom}\" stroke=\"{GRID}\"/>");
            }
            draw_text(out, x, frame.bottom() + 18.0, &centred, &label);
        }
        let middle = f64::midpoint(frame.left, frame.right());
        draw_text(out, middle, frame.bottom() + 38.0, &centred, &self.horizontal.label);
        if !self.title.is_empty() {
            let title = " text-anchor=\"middle\" font-weight=\"600\"";
            draw_text(out, middle, frame.top - 10.0, title, &self.title);
        }
    }

    fn draw_series(
        &self,
        out: &mut String,
        frame: &PanelFrame,
        legend: &[(&str, Mark, SeriesLook)],
    ) {
        let bars = self.series.iter().filter(|series| series.mark == Mark::Bars).count();
        let mut bar = 0;
        for series in &self.series {
            let known = legend.iter().find(|(name, _, _)| *name == series.name);
            let Some((_, _, look)) = known else { continue };
            let shown = |point: &&Point| {
                let (x, y) = (point.x, point.y);
                let on_axis = frame.horizontal.scale() == Scale::Linear || x > 0.0;
                let level = frame.vertical.scale() == Scale::Linear || y > 0.0;
                x.is_finite() && y.is_finite() && on_axis && level
            };
            let points: Vec<&Point> = series.points.iter().filter(shown).collect();
            let color = look.color;
            if series.mark == Mark::Bars {
                let share = 0.8 / bars as f64;
                let middle = (f64::from(bar) - (bars as f64 - 1.0) / 2.0) * share;
                for point in points {
                    let (x, y) = (frame.x(point.x + middle), frame.y(point.y));
                    let base = match frame.vertical.scale() {
                        Scale::Linear => frame.y(0.0),
                        Scale::Log => frame.bottom(),
                    };
                    let width = frame.x(point.x + share * 0.46) - frame.x(point.x - share * 0.46);
                    let _ = writeln!(
                        out,
                        "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{color}\"/>",
                        place(x - width / 2.0),
                        place(y.min(base)),
                        place(width),
                        place((base - y).abs())
                    );
                    draw_spread(out, frame, point, x, INK);
                }
                bar += 1;
                continue;
            }
            if series.mark != Mark::Points && points.len() > 1 {
                let way = way(points.iter().map(|point| (frame.x(point.x), frame.y(point.y))));
                let _ = writeln!(out, "<path d=\"M{way}\"{}/>", stroke(series.mark, *look));
            }
            for point in points {
                if series.mark != Mark::Level {
                    draw_spread(out, frame, point, frame.x(point.x), color);
                }
                if matches!(series.mark, Mark::Line | Mark::Points) {
                    draw_marker(out, *look, frame.x(point.x), frame.y(point.y));
                }
            }
        }
    }
}

fn draw_text(out: &mut String, x: f64, y: f64, attributes: &str, content: &str) {
    let (x, y, content) = (place(x), place(y), escaped(content));
    let _ = writeln!(out, "<text x=\"{x}\" y=\"{y}\"{attributes}>{content}</text>");
}

/// The corners of a path.
fn way(corners: impl Iterator<Item = (f64, f64)>) -> String {
    corners.map(|(x, y)| format!("{} {}", place(x), place(y))).collect::<Vec<_>>().join("L")
}

fn stroke(mark: Mark, look: SeriesLook) -> String {
    let (width, dashes) = match mark {
        Mark::Level => ("1.5", format!(" stroke-dasharray=\"{}\"", look.dashes)),
        _ => ("2", String::new()),
    };
    format!(
        " fill=\"none\" stroke=\"{}\" stroke-width=\"{width}\" stroke-linejoin=\"round\"{dashes}",
        look.color
    )
}

/// From y − spread to y + spread, with a cap at both ends. Parts that a logarithmic axis cannot
/// show end at its border.
fn draw_spread(out: &mut String, frame: &PanelFrame, point: &Point, x: f64, color: &str) {
    let Some(spread) = point.spread.filter(|spread| spread.is_finite() && *spread > 0.0) else {
        return;
    };
    let (above, below) = (frame.y(point.y + spread), frame.y(point.y - spread));
    let below = if frame.vertical.scale() == Scale::Log && point.y <= spread {
        frame.bottom()
    } else {
        below
    };
    let (left, right) = (place(x - 3.5), place(x + 3.5));
    let (x, above, below) = (place(x), place(above), place(below));
    let _ = writeln!(
        out,
        "<path d=\"M{x} {above}V{below}M{left} {above}H{right}M{left} {below}H{right}\" \
         stroke=\"{color}\" stroke-width=\"1.2\" fill=\"none\"/>"
    );
}

/// A filled marker with a thin white border, so that overlapping markers stay distinct.
fn draw_marker(out: &mut String, look: SeriesLook, x: f64, y: f64) {
    let corners: &[(f64, f64)] = match look.shape % 7 {
        1 => &[(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)],
        2 => &[(0.0, -1.3), (1.2, 0.9), (-1.2, 0.9)],
        3 => &[(0.0, -1.4), (1.4, 0.0), (0.0, 1.4), (-1.4, 0.0)],
        4 => &[(0.0, 1.3), (1.2, -0.9), (-1.2, -0.9)],
        5 => &[(-1.3, -0.6), (1.3, -0.6), (1.3, 0.6), (-1.3, 0.6)],
        6 => &[(-0.6, -1.3), (0.6, -1.3), (0.6, 1.3), (-0.6, 1.3)],
        _ => &[],
    };
    let color = look.color;
    let border = "stroke=\"#ffffff\" stroke-width=\"0.8\"";
    if corners.is_empty() {
        let (x, y) = (place(x), place(y));
        let _ = writeln!(
            out,
            "<circle cx=\"{x}\" cy=\"{y}\" r=\"{MARKER}\" fill=\"{color}\" {border}/>"
        );
        return;
    }
    let way = way(corners.iter().map(|(dx, dy)| (x + MARKER * dx, y + MARKER * dy)));
    let _ = writeln!(out, "<path d=\"M{way}Z\" fill=\"{color}\" {border}/>");
}

fn draw_legend(out: &mut String, legend: &[(&str, Mark, SeriesLook)], left: f64, top: f64) {
    for (index, (name, mark, look)) in legend.iter().enumerate() {
        let y = top + LEGEND_LINE * index as f64;
        let middle = left + (LEGEND_SAMPLE - 8.0) / 2.0;
        match mark {
            Mark::Bars => {
                let (x, y, color) = (place(middle - 6.0), place(y - 6.0), look.color);
                let _ = writeln!(
                    out,
                    "<rect x=\"{x}\" y=\"{y}\" width=\"12\" height=\"12\" fill=\"{color}\"/>"
                );
            }
            Mark::Points => draw_marker(out, *look, middle, y),
            Mark::Line | Mark::Curve | Mark::Level => {
                let (from, to) = (place(left), place(left + LEGEND_SAMPLE - 8.0));
                let _ = writeln!(
                    out,
                    "<path d=\"M{from} {0}L{to} {0}\"{1}/>",
                    place(y),
                    stroke(*mark, *look)
                );
                if *mark == Mark::Line {
                    draw_marker(out, *look, middle, y);
                }
            }
        }
        draw_text(out, left + LEGEND_SAMPLE, y + 4.5, "", name);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use halflight_testing::elements;

    fn line(name: &str, points: &[(f64, f64, f64)]) -> ChartSeries {
        let points =
            points.iter().map(|(x, y, spread)| Point { x: *x, y: *y, spread: Some(*spread) });
        ChartSeries { name: name.into(), mark: Mark::Line, points: points.collect() }
    }

    fn figure(series: Vec<ChartSeries>) -> Figure {
        Figure {
            title: "a & b".into(),
            note: String::new(),
            vertical: AxisSide::log("‖M(q)‖₂"),
            panels: vec![Panel {
                title: String::new(),
                horizontal: AxisSide::log("ε").at(&[1.0, 4.0, 16.0]),
                series,
            }],
        }
    }

    fn count(elements: &[String], name: &str) -> usize {
        elements.iter().filter(|tag| tag.split(' ').next() == Some(name)).count()
    }

    #[test]
    fn a_small_chart_as_svg() {
        let points = [(1.0, 0.3, 0.05), (4.0, 0.02, 0.01), (16.0, 0.004, 0.005)];
        let mut figure = figure(vec![line("ours", &points), line("theirs", &[(1.0, 0.4, 0.0)])]);
        figure.note = "ten seeds".into();
        insta::assert_snapshot!(figure.svg());
    }

    #[test]
    fn what_an_axis_cannot_show_is_left_out() {
        let points = [(1.0, 0.0, 0.1), (4.0, f64::NAN, 0.1), (0.0, 0.1, 0.1), (16.0, 0.1, 0.01)];
        let svg = figure(vec![line("one", &points)]).svg();
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        // One point, and the one of the legend.
        assert_eq!(count(&elements(&svg).unwrap(), "circle"), 2);
        assert!(svg.contains("a &amp; b"));
    }

    #[test]
    fn the_same_name_looks_the_same_in_every_panel() {
        let mut figure = figure(vec![line("a", &[(1.0, 0.1, 0.0)]), line("b", &[(1.0, 0.2, 0.0)])]);
        let mut second = figure.panels[0].clone();
        second.series.remove(0);
        figure.panels.push(second);
        let svg = figure.svg();
        // b is a vermillion square: two panels and the legend.
        assert_eq!(svg.matches(&format!("Z\" fill=\"{}\"", COLORS[1])).count(), 3);
        assert_eq!(count(&elements(&svg).unwrap(), "circle"), 2);
    }

    #[test]
    fn bars_begin_at_zero_and_stand_side_by_side() {
        let bars = |name: &str, heights: [f64; 2]| ChartSeries {
            name: name.into(),
            mark: Mark::Bars,
            points: vec![Point::new(0.0, heights[0]), Point::new(1.0, heights[1])],
        };
        let figure = Figure {
            title: "bars".into(),
            note: String::new(),
            vertical: AxisSide::linear("error"),
            panels: vec![Panel {
                title: String::new(),
                horizontal: AxisSide::named("", &["x", "y"]),
                series: vec![bars("one", [1.0, 2.0]), bars("two", [2.0, 4.0])],
            }],
        };
        let svg = figure.svg();
        let number = |tag: &String, key: &str| -> f64 {
            let rest = tag.split_once(&format!(" {key}=\"")).unwrap().1;
            rest.split_once('"').unwrap().0.parse().unwrap()
        };
        let elements = elements(&svg).unwrap();
        let rects: Vec<&String> = elements
            .iter()
            .filter(|tag| tag.starts_with("rect x") && tag.contains("fill=\"#"))
            .collect();
        let drawn = &rects[..4];
        let heights: Vec<f64> = drawn.iter().map(|tag| number(tag, "height")).collect();
        assert!((heights[3] / heights[0] - 4.0).abs() < 0.02, "{heights:?}");
        assert!((heights[1] - heights[2]).abs() < 0.2, "{heights:?}");
        for pair in [[0, 2], [2, 1], [1, 3]] {
            let (one, next) = (drawn[pair[0]], drawn[pair[1]]);
            assert!(number(one, "x") + number(one, "width") <= number(next, "x"), "{one} {next}");
        }
    }

    #[test]
    fn a_series_without_a_name_has_no_legend_and_leaves_no_room_for_one() {
        let one = |name: &str| figure(vec![line(name, &[(1.0, 0.1, 0.0), (4.0, 0.2, 0.0)])]).svg();
        let (named, bare) = (one("the only one"), one(""));
        let count = |svg: &str| count(&elements(svg).unwrap(), "circle");
        assert_eq!((count(&named), count(&bare)), (3, 2));
        let width = |svg: &str| -> f64 {
            svg.split("width=\"").nth(1).unwrap().split('"').next().unwrap().parse().unwrap()
        };
        assert!(width(&bare) + 60.0 < width(&named));
    }

    #[test]
    fn an_empty_figure_is_a_document_still() {
        let mut figure = figure(Vec::new());
        elements(&figure.svg()).unwrap();
        figure.panels.clear();
        elements(&figure.svg()).unwrap();
    }

    fn any_mark() -> impl Strategy<Value = Mark> {
        prop_oneof![
            Just(Mark::Line),
            Just(Mark::Curve),
            Just(Mark::Points),
            Just(Mark::Bars),
            Just(Mark::Level)
        ]
    }

    proptest! {
        #[test]
        fn any_figure_gives_the_same_well_formed_picture_twice(
            series in proptest::collection::vec(
                (any_mark(), proptest::collection::vec((-1e3..1e3_f64, any::<f64>(), 0.0..10.0_f64), 0..6)),
                0..9,
            ),
            logarithmic: bool,
        ) {
            let series = series.into_iter().enumerate().map(|(index, (mark, points))| ChartSeries {
                mark,
                ..line(&format!("series {index} <"), &points)
            });
            let mut figure = figure(series.collect());
            if !logarithmic {
                figure.vertical.scale = Scale::Linear;
                figure.panels[0].horizontal = AxisSide::linear("x");
            }
            let svg = figure.svg();
            prop_assert!(elements(&svg).is_ok(), "{svg}");
            prop_assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
            prop_assert_eq!(svg, figure.svg());
        }
    }
}
