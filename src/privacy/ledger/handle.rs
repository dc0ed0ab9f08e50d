//! Every decision about the ledger, taken under its lock.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use rand::TryRng as _;
use rand::rngs::SysRng;

use super::account::RunRecord;
use super::book::Book;
use super::chain::{Confirmed, Link, Reading, Tail};
use super::disk::{Disk, Exclusive};
use super::entry::{AccountId, Budget, DatasetRecord, Entry, Grant, Outcome, RunId};
use crate::error::{Error, Result};

/// What the ledger knows of a run that is taken over.
#[derive(Debug, Clone, PartialEq)]
pub struct Unfinished {
    pub grant: Grant,
    /// Draws announced so far per event.
    pub reserved: Vec<u64>,
    /// Draws that were made, as far as this can be known: all that were announced, where
    /// the machine was started again since.
    pub drawn: Vec<u64>,
}

/// A handle on the ledger of one workspace. Every process and every run opens
/// its own; a file lock makes each change see all earlier ones.
#[derive(Debug)]
pub struct Ledger {
    disk: Disk,
    reading: Reading,
    /// Locks that show others that these runs are alive.
    alive: BTreeMap<RunId, File>,
}

impl Ledger {
    /// Opens (does not create) the ledger in `directory`; the file appears with the first entry.
    pub fn open(directory: &Path) -> Result<Self> {
        let disk = Disk::new(directory)?;
        Ok(Self { disk, reading: Reading::default(), alive: BTreeMap::new() })
    }

    pub fn path(&self) -> &Path {
        self.disk.ledger()
    }

    /// Everything on disk now, added up. Damage is a warning here, and an unknown past.
    pub fn book(&mut self) -> Result<Book> {
        self.look()?;
        Ok(self.reading.remarked_book(self.disk.ledger()))
    }

    /// The account of this dataset: known by content, view or origin, else opened.
    pub fn register(&mut self, dataset: &DatasetRecord) -> Result<AccountId> {
        self.look()?;
        if let Some(known) = self.reading.book().account_of(dataset) {
            return Ok(known.id.clone());
        }
        let lock = self.begin()?;
        let book = self.reading.book();
        if let Some(known) = book.account_of(dataset) {
            return Ok(known.id.clone()); // by another process, a moment ago
        }
        let mut related = book.related(dataset).into_iter();
        let account = match related.next() {
            None => unused_id(book)?,
            Some((into, shared)) => {
                for (from, its) in related {
                    let why = format!(
                        "dataset '{}' shares its {its} with {} and its {shared} with {}",
                        dataset.name, from.0, into.0
                    );
                    self.write(&lock, &Entry::Tie { from, into: into.clone(), why })?;
                }
                into
            }
        };
        let dataset = dataset.clone();
        self.write(&lock, &Entry::Dataset { account: account.clone(), dataset })?;
        Ok(account)
    }

    pub fn set_budget(&mut self, account: &AccountId, budget: Budget) -> Result<()> {
        let lock = self.begin()?;
        self.write(&lock, &Entry::Budget { account: self.present_id(account)?, budget })
    }

    /// Reserves the whole run or refuses it.
    pub fn grant(&mut self, mut grant: Grant) -> Result<()> {
        // A launch checks the whole file again, not only what was added.
        self.reading = Reading::default();
        let lock = self.begin()?;
        let run = grant.run.clone();
        let book = self.reading.book();
        let account = book.known(&grant.account)?;
        account.admit(&grant.events, grant.target)?;
        grant.account = account.id.clone();
        let entry = Entry::Grant(grant);
        book.check(&entry)?;
        let alive = self.disk.hold(&run)?.ok_or_else(|| {
            Error::refused(format!("a run named '{}' is alive elsewhere", run.0))
                .cure("give the run another name")
        })?;
        self.write(&lock, &entry).inspect_err(|_| self.disk.forget(&run))?;
        self.alive.insert(run, alive);
        Ok(())
    }

