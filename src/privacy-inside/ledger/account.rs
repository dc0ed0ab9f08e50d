//! One private dataset in the ledger: its runs, its budget and its total.

use std::collections::BTreeSet;

use super::book::Book;
use super::elsewhere::ChargedElsewhere;
use super::entry::{
    AccountId, Budget, Claim, Correction, DatasetRecord, Grant, LedgerLine, ORDER_ASSUMED,
    RowOrder, RunOutcome, SharedNoise,
};
use super::gap::{Acceptance, Gap};
use super::total::Total;
use crate::accountant::{Adjacency, Composition, Event, Guarantee, counted, round_up};
use crate::data::persons::protected_words;
use crate::error::Result;

/// The state of a run in the ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunState {
    /// Granted and not settled: counts in full.
    Open,
    /// Lines of the run were lost; its certificate states its draws.
    Recovered,
    /// Another trainer states these draws.
    Claimed,
    /// Over: only what it drew counts.
    Settled {
        /// How it ended.
        outcome: RunOutcome,
        /// Exact numbers were looked at meanwhile.
        peeked: bool,
    },
}

/// One run in the ledger.
#[derive(Debug, Clone, PartialEq)]
pub struct RunRecord {
    /// When it was granted.
    pub time: String,
    /// What it may draw.
    pub grant: Grant,
    /// The line that granted it, or that charged it when it was recovered.
    pub granted: LedgerLine,
    /// The line that settled it.
    pub settled: Option<LedgerLine>,
    /// Draws announced so far per event; never less than what was drawn.
    pub reserved: Vec<u64>,
    /// Draws that count as spent per event: used when settled, the whole grant when open.
    pub charged: Vec<u64>,
    /// State of the run: whether it is open.
    pub state: RunState,
    /// The claim, if another trainer made the run.
    pub claim: Option<Claim>,
    /// The curator's corrections of the claim, the latest last.
    pub corrections: Vec<Corrected>,
}

/// A claim that the curator changed.
#[derive(Debug, Clone, PartialEq)]
pub struct Corrected {
    /// When.
    pub time: String,
    /// The reason, in the curator's words.
    pub why: String,
    /// The events that counted until then.
    pub before: Vec<Event>,
}

impl RunRecord {
    /// Whether exact numbers could be seen while it worked.
    pub fn was_seen(&self) -> bool {
        matches!(self.state, RunState::Settled { peeked: true, .. })
    }

    /// The draws of an open run that stay charged when it is settled without its program.
    pub fn announced_words(&self) -> String {
        let sum = |counts: &[u64]| counts.iter().sum::<u64>();
        let planned = self.grant.events.iter().map(|event| event.count).sum::<u64>();
        match sum(&self.reserved) {
            0 => "it had announced no draw, so nothing of its ε stays charged".to_owned(),
            all if all >= planned => {
                "it had announced all of its draws, so its whole ε stays charged".to_owned()
            }
            some => format!(
                "it had announced {some} of its {planned} draws, which stay charged; the rest of \
                 its ε is free again"
            ),
        }
    }

    pub(super) fn granted(time: &str, line: &LedgerLine, grant: Grant) -> Self {
        Self {
            time: time.to_owned(),
            granted: line.clone(),
            settled: None,
            reserved: vec![0; grant.events.len()],
            charged: grant.events.iter().map(|event| event.count).collect(),
            state: RunState::Open,
            claim: None,
            corrections: Vec::new(),
            grant,
        }
    }

    pub(super) fn claimed(time: &str, line: &LedgerLine, claim: Claim) -> Self {
        let run = Self::granted(time, line, claim.grant());
        let (reserved, state) = (run.charged.clone(), RunState::Claimed);
        Self { reserved, state, claim: Some(claim), ..run }
    }

    /// Whether the run was made elsewhere and is only claimed.
    pub fn is_claimed(&self) -> bool {
        self.state == RunState::Claimed
    }

    /// Charges at least these events: a certificate holds even if the ledger has less.
    pub(super) fn raise(&mut self, proven: Vec<Event>) {
        for event in proven {
            let same = |known: &Event| Event { count: event.count, ..known.clone() } == event;
            if let Some(index) = self.grant.events.iter().position(same) {
                self.charged[index] = self.charged[index].max(event.count);
            } else {
                self.reserved.push(event.count);
                self.charged.push(event.count);
                self.grant.events.push(event);
            }
        }
    }

