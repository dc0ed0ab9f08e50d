//! The picture of the Data screen.

use super::columns::columns;
use super::compare::compare;
use super::{COLUMNS, DATASETS, DETAILS, DataScreen, ROWS, RowsShown, role_words};
use crate::canvas::{Canvas, Fill, Length, Line, ListHit, Rect, longest};
use crate::context::{Context, DatasetStatus};
use crate::data::inspect::{ColumnFacts, Inspection};
use crate::data::profile::{NumberSpread, Spread};
use crate::data::table::FileEnding;
use crate::data::{DatasetDefinition, Role, Source, Task};
use crate::engine::lookup::ExactRows;
use crate::notice::one_line;
use crate::session::{Loaded, family};
use crate::theme::Glyphs;

/// The largest width of a column of the preview.
const WIDEST: usize = 18;

/// The least height of the part below the list in which the columns and one of them in all datasets
/// stand below each other.
const TALL: u16 = 20;
/// The least height of a picture of one column.
const LEAST_PICTURE: u16 = 5;
/// The least width at which the facts stand beside the columns.
const WIDE: u16 = 150;

/// The selected dataset, and how it is shown.
#[derive(Clone, Copy)]
pub(super) struct Shown<'a> {
    pub screen: &'a DataScreen,
    pub context: &'a Context,
    pub definition: &'a DatasetDefinition,
}

pub fn view(screen: &DataScreen, context: &Context, canvas: &mut Canvas, area: Rect) {
    let shown = screen.definition(context).map(|definition| Shown { screen, context, definition });
    match (canvas.alone, shown) {
        (Some(DATASETS), _) => return list(screen, context, canvas, area),
        (Some(COLUMNS), Some(shown)) => return pictures(shown, canvas, area),
        (Some(ROWS), Some(shown)) => return preview(shown, canvas, area),
        (Some(DETAILS), Some(shown)) => return details(shown, canvas, area),
        _ => {}
    }
    let count = context.session.datasets.len();
    let rows = (count as u16 + 3).clamp(5, (area.height / 2).max(5));
    let [above, below] = canvas.two_rows("data.list", area, rows);
    let is_read = shown.is_some_and(|it| context.loaded(&it.definition.name).is_some());
    let wanted = shown.map_or(0, |shown| lines_of_columns(shown, canvas));
    let tall = below.height >= TALL || wanted + LEAST_PICTURE <= below.height;
    if let Some(shown) = shown.filter(|_| is_read && !tall && canvas.has_focus(COLUMNS)) {
        return pictures(shown, canvas, area);
    }
    list(screen, context, canvas, above);
    let Some(shown) = shown else {
        let steps = [
            "1. Add the private dataset and at least one public one (a).",
            "2. Say which column is the label, and which rows belong to it (Enter).",
            "3. Press 3 to plan a run, and see what it costs before it starts.",
        ];
        return canvas.empty_box(below, "What to do", &steps);
    };
    let wide = details_are_beside(canvas);
    let facts = if wide { 52 } else { 0 };
    let [main, side] = canvas.two_columns("data.facts", below, below.width.saturating_sub(facts));
    if wide {
        details(shown, canvas, side);
    }
    if canvas.has_focus(ROWS) || (wide && !is_read) {
        preview(shown, canvas, main);
    } else if !wide && (!is_read || canvas.has_focus(DETAILS)) {
        details(shown, canvas, main);
    } else if tall {
        pictures(shown, canvas, main);
    } else {
        columns(shown, canvas, main);
    }
}

/// Whether the facts about a dataset stand beside its columns.
pub(super) fn details_are_beside(canvas: &Canvas) -> bool {
    canvas.area().width >= WIDE && canvas.alone.is_none()
}

/// The lines that all columns need, with what is said above them.
fn lines_of_columns(shown: Shown, canvas: &Canvas) -> u16 {
    let columns = shown.context.columns(&shown.definition.name).len();
    let above = if details_are_beside(canvas) { 1 } else { 2 + remarks(shown, canvas).len() };
    u16::try_from(columns + above + 3).unwrap_or(u16::MAX)
}

