//! Numbers in the fewest bytes that lose nothing.
//!
//! Data that somebody measured are mostly whole numbers, decimals such as 36.6 or in single
//! precision. These take one byte or four instead of eight. Every number comes back to the last
//! bit; the one exception is NaN, which has many forms and stands for a missing number in all.
#![allow(clippy::inline_always)] // inlined, to be compiled for the instruction set that is found

use std::borrow::Cow;
use std::ops::Range;

use bytemuck::Zeroable;
use pulp::Arch;

use super::first;
use crate::chunks::PackedCells;

/// Decimals are at most this fine.
const FINEST: f64 = 1e9;
/// Numbers that are looked at together, without a branch after each.
const PIECE: usize = 256;
/// 1.5 · 2⁵²: a double of this size has no digits after the point.
const SHIFT: f64 = 6_755_399_441_055_744.0;
/// Stands for a missing number among decimals.
const MISSING: i32 = i32::MIN;

/// Some numbers.
#[derive(Debug, Clone)]
pub enum Packed {
    /// Whole numbers below 256.
    Bytes(Box<[u8]>),
    Singles(Box<[f32]>),
    Decimals {
        units: Box<[i32]>,
        /// How many units are 1: a power of ten.
        per_one: f64,
    },
    Doubles(Box<[f64]>),
}

/// How numbers are kept.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Form {
    Bytes,
    Singles,
    Decimals { per_one: f64 },
    Doubles,
}

impl Form {
    /// The bytes of a number.
    pub fn width(self) -> usize {
        match self {
            Self::Bytes => 1,
            Self::Singles | Self::Decimals { .. } => 4,
            Self::Doubles => 8,
        }
    }
}

impl Packed {
    pub fn of(numbers: &[f64]) -> Self {
        Arch::new().dispatch(|| {
            if none(numbers, no_byte) {
                Self::Bytes(each(numbers, |x| shifted(x).to_bits() as u8))
            } else if none(numbers, |x| difference(x, f64::from(x as f32))) {
                Self::Singles(each(numbers, |x| x as f32))
            } else if let Some(per_one) = units_per_one(numbers) {
                Self::Decimals { units: each(numbers, |x| units(x, per_one)), per_one }
            } else {
                Self::Doubles(numbers.into())
            }
        })
    }

    /// So many zeros.
    pub fn zeros(form: Form, count: usize) -> Self {
        fn of<T: Zeroable + Clone>(count: usize) -> Box<[T]> {
            vec![T::zeroed(); count].into()
        }
        match form {
            Form::Bytes => Self::Bytes(of(count)),
            Form::Singles => Self::Singles(of(count)),
            Form::Decimals { per_one } => Self::Decimals { units: of(count), per_one },
            Form::Doubles => Self::Doubles(of(count)),
        }
    }

    /// Bytes of the numbers, to be read from the disk.
    pub fn as_bytes_mut(&mut self) -> &mut [u8] {
        match self {
            Self::Bytes(numbers) => numbers,
            Self::Singles(numbers) => bytemuck::cast_slice_mut(numbers),
            Self::Decimals { units, .. } => bytemuck::cast_slice_mut(units),
            Self::Doubles(numbers) => bytemuck::cast_slice_mut(numbers),
        }
    }

    /// The position of the first infinite number.
    pub fn first_infinite(&self) -> Option<usize> {
        match self {
            Self::Bytes(_) | Self::Decimals { .. } => None,
            Self::Singles(numbers) => first(numbers, f32::is_infinite),
            Self::Doubles(numbers) => first(numbers, f64::is_infinite),
        }
    }

    /// One of the numbers.
    pub fn get(&self, at: usize) -> f64 {
        match self {
            Self::Bytes(bytes) => f64::from(bytes[at]),
            Self::Singles(singles) => f64::from(singles[at]),
            Self::Decimals { units, per_one } => number(units[at], *per_one),
            Self::Doubles(doubles) => doubles[at],
        }
    }

    /// Some of the numbers.
    pub fn read(&self, range: Range<usize>, numbers: &mut [f64]) {
        Arch::new().dispatch(|| match self {
            Self::Bytes(bytes) => {
                numbers.iter_mut().zip(&bytes[range]).for_each(|(x, byte)| *x = f64::from(*byte));
            }
            Self::Singles(singles) => {
                let singles = &singles[range];
                numbers.iter_mut().zip(singles).for_each(|(x, single)| *x = f64::from(*single));
            }
            Self::Decimals { units, per_one } => {
                let units = &units[range];
                numbers.iter_mut().zip(units).for_each(|(x, units)| *x = number(*units, *per_one));
            }
            Self::Doubles(doubles) => numbers.copy_from_slice(&doubles[range]),
        });
    }
}

impl PackedCells for Packed {
    type Form = Form;

    fn form(&self) -> Form {
        match self {
            Self::Bytes(_) => Form::Bytes,
            Self::Singles(_) => Form::Singles,
            Self::Decimals { per_one, .. } => Form::Decimals { per_one: *per_one },
            Self::Doubles(_) => Form::Doubles,
        }
    }

    fn as_bytes(&self) -> Cow<'_, [u8]> {
        Cow::Borrowed(match self {
            Self::Bytes(numbers) => numbers,
            Self::Singles(numbers) => bytemuck::cast_slice(numbers),
            Self::Decimals { units, .. } => bytemuck::cast_slice(units),
            Self::Doubles(numbers) => bytemuck::cast_slice(numbers),
        })
    }
}

