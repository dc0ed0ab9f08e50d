//! The files of a run directory by which a run can be resumed after its program died.
//!
//! `transcript` has the released values (see [`crate::privacy::transcript`]). This module has two
//! more: `resume.json`, by which a run checks that program, session and data are still the same,
//! and the steps in `events.jsonl`, which a resumed run repeats without writing them twice.
//! `resume.json` names fingerprints of private data, under the user's secret. So it is only for the
//! curator, like `curator.jsonl`: exports leave it out, and it is removed when the run has ended.
//! Files of earlier versions are replaced when they are found.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::path::Path;

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Loaded;
use crate::error::{Error, Result};
use crate::files::{self, step};
use crate::methods::{self, Step};
use crate::privacy::Secret;
use crate::privacy::ledger::{DatasetRecord, RunId, sha256};

pub const FILE: &str = "resume.json";
pub const TRANSCRIPT: &str = "transcript";

/// How far two numbers of a repeated step may differ: the last bits depend on the machine's
/// instructions.
const SAME: f64 = 1e-6;

/// The inputs that must not have changed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Origin {
    /// Release of the program.
    pub halflight: String,
    /// [`methods::STEPS_VERSION`].
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
    /// Whether the watch was sealed when it started.
    pub sealed: bool,
    /// The seed of a run whose noise is not secret.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub insecure_noise_seed: Option<u64>,
}

impl Origin {
    /// The origin of a run of the one plan in the file `session` on these datasets.
    pub fn of(session: &Path, datasets: &[&Loaded], sealed: bool) -> Result<Self> {
        let session = std::fs::read(session).map_err(|error| Error::io("read", session, &error))?;
        let private = datasets.iter().find(|loaded| loaded.record.is_some());
        let order = private.and_then(|private| private.order.as_ref());
        let order = order.map(|order| order.name.clone());
        let private = private.and_then(|private| private.record.clone());
        let private =
            private.ok_or_else(|| Error::failed("the private dataset of the run is not loaded"))?;
        let public = datasets.iter().filter(|loaded| loaded.record.is_none()).map(|loaded| {
            let definition = &loaded.definition;
            (definition.name.clone(), definition.fingerprint.clone().unwrap_or_default())
        });
        Ok(Self {
            halflight: env!("CARGO_PKG_VERSION").to_owned(),
            steps: methods::STEPS_VERSION,
            session: sha256(&session),
            private: private.without_sketch(),
            order,
            public: public.collect(),
            sealed,
            insecure_noise_seed: None,
        })
    }

    pub fn write(&self, directory: &Path) -> Result<()> {
        let text = serde_json::to_string_pretty(self)
            .map_err(|error| Error::failed(format!("{FILE} cannot be written: {error}")))?;
        files::write_private(&directory.join(FILE), (text + "\n").as_bytes())
    }

    /// As an earlier program wrote it; plain fingerprints are replaced.
    pub fn read(directory: &Path, secret: &Secret) -> Result<Self> {
        let path = directory.join(FILE);
        let text = std::fs::read(&path)
            .map_err(|error| Error::io("read how the run began", &path, &error))?;
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
    pub fn under(self, secret: &Secret) -> Self {
        Self { private: self.private.under(secret), ..self }
    }

    /// Refuses to continue if `now` differs from then. The same files in another place are no
    /// difference.
    pub fn check(&self, now: &Self) -> Result<()> {
        let differs = |what: &str, cure: &str| {
            Err(Error::refused(format!("{what} since the run began")).cure(cure.to_owned()))
        };
        let program = (&self.halflight, self.steps);
        if program != (&now.halflight, now.steps) {
            return differs(
                &format!(
                    "halflight {} (steps {}) is another program: {} (steps {}) took the first steps",
                    now.halflight, now.steps, self.halflight, self.steps
                ),
                "resume it with the release that started it, or settle it and run again",
            );
        }
        if self.session != now.session {
            return differs(
                "run.ron was changed",
                "bring it back as it was, or run it as a new run",
            );
        }
        if self.private.key != now.private.key {
            let key = |record: &DatasetRecord| record.key.clone().unwrap_or_default();
            return Err(Error::refused(format!(
                "the private records are known under another secret ({}) than this user's ({}): so \
                 nobody can say whether they are the same",
                key(&self.private),
                key(&now.private)
            ))
            .cure("bring that secret back from a backup, or name it with HALFLIGHT_SECRET_FILE"));
        }
        let rows =
            |record: &DatasetRecord| (record.content.clone(), record.view.clone(), record.rows);
        if rows(&self.private) != rows(&now.private) {
            return differs(
                &format!("the private dataset '{}' was changed", self.private.name),
                "bring its file back as it was: noise that was released belongs to those records",
            );
        }
        match &self.order {
            None => {
                return Err(Error::refused(
                    "it was begun by an earlier version of halflight, which chose the held-out \
                     rows in another way",
                )
                .cure("resume it with the release that started it, or settle it and run again"));
            }
            order if *order != now.order => {
                return differs(
                    &format!(
                        "the rows of the private dataset '{}' were reordered",
                        self.private.name
                    ),
                    "bring its file back as it was: by the order of its rows the run knows which \
                     of them it holds out",
                );
            }
            Some(_) => {}
        }
        match self.public.iter().find(|(name, known)| now.public.get(*name) != Some(*known)) {
            Some((name, _)) => differs(
                &format!("the public dataset '{name}' was changed"),
                "bring its file back as it was",
            ),
            None => Ok(()),
        }
    }
}

/// Removes the file kept for resuming, when the run has ended.
pub fn forget(directory: &Path) {
    // A file that stays does no harm: it contains nothing beyond the ledger.
    let _ = step::remove(&directory.join(FILE));
}

/// Replaces the plain fingerprints that earlier versions left in the runs and sweeps of a
/// workspace. Those that cannot be replaced now are replaced when they are used.
pub(super) fn cover_all(folder: &Path, secret: &Secret, is_settled: impl Fn(&RunId) -> bool) {
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
        let task = super::sweep::TaskDirectory::at(&task);
        let _ = task.and_then(|task| task.grant(secret));
    }
}

