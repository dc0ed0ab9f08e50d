//! Affine maps that standardise.

use serde::{Deserialize, Serialize};

/// x ↦ (x − centre) / width.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Scale {
    pub centre: f64,
    pub width: f64,
}

impl Scale {
    pub const IDENTITY: Self = Self { centre: 0.0, width: 1.0 };

    pub fn apply(self, x: f64) -> f64 {
        (x - self.centre) / self.width
    }

    /// Mean and standard deviation; a constant is moved to 0 and not divided.
    pub fn standard(values: impl Iterator<Item = f64> + Clone) -> Self {
        // In units of the largest value nothing overflows.
        let largest = values.clone().fold(0.0, |largest: f64, x| largest.max(x.abs()));
        let Some(first) = values.clone().next().filter(|_| largest > 0.0) else {
            return Self::IDENTITY;
        };
        let count = values.clone().count() as f64;
        let mean = values.clone().map(|x| x / largest).sum::<f64>() / count;
        let variance = values.map(|x| (x / largest - mean).powi(2)).sum::<f64>() / count;
        let deviation = variance.sqrt();
        if deviation <= 1e-12 {
            return Self { centre: first, width: 1.0 };
        }
        Self { centre: mean * largest, width: deviation * largest }
    }

    pub fn is_sound(self) -> bool {
        self.centre.is_finite() && self.width.is_finite() && self.width > 0.0
    }
}
