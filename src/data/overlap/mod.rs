//! Estimates how many rows two tables have in common, from a few kilobytes about each.
//!
//! A file without some rows, with one more column, or in another order still holds the same people.
//! Its fingerprint is different, but a [`Sketch`] recognises most of its rows.
//!
//! Every cell is hashed by its value. A *class* is a choice of columns; a row's digest in it
//! is the sum of its cells' hashes, through SipHash-2-4 under a key of the user's. There are
//! [`CLASSES`]:
//!
//! | class | takes | so it does not see |
//! |---|---|---|
//! | [`ALL`] | every column that varies, by value alone | renamed columns, constant ones |
//! | [`NAMED`] | every column, bound to its name | |
//! | [`PLACE`] | the row's file and line too | coarse data: similar rows differ in it |
//! | the others | about half of the columns, half of these classes bound to names | changes in the other columns |
//!
//! If one column was dropped, added or edited, about half of the other classes stay unchanged; with
//! two columns, a quarter. A column that only numbers the rows is left out of all classes but
//! [`PLACE`]: two files that both count from 1 need not have anything in common.
//!
//! The smallest digests of each class are kept, so two tables keep the same ones of the rows that
//! they share. Below the smaller of their thresholds all digests of both are known. A written
//! sketch holds [`KEPT`] digests of 48 bits per class, less than 20 kB in all. A table in memory
//! has [`GATHERED`], so that a small file is found in a large one. A class counts only if few rows
//! would match by chance: see [`Class::chance`].

mod key;
mod rows;
#[cfg(test)]
mod tests;

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use serde::{Deserialize, Serialize};

pub use key::DigestKey;

const HALVES: usize = 16;
const CLASSES: usize = 3 + HALVES;
const ALL: usize = 0;
const NAMED: usize = 1;
const PLACE: usize = 2;
/// The number of written digests per class.
const KEPT: usize = 128;
/// The number of digests per class for a table in memory.
const GATHERED: usize = 4096;
/// Bits of a digest, and the bytes that they take.
const BITS: u32 = 48;
const BYTES: usize = 6;
const VERSION: u8 = 1;

/// Two tables that share at least this part of the smaller one hold the same people.
pub const SHARED: f64 = 0.1;
/// A class in which more rows than this may match by chance does not count.
const COARSE: f64 = 0.4;
/// A half class with fewer values than this, each of more rows, does not count. A class of whole
/// rows does: a table may hold every row many times.
const FEW_VALUES: usize = 64;
const MANY_ROWS: u64 = 4;
/// If fewer rows than this match by chance, even a single match is reported.
const RARE: f64 = 0.03;
/// The deviation that chance reaches about once in ten thousand comparisons.
const DEVIATIONS: f64 = 4.0;
/// Rows that must be seen in both before a share is believed.
const EVIDENCE: usize = 3;
/// The number of half classes that must agree: a single one may hold only a date and a place.
const AGREEING: usize = 2;

/// A summary of a table's rows. Two are equal if their written forms are.
#[derive(Clone, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Sketch {
    rows: u64,
    classes: Arc<[Class]>,
}

#[derive(Debug, Clone)]
struct Class {
    /// The smallest digests, in order, each once.
    digests: Vec<u64>,
    /// Whether there are no others.
    whole: bool,
    /// Share of the rows that agree with no other row of the table.
    unique: f64,
    /// Bits of information in a row, if its columns were independent.
    spread: f64,
}

/// The overlap of two tables.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Overlap {
    /// The estimated share of the smaller one's rows.
    pub share: f64,
    /// The estimated number of rows.
    pub rows: u64,
    /// Whether the overlap is too much for chance: the tables hold records of the same people.
    pub shared: bool,
    /// Whether some rows are in both that chance does not explain, however few they are.
    pub copied: bool,
}

