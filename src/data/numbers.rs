//! The numbers of a column, in memory or, for tables that are too large for it, on the disk.
//!
//! On the disk they are in chunks, and every chunk takes the fewest bytes that lose nothing: one
//! for a whole number below 256, four for what is single precision anyway, otherwise eight.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use crate::error::Result;
use crate::files::scratch::Scratch;

/// The numbers that are written at a time.
const CHUNK: usize = 1 << 14;
/// The numbers that a [`Window`] reads ahead.
const AHEAD: usize = 1 << 12;
/// So many chosen numbers stay in memory, whatever they were chosen from.
const FEW: usize = 1 << 16;
/// Chosen rows are read together with those between them, if these are at most this many times as
/// many.
const SPARSE: usize = 8;

/// Numbers of a column: finite ones, and NaN where one is missing.
#[derive(Clone)]
pub struct Numbers(Storage);

#[derive(Clone)]
enum Storage {
    Memory(Vec<f64>),
    Disk(OnDisk),
}

#[derive(Clone)]
struct OnDisk {
    /// Where the next chunk goes.
    space: Arc<Scratch>,
    chunks: Vec<StoredChunk>,
    /// The numbers after the last chunk.
    rest: Vec<f64>,
    first_infinite: Option<usize>,
}

#[derive(Clone)]
struct StoredChunk {
    space: Arc<Scratch>,
    at: u64,
    rows: Range<usize>,
    width: Width,
}

/// How a number is written.
#[derive(Clone, Copy)]
enum Width {
    Byte,
    Single,
    Double,
}

impl Width {
    fn of(numbers: &[f64]) -> Self {
        let same = |x: f64, y: f64| x.to_bits() == y.to_bits() || (x.is_nan() && y.is_nan());
        if numbers.iter().all(|&x| same(f64::from(x as u8), x)) {
            Self::Byte
        } else if numbers.iter().all(|&x| same(f64::from(x as f32), x)) {
            Self::Single
        } else {
            Self::Double
        }
    }

    fn bytes(self) -> usize {
        match self {
            Self::Byte => 1,
            Self::Single => 4,
            Self::Double => 8,
        }
    }
}

impl StoredChunk {
    fn write(space: &Arc<Scratch>, first: usize, numbers: &[f64]) -> Result<Self> {
        let width = Width::of(numbers);
        let at = match width {
            Width::Byte => space.append(&numbers.iter().map(|&x| x as u8).collect::<Vec<_>>())?,
            Width::Single => {
                let singles: Vec<f32> = numbers.iter().map(|&x| x as f32).collect();
                space.append(bytemuck::cast_slice(&singles))?
            }
            Width::Double => space.append(bytemuck::cast_slice(numbers))?,
        };
        let rows = first..first + numbers.len();
        Ok(Self { space: Arc::clone(space), at, rows, width })
    }

    /// The numbers of these rows, which are within this chunk.
    fn read(&self, rows: Range<usize>, numbers: &mut [f64]) {
        let skipped = rows.start - self.rows.start;
        let at = self.at + (skipped * self.width.bytes()) as u64;
        match self.width {
            Width::Byte => {
                let mut bytes = vec![0_u8; rows.len()];
                self.space.read(&mut bytes, at);
                numbers.iter_mut().zip(bytes).for_each(|(x, byte)| *x = f64::from(byte));
            }
            Width::Single => {
                let mut singles = vec![0_f32; rows.len()];
                self.space.read(bytemuck::cast_slice_mut(&mut singles), at);
                numbers.iter_mut().zip(singles).for_each(|(x, single)| *x = f64::from(single));
            }
            Width::Double => self.space.read(bytemuck::cast_slice_mut(numbers), at),
        }
    }
}

impl OnDisk {
    fn new(space: Arc<Scratch>) -> Self {
        Self { space, chunks: Vec::new(), rest: Vec::new(), first_infinite: None }
    }

