//! A column whose cells are vectors of one length: embeddings, images.
//!
//! Stored row by row in one piece, in the precision of the file: 10⁵ embeddings
//! of 400 single-precision numbers are one allocation of 160 MB, not 4·10⁷ cells,
//! and the pixels of an image stay bytes. If they are more than fit into memory, they are on the
//! disk.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use super::numbers::Numbers;
use crate::error::Result;
use crate::files::scratch::Scratch;
use crate::memory;

/// So many chosen vectors are in memory, whatever they were chosen from: those that are prepared
/// together.
const FEW: usize = 1 << 12;
/// Numbers that are read at once.
const READ_AHEAD: usize = 1 << 14;

/// Numbers in the precision in which they were read. NaN stands for a missing one.
#[derive(Clone)]
pub enum Values {
    /// Single precision.
    F32(Vec<f32>),
    /// Double precision.
    F64(Vec<f64>),
}

/// One vector of `width` numbers for each row, one after another.
#[derive(Clone)]
pub struct Vectors {
    width: usize,
    stored: Stored,
}

#[derive(Clone)]
enum Stored {
    Numbers(Values),
    Bytes(Vec<u8>),
    Disk(OnDisk),
}

/// All numbers, one vector after another, in a file.
#[derive(Clone)]
struct OnDisk {
    numbers: Numbers,
    /// Whether they were read in single precision.
    single: bool,
}

