//! `halflight run SESSION`: a session's plans without the interface.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use clap::Args;
use serde_json::{Value, json};

use super::reading::Watched;
use super::steps::StepPrinter;
use super::{
    further_json, messages, print_json, print_line, rehearse, signals, site, workspace_for,
};
use crate::data::persons::protected_words;
use crate::data::{Role, Task};
use crate::engine::look;
use crate::engine::preview::{Preview, check_all, timed_preview};
use crate::engine::resume::{self, Resumable};
use crate::engine::sites::Place;
use crate::engine::timing::RunTime;
use crate::engine::{Job, PreparedStore, RunProgress, Summary, launch};
use crate::error::{Error, Result};
use crate::evaluation::{FurtherScores, Loss, Measured, Scored};
use crate::methods::source_words;
use crate::privacy::accountant::{Guarantee, delta_words, round_up};
use crate::privacy::ledger::{RunId, RunOutcome, TotalStanding};
use crate::privacy::{CuratorOnly, Target, Watch};
use crate::session::comparison::{self, NOT_FOR_CHOICE, usual_name};
use crate::session::public_alone::join_scores;
use crate::session::{ArchivedRun, PlanDefinition, Session, Workspace, archive, dataset, sum};
use crate::verdict::error_cell;

/// Run the plans of a session without the interface.
///
/// Several plans are checked before the first begins: if one cannot run, or the budget has no room for
/// all, none does, and nothing is spent.
///
/// Each run leaves a directory in .halflight/runs beside the session, with what is needed to repeat
/// it, its model, its certificate and a report.
#[derive(Debug, Clone, Default, Args)]
#[command(after_help = "Examples:
  halflight run session.ron
  halflight run session.ron --plan 'winter from the other seasons' --sealed --json
  halflight run .halflight/runs/RUN/run.ron
  halflight run session.ron --dry-run
  halflight run --resume .halflight/runs/RUN")]
#[expect(clippy::struct_excessive_bools, reason = "switches of a command line")]
pub struct RunCommand {
    /// Session file (.ron); a run's own run.ron repeats that run.
    #[arg(required_unless_present = "resume")]
    session: Option<PathBuf>,

    /// Resume a run whose program died: its directory, its name in this workspace or that of its plan.
    #[arg(long, value_name = "RUN", conflicts_with_all = ["session", "plan"])]
    resume: Option<PathBuf>,

    /// Only the plan of this name.
    #[arg(long)]
    plan: Option<String>,

    /// Compute and print no exact number about private data.
    #[arg(long)]
    sealed: bool,

    /// Print what the plans would cost, how precise their scores would be and how long they would
    /// take; spend and write nothing. Exit code 3 if the budget would refuse one.
    #[arg(long, conflicts_with_all = ["json", "resume", "progress"])]
    dry_run: bool,

    /// Print the results as JSON; exact numbers only with --include-curator.
    #[arg(long)]
    pub json: bool,

    /// Put exact numbers about private data into the JSON.
    #[arg(long, requires = "json", conflicts_with = "sealed")]
    include_curator: bool,

    /// Directory of the workspace with the ledger and the runs [default: that of the session].
    #[arg(long, value_name = "DIR", conflicts_with = "resume")]
    workspace: Option<PathBuf>,

    /// Report progress on standard error, as a line of JSON for each step (`halflight schema run
    /// progress`). Beside these lines there are only notes and errors.
    #[arg(long, value_name = "FORM")]
    progress: Option<StepsForm>,

    /// At most this many steps per second.
    #[arg(long, value_name = "STEPS")]
    pub pace: Option<f64>,

    /// Taken for the sake of `demo --plain`: this command prints plain lines anyway.
    #[arg(long = "plain", hide = true)]
    _plain: bool,

    /// Take the noise from this seed, to find faults: the ledger charges it, and nothing is
    /// private.
    #[arg(long, value_name = "N", conflicts_with = "resume")]
    insecure_noise_seed: Option<u64>,

