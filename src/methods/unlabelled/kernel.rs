//! A moment in the coordinates of public records: bᵢ = xᵢᵀM₀xᵢ, the only part of M₀ that matching
//! needs.
//!
//! If a moment has more numbers than there are public records, d² > m, b is cheaper to release. b
//! is M₀ measured against the matrices xᵢxᵢᵀ, whose inner products are G_ij = (xᵢ·xⱼ)², so that
//! matching ([`super::matching`]) is, up to a constant,
//!
//! > min ½qᵀGq − b̃ᵀq + (c·m·σ/2)‖q − u‖²  over the simplex,
//!
//! and a step that moves weight between two records costs O(m) ([`Pairwise`]).
//!
//! *Release.* In an orthonormal basis of the records' span M₀ has the coordinates a = L⁻¹b,
//! LLᵀ = G, and
//!
//! > b̃ = L(a + σz) = b + N(0, σ²G)
//!
//! is distributed as if M̃₀ had been released and then projected onto the same records.
//!
//! *Sensitivity.* ‖L⁻¹Δb‖ is the length of a projection of ΔM₀: at most its Frobenius norm.
//! G may be singular, so L is that of G + jI: this lowers ‖L⁻¹Δb‖ and adds noise of the
//! variance σ²j, negligible next to σ²Gᵢᵢ. j also bounds what rounding does: ‖L⁻¹‖ ≤ 1/√j.

use std::sync::Arc;

use super::moment::frobenius_sensitivity;
use crate::memory;
use crate::numeric::pairwise::Pairwise;
use crate::numeric::positive::cholesky;
use crate::numeric::symmetric::quadratic_forms;
use crate::prelude::*;

/// j relative to the mean diagonal entry of G.
const JITTER: f64 = 1e-6;

/// The most public records for which the kernel form is chosen automatically: G is factored once,
/// at a cost of m³/3.
const MOST_RECORDS: usize = 3000;

#[derive(Debug)]
pub(super) struct Kernel {
    /// G
    gram: Matrix,
    /// L
    factor: Matrix,
}

/// The search for weights that match given forms.
#[derive(Debug, Clone)]
pub(super) struct FormSearch {
    kernel: Arc<Kernel>,
    /// b̃
    forms: Vector,
    pub descent: Pairwise,
}

/// Whether the kernel form is the cheaper one.
pub(super) fn pays(shape: &ProblemShape) -> bool {
    shape.dimension.pow(2) > shape.public_records && shape.public_records <= MOST_RECORDS
}

/// Refuses so many public records that G, its shifted copy and L take more memory than there is. For
/// the number that is chosen automatically they take 216 MB.
pub(super) fn fits_into_memory(records: usize) -> Result<()> {
    if records <= MOST_RECORDS {
        return Ok(());
    }
    let numbers = (records as u64).saturating_mul(records as u64);
    memory::check(numbers.saturating_mul(3 * size_of::<f64>() as u64)).map_err(|error| {
        error
            .within("the kernel form keeps a number for every two public records")
            .cure("choose form: \"dense\", or fewer public records, such as `public_records: 3000`")
    })
}

impl Kernel {
    pub fn new(features: &Matrix) -> Result<Self> {
        let m = features.ncols();
        let mut gram = Matrix::zeros(m, m);
        gram.gemm(1.0, &features.transpose(), features, 0.0);
        gram.apply(|dot| *dot *= *dot);
        gram.fill_lower_triangle_with_upper_triangle();
        let mut shifted = gram.clone();
        let jitter = JITTER * gram.trace() / m as f64;
        for i in 0..m {
            shifted[(i, i)] += jitter;
        }
        let factor = cholesky(shifted).ok_or_else(|| {
            Error::failed("the public records' kernel matrix cannot be factored")
                .cure("choose the dense form, or check the public features")
        })?;
        Ok(Self { gram, factor: factor.unpack() })
    }

    /// a, for any moment: the released vector.
    pub fn coordinates(&self, features: &impl ExampleColumns, moment: &Matrix) -> Vec<f64> {
        let forms = quadratic_forms(features, moment);
        // The diagonal of a Cholesky factor is positive, so there is a solution.
        self.factor.solve_lower_triangular(&forms).unwrap_or(forms).as_slice().to_vec()
    }

    /// b, from coordinates.
    fn forms(&self, coordinates: Vec<f64>) -> Vector {
        &self.factor * Vector::from_vec(coordinates)
    }

    /// From uniform weights; `regularisation` is c·m·σ.
    pub fn search(self: &Arc<Self>, coordinates: Vec<f64>, regularisation: f64) -> FormSearch {
        let forms = self.forms(coordinates);
        // The penalty has no slope at uniform weights.
        let slope = self.gram.column_mean() - &forms;
        let descent = Pairwise::from_uniform(slope, &self.gram, regularisation);
        FormSearch { kernel: Arc::clone(self), forms, descent }
    }
}

