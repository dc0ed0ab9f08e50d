//! One signed message.
//!
//! | bytes | hold |
//! |---|---|
//! | [`MAGIC`] | a line that names the format |
//! | to the end of the next line | the header as JSON: kind, site, protocol, number, label, length of the body |
//! | as many as the header says | the body: JSON, or numbers (IEEE 754, little-endian) |
//! | 64 | the site's Ed25519 signature of everything before |
//!
//! The signature covers the protocol and the number, so a message is valid only in its run and at
//! its place.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::files::words::harmless;
use crate::key::{PublicKey, SIGNATURE, SiteKey};

/// The first line.
pub const MAGIC: &[u8] = b"halflight exchange 1\n";
/// A longer reason why a message cannot be read is cut.
const LONGEST_REASON: usize = 200;
/// The digits of the protocol in the names of files.
const DIGITS: usize = 8;
/// A longer header is not read.
const LONGEST_HEADER: usize = 4096;

/// What a message is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A site takes part; its body says in what.
    Hello,
    /// A site ended before the start; its body holds the key.
    Stop,
    /// What a site will release.
    Terms,
    /// A site may draw; its body is the digest of what holds for all.
    Ready,
    /// A release.
    Draw,
    /// Whose releases make up the joint value of this number.
    Members,
    /// A site draws no more.
    End,
}

/// What a message is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Header {
    /// The kind of its contents.
    pub kind: Kind,
    /// Who sends it.
    pub site: String,
    /// The run: the digest of what all sites agreed on; empty before.
    pub protocol: String,
    /// The place among the releases, from 1; 0 for other messages.
    pub number: u64,
    /// The label of the release.
    pub label: String,
    /// The length of the body in bytes.
    pub length: usize,
}

/// A message whose signature was checked or made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// What it is.
    pub header: Header,
    /// The contents.
    pub body: Vec<u8>,
}

impl Message {
    /// The bytes of the file, signed.
    pub fn seal(&self, key: &SiteKey) -> Result<Vec<u8>> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend(to_json(&self.header)?);
        bytes.push(b'\n');
        bytes.extend(&self.body);
        let signature = key.sign(&bytes);
        bytes.extend(signature);
        Ok(bytes)
    }

    /// Reads a message that must be signed with the key that `key` finds for it. The error says what
    /// is wrong with it.
    pub fn open(bytes: &[u8], key: impl FnOnce(&Self) -> Result<PublicKey>) -> Result<Self> {
        let wrong = |what: &str| Error::failed(what.to_owned());
        let rest = bytes.strip_prefix(MAGIC);
        let rest = rest.ok_or_else(|| wrong("it is no message that this version reads"))?;
        let end = rest.iter().take(LONGEST_HEADER).position(|byte| *byte == b'\n');
        let end = end.ok_or_else(|| wrong("its header does not end"))?;
        let header: Header =
            serde_json::from_slice(&rest[..end]).map_err(|_| wrong("its header cannot be read"))?;
        let body = &rest[end + 1..];
        let whole = header.length.checked_add(SIGNATURE);
        if whole != Some(body.len()) {
            return Err(wrong("it has another length than its header says"));
        }
        let (body, signature) = body.split_at(header.length);
        let message = Self { header, body: body.to_vec() };
        let key = key(&message)?;
        let signed = &bytes[..bytes.len() - SIGNATURE];
        let signature = signature.try_into().map_err(|_| wrong("it has no signature"))?;
        if key.has_signed(signed, signature) {
            return Ok(message);
        }
        Err(wrong("its signature is not that of the site"))
    }

    /// Reads the contents as JSON.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T> {
        serde_json::from_slice(&self.body).map_err(|error| {
            let why = harmless(&error.to_string(), LONGEST_REASON);
            Error::failed(format!("its contents cannot be read: {why}"))
        })
    }

    /// Reads the contents as `count` finite numbers.
    pub fn numbers(&self, count: usize) -> Result<Vec<f64>> {
        let words = self.body.chunks_exact(8);
        if !words.remainder().is_empty() || words.len() != count {
            let found = self.body.len() as f64 / 8.0;
            return Err(Error::failed(format!("it has {found} numbers, and {count} are needed")));
        }
        let number = |word: &[u8]| word.try_into().map_or(f64::NAN, f64::from_le_bytes);
        let numbers: Vec<f64> = words.map(number).collect();
        match numbers.iter().position(|number| !number.is_finite()) {
            None => Ok(numbers),
            Some(at) => Err(Error::failed(format!("its number {} is not finite", at + 1))),
        }
    }
}

