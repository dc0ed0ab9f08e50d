//! Steps of mirror descent on the simplex in the geometry of the p-norm,
//! p = 1 + 1/ln m, which is close to that of the 1-norm and still smooth.
//!
//! With the mirror map ψ(q) = ‖q‖²_p/(p − 1), a step of size η minimises
//! ⟨g, q⟩ + D(q, q₀)/η over the simplex, where D is one of
//!
//! * ψ(q − q₀), as Bassily, Mohri and Suresh print it: [`displacement`];
//! * the Bregman divergence of ψ, which the analysis of mirror descent is about:
//!   [`bregman`].
//!
//! Neither has a closed form. Both reduce to roots of monotone functions of one number.

use super::Vector;
use super::exponential::raise;

/// Far more than the digits of a double.
const HALVINGS: usize = 200;

/// p for `records` weights; 2 if there are so few that the formula is above 2.
pub fn exponent(records: usize) -> f64 {
    (1.0 + 1.0 / (records as f64).ln()).min(2.0)
}

/// ‖v‖_p without overflow or underflow on the way.
fn norm(v: impl Iterator<Item = f64> + Clone, p: f64) -> f64 {
    let largest = v.clone().fold(0.0, |largest: f64, x| largest.max(x.abs()));
    if largest == 0.0 {
        return 0.0;
    }
    largest * v.map(|x| (x.abs() / largest).powf(p)).sum::<f64>().powf(1.0 / p)
}

/// The zero of the decreasing `function` between `low` and `high`, by Chandrupatla's method:
/// inverse quadratic interpolation where it can be trusted, otherwise halving. The nearest end if
/// the root is outside.
fn root(low: f64, high: f64, mut function: impl FnMut(f64) -> f64) -> f64 {
    // The newest point and the other end of the bracket.
    let (mut x, mut other) = (low, high);
    let (mut at_x, mut at_other) = (function(x), function(other));
    if at_x <= 0.0 {
        return low;
    }
    if at_other > 0.0 {
        return high;
    }
    let mut share = 0.5;
    for _ in 0..HALVINGS {
        let next = x + share * (other - x);
        let at_next = function(next);
        let (before, at_before) = if (at_next > 0.0) == (at_x > 0.0) {
            (x, at_x)
        } else {
            let end = (other, at_other);
            (other, at_other) = (x, at_x);
            end
        };
        (x, at_x) = (next, at_next);
        let best = if at_x.abs() < at_other.abs() { x } else { other };
        let least = (2.0 * f64::EPSILON * best.abs() + f64::MIN_POSITIVE) / (other - x).abs();
        if least > 0.5 || at_x == 0.0 {
            return best;
        }
        let place = (x - other) / (before - other);
        let height = (at_x - at_other) / (at_before - at_other);
        let trusted = height.powi(2) < place && (1.0 - height).powi(2) < 1.0 - place;
        let guess = at_x / (at_other - at_x) * at_before / (at_other - at_before)
            + (before - x) / (other - x) * at_x / (at_before - at_x) * at_other
                / (at_before - at_other);
        share = if trusted && guess.is_finite() { guess.clamp(least, 1.0 - least) } else { 0.5 };
    }
    f64::midpoint(x, other)
}

/// Corrects for the last digit of a root, so that weights stay weights.
fn normalised(mut q: Vector) -> Vector {
    q.apply(|q| *q = q.max(0.0));
    let sum = q.sum();
    q / sum
}

/// argmin ⟨g, q⟩ + ‖q − q₀‖²_p/(η(p − 1)) over the simplex.
///
/// With gradients measured from the least in units of their spread D, so e ∈ [0, 1], the move z = q
/// − q₀ is max(−C·h, −q₀) for h = sign(e − u)·|e − u|^{1/(p−1)}, where C and u solve Σz = 0 and C =
/// (η(p − 1)D/2 · ‖z‖_p^{p−2})^{1/(p−1)}. For a given u the powers are fixed and Σz is piecewise
/// linear in C, so only one root has to be found, in u.
pub fn displacement(q: &Vector, gradient: &Vector, step: f64) -> Vector {
    let p = exponent(q.len());
    let (low, high) = (gradient.min(), gradient.max());
    if q.len() < 2 || low >= high || step <= 0.0 {
        return q.clone();
    }
    let equations = Displacement {
        q: q.as_slice(),
        power: q.map(|q| q.powf(p)),
        excess: gradient.map(|g| (g - low) / (high - low)),
        p,
        log_strength: (0.5 * step * (p - 1.0) * (high - low)).ln(),
    };
    // Above `level` more weight would be added than removed.
    let level = root(0.0, 1.0, |u| equations.directions(u).sum());
    let directions = equations.directions(level);
    if directions.amax() == 0.0 {
        // All the weight is at the least slope.
        return q.clone();
    }
    let log_scale = equations.log_scale_without_bounds(level, &directions);
    let scale = log_scale.exp();
    if directions.iter().zip(q).all(|(h, q)| scale * h <= *q) {
        return normalised(q - scale * directions);
    }
    let u = root(0.0, level, |u| equations.surplus(u, &equations.directions(u)));
    let directions = equations.directions(u);
    let scale = equations.balance(&directions);
    normalised(q.zip_map(&directions, |q, h| q - (scale * h).min(q)))
}

