//! The leading span of a batch of gradients, and how two batches relate.
//!
//! With K = GGᵀ (m × m, formed without G where layers are dense, and not formed at all where that
//! is cheaper) and its leading eigenpairs U, S², the right singular vectors are V = GᵀUS⁻¹: k
//! combinations of gradients. So Σcos²θ = ‖V_aᵀV_b‖² needs no third Gram matrix, and the energy of
//! any record inside a span is ‖Vᵀg‖². Everything is accumulated in double precision: at s₁/s_k =
//! 10³ single precision has no correct digits left.
//!
//! The gradients themselves may be kept in single precision. Rounding adds independent errors of
//! size e = u‖G‖/√(mp), with u ≈ 3.5·10⁻⁸. They turn the span by a small angle with two parts. The
//! directions outside all gradients add about e√p/s_j for direction j. Each pair of a direction i
//! inside and a direction j outside adds about e/(s_i − s_j). Together this is about
//! u‖G‖(√(k/m)/s_k + √(2k/(mp))/(s_k − s_{k+1})), the *blur*. Where it is too large, the gradients
//! are computed again in doubles.

use crate::error::{Error, Result};
use crate::model::Gradients;
use crate::numeric::angles::{distance, singular_values, squared_lengths};
use crate::numeric::leading::ANGLE;
use crate::numeric::parallel::at_once;
use crate::numeric::tall::Many;
use crate::numeric::{Matrix, Vector};

/// Directions with less than this share of the largest eigenvalue are rounding noise.
const NOTHING: f64 = 1e-12;

/// Angles with a smaller sine are computed from it, because their cosines lose the relevant digits.
const NEAR: f64 = 0.01;

/// Larger batches are processed one after another, to save memory.
pub const MOST_AT_ONCE: usize = 5000;

/// k directions in the space of parameters.
#[derive(Debug, Clone, PartialEq)]
pub struct Subspace {
    /// p × k, orthonormal columns.
    basis: Matrix,
    /// λ₁ ≥ λ₂ ≥ …, and one more than there are directions if there is one.
    values: Vec<f64>,
    /// As in [`Lead`].
    blur: f64,
}

/// The leading directions of a batch, known as combinations of its gradients.
#[derive(Debug)]
pub struct Lead<'a, T: Many = f64> {
    gradients: &'a Gradients<T>,
    /// US⁻¹, m × k.
    coefficients: Matrix,
    /// As in [`Subspace`].
    values: Vec<f64>,
    /// ‖G‖²
    whole: f64,
    /// About the angle by which the rounding of the gradients turned the directions.
    blur: f64,
}

/// The scores of a candidate's span for the private gradients.
#[derive(Debug, Clone, PartialEq)]
pub struct SpanScore {
    /// √(Σ sin²θ)/√k in [0, 1].
    pub distance: f64,
    /// tr(VᵀAV)/tr(A) in [0, 1].
    pub energy: f64,
    /// The principal angles, smallest first.
    pub angles: Vec<f64>,
}

impl Subspace {
    /// The span of the `directions` leading right singular vectors; or fewer if there are no more.
    pub fn of<T: Many>(gradients: &Gradients<T>, directions: usize) -> Result<Self> {
        let lead = Lead::of(gradients, directions)?;
        let basis = gradients.combinations(&lead.coefficients);
        Ok(Self { basis, values: lead.values, blur: lead.blur })
    }

    /// Whether gradients in doubles would give practically the same directions.
    pub fn is_sharp(&self) -> bool {
        self.blur <= ANGLE
    }

    /// Number of directions of the subspace.
    pub fn rank(&self) -> usize {
        self.basis.ncols()
    }

    pub fn basis(&self) -> &Matrix {
        &self.basis
    }

    /// The subspace of at most this many directions.
    pub fn first(&self, directions: usize) -> Self {
        let rank = self.rank().min(directions);
        Self {
            basis: self.basis.columns(0, rank).into_owned(),
            values: self.values[..self.values.len().min(rank + 1)].to_vec(),
            blur: self.blur,
        }
    }

