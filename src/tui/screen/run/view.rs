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
use crate::evaluation::measured::{ABSOLUTE, WRONG};
use crate::evaluation::{Loss, Measured, Score, Scored};
use crate::glossary;
use crate::live_run::{Ended, LiveRun, Logged, always_log};
use crate::methods::{self, Gap, Series, source_words};
use crate::notice::one_line;
use crate::privacy::accountant::{delta_words, round_up};
use crate::privacy::{Target, Watch};
use crate::rehearsal::advice::capital;
use crate::screen::{SPENDS_NOTHING, listed, toned};
use crate::tab::CHARTS;
use crate::verdict::{Tone, Verdict};
use crate::widgets::chart::Chart;
use crate::widgets::gauge::{BudgetGauge, GaugeOf};
use crate::widgets::large;
use crate::widgets::number::{compact, compact_up, duration, percent};
use crate::widgets::ranges::{self, Ranged};
use crate::widgets::track::TrackView;
use crate::widgets::without_middle;

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
            return canvas.empty_box(area, "Run", &["No run since this program was opened."]);
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
    // A result is more important than the events before it.
    let log_rows = match (area.height, on_log) {
        (40.., _) => 8,
        (_, true) => 7,
        _ if run.has_ended() && run.is_ours() => 0,
        (30.., _) => 5,
        _ => 3,
    };
    let [above, log] = canvas.two_rows("run.log", area, area.height.saturating_sub(log_rows));
    let width = area.width.saturating_sub(2);
    let head = head_lines(context, canvas, run, width);
    let head_rows = head.iter().map(|line| wrapped_lines(&line.to_string(), width)).sum::<u16>();
    let list_rows = if several { (context.runs.len() as u16).min(4) + 1 } else { 0 };
    // `i` has what is left out to keep room for the charts.
    let room = above.height.saturating_sub(list_rows + 2 + LEAST_CHARTS);
    let head_rows = head_rows.min(room).max(head_rows.min(3));
    let [list, status, said, charts] =
        in_rows(above, [Length(list_rows), Length(2), Length(head_rows), Fill(1)]);
    if several {
        run_list(screen, context, canvas, list);
    }
    status_lines(shown, canvas, status);
    canvas.paragraph(head, true, said.inner(Margin::new(1, 0)));
    curves(shown, canvas, charts);
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
/// The rows that the charts keep when there is a lot of text.
const LEAST_CHARTS: u16 = 7;
/// The letters that are left of the name of a plan.
const LEAST_PLAN: u16 = 12;
/// The rows that one of several charts above each other needs.
const LEAST_OF_SEVERAL: u16 = 7;
/// The sentences about a run's result; those that judge it have a tone. A released score answers
/// whether the model is good, so exact numbers are left out beside it.
fn result_of(run: &LiveRun, watch: &Watch) -> Vec<(Option<Tone>, String)> {
    let Some(Ended::Summary(summary)) = &run.ended else { return Vec::new() };
    let alarm = summary.score.as_ref().and_then(Scored::alarm);
    let mut parts: Vec<_> = alarm.map(|alarm| (Some(Tone::Bad), alarm)).into_iter().collect();
    let weights = source_words(&summary.source_weights);
    parts.extend(weights.map(|words| (None, format!("Released, may be shared: {words}."))));
    let exact = summary.scores.exact(watch).filter(|_| summary.score.is_none());
    parts.extend(exact.map(|errors| errors.verdict()).and_then(|Verdict { tone, sentences }| {
        sentences.into_iter().next().map(|first| (Some(tone), first))
    }));
    parts
}

