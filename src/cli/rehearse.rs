//! `halflight rehearse SESSION`: what to do, and what to expect, before anything is spent.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use clap::Args;
use serde_json::{Value, json};

use super::job_array::{JobArray, On, check_sbatch, program, quoted, word};
use super::progress::ProgressLine;
use super::reading::Watched;
use super::{messages, print_line, print_result, signals};
use crate::engine::joining::{self, JoiningJob};
use crate::engine::rehearse::{self, RehearsalJob};
use crate::engine::sweep::axes::SweepAxis;
use crate::engine::{Job, look};
use crate::error::{Doing as _, Error, Result};
use crate::files;
use crate::methods;
use crate::rehearsal::Player;
use crate::rehearsal::advice::{Advice, PlayerLine, PlayerStanding, capital, odds};
use crate::rehearsal::joining::Joining;
use crate::session::named::{self, OwnKind, Replace};
use crate::session::{PlanDefinition, Session, Workspace, dataset};

/// Find out which method to use, and what to expect, before anything is spent.
///
/// Public datasets, or parts of them, play the private one: every method that fits runs on them as
/// it would on the private records. Of the private data only the number of records is used, and the
/// ledger does not change. Results are kept in .halflight/rehearsals: the same command continues
/// where it was stopped.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  halflight rehearse session.ron
  halflight rehearse session.ron --as-it-is
  halflight rehearse session.ron --over epsilon=0.1,0.5,1,5 --only public_shape,target_only
  halflight rehearse session.ron --deep
  halflight rehearse session.ron --joining 150,450
  halflight rehearse session.ron --out advised.ron
  halflight rehearse session.ron --out candidates.ron --best 3
  halflight rehearse session.ron --on slurm --parts 8 --sbatch=--time=1:00:00")]
#[expect(clippy::struct_excessive_bools, reason = "switches of a command line")]
pub struct Rehearse {
    /// Session file (.ron).
    session: PathBuf,

    /// The plan to rehearse, if the session has several.
    #[arg(long)]
    plan: Option<String>,

    /// The ε to try, as epsilon=VALUE,VALUE,… (default: a quarter to four times the plan's).
    #[arg(long, value_name = "epsilon=VALUES")]
    over: Option<String>,

    /// Rehearse a joint run with other sites that have these numbers of records: what does joining
    /// bring? The ε are the plan's own, and those of --over.
    #[arg(long, value_name = "RECORDS,…", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..),
        conflicts_with_all = ["methods", "deep", "part", "on", "include_curator", "out"])]
    joining: Vec<u32>,

    /// Compare the plan as it is with public data alone, at its ε, and try no other method: a few seconds.
    #[arg(long, conflicts_with_all = ["over", "joining", "methods", "deep", "on", "out"])]
    as_it_is: bool,

    /// Only these methods, such as public_shape,target_only, by id, name or how one begins (default: all
    /// that fit).
    #[arg(long = "only", visible_alias = "methods", value_delimiter = ',')]
    methods: Vec<String>,

    /// Try methods that fall behind as often as the others, and at every ε. With --best and on a
    /// cluster this is always so.
    #[arg(long)]
    deep: bool,

    /// How often each trial is repeated, with other records and other noise (default: 3; with at most
    /// 500 records 8, and 2 at other ε than the plan's; with many columns and classes 2).
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=1000))]
    repetitions: Option<u64>,

    /// Do one share of the trials, such as 2/8; other processes do the others.
    #[arg(long, value_name = "K/N", value_parser = part)]
    part: Option<(usize, usize)>,

    /// Who does the trials. When others have done them, the same command without this option
    /// gathers what they found.
    #[arg(long, value_enum, default_value_t = On::Here, conflicts_with_all = ["part", "out"])]
    on: On,

    /// With --on slurm or list: shares of the trials.
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..))]
    parts: u16,

    /// An option for sbatch, such as --sbatch=--time=1:00:00 (repeatable).
    #[arg(long, value_name = "OPTION", allow_hyphen_values = true)]
    sbatch: Vec<String>,

    /// With --on slurm: print the job array, and submit nothing.
    #[arg(long)]
    dry_run: bool,

    /// Let the last ranking by exact numbers (◆) say which rehearsals count more. The ledger notes
    /// it, and the advice is for the curator: nothing of it is kept.
    #[arg(long)]
    include_curator: bool,

    /// Write the session with this plan changed to the advised method.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,

    /// With --out: write this many of the best methods, each as a plan of its own, for `halflight
    /// choose`.
    #[arg(long, value_name = "COUNT", requires = "out", value_parser = clap::value_parser!(u8).range(2..=20))]
    best: Option<u8>,

    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// Parses a share such as `2/8`. The result counts from 0.
