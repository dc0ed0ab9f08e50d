//! A run's certificate: its guarantee, those of the runs that its model started from, and the
//! sentences that repeat them.

use std::path::Path;

use serde_json::Value;

use super::claim::{FileClaim, FileReport};
use super::json::{draws, items, list, target, text};
use super::loss::Draws;
use super::noise::NoiseCheck;
use super::{beside, wording};
use crate::error::Result;

/// An empty list has δ = 0, which has no logarithm.
const LEAST_DELTA: f64 = 1e-300;

pub fn check(file: &str, it: &Value) -> Result<FileReport> {
    let mut report = FileReport::new(file, "certificate");
    let ancestors = items(&it["start"]["runs"]);
    let (promised, of_this_run) = (!it["guarantee"].is_null(), &it["of_this_run"]);
    let is_own = |run: &&Value| it["account"].is_string() && run["account"] == it["account"];
    let (mut same, mut others): (Vec<&Value>, Vec<&Value>) = ancestors.iter().partition(is_own);
    if same.is_empty() && !of_this_run.is_null() {
        // The account had another name then: accounts may prove to hold the same records.
        same = std::mem::take(&mut others);
    }
    if !same.is_empty() && of_this_run.is_null() && promised {
        report.fault("a start on the same account counts, and there is no `of_this_run`");
    }
    if same.iter().any(|run| run["person"].as_str() != it["person"].as_str()) {
        report.fault("a run of `start` on the same account does not protect the same `person`");
    }
    for (index, run) in ancestors.iter().enumerate() {
        let drawn = Drawn::of(&[run])?;
        let name = format!("`start.runs[{index}].guarantee`");
        let claim = guarantee(&name, &run["guarantee"], &drawn, false, &mut report.faults)?;
        if claim.is_none() {
            report.fault(format!("there is no {name}"));
        }
        report.claims.extend(claim);
        report.faults.extend(drawn.faults);
    }
    let everything: Vec<&Value> = same.iter().copied().chain([it]).collect();
    let everything = Drawn::of(&everything)?;
    let (faults, choices) = (&mut report.faults, !same.is_empty());
    let main = guarantee("`guarantee`", &it["guarantee"], &everything, choices, faults)?;
    let alone = Drawn::of(&[it])?;
    report.claims.extend(guarantee("`of_this_run`", of_this_run, &alone, false, faults)?);
    report.faults.extend(alone.faults);
    match &main {
        Some(claim) => repeated(&mut report, it, claim.says, claim.delta - LEAST_DELTA),
        None => report.note("it states no guarantee: there is nothing to hold"),
    }
    if it.get("guarantee").is_none() {
        report.fault("there is no `guarantee`");
    }
    let path = Path::new(file);
    beside::model(&mut report, path, it);
    if it["kind"] == "score" && it.get("statement").is_some() {
        report.fault("it calls itself a score, and has the `statement` of a run");
    }
    if it["kind"] != "score" {
        let earlier = same.iter().filter_map(|run| run["run"].as_str());
        report.faults.extend(wording::faults(it, earlier.collect()));
        report.notes.extend(wording::assumption_of_order(it));
        also(&mut report, it, &others, &everything)?;
        beside::ledger(&mut report, path, it);
    }
    if let Some(flaw) = flaw_of_score(&it["score"]) {
        report.fault(flaw);
    }
    let known = it.get("noise").is_some_and(|noise| noise != "secret");
    if known && main.is_some() {
        report.fault("`noise` comes from a known seed, and a guarantee is stated");
    }
    report.claims.extend(main);
    let is_void = it.get("guarantee").is_some_and(Value::is_null);
    if is_void && it["statement"].as_str().is_some_and(|it| !it.contains("NO GUARANTEE")) {
        report.fault("`guarantee` is empty, and `statement` does not say so");
    }
    Ok(report)
}

/// What several runs drew together.
pub(super) struct Drawn {
    draws: Vec<Draws>,
    /// Σ count·coordinates·(grid/σ)²
    grids: f64,
    /// Whether one of the mechanisms holds for zero-out neighbours only.
    zero_out: bool,
    pub faults: Vec<String>,
}

impl Drawn {
    /// The draws of these runs: each is a value with `mechanisms`.
    pub fn of(runs: &[&Value]) -> Result<Self> {
        let (mut all, mut events) = (Vec::new(), Vec::new());
        for run in runs {
            let mechanisms = list(run, "mechanisms")?;
            all.extend(draws(mechanisms, None)?);
            events.extend(mechanisms);
        }
        let zero_out = events.iter().any(|it| it["adjacency"] == "zero_out");
        let NoiseCheck { faults, grids } = NoiseCheck::of(events);
        Ok(Self { draws: all, grids, zero_out, faults })
    }

