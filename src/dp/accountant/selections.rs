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
//! above Fⱼ.
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
//! *Twice as many.* Fⱼ is the curve of a pair, and 2j selections are two adaptive mechanisms that
//! each are no easier to tell apart than this pair. So F₂ⱼ lies below the curve of the pair
//! composed with itself. Of the polygon, that pair has the losses k·h only, h the width of a cell.
//! Its masses under Q are the changes of slope, q(k·h) = F′ right of e^{kh} minus F′ left of it.
//! Under P they are e^{kh} times as large, and p(−k·h) = q(k·h), because the negative side mirrors
//! the positive one. Then F₂ⱼ(ε) ≤ Σ p(k·h)·Fⱼ(ε − k·h) + P(L = ∞). This saves half of the
//! steps. It is not free: the pair has the worst choices for every ε at once, and no mechanism makes
//! all of them. Each part beyond the first adds about 1/(2·count) to ε, relatively.
//!
//! *The end of the lattice.* A step takes means of earlier values, so values that are too large by
//! at most η make no later value too large by more than η. So a lattice may end where the curve is
//! negligible. Beyond its end the curve is taken to be its last value.
//!
//! *From below.* Using the same t in every step is one of the choices. It gives a binomial sum.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use pulp::{Simd, WithSimd};

use super::gaussian;

