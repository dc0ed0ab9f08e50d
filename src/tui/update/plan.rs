//! The Plan screen: fields of the form, presets, launching.

use crossterm::event::{KeyCode, KeyEvent};

use super::{queue, select, session};
use crate::engine::{Control, Request};
use crate::session::PlanDefinition;
use crate::tui::app::{App, Editing, Effect, Level, Pane, Tab, one_line};
use crate::tui::keymap::Action;
use crate::tui::live_run::LiveRun;
use crate::tui::plan_form::{self, PlanField, Way};
use crate::tui::popup::{Answer, Popup};
use crate::tui::widgets::text_field::TextField;

pub(super) fn act(app: &mut App, action: Action) -> Vec<Effect> {
    let count = app.session.plans.len();
    match action {
        Action::NewPlan => return new_plan(app),
        Action::StartQueue => {
            queue::ask_to_start(app);
            return Vec::new();
        }
        Action::CopyRun => {
            app.plan.wants_runs = true;
            return vec![Effect::ask(Request::Archive)];
        }
        Action::RemovePlan if app.pane() == Some(Pane::Queue) => {
            queue::remove(app);
            return Vec::new();
        }
        Action::PreviousPlan | Action::NextPlan if count > 1 => {
            let by = if action == Action::NextPlan { 1 } else { count - 1 };
            app.plan.plan = (app.plan.plan + by) % count;
            app.plan.preview = None;
            select(app, 0);
            return app.ask_preview().into_iter().collect();
        }
        _ => {}
    }
    let Some(plan) = app.session.plans.get(app.plan.plan) else { return Vec::new() };
    let fields = plan_form::fields(plan);
    let Some(field) = fields.get(app.plan.field).copied() else { return Vec::new() };
    match action {
        Action::EditField => match field.way(&app.session) {
            Way::Type => {
                // What is typed takes the place of the word "automatic".
                let now = if field.is_automatic(plan) { String::new() } else { field.value(plan) };
                let text = TextField::new(&now);
                app.plan.editing = Some(Editing { field, text, problem: None });
            }
            Way::Choose(choices) => return choose(app, field, &choices, 1),
        },
        Action::FieldLeft | Action::FieldRight => {
            let by = if action == Action::FieldRight { 1 } else { -1 };
            if let Way::Choose(choices) = field.way(&app.session) {
                return choose(app, field, &choices, by);
            }
            return nudge(app, field, by);
        }
        Action::DefaultField => {
            field.reset(&mut app.session.plans[app.plan.plan]);
            app.changed();
            return app.ask_preview().into_iter().collect();
        }
        Action::RemovePlan => {
            let text = format!("Remove the plan '{}' from the session?", plan.name);
            app.popup = Some(Popup::Question { text, then: Answer::RemovePlan });
        }
        Action::Launch => ask_to_launch(app),
        Action::Enqueue => {
            let plan = plan.clone();
            queue::append(app, vec![plan]);
        }
        Action::Sweep => queue::ask_for_values(app, field),
        Action::Preset => {
            app.popup = Some(Popup::Pick(plan_form::presets()));
        }
        _ => {}
    }
    Vec::new()
}

pub(super) fn editing_key(app: &mut App, key: KeyEvent) -> Vec<Effect> {
    let Some(mut editing) = app.plan.editing.take() else { return Vec::new() };
    match key.code {
        KeyCode::Esc => return Vec::new(),
        KeyCode::Enter => {
            let text = editing.text.text().to_owned();
            match set_field(app, editing.field, &text) {
                Ok(effects) => return effects,
                Err(problem) => editing.problem = Some(problem),
            }
        }
        _ => {
            editing.problem = None;
            editing.text.handle(key);
            // Validated while typing, on a copy.
            if let Some(plan) = app.session.plans.get(app.plan.plan) {
                let tried = editing.field.set(&mut plan.clone(), editing.text.text());
                editing.problem = tried.err().map(|error| one_line(&error));
            }
        }
    }
    app.plan.editing = Some(editing);
    Vec::new()
}

