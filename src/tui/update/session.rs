//! Saving, opening, undo, leaving.

use super::{prompt, select};
use crate::engine::Request;
use crate::session::Session;
use crate::tui::app::{App, DatasetStatus, Effect, Level};
use crate::tui::popup::{Answer, Popup, Wanted};

pub(super) fn save(app: &mut App) -> Vec<Effect> {
    if let Some(path) = &app.session_path {
        let request = Request::SaveSession { session: for_disk(app), path: path.clone() };
        return vec![Effect::ask(request)];
    }
    app.popup = Some(prompt(
        "Save the session",
        "data files stay where they are; paths are relative to this file",
        "session.ron",
        Wanted::PlaceToSave,
    ));
    Vec::new()
}

pub(super) fn ask_to_open(app: &mut App) {
    let last = app.state.last_session.as_ref().map(|path| path.display().to_string());
    app.popup = Some(prompt(
        "Open a session",
        "path of a session file (.ron); what stands here is the last one",
        &last.unwrap_or_default(),
        Wanted::SessionToOpen,
    ));
}

/// The session with the fingerprints of the public data that were read.
pub(super) fn for_disk(app: &App) -> Session {
    let mut session = app.session.clone();
    for dataset in &mut session.datasets {
        if let Some(DatasetStatus::Ready { loaded, .. }) = app.data.status.get(&dataset.name) {
            dataset.fingerprint.clone_from(&loaded.definition.fingerprint);
        }
    }
    session
}

pub(super) fn undo(app: &mut App) -> Vec<Effect> {
    let before = app.history.undo().cloned();
    restore(
        app,
        before,
        "undone; what was spent or budgeted in the ledger stays",
        "nothing to undo",
    )
}

pub(super) fn redo(app: &mut App) -> Vec<Effect> {
    let after = app.history.redo().cloned();
    restore(app, after, "done again", "nothing to do again")
}

/// Puts another state of the session in place; datasets that differ are read anew.
fn restore(app: &mut App, session: Option<Session>, done: &str, nothing: &str) -> Vec<Effect> {
    let Some(session) = session else {
        app.say(Level::Info, nothing);
        return Vec::new();
    };
    let before = std::mem::replace(&mut app.session, session);
    app.unsaved = true;
    let mut effects = Vec::new();
    for dataset in &app.session.datasets {
        let same = before.datasets.iter().any(|other| other == dataset);
        if !same || !app.data.status.contains_key(&dataset.name) {
            app.data.status.insert(dataset.name.clone(), DatasetStatus::Loading(0.0));
            effects.push(Effect::ask(Request::Load(dataset.clone())));
        }
    }
    let session = &app.session;
    let known = |name: &String| session.datasets.iter().any(|dataset| dataset.name == *name);
    app.data.status.retain(|name, _| known(name));
    app.plan.plan = app.plan.plan.min(app.session.plans.len().saturating_sub(1));
    app.plan.editing = None;
    app.data.selected = app.data.selected.min(app.session.datasets.len().saturating_sub(1));
    select(app, 0);
    app.say(Level::Info, done);
    effects.extend(app.ask_preview());
    effects
}

pub(super) fn ask_to_quit(app: &mut App) {
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
pub(super) fn leave(app: &mut App) {
    app.quit = app.leaving || app.working() == 0;
    app.leaving = true;
    app.plan.working = false;
    for run in &app.run.runs {
        run.control.stop();
    }
    if let Some(work) = &app.rank.work {
        work.control.stop();
    }
}
