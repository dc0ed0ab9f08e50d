//! The picture of the Compare screen.

use ratatui::style::Style;

use super::{ARCHIVE, CompareScreen, DETAILS, PAST_THE_LAST, Quantity, USUAL_WIDTH};
use crate::canvas::{
    Canvas, Fill, Length, Line, Rect, Span, bold, fitting, in_rows, longest, sort_mark,
};
use crate::context::Context;
use crate::evaluation::{Score, Scored};
use crate::methods::{Series, source_words};
use crate::privacy::Watch;
use crate::rehearsal::advice::capital;
use crate::run_column::RunColumn;
use crate::screen::{listed, of_state, toned};
use crate::session::ArchivedRun;
use crate::session::archive::{
    DIED, GIVEN_UP, MISSING, best, best_of_all, curve, epsilon, last_further, one_epsilon,
    state_words, tally,
};
use crate::session::comparison::{Answer, NOT_FOR_CHOICE, TAKE, namesakes, usual_name};
use crate::session::follow::{unread_words, wrote_words};
use crate::session::public_alone::{PublicAlone, public_alone};
use crate::session::question::{are_comparable, are_on_same_data, is_public, label_of, public_of};
use crate::tab::CHARTS;
use crate::theme::Theme;
use crate::verdict::{Verdict, error_cell};
use crate::widgets;
use crate::widgets::chart::{Chart, SeriesView};
use crate::widgets::ranges::{self, Ranged};
use crate::widgets::smoothing::{PlotPoint, smooth};

/// The runs of the table in their order, and how they are shown.
#[derive(Clone, Copy)]
struct Shown<'a> {
    screen: &'a CompareScreen,
    context: &'a Context,
    runs: &'a [ArchivedRun],
    order: &'a [usize],
    answers: &'a [Answer],
}

pub fn view(screen: &CompareScreen, context: &Context, canvas: &mut Canvas, area: Rect) {
    let Some(runs) = &context.archive else {
        canvas.empty_box(area, "Compare", &["Reading the run directories…"]);
        return;
    };
    if runs.is_empty() {
        let words = "No run in this workspace yet. Press 3 for the plan, then l to launch it.";
        canvas.empty_box(area, "Compare", &[words]);
        return;
    }
    let order = screen.order(context, context.filter());
    let answers = screen.answers(context, canvas.glyphs);
    let shown = Shown { screen, context, runs, order: &order, answers: &answers };
    let answer = answer(shown, canvas, area.width);
    // What may be shared is not cut: on small terminals the rest has a list and a chart of few rows.
    let rows = (answer.len() as u16).min((area.height / 2).max(2));
    let [above, area] = in_rows(area, [Length(rows), Fill(1)]);
    canvas.lines(answer, above);
    match canvas.alone {
        Some(ARCHIVE) => return archive(shown, canvas, area),
        Some(DETAILS) => return differences(shown, canvas, area),
        Some(_) => return chart(shown, canvas, area),
        None => {}
    }
    let least = if area.height >= 30 { area.height * 2 / 5 } else { area.height / 2 };
    let rows = (runs.len() as u16 + 3).clamp(5, least.max(5));
    let [above, below] = canvas.two_rows("compare.list", area, rows);
    archive(shown, canvas, above);
    if screen.pins.iter().any(Option::is_some) {
        let chart_width = (below.width * 11 / 20).max(34);
        let [left, right] = canvas.two_columns("compare.chart", below, chart_width);
        chart(shown, canvas, left);
        differences(shown, canvas, right);
    } else if below.height < WITH_DETAILS {
        let is_asked = canvas.has_focus(DETAILS);
        (if is_asked { differences } else { chart })(shown, canvas, below);
    } else {
        // Few words about one run: the charts take the room.
        let lines = selected(shown, canvas, below.width.saturating_sub(2)).len() as u16;
        let most = (below.height / 3).max(3);
        let [left, right] = in_rows(below, [Fill(1), Length((lines + 2).clamp(3, most))]);
        chart(shown, canvas, left);
        differences(shown, canvas, right);
    }
}

