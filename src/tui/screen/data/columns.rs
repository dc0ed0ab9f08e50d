//! The columns of the selected dataset in one line each: use, distribution, range, gaps.

use ratatui::style::Style;

use super::compare::beside_each_other;
use super::view::{Shown, details_are_beside, remarks};
use super::{COLUMNS, DataScreen};
use crate::canvas::{
    Canvas, ColumnWidths, Fill, Length, Line, Rect, in_rows, longest, wrapped_lines,
};
use crate::context::Context;
use crate::data::images::square;
use crate::data::preparation::LabelRange;
use crate::data::profile::{Axis, Spread, TableProfile};
use crate::data::{DatasetDefinition, Role};
use crate::privacy::Watch;
use crate::session::dataset::ColumnKind;
use crate::theme::Theme;
use crate::widgets::bars::{bars, of_texts, values_below};

/// The least width for long histograms and counts.
const WIDE: u16 = 90;
/// The fewest cells of a histogram beside others.
const FEWEST_CELLS: usize = 8;
/// Cells of a histogram in a wide terminal and in a narrow one.
const CELLS: [usize; 2] = [24, 16];
/// Heads of the three numbers of a column.
const HEADS: [&str; 3] = ["least", "middle", "greatest"];

/// The range of a label that the plans of a private dataset declare.
pub(super) fn declared_range(
    context: &Context,
    definition: &DatasetDefinition,
    column: &str,
) -> Option<(f64, f64)> {
    let is_label = definition.label.as_deref() == Some(column);
    let mut plans = context.session.plans.iter();
    plans.find_map(|plan| match plan.preparation.labels {
        LabelRange::Declared(low, high) if is_label && plan.private == definition.name => {
            Some((low, high))
        }
        _ => None,
    })
}

/// The values that a definition declares of a column: its categories, or the classes of the label.
pub(super) fn declared_values<'a>(definition: &'a DatasetDefinition, column: &str) -> &'a [String] {
    match definition.category(column) {
        Some(values) if !values.is_empty() => values,
        _ if definition.label.as_deref() == Some(column) => &definition.classes,
        _ => &[],
    }
}

/// The columns of a dataset that was read.
pub(super) fn columns(shown: Shown, canvas: &mut Canvas, area: Rect) {
    let Shown { screen, context, definition } = shown;
    let columns = screen.columns(context);
    let profile = DataScreen::profile(definition, context);
    let is_private = definition.role == Role::Private;
    let counted = if columns.len() == 1 { "column" } else { "columns" };
    let label = match &definition.label {
        Some(label) => format!("{label} ({})", definition.task),
        None => "no label".to_owned(),
    };
    let rows = profile.map_or_else(String::new, |profile| match profile {
        TableProfile { rows, of, .. } if rows < of => format!(" · from {rows} of {of} rows"),
        TableProfile { of, .. } => format!(" · {of} rows"),
    });
    let sign = if is_private && profile.is_some() { "◆ " } else { "" };
    let name = &definition.name;
    let title = format!("{sign}{name} · {label} · {} {counted}{rows}", columns.len());
    let inner = canvas.pane(area, &title, COLUMNS);
    // Wide terminals show them beside the columns.
    let mut lines = if details_are_beside(canvas) { Vec::new() } else { remarks(shown, canvas) };
    if is_private && profile.is_none() {
        let words = if context.watch.is_sealed() {
            "Private rows are sealed."
        } else {
            "Private rows are hidden; o shows them (◆)."
        };
        lines.push(Line::styled(words, canvas.theme.muted));
    }
    let head: u16 = lines.iter().map(|line| wrapped_lines(&line.to_string(), inner.width)).sum();
    let [head, inner] = in_rows(inner, [Length(head.min(inner.height / 3 + 1)), Fill(1)]);
    canvas.paragraph(lines, true, head);
    match profile {
        Some(profile) => profiles(shown, canvas, inner, (&columns, profile)),
        None => beside_others(shown, canvas, inner, &columns),
    }
}

/// What images of so many numbers are; `None` if these are no square images.
pub(super) fn image_words(numbers: usize) -> Option<String> {
    let (channels, height, width) = square(numbers)?;
    let colours = if channels == 3 { " in colour" } else { "" };
    Some(format!("images of {width} × {height} pixels{colours}"))
}

