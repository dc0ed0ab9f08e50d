//! Who takes part in a joint run, what all of them agreed on, and their releases in order.
//!
//! 1. Every site writes a *hello*: its key, its number of records, and what all sites must have in
//!    common. When all are there, each site compares them. The digest of the hellos names the run.
//! 2. Every site writes its *terms*: what it will release. Only then does it ask its ledger.
//! 3. Every site says that it is *ready*, and signs what holds for all. Nobody draws before all did.
//! 4. Each release is a message with its number. A site goes on when it has those of all others.
//! 5. Where the sites go on without those that are missing, the first of them writes for each
//!    release whose values it *has*; the others take those. A site that is left out stays out.
//! 6. A site that draws no more says how many releases it made. One that refuses, or is stopped before
//!    it is granted anything, says *stop*; the others end then, too.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::error::{Error, Result};
use crate::files::words::harmless;
use crate::folder::{Folder, wait};
use crate::key::{MaskKey, PublicKey, SiteKey, hexadecimal};
use crate::message::{Header, Kind, Message, to_json};

/// Raised whenever sites of two versions would not understand each other.
pub const VERSION: u32 = 2;
/// The longest name of a site.
const LONGEST_NAME: usize = 32;
/// The most records of a site; a larger number is no number of records.
const MOST_RECORDS: usize = 1 << 40;
/// Longer values of other sites are cut where they are shown.
const LONGEST_VALUE: usize = 200;
/// The digits of the protocol in the names of its files.
const DIGITS: usize = 8;

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

/// What a site says before anything is planned.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hello {
    /// The key that its messages are checked with.
    pub key: PublicKey,
    /// The key with which others compute the masks of one noise for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub masks: Option<String>,
    /// The number of training records or persons, which the site's plan takes as public.
    pub records: usize,
    /// What must be the same at all sites, by name, in words.
    pub common: BTreeMap<String, String>,
}

/// The releases that a site made.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Ended {
    releases: u64,
}

/// A site that ended before the start.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stopped {
    key: PublicKey,
}

/// A site among the others.
pub struct Meeting {
    place: Place,
    folder: Folder,
    key: SiteKey,
    /// The key of this site's masks, if there is one noise for all.
    masks: Option<MaskKey>,
    /// What each site said, as it was signed.
    files: Vec<Vec<u8>>,
    hellos: Vec<Hello>,
    protocol: String,
    /// The positions of the sites that still take part.
    present: Vec<usize>,
    /// For each site that was left out, the last release that counts it.
    left: BTreeMap<usize, u64>,
    /// Releases so far.
    releases: u64,
    /// What each site signed when it was ready; empty before.
    signed: Vec<Vec<u8>>,
    is_stopped: Box<dyn Fn() -> bool + Send>,
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
    fn check_key(&self, name: &str, key: PublicKey) -> Result<()> {
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
    fn common(&self) -> [(String, String); 4] {
        let missing = if self.without_missing { "the others go on" } else { "all wait" };
        let noise = self.may_collude.map_or_else(
            || "each site adds its own".to_owned(),
            |number| format!("one for all, and {number} may collude"),
        );
        [
            ("version of the exchange".to_owned(), VERSION.to_string()),
            ("names of the sites".to_owned(), self.sites.join(", ")),
            ("missing sites".to_owned(), missing.to_owned()),
            ("noise".to_owned(), noise),
        ]
    }

    fn own(&self) -> usize {
        self.sites.iter().position(|name| *name == self.name).unwrap_or_default()
    }

    fn names(&self, sites: &[usize]) -> String {
        let names: Vec<String> =
            sites.iter().map(|site| format!("'{}'", self.sites[*site])).collect();
        let plural = if names.len() == 1 { "site" } else { "sites" };
        format!("{plural} {}", names.join(", "))
    }
}

impl Meeting {
    /// Says hello, waits for the others, and compares. Nothing is spent so far.
    pub fn greet(
        place: Place,
        key: SiteKey,
        hello: Hello,
        is_stopped: Box<dyn Fn() -> bool + Send>,
    ) -> Result<Self> {
        let place = place.checked()?;
        place.check_trust(key.public())?;
        let folder = Folder::open(&place.folder)?;
        if let Some(earlier) = folder.of_any_run(&format!("ready-{}", place.name))? {
            return Err(Error::refused("the exchange folder holds an earlier run of this site")
                .at(earlier.display().to_string())
                .cure("take an empty folder for each joint run, or resume the earlier one"));
        }
        let common = hello.common.into_iter().chain(place.common()).collect();
        let hello = Hello { common, ..hello };
        let body = to_json(&hello)?;
        let header = header(Kind::Hello, &place.name, "", 0, "", body.len());
        let sealed = Message { header, body }.seal(&key)?;
        let name = format!("hello-{}", place.name);
        refuse_namesake(&folder, &name, &key)?;
        // An earlier program of this site may have said that it stops.
        folder.remove(&stop_name(&place.name))?;
        folder.replace(&name, &sealed)?;
        let files = hellos(&place, &folder, place.timeout, &is_stopped)?;
        let mut meeting = Self::of(place, folder, key, files, is_stopped);
        meeting.hellos = meeting.opened()?;
        for (name, hello) in meeting.hellos() {
            meeting.place.check_key(name, hello.key)?;
        }
        meeting.compare()?;
        Ok(meeting)
    }

