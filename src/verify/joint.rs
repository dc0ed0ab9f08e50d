//! The joint certificate of several sites, with one model or one ranking: the guarantee of each, and what
//! they are together.

use std::collections::BTreeMap;

use ed25519_dalek::{Signature, VerifyingKey};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::certificate::{Drawn, guarantee, is_less};
use super::claim::FileReport;
use super::json::{list, number, target, text};
use super::wording::slots;
use crate::error::Result;

/// What the others see, as every joint certificate says it.
const SEEN: &str = "What a site sends to the others, and what everybody sees who can read the \
    exchange, was released before: it is counted here. Sites that put what they know together learn \
    no more than this about the records of another one.";

const SEEN_OF_ONE_NOISE: &str = "What a site sends to the others is hidden under masks. Who can read the \
    exchange learns the sum of all sites, with the noise that is counted here.";

/// How much rounding may make a scale differ.
const ROUNDED: f64 = 1e-12;

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
    if it["one_noise"].is_null() || !promised {
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
    } else {
        together(&mut report, it)?;
    }
    one_noise(&mut report, it)?;
    if it["seen"] != if it["one_noise"].is_null() { SEEN } else { SEEN_OF_ONE_NOISE } {
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

/// One noise for all: whether the shares that are not known hide every site's part as much as it was charged
/// for, and what is left to a site of which all others put together what they know.
fn one_noise(report: &mut FileReport, it: &Value) -> Result<()> {
    let one = &it["one_noise"];
    let sites = list(it, "sites")?;
    if one.is_null() {
        if sites.iter().any(|site| !site["alone"].is_null()) {
            report.fault("`alone` belongs to one noise for all, and there is none");
        }
        return Ok(());
    }
    let adding = sites.len() as f64 - number(one, "may_collude")?;
    if adding < 2.0 || number(one, "may_collude")? < 1.0 {
        report.fault("`may_collude` is none of the sites or nearly all of them");
    }
    let (mut each, mut least) = (Vec::new(), Vec::new());
    for site in sites {
        let (name, records) = (text(site, "name")?, number(site, "records")?);
        let share = |event: &Value| one["shares"][event["label"].as_str()?].as_f64();
        let charged = list(site, "mechanisms")?;
        for event in charged {
            let sum =
                records * event["mechanism"]["gaussian"]["sigma"].as_f64().unwrap_or(f64::NAN);
            let Some(share) = share(event) else { continue };
            let is_enough = adding.sqrt() * share >= sum * (1.0 - ROUNDED);
            if !is_enough {
                report.fault(format!(
                    "{adding} shares are less noise than site {name} is charged for"
                ));
            }
        }
        if site["guarantee"].is_null() {
            continue;
        }
        let alone = &site["alone"];
        let of_share = list(alone, "mechanisms")?;
        let fits = |(event, alone): (&Value, &Value)| {
            let Some(share) = share(event) else { return event == alone };
            let noise = &alone["mechanism"]["gaussian"];
            let sigma = noise["sigma"].as_f64().unwrap_or(f64::NAN);
            let mut same = event.clone();
            for part in ["sigma", "grid"] {
                same["mechanism"]["gaussian"][part] = noise[part].clone();
            }
            same == *alone && records * sigma <= share * (1.0 + ROUNDED)
        };
        if charged.len() != of_share.len() || !charged.iter().zip(of_share).all(fits) {
            report.fault(format!("`alone` of site {name} is not what its share alone hides"));
        }
        let drawn = Drawn::of(&[alone])?;
        let (epsilon, delta) = target(alone)?;
        if delta != number(&site["guarantee"], "delta")? {
            report.fault(format!("`alone` of site {name} has another δ than its guarantee"));
        }
        report.claims.push(drawn.claim(
            format!("site {name} with its share alone"),
            epsilon,
            delta,
            false,
        ));
        report.faults.extend(drawn.faults);
        each.push(format!("{name}: ε = {{}}"));
        least.push(epsilon);
    }
    let each = if each.is_empty() { "NO GUARANTEE".to_owned() } else { each.join("; ") };
    let pattern = format!(
        "All sites have one noise. The guarantees hold while at least {adding} of the {} sites add their \
         shares of it and tell them nobody, and while nobody can compute masks without their keys (X25519, \
         HKDF with SHA-256, ChaCha20). If all other sites put together what they know, a site has its own \
         share alone: {each}, each at the δ of the guarantee.",
        sites.len(),
    );
    repeated(report, one, "words", &pattern, &least);
    Ok(())
}

/// One noise for all: what holds for somebody with records at all sites, whom one noise hides.
fn together(report: &mut FileReport, it: &Value) -> Result<()> {
    let (sites, one) = (list(it, "sites")?, &it["one_noise"]);
    let all = &one["together"];
    let adding = sites.len() as f64 - number(one, "may_collude")?;
    let mut own = Vec::new();
    for site in sites {
        let (name, records) = (text(site, "name")?, number(site, "records")?);
        for event in list(site, "mechanisms")? {
            own.push((name, records, text(event, "label")?, event));
        }
    }
    let mut fits = true;
    let mut count = 0;
    for drawn in list(all, "mechanisms")? {
        let label = text(drawn, "label")?;
        // Somebody may be held out at one site and train at another one.
        fits &= drawn["held_out"] != true;
        let Some(share) = one["shares"][label].as_f64() else {
            // What a site released for itself.
            let same = |(name, _, own, event): &&(&str, f64, &str, &Value)| {
                let mut event = (*event).clone();
                event["label"] = label.into();
                event.as_object_mut().map(|event| event.remove("held_out"));
                format!("{name}: {own}") == label && event == *drawn
            };
            fits &= own.iter().filter(same).count() == 1;
            count += 1;
            continue;
        };
        let number = |event: &Value, key: &str| {
            event["mechanism"]["gaussian"][key].as_f64().unwrap_or(f64::NAN)
        };
        let joined: Vec<_> = own.iter().filter(|(.., own, _)| *own == label).collect();
        let moved =
            joined.iter().map(|(_, records, _, event)| records * number(event, "sensitivity"));
        fits &= joined.len() == sites.len()
            && joined.iter().all(|(.., event)| {
                event["count"] == drawn["count"]
                    && number(event, "coordinates") == number(drawn, "coordinates")
            })
            && number(drawn, "sensitivity") >= moved.sum::<f64>()
            && number(drawn, "sigma") <= adding.sqrt() * share * (1.0 + ROUNDED);
        count += joined.len();
    }
    if !fits || count != own.len() {
        report.fault("`together` is not what one noise hides of somebody at all sites");
    }
    let drawn = Drawn::of(&[all])?;
    let (epsilon, delta) = target(all)?;
    let mut sum = 0.0;
    for site in sites {
        sum += number(&site["guarantee"], "delta")?;
    }
    if (delta / sum - 1.0).abs() > ROUNDED {
        report.fault("the δ of `together` is not the sum of those of the sites");
    }
    report.claims.push(drawn.claim("somebody at all sites".to_owned(), epsilon, delta, false));
    report.faults.extend(drawn.faults);
    let pattern = "One noise hides somebody with records at several sites, not one of each: at all of them, ε = \
        {} and δ = {}. Nobody has checked whether the same person has records at several sites.";
    repeated(report, it, "several", pattern, &[epsilon, delta]);
    Ok(())
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

    /// The certificate, signed by all sites as it is.
    fn signed(mut it: Value) -> Value {
        it["signed"] = json!({});
        let count = it["sites"].as_array().unwrap().len();
        for at in 0..count {
            let key = SigningKey::from_bytes(&[at as u8; 32]);
            it["sites"][at]["key"] = json!(hexadecimal(key.verifying_key().as_bytes()));
        }
        let digest = digest(&it);
        for (at, name) in ["A", "B", "C"].into_iter().take(count).enumerate() {
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

    /// Three sites with one noise for all, of which one may tell its share: each alone has 1/√2 of it.
    fn with_one_noise() -> Value {
        let mut it = certificate();
        let mut third = it["sites"][1].clone();
        third["name"] = json!("C");
        it["sites"].as_array_mut().unwrap().push(third);
        let share = 2.0_f64.sqrt() * 150.0;
        for site in it["sites"].as_array_mut().unwrap() {
            let records = site["records"].as_f64().unwrap();
            let mut alone = site["mechanisms"].clone();
            let sigma = share / records;
            let exponent = sigma.log2().floor() - 28.0;
            let sigma = (sigma / exponent.exp2()).floor() * exponent.exp2();
            alone[0]["mechanism"]["gaussian"]["sigma"] = json!(sigma);
            alone[0]["mechanism"]["gaussian"]["grid"] = json!(exponent.exp2());
            site["alone"] = json!({"epsilon": if records > 40.0 { 3.0 } else { 0.5 }, "delta": 1e-5,
                "mechanisms": alone});
        }
        it["statement"] =
            json!(it["statement"].as_str().unwrap().replace("2 sites", "3 sites").replace(
                "(replace-one).",
                "(replace-one); C (40 records): ε = 2.0000 and δ = 1e-5 (replace-one)."
            ));
        it["several"] = json!(
            "One noise hides somebody with records at several sites, not one of each: at all of them, ε = \
             2.7000 and δ = 3e-5. Nobody has checked whether the same person has records at several sites."
        );
        let mut together = it["sites"][0]["mechanisms"].clone();
        let noise = json!({"coordinates": 3, "sensitivity": 190.0 * (1.0 + 1e-12),
            "sigma": 300.0, "grid": 2.0_f64.powi(-20)});
        together[0]["mechanism"]["gaussian"] = noise;
        let together = json!({"epsilon": 2.7, "delta": 3e-5, "mechanisms": together});
        it["one_noise"] = json!({"may_collude": 1, "shares": {"mean": share * (1.0 + 1e-12)},
            "together": together,
            "words": "All sites have one noise. The guarantees hold while at least 2 of the 3 sites add \
                their shares of it and tell them nobody, and while nobody can compute masks without their \
                keys (X25519, HKDF with SHA-256, ChaCha20). If all other sites put together what they \
                know, a site has its own share alone: A: ε = 3.0; B: ε = 0.5; C: ε = 0.5, each at the δ of the guarantee."});
        it["seen"] = json!(SEEN_OF_ONE_NOISE);
        it
    }

    #[test]
    fn one_noise_for_all_is_as_much_as_each_site_is_charged_for_and_what_is_left_alone_is_said() {
        let check = |text: &str| {
            let edited: Value = serde_json::from_str(text).unwrap();
            check("joint.json", &signed(edited)).unwrap()
        };
        let text = with_one_noise().to_string();
        let report = check(&text);
        assert!(report.holds() && report.claims.len() == 7, "{}", report.text());
        for (from, to) in [
            ("\"may_collude\":1", "\"may_collude\":0"),
            ("\"may_collude\":1", "\"may_collude\":2"),
            ("\"mean\":212.", "\"mean\":211."),
            (
                "\"alone\":{\"delta\":0.00001,\"epsilon\":3.0",
                "\"alone\":{\"delta\":0.00001,\"epsilon\":2.0",
            ),
            ("\"alone\":{\"delta\":0.00001", "\"alone\":{\"delta\":0.0001"),
            ("\"sigma\":0.7071", "\"sigma\":0.9071"),
            ("A: ε = 3.0", "A: ε = 1.0"),
            ("B: ε = 0.5", "B: ε = 0.25"),
            ("at least 2 of the 3", "at least 1 of the 3"),
            ("is hidden under masks", "is not hidden"),
            ("ε = 2.7000 and", "ε = 2.0000 and"),
            ("\"delta\":0.00003,\"epsilon\":2.7", "\"delta\":0.00003,\"epsilon\":2.0"),
            ("\"sensitivity\":190.", "\"sensitivity\":180."),
            ("\"sigma\":300.0", "\"sigma\":301.0"),
            ("\"one_noise\"", "\"no_noise\""),
        ] {
            let edited = text.replacen(from, to, 1);
            assert_ne!(edited, text, "{from}");
            assert!(!check(&edited).holds(), "{from}");
        }
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
