//! Labelled discrepancy: how far apart the losses of two datasets can be.
//!
//! > d̂ = sup over ‖w − w₀‖ ≤ ρ of |L_priv(w) − L_pub(w)|,  L(w) = mean of (x·w − y)²
//!
//! L is quadratic, so both signs are trust-region problems and are solved exactly. Over the whole
//! ball (w₀ = 0, ρ = Λ) d̂ is 10 to 1000 times the losses themselves and says nothing. Around the
//! public solution it tells how much worse a guide the public data may be there.
//!
//! *Sensitivity.* On the ball every loss lies in [0, B], B = (r(‖w₀‖ + ρ) + y_max)², so replacing
//! one of n private records moves L_priv(w) by at most B/n for every w at once, and with it the
//! supremum. The bounds are enforced record by record.

use crate::data::Bounds;
use crate::numeric::columns::length_of;
use crate::numeric::least_squares::NormalEquations;
use crate::numeric::projection::shrink_factor;
use crate::numeric::trust_region::maximum;
use crate::prelude::*;

/// The possible error of the eigendecomposition, in units of B.
const SOLVER_ROUNDING: f64 = 1e-11;

/// The mean squared loss of a dataset as a function of the weights: wᵀCw − 2b·w + c.
#[derive(Debug, Clone)]
pub struct Risk {
    /// C and b
    equations: NormalEquations,
    /// c
    constant: f64,
}

impl Risk {
    /// `None` for data without labels.
    pub fn of<F: ExampleColumns>(data: &Dataset<F>) -> Option<Self> {
        Self::bounded(data, Bounds { feature_norm: f64::INFINITY, label: f64::INFINITY })
    }

    /// With every record brought into `bounds`; one that is not finite is ignored.
    pub(super) fn bounded<F: ExampleColumns>(data: &Dataset<F>, bounds: Bounds) -> Option<Self> {
        let target = data.target.as_ref().filter(|target| target.len() == data.len())?;
        let share = 1.0 / data.len() as f64;
        let mut weights = Vec::with_capacity(data.len());
        let mut scaled = Vec::with_capacity(data.len());
        let mut constant = 0.0;
        data.features.each(|at, x| {
            let y = target[at];
            // (f·x·w − y)² = f²(x·w − y/f)²
            let factor = shrink_factor(length_of(x), bounds.feature_norm);
            let counts = factor > 0.0 && x.iter().all(|x| x.is_finite()) && y.is_finite();
            let counts = counts || planted(Fault::NonFinite);
            let unclipped = planted(Fault::UnclippedLabel);
            let label = if unclipped { f64::INFINITY } else { bounds.label };
            let y = if counts { y.clamp(-label, label) } else { 0.0 };
            let factor = if counts { factor } else { 0.0 };
            weights.push(share * factor.powi(2));
            scaled.push(if counts { y / factor } else { 0.0 });
            constant += share * y.powi(2);
        });
        Some(Self {
            equations: NormalEquations::weighted(&data.features, &scaled, &weights),
            constant,
        })
    }

    /// Every loss times `factor`, such as the share of these records among all.
    #[must_use]
    pub fn times(mut self, factor: f64) -> Self {
        self.equations.gram *= factor;
        self.equations.moment *= factor;
        self.constant *= factor;
        self
    }

    /// The sum with another risk, if there is one.
    #[must_use]
    pub fn plus(mut self, other: Option<Self>) -> Self {
        if let Some(other) = other {
            self.equations.gram += other.equations.gram;
            self.equations.moment += other.equations.moment;
            self.constant += other.constant;
        }
        self
    }

    /// L(w)
    pub fn at(&self, w: &Vector) -> f64 {
        let NormalEquations { gram, moment } = &self.equations;
        w.dot(&(gram * w)) - 2.0 * moment.dot(w) + self.constant
    }
}

/// sup over ‖w − centre‖ ≤ radius of L_ours(w) − L_theirs(w), and the point where it is attained.
/// `None` if the data contain NaN.
pub fn excess(ours: &Risk, theirs: &Risk, centre: &Vector, radius: f64) -> Option<(f64, Vector)> {
    let curvature: Matrix = &ours.equations.gram - &theirs.equations.gram;
    let pull = &curvature * centre - (&ours.equations.moment - &theirs.equations.moment);
    let there = maximum(&curvature, &pull, radius)?;
    let value = there.value + ours.at(centre) - theirs.at(centre);
    Some((value, centre + there.argument))
}

/// d̂
pub fn discrepancy(ours: &Risk, theirs: &Risk, centre: &Vector, radius: f64) -> Option<f64> {
    let (above, _) = excess(ours, theirs, centre, radius)?;
    let (below, _) = excess(theirs, ours, centre, radius)?;
    Some(above.max(below))
}

/// B
pub(super) fn largest_loss(bounds: Bounds, centre: &Vector, radius: f64) -> f64 {
    (bounds.feature_norm * (centre.norm() + radius) + bounds.label).powi(2)
}