/// The JSON of a value that can always be written.
pub(crate) fn to_json(value: &impl Serialize) -> Result<Vec<u8>> {
    serde_json::to_vec(value)
        .map_err(|error| Error::failed(format!("a message cannot be written: {error}")))
}

/// The name of a message's file.
pub(crate) fn file_name(protocol: &str, kind: Kind, number: u64, site: &str) -> String {
    let file = match kind {
        Kind::Hello => return format!("hello-{site}"),
        Kind::Stop => return format!("stop-{site}"),
        Kind::Terms => format!("terms-{site}"),
        Kind::Ready => format!("ready-{site}"),
        Kind::Draw => format!("release-{number:06}-{site}"),
        Kind::Members => format!("members-{number:06}-{site}"),
        Kind::End => format!("end-{site}"),
    };
    format!("{}-{file}", protocol.get(..DIGITS).unwrap_or(protocol))
}

/// The header of a message.
pub(crate) fn header(
    kind: Kind,
    site: &str,
    protocol: &str,
    number: u64,
    label: &str,
    length: usize,
) -> Header {
    let [site, protocol, label] = [site, protocol, label].map(str::to_owned);
    Header { kind, site, protocol, number, label, length }
}

/// Refuses a message that is another one than its file's name says.
pub(crate) fn expect(found: &Header, wanted: &Header) -> Result<()> {
    if found == wanted {
        return Ok(());
    }
    let what = if found.protocol == wanted.protocol {
        "it belongs to another place"
    } else {
        "it belongs to another run"
    };
    Err(Error::failed(what))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(body: &[u8]) -> Message {
        let header = Header {
            kind: Kind::Draw,
            site: "A".to_owned(),
            protocol: "p".to_owned(),
            number: 3,
            label: "mean".to_owned(),
            length: body.len(),
        };
        Message { header, body: body.to_vec() }
    }

    #[test]
    fn a_message_comes_back_and_every_changed_or_missing_byte_is_noticed() {
        let directory = tempfile::tempdir().unwrap();
        let key = SiteKey::find(directory.path()).unwrap();
        let numbers = [0.1, -0.0, f64::MIN_POSITIVE / 3.0];
        let body: Vec<u8> = numbers.iter().flat_map(|number: &f64| number.to_le_bytes()).collect();
        let sealed = message(&body).seal(&key).unwrap();
        let open = |bytes: &[u8]| Message::open(bytes, |_| Ok(key.public()));
        let opened = open(&sealed).unwrap();
        assert_eq!(opened, message(&body));
        let found = opened.numbers(3).unwrap();
        assert!(found.iter().zip(numbers).all(|(one, other)| one.to_bits() == other.to_bits()));
        assert!(opened.numbers(2).unwrap_err().what().contains("3 numbers, and 2"));
        for at in 0..sealed.len() {
            let mut changed = sealed.clone();
            changed[at] ^= 1;
            assert!(open(&changed).is_err(), "byte {at}");
            assert!(open(&sealed[..at]).is_err(), "cut at {at}");
        }
        let mut longer = sealed;
        longer.push(0);
        assert!(open(&longer).is_err());
        let infinite = message(&f64::INFINITY.to_le_bytes());
        assert!(infinite.numbers(1).unwrap_err().what().contains("number 1 is not finite"));
    }
}