/// The model to take for each private dataset, and what may be told of it: whole for the first one. A
/// caution stands beside exact numbers that are compared.
fn answer<'a>(shown: Shown, canvas: &Canvas, room: u16) -> Vec<Line<'a>> {
    let answers = shown.answers;
    let (theme, glyphs) = (canvas.theme, canvas.glyphs);
    let mut lines = Vec::new();
    for (place, answer) in answers.iter().enumerate() {
        let style = if answer.is_exact { theme.curator } else { bold(theme.text) };
        let mut pairs = answer.lines();
        if place > 0 {
            pairs.retain(|(head, _)| *head == TAKE);
        }
        if let Some((_, words)) = pairs.first_mut().filter(|_| answer.taken.is_some()) {
            *words = format!("{TAKEN} {words}");
        }
        for (head, words) in pairs {
            let padding = "Share".len() - head.len();
            for mut line in canvas.pairs(&[(head, words)], room.saturating_sub(padding as u16)) {
                line.spans.insert(1, Span::raw(" ".repeat(padding)));
                if head == TAKE {
                    line.spans.iter_mut().for_each(|span| span.style = style);
                }
                lines.push(line);
            }
        }
    }
    // Where scores decide, `i` has the caution.
    if answers.iter().any(|answer| answer.is_exact) {
        let caution = NOT_FOR_CHOICE.replace('◆', glyphs.curator);
        let caution = Span::styled(format!(" {caution}"), theme.curator);
        match lines.last_mut().filter(|line| line.width() + caution.width() <= usize::from(room)) {
            Some(line) => line.push_span(caution),
            None => lines.push(Line::from(caution)),
        }
    }
    lines
}

/// The mark of the run that the answer takes.
const TAKEN: &str = "★";

/// Columns that stand above the table if all of its rows say the same.
const ALIKE: [RunColumn; 2] = [RunColumn::Plan, RunColumn::Method];

fn says_the_same(Shown { context, runs, order, .. }: Shown, column: RunColumn) -> bool {
    let text = |at: &usize| column.text(&runs[*at], &context.watch);
    order.len() > 1 && order[1..].iter().all(|at| text(at) == text(&order[0]))
}

fn archive(shown: Shown, canvas: &mut Canvas, area: Rect) {
    let Shown { screen, context, runs, order, .. } = shown;
    let title = if screen.is_board {
        let best = best_of_all(runs).map(|(run, what, error)| {
            let plan = run.plan.as_ref().map_or("", |plan| &plan.name);
            format!(" · least {what}: {} ({plan})", error_cell(run.task(), error))
        });
        format!("{} tasks: {}{}", runs.len(), tally(runs), best.unwrap_or_default())
    } else {
        let passing = match order.len() {
            all if all == runs.len() => String::new(),
            some => format!("{some} of "),
        };
        let count =
            if runs.len() == 1 { "1 run".to_owned() } else { format!("{} runs", runs.len()) };
        // The plan's name says most; `i` has the method.
        let alike = ALIKE.iter().find(|column| says_the_same(shown, **column));
        let alike = alike.map(|it| format!(" · {}", it.text(&runs[order[0]], &context.watch)));
        let alike = alike.unwrap_or_default();
        let is_told = |what: &str| shown.answers.iter().any(|answer| answer.text().contains(what));
        let cap = common_cap(runs).filter(|cap| !is_told(&format!("cap {cap}")));
        let cap = cap.map_or_else(String::new, |cap| format!(" · cap {cap}"));
        let has_scores = runs.iter().any(|run| run.score.is_some());
        let ranges = if has_scores && !is_told("95 %") { " · ranges 95 %" } else { "" };
        let are_joined = runs.iter().any(|run| run.joined.is_some());
        let joined = if are_joined { " · scores joined" } else { "" };
        format!("{passing}{count}{alike}{cap}{ranges}{joined}")
    };
    let inner = canvas.pane(area, &context.filtered_title(&title), ARCHIVE);
    if order.is_empty() {
        canvas.empty(inner, &["No run passes the filter; Esc clears it."]);
    } else {
        runs_table(shown, canvas, inner);
    }
}

/// The cap of all scores, if they have the same one.
fn common_cap(runs: &[ArchivedRun]) -> Option<String> {
    let mut caps = runs.iter().filter_map(|run| Some(run.told()?.cap()));
    let first = caps.next()?;
    first.filter(|first| caps.all(|cap| cap.as_ref() == Some(first)))
}

/// The width that a column needs; numbers are not cut. Names are cut at `names` letters.
fn width_of(shown: Shown, column: RunColumn, names: u16) -> u16 {
    let Shown { screen, context, runs, .. } = shown;
    let widest = || longest(runs.iter().map(|run| column.text(run, &context.watch)));
    match column {
        // The user can make it wider or narrower.
        RunColumn::Plan if screen.width != USUAL_WIDTH => screen.width,
        RunColumn::Plan => widest().max(4).min(names),
        // A method is recognised by its first words.
        RunColumn::Method => widest().max(6).min(if names == LONGEST_NAME { names } else { 18 }),
        RunColumn::Time => 16,
        RunColumn::Epsilon | RunColumn::Delta => widest().max(3),
        RunColumn::Score | RunColumn::Outcome => widest().max(8),
        RunColumn::Steps => widest().max(9),
        // Two blanks before a head of two words, so that it is not read with the one before it.
        RunColumn::PublicLast
        | RunColumn::PublicBest
        | RunColumn::PrivateLast
        | RunColumn::PrivateBest => widest().max(longest([column.title()]) + 1),
        RunColumn::NoPrivacy | RunColumn::Further(_) => widest().max(longest([column.title()])),
        RunColumn::Tag => widest().clamp(4, 14),
        RunColumn::Run => 42,
    }
}