    /// How much, relatively, the last eigenvalue inside is above the first outside: near 0, chance
    /// decides which directions are inside. 1 if none is outside.
    pub fn eigengap(&self) -> f64 {
        match self.values.get(self.rank()) {
            Some(outside) => 1.0 - outside.max(0.0) / self.values[self.rank() - 1],
            None => 1.0,
        }
    }

    /// √(Σ sin²θ)/√k to another span, where k is the number of directions of this one. Directions
    /// that the other lacks count as right angles.
    pub fn distance(&self, other: &Self) -> f64 {
        let k = self.rank();
        let other = other.first(k);
        let lacking = (k - other.rank()) as f64;
        let apart = distance(&self.basis, &other.basis).powi(2);
        ((lacking + apart) / k as f64).clamp(0.0, 1.0).sqrt()
    }

    /// ‖Vᵀgᵢ‖² of every gradient.
    pub fn inside<T: Many>(&self, gradients: &Gradients<T>) -> Vector {
        squared_lengths(&gradients.project(&self.basis))
    }

    /// The share of every single gradient that is inside, in [0, 1]; 0 for a zero gradient.
    pub fn shares<T: Many>(&self, gradients: &Gradients<T>) -> Vec<f64> {
        let norms = gradients.squared_norms();
        let share = |(inside, norm): (&f64, &f64)| {
            let share = inside / norm;
            if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 }
        };
        self.inside(gradients).iter().zip(&norms).map(share).collect()
    }
}

/// The leading directions of one batch and the span of another.
pub fn lead_and_span<'a, T: Many>(
    private: &'a Gradients<T>,
    public: &Gradients<T>,
    directions: usize,
) -> (Result<Lead<'a, T>>, Result<Subspace>) {
    let (lead, span) = (|| Lead::of(private, directions), || Subspace::of(public, directions));
    // Each holds a Gram matrix.
    if private.examples() > MOST_AT_ONCE { (lead(), span()) } else { at_once(lead, span) }
}

impl<'a, T: Many> Lead<'a, T> {
    /// The `directions` leading right singular vectors; fewer if there are no more.
    pub fn of(gradients: &'a Gradients<T>, directions: usize) -> Result<Self> {
        let found = gradients.leading(directions).ok_or_else(|| {
            Error::failed("a gradient is not made of finite numbers")
                .cure("check the features for missing or infinite values")
        })?;
        let largest = found.values.first().copied().unwrap_or(0.0);
        let counts = |value: f64| value > NOTHING * largest && value > 0.0;
        let rank = found.values.iter().take_while(|value| counts(**value)).count();
        if rank == 0 {
            return Err(Error::failed("all gradients are zero: the records span no direction")
                .cure("check that the features are not all the same, or choose another model"));
        }
        let mut coefficients = found.vectors.columns(0, rank).into_owned();
        for (mut column, value) in coefficients.column_iter_mut().zip(&found.values) {
            column /= value.sqrt();
        }
        let values: Vec<f64> = found.values.into_iter().chain(found.next).take(rank + 1).collect();
        let whole = gradients.squared_norms().iter().sum();
        let blur = Self::blur(gradients, &values, rank, whole);
        Ok(Self { gradients, coefficients, values, whole, blur })
    }

    fn blur(gradients: &Gradients<T>, values: &[f64], rank: usize, whole: f64) -> f64 {
        let rounding = gradients.rounding();
        if rounding == 0.0 {
            return 0.0;
        }
        let singular = |index: usize| values.get(index).map_or(0.0, |it| it.max(0.0).sqrt());
        let (last, next) = (singular(rank - 1), singular(rank));
        let (k, m) = (rank as f64, gradients.examples() as f64);
        let pairs = m * gradients.parameters() as f64;
        let turned = (k / m).sqrt() / last + (2.0 * k / pairs).sqrt() / (last - next);
        rounding * whole.sqrt() * turned
    }

    /// As [`Subspace::is_sharp`].
    pub fn is_sharp(&self) -> bool {
        self.blur <= ANGLE
    }

    /// Number of leading directions.
    pub fn rank(&self) -> usize {
        self.coefficients.ncols()
    }

