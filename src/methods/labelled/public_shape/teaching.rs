//! What is learned from public records: predictors, which of them to trust elsewhere, and features.
//!
//! Four predictors are trained: a linear one, boosted trees with few and with many leaves, and
//! trees on the residuals of the linear one. Each is also trained without a part of the records,
//! once for every fold, so that public records can be scored as unseen ones, and once for every
//! *region*: a third of the records along their first principal component. How well the other
//! records predict a region is taken as how well private records will be predicted. The mixture
//! that serves as the base is chosen by this.
//!
//! Where the user has public predictors, a line through their scores alone is one more predictor, and
//! so is a line through each of the best. They are no part of the mixture: whether a region was left
//! out of a predictor of the user is not known.

use rand::SeedableRng;
use rand::rngs::ChaCha20Rng;
use rand::seq::SliceRandom;

use super::labels::{Labels, RIDGES};
use crate::model::shape::{Predictor, shorten};
use crate::model::trees::{BinnedParts, Boosting, Growth};
use crate::numeric::principal::Principal;
use crate::numeric::projection::{onto_simplex, shrink_factor};
use crate::numeric::{Matrix, Vector, parallel};

/// The most public records on which predictors are compared.
const MOST_COMPARED: usize = 10_000;
const FOLDS: usize = 4;
const REGIONS: usize = 3;

/// The predictors of trees: how many leaves these have, and whether they are grown on the residuals
/// of the linear predictor. In every list, the linear one comes first.
const FORESTS: [(usize, bool); 3] = [(FEW_LEAVES, false), (31, false), (FEW_LEAVES, true)];
const FEW_LEAVES: usize = 8;
/// The predictors of a mixture.
pub const PREDICTORS: usize = 1 + FORESTS.len();
pub const LINEAR: usize = 0;

/// Larger than the norm of any record, in any format of numbers.
const NO_RADIUS: f64 = 1e30;

/// Of several public predictors of the user, at most this many are asked for one by one.
const MOST_ALONE: usize = 3;

/// The predictors with their choice.
#[derive(Debug, Clone)]
pub struct Taught {
    pub predictors: Vec<Predictor>,
    /// Every predictor's scores of the compared records, from one that had not seen them.
    pub unseen: Vec<Matrix>,
    /// Every predictor's scores of the compared records, from one that had not seen their region.
    pub abroad: Vec<Matrix>,
    /// The records that were compared.
    pub compared: Vec<u32>,
    /// The region of each.
    pub regions: Vec<u8>,
    /// The mixture that does best in other regions.
    pub base: Vec<f64>,
    /// Whether a predictor of the user's scores, which come after the others, is the same for all
    /// records.
    pub idle: Vec<bool>,
}

/// The number of predictors of the user's scores, of which features have these places.
pub fn own_count(scores: &[Vec<usize>]) -> usize {
    if scores.len() > 1 { 1 + scores.len().min(MOST_ALONE) } else { scores.len() }
}

/// Records that are left out together.
struct Part {
    taught: Vec<u32>,
    /// Positions among the compared records.
    left_out: Vec<u32>,
}

impl Part {
    /// The parts of `records` without empty ones, for the number of each record's part.
    fn all(
        records: usize,
        count: usize,
        of: impl Fn(usize) -> usize,
    ) -> impl Iterator<Item = Self> {
        let part = move |number: usize| {
            let (left_out, taught) = (0..records as u32).partition(|i| of(*i as usize) == number);
            Self { taught, left_out }
        };
        let whole = |part: &Self| !part.taught.is_empty() && !part.left_out.is_empty();
        (0..count).map(part).filter(whole)
    }

    fn left_out(&self) -> Vec<usize> {
        self.left_out.iter().map(|i| *i as usize).collect()
    }

