//! The thread that serves an interface. It takes [`Request`]s in order and answers with
//! [`WorkerReport`]s; runs, and reading data or the archive, get threads of their own. The interface
//! is woken once per batch of reports and never waits for work. A slow interface never slows a run,
//! because reports wait in memory.

mod following;
mod jobs;
mod messages;
mod report_queue;

use std::collections::{BTreeMap, VecDeque};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use following::Following;
pub use messages::{
    ChoiceEvent, Dividers, JobEvent, JobId, JobRequest, RankingEvent, RehearsalEvent, Request,
    RunEvent, SoughtSweep, TrainerSteps, WorkerReport,
};
use report_queue::ReportQueue;

use super::control::Control;
use super::job::Job;
use super::lookup::{self, Digest, ExactRows, RunLife, Wanted};
use super::prepared::PreparedStore;
pub use super::preview::Preview;
use super::preview::{NewestFirst, previewer};
use super::steps::catch_as;
use super::sweep::{self, TaskTally};
use super::timing::stopwatch;
use super::{look, overlap, predict, ranking, resemblance};
use crate::data::inspect::Inspection;
use crate::data::read::read_for_columns;
use crate::data::{DatasetDefinition, Role, Source};
use crate::error::{Doing, Error, Result};
use crate::files;
use crate::privacy::Watch;
use crate::privacy::ledger::{Book, RunId, RunRecord};
use crate::privacy::openings::OpenPrivate;
use crate::session::dataset::{self, Loaded, LoadedRecords};
use crate::session::found_file::FoundFile;
use crate::session::known_rows::KnownAccounts;
use crate::session::named::{self, OwnKind, Replace};
use crate::session::preferences::UserDirectories;
use crate::session::steering::{self, SteeringRequest};
use crate::session::sweep::SweepDirectory;
use crate::session::{self, PlanDefinition, Session, Workspace, archive, changes, family};

/// The ledger's notes for looks at private rows.
const FIRST_ROWS_NOTE: &str = "unprotected look: the first rows of the file";
const ROWS_NOTE: &str = "unprotected look: profiles and rows, on the Data screen";
const VALUES_NOTE: &str = "unprotected look: the values by which rows can be divided";

/// The handle of an interface on the thread that serves it.
pub struct Worker {
    messages: Sender<WorkerMessage>,
    reports: Arc<ReportQueue>,
}

impl std::fmt::Debug for Worker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Worker")
    }
}

/// The messages to the thread.
enum WorkerMessage {
    /// The interface asks for something.
    Asked(Box<Request>),
    /// A dataset was read, unless nobody waits for it any more.
    Read { name: String, reading: Control, result: Box<Result<Loaded>> },
    /// A public dataset was compared with the private ones.
    Compared { name: String, withheld: Option<Error> },
    /// The interface ends.
    Close,
}

impl Worker {
    /// Starts the thread that serves an interface on a workspace. `wake` is called, from any thread, when reports wait.
    pub fn open(workspace: Workspace, wake: impl Fn() + Send + Sync + 'static) -> Self {
        let reports = Arc::new(ReportQueue::new(wake));
        let (messages, inbox) = channel();
        let (answers, times) = (Arc::clone(&reports), Arc::clone(&reports));
        let stopwatch = stopwatch(move |plan, time| {
            times.put(WorkerReport::Timed { plan: Box::new(plan), time });
        });
        let thread = WorkerThread {
            workspace,
            reports: Arc::clone(&reports),
            messages: messages.clone(),
            definitions: BTreeMap::new(),
            loaded: BTreeMap::new(),
            looks: Vec::new(),
            shadowed: BTreeMap::new(),
            reading: BTreeMap::new(),
            previewer: previewer(stopwatch, move |preview| {
                answers.put(WorkerReport::Preview(Box::new(preview)));
            }),
            prepared: PreparedStore::default(),
            following: Following::start(Arc::clone(&reports)),
        };
        thread::spawn(move || thread.serve(&inbox));
        Self { messages, reports }
    }

    pub fn ask(&self, request: Request) {
        // The thread ends only with the worker itself.
        let _ = self.messages.send(WorkerMessage::Asked(Box::new(request)));
    }

