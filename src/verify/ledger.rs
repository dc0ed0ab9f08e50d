//! A ledger: the hashes of its lines, and the totals of its accounts.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;
use sha2::{Digest, Sha256};

use super::claim::{ClaimVerdict, FileClaim, FileReport};
use super::curve;
use super::joint::hexadecimal;
use super::json::{count, draws, field, list, number, target, text, without_count};
use super::loss::{Draws, merged};
use super::noise::NoiseCheck;
use crate::error::{Error, Result};

/// A run, recounted from the lines.
struct RecountedRun {
    account: String,
    events: Vec<Value>,
    announced: Vec<u64>,
    used: Option<Vec<u64>>,
    known_noise: bool,
    /// Whether the run was drawn elsewhere, as another trainer claims.
    claimed: bool,
}

impl RecountedRun {
    /// A run whose draws are all known: everything in the list counts.
    fn drawn(entry: &Value, claimed: bool) -> Result<Self> {
        let run = Self::granted(entry)?;
        let counts =
            run.events.iter().map(|it| count(it, "count")).collect::<Result<Vec<u64>>>()?;
        Ok(Self { announced: counts.clone(), used: Some(counts), claimed, ..run })
    }

    fn granted(entry: &Value) -> Result<Self> {
        let events = list(entry, "events")?.to_vec();
        let formerly = entry["method"].as_str().unwrap_or_default();
        let known_noise = entry.get("noise").is_some_and(|it| it != "secret")
            || formerly.contains("insecure noise seed");
        Ok(Self {
            account: text(entry, "account")?.to_owned(),
            announced: vec![0; events.len()],
            events,
            used: None,
            known_noise,
            claimed: false,
        })
    }

    /// Whether the run has at least as many draws of each kind as `before`.
    fn goes_on_from(&self, before: &Self) -> bool {
        before.events.iter().zip(&before.announced).all(|(event, count)| {
            let mut later = self.events.iter().zip(&self.announced);
            later.any(|(it, more)| without_count(it) == without_count(event) && more >= count)
        })
    }

    /// Counts at least these draws, too.
    fn raise(&mut self, proven: &Self) {
        let counts = proven.used.iter().flatten();
        for (event, count) in proven.events.iter().zip(counts) {
            let known = self.events.iter().position(|it| without_count(it) == without_count(event));
            match (known, &mut self.used) {
                // Of an open run everything counts that was granted.
                (Some(_), None) => {}
                (Some(at), Some(used)) => used[at] = used[at].max(*count),
                (None, used) => {
                    self.events.push(event.clone());
                    self.announced.push(*count);
                    if let Some(used) = used {
                        used.push(*count);
                    }
                }
            }
        }
    }

    /// The draws that count as spent: those used, or everything until the run is settled.
    fn charged(&self) -> Result<Vec<Draws>> {
        draws(&self.events, self.used.as_deref())
    }
}

#[derive(Default)]
struct RecountedBook {
    runs: BTreeMap<String, RecountedRun>,
    order: Vec<String>,
    budgets: BTreeMap<String, (f64, f64)>,
    /// Accounts that were tied to another one.
    tied: BTreeMap<String, String>,
    unknown: BTreeMap<String, u64>,
}

pub fn check(file: &Path, bytes: &[u8]) -> Result<FileReport> {
    let mut report = FileReport::new(&file.display().to_string(), "ledger");
    let mut book = RecountedBook::default();
    let mut last = "0".repeat(64);
    let mut lines: u64 = 0;
    for (index, line) in bytes.split_inclusive(|byte| *byte == b'\n').enumerate() {
        let at = format!("line {}", index + 1);
        let Some(line) = line.strip_suffix(b"\n") else {
            report.note(format!("{at} is cut off: its program died while it was written"));
            break;
        };
        let (hash, body) = match split(line) {
            Ok(found) => found,
            Err(why) => {
                report.fault(format!("{at} {why}; later lines are not read"));
                break;
            }
        };
        let body: Value = serde_json::from_slice(&body)
            .map_err(|error| Error::failed(format!("{at} is not JSON: {error}")).cure(REPAIR))?;
        if count(&body, "seq")? != lines + 1 {
            report.fault(format!("{at} has another number: a line is missing or repeated"));
        }
        if text(&body, "prev")? != last {
            report.fault(format!("{at} does not continue the line before it"));
        }
        lines += 1;
        book.take(field(&body, "entry")?, &mut report).map_err(|error| error.at(at))?;
        last = hash;
    }
    report.note(format!("{lines} lines, the last one with hash {last}"));
    head(file, lines, &last, &mut report);
    book.totals(&mut report)?;
    Ok(report)
}

