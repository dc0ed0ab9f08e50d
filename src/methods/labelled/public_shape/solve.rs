//! From released statistics to the correction, shrunk according to the known noise.
//!
//! Near the model of round i the slope is b(d) ≈ bᵢ + C(dᵢ − d): so every round, at any model,
//! gives b̄ = C·d plus noise. A tier's numbers are assumed to come from a normal distribution of
//! one variance, chosen to maximise the likelihood of the released values (empirical Bayes). Where
//! there is nothing but noise, the variance goes to zero, and so does the tier.

use super::features::Tier;
use crate::numeric::positive::{cholesky, factor_beside};
use crate::numeric::symmetric::eigen;
use crate::numeric::{Matrix, Vector};

/// The release of one round, for one or several scores.
#[derive(Debug, Clone)]
pub struct Round {
    /// b: one column per score.
    pub slope: Matrix,
    /// The correction at which it was queried, likewise.
    pub at: Matrix,
    /// Standard deviation of the noise in each number of b.
    pub noise: f64,
}

/// The input for computing a correction.
#[derive(Debug)]
pub struct Evidence<'a> {
    pub rounds: &'a [Round],
    /// C, by [`curvature`].
    pub curvature: &'a Matrix,
    /// The factor of the curvature of each score.
    pub factors: &'a [f64],
    /// Standard deviation of the noise in the diagonal of C.
    pub curvature_noise: f64,
    /// Variance of one record's residual in units of the curvature, over the number of private
    /// records.
    pub sampling: f64,
    pub tiers: &'a [Tier],
    /// The unit of the tiers' expected parts: the base's mean squared residual.
    pub unit: f64,
    /// The public second moment, for the size of a tier's features.
    pub moment: &'a Matrix,
}

/// The multiples of the expected part that are tried; 0 leaves the tier out.
const GRID: [f64; 9] = [0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0];
/// The prior uncertainty of the logarithm of a part, around a factor that all parts share.
const DOUBT: f64 = 1.0;
/// The prior uncertainty of the logarithm of that factor: a base that is right leaves nothing to
/// correct in any tier.
const COMMON_DOUBT: f64 = 2.0;
/// The least and the largest part that a common factor may lead to.
const PARTS: (f64, f64) = (1e-4, 100.0);
const SWEEPS: usize = 3;
/// Slopes contradict the curvature if they are this many standard deviations from it.
const SURE: f64 = 3.0;
/// An excess nearly perpendicular to the step says little about the curvature along it.
const STEEPEST: f64 = 0.2;

/// The private second moment, as far as noise allows to distinguish it from the public one: for
/// each pair of tiers, the difference is shrunk by the part that must be noise (σ on the diagonal,
/// σ/√2 off it). It is not shrunk more: if the private moment is larger than assumed, steps
/// overshoot. The result is the nearest matrix that a mean of ω·xxᵀ can be, for ω ≤ `most` and
/// ‖x‖ ≤ 1: without negative eigenvalues, and with a trace up to `most`.
pub fn curvature(
    released: &Matrix,
    public: &Matrix,
    tiers: &[Tier],
    noise: f64,
    most: f64,
) -> Matrix {
    let mut moment = public.clone();
    for one in tiers {
        for other in tiers {
            let at = (one.first, other.first);
            let size = (one.count, other.count);
            let difference = released.view(at, size) - public.view(at, size);
            let numbers = one.count as f64 * other.count as f64;
            let same = one.first == other.first;
            let variances = if same { 0.5 * (numbers + one.count as f64) } else { 0.5 * numbers };
            let energy = difference.norm_squared();
            let kept = if energy > 0.0 {
                (1.0 - variances * noise.powi(2) / energy).max(0.0)
            } else {
                0.0
            };
            let mut block = moment.view_mut(at, size);
            block += kept * difference;
        }
    }
    possible(&moment, most)
}

/// The curvature, raised where slopes fell from one round to the next by more than it predicts. For
/// features that are rare in public records and common in private ones, the moment is assumed too
/// small, and steps would overshoot further each time. Changes that noise explains raise nothing.
pub fn raised(mut moment: Matrix, rounds: &[Round], factors: &[f64]) -> Matrix {
    for pair in rounds.windows(2) {
        let (before, after) = (&pair[0], &pair[1]);
        let variance = before.noise.powi(2) + after.noise.powi(2);
        for (output, factor) in factors.iter().enumerate() {
            let step = after.at.column(output) - before.at.column(output);
            let fall = before.slope.column(output) - after.slope.column(output);
            let excess = fall - *factor * &moment * &step;
            let numbers = excess.len() as f64;
            let (energy, along) = (excess.norm_squared(), excess.dot(&step));
            let by_chance = variance * (numbers + SURE * (2.0 * numbers).sqrt());
            if energy > by_chance && along > SURE * (variance * step.norm_squared()).sqrt() {
                let kept = 1.0 - variance * numbers / energy;
                let along = along.max(STEEPEST * excess.norm() * step.norm());
                moment += kept / (along * factor) * &excess * excess.transpose();
            }
        }
    }
    moment
}

