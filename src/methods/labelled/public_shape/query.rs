//! The query on the private records, and how far one record can move it.
//!
//! A record contributes its residual ρ under the current model, in units of the clip c, times its
//! features x, ‖x‖ ≤ 1; the products of its features, ω·xxᵀ; and, in a regression, ρ². The release
//! is the mean over the records of v = (ρx, κω·xxᵀ, λρ²), with the matrix as its upper triangle and
//! off-diagonal entries times √2, which keeps its Frobenius norm. Let t = x·x′, a = ‖x‖, a′ = ‖x′‖.
//!
//! *Regression* (ω = 1, |ρ| ≤ 1), and *any number of classes* (ω = 1, ρ a vector, ‖ρ‖ ≤ 1, λ = 0).
//! ‖v − v′‖² = ρ²a² + ρ′²a′² − 2ρρ′t + κ²(a⁴ + a′⁴ − 2t²) + λ²(ρ² − ρ′²)². For given t and ρ it
//! grows with a and a′, and dropping the constraint |t| ≤ aa′ only enlarges the maximum: a = a′ =
//! 1, |t| ≤ 1. −ρρ′t is at most |ρ||ρ′||t|. The larger of |ρ|, |ρ′|, say |ρ|, is 1 by the same
//! growth (the slope in |ρ| ≥ |ρ′| is 2|ρ| + 2|ρ′t| + 4λ²|ρ|(ρ² − ρ′²) ≥ 0), the slope in σ = |ρ′|
//! is 2σ + 2|t| − 4λ²σ(1 − σ²), which is not negative for λ² ≤ ½: so σ = 1 and *the square is
//! free*. The remaining 2 + 2|t| + 2κ²(1 − t²), is largest at |t| = min(1, 1/(2κ²)): s² = 4 for κ²
//! ≤ ½, else 2 + 2κ² + 1/(2κ²). Attained by opposite residuals on unit vectors.
//!
//! *Two classes* (ρ = y − p, ω = |ρ|(1 − |ρ|), λ = 0). As before a = a′ = 1. With A = |ρ|, B = |ρ′|
//! and |t| ≤ 1: ‖v − v′‖² ≤ A² + B² + 2AB + κ²(ω² + ω′²) ≤ 2A² + 2B² + κ²(ω² + ω′²). This is at
//! most 4 if κ²A²(1 − A)² ≤ 2(1 − A²) for all A in 0 … 1, that is κ²·A²(1 − A)/(1 + A) ≤ 2. The
//! fraction is largest at A = (√5 − 1)/2, where it is 0.0902: so for κ² ≤ 22, s = 2, as if the
//! matrix were not released. Attained by two records with the same unit vector and ρ = ±1.
//!
//! *Persons*: v of a person is the mean of the person's records' v. Each record's v lies in a set
//! of diameter s, and so the means of two persons are no further apart than s.
//!
//! *Sharp*: where public records name persons, they show how long the mean of a person's ρx usually
//! is: much shorter than 1, where the errors of one person's records cancel. Then the mean is
//! divided by that length and clipped to 1 by itself: v = (s, κM, λq) with ‖s‖ ≤ 1, M the mean of
//! ω·xxᵀ, ‖M‖_F ≤ m (¼ for two classes, else 1), q in \[0, 1\]. ⟨M, M′⟩ ≥ 0, so ‖v − v′‖² ≤ 4 +
//! 2κ²m² + λ²; to a null person ‖v‖² ≤ 1 + κ²m² + λ². κ and λ are smaller than otherwise: they cost
//! more here, and the slope is the part that gains.
//!
//! *Zero-out*: the null record has x = 0 and ρ = 0, and ‖v‖² ≤ ρ² + κ²ω² + λ²ρ⁴: 1 + κ² + λ² for a
//! regression; for two classes the larger of 1 and the local maximum of A² + κ²A²(1 − A)², at A =
//! (3 − √(1 − 8/κ²))/4.

use std::ops::Range;
use std::sync::Arc;

use nalgebra::DMatrixView;

use super::labels::Labels;
use crate::data::Persons;
use crate::model::shape::{ScoreMeaning, Seen};
use crate::numeric::projection::shrink_factor;
use crate::numeric::symmetric::{pack, packed_length, unpack, weighted_outer_sum};
use crate::prelude::*;