const REPAIR: &str = "restore the ledger from a copy, or run `halflight ledger repair`";

/// In hexadecimal digits.
pub(super) fn sha256(bytes: &[u8]) -> String {
    hexadecimal(&Sha256::digest(bytes))
}

/// Hash of a line, if it fits, and the line as JSON without it.
fn split(line: &[u8]) -> std::result::Result<(String, Vec<u8>), &'static str> {
    let end = br#","hash":""#;
    let cut = line.len().checked_sub(end.len() + 64 + 2).ok_or("is too short")?;
    let (body, seal) = line.split_at(cut);
    let stated = seal.strip_prefix(end).and_then(|rest| rest.strip_suffix(b"\"}"));
    let hash = sha256(body);
    if stated != Some(hash.as_bytes()) {
        return Err("was changed after it was written: its hash does not fit");
    }
    Ok((hash, [body, b"}"].concat()))
}

/// The file beside it names the last confirmed line.
fn head(file: &Path, lines: u64, last: &str, report: &mut FileReport) {
    let Ok(text) = std::fs::read_to_string(file.with_file_name("ledger.head")) else {
        report.note("there is no ledger.head beside it: its end may be missing");
        return;
    };
    match text.trim_end().split_once(' ') {
        Some((seq, hash)) if seq.parse() == Ok(lines) && hash == last => {}
        Some((seq, _)) if seq.parse::<u64>().is_ok_and(|seq| seq + 1 == lines) => {
            report.note("its last line is not confirmed in ledger.head; it counts");
        }
        _ => report.fault(format!(
            "ledger.head confirms another end ({}): lines are missing, or one file is a copy",
            text.trim_end().chars().take(80).collect::<String>()
        )),
    }
}

impl RecountedBook {
    fn account(&self, name: &str) -> String {
        let mut name = name;
        // At most as many rounds as there are ties, because they could be edited into a circle.
        for _ in 0..=self.tied.len() {
            match self.tied.get(name) {
                Some(into) => name = into,
                None => break,
            }
        }
        name.to_owned()
    }

    fn take(&mut self, entry: &Value, report: &mut FileReport) -> Result<()> {
        let kind = text(entry, "kind")?;
        match kind {
            "grant" => {
                target(field(entry, "target")?)?;
                self.enter(entry, RecountedRun::granted(entry)?)?;
            }
            // A run whose lines are lost counts as if everything in its certificate had been drawn.
            "recovered" => {
                target(field(entry, "target")?)?;
                let run = RecountedRun::drawn(entry, false)?;
                if let Some(known) = self.runs.get_mut(text(entry, "run")?) {
                    known.raise(&run);
                } else {
                    let announced = vec![0; run.events.len()];
                    self.enter(entry, RecountedRun { announced, ..run })?;
                }
            }
            // The last line of a training has all its draws, and no fewer than the one before.
            "claimed" => {
                let (name, before) = self.enter(entry, RecountedRun::drawn(entry, true)?)?;
                let goes_on = |it: RecountedRun| it.claimed && self.runs[&name].goes_on_from(&it);
                if !before.is_none_or(goes_on) {
                    report.fault(format!("{name} claims less than in a line before"));
                }
            }
            // The charge for a training, as changed by the curator.
            "corrected" => {
                let claim = field(entry, "claim")?;
                let (run, why) = (RecountedRun::drawn(claim, true)?, text(entry, "why")?);
                let (name, before) = self.enter(claim, run)?;
                report.note(format!("what {name} counts for was changed by hand: {why}"));
                if before.is_none() {
                    report.fault(format!("{name} was changed by hand, and was never claimed"));
                } else if before.is_some_and(|it| !it.claimed) {
                    report.fault(format!("{name} was drawn here, and was changed by hand"));
                }
            }
            "block" => {
                let (run, event) = (text(entry, "run")?, count(entry, "event")? as usize);
                let more = count(entry, "count")?;
                let planned = self.runs.get(run).and_then(|it| it.events.get(event));
                let most = planned.map_or(Ok(0), |it| count(it, "count"))?;
                let announced = self.runs.get_mut(run).and_then(|it| it.announced.get_mut(event));
                let sum = announced.map(|sum| {
                    *sum = sum.saturating_add(more);
                    *sum
                });
                if sum.is_none_or(|sum| sum > most) {
                    report.fault(format!("run {run} announces draws that nobody granted"));
                }
            }
            "settle" => {
                let run = text(entry, "run")?;
                let used: Option<Vec<u64>> =
                    list(entry, "used")?.iter().map(Value::as_u64).collect();
                let used = used.ok_or_else(|| {
                    Error::failed("`used` holds something that is not a whole number").cure(REPAIR)
                })?;
                match self.runs.get_mut(run) {
                    Some(it) if it.used.is_none() && used.len() == it.events.len() => {
                        if used.iter().zip(&it.announced).any(|(used, said)| used > said) {
                            report.fault(format!("run {run} used more than it announced"));
                        }
                        it.used = Some(used);
                    }
                    _ => report.fault(format!("run {run} is settled, and was not open")),
                }
            }
            "budget" => {
                let budget = target(field(entry, "budget")?)?;
                self.budgets.insert(self.account(text(entry, "account")?), budget);
            }
            "tie" => {
                let (from, into) = (text(entry, "from")?, text(entry, "into")?);
                let (from, into) = (self.account(from), self.account(into));
                if let Some((epsilon, delta)) = self.budgets.remove(&from) {
                    let (own, delta_own) =
                        self.budgets.get(&into).copied().unwrap_or((epsilon, delta));
                    self.budgets.insert(into.clone(), (epsilon.min(own), delta.min(delta_own)));
                }
                self.tied.insert(from, into);
            }
            "damage" => {
                let after = number(entry, "lost_after")?;
                report.note(format!(
                    "lines after {after} were lost once: what they held is missing from every total"
                ));
            }
            "unprotected" => report.note(format!(
                "account {}: a choice by exact numbers, which no ε covers: {}",
                text(entry, "account")?,
                text(entry, "what")?
            )),
            "dataset" | "accept" | "resume" | "rewritten" | "secret_lost" => {}
            other => *self.unknown.entry(other.to_owned()).or_default() += 1,
        }
        Ok(())
    }

