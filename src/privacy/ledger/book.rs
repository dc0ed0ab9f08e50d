//! What the lines of the ledger add up to.

use super::entry::{AccountId, Budget, DatasetRecord, Entry, Grant, Outcome, RunId};
use crate::error::{Error, Result};
use crate::privacy::accountant::{Adjacency, Composition, Event, Guarantee, Target, round_up};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunState {
    /// Granted and not settled: counts in full.
    Open,
    Settled {
        outcome: Outcome,
        peeked: bool,
    },
}

/// One run as the ledger knows it.
#[derive(Debug, Clone, PartialEq)]
pub struct RunRecord {
    pub time: String,
    pub grant: Grant,
    /// Draws announced so far per event; never less than what was drawn.
    pub reserved: Vec<u64>,
    /// Draws that count as spent per event: used when settled, the whole grant when open.
    pub charged: Vec<u64>,
    pub state: RunState,
}

impl RunRecord {
    /// What counts as spent: the granted events with their charged draws.
    pub fn charged_events(&self) -> Vec<Event> {
        let events = self.grant.events.iter().zip(&self.charged);
        let charged = events.filter(|(_, draws)| **draws > 0);
        charged.map(|(event, draws)| Event { count: *draws, ..event.clone() }).collect()
    }

    /// What this run alone counts for; `None` when it counts for nothing.
    pub fn spent(&self, delta: f64) -> Result<Option<Guarantee>> {
        let charged = self.charged_events();
        if charged.is_empty() {
            return Ok(None);
        }
        Composition::of_run(&charged, &self.grant.events, delta).map(Some)
    }
}

/// Everything about one private dataset.
#[derive(Debug, Clone, PartialEq)]
pub struct Account {
    pub id: AccountId,
    /// Accounts that turned out to hold the same records and were tied to this one.
    pub former: Vec<AccountId>,
    pub datasets: Vec<DatasetRecord>,
    pub budget: Option<Budget>,
    pub runs: Vec<RunRecord>,
    /// What was done with exact numbers, for which no ε can be stated.
    pub unprotected: Vec<Unprotected>,
    /// Lines were lost and nobody has accepted that yet.
    pub unknown_past: bool,
}

/// Something outside every guarantee that was done with the records.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unprotected {
    pub time: String,
    pub what: String,
}

impl Account {
    /// All charged events (count = charged draws).
    pub fn charged_events(&self) -> Vec<Event> {
        self.runs.iter().flat_map(RunRecord::charged_events).collect()
    }

    pub fn composition(&self) -> Result<Composition> {
        Composition::of(&self.charged_events())
    }

    /// ε spent so far at `delta`; `None` when nothing was spent.
    pub fn spent(&self, delta: f64) -> Result<Option<Guarantee>> {
        self.spent_with(&[], delta)
    }

    /// The same with these further events, as one more run.
    pub fn spent_with(&self, events: &[Event], delta: f64) -> Result<Option<Guarantee>> {
        self.spent_with_runs(events, 1, delta)
    }

    /// The same with these further events in each of so many further runs.
    ///
    /// One run that draws what it planned is fixed before any output was seen. A run that
    /// ended early may have ended because of its outputs, and the later ones of several may
    /// have been chosen by what the earlier ones put out: these add up in the gate's sum.
    pub fn spent_with_runs(
        &self,
        events: &[Event],
        runs: u64,
        delta: f64,
    ) -> Result<Option<Guarantee>> {
        let mut spending =
            self.runs.iter().filter(|run| run.charged.iter().any(|draws| *draws > 0));
        let further = if events.is_empty() { 0 } else { runs };
        match (spending.next(), spending.next(), further) {
            (None, _, 0) => Ok(None),
            (None, _, 1) => Composition::of(events)?.guarantee(delta).map(Some),
            (Some(only), None, 0) => only.spent(delta),
            _ => self.with_events(events, runs)?.gate(delta).map(Some),
        }
    }

    /// What these further events would make it.
    fn with_events(&self, events: &[Event], runs: u64) -> Result<Composition> {
        let mut all = self.charged_events();
        all.extend(
            events
                .iter()
                .map(|event| Event { count: event.count.saturating_mul(runs), ..event.clone() }),
        );
        Composition::of(&all)
    }

