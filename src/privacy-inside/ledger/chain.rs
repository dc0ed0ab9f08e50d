//! Lines that are chained by hash: writing them, and checking them when they are read.

use std::path::Path;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::book::Book;
use super::entry::{Entry, LedgerLine};
use super::flaw::Flaw;
use crate::error::{Error, Result};
use crate::secret::hex;

/// `prev` of the first line.
pub(super) const GENESIS: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// A line without its hash, in the order in which it is written.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Body<E> {
    seq: u64,
    time: String,
    prev: String,
    entry: E,
}

/// As the contents of `ledger.head`, which names the last line that is known to be on disk.
impl LedgerLine {
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (seq, hash) = text.strip_suffix('\n')?.split_once(' ')?;
        let hexadecimal = hash.len() == GENESIS.len()
            && hash.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
        Some(Self { seq: seq.parse().ok().filter(|_| hexadecimal)?, hash: hash.to_owned() })
    }

    pub(super) fn text(&self) -> String {
        format!("{} {}\n", self.seq, self.hash)
    }
}

/// The contents of `ledger.head`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Confirmed {
    /// The file does not exist.
    Nothing,
    Unreadable,
    Until(LedgerLine),
}

/// The part after the good prefix.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) enum ChainTail {
    /// Nothing: the last line is confirmed.
    #[default]
    Confirmed,
    /// Nothing, but the program that wrote the last line died before confirming it.
    Unconfirmed,
    /// The unfinished line of a program that died while writing. It never
    /// returned from writing, so nothing was drawn under this line.
    Torn,
    /// Confirmed lines were lost or changed, from this line on, and `until` the last confirmed one if
    /// that is lost.
    Damaged { line: u64, why: String, until: Option<u64> },
}

/// A line that may be appended next.
#[derive(Debug)]
pub(super) struct Link {
    pub text: String,
    pub head: LedgerLine,
}

/// The result of reading: the good prefix, its sums, and what follows it.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct ChainReading {
    book: Book,
    /// Hash of every good line.
    hashes: Vec<String>,
    /// The end of the older chain that this one was rewritten from, if it was.
    before: Option<LedgerLine>,
    /// Length of the good prefix in bytes.
    length: u64,
    tail: ChainTail,
}

impl ChainReading {
    pub fn book(&self) -> &Book {
        &self.book
    }

    pub fn length(&self) -> u64 {
        self.length
    }

    pub fn tail(&self) -> &ChainTail {
        &self.tail
    }

    pub fn head(&self) -> LedgerLine {
        let hash = self.hashes.last().map_or(GENESIS, String::as_str);
        LedgerLine { seq: self.hashes.len() as u64, hash: hash.to_owned() }
    }

    /// The last bytes of the good prefix: a file with other bytes there is another file.
    pub fn ending(&self) -> String {
        self.hashes.last().map_or_else(String::new, |hash| seal(hash) + "\n")
    }

