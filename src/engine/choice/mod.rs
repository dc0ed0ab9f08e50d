//! Chooses one of several plans by private records, and pays for the choice.
//!
//! All candidates are trained under one grant, with enough noise for all of them together to meet
//! the target. Public data alone are a candidate, too, and cost nothing. Records that no training
//! sees decide: the summed losses of all candidates are released with Gaussian noise. The least one
//! wins, unless noise alone can explain why it is below the first. Then the winner's score is
//! released from the same records.
//!
//! *The cost.* The seed and share of the first plan decide which records are held out; every
//! candidate trains on the same others. A training record is seen by all candidates, and their
//! releases add up. A held-out record is seen only by the choice and the score. The guarantee is
//! the worse of the two (see `privacy::accountant::held_out`), and the noise of training covers
//! both releases.
//!
//! Only noisy sums are kept of the losers. If the program dies, the choice counts in full and
//! cannot be resumed.
//!
//! With many candidates it is cheaper to train a secret number of randomly drawn ones: see
//! [`repeats`].

mod all;
mod decision;
mod repeats;

use std::collections::HashSet;
use std::sync::Arc;

use self::all::AllTrained;
use self::repeats::Repeating;
use super::assembly::{Assembly, Proposal};
use super::job::{Job, in_known_order, named, renamed_columns};
use super::prepared::PreparedStore;
use super::preview::account_of;
use super::public_alone::PublicAlone;
use super::remote_control::RemoteControl;
use super::spend::{OpenAccount, Purpose, Spend, was_perhaps_granted};
use super::steps::catch;
use super::{Control, overlap, rehearse};
use crate::data::preparation::{Judging, View};
use crate::data::{Bounded, HeldOut, Preparation, PublicData, Table};
use crate::error::{Error, Result};
use crate::evaluation::scoring::{Scoring, ScoringNeeds};
use crate::evaluation::tally::Kind;
use crate::evaluation::{Evaluation, Judged, Pay, Score, Scored};
use crate::methods::{self, Companion, Run, Step};
use crate::model::Model;
use crate::privacy::ledger::{RunId, RunOutcome};
use crate::privacy::{
    Calibrated, Guarantee, NoiseSource, Private, Released, Spender, Target, Watch,
};
use crate::rehearsal::Player;
use crate::session::certificate::{
    Certificate, CertifiedChoice as Winner, Choice, Facts, TakenAsPublic,
};
use crate::session::model_file::{self, Beside};
use crate::session::{Loaded, PlanDefinition, RunDirectory, Session, Workspace, report};

/// Name of the method in the ledger.
pub const METHOD: &str = crate::session::archive::CHOICE;
/// The name of public data alone among the candidates.
pub const PUBLIC_ALONE: &str = "public data alone";

/// Repeats may miss the best candidate. They are worth this if each training gets this many times
/// the ε.
const LEAST_GAIN_OF_REPEATS: f64 = 1.1;

/// Candidates hardly differ by more than this, in per cent of the largest error or of all answers.
const ROUGH_DIFFERENCE: f64 = 5.0;

/// How the candidates are trained.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Way {
    /// The way that leaves each training clearly more ε.
    #[default]
    Auto,
    /// Every one of them once.
    All,
    /// One that is drawn at random, a secret number of times.
    Repeats,
}

/// A choice to be made, with everything it needs.
#[derive(Debug, Clone)]
pub struct ChoiceJob {
    pub session: Session,
    /// The candidates, besides public data alone.
    pub plans: Vec<PlanDefinition>,
    /// The target of the whole choice.
    pub target: Target,
    pub way: Way,
    pub datasets: Vec<Arc<Loaded>>,
    pub workspace: Workspace,
    /// Prepared records, and predictors trained on public ones.
    pub prepared: PreparedStore,
    pub control: Control,
}

