//! The keys of the Plan screen.

use super::form::{FormField, PRESETS, PlanField};
use super::{Editing, FIELDS, PlanScreen, QUEUE};
use crate::context::{Context, OpenPopup, dropped};
use crate::engine::Request;
use crate::evaluation::{Evaluation, Pay};
use crate::keys::{also, show};
use crate::live_rehearsal::LiveRehearsal;
use crate::methods;
use crate::notice::one_line;
use crate::popup::Then;
use crate::popup::picker::{Item, Picker};
use crate::screen::{Keys, Screen};
use crate::session::plan_field::NO_SCORE;
use crate::session::{ArchivedRun, PlanDefinition, plan_name};
use crate::widgets::text_field::TextField;

/// A longer sweep is usually a mistake.
const MOST_VALUES: usize = 100;

#[rustfmt::skip] // a table reads best as one
pub const KEYS: Keys<PlanScreen> = &[
    show(&["l"], "launch", "launch this plan", launch),
    also(&["J"], "join", "run this plan together with other sites", |_, context| context.ask_for_sites()),
    show(&["enter", "e"], "edit", "edit the field, or take the next choice", edit),
    also(&["left"], "less", "previous choice, or a smaller number", |screen, context| step(screen, context, -1)),
    also(&["right"], "greater", "next choice, or a larger number", |screen, context| step(screen, context, 1)),
    show(&["x"], "default", "back to the field's default", reset),
    show(&["E"], "sweep", "queue this plan once for each of several values of the field", sweep),
    show(&["a"], "queue", "add this plan to the queue", enqueue),
    show(&["Q"], "run queue", "run the queue, one plan after the other; press again to halt it", |_, context| context.ask_to_start_queue()),
    also(&["m"], "mark", "mark this plan as a candidate of a choice, or not", mark),
    also(&["p"], "choose best", "let private records choose among the marked plans, or among all for these data; costs ε once", choose_best),
    show(&["r"], "rehearse", "rehearse this plan on public data, for free; afterwards switch \
                              between results and costs", rehearse),
    also(&["c"], "stop rehearsal", "stop the rehearsal, or continue it; after its end try methods that fell behind as often as the others", stop_rehearsal),
    also(&["O"], "rehearse only", "rehearse only the methods that you name", |_, context| context.ask_to_rehearse()),
    show(&["t"], "take advice", "take the method that the rehearsal advises", |_, context| context.take_advice()),
    show(&["T"], "preset", "take a preset for this plan", preset),
    also(&["+"], "more", "show every setting, or fold them again", |screen, _| screen.unfolded = !screen.unfolded),
    also(&[], "copy earlier", "copy the settings of an earlier run into this plan; t on Compare shows its plan", copy_earlier),
    also(&["n"], "new plan", "new plan, copied from this one", new_plan),
    also(&["d", "delete"], "remove", "remove this plan, or the queue's entry", remove),
    also(&["["], "previous plan", "previous plan", |screen, context| show_plan(screen, context, -1)),
    also(&["]"], "next plan", "next plan", |screen, context| show_plan(screen, context, 1)),
];

fn launch(_: &mut PlanScreen, context: &mut Context) {
    context.plan.sites = None;
    context.ask_to_launch();
}

fn rehearse(_: &mut PlanScreen, context: &mut Context) {
    let fits = context.shown_plan().is_some_and(|plan| context.rehearsal.fits(plan));
    let known = context.rehearsal.work.is_some() || context.rehearsal.progress.is_some();
    if fits && known {
        context.rehearsal.shown = !context.rehearsal.shown;
    } else {
        context.rehearse(Vec::new(), false);
    }
}

fn stop_rehearsal(_: &mut PlanScreen, context: &mut Context) {
    if context.trial.work.is_some() {
        context.trial.stop();
    } else if context.rehearsal.work.is_some() {
        // It reports by itself that it has stopped.
        context.rehearsal.stop();
    } else {
        let LiveRehearsal { methods, deep, .. } = &context.rehearsal;
        let (methods, deep) = (methods.clone(), *deep || context.rehearsal.is_whole());
        context.rehearse(methods, deep);
    }
}

fn edit(screen: &mut PlanScreen, context: &mut Context) {
    let Some(plan) = context.shown_plan() else { return };
    let Some(field) = screen.field(context) else {
        screen.unfolded = !screen.unfolded;
        return;
    };
    if matches!(field, PlanField::Method) {
        return offer_methods(context);
    }
    if let Some(choices) = field.choices(&context.session) {
        return match choices.len() {
            0..=2 => choose(context, field, &choices, 1),
            _ => offer(context, field, choices),
        };
    }
    // The typed text replaces the word "automatic", or that there is none.
    let is_none = matches!(field, PlanField::PublicPredictor) && plan.public_predictor.is_none();
    let is_empty = is_none || field.is_automatic(plan);
    let now = if is_empty { String::new() } else { field.value(plan) };
    screen.editing = Some(Editing { field, text: TextField::proposed(&now), problem: None });
}

