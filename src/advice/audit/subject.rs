//! The audited methods, and the public data that they get.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::data::synthetic::{self, DEFAULT_MIXTURE, SyntheticPart};
use crate::data::{
    Bounded, Classes, Dataset, DatasetDefinition, Persons, PublicRecords, Role, Source, Task,
};
use crate::error::{Error, Result};
use crate::evaluation::scoring::{Scoring, ScoringNeeds};
use crate::evaluation::{Evaluation, Judged, Loss, Pay, UsualErrors};
use crate::methods::baselines::elsewhere::errors_elsewhere;
use crate::methods::labelled::public_shape::public_model;
use crate::methods::{self, Method, Problem, ProblemShape, Settings, Value};
use crate::privacy::openings::OpenSpender;
use crate::privacy::tape::{Departure, Draw};
use crate::privacy::{Allotment, Calibrated, Private, Spender, Target, Watch};

/// Enough ε for noise not to hide faults, but not so much that everything is easy.
const TARGET: Target = Target { epsilon: 4.0, delta: 1e-3 };
/// Noise relative to the sensitivity of one draw, if no ε is needed.
const ROUGH: f64 = 0.5;
const PUBLIC_RECORDS: usize = 40;
const PRIVATE_RECORDS: usize = 60;
const FEATURES: usize = 4;
/// The most records of a person, if persons are audited.
const MOST_RECORDS: usize = 4;
/// The number of held-out private records, if a score is audited.
pub(super) const HELD_OUT: usize = 20;

/// A method with its settings, and public data in both roles.
pub struct Subject {
    pub name: String,
    method: &'static Method,
    settings: Settings,
    problem: Problem,
    /// The target of the plan.
    aim: Target,
    /// The data in the private role.
    pub(super) private: Dataset,
    pub(super) calibrated: Calibrated,
    /// A score on the first private records, which do not train, or on the last.
    score: Option<(Scoring, End)>,
}

/// Which end of the records is held out of training.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    First,
    Last,
}

impl End {
    /// The training records and the held-out ones.
    fn split(self, data: &Bounded) -> (Dataset, Dataset) {
        let data = data.doubles();
        let others = data.len() - HELD_OUT;
        match self {
            Self::First => (data.records(HELD_OUT, others), data.records(0, HELD_OUT)),
            Self::Last => (data.records(0, others), data.records(others, HELD_OUT)),
        }
    }
}

/// The result of one rehearsal.
pub(super) struct Played {
    pub draws: Vec<Draw>,
    /// Everything reported except the releases: measures and model.
    pub reported: Vec<String>,
    /// Whether the rehearsal would have drawn more often than planned.
    pub exceeds: bool,
}

impl Subject {
    pub fn new(
        name: &str,
        method: &str,
        given: &BTreeMap<String, Value>,
        (public, mut private): (PublicRecords, Dataset),
        target: Option<Target>,
    ) -> Result<Self> {
        let method = methods::method(method)?;
        let settings = method.spec().check(given)?;
        let needed = method.spec().needs_private_labels;
        if !needed {
            private.target = None;
            private.classes = None;
        }
        let shape = ProblemShape {
            private_records: private.protected(),
            most_records: if private.persons.is_some() { MOST_RECORDS } else { 1 },
            joint: None,
            public_records: public.len(),
            dimension: public.dimension(),
            bounds: public.bounds,
            private_labels: needed,
            classes: private.classes.iter().flat_map(|classes| classes.names.clone()).collect(),
            start: None,
        };
        let problem = Problem { shape, public, seed: 0 };
        let aim = target.unwrap_or(TARGET);
        if method.spec().public_only {
            let error =
                format!("'{}' releases nothing, so there is nothing to audit", method.spec().name);
            return Err(Error::usage(error).cure("audit another method"));
        }
        let prepared = method.prepare(&settings, problem.clone(), aim)?;
        let calibrated = match target {
            Some(target) => prepared.plan().calibrate(target)?,
            None => Calibrated::of_rough_noise(&prepared.plan().releases, TARGET.delta, ROUGH)?,
        };
        let (name, score) = (name.to_owned(), None);
        Ok(Self { name, method, settings, problem, aim, private, calibrated, score })
    }

