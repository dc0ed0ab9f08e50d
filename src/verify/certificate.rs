//! A run's certificate: its guarantee, those of the runs that its model started from, and the
//! sentences that repeat them.

use std::path::Path;

use serde_json::Value;

use super::claim::{FileClaim, FileReport};
use super::json::{draws, list, target, text};
use super::loss::Draws;
use super::noise::NoiseCheck;
use super::{beside, wording};
use crate::error::Result;

/// An empty list has δ = 0, which has no logarithm.
const LEAST_DELTA: f64 = 1e-300;

pub fn check(file: &str, it: &Value) -> Result<FileReport> {
    let mut report = FileReport::new(file, "certificate");
    let ancestors = it.get("start").and_then(|start| start.get("runs")).and_then(Value::as_array);
    let ancestors = ancestors.map(Vec::as_slice).unwrap_or_default();
    let account = it.get("account").and_then(Value::as_str);
    let of_this_run = it.get("of_this_run").filter(|it| !it.is_null());
    let is_own =
        |run: &&Value| account.is_some() && run.get("account").and_then(Value::as_str) == account;
    let (mut same, mut others): (Vec<&Value>, Vec<&Value>) = ancestors.iter().partition(is_own);
    if same.is_empty() && of_this_run.is_some() {
        // The account had another name then: accounts may prove to hold the same records.
        same = std::mem::take(&mut others);
    }
    if !same.is_empty() && of_this_run.is_none() && has(it, "guarantee") {
        report
            .faults
            .push("a start on the same account counts, and there is no `of_this_run`".to_owned());
    }
    let person = |run: &Value| run.get("person").and_then(Value::as_str).map(str::to_owned);
    if same.iter().any(|run| person(run) != person(it)) {
        let what = "a run of `start` on the same account does not protect the same `person`";
        report.faults.push(what.to_owned());
    }
    for (index, run) in ancestors.iter().enumerate() {
        let drawn = Drawn::of(&[run])?;
        let name = format!("`start.runs[{index}].guarantee`");
        let claim =
            guarantee(name.clone(), run.get("guarantee"), &drawn, false, &mut report.faults)?;
        if claim.is_none() {
            report.faults.push(format!("there is no {name}"));
        }
        report.claims.extend(claim);
        report.faults.extend(drawn.faults);
    }
    let everything: Vec<&Value> = same.iter().copied().chain([it]).collect();
    let everything = Drawn::of(&everything)?;
    let (faults, choices) = (&mut report.faults, !same.is_empty());
    let name = "`guarantee`".to_owned();
    let main = guarantee(name, it.get("guarantee"), &everything, choices, faults)?;
    let alone = Drawn::of(&[it])?;
    let name = "`of_this_run`".to_owned();
    report.claims.extend(guarantee(name, of_this_run, &alone, false, faults)?);
    report.faults.extend(alone.faults);
    match &main {
        Some(claim) => repeated(&mut report, it, claim.says, claim.delta - LEAST_DELTA),
        None => report.notes.push("it states no guarantee: there is nothing to hold".to_owned()),
    }
    if it.get("guarantee").is_none() {
        report.faults.push("there is no `guarantee`".to_owned());
    }
    let path = Path::new(file);
    beside::model(&mut report, path, it);
    if it.get("kind").and_then(Value::as_str) != Some("score") {
        let earlier = same.iter().filter_map(|run| run.get("run").and_then(Value::as_str));
        report.faults.extend(wording::faults(it, earlier.collect()));
        report.notes.extend(wording::assumption_of_order(it));
        also(&mut report, it, &others, &everything)?;
        beside::ledger(&mut report, path, it);
    }
    let known = it.get("noise").is_some_and(|noise| noise.as_str() != Some("secret"));
    if known && main.is_some() {
        report.faults.push("`noise` comes from a known seed, and a guarantee is stated".to_owned());
    }
    report.claims.extend(main);
    if it.get("guarantee").is_some_and(Value::is_null)
        && it
            .get("statement")
            .and_then(Value::as_str)
            .is_some_and(|text| !text.contains("NO GUARANTEE"))
    {
        report.faults.push("`guarantee` is empty, and `statement` does not say so".to_owned());
    }
    Ok(report)
}

fn has(it: &Value, name: &str) -> bool {
    it.get(name).is_some_and(|it| !it.is_null())
}

/// What several runs drew together.
struct Drawn {
    draws: Vec<Draws>,
    /// Σ count·coordinates·(grid/σ)²
    grids: f64,
    /// Whether one of the mechanisms holds for zero-out neighbours only.
    zero_out: bool,
    faults: Vec<String>,
}