/// Everything about a run's result, each part with its title, for the window that explains words.
pub fn result_in_words(run: &LiveRun, watch: &Watch) -> Option<String> {
    let mut parts: Vec<(&str, String)> = Vec::new();
    if let Some(Ended::Summary(summary)) = &run.ended {
        if let Some(told) = &summary.score {
            parts.extend(told.alarm().map(|alarm| ("Warning", alarm)));
            let score = format!("{}. In brackets: 95 % ranges.", capital(&told.sentence()));
            parts.push(("Released score, may be shared", score));
        }
        let weights = source_words(&summary.source_weights);
        parts.extend(weights.map(|it| ("Released weights, may be shared", capital(&it) + ".")));
        let scores = &summary.scores;
        if let Some(errors) = scores.exact(watch) {
            parts.push(("Exact errors ◆, for your eyes only", errors.verdict().text()));
            let further = errors.further_sentences();
            parts.extend(
                (!further.is_empty()).then(|| ("Further exact scores ◆", further.join(" "))),
            );
        }
        let is_share = scores.task == Some(Task::Classification);
        let public = |name: &str, measured: Option<Measured>| {
            let Measured { error, further, .. } = measured?;
            let error = if is_share { percent(error) } else { compact(error) };
            let kind = scores.error_words();
            let further = further.words();
            let further = if further.is_empty() { further } else { format!(", {further}") };
            Some(format!("{name}: {kind} {error}{further}."))
        };
        let public = [
            public("This model", scores.model_on_public),
            public("Public data alone", scores.source_only_on_public),
        ];
        let public: Vec<String> = public.into_iter().flatten().collect();
        parts
            .extend((!public.is_empty()).then(|| ("On held-out public records", public.join(" "))));
    }
    parts.extend(run.caution(watch).map(|it| ("Notes on the private records ◆", format!("{it}."))));
    (!parts.is_empty()).then(|| listed(parts))
}

/// The numbers of training with their unit, and which way is better, for the window that explains
/// words. No decision needs them.
pub(super) fn training_in_words(run: &LiveRun, watch: &Watch) -> Option<String> {
    let last = |series: Series| {
        let curve = run.curves.get(&series)?;
        let (_, value) = *curve.points(watch)?.raw().view().iter().last()?;
        Some((value, if curve.is_exact() { " ◆" } else { "" }))
    };
    let about = methods::method(&run.method).map_or(Gap::NONE, |method| method.spec().gap);
    let figures = [OBJECTIVE, MOMENTS, LOSSES, (about.title, about.series)];
    let mut parts: Vec<(String, String)> = Vec::new();
    for (title, series) in figures {
        let unit = if title == Gap::SAMPLE.title { NEED_NOT_FALL } else { NO_UNIT };
        let told = series.iter().filter_map(|(series, name)| {
            let (value, mark) = last(*series)?;
            Some(format!("{name} {}{mark}", compact(value)))
        });
        let told = told.collect::<Vec<_>>().join(", ");
        if !told.is_empty() {
            parts.push((format!("{}, {unit}", capital(title)), format!("{}.", capital(&told))));
        }
    }
    let gaps = [Series::StationarityGap, Series::NoiseGap].map(|it| last(it).map(|(last, _)| last));
    if let ([Some(left), Some(noise)], Some((_, text))) = (gaps, parts.last_mut()) {
        *text = format!("{text} {}", how_sure(left, noise));
    }
    let sizes = CORRECTIONS.iter().filter_map(|(it, name)| Some((*name, last(*it)?.0)));
    let sizes: Vec<(&str, f64)> = sizes.collect();
    let full = sizes.iter().fold(1e-300, |most: f64, (_, size)| most.max(*size));
    if !sizes.is_empty() {
        let sizes = sizes.iter().map(|(name, size)| format!("{name} {:.0} %", 100.0 * size / full));
        let sizes = sizes.collect::<Vec<_>>().join(", ");
        let text =
            format!("Of the largest part: {sizes}. Each moves the answer for a typical record.");
        parts.push(("Corrections of the public model, released".to_owned(), text));
    }
    let columns = run.columns.iter().take(MOST_COLUMNS);
    let columns = columns.map(|it| format!("{} {:.1}", it.column, it.times_noise));
    let columns = columns.collect::<Vec<_>>().join(", ");
    if !columns.is_empty() {
        let text = format!(
            "The slope that was released, in sizes of its noise: {columns}. 1 is noise alone."
        );
        parts.push(("Columns with the largest corrections".to_owned(), text));
    }
    (!parts.is_empty()).then(|| listed(parts))
}

/// The unit of numbers of training, and which way is better.
const NO_UNIT: &str = "in scaled units, less is better";
const NEED_NOT_FALL: &str = "in scaled units; it need not fall";