/// All columns, and the selected one in every dataset; if there is room, rows.
fn pictures(shown: Shown, canvas: &mut Canvas, area: Rect) {
    let Shown { context, definition, .. } = shown;
    let sets = context.session.datasets.len().clamp(1, 6) as u16;
    let height = lines_of_columns(shown, canvas)
        .min(area.height.saturating_sub(sets + 3))
        .max(area.height / 3);
    let left = area.height - height;
    // Images are better seen above.
    let has_rows = DataScreen::rows(definition, context).is_some()
        && context.columns(&definition.name).iter().all(|column| column.width == 1);
    let rows = if has_rows && left >= 2 * sets + 12 { left - (2 * sets + 4) } else { 0 };
    let [first, rest] = canvas.two_rows("data.columns", area, height);
    let [second, third] = canvas.two_rows("data.rows", rest, rest.height.saturating_sub(rows));
    columns(shown, canvas, first);
    compare(shown, canvas, second);
    if !third.is_empty() {
        preview(shown, canvas, third);
    }
}

fn list(screen: &DataScreen, context: &Context, canvas: &mut Canvas, area: Rect) {
    let title = if context.session.name.is_empty() { "Datasets" } else { &context.session.name };
    let inner = canvas.pane(area, &context.filtered_title(title), DATASETS);
    if context.session.datasets.is_empty() {
        let files: Vec<_> = context.files.iter().map(|it| it.display().to_string()).collect();
        let words = match files.join(", ") {
            none if none.is_empty() => {
                "No data yet. Press a to add a data file, or Ctrl-o to open a session.".to_owned()
            }
            files => format!("Looking at {files} …"),
        };
        canvas.empty(inner, &[&words]);
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
                    _ if context.withheld(&dataset.name).is_some() => ("hidden", theme.error),
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

fn details(shown: Shown, canvas: &mut Canvas, area: Rect) {
    let Shown { screen, context, definition } = shown;
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
        Some(DatasetStatus::Ready { loaded, account }) => match definition.role {
            Role::Private => {
                let ledger = match account {
                    Some(account) => format!("known as {}", account.0),
                    None => "no account yet: the first run or budget opens one".to_owned(),
                };
                facts.push(("ledger", ledger));
            }
            Role::Public => {
                let print = loaded.definition.fingerprint.clone();
                let print = print.filter(|_| context.withheld(&definition.name).is_none());
                facts.push(("fingerprint", print.unwrap_or_default()));
            }
        },
        Some(DatasetStatus::Loading(share)) => {
            let bar = progress_bar(glyphs, *share);
            let text = format!("reading {bar} {:.0} % (c cancels)", (share * 100.0).floor());
            lines.push(Line::styled(text, theme.warning));
        }
        Some(DatasetStatus::Failed(_)) | None => {}
    }
    let lines = [remarks(shown, canvas), canvas.pairs(&facts, room), lines].concat();
    canvas.text_pane(area, &definition.name, DETAILS, lines, screen.detail);
}

/// What to confirm, correct or know about the selected dataset.
pub(super) fn remarks(shown: Shown, canvas: &Canvas) -> Vec<Line<'static>> {
    let Shown { context, definition, .. } = shown;
    let (theme, sign) = (canvas.theme, canvas.glyphs.curator);
    // What was guessed of a file that cannot be read says nothing.
    if let Some(DatasetStatus::Failed(error)) = context.datasets.get(&definition.name) {
        return vec![Line::styled(one_line(error), theme.error)];
    }
    let hidden = || DataScreen::hidden(definition, context);
    if context.withheld(&definition.name).is_some() {
        return hidden().into_iter().map(|why| Line::styled(why, theme.error)).collect();
    }
    let guessed = definition.guessed.values().cloned().chain(told_by_public(context, definition));
    let guessed = guessed.map(|it| Line::styled(format!("guessed: {it}"), theme.warning));
    let mut lines: Vec<Line> = guessed.collect();
    if !lines.is_empty() {
        lines.push(Line::styled("= confirms it, Enter changes it, Y: another label.", theme.muted));
    }
    let is_own = !definition.source.files().is_empty() && context.tutorial.is_none();
    if is_own && context.demo.is_some() {
        let words = "This is the demo. For data of your own, quit and start `halflight` with them in \
                     their folder.";
        lines.push(Line::styled(words, theme.muted));
    }
    let leaking = context.leaking(&definition.name).into_iter();
    lines.extend(leaking.map(|it| Line::styled(format!("{it}."), theme.warning)));
    let Some(loaded) = context.loaded(&definition.name) else { return lines };
    lines.extend(mostly_missing(context, definition).map(|it| Line::styled(it, theme.warning)));
    let errors = loaded.gap().into_iter().chain(context.misfits.get(&definition.name));
    lines.extend(errors.map(|it| Line::styled(one_line(it), theme.error)));
    lines.extend(zeros(context, definition).map(|it| Line::styled(it, theme.warning)));
    if definition.role == Role::Public {
        lines.extend(hidden().map(|why| Line::styled(why, theme.warning)));
    }
    let unusable = loaded.exact_unusable(&context.watch).map(|(rows, line)| {
        let words = if rows == 1 { "row has" } else { "rows have" };
        format!(
            "{rows} {words} no usable cell, the first in line {line}. Such rows count as empty \
             records: `halflight data inspect` says why."
        )
    });
    let ending = ending_of(context, loaded).map(str::to_owned);
    let exact = unusable.into_iter().chain(ending).chain(loaded.exact_named(&context.watch));
    lines.extend(exact.map(|words| Line::styled(format!("{sign} {words}"), theme.curator)));
    let is_told = loaded.record.is_some() || context.is_open(&loaded.definition.name);
    let notes = loaded.warnings.iter().filter(|_| is_told);
    lines.extend(notes.map(|it| Line::styled(format!("note: {it}"), theme.warning)));
    lines
}

