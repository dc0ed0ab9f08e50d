//! The public records of a plan, and what is known about the private ones without looking.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rand::SeedableRng;
use rand::rngs::ChaCha20Rng;
use rand::seq::SliceRandom;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::case::{Case, CaseKind, Differences, FoundCases, Roles, cases};
use super::player::Player;
use super::{ErrorMeasure, RehearsalNoise, Split, Thinning, Trial, Trust};
use crate::data::leaking;
use crate::data::persons::{self, WithoutUnit};
use crate::data::selection::used_columns;
use crate::data::table::{seeded, shuffled};
use crate::data::{
    Column, Dataset, DatasetDefinition, Persons, Preparation, PreparationSettings, PublicRecords,
    SharedTime, Table, Unit,
};
use crate::error::Result;
use crate::evaluation::scoring::ForeseenScore;
use crate::evaluation::{Loss, Pay, Scoring};
use crate::methods::baselines::public_only;
use crate::methods::baselines::reference::{DEFAULT_RIDGE, reference};
use crate::methods::public_predictor::{self, EarlierModel, PublicRows};
use crate::methods::{self, PublicPredictor, Spec};
use crate::privacy::Target;

pub mod sites;

/// More records of either kind take longer without changing the result.
const MOST_PUBLIC: usize = 20_000;
const MOST_ACTING: usize = 10_000;
const MOST_HELD_OUT: usize = 5_000;

/// The number of repetitions of a trial, each with other records and other noise.
const REPETITIONS: u64 = 3;

/// With at most this many acting records, chance decides who trains and who is held out, and a trial is
/// quick. Then there are [`MANY_REPETITIONS`].
const FEW_ACTING: usize = 500;
const MANY_REPETITIONS: u64 = 8;

/// A linear model of so many weights makes trials long, as with images, or with ten classes and 50 columns:
/// the work of a step, of a tree, and of every release grows with columns times classes.
const MANY_WEIGHTS: usize = 500;

/// With wide features, public models take so long to learn in each case that slices play only where
/// there are fewer other cases than these.
const FEWEST_CASES: usize = 3;
/// The number of repetitions of such trials.
const WIDE_REPETITIONS: u64 = 2;

/// The seed of the model of public data alone.
const PUBLIC_SEED: u64 = 0;

/// The largest share of acting records that trains; the others are held out.
const TRAINING_SHARE: f64 = 0.7;

/// The facts about private data that may be used here: declared or public ones.
#[derive(Debug, Clone)]
pub struct Declared {
    /// The number of records or persons, including held-out ones.
    pub rows: usize,
    /// The number of those that a run would train on.
    pub records: usize,
    /// The definition of its columns.
    pub definition: DatasetDefinition,
}

/// The terms of the real run.
#[derive(Debug, Clone)]
pub struct RunTerms {
    pub delta: f64,
    pub epsilons: Vec<f64>,
    pub preparation: PreparationSettings,
    pub seed: u64,
    /// The most public records that the plan uses.
    pub public_records: Option<usize>,
    /// The error of numbers by which the plan is judged.
    pub loss: Loss,
    /// The score that the run releases, and the ε of the whole plan.
    pub score: Option<(Scoring, f64)>,
    /// The public predictors that methods with predictors of their own get, as public data alone do.
    pub given: PublicPredictor,
    /// The finished model that is the plan's public predictor.
    pub earlier: Option<EarlierModel>,
}

impl RunTerms {
    /// The score of a method, with the same part of this ε as in the plan.
    fn score_of(&self, spec: &Spec, epsilon: f64) -> Option<Scoring> {
        let (mut scoring, whole) = self.score.clone()?;
        if scoring.asked.pay == Pay::Covered && !spec.covers_scores {
            return None;
        }
        if let Pay::Epsilon(own) = &mut scoring.asked.pay {
            *own *= epsilon / whole;
        }
        Some(scoring)
    }
}

/// The material of rehearsals.
pub struct RehearsalData {
    table: Table,
    /// The dataset of each row; empty if there is one.
    owners: Vec<u32>,
    /// The number of datasets.
    datasets: usize,
    definition: DatasetDefinition,
    private: Declared,
    pub terms: RunTerms,
    /// The person of each row, where persons play.
    whose: Option<Vec<usize>>,
    pub cases: Vec<Case>,
    /// The number of acting records or persons in each case.
    actors: Vec<usize>,
    /// Cases that were left out, and columns that tell the label, in sentences.
    pub left_out: Vec<String>,
    sets: Vec<Mutex<Option<Arc<Set>>>>,
}