    /// Adds a score on records that are held out of training.
    fn scored(mut self, asked: Evaluation, end: End, target: Option<Target>) -> Result<Self> {
        let classes = self.problem.shape.classes.len();
        let labelled = DatasetDefinition {
            label: Some("label".to_owned()),
            ..DatasetDefinition::new("made", Role::Private, Source::Builtin("bikeshare".to_owned()))
        };
        let scoring = Scoring::of(asked, &labelled, HELD_OUT, classes, true)?;
        let usual = UsualErrors::of(errors_elsewhere(&self.problem.public));
        let scoring = scoring.knowing(usual, None)?;
        let scoring = scoring.beside_constant(&self.problem.public, |raw| raw);
        self.problem.shape.private_records -= HELD_OUT;
        let prepared = self.method.prepare(&self.settings, self.problem.clone(), self.aim)?;
        self.calibrated = if let Some(target) = target {
            scoring.calibrate(&prepared.plan().releases, target)?
        } else {
            let mut releases = prepared.plan().releases.clone();
            releases.push(scoring.announced(Allotment::Share(1.0)));
            Calibrated::of_rough_noise(&releases, TARGET.delta, ROUGH)?
        };
        self.score = Some((scoring, end));
        Ok(self)
    }

    /// The whole run on these records in the private role.
    pub(super) fn play(&self, private: Bounded, seed: u64, history: Departure) -> Result<Played> {
        let mut spender = Spender::audited(&self.calibrated, seed, history);
        let prepared = self.method.prepare(&self.settings, self.problem.clone(), self.aim)?;
        let (training, score) = match &self.score {
            Some((scoring, end)) => {
                let (training, held_out) = end.split(&private);
                (self.bounded(training), Some((scoring, held_out)))
            }
            None => (private, None),
        };
        let mut run = prepared.start(Private::new(training), &self.calibrated)?;
        let mut reported = Vec::new();
        run.drive(&mut spender, &Watch::sealed(), |_, _, step| {
            let open = |measure: &methods::Measure| {
                Some(format!("{} {:?}", measure.series.words(), measure.value.open()?))
            };
            reported.extend(step.measures.iter().filter_map(open));
            Ok(())
        })?;
        reported.extend(run.weights().map(|weights| format!("{:?}", weights.get())));
        let model = run.finish()?;
        reported.push(format!("{:?}", model.get()));
        if let Some((scoring, holdout)) = score {
            let Problem { public, seed, .. } = &self.problem;
            let alone = public_model(public, *seed).ok();
            let needs = ScoringNeeds {
                public_alone: alone.as_ref().map(Judged::from),
                public_holdout: Some(&self.problem.public),
                classes: &self.problem.shape.classes,
                label: &|raw| raw,
            };
            let holdout = Private::new(holdout.in_singles());
            let scored = scoring.draw(&holdout, model.get().into(), &needs, &mut spender)?;
            reported.push(format!("{:?}", scored.get()));
        }
        let exceeds = spender.exceeds_its_plan();
        Ok(Played { draws: spender.into_draws(), reported, exceeds })
    }

    /// Whether this event releases a number for each private record (or person).
    pub(super) fn is_of_each_record(&self, event: usize) -> bool {
        let all = self.problem.shape.private_records as u64;
        self.method.spec().releases_each_record
            && self.calibrated.events()[event].mechanism.query.size == all
    }

    /// The first record that trains.
    pub(super) fn first_in_training(&self) -> usize {
        let at_first = matches!(self.score, Some((_, End::First)));
        if at_first { HELD_OUT } else { 0 }
    }

    /// Whether records at one end are held out for a score.
    pub(super) fn is_scored(&self) -> bool {
        self.score.is_some()
    }

    /// The records as after preparation.
    pub(super) fn bounded(&self, private: Dataset) -> Bounded {
        Bounded::within(private, self.problem.shape.bounds)
    }
}

