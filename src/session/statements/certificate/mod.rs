//! What others may be told about a run, and what they may not conclude.
//!
//! The certificate in a run directory also names the account and the line of the ledger, and what
//! the ledger knew of before: that is for the curator. [`Certificate::for_others`] makes the copy
//! that may leave. Everything in that copy is public or released. Its sentences are meant for lawyers and
//! statisticians: they say what was done, which comparison a probability is about, and what is not
//! promised.

pub(super) mod for_others;
mod registry;
mod start;
mod words;

use std::borrow::Cow;
use std::path::Path;
use std::sync::OnceLock;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use self::start::together;
pub use self::start::{Ancestor, DeclaredPublic, Lineage};
use self::words::{NOTHING_HOLDS, Past};
use crate::data::persons::protected_words;
use crate::error::{Doing as _, Error, Result};
use crate::evaluation::Scored;
use crate::files;
use crate::methods::{self, SourceWeight};
use crate::privacy::accountant::round_up;
use crate::privacy::ledger::{AccountId, LedgerLine, RowOrder, RunId, RunOutcome, sha256};
use crate::privacy::{Event, Guarantee, NoiseSource, Target};
use crate::store::RunDirectory;
pub use crate::store::standing::AccountStanding;

/// The form of the file. The first version had no number and none of the later fields. Since the
/// third one, `halflight verify` knows every sentence of `not_covered`.
const FORMAT: u32 = 3;

/// Facts about a run that has ended.
#[derive(Debug, Clone)]
pub struct Facts {
    pub run: RunId,
    pub account: AccountId,
    pub method: String,
    pub outcome: RunOutcome,
    /// Private training records, or persons.
    pub records: usize,
    /// The columns that identify the person of a row, where persons are protected.
    pub unit: Option<String>,
    pub target: Target,
    /// The guarantee of this run's draws.
    pub guarantee: Guarantee,
    pub mechanisms: Vec<Event>,
    pub peeked: bool,
    pub allow_large_delta: bool,
    pub noise: NoiseSource,
    /// What the model depends on that training started from.
    pub lineage: Option<Lineage>,
    pub taken_as_public: TakenAsPublic,
    pub standing: AccountStanding,
    /// The result that rehearsals on public data predicted.
    pub rehearsed: Option<String>,
    /// The released score of the model on held-out private records.
    pub score: Option<Scored>,
    /// What the records of several public datasets weigh in the model.
    pub source_weights: Vec<SourceWeight>,
    /// The candidates among which the model was chosen, and how.
    pub chosen: Option<Choice>,
    /// SHA-256 of the run's `model.ron`, if there is one.
    pub model: Option<String>,
    /// The other sites of a joint run.
    pub sites: Vec<String>,
    /// How many of the sites may put together what they know, if all have one noise.
    pub may_collude: Option<usize>,
}

/// A model that was chosen among several: the guarantee counts the training of all of them.
#[derive(Debug, Clone)]
pub struct Choice {
    pub chosen: CertifiedChoice,
    /// The methods of all candidates.
    pub methods: Vec<String>,
}

/// The result of a choice.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CertifiedChoice {
    /// One of the candidates; `None` if the choice ended early.
    pub winner: Option<String>,
    pub candidates: Vec<String>,
    /// Result of the choice in words.
    pub sentence: String,
}

/// Everything that a run takes as public. The guarantee does not hide it.
#[derive(Debug, Clone, Default)]
pub struct TakenAsPublic {
    /// Names of the public datasets.
    pub datasets: Vec<String>,
    /// The private dataset is a filtered part of its file.
    pub filtered: bool,
    /// If the number of private records is hidden, the number as which the dataset counts.
    pub records: Option<usize>,
    /// Explicit declarations of users, a sentence each.
    pub declared: Vec<String>,
    /// The plan's public predictor, in words.
    pub predictor: Option<String>,
}

