//! The public records of a problem, with notes computed from them.
//!
//! Every edit of a plan recomputes its cost, and few edits change the records. So facts about all
//! records that a plan needs, such as their largest norm, are noted beside them. A note is made
//! from public records and one setting, by a function that captures nothing, so private records
//! cannot get into it (`tests/whole/boundary.rs` counts the places that ask for notes). Results
//! that take seconds, such as trained trees, are noted too, for all runs and rehearsals on the same
//! records.

use std::any::Any;
use std::cell::Cell;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::{Persons, PublicData};
use crate::error::Result;

/// The number of notes that are kept; the oldest is dropped first.
const MOST: usize = 16;

/// Public records; copies share them and their notes.
#[derive(Clone)]
pub struct PublicRecords {
    data: Arc<PublicData>,
    /// The persons of the records, if the private ones are protected by person and the public ones
    /// also name persons. They show how much a person's records have in common.
    persons: Option<Arc<Persons>>,
    datasets: Option<Arc<Datasets>>,
    notes: Notes,
}

/// What was noted of some records; copies share it. It outlives the records.
#[derive(Clone, Default)]
pub struct Notes(Arc<Mutex<Vec<PublicNote>>>);

/// The public datasets from which the records come.
struct Datasets {
    /// The number of the dataset of each record.
    of: Vec<u32>,
    count: usize,
}

struct PublicNote {
    what: &'static str,
    /// The bits of the setting on which it depends.
    setting: u64,
    /// Empty until the work is done; others who ask meanwhile wait for it.
    value: Arc<LearnedValue>,
}

type LearnedValue = Mutex<Option<Arc<dyn Any + Send + Sync>>>;

impl PublicRecords {
    /// The records without their notes.
    pub fn shared(&self) -> Arc<PublicData> {
        Arc::clone(&self.data)
    }

    /// Groups the records by person.
    pub fn by_person(self, persons: Option<Persons>) -> Self {
        Self { persons: persons.map(Arc::new), ..self }
    }

    /// Shares the notes of the same records, which were prepared before.
    pub fn noted(self, notes: &Notes) -> Self {
        Self { notes: notes.clone(), ..self }
    }

    /// The persons of the records, if known.
    pub fn persons(&self) -> Option<&Persons> {
        self.persons.as_deref()
    }

    /// Notes which of `count` datasets each record is from.
    pub fn of_datasets(self, of: Vec<u32>, count: usize) -> Self {
        Self { datasets: Some(Arc::new(Datasets { of, count })), ..self }
    }

    /// The records of each dataset; one for all if nothing is known.
    pub fn by_dataset(&self) -> Vec<Vec<usize>> {
        let Some(Datasets { of, count }) = self.datasets.as_deref() else {
            return vec![(0..self.data.len()).collect()];
        };
        let mut records = vec![Vec::new(); *count];
        for (record, dataset) in of.iter().enumerate() {
            records[*dataset as usize].push(record);
        }
        records
    }

    /// The result of `work` on the records and `setting`, which is computed once. `what` names it.
    pub fn once<T: Any + Send + Sync + Clone>(
        &self,
        what: &'static str,
        setting: f64,
        work: fn(&PublicData, f64) -> Result<T>,
    ) -> Result<T> {
        let note = self.note(what, setting.to_bits());
        let mut known = SharedTime::waiting(|| note.lock().unwrap_or_else(PoisonError::into_inner));
        if let Some(known) = known.as_ref().and_then(|known| known.downcast_ref::<T>()) {
            return Ok(known.clone());
        }
        let value = SharedTime::learning(|| work(&self.data, setting))?;
        *known = Some(Arc::new(value.clone()));
        Ok(value)
    }

    fn note(&self, what: &'static str, setting: u64) -> Arc<LearnedValue> {
        let mut notes = self.notes.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = notes.iter().find(|note| note.what == what && note.setting == setting);
        if let Some(note) = known {
            return Arc::clone(&note.value);
        }
        if notes.len() == MOST {
            notes.remove(0);
        }
        let value = Arc::<LearnedValue>::default();
        notes.push(PublicNote { what, setting, value: Arc::clone(&value) });
        value
    }
}

