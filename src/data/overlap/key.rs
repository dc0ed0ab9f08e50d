//! The key that makes digests of rows unpredictable, and the hashes with this key.

use sha2::{Digest, Sha256};

use super::{CLASSES, HALVES};
use crate::column::{Cell, is_missing};

/// The number of groups into which columns are divided by their names. A class has a column if it
/// has its group.
pub(super) const GROUPS: usize = 32;

/// The key of all digests of one user.
#[derive(Clone, PartialEq, Eq)]
pub struct DigestKey {
    cells: [u64; 4],
    names: [u64; 4],
    /// The groups in each class that takes about half of the columns.
    pub(super) halves: [u32; HALVES],
    pub(super) classes: [[u64; 2]; CLASSES],
}

impl DigestKey {
    /// The key with these bytes.
    pub fn new(bytes: [u8; 32]) -> Self {
        let mut counter = 0u64;
        let mut word = || {
            let digest =
                Sha256::new().chain_update(bytes).chain_update(counter.to_le_bytes()).finalize();
            counter += 1;
            digest.first_chunk().map_or(0, |word| u64::from_le_bytes(*word))
        };
        // Multipliers are odd, so that no product loses bits.
        let mut hash = || [word(), word() | 1, word(), word() | 1];
        let (cells, names) = (hash(), hash());
        let mut halves = [0; HALVES];
        halves.fill_with(|| word() as u32);
        let mut classes = [[0; 2]; CLASSES];
        classes.fill_with(|| [word(), word()]);
        Self { cells, names, halves, classes }
    }

    /// The digest of a number. Numbers that agree in single precision count as the same, so a copy
    /// with fewer digits is still a copy.
    #[inline]
    pub(super) fn number(&self, number: f64) -> u64 {
        mix(&self.cells, word(number))
    }

    /// The digest of a cell's value, for any name of its column.
    pub(super) fn cell(&self, cell: Cell<'_>) -> u64 {
        match cell {
            Cell::Number(number) => self.number(number),
            Cell::Text(text) if is_missing(&text) => self.number(f64::NAN),
            Cell::Text(text) => bytes(&self.cells, text.as_bytes()),
            Cell::Vector(vector) => {
                vector.numbers().fold(0, |sum: u64, x| sum.rotate_left(1) ^ self.number(x))
            }
        }
    }

    /// The group of a column, and the odd factor that binds its cells to its name.
    pub(super) fn column(&self, name: &str, position: usize) -> (usize, u64) {
        let hash = mix(&self.names, bytes(&self.names, name.as_bytes()) ^ position as u64);
        ((hash >> 59) as usize % GROUPS, mix(&self.names, !hash) | 1)
    }

    /// The digest of a row's place: the content of its file and its line there.
    pub(super) fn place(&self, content: &[u8; 32], line: u64) -> u64 {
        mix(&self.names, bytes(&self.names, content) ^ line)
    }
}

const MISSING: u64 = 1 << 33;

/// The part of a number that counts.
#[inline]
pub(super) fn word(number: f64) -> u64 {
    // Adding zero makes −0 a 0.
    if number.is_nan() { MISSING } else { 1 << 32 | u64::from((number as f32 + 0.0).to_bits()) }
}

#[inline]
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}

/// Fast, and only good enough for sums: nothing of it leaves without [`siphash`].
#[inline]
fn mix(key: &[u64; 4], word: u64) -> u64 {
    fold(fold(word ^ key[0], key[1]) ^ key[2], key[3])
}

fn bytes(key: &[u64; 4], bytes: &[u8]) -> u64 {
    let start = (bytes.len() as u64 | 1 << 34) ^ key[2];
    let state = bytes.chunks(8).fold(start, |state, chunk| {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        fold(state ^ key[0], key[1]) ^ u64::from_le_bytes(word).rotate_left(32)
    });
    mix(key, state)
}

/// SipHash-2-4 of each word. Only this is ever written about a row.
#[inline]
pub(super) fn siphash(key: [u64; 2], words: &mut [u64]) {
    for word in words {
        let mut v = [
            key[0] ^ 0x736f_6d65_7073_6575,
            key[1] ^ 0x646f_7261_6e64_6f6d,
            key[0] ^ 0x6c79_6765_6e65_7261,
            key[1] ^ 0x7465_6462_7974_6573,
        ];
        for block in [*word, 8 << 56] {
            v[3] ^= block;
            round(&mut v);
            round(&mut v);
            v[0] ^= block;
        }
        v[2] ^= 0xff;
        for _ in 0..4 {
            round(&mut v);
        }
        *word = v[0] ^ v[1] ^ v[2] ^ v[3];
    }
}

#[inline]
fn round(v: &mut [u64; 4]) {
    v[0] = v[0].wrapping_add(v[1]);
    v[2] = v[2].wrapping_add(v[3]);
    v[1] = v[1].rotate_left(13) ^ v[0];
    v[3] = v[3].rotate_left(16) ^ v[2];
    v[0] = v[0].rotate_left(32);
    v[2] = v[2].wrapping_add(v[1]);
    v[0] = v[0].wrapping_add(v[3]);
    v[1] = v[1].rotate_left(17) ^ v[2];
    v[3] = v[3].rotate_left(21) ^ v[0];
    v[2] = v[2].rotate_left(32);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The eighth of the reference implementation's test vectors.
    #[test]
    fn siphash_agrees_with_its_authors() {
        let key = [0x0706_0504_0302_0100, 0x0f0e_0d0c_0b0a_0908];
        let mut words = [0x0706_0504_0302_0100];
        siphash(key, &mut words);
        assert_eq!(words, [0x93f5_f579_9a93_2462]);
    }

    #[test]
    fn cells_agree_by_value_and_differ_otherwise() {
        let key = DigestKey::new([7; 32]);
        let of = |text: &'static str| key.cell(Cell::parse(text));
        assert_eq!(of("1"), of("+1.0"));
        assert_eq!(of("0"), key.number(-0.0));
        assert_eq!(of("NA"), key.number(f64::NAN));
        assert_eq!(key.number(f64::from(1.1f32)), of("1.1"));
        let texts = ["1", "2", "a", "b", "ab", "aaaaaaaab", "aaaaaaaac", "baaaaaaaa", ""];
        for (at, one) in texts.iter().enumerate() {
            for other in &texts[..at] {
                assert_ne!(of(one), of(other), "{one} {other}");
            }
        }
        assert_ne!(DigestKey::new([8; 32]).number(1.0), key.number(1.0));
    }
}
