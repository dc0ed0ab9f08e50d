//! Steps of another trainer, as a file of JSON lines that it appends to.
//!
//! ```json
//! {"halflight": "steps 1", "id": "9f0c6d21", "name": "cifar", "trainer": "opacus 1.5", "of": 400, "delta": 1e-5, "adjacency": "add_remove"}
//! {"step": 1, "metrics": {"loss": 2.31}, "drawn": [{"mechanism": "subsampled_gaussian", "noise_multiplier": 1.1, "sampling_rate": 0.004}], "epsilon": 0.11}
//! {"end": "finished"}
//! ```
//!
//! `drawn` lists the draws since the line before, and `epsilon` is the trainer's own claim for
//! everything so far at the δ of the first line. Our accountant computes ε from the mechanisms. It
//! holds if they were drawn as the file says, which cannot be checked here. `halflight schema
//! steps` prints the whole format.
//!
//! No draw may be missed. So there is no ε after a step without `drawn`, or with an unknown key,
//! which may be misspelt.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::error::{Doing as _, Error, Result};
use crate::files::words::harmless;
use crate::privacy::accountant::{
    Adjacency, Composition, Event, Guarantee, Mechanism, Noise, QueryKind,
};
use crate::store::tail::Tail;

/// The format that is read here.
const FORMAT: &str = "steps 1";
/// More names of metrics are skipped, and more kinds of noise are not added up.
const MOST_METRICS: usize = 64;
const MOST_KINDS: usize = 1000;
/// With more kinds of noise than this, only quick bounds are computed.
const MOST_EXACT: usize = 16;
const LONGEST: usize = 60;
/// A claim that differs by less than this agrees.
const AGREES: f64 = 0.01;

/// Whether a file is one of steps, by its first line.
pub fn is_one(path: &Path) -> bool {
    use std::io::Read as _;
    let mut start = Vec::new();
    let is_file = std::fs::metadata(path).is_ok_and(|about| about.is_file());
    let file = is_file.then(|| std::fs::File::open(path).ok()).flatten();
    let read = file.map(|file| file.take(64 << 10).read_to_end(&mut start));
    let line = start.split(|byte| *byte == b'\n').next().unwrap_or_default();
    read.is_some() && FormatLine::of(line).is_some()
}

/// The change of the data for which the noise was scaled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoiseRelation {
    /// One record more or less. The pairs are those of zero-out.
    AddRemove,
    ReplaceOne,
    ZeroOut,
}

impl NoiseRelation {
    pub fn words(self) -> &'static str {
        match self {
            Self::AddRemove => "add-or-remove",
            Self::ReplaceOne => "replace-one",
            Self::ZeroOut => "zero-out",
        }
    }

    fn adjacency(self) -> Adjacency {
        match self {
            Self::ReplaceOne => Adjacency::ReplaceOne,
            Self::AddRemove | Self::ZeroOut => Adjacency::ZeroOut,
        }
    }
}

#[derive(Debug, Deserialize)]
struct FileHead {
    /// The format and its version.
    halflight: String,
    #[serde(default)]
    id: String,
    #[serde(default)]
    name: String,
    #[serde(default)]
    trainer: String,
    #[serde(default)]
    of: u64,
    delta: f64,
    adjacency: NoiseRelation,
    /// The column that identifies the person of a row, where persons are protected.
    unit: Option<String>,
}

/// The format, in any version.
#[derive(Debug, Deserialize)]
struct FormatLine {
    halflight: String,
}

