//! `halflight report RUN...`: one HTML file to be passed on.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::{Value, json};

use super::{further_json, messages, print_json, print_line, print_text};
use crate::engine::look;
use crate::error::{Error, Result};
use crate::files::{self, words::harmless};
use crate::methods::Series;
use crate::session::archive::{last, last_further};
use crate::session::named::{self, Replace};
use crate::session::ranking_record::ArchivedFindings;
use crate::session::report::{Report, Reported, directories};

/// Write a report on one run or several: one HTML file that needs nothing beside it.
///
/// It has the guarantee in words, plots, the configuration, what differs between the runs,
/// and how to repeat them. Every number in it is public or released, so it may be passed
/// on; each run leaves such a report in its directory, too.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  halflight report .halflight/runs/RUN
  halflight report RUN_A RUN_B RUN_C -o comparison.html
  halflight report RUN --csv steps.csv
  halflight report . --include-curator -o for-my-eyes.html")]
pub struct ReportCommand {
    /// Run directories, names of runs or their plans in this workspace, or a workspace for all its runs.
    #[arg(required = true, value_name = "RUN")]
    runs: Vec<PathBuf>,

    /// Write the report here; `-` prints it.
    #[arg(short, long, value_name = "FILE", default_value = "report.html")]
    output: PathBuf,

    /// Write the steps here, too, as CSV: a line for each, public and released numbers only.
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,

    /// Overwrite the output files.
    #[arg(long)]
    force: bool,

    /// Also show exact numbers about private data; the report is then marked as for your eyes only.
    #[arg(long)]
    include_curator: bool,

    /// Print what the report is about as JSON.
    #[arg(long)]
    json: bool,
}

impl ReportCommand {
    pub fn execute(&self) -> Result<()> {
        let printed = self.output == Path::new("-");
        if printed && self.json {
            return Err(Error::usage("both the report and its JSON would go to standard output")
                .cure("write the report to a file: -o FILE"));
        }
        let runs = self.runs.iter().map(|named| directories(named)).collect::<Result<Vec<_>>>()?;
        let mut known = HashSet::new();
        let runs: Vec<PathBuf> =
            runs.into_iter().flatten().filter(|run| known.insert(run.clone())).collect();
        let data: Vec<PathBuf> = runs.iter().flat_map(|run| named::data_at(run)).collect();
        let mut outputs = (!printed).then_some(&self.output).into_iter().chain(&self.csv);
        outputs.try_for_each(|path| named::check(path, Replace::Forced(self.force), &data))?;
        let watch = look::view(!self.include_curator);
        let report = Report::read(&runs, watch)?;
        for reported in &report.runs {
            let directory = reported.run.directory.display();
            messages::detail(format_args!("{} {directory}", reported.letter));
            reported.run.trouble.iter().for_each(messages::note);
        }
        if let Some(path) = &self.csv {
            files::write(path, steps_as_csv(&report.runs).as_bytes())?;
        }
        let html = report.html()?;
        if printed {
            return print_text(html.as_bytes());
        }
        let for_nobody = report.is_curators() || report.is_void();
        let write = if for_nobody { files::write_private } else { files::write };
        write(&self.output, html.as_bytes())?;
        if self.json {
            return print_json(&self.summary(&report)?);
        }
        let count = match report.runs.len() {
            1 => "one run".to_owned(),
            runs => format!("{runs} runs"),
        };
        let standing = if report.is_curators() {
            "it holds exact numbers (◆): do not pass it on"
        } else if report.is_void() {
            "its noise is known, so nothing is protected: do not pass it on"
        } else {
            "public and released numbers only"
        };
        print_line(&format!("{}: {count}; {standing}", self.output.display()))
    }

    fn summary(&self, report: &Report) -> Result<Value> {
        let together = report.together()?.into_iter();
        let together = together.map(|sum| json!({ "runs": sum.runs, "guarantee": sum.guarantee }));
        let runs = report.runs.iter().map(|reported| as_json(reported, report));
        let rankings = report.rankings.iter().map(|ranking| {
            let guarantee = match &ranking.findings {
                ArchivedFindings::Exact(_) => None,
                ArchivedFindings::Released(released) => Some(&released.guarantee),
            };
            json!({
                "ranking": ranking.id,
                "private": ranking.header.private,
                "curator_only": guarantee.is_none(),
                "guarantee": guarantee,
            })
        });
        Ok(json!({
            "output": self.output,
            "curator_only": report.is_curators(),
            "runs": runs.collect::<Vec<_>>(),
            "together": together.collect::<Vec<_>>(),
            "rankings": rankings.collect::<Vec<_>>(),
        }))
    }
}

/// `run,plan,step,epsilon,…`: every series that a run reported is a column. The curves contain
/// nothing that only the curator may see.
fn steps_as_csv(runs: &[Reported]) -> String {
    let known: BTreeSet<Series> =
        runs.iter().flat_map(|it| it.run.curves.keys().copied()).collect();
    let name = |series: &Series| json!(series).as_str().map(str::to_owned);
    let names: Vec<String> = known.iter().filter_map(name).collect();
    let mut text = format!("run,plan,step,epsilon,{}\n", names.join(","));
    for Reported { run, .. } in runs {
        let plan = run.plan.as_ref().map_or("", |plan| &plan.name);
        let mut steps: BTreeMap<u64, BTreeMap<usize, f64>> = BTreeMap::new();
        let curves = known.iter().map(|series| run.curves.get(series));
        for (column, points) in std::iter::once(Some(&run.epsilon)).chain(curves).enumerate() {
            for (step, y) in points.into_iter().flatten() {
                steps.entry(*step as u64).or_default().insert(column, *y);
            }
        }
        for (step, values) in steps {
            let cells = (0..=names.len())
                .map(|column| values.get(&column).map_or(String::new(), ToString::to_string));
            let cells: Vec<String> = cells.collect();
            let (id, plan) = (quoted(&run.id.0), quoted(plan));
            // Writing into a String cannot fail.
            let _ = writeln!(text, "{id},{plan},{step},{}", cells.join(","));
        }
    }
    text
}

/// A text in quotes. A leading space keeps spreadsheet programs from reading it as a formula.
fn quoted(text: &str) -> String {
    let is_formula = text.starts_with(['=', '+', '-', '@']);
    let text = harmless(text, 200).replace('"', "\"\"");
    format!("\"{}{text}\"", if is_formula { " " } else { "" })
}

fn as_json(reported: &Reported, report: &Report) -> Value {
    let run = &reported.run;
    let certificate = reported.certificate.as_ref();
    let mut value = json!({
        "letter": reported.letter,
        "run": run.id,
        "plan": run.plan.as_ref().map(|plan| &plan.name),
        "method": run.plan.as_ref().map(|plan| &plan.method),
        "outcome": run.outcome,
        "guarantee": certificate.and_then(|certificate| certificate.guarantee.as_ref()),
        "private_records": certificate.map(|certificate| certificate.records),
        "peeked": certificate.map(|certificate| certificate.peeked),
        "steps": run.steps,
        "public_error": last(run, Series::PublicError, &report.watch),
        "public_measures": further_json(&last_further(run, Series::BESIDE_PUBLIC, &report.watch)),
    });
    if report.is_curators() {
        let exact = last_further(run, Series::BESIDE_PRIVATE, &report.watch);
        value["curator_only_private_measures"] = further_json(&exact);
        value["curator_only_private_error"] = json!(last(run, Series::PrivateError, &report.watch));
    }
    value
}