impl Sketch {
    /// The number of rows in the summary.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// The overlap of the two; `None` if there is none.
    pub fn overlap(&self, other: &Self) -> Option<Overlap> {
        let classes = self.classes.iter().zip(other.classes.iter()).enumerate();
        let mut wholes = Vec::new();
        let mut halves = Vec::new();
        for (at, (one, two)) in classes {
            let chance = one.chance(self, two, other);
            let meeting = one.meet(two, chance);
            let coarse = at > PLACE && (one.is_coarse(self) || two.is_coarse(other));
            if chance <= COARSE && meeting.common > 0 && !coarse {
                if at > PLACE { &mut halves } else { &mut wholes }.push(meeting);
            }
        }
        // The halves count together, without the one that agrees most.
        halves.sort_by(|a, b| b.beyond_chance().total_cmp(&a.beyond_chance()));
        let of = |meetings: &[Meeting]| {
            let agreeing = meetings.iter().filter(|it| it.beyond_chance() >= SHARED);
            agreeing.copied().collect::<Vec<_>>()
        };
        let mut agreeing = of(&wholes);
        if halves.get(AGREEING - 1).is_some_and(|it| it.beyond_chance() >= SHARED) {
            agreeing.extend(of(&halves));
        }
        let smaller = self.rows.min(other.rows) as f64;
        let overlap = |share: f64, shared| Overlap {
            share,
            rows: ((share * smaller).round() as u64).max(1),
            shared,
            copied: shared || wholes.iter().any(Meeting::is_copied),
        };
        let common: usize = agreeing.iter().map(|it| it.common).sum();
        if common >= EVIDENCE {
            let seen: usize = agreeing.iter().map(|it| it.of).sum();
            return Some(overlap(common as f64 / seen as f64, true));
        }
        // A few rows that agree completely, where this is hardly chance.
        let few = wholes.iter().filter(|it| it.chance <= RARE).map(Meeting::share);
        few.reduce(f64::max).map(|share| overlap(share, false))
    }

    /// Written form of the sketch.
    fn encoded(&self) -> Vec<u8> {
        let mut bytes = vec![VERSION];
        bytes.extend(self.rows.to_le_bytes());
        for class in self.classes.iter() {
            let kept = &class.digests[..class.digests.len().min(KEPT)];
            let whole = class.whole && kept.len() == class.digests.len();
            bytes.extend((kept.len() as u16 | u16::from(whole) << 15).to_le_bytes());
            bytes.extend(((class.unique * 65535.0) as u16).to_le_bytes());
            bytes.extend(((class.spread * 10.0) as u16).to_le_bytes());
            for digest in kept {
                bytes.extend(&digest.to_le_bytes()[..BYTES]);
            }
        }
        bytes
    }

    fn decoded(bytes: &[u8]) -> Option<Self> {
        let (&version, mut rest) = bytes.split_first()?;
        if version != VERSION {
            return None;
        }
        let rows = u64::from_le_bytes(*take(&mut rest)?);
        let mut classes = Vec::with_capacity(CLASSES);
        for _ in 0..CLASSES {
            let mut word = || take(&mut rest).map(|word| u16::from_le_bytes(*word));
            let (count, unique, spread) = (word()?, word()?, word()?);
            let digests = (0..count & 0x7fff).map(|_| {
                let [a, b, c, d, e, f] = *take::<BYTES>(&mut rest)?;
                Some(u64::from_le_bytes([a, b, c, d, e, f, 0, 0]))
            });
            classes.push(Class {
                digests: digests.collect::<Option<Vec<_>>>().filter(|it| it.is_sorted())?,
                whole: count >> 15 == 1,
                unique: f64::from(unique) / 65535.0,
                spread: f64::from(spread) / 10.0,
            });
        }
        rest.is_empty().then(|| Self { rows, classes: classes.into() })
    }
}

fn take<'a, const N: usize>(bytes: &mut &'a [u8]) -> Option<&'a [u8; N]> {
    let (first, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(first)
}

/// Digests of two tables in one class.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Meeting {
    common: usize,
    /// The number of digests of the smaller table.
    of: usize,
    /// The share that may match by chance.
    chance: f64,
}