    /// Writes the predictor's scores of the records that are left out.
    fn score(&self, features: &Matrix, predictor: &Predictor, scores: &mut Matrix) {
        let left = self.left_out();
        let answers = predictor.scores(&features.select_columns(&left), scores.nrows());
        for (i, answer) in left.iter().zip(answers.column_iter()) {
            scores.set_column(*i, &answer);
        }
    }
}

/// Predictors trained without a part of the records, and the loss on that part after every round of
/// each.
struct Outcome {
    predictors: Vec<Predictor>,
    courses: Vec<Vec<f64>>,
}

/// The results of jobs on all threads, each of which takes the next job when it is free.
fn shared_out<J: Send, T: Send>(jobs: Vec<J>, work: impl Fn(J) -> T + Sync) -> Vec<T> {
    let mut results: Vec<Option<T>> = jobs.iter().map(|_| None).collect();
    let jobs = jobs.into_iter().zip(&mut results).collect();
    parallel::share_out(jobs, parallel::threads(), &|(job, result): (J, &mut Option<T>)| {
        *result = Some(work(job));
    });
    results.into_iter().flatten().collect()
}

/// From so many weights of a linear predictor on, as with pictures, predictors are learned in a way
/// that takes a fraction of the time.
const WIDE: usize = 2_000;

pub fn is_wide(features: usize, outputs: usize) -> bool {
    features * outputs >= WIDE
}

fn boosting(leaves: usize, records: usize, is_wide: bool) -> Boosting {
    let growth = Growth { most_leaves: leaves, most_depth: 32, least_examples: 20, ridge: 1.0 };
    if is_wide {
        let learning_rate = if leaves > 8 { 0.15 } else { 0.25 };
        return Boosting { rounds: 60, learning_rate, growth, patience: Some(6) };
    }
    let rounds = if records > 50_000 { 100 } else { 150 };
    let learning_rate = if leaves > 8 { 0.06 } else { 0.1 };
    Boosting { rounds, learning_rate, growth, patience: None }
}

/// Trains everything. `scores` has the places of the features that are the user's scores, and `seed`
/// decides the folds.
pub fn teach(features: &Matrix, scores: &[Vec<usize>], labels: &Labels, seed: u64) -> Taught {
    let records = features.ncols();
    let stride = records.div_ceil(MOST_COMPARED).max(1);
    let compared: Vec<u32> = (0..records as u32).step_by(stride).collect();
    let some = features.select_columns(&compared.iter().map(|i| *i as usize).collect::<Vec<_>>());
    let chosen = labels.select(&compared);
    let (folds, regions) = (folds(compared.len(), seed), regions(&some));
    let of_folds = Part::all(compared.len(), FOLDS, |i| usize::from(folds[i]));
    let of_regions = Part::all(compared.len(), REGIONS, |i| usize::from(regions[i]));
    let parts: Vec<Part> = of_folds.chain(of_regions).collect();
    let is_wide = is_wide(features.nrows(), labels.answer().outputs());
    let binned = BinnedParts::new(&some, is_wide);
    let line = LinearFit::best(&some, &chosen, parts.get(FOLDS..).unwrap_or_default());
    let mut outcomes = learn((&some, &binned), &chosen, &parts, line);
    // With equal weight for folds and regions.
    let parts_of_its_kind = |part: usize| if part < FOLDS { FOLDS } else { REGIONS };
    let rounds = (0..PREDICTORS).map(|kind| {
        let courses: Vec<_> = outcomes.iter().map(|outcome| &outcome.courses[kind]).collect();
        best_rounds(&courses, parts_of_its_kind)
    });
    let rounds: Vec<usize> = rounds.collect();
    let outputs = labels.answer().outputs();
    let blank = || vec![Matrix::zeros(outputs, compared.len()); PREDICTORS];
    let (mut unseen, mut abroad) = (blank(), blank());
    for (at, (part, outcome)) in parts.iter().zip(&mut outcomes).enumerate() {
        let scores = if at < FOLDS { &mut unseen } else { &mut abroad };
        for (kind, predictor) in outcome.predictors.iter_mut().enumerate() {
            if let Predictor::Forest(forest) = predictor {
                forest.truncate(rounds[kind]);
            }
            part.score(&some, predictor, &mut scores[kind]);
        }
    }
    let whole = if stride == 1 { binned } else { BinnedParts::new(features, is_wide) };
    let mut predictors = finally((features, &whole), labels, &rounds, line);
    let mut base = mixture(&abroad, &chosen);
    let mut idle = Vec::new();
    for own in own_lines((&some, &chosen), scores, &parts) {
        let everyone: Vec<u32> = (0..records as u32).collect();
        predictors.push(line_through(features, labels, &everyone, &own.places));
        unseen.push(own.unseen);
        abroad.push(own.abroad);
        base.push(0.0);
        let is_idle = |place: &usize| some.row(*place).iter().all(|x| *x == 0.0);
        idle.push(own.places.iter().all(is_idle));
    }
    Taught { predictors, unseen, abroad, compared, regions, base, idle }
}

