//! The thread that serves an interface. It takes [`Request`]s in order and
//! answers with [`Report`]s; runs, reading of data and of the archive get
//! threads of their own. The interface is woken once per batch of reports and
//! never waits for work; a slow interface never slows a run, because reports
//! wait in memory.

use std::collections::{BTreeMap, VecDeque};
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use super::control::Control;
use super::job::{self, Job, Moment, Summary};
use super::lookup::{self, Digest, Listing, Rows, Schema};
use super::prepared::PreparedStore;
pub use super::preview::Preview;
use super::preview::Previewer;
use super::ranking::{self, Manner, RankingJob, RankingMoment, RankingSummary};
use super::rehearse::{self, REPETITIONS, RehearsalJob};
use crate::data::{self, DatasetDefinition, Role, Source};
use crate::error::{Error, Result};
use crate::files;
use crate::privacy::ledger::{AccountId, Book, Budget, RunId};
use crate::privacy::{CuratorOnly, Watch};
use crate::session::dataset::{self, ColumnKind, Loaded};
use crate::session::preferences::Places;
use crate::session::{ArchivedRun, PlanDefinition, Session, State, Workspace, archive};

pub type JobId = u64;

/// What an interface may ask for.
#[derive(Debug)]
pub enum Request {
    OpenSession(PathBuf),
    SaveSession {
        session: Session,
        path: PathBuf,
    },
    /// Read (again) what the session says under this name.
    Load(DatasetDefinition),
    /// Stop waiting for a dataset that is being read.
    CancelLoad(String),
    /// Columns of a file, before it becomes a dataset.
    Inspect(String),
    /// What lies in a directory; relative to the data of the workspace.
    Browse(PathBuf),
    /// Columns of a file, as far as they are quickly read, and its first cells where they
    /// are public or somebody looks. Only the newest of several waiting is answered.
    Glance {
        file: PathBuf,
        look: Option<Watch>,
    },
    /// Rows of a private dataset, for the curator's eyes.
    Peek {
        dataset: String,
        watch: Watch,
    },
    /// The runs of the workspace.
    Archive,
    TagRun {
        run: RunId,
        tag: String,
    },
    DeleteRun(RunId),
    /// Write what the interface shows to a file, relative to the workspace.
    Export {
        path: PathBuf,
        text: String,
    },
    /// What a private dataset has spent, for those who may ask.
    Certify {
        account: AccountId,
        path: PathBuf,
    },
    /// Where the user was, for the next time.
    Remember(State),
    /// What would this plan cost? Only the newest of several waiting is answered.
    Preview {
        session: Session,
        plan: PlanDefinition,
    },
    Ledger,
    /// Budget of a loaded private dataset.
    SetBudget {
        dataset: String,
        budget: Budget,
    },
    AcceptUnknownPast(AccountId),
    AbandonRun(RunId),
    RepairLedger,
    Launch {
        id: JobId,
        session: Session,
        plan: PlanDefinition,
        watch: Watch,
        control: Control,
    },
    /// Let public data play the private role for this plan.
    Rehearse {
        id: JobId,
        session: Session,
        plan: PlanDefinition,
        stop: Arc<AtomicBool>,
    },
    /// Put the public datasets in order.
    Rank {
        id: JobId,
        session: Session,
        watch: Watch,
        control: Control,
        manner: Manner,
    },
}

