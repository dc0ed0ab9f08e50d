//! Where a site meets the others, whose keys it trusts, and what is told of those that are missing.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::error::{Doing as _, Error, Result};
use crate::files::words::harmless;
use crate::key::PublicKey;

/// Raised whenever sites of two versions would not understand each other.
pub const VERSION: u32 = 2;
/// The longest name of a site.
const LONGEST_NAME: usize = 32;
/// Longer values of other sites are cut where they are shown.
pub(crate) const LONGEST_VALUE: usize = 200;

/// Where a site meets the others, and how long it waits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Place {
    /// The folder that all sites share.
    pub folder: PathBuf,
    /// The name of this site.
    pub name: String,
    /// The names of all sites, in order.
    pub sites: Vec<String>,
    /// How long it waits for the others.
    pub timeout: Duration,
    /// Whether the sites go on without those that are missing.
    pub without_missing: bool,
    /// With one noise for all: how many sites may put together what they know.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub may_collude: Option<usize>,
    /// The fingerprints of the keys that sites must have, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub trusted: BTreeMap<String, String>,
}

impl Place {
    /// Refuses names that cannot be those of files, and lists without this site or with one alone.
    pub fn checked(mut self) -> Result<Self> {
        self.sites.sort();
        let is_name = |name: &String| {
            let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
            (1..=LONGEST_NAME).contains(&name.len()) && name.bytes().all(fits)
        };
        if let Some(name) = self.sites.iter().find(|name| !is_name(name)) {
            return Err(Error::usage(format!("'{name}' cannot be the name of a site"))
                .cure(format!("take letters, digits, - and _, at most {LONGEST_NAME} of them")));
        }
        let different: BTreeSet<&String> = self.sites.iter().collect();
        if different.len() < self.sites.len() || different.len() < 2 {
            return Err(Error::usage("a joint run needs two sites or more, with different names")
                .cure("name all of them, as A,B,C (--sites)"));
        }
        if let Some(name) = self.trusted.keys().find(|name| !different.contains(name)) {
            return Err(Error::usage(format!("the trusted site '{name}' is not among the sites"))
                .cure("name it among all sites, or leave its key out"));
        }
        if !different.contains(&self.name) {
            let what = format!("this site, '{}', is not among the sites", self.name);
            return Err(Error::usage(what).cure("name it among all of them, too"));
        }
        if self.may_collude.is_some() && self.without_missing {
            return Err(Error::usage(
                "sites with one noise for all cannot go on without one: its share would be missing",
            )
            .cure("let all wait, or let each site add its own noise"));
        }
        Ok(self)
    }

    /// Refuses one noise for all among sites of which this one cannot know that they are what they say:
    /// somebody who plays the others would read what it releases.
    pub fn check_trust(&self, own: PublicKey) -> Result<()> {
        let lacking = |site: &&String| **site != self.name && !self.trusted.contains_key(*site);
        let lacking: Vec<&String> = self.sites.iter().filter(lacking).collect();
        if self.may_collude.is_none() || lacking.is_empty() {
            return Ok(());
        }
        let lacking: Vec<String> = lacking.iter().map(|site| format!("'{site}'")).collect();
        Err(Error::usage(format!(
            "one noise for all needs the fingerprints of all keys, and those of {} are missing",
            lacking.join(", ")
        ))
        .cure(format!(
            "the key of '{}' is {}: tell it to the others by phone, and name theirs (--trust)",
            self.name,
            own.fingerprint()
        )))
    }

    /// Refuses a site that has another key than the trusted one.
    pub(crate) fn check_key(&self, name: &str, key: PublicKey) -> Result<()> {
        match self.trusted.get(name) {
            Some(trusted) if *trusted != key.fingerprint() => Err(Error::refused(format!(
                "site '{name}' has the key {}, and {} is trusted",
                key.fingerprint(),
                harmless(trusted, LONGEST_VALUE)
            ))
            .cure("nothing was spent: ask this site for the fingerprint of its key, by phone")),
            _ => Ok(()),
        }
    }

    /// What all sites must have in common, in words.
    pub(crate) fn common(&self) -> [(String, String); 4] {
        let missing = if self.without_missing { "the others go on" } else { "all wait" };
        let noise = self.may_collude.map_or_else(
            || "each site adds its own".to_owned(),
            |number| format!("one for all, masks of each pair by name, and {number} may collude"),
        );
        [
            ("version of the exchange".to_owned(), VERSION.to_string()),
            ("names of the sites".to_owned(), self.sites.join(", ")),
            ("missing sites".to_owned(), missing.to_owned()),
            ("noise".to_owned(), noise),
        ]
    }

