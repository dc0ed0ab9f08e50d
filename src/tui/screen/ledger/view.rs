//! The picture of the Ledger screen.

use super::{ACCOUNTS, ENTRIES, ENTRY_HEADER, LedgerScreen, RunLine, state_words};
use crate::canvas::{
    Canvas, Fill, Length, Line, Rect, Span, in_columns, in_rows, longest, wrapped_lines,
};
use crate::context::Context;
use crate::engine::lookup::{Digest, EntryDigest, MOST_RUNS};
use crate::glossary::{self, Explained};
use crate::privacy::accountant::round_up;
use crate::privacy::ledger::{
    Account, Corrected, Gap, RaisedBudget, RunRecord, RunState, TotalStanding,
};
use crate::screen::of_state;
use crate::theme::Theme;
use crate::widgets::chart::Chart;
use crate::widgets::gauge::{BudgetGauge, GaugeOf};
use crate::widgets::number::compact;

/// The selected account, and how it is shown.
#[derive(Clone, Copy)]
struct Shown<'a> {
    screen: &'a LedgerScreen,
    context: &'a Context,
    account: &'a Account,
    digest: &'a Digest,
}

pub fn view(screen: &LedgerScreen, context: &Context, canvas: &mut Canvas, area: Rect) {
    let theme = canvas.theme;
    let Some(book) = &context.book else {
        return canvas.empty_box(area, "Ledger", &["Reading the ledger…"]);
    };
    let remarks = book.warnings.len().min(4) as u16;
    let [warnings, rest] = in_rows(area, [Length(remarks), Fill(1)]);
    let style = if book.damaged { theme.error } else { theme.warning };
    let notes = book.warnings.iter().take(4).map(|warning| format!(" note: {warning}"));
    let lines: Vec<Line> = notes.map(|note| Line::styled(note, style)).collect();
    canvas.lines(lines, warnings);
    if book.accounts.is_empty() {
        let words = "Nothing was spent here yet. The first run on a private dataset, or its first \
                     budget, opens an account. Press b to set a budget.";
        return canvas.empty_box(rest, "Ledger", &[words]);
    }
    let list = (book.accounts.len() as u16 + 3).clamp(4, 8);
    let [accounts, detail] = match canvas.alone {
        Some(ACCOUNTS) => [rest, Rect::ZERO],
        Some(_) => [Rect::ZERO, rest],
        None => canvas.two_rows("ledger.accounts", rest, list),
    };
    if !accounts.is_empty() {
        account_list(screen, canvas, accounts, &book.accounts);
    }
    let shown = screen.account(context).zip(screen.digest(context));
    if let Some((account, digest)) = shown.filter(|_| !detail.is_empty()) {
        spending(Shown { screen, context, account, digest }, canvas, detail);
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
    let inner = canvas.pane(area, "Accounts", ACCOUNTS);
    let state_of = |account: &Account| {
        if account.unknown_past() {
            ("unknown past: A accepts", theme.error)
        } else if account.waits_for_acceptance() {
            ("no total: A accepts", theme.error)
        } else if account.closed().is_some() && account.budget.is_some() {
            ("δ too large: b sets it", theme.error)
        } else if account.gaps().iter().any(|gap| !gap.hides_spending()) {
            ("no total, accepted", theme.warning)
        } else if !account.gaps().is_empty() {
            ("past unknown, accepted", theme.warning)
        } else if account.budget.is_none() {
            ("no budget: b sets one", theme.warning)
        } else {
            ("in order", theme.good)
        }
    };
    let row = |index: usize| {
        let account = &accounts[index];
        let (state, style) = state_of(account);
        let rows = account.datasets.last().map_or(0, |dataset| dataset.rows);
        vec![
            Line::raw(name_of(account)),
            Line::raw(account.id.0.clone()),
            Line::raw(rows.to_string()).right_aligned(),
            Line::raw(account.runs.len().to_string()).right_aligned(),
            Line::styled(state, style),
        ]
    };
    let states = longest(accounts.iter().map(|account| state_of(account).0)).max(5);
    let widths = [Fill(1), Length(15), Length(8), Length(7), Length(states)];
    // If persons are protected, persons are counted.
    let persons = accounts.iter().any(|account| account.protects().is_some());
    let size = if persons { "size" } else { "rows" };
    let header = ["dataset", "account", size, "entries", "state"].map(Line::raw).to_vec();
    let list = (ACCOUNTS, accounts.len(), Some(screen.selected));
    canvas.list(inner, (header, widths.to_vec()), list, row);
}

fn spending(shown: Shown, canvas: &mut Canvas, area: Rect) {
    let Shown { screen, context, account, digest } = shown;
    let (theme, glyphs) = (canvas.theme, canvas.glyphs);
    let title = context.filtered_title(&format!("Spent: {}", name_of(account)));
    let inner = canvas.pane(area, &title, ENTRIES);
    let said = totals(shown, canvas);
    let visible = screen.visible_entries(context);
    let selected = screen.place(&visible);
    let run = visible.get(selected).map(|entry| &account.runs[entry.runs.start]);
    let remarks = run.filter(|_| inner.height >= 16).map_or(Vec::new(), |run| {
        changes(run).map(|words| Line::styled(words, theme.warning)).collect()
    });
    let bought = remarks.iter().map(|line| wrapped_lines(&line.to_string(), inner.width)).sum();
    // A third of the pane and the room left by the entries; `halflight ledger` has the rest.
    let free = inner.height.saturating_sub(bought + 3 + visible.len() as u16);
    let rows = said.iter().map(|line| wrapped_lines(&line.to_string(), inner.width).max(1));
    let rows = rows.sum::<u16>().clamp(1, (inner.height / 3).max(free).max(3));
    // The picture takes what the entries leave, and a part of the pane if there are many of them.
    let left = inner.height.saturating_sub(1 + rows + bought);
    let drawn = left.saturating_sub(visible.len() as u16 + 1).max(left.saturating_sub(12) / 2);
    let drawn = if drawn < LEAST_PICTURE || digest.after.is_empty() { 0 } else { drawn };
    let [gauge, words, entries, picture, detail] =
        in_rows(inner, [Length(1), Length(rows), Fill(1), Length(drawn), Length(bought)]);
    let spent = digest.gauge();
    let budget = account.budget.map_or(f64::INFINITY, |budget| budget.epsilon);
    let promise = promise(account, digest);
    let [gauge, whose] = in_columns(gauge, [Fill(1), Length(longest([&promise]))]);
    canvas.render(BudgetGauge::new(GaugeOf::Account, (spent, budget), theme, glyphs), gauge);
    canvas.line(Line::styled(promise, theme.muted), whose);
    canvas.paragraph(said, true, words);
    if account.runs.is_empty() {
        return canvas.empty(entries, &["No run yet."]);
    }
    if visible.is_empty() {
        return canvas.empty(entries, &["No entry passes the filter; Esc clears it."]);
    }
    let narrow = entries.width < 90;
    let cells: Vec<_> = visible.iter().map(|entry| entry.cells(account, digest)).collect();
    let row = |place: usize| {
        let entry = &visible[place];
        let mut cells = cells[place].clone();
        if narrow {
            // The year and the target's δ are in every export.
            cells[0] = cells[0].chars().skip(5).collect();
            cells.remove(3);
        }
        let draws = cells.len() - 2;
        // In an export a spreadsheet would take it for a date.
        cells[draws] = cells[draws].replace(" of ", "/");
        let mut row: Vec<Line> = cells.into_iter().map(Line::raw).collect();
        let first = entry.runs.start;
        if let (1, Some(last)) = (entry.runs.len(), row.last_mut()) {
            *last = state_line(theme, &account.runs[first], &digest.entries[first]);
        }
        row
    };
    let widest = |column: usize| longest(cells.iter().map(|cells| &cells[column]));
    // Names get the room that numbers do not need.
    let state_width = widest(6).max(11).min(entries.width / 3);
    let mut widths = vec![
        Length(if narrow { 11 } else { 16 }),
        Fill(1),
        Length(9),
        Length(widest(3).max(1)),
        Length(7),
        Length(widest(5).max(5)),
        Length(state_width),
    ];
    let mut header = ENTRY_HEADER.map(Line::raw).to_vec();
    if narrow {
        widths.remove(3);
        header.remove(3);
    }
    let on_entries = canvas.has_focus(ENTRIES);
    let list = (ENTRIES, visible.len(), on_entries.then_some(selected));
    let shape = (header, widths);
    canvas.list(entries, shape, list, row);
    if drawn > 0 {
        stairs(shown, canvas, picture, visible.get(selected).filter(|_| on_entries));
    }
    canvas.paragraph(remarks, true, detail);
}

/// The fewest rows in which the spending over time can be read, and with a title.
const LEAST_PICTURE: u16 = 4;
const LEAST_TITLED: u16 = 7;

/// What the bar of a budget promises, and to whom.
fn promise(account: &Account, digest: &Digest) -> String {
    let whom = if account.protects().is_some() { "person" } else { "record" };
    let of = if account.budget.is_some() { "budget " } else { "" };
    format!(" · {of}at δ {:e} for one {whom}", digest.delta)
}

/// ε of all runs together after each run, as stairs; the stair of the selected line stands out.
fn stairs(shown: Shown, canvas: &mut Canvas, area: Rect, selected: Option<&RunLine>) {
    let Shown { account, digest, .. } = shown;
    let (theme, glyphs) = (canvas.theme, canvas.glyphs);
    let mut points = vec![(0.0, 0.0)];
    let (mut own, mut times) = (Vec::new(), Vec::new());
    for (runs, epsilon) in &digest.after {
        let (x, before) = (*runs as f64, points.last().map_or(0.0, |point| point.1));
        let stair = [(x, before), (x, *epsilon)];
        points.extend(stair);
        let is_own = |line: &RunLine| line.runs.contains(&(runs - 1));
        if selected.is_some_and(is_own) {
            own.extend(stair);
        }
        times.extend(account.runs.get(runs - 1).map(|run| (x, run.time.as_str())));
    }
    points.extend(points.last().map(|(x, epsilon)| (x + 0.5, *epsilon)));
    let day = |time: &str| time.chars().take(10).collect::<String>();
    let one_day = times.iter().all(|(_, time)| day(time) == day(times[0].1));
    // `2026-11-29T09:30:00Z`: the time of one day, else also the day.
    let label = |time: &str| {
        let (first, last) = if one_day { (11, 19) } else { (5, 16) };
        time.chars().take(last).skip(first).collect::<String>().replace('T', " ")
    };
    let labels = times.iter().map(|(x, time)| (*x, label(time))).collect();
    let each: f64 = digest.entries.iter().filter_map(|entry| entry.spent).sum();
    let title = title_of_stairs(&digest.after, each);
    // Each run has the same room, however much time is between two.
    let mut chart = Chart::new(title, theme, glyphs).legend(false).x_labels("by run", labels);
    if !own.is_empty() {
        chart = chart.curve(("selected", 0), false, own.as_slice());
    }
    chart = chart.curve(("all runs", 1), false, points.as_slice());
    if let Some(budget) = account.budget {
        chart = chart.reference(budget.epsilon, "budget");
    }
    let chart = if area.height < LEAST_TITLED { chart.headless() } else { chart };
    canvas.chart(area, &chart);
}

/// Runs together cost less than the sum of what each costs alone; one run has no sum.
fn title_of_stairs(after: &[(usize, f64)], each: f64) -> &'static str {
    match after {
        [_, .., (_, all)] if *all < 0.99 * each => "ε together, less than the sum",
        _ => "ε of all runs together",
    }
}