/// What an interface is told.
#[derive(Debug)]
pub enum Report {
    SessionOpened {
        session: Box<Session>,
        path: PathBuf,
    },
    SessionSaved(PathBuf),
    /// How far the reading of a dataset is.
    Reading {
        name: String,
        bytes: u64,
        of: u64,
    },
    Loaded {
        loaded: Arc<Loaded>,
        account: Option<AccountId>,
    },
    LoadFailed {
        name: String,
        error: Error,
    },
    Inspected {
        file: String,
        columns: Vec<ColumnKind>,
    },
    Listing(Listing),
    Glance {
        file: PathBuf,
        schema: Result<Schema>,
    },
    Peeked {
        dataset: String,
        rows: Option<CuratorOnly<Rows>>,
    },
    Archive(Vec<ArchivedRun>),
    Preview(Box<Result<Preview>>),
    /// The ledger, and what each account adds up to.
    Ledger(Book, Vec<Digest>),
    Job {
        id: JobId,
        news: News,
    },
    Rank {
        id: JobId,
        news: RankNews,
    },
    Rehearsal {
        id: JobId,
        news: RehearsalNews,
    },
    Trouble(Error),
    /// Something worth a line on the screen.
    Remark(String),
}

#[derive(Debug)]
pub enum News {
    Moment(Moment),
    Ended(Box<Result<Summary>>),
}

#[derive(Debug)]
pub enum RehearsalNews {
    Progressed(Box<rehearse::Progress>),
    Ended(Box<Result<rehearse::Progress>>),
}

#[derive(Debug)]
pub enum RankNews {
    Moment(RankingMoment),
    Ended(Box<Result<RankingSummary>>),
}

/// The interface's end of the desk.
pub struct Desk {
    errands: Sender<Errand>,
    reports: Arc<Tray>,
}

impl std::fmt::Debug for Desk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Desk")
    }
}

/// What the clerk's thread is told.
enum Errand {
    Asked(Box<Request>),
    /// A dataset was read, unless nobody waits for it any more.
    Read {
        name: String,
        reading: Arc<AtomicBool>,
        result: Box<Result<Loaded>>,
    },
    Close,
}

/// Where reports wait. `wake` is called when the tray stops being empty.
struct Tray {
    reports: Mutex<Vec<Report>>,
    awake: AtomicBool,
    wake: Box<dyn Fn() + Send + Sync>,
}

impl Tray {
    fn put(&self, report: Report) {
        self.reports.lock().unwrap_or_else(PoisonError::into_inner).push(report);
        if !self.awake.swap(true, Ordering::AcqRel) {
            (self.wake)();
        }
    }

