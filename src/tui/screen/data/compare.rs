//! One column in all datasets that have it: histograms on one axis, shares of each value, images.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use ratatui::style::{Color, Style};

use super::columns::{declared_range, declared_values, image_words, selected};
use super::view::Shown;
use super::{COLUMNS, DataScreen, RowsShown};
use crate::canvas::{Canvas, Line, Rect, Span, longest};
use crate::context::Context;
use crate::data::column::Cell;
use crate::data::images::{ImageShape, resized, square};
use crate::data::inspect::ColumnFacts;
use crate::data::profile::{Axis, NumberSpread, Spread};
use crate::data::{Column, DatasetDefinition, Role, Task, Vectors};
use crate::pictures::{Drawing, Picture};
use crate::theme::{Depth, Theme};
use crate::widgets::bars::{bars, percent_of, values_below};
use crate::widgets::{cut_apart, number, shortened};

/// The widest name of a dataset.
const WIDEST: u16 = 16;
/// So few numbers, such as the codes of classes, are shown as values, and not as a histogram.
const MOST_SHARES: usize = 4;
/// The most lines of a histogram.
const MOST_LINES: usize = 7;
/// The least and the most pixels of the side of a drawn image.
const PIXELS: std::ops::RangeInclusive<usize> = 4..=28;
/// The most cells of the side of an image that is shown as pixels, and the most of its pixels.
const MOST_CELLS: usize = 12;
const MOST_PIXELS: usize = 96;
/// The least pixels of the side of an image that is drawn smaller to show every class.
const CLEAR: usize = 12;
/// The most rows among which one of each class is looked for, and the most classes.
const MOST_SEARCHED: usize = 2000;
const MOST_CLASSES: usize = 40;
/// So many images are beside each other at least, if their pixels can be told apart.
const FEWEST_IMAGES: usize = 6;
/// With fewer lines of images for each set, the sets stand beside each other.
const LEAST_LINES: usize = 5;
/// Shades of two pixels below each other, without colours.
const SHADES: [char; 5] = [' ', '░', '▒', '▓', '█'];

/// A column in one dataset that has it.
pub(super) struct OfSet<'a> {
    definition: &'a DatasetDefinition,
    facts: Option<&'a ColumnFacts>,
    vectors: Option<&'a Vectors>,
    /// The labels of vectors that may be seen.
    labels: Option<&'a Column>,
    declared: Option<(f64, f64)>,
    style: Style,
    /// The name, with the mark of exact numbers.
    title: String,
}

