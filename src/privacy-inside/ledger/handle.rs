//! Every decision about the ledger, taken under its lock.
//!
//! | module | holds |
//! |---|---|
//! | this | datasets, budgets, runs; what every change has in common |
//! | `claims` | what other trainers claim to have drawn |
//! | `repair` | lost lines, lost secrets, and plain records of earlier versions |

mod claims;
mod repair;

use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;
use std::time::Duration;

use jiff::Timestamp;

use super::account::{Account, RunRecord, RunState};
use super::book::{Book, no_run};
use super::chain::{ChainReading, ChainTail, Confirmed, Link};
use super::disk::Disk;
use super::elsewhere::{self, Cards};
use super::entry::{AccountId, Budget, DatasetRecord, Entry, Grant, LedgerLine, RunId, RunOutcome};
use super::flaw::Flaw;
use super::lock::Exclusive;
use super::traces;
use super::witness::{Held, Note, Witness};
use crate::accountant::Event;
use crate::error::{Doing, Error, Result};
use crate::secret::Secret;

/// What the ledger knows about a run that is taken over.
#[derive(Debug, Clone, PartialEq)]
pub struct Unfinished {
    /// What it may draw.
    pub grant: Grant,
    /// The line that granted it.
    pub granted: LedgerLine,
    /// Draws announced so far per event.
    pub reserved: Vec<u64>,
    /// The draws that were made, as far as this can be known: all announced ones, if the machine
    /// was restarted since.
    pub drawn: Vec<u64>,
}

/// A handle on the ledger of one workspace. Every process and every run opens
/// its own; a file lock makes each change see all earlier ones.
#[derive(Debug)]
pub struct Ledger {
    disk: Disk,
    reading: ChainReading,
    /// What this user's programs remember about it.
    witness: Option<Witness>,
    /// The secret under which datasets are known.
    secret: Option<Secret>,
    /// The marks that show others that these runs are alive.
    alive: BTreeMap<RunId, RunMark>,
    /// The budgets of the session that also limit what this handle grants.
    limits: Vec<(AccountId, Budget)>,
}

/// Locked as long as a run is executed; both hold its draws so far.
#[derive(Debug)]
struct RunMark {
    here: File,
    /// The mark beside the witness, if there is one.
    outside: Option<File>,
}

/// The right to change the ledger, with all earlier changes seen.
#[derive(Debug)]
struct Turn {
    lock: Exclusive,
    note: Option<Note>,
}

impl Ledger {
    /// Opens (does not create) the ledger in `directory`; the file appears with the first entry.
    pub fn open(directory: &Path) -> Result<Self> {
        let (disk, reading) = (Disk::new(directory)?, ChainReading::default());
        let (alive, limits) = (BTreeMap::new(), Vec::new());
        Ok(Self { disk, reading, witness: None, secret: None, alive, limits })
    }

    /// Opens the ledger and compares it with what this user's programs remember in `memory`, a
    /// directory outside the workspace that is created if it is missing.
    pub fn open_witnessed(directory: &Path, memory: &Path) -> Result<Self> {
        Ok(Self { witness: Some(Witness::new(memory)), ..Self::open(directory)? })
    }

    /// Sets the user's secret: datasets that an earlier version wrote down without one are found,
    /// and the first change rewrites them.
    pub fn under(self, secret: Secret) -> Self {
        Self { secret: Some(secret), ..self }
    }

    /// The file.
    pub fn path(&self) -> &Path {
        self.disk.ledger()
    }

    /// Everything on disk now, added up. Here damage is a warning and an unknown past.
    pub fn book(&mut self) -> Result<Book> {
        self.look_for_flaws(false)
    }

    /// Everything on disk now, for callers with limited patience; if somebody holds the ledger for
    /// longer than this, the holder.
    pub fn glance(&mut self, patience: Duration) -> Result<std::result::Result<Book, String>> {
        match self.disk.lock_shared_soon(patience)? {
            // Another process may take it in between, for a moment.
            Ok(lock) => {
                drop(lock);
                self.book().map(Ok)
            }
            Err(holder) => Ok(Err(holder)),
        }
    }