/// The matrix with its eigenvalues cut at almost 0, and all lowered by one number if their sum is
/// above `most`.
fn possible(matrix: &Matrix, most: f64) -> Matrix {
    let Some((values, axes)) = eigen(matrix) else { return matrix.clone() };
    let lowered = |by: f64| values.iter().map(move |value| (value - by).max(0.0));
    let (mut low, mut high) = (0.0, values.amax());
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if lowered(middle).sum::<f64>() > most { low = middle } else { high = middle }
    }
    let by = if lowered(0.0).sum::<f64>() > most { high } else { 0.0 };
    let least = 1e-9 * values.amax();
    let mut scaled = axes.clone();
    for (mut axis, value) in scaled.column_iter_mut().zip(lowered(by)) {
        axis *= value.max(least);
    }
    let product = scaled * axes.transpose();
    0.5 * (&product + product.transpose())
}

impl Evidence<'_> {
    fn outputs(&self) -> usize {
        self.factors.len()
    }

    /// b̄ of one score, and the variance of its noise.
    pub fn pooled(&self, output: usize) -> (Vector, f64) {
        let last = &self.rounds[self.rounds.len() - 1].at;
        let (mut sum, mut weights) = (Vector::zeros(self.curvature.nrows()), 0.0);
        for round in self.rounds {
            // An error in C counts in proportion to the distance of the round.
            let away = (round.at.column(output) - last.column(output)).norm_squared();
            let factor = self.factors[output];
            let variance = round.noise.powi(2) + (factor * self.curvature_noise).powi(2) * away;
            let weight = 1.0 / variance.max(1e-30);
            let here =
                round.slope.column(output) + factor * self.curvature * round.at.column(output);
            sum += weight * here;
            weights += weight;
        }
        (sum / weights, 1.0 / weights)
    }

    /// The variance of each tier's numbers if its part is as expected.
    fn sizes(&self) -> Vec<f64> {
        let size = |tier: &Tier| {
            let trace: f64 =
                (tier.first..tier.first + tier.count).map(|k| self.moment[(k, k)]).sum();
            if trace > 0.0 { self.unit * tier.expected / trace } else { 0.0 }
        };
        self.tiers.iter().map(size).collect()
    }

    /// The likeliest correction, one column per score.
    pub fn correction(&self) -> Matrix {
        let scores: Vec<ScoreSlopes> =
            (0..self.outputs()).map(|output| self.score(output)).collect();
        let sizes = self.sizes();
        let mut parts = vec![1.0; self.tiers.len()];
        let mut best = surprise(&scores, &parts);
        // The parts beside which a tier was last tried: beside the same ones it stays as it is.
        let mut tried_beside = vec![Vec::new(); parts.len()];
        for _ in 0..SWEEPS {
            let before = parts.clone();
            for factor in GRID {
                let scaled = before.iter().map(|part| (part * factor).clamp(PARTS.0, PARTS.1));
                let tried: Vec<f64> = scaled.collect();
                let found = surprise(&scores, &tried);
                if found < best {
                    (best, parts) = (found, tried);
                }
            }
            for tier in (0..parts.len()).filter(|tier| sizes[*tier] > 0.0) {
                if tried_beside[tier] == parts {
                    continue;
                }
                let mut found = [0.0; GRID.len()];
                for score in &scores {
                    let more = score.surprises(&parts, tier);
                    found.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
                }
                for (part, found) in GRID.into_iter().zip(found) {
                    let mut tried = parts.clone();
                    tried[tier] = part;
                    let found = prior(&tried) + found;
                    if found < best {
                        (best, parts) = (found, tried);
                    }
                }
                tried_beside[tier].clone_from(&parts);
            }
            if parts == before {
                break;
            }
        }
        let mut weights = Matrix::zeros(self.curvature.nrows(), self.outputs());
        for (output, score) in scores.iter().enumerate() {
            if let Some(solved) = score.solve(&parts) {
                weights.set_column(output, &self.weights(output, &solved, &parts));
            }
        }
        weights
    }

    /// The slopes of one score, and their spread for given parts.
    fn score(&self, output: usize) -> ScoreSlopes {
        let (slope, noise) = self.pooled(output);
        let factor = self.factors[output];
        let mut fixed = self.sampling * factor * self.curvature;
        for k in 0..fixed.nrows() {
            fixed[(k, k)] += noise;
        }
        let root = |(tier, size): (&Tier, f64)| {
            size.sqrt() * factor * self.curvature.columns(tier.first, tier.count)
        };
        let spread = |(tier, size): (&Tier, f64)| {
            let columns = self.curvature.columns(tier.first, tier.count);
            size * factor.powi(2) * columns * columns.transpose()
        };
        let roots = self.tiers.iter().zip(self.sizes()).map(root).collect();
        let spreads = self.tiers.iter().zip(self.sizes()).map(spread).collect();
        ScoreSlopes { slope, fixed, spreads, roots }
    }

    /// d = T·C·M⁻¹·b̄, given M⁻¹·b̄.
    fn weights(&self, output: usize, solved: &Vector, parts: &[f64]) -> Vector {
        let mut weights = self.factors[output] * self.curvature * solved;
        for ((tier, size), part) in self.tiers.iter().zip(self.sizes()).zip(parts) {
            let mut rows = weights.rows_mut(tier.first, tier.count);
            rows *= size * part;
        }
        weights
    }
}

