//! Weights on public records whose moment matches a released one.
//!
//! > min ½‖M̃₀ − Σ qᵢxᵢxᵢᵀ‖²_F + (c·m·σ/2)‖q − u‖²  over the simplex (u uniform),
//!
//! in the dense form, on the moment itself. [`super::kernel`] has the same in the coordinates of
//! public records.

use std::sync::Arc;

use super::moment::difference;
use crate::numeric::symmetric::{quadratic_forms, weighted_outer_sum};
use crate::prelude::*;

/// Least coefficient of ‖q − u‖²: with almost no noise it keeps the weights unique.
const LEAST_REGULARISATION: f64 = 1e-3;

/// c·m·σ
pub(super) fn regularisation(strength: f64, public_records: usize, sigma: f64) -> f64 {
    (strength * public_records as f64 * sigma).max(LEAST_REGULARISATION)
}

/// The matching problem of given public records, for any moment.
pub(super) struct Matching {
    pub public: Arc<PublicData>,
    /// Coefficient of ½‖q − u‖².
    pub regularisation: f64,
}

impl Matching {
    pub fn labels(&self) -> &[f64] {
        self.public.target.as_deref().unwrap_or_default()
    }

    /// No smaller than the largest curvature.
    pub fn curvature(&self) -> f64 {
        gram_curvature(&self.public.features) + self.regularisation
    }

    fn uniform(&self) -> f64 {
        1.0 / self.public.len() as f64
    }

    /// (c·m·σ/2)‖q − u‖²
    pub fn penalty(&self, q: &Vector) -> f64 {
        let u = self.uniform();
        0.5 * self.regularisation * q.iter().map(|q| (q - u).powi(2)).sum::<f64>()
    }

    /// Adds its gradient.
    pub fn add_penalty_slope(&self, gradient: &mut Vector, q: &Vector) {
        let u = self.uniform();
        gradient.zip_apply(q, |gradient, q| *gradient += self.regularisation * (q - u));
    }

    /// Value and gradient.
    pub fn evaluate(&self, moment: &Matrix, q: &Vector) -> (f64, Vector) {
        let difference = difference(moment, &self.public.features, q);
        let mut gradient = -quadratic_forms(&self.public.features, &difference);
        self.add_penalty_slope(&mut gradient, q);
        (0.5 * difference.norm_squared() + self.penalty(q), gradient)
    }
}

