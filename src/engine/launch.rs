//! The start of a run: everything before its first draw.

use crate::privacy::openings::OpenSpender;
use std::path::Path;

use super::assembly::Assembly;
use super::course::{Opening, perform, to_be_resumed};
use super::job::{Job, Moment, Summary, private};
use super::score::Examinee;
use crate::error::{Error, Result};
use crate::faults::Fault;
use crate::privacy::ledger::{AccountId, Book, Budget, ChargedElsewhere, Grant, RowOrder, RunId};
use crate::privacy::{Ledger, NoiseSource, Spender};
use crate::session::certificate;
use crate::session::{Loaded, RunDirectory, Session, Workspace, leftovers};

/// Runs `job` to its end. Errors before the grant spend nothing; everything
/// later ends in a [`Summary`] whose guarantee counts what was drawn.
pub fn execute(job: &Job, tell: &mut dyn FnMut(Moment)) -> Result<Summary> {
    launch(job, NoiseSource::Secret, tell)
}

/// Runs `job` with noise from a seed, for debugging. The result is charged but not private at all,
/// and its certificate says so.
pub fn execute_insecurely(
    job: &Job,
    noise_seed: u64,
    tell: &mut dyn FnMut(Moment),
) -> Result<Summary> {
    launch(job, NoiseSource::Seeded(noise_seed), tell)
}

fn launch(job: &Job, noise: NoiseSource, tell: &mut dyn FnMut(Moment)) -> Result<Summary> {
    let known = (!noise.is_secret()).then(|| job.in_known_order());
    let job = known.as_ref().unwrap_or(job);
    job.session.check_plan(&job.plan)?;
    let known = job.check_rows()?;
    let own = private(&job.plan, &job.datasets)?;
    let assembly = job.assemble()?;
    if own.stolen(Fault::ExitCode) > 0 {
        return Err(Error::failed("a private record cannot be used"));
    }
    let wish = job.session.budgets.get(&job.plan.private);
    let opened = open_account(own, &job.workspace, wish)?;
    let OpenAccount { mut ledger, id: account, other_budget } = opened;
    let before = ledger.book()?;
    let before = before.account(&account);
    let elsewhere = before.and_then(|it| ChargedElsewhere::note(&it.elsewhere));
    if assembly.scoring.is_some() {
        refuse_known_records(&assembly, &ledger.book()?, &account)?;
    }
    if let Some(test) = &assembly.test {
        test.admit(&Examinee {
            session: &job.session,
            workspace: &job.workspace,
            plan: &job.plan,
            loaded: &job.loaded(),
            lineage: assembly.lineage.as_ref(),
            events: assembly.calibrated.events(),
        })?;
    }
    leftovers::remove(&job.workspace, &ledger.book()?);
    job.control.check()?;
    let mut run = new_run_id(&job.plan.method);
    match own.stolen(Fault::CountInName) {
        0 => {}
        count => run = RunId(format!("{}-{count}", run.0)),
    }
    let directory = RunDirectory::create(&job.workspace, &run, &job.session, &job.plan)?;
    let grant = Grant {
        run: run.clone(),
        account: account.clone(),
        method: job.plan.method.clone(),
        target: job.plan.target,
        events: assembly.calibrated.events().to_vec(),
        allow_large_delta: job.plan.allow_large_delta,
        noise,
        unit: own.unit(),
        order: RowOrder::Secret,
    };
    let ready = job.prepare(&directory, &run, noise).and_then(|transcript| {
        let generator = noise.generator()?;
        let mut standing = standing_of(&ledger.book()?, &account);
        ledger.grant(grant)?;
        standing.line = ledger.granted(&run);
        Ok((transcript, generator, standing))
    });
    let (transcript, generator, standing) = ready.map_err(|error| {
        let granted = was_perhaps_granted(&job.workspace, &run, directory.path());
        if granted { to_be_resumed(&error, directory.path()) } else { error }
    })?;
    let notes = ledger.notice().map(str::to_owned).into_iter();
    let notes = notes.chain(other_budget).chain(elsewhere).collect();
    let spender = Spender::new(ledger, run.clone(), &assembly.calibrated, generator)?;
    let opening = Opening {
        run,
        account,
        spender: spender.keeping(transcript),
        directory,
        recorded: None,
        peeked: false,
        notes,
        known,
        noise,
        standing,
    };
    Ok(perform(job, assembly, opening, tell)?.summary)
}

