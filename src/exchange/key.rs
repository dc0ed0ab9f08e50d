//! The key pair of a site, made once and kept beside its ledger; and the one of a run with one noise for all,
//! from which its masks follow.

use std::fmt::{self, Write as _};
use std::path::Path;

use curve25519_dalek::MontgomeryPoint;
use ed25519_dalek::{Signature, Signer as _, SigningKey, VerifyingKey};
use hmac::{Hmac, KeyInit as _, Mac as _};
use rand::TryRng as _;
use rand::rngs::SysRng;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::error::{Doing as _, Error, Result};
use crate::files;

/// The file of the key pair, in the folder of the ledger.
pub const FILE: &str = "site.key";
/// The bytes of a signature.
pub const SIGNATURE: usize = 64;

/// The key with which a site signs.
pub struct SiteKey(SigningKey);

/// The key with which others check its messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct PublicKey(VerifyingKey);

impl SiteKey {
    /// The key in this folder; made if there is none.
    pub fn find(folder: &Path) -> Result<Self> {
        let path = folder.join(FILE);
        if !path.exists() {
            let bytes = random()?;
            files::create_private_folder(folder).doing("create the workspace folder", folder)?;
            let text = hexadecimal(&bytes) + "\n";
            files::make_private_once(&path, text.as_bytes()).doing("save the site's key", &path)?;
        }
        let text = std::fs::read_to_string(&path).doing("read the site's key", &path)?;
        let bytes = bytes_of(text.trim()).ok_or_else(|| {
            Error::failed("this is not the key of a site: 64 hexadecimal digits belong here")
                .at(path.display().to_string())
                .cure("bring the file back from a backup, or remove it: a new key is made then")
        })?;
        files::close_private_file(&path).doing("check who may read the site's key", &path)?;
        Ok(Self(SigningKey::from_bytes(&bytes)))
    }

    /// The key that others check with.
    pub fn public(&self) -> PublicKey {
        PublicKey(self.0.verifying_key())
    }

    pub(crate) fn sign(&self, bytes: &[u8]) -> [u8; SIGNATURE] {
        self.0.sign(bytes).to_bytes()
    }
}

/// The secret key of a site in one joint run, from which its masks with every other site follow.
///
/// Two sites have a secret in common by X25519. HKDF with SHA-256 (RFC 5869) makes of it a key for each
/// release of the run: salted with the digest of what all agreed on, told apart by the names of the two
/// sites and the number of the release. Without the names a site could say the public key of another one
/// as its own, and the masks of a third site with the two would cancel.
#[derive(Clone)]
pub struct MaskKey([u8; 32]);

impl MaskKey {
    /// The key in this file; made if there is none. Nobody else has it.
    pub fn find(path: &Path) -> Result<Self> {
        if !path.exists() {
            let text = hexadecimal(&random()?) + "\n";
            files::make_private_once(path, text.as_bytes())
                .doing("save the key of the masks", path)?;
        }
        Self::read(path)
    }

    /// The key in this file.
    pub fn read(path: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(path).doing("read the key of the masks", path)?;
        bytes_of(text.trim()).map(Self).ok_or_else(|| {
            Error::failed("this is not the key of a run's masks").at(path.display().to_string())
        })
    }

    /// The public key, as others get it.
    pub fn public(&self) -> String {
        hexadecimal(&MontgomeryPoint::mul_base_clamped(self.0).to_bytes())
    }

    /// The key of the mask with the site of this public key, for one release. `names` are those of the
    /// two sites, in the order of all sites.
    pub(crate) fn with(
        &self,
        other: &str,
        protocol: &str,
        (names, number): ([&str; 2], u64),
    ) -> Result<[u8; 32]> {
        let wrong = || Error::refused("its key for masks is not valid");
        let shared = MontgomeryPoint(bytes_of(other).ok_or_else(wrong)?).mul_clamped(self.0);
        // A point of small order makes a secret that everybody knows.
        if shared.to_bytes() == [0; 32] {
            return Err(wrong());
        }
        let pair = keyed(protocol.as_bytes(), &shared.to_bytes())?;
        keyed(&pair, &about(names, number))
    }
}

/// What tells the masks of a run apart: the names of the two sites, each behind its length, and the number
/// of the release. The last byte is that of the first block of HKDF.
fn about(names: [&str; 2], number: u64) -> Vec<u8> {
    let mut text = b"halflight mask".to_vec();
    for name in names {
        text.extend((name.len() as u64).to_le_bytes());
        text.extend(name.as_bytes());
    }
    text.extend(number.to_le_bytes());
    text.push(1);
    text
}

/// HMAC with SHA-256.
fn keyed(key: &[u8], text: &[u8]) -> Result<[u8; 32]> {
    let mac = Hmac::<Sha256>::new_from_slice(key);
    let mac = mac.map_err(|_| Error::failed("a key for masks cannot be made"))?;
    Ok(mac.chain_update(text).finalize().into_bytes().into())
}

fn random() -> Result<[u8; 32]> {
    let mut bytes = [0; 32];
    SysRng.try_fill_bytes(&mut bytes).map_err(|error| {
        Error::failed(format!("the operating system gives no random numbers: {error}"))
    })?;
    Ok(bytes)
}

impl fmt::Debug for MaskKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MaskKey(…)")
    }
}

impl PublicKey {
    /// A short form for people to compare: 16 digits of the SHA-256 of the key.
    pub fn fingerprint(&self) -> String {
        let digits = hexadecimal(&Sha256::digest(self.0.as_bytes())[..8]);
        let groups: Vec<&str> = (0..4).filter_map(|at| digits.get(4 * at..4 * at + 4)).collect();
        groups.join("-")
    }

