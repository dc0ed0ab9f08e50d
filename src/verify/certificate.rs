//! A run's certificate: its guarantee, those of the runs that its model started from, and the
//! sentences that repeat them.

use serde_json::Value;

use super::claim::{FileClaim, FileReport};
use super::json::{draws, list, target, text};
use super::loss::Draws;
use crate::error::Result;

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
        Some(claim) => repeated(&mut report, it, claim.says),
        None => report.notes.push("it states no guarantee: there is nothing to hold".to_owned()),
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

/// The claim of a guarantee, if there is one.
fn guarantee(name: String, it: Option<&Value>, drawn: &[Draws]) -> Result<Option<FileClaim>> {
    let Some(it) = it.filter(|it| !it.is_null()) else { return Ok(None) };
    let (says, delta) = target(it).map_err(|error| error.at(name.clone()))?;
    // An empty list has δ = 0, which has no logarithm.
    let delta = delta.max(1e-300);
    let choices = it.get("covers").is_some() && text(it, "covers")? == "adaptive";
    Ok(Some(FileClaim::check(name, says, delta, drawn, choices)))
}

/// Sentences repeat the number, rounded up; none may state less.
fn repeated(report: &mut FileReport, it: &Value, epsilon: f64) {
    let Some(statement) = it.get("statement").and_then(Value::as_str) else { return };
    let Some((_, after)) = statement.rsplit_once("ε = ") else { return };
    let digits = after.split(|letter: char| !letter.is_ascii_digit() && letter != '.');
    let Some(said) = digits.map(|text| text.trim_end_matches('.')).next() else { return };
    if said.parse::<f64>().is_ok_and(|said| said < epsilon * (1.0 - 1e-9)) {
        report.faults.push(format!(
            "`statement` says ε = {said}, and `guarantee` says {epsilon}: one of them was edited"
        ));
    }
}