    /// All reports since the last call.
    pub fn take(&self) -> Vec<WorkerReport> {
        self.reports.take()
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.messages.send(WorkerMessage::Close);
    }
}

struct WorkerThread {
    workspace: Workspace,
    reports: Arc<ReportQueue>,
    messages: Sender<WorkerMessage>,
    /// The definitions of the session, whether or not their data could be read.
    definitions: BTreeMap<String, DatasetDefinition>,
    loaded: BTreeMap<String, Arc<Loaded>>,
    /// For each compared public dataset, why its rows are withheld.
    shadowed: BTreeMap<String, Option<Error>>,
    /// Looks at private rows without an account: their files, and the ledger's note.
    looks: Vec<(Vec<PathBuf>, &'static str)>,
    /// Datasets that are being read; reading is stopped if nobody waits any more.
    reading: BTreeMap<String, Control>,
    previewer: NewestFirst<Job>,
    /// For previews and runs.
    prepared: PreparedStore,
    following: Following,
}

/// Whether a later request of the same kind makes this one pointless.
fn overtaken(request: &Request, later: &[WorkerMessage]) -> bool {
    use std::mem::discriminant;
    let only_newest =
        matches!(request, Request::Preview { .. } | Request::Glance { .. } | Request::Archive);
    let same = |other: &WorkerMessage| matches!(other, WorkerMessage::Asked(other) if discriminant(&**other) == discriminant(request));
    only_newest && later.iter().any(same)
}

impl WorkerThread {
    fn serve(mut self, inbox: &Receiver<WorkerMessage>) {
        while let Ok(first) = inbox.recv() {
            let mut batch: VecDeque<WorkerMessage> = VecDeque::from([first]);
            batch.extend(inbox.try_iter());
            while let Some(message) = batch.pop_front() {
                match message {
                    WorkerMessage::Asked(request)
                        if overtaken(&request, batch.make_contiguous()) => {}
                    WorkerMessage::Asked(request) => {
                        let crash = ("a request crashed", "please report what you did");
                        if let Err(error) = catch_as(crash, || self.answer(*request)) {
                            self.reports.put(WorkerReport::Trouble(error));
                        }
                    }
                    WorkerMessage::Read { name, reading, result } => {
                        self.loaded(&name, &reading, *result);
                    }
                    WorkerMessage::Compared { name, withheld } => {
                        self.shadowed.insert(name.clone(), withheld.clone());
                        self.reports.put(WorkerReport::Compared { dataset: name, withheld });
                    }
                    WorkerMessage::Close => return,
                }
            }
        }
    }

