//! A plan and its loaded datasets, made into a problem with its noise. No noise
//! is drawn here and nothing is written: the Plan screen uses it for its cost
//! panel, a job for its start.

use std::collections::HashSet;

use crate::adapt::{self, Method, Plan, Problem, ProblemShape, Settings};
use crate::data::preparation::{
    FeatureScaling, LabelRange, PreparationSettings, class_names, declared_classes,
};
use crate::data::selection::{resolved, used_columns};
use crate::data::{Compatibility, Dataset, DatasetDefinition, Missing, Preparation, Table, Task};
use crate::error::{Error, Result};
use crate::privacy::{Calibrated, Private};
use crate::session::{Loaded, PlanDefinition, Session};

/// Everything a run needs before the ledger is asked.
pub struct Assembly {
    pub method: &'static dyn Method,
    pub settings: Settings,
    pub preparation: Preparation,
    pub plan: Plan,
    pub calibrated: Calibrated,
    pub problem: Problem,
    pub public_holdout: Dataset,
    /// Absent where the private records have no label.
    pub private_holdout: Option<Private<Dataset>>,
    pub warnings: Vec<String>,
}

impl std::fmt::Debug for Assembly {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Assembly").field("plan", &self.plan).finish_non_exhaustive()
    }
}

/// A row that stands on both sides would be used without any protection.
pub(super) fn refuse_overlap(private: &Loaded, publics: &[&Table], name: &str) -> Result<()> {
    private.private()?.try_map(|rows| {
        let taken: HashSet<_> = publics.iter().flat_map(|public| public.provenance()).collect();
        match rows.provenance().position(|record| taken.contains(&record)) {
            Some(row) => Err(Error::refused(format!(
                "line {} of {} is private in '{name}' and stands among the public rows too",
                rows.lines[row], rows.origin
            ))
            .cure("change the row filters so that no row is on both sides")),
            None => Ok(()),
        }
    })?;
    Ok(())
}

/// Independent streams from one public seed.
const PUBLIC_SPLIT: u64 = 0;
const PRIVATE_SPLIT: u64 = 1;

