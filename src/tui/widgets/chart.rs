//! A chart of several curves over one x axis.
//!
//! Drawn straight into cells: ratatui's own chart loops forever on a NaN and
//! passes over spikes. See [`series`](super::series) for how points become
//! columns.
//!
//! ```text
//!  loss                                        step 118
//!  ● objective 0.0123  ▲ exact ◆ 0.0117
//!   0.4┤⡄
//!   0.2┤⠈⠢⢄⣀
//!     0┤    ⠉⠉⠉⠉⠒⠒⠒⠒⠤⠤⠤⠤⠤⠤●
//!      └┬─────────┬─────────┬
//!       0        100       200
//! ```

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget;

use super::dots::{Dots, Ink, Owner};
use super::series::{Bin, Point, bins, extent};
use super::{put, shortened, width, write};
use crate::plot::axis::{Axis, Scale};
use crate::plot::number::compact;
use crate::tui::theme::{Glyphs, Theme};

pub use super::series::{nearest, smooth};

/// Columns for the labels of the y axis and the axis itself. Fixed, so that
/// charts under one another stay aligned and nothing jumps while data stream in;
/// only longer labels widen it.
const GUTTER: u16 = 7;
/// With less than this beside it, the gutter is given up for the curve.
const NARROWEST_PLOT: u16 = 12;

/// One curve: x ascending; a y that is NaN or infinite is a gap.
#[derive(Debug, Clone, Copy)]
pub struct SeriesView<'a> {
    pub name: &'a str,
    pub style: Style,
    /// Computed from private data without noise: marked `◆` wherever it is read.
    pub curator: bool,
    pub points: &'a [Point],
}

/// A horizontal line that curves are compared with, such as a budget.
#[derive(Debug, Clone, Copy)]
struct Reference<'a> {
    value: f64,
    label: &'a str,
}

/// What to draw and how; drawing changes nothing.
#[derive(Debug, Clone)]
pub struct Chart<'a> {
    title: &'a str,
    theme: &'a Theme,
    glyphs: &'a Glyphs,
    series: Vec<SeriesView<'a>>,
    log: bool,
    steps: bool,
    x_name: &'a str,
    window: Option<(f64, f64)>,
    cursor: Option<f64>,
    reference: Option<Reference<'a>>,
    empty: &'a str,
}

impl<'a> Chart<'a> {
    pub fn new(title: &'a str, theme: &'a Theme, glyphs: &'a Glyphs) -> Self {
        Self {
            title,
            theme,
            glyphs,
            series: Vec::new(),
            log: false,
            steps: true,
            x_name: "step",
            window: None,
            cursor: None,
            reference: None,
            empty: "no steps yet",
        }
    }

    /// Adds a curve; earlier ones are drawn over later ones.
    pub fn series(mut self, series: SeriesView<'a>) -> Self {
        self.series.push(series);
        self
    }

    /// A decimal logarithmic y axis; values that are not positive become gaps.
    pub fn log(mut self, log: bool) -> Self {
        self.log = log;
        self
    }

    /// What x counts, and whether only whole numbers of it make sense.
    pub fn x_axis(mut self, name: &'a str, whole: bool) -> Self {
        self.x_name = name;
        self.steps = whole;
        self
    }

    /// Shows only this range of x. A range that is empty or not finite is ignored.
    pub fn window(mut self, window: Option<(f64, f64)>) -> Self {
        self.window = window.filter(|(lo, hi)| lo.is_finite() && hi.is_finite() && lo < hi);
        self
    }

    /// Draws a vertical line at this x and reads out the nearest points.
    pub fn cursor(mut self, cursor: Option<f64>) -> Self {
        self.cursor = cursor.filter(|x| x.is_finite());
        self
    }

    /// Draws a dashed line at this y, which is kept in sight.
    pub fn reference(mut self, value: f64, label: &'a str) -> Self {
        self.reference = value.is_finite().then_some(Reference { value, label });
        self
    }

    /// What to say when there are no points at all.
    pub fn empty(mut self, message: &'a str) -> Self {
        self.empty = message;
        self
    }

    /// The x under a column of the terminal, for the mouse: `None` outside of the
    /// plot or where there is nothing to point at.
    pub fn x_at(&self, area: Rect, column: u16) -> Option<f64> {
        let layout = self.arrange(area);
        let figure = layout.figure.as_ref()?;
        let offset = column.checked_sub(layout.plot.x).filter(|&x| x < layout.plot.width)?;
        // The middle of the cell, in the dots that the curve is drawn with.
        let share = if layout.plot.width > 1 {
            f64::from(offset) / f64::from(layout.plot.width - 1)
        } else {
            0.5
        };
        Some(figure.x.at(share))
    }

    /// Where the curves are drawn and the x of its first and last column.
    pub fn plot(&self, area: Rect) -> Option<(Rect, (f64, f64))> {
        let layout = self.arrange(area);
        let ends = layout.figure.as_ref()?.x.ends();
        Some((layout.plot, ends))
    }