/// The weights of the parts of a record's contribution, and the divisor of ρ.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Question {
    pub answer: ScoreMeaning,
    /// The number of features of a record.
    pub features: usize,
    /// κ
    pub moment: f64,
    /// λ
    pub square: f64,
    /// Whether the slopes of persons are clipped by themselves.
    pub sharp: bool,
}

/// The private records in the form that the queries use.
#[derive(Debug, Clone)]
pub struct Asked {
    pub seen: Seen<Doubles>,
    pub labels: Labels,
    /// The persons of the records, where persons are protected.
    pub persons: Option<Arc<Persons>>,
}

impl Asked {
    /// The weight of each record in the release: those of a person add up to one over the number of
    /// persons.
    fn shares(&self) -> Vec<f64> {
        let records = self.seen.features.count();
        match &self.persons {
            None => vec![1.0 / records as f64; records],
            Some(persons) => {
                let each = 1.0 / persons.count() as f64;
                let shares = persons.shares(&self.seen.features);
                shares.into_iter().map(|share| each * share).collect()
            }
        }
    }
}

/// The contents of one release: means over the private records.
#[derive(Debug, Clone, PartialEq)]
pub struct Statistics {
    /// The mean of ρx, one column per score, in the units of the residuals.
    pub slope: Matrix,
    /// The mean of ω·xxᵀ.
    pub moment: Matrix,
    /// The mean of ρ², in the units of the residuals' squares; only for a regression.
    pub square: Option<f64>,
}

/// The largest residual ‖indicator − probabilities‖.
const LONGEST_OF_CLASSES: f64 = std::f64::consts::SQRT_2;

impl Question {
    pub fn new(answer: ScoreMeaning, features: usize, adjacency: Adjacency) -> Self {
        let (moment, square) = match (answer, adjacency) {
            (ScoreMeaning::Number, Adjacency::ReplaceOne) => (1.0, std::f64::consts::FRAC_1_SQRT_2),
            (ScoreMeaning::Number, Adjacency::ZeroOut) => (0.7, 0.4),
            (ScoreMeaning::TwoClasses, _) => (4.0, 0.0),
            (ScoreMeaning::Classes(_), _) => (std::f64::consts::FRAC_1_SQRT_2, 0.0),
        };
        Self { answer, features, moment, square, sharp: false }
    }

    /// For persons whose slopes are clipped by themselves.
    pub fn sharp(answer: ScoreMeaning, features: usize) -> Self {
        let (moment, square) = match answer {
            ScoreMeaning::Number => (0.7, 0.4),
            ScoreMeaning::TwoClasses => (2.5, 0.0),
            ScoreMeaning::Classes(_) => (0.5, 0.0),
        };
        Self { answer, features, moment, square, sharp: true }
    }

    /// The number of numbers in one release.
    pub fn numbers(&self) -> usize {
        self.features * self.answer.outputs()
            + packed_length(self.features)
            + usize::from(self.square > 0.0)
    }

    /// The largest ω of a record.
    pub fn most_weight(&self) -> f64 {
        if self.answer == ScoreMeaning::TwoClasses { 0.25 } else { 1.0 }
    }

    /// How far one record can move the release, in exact arithmetic and times the number of
    /// records.
    pub fn unit_sensitivity(&self, adjacency: Adjacency) -> f64 {
        let (kappa, lambda) = (self.moment.powi(2), self.square.powi(2));
        if self.sharp {
            let moment = kappa * self.most_weight().powi(2);
            let square = match adjacency {
                Adjacency::ReplaceOne => 4.0 + 2.0 * moment + lambda,
                Adjacency::ZeroOut => 1.0 + moment + lambda,
            };
            return square.sqrt();
        }
        let square = match (adjacency, self.answer) {
            (Adjacency::ReplaceOne, ScoreMeaning::TwoClasses) => 4.0,
            (Adjacency::ReplaceOne, _) if kappa <= 0.5 => 4.0,
            (Adjacency::ReplaceOne, _) => 2.0 + 2.0 * kappa + 0.5 / kappa,
            (Adjacency::ZeroOut, ScoreMeaning::TwoClasses) => {
                let at = (3.0 - (1.0 - 8.0 / kappa).max(0.0).sqrt()) / 4.0;
                (at.powi(2) * (1.0 + kappa * (1.0 - at).powi(2))).max(1.0)
            }
            (Adjacency::ZeroOut, _) => 1.0 + kappa + lambda,
        };
        square.sqrt()
    }