    fn answer(&mut self, request: Request) -> Result<()> {
        match request {
            // If the path is a folder, show its contents.
            Request::OpenSession(path) if path.is_dir() => {
                self.list(Path::new("."), &path, Wanted::Sessions)?;
            }
            Request::OpenSession(path) => {
                let session = Session::open(&path)?;
                self.workspace = Workspace::of_session(&path)?;
                self.loaded.clear();
                self.definitions.clear();
                self.shadowed.clear();
                self.prepared.clear();
                self.reading.values().for_each(Control::stop);
                self.reading.clear();
                let session = Box::new(session);
                self.reports.put(WorkerReport::SessionOpened { session, path });
                self.send_ledger()?;
            }
            Request::OpenFiles(files) => {
                let found = lookup::new_datasets(&files, &self.workspace.overflow());
                let (found, note) = match found {
                    Ok((datasets, note)) => (Ok(datasets), note),
                    Err(error) => (Err(error), None),
                };
                self.reports.put(WorkerReport::FilesFound(found));
                if let Some(note) = note {
                    self.remark(note);
                }
            }
            Request::SaveSession { session, path, known, moves } => {
                self.save(session, path, known.as_deref(), moves)?;
            }
            Request::Forget(name) => {
                self.definitions.remove(&name);
                self.loaded.remove(&name);
                self.compare();
            }
            Request::Load(definition) => self.load(definition),
            Request::CancelLoad(name) => {
                if let Some(reading) = self.reading.remove(&name) {
                    reading.stop();
                    let error = Error::interrupted("reading was cancelled")
                        .cure("press U on the Data screen to read it again");
                    self.reports.put(WorkerReport::LoadFailed { name, error });
                    self.compare();
                }
            }
            Request::Inspect { file, .. } if self.workspace.resolve(&file).is_dir() => {
                self.list(self.workspace.base(), Path::new(&file), Wanted::Data)?;
            }
            Request::Inspect { file, watch } => {
                let path = self.workspace.resolve(&file);
                let may_be_private = self.role_of(&path) != Some(Role::Public);
                // A session can be moved with its data: below its directory, paths are relative.
                let base = self.workspace.base();
                let base = base.canonicalize().unwrap_or_else(|_| base.to_path_buf());
                let below = Path::new(&file).strip_prefix(&base);
                let file = below.map_or(file.clone(), |path| path.display().to_string());
                let found = FoundFile::of(&path, &file)?;
                let overflow = self.workspace.overflow();
                let (table, source) =
                    found.read(|path, reading| read_for_columns(path, reading, &overflow))?;
                let columns = dataset::column_kinds(&table);
                if let Some(note) = found.note() {
                    self.remark(note);
                }
                let name = family::name_of(&file);
                // Label, task and columns would say what stands in the cells.
                let (mut definition, odd_texts) = if watch.is_sealed() && may_be_private {
                    (DatasetDefinition::new(&name, Role::Private, found.source), Default::default())
                } else {
                    let inspection = Inspection::of(&table, false);
                    (inspection.definition(&name, source), inspection.odd_texts())
                };
                family::guess_of_file(&mut definition, &table.origin, table.rows());
                let definition = Box::new(definition);
                self.reports.put(WorkerReport::Inspected { definition, columns, odd_texts });
            }
            Request::Browse(directory, wanted) => {
                self.list(self.workspace.base(), &directory, wanted)?;
            }
            Request::Glance { file, look } => {
                if look.is_some() && self.role_of(&file) != Some(Role::Public) {
                    look::note_file(&file, &self.workspace, Source::File, FIRST_ROWS_NOTE)?;
                }
                let (role, overflow) = (self.role_of(&file), self.workspace.overflow());
                let schema = lookup::glance(&file, role, look.as_ref(), &overflow);
                self.reports.put(WorkerReport::Glance { file, schema });
            }
            Request::Peek { dataset, watch } => {
                let loaded = Arc::clone(self.dataset(&dataset)?);
                self.note_look(&dataset, &watch, ROWS_NOTE)?;
                let rows = loaded.private()?.curator(&watch, ExactRows::of);
                self.reports.put(WorkerReport::Peeked { dataset, rows });
            }
            Request::Dividers { dataset, watch } => {
                self.note_look(&dataset, &watch, VALUES_NOTE)?;
                let loaded = self.dataset(&dataset)?;
                let columns = match &loaded.records {
                    LoadedRecords::Public(_) => {
                        Some(Dividers::Public(family::dividers(loaded.public()?)))
                    }
                    LoadedRecords::Private(table) => {
                        table.curator(&watch, family::dividers).map(Dividers::Exact)
                    }
                };
                self.reports.put(WorkerReport::Dividers { dataset, columns });
            }
            Request::Archive => self.send_archive(),
            Request::Watch(places) => {
                self.following.watch(places);
                self.send_archive();
            }
            Request::Steer { directory, request } => {
                let process = steering::ask(&directory, request)?;
                if request == SteeringRequest::Stop {
                    self.remark(format!("asked {process} to stop; it settles what it drew"));
                }
            }
            Request::TagRun { run, tag } => {
                archive::tag(&self.workspace, &run, &tag)?;
                self.send_archive();
            }
            Request::DeleteRun(run) => {
                archive::delete(&self.workspace, &run)?;
                self.remark(format!("removed {}; its ledger entries stay", run.0));
                self.send_archive();
            }
            Request::Export { path, text, replace } => self.export(&path, &text, replace)?,
            Request::Certify { account, path } => {
                let book = self.workspace.book()?;
                let gone = || Error::failed(format!("there is no account {}", account.0));
                let account = book.account(&account).ok_or_else(gone)?;
                let text = lookup::certificate(account)?;
                self.export(&path, &text, Replace::Own(OwnKind::AccountCertificate))?;
            }
            Request::Remember(state) => {
                if let Some(places) = UserDirectories::of_environment() {
                    places.write_state(&state)?;
                }
            }
            // The answer follows the last dataset that it waits for: the interface
            // asks again when that has arrived.
            Request::Preview { plan, .. } if self.waits_for_data(&plan) => {}
            Request::TimeRanking(session) => {
                let datasets: Vec<Arc<Loaded>> = self.loaded.values().cloned().collect();
                let (store, reports) = (self.prepared.clone(), Arc::clone(&self.reports));
                thread::spawn(move || {
                    let crash = ("the timing of a ranking crashed", "please report the session");
                    let time = catch_as(crash, || ranking::time(&session, &datasets, &store));
                    let time = time.ok().flatten();
                    reports.put(WorkerReport::RankingTimed { session, time });
                });
            }
            Request::Preview { session, plan } => match self.job(session, plan) {
                Ok(job) => self.previewer.ask(job),
                Err(error) => self.reports.put(WorkerReport::Preview(Box::new(Err(error)))),
            },
            Request::Ledger => self.send_ledger()?,
            Request::KeptRankings(private) => {
                if let Some(loaded) = self.loaded.get(&private) {
                    let rankings = resemblance::rankings(loaded, &self.workspace);
                    self.reports.put(WorkerReport::KeptRankings { private, rankings });
                }
            }
            Request::SetBudget { dataset, budget } => {
                let loaded = self.loaded.get(&dataset).ok_or_else(|| {
                    Error::usage(format!("'{dataset}' is not a loaded private dataset"))
                })?;
                let mut ledger = self.workspace.ledger()?;
                let account = loaded.register(&mut ledger)?;
                ledger.set_budget(&account, budget)?;
                self.send_ledger()?;
            }
            Request::AcceptUnknownPast(account) => {
                self.workspace.ledger()?.accept(&account, "accepted on the Ledger screen")?;
                self.send_ledger()?;
            }
            Request::AbandonRun(run) => {
                let mut ledger = self.workspace.ledger()?;
                self.remark(self.workspace.abandon(&mut ledger, &run)?);
                self.send_ledger()?;
            }
            Request::RepairLedger => {
                let aside = self.workspace.ledger()?.repair()?;
                self.remark(format!("the damaged ledger was set aside as {}", aside.display()));
                self.send_ledger()?;
            }
            Request::Start { id, control, job } => self.start(id, control, job),
            Request::OfferChoice { session, plans, target } => {
                self.offer(self.choice(session, plans, target, Control::default())?);
            }
            Request::Predict { run, data, output } => self.predict(&run, &data, &output),
            Request::Collect { sweep, give_up } => {
                let sweep = match sweep {
                    SoughtSweep::At(path) => {
                        SweepDirectory::open(&self.workspace.base().join(path))?
                    }
                    SoughtSweep::Of(run) => {
                        let Some(sweep) = SweepDirectory::of_run(&self.workspace, &run) else {
                            self.reports.put(WorkerReport::WhichSweep);
                            return Ok(());
                        };
                        sweep
                    }
                };
                let tally = TaskTally::of(&sweep::collect(&sweep, give_up)?);
                let sweep = sweep.path().to_path_buf();
                self.reports.put(WorkerReport::Collected { sweep, tally });
                self.send_ledger()?;
                self.send_archive();
            }
            Request::Report { runs, path } => {
                let runs = runs.iter().map(|run| self.workspace.run_directory(run));
                let report = session::Report::read(&runs.collect::<Vec<_>>(), Watch::sealed())?;
                let path = named::unused(&self.workspace.base().join(path));
                self.export(&path, &report.html()?, Replace::Nothing)?;
            }
        }
        Ok(())
    }