/// A line through some of the user's scores, as [`Taught`] has it.
struct OwnLine {
    places: Vec<usize>,
    unseen: Matrix,
    abroad: Matrix,
}

/// A line through all of the user's scores, and one through each of those with the least loss in
/// regions that the line was not fitted to.
fn own_lines(
    (features, labels): (&Matrix, &Labels),
    scores: &[Vec<usize>],
    parts: &[Part],
) -> Vec<OwnLine> {
    let line = |places: Vec<usize>| {
        let blank = Matrix::zeros(labels.answer().outputs(), features.ncols());
        let (mut unseen, mut abroad) = (blank.clone(), blank);
        for (at, part) in parts.iter().enumerate() {
            let fitted = line_through(features, labels, &part.taught, &places);
            part.score(features, &fitted, if at < FOLDS { &mut unseen } else { &mut abroad });
        }
        OwnLine { places, unseen, abroad }
    };
    if scores.is_empty() {
        return Vec::new();
    }
    let mut lines = vec![line(scores.concat())];
    if scores.len() > 1 {
        let alone = scores.iter().map(|places| line(places.clone()));
        let mut alone: Vec<(f64, OwnLine)> =
            alone.map(|line| (labels.mean_loss(&line.abroad), line)).collect();
        alone.sort_by(|(one, _), (other, _)| one.total_cmp(other));
        lines.extend(alone.into_iter().take(MOST_ALONE).map(|(_, line)| line));
    }
    lines
}

/// The linear predictor of these features alone. They are few and bounded, so records are not
/// shortened, and the least ridge will do.
fn line_through(features: &Matrix, labels: &Labels, taught: &[u32], places: &[usize]) -> Predictor {
    let some = features.select_rows(places);
    let usual = quantile(taught.iter().map(|at| some.column(*at as usize).norm()), WITHIN);
    let radius = if usual > 0.0 { usual } else { 1.0 };
    let mut examples = Matrix::from_element(places.len() + 1, taught.len(), 1.0);
    for (mut example, at) in examples.column_iter_mut().zip(taught) {
        example.rows_mut(0, places.len()).copy_from(&(some.column(*at as usize) / radius));
    }
    let found = labels.select(taught).linear(&examples, &RIDGES[..1]).swap_remove(0);
    let mut weights = Vec::new();
    for own in found.chunks_exact(places.len() + 1) {
        let mut all = vec![0.0; features.nrows() + 1];
        for (place, weight) in places.iter().zip(own) {
            all[*place] = weight / radius;
        }
        all[features.nrows()] = own[places.len()];
        weights.extend(all);
    }
    Predictor::Linear { weights, radius: NO_RADIUS }
}

/// One predictor, trained on all records, and the scores of each record from one that had not seen
/// its part.
#[derive(Debug, Clone)]
pub struct TaughtAlone {
    pub predictor: Predictor,
    pub unseen: Matrix,
}

