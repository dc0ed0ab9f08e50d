//! The directory of a sweep: what every task may do, who has claimed it, how it ended.
//!
//! | file | holds |
//! |---|---|
//! | `sweep.json` | the varied values, the tasks and their runs, and the ledger that reserved them |
//! | `tasks/0007/task.ron` | the session of one task: its data, by absolute paths, and its plan |
//! | `tasks/0007/grant.json` | its grant, and the data that it is for (curator only) |
//! | `tasks/0007/claim` | who executes it; created exclusively, so nobody else does |
//! | `tasks/0007/result.json` | how it ended and what it drew |
//! | `runs/RUN/` | the run directories |
//!
//! The directory may be on shared storage, and no machine needs the ledger: a grant is in the
//! ledger before `grant.json` is written, and counts in full until the result is collected. A copy
//! of the directory is a copy of the grants: start tasks from one copy only.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::file::Session;
pub use super::origin::CarriedGrant;
use super::resumption::TRANSCRIPT;
use super::workspace::Workspace;
use super::{PlanDefinition, json, leftovers, run_directory};
use crate::error::{Doing as _, Error, Result};
use crate::files::{self, step};
use crate::privacy::ledger::{Book, RunId, RunOutcome, RunState, this_process};

const VERSION: u32 = 1;
/// The file that makes a directory a sweep.
pub const FILE: &str = "sweep.json";

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    pub version: u32,
    pub halflight: String,
    /// The plan to vary.
    pub plan: String,
    /// Folder of the ledger and of the collected runs.
    pub workspace: PathBuf,
    pub tasks: Vec<TaskEntry>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TaskEntry {
    pub run: RunId,
    /// The values that distinguish it from the others.
    pub values: Vec<(String, String)>,
}

/// How a task ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TaskResult {
    pub outcome: RunOutcome,
    /// How often each event was drawn.
    pub used: Vec<u64>,
    pub peeked: bool,
    /// Only for the curator: it may quote private data.
    pub trouble: Option<String>,
}

/// A sweep on disk.
#[derive(Debug, Clone)]
pub struct SweepDirectory {
    path: PathBuf,
    pub manifest: Manifest,
}

/// One task on disk.
#[derive(Debug, Clone)]
pub struct TaskDirectory {
    path: PathBuf,
}

/// The state of a task.
#[derive(Debug, Clone, PartialEq)]
pub enum TaskState {
    /// Nobody has claimed it.
    NotBegun,
    /// A process on this machine executes it.
    Running,
    /// Claimed but without a result: it died, or it works on another machine.
    Missing { claim: String },
    /// Ended, with this result.
    Ended(TaskResult),
}

impl SweepDirectory {
    /// Creates a new sweep; nothing in it may be started before its tasks are written.
    pub fn create(
        path: &Path,
        plan: &str,
        workspace: &Workspace,
        tasks: Vec<TaskEntry>,
    ) -> Result<Self> {
        let path = std::path::absolute(path).doing("find the directory", path)?;
        if path.join(FILE).exists() {
            return Err(Error::usage("there is a sweep already")
                .at(path.display().to_string())
                .cure("choose another directory with --into"));
        }
        // Left behind by a program that died before there was a sweep.
        leftovers::remove_halves(&path);
        for folder in ["tasks", "runs"].map(|name| path.join(name)) {
            files::create_private_folder(&folder).doing("create the sweep's directory", &folder)?;
        }
        let manifest = Manifest {
            version: VERSION,
            halflight: env!("CARGO_PKG_VERSION").to_owned(),
            plan: plan.to_owned(),
            workspace: workspace.folder().to_path_buf(),
            tasks,
        };
        json::write(&path.join(FILE), &manifest)?;
        Ok(Self { path, manifest })
    }

    pub fn open(path: &Path) -> Result<Self> {
        let path = std::path::absolute(path).doing("find the sweep", path)?;
        let file = path.join(FILE);
        if !file.exists() {
            return Err(Error::failed("there is no sweep in this directory")
                .at(path.display().to_string())
                .cure("give the directory that `halflight sweep` printed, or its --into"));
        }
        let manifest: Manifest = json::read(&file)?;
        if manifest.version != VERSION {
            return Err(Error::failed(format!("the sweep has version {}", manifest.version))
                .at(path.display().to_string())
                .cure(format!("this halflight reads version {VERSION}; use a matching release")));
        }
        Ok(Self { path, manifest })
    }

    /// The sweep in which a run's directory lies.
    pub fn around(run: &Path) -> Option<Self> {
        let sweep = run.parent().and_then(Path::parent)?;
        sweep.join(FILE).is_file().then(|| Self::open(sweep).ok()).flatten()
    }

