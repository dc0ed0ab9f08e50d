//! Records that cannot exceed their bounds. Methods get no others.
//!
//! Sensitivities are proved for features of a declared norm, labels of a declared size and declared
//! classes, all of them finite numbers. [`Bounded::within`] ensures this for any records: longer
//! features are shortened, larger labels are clipped, and a record with a value that is not a
//! number, or with an undeclared class, becomes a *null record* of zeros, as if it were not there.

use std::sync::Arc;

use super::{Bounds, Dataset};
use crate::faults::{Fault, planted};
use crate::numeric::projection::shrink_factor;

/// The relative rounding error with which preparation's own clipping may miss the bound.
const ROUNDING: f64 = 1e-12;

/// A dataset within its bounds. It can only be read; copies share it.
#[derive(Debug, Clone, PartialEq)]
pub struct Bounded(Arc<Dataset>);

impl Bounded {
    /// Within the bounds stored in the dataset.
    pub fn of(data: Dataset) -> Self {
        let bounds = data.bounds;
        Self::within(data, bounds)
    }

    /// Within these bounds.
    pub fn within(mut data: Dataset, bounds: Bounds) -> Self {
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
        Self(Arc::new(data))
    }

    /// The records, for a method's own form of them.
    pub fn shared(&self) -> Arc<Dataset> {
        Arc::clone(&self.0)
    }
}

impl From<Dataset> for Bounded {
    fn from(data: Dataset) -> Self {
        Self::of(data)
    }
}

impl std::ops::Deref for Bounded {
    type Target = Dataset;

    fn deref(&self) -> &Dataset {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Classes;
    use crate::numeric::Matrix;

    fn data(features: &[f64], target: Vec<f64>) -> Dataset {
        Dataset {
            name: "made".to_owned(),
            features: Matrix::from_column_slice(2, features.len() / 2, features),
            feature_names: vec!["a".to_owned(), "b".to_owned()],
            target: Some(target),
            classes: None,
            bounds: Bounds { feature_norm: 2.0, label: 0.5 },
            clipped: 0,
            persons: None,
        }
    }

    #[test]
    fn records_are_finite_and_within_their_bounds_whatever_they_were() {
        let (nan, inf) = (f64::NAN, f64::INFINITY);
        let wild = [3.0, 4.0, 1.0, 1.0, nan, 1.0, 1e200, 0.0, inf, 1.0, 1.0, 0.0, 1.0, 0.0];
        let labels = vec![9.0, -0.2, 0.3, -inf, 0.1, nan, 0.5];
        let bounded = Bounded::of(data(&wild, labels));
        let expected = [1.2, 1.6, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0];
        for (found, expected) in bounded.features.iter().zip(expected) {
            assert!((found - expected).abs() < 1e-12, "{:?}", bounded.features);
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
        assert_eq!(bounded.features.as_slice(), [1.0, 0.0, 0.0, 0.0]);
    }

    #[test]
    fn what_is_within_its_bounds_is_left_to_the_last_bit() {
        let tame = data(&[1.2, 1.6, -2.0, 0.0, 0.3, 0.1], vec![0.5, -0.5, 0.1]);
        assert_eq!(*Bounded::of(tame.clone()), tame);
    }

    #[test]
    fn bounds_that_are_no_numbers_let_nothing_through() {
        let bounds = Bounds { feature_norm: f64::NAN, label: f64::INFINITY };
        let bounded = Bounded::within(data(&[1.0, 1.0], vec![0.4]), bounds);
        assert_eq!((bounded.features.norm(), bounded.target.as_deref()), (0.0, Some(&[0.0][..])));
    }
}