    /// Where it meets the other sites, if several run one plan together.
    #[arg(skip)]
    pub(super) place: Option<Place>,
}

/// How a program wants to hear of the steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum StepsForm {
    Json,
}

impl RunCommand {
    /// The command for the plan of this name, or for all, that looks at no private record.
    pub(super) fn sealed(plan: Option<String>) -> Self {
        Self { plan, sealed: true, ..Self::default() }
    }

    pub fn execute(&self) -> Result<()> {
        if self.place.is_some() && (self.resume.is_some() || self.dry_run) {
            return Err(Error::usage("a joint run is started here")
                .cure("`halflight run` takes --resume and --dry-run, for joint runs, too"));
        }
        if self.sealed {
            messages::seal();
        }
        // The ledger may know a run whose folder is gone.
        let find = |named: &Path| match archive::run_named(named) {
            Err(_) if named.components().count() > 1 => Ok(named.to_path_buf()),
            found => found,
        };
        let resume = self.resume.as_deref().map(find).transpose()?;
        let resumable = resume.as_deref().map(Resumable::read).transpose()?;
        let stays_sealed = resumable.as_ref().is_some_and(|found| found.sealed);
        if stays_sealed {
            messages::seal();
            if self.include_curator {
                return Err(Error::usage("this run was started sealed, and stays sealed")
                    .cure("leave out --include-curator"));
            }
        }
        let (session, workspace, resume) = match (resumable, &self.session) {
            (Some(found), _) => (found.session, found.workspace, Some(found.run)),
            (None, Some(path)) => {
                (Session::open(path)?, workspace_for(path, self.workspace.as_deref())?, None)
            }
            (None, None) => return Err(Error::usage("no session is named")),
        };
        if session.sealed {
            messages::seal();
            if self.include_curator {
                return Err(Error::usage("the session is sealed")
                    .cure("leave out --include-curator, or `sealed` in the session"));
            }
        }
        let sealed = self.sealed || stays_sealed || session.sealed;
        let command = Self { sealed, ..self.clone() };
        if self.dry_run {
            return command.forecast(&session, &workspace);
        }
        command.run_plans(&session, &workspace, resume.as_ref())?;
        if !self.json {
            say_where(&workspace);
        }
        Ok(())
    }

    /// Runs the plans one after another, if all of them can run, and stops at the first failure. Resumes the run of the only
    /// plan if it is named.
    pub fn run_plans(
        &self,
        session: &Session,
        workspace: &Workspace,
        resume: Option<&RunId>,
    ) -> Result<()> {
        if let Some(pace) = self.pace
            && (pace.is_nan() || pace <= 0.0)
        {
            return Err(Error::usage(format!("the pace is {pace}"))
                .cure("give a number of steps per second above 0"));
        }
        let jobs = self.jobs(session, workspace)?;
        if let Some(place) = &self.place {
            if jobs.len() > 1 {
                return Err(Error::usage("sites run one plan together").cure("name it: --plan"));
            }
            site::announce(place, workspace)?;
        }
        if let (None, [_, _, ..]) = (resume, jobs.as_slice()) {
            check_all(&jobs)?;
        }
        // The run ends between two steps.
        let (control, interrupted) = signals::control()?;
        control.set_pace(self.pace);
        let mut done = Done::default();
        let ran = jobs.into_iter().try_for_each(|job| {
            let sites = self.place.clone();
            let job = Job { control: control.of_one(), sites, ..job };
            let outcome = self.run(&job, resume, &mut done)?;
            if outcome == RunOutcome::Stopped && interrupted.load(Ordering::Relaxed) {
                let what = "stopped by a signal; what was drawn is in the ledger";
                return Err(Error::interrupted(what));
            }
            Ok(())
        });
        // The runs before a failure are charged, and have results.
        if self.json {
            print_json(&json!({ "runs": done.results }))?;
        } else {
            print_answers(&done.directories, &look::view(self.sealed))?;
        }
        ran
    }