/// The cost and the possible results of a choice, before anything is spent.
#[derive(Debug, Clone)]
pub struct Offer {
    pub plans: Vec<PlanDefinition>,
    pub target: Target,
    /// By name; public data alone last.
    pub candidates: Vec<String>,
    /// ε of each training.
    pub each: f64,
    /// How the candidates are trained, in words.
    pub how: String,
    /// Whether only the curator may see which of them are trained, and how often.
    pub trains_in_secret: bool,
    /// How much two errors must differ so that noise does not hide it.
    pub apart: String,
    pub warnings: Vec<String>,
    /// Why the ledger would refuse it.
    pub refusal: Option<Error>,
}

/// The reports of a choice while it works.
#[derive(Debug, Clone)]
pub enum ChoiceProgress {
    /// Granted, on these terms.
    Granted { run: RunId, offer: Box<Offer> },
    /// A candidate took a step. With repeats, only the curator may see which candidate it is.
    Stepped { name: String, step: u64, of: u64 },
}

/// A candidate's released error.
#[derive(Debug, Clone, PartialEq)]
pub struct Placed {
    pub name: String,
    pub error: Score,
}

/// A finished, stopped or failed choice.
#[derive(Debug, Clone)]
pub struct Chosen {
    pub run: RunId,
    pub directory: std::path::PathBuf,
    pub outcome: RunOutcome,
    pub target: Target,
    /// The columns that identify the person of a row, where persons are protected.
    pub unit: Option<String>,
    /// The guarantee of everything drawn.
    pub guarantee: Guarantee,
    /// Candidates whose errors were released: all in the order of the plans, or with repeats only
    /// the best one; public data alone last.
    pub placed: Vec<Placed>,
    /// Which of them won.
    pub winner: Option<usize>,
    pub score: Option<Scored>,
    /// How the candidates were trained, in words.
    pub how: String,
    pub trouble: Option<Error>,
}

/// A plan that is ready to be trained.
struct ReadyPlan {
    job: Job,
    assembly: Assembly,
    holdout: Private<HeldOut>,
}

/// How the candidates are trained.
enum Training {
    All(AllTrained),
    Repeats(Repeating),
}

/// The trainings that fit into the target, and what may be drawn.
struct Arrangement {
    training: Training,
    /// What each candidate may draw.
    own: Vec<Calibrated>,
    /// Everything that may be drawn.
    all: Calibrated,
    /// The score of the winner.
    scoring: Scoring,
}

/// The parts of a choice, before anything is granted.
struct PreparedChoice {
    candidates: Vec<ReadyPlan>,
    arrangement: Arrangement,
    /// The model of public data alone, if it is a candidate.
    alone: Option<Model>,
}

impl Arrangement {
    /// ε of the training that gets the most, with its score if repeats pay for that.
    fn each(&self) -> f64 {
        self.own.iter().map(|own| own.guarantee().epsilon).fold(0.0, f64::max)
    }
}

/// The winner, and the results that may be published.
struct Decision {
    /// Index among the names of all candidates.
    winner: usize,
    /// The plan by which the model's features are prepared.
    of_plan: usize,
    model: Released<Model>,
    placed: Vec<Placed>,
    score: Scored,
}

impl ChoiceJob {
    /// The candidates under one split.
    fn candidates(&self) -> Result<Vec<ReadyPlan>> {
        let mut names = HashSet::new();
        if let Some(plan) = self.plans.iter().find(|plan| !names.insert(&plan.name)) {
            return Err(Error::usage(format!("plan '{}' is named twice", plan.name))
                .cure("name each candidate once: it would be trained and paid for twice"));
        }
        let Some(first) = self.plans.first() else {
            return Err(Error::usage("there is no plan to choose")
                .cure("add plans to the session, or name some: --plans a,b"));
        };
        let ready = self.plans.iter().map(|plan| {
            let ready = self.candidate(plan, first);
            ready.map_err(|error| error.within(&format!("plan '{}'", plan.name)))
        });
        ready.collect()
    }

