//! Computes the cost of a plan on a thread of its own.
//!
//! The first preview of a plan prepares its records, which may take seconds. So neither a launch
//! nor quitting waits for this thread.

use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread;

use super::assembly::{Proposal, propose};
use super::prepared::PreparedStore;
use super::public_alone::is_comparable;
use super::score::TestedRun;
use super::spend::Purpose;
use super::steps::catch_as;
use super::timing::{RunTime, Stopwatch, TimedPlan};
use super::{lookup, overlap, rehearse};
use crate::data::Table;
use crate::error::{Error, Result};
use crate::evaluation::{Evaluation, Pay, Scoring};
use crate::methods::{Plan, ProblemShape};
use crate::privacy::ledger::{Account, AccountId, Budget, Gap, TotalStanding};
use crate::privacy::{Calibrated, Guarantee, Watch};
use crate::rehearsal::advice::Advice;
use crate::session::{Loaded, PlanDefinition, Session, Workspace};

/// The cost of a plan, before anything is spent.
#[derive(Debug, Clone)]
pub struct Preview {
    pub plan: PlanDefinition,
    pub shape: ProblemShape,
    pub releases: Plan,
    pub calibrated: Calibrated,
    pub account: AccountId,
    /// The columns that identify the person of a row, where persons are protected.
    pub unit: Option<String>,
    pub budget: Option<Budget>,
    /// Whether the spending is a total.
    pub standing: TotalStanding,
    /// Everything charged so far and with this plan, at the budget's δ.
    pub spent: Option<Guarantee>,
    pub after: Option<Guarantee>,
    /// How many runs of this plan still fit into the budget, up to
    /// [`lookup::MOST_RUNS`]; `None` without a budget.
    pub fits: Option<u64>,
    /// Why the ledger would refuse it.
    pub refusal: Option<Error>,
    pub warnings: Vec<String>,
    /// How precise the run's score will be.
    pub score: Option<String>,
    /// The advice of rehearsals on public data.
    pub rehearsed: Option<Advice>,
}

/// A plan to be previewed, with its datasets.
struct PreviewRequest {
    session: Session,
    plan: PlanDefinition,
    datasets: Vec<Arc<Loaded>>,
    workspace: Workspace,
}

/// The thread that computes previews, one after another. Only the newest of several waiting
/// requests is answered; then `stopwatch` times that plan.
pub(super) struct Previewer(Sender<PreviewRequest>);

impl Previewer {
    pub fn start(
        store: PreparedStore,
        stopwatch: Stopwatch,
        answer: impl Fn(Result<Preview>) + Send + 'static,
    ) -> Self {
        let (sender, inbox) = channel::<PreviewRequest>();
        thread::spawn(move || {
            while let Ok(first) = inbox.recv() {
                let asked = inbox.try_iter().last().unwrap_or(first);
                let PreviewRequest { session, plan, datasets, workspace } = asked;
                let crash = ("the preview crashed", "please report the plan");
                match catch_as(crash, || timeable(&session, plan, &datasets, &workspace, &store)) {
                    Ok((preview, timed)) => {
                        answer(Ok(preview));
                        stopwatch.ask(timed);
                    }
                    Err(error) => answer(Err(error)),
                }
            }
        });
        Self(sender)
    }

    pub fn ask(
        &self,
        session: Session,
        plan: PlanDefinition,
        datasets: Vec<Arc<Loaded>>,
        workspace: &Workspace,
    ) {
        let asked = PreviewRequest { session, plan, datasets, workspace: workspace.clone() };
        // The thread ends only with its owner.
        let _ = self.0.send(asked);
    }
}

/// The account of a private dataset, held to the budget of the session, as its next run would be.
pub(super) fn account_of(
    private: &Loaded,
    session: &Session,
    workspace: &Workspace,
) -> Result<Account> {
    let (name, record) = (&private.definition.name, private.record.as_ref());
    let record = record.ok_or_else(|| Error::usage(format!("'{name}' is not private")))?;
    let book = workspace.book()?;
    let known = book.find(record).cloned();
    let account = known.unwrap_or_else(|| Account::unopened(record, &book));
    Ok(account.held_to(session.budgets.get(name)))
}

