//! The objectives of CnvxAdap and NCnvxAdap over a model and a weight for every record.
//!
//! Record i has the loss aᵢ = ℓᵢ(w) + d̂·\[public\] and weighs qᵢ = 1/uᵢ ≤ cᵢ, where cᵢ is
//! α/m for public and (1−α)/n for private records. With the rescaled vᵢ = cᵢuᵢ ≥ 1,
//!
//! > F(w, u) = Σ qᵢaᵢ + κ₁Σ cᵢ(vᵢ − 1) + κ₂‖q‖₂ + κ_∞ max qᵢ   (convex for squared loss)
//! > J(w, u) = Σ qᵢaᵢ + λ₁Σ (cᵢ − qᵢ) + λ₂‖q‖₂ + (λ_∞/μ) log Σ exp(μqᵢ)   (smooth)
//!
//! In u itself slopes are of the size of c², so a point looks "stationary" before anything has
//! moved. So everything here is in v, where slopes are 1/cᵢ times those in u.
//!
//! Only aᵢ depends on data. The rest is a function of the weights, hence public or
//! released wherever the weights are.

use crate::numeric::Vector;
use crate::numeric::special::crossing;
use crate::sources::WeightedSource;

/// Of the search for the best weights: turns, the relative change of N and z that ends them, and
/// Newton steps of a record.
const MOST_TURNS: usize = 100;
const TURN_TOLERANCE: f64 = 1e-11;
const NEWTON_STEPS: usize = 100;
/// A record without weight has this share of its largest, so that v is finite.
const LEAST_SHARE: f64 = 1e-9;

/// What pulls the weights to their largest values and to one another.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pulls {
    /// κ₁ of F, λ₁ of J
    pub total: f64,
    /// κ₂ of F, λ₂ of J
    pub square: f64,
    /// κ_∞ of F, λ_∞ of J
    pub largest: f64,
    /// μ of J, which is smooth; `None` for F, which is convex.
    pub sharpness: Option<f64>,
}

/// The largest weight of one record on either side, and the numbers of records.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Caps {
    pub public: f64,
    pub private: f64,
    pub public_records: usize,
    pub private_records: usize,
}

impl Caps {
    pub fn new(alpha: f64, public_records: usize, private_records: usize) -> Self {
        Self {
            public: alpha / public_records as f64,
            private: (1.0 - alpha) / private_records as f64,
            public_records,
            private_records,
        }
    }

    fn of(&self, index: usize) -> f64 {
        if index < self.public_records { self.public } else { self.private }
    }

    /// The largest sum of all private weights.
    pub fn private_total(&self) -> f64 {
        self.private * self.private_records as f64
    }

    pub fn records(&self) -> usize {
        self.public_records + self.private_records
    }
}

/// v, public records first.
#[derive(Debug, Clone, PartialEq)]
pub struct Weights {
    pub caps: Caps,
    pub v: Vector,
}

impl Weights {
    /// Every record at its largest weight.
    pub fn largest(caps: Caps) -> Self {
        Self { caps, v: Vector::from_element(caps.records(), 1.0) }
    }

    /// Every record at its largest weight, but given weights of public datasets are as given.
    pub fn of_sources(caps: Caps, sources: &[WeightedSource]) -> Self {
        let mut weights = Self::largest(caps);
        for source in sources {
            for member in &source.members {
                weights.v[*member] = 1.0 / source.given.unwrap_or(1.0);
            }
        }
        weights
    }

    /// qᵢ
    pub fn of(&self, index: usize) -> f64 {
        self.caps.of(index) / self.v[index]
    }

    /// −∂qᵢ/∂vᵢ = qᵢ/vᵢ: how fast vᵢ lowers the weight.
    pub fn rate(&self, index: usize) -> f64 {
        self.of(index) / self.v[index]
    }

    pub fn public(&self) -> impl Iterator<Item = f64> {
        (0..self.caps.public_records).map(|index| self.of(index))
    }

