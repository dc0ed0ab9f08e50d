//! A run on built-in, public data whose noise comes from a seed: the same every time, for the
//! pictures in README and guide. Nothing is spent, no ledger is touched, and the result is not
//! private. So this is refused for any data that could be private.

use std::sync::Arc;
use std::time::Duration;

use super::assembly::{Assembly, Proposal};
use super::evaluator::Evaluator;
use super::job::{Job, RunProgress, StepProgress, Summary};
use super::public_alone::public_alone;
use super::steps::epsilon_of;
use crate::data::Source;
use crate::error::{Error, Result};
use crate::evaluation::scoring::ScoringNeeds;
use crate::privacy::accountant::Composition;
use crate::privacy::ledger::{AccountId, RunId, RunOutcome};
use crate::privacy::openings::OpenSpender;
use crate::privacy::{NoiseSource, Released, Spender};
use crate::session::certificate::{AccountStanding, Certificate, Facts, TakenAsPublic};
use crate::session::{Loaded, RunDirectory};

/// The stated duration of a step: a clock would differ every time.
const STEP_TIME: Duration = Duration::from_millis(4);

pub fn run_for_pictures(
    job: &Job,
    run: &RunId,
    seed: u64,
    tell: &mut dyn FnMut(RunProgress),
) -> Result<Summary> {
    let loaded: Vec<&Loaded> = job.datasets.iter().map(Arc::as_ref).collect();
    let built_in = |loaded: &&Loaded| {
        matches!(loaded.definition.source, Source::Builtin(_) | Source::Synthetic { .. })
    };
    if !loaded.iter().all(built_in) {
        return Err(Error::refused("only built-in data may be shown in pictures")
            .cure("run the plan: its noise is real and the ledger knows of it"));
    }
    let job = &job.in_known_order();
    let Assembly { proposal, private, private_holdout: holdout, .. } = job.assemble()?;
    let Proposal { method, preparation, problem, prepared, calibrated, .. } = proposal;
    let (warnings, cautions) = (Vec::new(), None);
    tell(RunProgress::Granted {
        run: run.clone(),
        steps: prepared.plan().steps,
        warnings,
        cautions,
    });
    let mut directory = RunDirectory::create(&job.workspace, run, &job.session, &job.plan)?;
    let evaluator = Evaluator {
        preparation: &preparation,
        public: &proposal.public_holdout,
        private: holdout.as_ref(),
        watch: &job.watch,
    };
    let (private_records, public_records) =
        (problem.shape.private_records, problem.shape.public_records);
    let alone = public_alone(&problem, &job.plan.method);
    let baselines = evaluator.comparing(&problem.shape, &private)().beside(alone.clone());
    let delta = job.plan.target.delta;
    let mut spender = Spender::rehearsal(&calibrated, seed);
    let mut running = prepared.start(private, &calibrated)?;
    let mut steps = 0;
    running.drive(&mut spender, &job.watch, |running, spender, mut step| {
        evaluator.evaluate(running, &mut step);
        let epsilon = epsilon_of(spender, &calibrated)?;
        directory.record(&step, epsilon, &job.watch)?;
        steps = step.index;
        tell(RunProgress::Stepped(StepProgress {
            step,
            epsilon,
            worked: STEP_TIME * steps as u32,
        }));
        Ok(())
    })?;
    let model = running.finish()?;
    let label = |raw: f64| preparation.label_from_prediction(raw);
    let needs = ScoringNeeds {
        public_alone: alone.as_ref(),
        public_holdout: Some(&proposal.public_holdout),
        classes: &problem.shape.classes,
        label: &label,
    };
    let score = proposal.scoring.zip(holdout.as_ref()).map(|(scoring, holdout)| {
        scoring.draw(holdout, model.get(), &needs, &mut spender).map(Released::into_inner)
    });
    let score = score.transpose()?;
    let mechanisms = spender.drawn();
    let guarantee = Composition::of(&mechanisms)?.guarantee(delta)?;
    let peeked = job.watch.has_peeked();
    let certificate = Certificate::of(Facts {
        run: run.clone(),
        account: AccountId("pictures".to_owned()),
        method: job.plan.method.clone(),
        outcome: RunOutcome::Finished,
        records: private_records,
        target: job.plan.target,
        guarantee: guarantee.clone(),
        mechanisms,
        peeked,
        allow_large_delta: job.plan.allow_large_delta,
        noise: NoiseSource::Secret,
        unit: None,
        lineage: None,
        taken_as_public: TakenAsPublic::default(),
        standing: AccountStanding::default(),
        rehearsed: None,
        told: score.clone(),
        source_weights: Vec::new(),
        model: None,
        chosen: None,
    })?;
    directory.write_certificate(&certificate)?;
    Ok(Summary {
        run: run.clone(),
        // Its place beside a session; the workspace's own path differs every time.
        directory: std::path::Path::new(".halflight/runs").join(&run.0),
        plan: job.plan.name.clone(),
        method: method.spec().name,
        unit: None,
        private_records,
        public_records,
        outcome: RunOutcome::Finished,
        target: job.plan.target,
        guarantee,
        with_start: None,
        scores: evaluator.scores(Some(&model), &baselines),
        score,
        source_weights: Vec::new(),
        steps,
        worked: STEP_TIME * steps as u32,
        peeked,
        trouble: None,
    })
}
