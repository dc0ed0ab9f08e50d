//! What a plan gives and costs: five lines, and a picture. How its noise is made is told by `i`.

use super::expect::{ranked_against, rehearsed_errors, result};
use super::form::PlanField;
use super::{COST, PlanScreen};
use crate::canvas::{Canvas, Fill, Length, Line, Rect, in_rows, wrapped_lines};
use crate::context::Context;
use crate::data::preparation::FeatureScaling;
use crate::engine::lookup::MOST_RUNS;
use crate::engine::worker::Preview;
use crate::error::Action;
use crate::glossary::{self, Explained};
use crate::live_run::LiveRun;
use crate::methods::{self, ExplainedEnergy};
use crate::notice::one_line;
use crate::privacy::accountant::round_up;
use crate::privacy::ledger::TotalStanding;
use crate::rehearsal::advice::{Advice, odds};
use crate::screen::SPENDS_NOTHING;
use crate::widgets::chart::Chart;
use crate::widgets::gauge::{BudgetGauge, GaugeOf};
use crate::widgets::number::{compact, duration};
use crate::widgets::smoothing::PlotPoint;

/// Rows of the chart below the lines.
const MOST_CHART: u16 = 40;
const LEAST_CHART: u16 = 7;

/// With `beside`, the rehearsal is drawn beside it.
pub fn costs(
    screen: &PlanScreen,
    context: &Context,
    canvas: &mut Canvas,
    area: Rect,
    beside: bool,
) {
    let theme = canvas.theme;
    let title = if context.plan.waiting { "Cost · working…" } else { "Cost" };
    let preview = match &context.plan.preview {
        Some(Ok(preview)) => preview,
        other => {
            let line = match other {
                Some(Err(error)) => Line::styled(one_line(error), theme.error),
                _ => Line::styled(being_prepared(context), theme.muted),
            };
            return canvas.text_pane(area, title, COST, vec![line], screen.cost);
        }
    };
    let width = area.width.saturating_sub(2);
    let lines = cost_of(context, canvas, preview, (width, beside));
    let inside = (width, area.height.saturating_sub(3));
    let (title, first) = canvas.scrolling(title, &lines, inside, screen.cost);
    let inner = canvas.pane(area, &title, COST);
    let rows = lines.iter().map(|line| wrapped_lines(&line.to_string(), width).max(1)).sum::<u16>();
    let room = inner.height.saturating_sub(rows + 2);
    let chart = if room < LEAST_CHART { 0 } else { room.min(MOST_CHART) };
    let text = if chart > 0 { Length(rows + 1) } else { Fill(1) };
    let [gauge, text, picture] = in_rows(inner, [Length(1), text, Length(chart)]);
    let budget = preview.budget.map_or(f64::INFINITY, |budget| budget.epsilon);
    if preview.plan.spends() {
        let (after, glyphs) = (after(preview), canvas.glyphs);
        canvas.render(BudgetGauge::new(GaugeOf::Plan, (after, budget), theme, glyphs), gauge);
    } else {
        canvas.line(Line::styled(SPENDS_NOTHING, theme.good), gauge);
    }
    canvas.scrolled_text(text, COST, lines, first);
    if chart > 0 {
        let rehearsed = context.advice(&preview.plan).filter(|_| !beside);
        draw(screen.field(context), rehearsed, preview, canvas, picture);
    }
}

/// The picture that fits what the user is doing: the directions while their number is chosen, else the
/// rehearsed error, else the noise.
fn draw(
    field: Option<PlanField>,
    rehearsed: Option<&Advice>,
    preview: &Preview,
    canvas: &mut Canvas,
    area: Rect,
) {
    let choosing = matches!(field, Some(PlanField::Setting(field)) if field.key == "components");
    match (&preview.releases.explained, rehearsed) {
        (Some(explained), _) if choosing => energy(canvas, area, explained),
        (_, Some(advice)) => {
            let epsilon = Some(preview.plan.target.epsilon);
            rehearsed_errors(advice, (epsilon, true), canvas, area);
        }
        _ => noise(preview, canvas, area),
    }
}

/// The noise of a draw at other ε, beside its signal.
fn noise(preview: &Preview, canvas: &mut Canvas, area: Rect) {
    let points: &[PlotPoint] = &preview.noise_by_epsilon;
    if points.is_empty() {
        return;
    }
    let chart = Chart::new("noise ↓ (signal = 1)", canvas.theme, canvas.glyphs)
        .x_axis("ε", false)
        .cursor(Some(preview.plan.target.epsilon))
        .reference(1.0, "")
        .curve(("noise", 0), false, points);
    canvas.chart(area, &chart);
}