fn totals<'a>(Shown { context, account, digest, .. }: Shown, canvas: &Canvas) -> Vec<Line<'a>> {
    let theme = canvas.theme;
    let delta = digest.delta;
    let persons = account.protects().is_some();
    let each = digest.totals.map(|(adjacency, epsilon)| {
        let change = glossary::change(adjacency, persons);
        epsilon.map_or_else(
            || format!("no total if {change}: some runs do not promise it"),
            |epsilon| format!("ε {} if {change}", round_up(epsilon, 4)),
        )
    });
    // Where both are the same, the bar above says it.
    let told_by_the_bar = account.budget.is_some()
        && digest
            .totals
            .iter()
            .all(|(_, epsilon)| *epsilon == digest.totals[0].1 && epsilon.is_some());
    let total = match &digest.total {
        Some(total)
            if matches!(total.standing, TotalStanding::AtLeast | TotalStanding::Nothing) =>
        {
            format!("All runs together, at δ {delta:e}: {}", total.words())
        }
        _ if told_by_the_bar => String::new(),
        _ => format!("All runs together, at δ {delta:e}: {}.", each.join("; ")),
    };
    let total = match account.protects() {
        Some(persons) => format!("{total} It is for {persons}.").trim_start().to_owned(),
        None => total,
    };
    let fits = match digest.largest {
        Some(left) if left > 0.0 => {
            let left = round_down(left);
            format!("left: ε {left} for one run")
        }
        Some(_) => "The budget has no room for another run.".to_owned(),
        None if account.budget.is_none() => "Without a budget no run is allowed.".to_owned(),
        None if account.waits_for_acceptance() => {
            "No run is allowed until you accept that (A).".to_owned()
        }
        None => String::new(),
    };
    let what_if = match &context.plan.preview {
        Some(Ok(preview)) if preview.account == account.id => {
            let what = match preview.fits {
                _ if !preview.plan.spends() => Some("nothing spent by".to_owned()),
                None | Some(0) => None,
                Some(MOST_RUNS..) => Some(format!("or {MOST_RUNS} runs and more like")),
                Some(1) => Some("or one run like".to_owned()),
                Some(runs) => Some(format!("or {runs} runs like")),
            };
            let name = &preview.plan.name;
            what.map(|what| format!(" · {what} '{name}'")).unwrap_or_default()
        }
        _ => String::new(),
    };
    let claims = digest.total.as_ref().and_then(|total| total.claims.as_ref());
    let claims = claims.map(|claims| format!("With claims of other trainers: {}.", claims.words()));
    let remarks = digest.total.iter().flat_map(|total| account.remarks(total));
    let gaps = account.gaps().iter().map(Gap::words);
    let sign = canvas.glyphs.curator;
    // When, and in which run, is told by `i`.
    let beside = account.beside_the_total().map(|words| {
        let first = words.split_once("; ").map_or(words.as_str(), |(first, _)| first);
        format!("{sign} {first}")
    });
    let raised = account.raised.iter().map(RaisedBudget::words);
    let doubts = claims.into_iter().chain(raised).chain(remarks);
    let doubts = doubts.chain(account.large_delta()).chain(gaps);
    let mut lines = Vec::new();
    lines.extend((!total.is_empty()).then(|| Line::styled(total, theme.text)));
    lines.extend(doubts.chain(beside).map(|words| Line::styled(words, theme.warning)));
    lines.push(Line::styled(format!("{fits}{what_if}"), theme.muted));
    lines
}

