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
//! *The maximum in a cell* that ends at T = t + h is the value at its end plus (√β·e^{T/2} −
//! √α·e^{−T/2})² where e^{2t} = α/β lies in the cell. Let w be the fall of the polygon in a cell of
//! the lattice. Then α·e^{−T} = (w₁ − e^{−ε₀}w₂)/((1 − e^{−ε₀})(e^h − 1)), with w₁ in the left cell
//! and w₂ in the right one, and a − c is the fall between these cells plus (w₁ − w₂)/(e^h − 1). So
//! both roots depend on the left cell alone, and are computed once for all x. Where α/β is beyond
//! the start of the cell, the difference of the roots is limited to its value at the start, which
//! gives no more than the value there; beyond the end it is 0.
//!
//! *The negative side.* If P and Q change places, a mechanism of bounded range still has the same
//! range. So Fⱼ(−ε) = 1 − e^{−ε}(1 − Fⱼ(ε)), and the lattice begins at 0.
//!
//! *From below.* Using the same t in every step is one of the choices. It gives a binomial sum.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use pulp::{Simd, WithSimd};

/// How many times a cell may be crossed: some hundredths of a second.
const MOST_WORK: f64 = 1e7;
/// Cells of ε₀: with fewer, little is gained over concentrated privacy, and with more, less than a
/// thousandth of ε.
const CELLS: std::ops::RangeInclusive<usize> = 4..=24;
/// Cells of two rough curves. What a lattice adds to ε falls with the square of their number, so
/// the two together say where the curve of a finer lattice is.
const ROUGH: [usize; 2] = [6, 12];
/// Smaller values of the curve are taken for this one: smaller products of them are slow.
const LEAST: f64 = 1e-100;
/// Values that are computed together: some registers. The lattice is a multiple of them long.
const LANES: usize = 16;
/// Farther out nothing is asked for, and doubles have no e^ε.
const FARTHEST: f64 = 300.0;
/// The rounding of doubles in all steps: a dozen units in each of some thousands. Falls of the
/// polygon are divided by ε₀, and so are their errors.
const ROUNDING: f64 = 1e-10;
const ROUNDING_OF_FALLS: f64 = 1e-12;
/// The number of curves that are kept.
const KEPT: usize = 8;
/// How many choices of t are tried from below.
const TRIED: usize = 24;

