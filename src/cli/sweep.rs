//! `halflight sweep`: one plan for many values, here, on a cluster, or as a list.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};

use clap::Args;
use serde_json::json;

use super::job_array::{JobArray, On, check_sbatch, program, quoted};
use super::progress::ProgressLine;
use super::run::print_answers;
use super::{messages, print_json, print_line, signals};
use crate::engine::look;
use crate::engine::sweep::axes::{self, SweepAxis};
use crate::engine::sweep::{self, Planned, TaskTally};
use crate::engine::{Job, PreparedStore, Summary};
use crate::error::{Doing as _, Error, Result};
use crate::memory;
use crate::methods::Series;
use crate::numeric::parallel;
use crate::privacy::accountant::{delta_words, round_up};
use crate::privacy::ledger::RunOutcome;
use crate::privacy::{Guarantee, Watch};
use crate::session::sweep::{SweepDirectory, TaskDirectory, TaskState};
use crate::session::{Loaded, PlanDefinition, Session, Workspace, archive, dataset, slurm};

/// Run a plan for many values, here, on a cluster, or as a list of commands.
///
/// The ledger reserves the whole sweep before anything starts, or refuses it.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  halflight sweep session.ron --over epsilon=0.5,1,2 --over seed=0..9
  halflight sweep session.ron --over seed=0..99 --on slurm --into /shared/s1 --sbatch=--time=1:00:00
  halflight sweep session.ron --over seed=0..99 --on list --into s2 | xargs -d '\\n' -P 8 -I{} sh -c {}
  halflight sweep --collect /shared/s1")]
#[expect(clippy::struct_excessive_bools, reason = "switches of a command line")]
pub struct Sweep {
    /// Session file (.ron).
    #[arg(required_unless_present_any = ["collect", "go_on", "task"])]
    session: Option<PathBuf>,

    /// The plan to vary, if the session has several.
    #[arg(long)]
    plan: Option<String>,

    /// Values of a field: epsilon, delta, seed, method or a setting of the method, as
    /// KEY=VALUE,VALUE,… or KEY=FIRST..LAST (both included). Several combine.
    #[arg(long, value_name = "KEY=VALUES")]
    over: Vec<String>,

    /// Where the tasks are carried out.
    #[arg(long, value_enum, default_value_t = On::Here)]
    on: On,

    /// Print what would be done; reserve and write nothing.
    #[arg(long)]
    dry_run: bool,

    /// Tasks at a time on this machine (default: one for each core).
    #[arg(long, value_name = "N")]
    jobs: Option<usize>,

    /// Directory of the sweep; on shared storage for other machines.
    #[arg(long, value_name = "DIR")]
    into: Option<PathBuf>,

    /// Compute no exact number about private data.
    #[arg(long)]
    sealed: bool,

    /// An option for sbatch, such as --sbatch=--time=1:00:00 (repeatable).
    #[arg(long, value_name = "OPTION", allow_hyphen_values = true)]
    sbatch: Vec<String>,

    /// Carry out, on this machine, the tasks of this sweep that nobody has begun.
    #[arg(long = "continue", value_name = "DIR", conflicts_with = "session")]
    go_on: Option<PathBuf>,

    /// Gather the results of this sweep and settle them in the ledger.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["session", "go_on"])]
    collect: Option<PathBuf>,

    /// With --collect: also settle tasks that have not ended; those that were not begun never will
    /// be.
    #[arg(long, requires = "collect")]
    give_up: bool,

    /// Carry out one task, as the list of commands and the job array do.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["session", "go_on", "collect"])]
    task: Option<PathBuf>,

    /// Print JSON.
    #[arg(long)]
    json: bool,
}

