//! The certificate of an account: the total of all its runs.

use std::collections::BTreeSet;

use serde_json::Value;

use super::claim::{FileClaim, FileReport};
use super::json::{draws, list, number, text};
use super::loss::{Draws, merged};
use super::noise::NoiseCheck;
use crate::error::{Error, Result};

/// The names of a total in the file. A lower bound is checked like the others: its events must not
/// amount to more than it states.
const TOTALS: [&str; 3] = ["epsilon_at_most", "epsilon_at_least", "epsilon_if_claims_are_true"];

/// Finds what a certificate leaves out about those whom it protects.
fn whom(it: &Value, units: &BTreeSet<Option<&str>>, by_place: bool, report: &mut FileReport) {
    let Some(protects) = it["protects"].as_str() else {
        return report
            .note("it was written by an earlier version, and does not say whom it protects");
    };
    let only = units.first().copied().flatten().filter(|_| units.len() == 1);
    let wanted =
        only.map_or_else(|| "a single record".to_owned(), |unit| format!("persons (by '{unit}')"));
    if !protects.starts_with(&wanted) {
        report.fault(format!("`protects` is '{protects}', and by its entries it is {wanted}"));
    }
    let says = |part: &str| {
        let list = it["not_covered"].as_array().into_iter().flatten();
        list.filter_map(Value::as_str).any(|it| it.contains(part))
    };
    if units.len() > 1 && !says("holds for single records only") {
        report.fault("`not_covered` does not say that runs protect different units");
    }
    if by_place && !says("the order of the rows") {
        report.fault("`not_covered` does not say what runs of earlier versions assume");
    }
}

pub fn check(file: &str, it: &Value) -> Result<FileReport> {
    let mut report = FileReport::new(file, "certificate of an account");
    let mut all: Vec<Draws> = Vec::new();
    let mut here: Vec<&Value> = Vec::new();
    let (mut spending, mut claimed, mut known, mut zero_out) = (0, false, false, false);
    let mut shares_noise = false;
    let (mut by_place, mut units) = (false, BTreeSet::new());
    for (index, entry) in list(it, "entries")?.iter().enumerate() {
        let at = || format!("`entries[{index}]`");
        let events = list(entry, "charged").map_err(|error| error.at(at()))?;
        let drawn = draws(events, None).map_err(|error| error.at(at()))?;
        if drawn.is_empty() {
            continue;
        }
        spending += 1;
        let is_claimed = entry["claimed"] == true;
        claimed |= is_claimed;
        here.extend(events.iter().filter(|_| !is_claimed));
        known |= entry["noise"] != "secret";
        shares_noise |= !entry["one_noise"].is_null();
        by_place |= !is_claimed && entry["order"] == "by_place";
        units.insert(entry["person"].as_str());
        zero_out |= events.iter().any(|event| event["adjacency"] == "zero_out");
        all.extend(drawn);
    }
    let all = merged(all);
    let noise = NoiseCheck::of(here);
    report.faults.extend(noise.faults);
    let hidden = it["past_is_known"] != true;
    // A run may depend on the outputs of an earlier one.
    let choices = spending > 1 || claimed;
    for total in list(it, "totals")? {
        let adjacency = text(total, "holds_for")?;
        // An empty list has δ = 0, which has no logarithm.
        let delta = number(total, "delta")?.max(1e-300);
        for key in TOTALS.into_iter().filter(|key| !total[*key].is_null()) {
            let (name, says) = (format!("`{key}` for {adjacency}"), &total[key]);
            let told = says.as_str().unwrap_or_default();
            let number = told.parse().ok().filter(|says: &f64| says.is_finite() && *says >= 0.0);
            if adjacency != "replace-one" && !text(it, "total")?.contains(&format!("ε {told}")) {
                report.fault("`total` does not say the number of `totals`");
            }
            let says = number.ok_or_else(|| {
                Error::failed(format!("{name} is {says}, and must be a number in quotes"))
                    .cure("restore the file from a copy: as it is, nobody can check it")
            })?;
            let claim = FileClaim::check(name.clone(), says, delta, &all, noise.grids, choices);
            report.claims.push(claim);
            if known {
                report.fault(format!(
                    "{name} is a number, and a run's noise was no secret: no total"
                ));
            }
            if zero_out && adjacency == "replace-one" {
                report.fault(format!("{name} is a number, and not every entry is for it"));
            }
            if key == "epsilon_at_most" && (hidden || claimed) {
                report.fault(format!(
                    "{name} is an upper bound, and not all that was spent is known"
                ));
            }
        }
    }
    whom(it, &units, by_place, &mut report);
    if shares_noise && !text(it, "total")?.contains("tell nobody") {
        report.fault("`total` does not say that it depends on the noise of other sites");
    }
    if report.claims.is_empty() {
        report.note("it states no total: there is nothing to hold");
    }
    report.note(format!("{spending} runs spent something"));
    Ok(report)
}
