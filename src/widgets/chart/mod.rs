//! A chart of several curves over one x axis.
//!
//! Drawn straight into cells: ratatui's own chart loops forever on a NaN and skips spikes. See
//! [`series`](super::series) for how points become columns.
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

use std::collections::BTreeSet;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::widgets::Widget;

use crate::dots::Dots;
use crate::plot::axis::{Axis, Scale};
use crate::series::{Bin, bins, extent};
use crate::theme::{Glyphs, Theme};
use crate::track::TrackView;
use crate::width;

mod draw;

/// Columns for the labels of the y axis and the axis itself. Fixed, so that
/// charts under one another stay aligned and nothing jumps while data stream in;
/// only longer labels widen it.
const GUTTER: u16 = 7;
/// In fewer rows there is the curve alone, because labels would lie over each other.
const LEAST_WITH_AXIS: u16 = 3;
/// If the plot would be narrower than this, it replaces the gutter.
const NARROWEST_PLOT: u16 = 12;

/// One curve: x ascending; a y that is NaN or infinite is a gap.
#[derive(Debug, Clone, Copy)]
pub struct SeriesView<'a> {
    pub name: &'a str,
    pub style: Style,
    /// Computed from private data without noise: marked `◆` wherever it is shown.
    pub curator: bool,
    pub points: TrackView<'a>,
    /// The interval of its last point, as an upright bar.
    pub range: Option<(f64, f64)>,
    /// The index of its marker, the same in every chart.
    pub slot: usize,
}

/// A horizontal line that curves are compared with, such as a budget.
#[derive(Debug, Clone, Copy)]
struct Reference<'a> {
    value: f64,
    label: &'a str,
}

/// What to draw and how; drawing changes nothing.
#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "how it is drawn, each for itself")]
pub struct Chart<'a> {
    title: &'a str,
    theme: &'a Theme,
    glyphs: &'a Glyphs,
    series: Vec<SeriesView<'a>>,
    log: bool,
    percent: bool,
    steps: bool,
    x_name: &'a str,
    x_labels: Option<Vec<(f64, String)>>,
    window: Option<(f64, f64)>,
    cursor: Option<f64>,
    reference: Option<Reference<'a>>,
    empty: &'a str,
    legend: bool,
}

impl<'a> Chart<'a> {
    pub fn new(title: &'a str, theme: &'a Theme, glyphs: &'a Glyphs) -> Self {
        Self {
            title,
            theme,
            glyphs,
            series: Vec::new(),
            log: false,
            percent: false,
            steps: true,
            x_name: "step",
            x_labels: None,
            window: None,
            cursor: None,
            reference: None,
            empty: "no steps yet",
            legend: true,
        }
    }

    /// Adds a curve; earlier ones are drawn over later ones.
    pub fn series(mut self, series: SeriesView<'a>) -> Self {
        self.series.push(series);
        self
    }

    /// Adds a curve in the style of its marker.
    pub fn curve(
        self,
        (name, slot): (&'a str, usize),
        curator: bool,
        points: impl Into<TrackView<'a>>,
    ) -> Self {
        let style = self.theme.series(slot);
        self.series(SeriesView { name, style, curator, points: points.into(), range: None, slot })
    }

    /// A decimal logarithmic y axis; values that are not positive become gaps.
    pub fn log(mut self, log: bool) -> Self {
        self.log = log;
        self
    }

    /// Whether the values are shares, shown in percent.
    pub fn percent(mut self, percent: bool) -> Self {
        self.percent = percent;
        self
    }

    /// The name of x, and whether only whole numbers make sense.
    pub fn x_axis(mut self, name: &'a str, whole: bool) -> Self {
        self.x_name = name;
        self.steps = whole;
        self
    }

    /// The name of x, and the words for some of its values in place of numbers. Those for which
    /// there is no room are left out.
    pub fn x_labels(mut self, name: &'a str, labels: Vec<(f64, String)>) -> Self {
        (self.x_name, self.x_labels) = (name, Some(labels));
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

    /// Draws a dashed line at this y, which stays visible.
    pub fn reference(mut self, value: f64, label: &'a str) -> Self {
        self.reference = value.is_finite().then_some(Reference { value, label });
        self
    }

    /// Without its title line, because a box around it has the heading.
    pub fn headless(self) -> Self {
        Self { title: "", ..self }
    }

    /// Whether to name the curves and their values on a separate line.
    pub fn legend(mut self, legend: bool) -> Self {
        self.legend = legend;
        self
    }

    /// The message if there are no points at all.
    pub fn empty(mut self, message: &'a str) -> Self {
        self.empty = message;
        self
    }

    /// Draws the chart. Returns the area of the plot and the x of its first and last column, for
    /// the mouse; `None` if there are no points.
    pub fn draw(&self, area: Rect, buffer: &mut Buffer) -> Option<(Rect, (f64, f64))> {
        let area = area.intersection(buffer.area);
        if area.is_empty() {
            return None;
        }
        let layout = self.arrange(area);
        self.draw_title(&layout, buffer);
        self.draw_legend(&layout, buffer);
        self.draw_axes(&layout, buffer);
        let Some(figure) = &layout.figure else {
            self.draw_message(&layout, buffer);
            return None;
        };
        self.draw_curves(&layout, figure, buffer);
        Some((layout.plot, figure.x.ends()))
    }

    /// The shown range of x.
    pub fn visible(&self) -> Option<(f64, f64)> {
        let whole = || {
            let extents = self.series.iter().filter_map(|series| extent(&series.points));
            extents.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))
        };
        let (lo, hi) = self.window.or_else(whole)?;
        Some(Axis::exactly(lo, hi).ends())
    }