    /// The x range that is shown, for zooming from where the reader is.
    pub fn visible(&self) -> Option<(f64, f64)> {
        let whole = || {
            let extents = self.series.iter().filter_map(|series| extent(series.points));
            extents.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))
        };
        let (lo, hi) = self.window.or_else(whole)?;
        Some(Axis::exactly(lo, hi).ends())
    }

    fn scale(&self) -> Scale {
        if self.log { Scale::Log } else { Scale::Linear }
    }

    fn reference_on_axis(&self) -> Option<Reference<'a>> {
        self.reference.filter(|reference| !self.log || reference.value > 0.0)
    }

    /// Divides the area and bins the curves for the width that is left to them.
    fn arrange(&self, area: Rect) -> Layout {
        let mut layout = Layout::divide(area, !self.title.is_empty(), GUTTER);
        layout.figure = self.figure(&layout);
        let Some(labels) = layout.figure.as_ref().map(Figure::label_width) else {
            return layout;
        };
        if layout.gutter > 0 && labels + 1 > layout.gutter {
            layout = Layout::divide(area, !self.title.is_empty(), labels + 1);
            layout.figure = self.figure(&layout);
        }
        layout
    }

    fn figure(&self, layout: &Layout) -> Option<Figure> {
        let plot = layout.plot;
        let window = self.visible()?;
        let columns = Dots::new(plot.width, 0, self.glyphs.unicode).columns();
        let curves: Vec<Vec<Bin>> = self
            .series
            .iter()
            .map(|series| bins(series.points, window, columns, self.log))
            .collect();
        let extremes = curves.iter().flatten().map(|bin| (bin.min, bin.max));
        let (lo, hi) = extremes.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))?;
        let reference = self.reference_on_axis().map(|reference| reference.value);
        let lo = reference.map_or(lo, |value| lo.min(value));
        let hi = reference.map_or(hi, |value| hi.max(value));
        let y = Axis::around(lo, hi, self.scale());
        let ticks = y.ticks((plot.height / 2).clamp(2, 6), false);
        Some(Figure {
            x: Axis::exactly(window.0, window.1),
            y,
            curves,
            y_labels: ticks.into_iter().map(|tick| (tick.value, tick.label)).collect(),
        })
    }

    /// Why there is no curve to see.
    fn absence(&self) -> &str {
        if self.series.iter().all(|series| series.points.is_empty()) {
            return self.empty;
        }
        let shown = |window, positive| {
            self.series.iter().any(|series| !bins(series.points, window, 1, positive).is_empty())
        };
        if self.log && self.visible().is_some_and(|window| shown(window, false)) {
            "nothing positive to show on a log axis"
        } else if self.window.is_some() && shown((f64::MIN, f64::MAX), self.log) {
            "no points in this range"
        } else {
            "no finite values yet"
        }
    }

    fn draw_title(&self, layout: &Layout, buffer: &mut Buffer) {
        let Some(row) = layout.title else { return };
        let room = Rect { y: row, height: 1, ..layout.area };
        let scale = if self.log { " (log)" } else { "" };
        let title = format!("{}{scale}", self.title);
        let end = write(buffer, room, room.x, row, &self.glyphs.spell(&title), self.theme.accent);
        if let Some(x) = self.cursor_x() {
            let text = format!("{} {}", self.x_name, exact(x));
            let text = self.glyphs.spell(&text);
            if let Some(start) = room.right().checked_sub(width(&text)).filter(|&x| x > end) {
                write(buffer, room, start, row, &text, self.theme.text);
            }
        }
    }

    /// The x of the measured point nearest to the cursor, over all curves.
    fn cursor_x(&self) -> Option<f64> {
        let cursor = self.cursor?;
        let found = self.series.iter().filter_map(|series| nearest(series.points, cursor));
        found.map(|point| point.0).min_by(|a, b| (a - cursor).abs().total_cmp(&(b - cursor).abs()))
    }

    /// The number that the legend gives for a curve: under the cursor, or last.
    fn reading(&self, series: &SeriesView<'_>) -> String {
        let Some(cursor) = self.cursor else {
            return series.points.last().map_or_else(|| "–".to_owned(), |point| compact(point.1));
        };
        match nearest(series.points, cursor) {
            Some((x, y)) if Some(x) == self.cursor_x() => compact(y),
            Some((x, y)) => format!("{} @{}", compact(y), exact(x)),
            None => "–".to_owned(),
        }
    }

    fn draw_legend(&self, layout: &Layout, buffer: &mut Buffer) {
        let Some(row) = layout.legend else { return };
        let room = Rect { y: row, height: 1, ..layout.area };
        let readings: Vec<String> = self
            .series
            .iter()
            .map(|series| self.glyphs.spell(&self.reading(series)).into_owned())
            .collect();
        let names: Vec<_> =
            self.series.iter().map(|series| self.glyphs.spell(series.name)).collect();
        // Numbers and markers stay whole; where space is short, names shrink.
        let fixed: u16 = (self.series.iter().zip(&readings))
            .map(|(series, reading)| {
                let mark = if series.curator { 2 } else { 0 };
                2 + 1 + mark + width(reading) + 2
            })
            .fold(0, u16::saturating_add);
        let longest = names.iter().map(|name| width(name)).max().unwrap_or(0);
        let fits = |limit: &u16| {
            let names: u16 =
                names.iter().map(|name| width(name).min(*limit)).fold(0, u16::saturating_add);
            fixed.saturating_add(names) <= room.width.saturating_add(2)
        };
        let limit = (1..=longest.min(room.width)).rev().find(fits).unwrap_or(1);
        let mut line = Line::default();
        for (index, (series, reading)) in self.series.iter().zip(readings).enumerate() {
            let name = shortened(&names[index], limit, self.glyphs.clipped_right);
            line.push_span(Span::styled(self.glyphs.series(index), series.style));
            line.push_span(Span::styled(format!(" {name} "), self.theme.text));
            let mut style = self.theme.text;
            if series.curator {
                style = self.theme.curator;
                line.push_span(Span::styled(format!("{} ", self.glyphs.curator), style));
            }
            line.push_span(Span::styled(reading, style));
            line.push_span(Span::raw("  "));
        }
        buffer.set_line(room.x, row, &line, room.width);
    }

    fn draw_message(&self, layout: &Layout, buffer: &mut Buffer) {
        let plot = layout.plot;
        let message = self.glyphs.spell(self.absence());
        let message = shortened(&message, plot.width, self.glyphs.clipped_right);
        let x = plot.x + (plot.width - width(&message).min(plot.width)) / 2;
        write(buffer, plot, x, plot.y + plot.height / 2, &message, self.theme.muted);
    }

    fn draw_axes(&self, layout: &Layout, figure: Option<&Figure>, buffer: &mut Buffer) {
        let (plot, border) = (layout.plot, self.theme.border);
        if layout.gutter > 0 {
            let axis = plot.x - 1;
            for row in plot.top()..plot.bottom() {
                put(buffer, layout.area, axis, row, self.glyphs.vertical, border);
            }
            let dots = Dots::new(plot.width, plot.height, self.glyphs.unicode);
            let mut taken = None;
            for (value, label) in figure.map_or(&[][..], |figure| &figure.y_labels) {
                let fraction = figure.map_or(0.0, |figure| figure.y.fraction(*value));
                let row = plot.y + dots.cell_of(0, dots.row(fraction)).1;
                if taken == Some(row) {
                    continue;
                }
                taken = Some(row);
                put(buffer, layout.area, axis, row, self.glyphs.tick_left, border);
                if let Some(start) = axis.checked_sub(width(label)).filter(|&x| x >= layout.area.x)
                {
                    write(buffer, layout.area, start, row, label, self.theme.muted);
                }
            }
        }
        let Some(row) = layout.x_axis else { return };
        for x in plot.left()..plot.right() {
            put(buffer, layout.area, x, row, self.glyphs.horizontal, border);
        }
        if layout.gutter > 0 {
            put(buffer, layout.area, plot.x - 1, row, self.glyphs.corner, border);
            let name = self.glyphs.spell(self.x_name);
            let name = shortened(&name, layout.gutter - 1, self.glyphs.clipped_right);
            write(buffer, layout.area, layout.area.x, row + 1, &name, self.theme.muted);
        }
        let Some(figure) = figure else { return };
        // The first label may begin under the axis, but not run into the name.
        let mut free = if layout.gutter > 0 { plot.x - 1 } else { plot.x };
        let ticks = figure.x.ticks((plot.width / 8).max(2), self.steps);
        for tick in ticks.iter().filter(|tick| figure.x.contains(tick.value)) {
            let x = plot.x + self.column_of(figure, plot, tick.value);
            let size = width(&tick.label);
            let start = x.saturating_sub(size / 2).max(free);
            let start = start.min(plot.right().saturating_sub(size));
            if size > plot.width || start < free || start > x {
                continue;
            }
            put(buffer, layout.area, x, row, self.glyphs.tick_below, border);
            free = write(buffer, layout.area, start, row + 1, &tick.label, self.theme.muted)
                .saturating_add(1);
        }
    }

    /// The cell column of an x, counted from the left of the plot.
    fn column_of(&self, figure: &Figure, plot: Rect, x: f64) -> u16 {
        let dots = Dots::new(plot.width, 0, self.glyphs.unicode);
        dots.cell_of(dots.column(figure.x.fraction(x)), 0).0
    }

    fn draw_curves(&self, layout: &Layout, figure: &Figure, buffer: &mut Buffer) {
        let plot = layout.plot;
        let mut dots = Dots::new(plot.width, plot.height, self.glyphs.unicode);
        let reference = self.reference_on_axis();
        if let Some(reference) = reference {
            let row = dots.row(figure.y.fraction(reference.value));
            let dash = if self.glyphs.unicode { 3 } else { 1 };
            for column in (0..dots.columns()).filter(|column| column / dash % 2 == 0) {
                dots.set(column, row, Owner::Reference, Ink::Measured);
            }
        }
        // Backwards, so that the first curve lies on top.
        for (index, curve) in figure.curves.iter().enumerate().rev() {
            trace(&mut dots, Owner::Series(index), curve, &figure.y);
        }

        for (y, row) in (plot.top()..plot.bottom()).enumerate() {
            for (x, column) in (plot.left()..plot.right()).enumerate() {
                let Some(mark) = dots.mark(x as u16, y as u16) else { continue };
                let (glyph, style) = match mark.owner {
                    Owner::Reference => (self.glyphs.horizontal, self.theme.warning),
                    Owner::Series(index) => {
                        let glyph = match mark.ink {
                            Ink::Measured => self.glyphs.series(index),
                            Ink::Join => self.glyphs.join,
                        };
                        (glyph, self.series[index].style)
                    }
                };
                let mut symbol = [0; 4];
                let glyph = if self.glyphs.unicode {
                    mark.braille().encode_utf8(&mut symbol)
                } else {
                    glyph
                };
                put(buffer, plot, column, row, glyph, style);
            }
        }
        self.draw_end_markers(plot, figure, &dots, buffer);
        self.draw_cursor(plot, figure, &dots, buffer);
        if let Some(reference) = reference {
            self.draw_reference_label(reference, plot, figure, &dots, buffer);
        }
    }

    /// Puts the label on its line, or beside it, where it hides least of a curve.
    fn draw_reference_label(
        &self,
        reference: Reference<'_>,
        plot: Rect,
        figure: &Figure,
        dots: &Dots,
        buffer: &mut Buffer,
    ) {
        let label = self.glyphs.spell(reference.label);
        let label = format!(" {} ", shortened(&label, plot.width.saturating_sub(2), ""));
        let size = width(&label);
        if label.trim().is_empty() || size > plot.width {
            return;
        }
        let line = dots.cell_of(0, dots.row(figure.y.fraction(reference.value))).1;
        let inset = 2.min((plot.width - size) / 2);
        let hidden = |&(x, y): &(u16, u16)| {
            let of_series = |x| dots.mark(x, y).is_some_and(|mark| mark.owner != Owner::Reference);
            (x..x + size).filter(|&x| of_series(x)).count()
        };
        let rows = [Some(line), line.checked_sub(1), Some(line + 1)];
        let places = rows
            .into_iter()
            .flatten()
            .filter(|&y| y < plot.height)
            .flat_map(|y| [inset, plot.width - size - inset].map(|x| (x, y)));
        if let Some((x, y)) = places.min_by_key(hidden) {
            write(buffer, plot, plot.x + x, plot.y + y, &label, self.theme.warning);
        }
    }

    /// Several braille curves differ by colour only, so each ends in its marker; so
    /// does a lone point, which would be one dot among all the others.
    fn draw_end_markers(&self, plot: Rect, figure: &Figure, dots: &Dots, buffer: &mut Buffer) {
        for (index, curve) in figure.curves.iter().enumerate().rev() {
            let Some(bin) = curve.last() else { continue };
            if !self.glyphs.unicode || (self.series.len() < 2 && curve.len() > 1) {
                continue;
            }
            let (x, y) = dots.cell_of(bin.column, dots.row(figure.y.fraction(bin.last)));
            let (x, y) = (plot.x + x, plot.y + y);
            put(buffer, plot, x, y, self.glyphs.series(index), self.series[index].style);
        }
    }

    fn draw_cursor(&self, plot: Rect, figure: &Figure, dots: &Dots, buffer: &mut Buffer) {
        let Some(cursor) = self.cursor.filter(|&x| figure.x.contains(x)) else { return };
        let column = self.column_of(figure, plot, cursor);
        for (y, row) in (plot.top()..plot.bottom()).enumerate() {
            if dots.mark(column, y as u16).is_none_or(|mark| mark.owner == Owner::Reference) {
                put(buffer, plot, plot.x + column, row, self.glyphs.vertical, self.theme.muted);
            }
        }
        for (index, series) in self.series.iter().enumerate().rev() {
            let Some((x, y)) = nearest(series.points, cursor) else { continue };
            if !figure.x.contains(x) || (self.log && y <= 0.0) {
                continue;
            }
            let (_, row) = dots.cell_of(0, dots.row(figure.y.fraction(y)));
            let column = self.column_of(figure, plot, x);
            let style = series.style.add_modifier(Modifier::BOLD);
            write(buffer, plot, plot.x + column, plot.y + row, self.glyphs.series(index), style);
        }
    }
}