pub fn assemble(session: &Session, plan: &PlanDefinition, loaded: &[&Loaded]) -> Result<Assembly> {
    let settings = session.check_plan(plan)?;
    let method = adapt::method(&plan.method)?;
    let find = |name: &str| {
        loaded
            .iter()
            .find(|loaded| loaded.definition.name == name)
            .ok_or_else(|| Error::failed(format!("dataset '{name}' is not loaded")))
    };
    let private = find(&plan.private)?;
    let publics = plan.public.iter().map(|name| find(name)).collect::<Result<Vec<_>>>()?;
    let mut definition = publics[0].definition.clone();
    if definition.label.is_none() {
        return Err(Error::usage(format!(
            "public dataset '{}' has no label column",
            definition.name
        ))
        .cure("choose its label on the Data screen, or set `label` in the session"));
    }
    check_delta(plan, private.rows)?;
    let label = private.definition.label.as_ref();
    if method.spec().needs_private_labels && label.is_none() {
        return Err(Error::usage(format!(
            "{} needs labels on the private records, and '{}' has no label column",
            method.spec().name,
            private.definition.name
        ))
        .cure("choose its label column, or a method for unlabelled targets (moment_release)"));
    }
    if label.is_some() && label != definition.label.as_ref() {
        return Err(Error::usage(format!(
            "the private label is '{}' and the public one '{}'",
            label.map_or("", String::as_str),
            definition.label.as_deref().unwrap_or_default()
        ))
        .cure("give both datasets the same label column"));
    }

    let tables = publics.iter().map(|loaded| loaded.public()).collect::<Result<Vec<_>>>()?;
    refuse_overlap(private, &tables, &plan.private)?;
    definition = resolved(&definition, tables[0])?;
    let used = used_columns(&definition, tables[0])?;
    let pooled = pool(&tables, &used)?;
    let features = used.iter().filter(|name| definition.label.as_ref() != Some(name));
    let needed: HashSet<_> = features.chain(label).map(String::as_str).collect();
    private.private()?.try_map(|table| {
        Compatibility::between(&pooled, table).check_for(|name| needed.contains(name))
    })?;
    // Incomplete public rows are gone already where they are to be dropped.
    let filled = publics.iter().any(|public| public.definition.missing == Missing::PublicMean);
    definition.missing = if filled { Missing::PublicMean } else { Missing::Refuse };
    if definition.task == Task::Classification {
        let all: Vec<_> =
            publics.iter().chain([&private]).map(|loaded| &loaded.definition).collect();
        definition.classes = shared_classes(&pooled, &all)?;
    }
    let (public_train, public_test) =
        pooled.split(plan.holdout, stream(plan.seed, PUBLIC_SPLIT))?;
    let preparation = Preparation::fit(&public_train, &definition, &plan.preparation)?;
    let public = preparation.apply(&public_train, "public", true)?;
    let public_holdout = preparation.apply_for_evaluation(&public_test, "public hold-out")?;

    let split = private
        .private()?
        .try_map(|table| table.split(plan.holdout, stream(plan.seed, PRIVATE_SPLIT)))?;
    let labelled = label.is_some();
    let preparation = preparation.under(&private.definition);
    let train = split.try_map(|(train, _)| {
        preparation.apply(train, "private", labelled && method.spec().needs_private_labels)
    })?;
    let private_holdout = if labelled {
        Some(
            split
                .try_map(|(_, test)| preparation.apply_for_evaluation(test, "private hold-out"))?,
        )
    } else {
        None
    };
    // How many records fall on each side depends on their number alone, which is public.
    let private_records = private.rows - Table::holdout_rows(private.rows, plan.holdout);

    let shape = ProblemShape {
        private_records,
        public_records: public.len(),
        dimension: public.dimension(),
        bounds: public.bounds,
        private_labels: labelled,
    };
    let planned = method.plan(&shape, &public, plan.target, &settings)?;
    let calibrated = planned.calibrate(plan.target)?;
    let mut warnings = planned.warnings.clone();
    warnings.extend(clipping(&public, &plan.preparation));
    if plan.allow_large_delta && plan.target.delta >= 1.0 / private.rows as f64 {
        warnings.push(format!(
            "δ = {} is at least 1/n = {:.1e}: publishing a few records outright would satisfy it",
            plan.target.delta,
            1.0 / private.rows as f64
        ));
    }
    let problem = Problem { shape, public, private: train, seed: plan.seed };
    Ok(Assembly {
        method,
        settings,
        preparation,
        plan: planned,
        calibrated,
        problem,
        public_holdout,
        private_holdout,
        warnings,
    })
}

/// All public records under the columns in use.
fn pool(publics: &[&Table], used: &[String]) -> Result<Table> {
    for other in &publics[1..] {
        Compatibility::between(publics[0], other)
            .check_for(|name| used.iter().any(|used| used == name))?;
    }
    Table::concat_columns(publics, used)
}

/// The classes that the datasets declare, or else those of all public records,
/// held-out ones included; never those of the private ones.
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

/// Bounds that somebody declared may be too tight; public ones clip a twentieth
/// by their definition.
fn clipping(public: &Dataset, settings: &PreparationSettings) -> Option<String> {
    let declared =
        settings.features != FeatureScaling::Public || settings.labels != LabelRange::Public;
    let share = public.clipped as f64 / public.len() as f64;
    ((declared && public.clipped > 0) || share > 0.15).then(|| {
        format!(
            "{} of {} public training records ({:.1} %) are clipped to the bounds",
            public.clipped,
            public.len(),
            100.0 * share
        )
    })
}

/// δ ≥ 1/n would be satisfied by publishing a random record.
fn check_delta(plan: &PlanDefinition, rows: usize) -> Result<()> {
    let limit = 1.0 / rows as f64;
    if plan.target.delta >= limit && !plan.allow_large_delta {
        return Err(Error::refused(format!(
            "δ = {} is not below 1/n = {limit:.2e} for the {rows} private records of '{}'",
            plan.target.delta, plan.private
        ))
        .cure(format!(
            "choose δ ≤ {:.0e}, or set allow_large_delta: true (the certificate will say so)",
            limit / 10.0
        )));
    }
    Ok(())
}

fn stream(seed: u64, purpose: u64) -> u64 {
    seed.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(purpose)
}