    /// Meets the sites of a run again. What they [said](Self::files) when it began is what counts,
    /// whatever became of the folder.
    pub fn again(
        place: Place,
        key: SiteKey,
        (protocol, files): (&str, Vec<Vec<u8>>),
        is_stopped: Box<dyn Fn() -> bool + Send>,
    ) -> Result<Self> {
        let folder = Folder::open(&place.folder)?;
        let mut meeting = Self::of(place, folder, key, files, is_stopped);
        let changed = || Error::refused("what the sites agreed on was changed after the run began");
        if meeting.protocol != protocol || meeting.files.len() != meeting.place.sites.len() {
            return Err(changed());
        }
        meeting.hellos = meeting.opened()?;
        let said = meeting.hellos.get(meeting.place.own()).map(|hello| &hello.common);
        let same = |(name, value)| said.and_then(|said| said.get(&name)) == Some(&value);
        if !meeting.place.common().into_iter().all(same) {
            return Err(changed());
        }
        Ok(meeting)
    }

    fn of(
        place: Place,
        folder: Folder,
        key: SiteKey,
        files: Vec<Vec<u8>>,
        is_stopped: Box<dyn Fn() -> bool + Send>,
    ) -> Self {
        let digest = files.iter().fold(Sha256::new(), |digest, file| {
            digest.chain_update((file.len() as u64).to_le_bytes()).chain_update(file)
        });
        Self {
            protocol: hexadecimal(&digest.finalize()),
            present: (0..place.sites.len()).collect(),
            left: BTreeMap::new(),
            place,
            folder,
            key,
            masks: None,
            files,
            hellos: Vec::new(),
            releases: 0,
            signed: Vec::new(),
            is_stopped,
        }
    }

    fn opened(&self) -> Result<Vec<Hello>> {
        let open = |(name, file): (&String, &Vec<u8>)| {
            let opened = Message::open(file, |message| Ok(message.json::<Hello>()?.key));
            let hello = opened.and_then(|message| {
                expect(&message.header, &header(Kind::Hello, name, "", 0, "", message.body.len()))?;
                let hello: Hello = message.json()?;
                if !(1..=MOST_RECORDS).contains(&hello.records) {
                    return Err(Error::failed("it has an impossible number of records"));
                }
                Ok(hello)
            });
            hello.map_err(|error| self.refused(name, &format!("hello-{name}"), &error))
        };
        self.place.sites.iter().zip(&self.files).map(open).collect()
    }

    /// Refuses sites that do not run the same plan, with what differs and whose.
    fn compare(&self) -> Result<()> {
        let names: BTreeSet<&String> =
            self.hellos.iter().flat_map(|hello| hello.common.keys()).collect();
        let mut differences = Vec::new();
        for name in names {
            let mut values: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
            for (site, hello) in self.place.sites.iter().zip(&self.hellos) {
                let value = hello.common.get(name).map_or("missing", String::as_str);
                values.entry(value).or_default().push(site);
            }
            if values.len() > 1 {
                let shown = |text: &str| harmless(text, LONGEST_VALUE);
                let each = values
                    .iter()
                    .map(|(value, sites)| format!("{} at {}", shown(value), sites.join(", ")));
                differences.push(format!(
                    "{}: {}",
                    shown(name),
                    each.collect::<Vec<_>>().join("; ")
                ));
            }
        }
        if differences.is_empty() {
            return Ok(());
        }
        Err(Error::refused(format!(
            "the sites do not do the same with the same public data: {}",
            differences.join(". ")
        ))
        .cure(
            "nothing was spent: give all sites the same command, session, columns and public files, and \
             start all again with an empty folder",
        ))
    }

    /// Takes the key of this site's masks. It must be the one of its hello.
    pub fn with_mask_key(mut self, key: MaskKey) -> Result<Self> {
        let said = self.hellos.get(self.place.own()).and_then(|hello| hello.masks.as_deref());
        if said != Some(key.public().as_str()) {
            return Err(Error::refused(
                "the key of the masks is not the one that the run began with",
            ));
        }
        self.masks = Some(key);
        Ok(self)
    }

    /// The keys of this site's masks in its next release, one with each other site, and whether it adds or
    /// subtracts the mask.
    pub fn masks(&self) -> Result<Vec<([u8; 32], bool)>> {
        let key = self.masks.as_ref().ok_or_else(|| {
            Error::refused("the key of this site's masks is gone, so it can release nothing more")
        })?;
        let own = self.place.own();
        let others = self.hellos.iter().enumerate().filter(|(site, _)| *site != own);
        let mask = |(site, hello): (usize, &Hello)| {
            let theirs = hello.masks.as_deref().unwrap_or_default();
            let mask = key.with(theirs, &self.protocol, self.releases + 1).map_err(|error| {
                let name = &self.place.sites[site];
                Error::refused(format!("site '{name}' cannot take part: {}", error.what()))
            })?;
            Ok((mask, own < site))
        };
        others.map(mask).collect()
    }

    /// The digest of what all sites agreed on.
    pub fn protocol(&self) -> &str {
        &self.protocol
    }

    /// Where and with whom it is.
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// What each site said, as it was signed, in the order of their names.
    pub fn files(&self) -> &[Vec<u8>] {
        &self.files
    }

    /// What each site said, in the order of their names.
    pub fn hellos(&self) -> impl Iterator<Item = (&str, &Hello)> {
        self.place.sites.iter().map(String::as_str).zip(&self.hellos)
    }

    /// The positions of the sites that still take part.
    pub fn present(&self) -> &[usize] {
        &self.present
    }

    /// The sites that were left out, with the last release that counts each.
    pub fn left(&self) -> impl Iterator<Item = (&str, u64)> {
        self.left.iter().map(|(site, last)| (self.place.sites[*site].as_str(), *last))
    }

    /// Says what this site will release, and waits for the terms of the others. An error leaves
    /// nothing spent.
    pub fn agree<T: Serialize + DeserializeOwned>(&self, own: &T) -> Result<Vec<T>> {
        self.send(Kind::Terms, 0, "", to_json(own)?)?;
        let files = self.all(Kind::Terms, 0, "")?;
        let open = |(site, message): (usize, Message)| {
            message.json().map_err(|error| self.bad(site, Kind::Terms, 0, &error))
        };
        files.into_iter().map(open).collect()
    }