    fn remark(&self, text: String) {
        self.reports.put(WorkerReport::Remark(text));
    }

    fn list(&self, base: &Path, directory: &Path, wanted: Wanted) -> Result<()> {
        self.reports.put(WorkerReport::Listing(lookup::list(base, directory, wanted)?));
        Ok(())
    }

    fn save(
        &mut self,
        session: Session,
        path: PathBuf,
        known: Option<&Session>,
        moves: bool,
    ) -> Result<()> {
        if path.exists() {
            if path.extension().is_none_or(|it| it != "ron") && Session::open(&path).is_err() {
                let place = path.display().to_string();
                return Err(Error::refused("a file with this name is there, and it is no session")
                    .at(place)
                    .cure("choose another name for the session, such as session.ron"));
            }
            match Session::open(&path) {
                Ok(found) if Some(&found) != known && found != session => {
                    let differences = changes::between(&session, &found);
                    let session = Box::new(found);
                    self.reports.put(WorkerReport::SessionClash { session, path, differences });
                    return Ok(());
                }
                Ok(_) => {}
                // Nothing is lost: saving keeps what was there.
                Err(error) => self.remark(format!(
                    "what was in {} could not be read ({}); it is kept beside it as {}",
                    path.display(),
                    error.what(),
                    files::previous(&path).display()
                )),
            }
        }
        if moves {
            let workspace = Workspace::of_session(&path)?;
            self.workspace.move_to(&workspace)?;
            self.workspace = workspace;
        }
        session.save(&path)?;
        self.reports.put(WorkerReport::SessionSaved { session: Box::new(session), path });
        if moves {
            // The runs of the demo came along.
            self.send_archive();
        }
        Ok(())
    }

