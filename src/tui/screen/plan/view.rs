//! The picture of the Plan screen: the form on the left, the cost on the right.

use super::expect::expectations;
use super::form::{FormField, PlanField};
use super::{COST, FIELDS, PlanScreen, QUEUE};
use crate::canvas::{
    Canvas, Fill, Length, Line, ListHit, Rect, Span, bold, in_columns, in_rows, longest, scrolled,
    wrapped_lines,
};
use crate::context::Context;
use crate::data::preparation::FeatureScaling;
use crate::engine::lookup::MOST_RUNS;
use crate::engine::worker::Preview;
use crate::error::Action;
use crate::glossary;
use crate::live_run::LiveRun;
use crate::methods::{self, ExplainedEnergy};
use crate::notice::one_line;
use crate::privacy::accountant::round_up;
use crate::privacy::ledger::TotalStanding;
use crate::screen::SPENDS_NOTHING;
use crate::session::PlanDefinition;
use crate::widgets::chart::Chart;
use crate::widgets::gauge::{BudgetGauge, GaugeOf};
use crate::widgets::number::{compact, duration};
use crate::widgets::shortened;
use crate::widgets::smoothing::PlotPoint;
use crate::widgets::text_field::TextFieldView;

/// Rows of the chart of explained energy.
const ENERGY_ROWS: u16 = 10;

/// With this width there is room for a third column.
const WIDE: u16 = 160;

/// The least number of lines for the help, so that the form seldom moves.
const LEAST_HELP: u16 = 3;

/// The shown plan, and how it is shown.
#[derive(Clone, Copy)]
struct Shown<'a> {
    screen: &'a PlanScreen,
    context: &'a Context,
    plan: &'a PlanDefinition,
}

pub fn view(screen: &PlanScreen, context: &Context, canvas: &mut Canvas, area: Rect) {
    let Some(plan) = context.shown_plan() else {
        let words = "No plan yet. A plan needs one private and one public dataset: press 1 to mark \
                     them, then n here.";
        canvas.empty_box(area, "Plan", &[words]);
        return;
    };
    let shown = Shown { screen, context, plan };
    match canvas.alone {
        Some(FIELDS) => return form(shown, canvas, area),
        Some(QUEUE) => return queued(screen, context, canvas, area),
        Some(COST) => return cost_or_expectations(shown, canvas, area),
        _ => {}
    }
    let third = if area.width >= WIDE { (area.width / 3).min(72) } else { 0 };
    let widths = [Length(form_width(screen, plan, area.width)), Fill(1), Length(third)];
    let [left, middle, right] = in_columns(area, widths);
    form(shown, canvas, left);
    let queue_rows = match context.queue.plans.len() as u16 {
        0 => 0,
        count => (count + 2).min((middle.height / 3).max(3)),
    };
    let [cost, queue] = in_rows(middle, [Fill(1), Length(queue_rows)]);
    if third > 0 {
        costs(screen, context, canvas, cost);
        beside_costs(shown, canvas, right);
    } else {
        cost_or_expectations(shown, canvas, cost);
    }
    if queue_rows > 0 {
        queued(screen, context, canvas, queue);
    }
}

/// Long values get more room if there is some.
fn form_width(screen: &PlanScreen, plan: &PlanDefinition, room: u16) -> u16 {
    let least = if room >= 120 { 62 } else { 42 };
    let lines = screen.lines(plan);
    let fields = lines.iter().flatten();
    let names = longest(fields.clone().map(|field| field.name()));
    let values = longest(fields.map(|field| value_of(*field, plan)));
    // Marks, arrows and borders take eight.
    (names + values + 8).clamp(least, least.max(room * 2 / 5))
}

/// The value of a field in the form.
fn value_of(field: PlanField, plan: &PlanDefinition) -> String {
    let value = match field {
        PlanField::Method => methods::name_of(&plan.method).to_owned(),
        field => field.value(plan),
    };
    format!("{value} {}", field.unit(&value)).trim().to_owned()
}

