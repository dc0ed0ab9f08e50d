//! Reports of the engine's worker.

use std::path::PathBuf;

use std::time::Duration;

use super::{Change, Context, DatasetStatus, Effect, OpenPopup, Queue, ShownPlan};
use crate::data::DatasetDefinition;
use crate::engine::look;
use crate::engine::lookup::Wanted;
use crate::engine::sweep::TaskTally;
use crate::engine::worker::{JobEvent, JobId, SoughtSweep};
use crate::engine::{Request, RunProgress, WorkerReport};
use crate::error::Result;
use crate::history::History;
use crate::live_ranking::LiveRanking;
use crate::live_rehearsal::LiveRehearsal;
use crate::live_run::LiveRun;
use crate::notice::{ErrorTopic, Level};
use crate::popup::file_browser::FileBrowser;
use crate::session::Session;
use crate::session::unsaved::Unsaved;

/// During a run of this length the user probably looks elsewhere.
const LONG: Duration = Duration::from_secs(20);
/// The number of remembered sessions.
const MOST_RECENT: usize = 12;

impl Context {
    pub fn hear(&mut self, report: WorkerReport) {
        match report {
            WorkerReport::SessionOpened { session, path } => self.opened(*session, path),
            WorkerReport::FilesFound(found) => self.files_found(found),
            WorkerReport::SessionSaved { session, path } => {
                let kept = if self.demo.take().is_some() {
                    " with the demo's runs and ledger"
                } else {
                    ""
                };
                // From here on the spending is in a permanent workspace.
                self.tutorial = None;
                self.say(Level::Good, format!("saved {}{kept}", path.display()));
                self.unsaved = self.for_disk() != *session;
                self.on_disk = Some(*session);
                self.remember(path);
                if let Some(then) = self.after_saving.take().filter(|_| !self.unsaved) {
                    then(self);
                }
            }
            WorkerReport::SessionClash { session, path, differences } => {
                self.ask_to_overwrite(*session, path, &differences);
            }
            WorkerReport::Compared { dataset, withheld } => {
                let is_open = withheld.is_none();
                let is_new = self.compared.insert(dataset.clone(), withheld).is_none();
                if is_open && is_new {
                    self.warn_of(&dataset);
                }
            }
            WorkerReport::Reading { name, bytes, of } => {
                if let Some(DatasetStatus::Loading(share)) = self.datasets.get_mut(&name) {
                    *share = bytes as f64 / of.max(1) as f64;
                }
            }
            WorkerReport::Loaded { loaded, account } => {
                let name = loaded.definition.name.clone();
                self.mended(&ErrorTopic::Dataset(name.clone()));
                if let Some(error) = loaded.withheld.as_ref().or(loaded.gap()) {
                    self.complain_of(ErrorTopic::Dataset(name.clone()), error);
                }
                if loaded.withheld.is_some() {
                    self.withdraw_guesses(&name);
                }
                self.peeked.take_if(|(peeked, _)| *peeked == name);
                let is_ranked = account.is_some()
                    && self.ranking.is_empty()
                    && self.session.ranking.private_name(&self.session).is_ok_and(|it| it == name);
                if is_ranked {
                    self.ask(Request::KeptRankings(name.clone()));
                }
                let is_private = loaded.record.is_some();
                self.datasets.insert(name.clone(), DatasetStatus::Ready { loaded, account });
                // What is said of public rows counts cells, so they are compared with private ones first.
                if is_private || self.is_open(&name) {
                    self.warn_of(&name);
                }
                self.look_for_misfits();
                self.ask_preview();
            }
            WorkerReport::KeptRankings { private, rankings } => {
                let settings = &self.session.ranking;
                if settings.private_name(&self.session).is_ok_and(|name| name == private) {
                    self.ranking.show_again(rankings, &self.session, &self.watch);
                }
            }
            WorkerReport::LoadFailed { name, error } => {
                self.complain_of(ErrorTopic::Dataset(name.clone()), &error);
                self.datasets.insert(name, DatasetStatus::Failed(error));
                self.ask_preview();
            }
            WorkerReport::Inspected { definition, columns, odd_texts } => {
                self.inspected(*definition, &columns, odd_texts);
            }
            WorkerReport::Dividers { dataset, columns } => {
                self.offer_split(&dataset, columns.as_ref());
            }
            WorkerReport::Listing(listing) => {
                // The listing opens the browser, or shows the next directory in it.
                if matches!(self.popup, None | Some(OpenPopup::Files(_))) {
                    let files = FileBrowser::new(&listing);
                    if let Some(file) = files.file().filter(|_| files.wanted == Wanted::Data) {
                        self.ask(Request::Glance { file, look: None });
                    }
                    self.popup = Some(OpenPopup::Files(Box::new(files)));
                }
            }
            WorkerReport::Glance { file, schema } => {
                if let Some(OpenPopup::Files(files)) = &mut self.popup {
                    files.glance = Some((file, schema));
                }
            }
            WorkerReport::Peeked { dataset, rows } => {
                self.peeked = rows.map(|rows| (dataset, rows));
                if self.peeked.is_some() {
                    self.warn(
                        "◆ private rows, for your eyes only: no ε covers a setting that you \
                         choose by looking at them",
                    );
                }
            }
            WorkerReport::Archive(runs) => self.archive_read(runs),
            WorkerReport::Trained(trained) => self.trained(*trained),
            WorkerReport::Followed(news) => self.followed(*news),
            WorkerReport::Preview(preview) => {
                self.plan.waiting = false;
                if preview.as_ref().as_ref().is_ok_and(|preview| preview.refusal.is_none()) {
                    self.mended(&ErrorTopic::Plan);
                }
                self.plan.preview = Some((*preview).map(Box::new));
                self.check_promise();
                if std::mem::take(&mut self.plan.launches) && self.popup.is_none() {
                    self.ask_to_launch();
                }
            }
            WorkerReport::Timed { plan, time } => self.plan.timed = Some((*plan, time)),
            WorkerReport::RankingTimed { session, time } => {
                let asked = self.ranking.timed.as_mut().filter(|(of, _)| *of == session);
                if let Some((_, known)) = asked {
                    *known = time;
                }
            }
            WorkerReport::ChoiceOffered(offer) => match *offer {
                Ok(offer) => self.ask_to_choose(offer),
                Err(error) => self.complain_of(ErrorTopic::Plan, &error),
            },
            WorkerReport::Ledger(book, digests) => {
                for status in self.datasets.values_mut() {
                    if let DatasetStatus::Ready { loaded, account } = status
                        && let Some(known) = loaded.record.as_ref().and_then(|it| book.find(it))
                    {
                        *account = Some(known.id.clone());
                    }
                }
                self.book = Some(book);
                self.digests = digests;
                self.note(Change::Ledger);
            }
            WorkerReport::Run(id, event) => {
                if matches!(event, JobEvent::Progress(RunProgress::Granted { .. })) {
                    // It is at work now, also if it was dead.
                    self.ask(Request::Ledger);
                }
                self.hear_run(id, |run| run.hear(event));
            }
            WorkerReport::Choice(id, event) => self.hear_run(id, |run| run.hear_choice(event)),
            WorkerReport::Ranking(id, event) => {
                let said = self.ranking.hear(id, event, &self.watch);
                match &said {
                    None => return,
                    Some(Ok(line)) => self.say(Level::Good, line),
                    Some(Err(error)) => self.complain_of(ErrorTopic::Ranking, error),
                }
                self.leave_when_done();
            }
            WorkerReport::Rehearsal(id, event) if id == self.trial.started => {
                self.hear_trial(id, event);
            }
            WorkerReport::Rehearsal(id, event) => match self.rehearsal.hear(id, event) {
                None => {}
                Some(Ok(line)) => {
                    self.say(Level::Good, line);
                    self.ask_preview();
                }
                Some(Err(error)) => self.complain(&error),
            },
            WorkerReport::Trouble(error) => self.complain(&error),
            WorkerReport::Wrote(path) => {
                self.inform(format!("wrote {}", path.display()));
                self.written = Some(path);
            }
            WorkerReport::Remark(text) => self.inform(text),
            WorkerReport::Collected { sweep, tally } => self.collected(sweep, tally),
            WorkerReport::WhichSweep => self.ask_for_sweep(),
        }
    }