    /// Runs a plan, and prints its result or adds it to the others.
    fn run(&self, job: &Job, resume: Option<&RunId>, done: &mut Done) -> Result<RunOutcome> {
        let Done { results, cautioned, directories } = done;
        let Job { plan, watch, workspace, .. } = job;
        messages::tell(format_args!("plan '{}'", plan.name));
        messages::detail(format_args!(
            "  {} with seed {}; the ledger is in {}",
            plan.method,
            plan.seed,
            workspace.folder().display()
        ));
        if resume.is_none() && !job.is_rehearsed() {
            let how = rehearse::command(self.session.as_deref(), &plan.name);
            messages::tell(format_args!(
                "  what to expect is not known: `{how}` tries the plan on public data, for free"
            ));
        }
        if let Some(against) = job.ranked_against() {
            messages::tell(format_args!("  ◆ note: {against}"));
        }
        let mut steps = StepPrinter::new(watch, self.progress.is_some(), cautioned);
        let mut tell = |event: RunProgress| steps.print(&event);
        let summary = match (resume, self.insecure_noise_seed) {
            (Some(run), _) => resume::resume(job, run, &mut tell),
            (None, Some(seed)) => launch::execute_insecurely(job, seed, &mut tell),
            (None, None) => launch::execute(job, &mut tell),
        };
        drop(steps);
        let summary = summary?;
        directories.push(summary.directory.clone());
        if self.json {
            let mut result = as_json(&summary, self.include_curator.then_some(watch));
            if let Some(seed) = self.insecure_noise_seed {
                (result["insecure_noise_seed"], result["guarantee"]) = (json!(seed), Value::Null);
            }
            results.push(result);
        } else {
            print_line(&as_text(&summary, watch))?;
            if plan.evaluation.is_some() && summary.score.is_none() && summary.trouble.is_none() {
                let why = match self.insecure_noise_seed {
                    Some(_) => "the noise was not secret",
                    None => "the run ended early; `halflight score` releases one for some ε",
                };
                print_line(&format!("  no released score: {why}"))?;
            } else if plan.evaluation.is_none() && plan.test.is_none() && plan.spends() {
                print_line(
                    "  no released score: the plan asks for none (`evaluation: ()` in the session does); \
                     `halflight score` releases one for some ε",
                )?;
            }
            if let Some(seed) = self.insecure_noise_seed {
                print_line(&format!(
                    "  NO GUARANTEE: the noise came from the seed {seed} and is not secret; the ε \
                     above is what the ledger charges"
                ))?;
            }
        }
        summary.trouble.map_or(Ok(summary.outcome), Err)
    }

