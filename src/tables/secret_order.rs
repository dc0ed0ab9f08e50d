//! Random choices among private rows or persons that nobody outside can know: who trains, who is
//! held out, who is sampled, which rows of a person are kept, which random label a row gets.
//!
//! A table has no order: two tables are neighbours if they differ in one record (or in one person's
//! records), wherever it is in the file. If these choices went by the place in the file with a seed
//! that is public, a record that moves within a sorted file would change the side of many others.
//! So every choice is drawn with a key that nobody outside has.
//!
//! *Proof.* Let D and D′ be neighbours, and let σ match their records: all but one are the same.
//! A choice is drawn from a distribution that does not change when places are renumbered (a
//! uniformly random order, or independent labels). So the choices for D and those for D′, matched
//! by σ, have the same distribution: for every draw for D there is one for D′ under which every
//! other record has the same role. Given these, a mechanism sees two tables that differ in one
//! record, and averaging over draws keeps any (ε, δ). Several releases of one file share its
//! choices, and the same matching serves all of them. What the order of a sum changes is its
//! rounding, which every sensitivity includes for both neighbours.
//!
//! *The key* is an HMAC of the rows in their order, under the user's secret, so it is as good as
//! random for each file and each order of its rows. The same file has the same key in every
//! program: so a run can be resumed, a held-out record stays held out, and nothing is kept beside
//! the secret.

use rand::SeedableRng;
use rand::rngs::ChaCha20Rng;
use sha2::{Digest, Sha256};

/// What is chosen. Different choices are independent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowChoice {
    /// The order of rows where their number is hidden.
    Size,
    /// The rows of a sample.
    Sample,
    /// The rows that are kept of each person.
    OfPersons,
    /// Which rows are held out of training.
    HeldOut,
    /// Which of the others train, if the plan states how many.
    Training,
    /// The order of the rows that train, for methods that release a number for each.
    Places,
    /// Random labels of rows in a private ranking.
    Labels,
}

/// The key of all random choices among the rows of a private table.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct SecretOrder([u8; 32]);

/// The key stays unseen.
impl std::fmt::Debug for SecretOrder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SecretOrder(…)")
    }
}

impl SecretOrder {
    /// An order with this key.
    pub fn new(key: [u8; 32]) -> Self {
        Self(key)
    }

    /// An order that everybody can compute, for runs that protect nothing because their noise is
    /// known.
    pub const KNOWN: Self = Self([0; 32]);

    /// The generator for one choice. Plans with another seed choose independently.
    pub fn generator(&self, choice: RowChoice, seed: u64) -> ChaCha20Rng {
        let mut hash = Sha256::new();
        hash.update(self.0);
        hash.update([choice as u8]);
        hash.update(seed.to_le_bytes());
        ChaCha20Rng::from_seed(hash.finalize().into())
    }
}

#[cfg(test)]
mod tests {
    use rand::Rng as _;

    use super::*;

    #[test]
    fn choices_keys_and_seeds_have_generators_of_their_own_and_the_same_again() {
        let first = |order: &SecretOrder, choice, seed| order.generator(choice, seed).next_u64();
        let (one, other) = (SecretOrder::new([1; 32]), SecretOrder::new([2; 32]));
        let drawn = first(&one, RowChoice::HeldOut, 5);
        assert_eq!(drawn, first(&one, RowChoice::HeldOut, 5));
        assert_ne!(drawn, first(&one, RowChoice::HeldOut, 6));
        assert_ne!(drawn, first(&one, RowChoice::Sample, 5));
        assert_ne!(drawn, first(&other, RowChoice::HeldOut, 5));
        assert_eq!(format!("{one:?}"), "SecretOrder(…)");
    }
}
