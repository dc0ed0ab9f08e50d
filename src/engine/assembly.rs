//! Turns a plan and its loaded datasets into a problem with its noise. No noise is drawn here and
//! nothing is written. The Plan screen uses this for its cost panel, a job for its start.

use super::job::named;
use super::overlap;
use super::prepared::{PlanSource, PreparedRecords, PreparedStore, PrivateRecords, PrivateRows};
use super::public_alone::{Learned, PublicAlone, ShownRows, TrainingRecords};
use super::score::Test;
use crate::data::declared::declared_classes;
use crate::data::extraction::Extraction;
use crate::data::leaking;
use crate::data::names::shortened;
use crate::data::persons::{self, WithoutUnit};
use crate::data::preparation::{
    FeatureScaling, Judging, LabelRange, PreparationSettings, class_names, classes_of,
};
use crate::data::selection::{resolved, used_columns};
use crate::data::table::{seeded, shuffled};
use crate::data::{
    Bounded, Column, Columns, Compatibility, DatasetDefinition, Guessed, HeldOut, Missing,
    Preparation, PublicData, PublicRecords, RowChoice, SecretOrder, Table, Task, Unit,
};
use crate::error::{Error, Result};
use crate::evaluation::Evaluation;
use crate::evaluation::scoring::Scoring;
use crate::faults::{Fault, planted};
use crate::methods::baselines::elsewhere;
use crate::methods::baselines::reference::is_quick;
use crate::methods::public_predictor::{self, EarlierModel, PublicRows};
use crate::methods::{
    self, JointShape, Method, Prepared, Problem, ProblemShape, PublicPredictor, StartingModel,
};
use crate::model::Model;
use crate::privacy::ledger::delta;
use crate::privacy::openings::OpenPrivate;
use crate::privacy::{Calibrated, Private, Target};
use crate::session::certificate::TakenAsPublic;
use crate::session::{Lineage, Loaded, PlanDefinition, SavedModel, Session};
use std::collections::{BTreeSet, HashSet};
use std::path::Path;
use std::sync::{Arc, Mutex};

/// The other ε of [`Proposal::noise_by_epsilon`], as multiples of the plan's.
const MULTIPLES: [f64; 9] = [0.125, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0];

/// A plan with its noise: everything that is known before private records are prepared.
pub struct Proposal {
    pub method: &'static Method,
    pub problem: Problem,
    pub prepared: Prepared,
    pub calibrated: Calibrated,
    /// The score of held-out records that the run will release.
    pub scoring: Option<Scoring>,
    /// The score of a test dataset.
    pub test: Option<Test>,
    /// The dependencies of the model that training starts from.
    pub lineage: Option<Lineage>,
    pub taken_as_public: TakenAsPublic,
    pub warnings: Vec<String>,
    /// For the private records.
    pub preparation: Preparation,
    /// For the private records that judge models.
    pub judging: Judging,
    /// The public records that evaluate models.
    pub public_holdout: Arc<PublicData>,
    records: Arc<PreparedRecords>,
}

/// Everything a run needs before the ledger is asked.
pub struct Assembly {
    pub proposal: Proposal,
    pub private: Private<Bounded>,
    /// Absent if the private records have no label.
    pub private_holdout: Option<Private<HeldOut>>,
    /// The part of it that a released score uses: one record of each person.
    pub private_scored: Option<Private<HeldOut>>,
}

impl std::fmt::Debug for Assembly {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Assembly")
            .field("prepared", &self.proposal.prepared)
            .finish_non_exhaustive()
    }
}

/// A warning if it is unknown whether the same persons are on both sides.
fn other_names(private: &Loaded, publics: &[&Loaded]) -> Result<Option<String>> {
    let Some(unit) = &private.definition.unit else { return Ok(None) };
    for public in publics {
        let table = public.public()?;
        let differs = |name: &&String| {
            let own = private.columns.iter().find(|column| column.name == **name);
            let theirs = table.column(name).ok().map(Column::is_mostly_numbers);
            theirs.is_some() && theirs != own.map(|column| column.numeric)
        };
        if let Some(column) = unit.columns().iter().find(differs) {
            return Ok(Some(format!(
                "'{column}' is mostly numbers in one of '{}' and '{}' and mostly text in the other, \
                 so it cannot be checked whether a person has records in both",
                private.definition.name, public.definition.name
            )));
        }
    }
    Ok(None)
}

const NOTHING_HELD_OUT: &str = "no private record is held out, so the run cannot show how good the \
    model is on private records; `halflight score RUN TABLE` scores it on others";

/// Independent streams from one public seed.
const PUBLIC_SPLIT: u64 = 0;
const PUBLIC_PART: u64 = 2;
const PREDICTOR: u64 = 4;
/// The least share of public records that only measures the progress of training.
const LEAST_PUBLIC: f64 = 0.05;

