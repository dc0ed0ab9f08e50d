//! The model of public data alone. Every private model is compared with it.
//!
//! There is one of a private dataset, its public ones and its hold-out: the model that a run of
//! `public_only` makes, whatever the method of a plan. Many methods take records that are clipped
//! more. For them its public records are prepared when it is first asked for, and dropped when it is
//! trained.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use crate::data::{Notes, Preparation, PublicRecords, Table};
use crate::error::Result;
use crate::evaluation::UsualErrors;
use crate::methods::baselines::elsewhere::errors_among;
use crate::methods::baselines::public_only;
use crate::methods::labelled::public_shape;
use crate::model::Model;

/// Trees are trained on at most this many numbers: 40 megabytes, which fit into any memory, so that the
/// model does not depend on it. More records are thinned out evenly.
const MOST_NUMBERS: usize = 5_000_000;

/// Public data alone, compared with the models of a plan.
pub(super) struct PublicAlone {
    records: Mutex<TrainingRecords>,
    /// Records by which errors elsewhere are told, if they are not the plan's.
    shown: Option<ShownRows>,
    seed: u64,
    learned: Arc<Learned>,
}

/// Public rows of several datasets, one dataset after the other.
pub(super) struct ShownRows {
    pub preparation: Preparation,
    pub table: Table,
    /// The number of rows of each dataset.
    pub sizes: Vec<usize>,
}

impl ShownRows {
    fn usual(&self) -> Option<UsualErrors> {
        let public = self.preparation.apply_public(&self.table, ("public", true), None).ok()?;
        in_label_units(&self.preparation, errors_among(public, &self.sizes))
    }
}

/// Sizes of errors in units of the label, of such in units of prepared labels.
pub(super) fn in_label_units(preparation: &Preparation, errors: Vec<f64>) -> Option<UsualErrors> {
    let label = |raw| preparation.label_from_prediction(raw);
    UsualErrors::of(errors.into_iter().map(|error| label(error) - label(0.0)))
}

/// The public records that train it.
pub(super) enum TrainingRecords {
    /// The public records of the plan.
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
    model: OnceLock<Option<Model>>,
    /// Errors on public records of another domain, worked out when the first score asks for them.
    usual: OnceLock<Option<UsualErrors>>,
}

impl PublicAlone {
    pub fn new(
        records: TrainingRecords,
        shown: Option<ShownRows>,
        seed: u64,
        learned: Arc<Learned>,
    ) -> Self {
        Self { records: Mutex::new(records), shown, seed, learned }
    }

    /// Errors on public records of another domain, for all plans that compare with it: their scores
    /// have one cap, and can be compared. `of_plan` tells those of records that are the plan's.
    pub fn usual(&self, of_plan: impl FnOnce() -> Option<UsualErrors>) -> Option<UsualErrors> {
        let usual = || self.shown.as_ref().map_or_else(of_plan, ShownRows::usual);
        self.learned.usual.get_or_init(usual).clone()
    }

    /// The model, trained once.
    pub fn model(&self) -> Option<Model> {
        let model = self.learned.model.get_or_init(|| self.train().ok());
        *self.records.lock().unwrap_or_else(PoisonError::into_inner) = TrainingRecords::Used;
        model.clone()
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
        public_only::predictor(&bounded(public, MOST_NUMBERS, &self.learned.notes), self.seed)
    }
}

/// Records of at most so many numbers, in memory; a linear model reads all of them in parts.
fn bounded(public: PublicRecords, numbers: usize, notes: &Notes) -> PublicRecords {
    let most = (numbers / public.dimension().max(1)).max(1000);
    if public.dimension() > public_shape::MOST_FEATURES {
        public
    } else if public.len() > most {
        // What is learned of a part of them is not what a run learns of all.
        PublicRecords::from(public.thinned(0, most))
    } else if public.fit_into_memory().is_err() {
        PublicRecords::from(public.thinned(0, most)).noted(notes)
    } else {
        public
    }
}

