//! The files of a run directory by which a run can be resumed after its program died.
//!
//! `transcript` has the released values (see [`crate::privacy::transcript`]), `resume.json` what must
//! not have changed (see `origin.rs`), and `events.jsonl` the steps, which a resumed run repeats
//! without writing them twice.

use std::fs::OpenOptions;
use std::path::Path;

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::Loaded;
pub use super::origin::{FILE, MASKS, Origin, forget};
use super::run_steps::told_numbers;
use crate::error::{Doing as _, Error, Result};
use crate::files::step;
use crate::methods::{self, Series, Step};
use crate::privacy::ledger::sha256;

pub const TRANSCRIPT: &str = "transcript";
/// Where the run meets other sites, and what they agreed on.
pub const SITES: &str = "sites.json";
/// The joint certificate of a run of several sites.
pub const JOINT: &str = "joint.json";

/// How far two numbers of a repeated step may differ: the last bits depend on the machine's
/// instructions.
const SAME: f64 = 1e-6;

impl Origin {
    /// The origin of a run of the one plan in the file `session` on these datasets.
    pub fn of(session: &Path, datasets: &[&Loaded], sealed: bool) -> Result<Self> {
        let session = std::fs::read(session).doing("read", session)?;
        let private = datasets.iter().find_map(|loaded| Some((loaded, loaded.record.as_ref()?)));
        let (private, record) =
            private.ok_or_else(|| Error::failed("the private dataset of the run is not loaded"))?;
        let public = datasets.iter().filter(|loaded| loaded.record.is_none()).map(|loaded| {
            let definition = &loaded.definition;
            (definition.name.clone(), definition.fingerprint.clone().unwrap_or_default())
        });
        Ok(Self {
            halflight: env!("CARGO_PKG_VERSION").to_owned(),
            steps: methods::STEPS_VERSION,
            session: sha256(&session),
            private: record.clone().without_sketch(),
            order: private.order.as_ref().map(|order| order.name.clone()),
            public: public.collect(),
            sealed,
            insecure_noise_seed: None,
        })
    }
}

/// The steps that an earlier program recorded, with their public and released numbers.
#[derive(Debug, Default)]
pub struct Recorded(Vec<(u64, Vec<(Series, f64)>)>);

impl Recorded {
    /// Reads the events of a run; half a line at the end is skipped.
    pub fn read(path: &Path) -> Result<Self> {
        let text = std::fs::read(path).doing("read the events", path)?;
        let lines = text.split(|byte| *byte == b'\n');
        Ok(Self(lines.map_while(told_numbers).collect()))
    }

    /// The last step.
    pub fn steps(&self) -> u64 {
        self.0.last().map_or(0, |(step, _)| *step)
    }

    /// Refuses a repeated step that differs from the first time.
    pub fn check(&self, step: &Step) -> Result<()> {
        let Some((_, numbers)) = self.0.iter().find(|(at, _)| *at == step.index) else {
            return Ok(());
        };
        for measure in &step.measures {
            let Some(now) = measure.value.open() else { continue };
            let then = numbers.iter().find(|(series, _)| *series == measure.series);
            let Some((_, then)) = then else { continue };
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
    let text = std::fs::read(path).doing("cut back", path)?;
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
    let file = step::open(OpenOptions::new().write(true), path).doing("cut back", path)?;
    step::cut(&file, kept as u64).doing("cut back", path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::methods::example::made_up;

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