    fn candidate(&self, plan: &PlanDefinition, first: &PlanDefinition) -> Result<ReadyPlan> {
        if plan.private != first.private {
            return Err(Error::usage(format!(
                "its private data are '{}', and those of '{}' are '{}'",
                plan.private, first.name, first.private
            ))
            .cure("choose among plans for the same private data"));
        }
        if methods::method(&plan.method)?.spec().public_only {
            return Err(Error::usage(
                "public data alone are a candidate of every choice, and cost nothing",
            )
            .cure("leave this plan out"));
        }
        let uses_a_model = plan.public_predictor.builds_on().is_some();
        if plan.start.is_some() || uses_a_model {
            return Err(Error::usage("it builds on an earlier model").cure(
                "choose among plans without `start` and without `public_predictor: model(…)` or column_of(…)",
            ));
        }
        let each = self.target.epsilon / (self.plans.len() as f64).sqrt();
        let plan = PlanDefinition {
            target: Target { epsilon: each, delta: self.target.delta },
            holdout: first.holdout,
            seed: first.seed,
            evaluation: None,
            test: None,
            ..plan.clone()
        };
        // Variants of one plan share their records; other plans would replace them in the store.
        let alike = plan.method == first.method && plan.public == first.public;
        let prepared = if alike { self.prepared.clone() } else { self.prepared.apart() };
        let (session, datasets) = (self.session.clone(), self.datasets.clone());
        let job = Job { prepared, ..Job::new(session, plan, datasets, self.workspace.clone()) };
        let assembly = job.assemble()?;
        let holdout = assembly.private_scored.as_ref().map(Private::share);
        let holdout = holdout.ok_or_else(|| {
            if job.plan.holdout == 0.0 {
                Error::usage("no record is held out to choose by")
                    .cure("raise `holdout` of the first plan, to 0.2 for example")
            } else {
                Error::usage("the private data have no label to choose by")
                    .cure("choose their label column")
            }
        })?;
        Ok(ReadyPlan { job, assembly, holdout })
    }

    fn prepare(&self) -> Result<PreparedChoice> {
        for plan in &self.plans {
            self.session.check_plan(plan)?;
        }
        let candidates = self.candidates()?;
        let first = &candidates[0];
        let private = first.job.private()?;
        let is_public = |loaded: &&Loaded| {
            let name = &loaded.definition.name;
            self.plans.iter().any(|plan| plan.public.contains(name))
        };
        let publics: Vec<&Loaded> =
            self.datasets.iter().map(Arc::as_ref).filter(is_public).collect();
        overlap::refuse_private_rows(private, &publics, &self.workspace, &Watch::sealed())?;
        let asked = self.plans[0].evaluation.unwrap_or_default();
        let asked = Evaluation { pay: Pay::Covered, ..asked };
        let rows = Table::holdout_rows(private.rows, first.job.plan.holdout);
        let alone = first.assembly.proposal.public_alone().and_then(|alone| alone.model());
        let comparable = alone.is_some();
        let mut public = first.assembly.proposal.scored_by_public(&first.job.plan);
        public.comparable = comparable;
        let scoring = public.scoring(asked, &private.definition, rows)?;
        let models = candidates.len() + usize::from(comparable);
        if models < 2 {
            return Err(Error::usage("there is only one candidate")
                .cure("name further plans, or give the public data the private label"));
        }
        let arrangement = self.arrange(&candidates, &scoring, models)?;
        Ok(PreparedChoice { candidates, arrangement, alone })
    }

    /// A warning if rehearsals of these plans expect no gain from the choice.
    fn idle(&self) -> Option<String> {
        let first = self.plans.first().filter(|_| self.plans.len() > 1)?;
        let loaded: Vec<&Loaded> = self.datasets.iter().map(Arc::as_ref).collect();
        let advice = rehearse::known(first, &loaded, &self.workspace)?;
        let players: Vec<Player> = self.plans.iter().map(PlanDefinition::player).collect();
        let prospect = advice.prospect(&players, self.target.epsilon)?;
        (!prospect.pays()).then(|| {
            format!(
                "the choice is not expected to be worth it: in rehearsals the best of these plans \
                 had {:.2} times the error of public data alone with the ε that a choice leaves to \
                 each plan, and one plan with all of the ε had {:.2} times that error",
                prospect.choice, prospect.single
            )
        })
    }