impl<'a> OfSet<'a> {
    /// A column in a dataset that was read, if it has the column; `at` is the dataset's place in the
    /// session. The colour is that of its place among the public ones.
    fn of(
        (at, definition): (usize, &'a DatasetDefinition),
        column: &str,
        (context, theme): (&'a Context, &Theme),
    ) -> Option<Self> {
        let kinds = &context.loaded(&definition.name)?.columns;
        kinds.iter().find(|it| it.name == column)?;
        let profile = DataScreen::profile(definition, context);
        let facts = profile.and_then(|profile| profile.column(column));
        let (mut vectors, mut labels) = (None, None);
        if let Some(RowsShown::Public(loaded)) = DataScreen::rows(definition, context) {
            let table = loaded.public().ok()?;
            if let Ok(Column::Vectors(found)) = table.column(column) {
                vectors = Some(found);
                labels = definition.label.as_ref().and_then(|label| table.column(label).ok());
            }
        }
        let exact = definition.role == Role::Private && facts.is_some();
        let style = match (exact, facts) {
            (true, _) => theme.curator,
            (_, None) => theme.muted,
            _ => {
                let before = &context.session.datasets[..at];
                let place = before.iter().filter(|it| it.role == Role::Public).count();
                theme.series[place % theme.series.len()]
            }
        };
        let sign = if exact { "◆ " } else { "" };
        let title = format!("{sign}{}", definition.name);
        let declared = declared_range(context, definition, column);
        Some(Self { definition, facts, vectors, labels, declared, style, title })
    }

    fn numbers(&self) -> Option<&'a NumberSpread> {
        match self.facts?.spread.as_ref()? {
            Spread::Numbers(spread) => Some(spread),
            Spread::Texts(_) => None,
        }
    }

    /// Each text, or each of a few numbers, with its share of the rows that have a value.
    fn shares(&self) -> Option<Vec<(String, f64)>> {
        let facts = self.facts?;
        match facts.spread.as_ref()? {
            Spread::Numbers(spread) => {
                let shares = spread.shares(MOST_SHARES)?.into_iter();
                Some(shares.map(|(value, share)| (number::of_a_cell(value), share)).collect())
            }
            Spread::Texts(texts) => {
                let all = facts.present.max(1) as f64;
                Some(
                    texts.iter().map(|(text, count)| (text.clone(), *count as f64 / all)).collect(),
                )
            }
        }
    }

    /// What stands beside the histogram: the number of the classes of a label, the median of other
    /// numbers.
    fn in_brief(&self, middle: &str) -> String {
        if self.numbers().is_none() {
            let is_private = self.definition.role == Role::Private;
            return if is_private { "private" } else { "not shown" }.to_owned();
        }
        let label = self.definition.label.as_ref();
        let is_label = self.facts.is_some_and(|it| label == Some(&it.name));
        if !is_label || self.definition.task != Task::Classification {
            return format!("median {middle}");
        }
        format!("{} classes", self.facts.and_then(|it| it.distinct).unwrap_or_default())
    }

    /// The share of a value among the rows with one.
    fn share(&self, value: &str) -> Option<f64> {
        Some(self.shares()?.into_iter().find(|(known, _)| known == value)?.1)
    }
}

/// The ends of the axis for all numbers that the sets show, and for those that they declare; with
/// its cells.
fn axis<'s>(sets: impl Iterator<Item = &'s OfSet<'s>>, room: usize) -> ((f64, f64), Axis) {
    let sets: Vec<&OfSet> = sets.collect();
    let spreads: Vec<_> = sets.iter().filter_map(|set| set.numbers()).collect();
    let shown = spreads.iter().map(|it| it.range());
    let ranges = shown.chain(sets.iter().filter_map(|set| set.declared));
    let ends = ranges.reduce(|all, it| (all.0.min(it.0), all.1.max(it.1))).unwrap_or((0.0, 1.0));
    (ends, Axis::of(&spreads, ends, room))
}

/// The values of all sets: numbers in their order, texts with the most frequent first.
fn all_values<'s>(sets: impl Iterator<Item = &'s OfSet<'s>>) -> Vec<String> {
    let mut sums: Vec<(String, f64)> = Vec::new();
    for (value, share) in sets.filter_map(OfSet::shares).flatten() {
        match sums.iter_mut().find(|(known, _)| *known == value) {
            Some((_, sum)) => *sum += share,
            None => sums.push((value, share)),
        }
    }
    let number = |(value, _): &(String, f64)| value.parse::<f64>().ok();
    if sums.iter().all(|it| number(it).is_some()) {
        sums.sort_by(|one, other| {
            number(one).partial_cmp(&number(other)).unwrap_or(Ordering::Equal)
        });
    } else {
        sums.sort_by(|(_, one), (_, other)| other.total_cmp(one));
    }
    sums.into_iter().map(|(value, _)| value).collect()
}

/// The sets beside each other, in so many cells each: histograms on one axis, or a bar for each of
/// the most frequent texts. Of a set whose rows are not shown, what it declares in a frame.
pub(super) fn beside_each_other(
    sets: &[(usize, &DatasetDefinition)],
    column: &str,
    (context, theme): (&Context, &Theme),
    cells: usize,
) -> Vec<Span<'static>> {
    let of = |set: &_| OfSet::of(*set, column, (context, theme));
    let all: Vec<Option<OfSet>> = sets.iter().map(of).collect();
    let sets = || all.iter().flatten();
    let ((_, axis), texts) = (axis(sets(), cells), all_values(sets()));
    let drawn = |set: &OfSet| {
        if let Some(spread) = set.numbers() {
            return bars(&spread.on(&axis), 1).concat();
        }
        if set.shares().is_some() {
            let width = (cells / texts.len().max(1)).clamp(1, 3);
            let shares = texts.iter().take(cells / width).map(|text| set.share(text));
            let counts = shares.map(|share| (1e6 * share.unwrap_or(0.0)) as usize);
            let drawn = bars(&counts.collect::<Vec<_>>(), 1).concat();
            return drawn.chars().flat_map(|bar| std::iter::repeat_n(bar, width)).collect();
        }
        if set.facts.is_some() {
            let images = set.vectors.and_then(|it| image_words(it.width())).unwrap_or_default();
            return shortened(&images, cells as u16, "…");
        }
        let declared = match set.declared {
            Some((low, high)) => [low, high].map(number::of_a_cell).join(" to "),
            None => String::new(),
        };
        framed(&declared, cells)
    };
    let span = |set: &Option<OfSet>| match set {
        Some(set) => Span::styled(drawn(set), set.style),
        None => Span::raw(""),
    };
    all.iter().map(span).collect()
}