    /// Takes in the bytes that follow the good prefix, up to the end of the file.
    pub fn extend(&mut self, bytes: &[u8], confirmed: &Confirmed) {
        let mut rest = bytes;
        let mut flaw = "the line is cut off".to_owned();
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            if let Err(why) = self.take(&rest[..end]) {
                flaw = why;
                break;
            }
            self.length += end as u64 + 1;
            rest = &rest[end + 1..];
        }
        self.tail = self.tail_after(rest, &flaw, confirmed);
    }

    /// The next line, checked by reading it back: unreadable values (such as NaN) must not get into
    /// the file.
    pub fn compose(&self, time: String, entry: &Entry) -> Result<Link> {
        let LedgerLine { seq, hash: prev } = self.head();
        let body = Body { seq: seq + 1, time, prev, entry };
        let unwritable = |why: String| Error::failed(format!("cannot write a ledger line: {why}"));
        let mut text = serde_json::to_string(&body).map_err(|e| unwritable(e.to_string()))?;
        text.pop(); // the closing brace: the hash becomes the last field
        let hash = sha256(text.as_bytes());
        text += &seal(&hash);
        let (_, again) = self.read(text.as_bytes()).map_err(unwritable)?;
        if again.entry != *entry {
            return Err(unwritable("it would not be read back as it was".to_owned()));
        }
        text.push('\n');
        Ok(Link { text, head: LedgerLine { seq: seq + 1, hash } })
    }

    /// Adds an entry that fits: here, and to `text`, which is still to be written.
    pub fn put(&mut self, time: String, entry: &Entry, text: &mut String) -> Result<()> {
        self.book.check(entry)?;
        let link = self.compose(time, entry)?;
        *text += &link.text;
        self.extend(link.text.as_bytes(), &Confirmed::Until(link.head));
        Ok(())
    }

    /// Writes the lines again, with `change` applied to each entry, after a first line that names
    /// the old chain. `bytes` is the good prefix.
    pub fn rewritten(
        &self,
        bytes: &[u8],
        first: (String, &Entry),
        change: impl Fn(Entry) -> Entry,
    ) -> Result<(Self, String)> {
        let (mut again, mut text) = (Self::default(), String::new());
        again.put(first.0, first.1, &mut text)?;
        let unreadable = |error| Error::failed(format!("a ledger line cannot be read: {error}"));
        for line in bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            let json = [&line[..line.len().saturating_sub(seal(GENESIS).len())], b"}"].concat();
            let body: Body<Entry> = serde_json::from_slice(&json).map_err(unreadable)?;
            again.put(body.time, &change(body.entry), &mut text)?;
        }
        if again.hashes.len() != self.hashes.len() + 1 {
            return Err(Error::failed("the ledger changed while it was rewritten"));
        }
        Ok((again, text))
    }

    /// The damage, if there is any.
    pub fn flaw(&self) -> Option<Flaw> {
        let ChainTail::Damaged { line, why, until } = &self.tail else { return None };
        let (after, traces) = (self.head().seq, Vec::new());
        Some(Flaw { line: *line, why: why.clone(), after, until: *until, first: None, traces })
    }

    /// Hash of the first line: it identifies the ledger, independent of its place and length.
    pub fn first(&self) -> Option<&str> {
        self.hashes.first().map(String::as_str)
    }

    /// Whether this line is in the ledger.
    pub fn holds(&self, line: &LedgerLine) -> bool {
        let index = line.seq.checked_sub(1).and_then(|index| usize::try_from(index).ok());
        index.and_then(|index| self.hashes.get(index)) == Some(&line.hash)
    }

    /// The good prefix alone, as after a repair.
    pub fn good_prefix(&self) -> Self {
        Self { tail: ChainTail::Confirmed, ..self.clone() }
    }

    /// The book with remarks about how the file ends.
    pub fn remarked_book(&self, path: &Path) -> Book {
        let mut book = self.book.clone();
        let (file, lines) = (path.display(), self.hashes.len());
        match &self.tail {
            ChainTail::Confirmed | ChainTail::Damaged { .. } => {}
            ChainTail::Unconfirmed => book.warnings.push(format!(
                "{file}:{lines}: the program that wrote this line died before it was confirmed; it counts"
            )),
            ChainTail::Torn => book.warnings.push(format!(
                "{file}:{}: an unfinished line of a program that died while writing it; nothing was drawn under it, and the next entry sets it aside",
                lines + 1
            )),
        }
        book
    }

    fn take(&mut self, line: &[u8]) -> std::result::Result<(), String> {
        let (hash, body) = self.read(line)?;
        if let Entry::Rewritten { lines, head, .. } = &body.entry {
            self.before = Some(LedgerLine { seq: *lines, hash: head.clone() });
        }
        let line = LedgerLine { seq: body.seq, hash: hash.clone() };
        let applied = self.book.apply(&line, &body.time, body.entry);
        applied.map_err(|error| error.what().to_owned())?;
        self.hashes.push(hash);
        Ok(())
    }

    /// Hash and contents of a line that continues the good prefix.
    fn read(&self, line: &[u8]) -> std::result::Result<(String, Body<Entry>), String> {
        let cut = line.len().saturating_sub(seal(GENESIS).len());
        let (bytes, end) = line.split_at(cut);
        let hash = sha256(bytes);
        if end != seal(&hash).as_bytes() {
            return Err("the hash does not fit the line: it was changed after it was written, or is cut off".to_owned());
        }
        let json = [bytes, b"}"].concat();
        let body: Body<Entry> = serde_json::from_slice(&json)
            .map_err(|error| format!("this version of halflight cannot read the line: {error}"))?;
        let expected = self.head();
        if body.seq != expected.seq + 1 {
            return Err(format!("line {} stands where {} belongs", body.seq, expected.seq + 1));
        }
        if body.prev != expected.hash {
            return Err("the chain breaks: `prev` is not the hash of the line before".to_owned());
        }
        Ok((hash, body))
    }

    /// Judges the end of the file from its unread rest and the head.
    fn tail_after(&self, rest: &[u8], flaw: &str, confirmed: &Confirmed) -> ChainTail {
        let good = self.head().seq;
        let until = match confirmed {
            Confirmed::Until(head) if head.seq > good => Some(head.seq),
            _ => None,
        };
        let damaged =
            |line: u64, why: &str| ChainTail::Damaged { line, why: why.to_owned(), until };
        // Writing confirms every earlier line first, so a torn line is alone at
        // the end and comes after everything that was confirmed.
        let alone = !rest.iter().rev().skip(1).any(|byte| *byte == b'\n');
        let torn = alone && matches!(confirmed, Confirmed::Until(head) if head.seq <= good);
        if !rest.is_empty() && !torn {
            return damaged(good + 1, flaw);
        }
        let head = match confirmed {
            // A program that rewrote the ledger died before it confirmed this. The file was
            // replaced as a whole, so it has every line of the old chain.
            Confirmed::Until(head) if self.before.as_ref() == Some(head) && good > head.seq => {
                return if rest.is_empty() { ChainTail::Unconfirmed } else { ChainTail::Torn };
            }
            Confirmed::Until(head) => head,
            Confirmed::Nothing if good == 0 => return ChainTail::Confirmed,
            Confirmed::Nothing => {
                return damaged(good, "ledger.head is missing, so later lines may be missing too");
            }
            Confirmed::Unreadable => {
                return damaged(
                    good.max(1),
                    "ledger.head is unreadable, so later lines may be missing",
                );
            }
        };
        if head.seq > good {
            let why = format!(
                "lines {} to {} are missing: ledger.head confirms them",
                good + 1,
                head.seq
            );
            return damaged(good + 1, &why);
        }
        let here = head.seq.checked_sub(1).map_or(GENESIS, |i| self.hashes[i as usize].as_str());
        if here != head.hash {
            return damaged(
                head.seq.max(1),
                "ledger.head confirms another line here: one of the two files is a copy from elsewhere",
            );
        }
        match (rest.is_empty(), head.seq == good) {
            (false, _) => ChainTail::Torn,
            (true, false) => ChainTail::Unconfirmed,
            (true, true) => ChainTail::Confirmed,
        }
    }
}