    /// The requested way, or the one that leaves each training more ε.
    fn arrange(
        &self,
        candidates: &[ReadyPlan],
        scoring: &Scoring,
        models: usize,
    ) -> Result<Arrangement> {
        let all = || all::arrange(candidates, scoring, models, self.target);
        let repeats = || repeats::arrange(candidates, scoring, self.target);
        match self.way {
            Way::All => all(),
            Way::Repeats => repeats(),
            Way::Auto => {
                let once = all()?;
                let repeats = repeats().ok();
                let better = |it: &Arrangement| it.each() > LEAST_GAIN_OF_REPEATS * once.each();
                Ok(repeats.filter(better).unwrap_or(once))
            }
        }
    }

    /// The cost of the choice. Nothing is drawn and nothing is written.
    pub fn offer(&self) -> Result<Offer> {
        let prepared = self.prepare()?;
        let private = named(&self.datasets, &self.plans[0].private)?;
        let account = account_of(private, &self.session, &self.workspace)?;
        let purpose = Purpose::new(METHOD, &prepared.arrangement.all);
        let refusal = Purpose::admit_all(&[purpose], &account, private).err();
        Ok(Offer { refusal, ..self.terms(&prepared)? })
    }

    /// The cost and the possible results of a prepared choice that the ledger admits.
    fn terms(&self, prepared: &PreparedChoice) -> Result<Offer> {
        let PreparedChoice { candidates, arrangement, alone } = prepared;
        let (how, noise) = match &arrangement.training {
            Training::All(it) => (all::HOW.to_owned(), it.noise(arrangement)?),
            Training::Repeats(it) => (it.words(candidates.len()), repeats::noise(arrangement)?),
        };
        let mut warnings: Vec<String> = self.idle().into_iter().collect();
        // Each once, even if several candidates have it.
        for note in candidates.iter().flat_map(|it| &it.assembly.proposal.warnings) {
            if !warnings.contains(note) {
                warnings.push(note.clone());
            }
        }
        let plans = self.plans.iter().map(|plan| plan.name.clone());
        Ok(Offer {
            plans: self.plans.clone(),
            target: self.target,
            candidates: plans.chain(alone.as_ref().map(|_| PUBLIC_ALONE.to_owned())).collect(),
            each: arrangement.each(),
            how,
            trains_in_secret: matches!(arrangement.training, Training::Repeats(_)),
            apart: apart(&arrangement.scoring, noise),
            warnings,
            refusal: None,
        })
    }

    /// Makes the choice. Errors before the grant spend nothing; later ones end in a
    /// `CertifiedChoice` whose guarantee counts the draws.
    pub fn execute(&self, tell: &mut dyn FnMut(ChoiceProgress)) -> Result<Chosen> {
        self.launch(NoiseSource::Secret, tell)
    }

    /// Makes the choice with noise from a seed, for studies on public data. The result is charged
    /// but not private at all, and its certificate says so.
    pub fn execute_insecurely(
        &self,
        noise_seed: u64,
        tell: &mut dyn FnMut(ChoiceProgress),
    ) -> Result<Chosen> {
        let known = Self { datasets: in_known_order(&self.datasets), ..self.clone() };
        known.launch(NoiseSource::Seeded(noise_seed), tell)
    }

