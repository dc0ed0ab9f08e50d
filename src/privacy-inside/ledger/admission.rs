//! Whether a run may be granted, and how much more would fit.

use super::account::Account;
use super::delta;
use super::entry::{Budget, Grant};
use crate::accountant::target::check_delta;
use crate::accountant::{Adjacency, Composition, Event, Target, counted, round_up};
use crate::error::{Action, Error, Result};

impl Account {
    /// The account as a session with this budget uses it. The smaller of both budgets holds: the
    /// session's replaces a larger one of the ledger, and is a second limit where neither is
    /// smaller in ε and in δ. A larger one of the session changes nothing.
    pub fn held_to(mut self, wanted: Option<&Budget>) -> Self {
        let Some(wanted) = wanted else { return self };
        match self.budget {
            None => self.budget = Some(*wanted),
            Some(known) if wanted.is_within(&known) && !known.is_within(wanted) => {
                self.replaced = self.replaced.or(Some(known));
                // Lowering a budget allows no large δ that was refused, and refuses none that was
                // allowed.
                let allow_large_delta = known.allow_large_delta;
                self.budget = Some(Budget { allow_large_delta, ..*wanted });
            }
            Some(_) => {}
        }
        self.of_session.push(*wanted);
        self
    }

    /// What to say if the session names another budget than the ledger has.
    pub fn other_budget(&self) -> Option<String> {
        let budget = self.budget?;
        let here = budget.words();
        if let Some(replaced) = &self.replaced {
            return Some(format!(
                "the session's budget holds, {here}, because it is smaller than that in the \
                 ledger, {}; a run writes it there",
                replaced.words()
            ));
        }
        let wanted = self.of_session.iter().find(|wanted| !wanted.is_within(&budget))?;
        let there = wanted.words();
        Some(if budget.is_within(wanted) {
            format!(
                "the budget in the ledger holds, {here}, not that of the session, {there}: only a \
                 change of the ledger raises it"
            )
        } else {
            format!(
                "two budgets hold, and all runs must fit into both: {here} in the ledger, and \
                 {there} in the session"
            )
        })
    }

    /// Every budget that holds: that of the ledger, and those of the session that say more.
    pub fn limits(&self) -> Vec<Budget> {
        let Some(budget) = self.budget else { return Vec::new() };
        let further = self.of_session.iter().filter(|wanted| !budget.is_within(wanted));
        std::iter::once(budget).chain(further.copied()).collect()
    }

    /// The first budget that is exceeded, with the ε that is spent at its δ.
    pub fn overspent(&self) -> Result<Option<(Budget, f64)>> {
        for limit in self.limits() {
            let spent = self.spent(limit.delta)?.map_or(0.0, |spent| spent.epsilon);
            // A sum in another order may differ in its last digits from the admitted one.
            if spent > limit.epsilon * (1.0 + 1e-9) {
                return Ok(Some((limit, spent)));
            }
        }
        Ok(None)
    }

    /// Refuses to resume a run whose grant does not fit into a budget that was lowered since.
    pub fn admit_open_run(&self) -> Result<()> {
        let Some((limit, spent)) = self.overspent()? else { return Ok(()) };
        Err(Error::refused(format!(
            "this run is not resumed, because its account exceeds {}: ε = {} is spent if open \
             runs are counted in full",
            self.limit_words(&limit),
            at_least(spent)
        ))
        .cure("settle the run, so that only what it announced counts; or raise the budget")
        .asking(self.raising(&limit)))
    }

    /// A limit in words that say where it is set.
    fn limit_words(&self, limit: &Budget) -> String {
        let whose = match (self.in_ledger(limit), self.in_session(limit)) {
            (true, false) => format!("the budget of account {}", self.id.0),
            (true, true) => format!("the budget of account {} and of the session", self.id.0),
            (false, _) if self.is_unopened() => "the session's budget".to_owned(),
            (false, _) => format!("the session's budget for account {}", self.id.0),
        };
        format!("{whose}, ε = {} at δ = {:e}", limit.epsilon, limit.delta)
    }

    /// The action that raises a limit, wherever it is set.
    fn raising(&self, limit: &Budget) -> Action {
        let account = self.in_ledger(limit).then(|| self.id.0.clone());
        Action::RaiseBudget { account, in_session: self.in_session(limit) }
    }

    fn in_ledger(&self, limit: &Budget) -> bool {
        self.replaced.is_none() && !self.is_unopened() && self.budget.as_ref() == Some(limit)
    }

