//! Plan: the form on the left, what it will cost on the right.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Cell, Paragraph, Row, Wrap};

use super::{Hits, ListHit, bold, boxed, empty, pairs, pane, scrolled, table, wrapped_lines};
use crate::adapt::{self, Explained};
use crate::engine::desk::Preview;
use crate::engine::shelf::MOST_RUNS;
use crate::privacy::accountant::round_up;
use crate::privacy::ledger::Standing;
use crate::tui::app::{App, Pane, one_line};
use crate::tui::plan_form::{self, PlanField, Way};
use crate::tui::widgets::chart::{Chart, SeriesView};
use crate::tui::widgets::gauge::BudgetGauge;
use crate::tui::widgets::number::{compact, duration};
use crate::tui::widgets::series::Point;
use crate::tui::widgets::text_field::TextFieldView;
use crate::tui::widgets::track::TrackView;

/// Rows of the chart of explained energy.
const ENERGY_ROWS: u16 = 10;

/// Lines that help has even where it needs fewer, so that the form seldom moves.
const LEAST_HELP: u16 = 3;

pub fn view(app: &App, frame: &mut Frame, area: Rect, hits: &mut Hits) {
    let Some(plan) = app.session.plans.get(app.plan.plan) else {
        let inner = boxed(app, frame, area, "Plan");
        empty(
            app,
            frame,
            inner,
            &["No plan yet. A plan needs one private and one public dataset: press 1 to mark \
                 them, then n here."],
        );
        return;
    };
    let form_width = if area.width >= 120 { 62 } else { 42 };
    let [form, cost] =
        area.layout(&Layout::horizontal([Constraint::Length(form_width), Constraint::Fill(1)]));
    let title = format!("Plan {} of {}", app.plan.plan + 1, app.session.plans.len());
    let inner = pane(app, frame, form, &title, Pane::Fields);
    let fields = plan_form::fields(plan);
    let help_line = match (&app.plan.editing, fields.get(app.plan.field)) {
        (Some(editing), _) if editing.problem.is_some() => {
            Line::styled(editing.problem.clone().unwrap_or_default(), app.theme.error)
        }
        (Some(_), Some(field)) => Line::styled(
            format!("Enter takes it, Esc leaves it. {}", field.help()),
            app.theme.muted,
        ),
        (None, Some(field)) => Line::styled(field.help(), app.theme.muted),
        _ => Line::default(),
    };
    // What a field says of itself is shown whole where a third of the form has room for it.
    let needed = wrapped_lines(&help_line.to_string(), inner.width);
    let help_rows = needed.max(LEAST_HELP).min((inner.height / 3).max(LEAST_HELP));
    let [rows, help] =
        inner.layout(&Layout::vertical([Constraint::Fill(1), Constraint::Length(help_rows)]));

    let first = scrolled(app.plan.field, rows.height, fields.len());
    let selected = Some(app.plan.field);
    hits.lists.push(ListHit { area: rows, first, pane: Pane::Fields, selected });
    let names = fields.iter().map(|field| field.name().chars().count()).max().unwrap_or(0) as u16;
    for (row, (index, field)) in
        fields.iter().enumerate().skip(first).take(usize::from(rows.height)).enumerate()
    {
        let line = Rect { y: rows.y + row as u16, height: 1, ..rows };
        let [name, value] =
            line.layout(&Layout::horizontal([Constraint::Length(names + 2), Constraint::Fill(1)]));
        let chosen = index == app.plan.field;
        let changed = if field.is_default(plan) { " " } else { "*" };
        let style = if chosen { bold(app.theme.text) } else { app.theme.muted };
        frame.render_widget(Line::styled(format!("{changed}{}", field.name()), style), name);
        if let Some(editing) = app.plan.editing.as_ref().filter(|_| chosen) {
            let view = TextFieldView::new(&editing.text, &app.theme, &app.glyphs).focused(true);
            frame.render_widget(view, value);
            continue;
        }
        let value_now = field.value(plan);
        let text = format!("{value_now} {}", field.unit(&value_now));
        let style = if chosen { app.theme.selection } else { app.theme.text };
        let arrows = chosen && matches!(field.way(&app.session), Way::Choose(_));
        let text = if arrows { format!("← {} →", text.trim()) } else { text.trim().to_owned() };
        let room = usize::from(value.width);
        let text = if text.chars().count() > room {
            text.chars().take(room.saturating_sub(1)).chain(['…']).collect()
        } else {
            text
        };
        frame.render_widget(Span::styled(text, style), value);
    }

    frame.render_widget(Paragraph::new(help_line).wrap(Wrap { trim: true }), help);
    let queue_rows = match app.plan.queue.len() as u16 {
        0 => 0,
        count => (count + 2).min((cost.height / 3).max(3)),
    };
    let [cost, queue] =
        cost.layout(&Layout::vertical([Constraint::Fill(1), Constraint::Length(queue_rows)]));
    costs(app, frame, cost);
    if queue_rows > 0 {
        queued(app, frame, queue, hits);
    }
}