    /// The largest length of a contribution.
    pub fn longest(&self) -> f64 {
        self.unit_sensitivity(Adjacency::ZeroOut)
    }

    /// How far one record can move the release as it is computed, for `shape`: the number of
    /// records or persons, and the most records of each. The sums of floating-point products are
    /// not the true ones, under either neighbour.
    pub fn sensitivity(&self, adjacency: Adjacency, shape: (usize, usize)) -> f64 {
        let (protected, most_records) = shape;
        let summed = protected * most_records + self.features + 64;
        let rounding = summation_error(summed) * self.longest();
        self.unit_sensitivity(adjacency) / protected as f64 * (1.0 + 1e-9) + 2.0 * rounding
    }

    /// The residuals of records under a correction, each within its bounds. `clip` is the unit of
    /// ρ.
    pub fn rests(
        &self,
        seen: &Seen<impl ExampleColumns>,
        labels: &Labels,
        correction: &[f64],
        clip: f64,
    ) -> Matrix {
        let outputs = self.answer.outputs();
        let mut is_null = vec![false; seen.features.count()];
        let scores = seen.corrected(correction, |i, x| is_null[i] = x.iter().all(|x| *x == 0.0));
        let mut rests = Matrix::zeros(outputs, is_null.len());
        for (i, (scores, mut rest)) in scores.column_iter().zip(rests.column_iter_mut()).enumerate()
        {
            if is_null[i] {
                continue;
            }
            labels.rest(i, scores.as_slice(), rest.as_mut_slice());
            match self.answer {
                ScoreMeaning::Number => rest[0] = tame(rest[0] / clip).clamp(-1.0, 1.0),
                ScoreMeaning::TwoClasses => rest[0] = tame(rest[0]).clamp(-1.0, 1.0),
                ScoreMeaning::Classes(_) => {
                    let length = rest.norm() / LONGEST_OF_CLASSES;
                    if length.is_finite() {
                        rest /= LONGEST_OF_CLASSES * length.max(1.0);
                    } else {
                        rest.fill(0.0);
                    }
                }
            }
        }
        rests
    }

    /// The release of these records without noise. `clip` is the unit of ρ, and `length` that of
    /// a person's slope.
    pub fn ask(&self, asked: &Asked, correction: &[f64], clip: f64, length: f64) -> Vec<f64> {
        let Asked { seen, labels, persons } = asked;
        let mut rests = self.rests(seen, labels, correction, clip);
        let shares = asked.shares();
        let weights: Vec<f64> = match self.answer {
            ScoreMeaning::TwoClasses => {
                let weights = rests.iter().zip(&shares);
                weights.map(|(rest, share)| share * rest.abs() * (1.0 - rest.abs())).collect()
            }
            _ => shares.clone(),
        };
        let square: f64 =
            rests.column_iter().zip(&shares).map(|(rest, share)| share * rest.norm_squared()).sum();
        for (mut rest, share) in rests.column_iter_mut().zip(&shares) {
            rest *= *share;
        }
        let slope = match persons.as_ref().filter(|_| self.sharp) {
            Some(persons) => clipped_by_person(&rests, &seen.features, persons, length),
            None => summed(&rests, &seen.features),
        };
        let mut released = slope.as_slice().to_vec();
        let moment = weighted_outer_sum(&seen.features, &weights);
        released.extend(pack(&moment).into_iter().map(|entry| self.moment * entry));
        if self.square > 0.0 {
            released.push(self.square * square);
        }
        released
    }

    /// The contents of a release, in the units of the residuals.
    pub fn read(&self, released: &[f64], clip: f64, length: f64) -> Statistics {
        let outputs = self.answer.outputs();
        let unit = self.unit(clip);
        let (slope, rest) = released.split_at(self.features * outputs);
        let (moment, square) = rest.split_at(packed_length(self.features));
        Statistics {
            slope: unit
                * length
                * Matrix::from_column_slice(outputs, self.features, slope).transpose(),
            moment: unpack(moment, self.features) / self.moment,
            square: square.first().map(|square| square / self.square * unit.powi(2)),
        }
    }

