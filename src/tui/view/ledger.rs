//! Ledger: what each private dataset has spent, and what it bought.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Cell, Paragraph, Row, Wrap};

use super::{Hits, boxed, empty, filtered_title, pane, table};
use crate::engine::shelf::{Digest, EntryDigest, MOST_RUNS};
use crate::privacy::accountant::round_up;
use crate::privacy::ledger::{Account, Gap, Outcome, RunRecord, RunState, Standing};
use crate::tui::app::{App, Pane};
use crate::tui::compare::Column;
use crate::tui::widgets::gauge::BudgetGauge;
use crate::tui::widgets::number::compact;

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
            &["Nothing was spent here yet. The first run on a private dataset, or its first \
                 budget, opens an account. Press b to set a budget."],
        );
        return;
    }
    let list = (book.accounts.len() as u16 + 3).clamp(4, 8);
    let [accounts, detail] =
        rest.layout(&Layout::vertical([Constraint::Length(list), Constraint::Fill(1)]));
    account_list(app, frame, accounts, &book.accounts, hits);
    if let (Some(account), Some(digest)) = (app.selected_account(), app.selected_digest()) {
        spending(app, frame, detail, account, digest, hits);
    }
}

fn name_of(account: &Account) -> String {
    let mut names: Vec<&str> = account.datasets.iter().map(|it| it.name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    names.join(", ")
}

fn account_list(app: &App, frame: &mut Frame, area: Rect, accounts: &[Account], hits: &mut Hits) {
    let inner = pane(app, frame, area, "Private datasets", Pane::Accounts);
    let row = |index: usize| {
        let account = &accounts[index];
        let state = if account.unknown_past() {
            Span::styled("unknown past: A accepts", app.theme.error)
        } else if account.waits_for_acceptance() {
            Span::styled("no total: A accepts", app.theme.error)
        } else if account.closed().is_some() && account.budget.is_some() {
            Span::styled("δ too large: b sets it", app.theme.error)
        } else if account.gaps().iter().any(|gap| !gap.hides_spending()) {
            Span::styled("no total, accepted", app.theme.warning)
        } else if !account.gaps().is_empty() {
            Span::styled("past unknown, accepted", app.theme.warning)
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
    };
    let widths = [
        Constraint::Fill(1),
        Constraint::Length(15),
        Constraint::Length(8),
        Constraint::Length(5),
        Constraint::Length(24),
    ];
    let header = ["dataset", "account", "rows", "runs", "state"].map(Line::raw).to_vec();
    let list = (Pane::Accounts, accounts.len(), Some(app.ledger.selected));
    hits.lists.push(table(app, frame, inner, (header, widths.to_vec()), list, row));
}

fn spending(
    app: &App,
    frame: &mut Frame,
    area: Rect,
    account: &Account,
    digest: &Digest,
    hits: &mut Hits,
) {
    let title = filtered_title(app, &format!("What {} has spent", name_of(account)));
    let inner = pane(app, frame, area, &title, Pane::Entries);
    let bought = if inner.height >= 16 { 7 } else { 0 };
    let said = totals(app, account, digest);
    // At most a third of the pane; what does not fit is in `halflight ledger`.
    let rows = said.iter().map(|line| line.width().div_ceil(usize::from(inner.width.max(1))));
    let rows = (rows.sum::<usize>() as u16).clamp(3, (inner.height / 3).max(3));
    let [gauge, words, entries, detail] = inner.layout(&Layout::vertical([
        Constraint::Length(1),
        Constraint::Length(rows),
        Constraint::Fill(1),
        Constraint::Length(bought),
    ]));
    let spent = digest.gauge();
    let budget = account.budget.map_or(f64::INFINITY, |budget| budget.epsilon);
    frame.render_widget(BudgetGauge::new("ε", spent, budget, &app.theme, &app.glyphs), gauge);
    frame.render_widget(Paragraph::new(said).wrap(Wrap { trim: true }), words);
    if account.runs.is_empty() {
        empty(app, frame, entries, &["No run yet."]);
        return;
    }
    let visible = app.visible_entries();
    if visible.is_empty() {
        empty(app, frame, entries, &["No entry passes the filter; Esc clears it."]);
        return;
    }
    let row = |place: usize| {
        let index = visible[place];
        let run = &account.runs[index];
        let cells = entry_cells(run, &digest.entries[index]);
        let mut row: Vec<Cell> = cells.into_iter().map(Cell::from).collect();
        if let Some(last) = row.last_mut() {
            *last = Cell::from(state_line(app, run));
        }
        Row::new(row)
    };
    let widths = [
        Constraint::Length(16),
        Constraint::Fill(1),
        Constraint::Length(9),
        Constraint::Length(7),
        Constraint::Length(9),
        Constraint::Length(13),
        Constraint::Length(11),
    ];
    let selected = visible.iter().position(|index| *index == app.ledger.entry).unwrap_or(0);
    let on_entries = app.pane() == Some(Pane::Entries);
    let list = (Pane::Entries, visible.len(), on_entries.then_some(selected));
    let shape = (ENTRY_HEADER.map(Line::raw).to_vec(), widths.to_vec());
    hits.lists.push(table(app, frame, entries, shape, list, row));
    let run = visible.get(selected).map(|index| &account.runs[*index]);
    if let Some(run) = run.filter(|_| bought > 0) {
        bought_by(app, frame, detail, run);
    }
}

fn totals<'a>(app: &App, account: &Account, digest: &Digest) -> Vec<Line<'a>> {
    let delta = digest.delta;
    let each = digest.totals.map(|(adjacency, epsilon)| match epsilon {
        Some(epsilon) => format!("{}: ε {}", adjacency.words(), round_up(epsilon, 4)),
        None => format!("{}: not every entry holds for it", adjacency.words()),
    });
    let total = match &digest.total {
        Some(total) if total.standing != Standing::AtMost => {
            format!("Everything together at δ {delta:e} · {}", total.words())
        }
        _ => format!("Everything together at δ {delta:e} · {}", each.join(" · ")),
    };
    let fits = match digest.largest {
        Some(left) if left > 0.0 => {
            format!("One more run of up to ε {} at δ {delta:e} fits.", round_down(left))
        }
        Some(_) => "Nothing more fits.".to_owned(),
        None if account.budget.is_none() => "Without a budget nothing is granted.".to_owned(),
        None if account.waits_for_acceptance() => {
            "Nothing is granted until that is accepted: A.".to_owned()
        }
        None => String::new(),
    };
    let what_if = match &app.plan.preview {
        Some(Ok(preview)) if preview.account == account.id => match preview.fits {
            Some(runs) if runs >= MOST_RUNS => {
                format!(" Of the plan '{}', {MOST_RUNS} runs and more.", preview.plan.name)
            }
            Some(1) => format!(" Of the plan '{}', one run.", preview.plan.name),
            Some(runs) => format!(" Of the plan '{}', {runs} runs.", preview.plan.name),
            None => String::new(),
        },
        _ => String::new(),
    };
    let beside = account.beside_the_total().map(|words| {
        let sign = app.glyphs.curator;
        Line::styled(format!("{sign} And {words}."), app.theme.warning)
    });
    let remark = digest.total.as_ref().and_then(|total| total.remark.clone());
    let remark = remark.into_iter().chain(account.large_delta());
    let gaps = account.gaps().iter().map(Gap::words);
    let doubts: Vec<Line> =
        remark.chain(gaps).map(|words| Line::styled(words, app.theme.warning)).collect();
    let total = Line::styled(total, app.theme.text);
    let fits = Line::styled(format!("{fits}{what_if} Open runs count in full."), app.theme.muted);
    std::iter::once(total).chain(doubts).chain(beside).chain([fits]).collect()
}

/// What a run drew, and what came of it.
fn bought_by(app: &App, frame: &mut Frame, area: Rect, run: &RunRecord) {
    let mut lines = vec![Line::styled(format!("{} bought", run.grant.run.0), app.theme.accent)];
    for (event, charged) in run.grant.events.iter().zip(&run.charged) {
        lines.push(Line::styled(
            format!(
                "{charged} of {} × {} · {} · noise {}",
                event.count,
                event.mechanism.size_words(),
                event.what,
                compact(event.mechanism.scale())
            ),
            app.theme.text,
        ));
    }
    let archived = app.compare.runs().iter().find(|archived| archived.id == run.grant.run);
    match archived {
        Some(archived) => {
            let mut parts = vec![Span::styled("a model with ", app.theme.text)];
            for column in Column::shown(!app.watch.is_sealed()) {
                let name = match column {
                    Column::PublicLast => "public error",
                    Column::PublicBest => "best",
                    Column::PrivateLast => "private error ◆",
                    _ => continue,
                };
                let style = if column.is_exact() { app.theme.curator } else { app.theme.text };
                let text = format!("{name} {}  ", column.text(archived, &app.watch));
                parts.push(Span::styled(text, style));
            }
            lines.push(Line::from(parts));
            if !archived.tag.is_empty() {
                lines.push(Line::styled(format!("tag: {}", archived.tag), app.theme.text));
            }
        }
        None => lines.push(Line::styled(
            "no run directory: a ranking leaves none, a run's was deleted",
            app.theme.muted,
        )),
    }
    frame.render_widget(Paragraph::new(lines).wrap(Wrap { trim: true }), area);
}

pub const ENTRY_HEADER: [&str; 7] =
    ["time (UTC)", "method", "asked ε", "δ", "spent ε", "draws", "state"];

/// An entry as text: for the screen, the filter and exports.
pub fn entry_cells(run: &RunRecord, digest: &EntryDigest) -> Vec<String> {
    let spent = digest.spent.map_or_else(|| "?".to_owned(), |spent| round_up(spent, 3));
    let time: String = run.time.chars().take(16).collect();
    vec![
        time.replace('T', " "),
        run.grant.method_words(),
        run.grant.target.epsilon.to_string(),
        format!("{:e}", run.grant.target.delta),
        spent,
        format!("{} of {}", digest.charged, digest.planned),
        state_words(run).to_owned(),
    ]
}

fn state_words(run: &RunRecord) -> &'static str {
    match run.state {
        RunState::Open => "open",
        RunState::Recovered => "recovered",
        RunState::Settled { outcome: Outcome::Finished, .. } => "finished",
        RunState::Settled { outcome: Outcome::Stopped, .. } => "stopped",
        RunState::Settled { outcome: Outcome::Failed, .. } => "failed",
        RunState::Settled { outcome: Outcome::Abandoned, .. } => "abandoned",
    }
}

fn state_line<'a>(app: &App, run: &RunRecord) -> Line<'a> {
    let words = state_words(run);
    let style = match words {
        "open" => app.theme.warning,
        "finished" => app.theme.good,
        "stopped" => app.theme.text,
        _ => app.theme.error,
    };
    let peeked = matches!(run.state, RunState::Settled { peeked: true, .. });
    Line::from(vec![
        Span::styled(words, style),
        Span::styled(if peeked { " ◆" } else { "" }, app.theme.curator),
    ])
}

/// What may still be spent is never rounded up.
fn round_down(value: f64) -> String {
    format!("{:.3}", (value * 1000.0).floor() / 1000.0)
}