/// Opens the list of methods: those that fit the data first, then the others with the reason.
fn offer_methods(context: &mut Context) {
    let Some(plan) = context.shown_plan() else { return };
    let mut methods =
        context.with_material(plan, |material| material.methods()).unwrap_or_default();
    // Several methods share one plain name, for numbers or for classes: the one that fits is
    // enough.
    let fitting: Vec<&str> =
        methods.iter().filter(|it| it.1.is_none()).map(|(spec, _)| spec.name).collect();
    methods.retain(|(spec, misfit)| {
        misfit.is_none() || spec.id == plan.method || !fitting.contains(&spec.name)
    });
    let now = methods.iter().position(|(spec, _)| spec.id == plan.method);
    let items = methods.into_iter().map(|(spec, misfit)| {
        let detail = misfit.clone().unwrap_or_else(|| spec.line.to_owned());
        let grey = misfit.is_some();
        let take = move |context: &mut Context| match misfit {
            Some(why) => context.warn(format!("{}: it {why}", spec.name)),
            None => {
                if let Err(problem) = set_field(context, PlanField::Method, spec.id) {
                    context.warn(problem);
                }
            }
        };
        Item { grey, ..Item::that(spec.name, detail, take) }
    });
    let picker = Picker::new("How the model is adapted", items.collect());
    context.popup = Some(OpenPopup::Pick(Picker { selected: now.unwrap_or(0), ..picker }));
}

/// Opens the list of the values of a field.
fn offer(context: &mut Context, field: PlanField, choices: Vec<String>) {
    let now = context.shown_plan().map(|plan| field.value(plan));
    let now = choices.iter().position(|choice| Some(choice) == now.as_ref());
    let items = choices.into_iter().map(|choice| {
        let value = choice.clone();
        Item::that(choice, String::new(), move |context: &mut Context| {
            if let Err(problem) = set_field(context, field, &value) {
                context.warn(problem);
            }
        })
    });
    let picker = Picker::new(field.name(), items.collect());
    context.popup = Some(OpenPopup::Pick(Picker { selected: now.unwrap_or(0), ..picker }));
}

fn step(screen: &PlanScreen, context: &mut Context, by: isize) {
    let Some(field) = screen.field(context) else { return };
    if let (PlanField::Method, Some(plan)) = (field, context.shown_plan()) {
        let fitting = context.with_material(plan, |material| {
            let methods = material.methods().into_iter().filter(|(_, misfit)| misfit.is_none());
            methods.map(|(spec, _)| spec.id.to_owned()).collect::<Vec<_>>()
        });
        return choose(context, field, &fitting.unwrap_or_default(), by);
    }
    if let Some(choices) = field.choices(&context.session) {
        return choose(context, field, &choices, by);
    }
    if !matches!(field, PlanField::Score) {
        return nudge(context, field, by);
    }
    // Other values of a score are typed.
    let method = context.shown_plan().and_then(|plan| methods::method(&plan.method).ok());
    let covers = method.is_some_and(|method| method.spec().covers_scores);
    let pay = if covers { Pay::Covered } else { Pay::OFFERED };
    let asked = Evaluation { pay, ..Evaluation::default() };
    choose(context, field, &[NO_SCORE.to_owned(), asked.to_string()], by);
}

fn reset(screen: &mut PlanScreen, context: &mut Context) {
    let Some(field) = screen.field(context) else { return };
    let index = context.plan.index;
    let free = context.free_score(&context.session.plans[index]);
    let plan = &mut context.session.plans[index];
    let before = plan.clone();
    if matches!(field, PlanField::Score) {
        plan.evaluation = free;
    } else if !field.reset(plan) {
        let text = format!("'{}' has no default: Enter changes it", field.name());
        return context.inform(text);
    }
    if *plan == before {
        return context.inform(format!("'{}' has its default already", field.name()));
    }
    context.changed();
    if context.was_run(&before) {
        let text = "the plan that was run has changed; the run keeps its own settings; u undoes it";
        context.inform(text);
    }
    context.ask_preview();
}

/// Marks the plan; marks are kept by name.
fn mark(screen: &mut PlanScreen, context: &mut Context) {
    let Some(plan) = context.shown_plan() else { return };
    let name = plan.name.clone();
    if !screen.marked.remove(&name) {
        screen.marked.insert(name);
    }
    let plans = screen.candidates(context).len();
    let text = match screen.marked.len() {
        0 => "no plan is marked: p takes all plans for these private data".to_owned(),
        _ if plans == 1 => "1 candidate: p lets private records choose".to_owned(),
        _ => format!("{plans} candidates: p lets private records choose"),
    };
    context.inform(text);
}