    /// The factor for a released slope.
    pub fn unit(&self, clip: f64) -> f64 {
        match self.answer {
            ScoreMeaning::Number => clip,
            ScoreMeaning::TwoClasses => 1.0,
            ScoreMeaning::Classes(_) => LONGEST_OF_CLASSES,
        }
    }
}

/// The sum of the persons' slopes, each clipped to its part: slopes of length `length` become one
/// over the number of persons.
fn clipped_by_person(rests: &Matrix, features: &Doubles, persons: &Persons, length: f64) -> Matrix {
    let longest = 1.0 / persons.count() as f64;
    let mut sum = Matrix::zeros(rests.nrows(), features.dimension());
    let (mut slope, mut room) = (sum.clone(), Vec::new());
    for own in persons.iter().filter(|own| !own.is_empty()) {
        let rests = rests.columns_range(own.clone());
        let features = examples(features, own, &mut room);
        slope.gemm(1.0 / length, &rests, &features.transpose(), 0.0);
        let norm = slope.norm();
        if norm.is_finite() {
            sum += shrink_factor(norm, longest) * &slope;
        }
    }
    sum
}

/// Σ rest·xᵀ over all records.
fn summed(rests: &Matrix, features: &Doubles) -> Matrix {
    let mut sum = Matrix::zeros(rests.nrows(), features.dimension());
    let mut room = Vec::new();
    for range in features.stretches(0..features.count()) {
        let rests = rests.columns_range(range.clone());
        sum.gemm(1.0, &rests, &examples(features, range, &mut room).transpose(), 1.0);
    }
    sum
}

/// The features of these records, one column each.
fn examples<'a>(
    features: &'a Doubles,
    range: Range<usize>,
    room: &'a mut Vec<f64>,
) -> DMatrixView<'a, f64> {
    let (dimension, count) = (features.dimension(), range.len());
    DMatrixView::from_slice(features.read(range, room), dimension, count)
}

/// Turns NaN into zero.
fn tame(number: f64) -> f64 {
    if number.is_nan() { 0.0 } else { number }
}

#[cfg(test)]
mod tests {
    use rand::RngExt;
    use rand::rngs::ChaCha20Rng;

    use super::*;
    use crate::example::{generator, normals};
    use crate::numeric::Vector;
    use halflight_testing as golden;

    const BOTH: [Adjacency; 2] = [Adjacency::ReplaceOne, Adjacency::ZeroOut];
    const ANSWERS: [ScoreMeaning; 3] =
        [ScoreMeaning::Number, ScoreMeaning::TwoClasses, ScoreMeaning::Classes(3)];
    const FEATURES: usize = 3;
    const RECORDS: usize = 10;

    /// One record: features of norm up to 1, scores and a label.
    #[derive(Debug, Clone)]
    struct Record {
        x: Vector,
        scores: Vec<f64>,
        label: f64,
    }

    fn null() -> Record {
        Record { x: Vector::zeros(FEATURES), scores: vec![0.0; 3], label: 0.0 }
    }

    fn labels(answer: ScoreMeaning, records: &[Record]) -> Labels {
        let numbers = records.iter().map(|record| record.label);
        match answer {
            ScoreMeaning::Number => Labels::Numbers(numbers.collect()),
            ScoreMeaning::TwoClasses => {
                Labels::Second(numbers.map(|y| f64::from(y > 0.0)).collect())
            }
            ScoreMeaning::Classes(count) => {
                let class = |y: f64| (y.abs() * 7.0) as u32 % count as u32;
                Labels::Classes(numbers.map(class).collect(), count)
            }
        }
    }

    /// The release from `records`, whose number is the stated one.
    fn released(query: &Question, records: &[Record]) -> Vector {
        let outputs = query.answer.outputs();
        let features = Matrix::from_fn(FEATURES, records.len(), |i, j| records[j].x[i]);
        let base = Matrix::from_fn(outputs, records.len(), |i, j| records[j].scores[i]);
        let labels = labels(query.answer, records);
        let asked = Asked { seen: Seen { features: features.into(), base }, labels, persons: None };
        let none = vec![0.0; FEATURES * outputs];
        Vector::from_vec(query.ask(&asked, &none, 0.5, 1.0))
    }