    /// Lets a run, or a choice among plans, process an event.
    fn hear_run(&mut self, id: JobId, hear: impl FnOnce(&mut LiveRun) -> Option<Result<String>>) {
        let run = self.runs.iter_mut().find(|run| run.id == id);
        // There is something to say when it has ended.
        match run.and_then(hear) {
            None => return,
            Some(Ok(line)) => self.say(Level::Good, line),
            Some(Err(error)) => self.complain(&error),
        }
        self.ring(id);
        self.leave_when_done();
        self.run_ended(id);
        self.ask_preview();
    }

    /// Collects the sweep in a directory that the user names.
    pub fn ask_for_sweep(&mut self) {
        let help = "the directory that `halflight sweep` printed, or its --into";
        self.ask_for("Collect a sweep", help, "", |context, path| {
            let sweep = SoughtSweep::At(path.into());
            context.ask(Request::Collect { sweep, give_up: false });
        });
    }

    /// Tasks that have not ended can be given up, unless they are still at work.
    fn collected(&mut self, sweep: PathBuf, tally: TaskTally) {
        if tally.missing + tally.not_begun == 0 {
            return self.inform(tally.words());
        }
        let text = format!(
            "{}. Settle those now? A run without a result has died or works on another machine: \
             it is charged in full. A run that was not begun costs nothing, and cannot be begun \
             any more.",
            tally.words()
        );
        self.confirm(text, "settle", move |context| {
            let sweep = SoughtSweep::At(sweep);
            context.ask(Request::Collect { sweep, give_up: true });
        });
    }