/// The released score and that of public data alone, with their ranges on one axis.
fn score_lines(told: &Scored, canvas: &Canvas, room: u16) -> Vec<Line<'static>> {
    let (theme, glyphs) = (canvas.theme, canvas.glyphs);
    let verdict = told.verdict().filter(|_| told.alarm().is_none());
    let verdict =
        verdict.map(|it| it.trim_end_matches(" than public data alone").to_owned() + "; ");
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
    let verdict = Span::styled(verdict.unwrap_or_default(), bold(toned(theme, Tone::Unsure)));
    lines.push(Line::from(vec![
        verdict,
        Span::styled("ranges are 95 %, from this score alone", theme.muted),
    ]));
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
fn head_lines(context: &Context, canvas: &Canvas, run: &LiveRun, room: u16) -> Vec<Line<'static>> {
    let (theme, sign) = (canvas.theme, canvas.glyphs.curator);
    let line = |(tone, text): (Option<Tone>, String)| {
        let style = tone.map_or(theme.text, |tone| bold(toned(theme, tone)));
        Line::styled(text.replace('◆', sign), style)
    };
    let mut lines: Vec<Line> = result_of(run, &context.watch).into_iter().map(line).collect();
    if let Some(Ended::Summary(summary)) = &run.ended {
        let drawn = summary.score.as_ref().map(|told| score_lines(told, canvas, room));
        let place = usize::from(summary.score.as_ref().is_some_and(|it| it.alarm().is_some()));
        lines.splice(place..place, drawn.into_iter().flatten());
        let trouble = summary.trouble.as_ref();
        lines.extend(trouble.map(|it| Line::styled(one_line(it), theme.error)));
    }
    if let Some(Ended::Refused(error)) = &run.ended {
        let text = format!("Nothing was spent: {}", one_line(error));
        lines.push(Line::styled(text, theme.error));
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
        lines.push(Line::styled(choice::guarantee(chosen), theme.good));
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
            Line::raw(steps_of(run)),
            Line::raw(match &run.trained {
                Some(trained) if trained.ours.is_none() => "ε not known".to_owned(),
                None if !run.spends => "nothing".to_owned(),
                _ => format!("ε {}", round_up(run.spent(), 3)),
            }),
        ]
    };
    let names = longest(context.runs.iter().map(|run| &run.plan)) + 2;
    // Numbers are not cut.
    let steps = longest(context.runs.iter().map(steps_of)).max(8);
    let widths = [Max(names.max(12)), Max(30), Length(9), Length(steps), Length(9)];
    let list = (RUNS, context.runs.len(), Some(screen.selected));
    let header = [" plan", "method", "state", "progress", "spent"].map(Line::raw).to_vec();
    canvas.list(area, (header, widths.to_vec()), list, row);
}

/// How far a run is: `12 of 60`.
fn steps_of(run: &LiveRun) -> String {
    format!("{} of {}", run.step, run.total)
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
    let mut parts = vec![Span::styled(state.to_owned(), style)];
    // How often something is trained may be secret, and steps would reveal it.
    let in_secret = run.choice.as_ref().is_some_and(|choice| choice.offer.trains_in_secret);
    if in_secret && !run.has_ended() && !context.watch.is_sealed() {
        let text = format!(" {} step {}", glyphs.curator, steps_of(run));
        parts.push(Span::styled(text, theme.curator));
    } else if run.choice.is_none() || !(in_secret || run.has_ended()) {
        let phase = if run.has_ended() { String::new() } else { format!(" · {}", run.phase) };
        let is_over = run.has_ended() && run.step == run.total;
        let steps = if is_over { String::new() } else { format!(" · step {}", steps_of(run)) };
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
    // Words are cut before numbers: the label first, then the name of the plan.
    let what = run.label.as_ref().map_or_else(String::new, |label| format!("predicts {label} · "));
    let room = first.width.saturating_sub(Line::from(parts.clone()).width() as u16 + 2);
    let name = if longest([format!("{}{what}", run.plan)]) < room {
        format!(" {} {what}", run.plan)
    } else {
        let room = room.saturating_sub(2).max(LEAST_PLAN);
        format!(" {} · ", without_middle(&run.plan, room, glyphs.cut))
    };
    parts.insert(0, Span::styled(name, theme.text));
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
        _ => charts_of_run(shown, canvas, area),
    }
}

/// The records on which a model was measured.
const ON_PUBLIC: &str = "on public";
const ON_PRIVATE: &str = "on private";