fn being_prepared(context: &Context) -> String {
    let plan = context.shown_plan().into_iter();
    match context.being_read(plan.flat_map(|plan| plan.public.iter().chain([&plan.private]))) {
        Some(words) => format!("{words}…"),
        None => "Preparing the data and working out the noise…".to_owned(),
    }
}

/// ε of everything charged so far and of this plan.
fn after(preview: &Preview) -> f64 {
    match (&preview.after, preview.standing) {
        (_, TotalStanding::Nothing) => f64::NAN,
        (None, _) => f64::INFINITY,
        (Some(guarantee), _) => guarantee.epsilon,
    }
}

/// The chart of the energy that public directions keep.
fn energy(canvas: &mut Canvas, area: Rect, explained: &ExplainedEnergy) {
    let (theme, glyphs) = (canvas.theme, canvas.glyphs);
    let shares = explained.shares.iter().enumerate();
    let points: Vec<PlotPoint> = shares.map(|(k, share)| ((k + 1) as f64, 100.0 * share)).collect();
    // There is nothing to see beyond 98 % and twice the choice.
    let last = explained.needed(0.98).max(2 * explained.chosen).min(points.len()).max(2);
    let separators: Option<Vec<PlotPoint>> = explained.separation.as_ref().map(|separation| {
        let outside = separation.outside.iter().enumerate();
        outside.map(|(k, outside)| ((k + 1) as f64, 100.0 * (1.0 - outside))).collect()
    });
    let (title, name) = match separators {
        Some(_) => ("what k public directions keep, %", "energy"),
        None => ("public energy that k directions keep, %", "kept"),
    };
    let mut chart = Chart::new(title, theme, glyphs)
        .x_axis("k", true)
        .window(Some((1.0, last as f64)))
        .cursor(Some(explained.chosen as f64))
        .curve((name, 0), false, &points);
    if let Some(points) = &separators {
        chart = chart.curve(("classes, 1 − ξ", 1), false, points);
    }
    canvas.chart(area, &chart);
}

/// The lines that a person decides with: the state of the ledger first, then result, score and cost.
fn cost_of<'a>(
    context: &Context,
    canvas: &Canvas,
    preview: &Preview,
    (room, beside): (u16, bool),
) -> Vec<Line<'a>> {
    let theme = canvas.theme;
    let guarantee = &preview.calibrated.guarantee();
    let mut lines = vec![match &preview.refusal {
        Some(refusal) if matches!(refusal.action(), Some(Action::SetBudget { .. })) => {
            Line::styled("no budget yet: l asks for one, then launches", theme.warning)
        }
        None => Line::styled("can be launched", theme.good),
        Some(refusal) => Line::styled(one_line(refusal), theme.error),
    }];
    let plan = &preview.plan;
    let (player, epsilon) = (plan.player(), plan.target.epsilon);
    let advice = context.rehearsed(plan);
    let found = advice.and_then(|it| Some((it, it.of_plan(&player, epsilon)?.0)));
    let mut facts = Vec::new();
    match found {
        None => facts.push(("result", "not rehearsed".to_owned())),
        Some(_) if !plan.spends() => facts.push(("result", "that of public data alone".to_owned())),
        Some((advice, standing)) => lines.extend(result(advice, (standing, None), canvas, room)),
    }
    match &preview.score {
        // What makes it better is told by `i`.
        Some(score) => {
            let brief = score.brief.split(". ").next().unwrap_or_default();
            let brief = brief.trim_start_matches("the released ").trim_start_matches("a score ");
            facts.push(("score ", brief.to_owned()));
        }
        None if plan.spends() => facts.push(("score ", "none: quality unknown".to_owned())),
        None => {}
    }
    if preview.calibrated.events().is_empty() {
        facts.push(("cost  ", SPENDS_NOTHING.to_owned()));
    } else {
        let change = glossary::change(guarantee.adjacency, preview.unit.is_some());
        let told = round_up(guarantee.epsilon, 4);
        let odds = odds(guarantee.epsilon);
        let delta = guarantee.delta;
        facts.push((
            "cost  ",
            format!("ε {told} (attacker's odds ≤ × {odds}), δ {delta:e} if {change}"),
        ));
        if preview.budget.is_some() {
            facts.push(("left  ", left(preview)));
        }
    }
    facts.push(("time  ", time_estimate(context, preview)));
    lines.extend(canvas.pairs(&facts, room));
    let lost = advice.and_then(|it| it.warning(&player, epsilon));
    let lost = lost.map(|_| "public data alone did better, for free".to_owned());
    // Beside them stand those of the advised method, and what the ranking says.
    let is_told = |standing| {
        let advised = context.advice(plan).and_then(Advice::advised);
        beside && advised.is_some_and(|(_, advised)| advised == standing)
    };
    let limits = found.filter(|(_, standing)| plan.spends() && !is_told(*standing));
    let limits = limits.map(|(it, standing)| it.limits(standing));
    let limits = limits.unwrap_or_default();
    let warnings = preview.warnings.iter().map(|it| in_short(it));
    let warnings = lost.into_iter().chain(limits).chain(warnings);
    lines.extend(warnings.map(|it| Line::styled(format!("note: {it}"), theme.warning)));
    lines.extend(ranked_against(context, canvas).filter(|_| !beside || found.is_none()));
    lines
}

