//! The accounts that the lines of the ledger add up to.

use std::collections::BTreeSet;
use std::path::Path;

use super::account::{Account, RunRecord, RunState, Unprotected};
use super::elsewhere::Cards;
use super::entry::{AccountId, Correction, DatasetRecord, Entry, LedgerLine, RunId};
use super::gap::{Cause, Gap};
use crate::accountant::target::check_delta;
use crate::data::overlap::{Overlap, Sketch};
use crate::error::{Action, Error, Result};
use crate::secret::Secret;

/// All accounts, in order of opening.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Book {
    /// All accounts, in the order of their opening.
    pub accounts: Vec<Account>,
    /// Losses of lines: an account opened later may have been among the lost ones.
    pub gaps: Vec<Gap>,
    /// Runs that showed a loss, so that they do not show it again.
    pub traces: BTreeSet<RunId>,
    /// Whether the file is damaged now: nothing is granted until it is repaired.
    pub damaged: bool,
    /// Remarks about the file: its damage, a line left by a dead program.
    pub warnings: Vec<String>,
    /// Lost secrets, without which the curator continues.
    pub lost_secrets: Vec<String>,
    /// What other ledgers of this user charged.
    pub cards: Cards,
}

impl Book {
    /// Of a workspace without a ledger, for a user whose programs remember others in `memory`.
    pub fn of_none(memory: &Path) -> Self {
        let mut book = Self::default();
        Cards::of_others(memory, None).show_in(&mut book);
        book
    }

    /// The account of this name, or the account to which it was tied.
    pub fn account(&self, id: &AccountId) -> Option<&Account> {
        self.account_index(id).map(|index| &self.accounts[index])
    }

    /// The account that this dataset belongs to, registered or not.
    pub fn find(&self, dataset: &DatasetRecord) -> Option<&Account> {
        let (id, _) = self.related(dataset).into_iter().next()?;
        self.account(&id)
    }

    /// Every account that has records of this dataset.
    pub fn find_all(&self, dataset: &DatasetRecord) -> Vec<&Account> {
        let related = self.related(dataset).into_iter();
        related.filter_map(|(id, _)| self.account(&id)).collect()
    }

    /// The account in which exactly this dataset was registered, and its rows if they are known.
    pub fn account_of(&self, dataset: &DatasetRecord) -> Option<&Account> {
        self.accounts.iter().find(|account| {
            account.datasets.iter().any(|known| known.is_met_again_in(dataset))
                && (dataset.sketch.is_none() || account.has_sketch_of(dataset))
        })
    }

    /// The overlap of these rows with those of each account, if there is any.
    pub fn overlaps(&self, rows: &Sketch) -> Vec<(AccountId, Overlap)> {
        let most = |account: &Account| {
            let sketches = account.datasets.iter().filter_map(|known| known.sketch.as_ref());
            sketches.filter_map(|known| known.overlap(rows)).reduce(Overlap::or)
        };
        let accounts = self.accounts.iter();
        accounts.filter_map(|account| Some((account.id.clone(), most(account)?))).collect()
    }

    /// Refuses to look for a dataset if some were written under a secret that is not available: it
    /// could be one of those, and nobody would notice.
    pub fn check_secret(&self, secret: &Secret) -> Result<()> {
        let mine = secret.id();
        let mut keys = self.datasets().filter_map(|known| known.key.as_ref());
        match keys.find(|key| **key != mine && !self.lost_secrets.contains(key)) {
            None => Ok(()),
            Some(other) => Err(Error::refused(format!(
                "the ledger knows its datasets under another secret ({other}) than this user's \
                 ({mine}): so nobody can say whether this dataset is one of them"
            ))
            .at(secret.place().display().to_string())
            .cure(format!(
                "bring the file with {other} back to this place from a backup, or say where it \
                 is; if it is lost for good, continue with an unknown past for every dataset \
                 that comes later"
            ))
            .asking(Action::DoWithout { secret: other.clone() })),
        }
    }

    /// Whether an earlier version wrote fingerprints without a secret.
    pub(super) fn has_plain_records(&self) -> bool {
        self.datasets().any(DatasetRecord::is_plain)
    }

