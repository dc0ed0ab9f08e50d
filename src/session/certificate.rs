//! What the outside may be told about a run, and what it may not conclude.
//!
//! Everything in a certificate is public or released. Its sentences are meant to be
//! read by a lawyer and by a statistician: each says what was done, to which
//! comparison a probability belongs, and what is promised to nobody.

use std::borrow::Cow;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::adapt;
use crate::error::{Error, Result};
use crate::privacy::accountant::round_up;
use crate::privacy::ledger::{AccountId, Outcome, RunId};
use crate::privacy::{Adjacency, Event, Guarantee, Target};

/// The share of false alarms at which [`reading`] says how good a test can be.
const FALSE_ALARMS: f64 = 0.05;

/// What is known of a run when it has ended.
#[derive(Debug, Clone)]
pub struct Facts {
    pub run: RunId,
    pub account: AccountId,
    pub method: String,
    pub outcome: Outcome,
    /// Private training records.
    pub records: usize,
    pub target: Target,
    /// Of what was drawn.
    pub guarantee: Guarantee,
    pub mechanisms: Vec<Event>,
    pub peeked: bool,
    pub allow_large_delta: bool,
    /// The noise came from this seed and is no secret.
    pub insecure_noise_seed: Option<u64>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Certificate {
    pub halflight: Cow<'static, str>,
    pub run: RunId,
    /// Random name of the private dataset; its fingerprint would be a leak.
    pub account: AccountId,
    pub method: String,
    pub outcome: Outcome,
    pub records: usize,
    /// What was asked for.
    pub target: Target,
    /// What the noise that was drawn guarantees; nothing where it was no secret.
    pub guarantee: Option<Guarantee>,
    /// The guarantee as a sentence about probabilities.
    pub statement: String,
    /// What it means for somebody who tests whether a record was there.
    pub reading: String,
    pub covered: Vec<Cow<'static, str>>,
    pub not_covered: Vec<String>,
    /// What must be true of the public data, where the method leans on more than usual.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub assumption: Option<Cow<'static, str>>,
    pub mechanisms: Vec<Event>,
    pub accountant: Cow<'static, str>,
    /// The curator could see exact numbers while it ran and may have acted on them.
    pub peeked: bool,
    pub allow_large_delta: bool,
}

const ACCOUNTANT: &str =
    "halflight accountant 2: proven upper bounds, discretisation of the noise included";

const COVERED: [&str; 3] = [
    "the model and its files",
    "every number marked 'released' in events.jsonl",
    "whatever is computed from these and from data that do not depend on the private records",
];

/// Where it stands in a run directory.
pub const FILE: &str = "certificate.json";

impl Certificate {
    /// The certificate of a run directory; `None` of a run that has not ended.
    pub fn read(directory: &Path) -> Result<Option<Self>> {
        let path = directory.join(FILE);
        let text = match std::fs::read(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(Error::io("read the certificate", &path, &error)),
        };
        serde_json::from_slice(&text).map(Some).map_err(|error| {
            Error::failed(format!("not a certificate of halflight: {error}"))
                .at(path.display().to_string())
                .cure("restore it from a copy; the ledger still has what the run spent")
        })
    }

