//! A column whose cells are vectors of one length: embeddings, images.
//!
//! Stored row by row as one column of [`Numbers`], in the precision of the file or less: 10⁵
//! embeddings of 400 single-precision numbers take 160 MB, and the pixels of an image stay bytes. If
//! they are more than fit into memory, they are on the disk.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Range;
use std::sync::Arc;

use super::numbers::Numbers;
pub use super::numbers::Values;
use crate::error::Result;
use crate::files::scratch::Scratch;
use crate::memory;

/// So many chosen vectors are in memory, whatever they were chosen from: those that are prepared
/// together.
const FEW: usize = 1 << 12;
/// Numbers that are read at once.
const READ_AHEAD: usize = 1 << 14;

/// One vector of `width` numbers for each row, one after another.
#[derive(Clone)]
pub struct Vectors {
    width: usize,
    numbers: Numbers,
    /// Whether they were read in single precision.
    single: bool,
}

/// One row's vector.
#[derive(Clone, Copy)]
pub struct RowVector<'a> {
    numbers: &'a Numbers,
    first: usize,
    width: usize,
}

impl Vectors {
    /// `values` in pieces of `width`; `None` if the length is not a multiple.
    pub fn new(width: usize, values: Values) -> Option<Self> {
        let single = !matches!(values, Values::F64(_));
        Self::of_numbers(width, values.into(), single)
    }

    /// Numbers in pieces of `width`, which may have been read in single precision.
    pub(super) fn of_numbers(width: usize, numbers: Numbers, single: bool) -> Option<Self> {
        let whole = width > 0 && numbers.len().is_multiple_of(width);
        whole.then_some(Self { width, numbers, single })
    }

    /// Where they are, if on the disk.
    pub fn space(&self) -> Option<&Arc<Scratch>> {
        self.numbers.space()
    }

    /// Refuses vectors on the disk that would not fit into memory.
    pub fn check_memory(&self) -> Result<()> {
        let bytes = if self.single { size_of::<f32>() } else { size_of::<f64>() };
        self.space().map_or(Ok(()), |_| memory::check((self.numbers.len() * bytes) as u64))
    }

    /// A column for each position.
    pub fn columns(&self) -> Result<Vec<Numbers>> {
        let mut columns = vec![Numbers::in_space(self.space()); self.width];
        for row in 0..self.len() {
            for (column, number) in columns.iter_mut().zip(self.row(row).numbers()) {
                column.push(number);
                column.settle()?;
            }
        }
        Ok(columns)
    }

    /// Numbers in each vector.
    pub fn width(&self) -> usize {
        self.width
    }

    /// The number of vectors.
    pub fn len(&self) -> usize {
        self.numbers.len() / self.width
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// One number of one row.
    pub fn value(&self, row: usize, position: usize) -> f64 {
        self.numbers.get(row * self.width + position)
    }

    /// All numbers of one row.
    pub fn row(&self, row: usize) -> RowVector<'_> {
        RowVector { numbers: &self.numbers, first: row * self.width, width: self.width }
    }

    /// The vectors in these rows, one after another. `room` holds them where they are kept in
    /// another form.
    pub fn read<'a>(&'a self, rows: Range<usize>, room: &'a mut Vec<f64>) -> &'a [f64] {
        self.numbers.read(rows.start * self.width..rows.end * self.width, room)
    }

    /// Visits the vectors of all rows in order.
    pub fn each(&self, mut visit: impl FnMut(usize, &[f64])) {
        let (mut room, rows) = (Vec::new(), (READ_AHEAD / self.width).max(1));
        for first in (0..self.len()).step_by(rows) {
            let numbers = self.read(first..self.len().min(first + rows), &mut room);
            for (row, vector) in (first..).zip(numbers.chunks_exact(self.width)) {
                visit(row, vector);
            }
        }
    }

    /// Every number's bytes in its precision, in order; a byte counts as single.
    pub fn for_bytes(&self, mut visit: impl FnMut(&[u8])) {
        for x in self.numbers.iter() {
            if self.single {
                visit(&(x as f32).to_le_bytes());
            } else {
                visit(&x.to_le_bytes());
            }
        }
    }

    /// The row of the first infinite number.
    pub(super) fn first_infinite(&self) -> Option<usize> {
        self.numbers.first_infinite().map(|at| at / self.width)
    }

    /// Row and position of the first missing number.
    pub fn first_missing(&self) -> Option<(usize, usize)> {
        self.numbers.first_missing().map(|at| (at / self.width, at % self.width))
    }

    /// The vectors in these rows, in this order; a row that does not exist gives missing numbers.
    /// A few chosen ones are in memory.
    pub(super) fn select(&self, rows: &[usize]) -> Result<Self> {
        let mut numbers = self.numbers.beside(rows.len(), FEW);
        let (mut room, missing) = (Vec::new(), vec![f64::NAN; self.width]);
        let count = self.len();
        for row in rows {
            let exists = *row < count;
            numbers.append(if exists { self.read(*row..row + 1, &mut room) } else { &missing })?;
        }
        Ok(Self { numbers, ..*self })
    }