fn choose_best(screen: &mut PlanScreen, context: &mut Context) {
    let Some(target) = context.shown_plan().map(|plan| plan.target) else { return };
    context.offer_choice(screen.candidates(context), target);
}

/// Queues the shown plan once for each value of the selected field.
fn sweep(screen: &mut PlanScreen, context: &mut Context) {
    let Some(field) = screen.field(context) else { return };
    if matches!(field, PlanField::Name | PlanField::Private) {
        return context.inform("choose a field that can take several values, then press E");
    }
    let suggestion = match field.choices(&context.session) {
        Some(choices) => choices.join(", "),
        None if matches!(field, PlanField::Epsilon) => "0.5, 1, 2, 4".to_owned(),
        None => String::new(),
    };
    let title = format!("Sweep over '{}'", field.name());
    let help = "values with commas between; one run is queued for each";
    context.prompt(title, help, &suggestion, move |context, text| {
        let plans = swept(context, field, text)?;
        context.enqueue(plans);
        Ok(())
    });
}

/// The shown plan with each of the values.
fn swept(context: &Context, field: PlanField, text: &str) -> Result<Vec<PlanDefinition>, String> {
    let Some(plan) = context.shown_plan() else { return Ok(Vec::new()) };
    let values: Vec<&str> =
        text.split(',').map(str::trim).filter(|value| !value.is_empty()).collect();
    if values.len() > MOST_VALUES {
        return Err(format!("{} values are too many: at most {MOST_VALUES}", values.len()));
    }
    let with = |value: &str| {
        let mut swept = plan.clone();
        let choices = field.choices(&context.session);
        if let Some(choices) = choices.filter(|choices| !choices.iter().any(|it| it == value)) {
            return Err(format!("'{value}' is none of: {}", choices.join(", ")));
        }
        field.set(&mut swept, value).map_err(|error| one_line(&error))?;
        swept.name = format!("{} · {} {value}", plan.name, field.name());
        Ok(swept)
    };
    values.into_iter().map(with).collect()
}

fn enqueue(_: &mut PlanScreen, context: &mut Context) {
    if let Some(plan) = context.shown_plan().cloned() {
        context.enqueue(vec![plan]);
    }
}

fn preset(_: &mut PlanScreen, context: &mut Context) {
    if context.shown_plan().is_some() {
        context.popup = Some(presets());
    }
}

/// The presets as a list to choose from.
pub fn presets() -> OpenPopup {
    let items = PRESETS.iter().map(|preset| {
        let take = |context: &mut Context| {
            let Some(plan) = context.session.plans.get_mut(context.plan.index) else { return };
            (preset.apply)(plan);
            context.changed();
            context.inform(format!("preset: {}; u undoes it", preset.name));
            context.ask_preview();
        };
        Item::that(preset.name, preset.help, take)
    });
    OpenPopup::Pick(Picker::new("Presets", items.collect()))
}

fn copy_earlier(screen: &mut PlanScreen, context: &mut Context) {
    screen.wants_runs = true;
    context.ask(Request::Archive);
}

/// Opens the list of earlier runs.
pub(super) fn offer_runs(context: &mut Context) {
    let items: Vec<_> = context.archived().iter().filter_map(item_of).collect();
    if items.is_empty() {
        context.inform("there is no earlier run in this workspace");
    } else {
        context.pick("Take the settings of", items);
    }
}

fn item_of(run: &ArchivedRun) -> Option<Item<Then<Context>>> {
    let plan = run.plan.clone()?;
    let (epsilon, outcome, tag) = (plan.target.epsilon, &run.outcome, &run.tag);
    let detail = format!("{} ε {epsilon} {outcome} {tag}", methods::name_of(&plan.method));
    let title = plan.name.clone();
    let take = |context: &mut Context| context.take_plan(plan);
    Some(Item { key: run.time.clone(), ..Item::that(title, detail, take) })
}

fn new_plan(screen: &mut PlanScreen, context: &mut Context) {
    if let Some(mut plan) = context.shown_plan().cloned() {
        plan.name = if plan_name::is_automatic(&plan) {
            plan_name::free(&plan, &context.session.plans)
        } else {
            free_name(context, &plan.name)
        };
        context.session.plans.push(plan);
    } else if let Err(error) = context.ensure_plan() {
        return context.complain(&error);
    }
    context.plan.index = context.session.plans.len() - 1;
    screen.field = 0;
    context.changed();
    context.ask_preview();
}

