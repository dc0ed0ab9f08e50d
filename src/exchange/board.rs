//! How far each site of a joint run came, for those who look on: by its signed messages alone.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::folder::Folder;
use crate::hello::Hello;
use crate::key::{PublicKey, from_hexadecimal};
use crate::meeting::Ended;
use crate::message::{Kind, Message, expect, file_name, header};
use crate::place::Place;

/// Where a run meets the other sites, and what they agreed on, as its directory keeps it.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pinned {
    /// Where and with whom.
    pub place: Place,
    /// The digest of what all sites agreed on.
    pub protocol: String,
    /// What each site said when the run began, as it was signed, in hexadecimal digits.
    pub hellos: Vec<String>,
}

/// How far a site came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SiteState {
    /// The site has not said that it is ready to draw.
    NotReady,
    /// The site is ready, or has released something.
    Going,
    /// The site draws no more.
    Ended,
    /// A message of the site cannot be used.
    Refused(String),
}

/// What the messages of a site say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SiteProgress {
    /// The name of the site.
    pub name: String,
    /// The state.
    pub state: SiteState,
    /// The number of its releases.
    pub releases: u64,
    /// The number of its releases with each label.
    pub drawn: BTreeMap<String, u64>,
    /// When its last message was written, by the clock of the disk.
    pub wrote: Option<SystemTime>,
}

/// Reads the messages of all sites, and later only new ones. It writes nothing.
#[derive(Debug)]
pub struct BoardReader {
    folder: Folder,
    protocol: String,
    keys: Vec<PublicKey>,
    sites: Vec<SiteProgress>,
}

impl Pinned {
    /// What the sites said when the run began.
    pub fn files(&self) -> Result<Vec<Vec<u8>>> {
        let files: Option<Vec<_>> = self.hellos.iter().map(|it| from_hexadecimal(it)).collect();
        files.ok_or_else(|| Error::failed("`hellos` are no hexadecimal digits"))
    }
}

impl BoardReader {
    /// The board of this run. Nothing is read so far.
    pub fn open(pinned: &Pinned) -> Result<Self> {
        let folder = Folder::open(&pinned.place.folder)?;
        if pinned.hellos.len() != pinned.place.sites.len() || !pinned.protocol.is_ascii() {
            return Err(Error::failed("the sites of the run cannot be read"));
        }
        let key = |file: &Vec<u8>| {
            let hello = Message::open(file, |message| Ok(message.json::<Hello>()?.key))?;
            Ok(hello.json::<Hello>()?.key)
        };
        let site = |name: &String| SiteProgress {
            name: name.clone(),
            state: SiteState::NotReady,
            releases: 0,
            drawn: BTreeMap::new(),
            wrote: None,
        };
        Ok(Self {
            folder,
            protocol: pinned.protocol.clone(),
            keys: pinned.files()?.iter().map(key).collect::<Result<_>>()?,
            sites: pinned.place.sites.iter().map(site).collect(),
        })
    }

    /// How far each site came, in the order of their names.
    pub fn look(&mut self) -> &[SiteProgress] {
        for at in 0..self.sites.len() {
            if let Err(error) = self.look_at(at) {
                self.sites[at].state = SiteState::Refused(error.what().to_owned());
            }
        }
        &self.sites
    }

    fn look_at(&mut self, at: usize) -> Result<()> {
        if self.sites[at].state == SiteState::Ended {
            return Ok(());
        }
        let is_ready = match self.sites[at].state {
            SiteState::Going => true,
            _ => self.read(at, Kind::Ready, 0)?.is_some(),
        };
        if !is_ready {
            return Ok(());
        }
        self.sites[at].state = SiteState::Going;
        // The end is read first: a site writes it after its last release.
        let ended = self.read(at, Kind::End, 0)?;
        while let Some(message) = self.read(at, Kind::Draw, self.sites[at].releases + 1)? {
            let site = &mut self.sites[at];
            site.releases += 1;
            *site.drawn.entry(message.header.label).or_default() += 1;
        }
        if ended.is_some_and(|message| message.json::<Ended>().is_ok()) {
            self.sites[at].state = SiteState::Ended;
        }
        Ok(())
    }