    /// The scores of `candidate` for these gradients.
    ///
    /// Coordinates of the gradients inside the candidate's span V, which give the energy, also give the
    /// cosines of the principal angles: VᵀA = WΣZᵀ with A = GᵀUS⁻¹, which need not be formed. Small
    /// angles need sines: those of the part outside A of the first columns of VW, VW − AZΣ.
    pub fn score(&self, candidate: &Subspace) -> SpanScore {
        let coordinates = self.gradients.project(&candidate.basis);
        // A lead has a direction, so not all gradients are zero.
        let energy = (coordinates.norm_squared() / self.whole).clamp(0.0, 1.0);
        let k = self.rank();
        let kept = candidate.rank().min(k);
        let found = (coordinates.rows(0, kept) * &self.coefficients).svd(true, true);
        let mut order: Vec<usize> = (0..kept).collect();
        order.sort_by(|a, b| found.singular_values[*b].total_cmp(&found.singular_values[*a]));
        let cosines: Vec<f64> = order.iter().map(|index| found.singular_values[*index]).collect();
        let near =
            cosines.iter().take_while(|cosine| 1.0 - *cosine * *cosine < NEAR * NEAR).count();
        let mut sines: Vec<f64> =
            cosines.iter().map(|cosine| (1.0 - cosine * cosine).max(0.0).sqrt()).collect();
        let mut angles: Vec<f64> = cosines.iter().map(|cosine| cosine.min(1.0).acos()).collect();
        if let (Some(left), Some(right)) = (&found.u, &found.v_t)
            && near > 0
        {
            let left = left.select_columns(&order[..near]);
            let mut right = right.select_rows(&order[..near]).transpose();
            for (mut column, cosine) in right.column_iter_mut().zip(&cosines) {
                column *= *cosine;
            }
            let inside = self.gradients.combinations(&(&self.coefficients * right));
            let outside = candidate.basis.columns(0, kept) * left - inside;
            for (index, sine) in singular_values(&outside).into_iter().rev().enumerate() {
                sines[index] = sine.clamp(0.0, 1.0);
                angles[index] = sines[index].asin();
            }
        }
        // Directions that the candidate lacks count as right angles.
        let apart = (k - kept) as f64 + sines.iter().map(|sine| sine * sine).sum::<f64>();
        SpanScore { distance: (apart / k as f64).clamp(0.0, 1.0).sqrt(), energy, angles }
    }
}

#[cfg(test)]
mod tests {
    use rand::rngs::ChaCha20Rng;
    use rand::{RngExt, SeedableRng};
    use serde_json::Value;

    use super::*;
    use crate::data::column::Column;
    use crate::data::read::{Reading, read_bytes};
    use crate::model::gradients::Contribution;
    use crate::model::{Activation, Architecture, Classifier, ExampleLabels};
    use halflight_testing as golden;

    /// The principal angles, smallest first. Small ones are computed from their sines, large ones
    /// from their cosines: each inverse function loses half of the digits where the function is
    /// flat.
    fn principal_angles(a: &Matrix, b: &Matrix) -> Vec<f64> {
        let cosines = singular_values(&a.tr_mul(b));
        let sines = singular_values(&(b - a * a.tr_mul(b)));
        let angle = |(cosine, sine): (&f64, &f64)| {
            if *cosine > std::f64::consts::FRAC_1_SQRT_2 {
                sine.clamp(0.0, 1.0).asin()
            } else {
                cosine.clamp(0.0, 1.0).acos()
            }
        };
        cosines.iter().zip(sines.iter().rev()).map(angle).collect()
    }

    /// Gradients that are given outright.
    fn gradients(columns: Matrix) -> Gradients {
        Gradients {
            losses: vec![0.0; columns.ncols()],
            layers: vec![Contribution::Formed(columns)],
        }
    }

    fn numbers(value: &Value) -> Vec<f64> {
        serde_json::from_value(value.clone()).unwrap()
    }

