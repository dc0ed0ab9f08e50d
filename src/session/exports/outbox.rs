//! Copies out of the workspace the files that may leave it: exactly those of [`MAY_LEAVE`], checked
//! once more. Everything else there is only for the curator.

use std::fs::DirBuilder;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::model_file::{self, SavedModel};
use crate::error::{Doing as _, Error, Result};
use crate::files::{self, step};
use crate::privacy::ledger::{AccountId, sha256};
use crate::statements::{Certificate, Report, certificate, report, signature};
use crate::store::resumption::JOINT;
use crate::store::run_directory::EVENTS;

/// Files of a run directory, and the purpose of each. Only the certificate is required.
pub const MAY_LEAVE: [(&str, &str); 7] = [
    (certificate::FILE, "what is promised to the people in the data"),
    (signature::FILE, "the signature of the certificate"),
    (JOINT, "what is promised to the people at each site of a joint run"),
    (model_file::TEXT, "the model, with what turns a raw row into its input"),
    (model_file::NUMBERS, "its numbers, for other programs"),
    (report::FILE, "a page about the run"),
    (EVENTS, "the public and released numbers of every step"),
];

/// Copies the files of the run in `directory` that may leave into a new folder `into`. The
/// certificate is [`Certificate::for_others`], signed if the user named a key, and the report is
/// about it.
pub fn fill(directory: &Path, into: &Path) -> Result<Vec<PathBuf>> {
    let certificate = Certificate::read(directory)?.ok_or_else(|| {
        Error::refused("the run has no certificate: it has not ended")
            .at(directory.display().to_string())
            .cure("wait for it, or `halflight run --resume` it if its program died")
    })?;
    refuse_without_guarantee(&certificate, directory)?;
    let mut copy = certificate.for_others()?;
    let mut found = Vec::new();
    let paid = certificate.score.as_ref().and_then(|it| it.elsewhere.as_ref()?.account.clone());
    for (name, _) in MAY_LEAVE {
        // Both are made for the copy.
        if [certificate::FILE, signature::FILE].contains(&name) {
            continue;
        }
        let path = directory.join(name);
        let bytes = std::fs::read(&path).if_there().doing("read", &path)?;
        let Some(mut bytes) = bytes else { continue };
        let fits = match name {
            EVENTS => only_public_or_released(&bytes),
            model_file::TEXT => is_about(&certificate, &bytes),
            JOINT => is_of(&certificate, &bytes),
            report::FILE => !String::from_utf8_lossy(&bytes).contains("CURATOR ONLY"),
            _ => true,
        };
        if !fits {
            return Err(not_what_the_run_wrote(name, directory));
        }
        if let Some(account) = paid.as_ref().filter(|_| name.starts_with("model.")) {
            // Earlier versions wrote the account that paid for a score into the model.
            replace(&mut bytes, account, &AccountId::alias()?.0);
        }
        match name {
            model_file::TEXT => copy.model = copy.model.map(|_| sha256(&bytes)),
            report::FILE => bytes = Report::beside(directory, &copy)?.into_bytes(),
            _ => {}
        }
        found.push((name, bytes));
    }
    found.insert(0, (certificate::FILE, copy.text()?.into_bytes()));
    files::create_folder(into.parent().unwrap_or(Path::new(".")))
        .and_then(|()| step::make_folder(&DirBuilder::new(), into))
        .map_err(|error| match error.kind() {
            ErrorKind::AlreadyExists => Error::usage("it is there already")
                .at(into.display().to_string())
                .cure("choose another folder with --into, or remove it first"),
            _ => Error::io("create the folder", into, &error),
        })?;
    let written = write_and_sign(&found, into);
    if written.is_err() {
        // Half a folder would pass for a whole one.
        let _ = step::remove_folder(into);
    }
    written
}

/// Whether a joint certificate is that of the certificate's run.
fn is_of(certificate: &Certificate, joint: &[u8]) -> bool {
    let joint = serde_json::from_slice::<Value>(joint).unwrap_or_default();
    !certificate.other_sites.is_empty() && joint["run"] == certificate.run.0.as_str()
}