/// What the cells of public datasets with the columns of this one say of it, as long as what was guessed of
/// it is not confirmed. A table that is divided has its first public rows then.
fn told_by_public(context: &Context, definition: &DatasetDefinition) -> Vec<String> {
    if definition.guessed.is_empty() {
        return Vec::new();
    }
    let own = context.relatives(&definition.name);
    let sets = context.session.datasets.iter().filter(|it| {
        it.role == Role::Public && (it.name == definition.name || own.contains(&it.name))
    });
    let facts = |set| Some(&DataScreen::profile(set, context)?.columns[..]);
    let facts: Vec<&[ColumnFacts]> = sets.filter_map(facts).collect();
    let is_told = |part| definition.guessed.values().any(|it: &String| it.contains(part));
    let clock = Inspection::clock_times(&facts, definition).filter(|_| !is_told("clock times"));
    let in_a_row = Inspection::in_a_row(&facts).filter(|_| !is_told("in a row"));
    let is_private = definition.role == Role::Private;
    let categories =
        is_private.then(|| Inspection::public_categories(&facts, definition)).flatten();
    clock.into_iter().chain(in_a_row).chain(categories).collect()
}

/// Columns that are missing in most rows of a public dataset. Told of that dataset, and of the private
/// one that it may teach.
fn mostly_missing<'a>(
    context: &'a Context,
    selected: &'a DatasetDefinition,
) -> impl Iterator<Item = String> + 'a {
    let sets = context.session.datasets.iter().filter(|it| it.role == Role::Public);
    let facts = |set| Some((set, &*DataScreen::profile(set, context)?.columns));
    let public: Vec<(&DatasetDefinition, &[ColumnFacts])> = sets.filter_map(facts).collect();
    let others: Vec<_> = public.iter().map(|(set, facts)| (&*set.name, *facts)).collect();
    let told = public
        .into_iter()
        .filter(move |(set, _)| selected.role == Role::Private || set.name == selected.name);
    told.filter_map(move |own| family::mostly_missing(own, &others))
}