    /// tr(VᵀAV)/tr(A), where A is the second moment of `gradients`.
    fn energy_of(span: &Subspace, gradients: &Gradients) -> f64 {
        span.inside(gradients).sum() / gradients.squared_norms().iter().sum::<f64>()
    }

    #[test]
    fn spans_distances_and_energies_agree_with_the_reference() {
        let golden = golden::gsd();
        let (a, b) = (golden.records("subspace.A"), golden.records("subspace.B"));
        let (private, public) = (gradients(a), gradients(b));
        golden::assert_close(&private.gram(), &golden.rows("subspace.gram_AA"), 1e-9);
        for case in golden.value("subspace.cases").as_array().unwrap() {
            let k = case["k"].as_u64().unwrap() as usize;
            let (ours, theirs) =
                (Subspace::of(&private, k).unwrap(), Subspace::of(&public, k).unwrap());
            for (value, singular) in ours.values.iter().zip(numbers(&case["singular_a"])) {
                assert!((value.sqrt() - singular).abs() < 1e-9);
            }
            let projector = golden::Golden(case.clone()).rows("projector_b");
            golden::assert_close(&(&theirs.basis * theirs.basis.transpose()), &projector, 1e-9);
            let score = Lead::of(&private, k).unwrap().score(&theirs);
            assert_eq!(score.angles.len(), k);
            for (angle, cosine) in score.angles.iter().zip(numbers(&case["cosines"])) {
                assert!((angle.cos() - cosine).abs() < 1e-9);
            }
            for (angle, wanted) in score.angles.iter().zip(numbers(&case["angles_rad"])) {
                assert!((angle - wanted).abs() < 1e-9, "{angle} {wanted}");
            }
            let wanted = |name: &str| case[name].as_f64().unwrap();
            assert!((score.distance - wanted("gsd")).abs() < 1e-9);
            assert!((score.distance * (k as f64).sqrt() - wanted("gsd_raw")).abs() < 1e-9);
            assert!((score.energy - wanted("energy_captured")).abs() < 1e-9);
            // The reference states ‖Vᵀg‖² or its share; only the share is in [0, 1].
            let shares = theirs.shares(&private);
            let mean = shares.iter().sum::<f64>() / shares.len() as f64;
            assert!((mean - wanted("mean_per_sample_energy")).abs() < 1e-9);
            for (share, wanted) in shares.iter().zip(numbers(&case["per_sample_energy"])) {
                assert!((share - wanted).abs() < 1e-9);
            }
            // ‖R‖² = (1 − E)‖G‖² exactly.
            let whole: f64 = private.squared_norms().iter().sum();
            let rest = ((1.0 - score.energy) * whole).sqrt();
            assert!((rest - wanted("R_fro")).abs() < 1e-9);
        }
    }

    #[test]
    fn equal_orthogonal_and_half_equal_spans_have_the_distances_of_the_reference() {
        let golden = golden::gsd();
        for (case, energy) in [("orthogonal", 0.0), ("half", 0.8)] {
            let rows = |name: &str| golden.records(&format!("subspace.{case}.{name}"));
            let (private, public) = (gradients(rows("A")), gradients(rows("B")));
            let (ours, theirs) =
                (Subspace::of(&private, 2).unwrap(), Subspace::of(&public, 2).unwrap());
            let wanted = golden.number(&format!("subspace.{case}.gsd"));
            assert!((ours.distance(&theirs) - wanted).abs() < 1e-11);
            assert!((energy_of(&theirs, &private) - energy).abs() < 1e-12);
            assert!(ours.distance(&ours) < 1e-12);
        }
        let rows = |name: &str| golden.records(&format!("subspace.rank_deficient.{name}"));
        let (private, public) = (gradients(rows("A")), gradients(rows("B")));
        let ours = Subspace::of(&private, 2).unwrap();
        assert!(ours.rank() == 1 && ours.eigengap() > 1.0 - 1e-12);
        let theirs = Subspace::of(&public, 2).unwrap();
        let wanted = golden.number("subspace.rank_deficient.gsd_at_k1");
        assert!((ours.distance(&theirs) - wanted).abs() < 1e-9);
        // In the other direction, the missing direction is a right angle.
        assert!((theirs.distance(&ours) - 0.5_f64.sqrt()).abs() < 1e-9);
    }

