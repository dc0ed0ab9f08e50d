//! Jobs: work in threads of their own, which an interface follows and steers.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::thread;

use super::messages::{JobEvent, JobId, JobRequest, WorkerReport};
use super::{WorkerThread, ledger_report};
use crate::choice::{ChoiceJob, Way};
use crate::control::Control;
use crate::data::DatasetDefinition;
use crate::error::{Error, Result};
use crate::job::{Job, RunProgress};
use crate::launch;
use crate::privacy::{Target, Watch};
use crate::ranking::{self, RankingJob};
use crate::rehearse::{self, RehearsalJob};
use crate::resume::{self, Resumable};
use crate::session::dataset::{self, Loaded};
use crate::session::{PlanDefinition, Session};
use crate::sites;
use crate::steps::{Crash, catch_as};

const SETTLED_BY_HAND: &str =
    "its whole grant stays charged until it is settled on the Ledger screen";
const RUN_CRASH: Crash = ("the run crashed outside its steps", SETTLED_BY_HAND);

impl WorkerThread {
    /// Carries out a job in a thread of its own, unless it could not be prepared.
    fn carry_out<J: Send + 'static, M: 'static, T: 'static>(
        &self,
        id: JobId,
        report: fn(JobId, JobEvent<M, T>) -> WorkerReport,
        crash: Crash,
        job: Result<J>,
        work: impl FnOnce(J, &mut dyn FnMut(M)) -> Result<T> + Send + 'static,
    ) {
        let ended = move |result| report(id, JobEvent::Ended(Box::new(result)));
        let job = match job {
            Ok(job) => job,
            Err(error) => return self.reports.put(ended(Err(error))),
        };
        let (reports, workspace) = (Arc::clone(&self.reports), self.workspace.clone());
        thread::spawn(move || {
            let mut tell = |event| {
                let report = report(id, JobEvent::Progress(event));
                fault_for_tests(&report);
                reports.put(report);
            };
            let result = catch_as(crash, || work(job, &mut tell));
            let report = ended(result);
            let is_free = matches!(report, WorkerReport::Rehearsal(..));
            reports.put(report);
            if !is_free && let Ok(report) = ledger_report(&workspace) {
                reports.put(report);
            }
        });
    }

    pub(super) fn start(&mut self, id: JobId, control: Control, job: JobRequest) {
        let (workspace, prepared) = (self.workspace.clone(), self.prepared.clone());
        match job {
            JobRequest::Run { session, plan, watch, sites } => {
                let job = self.job(session, plan).and_then(|job| {
                    self.note_earlier_looks(&job.plan.private, &job.datasets)?;
                    Ok(Job { watch, control, sites: sites.map(|it| *it), ..job })
                });
                self.carry_out(id, WorkerReport::Run, RUN_CRASH, job, |job, tell| {
                    if let Some(place) = &job.sites {
                        let text = sites::announcement(place, &job.workspace)?;
                        tell(RunProgress::Sites(vec![text]));
                    }
                    launch::execute(&job, tell)
                });
            }
            JobRequest::Resume { run, watch } => {
                let path = Ok(workspace.run_directory(&run));
                self.carry_out(id, WorkerReport::Run, RUN_CRASH, path, move |path, tell| {
                    resume::resume(&resumed(&path, watch, control)?, &run, tell)
                });
            }
            JobRequest::Choice { session, plans, target } => {
                let private = plans.first().map(|plan| plan.private.clone()).unwrap_or_default();
                let job = self.choice(session, plans, target, control).and_then(|job| {
                    self.note_earlier_looks(&private, &job.datasets)?;
                    Ok(job)
                });
                let crash = ("the choice crashed outside its steps", SETTLED_BY_HAND);
                self.carry_out(id, WorkerReport::Choice, crash, job, |job, tell| job.execute(tell));
            }
            JobRequest::Ranking { session, watch, manner } => {
                // Datasets that could not be read are left out.
                let private = session.ranking.private_name(&session).ok();
                let names = session.ranking.public_names(&session).into_iter().chain(private);
                let datasets: Vec<Arc<Loaded>> =
                    names.filter_map(|name| self.loaded.get(name).cloned()).collect();
                let noted = self.note_earlier_looks(private.unwrap_or_default(), &datasets);
                let job = noted.map(|()| RankingJob {
                    session,
                    datasets,
                    workspace,
                    watch,
                    control,
                    manner,
                    allow_large_delta: false,
                    prepared,
                    sites: None,
                });
                let crash = ("the ranking crashed", "please report the session");
                self.carry_out(id, WorkerReport::Ranking, crash, job, |job, tell| {
                    ranking::rank(&job, tell)
                });
            }
            JobRequest::Rehearsal { session, plan, methods, deep } => {
                let job = self.job(session, plan).map(|run| {
                    let job = RehearsalJob::new(Job { control, ..run });
                    RehearsalJob { methods, deep, ..job }
                });
                self.rehearse(id, job);
            }
            JobRequest::Trial { session, plan } => {
                let job = self.job(session, plan);
                let job = job.map(|run| RehearsalJob::as_it_is(Job { control, ..run }));
                self.rehearse(id, job);
            }
        }
    }

    fn rehearse(&self, id: JobId, job: Result<RehearsalJob>) {
        let crash = ("the rehearsal crashed", "please report the session");
        self.carry_out(id, WorkerReport::Rehearsal, crash, job, |job, tell| {
            rehearse::rehearse(&job, &mut |progress| tell(Box::new(progress.clone())))
        });
    }

    /// A choice among plans, with each dataset once.
    pub(super) fn choice(
        &self,
        session: Session,
        plans: Vec<PlanDefinition>,
        target: Target,
        control: Control,
    ) -> Result<ChoiceJob> {
        let mut datasets: BTreeMap<String, Arc<Loaded>> = BTreeMap::new();
        for plan in &plans {
            let loaded = self.datasets(plan)?;
            datasets.extend(loaded.into_iter().map(|it| (it.definition.name.clone(), it)));
        }
        let (datasets, workspace) = (datasets.into_values().collect(), self.workspace.clone());
        let (way, prepared) = (Way::Auto, self.prepared.clone());
        Ok(ChoiceJob { session, plans, target, way, datasets, workspace, prepared, control })
    }

    /// Prepares all candidates, which may take a while.
    pub(super) fn offer(&self, job: ChoiceJob) {
        let reports = Arc::clone(&self.reports);
        thread::spawn(move || {
            let crash = ("the choice could not be prepared", "please report the plans");
            let offer = catch_as(crash, || job.offer());
            reports.put(WorkerReport::ChoiceOffered(Box::new(offer)));
        });
    }
}

/// A run to be continued, with the data of its own session: the interface's session may have
/// others by now.
fn resumed(directory: &Path, watch: Watch, control: Control) -> Result<Job> {
    let Resumable { session, workspace, .. } = Resumable::read(directory)?;
    let load = |it: &DatasetDefinition| dataset::load(it, &workspace).map(Arc::new);
    let datasets = session.datasets.iter().map(load).collect::<Result<Vec<_>>>()?;
    let plan = session.plans.first().cloned();
    let plan = plan.ok_or_else(|| Error::failed("the run has no plan"))?;
    Ok(Job { watch, control, ..Job::new(session, plan, datasets, workspace) })
}

/// A debug build can be told to crash in the middle of a run, so that a test sees what happens to
/// the terminal, the ledger and the interface.
fn fault_for_tests(report: &WorkerReport) {
    let wanted = cfg!(debug_assertions) && std::env::var_os("HALFLIGHT_TEST_CRASH").is_some();
    let crash = wanted
        && matches!(report, WorkerReport::Run(_, JobEvent::Progress(RunProgress::Stepped(progress)))
            if progress.step.index == 5);
    assert!(!crash, "a crash that a test asked for");
}
