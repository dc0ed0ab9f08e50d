//! The picture of the Run screen: loss, stationarity gap and spend, live.

use std::path::PathBuf;

use ratatui::layout::Constraint::Max;
use ratatui::layout::Margin;
use ratatui::style::Style;

use super::{LOG, RUNS, RunScreen};
use super::{choice, trainer};
use crate::canvas::{
    Canvas, Fill, Length, Line, ListHit, Rect, Span, bold, in_columns, in_rows, longest,
    wrapped_lines,
};
use crate::context::Context;
use crate::data::Task;
use crate::engine::Summary;
use crate::evaluation::measured::SQUARED;
use crate::evaluation::{FurtherScores, Loss, Measured, Score, Scored};
use crate::glossary;
use crate::live_run::{Ended, LiveRun, Logged, always_log};
use crate::methods::{self, ColumnCorrection, Gap, Series, source_words};
use crate::notice::one_line;
use crate::privacy::accountant::{delta_words, round_up};
use crate::privacy::{Target, Watch};
use crate::screen::{SPENDS_NOTHING, toned};
use crate::tab::CHARTS;
use crate::verdict::Tone;
use crate::widgets::bars::bars;
use crate::widgets::chart::Chart;
use crate::widgets::gauge::{BudgetGauge, GaugeOf};
use crate::widgets::large;
use crate::widgets::number::{compact, compact_up, duration, percent};
use crate::widgets::ranges::{self, Ranged};
use crate::widgets::shortened;
use crate::widgets::track::TrackView;
use crate::widgets::whiskers::Whiskers;

/// The shown run, and how it is shown.
#[derive(Clone, Copy)]
pub(super) struct Shown<'a> {
    pub screen: &'a RunScreen,
    pub context: &'a Context,
    pub run: &'a LiveRun,
}

pub fn view(screen: &RunScreen, context: &Context, canvas: &mut Canvas, area: Rect) {
    let Some(run) = screen.run(context) else {
        if context.watched.is_empty() {
            let words = "No run since this program was opened, and none of another process is under \
                         way. Press 3 for the plan, then l to launch it; 5 shows earlier runs.";
            return canvas.empty_box(area, "Run", &[words]);
        }
        return waiting(context, canvas, area);
    };
    let shown = Shown { screen, context, run };
    match canvas.alone {
        Some(RUNS) => return run_list(screen, context, canvas, area),
        Some(LOG) => return event_log(shown, canvas, area),
        Some(_) => {
            let rows = [Length(2), Fill(1)];
            let [status, charts] = in_rows(area, rows);
            status_lines(shown, canvas, status);
            return curves(shown, canvas, charts);
        }
        None => {}
    }
    let several = context.runs.len() > 1;
    let on_log = canvas.has_focus(LOG) || canvas.filtering;
    let needed = match &run.ended {
        _ if run.choice.is_some() => 2,
        Some(Ended::Summary(summary)) => 4 + u16::from(summary.trouble.is_some()),
        _ => 5,
    };
    let results_rows =
        if run.has_ended() && run.is_ours() && (!on_log || area.height >= 30) { needed } else { 0 };
    // A result is more important than the events before it.
    let log_rows = match (area.height, on_log) {
        (40.., _) => 8,
        (_, true) => 7,
        _ if results_rows > 0 => 0,
        (30.., _) => 5,
        _ => 3,
    };
    let [above, log] = canvas.two_rows("run.log", area, area.height.saturating_sub(log_rows));
    let detail = if area.height >= TALL { Detail::Table } else { Detail::Short };
    let width = area.width.saturating_sub(2);
    let head = head_lines(context, canvas, run, detail, width);
    let head_rows = head.iter().map(|line| wrapped_lines(&line.to_string(), width)).sum::<u16>();
    let list_rows = if several { (context.runs.len() as u16).min(4) + 1 } else { 0 };
    // The verdict is not cut if the charts have room beside it. The table of errors is dropped
    // first, because the verdict has its numbers. `i` shows the omitted parts.
    let room = above.height.saturating_sub(list_rows + 2 + LEAST_CHARTS);
    let told = matches!(run.ended, Some(Ended::Summary(_)));
    let results_rows = if told && head_rows + results_rows > room && area.height < TALL {
        results_rows.min(results_rows.saturating_sub(TABLE_ROWS))
    } else {
        results_rows
    };
    let head_rows = head_rows.min(room.saturating_sub(results_rows)).max(head_rows.min(3));
    let [list, status, said, charts, results] = in_rows(
        above,
        [Length(list_rows), Length(2), Length(head_rows), Fill(1), Length(results_rows)],
    );
    if several {
        run_list(screen, context, canvas, list);
    }
    status_lines(shown, canvas, status);
    canvas.paragraph(head, true, said.inner(Margin::new(1, 0)));
    curves(shown, canvas, charts);
    if results_rows > 0 {
        match &run.ended {
            Some(Ended::Summary(summary)) => {
                let short = results_rows + TABLE_ROWS <= needed;
                outcome(context, canvas, results, summary, short);
            }
            Some(Ended::Chosen(chosen)) => {
                let area = results.inner(Margin::new(1, 0));
                canvas.wrapped(choice::guarantee(chosen), canvas.theme.good, area);
            }
            Some(Ended::Refused(error)) => {
                let text = format!("Nothing was spent: {}", one_line(error));
                canvas.wrapped(text, canvas.theme.error, results);
            }
            Some(Ended::Elsewhere) | None => {}
        }
    }
    event_log(shown, canvas, log);
}