    fn in_session(&self, limit: &Budget) -> bool {
        self.of_session.iter().any(|wanted| wanted.is_within(limit) && limit.is_within(wanted))
    }

    /// Would these further events stay within the budget, and within that of the session? The
    /// refusal names the numbers and the largest ε (at `target.delta`) that would still fit.
    pub fn admit(&self, events: &[Event], target: Target) -> Result<()> {
        if events.is_empty() {
            // A run that releases nothing asks nothing of a budget.
            return Ok(());
        }
        self.open_budget()?;
        let limits = self.limits();
        limits.iter().try_for_each(|limit| self.admit_within(limit, events, target))
    }

    fn admit_within(&self, budget: &Budget, events: &[Event], target: Target) -> Result<()> {
        // A quick bound is often enough: the best one takes long where δ is large.
        if self.charged_events().is_empty()
            && Composition::of(events)?.running(budget.delta)?.epsilon <= budget.epsilon
        {
            return Ok(());
        }
        let Some(all) = self.spent_with(events, budget.delta)? else { return Ok(()) };
        if all.epsilon <= budget.epsilon {
            return Ok(());
        }
        let spent = self.spent(budget.delta)?.map_or_else(
            || "nothing is spent so far".to_owned(),
            |spent| format!("ε = {} is spent so far", at_least(spent.epsilon)),
        );
        // This is for a run with Gaussian noise. A run that costs more, as with Laplace noise at a
        // small δ, only learns that there is room.
        let fitting = self.largest_epsilon(target.delta)?;
        let rough = fitting.is_some_and(|epsilon| epsilon >= target.epsilon);
        let (fits, cure) = match fitting.map(at_most).filter(|text| text != "0") {
            Some(_) if rough => (
                "a smaller ε may fit".to_owned(),
                format!("ask for less than ε = {}, or raise the budget", target.epsilon),
            ),
            Some(epsilon) => (
                format!(
                    "the largest ε of one more run at δ = {:e} that fits is {epsilon}",
                    target.delta
                ),
                format!("ask for ε = {epsilon} or less, or raise the budget"),
            ),
            None => (
                format!("no further run at δ = {:e} fits", target.delta),
                "raise the budget, which weakens the promise made to the people in the data"
                    .to_owned(),
            ),
        };
        Err(Error::refused(format!(
            "this run (ε = {}, δ = {:e}) would overspend {}: {spent}, this run would make it ε = \
             {}; {fits}",
            target.epsilon,
            target.delta,
            self.limit_words(budget),
            at_least(all.epsilon),
        ))
        .cure(cure)
        .asking(self.raising(budget)))
    }

    /// Guarantees for persons and for single records do not add up: nobody knows how many records
    /// of a person earlier runs have used.
    pub fn check_unit(&self, unit: Option<&str>) -> Result<()> {
        let words = |unit: Option<&str>| {
            unit.map_or("single records".to_owned(), |unit| format!("persons, by '{unit}'"))
        };
        let known = self.units();
        let several = known.len() > 1;
        let Some(other) = known.into_iter().find(|known| *known != unit) else { return Ok(()) };
        let cure = match (other, unit) {
            _ if several => {
                "it has runs of both kinds, because two accounts turned out to have the \
                             same records: nothing can be added to either. Train on data of other \
                             people"
                    .to_owned()
            }
            (Some(other), _) => {
                format!("protect the same: `unit: \"{other}\"` on the private dataset")
            }
            (None, _) => "protect persons from the first run on: earlier runs cannot be turned \
                          into guarantees for persons. Leave `unit` out to continue with single \
                          records, and then tell everybody who gets the model"
                .to_owned(),
        };
        Err(Error::refused(format!(
            "this run protects {}, and what account {} has spent protects {}: the two do not add \
             up",
            words(unit),
            self.id.0,
            words(other)
        ))
        .cure(cure))
    }

    /// Whether all of these runs together fit. None of them is chosen by the outputs of another,
    /// but they are added up as if they were, because this is how they will count.
    pub fn admit_all(&self, grants: &[Grant]) -> Result<()> {
        let drawing = grants.iter().filter(|grant| !grant.events.is_empty());
        for grant in drawing.clone() {
            self.check_unit(grant.unit.as_deref())?;
        }
        if drawing.count() == 0 {
            return Ok(());
        }
        if let [only] = grants {
            return self.admit(&only.events, only.target);
        }
        self.open_budget()?;
        self.limits().iter().try_for_each(|limit| self.admit_all_within(limit, grants))
    }