/// What a curve depends on: the range, the count and how far it reaches.
type CurveKey = (u64, u64, u64);

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
    ///
    /// The last few curves are kept: the cost of a plan is proved for its own δ, then for that of
    /// the budget.
    pub fn of(range: f64, count: u64, farthest: f64) -> Option<Arc<Self>> {
        static KNOWN: Mutex<VecDeque<(CurveKey, Arc<Selections>)>> = Mutex::new(VecDeque::new());
        let known = || KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (range.to_bits(), count, farthest.to_bits());
        if let Some((_, curve)) = known().iter().find(|(other, _)| *other == key) {
            return Some(Arc::clone(curve));
        }
        // Other threads need not wait for it.
        let curve = Arc::new(Self::anew(range, count, farthest)?);
        let mut known = known();
        known.push_front((key, Arc::clone(&curve)));
        known.truncate(KEPT);
        Some(curve)
    }

    fn anew(range: f64, count: u64, farthest: f64) -> Option<Self> {
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
        let cells = cells(range, count, reach);
        if 2 * cells < 3 * ROUGH[1] {
            return None;
        }
        let epsilon = |cells| Self::with_cells(range, count, reach, cells).epsilon(delta);
        let (rough, finer) = (epsilon(ROUGH[0])?, epsilon(ROUGH[1])?);
        let share = |cells: usize| (cells as f64).powi(-2);
        let slope = (rough - finer) / (share(ROUGH[0]) - share(ROUGH[1]));
        Some(finer - slope * (share(ROUGH[1]) - share(cells)))
    }

    fn place(&self, index: usize) -> f64 {
        index as f64 * self.step
    }

    fn rounding(&self) -> f64 {
        1.0 + ROUNDING + ROUNDING_OF_FALLS / self.range
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
        (exact * self.rounding()).next_up().min(1.0)
    }

    /// The least ε ≥ 0 at which δ is proven; `None` beyond the lattice.
    pub fn epsilon(&self, delta: f64) -> Option<f64> {
        if self.delta(0.0) <= delta {
            return Some(0.0);
        }
        let over = self.values.partition_point(|value| value * self.rounding() >= delta);
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
        let choices = (1..TRIED).map(|part| self.range * part as f64 / TRIED as f64);
        choices.filter_map(|t| self.epsilon_with(t, delta * (1.0 + 1e-9))).fold(0.0, f64::max)
    }

    /// The ε > 0 at which all draws together have this δ, if each has the loss t or t − ε₀; `None`
    /// where they have less at 0. With P and Q of all losses above ε, δ is P − e^ε·Q.
    fn epsilon_with(&self, t: f64, delta: f64) -> Option<f64> {
        let (upper, lower) = probabilities(self.range, t);
        let (count, fall) = (self.count as f64, (-self.range).exp());
        let (mut log_ways, mut loss) = (0.0, count * t);
        // P, and e^ε·Q at this loss.
        let (mut above, mut below) = (0.0, 0.0);
        for fewer in 0..=self.count {
            if above - below >= delta || loss <= 0.0 {
                break;
            }
            let lower_draws = fewer as f64;
            let log = log_ways + (count - lower_draws) * upper.ln() + lower_draws * lower.ln();
            above += log.exp();
            below = fall * (below + log.exp());
            loss -= self.range;
            log_ways += ((count - lower_draws) / (lower_draws + 1.0)).ln();
        }
        (above > delta).then(|| loss + ((above - delta) / below).ln()).filter(|it| *it > 0.0)
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
    let mut values: Vec<f64> = places.map(|k| -(k as f64 * step).exp_m1().min(0.0)).collect();
    let shrinks: Vec<f64> = (1..=margin).map(|k| (-(k as f64) * step).exp()).collect();
    let cells: Vec<CellOfShift> =
        (1..=cells).map(|cell| CellOfShift::of(range, step, cell)).collect();
    let [mut falls, mut left, mut right] = [(); 3].map(|()| vec![0.0; values.len()]);
    let mut next = vec![0.0; inside.len()];
    let arch = pulp::Arch::new();
    for _ in 0..count {
        // Farther right, no more is known than that the curve falls.
        let end = if is_whole { 0.0 } else { values[inside.end - 1] };
        values[inside.end..].fill(end);
        for (k, shrink) in (1..).zip(&shrinks) {
            values[margin - k] = 1.0 - (1.0 - values[margin + k]) * shrink;
        }
        arch.dispatch(OneStep {
            range,
            step,
            cells: &cells,
            values: &values,
            falls: &mut falls,
            left: &mut left,
            right: &mut right,
            next: &mut next,
        });
        values[inside.clone()].copy_from_slice(&next);
    }
    values[inside].to_vec()
}

/// A cell of the lattice that t may lie in.
struct CellOfShift {
    /// Probabilities of the losses t and t − ε₀ at its end T.
    likely: (f64, f64),
    /// e^{T/2}
    root: f64,
}

impl CellOfShift {
    /// The cell that ends after this many steps.
    fn of(range: f64, step: f64, cells: usize) -> Self {
        let end = cells as f64 * step;
        Self { likely: probabilities(range, end), root: (0.5 * end).exp() }
    }
}

/// One more step: what `next` is, given the curve of the steps before.
struct OneStep<'a> {
    range: f64,
    step: f64,
    cells: &'a [CellOfShift],
    values: &'a [f64],
    /// Of the polygon in the cell right of each lattice value.
    falls: &'a mut [f64],
    /// √α·e^{−T/2} and √β, if this is the cell of ε − t.
    left: &'a mut [f64],
    right: &'a mut [f64],
    next: &'a mut [f64],
}

