//! `cargo bench --bench labelled`: one gradient step of the profiled methods on private records,
//! which are kept in single precision and added up in double precision, beside numpy and JAX on
//! the same shapes, in f64 and f32, against reading the records once, and against the same step
//! on records kept in double precision, as public ones are.
//! The last columns are the pass that a run makes: the gradient with every record's part
//! clipped, and the objective, the mean loss and the weights with it, for squared loss and for
//! logistic loss; then the first where persons have five records, or 24, with each person's part
//! clipped, over the first.
//!
//! The peers are asked through `python3`, or the interpreter that `PYTHON` names; without one
//! only our own times are printed. If a peer is quicker, the bench ends with an error.
#![allow(clippy::unwrap_used)]

#[path = "peers/mod.rs"]
mod peers;

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use halflight::data::{Bounded, Bounds, Dataset, Persons};
use halflight::methods::labelled::profiled::Profile;
use halflight::methods::labelled::records::{LabelledRecords, RecordLoss, ScoreLoss};
use halflight::numeric::{Matrix, Vector, fused, parallel};
use rand::SeedableRng;
use rand::rngs::ChaCha20Rng;
use rand_distr::{Distribution, StandardNormal};

/// (records, features)
const SHAPES: [(usize, usize); 4] = [(9_000, 385), (75_000, 133), (100_000, 400), (1_000_000, 10)];
const ROUNDS: usize = 12;
/// Times that the same work is done before other work.
const IN_A_ROW: usize = 4;
/// Records of a person.
const EACH: [usize; 2] = [5, 24];

fn main() {
    let threads = parallel::threads();
    println!(
        "{:>14} {:>10} {:>10} {:>6} {:>10} {:>8} {:>10} {:>10} {:>6} {:>6}",
        "shape",
        "step",
        "reading",
        "of it",
        "doubles",
        "over it",
        "pass",
        "logistic",
        "of 5",
        "of 24"
    );
    let mut behind = peers::Behind::default();
    for (records, features) in SHAPES {
        let mut generator = ChaCha20Rng::seed_from_u64(1);
        let data = Matrix::from_fn(features, records, |_, _| StandardNormal.sample(&mut generator));
        let doubles = data.clone();
        // Far enough away for no record to be shortened.
        let bounds = Bounds { feature_norm: 1e3, label: 1.0 };
        let data = Dataset {
            name: String::new(),
            features: data,
            feature_names: Vec::new(),
            target: None,
            classes: None,
            bounds,
            clipped: 0,
            persons: None,
        };
        let labels = vec![0.0; records];
        let data = Bounded::of(data).shared();
        let persons = EACH.map(|each| {
            let mut counts = vec![each; records / each];
            counts.extend((records % each > 0).then_some(records % each));
            let persons = Some(Arc::new(Persons::of_counts(counts)));
            let data = Dataset { persons, ..(*data).clone() };
            LabelledRecords::labelled(Arc::new(data), labels.clone())
        });
        let signs = (0..records).map(|i| if i % 3 == 0 { -1.0 } else { 1.0 }).collect();
        let classes = LabelledRecords::labelled(Arc::clone(&data), signs);
        let data = LabelledRecords::labelled(data, labels.clone());
        let features_of = &data.data().features;
        let profile = Profile {
            loss: RecordLoss::Score(ScoreLoss::Squared),
            alpha: 0.1,
            kappa: 0.25,
            penalty: 0.0,
            clip: 1.0,
            pooled: false,
            gain: None,
        };
        let part = profile.private(&data, records);
        let logistic = Profile { loss: RecordLoss::Score(ScoreLoss::Logistic), ..profile }
            .private(&classes, records);
        let clipped = Profile { gain: Some(2.0), ..profile };
        let by_person = [0, 1].map(|at| clipped.private(&persons[at], records.div_ceil(EACH[at])));
        let w = Vector::from_element(features, 0.01);
        let (root, weight) = (0.5_f64, 1.0 / records as f64);
        let slope = |i: usize, score: f64| {
            let residual = score - labels[i];
            2.0 * weight * (root / residual.abs().max(1e-300)).min(1.0) * residual
        };
        // Short turns, and the best of each: the machine may be shared.
        let [mut step, mut reading, mut in_doubles] = [f64::INFINITY; 3];
        let (mut pass, mut of_logistic) = (f64::INFINITY, f64::INFINITY);
        let mut whole = [f64::INFINITY; 2];
        for _ in 0..ROUNDS {
            quicker(&mut step, || fused::gradient(black_box(features_of), &w, threads, slope));
            let numbers = features_of.numbers().unwrap();
            quicker(&mut reading, || read_once(black_box(numbers), threads));
            quicker(&mut in_doubles, || fused::gradient(black_box(&doubles), &w, threads, slope));
            quicker(&mut pass, || part.pass(black_box(&w)));
            quicker(&mut of_logistic, || logistic.pass(black_box(&w)));
            for (part, whole) in by_person.iter().zip(&mut whole) {
                quicker(whole, || part.pass(black_box(&w)));
            }
        }
        drop((data, persons));
        let shape = format!("{records}x{features}");
        let told = |seconds: f64| format!("{:.3} ms", 1e3 * seconds);
        println!(
            "{shape:>14} {:>10} {:>10} {:>5.0}% {:>10} {:>8.2} {:>10} {:>10} {:>6.2} {:>6.2}",
            told(step),
            told(reading),
            100.0 * reading / step,
            told(in_doubles),
            in_doubles / step,
            told(pass),
            told(of_logistic),
            whole[0] / pass,
            whole[1] / pass
        );
        behind.tell(&shape, &peers::seconds("gradient.py", &[&shape]), step);
    }
    behind.end();
}

/// Keeps the least time. As in a run, and as the peers are timed, the same work was done several times
/// just before: small data are in the cache by then.
fn quicker<T>(least: &mut f64, work: impl Fn() -> T) {
    for _ in 0..IN_A_ROW {
        let start = Instant::now();
        black_box(work());
        *least = least.min(start.elapsed().as_secs_f64());
    }
}

/// The sum of all numbers, as fast as memory gives them.
fn read_once(numbers: &[f32], threads: usize) -> f32 {
    let sum = |numbers: &[f32]| {
        pulp::Arch::new().dispatch(|| {
            let mut lanes = [0.0; 64];
            for chunk in numbers.chunks_exact(64) {
                for (lane, number) in lanes.iter_mut().zip(chunk) {
                    *lane += number;
                }
            }
            lanes.iter().sum::<f32>()
        })
    };
    std::thread::scope(|scope| {
        let parts = numbers.chunks(numbers.len().div_ceil(threads));
        let handles: Vec<_> = parts.map(|part| scope.spawn(move || sum(part))).collect();
        handles.into_iter().map(|handle| handle.join().unwrap()).sum()
    })
}