/// The columns of a board for a task in little room.
const OF_A_TASK: [RunColumn; 5] = [
    RunColumn::Plan,
    RunColumn::Outcome,
    RunColumn::Score,
    RunColumn::PublicBest,
    RunColumn::Steps,
];

/// The columns that fit, chosen by weight, in the order of the table, with their widths.
fn columns_that_fit(shown: Shown, room: u16, is_alone: bool) -> (Vec<RunColumn>, Vec<u16>) {
    let Shown { runs, context, .. } = shown;
    let visible = RunColumn::shown(!context.watch.is_sealed());
    let has = |column: RunColumn| match column {
        RunColumn::Score => runs.iter().any(|run| run.score.is_some()),
        RunColumn::Tag => runs.iter().any(|run| !run.tag.is_empty()),
        // `i` has the steps of a run and its other errors, the chart its best error, and `z` all.
        RunColumn::Steps
        | RunColumn::PublicBest
        | RunColumn::PrivateBest
        | RunColumn::Further(_) => {
            let is_wanted = shown.screen.is_board || Some(column) == shown.screen.sort;
            (is_wanted || is_alone) && column.has_any(runs, &context.watch)
        }
        other if ALIKE.contains(&other) => !says_the_same(shown, other),
        other => other.has_any(runs, &context.watch),
    };
    let mut by_weight = RunColumn::by_weight();
    if shown.screen.is_board {
        // A stable sort: the others stay in their order.
        let of_a_task = |column: &RunColumn| OF_A_TASK.iter().position(|it| it == column);
        by_weight.sort_by_key(|column| of_a_task(column).unwrap_or(OF_A_TASK.len()));
    }
    by_weight.retain(|column| visible.contains(column) && has(*column));
    let fitted = |names: u16| {
        let width = |column| width_of(shown, column, names);
        fitting(by_weight.iter().copied(), width, room.saturating_sub(2))
    };
    // Names are not cut, unless this costs one of the most important columns. The state of a run is
    // visible even if little is left of its name.
    let standing = by_weight.iter().position(|column| *column == RunColumn::Outcome);
    let standing = standing.map_or(0, |place| place + 1);
    let has_first = |names, wanted: usize| fitted(names).len().min(wanted);
    let [whole, usual, short] = [LONGEST_NAME, USUAL_WIDTH, SHORTEST_NAME];
    let names = if has_first(usual, standing) < has_first(short, standing) {
        short
    } else if has_first(whole, FIRST_IN_WEIGHT) < has_first(usual, FIRST_IN_WEIGHT) {
        usual
    } else {
        whole
    };
    let mut columns = fitted(names);
    columns.sort_by_key(|column| RunColumn::ALL.iter().position(|other| other == column));
    let widths = columns.iter().map(|column| width_of(shown, *column, names)).collect();
    (columns, widths)
}

/// How many of the columns, by weight, come before uncut names.
const FIRST_IN_WEIGHT: usize = 8;

/// The longest name of a plan or a method.
const LONGEST_NAME: u16 = 48;
const SHORTEST_NAME: u16 = 12;

