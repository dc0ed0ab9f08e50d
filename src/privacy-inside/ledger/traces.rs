//! What the run directories beside a ledger show about it.
//!
//! A run is granted before it has any results. So if a run directory has results but its run is not
//! in the ledger, or its certificate names a line that the ledger does not have, then lines were
//! lost: the ledger was rolled back, rewritten or replaced. So they were if the certificate of a
//! settled run states more draws than the ledger charges. The draws in such a certificate are the
//! least that was spent.

use std::collections::HashMap;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use serde::Deserialize;

use super::account::{RunRecord, RunState};
use super::book::Book;
use super::chain::ChainReading;
use super::entry::{
    AccountId, DatasetRecord, Entry, Grant, LedgerLine, RowOrder, RunId, SharedNoise,
};
use crate::accountant::{Event, Target};
use crate::error::{Doing, Result};
use crate::mechanism::NoiseSource;
use crate::transcript::MAGIC;

/// Without a thorough look, only this many of the newest certificates are compared with the lines:
/// each of them confirms every line before its own.
const NEWEST: usize = 3;

/// A run that shows that lines were lost.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Trace {
    pub run: RunId,
    pub why: String,
    /// The least that was spent, if there is a certificate.
    proof: Option<Proof>,
}

#[derive(Debug, Clone, PartialEq)]
struct Proof {
    grant: Grant,
    dataset: Option<DatasetRecord>,
}

/// The part of a certificate that the ledger needs.
#[derive(Deserialize)]
struct Certified {
    account: AccountId,
    method: String,
    target: Target,
    statement: String,
    mechanisms: Vec<Event>,
    allow_large_delta: bool,
    #[serde(default)]
    noise: NoiseSource,
    person: Option<String>,
    #[serde(default)]
    order: RowOrder,
    #[serde(default)]
    other_sites: Vec<String>,
    may_collude: Option<usize>,
}

impl Certified {
    fn one_noise(&self) -> Option<SharedNoise> {
        SharedNoise::with(&self.other_sites, self.may_collude)
    }
}

/// The draws that a certificate states.
#[derive(Deserialize)]
struct Stated {
    mechanisms: Vec<Event>,
}

/// The line that a certificate was written under; older ones do not name it.
#[derive(Deserialize)]
struct Vouched {
    ledger_line: Option<LedgerLine>,
}

/// The part of `resume.json` that the ledger needs.
#[derive(Deserialize)]
struct Begun {
    private: DatasetRecord,
}

/// Every trace in `folder`, the workspace's; with `thorough`, all certificates are read.
pub(super) fn find(folder: &Path, reading: &ChainReading, thorough: bool) -> Result<Vec<Trace>> {
    let book = reading.book();
    let records = book.accounts.iter().flat_map(|account| &account.runs);
    let known: HashMap<&str, &RunRecord> =
        records.map(|record| (record.grant.run.0.as_str(), record)).collect();
    let is_told = |run: &str| book.traces.contains(&RunId(run.to_owned()));
    let (mut traces, mut vouching) = (Vec::new(), Vec::new());
    let runs = folder.join("runs");
    for name in names(&runs)? {
        let directory = runs.join(&name);
        if is_told(&name) {
            continue;
        }
        match known.get(name.as_str()) {
            Some(record) => vouching.push((record.granted.seq, *record, directory)),
            None if has_results(&directory) => {
                // A crashed collection left it; the run itself is there or will be.
                let half = name.strip_suffix(".collecting");
                if half.is_none_or(|run| !known.contains_key(run)) {
                    let why = "there are results of a run that the ledger does not know";
                    traces.push(Trace::of(&name, why.to_owned(), &directory));
                }
            }
            // A program died before it was granted anything.
            None => {}
        }
    }
    // Runs of sweeps are copied from here once they are collected.
    let sweeps = folder.join("sweeps");
    for sweep in names(&sweeps)? {
        let runs = sweeps.join(sweep).join("runs");
        for name in names(&runs)? {
            if let Some(record) = known.get(name.as_str()).filter(|_| !is_told(&name)) {
                vouching.push((record.granted.seq, *record, runs.join(&name)));
            }
        }
    }
    for name in names(&folder.join("rankings"))? {
        let run = name.strip_suffix(".json").filter(|run| !run.ends_with(".curator"));
        // What holds at each site of a joint ranking is in a file of its own.
        let run = run.map(|run| run.strip_suffix(".joint").unwrap_or(run));
        if let Some(run) = run
            && !known.contains_key(run)
            && !is_told(run)
        {
            let why = "there is a released ranking that the ledger does not know".to_owned();
            traces.push(Trace { run: RunId(run.to_owned()), why, proof: None });
        }
    }
    traces.sort_by(|a, b| a.run.cmp(&b.run));
    traces.dedup_by(|a, b| a.run == b.run && a.why == b.why);
    vouching.sort_by(|(one, ..), (other, ..)| other.cmp(one));
    let most = if thorough { vouching.len() } else { NEWEST };
    for (_, record, directory) in vouching.into_iter().take(most) {
        if record.state == RunState::Recovered {
            continue;
        }
        let certificate = directory.join("certificate.json");
        if states_more(record, &certificate) {
            let why = "a certificate states more draws than the ledger charges".to_owned();
            traces.push(Trace::of(&record.grant.run.0, why, &directory));
        } else if let Some(Vouched { ledger_line: Some(line) }) = read(&certificate)
            && !reading.holds(&line)
        {
            let why = format!(
                "a certificate names line {} of the ledger, and this ledger has another or none",
                line.seq
            );
            traces.push(Trace::of(&record.grant.run.0, why, &directory));
        }
    }
    Ok(traces)
}