    /// The events that it counts for if at least these were also drawn.
    pub(super) fn raised_to(&self, events: Vec<Event>) -> Vec<Event> {
        let mut raised = self.clone();
        raised.raise(events);
        raised.charged_events()
    }

    /// A correction of it.
    pub(super) fn corrected(&self, time: &str, line: &LedgerLine, correction: Correction) -> Self {
        let mut corrections = self.corrections.clone();
        let before = self.charged_events();
        corrections.push(Corrected { time: time.to_owned(), why: correction.why, before });
        Self { corrections, ..Self::claimed(&self.time, line, correction.claim) }
    }

    /// Whether these events have at least as many draws of each kind.
    pub(super) fn grows_into(&self, later: &[Event]) -> bool {
        self.grant.events.iter().zip(&self.charged).all(|(event, charged)| {
            let same = |other: &&Event| Event { count: event.count, ..(*other).clone() } == *event;
            later.iter().filter(same).any(|other| other.count >= *charged)
        })
    }

    fn has_spent(&self) -> bool {
        self.charged.iter().any(|draws| *draws > 0)
    }

    /// The granted events with their charged draws.
    pub fn charged_events(&self) -> Vec<Event> {
        let events = self.grant.events.iter().zip(&self.charged);
        let charged = events.filter(|(_, draws)| **draws > 0);
        charged.map(|(event, draws)| Event { count: *draws, ..event.clone() }).collect()
    }

    /// The guarantee of this run alone; `None` if it spent nothing.
    pub fn spent(&self, delta: f64) -> Result<Option<Guarantee>> {
        let charged = self.charged_events();
        if charged.is_empty() {
            return Ok(None);
        }
        if self.is_claimed() {
            // Its steps may have been planned or chosen by earlier outputs; this is unknown here.
            return Composition::of(&charged)?.gate(delta).map(Some);
        }
        Composition::of_run(&charged, &self.grant.events, delta).map(Some)
    }

    /// The guarantee of a claim alone until it was changed.
    pub fn counted_before(&self, change: &Corrected, delta: f64) -> Result<Option<Guarantee>> {
        let before = &change.before;
        if before.is_empty() {
            return Ok(None);
        }
        Composition::of(before)?.gate(delta).map(Some)
    }
}

/// Everything about one private dataset.
#[derive(Debug, Clone, PartialEq)]
pub struct Account {
    /// Name of the account.
    pub id: AccountId,
    /// Accounts that proved to hold the same records and were tied to this one.
    pub former: Vec<AccountId>,
    /// The datasets whose runs are charged here, as they were registered.
    pub datasets: Vec<DatasetRecord>,
    /// The budget for ever.
    pub budget: Option<Budget>,
    /// The larger budget of the ledger, if the session's replaces it.
    pub(super) replaced: Option<Budget>,
    /// The budgets of the session that the account is held to; none for the ledger alone.
    pub(super) of_session: Vec<Budget>,
    /// When its budget was raised, in the order of the lines.
    pub raised: Vec<RaisedBudget>,
    /// Every run that was granted here.
    pub runs: Vec<RunRecord>,
    /// Uses of exact numbers, for which no ε can be stated.
    pub unprotected: Vec<Unprotected>,
    /// The unknown parts of its past.
    pub(super) gaps: Vec<Gap>,
    /// The charges on the same records in other ledgers of this user.
    pub elsewhere: Vec<ChargedElsewhere>,
}

/// A budget that was made larger in ε or in δ.
#[derive(Debug, Clone, PartialEq)]
pub struct RaisedBudget {
    /// When.
    pub time: String,
    /// The budget until then.
    pub from: Budget,
    /// The budget from then on.
    pub to: Budget,
}

impl RaisedBudget {
    /// The change in words.
    pub fn words(&self) -> String {
        let (from, to) = (self.from.words(), self.to.words());
        format!("{} the budget was raised from {from} to {to}", self.time)
    }
}

/// The part of the spending that rests on the word of others.
#[derive(Debug, Clone, PartialEq)]
pub struct Claims {
    /// The draws that other trainers claim; `None` if nothing is claimed any more.
    pub claimed: Option<Guarantee>,
    /// The draws made here; `None` if there are none.
    pub drawn_here: Option<Guarantee>,
    /// How many trainings claim it.
    pub trainers: usize,
    /// The number of trainings whose count the curator changed by hand.
    pub corrected: usize,
}

