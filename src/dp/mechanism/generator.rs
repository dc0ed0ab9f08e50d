//! The source of noise bits.

use rand::rngs::{ChaCha20Rng, SysRng};
use rand::{Rng, SeedableRng};
use serde::{Deserialize, Serialize};

use crate::blind::is_blind;
use crate::error::{Error, Result};

/// The source of a run's noise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoiseSource {
    /// From the operating system; nobody can repeat it.
    #[default]
    Secret,
    /// From a seed that somebody typed, for debugging: anyone who knows it can remove the noise, so
    /// the run guarantees nothing.
    #[serde(rename = "known_seed")]
    Seeded(u64),
}

impl NoiseSource {
    /// Seeded if there is a seed.
    pub fn of_seed(seed: Option<u64>) -> Self {
        seed.map_or(Self::Secret, Self::Seeded)
    }

    /// The known seed, if there is one.
    pub fn seed(self) -> Option<u64> {
        match self {
            Self::Secret => None,
            Self::Seeded(seed) => Some(seed),
        }
    }

    /// Whether the noise protects anything.
    pub fn is_secret(&self) -> bool {
        *self == Self::Secret
    }

    /// A new generator of this noise.
    pub fn generator(self) -> Result<NoiseGenerator> {
        match self {
            Self::Secret => NoiseGenerator::from_os(),
            Self::Seeded(seed) => Ok(NoiseGenerator::insecure_from_seed(seed)),
        }
    }
}

/// A ChaCha20 stream. Private runs seed it from the operating system and keep no copy of the seed;
/// tests provide a seed.
pub struct NoiseGenerator {
    source: NoiseSource,
    stream: ChaCha20Rng,
    words: u64,
}

impl NoiseGenerator {
    /// Seeded with 32 bytes of the operating system. The seed is not stored anywhere.
    pub fn from_os() -> Result<Self> {
        if is_blind() {
            return Ok(Self { source: NoiseSource::Secret, ..Self::insecure_from_seed(0) });
        }
        let stream = ChaCha20Rng::try_from_rng(&mut SysRng).map_err(|source| {
            Error::failed(format!("the operating system gives no random bytes: {source}"))
                .cure("private noise needs them; check that /dev/urandom is readable")
        })?;
        Ok(Self { source: NoiseSource::Secret, stream, words: 0 })
    }

    /// A known stream, without any privacy. For tests, and for public data in the private role.
    pub fn insecure_from_seed(seed: u64) -> Self {
        let stream = ChaCha20Rng::seed_from_u64(seed);
        Self { source: NoiseSource::Seeded(seed), stream, words: 0 }
    }

    /// The source of its stream.
    pub fn source(&self) -> NoiseSource {
        self.source
    }

    /// How many words of the stream have been used. Every draw advances it, so no noise is used
    /// twice.
    pub fn words(&self) -> u64 {
        self.words
    }

    /// The next 64 bits.
    pub(super) fn word(&mut self) -> u64 {
        self.words += 1;
        self.stream.next_u64()
    }

    /// Uniform on {0, …, `bound` − 1}, exactly; 0 for a bound of 0 or 1.
    ///
    /// Lemire's method: the 2⁶⁴ words, spread over `bound` equal intervals by one multiplication,
    /// fall into each of them ⌊2⁶⁴/bound⌋ times or once more. The 2⁶⁴ mod `bound` surplus words are
    /// rejected.
    pub(super) fn below(&mut self, bound: u64) -> u64 {
        if bound <= 1 {
            return 0;
        }
        loop {
            let product = u128::from(self.word()) * u128::from(bound);
            let low = product as u64;
            // The remainder is below `bound`: the division is rarely needed.
            if low >= bound || low >= bound.wrapping_neg() % bound {
                return (product >> 64) as u64;
            }
        }
    }
}

/// Shows nothing about the stream.
impl std::fmt::Debug for NoiseGenerator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NoiseGenerator").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_generators_of_the_operating_system_differ_and_a_seed_repeats() {
        let word = |mut generator: NoiseGenerator| generator.below(u64::MAX);
        assert_ne!(
            word(NoiseGenerator::from_os().unwrap()),
            word(NoiseGenerator::from_os().unwrap())
        );
        assert_eq!(
            word(NoiseGenerator::insecure_from_seed(7)),
            word(NoiseGenerator::insecure_from_seed(7))
        );
    }

    #[test]
    fn debug_shows_no_state() {
        let shown = format!("{:?}", NoiseGenerator::insecure_from_seed(7));
        assert_eq!(shown, "NoiseGenerator { .. }");
    }

    /// Counts of `below(bound) % 3` must be a third each. At bound = 3·2⁶² a
    /// multiplication without rejection would give residue 0 one half.
    #[test]
    fn uniform_integers_have_no_bias() {
        let mut generator = NoiseGenerator::insecure_from_seed(1);
        for bound in [3, 9, 3 << 40, 3 << 62] {
            let mut counts = [0_u32; 3];
            for _ in 0..30_000 {
                let drawn = generator.below(bound);
                assert!(drawn < bound);
                counts[(drawn % 3) as usize] += 1;
            }
            let chi_square: f64 =
                counts.iter().map(|count| (f64::from(*count) - 1e4).powi(2) / 1e4).sum();
            // Two degrees of freedom: exceeded once in 20 000.
            assert!(chi_square < 20.0, "bound {bound}: {counts:?}");
        }
        assert_eq!((generator.below(0), generator.below(1)), (0, 0));
    }
}