fn runs_table(shown: Shown, canvas: &mut Canvas, area: Rect) {
    let (theme, glyphs) = (canvas.theme, canvas.glyphs);
    let Shown { screen, context, runs, order, answers } = shown;
    let (columns, mut cells) =
        columns_that_fit(shown, area.width.saturating_sub(1), canvas.alone == Some(ARCHIVE));
    // The remaining room goes to the word that exact numbers have no cap, and to cut names.
    let taken = cells.iter().map(|cell| cell + 1).sum::<u16>() + 2;
    let mut left = area.width.saturating_sub(taken);
    let has_cap = |run: &ArchivedRun| run.told().is_some_and(|it| it.cap().is_some());
    let are_capped = columns.contains(&RunColumn::Score) && runs.iter().any(has_cap);
    let mut header = vec![Line::raw("")];
    for (column, cell) in columns.iter().zip(&mut cells) {
        let mut head = column.title();
        if let Some([whole, short]) = column.uncapped_heads().filter(|_| are_capped) {
            let more = (longest([whole]) + 1).saturating_sub(*cell);
            head = if more <= left { whole } else { short };
            let more = if more <= left { more } else { 0 };
            (*cell, left) = (*cell + more, left - more);
        }
        let mark = sort_mark(Some(*column) == screen.sort, screen.reverse);
        let style = if column.is_exact() { theme.curator } else { theme.muted };
        let line = Line::styled(format!("{head}{mark}"), style);
        header.push(if column.is_number() { line.right_aligned() } else { line });
    }
    for (column, cell) in columns.iter().zip(&mut cells) {
        if matches!(column, RunColumn::Plan | RunColumn::Method | RunColumn::Tag) {
            let texts = order.iter().map(|index| column.text(&runs[*index], &context.watch));
            let more = longest(texts).saturating_sub(*cell).min(left);
            (*cell, left) = (*cell + more, left - more);
        }
    }
    let mut widths = vec![Length(2)];
    widths.extend(cells.iter().copied().map(Length));
    let has_one_cap = common_cap(runs).is_some();
    let publics = public_alone(runs);
    // A run of public data alone without a score has the error that the scores of others tell.
    let of_others = |run: &ArchivedRun| {
        let mut found = publics.iter().filter(|it| is_public(run) && it.of == public_of(run));
        found.next().filter(|_| found.next().is_none()).map(|it| it.score.brief_error())
    };
    let row = |place: usize| {
        let run = &runs[order[place]];
        let marked = |slot| Span::styled(glyphs.series(slot), theme.series(slot));
        let mark = screen.slot(&run.id).map_or(Span::raw(" "), marked);
        let is_taken = answers.iter().any(|it| it.taken.as_ref() == Some(&run.id));
        let taken = Span::styled(if is_taken { TAKEN } else { " " }, bold(theme.text));
        let mut row = vec![Line::from(vec![mark, taken])];
        let cell = |(column, room): (&RunColumn, &u16)| {
            // The title has a cap that all scores have.
            let score = run.told().filter(|_| has_one_cap && *column == RunColumn::Score);
            let told = score.map(Scored::brief_error);
            let is_empty = *column == RunColumn::Score && run.told().is_none();
            let told = told.or_else(|| of_others(run).filter(|_| is_empty));
            let text = told.unwrap_or_else(|| column.text(run, &context.watch));
            cell(theme, run, (*column, *room), text)
        };
        row.extend(columns.iter().zip(&cells).map(cell));
        row
    };
    let selected = order.iter().position(|index| *index == screen.selected);
    let list = (ARCHIVE, order.len(), selected);
    canvas.list(area, (header, widths), list, row);
}

/// A name in little room. What tells it from its namesakes, at its end, is not cut.
fn name_cut_within(name: &str, room: u16, cut: &str) -> String {
    match name.rsplit_once(" at ε ").filter(|_| longest([name]) > room) {
        Some((plan, epsilon)) => {
            let end = format!(" at ε {epsilon}");
            widgets::shortened(plan, room.saturating_sub(longest([&end])), cut) + &end
        }
        None => widgets::shortened(name, room, cut),
    }
}

/// A name in little room. The values of a sweep's task, at its end, are not cut.
fn shortened_name(name: String, room: u16) -> String {
    let cut = name.chars().count() > usize::from(room);
    let Some((plan, values)) = name.rsplit_once(" · ").filter(|_| cut) else { return name };
    let left = usize::from(room).saturating_sub(values.chars().count() + 4);
    let plan: String = plan.chars().take(left).collect();
    if plan.is_empty() { values.to_owned() } else { format!("{plan}… · {values}") }
}

fn cell<'a>(
    theme: &Theme,
    run: &ArchivedRun,
    (column, room): (RunColumn, u16),
    text: String,
) -> Line<'a> {
    let text = if column == RunColumn::Plan { shortened_name(text, room) } else { text };
    let style = match column {
        _ if column.is_exact() => theme.curator,
        RunColumn::Outcome => of_state(theme, &run.outcome),
        _ => theme.text,
    };
    let line = Line::styled(text, style);
    if column.is_number() { line.right_aligned() } else { line }
}

/// Up to so many runs, each has its range in the chart.
const MOST_RANGES: usize = 12;

/// The height below which a chart shows little.
const LEAST_CHART: u16 = 9;
/// The height from which the selected run has lines of its own below the charts.
const WITH_DETAILS: u16 = 10;
/// The width from which two charts stand side by side.
const TWO_CHARTS: u16 = 100;
/// The width from which a range has its number beside it.
const WITH_NUMBERS: u16 = 56;

