//! The thread that serves an interface. It takes [`Request`]s in order and
//! answers with [`Report`]s; runs get threads of their own. The interface is
//! woken once per batch of reports and never waits for work; a slow interface
//! never slows a run, because reports wait in memory.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use super::assembly::assemble;
use super::control::Control;
use super::job::{self, Job, Moment, Summary};
use crate::adapt::{Plan, ProblemShape};
use crate::data::{self, DatasetDefinition, Role, Source};
use crate::error::{Error, Result};
use crate::privacy::ledger::{Account, AccountId, Book, Budget, RunId};
use crate::privacy::{Calibrated, Guarantee, Watch};
use crate::session::dataset::{self, ColumnKind, Loaded};
use crate::session::{PlanDefinition, Session, Workspace};

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
    /// Columns of a file, before it becomes a dataset.
    Inspect(String),
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
}

/// What an interface is told.
#[derive(Debug)]
pub enum Report {
    SessionOpened {
        session: Session,
        path: PathBuf,
    },
    SessionSaved(PathBuf),
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
    Preview(Box<Result<Preview>>),
    Ledger(Book),
    Job {
        id: JobId,
        news: News,
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

/// What a plan will cost, before anything is spent.
#[derive(Debug, Clone)]
pub struct Preview {
    pub plan: PlanDefinition,
    pub shape: ProblemShape,
    pub releases: Plan,
    pub calibrated: Calibrated,
    pub account: AccountId,
    pub budget: Option<Budget>,
    /// Everything charged so far and with this plan, at the budget's δ.
    pub spent: Option<Guarantee>,
    pub after: Option<Guarantee>,
    /// Why the ledger would refuse it.
    pub refusal: Option<Error>,
    pub warnings: Vec<String>,
}

/// The interface's end of the desk.
pub struct Desk {
    requests: Sender<Request>,
    reports: Arc<Tray>,
}

impl std::fmt::Debug for Desk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Desk")
    }
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
        let (requests, inbox) = channel();
        let clerk = Clerk { workspace, tray: Arc::clone(&reports), loaded: BTreeMap::new() };
        thread::spawn(move || clerk.serve(&inbox));
        Self { requests, reports }
    }

    pub fn ask(&self, request: Request) {
        // The clerk ends only with the desk itself.
        let _ = self.requests.send(request);
    }

    /// All reports since the last call.
    pub fn take(&self) -> Vec<Report> {
        self.reports.take()
    }
}

struct Clerk {
    workspace: Workspace,
    tray: Arc<Tray>,
    loaded: BTreeMap<String, Arc<Loaded>>,
}

impl Clerk {
    fn serve(mut self, inbox: &Receiver<Request>) {
        while let Ok(first) = inbox.recv() {
            let mut batch = vec![first];
            batch.extend(inbox.try_iter());
            let newest = batch.iter().rposition(|it| matches!(it, Request::Preview { .. }));
            for (index, request) in batch.into_iter().enumerate() {
                if matches!(request, Request::Preview { .. }) && Some(index) != newest {
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
                self.tray.put(Report::SessionOpened { session, path });
                self.tell_ledger()?;
            }
            Request::SaveSession { session, path } => {
                session.save(&path)?;
                self.tray.put(Report::SessionSaved(path));
            }
            Request::Load(definition) => self.load(&definition)?,
            Request::Inspect(file) => {
                let table = data::read::read_plainly(&self.workspace.resolve(&file))?;
                let columns = dataset::column_kinds(&table);
                self.tray.put(Report::Inspected { file, columns });
            }
            Request::Preview { session, plan } => {
                let preview = self.preview(&session, plan);
                self.tray.put(Report::Preview(Box::new(preview)));
            }
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
        }
        Ok(())
    }

    fn load(&mut self, definition: &DatasetDefinition) -> Result<()> {
        match dataset::load(definition, &self.workspace) {
            Ok(loaded) => {
                let loaded = Arc::new(loaded);
                self.loaded.insert(definition.name.clone(), Arc::clone(&loaded));
                // Meeting a private dataset is worth a ledger entry only once
                // it is to be spent from: looking costs nothing.
                let account = match &loaded.record {
                    Some(record) => {
                        let book = self.workspace.book()?;
                        book.find(record).map(|account| account.id.clone())
                    }
                    None => None,
                };
                self.tray.put(Report::Loaded { loaded, account });
            }
            Err(error) => {
                self.loaded.remove(&definition.name);
                self.tray.put(Report::LoadFailed { name: definition.name.clone(), error });
            }
        }
        Ok(())
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

    fn preview(&self, session: &Session, plan: PlanDefinition) -> Result<Preview> {
        session.check_plan(&plan)?;
        let datasets = self.datasets(&plan)?;
        let loaded: Vec<&Loaded> = datasets.iter().map(Arc::as_ref).collect();
        let assembly = assemble(session, &plan, &loaded)?;
        let record = loaded
            .iter()
            .find_map(|loaded| loaded.record.as_ref().filter(|record| record.name == plan.private));
        let record = record.ok_or_else(|| Error::failed("the private dataset is not loaded"))?;
        let book = self.workspace.book()?;
        let mut account = match book.find(record) {
            Some(account) => account.clone(),
            None => Account::unopened(record, book.lines_lost),
        };
        account.budget = account.budget.or(session.budgets.get(&plan.private).copied());
        let events = &assembly.calibrated.events;
        let at = account.budget.map_or(plan.target.delta, |budget| budget.delta);
        Ok(Preview {
            shape: assembly.problem.shape.clone(),
            releases: assembly.plan,
            account: account.id.clone(),
            budget: account.budget,
            spent: account.spent(at)?,
            after: account.spent_with(events, at).ok().flatten(),
            refusal: account.admit(events, plan.target).err(),
            calibrated: assembly.calibrated,
            warnings: assembly.warnings,
            plan,
        })
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
        let workspace = self.workspace.clone();
        thread::spawn(move || {
            let job = Job { session, plan, datasets, workspace, watch, control };
            let mut tell = |moment| tray.put(Report::Job { id, news: News::Moment(moment) });
            let result = catch_unwind(AssertUnwindSafe(|| job::execute(&job, &mut tell)));
            let result = result.unwrap_or_else(|_| {
                Err(Error::failed("the run crashed outside its steps")
                    .cure("its whole grant stays charged until it is settled on the Ledger screen"))
            });
            end(&tray, result);
            if let Ok(book) = job.workspace.book() {
                tray.put(Report::Ledger(book));
            }
        });
    }

    fn tell_ledger(&self) -> Result<()> {
        let book = self.workspace.book()?;
        self.tray.put(Report::Ledger(book));
        Ok(())
    }
}

/// A first definition for a file, from its columns alone.
pub fn suggest(file: &str, columns: &[ColumnKind], role: Role) -> DatasetDefinition {
    let stem =
        std::path::Path::new(file).file_stem().map(|stem| stem.to_string_lossy().into_owned());
    let name = stem.unwrap_or_else(|| file.to_owned());
    let numeric = columns.iter().rev().find(|column| column.numeric);
    DatasetDefinition {
        label: numeric.map(|column| column.name.clone()),
        ..DatasetDefinition::new(name, role, Source::File(file.to_owned()))
    }
}