/// A frame for what is not shown, with a few words in it if they fit.
pub(super) fn framed(words: &str, cells: usize) -> String {
    let room = cells.saturating_sub(2);
    let words = if words.chars().count() <= room { words } else { "" };
    format!("[{words:·^room$}]")
}

/// The selected column in every dataset that was read and has it.
pub(super) fn compare(shown: Shown, canvas: &mut Canvas, area: Rect) {
    let Shown { screen, context, .. } = shown;
    if let Some(column) = selected(screen, context, canvas.has_focus(COLUMNS)) {
        in_datasets(&column.name, &|_| true, context, canvas, area);
    }
}

/// A column in the wanted datasets that were read and have it.
pub fn in_datasets(
    column: &str,
    wanted: &dyn Fn(&str) -> bool,
    context: &Context,
    canvas: &mut Canvas,
    area: Rect,
) {
    let all = context.session.datasets.iter().enumerate();
    let sets = all
        .filter(|(_, set)| wanted(&set.name))
        .filter_map(|set| OfSet::of(set, column, (context, canvas.theme)));
    let sets: Vec<OfSet> = sets.collect();
    let shown = || sets.iter().filter(|set| set.facts.is_some_and(|it| it.spread.is_some()));
    let (any, few) = (shown().next().is_some(), shown().all(|set| set.shares().is_some()));
    let title =
        if any && few { format!("{column} · shares of values") } else { column.to_owned() };
    let inner = canvas.boxed(area, &title);
    let lines = if sets.iter().any(|set| set.vectors.is_some()) {
        let (lines, pictures) = images(&sets, canvas, inner);
        canvas.hits.pictures.extend(pictures);
        lines
    } else {
        match (any, few) {
            (false, _) => {
                return canvas.empty(inner, &["No dataset shows values of this column."]);
            }
            (_, true) => values(&sets, column, canvas, inner),
            (_, false) => histograms(&sets, inner, canvas.theme.muted),
        }
    };
    canvas.lines(lines, inner);
}

/// A line that says how many sets do not fit.
fn with_rest(mut lines: Vec<Line<'static>>, left: usize) -> Vec<Line<'static>> {
    if left > 0 {
        lines.push(Line::raw(format!("and {left} more: z gives the columns the whole screen")));
    }
    lines
}

/// One histogram for each set, all on the axis below.
fn histograms(sets: &[OfSet], area: Rect, muted: Style) -> Vec<Line<'static>> {
    let names = usize::from(longest(sets.iter().map(|set| &set.title)).min(WIDEST));
    let middles = sets.iter().map(|set| Some(set.numbers()?.middle)).collect::<Vec<_>>();
    let middles = values_below(&middles, "");
    let briefs: Vec<String> =
        sets.iter().zip(&middles).map(|(set, middle)| set.in_brief(middle)).collect();
    let beside = usize::from(longest(&briefs));
    let room = usize::from(area.width).saturating_sub(names + beside + 2);
    let (ends, axis) = axis(sets.iter(), room);
    let cells = axis.width();
    let (height, count) = (usize::from(area.height).saturating_sub(1), sets.len());
    let visible = if count > height { height.saturating_sub(1) } else { count };
    let frames = sets.iter().filter(|set| set.numbers().is_none()).count();
    let each = height.saturating_sub(frames) / (count - frames).max(1);
    let each = each.clamp(1, MOST_LINES);
    let mut lines = Vec::new();
    let titles = titles(sets, names);
    for (at, set) in sets.iter().enumerate().take(visible) {
        let drawn = match set.numbers() {
            Some(spread) => bars(&spread.on(&axis), each),
            None => vec![declared_frame(set.declared, &axis)],
        };
        let last = drawn.len() - 1;
        for (line, drawn) in drawn.into_iter().enumerate() {
            let is_last = line == last;
            let name = if is_last { titles[at].as_str() } else { "" };
            let brief = if is_last { format!(" {}", briefs[at]) } else { String::new() };
            lines.push(Line::from(vec![
                Span::raw(format!("{name:<names$} ")),
                Span::styled(drawn, set.style),
                Span::styled(brief, set.style),
            ]));
        }
    }
    let [low, high] = [ends.0, ends.1].map(number::of_a_cell);
    let rule = cells.saturating_sub(low.chars().count() + high.chars().count() + 2);
    let axis = format!("{} {low} {} {high}", " ".repeat(names), "─".repeat(rule));
    lines.push(Line::styled(axis, muted));
    with_rest(lines, count - visible)
}