fn part(text: &str) -> std::result::Result<(usize, usize), String> {
    let numbers = text.split_once('/').and_then(|(k, n)| Some((k.parse().ok()?, n.parse().ok()?)));
    match numbers {
        Some((k, n)) if (1..=n).contains(&k) => Ok((k - 1, n)),
        _ => Err("give a share as K/N, such as 2/8 for the second of eight".to_owned()),
    }
}

impl Rehearse {
    /// The ids of the methods that are asked for.
    fn methods(&self, plan: &PlanDefinition) -> Result<Vec<String>> {
        let named = methods::named(&self.methods.join(","), methods::task_of(&plan.method))?;
        Ok(named.into_iter().map(str::to_owned).collect())
    }

    pub fn execute(&self) -> Result<()> {
        let session = Session::open(&self.session)?;
        let plan = self.plan(&session)?.clone();
        let workspace = Workspace::of_session(&self.session)?;
        if let Some(path) = &self.out {
            let data = named::data_of(&session, &workspace);
            named::check(path, Replace::Own(OwnKind::Session), &data)?;
        }
        if self.on != On::Here {
            return self.share_out(&plan, &workspace);
        }
        let plays = |name: &String| *name == plan.private || plan.public.contains(name);
        let mut datasets = Vec::new();
        for definition in session.datasets.iter().filter(|it| plays(&it.name)) {
            let loaded = dataset::load_watched(definition, &workspace, &mut Watched::default())?;
            datasets.push(Arc::new(loaded));
        }
        let epsilons = self.over.as_deref().map(epsilons).transpose()?.unwrap_or_default();
        let (control, interrupted) = signals::control()?;
        let stopped = |done: usize, all: usize| {
            if !interrupted.load(Ordering::Relaxed) {
                return Ok(());
            }
            Err(Error::interrupted(format!(
                "stopped by a signal after {done} of {all} trials; the same command continues from there"
            )))
        };
        if !self.joining.is_empty() {
            let run = Job { control, ..Job::new(session, plan, datasets, workspace) };
            let others = self.joining.iter().map(|records| *records as usize).collect();
            let repetitions = self.repetitions;
            let job = JoiningJob { run, others, epsilons, repetitions };
            let (mut progress, mut played) = (None, (0, 0));
            let found = joining::rehearse(&job, &mut |done, all| {
                played = (done, all);
                progress.get_or_insert_with(|| ProgressLine::new("trials", all)).tell(done);
            });
            drop(progress);
            let found = found?;
            let plan = &job.run.plan;
            print_result(
                self.json,
                || joining_as_json(&found, plan),
                || joining_as_text(&found, plan),
            )?;
            return stopped(played.0, played.1);
        }
        let job = RehearsalJob {
            epsilons,
            methods: self.methods(&plan)?,
            repetitions: self.repetitions,
            deep: self.deep || self.best.is_some(),
            as_it_is: self.as_it_is,
            part: self.part.unwrap_or(rehearse::ALL_TRIALS),
            exact: self.include_curator.then(|| look::view(false)),
            run: Job { control, ..Job::new(session, plan, datasets, workspace) },
        };
        let mut progress = None;
        let found = rehearse::rehearse(&job, &mut |state| {
            let bar = progress.get_or_insert_with(|| ProgressLine::new("trials", state.total));
            bar.expect(state.total);
            bar.expect_time(state.left);
            bar.tell(state.done);
        });
        drop(progress);
        let found = found?;
        if self.include_curator && !self.json {
            print_line(
                "◆ For the curator alone: exact numbers were used, and the ledger notes it.",
            )?;
        }
        let (plan, advice) = (&job.run.plan, &found.advice);
        let said = said(&found, &job);
        print_result(self.json, || as_json(advice, plan, &said), || as_text(advice, plan, &said))?;
        if let Some(path) = &self.out {
            let session = match self.best {
                Some(count) => job.candidates(&found.advice, count.into())?,
                None => job.advised(&found.advice)?,
            };
            session.save(path)?;
            messages::tell(format_args!("wrote {}", path.display()));
        }
        stopped(found.done, found.total)
    }

    /// Submits a job array or prints a list of commands.
    fn share_out(&self, plan: &PlanDefinition, workspace: &Workspace) -> Result<()> {
        if self.include_curator {
            let error =
                "--include-curator only weighs results: it has no effect on a share of them";
            return Err(Error::usage(error)
                .cure("leave it out here, and give it to the command that gathers the results"));
        }
        if self.on == On::List {
            let mut parts = 1..=self.parts;
            return parts.try_for_each(|part| print_line(&self.command(plan, &part.to_string())?));
        }
        let folder = workspace.folder().join("rehearsals").join("slurm");
        let array = JobArray {
            folder: &folder,
            tasks: self.parts.into(),
            options: &self.sbatch,
            command: self.command(plan, "\"$((SLURM_ARRAY_TASK_ID + 1))\"")?,
        };
        if self.dry_run {
            return print_line(array.script().trim_end());
        }
        check_sbatch()?;
        files::create_private_folder(&folder)
            .doing("create the folder of the job array", &folder)?;
        let job = array.submit("let this machine do it: the same command without --on")?;
        print_line(&format!("Slurm job {job}: {} parts", self.parts))?;
        messages::tell("when they are done, the same command without --on gathers what they found");
        Ok(())
    }

