//! `cargo bench --bench ranking`: one repeat with two datasets (forward and backward, leading
//! subspaces, distance and energy), against numpy on the same shapes: the explicit Gram route,
//! and what two thin SVDs would take.
//!
//! numpy is asked through `python3`, or the interpreter that `PYTHON` names; without one only
//! our own times are printed.
#![allow(clippy::unwrap_used)]

use std::hint::black_box;
use std::process::Command;
use std::time::Instant;

use halflight::model::{Activation, Architecture, Classifier, Labels, Volume};
use halflight::numeric::{Matrix, fused};
use halflight::rank::Subspace;
use rand::SeedableRng;
use rand::rngs::ChaCha20Rng;
use rand_distr::{Distribution, StandardNormal};

const RECORDS: usize = 2000;
const PIXELS: usize = 784;
const CLASSES: usize = 10;
const DIRECTIONS: usize = 18;
const ROUNDS: usize = 5;

fn main() {
    let image = Volume { channels: 1, height: 28, width: 28 };
    let cases = [
        ("mlp", Architecture::perceptron(PIXELS, 38, CLASSES, Activation::Relu).unwrap()),
        ("probe", Architecture::probe(image, CLASSES).unwrap()),
    ];
    println!(
        "{:>8} {:>8} {:>8} {:>10} {:>9} {:>9} {:>12} {:>8} {:>12} {:>8}",
        "model",
        "p",
        "repeat",
        "gradients",
        "spans",
        "scores",
        "numpy Gram",
        "ratio",
        "numpy SVDs",
        "ratio"
    );
    for (name, architecture) in cases {
        let mut generator = ChaCha20Rng::seed_from_u64(1);
        let parameters = architecture.initial(&mut generator);
        let p = parameters.len();
        let model = Classifier::new(architecture, parameters).unwrap();
        let datasets = [1, 2].map(images);
        let labels: Vec<u32> = (0..RECORDS as u32).map(|i| i * 7 % CLASSES as u32).collect();
        let labels = Labels::Classes(&labels);
        let mut best = [f64::INFINITY; 4];
        for _ in 0..ROUNDS {
            let start = Instant::now();
            let gradients =
                datasets.each_ref().map(|data| model.gradients(black_box(data), labels).unwrap());
            let passes = start.elapsed().as_secs_f64();
            let spans = gradients.each_ref().map(|batch| Subspace::of(batch, DIRECTIONS).unwrap());
            let after = start.elapsed().as_secs_f64();
            black_box(spans[0].score(&spans[1], &gradients[0]));
            let all = start.elapsed().as_secs_f64();
            if all < best[0] {
                best = [all, passes, after - passes, all - after];
            }
        }
        let told = |seconds: Option<f64>| {
            seconds.map_or("–".to_owned(), |seconds| format!("{seconds:.2} s"))
        };
        let ratio = |peer: Option<f64>| {
            peer.map_or("–".to_owned(), |peer| format!("{:.1}", peer / best[0]))
        };
        let (gram, svd) = numpy(name);
        println!(
            "{name:>8} {p:>8} {:>7.3}s {:>9.3}s {:>8.3}s {:>8.3}s {:>12} {:>8} {:>12} {:>8}",
            best[0],
            best[1],
            best[2],
            best[3],
            told(gram),
            ratio(gram),
            told(svd),
            ratio(svd)
        );
    }
}

/// Blurred noise: a spectrum that decays, as that of images does.
fn images(seed: u64) -> Matrix {
    let mut generator = ChaCha20Rng::seed_from_u64(seed);
    let mut images = Matrix::zeros(PIXELS, RECORDS);
    for mut column in images.column_iter_mut() {
        let waves: Vec<(f64, f64, f64)> = (0..40)
            .map(|wave| {
                let normal: f64 = StandardNormal.sample(&mut generator);
                let wave = f64::from(wave);
                (normal / (1.0 + wave), (wave * 0.07).sin(), (wave * 0.11).cos())
            })
            .collect();
        for (at, pixel) in column.iter_mut().enumerate() {
            let (y, x) = ((at / 28) as f64, (at % 28) as f64);
            let noise: f64 = StandardNormal.sample(&mut generator);
            *pixel = waves.iter().map(|(size, a, b)| size * (a * y + b * x).cos()).sum::<f64>()
                + 0.1 * noise;
        }
    }
    images
}

/// Seconds of the explicit Gram route and of two thin SVDs.
fn numpy(model: &str) -> (Option<f64>, Option<f64>) {
    let python = std::env::var("PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/peers/ranking.py");
    let output = Command::new(python)
        .args([script, model])
        .env("OPENBLAS_NUM_THREADS", fused::threads().to_string())
        .output()
        .ok();
    let line: Option<serde_json::Value> =
        output.and_then(|output| serde_json::from_slice(&output.stdout).ok());
    let seconds = |key: &str| line.as_ref()?.get(key)?.as_f64();
    (seconds("gram"), seconds("svd"))
}
