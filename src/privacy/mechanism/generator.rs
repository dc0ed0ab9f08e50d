//! Where noise bits come from.

use rand::rngs::ChaCha20Rng;

use crate::error::Result;

/// A ChaCha20 stream. Private runs seed it from the operating system and keep
/// no copy of the seed; tests inject one.
pub struct NoiseGenerator(#[allow(dead_code)] ChaCha20Rng);

impl NoiseGenerator {
    /// Seeded from the operating system. The seed is not stored anywhere.
    pub fn from_os() -> Result<Self> {
        todo!()
    }

    /// A known stream: no privacy at all. For tests only.
    pub fn insecure_from_seed(_seed: u64) -> Self {
        todo!()
    }
}
