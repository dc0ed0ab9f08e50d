//! The one way to spend from the account of a private dataset.
//!
//! [`OpenAccount::open`] registers the dataset and holds its account to the budget of the session.
//! [`Spend::open`] has the ledger grant a [`Purpose`]: from then on all of it counts. The run draws
//! from [`Spend::spender`], and [`SpendEnding::settle`] leaves only its draws charged. A spend that is
//! dropped before stays charged in full, until the run is resumed or settled from outside.

use std::path::Path;

use super::sites::JointRun;
use crate::error::{Error, Result};
use crate::privacy::accountant::Composition;
use crate::privacy::ledger::{
    Account, AccountId, Book, Grant, RowOrder, RunId, RunOutcome, SharedNoise, Unfinished,
};
use crate::privacy::mechanism::NoiseGenerator;
use crate::privacy::openings::OpenSpender;
use crate::privacy::{
    Calibrated, Event, Guarantee, Ledger, NoiseSource, Spender, Target, Transcript, Watch,
};
use crate::session::certificate::{AccountStanding, Facts, TakenAsPublic};
use crate::session::resumption;
use crate::session::{Loaded, Session, Workspace};

/// The account that something is about to spend from.
pub(super) struct OpenAccount {
    /// Grants only what fits into the budget of the ledger and into that of the session.
    pub ledger: Ledger,
    pub id: AccountId,
    /// The columns that identify the person of a row, where persons are protected.
    unit: Option<String>,
    /// What to say if the session names another budget than the ledger.
    pub other_budget: Option<String>,
}

impl OpenAccount {
    /// Opens the account of a private dataset for spending. Everything that spends begins here, so
    /// that the session's budget always counts.
    pub fn open(private: &Loaded, workspace: &Workspace, session: &Session) -> Result<Self> {
        let budget = session.budgets.get(&private.definition.name);
        let mut ledger = workspace.ledger()?;
        let id = private.register(&mut ledger)?;
        let other_budget = budget.map(|budget| ledger.hold_to(&id, *budget)).transpose()?.flatten();
        Ok(Self { ledger, id, unit: private.unit(), other_budget })
    }

    /// The account of a private dataset at which somebody looks. A new one gets the session's budget, so
    /// that no screen says that it has none; another budget is not touched, because nothing is spent.
    pub fn for_a_look(
        private: &Loaded,
        workspace: &Workspace,
        session: &Session,
    ) -> Result<AccountId> {
        let mut ledger = workspace.ledger()?;
        let id = private.register(&mut ledger)?;
        let has_budget = ledger.book()?.account(&id).is_some_and(|it| it.budget.is_some());
        if let Some(budget) = session.budgets.get(&private.definition.name).filter(|_| !has_budget)
        {
            ledger.hold_to(&id, *budget)?;
        }
        Ok(id)
    }

    /// Refuses what has no room now. Nothing is reserved, so the room may be gone later.
    pub fn admit(&mut self, purpose: &Purpose) -> Result<()> {
        self.ledger.admits(&purpose.grant(&self.id, self.unit.clone()))
    }

    /// Reserves all or none of these runs, which will be executed where this ledger cannot be
    /// reached. Returns their grants, each with the state of the account.
    pub fn reserve(mut self, purposes: &[Purpose]) -> Result<Vec<(Grant, AccountStanding)>> {
        let standing = standing_of(&self.ledger.book()?, &self.id);
        let grants = Purpose::grants(purposes, &self.id, self.unit.as_ref());
        self.ledger.grant_carried(&grants)?;
        let granted = grants.into_iter().map(|grant| {
            let line = self.ledger.granted(&grant.run);
            (grant, AccountStanding { line, ..standing.clone() })
        });
        Ok(granted.collect())
    }
}

/// What a run may draw, and its name in the ledger.
pub(super) struct Purpose<'a> {
    pub run: RunId,
    pub method: &'a str,
    pub target: Target,
    pub calibrated: &'a Calibrated,
    pub allow_large_delta: bool,
    pub noise: NoiseSource,
    /// The sites that add one noise together.
    pub one_noise: Option<SharedNoise>,
}

