//! The files beside a certificate that must fit it: the model that it is about, and in a workspace
//! the ledger that granted its run.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::claim::FileReport;
use super::json::{items, without_count};
use super::ledger::sha256;

/// The form of a certificate; the first one had no number.
fn form(it: &Value) -> u64 {
    it["format"].as_u64().unwrap_or(1)
}

/// The model beside a certificate must be the one that it is about.
pub fn model(report: &mut FileReport, file: &Path, it: &Value) {
    let Ok(bytes) = std::fs::read(file.with_file_name("model.ron")) else { return };
    match it["model"].as_str() {
        Some(stated) if sha256(&bytes) != stated => report
            .fault("`model` is not the SHA-256 of model.ron beside it: one of them was changed"),
        // Certificates of the first version do not name their model.
        None if form(it) > 1 => report.fault("there is no `model`, and a model.ron beside it"),
        _ => {}
    }
}

/// The ledger of the workspace whose run directory holds this file.
fn ledger_of(file: &Path) -> Option<PathBuf> {
    let run = std::path::absolute(file).ok()?;
    let runs = run.parent()?.parent().filter(|it| it.file_name().is_some_and(|it| it == "runs"))?;
    let ledger = runs.parent()?.join("ledger.jsonl");
    ledger.is_file().then_some(ledger)
}

/// What the ledger granted must be what the certificate states. The ledger itself is checked by
/// `halflight verify LEDGER`.
pub fn ledger(report: &mut FileReport, file: &Path, it: &Value) {
    let Some(bytes) = ledger_of(file).and_then(|ledger| std::fs::read(ledger).ok()) else { return };
    let text = |name: &str| it[name].as_str();
    let Some(run) = text("run") else { return };
    let lines = || {
        let lines = bytes.split(|byte| *byte == b'\n');
        lines.filter_map(|line| serde_json::from_slice::<Value>(line).ok())
    };
    let kind = |line: &Value, kind: &str| line["entry"]["kind"] == kind;
    let Some(line) = lines().find(|it| kind(it, "grant") && it["entry"]["run"] == run) else {
        report.note(format!("the ledger of its workspace has not granted a run '{run}'"));
        return;
    };
    let granted = &line["entry"];
    let mut differs = |name: &str| {
        let what =
            format!("`{name}` is not what the ledger of its workspace granted to run '{run}'");
        report.fault(what);
    };
    if text("account") != granted["account"].as_str() {
        differs("account");
    }
    // A choice is granted under a name of its own.
    // The first version wrote the seed of known noise behind the method.
    let method = granted["method"].as_str().and_then(|it| it.split(" with ").next());
    if it.get("chosen").is_none() && text("method") != method {
        differs("method");
    }
    let target = |it: &Value| (it["target"]["epsilon"].as_f64(), it["target"]["delta"].as_f64());
    if target(it) != target(granted) {
        differs("target");
    }
    let noise = |it: &Value| it.get("noise").cloned().unwrap_or_else(|| "secret".into());
    if noise(it) != noise(granted) && form(it) > 1 {
        differs("noise");
    }
    let is_planned = |drawn: &Value| {
        let count = |it: &Value| it["count"].as_u64().unwrap_or(u64::MAX);
        items(&granted["events"]).iter().any(|event| {
            let mut same = event.clone();
            same["count"] = drawn["count"].clone();
            same == *drawn && count(drawn) <= count(event)
        })
    };
    let settled = lines().find(|it| kind(it, "settle") && it["entry"]["run"] == run);
    let states_all = settled.is_none_or(|settled| {
        let used =
            items(&settled["entry"]["used"]).iter().map(|it| it.as_u64().unwrap_or(u64::MAX));
        let used: Vec<(&Value, u64)> = items(&granted["events"]).iter().zip(used).collect();
        let stated = items(&it["mechanisms"]).iter();
        let stated: Vec<(&Value, u64)> =
            stated.map(|it| (it, it["count"].as_u64().unwrap_or_default())).collect();
        let draws = |all: &[(&Value, u64)], like: &Value| -> u64 {
            let same = all.iter().filter(|(event, _)| without_count(event) == without_count(like));
            same.fold(0, |sum: u64, (_, count)| sum.saturating_add(*count))
        };
        used.iter().all(|(event, _)| draws(&stated, event) >= draws(&used, event))
    });
    if !states_all || !items(&it["mechanisms"]).iter().all(is_planned) {
        differs("mechanisms");
    }
    if text("person") != granted["unit"].as_str() {
        differs("person");
    }
    let order = |it: &Value| it["order"].as_str().unwrap_or("by_place").to_owned();
    if order(it) != order(granted) {
        differs("order");
    }
    let sites = items(&it["other_sites"]).len() as u64 + 1;
    let stated = it["may_collude"].as_u64().map(|may_collude| (Some(sites), Some(may_collude)));
    let shared = &granted["one_noise"];
    let shared =
        (!shared.is_null()).then(|| (shared["sites"].as_u64(), shared["may_collude"].as_u64()));
    if stated != shared {
        differs("may_collude");
    }
    // A ledger of an early version was written anew once: then its lines have other hashes.
    if lines().any(|it| kind(&it, "rewritten")) {
        return;
    }
    let named = &it["ledger_line"];
    let fits = if named.is_null() {
        form(it) < 3
    } else {
        named["seq"] == line["seq"] && named["hash"] == line["hash"]
    };
    if !fits {
        differs("ledger_line");
    }
}