/// The first part of a warning; `i` has the rest.
fn in_short(warning: &str) -> String {
    match warning.split_once("; ") {
        Some((first, _)) => format!("{first} (i)"),
        None => warning.to_owned(),
    }
}

/// What the budget has left after this run.
fn left(preview: &Preview) -> String {
    match preview.standing {
        TotalStanding::Nothing => return "no total: noise came from a known seed".to_owned(),
        TotalStanding::AtLeast => {
            return "unknown: more was spent than the ledger knows".to_owned();
        }
        TotalStanding::AtMost | TotalStanding::Claimed => {}
    }
    let more = match preview.fits {
        None | Some(0) => "it does not fit".to_owned(),
        Some(1) => "this run, and no other like it".to_owned(),
        Some(MOST_RUNS..) => format!("{MOST_RUNS} runs like this and more"),
        Some(runs) => format!("{runs} runs like this"),
    };
    let claimed = match preview.standing {
        TotalStanding::Claimed => "; a part was claimed by other trainers",
        _ => "",
    };
    format!("{more}{claimed}")
}

/// How the noise is made, and the sizes behind it.
pub fn how_noise_is_made(preview: &Preview) -> Vec<Explained> {
    let plan = &preview.plan;
    let word = |name: &str, also: &str, text: String| Explained {
        name: name.to_owned(),
        also: also.to_owned(),
        text,
    };
    let mut words = Vec::new();
    if !preview.warnings.is_empty() {
        let text = preview.warnings.join(".\n\n") + ".";
        words.push(word("notes on this plan", "warning", text.replace("..", ".")));
    }
    let is_first = words.len();
    let releases = preview.calibrated.events().iter().zip(&preview.releases.releases);
    for (event, release) in releases {
        let (query, noise) = (&event.mechanism.query, &event.mechanism.noise);
        let text = format!(
            "{}. Draws: {} × {}. Noise: {} per number. Sensitivity: {}.",
            release.what,
            event.count,
            query.size_words(),
            compact(noise.scale),
            compact(query.sensitivity)
        );
        let is_first = words.len() == is_first;
        let name = if is_first { "how the noise is made" } else { release.label };
        words.push(word(name, "release noise draws sensitivity", text));
    }
    if let Some(score) = &preview.score {
        words.push(word("the score of this plan", "precision cap", format!("{score}.")));
    }
    let is_public = plan.preparation.features == FeatureScaling::Public;
    let seen = if is_public { "what public data show" } else { "as declared" };
    let shape = &preview.shape;
    let records = match &preview.unit {
        None => format!("{} private records", shape.private_records),
        Some(unit) => format!(
            "{} persons by '{unit}', {} rows of each at most",
            shape.private_records, shape.most_records
        ),
    };
    let early = methods::method(&plan.method).is_ok_and(|method| method.spec().may_end_early);
    let most = if early { "at most " } else { "" };
    let delta = match preview.budget {
        Some(budget) if budget.delta != plan.target.delta => {
            format!(" The budget counts runs at its own δ {:e}.", budget.delta)
        }
        _ => String::new(),
    };
    let text = format!(
        "Bounds: {seen}; private records beyond them are clipped, and Run counts them. To train on: \
         {records}, {} public records, {} features. Steps: {most}{}.{delta}",
        shape.public_records, shape.dimension, preview.releases.steps
    );
    words.push(word("bounds and sizes of this plan", "records features steps clipping", text));
    words
}

/// From a moment of this plan on public records, or from the last run of the same method.
fn time_estimate(context: &Context, preview: &Preview) -> String {
    let timed = context.plan.timed.as_ref().filter(|(plan, _)| *plan == preview.plan);
    let Some((_, timed)) = timed else { return "measuring…".to_owned() };
    if let Some(time) = timed {
        return time.words(context.watch.is_sealed());
    }
    let mut runs = context.runs.iter().rev();
    let same = runs.find(|run| run.is_ours() && run.method == preview.plan.method);
    match same.and_then(LiveRun::seconds_each) {
        Some(each) => format!("about {} of work", duration(each * preview.releases.steps as f64)),
        None => "known after a first run of this method".to_owned(),
    }
}
