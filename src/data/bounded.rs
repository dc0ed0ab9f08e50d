//! Records that cannot exceed their bounds. Methods get no others.
//!
//! Sensitivities are proved for features of a declared norm, labels of a declared size and declared
//! classes, all of them finite numbers. [`Bounded::within`] ensures this for any records: longer
//! features are shortened, larger labels are clipped, and a record with a value that is not a
//! number, or with an undeclared class, becomes a *null record* of zeros, as if it were not there.
//!
//! Features are kept in single precision, each number rounded towards zero. So they take half the
//! memory, and no record grows beyond its bound. Rounding is a part of how a record is made, as
//! clipping is: sensitivities hold for the rounded records. Labels stay doubles.

use std::sync::Arc;

use super::{Bounds, Dataset, Persons};
use crate::error::Result;
use crate::faults::{Fault, planted};
use crate::numeric::columns::{ExampleColumns, Singles};
use crate::numeric::projection::shrink_factor;

/// The relative rounding error with which preparation's own clipping may miss the bound.
const ROUNDING: f64 = 1e-12;

/// A dataset within its bounds. It can only be read; copies share it.
#[derive(Debug, Clone, PartialEq)]
pub struct Bounded(Arc<Dataset<Singles>>);

impl Bounded {
    /// Within the bounds stored in the dataset.
    pub fn of(data: Dataset) -> Self {
        let bounds = data.bounds;
        Self::within(data, bounds)
    }

    /// Within these bounds.
    pub fn within(mut data: Dataset, bounds: Bounds) -> Self {
        bring_within(&mut data, bounds);
        Self(Arc::new(data.in_singles()))
    }

    /// Brings records that come in parts within these bounds: `gather` puts them together, and
    /// calls its argument for each part before its features are rounded.
    pub(super) fn gathered(
        bounds: Bounds,
        gather: impl FnOnce(&(dyn Fn(&mut Dataset) + Sync)) -> Result<Dataset<Singles>>,
    ) -> Result<Self> {
        gather(&|part| bring_within(part, bounds)).map(|all| Self(Arc::new(all)))
    }

    /// Groups the records by person.
    pub fn by_person(mut self, persons: Option<Arc<Persons>>) -> Self {
        Arc::make_mut(&mut self.0).persons = persons;
        self
    }

    /// The records, for a method's own form of them.
    pub fn shared(&self) -> Arc<Dataset<Singles>> {
        Arc::clone(&self.0)
    }

    /// A copy in double precision, for work that needs all numbers at once.
    pub fn doubles(&self) -> Dataset {
        let features = self.features.doubles(0..self.len());
        (*self.0).clone().with_features(features)
    }
}

/// Brings every record within `bounds`.
fn bring_within(data: &mut Dataset, bounds: Bounds) {
    data.bounds = bounds;
    let usable = |bound: f64| if bound.is_finite() { bound.max(0.0) } else { 0.0 };
    let (norm, label) = (usable(bounds.feature_norm), usable(bounds.label));
    let mut null = Vec::new();
    for (i, mut record) in data.features.column_iter_mut().enumerate() {
        if planted(Fault::NonFinite) {
            continue;
        }
        if !record.iter().all(|number| number.is_finite()) {
            record.fill(0.0);
            null.push(i);
            continue;
        }
        let length = record.norm();
        if length > norm * (1.0 + ROUNDING) {
            let shrink = shrink_factor(length, norm);
            if shrink > 0.0 { record *= shrink } else { record.fill(0.0) }
        }
    }
    if let Some(target) = &mut data.target {
        for (i, y) in target.iter_mut().enumerate() {
            if planted(Fault::UnclippedLabel) {
                continue;
            }
            if y.is_finite() {
                *y = y.clamp(-label, label);
            } else {
                *y = 0.0;
                null.push(i);
            }
        }
    }
    if let Some(classes) = &mut data.classes {
        let known = classes.names.len();
        for (i, class) in classes.of.iter_mut().enumerate() {
            if *class as usize >= known {
                *class = 0;
                null.push(i);
            }
        }
    }
    let records = data.features.ncols();
    for i in null.into_iter().filter(|i| *i < records) {
        data.features.column_mut(i).fill(0.0);
        if let Some(y) = data.target.as_mut().and_then(|target| target.get_mut(i)) {
            *y = 0.0;
        }
    }
}