/// How a column is used.
fn used_as(definition: &DatasetDefinition, column: &ColumnKind) -> &'static str {
    match () {
        () if definition.label.as_ref() == Some(&column.name) => "label",
        () if !definition.uses(&column.name) => "left out",
        () if definition.category(&column.name).is_some() => "category",
        () => "feature",
    }
}

/// The first fields of every line: the name of a column, and what it is used as.
fn described(
    definition: &DatasetDefinition,
    column: &ColumnKind,
    theme: &Theme,
) -> (Vec<Line<'static>>, Style) {
    let word = used_as(definition, column);
    let (word, style) = match word {
        "label" => (word, theme.accent),
        "left out" => ("–", theme.muted),
        "category" => (word, theme.text),
        _ => (column.holds(), theme.text),
    };
    (vec![Line::styled(column.name.clone(), style), Line::styled(word, style)], style)
}

/// Heads and widths of these fields.
fn first_fields(columns: &[ColumnKind], wide: bool) -> ColumnWidths<'static> {
    let names = longest(columns.iter().map(|it| &it.name)).clamp(6, if wide { 24 } else { 14 });
    (["column", "use"].map(Line::raw).to_vec(), [names, 8].map(Length).to_vec())
}

/// A line for each column with its profile.
fn profiles(
    Shown { screen, definition, .. }: Shown,
    canvas: &mut Canvas,
    area: Rect,
    (columns, profile): (&[ColumnKind], &TableProfile),
) {
    let theme = canvas.theme;
    let wide = area.width >= WIDE;
    let cells = if wide { CELLS[0] } else { CELLS[1] };
    let facts: Vec<_> = columns.iter().map(|it| profile.column(&it.name)).collect();
    let spread = |at: usize| facts[at].and_then(|it| it.spread.as_ref());
    let numbers = [0, 1, 2].map(|which| {
        let value = |at| match spread(at) {
            Some(Spread::Numbers(it)) => Some([it.least, it.middle, it.greatest][which]),
            _ => None,
        };
        values_below(&(0..columns.len()).map(value).collect::<Vec<_>>(), HEADS[which])
    });
    let row = |at: usize| {
        let column = &columns[at];
        let (mut line, style) = described(definition, column, theme);
        let style = if definition.role == Role::Private { theme.curator } else { style };
        let count = |count: Option<usize>| {
            let text = count.filter(|it| *it > 0).map_or_else(String::new, |it| it.to_string());
            Line::styled(text, style).right_aligned()
        };
        if wide {
            line.push(count(facts[at].map(|it| it.missing)));
            line.push(count(facts[at].and_then(|it| it.distinct)));
        }
        let drawn = match (spread(at), column.width) {
            (Some(Spread::Numbers(spread)), _) => {
                let axis = Axis::of(&[spread], spread.range(), cells);
                let histogram = bars(&spread.on(&axis), 1).concat();
                let numbers = numbers.iter().map(|it| it[at].as_str()).collect::<Vec<_>>();
                format!("{histogram:<cells$} {}", numbers.join(" "))
            }
            (Some(Spread::Texts(texts)), _) => {
                of_texts(texts, facts[at].map_or(0, |it| it.present), cells)
            }
            (None, 1) => "no value".to_owned(),
            (None, numbers) => {
                image_words(numbers).unwrap_or_else(|| format!("vectors of {numbers} numbers"))
            }
        };
        line.push(Line::styled(drawn, style));
        line
    };
    let (mut heads, mut widths) = first_fields(columns, wide);
    if wide {
        heads.extend([Line::raw("missing"), Line::raw("values")]);
        widths.extend([Length(7), Length(7)]);
    }
    let numbers = numbers.iter().zip(HEADS).map(|(texts, head)| {
        let width = texts.first().map_or(0, |text| text.chars().count());
        format!("{head:<width$}")
    });
    let numbers = numbers.collect::<Vec<_>>().join(" ");
    heads.push(Line::raw(format!("{:<cells$} {numbers}", "distribution")));
    widths.push(Fill(1));
    // A selected row without the focus would look like that of the list.
    let selected = canvas.has_focus(COLUMNS).then_some(screen.place);
    canvas.list(area, (heads, widths), (COLUMNS, columns.len(), selected), row);
}

