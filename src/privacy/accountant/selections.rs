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
//! above Fⱼ. Left of the lattice the curve is taken to be 1, right of it its last value.
//!
//! *From below.* Using the same t in every step is one of the choices. It gives a binomial sum.

/// How many times a cell may be crossed: a few hundredths of a second.
const MOST_WORK: f64 = 2e7;
/// Cells of ε₀: with fewer, little is gained over concentrated privacy.
const CELLS: std::ops::RangeInclusive<usize> = 4..=32;
/// Beyond this nothing is needed, and e^ε overflows a double.
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
    /// Lattice value of the first number.
    first: i64,
    /// F at each lattice value.
    values: Vec<f64>,
}

impl Selections {
    /// A curve for ε up to `farthest` and a little beyond; `None` where it would take too long.
    pub fn of(range: f64, count: u64, farthest: f64) -> Option<Self> {
        let whole = range * count as f64;
        let reach = (farthest + 2.0 * range).min(whole);
        let fits = count >= 2 && reach.is_finite() && reach < FARTHEST && range > 1e-9;
        // Each step crosses as many cells of the lattice as there are cells in ε₀.
        let cells = (MOST_WORK * range / (2.0 * reach * count as f64)).sqrt() as usize;
        if !fits || cells < *CELLS.start() {
            return None;
        }
        let cells = cells.min(*CELLS.end());
        let step = range / cells as f64;
        let last = if reach < whole { (reach / step).ceil() } else { whole / step };
        let last = (last.round() as i64).min(cells as i64 * i64::try_from(count).ok()?);
        let is_whole = last == cells as i64 * count as i64;
        let values = composed(range, count, cells, last, is_whole);
        Some(Self { range, count, step, first: -last, values })
    }

    fn place(&self, index: usize) -> f64 {
        (self.first + index as i64) as f64 * self.step
    }

    /// δ at this ε, from above.
    pub fn delta(&self, epsilon: f64) -> f64 {
        let at = (epsilon / self.step).floor() as i64 - self.first;
        if at < 0 {
            return 1.0;
        }
        let at = at as usize;
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
        let mut low = self.place(over.saturating_sub(1)).max(0.0);
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

/// F of `count` steps at the lattice values from −`last` to `last`.
fn composed(range: f64, count: u64, cells: usize, last: i64, is_whole: bool) -> Vec<f64> {
    let step = range / cells as f64;
    // The lattice continues by this much on each side, because no step goes farther.
    let margin = cells + 1;
    let places = -(last + margin as i64)..=last + margin as i64;
    let ratios: Vec<f64> = places.map(|k| (k as f64 * step).exp()).collect();
    let mut values: Vec<f64> = ratios.iter().map(|ratio| (1.0 - ratio).max(0.0)).collect();
    let inside = margin..values.len() - margin;
    let ends: Vec<f64> = (0..=cells).map(|i| i as f64 * step).collect();
    let likely: Vec<(f64, f64)> = ends.iter().map(|t| probabilities(range, *t)).collect();
    let squares: Vec<f64> = ends.iter().map(|t| (2.0 * t).exp()).collect();
    let all = -(-range).exp_m1();
    let (more, less) = (1.0 / all, (-range).exp() / all);
    let (mut slopes, mut intercepts) = (vec![0.0; values.len()], vec![0.0; values.len()]);
    let mut next = values.clone();
    for _ in 0..count {
        if !is_whole {
            // Further left every loss may have occurred, further right none.
            values[..margin].fill(1.0);
        }
        let end = if is_whole { 0.0 } else { values[inside.end - 1] };
        values[inside.end..].fill(end);
        for at in 0..values.len() - 1 {
            slopes[at] = (values[at + 1] - values[at]) / (ratios[at + 1] - ratios[at]);
            intercepts[at] = values[at] - slopes[at] * ratios[at];
        }
        for at in inside.clone() {
            let mut most = values[at];
            for cell in 0..cells {
                let (left, right) = (at - cell - 1, at - cell - 1 + cells);
                let (p, q) = likely[cell + 1];
                most = most.max(p * values[left] + q * values[right]);
                if left < margin && !is_whole {
                    // There is no line there, so both are taken at their largest.
                    let (p, q) = likely[cell];
                    most = most.max(p * values[left] + q * values[right]);
                    continue;
                }
                let alpha = more * ratios[at] * (slopes[right] - slopes[left]);
                let beta = less * (intercepts[left] - intercepts[right]);
                if alpha > beta * squares[cell] && alpha < beta * squares[cell + 1] {
                    // e^t where the expression is largest.
                    let factor = (alpha / beta).sqrt();
                    let p = more - less * factor;
                    let on = |cell: usize, ratio: f64| {
                        values[cell] + slopes[cell] * (ratio - ratios[cell])
                    };
                    let low = on(left, ratios[at] / factor);
                    let high = on(right, ratios[at + cells] / factor);
                    most = most.max(p * low + (1.0 - p) * high);
                }
            }
            next[at] = most.min(1.0);
        }
        values[inside.clone()].copy_from_slice(&next[inside.clone()]);
    }
    values[inside].to_vec()
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
        for (k, value) in (-32..=32).zip(values) {
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
        assert!(Selections::of(0.2, 1, 1.0).is_none());
        assert!(Selections::of(1e-3, 10_000_000, 100.0).is_none());
    }
}