/// Every method on synthetic data, with the settings that lead to different releases, or `only` the
/// named methods. Without `claims` their noise has some scale and no ε is known.
pub fn built_in(only: &[String], claims: bool) -> Result<Vec<Subject>> {
    let target = claims.then_some(TARGET);
    for id in only {
        methods::method(id)?;
    }
    let mut all = Vec::new();
    for spec in methods::methods().iter().map(|method| method.spec()) {
        let id = spec.id;
        if spec.public_only || !only.is_empty() && !only.iter().any(|wanted| wanted == id) {
            continue;
        }
        let few = spec.settings_for_few_records();
        let subject = |variant: &str, settings: &BTreeMap<String, Value>, data| {
            let name = if variant.is_empty() { id.to_owned() } else { format!("{id}, {variant}") };
            Subject::new(&name, id, settings, data, target)
        };
        let usual = || made(spec.task, 2);
        all.push(subject("", &few, usual()?)?);
        for (variant, key, text) in spec.variants {
            let mut settings = few.clone();
            let value = spec.field(key).and_then(|field| field.kind.parse(text));
            settings.extend(value.map(|value| ((*key).to_owned(), value)));
            all.push(subject(variant, &settings, usual()?)?);
        }
        if spec.softmax_of_several {
            all.push(subject("three classes", &few, made(spec.task, 3)?)?);
        }
        let (public, private) = usual()?;
        let private = of_persons(private);
        all.push(subject("persons", &few, (public.clone(), private.clone()))?);
        if spec.clips_persons {
            let own = persons_among(public.len());
            all.push(subject("clipped persons", &few, (public.by_person(Some(own)), private))?);
        }
        // A record in training, and one that is held out.
        for (variant, asked, end) in scores_of(id) {
            all.push(subject(variant, &few, usual()?)?.scored(asked, end, target)?);
        }
    }
    Ok(all)
}

/// Divides the records among persons with one to several records.
fn of_persons(data: Dataset) -> Dataset {
    let persons = persons_among(data.len());
    Dataset { persons: Some(Arc::new(persons)), ..data }
}

fn persons_among(records: usize) -> Persons {
    let mut left = records;
    let counts = (0..).map_while(|k: usize| {
        let count = (1 + k % MOST_RECORDS).min(left);
        left -= count;
        (count > 0).then_some(count)
    });
    Persons::of_counts(counts)
}

/// The scores that are audited with a method.
fn scores_of(method: &str) -> Vec<(&'static str, Evaluation, End)> {
    let plain = Evaluation::default();
    let own = Evaluation { pay: Pay::Epsilon(1.0), loss: Loss::Squared, ..plain };
    let detailed = Evaluation { per_class: true, auc: true, ..plain };
    match method {
        "target_only" => vec![
            ("scored, in training", plain, End::Last),
            ("scored, held out", plain, End::First),
            ("scored at a price, held out", own, End::First),
        ],
        "target_only_logistic" => vec![
            ("scored, held out", plain, End::First),
            ("scored in detail, held out", detailed, End::First),
        ],
        _ => Vec::new(),
    }
}

/// Public and private data, both synthetic, with up to three classes of equal size.
fn made(task: Task, classes: usize) -> Result<(PublicRecords, Dataset)> {
    let part = |part, rows| synthetic::dataset(part, rows, FEATURES, DEFAULT_MIXTURE, 7);
    let mut both = (
        part(SyntheticPart::Source, PUBLIC_RECORDS)?,
        part(SyntheticPart::Target, PRIVATE_RECORDS)?,
    );
    if task == Task::Classification {
        for data in [&mut both.0, &mut both.1] {
            let of = data.target.take().unwrap_or_default();
            let mut sorted = of.clone();
            sorted.sort_by(f64::total_cmp);
            let bound = |part| sorted.get(sorted.len() * part / classes).copied().unwrap_or(0.0);
            let bounds: Vec<f64> = (1..classes).map(bound).collect();
            let of = of.iter().map(|y| bounds.iter().filter(|bound| y >= *bound).count() as u32);
            let names = match classes {
                2 => vec!["low", "high"],
                _ => vec!["low", "middle", "high"],
            };
            let names = names.into_iter().map(str::to_owned).collect();
            data.classes = Some(Classes { of: of.collect(), names });
        }
    }
    let (public, private) = both;
    Ok((public.into(), private))
}
