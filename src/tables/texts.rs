//! The texts of a column, in memory or, for tables that are too large for it, on the disk.
//!
//! They are in chunks of rows. A chunk holds each different text once, and for every row the number
//! of its text. No chunk refers to another, so chosen rows never bring along the texts of others.

use std::borrow::Cow;
use std::hash::BuildHasher;
use std::ops::Range;
use std::sync::Arc;

use hashbrown::{DefaultHashBuilder, HashTable};

use super::chunks::{CHUNK, Chunk, Chunks, FEW, Kept, PackedCells, SPARSE};
use crate::error::Result;
use crate::files::scratch::Scratch;

/// A chunk with so many letters takes no further row, so that a few hundred columns of long texts
/// do not need much memory while they are read.
const LETTERS: usize = 1 << 18;
/// Stands for a text that has no number yet.
const NONE: u16 = u16::MAX;

/// Texts of a column; a missing one is empty.
#[derive(Clone, Default)]
pub struct Texts {
    chunks: Chunks<PackedTexts>,
    /// The rows after the last chunk.
    rest: Open,
}

/// Different texts, one after another.
#[derive(Clone, Default)]
struct Different {
    letters: String,
    /// Where each text ends.
    ends: Vec<u32>,
}

impl Different {
    fn get(&self, number: u16) -> &str {
        let number = usize::from(number);
        let start = number.checked_sub(1).map_or(0, |before| self.ends[before] as usize);
        &self.letters[start..self.ends[number] as usize]
    }

    /// The texts that occur among these numbers, with how often they do.
    fn counts(&self, numbers: impl Iterator<Item = u16>) -> Vec<(u16, usize)> {
        let mut counts = vec![0_usize; self.ends.len()];
        numbers.for_each(|number| counts[usize::from(number)] += 1);
        (0_u16..).zip(counts).filter(|(_, count)| *count > 0).collect()
    }
}

/// The number of a text in one byte or two.
fn number_in(bytes: &[u8]) -> u16 {
    match bytes {
        [byte] => u16::from(*byte),
        bytes => bytes.first_chunk().map_or(0, |pair| u16::from_ne_bytes(*pair)),
    }
}

/// The lengths of a chunk's parts. On the disk they follow one another: row numbers, ends, letters.
#[derive(Clone, Copy)]
struct Shape {
    rows: usize,
    different: usize,
    letters: usize,
}

impl Shape {
    /// The bytes of a row's number.
    fn width(self) -> usize {
        if self.different <= 1 << 8 { 1 } else { 2 }
    }

    fn bytes(self) -> usize {
        self.rows * self.width() + self.different * size_of::<u32>() + self.letters
    }

    /// The text in one row of a chunk that lies at `at`.
    fn read_row(self, space: &Scratch, at: u64, row: usize) -> String {
        let ends_at = at + (self.rows * self.width()) as u64;
        let letters_at = ends_at + (self.different * size_of::<u32>()) as u64;
        let mut number = vec![0; self.width()];
        space.read(&mut number, at + (self.width() * row) as u64);
        let number = number_in(&number);
        let end = |number: u16| {
            let mut end = [0_u32];
            let at = ends_at + (usize::from(number) * size_of::<u32>()) as u64;
            space.read(bytemuck::cast_slice_mut(&mut end), at);
            end[0]
        };
        let start = number.checked_sub(1).map_or(0, end);
        let mut text = vec![0; (end(number) - start) as usize];
        space.read(&mut text, letters_at + u64::from(start));
        unbroken(text)
    }

    fn read(self, space: &Scratch, mut at: u64) -> PackedTexts {
        let mut next = |bytes: &mut [u8]| {
            space.read(bytes, at);
            at += bytes.len() as u64;
        };
        let mut numbers = vec![0; self.rows * self.width()];
        next(&mut numbers);
        let mut ends = vec![0_u32; self.different];
        next(bytemuck::cast_slice_mut(&mut ends));
        let mut letters = vec![0; self.letters];
        next(&mut letters);
        let texts = Different { letters: unbroken(letters), ends };
        PackedTexts { texts, width: self.width(), numbers: numbers.into() }
    }
}

/// What was written as a text is one.
fn unbroken(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes)
        .unwrap_or_else(|broken| String::from_utf8_lossy(broken.as_bytes()).into_owned())
}

/// The rows of a full chunk.
#[derive(Clone)]
struct PackedTexts {
    texts: Different,
    /// The bytes of a row's number.
    width: usize,
    /// For every row the number of its text.
    numbers: Box<[u8]>,
}

