//! The files that a run writes: `run.ron` to repeat it, `events.jsonl` with its public and released
//! numbers, `curator.jsonl` with the exact ones (exports leave it out), the model, and the
//! certificate. `transcript` and `resume.json` are for a run whose program dies: see
//! [`super::resumption`].

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::file::{PlanDefinition, Session};
use super::resumption::{Recorded, keep_until};
use super::workspace::Workspace;
use crate::data::{DatasetDefinition, Role};
use crate::error::{Doing as _, Result};
use crate::files::words::harmless;
use crate::files::{self, step};
use crate::methods::{MeasureStanding, Step};
use crate::privacy::Watch;
use crate::privacy::ledger::{RunId, this_host};
use crate::verdict::Errors;

/// The file with the number of the process that executes the run.
const PROCESS: &str = "process";
/// The session that repeats a run.
pub const SESSION: &str = "run.ron";
/// The public and released numbers of its steps, and the exact ones.
pub const EVENTS: &str = "events.jsonl";
pub const CURATOR: &str = "curator.jsonl";
/// The files of a run that has ended: its certificate, and its model as text.
pub const CERTIFICATE: &str = "certificate.json";
pub const MODEL: &str = "model.ron";

/// The files of one run, open for writing.
#[derive(Debug)]
pub struct RunDirectory {
    path: PathBuf,
    events: File,
    curator: File,
}

fn note_process(path: &Path) -> Result<()> {
    let text = format!("{}\n", Process::this());
    files::write_private(&path.join(PROCESS), text.as_bytes())
}

/// The process that executes a run, or did: `process 1234 on node3`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Process {
    number: u32,
    /// Earlier versions did not record it.
    host: Option<String>,
}

impl Process {
    pub fn this() -> Self {
        Self { number: std::process::id(), host: Some(this_host()) }
    }

    pub fn is_this(&self) -> bool {
        *self == Self::this()
    }

    /// Whether the process is known to be on another machine.
    pub fn is_elsewhere(&self) -> bool {
        self.host.as_ref().is_some_and(|host| *host != this_host())
    }

    fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let (number, host) = match text.strip_prefix("process ").unwrap_or(text).split_once(" on ")
        {
            Some((number, host)) => (number, Some(harmless(host, LONGEST_HOST))),
            None => (text, None),
        };
        Some(Self { number: number.parse().ok()?, host })
    }
}

impl std::fmt::Display for Process {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "process {}", self.number)?;
        self.host.as_ref().map_or(Ok(()), |host| write!(f, " on {host}"))
    }
}

/// Longer names of machines are cut.
const LONGEST_HOST: usize = 64;

impl RunDirectory {
    /// Creates the directory and writes `run.ron`, before anything is spent.
    pub fn create(
        workspace: &Workspace,
        run: &RunId,
        session: &Session,
        plan: &PlanDefinition,
    ) -> Result<Self> {
        Self::of_plans(workspace, run, session, std::slice::from_ref(plan))
    }

    /// Creates the directory of a choice among several plans.
    pub fn of_plans(
        workspace: &Workspace,
        run: &RunId,
        session: &Session,
        plans: &[PlanDefinition],
    ) -> Result<Self> {
        let path = workspace.run_directory(run);
        files::create_private_folder(&path).doing("create the run directory", &path)?;
        let repeat = session_of_run(session, plans, workspace);
        files::write_private(&path.join(SESSION), repeat.to_ron()?.as_bytes())?;
        note_process(&path)?;
        let events = append_to(&path.join(EVENTS))?;
        let curator = append_to(&path.join(CURATOR))?;
        Ok(Self { path, events, curator })
    }

    /// The directory of a run whose program died, to continue it.
    pub fn reopen(path: &Path) -> Result<(Self, Recorded)> {
        let events = path.join(EVENTS);
        let recorded = Recorded::read(&events)?;
        keep_until(&events, u64::MAX)?;
        note_process(path)?;
        let events = append_to(&events)?;
        let curator = append_to(&path.join(CURATOR))?;
        keep_until(&path.join(CURATOR), u64::MAX)?;
        Ok((Self { path: path.to_path_buf(), events, curator }, recorded))
    }

