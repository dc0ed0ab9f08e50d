//! The picture of the Data screen.

use super::{DATASETS, DETAILS, DataScreen, ROWS, RowsShown, role_words};
use crate::canvas::{
    Canvas, Fill, Length, Line, ListHit, Rect, Span, in_columns, in_rows, longest, wrapped_lines,
};
use crate::context::{Context, DatasetStatus};
use crate::data::table::FileEnding;
use crate::data::{Columns, DatasetDefinition, Role, Source, Task};
use crate::notice::one_line;
use crate::session::Loaded;
use crate::theme::Glyphs;

/// The largest width of a column of the preview.
const WIDEST: usize = 18;

/// The selected dataset, and how it is shown.
#[derive(Clone, Copy)]
struct Shown<'a> {
    screen: &'a DataScreen,
    context: &'a Context,
    definition: &'a DatasetDefinition,
}

pub fn view(screen: &DataScreen, context: &Context, canvas: &mut Canvas, area: Rect) {
    let shown = screen.definition(context).map(|definition| Shown { screen, context, definition });
    match (canvas.alone, shown) {
        (Some(DATASETS), _) => return list(screen, context, canvas, area),
        (Some(ROWS), Some(shown)) => return preview(shown, canvas, area),
        (Some(DETAILS), Some(shown)) => return details(shown, canvas, area),
        _ => {}
    }
    let count = context.session.datasets.len();
    let rows = (count as u16 + 3).clamp(5, (area.height / 2).max(5));
    let [above, below] = in_rows(area, [Length(rows), Fill(1)]);
    list(screen, context, canvas, above);
    let Some(shown) = shown else {
        let steps = [
            "1. Add the private dataset and at least one public one (a).",
            "2. Say which column is the label, and which rows belong to it (Enter).",
            "3. Press 3 to plan a run, and see what it costs before it starts.",
        ];
        return canvas.empty_box(below, "What to do", &steps);
    };
    let [first, second] = if below.width >= 110 {
        in_columns(below, [Length(50), Fill(1)])
    } else if below.height >= 22 {
        in_rows(below, [Length(11), Fill(1)])
    } else if canvas.has_focus(ROWS) {
        return preview(shown, canvas, below);
    } else {
        return details(shown, canvas, below);
    };
    details(shown, canvas, first);
    preview(shown, canvas, second);
}

fn list(screen: &DataScreen, context: &Context, canvas: &mut Canvas, area: Rect) {
    let title = if context.session.name.is_empty() { "Datasets" } else { &context.session.name };
    let inner = canvas.pane(area, &context.filtered_title(title), DATASETS);
    if context.session.datasets.is_empty() {
        let words = "No data yet. Press a to add a data file, or Ctrl-o to open a session.";
        canvas.empty(inner, &[words]);
    } else {
        datasets(screen, context, canvas, inner);
    }
}