    /// With every plain fingerprint replaced, for searches under this secret.
    pub(super) fn under(mut self, secret: &Secret) -> Self {
        for dataset in self.accounts.iter_mut().flat_map(|account| &mut account.datasets) {
            *dataset = std::mem::take(dataset).under(secret);
        }
        self
    }

    fn datasets(&self) -> impl Iterator<Item = &DatasetRecord> {
        self.accounts.iter().flat_map(|account| &account.datasets)
    }

    /// The record of a run.
    pub fn run(&self, run: &RunId) -> Option<&RunRecord> {
        self.run_place(run).map(|(account, index)| &self.accounts[account].runs[index])
    }

    /// The account that a run is charged to.
    pub fn account_of_run(&self, run: &RunId) -> Option<&Account> {
        self.run_place(run).map(|(account, _)| &self.accounts[account])
    }

    /// Accounts that hold records of this dataset, and what shows it.
    pub(super) fn related(&self, dataset: &DatasetRecord) -> Vec<(AccountId, &'static str)> {
        let relation = |known: &DatasetRecord| {
            if [&known.content, &known.view].contains(&&dataset.content) {
                Some("its content")
            } else if [&known.content, &known.view].contains(&&dataset.view) {
                Some("its rows")
            } else if known.origin == dataset.origin {
                Some("its place")
            } else {
                let sketches = known.sketch.as_ref().zip(dataset.sketch.as_ref());
                let overlap = sketches.and_then(|(known, rows)| known.overlap(rows));
                overlap.is_some_and(|overlap| overlap.shared).then_some("many of its rows")
            }
        };
        let related = self.accounts.iter().filter_map(|account| {
            let what = account.datasets.iter().find_map(relation)?;
            Some((account.id.clone(), what))
        });
        related.collect()
    }

