//! What a resumed run compares, to be sure that program, session and data are still the same.
//!
//! `resume.json` lies in the run's directory, and `grant.json` in that of a sweep's task. They name
//! fingerprints of private data, under the user's secret. So they are only for the curator, like
//! `curator.jsonl`: exports leave them out, and `resume.json` is removed when the run has ended.
//! Files of earlier versions are replaced when they are found.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::json;
use super::standing::AccountStanding;
use crate::error::{Doing as _, Error, Result};
use crate::files::step;
use crate::privacy::Secret;
use crate::privacy::ledger::{DatasetRecord, Grant, RunId};

/// The file in a run's directory.
pub const FILE: &str = "resume.json";
/// The key of this site's masks, where all sites have one noise.
pub const MASKS: &str = "masks.key";
/// The file in the directory of a task.
const GRANT: &str = "grant.json";

/// The inputs that must not have changed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Origin {
    /// Release of the program.
    pub halflight: String,
    /// [`crate::methods::STEPS_VERSION`].
    pub steps: u32,
    /// SHA-256 of the run's session: plan, seed, settings and datasets.
    pub session: String,
    /// The private records.
    pub private: DatasetRecord,
    /// The keyed name of the private rows in their order. Earlier versions, which chose rows by
    /// their place with a public seed, did not write it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub order: Option<String>,
    /// Fingerprints of the public datasets, by name.
    pub public: BTreeMap<String, String>,
    /// Digests of what else the run depends on: test data and finished models. Earlier versions did not
    /// write them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub others: BTreeMap<String, String>,
    /// Whether the watch was sealed when it started.
    pub sealed: bool,
    /// The seed of a run whose noise is not secret.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub insecure_noise_seed: Option<u64>,
}

impl Origin {
    pub fn write(&self, directory: &Path) -> Result<()> {
        json::write(&directory.join(FILE), self)
    }

    /// As an earlier program wrote it; plain fingerprints are replaced.
    pub fn read(directory: &Path, secret: &Secret) -> Result<Self> {
        let path = directory.join(FILE);
        let text = std::fs::read(&path).doing("read how the run began", &path)?;
        let origin: Self = serde_json::from_slice(&text).map_err(|error| {
            Error::failed(format!("the beginning of the run cannot be read: {error}"))
                .at(path.display().to_string())
        })?;
        if !origin.private.is_plain() {
            return Ok(origin);
        }
        let origin = origin.under(secret);
        origin.write(directory)?;
        Ok(origin)
    }

    /// With plain fingerprints replaced by keyed ones.
    fn under(self, secret: &Secret) -> Self {
        Self { private: self.private.under(secret), ..self }
    }

    /// Refuses to continue if `now` differs from then. The same files in another place are no
    /// difference.
    pub fn check(&self, now: &Self) -> Result<()> {
        let differs = |what: String, cure: &str| {
            Err(Error::refused(format!("{what} since the run began")).cure(cure.to_owned()))
        };
        let (then, private) = (self, &self.private);
        if (&then.halflight, then.steps) != (&now.halflight, now.steps) {
            return differs(
                format!(
                    "halflight {} (steps {}) is another program: {} (steps {}) took the first steps",
                    now.halflight, now.steps, then.halflight, then.steps
                ),
                "resume it with the release that started it, or settle it and run again",
            );
        }
        if then.session != now.session {
            let cure = "bring it back as it was, or run it as a new run";
            return differs("run.ron was changed".to_owned(), cure);
        }
        if private.key != now.private.key {
            let key = |record: &DatasetRecord| record.key.clone().unwrap_or_default();
            return Err(Error::refused(format!(
                "the private records are known under another secret ({}) than this user's ({}): so \
                 nobody can say whether they are the same",
                key(private),
                key(&now.private)
            ))
            .cure("bring that secret back from a backup, or name it with HALFLIGHT_SECRET_FILE"));
        }
        for (name, known) in &now.others {
            match then.others.get(name) {
                Some(then) if then == known => {}
                Some(_) => {
                    return differs(format!("{name} was changed"), "bring it back as it was");
                }
                None => {
                    return Err(Error::refused(format!(
                        "it was begun by an earlier version of halflight, which did not note what \
                         {name} was"
                    ))
                    .cure("settle it and run again"));
                }
            }
        }
        let rows = |it: &DatasetRecord| (it.content.clone(), it.view.clone(), it.rows);
        if rows(private) != rows(&now.private) {
            return differs(
                format!("the private dataset '{}' was changed", private.name),
                "bring its file back as it was: noise that was released belongs to those records",
            );
        }
        if then.order.is_none() {
            return Err(Error::refused(
                "it was begun by an earlier version of halflight, which chose the held-out rows in \
                 another way",
            )
            .cure("resume it with the release that started it, or settle it and run again"));
        }
        if then.order != now.order {
            return differs(
                format!("the rows of the private dataset '{}' were reordered", private.name),
                "bring its file back as it was: by the order of its rows the run knows which of \
                 them it holds out",
            );
        }
        match then.public.iter().find(|(name, known)| now.public.get(*name) != Some(*known)) {
            None => Ok(()),
            Some((name, _)) => differs(
                format!("the public dataset '{name}' was changed"),
                "bring its file back as it was",
            ),
        }
    }
}