    #[test]
    fn degenerate_eigenvalues_of_random_labels_come_out_as_in_the_reference() {
        let golden = golden::gsd();
        let x = golden.records("label_degeneracy.X");
        // Every label once per record, at zero weights.
        let mut features = Matrix::zeros(2, 6);
        for column in 0..6 {
            features.set_column(column, &x.column(column / 3));
        }
        let architecture = Architecture::linear(2, 3).unwrap();
        let model = Classifier::new(architecture, vec![0.0; 9]).unwrap();
        let labels = ExampleLabels::Classes(&[0, 1, 2, 0, 1, 2]);
        let found = Subspace::of(&model.gradients(&features, labels).unwrap(), 6).unwrap();
        let wanted = golden.vector("label_degeneracy.eig_GtG");
        assert_eq!(found.rank(), 4);
        for (value, wanted) in found.values.iter().zip(&wanted) {
            assert!((value - wanted).abs() < 1e-9, "{value} {wanted}");
        }
        assert!(found.first(1).eigengap() < 1e-9 && found.first(2).eigengap() > 0.5);
    }

    /// The first records of a file inside the program, with pixels as single precision.
    fn pictures(name: &str, bytes: &[u8], count: usize) -> Matrix {
        let table = read_bytes(name, bytes, &Reading::Plain).unwrap();
        let Column::Vectors(images) = &table.columns[0] else { panic!("{name} has no images") };
        let pixels = (0..count).flat_map(|row| images.row(row).numbers().collect::<Vec<_>>());
        let pixels = pixels.map(|pixel| f64::from(pixel as f32 / 127.5 - 1.0));
        Matrix::from_iterator(784, count, pixels)
    }

    #[test]
    fn the_gram_route_is_the_singular_value_decomposition_of_the_gradients_of_real_images() {
        let (count, k) = (150, 9);
        let train = pictures(
            "train2k-images-idx3-ubyte",
            include_bytes!("../../../assets/fashion_mnist/train2k-images-idx3-ubyte.gz"),
            count,
        );
        let test = pictures(
            "t1k-images-idx3-ubyte",
            include_bytes!("../../../assets/fashion_mnist/t1k-images-idx3-ubyte.gz"),
            count,
        );
        let mut generator = ChaCha20Rng::seed_from_u64(2);
        let architecture = Architecture::perceptron(784, 8, 10, Activation::Relu).unwrap();
        let model = Classifier::new(architecture.clone(), architecture.initial(&mut generator));
        let model = model.unwrap();
        let labels: Vec<u32> = (0..count).map(|_| generator.random_range(0..10)).collect();
        let [private, public] = [train, -test].map(|images| {
            let gradients = model.gradients(&images, ExampleLabels::Classes(&labels)).unwrap();
            let exact = gradients.columns().svd(true, false);
            (gradients, exact)
        });
        let [ours, theirs] = [&private, &public].map(|(gradients, exact)| {
            let span = Subspace::of(gradients, k).unwrap();
            for (value, singular) in span.values.iter().zip(&exact.singular_values) {
                assert!((value.sqrt() - singular).abs() < 1e-7 * exact.singular_values[0]);
            }
            let basis = exact.u.as_ref().unwrap().columns(0, k).into_owned();
            assert!(distance(&basis, &span.basis) < 1e-7);
            (span, basis)
        });
        let score = Lead::of(&private.0, k).unwrap().score(&theirs.0);
        let cosines = ours.1.tr_mul(&theirs.1).svd(false, false).singular_values;
        for (angle, cosine) in score.angles.iter().zip(&cosines) {
            assert!((angle.cos() - cosine).abs() < 1e-7, "{angle} {cosine}");
        }
        let wanted = (1.0 - cosines.norm_squared() / k as f64).sqrt();
        assert!((score.distance - wanted).abs() < 1e-7, "{} {wanted}", score.distance);
        let gradients = private.0.columns();
        let energy = theirs.1.tr_mul(&gradients).norm_squared() / gradients.norm_squared();
        assert!((score.energy - energy).abs() < 1e-7, "{} {energy}", score.energy);
        assert!(score.distance > 0.1 && score.distance < 0.99);
    }