/// A case with its public records prepared.
struct Set {
    plain: Arc<PreparedSide>,
    wide: Arc<PreparedSide>,
    /// The rows of each actor: one row, or all rows of a person.
    acting: Vec<Vec<usize>>,
    /// The public rows, and their datasets.
    rows: (Table, Vec<u32>),
    /// With the scores of public predictors.
    scored: Mutex<Vec<(PublicPredictor, Arc<PreparedSide>)>>,
    /// The errors of public data alone on held-out records, by repetition.
    public_alone: Mutex<BTreeMap<u64, Arc<Vec<f64>>>>,
}

/// The result of one trial.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Played {
    pub loss: f64,
    /// The logarithmic loss of classes, by which methods are chosen: it says more of few records than
    /// wrong answers do. `None` where it is `loss` that chooses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finer: Option<f64>,
    /// What the run's released score would say of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<ForeseenScore>,
}

impl Played {
    pub fn of_loss(loss: f64) -> Self {
        Self { loss, finer: None, score: None }
    }
}

struct PreparedSide {
    preparation: Preparation,
    public: PublicRecords,
}

impl RehearsalData {
    /// `table` has the rows of all public datasets, `definition` the used columns.
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
        let whose = whose(&table, &private)?;
        let features = used_columns(&definition, &table)?;
        let roles = Roles {
            label: &label,
            features: &features,
            unit: private.definition.unit.as_ref().map_or(&[][..], Unit::columns),
            whose: whose.as_deref(),
        };
        let differences = Differences { shifted, means: &private.definition.declared_means };
        let (owners, count) = ((owners, datasets), datasets.len());
        let FoundCases { cases, mut left_out } =
            cases(&table, owners, differences, roles, &preparation)?;
        if let Some(label) = &definition.label {
            left_out.extend(leaking::of_label(&table, &definition, label)?);
        }
        let owners = owners.0.iter().map(|owner| *owner as u32).collect();
        Ok(Self {
            owners,
            datasets: count,
            left_out,
            ..Self::with_cases(table, definition, private, terms, cases)?
        })
    }

    /// The data with given cases.
    pub fn with_cases(
        table: Table,
        definition: DatasetDefinition,
        private: Declared,
        terms: RunTerms,
        cases: Vec<Case>,
    ) -> Result<Self> {
        let sets = cases.iter().map(|_| Mutex::new(None)).collect();
        let whose = whose(&table, &private)?;
        let actors = cases.iter().map(|case| actors_of(case, whose.as_deref())).collect();
        Ok(Self {
            table,
            owners: Vec::new(),
            datasets: 0,
            definition,
            private,
            terms,
            whose,
            cases,
            actors,
            left_out: Vec::new(),
            sets,
        })
    }

    /// The weight of each case, from declarations.
    pub fn trust(&self) -> Trust {
        let Declared { definition, .. } = &self.private;
        Trust::of_declared(&self.table, &self.cases, &definition.declared_means, &definition.name)
    }

    /// How often a trial should be repeated.
    pub fn repetitions(&self) -> u64 {
        if self.has_few_records() { MANY_REPETITIONS } else { REPETITIONS }
    }

    /// Which trials are left out.
    pub fn thinning(&self) -> Thinning {
        match () {
            () if self.is_wide() => Thinning::Wide,
            () if self.has_few_records() => Thinning::Few,
            () => Thinning::Usual,
        }
    }

    /// Whether so few records act that chance decides much, and a trial is quick.
    pub fn has_few_records(&self) -> bool {
        !self.is_wide() && self.cases.iter().all(|case| case.acting.len() <= FEW_ACTING)
    }

    /// Whether a linear model has so many weights that a trial takes long.
    pub fn is_wide(&self) -> bool {
        let width = |column: &Column| match column {
            Column::Vectors(vectors) => vectors.width(),
            _ => 1,
        };
        let features: usize = self.table.columns.iter().map(width).sum();
        // Two classes have one score.
        let scores = match self.definition.classes.len() {
            0..=2 => 1,
            classes => classes,
        };
        features * scores >= MANY_WEIGHTS
    }

    /// The number of cases that play, the first ones, and of repetitions, where a trial takes long.
    pub fn few_of_wide(&self) -> (usize, u64) {
        let slices = self.cases.iter().rev().take_while(|case| case.kind == CaseKind::Slice);
        let others = self.cases.len() - slices.count();
        (others.max(FEWEST_CASES).min(self.cases.len()), WIDE_REPETITIONS)
    }

    /// Whether records are protected by person but the public ones do not identify persons. Then
    /// every one of them plays a person.
    pub fn lacks_persons(&self) -> bool {
        self.private.definition.unit.is_some() && self.whose.is_none()
    }

    /// The number of acting records or persons that train, and the factor for ε that makes noise as
    /// large relative to them as it will be relative to the private ones.
    pub fn scale(&self, case: usize) -> (usize, f64) {
        let most = (TRAINING_SHARE * self.actors[case] as f64) as usize;
        let records = self.private.records.min(most).min(MOST_ACTING);
        (records, self.private.records as f64 / records as f64)
    }

    /// The columns that identify persons, where persons play.
    fn unit(&self) -> Option<&Unit> {
        self.private.definition.unit.as_ref().filter(|_| self.whose.is_some())
    }

    /// These rows one by one, or all of each person together.
    fn each(&self, rows: &[usize]) -> Vec<Vec<usize>> {
        let Some(whose) = &self.whose else { return rows.iter().map(|row| vec![*row]).collect() };
        let mut each: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for row in rows {
            each.entry(whose[*row]).or_default().push(*row);
        }
        each.into_values().collect()
    }

    fn set(&self, case: usize) -> Result<Arc<Set>> {
        let mut known = waited_for(&self.sets[case]);
        if let Some(set) = known.as_ref() {
            return Ok(Arc::clone(set));
        }
        let set = SharedTime::learning(|| self.prepared_set(case))?;
        Ok(Arc::clone(known.insert(Arc::new(set))))
    }

    fn prepared_set(&self, case: usize) -> Result<Set> {
        let Case { acting, public, .. } = &self.cases[case];
        let mut draw = ChaCha20Rng::seed_from_u64(self.terms.seed);
        let all = self.each(public);
        let most = self.terms.public_records.map_or(MOST_PUBLIC, |most| most.min(MOST_PUBLIC));
        let count = with_rows(all.len(), public.len(), most);
        let mut rows = some(all, count, &mut draw).concat();
        // In the order of the file, as in a run.
        rows.sort_unstable();
        let mut table = self.table.excerpt(&rows)?;
        let mut owners: Vec<u32> =
            rows.iter().filter_map(|row| self.owners.get(*row)).copied().collect();
        if let Some(unit) = self.unit() {
            table = persons::by_person(&table, unit, (usize::MAX, WithoutUnit::OwnPerson), None)?;
            // In another order now. Predictors leave persons out instead.
            owners.clear();
        }
        let plain = Preparation::fit(&table, &self.definition, &self.terms.preparation)?;
        let side = |preparation: Preparation| -> Result<PreparedSide> {
            let public = preparation.apply(&table, "public", true)?;
            let public = self.records(public, &table, &owners);
            Ok(PreparedSide { preparation, public })
        };
        let wide = plain.wide(self.terms.preparation.labels);
        let rows = self.public_rows(&table, &owners);
        let given =
            public_predictor::fitted(&self.terms.given, self.terms.earlier.as_ref(), &wide, rows)?;
        let wide = match given {
            None => side(wide)?,
            Some((preparation, scores)) => {
                let public = preparation.apply_scored(&table, "public", true, &scores)?;
                PreparedSide { preparation, public: self.records(public, &table, &owners) }
            }
        };
        let acting = some(self.each(acting), self.actors[case], &mut draw);
        let (plain, wide) = (Arc::new(side(plain)?), Arc::new(wide));
        let (scored, public_alone) = <_>::default();
        Ok(Set { plain, wide, acting, rows: (table, owners), scored, public_alone })
    }

    /// Public records with what is known of them.
    fn records(&self, public: Dataset, table: &Table, owners: &[u32]) -> PublicRecords {
        let public = PublicRecords::from(public).by_person(table.persons.clone());
        if owners.is_empty() { public } else { public.of_datasets(owners.to_vec(), self.datasets) }
    }

    fn public_rows<'a>(&'a self, table: &'a Table, owners: &'a [u32]) -> PublicRows<'a> {
        PublicRows { table, owners, settings: &self.terms.preparation, seed: self.terms.seed }
    }

    /// The public records of a case with the scores of a predictor that was trained on them.
    fn scored(&self, set: &Set, wanted: &PublicPredictor) -> Result<Option<Arc<PreparedSide>>> {
        if wanted.is_none() {
            return Ok(None);
        }
        let mut known = waited_for(&set.scored);
        if let Some((_, side)) = known.iter().find(|(predictor, _)| predictor == wanted) {
            return Ok(Some(Arc::clone(side)));
        }
        let (table, owners) = &set.rows;
        let rows = self.public_rows(table, owners);
        let plain = &set.plain.preparation;
        let Some((preparation, scores)) =
            public_predictor::fitted(wanted, self.terms.earlier.as_ref(), plain, rows)?
        else {
            return Ok(None);
        };
        let public = preparation.apply_scored(table, "public", true, &scores)?;
        let public = self.records(public, table, owners);
        let side = Arc::new(PreparedSide { preparation, public });
        known.push((wanted.clone(), Arc::clone(&side)));
        Ok(Some(side))
    }

    /// The error by which players are compared.
    pub fn measure(&self) -> ErrorMeasure {
        ErrorMeasure::of(self.definition.task, self.terms.loss)
    }

    /// The result of a player in a case, with its `epsilon` if it spends.
    pub fn play(
        &self,
        case: usize,
        player: &Player,
        repetition: u64,
        epsilon: Option<f64>,
    ) -> Result<Played> {
        let set = self.set(case)?;
        let (side, settings) = (self.side(&set, player)?, player.settings().0);
        let (records, factor) = self.scale(case);
        let split = self.split(&set, &side, records, repetition)?;
        let mut score = None;
        let model = match player {
            Player::PublicOnly => public_only::predictor(&split.public, PUBLIC_SEED)?,
            Player::NoPrivacy => reference(&split.private, DEFAULT_RIDGE)?,
            Player::Method { id, .. } => {
                let epsilon = epsilon.unwrap_or(1.0);
                let target = Target { epsilon: epsilon * factor, delta: self.terms.delta };
                let seed = self.noise_seed(case, player, repetition, epsilon);
                let trial = split.trial(id, RehearsalNoise::For(target), seed);
                let scoring = self.terms.score_of(methods::method(id)?.spec(), target.epsilon);
                let tried = Trial { settings, paid: scoring.as_ref(), ..trial }.run_sealed()?;
                if let Some(scoring) = scoring {
                    let alone = self.errors_of_public_alone(&set, records, repetition)?;
                    let errors = (split.errors(&tried.model)?, alone.as_slice());
                    let noise = (&tried.calibrated, factor);
                    score = scoring.foreseen((&errors.0, errors.1), noise);
                }
                tried.model
            }
        };
        let finer = (self.measure() == ErrorMeasure::WrongAnswers)
            .then(|| split.loss(&model, ErrorMeasure::Logarithmic))
            .transpose()?;
        Ok(Played { loss: split.loss(&model, self.measure())?, finer, score })
    }

    /// The records of a case, prepared for this player.
    fn side(&self, set: &Set, player: &Player) -> Result<Arc<PreparedSide>> {
        let wide = match player {
            Player::PublicOnly => true,
            Player::NoPrivacy => false,
            Player::Method { id, .. } => methods::method(id)?.spec().takes_wide_features,
        };
        // Wide features have the scores of predictors already.
        if wide {
            return Ok(Arc::clone(&set.wide));
        }
        let scored = self.scored(set, &player.settings().1)?;
        Ok(scored.unwrap_or_else(|| Arc::clone(&set.plain)))
    }

    /// The errors of public data alone on the held-out records of a repetition.
    fn errors_of_public_alone(
        &self,
        set: &Set,
        records: usize,
        repetition: u64,
    ) -> Result<Arc<Vec<f64>>> {
        let mut known = waited_for(&set.public_alone);
        if let Some(errors) = known.get(&repetition) {
            return Ok(Arc::clone(errors));
        }
        let side = self.side(set, &Player::PublicOnly)?;
        let split = self.split(set, &side, records, repetition)?;
        let errors = Arc::new(split.errors(&public_only::predictor(&split.public, PUBLIC_SEED)?)?);
        known.insert(repetition, Arc::clone(&errors));
        Ok(errors)
    }

    /// A hash of everything that identifies a trial, so that no two share their noise.
    fn noise_seed(&self, case: usize, player: &Player, repetition: u64, epsilon: f64) -> u64 {
        let name = self.cases[case].name();
        let words = format!("{name}\n{}\n{repetition}\n{epsilon}", player.id());
        let digest = Sha256::digest(words);
        digest
            .iter()
            .take(8)
            .fold(self.terms.seed, |seed, byte| seed.rotate_left(8) ^ u64::from(*byte))
    }

    fn split(
        &self,
        set: &Set,
        side: &PreparedSide,
        records: usize,
        repetition: u64,
    ) -> Result<Split> {
        let all = self.shuffled(set, repetition);
        let (trained, evaluating) = all.split_at(records);
        self.split_of(side, trained, evaluating)
    }

    /// The acting records or persons in the order of a repetition.
    fn shuffled(&self, set: &Set, repetition: u64) -> Vec<Vec<usize>> {
        let mut all = set.acting.clone();
        all.shuffle(&mut ChaCha20Rng::seed_from_u64(self.terms.seed ^ (repetition + 1)));
        all
    }

    /// The records of these actors, prepared.
    fn split_of(
        &self,
        side: &PreparedSide,
        trained: &[Vec<usize>],
        evaluating: &[Vec<usize>],
    ) -> Result<Split> {
        let trained: Vec<Vec<usize>> = trained.iter().map(|own| self.used(own)).collect();
        let mut rows = 0;
        let evaluating = evaluating.iter().take_while(|own| {
            let room = rows < MOST_HELD_OUT;
            rows += own.len();
            room
        });
        let evaluating: Vec<Vec<usize>> = evaluating.cloned().collect();
        let persons = |all: &[Vec<usize>]| {
            self.whose.as_ref().map(|_| Arc::new(Persons::of_counts(all.iter().map(Vec::len))))
        };
        let preparation = side.preparation.under(&self.private.definition);
        let private = self.table.excerpt(&trained.concat())?;
        let mut private = preparation.apply_private(&private, "private", true)?;
        private.persons = persons(&trained);
        let held_out = self.table.excerpt(&evaluating.concat())?;
        let mut held_out = side.preparation.apply_for_evaluation(&held_out, "judges")?;
        held_out.persons = persons(&evaluating).filter(|it| it.records() == held_out.len());
        let (public, preparation) = (side.public.clone(), side.preparation.clone());
        Ok(Split { preparation, public, private, held_out })
    }

    /// The records of a person that a run would use, in random order.
    fn used(&self, own: &[usize]) -> Vec<usize> {
        let order = shuffled(own.len(), &mut seeded(own.first().map_or(0, |row| *row as u64)));
        order.iter().take(self.private.definition.most_records()).map(|at| own[*at]).collect()
    }
}

