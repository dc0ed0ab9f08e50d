//! The sentences of a certificate.

use super::{AccountStanding, Certificate, Facts};
use crate::data::persons::protected_words;
use crate::methods;
use crate::privacy::accountant::round_up;
use crate::privacy::ledger::{RunId, RunOutcome};
use crate::privacy::{Adjacency, Guarantee};

/// The share of false alarms at which [`reading`] states how good a test can be.
const FALSE_ALARMS: f64 = 0.05;

/// Everything that a run takes as public, in words.
pub fn taken_as_public(facts: &Facts) -> Vec<String> {
    let public = &facts.taken_as_public;
    let part = if public.filtered { ", and that its row filter left so many" } else { "" };
    let number = match public.records {
        Some(records) => number_is_hidden(records, facts.guarantee.adjacency),
        None => format!(
            "that there are private {}, how many of them train and how many are held out{part}",
            protected_words(facts.unit.as_deref())
        ),
    };
    let columns =
        "the names and kinds of the columns, the classes, and every bound that was declared";
    let mut list = vec![number, columns.to_owned()];
    if !public.datasets.is_empty() {
        let names: Vec<String> = public.datasets.iter().map(|name| format!("'{name}'")).collect();
        list.push(format!("the public data: {}", names.join(", ")));
    }
    if let Some(declared) = facts.lineage.as_ref().and_then(|it| it.declared_public.as_ref()) {
        list.push(format!(
            "the model that this one builds on, '{}' (SHA-256 {}): the user declared it public, \
             and nobody checked that. If it has seen private records, they have no protection here",
            declared.name, declared.sha256
        ));
    }
    list.extend(public.predictor.iter().chain(&public.declared).cloned());
    list
}

/// See [`crate::engine::count`] for the proof.
fn number_is_hidden(records: usize, adjacency: Adjacency) -> String {
    let hidden = format!(
        "the number {records}, and not how many private records there are: empty records fill the \
         dataset up to it, and of more some are left out by chance. So the guarantee holds for \
         adding or leaving out a record as well"
    );
    match adjacency {
        Adjacency::ReplaceOne => hidden,
        Adjacency::ZeroOut => format!(
            "{hidden}, as long as there are no more than {records} (a number that `halflight data \
             count` proposed is too small with probability 1e-10 at most: add that to δ)"
        ),
    }
}

pub const NOTHING_HOLDS: &str = "No bound holds for any test of who was among the records.";

/// The statement that a run with seeded noise guarantees nothing, because the seed reveals the
/// noise.
pub fn void(seed: u64, whose: &str) -> String {
    format!(
        "NO GUARANTEE. The noise of this run came from the seed {seed}, which was given on the \
         command line to find faults (--insecure-noise-seed): whoever knows or guesses it can \
         take the noise away. The outputs are as good as exact numbers about {whose}. Do not pass \
         them on. The ledger charges the run all the same."
    )
}

/// The records that trained.
pub fn whose(count: usize, unit: Option<&str>) -> String {
    if unit.is_none() {
        return format!("{count} private training records");
    }
    format!("all private training records of {count} {}", protected_words(unit))
}

