//! The key pair of a site. It is made once and kept beside the site's ledger.

use std::fmt::{self, Write as _};
use std::path::Path;

use ed25519_dalek::{Signature, Signer as _, SigningKey, VerifyingKey};
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
            let mut bytes = [0; 32];
            SysRng.try_fill_bytes(&mut bytes).map_err(|error| {
                Error::failed(format!("the operating system gives no random numbers: {error}"))
            })?;
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
}