/// The datasets of a plan. According to their definitions they fit its method.
struct Parts<'a> {
    private: &'a Loaded,
    publics: Vec<&'a Loaded>,
    method: &'static Method,
    /// Whether the public records lack the label of the private ones.
    foreign: bool,
}

/// Prepares everything for a run; records in `store` are not prepared again.
pub fn assemble(
    session: &Session,
    plan: &PlanDefinition,
    loaded: &[&Loaded],
    store: &PreparedStore,
) -> Result<Assembly> {
    propose(session, plan, loaded, store)?.assemble(plan, named(loaded, &plan.private)?)
}

/// What is known of errors before a score of the private records is released.
pub(super) struct ScoredByPublic<'a> {
    classes: usize,
    /// Whether the public records have the private label.
    pub comparable: bool,
    /// The declared range of the label.
    labels: LabelRange,
    builds_on_a_model: bool,
    /// Whether the plan's model is public data alone, which is compared with nothing.
    public_only: bool,
    records: &'a PreparedRecords,
}

impl<'a> ScoredByPublic<'a> {
    fn of(records: &'a PreparedRecords, plan: &PlanDefinition) -> Self {
        let classes = records.preparation.class_names().len();
        let comparable = records.alone.is_some();
        let builds_on_a_model = plan.public_predictor.builds_on().is_some();
        let labels = plan.preparation.labels;
        let public_only = !plan.player().spends();
        Self { classes, comparable, labels, builds_on_a_model, public_only, records }
    }

    /// A score of `rows` private records.
    pub fn scoring(
        &self,
        asked: Evaluation,
        private: &DatasetDefinition,
        rows: usize,
    ) -> Result<Scoring> {
        let scoring = Scoring::of(asked, private, rows, self.classes, self.comparable)?;
        let mut scoring = Scoring { builds_on_a_model: self.builds_on_a_model, ..scoring };
        // A second error would only take precision from the first.
        scoring.tally.compared &= !self.public_only;
        let beside = |scoring: Scoring| {
            let label = |raw| self.records.preparation.label_from_prediction(raw);
            if self.comparable {
                scoring.beside_constant(&self.records.public, label)
            } else {
                scoring
            }
        };
        if self.classes > 0 {
            return Ok(beside(scoring));
        }
        let bound = match self.labels {
            LabelRange::Declared(low, high) => Some(high - low),
            LabelRange::Public => None,
        };
        let usual = self.records.usual();
        scoring.knowing(usual, bound).map(beside)
    }
}

impl Proposal {
    /// Warnings about columns that almost give the label away, from public records.
    pub fn leaking(&self) -> &[String] {
        &self.records.leaking
    }

    /// The noise of one draw in proportion to its signal, at the plan's and other ε.
    pub fn noise_by_epsilon(&self, target: Target) -> Vec<(f64, f64)> {
        let plan = self.prepared.plan();
        if plan.releases.is_empty() {
            return Vec::new();
        }
        let at = |multiple: f64| {
            let target = Target { epsilon: multiple * target.epsilon, ..target };
            let noise = match &self.scoring {
                Some(scoring) => scoring.calibrate(&plan.releases, target),
                None => plan.calibrate(target),
            };
            Some((target.epsilon, plan.noise_to_signal(&noise.ok()?).ok()?))
        };
        MULTIPLES.into_iter().filter_map(at).collect()
    }

    /// What is known of errors under this plan.
    pub(super) fn scored_by_public(&self, plan: &PlanDefinition) -> ScoredByPublic<'_> {
        ScoredByPublic::of(&self.records, plan)
    }

    /// Public data alone, with which the plan's models are compared. They are not compared with
    /// themselves.
    pub(super) fn public_alone(&self) -> Option<&Arc<PublicAlone>> {
        self.records.alone.as_ref().filter(|_| !self.method.spec().public_only)
    }

    /// Whether the private records are prepared already.
    pub(super) fn has_private_records(&self) -> bool {
        self.records.has_private()
    }

    /// Prepares the private records of the plan.
    pub(super) fn assemble(self, plan: &PlanDefinition, private: &Loaded) -> Result<Assembly> {
        let (method, shape) = (self.method, &self.problem.shape);
        let with_label = shape.private_labels && method.spec().needs_private_labels;
        let order = order_of(private)?;
        let rows = || {
            let known = planted(Fault::SplitByPlace).then_some(SecretOrder::KNOWN);
            let split = known.unwrap_or(order).generator(RowChoice::HeldOut, plan.seed);
            let (train, holdout) = Table::split_rows(private.rows, plan.holdout, split)
                .map_err(|error| error.at(private.definition.name.clone()))?;
            let mut train = train;
            if let Some(count) = plan.private_records {
                let part = order.generator(RowChoice::Training, plan.seed);
                train = Table::some_of(&train, count, part);
            }
            if method.spec().releases_each_record {
                let mut places = order.generator(RowChoice::Places, plan.seed);
                train =
                    shuffled(train.len(), &mut places).into_iter().map(|at| train[at]).collect();
            }
            let tests = shape.private_labels && !holdout.is_empty();
            let holdout = tests.then_some(holdout);
            let by_person = private.definition.unit.is_some();
            Ok(PrivateRows { train, holdout, with_label, by_person })
        };
        let own =
            self.records.private(private.private()?, (&self.preparation, &self.judging), rows)?;
        let PrivateRecords { train: private, holdout: private_holdout, scored: private_scored } =
            own;
        Ok(Assembly { proposal: self, private, private_holdout, private_scored })
    }
}

