//! The joint certificate of several sites: the guarantee of each, and what they are together.

use serde_json::Value;

use super::certificate::{Drawn, guarantee, is_less};
use super::claim::FileReport;
use super::json::{list, number, text};
use super::wording::slots;
use crate::error::Result;

/// What the others see, as every joint certificate says it.
const SEEN: &str = "What a site sends to the others, and what everybody sees who can read the \
    exchange, was released before: it is counted here. Sites that put what they know together learn \
    no more than this about the records of another one.";

pub fn check(file: &str, it: &Value) -> Result<FileReport> {
    let mut report = FileReport::new(file, "joint certificate");
    let (mut each, mut told, mut promised) = (Vec::new(), Vec::new(), true);
    for site in list(it, "sites")? {
        let name = text(site, "name")?;
        let drawn = Drawn::of(&[site]).map_err(|error| error.at(name))?;
        let place = format!("the guarantee of site {name}");
        let own = &site["guarantee"];
        report.claims.extend(guarantee(&place, own, &drawn, false, &mut report.faults)?);
        report.faults.extend(drawn.faults);
        let start = format!("{name} ({} records): ", number(site, "records")?);
        if own.is_null() {
            promised = false;
            each.push(format!("{start}NO GUARANTEE, its noise is known"));
            continue;
        }
        let adjacency = text(own, "adjacency")?.replace('_', "-");
        each.push(format!("{start}ε = {{}} and δ = {{}} ({adjacency})"));
        told.extend([number(own, "epsilon")?, number(own, "delta")?]);
    }
    let pattern = format!(
        "{} sites trained one model together. Whoever has records at one of them is protected by \
         (ε, δ)-differential privacy with the numbers of this site. {}.",
        each.len(),
        each.join("; ")
    );
    repeated(&mut report, it, "statement", &pattern, &told);
    let sum = |first: usize| told.iter().skip(first).step_by(2).sum::<f64>();
    let (numbers, sums) = if promised {
        ("ε = {} and δ = {}", vec![sum(0), sum(1)])
    } else {
        ("NO GUARANTEE", Vec::new())
    };
    let pattern = format!(
        "Whoever has records at several sites adds up their ε and their δ: at all of them, {numbers}. \
         Nobody has checked whether the same person has records at several sites."
    );
    repeated(&mut report, it, "several", &pattern, &sums);
    if it["seen"] != SEEN {
        report.fault("`seen` is not the sentence about what the others see");
    }
    report.note("it counts what every site planned; each site's own certificate counts its draws");
    report.note(
        "it has no signature: sensitivities, numbers of records, keys and the protocol are taken as they \
         stand. Compare it with the copies of the other sites",
    );
    Ok(report)
}

/// A sentence must be the one of this pattern, with numbers that are no smaller than these.
fn repeated(report: &mut FileReport, it: &Value, key: &str, pattern: &str, least: &[f64]) {
    let found = it[key].as_str().and_then(|said| slots(said, pattern));
    let Some(found) = found.filter(|found| found.len() == least.len()) else {
        report.fault(format!("`{key}` is not the sentence about these sites"));
        return;
    };
    for (said, least) in found.iter().zip(least) {
        if said.parse().is_ok_and(|said: f64| !is_less(said, *least)) {
            continue;
        }
        report.fault(format!("`{key}` says {said}, and the guarantees of the sites say {least}"));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Two sites, each with one Gaussian release of μ = ½: ε is 1.99 at 10⁻⁵.
    fn certificate() -> Value {
        let site = |name: &str, records: u32| {
            json!({
                "name": name,
                "records": records,
                "guarantee": {"epsilon": 2.0, "epsilon_lower": 1.9, "delta": 1e-5,
                    "adjacency": "replace_one", "bound": "", "covers": "fixed_plan"},
                "mechanisms": [{"label": "mean", "what": "", "count": 1, "adjacency": "replace_one",
                    "mechanism": {"gaussian":
                        {"sensitivity": 0.5, "sigma": 1.0, "grid": 2.0_f64.powi(-28), "coordinates": 3}}}],
            })
        };
        json!({
            "kind": "joint run",
            "sites": [site("A", 300), site("B", 40)],
            "statement": "2 sites trained one model together. Whoever has records at one of them is \
                protected by (ε, δ)-differential privacy with the numbers of this site. A (300 records): \
                ε = 2.0000 and δ = 1e-5 (replace-one); B (40 records): ε = 2.0000 and δ = 1e-5 \
                (replace-one).",
            "several": "Whoever has records at several sites adds up their ε and their δ: at all of \
                them, ε = 4.0000 and δ = 2e-5. Nobody has checked whether the same person has records \
                at several sites.",
            "seen": SEEN,
        })
    }

    #[test]
    fn a_joint_certificate_holds_and_every_number_in_it_that_was_lowered_is_found() {
        let report = check("joint.json", &certificate()).unwrap();
        assert!(report.holds() && report.claims.len() == 2, "{}", report.text());
        let text = certificate().to_string();
        for (from, to) in [
            ("\"epsilon\":2.0", "\"epsilon\":1.0"),
            ("A (300 records): ε = 2.0", "A (300 records): ε = 1.0"),
            ("B (40 records): ε = 2.0000 and δ = 1e-5", "B (40 records): ε = 2.0000 and δ = 1e-6"),
            ("ε = 4.0000", "ε = 2.0000"),
            ("δ = 2e-5", "δ = 1e-5"),
            ("B (40 records)", "B (400 records)"),
            ("(replace-one); B", "(zero-out); B"),
            ("was released before", "was not released before"),
            ("Nobody has checked", "Everybody has checked"),
        ] {
            let edited = text.replacen(from, to, 1);
            assert_ne!(edited, text, "{from}");
            let edited: Value = serde_json::from_str(&edited).unwrap();
            let report = check("joint.json", &edited).unwrap();
            assert!(!report.holds(), "{from}: {}", report.text());
        }
        assert!(check("joint.json", &json!({"kind": "joint run"})).is_err());
    }
}