    /// The shell command for one part; `part` is its number, counted from 1.
    fn command(&self, plan: &PlanDefinition, part: &str) -> Result<String> {
        let session =
            std::path::absolute(&self.session).doing("find the session", &self.session)?;
        let mut words = vec![quoted(&program()?), "rehearse".to_owned(), quoted(&session)];
        let mut option = |name: &str, value: &str| words.extend([name.to_owned(), word(value)]);
        option("--plan", &plan.name);
        if let Some(over) = &self.over {
            option("--over", over);
        }
        if !self.methods.is_empty() {
            option("--methods", &self.methods.join(","));
        }
        if let Some(repetitions) = self.repetitions {
            option("--repetitions", &repetitions.to_string());
        }
        Ok(format!("{} --part {part}/{}", words.join(" "), self.parts))
    }

    fn plan<'a>(&self, session: &'a Session) -> Result<&'a PlanDefinition> {
        let names = || session.plans.iter().map(|plan| plan.name.as_str()).collect::<Vec<_>>();
        match (&self.plan, session.plans.as_slice()) {
            (None, [plan]) => Ok(plan),
            (None, []) => Err(Error::usage("the session has no plan").cure("add one to it")),
            (None, _) => Err(Error::usage("the session has several plans")
                .cure(format!("name one with --plan: {}", names().join(", ")))),
            (Some(name), plans) => plans.iter().find(|plan| plan.name == *name).ok_or_else(|| {
                Error::usage(format!("the session has no plan '{name}'"))
                    .cure(format!("choose from: {}", names().join(", ")))
            }),
        }
    }
}

/// The command that tries a plan as it is.
pub fn command(session: Option<&Path>, plan: &str) -> String {
    let session = session.unwrap_or(Path::new("session.ron"));
    format!("halflight rehearse {} --plan {} --as-it-is", quoted(session), word(plan))
}

/// What a rehearsal says: of all methods, or of the plan as it is.
fn said(found: &rehearse::RehearsalProgress, job: &RehearsalJob) -> Vec<String> {
    let (advice, plan) = (&found.advice, &job.run.plan);
    let (player, epsilon) = (plan.player(), plan.target.epsilon);
    let of_plan = |advice: &Advice| {
        let first = advice.warning(&player, epsilon);
        first.or_else(|| advice.expectation(&player, epsilon))
    };
    if let Some(first) = of_plan(advice).filter(|_| job.as_it_is) {
        return [vec![first], advice.reliability(&player, epsilon)].concat();
    }
    if found.is_whole() { advice.sentences() } else { advice.so_far() }
}

/// The values of `epsilon=0.5,1,2`.
fn epsilons(text: &str) -> Result<Vec<f64>> {
    let axis = SweepAxis::parse(text)?;
    let numbers = axis.values.iter().map(|value| value.parse().ok().filter(|x: &f64| *x > 0.0));
    let numbers: Option<Vec<f64>> = numbers.collect();
    numbers.filter(|_| axis.key == "epsilon").ok_or_else(|| {
        Error::usage(format!("'{text}' does not say which ε to try"))
            .cure("write --over epsilon=0.5,1,2")
    })
}

fn joining_as_text(found: &Joining, plan: &PlanDefinition) -> String {
    let records = |count: &usize| count.to_string();
    let (own, others) = found.records.split_at(1);
    let others: Vec<String> = others.iter().map(records).collect();
    let mut lines = vec![found.sentence(plan.target.epsilon), String::new()];
    lines.push(format!(
        "{} · {} · {} records train here, {} at the other sites",
        plan.name,
        plan.method,
        own[0],
        others.join(" and ")
    ));
    let measure = capital(found.measure.words());
    lines.push(format!("{measure} relative to public data alone (below 1 is better), and the range over rehearsals:"));
    lines.extend(found.table().into_iter().map(|line| format!("  {line}")));
    lines.extend(found.notes.iter().cloned());
    lines.join("\n")
}

fn joining_as_json(found: &Joining, plan: &PlanDefinition) -> Value {
    let sentences = [vec![found.sentence(plan.target.epsilon)], found.notes.clone()].concat();
    json!({
        "plan": plan.name,
        "measure": found.measure.words(),
        "records": found.records,
        "joining": found.lines,
        "sentences": sentences,
    })
}

