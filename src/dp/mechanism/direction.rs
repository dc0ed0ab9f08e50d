//! One private direction: the matrix Bingham mechanism for k = 1, sampled exactly.
//!
//! From a private symmetric s × s matrix A it releases a direction z/‖z‖ with
//!
//! > P(z) ∝ exp(zᵀAz/(‖z‖²·scale)),  z ∈ ℤˢ, 0 < ‖z‖ ≤ 2²²,
//!
//! the exponential mechanism over the points of a lattice in a ball. Directions of lattice points
//! in a ball are uniform on the sphere to 2⁻²², so this is the Bingham distribution to the
//! precision of a double. It is made of integers, so nothing leaks through the last bits. ε₀ =
//! range/scale, with range = max uᵀΔu − min uᵀΔu over unit vectors u and any change Δ of A between
//! neighbours. It has bounded range, like any exponential mechanism.
//!
//! **Rounding.** A/scale is rounded to integers M of steps of 2⁻²⁷, and the exponent zᵀMz/‖z‖² to a
//! whole number of steps below. Division and rounding move an entry by at most one step, so a
//! quadratic form by at most s. With both neighbours, above and below, and the last rounding:
//!
//! > range of the change ≤ range/scale + (4s + 2) steps,
//!
//! which [`DirectionMechanism::range_slack`] states, times the scale.
//!
//! **Sampling** is by rejection from a Gaussian envelope, after Kent, Ganeiban and Mardia (*A
//! New Unified Approach for the Simulation of a Wide Class of Directional Distributions*,
//! 2018). With M = λ₁ − B in units of one, Ω = 1 + 2B/b and a Gaussian of density
//! ∝ exp(−ρ·zᵀΩz/2R²), ρ slightly below b, one has for any z = rRu in the ball, β = uᵀBu, uᵀΩu = 1 + 2β/b:
//!
//! > ρr²·uᵀΩu/2 = ρr²/2 + βρr²/b ≤ ρ/2 + β,
//!
//! so that exp(λ₁ − β) never exceeds the Gaussian's exponential times e^(λ₁ + ρ/2). With Σᵢ 1/(b +
//! 2βᵢ) = 1 about one in 2s proposals is accepted, for any matrix.
//!
//! The Gaussian is itself drawn on the lattice, coordinate by coordinate from the last to the first
//! (Klein, *Finding the closest lattice vector when it's unusually close*, 2000): with Ω = LLᵀ,
//! coordinate i is a discrete Gaussian around cᵢ = −Σ_{j>i} L_ji zⱼ/L_ii. Its parameters are
//! rounded, to sixteenths and to parts in 2¹⁰, and *from then on* taken as exact: precision and
//! centre of every coordinate enter its density as integers, and the acceptance is exactly that of
//! the rounded density. Rounding can only break the inequality above; ρ = b(1 − 2⁻⁸) and a constant
//! of ρ/2⁹ + 2⁻⁴ leave far more room than it needs. A discrete Gaussian's masses sum to √(2π)σ for
//! any centre, up to a part 2e^(−2π²σ²) < 10⁻³⁰⁰⁰⁰⁰, as σ ≥ 200 here. Proposals beyond 700 σ are
//! left out, another 10⁻¹⁰⁰⁰⁰⁰. Neither changes any guarantee that can be written as a double.
//!
//! The time a draw takes depends on the matrix and on the direction drawn: a side channel that
//! halflight does not close.

use nalgebra::Cholesky;

use super::coin::bernoulli_exp;
use super::discrete_laplace::draw_laplace;
use super::generator::NoiseGenerator;
use super::selection::check_scale;
use crate::error::{Error, Result};
use crate::numeric::eigen::eigen;
use crate::numeric::{Matrix, Vector};

/// R, the radius of the ball, is 2^this.
const RADIUS_BITS: u32 = 22;
/// The exponent has steps of 2^−`FINENESS`.
const FINENESS: u32 = 27;
/// The largest Frobenius norm of A/scale: its entries have 53 bits.
const LARGEST: f64 = (1_u64 << 26) as f64;
/// The largest dimension for which the margins below are enough.
const MOST_DIMENSIONS: usize = 1024;
/// Centres have steps of 2^−`CENTRE_BITS`.
const CENTRE_BITS: u32 = 4;
/// Exponents of the proposals are in units of 2⁻⁶³.
const UNIT_BITS: u32 = 63;
/// The part of b that rounding may use up.
const MARGIN: f64 = 1.0 / 256.0;
/// Laplace proposals of at least this many scales are rejected.
const PROPOSAL_LIMIT: u64 = 1024;