/// What is watched, and what it waits for.
fn waiting(context: &Context, canvas: &mut Canvas, area: Rect) {
    let place = |path: &PathBuf| std::path::absolute(path).unwrap_or_else(|_| path.clone());
    let places = context.watched.iter().map(|path| format!("  {}", place(path).display()));
    let earlier = match context.archived().len() {
        0 => "No run was made there yet.".to_owned(),
        1 => "One earlier run is there: 5 shows it.".to_owned(),
        many => format!("{many} earlier runs are there: 5 shows them."),
    };
    let mut lines = vec!["Waiting for a run to begin in".to_owned()];
    lines.extend(places);
    lines.extend([
        String::new(),
        "The first one that another program begins there is shown here at once, for example"
            .to_owned(),
        "  halflight run SESSION.ron".to_owned(),
        String::new(),
        earlier,
    ]);
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    canvas.empty_box(area, "Watching", &lines);
}

/// The most sites of a joint run that have a line each.
const MOST_SITES: usize = 6;
/// With fewer rows the table of errors may be left out.
const TALL: u16 = 30;
/// The rows that the charts keep when there is a lot of text.
const LEAST_CHARTS: u16 = 7;
/// With fewer rows the charts are side by side.
const LEAST_FOR_THREE: u16 = 10;
/// The rows that one of several charts above each other needs.
const LEAST_OF_SEVERAL: u16 = 7;
/// The errors of three models, and their heading.
const TABLE_ROWS: u16 = 4;

/// How much is said of a result.
#[derive(Clone, Copy, PartialEq)]
enum Detail {
    All,
    /// Of exact numbers just whether the model is better than public data alone.
    Short,
    /// Nothing of exact numbers beside a released score: the table has them.
    Table,
}

/// The sentences about a run's result; those that judge it have a tone.
fn result_of(run: &LiveRun, watch: &Watch, detail: Detail) -> Vec<(Option<Tone>, String)> {
    let Some(Ended::Summary(summary)) = &run.ended else { return Vec::new() };
    let mut parts = Vec::new();
    if let Some(told) = &summary.score {
        parts.extend(told.alarm().map(|alarm| (Some(Tone::Bad), alarm)));
        if detail == Detail::All {
            let score = format!("Released score, may be shared: {}.", told.sentence());
            parts.push((Some(Tone::Unsure), score));
        }
    }
    let weights = source_words(&summary.source_weights);
    parts.extend(weights.map(|words| (None, format!("Released, may be shared: {words}."))));
    let exact = summary.scores.exact(watch);
    let exact = exact.filter(|_| detail != Detail::Table || summary.score.is_none());
    let verdict = exact.map(|errors| errors.verdict());
    parts.extend(verdict.map(|verdict| {
        let first = verdict.sentences.first().filter(|_| detail != Detail::All).cloned();
        (Some(verdict.tone), first.unwrap_or_else(|| verdict.text()))
    }));
    parts
}

/// Everything about a run's result, for the window that explains words.
pub fn result_in_words(run: &LiveRun, watch: &Watch) -> Option<String> {
    let mut parts: Vec<String> =
        result_of(run, watch, Detail::All).into_iter().map(|(_, text)| text).collect();
    parts.extend(run.caution(watch).map(|caution| format!("◆ {caution}.")));
    (!parts.is_empty()).then(|| parts.join(" "))
}