    /// What all sites had in common by the builds before masks were made for each pair by name.
    pub(crate) fn common_before(&self) -> Option<(String, String)> {
        let noise = |number| format!("one for all, and {number} may collude");
        self.may_collude.map(|number| ("noise".to_owned(), noise(number)))
    }

    pub(crate) fn own(&self) -> usize {
        self.sites.iter().position(|name| *name == self.name).unwrap_or_default()
    }

    pub(crate) fn names(&self, sites: &[usize]) -> String {
        let names: Vec<String> =
            sites.iter().map(|site| format!("'{}'", self.sites[*site])).collect();
        let plural = if names.len() == 1 { "site" } else { "sites" };
        format!("{plural} {}", names.join(", "))
    }

    /// The error for a site that ended before the start.
    pub(crate) fn stopped(&self, name: &str) -> Error {
        let what =
            format!("site '{name}' stopped before the start, so the sites do not begin together");
        Error::refused(what).at(self.folder.display().to_string()).cure(
            "nothing was spent: ask there why; then start all sites again with an empty folder",
        )
    }

    /// The error for sites from which a message did not come in time.
    pub(crate) fn missing(&self, sites: &[usize], what: &str) -> Error {
        let (names, timeout) = (self.names(sites), self.timeout);
        Error::failed(format!("{names} did not say {what} within {timeout:?}"))
            .at(self.folder.display().to_string())
            .cure("start or resume every site; --timeout says how long each waits")
    }
}

/// The fingerprints of keys, by the sites' names, as `A=0123-4567-89ab-cdef,B=…`; from a file if there is no `=`.
pub fn trusted(keys: &str) -> Result<BTreeMap<String, String>> {
    let text = if keys.contains('=') {
        keys.to_owned()
    } else {
        std::fs::read_to_string(keys).doing("read the keys", Path::new(keys))?
    };
    let each = text.split([',', '\n']).map(str::trim).filter(|key| !key.is_empty());
    let pair = |key: &str| {
        let (name, key) = key.split_once('=')?;
        let key = key.trim().to_ascii_lowercase();
        let is_key = key.split('-').map(str::len).eq([4; 4])
            && key.bytes().all(|it| it == b'-' || it.is_ascii_hexdigit());
        is_key.then(|| (name.trim().to_owned(), key))
    };
    let pairs: Option<BTreeMap<_, _>> = each.map(pair).collect();
    pairs.ok_or_else(|| {
        Error::usage("the keys to trust are not names of sites with fingerprints (--trust)").cure(
            "write them as A=0123-4567-89ab-cdef,B=…: each site prints its own when it starts",
        )
    })
}

/// A time such as 30s, 10m or 2h.
pub fn time(text: &str) -> std::result::Result<Duration, String> {
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let unit = match &text[digits.len()..] {
        "ms" => 0.001,
        "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        _ => return Err("give a number and ms, s, m or h, such as 10m".to_owned()),
    };
    let seconds = digits.parse::<f64>().ok().map(|number| unit * number);
    let time = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    time.filter(|time| !time.is_zero()).ok_or_else(|| "give a time above 0".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_come_from_the_command_line_or_a_file() {
        let text = "A=0123-4567-89ab-cdef, B=0123-4567-89AB-0000";
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("keys");
        let keys = trusted(text).unwrap();
        assert_eq!(keys["B"], "0123-4567-89ab-0000");
        std::fs::write(&file, text.replace(", ", "\n") + "\n").unwrap();
        assert_eq!(trusted(file.to_str().unwrap()).unwrap(), keys);
        for wrong in ["A=", "A=0123", "A=0123-4567-89ab-cdeg", "=", "A=01234567-89ab-cdef-"] {
            assert!(trusted(wrong).unwrap_err().what().contains("--trust"), "{wrong}");
        }
    }

    #[test]
    fn times_have_a_unit() {
        assert_eq!(time("10m").unwrap(), Duration::from_mins(10));
        assert_eq!(time("1.5s").unwrap(), Duration::from_millis(1500));
        for wrong in ["", "10", "m", "-1s", "0s", "1e400h", "10 days"] {
            assert!(time(wrong).is_err(), "{wrong}");
        }
    }
}