/// The equations of [`displacement`].
struct Displacement<'a> {
    q: &'a [f64],
    /// q^p
    power: Vector,
    /// e
    excess: Vector,
    p: f64,
    /// ln(η(p − 1)D/2)
    log_strength: f64,
}

impl Displacement<'_> {
    /// h, and 0 for entries without weight to lose.
    fn directions(&self, u: f64) -> Vector {
        let power = 1.0 / (self.p - 1.0);
        let directions = self.excess.iter().zip(self.q).map(|(e, q)| {
            let excess = e - u;
            if excess < 0.0 {
                -(-excess).powf(power)
            } else if *q > 0.0 {
                excess.powf(power)
            } else {
                0.0
            }
        });
        Vector::from_iterator(self.q.len(), directions)
    }

    /// ln C if no weight is used up.
    fn log_scale_without_bounds(&self, u: f64, directions: &Vector) -> f64 {
        let p = self.p;
        let sum: f64 =
            directions.iter().zip(&self.excess).map(|(h, e)| h.abs() * (e - u).abs()).sum();
        // ln ‖h‖_p, of |h|^p = |h|·|e − u|.
        let size = sum.ln() / p;
        (self.log_strength + (p - 2.0) * size) / (p - 1.0) / (1.0 - (p - 2.0) / (p - 1.0))
    }

    /// The C > 0 of Σz = 0, infinite if nothing receives weight. Newton's method from above: the
    /// removed weight is concave in C, so it ends after finitely many steps.
    fn balance(&self, directions: &Vector) -> f64 {
        let given: f64 = directions.iter().map(|h| (-h).max(0.0)).sum();
        let mut scale = f64::INFINITY;
        loop {
            let (mut used_up, mut rate) = (0.0, given);
            for (h, q) in directions.iter().zip(self.q) {
                if *h > 0.0 {
                    if scale * h >= *q { used_up += q } else { rate -= h }
                }
            }
            let next = if rate > 0.0 { used_up / rate } else { f64::INFINITY };
            if next >= scale || !next.is_finite() {
                return scale.min(next);
            }
            scale = next;
        }
    }

    /// ln C of the balance minus ln C of the size of the move; it decreases in u.
    fn surplus(&self, u: f64, directions: &Vector) -> f64 {
        let p = self.p;
        let scale = self.balance(directions);
        if !scale.is_finite() {
            return f64::INFINITY;
        }
        // |z|^p = |z|·C^{p−1}|e − u| where weight is left.
        let unit = scale.powf(p - 1.0);
        let mut sum = 0.0;
        for (k, (h, q)) in directions.iter().zip(self.q).enumerate() {
            let change = scale * h;
            sum += if change < *q {
                change.abs() * unit * (self.excess[k] - u).abs()
            } else {
                self.power[k]
            };
        }
        scale.ln() - (self.log_strength + (p - 2.0) / p * sum.ln()) / (p - 1.0)
    }
}

