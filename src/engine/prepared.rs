//! Records prepared for plans, made once for all that ask.
//!
//! A plan's records depend on its datasets, on how they are prepared and on what is held out;
//! its ε and the settings of its method do not. So they are kept between the previews of a plan,
//! its launches and the tasks of a sweep.
//!
//! *Memory.* A [`PreparedStore`] holds the records of one plan, public and private, each number
//! once: at most as much as the datasets themselves in doubles. What was there is dropped before
//! others are prepared, and when a dataset is read again ([`PreparedStore::clear`]); a run that
//! still works on it keeps it until it ends. Private records are prepared when the first run
//! asks for them, and stay [`Private`].

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::adapt::PublicRecords;
use crate::data::{Bounded, Dataset, Preparation, PreparationSettings, Table};
use crate::error::Result;
use crate::privacy::Private;
use crate::session::dataset::ReadingId;

/// What the prepared records of a plan depend on.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Source {
    /// The datasets as they were read, the private one first.
    pub datasets: Vec<ReadingId>,
    pub preparation: PreparationSettings,
    pub holdout: f64,
    pub seed: u64,
    /// The model that training starts from knows features as they were prepared for it.
    pub start: Option<Preparation>,
    /// The method bounds what it makes of a record itself.
    pub wide: bool,
    /// The public records have no label of the private ones.
    pub foreign: bool,
    /// The method learns from private labels.
    pub with_label: bool,
}

/// The records of a plan.
pub(super) struct PreparedRecords {
    pub preparation: Preparation,
    /// Columns of the public records that are used.
    pub used: Vec<String>,
    pub public: PublicRecords,
    pub public_holdout: Arc<Dataset>,
    private: Mutex<Option<PrivateRecords>>,
}

/// Private records in training, and those held out of it where they have labels.
pub(super) struct PrivateRecords {
    pub train: Private<Bounded>,
    pub holdout: Option<Private<Dataset>>,
}

impl PrivateRecords {
    /// Further handles on the same records.
    fn share(&self) -> Self {
        Self { train: self.train.share(), holdout: self.holdout.as_ref().map(Private::share) }
    }
}

/// Which private rows are in training, which are held out, and whether they have labels.
pub(super) struct PrivateRows {
    pub train: Vec<usize>,
    pub holdout: Option<Vec<usize>>,
    pub with_label: bool,
}

impl PreparedRecords {
    pub fn new(
        preparation: Preparation,
        used: Vec<String>,
        public: Dataset,
        public_holdout: Dataset,
    ) -> Self {
        let (public, public_holdout) = (public.into(), Arc::new(public_holdout));
        Self { preparation, used, public, public_holdout, private: Mutex::default() }
    }

    /// The private rows of `table` as `preparation` makes them.
    pub fn private(
        &self,
        table: &Private<Table>,
        preparation: &Preparation,
        rows: impl FnOnce() -> Result<PrivateRows>,
    ) -> Result<PrivateRecords> {
        let mut private = lock(&self.private);
        if let Some(known) = &*private {
            return Ok(known.share());
        }
        let PrivateRows { train, holdout, with_label } = rows()?;
        let bounds = self.public.bounds;
        let train = table.try_map(|table| {
            let train = preparation.apply_to_private_rows(table, &train, "private", with_label)?;
            Ok(Bounded::within(train, bounds))
        })?;
        let holdout = holdout.map(|rows| {
            table.try_map(|table| {
                preparation.apply_to_private_rows_for_evaluation(table, &rows, "private hold-out")
            })
        });
        let made = PrivateRecords { train, holdout: holdout.transpose()? };
        Ok(private.insert(made).share())
    }
}

/// Where the prepared records of the last plan wait for whoever asks for the same. Copies share
/// them.
#[derive(Clone, Default)]
pub struct PreparedStore {
    last: Arc<Mutex<Option<Kept>>>,
    /// Held by who prepares: the next one may find what it wants then.
    turn: Arc<Mutex<()>>,
}

struct Kept {
    source: Source,
    records: Arc<PreparedRecords>,
}

impl PreparedStore {
    /// The records from this source: the last ones, or those that `prepare` makes.
    pub(super) fn get(
        &self,
        source: Source,
        prepare: impl FnOnce() -> Result<PreparedRecords>,
    ) -> Result<Arc<PreparedRecords>> {
        let _turn = lock(&self.turn);
        {
            let mut last = lock(&self.last);
            if let Some(kept) = last.as_ref().filter(|kept| kept.source == source) {
                return Ok(Arc::clone(&kept.records));
            }
            *last = None;
        }
        let records = Arc::new(prepare()?);
        *lock(&self.last) = Some(Kept { source, records: Arc::clone(&records) });
        Ok(records)
    }

    /// Drops what it holds, and waits for nobody.
    pub fn clear(&self) {
        *lock(&self.last) = None;
    }
}

impl std::fmt::Debug for PreparedStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("PreparedStore(…)")
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
