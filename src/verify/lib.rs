//! A second opinion: recomputes the numbers of a certificate or a ledger by another method.
//!
//! | module | holds |
//! |---|---|
//! | [`loss`] | the privacy loss of one mechanism, as a transform |
//! | [`curve`] | ε of a list of mechanisms: closed forms, Rényi divergences, a contour integral |
//! | [`selections`] | many selections of one size |
//! | [`json`] | reads files that others may have edited |
//! | [`claim`] | a number of a file next to the recomputed one |
//! | [`noise`] | whether noise could be drawn as a file lists it |
//! | [`wording`] | the sentences of a certificate, written a second time |
//! | [`beside`] | the model and the ledger beside a certificate |
//! | [`certificate`], [`account`], [`ledger`] | the numbers in these files, and what they must match |
//! | [`joint`] | the certificate of several sites with one model |
//!
//! Nothing from `halflight_dp::accountant` or the ledger is used: no lattice, no Fourier
//! transform of masses, none of their structs. Both share only the list of mechanisms in the file
//! and the mathematics. `assets/verify.py` is a third opinion, in 220 lines of Python.

use halflight_base::error;
use halflight_numeric as numeric;

pub mod account;
pub mod beside;
pub mod certificate;
pub mod claim;
pub mod curve;
pub mod joint;
pub mod json;
pub mod ledger;
pub mod loss;
pub mod noise;
pub mod selections;
pub mod wording;

use std::path::Path;

use serde_json::Value;

use self::claim::FileReport;
use crate::error::{Doing as _, Error, Result};

/// Checks the certificate or the ledger in this file, or in this directory.
pub fn verify(path: &Path) -> Result<FileReport> {
    let inside = ["certificate.json", "ledger.jsonl", ".halflight/ledger.jsonl"];
    let found = inside.iter().map(|name| path.join(name)).find(|file| file.is_file());
    if path.is_dir() && found.is_none() {
        return Err(Error::failed("there is neither a certificate nor a ledger in this directory")
            .at(path.display().to_string())
            .cure(
                "a run writes its certificate when it ends; an unfinished one goes on with \
                 halflight run --resume RUN",
            ));
    }
    let file = found.unwrap_or_else(|| path.to_path_buf());
    let bytes = std::fs::read(&file).doing("read", &file)?;
    let name = file.display().to_string();
    let checked = match serde_json::from_slice::<Value>(&bytes) {
        Ok(value) if value.get("sites").is_some() => joint::check(&name, &value),
        Ok(value) if value.get("mechanisms").is_some() => certificate::check(&name, &value),
        Ok(value) if value.get("entries").is_some() && value.get("totals").is_some() => {
            account::check(&name, &value)
        }
        Ok(value) if value.get("seq").is_none() => Err(neither("it has no list of mechanisms")),
        _ if is_ledger(&bytes) => ledger::check(&file, &bytes),
        Err(error) => Err(neither(&format!("it is not JSON: {error}"))),
        Ok(_) => Err(neither("it has no list of mechanisms")),
    };
    checked.map_err(|error| error.at(name))
}

fn is_ledger(bytes: &[u8]) -> bool {
    let line = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
    line.starts_with(b"{\"seq\":")
}

fn neither(why: &str) -> Error {
    Error::failed(format!("this is neither a certificate nor a ledger of halflight: {why}"))
        .cure("give the certificate of a run or of an account, or the ledger.jsonl of a workspace")
}