    /// The plans that are asked for.
    fn plans_of<'a>(&self, session: &'a Session) -> Result<Vec<&'a PlanDefinition>> {
        let plans = match &self.plan {
            Some(name) => vec![session.plan(name)?],
            None => session.plans.iter().collect(),
        };
        if plans.is_empty() {
            return Err(Error::usage("the session has no plan")
                .cure("add one on the Plan screen: halflight SESSION.ron, then 3"));
        }
        for plan in &plans {
            plan.target.checked().map_err(|error| within(plan, error))?;
        }
        Ok(plans)
    }

    /// A job for each plan, with its datasets.
    pub(super) fn jobs(&self, session: &Session, workspace: &Workspace) -> Result<Vec<Job>> {
        let plans = self.plans_of(session)?;
        let needed = |name: &String| plans.iter().any(|plan| plan.uses(name));
        let mut datasets = Vec::new();
        for definition in session.datasets.iter().filter(|definition| needed(&definition.name)) {
            let loaded = dataset::load_watched(definition, workspace, &mut Watched::default())?;
            let role = if definition.role == Role::Private { "private" } else { "public" };
            messages::tell(format_args!("read {} ({role}): {}", definition.name, loaded.size()));
            loaded.warnings.iter().for_each(messages::note);
            if let Some(warning) = loaded.exact_named(&look::view(self.sealed)) {
                messages::tell(format_args!("◆ note: {warning}"));
            }
            datasets.push(Arc::new(loaded));
        }
        let prepared = PreparedStore::default();
        let job = |plan: &PlanDefinition| Job {
            prepared: prepared.clone(),
            watch: look::view(self.sealed),
            ..Job::new(session.clone(), plan.clone(), datasets.clone(), workspace.clone())
        };
        Ok(plans.into_iter().map(job).collect())
    }

    /// What is known of the plans before anything is spent.
    fn forecast(&self, session: &Session, workspace: &Workspace) -> Result<()> {
        let mut refused = None;
        for job in self.jobs(session, workspace)? {
            // Each as if it were alone: training on public records is kept for the next plan
            // otherwise.
            let job = Job { prepared: PreparedStore::default(), ..job };
            match timed_preview(&job) {
                Ok((preview, time)) => {
                    print_line(&forecast_words(&job.plan, &preview, (time, self.sealed)))?;
                    if let Some(against) = job.ranked_against() {
                        messages::tell(format_args!("  ◆ note: {against}"));
                    }
                    refused = refused.or(preview.refusal.map(|error| within(&job.plan, error)));
                }
                // The other plans are still previewed.
                Err(error) => {
                    let (plan, what) = (&job.plan.name, error.what());
                    print_line(&format!("plan '{plan}': it cannot run: {what}"))?;
                    refused = refused.or(Some(within(&job.plan, error)));
                }
            }
        }
        print_line("nothing was spent")?;
        refused.map_or(Ok(()), Err)
    }
}

/// The runs of a command so far.
#[derive(Default)]
struct Done {
    results: Vec<Value>,
    /// Cautions that were printed.
    cautioned: Vec<String>,
    directories: Vec<PathBuf>,
}

/// Prints which of several models to take.
pub(super) fn print_answers(directories: &[PathBuf], watch: &Watch) -> Result<()> {
    if directories.len() < 2 {
        return Ok(());
    }
    let mut runs: Vec<ArchivedRun> = directories.iter().map(|it| archive::read_run(it)).collect();
    join_scores(&mut runs);
    // The runs have ended well: a ledger that cannot be read now leaves out the total alone.
    let book = Workspace::of(&directories[0]).and_then(|workspace| workspace.book()).ok();
    let total = |run: &RunId| sum::of_account(book.as_ref()?, run);
    let answers = comparison::answers(&runs.iter().collect::<Vec<_>>(), usual_name, &total, watch);
    let any_exact = answers.iter().any(|it| it.is_exact);
    for answer in answers {
        let mark = if answer.is_exact { "◆ " } else { "" };
        for (head, words) in answer.lines() {
            print_line(&format!("{mark}{head:<5} {words}"))?;
        }
    }
    if any_exact { print_line(NOT_FOR_CHOICE) } else { Ok(()) }
}

pub fn say_where(workspace: &Workspace) {
    messages::tell(format_args!("ledger and runs: {}", workspace.folder().display()));
}

fn within(plan: &PlanDefinition, error: Error) -> Error {
    error.within(&format!("plan '{}'", plan.name))
}

fn forecast_words(
    plan: &PlanDefinition,
    preview: &Preview,
    (time, sealed): (Option<RunTime>, bool),
) -> String {
    let Target { epsilon, delta } = plan.target;
    let mut lines = vec![format!(
        "plan '{}': {}, ε {epsilon} at δ {}, {}",
        plan.name,
        plan.method,
        delta_words(delta),
        preview.calibrated.guarantee().adjacency.words()
    )];
    let all = |it: &Option<Guarantee>, otherwise: &str| {
        it.as_ref().map_or_else(|| otherwise.to_owned(), |it| round_up(it.epsilon, 4))
    };
    let unknown = "not known";
    let before = if preview.standing == TotalStanding::Nothing { unknown } else { "0" };
    let of = preview.budget.as_ref().map_or_else(
        || ", without a budget".to_owned(),
        |budget| format!(" of {} at δ {}", budget.epsilon, delta_words(budget.delta)),
    );
    lines.push(format!(
        "  all spending on these records: ε {} so far, {} with this plan{of}",
        all(&preview.spent, before),
        all(&preview.after, unknown)
    ));
    lines.extend(time.map(|time| format!("  time: {}", time_words(&time, sealed))));
    lines.extend(preview.score.as_ref().map(|score| format!("  score: {score}")));
    lines.extend(preview.warnings.iter().map(|note| format!("  note: {note}")));
    lines.join("\n")
}

