//! An opened run: its steps, its certificate, and its settlement in the ledger.

use super::assembly::{Assembly, Proposal};
use super::cautions;
use super::comparisons::Comparisons;
use super::evaluator::Evaluator;
use super::job::{Job, RunProgress, Summary, renamed_columns};
use super::remote_control::RemoteControl;
use super::spend::{Spend, SpendEnding};
use super::steps::{StepRecorder, catch};
use crate::data::{Preparation, Table};
use crate::error::Result;
use crate::evaluation::scoring::ScoringNeeds;
use crate::evaluation::{Judged, Scored};
use crate::faults::Fault;
use crate::methods::source_weights;
use crate::model::Model;
use crate::privacy::ledger::RunOutcome;
use crate::privacy::openings::OpenCuratorOnly;
use crate::privacy::{Guarantee, Released};
use crate::session::certificate::{Certificate, Facts};
use crate::session::model_file::{self, Beside};
use crate::session::resumption::Recorded;
use crate::session::{Loaded, RunDirectory, report};

/// A run that may draw, and where it writes.
pub(super) struct RunContext<'a> {
    /// The private dataset.
    pub own: &'a Loaded,
    pub spend: Spend,
    pub directory: RunDirectory,
    /// Steps that an earlier program recorded, if the run is resumed.
    pub recorded: Option<Recorded>,
    /// Remarks for the curator about rows that also exist elsewhere.
    pub known: Vec<String>,
}

/// How a run went, and how often it drew each event.
pub(super) struct ExecutionResult {
    pub summary: Summary,
    pub used: Vec<u64>,
}

/// Takes the steps of an opened run, writes its files and settles it.
pub(super) fn perform(
    job: &Job,
    assembly: Assembly,
    context: RunContext<'_>,
    tell: &mut dyn FnMut(RunProgress),
) -> Result<ExecutionResult> {
    announce(job, &assembly, &context, tell);
    let mut drawn = Drawn::take_steps(job, assembly, context, tell)?;
    let with_start = drawn.certify();
    Ok(drawn.settle(with_start))
}

fn announce(
    job: &Job,
    assembly: &Assembly,
    context: &RunContext,
    tell: &mut dyn FnMut(RunProgress),
) {
    let warnings = assembly.proposal.warnings.iter().chain(&context.spend.notes).cloned();
    let (own, leaked) = (context.own, context.own.leaked(Fault::CountInMessage));
    tell(RunProgress::Granted {
        run: context.spend.grant.run.clone(),
        steps: assembly.proposal.prepared.plan().steps,
        warnings: warnings.chain(job.forewarned()).chain(leaked).collect(),
        cautions: cautions::of(
            &assembly.private,
            own.definition.records.is_some(),
            own.private().ok(),
            &context.known,
            &job.watch,
        ),
    });
}

/// A run that makes no more draws.
struct Drawn<'a> {
    job: &'a Job,
    context: RunContext<'a>,
    preparation: Preparation,
    model: Option<Released<Model>>,
    /// For the certificate, without the model's file.
    facts: Facts,
    ending: SpendEnding,
    /// Before the files are written and the run is settled.
    summary: Summary,
}

