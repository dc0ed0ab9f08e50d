//! Kernel mean matching (KMM): public records are re-weighted until their mean in a kernel's
//! feature space equals that of the target.
//!
//! > min ½βᵀKβ − κᵀβ,  0 ≤ βᵢ ≤ B,  |Σβ − m| ≤ mε,
//!
//! with K_ij = k(xᵢ, xⱼ), κᵢ = (m/n)Σⱼ k(xᵢ, x̃ⱼ) and k(x, x′) = exp(−γ‖x − x′‖²).
//!
//! *Not private*: κ is an exact function of every target record. It is a baseline for
//! studies on public data and never runs on a private dataset.

use crate::numeric::{Matrix, Vector};

/// The constraints on the weights.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limits {
    /// B
    pub largest: f64,
    /// ε
    pub slack: f64,
}

impl Limits {
    /// The usual limits for m public records: ε = (√m − 1)/√m.
    pub fn usual(largest: f64, records: usize) -> Self {
        let root = (records as f64).sqrt();
        Self { largest, slack: (root - 1.0) / root }
    }

    /// The nearest point within the limits.
    fn project(self, beta: &mut Vector) {
        let m = beta.len() as f64;
        let sum =
            |shift: f64| beta.iter().map(|b| (b - shift).clamp(0.0, self.largest)).sum::<f64>();
        let free = sum(0.0);
        let wanted = free.clamp(m * (1.0 - self.slack), m * (1.0 + self.slack));
        let mut shift = 0.0;
        if free != wanted {
            // The sum falls with the shift; bisection ends when doubles do.
            let (mut low, mut high) = (beta.min() - self.largest, beta.max());
            loop {
                shift = f64::midpoint(low, high);
                if shift <= low || shift >= high {
                    break;
                }
                if sum(shift) > wanted {
                    low = shift;
                } else {
                    high = shift;
                }
            }
        }
        beta.apply(|b| *b = (*b - shift).clamp(0.0, self.largest));
    }
}

/// The matching problem.
#[derive(Debug, Clone)]
pub struct KernelMeans {
    kernel: Matrix,
    pull: Vector,
}

impl KernelMeans {
    /// One example per column.
    pub fn new(source: &Matrix, target: &Matrix, gamma: f64) -> Self {
        let kernel = |x: &[f64], y: &[f64]| {
            let square: f64 = x.iter().zip(y).map(|(x, y)| (x - y).powi(2)).sum();
            (-gamma * square).exp()
        };
        let row = |matrix: &Matrix, i: usize| matrix.column(i).iter().copied().collect::<Vec<_>>();
        let sources: Vec<_> = (0..source.ncols()).map(|i| row(source, i)).collect();
        let targets: Vec<_> = (0..target.ncols()).map(|i| row(target, i)).collect();
        let ratio = sources.len() as f64 / targets.len() as f64;
        Self {
            kernel: Matrix::from_fn(sources.len(), sources.len(), |i, j| {
                kernel(&sources[i], &sources[j])
            }),
            pull: Vector::from_iterator(
                sources.len(),
                sources.iter().map(|x| ratio * targets.iter().map(|y| kernel(x, y)).sum::<f64>()),
            ),
        }
    }

    /// The weights, by accelerated projected gradient until they move by less than
    /// `tolerance`, or for `iterations`.
    pub fn weights(&self, limits: Limits, tolerance: f64, iterations: usize) -> Vector {
        // Row sums bound the largest eigenvalue of a matrix without negative entries.
        let curvature = self.kernel.row_iter().map(|row| row.sum()).fold(0.0, f64::max);
        let mut beta = Vector::from_element(self.pull.len(), 1.0);
        limits.project(&mut beta);
        let (mut ahead, mut momentum) = (beta.clone(), 1.0_f64);
        for _ in 0..iterations {
            let mut next = &ahead - (&self.kernel * &ahead - &self.pull) / curvature;
            limits.project(&mut next);
            let moved = &next - &beta;
            let still = (&next - &ahead).amax() < tolerance;
            if (&ahead - &next).dot(&moved) > 0.0 {
                momentum = 1.0;
                ahead.copy_from(&next);
            } else {
                let grown = f64::midpoint(1.0, (1.0 + 4.0 * momentum.powi(2)).sqrt());
                ahead = &next + (momentum - 1.0) / grown * moved;
                momentum = grown;
            }
            beta = next;
            if still {
                break;
            }
        }
        beta
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use halflight_testing::Golden;

    impl KernelMeans {
        /// ½βᵀKβ − κᵀβ
        pub fn objective(&self, beta: &Vector) -> f64 {
            0.5 * beta.dot(&(&self.kernel * beta)) - self.pull.dot(beta)
        }
    }

    #[test]
    fn weights_and_objective_agree_with_the_peer() {
        let golden = Golden::read(include_str!("../../tests/golden/kmm.json"));
        let (source, target) = (golden.records("source"), golden.records("target"));
        let problem = KernelMeans::new(&source, &target, golden.number("gamma"));
        let limits = Limits::usual(golden.number("largest"), source.ncols());
        assert!((limits.slack - golden.number("slack")).abs() < 1e-15);
        let beta = problem.weights(limits, 1e-13, 2_000_000);
        let reached = problem.objective(&beta);
        let theirs = golden.number("objective");
        assert!(((reached - theirs) / theirs).abs() < 1e-6, "{reached} {theirs}");
        let apart = (&beta - golden.vector("weights")).amax();
        assert!(apart < 0.01, "{apart}");
    }

    #[test]
    fn weights_stay_within_their_limits_when_the_target_is_far_away() {
        let source = Matrix::from_fn(2, 30, |i, j| ((i * 5 + j * 3) % 7) as f64 / 7.0);
        let target = Matrix::from_element(2, 10, 4.0);
        let limits = Limits::usual(3.0, 30);
        let beta = KernelMeans::new(&source, &target, 0.5).weights(limits, 1e-10, 10_000);
        assert!(beta.min() >= 0.0 && beta.max() <= 3.0);
        assert!(beta.sum() >= 30.0 * (1.0 - limits.slack) - 1e-9);
    }
}