/// How many times a cell may be crossed: some thousandths of a second.
const MOST_WORK: f64 = 1.2e7;
/// Cells of ε₀: with fewer, little is gained over concentrated privacy, and with more, less than a
/// thousandth of ε. Steps by a multiple of four places are faster.
const CELLS: [usize; 6] = [4, 8, 12, 16, 20, FINEST];
const FINEST: usize = 24;
/// A curve need not be more precise than this, as [`excess`] counts.
const PRECISE: f64 = 0.007;
/// Where a lattice of single steps would have been less precise than this in the same time, there is
/// no curve: `verify` could not check it, because it has no other way.
const MOST_EXCESS: f64 = 1.0 / 16.0;
/// Smaller values of the curve are taken for this one: smaller products of them are slow.
const LEAST: f64 = 1e-100;
/// What the end of the lattice may add to δ in each step, if the curve is not followed to its end.
const NEGLIGIBLE: f64 = 1e-22;
/// Values that are computed together: some registers. The lattice is a multiple of them long.
const LANES: usize = 16;
/// Farther out nothing is asked for, and doubles have no e^ε.
const FARTHEST: f64 = 300.0;
/// The rounding of doubles in all steps: a dozen units in each of some hundred thousands. Falls of
/// the polygon are divided by ε₀, and so are their errors.
const ROUNDING: f64 = 1e-9;
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
        Some(Self::with(range, count, reach, Division::of(range, count, reach)?))
    }

    fn with(range: f64, count: u64, reach: f64, division: Division) -> Self {
        let lattice = Lattice::of(range, count, reach, division.cells);
        let values = lattice.composed(count, division.doublings);
        Self { range, count, step: lattice.step, values }
    }

    /// About the ε that [`Self::epsilon`] gives, at once; `None` where there is no curve. No bound.
    ///
    /// Many selections are nearly Gaussian. The other terms are fitted to curves of 60 selections
    /// and more, from which they are mostly less than 5·10⁻⁴ away.
    pub fn guess(range: f64, count: u64, farthest: f64, delta: f64) -> Option<f64> {
        let reach = reach(range, count, farthest)?;
        let Division { cells, doublings } = Division::of(range, count, reach)?;
        let draws = count as f64;
        let mu = 0.5 * range * draws.sqrt();
        let epsilon = gaussian::epsilon(mu, delta);
        let deviations = epsilon / mu + 0.5 * mu;
        let of_lattice = (0.45 + 1.2 * range) / (cells * cells) as f64;
        let of_parts = 0.48 * f64::from(1 << doublings) / draws;
        Some(epsilon * (1.0 + of_lattice + of_parts - 0.028 * deviations * deviations / draws))
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

/// How a curve is composed.
#[derive(Debug, Clone, Copy)]
struct Division {
    /// Of ε₀.
    cells: usize,
    /// How often the number of selections is doubled, after the first are composed one by one.
    doublings: u32,
}

impl Division {
    /// The quickest that is precise, or else the most precise; `None` if there is to be no curve.
    fn of(range: f64, count: u64, reach: f64) -> Option<Self> {
        let ranges = reach / range;
        // Of the lattices of single steps of earlier builds.
        let earlier = ranges * count as f64 / 1e7;
        if earlier > MOST_EXCESS {
            return None;
        }
        // What they proved stays proven, to less than a thousandth of ε.
        let enough = earlier.clamp(excess(1, FINEST, count), PRECISE);
        let all =
            (0..=count.ilog2()).flat_map(|doublings| CELLS.map(|cells| Self { cells, doublings }));
        let judged = all.map(|it| {
            let excess = excess(1 << it.doublings, it.cells, count);
            (it, it.work(count, ranges), excess.max(enough))
        });
        let quick = judged.filter(|(_, work, _)| *work <= MOST_WORK);
        let best = quick.min_by(|(_, work, excess), (_, other_work, other_excess)| {
            excess.total_cmp(other_excess).then(work.total_cmp(other_work))
        });
        best.map(|(division, ..)| division)
    }

    /// How many cells of the lattice are crossed, or as much work; `ranges` is the length of the
    /// lattice in ε₀.
    fn work(self, count: u64, ranges: f64) -> f64 {
        let parts = 2_f64.powi(self.doublings as i32);
        // The lattice grows with the standard deviation of the loss.
        let stepped = 0.75 * (count as f64 / parts) * ranges / parts.sqrt();
        let doubled = 0.27 * (2.0 - 2.0 / parts) * ranges * ranges;
        (self.cells * self.cells) as f64 * (stepped + doubled)
    }
}

/// What a lattice with so many cells of ε₀ adds to twice ε, relatively, and putting the curve
/// together from so many parts.
fn excess(parts: u64, cells: usize, count: u64) -> f64 {
    (parts - 1) as f64 / count as f64 + 1.0 / (cells * cells) as f64
}

/// The lattice of a curve.
struct Lattice {
    range: f64,
    step: f64,
    /// Of ε₀.
    cells: Vec<CellOfShift>,
    /// e^{−ε} at the lattice values from 0 on.
    shrinks: Vec<f64>,
    /// Values are kept up to this many.
    most: usize,
    /// What each step may add to all values beyond its end.
    negligible: f64,
}

impl Lattice {
    fn of(range: f64, count: u64, reach: f64, cells: usize) -> Self {
        let step = range / cells as f64;
        let most = ((reach / step).ceil() as usize + 1).next_multiple_of(LANES);
        let is_whole = reach >= range * count as f64;
        Self {
            range,
            step,
            cells: (1..=cells).map(|cell| CellOfShift::of(range, step, cell)).collect(),
            shrinks: (0..=most + cells).map(|k| (-(k as f64) * step).exp()).collect(),
            most,
            negligible: if is_whole { 0.0 } else { NEGLIGIBLE },
        }
    }

    /// F of `count` steps at the lattice values from 0 on. Beyond them it is at most the last.
    fn composed(&self, count: u64, doublings: u32) -> Vec<f64> {
        let mut values = vec![LEAST; LANES];
        values[0] = 0.0;
        self.step(&mut values, count >> doublings);
        for left in (0..doublings).rev() {
            values = self.twice(&values);
            self.step(&mut values, (count >> left) % 2);
        }
        values
    }

    /// `count` more steps.
    fn step(&self, values: &mut Vec<f64>, count: u64) {
        // The lattice continues by this much on each side, because no step goes farther.
        let margin = self.cells.len() + 1;
        let longest = margin + self.most + margin;
        let [mut line, mut falls, mut left, mut right] = [(); 4].map(|()| vec![0.0; longest]);
        for _ in 0..count {
            let known = values.len();
            let length = (known + self.cells.len()).next_multiple_of(LANES).min(self.most);
            let whole = margin + length + margin;
            line[margin..margin + known].copy_from_slice(values);
            line[margin + known..whole].fill(values[known - 1]);
            for (k, shrink) in self.shrinks.iter().enumerate().take(margin + 1).skip(1) {
                line[margin - k] = mirrored(line[margin + k], *shrink);
            }
            values.resize(length, 0.0);
            pulp::Arch::new().dispatch(OneStep {
                range: self.range,
                step: self.step,
                cells: &self.cells,
                values: &line[..whole],
                falls: &mut falls[..whole],
                left: &mut left[..whole],
                right: &mut right[..whole],
                next: values,
            });
            self.shorten(values);
        }
    }

    /// Ends with the first value that is hardly more than the last, or a little later.
    fn shorten(&self, values: &mut Vec<f64>) {
        let last = values.last().copied().unwrap_or(0.0);
        let kept = values.partition_point(|value| *value > last + self.negligible) + 1;
        values.truncate(kept.next_multiple_of(LANES));
    }

    /// F of twice as many steps, from above.
    fn twice(&self, half: &[f64]) -> Vec<f64> {
        let count = half.len();
        let beyond = half[count - 1];
        let value = |k: usize| half.get(k).copied().unwrap_or(beyond);
        let grows = self.step.exp_m1();
        // −F′ in the cell right of a lattice value.
        let slope = |k: usize| (value(k) - value(k + 1)) * self.shrinks[k] / grows;
        // Masses under P, from the largest loss to the smallest.
        let mut masses = vec![0.0; 2 * count];
        let mut rest = 1.0 - beyond;
        for k in 1..count {
            // Not negative, but for rounding.
            let below = (slope(k - 1) - slope(k)).max(0.0);
            let above = below / self.shrinks[k];
            (masses[count - 1 - k], masses[count - 1 + k]) = (above, below);
            rest -= above + below;
        }
        masses[count - 1] = rest.max(0.0);
        // F from 1 − `count` on.
        let mirror = (1..count).rev().map(|k| mirrored(half[k], self.shrinks[k]));
        let curve: Vec<f64> = mirror.chain((0..count + LANES).map(value)).collect();
        // The infinite loss, and all that meet F beyond its end.
        let mut values = vec![2.0 * beyond; (2 * count).min(self.most)];
        pulp::Arch::new().dispatch(Composed { masses: &masses, curve: &curve, into: &mut values });
        self.shorten(&mut values);
        values
    }
}

/// F(−ε), given F(ε) and e^{−ε}.
fn mirrored(value: f64, shrink: f64) -> f64 {
    1.0 - (1.0 - value) * shrink
}

/// Adds the sums of `masses` times as many values of the curve, from each place on.
struct Composed<'a> {
    masses: &'a [f64],
    curve: &'a [f64],
    into: &'a mut [f64],
}