fn as_text(advice: &Advice, plan: &PlanDefinition, said: &[String]) -> String {
    let count = advice.cases.len();
    let s = if count == 1 { "" } else { "s" };
    let mut lines =
        vec![format!("{} · {count} rehearsal{s}: {}", plan.name, advice.cases.join(", "))];
    let measure = capital(advice.measure().words());
    lines.push(format!("{measure} relative to public data alone (below 1 is better):"));
    let rows: Vec<&PlayerLine> = advice.for_table().collect();
    let at_plan = |line: &PlayerLine| line.standings.get(advice.at).copied().flatten();
    let log_loss = |line: &PlayerLine| at_plan(line).and_then(|found| found.log_loss);
    let has_log_loss = rows.iter().any(|line| log_loss(line).is_some());
    let width = rows.iter().map(|line| line.player.title().chars().count()).max().unwrap_or(0);
    let head = advice.epsilons.iter().map(|e| format!("{:>10}", format!("ε {}", round(*e))));
    let mut head = head.collect::<String>();
    if has_log_loss {
        head += "  log. loss†";
    }
    lines.push(format!("  {}{head}   best in", " ".repeat(width)));
    for line in rows {
        let title = line.player.title();
        let pad = " ".repeat(width - title.chars().count());
        let cell = |k: usize| {
            let ratio = line.standings.get(k).copied().flatten().map(|found| found.ratio);
            let mark = if advice.is_choice(line, k) { "*" } else { " " };
            format!("{:>9}{mark}", ratio.map_or("–".to_owned(), |ratio| format!("{ratio:.3}")))
        };
        let mut cells = (0..advice.epsilons.len()).map(cell).collect::<String>();
        if has_log_loss {
            let told = log_loss(line).map_or("–".to_owned(), |ratio| format!("{ratio:.3}"));
            let _ = write!(cells, "{told:>11} ");
        }
        let last = match (&line.failed, at_plan(line)) {
            (_, Some(_)) if line.player == Player::NoPrivacy => String::new(),
            (_, Some(found)) => format!("{:>3} of {}", found.best_in, found.cases),
            (Some(why), None) => why.clone(),
            (None, None) => String::new(),
        };
        lines.push(format!("  {title}{pad}{cells}  {last}").trim_end().to_owned());
    }
    let factors = advice.epsilons.iter().map(|e| format!("{:>9} ", odds(*e)));
    let factors = factors.collect::<String>();
    let title = ODDS.chars().take(width).collect::<String>();
    let pad = " ".repeat(width - title.chars().count());
    lines.push(format!("  {title}{pad}{}", factors.trim_end()));
    lines.push("* to be used at this ε".to_owned());
    lines.extend(has_log_loss.then(|| {
        let epsilon = round(advice.epsilons[advice.at]);
        format!(
            "† Logarithmic loss relative to public data alone, at ε {epsilon}: methods are chosen by it, \
             and \"best in\" counts by it."
        )
    }));
    lines.push(String::new());
    lines.extend_from_slice(said);
    lines.join("\n")
}

/// The label of the largest factor by which an attacker's odds about a person change.
const ODDS: &str = "attacker's odds: up to ×";

fn round(x: f64) -> f64 {
    (x * 1e4).round() / 1e4
}

fn as_json(advice: &Advice, plan: &PlanDefinition, said: &[String]) -> Value {
    let standing = |found: PlayerStanding| {
        let (least, most) = found.range();
        json!({
            "range_of_a_run": {"least": least, "most": most},
            "ratio": found.ratio, "least": found.least, "most": found.most,
            "best_in": found.best_in, "logarithmic_loss": found.log_loss, "rehearsals": found.cases, "spread": found.spread,
            "released_score": found.score.map(|score| json!({
                "records": score.records, "gain": 1.0 - found.ratio,
                "half_width": score.half_width,
                "confirms_the_gain": 1.0 - found.ratio > score.half_width,
            })),
        })
    };
    let line = |line: &PlayerLine| {
        let standings = line.standings.iter().map(|found| found.map(standing));
        json!({
            "method": line.player.id(),
            "title": line.player.title(),
            "against_public_alone": standings.collect::<Vec<_>>(),
            "does_not_fit": line.failed,
        })
    };
    let chosen = advice.choice.iter().map(|choice| choice.map(|at| advice.lines[at].player.id()));
    json!({
        "plan": plan.name,
        "measure": advice.measure().words(),
        "epsilons": advice.epsilons,
        "odds_change_by_at_most": advice.epsilons.iter().map(|e| e.exp()).collect::<Vec<_>>(),
        "rehearsals": advice.cases,
        "weights": advice.weights,
        "players": advice.lines.iter().map(line).collect::<Vec<_>>(),
        "advised": chosen.collect::<Vec<_>>(),
        "sentences": said,
    })
}