/// The time of a run in the view that was asked for, and in the sealed one if it is much shorter.
fn time_words(time: &RunTime, sealed: bool) -> String {
    let shorter =
        !sealed && time.words(false) != time.words(true) && time.sealed.mul_f64(1.2) < time.open;
    let other = if shorter { time.words(true) + " with --sealed, " } else { String::new() };
    format!("{}, {other}without reading the data, timed on public records", time.words(sealed))
}

fn as_text(summary: &Summary, watch: &Watch) -> String {
    let mut lines = vec![format!(
        "{} · {} · {} private {} and {} public records, {} steps in {:.2} s",
        summary.plan,
        summary.method,
        summary.private_records,
        protected_words(summary.unit.as_deref()),
        summary.public_records,
        summary.steps,
        summary.worked.as_secs_f64()
    )];
    if let Some(score) = &summary.score {
        lines.extend(score.lines().into_iter().map(|line| format!("  {line}")));
    }
    let weights = source_words(&summary.source_weights);
    lines.extend(weights.map(|words| format!("  released, may be shared: {words}")));
    let scores = &summary.scores;
    let cell = |error: f64| error_cell(scores.task, error);
    let model = match summary.guarantee.epsilon {
        _ if summary.public_only => "public data alone".to_owned(),
        0.0 => "this model (ε 0)".to_owned(),
        epsilon => format!("this model (ε {})", round_up(epsilon, 3)),
    };
    if let Some(errors) = scores.exact(watch) {
        let sentences = errors.verdict().sentences;
        lines.splice(1..1, sentences.into_iter().map(|sentence| format!("  {sentence}")));
        let further = errors.further;
        let own = further.map(|it| it.model).unwrap_or_default();
        lines.push(format!(
            "  {} on private records held out (◆ exact, for your eyes only)",
            measured_words(scores.error_words(), &own)
        ));
        for (name, score, further) in [
            ("public data alone", errors.public_alone, further.and_then(|it| it.public_alone)),
            ("linear, no privacy", errors.no_privacy, further.and_then(|it| it.no_privacy)),
            (model.as_str(), Some(errors.model), Some(own)),
        ] {
            // A run of public data alone is compared with nothing.
            if summary.public_only && score.is_none() {
                continue;
            }
            lines.push(match score {
                Some(score) => {
                    measured_line(name, &cell(score), &further.unwrap_or_default(), " ◆")
                }
                None => format!("    {name:<34} {:>12}", "–"),
            });
        }
    }
    if let Some(score) = scores.model_on_public {
        let words = measured_words(scores.error_words(), &score.further);
        let line = format!("  {words} on public records held out");
        if let Some(source) = scores.source_only_on_public {
            lines.push(line + "; the error may rise as the model adapts to private ones");
            lines.push(measured_line(
                "public data alone",
                &cell(source.error),
                &source.further,
                "",
            ));
        } else {
            lines.push(line);
        }
        lines.push(measured_line(&model, &cell(score.error), &score.further, ""));
    }
    let guarantee = &summary.guarantee;
    let spent = match guarantee.epsilon {
        0.0 => "nothing was spent, and any number of such runs spends nothing".to_owned(),
        epsilon => format!(
            "{}ε = {}, δ = {} ({}, {})",
            if summary.public_only { "for its score, " } else { "" },
            round_up(epsilon, 4),
            delta_words(guarantee.delta),
            guarantee.adjacency.words(),
            guarantee.bound
        ),
    };
    let peeked = if summary.peeked { "exact numbers were computed (◆)" } else { "sealed" };
    lines.push(format!("  {}: {spent}; {peeked}", summary.outcome.words()));
    if !summary.sites.is_empty() {
        lines.push(format!(
            "  trained together with the sites {}; joint.json says what holds for their records",
            summary.sites.join(", ")
        ));
    }
    if let Some(all) = &summary.with_start {
        lines.push(format!(
            "  with the runs that its model builds on: ε = {}, δ = {:e}; that is what the \
             model's certificate states",
            round_up(all.epsilon, 4),
            all.delta
        ));
    }
    lines.push(format!("  written to {}", summary.directory.display()));
    lines.splice(0..0, summary.score.as_ref().and_then(Scored::alarm));
    lines.join("\n")
}

