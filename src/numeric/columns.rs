//! Examples side by side, one in each column: as doubles in a [`Matrix`], or as [`Singles`], which
//! take half the memory.
//!
//! Singles may also be on the disk, where there are more than fit into memory.
//!
//! Most steps of a method read all examples once, and then memory is what they wait for. So the
//! examples are kept in single precision where there are many, and turned into doubles a few at a
//! time, in the cache. All arithmetic is in double precision, but for the scores of [`rows`](super::rows).

use std::cell::RefCell;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use nalgebra::DVectorView;
use pulp::Arch;

use super::parallel::share_out;
use super::{Matrix, Vector, parallel};
use crate::error::Result;
use crate::files::scratch::Scratch;

/// Numbers that are turned into doubles at once: they fit into the first-level cache.
const STRETCH: usize = 2048;
/// Numbers that are read from the disk at once.
const READ_AHEAD: usize = 1 << 16;
/// Numbers that a thread looks at before it takes the next ones.
const MAPPED: usize = 1 << 17;
/// Kernels take so many short examples at once, and so many long ones.
const SHORT: usize = 16;
const LONG: usize = 4;

/// ‖x‖
pub fn length_of(example: &[f64]) -> f64 {
    view(example).norm()
}

/// x·w
pub fn score_of(example: &[f64], w: &Vector) -> f64 {
    view(example).dot(w)
}

/// An example as a vector.
pub fn view(example: &[f64]) -> DVectorView<'_, f64> {
    DVectorView::from_slice(example, example.len())
}

/// The mean of all examples.
pub fn mean_of(features: &impl ExampleColumns) -> Vector {
    let mut sum = Vector::zeros(features.dimension());
    features.each(|_, example| sum += view(example));
    sum / features.count() as f64
}

/// Σ‖x‖² over all examples.
pub fn sum_of_squares(features: &impl ExampleColumns) -> f64 {
    let mut sum = 0.0;
    features.each(|_, example| sum += view(example).norm_squared());
    sum
}

/// The largest ‖x‖².
pub fn largest_square(features: &impl ExampleColumns) -> f64 {
    let mut largest = 0.0;
    features.each(|_, example| largest = f64::max(largest, view(example).norm_squared()));
    largest
}

/// Examples that are added up together. It is fixed, so sums do not depend on the threads.
const BLOCK: usize = 1024;

/// Adds up what every example contributes. `add` gets the number of an example, the example, the sum
/// of its block of examples, and what `start` made for this block; of each block that comes back, in
/// order.
pub fn sums<T: Send>(
    features: &impl ExampleColumns,
    length: usize,
    start: impl Fn() -> T + Sync + Send,
    add: impl Fn(usize, &[f64], &mut [f64], &mut T) + Sync + Send,
) -> (Vector, Vec<T>) {
    sums_by(BLOCK, features, length, start, add)
}

/// [`sums`] with blocks of `size` examples.
pub fn sums_by<T: Send>(
    size: usize,
    features: &impl ExampleColumns,
    length: usize,
    start: impl Fn() -> T + Sync + Send,
    add: impl Fn(usize, &[f64], &mut [f64], &mut T) + Sync + Send,
) -> (Vector, Vec<T>) {
    let count = features.count();
    let block = |at: usize| {
        let (mut sum, mut made, mut room) = (Vector::zeros(length), start(), Vec::new());
        for stretch in features.stretches(at * size..count.min((at + 1) * size)) {
            let first = stretch.start;
            let examples = features.read(stretch, &mut room);
            for (at, x) in (first..).zip(examples.chunks_exact(features.dimension().max(1))) {
                add(at, x, sum.as_mut_slice(), &mut made);
            }
        }
        (sum, made)
    };
    let (parts, made): (Vec<Vector>, Vec<T>) =
        parallel::map(count.div_ceil(size), block).into_iter().unzip();
    (parts.iter().fold(Vector::zeros(length), |sum, part| sum + part), made)
}

/// Examples one after another, as they are kept.
pub enum Examples<'a> {
    Doubles(&'a [f64]),
    Singles(&'a [f32]),
}

impl Examples<'_> {
    /// Adds their numbers, each multiplied by `scale`, to those of others.
    pub fn append_to(&self, numbers: &mut Vec<f64>, scale: f64) {
        Arch::new().dispatch(|| match self {
            Self::Doubles(own) => numbers.extend(own.iter().map(|x| scale * x)),
            Self::Singles(own) => numbers.extend(own.iter().map(|x| scale * f64::from(*x))),
        });
    }
}

/// Examples that can be read as doubles.
pub trait ExampleColumns: Clone + Send + Sync {
    /// The numbers of an example.
    fn dimension(&self) -> usize;