    /// May this entry come next? Asked before writing it and again when reading it.
    pub(super) fn check(&self, entry: &Entry) -> Result<()> {
        match entry {
            Entry::Dataset { dataset, .. } => {
                if [&dataset.content, &dataset.view, &dataset.origin].iter().any(|s| s.is_empty()) {
                    return Err(Error::usage(format!(
                        "dataset '{}' has no fingerprint or no origin",
                        dataset.name
                    )));
                }
            }
            Entry::Tie { from, into, .. } => {
                if self.place(from)? == self.place(into)? {
                    return Err(Error::usage(format!(
                        "account {} cannot be tied to itself",
                        from.0
                    )));
                }
            }
            Entry::Budget { account, budget } => {
                self.place(account)?;
                if !(budget.epsilon > 0.0 && budget.epsilon.is_finite()) {
                    return Err(Error::usage(format!("{} is not a budget for ε", budget.epsilon))
                        .cure("give a positive number"));
                }
                check_delta(budget.delta)?;
            }
            Entry::Grant(grant) => {
                self.place(&grant.account)?;
                check_name(&grant.run)?;
                if self.run(&grant.run).is_some() {
                    return Err(Error::refused(format!(
                        "a run named '{}' is in the ledger already",
                        grant.run.0
                    ))
                    .cure("give the run another name"));
                }
            }
            Entry::Claimed(claim) => {
                let index = self.place(&claim.account)?;
                check_name(&claim.run)?;
                claim.check()?;
                if let Some((account, run)) = self.run_place(&claim.run) {
                    let known = &self.accounts[account].runs[run];
                    if account != index || !known.is_claimed() {
                        return Err(Error::refused(format!(
                            "'{}' is charged to account {}",
                            claim.run.0, self.accounts[account].id.0
                        ))
                        .cure("a training spends from one account only"));
                    }
                    if !known.grows_into(&claim.events) {
                        return Err(Error::refused(format!(
                            "'{}' claims fewer draws than before",
                            claim.run.0
                        ))
                        .cure("what was drawn stays drawn"));
                    }
                }
            }
            Entry::Corrected(Correction { claim, .. }) => {
                let index = self.place(&claim.account)?;
                match self.run_place(&claim.run) {
                    Some((account, run)) if account == index => {
                        if !self.accounts[account].runs[run].is_claimed() {
                            return Err(Error::refused(format!(
                                "run '{}' was drawn here: what was drawn stays drawn",
                                claim.run.0
                            )));
                        }
                    }
                    _ => return Err(no_run(&claim.run)),
                }
                if !claim.events.is_empty() {
                    claim.check()?;
                }
            }
            Entry::Block { run, event, count } => {
                let record = self.open_run(run)?;
                let Some(planned) = record.grant.events.get(*event) else {
                    return Err(Error::refused(format!("run '{}' has no event {event}", run.0)));
                };
                let left = planned.count - record.reserved[*event];
                if *count == 0 || *count > left {
                    return Err(Error::refused(format!(
                        "run '{}' may draw '{}' {left} more times of {} granted, and asks for {count}",
                        run.0, planned.label, planned.count
                    )));
                }
            }
            Entry::Settle { run, used, .. } => {
                let record = self.open_run(run)?;
                let announced = used.len() == record.reserved.len()
                    && used.iter().zip(&record.reserved).all(|(used, reserved)| used <= reserved);
                if !announced {
                    return Err(Error::refused(format!(
                        "run '{}' claims draws {used:?} and has announced {:?}",
                        run.0, record.reserved
                    )));
                }
            }
            Entry::Resume { run } => {
                self.open_run(run)?;
            }
            Entry::Recovered(grant) => check_name(&grant.run)?,
            Entry::Damage { .. } => {}
            Entry::Rewritten { .. } => {
                if !self.accounts.is_empty() {
                    return Err(Error::refused("only the first line says that all were rewritten"));
                }
            }
            Entry::SecretLost { key, .. } => {
                if !self.datasets().any(|known| known.key.as_ref() == Some(key)) {
                    return Err(Error::usage(format!(
                        "no dataset is known under a secret '{key}'"
                    )));
                }
                if self.lost_secrets.contains(key) {
                    return Err(Error::usage(format!("the loss of {key} is accepted already")));
                }
            }
            Entry::Unprotected { account, .. } => {
                self.place(account)?;
            }
            Entry::Accept { account, .. } => {
                if !self.known(account)?.waits_for_acceptance() {
                    return Err(Error::usage(format!(
                        "the past of account {} is known: there is nothing to accept",
                        account.0
                    )));
                }
            }
        }
        Ok(())
    }

