//! How the Ledger screen looks.

use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Cell, Paragraph, Row, Wrap};

use super::state::{ACCOUNTS, ENTRIES, ENTRY_HEADER, LedgerScreen, entry_cells, state_words};
use crate::engine::lookup::{Digest, MOST_RUNS};
use crate::privacy::accountant::round_up;
use crate::privacy::ledger::{Account, Gap, RunRecord, RunState, Standing};
use crate::tui::canvas::Canvas;
use crate::tui::context::Context;
use crate::tui::run_column::RunColumn;
use crate::tui::theme::Theme;
use crate::tui::widgets::gauge::BudgetGauge;
use crate::tui::widgets::number::compact;

pub fn view(screen: &LedgerScreen, context: &Context, canvas: &mut Canvas, area: Rect) {
    let theme = canvas.theme;
    let Some(book) = &context.book else {
        canvas.empty_box(area, "Ledger", &["Reading the ledger…"]);
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
            let style = if book.damaged { theme.error } else { theme.warning };
            Line::styled(format!(" note: {warning}"), style)
        })
        .collect();
    canvas.render(Paragraph::new(lines), warnings);
    if book.accounts.is_empty() {
        let words = "Nothing was spent here yet. The first run on a private dataset, or its first \
                     budget, opens an account. Press b to set a budget.";
        canvas.empty_box(rest, "Ledger", &[words]);
        return;
    }
    let list = (book.accounts.len() as u16 + 3).clamp(4, 8);
    let [accounts, detail] =
        rest.layout(&Layout::vertical([Constraint::Length(list), Constraint::Fill(1)]));
    account_list(screen, canvas, accounts, &book.accounts);
    if let (Some(account), Some(digest)) = (screen.account(context), screen.digest(context)) {
        spending(screen, context, canvas, detail, account, digest);
    }
}