/// A direction u with density ∝ exp(uᵀAu/scale).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DirectionMechanism {
    scale: f64,
}

/// The matrix in the form used for drawing.
struct DrawnMatrix {
    size: usize,
    /// A/scale in steps of 2^−[`FINENESS`], by column.
    steps: Vec<i64>,
}

/// A Gaussian on the lattice that envelops the wanted distribution.
struct Envelope {
    /// L_ji/L_ii below the diagonal, by column.
    slopes: Matrix,
    coordinates: Vec<Coordinate>,
    /// λ₁ + ρ/2 and the margin, in units.
    top: i128,
}

/// A discrete Gaussian whose centre is given later: P(x) ∝ exp(−precision·(16x − centre)²/2⁶³).
#[derive(Debug, Clone, Copy, PartialEq)]
struct Coordinate {
    precision: u64,
    /// The number k for which σ is near 2^k.
    scale_bits: u32,
}

impl DirectionMechanism {
    /// Noise of this scale; refuses an invalid one.
    pub fn with_scale(scale: f64) -> Result<Self> {
        check_scale(scale)?;
        Ok(Self { scale })
    }

    /// The amount that rounding adds to the range. An event of this scale must state at least the
    /// planned range plus this.
    pub fn range_slack(scale: f64, dimension: u64) -> f64 {
        (4.0 * dimension as f64 + 2.0) * scale / f64::from(1 << FINENESS)
    }

    /// Whether matrices of at most this Frobenius norm can be drawn from. Call it with a public
    /// bound before the private matrix is used, because an error about its own norm would reveal
    /// something.
    pub fn check_norm(&self, norm: f64) -> Result<()> {
        if (0.0..=LARGEST).contains(&(norm / self.scale)) {
            return Ok(());
        }
        Err(Error::usage("so little noise that a private direction cannot be drawn")
            .cure("choose a smaller ε: times the number of records, it must be below 10^8"))
    }

    /// Draws one direction, as the lattice point that it goes through. Only the lower triangle of
    /// `matrix` counts.
    pub fn draw(&self, generator: &mut NoiseGenerator, matrix: &Matrix) -> Result<Vec<f64>> {
        let form = DrawnMatrix::of(matrix, self.scale)?;
        let envelope = form.envelope()?;
        loop {
            if let Some(point) = envelope.propose(generator, &form) {
                return Ok(point.into_iter().map(|x| x as f64).collect());
            }
        }
    }
}

/// The direction with the largest form: a draw without noise, for rehearsals. Only the lower
/// triangle of `matrix` counts.
pub fn leading_direction(matrix: &Matrix) -> Result<Vec<f64>> {
    let symmetric = symmetrised(matrix);
    let (values, vectors) = eigen(&symmetric).ok_or_else(no_eigenvectors)?;
    Ok(vectors.column(values.imax()).iter().copied().collect())
}

fn symmetrised(matrix: &Matrix) -> Matrix {
    Matrix::from_fn(matrix.nrows(), matrix.nrows(), |i, j| matrix[(i.max(j), i.min(j))])
}

fn no_eigenvectors() -> Error {
    Error::failed("the matrix of a private direction has no eigenvectors")
        .cure("check the data for values that are not numbers")
}

impl DrawnMatrix {
    fn of(matrix: &Matrix, scale: f64) -> Result<Self> {
        let size = matrix.nrows();
        if size > MOST_DIMENSIONS {
            return Err(Error::failed(format!("a direction in {size} dimensions cannot be drawn"))
                .cure(format!("choose among {MOST_DIMENSIONS} at most")));
        }
        let relative = symmetrised(matrix) / scale;
        if !(0.0..=LARGEST).contains(&relative.norm()) {
            return Err(Error::failed(
                "the matrix of a private direction is not made of numbers, or larger than was announced",
            )
            .cure("check the data for values that are not numbers"));
        }
        let step = |entry: &f64| (entry * f64::from(1 << FINENESS)).round_ties_even() as i64;
        Ok(Self { size, steps: relative.iter().map(step).collect() })
    }

    /// ⌊zᵀMz/‖z‖²⌋, in steps.
    fn exponent(&self, point: &[i64], squared_norm: i128) -> i128 {
        let columns = self.steps.chunks_exact(self.size).zip(point);
        let form: i128 = columns
            .map(|(column, x)| {
                let entries = column.iter().zip(point);
                let product: i128 = entries.map(|(m, y)| i128::from(*m) * i128::from(*y)).sum();
                product * i128::from(*x)
            })
            .sum();
        form.div_euclid(squared_norm)
    }