fn chart(Shown { screen, context, runs, order, .. }: Shown, canvas: &mut Canvas, mut area: Rect) {
    let (theme, glyphs) = (canvas.theme, canvas.glyphs);
    let viewport = &screen.viewport;
    let mut quantity = screen.shown_quantity(runs, &context.watch);
    if quantity == Quantity::Score
        && let Some(rows) = scored_rows(screen, runs, order)
        && rows.len() + 4 <= usize::from(area.height)
    {
        // Of several ε the error at each is the next question, of one the steps of the run.
        if one_epsilon(rows.iter().filter_map(|(run, _)| epsilon(run))).is_some() {
            quantity = screen.usual_series(runs, &context.watch);
        }
        let is_curve = |(_, run): &(usize, &ArchivedRun)| match quantity {
            Quantity::Series(series) => {
                curve(run, series, &context.watch).is_some_and(|(points, _)| points.len() > 1)
            }
            _ => true,
        };
        let is_drawn = screen.pinned(runs).iter().any(is_curve);
        let needed = rows.len() as u16 + 5;
        let is_wide = area.width >= TWO_CHARTS;
        if !is_drawn || !is_wide && area.height < needed + LEAST_CHART {
            return ranges((screen, runs), &rows, canvas, area);
        }
        let [first, second] = if is_wide {
            canvas.two_columns("compare.chart", area, area.width * 11 / 20)
        } else {
            in_rows(area, [Length(needed), Fill(1)])
        };
        ranges((screen, runs), &rows, canvas, first);
        area = second;
    }
    let log = viewport.log || quantity.always_log();
    let title = match quantity {
        Quantity::Score => "released error ↓ against ε".to_owned(),
        _ => quantity.title(),
    };
    let chart = Chart::new(&title, theme, glyphs).log(log);
    if quantity.is_of_runs() {
        // Every run of the table is a point; unpinned ones are all alike. Ranges of many would hide
        // each other, so only pinned ones have theirs then.
        let are_few = order.len() <= MOST_RANGES;
        let range = |run: &ArchivedRun| {
            let is_shown = are_few || screen.slot(&run.id).is_some();
            let score = run.told().filter(|_| is_shown && quantity == Quantity::Score)?;
            Some((score.error.low, score.error.high))
        };
        let point = |run: &ArchivedRun| {
            let (value, exact) = match quantity {
                Quantity::Utility(series) => {
                    let exact = curve(run, series, &context.watch)?.1;
                    (best(run, series, &context.watch)?, exact)
                }
                _ => (run.told()?.error.value, false),
            };
            Some((screen.slot(&run.id), [(epsilon(run)?, value)], exact, range(run)))
        };
        // Errors of other data, or of another kind, are on no axis with these.
        let scored = scored_rows(screen, runs, order).filter(|_| quantity == Quantity::Score);
        let first = scored.and_then(|rows| rows.first().map(|(run, _)| *run));
        let subject = first.or_else(|| screen.pinned(runs).first().map(|(_, run)| *run));
        let in_order = order.iter().map(|index| &runs[*index]);
        let alike = if quantity == Quantity::Score { are_comparable } else { are_on_same_data };
        let in_order = in_order.filter(|run| subject.is_none_or(|it| alike(run, it)));
        let (with_both, mut points): (Vec<&ArchivedRun>, Vec<_>) =
            in_order.filter_map(|run| Some((run, point(run)?))).unzip();
        if let Some(one) = one_epsilon(points.iter().map(|(_, point, ..)| point[0].0)) {
            for (_, point, ..) in &mut points {
                point[0].0 = one;
            }
        }
        // Beside public data alone, what is chance between runs looks as small as it is.
        let alone = match public_alone(with_both.iter().copied()).as_slice() {
            [alone] if quantity == Quantity::Score => Some(alone.score.error.value),
            _ => None,
        };
        let spent = || points.iter().map(|(_, point, ..)| point[0].0);
        // It spends nothing, so it begins at 0.
        let ends = [0.0, PAST_THE_LAST * spent().fold(0.0, f64::max)];
        let level = alone.map_or_else(Vec::new, |error| ends.map(|at| (at, error)).to_vec());
        let mut chart = chart
            .percent(quantity.is_share(with_both))
            .x_axis("ε", false)
            .legend(false)
            .empty("no run has both numbers");
        // Pinned runs are on top, so they come first.
        points.sort_by_key(|(slot, ..)| slot.is_none());
        for (slot, point, curator, range) in &points {
            chart = chart.series(SeriesView {
                name: "",
                style: slot.map_or(theme.muted, |slot| theme.series(slot)),
                curator: *curator,
                points: point.as_slice().into(),
                range: *range,
                // The mark of public data alone beside scores is for them alone.
                slot: slot.unwrap_or(if quantity == Quantity::Score { 0 } else { 4 }),
            });
        }
        chart = chart.series(SeriesView {
            name: "",
            style: theme.muted,
            curator: false,
            points: level.as_slice().into(),
            range: None,
            slot: 4,
        });
        return canvas.pointed_chart(area, CHARTS, chart, viewport);
    }
    let of_run = |(slot, run)| {
        let (points, exact) = match quantity {
            Quantity::Series(series) => curve(run, series, &context.watch)?,
            _ => (run.epsilon.as_slice(), false),
        };
        Some((slot, run, smooth(points, viewport.smoothing, log), exact))
    };
    let curves: Vec<(usize, &ArchivedRun, Vec<PlotPoint>, bool)> =
        screen.pinned(runs).into_iter().filter_map(of_run).collect();
    let mut chart = chart
        .percent(quantity.is_share(curves.iter().map(|(_, run, ..)| *run)))
        .empty("no run has numbers of this kind: ] shows others");
    for (slot, run, points, curator) in &curves {
        let name = run.plan.as_ref().map_or("run", |plan| &plan.name);
        chart = chart.curve((name, *slot), *curator, points);
    }
    canvas.pointed_chart(area, CHARTS, chart, viewport);
}

