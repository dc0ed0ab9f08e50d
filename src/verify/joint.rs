//! The joint certificate of several sites, with one model or one ranking: the guarantee of each, and what
//! they are together.

use std::collections::BTreeMap;

use ed25519_dalek::{Signature, VerifyingKey};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

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
    let done = match it["kind"].as_str() {
        Some("joint ranking") => "ranked public datasets together",
        _ => "trained one model together",
    };
    let pattern = format!(
        "{} sites {done}. Whoever has records at one of them is protected by (ε, δ)-differential \
         privacy with the numbers of this site. {}.",
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
    let digest = digest(it);
    let mut keys = Vec::new();
    for site in list(it, "sites")? {
        let (name, key) = (text(site, "name")?, text(site, "key")?);
        let signed = it["signed"][name].as_str().and_then(bytes).unwrap_or_default();
        if !has_signed(&signed, name, text(it, "protocol")?, &digest, key) {
            report.fault(format!("site {name} has not signed what it says"));
        }
        keys.push(format!("{name} {}", fingerprint(key)));
    }
    report.note(
        "sensitivities and numbers of records are those that each site has signed; the name of the site, its \
         run and who left are not signed",
    );
    report.note(format!("compare the keys with those of the sites: {}", keys.join(", ")));
    Ok(report)
}

/// The digest of what a joint certificate says at all sites.
fn digest(it: &Value) -> String {
    let own = ["site", "run", "left_after_release", "signed"];
    let parts = it.as_object().into_iter().flatten();
    let common: BTreeMap<&String, &Value> =
        parts.filter(|(name, _)| !own.contains(&name.as_str())).collect();
    let text = serde_json::to_string(&common).unwrap_or_default();
    hexadecimal(&Sha256::digest(text))
}

/// Whether this is a message by which a site of this run and key agrees to the digest.
fn has_signed(message: &[u8], site: &str, protocol: &str, digest: &str, key: &str) -> bool {
    let Some((said, signature)) = message.split_last_chunk() else { return false };
    let mut lines = said.splitn(3, |byte| *byte == b'\n');
    let (Some(first), Some(header), Some(body)) = (lines.next(), lines.next(), lines.next()) else {
        return false;
    };
    let header: Value = serde_json::from_slice(header).unwrap_or_default();
    let key = bytes(key).and_then(|key| VerifyingKey::from_bytes(&key.try_into().ok()?).ok());
    first == b"halflight exchange 1"
        && header["kind"] == "ready"
        && header["site"] == site
        && header["protocol"] == protocol
        && body == digest.as_bytes()
        && key.is_some_and(|key| key.verify_strict(said, &Signature::from_bytes(signature)).is_ok())
}

fn fingerprint(key: &str) -> String {
    let digits = hexadecimal(&Sha256::digest(bytes(key).unwrap_or_default())[..8]);
    let groups: Vec<&str> = (0..4).filter_map(|at| digits.get(4 * at..4 * at + 4)).collect();
    groups.join("-")
}

pub(super) fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |text, byte| format!("{text}{byte:02x}"))
}

fn bytes(digits: &str) -> Option<Vec<u8>> {
    let byte = |at: usize| u8::from_str_radix(digits.get(at..at + 2)?, 16).ok();
    (0..digits.len()).step_by(2).map(byte).collect()
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
    use ed25519_dalek::{Signer as _, SigningKey};
    use serde_json::json;

    use super::*;

    /// The certificate, signed by both sites as it is.
    fn signed(mut it: Value) -> Value {
        it["signed"] = json!({});
        for at in 0..2 {
            let key = SigningKey::from_bytes(&[at as u8; 32]);
            it["sites"][at]["key"] = json!(hexadecimal(key.verifying_key().as_bytes()));
        }
        let digest = digest(&it);
        for (at, name) in ["A", "B"].into_iter().enumerate() {
            let key = SigningKey::from_bytes(&[at as u8; 32]);
            let header = json!({"kind": "ready", "site": name, "protocol": "p"});
            let mut message = format!("halflight exchange 1\n{header}\n{digest}").into_bytes();
            let signature = key.sign(&message).to_bytes();
            message.extend(signature);
            it["signed"][name] = json!(hexadecimal(&message));
        }
        it
    }

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
            "site": "A",
            "protocol": "p",
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
        let report = check("joint.json", &signed(certificate())).unwrap();
        assert!(report.holds() && report.claims.len() == 2, "{}", report.text());
        let text = certificate().to_string();
        let ranking = text
            .replace("joint run", "joint ranking")
            .replace("trained one model", "ranked public datasets");
        let ranking = signed(serde_json::from_str(&ranking).unwrap());
        assert!(check("joint.json", &ranking).unwrap().holds());
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
            ("joint run", "joint ranking"),
        ] {
            let edited = text.replacen(from, to, 1);
            assert_ne!(edited, text, "{from}");
            let edited: Value = serde_json::from_str(&edited).unwrap();
            let report = check("joint.json", &signed(edited)).unwrap();
            assert!(!report.holds(), "{from}: {}", report.text());
        }
        assert!(check("joint.json", &json!({"kind": "joint run"})).is_err());
    }

    #[test]
    fn what_was_changed_after_the_sites_signed_is_found() {
        let it = signed(certificate());
        let text = it.to_string();
        let holds =
            |text: &str| check("joint.json", &serde_json::from_str(text).unwrap()).unwrap().holds();
        assert!(holds(&text));
        // The name of the site is each site's own.
        assert!(holds(&text.replace("\"site\":\"A\"", "\"site\":\"B\"")));
        let key = |at: usize| it["sites"][at]["key"].as_str().unwrap().to_owned();
        for (from, to) in [
            ("\"protocol\":\"p\"", "\"protocol\":\"q\"".to_owned()),
            ("\"sensitivity\":0.5", "\"sensitivity\":0.25".to_owned()),
            ("\"coordinates\":3", "\"coordinates\":4".to_owned()),
            (&key(0), key(1)),
            ("\"signed\"", "\"unsigned\"".to_owned()),
        ] {
            let edited = text.replacen(from, &to, 1);
            assert_ne!(edited, text, "{from}");
            assert!(!holds(&edited), "{from}");
        }
    }
}
