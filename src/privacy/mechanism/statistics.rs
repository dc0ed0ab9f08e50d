//! Goodness of fit, for the tests of the samplers.

/// Pearson's statistic with its degrees of freedom.
#[derive(Debug, Clone, Copy)]
pub struct ChiSquare {
    statistic: f64,
    freedom: f64,
}

impl ChiSquare {
    /// Within what the right distribution exceeds once in 10⁵, by the cube-root normal
    /// approximation of Wilson and Hilferty.
    pub fn is_plausible(&self) -> bool {
        let ninth = 2.0 / (9.0 * self.freedom);
        let threshold = self.freedom * (1.0 - ninth + 4.265 * ninth.sqrt()).powi(3);
        self.statistic < threshold
    }
}

/// χ² of counts against masses that sum to one over all outcomes; cells that expect
/// fewer than ten, and the outcomes that have no cell, are pooled.
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