impl<'a> Purpose<'a> {
    /// A new run with secret noise and δ < 1/n.
    pub fn new(method: &'a str, calibrated: &'a Calibrated) -> Self {
        let (run, target) = (new_run_id(method), calibrated.target());
        let (allow_large_delta, noise) = (false, NoiseSource::Secret);
        Self { run, method, target, calibrated, allow_large_delta, noise, one_noise: None }
    }

    /// Refuses runs for which an account has no room. Writes nothing.
    pub fn admit_all(purposes: &[Self], account: &Account, private: &Loaded) -> Result<()> {
        account.admit_all(&Self::grants(purposes, &account.id, private.unit().as_ref()))
    }

    /// Draws everything at once from the account of a private dataset, and settles it.
    pub fn pay<T>(
        &self,
        private: &Loaded,
        (session, workspace): (&Session, &Workspace),
        draw: impl FnOnce(&mut Spender) -> Result<T>,
    ) -> Result<Paid<T>> {
        let account = OpenAccount::open(private, workspace, session)?;
        Spend::open(account, self, None, &Watch::sealed())?.draw(draw)
    }

    fn grants(purposes: &[Self], account: &AccountId, unit: Option<&String>) -> Vec<Grant> {
        purposes.iter().map(|it| it.grant(account, unit.cloned())).collect()
    }

    fn grant(&self, account: &AccountId, unit: Option<String>) -> Grant {
        Grant {
            run: self.run.clone(),
            account: account.clone(),
            method: self.method.to_owned(),
            target: self.target,
            events: self.calibrated.events().to_vec(),
            allow_large_delta: self.allow_large_delta,
            noise: self.noise,
            unit,
            order: RowOrder::Secret,
            one_noise: self.one_noise,
        }
    }
}

/// A granted run that may draw.
pub(super) struct Spend {
    pub grant: Grant,
    pub spender: Spender,
    /// What to say about the ledger and the budget.
    pub notes: Vec<String>,
    /// The other sites of a joint run.
    sites: Vec<String>,
    /// How many of the sites may put together what they know, if all have one noise.
    may_collude: Option<usize>,
    /// The state of the account when the run was granted.
    standing: AccountStanding,
    /// The watch under which exact numbers are seen.
    watch: Watch,
    /// Whether an earlier program perhaps showed exact numbers.
    peeked_before: bool,
}

/// A released value and its cost.
#[derive(Debug, Clone)]
pub struct Paid<T> {
    pub value: T,
    pub run: RunId,
    pub account: AccountId,
    pub drawn: Vec<Event>,
    pub guarantee: Guarantee,
}

impl Spend {
    /// Has the ledger grant the whole purpose, or refuses it. Exact numbers are seen only under
    /// `watch`. With a transcript the run can be resumed.
    pub fn open(
        account: OpenAccount,
        purpose: &Purpose,
        transcript: Option<Transcript>,
        watch: &Watch,
    ) -> Result<Self> {
        let OpenAccount { mut ledger, id, unit, other_budget } = account;
        let grant = purpose.grant(&id, unit);
        let generator = grant.noise.generator()?;
        let mut standing = standing_of(&ledger.book()?, &id);
        standing.line = Some(ledger.grant(grant.clone())?);
        let notes = ledger.notice().map(str::to_owned).into_iter().chain(other_budget).collect();
        let spender = Spender::new(ledger, grant.run.clone(), purpose.calibrated, generator)?
            .watched(watch, false)?;
        let spender = match transcript {
            Some(transcript) => spender.keeping(transcript),
            None => spender,
        };
        Ok(Self { notes, ..Self::of(grant, spender, standing, watch) })
    }

