//! What the engine's desk tells.

use super::{queue, rank};
use crate::data::Role;
use crate::engine::desk::{News, suggest};
use crate::engine::{Report, Request};
use crate::session::ArchivedRun;
use crate::tui::app::{App, DatasetStatus, Effect, Level};
use crate::tui::history::History;
use crate::tui::popup::Popup;
use crate::tui::popup::dataset_form::DatasetForm;
use crate::tui::popup::picker::{Files, Item, Picked, Picker};
use crate::tui::rank::RankScreen;

pub(super) fn on_report(app: &mut App, report: Report) -> Vec<Effect> {
    match report {
        Report::SessionOpened { session, path } => {
            app.say(Level::Good, format!("opened {}", path.display()));
            app.history = History::new(&session);
            app.session = *session;
            app.unsaved = false;
            app.demo = None;
            app.run.pace = None;
            if let Some(work) = &app.rank.work {
                work.control.stop();
            }
            // Numbers go on: news of another session's ranking must not be taken for this one's.
            app.rank = RankScreen { started: app.rank.started, ..RankScreen::default() };
            (app.data, app.plan) = Default::default();
            app.compare.runs = None;
            let mut effects = app.first_requests();
            effects.push(remember(app, path));
            return effects;
        }
        Report::SessionSaved(path) => {
            app.say(Level::Good, format!("saved {}", path.display()));
            app.unsaved = false;
            return vec![remember(app, path)];
        }
        Report::Reading { name, bytes, of } => {
            if let Some(DatasetStatus::Loading(share)) = app.data.status.get_mut(&name) {
                *share = bytes as f64 / of.max(1) as f64;
            }
        }
        Report::Loaded { loaded, account } => {
            let name = loaded.definition.name.clone();
            if let Some(warning) = loaded.warnings.first() {
                app.say(Level::Warning, warning.clone());
            }
            app.data.peeked.take_if(|(peeked, _)| *peeked == name);
            app.data.status.insert(name, DatasetStatus::Ready { loaded, account });
            return app.ask_preview().into_iter().collect();
        }
        Report::LoadFailed { name, error } => {
            app.complain(&error);
            app.data.status.insert(name, DatasetStatus::Failed(error));
            return app.ask_preview().into_iter().collect();
        }
        Report::Inspected { file, columns } => {
            let role =
                if app.names_with(Role::Private).is_empty() { Role::Private } else { Role::Public };
            let definition = suggest(&file, &columns, role);
            let known = columns.into_iter().map(|column| column.name).collect();
            app.notice = None;
            app.popup = Some(Popup::Dataset(Box::new(DatasetForm::new(definition, known, true))));
        }
        Report::Listing(listing) => {
            // The listing opens the browser, or shows the next directory in it.
            if matches!(app.popup, None | Some(Popup::Files(_))) {
                let files = Files::new(&listing);
                let first = files.file();
                app.popup = Some(Popup::Files(Box::new(files)));
                let glance = first.map(|file| Effect::ask(Request::Glance { file, look: None }));
                return glance.into_iter().collect();
            }
        }
        Report::Glance { file, schema } => {
            if let Some(Popup::Files(files)) = &mut app.popup {
                files.glance = Some((file, schema));
            }
        }
        Report::Peeked { dataset, rows } => {
            app.data.row = 0;
            app.data.peeked = rows.map(|rows| (dataset, rows));
            if app.data.peeked.is_some() {
                app.say(
                    Level::Warning,
                    "◆ private rows: for your eyes; a setting chosen by them is outside the guarantee",
                );
            }
        }
        Report::Archive(runs) => archive(app, runs),
        Report::Preview(preview) => {
            app.plan.waiting = false;
            app.plan.preview = Some((*preview).map(Box::new));
        }
        Report::Ledger(book, digests) => {
            app.ledger.book = Some(book);
            app.ledger.digests = digests;
            let last = app.ledger.book.as_ref().map_or(0, |book| book.accounts.len());
            app.ledger.selected = app.ledger.selected.min(last.saturating_sub(1));
        }
        Report::Job { id, news } => {
            let ended = matches!(news, News::Ended(_));
            let run = app.run.runs.iter_mut().find(|run| run.id == id);
            match run.and_then(|run| run.hear(news)) {
                None => {}
                Some(Ok(line)) => app.say(Level::Good, line),
                Some(Err(error)) => app.complain(&error),
            }
            if !ended {
                return Vec::new();
            }
            if app.leaving && app.working() == 0 {
                app.quit = true;
            }
            let mut effects = queue::ended(app, id);
            effects.extend(app.ask_preview());
            return effects;
        }
        Report::Rank { id, news } => rank::heard(app, id, news),
        Report::Trouble(error) => app.complain(&error),
        Report::Remark(text) => app.say(Level::Info, text),
    }
    Vec::new()
}

/// Keeps where the user was, for the next time.
fn remember(app: &mut App, path: std::path::PathBuf) -> Effect {
    app.state.last_session = Some(std::path::absolute(&path).unwrap_or_else(|_| path.clone()));
    app.session_path = Some(path);
    Effect::ask(Request::Remember(app.state.clone()))
}

fn archive(app: &mut App, runs: Vec<ArchivedRun>) {
    let selected = app.compare.run().map(|run| run.id.clone());
    if std::mem::take(&mut app.plan.wants_runs) && app.popup.is_none() {
        let items: Vec<Item> = runs.iter().filter_map(item_of).collect();
        if items.is_empty() {
            app.say(Level::Info, "there is no earlier run in this workspace");
        } else {
            app.popup = Some(Popup::Pick(Picker::new("Take the settings of", items)));
        }
    }
    let first = app.compare.runs.is_none();
    app.compare.runs = Some(runs);
    let place = selected.and_then(|id| app.compare.runs().iter().position(|run| run.id == id));
    let order = app.compare.order("", &app.watch);
    let top = order.first().copied().unwrap_or(0);
    app.compare.selected = if first { top } else { place.unwrap_or(top) };
}

fn item_of(run: &ArchivedRun) -> Option<Item> {
    let plan = run.plan.clone()?;
    Some(Item {
        title: plan.name.clone(),
        detail: format!("{} ε {} {} {}", plan.method, plan.target.epsilon, run.outcome, run.tag),
        key: run.time.clone(),
        picked: Picked::Plan(Box::new(plan)),
    })
}
