//! Records prepared for plans, made once and shared.
//!
//! A plan's records depend on its datasets, their preparation and the held-out share, but not on ε
//! or the settings of its method. So they are kept between the previews of a plan, its launches and
//! the tasks of a sweep.
//!
//! *Memory.* A [`PreparedStore`] holds the records of one plan and of one ranking, public and
//! private, each number once: for either at most the size of the datasets in doubles. Private
//! features are on the disk if their table is. Where a method takes narrow records, the public rows
//! are held besides until the model of public data alone is trained, and their wide records while it
//! is. Held-out records are kept once, in the wide form, from which the narrow one follows; a plan
//! with a starting model or a public predictor keeps both. Old records
//! are dropped before others are prepared, and when a dataset is read again
//! ([`PreparedStore::clear`]); work that still uses them keeps them until it ends. Private records
//! of a plan are prepared when the first run asks for them. All private records stay [`Private`].

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::public_alone::{Learned, PublicAlone, in_label_units};
use crate::data::preparation::Judging;
use crate::data::{
    Bounded, Bounds, HeldOut, Persons, Preparation, PreparationSettings, PublicData, PublicRecords,
    SecretOrder, Table,
};
use crate::error::Result;
use crate::evaluation::UsualErrors;
use crate::methods::PublicPredictor;
use crate::methods::baselines::elsewhere::errors_elsewhere;
use crate::privacy::Private;
use crate::privacy::openings::OpenPrivate;
use crate::rank::{Candidate, Supply};
use crate::session::SavedModel;
use crate::session::dataset::ReadingId;

/// The inputs on which the prepared records of a plan depend.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct PlanSource {
    /// The datasets as they were read, the private one first.
    pub datasets: Vec<ReadingId>,
    /// The key of the random choices among the private rows.
    pub order: SecretOrder,
    pub preparation: PreparationSettings,
    pub holdout: f64,
    pub seed: u64,
    /// How many private and public records train, if stated.
    pub counts: (Option<usize>, Option<usize>),
    /// The preparation of the starting model, which needs its own features.
    pub start: Option<Preparation>,
    /// The public predictor, and its finished model.
    pub predictor: PublicPredictor,
    pub earlier: Option<SavedModel>,
    /// Whether the method needs features that are hardly clipped (it bounds its own features of a
    /// record), private records in a random order, and private labels.
    pub needs: (bool, bool, bool),
    /// Whether the public records lack the label of the private ones.
    pub foreign: bool,
}

impl PlanSource {
    /// The source of a plan that makes the model of public data alone. `given` are the public
    /// predictors that it gets.
    pub fn alone(&self, given: PublicPredictor) -> Self {
        let earlier = self.earlier.clone().filter(|_| given.model().is_some());
        let (counts, needs) = ((None, self.counts.1), (true, false, false));
        Self { counts, needs, start: None, predictor: given, earlier, ..self.clone() }
    }
}

/// The records of a plan.
pub(super) struct PreparedRecords {
    pub preparation: Preparation,
    /// How records that judge models are prepared.
    pub judging: Judging,
    /// Public data alone, if the plan's models are compared with them.
    pub alone: Option<Arc<PublicAlone>>,
    /// Columns of the public records that are used.
    pub used: Vec<String>,
    pub public: PublicRecords,
    pub public_holdout: Arc<PublicData>,
    /// Warnings about columns that almost give the label away.
    pub leaking: Vec<String>,
    /// By what public records exceed the bounds, in words.
    pub clipping: String,
    /// A note on columns whose rarer value is clipped.
    pub rare_values: Option<String>,
    /// Made when the first run asks for them.
    pub private: Mutex<Option<PrivateRecords>>,
}

/// Private records in training, and the held-out ones if they have labels.
pub(super) struct PrivateRecords {
    pub train: Private<Bounded>,
    pub holdout: Option<Private<HeldOut>>,
    /// The held-out records that a released score uses: one record of each person.
    pub scored: Option<Private<HeldOut>>,
}

impl PrivateRecords {
    /// More handles on the same records.
    fn share(&self) -> Self {
        let share = |records: &Option<Private<HeldOut>>| records.as_ref().map(Private::share);
        Self {
            train: self.train.share(),
            holdout: share(&self.holdout),
            scored: share(&self.scored),
        }
    }
}

/// Which private records or persons are in training, which are held out, and whether they have
/// labels.
pub(super) struct PrivateRows {
    pub train: Vec<usize>,
    pub holdout: Option<Vec<usize>>,
    pub with_label: bool,
    /// Whether these are numbers of persons, each with possibly several rows.
    pub by_person: bool,
}

impl PreparedRecords {
    /// Errors on public records of another domain, in units of the label.
    pub fn usual(&self) -> Option<UsualErrors> {
        let of_plan = || in_label_units(&self.preparation, errors_elsewhere(&self.public));
        self.alone.as_ref()?.usual(of_plan)
    }

