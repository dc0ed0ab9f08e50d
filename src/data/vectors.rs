//! A column whose cells are vectors of one length: embeddings, images.
//!
//! Stored row by row in one piece, in the precision of the file: 10⁵ embeddings
//! of 400 single-precision numbers are one allocation of 160 MB, not 4·10⁷ cells.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};

/// Numbers in the precision they were read in. NaN stands for a missing one.
#[derive(Clone)]
pub enum Values {
    F32(Vec<f32>),
    F64(Vec<f64>),
}

/// As many vectors as rows, each of `width` numbers, one after the other.
#[derive(Clone)]
pub struct Vectors {
    width: usize,
    values: Values,
}

/// One row's vector.
#[derive(Clone, Copy)]
pub enum Vector<'a> {
    F32(&'a [f32]),
    F64(&'a [f64]),
}

impl Values {
    pub fn len(&self) -> usize {
        match self {
            Self::F32(values) => values.len(),
            Self::F64(values) => values.len(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn get(&self, at: usize) -> f64 {
        match self {
            Self::F32(values) => f64::from(values[at]),
            Self::F64(values) => values[at],
        }
    }

    /// Where the first infinite number stands.
    pub fn first_infinite(&self) -> Option<usize> {
        match self {
            Self::F32(values) => values.iter().position(|value| value.is_infinite()),
            Self::F64(values) => values.iter().position(|value| value.is_infinite()),
        }
    }

    pub fn into_f64(self) -> Vec<f64> {
        match self {
            Self::F32(values) => values.into_iter().map(f64::from).collect(),
            Self::F64(values) => values,
        }
    }
}

impl Vectors {
    /// `values` in pieces of `width`; `None` where that does not come out even.
    pub fn new(width: usize, values: Values) -> Option<Self> {
        (width > 0 && values.len().is_multiple_of(width)).then_some(Self { width, values })
    }

    /// Numbers in each vector.
    pub fn width(&self) -> usize {
        self.width
    }

    /// How many vectors there are.
    pub fn len(&self) -> usize {
        self.values.len() / self.width
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn values(&self) -> &Values {
        &self.values
    }

    pub fn value(&self, row: usize, position: usize) -> f64 {
        self.values.get(row * self.width + position)
    }

    pub fn row(&self, row: usize) -> Vector<'_> {
        let range = row * self.width..(row + 1) * self.width;
        match &self.values {
            Values::F32(values) => Vector::F32(&values[range]),
            Values::F64(values) => Vector::F64(&values[range]),
        }
    }

    /// Row and position of the first missing number.
    pub fn first_missing(&self) -> Option<(usize, usize)> {
        let at = match &self.values {
            Values::F32(values) => values.iter().position(|value| value.is_nan()),
            Values::F64(values) => values.iter().position(|value| value.is_nan()),
        };
        at.map(|at| (at / self.width, at % self.width))
    }

    pub(super) fn select(&self, rows: &[usize]) -> Self {
        fn chosen<T: Copy>(values: &[T], width: usize, rows: &[usize]) -> Vec<T> {
            let mut chosen = Vec::with_capacity(rows.len() * width);
            for row in rows {
                chosen.extend_from_slice(&values[row * width..(row + 1) * width]);
            }
            chosen
        }
        let values = match &self.values {
            Values::F32(values) => Values::F32(chosen(values, self.width, rows)),
            Values::F64(values) => Values::F64(chosen(values, self.width, rows)),
        };
        Self { width: self.width, values }
    }

    /// All parts one after the other; `None` where their widths differ.
    pub(super) fn concat(parts: &[&Self]) -> Option<Self> {
        let width = parts.first()?.width;
        if parts.iter().any(|part| part.width != width) {
            return None;
        }
        let single: Option<Vec<&[f32]>> = parts
            .iter()
            .map(|part| match &part.values {
                Values::F32(values) => Some(values.as_slice()),
                Values::F64(_) => None,
            })
            .collect();
        let values = match single {
            Some(single) => Values::F32(single.concat()),
            None => Values::F64(
                parts
                    .iter()
                    .flat_map(|part| (0..part.values.len()).map(|at| part.values.get(at)))
                    .collect(),
            ),
        };
        Some(Self { width, values })
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

impl<'a> Vector<'a> {
    pub fn width(self) -> usize {
        match self {
            Self::F32(values) => values.len(),
            Self::F64(values) => values.len(),
        }
    }

    /// Its numbers, never −0, and with one and the same NaN where one is missing.
    pub fn numbers(self) -> impl Iterator<Item = f64> + 'a {
        (0..self.width()).map(move |at| {
            let number = match self {
                Self::F32(values) => f64::from(values[at]),
                Self::F64(values) => values[at],
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

impl PartialEq for Vector<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Vector<'_> {}

impl PartialOrd for Vector<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Vector<'_> {
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

impl Hash for Vector<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        for number in self.numbers() {
            number.to_bits().hash(state);
        }
    }
}

/// What it is, not its numbers.
impl fmt::Display for Vector<'_> {
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
        let both = Vectors::concat(&[&single, &double]).unwrap();
        assert!(both.select(&[2, 1]) == double.select(&[0, 1]));
    }

    #[test]
    fn vectors_of_other_widths_are_not_put_together() {
        let two = Vectors::new(2, Values::F32(vec![1.0, 2.0])).unwrap();
        let one = Vectors::new(1, Values::F32(vec![1.0, 2.0])).unwrap();
        assert!(Vectors::concat(&[&two, &one]).is_none());
        assert!(two != one);
        assert!(Vectors::new(2, Values::F32(vec![1.0])).is_none());
        assert!(Vectors::new(0, Values::F32(vec![])).is_none());
    }
}