/// Records that the starting model was trained on cannot measure its quality.
fn refuse_known_records(assembly: &Assembly, book: &Book, account: &AccountId) -> Result<()> {
    let former = book.account(account).map(|it| it.former.clone()).unwrap_or_default();
    let starts = assembly.lineage.iter().flat_map(|lineage| &lineage.runs);
    let mut own = starts.filter(|run| run.account == *account || former.contains(&run.account));
    let Some(run) = own.next() else { return Ok(()) };
    Err(Error::refused(format!(
        "the starting model learned from the same private data in run {}, so no record is held \
         out of its training for certain",
        run.run.0
    ))
    .cure("leave `evaluation` out, and score the model on other private data: `halflight score`"))
}

/// The current state of an account in the ledger.
pub(super) fn standing_of(book: &Book, account: &AccountId) -> certificate::AccountStanding {
    book.account(account).map(certificate::AccountStanding::of).unwrap_or_default()
}

/// Whether the ledger has a run whose start failed, for example on a full disk. Then it counts, and
/// its directory stays. Otherwise nothing was or will be spent, so no empty run is left.
pub(super) fn was_perhaps_granted(workspace: &Workspace, run: &RunId, directory: &Path) -> bool {
    let granted = workspace.book().map_or(true, |book| book.run(run).is_some());
    if !granted {
        let _ = crate::files::step::remove_folder(directory);
    }
    granted
}

/// The account that something is about to spend from.
pub(super) struct OpenAccount {
    /// Grants only what fits into the budget of the ledger and into that of the session.
    pub ledger: Ledger,
    pub id: AccountId,
    /// What to say if the session names another budget than the ledger.
    pub other_budget: Option<String>,
}

/// Opens the account of a private dataset for spending. Everything that spends begins here, so that
/// the session's budget always counts.
pub(super) fn open_account(
    private: &Loaded,
    workspace: &Workspace,
    wish: Option<&Budget>,
) -> Result<OpenAccount> {
    let mut ledger = workspace.ledger()?;
    let id = private.register(&mut ledger)?;
    let other_budget = match wish {
        Some(wish) => ledger.hold_to(&id, *wish)?,
        None => None,
    };
    Ok(OpenAccount { ledger, id, other_budget })
}

/// The budget for a private dataset in the copy of a session that a run keeps. It says what held
/// when the run began, so it only counts where the ledger has no budget yet.
pub(super) fn budget_in_copy(session: &Session, private: &Loaded, book: &Book) -> Option<Budget> {
    let account = private.record.as_ref().and_then(|record| book.find(record));
    let has_one = account.is_some_and(|account| account.budget.is_some());
    session.budgets.get(&private.definition.name).copied().filter(|_| !has_one)
}

/// Sortable by time, unique on this machine.
pub(super) fn new_run_id(method: &str) -> RunId {
    use std::sync::atomic::{AtomicU16, Ordering};
    static COUNTER: AtomicU16 = AtomicU16::new(0);
    let now = crate::clock::now();
    let count = COUNTER.fetch_add(1, Ordering::Relaxed);
    let time = now.strftime("%Y%m%d-%H%M%S");
    let unique = (now.subsec_nanosecond() as u32 >> 14) & 0xffff;
    RunId(format!("{time}-{method}-{:04x}{unique:04x}{count:02x}", std::process::id() & 0xffff))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn run_names_differ_within_the_same_moment() {
        let names: std::collections::BTreeSet<_> =
            (0..100).map(|_| new_run_id("moment_release").0).collect();
        assert_eq!(names.len(), 100);
    }
}