    /// Everything on disk now, with every certificate of a run compared with the lines.
    pub fn examine(&mut self) -> Result<Book> {
        self.reading = ChainReading::default();
        self.look_for_flaws(true)
    }

    /// The remark to show once about this handle, if any: copies cannot be detected, or locks may
    /// not exclude other machines.
    pub fn notice(&self) -> Option<&str> {
        self.witness.as_ref().and_then(Witness::trouble).or_else(|| self.disk.remark())
    }

    fn look_for_flaws(&mut self, thorough: bool) -> Result<Book> {
        let _lock = self.disk.lock_shared()?;
        self.catch_up()?;
        let mut note = self.note();
        let flaw = self.flaw_or_traces(note.as_ref(), thorough)?;
        if flaw.is_none() {
            self.remember(note.as_mut(), false);
        }
        let mut book = self.reading.remarked_book(self.disk.ledger());
        if let Some(flaw) = flaw {
            flaw.show_in(&mut book, self.disk.ledger());
        }
        book.warnings.extend(self.notice().map(str::to_owned));
        if let Some(secret) = &self.secret {
            book = book.under(secret);
        }
        if let Some(witness) = &self.witness {
            Cards::of_others(witness.directory(), self.reading.first()).show_in(&mut book);
        }
        Ok(book)
    }

    /// Whether an earlier version wrote plain records here that must be rewritten.
    pub fn is_plain(&mut self) -> Result<bool> {
        self.look()?;
        Ok(self.reading.book().has_plain_records())
    }

    /// Rewrites records that an earlier version wrote without a secret. A damaged ledger waits for
    /// its repair.
    pub fn renew(&mut self) -> Result<()> {
        if self.secret.is_none() || !self.is_plain()? {
            return Ok(());
        }
        let note = self.note();
        if self.flaw(note.as_ref()).is_some() {
            return Ok(());
        }
        drop(note);
        self.begin().map(|_| ())
    }

    /// The account of this dataset: found by content, view or origin, otherwise a new one.
    pub fn register(&mut self, dataset: &DatasetRecord) -> Result<AccountId> {
        self.look()?;
        if let Some(secret) = &self.secret {
            self.reading.book().check_secret(secret)?;
        }
        if let Some(known) = self.reading.book().account_of(dataset) {
            return Ok(known.id.clone());
        }
        // Not while runs are lost here: a repair restores their account by its name.
        let mut turn = self.begin_without_traces()?;
        let book = self.reading.book();
        if let Some(known) = book.account_of(dataset) {
            return Ok(known.id.clone()); // another process just added it
        }
        let mut related = book.related(dataset).into_iter();
        let account = match related.next() {
            None => unused_id(book)?,
            Some((into, shared)) => {
                for (from, its) in related {
                    let why = format!(
                        "dataset '{}' shares {its} with {} and {shared} with {}",
                        dataset.name, from.0, into.0
                    );
                    self.write(&mut turn, &Entry::Tie { from, into: into.clone(), why })?;
                }
                into
            }
        };
        // Known rows need no second sketch.
        let known = self.reading.book().account(&account);
        let dataset = match known {
            Some(known) if known.has_sketch_of(dataset) => dataset.clone().without_sketch(),
            _ => dataset.clone(),
        };
        self.write(&mut turn, &Entry::Dataset { account: account.clone(), dataset })?;
        Ok(account)
    }

    /// Sets the budget of an account.
    pub fn set_budget(&mut self, account: &AccountId, budget: Budget) -> Result<()> {
        let mut turn = self.begin()?;
        self.reading.book().known(account)?.check_budget(&budget)?;
        let account = self.present_id(account)?;
        self.write(&mut turn, &Entry::Budget { account, budget })
    }