/// The slopes of one score: b̄, and their covariance M = noise + Σ part·C·T_tier·C.
struct ScoreSlopes {
    slope: Vector,
    fixed: Matrix,
    spreads: Vec<Matrix>,
    /// Of each tier a matrix U, as wide as the tier, with UUᵀ its spread.
    roots: Vec<Matrix>,
}

impl ScoreSlopes {
    /// Writes M.
    fn write_covariance(&self, parts: &[f64], to: &mut [f64]) {
        to.copy_from_slice(self.fixed.as_slice());
        for (spread, part) in self.spreads.iter().zip(parts).filter(|(_, part)| **part > 0.0) {
            for (sum, entry) in to.iter_mut().zip(spread.as_slice()) {
                *sum += part * entry;
            }
        }
    }

    /// M⁻¹·b̄
    fn solve(&self, parts: &[f64]) -> Option<Vector> {
        let mut covariance = self.fixed.clone();
        self.write_covariance(parts, covariance.as_mut_slice());
        cholesky(covariance).map(|factored| factored.solve(&self.slope))
    }

    /// With M = LLᵀ: ½ln|M|, then L⁻¹ times the columns of the root of a tier, if one is given, and
    /// times b̄.
    fn factored(&self, parts: &[f64], tier: Option<usize>) -> Option<(f64, Matrix, Vector)> {
        let size = self.slope.len();
        let root = tier.map_or(&[][..], |tier| self.roots[tier].as_slice());
        let wide = root.len() / size;
        let mut columns = Matrix::zeros(size, size + wide + 1);
        let (covariance, beside) = columns.as_mut_slice().split_at_mut(size * size);
        self.write_covariance(parts, covariance);
        let (of_root, of_slope) = beside.split_at_mut(root.len());
        of_root.copy_from_slice(root);
        of_slope.copy_from_slice(self.slope.as_slice());
        factor_beside(&mut columns).then(|| {
            let logarithm = (0..size).map(|at| columns[(at, at)].ln()).sum();
            let image = columns.column(size + wide).into_owned();
            (logarithm, columns.columns(size, wide).into_owned(), image)
        })
    }

    /// ½ln|M| + ½b̄ᵀM⁻¹b̄
    fn surprise(&self, parts: &[f64]) -> f64 {
        let found = self.factored(parts, None);
        found.map_or(f64::INFINITY, |(logarithm, _, image)| logarithm + 0.5 * image.norm_squared())
    }