    /// The number of examples.
    fn count(&self) -> usize;

    /// How many examples are best read at once.
    fn stretch(&self) -> usize;

    /// These examples, one after another. `room` holds them where they are not kept like this.
    fn read<'a>(&'a self, range: Range<usize>, room: &'a mut Vec<f64>) -> &'a [f64];

    /// These examples as they are kept.
    fn see(&self, range: Range<usize>, see: impl FnOnce(Examples<'_>)) {
        see(Examples::Doubles(self.read(range, &mut Vec::new())));
    }

    /// These examples in this order.
    fn pick(&self, from: impl Iterator<Item = usize>) -> Self;

    /// The examples in `range`, in stretches that are read at once.
    fn stretches(&self, range: Range<usize>) -> impl Iterator<Item = Range<usize>> + use<Self> {
        let (step, end) = (self.stretch().max(1), range.end);
        range.step_by(step).map(move |start| start..end.min(start.saturating_add(step)))
    }

    /// Visits all examples in order.
    fn each(&self, mut visit: impl FnMut(usize, &[f64])) {
        let mut room = Vec::new();
        for range in self.stretches(0..self.count()) {
            let first = range.start;
            let examples = self.read(range, &mut room).chunks_exact(self.dimension().max(1));
            for (at, example) in examples.enumerate() {
                visit(first + at, example);
            }
        }
    }

    /// Something of all examples as doubles, at most `most` at a time unless they are kept like
    /// this. No examples are a block, too.
    fn map_blocks<T: Send>(&self, most: usize, of: impl Fn(&Matrix) -> T + Sync + Send) -> Vec<T> {
        let (most, count) = (most.max(1), self.count());
        parallel::map(count.div_ceil(most).max(1), |block| {
            of(&self.doubles(block * most..count.min((block + 1) * most)))
        })
    }

    /// Something of every example.
    fn map_each<T: Clone + Default + Send>(&self, of: impl Fn(&[f64]) -> T + Sync) -> Vec<T> {
        let dimension = self.dimension();
        if dimension == 0 {
            return vec![of(&[]); self.count()];
        }
        let part = (MAPPED / dimension).max(1);
        let mut found = vec![T::default(); self.count()];
        let jobs = found.chunks_mut(part).enumerate().collect();
        share_out(jobs, parallel::threads(), &|(at, slots): (usize, &mut [T])| {
            let (first, mut room) = (at * part, Vec::new());
            for range in self.stretches(first..first + slots.len()) {
                let slots = &mut slots[range.start - first..];
                let examples = self.read(range, &mut room).chunks_exact(dimension);
                for (slot, example) in slots.iter_mut().zip(examples) {
                    *slot = of(example);
                }
            }
        });
        found
    }

    /// Some examples as doubles.
    fn doubles(&self, range: Range<usize>) -> Matrix {
        let (mut room, count) = (Vec::new(), range.len());
        let numbers = self.read(range, &mut room).to_vec();
        Matrix::from_vec(self.dimension(), count, numbers)
    }
}

impl ExampleColumns for Matrix {
    fn dimension(&self) -> usize {
        self.nrows()
    }

    fn count(&self) -> usize {
        self.ncols()
    }

    fn stretch(&self) -> usize {
        self.ncols()
    }

    fn read<'a>(&'a self, range: Range<usize>, _: &'a mut Vec<f64>) -> &'a [f64] {
        &self.as_slice()[range.start * self.nrows()..range.end * self.nrows()]
    }

    fn map_blocks<T: Send>(&self, _: usize, of: impl Fn(&Matrix) -> T + Sync + Send) -> Vec<T> {
        vec![of(self)]
    }

    fn pick(&self, from: impl Iterator<Item = usize>) -> Self {
        let (numbers, count) = picked(self.as_slice(), self.nrows(), from);
        Self::from_vec(self.nrows(), count, numbers)
    }
}

/// Examples in single precision. Every number is the nearest one that is not further from zero, so
/// an example is no longer than it was in doubles.
#[derive(Clone)]
pub struct Singles {
    dimension: usize,
    count: usize,
    kept: SinglesStorage,
}

#[derive(Clone)]
enum SinglesStorage {
    Memory(Vec<f32>),
    /// One example after another, in a file of their own.
    Disk(Arc<Scratch>),
}

impl Singles {
    /// No examples yet, with room for `count` in memory, or on the disk beside `other` data.
    pub fn with_room(dimension: usize, count: usize, other: Option<&Scratch>) -> Result<Self> {
        let kept = match other {
            None => SinglesStorage::Memory(Vec::with_capacity(dimension * count)),
            Some(other) => SinglesStorage::Disk(other.another()?),
        };
        Ok(Self { dimension, count: 0, kept })
    }

