//! The first message of every site: what it takes part in. All are compared before anything is planned.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::files::words::harmless;
use crate::folder::{Folder, wait};
use crate::key::{PublicKey, SiteKey};
use crate::message::{Kind, Message, expect, header};
use crate::place::{LONGEST_VALUE, Place};

/// The most records of a site; a larger number is no number of records.
const MOST_RECORDS: usize = 1 << 40;

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

/// A site that ended before the start.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Stopped {
    pub key: PublicKey,
}

/// What each site said, in the order of their names.
pub(crate) fn opened(place: &Place, folder: &Folder, files: &[Vec<u8>]) -> Result<Vec<Hello>> {
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
        hello.map_err(|error| folder.refused(name, &format!("hello-{name}"), &error))
    };
    place.sites.iter().zip(files).map(open).collect()
}

/// Refuses sites that do not run the same plan, with what differs and whose.
pub(crate) fn compare(place: &Place, hellos: &[Hello]) -> Result<()> {
    let names: BTreeSet<&String> = hellos.iter().flat_map(|hello| hello.common.keys()).collect();
    let mut differences = Vec::new();
    for name in names {
        let mut values: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for (site, hello) in place.sites.iter().zip(hellos) {
            let value = hello.common.get(name).map_or("missing", String::as_str);
            values.entry(value).or_default().push(site);
        }
        if values.len() > 1 {
            let shown = |text: &str| harmless(text, LONGEST_VALUE);
            let each = values
                .iter()
                .map(|(value, sites)| format!("{} at {}", shown(value), sites.join(", ")));
            differences.push(format!("{}: {}", shown(name), each.collect::<Vec<_>>().join("; ")));
        }
    }
    if differences.is_empty() {
        return compare_masks(place, hellos);
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

/// Refuses a public key for masks that two sites say. The names in the keys of masks make it harmless; no
/// honest site says the key of another one.
fn compare_masks(place: &Place, hellos: &[Hello]) -> Result<()> {
    let mut seen = BTreeMap::new();
    for (site, hello) in place.sites.iter().zip(hellos) {
        let Some(key) = &hello.masks else { continue };
        if let Some(other) = seen.insert(key, site) {
            return Err(Error::refused(format!(
                "sites '{other}' and '{site}' say the same key for masks"
            ))
            .cure("nothing was spent: ask both who has copied the key of the other one"));
        }
    }
    Ok(())
}

/// Refuses a site whose name another one has taken. A site that starts again has its key.
pub(crate) fn refuse_namesake(folder: &Folder, name: &str, key: &SiteKey) -> Result<()> {
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

/// The hello files of all sites, in order, when all are there. Before, `waits_for` is told whose are missing,
/// whenever that changes.
pub(crate) fn hellos(
    place: &Place,
    folder: &Folder,
    is_stopped: &dyn Fn() -> bool,
    waits_for: &mut dyn FnMut(&str),
) -> Result<Vec<Vec<u8>>> {
    let mut found: Vec<Option<Vec<u8>>> = Vec::new();
    let (mut stopped, mut awaited) = (None, Vec::new());
    let done = wait(place.timeout, is_stopped, || {
        let read = |name| folder.read(&format!("hello-{name}"));
        found = place.sites.iter().map(read).collect::<Result<_>>()?;
        let missing = missing(&found);
        let is_done = missing.is_empty();
        if missing != awaited && !is_done {
            waits_for(&place.names(&missing));
        }
        awaited = missing;
        for name in place.sites.iter().filter(|_| !is_done) {
            if has_stopped(place, folder, name, None)? {
                stopped = Some(name);
            }
        }
        Ok(is_done || stopped.is_some())
    })?;
    if let Some(name) = stopped {
        return Err(place.stopped(name));
    }
    if !done {
        return Err(place.missing(&missing(&found), "hello"));
    }
    Ok(found.into_iter().flatten().collect())
}

/// The sites of which nothing was found.
fn missing(found: &[Option<Vec<u8>>]) -> Vec<usize> {
    (0..found.len()).filter(|site| found[*site].is_none()).collect()
}

pub(crate) fn stop_name(site: &str) -> String {
    format!("stop-{site}")
}

/// Whether a site said that it ended before the start, signed with its key if that is known.
pub(crate) fn has_stopped(
    place: &Place,
    folder: &Folder,
    name: &str,
    key: Option<PublicKey>,
) -> Result<bool> {
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
