//! `halflight rank SESSION`: which public data can stand in for the private data.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use serde_json::{Value, json};

use super::progress::ProgressLine;
use super::reading::Watched;
use super::site::{self, Meeting};
use super::{messages, print_json, print_line, signals, workspace_for};
use crate::engine::PreparedStore;
use crate::engine::look;
use crate::engine::ranking::{Findings, Manner, RankingJob, RankingProgress, RankingSummary, rank};
use crate::error::{Error, Result};
use crate::plot::number::{four_digits, percent};
use crate::privacy::accountant::{delta_words, round_up};
use crate::privacy::ledger::SharedNoise;
use crate::privacy::{Target, Watch};
use crate::rank::candidate_line::{CandidateLine, CandidatePlace, Estimate, Mean, MeanScores};
use crate::rank::comparison::Comparison;
use crate::rank::{
    CandidateOrder, Disclosed, RankingMechanism, ReleasedError, ReleasedLine, released,
};
use crate::session::{Session, dataset};

/// Rank a session's public datasets: which can stand in for the private one?
///
/// Without --private the numbers are exact (◆): for your eyes only, and the ledger notes that they
/// were looked at. With --private EPSILON the error of each dataset's own model is released with
/// noise; without labels, only the name of the best dataset. --mechanism chooses another way.
///
/// With --exchange several sites rank together by errors: each with its own noise, or with --one-noise with
/// one for all, from its own budget, and all of them get one table. Every site runs this command with the
/// same public datasets.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  halflight rank session.ron
  halflight rank session.ron --private 0.5
  halflight rank session.ron --private 1 --mechanism table --json
  halflight rank session.ron --private 0.5 --exchange /shared/rank --name A --sites A,B,C")]
#[command(mut_arg("exchange", |it| it.requires("private")))]
#[allow(clippy::struct_excessive_bools)] // flags of a command
pub struct Rank {
    /// Session file (.ron).
    session: PathBuf,

    /// Rank under differential privacy with this ε [default: the session's].
    #[arg(long, value_name = "EPSILON", num_args = 0..=1)]
    #[allow(clippy::option_option)] // absent, without a number, or with one
    private: Option<Option<f64>>,

    /// δ of a private ranking [default: the session's, that of the budget, or 1e-6].
    #[arg(long, requires = "private")]
    delta: Option<f64>,

    /// Allow a δ of 1/n or more, which even publishing single records would satisfy; the ledger
    /// will always say so.
    #[arg(long, requires = "private")]
    allow_large_delta: bool,

    /// What is released privately, and how [default: the session's, or errors if the data have
    /// labels, else permute-and-flip].
    #[arg(long, value_parser = mechanisms(), requires = "private")]
    mechanism: Option<RankingMechanism>,

    /// Add a column with the distance by Task2Vec, which takes some seconds for each dataset. Exact
    /// rankings only (◆): nothing releases it privately.
    #[arg(long)]
    task2vec: bool,

    /// Number of repeats [default: the session's].
    #[arg(long)]
    repeats: Option<usize>,

    /// Directory of the workspace with the ledger and the runs [default: that of the session].
    #[arg(long, value_name = "DIR")]
    workspace: Option<PathBuf>,

    /// Print JSON; exact numbers only with --include-curator.
    #[arg(long)]
    json: bool,

    /// Put exact numbers about private data into the JSON.
    #[arg(long, requires = "json", conflicts_with = "private")]
    include_curator: bool,

    #[command(flatten)]
    meeting: Meeting,
}

fn mechanisms() -> impl TypedValueParser<Value = RankingMechanism> {
    let possible = RankingMechanism::ALL.map(|it| PossibleValue::new(it.word()).help(it.about()));
    PossibleValuesParser::new(possible).map(|word| {
        let found = RankingMechanism::ALL.into_iter().find(|it| it.word() == word);
        found.unwrap_or(RankingMechanism::Errors)
    })
}