    /// A message of a site, if it is there, and notes when it was written.
    fn read(&mut self, at: usize, kind: Kind, number: u64) -> Result<Option<Message>> {
        let site = &mut self.sites[at];
        let file = file_name(&self.protocol, kind, number, &site.name);
        let Some(bytes) = self.folder.read(&file)? else { return Ok(None) };
        let message = Message::open(&bytes, |message| {
            let (label, length) = (&message.header.label, message.body.len());
            let wanted = header(kind, &site.name, &self.protocol, number, label, length);
            expect(&message.header, &wanted)?;
            Ok(self.keys[at])
        })?;
        site.wrote = site.wrote.max(written(&self.folder.at(&file)));
        Ok(Some(message))
    }
}

fn written(file: &Path) -> Option<SystemTime> {
    std::fs::metadata(file).and_then(|about| about.modified()).ok()
}

#[cfg(test)]
mod tests {
    use std::thread::scope;
    use std::time::Duration;

    use super::*;
    use crate::key::{SiteKey, hexadecimal};
    use crate::meeting::Meeting;

    #[test]
    fn a_board_says_what_signed_messages_say_and_names_a_foreign_one() {
        let directory = tempfile::tempdir().unwrap();
        let folder = directory.path().join("exchange");
        std::fs::create_dir(&folder).unwrap();
        let names = ["A", "B"].map(str::to_owned);
        let greet = |name: &String| {
            let key = SiteKey::find(&directory.path().join(name)).unwrap();
            let place = Place {
                folder: folder.clone(),
                name: name.clone(),
                sites: names.to_vec(),
                timeout: Duration::from_secs(20),
                without_missing: false,
                may_collude: None,
                trusted: BTreeMap::new(),
            };
            let common = BTreeMap::new();
            let hello = Hello { key: key.public(), masks: None, records: 100, common };
            Meeting::greet(place, key, hello, Box::new(|| false), &mut |_| ()).unwrap()
        };
        let mut sites: Vec<Meeting> = scope(|scope| {
            let threads: Vec<_> =
                names.iter().map(|name| scope.spawn(move || greet(name))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        let pinned = Pinned {
            place: sites[0].place().clone(),
            protocol: sites[0].protocol().to_owned(),
            hellos: sites[0].files().iter().map(|file| hexadecimal(file)).collect(),
        };
        let mut board = BoardReader::open(&pinned).unwrap();
        assert!(board.look().iter().all(|site| site.state == SiteState::NotReady));
        let [a, b] = sites.as_mut_slice() else { panic!() };
        let of_all = |a: &mut Meeting, b: &mut Meeting, step: fn(&mut Meeting)| {
            scope(|scope| {
                scope.spawn(|| step(a));
                step(b);
            });
        };
        of_all(a, b, |site| site.begin("all").unwrap());
        of_all(a, b, |site| drop(site.join("slope", &[1.0]).unwrap()));
        let seen = board.look().to_vec();
        let drawn = BTreeMap::from([("slope".to_owned(), 1)]);
        assert!(seen.iter().all(|site| site.state == SiteState::Going && site.drawn == drawn));
        assert!(seen.iter().all(|site| site.wrote.is_some()));
        // Somebody puts the first release of B in the place of its second one.
        let file = |number| folder.join(file_name(&pinned.protocol, Kind::Draw, number, "B"));
        std::fs::copy(file(1), file(2)).unwrap();
        a.end().unwrap();
        let seen = board.look().to_vec();
        assert_eq!((seen[0].state.clone(), seen[0].releases), (SiteState::Ended, 1));
        let SiteState::Refused(why) = &seen[1].state else { panic!("{seen:?}") };
        assert!(why.contains("another place") && seen[1].releases == 1, "{why}");
        std::fs::remove_file(file(2)).unwrap();
        assert_eq!(board.look()[1].state, SiteState::Going);
    }
}