impl Drawn {
    /// The draws of these runs: each is a value with `mechanisms`.
    fn of(runs: &[&Value]) -> Result<Self> {
        let (mut all, mut events) = (Vec::new(), Vec::new());
        for run in runs {
            let mechanisms = list(run, "mechanisms")?;
            all.extend(draws(mechanisms, None)?);
            events.extend(mechanisms);
        }
        let zero_out =
            events.iter().any(|it| it.get("adjacency").and_then(Value::as_str) == Some("zero_out"));
        let NoiseCheck { faults, grids } = NoiseCheck::of(events);
        Ok(Self { draws: all, grids, zero_out, faults })
    }
}

/// The promises to the records of other accounts: a sentence for each, whose numbers must hold.
fn also(report: &mut FileReport, it: &Value, others: &[&Value], own: &Drawn) -> Result<()> {
    let sentences = it.get("also").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    if !has(it, "guarantee") {
        if !sentences.is_empty() {
            report.faults.push("`also` promises something, and there is no guarantee".to_owned());
        }
        return Ok(());
    }
    let name = |run: &Value| run.get("run").and_then(Value::as_str).unwrap_or_default().to_owned();
    let account = |run: &Value| run.get("account").and_then(Value::as_str).map(str::to_owned);
    let mut told = 0;
    let mut accounts: Vec<Option<String>> = others.iter().map(|run| account(run)).collect();
    accounts.dedup();
    for of in accounts {
        let runs: Vec<&Value> = others.iter().copied().filter(|run| account(run) == of).collect();
        let names: Vec<String> = runs.iter().map(|run| name(run)).collect();
        let account = of.unwrap_or_default();
        let words = format!(" of account {account}, in {}. ", names.join(" and "));
        let found = sentences.iter().filter_map(Value::as_str).find(|it| it.contains(&words));
        let Some(found) = found else {
            report.faults.push(format!("`also` does not promise anything to account {account}"));
            continue;
        };
        told += 1;
        let largest = runs.iter().max_by_key(|run| run.get("records").and_then(Value::as_u64));
        let records = largest.and_then(|run| run.get("records")?.as_u64()).unwrap_or_default();
        let person = largest.and_then(|run| run.get("person")?.as_str());
        let kind = person.map_or_else(|| "records".to_owned(), |it| format!("persons (by '{it}')"));
        let pattern = format!(
            "The model builds on one that had learned from other private data: {records} {kind}{words}\
             Those {kind} are protected by (ε, δ)-differential privacy with ε = {{}} and δ = {{}} ({{}}). \
             Whoever has a record in both datasets, or if both are the same people's data, must add the \
             two up: ε = {{}} and δ = {{}} ({{}})."
        );
        let slots = wording::slots(found, &pattern).unwrap_or_default();
        let numbers: Vec<f64> = slots.iter().filter_map(|it| it.parse().ok()).collect();
        let [epsilon, delta, both, delta_of_both] = numbers[..] else {
            report.faults.push(format!("`also` is not the sentence about account {account}"));
            continue;
        };
        let theirs = Drawn::of(&runs)?;
        let together = Drawn {
            draws: theirs.draws.iter().chain(&own.draws).copied().collect(),
            grids: theirs.grids + own.grids,
            zero_out: theirs.zero_out || own.zero_out,
            faults: Vec::new(),
        };
        let several = runs.len() > 1;
        for (what, says, delta, drawn, choices) in [
            (format!("`also` for account {account}"), epsilon, delta, &theirs, several),
            (
                format!("`also` for both with account {account}"),
                both,
                delta_of_both,
                &together,
                true,
            ),
        ] {
            report.claims.push(claim(what, says, delta, drawn, choices));
        }
        let fits = |told: Option<&&str>, zero_out: bool| {
            told.is_some_and(|told| *told == "zero-out" || (*told == "replace-one" && !zero_out))
        };
        if !fits(slots.get(2), theirs.zero_out) || !fits(slots.get(5), together.zero_out) {
            report.faults.push(format!("`also` names other neighbours of account {account}"));
        }
    }
    if told != sentences.len() {
        report.faults.push("`also` has a sentence about no account of `start`".to_owned());
    }
    Ok(())
}

/// A claim about noise on grids.
fn claim(name: String, says: f64, delta: f64, drawn: &Drawn, choices: bool) -> FileClaim {
    FileClaim::check(name, says, delta.max(LEAST_DELTA), &drawn.draws, drawn.grids, choices)
}

