//! Data: what the session works on.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Cell, Paragraph, Row, Table, TableState, Wrap};

use super::{Hits, boxed, empty, pairs, scrolled};
use crate::data::{Columns, DatasetDefinition, Role, Source};
use crate::tui::app::{App, DatasetStatus, one_line};

pub fn view(app: &App, frame: &mut Frame, area: Rect, hits: &mut Hits) {
    let count = app.session.datasets.len();
    let rows = (count as u16 + 3).clamp(5, area.height / 2);
    let [list, detail] =
        area.layout(&Layout::vertical([Constraint::Length(rows), Constraint::Fill(1)]));
    let title = if app.session.name.is_empty() { "Datasets" } else { &app.session.name };
    let inner = boxed(app, frame, list, title);
    if count == 0 {
        empty(
            app,
            frame,
            inner,
            &["No data yet. Press a to add a CSV or TSV file, or Ctrl-o to open a session."],
        );
    } else {
        table(app, frame, inner, hits);
    }
    if let Some(definition) = app.session.datasets.get(app.data.selected) {
        details(app, frame, detail, definition);
    } else {
        let inner = boxed(app, frame, detail, "What to do");
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
    }
}

fn table(app: &App, frame: &mut Frame, area: Rect, hits: &mut Hits) {
    let wide = area.width >= 100;
    let header = ["name", "role", "rows", "columns", "label", "filter", "state"];
    let rows = app.session.datasets.iter().map(|dataset| {
        let status = app.data.status.get(&dataset.name);
        let (size, columns, state, style) = match status {
            Some(DatasetStatus::Ready { loaded, .. }) => (
                loaded.rows.to_string(),
                loaded.columns.len().to_string(),
                "ready".to_owned(),
                app.theme.good,
            ),
            Some(DatasetStatus::Failed(_)) => {
                (String::new(), String::new(), "failed".to_owned(), app.theme.error)
            }
            _ => (String::new(), String::new(), "loading".to_owned(), app.theme.muted),
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
    });
    let name_width = if wide { 28 } else { 15 };
    let widths = [
        Constraint::Length(name_width),
        Constraint::Length(7),
        Constraint::Length(7),
        Constraint::Length(7),
        Constraint::Length(if wide { 16 } else { 9 }),
        Constraint::Fill(1),
        Constraint::Length(7),
    ];
    let table = Table::new(rows, widths)
        .header(Row::new(header).style(app.theme.muted))
        .row_highlight_style(app.theme.selection);
    let visible = area.height.saturating_sub(1);
    let first = scrolled(app.data.selected, visible, app.session.datasets.len());
    let mut state = TableState::new().with_offset(first).with_selected(app.data.selected);
    frame.render_stateful_widget(table, area, &mut state);
    hits.rows = Some((Rect { y: area.y + 1, height: visible, ..area }, first));
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
                        "Its rows are not shown. What leaves them is noised and entered in the ledger.",
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
        _ => lines.push(Line::styled("reading…", app.theme.muted)),
    }
    frame.render_widget(Paragraph::new(lines).wrap(Wrap { trim: false }), inner);
}