    /// Appends the exact errors at the end of a run to the curator's file.
    pub fn record_errors(&mut self, step: u64, errors: Option<Errors>) -> Result<()> {
        let Some(errors) = errors else { return Ok(()) };
        let line = json!({"step": step, "values": {}, "errors": errors});
        write_line(&self.curator, &line, &self.path.join(CURATOR))
    }

    /// The process that executes the run, or did.
    pub fn process(path: &Path) -> Option<Process> {
        Process::parse(&std::fs::read_to_string(path.join(PROCESS)).ok()?)
    }

    /// Removes the steps after `step`, which are about to be repeated.
    pub fn keep_until(&self, step: u64) -> Result<()> {
        keep_until(&self.path.join(EVENTS), step)?;
        keep_until(&self.path.join(CURATOR), step)
    }

    /// Whether exact numbers were recorded.
    pub fn holds_exact_numbers(&self) -> bool {
        self.curator.metadata().map_or(true, |about| about.len() > 0)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Appends one step; exact numbers go to the curator's file, and only while
    /// the watch is not sealed.
    pub fn record(&mut self, step: &Step, epsilon: f64, watch: &Watch) -> Result<()> {
        let (mut open, mut exact) = (BTreeMap::new(), BTreeMap::new());
        for measure in &step.measures {
            let told = |value: f64, standing| json!({"value": value, "standing": standing});
            match &measure.value {
                MeasureStanding::Public { 0: value, .. } => {
                    open.insert(measure.series, told(*value, "public"));
                }
                MeasureStanding::Released(value) => {
                    open.insert(measure.series, told(*value.get(), "released"));
                }
                MeasureStanding::Curator(value) => {
                    exact.extend(value.reveal(watch).map(|value| (measure.series, *value)));
                }
            }
        }
        let line = json!({
            "step": step.index, "of": step.total, "phase": step.phase,
            "epsilon": epsilon, "values": open,
        });
        // The exact numbers come first: a step counts as written when its events are.
        if !exact.is_empty() {
            let line = json!({"step": step.index, "values": exact});
            write_line(&self.curator, &line, &self.path.join(CURATOR))?;
        }
        write_line(&self.events, &line, &self.path.join(EVENTS))
    }
}

/// A session that repeats this one run, readable from its run directory.
pub(super) fn session_of_run(
    session: &Session,
    plans: &[PlanDefinition],
    workspace: &Workspace,
) -> Session {
    let uses = |name: &String| plans.iter().any(|plan| plan.uses(name));
    let uses_it = |dataset: &&DatasetDefinition| uses(&dataset.name);
    let mut datasets: Vec<_> = session.datasets.iter().filter(uses_it).cloned().collect();
    for dataset in &mut datasets {
        let network = dataset.extract.iter_mut().map(|extraction| &mut extraction.network);
        for file in dataset.source.files_mut().into_iter().chain(network) {
            *file = workspace.resolve(file).display().to_string();
        }
        if dataset.role == Role::Private {
            dataset.fingerprint = None;
        }
    }
    let budgets = session.budgets.iter().filter(|(name, _)| uses(name));
    Session {
        name: match plans {
            [plan] => format!("{} (a run of '{}')", plan.name, session.name),
            _ => format!("a choice among {} plans of '{}'", plans.len(), session.name),
        },
        datasets,
        budgets: budgets.map(|(name, budget)| (name.clone(), *budget)).collect(),
        plans: plans.iter().map(|plan| plan.resolved(workspace)).collect(),
        sealed: session.sealed,
        ..Session::default()
    }
}

fn append_to(path: &Path) -> Result<File> {
    step::open(files::private().create(true).append(true), path).doing("create", path)
}

fn write_line(file: &File, line: &Value, path: &Path) -> Result<()> {
    let mut text = line.to_string();
    text.push('\n');
    step::write(file, text.as_bytes()).doing("write", path)
}