    /// Holds an account to the budget of a session. It becomes the budget of an account without one,
    /// and replaces a larger one. From here on this handle grants nothing that does not fit into it.
    /// Returns what to say if the ledger had another budget.
    pub fn hold_to(&mut self, account: &AccountId, wanted: Budget) -> Result<Option<String>> {
        self.look()?;
        let known = self.reading.book().known(account)?;
        let (before, held) = (known.budget, known.clone().held_to(Some(&wanted)));
        if held.budget != before {
            let mut turn = self.begin()?;
            // Another process may have set one meanwhile.
            let known = self.reading.book().known(account)?;
            let (before, id) = (known.budget, known.id.clone());
            let held = known.clone().held_to(Some(&wanted));
            if let Some(budget) = held.budget.filter(|_| held.budget != before) {
                known.check_budget(&budget)?;
                self.write(&mut turn, &Entry::Budget { account: id, budget })?;
            }
        }
        self.limits.push((account.clone(), wanted));
        Ok(held.other_budget())
    }

    /// An account with the budgets that it is held to.
    fn held(&self, account: &AccountId) -> Result<Account> {
        let known = self.reading.book().known(account)?;
        let is_it = |id: &AccountId| *id == known.id || known.former.contains(id);
        let limits = self.limits.iter().filter(|(id, _)| is_it(id));
        Ok(limits.fold(known.clone(), |held, (_, wanted)| held.held_to(Some(wanted))))
    }

    /// Whether there is room for such a run now. Nothing is reserved, so the room may be gone when
    /// the run asks for it.
    pub fn admits(&mut self, grant: &Grant) -> Result<()> {
        self.look()?;
        self.held(&grant.account)?.admit_all(std::slice::from_ref(grant))
    }

    /// Reserves the whole run or refuses it. Returns the line of the grant.
    pub fn grant(&mut self, mut grant: Grant) -> Result<LedgerLine> {
        // A launch checks the whole file again, not only the new lines.
        self.reading = ChainReading::default();
        let mut turn = self.begin_without_traces()?;
        let run = grant.run.clone();
        let account = self.held(&grant.account)?;
        account.admit_all(std::slice::from_ref(&grant))?;
        grant.account = account.id;
        let entry = Entry::Grant(grant);
        self.reading.book().check(&entry)?;
        let mark = self.hold(&run)?.ok_or_else(|| {
            Error::refused(format!("a run named '{}' is alive elsewhere", run.0))
                .cure("give the run another name")
        })?;
        self.write(&mut turn, &entry).inspect_err(|_| self.forget(&run))?;
        self.alive.insert(run, mark);
        Ok(self.reading.head())
    }

    /// Reserves all or none of these runs, which will be executed where this ledger cannot be
    /// reached. All their draws are announced at once: each run counts in full until it is settled.
    pub fn grant_carried(&mut self, grants: &[Grant]) -> Result<()> {
        let Some(first) = grants.first() else { return Ok(()) };
        self.reading = ChainReading::default();
        let mut turn = self.begin_without_traces()?;
        let account = self.held(&first.account)?;
        if grants.iter().any(|grant| grant.account != first.account) {
            return Err(Error::usage("runs that are reserved together spend from one account"));
        }
        account.admit_all(grants)?;
        let entries =
            grants.iter().flat_map(|grant| {
                let granted = Grant { account: account.id.clone(), ..grant.clone() };
                let announced = grant.events.iter().enumerate().map(|(event, planned)| {
                    Entry::Block { run: grant.run.clone(), event, count: planned.count }
                });
                std::iter::once(Entry::Grant(granted)).chain(announced)
            });
        let entries: Vec<Entry> = entries.collect();
        self.write_all(&mut turn, &entries)
    }

    /// The line that granted a run, as far as this handle has read.
    pub fn granted(&self, run: &RunId) -> Option<LedgerLine> {
        self.reading.book().run(run).map(|record| record.granted.clone())
    }

    /// Announces draws; returns only after they are on disk.
    pub fn reserve(&mut self, run: &RunId, event: usize, count: u64) -> Result<()> {
        let mut turn = self.begin()?;
        // The handle that draws keeps the run alive, and no two handles draw for one run.
        if !self.alive.contains_key(run) {
            let other = "another program carries it out: let it finish, or stop it there";
            let mark = self.hold(run)?.ok_or_else(|| still_carried_out(run, other))?;
            self.alive.insert(run.clone(), mark);
        }
        self.write(&mut turn, &Entry::Block { run: run.clone(), event, count })
    }