    pub(crate) fn has_signed(&self, bytes: &[u8], signature: &[u8; SIGNATURE]) -> bool {
        self.0.verify_strict(bytes, &Signature::from_bytes(signature)).is_ok()
    }
}

impl fmt::Debug for SiteKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SiteKey(…)")
    }
}

impl TryFrom<String> for PublicKey {
    type Error = String;

    fn try_from(text: String) -> std::result::Result<Self, String> {
        let key = bytes_of(&text).and_then(|bytes| VerifyingKey::from_bytes(&bytes).ok());
        key.map(Self).ok_or_else(|| "no public key".to_owned())
    }
}

impl From<PublicKey> for String {
    fn from(key: PublicKey) -> Self {
        hexadecimal(key.0.as_bytes())
    }
}

/// The lower-case hexadecimal digits of some bytes.
pub fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing into a String cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// The bytes of [`hexadecimal`] digits.
pub fn from_hexadecimal(digits: &str) -> Option<Vec<u8>> {
    let byte = |at: usize| u8::from_str_radix(digits.get(at..at + 2)?, 16).ok();
    (0..digits.len()).step_by(2).map(byte).collect()
}

fn bytes_of(digits: &str) -> Option<[u8; 32]> {
    from_hexadecimal(digits)?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_made_once_is_the_owners_alone_and_signs() {
        let directory = tempfile::tempdir().unwrap();
        let folder = directory.path().join(".halflight");
        let (first, again) = (SiteKey::find(&folder).unwrap(), SiteKey::find(&folder).unwrap());
        assert_eq!(first.public(), again.public());
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1, "no temporary file stays");
        let other = SiteKey::find(&directory.path().join("other")).unwrap().public();
        assert_ne!(first.public(), other);
        assert_eq!(first.public().fingerprint().len(), 19);
        let signature = first.sign(b"words");
        assert!(first.public().has_signed(b"words", &signature));
        assert!(!first.public().has_signed(b"word", &signature));
        assert!(!other.has_signed(b"words", &signature));
        let text = serde_json::to_string(&first.public()).unwrap();
        assert_eq!(serde_json::from_str::<PublicKey>(&text).unwrap(), first.public());
        assert!(serde_json::from_str::<PublicKey>("\"00\"").is_err());
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let file = folder.join(FILE);
            let mode = || std::fs::metadata(&file).unwrap().permissions().mode() & 0o777;
            assert_eq!(mode(), 0o600);
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
            SiteKey::find(&folder).unwrap();
            assert_eq!(mode(), 0o600, "it is closed again");
        }
        std::fs::write(folder.join(FILE), "abc").unwrap();
        assert!(SiteKey::find(&folder).unwrap_err().what().contains("not the key of a site"));
    }

    #[test]
    fn two_sites_have_one_mask_for_each_release_of_a_run_and_nobody_else_has_it() {
        let directory = tempfile::tempdir().unwrap();
        let file = |site: i32| directory.path().join(format!("{site}-masks.key"));
        let keys: Vec<MaskKey> = (0..3).map(|site| MaskKey::find(&file(site)).unwrap()).collect();
        let mask = |one: usize, other: usize, run: &str, number| {
            let names = [one.min(other), one.max(other)].map(|site| ["A", "B", "C"][site]);
            keys[one].with(&keys[other].public(), run, (names, number)).unwrap()
        };
        assert_eq!(mask(0, 1, "p", 1), mask(1, 0, "p", 1));
        // Whoever says the key of another site has masks of their own with a third one, which do not
        // cancel: for each place of the three.
        for [victim, copied, copier] in
            [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]]
        {
            let with = |site: usize| {
                let names = [victim.min(site), victim.max(site)].map(|site| ["A", "B", "C"][site]);
                keys[victim].with(&keys[copied].public(), "p", (names, 1)).unwrap()
            };
            assert_ne!(with(copied), with(copier), "{victim} {copied} {copier}");
        }
        // A name that is cut elsewhere is another one.
        assert_ne!(about(["ab", "c"], 1), about(["a", "bc"], 1));
        let all = [mask(0, 1, "p", 1), mask(0, 1, "p", 2), mask(0, 1, "q", 1), mask(0, 2, "p", 1)];
        for (at, one) in all.iter().enumerate() {
            assert!(!all[..at].contains(one), "{at}");
        }
        for none in ["", "00", &"00".repeat(32), &("01".to_owned() + &"00".repeat(31))] {
            assert!(keys[0].with(none, "p", (["A", "B"], 1)).is_err(), "{none}");
        }
        assert_eq!(MaskKey::find(&file(0)).unwrap().public(), keys[0].public());
        std::fs::write(file(0), "00").unwrap();
        assert!(MaskKey::find(&file(0)).is_err());
    }

    /// RFC 7748, section 6.1, and HKDF by its definition.
    #[test]
    fn the_secret_of_two_sites_is_that_of_the_standard() {
        let bytes = |digits: &str| bytes_of(digits).unwrap();
        let alice =
            MaskKey(bytes("77076d0a7318a57d3c16c17251b26645df4c2f87ebc0992ab177fba51db92c2a"));
        assert_eq!(
            alice.public(),
            "8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a"
        );
        let shared = bytes("4a5d9d5ba4ce2de1728e3bf480350f25e07e21c947d19e3376f09b3c1e161742");
        let bob = "de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f";
        let pair = keyed(b"p", &shared).unwrap();
        let names =
            [5_u64.to_le_bytes().as_slice(), b"alice", &3_u64.to_le_bytes(), b"bob"].concat();
        let text = [b"halflight mask".as_slice(), &names, &7_u64.to_le_bytes(), &[1]].concat();
        let made = alice.with(bob, "p", (["alice", "bob"], 7)).unwrap();
        assert_eq!(made, keyed(&pair, &text).unwrap());
    }
}