    /// Whether the private records are prepared.
    pub fn has_private(&self) -> bool {
        lock(&self.private).is_some()
    }

    /// The private rows of `table`, prepared with `preparation`.
    pub fn private(
        &self,
        table: &Private<Table>,
        (preparation, judging): (&Preparation, &Judging),
        rows: impl FnOnce() -> Result<PrivateRows>,
    ) -> Result<PrivateRecords> {
        let mut private = lock(&self.private);
        if let Some(known) = &*private {
            return Ok(known.share());
        }
        let PrivateRows { train: in_training, holdout, with_label, by_person } = rows()?;
        let bounds = self.public.bounds;
        let train = table.try_map(|table| {
            let chosen = table.persons.as_ref().map(|persons| persons.chosen(&in_training));
            let rows = chosen.as_ref().map_or(&in_training, |(rows, _)| rows);
            let asked = ("private", with_label);
            let train = preparation.bounded_private_rows(table, rows, asked, bounds)?;
            Ok(train.by_person(chosen.map(|(_, persons)| Arc::new(persons))))
        })?;
        // The numbers of many rows take room.
        drop(in_training);
        let held_out = |rows_of: &(dyn Fn(&Persons, &[usize]) -> Vec<usize> + Sync)| {
            let prepared = holdout.as_ref().map(|rows| {
                table.try_map(|table| {
                    let own = table.persons.as_ref().map(|persons| rows_of(persons, rows));
                    let (rows, name) = (own.as_ref().unwrap_or(rows), "private hold-out");
                    judging.private_rows(table, rows, name)
                })
            });
            prepared.transpose()
        };
        let one = |persons: &Persons, chosen: &[usize]| persons.one_of_each(chosen.iter().copied());
        let holdout_of_all = held_out(&|persons, chosen| persons.chosen(chosen).0)?;
        let scored =
            if by_person { held_out(&one)? } else { holdout_of_all.as_ref().map(Private::share) };
        let made = PrivateRecords { train, holdout: holdout_of_all, scored };
        Ok(private.insert(made).share())
    }
}

/// The inputs on which the prepared records of a ranking depend.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct RankingSource {
    /// The private dataset, and the public ones that are loaded.
    pub datasets: Vec<ReadingId>,
    pub preparation: PreparationSettings,
    pub resize: bool,
}

/// The records of a ranking.
pub(super) struct RankingRecords {
    pub candidates: Vec<Candidate>,
    pub private: Private<Supply>,
    pub bounds: Bounds,
    pub dimension: usize,
    /// The number of classes, if labels are classes.
    pub classes: Option<usize>,
    /// The width of the range of labels in their own units, if they are numbers.
    pub label_range: Option<f64>,
    pub remark: Option<String>,
    /// The constants that turn rows into features: public ones.
    pub preparation: Preparation,
}

/// Keeps prepared records for later requests. Copies share them.
#[derive(Clone, Default)]
pub struct PreparedStore {
    pub(super) plan: Arc<Last<PlanSource, PreparedRecords>>,
    /// What public data alone have learned.
    pub(super) alone: Arc<Last<PlanSource, Learned>>,
    pub(super) ranking: Arc<Last<RankingSource, RankingRecords>>,
}

impl PreparedStore {
    /// A store for another plan, whose records would replace those of this one.
    pub(super) fn apart(&self) -> Self {
        Self { alone: Arc::clone(&self.alone), ..Self::default() }
    }

    /// Drops its contents without waiting.
    pub fn clear(&self) {
        self.plan.clear();
        self.alone.clear();
        self.ranking.clear();
    }
}

impl std::fmt::Debug for PreparedStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("PreparedStore(…)")
    }
}

/// The last records that were prepared, with their source.
pub(super) struct Last<S, T> {
    kept: Mutex<Option<(S, Arc<T>)>>,
    /// Held while somebody prepares: the next one may then find the wanted records.
    turn: Mutex<()>,
}

impl<S, T> Default for Last<S, T> {
    fn default() -> Self {
        Self { kept: Mutex::default(), turn: Mutex::default() }
    }
}

impl<S: PartialEq, T> Last<S, T> {
    /// The records from this source: the last ones if they fit, otherwise those that `prepare`
    /// makes.
    pub fn get(&self, source: S, prepare: impl FnOnce() -> Result<T>) -> Result<Arc<T>> {
        let _turn = lock(&self.turn);
        {
            let mut kept = lock(&self.kept);
            if let Some((_, records)) = kept.as_ref().filter(|(known, _)| *known == source) {
                return Ok(Arc::clone(records));
            }
            *kept = None;
        }
        let records = Arc::new(prepare()?);
        *lock(&self.kept) = Some((source, Arc::clone(&records)));
        Ok(records)
    }

    fn clear(&self) {
        *lock(&self.kept) = None;
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