fn set_field(app: &mut App, field: PlanField, text: &str) -> Result<Vec<Effect>, String> {
    let Some(plan) = app.session.plans.get_mut(app.plan.plan) else { return Ok(Vec::new()) };
    let before = plan.clone();
    field.set(plan, text).map_err(|error| one_line(&error))?;
    if *plan == before {
        return Ok(Vec::new());
    }
    if matches!(field, PlanField::Name) {
        let name = plan.name.clone();
        if app.session.plans.iter().filter(|plan| plan.name == name).count() > 1 {
            app.session.plans[app.plan.plan] = before;
            return Err(format!("another plan is called '{name}'"));
        }
    }
    app.changed();
    Ok(app.ask_preview().into_iter().collect())
}

fn new_plan(app: &mut App) -> Vec<Effect> {
    let mut plan = match app.session.plans.get(app.plan.plan) {
        Some(plan) => plan.clone(),
        None => match plan_form::first_plan(&app.session) {
            Ok(plan) => plan,
            Err(error) => {
                app.complain(&error);
                return Vec::new();
            }
        },
    };
    plan.name = free_name(app, &plan.name);
    app.session.plans.push(plan);
    app.plan.plan = app.session.plans.len() - 1;
    app.plan.field = 0;
    app.changed();
    app.ask_preview().into_iter().collect()
}

/// A name that no plan has yet.
fn free_name(app: &App, stem: &str) -> String {
    let taken = |name: &str| app.session.plans.iter().any(|plan| plan.name == name);
    if !taken(stem) {
        return stem.to_owned();
    }
    let numbered = (2..).map(|number| format!("{stem} {number}"));
    numbered.into_iter().find(|name| !taken(name)).unwrap_or_else(|| stem.to_owned())
}

pub(super) fn take_preset(app: &mut App, index: usize) -> Vec<Effect> {
    let Some(plan) = app.session.plans.get_mut(app.plan.plan) else { return Vec::new() };
    let Some(preset) = plan_form::PRESETS.get(index) else { return Vec::new() };
    (preset.apply)(plan);
    app.changed();
    app.say(Level::Info, format!("preset: {}; u undoes it", preset.name));
    app.ask_preview().into_iter().collect()
}

/// The settings of an earlier run become this plan; its datasets are kept where
/// the session has none of that name.
pub(super) fn take_plan(app: &mut App, earlier: &PlanDefinition) -> Vec<Effect> {
    let known = |name: &String| app.session.datasets.iter().any(|dataset| dataset.name == *name);
    let mut taken = earlier.clone();
    if let Some(plan) = app.session.plans.get(app.plan.plan) {
        taken.name.clone_from(&plan.name);
        if !known(&taken.private) {
            taken.private.clone_from(&plan.private);
        }
        if !taken.public.iter().all(known) {
            taken.public.clone_from(&plan.public);
        }
        app.session.plans[app.plan.plan] = taken;
    } else {
        app.session.plans.push(taken);
    }
    app.changed();
    app.say(Level::Info, "took the settings of the earlier run; u undoes it");
    app.ask_preview().into_iter().collect()
}

fn choose(app: &mut App, field: PlanField, choices: &[String], by: isize) -> Vec<Effect> {
    let Some(plan) = app.session.plans.get(app.plan.plan) else { return Vec::new() };
    if choices.is_empty() {
        app.say(Level::Warning, "there is nothing to choose from: add datasets on the Data screen");
        return Vec::new();
    }
    let now = field.value(plan);
    let here = choices.iter().position(|choice| *choice == now);
    let next =
        here.map_or(0, |here| (here as isize + by).rem_euclid(choices.len() as isize) as usize);
    let choice = choices[next].clone();
    set_field(app, field, &choice).unwrap_or_else(|problem| {
        app.say(Level::Warning, problem);
        Vec::new()
    })
}