    /// All numbers, one example after another, if they are in memory.
    pub fn numbers(&self) -> Option<&[f32]> {
        match &self.kept {
            SinglesStorage::Memory(all) => Some(all),
            SinglesStorage::Disk(_) => None,
        }
    }

    /// The file that holds them, if they are not in memory.
    pub fn space(&self) -> Option<&Scratch> {
        match &self.kept {
            SinglesStorage::Memory(_) => None,
            SinglesStorage::Disk(space) => Some(space),
        }
    }

    /// Looks at these examples as they are kept, one row each.
    pub fn rows<T>(&self, at: &[usize], look: impl FnOnce(&[&[f32]]) -> T) -> T {
        match &self.kept {
            SinglesStorage::Memory(all) => {
                let row = |at: &usize| &all[at * self.dimension..][..self.dimension];
                look(&at.iter().map(row).collect::<Vec<_>>())
            }
            SinglesStorage::Disk(_) => {
                let picked = self.pick(at.iter().copied());
                picked.rows(&(0..at.len()).collect::<Vec<_>>(), look)
            }
        }
    }

    /// Adds examples.
    pub fn append(&mut self, more: &Self) -> Result<()> {
        debug_assert_eq!(more.dimension, self.dimension);
        more.singles(0..more.count, |numbers| match &mut self.kept {
            SinglesStorage::Memory(all) => {
                all.extend_from_slice(numbers);
                Ok(())
            }
            SinglesStorage::Disk(space) => space.append(bytemuck::cast_slice(numbers)).map(|_| ()),
        })?;
        self.count += more.count;
        Ok(())
    }

    /// The numbers of these examples as they are kept.
    fn singles<T>(&self, range: Range<usize>, see: impl FnOnce(&[f32]) -> T) -> T {
        let numbers = range.start * self.dimension..range.end * self.dimension;
        match &self.kept {
            SinglesStorage::Memory(all) => see(&all[numbers]),
            SinglesStorage::Disk(space) => AHEAD.with_borrow_mut(|ahead| {
                see(ahead.read(space, numbers, self.count * self.dimension))
            }),
        }
    }
}

thread_local! {
    static AHEAD: RefCell<Ahead> =
        const { RefCell::new(Ahead { file: None, range: 0..0, numbers: Vec::new() }) };
}

/// Numbers that a thread has read from the disk, before they are asked for: a request for each
/// stretch would take longer than the reading.
struct Ahead {
    file: Option<u64>,
    range: Range<usize>,
    numbers: Vec<f32>,
}

impl Ahead {
    /// The numbers in `range` among `all`. What is written is never changed, so what was read stays
    /// true.
    fn read(&mut self, space: &Scratch, range: Range<usize>, all: usize) -> &[f32] {
        let same = self.file == Some(space.number());
        if !same || range.start < self.range.start || range.end > self.range.end {
            // Somebody who picks single examples needs none of those after them.
            let goes_on = same && range.start == self.range.end;
            let ahead = if goes_on { all.min(range.start + READ_AHEAD) } else { 0 };
            let end = range.end.max(ahead);
            self.range = range.start..end;
            self.numbers.resize(self.range.len(), 0.0);
            let at = (range.start * size_of::<f32>()) as u64;
            // Nothing is known if the disk fails meanwhile.
            self.file = None;
            space.read(bytemuck::cast_slice_mut(&mut self.numbers), at);
            self.file = Some(space.number());
        }
        &self.numbers[range.start - self.range.start..range.end - self.range.start]
    }
}

/// Equality of the numbers, wherever they are.
impl PartialEq for Singles {
    fn eq(&self, other: &Self) -> bool {
        (self.dimension, self.count) == (other.dimension, other.count)
            && self.stretches(0..self.count).all(|range| {
                let one = self.singles(range.clone(), <[f32]>::to_vec);
                other.singles(range, |other| one == other)
            })
    }
}

impl fmt::Debug for Singles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} × {} numbers", self.dimension, self.count)
    }
}

impl From<&Matrix> for Singles {
    fn from(examples: &Matrix) -> Self {
        let doubles = examples.as_slice();
        let round = || doubles.iter().map(|x| towards_zero(*x)).collect();
        let numbers = Arch::new().dispatch(round);
        let (dimension, count) = examples.shape();
        Self { dimension, count, kept: SinglesStorage::Memory(numbers) }
    }
}

/// The single-precision number next to `x` that is not further from zero.
fn towards_zero(x: f64) -> f32 {
    let near = x as f32;
    if f64::from(near).abs() > x.abs() { f32::from_bits(near.to_bits() - 1) } else { near }
}

impl ExampleColumns for Singles {
    fn dimension(&self) -> usize {
        self.dimension
    }