    /// Reserves all of these runs, which are to be carried out where this ledger cannot be
    /// reached, or none of them. All their draws are announced at once: each counts in
    /// full until it is settled.
    pub fn grant_carried(&mut self, grants: &[Grant]) -> Result<()> {
        let Some(first) = grants.first() else { return Ok(()) };
        self.reading = Reading::default();
        let lock = self.begin()?;
        let account = self.reading.book().known(&first.account)?;
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
        self.write_all(&lock, &entries)
    }

    /// Announces draws; returns only after they are on disk.
    pub fn reserve(&mut self, run: &RunId, event: usize, count: u64) -> Result<()> {
        let lock = self.begin()?;
        self.write(&lock, &Entry::Block { run: run.clone(), event, count })?;
        // The handle that draws keeps the run alive, also when another one got the grant.
        if !self.alive.contains_key(run)
            && let Some(alive) = self.disk.hold(run)?
        {
            self.alive.insert(run.clone(), alive);
        }
        Ok(())
    }

    /// Notes how often each event was drawn, so that a program that dies between two blocks
    /// leaves no doubt about it.
    pub fn tally(&mut self, run: &RunId, drawn: &[u64]) -> Result<()> {
        match self.alive.get(run) {
            Some(mark) => Disk::tally(mark, drawn)
                .map_err(|error| Error::io("note a draw", self.disk.ledger(), &error)),
            None => Ok(()),
        }
    }

    /// Takes over an open run whose program is gone.
    pub fn resume(&mut self, run: &RunId) -> Result<Unfinished> {
        self.reading = Reading::default(); // as for a launch
        let _lock = self.begin()?;
        let record = self.reading.book().open_run(run)?.clone();
        let mark = self.disk.hold(run)?.ok_or_else(|| {
            Error::refused(format!("run '{}' is still being carried out", run.0))
                .cure("wait for it, or stop it where it runs")
        })?;
        let RunRecord { grant, reserved, .. } = record;
        let noted = Disk::tallied(&mark).filter(|noted| {
            noted.len() == reserved.len()
                && noted.iter().zip(&reserved).all(|(noted, reserved)| noted <= reserved)
        });
        self.alive.insert(run.clone(), mark);
        let drawn = noted.unwrap_or_else(|| reserved.clone());
        Ok(Unfinished { grant, reserved, drawn })
    }

    /// Whether a program carries this run out now.
    pub fn is_alive(&self, run: &RunId) -> bool {
        self.disk.is_held(run)
    }

    pub fn settle(
        &mut self,
        run: &RunId,
        used: &[u64],
        outcome: Outcome,
        peeked: bool,
    ) -> Result<()> {
        let lock = self.begin()?;
        let entry = Entry::Settle { run: run.clone(), used: used.to_vec(), outcome, peeked };
        self.write(&lock, &entry)?;
        self.alive.remove(run);
        self.disk.forget(run);
        Ok(())
    }

    /// Writes down that exact numbers about the records are about to be looked at for a
    /// decision.
    pub fn record_unprotected(&mut self, account: &AccountId, what: &str) -> Result<()> {
        let lock = self.begin()?;
        let account = self.present_id(account)?;
        self.write(&lock, &Entry::Unprotected { account, what: what.to_owned() })
    }

    /// Settles an open run whose process is gone at what it had reserved.
    pub fn abandon(&mut self, run: &RunId) -> Result<()> {
        let lock = self.begin()?;
        let used = self.reading.book().open_run(run)?.reserved.clone();
        let Some(_gone) = self.disk.hold(run)? else {
            return Err(Error::refused(format!("run '{}' is still being carried out", run.0))
                .cure("stop it where it runs: it then settles itself"));
        };
        // Nobody can say any more whether its operator acted on curator-only numbers.
        let outcome = Outcome::Abandoned;
        self.write(&lock, &Entry::Settle { run: run.clone(), used, outcome, peeked: true })?;
        self.disk.forget(run);
        Ok(())
    }

