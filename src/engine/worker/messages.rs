//! The requests of an interface to its worker, and the reports that it gets.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use crate::choice::{ChoiceProgress, Chosen, Offer};
use crate::control::Control;
use crate::data::DatasetDefinition;
use crate::error::{Error, Result};
use crate::job::{RunProgress, Summary};
use crate::lookup::{Digest, ExactRows, Listing, Schema, Wanted};
use crate::preview::Preview;
use crate::privacy::ledger::{AccountId, Book, Budget, RunId};
use crate::privacy::{CuratorOnly, Target, Watch};
use crate::ranking::{Manner, RankingProgress, RankingSummary};
use crate::rehearse::RehearsalProgress;
use crate::session::dataset::{ColumnKind, Loaded};
use crate::session::family::Divider;
use crate::session::follow::RunNews as FollowedNews;
use crate::session::named::Replace;
use crate::session::ranking_record::ArchivedRanking;
use crate::session::steering::SteeringRequest;
use crate::session::{ArchivedRun, PlanDefinition, ProgramState, Session};
use crate::sites::Place;
use crate::sweep::TaskTally;
use crate::timing::RunTime;

pub type JobId = u64;

/// The requests of an interface.
#[derive(Debug)]
pub enum Request {
    /// Open the session in this file, or list this folder.
    OpenSession(PathBuf),
    /// Look at these files, and describe them as the datasets of a new session.
    OpenFiles(Vec<PathBuf>),
    /// Save, unless the file differs from the session that is `known`. If it `moves`, ledger and runs
    /// of the workspace move with it.
    SaveSession { session: Session, path: PathBuf, known: Option<Box<Session>>, moves: bool },
    /// Read (again) the dataset with this definition.
    Load(DatasetDefinition),
    /// The session has no dataset of this name any more.
    Forget(String),
    /// Stop waiting for a dataset that is being read.
    CancelLoad(String),
    /// Columns of a file, before it becomes a dataset, and a definition to start from. Of a file that
    /// may be private, a sealed view gets a definition that does not depend on its cells.
    Inspect { file: String, watch: Watch },
    /// The columns by which a dataset can be split, with their values.
    Dividers { dataset: String, watch: Watch },
    /// The contents of a directory, relative to the data of the workspace.
    Browse(PathBuf, Wanted),
    /// Columns of a file, if they can be read quickly, and its first cells if they are public or
    /// somebody looks. Only the newest of several waiting requests is answered.
    Glance { file: PathBuf, look: Option<Watch> },
    /// Rows of a private dataset, only for the curator.
    Peek { dataset: String, watch: Watch },
    /// The runs of the workspace; from then on changes are reported.
    Archive,
    /// Follow runs of these places together with those of the workspace.
    Watch(Vec<PathBuf>),
    /// Ask the process of the run in this directory to do something.
    Steer { directory: PathBuf, request: SteeringRequest },
    /// Give a run a tag.
    TagRun { run: RunId, tag: String },
    /// Remove the directory of a run; its ledger entries stay.
    DeleteRun(RunId),
    /// Write the contents of a screen to a file, relative to the workspace.
    Export { path: PathBuf, text: String, replace: Replace },
    /// A certificate of a private dataset's spending, for others.
    Certify { account: AccountId, path: PathBuf },
    /// The user's position, for the next time.
    Remember(ProgramState),
    /// What would this plan cost? Only the newest of several waiting requests is answered.
    Preview { session: Session, plan: PlanDefinition },
    /// How long would a ranking by exact numbers take?
    TimeRanking(Box<Session>),
    /// Read the ledger.
    Ledger,
    /// The last rankings for a loaded private dataset.
    KeptRankings(String),
    /// Budget of a loaded private dataset.
    SetBudget { dataset: String, budget: Budget },
    /// Go on with an account whose past is not fully known.
    AcceptUnknownPast(AccountId),
    /// Settle a run whose program died, with what it drew.
    AbandonRun(RunId),
    /// Cut the damaged end off the ledger.
    RepairLedger,
    /// Start a job, which is steered by its control.
    Start { id: JobId, control: Control, job: JobRequest },
    /// What would it cost to let private records choose among these plans?
    OfferChoice { session: Session, plans: Vec<PlanDefinition>, target: Target },
    /// Write the predictions of a run's model for the rows of a file.
    Predict { run: RunId, data: PathBuf, output: PathBuf },
    /// Gather the results of a sweep and settle its runs; with `give_up` also of tasks that have not
    /// ended.
    Collect { sweep: SoughtSweep, give_up: bool },
    /// Write a page about these runs, without exact numbers.
    Report { runs: Vec<RunId>, path: PathBuf },
}

/// The work of a job.
#[derive(Debug)]
pub enum JobRequest {
    /// Make the run of this plan, perhaps with other sites.
    Run { session: Session, plan: PlanDefinition, watch: Watch, sites: Option<Box<Place>> },
    /// Continue a run whose program died.
    Resume { run: RunId, watch: Watch },
    /// Let private records choose among these plans.
    Choice { session: Session, plans: Vec<PlanDefinition>, target: Target },
    /// Rank the public datasets.
    Ranking { session: Session, watch: Watch, manner: Manner },
    /// Let public data play the private role for this plan, with these methods, or all that fit.
    Rehearsal { session: Session, plan: PlanDefinition, methods: Vec<String>, deep: bool },
    /// Let public data play the private role for this plan as it is, and for no other method.
    Trial { session: Session, plan: PlanDefinition },
}

