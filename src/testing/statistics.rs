//! Goodness-of-fit tests for the samplers.

/// Pearson's statistic with its degrees of freedom.
#[derive(Debug, Clone, Copy)]
pub struct ChiSquare {
    statistic: f64,
    freedom: f64,
}

impl ChiSquare {
    /// Whether the statistic is below the value that the right distribution exceeds once in 10⁵, by
    /// the cube-root normal approximation of Wilson and Hilferty.
    pub fn is_plausible(&self) -> bool {
        let ninth = 2.0 / (9.0 * self.freedom);
        let threshold = self.freedom * (1.0 - ninth + 4.265 * ninth.sqrt()).powi(3);
        self.statistic < threshold
    }
}

/// χ² of counts against masses that sum to one over all outcomes. Cells that expect fewer than ten,
/// and outcomes without a cell, are pooled.
pub fn chi_square(counts: &[f64], masses: &[f64]) -> ChiSquare {
    assert_eq!(counts.len(), masses.len());
    let total: f64 = counts.iter().sum();
    let (mut statistic, mut cells) = (0.0, 0.0);
    let (mut left_seen, mut left_expected) = (total, total);
    for (seen, mass) in counts.iter().zip(masses) {
        let expected = total * mass;
        if expected >= 10.0 {
            statistic += (seen - expected).powi(2) / expected;
            cells += 1.0;
            left_seen -= seen;
            left_expected -= expected;
        }
    }
    if left_expected >= 1.0 {
        statistic += (left_seen - left_expected).powi(2) / left_expected;
        cells += 1.0;
    }
    ChiSquare { statistic, freedom: cells - 1.0 }
}

/// How often each of −reach, …, reach was drawn, without values beyond.
pub fn histogram(reach: i64, sample: &[i64]) -> Vec<f64> {
    let mut counts = vec![0.0; 2 * reach as usize + 1];
    for drawn in sample {
        if let Some(count) = usize::try_from(drawn + reach).ok().and_then(|i| counts.get_mut(i)) {
            *count += 1.0;
        }
    }
    counts
}

/// Masses ∝ `weight(k)` of k = −reach, …, reach, beyond which there is almost none.
pub fn symmetric_masses(reach: i64, weight: impl Fn(f64) -> f64) -> Vec<f64> {
    let weights: Vec<f64> = (-reach..=reach).map(|k| weight(k as f64)).collect();
    let total: f64 = weights.iter().sum();
    weights.iter().map(|weight| weight / total).collect()
}

/// Draws in units of their scale, in ascending order.
pub fn standardised(sample: &[i64], scale: u64) -> Vec<f64> {
    let mut z: Vec<f64> = sample.iter().map(|drawn| *drawn as f64 / scale as f64).collect();
    z.sort_by(f64::total_cmp);
    z
}

/// The value that [`kolmogorov_smirnov`] exceeds once in a thousand under the right distribution.
pub const KOLMOGOROV_THRESHOLD: f64 = 1.95;

/// Kolmogorov–Smirnov distance of an ascending sample to a distribution function, times the
/// root of the sample's size.
pub fn kolmogorov_smirnov(ascending: &[f64], distribution: impl Fn(f64) -> f64) -> f64 {
    let n = ascending.len() as f64;
    let distances = ascending.iter().enumerate().map(|(index, drawn)| {
        let expected = distribution(*drawn);
        (expected - index as f64 / n).abs().max((expected - (index + 1) as f64 / n).abs())
    });
    distances.fold(0.0, f64::max) * n.sqrt()
}
