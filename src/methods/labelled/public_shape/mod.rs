//! Public shape, private correction.
//!
//! Restricting the model to a linear one costs more accuracy than privacy does. So the shape of the
//! answer is learned where it is free, by predictors on public records ([`teaching`]). A few
//! bounded features of each record describe how it may be wrong elsewhere ([`features`]). Only the
//! size of the error in each of them is asked of the private records, under noise, in a few rounds
//! ([`query`]). The known noise decides how much of the answer is used ([`solve`]): with no signal
//! above the noise, the public predictor stays unchanged.

mod base;
mod clipping;
mod features;
pub(crate) mod labels;
pub mod query;
mod rounds;
mod run;
mod solve;
pub(crate) mod teaching;

use std::sync::Arc;

use crate::data::preparation::score_places;
use crate::model::shape::ScoreMeaning;
use crate::prelude::*;

pub use features::Ground;
use labels::Labels;
use query::Question;
use run::Adaptation;
use teaching::Taught;
pub use teaching::is_wide;

const STATISTICS: &str = "statistics";

/// With more columns, training the predictors takes too long.
pub const MOST_FEATURES: usize = 1000;

settings! {
    struct PublicShapeSettings {
        rounds: u64 = whole(1, 20, 10).named("rounds", "releases").help(
            "How often the private records are asked, each time under the model of the round \
             before. More rounds mend more of what the first one got wrong, with more noise in \
             each.",
        ),
        neighbours: Neighbours = Neighbours::or(Neighbours::ReplaceOne)
            .named("neighbours", "")
            .help(
                "replace_one: a record may be any other one (the stronger promise). zero_out: it \
                 may be missing, which takes less noise.",
            ),
    }
}

static REGRESSION: Spec = Spec {
    id: "public_shape",
    name: "public model, corrected",
    paper: "Public shape",
    summary: "Regression: trees and a linear model learn from public records; private records \
              correct them where they are wrong by clearly more than the noise.",
    line: "private records correct what public ones teach",
    task: Task::Regression,
    fields: PublicShapeSettings::FIELDS,
    tries: &[("rounds", &[3.0, 5.0, 20.0])],
    place: 1,
    takes_wide_features: true,
    has_own_predictor: true,
    most_features: Some(MOST_FEATURES),
    proof: Some("public_shape"),
    variants: &[("zero-out", "neighbours", "zero_out")],
    clips_persons: true,
    joins: true,
    gap: Gap::SLOPE_LEFT,
    ..Spec::DEFAULT
};

static CLASSIFICATION: Spec = Spec {
    id: "public_shape_classes",
    paper: "Public shape, classes",
    summary: "Any number of classes: trees and a linear model learn from public records; private \
              records correct them where they are wrong by clearly more than the noise.",
    task: Task::Classification,
    ..REGRESSION
};

/// For labels that are numbers.
pub const NUMBERS: &Method = &Method { spec: &REGRESSION, plan };
/// For labels that are classes.
pub const CLASSES: &Method = &Method { spec: &CLASSIFICATION, plan };

fn plan(settings: &Settings, problem: Problem, target: Target) -> Result<(Plan, Start)> {
    let settings = PublicShapeSettings::of(settings)?;
    let public = &problem.public;
    public.fit_into_memory()?;
    let answer = match &public.classes {
        None => ScoreMeaning::Number,
        Some(classes) if classes.names.len() == 2 => ScoreMeaning::TwoClasses,
        Some(classes) => ScoreMeaning::Classes(classes.names.len()),
    };
    let count = features::count(public.dimension(), &public.feature_names, answer.outputs());
    let adjacency = settings.neighbours.adjacency();
    let of_persons = problem.shape.most_records > 1 && public.persons().is_some();
    let query = if of_persons {
        Question::sharp(answer, count)
    } else {
        Question::new(answer, count, adjacency)
    };
    let rounds = settings.rounds;
    // The noise is compared with slopes, which are no longer than 1: the second moment, which
    // has most of the numbers, is taken from public records where noise hides it.
    let slopes = query.numbers() as f64 / (query.features * query.answer.outputs()) as f64;
    let release = statistics(&query, adjacency, &problem.shape);
    let what = format!(
        "means of the model's errors times each of {} features, and of products of two \
             features: {} numbers in each of {rounds} rounds",
        query.features,
        query.numbers()
    );
    let announced = release.announced(what, rounds, Allotment::Share(1.0), adjacency);
    let mut releases = vec![announced];
    let rivals = base::count(&public.feature_names);
    let choice = base::planned(target, adjacency, &problem.shape, rivals);
    releases.extend(choice.map(|(release, share)| base::announced(release, share, adjacency)));
    let choice = choice.map(|(release, _)| release);
    let mut plan = Plan::new(releases, 1 + rounds, slopes.sqrt());
    if answer != ScoreMeaning::Number {
        plan.warnings.extend(too_little(problem.shape.joint_records(), target.epsilon));
    }
    let start: Start = Box::new(move |private, _| {
        let lesson = Some((problem, private));
        Ok(Box::new(Adaptation { query, release, choice, rounds, lesson, state: None, index: 0 }))
    });
    Ok((plan, start))
}