/// The end of a line with this hash.
fn seal(hash: &str) -> String {
    format!(",\"hash\":\"{hash}\"}}")
}

/// In hexadecimal digits, as `sha256sum` prints it.
pub fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

#[cfg(test)]
mod tests {
    use super::super::entry::{AccountId, DatasetRecord};
    use super::*;

    fn dataset(number: u64) -> Entry {
        Entry::Dataset {
            account: AccountId(format!("acc-{number}")),
            dataset: DatasetRecord {
                name: "Kr\u{e4}nk\nlich \"quoted\"".to_owned(),
                origin: format!("/data/{number}.csv"),
                content: format!("content{number}"),
                view: format!("view{number}"),
                rows: number,
                ..DatasetRecord::default()
            },
        }
    }

    /// Text of a ledger of `count` lines, and the head after each.
    fn ledger(count: u64) -> (String, Vec<LedgerLine>) {
        let mut reading = ChainReading::default();
        let (mut text, mut heads) = (String::new(), vec![reading.head()]);
        for number in 1..=count {
            let link =
                reading.compose("2026-11-21T12:00:00Z".to_owned(), &dataset(number)).unwrap();
            reading.extend(link.text.as_bytes(), &Confirmed::Until(link.head.clone()));
            assert_eq!(reading.tail, ChainTail::Confirmed);
            text += &link.text;
            heads.push(link.head);
        }
        (text, heads)
    }