    /// The role of a file in the session: private if one of its datasets is, or if it contains rows
    /// of a private one.
    fn role_of(&self, file: &Path) -> Option<Role> {
        let canonical = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
        let wanted = canonical(file);
        let of_file = self.definitions.values().filter(|definition| {
            let mut files = definition.source.files().into_iter();
            files.any(|file| canonical(&self.workspace.resolve(file)) == wanted)
        });
        let is_public = |definition: &DatasetDefinition| {
            let compared = self.shadowed.get(&definition.name);
            definition.role == Role::Public && compared.is_some_and(Option::is_none)
        };
        let roles: Vec<Role> =
            of_file.map(|it| if is_public(it) { Role::Public } else { Role::Private }).collect();
        let private = roles.iter().find(|role| **role == Role::Private);
        private.or(roles.first()).copied()
    }

    /// Compares the public datasets with the private ones and with the ledger's accounts, once all of
    /// them are read. Rows that are in both are never shown.
    fn compare(&mut self) {
        self.shadowed.clear();
        if !self.reading.is_empty() {
            return;
        }
        let unread = self.definitions.values().filter(|it| !self.loaded.contains_key(&it.name));
        let unread: Vec<DatasetDefinition> =
            unread.filter(|it| it.role == Role::Private).cloned().collect();
        let (private, public): (Vec<_>, Vec<_>) =
            self.loaded.values().cloned().partition(|loaded| loaded.record.is_some());
        let (workspace, messages) = (self.workspace.clone(), self.messages.clone());
        thread::spawn(move || {
            let known = KnownAccounts::of(&workspace);
            for public in public {
                let name = public.definition.name.clone();
                let holds = private.iter().find(|private| overlap::holds_rows(private, &public));
                let holds = holds.map(|private| private.definition.name.clone());
                // Datasets that could not be read cannot be compared, but their files are known.
                let files = public.definition.source.files();
                let same = |other: &&DatasetDefinition| {
                    other.source.files().iter().any(|file| files.contains(file))
                };
                let unread = || unread.iter().find(same).map(|other| other.name.clone());
                let refused = || known.refusal(&public);
                let holds = || holds.or_else(unread).map(|it| overlap::rows_of(&it, &name));
                let withheld = refused().or_else(holds);
                let _ = messages.send(WorkerMessage::Compared { name, withheld });
            }
        });
    }

    /// Reads in a thread of its own, so that a large file delays nothing else.
    fn load(&mut self, definition: DatasetDefinition) {
        let name = definition.name.clone();
        let reading = Control::default();
        self.loaded.remove(&name);
        self.shadowed.remove(&name);
        self.definitions.insert(name.clone(), definition.clone());
        self.prepared.clear();
        if let Some(earlier) = self.reading.insert(name.clone(), reading.clone()) {
            earlier.stop();
        }
        let (workspace, messages) = (self.workspace.clone(), self.messages.clone());
        let reports = Arc::clone(&self.reports);
        thread::spawn(move || {
            let mut watch = |bytes: u64, of: u64| {
                if reading.is_stopped() {
                    return ControlFlow::Break(());
                }
                reports.put(WorkerReport::Reading { name: definition.name.clone(), bytes, of });
                ControlFlow::Continue(())
            };
            let crash = ("reading this dataset crashed", "please report the file");
            let read = || {
                let loaded = dataset::load_watched(&definition, &workspace, &mut watch)?;
                // The interface asks for these with every frame.
                loaded.gap();
                loaded.profile();
                Ok(loaded)
            };
            let result = Box::new(catch_as(crash, read));
            let _ = messages.send(WorkerMessage::Read { name, reading, result });
        });
    }