/// What a plan would release, and with which noise. It looks at the private rows only to see
/// whether they can be used.
pub fn propose(
    session: &Session,
    plan: &PlanDefinition,
    loaded: &[&Loaded],
    store: &PreparedStore,
) -> Result<Proposal> {
    propose_for(session, plan, loaded, store, None)
}

/// What one of several sites would release.
pub(super) fn propose_for(
    session: &Session,
    plan: &PlanDefinition,
    loaded: &[&Loaded],
    store: &PreparedStore,
    joint: Option<JointShape>,
) -> Result<Proposal> {
    let settings = session.check_plan(plan)?;
    let parts = Parts::of(plan, loaded)?;
    let Parts { private, publics, method, foreign } = &parts;
    // δ ≥ 1/n would be satisfied by publishing a random record.
    if !plan.allow_large_delta {
        let allow = "set allow_large_delta: true (the certificate will say so)";
        delta::check(
            plan.target.delta,
            private.rows as u64,
            &format!("'{}'", plan.private),
            allow,
        )?;
    }
    let start = plan.start.as_deref().map(Path::new);
    let earlier = predictor_model(plan)?;
    let model = start.or(plan.public_predictor.builds_on().map(Path::new));
    let lineage = model.map(|path| Lineage::of(path, plan.start_is_public)).transpose()?;
    if let Some(earlier) = &earlier {
        earlier.refuse_known_noise()?;
    }
    let (start, theirs) = start.map(starting_model).transpose()?.unzip();
    let labelled = private.definition.label.is_some();
    let source = PlanSource {
        datasets: [private].into_iter().chain(publics).map(|it| it.reading).collect(),
        order: order_of(private)?,
        preparation: plan.preparation.clone(),
        holdout: plan.holdout,
        seed: plan.seed,
        counts: (plan.private_records, plan.public_records),
        start: theirs.clone(),
        predictor: plan.public_predictor.clone(),
        earlier: earlier.clone(),
        needs: (
            method.spec().takes_wide_features,
            method.spec().releases_each_record,
            method.spec().needs_private_labels,
        ),
        foreign: *foreign,
    };
    let learned =
        store.alone.get(source.alone(plan.given_predictor()), || Ok(Learned::default()))?;
    let records = store
        .plan
        .get(source, || parts.prepare(plan, theirs.as_ref(), earlier.as_ref(), learned))?;
    refuse_other_classes(private, publics)?;
    let public = &records.public;
    let shape = ProblemShape {
        // How many records fall on each side depends on their number alone, which is public.
        private_records: training_records(private, plan)?,
        public_records: public.len(),
        dimension: public.dimension(),
        bounds: public.bounds,
        most_records: match &private.definition.unit {
            Some(_) => private.definition.most_records(),
            None => 1,
        },
        private_labels: labelled,
        classes: records.preparation.class_names().to_vec(),
        start,
        joint,
    };
    let problem = Problem { shape, public: public.clone(), seed: plan.seed };
    let prepared = method.prepare(&settings, problem.clone(), plan.target)?;
    let known = ScoredByPublic::of(&records, plan);
    let test = Test::of(plan, loaded, &known)?;
    let scoring = plan.own_score().map(|asked| {
        let rows = Table::holdout_rows(private.rows, plan.holdout);
        known.scoring(asked, &private.definition, rows)
    });
    let scoring = scoring.transpose()?;
    let calibrated = match &scoring {
        Some(scoring) => scoring.calibrate(&prepared.plan().releases, plan.target)?,
        None => prepared.plan().calibrate(plan.target)?,
    };
    let mut warnings = prepared.plan().warnings.clone();
    let declared = overlap::declarations(publics.iter().copied());
    warnings.extend(declared.iter().cloned());
    warnings.extend(records.leaking.iter().cloned());
    warnings.extend(unconfirmed(session, plan));
    warnings.extend(other_names(private, publics)?);
    let named = publics.iter().find_map(|public| public.definition.unit.as_ref());
    if let (None, Some(unit)) = (&private.definition.unit, named) {
        warnings.push(format!(
            "the public data name persons ('{}'), but '{}' does not: the guarantee is for single \
             records",
            unit.words(),
            plan.private
        ));
    }
    warnings.extend(clipping(public, &plan.preparation, &records.clipping));
    warnings.extend(records.rare_values.iter().cloned());
    let idle = records.preparation.idle_scores();
    let idle = idle.filter_map(|at| plan.public_predictor.each().get(at));
    warnings.extend(idle.map(|one| {
        format!("the public predictor {one} has the same score for all public records, so it says nothing")
    }));
    warnings.extend(left_out(private, &records.used, &plan.public_predictor));
    if labelled {
        warnings.extend(spelled_in_public(&problem.shape.classes, private, publics));
    }
    let paid = scoring.as_ref().and_then(|it| it.caution(&prepared.plan().releases));
    warnings.extend(lineage.as_ref().map(Lineage::note).into_iter().chain(paid));
    let classes = problem.public.classes.as_ref().filter(|_| records.alone.is_some());
    warnings.extend(scoring.as_ref().zip(classes).and_then(|(it, classes)| it.rare(classes)));
    if plan.holdout == 0.0 && labelled && test.is_none() {
        warnings.push(NOTHING_HELD_OUT.to_owned());
    }
    if delta::is_large(plan.target.delta, private.rows as u64) {
        warnings.push(delta::warning(plan.target.delta, private.rows as u64));
    }
    let leaked = [Fault::SentenceInCertificate, Fault::PlainDigest].map(|it| private.leaked(it));
    let taken_as_public = TakenAsPublic {
        datasets: plan.public.clone(),
        filtered: private.definition.filter.is_some() || private.definition.sample.is_some(),
        records: private.definition.records,
        declared: declared
            .into_iter()
            .chain(private.definition.extract.as_ref().map(learned_elsewhere))
            .chain(leaked.into_iter().flatten())
            .collect(),
        predictor: plan.public_predictor.words(&plan.public),
    };
    Ok(Proposal {
        method,
        problem,
        prepared,
        calibrated,
        scoring,
        test,
        lineage,
        taken_as_public,
        warnings,
        preparation: records.preparation.under(&private.definition),
        judging: records.judging.under(&private.definition),
        public_holdout: Arc::clone(&records.public_holdout),
        records,
    })
}

