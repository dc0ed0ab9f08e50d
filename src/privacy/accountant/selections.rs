//! Many selections of one size, with the tightest possible composition.
//!
//! One selection of *bounded range* ε₀ has losses that span at most ε₀. The mechanism chooses where
//! this span lies, and the choice may depend on all earlier outputs. Let Fⱼ(ε) be the largest δ of
//! j selections at ε, over all such choices. With x = e^ε, the curve of one step is a mean of the
//! perspectives r·Fⱼ₋₁(x/r). These are convex in the likelihood ratio r, so the worst step has only
//! the losses t and t − ε₀ (as in Dong, Durfee, Rogers 2020), and
//!
//! > Fⱼ(ε) = max over t in [0, ε₀] of p·Fⱼ₋₁(ε − t) + (1 − p)·Fⱼ₋₁(ε − t + ε₀),
//! > p = (1 − e^{t − ε₀})/(1 − e^{−ε₀}), F₀(ε) = (1 − e^ε)₊.
//!
//! *From above.* Each Fⱼ is decreasing and convex in x, because it is a maximum of such curves, so
//! it lies below the polygon through its values at lattice points of ε. The lattice divides ε₀.
//! While t crosses one of its cells, both arguments cross one cell each, where the polygon is a
//! line in x: a + b·x on the left, c + d·x on the right, b ≤ d ≤ 0 and a ≥ c. There the expression
//! is const − α·e^{−t} − β·e^t with α = x(d − b)/(1 − e^{−ε₀}) and β = e^{−ε₀}(a − c)/(1 −
//! e^{−ε₀}), neither of them negative. So it is concave in t, and largest at e^{2t} = α/β or at an
//! end. So the maximum over all t is computed, not searched for, and values above Fⱼ₋₁ give values
//! above Fⱼ. Right of the lattice the curve is taken to be its last value.
//!
//! *The negative side.* If P and Q change places, a mechanism of bounded range still has the same
//! range. So Fⱼ(−ε) = 1 − e^{−ε}(1 − Fⱼ(ε)), and the lattice begins at 0.
//!
//! *From below.* Using the same t in every step is one of the choices. It gives a binomial sum.

use pulp::{Simd, WithSimd};

/// How many times a cell may be crossed: some hundredths of a second.
const MOST_WORK: f64 = 1e7;
/// Cells of ε₀: with fewer, little is gained over concentrated privacy.
const CELLS: std::ops::RangeInclusive<usize> = 4..=32;
/// Cells of two rough curves. What a lattice adds to ε falls with the square of their number, so
/// the two together say where the curve of a fine lattice is.
const ROUGH: [usize; 2] = [4, 8];
/// Smaller values of the curve are taken for this one: smaller products of them are slow.
const LEAST: f64 = 1e-100;
/// More lanes than any register has: the lattice is a multiple of them long.
const LANES: usize = 16;
/// Farther out nothing is asked for, and doubles have no e^ε.
const FARTHEST: f64 = 300.0;
/// The rounding of doubles in all steps: a dozen units in each.
const ROUNDING: f64 = 1e-10;
/// How many choices of t are tried from below.
const TRIED: usize = 24;

/// The curve of `count` selections of range ε₀, from above.
pub struct Selections {
    range: f64,
    count: u64,
    step: f64,
    /// F at each lattice value, from 0 on.
    values: Vec<f64>,
}

impl Selections {
    /// A curve for ε up to `farthest` and a little beyond; `None` where it would take too long.
    pub fn of(range: f64, count: u64, farthest: f64) -> Option<Self> {
        let reach = reach(range, count, farthest)?;
        let cells = cells(range, count, reach);
        (cells >= *CELLS.start()).then(|| Self::with_cells(range, count, reach, cells))
    }

    fn with_cells(range: f64, count: u64, reach: f64, cells: usize) -> Self {
        let step = range / cells as f64;
        let whole = cells.saturating_mul(count as usize);
        let last = ((reach / step).ceil() as usize).min(whole);
        let values = composed(range, count, cells, last, last == whole);
        Self { range, count, step, values }
    }

    /// About the ε that [`Self::epsilon`] gives, in a fraction of the time; `None` where that is no
    /// small one. No bound.
    pub fn guess(range: f64, count: u64, farthest: f64, delta: f64) -> Option<f64> {
        let reach = reach(range, count, farthest)?;
        if cells(range, count, reach) < 2 * ROUGH[1] {
            return None;
        }
        let epsilon = |cells| Self::with_cells(range, count, reach, cells).epsilon(delta);
        let (rough, finer) = (epsilon(ROUGH[0])?, epsilon(ROUGH[1])?);
        let falls = (ROUGH[1] / ROUGH[0]).pow(2) as f64;
        Some(finer - (rough - finer) / (falls - 1.0))
    }

