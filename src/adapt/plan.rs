//! Every release that a run will make, before data are touched.

use crate::error::Result;
use crate::privacy::accountant::{PlannedMechanism, calibrate};
use crate::privacy::{Calibrated, PlannedRelease, Target};

/// Calibration, cost preview, ledger and accountant all read this object.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    pub releases: Vec<PlannedRelease>,
    /// Steps that the run will take.
    pub steps: u64,
    /// How large the released signal is, in the units of the first release: with σ
    /// this gives the noise-to-signal estimate. A bound, not a look at private data.
    pub signal: f64,
    /// What the user should know before launching.
    pub warnings: Vec<String>,
}

impl Plan {
    pub fn calibrate(&self, target: Target) -> Result<Calibrated> {
        calibrate(&self.releases, target)
    }

    /// Numbers released in total, for the cost panel.
    pub fn numbers(&self) -> u64 {
        let each = self.releases.iter().map(|release| {
            let PlannedMechanism::Gaussian { coordinates, .. } = release.mechanism;
            release.count * coordinates
        });
        each.sum()
    }
}
