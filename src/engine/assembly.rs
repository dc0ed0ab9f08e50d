//! Turns a plan and its loaded datasets into a problem with its noise. No noise is drawn here and
//! nothing is written. The Plan screen uses this for its cost panel, a job for its start.

use super::job::named;
use super::overlap;
use super::prepared::{
    MethodNeeds, PlanSource, PreparedRecords, PreparedStore, PrivateRecords, PrivateRows,
};
use super::public_alone::is_comparable;
use super::score::Test;
use crate::data::declared::declared_classes;
use crate::data::leaking;
use crate::data::names::shortened;
use crate::data::persons::{self, WithoutUnit};
use crate::data::preparation::{
    FeatureScaling, LabelRange, PreparationSettings, class_names, classes_of,
};
use crate::data::selection::{resolved, used_columns};
use crate::data::table::{seeded, shuffled};
use crate::data::{
    Bounded, Columns, Compatibility, DatasetDefinition, HeldOut, Missing, Preparation, PublicData,
    RowChoice, SecretOrder, Table, Task, Unit,
};
use crate::error::{Error, Result};
use crate::evaluation::scoring::Scoring;
use crate::faults::{Fault, planted};
use crate::methods::public_predictor::{self, PublicRows};
use crate::methods::{
    self, Method, Prepared, Problem, ProblemShape, PublicPredictor, StartingModel,
};
use crate::model::Model;
use crate::privacy::ledger::delta;
use crate::privacy::openings::OpenPrivate;
use crate::privacy::{Calibrated, Private};
use crate::session::certificate::TakenAsPublic;
use crate::session::{Lineage, Loaded, PlanDefinition, SavedModel, Session};
use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

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
    /// The public records that judge models.
    pub public_holdout: Arc<PublicData>,
    records: Arc<PreparedRecords>,
}

impl Proposal {
    /// Whether the private records are prepared already.
    pub(super) fn has_private_records(&self) -> bool {
        self.records.has_private()
    }
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
    let mut found = None;
    for public in publics {
        let table = public.public()?;
        let numeric = |name: &str| {
            private.columns.iter().find(|column| column.name == name).map(|column| column.numeric)
        };
        let differs = unit.columns().iter().find(|name| {
            let theirs = table.column(name).ok().map(crate::data::Column::is_mostly_numbers);
            theirs.is_some() && theirs != numeric(name)
        });
        found = found.or_else(|| {
            differs.map(|column| {
                format!(
                    "'{column}' is mostly numbers in one of '{}' and '{}' and mostly text in the \
                     other, so it cannot be checked whether a person has records in both",
                    private.definition.name, public.definition.name
                )
            })
        });
    }
    Ok(found)
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
    let proposal = propose(session, plan, loaded, store)?;
    let private = *named(loaded, &plan.private)?;
    let (method, shape) = (proposal.method, &proposal.problem.shape);
    let with_label = shape.private_labels && method.spec().needs_private_labels;
    let order = order_of(private)?;
    let rows = || {
        let known = planted(Fault::SplitByPlace).then_some(SecretOrder::KNOWN);
        let split = known.unwrap_or(order).generator(RowChoice::HeldOut, plan.seed);
        let (train, holdout) = Table::split_rows(private.rows, plan.holdout, split)
            .map_err(|error| error.at(private.definition.name.clone()))?;
        let part = order.generator(RowChoice::Training, plan.seed);
        let train = match plan.private_records {
            Some(count) => Table::some_of(&train, count, part),
            None => train,
        };
        let train = if method.spec().releases_each_record {
            let mut places = order.generator(RowChoice::Places, plan.seed);
            shuffled(train.len(), &mut places).into_iter().map(|at| train[at]).collect()
        } else {
            train
        };
        let tests = shape.private_labels && !holdout.is_empty();
        let holdout = tests.then_some(holdout);
        let by_person = private.definition.unit.is_some();
        Ok(PrivateRows { train, holdout, with_label, by_person })
    };
    let own = proposal.records.private(private.private()?, &proposal.preparation, rows)?;
    let PrivateRecords { train: private, holdout: private_holdout, scored: private_scored } = own;
    Ok(Assembly { proposal, private, private_holdout, private_scored })
}