impl Rank {
    pub fn execute(&self) -> Result<()> {
        let mut session = Session::open(&self.session)?;
        let settings = &mut session.ranking.settings;
        settings.repeats = self.repeats.unwrap_or(settings.repeats);
        settings.task2vec |= self.task2vec;
        session.check()?;
        let workspace = workspace_for(&self.session, self.workspace.as_deref())?;
        let private = session.ranking.private_name(&session)?.to_owned();
        let manner = self.manner(&session)?;
        if session.ranking.settings.task2vec && manner != Manner::Curator {
            messages::tell("note: no private mechanism releases Task2Vec, so it is not computed");
        }
        let sites = self.meeting.place()?;
        if let Some(place) = &sites {
            site::announce(place, &workspace)?;
        }
        let mut datasets = Vec::new();
        let mut unread = Vec::new();
        let wanted = session.ranking.public_names(&session);
        for definition in &session.datasets {
            if definition.name != private && !wanted.contains(&definition.name.as_str()) {
                continue;
            }
            match dataset::load_watched(definition, &workspace, &mut Watched::default()) {
                Ok(loaded) => {
                    messages::tell(format_args!("read {}: {}", definition.name, loaded.size()));
                    datasets.push(Arc::new(loaded));
                }
                Err(error) if definition.name == private => return Err(error),
                // An unreadable candidate does not stop the others.
                Err(error) => {
                    messages::tell(format_args!("left out: {error}"));
                    unread.push((definition.name.clone(), error));
                }
            }
        }
        let (control, interrupted) = signals::control()?;
        let watch = look::view(manner != Manner::Curator || session.sealed);
        let (allow_large_delta, prepared) = (self.allow_large_delta, PreparedStore::default());
        let job = RankingJob {
            session,
            datasets,
            workspace,
            watch,
            control,
            manner,
            allow_large_delta,
            prepared,
            sites,
        };
        let mut progress: Option<ProgressLine> = None;
        let summary = rank(&job, &mut |event| match event {
            RankingProgress::Begun { total, remarks } => {
                remarks.into_iter().for_each(messages::note);
                progress = Some(ProgressLine::new("ranking", total));
            }
            RankingProgress::Sites(notes) => {
                progress = None;
                notes.iter().for_each(messages::tell);
            }
            RankingProgress::Stepped { step, .. } => {
                if let Some(progress) = &mut progress {
                    progress.tell(step.index);
                }
            }
        });
        drop(progress);
        let mut summary = summary?;
        if let Some(error) = &summary.unkept {
            messages::tell(format_args!("note: it will be missing in reports: {error}"));
        }
        summary.left_out.extend(unread);
        if self.json {
            print_json(&as_json(&summary, self.include_curator.then_some(&job.watch)))?;
        } else {
            print_line(&as_text(&summary, &job.watch))?;
            messages::tell(format_args!("ledger: {}", job.workspace.folder().display()));
        }
        if summary.stopped && interrupted.load(Ordering::Relaxed) {
            return Err(Error::interrupted("stopped by a signal"));
        }
        Ok(())
    }

    fn manner(&self, session: &Session) -> Result<Manner> {
        let Some(epsilon) = self.private else { return Ok(Manner::Curator) };
        let definition = &session.ranking;
        let epsilon = epsilon.or(definition.epsilon).ok_or_else(|| {
            Error::usage("neither --private nor the session's ranking names an ε")
                .cure("write --private 0.5, or `epsilon: Some(0.5)` in the session's ranking")
        })?;
        let delta = self.delta.unwrap_or_else(|| definition.delta(session));
        let mechanism = self.mechanism.unwrap_or_else(|| definition.mechanism(session));
        Ok(Manner::Private(mechanism, Target::new(epsilon, delta)?))
    }
}

fn as_text(summary: &RankingSummary, watch: &Watch) -> String {
    let mut lines = Vec::new();
    match &summary.findings {
        Findings::Curator(comparison) => {
            let exact = comparison.as_ref().and_then(|comparison| comparison.reveal(watch));
            let none = || "stopped before two repeats were done: no table".to_owned();
            lines.push(exact.map_or_else(none, table));
        }
        Findings::Nothing => lines.push("stopped before anything was drawn".to_owned()),
        Findings::Private { disclosed, guarantee, run } => {
            match disclosed {
                Disclosed::Winner(winner) => lines.push(format!("use {}", winner.get())),
                Disclosed::Errors(table) => lines.push(released_errors(table.get())),
                Disclosed::Table(table) => {
                    lines.push(released_table(table.get(), ""));
                    lines.push(format!("  {}", released::OF_TABLE));
                }
                Disclosed::Direction(table) => {
                    lines.push(released_table(table.get(), "; shares of one direction"));
                }
            }
            lines.push(format!(
                "  ε = {}, δ = {} ({}, {}){}, as {}",
                round_up(guarantee.epsilon, 4),
                delta_words(guarantee.delta),
                guarantee.adjacency.words(),
                guarantee.bound,
                SharedNoise::conditions(SharedNoise::with(&summary.sites, summary.may_collude)),
                run.0
            ));
            if let Some(joint) = &summary.joint {
                lines.push(format!(
                    "  together with other sites ({}), whose records count, too; {} says what holds for them",
                    summary.sites.join(", "),
                    joint.display()
                ));
            }
        }
    }
    for (name, error) in &summary.left_out {
        lines.push(format!("  left out: {name}: {}", error.what()));
        let error = error.in_words(messages::commands);
        lines.extend(error.cure_text().map(|cure| format!("    what to do: {cure}")));
    }
    lines.join("\n")
}