    pub fn of(facts: Facts) -> Self {
        Self {
            halflight: env!("CARGO_PKG_VERSION").into(),
            statement: facts.insecure_noise_seed.map_or_else(
                || statement(&facts.guarantee, facts.records),
                |seed| void(seed, facts.records),
            ),
            reading: facts
                .insecure_noise_seed
                .map_or_else(|| reading(&facts.guarantee), |_| NOTHING_HOLDS.to_owned()),
            covered: facts
                .insecure_noise_seed
                .map_or_else(|| COVERED.map(Cow::Borrowed).to_vec(), |_| Vec::new()),
            not_covered: not_covered(&facts),
            assumption: adapt::method(&facts.method)
                .ok()
                .and_then(adapt::Method::assumption)
                .map(Cow::Borrowed),
            run: facts.run,
            account: facts.account,
            method: facts.method,
            outcome: facts.outcome,
            records: facts.records,
            target: facts.target,
            guarantee: facts.insecure_noise_seed.is_none().then_some(facts.guarantee),
            mechanisms: facts.mechanisms,
            accountant: ACCOUNTANT.into(),
            peeked: facts.peeked,
            allow_large_delta: facts.allow_large_delta,
        }
    }
}

const NOTHING_HOLDS: &str = "No bound holds for any test of who was among the records.";

/// Whoever knows the seed can take the noise away again.
fn void(seed: u64, records: usize) -> String {
    format!(
        "NO GUARANTEE. The noise of this run came from the seed {seed}, which was given on the \
         command line to find faults (--insecure-noise-seed): whoever knows or guesses it can \
         take the noise away. The outputs are as good as exact numbers about {records} private \
         training records. Do not pass them on. The ledger charges the run all the same."
    )
}

fn statement(guarantee: &Guarantee, records: usize) -> String {
    let exchange = match guarantee.adjacency {
        Adjacency::ReplaceOne => "one of them had been any other record instead",
        Adjacency::ZeroOut => "one of them had been left blank instead",
    };
    if guarantee.epsilon == 0.0 {
        return format!(
            "This run drew nothing from its {records} private training records: its outputs \
             would have been the same if {exchange}."
        );
    }
    let Guarantee { epsilon, delta, .. } = guarantee;
    format!(
        "This run used {records} private training records. If {exchange} and nothing else had \
         been different ({}), the probability of any set of its outputs would have been at most \
         e^{} = {} times as large, plus {delta:e}; and the same holds the other way round. This \
         is (ε, δ)-differential privacy with ε = {} and δ = {delta:e}. It holds whatever that \
         record is and whatever else anybody knows.",
        guarantee.adjacency.words(),
        round_up(*epsilon, 4),
        factor(*epsilon),
        round_up(*epsilon, 4),
    )
}

/// e^ε rounded up, as long as that says anything.
fn factor(epsilon: f64) -> String {
    // Two units in the last place for the error of exp.
    let factor = epsilon.exp() * (1.0 + 2.0 * f64::EPSILON);
    if factor < 1e4 { round_up(factor, 3) } else { "more than 10000".to_owned() }
}

fn reading(guarantee: &Guarantee) -> String {
    let power = round_up(100.0 * power(guarantee.epsilon, guarantee.delta), 1);
    format!(
        "Somebody who knows all other records and sees the outputs tests whether a certain \
         record was among the data. A test that raises a false alarm in 5 of 100 cases finds the \
         record, where it is there, in at most {power} of 100 cases."
    )
}

/// The best power of any test with [`FALSE_ALARMS`]: the smaller of the two lines that
/// (ε, δ) draws, α e^ε + δ and 1 − e^{−ε}(1 − δ − α).
fn power(epsilon: f64, delta: f64) -> f64 {
    let steep = FALSE_ALARMS * epsilon.exp() + delta;
    let flat = 1.0 - (-epsilon).exp() * (1.0 - delta - FALSE_ALARMS);
    steep.min(flat).clamp(0.0, 1.0)
}

fn not_covered(facts: &Facts) -> Vec<String> {
    let mut list = vec![
        "a person with several records: k records of one person are protected at k·ε only, \
         with a larger δ"
            .to_owned(),
        "what other runs and releases on the same data add: they compose, and the ledger of the \
         workspace has the sum"
            .to_owned(),
        "the choice of this run, its settings or its public data by looking at the private data \
         without a released number (non-private ranking, tuning on exact numbers)"
            .to_owned(),
        "bounds, filters or category lists that somebody took from the private data by hand"
            .to_owned(),
        "what is true of the population and would be found without any single record".to_owned(),
        "public data that depend on the private records".to_owned(),
        "how long the run took, its memory, and access to the machine, its files or the screen"
            .to_owned(),
    ];
    if facts.peeked {
        list.push(match facts.outcome {
            Outcome::Finished => "anything decided because of exact numbers: the curator could \
                                  see them while the run worked (peeked)"
                .to_owned(),
            _ => "the moment at which the run ended: the curator could see exact numbers and may \
                  have stopped it because of them (peeked)"
                .to_owned(),
        });
    }
    let limit = 1.0 / facts.records.max(1) as f64;
    if facts.guarantee.delta >= limit {
        list.push(format!(
            "every single record: δ = {:e} is not below 1/n = {limit:.1e}, so publishing a few \
             records outright would satisfy the statement too; it was allowed by name \
             (allow_large_delta)",
            facts.guarantee.delta
        ));
    }
    if facts.guarantee.epsilon > facts.target.epsilon {
        list.push(format!(
            "the ε = {} that was asked for: the noise is the one that a paper prints, and what \
             is proven for it is ε = {}",
            facts.target.epsilon,
            round_up(facts.guarantee.epsilon, 4)
        ));
    }
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(epsilon: f64, delta: f64) -> Facts {
        let guarantee = Guarantee {
            epsilon,
            epsilon_lower: epsilon,
            delta,
            adjacency: Adjacency::ReplaceOne,
            covers: crate::privacy::accountant::Coverage::FixedPlan,
            bound: String::new(),
        };
        Facts {
            run: RunId("run".into()),
            account: AccountId("acc-1".into()),
            method: "moment_release".into(),
            outcome: Outcome::Finished,
            records: 1000,
            target: Target { epsilon: 1.0, delta },
            guarantee,
            mechanisms: Vec::new(),
            peeked: false,
            allow_large_delta: false,
            insecure_noise_seed: None,
        }
    }

    #[test]
    fn noise_that_is_no_secret_voids_the_guarantee_in_words_and_in_numbers() {
        let seeded = Facts { insecure_noise_seed: Some(7), ..facts(1.0, 1e-6) };
        let certificate = Certificate::of(seeded);
        assert!(certificate.statement.starts_with("NO GUARANTEE. "), "{}", certificate.statement);
        assert!(certificate.statement.contains("the seed 7"));
        assert!(certificate.guarantee.is_none() && certificate.covered.is_empty());
        assert!(!certificate.reading.contains("at most"));
        assert!(Certificate::of(facts(1.0, 1e-6)).guarantee.is_some());
    }

    #[test]
    fn the_statement_names_records_neighbours_and_both_numbers_rounded_up() {
        let text = Certificate::of(facts(2_f64.ln() + 1e-10, 1e-6)).statement;
        for part in ["1000 private", "any other record", "replace-one", "e^0.6932", "2.001", "1e-6"]
        {
            assert!(text.contains(part), "{part}: {text}");
        }
        let blank = Facts {
            guarantee: Guarantee { adjacency: Adjacency::ZeroOut, ..facts(1.0, 1e-6).guarantee },
            ..facts(1.0, 1e-6)
        };
        assert!(Certificate::of(blank).statement.contains("left blank"));
        assert!(Certificate::of(facts(40.0, 1e-6)).statement.contains("more than 10000"));
        assert!(Certificate::of(facts(0.0, 0.0)).statement.contains("drew nothing"));
    }

    #[test]
    fn the_power_of_a_test_is_its_false_alarms_without_a_leak_and_everything_without_noise() {
        assert!((power(0.0, 0.0) - FALSE_ALARMS).abs() < 1e-15);
        assert_eq!(power(800.0, 0.0), 1.0);
        // ε = ln 3: the steep line, 3·0.05; far beyond, 1 − e^{−ε}·0.95.
        assert!((power(3_f64.ln(), 0.0) - 0.15).abs() < 1e-12);
        assert!((power(5.0, 0.0) - (1.0 - (-5.0_f64).exp() * 0.95)).abs() < 1e-12);
        assert!(Certificate::of(facts(3_f64.ln(), 0.0)).reading.contains("at most 15.1 of 100"));
    }

    #[test]
    fn what_weakens_a_guarantee_is_said_and_only_then() {
        let list = |facts: Facts| Certificate::of(facts).not_covered.join("\n");
        let plain = list(facts(1.0, 1e-6));
        assert!(!plain.contains("peeked") && !plain.contains("1/n") && !plain.contains("prints"));
        assert!(plain.contains("several records") && plain.contains("non-private ranking"));
        let watched = list(Facts { peeked: true, ..facts(1.0, 1e-6) });
        assert!(watched.contains("(peeked)") && !watched.contains("stopped"), "{watched}");
        let stopped = Facts { peeked: true, outcome: Outcome::Stopped, ..facts(1.0, 1e-6) };
        assert!(list(stopped).contains("may have stopped it"));
        assert!(list(facts(1.0, 0.01)).contains("not below 1/n = 1.0e-3"));
        assert!(list(facts(2.4, 1e-6)).contains("what is proven for it is ε = 2.4"));
    }
}
