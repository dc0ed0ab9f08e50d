//! The public records of a plan, and what is known of the private ones without looking.

use std::sync::{Arc, Mutex, PoisonError};

use rand::SeedableRng;
use rand::rngs::ChaCha20Rng;
use rand::seq::SliceRandom;
use sha2::{Digest, Sha256};

use super::player::Player;
use super::scene::{Cast, Differences, Scene, scenes};
use super::{RehearsalNoise, Split, Trial, Trust};
use crate::adapt;
use crate::adapt::baselines::reference::{DEFAULT_RIDGE, reference};
use crate::adapt::labelled::public_shape;
use crate::data::{DatasetDefinition, Preparation, PreparationSettings, PublicRecords, Table};
use crate::error::Result;
use crate::evaluation::{Pay, Scoring};
use crate::privacy::Target;

/// More records of either kind take longer and say the same.
const MOST_PUBLIC: usize = 20_000;
const MOST_ACTING: usize = 10_000;
const MOST_JUDGES: usize = 5_000;

/// Repetitions of a trial, each with other records and other noise.
const REPETITIONS: u64 = 3;

/// With at most so many acting records it is chance who trains and who judges, and a trial takes
/// no time: then there are [`MANY_REPETITIONS`].
const FEW_ACTING: usize = 500;
const MANY_REPETITIONS: u64 = 8;

/// The largest share of acting records that trains; the others judge.
const TRAINING_SHARE: f64 = 0.7;

/// What may be known of private data here: what is declared or public anyway.
#[derive(Debug, Clone)]
pub struct Declared {
    /// How many there are, held-out ones included.
    pub rows: usize,
    /// How many records a run would train on.
    pub records: usize,
    /// How its columns are to be read.
    pub definition: DatasetDefinition,
}

/// What the real run would be asked for.
#[derive(Debug, Clone)]
pub struct RunTerms {
    pub delta: f64,
    pub epsilons: Vec<f64>,
    pub preparation: PreparationSettings,
    pub seed: u64,
    /// The plan takes so many public records at most.
    pub public_records: Option<usize>,
    /// A released score that takes a part of the budget, and the ε of the whole plan.
    pub paid: Option<(Scoring, f64)>,
}

impl RunTerms {
    /// The score as it is paid for in a run of this ε: the same part of it as in the plan.
    fn paid(&self, epsilon: f64) -> Option<Scoring> {
        let (mut scoring, whole) = self.paid.clone()?;
        if let Pay::Epsilon(own) = &mut scoring.asked.pay {
            *own *= epsilon / whole;
        }
        Some(scoring)
    }
}

/// Everything that rehearsals are made of.
pub struct Stage {
    table: Table,
    definition: DatasetDefinition,
    private: Declared,
    terms: RunTerms,
    scenes: Vec<Scene>,
    /// Who could have played and does not, in sentences.
    left_out: Vec<String>,
    sets: Vec<Mutex<Option<Arc<Set>>>>,
}

/// A scene with its public records prepared.
struct Set {
    plain: StageSide,
    wide: StageSide,
    /// Rows of the acting records.
    acting: Vec<usize>,
}

struct StageSide {
    preparation: Preparation,
    public: PublicRecords,
}

impl std::fmt::Debug for Stage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Stage").field("scenes", &self.scenes.len()).finish_non_exhaustive()
    }
}

impl Stage {
    /// `table` has the rows of all public datasets, `definition` says which columns are used.
    pub fn new(
        table: Table,
        definition: DatasetDefinition,
        private: Declared,
        terms: RunTerms,
        (owners, datasets): (&[usize], &[String]),
        shifted: &[String],
    ) -> Result<Self> {
        let preparation = Preparation::fit(&table, &definition, &terms.preparation)?;
        let label = definition.label.clone().unwrap_or_default();
        let differences = Differences { shifted, means: &private.definition.declared_means };
        let owners = (owners, datasets);
        let Cast { scenes, left_out } = scenes(&table, owners, differences, &label, &preparation)?;
        Ok(Self { left_out, ..Self::with_scenes(table, definition, private, terms, scenes) })
    }

    /// The same with scenes of one's own.
    pub fn with_scenes(
        table: Table,
        definition: DatasetDefinition,
        private: Declared,
        terms: RunTerms,
        scenes: Vec<Scene>,
    ) -> Self {
        let sets = scenes.iter().map(|_| Mutex::new(None)).collect();
        Self { table, definition, private, terms, scenes, left_out: Vec::new(), sets }
    }

    pub fn scenes(&self) -> &[Scene] {
        &self.scenes
    }

    pub fn left_out(&self) -> &[String] {
        &self.left_out
    }

    pub fn terms(&self) -> &RunTerms {
        &self.terms
    }

    /// How much each scene counts, by what is declared.
    pub fn trust(&self) -> Trust {
        let Declared { definition, .. } = &self.private;
        Trust::of_declared(&self.table, &self.scenes, &definition.declared_means, &definition.name)
    }

    /// How often a trial is to be repeated.
    pub fn repetitions(&self) -> u64 {
        let few = self.scenes.iter().all(|scene| scene.acting.len() <= FEW_ACTING);
        if few { MANY_REPETITIONS } else { REPETITIONS }
    }

