//! The numbers of a run as its files grow: the steps that were added since the last reading.
//!
//! The files may belong to another program at work, to one that died, to another version, or be
//! anything. Lines that are not steps are skipped and counted.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::SystemTime;
use std::{fmt, io};

use serde::de::value::{MapAccessDeserializer, StrDeserializer};
use serde::de::{self, IgnoredAny, IntoDeserializer as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::run_directory::{CURATOR, EVENTS};
use super::tail::Tail;
use crate::files::words::harmless;
use crate::methods::Series;
use crate::privacy::openings::{OpenCuratorOnly, OpenMissing, OpenPrivate, OpenWatch};
use crate::privacy::{CuratorOnly, Private, Watch};
use crate::verdict::Errors;

/// Numbers of a run over its steps, by series.
pub type Curves = BTreeMap<Series, Vec<(f64, f64)>>;

/// The new part of a run.
#[derive(Debug, Clone, Default)]
pub struct RunGrowth {
    /// Whether its files were replaced, so that this is their whole content.
    pub anew: bool,
    /// The last step, and the planned number of steps.
    pub steps: u64,
    pub of: u64,
    pub phase: String,
    /// How many steps were added.
    pub added: u64,
    /// Public and released numbers.
    pub curves: Curves,
    /// ε spent after each step.
    pub epsilon: Vec<(f64, f64)>,
    /// Exact numbers, if they are read and any were computed.
    pub exact: Option<CuratorOnly<Curves>>,
    pub errors: Option<CuratorOnly<Errors>>,
    /// Lines that are not steps.
    pub skipped: u64,
}

impl RunGrowth {
    pub fn is_nothing(&self) -> bool {
        !self.anew
            && self.added == 0
            && self.skipped == 0
            && self.exact.is_none()
            && self.errors.is_none()
    }
}

pub(super) fn add_curves(to: &mut Curves, more: &Curves) {
    for (series, points) in more {
        to.entry(*series).or_default().extend(points);
    }
}

/// Longer names of phases are cut.
const LONGEST_PHASE: usize = 40;

#[derive(Deserialize)]
struct EventLine<'a> {
    step: u64,
    #[serde(default)]
    of: u64,
    #[serde(borrow, default)]
    phase: Cow<'a, str>,
    epsilon: Option<f64>,
    #[serde(default)]
    values: SeriesValues,
    /// The last line of the curator's file.
    errors: Option<Errors>,
}

/// Numbers by series; a series of another version is skipped. A workspace has many lines, so this
/// builds no tree.
#[derive(Default)]
struct SeriesValues(Vec<(Series, Number)>);

/// `3.5` in the curator's file, `{"value": 3.5, "standing": "released"}` in the other one.
enum Number {
    Bare(f64),
    Told(f64),
    None,
}

impl SeriesValues {
    fn add_to(&self, step: u64, curves: &mut Curves, number: impl Fn(&Number) -> Option<f64>) {
        for (series, value) in &self.0 {
            if let Some(y) = number(value) {
                curves.entry(*series).or_default().push((step as f64, y));
            }
        }
    }
}

impl Number {
    fn told(&self) -> Option<f64> {
        if let Self::Told(y) = self { Some(*y) } else { None }
    }

    fn bare(&self) -> Option<f64> {
        if let Self::Bare(y) = self { Some(*y) } else { None }
    }
}

impl<'de> Deserialize<'de> for SeriesValues {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ByName;
        impl<'de> Visitor<'de> for ByName {
            type Value = SeriesValues;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("numbers by series")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<SeriesValues, A::Error> {
                let mut values = Vec::new();
                while let Some(SeriesName(name)) = map.next_key()? {
                    let name: StrDeserializer<'_, de::value::Error> = (*name).into_deserializer();
                    match Series::deserialize(name) {
                        Ok(series) => values.push((series, map.next_value()?)),
                        // It is of another version.
                        Err(_) => drop(map.next_value::<IgnoredAny>()?),
                    }
                }
                Ok(SeriesValues(values))
            }
        }
        deserializer.deserialize_map(ByName)
    }
}