/// How long a thread has worked on what several runs share, and waited for others that did.
#[derive(Debug, Clone, Copy, Default)]
pub struct SharedTime {
    pub learned: Duration,
    pub waited: Duration,
}

thread_local! {
    static SHARED: Cell<SharedTime> = const {
        Cell::new(SharedTime { learned: Duration::ZERO, waited: Duration::ZERO })
    };
}

impl SharedTime {
    /// The sums of this thread so far.
    pub fn of_this_thread() -> Self {
        SHARED.get()
    }

    /// Counts the time of `work` as waiting for others.
    pub fn waiting<T>(work: impl FnOnce() -> T) -> T {
        let (start, before) = (Instant::now(), SHARED.get());
        let done = work();
        SHARED.set(Self { waited: before.waited + start.elapsed(), ..before });
        done
    }

    /// The time since an earlier moment.
    pub fn since(self, before: Self) -> Self {
        let [learned, waited] = [
            self.learned.saturating_sub(before.learned),
            self.waited.saturating_sub(before.waited),
        ];
        Self { learned, waited }
    }

    /// Counts the time of `work` as learning, but for what it waits.
    pub fn learning<T>(work: impl FnOnce() -> T) -> T {
        let (start, before) = (Instant::now(), SHARED.get());
        let done = work();
        let waited = SHARED.get().waited;
        let learned = start.elapsed().saturating_sub(waited.saturating_sub(before.waited));
        SHARED.set(Self { learned: before.learned + learned, waited });
        done
    }
}

impl<D: Into<PublicData>> From<D> for PublicRecords {
    fn from(data: D) -> Self {
        Self { data: Arc::new(data.into()), persons: None, datasets: None, notes: Notes::default() }
    }
}

impl std::ops::Deref for PublicRecords {
    type Target = PublicData;

    fn deref(&self) -> &PublicData {
        &self.data
    }
}

impl std::fmt::Debug for PublicRecords {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.data.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;
    use crate::synthetic::{self, SyntheticPart};

    #[test]
    fn waiting_within_learning_counts_as_waiting_and_learning_within_learning_once() {
        let sleep = || std::thread::sleep(Duration::from_millis(20));
        let before = SharedTime::of_this_thread();
        let start = Instant::now();
        SharedTime::learning(|| {
            SharedTime::learning(sleep);
            SharedTime::waiting(sleep);
        });
        let whole = start.elapsed();
        let SharedTime { learned, waited } = SharedTime::of_this_thread().since(before);
        let least = Duration::from_millis(20);
        assert!(learned >= least && waited >= least && learned + waited <= whole);
    }

    #[test]
    fn the_same_is_worked_out_once_for_each_setting_and_a_failure_is_not_kept() {
        let public = synthetic::dataset(SyntheticPart::Source, 30, 2, 0.2, 1).unwrap();
        let records = PublicRecords::from(public);
        let length = |setting: f64| {
            let length = |data: &PublicData, setting: f64| Ok(setting * data.len() as f64);
            records.clone().once("length", setting, length)
        };
        assert_eq!((length(1.0).unwrap(), length(2.0).unwrap()), (30.0, 60.0));
        let again = records.once::<f64>("length", 1.0, |_, _| panic!("worked out twice"));
        assert_eq!(again.unwrap(), 30.0);
        let fails = |_: &PublicData, _: f64| Err::<f64, _>(Error::failed("no"));
        assert!(records.once("width", 0.0, fails).is_err());
        assert_eq!(records.once("width", 0.0, |_, _| Ok(7.0)).unwrap(), 7.0);
        for setting in 0..40 {
            length(f64::from(setting)).unwrap();
        }
        assert_eq!(records.notes.0.lock().unwrap().len(), MOST);
        // The same records, prepared again.
        let again = PublicRecords::from((*records.shared()).clone()).noted(&records.notes);
        let last = again.once::<f64>("length", 39.0, |_, _| panic!("worked out twice"));
        assert_eq!(last.unwrap(), 39.0 * 30.0);
    }
}