impl From<Dataset> for Bounded {
    fn from(data: Dataset) -> Self {
        Self::of(data)
    }
}

impl std::ops::Deref for Bounded {
    type Target = Dataset<Singles>;

    fn deref(&self) -> &Dataset<Singles> {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Classes;
    use crate::numeric::Matrix;

    fn data(features: &[f64], target: Vec<f64>) -> Dataset {
        Dataset {
            feature_names: vec!["a".to_owned(), "b".to_owned()],
            target: Some(target),
            ..Dataset::unlabelled(
                "made",
                Matrix::from_column_slice(2, features.len() / 2, features),
                Bounds { feature_norm: 2.0, label: 0.5 },
            )
        }
    }

    #[test]
    fn records_are_finite_and_within_their_bounds_whatever_they_were() {
        let (nan, inf) = (f64::NAN, f64::INFINITY);
        let wild = [3.0, 4.0, 1.0, 1.0, nan, 1.0, 1e200, 0.0, inf, 1.0, 1.0, 0.0, 1.0, 0.0];
        let labels = vec![9.0, -0.2, 0.3, -inf, 0.1, nan, 0.5];
        let bounded = Bounded::of(data(&wild, labels));
        let expected = [1.2, 1.6, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0];
        let features = bounded.doubles().features;
        for (found, expected) in features.iter().zip(expected) {
            assert!((found - expected).abs() < 2e-7, "{features:?}");
        }
        for record in features.column_iter() {
            assert!(record.norm() <= 2.0, "{features:?}");
        }
        assert_eq!(bounded.target, Some(vec![0.5, -0.2, 0.0, 0.0, 0.0, 0.0, 0.5]));
    }

    #[test]
    fn a_class_that_nobody_declared_makes_a_null_record() {
        let mut wild = data(&[1.0, 0.0, 0.0, 1.0], vec![]);
        wild.target = None;
        let names = vec!["no".to_owned(), "yes".to_owned()];
        wild.classes = Some(Classes { of: vec![1, 7], names });
        let bounded = Bounded::of(wild);
        assert_eq!(bounded.classes.as_ref().unwrap().of, [1, 0]);
        assert_eq!(bounded.doubles().features.as_slice(), [1.0, 0.0, 0.0, 0.0]);
    }

    #[test]
    fn single_precision_numbers_within_their_bounds_are_left_to_the_last_bit() {
        let tame = data(&[1.25, 1.5, -2.0, 0.0, 0.375, 0.125], vec![0.5, -0.5, 0.1]);
        assert_eq!(Bounded::of(tame.clone()).doubles(), tame);
    }

    #[test]
    fn rounding_makes_no_record_longer_than_its_bound() {
        let mut longest: f64 = 0.0;
        for k in 0..500 {
            let angle = f64::from(k) * 0.0125;
            let on_the_bound = data(&[2.0 * angle.cos(), 2.0 * angle.sin()], vec![0.0]);
            let norm = Bounded::of(on_the_bound).doubles().features.norm();
            assert!(norm <= 2.0, "{angle}: {norm}");
            longest = longest.max(norm);
        }
        assert!(longest > 2.0 * (1.0 - 1e-6), "{longest}");
    }

    #[test]
    fn bounds_that_are_no_numbers_let_nothing_through() {
        let bounds = Bounds { feature_norm: f64::NAN, label: f64::INFINITY };
        let bounded = Bounded::within(data(&[1.0, 1.0], vec![0.4]), bounds);
        let features = bounded.doubles().features;
        assert_eq!((features.norm(), bounded.target.as_deref()), (0.0, Some(&[0.0][..])));
    }
}