    fn with(&self, other: &Self) -> Self {
        Self {
            draws: self.draws.iter().chain(&other.draws).copied().collect(),
            grids: self.grids + other.grids,
            zero_out: self.zero_out || other.zero_out,
            faults: Vec::new(),
        }
    }

    /// A claim about noise on grids.
    pub(super) fn claim(&self, name: String, says: f64, delta: f64, choices: bool) -> FileClaim {
        FileClaim::check(name, says, delta.max(LEAST_DELTA), &self.draws, self.grids, choices)
    }
}

/// The promises to the records of other accounts: a sentence for each, whose numbers must hold.
fn also(report: &mut FileReport, it: &Value, others: &[&Value], own: &Drawn) -> Result<()> {
    let sentences = items(&it["also"]);
    if it["guarantee"].is_null() {
        if !sentences.is_empty() {
            report.fault("`also` promises something, and there is no guarantee");
        }
        return Ok(());
    }
    let mut told = 0;
    let mut accounts: Vec<&Value> = others.iter().map(|run| &run["account"]).collect();
    accounts.dedup();
    for of in accounts {
        let runs: Vec<&Value> = others.iter().copied().filter(|it| it["account"] == *of).collect();
        let names: Vec<&str> =
            runs.iter().map(|run| run["run"].as_str().unwrap_or_default()).collect();
        let account = of.as_str().unwrap_or_default();
        let words = format!(" of account {account}, in {}. ", names.join(" and "));
        let found = sentences.iter().filter_map(Value::as_str).find(|it| it.contains(&words));
        let Some(found) = found else {
            report.fault(format!("`also` does not promise anything to account {account}"));
            continue;
        };
        told += 1;
        let largest = runs.iter().max_by_key(|run| run["records"].as_u64());
        let records = largest.and_then(|run| run["records"].as_u64()).unwrap_or_default();
        let kind = wording::protected(largest.and_then(|run| run["person"].as_str()));
        let pattern = format!(
            "The model builds on one that had learned from other private data: {records} {kind}{words}\
             Those {kind} are protected by (ε, δ)-differential privacy with ε = {{}} and δ = {{}} ({{}}). \
             Whoever has a record in both datasets, or if both are the same people's data, must add the \
             two up: ε = {{}} and δ = {{}} ({{}})."
        );
        let slots = wording::slots(found, &pattern).unwrap_or_default();
        let numbers: Vec<f64> = slots.iter().filter_map(|it| it.parse().ok()).collect();
        let [epsilon, delta, both, delta_of_both] = numbers[..] else {
            report.fault(format!("`also` is not the sentence about account {account}"));
            continue;
        };
        let theirs = Drawn::of(&runs)?;
        let together = theirs.with(own);
        let name = format!("`also` for account {account}");
        report.claims.push(theirs.claim(name, epsilon, delta, runs.len() > 1));
        let name = format!("`also` for both with account {account}");
        report.claims.push(together.claim(name, both, delta_of_both, true));
        let fits = |told: Option<&&str>, zero_out: bool| {
            told.is_some_and(|told| *told == "zero-out" || (*told == "replace-one" && !zero_out))
        };
        if !fits(slots.get(2), theirs.zero_out) || !fits(slots.get(5), together.zero_out) {
            report.fault(format!("`also` names other neighbours of account {account}"));
        }
    }
    if told != sentences.len() {
        report.fault("`also` has a sentence about no account of `start`");
    }
    Ok(())
}

/// The claim of a guarantee, if there is one. `choices`: later runs may have been chosen by the
/// outputs of earlier ones, whatever the file says.
pub(super) fn guarantee(
    name: &str,
    it: &Value,
    drawn: &Drawn,
    choices: bool,
    faults: &mut Vec<String>,
) -> Result<Option<FileClaim>> {
    if it.is_null() {
        return Ok(None);
    }
    let (says, delta) = target(it).map_err(|error| error.at(name))?;
    if it["epsilon_lower"].as_f64().is_some_and(|lower| lower > says * (1.0 + 1e-9)) {
        faults.push(format!("the lower bound of {name} is above its ε"));
    }
    let kind = |name: &str| it[name].as_str().unwrap_or_default();
    if !["", "fixed_plan", "adaptive"].contains(&kind("covers")) {
        faults.push(format!("{name} covers '{}', which is not known", kind("covers")));
    }
    match kind("adjacency") {
        "replace_one" if drawn.zero_out => faults.push(format!(
            "{name} is for replace_one, and one of its mechanisms for zero_out only"
        )),
        "replace_one" | "zero_out" => {}
        other => {
            faults.push(format!("{name} is for the neighbours '{other}', which are not known"));
        }
    }
    if says > 1e-9 && drawn.draws.is_empty() {
        faults.push(format!("{name} says ε = {says}, and nothing was drawn"));
    }
    let choices = choices || it.get("covers").is_some() && text(it, "covers")? == "adaptive";
    Ok(Some(drawn.claim(name.to_owned(), says, delta, choices)))
}