    /// Waits until all sites may draw. Each signs the digest of what holds for all.
    pub fn begin(&mut self, digest: &str) -> Result<()> {
        if !self.signed.is_empty() {
            return Ok(());
        }
        self.send(Kind::Ready, 0, "", digest.as_bytes().to_vec())?;
        for (site, message) in self.all(Kind::Ready, 0, "")? {
            if message.body != digest.as_bytes() {
                let error = Error::failed("it agrees to other terms");
                return Err(self.bad(site, Kind::Ready, 0, &error));
            }
        }
        let read = |name: &String| self.folder.read(&self.name(Kind::Ready, 0, name));
        let signed = self.place.sites.iter().map(read).collect::<Result<Vec<_>>>()?;
        self.signed = signed.into_iter().flatten().collect();
        Ok(())
    }

    /// The signed digests of what holds for all, with the sites' names.
    pub fn signed(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.place.sites.iter().map(String::as_str).zip(self.signed.iter().map(Vec::as_slice))
    }

    /// Tells the others that this site ends before the start, so that they do not wait for it. The
    /// message has no reason, which may be private.
    pub fn stop(place: &Place, key: &SiteKey) -> Result<()> {
        let body = to_json(&Stopped { key: key.public() })?;
        let header = header(Kind::Stop, &place.name, "", 0, "", body.len());
        let sealed = Message { header, body }.seal(key)?;
        Folder::open(&place.folder)?.replace(&stop_name(&place.name), &sealed)
    }

    /// The values of the next release at all sites that take part in it; their positions are
    /// [`Self::present`].
    pub fn join(&mut self, label: &str, own: &[f64]) -> Result<Vec<Vec<f64>>> {
        let number = self.releases + 1;
        if own.iter().any(|value| !value.is_finite()) {
            return Err(Error::failed(format!("release {number} of this site is not finite")));
        }
        let body = own.iter().flat_map(|value| value.to_le_bytes()).collect();
        self.send(Kind::Draw, number, label, body)?;
        if self.place.without_missing {
            self.choose_members(number, label)?;
        }
        let messages = self.all(Kind::Draw, number, label)?;
        let numbers = |(site, message): (usize, Message)| {
            message.numbers(own.len()).map_err(|error| self.bad(site, Kind::Draw, number, &error))
        };
        let values = messages.into_iter().map(numbers).collect::<Result<_>>()?;
        self.releases = number;
        Ok(values)
    }

    /// Takes the sites that the first one has values of.
    fn choose_members(&mut self, number: u64, label: &str) -> Result<()> {
        let (first, own) = (self.present[0], self.place.own());
        let timeout = self.place.timeout;
        let there = self.read(first, Kind::Members, number, label)?;
        let message = match there {
            Some(message) => message,
            None if first == own => {
                let found = self.collect(Kind::Draw, number, label, timeout)?;
                let members: Vec<usize> = found
                    .iter()
                    .filter_map(|(site, message)| message.is_some().then_some(*site))
                    .collect();
                self.send(Kind::Members, number, label, to_json(&members)?)?;
                match self.read(first, Kind::Members, number, label)? {
                    Some(sent) => sent,
                    None => return Err(self.lacking(&[first], Kind::Members, number)?),
                }
            }
            None => {
                // The first site may wait as long itself.
                let mut found = None;
                wait(2 * timeout, &self.is_stopped, || {
                    found = self.read(first, Kind::Members, number, label)?;
                    Ok(found.is_some() || self.ended(first)?.is_some())
                })?;
                match found {
                    Some(found) => found,
                    None => return Err(self.lacking(&[first], Kind::Members, number)?),
                }
            }
        };
        let members: Vec<usize> =
            message.json().map_err(|error| self.bad(first, Kind::Members, number, &error))?;
        if members.iter().any(|site| !self.present.contains(site)) || members.is_empty() {
            let error = Error::failed("it names sites that do not take part");
            return Err(self.bad(first, Kind::Members, number, &error));
        }
        for site in self.present.iter().filter(|site| !members.contains(site)) {
            self.left.insert(*site, number - 1);
        }
        if !members.contains(&own) {
            return Err(Error::refused(format!(
                "the other sites went on without this one after release {}",
                number - 1
            )));
        }
        self.present = members;
        Ok(())
    }

    /// Says that this site draws no more.
    pub fn end(&self) -> Result<()> {
        let body = to_json(&Ended { releases: self.releases })?;
        self.folder.replace(
            &self.name(Kind::End, 0, &self.place.name),
            &self.message(Kind::End, 0, "", body).seal(&self.key)?,
        )
    }

    fn message(&self, kind: Kind, number: u64, label: &str, body: Vec<u8>) -> Message {
        let length = body.len();
        let header = header(kind, &self.place.name, &self.protocol, number, label, length);
        Message { header, body }
    }

    fn send(&self, kind: Kind, number: u64, label: &str, body: Vec<u8>) -> Result<()> {
        let sealed = self.message(kind, number, label, body).seal(&self.key)?;
        self.folder.put(&self.name(kind, number, &self.place.name), &sealed)
    }

    /// The name of a file in the folder.
    fn name(&self, kind: Kind, number: u64, site: &str) -> String {
        file_name(&self.protocol, kind, number, site)
    }

    /// A message of a site, if it is there.
    fn read(&self, site: usize, kind: Kind, number: u64, label: &str) -> Result<Option<Message>> {
        let name = &self.place.sites[site];
        let Some(bytes) = self.folder.read(&self.name(kind, number, name))? else {
            return Ok(None);
        };
        let opened = Message::open(&bytes, |message| {
            let length = message.body.len();
            expect(&message.header, &header(kind, name, &self.protocol, number, label, length))?;
            Ok(self.hellos[site].key)
        });
        opened.map(Some).map_err(|error| self.bad(site, kind, number, &error))
    }