/// The draws allowed to a task, and its data.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CarriedGrant {
    pub grant: Grant,
    pub origin: Origin,
    /// The state of the account when the sweep was reserved.
    #[serde(default)]
    pub standing: AccountStanding,
}

impl CarriedGrant {
    /// Gives a task its grant, once this is in the ledger.
    pub fn write(&self, task: &Path) -> Result<()> {
        json::write(&task.join(GRANT), self)
    }

    /// The grant of a task; plain fingerprints of an earlier version are replaced.
    pub fn read(task: &Path, secret: &Secret) -> Result<Self> {
        let carried: Self = json::read(&task.join(GRANT))?;
        if !carried.origin.private.is_plain() {
            return Ok(carried);
        }
        let carried = Self { origin: carried.origin.under(secret), ..carried };
        carried.write(task)?;
        Ok(carried)
    }
}

/// Removes the files kept for resuming alone, when the run has ended.
pub fn forget(directory: &Path) {
    // What stays is removed later: see `leftovers`.
    for file in [FILE, MASKS] {
        let _ = step::remove(&directory.join(file));
    }
}

/// Replaces the plain fingerprints that earlier versions left in the runs and sweeps of a
/// workspace. Those that cannot be replaced now are replaced when they are used.
pub fn cover_all(folder: &Path, secret: &Secret, is_settled: impl Fn(&RunId) -> bool) {
    let below = |path: &Path| {
        let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).collect::<Vec<_>>()
    };
    let sweeps = below(&folder.join("sweeps"));
    let runs = sweeps.iter().flat_map(|sweep| below(&sweep.join("runs")));
    for run in below(&folder.join("runs")).into_iter().chain(runs) {
        let name = run.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if is_settled(&RunId(name)) {
            forget(&run);
        } else {
            let _ = Origin::read(&run, secret);
        }
    }
    for task in sweeps.iter().flat_map(|sweep| below(&sweep.join("tasks"))) {
        let _ = CarriedGrant::read(&task, secret);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn origin() -> Origin {
        let record = DatasetRecord {
            name: "ours".to_owned(),
            origin: "/a.csv".to_owned(),
            content: "c".to_owned(),
            view: "v".to_owned(),
            rows: 10,
            ..DatasetRecord::default()
        };
        Origin {
            halflight: "0.1.0".to_owned(),
            steps: 1,
            session: "s".to_owned(),
            private: record,
            order: Some("o".to_owned()),
            public: BTreeMap::from([("theirs".to_owned(), "f".to_owned())]),
            others: BTreeMap::from([("the starting model".to_owned(), "t".to_owned())]),
            sealed: false,
            insecure_noise_seed: None,
        }
    }

    #[test]
    fn a_run_goes_on_with_the_same_program_session_and_records_only() {
        let then = origin();
        then.check(&then).unwrap();
        let moved = DatasetRecord { origin: "/b.csv".to_owned(), ..then.private.clone() };
        then.check(&Origin { private: moved, sealed: true, ..then.clone() }).unwrap();
        let old = Origin { order: None, ..then.clone() };
        let error = old.check(&then).unwrap_err().to_string();
        assert!(error.contains("an earlier version"), "{error}");
        let other = |content: &str, rows| DatasetRecord {
            content: content.to_owned(),
            rows,
            ..then.private.clone()
        };
        for (now, what) in [
            (Origin { halflight: "0.2.0".to_owned(), ..then.clone() }, "another program"),
            (Origin { steps: 2, ..then.clone() }, "another program"),
            (Origin { session: "t".to_owned(), ..then.clone() }, "run.ron was changed"),
            (
                Origin {
                    others: BTreeMap::from([("the starting model".to_owned(), "u".to_owned())]),
                    ..then.clone()
                },
                "the starting model was changed",
            ),
            (
                Origin {
                    others: BTreeMap::from([("the test dataset 'x'".to_owned(), "t".to_owned())]),
                    ..then.clone()
                },
                "did not note what the test dataset 'x' was",
            ),
            (Origin { private: other("d", 10), ..then.clone() }, "private dataset 'ours'"),
            (Origin { private: other("c", 11), ..then.clone() }, "private dataset 'ours'"),
            (Origin { order: Some("p".to_owned()), ..then.clone() }, "'ours' were reordered"),
            (Origin { public: BTreeMap::new(), ..then.clone() }, "public dataset 'theirs'"),
        ] {
            let error = then.check(&now).unwrap_err().to_string();
            assert!(error.contains(what), "{error}");
        }
    }
}