impl TakenAsPublic {
    /// Everything that several runs on the same private data take as public.
    pub fn of_all(all: impl IntoIterator<Item = Self>) -> Self {
        let mut sum = Self::default();
        for one in all {
            sum.filtered |= one.filtered;
            sum.records = sum.records.or(one.records);
            sum.datasets.extend(one.datasets);
            sum.declared.extend(one.predictor.into_iter().chain(one.declared));
        }
        for list in [&mut sum.datasets, &mut sum.declared] {
            let mut known = std::collections::HashSet::new();
            list.retain(|it| known.insert(it.clone()));
        }
        sum
    }
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Certificate {
    #[serde(default = "first_format")]
    pub format: u32,
    pub halflight: Cow<'static, str>,
    /// SHA-256 of the program that made the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
    pub run: RunId,
    /// The account of the private dataset. In copies for others it has a random name: see
    /// [`Self::for_others`].
    pub account: AccountId,
    pub method: String,
    pub outcome: RunOutcome,
    pub records: usize,
    /// The protected unit: one record, or one person.
    #[serde(default = "unit")]
    pub unit: Cow<'static, str>,
    /// The columns that identify the person of a row, where persons are protected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub person: Option<String>,
    /// How the run chose among private rows at random. Without it, by an earlier version, the
    /// guarantee assumes something of the order of rows in the file.
    #[serde(default, skip_serializing_if = "RowOrder::is_by_place")]
    pub order: RowOrder,
    /// The requested target.
    pub target: Target,
    /// The guarantee of all noise on which the outputs depend: that of this run, and that of the
    /// runs on the same account from which its model started. `None` if the noise was not secret.
    pub guarantee: Option<Guarantee>,
    /// The guarantee of this run's own noise, if `guarantee` counts more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of_this_run: Option<Guarantee>,
    /// The guarantee as a sentence about probabilities.
    pub statement: String,
    /// The promises to the records of other accounts, a sentence for each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<String>,
    /// The meaning of the guarantee for somebody who tests whether a record was present.
    pub reading: String,
    pub covered: Vec<Cow<'static, str>>,
    pub not_covered: Vec<String>,
    /// Everything that the guarantee takes as public and does not hide.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub taken_as_public: Vec<String>,
    /// An assumption about the public data, if the method needs more than usual.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub assumption: Option<Cow<'static, str>>,
    /// The result that rehearsals on public data predicted for the method; not part of the promise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rehearsed: Option<String>,
    /// The released score of the model on private records that were held out of training.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<Scored>,
    /// What the records of several public datasets weigh in the model: released with it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub source_weights: Vec<SourceWeight>,
    /// The candidates among which the model was chosen, and how. The guarantee counts all of this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chosen: Option<CertifiedChoice>,
    /// The draws of this run.
    pub mechanisms: Vec<Event>,
    /// What the model depends on that training started from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<Lineage>,
    /// The other sites on whose records the model of a joint run depends.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub other_sites: Vec<String>,
    /// How many of the sites may put together what they know, if all have one noise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub may_collude: Option<usize>,
    pub accountant: Cow<'static, str>,
    /// Where to read why its releases are private: commands that show a page each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub proofs: Vec<String>,
    /// Whether the curator could see exact numbers during the run and may have acted on them.
    pub peeked: bool,
    pub allow_large_delta: bool,
    #[serde(default, skip_serializing_if = "NoiseSource::is_secret")]
    pub noise: NoiseSource,
    /// The line of the ledger that granted the run. Copies for others do not name it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ledger_line: Option<LedgerLine>,
    /// SHA-256 of `model.ron`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Certificate in the field names of the deployment registry that OpenDP and NIST propose.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub registry: Value,
}

fn first_format() -> u32 {
    1
}

fn unit() -> Cow<'static, str> {
    "record".into()
}

const ACCOUNTANT: &str =
    "halflight accountant 3: proven upper bounds, discretisation of the noise included";

const COVERED: [&str; 3] = [
    "the model and its files",
    "every number marked 'released' in events.jsonl",
    "whatever is computed from these and from data that do not depend on the private records",
];

const SCORE_COVERED: &str = "the score on private records that were held out of training";

/// File of the certificate in a run directory.
pub use crate::store::run_directory::CERTIFICATE as FILE;

impl Certificate {
    /// The certificate of a run directory; `None` for a run that has not ended.
    pub fn read(directory: &Path) -> Result<Option<Self>> {
        let path = directory.join(FILE);
        let text = std::fs::read(&path).if_there().doing("read the certificate", &path)?;
        let Some(text) = text else { return Ok(None) };
        serde_json::from_slice(&text).map(Some).map_err(|error| {
            Error::failed(format!("not a certificate of halflight: {error}"))
                .at(path.display().to_string())
                .cure("restore it from a copy; the ledger still has what the run spent")
        })
    }