/// The table in columns. All of its numbers are exact.
pub fn table(comparison: &Comparison) -> String {
    let has =
        |line: &CandidateLine| line.alongside.as_ref().is_some_and(|it| it.task2vec.is_some());
    let task2vec = comparison.lines.iter().any(has);
    let mut lines = vec![
        format!(
            "by {}, {} repeats, m = {}, k = {}   (◆ exact, for your eyes only)",
            comparison.order.words(),
            comparison.repeats,
            comparison.batch,
            comparison.directions
        ),
        String::new(),
        format!(
            "  {:>4} {:<22} {:>15} {:>15} {:>16} {:>15} {:>13} {:>13}{}  verdict",
            "rank",
            "dataset",
            "GSD ↓",
            "error ↓",
            "behind the best",
            "energy ↑",
            "discrepancy ↓",
            "with labels ↓",
            if task2vec { format!(" {:>11}", "Task2Vec ↓") } else { String::new() }
        ),
    ];
    let reference = |name: &str, summary: &MeanScores| {
        let [energy, distance] =
            [summary.energy, summary.distance].map(|it| it.over(comparison.repeats).text());
        format!("  {:>4} {name:<22} {distance:>15} {:>15} {:>16} {energy:>15}", "·", "", "")
    };
    lines.push(reference("more private data", &comparison.floor));
    for (index, line) in comparison.lines.iter().enumerate() {
        lines.push(row(index + 1, line, comparison, task2vec));
    }
    lines.push(reference("noise", &comparison.ceiling));
    lines.extend(comparison.constant.map(|error| {
        let error = error.estimate().error_text(comparison.in_label_units);
        format!("  {:>4} {:<22} {:>15} {error:>15}", "·", comparison.constant_name(), "")
    }));
    lines.push(String::new());
    lines.push(format!("  {}", comparison.verdict));
    if let Some(second) = &comparison.other {
        let names: Vec<&str> = second.lines.iter().map(|line| line.name.as_str()).collect();
        lines.push(format!("  by {}: {}", second.order.words(), names.join(", ")));
    }
    lines.push(format!(
        "  ± 95 %; ↑ more is better, ↓ less is better; error: of a model of this dataset alone on the private records, in {}",
        comparison.error_unit()
    ));
    lines.extend(comparison.remarks.iter().map(|remark| format!("  note: {remark}")));
    lines.join("\n")
}

fn row(rank: usize, line: &CandidateLine, table: &Comparison, task2vec: bool) -> String {
    let (order, in_label_units) = (table.order, table.in_label_units);
    let number = |number: Option<f64>| number.map_or_else(|| "–".to_owned(), four_digits);
    let alongside = line.alongside.clone().unwrap_or_default();
    let over = |mean: Mean| mean.over(table.repeats);
    let energy = told(line.summary.as_ref().map(|summary| over(summary.energy)));
    let distance = told(line.summary.as_ref().map(|summary| over(summary.distance)));
    let error = alongside.error.map(|error| error.estimate().error_text(in_label_units));
    let error = error.unwrap_or_else(|| "–".to_owned());
    let behind = match (line.place, &line.behind) {
        (CandidatePlace::Behind | CandidatePlace::Tied(_), Some(behind)) => {
            let behind = Estimate::from(*behind);
            match order {
                CandidateOrder::Error => behind.difference_text(in_label_units),
                CandidateOrder::Energy | CandidateOrder::Distance => behind.text(),
            }
        }
        _ => String::new(),
    };
    let rank =
        if line.place == CandidatePlace::Broken { "–".to_owned() } else { rank.to_string() };
    format!(
        "  {rank:>4} {:<22} {distance:>15} {error:>15} {behind:>16} {energy:>15} {:>13} {:>13}{}  {}",
        line.name,
        number(alongside.unlabelled),
        number(alongside.labelled),
        if task2vec { format!(" {:>11}", number(alongside.task2vec)) } else { String::new() },
        line.verdict
    )
    .trim_end()
    .to_owned()
}

/// A number with its range, if there is one.
fn told(number: Option<Estimate>) -> String {
    number.map_or_else(|| "–".to_owned(), |number| number.text())
}

fn released_table(lines: &[ReleasedLine], of: &str) -> String {
    let mut text = vec![format!(
        "  {:>4} {:<22} {:>15} {:>15}   (released{of}; ± 95 % of the noise)",
        "rank", "dataset", "energy ↑", "GSD ↓"
    )];
    for (index, line) in lines.iter().enumerate() {
        let numbers = match line.energy {
            Some(energy) => {
                let energy = energy.estimate().text();
                format!("{energy:>15} {:>15}", told(line.distance.map(|it| it.estimate())))
            }
            None => "left out".to_owned(),
        };
        text.push(format!("  {:>4} {:<22} {numbers}", index + 1, line.name));
    }
    text.join("\n")
}

