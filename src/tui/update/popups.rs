//! Keys in windows over a screen, and what their answers mean.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::{act, data, export, go_to, plan, prompt, queue, rank, select, session};
use crate::engine::Request;
use crate::tui::app::{App, Effect, Level, Tab, one_line};
use crate::tui::popup::picker::{Files, Picked};
use crate::tui::popup::{ALLOW, Answer, Popup, Prompt, Wanted, parse_budget};

pub(super) fn on_key(app: &mut App, popup: Popup, key: KeyEvent) -> Vec<Effect> {
    // Every window is left by Esc.
    if key.code == KeyCode::Esc {
        return Vec::new();
    }
    match popup {
        Popup::Help { mut search, scroll } => {
            let scroll = match key.code {
                KeyCode::Down => scroll.saturating_add(1),
                KeyCode::Up => scroll.saturating_sub(1),
                KeyCode::PageDown => scroll.saturating_add(10),
                KeyCode::PageUp => scroll.saturating_sub(10),
                KeyCode::Enter => return Vec::new(),
                _ => {
                    search.handle(key);
                    0
                }
            };
            app.popup = Some(Popup::Help { search, scroll });
        }
        Popup::Question { text, then } => match key.code {
            KeyCode::Char('y' | 'Y') | KeyCode::Enter => return confirmed(app, then),
            KeyCode::Char('s') if then == Answer::Quit && app.working() == 0 => {
                return session::save(app);
            }
            KeyCode::Char('n' | 'N' | 'q') => {}
            _ => app.popup = Some(Popup::Question { text, then }),
        },
        Popup::Prompt(mut prompt) => {
            if key.code == KeyCode::Enter {
                return prompted(app, prompt);
            }
            prompt.problem = None;
            prompt.text.handle(key);
            app.popup = Some(Popup::Prompt(prompt));
        }
        Popup::Dataset(mut form) => {
            if key.code == KeyCode::Enter {
                return data::save(app, form);
            }
            form.handle(key);
            app.popup = Some(Popup::Dataset(form));
        }
        Popup::Pick(mut picker) => {
            if key.code == KeyCode::Enter {
                let picked = picker.chosen().map(|item| item.picked.clone());
                return picked.map_or_else(Vec::new, |picked| take(app, picked));
            }
            picker.handle(key);
            app.popup = Some(Popup::Pick(picker));
        }
        Popup::Files(files) => return files_key(app, files, key),
        Popup::Export(mut form) => {
            if key.code == KeyCode::Enter {
                return export::write(app, form);
            }
            form.handle(key);
            app.popup = Some(Popup::Export(form));
        }
    }
    Vec::new()
}

pub(super) fn files_key(app: &mut App, mut files: Box<Files>, key: KeyEvent) -> Vec<Effect> {
    if key.code == KeyCode::Enter {
        return take_file(app, files);
    }
    let before = files.file();
    let look = key.code == KeyCode::Char('o') && key.modifiers.contains(KeyModifiers::CONTROL);
    if look && app.watch.is_sealed() {
        app.say(Level::Warning, "the view is sealed: v on a screen opens it");
    } else if !look {
        files.picker.handle(key);
    }
    let now = files.file();
    let moved = now != before;
    app.popup = Some(Popup::Files(files));
    let look = (look && !app.watch.is_sealed()).then(|| app.watch.clone());
    let now = now.filter(|_| moved || look.is_some());
    now.map(|file| Effect::ask(Request::Glance { file, look })).into_iter().collect()
}

