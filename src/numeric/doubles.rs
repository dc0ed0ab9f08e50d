//! Examples in double precision, in memory or on the disk.
//!
//! A pass over them is the same wherever they are: they are read in the same stretches, and blocks
//! are added in the same order. So results agree to the last bit.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use super::Matrix;
use super::columns::ExampleColumns;
use crate::error::Result;
use crate::files::scratch::Scratch;

/// Numbers that are read at once: few enough for a processor's cache, enough for a request to the
/// disk.
const STRETCH: usize = 1 << 14;
/// Examples of a part in [`Doubles::made`].
const PART: usize = 1 << 15;
/// Kernels take so many examples at once.
const TOGETHER: usize = 16;

/// Examples in double precision.
#[derive(Clone)]
pub enum Doubles {
    /// One example in each column.
    Memory(Matrix),
    /// More than fit into memory.
    Disk(DoublesOnDisk),
}

/// One example after another, in a file of their own.
#[derive(Clone)]
pub struct DoublesOnDisk {
    dimension: usize,
    count: usize,
    file: Arc<Scratch>,
}

impl DoublesOnDisk {
    /// Fills `numbers` with the examples from number `first` on.
    fn fill(&self, first: usize, numbers: &mut [f64]) {
        let at = (first * self.dimension * size_of::<f64>()) as u64;
        self.file.read(bytemuck::cast_slice_mut(numbers), at);
    }

    /// Some examples as a matrix.
    fn matrix(&self, range: Range<usize>) -> Matrix {
        let mut matrix = Matrix::zeros(self.dimension, range.len());
        self.fill(range.start, matrix.as_mut_slice());
        matrix
    }
}

impl Doubles {
    /// No examples yet, with room for `count` in memory, or in a file beside `other`.
    pub fn with_room(dimension: usize, count: usize, other: Option<&Scratch>) -> Result<Self> {
        Ok(match other {
            None => {
                Self::Memory(Matrix::from_vec(dimension, 0, Vec::with_capacity(dimension * count)))
            }
            Some(other) => {
                Self::Disk(DoublesOnDisk { dimension, count: 0, file: other.another()? })
            }
        })
    }

    /// Adds examples.
    pub fn append(&mut self, more: &Matrix) -> Result<()> {
        match self {
            Self::Memory(all) => {
                let (dimension, count) = (all.nrows(), all.ncols() + more.ncols());
                let mut numbers: Vec<f64> = std::mem::take(all).data.into();
                numbers.extend_from_slice(more.as_slice());
                *all = Matrix::from_vec(dimension, count, numbers);
            }
            Self::Disk(disk) => {
                disk.file.append(bytemuck::cast_slice(more.as_slice()))?;
                disk.count += more.ncols();
            }
        }
        Ok(())
    }

    /// `count` examples, made a part after the other: in memory, or in a file beside `other`.
    pub fn made(
        (dimension, count): (usize, usize),
        other: Option<&Scratch>,
        mut make: impl FnMut(Range<usize>) -> Matrix,
    ) -> Result<Self> {
        let mut made = Self::with_room(dimension, count, other)?;
        for start in (0..count).step_by(PART) {
            made.append(&make(start..count.min(start + PART)))?;
        }
        Ok(made)
    }

    /// All examples in memory.
    pub fn whole(&self) -> Cow<'_, Matrix> {
        match self {
            Self::Memory(all) => Cow::Borrowed(all),
            Self::Disk(disk) => Cow::Owned(disk.matrix(0..disk.count)),
        }
    }

    /// The bytes that must be read for that.
    pub fn on_disk(&self) -> u64 {
        match self {
            Self::Memory(_) => 0,
            Self::Disk(disk) => (disk.dimension * disk.count * size_of::<f64>()) as u64,
        }
    }
}

impl From<Matrix> for Doubles {
    fn from(all: Matrix) -> Self {
        Self::Memory(all)
    }
}

impl ExampleColumns for Doubles {
    fn dimension(&self) -> usize {
        match self {
            Self::Memory(all) => all.nrows(),
            Self::Disk(disk) => disk.dimension,
        }
    }

    fn count(&self) -> usize {
        match self {
            Self::Memory(all) => all.ncols(),
            Self::Disk(disk) => disk.count,
        }
    }

    fn stretch(&self) -> usize {
        (STRETCH / self.dimension().max(1)).max(1).next_multiple_of(TOGETHER)
    }