impl WithSimd for OneStep<'_> {
    type Output = ();

    // Compiled for the instruction set that was found at run time.
    #[allow(clippy::inline_always)]
    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { range, step, cells, values, falls, left, right, next } = self;
        let (count, all, grows) = (cells.len(), -(-range).exp_m1(), step.exp_m1());
        for (fall, ends) in falls.iter_mut().zip(values.windows(2)) {
            *fall = ends[0] - ends[1];
        }
        let (first, fall) = (1.0 / (all * grows), (-range).exp());
        let ends = values.iter().zip(&values[count..]).zip(falls.iter().zip(&falls[count..]));
        for ((left, right), ((here, there), (near, far))) in
            left.iter_mut().zip(right.iter_mut()).zip(ends)
        {
            // Neither is negative, but for rounding.
            *left = (first * (near - fall * far)).max(0.0).sqrt();
            *right = (first * fall * (grows * (here - there) + (near - far))).max(0.0).sqrt();
        }
        let (zero, one) = (simd.splat_f64s(0.0), simd.splat_f64s(1.0));
        let (least, across) = (simd.splat_f64s(LEAST), simd.splat_f64s(-(-step).exp_m1()));
        for (block, next) in next.chunks_exact_mut(LANES).enumerate() {
            let at = count + 1 + block * LANES;
            next.copy_from_slice(&values[at..at + LANES]);
            let most = S::as_mut_simd_f64s(next).0;
            for (cell, CellOfShift { likely: (p, q), root }) in cells.iter().enumerate() {
                let from = at - cell - 1;
                let (p, q) = (simd.splat_f64s(*p), simd.splat_f64s(*q));
                let root = simd.splat_f64s(*root);
                let ends = registers::<S>(values, from).iter();
                let ends = ends.zip(registers::<S>(values, from + count));
                let roots = registers::<S>(left, from).iter().zip(registers::<S>(right, from));
                for (most, ((low, high), (left, right))) in most.iter_mut().zip(ends.zip(roots)) {
                    let end = simd.mul_add_e_f64s(p, *low, simd.mul_f64s(q, *high));
                    let right = simd.mul_f64s(*right, root);
                    let apart = simd.max_f64s(zero, simd.sub_f64s(right, *left));
                    let apart = simd.min_f64s(simd.mul_f64s(across, right), apart);
                    *most = simd.max_f64s(*most, simd.mul_add_e_f64s(apart, apart, end));
                }
            }
            for most in most {
                *most = simd.max_f64s(least, simd.min_f64s(one, *most));
            }
        }
    }
}

#[allow(clippy::inline_always)]
#[inline(always)]
fn registers<S: Simd>(of: &[f64], at: usize) -> &[S::f64s] {
    S::as_simd_f64s(&of[at..at + LANES]).0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(range: f64, count: u64) -> Arc<Selections> {
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

    /// The formula for the largest value over all t, beside a search of them, on polygons that fall
    /// in many ways: after few steps they still have corners.
    #[test]
    fn the_maximum_in_a_cell_is_the_largest_value_of_any_choice() {
        for (range, cells, steps) in [(0.7_f64, 5, 1), (0.7, 5, 4), (0.05, 4, 3), (2.0, 8, 2)] {
            let step = range / cells as f64;
            let last = cells * (steps + 1);
            let before = composed(range, steps as u64, cells, last, true);
            let after = composed(range, steps as u64 + 1, cells, last, true);
            let node = |k: i64| match before.get(k.unsigned_abs() as usize) {
                Some(value) if k >= 0 => *value,
                Some(value) => 1.0 - (k as f64 * step).exp() * (1.0 - value),
                None => 0.0,
            };
            let polygon = |epsilon: f64| {
                let left = (epsilon / step).floor();
                let part = (epsilon - left * step).exp_m1() / step.exp_m1();
                node(left as i64) * (1.0 - part) + node(left as i64 + 1) * part
            };
            for (k, found) in after.iter().enumerate().take(last - cells + 1) {
                let epsilon = k as f64 * step;
                let value = |t: f64| {
                    let (p, q) = probabilities(range, t);
                    p * polygon(epsilon - t) + q * polygon(epsilon - t + range)
                };
                let tried = (0..=20_000).map(|part| value(range * f64::from(part) / 2e4));
                let largest = tried.fold(LEAST, f64::max);
                let found = *found;
                assert!(found >= largest * (1.0 - 1e-11), "{range} {k}: {found:e} {largest:e}");
                assert!(found <= largest * (1.0 + 1e-6), "{range} {k}: {found:e} {largest:e}");
            }
        }
    }

    #[test]
    fn what_one_choice_reveals_is_the_sum_over_its_losses() {
        for (range, count) in [(0.3, 5_u64), (0.05, 400), (1.5, 2)] {
            let curve = curve(range, count);
            for (t, delta) in [(0.5, 1e-3), (0.3, 1e-2), (0.8, 1e-6)] {
                let t = t * range;
                let Some(epsilon) = curve.epsilon_with(t, delta) else { continue };
                let (upper, lower) = probabilities(range, t);
                let mut ways = 1.0;
                let mut sum = 0.0;
                for fewer in 0..=count {
                    let loss = count as f64 * t - fewer as f64 * range;
                    let mass = ways * upper.powi((count - fewer) as i32) * lower.powi(fewer as i32);
                    sum += mass * (-(epsilon - loss).exp_m1()).max(0.0);
                    ways *= (count - fewer) as f64 / (fewer + 1) as f64;
                }
                assert!((sum / delta - 1.0).abs() < 1e-9, "{range} {count} {t}: {sum:e} {delta:e}");
            }
            assert_eq!(curve.epsilon_with(0.5 * range, 1.0), None);
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