    /// Writes the certificate into the directory of its run.
    pub fn keep(&self, run: &RunDirectory) -> Result<()> {
        files::write_private(&run.path().join(FILE), self.text()?.as_bytes())
    }

    /// The text of its file.
    pub fn text(&self) -> Result<String> {
        serde_json::to_string_pretty(self)
            .map(|text| text + "\n")
            .map_err(|error| Error::failed(format!("the certificate cannot be written: {error}")))
    }

    pub fn of(facts: Facts) -> Result<Self> {
        let Scope { guarantee, runs, anywhere, also } = Scope::of(&facts)?;
        let scored = facts.score.as_ref().is_some_and(|score| score.elsewhere.is_none());
        let covered = COVERED.into_iter().chain(scored.then_some(SCORE_COVERED));
        let (assumption, proofs) = of_methods(&facts)?;
        let (own, noise) = (facts.guarantee.clone(), facts.noise);
        let mut certificate = Self {
            format: FORMAT,
            halflight: env!("CARGO_PKG_VERSION").into(),
            program: program(),
            statement: words::statement(&guarantee, &facts, &runs, anywhere),
            reading: words::reading(&guarantee, &facts),
            also,
            covered: covered.map(Cow::Borrowed).collect(),
            not_covered: Vec::new(),
            taken_as_public: words::taken_as_public(&facts),
            assumption,
            registry: registry::entry(&facts, &guarantee),
            rehearsed: facts.rehearsed,
            score: facts.score,
            source_weights: facts.source_weights,
            chosen: facts.chosen.map(|it| it.chosen),
            unit: if facts.unit.is_some() { "person".into() } else { unit() },
            person: facts.unit,
            of_this_run: (guarantee != own).then(|| own.clone()),
            guarantee: Some(guarantee.clone()),
            run: facts.run,
            method: facts.method,
            outcome: facts.outcome,
            records: facts.records,
            order: RowOrder::Secret,
            target: facts.target,
            mechanisms: facts.mechanisms,
            start: facts.lineage,
            other_sites: facts.sites,
            may_collude: facts.may_collude,
            account: facts.account,
            accountant: ACCOUNTANT.into(),
            proofs,
            peeked: facts.peeked,
            allow_large_delta: facts.allow_large_delta,
            noise,
            ledger_line: facts.standing.line.clone(),
            model: facts.model,
        };
        // Accounts have their present names, so that readers see which runs count.
        for run in certificate.start.iter_mut().flat_map(|start| &mut start.runs) {
            if facts.standing.former.contains(&run.account) {
                run.account = certificate.account.clone();
            }
        }
        let past = Past::Told(&facts.standing);
        certificate.not_covered = certificate.limits(Some((guarantee.delta, own.epsilon)), &past);
        if let Some(seed) = noise.seed() {
            certificate.void(seed);
        }
        Ok(certificate)
    }

    /// Takes every promise out: whoever knows the seed of the noise can take the noise away.
    fn void(&mut self, seed: u64) {
        (self.guarantee, self.of_this_run, self.order) = (None, None, RowOrder::ByPlace);
        self.statement = words::void(seed, &words::whose(self.records, self.person.as_deref()));
        NOTHING_HOLDS.clone_into(&mut self.reading);
        (self.also, self.covered, self.source_weights) = (Vec::new(), Vec::new(), Vec::new());
        self.registry = Value::Null;
    }
}

/// The assumption about the public data for the methods that drew; and the pages of the guide about
/// them, scores and choices, and adding up.
fn of_methods(facts: &Facts) -> Result<(Option<Cow<'static, str>>, Vec<String>)> {
    let (mut said, mut pages) = (Vec::new(), Vec::new());
    let chosen = facts.chosen.iter().flat_map(|it| &it.methods);
    for method in std::iter::once(&facts.method).chain(chosen) {
        let spec = methods::method(method)?.spec();
        let if_started = facts.lineage.as_ref().and(spec.assumption_if_started);
        said.extend(if_started.or(spec.assumption).filter(|it| !said.contains(it)));
        pages.extend(Some(spec.proof()).filter(|it| !pages.contains(it)));
    }
    pages.extend(facts.chosen.as_ref().map(|_| "choices"));
    pages.extend(facts.score.as_ref().map(|_| "scores"));
    pages.push("accountant");
    let pages = pages.into_iter().map(|page| format!("halflight guide proofs/{page}"));
    Ok(((!said.is_empty()).then(|| said.join(" ").into()), pages.collect()))
}

