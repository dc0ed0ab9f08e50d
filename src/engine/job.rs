//! A run to be made, its events while it works, and its outcome.

use std::borrow::Borrow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::assembly::{Assembly, Proposal, propose_for};
use super::control::Control;
use super::evaluator::Scores;
use super::prepared::PreparedStore;
use super::sites::Place;
use super::{rehearse, resemblance};
use crate::error::{Error, Result};
use crate::evaluation::{Score, Scored};
use crate::methods::{ColumnCorrection, JointShape, SourceWeight, Step};
use crate::privacy::ledger::{RunId, RunOutcome};
use crate::privacy::{CuratorOnly, Guarantee, NoiseSource, Target, Transcript, Watch};
use crate::rehearsal::advice::Advice;
use crate::session::resumption::{self, Origin};
use crate::session::rows_of_run;
use crate::session::{Loaded, PlanDefinition, RunDirectory, Session, Workspace};

/// A run to be made, with everything it needs.
#[derive(Debug, Clone)]
pub struct Job {
    pub session: Session,
    pub plan: PlanDefinition,
    pub datasets: Vec<Arc<Loaded>>,
    pub workspace: Workspace,
    pub watch: Watch,
    pub control: Control,
    /// Records prepared for it or for others like it.
    pub prepared: PreparedStore,
    /// Where it meets other sites, if several run the plan together.
    pub sites: Option<Place>,
    /// What is known of them, once it has met them.
    pub joint: Option<JointShape>,
}

/// The events of a run while it works.
#[derive(Debug, Clone)]
pub enum RunProgress {
    /// What to say of the other sites of a joint run: who is awaited, or all of them. Nothing is spent so far.
    Sites(Vec<String>),
    /// Granted: the whole plan is reserved in the ledger.
    Granted {
        run: RunId,
        steps: u64,
        warnings: Vec<String>,
        /// Warnings about the private records, for the curator.
        cautions: Option<CuratorOnly<Vec<String>>>,
    },
    Stepped(StepProgress),
}

#[derive(Debug, Clone)]
pub struct StepProgress {
    pub step: Step,
    /// ε of everything drawn so far, at the target's δ.
    pub epsilon: f64,
    /// Time at work, without pauses.
    pub worked: Duration,
    /// The corrections of single columns, released; empty if the method corrects none.
    pub columns: Vec<ColumnCorrection>,
}

/// A finished, stopped or failed run.
#[derive(Debug, Clone)]
pub struct Summary {
    pub run: RunId,
    pub directory: PathBuf,
    pub plan: String,
    pub method: &'static str,
    /// Whether its model is that of public data alone.
    pub public_only: bool,
    /// The other sites of a joint run.
    pub sites: Vec<String>,
    /// The columns that identify the person of a row, where persons are protected.
    pub unit: Option<String>,
    /// Records, or persons.
    pub private_records: usize,
    pub public_records: usize,
    pub outcome: RunOutcome,
    pub target: Target,
    /// The guarantee of everything drawn.
    pub guarantee: Guarantee,
    /// The guarantee of the model, if it started from others on the same account.
    pub with_start: Option<Guarantee>,
    pub scores: Scores,
    /// The released score of the model on held-out private records.
    pub score: Option<Scored>,
    /// What the records of several public datasets weigh in the model, released.
    pub source_weights: Vec<SourceWeight>,
    pub steps: u64,
    pub worked: Duration,
    pub peeked: bool,
    /// Why it failed.
    pub trouble: Option<Error>,
}

impl Job {
    /// A run that nobody watches, with records of its own.
    pub fn new(
        session: Session,
        plan: PlanDefinition,
        datasets: Vec<Arc<Loaded>>,
        workspace: Workspace,
    ) -> Self {
        let (watch, control, prepared) = (Watch::sealed(), Control::default(), <_>::default());
        let (sites, joint) = (None, None);
        Self { session, plan, datasets, workspace, watch, control, prepared, sites, joint }
    }

    /// The job of a run whose noise is known: everybody can compute who trains and who is held out.
    /// A sample, the kept rows of persons and a hidden number were drawn when the rows were read, and
    /// stay secret.
    pub(super) fn in_known_order(&self) -> Self {
        Self { datasets: in_known_order(&self.datasets), ..self.clone() }
    }

    /// What the run would release, and with which noise.
    pub(super) fn propose(&self) -> Result<Proposal> {
        let plan = self.plan.resolved(&self.workspace);
        let (loaded, joint) = (self.loaded(), self.joint);
        let mut proposal = propose_for(&self.session, &plan, &loaded, &self.prepared, joint)?;
        if let Some(lineage) = &mut proposal.lineage {
            proposal.warnings.extend(lineage.take_names(&self.workspace)?);
        }
        Ok(proposal)
    }

    /// Everything that the run needs.
    pub(super) fn assemble(&self) -> Result<Assembly> {
        self.propose()?.assemble(&self.plan, self.private()?)
    }