impl FormatLine {
    fn of(line: &[u8]) -> Option<Self> {
        let format: Self = serde_json::from_slice(line).ok()?;
        format.halflight.starts_with("steps ").then_some(format)
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct TrainerLine {
    step: Option<u64>,
    #[serde(default)]
    metrics: BTreeMap<String, Option<f64>>,
    drawn: Option<Vec<TrainerDraw>>,
    epsilon: Option<f64>,
    end: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(try_from = "WrittenDraw")]
struct TrainerDraw {
    mechanism: Mechanism,
    count: u64,
}

/// A draw in the form of the file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenDraw {
    mechanism: MechanismName,
    /// Noise relative to the sensitivity: the farthest that changing one record moves the answer, or,
    /// for samples, the largest norm of one record's part (the clip norm).
    noise_multiplier: Option<f64>,
    sampling_rate: Option<f64>,
    epsilon: Option<f64>,
    #[serde(default = "once")]
    count: u64,
}

fn once() -> u64 {
    1
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum MechanismName {
    Gaussian,
    SubsampledGaussian,
    Laplace,
    Pure,
}

impl TryFrom<WrittenDraw> for TrainerDraw {
    type Error = &'static str;

    fn try_from(written: WrittenDraw) -> std::result::Result<Self, Self::Error> {
        use MechanismName as Name;
        let WrittenDraw { mechanism, noise_multiplier, sampling_rate, epsilon, count } = written;
        let is_positive = |x: f64| x.is_finite() && x > 0.0;
        if noise_multiplier.is_some_and(|it| !is_positive(it)) {
            return Err("a noise multiplier is a number above 0");
        }
        let with = |kind: QueryKind, noise: f64| kind.query(1.0, 1).with(Noise::ideal(noise));
        let mechanism = match (mechanism, noise_multiplier, sampling_rate, epsilon) {
            (Name::Gaussian, Some(noise), None, None) => with(QueryKind::Gaussian, noise),
            (Name::SubsampledGaussian, Some(noise), Some(rate), None) => {
                if !is_positive(rate) || rate > 1.0 {
                    return Err("a sampling rate lies above 0 and is at most 1");
                }
                // Also for all records it is the norm of one record's part, and a replaced record
                // moves a sum twice as far.
                with(QueryKind::SampledSum { rate }, noise)
            }
            (Name::Laplace, Some(noise), None, None) => with(QueryKind::Laplace, noise),
            (Name::Pure, None, None, Some(epsilon)) => {
                if !is_positive(epsilon) {
                    return Err("the ε of a draw is a number above 0");
                }
                QueryKind::Pure.query(epsilon, 1).with(Noise::ideal(1.0))
            }
            (Name::Gaussian | Name::Laplace, ..) => {
                return Err("gaussian and laplace have a noise_multiplier and no other number");
            }
            (Name::SubsampledGaussian, ..) => {
                return Err("subsampled_gaussian has a noise_multiplier and a sampling_rate");
            }
            (Name::Pure, ..) => return Err("pure has an epsilon and no other number"),
        };
        Ok(Self { mechanism, count })
    }
}

type Counts = Vec<(Mechanism, u64)>;

/// A trainer's steps so far.
#[derive(Debug, Default)]
pub struct Trainer {
    tail: Tail,
    head: Option<FileHead>,
    pub step: u64,
    pub metrics: BTreeMap<String, Vec<(f64, f64)>>,
    /// ε claimed by the trainer after each step.
    pub claimed: Vec<(f64, f64)>,
    /// How it ended, if the file says so.
    pub end: Option<String>,
    /// Lines that are not steps.
    pub skipped: u64,
    counts: Counts,
    /// Lines so far.
    lines: u64,
    /// The first line with unknown draws, in words: `line 3 cannot be read (…)`.
    unknown: Option<String>,
    /// Why nothing can be read here.
    trouble: Option<String>,
    /// The last claim of ε, and the draws up to then.
    claim: Option<(f64, Counts)>,
}

/// Our accountant's result for a trainer's steps.
#[derive(Debug, Clone)]
pub struct TrainerCost {
    /// The guarantee of everything drawn.
    pub ours: Option<Guarantee>,
    /// The last claim, and our guarantee for the draws up to it.
    pub claimed: Option<(f64, Option<Guarantee>)>,
    pub verdict: String,
    /// Whether the claim is less than these draws leak.
    pub is_too_low: bool,
}

impl Trainer {
    pub fn new(path: &Path) -> Self {
        Self { tail: Tail::new(path), ..Self::default() }
    }

    pub fn path(&self) -> &Path {
        self.tail.path()
    }

    /// Name of the training in the first line, or else of the file.
    pub fn name(&self) -> String {
        let named = self.head.as_ref().map(|head| harmless(&head.name, LONGEST));
        named.filter(|name| !name.is_empty()).unwrap_or_else(|| {
            let file = self.path().file_name().unwrap_or_default();
            harmless(&PathBuf::from(file).display().to_string(), LONGEST)
        })
    }

    pub fn trainer(&self) -> String {
        self.head.as_ref().map(|head| harmless(&head.trainer, LONGEST)).unwrap_or_default()
    }

    pub fn of(&self) -> u64 {
        self.head.as_ref().map_or(0, |head| head.of).max(self.step)
    }

    pub fn delta(&self) -> Option<f64> {
        self.head.as_ref().map(|head| head.delta)
    }

    pub fn neighbours(&self) -> Option<NoiseRelation> {
        self.head.as_ref().map(|head| head.adjacency)
    }

    /// When it last wrote, by the clock of the disk.
    pub fn written(&self) -> Option<std::time::SystemTime> {
        self.tail.written()
    }

    /// Reads new lines; returns whether there were any.
    pub fn read(&mut self) -> io::Result<bool> {
        let mut has_grown = false;
        loop {
            let added = self.tail.read()?;
            if added.anew {
                *self = Self { tail: std::mem::take(&mut self.tail), ..Self::default() };
            }
            has_grown |= added.anew || !added.text.is_empty() || added.too_long > 0;
            self.skipped += added.too_long;
            if added.too_long > 0 {
                self.cannot_tell("cannot be read (it is too long)");
            }
            self.take_all(&added.text);
            if !added.more {
                return Ok(has_grown);
            }
        }
    }

    /// All whole lines currently in a file, with their bytes.
    pub fn of_file(path: &Path) -> Result<(Self, Vec<u8>)> {
        let mut lines = std::fs::read(path).doing("read the trainer's steps", path)?;
        let end = lines.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
        lines.truncate(end);
        let mut trainer = Self::new(path);
        trainer.take_all(&lines);
        Ok((trainer, lines))
    }

    fn take_all(&mut self, text: &[u8]) {
        for line in text.split_inclusive(|byte| *byte == b'\n') {
            self.lines += 1;
            if !line.trim_ascii().is_empty() && !self.take(line) {
                self.skipped += 1;
            }
        }
    }

    /// The draws of this line are unknown: from here on no ε of ours holds.
    fn cannot_tell(&mut self, why: &str) {
        let line = self.lines;
        self.unknown.get_or_insert_with(|| format!("line {line} {why}"));
    }

    /// Processes one line; false if it is not a step.
    fn take(&mut self, text: &[u8]) -> bool {
        if self.head.is_none() {
            let head = serde_json::from_slice::<FileHead>(text).ok();
            let is_delta = |delta: f64| delta > 0.0 && delta < 1.0;
            self.head = head.filter(|it| it.halflight == FORMAT && is_delta(it.delta));
            if self.head.is_none() && self.trouble.is_none() {
                self.trouble = Some(not_a_head(text));
            }
            return self.head.is_some();
        }
        let line = match serde_json::from_slice::<TrainerLine>(text) {
            Ok(line) => line,
            Err(error) => {
                self.cannot_tell(&format!("cannot be read ({})", flaw(&error)));
                return false;
            }
        };
        if line.drawn.is_none() && line.end.is_none() {
            self.cannot_tell("does not say what was drawn: it has no `drawn`");
        }
        let drawn = line.drawn.unwrap_or_default();
        let is_next = line.step.is_some_and(|step| step > self.step);
        if !is_next && (line.step.is_some() || line.end.is_none()) {
            if !drawn.is_empty() {
                self.cannot_tell("draws, and is not the next step");
            }
            return false;
        }
        self.step = line.step.unwrap_or(self.step);
        let x = self.step as f64;
        for drawn in &drawn {
            self.add(drawn);
        }
        for (name, value) in line.metrics {
            let name = harmless(&name, LONGEST);
            let is_known = self.metrics.contains_key(&name);
            if let Some(y) = value
                && (is_known || self.metrics.len() < MOST_METRICS)
            {
                self.metrics.entry(name).or_default().push((x, y));
            }
        }
        if let Some(epsilon) = line.epsilon {
            self.claimed.push((x, epsilon));
            self.claim = Some((epsilon, self.counts.clone()));
        }
        if let Some(end) = line.end {
            self.end = Some(harmless(&end, LONGEST));
        }
        true
    }

    fn add(&mut self, drawn: &TrainerDraw) {
        let has_room = self.counts.len() < MOST_KINDS;
        match self.counts.iter_mut().find(|(other, _)| *other == drawn.mechanism) {
            Some((_, count)) => *count = count.saturating_add(drawn.count),
            None if has_room => self.counts.push((drawn.mechanism, drawn.count)),
            None => self.cannot_tell("draws one more kind of noise than can be added up"),
        }
    }

    fn guarantee(&self, counts: &Counts) -> Result<Option<Guarantee>> {
        let (Some(head), None) = (&self.head, &self.unknown) else { return Ok(None) };
        let events = events(counts, head.adjacency);
        if events.is_empty() {
            return Ok(None);
        }
        let sum = Composition::of(&events)?;
        let quick = events.len() > MOST_EXACT;
        (if quick { sum.running(head.delta) } else { sum.guarantee(head.delta) }).map(Some)
    }

    /// The id of this training, if the first line has one.
    pub fn id(&self) -> Option<String> {
        self.head.as_ref().map(|head| head.id.clone()).filter(|id| !id.is_empty())
    }

    pub fn unit(&self) -> Option<&str> {
        self.head.as_ref().and_then(|head| head.unit.as_deref())
    }

    /// `'cifar' (opacus 1.5)`.
    pub fn words(&self) -> String {
        match self.trainer() {
            by if by.is_empty() => format!("'{}'", self.name()),
            by => format!("'{}' ({by})", self.name()),
        }
    }

    /// Why this is not a file of steps, if it is not.
    pub fn trouble(&self) -> Option<Error> {
        self.trouble.as_deref().map(no_head)
    }

    /// All draws so far; refused if some of them cannot be read.
    pub fn drawn(&self) -> Result<Vec<Event>> {
        let Some(head) = &self.head else {
            return Err(no_head(self.trouble.as_deref().unwrap_or("the file has no whole line")));
        };
        if let Some(unknown) = &self.unknown {
            return Err(Error::failed(format!("{unknown}, so nothing can be charged")).cure(
                "mend the line (`halflight schema steps`; `\"drawn\": []` where nothing was \
                 drawn); until then the new lines are not in the ledger",
            ));
        }
        let events = events(&self.counts, head.adjacency);
        if events.is_empty() {
            return Err(Error::failed("the file names no draws: there is nothing to charge")
                .cure("write under `drawn` what each step draws: `halflight schema steps`"));
        }
        Ok(events)
    }

    /// ε from the mechanisms, beside the claimed one.
    pub fn account(&self) -> TrainerCost {
        let claim = self.claim.as_ref();
        let claimed = claim.map(|(epsilon, counts)| (*epsilon, self.guarantee(counts)));
        let same = claim.is_some_and(|(_, counts)| *counts == self.counts);
        let ours = match &claimed {
            Some((_, Ok(then))) if same => Ok(then.clone()),
            _ => self.guarantee(&self.counts),
        };
        let failure = ours.as_ref().err().map(|error: &Error| error.what().to_owned());
        let claimed = claimed.map(|(epsilon, then)| (epsilon, then.ok().flatten()));
        let (verdict, is_too_low) = if let Some(failure) = failure {
            (format!("ε cannot be computed: {failure}"), false)
        } else if let Some(trouble) = &self.trouble {
            (trouble.clone(), false)
        } else if let Some(unknown) = &self.unknown {
            (format!("{unknown}, so no ε is computed"), false)
        } else if self.counts.is_empty() {
            ("the file names no mechanism: the claim cannot be checked".to_owned(), false)
        } else {
            match &claimed {
                None => ("the trainer claims no ε".to_owned(), false),
                Some((claim, Some(then))) => judge(*claim, then),
                Some((_, None)) => {
                    ("the claim cannot be checked: nothing was drawn before it".to_owned(), false)
                }
            }
        };
        TrainerCost { ours: ours.ok().flatten(), claimed, verdict, is_too_low }
    }
}

fn no_head(why: &str) -> Error {
    Error::failed(why)
        .cure("`halflight guide trainers` shows a whole file, `halflight schema steps` the format")
}

fn events(counts: &Counts, neighbours: NoiseRelation) -> Vec<Event> {
    let event = |(mechanism, count): &(Mechanism, u64)| Event {
        label: "step".to_owned(),
        what: "a step of another trainer".to_owned(),
        mechanism: *mechanism,
        count: *count,
        adjacency: neighbours.adjacency(),
        held_out: false,
    };
    counts.iter().filter(|(_, count)| *count > 0).map(event).collect()
}

/// Why the first line does not begin a file of steps.
fn not_a_head(line: &[u8]) -> String {
    match FormatLine::of(line) {
        Some(format) if format.halflight != FORMAT => format!(
            "the file has the format '{}', and this build reads '{FORMAT}': a newer halflight may \
             read it",
            harmless(&format.halflight, LONGEST)
        ),
        Some(_) => match serde_json::from_slice::<FileHead>(line) {
            Err(error) => format!("the first line cannot be read: {}", flaw(&error)),
            Ok(_) => "the first line needs a `delta` between 0 and 1".to_owned(),
        },
        None => format!(
            "the first line is not that of a file of steps: it names no format, as in \
             {{\"halflight\": \"{FORMAT}\", …}}"
        ),
    }
}

/// The error in a line. The column helps nobody, and the line's number is shown beside it.
fn flaw(error: &serde_json::Error) -> String {
    let words = error.to_string();
    harmless(words.split(" at line ").next().unwrap_or_default(), 200)
}

/// What our guarantee says about a claim, and whether the claim is too low.
fn judge(claim: f64, ours: &Guarantee) -> (String, bool) {
    let (least, most) = (ours.epsilon_lower, ours.epsilon);
    if !claim.is_finite() || claim < 0.0 {
        return ("the claim is not an ε".to_owned(), true);
    }
    if claim < least * (1.0 - AGREES) {
        return (format!("the claim is too low: these draws leak at least ε {least:.4}"), true);
    }
    let verdict = if claim < most * (1.0 - AGREES) {
        format!(
            "the claim is between what is leaked for certain, ε {least:.4}, and what is proven here"
        )
    } else if claim > most * (1.0 + AGREES) {
        format!("the claim is on the safe side: ε {most:.4} holds, too")
    } else {
        "the claim agrees".to_owned()
    };
    (verdict, false)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write as _;

    use serde_json::{Value, json};

    use super::*;

    fn head(delta: f64) -> String {
        json!({"halflight": "steps 1", "name": "n\u{1b}[2J", "trainer": "t", "delta": delta,
               "adjacency": "add_remove"})
        .to_string()
            + "\n"
    }

    fn read(text: &str) -> (tempfile::TempDir, Trainer) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("events.jsonl");
        fs::write(&path, text).unwrap();
        let mut trainer = Trainer::new(&path);
        assert_eq!(is_one(&path), trainer.read().unwrap() && trainer.head.is_some());
        (directory, trainer)
    }

    /// Configurations that dp-accounting was asked about.
    fn recorded() -> Vec<Value> {
        let all: Vec<Value> =
            serde_json::from_str(include_str!("../../../tests/golden/accounting.json")).unwrap();
        let sampled = all.iter().filter(|it| it["q"].as_f64().unwrap() < 1.0).take(8).cloned();
        let whole = all.iter().filter(|it| it["q"] == 1.0).take(4).cloned();
        sampled.chain(whole).collect()
    }

    #[test]
    fn epsilon_is_that_of_dp_accounting_within_one_per_cent() {
        for config in recorded() {
            let (sigma, q) = (&config["sigma"], config["q"].as_f64().unwrap());
            let known = config["eps_pld_upper"].as_f64().unwrap();
            let drawn = if q < 1.0 {
                json!({"mechanism": "subsampled_gaussian", "noise_multiplier": sigma,
                       "sampling_rate": q, "count": config["steps"]})
            } else {
                json!({"mechanism": "gaussian", "noise_multiplier": sigma, "count": config["steps"]})
            };
            let step = json!({"step": 1, "drawn": [drawn], "epsilon": known}).to_string();
            let (_keep, trainer) = read(&(head(config["delta"].as_f64().unwrap()) + &step + "\n"));
            let account = trainer.account();
            let ours = account.ours.unwrap().epsilon;
            assert!((ours / known - 1.0).abs() < 0.01, "{config}: {ours} and {known}");
            assert!(!account.is_too_low, "{}", account.verdict);
        }
    }

    /// The multiplier of a sum over samples is over the norm of one record's part, also where every
    /// record is in each sample.
    #[test]
    fn of_replaced_records_a_whole_sample_moves_the_sum_twice_as_far() {
        let of = |drawn: Value| {
            let head = head(1e-5).replace("add_remove", "replace_one");
            let step = json!({"step": 1, "drawn": [drawn], "epsilon": 9.0}).to_string();
            read(&(head + &step + "\n")).1.account().ours.unwrap().epsilon
        };
        let sampled = of(json!({"mechanism": "subsampled_gaussian", "noise_multiplier": 20,
                                "sampling_rate": 1, "count": 100}));
        let twice = of(json!({"mechanism": "gaussian", "noise_multiplier": 10, "count": 100}));
        assert_eq!(sampled, twice);
        assert!(sampled > 4.3, "{sampled}");
    }

    #[test]
    fn a_claim_that_is_too_low_is_told_and_one_that_is_too_high_is_not_wrong() {
        let step = |claim: f64| {
            format!(
                "{{\"step\":1,\"drawn\":[{{\"mechanism\":\"gaussian\",\"noise_multiplier\":10,\"count\":9}}],\"epsilon\":{claim}}}\n"
            )
        };
        for (claim, words, is_too_low) in [
            (0.1, "too low", true),
            (-1.0, "not an ε", true),
            (40.0, "safe side", false),
            (1.1318, "agrees", false),
        ] {
            let (_keep, trainer) = read(&(head(1e-5) + &step(claim)));
            let account = trainer.account();
            assert!(account.verdict.contains(words), "{claim}: {account:?}");
            assert_eq!(account.is_too_low, is_too_low);
        }
    }

    #[test]
    fn hostile_lines_are_counted_and_what_they_may_have_drawn_leaves_no_epsilon() {
        let good = "{\"step\":1,\"metrics\":{\"loss\":2.5,\"\\u001b[31m\":1},\"drawn\":[{\"mechanism\":\"gaussian\",\"noise_multiplier\":10}],\"epsilon\":0.5}\n";
        let (_keep, mut trainer) = read(&(head(1e-5) + good));
        assert_eq!((trainer.step, trainer.skipped), (1, 0));
        assert!(!trainer.name().contains('\x1b'));
        assert!(trainer.metrics.keys().all(|name| !name.contains('\x1b')));
        assert!(trainer.account().ours.is_some());
        let path = trainer.path().to_path_buf();
        let mut file = fs::OpenOptions::new().append(true).open(&path).unwrap();
        file.write_all(b"{\"step\":1,\"drawn\":[]}\n{\"step\":3,\"met").unwrap();
        assert!(trainer.read().unwrap());
        assert_eq!((trainer.step, trainer.skipped), (1, 1));
        assert!(trainer.account().ours.is_some());
        // A torn or garbled line may have contained draws.
        for torn in ["\x1b[2J\n", "{\"step\":2,\"m\n", "{\"step\":2,\"epsilon\":1e999}\n"] {
            let (_keep, trainer) = read(&(head(1e-5) + good + torn));
            assert_eq!((trainer.step, trainer.skipped), (1, 1));
            let error = trainer.drawn().unwrap_err().to_string();
            assert!(trainer.account().ours.is_none() && error.contains('3'), "{error}");
        }
        // A line with a misspelt or missing key may also have contained draws.
        for (line, words) in [
            (r#"{"step":2,"metrics":{}}"#, "no `drawn`"),
            (r#"{"step":2,"drwan":[]}"#, "unknown field `drwan`"),
            (r#"{"step":2,"drawn":[],"time":7}"#, "unknown field `time`"),
            (r#"{"step":1,"metrics":{}}"#, "no `drawn`"),
            (
                r#"{"step":2,"drawn":[{"mechanism":"gaussian","noise_multiplier":9,"cuont":9}]}"#,
                "unknown field `cuont`",
            ),
            (
                r#"{"step":2,"drawn":[{"mechanism":"gaussian","noise_multiplier":9,"sampling_rate":1}]}"#,
                "no other number",
            ),
            (
                r#"{"step":2,"drawn":[{"mechanism":"gaussian","noise_multiplier":9,"count":2.5}]}"#,
                "invalid type",
            ),
        ] {
            let (_keep, trainer) = read(&(head(1e-5) + good + line + "\n"));
            let verdict = trainer.account().verdict;
            assert!(verdict.starts_with("line 3 ") && verdict.contains(words), "{verdict}");
            assert!(trainer.account().ours.is_none() && trainer.drawn().is_err());
        }
        let (_keep, trainer) = read(&(head(1e-5) + good + "{\"end\":\"finished\"}\n"));
        assert!(trainer.account().ours.is_some(), "an end draws nothing");
        for drawn in [
            r#"{"mechanism":"gaussian","noise_multiplier":0}"#,
            r#"{"mechanism":"gaussian","noise_multiplier":-1}"#,
            r#"{"mechanism":"subsampled_gaussian","noise_multiplier":1,"sampling_rate":7}"#,
            r#"{"mechanism":"magic"}"#,
        ] {
            let line = format!("{{\"step\":2,\"drawn\":[{drawn}]}}\n");
            let (_keep, trainer) = read(&(head(1e-5) + good + &line));
            let account = trainer.account();
            assert!(
                account.ours.is_none() && account.verdict.contains("cannot be read"),
                "{drawn}"
            );
        }
        assert!(!is_one(Path::new("/no/such")));
        for (text, words) in [
            ("", "no whole line"),
            ("{}\n", "not that of a file of steps"),
            (
                "{\"halflight\":\"steps 2\",\"delta\":0.1,\"adjacency\":\"zero_out\"}\n",
                "'steps 2', and this build reads 'steps 1'",
            ),
            (
                "{\"halflight\":\"steps 1\",\"delta\":\"\\u001b[2J\",\"adjacency\":\"zero_out\"}\n",
                "first line",
            ),
            (
                "{\"halflight\":\"steps 1\",\"delta\":1.5,\"adjacency\":\"zero_out\"}\n",
                "between 0 and 1",
            ),
        ] {
            let directory = tempfile::tempdir().unwrap();
            let path = directory.path().join("events.jsonl");
            fs::write(&path, text).unwrap();
            assert_eq!(is_one(&path), text.contains("steps"));
            let (trainer, _) = Trainer::of_file(&path).unwrap();
            assert!(trainer.account().ours.is_none());
            let error = trainer.drawn().unwrap_err().to_string();
            assert!(error.contains(words) && !error.contains('\u{1b}'), "{error}");
            assert!(words == "no whole line" || trainer.account().verdict.contains(words));
        }
    }
}
