//! `cargo bench --bench noise`: every exact sampler, and beside the discrete Gaussian the
//! floating-point normal of `rand_distr`, all from ChaCha20, in one run.
#![allow(clippy::unwrap_used)]

use std::hint::black_box;
use std::time::Instant;

use halflight::privacy::mechanism::{
    DiscreteGaussian, DiscreteLaplace, ExponentialMechanism, NoiseGenerator, NoisyMaximum, poisson,
};
use rand::SeedableRng;
use rand::rngs::ChaCha20Rng;
use rand_distr::{Distribution, StandardNormal};

const NUMBERS: usize = 10_000;
const RECORDS: usize = 1_000_000;
const CANDIDATES: usize = 1000;
const SELECTIONS: usize = 10;
const ROUNDS: usize = 200;

fn main() {
    let zeros = vec![0.0; NUMBERS];
    let mut generator = NoiseGenerator::insecure_from_seed(1);
    let mut floats = ChaCha20Rng::seed_from_u64(1);
    let gaussian = DiscreteGaussian::at_least(1.0).unwrap();
    let laplace = DiscreteLaplace::at_least(1.0).unwrap();
    let exponential = ExponentialMechanism::with_scale(1.0).unwrap();
    let noisy = NoisyMaximum::at_least(1.0).unwrap();
    let close: Vec<f64> = (0..CANDIDATES).map(|i| i as f64 / CANDIDATES as f64).collect();
    let mut hopeless = vec![-1000.0; CANDIDATES];
    hopeless[0] = 0.0;

    // Short turns, and the best of each: the machine may be shared.
    let mut best = [f64::INFINITY; 8];
    for _ in 0..ROUNDS {
        let mut time = |index: usize, work: &mut dyn FnMut()| {
            let start = Instant::now();
            work();
            best[index] = best[index].min(start.elapsed().as_secs_f64());
        };
        time(0, &mut || {
            black_box(gaussian.perturb(&mut generator, black_box(&zeros)).unwrap());
        });
        time(1, &mut || {
            let drawn: Vec<f64> =
                (0..NUMBERS).map(|_| StandardNormal.sample(&mut floats)).collect();
            black_box(drawn);
        });
        time(2, &mut || {
            black_box(laplace.perturb(&mut generator, black_box(&zeros)).unwrap());
        });
        for (index, scores) in [(3, &close), (4, &hopeless)] {
            time(index, &mut || {
                for _ in 0..SELECTIONS {
                    black_box(exponential.select(&mut generator, black_box(scores)).unwrap());
                }
            });
        }
        time(5, &mut || {
            for _ in 0..SELECTIONS {
                black_box(noisy.select(&mut generator, black_box(&close)).unwrap());
            }
        });
        for (index, rate) in [(6, 0.001), (7, 0.1)] {
            time(index, &mut || {
                let sizes = (0..RECORDS).step_by(64).map(|_| {
                    poisson::sixty_four_coins(&mut generator, black_box(rate)).count_ones()
                });
                black_box(sizes.sum::<u32>());
            });
        }
    }
    let per = |index: usize, count: usize| best[index] * 1e9 / count as f64;
    println!("exact discrete Gaussian  {:10.1} ns per number", per(0, NUMBERS));
    println!("floating-point normal    {:10.1} ns per number", per(1, NUMBERS));
    println!("ratio                    {:10.1}", best[0] / best[1]);
    println!("exact discrete Laplace   {:10.1} ns per number", per(2, NUMBERS));
    println!("one of {CANDIDATES}, close scores  {:9.1} ns per selection", per(3, SELECTIONS));
    println!("one of {CANDIDATES}, one best      {:9.1} ns per selection", per(4, SELECTIONS));
    println!("noisy maximum of {CANDIDATES}      {:9.1} ns per selection", per(5, SELECTIONS));
    println!("Poisson sample of 10⁶    {:10.3} ms at rate 0.001", best[6] * 1e3);
    println!("                         {:10.3} ms at rate 0.1", best[7] * 1e3);
}