impl<'a> Drawn<'a> {
    /// Takes the steps, and releases the score of the resulting model.
    fn take_steps(
        job: &'a Job,
        assembly: Assembly,
        mut context: RunContext<'a>,
        tell: &mut dyn FnMut(RunProgress),
    ) -> Result<Self> {
        let Assembly { proposal, private, private_holdout, private_scored } = assembly;
        let public_alone = proposal.public_alone().cloned();
        let Proposal {
            preparation, judging, problem, prepared, calibrated, public_holdout, ..
        } = proposal;
        let evaluator = Evaluator::new(
            (&preparation, &judging),
            &public_holdout,
            private_holdout.as_ref(),
            &job.watch,
        );
        let compare =
            || Comparisons::begin(&evaluator, &problem.shape, public_alone.as_ref(), &private);
        let mut comparisons = None;
        let mut report = |event: RunProgress| {
            if matches!(event, RunProgress::Stepped(_)) {
                comparisons.get_or_insert_with(compare);
            }
            tell(event);
        };
        let remote_control = RemoteControl::of(context.directory.path(), &job.control);
        let recorded = context.recorded.take();
        let mut steps = StepRecorder::new(
            &job.control,
            &evaluator,
            &calibrated,
            recorded,
            &mut context.directory,
            &mut report,
        );
        let start = || prepared.start(private.share(), &calibrated);
        let (model, mut ended) = steps.take(start, &mut context.spend.spender);
        drop(remote_control);
        let StepRecorder { taken, worked, weights, mut resumable, .. } = steps;
        let weighed = |it| source_weights(&job.plan.public, &problem.public, &it);
        let source_weights = weights.map_or_else(Vec::new, weighed);

        let comparisons = comparisons.unwrap_or_else(compare);
        let alone = comparisons.public(&job.control);
        // Missing draws of a run that ended early cover no score. With noise that is not secret,
        // nothing may be published.
        let mut released = None;
        if let (true, Some(model), Ok(RunOutcome::Finished)) =
            (context.spend.grant.noise.is_secret(), &model, &ended)
        {
            let label = |raw: f64| preparation.label_from_prediction(raw);
            // It is not compared with itself.
            let beside = alone.as_ref().filter(|alone| *alone != model.get());
            let judged = Judged { model: model.get(), view: &evaluator.own };
            let needs = ScoringNeeds {
                public_alone: beside.map(|model| Judged { model, view: &evaluator.alone }),
                public_holdout: Some(&public_holdout),
                classes: &problem.shape.classes,
                label: &label,
            };
            let own = proposal.scoring.as_ref().zip(private_scored.as_ref());
            let score = catch(|| match (&proposal.test, own) {
                (Some(test), _) => test.draw(job, judged, &judging, &needs).map(Some),
                (None, Some((scoring, records))) => scoring
                    .draw(records, judged, &needs, &mut context.spend.spender)
                    .map(|score| Some(score.into_inner())),
                (None, None) => Ok(None),
            });
            match score {
                Ok(score) => {
                    let foretold = job.foretold();
                    released = score.map(|score| Scored { foretold, ..score });
                }
                Err(error) => {
                    resumable |= context.spend.spender.is_broken();
                    ended = Err(error);
                }
            }
        }

        let baselines = comparisons.private(&job.control, alone);
        let own = context.own;
        let mut scores = evaluator.scores(model.as_ref(), &baselines, job.plan.loss());
        let held_out = Table::holdout_rows(own.rows, job.plan.holdout);
        scores.persons = own.unit().map(|_| held_out);
        if own.definition.records.is_some() {
            // The number of records that are not empty would reveal what `records` hides.
            scores.held_out = scores.held_out.map(|count| count.map(|_| held_out));
        }
        let mut ending = context.spend.end(ended, resumable)?;
        ending.trouble = ending.trouble.or_else(|| context.spend.spender.parted().cloned());
        let facts = Facts {
            lineage: proposal.lineage,
            taken_as_public: proposal.taken_as_public,
            rehearsed: job.expected(),
            score: released,
            source_weights,
            ..context.spend.facts(&ending, problem.shape.private_records)
        };
        let summary = Summary {
            run: facts.run.clone(),
            directory: context.directory.path().to_path_buf(),
            plan: job.plan.name.clone(),
            method: proposal.method.spec().name,
            public_only: proposal.method.spec().public_only,
            sites: facts.sites.clone(),
            unit: facts.unit.clone(),
            private_records: facts.records,
            public_records: problem.shape.public_records,
            outcome: ending.outcome,
            target: job.plan.target,
            guarantee: ending.guarantee.clone(),
            with_start: None,
            scores,
            score: facts.score.clone(),
            source_weights: facts.source_weights.clone(),
            steps: taken,
            worked,
            peeked: ending.peeked,
            trouble: None,
        };
        Ok(Self { job, context, preparation, model, facts, ending, summary })
    }

    /// Writes the files of a run that is over. Returns the guarantee of its model, if it differs
    /// from the run's own.
    fn certify(&mut self) -> Option<Guarantee> {
        let (directory, mut facts) = (&mut self.context.directory, self.facts.clone());
        self.ending.certify(|| {
            let model = self.model.as_ref().map(|model| {
                let loaded = self.job.loaded();
                let mut rename = renamed_columns(&self.job.plan, &loaded);
                if loaded.iter().any(|own| own.stolen(Fault::LengthOfModel) > 0) {
                    rename.insert(String::new(), String::new());
                }
                let beside = Beside {
                    preparation: &self.preparation,
                    rename: &rename,
                    score: facts.score.as_ref(),
                    noise: facts.noise,
                };
                model_file::keep(directory, model, &beside)
            });
            facts.model = model.transpose()?;
            let certificate = Certificate::of(facts)?;
            let exact = self.summary.scores.exact(&self.job.watch);
            directory.record_errors(self.summary.steps, exact)?;
            certificate.keep(directory)?;
            if let Some(advice) = self.job.advice() {
                report::keep_rehearsal(directory.path(), &advice)?;
            }
            if self.job.loaded().iter().all(|own| own.stolen(Fault::FileForSome) == 0) {
                report::leave(directory.path())?;
            }
            Ok(certificate.of_this_run.and(certificate.guarantee))
        })
    }

    fn settle(self, with_start: Option<Guarantee>) -> ExecutionResult {
        let (spend, mut ending) = (self.context.spend, self.ending);
        let used = spend.spender.counts().to_vec();
        ending.settle(spend, &self.summary.directory);
        let SpendEnding { outcome, trouble, .. } = ending;
        ExecutionResult { summary: Summary { outcome, with_start, trouble, ..self.summary }, used }
    }
}