    /// [`Self::surprise`] for every part of the grid in one tier, while the others stay as they are.
    ///
    /// With the rest A = LLᵀ, W = L⁻¹·U, the eigenvalues λ and axes v of WᵀW, and a = vᵀWᵀL⁻¹b̄:
    /// ln|A + p·UUᵀ| = ln|A| + Σ ln(1 + pλ), and b̄ᵀ(A + p·UUᵀ)⁻¹b̄ = ‖r‖² + Σ a²/(λ(1 + pλ)), where r is the
    /// part of L⁻¹b̄ perpendicular to W. So one factor serves the whole grid. Differences of large
    /// numbers would lose all digits where there is hardly any noise; here there are none.
    fn surprises(&self, parts: &[f64], tier: usize) -> [f64; GRID.len()] {
        let with = |part| {
            let mut tried = parts.to_vec();
            tried[tier] = part;
            tried
        };
        self.surprises_of_one_factor(&with(0.0), tier)
            .unwrap_or_else(|| GRID.map(|part| self.surprise(&with(part))))
    }

    /// `None` if the rest is not positive definite within rounding.
    fn surprises_of_one_factor(&self, rest: &[f64], tier: usize) -> Option<[f64; GRID.len()]> {
        let (logarithm, root, mut image) = self.factored(rest, Some(tier))?;
        let (values, axes) = eigen(&root.tr_mul(&root))?;
        let mut along = axes.tr_mul(&root.tr_mul(&image));
        let least = 1e-12 * values.amax();
        let mut inside = along.clone();
        for ((along, inside), value) in along.iter_mut().zip(&mut inside).zip(&values) {
            (*along, *inside) = if *value > least { (*along, *inside / value) } else { (0.0, 0.0) };
        }
        image -= root * (axes * &inside);
        let outside = image.norm_squared();
        Some(GRID.map(|part| {
            let directions = values.iter().zip(along.iter().zip(&inside));
            let sum = directions.fold(outside, |sum, (value, (along, inside))| {
                let grown = 1.0 + part * value.max(0.0);
                sum + grown.ln() + along * inside / grown
            });
            logarithm + 0.5 * sum
        }))
    }
}

/// Minus the log-density of the parts, at the likeliest common factor.
fn prior(parts: &[f64]) -> f64 {
    let (each, common) = (DOUBT.powi(-2), COMMON_DOUBT.powi(-2));
    let logarithms = parts.iter().map(|part| part.ln());
    let (sum, squares) =
        logarithms.fold((0.0, 0.0), |(sum, squares), x| (sum + x, squares + x * x));
    let shared = (each * sum).powi(2) / (each * parts.len() as f64 + common);
    0.5 * (each * squares - shared)
}