impl Claims {
    /// The words beside a total.
    pub fn words(&self) -> String {
        let epsilon = |it: &Guarantee| format!("ε {}", round_up(it.epsilon, 4));
        let says = match self.trainers {
            1 => "as its trainer says".to_owned(),
            many => format!("as the trainers of {many} trainings say"),
        };
        let parts = match (&self.drawn_here, &self.claimed) {
            (Some(here), Some(there)) => Some(format!(
                "each by itself: ε {} drawn here, {} drawn elsewhere, {says}",
                round_up(here.epsilon, 4),
                epsilon(there)
            )),
            (None, Some(_)) => Some(format!("all of it drawn elsewhere, {says}")),
            (_, None) => None,
        };
        let corrected = match self.corrected {
            0 => None,
            1 => Some("the claim of 1 training was changed by hand".to_owned()),
            many => Some(format!("the claims of {many} trainings were changed by hand")),
        };
        parts.into_iter().chain(corrected).collect::<Vec<_>>().join("; ")
    }
}

/// Something outside every guarantee that was done with the records.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unprotected {
    /// When it was noticed.
    pub time: String,
    /// What was, or may have been, computed.
    pub what: String,
}

/// The name of an account that does not exist yet.
const UNOPENED: &str = "new account";

impl Account {
    /// Whether the account can recognise these rows in other files.
    pub(super) fn has_sketch_of(&self, dataset: &DatasetRecord) -> bool {
        let mut known = self.datasets.iter().filter(|known| known.sketch.is_some());
        known.any(|known| known.has_rows_of(dataset))
    }

    /// The events of all runs (count = charged draws).
    pub fn charged_events(&self) -> Vec<Event> {
        self.runs.iter().flat_map(|run| counted(&run.charged_events())).collect()
    }

    /// The units that the spending runs protect: persons by these columns, or single records.
    pub fn units(&self) -> BTreeSet<Option<&str>> {
        let spent = self.runs.iter().filter(|run| run.has_spent());
        spent.map(|run| run.grant.unit.as_deref()).collect()
    }

    /// The unit that the totals protect, if it is not single records: `persons (by 'patient_id')`.
    pub fn protects(&self) -> Option<String> {
        let units = self.units();
        let only = units.first().copied().flatten().filter(|_| units.len() == 1);
        only.map(|unit| protected_words(Some(unit)))
    }

