//! From noisy gradients to the directions of steps. All of it is post-processing: it sees gradients
//! that were released, and spends nothing.

use crate::prelude::*;

choices! {
    pub enum OptimiserKind { Descent = "sgd", Adam = "adam" }
}

/// The memory of Adam for gradients and for their squares.
const MEMORY: (f64, f64) = (0.9, 0.999);
/// A step of Adam is divided by no less than this.
const LEAST: f64 = 1e-8;

/// What is remembered of earlier gradients.
#[derive(Debug, Clone)]
pub struct Optimiser {
    kind: OptimiserKind,
    memory: f64,
    velocity: Vector,
    squares: Vector,
    taken: i32,
}

impl Optimiser {
    /// For gradients of this many numbers. Adam remembers gradients at 0.9 without a `momentum`.
    pub fn new(kind: OptimiserKind, momentum: f64, numbers: usize) -> Self {
        let (memory, squares) = match kind {
            OptimiserKind::Descent => (momentum, 0),
            OptimiserKind::Adam => (if momentum > 0.0 { momentum } else { MEMORY.0 }, numbers),
        };
        let (velocity, squares) = (Vector::zeros(numbers), Vector::zeros(squares));
        Self { kind, memory, velocity, squares, taken: 0 }
    }

    /// Forgets everything.
    pub fn restart(&mut self) {
        self.velocity.fill(0.0);
        self.squares.fill(0.0);
        self.taken = 0;
    }

    /// The numbers from which the rate times these is subtracted. The velocity of a descent is the sum
    /// of remembered gradients; Adam divides their mean by the root of that of their squares.
    pub fn direction(&mut self, gradient: &Vector) -> Vector {
        self.velocity *= self.memory;
        match self.kind {
            OptimiserKind::Descent => {
                self.velocity += gradient;
                self.velocity.clone()
            }
            OptimiserKind::Adam => {
                self.taken += 1;
                self.velocity += (1.0 - self.memory) * gradient;
                self.squares *= MEMORY.1;
                self.squares += (1.0 - MEMORY.1) * gradient.component_mul(gradient);
                let (first, second) =
                    (1.0 - self.memory.powi(self.taken), 1.0 - MEMORY.1.powi(self.taken));
                self.velocity.zip_map(&self.squares, |mean, square| {
                    mean / first / ((square / second).sqrt() + LEAST)
                })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The formulas of Kingma and Ba, for two numbers and three gradients.
    #[test]
    fn adam_divides_means_by_roots_and_corrects_both_for_their_start() {
        let gradients = [[1.0, -2.0], [3.0, 0.5], [-1.0, 0.0]];
        let mut ours = Optimiser::new(OptimiserKind::Adam, 0.0, 2);
        for pass in 0..2 {
            let (mut m, mut v) = ([0.0; 2], [0.0; 2]);
            for (t, gradient) in (1..).zip(&gradients) {
                let found = ours.direction(&Vector::from_column_slice(gradient));
                for k in 0..2 {
                    m[k] = 0.9 * m[k] + 0.1 * gradient[k];
                    v[k] = 0.999 * v[k] + 0.001 * gradient[k] * gradient[k];
                    let m = m[k] / (1.0 - 0.9_f64.powi(t));
                    let v: f64 = v[k] / (1.0 - 0.999_f64.powi(t));
                    let wanted = m / (v.sqrt() + 1e-8);
                    assert!((found[k] - wanted).abs() < 1e-12, "{pass} {t}: {found} {wanted}");
                }
            }
            ours.restart();
        }
    }
}
