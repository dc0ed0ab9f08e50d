//! Privacy losses on a lattice: connecting the dots.
//!
//! A mechanism's curve δ(ε) is convex in e^ε. The polygon through its points at lattice values of ε
//! lies above it and belongs to a mechanism whose losses are on the lattice (Doroshenko et al.
//! 2022). In terms of outcomes: one with loss ℓ between two adjacent lattice values is split
//! between them so that both hypotheses keep their mass. Splitting gives the upper bound, and it
//! costs little:
//!
//! **The cost of splitting.** Given the outcome, the choice of its lattice value is itself the
//! output of a mechanism, whose two losses are `step` apart: `step`-bounded-range, so step²/8-zCDP,
//! adaptively composed. Hence N split draws reveal at most as much as N unsplit draws together with
//! a mechanism of N·step²/8-zCDP. So the split draws also give a *lower* bound on the curve of the
//! unsplit ones.

/// Losses on the lattice k·step, under the first hypothesis.
#[derive(Debug, Clone, PartialEq)]
pub struct LatticeLosses {
    /// k of the first mass.
    pub first: i64,
    pub masses: Vec<f64>,
    /// Bound on the tilted mass of the losses that were left out.
    pub lost: f64,
}

const MOST_CELLS: f64 = 4e6;

/// Splits all cells between the losses `low` and `high`. `boundary` describes the place with a
/// given loss, `masses` gives the masses of both hypotheses in the cell between two places.
pub fn spread<B>(
    low: f64,
    high: f64,
    step: f64,
    boundary: impl Fn(f64) -> B,
    masses: impl Fn(&B, &B) -> (f64, f64),
) -> Option<LatticeLosses> {
    let (first, last) = ((low / step).floor(), (high / step).ceil());
    if !(last - first <= MOST_CELLS && last.abs().max(first.abs()) < 1e15 && high < 600.0) {
        return None;
    }
    let (first, last) = (first as i64, (last as i64).max(first as i64 + 1));
    let mut cells =
        LatticeLosses { first, masses: vec![0.0; (last - first) as usize + 1], lost: 0.0 };
    let mut below = boundary(first as f64 * step);
    for k in first..last {
        let above = boundary((k + 1) as f64 * step);
        let (mass, other) = masses(&below, &above);
        cells.split(k, step, mass, other);
        below = above;
    }
    Some(cells)
}

impl LatticeLosses {
    /// Splits the masses of both hypotheses, for losses between k·step and (k + 1)·step, between
    /// the two ends.
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Both hypotheses keep their mass, and no loss moves further than one step.
        #[test]
        fn splitting_keeps_both_masses(
            loss in -3.0..3.0_f64, mass in 0.01..1.0, step in 0.01..0.5,
        ) {
            let mut cells = LatticeLosses { first: -400, masses: vec![0.0; 801], lost: 0.0 };
            cells.add_atom(loss, step, mass);
            let kept: f64 = cells.masses.iter().sum();
            let at = |index: usize| (index as f64 - 400.0) * step;
            let other: f64 =
                cells.masses.iter().enumerate().map(|(k, mass)| mass * (-at(k)).exp()).sum();
            prop_assert!((kept - mass).abs() < 1e-12 * mass);
            prop_assert!((other / (mass * (-loss).exp()) - 1.0).abs() < 1e-10);
            let far = |(k, mass): (usize, &f64)| *mass > 0.0 && (at(k) - loss).abs() > step * 1.001;
            prop_assert!(!cells.masses.iter().enumerate().any(far));
        }
    }

    #[test]
    fn a_loss_on_the_lattice_stays_where_it_is() {
        let mut cells = LatticeLosses { first: -4, masses: vec![0.0; 9], lost: 0.0 };
        cells.add_atom(0.3, 0.1, 0.25);
        assert_eq!(cells.masses[7], 0.25);
        assert_eq!(cells.masses.iter().sum::<f64>(), 0.25);
    }

    #[test]
    fn more_cells_than_fit_are_not_tried() {
        let nothing = |_: &f64, _: &f64| (0.0, 0.0);
        assert_eq!(spread(-1.0, 1.0, 1e-9, |loss| loss, nothing), None);
        assert_eq!(spread(-1.0, 1e9, 1.0, |loss| loss, nothing), None);
        assert_eq!(spread(-1.0, f64::NAN, 1.0, |loss| loss, nothing), None);
    }
}