    fn envelope(&self) -> Result<Envelope> {
        let size = self.size;
        let whole = f64::from(1 << FINENESS);
        let matrix =
            Matrix::from_iterator(size, size, self.steps.iter().map(|m| *m as f64 / whole));
        let (values, _) = eigen(&matrix).ok_or_else(no_eigenvectors)?;
        let largest = values.max();
        let below = values.map(|value| largest - value);
        let b = concentration(&below);
        let rho = b * (1.0 - MARGIN);
        let mut spread = matrix * (-2.0 / b);
        for i in 0..size {
            spread[(i, i)] += 1.0 + 2.0 * largest / b;
        }
        let factor = Cholesky::new(spread).ok_or_else(no_eigenvectors)?.unpack();
        let coordinates = factor.diagonal().map(|root| Coordinate::of(rho * root * root));
        let mut slopes = factor;
        for (i, mut column) in slopes.column_iter_mut().enumerate() {
            let root = column[i];
            column /= root;
        }
        let margin = rho * 0.5 * MARGIN + 0.0625;
        let top = (largest + 0.5 * rho + margin) * (1_u64 << UNIT_BITS) as f64;
        Ok(Envelope {
            slopes,
            coordinates: coordinates.iter().copied().collect(),
            top: top as i128,
        })
    }
}

/// The b with Σ 1/(b + 2βᵢ) = 1, in [1, s], for βᵢ ≥ 0 of which the smallest is 0.
fn concentration(below: &Vector) -> f64 {
    let (mut low, mut high) = (1.0, below.len() as f64);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        let sum: f64 = below.iter().map(|beta| 1.0 / (middle + 2.0 * beta)).sum();
        if sum > 1.0 { low = middle } else { high = middle }
    }
    high
}

impl Envelope {
    /// One proposal, if it is accepted.
    fn propose(&self, generator: &mut NoiseGenerator, form: &DrawnMatrix) -> Option<Vec<i64>> {
        let size = form.size;
        let mut point = vec![0_i64; size];
        let mut cost = 0_i128;
        for i in (0..size).rev() {
            let (drawn, own) = self.coordinates[i].draw(generator, self.centre(i, &point));
            // Already outside the ball. This keeps everything below in range.
            if drawn.unsigned_abs() > 1 << RADIUS_BITS {
                return None;
            }
            point[i] = drawn;
            cost += own;
        }
        let lacking = self.lacking(form, &point, cost)?;
        debug_assert!(lacking >= 0, "the envelope does not cover: {lacking}");
        bernoulli_exp(generator, lacking.max(0) as u128, 1 << UNIT_BITS).then_some(point)
    }

    /// The centre of coordinate `i`, in sixteenths, given the coordinates after it.
    fn centre(&self, i: usize, point: &[i64]) -> i64 {
        let slopes = self.slopes.column(i);
        let later = point.iter().zip(slopes.iter()).skip(i + 1);
        let centre: f64 = -later.map(|(x, slope)| *x as f64 * slope).sum::<f64>();
        (centre * f64::from(1 << CENTRE_BITS)).round() as i64
    }

    /// The amount by which a point's weight falls short of its proposal's, in units; `None` outside
    /// the ball, and for 0.
    fn lacking(&self, form: &DrawnMatrix, point: &[i64], cost: i128) -> Option<i128> {
        let squared_norm: i128 = point.iter().map(|x| i128::from(*x) * i128::from(*x)).sum();
        if squared_norm == 0 || squared_norm > 1 << (2 * RADIUS_BITS) {
            return None;
        }
        let exponent = form.exponent(point, squared_norm) << (UNIT_BITS - FINENESS);
        Some(self.top - exponent - cost)
    }
}

impl Coordinate {
    /// The coordinate of a Gaussian with σ² = R²/`stiffness`.
    fn of(stiffness: f64) -> Self {
        // 1/2σ² in units per sixteenth squared: 2^(63 − 8 − 1 − 44) = 2¹⁰ times the stiffness.
        let per_stiffness = 1_u64 << (UNIT_BITS - 2 * CENTRE_BITS - 1 - 2 * RADIUS_BITS);
        let sigma = f64::from(1 << RADIUS_BITS) / stiffness.sqrt();
        Self {
            precision: (stiffness * per_stiffness as f64).round() as u64,
            scale_bits: sigma.log2().round() as u32,
        }
    }