    fn moved(query: &Question, ours: &Record, theirs: &Record) -> f64 {
        let mut records: Vec<Record> = (0..RECORDS)
            .map(|k| Record {
                x: Vector::from_fn(FEATURES, |i, _| 0.1 * ((i + k) as f64).cos()),
                scores: vec![0.1, 0.2, -0.3],
                label: (k as f64).sin(),
            })
            .collect();
        records[4] = ours.clone();
        let one = released(query, &records);
        records[4] = theirs.clone();
        (one - released(query, &records)).norm()
    }

    fn random(generator: &mut ChaCha20Rng) -> Record {
        let mut x = normals(generator, FEATURES);
        let length: f64 = if generator.random() { 1.0 } else { generator.random() };
        x *= length / x.norm();
        let wide = if generator.random() { 1.0 } else { 10.0 };
        let scores = normals(generator, 3).iter().map(|score| wide * score).collect();
        Record { x, scores, label: 2.0 * generator.random::<f64>() - 1.0 }
    }

    /// A small change of `record`.
    fn near(record: &Record, generator: &mut ChaCha20Rng, step: f64) -> Record {
        let mut next = record.clone();
        next.x += step * normals(generator, FEATURES);
        let length = next.x.norm();
        if length > 1.0 {
            next.x /= length;
        }
        for score in &mut next.scores {
            *score += 4.0 * step * (generator.random::<f64>() - 0.5);
        }
        next.label = (next.label + step * (generator.random::<f64>() - 0.5)).clamp(-1.0, 1.0);
        next
    }

    #[test]
    fn a_search_among_neighbours_attains_the_sensitivity_and_never_passes_it() {
        for answer in ANSWERS {
            for adjacency in BOTH {
                let query = Question::new(answer, FEATURES, adjacency);
                let bound = query.sensitivity(adjacency, (RECORDS, 1));
                let mut generator = generator(5);
                let mut most: f64 = 0.0;
                let other = |generator: &mut ChaCha20Rng| match adjacency {
                    Adjacency::ReplaceOne => random(generator),
                    Adjacency::ZeroOut => null(),
                };
                for _ in 0..40 {
                    let mut pair = (random(&mut generator), other(&mut generator));
                    let mut best = moved(&query, &pair.0, &pair.1);
                    for k in 0..450 {
                        let step = 0.5 * 0.985_f64.powi(k);
                        let ours = near(&pair.0, &mut generator, step);
                        let theirs = match adjacency {
                            Adjacency::ReplaceOne => near(&pair.1, &mut generator, step),
                            Adjacency::ZeroOut => null(),
                        };
                        let found = moved(&query, &ours, &theirs);
                        assert!(found <= bound, "{answer:?} {adjacency:?}: {found} > {bound}");
                        if found > best {
                            (pair, best) = ((ours, theirs), found);
                        }
                    }
                    most = most.max(best);
                }
                assert!(most > 0.97 * bound, "{answer:?} {adjacency:?}: {most} of {bound}");
            }
        }
    }

    #[test]
    fn the_extreme_neighbours_of_the_proof_attain_the_bound() {
        let record = |x: [f64; 3], score: f64, label: f64| Record {
            x: Vector::from_row_slice(&x),
            scores: vec![score, -score, 0.0],
            label,
        };
        // Opposite rests; features at the angle whose cosine is 1/(2κ²) = ½.
        let query = Question::new(ScoreMeaning::Number, FEATURES, Adjacency::ReplaceOne);
        let bound = query.sensitivity(Adjacency::ReplaceOne, (RECORDS, 1));
        let angle = 60_f64.to_radians();
        let ours = record([1.0, 0.0, 0.0], 0.0, 0.7);
        let theirs = record([angle.cos(), angle.sin(), 0.0], 0.0, -0.7);
        let found = moved(&query, &ours, &theirs);
        assert!(found <= bound && found > bound * (1.0 - 1e-6), "{found} {bound}");
        assert!((query.unit_sensitivity(Adjacency::ReplaceOne).powi(2) - 4.5).abs() < 1e-12);
        // Two classes: both certain, both wrong, the same features.
        let query = Question::new(ScoreMeaning::TwoClasses, FEATURES, Adjacency::ReplaceOne);
        let bound = query.sensitivity(Adjacency::ReplaceOne, (RECORDS, 1));
        let (ours, theirs) =
            (record([0.6, 0.8, 0.0], -40.0, 1.0), record([0.6, 0.8, 0.0], 40.0, -1.0));
        let found = moved(&query, &ours, &theirs);
        assert!(found <= bound && found > bound * (1.0 - 1e-6), "{found} {bound}");
    }

