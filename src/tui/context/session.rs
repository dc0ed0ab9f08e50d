//! Saving, opening, undo, leaving.

use std::path::PathBuf;

use super::{Change, Context, DatasetStatus, DemoWorkspace, Effect, OpenPopup};
use crate::engine::Request;
use crate::engine::lookup::Wanted;
use crate::live_run::LiveRun;
use crate::popup::picker::Item;
use crate::popup::question::{QuestionPopup, Then};
use crate::session::unsaved::Unsaved;
use crate::session::{Session, WhenClosed, changes, plan_name};

/// Changes of the session that are in no file.
const UNSAVED: &str = "changes that are not saved";

/// How many of something there are, if any.
fn counted(count: usize, one: &str, several: &str) -> Option<String> {
    match count {
        0 => None,
        1 => Some(one.to_owned()),
        many => Some(format!("{many} {several}")),
    }
}

impl Context {
    /// Makes the requests needed when the interface opens or another session is loaded.
    pub fn ask_for_everything(&mut self) {
        // A user who watches waits for these first.
        if !self.watched.is_empty() {
            self.ask(Request::Watch(self.watched.clone()));
        }
        for definition in self.session.datasets.clone() {
            self.load(definition);
        }
        self.ask(Request::Ledger);
        self.ask_preview();
    }

    /// The session changed and differs from what is on disk.
    pub fn changed(&mut self) {
        plan_name::follow(self.history.present(), &mut self.session);
        self.history.note(&self.session);
        self.compare_with_disk();
    }

    /// Finds out whether the session differs from its file. Without a file any change is unsaved.
    pub fn compare_with_disk(&mut self) {
        // Fingerprints are added by reading the data.
        let plain = |mut session: Session| {
            session.datasets.iter_mut().for_each(|dataset| dataset.fingerprint = None);
            session
        };
        let on_disk = self.on_disk.clone().map(plain);
        self.unsaved = on_disk.is_none_or(|it| it != plain(self.for_disk()));
    }

    /// Offers the unsaved session of a program that was killed.
    pub fn offer_lost(&mut self) {
        let Some((Unsaved { session, path, .. }, _)) = &self.lost else { return };
        let name = path.as_ref().and_then(|path| path.file_name());
        let of = name.map_or("a new session".to_owned(), |name| name.display().to_string());
        let (datasets, plans) = (session.datasets.len(), session.plans.len());
        let text = format!(
            "A program ended here before it saved {of} (datasets: {datasets}, plans: {plans}). Open \
             what is kept of it?"
        );
        let mut question = QuestionPopup::new(text, "open", Self::open_lost);
        let forget = |context: &mut Self| {
            let file = context.lost.take().map(|(_, file)| Effect::Discard(file));
            context.effects.extend(file);
        };
        question.other = Some(('f', "forget it", Box::new(forget)));
        self.popup = Some(OpenPopup::Question(question));
    }

    pub fn save(&mut self) {
        self.after_saving = None;
        self.save_now();
    }

    /// Saves, and leaves once that is done.
    fn save_and_leave(&mut self) {
        self.after_saving = Some(Self::leave);
        self.save_now();
    }

    fn save_now(&mut self) {
        if self.demo.is_some() && self.working() > 0 {
            let text = "the demo's runs move to the saved session: save when nothing is under way";
            return self.warn(text);
        }
        if let Some(path) = self.session_path.clone() {
            let known = self.on_disk.clone().map(Box::new);
            return self.ask_to_save(path, known);
        }
        let help = "data files stay where they are; paths are relative to this file";
        self.ask_for("Save the session", help, "session.ron", |context, path| {
            let path = PathBuf::from(path);
            if path.extension().is_none_or(|it| it != "ron") {
                return context.warn("not saved: the name of a session ends in .ron");
            }
            context.ask_to_save(path, None);
        });
    }

    /// Saves, unless the file differs from the session that is `known`.
    fn ask_to_save(&mut self, path: PathBuf, known: Option<Box<Session>>) {
        let (session, moves) = (self.for_disk(), self.demo.is_some());
        self.ask(Request::SaveSession { session, path, known, moves });
    }

    /// Asks whether to overwrite a file that another interface or an editor has changed.
    pub(super) fn ask_to_overwrite(
        &mut self,
        found: Session,
        path: PathBuf,
        differences: &[String],
    ) {
        let text = format!(
            "{} was changed by somebody else and would be overwritten. The differences, yours \
                                        first: {}.",
            path.display(),
            differences.join("; ")
        );
        self.confirm(text, "overwrite", move |context| {
            context.ask_to_save(path, Some(Box::new(found)));
        });
    }