impl PackedTexts {
    fn row_numbers(&self) -> impl Iterator<Item = u16> {
        self.numbers.chunks_exact(self.width).map(number_in)
    }

    fn get(&self, row: usize) -> &str {
        self.texts.get(number_in(&self.numbers[row * self.width..][..self.width]))
    }
}

impl PackedCells for PackedTexts {
    type Form = Shape;

    fn form(&self) -> Shape {
        let Different { letters, ends } = &self.texts;
        let rows = self.numbers.len() / self.width;
        Shape { rows, different: ends.len(), letters: letters.len() }
    }

    fn as_bytes(&self) -> Cow<'_, [u8]> {
        let Different { letters, ends } = &self.texts;
        [&self.numbers, bytemuck::cast_slice(ends), letters.as_bytes()].concat().into()
    }
}

impl Chunk<PackedTexts> {
    fn in_memory(&self) -> Arc<PackedTexts> {
        match &self.kept {
            Kept::Memory(packed) => Arc::clone(packed),
            Kept::Disk { space, at, form } => Arc::new(form.read(space, *at)),
        }
    }

    /// The texts in all its rows.
    fn iter(&self) -> impl Iterator<Item = Cow<'_, str>> {
        let read = self.in_memory();
        (0..self.rows.len()).map(move |row| match &self.kept {
            Kept::Memory(packed) => Cow::Borrowed(packed.get(row)),
            Kept::Disk { .. } => Cow::Owned(read.get(row).to_owned()),
        })
    }

    /// Different texts of the chunk, with how often they occur.
    fn counts(&self) -> impl Iterator<Item = (Cow<'_, str>, usize)> {
        let read = self.in_memory();
        let found = read.texts.counts(read.row_numbers());
        found.into_iter().map(move |(number, count)| match &self.kept {
            Kept::Memory(packed) => (Cow::Borrowed(packed.texts.get(number)), count),
            Kept::Disk { .. } => (Cow::Owned(read.texts.get(number).to_owned()), count),
        })
    }

    /// The text in a row of the column.
    fn get(&self, row: usize) -> Cow<'_, str> {
        let row = row - self.rows.start;
        match &self.kept {
            Kept::Memory(packed) => Cow::Borrowed(packed.get(row)),
            Kept::Disk { space, at, form } => Cow::Owned(form.read_row(space, *at, row)),
        }
    }
}

/// Rows to which others are added.
#[derive(Clone, Default)]
struct Open {
    texts: Different,
    /// The number of each row's text.
    numbers: Vec<u16>,
    /// The numbers of the texts, to be found by these.
    known: HashTable<u16>,
    hasher: DefaultHashBuilder,
}

impl Open {
    fn is_full(&self) -> bool {
        self.numbers.len() >= CHUNK || self.texts.letters.len() >= LETTERS
    }

    /// The number of a text, which is new or known.
    fn number_of(&mut self, text: &str) -> u16 {
        let Self { texts, known, hasher, .. } = self;
        let hash = hasher.hash_one(text);
        if let Some(number) = known.find(hash, |number| texts.get(*number) == text) {
            return *number;
        }
        let number = texts.ends.len() as u16;
        texts.letters.push_str(text);
        texts.ends.push(texts.letters.len() as u32);
        known.insert_unique(hash, number, |number| hasher.hash_one(texts.get(*number)));
        number
    }

    fn get(&self, row: usize) -> &str {
        self.texts.get(self.numbers[row])
    }

    fn shape(&self) -> Shape {
        let Different { letters, ends } = &self.texts;
        Shape { rows: self.numbers.len(), different: ends.len(), letters: letters.len() }
    }

    /// Takes out the rows, so that none is left.
    fn take(&mut self) -> PackedTexts {
        let width = self.shape().width();
        self.known.clear();
        let numbers = std::mem::take(&mut self.numbers);
        let mut texts = std::mem::take(&mut self.texts);
        texts.letters.shrink_to_fit();
        texts.ends.shrink_to_fit();
        let numbers = match width {
            1 => numbers.into_iter().map(|number| number as u8).collect(),
            _ => bytemuck::cast_slice(&numbers).into(),
        };
        PackedTexts { texts, width, numbers }
    }
}

impl<S: AsRef<str>> FromIterator<S> for Texts {
    fn from_iter<I: IntoIterator<Item = S>>(texts: I) -> Self {
        let mut all = Self::default();
        for text in texts {
            all.push(text.as_ref());
        }
        all
    }
}