    /// Notes how often each event was drawn, so that the number is known even if the program dies
    /// between two blocks.
    pub fn tally(&mut self, run: &RunId, drawn: &[u64]) -> Result<()> {
        let Some(mark) = self.alive.get(run) else { return Ok(()) };
        // The note outside helps where it is possible; its failure is not an error.
        if let Some(outside) = &mark.outside {
            let _ = Disk::tally(outside, drawn);
        }
        Disk::tally(&mark.here, drawn).doing("note a draw", self.disk.ledger())
    }

    /// Takes over an open run whose program is gone.
    pub fn resume(&mut self, run: &RunId) -> Result<Unfinished> {
        self.reading = ChainReading::default(); // as for a launch
        let mut turn = self.begin()?;
        let record = self.reading.book().open_run(run)?.clone();
        let mark = self
            .hold(run)?
            .ok_or_else(|| still_carried_out(run, "wait for it, or stop it where it runs"))?;
        let RunRecord { grant, granted, reserved, .. } = record;
        let noted = mark.tallied(&reserved);
        // From here on a copy of this ledger is another one.
        self.write(&mut turn, &Entry::Resume { run: run.clone() })?;
        self.alive.insert(run.clone(), mark);
        let drawn = noted.unwrap_or_else(|| reserved.clone());
        Ok(Unfinished { grant, granted, reserved, drawn })
    }

    /// Whether a program executes this run now.
    pub fn is_alive(&self, run: &RunId) -> bool {
        let outside = |witness: &Witness| witness.is_held(&self.reading, run);
        self.disk.is_held(run) || self.witness.as_ref().is_some_and(outside)
    }

    /// Notes that a run is over: only its draws stay charged.
    pub fn settle(
        &mut self,
        run: &RunId,
        used: &[u64],
        outcome: RunOutcome,
        peeked: bool,
    ) -> Result<()> {
        let mut turn = self.begin()?;
        let entry = Entry::Settle { run: run.clone(), used: used.to_vec(), outcome, peeked };
        self.write(&mut turn, &entry)?;
        self.alive.remove(run);
        self.forget(run);
        Ok(())
    }

    /// Charges a settled run with draws that turned out to be more than it was settled at.
    pub fn charge_at_least(&mut self, run: &RunId, used: &[u64]) -> Result<()> {
        let mut turn = self.begin()?;
        let record = self.reading.book().run(run).ok_or_else(|| no_run(run))?;
        let drawn = record.grant.events.iter().zip(used).filter(|(_, count)| **count > 0);
        let events = drawn.map(|(event, count)| Event { count: *count, ..event.clone() }).collect();
        let grant = Grant { events, ..record.grant.clone() };
        self.write(&mut turn, &Entry::Recovered(grant))
    }

    /// Records that exact numbers about the records are about to be seen for a decision.
    pub fn record_unprotected(&mut self, account: &AccountId, what: &str) -> Result<()> {
        let mut turn = self.begin()?;
        let account = self.present_id(account)?;
        self.write(&mut turn, &Entry::Unprotected { account, what: what.to_owned() })
    }

    /// Settles an open run whose process is gone at its announced draws, and describes them in one
    /// sentence.
    pub fn abandon(&mut self, run: &RunId) -> Result<String> {
        let mut turn = self.begin()?;
        let book = self.reading.book();
        if let Some(known) = book.run(run)
            && known.state != RunState::Open
        {
            return Err(Error::refused(format!("run '{}' is settled already", run.0))
                .cure("nothing is to be done: what it has drawn stays charged"));
        }
        let record = book.open_run(run)?;
        let (used, words) = (record.reserved.clone(), record.announced_words());
        let Some(_gone) = self.hold(run)? else {
            return Err(still_carried_out(run, "stop it where it runs: it then settles itself"));
        };
        // It is unknown whether its operator acted on curator-only numbers.
        let outcome = RunOutcome::Abandoned;
        self.write(&mut turn, &Entry::Settle { run: run.clone(), used, outcome, peeked: true })?;
        self.forget(run);
        Ok(format!("{} is settled: {words}", run.0))
    }