/// What repeats the guarantee must not promise more: the sentences, the block for registries, and
/// the kind of neighbours.
fn repeated(report: &mut FileReport, it: &Value, epsilon: f64, delta: f64) {
    let edited = |what: &str, guarantee: &str| {
        format!("{what}, and `guarantee` says {guarantee}: one of them was edited")
    };
    let registry = &it["registry"]["privacy_loss"]["privacy_parameters"];
    for (name, of_guarantee) in [("epsilon", epsilon), ("delta", delta)] {
        if let Some(said) = registry[name].as_f64().filter(|said| is_less(*said, of_guarantee)) {
            let what = format!("`registry` says {name} {said}");
            report.fault(edited(&what, &of_guarantee.to_string()));
        }
    }
    let of_all = &it["guarantee"]["adjacency"];
    if of_all == "replace_one"
        && items(&it["mechanisms"]).iter().any(|event| event["adjacency"] == "zero_out")
    {
        report.fault(edited("one of `mechanisms` holds for zero_out only", "replace_one"));
    }
    let Some(statement) = it["statement"].as_str() else {
        // A score has no sentences.
        if it["kind"] != "score" {
            report.fault("there is no `statement` of the guarantee");
        }
        return;
    };
    if epsilon == 0.0 {
        return;
    }
    for (before, of_guarantee) in
        [("ε = ", epsilon), ("δ = ", delta), ("e^", epsilon), (" as large, plus ", delta)]
    {
        let mut said = numbers_after(statement, before);
        if let Some(said) = said.find(|said| is_less(*said, of_guarantee)) {
            let what = format!("`statement` says {}{said}", before.trim_start());
            report.fault(edited(&what, &of_guarantee.to_string()));
        }
    }
    for number in ["ε = ", "δ = "] {
        if numbers_after(statement, number).next().is_none() {
            report.fault(format!("`statement` does not say '{number}…'"));
        }
    }
    // A large factor is told in words.
    let factor = statement.split_once("e^").and_then(|(_, after)| after.split_once(" = "));
    let factor = factor.and_then(|(_, after)| number_of(after));
    if let Some(factor) = factor.filter(|factor| is_less(*factor, epsilon.exp())) {
        let what = format!("`statement` says that outcomes are {factor} times as likely");
        report.fault(edited(&what, &format!("ε {epsilon}")));
    }
    for (own, other) in [("replace_one", "zero-out"), ("zero_out", "replace-one")] {
        if of_all == own && statement.contains(other) {
            report.fault(edited(&format!("`statement` says {other}"), own));
        }
    }
    if let Some(records) = it["records"].as_u64().map(|it| it.to_string()) {
        let mut told = statement.split(|letter: char| !letter.is_ascii_digit());
        if !told.any(|number| number == records) {
            report.fault(format!("`statement` is not about {records} records, as `records` says"));
        }
    }
}

/// Numbers are repeated with fewer digits, rounded up.
/// What is wrong with the range of an error without its cap. It follows from other numbers of the
/// score: the share of records above the cap adds at most the bound minus the cap for each.
fn flaw_of_score(score: &Value) -> Option<&'static str> {
    let range = score.get("uncapped")?;
    let number = |of: &Value| of.as_f64().unwrap_or(f64::NAN);
    let power = if score["loss"] == "squared" { 2 } else { 1 };
    let loss = |of: &Value| number(of).powi(power);
    let beyond = (loss(&score["bound"]) - loss(&score["largest_error"])).max(0.0);
    let high = loss(&score["error"]["high"]) + number(&score["above"]["high"]) * beyond;
    let holds = number(&range["low"]) <= number(&score["error"]["low"]) * (1.0 + 1e-9)
        && loss(&range["high"]) >= high * (1.0 - 1e-9);
    (!holds).then_some(
        "`uncapped` is narrower than the score's error, share `above` the cap and `bound` allow",
    )
}

pub(super) fn is_less(said: f64, than: f64) -> bool {
    said < than * (1.0 - 1e-9)
}

/// The numbers that follow these words.
fn numbers_after<'a>(text: &'a str, words: &'a str) -> impl Iterator<Item = f64> + 'a {
    text.match_indices(words).filter_map(|(at, words)| number_of(&text[at + words.len()..]))
}

/// The number at the beginning of a text.
pub(super) fn number_of(text: &str) -> Option<f64> {
    let is_of_number = |letter: char| letter.is_ascii_digit() || ".e-".contains(letter);
    let end = text.find(|letter| !is_of_number(letter)).unwrap_or(text.len());
    text[..end].trim_end_matches(['.', '-', 'e']).parse().ok()
}