/// The released score and that of public data alone, with their ranges on one axis.
fn score_lines(told: &Scored, canvas: &Canvas, room: u16) -> Vec<Line<'static>> {
    let (theme, glyphs) = (canvas.theme, canvas.glyphs);
    let verdict = told.verdict().filter(|_| told.alarm().is_none());
    let verdict = verdict.map(|it| it.trim_end_matches(" than public data alone").to_owned());
    let own = format!("{} {}", told.brief(), told.kind());
    let other = told.brief_public().unwrap_or_default();
    let words = [
        ("released", own, Some(told.error), theme.series(0)),
        (told.beside(), other, told.public_alone, theme.muted),
    ];
    let names = usize::from(longest(words.iter().map(|(name, ..)| name)));
    let beside = longest(words.iter().map(|(_, text, ..)| text)) + 2;
    let cells = room.saturating_sub(names as u16 + 1 + beside).min(MOST_SCORE_CELLS);
    let ends = words.iter().filter_map(|(.., score, _)| *score);
    let axis = ranges::axis(ends.flat_map(|it| [it.low, it.value, it.high]));
    let line =
        |(at, (name, text, score, style)): (usize, &(&str, String, Option<Score>, Style))| {
            let score = (*score)?;
            let mut spans = vec![Span::styled(format!("{name:<names$} "), theme.text)];
            if let Some(axis) = axis.as_ref().filter(|_| cells >= LEAST_SCORE_CELLS) {
                let Score { value, low, high } = score;
                let marker = glyphs.series(4 * at);
                let ranged = Ranged { value, low, high, marker, style: *style };
                spans.extend(ranges::line(axis, cells, &[ranged], None, glyphs));
                spans.push(Span::raw(" "));
            }
            spans.push(Span::styled(text.clone(), bold(theme.text)));
            Some(Line::from(spans))
        };
    let mut lines: Vec<Line> = words.iter().enumerate().filter_map(line).collect();
    let style = bold(toned(theme, Tone::Unsure));
    lines.extend(verdict.map(|verdict| Line::styled(verdict, style)));
    // A cap that few records reach hides little.
    let is_hiding = told.above.is_some_and(|above| above.high >= MUCH_ABOVE);
    let beyond = told.beyond_cap().filter(|_| is_hiding);
    lines.extend(beyond.map(|words| Line::styled(words, theme.warning)));
    lines
}

/// If so large a share of the records may be above the cap of errors, it is told.
const MUCH_ABOVE: f64 = 0.05;
/// The cells in which the ranges of a score are drawn.
const LEAST_SCORE_CELLS: u16 = 12;
const MOST_SCORE_CELLS: u16 = 60;

/// Whether the model is good, in words, once there is one, with warnings for the curator.
fn head_lines(
    context: &Context,
    canvas: &Canvas,
    run: &LiveRun,
    detail: Detail,
    room: u16,
) -> Vec<Line<'static>> {
    let (theme, sign) = (canvas.theme, canvas.glyphs.curator);
    let line = |(tone, text): (Option<Tone>, String)| {
        let style = tone.map_or(theme.text, |tone| bold(toned(theme, tone)));
        Line::styled(text.replace('◆', sign), style)
    };
    let mut lines: Vec<Line> =
        result_of(run, &context.watch, detail).into_iter().map(line).collect();
    if let Some(Ended::Summary(summary)) = &run.ended {
        let drawn = summary.score.as_ref().map(|told| score_lines(told, canvas, room));
        let place = usize::from(summary.score.as_ref().is_some_and(|it| it.alarm().is_some()));
        lines.splice(place..place, drawn.into_iter().flatten());
    }
    if !run.has_ended() {
        let archived = context.archived().iter().find(|it| Some(&it.id) == run.run.as_ref());
        let board = archived.map_or(&[][..], |archived| archived.board.as_slice());
        for site in board.iter().take(MOST_SITES) {
            let style = if site.is_overdue { theme.warning } else { theme.text };
            lines.push(Line::styled(site.words(), style));
        }
        if let Some(more) = board.len().checked_sub(MOST_SITES + 1) {
            let words = format!("and {} more sites: halflight watch --plain", more + 1);
            lines.push(Line::styled(words, theme.muted));
        }
    }
    if let Some(trained) = &run.trained {
        let style = if trained.is_too_low { theme.error } else { theme.text };
        lines.push(Line::styled(format!("ε: {}.", trained.verdict), bold(style)));
    }
    if let Some(Ended::Chosen(chosen)) = &run.ended {
        lines.push(Line::styled(choice::verdict(chosen), bold(theme.text)));
    }
    if let Some(caution) = run.caution(&context.watch) {
        let earlier = context.runs.iter().take_while(|other| other.id != run.id);
        let is_known = earlier.filter_map(|it| it.caution(&context.watch)).any(|it| it == caution);
        lines.push(if is_known {
            let words = format!("{sign} notes on the private records as for the run before: i");
            Line::styled(words, theme.muted)
        } else {
            Line::styled(format!("{sign} {caution}"), theme.warning)
        });
    }
    lines
}

fn run_list(screen: &RunScreen, context: &Context, canvas: &mut Canvas, area: Rect) {
    let glyphs = canvas.glyphs;
    let mark = if canvas.has_focus(RUNS) { glyphs.pointer } else { " " };
    let row = |index: usize| {
        let run = &context.runs[index];
        let mark = if index == screen.selected { mark } else { " " };
        vec![
            Line::raw(format!("{mark}{}", run.plan)),
            Line::raw(methods::name_of(&run.method).to_owned()),
            Line::raw(run.state()),
            Line::raw(format!("step {} of {}", run.step, run.total)),
            Line::raw(match &run.trained {
                Some(trained) if trained.ours.is_none() => "ε not known".to_owned(),
                None if !run.spends => "nothing".to_owned(),
                _ => format!("ε {}", round_up(run.spent(), 3)),
            }),
        ]
    };
    let names = longest(context.runs.iter().map(|run| &run.plan)) + 2;
    let widths = [Max(names.max(12)), Length(30), Length(9), Length(17), Length(9)];
    let list = (RUNS, context.runs.len(), Some(screen.selected));
    let header = [" plan", "method", "state", "progress", "spent"].map(Line::raw).to_vec();
    canvas.list(area, (header, widths.to_vec()), list, row);
}