impl Widget for &Chart<'_> {
    fn render(self, area: Rect, buffer: &mut Buffer) {
        let area = area.intersection(buffer.area);
        if area.is_empty() {
            return;
        }
        let layout = self.arrange(area);
        self.draw_title(&layout, buffer);
        self.draw_legend(&layout, buffer);
        self.draw_axes(&layout, layout.figure.as_ref(), buffer);
        match &layout.figure {
            Some(figure) => self.draw_curves(&layout, figure, buffer),
            None => self.draw_message(&layout, buffer),
        }
    }
}

impl Widget for Chart<'_> {
    fn render(self, area: Rect, buffer: &mut Buffer) {
        (&self).render(area, buffer);
    }
}

/// Draws a binned curve: in each column all that it passes through, and between
/// columns the line from where it left to where it comes in.
fn trace(dots: &mut Dots, owner: Owner, curve: &[Bin], y: &Axis) {
    let row = |dots: &Dots, value| dots.row(y.fraction(value));
    let mut left = None;
    for bin in curve {
        if let Some(left) = left.filter(|_| bin.joined) {
            let entry = (bin.column, row(dots, bin.first));
            dots.line(left, entry, owner);
        }
        let (top, bottom) = (row(dots, bin.max), row(dots, bin.min));
        dots.bar(bin.column, top, bottom, owner, Ink::Measured);
        left = Some((bin.column, row(dots, bin.last)));
    }
}