/// One row's vector.
#[derive(Clone, Copy)]
pub enum RowVector<'a> {
    /// Bytes.
    U8(&'a [u8]),
    /// Single precision.
    F32(&'a [f32]),
    /// Double precision.
    F64(&'a [f64]),
    /// As many as the last number says, on the disk, from this place on.
    Disk(&'a Numbers, usize, usize),
}

impl OnDisk {
    /// The vectors in these rows, and missing ones for rows that do not exist: in memory if there
    /// are few.
    fn select(&self, width: usize, rows: &[usize]) -> Result<Stored> {
        let mut room = Vec::new();
        let missing = vec![f64::NAN; width];
        let count = self.numbers.len() / width;
        let mut vector = |row: usize| {
            if row < count {
                self.numbers.read(row * width..(row + 1) * width, &mut room).to_vec()
            } else {
                missing.clone()
            }
        };
        if let Some(space) = self.numbers.space().filter(|_| rows.len() > FEW) {
            let mut numbers = Numbers::default();
            numbers.move_to(space)?;
            for row in rows {
                numbers.append(&vector(*row))?;
            }
            return Ok(Stored::Disk(Self { numbers, single: self.single }));
        }
        let numbers = rows.iter().flat_map(|row| vector(*row));
        Ok(Stored::Numbers(if self.single {
            Values::F32(numbers.map(|number| number as f32).collect())
        } else {
            Values::F64(numbers.collect())
        }))
    }
}

impl Values {
    /// The number of numbers.
    pub fn len(&self) -> usize {
        match self {
            Self::F32(values) => values.len(),
            Self::F64(values) => values.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bytes of each.
    pub fn bytes(&self) -> u64 {
        match self {
            Self::F32(_) => size_of::<f32>() as u64,
            Self::F64(_) => size_of::<f64>() as u64,
        }
    }

    /// One of them.
    pub fn get(&self, at: usize) -> f64 {
        match self {
            Self::F32(values) => f64::from(values[at]),
            Self::F64(values) => values[at],
        }
    }

    /// The position of the first infinite number.
    pub fn first_infinite(&self) -> Option<usize> {
        match self {
            Self::F32(values) => values.iter().position(|value| value.is_infinite()),
            Self::F64(values) => values.iter().position(|value| value.is_infinite()),
        }
    }

    /// Replaces records of `width` numbers with an infinite one by missing numbers.
    pub fn forget_infinite(&mut self, width: usize) {
        match self {
            Self::F32(values) => {
                let records = values.chunks_mut(width);
                let infinite = records.filter(|record| record.iter().any(|x| x.is_infinite()));
                infinite.for_each(|record| record.fill(f32::NAN));
            }
            Self::F64(values) => {
                let records = values.chunks_mut(width);
                let infinite = records.filter(|record| record.iter().any(|x| x.is_infinite()));
                infinite.for_each(|record| record.fill(f64::NAN));
            }
        }
    }

    /// All in double precision.
    pub fn into_f64(self) -> Vec<f64> {
        match self {
            Self::F32(values) => values.into_iter().map(f64::from).collect(),
            Self::F64(values) => values,
        }
    }
}

impl Vectors {
    /// `values` in pieces of `width`; `None` if the length is not a multiple.
    pub fn new(width: usize, values: Values) -> Option<Self> {
        let stored = Stored::Numbers(values);
        (width > 0 && stored.len().is_multiple_of(width)).then_some(Self { width, stored })
    }

    /// `bytes` in pieces of `width`; `None` if the length is not a multiple.
    pub fn of_bytes(width: usize, bytes: Vec<u8>) -> Option<Self> {
        let stored = Stored::Bytes(bytes);
        (width > 0 && stored.len().is_multiple_of(width)).then_some(Self { width, stored })
    }

    /// Numbers on the disk in pieces of `width`, which may have been read in single precision.
    pub fn on_disk(width: usize, numbers: Numbers, single: bool) -> Option<Self> {
        let whole = width > 0 && numbers.len().is_multiple_of(width);
        whole.then_some(Self { width, stored: Stored::Disk(OnDisk { numbers, single }) })
    }

    /// Where they are, if on the disk.
    pub fn space(&self) -> Option<&Arc<Scratch>> {
        match &self.stored {
            Stored::Disk(disk) => disk.numbers.space(),
            Stored::Numbers(_) | Stored::Bytes(_) => None,
        }
    }

    /// All of them in memory.
    pub fn whole(&self) -> Result<Cow<'_, Self>> {
        let Stored::Disk(OnDisk { numbers, single }) = &self.stored else {
            return Ok(Cow::Borrowed(self));
        };
        let bytes = if *single { size_of::<f32>() } else { size_of::<f64>() };
        memory::check((numbers.len() * bytes) as u64)?;
        let values = if *single {
            Values::F32(numbers.iter().map(|number| number as f32).collect())
        } else {
            Values::F64(numbers.iter().collect())
        };
        Ok(Cow::Owned(Self { width: self.width, stored: Stored::Numbers(values) }))
    }

    /// A column for each position.
    pub fn columns(&self) -> Result<Vec<Numbers>> {
        let mut columns = vec![Numbers::default(); self.width];
        if let Some(space) = self.space() {
            columns.iter_mut().try_for_each(|column| column.move_to(space))?;
        }
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
        self.stored.len() / self.width
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// One number of one row.
    pub fn value(&self, row: usize, position: usize) -> f64 {
        let at = row * self.width + position;
        match &self.stored {
            Stored::Numbers(values) => values.get(at),
            Stored::Bytes(bytes) => f64::from(bytes[at]),
            Stored::Disk(disk) => disk.numbers.get(at),
        }
    }

    /// All numbers of one row.
    pub fn row(&self, row: usize) -> RowVector<'_> {
        let range = row * self.width..(row + 1) * self.width;
        match &self.stored {
            Stored::Numbers(Values::F32(values)) => RowVector::F32(&values[range]),
            Stored::Numbers(Values::F64(values)) => RowVector::F64(&values[range]),
            Stored::Bytes(bytes) => RowVector::U8(&bytes[range]),
            Stored::Disk(disk) => RowVector::Disk(&disk.numbers, range.start, self.width),
        }
    }

    /// Visits the vectors of all rows in order.
    pub fn each(&self, mut visit: impl FnMut(usize, &[f64])) {
        let (mut room, rows) = (Vec::new(), (READ_AHEAD / self.width).max(1));
        for first in (0..self.len()).step_by(rows) {
            let last = self.len().min(first + rows);
            let range = first * self.width..last * self.width;
            let numbers = match &self.stored {
                Stored::Disk(disk) => disk.numbers.read(range, &mut room),
                kept => {
                    room.clear();
                    match kept {
                        Stored::Bytes(bytes) => {
                            room.extend(bytes[range].iter().copied().map(f64::from));
                        }
                        Stored::Numbers(values) => room.extend(range.map(|at| values.get(at))),
                        Stored::Disk(_) => {}
                    }
                    &room
                }
            };
            for (row, vector) in (first..).zip(numbers.chunks_exact(self.width)) {
                visit(row, vector);
            }
        }
    }

    /// Every number's bytes in its precision, in order; a byte counts as single.
    pub fn for_bytes(&self, mut visit: impl FnMut(&[u8])) {
        match &self.stored {
            Stored::Numbers(Values::F32(values)) => {
                for x in values {
                    visit(&x.to_le_bytes());
                }
            }
            Stored::Numbers(Values::F64(values)) => {
                for x in values {
                    visit(&x.to_le_bytes());
                }
            }
            Stored::Bytes(bytes) => {
                for x in bytes {
                    visit(&f32::from(*x).to_le_bytes());
                }
            }
            Stored::Disk(disk) => {
                for x in disk.numbers.iter() {
                    if disk.single {
                        visit(&(x as f32).to_le_bytes());
                    } else {
                        visit(&x.to_le_bytes());
                    }
                }
            }
        }
    }

    /// The row of the first infinite number.
    pub(super) fn first_infinite(&self) -> Option<usize> {
        match &self.stored {
            Stored::Numbers(values) => values.first_infinite().map(|at| at / self.width),
            Stored::Bytes(_) => None,
            Stored::Disk(disk) => disk.numbers.first_infinite().map(|at| at / self.width),
        }
    }

    /// Row and position of the first missing number.
    pub fn first_missing(&self) -> Option<(usize, usize)> {
        let at = match &self.stored {
            Stored::Numbers(Values::F32(values)) => values.iter().position(|value| value.is_nan()),
            Stored::Numbers(Values::F64(values)) => values.iter().position(|value| value.is_nan()),
            Stored::Bytes(_) => None,
            Stored::Disk(disk) => disk.numbers.iter().position(f64::is_nan),
        };
        at.map(|at| (at / self.width, at % self.width))
    }

    /// These rows; a row that does not exist gives missing numbers.
    pub(super) fn select_or_missing(&self, rows: &[usize]) -> Result<Self> {
        let count = self.len();
        if rows.iter().all(|row| *row < count) {
            return self.select(rows);
        }
        fn chosen<T: Copy>(values: &[T], width: usize, rows: &[usize], missing: T) -> Vec<T> {
            let mut chosen = Vec::with_capacity(rows.len() * width);
            for row in rows {
                match values.get(row * width..(row + 1) * width) {
                    Some(row) => chosen.extend_from_slice(row),
                    None => chosen.extend(std::iter::repeat_n(missing, width)),
                }
            }
            chosen
        }
        let width = self.width;
        let values = match &self.stored {
            Stored::Numbers(Values::F32(values)) => {
                Values::F32(chosen(values, width, rows, f32::NAN))
            }
            Stored::Numbers(Values::F64(values)) => {
                Values::F64(chosen(values, width, rows, f64::NAN))
            }
            // No byte means a missing value.
            Stored::Bytes(bytes) => {
                let values: Vec<f32> = bytes.iter().copied().map(f32::from).collect();
                Values::F32(chosen(&values, width, rows, f32::NAN))
            }
            Stored::Disk(disk) => return Ok(Self { width, stored: disk.select(width, rows)? }),
        };
        Ok(Self { width, stored: Stored::Numbers(values) })
    }

    /// The vectors in these rows, in this order.
    pub(super) fn select(&self, rows: &[usize]) -> Result<Self> {
        fn chosen<T: Copy>(values: &[T], width: usize, rows: &[usize]) -> Vec<T> {
            let mut chosen = Vec::with_capacity(rows.len() * width);
            for row in rows {
                chosen.extend_from_slice(&values[row * width..(row + 1) * width]);
            }
            chosen
        }
        let width = self.width;
        let stored = match &self.stored {
            Stored::Numbers(Values::F32(values)) => {
                Stored::Numbers(Values::F32(chosen(values, width, rows)))
            }
            Stored::Numbers(Values::F64(values)) => {
                Stored::Numbers(Values::F64(chosen(values, width, rows)))
            }
            Stored::Bytes(bytes) => Stored::Bytes(chosen(bytes, width, rows)),
            Stored::Disk(disk) => disk.select(width, rows)?,
        };
        Ok(Self { width, stored })
    }

    /// All parts, one after another, in the least precision that holds them; `None` if their widths
    /// differ.
    pub(super) fn concat(parts: &[&Self]) -> Result<Option<Self>> {
        let Some(width) = parts.first().map(|part| part.width) else { return Ok(None) };
        if parts.iter().any(|part| part.width != width) {
            return Ok(None);
        }
        match parts.iter().find_map(|part| part.space()) {
            Some(space) => Self::concat_on_disk(width, parts, space),
            None => Ok(Self::concat_in_memory(width, parts)),
        }
    }

    /// What is on the disk already is not written again.
    fn concat_on_disk(width: usize, parts: &[&Self], space: &Arc<Scratch>) -> Result<Option<Self>> {
        let kept = parts.iter().map(|part| {
            if let Stored::Disk(disk) = &part.stored {
                return Ok(disk.numbers.clone());
            }
            let mut numbers = Numbers::default();
            numbers.move_to(space)?;
            for row in 0..part.len() {
                numbers.append(&part.row(row).numbers().collect::<Vec<_>>())?;
            }
            Ok(numbers)
        });
        let kept = kept.collect::<Result<Vec<_>>>()?;
        let single = parts.iter().all(|part| match &part.stored {
            Stored::Numbers(values) => matches!(values, Values::F32(_)),
            Stored::Bytes(_) => true,
            Stored::Disk(disk) => disk.single,
        });
        let numbers = Numbers::concat(&kept.iter().collect::<Vec<_>>())?;
        Ok(Self::on_disk(width, numbers, single))
    }

    fn concat_in_memory(width: usize, parts: &[&Self]) -> Option<Self> {
        let bytes: Option<Vec<&[u8]>> = parts
            .iter()
            .map(|part| match &part.stored {
                Stored::Bytes(bytes) => Some(bytes.as_slice()),
                Stored::Numbers(_) | Stored::Disk(_) => None,
            })
            .collect();
        if let Some(bytes) = bytes {
            return Some(Self { width, stored: Stored::Bytes(bytes.concat()) });
        }
        let double = |part: &&Self| matches!(part.stored, Stored::Numbers(Values::F64(_)));
        let all = parts.iter().flat_map(|part| (0..part.len()).map(|row| part.row(row)));
        let values = if parts.iter().any(double) {
            let mut values = Vec::with_capacity(parts.iter().map(|part| part.stored.len()).sum());
            for row in all {
                match row {
                    RowVector::U8(row) => values.extend(row.iter().copied().map(f64::from)),
                    RowVector::F32(row) => values.extend(row.iter().copied().map(f64::from)),
                    RowVector::F64(row) => values.extend_from_slice(row),
                    RowVector::Disk(..) => values.extend(row.numbers()),
                }
            }
            Values::F64(values)
        } else {
            let mut values = Vec::with_capacity(parts.iter().map(|part| part.stored.len()).sum());
            for row in all {
                match row {
                    RowVector::U8(row) => values.extend(row.iter().copied().map(f32::from)),
                    RowVector::F32(row) => values.extend_from_slice(row),
                    // Cannot occur: then all are double, or on the disk.
                    RowVector::F64(_) | RowVector::Disk(..) => {}
                }
            }
            Values::F32(values)
        };
        Self::new(width, values)
    }
}

impl Stored {
    fn len(&self) -> usize {
        match self {
            Self::Numbers(values) => values.len(),
            Self::Bytes(bytes) => bytes.len(),
            Self::Disk(disk) => disk.numbers.len(),
        }
    }
}

/// By value: the same numbers are equal in either precision, and missing ones
/// equal each other.
impl PartialEq for Vectors {
    fn eq(&self, other: &Self) -> bool {
        self.width == other.width
            && self.len() == other.len()
            && (0..self.len()).all(|row| self.row(row) == other.row(row))
    }
}

impl<'a> RowVector<'a> {
    /// The number of numbers in a row.
    pub fn width(self) -> usize {
        match self {
            Self::U8(bytes) => bytes.len(),
            Self::F32(values) => values.len(),
            Self::F64(values) => values.len(),
            Self::Disk(_, _, width) => width,
        }
    }

    /// Numbers of the vector, never −0, and with the same NaN for every missing one.
    pub fn numbers(self) -> impl Iterator<Item = f64> + 'a {
        let mut read = Vec::new();
        if let Self::Disk(numbers, first, width) = self {
            read.resize(width, 0.0);
            numbers.copy(first..first + width, &mut read);
        }
        (0..self.width()).map(move |at| {
            let number = match self {
                Self::U8(bytes) => f64::from(bytes[at]),
                Self::F32(values) => f64::from(values[at]),
                Self::F64(values) => values[at],
                Self::Disk(..) => read[at],
            };
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
        let mut others = other.numbers();
        for number in self.numbers() {
            match others.next().map(|other| number.total_cmp(&other)) {
                None => return Ordering::Greater,
                Some(Ordering::Equal) => {}
                Some(unequal) => return unequal,
            }
        }
        if others.next().is_some() { Ordering::Less } else { Ordering::Equal }
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
        let bytes = Vectors::of_bytes(2, vec![0, 255, 7, 1]).unwrap();
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
        assert!(Vectors::of_bytes(3, vec![1; 4]).is_none());
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