/// What a plan would release, and with which noise. It looks at the private rows only to see
/// whether they can be used.
pub fn propose(
    session: &Session,
    plan: &PlanDefinition,
    loaded: &[&Loaded],
    store: &PreparedStore,
) -> Result<Proposal> {
    let settings = session.check_plan(plan)?;
    let parts = Parts::of(plan, loaded)?;
    let Parts { private, publics, method, foreign } = &parts;
    check_delta(plan, private.rows)?;
    let start = plan.start.as_deref().map(Path::new);
    let earlier = predictor_model(plan)?;
    let model = start.or(earlier.as_ref().map(|saved| saved.path.as_path()));
    let lineage = model.map(|path| Lineage::of(path, plan.start_is_public)).transpose()?;
    if let Some(earlier) = &earlier {
        earlier.refuse_known_noise()?;
    }
    let (start, theirs) = start.map(starting_model).transpose()?.unzip();
    let labelled = private.definition.label.is_some();
    let source = PlanSource {
        datasets: [*private]
            .into_iter()
            .chain(publics.iter().copied())
            .map(|it| it.reading)
            .collect(),
        order: order_of(private)?,
        preparation: plan.preparation.clone(),
        holdout: plan.holdout,
        seed: plan.seed,
        counts: (plan.private_records, plan.public_records),
        start: theirs.clone(),
        predictor: plan.public_predictor.clone(),
        earlier: earlier.clone(),
        needs: MethodNeeds::of(*method),
        foreign: *foreign,
    };
    let records =
        store.plan.get(source, || parts.prepare(plan, theirs.as_ref(), earlier.as_ref()))?;
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
    };
    let problem = Problem { shape, public: public.clone(), seed: plan.seed };
    let prepared = method.prepare(&settings, problem.clone(), plan.target)?;
    let test = Test::of(plan, loaded, &problem)?;
    let scoring = plan.own_score().map(|asked| {
        let rows = Table::holdout_rows(private.rows, plan.holdout);
        let classes = problem.shape.classes.len();
        Scoring::of(asked, &private.definition, rows, classes, is_comparable(&problem))
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
    warnings.extend(clipping(public, &plan.preparation));
    warnings.extend(left_out(private, &records.used));
    if labelled {
        warnings.extend(spelled_in_public(&problem.shape.classes, private, publics));
    }
    let paid = scoring.as_ref().and_then(|it| it.caution(&prepared.plan().releases));
    warnings.extend(lineage.as_ref().map(Lineage::note).into_iter().chain(paid));
    let classes = problem.public.classes.as_ref().filter(|_| is_comparable(&problem));
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
        declared: declared.into_iter().chain(leaked.into_iter().flatten()).collect(),
        predictor: plan.public_predictor.words(&plan.public),
    };
    Ok(Proposal {
        method: *method,
        problem,
        prepared,
        calibrated,
        scoring,
        test,
        lineage,
        taken_as_public,
        warnings,
        preparation: records.preparation.under(&private.definition),
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
        if *foreign {
            forget_own_label(&mut definition, own);
        }
        let unlike = private.stolen(Fault::PublicModelByPrivate) > 0;
        let wanted = if unlike { &PublicPredictor::Linear } else { &plan.public_predictor };
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
        if *foreign {
            definition.classes = private_classes(&private.definition)?;
        } else {
            let classes = classes_of_pool(&definition, &pooled, private, publics);
            definition.classes = classes.map_err(at)?;
        }
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
        let mut preparation =
            Preparation::fit(&train, &definition, &plan.preparation).map_err(at)?;
        if self.method.spec().takes_wide_features {
            preparation = preparation.wide();
        }
        if let Some(theirs) = theirs {
            preparation = preparation.with_features_of(theirs)?;
        }
        let mut scores = None;
        if !wanted.is_none() {
            if *foreign && matches!(wanted, PublicPredictor::Linear | PublicPredictor::Trees) {
                return Err(Error::usage(
                    "the public records do not have the private label, so no public predictor of \
                     it can be trained on them",
                )
                .cure("leave `public_predictor` out, or name a finished model or a column"));
            }
            let earlier = earlier.map(|saved| saved.for_table(&train));
            let owners = train.owners(&tables);
            let (settings, seed) = (&plan.preparation, stream(plan.seed, PREDICTOR));
            let rows = PublicRows { table: &train, owners: &owners, settings, seed };
            let fitted = public_predictor::fitted(wanted, earlier.as_ref(), &preparation, rows);
            if let Some((with_score, own)) = fitted.map_err(at)? {
                (preparation, scores) = (with_score, Some(own));
            }
        }
        let mut public = preparation.apply_public(&train, ("public", !foreign), scores.as_ref())?;
        let holdout = if *foreign {
            preparation.apply_public(&test, ("public hold-out", false), None)?
        } else {
            preparation.apply_public_for_evaluation(&test, "public hold-out")?
        };
        if *foreign && own.label.is_some() && own.task == Task::Classification {
            public.classes = Some(classes_of(&pooled, &train, own)?);
        }
        self.try_one_row(&preparation)?;
        let leaking = shared_label.map(|label| leaking::of_label(&pooled, &definition, label));
        let leaking = leaking.transpose()?.unwrap_or_default();
        let records = PreparedRecords::new(preparation, used, public, holdout);
        let owners = train.owners(&tables);
        let records = records.with_leaking(leaking).of_datasets(owners, tables.len());
        Ok(records.by_person(train.persons))
    }

    /// Finds faults of the private file as a whole by preparing one row of it.
    fn try_one_row(&self, preparation: &Preparation) -> Result<()> {
        let definition = &self.private.definition;
        let preparation = preparation.under(definition);
        let row: Vec<usize> = (0..self.private.rows.min(1)).collect();
        self.private.private()?.try_map(|table| {
            if definition.label.is_some() {
                preparation.apply_to_private_rows_for_evaluation(
                    table,
                    &row,
                    "private hold-out",
                )?;
            }
            let with_label = definition.label.is_some() && self.method.spec().needs_private_labels;
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
    let differ = match (declared(public), declared(private)) {
        (Some(public), Some(private)) => public != private,
        _ => false,
    };
    let other = public.label != private.label || public.task != private.task;
    private.label.is_some() && (other || differ)
}

/// The public records' own labels are not features.
fn forget_own_label(definition: &mut DatasetDefinition, own: &DatasetDefinition) {
    if let (Columns::Only(columns), Some(label)) = (&mut definition.columns, &own.label) {
        columns.retain(|name| name != label);
    }
}

/// A remark if all columns of the private records were requested but public ones lack some.
fn left_out(private: &Loaded, used: &[String]) -> Option<String> {
    let definition = &private.definition;
    let used: HashSet<&String> = used.iter().collect();
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

/// The finished model that a plan's public predictor is.
pub(super) fn predictor_model(plan: &PlanDefinition) -> Result<Option<SavedModel>> {
    match &plan.public_predictor {
        PublicPredictor::Model(path) => SavedModel::open(Path::new(path)).map(Some),
        _ => Ok(None),
    }
}

/// The columns that a plan's public predictor needs besides the features. A column that is the score
/// is no other feature.
fn wanted_columns(
    wanted: &PublicPredictor,
    earlier: Option<&SavedModel>,
    definition: &mut DatasetDefinition,
    table: &Table,
) -> Result<Vec<String>> {
    if let Some(saved) = earlier {
        let preparation = saved.for_table(table).preparation;
        return Ok(preparation.needed_columns().into_iter().map(str::to_owned).collect());
    }
    let PublicPredictor::Column(name) = wanted else { return Ok(Vec::new()) };
    table.column(name).map_err(|error| {
        error.within("the column of the public predictor, `public_predictor: column(…)`")
    })?;
    if definition.label.as_ref() == Some(name) || definition.is_of_unit(name) {
        return Err(Error::usage(format!(
            "column '{name}' is the label or names persons, so it is no score"
        ))
        .cure("name another column in `public_predictor: column(…)`"));
    }
    if let Columns::Only(columns) = &mut definition.columns {
        columns.retain(|column| column != name);
        if columns.is_empty() {
            return Err(Error::usage("no feature is left besides the score")
                .cure("choose at least one more column as a feature"));
        }
    }
    Ok(vec![name.clone()])
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
    let declares = |it: &&Loaded| !it.definition.classes.is_empty();
    let are_words = classes.iter().any(|name| name.parse::<f64>().is_err());
    if !are_words || publics.iter().copied().chain([private]).any(|it| declares(&it)) {
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
fn clipping(public: &PublicData, settings: &PreparationSettings) -> Option<String> {
    let declared =
        settings.features != FeatureScaling::Public || settings.labels != LabelRange::Public;
    let share = public.clipped as f64 / public.len() as f64;
    ((declared && public.clipped > 0) || share > 0.15).then(|| {
        format!(
            "{} of {} public training records ({:.1} %) are clipped to the bounds, and so are \
             private ones that exceed them",
            public.clipped,
            public.len(),
            100.0 * share
        )
    })
}

/// δ ≥ 1/n would be satisfied by publishing a random record.
fn check_delta(plan: &PlanDefinition, rows: usize) -> Result<()> {
    if plan.allow_large_delta {
        return Ok(());
    }
    let allow = "set allow_large_delta: true (the certificate will say so)";
    delta::check(plan.target.delta, rows as u64, &format!("'{}'", plan.private), allow)
}

/// The key of all random choices among the private rows.
fn order_of(private: &Loaded) -> Result<SecretOrder> {
    let order = private.order.as_ref().map(|order| order.choices);
    order.ok_or_else(|| Error::failed(format!("'{}' is not private", private.definition.name)))
}

fn stream(seed: u64, purpose: u64) -> u64 {
    seed.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(purpose)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::privacy::openings::OpenWatch;
    use crate::session::{Workspace, dataset};

    /// Thirty records each, the public ones with `more` words in their definition.
    fn assembled(method: &str, settings: &str, classes: &str, more: &str) -> Result<Assembly> {
        let directory = tempfile::tempdir().unwrap();
        let table = |label: &str, kinds: &[&str], shift: usize| {
            let rows = (0..40).map(|i| {
                let x = ((i * 7 + shift) % 11) as f64 / 10.0;
                format!("{x},{},{}\n", (i + shift) % 5, kinds[i % kinds.len()])
            });
            format!("a,b,{label}\n{}", rows.collect::<String>())
        };
        let write = |name: &str, text: String| {
            std::fs::write(directory.path().join(name), text).unwrap();
        };
        write("private.csv", table("kind", &["cat", "dog"], 1));
        write("public.csv", table("colour", &["red", "green", "blue"], 3));
        let text = format!(
            "(version: 1, datasets: [
              (name: \"ours\", role: private, source: file(\"private.csv\"), label: \"kind\",
               task: classification{classes}),
              (name: \"theirs\", role: public, source: file(\"public.csv\"){more}),
            ], plans: [(name: \"first\", method: \"{method}\", private: \"ours\",
              public: [\"theirs\"], target: (epsilon: 1.0, delta: 1e-5), settings: {{{settings}}})])"
        );
        first_plan(&text, directory.path())
    }

    /// The first plan of a session in this directory.
    fn first_plan(session: &str, directory: &Path) -> Result<Assembly> {
        let session = Session::parse(session, "s.ron")?;
        let workspace = Workspace::of(directory)?;
        let loaded = session.datasets.iter().map(|data| dataset::load(data, &workspace));
        let loaded = loaded.collect::<Result<Vec<_>>>()?;
        let loaded: Vec<_> = loaded.iter().collect();
        assemble(&session, &session.plans[0], &loaded, &PreparedStore::default())
    }

    /// The warnings of a plan on these public rows, or the error; the private ones have no gaps.
    fn told(public: impl Fn(usize) -> String) -> String {
        let directory = tempfile::tempdir().unwrap();
        let write = |name: &str, row: &dyn Fn(usize) -> String| {
            let rows: Vec<String> = (0..60).map(row).collect();
            let text = format!("a,b,kind\n{}\n", rows.join("\n"));
            std::fs::write(directory.path().join(name), text).unwrap();
        };
        write("private.csv", &|i| format!("0.{i}1,{},{}", i % 7, ["cat", "dog"][i % 2]));
        write("public.csv", &public);
        let dataset = |name: &str, role: &str, more: &str| {
            format!(
                "(name: \"{name}\", role: {role}, source: file(\"{role}.csv\"), label: \"kind\",
                  task: classification{more})"
            )
        };
        let text = format!(
            "(version: 1, datasets: [{}, {}], plans: [(name: \"first\",
              method: \"public_shape_classes\", private: \"ours\", public: [\"theirs\"],
              target: (epsilon: 1.0, delta: 1e-5))])",
            dataset("ours", "private", ""),
            dataset("theirs", "public", ", missing: drop")
        );
        let session = Session::parse(&text, "s.ron").unwrap();
        let workspace = Workspace::of(directory.path()).unwrap();
        let loaded: Vec<Loaded> =
            session.datasets.iter().map(|it| dataset::load(it, &workspace).unwrap()).collect();
        let loaded: Vec<_> = loaded.iter().collect();
        match assemble(&session, &session.plans[0], &loaded, &PreparedStore::default()) {
            Ok(assembly) => assembly.proposal.warnings.join("; "),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn rows_left_out_for_their_gaps_are_named_where_the_others_will_not_do() {
        let kind = |i: usize| ["cat", "dog"][i % 2];
        let gaps = |i: usize| if i.is_multiple_of(2) { String::new() } else { format!("0.{i}3") };
        let error = told(|i| format!("{},{},{}", gaps(i), i % 5, kind(i)));
        for wanted in ["`missing: drop`", "of the 30 public rows", "label 'kind' is the same"] {
            assert!(error.contains(wanted), "{wanted}: {error}");
        }
    }

    #[test]
    fn a_column_that_tells_the_public_label_is_warned_of_before_a_run() {
        let kind = |i: usize| ["cat", "dog"][i % 2];
        let warned = told(|i| format!("0.{i}3,{},{}", 4 + i % 2, kind(i)));
        assert!(warned.contains("column 'b' alone tells the label 'kind'"), "{warned}");
        let calm = told(|i| format!("0.{i}3,{},{}", i % 5, kind(i)));
        assert!(!calm.contains("alone tells"), "{calm}");
    }

    const DECLARED: &str = ", classes: [\"cat\", \"dog\", \"fish\"]";
    const COLOURS: &str = ", label: \"colour\", task: classification";

    #[test]
    fn public_records_with_classes_of_their_own_keep_them_and_tell_nothing_of_the_private_ones() {
        let found = assembled("pretraining", "", DECLARED, COLOURS).unwrap();
        assert_eq!(found.proposal.problem.shape.classes, ["cat", "dog", "fish"]);
        let own = found.proposal.problem.public.classes.as_ref().unwrap();
        assert_eq!(own.names, ["blue", "green", "red"]);
        assert_eq!(own.of.len(), found.proposal.problem.public.len());
        assert_eq!(found.proposal.problem.public.feature_names, ["a", "b", "(intercept)"]);
        assert_eq!(found.proposal.preparation.class_names(), ["cat", "dog", "fish"]);
        assert!(found.proposal.public_holdout.classes.is_none());
        assert!(found.private_holdout.is_some());
        // Two units of each of three classes, and their biases.
        let settings = "\"units\": 2";
        let found = assembled("pretraining", settings, DECLARED, COLOURS).unwrap();
        assert_eq!(
            found.proposal.calibrated.events()[0].mechanism.query.size_words().split(' ').next(),
            Some("9")
        );
    }

    #[test]
    fn a_model_of_other_classes_is_no_reference_and_that_of_the_private_records_stays() {
        use crate::judge::Judge;
        use crate::privacy::Watch;
        let found = assembled("pretraining", "", DECLARED, COLOURS).unwrap();
        let watch = Watch::open();
        let judge = Judge {
            preparation: &found.proposal.preparation,
            public: &found.proposal.public_holdout,
            private: found.private_holdout.as_ref(),
            watch: &watch,
        };
        let alone = crate::public_alone::public_alone(&found.proposal.problem, "pretraining");
        let baselines =
            judge.comparing(&found.proposal.problem.shape, &found.private)().beside(alone);
        let scores = judge.scores(None, &baselines);
        assert!(scores.source_only.is_none() && scores.source_only_on_public.is_none());
        let wrong = scores.target_only.unwrap();
        assert!((0.0..=1.0).contains(&wrong.reveal(&watch).unwrap().error));
    }

    #[test]
    fn an_incomplete_private_record_stays_as_one_of_zeros() {
        let directory = tempfile::tempdir().unwrap();
        let rows = |count: usize, gaps: bool| {
            let row = |i: usize| match i % 7 {
                3 if gaps => format!(",{},1\n", i % 5),
                _ => format!("{},{},{}\n", (i * 7 % 11) as f64 / 10.0, i % 5, i % 3),
            };
            format!("a,b,y\n{}", (0..count).map(row).collect::<String>())
        };
        std::fs::write(directory.path().join("ours.csv"), rows(210, true)).unwrap();
        std::fs::write(directory.path().join("theirs.csv"), rows(150, false)).unwrap();
        let text = "(version: 1, datasets: [
          (name: \"ours\", role: private, source: file(\"ours.csv\"), label: \"y\", missing: drop),
          (name: \"theirs\", role: public, source: file(\"theirs.csv\"), label: \"y\"),
        ], plans: [(name: \"first\", method: \"moment_release\", private: \"ours\",
          public: [\"theirs\"], target: (epsilon: 1.0, delta: 1e-5))])";
        let session = Session::parse(text, "s.ron").unwrap();
        let workspace = Workspace::of(directory.path()).unwrap();
        let loaded = session.datasets.iter().map(|data| dataset::load(data, &workspace));
        let loaded = loaded.collect::<Result<Vec<_>>>().unwrap();
        let loaded: Vec<_> = loaded.iter().collect();
        let found = assemble(&session, &session.plans[0], &loaded, &PreparedStore::default());
        let found = found.unwrap();
        assert_eq!(found.proposal.problem.shape.private_records, 168);
        let watch = crate::privacy::Watch::open();
        let zeros = found.private.curator(&watch, |private| {
            let features = private.doubles().features;
            (private.len(), features.column_iter().filter(|x| x.norm() == 0.0).count())
        });
        // Of 210 records 30 have a gap; 168 of them are trained on.
        let (all, empty) = *zeros.unwrap().reveal(&watch).unwrap();
        assert!(all == 168 && (12..=30).contains(&empty), "{all} {empty}");
    }

    /// A plan on two built-in datasets, with everything that it is assembled from.
    fn bikes() -> (Session, Vec<Loaded>) {
        let text = "(version: 1, datasets: [
          (name: \"ours\", role: private, source: builtin(\"bikeshare\"), label: \"bikers\",
           columns: only([\"temp\", \"hum\"]), filter: \"season == 1\"),
          (name: \"theirs\", role: public, source: builtin(\"bikeshare\"), label: \"bikers\",
           columns: only([\"temp\", \"hum\"]), filter: \"season != 1\"),
        ], plans: [(name: \"first\", method: \"moment_release\", private: \"ours\",
          public: [\"theirs\"], target: (epsilon: 1.0, delta: 1e-5))])";
        let session = Session::parse(text, "s.ron").unwrap();
        let directory = tempfile::tempdir().unwrap();
        let workspace = Workspace::fresh(directory.path());
        let load = |data| dataset::load(data, &workspace).unwrap();
        let loaded = session.datasets.iter().map(load).collect();
        (session, loaded)
    }

    #[test]
    fn records_are_prepared_again_only_where_another_plan_or_other_data_make_others() {
        let (session, loaded) = bikes();
        let store = PreparedStore::default();
        let proposed = |edit: &dyn Fn(&mut PlanDefinition), loaded: &[Loaded]| {
            let mut plan = session.plans[0].clone();
            edit(&mut plan);
            let loaded: Vec<_> = loaded.iter().collect();
            propose(&session, &plan, &loaded, &store).unwrap().records
        };
        let first = proposed(&|_| {}, &loaded);
        let same: [&dyn Fn(&mut PlanDefinition); 3] = [
            &|plan| plan.target.epsilon = 3.0,
            &|plan| plan.settings = [("lambda".to_owned(), methods::Value::Number(0.3))].into(),
            &|plan| plan.name = "second".to_owned(),
        ];
        for edit in same {
            assert!(Arc::ptr_eq(&first, &proposed(edit, &loaded)));
        }
        let others: [&dyn Fn(&mut PlanDefinition); 4] = [
            &|plan| plan.holdout = 0.3,
            &|plan| plan.seed = 5,
            &|plan| plan.public_predictor = PublicPredictor::Trees,
            &|plan| plan.method = "profiled_cnvx_adap".to_owned(),
        ];
        for edit in others {
            let before = proposed(&|_| {}, &loaded);
            assert!(!Arc::ptr_eq(&before, &proposed(edit, &loaded)));
        }
        // The same file, read again.
        let (_, again) = bikes();
        let before = proposed(&|_| {}, &loaded);
        assert!(!Arc::ptr_eq(&before, &proposed(&|_| {}, &again)));
        let before = proposed(&|_| {}, &again);
        store.clear();
        assert!(!Arc::ptr_eq(&before, &proposed(&|_| {}, &again)));
    }

    /// The preparation of a plan with public trees, and what its public records are, with these
    /// private rows.
    fn predicted(private: impl Fn(usize) -> String, more: &str) -> Result<Assembly> {
        let directory = tempfile::tempdir().unwrap();
        let write = |name: &str, row: &dyn Fn(usize) -> String| {
            let rows: Vec<String> = (0..200).map(row).collect();
            let text = format!("a,b,y\n{}\n", rows.join("\n"));
            std::fs::write(directory.path().join(name), text).unwrap();
        };
        let wave = |i: usize| (i as f64 * 0.7).sin();
        write("private.csv", &private);
        write("public.csv", &|i| format!("{},{},{}", wave(i), i % 5, (3.0 * wave(i)).cos()));
        let text = format!(
            "(version: 1, datasets: [
              (name: \"ours\", role: private, source: file(\"private.csv\"), label: \"y\"),
              (name: \"theirs\", role: public, source: file(\"public.csv\"), label: \"y\"),
            ], plans: [(name: \"first\", method: \"target_only\", private: \"ours\",
              public: [\"theirs\"], target: (epsilon: 1.0, delta: 1e-5), {more})])"
        );
        first_plan(&text, directory.path())
    }

    #[test]
    fn private_rows_cannot_change_the_public_predictor() {
        let trees = "public_predictor: trees";
        let one = predicted(|i| format!("0.1,{},{}", i % 3, i % 2), trees).unwrap();
        let other = predicted(|i| format!("{},9,{}", i * 7, i * i), trees).unwrap();
        assert!(one.proposal.preparation.has_score());
        assert_eq!(one.proposal.preparation, other.proposal.preparation);
        assert_eq!(one.proposal.problem.public.shared(), other.proposal.problem.public.shared());
        // Records that it was not trained on have its score, those of training do not.
        let names = ["a", "b", "(public score)", "(intercept)"];
        assert_eq!(one.proposal.public_holdout.feature_names, names);
        let words = one.proposal.taken_as_public.predictor.unwrap();
        assert!(words.contains("boosted trees trained on 'theirs' alone"), "{words}");
    }

    #[test]
    fn a_column_that_is_the_score_is_no_other_feature_and_must_be_there() {
        let private = |i: usize| format!("{i},{},{}", i % 3, i % 2);
        let found = predicted(private, "public_predictor: column(\"b\")").unwrap();
        let names = ["a", "(public score)", "(intercept)"];
        assert_eq!(found.proposal.problem.public.feature_names, names);
        let error = predicted(private, "public_predictor: column(\"c\")").unwrap_err().to_string();
        assert!(error.contains("no column 'c'") && error.contains("public.csv"), "{error}");
    }

    #[test]
    fn runs_share_the_records_and_what_is_not_asked_for_any_more_is_dropped() {
        let (session, loaded) = bikes();
        let loaded: Vec<_> = loaded.iter().collect();
        let store = PreparedStore::default();
        let mut plan = session.plans[0].clone();
        let assemble = |plan: &PlanDefinition| assemble(&session, plan, &loaded, &store).unwrap();
        let place = |found: &Assembly| {
            let watch = crate::privacy::Watch::open();
            let place =
                found.private.curator(&watch, |data| std::ptr::from_ref(&data.features) as usize);
            *place.unwrap().reveal(&watch).unwrap()
        };
        let first = assemble(&plan);
        plan.target.epsilon = 2.0;
        let second = assemble(&plan);
        assert_eq!(place(&first), place(&second));
        assert!(first.proposal.calibrated != second.proposal.calibrated);
        drop((first, second));
        let records = Arc::downgrade(&propose(&session, &plan, &loaded, &store).unwrap().records);
        assert!(records.upgrade().is_some(), "nothing is kept");
        plan.seed += 1;
        assemble(&plan);
        assert!(records.upgrade().is_none(), "two sets are kept");
    }

    #[test]
    fn features_that_only_the_private_records_have_are_left_out_and_named() {
        let more = ", columns: only([\"a\"])";
        let found = assembled("pillar", "\"components\": 2", DECLARED, more).unwrap();
        assert_eq!(found.proposal.problem.public.feature_names, ["a", "(intercept)"]);
        let note = found.proposal.warnings.iter().find(|note| note.contains("not used")).unwrap();
        assert!(note.contains("'ours'") && note.contains("'b'"), "{note}");
        let more = ", columns: only([\"a\", \"b\"])";
        let found = assembled("pillar", "\"components\": 2", DECLARED, more).unwrap();
        assert!(!found.proposal.warnings.iter().any(|note| note.contains("not used")));
    }

    #[test]
    fn public_records_need_no_label_where_their_features_are_all_that_is_used() {
        for more in ["", ", columns: except([\"colour\"])", ", label: \"b\""] {
            let columns = "\"components\": 2";
            let more = if more.is_empty() { ", columns: only([\"a\", \"b\"])" } else { more };
            let found = assembled("pillar", columns, DECLARED, more);
            let found = match (found, more.contains("label")) {
                (Ok(found), false) => found,
                // A colour that is a word is a feature that the private records lack.
                (Err(error), true) => {
                    assert!(error.to_string().contains("colour"), "{error}");
                    continue;
                }
                (other, _) => panic!("{more}: {other:?}"),
            };
            assert!(found.proposal.problem.public.classes.is_none());
            assert_eq!(found.proposal.problem.public.feature_names, ["a", "b", "(intercept)"]);
        }
        let error = assembled("dp_sgd", "", "", COLOURS).unwrap_err().to_string();
        assert!(error.contains("classes are not public") && error.contains("'ours'"), "{error}");
        let error = assembled("profiled_logistic", "", DECLARED, COLOURS).unwrap_err().to_string();
        assert!(error.contains("'kind' and the public one 'colour'"), "{error}");
        let own = "\"anchor_labels\": \"own\", \"basis\": 3";
        let error = assembled("gep", own, DECLARED, COLOURS).unwrap_err().to_string();
        assert!(error.contains("3 classes of its own"), "{error}");
    }
}