/// An upper bound on the largest eigenvalue of G, G_ij = (xᵢ·xⱼ)².
///
/// G has no negative entry, so max (Gv)ᵢ/vᵢ bounds it for any positive v (Collatz–Wielandt), and
/// power iteration makes the bound sharp. Gv consists of quadratic forms of Σ vⱼxⱼxⱼᵀ, so G itself
/// is never formed.
pub(super) fn gram_curvature(features: &impl ExampleColumns) -> f64 {
    const ROUNDS: usize = 20;
    let mut v = Vector::from_element(features.count(), 1.0);
    let mut bound = f64::INFINITY;
    for _ in 0..ROUNDS {
        let image = quadratic_forms(features, &weighted_outer_sum(features, v.as_slice()));
        let ratios = image.iter().zip(v.iter()).filter(|(image, _)| **image > 0.0);
        bound = ratios.map(|(image, v)| image / v).fold(0.0, f64::max).min(bound);
        let largest = image.max();
        if largest <= 0.0 {
            return 0.0;
        }
        v = image / largest;
    }
    bound
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::numeric::accelerated::{Accelerated, simplex_gap};
    use crate::numeric::symmetric::{pack, packed_length, spectral_norm, unpack};
    use crate::unlabelled::moment::bounded_moment;
    use crate::{effective_sample, example};
    use halflight_testing as golden;

    fn unlabelled(features: Matrix) -> Arc<PublicData> {
        example::labelled(features, Vec::new()).into()
    }

    fn matched(matching: &Matching, moment: &Matrix, iterations: usize) -> Vector {
        let mut search = Accelerated::from_uniform(matching.public.len(), matching.curvature());
        for _ in 0..iterations {
            search.advance(|q| matching.evaluate(moment, q).1);
        }
        search.point
    }

    fn gap(matching: &Matching, moment: &Matrix, q: &Vector) -> f64 {
        simplex_gap(&matching.evaluate(moment, q).1, q)
    }

    #[test]
    fn the_best_frobenius_match_is_close_to_the_least_spectral_one_of_the_reference() {
        let golden = golden::discrepancy();
        let matching =
            Matching { public: unlabelled(golden.records("inputs.X")), regularisation: 1e-9 };
        let moment = golden.rows("M0");
        let q = matched(&matching, &moment, 2000);
        let gap = gap(&matching, &moment, &q);
        assert!(gap < 1e-10, "{gap:e}");
        let ours = spectral_norm(&difference(&moment, &matching.public.features, &q));
        let least = golden.number("dm_optimum.value");
        assert!(ours >= least - 1e-8 && ours < 1.3 * least, "{ours} {least}");
        // The reference's weights are feasible here, so they cannot be better.
        let theirs = golden.vector("dm_optimum.q");
        assert!(matching.evaluate(&moment, &q).0 < matching.evaluate(&moment, &theirs).0);
    }

    #[test]
    fn the_curvature_bound_is_sharp_and_never_too_small() {
        let (_, public, _) = example::shifted(5, 80, 20, 6);
        let gram = (public.features.transpose() * &public.features).map(|dot| dot * dot);
        let (bound, exact) = (gram_curvature(&public.features), spectral_norm(&gram));
        assert!(bound >= exact * (1.0 - 1e-12) && bound < 1.05 * exact, "{bound} {exact}");
        assert_eq!(gram_curvature(&Matrix::zeros(3, 4)), 0.0);
        // Orthogonal groups, where power iteration does not settle, and a null record.
        let groups = Matrix::from_columns(&[
            Vector::from_vec(vec![1.0, 0.0]),
            Vector::from_vec(vec![0.0, 0.5]),
            Vector::from_vec(vec![0.0, 0.5]),
            Vector::zeros(2),
        ]);
        assert!((gram_curvature(&groups) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn more_features_than_public_records_still_end_at_a_stationary_point() {
        let (_, public, private) = example::shifted(30, 12, 60, 2);
        let matching = Matching { public: public.into(), regularisation: 1e-3 };
        let moment = bounded_moment(&private.features, 1.0);
        let gap = gap(&matching, &moment, &matched(&matching, &moment, 500));
        assert!(gap < 1e-9, "{gap:e}");
    }

    /// The papers' setup: 10 features, 1000 public and 8000 private records, δ = 1/8000.
    #[test]
    fn in_the_papers_setup_the_discrepancy_falls_to_the_noise() {
        let (dimension, m, n) = (10, 1000, 8000);
        let mut generator = example::generator(11);
        let mut draw = |count: usize, spread: &dyn Fn(usize, usize) -> f64| {
            let mut x = Matrix::zeros(dimension, count);
            for i in 0..count {
                let z = example::normals(&mut generator, dimension);
                let z = Vector::from_fn(dimension, |k, _| spread(i, k) * z[k]);
                x.set_column(i, &z.normalize());
            }
            x
        };
        let wide = |k: usize| if k < 2 { 3.0 } else { 0.5 };
        let target = draw(n, &|_, k| wide(k));
        let source = draw(m, &|i, k| if i % 5 == 0 { wide(k) } else { 1.0 });
        let moment = bounded_moment(&target, 1.0);
        let uniform =
            spectral_norm(&difference(&moment, &source, &Vector::from_element(m, 1.0 / m as f64)));
        // μ of ε = 1, 4, 16 at δ = 1/8000.
        for (epsilon, mu) in [(1.0, 0.3195), (4.0, 1.0568), (16.0, 3.1740)] {
            let sigma = std::f64::consts::SQRT_2 / n as f64 / mu;
            let noise = sigma * example::normals(&mut generator, packed_length(dimension));
            let noisy = unpack((Vector::from_vec(pack(&moment)) + noise).as_slice(), dimension);
            let matching = Matching {
                public: unlabelled(source.clone()),
                regularisation: regularisation(0.1, m, sigma),
            };
            let mut search = Accelerated::from_uniform(m, matching.curvature());
            let first = gap(&matching, &noisy, &search.point);
            while search.iterations < 2000 && gap(&matching, &noisy, &search.point) > 1e-3 * first {
                search.advance(|q| matching.evaluate(&noisy, q).1);
            }
            let exact = spectral_norm(&difference(&moment, &source, &search.point));
            let noise = spectral_norm(&(&noisy - &moment));
            println!(
                "ε = {epsilon}: {exact:.4} (noise {noise:.4}, uniform {uniform:.3}) \
                 after {} iterations, {:.0} effective",
                search.iterations,
                effective_sample(search.point.iter().copied()),
            );
            assert!(search.iterations < 2000);
            assert!(exact < 1.5 * noise + 0.01 * uniform, "{exact} {noise}");
        }
    }

    proptest! {
        #[test]
        fn the_gradient_is_the_slope_of_the_value_and_the_gap_bounds_the_distance_to_the_minimum(
            seed in 0_u64..200,
            strength in 1e-3..1.0_f64,
        ) {
            let (_, public, private) = example::shifted(4, 15, 30, seed);
            let matching = Matching { public: public.into(), regularisation: strength };
            let moment = bounded_moment(&private.features, 1.0);
            let mut generator = example::generator(seed);
            let mut q = example::normals(&mut generator, 15);
            crate::numeric::projection::onto_simplex(&mut q);
            let way = example::normals(&mut generator, 15);
            let value = |q: &Vector| matching.evaluate(&moment, q).0;
            let slope = matching.evaluate(&moment, &q).1.dot(&way);
            let tiny = 1e-5;
            let rise = (value(&(&q + tiny * &way)) - value(&(&q - tiny * &way))) / (2.0 * tiny);
            prop_assert!((rise - slope).abs() < 1e-7 * (1.0 + slope.abs()));

            let best = matched(&matching, &moment, 300);
            let gap = gap(&matching, &moment, &q);
            prop_assert!(gap >= value(&q) - value(&best) - 1e-12);
            prop_assert!(value(&q) >= value(&best) - 1e-12);
        }
    }
}
