//! The files of a run directory by which a run can be resumed after its program died.
//!
//! `transcript` has the released values (see [`crate::privacy::transcript`]), `resume.json` what must
//! not have changed (see `origin.rs`), and `events.jsonl` the steps, which a resumed run repeats
//! without writing them twice.

use std::fs::OpenOptions;
use std::path::Path;

use serde::Deserialize;
use serde::de::IgnoredAny;

pub use super::origin::{FILE, MASKS, Origin, forget};
use super::run_directory::MODEL;
use super::run_steps::told_numbers;
use super::{Loaded, PlanDefinition};
use crate::error::{Doing as _, Error, Result};
use crate::files::step;
use crate::methods::{self, Series, Step};
use crate::privacy::ledger::{DatasetRecord, sha256};

pub const TRANSCRIPT: &str = "transcript";
/// Where the run meets other sites, and what they agreed on.
pub const SITES: &str = "sites.json";
/// The joint certificate of a run of several sites.
pub const JOINT: &str = "joint.json";

/// How far two numbers of a repeated step may differ: the last bits depend on the machine's
/// instructions.
const SAME: f64 = 1e-6;

impl Origin {
    /// The origin of a run of this plan, the only one in the file `session`, on these datasets.
    pub fn of(
        session: &Path,
        plan: &PlanDefinition,
        datasets: &[&Loaded],
        sealed: bool,
    ) -> Result<Self> {
        let session = std::fs::read(session).doing("read", session)?;
        let recorded = || datasets.iter().filter_map(|it| Some((it, it.record.as_ref()?)));
        let private = recorded().find(|(loaded, _)| loaded.definition.name == plan.private);
        let (private, record) =
            private.ok_or_else(|| Error::failed("the private dataset of the run is not loaded"))?;
        let tests = recorded().filter(|(loaded, _)| loaded.definition.name != plan.private);
        let tests = tests.map(|(loaded, record)| {
            let DatasetRecord { content, view, rows, .. } = record;
            let rows = sha256(format!("{content}\n{view}\n{rows}").as_bytes());
            Ok((format!("the test dataset '{}'", loaded.definition.name), rows))
        });
        let start = plan.start.as_deref().map(|path| ("the starting model", path));
        let below = plan.public_predictor.builds_on();
        let below = below.map(|path| ("the model of the public predictor", path));
        let models = start.into_iter().chain(below).map(|(what, path)| {
            let file = Path::new(path);
            let file = if file.is_dir() { file.join(MODEL) } else { file.to_path_buf() };
            let model = std::fs::read(&file).doing("read the model", &file)?;
            Ok((what.to_owned(), sha256(&model)))
        });
        let others = tests.chain(models).collect::<Result<_>>()?;
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
            others,
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
    use super::super::{Workspace, dataset, demo};
    use super::*;
    use crate::data::Role;
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
    fn the_records_that_train_are_pinned_wherever_the_test_data_stand_and_these_are_pinned_too() {
        let directory = tempfile::tempdir().unwrap();
        let workspace = Workspace::fresh(directory.path());
        let session = demo::session("bikeshare").unwrap();
        let file = directory.path().join("run.ron");
        std::fs::write(&file, "run").unwrap();
        let read = |name: &str, role| {
            let mut definition = session.dataset(name).unwrap().clone();
            definition.role = role;
            dataset::load(&definition, &workspace).unwrap()
        };
        let (ours, test) = (read("winter", Role::Private), read("spring", Role::Private));
        let model = directory.path().join("model.ron");
        std::fs::write(&model, "weights").unwrap();
        let mut plan = session.plans[0].clone();
        plan.private = "winter".to_owned();
        plan.start = Some(model.display().to_string());
        let of = |datasets: &[&Loaded]| Origin::of(&file, &plan, datasets, true).unwrap();
        let then = of(&[&test, &ours]);
        assert_eq!(then.private.name, "winter");
        then.check(&of(&[&ours, &test])).unwrap();
        let other = read("summer", Role::Private);
        let error = then.check(&of(&[&ours, &other])).unwrap_err().to_string();
        assert!(error.contains("the test dataset 'summer'"), "{error}");
        std::fs::write(&model, "others").unwrap();
        let error = then.check(&of(&[&ours, &test])).unwrap_err().to_string();
        assert!(error.contains("the starting model was changed"), "{error}");
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
