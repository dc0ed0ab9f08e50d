//! Affine maps that standardise features.

use serde::{Deserialize, Serialize};

use crate::Vectors;

/// x ↦ (x − centre) / width, and `fill` for an x that is missing.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Standardisation {
    pub centre: f64,
    pub width: f64,
    /// In the units of x: the public mean.
    pub fill: f64,
}

/// What three passes over values find out. In units of the largest value nothing overflows.
#[derive(Clone, Default)]
struct Spread {
    first: Option<f64>,
    largest: f64,
    count: f64,
    sum: f64,
    squares: f64,
}

impl Spread {
    /// The first pass.
    fn see(&mut self, x: f64) {
        if !x.is_nan() {
            self.first = self.first.or(Some(x));
            self.largest = self.largest.max(x.abs());
            self.count += 1.0;
        }
    }

    /// The second pass.
    fn add(&mut self, x: f64) {
        if !x.is_nan() {
            self.sum += x / self.largest;
        }
    }

    /// The third pass.
    fn add_square(&mut self, x: f64) {
        if !x.is_nan() {
            self.squares += (x / self.largest - self.sum / self.count).powi(2);
        }
    }

    fn standard(self) -> Standardisation {
        let Some(first) = self.first.filter(|_| self.largest > 0.0) else {
            return Standardisation::IDENTITY;
        };
        let deviation = (self.squares / self.count).sqrt();
        if deviation <= 1e-12 {
            return Standardisation { centre: first, width: 1.0, fill: first };
        }
        let mean = self.sum / self.count * self.largest;
        Standardisation { centre: mean, width: deviation * self.largest, fill: mean }
    }
}

impl Standardisation {
    pub const IDENTITY: Self = Self { centre: 0.0, width: 1.0, fill: 0.0 };

    pub fn apply(self, x: f64) -> f64 {
        let x = if x.is_nan() { self.fill } else { x };
        (x - self.centre) / self.width
    }

    /// Mean and standard deviation of the values that are not missing; a constant is moved to 0 and
    /// not scaled.
    pub fn standard(values: impl Iterator<Item = f64> + Clone) -> Self {
        let mut spread = Spread::default();
        values.clone().for_each(|x| spread.see(x));
        values.clone().for_each(|x| spread.add(x));
        values.for_each(|x| spread.add_square(x));
        spread.standard()
    }

    /// [`Self::standard`] of each number of vectors, which may be on the disk: read row by row.
    pub fn of_vectors(vectors: &Vectors) -> Vec<Self> {
        let mut spreads = vec![Spread::default(); vectors.width()];
        for pass in [Spread::see, Spread::add, Spread::add_square] {
            vectors.each(|_, vector| {
                for (spread, x) in spreads.iter_mut().zip(vector) {
                    pass(spread, *x);
                }
            });
        }
        spreads.into_iter().map(Spread::standard).collect()
    }

    pub fn is_sound(self) -> bool {
        [self.centre, self.fill].iter().all(|x| x.is_finite())
            && self.width.is_finite()
            && self.width > 0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Values;

    #[test]
    fn numbers_of_vectors_are_standardised_like_columns() {
        const ROWS: usize = 9_000;
        // A constant, one with gaps, one that is zero, and a plain one.
        let number = |row: usize, at: usize| match at {
            0 => 3.5,
            1 if row.is_multiple_of(7) => f64::NAN,
            2 => 0.0,
            _ => (row as f64 * 0.37 + at as f64).sin() * 1e3,
        };
        let all = (0..ROWS).flat_map(|row| (0..4).map(move |at| number(row, at))).collect();
        let vectors = Vectors::new(4, Values::F64(all)).unwrap();
        let scales = Standardisation::of_vectors(&vectors);
        for (at, scale) in scales.iter().enumerate() {
            let alone = Standardisation::standard((0..ROWS).map(|row| number(row, at)));
            assert_eq!(*scale, alone, "{at}");
        }
        assert_eq!((scales[0].centre, scales[0].width), (3.5, 1.0));
        assert_eq!(scales[2], Standardisation::IDENTITY);
        let scaled: Vec<f64> = (0..ROWS).map(|row| scales[3].apply(number(row, 3))).collect();
        let mean = scaled.iter().sum::<f64>() / ROWS as f64;
        let square = scaled.iter().map(|x| x * x).sum::<f64>() / ROWS as f64;
        assert!(mean.abs() < 1e-9 && (square - 1.0).abs() < 1e-9, "{mean} {square}");
    }
}
