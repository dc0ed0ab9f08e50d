//! Privacy losses on a lattice: connecting the dots.
//!
//! A mechanism's curve δ(ε) is convex in e^ε. The polygon through its points at lattice
//! values of ε lies above it and belongs to a mechanism whose losses are on the
//! lattice (Doroshenko et al. 2022). In terms of outcomes: one with loss ℓ between
//! neighbouring lattice values is split between them such that both hypotheses keep
//! their mass. Splitting is what makes the upper bound, and it costs little:
//!
//! **What splitting adds.** Given the outcome, which end it is sent to is itself the
//! output of a mechanism, whose two losses are `step` apart: `step`-bounded-range, so
//! step²/8-zCDP, adaptively composed. Hence N split draws reveal at most what N unsplit
//! draws reveal together with a mechanism of N·step²/8-zCDP, and what they reveal gives
//! a *lower* bound on the curve of the unsplit ones.

/// Losses on the lattice k·step, under the first hypothesis.
#[derive(Debug, Clone, PartialEq)]
pub struct Cells {
    /// k of the first mass.
    pub first: i64,
    pub masses: Vec<f64>,
    /// Bound on the tilted mass of the losses that were left out.
    pub lost: f64,
}

const MOST_CELLS: f64 = 4e6;

/// Splits all cells between the losses `low` and `high`. `boundary` describes the place
/// with a given loss, `masses` what both hypotheses give to the cell between two.
pub fn spread<B>(
    low: f64,
    high: f64,
    step: f64,
    boundary: impl Fn(f64) -> B,
    masses: impl Fn(&B, &B) -> (f64, f64),
) -> Option<Cells> {
    let (first, last) = ((low / step).floor(), (high / step).ceil());
    if !(last - first <= MOST_CELLS && last.abs().max(first.abs()) < 1e15 && high < 600.0) {
        return None;
    }
    let (first, last) = (first as i64, (last as i64).max(first as i64 + 1));
    let mut cells = Cells { first, masses: vec![0.0; (last - first) as usize + 1], lost: 0.0 };
    let mut below = boundary(first as f64 * step);
    for k in first..last {
        let above = boundary((k + 1) as f64 * step);
        let (mass, other) = masses(&below, &above);
        cells.split(k, step, mass, other);
        below = above;
    }
    Some(cells)
}

impl Cells {
    /// Sends mass and other mass, of losses between k·step and (k + 1)·step, to the ends.
    fn split(&mut self, k: i64, step: f64, mass: f64, other: f64) {
        let up = (mass - (k as f64 * step).exp() * other) / -(-step).exp_m1();
        let up = up.clamp(0.0, mass);
        let index = (k - self.first) as usize;
        self.masses[index + 1] += up;
        self.masses[index] += mass - up;
    }

    /// A mass at a single loss.
    pub fn add_atom(&mut self, loss: f64, step: f64, mass: f64) {
        let nearest = (loss / step).round();
        if (loss - nearest * step).abs() <= 1e-14 * loss.abs() {
            self.masses[(nearest as i64 - self.first) as usize] += mass;
        } else {
            self.split((loss / step).floor() as i64, step, mass, mass * (-loss).exp());
        }
    }
}