    fn launch(&self, noise: NoiseSource, tell: &mut dyn FnMut(ChoiceProgress)) -> Result<Chosen> {
        let prepared = self.prepare()?;
        let offer = Box::new(self.terms(&prepared)?);
        let how = offer.how.clone();
        let private = named(&self.datasets, &self.plans[0].private)?;
        let account = OpenAccount::open(private, &self.workspace, &self.session)?;
        let purpose = Purpose {
            allow_large_delta: self.plans.iter().any(|plan| plan.allow_large_delta),
            noise,
            ..Purpose::new(METHOD, &prepared.arrangement.all)
        };
        let run = purpose.run.clone();
        let directory = RunDirectory::of_plans(&self.workspace, &run, &self.session, &self.plans)?;
        let opened = Spend::open(account, &purpose, None, &Watch::sealed());
        let mut spend = opened.map_err(|error| {
            if !was_perhaps_granted(&self.workspace, &run, directory.path()) {
                return error;
            }
            let open = Error::new(error.kind(), error.what());
            open.cure(format!("settle it: `halflight ledger settle {}`; then choose again", run.0))
        })?;
        let PreparedChoice { candidates, arrangement, alone } = prepared;
        tell(ChoiceProgress::Granted { run: run.clone(), offer });
        let (begin, kept): (Vec<_>, Vec<_>) = candidates.into_iter().map(ReadyPlan::split).unzip();
        let (name, nobody) = (String::new(), Watch::sealed());
        let mut training = CandidateTraining { control: &self.control, tell, name, nobody };
        let basis = Basis { kept: &kept, alone: alone.as_ref() };
        let remote_control = RemoteControl::of(directory.path(), &self.control);
        let spender = &mut spend.spender;
        let decided = catch(|| match &arrangement.training {
            Training::All(it) => it.decide(&arrangement, begin, &basis, &mut training, spender),
            Training::Repeats(_) => {
                // They prepare their own.
                drop(begin);
                repeats::decide(&arrangement, &basis, &mut training, spender)
            }
        });
        drop(remote_control);

        let (decision, ended) = match decided {
            Ok(Some(decision)) => (Some(decision), Ok(RunOutcome::Finished)),
            Ok(None) => (None, Ok(RunOutcome::Stopped)),
            Err(error) => (None, Err(error)),
        };
        let mut ending = spend.end(ended, false)?;
        let winner = decision.as_ref().map(|it| it.winner);
        let of_plan = decision.as_ref().map_or(0, |it| it.of_plan);
        let all_names = basis.names();
        // Known noise hides nothing, so nothing may be published.
        let secret = noise.seed().is_none();
        let facts = Facts {
            method: kept[of_plan].job.plan.method.clone(),
            taken_as_public: TakenAsPublic::of_all(
                kept.iter().map(|it| it.taken_as_public.clone()),
            ),
            score: decision.as_ref().filter(|_| secret).map(|it| it.score.clone()),
            // Whatever the result, all candidates were meant to draw.
            chosen: Some(Choice {
                chosen: chosen(winner, &all_names, &how),
                methods: kept.iter().map(|it| it.job.plan.method.clone()).collect(),
            }),
            ..spend.facts(&ending, kept[of_plan].problem.shape.private_records)
        };
        ending.certify(|| {
            let model = decision.as_ref().map(|it| {
                let of = &kept[of_plan];
                let rename = renamed_columns(&of.job.plan, &of.job.loaded());
                let score = secret.then_some(&it.score);
                // Public data alone come last, and take records in their own form.
                let alone = of.judging.preparation_alone().filter(|_| it.winner == kept.len());
                let preparation = alone.unwrap_or(&of.preparation);
                let beside = Beside { preparation, rename: &rename, score, noise };
                model_file::keep(&directory, &it.model, &beside)
            });
            let certificate = Certificate::of(Facts { model: model.transpose()?, ..facts })?;
            certificate.keep(&directory)?;
            report::leave(directory.path())?;
            Ok(Some(()))
        });
        ending.settle(spend, directory.path());
        let (placed, score) = decision.map(|it| (it.placed, it.score)).unzip();
        let placed = placed.unwrap_or_default();
        Ok(Chosen {
            run,
            directory: directory.path().to_path_buf(),
            outcome: ending.outcome,
            unit: private.unit(),
            target: self.target,
            guarantee: ending.guarantee,
            winner: winner.and_then(|it| placed.iter().position(|at| at.name == all_names[it])),
            placed,
            score,
            how,
            trouble: ending.trouble,
        })
    }
}