    fn loaded(&mut self, name: &str, reading: &Control, result: Result<Loaded>) {
        if reading.is_stopped() {
            return;
        }
        self.reading.remove(name);
        match result {
            Ok(loaded) => {
                let loaded = Arc::new(loaded);
                self.loaded.insert(name.to_owned(), Arc::clone(&loaded));
                // Here, so that no screen waits for it.
                let _ = loaded.leaking();
                // A private dataset gets a ledger entry only when it is first spent from: looking
                // costs nothing.
                let account = loaded
                    .record
                    .as_ref()
                    .and_then(|record| Some(self.workspace.book().ok()?.find(record)?.id.clone()));
                self.reports.put(WorkerReport::Loaded { loaded, account });
            }
            Err(error) => {
                self.reports.put(WorkerReport::LoadFailed { name: name.to_owned(), error });
            }
        }
        self.compare();
    }

    fn waits_for_data(&self, plan: &PlanDefinition) -> bool {
        let mut names = std::iter::once(&plan.private).chain(&plan.public);
        names.any(|name| self.reading.contains_key(name))
    }

    /// Writes a file that the user named, relative to the session.
    fn export(&self, path: &Path, text: &str, replace: Replace) -> Result<()> {
        let path = self.workspace.base().join(path);
        let data = self.definitions.values().flat_map(|definition| self.files_of(definition));
        named::check(&path, replace, &data.collect::<Vec<_>>())?;
        if let Some(parent) = path.parent() {
            files::create_folder(parent).doing("create the directory", parent)?;
        }
        files::write_private(&path, text.as_bytes())?;
        self.reports.put(WorkerReport::Wrote(path));
        Ok(())
    }

    /// In a thread of its own: files may be large.
    fn predict(&self, run: &RunId, data: &Path, output: &Path) {
        let (reports, base) = (Arc::clone(&self.reports), self.workspace.base());
        let (data, output) = (base.join(data), base.join(output));
        let run = self.workspace.run_directory(run);
        thread::spawn(move || {
            reports.put(match predict::write_predictions(&run, &data, &output) {
                Ok((rows, remarks)) => {
                    let told = format!(
                        "predictions of {rows} rows in {}: as private as these rows",
                        output.display()
                    );
                    WorkerReport::Remark([&[told], &remarks[..]].concat().join("; "))
                }
                Err(error) => WorkerReport::Trouble(error),
            });
        });
    }

    /// Reads the runs in a thread of its own: there may be many, and long ones.
    fn send_archive(&self) {
        self.following.read(&self.workspace);
    }

    fn job(&self, session: Session, plan: PlanDefinition) -> Result<Job> {
        let datasets = self.datasets(&plan)?;
        let job = Job::new(session, plan, datasets, self.workspace.clone());
        Ok(Job { prepared: self.prepared.clone(), ..job })
    }

    fn datasets(&self, plan: &PlanDefinition) -> Result<Vec<Arc<Loaded>>> {
        let names = std::iter::once(&plan.private).chain(&plan.public).chain(&plan.test);
        let datasets = names.map(|name| self.dataset(name).cloned()).collect::<Result<Vec<_>>>();
        datasets.map_err(|error| error.cure("the Data screen (1) says why: correct the file and press U there, or leave the dataset out of the plan"))
    }

    fn dataset(&self, name: &str) -> Result<&Arc<Loaded>> {
        let loaded = self.loaded.get(name);
        loaded.ok_or_else(|| Error::failed(format!("dataset '{name}' is not loaded")))
    }

