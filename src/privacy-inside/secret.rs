//! The user's secret: the key under which everything written about private rows is hashed.
//!
//! A fingerprint without a secret reveals records: anyone who knows all rows of a file but one can
//! try values for the last until the hash is right. HMAC-SHA256 under 32 random bytes that stay in
//! the user's configuration prevents this, and the same file still has the same name in every
//! workspace of this user. A plain fingerprint of an earlier version can be converted: the keyed
//! fingerprint is the HMAC of the plain one's text.

use std::borrow::Cow;
use std::fmt;
use std::path::{Path, PathBuf};

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use crate::data::fingerprint::{self, InOrder};
use crate::data::overlap;
use crate::data::secret_order::SecretOrder;

const KEYED: &str = "hmac-sha256:";
/// The text whose HMAC is the key id; such texts are not fingerprints.
const ID: &[u8] = b"halflight key id";
const OVERLAP: &[u8] = b"halflight overlap";
const ORDER: &[u8] = b"halflight secret order of rows ";
const IN_ORDER: &str = "halflight rows in order ";

/// 32 random bytes, and where they are kept. `Debug` does not show the bytes.
#[derive(Clone)]
pub struct Secret {
    bytes: [u8; 32],
    place: PathBuf,
}

impl Secret {
    /// A secret that was read from `place`.
    pub fn new(bytes: [u8; 32], place: &Path) -> Self {
        Self { bytes, place: place.to_path_buf() }
    }

    /// The file that it was read from.
    pub fn place(&self) -> &Path {
        &self.place
    }

    /// An id that distinguishes secrets, and reveals nothing else about this one.
    pub fn id(&self) -> String {
        format!("key-{}", &hex(&self.hmac(ID))[..12])
    }

    /// The keyed fingerprint for a plain one.
    pub fn fingerprint(&self, plain: &str) -> String {
        format!("{KEYED}{}", hex(&self.hmac(plain.as_bytes())))
    }

    /// The key of all random choices among these rows.
    pub fn order_of(&self, rows: &InOrder) -> SecretOrder {
        SecretOrder::new(self.hmac([ORDER, in_words(rows).as_bytes()].concat().as_slice()))
    }

    /// The keyed name of these rows in this order.
    pub fn name_in_order(&self, rows: &InOrder) -> String {
        self.fingerprint(&format!("{IN_ORDER}{}", in_words(rows)))
    }

    /// The key under which rows are compared. It does not reveal the secret.
    pub fn overlap_key(&self) -> overlap::DigestKey {
        overlap::DigestKey::new(self.hmac(OVERLAP))
    }

    /// `text` with every plain fingerprint in it replaced by the keyed one. Half a fingerprint at
    /// the end of a torn line is left out.
    pub fn covered<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let prefix = fingerprint::PREFIX;
        if !text.contains(prefix) {
            return Cow::Borrowed(text);
        }
        let mut covered = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(start) = rest.find(prefix) {
            let (before, from) = rest.split_at(start);
            covered += before;
            let body = &from[prefix.len()..];
            let digits = body.bytes().take_while(u8::is_ascii_hexdigit).count();
            let rows = body[digits..]
                .strip_prefix(':')
                .map_or(0, |rows| 1 + rows.bytes().take_while(u8::is_ascii_digit).count());
            let (plain, after) = from.split_at(prefix.len() + digits + rows);
            if digits == 64 && rows > 1 {
                covered += &self.fingerprint(plain);
            } else {
                covered += KEYED;
                covered += "cut";
            }
            rest = after;
        }
        covered += rest;
        Cow::Owned(covered)
    }

    fn hmac(&self, message: &[u8]) -> [u8; 32] {
        // HMAC accepts keys of any length, so this never fails.
        let Ok(mac) = Hmac::<Sha256>::new_from_slice(&self.bytes) else { return [0; 32] };
        mac.chain_update(message).finalize().into_bytes().into()
    }
}

/// Compares the bytes: the same secret in two places is one secret.
impl PartialEq for Secret {
    fn eq(&self, other: &Self) -> bool {
        self.bytes == other.bytes
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Secret({} in {})", self.id(), self.place.display())
    }
}

/// Whether this is the fingerprint of an earlier version, which kept no secret.
pub fn is_plain(fingerprint: &str) -> bool {
    fingerprint.starts_with(fingerprint::PREFIX)
}

fn in_words(rows: &InOrder) -> String {
    format!("{} {:032x}", rows.rows, rows.order)
}

/// These bytes in hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let pair = |byte: u8| [DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]];
    bytes.iter().flat_map(|&byte| pair(byte)).map(char::from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret(byte: u8) -> Secret {
        Secret::new([byte; 32], Path::new("/home/ada/.config/halflight/secret"))
    }

    /// Made with Python: `hmac.new(b"\1"*32, text, "sha256")`.
    #[test]
    fn fingerprints_are_the_hmac_of_the_plain_ones() {
        assert_eq!(
            secret(1).fingerprint("sha256-sum:00:1"),
            "hmac-sha256:296220f559838d28876ef432f7a98549e86320a73b46b1bdad70688e5b4fed0c"
        );
        assert_eq!(secret(1).id(), "key-54db9e144ea7");
        assert_ne!(secret(1).id(), secret(2).id());
        let shown = format!("{:?}", secret(1));
        assert!(shown.contains("key-") && !shown.contains("1, 1"), "{shown}");
    }

    #[test]
    fn plain_fingerprints_in_a_text_are_covered_and_halves_of_them_too() {
        let plain = format!("sha256-sum:{}:120", "ab".repeat(32));
        let keyed = secret(3).fingerprint(&plain);
        let text = format!("{{\"content\":\"{plain}\",\"view\":\"{plain}\",\"rows\":120}}");
        let covered = secret(3).covered(&text);
        assert_eq!(
            covered,
            format!("{{\"content\":\"{keyed}\",\"view\":\"{keyed}\",\"rows\":120}}")
        );
        for end in plain.len() - 4..plain.len() {
            let torn = format!("x {}", &plain[..end]);
            let covered = secret(3).covered(&torn);
            assert!(!covered.contains("abab"), "{covered}");
        }
        assert_eq!(secret(3).covered("nothing here"), "nothing here");
    }
}