/// On a wide terminal: the expected result, and the plans of the session.
fn beside_costs(Shown { screen, context, plan }: Shown, canvas: &mut Canvas, area: Rect) {
    let plans = &context.session.plans;
    let rows = (plans.len() as u16 + 3).min(area.height / 3);
    let [above, below] = in_rows(area, [Fill(1), Length(rows)]);
    let rehearsal = &context.rehearsal;
    let known = rehearsal.work.is_some() || rehearsal.progress.is_some();
    if known && rehearsal.fits(plan) {
        expectations(context, canvas, above, None);
    } else {
        let words = "Not rehearsed yet: r tries this plan on public data, for free. It shows \
                     which method to take and what error to expect.";
        canvas.empty_box(above, "What to expect", &[words]);
    }
    let inner = canvas.boxed(below, "Plans · [ ] change, m marks, b chooses");
    let row = |index: usize| {
        let plan = &plans[index];
        let mark = if screen.marked.contains(&plan.name) { "*" } else { " " };
        vec![Line::raw(mark), Line::raw(plan.name.clone()), Line::raw(asks_for(plan))]
    };
    let widths = vec![Length(1), Fill(1), Length(14)];
    let header = ["", "plan", "asks for"].map(Line::raw).to_vec();
    canvas.table(inner, (header, widths), (plans.len(), Some(context.plan.index)), row);
}

fn cost_or_expectations(shown: Shown, canvas: &mut Canvas, area: Rect) {
    let Shown { screen, context, plan } = shown;
    if context.rehearsal.shown && context.rehearsal.fits(plan) {
        expectations(context, canvas, area, Some(screen.cost));
    } else {
        costs(screen, context, canvas, area);
    }
}

fn form(Shown { screen, context, plan }: Shown, canvas: &mut Canvas, area: Rect) {
    let (theme, glyphs) = (canvas.theme, canvas.glyphs);
    let candidate = if screen.marked.contains(&plan.name) { " · candidate" } else { "" };
    let (number, count) = (context.plan.index + 1, context.session.plans.len());
    let title = format!("Plan {number} of {count}{candidate}");
    let inner = canvas.pane(area, &title, FIELDS);
    let lines = screen.lines(plan);
    let selected_field = lines.get(screen.field).copied().flatten();
    let problem = screen.editing.as_ref().and_then(|editing| editing.problem.clone());
    let style = if problem.is_some() { theme.error } else { theme.muted };
    let help = problem.unwrap_or_else(|| match selected_field {
        Some(field) if screen.editing.is_some() => {
            format!("Enter takes it, Esc leaves it. {}", field.help())
        }
        Some(PlanField::Method) => about_method(plan),
        Some(field) => field.help(),
        None if screen.unfolded => "Enter folds the settings".to_owned(),
        None => "All other settings have their defaults. Enter shows them".to_owned(),
    });
    // The whole help is shown if it fits into a third of the form.
    let needed = wrapped_lines(&help, inner.width);
    let help_rows = needed.max(LEAST_HELP).min((inner.height / 3).max(LEAST_HELP));
    let [rows, below] = in_rows(inner, [Fill(1), Length(help_rows)]);

    let first = scrolled(screen.field, rows.height, lines.len());
    let selected = Some(screen.field);
    canvas.hits.lists.push(ListHit { area: rows, first, pane: FIELDS, selected });
    let names = longest(lines.iter().flatten().map(|field| field.name()));
    for (line, index) in rows.rows().zip(first..lines.len()) {
        let [name, value] = in_columns(line, [Length(names + 2), Fill(1)]);
        let chosen = index == screen.field;
        let Some(field) = lines[index] else {
            let text = match screen.folded(plan) {
                _ if screen.unfolded => " fewer settings".to_owned(),
                folded => format!(" {folded} further settings"),
            };
            let style = if chosen { theme.selection } else { theme.muted };
            canvas.line(Span::styled(text, style), line);
            continue;
        };
        let changed = if field.is_default(plan) { " " } else { "*" };
        let style = if chosen { bold(theme.text) } else { theme.muted };
        canvas.line(Line::styled(format!("{changed}{}", field.name()), style), name);
        if let Some(editing) = screen.editing.as_ref().filter(|_| chosen) {
            let view = TextFieldView::new(&editing.text, theme, glyphs).focused(true);
            canvas.render(view, value);
            continue;
        }
        let text = value_of(field, plan);
        let style = if chosen { theme.selection } else { theme.text };
        let arrows = chosen && field.choices(&context.session).is_some();
        let room = usize::from(value.width);
        let text = match format!("← {text} →") {
            between if arrows && between.chars().count() <= room => between,
            _ => shortened(&text, value.width, "…"),
        };
        canvas.line(Span::styled(text, style), value);
    }

    canvas.wrapped(help, style, below);
}

/// The description of the chosen method, and its name in sessions and papers.
fn about_method(plan: &PlanDefinition) -> String {
    match methods::method(&plan.method) {
        Ok(method) => {
            let spec = method.spec();
            format!(
                "{} Enter shows what fits your data. In sessions: {}; in papers: {}.",
                spec.summary, spec.id, spec.paper
            )
        }
        Err(error) => one_line(&error),
    }
}