impl std::fmt::Debug for PublicAlone {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("PublicAlone(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assembly::{Assembly, Proposal, assemble};
    use crate::data::Task;
    use crate::evaluation::{Evaluation, Loss, Pay};
    use crate::evaluator::{Baselines, Evaluator};
    use crate::methods::{self, PublicPredictor};
    use crate::null_records::{PRIVATE, csv, load, plan, session};
    use crate::prepared::PreparedStore;
    use crate::privacy::openings::{OpenSpender, OpenWatch};
    use crate::privacy::{Spender, Watch};
    use crate::session::{Loaded, PlanDefinition, Session};

    /// Private and public records with this label.
    fn data(label: &str) -> (tempfile::TempDir, Session, Vec<Loaded>) {
        let directory = tempfile::tempdir().unwrap();
        for (name, rows) in [("ours.csv", 0..PRIVATE), ("theirs.csv", 500..900)] {
            std::fs::write(directory.path().join(name), csv(rows).concat()).unwrap();
        }
        let session = session("file(\"ours.csv\")", "file(\"theirs.csv\")", label);
        let loaded = load(&session, directory.path());
        (directory, session, loaded)
    }

    /// Public data alone beside a plan, and their errors on private and on public records.
    fn beside(assembly: &Assembly) -> (Model, [Option<f64>; 2]) {
        let Proposal { preparation, judging, public_holdout, .. } = &assembly.proposal;
        let watch = Watch::open();
        let private = assembly.private_holdout.as_ref();
        let evaluator = Evaluator::new((preparation, judging), public_holdout, private, &watch);
        let model = assembly.proposal.public_alone().unwrap().model().unwrap();
        let baselines = Baselines::default().beside(Some(model.clone()));
        let scores = evaluator.scores(None, &baselines, Loss::default());
        let exact = scores.source_only.and_then(|it| it.reveal(&watch).map(|it| it.error));
        (model, [exact, scores.source_only_on_public.map(|it| it.error)])
    }

    /// The model of a run of public data alone, and its errors.
    fn run(assembly: Assembly) -> (Model, [Option<f64>; 2]) {
        let Assembly { proposal, private, private_holdout, .. } = assembly;
        assert!(proposal.public_alone().is_none(), "it is not compared with itself");
        let Proposal { prepared, calibrated, preparation, judging, public_holdout, .. } = proposal;
        let watch = Watch::open();
        let mut run = prepared.start(private, &calibrated).unwrap();
        run.step(&mut Spender::rehearsal(&calibrated, 1), &Watch::sealed()).unwrap();
        let private = private_holdout.as_ref();
        let evaluator = Evaluator::new((&preparation, &judging), &public_holdout, private, &watch);
        let model = run.model().unwrap();
        let scores = evaluator.scores(Some(&model), &Baselines::default(), Loss::default());
        let exact = scores.model.and_then(|it| it.reveal(&watch).map(|it| it.error));
        (model.get().clone(), [exact, scores.model_on_public.map(|it| it.error)])
    }

    fn assembled(
        (_, session, loaded): &(tempfile::TempDir, Session, Vec<Loaded>),
        plan: &PlanDefinition,
        store: &PreparedStore,
    ) -> Assembly {
        let found = assemble(session, plan, &loaded.iter().collect::<Vec<_>>(), store);
        found.unwrap_or_else(|error| panic!("{}: {error}", plan.method))
    }

    #[test]
    fn what_is_learned_of_a_part_of_the_records_is_not_what_is_learned_of_all() {
        let data = data("y");
        let assembly = assembled(&data, &plan("public_only"), &PreparedStore::default());
        let few = assembly.proposal.problem.public.clone();
        let notes = Notes::default();
        assert_eq!(bounded(few.clone(), 1, &notes).len(), few.len(), "so few are never thinned");
        let again: Vec<usize> = (0..2_100).map(|at| at % few.len()).collect();
        let many = PublicRecords::from(few.select(&again)).noted(&notes);
        let part = bounded(many.clone(), 1, &notes);
        assert_eq!(part.len(), 700, "every third of 2 100, as at most 1 000 train");
        let [of_part, of_all] =
            [&part, &many].map(|records| public_only::predictor(records, 1).unwrap());
        assert_ne!(of_part, of_all);
        assert_eq!(public_only::predictor(&bounded(many, 1, &notes), 1).unwrap(), of_part);
    }

    #[test]
    fn whatever_the_method_public_data_alone_are_the_run_of_public_only() {
        for (task, label) in [(Task::Regression, "y"), (Task::Classification, "class")] {
            let data = data(label);
            let made = |plan: &PlanDefinition| assembled(&data, plan, &PreparedStore::default());
            let (model, errors) = run(made(&plan(public_only::id_for(task))));
            assert!(errors.iter().all(Option::is_some));
            let evaluation = Some(Evaluation { pay: Pay::Share(0.1), ..Evaluation::default() });
            let of = |plan: PlanDefinition| made(&PlanDefinition { evaluation, ..plan }).proposal;
            let scored = of(plan(public_only::id_for(task))).scoring.unwrap();
            assert!(!scored.tally.compared, "its score releases one error");
            let mut caps: Vec<f64> = scored.largest_error().into_iter().collect();
            let all = methods::methods().iter().map(|it| it.spec());
            for spec in all.filter(|spec| spec.task == task && !spec.public_only) {
                let plain = plan(spec.id);
                let scored = of(plain.clone()).scoring.unwrap();
                assert!(scored.tally.compared);
                caps.extend(scored.largest_error());
                let mut plans = vec![plain.clone()];
                plans.push(PlanDefinition { private_records: Some(50), ..plain.clone() });
                if !spec.has_own_predictor {
                    let column = PublicPredictor::Column("b".to_owned());
                    for public_predictor in [PublicPredictor::Linear, column] {
                        plans.push(PlanDefinition { public_predictor, ..plain.clone() });
                    }
                }
                for plan in plans {
                    let told = (plan.method.clone(), plan.public_predictor.to_string());
                    let (theirs, found) = beside(&made(&plan));
                    assert!(theirs == model, "{told:?}: another model");
                    assert_eq!(found, errors, "{told:?}");
                }
            }
            // Scores of plans with the same public data can be compared: they have one cap.
            assert!(caps.iter().all(|cap| *cap == caps[0]), "{caps:?}");
            assert_eq!(caps.is_empty(), task == Task::Classification);
        }
    }

    #[test]
    fn plans_share_what_was_learned_and_the_rows_are_dropped() {
        let (data, store) = (data("y"), PreparedStore::default());
        let narrow = assembled(&data, &plan("target_only"), &store);
        let alone = Arc::clone(narrow.proposal.public_alone().unwrap());
        let records = || matches!(&*alone.records.lock().unwrap(), TrainingRecords::Rows(_));
        assert!(records());
        let model = alone.model().unwrap();
        assert!(!records());
        assert_eq!(alone.model().unwrap(), model);
        // A wide method takes its notes: a mark that is left among them is found.
        let marked = PublicRecords::from((*narrow.proposal.problem.public.shared()).clone());
        marked.noted(&alone.learned.notes).once("mark", 0.0, |_, _| Ok(7.0)).unwrap();
        let wide = assembled(&data, &plan("public_shape"), &store);
        let found = wide.proposal.problem.public.once::<f64>("mark", 0.0, |_, _| Ok(0.0));
        assert_eq!(found.unwrap(), 7.0);
        let theirs = wide.proposal.public_alone().unwrap();
        assert!(Arc::ptr_eq(&theirs.learned, &alone.learned));
        // Other public records are not the same.
        let fewer = PlanDefinition { public_records: Some(100), ..plan("public_shape") };
        let fewer = assembled(&data, &fewer, &store);
        assert!(!Arc::ptr_eq(&fewer.proposal.public_alone().unwrap().learned, &alone.learned));
    }
}