    /// Spans that share none, a few, nearly all and all of their directions: the coordinates give
    /// the same result as the spans themselves.
    #[test]
    fn angles_from_coordinates_are_those_of_the_spans() {
        let mut generator = ChaCha20Rng::seed_from_u64(5);
        let mut random = || Matrix::from_fn(30, 12, |_, _| generator.random_range(-1.0..1.0));
        let (own, other) = (random(), random());
        for share in [0.0, 0.5, 0.99, 0.999, 1.0 - 1e-6, 1.0 - 1e-11, 1.0] {
            let private = gradients(own.clone());
            let public = gradients(share * &own + (1.0 - share) * &other);
            let lead = Lead::of(&private, 4).unwrap();
            for k in [2, 4, 6] {
                let candidate = Subspace::of(&public, k).unwrap();
                let score = lead.score(&candidate);
                let span = Subspace::of(&private, 4).unwrap();
                assert!((score.distance - span.distance(&candidate)).abs() < 1e-10);
                assert!((score.energy - energy_of(&candidate, &private)).abs() < 1e-12);
                let angles = principal_angles(&span.basis, &candidate.first(4).basis);
                assert_eq!(angles.len(), score.angles.len());
                for (a, b) in angles.iter().zip(&score.angles) {
                    assert!((a - b).abs() < 1e-10, "{share}, {k}: {a} {b}");
                }
            }
        }
    }

    /// Rounded gradients, the part of their span outside the exact one, and what is said of it.
    fn blurred(exact: &Matrix, directions: usize) -> (f64, f64, bool) {
        let rounded = Gradients {
            losses: vec![0.0; exact.ncols()],
            layers: vec![Contribution::Formed(exact.map(|number| number as f32))],
        };
        let exact = Subspace::of(&gradients(exact.clone()), directions).unwrap();
        assert!(exact.is_sharp());
        let rounded = Subspace::of(&rounded, directions).unwrap();
        let inside = &exact.basis * exact.basis.tr_mul(&rounded.basis);
        ((&rounded.basis - inside).norm(), rounded.blur, rounded.is_sharp())
    }

    #[test]
    fn single_precision_is_enough_unless_the_spectrum_is_nearly_flat_at_k() {
        let mut generator = ChaCha20Rng::seed_from_u64(6);
        let mut random = |rows, columns| {
            Matrix::from_fn(rows, columns, |_, _| generator.random_range(-1.0..1.0)).qr().q()
        };
        let (left, right) = (random(600, 60), random(90, 60));
        for (gap, enough) in [(0.1, true), (1e-2, true), (1e-7, false)] {
            let values: Vec<f64> = (0..60)
                .map(|i| 0.9_f64.powi(i) * if i < 8 { 1.0 } else { (1.0 - gap) / 0.9 })
                .collect();
            let mut scaled = left.clone();
            for (mut column, value) in scaled.column_iter_mut().zip(&values) {
                column *= *value;
            }
            let (turned, blur, sharp) = blurred(&(scaled * right.transpose()), 8);
            assert_eq!(sharp, enough, "{gap}: {turned} {blur}");
            // The estimate is rough, and may be too large rather than too small.
            assert!(turned < 4.0 * blur && blur < 40.0 * turned, "{gap}: {turned} {blur}");
        }
    }

    #[test]
    fn gradients_that_are_zero_or_no_numbers_are_told() {
        let error = Subspace::of(&gradients(Matrix::zeros(4, 3)), 2).unwrap_err().to_string();
        assert!(error.contains("all gradients are zero"), "{error}");
        let mut bad = Matrix::identity(4, 3);
        bad[(0, 0)] = f64::NAN;
        assert!(Subspace::of(&gradients(bad), 2).is_err());
        // All the same: one direction.
        let same = Subspace::of(&gradients(Matrix::from_element(4, 3, 2.0)), 2).unwrap();
        assert_eq!(same.rank(), 1);
    }
}