impl Texts {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.chunks.rows() + self.rest.numbers.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bytes that they take, in memory or on the disk.
    pub(super) fn bytes(&self) -> usize {
        let chunks = self.chunks.list().iter().map(|chunk| match &chunk.kept {
            Kept::Memory(packed) => packed.form().bytes(),
            Kept::Disk { form, .. } => form.bytes(),
        });
        chunks.sum::<usize>() + self.rest.shape().bytes()
    }

    /// The text in a row.
    pub fn get(&self, row: usize) -> Cow<'_, str> {
        match row.checked_sub(self.chunks.rows()) {
            Some(row) => Cow::Borrowed(self.rest.get(row)),
            None => self.chunks.list()[self.chunks.number_of(row)].get(row),
        }
    }

    /// All of them, in order.
    pub fn iter(&self) -> impl Iterator<Item = Cow<'_, str>> {
        let rest = (0..self.rest.numbers.len()).map(|row| Cow::Borrowed(self.rest.get(row)));
        self.chunks.list().iter().flat_map(Chunk::iter).chain(rest)
    }

    /// The different texts of each chunk, with how often they occur there.
    pub fn counts(&self) -> impl Iterator<Item = (Cow<'_, str>, usize)> {
        let Open { texts, numbers, .. } = &self.rest;
        let rest = texts.counts(numbers.iter().copied());
        let rest =
            rest.into_iter().map(|(number, count)| (Cow::Borrowed(texts.get(number)), count));
        self.chunks.list().iter().flat_map(Chunk::counts).chain(rest)
    }

    /// Adds a text. After some of them, [`Self::settle`] is to be called.
    pub(super) fn push(&mut self, text: &str) {
        if self.rest.is_full() {
            self.close();
        }
        let number = self.rest.number_of(text);
        self.rest.numbers.push(number);
    }

    /// Takes back the text that was added last.
    pub(super) fn pop(&mut self) {
        self.rest.numbers.pop();
    }

    /// Forgets all of them.
    pub(super) fn clear(&mut self) {
        *self = Self::in_space(self.space());
    }

    /// Makes a chunk of the rest.
    fn close(&mut self) {
        self.chunks.push(self.rest.numbers.len(), self.rest.take());
    }

    /// Writes the chunks that are full, if they go to the disk.
    pub(super) fn settle(&mut self) -> Result<()> {
        self.chunks.settle()
    }

    /// Adds the texts of other rows.
    pub(super) fn append(&mut self, other: &Self) -> Result<()> {
        for chunk in other.chunks.list() {
            let packed = chunk.in_memory();
            self.extend(&packed.texts, packed.row_numbers());
            self.settle()?;
        }
        self.append_rest(&other.rest)
    }

    fn append_rest(&mut self, Open { texts, numbers, .. }: &Open) -> Result<()> {
        self.extend(texts, numbers.iter().copied());
        self.settle()
    }

    /// Adds rows, each by the number of its text.
    fn extend(&mut self, texts: &Different, numbers: impl Iterator<Item = u16>) {
        let mut own = vec![NONE; texts.ends.len()];
        for number in numbers {
            if self.rest.is_full() {
                self.close();
                own.fill(NONE);
            }
            let own = &mut own[usize::from(number)];
            if *own == NONE {
                *own = self.rest.number_of(texts.get(number));
            }
            self.rest.numbers.push(*own);
        }
    }

    /// The texts of all parts, one after another. Full chunks are not copied. A part that begins
    /// with a chunk needs the last rows of the one before to be a chunk, too.
    pub(super) fn concat(parts: &[&Self]) -> Result<Self> {
        let mut all = Self::in_space(parts.iter().find_map(|part| part.space()));
        for part in parts {
            if !part.chunks.list().is_empty() && !all.rest.numbers.is_empty() {
                all.close();
            }
            all.chunks.append(&part.chunks)?;
            all.append_rest(&part.rest)?;
        }
        Ok(all)
    }

    /// The texts in these rows, in this order: in memory if there are few, and otherwise where
    /// these are.
    pub fn select(&self, rows: &[usize]) -> Result<Self> {
        let chunks = self.chunks.list();
        let mut chosen = self.beside(rows.len());
        for some in rows.chunks(CHUNK) {
            let (Some(&least), Some(&most)) = (some.iter().min(), some.iter().max()) else { break };
            let first = self.chunks.number_of(least);
            let between = first..chunks.len().min(self.chunks.number_of(most) + 1);
            let near: Option<Vec<_>> = (most - least < SPARSE * some.len())
                .then(|| chunks[between].iter().map(Chunk::in_memory).collect());
            for &row in some {
                let number = self.chunks.number_of(row);
                match near.as_ref().and_then(|near| near.get(number - first)) {
                    Some(packed) => chosen.push(packed.get(row - chunks[number].rows.start)),
                    None => chosen.push(&self.get(row)),
                }
            }
            chosen.settle()?;
        }
        Ok(chosen)
    }

    /// The texts in these rows, with an empty text for a row that does not exist. The rows may be
    /// in any order, so all of one column are in memory meanwhile.
    pub(super) fn select_or_missing(&self, rows: &[usize]) -> Result<Self> {
        let all: Vec<_> = self.chunks.list().iter().map(Chunk::in_memory).collect();
        let mut chosen = self.beside(rows.len());
        for some in rows.chunks(CHUNK) {
            for &row in some {
                let number = self.chunks.number_of(row);
                if row >= self.len() {
                    chosen.push("");
                } else if let Some(packed) = all.get(number) {
                    chosen.push(packed.get(row - self.chunks.list()[number].rows.start));
                } else {
                    chosen.push(self.rest.get(row - self.chunks.rows()));
                }
            }
            chosen.settle()?;
        }
        Ok(chosen)
    }

    /// None yet, which will be on the disk if there is space.
    pub(super) fn in_space(space: Option<&Arc<Scratch>>) -> Self {
        Self { chunks: Chunks::in_space(space), rest: Open::default() }
    }

    /// Room for chosen texts: in the same file if they are many.
    fn beside(&self, rows: usize) -> Self {
        Self { chunks: self.chunks.beside(rows, FEW), rest: Open::default() }
    }

    /// From now on they are on the disk.
    pub(super) fn move_to(&mut self, space: &Arc<Scratch>) -> Result<()> {
        self.chunks.move_to(space)
    }

    /// Where they are, if on the disk.
    pub(super) fn space(&self) -> Option<&Arc<Scratch>> {
        self.chunks.space()
    }
}

