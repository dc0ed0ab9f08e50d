//! Steps of mirror descent on the simplex in the geometry of the p-norm,
//! p = 1 + 1/ln m, which is close to that of the 1-norm and still smooth.
//!
//! With the mirror map ψ(q) = ‖q‖²_p/(p − 1), a step of size η minimises
//! ⟨g, q⟩ + D(q, q₀)/η over the simplex, where D is one of
//!
//! * ψ(q − q₀), as [A] prints it: [`displacement`];
//! * the Bregman divergence of ψ, which the analysis of mirror descent is about:
//!   [`bregman`].
//!
//! Neither has a closed form. Both reduce to roots of monotone functions of one number.

use super::Vector;

/// Far more than the digits of a double.
const HALVINGS: usize = 200;

/// p for `records` weights; 2 where so few leave the formula above it.
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

/// Where the falling `function` passes zero between `low` and `high`, by Chandrupatla's
/// method: inverse quadratic interpolation where it can be trusted, else halving. The end
/// next to the root if it lies outside.
fn root(low: f64, high: f64, function: impl Fn(f64) -> f64) -> f64 {
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

/// Makes up for what the last digit of a root leaves, so that weights stay weights.
fn normalised(mut q: Vector) -> Vector {
    q.apply(|q| *q = q.max(0.0));
    let sum = q.sum();
    q / sum
}

/// argmin ⟨g, q⟩ + ‖q − q₀‖²_p/(η(p − 1)) over the simplex.
///
/// Where q is positive, z = q − q₀ satisfies 2‖z‖^{2−p}·|z|^{p−1}·sign z = −η(p−1)(g + ν).
/// For a fixed s in the place of ‖z‖ the sum of z falls in ν, which gives ν(s); the norm
/// of that z falls in s (more slowly than s rises), which gives s.
pub fn displacement(q: &Vector, gradient: &Vector, step: f64) -> Vector {
    let p = exponent(q.len());
    let (low, high) = (gradient.min(), gradient.max());
    if q.len() < 2 || low >= high || step <= 0.0 {
        return q.clone();
    }
    let strength = 0.5 * step * (p - 1.0);
    let moved = |s: f64, nu: f64| {
        let (strength, power) = (strength * s.powf(p - 2.0), 1.0 / (p - 1.0));
        q.zip_map(gradient, |q, g| {
            let pull = strength * (g + nu);
            (-pull.signum() * pull.abs().powf(power)).max(-q)
        })
    };
    let balanced = |s: f64| {
        let nu = root(-high, -low, |nu| moved(s, nu).sum());
        moved(s, nu)
    };
    // No two points of the simplex are further apart than 2 in any p-norm, p ≥ 1.
    // Of logarithms, because their difference is close to a straight line.
    let log_s = root(-700.0, 2.0_f64.ln(), |log_s| {
        norm(balanced(log_s.exp()).iter().copied(), p).ln() - log_s
    });
    normalised(q + balanced(log_s.exp()))
}

/// argmin ⟨g, q⟩ + D_ψ(q, q₀)/η over the simplex.
///
/// The gradient of ψ at q is (2/(p−1))·‖q‖^{2−p}q^{p−1}; the new point's is that of q₀ less
/// ηg plus a constant where q is positive, and the constant is the one whose q sums to 1.
pub fn bregman(q: &Vector, gradient: &Vector, step: f64) -> Vector {
    let p = exponent(q.len());
    if q.len() < 2 || q.sum() <= 0.0 {
        return q.clone();
    }
    let strength = 2.0 / (p - 1.0);
    let size = norm(q.iter().copied(), p);
    let dual =
        q.zip_map(gradient, |q, g| strength * size * (q.max(0.0) / size).powf(p - 1.0) - step * g);
    let conjugate = p / (p - 1.0);
    let at = |constant: f64| {
        let slope = dual.map(|dual| (dual + constant).max(0.0));
        let size = norm(slope.iter().copied(), conjugate) / strength;
        if size > 0.0 {
            slope.map(|slope| size * (slope / (strength * size)).powf(1.0 / (p - 1.0)))
        } else {
            slope
        }
    };
    // ‖q‖₁ ≥ ‖q‖_p, and 1 = ‖q‖₁ ≤ m·max q: the largest slope lies between 0 and this.
    let widest = strength * 2.0;
    let constant = root(-dual.max(), widest - dual.max(), |constant| 1.0 - at(constant).sum());
    normalised(at(constant))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::numeric::golden;

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
            let simplex = |v: &[f64]| normalised(Vector::from_column_slice(&v[..m]).add_scalar(1e-3));
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