/// A name that no plan has yet.
fn free_name(context: &Context, stem: &str) -> String {
    let taken = |name: &str| context.session.plans.iter().any(|plan| plan.name == name);
    let mut numbered = (2..).map(|number| format!("{stem} {number}"));
    numbered.find(|name| !taken(name)).unwrap_or_else(|| stem.to_owned())
}

fn remove(screen: &mut PlanScreen, context: &mut Context) {
    if screen.focus(context) == Some(QUEUE) {
        if screen.queued < context.queue.plans.len() {
            context.queue.plans.remove(screen.queued);
            screen.queued = screen.queued.min(context.queue.plans.len().saturating_sub(1));
        }
        return;
    }
    let Some(plan) = context.shown_plan() else { return };
    let text = format!("Remove the plan '{}' from the session?", plan.name);
    context.confirm(text, "remove", |context| {
        if context.plan.index < context.session.plans.len() {
            context.session.plans.remove(context.plan.index);
            let last = context.session.plans.len().saturating_sub(1);
            context.plan.index = context.plan.index.min(last);
            context.changed();
        }
        context.ask_preview();
    });
}

fn show_plan(screen: &mut PlanScreen, context: &mut Context, by: isize) {
    let count = context.session.plans.len() as isize;
    if count > 1 {
        context.plan.index = (context.plan.index as isize + by).rem_euclid(count) as usize;
        context.plan.preview = None;
        screen.select(FIELDS, 0, context);
        context.ask_preview();
    }
}

/// Sets a field of the shown plan from text.
pub(super) fn set_field(context: &mut Context, field: PlanField, text: &str) -> Result<(), String> {
    let index = context.plan.index;
    let Some(plan) = context.session.plans.get_mut(index) else { return Ok(()) };
    let before = plan.clone();
    field.set(plan, text).map_err(|error| one_line(&error))?;
    if *plan == before {
        return Ok(());
    }
    if matches!(field, PlanField::Name) {
        let name = plan.name.clone();
        if context.session.plans.iter().filter(|plan| plan.name == name).count() > 1 {
            context.session.plans[index] = before;
            return Err(format!("another plan is called '{name}'"));
        }
    }
    context.session.plans[index].evaluation =
        context.score_after(&before, &context.session.plans[index]);
    context.changed();
    let now = &context.session.plans[index];
    let lost = dropped(&before, now).filter(|_| matches!(field, PlanField::Method));
    let told = context.was_run(&before).then(|| {
        let name = match &now.name {
            name if *name == before.name || matches!(field, PlanField::Name) => String::new(),
            name => format!(", and so its name to '{name}'"),
        };
        let [was, is] = [&before, now].map(|plan| field.value(plan));
        format!(
            "the plan that was run has changed: '{}' from {was} to {is}{name}; the run keeps its own \
             settings",
            field.name()
        )
    });
    let told: Vec<String> = told.into_iter().chain(lost).collect();
    if !told.is_empty() {
        context.inform(format!("{}; u undoes it", told.join("; ")));
    }
    if matches!(field, PlanField::Private | PlanField::Public) {
        context.refit_plans();
    }
    context.ask_preview();
    Ok(())
}

fn choose(context: &mut Context, field: PlanField, choices: &[String], by: isize) {
    let Some(plan) = context.shown_plan() else { return };
    if choices.is_empty() {
        let text = "there is nothing to choose from: add datasets on the Data screen";
        return context.warn(text);
    }
    let now = field.value(plan);
    let here = choices.iter().position(|choice| *choice == now);
    let next =
        here.map_or(0, |here| (here as isize + by).rem_euclid(choices.len() as isize) as usize);
    if let Err(problem) = set_field(context, field, &choices[next]) {
        context.warn(problem);
    }
}

/// A number a little smaller or larger: on the 1-2-5 ladder for scales, by one for
/// counts.
fn nudge(context: &mut Context, field: PlanField, by: isize) {
    let Some(plan) = context.shown_plan() else { return };
    let automatic = field.is_automatic(plan);
    let Some(now) = automatic.then_some(0.0).or_else(|| field.value(plan).parse().ok()) else {
        let text = format!("'{}' is typed: Enter opens it", field.name());
        return context.inform(text);
    };
    let next = match field {
        PlanField::Setting(setting) if automatic && by > 0 => setting.kind.first(),
        PlanField::Seed => now + by as f64,
        PlanField::Holdout => ((now + 0.05 * by as f64) * 100.0).round() / 100.0,
        _ => ladder(now, by),
    };
    // A number that does not fit leaves the field unchanged.
    let before = plan.clone();
    if let Err(problem) = set_field(context, field, &next.to_string()) {
        context.inform(problem);
    } else if context.shown_plan() == Some(&before) {
        let which = if by > 0 { "larger" } else { "smaller" };
        context.inform(format!("'{}' has no {which} value", field.name()));
    }
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