    fn place(&self, index: usize) -> f64 {
        index as f64 * self.step
    }

    /// δ at this ε, from above.
    pub fn delta(&self, epsilon: f64) -> f64 {
        if epsilon < 0.0 {
            return 1.0;
        }
        let at = (epsilon / self.step) as usize;
        let exact = match self.values.get(at..at + 2) {
            Some(ends) => {
                let (left, right) = (self.place(at), self.place(at + 1));
                let part = (epsilon - left).exp_m1() / (right - left).exp_m1();
                ends[0] + (ends[1] - ends[0]) * part.clamp(0.0, 1.0)
            }
            None => self.values.last().copied().unwrap_or(1.0),
        };
        (exact * (1.0 + ROUNDING)).next_up().min(1.0)
    }

    /// The least ε ≥ 0 at which δ is proven; `None` beyond the lattice.
    pub fn epsilon(&self, delta: f64) -> Option<f64> {
        if self.delta(0.0) <= delta {
            return Some(0.0);
        }
        let over = self.values.partition_point(|value| value * (1.0 + ROUNDING) >= delta);
        let mut high = (over < self.values.len()).then(|| self.place(over))?;
        let mut low = self.place(over.saturating_sub(1));
        while high - low > 1e-12 * high {
            let middle = 0.5 * (low + high);
            if self.delta(middle) <= delta { high = middle } else { low = middle }
        }
        Some(high)
    }

    /// An ε at which selections that all choose the same t have this δ, or nearly.
    pub fn epsilon_below(&self, delta: f64) -> f64 {
        let choices = || (1..TRIED).map(|part| self.range * part as f64 / TRIED as f64);
        let curves: Vec<_> = choices().map(|t| self.outcomes(t)).collect();
        let reached = |epsilon: f64| {
            curves.iter().any(|outcomes| {
                let beyond = outcomes.iter().filter(|(loss, _)| *loss > epsilon);
                let sum: f64 = beyond.map(|(loss, mass)| -(epsilon - loss).exp_m1() * mass).sum();
                sum * (1.0 - 1e-9) >= delta
            })
        };
        let (mut low, mut high) = (0.0, self.range * self.count as f64);
        for _ in 0..40 {
            let middle = 0.5 * (low + high);
            if reached(middle) { low = middle } else { high = middle }
        }
        low
    }

    /// Losses above 0 of all draws together and their probabilities, if each has the loss t or
    /// t − ε₀.
    fn outcomes(&self, t: f64) -> Vec<(f64, f64)> {
        let (upper, lower) = probabilities(self.range, t);
        let count = self.count as f64;
        let mut log_ways = 0.0;
        let mut all = Vec::new();
        for fewer in 0..=self.count {
            let lower_draws = fewer as f64;
            let loss = count * t - lower_draws * self.range;
            if loss <= 0.0 {
                break;
            }
            let log = log_ways + (count - lower_draws) * upper.ln() + lower_draws * lower.ln();
            all.push((loss, log.exp()));
            log_ways += ((count - lower_draws) / (lower_draws + 1.0)).ln();
        }
        all
    }
}

/// The probabilities of the losses t and t − ε₀.
fn probabilities(range: f64, t: f64) -> (f64, f64) {
    let all = -(-range).exp_m1();
    (-(t - range).exp_m1() / all, (-range).exp() * t.exp_m1() / all)
}

/// How far a lattice goes that serves ε up to `farthest`; `None` where there is no such lattice.
fn reach(range: f64, count: u64, farthest: f64) -> Option<f64> {
    let reach = (farthest + 2.0 * range).min(range * count as f64);
    (count >= 2 && reach.is_finite() && reach < FARTHEST && range > 1e-9).then_some(reach)
}

/// As many cells of ε₀ as there is time for. Crossed are as many cells of the lattice in each step.
fn cells(range: f64, count: u64, reach: f64) -> usize {
    ((MOST_WORK * range / (reach * count as f64)).sqrt() as usize).min(*CELLS.end())
}

