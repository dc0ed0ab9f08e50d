//! What the engine's desk tells.

use std::path::PathBuf;

use super::{Change, Context, DatasetStatus, Popup, Queue, ShownPlan};
use crate::data::Role;
use crate::engine::desk::{News, suggest};
use crate::engine::{Report, Request};
use crate::session::Session;
use crate::tui::history::History;
use crate::tui::live_ranking::LiveRanking;
use crate::tui::live_rehearsal::LiveRehearsal;
use crate::tui::notice::Level;
use crate::tui::popup::dataset_form::DatasetForm;
use crate::tui::popup::file_browser::FileBrowser;

impl Context {
    pub fn hear(&mut self, report: Report) {
        match report {
            Report::SessionOpened { session, path } => self.opened(*session, path),
            Report::SessionSaved(path) => {
                self.say(Level::Good, format!("saved {}", path.display()));
                self.unsaved = false;
                self.remember(path);
            }
            Report::Reading { name, bytes, of } => {
                if let Some(DatasetStatus::Loading(share)) = self.datasets.get_mut(&name) {
                    *share = bytes as f64 / of.max(1) as f64;
                }
            }
            Report::Loaded { loaded, account } => {
                let name = loaded.definition.name.clone();
                if let Some(warning) = loaded.warnings.first() {
                    self.say(Level::Warning, warning.clone());
                }
                self.peeked.take_if(|(peeked, _)| *peeked == name);
                self.datasets.insert(name, DatasetStatus::Ready { loaded, account });
                self.ask_preview();
            }
            Report::LoadFailed { name, error } => {
                self.complain(&error);
                self.datasets.insert(name, DatasetStatus::Failed(error));
                self.ask_preview();
            }
            Report::Inspected { file, columns } => {
                let no_private = self.names_with(Role::Private).is_empty();
                let role = if no_private { Role::Private } else { Role::Public };
                let definition = suggest(&file, &columns, role);
                let known = columns.into_iter().map(|column| column.name).collect();
                let form = DatasetForm::new(definition, known, true);
                self.notice = None;
                self.popup = Some(Popup::Dataset(Box::new(form)));
            }
            Report::Listing(listing) => {
                // The listing opens the browser, or shows the next directory in it.
                if matches!(self.popup, None | Some(Popup::Files(_))) {
                    let files = FileBrowser::new(&listing);
                    if let Some(file) = files.file() {
                        self.ask(Request::Glance { file, look: None });
                    }
                    self.popup = Some(Popup::Files(Box::new(files)));
                }
            }
            Report::Glance { file, schema } => {
                if let Some(Popup::Files(files)) = &mut self.popup {
                    files.glance = Some((file, schema));
                }
            }
            Report::Peeked { dataset, rows } => {
                self.peeked = rows.map(|rows| (dataset, rows));
                if self.peeked.is_some() {
                    self.say(
                        Level::Warning,
                        "◆ private rows: for your eyes; a setting chosen by them is outside the guarantee",
                    );
                }
            }
            Report::Archive(runs) => {
                let before = self.archive.replace(runs);
                self.note(Change::Archive(before));
            }
            Report::Preview(preview) => {
                self.plan.waiting = false;
                self.plan.preview = Some((*preview).map(Box::new));
            }
            Report::Ledger(book, digests) => {
                self.book = Some(book);
                self.digests = digests;
                self.note(Change::Ledger);
            }
            Report::Job { id, news } => {
                let ended = matches!(news, News::Ended(_));
                let run = self.runs.iter_mut().find(|run| run.id == id);
                match run.and_then(|run| run.hear(news)) {
                    None => {}
                    Some(Ok(line)) => self.say(Level::Good, line),
                    Some(Err(error)) => self.complain(&error),
                }
                if ended {
                    self.leave_when_done();
                    self.run_ended(id);
                    self.ask_preview();
                }
            }
            Report::Rank { id, news } => {
                let said = self.ranking.hear(id, news, &self.watch);
                match &said {
                    None => return,
                    Some(Ok(line)) => self.say(Level::Good, line),
                    Some(Err(error)) => self.complain(error),
                }
                self.leave_when_done();
            }
            Report::Rehearsal { id, news } => match self.rehearsal.hear(id, news) {
                None => {}
                Some(Ok(line)) => {
                    self.say(Level::Good, line);
                    self.ask_preview();
                }
                Some(Err(error)) => self.complain(&error),
            },
            Report::Trouble(error) => self.complain(&error),
            Report::Remark(text) => self.say(Level::Info, text),
        }
    }

    fn opened(&mut self, session: Session, path: PathBuf) {
        self.say(Level::Good, format!("opened {}", path.display()));
        self.history = History::new(&session);
        self.session = session;
        self.unsaved = false;
        self.demo = None;
        self.pace = None;
        if let Some(work) = &self.ranking.work {
            work.control.stop();
        }
        // Numbers go on: news of another session's ranking must not be taken for this one's.
        self.ranking = LiveRanking { started: self.ranking.started, ..LiveRanking::default() };
        self.rehearsal.stop();
        self.rehearsal = LiveRehearsal { started: self.rehearsal.started, ..Default::default() };
        self.datasets.clear();
        self.peeked = None;
        (self.plan, self.queue) = (ShownPlan::default(), Queue::default());
        self.archive = None;
        self.note(Change::Opened);
        self.ask_for_everything();
        self.remember(path);
    }

    /// Keeps where the user was, for the next time.
    fn remember(&mut self, path: PathBuf) {
        self.state.last_session = Some(std::path::absolute(&path).unwrap_or_else(|_| path.clone()));
        self.session_path = Some(path);
        self.ask(Request::Remember(self.state.clone()));
    }
}