/// The names of sets in so many cells, told apart.
fn titles(sets: &[OfSet], room: usize) -> Vec<String> {
    let titles: Vec<String> = sets.iter().map(|set| set.title.clone()).collect();
    cut_apart(&titles, room as u16, "…")
}

/// The declared range of a private column as an empty frame on the axis; without one, the whole
/// axis.
fn declared_frame(declared: Option<(f64, f64)>, axis: &Axis) -> String {
    let cells = axis.width();
    let ends = declared.map(|(low, high)| (axis.cells_before(low), axis.cells_before(high)));
    let (first, last) = ends.filter(|(first, last)| first + 1 < *last).unwrap_or((0, cells));
    format!("{}{:<rest$}", " ".repeat(first), framed("", last - first), rest = cells - first)
}

/// The share of each value in each set, as bars.
fn values(sets: &[OfSet], column: &str, canvas: &Canvas, area: Rect) -> Vec<Line<'static>> {
    let texts = all_values(sets.iter());
    let width = usize::from(area.width);
    let names = usize::from(longest(&texts)).min(width / 4).max(5);
    let visible = (width.saturating_sub(names + 1) / 14).clamp(1, sets.len());
    let each = (width.saturating_sub(names + 1) / visible).clamp(8, 40);
    let cut = |text: &str, room: usize| shortened(text, room as u16, "…");
    let padded = |text: String, room: usize| {
        let blank = room.saturating_sub(usize::from(longest([&text])));
        text + &" ".repeat(blank)
    };
    let mut head = vec![Span::raw(" ".repeat(names + 1))];
    for (set, title) in sets[..visible].iter().zip(titles(sets, each - 1)) {
        head.push(Span::styled(padded(title, each), set.style));
    }
    let mut lines = vec![Line::from(head)];
    let shares = texts.iter().flat_map(|text| sets.iter().filter_map(|set| set.share(text)));
    let (most, bar) = (shares.fold(0.0, f64::max), each - 7);
    let rows = usize::from(area.height).saturating_sub(1);
    // Where there is room, bars are two rows high, and a blank row is between them.
    let thick = (rows / texts.len().max(1)).clamp(1, 3);
    for text in texts.iter().take(rows) {
        for row in 0..thick {
            if row > 0 && row + 1 == thick {
                lines.push(Line::default());
                continue;
            }
            let name = if row == 0 { cut(text.as_str(), names) } else { String::new() };
            let mut line = vec![Span::raw(padded(name, names + 1))];
            for set in &sets[..visible] {
                let declared = declared_values(set.definition, column);
                let is_declared = || declared.is_empty() || declared.iter().any(|it| it == text);
                let drawn = match set.share(text) {
                    Some(share) => {
                        let cells = (share / most * bar as f64).round() as usize;
                        let told = if row == 0 { percent_of(share) } else { String::new() };
                        format!("{} {told}", canvas.glyphs.bar_full.repeat(cells))
                    }
                    None if set.facts.is_none() && row == 0 && is_declared() => framed("", bar),
                    None => String::new(),
                };
                line.push(Span::styled(padded(drawn, each), set.style));
            }
            lines.push(Line::from(line));
        }
    }
    let left = sets.len() - visible;
    if left > 0 && lines.len() >= usize::from(area.height) {
        lines.pop();
    }
    with_rest(lines, left)
}

