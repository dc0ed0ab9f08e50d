//! Synthetic data for the tests of this layer.

use std::collections::BTreeMap;

use rand::SeedableRng;
use rand::rngs::ChaCha20Rng;
use rand_distr::{Distribution, StandardNormal};

use super::{Measure, Method, Plan, Problem, ProblemShape, Series, Step, Value};
use crate::data::{Bounds, Classes, Dataset};
use crate::error::Result;
use crate::numeric::projection::shrink_factor;
use crate::numeric::{Matrix, Vector};
use crate::privacy::Target;

pub const TARGET: Target = Target { epsilon: 1.0, delta: 1e-6 };

pub fn problem(shape: &ProblemShape, public: &Dataset) -> Problem {
    Problem { shape: shape.clone(), public: public.clone().into(), seed: 0 }
}

/// The plan of a method at [`TARGET`].
pub fn plan(
    method: &'static Method,
    given: &BTreeMap<String, Value>,
    shape: &ProblemShape,
    public: &Dataset,
) -> Result<Plan> {
    plan_for(method, given, shape, public, TARGET)
}

pub fn plan_for(
    method: &'static Method,
    given: &BTreeMap<String, Value>,
    shape: &ProblemShape,
    public: &Dataset,
    target: Target,
) -> Result<Plan> {
    let settings = method.spec().check(given)?;
    Ok(method.prepare(&settings, problem(shape, public), target)?.plan().clone())
}

pub fn generator(seed: u64) -> ChaCha20Rng {
    ChaCha20Rng::seed_from_u64(seed)
}

pub fn normals(generator: &mut ChaCha20Rng, count: usize) -> Vector {
    Vector::from_fn(count, |_, _| StandardNormal.sample(generator))
}

pub fn labelled(features: Matrix, target: Vec<f64>) -> Dataset {
    Dataset {
        feature_names: (0..features.nrows()).map(|k| format!("x{k}")).collect(),
        target: Some(target),
        ..Dataset::unlabelled("example", features, Bounds { feature_norm: 1.0, label: 1.0 })
    }
}

/// Bounded regression data with an intercept as last feature. A third of the public
/// records follow the private relation, the others another one.
pub fn shifted(
    dimension: usize,
    public_records: usize,
    private_records: usize,
    seed: u64,
) -> (ProblemShape, Dataset, Dataset) {
    let mut generator = generator(seed);
    let ours = normals(&mut generator, dimension).normalize();
    let theirs = (&ours + 0.7 * normals(&mut generator, dimension).normalize()).normalize();
    let mut draw = |count: usize, follows: &dyn Fn(usize) -> bool| {
        let mut features = Matrix::zeros(dimension, count);
        let mut target = Vec::with_capacity(count);
        for i in 0..count {
            let mut x = 1.5 * normals(&mut generator, dimension) / (dimension as f64).sqrt();
            x *= shrink_factor(x.norm(), 1.0);
            x[dimension - 1] = 1.0;
            x /= 2.0_f64.sqrt();
            x *= shrink_factor(x.norm(), 1.0);
            let relation = if follows(i) { &ours } else { &theirs };
            let noise: f64 = StandardNormal.sample(&mut generator);
            target.push((x.dot(relation) + 0.05 * noise).clamp(-1.0, 1.0));
            features.set_column(i, &x);
        }
        labelled(features, target)
    };
    let public = draw(public_records, &|i| i % 3 == 0);
    let private = draw(private_records, &|_| true);
    let shape = ProblemShape {
        private_records,
        most_records: 1,
        joint: None,
        public_records,
        dimension,
        bounds: public.bounds,
        private_labels: true,
        classes: Vec::new(),
        start: None,
    };
    (shape, public, private)
}

/// Records like those of [`shifted`] with the sign of their label as the class.
pub fn two_classes(
    dimension: usize,
    public_records: usize,
    private_records: usize,
    seed: u64,
) -> (ProblemShape, Dataset, Dataset) {
    cut(shifted(dimension, public_records, private_records, seed), &[0.0], &["no", "yes"])
}

/// Records like [`shifted`] with low, middle or high labels; a third of the public ones each.
pub fn three_classes(
    dimension: usize,
    public_records: usize,
    private_records: usize,
    seed: u64,
) -> (ProblemShape, Dataset, Dataset) {
    let data = shifted(dimension, public_records, private_records, seed);
    let mut sorted = data.1.target.clone().unwrap_or_default();
    sorted.sort_by(f64::total_cmp);
    let bounds = [1, 2].map(|third| sorted[third * sorted.len() / 3]);
    cut(data, &bounds, &["low", "middle", "high"])
}

/// Classes by the number of bounds that a label is above.
fn cut(
    (shape, public, private): (ProblemShape, Dataset, Dataset),
    above: &[f64],
    names: &[&str],
) -> (ProblemShape, Dataset, Dataset) {
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let classify = |data: Dataset| {
        let target = data.target.clone().unwrap_or_default();
        let class = |y: &f64| above.iter().filter(|bound| y > *bound).count() as u32;
        let classes = Classes { of: target.iter().map(class).collect(), names: names.clone() };
        Dataset { target: None, classes: Some(classes), ..data }
    };
    let (public, private) = (classify(public), classify(private));
    (ProblemShape { classes: names.clone(), ..shape }, public, private)
}

/// A made-up number, which is public.
pub fn made_up(series: Series, value: f64) -> Measure {
    Measure::public(series, value)
}

/// A step with made-up numbers, which are public, for drawings.
pub fn made_up_step(index: u64, total: u64, numbers: &[(Series, f64)]) -> Step {
    let measures = numbers.iter().map(|(series, value)| made_up(*series, *value));
    Step { index, total, phase: "descend", measures: measures.collect(), done: false }
}