fn datasets(screen: &DataScreen, context: &Context, canvas: &mut Canvas, area: Rect) {
    let (theme, glyphs) = (canvas.theme, canvas.glyphs);
    let wide = area.width >= 100;
    let visible = DataScreen::visible(context);
    // Names get the room they need, as long as the filters keep some.
    let shown = || visible.iter().map(|index| &context.session.datasets[*index]);
    let names = longest(shown().map(|it| &it.name)).clamp(4, (area.width / 3).max(15));
    let labels = longest(shown().map(|it| it.label.as_deref().unwrap_or("none")));
    let labels = labels.clamp(5, if wide { 16 } else { 9 });
    let check = format!("check {}", glyphs.curator);
    let row = |place: usize| {
        let dataset = &context.session.datasets[visible[place]];
        let (size, columns, state, style) = match context.datasets.get(&dataset.name) {
            Some(DatasetStatus::Ready { loaded, .. }) => {
                let (state, style) = match loaded.exact_unusable(&context.watch) {
                    _ if loaded.gap().is_some() || context.misfits.contains_key(&dataset.name) => {
                        ("refused", theme.error)
                    }
                    None if !dataset.guessed.is_empty() => ("guessed", theme.warning),
                    None => ("ready", theme.good),
                    Some(_) => (check.as_str(), theme.curator),
                };
                (loaded.rows.to_string(), loaded.columns.len().to_string(), state, style)
            }
            Some(DatasetStatus::Failed(_)) => (String::new(), String::new(), "failed", theme.error),
            Some(DatasetStatus::Loading(share)) => {
                let percent = format!("{:.0} %", (share * 100.0).floor());
                (percent, String::new(), "reading", theme.warning)
            }
            None => (String::new(), String::new(), "", theme.muted),
        };
        let style_of_role = match dataset.role {
            Role::Private => theme.warning,
            Role::Public => theme.text,
        };
        vec![
            Line::raw(dataset.name.clone()),
            Line::styled(role_words(dataset.role), style_of_role),
            Line::raw(size).right_aligned(),
            Line::raw(columns).right_aligned(),
            Line::raw(dataset.label.clone().unwrap_or_else(|| "none".to_owned())),
            Line::raw(dataset.filter.clone().unwrap_or_else(|| "all rows".to_owned())),
            Line::styled(state.to_owned(), style),
        ]
    };
    // If persons are protected, persons are counted.
    let persons = context.session.datasets.iter().any(|dataset| dataset.unit.is_some());
    let size = if persons { "size" } else { "rows" };
    let header = ["name", "role", size, "columns", "label", "filter", "state"];
    let widths =
        [Length(names), Length(7), Length(7), Length(7), Length(labels), Fill(1), Length(7)];
    let selected = visible.iter().position(|index| *index == screen.selected);
    let shape = (header.map(Line::raw).to_vec(), widths.to_vec());
    let list = (DATASETS, visible.len(), selected);
    canvas.list(area, shape, list, row);
}

fn details(Shown { screen, context, definition }: Shown, canvas: &mut Canvas, area: Rect) {
    let (theme, glyphs) = (canvas.theme, canvas.glyphs);
    let origin = match &definition.source {
        Source::Builtin(name) => format!("{name} (inside the program)"),
        Source::Synthetic { rows, dimension, mixture, seed, .. } => {
            format!("synthetic: {rows} rows, {dimension} features, mixture {mixture}, seed {seed}")
        }
        files => files.files().join(" + "),
    };
    let label = match &definition.label {
        Some(label) if names_classes(context, definition) => {
            format!("{label} ({}: its numbers name classes)", definition.task)
        }
        Some(label) => format!("{label} ({})", definition.task),
        None => "none".to_owned(),
    };
    let persons =
        context.loaded(&definition.name).map_or(String::new(), |it| format!("{} ", it.rows));
    let protected = definition.unit.as_ref().filter(|_| definition.role == Role::Private);
    let protected = protected.map_or_else(String::new, |unit| {
        let most = definition.most_records();
        format!("{persons}persons by '{}', {most} rows of each at most", unit.words())
    });
    let categories: Vec<_> = definition.categories.keys().map(String::as_str).collect();
    let categories =
        if categories.is_empty() { "text columns".to_owned() } else { categories.join(", ") };
    let room = area.width.saturating_sub(2);
    let mut facts = vec![
        ("origin", origin),
        ("label", label),
        ("filter", definition.filter.clone().unwrap_or_else(|| "none: all rows".to_owned())),
        ("protected", protected),
        ("features", definition.columns.words()),
        ("categories", categories),
    ];
    facts.retain(|(_, value)| !value.is_empty());
    let mut lines = Vec::new();
    match context.datasets.get(&definition.name) {
        Some(DatasetStatus::Ready { loaded, account }) => {
            let columns = loaded.columns.iter().map(|column| {
                let name = &column.name;
                if column.numeric { name.clone() } else { format!("{name} ({})", column.holds()) }
            });
            let columns = columns.collect::<Vec<_>>().join(", ");
            facts.push(("columns", columns));
            match definition.role {
                Role::Private => {
                    let ledger = match account {
                        Some(account) => format!("known as {}", account.0),
                        None => "no account yet: the first run or budget opens one".to_owned(),
                    };
                    facts.push(("ledger", ledger));
                    lines.push(Line::styled(
                        "Its rows are hidden; o shows them (◆). What is released from them \
                                        carries noise and is entered in the ledger.",
                        theme.muted,
                    ));
                    let unusable = loaded.exact_unusable(&context.watch).map(|(rows, line)| {
                        let words = if rows == 1 { "row has" } else { "rows have" };
                        format!(
                            "{rows} {words} no usable cell, the first in line {line}. Such rows \
                             count as empty records: `halflight data inspect` says why."
                        )
                    });
                    let ending = ending_of(context, loaded).map(str::to_owned);
                    let named = loaded.exact_named(&context.watch);
                    for words in unusable.into_iter().chain(ending).chain(named) {
                        let sign = glyphs.curator;
                        lines.push(Line::styled(format!("{sign} {words}"), theme.curator));
                    }
                }
                Role::Public => {
                    let print = loaded.definition.fingerprint.clone().unwrap_or_default();
                    facts.push(("fingerprint", print));
                    if let Some(why) = DataScreen::hidden(definition, context) {
                        lines.push(Line::styled(why, theme.warning));
                    }
                }
            }
            let errors = loaded.gap().into_iter().chain(context.misfits.get(&definition.name));
            lines.extend(errors.map(|it| Line::styled(one_line(it), theme.error)));
            let notes = loaded.warnings.iter();
            lines.extend(notes.map(|it| Line::styled(format!("note: {it}"), theme.warning)));
        }
        Some(DatasetStatus::Failed(error)) => {
            lines.push(Line::styled(one_line(error), theme.error));
        }
        Some(DatasetStatus::Loading(share)) => {
            let bar = progress_bar(glyphs, *share);
            let text = format!("reading {bar} {:.0} % (c cancels)", (share * 100.0).floor());
            lines.push(Line::styled(text, theme.warning));
        }
        None => {}
    }
    let guessed = definition.guessed.values();
    let guessed = guessed.map(|it| Line::styled(format!("guessed: {it}"), theme.warning));
    let mut guessed: Vec<Line> = guessed.collect();
    if !guessed.is_empty() {
        guessed.push(Line::styled("= confirms this, Enter changes it.", theme.muted));
    }
    let lines = [guessed, canvas.pairs(&facts, room), lines].concat();
    canvas.text_pane(area, &definition.name, DETAILS, lines, screen.detail);
}