/// Some images of each set: the sets below each other, or beside each other if there are too few
/// lines for each. Below each image stands its label.
fn images(sets: &[OfSet], canvas: &Canvas, area: Rect) -> (Vec<Line<'static>>, Vec<Picture>) {
    let (width, height) = (usize::from(area.width), usize::from(area.height));
    let (shown, hidden): (Vec<&OfSet>, Vec<&OfSet>) =
        sets.iter().partition(|set| set.vectors.is_some());
    let count = shown.len().max(1);
    // A line for each name, and pairs of rows of pixels.
    let each = height.saturating_sub(sets.len()) / count;
    let beside = each < LEAST_LINES && count > 1;
    let (room, lines) = if beside {
        (width / count, height.saturating_sub(hidden.len() + 1))
    } else {
        (width, each)
    };
    let fewest = if beside { 1 } else { FEWEST_IMAGES };
    let most = if as_pixels(canvas) { MOST_CELLS } else { *PIXELS.end() };
    let most = (room / fewest).saturating_sub(1).clamp(*PIXELS.start(), most);
    // In so few lines, pixels are worth more than labels.
    let labelled = lines >= LEAST_LINES && shown.iter().any(|set| set.labels.is_some());
    let below = usize::from(labelled);
    let side = (2 * lines.saturating_sub(below)).clamp(*PIXELS.start(), most);
    let fit = |side: usize| (room / (side + 1), (lines / (side.div_ceil(2) + below)).max(1));
    // Smaller, if then one of each class is seen.
    let classes = shown.iter().filter_map(|set| Some(by_class(set.labels?).len())).max();
    let shows_all = |side: &usize| {
        let (across, down) = fit(*side);
        classes.is_some_and(|classes| across * down >= classes)
    };
    let side = (CLEAR.min(side)..=side).rev().find(shows_all).unwrap_or(side);
    let (across, down) = fit(side);
    let mut pictures = Vec::new();
    let drawn = |set: &&OfSet| {
        let square = set.vectors.and_then(|it| Some((it, square(it.width())?)));
        let images = match square {
            Some(images) => {
                let labels = set.labels.filter(|_| labelled);
                let size = (side, across, down);
                let found = mosaic(images, (labels, set.style), canvas, size);
                pictures.extend(found.1);
                found.0
            }
            None => vec![Line::raw("no square images")],
        };
        let name = Line::styled(shortened(&set.title, room as u16, "…"), set.style);
        std::iter::once(name).chain(images).collect::<Vec<_>>()
    };
    let frames = hidden
        .iter()
        .map(|set| Line::styled(format!("{} {} private", set.title, framed("", side)), set.style));
    let drawn: Vec<Vec<Line>> = shown.iter().map(drawn).collect();
    if !beside {
        return (frames.chain(drawn.into_iter().flatten()).collect(), pictures);
    }
    let longest = drawn.iter().map(Vec::len).max().unwrap_or(0);
    let line = |at: usize| {
        let parts = drawn.iter().flat_map(|lines| {
            let line = lines.get(at).cloned().unwrap_or_default();
            let blank = " ".repeat(room.saturating_sub(line.width()));
            let spans = line.spans.into_iter().map(move |span| span.patch_style(line.style));
            spans.chain([Span::raw(blank)])
        });
        Line::from(parts.collect::<Vec<_>>())
    };
    (frames.chain((0..longest).map(line)).collect(), pictures)
}

/// Whether images are shown as pixels: their colours name them in the terminal.
fn as_pixels(canvas: &Canvas) -> bool {
    canvas.pictures == Drawing::Pixels && canvas.theme.depth == Depth::True && canvas.glyphs.unicode
}

/// The rows whose images are shown: one of each class in turn, or evenly taken from all.
fn chosen(labels: Option<&Column>, all: usize, count: usize) -> Vec<usize> {
    let classes = labels.map(by_class).unwrap_or_default();
    let found = classes.values().map(Vec::len).sum::<usize>();
    if found < count || classes.len() > MOST_CLASSES {
        return (0..count).map(|at| at * all / count).collect();
    }
    let turns = classes.values().map(Vec::len).max().unwrap_or(0);
    let in_turn = (0..turns).flat_map(|turn| classes.values().filter_map(move |it| it.get(turn)));
    in_turn.copied().take(count).collect()
}

/// The rows of each label, among the first rows.
fn by_class(labels: &Column) -> BTreeMap<Cell<'_>, Vec<usize>> {
    let mut classes: BTreeMap<Cell, Vec<usize>> = BTreeMap::new();
    for row in 0..labels.len().min(MOST_SEARCHED) {
        classes.entry(labels.cell(row)).or_default().push(row);
    }
    classes
}