    /// The number of written rows.
    fn written(&self) -> usize {
        self.chunks.last().map_or(0, |chunk| chunk.rows.end)
    }

    /// Writes the rest; only whole chunks unless `all` is asked for.
    fn settle(&mut self, all: bool) -> Result<()> {
        let mut done = 0;
        while self.rest.len() - done >= if all { 1 } else { CHUNK } {
            let numbers = &self.rest[done..self.rest.len().min(done + CHUNK)];
            let first = self.written();
            if self.first_infinite.is_none() {
                let infinite = numbers.iter().position(|x| x.is_infinite());
                self.first_infinite = infinite.map(|at| first + at);
            }
            self.chunks.push(StoredChunk::write(&self.space, first, numbers)?);
            done += numbers.len();
        }
        self.rest.drain(..done);
        Ok(())
    }

    fn read(&self, rows: Range<usize>, room: &mut Vec<f64>) {
        if room.len() < rows.len() {
            room.resize(rows.len(), 0.0);
        }
        let mut next = rows.start;
        let mut chunk = self.chunks.partition_point(|chunk| chunk.rows.end <= next);
        while next < rows.end {
            let to = next - rows.start;
            let end = if let Some(chunk) = self.chunks.get(chunk) {
                let end = chunk.rows.end.min(rows.end);
                chunk.read(next..end, &mut room[to..end - rows.start]);
                end
            } else {
                let written = self.written();
                let rest = &self.rest[next - written..rows.end - written];
                room[to..rows.len()].copy_from_slice(rest);
                rows.end
            };
            next = end;
            chunk += 1;
        }
    }
}

impl Default for Numbers {
    fn default() -> Self {
        Self(Storage::Memory(Vec::new()))
    }
}

impl From<Vec<f64>> for Numbers {
    fn from(numbers: Vec<f64>) -> Self {
        Self(Storage::Memory(numbers))
    }
}

impl Extend<f64> for Numbers {
    /// After some of them, `settle` is to be called.
    fn extend<I: IntoIterator<Item = f64>>(&mut self, numbers: I) {
        match &mut self.0 {
            Storage::Memory(all) => all.extend(numbers),
            Storage::Disk(disk) => disk.rest.extend(numbers),
        }
    }
}

impl FromIterator<f64> for Numbers {
    fn from_iter<I: IntoIterator<Item = f64>>(numbers: I) -> Self {
        Self(Storage::Memory(numbers.into_iter().collect()))
    }
}

impl Numbers {
    /// How many there are.
    pub fn len(&self) -> usize {
        match &self.0 {
            Storage::Memory(numbers) => numbers.len(),
            Storage::Disk(disk) => disk.written() + disk.rest.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number in a row.
    pub fn get(&self, row: usize) -> f64 {
        match &self.0 {
            Storage::Memory(numbers) => numbers[row],
            Storage::Disk(_) => self.read(row..row + 1, &mut Vec::new())[0],
        }
    }

    /// The numbers in these rows. `room` holds them where they are not in memory.
    pub fn read<'a>(&'a self, rows: Range<usize>, room: &'a mut Vec<f64>) -> &'a [f64] {
        match &self.0 {
            Storage::Memory(numbers) => &numbers[rows],
            Storage::Disk(disk) => {
                let count = rows.len();
                disk.read(rows, room);
                &room[..count]
            }
        }
    }

    /// All of them, in order.
    pub fn iter(&self) -> impl Iterator<Item = f64> + '_ {
        let mut window = Window::default();
        (0..self.len()).map(move |row| window.get(self, row))
    }

    /// All of them in memory.
    pub fn whole(&self) -> Cow<'_, [f64]> {
        match &self.0 {
            Storage::Memory(numbers) => Cow::Borrowed(numbers),
            Storage::Disk(_) => {
                let mut room = Vec::new();
                self.read(0..self.len(), &mut room);
                Cow::Owned(room)
            }
        }
    }