    /// The private dataset of the plan.
    pub(super) fn private(&self) -> Result<&Loaded> {
        named(&self.datasets, &self.plan.private).map(Arc::as_ref)
    }

    /// The datasets of its plan.
    pub(super) fn loaded(&self) -> Vec<&Loaded> {
        let loaded = self.datasets.iter().map(Arc::as_ref);
        loaded.filter(|loaded: &&Loaded| self.plan.uses(&loaded.definition.name)).collect()
    }

    /// The public datasets of the plan.
    pub(super) fn publics(&self) -> Vec<&Loaded> {
        self.loaded().into_iter().filter(|loaded| loaded.record.is_none()).collect()
    }

    /// Whether its plan was rehearsed often enough for a promise, or needs none.
    pub fn is_rehearsed(&self) -> bool {
        !self.plan.player().spends() || self.promise().is_some()
    }

    /// What the last exact ranking says against the public data of its plan, for the curator.
    pub fn ranked_against(&self) -> Option<String> {
        let private = self.private().ok()?;
        resemblance::against(&self.plan, private, &self.workspace, &self.watch)
    }

    /// The advice from rehearsals of its plan.
    pub(super) fn advice(&self) -> Option<Advice> {
        rehearse::known(&self.plan, &self.loaded(), &self.workspace)
    }

    /// What a rehearsal of the plan as it is found.
    pub(super) fn rehearsed_as_it_is(&self) -> Option<Advice> {
        rehearse::known_as_it_is(&self.plan, &self.loaded(), &self.workspace)
    }

    /// The rehearsal that promises something of the plan: that of all methods, or of the plan as it is.
    fn promise(&self) -> Option<Advice> {
        let (player, epsilon) = (self.plan.player(), self.plan.target.epsilon);
        let promises = |advice: &Advice| advice.promised(&player, epsilon).is_some();
        let as_it_is = || self.rehearsed_as_it_is().filter(promises);
        self.advice().filter(promises).or_else(as_it_is)
    }

    /// A warning if the plan lost to public data alone in its rehearsals.
    pub(super) fn forewarned(&self) -> Option<String> {
        let (plan, advice) = (&self.plan, self.promise()?);
        advice.warning(&plan.player(), plan.target.epsilon)
    }

    /// The gain that the plan's rehearsals predict.
    pub(super) fn foretold(&self) -> Option<Score> {
        let (plan, advice) = (&self.plan, self.promise()?);
        advice.foretold(&plan.player(), plan.target.epsilon)
    }

    /// The result that the plan's rehearsals predict.
    pub(super) fn expected(&self) -> Option<String> {
        let (plan, advice) = (&self.plan, self.promise()?);
        advice.expectation(&plan.player(), plan.target.epsilon)
    }

    /// The current program, session and data.
    pub(super) fn origin(&self, session: &Path) -> Result<Origin> {
        Origin::of(session, &self.plan, &self.loaded(), self.watch.is_sealed())
    }

    /// Everything in a new run's directory that a program needs to resume it.
    pub(super) fn prepare(
        &self,
        private: &Loaded,
        directory: &RunDirectory,
        run: &RunId,
        noise: NoiseSource,
    ) -> Result<Transcript> {
        let insecure_noise_seed = noise.seed();
        Origin { insecure_noise_seed, ..self.origin(&directory.path().join("run.ron"))? }
            .write(directory.path())?;
        rows_of_run::keep(directory.path(), private)?;
        Transcript::create(&directory.path().join(resumption::TRANSCRIPT), run)
    }
}

/// The datasets for a run whose noise is known.
pub(super) fn in_known_order(datasets: &[Arc<Loaded>]) -> Vec<Arc<Loaded>> {
    let known = datasets.iter().map(|loaded| match loaded.in_known_order() {
        Some(private) => Arc::new(private),
        None => Arc::clone(loaded),
    });
    known.collect()
}

/// The dataset of this name.
pub(super) fn named<'a, T: Borrow<Loaded>>(datasets: &'a [T], name: &str) -> Result<&'a T> {
    let found = datasets.iter().find(|loaded| (*loaded).borrow().definition.name == name);
    found.ok_or_else(|| {
        Error::failed(format!("dataset '{name}' is not loaded"))
            .cure("look at the Data screen (1) for the reason, or choose other data for the plan")
    })
}

/// The names in the model for the columns of the plan's files. The private file comes first,
/// because the model is for its rows.
pub(super) fn renamed_columns(
    plan: &PlanDefinition,
    loaded: &[&Loaded],
) -> BTreeMap<String, String> {
    let mut names = BTreeMap::new();
    for name in std::iter::once(&plan.private).chain(&plan.public) {
        for loaded in loaded.iter().filter(|loaded| loaded.definition.name == *name) {
            for (old, new) in &loaded.definition.rename {
                names.entry(old.clone()).or_insert_with(|| new.clone());
            }
        }
    }
    names
}