/// Equality of the texts, wherever they are.
impl PartialEq for Texts {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.iter().eq(other.iter())
    }
}

/// Holds a chunk for somebody who goes through the rows in order.
#[derive(Default)]
pub struct TextWindow {
    chunk: Option<(Range<usize>, Arc<PackedTexts>)>,
}

impl TextWindow {
    /// The text in a row of always the same column.
    pub fn get<'w>(&'w mut self, texts: &'w Texts, row: usize) -> &'w str {
        if let Some(row) = row.checked_sub(texts.chunks.rows()) {
            return texts.rest.get(row);
        }
        let known = self.chunk.take().filter(|(rows, _)| rows.contains(&row));
        let (rows, packed) = self.chunk.insert(known.unwrap_or_else(|| {
            let chunk = &texts.chunks.list()[texts.chunks.number_of(row)];
            (chunk.rows.clone(), chunk.in_memory())
        }));
        packed.get(row - rows.start)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn space() -> Arc<Scratch> {
        Scratch::create_in(&std::env::temp_dir()).unwrap()
    }

    /// Puts the texts on the disk, added in pieces.
    fn on_disk(texts: &[String], piece: usize) -> Texts {
        let mut kept = Texts::default();
        kept.move_to(&space()).unwrap();
        for some in texts.chunks(piece) {
            kept.append(&some.iter().collect()).unwrap();
        }
        kept
    }

    fn owned(texts: &Texts) -> Vec<String> {
        texts.iter().map(Cow::into_owned).collect()
    }

    /// Some thousand texts, of which stretches have few values, or as many as rows.
    fn texts() -> impl Strategy<Value = Vec<String>> {
        let stretch = (0..3_usize, "[a-zé]{0,6}", 1..3 * CHUNK / 2);
        prop::collection::vec(stretch, 1..5).prop_map(|stretches| {
            let all = stretches.into_iter();
            all.flat_map(|(kind, text, count)| {
                (0..count).map(move |at| match kind {
                    0 => text.clone(),
                    1 => format!("{text}{}", at % 300),
                    _ => format!("{text} {at}"),
                })
            })
            .collect()
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn every_text_comes_back(texts in texts(), piece in 1..40_000_usize) {
            let memory: Texts = texts.iter().collect();
            let disk = on_disk(&texts, piece);
            let written = |it: &Chunk<_>| matches!(it.kept, Kept::Disk { .. });
            prop_assert!(disk.chunks.list().iter().all(written));
            for kept in [&memory, &disk] {
                prop_assert_eq!(kept.len(), texts.len());
                prop_assert_eq!(&owned(kept), &texts);
                let mut window = TextWindow::default();
                for row in (0..texts.len()).step_by(997).chain([texts.len() - 1, 0]) {
                    prop_assert_eq!(&kept.get(row), &texts[row]);
                    prop_assert_eq!(window.get(kept, row), texts[row].as_str());
                }
                let counts: Vec<_> = kept.counts().collect();
                prop_assert_eq!(counts.iter().map(|(_, count)| count).sum::<usize>(), texts.len());
                let first = counts.iter().filter(|(text, _)| *text == texts[0]);
                let expected = texts.iter().filter(|text| **text == texts[0]).count();
                prop_assert_eq!(first.map(|(_, count)| count).sum::<usize>(), expected);
            }
            prop_assert!(memory == disk);
        }

        #[test]
        fn chosen_rows_are_the_same_on_the_disk(
            texts in texts(), step in 1..40_usize, back in any::<bool>(),
        ) {
            let mut rows: Vec<usize> = (0..texts.len()).step_by(step).collect();
            if back {
                rows.reverse();
            }
            let expected: Vec<String> = rows.iter().map(|row| texts[*row].clone()).collect();
            let memory: Texts = texts.iter().collect();
            let disk = on_disk(&texts, 9999);
            for kept in [&memory, &disk] {
                prop_assert_eq!(&owned(&kept.select(&rows).unwrap()), &expected);
                let beyond = [&rows[..], &[texts.len(), usize::MAX]].concat();
                let filled = owned(&kept.select_or_missing(&beyond).unwrap());
                prop_assert_eq!(&filled[..rows.len()], &expected);
                prop_assert_eq!(&filled[rows.len()..], &["", ""]);
            }
        }

        #[test]
        fn parts_follow_each_other(a in texts(), b in texts()) {
            let parts = [on_disk(&a, 5000), b.iter().collect(), on_disk(&b, 7000)];
            let all = Texts::concat(&parts.iter().collect::<Vec<_>>()).unwrap();
            let expected = [a, b.clone(), b].concat();
            prop_assert_eq!(&all.get(expected.len() - 1), expected.last().unwrap());
            prop_assert_eq!(owned(&all), expected);
        }
    }

    #[test]
    fn many_chosen_rows_stay_on_the_disk() {
        let kept = on_disk(&vec!["ward 1".to_owned(); 3 * FEW], 1 << 15);
        let rows: Vec<usize> = (0..3 * FEW).step_by(2).collect();
        assert!(kept.select(&rows).unwrap().space().is_some());
        assert!(kept.select_or_missing(&rows).unwrap().space().is_some());
        assert!(kept.select(&rows[..FEW]).unwrap().space().is_none());
    }

    /// Otherwise a chosen part could carry what it must not know.
    #[test]
    fn chosen_rows_bring_no_other_text() {
        let texts: Texts = ["a", "secret", "b"].iter().collect();
        let chosen = texts.select(&[2, 0]).unwrap();
        assert_eq!(chosen.rest.texts.letters, "ba");
        let sized = texts.select_or_missing(&[0, 7]).unwrap();
        assert_eq!(sized.rest.texts.letters, "a");
    }

    #[test]
    fn few_values_take_a_byte_and_long_texts_end_a_chunk() {
        let wards: Texts = (0..4 * CHUNK).map(|row| format!("ward {}", row % 9)).collect();
        assert!(wards.bytes() < 4 * CHUNK + 1000, "{}", wards.bytes());
        let long: Texts = (0..10).map(|row| row.to_string().repeat(LETTERS)).collect();
        assert_eq!((long.chunks.list().len(), long.len()), (9, 10));
    }

    #[test]
    fn the_last_text_can_be_taken_back() {
        let mut texts: Texts = (0..CHUNK).map(|row| row.to_string()).collect();
        for _ in 0..2 {
            texts.push("x");
            texts.pop();
            assert_eq!((texts.len(), texts.get(CHUNK - 1).as_ref()), (CHUNK, "16383"));
            texts.push("y");
            texts.pop();
        }
        texts.push("z");
        assert_eq!(texts.get(CHUNK).as_ref(), "z");
    }
}