    pub fn private(&self) -> impl Iterator<Item = f64> {
        (self.caps.public_records..self.caps.records()).map(|index| self.of(index))
    }

    fn all(&self) -> impl Iterator<Item = f64> {
        (0..self.caps.records()).map(|index| self.of(index))
    }

    fn norm(&self) -> f64 {
        self.all().map(|q| q * q).sum::<f64>().sqrt()
    }

    fn heaviest(&self) -> (usize, f64) {
        self.all().enumerate().fold(
            (0, 0.0),
            |best, (index, q)| {
                if q > best.1 { (index, q) } else { best }
            },
        )
    }
}

impl Pulls {
    /// The objective without the losses.
    pub fn value(self, weights: &Weights) -> f64 {
        let Self { total, square, largest, sharpness } = self;
        let (caps, (_, top)) = (weights.caps, weights.heaviest());
        let records = 0..caps.records();
        let rest = if let Some(sharpness) = sharpness {
            let spare = records.map(|index| caps.of(index) - weights.of(index));
            // Shifted by the largest exponent, nothing overflows.
            let sum: f64 = weights.all().map(|q| (sharpness * (q - top)).exp()).sum();
            total * spare.sum::<f64>() + largest * (top + sum.ln() / sharpness)
        } else {
            let spare = records.map(|index| caps.of(index) * (weights.v[index] - 1.0));
            total * spare.sum::<f64>() + largest * top
        };
        square * weights.norm() + rest
    }

    /// ∂/∂v of [`Self::value`].
    pub fn slope(self, weights: &Weights) -> Vector {
        let Self { total, square, largest, sharpness } = self;
        let (norm, (heaviest, top)) = (weights.norm(), weights.heaviest());
        let records = weights.caps.records();
        if let Some(sharpness) = sharpness {
            let sum: f64 = weights.all().map(|q| (sharpness * (q - top)).exp()).sum();
            return Vector::from_fn(records, |index, _| {
                let q = weights.of(index);
                let share = (sharpness * (q - top)).exp() / sum;
                weights.rate(index) * (total - square * q / norm - largest * share)
            });
        }
        Vector::from_fn(records, |index, _| {
            let q = weights.of(index);
            let price = square * q / norm + if index == heaviest { largest } else { 0.0 };
            total * weights.caps.of(index) - weights.rate(index) * price
        })
    }

    /// The weights of least objective: of all records, or of the first ones where the last, the
    /// `held`, keep theirs. `losses` has ℓᵢ + d̂·\[source\] of those that are chosen.
    ///
    /// ‖q‖₂ is the least ‖q‖²/(2N) + N/2 over N, and log S the least S·e^(−z) + z − 1 over z. With N
    /// and z held, every record has an equation of its own; choosing N, z and the weights in turn
    /// lowers one convex function of them all.
    pub fn best_weights(self, caps: Caps, losses: &[f64], held: &[f64]) -> Weights {
        let mut weights = Weights::largest(caps);
        for (v, kept) in weights.v.as_mut_slice()[losses.len()..].iter_mut().zip(held) {
            *v = *kept;
        }
        let coupled = self.square > 0.0 || self.largest > 0.0;
        let mut last = (f64::NAN, f64::NAN);
        for _ in 0..if coupled { MOST_TURNS } else { 1 } {
            let (norm, peak) = (weights.norm(), self.peak(&weights));
            let near = |one: f64, other: f64| (one - other).abs() <= TURN_TOLERANCE * one.abs();
            if near(norm, last.0) && near(peak, last.1) {
                break;
            }
            last = (norm, peak);
            for (index, loss) in losses.iter().enumerate() {
                let share = self.best_share(caps.of(index), *loss, norm, peak);
                weights.v[index] = 1.0 / share.max(LEAST_SHARE);
            }
            if self.sharpness.is_none() && self.largest > 0.0 {
                self.level(&mut weights, losses, norm);
            }
        }
        weights
    }