/// What was changed by hand of the charges of a run.
fn changes(run: &RunRecord) -> impl Iterator<Item = String> {
    let changed =
        |change: &Corrected| format!("changed by hand on {}: {}", change.time, change.why);
    run.corrections.iter().map(changed)
}

/// What the selected run drew, and what is said of the account, in full.
pub(super) fn in_words(screen: &LedgerScreen, context: &Context) -> Vec<Explained> {
    let Some(account) = screen.account(context) else { return Vec::new() };
    let visible = screen.visible_entries(context);
    let run = visible.get(screen.place(&visible)).map(|it| &account.runs[it.runs.start]);
    let word = |name: String, text| Explained { name, also: "draws charged".to_owned(), text };
    let beside = account.beside_the_total();
    let beside = beside.map(|text| word("looks at exact numbers".to_owned(), text));
    let drew = run.map(|run| word(format!("what {} drew", run.grant.run.0), drew(context, run)));
    drew.into_iter().chain(beside).collect()
}

/// The draws of a run.
fn drew(context: &Context, run: &RunRecord) -> String {
    let mut lines = Vec::new();
    // What is reserved is charged before anything is drawn.
    if matches!(run.state, RunState::Open) {
        lines.push("Drawn or reserved".to_owned());
    }
    for (event, charged) in run.grant.events.iter().zip(&run.charged) {
        lines.push(format!(
            "{charged} of {} × {}: {}, noise {}",
            event.count,
            event.mechanism.query.size_words(),
            event.what,
            compact(event.mechanism.noise.scale)
        ));
    }
    let of = |draws: &[u64]| draws.iter().sum::<u64>();
    if !matches!(run.state, RunState::Open) && of(&run.charged) < of(&run.reserved) {
        let words = "Draws that were not made are not charged. Draws from different records, such \
                     as training and held-out ones, cost the larger ε of them, not the sum";
        lines.push(words.to_owned());
    }
    lines.extend(changes(run));
    let archived = context.archived().iter().find(|archived| archived.id == run.grant.run);
    lines.push(match (archived, &run.claim) {
        (Some(archived), _) if archived.tag.is_empty() => String::new(),
        (Some(archived), _) => format!("Tag: {}", archived.tag),
        (None, Some(_)) => "Taken from another trainer's file: the draws were made elsewhere and \
                            nobody here saw them"
            .to_owned(),
        (None, None) if matches!(run.state, RunState::Open) => {
            "Not in this workspace yet: it is a task of a sweep, or it has not begun".to_owned()
        }
        (None, None) => {
            "No run directory: rankings have none, and those of runs can be deleted".to_owned()
        }
    });
    lines.retain(|line| !line.is_empty());
    lines.join(". ") + "."
}

fn state_line<'a>(theme: &Theme, run: &RunRecord, digest: &EntryDigest) -> Line<'a> {
    let words = state_words(run, digest);
    let peeked = matches!(run.state, RunState::Settled { peeked: true, .. });
    Line::from(vec![
        Span::styled(words, of_state(theme, words)),
        Span::styled(if peeked { " ◆" } else { "" }, theme.curator),
    ])
}

/// The remaining budget is never rounded up.
fn round_down(value: f64) -> String {
    format!("{:.3}", (value * 1000.0).floor() / 1000.0)
}

#[cfg(test)]
mod tests {
    use super::title_of_stairs;

    #[test]
    fn only_several_runs_have_a_sum() {
        let says_less =
            |after: &[(usize, f64)], each| title_of_stairs(after, each).contains("less");
        assert!(!says_less(&[], 0.0) && !says_less(&[(1, 0.87)], 1.0));
        assert!(says_less(&[(1, 0.87), (2, 1.2)], 2.0) && !says_less(&[(1, 1.0), (2, 2.0)], 2.0));
    }
}