    /// A draw, and its exponent precision·(16x − centre)².
    ///
    /// Laplace proposals of scale t = 2^`scale_bits` around the integer next to the centre, f
    /// sixteenths away. With p the precision in units of one and w = |y| − |f|/16, p(y − f/16)² −
    /// |y|/t ≥ pw² − w/t − |f|/16t ≥ −1/4pt² − |f|/16t. A proposal is accepted with probability
    /// e^{−(its excess over this bound)}.
    fn draw(self, generator: &mut NoiseGenerator, centre: i64) -> (i64, i128) {
        let sixteen = 1_i64 << CENTRE_BITS;
        let nearest = (centre + sixteen / 2).div_euclid(sixteen);
        let offset = centre - sixteen * nearest;
        let bits = self.scale_bits;
        let precision = i128::from(self.precision);
        // 1/4pt² = 2^(2·63 − 8 − 2 − 2·bits)/precision units, rounded up.
        let quarter = 1_i128 << (2 * UNIT_BITS - 2 * CENTRE_BITS - 2 - 2 * bits);
        let per_offset = 1_i128 << (UNIT_BITS - CENTRE_BITS - bits);
        let least =
            (quarter + precision - 1) / precision + i128::from(offset.unsigned_abs()) * per_offset;
        loop {
            let step = draw_laplace(generator, 1 << bits);
            if step.unsigned_abs() >= PROPOSAL_LIMIT << bits {
                continue;
            }
            let distance = i128::from(sixteen * step - offset);
            let cost = precision * distance * distance;
            let proposed = i128::from(step.unsigned_abs()) << (UNIT_BITS - bits);
            let lacking = cost - proposed + least;
            if bernoulli_exp(generator, lacking as u128, 1 << UNIT_BITS) {
                return (nearest + step, cost);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use halflight_testing::statistics::{
        KOLMOGOROV_THRESHOLD, chi_square, histogram, kolmogorov_smirnov, symmetric_masses,
    };

    fn direction(point: &[f64]) -> Vector {
        Vector::from_column_slice(point).normalize()
    }

    fn draws(matrix: &Matrix, scale: f64, count: usize, seed: u64) -> Vec<Vector> {
        let mut generator = NoiseGenerator::insecure_from_seed(seed);
        let form = DrawnMatrix::of(matrix, scale).unwrap();
        let envelope = form.envelope().unwrap();
        let mut accepted = Vec::new();
        while accepted.len() < count {
            accepted.extend(envelope.propose(&mut generator, &form));
        }
        let point = |point: &Vec<i64>| point.iter().map(|x| *x as f64).collect::<Vec<_>>();
        accepted.iter().map(|drawn| direction(&point(drawn))).collect()
    }

    /// A matrix with these eigenvalues, whose eigenvectors are not axes.
    fn turned(values: &[f64]) -> (Matrix, Matrix) {
        let size = values.len();
        let mix = Matrix::from_fn(size, size, |i, j| ((3 * i + 7 * j * j + i * j) as f64).sin());
        let vectors = mix.qr().q();
        let values = Matrix::from_diagonal(&Vector::from_column_slice(values));
        (&vectors * values * vectors.transpose(), vectors)
    }

    /// P(T ≤ t) for a density on [0, 1] with weak poles at its ends.
    fn cumulative(density: impl Fn(f64) -> f64) -> impl Fn(f64) -> f64 {
        // t = sin²(φ): dt = 2 sin cos dφ takes the poles away.
        let steps = 200_000;
        let step = std::f64::consts::FRAC_PI_2 / f64::from(steps);
        let mut sums = vec![0.0];
        for k in 0..steps {
            let (sin, cos) = ((f64::from(k) + 0.5) * step).sin_cos();
            sums.push(sums[k as usize] + 2.0 * sin * cos * density(sin * sin));
        }
        let whole = sums[steps as usize];
        move |t: f64| sums[(t.clamp(0.0, 1.0).sqrt().asin() / step).round() as usize] / whole
    }

    #[test]
    fn along_one_axis_the_share_has_the_density_of_bingham_and_not_one_a_few_percent_off() {
        for (size, concentration) in [(2, 3.0), (3, 0.0), (6, 12.0), (20, 60.0)] {
            let mut values = vec![0.5; size];
            values[1] += concentration;
            let (matrix, vectors) = turned(&values);
            let scale = 0.01;
            let sample = draws(&(matrix * scale), scale, 60_000, size as u64);
            let mut shares: Vec<f64> =
                sample.iter().map(|u| u.dot(&vectors.column(1)).powi(2)).collect();
            shares.sort_by(f64::total_cmp);
            let density = |concentration: f64| {
                cumulative(move |t: f64| {
                    let rest = (1.0 - t).powf(0.5 * (size as f64 - 3.0));
                    rest * t.powf(-0.5) * (concentration * (t - 1.0)).exp()
                })
            };
            let right = kolmogorov_smirnov(&shares, density(concentration));
            assert!(right < KOLMOGOROV_THRESHOLD, "{size}: {right}");
            for wrong in [concentration * 0.9 - 0.1, concentration * 1.1 + 0.1] {
                let off = kolmogorov_smirnov(&shares, density(wrong));
                assert!(off > KOLMOGOROV_THRESHOLD, "{size}, {wrong}: {off}");
            }
            // Neither end of the axis is preferred.
            let ahead = sample.iter().filter(|u| u.dot(&vectors.column(1)) > 0.0).count();
            assert!((ahead as f64 / 60_000.0 - 0.5).abs() < 0.011, "{ahead}");
        }
    }

    #[test]
    fn three_different_eigenvalues_give_the_second_moments_of_bingham() {
        let values = [4.0, 2.5, -1.0];
        let (matrix, vectors) = turned(&values);
        let n = 200_000;
        let sample = draws(&matrix, 1.0, n, 4);
        // By quadrature over the sphere, cos θ and φ.
        let (mut whole, mut moments) = (0.0, [0.0; 3]);
        for i in 0..400 {
            let z = -1.0 + (f64::from(i) + 0.5) / 200.0;
            for j in 0..400 {
                let phi = (f64::from(j) + 0.5) * std::f64::consts::TAU / 400.0;
                let u = [(1.0 - z * z).sqrt() * phi.cos(), (1.0 - z * z).sqrt() * phi.sin(), z];
                let form: f64 = u.iter().zip(&values).map(|(u, value)| u * u * value).sum();
                whole += form.exp();
                moments.iter_mut().zip(u).for_each(|(moment, u)| *moment += u * u * form.exp());
            }
        }
        for (axis, moment) in moments.iter().enumerate() {
            let seen = sample.iter().map(|u| u.dot(&vectors.column(axis)).powi(2)).sum::<f64>();
            // Shares are in [0, 1]: five standard errors of at most 0.4/√n.
            let error = seen / n as f64 - moment / whole;
            assert!(error.abs() < 2.0 / (n as f64).sqrt(), "{axis}: {error}");
        }
    }

    #[test]
    fn coordinates_have_the_exact_masses_around_any_centre_and_say_what_they_cost() {
        let mut generator = NoiseGenerator::insecure_from_seed(2);
        // σ = 3; the precision is per sixteenth squared, in units of 2⁻⁶³.
        let precision = (1_u64 << 54) / 9;
        for (centre, scale_bits) in [(0, 2), (5, 1), (-8, 2), (7, 2), (-40, 1)] {
            let coordinate = Coordinate { precision, scale_bits };
            let mut sample = Vec::new();
            for _ in 0..300_000 {
                let (drawn, cost) = coordinate.draw(&mut generator, centre);
                let away = i128::from(16 * drawn - centre);
                assert_eq!(cost, i128::from(precision) * away * away);
                sample.push(drawn);
            }
            let masses = |sigma: f64| {
                symmetric_masses(60, |x| {
                    let away = x - centre as f64 / 16.0;
                    (-away * away / (2.0 * sigma * sigma)).exp()
                })
            };
            let seen = histogram(60, &sample);
            assert!(chi_square(&seen, &masses(3.0)).is_plausible(), "{centre}");
            assert!(!chi_square(&seen, &masses(3.04)).is_plausible(), "{centre}");
        }
    }

    /// From a flat spectrum to one that decides everything.
    const SPECTRA: [fn(usize) -> f64; 5] = [
        |_| 0.0,
        |i| if i == 0 { 1e6 } else { 0.0 },
        |i| if i < 9 { 40.0 } else { 1.0 },
        |i| 1e7 / ((i + 1) * (i + 1)) as f64,
        |i| if i == 0 { -3e7 } else { 100.0 / i as f64 },
    ];

    #[test]
    fn one_in_about_two_proposals_per_dimension_is_accepted_whatever_the_matrix() {
        for size in [1, 2, 9, 40, 128] {
            for (index, spectrum) in SPECTRA.iter().enumerate() {
                let values: Vec<f64> = (0..size).map(spectrum).collect();
                let form = DrawnMatrix::of(&turned(&values).0, 1.0).unwrap();
                let envelope = form.envelope().unwrap();
                let mut generator = NoiseGenerator::insecure_from_seed(9);
                let tries = 12 * size + 40;
                let accepted =
                    (0..tries).filter(|_| envelope.propose(&mut generator, &form).is_some());
                let share = accepted.count() as f64 / tries as f64;
                assert!(share > 0.15 / size as f64, "{size}, {index}: {share}");
            }
        }
    }

    /// On the sphere, along eigenvectors and between them, where the envelope is tightest: it
    /// covers, with the margin and not much more.
    #[test]
    fn the_envelope_covers_every_direction_and_no_point_by_less_than_its_margin() {
        for size in [1, 2, 9, 40] {
            for spectrum in SPECTRA {
                let values: Vec<f64> = (0..size).map(spectrum).collect();
                let (matrix, vectors) = turned(&values);
                let form = DrawnMatrix::of(&matrix, 1.0).unwrap();
                let envelope = form.envelope().unwrap();
                let mut nearest = f64::INFINITY;
                for i in 0..size {
                    for j in 0..size.min(6) {
                        for part in [0.0, 0.01, 0.3, 1.0] {
                            let between = vectors.column(i) + vectors.column(j) * part;
                            if between.norm() < 0.5 {
                                continue;
                            }
                            let along = between.normalize() * (f64::from(1 << RADIUS_BITS) - 2.0);
                            let point: Vec<i64> = along.iter().map(|x| x.trunc() as i64).collect();
                            let cost = (0..size).map(|i| {
                                let away = i128::from(16 * point[i] - envelope.centre(i, &point));
                                i128::from(envelope.coordinates[i].precision) * away * away
                            });
                            let lacking = envelope.lacking(&form, &point, cost.sum()).unwrap();
                            nearest = nearest.min(lacking as f64 / (1_u64 << UNIT_BITS) as f64);
                        }
                    }
                }
                // The margin is 1/16 and ρ/512, of ρ up to the size; rounding takes little of it.
                let margin = 0.0625 + size as f64 / 512.0;
                assert!((0.05..=margin + 0.01).contains(&nearest), "{size}: {nearest}");
            }
        }
    }

    #[test]
    fn the_exponent_is_that_of_the_matrix_to_what_the_slack_allows() {
        let (matrix, _) = turned(&[3.0, 1.0, 0.2, -0.7, 0.1]);
        // The last one is near the largest norm allowed.
        for scale in [0.37, 1e-5, 80.0, 5e-8] {
            let form = DrawnMatrix::of(&matrix, scale).unwrap();
            // One step per row of each entry's error, and one for rounding below.
            let allowed = DirectionMechanism::range_slack(scale, 5) * 6.0 / 22.0;
            for k in 0..50_i64 {
                let point: Vec<i64> =
                    (0..5).map(|i| (k * 7919 + i * 104_729) % 4001 - 2000).collect();
                let squared_norm = point.iter().map(|x| i128::from(*x) * i128::from(*x)).sum();
                let steps = form.exponent(&point, squared_norm) as f64;
                let exponent = steps / f64::from(1 << FINENESS) * scale;
                let u = direction(&point.iter().map(|x| *x as f64).collect::<Vec<_>>());
                let exact = u.dot(&(&matrix * &u));
                let rounding = 1e-14;
                assert!((exponent - exact).abs() <= allowed + rounding, "{exponent} {exact}");
            }
        }
    }

    #[test]
    fn matrices_that_are_no_numbers_or_too_large_are_refused_before_anything_is_drawn() {
        let mechanism = DirectionMechanism::with_scale(1e-3).unwrap();
        let mut generator = NoiseGenerator::insecure_from_seed(1);
        assert!(mechanism.draw(&mut generator, &Matrix::identity(1025, 1025)).is_err());
        for wrong in [f64::NAN, f64::INFINITY, 1e6] {
            let mut matrix = Matrix::identity(4, 4);
            matrix[(2, 1)] = wrong;
            assert!(mechanism.draw(&mut generator, &matrix).is_err());
        }
        assert_eq!(generator.words(), 0);
        for scale in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(DirectionMechanism::with_scale(scale).is_err());
        }
        assert!(mechanism.check_norm(6e4).is_ok() && mechanism.check_norm(7e4).is_err());
    }
}