    /// What must be said beside every total: a sum of ε alone would look as if the rest had
    /// been free.
    pub fn beside_the_total(&self) -> Option<String> {
        let last = self.unprotected.last()?;
        let times = match self.unprotected.len() {
            1 => "once".to_owned(),
            many => format!("{many} times"),
        };
        Some(format!(
            "{times} outside every guarantee, ε unstated: {} (last {})",
            last.what, last.time
        ))
    }

    /// The weakest adjacency among the entries: the one the totals hold for.
    pub fn adjacency(&self) -> Adjacency {
        let events = self.charged_events();
        if events.iter().any(|event| event.adjacency == Adjacency::ZeroOut) {
            Adjacency::ZeroOut
        } else {
            Adjacency::ReplaceOne
        }
    }

    /// An account that the ledger does not hold yet, to preview its first run.
    pub fn unopened(dataset: &DatasetRecord, lines_lost: bool) -> Self {
        Self {
            id: AccountId("new account".to_owned()),
            former: Vec::new(),
            datasets: vec![dataset.clone()],
            budget: None,
            runs: Vec::new(),
            unprotected: Vec::new(),
            unknown_past: lines_lost,
        }
    }

    /// Would these further events stay within the budget? The refusal names the
    /// numbers and the largest ε (at `target.delta`) that would still fit.
    pub fn admit(&self, events: &[Event], target: Target) -> Result<()> {
        let id = &self.id.0;
        let budget = self.open_budget()?;
        let Some(all) = self.spent_with(events, budget.delta)? else { return Ok(()) };
        if all.epsilon <= budget.epsilon {
            return Ok(());
        }
        let spent = self.spent(budget.delta)?.map_or_else(
            || "nothing is spent so far".to_owned(),
            |spent| format!("ε = {} is spent so far", at_least(spent.epsilon)),
        );
        let fitting = self.largest_epsilon(target.delta)?.map(at_most).filter(|text| text != "0");
        let (fits, cure) = match fitting {
            Some(epsilon) => (
                format!(
                    "the largest ε of one more run at δ = {:e} that fits is {epsilon}",
                    target.delta
                ),
                format!("ask for ε = {epsilon} or less, or raise the budget"),
            ),
            None => (
                format!("no further run at δ = {:e} fits", target.delta),
                "raise the budget: that weakens the promise made to the people in the data"
                    .to_owned(),
            ),
        };
        Err(Error::refused(format!(
            "this run (ε = {}, δ = {:e}) would overspend the budget of account {id}, ε = {} at δ = {:e}: {spent}, this run would make it ε = {}; {fits}",
            target.epsilon,
            target.delta,
            budget.epsilon,
            budget.delta,
            at_least(all.epsilon),
        ))
        .cure(cure))
    }

    /// Would all of these runs together? None of them is chosen by what another puts out, but
    /// they add up as if they were: this is how they will count.
    pub fn admit_all(&self, grants: &[Grant]) -> Result<()> {
        if let [only] = grants {
            return self.admit(&only.events, only.target);
        }
        let budget = self.open_budget()?;
        let total = |grants: &[Grant]| -> Result<f64> {
            let events: Vec<Event> = grants.iter().flat_map(|it| it.events.clone()).collect();
            Ok(self.with_events(&events, 1)?.gate(budget.delta)?.epsilon)
        };
        let all = total(grants)?;
        if all <= budget.epsilon {
            return Ok(());
        }
        let (mut fitting, mut too_many) = (0, grants.len());
        while too_many - fitting > 1 {
            let middle = usize::midpoint(fitting, too_many);
            if total(&grants[..middle])? <= budget.epsilon {
                fitting = middle;
            } else {
                too_many = middle;
            }
        }
        let left = match fitting {
            0 => "not even the first fits".to_owned(),
            fitting => format!("the first {fitting} fit"),
        };
        Err(Error::refused(format!(
            "these {} runs together would overspend the budget of account {}, ε = {} at δ = {:e}: \
             everything spent and they come to ε = {}; {left}",
            grants.len(),
            self.id.0,
            budget.epsilon,
            budget.delta,
            at_least(all)
        ))
        .cure("ask for fewer runs or a smaller ε in each, or raise the budget"))
    }