impl Sweep {
    pub fn execute(&self) -> Result<()> {
        // The output of a task ends up in the log of a cluster.
        if self.sealed || self.task.is_some() {
            messages::seal();
        }
        if let Some(task) = &self.task {
            return carry_out(&TaskDirectory::at(task)?, self.json);
        }
        if let Some(sweep) = &self.collect {
            return self.tell_collected(&SweepDirectory::open(sweep)?);
        }
        if let Some(sweep) = &self.go_on {
            let sweep = SweepDirectory::open(sweep)?;
            let datasets = sweep::load(&sweep.task(0))?;
            return self.run_here(&sweep, &datasets);
        }
        let Some(path) = &self.session else {
            return Err(Error::usage("no session is named"));
        };
        let session = Session::open(path)?;
        let plan = self.base(&session)?.clone();
        let axes =
            self.over.iter().map(|axis| SweepAxis::parse(axis)).collect::<Result<Vec<_>>>()?;
        let variants = axes::variants(&session, &plan, &axes)?;
        if self.on == On::Slurm && !self.dry_run {
            check_sbatch()?;
        }
        let workspace = Workspace::of_session(path)?;
        let used = session.datasets.iter().filter(|definition| plan.uses(&definition.name));
        let datasets = used.map(|definition| dataset::load(definition, &workspace).map(Arc::new));
        let datasets = datasets.collect::<Result<Vec<_>>>()?;
        let base = Job::new(session, plan, datasets, workspace);
        let sealed = self.sealed || base.session.sealed;
        let base = Job { watch: look::view(sealed), ..base };
        let planned = sweep::plan(&base, variants)?;
        tell_planned(&planned);
        let into = self.into.clone().unwrap_or_else(|| default_directory(&base.workspace));
        if self.dry_run {
            let after = sweep::admit(&base, &planned)?;
            return self.rehearse(&planned, &into, after.as_ref());
        }
        let sweep = sweep::reserve(&base, &planned, &into)?;
        messages::tell(format_args!(
            "{} tasks are reserved in {}",
            planned.len(),
            sweep.path().display()
        ));
        match self.on {
            On::Here => self.run_here(&sweep, &base.datasets),
            On::List => self.print_list(sweep.path(), planned.len()),
            On::Slurm => self.submit(&sweep),
        }
    }

