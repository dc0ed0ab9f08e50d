//! The only place that changes the interface's state. Total: any message in
//! any state gives a state.

use crossterm::event::{KeyCode, KeyEvent, MouseButton, MouseEvent, MouseEventKind};
use ratatui::layout::Position;

use super::app::{App, DatasetStatus, Editing, Effect, Level, Tab};
use super::keymap::{self, Action};
use super::plan_form::{self, PlanField, Way};
use super::popup::{Answer, DatasetForm, Popup, Prompt, Wanted, parse_budget};
use super::runs::RunView;
use super::view::Hits;
use super::widgets::field::Field as TextField;
use crate::data::Role;
use crate::engine::desk::suggest;
use crate::engine::{Control, Report, Request};
use crate::privacy::ledger::RunState;

/// Everything that can happen to the interface.
#[derive(Debug)]
pub enum Message {
    Key(KeyEvent),
    Mouse(MouseEvent),
    Paste(String),
    Reports(Vec<Report>),
    Resize,
    /// The system asks us to go.
    Terminate,
}

/// Takes one message in. `hits` says where things stood on the last frame.
pub fn update(app: &mut App, message: Message, hits: &Hits) -> Vec<Effect> {
    match message {
        Message::Key(key) => on_key(app, key),
        Message::Mouse(mouse) => on_mouse(app, mouse, hits),
        Message::Paste(text) => {
            paste(app, &text);
            Vec::new()
        }
        Message::Reports(reports) => {
            reports.into_iter().flat_map(|report| on_report(app, report)).collect()
        }
        Message::Resize => Vec::new(),
        Message::Terminate => {
            leave(app);
            Vec::new()
        }
    }
}

fn on_key(app: &mut App, key: KeyEvent) -> Vec<Effect> {
    if let Some(popup) = app.popup.take() {
        return popup_key(app, popup, key);
    }
    if app.plan.editing.is_some() && app.tab == Tab::Plan {
        return editing_key(app, key);
    }
    match keymap::action(app.tab, key) {
        Some(action) => act(app, action),
        None => Vec::new(),
    }
}

fn paste(app: &mut App, text: &str) {
    let text: String = text.chars().filter(|c| !c.is_control()).collect();
    match (&mut app.popup, &mut app.plan.editing) {
        (Some(Popup::Prompt(prompt)), _) => prompt.text.insert(&text),
        (Some(Popup::Dataset(form)), _) => form.paste(&text),
        (None, Some(editing)) => editing.text.insert(&text),
        _ => {}
    }
}

fn popup_key(app: &mut App, popup: Popup, key: KeyEvent) -> Vec<Effect> {
    let is_ctrl_c = keymap::action(app.tab, key) == Some(Action::Quit)
        && key.modifiers.contains(crossterm::event::KeyModifiers::CONTROL);
    if is_ctrl_c {
        return act(app, Action::Quit);
    }
    match popup {
        Popup::Help { scroll } => match key.code {
            KeyCode::Down | KeyCode::Char('j') => {
                app.popup = Some(Popup::Help { scroll: scroll.saturating_add(1) });
            }
            KeyCode::Up | KeyCode::Char('k') => {
                app.popup = Some(Popup::Help { scroll: scroll.saturating_sub(1) });
            }
            KeyCode::PageDown => {
                app.popup = Some(Popup::Help { scroll: scroll.saturating_add(10) });
            }
            KeyCode::PageUp => app.popup = Some(Popup::Help { scroll: scroll.saturating_sub(10) }),
            _ => {}
        },
        Popup::Question { text, then } => match key.code {
            KeyCode::Char('y' | 'Y') | KeyCode::Enter => return confirmed(app, then),
            KeyCode::Char('s') if then == Answer::Quit && app.working() == 0 => {
                return act(app, Action::Save);
            }
            KeyCode::Char('n' | 'N' | 'q') | KeyCode::Esc => {}
            _ => app.popup = Some(Popup::Question { text, then }),
        },
        Popup::Prompt(mut prompt) => match key.code {
            KeyCode::Esc => {}
            KeyCode::Enter => return prompted(app, prompt),
            _ => {
                prompt.problem = None;
                prompt.text.handle(key);
                app.popup = Some(Popup::Prompt(prompt));
            }
        },
        Popup::Dataset(mut form) => match key.code {
            KeyCode::Esc => {}
            KeyCode::Enter => return save_dataset(app, form),
            _ => {
                form.handle(key);
                app.popup = Some(Popup::Dataset(form));
            }
        },
    }
    Vec::new()
}

