//! `cargo bench --bench scaling [-- FILE.svg]`: how time grows with the records n, the
//! features d, the public records m and the candidates, as a table and, where a file is
//! named, as a figure (the README's is `assets/scaling.svg`).
#![allow(clippy::unwrap_used)]

use std::hint::black_box;
use std::time::Instant;

use halflight::data::synthetic::{DEFAULT_MIXTURE, SyntheticPart, dataset};
use halflight::methods::unlabelled::discrepancy::Smoothed;
use halflight::methods::unlabelled::moment::{bounded_moment, difference};
use halflight::model::{Activation, Architecture, Classifier, ExampleLabels};
use halflight::numeric::product::inner_products;
use halflight::numeric::{Matrix, Vector, fused, parallel};
use halflight::plot::{AxisSide, ChartSeries, Figure, Mark, Panel, Point};
use halflight::rank::{Lead, Subspace};
use rand::SeedableRng;
use rand::rngs::ChaCha20Rng;
use rand_distr::{Distribution, StandardNormal};

const ROUNDS: usize = 5;

/// What is measured over what, at which sizes.
struct Case {
    panel: &'static str,
    axis: &'static str,
    name: &'static str,
    times: Vec<(usize, f64)>,
}

fn main() {
    let cases = [
        Case {
            panel: "gradient step over all records",
            axis: "n, at d = 100",
            name: "profiled CnvxAdap",
            times: [1_000, 10_000, 100_000, 1_000_000].map(|n| (n, gradient(n, 100))).to_vec(),
        },
        Case {
            panel: "gradient step over all records",
            axis: "d, at n = 20 000",
            name: "profiled CnvxAdap",
            times: [10, 30, 100, 300, 1000].map(|d| (d, gradient(20_000, d))).to_vec(),
        },
        Case {
            panel: "gradient step, by threads",
            axis: "threads, at n = 1 000 000, d = 100",
            name: "profiled CnvxAdap",
            times: threads()
                .map(|t| (t, parallel::with_threads(t, || gradient(1_000_000, 100))))
                .collect(),
        },
        Case {
            panel: "product, by threads",
            axis: "threads, at 1000 × 1000",
            name: "product",
            times: threads().map(|t| (t, parallel::with_threads(t, product))).collect(),
        },
        Case {
            panel: "Frank–Wolfe step",
            axis: "m, at d = 10",
            name: "noisy Frank–Wolfe",
            times: [300, 1_000, 3_000, 10_000].map(|m| (m, frank_wolfe(m, 10))).to_vec(),
        },
        Case {
            panel: "ranking, one repeat",
            axis: "candidates, at 500 records",
            name: "GSD and energy, MLP",
            times: [1, 2, 4, 8, 16].map(|count| (count, ranking(count))).to_vec(),
        },
    ];
    for case in &cases {
        println!("{} ({}; {})", case.panel, case.axis, case.name);
        for (size, seconds) in &case.times {
            println!("  {size:>9}  {seconds:>12.6} s");
        }
    }
    let panels = cases.iter().map(|case| Panel {
        title: case.panel.to_owned(),
        horizontal: AxisSide::log(case.axis),
        series: vec![ChartSeries {
            name: case.name.to_owned(),
            mark: Mark::Line,
            points: case.times.iter().map(|(x, y)| Point::new(*x as f64, *y)).collect(),
        }],
    });
    let figure = Figure {
        title: "How time grows with the problem".to_owned(),
        note: "the least of five times".to_owned(),
        vertical: AxisSide::log("seconds"),
        panels: panels.collect(),
    };
    if let Some(path) = std::env::args().find(|word| word.contains(".svg")) {
        std::fs::write(path, figure.svg()).unwrap();
    }
}

/// 1, 2, 4 and so on up to all of the machine's.
fn threads() -> impl Iterator<Item = usize> {
    std::iter::successors(Some(1), |threads| Some(2 * threads))
        .take_while(|threads| *threads <= parallel::threads())
}

/// The least of some times, in seconds.
fn time<T>(mut work: impl FnMut() -> T) -> f64 {
    let once = |_| {
        let start = Instant::now();
        black_box(work());
        start.elapsed().as_secs_f64()
    };
    (0..ROUNDS).map(once).fold(f64::INFINITY, f64::min)
}

fn normals(rows: usize, columns: usize, seed: u64) -> Matrix {
    let mut generator = ChaCha20Rng::seed_from_u64(seed);
    Matrix::from_fn(rows, columns, |_, _| StandardNormal.sample(&mut generator))
}

fn gradient(n: usize, d: usize) -> f64 {
    let (data, w) = (normals(d, n, 1), Vector::from_element(d, 0.01));
    time(|| fused::gradient(black_box(&data), &w, parallel::threads(), |_, score| score))
}

fn product() -> f64 {
    let (left, right) = (normals(1000, 1000, 1), normals(1000, 1000, 2));
    time(|| black_box(inner_products(black_box(&left), &right)))
}

/// A round besides its draw: scores of all public records, then one record's move.
fn frank_wolfe(m: usize, d: usize) -> f64 {
    let part = |part| dataset(part, m, d, DEFAULT_MIXTURE, 1).unwrap().features;
    let (public, private) = (part(SyntheticPart::Source), part(SyntheticPart::Target));
    let moment = bounded_moment(&private, 1.0);
    let q = Vector::from_element(m, 1.0 / m as f64);
    let mut sum = &moment - difference(&moment, &public, &q);
    time(|| {
        let scores = Smoothed::of(&(&moment - &sum), 10.0).unwrap().scores(&public);
        let x = public.column(scores.imax());
        sum.ger(1e-9, &x, &x, 1.0 - 1e-9);
    })
}

/// Gradients of the private records and of every candidate, their spans, and the scores.
fn ranking(candidates: usize) -> f64 {
    const RECORDS: usize = 500;
    let architecture = Architecture::perceptron(196, 38, 10, Activation::Relu).unwrap();
    let parameters = architecture.initial(&mut ChaCha20Rng::seed_from_u64(1));
    let model = Classifier::new(architecture, parameters).unwrap();
    let labels: Vec<u32> = (0..RECORDS as u32).map(|i| i * 7 % 10).collect();
    let data: Vec<Matrix> =
        (0..=candidates).map(|seed| normals(196, RECORDS, seed as u64)).collect();
    time(|| {
        let gradients: Vec<_> = data
            .iter()
            .map(|data| model.gradients(data, ExampleLabels::Classes(&labels)).unwrap())
            .collect();
        let lead = Lead::of(&gradients[0], 18).unwrap();
        for batch in &gradients[1..] {
            black_box(lead.score(&Subspace::of(batch, 18).unwrap()));
        }
    })
}