fn name_of(account: &Account) -> String {
    let mut names: Vec<&str> = account.datasets.iter().map(|it| it.name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    names.join(", ")
}

fn account_list(screen: &LedgerScreen, canvas: &mut Canvas, area: Rect, accounts: &[Account]) {
    let theme = canvas.theme;
    let inner = canvas.pane(area, "Private datasets", ACCOUNTS);
    let row = |index: usize| {
        let account = &accounts[index];
        let state = if account.unknown_past() {
            Span::styled("unknown past: A accepts", theme.error)
        } else if account.waits_for_acceptance() {
            Span::styled("no total: A accepts", theme.error)
        } else if account.closed().is_some() && account.budget.is_some() {
            Span::styled("δ too large: b sets it", theme.error)
        } else if account.gaps().iter().any(|gap| !gap.hides_spending()) {
            Span::styled("no total, accepted", theme.warning)
        } else if !account.gaps().is_empty() {
            Span::styled("past unknown, accepted", theme.warning)
        } else if account.budget.is_none() {
            Span::styled("no budget: b sets one", theme.warning)
        } else {
            Span::styled("in order", theme.good)
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
    let list = (ACCOUNTS, accounts.len(), Some(screen.selected));
    canvas.list(inner, (header, widths.to_vec()), list, row);
}

fn spending(
    screen: &LedgerScreen,
    context: &Context,
    canvas: &mut Canvas,
    area: Rect,
    account: &Account,
    digest: &Digest,
) {
    let (theme, glyphs) = (canvas.theme, canvas.glyphs);
    let title = context.filtered_title(&format!("What {} has spent", name_of(account)));
    let inner = canvas.pane(area, &title, ENTRIES);
    let bought = if inner.height >= 16 { 7 } else { 0 };
    let said = totals(context, canvas, account, digest);
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
    canvas.render(BudgetGauge::new("ε", spent, budget, theme, glyphs), gauge);
    canvas.render(Paragraph::new(said).wrap(Wrap { trim: true }), words);
    if account.runs.is_empty() {
        canvas.empty(entries, &["No run yet."]);
        return;
    }
    let visible = screen.visible_entries(context);
    if visible.is_empty() {
        canvas.empty(entries, &["No entry passes the filter; Esc clears it."]);
        return;
    }
    let row = |place: usize| {
        let index = visible[place];
        let run = &account.runs[index];
        let cells = entry_cells(run, &digest.entries[index]);
        let mut row: Vec<Cell> = cells.into_iter().map(Cell::from).collect();
        if let Some(last) = row.last_mut() {
            *last = Cell::from(state_line(theme, run));
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
    let selected = visible.iter().position(|index| *index == screen.entry).unwrap_or(0);
    let on_entries = canvas.has_focus(ENTRIES);
    let list = (ENTRIES, visible.len(), on_entries.then_some(selected));
    let shape = (ENTRY_HEADER.map(Line::raw).to_vec(), widths.to_vec());
    canvas.list(entries, shape, list, row);
    let run = visible.get(selected).map(|index| &account.runs[*index]);
    if let Some(run) = run.filter(|_| bought > 0) {
        bought_by(context, canvas, detail, run);
    }
}

fn totals<'a>(
    context: &Context,
    canvas: &Canvas,
    account: &Account,
    digest: &Digest,
) -> Vec<Line<'a>> {
    let theme = canvas.theme;
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
    let what_if = match &context.plan.preview {
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
        let sign = canvas.glyphs.curator;
        Line::styled(format!("{sign} And {words}."), theme.warning)
    });
    let remark = digest.total.as_ref().and_then(|total| total.remark.clone());
    let remark = remark.into_iter().chain(account.large_delta());
    let gaps = account.gaps().iter().map(Gap::words);
    let doubts: Vec<Line> =
        remark.chain(gaps).map(|words| Line::styled(words, theme.warning)).collect();
    let total = Line::styled(total, theme.text);
    let fits = Line::styled(format!("{fits}{what_if} Open runs count in full."), theme.muted);
    std::iter::once(total).chain(doubts).chain(beside).chain([fits]).collect()
}

/// What a run drew, and the model that it gave.
fn bought_by(context: &Context, canvas: &mut Canvas, area: Rect, run: &RunRecord) {
    let theme = canvas.theme;
    let mut lines = vec![Line::styled(format!("{} bought", run.grant.run.0), theme.accent)];
    for (event, charged) in run.grant.events.iter().zip(&run.charged) {
        lines.push(Line::styled(
            format!(
                "{charged} of {} × {} · {} · noise {}",
                event.count,
                event.mechanism.query.size_words(),
                event.what,
                compact(event.mechanism.noise.scale)
            ),
            theme.text,
        ));
    }
    let archived = context.archived().iter().find(|archived| archived.id == run.grant.run);
    match archived {
        Some(archived) => {
            let mut parts = vec![Span::styled("a model with ", theme.text)];
            for column in RunColumn::shown(!context.watch.is_sealed()) {
                let name = match column {
                    RunColumn::PublicLast => "public error",
                    RunColumn::PublicBest => "best",
                    RunColumn::PrivateLast => "private error ◆",
                    _ => continue,
                };
                let style = if column.is_exact() { theme.curator } else { theme.text };
                let text = format!("{name} {}  ", column.text(archived, &context.watch));
                parts.push(Span::styled(text, style));
            }
            lines.push(Line::from(parts));
            if !archived.tag.is_empty() {
                lines.push(Line::styled(format!("tag: {}", archived.tag), theme.text));
            }
        }
        None => lines.push(Line::styled(
            "no run directory: a ranking leaves none, a run's was deleted",
            theme.muted,
        )),
    }
    canvas.render(Paragraph::new(lines).wrap(Wrap { trim: true }), area);
}

fn state_line<'a>(theme: &Theme, run: &RunRecord) -> Line<'a> {
    let words = state_words(run);
    let style = match words {
        "open" => theme.warning,
        "finished" => theme.good,
        "stopped" => theme.text,
        _ => theme.error,
    };
    let peeked = matches!(run.state, RunState::Settled { peeked: true, .. });
    Line::from(vec![
        Span::styled(words, style),
        Span::styled(if peeked { " ◆" } else { "" }, theme.curator),
    ])
}

/// What may still be spent is never rounded up.
fn round_down(value: f64) -> String {
    format!("{:.3}", (value * 1000.0).floor() / 1000.0)
}