    fn base<'a>(&self, session: &'a Session) -> Result<&'a PlanDefinition> {
        match (&self.plan, session.plans.as_slice()) {
            (Some(name), _) => session.plan(name),
            (None, [only]) => Ok(only),
            (None, []) => Err(Error::usage("the session has no plan")
                .cure("add one on the Plan screen: halflight SESSION.ron, then 3")),
            (None, plans) => {
                let names: Vec<_> = plans.iter().map(|plan| format!("'{}'", plan.name)).collect();
                Err(Error::usage("the session has several plans")
                    .cure(format!("choose one with --plan: {}", names.join(", "))))
            }
        }
    }

    fn rehearse(&self, planned: &[Planned], into: &Path, after: Option<&Guarantee>) -> Result<()> {
        let into = std::path::absolute(into).doing("find the directory", into)?;
        match self.on {
            On::Slurm => print_line(self.job_array(&into, planned.len())?.script().trim_end()),
            On::List => self.print_list(&into, planned.len()),
            On::Here => dry_rows(planned, after).iter().try_for_each(|row| print_line(row)),
        }
    }

    fn run_here(&self, sweep: &SweepDirectory, datasets: &[Arc<Loaded>]) -> Result<()> {
        let (control, interrupted) = signals::control()?;
        let cores = parallel::threads();
        let progress = Mutex::new((ProgressLine::new("tasks", sweep.manifest.tasks.len()), 0));
        let report = |index: usize, done: &Result<Summary>| {
            let mut progress = progress.lock().unwrap_or_else(PoisonError::into_inner);
            let (line, count) = &mut *progress;
            if let Err(trouble) | Ok(Summary { trouble: Some(trouble), .. }) = done {
                messages::complain(format_args!("task {index}: {trouble}"));
            }
            *count += 1;
            line.tell(*count);
        };
        sweep::run_here(sweep, datasets, self.jobs.unwrap_or(cores), &control, &report)?;
        drop(progress);
        let collected = self.tell_collected(sweep);
        if interrupted.load(Ordering::Relaxed) {
            return Err(Error::interrupted("stopped by a signal").cure(format!(
                "`halflight sweep --continue {0}` carries on, `--collect {0} --give-up` frees \
                 what was not begun",
                quoted(sweep.path())
            )));
        }
        collected
    }

    fn print_list(&self, sweep: &Path, tasks: usize) -> Result<()> {
        let program = program()?;
        let commands: Vec<String> = (0..tasks)
            .map(|index| {
                let task = sweep.join("tasks").join(format!("{index:04}"));
                format!("{} sweep --task {}{}", quoted(&program), quoted(&task), limit())
            })
            .collect();
        if self.json {
            return print_json(&json!({ "sweep": sweep, "commands": commands }));
        }
        commands.iter().try_for_each(|command| print_line(command))?;
        say_how_to_collect(sweep);
        Ok(())
    }

    fn job_array<'a>(&'a self, sweep: &'a Path, tasks: usize) -> Result<JobArray<'a>> {
        let command = format!(
            "{} sweep --task {}/\"$(printf %04d \"$SLURM_ARRAY_TASK_ID\")\"{}",
            quoted(&program()?),
            quoted(&sweep.join("tasks")),
            limit(),
        );
        Ok(JobArray { folder: sweep, tasks, options: &self.sbatch, command })
    }

    fn submit(&self, sweep: &SweepDirectory) -> Result<()> {
        let array = self.job_array(sweep.path(), sweep.manifest.tasks.len())?;
        let job = array.submit(&format!(
            "free what is reserved with `halflight sweep --collect {} --give-up`",
            quoted(sweep.path())
        ))?;
        // `halflight watch` asks the queue about this job. Without the note it only looks at files.
        let _ = slurm::note(sweep.path(), &job);
        if self.json {
            return print_json(&json!({ "sweep": sweep.path(), "slurm_job": job }));
        }
        print_line(&format!("Slurm job {job}: {} tasks", sweep.manifest.tasks.len()))?;
        say_how_to_collect(sweep.path());
        Ok(())
    }

    fn tell_collected(&self, sweep: &SweepDirectory) -> Result<()> {
        let states = sweep::collect(sweep, self.give_up)?;
        let tally = TaskTally::of(&states);
        let runs = sweep.manifest.workspace.join("runs");
        let tasks = sweep.manifest.tasks.iter().zip(&states).enumerate();
        if self.json {
            let each = tasks.map(|(index, (entry, state))| {
                let values: BTreeMap<_, _> = entry.values.iter().cloned().collect();
                json!({
                    "task": index, "run": entry.run, "values": values, "state": word(state),
                    "directory": runs.join(&entry.run.0),
                })
            });
            print_json(&json!({
                "sweep": sweep.path(), "tasks": states.len(), "done": tally.done,
                "failed": tally.failed, "missing": tally.missing, "running": tally.running,
                "not_begun": tally.not_begun, "given_up": tally.given_up,
                "each": each.collect::<Vec<_>>(),
            }))?;
        } else {
            print_line(&format!("{} of {} tasks are done", tally.done, states.len()))?;
            let watch = look::view(self.sealed);
            let directories: Vec<PathBuf> =
                sweep.manifest.tasks.iter().map(|entry| runs.join(&entry.run.0)).collect();
            for (index, (entry, state)) in tasks {
                let why = match state {
                    TaskState::Ended(result)
                        if matches!(result.outcome, RunOutcome::Finished | RunOutcome::Stopped) =>
                    {
                        result_of(&runs.join(&entry.run.0), &watch)
                    }
                    TaskState::Ended(result) => result.trouble.clone().unwrap_or_default(),
                    TaskState::Missing { claim } => format!("taken by {claim}, without a result"),
                    TaskState::Running | TaskState::NotBegun => String::new(),
                };
                let values = entry.values.iter().map(|(key, value)| format!("{key}={value}"));
                let values = values.collect::<Vec<_>>().join(" ");
                let colon = if why.is_empty() { "" } else { ": " };
                print_line(&format!("  {index:04} {values} {}{colon}{why}", word(state)))?;
            }
            print_answers(&directories, &watch)?;
            messages::tell(format_args!("ledger and runs: {}", sweep.manifest.workspace.display()));
        }
        if tally.done == states.len() {
            return Ok(());
        }
        let cure = if self.give_up || tally.missing + tally.running + tally.not_begun == 0 {
            "make a new sweep for what is missing"
        } else {
            "collect again when the rest has ended; --give-up settles tasks that never will: dead \
             ones are charged in full, those that were not begun cost nothing"
        };
        let (undone, all, words) = (states.len() - tally.done, states.len(), tally.undone());
        Err(Error::failed(format!("{undone} of {all} tasks are not done: {words}")).cure(cure))
    }
}

/// Says how the results are gathered.
fn say_how_to_collect(sweep: &Path) {
    messages::tell(format_args!("when they are done: halflight sweep --collect {}", quoted(sweep)));
}

