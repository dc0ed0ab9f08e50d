//! The records of a dataset in a ranking: all prepared at once, or, for a large dataset, each when
//! it is needed. Twenty sets of 10⁵ images would take 13 GB as features, and a repeat looks at a few
//! hundred of each. Tables on the disk do not fit into memory at all.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use rand::SeedableRng;
use rand::rngs::ChaCha20Rng;
use rand::seq::index;

use crate::data::{Dataset, Persons};
use crate::error::Result;
use crate::numeric::Matrix;

/// The most records of a large candidate that are used, and private records that models predict.
pub(super) const LOOKED_AT: usize = 20_000;

/// Records that are prepared at once for a sum over all of them.
const BLOCK: usize = 4096;

/// Prepares the records with these numbers.
type PrepareRows = dyn Fn(&[usize]) -> Result<Dataset> + Send + Sync;

/// Records that are all prepared alike.
#[derive(Clone)]
pub enum Supply {
    Ready(Arc<Dataset>),
    OnDemand(LargeSupply),
}

/// Records that are prepared when they are needed.
#[derive(Clone)]
pub struct LargeSupply {
    records: usize,
    dimension: usize,
    /// The records of each person, where persons are protected.
    persons: Option<Arc<Persons>>,
    draw: Arc<PrepareRows>,
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

impl LargeSupply {
    /// The records with these numbers, prepared some thousand at a time: the rows of many would stay
    /// on the disk, from which no table is prepared at once.
    fn select(&self, chosen: &[usize]) -> Result<Dataset> {
        let (first, others) = chosen.split_at(chosen.len().min(BLOCK));
        let mut all = (self.draw)(first)?;
        if others.is_empty() {
            return Ok(all);
        }
        let mut numbers = Vec::with_capacity(self.dimension * chosen.len());
        numbers.extend_from_slice(all.features.as_slice());
        for some in others.chunks(BLOCK) {
            let more = (self.draw)(some)?;
            numbers.extend_from_slice(more.features.as_slice());
            all.extend_labels(more);
        }
        all.features = Matrix::from_vec(self.dimension, chosen.len(), numbers);
        Ok(all)
    }
}

impl Supply {
    /// So many records, prepared by `draw` when they are needed.
    pub fn on_demand(
        records: usize,
        dimension: usize,
        draw: impl Fn(&[usize]) -> Result<Dataset> + Send + Sync + 'static,
    ) -> Self {
        Self::OnDemand(LargeSupply { records, dimension, persons: None, draw: Arc::new(draw) })
    }

    /// Groups the records by person.
    pub fn by_person(self, persons: Option<Arc<Persons>>) -> Self {
        match self {
            Self::Ready(data) => {
                Self::Ready(Arc::new(Dataset { persons, ..Arc::unwrap_or_clone(data) }))
            }
            Self::OnDemand(large) => Self::OnDemand(LargeSupply { persons, ..large }),
        }
    }