/// Whether classes are used as numbers, which may be a mistake.
fn names_classes(context: &Context, definition: &DatasetDefinition) -> bool {
    let is_label = |name: &str| definition.label.as_deref() == Some(name);
    let numeric = context.loaded(&definition.name).is_some_and(|loaded| {
        loaded.columns.iter().any(|column| column.numeric && is_label(&column.name))
    });
    numeric && definition.task == Task::Classification && definition.classes.is_empty()
}

/// A remark about the end of a private file, if it may be seen.
fn ending_of(context: &Context, loaded: &Loaded) -> Option<&'static str> {
    match loaded.exact_ending(&context.watch)? {
        FileEnding::Whole => None,
        FileEnding::Line => Some(
            "The file does not end with a line end. If it was cut off, its last record is wrong.",
        ),
        FileEnding::Row => Some(
            "The last row has no usable cell, so it counts as an empty record. Was the file cut \
             off?",
        ),
    }
}

fn progress_bar(glyphs: &Glyphs, share: f64) -> String {
    let full = (share.clamp(0.0, 1.0) * 20.0) as usize;
    glyphs.bar_full.repeat(full) + &glyphs.bar_empty.repeat(20 - full)
}

fn preview(Shown { screen, context, definition }: Shown, canvas: &mut Canvas, area: Rect) {
    let shown = screen.rows(context);
    let title = match shown {
        Some(RowsShown::Public(loaded)) => {
            format!("Rows · {} of {}", (screen.row + 1).min(loaded.rows), loaded.rows)
        }
        Some(RowsShown::Private(rows)) => {
            format!("◆ Private rows · first {} of {}", rows.rows.len(), rows.total)
        }
        None => "Rows".to_owned(),
    };
    let inner = canvas.pane(area, &title, ROWS);
    if let Some(shown) = shown {
        return rows(screen, canvas, inner, shown);
    }
    let line = match (definition.role, context.datasets.get(&definition.name)) {
        (Role::Private, Some(DatasetStatus::Ready { .. })) if context.watch.is_sealed() => {
            "Private rows are sealed."
        }
        (Role::Private, Some(DatasetStatus::Ready { .. })) => {
            "Private rows stay hidden. Press o to see them: for your eyes only (◆)."
        }
        (_, Some(DatasetStatus::Failed(_))) => "It could not be read.",
        _ => "reading…",
    };
    let Some(loaded) = context.loaded(&definition.name) else {
        return canvas.empty(inner, &[line]);
    };
    let hidden = DataScreen::hidden(definition, context).filter(|_| loaded.public().is_ok());
    columns(canvas, inner, (definition, loaded), hidden.as_deref().unwrap_or(line));
}