/// Trains only trees with few leaves, or only the linear predictor. `parts` has the part of each
/// record, from 0 on: records of one part are left out together.
pub fn teach_alone(features: &Matrix, labels: &Labels, trees: bool, of: &[u32]) -> TaughtAlone {
    let records = features.ncols();
    let count = of.iter().max().map_or(0, |last| last + 1) as usize;
    let parts: Vec<Part> = Part::all(records, count, |i| of[i] as usize).collect();
    let everyone: Vec<u32> = (0..records as u32).collect();
    let (predictor, without): (_, Vec<Predictor>) = if trees {
        let is_wide = is_wide(features.nrows(), labels.answer().outputs());
        let binned = BinnedParts::new(features, is_wide);
        let grow = |taught: &[u32], rounds: Option<usize>, watched: &[u32]| {
            let plan = boosting(FEW_LEAVES, taught.len(), is_wide);
            let plan = Boosting { rounds: rounds.unwrap_or(plan.rounds), ..plan };
            plan.fit((&binned, features), taught, labels.loss(), None, watched)
        };
        let grown = shared_out(parts.iter().collect(), |part: &Part| {
            grow(&part.taught, None, &part.left_out)
        });
        let (mut forests, courses): (Vec<_>, Vec<_>) = grown.into_iter().unzip();
        let rounds = best_rounds(&courses.iter().collect::<Vec<_>>(), |_| 1);
        for forest in &mut forests {
            forest.truncate(rounds);
        }
        let (forest, _) = grow(&everyone, Some(rounds), &[]);
        (Predictor::Forest(forest), forests.into_iter().map(Predictor::Forest).collect())
    } else {
        let line = LinearFit::best(features, labels, &parts);
        let fit = |taught: &[u32]| line.fit(features, labels, taught);
        (fit(&everyone), parts.iter().map(|part| fit(&part.taught)).collect())
    };
    let mut unseen = Matrix::zeros(labels.answer().outputs(), records);
    for (part, predictor) in parts.iter().zip(&without) {
        part.score(features, predictor, &mut unseen);
    }
    TaughtAlone { predictor, unseen }
}

/// The share of public records that bounds should cover.
pub const WITHIN: f64 = 0.95;

pub fn quantile(values: impl Iterator<Item = f64>, share: f64) -> f64 {
    let mut sorted: Vec<f64> = values.collect();
    sorted.sort_by(f64::total_cmp);
    let at = (share * sorted.len() as f64) as usize;
    sorted.get(at.min(sorted.len().saturating_sub(1))).copied().unwrap_or(0.0)
}

/// Which fold each record is in.
fn folds(records: usize, seed: u64) -> Vec<u8> {
    let mut folds: Vec<u8> = (0..records).map(|i| (i % FOLDS) as u8).collect();
    folds.shuffle(&mut ChaCha20Rng::seed_from_u64(seed));
    folds
}

/// Thirds along the first principal component.
fn regions(features: &Matrix) -> Vec<u8> {
    let records = features.ncols();
    let mut bounded = features.clone();
    let radius = quantile(bounded.column_iter().map(|record| record.norm()), WITHIN);
    shorten(&mut bounded, radius);
    let places = match Principal::centred(&bounded, 1) {
        Some((_, principal)) if principal.directions.ncols() > 0 => {
            bounded.tr_mul(&principal.directions.column(0))
        }
        _ => Vector::from_fn(records, |i, _| i as f64),
    };
    let mut order: Vec<usize> = (0..records).collect();
    order.sort_by(|a, b| places[*a].total_cmp(&places[*b]).then(a.cmp(b)));
    let mut regions = vec![0; records];
    for (rank, record) in order.into_iter().enumerate() {
        regions[record] = (rank * REGIONS / records) as u8;
    }
    regions
}