/// Whether a settled run drew more than the ledger charges, by its certificate.
fn states_more(record: &RunRecord, certificate: &Path) -> bool {
    let settled = matches!(record.state, RunState::Settled { .. });
    let Some(stated) = read::<Stated>(certificate).filter(|_| settled) else { return false };
    let planned = record.grant.events.iter().zip(&record.charged);
    stated.mechanisms.iter().any(|stated| {
        let same = |planned: &Event| Event { count: stated.count, ..planned.clone() } == *stated;
        planned.clone().any(|(planned, charged)| same(planned) && stated.count > *charged)
    })
}

fn names(directory: &Path) -> Result<Vec<String>> {
    const LIST: &str = "list the runs";
    let entries = match fs::read_dir(directory) {
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(Vec::new());
        }
        entries => entries.doing(LIST, directory)?,
    };
    let names = entries.map(|entry| Ok(entry.doing(LIST, directory)?.file_name()));
    let names: Result<Vec<_>> = names.collect();
    Ok(names?.into_iter().filter_map(|name| name.into_string().ok()).collect())
}

/// Whether a run drew anything, according to its directory.
fn has_results(directory: &Path) -> bool {
    let length = |name: &str| fs::metadata(directory.join(name)).map_or(0, |about| about.len());
    ["certificate.json", "events.jsonl", "curator.jsonl", "model.safetensors"]
        .iter()
        .any(|name| length(name) > 0)
        || length("transcript") > MAGIC.len() as u64
}

fn read<T: serde::de::DeserializeOwned>(path: &Path) -> Option<T> {
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}

impl Trace {
    fn of(run: &str, why: String, directory: &Path) -> Self {
        let run = RunId(run.to_owned());
        let begun: Option<Begun> = read(&directory.join("resume.json"));
        let certified: Option<Certified> = read(&directory.join("certificate.json"));
        let proof = certified.map(|it| {
            let grant = Grant {
                one_noise: it.one_noise(),
                run: run.clone(),
                account: it.account,
                method: it.method,
                target: it.target,
                events: it.mechanisms,
                allow_large_delta: it.allow_large_delta,
                noise: NoiseSource::of_seed(it.noise.seed().or_else(|| stated_seed(&it.statement))),
                unit: it.person,
                order: it.order,
            };
            Proof { grant, dataset: begun.map(|begun| begun.private) }
        });
        Self { run, why, proof }
    }

    /// The entries that charge it in this ledger.
    pub fn entries(&self, book: &Book) -> Vec<Entry> {
        let Some(Proof { grant, dataset }) = self.proof.clone() else { return Vec::new() };
        let known = book.account(&grant.account);
        let known = known.or_else(|| book.find(dataset.as_ref()?));
        match (known, dataset) {
            (Some(known), _) => {
                vec![Entry::Recovered(Grant { account: known.id.clone(), ..grant })]
            }
            (None, Some(dataset)) => {
                let account = grant.account.clone();
                vec![Entry::Dataset { account, dataset }, Entry::Recovered(grant)]
            }
            (None, None) => vec![Entry::Recovered(grant)],
        }
    }
}

/// The seed in the certificate of an insecure run: earlier versions had no field for it.
fn stated_seed(statement: &str) -> Option<u64> {
    let (_, rest) = statement.strip_prefix("NO GUARANTEE.")?.split_once("the seed ")?;
    rest.split(|letter: char| !letter.is_ascii_digit()).next()?.parse().ok()
}
