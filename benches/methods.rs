//! `cargo bench --bench methods`: every adaptation method with its defaults, on 8000
//! "private" and 1000 public records: what planning it takes (its noise from the
//! accountant), and one of its steps.
#![allow(clippy::unwrap_used)]

use std::time::Instant;

use halflight::data::synthetic::{DEFAULT_MIXTURE, SyntheticPart, dataset};
use halflight::data::{Bounds, Classes, Dataset, Task};
use halflight::methods::methods;
use halflight::numeric::Matrix;
use halflight::privacy::Target;
use halflight::rehearsal::{RehearsalNoise, Trial};
use rand::SeedableRng;
use rand::rngs::ChaCha20Rng;
use rand_distr::{Distribution, StandardNormal};

const PRIVATE: usize = 8000;
const PUBLIC: usize = 1000;
const DIMENSION: usize = 50;
const ROUNDS: usize = 3;

fn main() {
    println!(
        "{PRIVATE} private and {PUBLIC} public records of {DIMENSION} features; the least of \
         {ROUNDS}\n{:>24} {:>10} {:>8} {:>10} {:>10}",
        "method", "planning", "steps", "run", "a step"
    );
    let regression = [(SyntheticPart::Source, PUBLIC), (SyntheticPart::Target, PRIVATE)]
        .map(|(part, count)| dataset(part, count, DIMENSION, DEFAULT_MIXTURE, 1).unwrap());
    let classification = [(1, PUBLIC), (2, PRIVATE)].map(|(seed, count)| classes(seed, count));
    for method in methods() {
        let [public, private] = match method.spec().task {
            Task::Regression => &regression,
            Task::Classification => &classification,
        };
        let noise = RehearsalNoise::For(Target { epsilon: 1.0, delta: 1e-5 });
        let rehearsal = Trial::new(method.spec().id, public, private, noise, 1);
        let (mut planning, mut run, mut steps) = (f64::INFINITY, f64::INFINITY, 0);
        for _ in 0..ROUNDS {
            let start = Instant::now();
            rehearsal.calibrate().unwrap();
            let planned = start.elapsed().as_secs_f64();
            let start = Instant::now();
            steps = rehearsal.run_sealed().unwrap().steps.len();
            planning = planning.min(planned);
            // A rehearsal plans, too.
            run = run.min(start.elapsed().as_secs_f64() - planned);
        }
        println!(
            "{:>24} {:>7.1} ms {steps:>8} {:>8.2} s {:>7.3} ms",
            method.spec().id,
            1e3 * planning,
            run,
            1e3 * run / steps as f64
        );
    }
}

/// Two classes that a plane divides, but for some noise.
fn classes(seed: u64, count: usize) -> Dataset {
    let mut generator = ChaCha20Rng::seed_from_u64(seed);
    let scale = 1.0 / (DIMENSION as f64).sqrt();
    let features = Matrix::from_fn(DIMENSION, count, |_, _| {
        let normal: f64 = StandardNormal.sample(&mut generator);
        0.5 * scale * normal
    });
    let of = features.column_iter().map(|x| u32::from(x[0] + 0.5 * x[1] > 0.0)).collect();
    Dataset {
        name: format!("classes {seed}"),
        features,
        feature_names: (0..DIMENSION).map(|k| format!("x{k}")).collect(),
        target: None,
        classes: Some(Classes { of, names: vec!["no".to_owned(), "yes".to_owned()] }),
        bounds: Bounds { feature_norm: 1.0, label: 1.0 },
        clipped: 0,
        persons: None,
    }
}
