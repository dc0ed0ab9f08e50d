//! How the Plan screen looks: the form on the left, what it will cost on the right.

use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Cell, Paragraph, Row, Wrap};

use super::expect::expectations;
use super::form::{PlanField, Way, fields};
use super::state::{FIELDS, PlanScreen, QUEUE};
use crate::adapt::{self, Explained};
use crate::engine::desk::Preview;
use crate::engine::lookup::MOST_RUNS;
use crate::privacy::accountant::round_up;
use crate::privacy::ledger::Standing;
use crate::rehearsal::Player;
use crate::tui::canvas::{Canvas, ListHit, bold, scrolled, wrapped_lines};
use crate::tui::context::Context;
use crate::tui::notice::one_line;
use crate::tui::widgets::chart::{Chart, SeriesView};
use crate::tui::widgets::gauge::BudgetGauge;
use crate::tui::widgets::number::{compact, duration};
use crate::tui::widgets::smoothing::Point;
use crate::tui::widgets::text_field::TextFieldView;
use crate::tui::widgets::track::TrackView;

/// Rows of the chart of explained energy.
const ENERGY_ROWS: u16 = 10;

/// The help has at least so many lines, so that the form seldom moves.
const LEAST_HELP: u16 = 3;

pub fn view(screen: &PlanScreen, context: &Context, canvas: &mut Canvas, area: Rect) {
    let (theme, glyphs) = (canvas.theme, canvas.glyphs);
    let Some(plan) = context.shown_plan() else {
        let words = "No plan yet. A plan needs one private and one public dataset: press 1 to mark \
                     them, then n here.";
        canvas.empty_box(area, "Plan", &[words]);
        return;
    };
    let form_width = if area.width >= 120 { 62 } else { 42 };
    let [form, cost] =
        area.layout(&Layout::horizontal([Constraint::Length(form_width), Constraint::Fill(1)]));
    let title = format!("Plan {} of {}", context.plan.index + 1, context.session.plans.len());
    let inner = canvas.pane(form, &title, FIELDS);
    let fields = fields(plan);
    let help_line = match (&screen.editing, fields.get(screen.field)) {
        (Some(editing), _) if editing.problem.is_some() => {
            Line::styled(editing.problem.clone().unwrap_or_default(), theme.error)
        }
        (Some(_), Some(field)) => {
            Line::styled(format!("Enter takes it, Esc leaves it. {}", field.help()), theme.muted)
        }
        (None, Some(field)) => Line::styled(field.help(), theme.muted),
        _ => Line::default(),
    };
    // The help is shown whole where it fits into a third of the form.
    let needed = wrapped_lines(&help_line.to_string(), inner.width);
    let help_rows = needed.max(LEAST_HELP).min((inner.height / 3).max(LEAST_HELP));
    let [rows, help] =
        inner.layout(&Layout::vertical([Constraint::Fill(1), Constraint::Length(help_rows)]));

    let first = scrolled(screen.field, rows.height, fields.len());
    let selected = Some(screen.field);
    canvas.hits.lists.push(ListHit { area: rows, first, pane: FIELDS, selected });
    let names = fields.iter().map(|field| field.name().chars().count()).max().unwrap_or(0) as u16;
    for (row, (index, field)) in
        fields.iter().enumerate().skip(first).take(usize::from(rows.height)).enumerate()
    {
        let line = Rect { y: rows.y + row as u16, height: 1, ..rows };
        let [name, value] =
            line.layout(&Layout::horizontal([Constraint::Length(names + 2), Constraint::Fill(1)]));
        let chosen = index == screen.field;
        let changed = if field.is_default(plan) { " " } else { "*" };
        let style = if chosen { bold(theme.text) } else { theme.muted };
        canvas.render(Line::styled(format!("{changed}{}", field.name()), style), name);
        if let Some(editing) = screen.editing.as_ref().filter(|_| chosen) {
            let view = TextFieldView::new(&editing.text, theme, glyphs).focused(true);
            canvas.render(view, value);
            continue;
        }
        let value_now = field.value(plan);
        let text = format!("{value_now} {}", field.unit(&value_now));
        let style = if chosen { theme.selection } else { theme.text };
        let arrows = chosen && matches!(field.way(&context.session), Way::Choose(_));
        let text = if arrows { format!("← {} →", text.trim()) } else { text.trim().to_owned() };
        let room = usize::from(value.width);
        let text = if text.chars().count() > room {
            text.chars().take(room.saturating_sub(1)).chain(['…']).collect()
        } else {
            text
        };
        canvas.render(Span::styled(text, style), value);
    }

    canvas.render(Paragraph::new(help_line).wrap(Wrap { trim: true }), help);
    let queue_rows = match context.queue.plans.len() as u16 {
        0 => 0,
        count => (count + 2).min((cost.height / 3).max(3)),
    };
    let [cost, queue] =
        cost.layout(&Layout::vertical([Constraint::Fill(1), Constraint::Length(queue_rows)]));
    let rehearsal = &context.rehearsal;
    if rehearsal.shown && rehearsal.fits(plan) {
        expectations(context, canvas, cost);
    } else {
        costs(screen, context, canvas, cost);
    }
    if queue_rows > 0 {
        queued(screen, context, canvas, queue);
    }
}

