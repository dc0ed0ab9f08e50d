//! `cargo bench --bench noise`: the exact discrete Gaussian against the
//! floating-point normal of `rand_distr`, both from ChaCha20, in one run.
#![allow(clippy::unwrap_used)]

use std::hint::black_box;
use std::time::Instant;

use halflight::privacy::mechanism::{DiscreteGaussian, NoiseGenerator};
use rand::SeedableRng;
use rand::rngs::ChaCha20Rng;
use rand_distr::{Distribution, StandardNormal};

const NUMBERS: usize = 1_000_000;
const ROUNDS: usize = 5;

fn main() {
    let zeros = vec![0.0; NUMBERS];
    let noise = DiscreteGaussian::at_least(1.0).unwrap();
    let mut generator = NoiseGenerator::insecure_from_seed(1);
    let mut floats = ChaCha20Rng::seed_from_u64(1);
    let (mut exact, mut plain) = (f64::INFINITY, f64::INFINITY);
    // In turn, and the best of each: the machine may be shared.
    for _ in 0..ROUNDS {
        let start = Instant::now();
        black_box(noise.perturb(&mut generator, black_box(&zeros)).unwrap());
        exact = exact.min(start.elapsed().as_secs_f64());
        let start = Instant::now();
        let drawn: Vec<f64> = (0..NUMBERS).map(|_| StandardNormal.sample(&mut floats)).collect();
        black_box(drawn);
        plain = plain.min(start.elapsed().as_secs_f64());
    }
    let each = |seconds: f64| seconds * 1e9 / NUMBERS as f64;
    println!("exact discrete Gaussian  {:8.1} ns per number", each(exact));
    println!("floating-point normal    {:8.1} ns per number", each(plain));
    println!("ratio                    {:8.1}", exact / plain);
}