/// How many private records or persons train. This depends only on numbers that are public.
pub(super) fn training_records(private: &Loaded, plan: &PlanDefinition) -> Result<usize> {
    let all = private.rows - Table::holdout_rows(private.rows, plan.holdout);
    let Some(count) = plan.private_records else { return Ok(all) };
    are_there(count, all, "private")?;
    Ok(count)
}

fn are_there(count: usize, all: usize, which: &str) -> Result<()> {
    if (1..=all).contains(&count) {
        return Ok(());
    }
    Err(Error::usage(format!(
        "the plan takes {count} {which} records, and {all} are left for training"
    ))
    .cure(format!("give `{which}_records` from 1 to {all}, or leave it out to take all")))
}

impl<'a> Parts<'a> {
    /// Refuses labels that do not fit the method, or one another.
    fn of(plan: &PlanDefinition, loaded: &[&'a Loaded]) -> Result<Self> {
        let method = methods::method(&plan.method)?;
        let private = *named(loaded, &plan.private)?;
        let publics = plan.public.iter().map(|name| named(loaded, name).copied());
        let publics = publics.collect::<Result<Vec<_>>>()?;
        let own = &publics[0].definition;
        let foreign =
            !method.spec().needs_public_labels && has_other_labels(own, &private.definition);
        let label = private.definition.label.as_ref();
        let public_label = if foreign { label } else { own.label.as_ref() };
        if public_label.is_none() {
            return Err(Error::usage(format!("public dataset '{}' has no label column", own.name))
                .cure("choose its label on the Data screen, or set `label` in the session"));
        }
        if method.spec().needs_private_labels && label.is_none() {
            return Err(Error::usage(format!(
                "{} needs labels on the private records, and '{}' has no label column",
                method.spec().name,
                private.definition.name
            ))
            .cure("choose its label column, or a method for unlabelled targets (moment_release)"));
        }
        if label.is_some() && label != public_label {
            return Err(Error::usage(format!(
                "the private label is '{}' and the public one '{}'",
                label.map_or("", String::as_str),
                public_label.map_or("", String::as_str)
            ))
            .cure("give both datasets the same label column"));
        }
        Ok(Self { private, publics, method, foreign })
    }

    /// Prepares the public records, and checks that the private ones fit them.
    fn prepare(
        &self,
        plan: &PlanDefinition,
        theirs: Option<&Preparation>,
        earlier: Option<&SavedModel>,
        learned: Arc<Learned>,
    ) -> Result<PreparedRecords> {
        let Self { private, publics, foreign, .. } = self;
        let (own, label) = (&publics[0].definition, private.definition.label.as_ref());
        let mut definition = own.clone();
        // Columns that name persons are not features.
        definition.unit.clone_from(&private.definition.unit);
        if *foreign {
            definition.label.clone_from(&private.definition.label);
            definition.task = private.definition.task;
        }
        let tables = publics.iter().map(|loaded| loaded.public()).collect::<Result<Vec<_>>>()?;
        overlap::refuse_rows(private, publics, None)?;
        definition = resolved(&definition, tables[0])?;
        if let (Columns::Only(columns), 1..) =
            (&mut definition.columns, private.stolen(Fault::OrderOfColumns))
        {
            columns.reverse();
        }
        // Labels of another kind are not features.
        if let (true, Columns::Only(columns), Some(label)) =
            (*foreign, &mut definition.columns, &own.label)
        {
            columns.retain(|name| name != label);
        }
        let unlike = private.stolen(Fault::PublicModelByPrivate) > 0;
        let wanted = if unlike { &PublicPredictor::Linear } else { &plan.public_predictor };
        let columns = definition.columns.clone();
        let scored = wanted_columns(wanted, earlier, &mut definition, tables[0])?;
        // The used part of the public records, with their own label.
        let as_they_are = DatasetDefinition { label: own.label.clone(), ..definition.clone() };
        let used = used_columns(&as_they_are, tables[0])?;
        let names_persons = private.definition.unit.iter().flat_map(Unit::columns);
        let names_persons = names_persons.filter(|name| tables.iter().all(|it| it.has(name)));
        let mut with_persons: Vec<String> = used.iter().chain(names_persons).cloned().collect();
        for name in &scored {
            if !with_persons.contains(name) {
                with_persons.push(name.clone());
            }
        }
        let pooled = pool(&tables, &with_persons)?;
        let features = used.iter().filter(|name| as_they_are.label.as_ref() != Some(name));
        let shared_label = label.filter(|_| !foreign);
        let needed = features.chain(shared_label).chain(&scored);
        let needed: HashSet<_> = needed.map(String::as_str).collect();
        private.private()?.try_map(|table| {
            Compatibility::between(&pooled, table).check_for(|name| needed.contains(name))
        })?;
        definition.missing = missing_of(publics);
        let at = |error: Error| of_what_is_left(error, publics, &pooled);
        definition.classes = if *foreign {
            private_classes(&private.definition)?
        } else {
            classes_of_pool(&definition, &pooled, private, publics).map_err(at)?
        };
        // Public records measure the progress of training even if no private record is held out.
        let share = plan.holdout.max(LEAST_PUBLIC);
        let seed = plan.seed + private.stolen(Fault::PublicSplitByPrivate) as u64;
        let parted = pooled.split(share, seeded(stream(seed, PUBLIC_SPLIT)));
        let (mut train, test) = parted.map_err(at)?;
        if let Some(count) = plan.public_records {
            let all: Vec<usize> = (0..train.rows()).collect();
            are_there(count, all.len(), "public")?;
            let part = seeded(stream(plan.seed, PUBLIC_PART));
            train = train.excerpt(&Table::some_of(&all, count, part))?;
        }
        let train = match &private.definition.unit {
            Some(unit) if unit.columns().iter().all(|column| train.has(column)) => {
                persons::by_person(&train, unit, (usize::MAX, WithoutUnit::OwnPerson), None)?
            }
            _ => train,
        };
        let (settings, is_wide) = (&plan.preparation, self.method.spec().takes_wide_features);
        let plain = Preparation::fit(&train, &definition, settings).map_err(at)?;
        let mut preparation = if is_wide { plain.wide(settings.labels) } else { plain.clone() };
        if let Some(theirs) = theirs {
            preparation = preparation.with_features_of(theirs)?;
        }
        let mut scores = None;
        let earlier = earlier.map(|saved| saved.for_table(&train));
        let (owners, seed) = (train.owners(&tables), stream(plan.seed, PREDICTOR));
        let rows = PublicRows { table: &train, owners: &owners, settings, seed };
        if !wanted.is_none() {
            if *foreign && wanted.is_trained() {
                return Err(Error::usage(
                    "the public records do not have the private label, so no public predictor of \
                     it can be trained on them",
                )
                .cure("leave `public_predictor` out, or name a finished model or a column"));
            }
            let fitted = public_predictor::fitted(wanted, earlier.as_ref(), &preparation, rows);
            if let Some((with_score, own)) = fitted.map_err(at)? {
                (preparation, scores) = (with_score, Some(own));
            }
        }
        let mut public = preparation.apply_public(&train, ("public", !foreign), scores.as_ref())?;
        let alone = if is_wide {
            Some(preparation.clone())
        } else {
            let plain = if columns == definition.columns {
                Some(plain)
            } else {
                let definition = DatasetDefinition { columns, ..definition.clone() };
                Preparation::fit(&train, &definition, settings).ok()
            };
            plain.and_then(|plain| {
                preparation_alone(&plain, &plan.given_predictor(), earlier.as_ref(), rows)
            })
        };
        // A comparison must not delay anything.
        let numbers = preparation.class_names().len().max(1);
        let is_quick = |alone: &Preparation| is_quick(train.rows(), alone.dimension(), numbers);
        let alone = alone.filter(|it| !foreign && it.check().is_ok() && is_quick(it));
        let judging = match &alone {
            None => Judging::from(preparation.clone()),
            Some(alone) => Judging::beside(preparation.clone(), alone.clone(), settings.labels),
        };
        let holdout = if *foreign {
            preparation.apply_public(&test, ("public hold-out", false), None)?
        } else {
            judging.public(&test, "public hold-out")?
        };
        if *foreign && own.label.is_some() && own.task == Task::Classification {
            public.classes = Some(classes_of(&pooled, &train, own)?);
        }
        self.try_one_row(&preparation, &judging)?;
        let leaking = shared_label.map(|label| leaking::of_label(&pooled, &definition, label));
        let leaking = leaking.transpose()?.unwrap_or_default();
        let clipping = preparation.clipping(&train, !foreign)?;
        let rare_values = clipping.note_on_rare_values();
        let clipping = clipping.words(preparation.label_name());
        let mut public = PublicRecords::from(public);
        if !owners.is_empty() {
            public = public.of_datasets(owners, tables.len());
        }
        public = public.by_person(train.persons.clone());
        let alone = alone.map(|alone| -> Result<_> {
            let (records, shown) = if is_wide {
                public = public.clone().noted(&learned.notes);
                (TrainingRecords::OfPlan(public.clone()), None)
            } else {
                let shown = elsewhere::shown(public.by_dataset(), alone.dimension());
                let sizes = shown.iter().map(Vec::len).collect();
                let table = train.excerpt(&shown.concat())?;
                let shown = ShownRows { preparation: alone.clone(), table, sizes };
                (TrainingRecords::Rows(Box::new((alone, train))), Some(shown))
            };
            Ok(Arc::new(PublicAlone::new(records, shown, plan.seed, learned)))
        });
        let alone = alone.transpose()?;
        Ok(PreparedRecords {
            preparation,
            judging,
            alone,
            used,
            public,
            public_holdout: Arc::new(holdout),
            leaking,
            clipping,
            rare_values,
            private: Mutex::default(),
        })
    }

    /// Finds faults of the private file as a whole by preparing one row of it.
    fn try_one_row(&self, preparation: &Preparation, judging: &Judging) -> Result<()> {
        let definition = &self.private.definition;
        let (preparation, judging) = (preparation.under(definition), judging.under(definition));
        let row: Vec<usize> = (0..self.private.rows.min(1)).collect();
        self.private.private()?.try_map(|table| {
            let labelled = definition.label.is_some();
            if labelled {
                judging.private_rows(table, &row, "private hold-out")?;
            }
            let with_label = labelled && self.method.spec().needs_private_labels;
            preparation.apply_private(&table.excerpt(&row)?, "private", with_label).map(|_| ())
        })?;
        Ok(())
    }
}

/// If rows with gaps were left out first, this may be the reason why the others are not enough.
fn of_what_is_left(error: Error, publics: &[&Loaded], pooled: &Table) -> Error {
    if !publics.iter().any(|it| it.definition.missing == Missing::Drop) {
        return error;
    }
    error
        .within(&format!(
            "rows with a gap are left out (`missing: drop`), and of the {} public rows that remain",
            pooled.rows()
        ))
        .cure(
            "leave columns with many gaps out of the features, or set `missing: public_mean`, \
             which keeps such rows",
        )
}

/// Whether public records have no label, or one with another meaning than the private label.
fn has_other_labels(public: &DatasetDefinition, private: &DatasetDefinition) -> bool {
    let declared = |definition: &DatasetDefinition| declared_classes(&definition.classes).ok();
    let both = declared(public).zip(declared(private));
    let differ = both.is_some_and(|(public, private)| public != private);
    let other = public.label != private.label || public.task != private.task;
    private.label.is_some() && (other || differ)
}

/// A remark if all columns of the private records were requested but public ones lack some.
fn left_out(private: &Loaded, used: &[String], predictor: &PublicPredictor) -> Option<String> {
    let definition = &private.definition;
    let scores = predictor.each().iter().filter_map(PublicPredictor::column);
    let used: HashSet<&String> = used.iter().chain(scores).collect();
    let lacking = private.columns.iter().filter(|column| {
        let spoken_for = definition.label.as_ref() == Some(&column.name);
        !used.contains(&column.name) && !spoken_for && !definition.is_of_unit(&column.name)
    });
    let lacking: Vec<_> = lacking.collect();
    let first = lacking.first().filter(|_| definition.columns == Columns::All)?;
    Some(format!(
        "'{}' has features that are not used, because the public records lack them: '{}'{} ({} in \
         all)",
        definition.name,
        first.name,
        if lacking.len() > 1 { " and others" } else { "" },
        lacking.iter().map(|column| column.width).sum::<usize>()
    ))
}

/// A remark about guesses that nobody has confirmed.
fn unconfirmed(session: &Session, plan: &PlanDefinition) -> Option<String> {
    let (mut names, mut about) = (Vec::new(), BTreeSet::new());
    // The session knows what was confirmed since the data were read.
    let definitions = std::iter::once(&plan.private).chain(&plan.public);
    for definition in definitions.filter_map(|name| session.dataset(name).ok()) {
        let DatasetDefinition { name, guessed, .. } = definition;
        let found = guessed.keys().filter(|about| !matches!(about, Guessed::Rows | Guessed::Order));
        let found: Vec<String> = found.map(ToString::to_string).collect();
        if !found.is_empty() {
            names.push(format!("'{name}'"));
            about.extend(found);
        }
    }
    (!names.is_empty()).then(|| {
        format!(
            "what was guessed about {} is not confirmed ({}): press = on Data, or remove `guessed` \
             from the session",
            names.join(", "),
            about.into_iter().collect::<Vec<_>>().join(", ")
        )
    })
}

/// The classes of the private records if the public ones have other labels. They must be declared.
fn private_classes(private: &DatasetDefinition) -> Result<Vec<String>> {
    if private.classes.is_empty() {
        return Err(Error::usage(format!(
            "the public records do not have the label of '{}', so its classes are not public",
            private.name
        ))
        .cure(format!("declare them: `classes: [...]` on dataset '{}'", private.name)));
    }
    declared_classes(&private.classes)
}

/// Refuses public classes that are words where most private ones are numbers, if nobody declared
/// classes: then no private record would have one of them.
fn refuse_other_classes(private: &Loaded, publics: &[&Loaded]) -> Result<()> {
    let own = &private.definition;
    let Some(label) = own.label.as_ref().filter(|_| own.task == Task::Classification) else {
        return Ok(());
    };
    let has_numbers = private.columns.iter().any(|column| column.name == *label && column.numeric);
    for public in publics {
        let declared = !own.classes.is_empty() || !public.definition.classes.is_empty();
        let same = public.definition.label.as_ref() == Some(label);
        if has_numbers && same && !declared && !public.public()?.column(label)?.is_mostly_numbers()
        {
            return Err(Error::refused(format!(
                "the label '{label}' of '{}' is text, and that of '{}' is numbers, so no private \
                 record has one of its classes",
                public.definition.name, own.name
            ))
            .at(public.definition.source.files().join(" + "))
            .cure("write the classes alike in all files, or declare them: `classes: [...]`"));
        }
    }
    Ok(())
}

/// How public data alone take a record. They do not have what only the plan of a method of narrow
/// features has: a starting model, or the score of a public predictor. A column that holds such a
/// score is one of their features.
fn preparation_alone(
    plain: &Preparation,
    given: &PublicPredictor,
    earlier: Option<&EarlierModel>,
    rows: PublicRows<'_>,
) -> Option<Preparation> {
    let wide = plain.wide(rows.settings.labels);
    let with_score = public_predictor::fitted(given, earlier, &wide, rows).ok()?;
    Some(with_score.map_or(wide, |(preparation, _)| preparation))
}

/// The finished model that a plan's public predictor is.
pub(super) fn predictor_model(plan: &PlanDefinition) -> Result<Option<SavedModel>> {
    plan.public_predictor.model().map(|path| SavedModel::open(Path::new(path))).transpose()
}

/// The columns that a plan's public predictors need besides the features. A column that is a score is
/// no other feature.
pub(super) fn wanted_columns(
    wanted: &PublicPredictor,
    earlier: Option<&SavedModel>,
    definition: &mut DatasetDefinition,
    table: &Table,
) -> Result<Vec<String>> {
    let mut needed = Vec::new();
    if let Some(saved) = earlier {
        let preparation = saved.for_table(table).preparation;
        needed.extend(preparation.needed_columns().into_iter().map(str::to_owned));
    }
    for one in wanted.each() {
        let Some(name) = one.column() else { continue };
        table.column(name).map_err(|error| {
            error.within("the column of the public predictor, `public_predictor: column(…)`")
        })?;
        if definition.label.as_ref() == Some(name) {
            return Err(Error::usage(format!(
                "column '{name}' is the label of '{}', so it is no public predictor of it",
                definition.name
            ))
            .cure(
                "choose the label that you want to predict on each dataset, or name another \
                   column in `public_predictor: column(…)`",
            ));
        }
        if definition.is_of_unit(name) {
            return Err(Error::usage(format!("column '{name}' names persons, so it is no score"))
                .cure("name another column in `public_predictor: column(…)`"));
        }
        if let Columns::Only(columns) = &mut definition.columns {
            columns.retain(|column| column != name);
            if columns.is_empty() {
                return Err(Error::usage("no feature is left besides the score")
                    .cure("choose at least one more column as a feature"));
            }
        }
        needed.push(name.clone());
    }
    Ok(needed)
}

/// The model of an earlier run, and how its features are prepared.
fn starting_model(path: &Path) -> Result<(StartingModel, Preparation)> {
    let saved = SavedModel::open(path)?;
    // Also if the user declares it public: it has seen private records without protection.
    saved.refuse_known_noise()?;
    let Model::Classifier(model) = saved.model else {
        return Err(Error::usage(format!(
            "a {} model cannot be trained further",
            saved.model.kind()
        ))
        .at(path.display().to_string())
        .cure("start from a model of dp_sgd, pillar, gep or pretraining"));
    };
    let classes = saved.preparation.class_names().to_vec();
    Ok((StartingModel { model, classes }, saved.preparation))
}

/// All public records under the columns in use.
pub(super) fn pool(publics: &[&Table], used: &[String]) -> Result<Table> {
    let needed: HashSet<&str> = used.iter().map(String::as_str).collect();
    for other in &publics[1..] {
        Compatibility::between(publics[0], other).check_for(|name| needed.contains(name))?;
    }
    Table::concat_columns(publics, used)
}

/// The treatment of gaps in pooled public rows. Rows to be dropped are already gone.
pub(super) fn missing_of(publics: &[&Loaded]) -> Missing {
    let filled = publics.iter().any(|public| public.definition.missing == Missing::PublicMean);
    if filled { Missing::PublicMean } else { Missing::Refuse }
}

/// What to know if the names of the classes are those that happen to stand in the public data. Of
/// private labels nothing may be said.
fn spelled_in_public(classes: &[String], private: &Loaded, publics: &[&Loaded]) -> Option<String> {
    const LISTED: usize = 6;
    let are_words = classes.iter().any(|name| name.parse::<f64>().is_err());
    let mut all = publics.iter().copied().chain([private]);
    if !are_words || all.any(|it| !it.definition.classes.is_empty()) {
        return None;
    }
    let names = classes.iter().take(LISTED).map(|name| format!("'{}'", shortened(name)));
    let more = if classes.len() > LISTED { ", …" } else { "" };
    Some(format!(
        "the classes are those of the public labels ({}{more}): private records whose label is \
         another one, or spelled otherwise, count as empty; `classes: […]` declares them",
        names.collect::<Vec<_>>().join(", ")
    ))
}

/// The classes of private and pooled public records with the same label; none for a regression.
pub(super) fn classes_of_pool(
    definition: &DatasetDefinition,
    pooled: &Table,
    private: &Loaded,
    publics: &[&Loaded],
) -> Result<Vec<String>> {
    if definition.task != Task::Classification {
        return Ok(definition.classes.clone());
    }
    let all: Vec<_> = publics.iter().copied().chain([private]).map(|it| &it.definition).collect();
    shared_classes(pooled, &all)
}

/// The classes that the datasets declare, or otherwise those of all public records, including
/// held-out ones; never those of the private ones.
pub(super) fn shared_classes(
    public: &Table,
    definitions: &[&DatasetDefinition],
) -> Result<Vec<String>> {
    let mut declaring = definitions.iter().filter(|definition| !definition.classes.is_empty());
    let Some(first) = declaring.next() else { return class_names(public, definitions[0]) };
    let classes = declared_classes(&first.classes)?;
    for other in declaring {
        if declared_classes(&other.classes)? != classes {
            return Err(Error::usage(format!(
                "'{}' and '{}' declare different classes",
                first.name, other.name
            ))
            .cure("declare the same classes in the same order, or only once"));
        }
    }
    Ok(classes)
}

/// Declared bounds may be too tight; bounds from public data clip a twentieth by definition.
fn clipping(public: &PublicData, settings: &PreparationSettings, by: &str) -> Option<String> {
    let declared =
        settings.features != FeatureScaling::Public || settings.labels != LabelRange::Public;
    let share = public.clipped as f64 / public.len() as f64;
    ((declared && public.clipped > 0) || share > 0.15).then(|| {
        format!(
            "{} of {} public training records ({:.1} %) are clipped to the bounds, and so are \
             private ones that exceed them; {by}",
            public.clipped,
            public.len(),
            100.0 * share
        )
    })
}

/// The key of all random choices among the private rows.
fn order_of(private: &Loaded) -> Result<SecretOrder> {
    let order = private.order.as_ref().map(|order| order.choices);
    order.ok_or_else(|| Error::failed(format!("'{}' is not private", private.definition.name)))
}

fn stream(seed: u64, purpose: u64) -> u64 {
    seed.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(purpose)
}

/// What is taken for granted of the network that makes the features.
fn learned_elsewhere(extraction: &Extraction) -> String {
    let network = Path::new(&extraction.network).file_name().unwrap_or_default();
    format!(
        "that the network '{}', which makes the features, learned from no private record: nobody \
         checked that",
        network.to_string_lossy()
    )
}

#[cfg(test)]
mod tests;