    /// A sentence if its runs protect different units.
    pub fn of_several_units(&self) -> Option<&'static str> {
        (self.units().len() > 1).then_some(
            "Some runs on these records protect persons and some protect single records, so the \
             total holds for single records only.",
        )
    }

    /// Whom its total protects, for others.
    pub fn whom(&self) -> String {
        let whom = self.protects().unwrap_or_else(|| "a single record".to_owned());
        match self.adjacency() {
            Adjacency::ReplaceOne => whom,
            Adjacency::ZeroOut => format!("{whom}, blanked and not replaced"),
        }
    }

    /// The δ at which its total is told: that of its budget, or else the largest one of its runs.
    pub fn delta(&self) -> f64 {
        let of_runs = self.runs.iter().map(|run| run.grant.target.delta).reduce(f64::max);
        let of_runs = of_runs.filter(|delta| *delta > 0.0);
        self.budget.map(|budget| budget.delta).or(of_runs).unwrap_or(1e-6)
    }

    /// ε spent so far at `delta`; `None` when nothing was spent.
    pub fn spent(&self, delta: f64) -> Result<Option<Guarantee>> {
        self.spent_with(&[], delta)
    }

    /// ε spent at `delta` by the first so many runs.
    pub fn spent_by_first(&self, runs: usize, delta: f64) -> Result<Option<Guarantee>> {
        let runs = self.runs.iter().take(runs).cloned().collect();
        Self { runs, ..self.clone() }.spent(delta)
    }

    /// ε spent at `delta` with the further events of each of these runs, which are added up as they
    /// will count.
    pub fn spent_with_each(&self, runs: &[Vec<Event>], delta: f64) -> Result<Option<Guarantee>> {
        let all = runs.concat();
        match runs.iter().filter(|events| !events.is_empty()).count() {
            0 | 1 => self.spent_with(&all, delta),
            _ => Ok(self.with_events(&all, 1)?.gate(delta).map(Some)?),
        }
    }

    /// ε spent at `delta` with these further events, as one more run.
    pub fn spent_with(&self, events: &[Event], delta: f64) -> Result<Option<Guarantee>> {
        self.spent_with_runs(events, 1, delta)
    }

    /// ε spent at `delta` with these further events in each of `runs` further runs.
    ///
    /// One run that draws its whole plan is fixed before any output was seen. A run that ended
    /// early may have ended because of its outputs, and later runs may have been chosen by the
    /// outputs of earlier ones: these add up in the gate's sum.
    pub fn spent_with_runs(
        &self,
        events: &[Event],
        runs: u64,
        delta: f64,
    ) -> Result<Option<Guarantee>> {
        let mut spending = self.runs.iter().filter(|run| run.has_spent());
        let further = if events.is_empty() { 0 } else { runs };
        match (spending.next(), spending.next(), further) {
            (None, _, 0) => Ok(None),
            (None, _, 1) => Ok(Composition::of(events)?.guarantee(delta).map(Some)?),
            (Some(only), None, 0) => only.spent(delta),
            _ => Ok(self.with_events(events, runs)?.gate(delta).map(Some)?),
        }
    }

    /// The parts of all spending that were drawn here and that other trainers claim. `None` if no
    /// trainer claims anything.
    pub fn claims(&self, delta: f64) -> Result<Option<Claims>> {
        let part = |is_claimed: bool| {
            let runs = self.runs.iter().filter(|run| run.is_claimed() == is_claimed);
            Self { runs: runs.cloned().collect(), ..self.clone() }.spent(delta)
        };
        let claims = || self.runs.iter().filter(|run| run.is_claimed());
        let corrected = claims().filter(|run| !run.corrections.is_empty()).count();
        let claimed = part(true)?;
        if claimed.is_none() && corrected == 0 {
            return Ok(None);
        }
        let trainers = claims().filter(|run| run.has_spent()).count();
        Ok(Some(Claims { claimed, drawn_here: part(false)?, trainers, corrected }))
    }

    /// The sum with these further events.
    pub(super) fn with_events(&self, events: &[Event], runs: u64) -> Result<Composition> {
        let mut all = self.charged_events();
        let times = |event: Event| Event { count: event.count.saturating_mul(runs), ..event };
        all.extend(counted(events).into_iter().map(times));
        Composition::of(&all)
    }

    /// A note beside every total: a sum of ε alone would look as if the rest had been free.
    pub fn beside_the_total(&self) -> Option<String> {
        if let Some(words) = self.of_several_units() {
            return Some(words.to_owned());
        }
        // Entries begin with the kind of look: `unprotected selection: …`.
        let what = |text: &str| text.split_once(": ").map_or(text, |(_, what)| what).to_owned();
        let looks = self.unprotected.iter().map(|it| (it.time.clone(), what(&it.what)));
        let seen = self.runs.iter().filter(|run| run.was_seen());
        let during = seen.map(|run| (run.time.clone(), format!("during run {}", run.grant.run.0)));
        let runs = during.clone().count();
        // Only when a run ends does the ledger learn whether its exact numbers were seen.
        let is_open = self.runs.iter().any(|run| run.state == RunState::Open);
        let Some((time, what)) = looks.chain(during).max() else {
            return is_open.then(|| "An open run may have shown exact numbers.".to_owned());
        };
        let times = match self.unprotected.len() + runs {
            1 => "once".to_owned(),
            many if runs > 0 && runs < many => format!("{many} times ({runs} during runs)"),
            many => format!("{many} times"),
        };
        // To the minute.
        let time = time.chars().take(16).collect::<String>().replace('T', " ");
        Some(format!(
            "Exact numbers were looked at {times}, which no ε covers; last on {time} (UTC): {what}.{}",
            if is_open { " An open run may add one." } else { "" }
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

    /// An account of which nothing was spent.
    pub(super) fn new(id: AccountId, datasets: Vec<DatasetRecord>, gaps: Vec<Gap>) -> Self {
        Self {
            id,
            former: Vec::new(),
            datasets,
            budget: None,
            replaced: None,
            of_session: Vec::new(),
            raised: Vec::new(),
            runs: Vec::new(),
            unprotected: Vec::new(),
            gaps,
            elsewhere: Vec::new(),
        }
    }

    /// An account that is not in the ledger yet, to preview its first run.
    pub fn unopened(dataset: &DatasetRecord, book: &Book) -> Self {
        let (id, datasets) = (AccountId(UNOPENED.to_owned()), vec![dataset.clone()]);
        let elsewhere = book.cards.charges(&datasets);
        Self { elsewhere, ..Self::new(id, datasets, book.gaps.clone()) }
    }

    /// What to say of it to the curator beside its total: the remark about this, what other ledgers
    /// charged, and what runs of earlier versions assume.
    pub fn remarks(&self, total: &Total) -> impl Iterator<Item = String> + use<> {
        let elsewhere = ChargedElsewhere::note(self);
        total.remark.clone().into_iter().chain(elsewhere).chain(self.by_place())
    }

    /// On which conditions its total holds: those of runs with one noise that drew something.
    pub fn conditions(&self) -> BTreeSet<SharedNoise> {
        let drew = self.runs.iter().filter(|run| run.has_spent());
        drew.filter_map(|run| run.grant.one_noise).collect()
    }

    /// What the guarantees of runs assume that chose rows by their place.
    pub fn by_place(&self) -> Option<String> {
        let by_place = |run: &&RunRecord| {
            run.claim.is_none()
                && run.grant.order == RowOrder::ByPlace
                && run.charged.iter().any(|count| *count > 0)
        };
        let runs = match self.runs.iter().filter(by_place).count() {
            0 => return None,
            1 => "1 run of an earlier version assumes".to_owned(),
            many => format!("{many} runs of earlier versions assume"),
        };
        Some(format!("{runs} that {ORDER_ASSUMED}"))
    }

    pub(super) fn is_unopened(&self) -> bool {
        self.id.0 == UNOPENED
    }

    /// Everything that makes its total incomplete, accepted or not, in the order of the lines.
    pub fn gaps(&self) -> &[Gap] {
        &self.gaps
    }

    /// Whether lines were lost and nobody has accepted this yet.
    pub fn unknown_past(&self) -> bool {
        self.gaps.iter().any(|gap| gap.hides_spending() && gap.accepted.is_none())
    }

    /// Whether something blocks further runs until it is accepted.
    pub fn waits_for_acceptance(&self) -> bool {
        self.gaps.iter().any(|gap| gap.accepted.is_none())
    }

    /// n: the largest number of records in any of its datasets, so that registering a small view
    /// does not change which δ is below 1/n.
    pub fn records(&self) -> u64 {
        self.datasets.iter().map(|dataset| dataset.rows).max().unwrap_or(0)
    }

    /// Takes in a new budget. A larger one stays noted.
    pub(super) fn set_budget(&mut self, time: &str, to: Budget) {
        if let Some(from) = self.budget.replace(to).filter(|from| !to.is_within(from)) {
            self.raised.push(RaisedBudget { time: time.to_owned(), from, to });
        }
    }

    pub(super) fn accept(&mut self, time: &str, why: &str) {
        for gap in self.gaps.iter_mut().filter(|gap| gap.accepted.is_none()) {
            gap.accepted = Some(Acceptance { time: time.to_owned(), why: why.to_owned() });
        }
    }

    /// The other account holds the same records: spends add up, the smaller budget binds.
    pub(super) fn absorb(&mut self, other: Self) {
        self.former.push(other.id);
        self.former.extend(other.former);
        self.datasets.extend(other.datasets);
        self.budget = match (self.budget, other.budget) {
            (Some(mine), Some(theirs)) => Some(Budget {
                epsilon: mine.epsilon.min(theirs.epsilon),
                delta: mine.delta.min(theirs.delta),
                allow_large_delta: mine.allow_large_delta && theirs.allow_large_delta,
            }),
            (mine, theirs) => mine.or(theirs),
        };
        self.raised.extend(other.raised);
        self.raised.sort_by(|a, b| a.time.cmp(&b.time));
        self.runs.extend(other.runs);
        self.runs.sort_by(|a, b| a.time.cmp(&b.time));
        self.unprotected.extend(other.unprotected);
        self.unprotected.sort_by(|a, b| a.time.cmp(&b.time));
        for gap in other.gaps {
            let same = |mine: &&mut Gap| (&mine.cause, &mine.noticed) == (&gap.cause, &gap.noticed);
            match self.gaps.iter_mut().find(same) {
                // Both must have accepted the gap.
                Some(mine) if gap.accepted.is_none() => mine.accepted = None,
                Some(_) => {}
                None => self.gaps.push(gap),
            }
        }
        let line = |gap: &Gap| gap.noticed.as_ref().map_or(u64::MAX, |(_, line)| *line);
        self.gaps.sort_by_key(line);
    }
}