/// Plans that wait for their turn.
fn queued(app: &App, frame: &mut Frame, area: Rect, hits: &mut Hits) {
    let state = if app.plan.working { "working: w halts" } else { "w starts it, d removes" };
    let title = format!("Queue · {} · {state}", app.plan.queue.len());
    let inner = pane(app, frame, area, &title, Pane::Queue);
    let row = |index: usize| {
        let plan = &app.plan.queue[index];
        let target = format!("ε {} δ {:e}", plan.target.epsilon, plan.target.delta);
        Row::new(vec![Cell::from(plan.name.clone()), Cell::from(target)])
    };
    let widths = vec![Constraint::Fill(1), Constraint::Length(14)];
    let selected = (app.pane() == Some(Pane::Queue)).then_some(app.plan.queued);
    let list = (Pane::Queue, app.plan.queue.len(), selected);
    hits.lists.push(table(app, frame, inner, (Vec::new(), widths), list, row));
}

fn costs(app: &App, frame: &mut Frame, area: Rect) {
    let title = if app.plan.waiting { "What it costs · working…" } else { "What it costs" };
    let inner = boxed(app, frame, area, title);
    let explained = match &app.plan.preview {
        Some(Ok(preview)) => preview.releases.explained.as_ref(),
        _ => None,
    };
    let inner = match explained {
        Some(explained) => energy(app, frame, inner, explained),
        None => inner,
    };
    match &app.plan.preview {
        None => empty(app, frame, inner, &["Waiting for the data to be read…"]),
        Some(Err(error)) => {
            let line = Line::styled(one_line(error), app.theme.error);
            frame.render_widget(Paragraph::new(line).wrap(Wrap { trim: true }), inner);
        }
        Some(Ok(preview)) => cost_of(app, frame, inner, preview),
    }
}

/// What the public directions keep, drawn where there is room or their number is being chosen;
/// returns what is left of the area.
fn energy(app: &App, frame: &mut Frame, area: Rect, explained: &Explained) -> Rect {
    let choosing = app.session.plans.get(app.plan.plan).is_some_and(|plan| {
        let field = plan_form::fields(plan).get(app.plan.field).copied();
        matches!(field, Some(PlanField::Setting(field)) if field.key == "components")
    });
    if area.height < ENERGY_ROWS + if choosing { 8 } else { 24 } {
        return area;
    }
    let [rest, area] =
        area.layout(&Layout::vertical([Constraint::Fill(1), Constraint::Length(ENERGY_ROWS)]));
    let shares = explained.shares.iter().enumerate();
    let points: Vec<Point> = shares.map(|(k, share)| ((k + 1) as f64, 100.0 * share)).collect();
    // Beyond nearly everything and twice the choice there is nothing to see.
    let last = explained.needed(0.98).max(2 * explained.chosen).min(points.len()).max(2);
    let chart = Chart::new("public energy that k directions keep, %", &app.theme, &app.glyphs)
        .x_axis("k", true)
        .window(Some((1.0, last as f64)))
        .cursor(Some(explained.chosen as f64))
        .series(SeriesView {
            name: "kept",
            style: app.theme.series(0),
            curator: false,
            points: TrackView::from(&points),
            slot: 0,
        });
    let _ = chart.draw(area, frame.buffer_mut());
    rest
}

fn cost_of(app: &App, frame: &mut Frame, area: Rect, preview: &Preview) {
    let [gauge, text] =
        area.layout(&Layout::vertical([Constraint::Length(1), Constraint::Fill(1)]));
    let before = preview.spent.as_ref().map_or(0.0, |guarantee| guarantee.epsilon);
    let after = match (&preview.after, preview.standing) {
        (_, Standing::Nothing) => f64::NAN,
        (None, _) => f64::INFINITY,
        (Some(guarantee), _) => guarantee.epsilon,
    };
    let budget = preview.budget.map_or(f64::INFINITY, |budget| budget.epsilon);
    frame.render_widget(BudgetGauge::new("ε", after, budget, &app.theme, &app.glyphs), gauge);

    let guarantee = &preview.calibrated.guarantee;
    let shape = &preview.shape;
    let mut lines = vec![match &preview.refusal {
        None => Line::styled("can be launched: press l", app.theme.good),
        Some(refusal) => Line::styled(one_line(refusal), app.theme.error),
    }];
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
        facts.push(("  draws", format!("{} × {}", event.count, event.mechanism.size_words())));
        facts.push(("  noise", format!("{} per number", compact(event.mechanism.scale()))));
        facts.push(("  sensitivity", compact(event.mechanism.sensitivity())));
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
    facts.push(("time", time_estimate(app, preview)));
    lines.extend(pairs(app, &facts));
    for warning in &preview.warnings {
        lines.push(Line::styled(format!("note: {warning}"), app.theme.warning));
    }
    let method = adapt::method(&preview.plan.method).map(|method| method.spec().summary);
    if let Ok(summary) = method {
        lines.push(Line::styled(summary, app.theme.muted));
    }
    frame.render_widget(Paragraph::new(lines).wrap(Wrap { trim: false }), text);
}

/// From the last run of the same method: there is nothing better to go by.
fn time_estimate(app: &App, preview: &Preview) -> String {
    let same =
        app.run.runs.iter().rev().find(|run| run.method == preview.plan.method && run.step > 0);
    match same {
        Some(run) => {
            let each = run.worked.as_secs_f64() / run.step as f64;
            format!("about {} of work", duration(each * preview.releases.steps as f64))
        }
        None => "known after a first run of this method".to_owned(),
    }
}
