//! Data: what the session works on.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Cell, Paragraph, Row, Wrap};

use super::{Hits, ListHit, boxed, empty, filtered_title, pairs, pane, table};
use crate::data::{Columns, DatasetDefinition, Role, Source};
use crate::tui::app::{App, DatasetStatus, Pane, RowsShown, one_line};

/// Columns of the preview are at most this wide.
const WIDEST: usize = 18;

pub fn view(app: &App, frame: &mut Frame, area: Rect, hits: &mut Hits) {
    let count = app.session.datasets.len();
    let rows = (count as u16 + 3).clamp(5, (area.height / 2).max(5));
    let [list, below] =
        area.layout(&Layout::vertical([Constraint::Length(rows), Constraint::Fill(1)]));
    let title = if app.session.name.is_empty() { "Datasets" } else { &app.session.name };
    let inner = pane(app, frame, list, &filtered_title(app, title), Pane::Datasets);
    if count == 0 {
        empty(
            app,
            frame,
            inner,
            &["No data yet. Press a to add a data file, or Ctrl-o to open a session."],
        );
    } else {
        datasets(app, frame, inner, hits);
    }
    let Some(definition) = app.session.datasets.get(app.data.selected) else {
        let inner = boxed(app, frame, below, "What to do");
        empty(
            app,
            frame,
            inner,
            &[
                "1. Add the private dataset and at least one public one (a).",
                "2. Say which column is the label, and which rows belong to it (Enter).",
                "3. Press 3 to plan a run, and see what it costs before it starts.",
            ],
        );
        return;
    };
    let on_rows = app.pane() == Some(Pane::Rows);
    if below.width >= 110 {
        let [left, right] =
            below.layout(&Layout::horizontal([Constraint::Length(50), Constraint::Fill(1)]));
        details(app, frame, left, definition);
        preview(app, frame, right, definition, hits);
    } else if below.height >= 22 {
        let [above, rows] =
            below.layout(&Layout::vertical([Constraint::Length(11), Constraint::Fill(1)]));
        details(app, frame, above, definition);
        preview(app, frame, rows, definition, hits);
    } else if on_rows {
        preview(app, frame, below, definition, hits);
    } else {
        details(app, frame, below, definition);
    }
}

fn datasets(app: &App, frame: &mut Frame, area: Rect, hits: &mut Hits) {
    let wide = area.width >= 100;
    let visible = app.visible(Pane::Datasets);
    let row = |place: usize| {
        let dataset = &app.session.datasets[visible[place]];
        let (size, columns, state, style) = match app.data.status.get(&dataset.name) {
            Some(DatasetStatus::Ready { loaded, .. }) => {
                (loaded.rows.to_string(), loaded.columns.len().to_string(), "ready", app.theme.good)
            }
            Some(DatasetStatus::Failed(_)) => {
                (String::new(), String::new(), "failed", app.theme.error)
            }
            Some(DatasetStatus::Loading(share)) => {
                let percent = format!("{:.0} %", (share * 100.0).floor());
                (percent, String::new(), "reading", app.theme.warning)
            }
            None => (String::new(), String::new(), "", app.theme.muted),
        };
        let role = match dataset.role {
            Role::Private => Span::styled("private", app.theme.warning),
            Role::Public => Span::styled("public", app.theme.text),
        };
        Row::new(vec![
            Cell::from(dataset.name.clone()),
            Cell::from(role),
            Cell::from(Line::raw(size).right_aligned()),
            Cell::from(Line::raw(columns).right_aligned()),
            Cell::from(dataset.label.clone().unwrap_or_else(|| "none".to_owned())),
            Cell::from(dataset.filter.clone().unwrap_or_else(|| "all rows".to_owned())),
            Cell::from(Span::styled(state, style)),
        ])
    };
    let header = ["name", "role", "rows", "columns", "label", "filter", "state"];
    let widths = [
        Constraint::Length(if wide { 28 } else { 15 }),
        Constraint::Length(7),
        Constraint::Length(7),
        Constraint::Length(7),
        Constraint::Length(if wide { 16 } else { 9 }),
        Constraint::Fill(1),
        Constraint::Length(7),
    ];
    let selected = visible.iter().position(|index| *index == app.data.selected);
    let shape = (header.map(Line::raw).to_vec(), widths.to_vec());
    let list = (Pane::Datasets, visible.len(), selected);
    hits.lists.push(table(app, frame, area, shape, list, row));
}