/// Plans that wait for their turn.
fn queued(screen: &PlanScreen, context: &Context, canvas: &mut Canvas, area: Rect) {
    let state =
        if context.queue.working { "running: w halts it" } else { "w starts it, d removes" };
    let title = format!("Queue · {} · {state}", context.queue.plans.len());
    let inner = canvas.pane(area, &title, QUEUE);
    let row = |index: usize| {
        let plan = &context.queue.plans[index];
        vec![Line::raw(plan.name.clone()), Line::raw(asks_for(plan))]
    };
    let widths = vec![Fill(1), Length(14)];
    let selected = canvas.has_focus(QUEUE).then_some(screen.queued);
    let list = (QUEUE, context.queue.plans.len(), selected);
    canvas.list(inner, (Vec::new(), widths), list, row);
}

/// The spending for which a run of the plan asks.
fn asks_for(plan: &PlanDefinition) -> String {
    if plan.spends() {
        format!("ε {} δ {:e}", plan.target.epsilon, plan.target.delta)
    } else {
        "nothing".to_owned()
    }
}

fn costs(screen: &PlanScreen, context: &Context, canvas: &mut Canvas, area: Rect) {
    let theme = canvas.theme;
    let title = if context.plan.waiting { "What it costs · working…" } else { "What it costs" };
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
    let lines = cost_of(context, canvas, preview, area.width.saturating_sub(2));
    let inside = (area.width.saturating_sub(2), area.height.saturating_sub(3));
    let (title, first) = canvas.scrolling(title, &lines, inside, screen.cost);
    let inner = canvas.pane(area, &title, COST);
    let inner = match preview.releases.explained.as_ref() {
        Some(explained) => energy(screen.field(context), canvas, inner, explained),
        None => inner,
    };
    let [gauge, text] = in_rows(inner, [Length(1), Fill(1)]);
    let budget = preview.budget.map_or(f64::INFINITY, |budget| budget.epsilon);
    if preview.plan.spends() {
        let (after, glyphs) = (after(preview), canvas.glyphs);
        canvas.render(BudgetGauge::new(GaugeOf::Plan, (after, budget), theme, glyphs), gauge);
    } else {
        canvas.line(Line::styled(SPENDS_NOTHING, theme.good), gauge);
    }
    canvas.scrolled_text(text, COST, lines, first);
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

/// The chart of the energy that public directions keep, if there is room for it or if their number
/// is being chosen. Returns the rest of the area.
fn energy(
    field: Option<PlanField>,
    canvas: &mut Canvas,
    area: Rect,
    explained: &ExplainedEnergy,
) -> Rect {
    let (theme, glyphs) = (canvas.theme, canvas.glyphs);
    let choosing = matches!(field, Some(PlanField::Setting(field)) if field.key == "components");
    if area.height < ENERGY_ROWS + if choosing { 8 } else { 24 } {
        return area;
    }
    let [rest, area] = in_rows(area, [Fill(1), Length(ENERGY_ROWS)]);
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
    rest
}

fn cost_of<'a>(context: &Context, canvas: &Canvas, preview: &Preview, room: u16) -> Vec<Line<'a>> {
    let theme = canvas.theme;
    let before = preview.spent.as_ref().map_or(0.0, |guarantee| guarantee.epsilon);
    let after = after(preview);
    let guarantee = &preview.calibrated.guarantee();
    let shape = &preview.shape;
    let mut lines = vec![match &preview.refusal {
        Some(refusal) if matches!(refusal.action(), Some(Action::SetBudget { .. })) => {
            Line::styled("no budget yet: l asks for one, then launches", theme.warning)
        }
        None => Line::styled("can be launched: press l", theme.good),
        Some(refusal) => Line::styled(one_line(refusal), theme.error),
    }];
    let plan = &preview.plan;
    let player = plan.player();
    let (advice, epsilon) = (context.advice(plan), plan.target.epsilon);
    let rehearsed = advice.filter(|advice| advice.of_plan(&player, epsilon).is_some());
    lines.push(match rehearsed.map(|advice| advice.warning(&player, epsilon)) {
        None => Line::styled("not rehearsed: r tries it on public data, for free", theme.muted),
        Some(None) => Line::styled("rehearsed on public data: r shows the result", theme.good),
        Some(Some(lost)) => Line::styled(format!("note: {lost}"), theme.warning),
    });
    // Possible problems come before the cost.
    for warning in &preview.warnings {
        lines.push(Line::styled(format!("note: {warning}"), theme.warning));
    }
    let ranked = context.ranking.exact(&context.watch);
    lines.extend(ranked.and_then(|table| table.against(&plan.public)).map(|text| {
        Line::styled(format!("{} note: {text}", canvas.glyphs.curator), theme.curator)
    }));
    let at = preview.budget.map_or(guarantee.delta, |budget| budget.delta);
    let budget_words = preview.budget.map_or("none yet".to_owned(), |budget| {
        let large = if budget.allow_large_delta { " (large δ allowed)" } else { "" };
        format!("ε {} at δ {:e}{large}", budget.epsilon, budget.delta)
    });
    let spent = |epsilon: f64| {
        let epsilon = format!("ε {} at δ {at:e}", round_up(epsilon, 4));
        match preview.standing {
            TotalStanding::AtMost => epsilon,
            TotalStanding::Claimed => format!("{epsilon}, part of it claimed by other trainers"),
            TotalStanding::AtLeast => format!("at least {epsilon}"),
            TotalStanding::Nothing => "no total: noise came from a known seed".to_owned(),
        }
    };
    let draws = !preview.calibrated.events().is_empty();
    let mut facts = if draws {
        vec![
            (
                "this run",
                format!("ε {} at δ {:e}", round_up(guarantee.epsilon, 4), guarantee.delta),
            ),
            ("holds if", glossary::change(guarantee.adjacency, preview.unit.is_some()).to_owned()),
            ("budget", budget_words),
            ("spent before", spent(before)),
            ("spent after", spent(after)),
        ]
    } else {
        vec![
            ("this run", SPENDS_NOTHING.to_owned()),
            ("budget", budget_words),
            ("spent so far", spent(before)),
        ]
    };
    if draws && at != guarantee.delta && preview.budget.is_some() {
        let words = format!(
            "the budget counts every run at its own δ {at:e}, where the same noise amounts to \
             another ε"
        );
        facts.push(("", words));
    }
    if let Some(score) = &preview.score {
        facts.push(("released score", score.clone()));
    }
    if let Some(runs) = preview.fits.filter(|_| draws) {
        let words = match runs {
            0 => "none".to_owned(),
            runs if runs >= MOST_RUNS => format!("{runs} and more, this one included"),
            runs => format!("{runs}, this one included"),
        };
        facts.push(("runs that fit", words));
    }
    let is_public = plan.preparation.features == FeatureScaling::Public;
    let seen = if is_public { "what public data show" } else { "as declared" };
    let words = format!("{seen}; private records beyond them are clipped; Run counts them");
    facts.push(("bounds", words));
    for (event, release) in preview.calibrated.events().iter().zip(&preview.releases.releases) {
        let (query, noise) = (&event.mechanism.query, &event.mechanism.noise);
        facts.extend([
            ("release", release.what.clone()),
            ("  draws", format!("{} × {}", event.count, query.size_words())),
            ("  noise", format!("{} per number", compact(noise.scale))),
            ("  sensitivity", compact(query.sensitivity)),
        ]);
    }
    let ratio = preview.releases.noise_to_signal(&preview.calibrated);
    if let Some(ratio) = ratio.ok().filter(|_| !preview.releases.releases.is_empty()) {
        facts.push(("noise to signal", format!("{} to 1 in each draw", compact(ratio))));
    }
    let early =
        methods::method(&preview.plan.method).is_ok_and(|method| method.spec().may_end_early);
    let most = if early { "at most " } else { "" };
    facts.push(("steps", format!("{most}{}", preview.releases.steps)));
    let (private, public) = (shape.private_records, shape.public_records);
    match &preview.unit {
        None => facts.push(("records", format!("{private} private, {public} public to train on"))),
        Some(unit) => {
            let most = shape.most_records;
            facts.push(("persons", format!("{private} by '{unit}', {most} rows of each at most")));
            facts.push(("records", format!("{public} public to train on")));
        }
    }
    facts.push(("features", shape.dimension.to_string()));
    facts.push(("time", time_estimate(context, preview)));
    lines.extend(canvas.pairs(&facts, room));
    lines
}

/// From a moment of this plan on public records, or from the last run of the same method.
fn time_estimate(context: &Context, preview: &Preview) -> String {
    let timed = context.plan.timed.as_ref().filter(|(plan, _)| *plan == preview.plan);
    let Some((_, timed)) = timed else { return "being timed on public records".to_owned() };
    if let Some(time) = timed {
        return format!("{}, timed on public records", time.words(context.watch.is_sealed()));
    }
    let mut runs = context.runs.iter().rev();
    let same = runs.find(|run| run.is_ours() && run.method == preview.plan.method);
    match same.and_then(LiveRun::seconds_each) {
        Some(each) => format!("about {} of work", duration(each * preview.releases.steps as f64)),
        None => "known after a first run of this method".to_owned(),
    }
}
