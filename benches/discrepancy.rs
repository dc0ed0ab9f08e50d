//! `cargo bench --bench discrepancy`: one step of the searches for weights, best of many, and
//! a whole search of the kernel form. The number of private records is in none of them.
#![allow(clippy::unwrap_used)]

use std::hint::black_box;
use std::time::Instant;

use halflight::data::synthetic::{DEFAULT_MIXTURE, SyntheticPart, dataset};
use halflight::methods::unlabelled::discrepancy::Smoothed;
use halflight::methods::unlabelled::moment::{bounded_moment, difference};
use halflight::numeric::Vector;
use halflight::numeric::accelerated::{Accelerated, simplex_gap};
use halflight::numeric::pairwise::Pairwise;
use halflight::numeric::symmetric::{eigen, quadratic_forms};

const RECORDS: usize = 1000;

/// The least of `rounds` times, in microseconds.
fn time<T>(rounds: usize, mut work: impl FnMut() -> T) -> f64 {
    let once = |_| {
        let start = Instant::now();
        black_box(work());
        start.elapsed().as_secs_f64() * 1e6
    };
    (0..rounds).map(once).fold(f64::INFINITY, f64::min)
}

fn main() {
    println!("{RECORDS} public records; the least of many times, in µs");
    for dimension in [10, 50, 200] {
        let part = |part| dataset(part, RECORDS, dimension, DEFAULT_MIXTURE, 1).unwrap();
        let (public, private) =
            (part(SyntheticPart::Source).features, part(SyntheticPart::Target).features);
        let moment = bounded_moment(&private, 1.0);
        let q = Vector::from_element(RECORDS, 1.0 / RECORDS as f64);
        let m = difference(&moment, &public, &q);
        let mut sum = &moment - &m;
        let rounds = if dimension > 100 { 30 } else { 1000 };
        // What a round of Frank–Wolfe does besides drawing: scores, then one record's move.
        let step = time(rounds, || {
            let scores = Smoothed::of(&(&moment - &sum), 10.0).unwrap().scores(&public);
            let x = public.column(scores.imax());
            sum.ger(1e-9, &x, &x, 1.0 - 1e-9);
        });
        let decomposition = time(rounds, || eigen(&m).unwrap());
        let sums = time(rounds, || difference(&moment, &public, &q));
        println!(
            "d = {dimension:3}: Frank–Wolfe step {step:8.1}, of which eigen-decomposition \
             {decomposition:8.1}; sum over all records {sums:8.1}"
        );
    }
    for records in [500, 1000, 2000, 4000] {
        kernel_form(records, 50);
    }
}

/// A step of the kernel form and a whole search, beside accelerated gradients.
fn kernel_form(records: usize, dimension: usize) {
    const RIDGE: f64 = 0.01;
    /// Moves between looks at the gap.
    const CHECKED: usize = 16;
    let part = |part, rows| dataset(part, rows, dimension, DEFAULT_MIXTURE, 1).unwrap().features;
    let (public, private) =
        (part(SyntheticPart::Source, records), part(SyntheticPart::Target, 8000));
    let gram = (public.transpose() * &public).map(|dot| dot * dot);
    let forms = quadratic_forms(&public, &bounded_moment(&private, 1.0));
    let start = Pairwise::from_uniform(gram.column_mean() - &forms, &gram, RIDGE);
    let closed = 1e-5 * start.gap();
    let mut search = start.clone();
    let step = time(records, || search.advance(&gram));
    let mut moves = 0;
    let whole = time(5, || {
        let mut search = start.clone();
        while search.gap() > closed {
            for _ in 0..CHECKED {
                search.advance(&gram);
            }
        }
        moves = search.moves;
    });
    let uniform = 1.0 / records as f64;
    let gradient = |q: &Vector| &gram * q - &forms + (RIDGE * q).add_scalar(-RIDGE * uniform);
    let mut steps = 0;
    let gradients = time(1, || {
        // Every row of G has a sum of at most this.
        let curvature = gram.row_sum().max() + RIDGE;
        let mut search = Accelerated::from_uniform(records, curvature);
        while simplex_gap(&gradient(&search.point), &search.point) > closed {
            search.advance(gradient);
        }
        steps = search.iterations;
    });
    println!(
        "kernel form, m = {records:4}: step {step:6.1}; to 10⁻⁵ of the first gap {whole:9.0} in {moves} \
         steps, by accelerated gradients {gradients:10.0} in {steps}: {:.0} ×",
        gradients / whole
    );
}