    /// Takes over a run whose program died.
    pub fn resumed(
        mut ledger: Ledger,
        unfinished: Unfinished,
        transcript: Transcript,
        (watch, peeked_before): (&Watch, bool),
    ) -> Result<Self> {
        let grant = unfinished.grant.clone();
        let mut standing = standing_of(&ledger.book()?, &grant.account);
        standing.line = ledger.granted(&grant.run);
        let generator = NoiseSource::Secret.generator()?;
        let notes = ledger.notice().map(str::to_owned).into_iter().collect();
        let spender = Spender::resumed(ledger, unfinished, transcript, generator)?
            .watched(watch, peeked_before)?;
        Ok(Self { notes, peeked_before, ..Self::of(grant, spender, standing, watch) })
    }

    /// Takes part in a joint run.
    pub fn joining(mut self, joint: JointRun) -> Result<Self> {
        (self.sites, self.may_collude) = (joint.others, joint.may_collude);
        self.spender = self.spender.joining(joint.exchange)?;
        Ok(self)
    }

    fn of(grant: Grant, spender: Spender, standing: AccountStanding, watch: &Watch) -> Self {
        let (notes, watch) = (Vec::new(), watch.clone());
        let (sites, may_collude) = (Vec::new(), None);
        let peeked_before = false;
        Self { grant, spender, notes, sites, may_collude, standing, watch, peeked_before }
    }

    /// Spends a grant that was reserved with its whole sweep.
    pub fn carried(
        (grant, standing): (Grant, AccountStanding),
        calibrated: &Calibrated,
        transcript: Transcript,
        generator: NoiseGenerator,
        watch: &Watch,
    ) -> Self {
        Self::of(grant, Spender::carried(calibrated, transcript, generator), standing, watch)
    }

    /// A run on public data, of which no ledger knows, with noise from a seed.
    #[cfg(feature = "testing")]
    pub fn for_pictures(purpose: &Purpose, seed: u64, watch: &Watch) -> Self {
        let grant = purpose.grant(&AccountId("pictures".to_owned()), None);
        let spender = Spender::rehearsal(purpose.calibrated, seed);
        Self::of(grant, spender, AccountStanding::default(), watch)
    }

    /// Draws at once, and settles whatever the result is.
    pub fn draw<T>(mut self, draw: impl FnOnce(&mut Spender) -> Result<T>) -> Result<Paid<T>> {
        let value = draw(&mut self.spender);
        let (drawn, guarantee) = (self.spender.drawn(), self.guarantee());
        let outcome = if value.is_ok() { RunOutcome::Finished } else { RunOutcome::Failed };
        self.spender.settle(outcome, false)?;
        let Grant { run, account, .. } = self.grant;
        Ok(Paid { value: value?, run, account, drawn, guarantee: guarantee? })
    }

    fn guarantee(&self) -> Result<Guarantee> {
        Composition::of_run(&self.spender.drawn(), &self.grant.events, self.grant.target.delta)
    }

    /// Ends the draws of a run. A `resumable` one is not settled, so another program can continue it.
    pub fn end(&self, ended: Result<RunOutcome>, resumable: bool) -> Result<SpendEnding> {
        let outcome = *ended.as_ref().unwrap_or(&RunOutcome::Failed);
        let (guarantee, trouble) = (self.guarantee()?, ended.err());
        let peeked = self.peeked_before || self.watch.has_peeked();
        Ok(SpendEnding { outcome, trouble, guarantee, peeked, resumable })
    }

    /// What a certificate says about the spend, without anything about the model.
    pub fn facts(&self, ending: &SpendEnding, records: usize) -> Facts {
        let Grant { run, account, method, target, unit, .. } = self.grant.clone();
        Facts {
            run,
            account,
            method,
            outcome: ending.outcome,
            records,
            unit,
            target,
            guarantee: ending.guarantee.clone(),
            mechanisms: self.spender.drawn(),
            peeked: ending.peeked,
            allow_large_delta: self.grant.allow_large_delta,
            noise: self.grant.noise,
            lineage: None,
            taken_as_public: TakenAsPublic::default(),
            standing: self.standing.clone(),
            rehearsed: None,
            score: None,
            source_weights: Vec::new(),
            chosen: None,
            model: None,
            sites: self.sites.clone(),
            may_collude: self.may_collude,
        }
    }
}