/// Columns that are 0 in nearly all rows of a public dataset, where another public one has no 0: they
/// may be missing. Told of that dataset, and of the private one that it may teach.
fn zeros<'a>(
    context: &'a Context,
    selected: &'a DatasetDefinition,
) -> impl Iterator<Item = String> + 'a {
    let public = || context.session.datasets.iter().filter(|it| it.role == Role::Public);
    let numbers = |set: &DatasetDefinition, column: &str| {
        let facts = DataScreen::profile(set, context)?.column(column)?;
        match facts.spread.as_ref()? {
            Spread::Numbers(spread) if facts.present >= FEWEST_NUMBERS => Some(spread),
            _ => None,
        }
    };
    let told = public().filter(|it| selected.role == Role::Private || it.name == selected.name);
    told.flat_map(move |set| {
        let columns = context.columns(&set.name).into_iter();
        columns.filter_map(move |column| {
            let name = &column.name;
            let share = share_of_zeros(numbers(set, name)?);
            public().find(|it| numbers(it, name).is_some_and(|all| all.least > 0.0))?;
            let often = if share >= 1.0 { "always" } else { "mostly" };
            let set = &set.name;
            (share >= MOSTLY_ZERO).then(|| {
                format!(
                    "'{name}' is {often} 0 in {set}: missing? Enter, 'read as missing': {name}=0"
                )
            })
        })
    })
}

/// From this share of zeros on they may stand for missing values.
const MOSTLY_ZERO: f64 = 0.9;
/// Fewer numbers say nothing.
const FEWEST_NUMBERS: usize = 20;

/// The share of zeros, if no number is below 0; of numbers close to 0 some may count.
fn share_of_zeros(spread: &NumberSpread) -> f64 {
    match (spread.least, spread.greatest) {
        (0.0, 0.0) => 1.0,
        (0.0, greatest) => {
            let counts = spread.histogram((0.0, greatest), 480);
            counts[0] as f64 / counts.iter().sum::<usize>().max(1) as f64
        }
        _ => 0.0,
    }
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
    let shown = DataScreen::rows(definition, context);
    let title = match shown {
        Some(RowsShown::Public(loaded)) => {
            format!("Rows · {} of {}", (screen.row + 1).min(loaded.rows), loaded.rows)
        }
        Some(RowsShown::Private(ExactRows { rows, .. })) => {
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
    let is_read = context.loaded(&definition.name).is_some() && definition.role == Role::Public;
    let hidden = DataScreen::hidden(definition, context).filter(|_| is_read);
    canvas.wrapped(hidden.as_deref().unwrap_or(line), canvas.theme.muted, inner);
}

/// Cells of the rows from the chosen row and column on, under a fixed header.
fn rows(screen: &DataScreen, canvas: &mut Canvas, area: Rect, shown: RowsShown) {
    let theme = canvas.theme;
    let (names, count, style): (Vec<&str>, usize, _) = match shown {
        RowsShown::Public(loaded) => {
            let names = loaded.columns.iter().map(|column| column.name.as_str());
            (names.collect(), loaded.rows, theme.text)
        }
        RowsShown::Private(ExactRows { rows, .. }) => {
            (rows.header.iter().map(String::as_str).collect(), rows.rows.len(), theme.curator)
        }
    };
    let cell = |row: usize, column: usize| match shown {
        RowsShown::Public(loaded) => loaded
            .public()
            .map_or_else(|_| String::new(), |table| table.columns[column].cell(row).to_string()),
        RowsShown::Private(ExactRows { rows, .. }) => {
            rows.rows[row].get(column).cloned().unwrap_or_default()
        }
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