/// An x in full if it is a whole number: the step that a reader looks for.
fn exact(x: f64) -> String {
    if x.fract() == 0.0 && x.abs() < 1e15 { format!("{}", x as i64) } else { compact(x) }
}

/// The curves, ready for a plot of a certain width.
struct Figure {
    x: Axis,
    y: Axis,
    curves: Vec<Vec<Bin>>,
    y_labels: Vec<(f64, String)>,
}

impl Figure {
    fn label_width(&self) -> u16 {
        self.y_labels.iter().map(|(_, label)| width(label)).max().unwrap_or(0)
    }
}

/// Which rows and columns of the area serve what. The plot comes first: as space
/// shrinks, the x axis goes, then the legend, then the title, then the gutter.
struct Layout {
    area: Rect,
    title: Option<u16>,
    legend: Option<u16>,
    plot: Rect,
    /// The row of the x axis; its labels are in the row below.
    x_axis: Option<u16>,
    /// Columns for the y axis, itself included; 0 without one.
    gutter: u16,
    figure: Option<Figure>,
}

impl Layout {
    fn divide(area: Rect, titled: bool, gutter: u16) -> Self {
        let mut plot = area;
        let mut take_top = |wanted: bool, least: u16| {
            (wanted && plot.height >= least).then(|| {
                let row = plot.y;
                (plot.y, plot.height) = (plot.y + 1, plot.height - 1);
                row
            })
        };
        let title = take_top(titled, 3);
        let legend = take_top(true, 3);
        let x_axis = (plot.height >= 5).then(|| {
            plot.height -= 2;
            plot.bottom()
        });
        let gutter = if plot.width >= gutter + NARROWEST_PLOT { gutter } else { 0 };
        (plot.x, plot.width) = (plot.x + gutter, plot.width - gutter);
        Self { area, title, legend, plot, x_axis, gutter, figure: None }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use ratatui::buffer::Cell;
    use ratatui::style::Color;

    use super::*;

    fn steps(count: usize, f: impl Fn(f64) -> f64) -> Vec<Point> {
        (0..count).map(|i| (i as f64, f(i as f64))).collect()
    }

    fn view<'a>(name: &'a str, points: &'a [Point]) -> SeriesView<'a> {
        SeriesView { name, style: Style::new(), curator: false, points }
    }

    fn drawn(chart: &Chart<'_>, columns: u16, rows: u16) -> Buffer {
        let mut buffer = Buffer::empty(Rect::new(0, 0, columns, rows));
        chart.render(buffer.area, &mut buffer);
        buffer
    }

    /// The picture with a border, so that blanks at its ends are seen.
    fn picture(chart: &Chart<'_>, columns: u16, rows: u16) -> String {
        let buffer = drawn(chart, columns, rows);
        let mut lines = vec![];
        for row in buffer.content.chunks(usize::from(columns)) {
            let line: String = row.iter().map(Cell::symbol).collect();
            lines.push(format!("|{line}|"));
        }
        lines.join("\n")
    }

    fn loss() -> Vec<Point> {
        steps(200, |x| 0.4 * (-x / 30.0).exp() + 0.02)
    }

    fn exact_loss() -> Vec<Point> {
        steps(200, |x| 0.35 * (-x / 40.0).exp() + 0.01 * (x / 3.0).sin() + 0.03)
    }

    #[test]
    fn two_curves_end_in_their_markers_and_private_numbers_carry_theirs() {
        let (theme, glyphs) = (Theme::truecolor(), Glyphs::unicode());
        let (loss, exact) = (loss(), exact_loss());
        let chart = Chart::new("loss", &theme, &glyphs)
            .series(view("objective", &loss))
            .series(SeriesView { curator: true, ..view("exact", &exact) });
        insta::assert_snapshot!("two_curves", picture(&chart, 60, 14));
        insta::assert_snapshot!("two_curves_narrow", picture(&chart, 30, 8));
        let window = chart.clone().window(Some((20.0, 30.0)));
        insta::assert_snapshot!("two_curves_zoomed", picture(&window, 60, 12));
        let cursor = chart.cursor(Some(50.3));
        insta::assert_snapshot!("two_curves_with_cursor", picture(&cursor, 60, 12));
    }

    #[test]
    fn a_gap_on_a_log_axis_and_a_budget_line() {
        let (theme, glyphs) = (Theme::truecolor(), Glyphs::unicode());
        let gap = steps(200, |x| (-x / 15.0).exp());
        let chart =
            Chart::new("stationarity gap", &theme, &glyphs).series(view("gap", &gap)).log(true);
        insta::assert_snapshot!("log_axis", picture(&chart, 40, 12));
        let spent = steps(200, |x| 0.03 * x);
        let chart = Chart::new("spent", &theme, &glyphs)
            .series(view("ε", &spent))
            .reference(8.0, "budget 8");
        insta::assert_snapshot!("budget", picture(&chart, 40, 12));
    }

    #[test]
    fn without_braille_points_are_letters_and_joins_are_dots() {
        let (theme, glyphs) = (Theme::monochrome(), Glyphs::ascii());
        let (few, other) = (steps(5, |x| x * x), steps(5, |x| 12.0 - x));
        let chart = Chart::new("ε per step", &theme, &glyphs)
            .series(view("squares", &few))
            .series(SeriesView { curator: true, ..view("falling", &other) })
            .reference(14.0, "limit");
        let shown = picture(&chart, 50, 12);
        assert!(shown.is_ascii());
        insta::assert_snapshot!("ascii", shown);
    }

    #[test]
    fn a_chart_without_curves_says_why() {
        let (theme, glyphs) = (Theme::truecolor(), Glyphs::unicode());
        let chart = |points, log, window| {
            let chart = Chart::new("loss", &theme, &glyphs).series(view("loss", points));
            picture(&chart.log(log).window(window), 50, 8)
        };
        let negative = steps(5, |x| -x);
        let nan = steps(5, |_| f64::NAN);
        assert!(chart(&[], false, None).contains("no steps yet"));
        assert!(chart(&[], true, Some((0.0, 1.0))).contains("no steps yet"));
        let log = "nothing positive to show on a log axis";
        assert!(chart(&negative, true, None).contains(log));
        assert!(!chart(&negative, false, None).contains(log));
        assert!(chart(&nan, false, None).contains("no finite values yet"));
        assert!(chart(&nan, true, None).contains("no finite values yet"));
        assert!(chart(&negative, false, Some((50.0, 60.0))).contains("no points in this range"));
        insta::assert_snapshot!("empty", chart(&[], false, None));
    }

    /// The rows of the plot in which a cell column has dots.
    fn rows_with_dots(buffer: &Buffer, column: u16) -> Vec<u16> {
        let braille = |y: &u16| {
            let symbol = buffer[(column, *y)].symbol().chars().next();
            symbol.is_some_and(|c| ('\u{2801}'..='\u{28FF}').contains(&c))
        };
        (0..buffer.area.height).filter(braille).collect()
    }

    #[test]
    fn one_spike_in_a_hundred_thousand_points_reaches_the_top() {
        let (theme, glyphs) = (Theme::truecolor(), Glyphs::unicode());
        let mut points = steps(100_000, |_| 1.0);
        points[54_321].1 = 9.0;
        let chart = Chart::new("", &theme, &glyphs).series(view("a", &points));
        let buffer = drawn(&chart, 80, 20);
        let tall = (7..80).filter(|&x| rows_with_dots(&buffer, x).len() > 10).count();
        assert!((1..=2).contains(&tall), "{tall} columns have the spike");
    }

    #[test]
    fn a_noisy_curve_has_no_holes() {
        let (theme, glyphs) = (Theme::truecolor(), Glyphs::unicode());
        for count in [2, 30, 73, 1_000, 20_000] {
            let points = steps(count, |x| (x * 12.9898).sin() * 5.0);
            let chart = Chart::new("", &theme, &glyphs).series(view("a", &points));
            let buffer = drawn(&chart, 80, 20);
            let mut before: Option<Vec<u16>> = None;
            for x in 7..79 {
                let rows = rows_with_dots(&buffer, x);
                assert!(!rows.is_empty(), "{count} points leave a hole at column {x}");
                assert!(rows.windows(2).all(|pair| pair[1] == pair[0] + 1));
                let touches = |before: &Vec<u16>| {
                    rows.iter().any(|a| before.iter().any(|b| a.abs_diff(*b) <= 1))
                };
                assert!(before.as_ref().is_none_or(touches));
                before = Some(rows);
            }
        }
    }

    #[test]
    fn not_a_number_leaves_a_gap_and_the_range_alone() {
        let (theme, glyphs) = (Theme::truecolor(), Glyphs::unicode());
        let points = steps(100, |x| match x as usize {
            40..60 => f64::NAN,
            70 => f64::INFINITY,
            71 => f64::NEG_INFINITY,
            _ => 1.0 + x / 100.0,
        });
        let chart = Chart::new("", &theme, &glyphs).series(view("a", &points));
        let buffer = drawn(&chart, 107, 20);
        assert!(rows_with_dots(&buffer, 7 + 50).is_empty());
        assert!(!rows_with_dots(&buffer, 7 + 30).is_empty());
        assert!(!rows_with_dots(&buffer, 7 + 90).is_empty());
        let figure = chart.arrange(buffer.area).figure.unwrap();
        assert_eq!(figure.y.ends(), Axis::around(1.0, 1.99, Scale::Linear).ends());
    }

    #[test]
    fn the_cursor_reads_out_real_points_and_the_mouse_finds_its_x() {
        let (theme, glyphs) = (Theme::truecolor(), Glyphs::unicode());
        let often = steps(101, |x| x);
        let seldom: Vec<Point> = (0..=10).map(|i| (f64::from(i) * 10.0, 1.0)).collect();
        let chart = Chart::new("t", &theme, &glyphs)
            .series(view("often", &often))
            .series(view("seldom", &seldom))
            .cursor(Some(47.2));
        let shown = picture(&chart, 60, 14);
        assert!(shown.contains("step 47|"), "{shown}");
        assert!(shown.contains("often 47  ▲ seldom 1 @50"), "{shown}");

        let area = Rect::new(0, 0, 60, 14);
        assert_eq!(chart.x_at(area, 7), Some(0.0));
        assert_eq!(chart.x_at(area, 59), Some(100.0));
        assert_eq!(chart.x_at(area, 6), None);
        assert_eq!(chart.x_at(area, 60), None);
        for column in 7..60 {
            let chart = chart.clone().cursor(chart.x_at(area, column));
            let buffer = drawn(&chart, 60, 14);
            let line = (0..14).filter(|&y| buffer[(column, y)].symbol() == "│").count();
            assert!(line > 5, "no line at column {column}");
        }
    }

    #[test]
    fn styles_tell_curves_private_numbers_and_the_budget_apart() {
        let (theme, glyphs) = (Theme::truecolor(), Glyphs::unicode());
        let points = steps(50, |_| 1.0);
        let private =
            SeriesView { name: "exact", style: theme.series(1), curator: true, points: &points };
        let chart = Chart::new("", &theme, &glyphs).series(private).reference(2.0, "budget");
        let buffer = drawn(&chart, 60, 12);
        let color_of = |symbol: &str| {
            let found = buffer.content.iter().find(|cell| cell.symbol() == symbol);
            found.map(|cell| cell.fg)
        };
        assert_eq!(color_of("●"), theme.series(1).fg);
        assert_eq!(color_of("◆"), theme.curator.fg);
        assert_eq!(color_of("b"), theme.warning.fg);
        assert_eq!(color_of("│"), theme.border.fg);
        let dots: Vec<Color> = (7..60)
            .flat_map(|x| rows_with_dots(&buffer, x).into_iter().map(move |y| (x, y)))
            .map(|position| buffer[position].fg)
            .collect();
        assert!(dots.iter().all(|fg| [theme.series(1).fg, theme.warning.fg].contains(&Some(*fg))));
        assert!(dots.iter().any(|fg| Some(*fg) == theme.series(1).fg));
    }

    #[test]
    fn the_monochrome_chart_has_no_colour_in_any_cell() {
        let theme = Theme::monochrome();
        for glyphs in [Glyphs::unicode(), Glyphs::ascii()] {
            let (loss, exact) = (loss(), exact_loss());
            let mut chart = Chart::new("loss", &theme, &glyphs).reference(0.1, "goal");
            for (index, points) in [&loss, &exact].into_iter().enumerate() {
                let style = theme.series(index);
                chart = chart.series(SeriesView { name: "a", style, curator: true, points });
            }
            let buffer = drawn(&chart.cursor(Some(30.0)), 60, 14);
            let plain = |cell: &Cell| cell.fg == Color::Reset && cell.bg == Color::Reset;
            assert!(buffer.content.iter().all(plain));
        }
    }

    #[test]
    fn long_names_shrink_before_any_number_is_lost() {
        let (theme, glyphs) = (Theme::truecolor(), Glyphs::unicode());
        let points = steps(3, |_| 0.125);
        let chart = Chart::new("t", &theme, &glyphs)
            .series(view("objective on the public records", &points))
            .series(view("exact", &points));
        let shown = picture(&chart, 40, 8);
        assert_eq!(shown.matches("0.125").count(), 2, "{shown}");
        assert!(shown.contains("exact"), "{shown}");
    }

    fn any_points() -> impl Strategy<Value = Vec<Point>> {
        let x = prop_oneof![8 => -50.0..50.0f64, 1 => any::<f64>()];
        let y = prop_oneof![
            6 => -10.0..10.0f64,
            2 => any::<f64>(),
            1 => prop::sample::select(vec![
                f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MAX, f64::MIN, 0.0, 5e-324,
            ]),
        ];
        (prop::collection::vec((x, y), 0..40), any::<bool>()).prop_map(|(mut points, sorted)| {
            if sorted {
                points.sort_by(|a, b| a.0.total_cmp(&b.0));
            }
            points
        })
    }

    proptest! {
        #[test]
        fn any_chart_fits_in_any_area(
            a in any_points(), b in any_points(),
            (x, y, columns, rows) in (0u16..30, 0u16..12, 0u16..50, 0u16..20),
            corner: bool,
            window in prop::option::of((any::<f64>(), -60.0..60.0f64)),
            cursor in prop::option::of(prop_oneof![-60.0..60.0f64, any::<f64>()]),
            reference in prop_oneof![-5.0..20.0f64, any::<f64>()],
            (log, unicode, titled) in any::<(bool, bool, bool)>(),
        ) {
            // In the last corner of the terminal any careless sum overflows.
            let origin = if corner { (u16::MAX - 40, u16::MAX - 16) } else { (0, 0) };
            let frame = Rect::new(origin.0, origin.1, 40, 16);
            let area = Rect::new(frame.x + x.min(39), frame.y + y, columns, rows);
            let theme = Theme::truecolor();
            let glyphs = if unicode { Glyphs::unicode() } else { Glyphs::ascii() };
            let chart = Chart::new(if titled { "title" } else { "" }, &theme, &glyphs)
                .series(view("first", &a))
                .series(SeriesView { curator: true, ..view("second", &b) })
                .window(window)
                .cursor(cursor)
                .reference(reference, "budget")
                .log(log);
            let mut buffer = Buffer::filled(frame, Cell::new("~"));
            (&chart).render(area, &mut buffer);
            for position in frame.positions().filter(|position| !area.contains(*position)) {
                prop_assert_eq!(buffer[position].symbol(), "~", "{} is outside of {}", position, area);
            }
            for column in [0, area.x, area.x.saturating_add(columns / 2), u16::MAX] {
                if let Some(x) = chart.x_at(area, column) {
                    prop_assert!(x.is_finite());
                }
            }
        }

        #[test]
        fn y_labels_differ_from_each_other(a in any_points(), log: bool, rows in 6u16..40) {
            let (theme, glyphs) = (Theme::truecolor(), Glyphs::unicode());
            let chart = Chart::new("", &theme, &glyphs).series(view("a", &a)).log(log);
            if let Some(figure) = chart.arrange(Rect::new(0, 0, 80, rows)).figure {
                for (i, (_, label)) in figure.y_labels.iter().enumerate() {
                    prop_assert!(figure.y_labels[..i].iter().all(|(_, other)| other != label));
                }
            }
        }
    }

    /// `cargo test --release --lib chart -- --ignored --nocapture`
    #[test]
    #[ignore = "a measurement, not a test"]
    fn three_charts_of_a_million_points() {
        let (theme, glyphs) = (Theme::truecolor(), Glyphs::unicode());
        let data: Vec<Vec<Point>> =
            (1..=3).map(|k| steps(1_000_000, |x| 1.1 + (x * 0.37 * f64::from(k)).sin())).collect();
        let mut buffer = Buffer::empty(Rect::new(0, 0, 200, 60));
        for (name, window) in [("all", None), ("1 %", Some((5e5, 5.1e5)))] {
            let mut times: Vec<f64> = (0..50)
                .map(|_| {
                    let start = std::time::Instant::now();
                    for (k, points) in data.iter().enumerate() {
                        let area = Rect::new(0, 20 * k as u16, 200, 20);
                        let chart = Chart::new("t", &theme, &glyphs).series(view("a", points));
                        chart.window(window).log(k == 1).render(area, &mut buffer);
                    }
                    start.elapsed().as_secs_f64() * 1e3
                })
                .collect();
            times.sort_by(f64::total_cmp);
            println!("{name}: median {:.2} ms, worst {:.2} ms", times[25], times[49]);
        }
        assert!(buffer.content.iter().any(|cell| cell.symbol() == "⣿"));
    }
}