    fn admit_all_within(&self, budget: &Budget, grants: &[Grant]) -> Result<()> {
        let total = |grants: &[Grant]| -> Result<f64> {
            let events: Vec<Event> = grants.iter().flat_map(|it| counted(&it.events)).collect();
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
            "these {} runs together would overspend {}: everything spent and they come to ε = \
             {}; {left}",
            grants.len(),
            self.limit_words(budget),
            at_least(all)
        ))
        .cure("ask for fewer runs or a smaller ε in each, or raise the budget")
        .asking(self.raising(budget)))
    }

    /// Refuses if nothing may be spent at all.
    fn open_budget(&self) -> Result<()> {
        let id = &self.id.0;
        if let Some(gap) = self.gaps().iter().find(|gap| gap.accepted.is_none()) {
            let (what, go_on) = if gap.hides_spending() {
                ("the past of this account is unknown", "accept the unknown past")
            } else {
                ("this account has no total", "go on without a total")
            };
            return Err(Error::refused(format!("{what} ({id}): {}", gap.missing()))
                .cure(go_on)
                .asking(Action::Accept { account: id.clone() }));
        }
        let budget = self.budget.ok_or_else(|| {
            let account = (!self.is_unopened()).then(|| id.clone());
            let what = match &account {
                Some(id) => format!("account {id} has no budget"),
                None => "this dataset has no budget yet".to_owned(),
            };
            Error::refused(what).cure("set one").asking(Action::SetBudget { account })
        })?;
        self.check_budget(&budget)
    }

    /// The reason why nothing is granted at all, if there is one.
    pub fn closed(&self) -> Option<Error> {
        self.open_budget().err()
    }

    /// A warning for every place that shows a budget with a large δ.
    pub fn large_delta(&self) -> Option<String> {
        let budget = self.budget?;
        let large = delta::is_large(budget.delta, self.records());
        large.then(|| {
            if budget.allow_large_delta {
                return delta::warning(budget.delta, self.records());
            }
            format!(
                "the budget's δ = {} is not below 1/n = {:.2e}: nothing is granted until it is \
                 set again, or allowed by name",
                budget.delta,
                delta::limit(self.records())
            )
        })
    }

    /// Refuses a δ at which a budget protects nobody, unless it was explicitly allowed.
    pub fn check_budget(&self, budget: &Budget) -> Result<()> {
        if budget.allow_large_delta {
            return Ok(());
        }
        let whose = format!("account {}, whose budget it is for", self.id.0);
        let allow = "allow it by name (every certificate will say so)";
        delta::check(budget.delta, self.records(), &whose, allow).map_err(|error| {
            error.asking(Action::AllowDelta {
                account: self.id.0.clone(),
                budget: format!("{} {}", budget.epsilon, budget.delta),
            })
        })
    }

    /// Largest per-run ε at `delta` that the rest of the budget, and of the session's, admits as
    /// one more Gaussian run; 0 when nothing is left, `None` without a budget.
    pub fn largest_epsilon(&self, delta: f64) -> Result<Option<f64>> {
        check_delta(delta)?;
        let mut largest: Option<f64> = None;
        for limit in self.limits() {
            let within = self.largest_within(&limit, delta)?;
            largest = Some(largest.map_or(within, |other| other.min(within)));
        }
        Ok(largest)
    }

    fn largest_within(&self, budget: &Budget, delta: f64) -> Result<f64> {
        let events = self.charged_events();
        let spent = if events.is_empty() {
            Composition::gaussian(0.0, Adjacency::ReplaceOne)
        } else {
            Composition::of(&events)?
        };
        let fits = |mu: f64| -> Result<bool> {
            let all = spent.with_mu(mu);
            // The first run is fixed before any output was seen.
            let counts = if events.is_empty() {
                all.guarantee(budget.delta)?
            } else {
                all.gate(budget.delta)?
            };
            Ok(counts.epsilon <= budget.epsilon)
        };
        // `low` fits and `high` does not. The spending so far fits, or nothing more does.
        let (mut low, mut high) = (spent.mu, spent.mu.max(1e-6));
        if !events.is_empty() && !fits(low)? {
            return Ok(0.0);
        }
        while fits(high)? {
            low = high;
            high *= 2.0;
        }
        // Anything less counts as nothing.
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
            return Ok(0.0);
        }
        Ok(Composition::gaussian(mu, spent.adjacency).guarantee(delta)?.epsilon_lower)
    }
}