/// The bits in which a number differs from what comes back for it.
#[inline(always)]
fn difference(x: f64, back: f64) -> u64 {
    let bits = x.to_bits() ^ back.to_bits();
    if x.is_nan() { 0 } else { bits }
}

/// Whether there is no difference for any number.
#[inline(always)]
fn none(numbers: &[f64], difference: impl Fn(f64) -> u64) -> bool {
    for piece in numbers.chunks(PIECE) {
        let mut found = 0;
        for x in piece {
            found |= difference(*x);
        }
        if found != 0 {
            return false;
        }
    }
    true
}

#[inline(always)]
fn each<T: Zeroable + Clone>(numbers: &[f64], of: impl Fn(f64) -> T) -> Box<[T]> {
    let mut all = vec![T::zeroed(); numbers.len()];
    for (to, x) in all.iter_mut().zip(numbers) {
        *to = of(*x);
    }
    all.into()
}

/// The least power of ten of which all numbers are whole multiples that fit.
#[inline(always)]
fn units_per_one(numbers: &[f64]) -> Option<f64> {
    let lost = |x: f64, per_one: f64| {
        let units = shifted(x * per_one) - SHIFT;
        difference(x, units / per_one) | u64::from(units.abs() > f64::from(i32::MAX))
    };
    let first = *numbers.first()?;
    let mut per_one = 1.0;
    while per_one <= FINEST {
        // Most often the first number tells that there are too few digits.
        if lost(first, per_one) == 0 && none(numbers, |x| lost(x, per_one)) {
            return Some(per_one);
        }
        per_one *= 10.0;
    }
    None
}

/// Not 0, if this is no whole number below 256.
#[inline(always)]
fn no_byte(x: f64) -> u64 {
    let inside = (0.0..=255.0).contains(&x);
    difference(x, shifted(x) - SHIFT) | u64::from(!inside)
}

/// The nearest whole number, plus [`SHIFT`], which does the rounding.
#[inline(always)]
fn shifted(x: f64) -> f64 {
    x + SHIFT
}

#[inline(always)]
fn units(x: f64, per_one: f64) -> i32 {
    // The last bits of a shifted number are those of the whole number.
    if x.is_nan() { MISSING } else { shifted(x * per_one).to_bits() as u32 as i32 }
}

/// The nearest double to a decimal, as if it were read from a text: both whole numbers are exact,
/// and a division is rounded once.
#[inline(always)]
fn number(units: i32, per_one: f64) -> f64 {
    if units == MISSING { f64::NAN } else { f64::from(units) / per_one }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn bits(numbers: &[f64]) -> Vec<u64> {
        numbers.iter().map(|x| if x.is_nan() { 1 } else { x.to_bits() }).collect()
    }

    fn check(numbers: &[f64]) -> Form {
        let packed = Packed::of(numbers);
        let mut found = vec![1.5; numbers.len()];
        packed.read(0..numbers.len(), &mut found);
        assert_eq!(bits(&found), bits(numbers));
        let mut copied = Packed::zeros(packed.form(), numbers.len());
        copied.as_bytes_mut().copy_from_slice(&packed.as_bytes());
        assert_eq!(packed.as_bytes().len(), numbers.len() * packed.form().width());
        let half = numbers.len() / 2;
        copied.read(half..numbers.len(), &mut found[half..]);
        assert_eq!(bits(&found), bits(numbers));
        packed.form()
    }

    #[test]
    fn numbers_take_the_fewest_bytes_that_lose_nothing() {
        assert_eq!(check(&[]), Form::Bytes);
        assert_eq!(check(&[0.0, 255.0]), Form::Bytes);
        for single in [-0.0, 256.0, 0.5, f64::NAN, f64::INFINITY] {
            assert_eq!(check(&[1.0, single]), Form::Singles, "{single}");
        }
        let decimals = [
            (16_777_217.0, 1.0),
            (-2_147_483_647.0, 1.0),
            (0.1, 10.0),
            (36.6, 10.0),
            (-99.99, 100.0),
            (0.000_001, 1e6),
            (2.147_483_647, 1e9),
        ];
        for (decimal, per_one) in decimals {
            for other in [1.0, f64::NAN] {
                let form = Form::Decimals { per_one };
                assert_eq!(check(&[other, decimal, 0.0]), form, "{decimal}");
            }
        }
        for double in [1e300, 2_147_483_649.0, 1.0 / 3.0, 1e-10, f64::MIN_POSITIVE] {
            assert_eq!(check(&[1.0, double]), Form::Doubles, "{double}");
        }
        for (one, other) in [(0.1, 2_147_483_647.0), (0.1, -0.0), (0.1, f64::INFINITY)] {
            assert_eq!(check(&[one, other]), Form::Doubles, "{one} and {other}");
        }
    }

    proptest! {
        #[test]
        fn every_bit_comes_back(numbers in prop::collection::vec(any::<f64>(), 0..600)) {
            check(&numbers);
        }

        #[test]
        fn decimals_take_four_bytes(
            units in prop::collection::vec(-2_147_483_647..=2_147_483_647_i32, 1..600),
            places in 0..=9_usize,
        ) {
            let text = |units: &i32| format!("{units}e-{places}").parse::<f64>().unwrap();
            let numbers: Vec<f64> = units.iter().map(text).collect();
            prop_assert!(check(&numbers).width() <= 4);
        }
    }
}