    fn read<'a>(&'a self, range: Range<usize>, room: &'a mut Vec<f64>) -> &'a [f64] {
        match self {
            Self::Memory(all) => all.read(range, room),
            Self::Disk(disk) => {
                let length = range.len() * disk.dimension;
                if room.len() < length {
                    room.resize(length, 0.0);
                }
                disk.fill(range.start, &mut room[..length]);
                &room[..length]
            }
        }
    }

    fn doubles(&self, range: Range<usize>) -> Matrix {
        match self {
            Self::Memory(all) => all.doubles(range),
            Self::Disk(disk) => disk.matrix(range),
        }
    }

    fn pick(&self, from: impl Iterator<Item = usize>) -> Self {
        match self {
            Self::Memory(all) => Self::Memory(all.pick(from)),
            Self::Disk(disk) => {
                let (mut numbers, mut count) = (Vec::new(), 0);
                for at in from {
                    numbers.resize(numbers.len() + disk.dimension, 0.0);
                    disk.fill(at, &mut numbers[count * disk.dimension..]);
                    count += 1;
                }
                Self::Memory(Matrix::from_vec(disk.dimension, count, numbers))
            }
        }
    }
}

/// Equality of the numbers, wherever they are.
impl PartialEq for Doubles {
    fn eq(&self, other: &Self) -> bool {
        (self.dimension(), self.count()) == (other.dimension(), other.count())
            && self.stretches(0..self.count()).all(|range| {
                let (mut one, mut another) = (Vec::new(), Vec::new());
                self.read(range.clone(), &mut one) == other.read(range, &mut another)
            })
    }
}

impl fmt::Debug for Doubles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Memory(all) => all.fmt(f),
            Self::Disk(disk) => {
                write!(f, "{} × {} numbers on the disk", disk.dimension, disk.count)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::columns::{largest_square, length_of, mean_of, sum_of_squares};
    use crate::least_squares::NormalEquations;
    use crate::principal::Principal;
    use crate::symmetric::{outer_sum, quadratic_forms};

    /// Examples in memory, and equal ones on the disk, where they were written in two pieces.
    fn both(dimension: usize, count: usize) -> [Doubles; 2] {
        let all = Matrix::from_fn(dimension, count, |i, j| ((3 + i * 7 + j * 5) as f64).sin());
        let folder = tempfile::tempdir().unwrap();
        let other = Scratch::create_in(folder.path()).unwrap();
        let mut disk = Doubles::with_room(dimension, 0, Some(&other)).unwrap();
        let first = count / 3;
        disk.append(&all.columns(0, first).into_owned()).unwrap();
        disk.append(&all.columns(first, count - first).into_owned()).unwrap();
        [all.into(), disk]
    }

    #[test]
    fn examples_are_the_same_in_memory_and_on_the_disk() {
        for (dimension, count) in [(1, 7), (5, 9000), (130, 400), (20_000, 3), (4, 0)] {
            let [memory, disk] = both(dimension, count);
            assert!(memory == disk);
            assert_eq!((disk.dimension(), disk.count()), (dimension, count));
            assert_eq!(*memory.whole(), *disk.whole());
            assert_eq!((memory.on_disk(), disk.on_disk()), (0, (8 * dimension * count) as u64));
            assert_eq!(memory.map_each(<[f64]>::to_vec), disk.map_each(<[f64]>::to_vec));
            let from = || count.checked_sub(1).into_iter().chain(0..count.min(2));
            assert!(memory.pick(from()) == disk.pick(from()));
            let covered: Vec<usize> = disk.stretches(0..count).flatten().collect();
            assert_eq!(covered, (0..count).collect::<Vec<_>>());
        }
        let [memory, _] = both(5, 40);
        let [_, longer] = both(5, 41);
        assert!(memory != longer);
    }

    #[test]
    fn sums_over_examples_are_the_same_to_the_last_bit() {
        // Enough for parts on several threads.
        let [memory, disk] = both(6, 200_000);
        let labels: Vec<f64> = (0..200_000).map(|i| f64::from(i % 11)).collect();
        let found = |of: &Doubles| {
            let equations = NormalEquations::mean(of, &labels);
            let form = outer_sum(of, |i| (i % 3) as f64);
            let principal = Principal::centred(of, 3).unwrap();
            let lengths = of.map_each(length_of);
            let sums = (mean_of(of), sum_of_squares(of), largest_square(of));
            let forms = quadratic_forms(of, &form);
            (equations.gram, equations.moment, form, principal, lengths, sums, forms)
        };
        assert!(found(&memory) == found(&disk));
    }
}