/// A number a little smaller or larger, on the 1-2-5 ladder for scales and by
/// one for counts.
fn nudge(app: &mut App, field: PlanField, by: isize) -> Vec<Effect> {
    let Some(plan) = app.session.plans.get(app.plan.plan) else { return Vec::new() };
    let automatic = field.is_automatic(plan);
    let Some(now) = automatic.then_some(0.0).or_else(|| field.value(plan).parse().ok()) else {
        return Vec::new();
    };
    let next = match field {
        PlanField::Setting(setting) if automatic && by > 0 => setting.kind.first(),
        PlanField::Seed => now + by as f64,
        PlanField::Holdout => ((now + 0.05 * by as f64) * 100.0).round() / 100.0,
        _ => ladder(now, by),
    };
    set_field(app, field, &next.to_string()).unwrap_or_default()
}

/// The neighbour of `x` on …, 0.1, 0.2, 0.5, 1, 2, 5, 10, …
fn ladder(x: f64, by: isize) -> f64 {
    if x <= 0.0 || !x.is_finite() {
        return if by > 0 { 0.1 } else { x };
    }
    let decade = x.log10().floor() as i32;
    let rungs = (decade - 1..=decade + 1)
        .flat_map(|decade| [1, 2, 5].map(|step| format!("{step}e{decade}").parse().unwrap_or(x)));
    let mut rungs: Vec<f64> = rungs.collect();
    if by < 0 {
        rungs.reverse();
    }
    let beyond = |rung: &f64| if by > 0 { *rung > x * 1.0001 } else { *rung < x * 0.9999 };
    rungs.into_iter().find(beyond).unwrap_or(x)
}

fn ask_to_launch(app: &mut App) {
    let Some(plan) = app.session.plans.get(app.plan.plan) else { return };
    // A preview of exactly this plan will do even while a newer one is worked
    // out: the ledger has the last word at launch.
    let current = match &app.plan.preview {
        Some(Ok(preview)) if preview.plan == *plan => Some(preview),
        Some(Err(error)) if !app.plan.waiting => {
            let error = error.clone();
            app.complain(&error);
            return;
        }
        _ => None,
    };
    let Some(preview) = current else {
        app.say(Level::Warning, "the cost of this plan is still being worked out: press l again");
        return;
    };
    if let Some(refusal) = preview.refusal.clone() {
        app.complain(&refusal);
        return;
    }
    let text = format!(
        "Launch '{}'? It reserves ε {} at δ {:e} of '{}' before it starts.",
        plan.name, plan.target.epsilon, plan.target.delta, plan.private
    );
    app.popup = Some(Popup::Question { text, then: Answer::Launch });
}

pub(super) fn launch_shown(app: &mut App) -> Vec<Effect> {
    let plan = app.session.plans.get(app.plan.plan).cloned();
    let Some(plan) = plan else { return Vec::new() };
    app.tab = Tab::Run;
    launch(app, plan)
}

pub(super) fn launch(app: &mut App, plan: PlanDefinition) -> Vec<Effect> {
    let id = app.run.runs.iter().map(|run| run.id + 1).max().unwrap_or(1);
    let control = Control::default();
    control.set_pace(app.run.pace);
    let watch = app.watch.for_run();
    app.run.runs.push(LiveRun::new(id, &plan, control.clone(), watch.clone()));
    app.run.selected = app.run.runs.len() - 1;
    app.run.viewport.reset();
    (app.run.viewport.frozen, app.run.line) = (None, None);
    let (weight, log) = (app.run.viewport.smoothing, app.run.viewport.log);
    if let Some(run) = app.run.runs.last_mut() {
        run.smooth(weight, log);
    }
    app.notice = None;
    let session = session::for_disk(app);
    vec![Effect::ask(Request::Launch { id, session, plan, watch, control })]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ladder_goes_one_two_five_in_both_directions() {
        assert_eq!(ladder(1.0, 1), 2.0);
        assert_eq!(ladder(2.0, 1), 5.0);
        assert_eq!(ladder(1.0, -1), 0.5);
        assert_eq!(ladder(0.7, 1), 1.0);
        assert_eq!(ladder(60.0, 1), 100.0);
        assert_eq!(ladder(1e-6, -1), 5e-7);
    }
}