    /// The release from persons, of whom the one in the middle has these records.
    fn released_of(query: &Question, person: &[Record]) -> Vector {
        let (mut records, mut counts) = (Vec::new(), Vec::new());
        for k in 0..RECORDS {
            let own = Record {
                x: Vector::from_fn(FEATURES, |i, _| 0.1 * ((i + k) as f64).cos()),
                scores: vec![0.1, 0.2, -0.3],
                label: (k as f64).sin(),
            };
            let own = if k == 4 { person.to_vec() } else { vec![own; 1 + k % 3] };
            counts.push(own.len());
            records.extend(own);
        }
        let outputs = query.answer.outputs();
        let asked = Asked {
            seen: Seen {
                features: Matrix::from_fn(FEATURES, records.len(), |i, j| records[j].x[i]).into(),
                base: Matrix::from_fn(outputs, records.len(), |i, j| records[j].scores[i]),
            },
            labels: labels(query.answer, &records),
            persons: Some(Arc::new(Persons::of_counts(counts))),
        };
        let none = vec![0.0; FEATURES * outputs];
        Vector::from_vec(query.ask(&asked, &none, 0.5, 0.05))
    }

    const MOST: usize = 4;

    #[test]
    fn a_search_among_persons_attains_the_sensitivity_and_never_passes_it() {
        for sharp in [false, true] {
            for answer in ANSWERS {
                for adjacency in BOTH {
                    let query = if sharp {
                        Question::sharp(answer, FEATURES)
                    } else {
                        Question::new(answer, FEATURES, adjacency)
                    };
                    let bound = query.sensitivity(adjacency, (RECORDS, MOST));
                    let mut generator = generator(7);
                    let mut most: f64 = 0.0;
                    let person = |generator: &mut ChaCha20Rng| -> Vec<Record> {
                        (0..generator.random_range(1..=MOST)).map(|_| random(generator)).collect()
                    };
                    for start in 0..60 {
                        let other = |generator: &mut ChaCha20Rng| match adjacency {
                            Adjacency::ReplaceOne => person(generator),
                            Adjacency::ZeroOut => vec![null()],
                        };
                        // Some begin at the extreme pair of the proof: opposite slopes from records
                        // whose features have almost nothing in common.
                        let mut pair = if start < 4 && sharp {
                            extreme(adjacency)
                        } else {
                            (person(&mut generator), other(&mut generator))
                        };
                        let moved = |pair: &(Vec<Record>, Vec<Record>)| {
                            (released_of(&query, &pair.0) - released_of(&query, &pair.1)).norm()
                        };
                        let mut best = moved(&pair);
                        for k in 0..300 {
                            let step = 0.5 * 0.98_f64.powi(k);
                            let next = |person: &[Record], generator: &mut ChaCha20Rng| {
                                person.iter().map(|it| near(it, generator, step)).collect()
                            };
                            let ours = next(&pair.0, &mut generator);
                            let theirs = match adjacency {
                                Adjacency::ReplaceOne => next(&pair.1, &mut generator),
                                Adjacency::ZeroOut => vec![null()],
                            };
                            let tried = (ours, theirs);
                            let found = moved(&tried);
                            assert!(found <= bound, "{sharp} {answer:?} {adjacency:?}: {found}");
                            if found > best {
                                (pair, best) = (tried, found);
                            }
                        }
                        most = most.max(best);
                    }
                    let share = most / bound;
                    assert!(share > 0.9, "{sharp} {answer:?} {adjacency:?}: {share}");
                }
            }
        }
    }

