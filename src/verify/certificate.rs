//! A run's certificate: its guarantee, those of the runs that its model started from, and the
//! sentences that repeat them.

use serde_json::Value;

use super::claim::{FileClaim, FileReport};
use super::json::{draws, list, target, text};
use super::ledger::sha256;
use super::loss::Draws;
use crate::error::Result;

/// An empty list has δ = 0, which has no logarithm.
const LEAST_DELTA: f64 = 1e-300;

pub fn check(file: &str, it: &Value) -> Result<FileReport> {
    let mut report = FileReport::new(file, "certificate");
    let own = draws(list(it, "mechanisms")?, None)?;
    let ancestors = it.get("start").and_then(|start| start.get("runs")).and_then(Value::as_array);
    let ancestors = ancestors.map(Vec::as_slice).unwrap_or_default();
    let account = it.get("account").and_then(Value::as_str);
    let mut same: Vec<Draws> = Vec::new();
    let mut others: Vec<Draws> = Vec::new();
    for (index, run) in ancestors.iter().enumerate() {
        let drawn = draws(list(run, "mechanisms")?, None)?;
        let name = format!("`start.runs[{index}].guarantee`");
        report.claims.extend(guarantee(name, run.get("guarantee"), &drawn)?);
        let is_same = account.is_some() && run.get("account").and_then(Value::as_str) == account;
        if is_same { same.extend(drawn) } else { others.extend(drawn) }
    }
    let of_this_run = it.get("of_this_run").filter(|it| !it.is_null());
    if same.is_empty() && of_this_run.is_some() {
        // The account had another name then: accounts may prove to hold the same records.
        same = others;
    }
    let everything: Vec<Draws> = same.iter().chain(&own).copied().collect();
    let main = guarantee("`guarantee`".to_owned(), it.get("guarantee"), &everything)?;
    report.claims.extend(guarantee("`of_this_run`".to_owned(), of_this_run, &own)?);
    match &main {
        Some(claim) => repeated(&mut report, it, claim.says, claim.delta - LEAST_DELTA),
        None => report.notes.push("it states no guarantee: there is nothing to hold".to_owned()),
    }
    if it.get("guarantee").is_none() {
        report.faults.push("there is no `guarantee`".to_owned());
    }
    model_beside(&mut report, file, it);
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

/// The claim of a guarantee, if there is one.
fn guarantee(name: String, it: Option<&Value>, drawn: &[Draws]) -> Result<Option<FileClaim>> {
    let Some(it) = it.filter(|it| !it.is_null()) else { return Ok(None) };
    let (says, delta) = target(it).map_err(|error| error.at(name.clone()))?;
    let delta = delta.max(LEAST_DELTA);
    let choices = it.get("covers").is_some() && text(it, "covers")? == "adaptive";
    Ok(Some(FileClaim::check(name, says, delta, drawn, choices)))
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
        if it.get("outcome").is_some() {
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
fn is_less(said: f64, than: f64) -> bool {
    said < than * (1.0 - 1e-9)
}

/// The numbers that follow these words.
fn numbers_after<'a>(text: &'a str, words: &'a str) -> impl Iterator<Item = f64> + 'a {
    text.match_indices(words).filter_map(|(at, words)| number_of(&text[at + words.len()..]))
}

/// The number at the beginning of a text.
fn number_of(text: &str) -> Option<f64> {
    let is_of_number = |letter: char| letter.is_ascii_digit() || ".e-".contains(letter);
    let end = text.find(|letter| !is_of_number(letter)).unwrap_or(text.len());
    text[..end].trim_end_matches(['.', '-', 'e']).parse().ok()
}

/// The model beside a certificate must be the one that it is about.
fn model_beside(report: &mut FileReport, file: &str, it: &Value) {
    let model = std::path::Path::new(file).with_file_name("model.ron");
    let stated = it.get("model").and_then(Value::as_str);
    if let (Some(stated), Ok(bytes)) = (stated, std::fs::read(&model))
        && sha256(&bytes) != stated
    {
        let what = "`model` is not the SHA-256 of model.ron beside it: one of them was changed";
        report.faults.push(what.to_owned());
    }
}