/// `wrong answers, balanced accuracy, AUC`: the numbers of a line, in their order.
fn measured_words(error: &str, further: &FurtherScores) -> String {
    let names = further.rows().into_iter().map(|(name, _)| name);
    std::iter::once(error).chain(names).collect::<Vec<_>>().join(", ")
}

/// The error of a model and its further scores.
fn measured_line(name: &str, error: &str, further: &FurtherScores, mark: &str) -> String {
    let mut line = format!("    {name:<34} {error:>12}{mark}");
    for (_, value) in further.rows() {
        // Writing into a String cannot fail.
        let _ = write!(line, " {value:>10}{mark}");
    }
    line
}

/// The summary for programs: public and released numbers, and exact ones only on explicit request.
fn as_json(summary: &Summary, curator: Option<&Watch>) -> Value {
    let error = match summary.scores.task {
        Some(Task::Classification) => "error_rate",
        _ => "rmse",
    };
    // Root mean squares have a key of their own, whatever the plan is judged by.
    let squared = |it: Measured| it.led_by(Loss::Squared);
    let measured = |it: Measured| {
        let it = squared(it);
        let mut value = further_json(&it.further);
        value[error] = json!(it.error);
        value
    };
    let mut value = json!({
        "run": summary.run,
        "plan": summary.plan,
        "method": summary.method,
        "outcome": summary.outcome,
        "target": summary.target,
        "guarantee": summary.guarantee,
        "guarantee_with_start": summary.with_start,
        "other_sites": summary.sites,
        "unit": summary.unit,
        "private_records": summary.private_records,
        "public_records": summary.public_records,
        "steps": summary.steps,
        "seconds": summary.worked.as_secs_f64(),
        "peeked": summary.peeked,
        "directory": summary.directory,
        "public_rmse": {
            "model": summary.scores.model_on_public.map(|it| squared(it).error),
            "source_only": summary.scores.source_only_on_public.map(|it| squared(it).error),
        },
        "public_measures": {
            "model": summary.scores.model_on_public.map(measured),
            "source_only": summary.scores.source_only_on_public.map(measured),
        },
    });
    if let Some(score) = &summary.score {
        value["score"] = json!(score);
    }
    if !summary.source_weights.is_empty() {
        value["source_weights"] = json!(summary.source_weights);
    }
    if let Some(watch) = curator {
        let exact = |score: &Option<CuratorOnly<Measured>>| {
            score.as_ref().and_then(|score| score.reveal(watch)).copied()
        };
        let of_all = |told: &dyn Fn(Measured) -> Value| {
            json!({
                "model": exact(&summary.scores.model).map(told),
                "source_only": exact(&summary.scores.source_only).map(told),
                "target_only": exact(&summary.scores.target_only).map(told),
            })
        };
        value["curator_only_private_rmse"] = of_all(&|it| json!(squared(it).error));
        value["curator_only_private_measures"] = of_all(&measured);
    }
    value
}
