//! Computes the cost of a plan on a thread of its own.
//!
//! The first preview of a plan prepares its records, which may take seconds. So neither a launch
//! nor quitting waits for this thread.

use std::sync::mpsc::{Sender, channel};
use std::thread;

use super::assembly::Proposal;
use super::job::Job;
use super::spend::Purpose;
use super::steps::catch_as;
use super::timing::{RunTime, TimedPlan};
use super::{lookup, overlap};
use crate::data::Table;
use crate::error::{Error, Result};
use crate::evaluation::{Evaluation, Expected, Pay};
use crate::methods::{Plan, ProblemShape};
use crate::privacy::ledger::{Account, AccountId, Budget, Gap, TotalStanding};
use crate::privacy::{Calibrated, Guarantee, Watch};
use crate::rehearsal::advice::Advice;
use crate::session::{Loaded, PlanDefinition, Session, Workspace};

/// The number of runs for which a plan without a budget says what they would come to.
pub const SEVERAL: u64 = 5;

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
    /// What other ledgers of the user charged on the same records.
    pub elsewhere: Option<String>,
    /// Everything charged so far and with this plan, at the budget's δ.
    pub spent: Option<Guarantee>,
    pub after: Option<Guarantee>,
    /// How many runs of this plan still fit into the budget, up to
    /// [`lookup::MOST_RUNS`]; `None` without a budget.
    pub fits: Option<u64>,
    /// ε of [`SEVERAL`] runs like this and of all that was spent before; only without a budget, for
    /// whoever chooses one.
    pub of_several: Option<f64>,
    /// Why the ledger would refuse it.
    pub refusal: Option<Error>,
    pub warnings: Vec<String>,
    /// Warnings about columns that almost give the label away, from public records. They are among the
    /// others, too.
    pub leaking: Vec<String>,
    /// How precise the run's score will be.
    pub score: Option<Expected>,
    /// The advice of rehearsals on public data.
    pub rehearsed: Option<Advice>,
    /// What a rehearsal of the plan as it is found.
    pub rehearsed_as_it_is: Option<Advice>,
    /// The noise of one draw in proportion to its signal, at the plan's and other ε.
    pub noise_by_epsilon: Vec<(f64, f64)>,
}

/// A thread for requests of which only the newest waiting one is worth an answer.
pub(super) struct NewestFirst<T>(Sender<T>);

impl<T: Send + 'static> NewestFirst<T> {
    pub fn start(answer: impl Fn(T) + Send + 'static) -> Self {
        let (sender, inbox) = channel();
        thread::spawn(move || {
            while let Ok(first) = inbox.recv() {
                answer(inbox.try_iter().last().unwrap_or(first));
            }
        });
        Self(sender)
    }

    pub fn ask(&self, request: T) {
        // The thread ends only with its owner.
        let _ = self.0.send(request);
    }
}