    /// Whether this site said that it ended before the start.
    fn has_stopped(&self, site: usize) -> Result<bool> {
        let name = &self.place.sites[site];
        has_stopped(&self.place, &self.folder, name, Some(self.hellos[site].key))
    }

    /// How many releases a site made that draws no more.
    fn ended(&self, site: usize) -> Result<Option<u64>> {
        let Some(message) = self.read(site, Kind::End, 0, "")? else { return Ok(None) };
        let ended: Ended = message.json().map_err(|error| self.bad(site, Kind::End, 0, &error))?;
        Ok(Some(ended.releases))
    }

    /// The messages of the sites that take part; `None` where one is missing when the time is over,
    /// or when it can no longer come.
    fn collect(
        &self,
        kind: Kind,
        number: u64,
        label: &str,
        timeout: Duration,
    ) -> Result<Vec<(usize, Option<Message>)>> {
        let mut found: Vec<(usize, Option<Message>)> =
            self.present.iter().map(|site| (*site, None)).collect();
        wait(timeout, &self.is_stopped, || {
            let (mut is_done, mut is_hopeless) = (true, false);
            for (site, message) in found.iter_mut().filter(|(_, message)| message.is_none()) {
                // The end is read first: a site writes it after its last release.
                let ended = self.ended(*site)?;
                *message = self.read(*site, kind, number, label)?;
                let is_over = match number {
                    0 => ended.is_some() || self.has_stopped(*site)?,
                    _ => ended.is_some_and(|last| last < number),
                };
                is_done &= message.is_some() || is_over;
                // Nobody begins without this site.
                is_hopeless |= number == 0 && is_over && message.is_none();
            }
            Ok(is_done || is_hopeless)
        })?;
        Ok(found)
    }

    /// The messages of all sites that take part; refused if some are missing.
    fn all(&self, kind: Kind, number: u64, label: &str) -> Result<Vec<(usize, Message)>> {
        let found = self.collect(kind, number, label, self.place.timeout)?;
        let is_missing =
            |(site, message): &(usize, Option<Message>)| message.is_none().then_some(*site);
        let missing: Vec<usize> = found.iter().filter_map(is_missing).collect();
        if !missing.is_empty() {
            return Err(self.lacking(&missing, kind, number)?);
        }
        Ok(found.into_iter().filter_map(|(site, message)| Some((site, message?))).collect())
    }

    /// The error for messages that are missing. If a site has ended, they will not come.
    fn lacking(&self, sites: &[usize], kind: Kind, number: u64) -> Result<Error> {
        for site in sites {
            if number == 0 && self.has_stopped(*site)? {
                return Ok(before_the_start(&self.place, &self.place.sites[*site]));
            }
            if let Some(last) = self.ended(*site)? {
                let name = &self.place.sites[*site];
                return Ok(Error::refused(format!(
                    "site '{name}' ended after {last} releases, so the sites do not go on together"
                )));
            }
        }
        let what = match kind {
            Kind::Draw => format!("release {number}"),
            Kind::Members => format!("whose release {number} counts"),
            Kind::Ready => "that it is ready".to_owned(),
            Kind::Hello | Kind::Stop | Kind::Terms | Kind::End => "what it will release".to_owned(),
        };
        Ok(absent(&self.place, &self.folder, sites, &what))
    }

    fn bad(&self, site: usize, kind: Kind, number: u64, error: &Error) -> Error {
        let name = &self.place.sites[site];
        self.refused(name, &self.name(kind, number, name), error)
    }