fn status_lines(Shown { screen, context, run }: Shown, canvas: &mut Canvas, area: Rect) {
    let (theme, glyphs) = (canvas.theme, canvas.glyphs);
    let [first, second] = in_rows(area, [Length(1), Length(1)]);
    let state = run.state();
    let style = match state {
        "finished" => theme.good,
        "paused" | "stopped" | "unseen" => theme.warning,
        "failed" | "refused" | "died" => theme.error,
        _ => theme.accent,
    };
    let what = run.label.as_ref().map_or_else(String::new, |label| format!("predicts {label} · "));
    let mut parts = vec![
        Span::styled(format!(" {} {what}", run.plan), theme.text),
        Span::styled(state.to_owned(), style),
    ];
    // How often something is trained may be secret, and steps would reveal it.
    let in_secret = run.choice.as_ref().is_some_and(|choice| choice.offer.trains_in_secret);
    if in_secret && !run.has_ended() && !context.watch.is_sealed() {
        let text = format!(" {} step {} of {}", glyphs.curator, run.step, run.total);
        parts.push(Span::styled(text, theme.curator));
    } else if run.choice.is_none() || !(in_secret || run.has_ended()) {
        let phase = if run.has_ended() { String::new() } else { format!(" · {}", run.phase) };
        let is_over = run.has_ended() && run.step == run.total;
        let steps =
            if is_over { String::new() } else { format!(" · step {} of {}", run.step, run.total) };
        parts.push(Span::styled(format!("{steps}{phase}"), theme.text));
    }
    if let Some(elsewhere) = run.elsewhere.as_ref() {
        parts.push(Span::styled(format!(" · {}", elsewhere.words()), theme.muted));
    }
    if let Some(left) = run.remaining().filter(|_| !in_secret) {
        let about = format!(" · about {} left", duration(left.as_secs_f64()));
        let is_done = run.step >= run.total;
        let text = if is_done { " · the result is computed".to_owned() } else { about };
        parts.push(Span::styled(text, theme.muted));
    }
    if let Some(pace) = run.control.pace().filter(|_| !run.has_ended()) {
        parts.push(Span::styled(format!(" · pace {pace}/s"), theme.muted));
    }
    let looks = [
        (screen.viewport.frozen.is_some(), " · frozen"),
        (screen.viewport.window.is_some(), " · zoomed"),
        (screen.viewport.smoothing > 0.0, " · smoothed"),
    ];
    let looks = looks.into_iter().filter(|(holds, _)| *holds);
    parts.extend(looks.map(|(_, word)| Span::styled(word, theme.warning)));
    canvas.paragraph(Line::from(parts), false, first);
    let inset = second.inner(Margin::new(1, 0));
    if let Some(Ended::Summary(summary)) = &run.ended {
        return canvas.line(Line::styled(promise(summary), theme.good), inset);
    }
    if run.choice.is_some() && !run.has_ended() {
        let Target { epsilon, delta } = run.target;
        let text = format!("ε {epsilon} at δ {delta:e} is reserved for all candidates together");
        return canvas.line(Line::styled(text, theme.text), inset);
    }
    if let Some(trained) = &run.trained {
        return canvas.line(Line::styled(trainer::spent(trained), theme.text), inset);
    }
    if !run.spends {
        return canvas.line(Line::styled(SPENDS_NOTHING, theme.good), inset);
    }
    let spent = (run.spent(), run.target.epsilon);
    canvas.render(BudgetGauge::new(GaugeOf::Run, spent, theme, glyphs), inset);
}

/// The candidates of a choice, the steps of another trainer, or the charts of a run.
fn curves(shown: Shown, canvas: &mut Canvas, area: Rect) {
    match (&shown.run.choice, &shown.run.trained) {
        (Some(among), _) => choice::candidates(canvas, area, shown.run, among),
        (_, Some(trained)) => trainer::charts(shown, canvas, area, trained),
        _ => three_charts(shown, canvas, area),
    }
}

/// The records on which a model was measured.
const ON_PUBLIC: &str = "on public";
const ON_PRIVATE: &str = "on private";

