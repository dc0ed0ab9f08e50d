//! The records of a candidate: all prepared at once, or, for a large candidate, each when it is
//! needed. Twenty sets of 10⁵ images would take 13 GB as features, and a repeat looks at a few
//! hundred of each.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use rand::SeedableRng;
use rand::rngs::ChaCha20Rng;
use rand::seq::index;

use crate::data::Dataset;
use crate::error::Result;
use crate::numeric::Matrix;

/// The most records of a large candidate that are used, and private records that models predict.
pub(super) const LOOKED_AT: usize = 20_000;

/// Prepares the records with these numbers.
type PrepareRows = dyn Fn(&[usize]) -> Result<Dataset> + Send + Sync;

/// Public records, prepared like the private ones.
#[derive(Clone)]
pub enum Supply {
    Ready(Arc<Dataset>),
    OnDemand { records: usize, dimension: usize, draw: Arc<PrepareRows> },
}

impl From<Dataset> for Supply {
    fn from(data: Dataset) -> Self {
        Self::Ready(Arc::new(data))
    }
}

impl fmt::Debug for Supply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} records of {} features", self.len(), self.dimension())
    }
}

impl Supply {
    /// The number of records.
    pub fn len(&self) -> usize {
        match self {
            Self::Ready(data) => data.len(),
            Self::OnDemand { records, .. } => *records,
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn dimension(&self) -> usize {
        match self {
            Self::Ready(data) => data.dimension(),
            Self::OnDemand { dimension, .. } => *dimension,
        }
    }

    /// Whether the records in memory are finite; others are checked when they are drawn.
    pub(super) fn is_finite(&self) -> bool {
        match self {
            Self::Ready(data) => data.features.iter().all(|number| number.is_finite()),
            Self::OnDemand { .. } => true,
        }
    }

    /// The features of the records with these numbers, one per column.
    pub fn features(&self, chosen: &[usize]) -> Result<Matrix> {
        match self {
            Self::Ready(data) => Ok(data.features.select_columns(chosen)),
            Self::OnDemand { draw, .. } => draw(chosen).map(|data| data.features),
        }
    }

    /// `count` records from number `first` on.
    pub fn records(&self, first: usize, count: usize) -> Result<Dataset> {
        match self {
            Self::Ready(data) => Ok(data.records(first, count)),
            Self::OnDemand { records, draw, .. } => {
                let end = (first + count).min(*records);
                draw(&(first.min(end)..end).collect::<Vec<_>>())
            }
        }
    }

    /// Whether [`Self::some`] leaves records out.
    pub(super) fn is_more_than(&self, most: usize) -> bool {
        matches!(self, Self::OnDemand { records, .. } if *records > most)
    }

    /// All records in memory, or up to `most` random ones, which are the same for the same seed.
    pub fn some(&self, most: usize, seed: u64) -> Result<Cow<'_, Dataset>> {
        match self {
            Self::Ready(data) => Ok(Cow::Borrowed(data)),
            Self::OnDemand { records, draw, .. } => {
                let mut generator = ChaCha20Rng::seed_from_u64(seed);
                let chosen = index::sample(&mut generator, *records, most.min(*records));
                draw(&chosen.into_vec()).map(Cow::Owned)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Bounds;

    #[test]
    fn records_on_demand_are_those_that_would_be_ready() {
        let all = Dataset {
            name: "d".to_owned(),
            features: Matrix::from_fn(3, 10, |i, j| (10 * i + j) as f64),
            feature_names: Vec::new(),
            target: None,
            classes: None,
            bounds: Bounds { feature_norm: 1.0, label: 1.0 },
            clipped: 0,
            persons: None,
        };
        let whole = all.clone();
        let draw = move |rows: &[usize]| {
            Ok(Dataset { features: whole.features.select_columns(rows), ..whole.clone() })
        };
        let (ready, late) = (
            Supply::from(all),
            Supply::OnDemand { records: 10, dimension: 3, draw: Arc::new(draw) },
        );
        assert_eq!((ready.len(), ready.dimension()), (late.len(), late.dimension()));
        assert_eq!(ready.features(&[7, 2]).unwrap(), late.features(&[7, 2]).unwrap());
        for (first, count) in [(0, 4), (8, 5), (12, 1)] {
            let features = |supply: &Supply| supply.records(first, count).unwrap().features;
            assert_eq!(features(&ready), features(&late));
        }
        let some = |seed| late.some(4, seed).unwrap().features.clone();
        assert!(some(1).ncols() == 4 && some(1) == some(1) && some(1) != some(2));
        assert_eq!(ready.some(4, 1).unwrap().len(), 10);
        assert!(late.is_more_than(4) && !late.is_more_than(10) && !ready.is_more_than(4));
    }
}