/// argmin ⟨g, q⟩ + D_ψ(q, q₀)/η over the simplex.
///
/// The gradient of ψ at q is (2/(p−1))·‖q‖^{2−p}q^{p−1}; that of the new point is the one of q₀,
/// minus ηg, plus a constant where q is positive. The constant is chosen so that q sums to 1.
pub fn bregman(q: &Vector, gradient: &Vector, step: f64) -> Vector {
    let p = exponent(q.len());
    if q.len() < 2 || q.sum() <= 0.0 {
        return q.clone();
    }
    let strength = 2.0 / (p - 1.0);
    let size = norm(q.iter().copied(), p);
    let dual =
        q.zip_map(gradient, |q, g| strength * size * (q.max(0.0) / size).powf(p - 1.0) - step * g);
    // With L the largest slope and rᵢ = (slopeᵢ/L)^{1/(p−1)}, the norm that the weights follow from
    // is that of r·slope, as the conjugate exponent is 1 + 1/(p − 1): one power per weight.
    let largest_dual = dual.max();
    let share = |dual: f64, largest: f64| ((dual - largest_dual) / largest + 1.0).max(0.0);
    let mut powers = q.clone();
    let enter = |largest: f64, powers: &mut Vector| {
        powers.zip_apply(&dual, |power, dual| *power = share(dual, largest));
        raise(powers.as_mut_slice(), 1.0 / (p - 1.0));
    };
    // What multiplies r, of Σ r·slope/L.
    let scale = |largest: f64, sum: f64| {
        let share = sum.powf((1.0 - p) / p);
        largest / strength / share * share.powf(1.0 / (p - 1.0))
    };
    let sum_above_one = |largest: f64| {
        enter(largest, &mut powers);
        let terms = powers.iter().zip(&dual);
        let products = terms.map(|(power, dual)| power * share(*dual, largest));
        1.0 - scale(largest, products.sum()) * powers.sum()
    };
    // For weights that sum to 1, ‖q‖_p is in [m^{1/p−1}, 1] and the largest in [1/m, 1].
    let records = q.len() as f64;
    let least = strength * records.powf((1.0 / p - 1.0) * (2.0 - p) - (p - 1.0));
    let largest = root(least, strength, sum_above_one);
    enter(largest, &mut powers);
    normalised(powers)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use halflight_testing as golden;

    #[test]
    fn both_steps_agree_with_the_reference() {
        let golden = golden::discrepancy();
        let q = golden.vector("inputs.q");
        assert!((exponent(q.len()) - golden.number("inputs.p_md")).abs() < 1e-12);
        let step = golden.number("inputs.eta_md");
        let near = |ours: Vector, entry: &str| {
            golden::assert_near(&ours, &golden.vector(&format!("{entry}.q_next")), 1e-10);
        };
        near(displacement(&q, &golden.vector("md_prox_printed.grad"), step), "md_prox_printed");
        let clamped = golden.vector("md_prox_clamped.grad");
        let step = golden.number("md_prox_clamped.eta");
        near(displacement(&q, &clamped, step), "md_prox_clamped");
        let gradient = golden.vector("md_prox_bregman.grad");
        let step = golden.number("md_prox_bregman.eta");
        near(bregman(&q, &gradient, step), "md_prox_bregman");
    }

    #[test]
    fn one_record_keeps_all_the_weight_and_equal_slopes_move_nothing() {
        let alone = Vector::from_element(1, 1.0);
        assert_eq!(displacement(&alone, &alone, 1.0), alone);
        assert_eq!(bregman(&alone, &alone, 1.0), alone);
        let q = Vector::from_vec(vec![0.5, 0.25, 0.25]);
        let level = Vector::from_element(3, 7.0);
        assert_eq!(displacement(&q, &level, 1.0), q);
        assert!((bregman(&q, &level, 1.0) - &q).amax() < 1e-12);
    }

    fn power(v: &Vector, p: f64) -> f64 {
        norm(v.iter().copied(), p).powi(2) / (p - 1.0)
    }

    proptest! {
        #[test]
        fn no_point_of_the_simplex_is_better_than_either_step(
            slopes in proptest::collection::vec(-3.0..3.0_f64, 2..12),
            weights in proptest::collection::vec(0.0..1.0_f64, 12),
            other in proptest::collection::vec(0.001..1.0_f64, 12),
            log_step in -4.0..3.0_f64,
        ) {
            let m = slopes.len();
            let (g, step, p) = (Vector::from_vec(slopes), f64::exp(log_step), exponent(m));
            // Some weights are zero, but not all.
            let simplex = |v: &[f64]| {
                let v = Vector::from_column_slice(&v[..m]);
                let least = 0.3 * v.max();
                normalised(v.map(|v| if v < least { 0.0 } else { v + 1e-9 }))
            };
            let (q, other) = (simplex(&weights), simplex(&other));
            let slope = |q: &Vector| {
                let size = norm(q.iter().copied(), p);
                q.map(|x| 2.0 / (p - 1.0) * size * (x / size).powf(p - 1.0))
            };
            let printed = |v: &Vector| step * g.dot(v) + power(&(v - &q), p);
            let divergence =
                |v: &Vector| step * g.dot(v) + power(v, p) - power(&q, p) - slope(&q).dot(&(v - &q));
            let (one, two) = (displacement(&q, &g, step), bregman(&q, &g, step));
            for (ours, objective) in
                [(&one, &printed as &dyn Fn(&Vector) -> f64), (&two, &divergence)]
            {
                prop_assert!((ours.sum() - 1.0).abs() < 1e-12 && ours.min() >= 0.0);
                for share in [1.0, 0.3, 0.01, 1e-4] {
                    let near = (1.0 - share) * ours + share * &other;
                    prop_assert!(objective(ours) <= objective(&near) + 1e-10, "{} {}", ours, near);
                }
            }
        }
    }
}