    /// Reads without changing anything.
    fn look(&mut self) -> Result<()> {
        let _lock = self.disk.lock_shared()?;
        self.catch_up()
    }

    /// Before every change: locks, reads all earlier changes, and refuses a damaged file.
    fn begin(&mut self) -> Result<Turn> {
        let lock = self.disk.lock()?;
        self.catch_up()?;
        let note = self.note();
        if let Some(flaw) = self.flaw(note.as_ref()) {
            return Err(flaw.refusal(self.disk.ledger()));
        }
        let mut turn = Turn { lock, note };
        if let Some(secret) = self.secret.clone()
            && self.reading.book().has_plain_records()
        {
            self.rewrite(&mut turn, &secret)?;
        }
        Ok(turn)
    }

    /// Begins a change, and checks that no run directory shows lost lines.
    fn begin_without_traces(&mut self) -> Result<Turn> {
        let turn = self.begin()?;
        let traces = traces::find(self.disk.directory(), &self.reading, false)?;
        if traces.is_empty() {
            return Ok(turn);
        }
        Err(Flaw::of_traces(self.reading.head().seq, traces).refusal(self.disk.ledger()))
    }

    fn flaw(&self, note: Option<&Note>) -> Option<Flaw> {
        self.reading.flaw().or_else(|| note?.flaw(&self.reading))
    }

    fn flaw_or_traces(&self, note: Option<&Note>, thorough: bool) -> Result<Option<Flaw>> {
        let traces = traces::find(self.disk.directory(), &self.reading, thorough)?;
        Ok(match self.flaw(note) {
            Some(flaw) => Some(Flaw { traces, ..flaw }),
            None if traces.is_empty() => None,
            None => Some(Flaw::of_traces(self.reading.head().seq, traces)),
        })
    }

    /// The note about this ledger, locked.
    fn note(&mut self) -> Option<Note> {
        self.witness.as_mut()?.note(&self.reading)
    }

    /// Notes the last line. A crash before this leaves an older note, which does no harm.
    fn remember(&mut self, note: Option<&mut Note>, durable: bool) {
        let head = self.reading.head();
        let Some(witness) = &mut self.witness else { return };
        match note {
            Some(note) if durable || note.is_behind(&head) => witness.write(note, &head, durable),
            Some(_) => {}
            // The first line gives the ledger its name.
            None => {
                if let Some(mut note) = witness.note(&self.reading) {
                    witness.write(&mut note, &head, durable);
                }
            }
        }
    }

    fn hold(&mut self, run: &RunId) -> Result<Option<RunMark>> {
        let Some(here) = self.disk.hold(run)? else { return Ok(None) };
        let outside = match self.witness.as_mut().map(|it| it.hold(&self.reading, run)) {
            Some(Held::Elsewhere) => return Ok(None),
            Some(Held::Here(file)) => Some(file),
            Some(Held::Nowhere) | None => None,
        };
        Ok(Some(RunMark { here, outside }))
    }

    /// Forgets the marks of a run that is over.
    fn forget(&self, run: &RunId) {
        self.disk.forget(run);
        if let Some(witness) = &self.witness {
            witness.forget(&self.reading, run);
        }
    }

    fn catch_up(&mut self) -> Result<()> {
        if matches!(self.reading.tail(), ChainTail::Damaged { .. }) {
            self.reading = ChainReading::default(); // it may have been repaired meanwhile
        }
        // The head comes first: without a lock file, a line may appear between the two reads.
        let confirmed = self.disk.confirmed()?;
        let mut bytes = self.disk.after(&self.reading)?;
        if bytes.is_none() {
            self.reading = ChainReading::default();
            bytes = self.disk.after(&self.reading)?;
        }
        self.reading.extend(&bytes.unwrap_or_default(), &confirmed);
        // A run whose lines were lost stays marked: they may come back, and its program still lives.
        let book = self.reading.book();
        self.alive.retain(|run, _| book.run(run).is_none_or(|it| it.state == RunState::Open));
        Ok(())
    }