    /// log Σ exp(μqᵢ) of the smooth objective.
    fn peak(self, weights: &Weights) -> f64 {
        let Some(sharpness) = self.sharpness else { return 0.0 };
        let (_, top) = weights.heaviest();
        sharpness * top + weights.all().map(|q| (sharpness * (q - top)).exp()).sum::<f64>().ln()
    }

    /// qᵢ/cᵢ where the slope of the objective in qᵢ is zero, or the end of \[0, 1\] towards which it
    /// falls. The function whose root is sought is convex and rises, so Newton's steps from its
    /// larger side come down to the root.
    fn best_share(self, cap: f64, loss: f64, norm: f64, peak: f64) -> f64 {
        let even = if norm > 0.0 { self.square * cap / norm } else { 0.0 };
        let newton = |upper: f64, at: &dyn Fn(f64) -> (f64, f64)| {
            let mut x = upper;
            for _ in 0..NEWTON_STEPS {
                let (value, slope) = at(x);
                let next = x - value / slope;
                if value <= 0.0 || next >= x || slope.is_nan() {
                    break;
                }
                x = next.max(0.0);
            }
            x
        };
        match self.sharpness {
            None => {
                let upper = (self.total / loss).sqrt().min(1.0);
                if even == 0.0 || upper.is_nan() {
                    return if upper.is_nan() { 1.0 } else { upper };
                }
                let at = |x: f64| {
                    let value = (loss + even * x) * x * x - self.total;
                    (value, (2.0 * loss + 3.0 * even * x) * x)
                };
                newton(upper, &at)
            }
            Some(sharpness) => {
                let steep = sharpness * cap;
                let at = |x: f64| {
                    let top = self.largest * (steep * x - peak).exp();
                    (loss - self.total + even * x + top, even + steep * top)
                };
                if at(0.0).0 >= 0.0 { 0.0 } else { newton(1.0, &at) }
            }
        }
    }

    /// Lowers the heaviest weights to one, where that is worth κ_∞.
    fn level(self, weights: &mut Weights, losses: &[f64], norm: f64) {
        let (caps, chosen) = (weights.caps, losses.len());
        let held = (chosen..caps.records()).map(|index| weights.of(index)).fold(0.0, f64::max);
        let side = |index: usize| usize::from(index >= caps.public_records);
        let of = |(index, loss): (usize, &f64)| (weights.of(index), *loss, side(index));
        let mut heavier: Vec<(f64, f64, usize)> = losses.iter().enumerate().map(of).collect();
        let top = heavier.iter().map(|(q, ..)| *q).fold(held, f64::max);
        // Whether one unit less of the largest weight costs more elsewhere than it is worth. Where
        // that is so, no lower level is asked about later.
        let dear = |level: f64| {
            let even = if norm > 0.0 { self.square * level / norm } else { 0.0 };
            let price = |cap: f64| self.total * (cap / level).powi(2);
            let prices = [caps.public, caps.private].map(price);
            let lowered = heavier.iter().filter(|(q, ..)| *q > level);
            let cost: f64 = lowered.map(|(_, loss, side)| prices[*side] - loss - even).sum();
            let dear = cost > self.largest;
            if dear {
                heavier.retain(|(q, ..)| *q > level);
            }
            dear
        };
        let level = crossing(held, top, dear);
        for index in 0..chosen {
            if weights.of(index) > level {
                weights.v[index] = caps.of(index) / level;
            }
        }
    }

    /// The sum of the three strengths: it bounds how fast a weight's price can be.
    pub fn strength(self) -> f64 {
        self.total + self.square + self.largest
    }
}

/// The nearest point with ‖w‖ ≤ `radius`.
pub fn into_ball(w: &mut Vector, radius: f64) {
    *w *= crate::numeric::projection::shrink_factor(w.norm(), radius);
}

/// Makes every entry at least `floor`; NaN becomes the floor.
pub fn above(v: &mut Vector, floor: f64) {
    v.apply(|v| *v = if *v >= floor { *v } else { floor });
}