    /// How many acting records train, and how much ε must grow so that noise is as large,
    /// beside them, as it will be beside the private ones.
    pub fn scale(&self, scene: usize) -> (usize, f64) {
        let acting = self.scenes[scene].acting.len().min(MOST_ACTING + MOST_JUDGES);
        let most = (TRAINING_SHARE * acting as f64) as usize;
        let records = self.private.records.min(most).min(MOST_ACTING);
        (records, self.private.records as f64 / records as f64)
    }

    fn set(&self, scene: usize) -> Result<Arc<Set>> {
        let mut known = self.sets[scene].lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(set) = known.as_ref() {
            return Ok(Arc::clone(set));
        }
        let Scene { acting, public, .. } = &self.scenes[scene];
        let mut draw = ChaCha20Rng::seed_from_u64(self.terms.seed);
        let mut some = |rows: &[usize], most: usize| {
            let mut rows = rows.to_vec();
            if rows.len() > most {
                rows.shuffle(&mut draw);
                rows.truncate(most);
                rows.sort_unstable();
            }
            rows
        };
        let most = self.terms.public_records.map_or(MOST_PUBLIC, |most| most.min(MOST_PUBLIC));
        let table = self.table.excerpt(&some(public, most));
        let plain = Preparation::fit(&table, &self.definition, &self.terms.preparation)?;
        let side = |preparation: Preparation| -> Result<StageSide> {
            let public = preparation.apply(&table, "public", true)?.into();
            Ok(StageSide { preparation, public })
        };
        let wide = side(plain.wide())?;
        let set =
            Set { plain: side(plain)?, wide, acting: some(acting, MOST_ACTING + MOST_JUDGES) };
        Ok(Arc::clone(known.insert(Arc::new(set))))
    }

    /// The loss of a player in a scene; `epsilon` where it spends.
    pub fn play(
        &self,
        scene: usize,
        player: &Player,
        repetition: u64,
        epsilon: Option<f64>,
    ) -> Result<f64> {
        let set = self.set(scene)?;
        let wide = match player {
            Player::PublicOnly => set.wide.public.dimension() <= public_shape::MOST_FEATURES,
            Player::NoPrivacy => false,
            Player::Method { id, .. } => adapt::method(id)?.takes_wide_features(),
        };
        let side = if wide { &set.wide } else { &set.plain };
        let (records, factor) = self.scale(scene);
        let split = self.split(&set, side, records, repetition)?;
        let model = match player {
            Player::PublicOnly if wide => public_shape::public_model(&split.problem())?,
            Player::PublicOnly => reference(&split.public, DEFAULT_RIDGE)?,
            Player::NoPrivacy => reference(&split.private, DEFAULT_RIDGE)?,
            Player::Method { id, settings } => {
                let epsilon = epsilon.unwrap_or(1.0);
                let target = Target { epsilon: epsilon * factor, delta: self.terms.delta };
                let seed = self.noise_seed(scene, player, repetition, epsilon);
                let trial = split.trial(id, RehearsalNoise::For(target), seed);
                let paid = self.terms.paid(target.epsilon);
                let settings = settings.clone();
                Trial { settings, paid: paid.as_ref(), ..trial }.run_sealed()?.model
            }
        };
        split.loss(&model)
    }

    /// A hash of all that tells trials apart, so that no two share their noise.
    fn noise_seed(&self, scene: usize, player: &Player, repetition: u64, epsilon: f64) -> u64 {
        let name = self.scenes[scene].name();
        let words = format!("{name}\n{}\n{repetition}\n{epsilon}", player.id());
        let digest = Sha256::digest(words);
        digest
            .iter()
            .take(8)
            .fold(self.terms.seed, |seed, byte| seed.rotate_left(8) ^ u64::from(*byte))
    }

    fn split(&self, set: &Set, side: &StageSide, records: usize, repetition: u64) -> Result<Split> {
        let mut rows = set.acting.clone();
        rows.shuffle(&mut ChaCha20Rng::seed_from_u64(self.terms.seed ^ (repetition + 1)));
        let (trained, judging) = rows.split_at(records);
        let judging = &judging[..judging.len().min(MOST_JUDGES)];
        let private = side.preparation.under(&self.private.definition);
        Ok(Split {
            public: side.public.clone(),
            private: private.apply_private(&self.table.excerpt(trained), "private", true)?,
            judges: side
                .preparation
                .apply_for_evaluation(&self.table.excerpt(judging), "judges")?,
            preparation: side.preparation.clone(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whoever adds something has to say here what it is: of private data a stage holds how many
    /// there are, and what the session declares.
    #[test]
    fn a_stage_is_made_of_public_tables_and_of_what_is_declared() {
        type Whole = (Table, DatasetDefinition, Declared, RunTerms, Vec<Scene>, Vec<String>);
        let _: fn(Stage) -> Whole = |stage| {
            let Stage { table, definition, private, terms, scenes, left_out, sets: _ } = stage;
            (table, definition, private, terms, scenes, left_out)
        };
        let _: fn(Declared) -> (usize, usize, DatasetDefinition) =
            |Declared { rows, records, definition }| (rows, records, definition);
        let _: fn(Set) -> (StageSide, StageSide, Vec<usize>) =
            |Set { plain, wide, acting }| (plain, wide, acting);
        let _: fn(StageSide) -> (Preparation, PublicRecords) =
            |StageSide { preparation, public }| (preparation, public);
    }
}
