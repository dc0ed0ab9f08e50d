//! Runs of other processes: those of the workspace, and those that the user watches.

use super::{Change, Context};
use crate::engine::worker::TrainerSteps;
use crate::live_run::LiveRun;
use crate::privacy::ledger::RunId;
use crate::session::ArchivedRun;
use crate::session::archive::{DIED, GIVEN_UP, MISSING, NOT_BEGUN};
use crate::session::follow::RunNews;
use crate::session::public_alone::join_scores;
use crate::session::run_directory::Process;
use crate::tab::Tab;

impl Context {
    /// Every run was read again.
    pub(super) fn archive_read(&mut self, mut runs: Vec<ArchivedRun>) {
        join_scores(&mut runs);
        let before = self.archive.replace(runs);
        let before = before.map(|runs| runs.into_iter().map(|run| run.id).collect());
        let runs = self.archive.take().unwrap_or_default();
        runs.iter().rev().for_each(|run| self.meet(run));
        self.archive = Some(runs);
        self.note(Change::Archive(before));
    }

    /// Handles changes since then.
    pub(super) fn followed(&mut self, news: RunNews) {
        let RunNews { added, grown, changed, gone } = news;
        let has_new_scores = !added.is_empty() || !changed.is_empty() || !gone.is_empty();
        let Some(mut runs) = self.archive.take() else { return };
        let before: Option<Vec<RunId>> = (!added.is_empty() || !gone.is_empty())
            .then(|| runs.iter().map(|run| run.id.clone()).collect());
        for grown in &grown {
            if let Some(run) = runs.iter_mut().find(|run| run.id == grown.run) {
                run.follow(grown);
                self.meet_grown(run, |live| live.grow(grown));
            }
        }
        for run in added.into_iter().chain(changed) {
            self.meet(&run);
            match runs.iter_mut().find(|other| other.id == run.id) {
                Some(other) => *other = run,
                None => runs.push(run),
            }
        }
        runs.retain(|run| !gone.contains(&run.id));
        if before.is_some() {
            runs.sort_by(|a, b| b.id.cmp(&a.id));
        }
        if has_new_scores {
            join_scores(&mut runs);
        }
        self.archive = Some(runs);
        if before.is_some() {
            self.note(Change::Archive(before));
        }
    }

    /// Handles new lines in a trainer's file.
    pub(super) fn trained(&mut self, trained: TrainerSteps) {
        let same =
            |run: &&mut LiveRun| run.trained.as_ref().is_some_and(|it| it.path == trained.path);
        if let Some(run) = self.runs.iter_mut().find(same) {
            return run.trains(trained);
        }
        let id = self.next_job().0;
        self.runs.push(LiveRun::of_trainer(id, trained));
        self.note(Change::Met);
    }

    /// A run of another process is shown on Run once it is seen at work.
    fn meet(&mut self, run: &ArchivedRun) {
        self.meet_grown(run, |live| live.read_anew(run));
    }

    fn meet_grown(&mut self, run: &ArchivedRun, grow: impl FnOnce(&mut LiveRun)) {
        if let Some(live) = self.runs.iter_mut().find(|live| live.run.as_ref() == Some(&run.id)) {
            // Our own runs report by themselves.
            if !live.is_ours() {
                grow(live);
            }
            return;
        }
        let is_ours = run.process.as_ref().is_some_and(Process::is_this);
        if run.is_alive() && !is_ours {
            let id = self.next_job().0;
            self.runs.push(LiveRun::elsewhere(id, run));
            self.note(Change::Met);
        }
    }

    /// Offers to resume a run whose program died.
    pub fn ask_to_go_on(&mut self, run: ArchivedRun) {
        let refusal = match run.outcome.as_str() {
            DIED => None,
            MISSING | NOT_BEGUN => {
                Some("a task of a sweep cannot be resumed: U on the Ledger screen (6) settles it")
            }
            GIVEN_UP => Some(
                "this task was given up and cannot be resumed: t on Compare (5) puts its settings \
                 into the plan, to start it again",
            ),
            _ => Some("this run did not die; select one that did, and press R"),
        };
        if let Some(refusal) = refusal {
            return self.inform(refusal);
        }
        let text = format!(
            "Resume {}? It makes the draws that it has not made yet. Nothing is charged twice.",
            run.id.0
        );
        self.confirm(text, "resume", move |context| {
            context.go_to(Tab::Run);
            // From here on the run is ours.
            context.runs.retain(|live| live.is_ours() || live.run.as_ref() != Some(&run.id));
            context.resume(&run);
        });
    }
}