    /// The sweep to which a run belongs, in the folder of this workspace or beside it.
    pub fn of_run(workspace: &Workspace, run: &RunId) -> Option<Self> {
        let usual = workspace.folder().join("sweeps");
        let found = [usual.as_path(), workspace.base()].map(std::fs::read_dir);
        let found = found.into_iter().flatten().flatten();
        let paths = found.filter_map(|entry| Some(entry.ok()?.path()));
        let mut sweeps = paths.filter_map(|path| Self::open(&path).ok());
        sweeps.find(|sweep| sweep.manifest.tasks.iter().any(|task| task.run == *run))
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether the sweep is still in its place.
    pub fn is_there(&self) -> bool {
        self.path.join(FILE).is_file()
    }

    pub fn task(&self, index: usize) -> TaskDirectory {
        TaskDirectory { path: self.path.join("tasks").join(format!("{index:04}")) }
    }

    pub fn run_directory(&self, index: usize) -> PathBuf {
        self.path.join("runs").join(&self.manifest.tasks[index].run.0)
    }

    pub fn state(&self, index: usize) -> Result<TaskState> {
        let task = self.task(index);
        if let Some(result) = task.result()? {
            return Ok(TaskState::Ended(result));
        }
        let claim = match task.claimant()? {
            Some(claim) => claim,
            None if self.run_directory(index).exists() => {
                "a program whose claim was removed".to_owned()
            }
            None => return Ok(TaskState::NotBegun),
        };
        // Its transcript is locked as long as its program lives.
        let transcript = std::fs::File::open(self.run_directory(index).join(TRANSCRIPT));
        let locked = transcript.is_ok_and(|file| file.try_lock_shared().is_err());
        Ok(if locked { TaskState::Running } else { TaskState::Missing { claim } })
    }

    /// As [`Self::state`]; a task that the ledger settled without a result was given up.
    pub fn state_by(&self, index: usize, book: &Book) -> Result<TaskState> {
        let state = self.state(index)?;
        let record = book.run(&self.manifest.tasks[index].run);
        if let (TaskState::Missing { .. }, Some(record)) = (&state, record)
            && let RunState::Settled { outcome, peeked } = record.state
        {
            let (used, trouble) = (record.charged.clone(), None);
            return Ok(TaskState::Ended(TaskResult { outcome, used, peeked, trouble }));
        }
        Ok(state)
    }
}

impl TaskDirectory {
    pub fn at(path: &Path) -> Result<Self> {
        let path = std::path::absolute(path).doing("find the task", path)?;
        Ok(Self { path })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn session_file(&self) -> PathBuf {
        self.path.join("task.ron")
    }

    /// Writes the session of a task, before anything is reserved for it.
    pub fn write_session(
        &self,
        session: &Session,
        plan: &PlanDefinition,
        workspace: &Workspace,
    ) -> Result<Session> {
        files::create_private_folder(&self.path).doing("create the task", &self.path)?;
        let session = run_directory::session_of_run(session, std::slice::from_ref(plan), workspace);
        session.save(&self.session_file())?;
        Ok(session)
    }

    /// The workspace of its run: the sweep.
    pub fn workspace(&self) -> Result<Workspace> {
        let sweep = self.path.parent().and_then(Path::parent);
        let sweep = sweep.filter(|sweep| sweep.join(FILE).is_file()).ok_or_else(|| {
            Error::usage("this is not a task of a sweep")
                .at(self.path.display().to_string())
                .cure("name a directory like SWEEP/tasks/0007")
        })?;
        let manifest: Manifest = json::read(&sweep.join(FILE))?;
        Ok(Workspace::with_folder(sweep, sweep).reserved_in(&manifest.workspace))
    }

    /// Claims the task once and for all: only one program may use a grant.
    pub fn claim(&self) -> Result<()> {
        let path = self.path.join("claim");
        let time = crate::clock::now().strftime("%Y-%m-%dT%H:%M:%SZ");
        let claim = format!("{}, {time}\n", this_process());
        let claimed = step::open(files::private().write(true).create_new(true), &path)
            .and_then(|file| step::write(&file, claim.as_bytes()).and_then(|()| step::sync(&file)));
        claimed.map_err(|error| match error.kind() {
            ErrorKind::AlreadyExists => {
                let by = self.claimant().ok().flatten().unwrap_or_else(|| "somebody".to_owned());
                Error::refused(format!("the task is taken by {by}"))
                    .at(self.path.display().to_string())
                    .cure("a grant is used once: make a new sweep for what is missing")
            }
            _ => Error::io("claim the task", &path, &error),
        })
    }

    pub fn is_claimed(&self) -> bool {
        self.path.join("claim").exists()
    }

    /// The process that has claimed the task, if any.
    fn claimant(&self) -> Result<Option<String>> {
        let claim = std::fs::read_to_string(self.path.join("claim"));
        Ok(claim.if_there().doing("read the claim", &self.path)?.map(|claim| match claim.trim() {
            // Killed between creating the file and writing its first word.
            "" => "a program that ended before it said which".to_owned(),
            claim => claim.to_owned(),
        }))
    }

    pub fn write_result(&self, result: &TaskResult) -> Result<()> {
        json::write(&self.path.join("result.json"), result)
    }

    fn result(&self) -> Result<Option<TaskResult>> {
        let path = self.path.join("result.json");
        if path.exists() { json::read(&path).map(Some) } else { Ok(None) }
    }
}

/// Brings a run directory to the runs of the workspace, by links where the storage has them, by
/// copies elsewhere. The name appears when everything is there.
pub fn merge(from: &Path, to: &Path) -> Result<()> {
    if to.exists() {
        return Ok(());
    }
    let half = to.with_added_extension("collecting");
    let merged = || -> std::io::Result<()> {
        let _ = step::remove_folder(&half);
        files::create_private_folder(&half)?;
        for entry in std::fs::read_dir(from)? {
            let entry = entry?;
            let (source, target) = (entry.path(), half.join(entry.file_name()));
            if step::link(&source, &target).is_err() {
                step::copy(&source, &target)?;
            }
        }
        step::rename(&half, to)
    };
    merged().doing("collect the run", to)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sweep() -> (tempfile::TempDir, SweepDirectory) {
        let directory = tempfile::tempdir().unwrap();
        let workspace = Workspace::fresh(directory.path());
        let task = |name: &str| TaskEntry { run: RunId(name.to_owned()), values: Vec::new() };
        let path = directory.path().join("sweep");
        SweepDirectory::create(&path, "p", &workspace, vec![task("a"), task("b")]).unwrap();
        let sweep = SweepDirectory::open(&path).unwrap();
        for index in 0..2 {
            std::fs::create_dir_all(sweep.task(index).path()).unwrap();
        }
        (directory, sweep)
    }

    #[test]
    fn of_many_that_claim_a_task_at_once_one_gets_it() {
        let (_keep, sweep) = sweep();
        let claims: Vec<bool> = std::thread::scope(|scope| {
            let threads: Vec<_> =
                (0..16).map(|_| scope.spawn(|| sweep.task(0).claim().is_ok())).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert_eq!(claims.iter().filter(|got| **got).count(), 1);
        assert!(sweep.task(0).claim().unwrap_err().to_string().contains("is taken by process"));
        assert!(matches!(sweep.state(0).unwrap(), TaskState::Missing { .. }));
        assert_eq!(sweep.state(1).unwrap(), TaskState::NotBegun);

        // A program that is killed in between leaves an empty claim, which is valid.
        std::fs::write(sweep.task(1).path.join("claim"), "").unwrap();
        let refused = sweep.task(1).claim().unwrap_err().to_string();
        assert!(refused.contains("is taken by a program that ended before"), "{refused}");
        assert!(matches!(sweep.state(1).unwrap(), TaskState::Missing { .. }));
    }

    #[test]
    fn a_result_ends_a_task_and_a_locked_transcript_says_that_it_works() {
        let (_keep, sweep) = sweep();
        sweep.task(0).claim().unwrap();
        std::fs::create_dir_all(sweep.run_directory(0)).unwrap();
        let transcript = std::fs::File::create(sweep.run_directory(0).join(TRANSCRIPT)).unwrap();
        transcript.lock().unwrap();
        assert_eq!(sweep.state(0).unwrap(), TaskState::Running);
        drop(transcript);
        let result = TaskResult {
            outcome: RunOutcome::Finished,
            used: vec![60],
            peeked: false,
            trouble: None,
        };
        sweep.task(0).write_result(&result).unwrap();
        assert_eq!(sweep.state(0).unwrap(), TaskState::Ended(result));
        assert_eq!(sweep.task(0).workspace().unwrap().folder(), sweep.path());
        assert!(TaskDirectory::at(sweep.path()).unwrap().workspace().is_err());
    }

    #[test]
    fn a_second_sweep_in_one_place_and_a_broken_manifest_are_refused() {
        let (_keep, sweep) = sweep();
        let workspace = Workspace::fresh(sweep.path());
        let error = SweepDirectory::create(sweep.path(), "p", &workspace, Vec::new());
        assert!(error.unwrap_err().to_string().contains("a sweep already"));
        std::fs::write(sweep.path().join(FILE), "{").unwrap();
        let error = SweepDirectory::open(sweep.path()).unwrap_err().to_string();
        assert!(error.contains(FILE), "{error}");
    }

    #[test]
    fn merging_twice_is_merging_once() {
        let directory = tempfile::tempdir().unwrap();
        let (from, to) = (directory.path().join("from"), directory.path().join("runs/to"));
        std::fs::create_dir_all(&from).unwrap();
        std::fs::write(from.join("events.jsonl"), "one").unwrap();
        merge(&from, &to).unwrap();
        merge(&from, &to).unwrap();
        assert_eq!(std::fs::read(to.join("events.jsonl")).unwrap(), b"one");
        assert_eq!(std::fs::read_dir(directory.path().join("runs")).unwrap().count(), 1);
    }
}