    /// Takes in the next line.
    pub(super) fn apply(&mut self, line: &LedgerLine, time: &str, entry: Entry) -> Result<()> {
        self.check(&entry)?;
        match entry {
            Entry::Dataset { account, dataset } => match self.account_index(&account) {
                Some(index) => self.accounts[index].datasets.push(dataset),
                None => self.open(account, vec![dataset]),
            },
            Entry::Tie { from, into, .. } => {
                let from = self.place(&from)?;
                let from = self.accounts.remove(from);
                let into = self.place(&into)?;
                self.accounts[into].absorb(from);
            }
            Entry::Budget { account, budget } => {
                let index = self.place(&account)?;
                self.accounts[index].set_budget(time, budget);
            }
            Entry::Grant(grant) => {
                let index = self.place(&grant.account)?;
                self.charge(index, RunRecord::granted(time, line, grant.renewed()));
            }
            Entry::Claimed(claim) => {
                let index = self.place(&claim.account)?;
                match self.run_place(&claim.run) {
                    // It keeps the time of its first line.
                    Some((account, run)) => {
                        let known = &mut self.accounts[account].runs[run];
                        let corrections = std::mem::take(&mut known.corrections);
                        let record = RunRecord::claimed(&known.time, line, claim);
                        *known = RunRecord { corrections, ..record };
                    }
                    None => self.charge(index, RunRecord::claimed(time, line, claim)),
                }
            }
            Entry::Corrected(correction) => {
                let record = self.run_mut(&correction.claim.run)?;
                *record = record.corrected(time, line, correction);
            }
            Entry::Resume { .. } | Entry::Rewritten { .. } => {}
            Entry::Recovered(grant) => {
                let grant = grant.renewed();
                if let Ok(known) = self.run_mut(&grant.run) {
                    known.raise(grant.events);
                    return Ok(());
                }
                if self.account_index(&grant.account).is_none() {
                    self.open(grant.account.clone(), Vec::new());
                }
                let index = self.place(&grant.account)?;
                let mut record = RunRecord::granted(time, line, grant);
                record.reserved.clone_from(&record.charged);
                record.state = RunState::Recovered;
                self.charge(index, record);
            }
            Entry::Block { run, event, count } => {
                self.run_mut(&run)?.reserved[event] += count;
            }
            Entry::Settle { run, used, outcome, peeked } => {
                let record = self.run_mut(&run)?;
                record.charged = used;
                record.settled = Some(line.clone());
                record.state = RunState::Settled { outcome, peeked };
                if record.charged.iter().all(|draws| *draws == 0) {
                    // It drew nothing, so its noise was never used.
                    let noise = |gap: &Gap| {
                        gap.accepted.is_none()
                            && matches!(&gap.cause, Cause::KnownNoise { run: of, .. } if *of == run)
                    };
                    self.accounts.iter_mut().for_each(|it| it.gaps.retain(|gap| !noise(gap)));
                }
            }
            Entry::Damage { lost_after, lost_until, why, traces } => {
                let cause = Cause::Lost { after: lost_after, until: lost_until, why };
                let noticed = Some((time.to_owned(), line.seq));
                self.lose_lines(&Gap { cause, noticed, accepted: None });
                self.traces.extend(traces);
            }
            Entry::SecretLost { key, why } => {
                self.lost_secrets.push(key.clone());
                // Any later dataset may be known under this secret.
                let noticed = Some((time.to_owned(), line.seq));
                let cause = Cause::LostSecret { key, why };
                self.gaps.push(Gap { cause, noticed, accepted: None });
            }
            Entry::Unprotected { account, what } => {
                let index = self.place(&account)?;
                let time = time.to_owned();
                self.accounts[index].unprotected.push(Unprotected { time, what });
            }
            Entry::Accept { account, why } => {
                let index = self.place(&account)?;
                self.accounts[index].accept(time, &why);
            }
        }
        Ok(())
    }

    /// From here on nobody knows the earlier spending. The lost lines may have announced every draw
    /// of the open runs.
    pub(super) fn lose_lines(&mut self, gap: &Gap) {
        self.gaps.push(gap.clone());
        for account in &mut self.accounts {
            account.gaps.push(gap.clone());
            for run in account.runs.iter_mut().filter(|run| run.state == RunState::Open) {
                run.reserved.clone_from(&run.charged);
            }
        }
    }

    fn open(&mut self, id: AccountId, datasets: Vec<DatasetRecord>) {
        self.accounts.push(Account::new(id, datasets, self.gaps.clone()));
    }

    /// Adds a run to an account. Noise that is not secret makes it a gap.
    fn charge(&mut self, account: usize, record: RunRecord) {
        let account = &mut self.accounts[account];
        if let Some(seed) = record.grant.noise.seed() {
            account.gaps.push(Gap {
                cause: Cause::KnownNoise { run: record.grant.run.clone(), seed },
                noticed: Some((record.time.clone(), record.granted.seq)),
                accepted: None,
            });
        }
        account.runs.push(record);
    }

    /// Like [`Self::account`], but a missing account is an error.
    pub(super) fn known(&self, id: &AccountId) -> Result<&Account> {
        Ok(&self.accounts[self.place(id)?])
    }

    pub(super) fn open_run(&self, run: &RunId) -> Result<&RunRecord> {
        let record = self.run(run).ok_or_else(|| no_run(run))?;
        match record.state {
            RunState::Open => Ok(record),
            RunState::Settled { .. } | RunState::Recovered | RunState::Claimed => {
                Err(Error::refused(format!("run '{}' is settled: it may draw nothing more", run.0)))
            }
        }
    }

    fn account_index(&self, id: &AccountId) -> Option<usize> {
        self.accounts.iter().position(|account| account.id == *id || account.former.contains(id))
    }