    /// The curator accepts the unknown past of an account.
    pub fn accept(&mut self, account: &AccountId, why: &str) -> Result<()> {
        let lock = self.begin()?;
        self.write(
            &lock,
            &Entry::Accept { account: self.present_id(account)?, why: why.to_owned() },
        )
    }

    /// Sets a damaged ledger aside and goes on with its good prefix.
    pub fn repair(&mut self) -> Result<PathBuf> {
        let lock = self.disk.lock()?;
        self.catch_up()?;
        let Tail::Damaged { why, .. } = self.reading.tail() else {
            return Err(Error::usage("the ledger is not damaged: there is nothing to repair")
                .at(self.path().display().to_string()));
        };
        let entry = Entry::Damage { lost_after: self.reading.head().seq, why: why.clone() };
        let link = self.reading.compose(now(), &entry)?;
        let aside = self.disk.replace(&lock, &self.reading, &link)?;
        self.catch_up()?;
        Ok(aside)
    }

    /// Reads without changing anything.
    fn look(&mut self) -> Result<()> {
        let _lock = self.disk.lock_shared()?;
        self.catch_up()
    }

    /// Before every change: lock, see all earlier changes, leave a damaged file alone.
    fn begin(&mut self) -> Result<Exclusive> {
        let lock = self.disk.lock()?;
        self.catch_up()?;
        self.reading.intact(self.disk.ledger())?;
        Ok(lock)
    }

    fn catch_up(&mut self) -> Result<()> {
        if matches!(self.reading.tail(), Tail::Damaged { .. }) {
            self.reading = Reading::default(); // it may have been repaired meanwhile
        }
        // The head first: without a lock file, a line may appear between the two.
        let confirmed = self.disk.confirmed()?;
        let mut bytes = self.disk.after(&self.reading)?;
        if bytes.is_none() {
            self.reading = Reading::default();
            bytes = self.disk.after(&self.reading)?;
        }
        self.reading.extend(&bytes.unwrap_or_default(), &confirmed);
        let book = self.reading.book();
        self.alive.retain(|run, _| book.open_run(run).is_ok());
        Ok(())
    }

    fn write(&mut self, lock: &Exclusive, entry: &Entry) -> Result<()> {
        self.reading.book().check(entry)?;
        let link = self.reading.compose(now(), entry)?;
        self.disk.append(lock, &self.reading, &link)?;
        self.reading.extend(link.text.as_bytes(), &Confirmed::Until(link.head));
        Ok(())
    }

    /// All of these entries in one go. A program that dies meanwhile leaves some of them.
    fn write_all(&mut self, lock: &Exclusive, entries: &[Entry]) -> Result<()> {
        let (mut ahead, time) = (self.reading.clone(), now());
        let mut text = String::new();
        for entry in entries {
            ahead.book().check(entry)?;
            let link = ahead.compose(time.clone(), entry)?;
            ahead.extend(link.text.as_bytes(), &Confirmed::Until(link.head));
            text += &link.text;
        }
        self.disk.append(lock, &self.reading, &Link { text, head: ahead.head() })?;
        self.reading = ahead;
        Ok(())
    }

    /// The name of an account now: the one it was tied to, if it was.
    fn present_id(&self, account: &AccountId) -> Result<AccountId> {
        self.reading.book().known(account).map(|known| known.id.clone())
    }
}

fn unused_id(book: &Book) -> Result<AccountId> {
    loop {
        let bits = SysRng.try_next_u64().map_err(|error| {
            Error::failed(format!("the operating system gives no random numbers: {error}"))
        })?;
        let id = AccountId(format!("acc-{:010x}", bits & 0xff_ffff_ffff));
        if book.account(&id).is_none() {
            return Ok(id);
        }
    }
}

/// UTC, to the second.
fn now() -> String {
    let now = Timestamp::now();
    Timestamp::from_second(now.as_second()).unwrap_or(now).to_string()
}