fn details(app: &App, frame: &mut Frame, area: Rect, definition: &DatasetDefinition) {
    let inner = boxed(app, frame, area, &definition.name);
    let origin = match &definition.source {
        Source::Builtin(name) => format!("{name} (inside the program)"),
        Source::Synthetic { rows, dimension, mixture, seed, .. } => {
            format!("synthetic: {rows} rows, {dimension} features, mixture {mixture}, seed {seed}")
        }
        files => files.files().join(" + "),
    };
    let features = match &definition.columns {
        Columns::All => "every column but the label".to_owned(),
        Columns::Only(names) => names.join(", "),
        Columns::Except(names) => format!("all but {}", names.join(", ")),
    };
    let categories: Vec<_> = definition.categories.keys().cloned().collect();
    let mut lines = pairs(
        app,
        &[
            ("origin", origin),
            ("label", definition.label.clone().unwrap_or_else(|| "none: unlabelled".to_owned())),
            ("filter", definition.filter.clone().unwrap_or_else(|| "none: all rows".to_owned())),
            ("features", features),
            (
                "categories",
                if categories.is_empty() {
                    "text columns".to_owned()
                } else {
                    categories.join(", ")
                },
            ),
        ],
    );
    match app.data.status.get(&definition.name) {
        Some(DatasetStatus::Ready { loaded, account }) => {
            let columns = loaded.columns.iter().map(|column| {
                if column.numeric { column.name.clone() } else { format!("{} (text)", column.name) }
            });
            let columns = columns.collect::<Vec<_>>().join(", ");
            lines.extend(pairs(app, &[("columns", columns)]));
            match definition.role {
                Role::Private => {
                    let ledger = match account {
                        Some(account) => format!("known as {}", account.0),
                        None => {
                            "not met yet: its account opens with its first run or budget".to_owned()
                        }
                    };
                    lines.extend(pairs(app, &[("ledger", ledger)]));
                    lines.push(Line::styled(
                        "Its rows are hidden (o shows them ◆). What leaves them is noised and \
                         entered in the ledger.",
                        app.theme.muted,
                    ));
                }
                Role::Public => {
                    let print = loaded.definition.fingerprint.clone().unwrap_or_default();
                    lines.extend(pairs(app, &[("fingerprint", print)]));
                }
            }
        }
        Some(DatasetStatus::Failed(error)) => {
            lines.push(Line::styled(one_line(error), app.theme.error));
        }
        Some(DatasetStatus::Loading(share)) => {
            let bar = progress_bar(app, *share);
            let text = format!("reading {bar} {:.0} % (c cancels)", (share * 100.0).floor());
            lines.push(Line::styled(text, app.theme.warning));
        }
        None => {}
    }
    frame.render_widget(Paragraph::new(lines).wrap(Wrap { trim: false }), inner);
}

fn progress_bar(app: &App, share: f64) -> String {
    let full = (share.clamp(0.0, 1.0) * 20.0) as usize;
    app.glyphs.bar_full.repeat(full) + &app.glyphs.bar_empty.repeat(20 - full)
}

fn preview(
    app: &App,
    frame: &mut Frame,
    area: Rect,
    definition: &DatasetDefinition,
    hits: &mut Hits,
) {
    let shown = app.preview_of_selected();
    let title = match shown {
        Some(RowsShown::Public(loaded)) => {
            format!("Rows · {} of {}", (app.data.row + 1).min(loaded.rows), loaded.rows)
        }
        Some(RowsShown::Private(rows)) => {
            format!("◆ Private rows · first {} of {}", rows.rows.len(), rows.total)
        }
        None => "Rows".to_owned(),
    };
    let inner = pane(app, frame, area, &title, Pane::Rows);
    let Some(shown) = shown else {
        let line = match (definition.role, app.data.status.get(&definition.name)) {
            (Role::Private, Some(DatasetStatus::Ready { .. })) if app.watch.is_sealed() => {
                "Private rows are sealed."
            }
            (Role::Private, Some(DatasetStatus::Ready { .. })) => {
                "Private rows stay hidden. Press o to see them: for your eyes only (◆)."
            }
            (_, Some(DatasetStatus::Failed(_))) => "It could not be read.",
            _ => "reading…",
        };
        empty(app, frame, inner, &[line]);
        return;
    };
    rows(app, frame, inner, shown, hits);
}

/// Cells of the rows from the chosen row and column on, under a fixed header.
fn rows(app: &App, frame: &mut Frame, area: Rect, shown: RowsShown, hits: &mut Hits) {
    let (names, count): (Vec<&str>, usize) = match shown {
        RowsShown::Public(loaded) => {
            (loaded.columns.iter().map(|column| column.name.as_str()).collect(), loaded.rows)
        }
        RowsShown::Private(rows) => {
            (rows.header.iter().map(String::as_str).collect(), rows.rows.len())
        }
    };
    let cell = |row: usize, column: usize| match shown {
        RowsShown::Public(loaded) => loaded
            .public()
            .map_or_else(|_| String::new(), |table| table.columns[column].cell(row).to_string()),
        RowsShown::Private(rows) => rows.rows[row].get(column).cloned().unwrap_or_default(),
    };
    let height = usize::from(area.height.saturating_sub(1));
    let first = app.data.row.min(count.saturating_sub(1));
    let visible = first..count.min(first + height);
    let number = visible.end.to_string().len() + 1;
    let mut room = usize::from(area.width).saturating_sub(number + 1);
    let (mut header, mut widths) = (vec![Line::raw("")], vec![Constraint::Length(number as u16)]);
    let from = app.data.column.min(names.len().saturating_sub(1));
    let mut columns = Vec::new();
    for (column, name) in names.iter().enumerate().skip(from) {
        let cells = visible.clone().map(|row| cell(row, column).chars().count());
        let width = cells.max().unwrap_or(0).max(name.chars().count()).clamp(1, WIDEST);
        if width > room && !columns.is_empty() {
            break;
        }
        room = room.saturating_sub(width + 1);
        header.push(Line::raw((*name).to_owned()));
        widths.push(Constraint::Length(width as u16));
        columns.push(column);
    }
    let style = match shown {
        RowsShown::Public(_) => app.theme.text,
        RowsShown::Private(_) => app.theme.curator,
    };
    let row = |place: usize| {
        let index = first + place;
        let mut cells = vec![Cell::from(Span::styled((index + 1).to_string(), app.theme.muted))];
        cells.extend(columns.iter().map(|column| Cell::from(cell(index, *column)).style(style)));
        Row::new(cells)
    };
    let list = (Pane::Rows, visible.len(), None);
    let hit = table(app, frame, area, (header, widths), list, row);
    hits.lists.push(ListHit { first, ..hit });
}