/// The sensitivity of the discrepancy *as it is computed*, under either neighbour.
pub(super) fn sensitivity(shape: &ProblemShape, centre: &Vector, radius: f64) -> f64 {
    let n = shape.private_records;
    let rounding = summation_error(n + shape.dimension + 16) + SOLVER_ROUNDING;
    largest_loss(shape.bounds, centre, radius) * (1.0 / n as f64 + 2.0 * rounding)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::example;
    use halflight_testing as golden;

    fn risk(golden: &golden::Golden, case: &str, part: &str) -> Risk {
        let x = golden.records(&format!("{case}.X{part}"));
        let y = golden.vector(&format!("{case}.y{part}"));
        Risk::of(&example::labelled(x, y.as_slice().to_vec())).unwrap()
    }

    #[test]
    fn both_signs_and_their_arguments_agree_with_the_reference_at_three_radii() {
        let golden = golden::adaptation();
        for (case, radius) in [
            ("discrepancy_Lambda_0.5", 0.5),
            ("discrepancy_Lambda_1.0", 1.0),
            ("discrepancy_Lambda_3.0", 3.0),
        ] {
            // Keys of this file contain dots, so `path` cannot find them.
            let case = golden::Golden(golden.0.get(case).unwrap().clone());
            let nested = golden::Golden(serde_json::json!({ "case": case.0 }));
            let (ours, theirs) = (risk(&nested, "case", "priv"), risk(&nested, "case", "pub"));
            let origin = Vector::zeros(2);
            let (value, at) = excess(&ours, &theirs, &origin, radius).unwrap();
            assert!((value - case.number("sup_priv_minus_pub")).abs() < 1e-12);
            golden::assert_near(&at, &case.vector("argmax"), 1e-10);
            let (value, at) = excess(&theirs, &ours, &origin, radius).unwrap();
            assert!((value - case.number("sup_pub_minus_priv")).abs() < 1e-12);
            golden::assert_near(&at, &case.vector("argmax_minus"), 1e-10);
            let both = discrepancy(&ours, &theirs, &origin, radius).unwrap();
            assert!((both - case.number("discrepancy")).abs() < 1e-12);
        }
    }

    #[test]
    fn around_the_public_solution_it_is_far_smaller_than_over_the_whole_ball() {
        let (_, public, private) = example::shifted(6, 200, 150, 4);
        let (ours, theirs) = (Risk::of(&private).unwrap(), Risk::of(&public).unwrap());
        let w = crate::baselines::reference::ridge_solution(&public, 1e-5).unwrap();
        let local = discrepancy(&ours, &theirs, &w, 0.1).unwrap();
        let whole = discrepancy(&ours, &theirs, &Vector::zeros(6), 10.0).unwrap();
        assert!(local >= (ours.at(&w) - theirs.at(&w)).abs());
        assert!(whole > 20.0 * local, "{whole} {local}");
        let none = discrepancy(&ours, &ours, &w, 3.0).unwrap();
        assert!(none.abs() < 1e-14);
    }

    #[test]
    fn opposite_records_nearly_attain_the_sensitivity() {
        // One dimension, w up to 1.5: losses range over [0, 2.5²].
        let n = 20;
        let at = |x: f64, y: f64| {
            let features = Matrix::from_fn(1, n, |_, i| if i == 0 { x } else { 0.0 });
            let target = (0..n).map(|i| if i == 0 { y } else { 0.0 }).collect();
            example::labelled(features, target)
        };
        let shape = ProblemShape {
            private_records: n,
            most_records: 1,
            joint: None,
            public_records: n,
            dimension: 1,
            bounds: Bounds { feature_norm: 1.0, label: 1.0 },
            private_labels: true,
            classes: Vec::new(),
            start: None,
        };
        let centre = Vector::from_vec(vec![1.0]);
        let theirs = Risk::of(&at(0.0, 0.0)).unwrap();
        let value =
            |data: &Dataset| discrepancy(&Risk::of(data).unwrap(), &theirs, &centre, 0.5).unwrap();
        let moved = value(&at(1.0, -1.0)) - value(&at(0.0, 0.0));
        let allowed = sensitivity(&shape, &centre, 0.5);
        assert!(moved <= allowed && moved > 0.999 * allowed, "{moved} {allowed}");
    }

    proptest! {
        #[test]
        fn no_pair_of_neighbours_moves_it_by_more_than_the_sensitivity(
            x in proptest::collection::vec(-3.0..3.0_f64, 6),
            y in proptest::collection::vec(-9.0..9.0_f64, 2),
            radius in 0.0..2.0_f64,
        ) {
            let (shape, public, private) = example::shifted(3, 30, 25, 5);
            let centre = crate::baselines::reference::ridge_solution(&public, 1e-5).unwrap();
            let theirs = Risk::of(&public).unwrap();
            let with = |x: &[f64], y: f64| {
                let mut data = private.clone();
                data.features.set_column(0, &Vector::from_column_slice(x));
                data.target.as_mut().unwrap()[0] = y;
                let ours = Risk::bounded(&data, shape.bounds).unwrap();
                discrepancy(&ours, &theirs, &centre, radius).unwrap()
            };
            let moved = (with(&x[..3], y[0]) - with(&x[3..], y[1])).abs();
            prop_assert!(moved <= sensitivity(&shape, &centre, radius));
        }

        #[test]
        fn no_model_of_the_ball_tells_the_datasets_further_apart(
            direction in proptest::collection::vec(-1.0..1.0_f64, 3),
            radius in 0.0..2.0_f64,
        ) {
            let (_, public, private) = example::shifted(3, 30, 25, 6);
            let (ours, theirs) = (Risk::of(&private).unwrap(), Risk::of(&public).unwrap());
            let centre = Vector::from_vec(vec![0.3, -0.2, 0.1]);
            let w = &centre + radius * Vector::from_vec(direction).normalize();
            let apart = (ours.at(&w) - theirs.at(&w)).abs();
            prop_assert!(apart <= discrepancy(&ours, &theirs, &centre, radius).unwrap() + 1e-10);
        }
    }
}