    fn place(&self, id: &AccountId) -> Result<usize> {
        self.account_index(id).ok_or_else(|| {
            Error::usage(format!("the ledger has no account '{}'", id.0))
                .cure("choose one of its accounts")
                .asking(Action::ListAccounts)
        })
    }

    fn run_place(&self, run: &RunId) -> Option<(usize, usize)> {
        self.accounts.iter().enumerate().find_map(|(account, held)| {
            // The wanted run is mostly one of the latest.
            held.runs.iter().rposition(|record| record.grant.run == *run).map(|i| (account, i))
        })
    }

    fn run_mut(&mut self, run: &RunId) -> Result<&mut RunRecord> {
        let (account, index) = self.run_place(run).ok_or_else(|| no_run(run))?;
        Ok(&mut self.accounts[account].runs[index])
    }
}

pub(super) fn no_run(run: &RunId) -> Error {
    Error::usage(format!("the ledger has no run '{}'", run.0))
}

/// A run's name is also the name of its directory and of its lock file.
fn check_name(run: &RunId) -> Result<()> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    let name = &run.0;
    if !name.is_empty() && name.len() <= 128 && !name.starts_with('.') && name.bytes().all(plain) {
        return Ok(());
    }
    Err(Error::usage(format!("'{name}' cannot be the name of a run"))
        .cure("use up to 128 letters, digits, '-', '_' and '.', and no '.' first"))
}

#[cfg(test)]
mod tests {
    use super::super::entry::{Budget, Claim, claimed_name};
    use super::super::samples::{
        block, book, budget, claim, damage, dataset, event, grant, id, one_account, put, record,
        run, settle,
    };
    use super::super::total::TotalStanding;
    use super::*;
    use crate::accountant::{Event, Target};
    use crate::error::ErrorKind;

    #[test]
    fn an_open_run_counts_in_full_and_a_settled_one_as_reported() {
        let mut book = one_account(10.0, 1e-5);
        put(&mut book, grant("r", "a", vec![event(0.1, 10), event(0.2, 1)])).unwrap();
        assert_eq!(book.accounts[0].charged_events(), [event(0.1, 10), event(0.2, 1)]);
        put(&mut book, block("r", 0, 6)).unwrap();
        assert_eq!(book.accounts[0].runs[0].reserved, [6, 0]);
        assert_eq!(book.accounts[0].charged_events(), [event(0.1, 10), event(0.2, 1)]);
        put(&mut book, settle("r", &[4, 0])).unwrap();
        assert_eq!(book.accounts[0].charged_events(), [event(0.1, 4)]);
    }

    #[test]
    fn what_others_claim_counts_and_stands_apart() {
        let mut book = one_account(2.0, 1e-5);
        put(&mut book, grant("r", "a", vec![event(0.1, 10)])).unwrap();
        assert_eq!(book.accounts[0].total(1e-5).unwrap().standing, TotalStanding::AtMost);
        let here = book.accounts[0].spent(1e-5).unwrap();
        let later = |count| Entry::Claimed(claim("t", "a", "x", vec![event(0.1, count)]));
        put(&mut book, later(5)).unwrap();
        // The later line contains everything.
        put(&mut book, later(30)).unwrap();
        assert_eq!(book.accounts[0].charged_events(), [event(0.1, 10), event(0.1, 30)]);
        let total = book.accounts[0].total(1e-5).unwrap();
        let claims = total.claims.clone().unwrap();
        assert_eq!((total.standing, &claims.drawn_here), (TotalStanding::Claimed, &here));
        assert!(
            total.words().contains("drawn elsewhere, as its trainer says"),
            "{}",
            total.words()
        );
        assert!(claims.claimed.unwrap().epsilon < total.epsilon());
        assert!(here.unwrap().epsilon < total.epsilon());
        // Past spending needs no budget, but later runs do.
        put(&mut book, later(9000)).unwrap();
        let target = Target { epsilon: 0.1, delta: 1e-6 };
        assert!(book.accounts[0].admit(&[event(0.01, 1)], target).is_err());
        let for_persons =
            Claim { unit: Some("patient".to_owned()), ..claim("u", "a", "y", vec![]) };
        for bad in [
            later(29),
            Entry::Claimed(claim("t", "a", "x", vec![event(0.2, 9000)])),
            Entry::Claimed(claim("u", "b", "y", vec![event(0.1, 1)])),
            Entry::Claimed(claim("u", "a", "y", vec![event(0.1, 0)])),
            Entry::Claimed(for_persons),
            Entry::Claimed(Claim { run: run("r"), ..claim("u", "a", "y", vec![event(0.1, 1)]) }),
            grant(&claimed_name("t").0, "a", vec![event(0.1, 1)]),
            block(&claimed_name("t").0, 0, 1),
            settle(&claimed_name("t").0, &[0]),
        ] {
            let before = book.clone();
            assert!(put(&mut book, bad.clone()).is_err(), "{bad:?}");
            assert_eq!(book, before);
        }
    }