    fn read(text: impl AsRef<[u8]>, confirmed: &Confirmed) -> ChainReading {
        let mut reading = ChainReading::default();
        reading.extend(text.as_ref(), confirmed);
        reading
    }

    fn damage(reading: &ChainReading) -> (u64, &str) {
        match &reading.tail {
            ChainTail::Damaged { line, why, .. } => (*line, why),
            other => panic!("{other:?} is no damage"),
        }
    }

    #[test]
    fn a_line_is_one_line_of_json_with_its_hash_last() {
        let (text, heads) = ledger(1);
        let expected = [
            r#"{"seq":1,"time":"2026-11-21T12:00:00Z","prev":""#,
            GENESIS,
            r#"","entry":{"kind":"dataset","account":"acc-1","dataset":{"name":"Kränk\nlich \"quoted\"","#,
            r#""origin":"/data/1.csv","content":"content1","view":"view1","rows":1}},"hash":""#,
            &heads[1].hash,
            "\"}\n",
        ];
        assert_eq!(text, expected.concat());
    }

    #[test]
    fn reading_in_pieces_equals_reading_at_once() {
        let (text, heads) = ledger(4);
        let whole = read(&text, &Confirmed::Until(heads[4].clone()));
        let mut pieces = ChainReading::default();
        let mut start = 0;
        for (line, head) in text.split_inclusive('\n').zip(&heads[1..]) {
            pieces.extend(line.as_bytes(), &Confirmed::Until(head.clone()));
            start += line.len() as u64;
            assert_eq!(pieces.length(), start);
        }
        assert_eq!(pieces, whole);
        assert_eq!(whole.book.accounts.len(), 4);
    }

    #[test]
    fn a_missing_or_unreadable_head_is_damage_unless_nothing_was_written() {
        let (text, _) = ledger(2);
        assert_eq!(read("", &Confirmed::Nothing).tail, ChainTail::Confirmed);
        assert!(damage(&read(&text, &Confirmed::Nothing)).1.contains("head is missing"));
        assert!(damage(&read(&text[..9], &Confirmed::Nothing)).1.contains("cut off"));
        assert!(damage(&read(&text, &Confirmed::Unreadable)).1.contains("head is unreadable"));
        assert!(damage(&read("", &Confirmed::Unreadable)).1.contains("head is unreadable"));
    }

    #[test]
    fn a_head_ahead_of_the_lines_names_those_that_are_missing() {
        let (text, heads) = ledger(5);
        let end = text.match_indices('\n').nth(1).unwrap().0 + 1;
        let reading = read(&text[..end], &Confirmed::Until(heads[5].clone()));
        assert_eq!(damage(&reading), (3, "lines 3 to 5 are missing: ledger.head confirms them"));
        assert_eq!(damage(&read("", &Confirmed::Until(heads[5].clone()))).0, 1);
    }

    #[test]
    fn a_head_of_another_ledger_is_damage() {
        let (text, mut heads) = ledger(2);
        heads[1].hash = sha256(b"elsewhere");
        let reading = read(&text, &Confirmed::Until(heads[1].clone()));
        assert_eq!(damage(&reading).0, 1);
    }