/// The name of a series, borrowed from the line.
#[derive(Deserialize)]
struct SeriesName<'a>(#[serde(borrow)] Cow<'a, str>);

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = Number;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number, or an object with a value")
            }

            fn visit_f64<E>(self, y: f64) -> Result<Number, E> {
                Ok(Number::Bare(y))
            }

            fn visit_u64<E>(self, y: u64) -> Result<Number, E> {
                Ok(Number::Bare(y as f64))
            }

            fn visit_i64<E>(self, y: i64) -> Result<Number, E> {
                Ok(Number::Bare(y as f64))
            }

            fn visit_unit<E>(self) -> Result<Number, E> {
                Ok(Number::None)
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Number, A::Error> {
                #[derive(Deserialize)]
                struct ToldNumbers {
                    value: Option<f64>,
                }
                let told = ToldNumbers::deserialize(MapAccessDeserializer::new(map))?;
                Ok(told.value.map_or(Number::None, Number::Told))
            }
        }
        deserializer.deserialize_any(Either)
    }
}

/// The step of a line of events, and its public and released numbers; `None` for another line.
pub(super) fn told_numbers(line: &[u8]) -> Option<(u64, Vec<(Series, f64)>)> {
    let EventLine { step, values, .. } = serde_json::from_slice(line).ok()?;
    let told = values.0.iter().filter_map(|(series, number)| Some((*series, number.told()?)));
    Some((step, told.collect()))
}

/// Reads the steps of one run as they come.
#[derive(Debug, Default)]
pub struct StepReader {
    events: Tail,
    curator: Option<Tail>,
    last: u64,
    of: u64,
    phase: String,
}

impl StepReader {
    /// Reads the files in this directory: public and released numbers, and exact ones for the curator.
    pub fn new(directory: &Path, exact: bool) -> Self {
        Self {
            events: Tail::new(&directory.join(EVENTS)),
            curator: exact.then(|| Tail::new(&directory.join(CURATOR))),
            ..Self::default()
        }
    }

    /// When the last step was written, by the clock of the disk.
    pub fn written(&self) -> Option<SystemTime> {
        self.events.written()
    }

    /// The part added since the last call.
    pub fn read(&mut self) -> io::Result<RunGrowth> {
        if let Some(growth) = self.read_once()? {
            return Ok(growth);
        }
        // One of the two files was replaced, so both are read from the beginning.
        let directory = self.events.path().parent().unwrap_or(Path::new("."));
        *self = Self::new(directory, self.curator.is_some());
        let all = self.read_once()?.unwrap_or_default();
        Ok(RunGrowth { anew: true, ..all })
    }

    fn read_once(&mut self) -> io::Result<Option<RunGrowth>> {
        let mut growth = RunGrowth::default();
        // The exact numbers of a step are written to their file before the step is in the other
        // one.
        loop {
            let added = self.events.read()?;
            if added.anew {
                return Ok(None);
            }
            growth.skipped += added.too_long;
            for text in whole_lines(&added.text) {
                match serde_json::from_slice::<EventLine>(text) {
                    Ok(line) if line.step > self.last => self.take(&line, &mut growth),
                    _ => growth.skipped += 1,
                }
            }
            if !added.more {
                break;
            }
        }
        if let Some(curator) = &mut self.curator {
            let mut text = Vec::new();
            loop {
                let added = curator.read()?;
                if added.anew {
                    return Ok(None);
                }
                text.extend(added.text);
                if !added.more {
                    break;
                }
            }
            if !text.is_empty() {
                (growth.exact, growth.errors) = exact_numbers(text);
            }
        }
        (growth.steps, growth.of) = (self.last, self.of);
        growth.phase.clone_from(&self.phase);
        Ok(Some(growth))
    }

    fn take(&mut self, line: &EventLine<'_>, growth: &mut RunGrowth) {
        (self.last, self.of) = (line.step, line.of);
        if self.phase != line.phase {
            self.phase = harmless(&line.phase, LONGEST_PHASE);
        }
        growth.added += 1;
        if let Some(epsilon) = line.epsilon {
            growth.epsilon.push((line.step as f64, epsilon));
        }
        line.values.add_to(line.step, &mut growth.curves, Number::told);
    }
}

fn whole_lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty())
}

/// Exact curves one by one. The names of series reveal nothing; their numbers stay protected.
pub fn by_series(exact: CuratorOnly<Curves>) -> BTreeMap<Series, CuratorOnly<Vec<(f64, f64)>>> {
    let mut names = Vec::new();
    let exact = exact.map(|curves| {
        names.extend(curves.keys().copied());
        curves
    });
    let take = |mut curves: Curves, series| curves.remove(&series).unwrap_or_default();
    let of_name = |series| (series, exact.clone().compute_with(series, take));
    names.into_iter().map(of_name).collect()
}