    /// The numbers in these rows, in this order: in memory if there are few, and otherwise where
    /// these are.
    pub fn select(&self, rows: &[usize]) -> Result<Self> {
        let disk = match &self.0 {
            Storage::Memory(numbers) => return Ok(rows.iter().map(|&row| numbers[row]).collect()),
            Storage::Disk(disk) => disk,
        };
        let mut chosen = Self::beside(disk, rows.len());
        let mut room = Vec::new();
        let mut found = Vec::new();
        for some in rows.chunks(CHUNK) {
            let (Some(least), Some(most)) = (some.iter().min(), some.iter().max()) else { break };
            found.clear();
            if most - least < SPARSE * some.len() {
                let between = self.read(*least..most + 1, &mut room);
                found.extend(some.iter().map(|row| between[row - least]));
            } else {
                found.extend(some.iter().map(|&row| self.get(row)));
            }
            chosen.append(&found)?;
        }
        Ok(chosen)
    }

    /// The same, with a missing number for a row that does not exist. The rows may be in any order,
    /// so all of one column are in memory meanwhile.
    pub(super) fn select_or_missing(&self, rows: &[usize]) -> Result<Self> {
        let all = self.whole();
        let number = |row: &usize| all.get(*row).copied().unwrap_or(f64::NAN);
        let Storage::Disk(disk) = &self.0 else { return Ok(rows.iter().map(number).collect()) };
        let mut chosen = Self::beside(disk, rows.len());
        for some in rows.chunks(CHUNK) {
            chosen.append(&some.iter().map(number).collect::<Vec<_>>())?;
        }
        Ok(chosen)
    }

    /// Room for chosen numbers: in the same file if they are many. A file for each column would be
    /// more than a process may open.
    fn beside(disk: &OnDisk, rows: usize) -> Self {
        if rows <= FEW {
            return Self::default();
        }
        Self(Storage::Disk(OnDisk::new(Arc::clone(&disk.space))))
    }

    /// The numbers of all parts, one after another. Written ones are not written again.
    pub(super) fn concat(parts: &[&Self]) -> Result<Self> {
        let space = parts.iter().find_map(|part| part.space());
        let Some(space) = space else {
            return Ok(parts.iter().flat_map(|part| part.whole().into_owned()).collect());
        };
        let mut all = OnDisk::new(Arc::clone(space));
        for part in parts {
            all.settle(true)?;
            let first = all.written();
            match &part.0 {
                Storage::Memory(numbers) => all.rest.extend_from_slice(numbers),
                Storage::Disk(disk) => {
                    all.chunks.extend(disk.chunks.iter().cloned().map(|chunk| {
                        let rows = chunk.rows.start + first..chunk.rows.end + first;
                        StoredChunk { rows, ..chunk }
                    }));
                    all.rest.extend_from_slice(&disk.rest);
                    let infinite = disk.first_infinite.map(|row| row + first);
                    all.first_infinite = all.first_infinite.or(infinite);
                }
            }
        }
        all.settle(false)?;
        Ok(Self(Storage::Disk(all)))
    }

    /// Adds numbers.
    pub(super) fn append(&mut self, numbers: &[f64]) -> Result<()> {
        self.extend(numbers.iter().copied());
        self.settle()
    }

    /// Adds a number. After some of them, [`Self::settle`] is to be called.
    pub(super) fn push(&mut self, number: f64) {
        match &mut self.0 {
            Storage::Memory(all) => all.push(number),
            Storage::Disk(disk) => disk.rest.push(number),
        }
    }

    /// Writes what was pushed, if this column is on the disk.
    pub(super) fn settle(&mut self) -> Result<()> {
        match &mut self.0 {
            Storage::Memory(_) => Ok(()),
            Storage::Disk(disk) => disk.settle(false),
        }
    }