    /// The number of records.
    pub fn len(&self) -> usize {
        match self {
            Self::Ready(data) => data.len(),
            Self::OnDemand(large) => large.records,
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn dimension(&self) -> usize {
        match self {
            Self::Ready(data) => data.dimension(),
            Self::OnDemand(large) => large.dimension,
        }
    }

    /// Whether the records in memory are finite; others are checked when they are drawn.
    pub(super) fn is_finite(&self) -> bool {
        match self {
            Self::Ready(data) => data.features.iter().all(|number| number.is_finite()),
            Self::OnDemand(_) => true,
        }
    }

    /// The records with these numbers, in this order.
    pub fn select(&self, chosen: &[usize]) -> Result<Dataset> {
        match self {
            Self::Ready(data) => Ok(data.select(chosen)),
            Self::OnDemand(large) => large.select(chosen),
        }
    }

    /// Features alone of the records with these numbers, one record per column.
    pub fn features(&self, chosen: &[usize]) -> Result<Matrix> {
        match self {
            Self::Ready(data) => Ok(data.features.select_columns(chosen)),
            Self::OnDemand(large) => large.select(chosen).map(|data| data.features),
        }
    }

    /// `count` records from number `first` on, or fewer if there are no more.
    pub fn records(&self, first: usize, count: usize) -> Result<Dataset> {
        let first = first.min(self.len());
        let count = count.min(self.len() - first);
        self.select(&(first..first + count).collect::<Vec<_>>())
    }

    /// Up to `most` records, spread evenly over all.
    pub fn thinned(&self, most: usize) -> Result<Dataset> {
        let step = self.len().div_ceil(most.max(1)).max(1);
        self.select(&(0..self.len()).step_by(step).collect::<Vec<_>>())
    }

    /// Gives these records to `work`, some thousand at a time, each time with the number of the
    /// first.
    pub fn in_blocks(
        &self,
        range: Range<usize>,
        mut work: impl FnMut(usize, &Dataset) -> Result<()>,
    ) -> Result<()> {
        let end = range.end;
        range
            .step_by(BLOCK)
            .try_for_each(|first| work(first, &self.records(first, BLOCK.min(end - first))?))
    }

    /// Whether the records have labels.
    pub fn is_labelled(&self) -> Result<bool> {
        let none = self.records(0, 0)?;
        Ok(none.target.is_some() || none.classes.is_some())
    }

    /// One record of each person, in that person's place.
    #[must_use]
    pub fn one_of_each(&self) -> Self {
        match self {
            Self::Ready(data) => Self::Ready(data.one_of_each()),
            Self::OnDemand(large) => {
                let Some(persons) = &large.persons else { return self.clone() };
                let (places, draw) =
                    (persons.one_of_each(0..persons.count()), Arc::clone(&large.draw));
                Self::on_demand(places.len(), large.dimension, move |chosen| {
                    draw(&chosen.iter().map(|at| places[*at]).collect::<Vec<_>>())
                })
            }
        }
    }

    /// The weight of each record in its person's mean; `None` where records are protected.
    pub fn shares(&self) -> Result<Option<Vec<f64>>> {
        let persons = match self {
            Self::Ready(data) => &data.persons,
            Self::OnDemand(large) => &large.persons,
        };
        let Some(persons) = persons else { return Ok(None) };
        let mut usable = Vec::with_capacity(self.len());
        self.in_blocks(0..self.len(), |_, block| {
            usable.extend(Persons::usable(&block.features));
            Ok(())
        })?;
        Ok(Some(persons.shares_among(usable)))
    }

    /// Whether [`Self::some`] leaves records out.
    pub(super) fn is_more_than(&self, most: usize) -> bool {
        matches!(self, Self::OnDemand(large) if large.records > most)
    }

    /// All records in memory, or up to `most` random ones, which are the same for the same seed.
    pub fn some(&self, most: usize, seed: u64) -> Result<Cow<'_, Dataset>> {
        match self {
            Self::Ready(data) => Ok(Cow::Borrowed(data)),
            Self::OnDemand(large) if large.records <= most => self.records(0, most).map(Cow::Owned),
            Self::OnDemand(large) => {
                let mut generator = ChaCha20Rng::seed_from_u64(seed);
                let chosen = index::sample(&mut generator, large.records, most);
                (large.draw)(&chosen.into_vec()).map(Cow::Owned)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Bounds, Classes};

    const RECORDS: usize = 10;

    /// Records that are ready, and equal ones on demand.
    fn both(persons: Option<Persons>) -> [Supply; 2] {
        let all = Dataset {
            classes: Some(Classes {
                of: (0..RECORDS as u32).map(|at| at % 2).collect(),
                names: vec!["no".to_owned(), "yes".to_owned()],
            }),
            ..Dataset::unlabelled(
                "d",
                Matrix::from_fn(3, RECORDS, |i, j| if j == 4 { 0.0 } else { (10 * i + j) as f64 }),
                Bounds { feature_norm: 1.0, label: 1.0 },
            )
        };
        let (whole, persons) = (all.clone(), persons.map(Arc::new));
        let late = Supply::on_demand(RECORDS, 3, move |rows| Ok(whole.select(rows)));
        [all.into(), late].map(|supply| supply.by_person(persons.clone()))
    }

    #[test]
    fn records_on_demand_are_those_that_would_be_ready() {
        let [ready, late] = both(None);
        assert_eq!((ready.len(), ready.dimension()), (late.len(), late.dimension()));
        assert_eq!(ready.features(&[7, 2]).unwrap(), late.features(&[7, 2]).unwrap());
        assert_eq!(ready.thinned(3).unwrap(), late.thinned(3).unwrap());
        assert_eq!(late.thinned(3).unwrap().len(), 3);
        for (first, count) in [(0, 4), (8, 5), (12, 1)] {
            let records = |supply: &Supply| supply.records(first, count).unwrap();
            assert_eq!(records(&ready), records(&late));
        }
        assert!(ready.is_labelled().unwrap() && late.is_labelled().unwrap());
        assert!(ready.shares().unwrap().is_none() && late.shares().unwrap().is_none());
        assert_eq!(late.one_of_each().len(), RECORDS);
        let some = |seed| late.some(4, seed).unwrap().features.clone();
        assert!(some(1).ncols() == 4 && some(1) == some(1) && some(1) != some(2));
        assert_eq!(ready.some(4, 1).unwrap().len(), RECORDS);
        assert_eq!(ready.some(4, 1).unwrap(), late.some(RECORDS, 1).unwrap());
        assert!(late.is_more_than(4) && !late.is_more_than(10) && !ready.is_more_than(4));
    }

    #[test]
    fn persons_count_alike_whether_their_records_are_ready_or_on_demand() {
        let [ready, late] = both(Some(Persons::of_counts([3, 0, 2, 5])));
        // The second of the third person's records is empty.
        let shares = late.shares().unwrap().unwrap();
        assert_eq!((shares[0], shares[3], shares[4]), (1.0 / 3.0, 1.0, 0.0));
        assert_eq!(ready.shares().unwrap().unwrap(), shares);
        let [ready, late] = [ready.one_of_each(), late.one_of_each()];
        assert_eq!((ready.len(), late.len()), (3, 3));
        assert_eq!(ready.records(0, 3).unwrap(), late.records(0, 3).unwrap());
        assert_eq!(late.features(&[2, 1]).unwrap()[(0, 0)], 5.0);
    }

    #[test]
    fn a_record_that_cannot_be_prepared_stops_a_sum() {
        let broken = Supply::on_demand(2 * BLOCK, 1, |rows| match rows.first() {
            Some(0) => Ok(both(None)[0].records(0, 1)?),
            _ => Err(crate::error::Error::failed("the disk is gone")),
        });
        let mut seen = 0;
        let error = broken.in_blocks(0..broken.len(), |_, block| {
            seen += block.len();
            Ok(())
        });
        assert_eq!((seen, error.unwrap_err().to_string().contains("gone")), (1, true));
    }
}