impl FormSearch {
    /// Makes at most `moves` moves.
    pub fn advance(&mut self, moves: u64) {
        for _ in 0..moves {
            if !self.descent.advance(&self.kernel.gram) {
                break;
            }
        }
    }

    /// The objective up to a constant: ½⟨q, ∇ − b̃⟩, for any regularisation.
    pub fn objective(&self) -> f64 {
        0.5 * self.descent.point.dot(&(&self.descent.gradient - &self.forms))
    }
}

/// Replace-one ℓ₂ sensitivity of the coordinates *as they are computed*. ‖b‖ has an error of at
/// most γr²·√tr G and the triangular solution as much again, both magnified by 1/√j.
pub(super) fn sensitivity(shape: &ProblemShape) -> f64 {
    let square = shape.bounds.feature_norm.powi(2);
    let m = shape.public_records;
    let steps = shape.private_records * shape.most_records + 3 * shape.dimension + m + 32;
    let magnified = (2.0 * m as f64 / JITTER).sqrt();
    frobenius_sensitivity(shape) + 4.0 * summation_error(steps) * magnified * square
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example;
    use crate::numeric::accelerated::{Accelerated, simplex_gap};
    use crate::unlabelled::matching::Matching;
    use crate::unlabelled::moment::bounded_moment;

    #[test]
    fn more_records_than_a_kernel_matrix_can_hold_are_refused() {
        fits_into_memory(100).unwrap();
        let error = fits_into_memory(100_000_000).unwrap_err().to_string();
        assert!(error.contains("every two public records") && error.contains("dense"), "{error}");
        assert!(fits_into_memory(usize::MAX).is_err());
    }

    #[test]
    fn it_is_the_same_problem_as_matching_the_moment() {
        let (_, public, private) = example::shifted(9, 40, 60, 2);
        let moment = bounded_moment(&private.features, 1.0);
        let kernel = Arc::new(Kernel::new(&public.features).unwrap());
        let coordinates = kernel.coordinates(&public.features, &moment);
        let mut search = kernel.search(coordinates, 1e-2);
        let matching = Matching { public: public.clone().into(), regularisation: 1e-2 };
        let start = search.clone();
        search.advance(2000);
        let mut other = Accelerated::from_uniform(40, matching.curvature());
        for _ in 0..4000 {
            other.advance(|q| matching.evaluate(&moment, q).1);
        }
        let (q, before) = (&search.descent.point, &start.descent.point);
        assert!((q - &other.point).amax() < 1e-7, "{:e}", (q - &other.point).amax());
        let (value, gradient) = matching.evaluate(&moment, q);
        let drop = matching.evaluate(&moment, before).0 - value;
        assert!((drop - (start.objective() - search.objective())).abs() < 1e-9);
        assert!((search.descent.gap() - simplex_gap(&gradient, q)).abs() < 1e-9);
        assert!((&gradient - &search.descent.gradient).amax() < 1e-9);
    }

    #[test]
    fn coordinates_give_the_forms_back_and_move_by_less_than_the_moment() {
        let (shape, public, private) = example::shifted(8, 30, 40, 3);
        let kernel = Kernel::new(&public.features).unwrap();
        let moment = bounded_moment(&private.features, 1.0);
        let forms = quadratic_forms(&public.features, &moment);
        let coordinates = kernel.coordinates(&public.features, &moment);
        assert!((kernel.forms(coordinates.clone()) - forms).amax() < 1e-10);
        let mut neighbour = private.features.clone();
        neighbour.set_column(7, &(-2.0 * private.features.column(9)));
        let other = bounded_moment(&neighbour, 1.0);
        let moved = Vector::from_vec(kernel.coordinates(&public.features, &other))
            - Vector::from_vec(coordinates);
        assert!(moved.norm() <= (&other - &moment).norm());
        assert!((&other - &moment).norm() <= sensitivity(&shape));
        assert!(sensitivity(&shape) < 1.01 * frobenius_sensitivity(&shape));
    }

    #[test]
    fn repeated_records_are_no_obstacle() {
        let (_, public, private) = example::shifted(4, 40, 40, 3);
        let mut features = public.features;
        let first = features.column(0).clone_owned();
        features.set_column(1, &first);
        features.column_mut(2).fill(0.0);
        let kernel = Kernel::new(&features).unwrap();
        let moment = bounded_moment(&private.features, 1.0);
        let forms = kernel.forms(kernel.coordinates(&features, &moment));
        assert!((forms - quadratic_forms(&features, &moment)).amax() < 1e-9);
    }
}