/// Enough decimals for three significant digits, and at least three.
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

/// Decimal text that is not larger; `0` if nothing is left.
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
    use super::super::Entry;
    use super::super::samples::{
        book, budget, damage, dataset, event, grant, one_account, put, run,
    };
    use super::*;
    use crate::accountant::{Allotment, Noise, PlannedRelease, QueryKind, calibrate};
    use crate::error::ErrorKind;

    #[test]
    fn without_a_budget_or_with_an_unknown_past_nothing_is_admitted() {
        let target = Target { epsilon: 0.1, delta: 1e-6 };
        let mut book = book([dataset("a", "/a.csv", "c", "v")]);
        let error = book.accounts[0].admit(&[event(0.01, 1)], target).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Refused);
        assert!(error.to_string().contains("no budget"));
        assert_eq!(error.action(), Some(&Action::SetBudget { account: Some("a".to_owned()) }));
        put(&mut book, budget("a", 1.0, 1e-5)).unwrap();
        assert!(book.accounts[0].admit(&[event(0.01, 1)], target).is_ok());
        put(&mut book, damage(2)).unwrap();
        let error = book.accounts[0].admit(&[event(0.01, 1)], target).unwrap_err();
        assert_eq!(error.action(), Some(&Action::Accept { account: "a".to_owned() }));
    }

    #[test]
    fn guarantees_for_persons_and_for_records_do_not_add_up() {
        let mut book = one_account(1.0, 1e-5);
        book.accounts[0].check_unit(Some("patient")).unwrap();
        put(&mut book, grant("r1", "a", vec![event(0.05, 1)])).unwrap();
        book.accounts[0].check_unit(None).unwrap();
        let error = book.accounts[0].check_unit(Some("patient")).unwrap_err();
        assert!(error.to_string().contains("protects persons, by 'patient'"), "{error}");
        book.accounts[0].runs[0].grant.unit = Some("patient".to_owned());
        book.accounts[0].check_unit(Some("patient")).unwrap();
        for other in [None, Some("ward")] {
            let error = book.accounts[0].check_unit(other).unwrap_err();
            assert!(error.cure_text().unwrap().contains("`unit: \"patient\"`"), "{error}");
        }
        // Accounts that were tied may have both.
        put(&mut book, grant("r2", "a", vec![event(0.05, 1)])).unwrap();
        for unit in [None, Some("patient")] {
            let error = book.accounts[0].check_unit(unit).unwrap_err();
            assert!(error.cure_text().unwrap().contains("runs of both kinds"), "{error}");
        }
        // Runs that drew nothing do not count.
        book.accounts[0].runs.truncate(1);
        book.accounts[0].runs[0].charged = vec![0];
        book.accounts[0].check_unit(None).unwrap();
    }

    #[test]
    fn what_is_admitted_is_what_composes_within_the_budget() {
        let mut book = one_account(1.0, 1e-5);
        let target = Target { epsilon: 0.5, delta: 1e-6 };
        let mut runs = 0;
        while book.accounts[0].admit(&[event(0.05, 4)], target).is_ok() {
            runs += 1;
            put(&mut book, grant(&format!("r{runs}"), "a", vec![event(0.05, 4)])).unwrap();
        }
        // A Gaussian of this mu is (1, 1e-5)-DP, and no larger one is.
        let limit = 0.268_054_f64;
        assert_eq!(runs, (limit * limit / (4.0 * 0.05 * 0.05)) as usize);
        assert!(book.accounts[0].spent(1e-5).unwrap().unwrap().epsilon <= 1.0);
    }

    #[test]
    fn of_two_budgets_the_smaller_holds_and_both_hold_if_neither_is_smaller() {
        let account = one_account(2.0, 1e-5).accounts.remove(0);
        let held = |epsilon, delta| account.clone().held_to(Some(&Budget::new(epsilon, delta)));
        for (wanted, holds) in [
            ((1.0, 1e-5), vec![(1.0, 1e-5)]),
            ((1.0, 1e-7), vec![(1.0, 1e-7)]),
            ((2.0, 1e-5), vec![(2.0, 1e-5)]),
            ((3.0, 1e-4), vec![(2.0, 1e-5)]),
            ((3.0, 1e-7), vec![(2.0, 1e-5), (3.0, 1e-7)]),
            ((1.0, 1e-4), vec![(2.0, 1e-5), (1.0, 1e-4)]),
        ] {
            let account = held(wanted.0, wanted.1);
            let limits: Vec<_> = account.limits().iter().map(|it| (it.epsilon, it.delta)).collect();
            assert_eq!(limits, holds);
            assert_eq!(account.other_budget().is_some(), wanted != (2.0, 1e-5), "{wanted:?}");
        }
        assert_eq!(account.clone().held_to(None), account);
        // A run of ε 1.5 at δ 1e-5 fits into each of these, or into one of them only.
        let event = [event(0.38, 1)];
        let target = Target { epsilon: 1.5, delta: 1e-5 };
        assert!(account.admit(&event, target).is_ok());
        for (epsilon, delta) in [(1.0, 1e-5), (1.5, 1e-9), (0.5, 1e-4), (f64::NAN, 1e-5)] {
            let account = held(epsilon, delta);
            let error = account.admit(&event, target).unwrap_err();
            assert!(error.to_string().contains("the session's budget"), "{error}");
            let action = Action::RaiseBudget { account: None, in_session: true };
            assert!(epsilon.is_nan() || error.action() == Some(&action), "{error:?}");
            let largest = account.largest_epsilon(1e-5).unwrap().unwrap();
            assert!(largest.is_nan() || largest < 1.5, "{largest}");
            let Entry::Grant(grant) = grant("r", "a", event.to_vec()) else { panic!() };
            let two = [grant.clone(), Grant { run: run("s"), ..grant }];
            assert!(account.admit_all(&two).is_err());
        }
    }

    /// A run by itself is a plan fixed in advance; several are added up by the gate, which gives a
    /// larger number.
    #[test]
    fn several_runs_are_admitted_by_the_sum_that_survives_adaptive_choices() {
        let minibatch = Event {
            mechanism: QueryKind::SampledSum { rate: 0.01 }.query(1.0, 4).with(Noise::ideal(1.5)),
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
        put(&mut between, grant("r", "a", events.to_vec())).unwrap();
        assert_eq!(between.accounts[0].spent(1e-5).unwrap().unwrap().epsilon, alone);
        assert!(between.accounts[0].admit(&events, target).is_err());

        let mut enough = one_account(gate.epsilon, 1e-5);
        put(&mut enough, grant("r", "a", events.to_vec())).unwrap();
        enough.accounts[0].admit(&events, target).unwrap();
        put(&mut enough, grant("s", "a", events.to_vec())).unwrap();
        assert_eq!(enough.accounts[0].spent(1e-5).unwrap(), Some(gate));
        // The rest of the budget, as one more Gaussian run.
        assert!(enough.accounts[0].largest_epsilon(1e-5).unwrap().unwrap() < 1e-3);
    }

    #[test]
    fn a_refusal_says_what_was_spent_and_what_would_fit() {
        let mut book = one_account(1.0, 1e-5);
        put(&mut book, grant("r", "a", vec![event(0.2, 1)])).unwrap();
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
        put(&mut book, grant("r", "a", vec![event(0.25, 1)])).unwrap();
        put(&mut book, budget("a", 0.5, 1e-5)).unwrap();
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
                put(&mut book, grant("r", "a", vec![event(mu, 1)])).unwrap();
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
                query: QueryKind::Gaussian.query(0.01, 50),
                count: 60,
                noise: Allotment::Share(1.0),
                adjacency: Adjacency::ReplaceOne,
                held_out: false,
            };
            calibrate(&[release], Target { epsilon, delta: 1e-5 }).unwrap()
        };
        let whole = one_account(1.0, 1e-5);
        let all = asked(1.0);
        whole.accounts[0].admit(all.events(), all.target()).unwrap();

        let mut half = one_account(1.0, 1e-5);
        put(&mut half, grant("r", "a", asked(0.5).events().to_vec())).unwrap();
        let account = &half.accounts[0];
        let fits = at_most(account.largest_epsilon(1e-5).unwrap().unwrap());
        let rest = asked(fits.parse().unwrap());
        account.admit(rest.events(), rest.target()).unwrap();
        let too_much = asked(fits.parse::<f64>().unwrap() + 0.002);
        assert!(account.admit(too_much.events(), too_much.target()).is_err());
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