    /// Offers the recent sessions and any other, once the user may leave this one.
    pub fn ask_to_open(&mut self) {
        let ranking = self.ranking.work.as_ref().map(|_| "a ranking under way".to_owned());
        let lost: Vec<String> = self.unkept().into_iter().chain(ranking).collect();
        self.ask_to_lose(&lost, ("Open another one", "open"), Self::offer_sessions, None);
    }

    /// Parts of the session that are lost when it is left.
    fn unkept(&self) -> Vec<String> {
        let practises = self.demo.is_some() && self.tutorial.is_some();
        let changes = (self.unsaved && !practises).then_some(UNSAVED.to_owned());
        let runs = counted(self.runs_of_demo(), "a run of the demo", "runs of the demo");
        let queued = counted(self.queue.plans.len(), "a plan in the queue", "plans in the queue");
        changes.into_iter().chain(runs).chain(queued).collect()
    }

    /// How many runs go with the demo's workspace. Nobody misses those of the tutorial.
    fn runs_of_demo(&self) -> usize {
        if self.demo != Some(DemoWorkspace::Removed) || self.tutorial.is_some() {
            return 0;
        }
        // A run that has just ended may not be in the archive yet.
        let here = self.runs.iter().filter(|run| run.run.is_some()).count();
        self.archived().len().max(here)
    }