/// Starts the thread that computes previews, one after another; then `stopwatch` times that plan.
pub(super) fn previewer(
    stopwatch: NewestFirst<TimedPlan>,
    answer: impl Fn(Result<Preview>) + Send + 'static,
) -> NewestFirst<Job> {
    NewestFirst::start(move |job: Job| {
        let crash = ("the preview crashed", "please report the plan");
        match catch_as(crash, || timeable(&job)) {
            Ok((preview, timed)) => {
                answer(Ok(preview));
                stopwatch.ask(timed);
            }
            Err(error) => answer(Err(error)),
        }
    })
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
fn offered(plan: &PlanDefinition, private: &Loaded, proposal: &Proposal) -> Option<Expected> {
    if proposal.method.spec().covers_scores {
        return None;
    }
    let asked = Evaluation { pay: Pay::OFFERED, ..Evaluation::default() };
    let rows = Table::holdout_rows(private.rows, plan.holdout);
    let public = proposal.scored_by_public(plan);
    let scoring = public.scoring(asked, &private.definition, rows).ok()?;
    let noise = scoring.calibrate(&proposal.prepared.plan().releases, plan.target).ok()?;
    let expected = scoring.expected(&noise);
    let brief = format!("none; with '{asked}' of this ε, {}", expected.brief);
    Some(Expected { brief, ..expected })
}

/// The cost of a plan; prepared records are not prepared again.
pub fn preview(job: &Job) -> Result<Preview> {
    timeable(job).map(|(preview, _)| preview)
}

/// Refuses all plans if one of them cannot run, or if their budgets have no room for all. Names the
/// plan, and spends nothing.
pub fn check_all(jobs: &[Job]) -> Result<()> {
    let within = |job: &Job, error: Error| error.within(&format!("plan '{}'", job.plan.name));
    let previews = jobs.iter().map(|job| {
        let found = preview(job).map_err(|error| within(job, error))?;
        found.refusal.clone().map_or(Ok(found), |error| Err(within(job, error)))
    });
    let previews = previews.collect::<Result<Vec<Preview>>>()?;
    for (last, job) in jobs.iter().enumerate() {
        let account = account_of(job.private()?, &job.session, &job.workspace)?;
        let purposes = previews[..=last].iter().filter(|it| it.account == account.id);
        let purposes: Vec<Purpose> = purposes
            .map(|it| Purpose {
                target: it.plan.target,
                allow_large_delta: it.plan.allow_large_delta,
                ..Purpose::new(&it.plan.method, &it.calibrated)
            })
            .collect();
        Purpose::admit_all(&purposes, &account, job.private()?).map_err(|error| {
            within(job, error).cure(
                "nothing was spent: run one of the plans alone with --plan NAME, or raise the budget",
            )
        })?;
    }
    Ok(())
}

/// The cost of a plan, and how long the run would take another program, if that can be timed on
/// public records.
pub fn timed_preview(job: &Job) -> Result<(Preview, Option<RunTime>)> {
    let (preview, timed) = timeable(job)?;
    Ok((preview, timed.time(true).ok()))
}

/// The cost of a plan, with everything that the time of the run depends on.
fn timeable(job: &Job) -> Result<(Preview, TimedPlan)> {
    let Job { session, plan, workspace, .. } = job;
    session.check_plan(plan)?;
    if let Ok(private) = job.private() {
        overlap::check(private, &job.publics(), workspace, &Watch::sealed())?;
    }
    let proposal = job.propose()?;
    let private = job.private()?;
    let account = account_of(private, session, workspace)?;
    let events = &proposal.calibrated.events();
    let tested = proposal.test.as_ref().map_or(Ok(()), |test| test.admit(job, &proposal));
    let (target, calibrated) = (plan.target, &proposal.calibrated);
    let purpose = Purpose { target, ..Purpose::new(&plan.method, calibrated) };
    let admitted = Purpose::admit_all(&[purpose], &account, private);
    let at = account.budget.map_or(plan.target.delta, |budget| budget.delta);
    let total = account.total(at)?;
    let after = account.spent_with(events, at).ok().flatten();
    let of_several = match account.budget {
        None => account.spent_with_runs(events, SEVERAL, at).ok().flatten(),
        Some(_) => None,
    };
    let score = match (&proposal.scoring, &proposal.test) {
        (Some(scoring), _) => Some(scoring.expected(&proposal.calibrated)),
        (None, Some(test)) => Some(test.expected()),
        (None, None) => offered(plan, private, &proposal),
    };
    let timed = TimedPlan::of(job, &proposal, private);
    let noise_by_epsilon = proposal.noise_by_epsilon(plan.target);
    let leaking = proposal.leaking().to_vec();
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
        elsewhere: total.elsewhere,
        spent: total.known,
        fits: lookup::how_many_fit(&account, events, after.as_ref()),
        of_several: of_several.map(|it| it.epsilon),
        after,
        refusal: admitted.and(tested).err(),
        unit: private.unit(),
        score,
        calibrated: proposal.calibrated,
        warnings,
        leaking,
        rehearsed: job.advice(),
        rehearsed_as_it_is: job.rehearsed_as_it_is(),
        noise_by_epsilon,
        plan: plan.clone(),
    };
    Ok((preview, timed))
}
