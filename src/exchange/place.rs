//! Where a site meets the others, whose keys it trusts, and what is told of those that are missing.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
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
                .cure("name all of them: --sites A,B,C"));
        }
        if let Some(name) = self.trusted.keys().find(|name| !different.contains(name)) {
            return Err(Error::usage(format!("the trusted site '{name}' is not among the sites"))
                .cure("name it in --sites, or leave it out of --trust"));
        }
        if !different.contains(&self.name) {
            let what = format!("this site, '{}', is not among the sites", self.name);
            return Err(Error::usage(what).cure("name it in --sites, too"));
        }
        if self.may_collude.is_some() && self.without_missing {
            return Err(Error::usage(
                "sites with one noise for all cannot go on without one: its share would be missing",
            )
            .cure("leave out --without-missing, or --one-noise"));
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
            "the key of '{}' is {}: tell it to the others by phone, and name theirs with --trust",
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

    fn names(&self, sites: &[usize]) -> String {
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