    fn reference_on_axis(&self) -> Option<Reference<'a>> {
        self.reference.filter(|reference| !self.log || reference.value > 0.0)
    }

    /// Divides the area, and bins the curves for the width of the plot.
    fn arrange(&self, area: Rect) -> Layout {
        let titled = !self.title.is_empty();
        let lines_above = (titled, self.legend_rows(area, u16::from(titled)));
        let mut layout = Layout::divide(area, lines_above, GUTTER);
        layout.figure = self.figure(&layout);
        let Some(labels) = layout.figure.as_ref().map(FittedCurves::label_width) else {
            return layout;
        };
        if layout.gutter > 0 && labels + 1 > layout.gutter {
            layout = Layout::divide(area, lines_above, labels + 1);
            layout.figure = self.figure(&layout);
        }
        layout
    }

    fn figure(&self, layout: &Layout) -> Option<FittedCurves> {
        let plot = layout.plot;
        let window = self.visible()?;
        let columns = Dots::new(plot.width, 0, self.glyphs.unicode).columns();
        let binned = |series: &SeriesView| bins(series.points, window, columns, self.log);
        let mut curves: Vec<Vec<Bin>> = self.series.iter().map(binned).collect();
        self.set_ranges_apart(&mut curves, columns);
        let ranges = self.series.iter().filter_map(|series| self.range_on_axis(series));
        let extremes = curves.iter().flatten().map(|bin| (bin.min, bin.max)).chain(ranges);
        let (lo, hi) = extremes.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))?;
        let (lo, hi) = self
            .reference_on_axis()
            .map_or((lo, hi), |reference| (lo.min(reference.value), hi.max(reference.value)));
        let y = Axis::around(lo, hi, if self.log { Scale::Log } else { Scale::Linear });
        let count = (plot.height / 2).clamp(2, 6);
        let ticks = if self.percent { y.percent_ticks(count) } else { y.ticks(count, false) };
        Some(FittedCurves {
            x: Axis::exactly(window.0, window.1),
            y,
            curves,
            y_labels: ticks.into_iter().map(|tick| (tick.value, tick.label)).collect(),
        })
    }

    /// The interval of the last point, as far as the axis can show it.
    fn range_on_axis(&self, series: &SeriesView) -> Option<(f64, f64)> {
        let (low, high) = series.range.filter(|(low, high)| low.is_finite() && high.is_finite())?;
        let value = series.points.last()?.1;
        Some((if self.log && low <= 0.0 { value } else { low }, high))
    }

    /// Moves points with an interval to free columns beside each other, so that none hides another.
    fn set_ranges_apart(&self, curves: &mut [Vec<Bin>], columns: usize) {
        let per_cell = if self.glyphs.unicode { 2 } else { 1 };
        let mut taken = BTreeSet::new();
        let ranged = self.series.iter().zip(curves).filter(|(series, _)| series.range.is_some());
        for bin in ranged.filter_map(|(_, curve)| curve.last_mut()) {
            let around = (0..columns).flat_map(|it| [bin.column + it, bin.column.wrapping_sub(it)]);
            let mut free = around.filter(|it| *it < columns && !taken.contains(&(it / per_cell)));
            bin.column = free.next().unwrap_or(bin.column);
            taken.insert(bin.column / per_cell);
        }
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
}

impl Widget for &Chart<'_> {
    fn render(self, area: Rect, buffer: &mut Buffer) {
        self.draw(area, buffer);
    }
}

impl Widget for Chart<'_> {
    fn render(self, area: Rect, buffer: &mut Buffer) {
        (&self).render(area, buffer);
    }
}

/// The curves, ready for a plot of a certain width.
struct FittedCurves {
    x: Axis,
    y: Axis,
    curves: Vec<Vec<Bin>>,
    y_labels: Vec<(f64, String)>,
}

impl FittedCurves {
    fn label_width(&self) -> u16 {
        self.y_labels.iter().map(|(_, label)| width(label)).max().unwrap_or(0)
    }
}

/// The use of the rows and columns of the area. If space is short, the x axis is dropped first,
/// then the legend, the title and the gutter; the plot stays.
struct Layout {
    area: Rect,
    title: Option<u16>,
    /// The first row of the legend, and how many there are.
    legend: Option<(u16, u16)>,
    plot: Rect,
    /// The row of the x axis; its labels are in the row below.
    x_axis: Option<u16>,
    /// Columns for the labels and the y axis itself; 0 without one.
    gutter: u16,
    figure: Option<FittedCurves>,
}

impl Layout {
    fn divide(area: Rect, (titled, legend): (bool, u16), gutter: u16) -> Self {
        let mut plot = area;
        let mut take_top = |rows: u16| {
            (rows > 0 && plot.height >= 2 + rows).then(|| {
                let row = plot.y;
                (plot.y, plot.height) = (plot.y + rows, plot.height - rows);
                row
            })
        };
        let title = take_top(u16::from(titled));
        let legend = take_top(legend).map(|row| (row, legend));
        let x_axis = (plot.height >= 5).then(|| {
            plot.height -= 2;
            plot.bottom()
        });
        let has_axis = plot.height >= LEAST_WITH_AXIS && plot.width >= gutter + NARROWEST_PLOT;
        let gutter = if has_axis { gutter } else { 0 };
        (plot.x, plot.width) = (plot.x + gutter, plot.width - gutter);
        Self { area, title, legend, plot, x_axis, gutter, figure: None }
    }
}

#[cfg(test)]
mod tests;