/// Trains every kind of predictor without each of the parts, and evaluates it on that part.
fn learn(
    (features, binned): (&Matrix, &BinnedParts),
    labels: &Labels,
    parts: &[Part],
    line: LinearFit,
) -> Vec<Outcome> {
    let outputs = labels.answer().outputs();
    let linear: Vec<(Predictor, Matrix)> = parts
        .iter()
        .map(|part| {
            let linear = line.fit(features, labels, &part.taught);
            let offset = linear.scores(features, outputs);
            (linear, offset)
        })
        .collect();
    // Kind by kind of every part, so that no thread is left with much more than the others; large
    // trees take longest and come first.
    let kinds = |part| (0..FORESTS.len()).map(move |kind| (part, kind));
    let mut jobs: Vec<(usize, usize)> = (0..parts.len()).flat_map(kinds).collect();
    jobs.sort_by_key(|(_, kind)| std::cmp::Reverse(FORESTS[*kind].0));
    let grown = shared_out(jobs.clone(), |(part, kind)| {
        let (leaves, on_rest) = FORESTS[kind];
        let (Part { taught, left_out }, (_, offset)) = (&parts[part], &linear[part]);
        let start = on_rest.then_some(offset.as_slice());
        let plan = boosting(leaves, taught.len(), is_wide(features.nrows(), outputs));
        plan.fit((binned, features), taught, labels.loss(), start, left_out)
    });
    let mut grown: Vec<_> = jobs.into_iter().zip(grown).collect();
    grown.sort_by_key(|(job, _)| *job);
    let without = |(linear, _)| Outcome { predictors: vec![linear], courses: vec![Vec::new()] };
    let mut outcomes: Vec<Outcome> = linear.into_iter().map(without).collect();
    for ((part, _), (forest, course)) in grown {
        outcomes[part].predictors.push(Predictor::Forest(forest));
        outcomes[part].courses.push(course);
    }
    outcomes
}

/// Trains every kind of predictor on all records, for the best number of rounds.
fn finally(
    (features, binned): (&Matrix, &BinnedParts),
    labels: &Labels,
    rounds: &[usize],
    line: LinearFit,
) -> Vec<Predictor> {
    let everyone: Vec<u32> = (0..features.ncols() as u32).collect();
    let linear = line.fit(features, labels, &everyone);
    let outputs = labels.answer().outputs();
    let is_wide = is_wide(features.nrows(), outputs);
    let offset = linear.scores(features, outputs);
    let jobs = FORESTS.into_iter().zip(rounds[1..].iter().copied()).collect();
    let forests = shared_out(jobs, |((leaves, on_rest), rounds)| {
        let start = on_rest.then_some(offset.as_slice());
        let plan = Boosting { rounds, ..boosting(leaves, everyone.len(), is_wide) };
        plan.fit((binned, features), &everyone, labels.loss(), start, &[]).0
    });
    std::iter::once(linear).chain(forests.into_iter().map(Predictor::Forest)).collect()
}

/// The number of rounds with the least loss over all parts. Each loss is divided by a number.
fn best_rounds(courses: &[&Vec<f64>], divisor: impl Fn(usize) -> usize) -> usize {
    let length = courses.iter().map(|course| course.len()).min().unwrap_or(0);
    let loss = |round: usize| -> f64 {
        let each = courses.iter().enumerate();
        each.map(|(part, course)| course[round] / divisor(part) as f64).sum()
    };
    (0..length).min_by(|a, b| loss(*a).total_cmp(&loss(*b))).unwrap_or(0)
}

/// The fit of the linear predictor.
#[derive(Debug, Clone, Copy)]
struct LinearFit {
    /// Records are shortened to this many times the norm that contains most of them. A short reach
    /// is safe if private records are outliers; a long one is right if the labels continue to rise
    /// there.
    reach: f64,
    ridge: f64,
}

const REACHES: [f64; 3] = [1.0, 1.5, 3.0];