fn three_charts(shown: Shown, canvas: &mut Canvas, area: Rect) {
    let run = shown.run;
    let corrected = run.curves.contains_key(&CORRECTIONS[0].0);
    let columns = run.columns.len().clamp(1, MOST_COLUMNS) as u16;
    let bars = if corrected { CORRECTIONS.len() as u16 + 3 + columns } else { 0 };
    let [loss, bars, gap, spend] = if area.width >= 120 {
        // The growth of ε is also visible on a narrow chart.
        let narrow = Length((area.width / 6).clamp(26, 36));
        let [usual, ..] = in_columns(area, [Fill(1), Fill(1), narrow]);
        let [loss, rest] = canvas.two_columns("run.errors", area, usual.width);
        let [bars, below] = in_rows(rest, [Length(bars), Fill(1)]);
        let [gap, spend] = in_columns(below, [Fill(1), narrow]);
        [loss, bars, gap, spend]
    } else {
        let [usual, _] = in_columns(area, [Fill(1); 2]);
        let [left, right] = canvas.two_columns("run.errors", area, usual.width);
        // In so few rows two charts would show nothing, and the gauge shows the spending.
        let spend = u16::from(area.height >= LEAST_FOR_THREE + bars);
        let bars = bars.min(area.height / 2);
        let [bars, gap, spend] = in_rows(right, [Length(bars), Fill(1), Fill(spend)]);
        [left, bars, gap, spend]
    };
    // The objective and the errors have different units: a chart for both would
    // flatten one of them.
    let share = methods::task_of(&run.method) == Some(Task::Classification);
    let absolute = !share
        && run.loss == Loss::Absolute
        && (run.curves.contains_key(&Series::PublicAbsoluteError)
            || !run.curves.contains_key(&Series::PublicError));
    let errors = ChartContent {
        title: match (share, absolute) {
            (true, _) => "wrong answers, held out",
            (_, true) => "mean absolute error, held out",
            _ => "RMSE, held out",
        },
        series: if absolute {
            &[(Series::PublicAbsoluteError, ON_PUBLIC), (Series::PrivateAbsoluteError, ON_PRIVATE)]
        } else {
            &[(Series::PublicError, ON_PUBLIC), (Series::PrivateError, ON_PRIVATE)]
        },
        share,
        large: true,
        none: None,
    };
    let objective = ChartContent::new(
        "objective",
        &[
            (Series::Objective, "released"),
            (Series::PublicObjective, "public part"),
            (Series::ExactObjective, "exact"),
        ],
    );
    let moments = ChartContent::new(
        "‖M(q)‖, distance of second moments",
        &[(Series::MomentDiscrepancy, "released"), (Series::ExactMomentDiscrepancy, "exact")],
    );
    let losses = ChartContent::new(
        "loss on training records",
        &[
            (Series::PublicLoss, ON_PUBLIC),
            (Series::PrivateLoss, ON_PRIVATE),
            (Series::HoldoutLoss, "on public, held out"),
        ],
    );
    let has = |figure: &ChartContent| {
        figure.series.iter().any(|(series, _)| run.curves.contains_key(series))
    };
    // If the objective cannot be shown, its parts may be.
    let objective = if has(&losses) && !has(&objective) { losses } else { objective };
    // The most telling first; those for which there is no room are left out.
    let mut known: Vec<_> =
        [&errors, &moments, &objective].into_iter().filter(|it| has(it)).collect();
    if known.is_empty() {
        known.push(&objective);
    }
    known.truncate(usize::from(loss.height / LEAST_OF_SEVERAL).max(1));
    let mut rest = loss;
    for (place, figure) in known.iter().enumerate() {
        let left = (known.len() - place) as u16;
        let [own, below] = in_rows(rest, [Length(rest.height / left), Fill(1)]);
        chart(shown, canvas, own, figure);
        rest = below;
    }
    spend_chart(shown, canvas, spend);
    if corrected {
        corrections(shown, canvas, bars);
    }
    let about = methods::method(&run.method).map_or(Gap::NONE, |method| method.spec().gap);
    let none = (about == Gap::NONE).then_some("none: no private step is taken");
    let title = about.title.strip_prefix("stationarity gap: ").unwrap_or(about.title);
    let gaps = ChartContent { none, ..ChartContent::new(title, about.series) };
    chart(shown, canvas, gap, &gaps);
}

/// The parts of a correction, with short names.
const CORRECTIONS: [(Series, &str); 6] = [
    (Series::LevelCorrection, "level"),
    (Series::ScaleCorrection, "scale"),
    (Series::OtherCorrection, "other model"),
    (Series::EffectsCorrection, "tree effects"),
    (Series::ColumnsCorrection, "columns"),
    (Series::CellsCorrection, "regions"),
];