/// The error and the spending; where the charts have the whole screen, also those of training.
fn charts_of_run(shown: Shown, canvas: &mut Canvas, area: Rect) {
    let run = shown.run;
    let with_training = canvas.alone.is_some();
    let narrow = (area.width / 6).clamp(26, 36);
    let usual = if with_training { 2 } else { 1 };
    let usual = (area.width.saturating_sub(narrow) / usual).max(1);
    let [loss, rest] = canvas.two_columns("run.errors", area, usual);
    let [gap, spend] = match with_training {
        false => [Rect::default(), rest],
        true if area.width >= 120 => in_columns(rest, [Fill(1), Length(narrow)]),
        true => in_rows(rest, [Fill(1); 2]),
    };
    // The objective and the errors have different units: a chart for both would
    // flatten one of them.
    let share = methods::task_of(&run.method) == Some(Task::Classification);
    let absolute = !share
        && run.loss == Loss::Absolute
        && (run.curves.contains_key(&Series::PublicAbsoluteError)
            || !run.curves.contains_key(&Series::PublicError));
    let kind = match (share, absolute) {
        (true, _) => WRONG,
        (_, true) => ABSOLUTE,
        _ => "RMSE",
    };
    // An error of numbers is in units of the label.
    let of =
        run.label.as_ref().filter(|_| !share).map_or_else(String::new, |it| format!(" of {it}"));
    let title = format!("{kind}{of} ↓, held out");
    let errors = ChartContent {
        title: &title,
        series: if absolute {
            &[(Series::PublicAbsoluteError, ON_PUBLIC), (Series::PrivateAbsoluteError, ON_PRIVATE)]
        } else {
            &[(Series::PublicError, ON_PUBLIC), (Series::PrivateError, ON_PRIVATE)]
        },
        share,
        // A released score is the answer, and no other number is larger.
        large: !matches!(&run.ended, Some(Ended::Summary(it)) if it.score.is_some()),
        none: None,
    };
    let scaled = |title: &str| format!("{title}, scaled units ↓");
    let training = [OBJECTIVE, MOMENTS, LOSSES].map(|(title, series)| (scaled(title), series));
    let [objective, moments, losses] =
        training.each_ref().map(|(title, series)| ChartContent::new((title, *series)));
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
    let most = if with_training { usize::from(loss.height / LEAST_OF_SEVERAL) } else { 1 };
    known.truncate(most.max(1));
    let mut rest = loss;
    for (place, figure) in known.iter().enumerate() {
        let left = (known.len() - place) as u16;
        let [own, below] = in_rows(rest, [Length(rest.height / left), Fill(1)]);
        chart(shown, canvas, own, figure);
        rest = below;
    }
    spend_chart(shown, canvas, spend);
    if !with_training {
        return;
    }
    let about = methods::method(&run.method).map_or(Gap::NONE, |method| method.spec().gap);
    let none = (about == Gap::NONE).then_some("none: no private step is taken");
    let title = about.title.strip_prefix("stationarity gap: ").unwrap_or(about.title);
    let falls = about != Gap::NONE && about != Gap::SAMPLE;
    let title = if falls { scaled(title) } else { title.to_owned() };
    let gaps = ChartContent { none, ..ChartContent::new((&title, about.series)) };
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

/// The most columns whose corrections are told: those with the largest ones.
const MOST_COLUMNS: usize = 3;

/// A title, and its series, each with its short name in the legend.
type TrainingFigure = (&'static str, &'static [(Series, &'static str)]);

const OBJECTIVE: TrainingFigure = (
    "objective",
    &[
        (Series::Objective, "released"),
        (Series::PublicObjective, "public part"),
        (Series::ExactObjective, "exact"),
    ],
);
const MOMENTS: TrainingFigure = (
    "‖M(q)‖, distance of second moments",
    &[(Series::MomentDiscrepancy, "released"), (Series::ExactMomentDiscrepancy, "exact")],
);
const LOSSES: TrainingFigure = (
    "loss on training records",
    &[
        (Series::PublicLoss, ON_PUBLIC),
        (Series::PrivateLoss, ON_PRIVATE),
        (Series::HoldoutLoss, "on public, held out"),
    ],
);

/// Whether the private records ask for more correction than noise alone would show, from the length
/// of the released slope and the length that noise alone gives it.
fn how_sure(left: f64, noise: f64) -> String {
    let times = left / noise.max(f64::MIN_POSITIVE);
    if times < CLEARLY_MORE {
        format!("What is left is no clearer than noise ({times:.1} times its size).")
    } else {
        format!("More could be learned: what is left is {times:.1} times the noise.")
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
    /// A chart of training.
    fn new((title, series): (&'a str, &'a [(Series, &'static str)])) -> Self {
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
        let smoothed = if viewport.smoothing > 0.0 { ", smoothed" } else { "" };
        let about = format!("{name} now{smoothed}");
        inner = below_large(canvas, inner, &number, &about, theme.text);
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
        assert!(how_sure(0.0172, 0.0167).starts_with("What is left is no clearer than noise (1.0"));
        assert!(how_sure(0.06, 0.02).ends_with("what is left is 3.0 times the noise."));
    }
}