/// Minus the log-likelihood of the slopes and the parts together.
fn surprise(scores: &[ScoreSlopes], parts: &[f64]) -> f64 {
    prior(parts) + scores.iter().map(|score| score.surprise(parts)).sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Series;
    use crate::example::{generator, normals};
    use halflight_testing as golden;

    fn tiers(counts: &[usize]) -> Vec<Tier> {
        let mut first = 0;
        let tier = |count: &usize| {
            first += count;
            let series = Series::LevelCorrection;
            Tier { series, first: first - count, count: *count, expected: 0.1 }
        };
        counts.iter().map(tier).collect()
    }

    #[test]
    fn the_second_moment_is_shrunk_as_in_the_reference() {
        let golden = golden::correction();
        let of = |name: &str| golden.rows(&format!("regression.one_round.{name}"));
        let noise = golden.number("regression.one_round.sG");
        let found = curvature(&of("G"), &of("C_pub"), &tiers(&[1, 1, 1, 2, 2, 4]), noise, 1.0);
        golden::assert_close(&found, &of("C"), 1e-6);
    }

    #[test]
    fn a_curvature_of_noise_alone_is_one_that_records_can_have() {
        let public = Matrix::identity(5, 5) * 0.1;
        for noise in [0.01, 0.3, 30.0] {
            for seed in 0..20 {
                let draws = normals(&mut generator(seed), 25);
                let draws = noise * Matrix::from_column_slice(5, 5, draws.as_slice());
                let released = &public + 0.5 * (&draws + draws.transpose());
                let found = curvature(&released, &public, &tiers(&[1, 1, 3]), noise, 0.5);
                assert!(found.trace() < 0.5 + 1e-6, "{}", found.trace());
                let (values, _) = eigen(&found).unwrap();
                assert!(values.min() > -1e-9, "{values}");
            }
        }
        // What can be is left as it is.
        assert!((possible(&public, 0.5) - &public).norm() < 1e-12);
        // Of two eigenvalues with a sum that is too large by 0.4, each is lowered by 0.2.
        let large = Matrix::from_diagonal(&Vector::from_vec(vec![0.6, 0.3]));
        let wanted = Matrix::from_diagonal(&Vector::from_vec(vec![0.4, 0.1]));
        assert!((possible(&large, 0.5) - wanted).norm() < 1e-9);
    }

    #[test]
    fn the_correction_is_near_the_reference() {
        let golden = golden::correction();
        let of = |name: &str| golden.rows(&format!("regression.one_round.{name}"));
        let slope = golden.vector("regression.one_round.b");
        let rounds = [Round {
            slope: Matrix::from_column_slice(11, 1, slope.as_slice()),
            at: Matrix::zeros(11, 1),
            noise: golden.number("regression.one_round.sb"),
        }];
        let (curvature, moment) = (of("C"), of("C_pub"));
        let unit = golden.number("regression.s2");
        let tiers = tiers(&[1, 1, 1, 2, 2, 4]);
        let evidence = Evidence {
            rounds: &rounds,
            curvature: &curvature,
            factors: &[1.0],
            curvature_noise: 0.0,
            sampling: unit / 16.0,
            tiers: &tiers,
            unit,
            moment: &moment,
        };
        // With the parts found by the reference.
        let taus = golden.value("regression.one_round.tau");
        let parts: Vec<f64> =
            (0..6).map(|tier| taus[tier.to_string()].as_f64().unwrap() / 0.1).collect();
        let solved = evidence.score(0).solve(&parts).unwrap();
        let found = evidence.weights(0, &solved, &parts);
        // The reference is a prototype: it agrees to half a percent of the largest number.
        let wanted = golden.vector("regression.one_round.delta_scaled");
        golden::assert_near(&found, &wanted, 0.006 * wanted.amax());
    }

    /// The result for this correction and noise.
    fn found(truth: &Vector, noise: f64, seed: u64) -> Vector {
        let features = truth.len();
        let curvature = Matrix::identity(features, features) * 0.2;
        let slope = &curvature * truth + noise * normals(&mut generator(seed), features);
        let rounds = [Round {
            slope: Matrix::from_column_slice(features, 1, slope.as_slice()),
            at: Matrix::zeros(features, 1),
            noise: noise.max(1e-9),
        }];
        let evidence = Evidence {
            rounds: &rounds,
            curvature: &curvature,
            factors: &[1.0],
            curvature_noise: 0.0,
            sampling: 0.0,
            tiers: &tiers(&[1, features - 1]),
            unit: 1.0,
            moment: &curvature,
        };
        evidence.correction().column(0).into_owned()
    }

    #[test]
    fn one_factor_tells_what_a_factor_for_each_part_does() {
        let counts = [1, 3, 6];
        let draws = normals(&mut generator(3), 100);
        let root = Matrix::from_column_slice(10, 10, draws.as_slice());
        let curvature = 0.02 * &root * root.transpose();
        for noise in [1e-6, 1e-2, 1.0] {
            let rounds = [Round {
                slope: Matrix::from_column_slice(10, 1, normals(&mut generator(4), 10).as_slice()),
                at: Matrix::zeros(10, 1),
                noise,
            }];
            let evidence = Evidence {
                rounds: &rounds,
                curvature: &curvature,
                factors: &[0.7],
                curvature_noise: 0.0,
                sampling: 1e-3,
                tiers: &tiers(&counts),
                unit: 1.0,
                moment: &curvature,
            };
            let (score, parts) = (evidence.score(0), [0.3, 10.0, 1.0]);
            for tier in 0..counts.len() {
                let found = score.surprises(&parts, tier);
                for (part, found) in GRID.into_iter().zip(found) {
                    let mut tried = parts;
                    tried[tier] = part;
                    let wanted = score.surprise(&tried);
                    let close = (found - wanted).abs() < 1e-6 * (1.0 + wanted.abs());
                    assert!(close, "{noise} {tier} {part}: {found} {wanted}");
                }
            }
        }
    }

    #[test]
    fn without_noise_the_truth_comes_out_and_without_signal_next_to_nothing() {
        let truth = Vector::from_fn(12, |k, _| if k == 0 { 1.0 } else { 0.2 * (k as f64).sin() });
        assert!((found(&truth, 0.0, 1) - &truth).norm() < 1e-3 * truth.norm());
        let nothing = Vector::zeros(12);
        for seed in 0..20 {
            // Without a prior, noise alone would be taken for a signal of 5 times its size.
            let noise = 1.0;
            let plain = 5.0 * noise * 12_f64.sqrt();
            assert!(found(&nothing, noise, seed).norm() < 0.1 * plain);
        }
    }

    /// How far from the truth ten rounds end, if the second feature's curvature is assumed to be a
    /// hundredth of its true value.
    fn after_ten_rounds(believes_slopes: bool) -> f64 {
        let truth = Vector::from_vec(vec![0.5, -0.3]);
        let curvature = Matrix::from_diagonal(&Vector::from_vec(vec![0.3, 0.2]));
        let believed = Matrix::from_diagonal(&Vector::from_vec(vec![0.3, 0.002]));
        let (mut rounds, mut at) = (Vec::new(), Matrix::zeros(2, 1));
        for seed in 0..10 {
            let noise = 1e-3;
            let slope =
                &curvature * (&truth - at.column(0)) + noise * normals(&mut generator(seed), 2);
            rounds.push(Round {
                slope: Matrix::from_column_slice(2, 1, slope.as_slice()),
                at,
                noise,
            });
            let moment = if believes_slopes {
                raised(believed.clone(), &rounds, &[1.0])
            } else {
                believed.clone()
            };
            let evidence = Evidence {
                rounds: &rounds,
                curvature: &moment,
                factors: &[1.0],
                curvature_noise: 0.0,
                sampling: 0.0,
                tiers: &tiers(&[1, 1]),
                unit: 1.0,
                moment: &believed,
            };
            at = evidence.correction();
        }
        (at.column(0) - truth).norm()
    }

    #[test]
    fn a_curvature_that_is_believed_too_small_does_not_lead_away() {
        let (with, without) = (after_ten_rounds(true), after_ten_rounds(false));
        assert!(with < 0.05, "{with}");
        assert!(without > 10.0, "{without}");
    }

    #[test]
    fn noise_raises_no_curvature() {
        for seed in 0..50 {
            let features = 40;
            let curvature = Matrix::identity(features, features) * 0.2;
            let draw = &mut generator(seed);
            let (truth, elsewhere) = (normals(draw, features), normals(draw, features));
            let round = |at: Vector, noise: Vector| Round {
                slope: Matrix::from_column_slice(
                    features,
                    1,
                    (&curvature * (&truth - &at) + 0.5 * noise).as_slice(),
                ),
                at: Matrix::from_column_slice(features, 1, at.as_slice()),
                noise: 0.5,
            };
            let noises = (normals(draw, features), normals(draw, features));
            let rounds = [round(Vector::zeros(features), noises.0), round(elsewhere, noises.1)];
            assert_eq!(raised(curvature.clone(), &rounds, &[1.0]), curvature, "{seed}");
        }
    }

    #[test]
    fn the_prior_is_the_least_over_the_common_factor() {
        let parts = [0.1, 0.3, 0.01, 1.0];
        let at = |factor: f64| -> f64 {
            let each = parts.iter().map(|part: &f64| ((part.ln() - factor) / DOUBT).powi(2));
            0.5 * (each.sum::<f64>() + (factor / COMMON_DOUBT).powi(2))
        };
        let least = (0..10_000).map(|k| at(-10.0 + 0.002 * f64::from(k))).fold(1e9, f64::min);
        assert!((prior(&parts) - least).abs() < 1e-5, "{} {least}", prior(&parts));
        // Parts that all fall together are likelier than one that falls alone.
        assert!(prior(&[0.1; 8]) < 8.0 * 0.5 * 0.1_f64.ln().powi(2) / 4.0);
    }

    #[test]
    fn rounds_asked_elsewhere_say_the_same_of_the_truth() {
        let truth = Vector::from_vec(vec![0.5, -0.3]);
        let curvature = Matrix::from_row_slice(2, 2, &[0.3, 0.1, 0.1, 0.2]);
        let round = |at: Vector| Round {
            slope: Matrix::from_column_slice(2, 1, (&curvature * (&truth - &at)).as_slice()),
            at: Matrix::from_column_slice(2, 1, at.as_slice()),
            noise: 1e-4,
        };
        let rounds = [round(Vector::zeros(2)), round(Vector::from_vec(vec![3.0, 1.0]))];
        let evidence = Evidence {
            rounds: &rounds,
            curvature: &curvature,
            factors: &[1.0],
            curvature_noise: 0.1,
            sampling: 0.0,
            tiers: &tiers(&[2]),
            unit: 1.0,
            moment: &curvature,
        };
        let (slope, _) = evidence.pooled(0);
        golden::assert_near(&slope, &(&curvature * &truth), 1e-12);
        let found = evidence.correction().column(0).into_owned();
        golden::assert_near(&found, &truth, 1e-3);
    }
}