    /// The budget, where anything may be spent at all.
    fn open_budget(&self) -> Result<Budget> {
        let id = &self.id.0;
        if self.unknown_past {
            return Err(Error::refused(format!(
                "lines of the ledger were lost: nobody knows what was spent on account {id}"
            ))
            .cure(format!("accept the unknown past with `halflight ledger accept {id}`")));
        }
        self.budget.ok_or_else(|| {
            Error::refused(format!("account {id} has no budget")).cure(format!(
                "set one on the Ledger screen (6, b) or with `halflight ledger budget {id} EPSILON DELTA`"
            ))
        })
    }

    /// Largest per-run ε at `delta` that the rest of the budget admits as one
    /// more Gaussian run; 0 when nothing is left, `None` without a budget.
    pub fn largest_epsilon(&self, delta: f64) -> Result<Option<f64>> {
        check_delta(delta)?;
        let Some(budget) = self.budget else { return Ok(None) };
        let events = self.charged_events();
        let spent = if events.is_empty() {
            Composition::gaussian(0.0, Adjacency::ReplaceOne)
        } else {
            Composition::of(&events)?
        };
        let fits = |mu: f64| -> Result<bool> {
            Ok(spent.with_mu(mu).gate(budget.delta)?.epsilon <= budget.epsilon)
        };
        // `low` fits and `high` does not; what is spent fits, or nothing more does.
        let (mut low, mut high) = (spent.mu, spent.mu.max(1e-6));
        if !events.is_empty() && !fits(low)? {
            return Ok(Some(0.0));
        }
        while fits(high)? {
            low = high;
            high *= 2.0;
        }
        // Less than that is nothing.
        while high - low > 1e-12 * high && high > 1e-12 {
            let middle = 0.5 * (low + high);
            if fits(middle)? {
                low = middle;
            } else {
                high = middle;
            }
        }
        let mu = ((low - spent.mu) * (low + spent.mu)).sqrt();
        if mu == 0.0 {
            return Ok(Some(0.0));
        }
        Ok(Some(Composition::gaussian(mu, spent.adjacency).guarantee(delta)?.epsilon_lower))
    }
}

/// All accounts, in order of opening.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Book {
    pub accounts: Vec<Account>,
    /// Lines were lost once: an account opened later may have been among them.
    pub lines_lost: bool,
    /// The file is damaged now: nothing is granted until it is repaired.
    pub damaged: bool,
    /// What is to be said about the file: its damage, a line that a dead program left.
    pub warnings: Vec<String>,
}

impl Book {
    /// The account of this name, or the one that it was tied to.
    pub fn account(&self, id: &AccountId) -> Option<&Account> {
        self.account_index(id).map(|index| &self.accounts[index])
    }

    /// The account that this dataset belongs to, registered or not.
    pub fn find(&self, dataset: &DatasetRecord) -> Option<&Account> {
        let (id, _) = self.related(dataset).into_iter().next()?;
        self.account(&id)
    }

    /// The account in which exactly this dataset was registered.
    pub fn account_of(&self, dataset: &DatasetRecord) -> Option<&Account> {
        self.accounts.iter().find(|account| account.datasets.contains(dataset))
    }

    pub fn run(&self, run: &RunId) -> Option<&RunRecord> {
        self.run_place(run).map(|(account, index)| &self.accounts[account].runs[index])
    }

