//! Ledger: what each private dataset has spent, and on what.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Cell, Paragraph, Row, Table, TableState, Wrap};

use super::{Hits, boxed, empty, scrolled};
use crate::privacy::accountant::round_up;
use crate::privacy::ledger::{Account, Outcome, RunRecord, RunState};
use crate::tui::app::App;
use crate::tui::widgets::gauge::BudgetGauge;

pub fn view(app: &App, frame: &mut Frame, area: Rect, hits: &mut Hits) {
    let Some(book) = &app.ledger.book else {
        let inner = boxed(app, frame, area, "Ledger");
        empty(app, frame, inner, &["Reading the ledger…"]);
        return;
    };
    let remarks = book.warnings.len().min(4) as u16;
    let [warnings, rest] =
        area.layout(&Layout::vertical([Constraint::Length(remarks), Constraint::Fill(1)]));
    let lines: Vec<Line> = book
        .warnings
        .iter()
        .take(4)
        .map(|warning| {
            let style = if book.damaged { app.theme.error } else { app.theme.warning };
            Line::styled(format!(" note: {warning}"), style)
        })
        .collect();
    frame.render_widget(Paragraph::new(lines), warnings);
    if book.accounts.is_empty() {
        let inner = boxed(app, frame, rest, "Ledger");
        empty(
            app,
            frame,
            inner,
            &[
                "Nothing was spent here yet. The first run on a private dataset, or its first",
                "budget, opens an account. Press b to set a budget.",
            ],
        );
        return;
    }
    let list = (book.accounts.len() as u16 + 3).clamp(4, 8);
    let [accounts, detail] =
        rest.layout(&Layout::vertical([Constraint::Length(list), Constraint::Fill(1)]));
    account_list(app, frame, accounts, &book.accounts, hits);
    if let Some(account) = book.accounts.get(app.ledger.selected) {
        entries(app, frame, detail, account);
    }
}

fn name_of(account: &Account) -> String {
    let mut names: Vec<&str> = account.datasets.iter().map(|it| it.name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    names.join(", ")
}

fn account_list(app: &App, frame: &mut Frame, area: Rect, accounts: &[Account], hits: &mut Hits) {
    let inner = boxed(app, frame, area, "Private datasets");
    let rows = accounts.iter().map(|account| {
        let state = if account.unknown_past {
            Span::styled("unknown past: A accepts", app.theme.error)
        } else if account.budget.is_none() {
            Span::styled("no budget: b sets one", app.theme.warning)
        } else {
            Span::styled("in order", app.theme.good)
        };
        let rows = account.datasets.last().map_or(0, |dataset| dataset.rows);
        Row::new(vec![
            Cell::from(name_of(account)),
            Cell::from(account.id.0.clone()),
            Cell::from(Line::raw(rows.to_string()).right_aligned()),
            Cell::from(Line::raw(account.runs.len().to_string()).right_aligned()),
            Cell::from(state),
        ])
    });
    let widths = [
        Constraint::Fill(1),
        Constraint::Length(15),
        Constraint::Length(8),
        Constraint::Length(5),
        Constraint::Length(24),
    ];
    let table = Table::new(rows, widths)
        .header(Row::new(["dataset", "account", "rows", "runs", "state"]).style(app.theme.muted))
        .row_highlight_style(app.theme.selection);
    let visible = inner.height.saturating_sub(1);
    let first = scrolled(app.ledger.selected, visible, accounts.len());
    let mut state = TableState::new().with_offset(first).with_selected(app.ledger.selected);
    frame.render_stateful_widget(table, inner, &mut state);
    hits.rows = Some((Rect { y: inner.y + 1, height: visible, ..inner }, first));
}

fn entries(app: &App, frame: &mut Frame, area: Rect, account: &Account) {
    let inner = boxed(app, frame, area, &format!("What {} has spent", name_of(account)));
    let [gauge, words, table] = inner.layout(&Layout::vertical([
        Constraint::Length(1),
        Constraint::Length(2),
        Constraint::Fill(1),
    ]));
    let delta = account.budget.map(|budget| budget.delta);
    let at = delta.unwrap_or(1e-6);
    let spent = account.spent(at);
    let epsilon = match &spent {
        Ok(guarantee) => guarantee.as_ref().map_or(0.0, |guarantee| guarantee.epsilon),
        Err(_) => f64::NAN,
    };
    let budget = account.budget.map_or(f64::INFINITY, |budget| budget.epsilon);
    frame.render_widget(BudgetGauge::new("ε", epsilon, budget, &app.theme, &app.glyphs), gauge);
    let fits = match account.largest_epsilon(at) {
        Ok(Some(left)) if left > 0.0 => {
            format!("one more run of up to ε {} at δ {at:e} fits. ", round_down(left))
        }
        Ok(Some(_)) => "nothing more fits. ".to_owned(),
        _ => String::new(),
    };
    let text = format!(
        "All entries together, at δ {at:e}, {}: {fits}Several runs on the same data compose; open \
         runs count in full.",
        account.adjacency().words()
    );
    frame.render_widget(
        Paragraph::new(text).style(app.theme.muted).wrap(Wrap { trim: true }),
        words,
    );
    if account.runs.is_empty() {
        empty(app, frame, table, &["No run yet."]);
        return;
    }
    let rows = account.runs.iter().rev().map(|run| entry(app, run));
    let widths = [
        Constraint::Length(16),
        Constraint::Fill(1),
        Constraint::Length(9),
        Constraint::Length(9),
        Constraint::Length(13),
        Constraint::Length(10),
    ];
    let header = ["time (UTC)", "method", "asked ε", "spent ε", "draws", "state"];
    let table_widget = Table::new(rows, widths).header(Row::new(header).style(app.theme.muted));
    frame.render_widget(table_widget, table);
}

fn entry<'a>(app: &App, run: &RunRecord) -> Row<'a> {
    let spent = run.spent(run.grant.target.delta).map_or_else(
        |_| "?".to_owned(),
        |guarantee| guarantee.map_or_else(|| "0".to_owned(), |it| round_up(it.epsilon, 3)),
    );
    let planned: u64 = run.grant.events.iter().map(|event| event.count).sum();
    let charged: u64 = run.charged.iter().sum();
    let (state, style) = match run.state {
        RunState::Open => ("open", app.theme.warning),
        RunState::Settled { outcome: Outcome::Finished, .. } => ("finished", app.theme.good),
        RunState::Settled { outcome: Outcome::Stopped, .. } => ("stopped", app.theme.text),
        RunState::Settled { outcome: Outcome::Failed, .. } => ("failed", app.theme.error),
        RunState::Settled { outcome: Outcome::Abandoned, .. } => ("abandoned", app.theme.error),
    };
    let peeked = matches!(run.state, RunState::Settled { peeked: true, .. });
    let time: String = run.time.chars().take(16).collect();
    Row::new(vec![
        Cell::from(time.replace('T', " ")),
        Cell::from(run.grant.method.clone()),
        Cell::from(format!("{}", run.grant.target.epsilon)),
        Cell::from(spent),
        Cell::from(format!("{charged} of {planned}")),
        Cell::from(Line::from(vec![
            Span::styled(state, style),
            Span::styled(if peeked { " ◆" } else { "" }, app.theme.curator),
        ])),
    ])
}

/// What may still be spent is never rounded up.
fn round_down(value: f64) -> String {
    format!("{:.3}", (value * 1000.0).floor() / 1000.0)
}