    /// From now on they are on the disk.
    pub(super) fn move_to(&mut self, space: &Arc<Scratch>) -> Result<()> {
        if let Storage::Memory(numbers) = &mut self.0 {
            let rest = std::mem::take(numbers);
            let mut disk = OnDisk { rest, ..OnDisk::new(Arc::clone(space)) };
            disk.settle(false)?;
            disk.rest.shrink_to_fit();
            self.0 = Storage::Disk(disk);
        }
        Ok(())
    }

    /// Where they are, if on the disk.
    pub(super) fn space(&self) -> Option<&Arc<Scratch>> {
        match &self.0 {
            Storage::Memory(_) => None,
            Storage::Disk(disk) => Some(&disk.space),
        }
    }

    /// Room for more of them in memory.
    pub(super) fn reserve_exact(&mut self, more: usize) {
        if let Storage::Memory(numbers) = &mut self.0 {
            numbers.reserve_exact(more);
        }
    }

    /// The first `rows` of them. Only for numbers in memory: what is written stays.
    pub(super) fn truncate(&mut self, rows: usize) {
        match &mut self.0 {
            Storage::Memory(numbers) => numbers.truncate(rows),
            Storage::Disk(disk) => disk.rest.truncate(rows.saturating_sub(disk.written())),
        }
    }

    /// The row of the first infinite number.
    pub(super) fn first_infinite(&self) -> Option<usize> {
        /// Searched in pieces, without a branch after each number.
        fn first(numbers: &[f64]) -> Option<usize> {
            const PIECE: usize = 1 << 10;
            let has =
                |piece: &&[f64]| piece.iter().fold(false, |any, cell| any | cell.is_infinite());
            let piece = numbers.chunks(PIECE).position(|piece| has(&piece))? * PIECE;
            numbers[piece..].iter().position(|cell| cell.is_infinite()).map(|at| piece + at)
        }
        match &self.0 {
            Storage::Memory(numbers) => first(numbers),
            Storage::Disk(disk) => {
                disk.first_infinite.or_else(|| first(&disk.rest).map(|at| at + disk.written()))
            }
        }
    }
}

/// The same numbers, wherever they are; a missing one equals a missing one.
impl PartialEq for Numbers {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len()
            && self.iter().zip(other.iter()).all(|(a, b)| a == b || (a.is_nan() && b.is_nan()))
    }
}

/// Reads numbers ahead for somebody who goes through the rows in order.
#[derive(Default)]
pub struct Window {
    room: Vec<f64>,
    rows: Range<usize>,
}

impl Window {
    /// The numbers in these rows of always the same column.
    pub fn read<'a>(&'a mut self, numbers: &'a Numbers, rows: Range<usize>) -> &'a [f64] {
        let Storage::Disk(disk) = &numbers.0 else { return numbers.read(rows, &mut self.room) };
        if rows.start < self.rows.start || rows.end > self.rows.end {
            let end = numbers.len().min(rows.start + AHEAD.max(rows.len()));
            self.rows = rows.start..end;
            disk.read(self.rows.clone(), &mut self.room);
        }
        &self.room[rows.start - self.rows.start..rows.end - self.rows.start]
    }