    #[test]
    fn a_claim_is_changed_by_the_word_of_the_curator_alone_and_what_counted_before_is_kept() {
        let mut book = one_account(2.0, 1e-5);
        put(&mut book, grant("r", "a", vec![event(0.1, 10)])).unwrap();
        let here = book.accounts[0].spent(1e-5).unwrap();
        let correct = |claim: Claim| {
            Entry::Corrected(Correction { claim, why: "it was the wrong file".to_owned() })
        };
        let of = |events| claim("t", "a", "x", events);
        assert!(put(&mut book, correct(of(vec![event(0.1, 2)]))).is_err(), "nothing is charged");
        put(&mut book, Entry::Claimed(of(vec![event(0.1, 30)]))).unwrap();
        put(&mut book, correct(of(vec![event(0.1, 2)]))).unwrap();
        assert_eq!(book.accounts[0].charged_events(), [event(0.1, 10), event(0.1, 2)]);
        // Later lines continue from what counts now.
        assert!(put(&mut book, Entry::Claimed(of(vec![event(0.1, 1)]))).is_err());
        put(&mut book, Entry::Claimed(of(vec![event(0.1, 3)]))).unwrap();
        let withdrawn = of(vec![event(0.1, 3)]).withdrawn();
        put(&mut book, correct(withdrawn)).unwrap();
        let account = &book.accounts[0];
        assert_eq!(
            (account.charged_events(), account.spent(1e-5).unwrap()),
            (vec![event(0.1, 10)], here)
        );
        let before: Vec<Vec<Event>> =
            account.runs[1].corrections.iter().map(|it| it.before.clone()).collect();
        assert_eq!(before, [vec![event(0.1, 30)], vec![event(0.1, 3)]]);
        let total = account.total(1e-5).unwrap();
        assert_eq!(total.standing, TotalStanding::Claimed);
        assert!(total.words().contains("1 training was changed by hand"), "{}", total.words());
        put(&mut book, Entry::Claimed(of(vec![event(0.1, 1)]))).unwrap();
        assert_eq!(book.accounts[0].runs[1].corrections.len(), 2, "it stays said");
        for bad in [
            correct(Claim { run: run("r"), ..of(vec![]) }),
            correct(claim("t", "b", "x", vec![])),
            correct(Claim { delta: 2.0, ..of(vec![event(0.1, 1)]) }),
        ] {
            let before = book.clone();
            assert!(put(&mut book, bad.clone()).is_err(), "{bad:?}");
            assert_eq!(book, before);
        }
    }

    #[test]
    fn draws_beyond_the_grant_or_the_announcement_are_refused() {
        let mut book = one_account(10.0, 1e-5);
        put(&mut book, grant("r", "a", vec![event(0.1, 10)])).unwrap();
        put(&mut book, block("r", 0, 6)).unwrap();
        for bad in [
            block("r", 0, 5),
            block("r", 0, 0),
            block("r", 0, u64::MAX),
            block("r", 1, 1),
            block("s", 0, 1),
            settle("r", &[7]),
            settle("r", &[]),
            settle("r", &[1, 0]),
            grant("r", "a", vec![event(0.1, 1)]),
            grant("../r", "a", vec![event(0.1, 1)]),
            grant("q", "b", vec![event(0.1, 1)]),
        ] {
            let before = book.clone();
            assert!(put(&mut book, bad.clone()).is_err(), "{bad:?}");
            assert_eq!(book, before);
        }
        put(&mut book, settle("r", &[6])).unwrap();
        assert!(put(&mut book, block("r", 0, 1)).is_err());
        assert!(put(&mut book, settle("r", &[6])).is_err());
    }