/// Plans that wait for their turn.
fn queued(screen: &PlanScreen, context: &Context, canvas: &mut Canvas, area: Rect) {
    let state = if context.queue.working { "working: w halts" } else { "w starts it, d removes" };
    let title = format!("Queue · {} · {state}", context.queue.plans.len());
    let inner = canvas.pane(area, &title, QUEUE);
    let row = |index: usize| {
        let plan = &context.queue.plans[index];
        let target = format!("ε {} δ {:e}", plan.target.epsilon, plan.target.delta);
        Row::new(vec![Cell::from(plan.name.clone()), Cell::from(target)])
    };
    let widths = vec![Constraint::Fill(1), Constraint::Length(14)];
    let selected = canvas.has_focus(QUEUE).then_some(screen.queued);
    let list = (QUEUE, context.queue.plans.len(), selected);
    canvas.list(inner, (Vec::new(), widths), list, row);
}

fn costs(screen: &PlanScreen, context: &Context, canvas: &mut Canvas, area: Rect) {
    let theme = canvas.theme;
    let title = if context.plan.waiting { "What it costs · working…" } else { "What it costs" };
    let inner = canvas.boxed(area, title);
    let explained = match &context.plan.preview {
        Some(Ok(preview)) => preview.releases.explained.as_ref(),
        _ => None,
    };
    let inner = match explained {
        Some(explained) => energy(screen, context, canvas, inner, explained),
        None => inner,
    };
    match &context.plan.preview {
        None => canvas.empty(inner, &["Waiting for the data to be read…"]),
        Some(Err(error)) => {
            canvas.wrapped(one_line(error), theme.error, inner);
        }
        Some(Ok(preview)) => cost_of(context, canvas, inner, preview),
    }
}

/// The chart of what the public directions keep, where there is room for it or where their
/// number is being chosen. Returns what is left of the area.
fn energy(
    screen: &PlanScreen,
    context: &Context,
    canvas: &mut Canvas,
    area: Rect,
    explained: &Explained,
) -> Rect {
    let (theme, glyphs) = (canvas.theme, canvas.glyphs);
    let field = screen.field(context);
    let choosing = matches!(field, Some(PlanField::Setting(field)) if field.key == "components");
    if area.height < ENERGY_ROWS + if choosing { 8 } else { 24 } {
        return area;
    }
    let [rest, area] =
        area.layout(&Layout::vertical([Constraint::Fill(1), Constraint::Length(ENERGY_ROWS)]));
    let shares = explained.shares.iter().enumerate();
    let points: Vec<Point> = shares.map(|(k, share)| ((k + 1) as f64, 100.0 * share)).collect();
    // Nothing is to be seen beyond 98 % and twice the choice.
    let last = explained.needed(0.98).max(2 * explained.chosen).min(points.len()).max(2);
    let chart = Chart::new("public energy that k directions keep, %", theme, glyphs)
        .x_axis("k", true)
        .window(Some((1.0, last as f64)))
        .cursor(Some(explained.chosen as f64))
        .series(SeriesView {
            name: "kept",
            style: theme.series(0),
            curator: false,
            points: TrackView::from(&points),
            slot: 0,
        });
    canvas.chart(area, &chart);
    rest
}