/// β(z − Proj(z − ∇/β)), the projection being `project`: zero exactly at stationary points.
pub fn gradient_mapping(
    point: &Vector,
    gradient: &Vector,
    beta: f64,
    project: impl Fn(&mut Vector),
) -> Vector {
    let mut moved = point - gradient / beta;
    project(&mut moved);
    beta * (point - moved)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use halflight_testing as golden;

    fn reference(u: &str) -> Weights {
        let golden = golden::adaptation();
        let caps = Caps::new(golden.number("common.alpha"), 3, 2);
        let u = golden.vector(u);
        let v = Vector::from_fn(5, |i, _| caps.of(i) * u[i]);
        Weights { caps, v }
    }

    #[test]
    fn projection_and_gradient_mapping_agree_with_the_reference() {
        let golden = golden::adaptation();
        let radius = golden.number("projection.Lambda");
        let mut w = golden.vector("projection.w");
        into_ball(&mut w, radius);
        golden::assert_near(&w, &golden.vector("projection.w_proj"), 1e-12);
        let caps = reference("projection.u").caps;
        let lower = golden.vector("common.u_lower");
        let mut u = golden.vector("projection.u");
        let floor = |u: &mut Vector| {
            for i in 0..5 {
                let mut one = Vector::from_element(1, u[i]);
                above(&mut one, 1.0 / caps.of(i));
                u[i] = one[0];
            }
        };
        floor(&mut u);
        golden::assert_near(&u, &golden.vector("projection.u_proj"), 1e-10);
        golden::assert_near(&Vector::from_fn(5, |i, _| 1.0 / caps.of(i)), &lower, 1e-10);
        for (case, beta) in
            [("gradient_mapping_beta_0.25", 0.25), ("gradient_mapping_beta_2.0", 2.0)]
        {
            let case = golden::Golden(golden.0.get(case).unwrap().clone());
            let w =
                gradient_mapping(&golden.vector("common.w"), &case.vector("grad_w"), beta, |w| {
                    into_ball(w, radius);
                });
            golden::assert_near(&w, &case.vector("map_w"), 1e-10);
            let u =
                gradient_mapping(&golden.vector("common.u"), &case.vector("grad_u"), beta, floor);
            golden::assert_near(&u, &case.vector("map_u"), 1e-10);
            let norm = w.norm().hypot(u.norm());
            assert!((norm - case.number("norm")).abs() < 1e-10);
        }
    }

    #[test]
    fn no_exponent_overflows() {
        let weights = Weights::largest(Caps::new(0.5, 2, 2));
        let pulls = Pulls { total: 0.1, square: 0.2, largest: 1.0, sharpness: Some(1e6) };
        assert!(pulls.value(&weights).is_finite());
        assert!(pulls.slope(&weights).iter().all(|slope| slope.is_finite()));
    }

    proptest! {
        #[test]
        fn the_slope_is_the_slope_of_the_value(
            v in proptest::collection::vec(1.01..5.0_f64, 5),
            kinds in (0.0..1.0_f64, 0.0..1.0_f64, 0.0..1.0_f64, 0.5..8.0_f64),
        ) {
            let (total, square, largest, sharpness) = kinds;
            let weights = Weights { v: Vector::from_vec(v), ..reference("common.u") };
            for pulls in [
                Pulls { total, square, largest, sharpness: None },
                Pulls { total, square, largest, sharpness: Some(sharpness) },
            ] {
                let slope = pulls.slope(&weights);
                for index in 0..5 {
                    let tiny = 1e-6;
                    let shifted = |by: f64| {
                        let mut other = weights.clone();
                        other.v[index] += by;
                        pulls.value(&other)
                    };
                    let rise = (shifted(tiny) - shifted(-tiny)) / (2.0 * tiny);
                    prop_assert!((rise - slope[index]).abs() < 1e-6);
                }
            }
        }
    }
}