/// The contribution of each part of the correction: in each round, and after the last one as a bar.
fn corrections(Shown { screen, context, run }: Shown, canvas: &mut Canvas, area: Rect) {
    let (theme, glyphs) = (canvas.theme, canvas.glyphs);
    let inner = canvas.boxed(area, "size of each correction: by round, and now");
    let rounds = |(series, name): &(Series, &'static str)| {
        let points =
            until(run.curves.get(series)?.points(&context.watch)?.shown(), screen.viewport.frozen);
        let sizes: Vec<f64> = points.iter().map(|(_, size)| *size).collect();
        Some((*name, *sizes.last()?, sizes))
    };
    let parts: Vec<(&str, f64, Vec<f64>)> = CORRECTIONS.iter().filter_map(rounds).collect();
    let full =
        parts.iter().flat_map(|(.., sizes)| sizes).fold(1e-300, |most: f64, it| most.max(*it));
    let most = parts.iter().map(|(.., sizes)| sizes.len()).max().unwrap_or(0);
    let shown = if glyphs.unicode { most.min(usize::from(inner.width / 3)) } else { 0 };
    // Columns are lines of their own where there is room.
    let as_lines = inner.width >= WIDE_BARS && usize::from(inner.height) > parts.len() + 1;
    let columns = &run.columns[..run.columns.len().min(MOST_COLUMNS)];
    let beside = if as_lines && !columns.is_empty() { 38 } else { 26 };
    let width = inner.width.saturating_sub(beside + shown as u16);
    let full = columns.iter().fold(full, |most, it| most.max(it.size));
    let styles = [theme.series(0), theme.muted, theme.muted];
    let line = |(name, size, sizes): &(&'static str, f64, Vec<f64>)| {
        let bar = Whiskers { mean: *size, deviation: 0.0, full, marks: [None; 2] };
        let sizes = &sizes[sizes.len().saturating_sub(shown)..];
        // The last bar has the full height, so that all parts have one scale.
        let heights = sizes.iter().chain([&full]).map(|size| (1e6 * size / full) as usize);
        let mut by_round = bars(&heights.collect::<Vec<_>>(), 1).concat();
        by_round.pop();
        let by_round = format!("{by_round:<shown$} ");
        let mut parts = vec![Span::styled(format!(" {name:<13}"), theme.text)];
        parts.push(Span::styled(by_round, theme.series(0)));
        parts.extend(bar.spans(width, glyphs, styles));
        parts.push(Span::styled(format!(" {}", compact(*size)), theme.muted));
        Line::from(parts)
    };
    let mut lines: Vec<Line> = parts.iter().map(line).collect();
    let of_noise = |times: f64| format!("{} × noise", compact(round(times)));
    if as_lines {
        // The whisker is as long as noise alone would make the bar.
        let line = |it: &ColumnCorrection| {
            let deviation = it.size / it.times_noise.max(f64::MIN_POSITIVE);
            let bar = Whiskers { mean: it.size, deviation, full, marks: [None; 2] };
            let name = shortened(&it.column, 13, "…");
            let mut parts = vec![Span::styled(format!(" {name:<13}"), theme.text)];
            parts.push(Span::raw(" ".repeat(shown + 1)));
            parts.extend(bar.spans(width, glyphs, styles));
            let words = format!(" {} · {}", compact(it.size), of_noise(it.times_noise));
            parts.push(Span::styled(words, theme.muted));
            Line::from(parts)
        };
        lines.extend(columns.iter().map(line));
    } else if !columns.is_empty() {
        let names = columns
            .iter()
            .map(|it| format!("{} {} ({})", it.column, compact(it.size), of_noise(it.times_noise)));
        let names = names.collect::<Vec<_>>().join(" · ");
        lines.push(Line::styled(format!(" most on {names}"), theme.text));
    }
    let gaps = [Series::StationarityGap, Series::NoiseGap]
        .map(|it| rounds(&(it, "")).map(|(_, last, _)| last));
    if let [Some(left), Some(noise)] = gaps {
        lines.push(Line::styled(format!(" {}", how_sure(left, noise)), theme.muted));
    }
    canvas.lines(lines, inner);
}

/// The least width for a line of each column.
const WIDE_BARS: u16 = 70;
/// The most columns whose corrections are shown: those with the largest ones.
const MOST_COLUMNS: usize = 3;

/// A number with one digit after the point.
fn round(number: f64) -> f64 {
    (10.0 * number).round() / 10.0
}

/// Whether the private records ask for more correction than noise alone would show, from the length
/// of the released slope and the length that noise alone gives it.
fn how_sure(left: f64, noise: f64) -> String {
    let times = left / noise.max(f64::MIN_POSITIVE);
    if times < CLEARLY_MORE {
        format!("what is left is no clearer than noise ({times:.1} times its size)")
    } else {
        format!("more could be corrected: what is left is {times:.1} times the noise")
    }
}

/// A slope is clearly above the noise from so many times its size on.
const CLEARLY_MORE: f64 = 1.5;

/// The content of one chart.
struct ChartContent<'a> {
    title: &'a str,
    /// The series, each with its short name in the legend.
    series: &'a [(Series, &'static str)],
    /// Whether its numbers are shares, shown in percent.
    share: bool,
    /// Whether its current value is shown large.
    large: bool,
    /// Why it never has numbers.
    none: Option<&'static str>,
}