/// F of `count` steps at the lattice values from 0 to `last`, and perhaps a few more.
fn composed(range: f64, count: u64, cells: usize, last: usize, is_whole: bool) -> Vec<f64> {
    let step = range / cells as f64;
    // The lattice continues by this much on each side, because no step goes farther.
    let margin = cells + 1;
    let inside = margin..margin + (last + 1).next_multiple_of(LANES);
    let places = -(margin as i64)..inside.end as i64;
    let ratios: Vec<f64> = places.map(|k| (k as f64 * step).exp()).collect();
    let mut values: Vec<f64> = ratios.iter().map(|ratio| (1.0 - ratio).max(0.0)).collect();
    let cells: Vec<CellOfShift> =
        (0..cells).map(|cell| CellOfShift::of(range, step, cell)).collect();
    let (mut slopes, mut intercepts) = (vec![0.0; values.len()], vec![0.0; values.len()]);
    let mut next = vec![0.0; inside.len()];
    let arch = pulp::Arch::new();
    for _ in 0..count {
        // Farther right, no more is known than that the curve falls.
        let end = if is_whole { 0.0 } else { values[inside.end - 1] };
        values[inside.end..].fill(end);
        for k in 1..=margin {
            values[margin - k] = 1.0 - (1.0 - values[margin + k]) * ratios[margin - k];
        }
        for at in 0..values.len() - 1 {
            slopes[at] = (values[at + 1] - values[at]) / (ratios[at + 1] - ratios[at]);
            intercepts[at] = values[at] - slopes[at] * ratios[at];
        }
        arch.dispatch(OneStep {
            range,
            cells: &cells,
            ratios: &ratios,
            values: &values,
            slopes: &slopes,
            intercepts: &intercepts,
            next: &mut next,
        });
        values[inside.clone()].copy_from_slice(&next);
    }
    values[inside].to_vec()
}

/// A cell of the lattice that t may lie in.
struct CellOfShift {
    /// Probabilities of the losses t and t − ε₀ at its end.
    likely: (f64, f64),
    /// e^{2t} at its ends.
    squares: (f64, f64),
}

impl CellOfShift {
    fn of(range: f64, step: f64, cell: usize) -> Self {
        let (start, end) = (cell as f64 * step, (cell + 1) as f64 * step);
        Self {
            likely: probabilities(range, end),
            squares: ((2.0 * start).exp(), (2.0 * end).exp()),
        }
    }
}

/// One more step: what `next` is, given the curve of the steps before.
struct OneStep<'a> {
    range: f64,
    cells: &'a [CellOfShift],
    ratios: &'a [f64],
    values: &'a [f64],
    /// Of the polygon, as a line in x, right of each lattice value.
    slopes: &'a [f64],
    intercepts: &'a [f64],
    next: &'a mut [f64],
}

impl WithSimd for OneStep<'_> {
    type Output = ();

    // Compiled for the instruction set that was found at run time.
    #[allow(clippy::inline_always)]
    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { range, cells, ratios, values, slopes, intercepts, next } = self;
        let (margin, all) = (cells.len() + 1, -(-range).exp_m1());
        let (more, less) = (1.0 / all, (-range).exp() / all);
        let (more, less) = (simd.splat_f64s(more), simd.splat_f64s(less));
        let (zero, one) = (simd.splat_f64s(0.0), simd.splat_f64s(1.0));
        let least = simd.splat_f64s(LEAST);
        for (block, next) in S::as_mut_simd_f64s(next).0.iter_mut().enumerate() {
            let at = margin + block * S::F64_LANES;
            let x = load::<S>(ratios, at);
            let mut most = load::<S>(values, at);
            for (cell, CellOfShift { likely: (p, q), squares }) in cells.iter().enumerate() {
                let left = at - cell - 1;
                let right = left + cells.len();
                let (low, high) = (load::<S>(values, left), load::<S>(values, right));
                let end = simd.mul_f64s(simd.splat_f64s(*q), high);
                let end = simd.mul_add_e_f64s(simd.splat_f64s(*p), low, end);
                most = simd.max_f64s(most, end);

                let (falls, rises) = (load::<S>(slopes, left), load::<S>(slopes, right));
                let alpha = simd.mul_f64s(simd.mul_f64s(more, x), simd.sub_f64s(rises, falls));
                let (a, c) = (load::<S>(intercepts, left), load::<S>(intercepts, right));
                let beta = simd.mul_f64s(less, simd.sub_f64s(a, c));
                let from = simd.sub_f64s(alpha, simd.mul_f64s(beta, simd.splat_f64s(squares.0)));
                let to = simd.sub_f64s(simd.mul_f64s(beta, simd.splat_f64s(squares.1)), alpha);
                let within = simd.min_f64s(from, to);
                if simd.reduce_max_f64s(within) <= 0.0 {
                    continue;
                }
                // e^t where it is largest.
                let factor = simd.sqrt_f64s(simd.div_f64s(alpha, beta));
                let p = simd.sub_f64s(more, simd.mul_f64s(less, factor));
                let off = simd.sub_f64s(simd.div_f64s(x, factor), load::<S>(ratios, left));
                let low = simd.mul_add_e_f64s(falls, off, low);
                let far = simd.div_f64s(load::<S>(ratios, at + cells.len()), factor);
                let off = simd.sub_f64s(far, load::<S>(ratios, right));
                let high = simd.mul_add_e_f64s(rises, off, high);
                let found = simd.mul_f64s(simd.sub_f64s(one, p), high);
                let found = simd.max_f64s(most, simd.mul_add_e_f64s(p, low, found));
                most = simd.select_f64s(simd.less_than_f64s(zero, within), found, most);
            }
            *next = simd.max_f64s(least, simd.min_f64s(one, most));
        }
    }
}

