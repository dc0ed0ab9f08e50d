//! The model of public data alone. Every private model is compared with it.
//!
//! There is one of a private dataset, its public ones and its hold-out: the model that a run of
//! `public_only` makes, whatever the method of a plan. Many methods take records that are clipped
//! more. For them its public records are prepared when it is first asked for, and dropped when it is
//! trained.

use std::sync::{Arc, Mutex, PoisonError};

use crate::data::{Notes, Preparation, PublicRecords, Table};
use crate::error::Result;
use crate::methods::baselines::public_only;
use crate::model::Model;

/// Public data alone, compared with the models of a plan.
pub(super) struct PublicAlone {
    records: Mutex<TrainingRecords>,
    seed: u64,
    learned: Arc<Learned>,
}

/// The public records that train it.
pub(super) enum TrainingRecords {
    /// Those of the plan.
    OfPlan(PublicRecords),
    /// Rows that are prepared in this way.
    Rows(Box<(Preparation, Table)>),
    /// Dropped, because it is trained.
    Used,
}

/// What was learned of these public records, for all plans that compare with them.
#[derive(Default)]
pub(super) struct Learned {
    pub notes: Notes,
    /// Without a model, once its training has failed.
    model: Mutex<Option<Option<Model>>>,
}

impl PublicAlone {
    pub fn new(records: TrainingRecords, seed: u64, learned: Arc<Learned>) -> Self {
        Self { records: Mutex::new(records), seed, learned }
    }

    /// The model, trained once.
    pub fn model(&self) -> Option<Model> {
        let mut known = self.learned.model.lock().unwrap_or_else(PoisonError::into_inner);
        if known.is_none() {
            *known = Some(self.train().ok());
        }
        *self.records.lock().unwrap_or_else(PoisonError::into_inner) = TrainingRecords::Used;
        known.clone().flatten()
    }

    fn train(&self) -> Result<Model> {
        let public = match &*self.records.lock().unwrap_or_else(PoisonError::into_inner) {
            TrainingRecords::OfPlan(public) => public.clone(),
            TrainingRecords::Rows(rows) => {
                let (preparation, table) = &**rows;
                let public = preparation.apply_public(table, ("public", true), None)?;
                PublicRecords::from(public).noted(&self.learned.notes)
            }
            TrainingRecords::Used => unreachable!("it was trained"),
        };
        // A linear model reads records in parts, where they do not fit into memory.
        public_only::predictor(&public, self.seed).or_else(|_| public_only::linear(&public))
    }
}

impl std::fmt::Debug for PublicAlone {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("PublicAlone(…)")
    }
}
