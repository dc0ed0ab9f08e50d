//! `cargo bench --bench machine`: what this machine can do at most, and what share of it
//! our kernels reach: multiplications per second, and bytes from memory.
//!
//! The peak of multiplications is that of the widest instructions there are, which our own
//! kernels use. The best of many short turns counts, because machines are shared.
#![allow(clippy::unwrap_used)]

use std::hint::black_box;
use std::time::Instant;

use halflight::numeric::product::inner_products;
use halflight::numeric::symmetric::{quadratic_forms, weighted_outer_sum};
use halflight::numeric::tall::{few_combinations, inner_products_with_few};
use halflight::numeric::{Matrix, Vector, fused, parallel};
use pulp::{Simd, WithSimd};

const ROUNDS: usize = 7;
/// The threads of a short peak seldom run undisturbed.
const PEAK_ROUNDS: usize = 300;
/// Numbers of an array that no cache holds: half a gigabyte.
const LARGE: usize = 1 << 26;

fn main() {
    let threads = parallel::threads();
    let large = vec![1.0; LARGE];
    let (mut a, b, c) = (vec![0.0; LARGE / 4], vec![1.0; LARGE / 4], vec![2.0; LARGE / 4]);
    let chains = || {
        black_box(multiply_adds());
    };
    let lanes = multiply_adds().1;
    let one = least(PEAK_ROUNDS, chains);
    let all = least(PEAK_ROUNDS, || on_all(threads, &|_| chains()));
    let flops = |seconds: f64, threads: usize| {
        2.0 * (MULTIPLY_ADDS * threads) as f64 * lanes as f64 / seconds / 1e9
    };
    let multiplying = flops(all, threads);
    println!(
        "multiply and add, {:2} × f64  {:8.1} Gflop/s on one thread, {multiplying:8.1} on {threads}",
        lanes,
        flops(one, 1)
    );
    let share = LARGE.div_ceil(threads);
    let reading = best(|| {
        on_all(threads, &|part| {
            let end = (share * (part + 1)).min(LARGE);
            black_box(sum(&large[share * part..end]));
        });
    });
    let reading = 8.0 * LARGE as f64 / reading / 1e9;
    println!("reading memory             {reading:8.1} GB/s on {threads} threads");
    let triad = best(|| {
        let share = a.len().div_ceil(threads);
        std::thread::scope(|scope| {
            for ((a, b), c) in a.chunks_mut(share).zip(b.chunks(share)).zip(c.chunks(share)) {
                scope.spawn(move || {
                    for ((a, b), c) in a.iter_mut().zip(b).zip(c) {
                        *a = b + 3.0 * c;
                    }
                });
            }
        });
    });
    println!(
        "triad, a = b + 3c          {:8.1} GB/s on {threads} threads",
        24.0 * (LARGE / 4) as f64 / triad / 1e9
    );
    println!();

    let bound_by_arithmetic = |name: &str, multiplications: f64, work: &mut dyn FnMut()| {
        let speed = 2.0 * multiplications / best(work) / 1e9;
        let share = 100.0 * speed / multiplying;
        println!("{name:<58} {speed:8.1} Gflop/s  {share:4.0} % of that peak");
    };
    let bound_by_memory = |name: &str, bytes: f64, work: &mut dyn FnMut()| {
        let speed = bytes / best(work) / 1e9;
        let share = 100.0 * speed / reading;
        println!("{name:<58} {speed:8.1} GB/s     {share:4.0} % of reading");
    };

    let (left, right) = (filled(8000, 1000), filled(8000, 1000));
    bound_by_arithmetic("inner products of 2 × 1000 vectors of 8000", 8e9, &mut || {
        black_box(inner_products(&left, &right));
    });
    let weights = vec![1e-3; 20_000];
    let features = filled(400, 20_000);
    bound_by_arithmetic(
        "weighted second moment, 20 000 × 400",
        20_000.0 * 400.0 * 400.0,
        &mut || {
            black_box(weighted_outer_sum(&features, &weights));
        },
    );
    let form = filled(400, 400);
    bound_by_arithmetic("quadratic forms, 20 000 × 400", 20_000.0 * 400.0 * 400.0, &mut || {
        black_box(quadratic_forms(&features, &form));
    });
    let (many, few) = (filled(20_000, 2000), filled(2000, 16));
    bound_by_arithmetic(
        "16 combinations of 2000 gradients of 20 000",
        20_000.0 * 2000.0 * 16.0,
        &mut || {
            black_box(few_combinations(&many, &few));
        },
    );
    let few = filled(20_000, 16);
    bound_by_arithmetic(
        "inner products of the same with 16 others",
        20_000.0 * 2000.0 * 16.0,
        &mut || {
            black_box(inner_products_with_few(&few, &many));
        },
    );
    drop((many, features));
    for (records, dimension) in [(500_000, 100), (1_000_000, 10)] {
        let features = filled(dimension, records);
        let w = Vector::from_element(dimension, 0.01);
        bound_by_memory(
            &format!("gradient of a linear model, {records} × {dimension}"),
            8.0 * (records * dimension) as f64,
            &mut || {
                black_box(fused::gradient(&features, &w, threads, |_, score| score - 1.0));
            },
        );
    }
}

/// The least of some times, in seconds.
fn best(work: impl FnMut()) -> f64 {
    least(ROUNDS, work)
}

fn least(rounds: usize, mut work: impl FnMut()) -> f64 {
    let once = |_| {
        let start = Instant::now();
        work();
        start.elapsed().as_secs_f64()
    };
    (0..rounds).map(once).fold(f64::INFINITY, f64::min)
}

fn on_all(threads: usize, work: &(impl Fn(usize) + Sync)) {
    std::thread::scope(|scope| {
        for part in 0..threads {
            scope.spawn(move || work(part));
        }
    });
}

fn filled(rows: usize, columns: usize) -> Matrix {
    Matrix::from_fn(rows, columns, |i, j| ((i * 31 + j * 17) % 23) as f64 / 23.0 - 0.5)
}

/// Of vectors, on one thread: long enough to be timed.
const MULTIPLY_ADDS: usize = 12 * CHAIN;
const CHAIN: usize = 500_000;

/// Twelve sums that do not wait for each other.
struct Chains;

impl WithSimd for Chains {
    /// Total of the sums, and the lanes of a register.
    type Output = (f64, usize);

    // Compiled for the instruction set that is found at run time.
    #[allow(clippy::inline_always)]
    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> (f64, usize) {
        let factor = simd.splat_f64s(black_box(0.999_999));
        let start = simd.splat_f64s(black_box(1e-6));
        let mut sums = [start; 12];
        for _ in 0..CHAIN {
            for sum in &mut sums {
                *sum = simd.mul_add_e_f64s(*sum, factor, start);
            }
        }
        let total = sums.into_iter().reduce(|a, b| simd.add_f64s(a, b)).unwrap();
        (simd.reduce_sum_f64s(total), S::F64_LANES)
    }
}

fn multiply_adds() -> (f64, usize) {
    pulp::Arch::new().dispatch(Chains)
}

fn sum(numbers: &[f64]) -> f64 {
    pulp::Arch::new().dispatch(|| {
        let mut sums = [0.0; 32];
        for chunk in numbers.chunks_exact(32) {
            for (sum, number) in sums.iter_mut().zip(chunk) {
                *sum += number;
            }
        }
        sums.iter().sum()
    })
}