/// So many images beside and below each other, each in so many cells: two rows of pixels in a line, or
/// all pixels where the terminal shows them. A label stands below its image.
fn mosaic(
    (vectors, shape): (&Vectors, ImageShape),
    (labels, style): (Option<&Column>, Style),
    canvas: &Canvas,
    (cells, beside, below): (usize, usize, usize),
) -> (Vec<Line<'static>>, Vec<Picture>) {
    let (count, all) = ((beside * below).min(vectors.len()), vectors.len());
    let side = if as_pixels(canvas) { shape.1.min(MOST_PIXELS) } else { cells };
    let to = (shape.0, side, side);
    let chosen = chosen(labels, all, count);
    let image = |row: &usize| {
        let row: Vec<f64> = vectors.row(*row).numbers().collect();
        resized(&row, shape, to)
    };
    let images: Vec<Vec<f64>> = chosen.iter().map(image).collect();
    let finite = || images.iter().flatten().copied().filter(|it| it.is_finite());
    let low = finite().fold(f64::INFINITY, f64::min);
    let high = finite().fold(f64::NEG_INFINITY, f64::max);
    // The colours of a pixel, from 0 to 1.
    let pixel = |image: &[f64], y: usize, x: usize| {
        [0, 1, 2].map(|channel| {
            let channel = if shape.0 == 3 { channel } else { 0 };
            let value = (image[(channel * side + y) * side + x] - low) / (high - low);
            if value.is_finite() { value } else { 0.0 }
        })
    };
    let bytes = |rgb: [f64; 3]| rgb.map(|it| (255.0 * it).round() as u8);
    let depth = canvas.theme.depth;
    let colour = |rgb: [f64; 3]| match depth {
        Depth::True => {
            let [red, green, blue] = bytes(rgb);
            Color::Rgb(red, green, blue)
        }
        // The grey scale of terminals with 256 colours begins at 232 and has 24 steps.
        _ => Color::Indexed(232 + (23.0 * rgb.iter().sum::<f64>() / 3.0).round() as u8),
    };
    let has_colours = matches!(depth, Depth::True | Depth::Cube) && canvas.glyphs.unicode;
    let line = |images: &[Vec<f64>], y: usize| {
        let mut spans = Vec::new();
        for image in images {
            for x in 0..side {
                let [upper, lower] = [y, (y + 1).min(side - 1)].map(|y| pixel(image, y, x));
                spans.push(if has_colours {
                    Span::styled("▀", Style::new().fg(colour(upper)).bg(colour(lower)))
                } else {
                    let grey = upper.iter().chain(&lower).sum::<f64>() / 6.0;
                    Span::raw(SHADES[(4.0 * grey).round() as usize].to_string())
                });
            }
            spans.push(Span::raw(" "));
        }
        Line::from(spans)
    };
    let (mut lines, mut pictures) = (Vec::new(), Vec::new());
    for (row, images) in images.chunks(beside.max(1)).enumerate() {
        if as_pixels(canvas) {
            let places = (0..side).flat_map(|y| (0..side).map(move |x| (y, x)));
            let picture = |image: &Vec<f64>| Picture {
                size: (side, side),
                pixels: places.clone().flat_map(|(y, x)| bytes(pixel(image, y, x))).collect(),
                columns: cells,
                rows: cells.div_ceil(2),
            };
            let all: Vec<Picture> = images.iter().map(picture).collect();
            let cells_of = |row: usize| all.iter().flat_map(move |it| [it.cells(row), " ".into()]);
            lines.extend((0..cells.div_ceil(2)).map(|row| cells_of(row).collect::<Line>()));
            pictures.extend(all);
        } else {
            lines.extend((0..side).step_by(2).map(|y| line(images, y)));
        }
        let Some(labels) = labels else { continue };
        let label = |at: usize| {
            let label = labels.cell(chosen[row * beside + at]).to_string();
            format!("{:^cells$} ", shortened(&label, cells as u16, "…"))
        };
        let labels: String = (0..images.len()).map(label).collect();
        lines.push(Line::styled(labels, style));
    }
    (lines, pictures)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_declared_range_is_a_frame_at_its_place_on_the_axis() {
        let axis = Axis::of(&[], (0.0, 8.0), 8);
        assert_eq!(declared_frame(None, &axis), "[······]");
        assert_eq!(declared_frame(Some((2.0, 6.0)), &axis), "  [··]  ");
        assert_eq!(declared_frame(Some((0.0, 8.0)), &axis), "[······]");
        assert_eq!(declared_frame(Some((3.0, 3.0)), &axis), "[······]");
    }
}