/// The claim of a guarantee, if there is one. `choices`: later runs may have been chosen by the
/// outputs of earlier ones, whatever the file says.
fn guarantee(
    name: String,
    it: Option<&Value>,
    drawn: &Drawn,
    choices: bool,
    faults: &mut Vec<String>,
) -> Result<Option<FileClaim>> {
    let Some(it) = it.filter(|it| !it.is_null()) else { return Ok(None) };
    let (says, delta) = target(it).map_err(|error| error.at(name.clone()))?;
    let lower = it.get("epsilon_lower").and_then(Value::as_f64);
    if lower.is_some_and(|lower| lower > says * (1.0 + 1e-9)) {
        faults.push(format!("the lower bound of {name} is above its ε"));
    }
    let kind = |name: &str| it.get(name).and_then(Value::as_str).unwrap_or_default();
    if !["", "fixed_plan", "adaptive"].contains(&kind("covers")) {
        faults.push(format!("{name} covers '{}', which is not known", kind("covers")));
    }
    match kind("adjacency") {
        "replace_one" if drawn.zero_out => {
            faults.push(format!(
                "{name} is for replace_one, and one of its mechanisms for zero_out only"
            ));
        }
        "replace_one" | "zero_out" => {}
        other => {
            faults.push(format!("{name} is for the neighbours '{other}', which are not known"));
        }
    }
    if says > 1e-9 && drawn.draws.is_empty() {
        faults.push(format!("{name} says ε = {says}, and nothing was drawn"));
    }
    let choices = choices || it.get("covers").is_some() && text(it, "covers")? == "adaptive";
    Ok(Some(claim(name, says, delta, drawn, choices)))
}

/// What repeats the guarantee must not promise more: the sentences, the block for registries, and
/// the kind of neighbours.
fn repeated(report: &mut FileReport, it: &Value, epsilon: f64, delta: f64) {
    let edited = |what: &str, guarantee: &str| {
        format!("{what}, and `guarantee` says {guarantee}: one of them was edited")
    };
    let parameters = ["registry", "privacy_loss", "privacy_parameters"];
    let registry = parameters.iter().try_fold(it, |it, key| it.get(key));
    for (name, of_guarantee) in [("epsilon", epsilon), ("delta", delta)] {
        let said = registry.and_then(|it| it.get(name)).and_then(Value::as_f64);
        if let Some(said) = said.filter(|said| is_less(*said, of_guarantee)) {
            let what = format!("`registry` says {name} {said}");
            report.faults.push(edited(&what, &of_guarantee.to_string()));
        }
    }
    let neighbours = |it: &Value| it.get("adjacency").and_then(Value::as_str).map(str::to_owned);
    let of_all = it.get("guarantee").and_then(neighbours);
    let weaker = |event: &Value| neighbours(event).as_deref() == Some("zero_out");
    let mechanisms = it.get("mechanisms").and_then(Value::as_array);
    if of_all.as_deref() == Some("replace_one") && mechanisms.into_iter().flatten().any(weaker) {
        let what = "one of `mechanisms` holds for zero_out only";
        report.faults.push(edited(what, "replace_one"));
    }
    let Some(statement) = it.get("statement").and_then(Value::as_str) else {
        // A score has no sentences.
        if it.get("kind").and_then(Value::as_str) != Some("score") {
            report.faults.push("there is no `statement` of the guarantee".to_owned());
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
            report.faults.push(edited(&what, &of_guarantee.to_string()));
        }
    }
    for number in ["ε = ", "δ = "] {
        if numbers_after(statement, number).next().is_none() {
            report.faults.push(format!("`statement` does not say '{number}…'"));
        }
    }
    // A large factor is told in words.
    let factor = statement.split_once("e^").and_then(|(_, after)| after.split_once(" = "));
    let factor = factor.and_then(|(_, after)| number_of(after));
    if let Some(factor) = factor.filter(|factor| is_less(*factor, epsilon.exp())) {
        let what = format!("`statement` says that outcomes are {factor} times as likely");
        report.faults.push(edited(&what, &format!("ε {epsilon}")));
    }
    for (own, other) in [("replace_one", "zero-out"), ("zero_out", "replace-one")] {
        if of_all.as_deref() == Some(own) && statement.contains(other) {
            report.faults.push(edited(&format!("`statement` says {other}"), own));
        }
    }
    if let Some(records) = it.get("records").and_then(Value::as_u64).map(|it| it.to_string()) {
        let mut told = statement.split(|letter: char| !letter.is_ascii_digit());
        if !told.any(|number| number == records) {
            report
                .faults
                .push(format!("`statement` is not about {records} records, as `records` says"));
        }
    }
}

/// Numbers are repeated with fewer digits, rounded up.
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