    /// Accounts that hold records of this dataset, and what shows it.
    pub(super) fn related(&self, dataset: &DatasetRecord) -> Vec<(AccountId, &'static str)> {
        let relation = |known: &DatasetRecord| {
            if [&known.content, &known.view].contains(&&dataset.content) {
                Some("content")
            } else if [&known.content, &known.view].contains(&&dataset.view) {
                Some("rows")
            } else {
                (known.origin == dataset.origin).then_some("place")
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
                    return Err(Error::usage(format!("{} is no budget for ε", budget.epsilon))
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
            Entry::Damage { .. } => {}
            Entry::Unprotected { account, .. } => {
                self.place(account)?;
            }
            Entry::Accept { account, .. } => {
                if !self.known(account)?.unknown_past {
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
    pub(super) fn apply(&mut self, time: &str, entry: Entry) -> Result<()> {
        self.check(&entry)?;
        match entry {
            Entry::Dataset { account, dataset } => match self.account_index(&account) {
                Some(index) => self.accounts[index].datasets.push(dataset),
                None => self.accounts.push(Account {
                    id: account,
                    former: Vec::new(),
                    datasets: vec![dataset],
                    budget: None,
                    runs: Vec::new(),
                    unprotected: Vec::new(),
                    unknown_past: self.lines_lost,
                }),
            },
            Entry::Tie { from, into, .. } => {
                let from = self.place(&from)?;
                let from = self.accounts.remove(from);
                let into = self.place(&into)?;
                self.accounts[into].absorb(from);
            }
            Entry::Budget { account, budget } => {
                let index = self.place(&account)?;
                self.accounts[index].budget = Some(budget);
            }
            Entry::Grant(grant) => {
                let index = self.place(&grant.account)?;
                self.accounts[index].runs.push(RunRecord {
                    time: time.to_owned(),
                    reserved: vec![0; grant.events.len()],
                    charged: grant.events.iter().map(|event| event.count).collect(),
                    state: RunState::Open,
                    grant,
                });
            }
            Entry::Block { run, event, count } => {
                self.run_mut(&run)?.reserved[event] += count;
            }
            Entry::Settle { run, used, outcome, peeked } => {
                let record = self.run_mut(&run)?;
                record.charged = used;
                record.state = RunState::Settled { outcome, peeked };
            }
            Entry::Damage { .. } => self.lose_lines(),
            Entry::Unprotected { account, what } => {
                let index = self.place(&account)?;
                let time = time.to_owned();
                self.accounts[index].unprotected.push(Unprotected { time, what });
            }
            Entry::Accept { account, .. } => {
                let index = self.place(&account)?;
                self.accounts[index].unknown_past = false;
            }
        }
        Ok(())
    }

    /// From here on nobody knows what was spent before. The lost lines may have
    /// announced every draw of the runs that are open.
    pub(super) fn lose_lines(&mut self) {
        self.lines_lost = true;
        for account in &mut self.accounts {
            account.unknown_past = true;
            for run in account.runs.iter_mut().filter(|run| run.state == RunState::Open) {
                run.reserved.clone_from(&run.charged);
            }
        }
    }

    /// As [`Self::account`]; that there is none is an error.
    pub(super) fn known(&self, id: &AccountId) -> Result<&Account> {
        Ok(&self.accounts[self.place(id)?])
    }

    pub(super) fn open_run(&self, run: &RunId) -> Result<&RunRecord> {
        let record = self.run(run).ok_or_else(|| no_run(run))?;
        match record.state {
            RunState::Open => Ok(record),
            RunState::Settled { .. } => {
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
                .cure("`halflight ledger` lists the accounts")
        })
    }

    fn run_place(&self, run: &RunId) -> Option<(usize, usize)> {
        self.accounts.iter().enumerate().find_map(|(account, held)| {
            // The run asked for is mostly one of the latest.
            held.runs.iter().rposition(|record| record.grant.run == *run).map(|i| (account, i))
        })
    }

    fn run_mut(&mut self, run: &RunId) -> Result<&mut RunRecord> {
        let (account, index) = self.run_place(run).ok_or_else(|| no_run(run))?;
        Ok(&mut self.accounts[account].runs[index])
    }
}

impl Account {
    /// The other account holds the same records: spends add up, the smaller budget binds.
    fn absorb(&mut self, other: Self) {
        self.former.push(other.id);
        self.former.extend(other.former);
        self.datasets.extend(other.datasets);
        self.budget = match (self.budget, other.budget) {
            (Some(mine), Some(theirs)) => Some(Budget {
                epsilon: mine.epsilon.min(theirs.epsilon),
                delta: mine.delta.min(theirs.delta),
            }),
            (mine, theirs) => mine.or(theirs),
        };
        self.runs.extend(other.runs);
        self.runs.sort_by(|a, b| a.time.cmp(&b.time));
        self.unprotected.extend(other.unprotected);
        self.unprotected.sort_by(|a, b| a.time.cmp(&b.time));
        self.unknown_past |= other.unknown_past;
    }
}

fn no_run(run: &RunId) -> Error {
    Error::usage(format!("the ledger has no run '{}'", run.0))
}

fn check_delta(delta: f64) -> Result<()> {
    if delta > 0.0 && delta < 1.0 {
        return Ok(());
    }
    Err(Error::usage(format!("{delta} is no value for δ")).cure("give a number between 0 and 1"))
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

/// Enough decimals for three significant digits, and three at least.
fn decimals(epsilon: f64) -> usize {
    if epsilon > 0.0 && epsilon < 0.1 {
        (2.0 - epsilon.log10().floor()).min(12.0) as usize
    } else {
        3
    }
}

/// Decimal text that is not smaller.
fn at_least(epsilon: f64) -> String {
    round_up(epsilon, decimals(epsilon))
}

/// Decimal text that is not larger; `0` when nothing of it is left.
fn at_most(epsilon: f64) -> String {
    let decimals = decimals(epsilon);
    let step = 10f64.powi(-(decimals as i32));
    let text = format!("{:.decimals$}", (epsilon / step).floor() * step);
    match text.parse::<f64>() {
        Ok(value) if value > epsilon => format!("{:.decimals$}", value - step),
        Ok(value) if value <= 0.0 => "0".to_owned(),
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Kind;
    use crate::privacy::accountant::{
        Allotment, Mechanism, PlannedMechanism, PlannedRelease, calibrate,
    };

    fn id(name: &str) -> AccountId {
        AccountId(name.to_owned())
    }

    fn run(name: &str) -> RunId {
        RunId(name.to_owned())
    }

    fn event(mu: f64, count: u64) -> Event {
        Event {
            label: "gradient".to_owned(),
            what: "a gradient".to_owned(),
            mechanism: Mechanism::Gaussian {
                sensitivity: mu,
                sigma: 1.0,
                grid: 0.0,
                coordinates: 1,
            },
            count,
            adjacency: Adjacency::ReplaceOne,
        }
    }

    fn grant(name: &str, account: &str, events: Vec<Event>) -> Entry {
        Entry::Grant(Grant {
            run: run(name),
            account: id(account),
            method: "moment-release".to_owned(),
            target: Target { epsilon: 1.0, delta: 1e-6 },
            events,
            allow_large_delta: false,
        })
    }

    fn dataset(account: &str, origin: &str, content: &str, view: &str) -> Entry {
        Entry::Dataset { account: id(account), dataset: record(origin, content, view) }
    }

    fn record(origin: &str, content: &str, view: &str) -> DatasetRecord {
        DatasetRecord {
            name: "hospital".to_owned(),
            origin: origin.to_owned(),
            content: content.to_owned(),
            view: view.to_owned(),
            rows: 100,
        }
    }

    fn budget(account: &str, epsilon: f64, delta: f64) -> Entry {
        Entry::Budget { account: id(account), budget: Budget { epsilon, delta } }
    }

    fn block(name: &str, event: usize, count: u64) -> Entry {
        Entry::Block { run: run(name), event, count }
    }

    fn settle(name: &str, used: &[u64]) -> Entry {
        let (used, outcome) = (used.to_vec(), Outcome::Stopped);
        Entry::Settle { run: run(name), used, outcome, peeked: false }
    }

    fn book(entries: impl IntoIterator<Item = Entry>) -> Book {
        let mut book = Book::default();
        for entry in entries {
            book.apply("2026-11-21T12:00:00Z", entry).unwrap();
        }
        book
    }

    fn one_account(epsilon: f64, delta: f64) -> Book {
        book([dataset("a", "/a.csv", "c", "v"), budget("a", epsilon, delta)])
    }

    #[test]
    fn an_open_run_counts_in_full_and_a_settled_one_as_reported() {
        let mut book = one_account(10.0, 1e-5);
        book.apply("t", grant("r", "a", vec![event(0.1, 10), event(0.2, 1)])).unwrap();
        assert_eq!(book.accounts[0].charged_events(), [event(0.1, 10), event(0.2, 1)]);
        book.apply("t", block("r", 0, 6)).unwrap();
        assert_eq!(book.accounts[0].runs[0].reserved, [6, 0]);
        assert_eq!(book.accounts[0].charged_events(), [event(0.1, 10), event(0.2, 1)]);
        book.apply("t", settle("r", &[4, 0])).unwrap();
        assert_eq!(book.accounts[0].charged_events(), [event(0.1, 4)]);
    }

    #[test]
    fn draws_beyond_the_grant_or_the_announcement_are_refused() {
        let mut book = one_account(10.0, 1e-5);
        book.apply("t", grant("r", "a", vec![event(0.1, 10)])).unwrap();
        book.apply("t", block("r", 0, 6)).unwrap();
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
            assert!(book.apply("t", bad.clone()).is_err(), "{bad:?}");
            assert_eq!(book, before);
        }
        book.apply("t", settle("r", &[6])).unwrap();
        assert!(book.apply("t", block("r", 0, 1)).is_err());
        assert!(book.apply("t", settle("r", &[6])).is_err());
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
            assert_eq!(error.kind(), Kind::Usage);
        }
        assert!(book.check(&budget("a", 1e-9, 0.999)).is_ok());
    }

    #[test]
    fn without_a_budget_or_with_an_unknown_past_nothing_is_admitted() {
        let target = Target { epsilon: 0.1, delta: 1e-6 };
        let mut book = book([dataset("a", "/a.csv", "c", "v")]);
        let error = book.accounts[0].admit(&[event(0.01, 1)], target).unwrap_err();
        assert_eq!(error.kind(), Kind::Refused);
        assert!(error.to_string().contains("no budget"));
        assert!(error.cure_text().unwrap().contains("ledger budget a"));
        book.apply("t", budget("a", 1.0, 1e-5)).unwrap();
        assert!(book.accounts[0].admit(&[event(0.01, 1)], target).is_ok());
        book.apply("t", Entry::Damage { lost_after: 2, why: "x".to_owned() }).unwrap();
        let error = book.accounts[0].admit(&[event(0.01, 1)], target).unwrap_err();
        assert!(error.cure_text().unwrap().contains("ledger accept a"));
    }

    #[test]
    fn what_is_admitted_is_what_composes_within_the_budget() {
        let mut book = one_account(1.0, 1e-5);
        let target = Target { epsilon: 0.5, delta: 1e-6 };
        let mut runs = 0;
        while book.accounts[0].admit(&[event(0.05, 4)], target).is_ok() {
            runs += 1;
            book.apply("t", grant(&format!("r{runs}"), "a", vec![event(0.05, 4)])).unwrap();
        }
        // A Gaussian of this mu is (1, 1e-5)-DP and no larger one is.
        let limit = 0.268_054_f64;
        assert_eq!(runs, (limit * limit / (4.0 * 0.05 * 0.05)) as usize);
        assert!(book.accounts[0].spent(1e-5).unwrap().unwrap().epsilon <= 1.0);
    }

    /// A run by itself is a plan fixed in advance; several are added up by the gate, whose
    /// number is larger.
    #[test]
    fn several_runs_are_admitted_by_the_sum_that_survives_adaptive_choices() {
        let minibatch = Event {
            mechanism: Mechanism::SubsampledGaussian {
                sensitivity: 1.0,
                sigma: 1.5,
                grid: 0.0,
                coordinates: 4,
                rate: 0.01,
            },
            adjacency: Adjacency::ZeroOut,
            ..event(1.0, 300)
        };
        let events = [minibatch.clone()];
        let target = Target { epsilon: 1.0, delta: 1e-5 };
        let alone = Composition::of(&events).unwrap().guarantee(1e-5).unwrap().epsilon;
        let twice = Composition::of(&[minibatch.clone(), minibatch.clone()]).unwrap();
        let (shown, gate) = (twice.guarantee(1e-5).unwrap(), twice.gate(1e-5).unwrap());
        assert!(shown.epsilon < gate.epsilon);

        let mut between = one_account(0.5 * (shown.epsilon + gate.epsilon), 1e-5);
        between.accounts[0].admit(&events, target).unwrap();
        between.apply("t", grant("r", "a", events.to_vec())).unwrap();
        assert_eq!(between.accounts[0].spent(1e-5).unwrap().unwrap().epsilon, alone);
        assert!(between.accounts[0].admit(&events, target).is_err());

        let mut enough = one_account(gate.epsilon, 1e-5);
        enough.apply("t", grant("r", "a", events.to_vec())).unwrap();
        enough.accounts[0].admit(&events, target).unwrap();
        enough.apply("t", grant("s", "a", events.to_vec())).unwrap();
        assert_eq!(enough.accounts[0].spent(1e-5).unwrap(), Some(gate));
        // What is left, as one more Gaussian run.
        assert!(enough.accounts[0].largest_epsilon(1e-5).unwrap().unwrap() < 1e-3);
    }

    #[test]
    fn a_refusal_says_what_was_spent_and_what_would_fit() {
        let mut book = one_account(1.0, 1e-5);
        book.apply("t", grant("r", "a", vec![event(0.2, 1)])).unwrap();
        let account = &book.accounts[0];
        let target = Target { epsilon: 0.9, delta: 1e-6 };
        let error = account.admit(&[event(0.25, 1)], target).unwrap_err();
        let fits = account.largest_epsilon(1e-6).unwrap().unwrap();
        let shown = at_most(fits);
        assert!(
            shown.parse::<f64>().unwrap() <= fits && shown.parse::<f64>().unwrap() > 0.9 * fits
        );
        let spent = at_least(account.spent(1e-5).unwrap().unwrap().epsilon);
        let text = error.to_string();
        for part in [
            "this run (ε = 0.9, δ = 1e-6)",
            "budget of account a, ε = 1 at δ = 1e-5",
            &format!("ε = {spent} is spent so far"),
            "this run would make it ε = 1.2",
            &format!("the largest ε of one more run at δ = 1e-6 that fits is {shown}"),
            &format!("what to do: ask for ε = {shown} or less"),
        ] {
            assert!(text.contains(part), "'{part}' is not in: {text}");
        }
    }

    #[test]
    fn a_full_account_says_that_nothing_fits() {
        let mut book = one_account(1.0, 1e-5);
        book.apply("t", grant("r", "a", vec![event(0.25, 1)])).unwrap();
        book.apply("t", budget("a", 0.5, 1e-5)).unwrap();
        let account = &book.accounts[0];
        assert_eq!(account.largest_epsilon(1e-6).unwrap(), Some(0.0));
        let target = Target { epsilon: 1e-3, delta: 1e-6 };
        let error = account.admit(&[event(1e-4, 1)], target).unwrap_err();
        assert!(error.to_string().contains("no further run at δ = 1e-6 fits"), "{error}");
    }

    #[test]
    fn the_largest_epsilon_fits_and_a_little_more_does_not() {
        for spent in [None, Some(0.01), Some(0.2), Some(0.26)] {
            let mut book = one_account(1.0, 1e-5);
            if let Some(mu) = spent {
                book.apply("t", grant("r", "a", vec![event(mu, 1)])).unwrap();
            }
            let account = &book.accounts[0];
            for delta in [1e-5, 1e-7] {
                let epsilon = account.largest_epsilon(delta).unwrap().unwrap();
                assert!(epsilon > 0.0);
                let admitted = |epsilon: f64| {
                    // The largest mu that is (epsilon, delta)-DP by itself.
                    let (mut low, mut high) = (1e-9, 10.0);
                    for _ in 0..200 {
                        let mu: f64 = 0.5 * (low + high);
                        let one = Composition::of(&[event(mu, 1)]).unwrap();
                        if one.delta(epsilon).unwrap() <= delta { low = mu } else { high = mu }
                    }
                    account.admit(&[event(low, 1)], Target { epsilon, delta }).is_ok()
                };
                assert!(admitted(epsilon * (1.0 - 1e-6)), "{spent:?} {delta}");
                assert!(!admitted(epsilon * (1.0 + 1e-6)), "{spent:?} {delta}");
            }
        }
    }

    #[test]
    fn a_run_that_asks_for_all_that_fits_is_admitted() {
        let asked = |epsilon: f64| {
            let release = PlannedRelease {
                label: "gradient",
                what: "a gradient".to_owned(),
                mechanism: PlannedMechanism::Gaussian { l2_sensitivity: 0.01, coordinates: 50 },
                count: 60,
                noise: Allotment::Share(1.0),
                adjacency: Adjacency::ReplaceOne,
            };
            calibrate(&[release], Target { epsilon, delta: 1e-5 }).unwrap()
        };
        let whole = one_account(1.0, 1e-5);
        let all = asked(1.0);
        whole.accounts[0].admit(&all.events, all.target).unwrap();

        let mut half = one_account(1.0, 1e-5);
        half.apply("t", grant("r", "a", asked(0.5).events)).unwrap();
        let account = &half.accounts[0];
        let fits = at_most(account.largest_epsilon(1e-5).unwrap().unwrap());
        let rest = asked(fits.parse().unwrap());
        account.admit(&rest.events, rest.target).unwrap();
        let too_much = asked(fits.parse::<f64>().unwrap() + 0.002);
        assert!(account.admit(&too_much.events, too_much.target).is_err());
    }

    #[test]
    fn without_spends_the_largest_epsilon_at_the_budgets_delta_is_the_budget() {
        let book = one_account(1.0, 1e-5);
        let epsilon = book.accounts[0].largest_epsilon(1e-5).unwrap().unwrap();
        assert!((epsilon - 1.0).abs() < 1e-9, "{epsilon}");
        assert_eq!(
            self::book([dataset("a", "/a", "c", "v")]).accounts[0].largest_epsilon(1e-5),
            Ok(None)
        );
        assert!(book.accounts[0].largest_epsilon(0.0).is_err());
    }

    #[test]
    fn datasets_are_related_by_content_rows_or_place() {
        let book = book([dataset("a", "/a.csv", "c", "v")]);
        for (other, what) in [
            (record("/b.csv", "c", "w"), Some("content")),
            (record("/b.csv", "v", "w"), Some("content")),
            (record("/b.csv", "d", "v"), Some("rows")),
            (record("/b.csv", "d", "c"), Some("rows")),
            (record("/a.csv", "d", "w"), Some("place")),
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
        book.apply("t", tie("b", "a")).unwrap();
        assert_eq!(book.accounts.len(), 1);
        let account = book.account(&id("b")).unwrap();
        assert_eq!((&account.id, account.former.as_slice()), (&id("a"), &[id("b")][..]));
        assert_eq!(account.budget, Some(Budget { epsilon: 1.0, delta: 1e-6 }));
        assert_eq!(account.charged_events(), [event(0.1, 2), event(0.1, 3)]);
        // The former name still leads to the account, and the run to its record.
        book.apply("t", block("s", 0, 1)).unwrap();
        book.apply("t", grant("q", "b", vec![event(0.1, 1)])).unwrap();
        assert_eq!(book.accounts[0].runs.len(), 3);
        assert!(book.check(&tie("b", "a")).is_err());
    }

    #[test]
    fn lost_lines_may_have_announced_every_draw_of_an_open_run() {
        let mut book = book([
            dataset("a", "/a.csv", "c", "v"),
            grant("r", "a", vec![event(0.1, 5)]),
            block("r", 0, 1),
            Entry::Damage { lost_after: 3, why: "x".to_owned() },
        ]);
        assert_eq!(book.accounts[0].runs[0].reserved, [5]);
        assert!(book.check(&block("r", 0, 1)).is_err());
        let accept =
            |account: &str| Entry::Accept { account: id(account), why: "known".to_owned() };
        book.apply("t", accept("a")).unwrap();
        assert!(!book.accounts[0].unknown_past);
        assert!(book.check(&accept("a")).is_err());
        // Whoever comes later may have been among the lost lines.
        book.apply("t", dataset("b", "/b.csv", "d", "w")).unwrap();
        assert!(book.accounts[1].unknown_past && !book.accounts[0].unknown_past);
    }

    #[test]
    fn shown_numbers_are_rounded_to_the_safe_side() {
        for value in [1.0, 0.3, 0.123_456, 0.099_999, 3.2e-5, 7.000_000_1, 12.345_67, 1e-11] {
            let low: f64 = at_most(value).parse().unwrap();
            let high: f64 = at_least(value).parse().unwrap();
            assert!(low <= value && value <= high, "{low} {value} {high}");
            assert!(high - low <= 0.11 * value, "{low} {value} {high}");
        }
        assert_eq!((at_most(0.0), at_most(1e-14)), ("0".to_owned(), "0".to_owned()));
    }
}