impl Meeting {
    /// Whether whole rows agree more often than chance explains. Rows that are rarely equal within
    /// either table are rarely equal between them.
    fn is_copied(&self) -> bool {
        self.chance <= RARE && self.common >= EVIDENCE && self.beyond_chance() > 0.0
    }

    fn share(&self) -> f64 {
        self.common as f64 / self.of.max(1) as f64
    }

    /// The share that chance does not explain: of `of` rows it finds `chance` on average, and
    /// seldom [`DEVIATIONS`] standard deviations more.
    fn beyond_chance(&self) -> f64 {
        let deviation = (self.chance * (1.0 - self.chance) / self.of.max(1) as f64).sqrt();
        let explained = (self.chance + DEVIATIONS * deviation).min(1.0);
        if explained < 1.0 { (self.share() - explained) / (1.0 - explained) } else { 0.0 }
    }
}

impl Class {
    /// Up to the smaller of the thresholds all digests of both tables are known.
    fn meet(&self, other: &Self, chance: f64) -> Meeting {
        let threshold = self.threshold().min(other.threshold());
        let below = |class: &Self| class.digests.partition_point(|digest| *digest <= threshold);
        let (mine, theirs) = (&self.digests[..below(self)], &other.digests[..below(other)]);
        let (mut at, mut common) = (0, 0);
        for digest in mine {
            while theirs.get(at).is_some_and(|it| it < digest) {
                at += 1;
            }
            common += usize::from(theirs.get(at) == Some(digest));
        }
        Meeting { common, of: mine.len().min(theirs.len()), chance }
    }

    fn threshold(&self) -> u64 {
        if self.whole { u64::MAX } else { self.digests.last().copied().unwrap_or(0) }
    }

    /// Whether its rows have so few values, each of many rows, that a value tells nothing about a
    /// person. `chance` does not see this: it goes by the other table, where the same columns may be
    /// finer.
    fn is_coarse(&self, table: &Sketch) -> bool {
        let values = self.digests.len();
        self.whole && values < FEW_VALUES && table.rows > MANY_ROWS * values as u64
    }

    /// A bound on the share of the smaller table's rows that are in the other by chance, from the
    /// more distinct of the two tables: doubling all rows does not make them coarse.
    fn chance(&self, mine: &Sketch, other: &Self, theirs: &Sketch) -> f64 {
        let by = |class: &Self, table: &Sketch, other: &Sketch| {
            let (rows, others) = (table.rows.max(1) as f64, other.rows.max(1) as f64);
            // Rows that coincide within one table coincide as often between two. If only a few rows
            // were compared, half a row might have.
            let within = (1.0 - class.unique + 0.5 / rows) * (others / rows).max(1.0);
            // Columns are seldom quite independent.
            within.max(2.0 * (-class.spread).exp2() * others)
        };
        by(self, mine, theirs).min(by(other, theirs, mine))
    }
}

impl PartialEq for Sketch {
    fn eq(&self, other: &Self) -> bool {
        self.encoded() == other.encoded()
    }
}

impl Eq for Sketch {}

/// Shows only the number of rows, which may be shown.
impl fmt::Debug for Sketch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sketch({} rows)", self.rows)
    }
}

impl From<Sketch> for String {
    fn from(sketch: Sketch) -> Self {
        STANDARD_NO_PAD.encode(sketch.encoded())
    }
}

impl TryFrom<String> for Sketch {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let bytes = STANDARD_NO_PAD.decode(text).ok();
        bytes.and_then(|bytes| Self::decoded(&bytes)).ok_or_else(|| {
            "the sketch of the rows is damaged, or of a later version of halflight".to_owned()
        })
    }
}

impl Overlap {
    /// The larger of the two overlaps.
    pub fn or(self, other: Self) -> Self {
        let order = (self.shared, other.shared);
        let greater = order.0.cmp(&order.1).then(self.share.total_cmp(&other.share));
        if greater == Ordering::Less { other } else { self }
    }
}