/// The dependencies of a run's outputs, account by account.
struct Scope {
    /// The guarantee for the records of the run's own account.
    guarantee: Guarantee,
    /// The runs on that account that it counts, besides this one.
    runs: Vec<RunId>,
    /// Whether the guarantee holds wherever in the file a record is: not if one of these runs is of
    /// an earlier version.
    anywhere: bool,
    /// The promises to the records of the other accounts.
    also: Vec<String>,
}

impl Scope {
    fn of(facts: &Facts) -> Result<Self> {
        let ancestors = facts.lineage.iter().flat_map(|lineage| &lineage.runs);
        let is_own = |account: &AccountId| {
            *account == facts.account || facts.standing.former.contains(account)
        };
        let (own, other): (Vec<_>, Vec<_>) = ancestors.partition(|it| is_own(&it.account));
        if let Some(run) = own.iter().find(|run| run.person != facts.unit) {
            return Err(Error::refused(format!(
                "the starting model's run {} does not protect the same as this one: one protects \
                 persons, the other single records",
                run.run.0
            ))
            .cure("start from a model that was trained with the same `unit`"));
        }
        let delta = facts.guarantee.delta.max(facts.target.delta);
        let drawn: Vec<&[Event]> = own.iter().map(|run| run.mechanisms.as_slice()).collect();
        let drawn = [drawn, vec![&facts.mechanisms]].concat();
        let guarantee = if own.is_empty() {
            facts.guarantee.clone()
        } else {
            together(drawn.iter().copied(), delta)?
        };
        let mut also: Vec<String> = Vec::new();
        let mut accounts: Vec<&AccountId> = other.iter().map(|it| &it.account).collect();
        accounts.dedup();
        for account in accounts {
            let runs = other.iter().copied().filter(|it| it.account == *account);
            also.push(foreign(account, &runs.collect::<Vec<_>>(), &drawn, delta)?);
        }
        also.dedup();
        Ok(Self {
            guarantee,
            anywhere: own.iter().all(|it| it.order == RowOrder::Secret),
            runs: own.iter().map(|it| it.run.clone()).collect(),
            also,
        })
    }
}

/// The promise to the records of another account that the starting model has seen in these runs;
/// `own` is what was drawn from the run's own account.
fn foreign(
    account: &AccountId,
    runs: &[&Ancestor],
    own: &[&[Event]],
    delta: f64,
) -> Result<String> {
    let drawn = || runs.iter().map(|it| it.mechanisms.as_slice());
    let theirs = match runs {
        [only] => only.guarantee.clone(),
        _ => together(drawn(), delta)?,
    };
    let both = together(drawn().chain(own.iter().copied()), delta)?;
    let names: Vec<&str> = runs.iter().map(|it| it.run.0.as_str()).collect();
    let largest = runs.iter().max_by_key(|it| it.records);
    let records = largest.map_or(0, |it| it.records);
    let kind = protected_words(largest.and_then(|it| it.person.as_deref()));
    let numbers = |it: &Guarantee| {
        let (epsilon, neighbours) = (round_up(it.epsilon, 4), it.adjacency.words());
        format!("ε = {epsilon} and δ = {:e} ({neighbours})", it.delta)
    };
    Ok(format!(
        "The model builds on one that had learned from other private data: {records} {kind} \
         of account {}, in {}. Those {kind} are protected by (ε, δ)-differential privacy with {}. \
         Whoever has a record in both datasets, or if both are the same people's data, must add the \
         two up: {}.",
        account.0,
        names.join(" and "),
        numbers(&theirs),
        numbers(&both),
    ))
}