    #[test]
    fn an_unfinished_line_after_the_confirmed_ones_is_torn_and_not_damage() {
        let (text, heads) = ledger(3);
        let last = text.trim_end().rfind('\n').unwrap() + 1;
        for end in last + 1..text.len() {
            let reading = read(&text.as_bytes()[..end], &Confirmed::Until(heads[2].clone()));
            assert_eq!(reading.tail, ChainTail::Torn);
            assert_eq!(reading.length(), last as u64);
        }
        let whole = read(&text, &Confirmed::Until(heads[2].clone()));
        assert_eq!((whole.tail, whole.hashes.len()), (ChainTail::Unconfirmed, 3));
        // After a power failure the file may have its length but not its bytes.
        let zeros = [&text.as_bytes()[..last], &[0; 200]].concat();
        assert_eq!(read(zeros, &Confirmed::Until(heads[2].clone())).tail, ChainTail::Torn);
        // Two unreadable lines cannot be the work of one writer.
        let two = format!("{}x\ny\n", &text[..last]);
        assert_eq!(damage(&read(two, &Confirmed::Until(heads[2].clone()))).0, 3);
    }

    #[test]
    fn a_line_that_was_left_out_repeated_or_swapped_breaks_the_chain() {
        let (text, heads) = ledger(4);
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        for (order, bad) in [([0, 2, 3, 3], 2), ([0, 1, 1, 2], 3), ([1, 0, 2, 3], 1)] {
            let shuffled: String = order.iter().map(|i| lines[*i]).collect();
            let reading = read(shuffled, &Confirmed::Until(heads[4].clone()));
            let (line, why) = damage(&reading);
            assert_eq!(line, bad);
            assert!(why.contains("stands where"), "{why}");
        }
    }

    #[test]
    fn a_line_that_does_not_continue_the_hash_before_it_is_refused() {
        let (text, heads) = ledger(2);
        let (first, second) = text.split_once('\n').unwrap();
        // A correct hash over a changed line: only the chain shows it.
        let changed = first.replace("acc-1", "acc-9");
        let body = &changed[..changed.len() - seal(GENESIS).len()];
        let forged = format!("{body}{}\n{second}", seal(&sha256(body.as_bytes())));
        let reading = read(forged, &Confirmed::Until(heads[2].clone()));
        assert_eq!(damage(&reading).0, 2);
        assert!(damage(&reading).1.contains("chain breaks"));
    }

    #[test]
    fn a_line_of_an_unknown_kind_is_not_skipped() {
        let body = format!(
            r#"{{"seq":1,"time":"t","prev":"{GENESIS}","entry":{{"kind":"refund","run":"a"}}"#
        );
        let hash = sha256(body.as_bytes());
        let head = LedgerLine { seq: 1, hash: hash.clone() };
        let reading = read(format!("{body}{}\n", seal(&hash)), &Confirmed::Until(head));
        let (line, why) = damage(&reading);
        assert_eq!(line, 1);
        assert!(why.contains("this version of halflight cannot read") && why.contains("refund"));
    }

    #[test]
    fn what_json_cannot_hold_is_not_written() {
        let reading = read(ledger(1).0, &Confirmed::Until(ledger(1).1[1].clone()));
        let budget = super::super::entry::Budget::new(f64::NAN, 1e-5);
        let entry = Entry::Budget { account: AccountId("acc-1".to_owned()), budget };
        let error = reading.compose("2026-11-21T12:00:00Z".to_owned(), &entry).unwrap_err();
        assert!(error.what().contains("cannot write a ledger line"), "{error}");
    }

    #[test]
    fn a_head_survives_its_text_and_nothing_else_does() {
        let head = LedgerLine { seq: 17, hash: sha256(b"abc") };
        assert_eq!(head.hash, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        assert_eq!(LedgerLine::parse(&head.text()), Some(head.clone()));
        let text = head.text();
        for end in 0..text.len() {
            assert_eq!(LedgerLine::parse(&text[..end]), None);
        }
        assert_eq!(LedgerLine::parse(&text.to_uppercase()), None);
    }
}