/// How far apart two candidates must be: two standard deviations of the noise of a difference, given
/// that of one summed loss.
fn apart(scoring: &Scoring, noise: f64) -> String {
    let share = 100.0 * 2.0 * 2.0_f64.sqrt() * noise / scoring.tally.rows as f64;
    let much = match scoring.tally.kind {
        Kind::Classes { .. } => format!("{share:.1} percentage points of wrong answers"),
        Kind::Numbers { .. } => format!("{share:.1} % of the largest error that counts"),
    };
    if share <= ROUGH_DIFFERENCE {
        return much;
    }
    format!(
        "{much}, which is too rough to choose well: this ε is likely better spent on the plan that \
         rehearsal advises"
    )
}

/// The basis on which models are judged.
struct Basis<'a> {
    kept: &'a [KeptCandidate],
    alone: Option<&'a Model>,
}

impl Basis<'_> {
    /// The names of all candidates, public data alone last.
    fn names(&self) -> Vec<String> {
        let plans = self.kept.iter().map(|it| it.job.plan.name.clone());
        plans.chain(self.alone.map(|_| PUBLIC_ALONE.to_owned())).collect()
    }
}

/// The part of a candidate that is kept when its training has begun.
struct KeptCandidate {
    job: Job,
    problem: methods::Problem,
    preparation: Preparation,
    judging: Judging,
    /// What the plan's model takes of a held-out record, and what public data alone take.
    own: View,
    alone: View,
    public_alone: Option<Arc<PublicAlone>>,
    public_holdout: Arc<PublicData>,
    holdout: Private<HeldOut>,
    taken_as_public: TakenAsPublic,
}

impl ReadyPlan {
    /// The training, and what is kept of the candidate.
    fn split(self) -> ((methods::Prepared, Private<Bounded>), KeptCandidate) {
        let Self { job, assembly: Assembly { proposal, private, .. }, holdout } = self;
        let public_alone = proposal.public_alone().cloned();
        let Proposal {
            prepared,
            problem,
            preparation,
            judging,
            public_holdout,
            taken_as_public,
            ..
        } = proposal;
        let (own, alone) = (judging.own(), judging.alone());
        let kept = KeptCandidate {
            job,
            problem,
            preparation,
            judging,
            own,
            alone,
            public_alone,
            public_holdout,
            holdout,
            taken_as_public,
        };
        ((prepared, private), kept)
    }
}

impl KeptCandidate {
    /// What the score of a model of this candidate needs.
    fn needs<'a>(
        &'a self,
        public_alone: Option<&'a Model>,
        label: &'a (dyn Fn(f64) -> f64 + Sync),
    ) -> ScoringNeeds<'a> {
        let public_alone = public_alone.map(|model| Judged { model, view: &self.alone });
        let (classes, public_holdout) = (&self.problem.shape.classes, Some(&*self.public_holdout));
        ScoringNeeds { public_alone, public_holdout, classes, label }
    }
}

/// Follows the training of all candidates, with nobody watching.
struct CandidateTraining<'a> {
    control: &'a Control,
    tell: &'a mut dyn FnMut(ChoiceProgress),
    name: String,
    nobody: Watch,
}

impl Companion for CandidateTraining<'_> {
    fn watch(&mut self, _: &Spender) -> Option<&Watch> {
        self.control.proceed().then_some(&self.nobody)
    }

    fn taken(&mut self, _: &dyn Run, _: &Spender, step: Step) -> Result<()> {
        let name = self.name.clone();
        (self.tell)(ChoiceProgress::Stepped { name, step: step.index, of: step.total });
        Ok(())
    }
}

/// The winner, the candidates, and how they were trained.
fn chosen(winner: Option<usize>, candidates: &[String], how: &str) -> Winner {
    let winner = winner.and_then(|winner| candidates.get(winner)).cloned();
    let among = format!("among {} candidates ({})", candidates.len(), candidates.join(", "));
    let sentence = match &winner {
        Some(winner) => format!(
            "'{winner}' was chosen {among} by its error on held-out private records, released with \
             noise. {how} The guarantee counts all of it."
        ),
        None => format!("Nothing was chosen {among}: it ended early."),
    };
    Winner { winner, candidates: candidates.to_vec(), sentence }
}