fn released_errors(lines: &[ReleasedError]) -> String {
    let mut text = vec![format!(
        "  {:>4} {:<22} {:>15} {:>16}  how sure",
        "rank", "dataset", "error ↓", "on the others ↓"
    )];
    for (index, line) in lines.iter().enumerate() {
        let Some(error) = line.error else {
            text.push(format!("  {:>4} {:<22} left out: it has no usable labels", "–", line.name));
            continue;
        };
        let shown = if line.in_label_units { four_digits } else { percent };
        let elsewhere = line.elsewhere.map_or_else(|| "–".to_owned(), shown);
        text.push(format!(
            "  {:>4} {:<22} {:>15} {elsewhere:>16}  {}",
            index + 1,
            line.name,
            error.estimate().error_text(line.in_label_units),
            line.words()
        ));
    }
    if let Some(best) = lines.first().filter(|line| line.error.is_some()) {
        text.push(String::new());
        text.push(format!("  use {}", best.name));
    }
    text.push(
        "  error: of a model of this dataset alone on the private records (released; ± 95 % \
         of the noise); on the others: on the other public datasets"
            .to_owned(),
    );
    text.push(format!("  {}", released::OF_ERRORS));
    text.join("\n")
}

/// With a watch, the JSON includes exact numbers.
fn as_json(summary: &RankingSummary, watch: Option<&Watch>) -> Value {
    let left_out: Vec<Value> = summary
        .left_out
        .iter()
        .map(|(name, error)| json!({ "name": name, "why": error.what() }))
        .collect();
    let mut value = json!({
        "private": summary.private, "stopped": summary.stopped, "remarks": summary.remarks,
        "left_out": left_out,
    });
    match &summary.findings {
        Findings::Nothing => {}
        Findings::Curator(comparison) => {
            let exact = watch.and_then(|watch| comparison.as_ref()?.reveal(watch));
            value["curator_only"] = exact.map_or(Value::Null, comparison_json);
            value["ledger"] = json!("unprotected selection, ε unstated");
        }
        Findings::Private { disclosed, guarantee, run } => {
            value["run"] = json!(run);
            value["guarantee"] = json!(guarantee);
            if let Some(joint) = &summary.joint {
                (value["other_sites"], value["joint"]) = (json!(summary.sites), json!(joint));
                if let Some(number) = summary.may_collude {
                    value["may_collude"] = json!(number);
                }
            }
            match disclosed {
                Disclosed::Winner(winner) => value["winner"] = json!(winner.get()),
                Disclosed::Errors(table) => {
                    value["winner"] = json!(table.get().first().map(|line| &line.name));
                    value["errors"] = json!(table.get());
                }
                Disclosed::Table(table) => value["released"] = json!(table.get()),
                Disclosed::Direction(table) => value["direction"] = json!(table.get()),
            }
        }
    }
    value
}

fn comparison_json(comparison: &Comparison) -> Value {
    let lines = comparison.lines.iter().map(|line| {
        let alongside = line.alongside.clone().unwrap_or_default();
        json!({
            "name": line.name, "records": line.records,
            "scores": line.summary.as_ref().map(scores_json),
            "behind": line.behind.map(|it| json!({ "mean": it.mean, "half_width": it.half_width })),
            "tied": matches!(line.place, CandidatePlace::Tied(_)),
            "more_repeats": match line.place { CandidatePlace::Tied(more) => more, _ => None },
            "no_better_than_noise": line.as_noise,
            "unlabelled_discrepancy": alongside.unlabelled,
            "labelled_discrepancy": alongside.labelled, "task2vec": alongside.task2vec,
            "error": alongside.error,
            "verdict": line.verdict,
        })
    });
    let by_gsd = comparison.by(CandidateOrder::Distance);
    json!({
        "order": comparison.order, "repeats": comparison.repeats, "batch": comparison.batch,
        "directions": comparison.directions, "datasets": lines.collect::<Vec<_>>(),
        "floor": scores_json(&comparison.floor), "ceiling": scores_json(&comparison.ceiling),
        "constant_error": comparison.constant, "error_unit": comparison.error_unit(),
        "by_gsd": by_gsd.map(|it| it.lines.iter().map(|line| &line.name).collect::<Vec<_>>()),
        "verdict": comparison.verdict,
    })
}

/// GSD as d/√k, with d next to it.
fn scores_json(scores: &MeanScores) -> Value {
    let mut value = json!(scores);
    value["projection_metric"] = json!(scores.projection_metric());
    value
}