fn cost_of(context: &Context, canvas: &mut Canvas, area: Rect, preview: &Preview) {
    let (theme, glyphs) = (canvas.theme, canvas.glyphs);
    let [gauge, text] =
        area.layout(&Layout::vertical([Constraint::Length(1), Constraint::Fill(1)]));
    let before = preview.spent.as_ref().map_or(0.0, |guarantee| guarantee.epsilon);
    let after = match (&preview.after, preview.standing) {
        (_, Standing::Nothing) => f64::NAN,
        (None, _) => f64::INFINITY,
        (Some(guarantee), _) => guarantee.epsilon,
    };
    let budget = preview.budget.map_or(f64::INFINITY, |budget| budget.epsilon);
    canvas.render(BudgetGauge::new("ε", after, budget, theme, glyphs), gauge);

    let guarantee = &preview.calibrated.guarantee;
    let shape = &preview.shape;
    let mut lines = vec![match &preview.refusal {
        None => Line::styled("can be launched: press l", theme.good),
        Some(refusal) => Line::styled(one_line(refusal), theme.error),
    }];
    let plan = &preview.plan;
    let player = Player::of_plan(&plan.method, &plan.settings);
    let (advice, epsilon) = (context.advice(plan), plan.target.epsilon);
    let rehearsed = advice.filter(|advice| advice.of_plan(&player, epsilon).is_some());
    lines.push(match rehearsed.map(|advice| advice.warning(&player, epsilon)) {
        None => Line::styled("not rehearsed: r does, on public data, for free", theme.muted),
        Some(None) => Line::styled("rehearsed on public data: r shows it", theme.good),
        Some(Some(lost)) => Line::styled(format!("note: {lost}"), theme.warning),
    });
    let at = preview.budget.map_or(guarantee.delta, |budget| budget.delta);
    let budget_words = match preview.budget {
        Some(budget) => {
            let large = if budget.allow_large_delta { " (large δ allowed)" } else { "" };
            format!("ε {} at δ {:e}{large}", budget.epsilon, budget.delta)
        }
        None => "none set: press 6, then b".to_owned(),
    };
    let spent = |epsilon: f64| {
        let epsilon = format!("ε {} at δ {at:e}", round_up(epsilon, 4));
        match preview.standing {
            Standing::AtMost => epsilon,
            Standing::AtLeast => format!("at least {epsilon}"),
            Standing::Nothing => "no total: noise came from a known seed".to_owned(),
        }
    };
    let mut facts = vec![
        ("this run", format!("ε {} at δ {:e}", round_up(guarantee.epsilon, 4), guarantee.delta)),
        ("holds for", guarantee.adjacency.words().to_owned()),
        ("budget", budget_words),
        ("spent before", spent(before)),
        ("spent after", spent(after)),
    ];
    if let Some(runs) = preview.fits {
        let more = if runs >= MOST_RUNS { " and more" } else { "" };
        facts.push(("such runs that fit", format!("{runs}{more}, this one included")));
    }
    for (event, release) in preview.calibrated.events.iter().zip(&preview.releases.releases) {
        facts.push(("release", release.what.clone()));
        facts
            .push(("  draws", format!("{} × {}", event.count, event.mechanism.query.size_words())));
        facts.push(("  noise", format!("{} per number", compact(event.mechanism.noise.scale))));
        facts.push(("  sensitivity", compact(event.mechanism.query.sensitivity)));
    }
    if let Ok(ratio) = preview.releases.noise_to_signal(&preview.calibrated) {
        facts.push(("noise : signal", format!("{} : 1 per draw, at the bound", compact(ratio))));
    }
    facts.push(("steps", preview.releases.steps.to_string()));
    facts.push((
        "records",
        format!("{} private, {} public to train on", shape.private_records, shape.public_records),
    ));
    facts.push(("features", shape.dimension.to_string()));
    facts.push(("time", time_estimate(context, preview)));
    lines.extend(canvas.pairs(&facts));
    for warning in &preview.warnings {
        lines.push(Line::styled(format!("note: {warning}"), theme.warning));
    }
    let method = adapt::method(&preview.plan.method).map(|method| method.spec().summary);
    if let Ok(summary) = method {
        lines.push(Line::styled(summary, theme.muted));
    }
    canvas.render(Paragraph::new(lines).wrap(Wrap { trim: false }), text);
}

/// An estimate from the last run of the same method.
fn time_estimate(context: &Context, preview: &Preview) -> String {
    let same =
        context.runs.iter().rev().find(|run| run.method == preview.plan.method && run.step > 0);
    match same {
        Some(run) => {
            let each = run.worked.as_secs_f64() / run.step as f64;
            format!("about {} of work", duration(each * preview.releases.steps as f64))
        }
        None => "known after a first run of this method".to_owned(),
    }
}
