//! Draws a chart into cells: title, legend, axes, curves, cursor.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Modifier;
use ratatui::text::{Line, Span};

use super::{Chart, FittedCurves, LEAST_WITH_AXIS, Layout, Reference, SeriesView};
use crate::dots::{Dots, Ink, Owner};
use crate::plot::axis::Axis;
use crate::plot::number::{compact, percent};
use crate::series::{Bin, nearest};
use crate::{put, shortened, width, without_middle, write};

/// The number of letters of a name that is worth more than numbers, and the least that is shown.
const LEGIBLE: u16 = 8;
const LEAST_NAME: u16 = 6;
/// A name of so many letters is known by its beginning.
const SHORT_NAME: u16 = 12;
/// The width that a number of a legend is given.
const NUMBER: u16 = 5;
/// The rows of the plot and its axis that a legend of several rows leaves.
const LEAST_BELOW_LEGEND: u16 = 8;

/// The curves in their plot.
#[derive(Clone, Copy)]
struct Drawn<'a> {
    plot: Rect,
    figure: &'a FittedCurves,
    dots: &'a Dots,
}

impl Chart<'_> {
    /// The text of the title line, for the border of a box around the chart.
    pub fn heading(&self) -> String {
        let scale = if self.log { " (log)" } else { "" };
        let at = self.cursor_x().map(|x| format!(" · {} {}", self.x_name, exact(x)));
        format!("{}{scale}{}", self.title, at.unwrap_or_default())
    }

    pub(super) fn draw_title(&self, layout: &Layout, buffer: &mut Buffer) {
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
        let found = self.series.iter().filter_map(|series| nearest(&series.points, cursor));
        found.map(|point| point.0).min_by(|a, b| (a - cursor).abs().total_cmp(&(b - cursor).abs()))
    }

    /// The number of a curve in the legend: under the cursor, or the last one.
    fn reading(&self, series: &SeriesView<'_>) -> String {
        let told = |y| if self.percent { percent(y) } else { compact(y) };
        let Some(cursor) = self.cursor else {
            return series.points.last().map_or_else(|| "–".to_owned(), |point| told(point.1));
        };
        match nearest(&series.points, cursor) {
            Some((x, y)) if Some(x) == self.cursor_x() => told(y),
            Some((x, y)) => format!("{} @{}", told(y), exact(x)),
            None => "–".to_owned(),
        }
    }

    /// The rows of the legend: as many as whole names need and the height of the plot allows.
    pub(super) fn legend_rows(&self, area: Rect, above: u16) -> u16 {
        if !self.legend {
            return 0;
        }
        let most = area.height.saturating_sub(above + LEAST_BELOW_LEGEND).max(1);
        // Numbers change while a run goes on, and the rows should not.
        let (mut needed, mut used) = (1, 0);
        for series in &self.series {
            let mark = if series.curator { 2 } else { 0 };
            let long = 2 + width(&self.glyphs.spell(series.name)) + mark + 1 + NUMBER;
            if used > 0 && used + 2 + long > area.width {
                (needed, used) = (needed + 1, long);
            } else {
                used += if used > 0 { 2 + long } else { long };
            }
        }
        needed.min(most)
    }

    /// The entries of the legend in lines of this width, each with their number. The ends of long
    /// names tell them apart.
    fn legend_lines(
        &self,
        room: u16,
        with_readings: bool,
        limit: u16,
    ) -> Vec<(Line<'static>, usize)> {
        let spelt = |text: &str| self.glyphs.spell(text).into_owned();
        let mut lines: Vec<(Line<'static>, usize)> = Vec::new();
        for series in &self.series {
            let name = spelt(series.name);
            let cut = if width(&name) > SHORT_NAME { without_middle } else { shortened };
            let name = cut(&name, limit, self.glyphs.cut);
            let mut entry = vec![
                Span::styled(self.glyphs.series(series.slot), series.style),
                Span::styled(format!(" {name}"), self.theme.text),
            ];
            let mut style = self.theme.text;
            if series.curator {
                style = self.theme.curator;
                entry.push(Span::styled(format!(" {}", self.glyphs.curator), style));
            }
            if with_readings {
                entry.push(Span::styled(format!(" {}", spelt(&self.reading(series))), style));
            }
            let long: usize = entry.iter().map(Span::width).sum();
            match lines.last_mut() {
                Some((line, entries)) if line.width() + 2 + long <= usize::from(room) => {
                    line.push_span(Span::raw("  "));
                    line.extend(entry);
                    *entries += 1;
                }
                _ => lines.push((Line::from(entry), 1)),
            }
        }
        lines
    }

    pub(super) fn draw_legend(&self, layout: &Layout, buffer: &mut Buffer) {
        let Some((first, rows)) = layout.legend else { return };
        let room = layout.area.width;
        // Numbers and markers are not cut; if space is short, names shrink. If too little would be
        // left of them, the numbers are dropped, because the cursor can show them.
        let names = self.series.iter().map(|it| width(&self.glyphs.spell(it.name)));
        let longest = names.max().unwrap_or(0);
        let least = longest.min(LEAST_NAME);
        let limit = |with_readings: bool| {
            let fits = |limit: &u16| {
                self.legend_lines(room, with_readings, *limit).len() <= usize::from(rows)
            };
            (least..=longest.min(room)).rev().find(fits)
        };
        let is_legible = |limit: u16| limit >= longest.min(LEGIBLE);
        let with_readings = self.cursor.is_some() || limit(true).is_some_and(is_legible);
        let mut lines =
            self.legend_lines(room, with_readings, limit(with_readings).unwrap_or(least));
        // What has no room is counted.
        let hidden = lines.split_off(lines.len().min(usize::from(rows)));
        let hidden: usize = hidden.iter().map(|(_, entries)| entries).sum();
        if let Some((line, _)) = lines.last_mut().filter(|_| hidden > 0) {
            line.push_span(Span::styled(format!(" +{hidden}"), self.theme.muted));
        }
        for (row, (line, _)) in (first..first + rows).zip(&lines) {
            buffer.set_line(layout.area.x, row, line, room);
        }
    }

    pub(super) fn draw_message(&self, layout: &Layout, buffer: &mut Buffer) {
        let plot = layout.plot;
        let message = self.glyphs.spell(self.absence());
        let message = shortened(&message, plot.width, self.glyphs.cut);
        let x = plot.x + (plot.width - width(&message).min(plot.width)) / 2;
        write(buffer, plot, x, plot.y + plot.height / 2, &message, self.theme.muted);
    }

    pub(super) fn draw_axes(&self, layout: &Layout, buffer: &mut Buffer) {
        let figure = layout.figure.as_ref();
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
            let name = shortened(&name, layout.gutter - 1, self.glyphs.cut);
            write(buffer, layout.area, layout.area.x, row + 1, &name, self.theme.muted);
        }
        let Some(figure) = figure else { return };
        // The first label may begin under the axis, but must not run into the name.
        let mut free = if layout.gutter > 0 { plot.x - 1 } else { plot.x };
        let numbers = || {
            let ticks = figure.x.ticks((plot.width / 8).max(2), self.steps);
            ticks.into_iter().map(|tick| (tick.value, tick.label)).collect()
        };
        let labels = self.x_labels.clone().unwrap_or_else(numbers);
        for (value, label) in labels.iter().filter(|(value, _)| figure.x.contains(*value)) {
            let x = plot.x + self.column_of(figure, plot, *value);
            let size = width(label);
            let start = x.saturating_sub(size / 2).max(free);
            let start = start.min(plot.right().saturating_sub(size));
            if size > plot.width || start < free || start > x {
                continue;
            }
            put(buffer, layout.area, x, row, self.glyphs.tick_below, border);
            free = write(buffer, layout.area, start, row + 1, label, self.theme.muted)
                .saturating_add(1);
        }
    }

    /// The cell column of an x, counted from the left of the plot.
    fn column_of(&self, figure: &FittedCurves, plot: Rect, x: f64) -> u16 {
        let dots = Dots::new(plot.width, 0, self.glyphs.unicode);
        dots.cell_of(dots.column(figure.x.fraction(x)), 0).0
    }

    pub(super) fn draw_curves(&self, layout: &Layout, figure: &FittedCurves, buffer: &mut Buffer) {
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
        // Backwards, so that the first curve is on top.
        for (index, curve) in figure.curves.iter().enumerate().rev() {
            let owner = Owner::Series(index);
            let range = self.range_on_axis(&self.series[index]);
            if let (Some((low, high)), Some(bin)) = (range, curve.last()) {
                let [from, to] = [low, high].map(|y| dots.row(figure.y.fraction(y)));
                dots.bar(bin.column, from, to, owner, Ink::Join);
            }
            trace(&mut dots, owner, curve, &figure.y);
        }

        for (y, row) in (plot.top()..plot.bottom()).enumerate() {
            for (x, column) in (plot.left()..plot.right()).enumerate() {
                let Some(mark) = dots.mark(x as u16, y as u16) else { continue };
                let (glyph, style) = match mark.owner {
                    Owner::Reference => (self.glyphs.horizontal, self.theme.warning),
                    Owner::Series(index) => {
                        let glyph = match mark.ink {
                            Ink::Measured => self.glyphs.series(self.series[index].slot),
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
        let drawn = Drawn { plot, figure, dots: &dots };
        self.draw_end_markers(drawn, buffer);
        self.draw_cursor(drawn, buffer);
        if let Some(reference) = reference {
            self.draw_reference_label(reference, drawn, buffer);
        }
    }

    /// Puts the label on its line or beside it, where it hides the least of a curve.
    fn draw_reference_label(&self, reference: Reference, drawn: Drawn, buffer: &mut Buffer) {
        let Drawn { plot, figure, dots } = drawn;
        let label = self.glyphs.spell(reference.label);
        let label = format!(" {} ", shortened(&label, plot.width.saturating_sub(2), ""));
        let size = width(&label);
        if label.trim().is_empty() || size > plot.width || plot.height < LEAST_WITH_AXIS {
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

    /// Several braille curves differ only by colour, so each ends in its marker. So does a lone
    /// point, which would be one dot among many.
    fn draw_end_markers(&self, Drawn { plot, figure, dots }: Drawn, buffer: &mut Buffer) {
        for (index, curve) in figure.curves.iter().enumerate().rev() {
            let Some(bin) = curve.last() else { continue };
            if !self.glyphs.unicode || (self.series.len() < 2 && curve.len() > 1) {
                continue;
            }
            let (x, y) = dots.cell_of(bin.column, dots.row(figure.y.fraction(bin.last)));
            let (x, y) = (plot.x + x, plot.y + y);
            let SeriesView { slot, style, .. } = self.series[index];
            put(buffer, plot, x, y, self.glyphs.series(slot), style);
        }
    }

    fn draw_cursor(&self, Drawn { plot, figure, dots }: Drawn, buffer: &mut Buffer) {
        let Some(cursor) = self.cursor.filter(|&x| figure.x.contains(x)) else { return };
        let column = self.column_of(figure, plot, cursor);
        for (y, row) in (plot.top()..plot.bottom()).enumerate() {
            if dots.mark(column, y as u16).is_none_or(|mark| mark.owner == Owner::Reference) {
                put(buffer, plot, plot.x + column, row, self.glyphs.vertical, self.theme.muted);
            }
        }
        for series in self.series.iter().rev() {
            let Some((x, y)) = nearest(&series.points, cursor) else { continue };
            if !figure.x.contains(x) || (self.log && y <= 0.0) {
                continue;
            }
            let (_, row) = dots.cell_of(0, dots.row(figure.y.fraction(y)));
            let column = self.column_of(figure, plot, x);
            let style = series.style.add_modifier(Modifier::BOLD);
            let marker = self.glyphs.series(series.slot);
            write(buffer, plot, plot.x + column, plot.y + row, marker, style);
        }
    }
}

/// Draws a binned curve: in each column from its lowest to its highest value, and
/// between columns the line from the last value to the next first one.
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

/// An x in full if it is a whole number, because readers look for the step.
fn exact(x: f64) -> String {
    if x.fract() == 0.0 && x.abs() < 1e15 { format!("{}", x as i64) } else { compact(x) }
}