    /// Takes a run in. Returns its name, and the run of this name in a line before.
    fn enter(
        &mut self,
        entry: &Value,
        run: RecountedRun,
    ) -> Result<(String, Option<RecountedRun>)> {
        let name = text(entry, "run")?.to_owned();
        let before = self.runs.insert(name.clone(), run);
        if before.is_none() {
            self.order.push(name.clone());
        }
        Ok((name, before))
    }

    /// The spending of every account, at the δ of its budget.
    fn totals(&self, report: &mut FileReport) -> Result<()> {
        let mut accounts: BTreeMap<String, Vec<&String>> = BTreeMap::new();
        for name in &self.order {
            accounts.entry(self.account(&self.runs[name].account)).or_default().push(name);
        }
        for (account, runs) in accounts {
            let budget = self.budgets.get(&account).copied();
            let (epsilon, delta) = budget.unwrap_or((f64::INFINITY, 1e-6));
            let delta = delta.max(1e-300);
            let (mut all, mut here) = (Vec::new(), Vec::new());
            let (mut spending, mut claimed) = (0, false);
            for name in runs {
                let run = &self.runs[name];
                let drawn = run.charged().map_err(|error| error.at(format!("run {name}")))?;
                let state = match (run.claimed, &run.used) {
                    (true, _) => "claimed by another trainer",
                    (false, Some(_)) => "settled",
                    (false, None) => "open, counts in full",
                };
                claimed |= run.claimed && !drawn.is_empty();
                let gives = curve::epsilon(&drawn, delta);
                let noise =
                    if run.known_noise { "; its noise was no secret: no guarantee" } else { "" };
                report.note(format!(
                    "account {account}, run {name} ({state}): ε = {:.6} at δ = {delta:e}{noise}",
                    gives.most
                ));
                spending += u32::from(!drawn.is_empty());
                here.extend(run.events.iter().filter(|_| !run.claimed));
                all.extend(drawn);
            }
            let all = merged(all);
            let noise = NoiseCheck::of(here);
            report.faults.extend(noise.faults);
            if budget.is_none() {
                report.note(format!("account {account} has no budget"));
                continue;
            }
            // One run is a plan; several may have been chosen by the outputs of earlier ones, and
            // so may the steps of other trainers.
            let choices = spending > 1 || claimed;
            let name = format!("the budget of account {account}");
            let mut claim = FileClaim::check(name, epsilon, delta, &all, noise.grids, choices);
            let total =
                if choices { curve::epsilon_of_choices(&all, delta) } else { claim.gives.most };
            report.note(format!(
                "account {account}: all runs that spent ({spending}) together: ε = {total:.6} at δ = {delta:e}, of a budget of ε = {epsilon}"
            ));
            // An unused part of a budget is not a fault.
            if claim.verdict == ClaimVerdict::Loose {
                claim.verdict = ClaimVerdict::Holds;
            }
            report.claims.push(claim);
        }
        for (kind, times) in &self.unknown {
            report.fault(format!("{times} lines of the kind '{kind}' are not known here"));
        }
        Ok(())
    }
}