fn write_and_sign(found: &[(&str, Vec<u8>)], into: &Path) -> Result<Vec<PathBuf>> {
    let mut copied = Vec::new();
    for (name, bytes) in found {
        let path = into.join(name);
        files::write(&path, bytes)?;
        copied.push(path);
    }
    if signature::sign(into)? {
        copied.push(into.join(signature::FILE));
    }
    Ok(copied)
}

/// Replaces a name by one of the same length, so that lengths that a file states stay right.
fn replace(bytes: &mut [u8], from: &str, into: &str) {
    let (from, into) = (from.as_bytes(), into.as_bytes());
    if from.len() != into.len() {
        return;
    }
    let mut at = 0;
    while let Some(found) = bytes[at..].windows(from.len()).position(|part| part == from) {
        at += found;
        bytes[at..at + into.len()].copy_from_slice(into);
    }
}

/// Refuses the files of a run whose noise is known.
fn refuse_without_guarantee(certificate: &Certificate, directory: &Path) -> Result<()> {
    if certificate.guarantee.is_some() {
        return Ok(());
    }
    Err(Error::refused("the run has no guarantee: nothing of it may be passed on")
        .at(directory.display().to_string())
        .cure("run the plan again without --insecure-noise-seed"))
}

/// Refuses the model in a folder whose certificate promises nothing, or is about another model. A
/// model that somebody passed on may have no certificate.
pub fn refuse_model(model: &SavedModel) -> Result<()> {
    model.refuse_known_noise()?;
    let directory = model.path.parent().unwrap_or(Path::new(""));
    if let Some(certificate) = Certificate::read(directory)? {
        refuse_without_guarantee(&certificate, directory)?;
    }
    refuse_another_model(&model.path)
}

/// Refuses the model in a folder whose certificate is about another model.
pub fn refuse_another_model(model: &Path) -> Result<()> {
    let directory = model.parent().unwrap_or(Path::new(""));
    let Some(certificate) = Certificate::read(directory)? else { return Ok(()) };
    let bytes = std::fs::read(model).doing("read", model)?;
    if is_about(&certificate, &bytes) {
        return Ok(());
    }
    Err(not_what_the_run_wrote(model_file::TEXT, directory))
}

/// Whether a certificate is about this model; those of the first version do not say.
fn is_about(certificate: &Certificate, model: &[u8]) -> bool {
    certificate.model.as_ref().is_none_or(|it| *it == sha256(model))
}

fn not_what_the_run_wrote(name: &str, directory: &Path) -> Error {
    Error::refused(format!("{name} is not what the run wrote"))
        .at(directory.display().to_string())
        .cure("restore it from a copy, or run the plan again")
}

/// Whether every number of every step says that it is public or released.
fn only_public_or_released(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    let is_open = |value: &Value| matches!(value["standing"].as_str(), Some("public" | "released"));
    text.lines().all(|line| {
        let step: Value = serde_json::from_str(line).unwrap_or_default();
        step["values"].as_object().is_some_and(|values| values.values().all(is_open))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As models of earlier versions name the account that paid for their score.
    #[test]
    fn a_name_is_replaced_wherever_it_stands_by_one_of_the_same_length() {
        let mut bytes =
            b"(account: \"acc-0123456789\", run: \"acc-012345678\") acc-0123456789".to_vec();
        let alias = AccountId::alias().unwrap().0;
        replace(&mut bytes, "acc-0123456789", &alias);
        let wanted = format!("(account: \"{alias}\", run: \"acc-012345678\") {alias}");
        assert_eq!(String::from_utf8(bytes).unwrap(), wanted);
    }

    #[test]
    fn a_step_with_an_exact_number_may_not_leave() {
        let line = |standing: &str| {
            format!(
                "{{\"step\":1,\"values\":{{\"objective\":{{\"value\":1,\"standing\":\"{standing}\"}}}}}}\n"
            )
        };
        assert!(only_public_or_released((line("public") + &line("released")).as_bytes()));
        for bad in [line("curator"), line("public") + "{", "{\"step\":1}\n".to_owned()] {
            assert!(!only_public_or_released(bad.as_bytes()), "{bad}");
        }
    }
}