/// SHA-256 of the program that is running.
fn program() -> Option<String> {
    static PROGRAM: OnceLock<Option<String>> = OnceLock::new();
    let hash = || Some(sha256(&std::fs::read(std::env::current_exe().ok()?).ok()?));
    PROGRAM.get_or_init(hash).clone()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::privacy::Adjacency;

    pub(super) fn facts(epsilon: f64, delta: f64) -> Facts {
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
            outcome: RunOutcome::Finished,
            records: 1000,
            target: Target { epsilon: 1.0, delta },
            guarantee,
            mechanisms: Vec::new(),
            peeked: false,
            allow_large_delta: false,
            noise: NoiseSource::Secret,
            unit: None,
            lineage: None,
            taken_as_public: TakenAsPublic::default(),
            standing: AccountStanding::default(),
            rehearsed: None,
            model: None,
            sites: Vec::new(),
            may_collude: None,
            score: None,
            source_weights: Vec::new(),
            chosen: None,
        }
    }

    pub(super) fn certified(facts: Facts) -> Certificate {
        Certificate::of(facts).unwrap()
    }

    /// The certificate of a run with a known seed, as an earlier version wrote it.
    pub(crate) fn seeded() -> Certificate {
        let seeded = Facts { noise: NoiseSource::Seeded(7), ..facts(1.0, 1e-6) };
        Certificate { noise: NoiseSource::Secret, ..certified(seeded) }
    }

    #[test]
    fn noise_that_is_no_secret_voids_the_guarantee_in_words_and_in_numbers() {
        let seeded = Facts { noise: NoiseSource::Seeded(7), ..facts(1.0, 1e-6) };
        let certificate = certified(seeded);
        assert!(certificate.statement.starts_with("NO GUARANTEE. "), "{}", certificate.statement);
        assert!(certificate.statement.contains("the seed 7"));
        assert_eq!(serde_json::to_value(&certificate).unwrap()["noise"]["known_seed"], 7);
        assert!(certificate.guarantee.is_none() && certificate.covered.is_empty());
        assert!(!certificate.reading.contains("at most"));
        assert!(certified(facts(1.0, 1e-6)).guarantee.is_some());
    }

    #[test]
    fn the_statement_names_records_neighbours_and_both_numbers_rounded_up() {
        let text = certified(facts(2_f64.ln() + 1e-10, 1e-6)).statement;
        for part in ["1000 private", "any other record", "replace-one", "e^0.6932", "2.001", "1e-6"]
        {
            assert!(text.contains(part), "{part}: {text}");
        }
        let blank = Facts {
            guarantee: Guarantee { adjacency: Adjacency::ZeroOut, ..facts(1.0, 1e-6).guarantee },
            ..facts(1.0, 1e-6)
        };
        assert!(certified(blank).statement.contains("left blank"));
        assert!(certified(facts(40.0, 1e-6)).statement.contains("more than 10000"));
        assert!(certified(facts(0.0, 0.0)).statement.contains("drew nothing"));
    }

    #[test]
    fn a_certificate_for_persons_speaks_of_persons() {
        let of = |adjacency| Facts {
            unit: Some("patient".to_owned()),
            guarantee: Guarantee { adjacency, ..facts(1.0, 1e-6).guarantee },
            ..facts(1.0, 1e-6)
        };
        let certificate = certified(of(Adjacency::ReplaceOne));
        assert_eq!(
            (&*certificate.unit, certificate.person.as_deref()),
            ("person", Some("patient"))
        );
        for part in ["1000 persons (by 'patient')", "all records of one person", "person's records"]
        {
            assert!(certificate.statement.contains(part), "{part}: {}", certificate.statement);
        }
        assert!(certificate.reading.contains("a certain person"), "{}", certificate.reading);
        assert!(!certificate.not_covered.iter().any(|it| it.contains("several records")));
        assert!(certificate.not_covered[0].contains("several values of 'patient'"));
        assert_eq!(certificate.registry["privacy_loss"]["privacy_unit"], "person");
        assert!(certified(of(Adjacency::ZeroOut)).statement.contains("left blank"));
        let plain = certified(facts(1.0, 1e-6));
        assert_eq!((&*plain.unit, plain.person), ("record", None));
    }

    #[test]
    fn what_weakens_a_guarantee_is_said_and_only_then() {
        let list = |facts: Facts| certified(facts).not_covered.join("\n");
        let plain = list(facts(1.0, 1e-6));
        assert!(!plain.contains("peeked") && !plain.contains("1/n") && !plain.contains("prints"));
        assert!(plain.contains("several records") && plain.contains("non-private ranking"));
        let watched = list(Facts { peeked: true, ..facts(1.0, 1e-6) });
        assert!(watched.contains("(peeked)") && !watched.contains("stopped"), "{watched}");
        let stopped = Facts { peeked: true, outcome: RunOutcome::Stopped, ..facts(1.0, 1e-6) };
        assert!(list(stopped).contains("may have stopped it"));
        assert!(list(facts(1.0, 0.01)).contains("not below 1/n = 1.0e-3"));
        assert!(list(facts(2.4, 1e-6)).contains("what is proven for it is ε = 2.4"));
    }
}