/// Enters a directory, or describes a file.
pub(super) fn take_file(app: &mut App, files: Box<Files>) -> Vec<Effect> {
    let request = match files.picker.chosen().map(|item| &item.picked) {
        Some(Picked::Directory(name)) => {
            let directory = files.directory.join(name);
            app.popup = Some(Popup::Files(files));
            Request::Browse(directory)
        }
        Some(Picked::File(name)) => {
            app.say(Level::Info, format!("reading {name}…"));
            Request::Inspect(files.directory.join(name).display().to_string())
        }
        // Nothing matches: what was typed may be a path.
        _ if !files.picker.query.text().trim().is_empty() => {
            Request::Inspect(files.picker.query.text().trim().to_owned())
        }
        _ => {
            app.popup = Some(Popup::Files(files));
            return Vec::new();
        }
    };
    vec![Effect::ask(request)]
}

pub(super) fn take(app: &mut App, picked: Picked) -> Vec<Effect> {
    match picked {
        Picked::Do(tab, action) => {
            let mut effects = match tab.filter(|tab| *tab != app.tab) {
                Some(tab) => go_to(app, tab),
                None => Vec::new(),
            };
            effects.extend(act(app, action));
            effects
        }
        Picked::Preset(index) => plan::take_preset(app, index),
        Picked::Plan(plan) => plan::take_plan(app, &plan),
        Picked::Directory(_) | Picked::File(_) => Vec::new(),
    }
}

fn confirmed(app: &mut App, answer: Answer) -> Vec<Effect> {
    match answer {
        Answer::Quit => session::leave(app),
        Answer::Launch => return plan::launch_shown(app),
        Answer::StartQueue => return queue::start(app),
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
        Answer::DeleteRun(run) => return vec![Effect::ask(Request::DeleteRun(run))],
        Answer::AcceptPast(account) => {
            return vec![Effect::ask(Request::AcceptUnknownPast(account))];
        }
        Answer::SettleDead(run) => return vec![Effect::ask(Request::AbandonRun(run))],
        Answer::Repair => return vec![Effect::ask(Request::RepairLedger)],
    }
    Vec::new()
}

fn prompted(app: &mut App, mut prompt: Prompt) -> Vec<Effect> {
    let text = prompt.text.text().trim().to_owned();
    let may_be_empty = matches!(prompt.then, Wanted::Tag(_));
    if text.is_empty() && !may_be_empty {
        prompt.problem = Some("type something, or leave with Esc".to_owned());
        app.popup = Some(Popup::Prompt(prompt));
        return Vec::new();
    }
    let done = match &prompt.then {
        Wanted::SessionToOpen => Ok(vec![Effect::ask(Request::OpenSession(text.into()))]),
        Wanted::PlaceToSave => {
            let session = session::for_disk(app);
            Ok(vec![Effect::ask(Request::SaveSession { session, path: text.into() })])
        }
        Wanted::Tag(run) => Ok(vec![Effect::ask(Request::TagRun { run: run.clone(), tag: text })]),
        Wanted::Certificate(account) => {
            let (account, path) = (account.clone(), text.into());
            Ok(vec![Effect::ask(Request::Certify { account, path })])
        }
        Wanted::Sweep => queue::sweep(app, &text),
        Wanted::Ranking(action) => rank::privately(app, &text, *action),
        Wanted::Budget(dataset) => parse_budget(&text)
            .map(|budget| {
                app.session.budgets.insert(dataset.clone(), budget);
                app.changed();
                let dataset = dataset.clone();
                let mut effects = vec![Effect::ask(Request::SetBudget { dataset, budget })];
                effects.extend(app.ask_preview());
                effects
            })
            .map_err(|error| one_line(&error)),
    };
    done.unwrap_or_else(|problem| {
        prompt.problem = Some(problem);
        app.popup = Some(Popup::Prompt(prompt));
        Vec::new()
    })
}

/// Asks for a budget of the shown account.
pub(super) fn ask_for_budget(app: &mut App, name: String, now: &str) {
    let title = format!("Budget of '{name}'");
    let help =
        format!("ε and δ for everything ever, such as: 4 1e-5. δ of 1/n and more needs: {ALLOW}");
    app.popup = Some(prompt(&title, &help, now, Wanted::Budget(name)));
    app.tab = Tab::Ledger;
}