/// The result of a run: `ε 0.4998, score 31.2 (27–36), error on public records 118.2`.
fn result_of(directory: &Path, watch: &Watch) -> String {
    let run = archive::read_run(directory);
    let spent = run.guarantee.map(|spent| format!("ε {}", round_up(spent.epsilon, 4)));
    let score = run.score.as_ref().map(|told| format!("score {}", told.brief()));
    let public = std::iter::once(Series::PublicError).chain(Series::BESIDE_PUBLIC);
    let private = std::iter::once(Series::PrivateError).chain(Series::BESIDE_PRIVATE);
    let errors = public.map(|series| (series, "")).chain(private.map(|series| (series, " ◆")));
    let errors = errors.filter_map(|(series, mark)| {
        let value = archive::last(&run, series, watch)?;
        let told = archive::cell(run.task(), series, value);
        Some(format!("{} {told}{mark}", series.words()))
    });
    spent.into_iter().chain(score).chain(errors).collect::<Vec<_>>().join(", ")
}

/// A row for each task, and one for all of them: its numbers are the sums of those above, and what
/// the ledger would count, which is no sum.
fn dry_rows(planned: &[Planned], after: Option<&Guarantee>) -> Vec<String> {
    let told = |it: &Planned| {
        let guarantee = it.calibrated.guarantee();
        (it.steps, round_up(guarantee.epsilon, 4), guarantee.delta)
    };
    let row = |it: &Planned| {
        let (steps, epsilon, delta) = told(it);
        let delta = delta_words(delta);
        format!("{}: {steps} steps, ε = {epsilon} at δ = {delta}", it.variant.plan.name)
    };
    let mut rows: Vec<String> = planned.iter().map(row).collect();
    let sums = planned.iter().map(told).fold((0, 0.0, 0.0), |sums, (steps, epsilon, delta)| {
        (sums.0 + steps, sums.1 + epsilon.parse().unwrap_or(0.0), sums.2 + delta)
    });
    let short = |sum: f64, text: String| text.parse().unwrap_or(sum);
    let epsilon: f64 = short(sums.1, format!("{:.4}", sums.1));
    let (steps, delta) = (sums.0, delta_words(short(sums.2, format!("{:.6e}", sums.2))));
    rows.push(format!("sum of the rows: {steps} steps, ε = {epsilon} at δ = {delta}"));
    rows.extend(after.map(|after| {
        let (epsilon, delta) = (round_up(after.epsilon, 4), delta_words(after.delta));
        format!(
            "the ledger composes the noise of all tasks and of everything before: ε = {epsilon} at \
             δ = {delta} for these records"
        )
    }));
    rows
}

fn tell_planned(planned: &[Planned]) {
    let steps: u64 = planned.iter().map(|it| it.steps).sum();
    messages::tell(format_args!("{} tasks, {steps} steps in all", planned.len()));
    let mut known = HashSet::new();
    let warnings = planned.iter().flat_map(|it| &it.warnings);
    warnings.filter(|warning| known.insert(*warning)).for_each(messages::note);
}

fn word(state: &TaskState) -> &'static str {
    match state {
        TaskState::Ended(result) => result.outcome.words(),
        TaskState::Missing { .. } => "missing",
        TaskState::Running => "running",
        TaskState::NotBegun => "not begun",
    }
}

/// Executes one task in the process that a queue started for it.
fn carry_out(task: &TaskDirectory, as_json: bool) -> Result<()> {
    let (control, interrupted) = signals::control()?;
    let summary =
        sweep::carry_out(task, sweep::load(task)?, control, PreparedStore::default(), &mut |_| {})?;
    if let Some(trouble) = summary.trouble {
        return Err(trouble);
    }
    if as_json {
        print_json(&json!({
            "run": summary.run, "outcome": summary.outcome, "steps": summary.steps,
            "directory": summary.directory,
        }))?;
    } else {
        messages::tell(format_args!("{}: {} steps", summary.plan, summary.steps));
    }
    if summary.outcome == RunOutcome::Stopped && interrupted.load(Ordering::Relaxed) {
        return Err(Error::interrupted("stopped by a signal; the model so far was kept"));
    }
    Ok(())
}

fn default_directory(workspace: &Workspace) -> PathBuf {
    let time = crate::clock::now().strftime("%Y%m%d-%H%M%S");
    workspace.folder().join("sweeps").join(format!("{time}-{:04x}", std::process::id() & 0xffff))
}

/// The memory that this process may use, for the tasks.
fn limit() -> String {
    memory::as_option().map(|option| format!(" {option}")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_done_is_told_in_numbers() {
        let states = [
            TaskState::NotBegun,
            TaskState::Missing { claim: String::new() },
            TaskState::Missing { claim: String::new() },
        ];
        assert_eq!(TaskTally::of(&states).undone(), "2 missing, 1 not begun");
    }
}