    fn take(&self) -> Vec<Report> {
        self.awake.store(false, Ordering::Release);
        std::mem::take(&mut *self.reports.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Desk {
    /// Opens the desk of a workspace. `wake` is called, from any thread, when
    /// reports wait.
    pub fn open(workspace: Workspace, wake: impl Fn() + Send + Sync + 'static) -> Self {
        let reports = Arc::new(Tray {
            reports: Mutex::default(),
            awake: AtomicBool::new(false),
            wake: Box::new(wake),
        });
        let (errands, inbox) = channel();
        let (answers, prepared) = (Arc::clone(&reports), PreparedStore::default());
        let clerk = Clerk {
            workspace,
            tray: Arc::clone(&reports),
            errands: errands.clone(),
            loaded: BTreeMap::new(),
            reading: BTreeMap::new(),
            previewer: Previewer::start(prepared.clone(), move |preview| {
                answers.put(Report::Preview(Box::new(preview)));
            }),
            prepared,
        };
        thread::spawn(move || clerk.serve(&inbox));
        Self { errands, reports }
    }

    pub fn ask(&self, request: Request) {
        // The clerk ends only with the desk itself.
        let _ = self.errands.send(Errand::Asked(Box::new(request)));
    }

    /// All reports since the last call.
    pub fn take(&self) -> Vec<Report> {
        self.reports.take()
    }
}

impl Drop for Desk {
    fn drop(&mut self) {
        let _ = self.errands.send(Errand::Close);
    }
}

struct Clerk {
    workspace: Workspace,
    tray: Arc<Tray>,
    errands: Sender<Errand>,
    loaded: BTreeMap<String, Arc<Loaded>>,
    /// Datasets that are being read; true in the flag: nobody waits any more.
    reading: BTreeMap<String, Arc<AtomicBool>>,
    previewer: Previewer,
    /// For previews and runs.
    prepared: PreparedStore,
}

/// Whether a later request of the same kind makes this one pointless.
fn overtaken(request: &Request, later: &[Errand]) -> bool {
    let same = |other: &Errand| {
        let Errand::Asked(other) = other else { return false };
        match request {
            Request::Preview { .. } => matches!(**other, Request::Preview { .. }),
            Request::Glance { .. } => matches!(**other, Request::Glance { .. }),
            Request::Archive => matches!(**other, Request::Archive),
            _ => false,
        }
    };
    later.iter().any(same)
}

impl Clerk {
    fn serve(mut self, inbox: &Receiver<Errand>) {
        while let Ok(first) = inbox.recv() {
            let mut batch: VecDeque<Errand> = VecDeque::from([first]);
            batch.extend(inbox.try_iter());
            while let Some(errand) = batch.pop_front() {
                let request = match errand {
                    Errand::Asked(request) => *request,
                    Errand::Read { name, reading, result } => {
                        self.loaded(&name, &reading, *result);
                        continue;
                    }
                    Errand::Close => return,
                };
                if overtaken(&request, batch.make_contiguous()) {
                    continue;
                }
                let answered = catch_unwind(AssertUnwindSafe(|| self.answer(request)));
                match answered {
                    Ok(Ok(())) => {}
                    Ok(Err(error)) => self.tray.put(Report::Trouble(error)),
                    Err(_) => self.tray.put(Report::Trouble(
                        Error::failed("a request crashed").cure("please report what you did"),
                    )),
                }
            }
        }
    }

    fn answer(&mut self, request: Request) -> Result<()> {
        match request {
            Request::OpenSession(path) => {
                let session = Session::open(&path)?;
                self.workspace = Workspace::of_session(&path)?;
                self.loaded.clear();
                self.prepared.clear();
                self.reading.values().for_each(|reading| reading.store(true, Ordering::Release));
                self.reading.clear();
                let session = Box::new(session);
                self.tray.put(Report::SessionOpened { session, path });
                self.tell_ledger()?;
            }
            Request::SaveSession { session, path } => {
                session.save(&path)?;
                self.tray.put(Report::SessionSaved(path));
            }
            Request::Load(definition) => self.load(definition),
            Request::CancelLoad(name) => {
                if let Some(reading) = self.reading.remove(&name) {
                    reading.store(true, Ordering::Release);
                    let error = Error::interrupted("reading was cancelled")
                        .cure("press r on the Data screen to read it again");
                    self.tray.put(Report::LoadFailed { name, error });
                }
            }
            Request::Inspect(file) => {
                let table = data::read::read_for_columns(&self.workspace.resolve(&file))?;
                let columns = dataset::column_kinds(&table);
                // A session travels with its data: below its directory, paths are relative.
                let base = self.workspace.base();
                let base = base.canonicalize().unwrap_or_else(|_| base.to_path_buf());
                let below = Path::new(&file).strip_prefix(&base);
                let file = below.map_or(file.clone(), |path| path.display().to_string());
                self.tray.put(Report::Inspected { file, columns });
            }
            Request::Browse(directory) => {
                let listing = lookup::list(self.workspace.base(), &directory)?;
                self.tray.put(Report::Listing(listing));
            }
            Request::Glance { file, look } => {
                let schema = lookup::glance(&file, self.role_of(&file), look.as_ref());
                self.tray.put(Report::Glance { file, schema });
            }
            Request::Peek { dataset, watch } => {
                let private = self.loaded.get(&dataset).map(|loaded| loaded.private());
                let private = private
                    .ok_or_else(|| Error::failed(format!("dataset '{dataset}' is not loaded")))??;
                let rows = private.curator(&watch, |table| Rows::of(table, lookup::MOST_ROWS));
                self.tray.put(Report::Peeked { dataset, rows });
            }
            Request::Archive => self.tell_archive(),
            Request::TagRun { run, tag } => {
                archive::tag(&self.workspace, &run, &tag)?;
                self.tell_archive();
            }
            Request::DeleteRun(run) => {
                archive::delete(&self.workspace, &run)?;
                let text = format!("removed {}; its ledger entries stay", run.0);
                self.tray.put(Report::Remark(text));
                self.tell_archive();
            }
            Request::Export { path, text } => self.export(&path, &text)?,
            Request::Certify { account, path } => {
                let book = self.workspace.book()?;
                let account = book
                    .account(&account)
                    .ok_or_else(|| Error::failed(format!("there is no account {}", account.0)))?;
                self.export(&path, &lookup::certificate(account)?)?;
            }
            Request::Remember(state) => {
                if let Some(places) = Places::of_environment() {
                    places.write_state(&state)?;
                }
            }
            // The answer follows the last dataset that it waits for: the interface
            // asks again when that has arrived.
            Request::Preview { plan, .. } if self.waits_for_data(&plan) => {}
            Request::Preview { session, plan } => match self.datasets(&plan) {
                Ok(datasets) => self.previewer.ask(session, plan, datasets, &self.workspace),
                Err(error) => self.tray.put(Report::Preview(Box::new(Err(error)))),
            },
            Request::Ledger => self.tell_ledger()?,
            Request::SetBudget { dataset, budget } => {
                let loaded = self.loaded.get(&dataset).ok_or_else(|| {
                    Error::usage(format!("'{dataset}' is not a loaded private dataset"))
                })?;
                let mut ledger = self.workspace.ledger()?;
                let account = loaded.register(&mut ledger)?;
                ledger.set_budget(&account, budget)?;
                self.tell_ledger()?;
            }
            Request::AcceptUnknownPast(account) => {
                self.workspace.ledger()?.accept(&account, "accepted on the Ledger screen")?;
                self.tell_ledger()?;
            }
            Request::AbandonRun(run) => {
                self.workspace.ledger()?.abandon(&run)?;
                self.tell_ledger()?;
            }
            Request::RepairLedger => {
                let aside = self.workspace.ledger()?.repair()?;
                let text = format!("the damaged ledger was set aside as {}", aside.display());
                self.tray.put(Report::Remark(text));
                self.tell_ledger()?;
            }
            Request::Launch { id, session, plan, watch, control } => {
                self.launch(id, session, plan, watch, control);
            }
            Request::Rehearse { id, session, plan, stop } => {
                let (datasets, workspace) = (self.datasets(&plan)?, self.workspace.clone());
                let job = RehearsalJob {
                    session,
                    plan,
                    datasets,
                    workspace,
                    epsilons: Vec::new(),
                    methods: Vec::new(),
                    repetitions: REPETITIONS,
                    part: rehearse::WHOLE,
                    stop,
                };
                self.rehearse(id, job);
            }
            Request::Rank { id, session, watch, control, manner } => {
                // Whoever could not be read is left out.
                let names = session.ranking.public_names(&session).into_iter();
                let names = names.chain(session.ranking.private_name(&session).ok());
                let datasets = names.filter_map(|name| self.loaded.get(name).cloned()).collect();
                let (workspace, prepared) = (self.workspace.clone(), self.prepared.clone());
                let job = RankingJob {
                    session,
                    datasets,
                    workspace,
                    watch,
                    control,
                    manner,
                    allow_large_delta: false,
                    prepared,
                };
                self.rank(id, job);
            }
        }
        Ok(())
    }

    /// Reads in a thread of its own, so that a large file holds up nothing else.
    /// What the session says of a file; private, if one of its datasets is.
    fn role_of(&self, file: &Path) -> Option<Role> {
        let canonical = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
        let wanted = canonical(file);
        let definitions = self.loaded.values().map(|loaded| &loaded.definition);
        let of_file = definitions.filter(|definition| {
            let mut files = definition.source.files().into_iter();
            files.any(|file| canonical(&self.workspace.resolve(file)) == wanted)
        });
        let roles: Vec<Role> = of_file.map(|definition| definition.role).collect();
        let private = roles.iter().find(|role| **role == Role::Private);
        private.or(roles.first()).copied()
    }

    fn load(&mut self, definition: DatasetDefinition) {
        let name = definition.name.clone();
        let reading = Arc::new(AtomicBool::new(false));
        self.loaded.remove(&name);
        self.prepared.clear();
        if let Some(earlier) = self.reading.insert(name.clone(), Arc::clone(&reading)) {
            earlier.store(true, Ordering::Release);
        }
        let (workspace, errands) = (self.workspace.clone(), self.errands.clone());
        let tray = Arc::clone(&self.tray);
        thread::spawn(move || {
            let mut watch = |bytes: u64, of: u64| {
                if reading.load(Ordering::Acquire) {
                    return ControlFlow::Break(());
                }
                tray.put(Report::Reading { name: definition.name.clone(), bytes, of });
                ControlFlow::Continue(())
            };
            let result = catch_unwind(AssertUnwindSafe(|| {
                dataset::load_watched(&definition, &workspace, &mut watch)
            }));
            let result = result.unwrap_or_else(|_| {
                Err(Error::failed("reading this dataset crashed").cure("please report the file"))
            });
            let _ = errands.send(Errand::Read { name, reading, result: Box::new(result) });
        });
    }

    fn loaded(&mut self, name: &str, reading: &AtomicBool, result: Result<Loaded>) {
        if reading.load(Ordering::Acquire) {
            return;
        }
        self.reading.remove(name);
        match result {
            Ok(loaded) => {
                let loaded = Arc::new(loaded);
                self.loaded.insert(name.to_owned(), Arc::clone(&loaded));
                // Meeting a private dataset is worth a ledger entry only once
                // it is to be spent from: looking costs nothing.
                let book = loaded.record.as_ref().and_then(|_| self.workspace.book().ok());
                let known = book.as_ref().zip(loaded.record.as_ref());
                let account = known.and_then(|(book, record)| book.find(record));
                let account = account.map(|account| account.id.clone());
                self.tray.put(Report::Loaded { loaded, account });
            }
            Err(error) => {
                self.tray.put(Report::LoadFailed { name: name.to_owned(), error });
            }
        }
    }

    fn waits_for_data(&self, plan: &PlanDefinition) -> bool {
        let mut names = std::iter::once(&plan.private).chain(&plan.public);
        names.any(|name| self.reading.contains_key(name))
    }

    fn export(&self, path: &Path, text: &str) -> Result<()> {
        let path = self.workspace.base().join(path);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent)
                .map_err(|error| Error::io("create the directory", parent, &error))?;
        }
        files::write_private(&path, text.as_bytes())?;
        self.tray.put(Report::Remark(format!("wrote {}", path.display())));
        Ok(())
    }

    /// Reads the runs in a thread of its own: there may be many, and long ones.
    fn tell_archive(&self) {
        let (tray, workspace) = (Arc::clone(&self.tray), self.workspace.clone());
        thread::spawn(move || {
            tray.put(match archive::read(&workspace) {
                Ok(runs) => Report::Archive(runs),
                Err(error) => Report::Trouble(error),
            });
        });
    }

    fn datasets(&self, plan: &PlanDefinition) -> Result<Vec<Arc<Loaded>>> {
        let names = std::iter::once(&plan.private).chain(&plan.public);
        names
            .map(|name| {
                self.loaded.get(name).cloned().ok_or_else(|| {
                    Error::failed(format!("dataset '{name}' is not loaded"))
                        .cure("see the Data screen for the reason")
                })
            })
            .collect()
    }

    fn launch(
        &self,
        id: JobId,
        session: Session,
        plan: PlanDefinition,
        watch: Watch,
        control: Control,
    ) {
        let tray = Arc::clone(&self.tray);
        let end = move |tray: &Tray, result: Result<Summary>| {
            tray.put(Report::Job { id, news: News::Ended(Box::new(result)) });
        };
        let datasets = match self.datasets(&plan) {
            Ok(datasets) => datasets,
            Err(error) => return end(&tray, Err(error)),
        };
        let (workspace, prepared) = (self.workspace.clone(), self.prepared.clone());
        thread::spawn(move || {
            let job = Job { session, plan, datasets, workspace, watch, control, prepared };
            let mut tell = |moment| {
                fault_for_tests(&moment);
                tray.put(Report::Job { id, news: News::Moment(moment) });
            };
            let result = catch_unwind(AssertUnwindSafe(|| job::execute(&job, &mut tell)));
            let result = result.unwrap_or_else(|_| {
                Err(Error::failed("the run crashed outside its steps")
                    .cure("its whole grant stays charged until it is settled on the Ledger screen"))
            });
            end(&tray, result);
            if let Ok(book) = job.workspace.book() {
                tray.put(ledger_report(book));
            }
        });
    }

    fn rank(&self, id: JobId, job: RankingJob) {
        let tray = Arc::clone(&self.tray);
        thread::spawn(move || {
            let mut tell = |moment| {
                tray.put(Report::Rank { id, news: RankNews::Moment(moment) });
            };
            let result = catch_unwind(AssertUnwindSafe(|| ranking::rank(&job, &mut tell)));
            let result = result.unwrap_or_else(|_| {
                Err(Error::failed("the ranking crashed").cure("please report the session"))
            });
            tray.put(Report::Rank { id, news: RankNews::Ended(Box::new(result)) });
            if let Ok(book) = job.workspace.book() {
                tray.put(ledger_report(book));
            }
        });
    }

    fn rehearse(&self, id: JobId, job: RehearsalJob) {
        let tray = Arc::clone(&self.tray);
        thread::spawn(move || {
            let mut tell = |progress: &rehearse::Progress| {
                let news = RehearsalNews::Progressed(Box::new(progress.clone()));
                tray.put(Report::Rehearsal { id, news });
            };
            let result = catch_unwind(AssertUnwindSafe(|| rehearse::rehearse(&job, &mut tell)));
            let result = result.unwrap_or_else(|_| {
                Err(Error::failed("the rehearsal crashed").cure("please report the session"))
            });
            tray.put(Report::Rehearsal { id, news: RehearsalNews::Ended(Box::new(result)) });
        });
    }

    fn tell_ledger(&self) -> Result<()> {
        let book = self.workspace.book()?;
        self.tray.put(ledger_report(book));
        Ok(())
    }
}

/// A debug build can be told to crash in the middle of a run, so that a test sees
/// what becomes of the terminal, the ledger and the interface.
fn fault_for_tests(moment: &Moment) {
    let wanted = cfg!(debug_assertions) && std::env::var_os("HALFLIGHT_TEST_CRASH").is_some();
    let crash = wanted && matches!(moment, Moment::Stepped(progress) if progress.step.index == 5);
    assert!(!crash, "a crash that a test asked for");
}

fn ledger_report(book: Book) -> Report {
    let digests = book.accounts.iter().map(Digest::of).collect();
    Report::Ledger(book, digests)
}

/// A first definition for a file, from its columns alone.
pub fn suggest(file: &str, columns: &[ColumnKind], role: Role) -> DatasetDefinition {
    let stem = Path::new(file).file_stem().map(|stem| stem.to_string_lossy().into_owned());
    let name = stem.unwrap_or_else(|| file.to_owned());
    let numeric = columns.iter().rev().find(|column| column.numeric);
    DatasetDefinition {
        label: numeric.map(|column| column.name.clone()),
        ..DatasetDefinition::new(name, role, Source::File(file.to_owned()))
    }
}
