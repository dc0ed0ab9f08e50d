//! The numbers of a column, in memory or, for tables that are too large for it, on the disk.
//!
//! They are in chunks, each of which takes the fewest bytes that lose nothing; the last few are not
//! packed yet.

mod packed;

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use super::chunks::{CHUNK, Chunks, FEW, Kept, SPARSE};
use crate::error::Result;
use crate::files::scratch::Scratch;
use packed::{Form, Packed};

/// The numbers that a [`Window`] reads ahead.
const AHEAD: usize = 1 << 12;

/// Numbers of a column: finite ones, and NaN where one is missing.
#[derive(Clone, Default)]
pub struct Numbers {
    chunks: Chunks<Packed>,
    /// The numbers after the last chunk.
    rest: Vec<f64>,
    /// The row of the first infinite number in a chunk.
    first_infinite: Option<usize>,
}

/// Numbers in the precision in which they were read. NaN stands for a missing one.
#[derive(Clone)]
pub enum Values {
    /// Bytes.
    U8(Vec<u8>),
    /// Single precision.
    F32(Vec<f32>),
    /// Double precision.
    F64(Vec<f64>),
}

impl Kept<Packed> {
    fn read(&self, range: Range<usize>, numbers: &mut [f64]) {
        match self {
            Self::Memory(packed) => packed.read(range, numbers),
            Self::Disk { space, at, form } => {
                let at = at + (range.start * form.width()) as u64;
                if *form == Form::Doubles {
                    return space.read(bytemuck::cast_slice_mut(numbers), at);
                }
                let mut packed = Packed::zeros(*form, range.len());
                space.read(packed.as_bytes_mut(), at);
                packed.read(0..range.len(), numbers);
            }
        }
    }
}

impl From<Vec<f64>> for Numbers {
    fn from(numbers: Vec<f64>) -> Self {
        let mut all = Self::default();
        let end = numbers.len() / CHUNK * CHUNK;
        for some in numbers[..end].chunks(CHUNK) {
            all.push_chunk(some.len(), Packed::of(some));
        }
        all.rest = if end > 0 { numbers[end..].to_vec() } else { numbers };
        all
    }
}

/// As they are, without a search for the fewest bytes.
impl From<Values> for Numbers {
    fn from(values: Values) -> Self {
        let (count, packed) = match values {
            Values::U8(values) => (values.len(), Packed::Bytes(values.into())),
            Values::F32(values) => (values.len(), Packed::Singles(values.into())),
            Values::F64(values) => (values.len(), Packed::Doubles(values.into())),
        };
        let mut all = Self::default();
        if count > 0 {
            all.push_chunk(count, packed);
        }
        all
    }
}

impl Extend<f64> for Numbers {
    /// After some of them, `settle` is to be called.
    fn extend<I: IntoIterator<Item = f64>>(&mut self, numbers: I) {
        self.rest.extend(numbers);
    }
}

impl FromIterator<f64> for Numbers {
    fn from_iter<I: IntoIterator<Item = f64>>(numbers: I) -> Self {
        Self::from(numbers.into_iter().collect::<Vec<_>>())
    }
}