fn editing_key(app: &mut App, key: KeyEvent) -> Vec<Effect> {
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
                editing.problem = tried.err().map(|error| super::app::one_line(&error));
            }
        }
    }
    app.plan.editing = Some(editing);
    Vec::new()
}

fn set_field(app: &mut App, field: PlanField, text: &str) -> Result<Vec<Effect>, String> {
    let Some(plan) = app.session.plans.get_mut(app.plan.plan) else { return Ok(Vec::new()) };
    let before = plan.clone();
    field.set(plan, text).map_err(|error| super::app::one_line(&error))?;
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

/// Does what a key, a click or a question asked for.
pub fn act(app: &mut App, action: Action) -> Vec<Effect> {
    match action {
        Action::GoTo(tab) => return go_to(app, tab),
        Action::NextTab => return go_to(app, app.tab.offset(1)),
        Action::PreviousTab => return go_to(app, app.tab.offset(-1)),
        Action::Help => app.popup = Some(Popup::Help { scroll: 0 }),
        Action::Save => return save(app),
        Action::Open => {
            app.popup = Some(prompt(
                "Open a session",
                "path of a session file (.ron)",
                "",
                Wanted::SessionToOpen,
            ));
        }
        Action::Quit => ask_to_quit(app),
        Action::Seal => {
            let sealed = !app.watch.is_sealed();
            app.watch.seal(sealed);
            app.say(
                Level::Info,
                if sealed {
                    "sealed: exact numbers are neither computed nor shown; runs that start now stay inside the guarantee"
                } else {
                    "open: numbers marked ◆ are exact, for your eyes only; acting on them is outside the guarantee"
                },
            );
        }
        Action::Repaint => return vec![Effect::Repaint],
        Action::Back => step_out(app),
        Action::Up => select(app, -1),
        Action::Down => select(app, 1),
        Action::PageUp => select(app, -10),
        Action::PageDown => select(app, 10),
        Action::First => select(app, isize::MIN / 2),
        Action::Last => select(app, isize::MAX / 2),
        _ => {
            return match app.tab {
                Tab::Data => on_data(app, action),
                Tab::Plan => on_plan(app, action),
                Tab::Run => on_run(app, action),
                Tab::Ledger => on_ledger(app, action),
                Tab::Rank | Tab::Compare => Vec::new(),
            };
        }
    }
    Vec::new()
}

fn go_to(app: &mut App, tab: Tab) -> Vec<Effect> {
    app.tab = tab;
    match tab {
        Tab::Ledger => vec![Effect::ask(Request::Ledger)],
        Tab::Plan => {
            if app.session.plans.is_empty()
                && let Ok(plan) = plan_form::first_plan(&app.session)
            {
                app.session.plans.push(plan);
                app.changed();
            }
            app.ask_preview().into_iter().collect()
        }
        _ => Vec::new(),
    }
}

fn step_out(app: &mut App) {
    if app.notice.is_some() {
        app.notice = None;
    } else if app.tab == Tab::Run {
        if app.run.cursor.is_some() {
            app.run.cursor = None;
        } else {
            (app.run.window, app.run.frozen) = (None, None);
        }
    }
}

fn select(app: &mut App, by: isize) {
    let (selected, count) = match app.tab {
        Tab::Data => (&mut app.data.selected, app.session.datasets.len()),
        Tab::Plan => {
            let fields = app
                .session
                .plans
                .get(app.plan.plan)
                .map_or(0, |plan| plan_form::fields(plan).len());
            (&mut app.plan.field, fields)
        }
        Tab::Run => (&mut app.run.selected, app.run.runs.len()),
        Tab::Ledger => (
            &mut app.ledger.selected,
            app.ledger.book.as_ref().map_or(0, |book| book.accounts.len()),
        ),
        Tab::Rank | Tab::Compare => return,
    };
    *selected = selected.saturating_add_signed(by).min(count.saturating_sub(1));
}

fn save(app: &mut App) -> Vec<Effect> {
    if let Some(path) = &app.session_path {
        let request = Request::SaveSession { session: for_disk(app), path: path.clone() };
        vec![Effect::ask(request)]
    } else {
        app.popup = Some(prompt(
            "Save the session",
            "data files stay where they are; paths are relative to this file",
            "session.ron",
            Wanted::PlaceToSave,
        ));
        Vec::new()
    }
}

/// The session with the fingerprints of the public data that were read.
fn for_disk(app: &App) -> crate::session::Session {
    let mut session = app.session.clone();
    for dataset in &mut session.datasets {
        if let Some(DatasetStatus::Ready { loaded, .. }) = app.data.status.get(&dataset.name) {
            dataset.fingerprint.clone_from(&loaded.definition.fingerprint);
        }
    }
    session
}

fn ask_to_quit(app: &mut App) {
    let working = app.working();
    if app.leaving {
        app.quit = true;
        return;
    }
    let text = if working > 0 {
        let runs = if working == 1 { "A run is".to_owned() } else { format!("{working} runs are") };
        format!("{runs} under way. Stop and quit? What was drawn stays charged.")
    } else if app.unsaved && app.demo.is_none() {
        "The session has changes that are not saved. Quit without them? (s saves)".to_owned()
    } else {
        leave(app);
        return;
    };
    app.popup = Some(Popup::Question { text, then: Answer::Quit });
}

/// Stops what runs; quits at once when nothing does.
fn leave(app: &mut App) {
    app.quit = app.leaving || app.working() == 0;
    app.leaving = true;
    for run in &app.run.runs {
        run.control.stop();
    }
}

fn confirmed(app: &mut App, answer: Answer) -> Vec<Effect> {
    match answer {
        Answer::Quit => leave(app),
        Answer::Launch => return launch(app),
        Answer::StopRun(id) => {
            if let Some(run) = app.run.runs.iter().find(|run| run.id == id) {
                run.control.stop();
            }
        }
        Answer::RemoveDataset(name) => {
            app.session.datasets.retain(|dataset| dataset.name != name);
            app.session.budgets.remove(&name);
            app.data.status.remove(&name);
            app.changed();
            select(app, 0);
            return app.ask_preview().into_iter().collect();
        }
        Answer::RemovePlan => {
            if app.plan.plan < app.session.plans.len() {
                app.session.plans.remove(app.plan.plan);
                app.plan.plan = app.plan.plan.min(app.session.plans.len().saturating_sub(1));
                app.changed();
            }
            return app.ask_preview().into_iter().collect();
        }
        Answer::AcceptPast(account) => {
            return vec![Effect::ask(Request::AcceptUnknownPast(account))];
        }
        Answer::SettleDead(run) => return vec![Effect::ask(Request::AbandonRun(run))],
        Answer::Repair => return vec![Effect::ask(Request::RepairLedger)],
    }
    Vec::new()
}

fn prompt(title: &str, help: &str, text: &str, then: Wanted) -> Popup {
    Popup::Prompt(Prompt {
        title: title.to_owned(),
        help: help.to_owned(),
        text: TextField::new(text),
        problem: None,
        then,
    })
}

fn prompted(app: &mut App, mut prompt: Prompt) -> Vec<Effect> {
    let text = prompt.text.text().trim().to_owned();
    if text.is_empty() {
        prompt.problem = Some("type something, or leave with Esc".to_owned());
        app.popup = Some(Popup::Prompt(prompt));
        return Vec::new();
    }
    let request = match &prompt.then {
        Wanted::DatasetFile => Request::Inspect(text),
        Wanted::SessionToOpen => Request::OpenSession(text.into()),
        Wanted::PlaceToSave => Request::SaveSession { session: for_disk(app), path: text.into() },
        Wanted::Budget(dataset) => match parse_budget(&text) {
            Ok(budget) => {
                app.session.budgets.insert(dataset.clone(), budget);
                let dataset = dataset.clone();
                app.changed();
                let mut effects = vec![Effect::ask(Request::SetBudget { dataset, budget })];
                effects.extend(app.ask_preview());
                return effects;
            }
            Err(error) => {
                prompt.problem = Some(super::app::one_line(&error));
                app.popup = Some(Popup::Prompt(prompt));
                return Vec::new();
            }
        },
    };
    vec![Effect::ask(request)]
}

fn on_data(app: &mut App, action: Action) -> Vec<Effect> {
    let selected = app.session.datasets.get(app.data.selected).cloned();
    match (action, selected) {
        (Action::AddDataset, _) => {
            app.popup = Some(prompt(
                "Add a dataset",
                "path of a CSV or TSV file with a header, relative to the session",
                "",
                Wanted::DatasetFile,
            ));
        }
        (Action::EditDataset, Some(definition)) => {
            let known = match app.data.status.get(&definition.name) {
                Some(DatasetStatus::Ready { loaded, .. }) => {
                    loaded.columns.iter().map(|column| column.name.clone()).collect()
                }
                _ => Vec::new(),
            };
            app.popup = Some(Popup::Dataset(Box::new(DatasetForm::new(definition, known, false))));
        }
        (Action::RemoveDataset, Some(definition)) => {
            let text = format!(
                "Remove '{}' from the session? Its file and its ledger entries stay.",
                definition.name
            );
            app.popup =
                Some(Popup::Question { text, then: Answer::RemoveDataset(definition.name) });
        }
        (Action::ReloadDataset, Some(definition)) => {
            app.data.status.insert(definition.name.clone(), DatasetStatus::Loading);
            let mut effects = vec![Effect::ask(Request::Load(definition))];
            effects.extend(app.ask_preview());
            return effects;
        }
        _ => {}
    }
    Vec::new()
}

fn save_dataset(app: &mut App, mut form: Box<DatasetForm>) -> Vec<Effect> {
    let definition = match form.definition() {
        Ok(definition) => definition,
        Err(error) => {
            form.problem = Some(super::app::one_line(&error));
            app.popup = Some(Popup::Dataset(form));
            return Vec::new();
        }
    };
    let clash =
        app.session.datasets.iter().any(|other| {
            other.name == definition.name && form.replaces.as_ref() != Some(&other.name)
        });
    if clash {
        form.problem = Some(format!("another dataset is called '{}'", definition.name));
        app.popup = Some(Popup::Dataset(form));
        return Vec::new();
    }
    if let Some(old) = &form.replaces {
        rename(app, old, &definition.name);
        if let Some(place) = app.session.datasets.iter_mut().find(|dataset| dataset.name == *old) {
            *place = definition.clone();
        }
        app.data.status.remove(old);
    } else {
        app.session.datasets.push(definition.clone());
        app.data.selected = app.session.datasets.len() - 1;
    }
    app.changed();
    app.data.status.insert(definition.name.clone(), DatasetStatus::Loading);
    let mut effects = vec![Effect::ask(Request::Load(definition))];
    effects.extend(app.ask_preview());
    effects
}

/// Plans and budgets follow a dataset's new name.
fn rename(app: &mut App, old: &str, new: &str) {
    if let Some(budget) = app.session.budgets.remove(old) {
        app.session.budgets.insert(new.to_owned(), budget);
    }
    for plan in &mut app.session.plans {
        for name in std::iter::once(&mut plan.private).chain(&mut plan.public) {
            if name == old {
                new.clone_into(name);
            }
        }
    }
}

fn on_plan(app: &mut App, action: Action) -> Vec<Effect> {
    let count = app.session.plans.len();
    match action {
        Action::NewPlan => return new_plan(app),
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
                let text = TextField::new(&field.value(plan));
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
        _ => {}
    }
    Vec::new()
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
    let stem = plan.name.clone();
    let mut number = 2;
    while app.session.plans.iter().any(|other| other.name == plan.name) {
        plan.name = format!("{stem} {number}");
        number += 1;
    }
    app.session.plans.push(plan);
    app.plan.plan = app.session.plans.len() - 1;
    app.plan.field = 0;
    app.changed();
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
    let Ok(now) = field.value(plan).parse::<f64>() else { return Vec::new() };
    let next = match field {
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

fn launch(app: &mut App) -> Vec<Effect> {
    let Some(plan) = app.session.plans.get(app.plan.plan).cloned() else { return Vec::new() };
    let id = app.run.runs.iter().map(|run| run.id + 1).max().unwrap_or(1);
    let control = Control::default();
    control.set_pace(app.run.pace);
    let watch = app.watch.for_run();
    app.run.runs.push(RunView::new(id, &plan, control.clone(), watch.clone()));
    app.run.selected = app.run.runs.len() - 1;
    (app.run.window, app.run.cursor, app.run.frozen) = (None, None, None);
    app.tab = Tab::Run;
    app.notice = None;
    let session = for_disk(app);
    vec![Effect::ask(Request::Launch { id, session, plan, watch, control })]
}

fn on_run(app: &mut App, action: Action) -> Vec<Effect> {
    let Some(run) = app.run.runs.get(app.run.selected) else { return Vec::new() };
    let last = run.epsilon.last().map_or(1.0, |(step, _)| *step);
    let (low, high) = app.run.window.unwrap_or((0.0, last.max(2.0)));
    let middle = app.run.cursor.unwrap_or(f64::midpoint(low, high));
    match action {
        Action::Pause | Action::Stop if run.has_ended() => {
            app.say(Level::Info, "this run has ended");
        }
        Action::Pause if run.control.is_paused() => run.control.resume(),
        Action::Pause => run.control.pause(),
        Action::Stop => {
            let text = "Stop this run? It delivers the model of its last step; what was drawn stays charged.";
            app.popup =
                Some(Popup::Question { text: text.to_owned(), then: Answer::StopRun(run.id) });
        }
        Action::Slower | Action::Faster => {
            let now = run.control.pace();
            let next = match (action, now) {
                (Action::Faster, Some(pace)) if pace < 512.0 => Some(pace * 2.0),
                (Action::Faster, _) => None,
                (_, Some(pace)) => Some((pace / 2.0).max(0.5)),
                (_, None) => Some(512.0),
            };
            run.control.set_pace(next);
            app.run.pace = next;
            app.say(
                Level::Info,
                match next {
                    Some(pace) => format!("pace: at most {pace} steps per second"),
                    None => "pace: as fast as it can".to_owned(),
                },
            );
        }
        Action::LogAxis => app.run.log_loss = !app.run.log_loss,
        Action::Smooth => {
            app.run.smoothing = match app.run.smoothing {
                x if x < 0.5 => 0.6,
                x if x < 0.8 => 0.9,
                _ => 0.0,
            };
        }
        Action::Freeze => {
            app.run.frozen = if app.run.frozen.is_some() { None } else { Some(last) };
        }
        Action::ZoomIn | Action::ZoomOut => {
            let factor = if action == Action::ZoomIn { 0.8 } else { 1.25 };
            let (new_low, new_high) =
                (middle - (middle - low) * factor, middle + (high - middle) * factor);
            app.run.window = if new_low <= 0.0 && new_high >= last {
                None
            } else if new_high - new_low < 2.0 {
                Some((low, high))
            } else {
                Some((new_low.max(0.0), new_high.min(last.max(2.0))))
            };
        }
        Action::CursorLeft | Action::CursorRight => {
            let stride = ((high - low) / 60.0).round().max(1.0);
            let by = if action == Action::CursorRight { stride } else { -stride };
            let from = app.run.cursor.unwrap_or(if by > 0.0 { low } else { high });
            app.run.cursor = Some((from + by).clamp(low.max(1.0), high.max(1.0)));
        }
        Action::ResetView => (app.run.window, app.run.cursor) = (None, None),
        _ => {}
    }
    Vec::new()
}

fn on_ledger(app: &mut App, action: Action) -> Vec<Effect> {
    let account = app.selected_account();
    match action {
        Action::SetBudget => {
            let named =
                account.and_then(|account| account.datasets.last()).map(|it| it.name.clone());
            let name = named.filter(|name| app.names_with(Role::Private).contains(name));
            let Some(name) = name.or_else(|| app.names_with(Role::Private).into_iter().next())
            else {
                app.say(
                    Level::Warning,
                    "no dataset of this session is private: mark one on the Data screen",
                );
                return Vec::new();
            };
            let now = account.and_then(|account| account.budget);
            let now = now.or(app.session.budgets.get(&name).copied());
            let text = now.map(|it| format!("{} {:e}", it.epsilon, it.delta)).unwrap_or_default();
            let title = format!("Budget of '{name}'");
            app.popup = Some(prompt(
                &title,
                "ε and δ for everything ever, such as: 4 1e-5",
                &text,
                Wanted::Budget(name),
            ));
        }
        Action::AcceptPast => match account.filter(|account| account.unknown_past) {
            Some(account) => {
                let text = format!(
                    "Lines of the ledger were lost. Accept that nobody knows what '{}' spent then, and go on?",
                    account.id.0
                );
                app.popup =
                    Some(Popup::Question { text, then: Answer::AcceptPast(account.id.clone()) });
            }
            None => app.say(Level::Info, "the past of this dataset is known: nothing to accept"),
        },
        Action::SettleDead => {
            let mine: Vec<_> = app
                .run
                .runs
                .iter()
                .filter(|run| !run.has_ended())
                .filter_map(|run| run.run.clone())
                .collect();
            let dead = account.and_then(|account| {
                account
                    .runs
                    .iter()
                    .find(|run| run.state == RunState::Open && !mine.contains(&run.grant.run))
            });
            match dead {
                Some(run) => {
                    let id = run.grant.run.clone();
                    let text = format!(
                        "Settle {}? If its process is gone, only what it had announced stays charged.",
                        id.0
                    );
                    app.popup = Some(Popup::Question { text, then: Answer::SettleDead(id) });
                }
                None => app.say(Level::Info, "no run is open here: nothing to settle"),
            }
        }
        Action::Repair => {
            let text = "Set a damaged ledger aside and go on with its good lines? What is lost counts as unknown.";
            app.popup = Some(Popup::Question { text: text.to_owned(), then: Answer::Repair });
        }
        _ => {}
    }
    Vec::new()
}

fn on_report(app: &mut App, report: Report) -> Vec<Effect> {
    match report {
        Report::SessionOpened { session, path } => {
            app.say(Level::Good, format!("opened {}", path.display()));
            app.session = session;
            app.session_path = Some(path);
            app.unsaved = false;
            app.demo = None;
            app.run.pace = None;
            (app.data, app.plan) = Default::default();
            return app.first_requests();
        }
        Report::SessionSaved(path) => {
            app.say(Level::Good, format!("saved {}", path.display()));
            app.session_path = Some(path);
            app.unsaved = false;
        }
        Report::Loaded { loaded, account } => {
            let name = loaded.definition.name.clone();
            if let Some(warning) = loaded.warnings.first() {
                app.say(Level::Warning, warning.clone());
            }
            app.data.status.insert(name, DatasetStatus::Ready { loaded, account });
        }
        Report::LoadFailed { name, error } => {
            app.complain(&error);
            app.data.status.insert(name, DatasetStatus::Failed(error));
        }
        Report::Inspected { file, columns } => {
            let role =
                if app.names_with(Role::Private).is_empty() { Role::Private } else { Role::Public };
            let definition = suggest(&file, &columns, role);
            let known = columns.into_iter().map(|column| column.name).collect();
            app.popup = Some(Popup::Dataset(Box::new(DatasetForm::new(definition, known, true))));
        }
        Report::Preview(preview) => {
            app.plan.waiting = false;
            app.plan.preview = Some((*preview).map(Box::new));
        }
        Report::Ledger(book) => {
            app.ledger.book = Some(book);
            if app.ledger.selected > 0 {
                app.ledger.selected = app.ledger.selected.min(
                    app.ledger
                        .book
                        .as_ref()
                        .map_or(0, |book| book.accounts.len().saturating_sub(1)),
                );
            }
        }
        Report::Job { id, news } => {
            let heard =
                app.run.runs.iter_mut().find(|run| run.id == id).and_then(|run| run.hear(news));
            match heard {
                None => return Vec::new(),
                Some(Ok(line)) => app.say(Level::Good, line),
                Some(Err(error)) => app.complain(&error),
            }
            if app.leaving && app.working() == 0 {
                app.quit = true;
            }
            return app.ask_preview().into_iter().collect();
        }
        Report::Trouble(error) => app.complain(&error),
        Report::Remark(text) => app.say(Level::Info, text),
    }
    Vec::new()
}

fn on_mouse(app: &mut App, mouse: MouseEvent, hits: &Hits) -> Vec<Effect> {
    let at = Position::new(mouse.column, mouse.row);
    match mouse.kind {
        MouseEventKind::Down(MouseButton::Left) if app.popup.is_none() => {
            if let Some((_, tab)) = hits.tabs.iter().find(|(area, _)| area.contains(at)) {
                app.plan.editing = None;
                return go_to(app, *tab);
            }
            if let Some((area, first)) = hits.rows.filter(|(area, _)| area.contains(at)) {
                let row = first + usize::from(at.y - area.y);
                app.plan.editing = None;
                select(app, isize::MIN / 2);
                select(app, row as isize);
            }
            if let Some(plot) = hits.charts.iter().find(|plot| plot.area.contains(at)) {
                app.run.cursor = Some(plot.x_at(at.x));
            }
        }
        MouseEventKind::Moved | MouseEventKind::Drag(MouseButton::Left) if app.popup.is_none() => {
            if let Some(plot) = hits.charts.iter().find(|plot| plot.area.contains(at)) {
                app.run.cursor = Some(plot.x_at(at.x));
            }
        }
        MouseEventKind::ScrollDown | MouseEventKind::ScrollUp => {
            let down = mouse.kind == MouseEventKind::ScrollDown;
            if let Some(Popup::Help { scroll }) = &mut app.popup {
                *scroll = if down { scroll.saturating_add(1) } else { scroll.saturating_sub(1) };
            } else if app.popup.is_none() {
                if hits.charts.iter().any(|plot| plot.area.contains(at)) {
                    return on_run(app, if down { Action::ZoomOut } else { Action::ZoomIn });
                }
                select(app, if down { 1 } else { -1 });
            }
        }
        _ => {}
    }
    Vec::new()
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
