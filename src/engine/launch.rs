//! The start of a run: everything before its first draw.

use super::assembly::Assembly;
use super::execution::{RunContext, perform};
use super::job::{Job, RunProgress, Summary};
use super::spend::{OpenAccount, Purpose, Spend, to_be_resumed, was_perhaps_granted};
use super::{overlap, sites};
use crate::error::{Error, ErrorKind, Result};
use crate::faults::Fault;
use crate::privacy::NoiseSource;
use crate::privacy::ledger::{AccountId, Book, ChargedElsewhere, RunId};
use crate::session::{RunDirectory, leftovers};

/// Runs `job` to its end. Errors before the grant spend nothing; everything
/// later ends in a [`Summary`] whose guarantee counts what was drawn.
pub fn execute(job: &Job, tell: &mut dyn FnMut(RunProgress)) -> Result<Summary> {
    launch(job, NoiseSource::Secret, tell)
}

/// Runs `job` with noise from a seed, for debugging. The result is charged but not private at all,
/// and its certificate says so.
pub fn execute_insecurely(
    job: &Job,
    noise_seed: u64,
    tell: &mut dyn FnMut(RunProgress),
) -> Result<Summary> {
    launch(job, NoiseSource::Seeded(noise_seed), tell)
}

fn launch(job: &Job, noise: NoiseSource, tell: &mut dyn FnMut(RunProgress)) -> Result<Summary> {
    let mut stage = JointStage::Alone;
    let ended = attempt(job, noise, tell, &mut stage);
    if let (Err(error), Some(place)) = (&ended, &job.sites) {
        // What failed among the sites, such as a message that did not come, can be tried again.
        if matches!(stage, JointStage::Meeting) && error.kind() != ErrorKind::Failed {
            sites::say_stopped(&job.workspace, place);
        }
    }
    ended
}

/// How far a site of a joint run came.
enum JointStage {
    /// A refusal may depend on a single record, so that others may not hear of it: to them, the site
    /// is one that has not started.
    Alone,
    Meeting,
    Agreed,
}

/// Launches a run, and notes how far it came before the others count on this site.
fn attempt(
    job: &Job,
    noise: NoiseSource,
    tell: &mut dyn FnMut(RunProgress),
    stage: &mut JointStage,
) -> Result<Summary> {
    let known = (!noise.is_secret()).then(|| job.in_known_order());
    let job = known.as_ref().unwrap_or(job);
    job.session.check_plan(&job.plan)?;
    let own = job.private()?;
    let known = overlap::refuse_private_rows(own, &job.publics(), &job.workspace, &job.watch)?;
    let mut assembly = job.assemble()?;
    if own.stolen(Fault::ExitCode) > 0 {
        return Err(Error::failed("a private record cannot be used"));
    }
    let mut account = OpenAccount::open(own, &job.workspace, &job.session)?;
    let book = account.ledger.book()?;
    let before = book.account(&account.id);
    let elsewhere = before.and_then(ChargedElsewhere::note);
    if assembly.proposal.scoring.is_some() {
        refuse_known_records(&assembly, &book, &account.id)?;
    }
    if let Some(test) = &assembly.proposal.test {
        test.admit(job, &assembly.proposal)?;
    }
    leftovers::remove(&job.workspace, &account.ledger.book()?);
    job.control.check()?;
    *stage = JointStage::Meeting;
    let greeted = job.sites.as_ref().map(|place| {
        let mut waits = |text| tell(RunProgress::Sites(vec![text]));
        sites::greet(job, place, &assembly.proposal, &mut waits)
    });
    let greeted = greeted.transpose()?;
    if let Some(greeted) = &greeted {
        tell(RunProgress::Sites(greeted.notes()));
        assembly = Job { joint: Some(greeted.shape()), ..job.clone() }.assemble()?;
    }
    let mut purpose = Purpose {
        target: job.plan.target,
        allow_large_delta: job.plan.allow_large_delta,
        noise,
        one_noise: sites::one_noise(job.sites.as_ref()),
        ..Purpose::new(&job.plan.method, &assembly.proposal.calibrated)
    };
    match own.stolen(Fault::CountInName) {
        0 => {}
        count => purpose.run = RunId(format!("{}-{count}", purpose.run.0)),
    }
    let run = &purpose.run;
    if greeted.is_some() {
        account.admit(&purpose)?;
    }
    let joint = greeted
        .map(|greeted| greeted.agree_on_run(job, &assembly.proposal, run, noise))
        .transpose()?;
    *stage = JointStage::Agreed;
    let directory = RunDirectory::create(&job.workspace, run, &job.session, &job.plan)?;
    let opened = joint
        .as_ref()
        .map_or(Ok(()), |joint| joint.pin(directory.path()))
        .and_then(|()| job.prepare(own, &directory, run, noise))
        .and_then(|transcript| Spend::open(account, &purpose, Some(transcript), &job.watch));
    let mut spend = opened.map_err(|error| {
        let granted = was_perhaps_granted(&job.workspace, run, directory.path());
        if granted { to_be_resumed(&error, directory.path()) } else { error }
    })?;
    spend.notes.extend(elsewhere);
    if let Some(joint) = joint {
        joint.take_masks(&job.workspace, Some(directory.path()))?;
        spend = spend.joining(joint)?;
    }
    let context = RunContext { own, spend, directory, recorded: None, known };
    Ok(perform(job, assembly, context, tell)?.summary)
}

/// Records that the starting model was trained on cannot measure its quality.
fn refuse_known_records(assembly: &Assembly, book: &Book, account: &AccountId) -> Result<()> {
    let former = book.account(account).map(|it| it.former.clone()).unwrap_or_default();
    let starts = assembly.proposal.lineage.iter().flat_map(|lineage| &lineage.runs);
    let mut own = starts.filter(|run| run.account == *account || former.contains(&run.account));
    let Some(run) = own.next() else { return Ok(()) };
    Err(Error::refused(format!(
        "the starting model learned from the same private data in run {}, so no record is held \
         out of its training for certain",
        run.run.0
    ))
    .cure("leave `evaluation` out, and score the model on other private data: `halflight score`"))
}