/// The exact numbers go from the file into the type that protects them: seeing them needs an
/// unsealed watch.
fn exact_numbers(text: Vec<u8>) -> (Option<CuratorOnly<Curves>>, Option<CuratorOnly<Errors>>) {
    let found = Private::new(text);
    let watch = Watch::open();
    let lines = |text: &Vec<u8>, take: &mut dyn FnMut(EventLine<'_>)| {
        for line in whole_lines(text) {
            if let Ok(line) = serde_json::from_slice::<EventLine>(line) {
                take(line);
            }
        }
    };
    let curves = found.curator(&watch, |text| {
        let mut curves = Curves::new();
        lines(text, &mut |line| line.values.add_to(line.step, &mut curves, Number::bare));
        (!curves.is_empty()).then_some(curves)
    });
    let errors = found.curator(&watch, |text| {
        let mut errors = None;
        lines(text, &mut |line| errors = line.errors.or(errors));
        errors
    });
    (curves.and_then(CuratorOnly::transpose), errors.and_then(CuratorOnly::transpose))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write as _;

    use super::*;

    const STEP: &str = r#"{"step":1,"of":4,"phase":"descend","epsilon":0.5,"values":{"public_error":{"value":3.5,"standing":"released"}}}"#;

    #[test]
    fn steps_are_read_as_they_come_and_what_is_none_is_counted() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("events.jsonl");
        let mut steps = StepReader::new(directory.path(), false);
        assert!(steps.read().unwrap().is_nothing());
        fs::write(&path, format!("{STEP}\n{{\"step\":2,")).unwrap();
        let growth = steps.read().unwrap();
        assert_eq!((growth.added, growth.steps, growth.of, growth.skipped), (1, 1, 4, 0));
        assert_eq!(growth.curves[&Series::PublicError], [(1.0, 3.5)]);
        assert!(steps.read().unwrap().is_nothing(), "half a line is waited for");

        let mut file = fs::OpenOptions::new().append(true).open(&path).unwrap();
        let hostile = [
            r#""epsilon":NaN}"#,
            r#"{"step":3,"epsilon":1e999}"#,
            r#"{"step":1,"epsilon":9}"#,
            r#"{"step":-4}"#,
            r#"{"step":1e30}"#,
            "\u{1b}[2Jboo",
            r#"{"step":5,"phase":"\u001b[2J","values":{"public_error":{"value":null},"\u001b[31m":{"value":1}}}"#,
            r#"{"step":1000000000,"of":1000000000,"values":{"public_error":7}}"#,
        ];
        file.write_all((hostile.join("\n") + "\n").as_bytes()).unwrap();
        let growth = steps.read().unwrap();
        assert_eq!((growth.added, growth.skipped), (2, 6));
        assert_eq!((growth.steps, growth.of), (1_000_000_000, 1_000_000_000));
        assert!(growth.curves.is_empty() && !growth.phase.contains('\x1b'));
    }

    #[test]
    fn a_run_that_goes_back_to_an_earlier_step_is_read_anew() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("events.jsonl");
        let line = |step: u64, y: f64| {
            format!(
                "{{\"step\":{step},\"of\":9,\"values\":{{\"public_error\":{{\"value\":{y}}}}}}}\n"
            )
        };
        fs::write(&path, line(1, 5.0) + &line(2, 4.0) + &line(3, 3.0)).unwrap();
        fs::write(
            directory.path().join("curator.jsonl"),
            "{\"step\":1,\"values\":{\"private_error\":8}}\n",
        )
        .unwrap();
        let mut steps = StepReader::new(directory.path(), true);
        let growth = steps.read().unwrap();
        let watch = Watch::open();
        let exact = growth.exact.as_ref().unwrap().reveal(&watch).unwrap();
        assert_eq!(exact[&Series::PrivateError], [(1.0, 8.0)]);
        fs::write(&path, line(1, 5.0) + &line(2, 6.0)).unwrap();
        let growth = steps.read().unwrap();
        assert!(growth.anew && growth.exact.is_some());
        assert_eq!(growth.curves[&Series::PublicError], [(1.0, 5.0), (2.0, 6.0)]);
    }
}