/// The guarantee as a sentence about probabilities. `earlier` are the runs on the same account on
/// whose models this one builds; `anywhere`: it holds wherever in the file a record is.
pub fn statement(
    guarantee: &Guarantee,
    facts: &Facts,
    earlier: &[RunId],
    anywhere: bool,
) -> String {
    let whose = whose(facts.records, facts.unit.as_deref());
    let (one, mut others, is) = match facts.unit {
        None => ("one of them had been", "any other record", "record is"),
        Some(_) => (
            "all records of one person had been",
            "those of any other person",
            "person's records are",
        ),
    };
    if guarantee.adjacency == Adjacency::ZeroOut {
        others = "left blank";
    }
    let exchange = format!("{one} {others} instead");
    let public_only = methods::method(&facts.method).is_ok_and(|method| method.spec().public_only);
    if guarantee.epsilon == 0.0 {
        let how = if public_only { "The model was made from public data alone. " } else { "" };
        return format!(
            "{how}This run drew nothing from {whose}: its outputs would have been the same if \
             {exchange}."
        );
    }
    let names: Vec<&str> = earlier.iter().map(|run| run.0.as_str()).collect();
    let names = names.join(" and ");
    let (who, outputs) = if public_only {
        let who = "The model was made from public data alone, and only its score used private \
                   records: those that were held out.";
        (who.to_owned(), "its outputs".to_owned())
    } else if earlier.is_empty() {
        (format!("This run used {whose}."), "its outputs".to_owned())
    } else {
        let who = format!(
            "This run used {whose}, and its model builds on that of {names}, which used the same \
             private data."
        );
        (who, format!("its outputs together with those of {names}"))
    };
    let place = if anywhere { ", wherever in the file," } else { "" };
    let (epsilon, delta) = (round_up(guarantee.epsilon, 4), guarantee.delta);
    format!(
        "{who} If {exchange}{place} and nothing else had \
         been different ({}), the probability of any set of {outputs} would have been at most \
         e^{epsilon} = {} times as large, plus {delta:e}; and the same holds the other way round. \
         This is (ε, δ)-differential privacy with ε = {epsilon} and δ = {delta:e}. It holds \
         whatever that {is} and whatever else anybody knows.",
        guarantee.adjacency.words(),
        factor(guarantee.epsilon),
    )
}

/// e^ε rounded up, as long as it is informative.
fn factor(epsilon: f64) -> String {
    // Two units in the last place for the error of exp.
    let factor = epsilon.exp() * (1.0 + 2.0 * f64::EPSILON);
    if factor < 1e4 { round_up(factor, 3) } else { "more than 10000".to_owned() }
}

/// The meaning of the guarantee for somebody who tests whether a record was present.
pub fn reading(guarantee: &Guarantee, facts: &Facts) -> String {
    let power = round_up(100.0 * power(guarantee.epsilon, guarantee.delta), 1);
    let (others, one, it, its) = match facts.unit {
        None => ("all other records", "a certain record was among the data", "the record", "it is"),
        Some(_) => (
            "the records of everybody else",
            "a certain person was among them",
            "the person",
            "they were",
        ),
    };
    format!(
        "Somebody who knows {others} and sees the outputs tests whether {one}. A test that raises \
         a false alarm in 5 of 100 cases finds {it}, where {its} there, in at most {power} of 100 \
         cases."
    )
}

/// The best power of any test with [`FALSE_ALARMS`]: the smaller of the two lines that
/// (ε, δ) draws, α e^ε + δ and 1 − e^{−ε}(1 − δ − α).
fn power(epsilon: f64, delta: f64) -> f64 {
    let steep = FALSE_ALARMS * epsilon.exp() + delta;
    let flat = 1.0 - (-epsilon).exp() * (1.0 - delta - FALSE_ALARMS);
    steep.min(flat).clamp(0.0, 1.0)
}

/// What a certificate tells of its account's past.
pub enum Past<'a> {
    Told(&'a AccountStanding),
    /// In copies for others: what happened on the account depends on which data share it.
    Untold,
}