/// The visible part of a table whose rows stay hidden: its columns and their roles.
fn columns(
    canvas: &mut Canvas,
    area: Rect,
    (definition, loaded): (&DatasetDefinition, &Loaded),
    why: &str,
) {
    let head = wrapped_lines(why, area.width).min(area.height);
    let [words, list] = in_rows(area, [Length(head), Fill(1)]);
    canvas.wrapped(why, canvas.theme.muted, words);
    // In little room only a few of them fit, and the details name all of them.
    if list.height < 4 {
        return;
    }
    let theme = canvas.theme;
    let use_of = |name: &String| match &definition.columns {
        _ if definition.label.as_ref() == Some(name) => Span::styled("label", theme.accent),
        Columns::Only(names) if !names.contains(name) => Span::styled("left out", theme.muted),
        Columns::Except(names) if names.contains(name) => Span::styled("left out", theme.muted),
        _ => Span::styled("feature", theme.text),
    };
    let row = |index: usize| {
        let column = &loaded.columns[index];
        let cells = [Span::raw(column.name.clone()), Span::styled(column.holds(), theme.muted)];
        cells.into_iter().chain([use_of(&column.name)]).map(Line::from).collect()
    };
    let names = longest(loaded.columns.iter().map(|column| &column.name)).clamp(6, 40);
    let widths = [names, 6, 8].map(Length).to_vec();
    let header = ["column", "kind", "use"].map(Line::raw).to_vec();
    let _ = canvas.table(list, (header, widths), (loaded.columns.len(), None), row);
}

/// Cells of the rows from the chosen row and column on, under a fixed header.
fn rows(screen: &DataScreen, canvas: &mut Canvas, area: Rect, shown: RowsShown) {
    let theme = canvas.theme;
    let (names, count, style): (Vec<&str>, usize, _) = match shown {
        RowsShown::Public(loaded) => {
            let names = loaded.columns.iter().map(|column| column.name.as_str());
            (names.collect(), loaded.rows, theme.text)
        }
        RowsShown::Private(rows) => {
            (rows.header.iter().map(String::as_str).collect(), rows.rows.len(), theme.curator)
        }
    };
    let cell = |row: usize, column: usize| match shown {
        RowsShown::Public(loaded) => loaded
            .public()
            .map_or_else(|_| String::new(), |table| table.columns[column].cell(row).to_string()),
        RowsShown::Private(rows) => rows.rows[row].get(column).cloned().unwrap_or_default(),
    };
    let height = usize::from(area.height.saturating_sub(1));
    let first = screen.row.min(count.saturating_sub(1));
    let visible = first..count.min(first + height);
    let number = visible.end.to_string().len() + 1;
    let mut room = usize::from(area.width).saturating_sub(number + 1);
    let (mut header, mut widths) = (vec![Line::raw("")], vec![Length(number as u16)]);
    let from = screen.column.min(names.len().saturating_sub(1));
    let mut columns = Vec::new();
    for (column, name) in names.iter().enumerate().skip(from) {
        let cells = visible.clone().map(|row| cell(row, column)).chain([(*name).to_owned()]);
        let width = usize::from(longest(cells)).clamp(1, WIDEST);
        if width > room && !columns.is_empty() {
            break;
        }
        room = room.saturating_sub(width + 1);
        header.push(Line::raw((*name).to_owned()));
        widths.push(Length(width as u16));
        columns.push(column);
    }
    let row = |place: usize| {
        let index = first + place;
        let mut cells = vec![Line::styled((index + 1).to_string(), theme.muted)];
        cells.extend(columns.iter().map(|column| Line::styled(cell(index, *column), style)));
        cells
    };
    let (area, _) = canvas.table(area, (header, widths), (visible.len(), None), row);
    canvas.hits.lists.push(ListHit { area, first, pane: ROWS, selected: None });
}