/// The columns of a dataset whose rows are not shown, beside those of datasets that show theirs. The
/// histograms of a line are on one axis.
fn beside_others(
    Shown { screen, context, definition }: Shown,
    canvas: &mut Canvas,
    area: Rect,
    columns: &[ColumnKind],
) {
    let theme = canvas.theme;
    let wide = area.width >= WIDE;
    let (mut heads, mut widths) = first_fields(columns, wide);
    let used: u16 = widths.iter().map(|it| if let Length(it) = it { it + 1 } else { 0 }).sum();
    let room = usize::from(area.width.saturating_sub(used));
    let others = context.session.datasets.iter().enumerate().filter(|(_, other)| {
        let profile = DataScreen::profile(other, context);
        let has = |it: &ColumnKind| profile.is_some_and(|all| all.column(&it.name).is_some());
        columns.iter().any(has)
    });
    let own = context.session.datasets.iter().position(|it| it.name == definition.name);
    let mut sets: Vec<_> = own.map(|at| (at, definition)).into_iter().chain(others).collect();
    let fitting = (room / (FEWEST_CELLS + 1)).max(1);
    let left = sets.len().saturating_sub(fitting);
    sets.truncate(fitting);
    let cells = (room / sets.len().max(1)).saturating_sub(1).clamp(1, CELLS[0]);
    for (_, set) in &sets {
        heads.push(Line::raw(set.name.clone()));
        widths.push(Length(cells as u16));
    }
    if left > 0 {
        heads.push(Line::raw(format!("+{left}")));
        widths.push(Fill(1));
    }
    let row = |at: usize| {
        let column = &columns[at];
        let (mut line, _) = described(definition, column, theme);
        let drawn = beside_each_other(&sets, &column.name, (context, theme), cells);
        line.extend(drawn.into_iter().map(Line::from));
        line
    };
    let selected = canvas.has_focus(COLUMNS).then_some(screen.place);
    canvas.list(area, (heads, widths), (COLUMNS, columns.len(), selected), row);
}

/// The heads of what is exported of a column.
pub(super) const EXPORTED: [&str; 11] = [
    "column",
    "use",
    "kind",
    "missing",
    "values",
    "rows",
    "least",
    "middle",
    "greatest",
    "distribution",
    "exact",
];

/// What is exported of every column of a dataset: empty fields where the rows may not be seen. The
/// distribution is how many rows are in each cell of a histogram, or have each text. A dataset without
/// columns has one line.
pub(super) fn exported(
    definition: &DatasetDefinition,
    context: &Context,
    watch: &Watch,
) -> Vec<Vec<String>> {
    let columns = context.columns(&definition.name);
    if columns.is_empty() {
        return vec![vec![String::new(); EXPORTED.len()]];
    }
    let profile = DataScreen::profile_for(definition, context, watch);
    let is_exact = definition.role == Role::Private && profile.is_some();
    let sign = if is_exact { "◆" } else { "" };
    let of = |column: &ColumnKind| {
        let facts = profile.and_then(|profile| profile.column(&column.name));
        let count = |count: Option<usize>| count.map_or_else(String::new, |it| it.to_string());
        let mut line = vec![column.name.clone(), used_as(definition, column).to_owned()];
        line.push(column.holds().to_owned());
        line.extend([facts.map(|it| it.missing), facts.and_then(|it| it.distinct)].map(count));
        line.push(count(facts.map(|it| it.present)));
        let (numbers, distribution) = match facts.and_then(|it| it.spread.as_ref()) {
            Some(Spread::Numbers(it)) => {
                let cells = it.histogram(it.range(), CELLS[0]);
                let cells = cells.iter().map(ToString::to_string).collect::<Vec<_>>();
                ([it.least, it.middle, it.greatest].map(|it| it.to_string()), cells.join(" "))
            }
            Some(Spread::Texts(texts)) => {
                let texts = texts.iter().map(|(text, rows)| format!("{text}: {rows}"));
                (Default::default(), texts.collect::<Vec<_>>().join("; "))
            }
            None => Default::default(),
        };
        line.extend(numbers);
        line.extend([distribution, sign.to_owned()]);
        line
    };
    columns.iter().map(of).collect()
}

/// The selected column of the list; of images these, before somebody has selected another.
pub(super) fn selected(
    screen: &DataScreen,
    context: &Context,
    focused: bool,
) -> Option<ColumnKind> {
    let columns = screen.columns(context);
    let last = columns.len().checked_sub(1)?;
    let is_image = |it: &ColumnKind| it.width > 1 && square(it.width).is_some();
    let images = columns.iter().position(is_image).filter(|_| !focused && screen.place == 0);
    columns.into_iter().nth(images.unwrap_or(screen.place).min(last))
}