/// The steps that an earlier program recorded.
#[derive(Debug, Default)]
pub struct Recorded(Vec<StepLine>);

#[derive(Debug, Deserialize)]
struct StepLine {
    step: u64,
    values: BTreeMap<String, Value>,
}

impl Recorded {
    /// Reads the events of a run; half a line at the end is skipped.
    pub fn read(path: &Path) -> Result<Self> {
        let text =
            std::fs::read(path).map_err(|error| Error::io("read the events", path, &error))?;
        let text = String::from_utf8_lossy(&text);
        Ok(Self(text.lines().map_while(|line| serde_json::from_str(line).ok()).collect()))
    }

    /// The last step.
    pub fn steps(&self) -> u64 {
        self.0.last().map_or(0, |line| line.step)
    }

    /// Refuses a repeated step that differs from the first time.
    pub fn check(&self, step: &Step) -> Result<()> {
        let Some(line) = self.0.iter().find(|line| line.step == step.index) else { return Ok(()) };
        for measure in &step.measures {
            let Some(now) = measure.value.open() else { continue };
            let name = serde_json::to_value(measure.series).unwrap_or_default();
            let then = line.values.get(name.as_str().unwrap_or_default());
            let Some(then) = then.and_then(|then| then["value"].as_f64()) else { continue };
            if (now - then).abs() > SAME * (1.0 + then.abs()) {
                return Err(Error::refused(format!(
                    "step {} comes out otherwise than the first time: {} is {now} and was {then}",
                    step.index,
                    measure.series.words()
                ))
                .cure("resume the run with the program that started it; nothing new was drawn"));
            }
        }
        Ok(())
    }
}

/// Removes every line after `step`, the line about the run's end, and half a line from a file of
/// steps.
pub(super) fn keep_until(path: &Path, step: u64) -> Result<()> {
    #[derive(Deserialize)]
    struct Index {
        step: u64,
        /// Present in the line of the end, which will be written again.
        errors: Option<IgnoredAny>,
    }
    let fail = |error: &std::io::Error| Error::io("cut back", path, error);
    let text = std::fs::read(path).map_err(|error| fail(&error))?;
    let kept: usize = text
        .split_inclusive(|byte| *byte == b'\n')
        .take_while(|line| {
            let index = serde_json::from_slice::<Index>(line);
            line.ends_with(b"\n")
                && index.is_ok_and(|index| index.step <= step && index.errors.is_none())
        })
        .map(<[u8]>::len)
        .sum();
    if kept == text.len() {
        return Ok(());
    }
    let file = step::open(OpenOptions::new().write(true), path).map_err(|error| fail(&error))?;
    step::cut(&file, kept as u64).map_err(|error| fail(&error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::methods::Series;
    use crate::methods::example::made_up;

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
            (Origin { private: other("d", 10), ..then.clone() }, "private dataset 'ours'"),
            (Origin { private: other("c", 11), ..then.clone() }, "private dataset 'ours'"),
            (Origin { order: Some("p".to_owned()), ..then.clone() }, "'ours' were reordered"),
            (Origin { public: BTreeMap::new(), ..then.clone() }, "public dataset 'theirs'"),
        ] {
            let error = then.check(&now).unwrap_err().to_string();
            assert!(error.contains(what), "{error}");
        }
    }

    #[test]
    fn steps_are_cut_back_to_whole_lines_and_to_the_step_asked_for() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("events.jsonl");
        let line = |step: u64| format!("{{\"step\":{step},\"values\":{{}}}}\n");
        let whole: String = (1..=5).map(line).collect();
        std::fs::write(&path, format!("{whole}{{\"step\":6,\"val")).unwrap();
        assert_eq!(Recorded::read(&path).unwrap().steps(), 5);
        keep_until(&path, 9).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), whole);
        keep_until(&path, 3).unwrap();
        assert_eq!(Recorded::read(&path).unwrap().steps(), 3);
        keep_until(&path, 0).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"");
        // The end is written again.
        let end = "{\"step\":5,\"values\":{},\"errors\":{\"model\":1.0}}\n";
        std::fs::write(&path, format!("{whole}{end}")).unwrap();
        keep_until(&path, u64::MAX).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), whole);
    }

    #[test]
    fn a_step_that_comes_out_otherwise_than_the_first_time_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("events.jsonl");
        let line = r#"{"step":2,"values":{"objective":{"value":0.5,"standing":"released"}}}"#;
        std::fs::write(&path, format!("{line}\n")).unwrap();
        let recorded = Recorded::read(&path).unwrap();
        let step = |index, value| Step {
            index,
            total: 3,
            phase: "descend",
            measures: vec![made_up(Series::Objective, value)],
            done: false,
        };
        recorded.check(&step(2, 0.5 + 1e-9)).unwrap();
        recorded.check(&step(3, 7.0)).unwrap();
        let error = recorded.check(&step(2, 0.51)).unwrap_err().to_string();
        assert!(error.contains("step 2 comes out otherwise"), "{error}");
    }
}