    /// All parts, one after another; `None` if their widths differ.
    pub(super) fn concat(parts: &[&Self]) -> Result<Option<Self>> {
        let Some(width) = parts.first().map(|part| part.width) else { return Ok(None) };
        if parts.iter().any(|part| part.width != width) {
            return Ok(None);
        }
        let numbers: Vec<&Numbers> = parts.iter().map(|part| &part.numbers).collect();
        let single = parts.iter().all(|part| part.single);
        Ok(Some(Self { width, numbers: Numbers::concat(&numbers)?, single }))
    }
}

/// By value: the same numbers are equal in either precision, and missing ones
/// equal each other.
impl PartialEq for Vectors {
    fn eq(&self, other: &Self) -> bool {
        self.width == other.width && self.numbers == other.numbers
    }
}

impl<'a> RowVector<'a> {
    /// The number of numbers in a row.
    pub fn width(self) -> usize {
        self.width
    }

    /// Numbers of the vector, never −0, and with the same NaN for every missing one.
    pub fn numbers(self) -> impl Iterator<Item = f64> + 'a {
        let mut read = vec![0.0; self.width];
        self.numbers.copy(self.first..self.first + self.width, &mut read);
        read.into_iter().map(|number| {
            if number.is_nan() {
                f64::NAN
            } else if number == 0.0 {
                0.0
            } else {
                number
            }
        })
    }
}

impl PartialEq for RowVector<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for RowVector<'_> {}

impl PartialOrd for RowVector<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for RowVector<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        let pairs = self.numbers().zip(other.numbers());
        let unequal = pairs.map(|(one, other)| one.total_cmp(&other)).find(|order| order.is_ne());
        unequal.unwrap_or_else(|| self.width.cmp(&other.width))
    }
}

impl Hash for RowVector<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        for number in self.numbers() {
            number.to_bits().hash(state);
        }
    }
}

/// Shows its kind, not its numbers.
impl fmt::Display for RowVector<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "(a vector of {} numbers)", self.width())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_are_the_same_in_either_precision() {
        let single = Vectors::new(2, Values::F32(vec![0.5, -0.0, f32::NAN, 2.0])).unwrap();
        let double = Vectors::new(2, Values::F64(vec![0.5, 0.0, f64::NAN, 2.0])).unwrap();
        assert!(single == double);
        assert!(single.row(0) < double.row(1));
        assert_eq!(single.first_missing(), Some((1, 0)));
        assert_eq!((single.len(), single.width(), single.value(1, 1)), (2, 2, 2.0));
        let both = Vectors::concat(&[&single, &double]).unwrap().unwrap();
        assert!(both.select(&[2, 1]).unwrap() == double.select(&[0, 1]).unwrap());
    }

    #[test]
    fn bytes_are_the_numbers_that_they_stand_for() {
        let bytes = Vectors::new(2, Values::U8(vec![0, 255, 7, 1])).unwrap();
        let single = Vectors::new(2, Values::F32(vec![0.0, 255.0, 7.0, 1.0])).unwrap();
        let double = Vectors::new(2, Values::F64(vec![0.0, 255.0, 7.0, 1.0])).unwrap();
        assert!(bytes == single && single == double && bytes.row(0) != bytes.row(1));
        assert_eq!((bytes.value(0, 1), bytes.first_missing()), (255.0, None));
        assert!(bytes.select(&[1]).unwrap() == double.select(&[1]).unwrap());
        for parts in [[&bytes, &bytes], [&bytes, &single], [&double, &bytes]] {
            let both = Vectors::concat(&parts).unwrap().unwrap();
            assert!(both.select(&[2, 3]).unwrap() == bytes && both.len() == 4);
        }
        let written = |vectors: &Vectors| {
            let mut all = Vec::new();
            vectors.for_bytes(|bytes| all.extend_from_slice(bytes));
            all
        };
        assert_eq!(written(&bytes), written(&single));
        assert_eq!(written(&double).len(), 32);
        assert!(Vectors::new(3, Values::U8(vec![1; 4])).is_none());
    }

    #[test]
    fn vectors_of_other_widths_are_not_put_together() {
        let two = Vectors::new(2, Values::F32(vec![1.0, 2.0])).unwrap();
        let one = Vectors::new(1, Values::F32(vec![1.0, 2.0])).unwrap();
        assert!(Vectors::concat(&[&two, &one]).unwrap().is_none());
        assert!(two != one);
        assert!(Vectors::new(2, Values::F32(vec![1.0])).is_none());
        assert!(Vectors::new(0, Values::F32(vec![])).is_none());
    }
}