    /// The error for a message that cannot be used. The run can be resumed without it.
    fn refused(&self, site: &str, file: &str, error: &Error) -> Error {
        Error::failed(format!("a message of site '{site}' is refused: {}", error.what()))
            .at(self.folder.at(file).display().to_string())
            .cure(format!(
                "find out who wrote it, and remove it; '{site}' writes it again when it is resumed"
            ))
    }
}

/// The name of a message's file.
pub(crate) fn file_name(protocol: &str, kind: Kind, number: u64, site: &str) -> String {
    let file = match kind {
        Kind::Hello => return format!("hello-{site}"),
        Kind::Stop => return stop_name(site),
        Kind::Terms => format!("terms-{site}"),
        Kind::Ready => format!("ready-{site}"),
        Kind::Draw => format!("release-{number:06}-{site}"),
        Kind::Members => format!("members-{number:06}-{site}"),
        Kind::End => format!("end-{site}"),
    };
    format!("{}-{file}", protocol.get(..DIGITS).unwrap_or(protocol))
}

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

/// Refuses a site whose name another one has taken. A site that starts again has its key.
fn refuse_namesake(folder: &Folder, name: &str, key: &SiteKey) -> Result<()> {
    let earlier = folder.read(name)?;
    let theirs = earlier.and_then(|file| {
        let message = Message::open(&file, |message| Ok(message.json::<Hello>()?.key)).ok()?;
        Some(message.json::<Hello>().ok()?.key)
    });
    match theirs {
        Some(theirs) if theirs != key.public() => {
            Err(Error::refused("another site with another key has said hello under this name")
                .at(folder.at(name).display().to_string())
                .cure("give each site its own name; if the file is old, take an empty folder"))
        }
        _ => Ok(()),
    }
}

/// The hello files of all sites, in order, when all are there.
fn hellos(
    place: &Place,
    folder: &Folder,
    timeout: Duration,
    is_stopped: &dyn Fn() -> bool,
) -> Result<Vec<Vec<u8>>> {
    let mut found: Vec<Option<Vec<u8>>> = Vec::new();
    let mut stopped = None;
    let done = wait(timeout, is_stopped, || {
        let read = |name| folder.read(&format!("hello-{name}"));
        found = place.sites.iter().map(read).collect::<Result<_>>()?;
        let is_done = found.iter().all(Option::is_some);
        for name in place.sites.iter().filter(|_| !is_done) {
            if has_stopped(place, folder, name, None)? {
                stopped = Some(name);
            }
        }
        Ok(is_done || stopped.is_some())
    })?;
    if let Some(name) = stopped {
        return Err(before_the_start(place, name));
    }
    if !done {
        let missing: Vec<usize> = (0..found.len()).filter(|site| found[*site].is_none()).collect();
        return Err(absent(place, folder, &missing, "hello"));
    }
    Ok(found.into_iter().flatten().collect())
}

fn stop_name(site: &str) -> String {
    format!("stop-{site}")
}

/// Whether a site said that it ended before the start, signed with its key if that is known.
fn has_stopped(place: &Place, folder: &Folder, name: &str, key: Option<PublicKey>) -> Result<bool> {
    let Some(file) = folder.read(&stop_name(name))? else { return Ok(false) };
    let opened = Message::open(&file, |message| {
        expect(&message.header, &header(Kind::Stop, name, "", 0, "", message.body.len()))?;
        let said = message.json::<Stopped>()?.key;
        place.check_key(name, said)?;
        Ok(key.unwrap_or(said))
    });
    opened.map(|_| true).map_err(|error| {
        Error::failed(format!("a message of site '{name}' is refused: {}", error.what()))
            .at(folder.at(&stop_name(name)).display().to_string())
            .cure("find out who wrote it, and remove it")
    })
}

/// The error for a site that ended before the start.
fn before_the_start(place: &Place, name: &str) -> Error {
    let what =
        format!("site '{name}' stopped before the start, so the sites do not begin together");
    Error::refused(what)
        .at(place.folder.display().to_string())
        .cure("nothing was spent: ask there why; then start all sites again with an empty folder")
}

fn absent(place: &Place, folder: &Folder, sites: &[usize], what: &str) -> Error {
    Error::failed(format!("{} did not say {what} within {:?}", place.names(sites), place.timeout))
        .at(folder.path().display().to_string())
        .cure("start or resume every site; --timeout says how long each waits")
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::thread::{ScopedJoinHandle, scope};
    use std::time::Instant;

    use super::*;
    use crate::error::ErrorKind;

    const NAMES: [&str; 3] = ["A", "B", "C"];

    fn place(folder: &Path, name: &str, without_missing: bool) -> Place {
        Place {
            folder: folder.join("exchange"),
            name: name.to_owned(),
            sites: NAMES.map(str::to_owned).into(),
            timeout: Duration::from_secs(20),
            without_missing,
            may_collude: None,
            trusted: BTreeMap::new(),
        }
    }

    fn key(folder: &Path, name: &str) -> SiteKey {
        SiteKey::find(&folder.join(name)).unwrap()
    }

    fn greet(place: Place, folder: &Path, plan: &str) -> Result<Meeting> {
        let key = key(folder, &place.name);
        let common = BTreeMap::from([("plan".to_owned(), plan.to_owned())]);
        let masks = place.may_collude.map(|_| masks(folder, &place.name));
        let public = masks.as_ref().map(MaskKey::public);
        let hello = Hello { key: key.public(), masks: public, records: 100, common };
        let meeting = Meeting::greet(place, key, hello, Box::new(|| false))?;
        match masks {
            Some(masks) => meeting.with_mask_key(masks),
            None => Ok(meeting),
        }
    }

    fn masks(folder: &Path, name: &str) -> MaskKey {
        MaskKey::find(&folder.join(format!("{name}-masks.key"))).unwrap()
    }

    /// Does the same at every site at once.
    fn at_all<T: Send>(each: impl Fn(&'static str) -> T + Sync) -> Vec<T> {
        scope(|scope| {
            let each = &each;
            let threads = NAMES.map(|name| scope.spawn(move || each(name)));
            threads.map(ScopedJoinHandle::join).map(|done| done.unwrap()).into()
        })
    }

    fn folder() -> tempfile::TempDir {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir(directory.path().join("exchange")).unwrap();
        directory
    }

    /// The number that a site releases.
    fn value(name: &str, number: u64) -> Vec<f64> {
        vec![f64::from(name.as_bytes()[0]) + number as f64 / 8.0, -0.0]
    }

    fn meet(directory: &Path, without_missing: bool) -> Vec<Meeting> {
        at_all(|name| {
            let mut meeting =
                greet(place(directory, name, without_missing), directory, "one").unwrap();
            let terms = meeting.agree(&name.to_owned()).unwrap();
            assert_eq!(terms, NAMES);
            meeting.begin("all").unwrap();
            meeting
        })
    }

    #[test]
    fn all_sites_get_the_values_of_all_in_the_same_order() {
        let directory = folder();
        let meetings = meet(directory.path(), false);
        assert!(meetings.iter().all(|meeting| meeting.protocol() == meetings[0].protocol()));
        scope(|scope| {
            for mut meeting in meetings {
                scope.spawn(move || {
                    for number in 1..=20 {
                        let own = value(&meeting.place().name, number);
                        let all = meeting.join("mean", &own).unwrap();
                        assert_eq!(all, NAMES.map(|name| value(name, number)));
                    }
                    meeting.end().unwrap();
                });
            }
        });
        // One folder holds one run.
        let error = greet(place(directory.path(), "A", false), directory.path(), "one");
        assert!(error.err().unwrap().what().contains("an earlier run"));
    }

    #[test]
    fn sites_with_other_plans_are_refused_with_what_differs_and_whose() {
        let directory = folder();
        let refused = at_all(|name| {
            let plan = if name == "B" { "ten rounds" } else { "three rounds" };
            greet(place(directory.path(), name, false), directory.path(), plan).err().unwrap()
        });
        for error in refused {
            assert_eq!(error.kind(), ErrorKind::Refused);
            assert!(
                error.what().contains("plan: ten rounds at B; three rounds at A, C"),
                "{error}"
            );
        }
    }

    #[test]
    fn a_hello_of_somebody_who_means_harm_is_refused_and_shown_without_harm() {
        for (records, plan, what) in
            [(0, "one", "an impossible number of records"), (100, "\x1b[2J", "plan: ?[2J at C")]
        {
            let directory = folder();
            let folder = Folder::open(&directory.path().join("exchange")).unwrap();
            let key = key(directory.path(), "C");
            let common = BTreeMap::from([("plan".to_owned(), plan.to_owned())]);
            let hello = Hello { key: key.public(), masks: None, records, common };
            let body = to_json(&hello).unwrap();
            let header = header(Kind::Hello, "C", "", 0, "", body.len());
            folder.replace("hello-C", &Message { header, body }.seal(&key).unwrap()).unwrap();
            let others = scope(|scope| {
                let greet = |name| {
                    let directory = directory.path();
                    scope.spawn(move || {
                        greet(place(directory, name, false), directory, "one").err().unwrap()
                    })
                };
                ["A", "B"].map(greet).map(|thread| thread.join().unwrap())
            });
            for error in others {
                assert!(error.what().contains(what), "{error}");
            }
        }
    }

    #[test]
    fn names_that_are_no_files_and_lists_without_this_site_are_refused() {
        let checked = |name: &str, sites: &[&str]| {
            let sites = sites.iter().map(|site| (*site).to_owned()).collect();
            let place = Place { name: name.to_owned(), sites, ..place(Path::new("."), "A", false) };
            place.checked()
        };
        assert_eq!(checked("B", &["C", "B"]).unwrap().sites, ["B", "C"]);
        for (name, sites) in
            [("A", &["A"][..]), ("A", &["B", "C"]), ("A", &["A", "A"]), ("../A", &["../A", "B"])]
        {
            assert!(checked(name, sites).is_err(), "{name} {sites:?}");
        }
    }

    #[test]
    fn a_message_that_somebody_else_wrote_is_refused_with_its_site_and_file_until_it_is_gone() {
        let directory = folder();
        let mut meetings = meet(directory.path(), false);
        let folder = Folder::open(&directory.path().join("exchange")).unwrap();
        let mut b = meetings.remove(1);
        let own = value("B", 1);
        let of_a = value("A", 1).iter().flat_map(|it| it.to_le_bytes()).collect();
        meetings[0].send(Kind::Draw, 1, "mean", of_a).unwrap();
        let theirs = b.name(Kind::Draw, 1, "C");
        // Signed with another key than that of the site's hello.
        let forged = Meeting { key: key(directory.path(), "D"), ..meetings.remove(1) };
        let with = |numbers: &[f64], number: u64| {
            let body = numbers.iter().flat_map(|it| it.to_le_bytes()).collect();
            forged.message(Kind::Draw, number, "mean", body)
        };
        let real = key(directory.path(), "C");
        for (bytes, what) in [
            (with(&value("C", 1), 1).seal(&forged.key).unwrap(), "signature is not that"),
            (with(&value("C", 1), 2).seal(&real).unwrap(), "another place"),
            (with(&[1.0], 1).seal(&real).unwrap(), "1 numbers, and 2 are needed"),
            (with(&[1.0, f64::NAN], 1).seal(&real).unwrap(), "number 2 is not finite"),
            (b"words".to_vec(), "no message that this version reads"),
        ] {
            folder.replace(&theirs, &bytes).unwrap();
            let error = b.join("mean", &own).unwrap_err();
            assert!(error.what().contains("site 'C'") && error.what().contains(what), "{error}");
            assert!(error.place().unwrap().ends_with("release-000001-C"), "{error}");
            assert_eq!(error.kind(), ErrorKind::Failed, "the run can be resumed");
        }
        // This site's own message was changed, too.
        folder.replace(&b.name(Kind::Draw, 1, "B"), b"words").unwrap();
        assert!(b.join("mean", &own).unwrap_err().what().contains("other contents"));
    }

    #[test]
    fn what_was_agreed_on_cannot_be_changed_after_the_start() {
        let directory = folder();
        let meetings = meet(directory.path(), false);
        let protocol = meetings[0].protocol().to_owned();
        let again = |files: Vec<Vec<u8>>| {
            let place = place(directory.path(), "A", false);
            let said = (protocol.as_str(), files);
            Meeting::again(place, key(directory.path(), "A"), said, Box::new(|| false))
        };
        let mut files = meetings[0].files().to_vec();
        assert!(again(files.clone()).is_ok());
        // Whatever becomes of the folder.
        std::fs::write(directory.path().join("exchange/hello-C"), "words").unwrap();
        std::fs::remove_file(directory.path().join("exchange/hello-A")).unwrap();
        assert!(again(files.clone()).is_ok());
        assert!(again(files[..2].to_vec()).is_err());
        let said = (protocol.as_str(), files.clone());
        let other = place(directory.path(), "A", true);
        let error = Meeting::again(other, key(directory.path(), "A"), said, Box::new(|| false));
        assert!(error.err().unwrap().what().contains("was changed after the run began"));
        let last = files[2].len() - 1;
        files[2][last] ^= 1;
        let error = again(files).err().unwrap();
        assert!(error.what().contains("was changed after the run began"), "{error}");
    }

    #[test]
    fn two_sites_cannot_take_one_name() {
        let directory = folder();
        let soon =
            Place { timeout: Duration::from_millis(30), ..place(directory.path(), "A", false) };
        let error = greet(soon.clone(), directory.path(), "one").err().unwrap();
        assert!(error.what().contains("'B', 'C' did not say"), "{error}");
        // The same site may start again.
        let error = greet(soon.clone(), directory.path(), "two").err().unwrap();
        assert!(error.what().contains("'B', 'C' did not say"), "{error}");
        let elsewhere = folder();
        let error = greet(soon, elsewhere.path(), "one").err().unwrap();
        assert!(error.what().contains("another key"), "{error}");
    }

    #[test]
    fn a_missing_site_is_named_when_the_time_is_over() {
        let directory = folder();
        let soon = |name| Place {
            timeout: Duration::from_millis(30),
            ..place(directory.path(), name, false)
        };
        let error = greet(soon("A"), directory.path(), "one").err().unwrap();
        assert!(error.what().contains("sites 'B', 'C' did not say"), "{error}");
        let mut meetings = meet(directory.path(), false);
        meetings[0].place = soon("A");
        let error = meetings[0].join("mean", &value("A", 1)).unwrap_err();
        assert!(error.what().contains("'B', 'C' did not say release 1"), "{error}");
        assert_eq!(error.kind(), ErrorKind::Failed);
        // A site that has ended is not waited for.
        meetings[0].place.timeout = Duration::from_mins(10);
        for meeting in &meetings[1..] {
            meeting.end().unwrap();
        }
        let error = meetings[0].join("mean", &value("A", 1)).unwrap_err();
        assert!(error.what().contains("ended after 0 releases"), "{error}");
        assert_eq!(error.kind(), ErrorKind::Refused);
    }

    #[test]
    fn a_site_that_ends_before_the_start_is_not_waited_for() {
        let directory = folder();
        let began = Instant::now();
        let long = |name| Place {
            timeout: Duration::from_mins(2),
            ..place(directory.path(), name, false)
        };
        let ask = |wanted: &str| {
            let error = greet(long("A"), directory.path(), "one").err().unwrap();
            assert!(error.what().contains(wanted), "{error}");
            error.kind()
        };
        Meeting::stop(&long("C"), &key(directory.path(), "C")).unwrap();
        assert_eq!(ask("site 'C' stopped before the start"), ErrorKind::Refused);
        // Signed by nobody, or not with the key that is trusted.
        let file = directory.path().join("exchange/stop-C");
        let mut bytes = std::fs::read(&file).unwrap();
        *bytes.last_mut().unwrap() ^= 1;
        std::fs::write(&file, bytes).unwrap();
        assert_eq!(ask("a message of site 'C' is refused: its signature"), ErrorKind::Failed);
        Meeting::stop(&long("C"), &key(directory.path(), "other")).unwrap();
        let fingerprint = key(directory.path(), "C").public().fingerprint();
        let trusting = Place { trusted: [("C".to_owned(), fingerprint)].into(), ..long("A") };
        let error = greet(trusting, directory.path(), "one").err().unwrap();
        assert!(error.what().contains("is trusted"), "{error}");
        std::fs::remove_file(&file).unwrap();
        // A site that starts again takes back what it said, and one that stops later is heard, too.
        Meeting::stop(&long("A"), &key(directory.path(), "A")).unwrap();
        let soon = Place { timeout: Duration::from_millis(30), ..long("A") };
        let error = greet(soon, directory.path(), "one").err().unwrap();
        assert!(error.what().contains("did not say"), "{error}");
        assert!(!directory.path().join("exchange/stop-A").exists());
        let meetings = at_all(|name| greet(long(name), directory.path(), "one").unwrap());
        Meeting::stop(&long("B"), &key(directory.path(), "B")).unwrap();
        let error = meetings[0].agree(&"A".to_owned()).unwrap_err();
        assert!(error.what().contains("site 'B' stopped before the start"), "{error}");
        assert!(began.elapsed() < Duration::from_mins(2), "nobody waited for the timeout");
    }

    #[test]
    fn another_key_than_the_trusted_one_is_refused() {
        let directory = folder();
        let fingerprint = |name| key(directory.path(), name).public().fingerprint();
        let trusting = |name, of| Place {
            trusted: [("B".to_owned(), fingerprint(of))].into(),
            ..place(directory.path(), name, false)
        };
        let greeted = at_all(|name| greet(trusting(name, "B"), directory.path(), "one").err());
        assert!(greeted.iter().all(Option::is_none), "{greeted:?}");
        let error = greet(trusting("A", "C"), directory.path(), "one").err().unwrap();
        assert!(error.what().contains(&format!("site 'B' has the key {}", fingerprint("B"))));
        assert_eq!(error.kind(), ErrorKind::Refused);
        let unknown = Place {
            trusted: [("D".to_owned(), fingerprint("B"))].into(),
            ..place(directory.path(), "A", false)
        };
        assert!(unknown.checked().unwrap_err().what().contains("'D' is not among"));
    }

    fn sharing(directory: &Path, name: &str) -> Place {
        let fingerprint =
            |name: &str| (name.to_owned(), key(directory, name).public().fingerprint());
        let trusted = NAMES.map(fingerprint).into();
        Place { may_collude: Some(1), trusted, ..place(directory, name, false) }
    }

    #[test]
    fn sites_with_one_noise_have_masks_that_cancel_and_change_with_every_release() {
        let directory = folder();
        let meetings =
            at_all(|name| greet(sharing(directory.path(), name), directory.path(), "one").unwrap());
        let of_all = |meetings: &[Meeting]| -> Vec<Vec<([u8; 32], bool)>> {
            meetings.iter().map(|meeting| meeting.masks().unwrap()).collect()
        };
        let first = of_all(&meetings);
        assert_eq!(first[0][0].0, first[1][0].0);
        assert_eq!(first[0][1].0, first[2][0].0);
        assert_eq!(first[1][1].0, first[2][1].0);
        assert!(first[0].iter().all(|(_, adds)| *adds) && first[2].iter().all(|(_, adds)| !adds));
        let said = (meetings[0].protocol().to_owned(), meetings[0].files().to_vec());
        let joined = scope(|scope| {
            let join = |mut meeting: Meeting| {
                scope.spawn(move || {
                    let own = value(&meeting.place().name, 1);
                    meeting.join("mean", &own).unwrap();
                    meeting
                })
            };
            let threads: Vec<_> = meetings.into_iter().map(join).collect();
            threads.into_iter().map(|it| it.join().unwrap()).collect::<Vec<_>>()
        });
        let second = of_all(&joined);
        assert!(second.iter().flatten().all(|mask| !first.concat().contains(mask)));
        // A site that is resumed goes on with the key that it began with, and with no other one.
        let again = || {
            let said = (said.0.as_str(), said.1.clone());
            let place = sharing(directory.path(), "A");
            Meeting::again(place, key(directory.path(), "A"), said, Box::new(|| false)).unwrap()
        };
        assert!(again().masks().unwrap_err().what().contains("is gone"));
        let resumed = again().with_mask_key(masks(directory.path(), "A")).unwrap();
        assert_eq!(resumed.masks().unwrap(), first[0]);
        let error = again().with_mask_key(masks(directory.path(), "B")).err().unwrap();
        assert!(error.what().contains("not the one that the run began with"), "{error}");
    }

    #[test]
    fn one_noise_is_refused_where_sites_disagree_are_not_known_or_may_be_left_out() {
        let directory = folder();
        let refused = at_all(|name| {
            let may_collude = (name != "B").then_some(1);
            let place = Place { may_collude, ..sharing(directory.path(), name) };
            greet(place, directory.path(), "one").err().unwrap()
        });
        for error in refused {
            let what = "noise: each site adds its own at B; one for all, and 1 may collude at A, C";
            assert!(error.what().contains(what), "{error}");
        }
        let mut unknown = sharing(directory.path(), "A");
        unknown.trusted.remove("C");
        let own = key(directory.path(), "A").public();
        let error = unknown.check_trust(own).unwrap_err();
        assert!(error.what().contains("those of 'C' are missing"), "{error}");
        assert!(error.cure_text().unwrap().contains(&own.fingerprint()), "{error}");
        let error = greet(unknown, directory.path(), "one").err().unwrap();
        assert!(error.what().contains("those of 'C' are missing"), "{error}");
        let leaving = Place { without_missing: true, ..sharing(directory.path(), "A") };
        assert!(leaving.checked().unwrap_err().what().contains("cannot go on without one"));
    }

    #[test]
    fn nobody_begins_with_a_site_that_signs_other_terms() {
        let directory = folder();
        let began = at_all(|name| {
            let mut meeting = greet(place(directory.path(), name, false), directory.path(), "one")?;
            meeting.begin(if name == "B" { "other" } else { "all" })
        });
        for began in began {
            assert!(began.unwrap_err().what().contains("it agrees to other terms"));
        }
    }

    /// A site that is resumed repeats its releases, as its transcript has them.
    fn resume(
        directory: &Path,
        name: &str,
        said: &(String, Vec<Vec<u8>>),
        until: u64,
    ) -> Result<Meeting> {
        let place = place(directory, name, true);
        let said = (said.0.as_str(), said.1.clone());
        let mut meeting = Meeting::again(place, key(directory, name), said, Box::new(|| false))?;
        meeting.agree(&name.to_owned())?;
        meeting.begin("all")?;
        for number in 1..=until {
            meeting.join("mean", &value(name, number))?;
        }
        Ok(meeting)
    }

    #[test]
    fn without_the_missing_site_the_others_agree_on_who_is_left_and_it_stays_out() {
        let directory = folder();
        let meetings = meet(directory.path(), true);
        let said = (meetings[0].protocol().to_owned(), meetings[0].files().to_vec());
        scope(|scope| {
            for mut meeting in meetings {
                scope.spawn(move || {
                    let name = meeting.place().name.clone();
                    for number in 1..=9 {
                        if name == "C" && number == 4 {
                            return;
                        }
                        if number == 4 {
                            meeting.place.timeout = Duration::from_secs(3);
                        }
                        let all = meeting.join("mean", &value(&name, number)).unwrap();
                        let there = if number < 4 { &NAMES[..] } else { &NAMES[..2] };
                        let wanted: Vec<_> = there.iter().map(|it| value(it, number)).collect();
                        assert_eq!(all, wanted);
                        meeting.place.timeout = Duration::from_secs(20);
                    }
                    assert_eq!(meeting.left().collect::<Vec<_>>(), [("C", 3)]);
                });
            }
        });
        // B resumes where it was, also through the release at which C was left out.
        let b = resume(directory.path(), "B", &said, 9).unwrap();
        assert_eq!(b.present(), [0, 1]);
        // C resumes, and is told that it is out; what it released before stays.
        let error = resume(directory.path(), "C", &said, 4).err().unwrap();
        assert!(error.what().contains("without this one after release 3"), "{error}");
        assert_eq!(error.kind(), ErrorKind::Refused);
    }

    #[test]
    fn sites_that_die_and_repeat_their_releases_mix_no_round() {
        let directory = folder();
        let meetings = meet(directory.path(), true);
        let said = (meetings[0].protocol().to_owned(), meetings[0].files().to_vec());
        drop(meetings);
        // A hundred deaths: every site goes through all releases again after each one.
        at_all(|name| {
            for number in 1..=34 {
                let mut meeting = resume(directory.path(), name, &said, number - 1).unwrap();
                let all = meeting.join("mean", &value(name, number)).unwrap();
                assert_eq!(all, NAMES.map(|it| value(it, number)));
            }
        });
    }
}