    /// The number in a row.
    pub fn get(&mut self, numbers: &Numbers, row: usize) -> f64 {
        match &numbers.0 {
            Storage::Memory(numbers) => numbers[row],
            Storage::Disk(_) => self.read(numbers, row..row + 1)[0],
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn space() -> Arc<Scratch> {
        Scratch::create_in(&std::env::temp_dir()).unwrap()
    }

    /// The same numbers on the disk, added in pieces.
    fn on_disk(numbers: &[f64], piece: usize) -> Numbers {
        let mut kept = Numbers::default();
        kept.move_to(&space()).unwrap();
        numbers.chunks(piece).for_each(|some| kept.append(some).unwrap());
        kept
    }

    fn bits(numbers: impl IntoIterator<Item = f64>) -> Vec<u64> {
        numbers.into_iter().map(|x| if x.is_nan() { 1 } else { x.to_bits() }).collect()
    }

    /// Some thousand numbers, of which stretches are bytes, singles and doubles.
    fn numbers() -> impl Strategy<Value = Vec<f64>> {
        let stretch = prop_oneof![
            (0..=255_u8).prop_map(f64::from),
            any::<f32>().prop_map(f64::from),
            any::<f64>(),
            Just(-0.0),
            Just(f64::NAN),
        ];
        let stretches = prop::collection::vec((stretch, 1..3 * CHUNK / 2), 1..6);
        stretches.prop_map(|stretches| {
            let all = stretches.into_iter();
            all.flat_map(|(number, count)| std::iter::repeat_n(number, count)).collect()
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn the_disk_gives_back_every_bit(numbers in numbers(), piece in 1..40_000_usize) {
            let kept = on_disk(&numbers, piece);
            prop_assert_eq!(kept.len(), numbers.len());
            prop_assert_eq!(bits(kept.iter()), bits(numbers.iter().copied()));
            prop_assert_eq!(bits(kept.whole().into_owned()), bits(numbers.clone()));
            let infinite = numbers.iter().position(|x| x.is_infinite());
            prop_assert_eq!(kept.first_infinite(), infinite);
        }

        #[test]
        fn chosen_rows_are_the_same_on_the_disk(
            numbers in numbers(), step in 1..40_usize, back in any::<bool>(),
        ) {
            let mut rows: Vec<usize> = (0..numbers.len()).step_by(step).collect();
            if back {
                rows.reverse();
            }
            let chosen = on_disk(&numbers, 9999).select(&rows).unwrap();
            let expected = Numbers::from(numbers.clone()).select(&rows).unwrap();
            prop_assert_eq!(bits(chosen.iter()), bits(expected.iter()));
            rows.push(numbers.len() + 3);
            let chosen = on_disk(&numbers, 9999).select_or_missing(&rows).unwrap();
            let expected = Numbers::from(numbers).select_or_missing(&rows).unwrap();
            prop_assert!(chosen.get(rows.len() - 1).is_nan());
            prop_assert_eq!(bits(chosen.iter()), bits(expected.iter()));
        }

        #[test]
        fn parts_follow_each_other(a in numbers(), b in numbers()) {
            let parts = [on_disk(&a, 5000), Numbers::from(b.clone()), on_disk(&b, 7000)];
            let all = Numbers::concat(&parts.iter().collect::<Vec<_>>()).unwrap();
            let expected = a.into_iter().chain(b.clone()).chain(b);
            prop_assert_eq!(bits(all.iter()), bits(expected.clone()));
            let rows = expected.clone().count();
            prop_assert_eq!(all.get(rows - 1).to_bits(), expected.last().unwrap().to_bits());
        }
    }

    #[test]
    fn a_chunk_takes_the_fewest_bytes_that_lose_nothing() {
        let bytes = |numbers: &[f64]| Width::of(numbers).bytes();
        assert_eq!(bytes(&[0.0, 255.0]), 1);
        for single in [-0.0, 256.0, 0.5, f64::NAN, f64::INFINITY] {
            assert_eq!(bytes(&[1.0, single]), 4, "{single}");
        }
        for double in [0.1, 1e300, 16_777_217.0] {
            assert_eq!(bytes(&[1.0, double]), 8, "{double}");
        }
    }

    #[test]
    fn many_chosen_rows_stay_on_the_disk() {
        let kept = on_disk(&vec![0.25; 3 * FEW], 1 << 15);
        let rows: Vec<usize> = (0..3 * FEW).step_by(2).collect();
        assert!(kept.select(&rows).unwrap().space().is_some());
        assert!(kept.select_or_missing(&rows).unwrap().space().is_some());
        assert!(kept.select(&rows[..FEW]).unwrap().space().is_none());
    }
}