    fn write(&mut self, turn: &mut Turn, entry: &Entry) -> Result<()> {
        self.reading.book().check(entry)?;
        let link = self.reading.compose(now(), entry)?;
        self.disk.append(&turn.lock, &self.reading, &link)?;
        self.reading.extend(link.text.as_bytes(), &Confirmed::Until(link.head));
        self.remember(turn.note.as_mut(), !matches!(entry, Entry::Block { .. }));
        self.tell_others(std::slice::from_ref(entry));
        Ok(())
    }

    /// Writes all of these entries together. A program that dies meanwhile leaves some of them.
    fn write_all(&mut self, turn: &mut Turn, entries: &[Entry]) -> Result<()> {
        let (mut ahead, mut text, time) = (self.reading.clone(), String::new(), now());
        for entry in entries {
            ahead.put(time.clone(), entry, &mut text)?;
        }
        self.disk.append(&turn.lock, &self.reading, &Link { text, head: ahead.head() })?;
        self.reading = ahead;
        self.remember(turn.note.as_mut(), true);
        self.tell_others(entries);
        Ok(())
    }

    /// Other ledgers of this user can see what these entries charge.
    fn tell_others(&self, entries: &[Entry]) {
        let book = self.reading.book();
        let charged = entries.iter().filter_map(|entry| match entry {
            Entry::Grant(grant) | Entry::Recovered(grant) => book.account(&grant.account),
            Entry::Claimed(claim) => book.account(&claim.account),
            Entry::Settle { run, .. } => book.account_of_run(run),
            Entry::Corrected(correction) => book.account_of_run(&correction.claim.run),
            _ => None,
        });
        let mut charged: Vec<&Account> = charged.collect();
        charged.dedup_by_key(|account| account.id.clone());
        for account in charged {
            self.tell_of(account);
        }
    }

    fn tell_of(&self, account: &Account) {
        if let Some(witness) = &self.witness {
            elsewhere::tell(witness.directory(), self.disk.directory(), &self.reading, account);
        }
    }

    /// The ledger has another first line, so its cards have other names.
    fn tell_of_all(&self) {
        for account in self.reading.book().accounts.iter().filter(|it| !it.runs.is_empty()) {
            self.tell_of(account);
        }
    }

    /// The name of an account now: the one it was tied to, if it was.
    fn present_id(&self, account: &AccountId) -> Result<AccountId> {
        self.reading.book().known(account).map(|known| known.id.clone())
    }
}

impl RunMark {
    /// The noted draws, all of them announced; `None` if a note is older than the current start of
    /// the machine. In a copied workspace the inner note is as old as the copy, while the outer one
    /// is current: the larger number counts.
    fn tallied(&self, reserved: &[u64]) -> Option<Vec<u64>> {
        let mut drawn = Disk::tallied(&self.here)?;
        let outside = self.outside.as_ref();
        let outside = outside.filter(|file| file.metadata().is_ok_and(|about| about.len() > 0));
        if let Some(outside) = outside {
            let counts = Disk::tallied(outside).filter(|counts| counts.len() == drawn.len())?;
            drawn.iter_mut().zip(counts).for_each(|(drawn, count)| *drawn = count.max(*drawn));
        }
        let announced = drawn.len() == reserved.len()
            && drawn.iter().zip(reserved).all(|(drawn, reserved)| drawn <= reserved);
        announced.then_some(drawn)
    }
}

fn still_carried_out(run: &RunId, cure: &str) -> Error {
    Error::refused(format!("run '{}' is still being carried out", run.0)).cure(cure)
}

fn unused_id(book: &Book) -> Result<AccountId> {
    loop {
        let id = AccountId::random()?;
        if book.account(&id).is_none() {
            return Ok(id);
        }
    }
}

/// UTC, to the second.
fn now() -> String {
    let now = crate::clock::now();
    Timestamp::from_second(now.as_second()).unwrap_or(now).to_string()
}