impl WithSimd for Composed<'_> {
    type Output = ();

    // Compiled for the instruction set that was found at run time.
    #[allow(clippy::inline_always)]
    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Self { masses, curve, into } = self;
        for (block, sums) in into.chunks_exact_mut(LANES).enumerate() {
            let mut own = [0.0; LANES];
            let places = curve[block * LANES..].windows(LANES);
            for (mass, values) in masses.iter().zip(places) {
                for (sum, value) in own.iter_mut().zip(values) {
                    *sum += mass * value;
                }
            }
            for (sum, own) in sums.iter_mut().zip(own) {
                *sum += own;
            }
        }
    }
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
        let values = Lattice::of(range, 1, range, 32).composed(1, 0);
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
            let lattice = Lattice::of(range, steps as u64 + 1, 20.0, cells);
            let before = lattice.composed(steps as u64, 0);
            let after = lattice.composed(steps as u64 + 1, 0);
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

    /// Randomised response is on the lattice, and so are two of them.
    #[test]
    fn twice_randomised_response_is_its_composition() {
        let (range, cells) = (0.6_f64, 8);
        let lattice = Lattice::of(range, 10, 20.0, cells);
        let likely = 1.0 / (1.0 + (-range).exp());
        let at = |k: usize| k as f64 * lattice.step;
        let once = |k: usize| likely * -(at(k) - range).min(0.0).exp_m1();
        let half: Vec<f64> = (0..3 * LANES).map(once).collect();
        let twice = lattice.twice(&half);
        assert!(twice.len() > 2 * cells);
        for (k, value) in twice.iter().enumerate() {
            let exact = likely * likely * -(at(k) - 2.0 * range).min(0.0).exp_m1();
            assert!((value - exact).abs() < 1e-14, "{k}: {value} {exact}");
        }
    }

    /// One by one is a bound as well, and a closer one.
    #[test]
    fn curves_of_halves_lie_hardly_above_those_of_single_steps() {
        for (range, count, doublings) in [(0.05, 300, 1), (0.05, 303, 1), (0.02, 1003, 2)] {
            let lattice = Lattice::of(range, count, 4.0, 12);
            let single = lattice.composed(count, 0);
            let halves = lattice.composed(count, doublings);
            for (k, (one, other)) in single.iter().zip(&halves).enumerate() {
                // The end of a lattice adds a little, to either.
                let above = *other >= one * (1.0 - 1e-11) - 1e-18;
                assert!(above, "{count} {k}: {one:e} {other:e}");
            }
            let epsilon = |values: Vec<f64>| {
                Selections { range, count, step: lattice.step, values }.epsilon(1e-7).unwrap()
            };
            let (one, other) = (epsilon(single), epsilon(halves));
            let most = 0.6 * f64::from((1 << doublings) - 1) / count as f64;
            assert!(other < one * (1.0 + most), "{count}: {one} {other}");
        }
    }

    /// A lattice that ends where the curve is negligible, beside one that follows it to its end.
    #[test]
    fn the_end_of_the_lattice_adds_next_to_nothing() {
        let (range, count) = (0.05, 200);
        let ended = Lattice::of(range, count, 5.0, 8);
        let whole = Lattice { negligible: 0.0, ..Lattice::of(range, count, 10.0, 8) };
        let (ended, whole) = (ended.composed(count, 0), whole.composed(count, 0));
        assert!(ended.len() < whole.len());
        for (one, other) in ended.iter().zip(whole) {
            assert!(*one >= other * (1.0 - 1e-11) && *one <= other * (1.0 + 1e-11) + 1e-19);
        }
    }

    #[test]
    fn guesses_come_close_to_what_is_proven() {
        for count in [75, 150, 400, 1000] {
            for (epsilon, delta) in [(0.2, 1e-5), (1.0, 1e-9), (6.0, 1e-7)] {
                let range = 2.0 * epsilon / (5.0 * f64::sqrt(count as f64));
                let proven = Selections::of(range, count, 4.0 * epsilon).unwrap();
                let proven = proven.epsilon(delta).unwrap();
                let guess = Selections::guess(range, count, 4.0 * epsilon, delta).unwrap();
                assert!((guess / proven - 1.0).abs() < 2e-3, "{count}: {guess} {proven}");
            }
        }
    }

    /// At a few places. What a ledger has charged must not grow.
    #[test]
    fn no_curve_is_worse_than_that_of_an_earlier_build() {
        for (range, count, farthest, delta, earlier) in [
            (0.0635, 75, 2.32, 1e-9, 1.533_936),
            (0.03, 240, 1.96, 1e-6, 0.981_011),
            (0.03, 300, 2.19, 1e-9, 1.452_974),
            (0.025, 400, 2.11, 1e-5, 0.927_910),
            (0.0208, 501, 1.96, 1e-9, 1.297_129),
            (0.026, 620, 2.74, 1e-9, 1.838_105),
            (0.0147, 1000, 1.96, 1e-6, 0.987_121),
            (0.1, 2000, 21.08, 1e-8, 14.909_874),
        ] {
            let now = Selections::of(range, count, farthest).unwrap().epsilon(delta).unwrap();
            assert!(now <= earlier * (1.0 + 1e-6), "{count}: {now} {earlier}");
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
        use crate::accountant::pair::Pair;
        use crate::accountant::rdp;
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
        assert!(Selections::of(0.2, 1, 1.0).is_none());
        assert!(Selections::of(1e-3, 10_000_000, 100.0).is_none());
    }
}