    /// Two persons of two records each.
    fn extreme(adjacency: Adjacency) -> (Vec<Record>, Vec<Record>) {
        let record = |x: [f64; 3], rest: f64| Record {
            x: Vector::from_row_slice(&x).normalize(),
            scores: vec![-rest, rest, 0.0],
            label: 0.0,
        };
        let ours = vec![record([1.0, 0.0, 0.0], 9.0)];
        let theirs = match adjacency {
            Adjacency::ReplaceOne => {
                vec![record([-0.1, 1.0, 0.0], 0.5), record([0.1, 1.0, 0.0], -0.5)]
            }
            Adjacency::ZeroOut => vec![null()],
        };
        (ours, theirs)
    }

    #[test]
    fn the_proof_for_two_classes_holds_on_a_fine_grid() {
        let kappa = Question::new(ScoreMeaning::TwoClasses, 1, Adjacency::ReplaceOne).moment;
        assert!(kappa.powi(2) <= 22.0);
        for k in 0..=100_000 {
            let a = f64::from(k) / 1e5;
            let (matrix, left) = ((kappa * a * (1.0 - a)).powi(2), 2.0 * (1.0 - a * a));
            assert!(matrix <= left + 1e-15, "{a}");
            // And the local maximum of the null record's bound is attained.
            let bound = Question::new(ScoreMeaning::TwoClasses, 1, Adjacency::ZeroOut)
                .unit_sensitivity(Adjacency::ZeroOut);
            assert!(a * a + matrix <= bound.powi(2) * (1.0 + 1e-12), "{a}");
        }
    }

    #[test]
    fn records_that_are_no_numbers_or_lie_beyond_all_bounds_do_not_pass_it_either() {
        let mut generator = generator(9);
        for answer in ANSWERS {
            let query = Question::new(answer, FEATURES, Adjacency::ReplaceOne);
            let bound = query.sensitivity(Adjacency::ReplaceOne, (RECORDS, 1));
            for score in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e300, -1e300, 0.0] {
                for label in [f64::NAN, f64::INFINITY, 1e300, -1.0] {
                    let mut wild = random(&mut generator);
                    wild.scores.fill(score);
                    if answer == ScoreMeaning::Number {
                        wild.label = label;
                    }
                    let found = moved(&query, &wild, &random(&mut generator));
                    assert!(found <= bound, "{answer:?} {score} {label}: {found} > {bound}");
                }
            }
        }
    }

    #[test]
    fn releases_agree_with_the_reference() {
        let golden = golden::correction();
        let alpha = |tier: f64| golden.number(&format!("regression.alpha.{tier}"));
        let tiers = golden.vector("regression.tier");
        let mut features = golden.records("regression.Phi_private");
        for (mut row, tier) in features.row_iter_mut().zip(&tiers) {
            row *= alpha(*tier);
        }
        let base = Matrix::from_row_slice(1, 16, golden.vector("regression.private.f").as_slice());
        let labels = Labels::Numbers(golden.vector("regression.private.y").as_slice().to_vec());
        let seen = Seen { features: features.into(), base };
        let query = Question::new(ScoreMeaning::Number, 11, Adjacency::ReplaceOne);
        assert_eq!(query.moment, 1.0);
        for (kappa, wanted) in golden.value("sensitivity.replace_one").as_object().unwrap() {
            let query = Question { moment: kappa.parse::<f64>().unwrap().sqrt(), ..query };
            let found = query.unit_sensitivity(Adjacency::ReplaceOne);
            assert!((found - wanted.as_f64().unwrap()).abs() < 1e-12, "{kappa}: {found}");
        }
        let clip = golden.number("regression.s2").sqrt() * 2.0;
        let asked = Asked { seen, labels, persons: None };
        let exact = query.read(&query.ask(&asked, &[0.0; 11], clip, 1.0), clip, 1.0);
        // The reference adds its fixed noise in the same place.
        let noise = golden.vector("regression.noise_fixed.gb");
        let sigma = golden.number("regression.one_round.sb");
        let slope = exact.slope.column(0) + sigma * noise;
        golden::assert_near(&slope, &golden.vector("regression.one_round.b"), 1e-9);
    }
}
