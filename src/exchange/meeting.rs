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

use std::collections::BTreeMap;
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::error::{Error, Result};
use crate::folder::{Folder, wait};
use crate::hello::{self, Hello, Stopped};
use crate::key::{MaskKey, SiteKey, hexadecimal};
use crate::message::{Kind, Message, expect, file_name, header, to_json};
use crate::place::Place;

/// The releases that a site made.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Ended {
    releases: u64,
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

impl Meeting {
    /// Says hello, waits for the others, and compares. Nothing is spent so far. `waits_for` is told which sites
    /// are missing, whenever that changes.
    pub fn greet(
        place: Place,
        key: SiteKey,
        hello: Hello,
        is_stopped: Box<dyn Fn() -> bool + Send>,
        waits_for: &mut dyn FnMut(&str),
    ) -> Result<Self> {
        let place = place.checked()?;
        place.check_trust(key.public())?;
        let folder = Folder::open(&place.folder)?;
        folder.check_new(&place.name)?;
        let common = hello.common.into_iter().chain(place.common()).collect();
        let hello = Hello { common, ..hello };
        let body = to_json(&hello)?;
        let header = header(Kind::Hello, &place.name, "", 0, "", body.len());
        let sealed = Message { header, body }.seal(&key)?;
        let name = format!("hello-{}", place.name);
        hello::refuse_namesake(&folder, &name, &key)?;
        // An earlier program of this site may have said that it stops.
        folder.remove(&hello::stop_name(&place.name))?;
        folder.replace(&name, &sealed)?;
        let files = hello::hellos(&place, &folder, &is_stopped, waits_for)?;
        let mut meeting = Self::of(place, folder, key, files, is_stopped);
        meeting.hellos = hello::opened(&meeting.place, &meeting.folder, &meeting.files)?;
        for (name, hello) in meeting.hellos() {
            meeting.place.check_key(name, hello.key)?;
        }
        hello::compare(&meeting.place, &meeting.hellos)?;
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
        meeting.hellos = hello::opened(&meeting.place, &meeting.folder, &meeting.files)?;
        let said = meeting.hellos.get(meeting.place.own()).map(|hello| &hello.common);
        let same = |(name, value)| said.and_then(|said| said.get(&name)) == Some(&value);
        if meeting.place.common().into_iter().all(same) {
            return Ok(meeting);
        }
        if meeting.place.common_before().is_some_and(same) {
            return Err(Error::refused(
                "an earlier build of halflight began this run, and this one makes other masks",
            )
            .cure("start all sites again with an empty folder, once each has settled this run"));
        }
        Err(changed())
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
            let sites = [own.min(site), own.max(site)];
            let names = sites.map(|site| self.place.sites[site].as_str());
            let about = (names, self.releases + 1);
            let mask = key.with(theirs, &self.protocol, about).map_err(|error| {
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
        Folder::open(&place.folder)?.replace(&hello::stop_name(&place.name), &sealed)
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
        hello::has_stopped(&self.place, &self.folder, name, Some(self.hellos[site].key))
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
                return Ok(self.place.stopped(&self.place.sites[*site]));
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
        Ok(self.place.missing(sites, &what))
    }

    fn bad(&self, site: usize, kind: Kind, number: u64, error: &Error) -> Error {
        let name = &self.place.sites[site];
        self.folder.refused(name, &self.name(kind, number, name), error)
    }
}

#[cfg(test)]
mod tests;