#[allow(clippy::inline_always)]
#[inline(always)]
fn load<S: Simd>(of: &[f64], at: usize) -> S::f64s {
    S::as_simd_f64s(&of[at..at + S::F64_LANES]).0[0]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(range: f64, count: u64) -> Selections {
        Selections::of(range, count, 20.0).unwrap()
    }

    /// One step has the curve (e^{ε₀/2} − e^{ε/2})²/(e^{ε₀} − 1).
    #[test]
    fn one_step_is_the_curve_of_bounded_range() {
        let range: f64 = 0.8;
        let values = composed(range, 1, 32, 32, true);
        for (k, value) in (0..=32).zip(values) {
            let epsilon = f64::from(k) * range / 32.0;
            let exact = ((0.5 * range).exp() - (0.5 * epsilon).exp()).powi(2) / range.exp_m1();
            let exact = exact.max(1.0 - epsilon.exp());
            assert!(value >= exact * (1.0 - 1e-12), "{epsilon}: {value} {exact}");
            assert!(value <= exact + 3e-4, "{epsilon}: {value} {exact}");
        }
    }

    /// Random choices that depend on earlier outputs never reveal more.
    #[test]
    fn no_adaptive_choice_passes_the_curve() {
        use rand::rngs::ChaCha20Rng;
        use rand::{RngExt, SeedableRng};
        let mut generator = ChaCha20Rng::seed_from_u64(1);
        let (range, count) = (0.7, 6_u64);
        let curve = curve(range, count);
        let mut most: f64 = 0.0;
        for trial in 0..3000 {
            // Leaves of a tree of choices: total loss and probability.
            let mut leaves = vec![(0.0_f64, 1.0_f64)];
            let lean: f64 = generator.random_range(0.2..0.8);
            for _ in 0..count {
                let grown = leaves.iter().flat_map(|&(loss, mass)| {
                    let t = range
                        * if trial % 2 == 0 { lean } else { generator.random_range(0.01..0.99) };
                    let (upper, lower) = probabilities(range, t);
                    [(loss + t, mass * upper), (loss + t - range, mass * lower)]
                });
                leaves = grown.collect();
            }
            for epsilon in [0.0, 0.3, 1.0, 1.7, 2.4] {
                let delta: f64 = leaves
                    .iter()
                    .map(|(loss, mass)| mass * (-(epsilon - loss).exp_m1()).max(0.0))
                    .sum();
                let bound = curve.delta(epsilon);
                assert!(delta <= bound, "{epsilon}: {delta} {bound}");
                if epsilon == 1.0 {
                    most = most.max(delta / bound);
                }
            }
        }
        assert!(most > 0.9, "{most}");
    }

    #[test]
    fn the_bounds_enclose_little_and_beat_concentrated_privacy() {
        use crate::privacy::accountant::pair::Pair;
        use crate::privacy::accountant::rdp;
        for (range, count, delta) in
            [(0.5, 2, 1e-3), (0.1, 60, 1e-5), (0.3, 60, 1e-8), (0.05, 1000, 1e-6), (1.0, 30, 1e-6)]
        {
            let curve = curve(range, count);
            let upper = curve.epsilon(delta).unwrap();
            let lower = curve.epsilon_below(delta);
            let concentrated =
                rdp::epsilon(&[(Pair::BoundedRange { epsilon: range }, count)], delta);
            let pure = range * count as f64;
            assert!(lower <= upper && upper <= pure, "{range} {count}: {lower} {upper}");
            assert!(lower > 0.93 * upper, "{range} {count}: {lower} {upper}");
            assert!(upper < 0.97 * concentrated, "{range} {count}: {upper} {concentrated}");
            assert!(curve.delta(upper) <= delta && curve.delta(0.99 * upper) > delta);
        }
    }

    #[test]
    fn a_lattice_that_ends_early_is_no_better_than_a_whole_one() {
        let whole = Selections::of(0.2, 40, 100.0).unwrap();
        let part = Selections::of(0.2, 40, 4.5).unwrap();
        assert!(part.values.len() < whole.values.len());
        for delta in [1e-2, 1e-4, 1e-6] {
            let (one, other) = (whole.epsilon(delta).unwrap(), part.epsilon(delta).unwrap());
            assert!((one - other).abs() < 2e-3 * one, "{one} {other}");
        }
        let guess = Selections::guess(0.2, 40, 4.5, 1e-6).unwrap();
        assert!((guess / part.epsilon(1e-6).unwrap() - 1.0).abs() < 5e-3, "{guess}");
        assert!(Selections::of(0.2, 1, 1.0).is_none());
        assert!(Selections::of(1e-3, 10_000_000, 100.0).is_none());
    }
}