impl<'a> ChartContent<'a> {
    fn new(title: &'a str, series: &'a [(Series, &'static str)]) -> Self {
        Self { title, series, share: false, large: false, none: None }
    }
}

fn chart(shown: Shown, canvas: &mut Canvas, area: Rect, figure: &ChartContent) {
    let (theme, glyphs) = (canvas.theme, canvas.glyphs);
    let ChartContent { title, series, share, large, none } = *figure;
    let Shown { context, run, .. } = shown;
    let viewport = &shown.screen.viewport;
    let log = viewport.log || series.iter().any(|(series, _)| always_log(*series));
    let views = series.iter().enumerate().filter_map(|(slot, (series, name))| {
        let curve = run.curves.get(series)?;
        let points = until(curve.points(&context.watch)?.shown(), viewport.frozen);
        Some(((*name, slot), curve.is_exact(), points))
    });
    let views: Vec<_> = views.collect();
    let sealed = context.watch.is_sealed() && views.len() < series.len();
    let title = if sealed { format!("{title} · sealed") } else { title.to_owned() };
    let nothing = match run.step {
        _ if none.is_some() => none.unwrap_or_default(),
        _ if !run.spends => "this run takes no steps",
        0 if !run.has_ended() => "no steps yet",
        _ if sealed => "exact numbers are sealed: v shows them",
        _ => "no numbers of this kind",
    };
    let chart = Chart::new(&title, theme, glyphs).log(log).percent(share).empty(nothing);
    let chart = chart.window(viewport.window).cursor(viewport.cursor);
    // What may not be told is never the largest number of a screen.
    let value = |points: &TrackView| points.iter().last().map(|(_, value)| *value);
    let mut released = views.iter().filter(|(_, exact, _)| !exact);
    let now = released.find_map(|((name, _), _, it)| Some((*name, value(it)?)));
    let chart =
        views.iter().fold(chart, |it, (name, exact, points)| it.curve(*name, *exact, *points));
    let mut inner = canvas.pane(area, &chart.heading(), CHARTS);
    if let Some((name, value)) = now.filter(|_| large && inner.height >= LEAST_LARGE) {
        let number = if share { percent(value) } else { compact(value) };
        inner = below_large(canvas, inner, &number, &format!("{name} now"), theme.text);
    }
    canvas.plot(inner, chart);
}

/// The least rows of a chart with a large number above it.
const LEAST_LARGE: u16 = 15;

/// Draws a large number at the top of an area; returns the rest of the area.
fn below_large(canvas: &mut Canvas, area: Rect, number: &str, about: &str, style: Style) -> Rect {
    let rows = [Length(large::ROWS + 1), Fill(1)];
    let [top, rest] = in_rows(area, rows);
    canvas.large(top, number, about, style);
    rest
}

fn spend_chart(Shown { screen, run, .. }: Shown, canvas: &mut Canvas, area: Rect) {
    if area.is_empty() {
        return;
    }
    if !run.spends {
        return canvas.empty_box(area, "ε spent", &[SPENDS_NOTHING]);
    }
    let (theme, glyphs) = (canvas.theme, canvas.glyphs);
    let points = until(run.epsilon.view(), screen.viewport.frozen);
    let title = format!("ε spent at δ {:e}", run.target.delta);
    let chart = Chart::new(&title, theme, glyphs)
        .curve(("spent", 2), false, points)
        .reference(run.target.epsilon, "granted")
        .window(screen.viewport.window)
        .cursor(screen.viewport.cursor);
    let chart = chart.legend(area.height < LEAST_LARGE + 2);
    let mut inner = canvas.pane(area, &chart.heading(), CHARTS);
    if inner.height >= LEAST_LARGE {
        let about = format!("of ε {}", compact(run.target.epsilon));
        inner = below_large(canvas, inner, &compact_up(run.spent()), &about, theme.text);
    }
    canvas.plot(inner, chart);
}

fn until(points: TrackView<'_>, last: Option<f64>) -> TrackView<'_> {
    last.map_or(points, |last| points.until(last))
}

fn event_log(Shown { screen, context, run }: Shown, canvas: &mut Canvas, area: Rect) {
    let (theme, glyphs) = (canvas.theme, canvas.glyphs);
    if area.height == 0 {
        return;
    }
    let titled = area.height >= 5;
    let area =
        if titled { canvas.pane(area, &context.filtered_title("Events"), LOG) } else { area };
    let visible = screen.visible_log(context);
    if visible.is_empty() {
        return canvas.empty(area, &["No event passes the filter; Esc clears it."]);
    }
    let last = visible.len() - 1;
    let line = screen.line.and_then(|line| visible.iter().position(|it| *it == line));
    let at = line.unwrap_or(last);
    let row = |place: usize| {
        let logged = &run.log[visible[place]];
        let text = logged.text(&context.watch).replace('\n', " ");
        vec![match logged {
            Logged::Said(_) => Line::styled(format!(" {text}"), theme.muted),
            Logged::Exact(_) => Line::styled(format!(" {} {text}", glyphs.curator), theme.curator),
        }]
    };
    let columns = (Vec::new(), vec![Fill(1)]);
    if titled && canvas.has_focus(LOG) {
        return canvas.list(area, columns, (LOG, visible.len(), Some(at)), row);
    }
    // Without the focus the newest lines are shown, and none is selected.
    let first = visible.len().saturating_sub(usize::from(area.height));
    let (area, _) =
        canvas.table(area, columns, (visible.len() - first, None), |it| row(it + first));
    canvas.hits.lists.push(ListHit { area, first, pane: LOG, selected: None });
}

/// A column of the result: its title, and one cell for each of the three models.
struct OutcomeColumn {
    width: usize,
    style: Style,
    cells: [String; 4],
}

/// The width of the names of the models.
const NAMES: usize = 27;

/// Columns for the further scores of the first model.
fn further_columns(
    mark: &str,
    style: Style,
    scores: [Option<FurtherScores>; 3],
) -> Vec<OutcomeColumn> {
    let of_each = scores.map(|scores| scores.map(|it| it.rows()).unwrap_or_default());
    let column = |place: usize| {
        let cell = |row: usize| of_each[row].get(place).map(|(_, value)| format!("{value}{mark}"));
        let title = match of_each[0][place].0 {
            SQUARED => format!("RMSE{mark}"),
            name => format!("{name}{mark}"),
        };
        let [own, public, private] = [0, 1, 2].map(|row| cell(row).unwrap_or_else(none));
        let cells = [title, own, public, private];
        OutcomeColumn { width: usize::from(longest(&cells)) + 1, style, cells }
    };
    (0..of_each[0].len()).map(column).collect()
}

fn none() -> String {
    "–".to_owned()
}

/// The result: the three models side by side, and the guarantee.
fn outcome(context: &Context, canvas: &mut Canvas, area: Rect, summary: &Summary, short: bool) {
    let theme = canvas.theme;
    let scores = &summary.scores;
    let errors = scores.exact(&context.watch);
    let mut lines = Vec::new();
    if let Some(trouble) = &summary.trouble {
        lines.push(Line::styled(format!(" {}", one_line(trouble)), theme.error));
    }
    let private = |score: Option<f64>| match (score, &errors) {
        (Some(score), Some(errors)) => format!("{} ◆", errors.text(score)),
        _ => none(),
    };
    let public = |score: Option<Measured>| match (scores.task, score.map(|it| it.error)) {
        (_, None) => none(),
        (Some(Task::Classification), Some(share)) => percent(share),
        (_, Some(score)) => compact(score),
    };
    let exact = [
        errors.map(|it| it.model),
        errors.and_then(|it| it.public_alone),
        errors.and_then(|it| it.no_privacy),
    ];
    let open = [scores.model_on_public, scores.source_only_on_public, None];
    let column = |width, style, title: &str, [own, public, private]: [String; 3]| OutcomeColumn {
        width,
        style,
        cells: [title.to_owned(), own, public, private],
    };
    let mut columns = vec![
        column(16, theme.curator, ON_PRIVATE, exact.map(private)),
        column(16, theme.text, ON_PUBLIC, open.map(public)),
    ];
    // Further scores get columns if they fit.
    let fits = |columns: &[OutcomeColumn], more: &[OutcomeColumn]| {
        let taken: usize = columns.iter().chain(more).map(|column| column.width + 1).sum();
        NAMES + taken <= usize::from(area.width)
    };
    if let Some(further) = errors.and_then(|it| it.further) {
        let scores = [Some(further.model), further.public_alone, further.no_privacy];
        let more = further_columns(" ◆", theme.curator, scores);
        if fits(&columns, &more) {
            columns.splice(1..1, more);
        }
    }
    let more = further_columns("", theme.text, open.map(|score| score.map(|it| it.further)));
    if fits(&columns, &more) {
        columns.extend(more);
    }
    let is_share = scores.task == Some(Task::Classification);
    let error = if is_share { "wrong answers" } else { scores.error_words() };
    let own = format!("this model (ε {})", round_up(summary.guarantee.epsilon, 2));
    let names = [error, &own, "public data alone", "linear, no privacy"];
    let row = |(row, name): (usize, &str)| {
        let style = |own| if row == 0 { theme.muted } else { own };
        let cell = |column: &OutcomeColumn| {
            let text = format!("{:<width$} ", column.cells[row], width = column.width);
            Span::styled(text, style(column.style))
        };
        let name = Span::styled(format!(" {name:<25} "), style(theme.text));
        std::iter::once(name).chain(columns.iter().map(cell)).collect::<Line>()
    };
    if !short {
        lines.extend(names.into_iter().enumerate().map(row));
    }
    canvas.lines(lines, area);
}

/// What a run promises, and whether exact numbers were seen meanwhile.
fn promise(summary: &Summary) -> String {
    let peeked = if summary.peeked { "◆ seen" } else { "sealed" };
    let guarantee = &summary.guarantee;
    let promise = match guarantee.epsilon {
        0.0 => "nothing was spent".to_owned(),
        epsilon => format!(
            "guarantee: ε {} at δ {} if {}",
            round_up(epsilon, 4),
            delta_words(guarantee.delta),
            glossary::change(guarantee.adjacency, summary.unit.is_some())
        ),
    };
    format!("{promise} · {peeked}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_is_compared_with_the_noise() {
        assert!(how_sure(0.0172, 0.0167).starts_with("what is left is no clearer than noise (1.0"));
        assert!(how_sure(0.06, 0.02).ends_with("what is left is 3.0 times the noise"));
    }
}