/// The precision of a score for a part of the budget, if training covers none and none is
/// requested.
fn offered(plan: &PlanDefinition, private: &Loaded, proposal: &Proposal) -> Option<String> {
    if proposal.method.spec().covers_scores {
        return None;
    }
    let asked = Evaluation { pay: Pay::OFFERED, ..Evaluation::default() };
    let rows = Table::holdout_rows(private.rows, plan.holdout);
    let classes = proposal.problem.shape.classes.len();
    let comparable = is_comparable(&proposal.problem);
    let scoring = Scoring::of(asked, &private.definition, rows, classes, comparable).ok()?;
    let noise = scoring.calibrate(&proposal.prepared.plan().releases, plan.target).ok()?;
    Some(format!("none; with '{asked}' of this ε, {}", scoring.expected(&noise)))
}

/// The cost of `plan`; records in `store` are not prepared again.
pub fn preview(
    session: &Session,
    plan: PlanDefinition,
    datasets: &[Arc<Loaded>],
    workspace: &Workspace,
    store: &PreparedStore,
) -> Result<Preview> {
    timeable(session, plan, datasets, workspace, store).map(|(preview, _)| preview)
}

/// The cost of `plan`, and how long the run would take another program, if that can be timed on
/// public records.
pub fn timed_preview(
    session: &Session,
    plan: PlanDefinition,
    datasets: &[Arc<Loaded>],
    workspace: &Workspace,
    store: &PreparedStore,
) -> Result<(Preview, Option<RunTime>)> {
    let (preview, timed) = timeable(session, plan, datasets, workspace, store)?;
    Ok((preview, timed.time(true).ok()))
}

/// The cost of `plan`, with everything that the time of the run depends on.
fn timeable(
    session: &Session,
    plan: PlanDefinition,
    datasets: &[Arc<Loaded>],
    workspace: &Workspace,
    store: &PreparedStore,
) -> Result<(Preview, TimedPlan)> {
    session.check_plan(&plan)?;
    let loaded: Vec<&Loaded> = datasets.iter().map(Arc::as_ref).collect();
    let private = loaded.iter().find(|loaded| loaded.definition.name == plan.private);
    if let Some(private) = private {
        let publics = loaded.iter().copied().filter(|loaded| loaded.record.is_none());
        let publics: Vec<&Loaded> = publics.collect();
        overlap::check(private, &publics, workspace, &Watch::sealed())?;
    }
    let mut proposal = propose(session, &plan.resolved(workspace), &loaded, store)?;
    if let Some(lineage) = &mut proposal.lineage {
        proposal.warnings.extend(lineage.take_names(workspace)?);
    }
    let private = private.ok_or_else(|| Error::failed("the private dataset is not loaded"))?;
    let account = account_of(private, session, workspace)?;
    let events = &proposal.calibrated.events();
    let tested = proposal.test.as_ref().map_or(Ok(()), |test| {
        test.admit(&TestedRun {
            session,
            workspace,
            plan: &plan,
            loaded: &loaded,
            lineage: proposal.lineage.as_ref(),
            events,
        })
    });
    let (target, calibrated) = (plan.target, &proposal.calibrated);
    let purpose = Purpose { target, ..Purpose::new(&plan.method, calibrated) };
    let admitted = Purpose::admit_all(&[purpose], &account, private);
    let at = account.budget.map_or(plan.target.delta, |budget| budget.delta);
    let total = account.total(at)?;
    let after = account.spent_with(events, at).ok().flatten();
    let score = match (&proposal.scoring, &proposal.test) {
        (Some(scoring), _) => Some(scoring.expected(&proposal.calibrated)),
        (None, Some(test)) => Some(test.expected()),
        (None, None) => offered(&plan, private, &proposal),
    };
    let timed = TimedPlan::of(&plan, &proposal, datasets, private);
    let mut warnings = proposal.warnings;
    warnings.extend(account.other_budget());
    warnings.extend(account.gaps().iter().map(Gap::words));
    warnings.extend(account.large_delta().into_iter().chain(account.remarks(&total)));
    let preview = Preview {
        shape: proposal.problem.shape.clone(),
        releases: proposal.prepared.plan().clone(),
        account: account.id.clone(),
        budget: account.budget,
        standing: total.standing,
        spent: total.known,
        fits: lookup::how_many_fit(&account, events, after.as_ref()),
        after,
        refusal: admitted.and(tested).err(),
        unit: private.unit(),
        score,
        calibrated: proposal.calibrated,
        warnings,
        rehearsed: rehearse::known(&plan, &loaded, workspace),
        plan,
    };
    Ok((preview, timed))
}