/// The runs of the table with scores that can be compared with that of the selected one, or of the
/// first one that has a score.
fn scored_rows<'a>(
    screen: &CompareScreen,
    runs: &'a [ArchivedRun],
    order: &[usize],
) -> Option<Vec<(&'a ArchivedRun, &'a Scored)>> {
    let scored = |run: &'a ArchivedRun| Some((run, run.told()?));
    let mut rows: Vec<_> = order.iter().filter_map(|index| scored(&runs[*index])).collect();
    let (first, _) = screen.run(runs).and_then(scored).or(rows.first().copied())?;
    rows.retain(|(run, _)| are_comparable(first, run));
    Some(rows)
}

/// The released errors with their ranges on one axis, a line for each run, and below them public data
/// alone as all scores together measured them.
fn ranges(
    (screen, runs): (&CompareScreen, &[ArchivedRun]),
    rows: &[(&ArchivedRun, &Scored)],
    canvas: &mut Canvas,
    area: Rect,
) {
    let (theme, glyphs) = (canvas.theme, canvas.glyphs);
    let [own, other] = [glyphs.series(0), glyphs.series(4)];
    let Some((first, score)) = rows.first() else { return };
    let percent = score.loss.is_none();
    let of_label = label_of(first).map_or_else(String::new, |label| format!(" of {label}"));
    let title = format!("released {}{of_label} ↓", score.kind());
    let inner = canvas.pane(area, &title, CHARTS);
    let alone = public_alone(rows.iter().map(|(run, _)| *run));
    let rows: Vec<_> = rows.iter().filter(|(run, _)| !is_public(run)).collect();
    let one_answers: Vec<(Scored, &PublicAlone)> =
        alone.iter().filter_map(|it| Some((it.one_answer()?, it))).collect();
    let publics = alone.iter().map(|it| &it.score).chain(one_answers.iter().map(|(it, _)| it));
    let ends = rows.iter().map(|(_, score)| *score).chain(publics).flat_map(|score| {
        let Score { value, low, high } = score.error;
        [low, value, high]
    });
    let Some(axis) = ranges::axis(ends) else { return };
    let name = |run: &ArchivedRun| {
        let all: Vec<&ArchivedRun> = rows.iter().map(|(run, _)| *run).collect();
        let namesakes = namesakes(run, &all);
        let name = CompareScreen::short_name(runs, run, &namesakes)
            .unwrap_or_else(|| usual_name(run, &namesakes).replace('\'', ""));
        let mark = screen.slot(&run.id).map_or("", |slot| glyphs.series(slot));
        format!("{mark} {name}").trim_start().to_owned()
    };
    let names: Vec<String> = rows.iter().map(|(run, _)| name(run)).collect();
    let of = |it: &PublicAlone| match alone.len() {
        1 => "public data alone".to_owned(),
        _ => format!("public: {}", it.of.join(" + ")),
    };
    let one_answer = |(score, of): &(Scored, &PublicAlone)| match one_answers.len() {
        1 => format!("{} for all", score.one_answer_name()),
        _ => format!("{}: {}", score.one_answer_name(), of.of.join(" + ")),
    };
    let publics = alone.iter().map(of).chain(one_answers.iter().map(one_answer));
    let publics: Vec<String> = publics.collect();
    let has_numbers = inner.width >= WITH_NUMBERS;
    let number = |told: Option<String>| told.filter(|_| has_numbers).unwrap_or_default();
    let gains = rows.iter().map(|(_, score)| number(score.brief_gain()));
    let errors = alone.iter().map(|it| &it.score).chain(one_answers.iter().map(|(it, _)| it));
    let errors = errors.map(|it| number(Some(it.brief_error())));
    let numbers: Vec<String> = gains.chain(errors).collect();
    let room = longest(names.iter().chain(&publics)).min((inner.width * 2 / 5).max(18));
    let beside = longest(&numbers);
    let width = inner.width.saturating_sub(room + 1 + beside + u16::from(beside > 0));
    let models = rows.iter().map(|(_, score)| (*score, own, theme.series(0)));
    let models = names.iter().zip(models);
    let marked = alone.iter().map(|it| (&it.score, other, theme.muted));
    let constant = glyphs.vertical;
    let marked = marked.chain(one_answers.iter().map(|(it, _)| (it, constant, theme.warning)));
    let publics = publics.iter().zip(marked);
    // Runs with other caps or public data have another one.
    let reference = match one_answers.as_slice() {
        [(one, _)] => Some((one.error.value, theme.warning)),
        _ => None,
    };
    let row = |((name, (score, marker, style)), number): (
        (&String, (&Scored, &'static str, Style)),
        &String,
    )| {
        let Score { value, low, high } = score.error;
        let values = [Ranged { value, low, high, marker, style }];
        let name = name_cut_within(name, room, glyphs.cut);
        let padding = usize::from(room + 1).saturating_sub(name.chars().count());
        let mut line = vec![Span::styled(name, theme.text), Span::raw(" ".repeat(padding))];
        line.extend(ranges::line(&axis, width, &values, reference, glyphs));
        if has_numbers {
            line.push(Span::styled(format!(" {number}"), theme.text));
        }
        Line::from(line)
    };
    let mut lines: Vec<Line> = models.chain(publics).zip(&numbers).map(row).collect();
    let mut scale = ranges::scale(&axis, width, percent, theme.muted);
    scale.spans.insert(0, Span::raw(" ".repeat(usize::from(room + 1))));
    lines.push(scale);
    canvas.lines(lines, inner);
}

/// Only the differences between the pinned runs.
fn differences(shown: Shown, canvas: &mut Canvas, area: Rect) {
    let (theme, glyphs) = (canvas.theme, canvas.glyphs);
    let Shown { screen, runs, .. } = shown;
    let pinned = screen.pinned(runs);
    let is_pinned = screen.pins.iter().any(Option::is_some);
    let title = if is_pinned { "What differs" } else { "Selected run" };
    if !is_pinned {
        let lines = selected(shown, canvas, area.width.saturating_sub(2));
        return canvas.text_pane(area, title, DETAILS, lines, screen.detail);
    }
    let inner = canvas.pane(area, title, DETAILS);
    if pinned.len() < 2 {
        return canvas.empty(inner, &["Mark a second run (Space) to see what differs."]);
    }
    let differences = screen.differences(runs);
    if differences.is_empty() {
        return canvas.empty(inner, &["All marked runs have the same settings and data."]);
    }
    let mut widths = vec![Length(longest(differences.iter().map(|(name, _)| name)))];
    widths.extend(pinned.iter().map(|_| Fill(1)));
    let mut header = vec![Line::raw("")];
    let mark = |slot| Line::styled(glyphs.series(slot), theme.series(slot));
    header.extend(pinned.iter().map(|(slot, _)| mark(*slot)));
    let row = |place: usize| {
        let (name, values) = &differences[place];
        let mut cells = vec![Line::styled(name.clone(), theme.muted)];
        cells.extend(values.iter().map(|value| Line::raw(value.clone())));
        cells
    };
    let _ = canvas.table(inner, (header, widths), (differences.len(), None), row);
}

fn selected<'a>(shown: Shown, canvas: &Canvas, room: u16) -> Vec<Line<'a>> {
    let theme = canvas.theme;
    let watch = &shown.context.watch;
    let Some(run) = shown.screen.run(shown.runs) else { return Vec::new() };
    let mut facts = Vec::new();
    let is_taken = shown.answers.iter().any(|it| it.taken.as_ref() == Some(&run.id));
    // The answer has the verdict on the run that it takes, and the table the score itself.
    if let Some(told) = run.told().filter(|_| !is_taken) {
        facts.push(("released score", told.verdict().unwrap_or_else(|| told.sentence())));
    }
    for later in &run.later_scores {
        facts.push(("scored later", later.sentence()));
        let further = later.score.rows().into_iter().skip(1);
        facts.extend(further.map(|(name, value)| ("", format!("{name} {value}"))));
    }
    facts.extend(source_words(&run.source_weights).map(|words| ("released", words)));
    if let Some(choice) = &run.choice {
        let among = || format!("among {}: none so far", choice.candidates.join(", "));
        facts.push(("choice", choice.result.clone().unwrap_or_else(among)));
    }
    if !run.is_settled()
        && let Some(process) = &run.process
    {
        let wrote = wrote_words(run.wrote);
        let (name, then) = match run.outcome.as_str() {
            DIED => ("died", "; R resumes it"),
            MISSING => ("no result", "; U on the Ledger screen (6) settles it"),
            _ => ("carried out by", ""),
        };
        facts.push((name, format!("{process}, {wrote}{then}")));
    }
    if state_words(&run.outcome) == GIVEN_UP {
        facts.push(("given up", "t puts its settings into the plan, to start it again".to_owned()));
    }
    if run.skipped > 0 {
        facts.push(("not shown", unread_words(run.skipped)));
    }
    facts.extend(run.trouble.clone().map(|trouble| ("trouble", trouble)));
    // Settings come after what was found.
    facts.extend((!run.tag.is_empty()).then(|| ("tag", run.tag.clone())));
    if !run.sites.is_empty() {
        facts.push(("trained with sites", run.sites.join(", ")));
    }
    if let Some(plan) = &run.plan {
        // The answer names datasets that differ.
        let private = |run: &ArchivedRun| run.plan.as_ref().map(|plan| plan.private.clone());
        if shown.runs.iter().any(|other| private(other) != private(run)) || shown.runs.len() == 1 {
            facts.push(("private", plan.private.clone()));
        }
        facts.push(("public", plan.public.join(" + ")));
        let settings: Vec<String> =
            plan.settings.iter().map(|(key, value)| format!("{key} {value}")).collect();
        if !settings.is_empty() {
            facts.push(("settings", settings.join(", ")));
        }
        if !plan.public_predictor.is_none() {
            facts.push(("public predictor", plan.public_predictor.to_string()));
        }
    }
    // Exact numbers give a second answer to a question that the score answers.
    let exact = run.errors.as_ref().filter(|_| run.score.is_none());
    let exact = exact.and_then(|errors| errors.reveal(watch)).map(|errors| {
        let Verdict { tone, sentences } = errors.verdict();
        let first = sentences.into_iter().next().unwrap_or_default();
        Line::styled(first.replace('◆', canvas.glyphs.curator), toned(theme, tone))
    });
    exact.into_iter().chain(canvas.pairs(&facts, room)).collect()
}

/// What the details of a run leave out, each part with its title.
pub fn in_full(run: &ArchivedRun, watch: &Watch) -> String {
    let score = run.score.as_ref().map(|told| format!("{}.", capital(&told.sentence())));
    let alone = match run.joined {
        Some(_) => "Its own score, before it was joined with those of other runs; ranges 95 %",
        None => "Released score, ranges 95 %",
    };
    let mut parts: Vec<(&str, String)> = score.map(|score| (alone, score)).into_iter().collect();
    if let Some(errors) = run.errors.as_ref().and_then(|errors| errors.reveal(watch)) {
        parts.push(("Exact errors ◆", errors.verdict().text()));
        let further = errors.further_sentences();
        parts.extend((!further.is_empty()).then(|| ("Further exact scores ◆", further.join(" "))));
    }
    let further = last_further(run, Series::BESIDE_PUBLIC, watch).words();
    if !further.is_empty() {
        parts.push(("On public records", format!("{}.", capital(&further))));
    }
    let seen = match (run.peeked || run.exact.is_some(), run.is_settled()) {
        _ if run.choice.is_some() => "None: a choice computes only released ones.",
        (true, _) => "Computed ◆.",
        (false, true) => "Not computed (sealed view).",
        (false, false) => "None yet.",
    };
    parts.push(("Exact numbers", seen.to_owned()));
    let steps = RunColumn::Steps.text(run, watch);
    let method = RunColumn::Method.text(run, watch);
    let seed = run.plan.as_ref().map_or_else(String::new, |plan| format!(" Seed: {}.", plan.seed));
    parts.push(("How it was made", format!("Method: {method}. Steps: {steps}.{seed}")));
    parts.push(("Directory", run.directory.display().to_string()));
    listed(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_values_of_a_sweep_stay_where_a_name_is_cut() {
        let of = |room| shortened_name("winter from autumn · epsilon=0.5 seed=3".to_owned(), room);
        assert_eq!(of(40), "winter from autumn · epsilon=0.5 seed=3");
        assert_eq!(of(30), "winter f… · epsilon=0.5 seed=3");
        assert_eq!(of(20), "epsilon=0.5 seed=3");
        assert_eq!(shortened_name("winter from autumn".to_owned(), 6), "winter from autumn");
    }
}