    /// Writes that somebody is about to see exact values of a private dataset, if the ledger knows
    /// it. Otherwise it is written as soon as records of the same files get an account here: the
    /// look may be for a split into private and public rows, so it opens none itself.
    fn note_look(&mut self, dataset: &str, watch: &Watch, what: &'static str) -> Result<()> {
        let private = self.loaded.get(dataset).filter(|loaded| loaded.private().is_ok());
        let Some(private) = private.filter(|_| !watch.is_sealed()).cloned() else { return Ok(()) };
        look::note(&private, &self.workspace, what)?;
        let book = self.workspace.book()?;
        if private.record.as_ref().is_some_and(|record| book.find(record).is_some()) {
            return self.send_ledger();
        }
        self.looks.push((self.files_of(&private.definition), what));
        Ok(())
    }

    /// Writes the looks of this program at these private records that came before their account,
    /// unless they will get none now: private rows among the public ones are refused.
    fn note_earlier_looks(&mut self, dataset: &str, all: &[Arc<Loaded>]) -> Result<()> {
        let Some(private) = self.loaded.get(dataset).cloned() else { return Ok(()) };
        let publics = all.iter().map(Arc::as_ref).filter(|it| it.private().is_err());
        let publics: Vec<&Loaded> = publics.collect();
        if overlap::check(&private, &publics, &self.workspace, &Watch::sealed()).is_err() {
            return Ok(());
        }
        let files = self.files_of(&private.definition);
        let is_own = |(seen, _): &(Vec<PathBuf>, _)| seen.iter().any(|file| files.contains(file));
        if !self.looks.iter().any(is_own) {
            return Ok(());
        }
        let mut ledger = self.workspace.ledger()?;
        let account = private.register(&mut ledger)?;
        let mut own = self.looks.iter().filter(|look| is_own(look));
        own.try_for_each(|(_, what)| ledger.record_unprotected(&account, what))?;
        // Not before they are written.
        self.looks.retain(|look| !is_own(look));
        Ok(())
    }

    fn files_of(&self, definition: &DatasetDefinition) -> Vec<PathBuf> {
        let files = definition.source.files().into_iter();
        files.map(|file| self.workspace.resolve(file)).collect()
    }

