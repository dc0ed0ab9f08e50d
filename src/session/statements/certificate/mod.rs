//! What others may be told about a run, and what they may not conclude.
//!
//! The certificate in a run directory also names the account and the line of the ledger, and what
//! the ledger knew of before: that is for the curator. [`Certificate::for_others`] makes the copy
//! that may leave. Everything in that copy is public or released. Its sentences are meant for lawyers and
//! statisticians: they say what was done, which comparison a probability is about, and what is not
//! promised.

mod for_others;
mod registry;
mod start;

use std::borrow::Cow;
use std::path::Path;
use std::sync::OnceLock;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use self::start::together;
pub use self::start::{Ancestor, DeclaredPublic, Lineage};
use crate::data::persons::protected_words;
use crate::error::{Error, Result};
use crate::evaluation::Scored;
use crate::files;
use crate::methods::{self, SourceWeight};
use crate::privacy::accountant::round_up;
use crate::privacy::ledger::{AccountId, LedgerLine, RowOrder, RunId, RunOutcome, sha256};
use crate::privacy::{Adjacency, Event, Guarantee, NoiseSource, Target};
use crate::store::RunDirectory;
pub use crate::store::standing::AccountStanding;

/// The share of false alarms at which [`reading`] states how good a test can be.
const FALSE_ALARMS: f64 = 0.05;

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
    pub told: Option<Scored>,
    /// What the records of several public datasets weigh in the model.
    pub source_weights: Vec<SourceWeight>,
    /// The candidates among which the model was chosen, and how.
    pub chosen: Option<Choice>,
    /// SHA-256 of the run's `model.ron`, if there is one.
    pub model: Option<String>,
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
            sum.declared.extend(one.predictor);
            for (list, more) in
                [(&mut sum.datasets, one.datasets), (&mut sum.declared, one.declared)]
            {
                list.extend(more);
                let mut known = std::collections::HashSet::new();
                list.retain(|it| known.insert(it.clone()));
            }
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
        let insecure = facts.noise.seed();
        let statement = match insecure {
            Some(seed) => void(seed, &facts),
            None => statement(&guarantee, &facts, &runs, anywhere),
        };
        let former = facts.standing.former.clone();
        let past = Past::Told(&facts.standing);
        let not_covered = Limits::of_facts(&facts, &guarantee).sentences(&past);
        let assumption = assumption(&facts)?;
        let proofs = proofs(&facts)?;
        let registry = match insecure {
            Some(_) => Value::Null,
            None => registry::entry(&facts, &guarantee),
        };
        let reading = match insecure {
            Some(_) => NOTHING_HOLDS.to_owned(),
            None => reading(&guarantee, &facts),
        };
        Ok(Self {
            format: FORMAT,
            halflight: env!("CARGO_PKG_VERSION").into(),
            program: program(),
            statement,
            reading,
            also: if insecure.is_some() { Vec::new() } else { also },
            covered: match insecure {
                Some(_) => Vec::new(),
                None => COVERED
                    .into_iter()
                    .chain(own_score(&facts).map(|_| SCORE_COVERED))
                    .map(Cow::Borrowed)
                    .collect(),
            },
            not_covered,
            taken_as_public: taken_as_public(&facts),
            assumption,
            rehearsed: facts.rehearsed,
            score: facts.told,
            source_weights: if insecure.is_some() { Vec::new() } else { facts.source_weights },
            chosen: facts.chosen.map(|it| it.chosen),
            unit: if facts.unit.is_some() { "person".into() } else { unit() },
            person: facts.unit,
            of_this_run: (insecure.is_none() && guarantee != facts.guarantee)
                .then_some(facts.guarantee),
            guarantee: insecure.is_none().then_some(guarantee),
            run: facts.run,
            method: facts.method,
            outcome: facts.outcome,
            records: facts.records,
            order: if insecure.is_none() { RowOrder::Secret } else { RowOrder::ByPlace },
            target: facts.target,
            mechanisms: facts.mechanisms,
            start: facts.lineage.map(|lineage| under_one_name(lineage, &facts.account, &former)),
            account: facts.account,
            accountant: ACCOUNTANT.into(),
            proofs,
            peeked: facts.peeked,
            allow_large_delta: facts.allow_large_delta,
            noise: facts.noise,
            ledger_line: facts.standing.line,
            model: facts.model,
            registry,
        })
    }
}

