//! Runs to be made one after the other: the queue, and sweeps that fill it.

use super::{plan, prompt};
use crate::engine::desk::JobId;
use crate::session::PlanDefinition;
use crate::tui::app::{App, Effect, Level, one_line};
use crate::tui::live_run::Ended;
use crate::tui::plan_form::{PlanField, Way};
use crate::tui::popup::{Answer, Popup, Wanted};

/// A longer sweep is a mistake more often than a wish.
const MOST_VALUES: usize = 100;

pub(super) fn append(app: &mut App, plans: Vec<PlanDefinition>) {
    let count = plans.len();
    app.plan.queue.extend(plans);
    let runs = if count == 1 { "the plan is".to_owned() } else { format!("{count} runs are") };
    app.say(Level::Good, format!("{runs} in the queue: w runs it, every run is charged"));
}

pub(super) fn remove(app: &mut App) {
    if app.plan.queued < app.plan.queue.len() {
        app.plan.queue.remove(app.plan.queued);
        app.plan.queued = app.plan.queued.min(app.plan.queue.len().saturating_sub(1));
    }
}

pub(super) fn ask_for_values(app: &mut App, field: PlanField) {
    if matches!(field, PlanField::Name | PlanField::Private) {
        app.say(Level::Info, "choose a field that can take several values, then press s");
        return;
    }
    let suggestion = match field.way(&app.session) {
        Way::Choose(choices) => choices.join(", "),
        Way::Type if matches!(field, PlanField::Epsilon) => "0.5, 1, 2, 4".to_owned(),
        Way::Type => String::new(),
    };
    let title = format!("Sweep over '{}'", field.name());
    let help = "values with commas between; one run is queued for each";
    app.popup = Some(prompt(&title, help, &suggestion, Wanted::Sweep));
}

/// Queues the shown plan once for each value of the chosen field.
pub(super) fn sweep(app: &mut App, text: &str) -> Result<Vec<Effect>, String> {
    let Some(plan) = app.session.plans.get(app.plan.plan) else { return Ok(Vec::new()) };
    let fields = crate::tui::plan_form::fields(plan);
    let Some(field) = fields.get(app.plan.field) else { return Ok(Vec::new()) };
    let values: Vec<&str> =
        text.split(',').map(str::trim).filter(|value| !value.is_empty()).collect();
    if values.len() > MOST_VALUES {
        return Err(format!("{} values are too many: at most {MOST_VALUES}", values.len()));
    }
    let plans: Result<Vec<PlanDefinition>, String> = values
        .into_iter()
        .map(|value| {
            let mut swept = plan.clone();
            let admitted = match field.way(&app.session) {
                Way::Choose(choices) if !choices.iter().any(|choice| choice == value) => {
                    return Err(format!("'{value}' is none of: {}", choices.join(", ")));
                }
                _ => field.set(&mut swept, value),
            };
            admitted.map_err(|error| one_line(&error))?;
            swept.name = format!("{} · {} {value}", plan.name, field.name());
            Ok(swept)
        })
        .collect();
    append(app, plans?);
    Ok(Vec::new())
}

/// Starts the queue, or halts it after the run that is under way.
pub(super) fn ask_to_start(app: &mut App) {
    if app.plan.queue_job.is_some() && app.plan.working {
        app.plan.working = false;
        app.say(Level::Info, "the queue halts after the run that is under way");
        return;
    }
    if app.plan.queue.is_empty() {
        app.say(Level::Info, "the queue is empty: a appends this plan, s a sweep");
        return;
    }
    let count = app.plan.queue.len();
    let text = format!(
        "Run the {count} queued plans one after the other? Each reserves its ε before it starts, \
         and all of them compose; the queue halts where the budget refuses."
    );
    app.popup = Some(Popup::Question { text, then: Answer::StartQueue });
}

pub(super) fn start(app: &mut App) -> Vec<Effect> {
    app.plan.working = true;
    if app.plan.queue_job.is_some() { Vec::new() } else { next(app) }
}

fn next(app: &mut App) -> Vec<Effect> {
    if !app.plan.working || app.plan.queue.is_empty() {
        app.plan.working = false;
        return Vec::new();
    }
    let plan = app.plan.queue.remove(0);
    app.plan.queued = app.plan.queued.saturating_sub(1);
    let effects = plan::launch(app, plan);
    app.plan.queue_job = app.run.runs.last().map(|run| run.id);
    effects
}

/// A run has ended: the queue goes on, or halts where a run was refused.
pub(super) fn ended(app: &mut App, id: JobId) -> Vec<Effect> {
    if app.plan.queue_job != Some(id) {
        return Vec::new();
    }
    app.plan.queue_job = None;
    let run = app.run.runs.iter().find(|run| run.id == id);
    let failed = run.is_none_or(|run| match &run.ended {
        Some(Ended::Summary(summary)) => summary.trouble.is_some(),
        _ => true,
    });
    if failed {
        app.plan.working = false;
        return Vec::new();
    }
    next(app)
}
