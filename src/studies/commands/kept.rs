//! Keeps the results of trials in a file, so that a study continues where it was stopped, and a new
//! rule can be tried on earlier results.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use halflight_advice::rehearsal::Played;
use serde_json::{Value, json};

use crate::error::{Doing, Error, Result};
use crate::files::{self, step};
use crate::methods::STEPS_VERSION;

/// The known results, and the file for new ones.
pub struct Kept {
    known: HashMap<String, Option<Played>>,
    file: Mutex<std::fs::File>,
}

impl Kept {
    /// Ignores results from other versions of the steps.
    pub fn open(path: &Path) -> Result<Self> {
        const KEEP: &str = "keep results in";
        let text = std::fs::read_to_string(path).if_there().doing(KEEP, path)?.unwrap_or_default();
        let lines = text.lines().filter_map(|line| serde_json::from_str(line).ok());
        let known = lines.filter_map(|line: Value| {
            let same = line["steps"] == json!(STEPS_VERSION);
            same.then(|| {
                Some((
                    line["trial"].as_str()?.to_owned(),
                    serde_json::from_value(line["played"].clone()).ok()?,
                ))
            })?
        });
        let known = known.collect();
        let file = step::open(files::private().create(true).append(true), path);
        let file = Mutex::new(file.doing(KEEP, path)?);
        Ok(Self { known, file })
    }

    /// The result of a trial: the known one, or else that of `made`.
    pub fn of(
        &self,
        trial: &str,
        made: impl FnOnce() -> Result<Option<Played>>,
    ) -> Result<Option<Played>> {
        if let Some(known) = self.known.get(trial) {
            return Ok(*known);
        }
        let played = made()?;
        let line =
            format!("{}\n", json!({"steps": STEPS_VERSION, "trial": trial, "played": played}));
        let file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        step::write(&file, line.as_bytes())
            .map_err(|error| Error::failed(format!("cannot keep a result: {error}")))?;
        Ok(played)
    }
}