/// The columns by which a dataset can be split.
#[derive(Debug)]
pub enum Dividers {
    Public(Vec<Divider>),
    Exact(CuratorOnly<Vec<Divider>>),
}

/// The steps of another trainer's file.
#[derive(Debug, Clone)]
pub struct TrainerSteps {
    pub path: PathBuf,
    pub name: String,
    pub trainer: String,
    pub step: u64,
    pub of: u64,
    /// `None` if the first line cannot be read.
    pub delta: Option<f64>,
    pub metrics: BTreeMap<String, Vec<(f64, f64)>>,
    pub claimed: Vec<(f64, f64)>,
    /// ε by our accountant, at some of the steps.
    pub computed: Vec<(f64, f64)>,
    /// ε by our accountant of everything drawn so far, if known.
    pub ours: Option<f64>,
    pub verdict: String,
    pub is_too_low: bool,
    pub wrote: Option<SystemTime>,
    pub end: Option<String>,
}

/// The reports to an interface.
#[derive(Debug)]
pub enum WorkerReport {
    /// A session was read.
    SessionOpened { session: Box<Session>, path: PathBuf },
    /// Files were looked at, and their datasets can be read.
    FilesFound(Result<Vec<DatasetDefinition>>),
    /// A session was written.
    SessionSaved { session: Box<Session>, path: PathBuf },
    /// The file holds another session, which would be overwritten.
    SessionClash { session: Box<Session>, path: PathBuf, differences: Vec<String> },
    /// A public dataset was compared with the private ones and with the ledger, and why its rows are
    /// withheld, if they are.
    Compared { dataset: String, withheld: Option<Error> },
    /// The progress of reading a dataset.
    Reading { name: String, bytes: u64, of: u64 },
    /// A dataset was read, with its account if the ledger knows it.
    Loaded { loaded: Arc<Loaded>, account: Option<AccountId> },
    /// A dataset could not be read.
    LoadFailed { name: String, error: Error },
    /// A definition to start from.
    Inspected {
        definition: Box<DatasetDefinition>,
        columns: Vec<ColumnKind>,
        /// The texts to be read as missing if the file is public, and where they are.
        odd_texts: (Vec<String>, String),
    },
    /// The columns by which a dataset can be split; `None` under a sealed watch.
    Dividers { dataset: String, columns: Option<Dividers> },
    /// The contents of a directory.
    Listing(Listing),
    /// The columns of a file.
    Glance { file: PathBuf, schema: Result<Schema> },
    /// Rows of a private dataset; `None` under a sealed watch.
    Peeked { dataset: String, rows: Option<CuratorOnly<ExactRows>> },
    /// The runs of the workspace.
    Archive(Vec<ArchivedRun>),
    /// The steps of another trainer so far.
    Trained(Box<TrainerSteps>),
    /// The changes to them since.
    Followed(Box<FollowedNews>),
    /// The cost of a plan.
    Preview(Box<Result<Preview>>),
    /// The time that a run of this plan will take, if it could be timed.
    Timed { plan: Box<PlanDefinition>, time: Option<RunTime> },
    /// The cost of a choice among plans.
    ChoiceOffered(Box<Result<Offer>>),
    /// The time that a ranking of this session will take, if it could be timed.
    RankingTimed { session: Box<Session>, time: Option<Duration> },
    /// Rankings for this private dataset that were made earlier, the newest first.
    KeptRankings { private: String, rankings: Vec<ArchivedRanking> },
    /// The ledger, and the sums of each account.
    Ledger(Book, Vec<Digest>),
    /// An event of a run.
    Run(JobId, RunEvent),
    /// An event of a choice among plans.
    Choice(JobId, ChoiceEvent),
    /// An event of a ranking.
    Ranking(JobId, RankingEvent),
    /// An event of a rehearsal.
    Rehearsal(JobId, RehearsalEvent),
    /// A request failed.
    Trouble(Error),
    /// A page, a table or a picture of a screen was written here.
    Wrote(PathBuf),
    /// A remark worth a line on the screen.
    Remark(String),
    /// The requested sweep is outside this workspace.
    WhichSweep,
    /// A sweep was collected, as far as its tasks have ended.
    Collected { sweep: PathBuf, tally: TaskTally },
}

/// A sweep whose results are wanted.
#[derive(Debug)]
pub enum SoughtSweep {
    /// The sweep in this directory, relative to the session.
    At(PathBuf),
    /// The sweep in this workspace to which the run belongs.
    Of(RunId),
}

/// An event of a job.
#[derive(Debug)]
pub enum JobEvent<M, T> {
    Progress(M),
    /// Nothing follows.
    Ended(Box<Result<T>>),
}

pub type RunEvent = JobEvent<RunProgress, Summary>;
pub type ChoiceEvent = JobEvent<ChoiceProgress, Chosen>;
pub type RankingEvent = JobEvent<RankingProgress, RankingSummary>;
pub type RehearsalEvent = JobEvent<Box<RehearsalProgress>, RehearsalProgress>;

impl WorkerReport {
    /// Whether somebody waits for it. Then it is drawn at once, and not with the next frame.
    pub fn is_awaited(&self) -> bool {
        matches!(self, Self::Archive(_))
    }
}