impl Numbers {
    /// None yet, which will be on the disk if there is space.
    pub(super) fn in_space(space: Option<&Arc<Scratch>>) -> Self {
        Self { chunks: Chunks::in_space(space), ..Self::default() }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.chunks.rows() + self.rest.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number in a row.
    pub fn get(&self, row: usize) -> f64 {
        if let Some(row) = row.checked_sub(self.chunks.rows()) {
            return self.rest[row];
        }
        let chunk = &self.chunks.list()[self.chunks.number_of(row)];
        let row = row - chunk.rows.start;
        if let Kept::Memory(packed) = &chunk.kept {
            return packed.get(row);
        }
        let mut number = [0.0];
        chunk.kept.read(row..row + 1, &mut number);
        number[0]
    }

    /// The numbers in these rows. `room` holds them where they are kept in another form.
    pub fn read<'a>(&'a self, rows: Range<usize>, room: &'a mut Vec<f64>) -> &'a [f64] {
        let packed = self.chunks.rows();
        if rows.start >= packed {
            return &self.rest[rows.start - packed..rows.end - packed];
        }
        let count = rows.len();
        if room.len() < count {
            room.resize(count, 0.0);
        }
        self.copy(rows, &mut room[..count]);
        &room[..count]
    }

    /// Writes the numbers in these rows over `numbers`.
    pub(super) fn copy(&self, rows: Range<usize>, mut numbers: &mut [f64]) {
        let mut next = rows.start;
        for chunk in &self.chunks.list()[self.chunks.number_of(next)..] {
            let end = chunk.rows.end.min(rows.end);
            let (here, after) = numbers.split_at_mut(end - next);
            chunk.kept.read(next - chunk.rows.start..end - chunk.rows.start, here);
            (next, numbers) = (end, after);
            if numbers.is_empty() {
                return;
            }
        }
        let packed = self.chunks.rows();
        numbers.copy_from_slice(&self.rest[next - packed..rows.end - packed]);
    }

    /// All of them, in order.
    pub fn iter(&self) -> impl Iterator<Item = f64> + '_ {
        let mut window = Window::default();
        (0..self.len()).map(move |row| window.get(self, row))
    }

    /// All of them as doubles in memory.
    pub fn whole(&self) -> Cow<'_, [f64]> {
        if self.chunks.list().is_empty() {
            return Cow::Borrowed(&self.rest);
        }
        let mut all = vec![0.0; self.len()];
        self.copy(0..self.len(), &mut all);
        Cow::Owned(all)
    }

    /// The numbers in these rows, in this order: in memory if there are few, and otherwise where
    /// these are.
    pub fn select(&self, rows: &[usize]) -> Result<Self> {
        let mut chosen = self.beside(rows.len(), FEW);
        let mut room = Vec::new();
        for some in rows.chunks(CHUNK) {
            let (Some(least), Some(most)) = (some.iter().min(), some.iter().max()) else { break };
            if most - least < SPARSE * some.len() {
                let between = self.read(*least..most + 1, &mut room);
                chosen.extend(some.iter().map(|row| between[row - least]));
            } else {
                chosen.extend(some.iter().map(|&row| self.get(row)));
            }
            chosen.settle()?;
        }
        Ok(chosen)
    }

    /// The numbers in these rows, with a missing number for a row that does not exist. The rows may
    /// be in any order, so all of one column are in memory meanwhile.
    pub(super) fn select_or_missing(&self, rows: &[usize]) -> Result<Self> {
        let all = self.whole();
        let mut chosen = self.beside(rows.len(), FEW);
        for some in rows.chunks(CHUNK) {
            chosen.extend(some.iter().map(|row| all.get(*row).copied().unwrap_or(f64::NAN)));
            chosen.settle()?;
        }
        Ok(chosen)
    }

    /// Room for numbers of chosen rows: in the same file if these are more than `few`.
    pub(super) fn beside(&self, rows: usize, few: usize) -> Self {
        Self { chunks: self.chunks.beside(rows, few), ..Self::default() }
    }

    /// The numbers of all parts, one after another. Packed ones are not copied.
    pub(super) fn concat(parts: &[&Self]) -> Result<Self> {
        let mut all = Self::in_space(parts.iter().find_map(|part| part.space()));
        parts.iter().try_for_each(|part| all.join(part))?;
        Ok(all)
    }

    /// Adds the numbers of another part. Packed ones are not copied.
    pub(super) fn join(&mut self, part: &Self) -> Result<()> {
        if !part.chunks.list().is_empty() {
            self.pack(self.rest.len())?;
        }
        let infinite = part.first_infinite.map(|row| row + self.chunks.rows());
        self.first_infinite = self.first_infinite.or(infinite);
        self.chunks.append(&part.chunks)?;
        self.append(&part.rest)
    }

    /// Adds numbers.
    pub(super) fn append(&mut self, numbers: &[f64]) -> Result<()> {
        self.extend(numbers.iter().copied());
        self.settle()
    }

    /// Adds a number. After some of them, [`Self::settle`] is to be called.
    pub(super) fn push(&mut self, number: f64) {
        self.rest.push(number);
    }

    /// Packs what was added, as far as it fills chunks.
    pub(super) fn settle(&mut self) -> Result<()> {
        self.pack(self.rest.len() / CHUNK * CHUNK)
    }

    /// Packs the first `count` numbers of the rest.
    fn pack(&mut self, count: usize) -> Result<()> {
        if count == 0 {
            return Ok(());
        }
        let rest = std::mem::take(&mut self.rest);
        for some in rest[..count].chunks(CHUNK) {
            self.push_chunk(some.len(), Packed::of(some));
            self.chunks.settle()?;
        }
        // Without the room of those that were packed.
        self.rest = rest[count..].to_vec();
        Ok(())
    }

    fn push_chunk(&mut self, count: usize, packed: Packed) {
        let first = self.chunks.rows();
        let infinite = || packed.first_infinite().map(|at| first + at);
        self.first_infinite = self.first_infinite.or_else(infinite);
        self.chunks.push(count, packed);
    }

    /// From now on they are on the disk.
    pub(super) fn move_to(&mut self, space: &Arc<Scratch>) -> Result<()> {
        self.chunks.move_to(space)?;
        self.settle()
    }

    /// Where they are, if on the disk.
    pub(super) fn space(&self) -> Option<&Arc<Scratch>> {
        self.chunks.space()
    }

    /// The first `rows` of them. Only for what was added since the last [`Self::settle`].
    pub(super) fn truncate(&mut self, rows: usize) {
        self.rest.truncate(rows.saturating_sub(self.chunks.rows()));
    }

    /// The row of the first infinite number.
    pub(super) fn first_infinite(&self) -> Option<usize> {
        let in_rest = || first(&self.rest, f64::is_infinite).map(|at| at + self.chunks.rows());
        self.first_infinite.or_else(in_rest)
    }

    /// The row of the first missing number.
    pub(super) fn first_missing(&self) -> Option<usize> {
        let mut room = Vec::new();
        (0..self.len()).step_by(AHEAD).find_map(|start| {
            let some = self.read(start..self.len().min(start + AHEAD), &mut room);
            first(some, f64::is_nan).map(|at| start + at)
        })
    }
}