    /// Calls back a user who went away during a long run.
    fn ring(&mut self, id: JobId) {
        let run = self.runs.iter().find(|run| run.id == id);
        if let Some(run) = run.filter(|run| run.worked >= LONG) {
            let text = format!("halflight: '{}' {}", run.plan, run.state());
            self.effects.push(Effect::Ring(text));
        }
    }

    fn opened(&mut self, session: Session, path: PathBuf) {
        self.say(Level::Good, format!("opened {}", path.display()));
        self.on_disk = Some(session.clone());
        self.take(session);
        self.remember(path);
    }

    /// Goes on with the unsaved session of a program that was killed.
    pub(super) fn open_lost(&mut self) {
        let Some((Unsaved { session, path, on_disk, .. }, file)) = self.lost.take() else { return };
        for dataset in std::mem::take(&mut self.session.datasets) {
            self.ask(Request::Forget(dataset.name));
        }
        self.effects.push(Effect::KeepIn(file));
        self.take(session);
        (self.session_path, self.on_disk, self.unsaved) = (path, on_disk, true);
        self.say(Level::Good, "opened what was not saved: Ctrl-s saves it");
    }

    /// Begins with the files that the program was given, unless another session was opened meanwhile.
    fn files_found(&mut self, found: Result<Vec<DatasetDefinition>>) {
        if std::mem::take(&mut self.files).is_empty() {
            return;
        }
        match found {
            Ok(datasets) => {
                self.take(Session { datasets, ..Session::default() });
                self.unsaved = true;
            }
            // As every command that cannot read its files.
            Err(error) => (self.failed, self.quit) = (Some(error), true),
        }
    }

    /// Begins anew with another session.
    fn take(&mut self, session: Session) {
        self.files.clear();
        self.history = History::new(&session);
        self.compared.clear();
        // A sealed view is not opened by another session.
        look::seal(&self.watch, session.sealed || self.watch.is_sealed());
        self.session = session;
        self.unsaved = false;
        self.demo = None;
        self.tutorial = None;
        self.pace = None;
        if let Some(work) = &self.ranking.work {
            work.control.stop();
        }
        // Ids continue: news of another session's ranking must not be mistaken for this one's.
        self.ranking = LiveRanking { started: self.ranking.started, ..LiveRanking::default() };
        for rehearsal in [&mut self.rehearsal, &mut self.trial] {
            rehearsal.stop();
            *rehearsal = LiveRehearsal { started: rehearsal.started, ..Default::default() };
        }
        self.datasets.clear();
        self.peeked = None;
        (self.plan, self.queue) = (ShownPlan::default(), Queue::default());
        self.archive = None;
        self.note(Change::Opened);
        self.ask_for_everything();
    }

    /// Keeps where the user was, for the next time.
    pub fn remember(&mut self, path: PathBuf) {
        // One name for a file, by whatever path it was opened.
        let absolute = path.canonicalize().or_else(|_| std::path::absolute(&path));
        let absolute = absolute.unwrap_or_else(|_| path.clone());
        self.state.recent.retain(|other| *other != absolute);
        self.state.recent.insert(0, absolute.clone());
        self.state.recent.truncate(MOST_RECENT);
        self.state.last_session = Some(absolute);
        self.session_path = Some(path);
        self.remember_state();
    }
}