impl Certificate {
    /// What the guarantee does not cover, in words; `numbers` are the δ of the guarantee and the ε of
    /// the run's own noise. `halflight verify` has a list of its own to compare with.
    pub(super) fn limits(&self, numbers: Option<(f64, f64)>, past: &Past) -> Vec<String> {
        let persons = match &self.person {
            None => "a person with several records: k records of one person are protected at k·ε \
                     only, with a larger δ"
                .to_owned(),
            Some(unit) => format!(
                "a person who appears under several values of '{unit}': under k values they are \
                 protected at k·ε only, with a larger δ"
            ),
        };
        let always = [
            "bounds, filters or category lists that somebody took from the private data by hand",
            "what is true of the population and would be found without any single record",
            "public data that depend on the private records, such as private rows in a public file \
             where they are less than a tenth of the smaller one, and whatever else is taken as \
             public",
            "how long the run took, its memory, and access to the machine, its files or the screen",
        ];
        let peeked = match self.outcome {
            RunOutcome::Finished => {
                "anything decided because of exact numbers: the curator could see them while the \
                 run worked (peeked)"
            }
            _ => {
                "the moment at which the run ended: the curator could see exact numbers and may \
                 have stopped it because of them (peeked)"
            }
        };
        let start_peeked = "anything decided because of exact numbers while the starting model was \
                            trained (peeked)";
        let start = self.start.iter().flat_map(|start| &start.runs).any(|run| run.peeked);
        let peeked = self.peeked.then_some(peeked).into_iter();
        let peeked = peeked.chain(start.then_some(start_peeked));
        let mut list = vec![persons, others(past), looks(past)];
        list.extend(always.into_iter().chain(peeked).map(str::to_owned));
        if !self.other_sites.is_empty() {
            list.push(format!(
                "the records of other sites, on which the model depends, too ({}): `joint.json` of the \
                 run says what holds for them",
                self.other_sites.join(", ")
            ));
        }
        if let Some(number) = self.may_collude {
            list.push(format!(
                "what more than {number} of the sites learn that put together what they know, or somebody who \
                 can compute the masks: all sites have one noise, and `joint.json` says what is left then"
            ));
        }
        if let Past::Told(standing) = past {
            let gap = |gap: &String| {
                format!("what this account spent before, as far as it is unknown: {gap}")
            };
            list.extend(standing.gaps.iter().map(gap));
            list.extend(standing.elsewhere.clone());
        }
        let Some((delta, own)) = numbers else { return list };
        let limit = 1.0 / self.records.max(1) as f64;
        if delta >= limit {
            list.push(format!(
                "everybody for certain: δ = {delta:e} is not below 1/n = {limit:.1e}, so \
                 publishing a few records outright would satisfy the statement too; it was allowed \
                 by name (allow_large_delta)"
            ));
        }
        let asked = self.target.epsilon;
        if own > asked {
            list.push(format!(
                "the ε = {asked} that was asked for: the noise is the one that a paper prints, and \
                 what is proven for it is ε = {}",
                round_up(own, 4)
            ));
        }
        list
    }
}

/// Other spending on the same records.
fn others(past: &Past) -> String {
    let general = "what other runs and releases on the same data add: they compose, and the \
                   ledger of the workspace has the sum";
    match past {
        Past::Told(AccountStanding { claims, .. }) if !claims.is_empty() => format!(
            "{general}; before this run other trainers claimed to have drawn from them: {}",
            claims.join("; ")
        ),
        _ => general.to_owned(),
    }
}

/// Decisions that no noise covers; those in the ledger by name.
fn looks(past: &Past) -> String {
    let general = "the choice of this run, its settings or its public data by looking at the \
                   private data without a released number (non-private ranking, tuning on exact \
                   numbers)";
    let Past::Told(AccountStanding { looks, .. }) = past else {
        return format!(
            "{general}; this copy does not say whether there were earlier looks of this kind: the \
             curator's own copy lists them. Where a report shows a ranking of the public data, one by \
             exact numbers was such a look, and one whose numbers were released with noise was not"
        );
    };
    let known = match looks.len() {
        0 => return format!("{general}; before this run the ledger knew of no such look"),
        1 => "one such look".to_owned(),
        many => format!("{many} such looks"),
    };
    format!("{general}; before this run the ledger knew of {known}: {}", looks.join("; "))
}

#[cfg(test)]
mod tests {
    use super::super::tests::{certified, facts};
    use super::*;

    #[test]
    fn the_power_of_a_test_is_its_false_alarms_without_a_leak_and_everything_without_noise() {
        assert!((power(0.0, 0.0) - FALSE_ALARMS).abs() < 1e-15);
        assert_eq!(power(800.0, 0.0), 1.0);
        // ε = ln 3: the steep line, 3·0.05; far beyond, 1 − e^{−ε}·0.95.
        assert!((power(3_f64.ln(), 0.0) - 0.15).abs() < 1e-12);
        assert!((power(5.0, 0.0) - (1.0 - (-5.0_f64).exp() * 0.95)).abs() < 1e-12);
        assert!(certified(facts(3_f64.ln(), 0.0)).reading.contains("at most 15.1 of 100"));
    }
}