choices! {
    pub enum Neighbours { ReplaceOne = "replace_one", ZeroOut = "zero_out" }
}

impl Neighbours {
    fn adjacency(self) -> Adjacency {
        match self {
            Self::ReplaceOne => Adjacency::ReplaceOne,
            Self::ZeroOut => Adjacency::ZeroOut,
        }
    }
}

/// The product of private records or persons and ε below which public data alone had the smaller mean
/// error in four shifts of classes (`heart`, two other hospitals, `german-young`). With numbers, a
/// correction paid on `wind` at 8.
const LEAST_PRODUCT: f64 = 12.0;

/// The warning of a plan whose noise hides what a correction needs. Private data do not decide it.
fn too_little(records: usize, epsilon: f64) -> Option<String> {
    let product = records as f64 * epsilon;
    (product < LEAST_PRODUCT).then(|| {
        format!(
            "private records times ε is {product:.1}: below {LEAST_PRODUCT}, public data alone mostly \
             do as well as a correction, and cost nothing"
        )
    })
}

/// The release of means over the records or persons of this shape.
fn statistics(query: &Question, adjacency: Adjacency, shape: &ProblemShape) -> Release<Gaussian> {
    let sensitivity = query.sensitivity(adjacency, (shape.private_records, shape.most_records));
    Release::new(STATISTICS, Gaussian { sensitivity, numbers: query.numbers() })
}

/// The answer of public records alone: the mixture of predictors that a correction starts from.
pub fn public_model(public: &PublicRecords, seed: u64) -> Result<Model> {
    Ok(Model::Shape(lesson(public, seed)?.1.shape.clone()))
}

/// The mixture of predictors trained on these public records.
pub fn mixture(public: &PublicData, seed: u64) -> Result<Model> {
    Ok(Model::Shape(learn(public, seed)?.1.shape))
}

/// The ground learned from the public records of a problem.
pub fn ground(problem: &Problem) -> Result<Arc<Ground>> {
    Ok(lesson(&problem.public, problem.seed)?.1)
}

/// What public records teach.
fn lesson(public: &PublicRecords, seed: u64) -> Result<(Arc<Taught>, Arc<Ground>)> {
    // As bits, so that no seed is rounded.
    let seed = f64::from_bits(seed);
    public.once("predictors", seed, |public, seed| {
        let (taught, ground) = learn(public, seed.to_bits())?;
        Ok((Arc::new(taught), Arc::new(ground)))
    })
}

/// The ground on another mixture of the predictors.
fn ground_on(problem: &Problem, taught: &Taught, base: &[f64]) -> Result<Ground> {
    let public = problem.public.whole()?;
    let labels = Labels::of(&problem.public)?;
    Ok(features::ground(&public, &problem.public.feature_names, &labels, taught, base))
}

/// Predictors learned from public records, and the ground on their mixture. `seed` decides the
/// folds.
fn learn(public: &PublicData, seed: u64) -> Result<(Taught, Ground)> {
    let labels = Labels::of(public)?;
    let features = public.whole()?;
    let scores = score_places(&public.feature_names);
    let taught = teaching::teach(&features, &scores, &labels, seed);
    let ground = features::ground(&features, &public.feature_names, &labels, &taught, &taught.base);
    Ok((taught, ground))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_with_little_data_and_epsilon_says_that_public_data_will_do() {
        assert!(
            too_little(100, 0.1).unwrap().starts_with("private records times ε is 10.0: below 12,")
        );
        assert_eq!(too_little(100, 0.12), None);
        assert_eq!(too_little(1034, 0.05), None);
    }
}