/// The position of the first number that `is` such. Searched in pieces, without a branch after each
/// number.
fn first<T: Copy>(numbers: &[T], is: impl Fn(T) -> bool) -> Option<usize> {
    const PIECE: usize = 1 << 10;
    let has = |piece: &&[T]| piece.iter().fold(false, |any, cell| any | is(*cell));
    let piece = numbers.chunks(PIECE).position(|piece| has(&piece))? * PIECE;
    numbers[piece..].iter().position(|cell| is(*cell)).map(|at| piece + at)
}

/// Equality of the numbers, wherever they are; a missing one equals a missing one.
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
        if rows.start < self.rows.start || rows.end > self.rows.end {
            let end = numbers.len().min(rows.start + AHEAD.max(rows.len()));
            self.rows = rows.start..end;
            self.room.resize(self.rows.len(), 0.0);
            numbers.copy(self.rows.clone(), &mut self.room);
        }
        &self.room[rows.start - self.rows.start..rows.end - self.rows.start]
    }

    /// The number in a row.
    pub fn get(&mut self, numbers: &Numbers, row: usize) -> f64 {
        self.read(numbers, row..row + 1)[0]
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn space() -> Arc<Scratch> {
        Scratch::create_in(&std::env::temp_dir()).unwrap()
    }

    /// Puts the numbers on the disk, added in pieces.
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
    fn many_chosen_rows_stay_on_the_disk() {
        let kept = on_disk(&vec![0.25; 3 * FEW], 1 << 15);
        let rows: Vec<usize> = (0..3 * FEW).step_by(2).collect();
        assert!(kept.select(&rows).unwrap().space().is_some());
        assert!(kept.select_or_missing(&rows).unwrap().space().is_some());
        assert!(kept.select(&rows[..FEW]).unwrap().space().is_none());
    }
}