    fn count(&self) -> usize {
        self.count
    }

    fn stretch(&self) -> usize {
        match STRETCH / self.dimension.max(1) {
            several @ SHORT.. => several / SHORT * SHORT,
            few => (few / LONG * LONG).max(LONG),
        }
    }

    fn read<'a>(&'a self, range: Range<usize>, room: &'a mut Vec<f64>) -> &'a [f64] {
        let count = range.len() * self.dimension;
        // Only a longer stretch than before needs to be filled: all of it is written below.
        if room.len() < count {
            room.resize(count, 0.0);
        }
        let room = &mut room[..count];
        self.singles(range, |singles| {
            Arch::new().dispatch(|| {
                for (double, single) in room.iter_mut().zip(singles) {
                    *double = f64::from(*single);
                }
            });
        });
        room
    }

    fn see(&self, range: Range<usize>, see: impl FnOnce(Examples<'_>)) {
        self.singles(range, |singles| see(Examples::Singles(singles)));
    }

    fn doubles(&self, range: Range<usize>) -> Matrix {
        let count = range.len();
        let numbers =
            self.singles(range, |singles| singles.iter().copied().map(f64::from).collect());
        Matrix::from_vec(self.dimension, count, numbers)
    }

    fn pick(&self, from: impl Iterator<Item = usize>) -> Self {
        let dimension = self.dimension;
        let (numbers, count) = match &self.kept {
            SinglesStorage::Memory(all) => picked(all, dimension, from),
            SinglesStorage::Disk(_) => {
                let (mut numbers, mut count) = (Vec::new(), 0);
                for at in from {
                    count += 1;
                    self.singles(at..at + 1, |one| numbers.extend_from_slice(one));
                }
                (numbers, count)
            }
        };
        Self { dimension, count, kept: SinglesStorage::Memory(numbers) }
    }
}

/// The numbers of some examples, and how many there are.
fn picked<T: Copy>(
    numbers: &[T],
    dimension: usize,
    from: impl Iterator<Item = usize>,
) -> (Vec<T>, usize) {
    let mut found = Vec::with_capacity(dimension * from.size_hint().0);
    let mut count = 0;
    for at in from {
        count += 1;
        found.extend_from_slice(&numbers[at * dimension..][..dimension]);
    }
    (found, count)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn no_number_grows_and_none_loses_more_than_single_precision_does(x in any::<f64>()) {
            let near = f64::from(towards_zero(x));
            prop_assert!(x.is_nan() || near.abs() <= x.abs());
            if x.abs() < f64::from(f32::MAX) && x.abs() > f64::from(f32::MIN_POSITIVE) {
                prop_assert!((near - x).abs() <= x.abs() * f64::from(f32::EPSILON));
            }
        }

        #[test]
        fn stretches_cover_all_examples_once(dimension in 1..3000_usize, count in 0..100_usize) {
            let singles = Singles::from(&Matrix::zeros(dimension, count));
            let covered: Vec<usize> = singles.stretches(3.min(count)..count).flatten().collect();
            prop_assert_eq!(covered, (3.min(count)..count).collect::<Vec<_>>());
        }
    }

    #[test]
    fn the_largest_and_smallest_numbers_stay_numbers() {
        let least = f64::from(f32::from_bits(1));
        for (x, expected) in [
            (1e300, f64::from(f32::MAX)),
            (-1e300, f64::from(f32::MIN)),
            (0.9 * least, 0.0),
            (1.5 * least, least),
            (0.5, 0.5),
        ] {
            assert_eq!(f64::from(towards_zero(x)), expected, "{x:e}");
        }
        assert!(towards_zero(f64::NAN).is_nan() && towards_zero(f64::INFINITY).is_infinite());
    }

    #[test]
    fn examples_are_read_visited_and_picked_alike_in_both_forms() {
        let matrix = Matrix::from_fn(5, 1000, |i, j| f64::from(i as u8) - (j % 7) as f64);
        let singles = Singles::from(&matrix);
        let mut room = Vec::new();
        assert_eq!(singles.read(17..900, &mut room), matrix.read(17..900, &mut Vec::new()));
        assert_eq!(singles.doubles(3..9), matrix.doubles(3..9));
        assert_eq!(singles.map_each(<[f64]>::to_vec), matrix.map_each(<[f64]>::to_vec));
        let from = [999, 3, 0];
        let picked = singles.pick(from.into_iter());
        assert_eq!(picked.doubles(0..3), matrix.pick(from.into_iter()));
        let empty = Singles::from(&Matrix::zeros(0, 3));
        assert_eq!((empty.count(), empty.map_each(<[f64]>::len)), (3, vec![0, 0, 0]));
    }
}