    /// Leaves the session if nothing is lost; otherwise asks.
    fn ask_to_lose(
        &mut self,
        lost: &[String],
        (what, yes): (&str, &'static str),
        leave: fn(&mut Self),
        saves_and: Option<fn(&mut Self)>,
    ) {
        if lost.is_empty() {
            return leave(self);
        }
        let can_save = lost.iter().any(|it| it == UNSAVED) || self.runs_of_demo() > 0;
        let (saves, save): (_, fn(&mut Self)) = match saves_and {
            Some(both) => ("save and quit", both),
            None => ("save", Self::save),
        };
        let text = format!("The session has {}. {what} without them?", lost.join(" and "));
        let mut question = QuestionPopup::new(text, yes, leave);
        question.other = can_save.then(|| ('s', saves, Box::new(save) as Then<Self>));
        self.popup = Some(OpenPopup::Question(question));
    }

    fn offer_sessions(&mut self) {
        let browse = |context: &mut Self| {
            context.ask(Request::Browse(PathBuf::from("."), Wanted::Sessions));
        };
        let recent = self.state.recent.clone();
        if recent.is_empty() {
            return browse(self);
        }
        let items = recent.into_iter().map(|path| {
            let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
            let folder = path.parent().map(|folder| folder.display().to_string());
            let take = move |context: &mut Self| context.ask(Request::OpenSession(path));
            Item::that(name.unwrap_or_default(), folder.unwrap_or_default(), take)
        });
        let other = Item::that("another one…", "browse, or type its path", browse);
        self.pick("Open a session", items.chain([other]).collect());
    }

    /// The session with the fingerprints of the public data that were read, and with the seal of the
    /// view.
    pub fn for_disk(&self) -> Session {
        let mut session = self.session.clone();
        session.sealed = self.watch.is_sealed();
        for dataset in &mut session.datasets {
            if let Some(DatasetStatus::Ready { loaded, .. }) = self.datasets.get(&dataset.name) {
                // With the fingerprint of private rows somebody could guess the last of them.
                let open = self.withheld(&dataset.name).is_none();
                let found = loaded.definition.fingerprint.clone();
                dataset.fingerprint = found.filter(|_| open);
            }
        }
        session
    }

    /// False when there was nothing to undo.
    pub fn undo(&mut self) -> bool {
        let before = self.history.undo().cloned();
        self.restore(before, "undone", "nothing to undo")
    }

    /// False when there was nothing to redo.
    pub fn redo(&mut self) -> bool {
        let after = self.history.redo().cloned();
        self.restore(after, "redone", "nothing to redo")
    }

    /// Restores another state of the session; datasets that differ are read again.
    fn restore(&mut self, session: Option<Session>, done: &str, nothing: &str) -> bool {
        let Some(session) = session else {
            self.inform(nothing);
            return false;
        };
        let before = std::mem::replace(&mut self.session, session);
        self.compare_with_disk();
        let changed = changes::since(&before, &self.session).join("; ");
        let budgeted = before.budgets != self.session.budgets;
        let stays = if budgeted { "; a budget in the ledger stays as it is" } else { "" };
        self.inform(format!("{done}: {changed}{stays}"));
        for dataset in self.session.datasets.clone() {
            if !before.datasets.contains(&dataset) || !self.datasets.contains_key(&dataset.name) {
                self.load(dataset);
            }
        }
        let session = &self.session;
        let known = |name: &String| session.datasets.iter().any(|dataset| dataset.name == *name);
        self.datasets.retain(|name, _| known(name));
        self.look_for_misfits();
        self.plan.index = self.plan.index.min(self.session.plans.len().saturating_sub(1));
        self.note(Change::Restored);
        self.ask_preview();
        true
    }

    pub fn ask_to_quit(&mut self) {
        if self.leaving {
            self.quit = true;
            return;
        }
        let (lost, can_leave) = (self.unkept(), self.can_leave_running());
        let runs = match self.working() {
            0 if self.is_rehearsing() && lost.is_empty() => {
                let text = "A rehearsal is under way. Quit? The trials that it has made are kept.";
                return self.confirm(text.to_owned(), "quit", Self::leave);
            }
            0 => {
                let save = Some(Self::save_and_leave as fn(&mut Self));
                return self.ask_to_lose(&lost, ("Quit", "quit"), Self::leave, save);
            }
            1 if self.ranking.work.is_some() => "A ranking is".to_owned(),
            1 => "A run is".to_owned(),
            many => format!("{many} runs are"),
        };
        let lost = match lost.join(" and ") {
            lost if lost.is_empty() => lost,
            lost => format!(" The session also has {lost}, which would be lost."),
        };
        let text =
            format!("{runs} under way. Stop and quit? What has been spent stays spent.{lost}");
        let mut question = QuestionPopup::new(text, "quit", Self::leave);
        let leave = || ('g', "quit, and it goes on", Box::new(Self::leave_running) as Then<Self>);
        question.other = can_leave.then(leave);
        self.popup = Some(OpenPopup::Question(question));
    }

    /// Whether all current work can continue without the interface: runs of plans, in a permanent
    /// workspace.
    fn can_leave_running(&self) -> bool {
        let mut runs = self.runs.iter().filter(|run| run.is_at_work());
        let is_alone = self.ranking.work.is_none() && self.demo.is_none();
        is_alone && !self.queue.working && runs.all(|run| run.choice.is_none())
    }

    /// The first signal asks running work to end, if nobody did before; the second one stops
    /// waiting.
    pub fn leave_by_signal(&mut self) {
        self.signals += 1;
        if self.signals > 1 {
            self.quit = true;
        } else if !self.leaving {
            self.leave();
        }
    }

    /// The time for work to end is over. Runs that continue elsewhere are still waited for, because
    /// they are almost handed over.
    pub fn wait_no_more(&mut self) {
        self.quit |= !self.runs.iter().any(|run| run.control.is_left() && !run.has_ended());
    }

    /// Leaves according to the configuration, because the user cannot be asked any more.
    pub fn leave_as_wished(&mut self) {
        let goes_on = self.when_closed == WhenClosed::GoOn && !self.leaving;
        if goes_on && self.working() > 0 && self.can_leave_running() {
            self.leave_running();
        } else if !self.leaving {
            self.leave();
        }
    }

    /// Lets runs continue in processes of their own, once their current step is done.
    fn leave_running(&mut self) {
        self.leaving = true;
        for run in self.runs.iter().filter(|run| run.is_ours()) {
            run.control.leave();
        }
        self.quit = !self.must_settle();
    }

    /// Stops all work; quits at once if there is none.
    pub fn leave(&mut self) {
        self.quit = self.leaving || !self.must_settle();
        self.leaving = true;
        self.queue.working = false;
        for run in self.runs.iter().filter(|run| run.is_ours()) {
            run.control.end();
        }
        if let Some(work) = &self.ranking.work {
            work.control.end();
        }
    }

    /// Leaves when the last work has ended.
    pub(super) fn leave_when_done(&mut self) {
        self.quit |= self.leaving && !self.must_settle();
    }

    /// Whether there is work with something to settle in the ledger. Looking at exact numbers has
    /// nothing.
    fn must_settle(&self) -> bool {
        let ranks = self.ranking.work.as_ref().is_some_and(|work| work.privately && work.begun);
        ranks || self.runs.iter().any(LiveRun::is_at_work)
    }
}