impl LinearFit {
    /// The fit that does best in the parts that it leaves out.
    fn best(features: &Matrix, labels: &Labels, parts: &[Part]) -> Self {
        let outputs = labels.answer().outputs();
        let losses = shared_out(REACHES.to_vec(), |reach| {
            let mut losses = [0.0; RIDGES.len()];
            for part in parts {
                let away = features.select_columns(&part.left_out());
                let truth = labels.select(&part.left_out);
                let all = linear(features, labels, &part.taught, reach, &RIDGES);
                for (loss, predictor) in losses.iter_mut().zip(all) {
                    *loss += truth.mean_loss(&predictor.scores(&away, outputs));
                }
            }
            losses
        });
        let all = REACHES.iter().zip(&losses).flat_map(|(reach, losses)| {
            let line = |(ridge, loss): (&f64, &f64)| (Self { reach: *reach, ridge: *ridge }, *loss);
            RIDGES.iter().zip(losses).map(line)
        });
        let best = all.min_by(|(_, a), (_, b)| a.total_cmp(b));
        best.map_or(Self { reach: REACHES[0], ridge: RIDGES[0] }, |(line, _)| line)
    }

    fn fit(self, features: &Matrix, labels: &Labels, taught: &[u32]) -> Predictor {
        linear(features, labels, taught, self.reach, &[self.ridge]).swap_remove(0)
    }
}

/// One linear predictor for each ridge.
fn linear(
    features: &Matrix,
    labels: &Labels,
    taught: &[u32],
    reach: f64,
    ridges: &[f64],
) -> Vec<Predictor> {
    let inputs = features.nrows();
    let mut examples = Matrix::from_element(inputs + 1, taught.len(), 1.0);
    let usual = quantile(taught.iter().map(|at| features.column(*at as usize).norm()), WITHIN);
    let radius = reach * if usual > 0.0 { usual } else { 1.0 };
    for (mut example, at) in examples.column_iter_mut().zip(taught) {
        let record = features.column(*at as usize);
        let shrink = shrink_factor(record.norm(), radius) / radius;
        example.rows_mut(0, inputs).copy_from(&(shrink * record));
    }
    let predictor = |mut weights: Vec<f64>| {
        for score in weights.chunks_exact_mut(inputs + 1) {
            score[..inputs].iter_mut().for_each(|weight| *weight /= radius);
        }
        Predictor::Linear { weights, radius }
    };
    labels.select(taught).linear(&examples, ridges).into_iter().map(predictor).collect()
}

/// Mixtures of the predictors' scores; trees on residuals are added to the linear predictor.
pub fn mixed(scores: &[Matrix], mixture: &[f64]) -> Matrix {
    let mut sum = Matrix::zeros(scores[0].nrows(), scores[0].ncols());
    for (share, scores) in mixture.iter().zip(scores) {
        sum += *share * scores;
    }
    sum
}

/// The mixture of a linear predictor, small trees, large trees, and the linear one with trees on
/// its residuals that has the least loss, by descent on their shares.
fn mixture(scores: &[Matrix], labels: &Labels) -> Vec<f64> {
    // Shares of [linear, small, large, linear + residual trees].
    let shares_to_mixture =
        |shares: &Vector| vec![shares[0] + shares[3], shares[1], shares[2], shares[3]];
    let loss = |shares: &Vector| labels.mean_loss(&mixed(scores, &shares_to_mixture(shares)));
    let mut shares = Vector::from_element(PREDICTORS, 1.0 / PREDICTORS as f64);
    let mut current = loss(&shares);
    let mut length = 0.25;
    // Pairs of shares are moved against each other: four numbers need no gradient.
    while length > 0.01 {
        let mut better = false;
        for from in 0..PREDICTORS {
            for to in (0..PREDICTORS).filter(|to| *to != from) {
                let mut next = shares.clone();
                next[from] -= length;
                next[to] += length;
                onto_simplex(&mut next);
                let reached = loss(&next);
                if reached < current - 1e-12 * current.abs() {
                    (shares, current, better) = (next, reached, true);
                }
            }
        }
        if !better {
            length /= 2.0;
        }
    }
    shares_to_mixture(&shares)
}