/// What another thread may be working on.
fn waited_for<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    SharedTime::waiting(|| shared.lock().unwrap_or_else(PoisonError::into_inner))
}

/// The person of each row, if private records are protected by person and these rows also name
/// persons.
fn whose(table: &Table, private: &Declared) -> Result<Option<Vec<usize>>> {
    let unit = private.definition.unit.as_ref();
    let Some(unit) = unit.filter(|unit| unit.columns().iter().all(|name| table.has(name))) else {
        return Ok(None);
    };
    let mut whose = vec![0; table.rows()];
    let each = persons::rows_of_each(table, unit, WithoutUnit::OwnPerson)?;
    for (person, rows) in each.into_iter().enumerate() {
        for row in rows {
            whose[row] = person;
        }
    }
    Ok(Some(whose))
}

/// The number of acting records or persons in a case.
fn actors_of(case: &Case, whose: Option<&[usize]>) -> usize {
    let rows = case.acting.len();
    let all = whose.map_or(rows, |whose| case.acting_persons(whose));
    with_rows(all, rows, MOST_ACTING + MOST_HELD_OUT)
}

/// The number of persons with about this many rows together, or all.
fn with_rows(all: usize, rows: usize, most: usize) -> usize {
    if rows > most { (all * most / rows).max(1) } else { all }
}