/// The end of a run, before and after its files are written.
pub(super) struct SpendEnding {
    pub outcome: RunOutcome,
    pub trouble: Option<Error>,
    /// The guarantee of everything drawn.
    pub guarantee: Guarantee,
    /// Whether exact numbers were perhaps seen.
    pub peeked: bool,
    resumable: bool,
}

impl SpendEnding {
    /// Writes the final files of a settled run; a run without them stays open.
    pub fn certify<T>(&mut self, write: impl FnOnce() -> Result<Option<T>>) -> Option<T> {
        if self.resumable {
            return None;
        }
        write().unwrap_or_else(|error| {
            self.resumable = true;
            self.trouble.get_or_insert(error);
            None
        })
    }

    /// Records the draws in the ledger, unless the run will be continued.
    pub fn settle(&mut self, spend: Spend, directory: &Path) {
        if self.resumable {
            self.outcome = RunOutcome::Failed;
            if !spend.spender.is_carried() {
                self.trouble = self.trouble.take().map(|error| to_be_resumed(&error, directory));
            }
        } else if let Err(error) = spend.spender.settle(self.outcome, self.peeked) {
            self.outcome = RunOutcome::Failed;
            self.trouble.get_or_insert(error);
        } else {
            resumption::forget(directory);
        }
    }
}

/// The run stays open in the ledger; its draws are in its transcript.
pub(super) fn to_be_resumed(error: &Error, directory: &Path) -> Error {
    let cure = error.cure_text().map_or_else(String::new, |cure| format!("{cure}; then "));
    let told = Error::new(error.kind(), error.what()).cure(format!(
        "{cure}`halflight run --resume {}` continues where it ended",
        directory.display()
    ));
    match error.place() {
        Some(place) => told.at(place),
        None => told,
    }
}

/// Whether the ledger has a run whose start failed, for example on a full disk. Then it counts, and
/// its directory stays. Otherwise nothing was or will be spent, so no empty run is left.
pub(super) fn was_perhaps_granted(workspace: &Workspace, run: &RunId, directory: &Path) -> bool {
    let granted = workspace.book().map_or(true, |book| book.run(run).is_some());
    if !granted {
        let _ = crate::files::step::remove_folder(directory);
    }
    granted
}

/// The copy of a session that a run keeps, as it counts now. Its budgets say what held when the run
/// began, so they only count where the ledger has none yet.
pub(super) fn copied_session(session: &Session, loaded: &[&Loaded], book: &Book) -> Session {
    let mut session = session.clone();
    let has_budget = |loaded: &&&Loaded| {
        let account = loaded.record.as_ref().and_then(|record| book.find(record));
        account.is_some_and(|account| account.budget.is_some())
    };
    for loaded in loaded.iter().filter(has_budget) {
        session.budgets.remove(&loaded.definition.name);
    }
    session
}

/// The name of a new run, which sorts by time and is unique on this machine.
pub(super) fn new_run_id(method: &str) -> RunId {
    use std::sync::atomic::{AtomicU16, Ordering};
    static COUNTER: AtomicU16 = AtomicU16::new(0);
    let now = crate::clock::now();
    let count = COUNTER.fetch_add(1, Ordering::Relaxed);
    let time = now.strftime("%Y%m%d-%H%M%S");
    let unique = (now.subsec_nanosecond() as u32 >> 14) & 0xffff;
    RunId(format!("{time}-{method}-{:04x}{unique:04x}{count:02x}", std::process::id() & 0xffff))
}

fn standing_of(book: &Book, account: &AccountId) -> AccountStanding {
    book.account(account).map(AccountStanding::of).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn run_names_differ_within_the_same_moment() {
        let names: std::collections::BTreeSet<_> =
            (0..100).map(|_| new_run_id("moment_release").0).collect();
        assert_eq!(names.len(), 100);
    }
}