    #[test]
    fn a_budget_is_a_positive_epsilon_and_a_delta_between_0_and_1() {
        let book = one_account(1.0, 1e-5);
        for (epsilon, delta) in [
            (0.0, 0.1),
            (-1.0, 0.1),
            (f64::INFINITY, 0.1),
            (f64::NAN, 0.1),
            (1.0, 0.0),
            (1.0, 1.0),
            (1.0, f64::NAN),
        ] {
            let error = book.check(&budget("a", epsilon, delta)).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Usage);
        }
        assert!(book.check(&budget("a", 1e-9, 0.999)).is_ok());
    }

    #[test]
    fn datasets_are_related_by_content_rows_or_place() {
        let book = book([dataset("a", "/a.csv", "c", "v")]);
        for (other, what) in [
            (record("/b.csv", "c", "w"), Some("its content")),
            (record("/b.csv", "v", "w"), Some("its content")),
            (record("/b.csv", "d", "v"), Some("its rows")),
            (record("/b.csv", "d", "c"), Some("its rows")),
            (record("/a.csv", "d", "w"), Some("its place")),
            (record("/b.csv", "d", "w"), None),
        ] {
            let related: Vec<_> = book.related(&other).into_iter().map(|(_, what)| what).collect();
            assert_eq!(related, what.into_iter().collect::<Vec<_>>(), "{other:?}");
        }
    }

    #[test]
    fn tied_accounts_add_their_spends_and_keep_the_smaller_budget() {
        let mut book = book([
            dataset("a", "/a.csv", "c", "v"),
            dataset("b", "/b.csv", "d", "w"),
            budget("a", 1.0, 1e-5),
            budget("b", 2.0, 1e-6),
            grant("r", "a", vec![event(0.1, 2)]),
            grant("s", "b", vec![event(0.1, 3)]),
        ]);
        let tie = |from: &str, into: &str| Entry::Tie {
            from: id(from),
            into: id(into),
            why: String::new(),
        };
        put(&mut book, tie("b", "a")).unwrap();
        assert_eq!(book.accounts.len(), 1);
        let account = book.account(&id("b")).unwrap();
        assert_eq!((&account.id, account.former.as_slice()), (&id("a"), &[id("b")][..]));
        assert_eq!(account.budget, Some(Budget::new(1.0, 1e-6)));
        assert_eq!(account.charged_events(), [event(0.1, 2), event(0.1, 3)]);
        // The former name still leads to the account, and the run to its record.
        put(&mut book, block("s", 0, 1)).unwrap();
        put(&mut book, grant("q", "b", vec![event(0.1, 1)])).unwrap();
        assert_eq!(book.accounts[0].runs.len(), 3);
        assert!(book.check(&tie("b", "a")).is_err());
    }

    #[test]
    fn lost_lines_may_have_announced_every_draw_of_an_open_run() {
        let mut book = book([
            dataset("a", "/a.csv", "c", "v"),
            grant("r", "a", vec![event(0.1, 5)]),
            block("r", 0, 1),
            damage(3),
        ]);
        assert_eq!(book.accounts[0].runs[0].reserved, [5]);
        assert!(book.check(&block("r", 0, 1)).is_err());
        let accept =
            |account: &str| Entry::Accept { account: id(account), why: "known".to_owned() };
        put(&mut book, accept("a")).unwrap();
        assert!(!book.accounts[0].unknown_past());
        assert!(book.check(&accept("a")).is_err());
        // Any later dataset may have been among the lost lines.
        put(&mut book, dataset("b", "/b.csv", "d", "w")).unwrap();
        assert!(book.accounts[1].unknown_past() && !book.accounts[0].unknown_past());
    }
}