/// The lineage with the account's present name in place of its former ones, so that readers see which
/// runs count.
fn under_one_name(mut lineage: Lineage, account: &AccountId, former: &[AccountId]) -> Lineage {
    for run in lineage.runs.iter_mut().filter(|run| former.contains(&run.account)) {
        run.account = account.clone();
    }
    lineage
}

/// The assumption about the public data for the methods that drew.
fn assumption(facts: &Facts) -> Result<Option<Cow<'static, str>>> {
    let chosen = facts.chosen.iter().flat_map(|it| &it.methods);
    let mut said: Vec<&'static str> = Vec::new();
    for method in std::iter::once(&facts.method).chain(chosen) {
        let spec = methods::method(method)?.spec();
        let if_started = facts.lineage.as_ref().and(spec.assumption_if_started);
        let assumption = if_started.or(spec.assumption);
        said.extend(assumption.filter(|it| !said.contains(it)));
    }
    Ok((!said.is_empty()).then(|| said.join(" ").into()))
}

/// A score that this run paid for.
fn own_score(facts: &Facts) -> Option<&Scored> {
    facts.told.as_ref().filter(|told| told.elsewhere.is_none())
}

/// The pages of the guide about the methods that drew, scores and choices, and adding up.
fn proofs(facts: &Facts) -> Result<Vec<String>> {
    let chosen = facts.chosen.iter().flat_map(|it| &it.methods);
    let mut pages: Vec<&str> = Vec::new();
    for method in std::iter::once(&facts.method).chain(chosen) {
        let page = methods::method(method)?.spec().proof();
        if !pages.contains(&page) {
            pages.push(page);
        }
    }
    pages.extend(facts.chosen.as_ref().map(|_| "choices"));
    pages.extend(facts.told.as_ref().map(|_| "scores"));
    pages.push("accountant");
    Ok(pages.into_iter().map(|page| format!("halflight guide proofs/{page}")).collect())
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
        let drawn = |runs: &[&Ancestor]| -> Vec<Vec<Event>> {
            runs.iter().map(|run| run.mechanisms.clone()).collect()
        };
        if let Some(run) = own.iter().find(|run| run.person != facts.unit) {
            return Err(Error::refused(format!(
                "the starting model's run {} does not protect the same as this one: one protects \
                 persons, the other single records",
                run.run.0
            ))
            .cure("start from a model that was trained with the same `unit`"));
        }
        let delta = facts.guarantee.delta.max(facts.target.delta);
        let guarantee = if own.is_empty() {
            facts.guarantee.clone()
        } else {
            let lists = drawn(&own);
            let all = lists.iter().map(Vec::as_slice).chain([facts.mechanisms.as_slice()]);
            together(all, delta)?
        };
        let mut also: Vec<String> = Vec::new();
        let mut accounts: Vec<&AccountId> = other.iter().map(|it| &it.account).collect();
        accounts.dedup();
        for account in accounts {
            let of_account: Vec<&Ancestor> =
                other.iter().copied().filter(|it| it.account == *account).collect();
            also.push(foreign(account, &of_account, facts, &drawn(&own), delta)?);
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

/// The promise to the records of another account that the starting model has seen.
fn foreign(
    account: &AccountId,
    runs: &[&Ancestor],
    facts: &Facts,
    own: &[Vec<Event>],
    delta: f64,
) -> Result<String> {
    let theirs = match runs {
        [only] => only.guarantee.clone(),
        several => together(several.iter().map(|it| it.mechanisms.as_slice()), delta)?,
    };
    let everything = runs.iter().map(|it| it.mechanisms.as_slice());
    let everything = everything.chain(own.iter().map(Vec::as_slice));
    let both = together(everything.chain([facts.mechanisms.as_slice()]), delta)?;
    let names: Vec<&str> = runs.iter().map(|it| it.run.0.as_str()).collect();
    let largest = runs.iter().max_by_key(|it| it.records);
    let records = largest.map_or(0, |it| it.records);
    let kind = protected_words(largest.and_then(|it| it.person.as_deref()));
    Ok(format!(
        "The model builds on one that had learned from other private data: {records} {kind} \
         of account {}, in {}. Those {kind} are protected by (ε, δ)-differential privacy with \
         ε = {} and δ = {:e} ({}). Whoever has a record in both datasets, or if both are the same \
         people's data, must add the two up: ε = {} and δ = {:e} ({}).",
        account.0,
        names.join(" and "),
        round_up(theirs.epsilon, 4),
        theirs.delta,
        theirs.adjacency.words(),
        round_up(both.epsilon, 4),
        both.delta,
        both.adjacency.words(),
    ))
}

/// SHA-256 of the program that is running.
fn program() -> Option<String> {
    static PROGRAM: OnceLock<Option<String>> = OnceLock::new();
    let hash = || Some(sha256(&std::fs::read(std::env::current_exe().ok()?).ok()?));
    PROGRAM.get_or_init(hash).clone()
}

fn taken_as_public(facts: &Facts) -> Vec<String> {
    let public = &facts.taken_as_public;
    let part = if public.filtered { ", and that its row filter left so many" } else { "" };
    let mut list = vec![
        public.records.map_or_else(
            || {
                let what = protected_words(facts.unit.as_deref());
                format!(
                    "that there are private {what}, how many of them train and how many are held \
                     out{part}"
                )
            },
            |records| number_is_hidden(records, facts.guarantee.adjacency),
        ),
        "the names and kinds of the columns, the classes, and every bound that was declared"
            .to_owned(),
    ];
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

const NOTHING_HOLDS: &str = "No bound holds for any test of who was among the records.";

/// The statement that a run with seeded noise guarantees nothing, because the seed reveals the
/// noise.
fn void(seed: u64, facts: &Facts) -> String {
    let whose = facts.whose();
    format!(
        "NO GUARANTEE. The noise of this run came from the seed {seed}, which was given on the \
         command line to find faults (--insecure-noise-seed): whoever knows or guesses it can \
         take the noise away. The outputs are as good as exact numbers about {whose}. Do not pass them on. The ledger charges the run all the same."
    )
}

impl Facts {
    /// The records that trained.
    fn whose(&self) -> String {
        let count = self.records;
        if self.unit.is_none() {
            return format!("{count} private training records");
        }
        let persons = protected_words(self.unit.as_deref());
        format!("all private training records of {count} {persons}")
    }
}

fn statement(guarantee: &Guarantee, facts: &Facts, earlier: &[RunId], anywhere: bool) -> String {
    let whose = facts.whose();
    let (exchange, one) = match (guarantee.adjacency, &facts.unit) {
        (Adjacency::ReplaceOne, None) => {
            ("one of them had been any other record instead", "record is")
        }
        (Adjacency::ZeroOut, None) => ("one of them had been left blank instead", "record is"),
        (Adjacency::ReplaceOne, Some(_)) => (
            "all records of one person had been those of any other person instead",
            "person's records are",
        ),
        (Adjacency::ZeroOut, Some(_)) => {
            ("all records of one person had been left blank instead", "person's records are")
        }
    };
    let public_only = methods::method(&facts.method).is_ok_and(|method| method.spec().public_only);
    if guarantee.epsilon == 0.0 {
        let how = if public_only { "The model was made from public data alone. " } else { "" };
        return format!(
            "{how}This run drew nothing from {whose}: its outputs would have been the same if \
             {exchange}."
        );
    }
    let Guarantee { epsilon, delta, .. } = guarantee;
    let (who, outputs) = if public_only {
        let who = "The model was made from public data alone, and only its score used private \
                   records: those that were held out.";
        (who.to_owned(), "its outputs".to_owned())
    } else if earlier.is_empty() {
        (format!("This run used {whose}."), "its outputs".to_owned())
    } else {
        let names: Vec<&str> = earlier.iter().map(|run| run.0.as_str()).collect();
        let names = names.join(" and ");
        (
            format!(
                "This run used {whose}, and its model builds on that of {names}, which used the \
                 same private data."
            ),
            format!("its outputs together with those of {names}"),
        )
    };
    let place = if anywhere { ", wherever in the file," } else { "" };
    format!(
        "{who} If {exchange}{place} and nothing else had \
         been different ({}), the probability of any set of {outputs} would have been at most \
         e^{} = {} times as large, plus {delta:e}; and the same holds the other way round. This \
         is (ε, δ)-differential privacy with ε = {} and δ = {delta:e}. It holds whatever that \
         {one} and whatever else anybody knows.",
        guarantee.adjacency.words(),
        round_up(*epsilon, 4),
        factor(*epsilon),
        round_up(*epsilon, 4),
    )
}

/// e^ε rounded up, as long as it is informative.
fn factor(epsilon: f64) -> String {
    // Two units in the last place for the error of exp.
    let factor = epsilon.exp() * (1.0 + 2.0 * f64::EPSILON);
    if factor < 1e4 { round_up(factor, 3) } else { "more than 10000".to_owned() }
}

fn reading(guarantee: &Guarantee, facts: &Facts) -> String {
    let power = round_up(100.0 * power(guarantee.epsilon, guarantee.delta), 1);
    let (others, one, it) = match facts.unit {
        None => ("all other records", "a certain record was among the data", "the record"),
        Some(_) => {
            ("the records of everybody else", "a certain person was among them", "the person")
        }
    };
    let its = if facts.unit.is_some() { "they were" } else { "it is" };
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

/// The facts of a certificate that decide what its guarantee does not cover.
struct Limits<'a> {
    /// The columns that identify the person of a row, where persons are protected.
    unit: Option<&'a str>,
    peeked: bool,
    outcome: RunOutcome,
    /// Exact numbers could be seen while a starting model was trained.
    start_peeked: bool,
    records: usize,
    /// The δ of the guarantee; `None` if there is no guarantee.
    delta: Option<f64>,
    /// The ε of the run's own noise; `None` if there is no guarantee.
    own: Option<f64>,
    /// The ε that was asked for.
    asked: f64,
}

/// What a certificate tells of its account's past.
enum Past<'a> {
    Told(&'a AccountStanding),
    /// In copies for others: what happened on the account depends on which data share it.
    Untold,
}

fn start_peeked(start: Option<&Lineage>) -> bool {
    start.iter().flat_map(|it| &it.runs).any(|run| run.peeked)
}

impl<'a> Limits<'a> {
    fn of_facts(facts: &'a Facts, guarantee: &Guarantee) -> Self {
        Self {
            unit: facts.unit.as_deref(),
            peeked: facts.peeked,
            outcome: facts.outcome,
            start_peeked: start_peeked(facts.lineage.as_ref()),
            records: facts.records,
            delta: Some(guarantee.delta),
            own: Some(facts.guarantee.epsilon),
            asked: facts.target.epsilon,
        }
    }

    fn of(it: &'a Certificate) -> Self {
        Self {
            unit: it.person.as_deref(),
            peeked: it.peeked,
            outcome: it.outcome,
            start_peeked: start_peeked(it.start.as_ref()),
            records: it.records,
            delta: it.guarantee.as_ref().map(|it| it.delta),
            own: it.of_this_run.as_ref().or(it.guarantee.as_ref()).map(|it| it.epsilon),
            asked: it.target.epsilon,
        }
    }

    /// The sentences. `halflight verify` has a list of its own to compare with.
    fn sentences(&self, past: &Past) -> Vec<String> {
        let mut list = vec![
            match self.unit {
                None => "a person with several records: k records of one person are protected at \
                         k·ε only, with a larger δ"
                    .to_owned(),
                Some(unit) => format!(
                    "a person who appears under several values of '{unit}': under k values they \
                     are protected at k·ε only, with a larger δ"
                ),
            },
            others(past),
            looks(past),
            "bounds, filters or category lists that somebody took from the private data by hand"
                .to_owned(),
            "what is true of the population and would be found without any single record"
                .to_owned(),
            "public data that depend on the private records, such as private rows in a public \
             file where they are less than a tenth of the smaller one, and whatever else is taken \
             as public"
                .to_owned(),
            "how long the run took, its memory, and access to the machine, its files or the screen"
                .to_owned(),
        ];
        if self.peeked {
            list.push(match self.outcome {
                RunOutcome::Finished => "anything decided because of exact numbers: the curator \
                                         could see them while the run worked (peeked)"
                    .to_owned(),
                _ => "the moment at which the run ended: the curator could see exact numbers and \
                      may have stopped it because of them (peeked)"
                    .to_owned(),
            });
        }
        if self.start_peeked {
            list.push(
                "anything decided because of exact numbers while the starting model was trained \
                 (peeked)"
                    .to_owned(),
            );
        }
        if let Past::Told(standing) = past {
            let gap = |gap: &String| {
                format!("what this account spent before, as far as it is unknown: {gap}")
            };
            list.extend(standing.gaps.iter().map(gap));
            list.extend(standing.elsewhere.clone());
        }
        let limit = 1.0 / self.records.max(1) as f64;
        if let Some(delta) = self.delta.filter(|delta| *delta >= limit) {
            list.push(format!(
                "everybody for certain: δ = {delta:e} is not below 1/n = {limit:.1e}, so \
                 publishing a few records outright would satisfy the statement too; it was allowed \
                 by name (allow_large_delta)"
            ));
        }
        if let Some(own) = self.own.filter(|own| *own > self.asked) {
            list.push(format!(
                "the ε = {} that was asked for: the noise is the one that a paper prints, and \
                 what is proven for it is ε = {}",
                self.asked,
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
    let known = match past {
        Past::Untold => {
            return format!(
                "{general}; whether there was such a look before this run is not told here, and \
                 the curator's own copy of the certificate says it"
            );
        }
        Past::Told(standing) => &standing.looks,
    };
    if known.is_empty() {
        return format!("{general}; before this run the ledger knew of no such look");
    }
    format!(
        "{general}; before this run the ledger knew of {}: {}",
        if known.len() == 1 {
            "one such look".to_owned()
        } else {
            format!("{} such looks", known.len())
        },
        known.join("; ")
    )
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

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
            told: None,
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
    fn the_power_of_a_test_is_its_false_alarms_without_a_leak_and_everything_without_noise() {
        assert!((power(0.0, 0.0) - FALSE_ALARMS).abs() < 1e-15);
        assert_eq!(power(800.0, 0.0), 1.0);
        // ε = ln 3: the steep line, 3·0.05; far beyond, 1 − e^{−ε}·0.95.
        assert!((power(3_f64.ln(), 0.0) - 0.15).abs() < 1e-12);
        assert!((power(5.0, 0.0) - (1.0 - (-5.0_f64).exp() * 0.95)).abs() < 1e-12);
        assert!(certified(facts(3_f64.ln(), 0.0)).reading.contains("at most 15.1 of 100"));
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