/// `count` of them, drawn at random, in their order.
fn some<T: Ord>(mut all: Vec<T>, count: usize, draw: &mut ChaCha20Rng) -> Vec<T> {
    if all.len() > count {
        all.shuffle(draw);
        all.truncate(count);
        all.sort_unstable();
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::vectors::{Values, Vectors};
    use crate::data::{Role, Source};

    /// Whoever adds a field has to declare it here: about private data, these hold only their
    /// number and the declarations of the session.
    #[test]
    fn rehearsal_data_are_made_of_public_tables_and_of_what_is_declared() {
        type Sides = (Arc<PreparedSide>, Arc<PreparedSide>);
        type Rows = (Option<Vec<usize>>, Vec<usize>, (Vec<u32>, usize));
        type Whole = (Table, DatasetDefinition, Declared, RunTerms, Vec<Case>, Vec<String>, Rows);
        let _: fn(RehearsalData) -> Whole = |data| {
            let RehearsalData {
                table,
                owners,
                datasets,
                definition,
                private,
                terms,
                whose,
                cases,
                actors,
                left_out,
                sets: _,
            } = data;
            let owners = (owners, datasets);
            (table, definition, private, terms, cases, left_out, (whose, actors, owners))
        };
        let _: fn(Declared) -> (usize, usize, DatasetDefinition) =
            |Declared { rows, records, definition }| (rows, records, definition);
        type Scored = Mutex<Vec<(PublicPredictor, Arc<PreparedSide>)>>;
        type Rest = (Vec<Vec<usize>>, (Table, Vec<u32>), Scored);
        type Alone = Mutex<BTreeMap<u64, Arc<Vec<f64>>>>;
        let _: fn(Set) -> (Sides, Rest, Alone) =
            |Set { plain, wide, acting, rows, scored, public_alone }| {
                ((plain, wide), (acting, rows, scored), public_alone)
            };
        let _: fn(PreparedSide) -> (Preparation, PublicRecords) =
            |PreparedSide { preparation, public }| (preparation, public);
    }

    #[test]
    fn of_wide_records_few_slices_play_and_every_known_difference_does() {
        let data = |width: usize, kinds: &[CaseKind]| {
            let vectors = Vectors::new(width, Values::F64(vec![0.5; 400 * width])).unwrap();
            let labels = (0..400).map(|row| f64::from(row % 10)).collect();
            let columns = vec![Column::Vectors(vectors), Column::Numbers(labels)];
            let names = ["pixel", "label"].map(str::to_owned).to_vec();
            let table = Table::new("t.npz", names, columns, (0..400).collect()).unwrap();
            let source = Source::File("t.npz".to_owned());
            let mut definition = DatasetDefinition::new("t", Role::Public, source);
            definition.classes = (0..10).map(|class| class.to_string()).collect();
            let declared = Declared { rows: 400, records: 300, definition: definition.clone() };
            let terms = RunTerms {
                delta: 1e-6,
                epsilons: vec![1.0],
                preparation: PreparationSettings::default(),
                seed: 1,
                public_records: None,
                loss: Loss::default(),
                score: None,
                given: PublicPredictor::None,
                earlier: None,
            };
            let case = |kind: &CaseKind| Case {
                title: "part".to_owned(),
                kind: *kind,
                acting: (0..100).collect(),
                public: (100..400).collect(),
            };
            let cases = kinds.iter().map(case).collect();
            RehearsalData::with_cases(table, definition, declared, terms, cases).unwrap()
        };
        let (set, slice) = (CaseKind::Dataset, CaseKind::Slice);
        let images = data(784, &[slice; 6]);
        assert!(images.is_wide() && !images.has_few_records(), "a trial takes long");
        assert_eq!(images.few_of_wide(), (3, 2));
        assert_eq!(data(784, &[set, set, set, set, slice, slice]).few_of_wide(), (4, 2));
        assert_eq!(data(784, &[set, slice, slice, slice]).few_of_wide(), (3, 2));
        assert_eq!(data(784, &[set, set]).few_of_wide(), (2, 2));
        assert!(data(64, &[slice; 6]).is_wide(), "ten classes of 64 columns");
        let narrow = data(40, &[slice; 6]);
        assert!(!narrow.is_wide() && narrow.has_few_records());
    }
}