    fn send_ledger(&self) -> Result<()> {
        self.reports.put(ledger_report(&self.workspace)?);
        Ok(())
    }
}

/// How long the interface waits for the ledger.
const LEDGER_PATIENCE: Duration = Duration::from_secs(3);

fn ledger_report(workspace: &Workspace) -> Result<WorkerReport> {
    if !workspace.folder().is_dir() {
        return Ok(WorkerReport::Ledger(Book::default(), Vec::new()));
    }
    let mut ledger = workspace.existing_ledger()?;
    // A machine that died may hold it for ever, and the interface must not wait.
    let book = ledger.glance(LEDGER_PATIENCE)?.map_err(|holder| {
        Error::refused(format!("the ledger is not shown: it is held by {holder}")).cure(
            "try again later; if the holder is a machine that is switched off, its file server \
             has to release the lock",
        )
    })?;
    let life = |run: &RunRecord| RunLife::of(run, &ledger, workspace);
    let digests = book.accounts.iter().map(|account| Digest::of(account, &life)).collect();
    Ok(WorkerReport::Ledger(book, digests))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::privacy::openings::OpenWatch;

    /// The definition that the worker proposes for a file.
    fn proposed(here: &Path, watch: &Watch) -> DatasetDefinition {
        let (wake, woken) = channel();
        let worker = Worker::open(Workspace::fresh(here), move || {
            let _ = wake.send(());
        });
        let file = here.join("people.csv").display().to_string();
        worker.ask(Request::Inspect { file, watch: watch.clone() });
        loop {
            woken.recv_timeout(Duration::from_mins(1)).unwrap();
            let told = worker.take().into_iter().find_map(|report| match report {
                WorkerReport::Inspected { definition, .. } => Some(*definition),
                _ => None,
            });
            if let Some(definition) = told {
                return definition;
            }
        }
    }

    #[test]
    fn every_job_that_cannot_start_ends_with_the_reason() {
        let here = tempfile::tempdir().unwrap();
        let session = session::demo::session("bikeshare").unwrap();
        let plan = session.plans[0].clone();
        let (wake, woken) = channel();
        let worker = Worker::open(Workspace::fresh(here.path()), move || {
            let _ = wake.send(());
        });
        // No dataset was loaded.
        let jobs = [
            JobRequest::Run {
                session: session.clone(),
                plan: plan.clone(),
                watch: Watch::sealed(),
                sites: None,
            },
            JobRequest::Choice {
                session: session.clone(),
                plans: vec![plan.clone()],
                target: plan.target,
            },
            JobRequest::Rehearsal { session, plan, methods: Vec::new(), deep: false },
        ];
        let asked = jobs.len();
        for (id, job) in jobs.into_iter().enumerate() {
            worker.ask(Request::Start { id: id as JobId, control: Control::default(), job });
        }
        let mut ended = std::collections::BTreeSet::new();
        while ended.len() < asked {
            woken.recv_timeout(Duration::from_mins(1)).unwrap();
            for report in worker.take() {
                let (id, failed) = match report {
                    WorkerReport::Run(id, JobEvent::Ended(result)) => (id, result.is_err()),
                    WorkerReport::Choice(id, JobEvent::Ended(result)) => (id, result.is_err()),
                    WorkerReport::Rehearsal(id, JobEvent::Ended(result)) => (id, result.is_err()),
                    _ => continue,
                };
                assert!(failed);
                ended.insert(id);
            }
        }
    }

    #[test]
    fn what_a_screen_writes_replaces_neither_data_nor_the_files_of_others() {
        let here = tempfile::tempdir().unwrap();
        let path = |name: &str| here.path().join(name);
        std::fs::write(path("ours.csv"), "x,y\n1,2\n3,4\n").unwrap();
        std::fs::write(path("theirs.svg"), "<svg/>").unwrap();
        let (wake, woken) = channel();
        let worker = Worker::open(Workspace::fresh(here.path()), move || {
            let _ = wake.send(());
        });
        let source = Source::File("ours.csv".to_owned());
        worker.ask(Request::Load(DatasetDefinition::new("ours", Role::Private, source)));
        let picture = "<svg><title>halflight: Plan</title></svg>";
        let own = Replace::Own(OwnKind::Picture);
        let written = |name: &str, text: &str, replace| {
            let text = text.to_owned();
            worker.ask(Request::Export { path: name.into(), text, replace });
            loop {
                woken.recv_timeout(Duration::from_mins(1)).unwrap();
                for report in worker.take() {
                    match report {
                        WorkerReport::Wrote(_) => return Ok(()),
                        WorkerReport::Trouble(error) => return Err(error.to_string()),
                        _ => {}
                    }
                }
            }
        };
        for _ in 0..2 {
            assert_eq!(written("screen.svg", picture, own), Ok(()));
        }
        assert_eq!(written("table.csv", "a\n1\n", Replace::Nothing), Ok(()));
        for (name, replace) in [
            ("theirs.svg", own),
            ("table.csv", Replace::Nothing),
            ("ours.csv", Replace::Nothing),
            ("ours.csv", own),
        ] {
            let refused = written(name, picture, replace).unwrap_err();
            assert!(refused.contains("it is there already"), "{name}: {refused}");
        }
        // Also by force.
        let refused = written("ours.csv", picture, Replace::Forced(true)).unwrap_err();
        assert!(refused.contains("data are read from there"), "{refused}");
        assert!(std::fs::read_to_string(path("ours.csv")).unwrap().starts_with("x,y"));
    }

    #[test]
    fn a_sealed_view_gets_a_definition_that_does_not_depend_on_the_cells() {
        let here = tempfile::tempdir().unwrap();
        let row =
            |file: String, row| file + &format!("{}.5,{},{}\n", row * 7 % 40, row % 3, row % 2);
        let file = (0..40).fold("age,ward,ill\n".to_owned(), row);
        let neighbour = file.replace("\n7.5,", "\nunknown,");
        let proposals = |watch: &Watch| {
            [&file, &neighbour].map(|file| {
                std::fs::write(here.path().join("people.csv"), file).unwrap();
                proposed(here.path(), watch)
            })
        };
        let [one, other] = proposals(&Watch::sealed());
        assert_eq!((&one, &one.label), (&other, &None));
        let [one, other] = proposals(&Watch::open());
        assert_ne!(one, other, "one cell leaves its column out");
        assert!(one.label.is_some());
    }
}
