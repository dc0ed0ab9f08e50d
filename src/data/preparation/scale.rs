//! Affine maps that standardise features.

use serde::{Deserialize, Serialize};

/// x ↦ (x − centre) / width, and `fill` for an x that is missing.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Standardisation {
    pub centre: f64,
    pub width: f64,
    /// In the units of x: the public mean.
    pub fill: f64,
}

impl Standardisation {
    pub const IDENTITY: Self = Self { centre: 0.0, width: 1.0, fill: 0.0 };

    pub fn apply(self, x: f64) -> f64 {
        let x = if x.is_nan() { self.fill } else { x };
        (x - self.centre) / self.width
    }

    /// Mean and standard deviation of the values that are not missing; a constant is moved to 0 and
    /// not scaled.
    pub fn standard(values: impl Iterator<Item = f64> + Clone) -> Self {
        let present = values.filter(|x| !x.is_nan());
        // In units of the largest value nothing overflows.
        let largest = present.clone().fold(0.0, |largest: f64, x| largest.max(x.abs()));
        let Some(first) = present.clone().next().filter(|_| largest > 0.0) else {
            return Self::IDENTITY;
        };
        let count = present.clone().count() as f64;
        let mean = present.clone().map(|x| x / largest).sum::<f64>() / count;
        let variance = present.map(|x| (x / largest - mean).powi(2)).sum::<f64>() / count;
        let deviation = variance.sqrt();
        if deviation <= 1e-12 {
            return Self { centre: first, width: 1.0, fill: first };
        }
        let mean = mean * largest;
        Self { centre: mean, width: deviation * largest, fill: mean }
    }

    pub fn is_sound(self) -> bool {
        [self.centre, self.fill].iter().all(|x| x.is_finite())
            && self.width.is_finite()
            && self.width > 0.0
    }
}
