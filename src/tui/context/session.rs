//! Saving, opening, undo, leaving.

use super::{Change, Context, DatasetStatus, Popup};
use crate::engine::Request;
use crate::session::Session;
use crate::tui::notice::Level;
use crate::tui::popup::question::{Prompt, Question};

impl Context {
    /// What to ask for when the interface opens or another session is loaded.
    pub fn ask_for_everything(&mut self) {
        for definition in self.session.datasets.clone() {
            self.load(definition);
        }
        self.ask(Request::Ledger);
        self.ask_preview();
    }

    /// The session changed and differs from what is on disk.
    pub fn changed(&mut self) {
        self.unsaved = true;
        self.history.note(&self.session);
    }

    pub fn save(&mut self) {
        if let Some(path) = self.session_path.clone() {
            let session = self.for_disk();
            return self.ask(Request::SaveSession { session, path });
        }
        self.prompt(Prompt::new(
            "Save the session",
            "data files stay where they are; paths are relative to this file",
            "session.ron",
            |context: &mut Self, path| {
                let session = context.for_disk();
                context.ask(Request::SaveSession { session, path: path.into() });
                Ok(())
            },
        ));
    }

    pub fn ask_to_open(&mut self) {
        let last = self.state.last_session.as_ref().map(|path| path.display().to_string());
        self.prompt(Prompt::new(
            "Open a session",
            "path of a session file (.ron); what stands here is the last one",
            &last.unwrap_or_default(),
            |context: &mut Self, path| {
                context.ask(Request::OpenSession(path.into()));
                Ok(())
            },
        ));
    }

    /// The session with the fingerprints of the public data that were read.
    pub fn for_disk(&self) -> Session {
        let mut session = self.session.clone();
        for dataset in &mut session.datasets {
            if let Some(DatasetStatus::Ready { loaded, .. }) = self.datasets.get(&dataset.name) {
                dataset.fingerprint.clone_from(&loaded.definition.fingerprint);
            }
        }
        session
    }

    /// False when there was nothing to undo.
    pub fn undo(&mut self) -> bool {
        let before = self.history.undo().cloned();
        self.restore(
            before,
            "undone; what was spent or budgeted in the ledger stays",
            "nothing to undo",
        )
    }

    /// False when there was nothing to do again.
    pub fn redo(&mut self) -> bool {
        let after = self.history.redo().cloned();
        self.restore(after, "done again", "nothing to do again")
    }

    /// Puts another state of the session in place; datasets that differ are read anew.
    fn restore(&mut self, session: Option<Session>, done: &str, nothing: &str) -> bool {
        let Some(session) = session else {
            self.say(Level::Info, nothing);
            return false;
        };
        let before = std::mem::replace(&mut self.session, session);
        self.unsaved = true;
        for dataset in self.session.datasets.clone() {
            if !before.datasets.contains(&dataset) || !self.datasets.contains_key(&dataset.name) {
                self.load(dataset);
            }
        }
        let session = &self.session;
        let known = |name: &String| session.datasets.iter().any(|dataset| dataset.name == *name);
        self.datasets.retain(|name, _| known(name));
        self.plan.index = self.plan.index.min(self.session.plans.len().saturating_sub(1));
        self.note(Change::Restored);
        self.say(Level::Info, done);
        self.ask_preview();
        true
    }

    pub fn ask_to_quit(&mut self) {
        if self.leaving {
            self.quit = true;
            return;
        }
        let working = self.working();
        let text = if working > 0 {
            let runs =
                if working == 1 { "A run is".to_owned() } else { format!("{working} runs are") };
            format!("{runs} under way. Stop and quit? What was drawn stays charged.")
        } else if self.unsaved && self.demo.is_none() {
            "The session has changes that are not saved. Quit without them? (s saves)".to_owned()
        } else {
            return self.leave();
        };
        let mut question = Question::new(text, "quit", Self::leave);
        if working == 0 {
            question.other = Some(('s', Box::new(Self::save)));
        }
        self.popup = Some(Popup::Question(question));
    }

    /// Stops what runs; quits at once when nothing does.
    pub fn leave(&mut self) {
        self.quit = self.leaving || self.working() == 0;
        self.leaving = true;
        self.queue.working = false;
        for run in &self.runs {
            run.control.stop();
        }
        if let Some(work) = &self.ranking.work {
            work.control.stop();
        }
    }

    /// The last of what ran has ended.
    pub(super) fn leave_when_done(&mut self) {
        self.quit |= self.leaving && self.working() == 0;
    }
}
