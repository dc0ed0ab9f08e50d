//! `halflight data inspect`: what a file holds and how to use it.
//!
//! With `--json`:
//!
//! ```text
//! { "tables": [ { "origin", "rows", "duplicated_rows",
//!                 "columns": [ { "name", "kind", "missing", "distinct", "values"? } ],
//!                 "label_candidates": [ { "column", "task", "classes" } ],
//!                 "problems": [ { "column"?, "what" } ],
//!                 "definition": RON text, "warnings": [ text ] } ],
//!   "compatibility": [ { "first", "second",
//!                        "columns": [ { "name", "in_first", "in_second", "verdict", "perhaps" } ] } ],
//!   "plans": [ { "name", "public_records", "clipped", "problem" } ] }
//! ```

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::{print_json, print_line};
use crate::data::inspect::{Inspection, remarks_on_columns};
use crate::data::{Compatibility, DatasetDefinition, Source, Table, read};
use crate::engine::assembly::assemble;
use crate::error::{Error, Result};
use crate::privacy::Watch;
use crate::session::{Loaded, Records, Session, Workspace, dataset, file};

/// Look at data files.
#[derive(Debug, Args)]
pub struct Data {
    #[command(subcommand)]
    command: DataCommand,
}

#[derive(Debug, Subcommand)]
enum DataCommand {
    /// What files hold, what could be their label, what is wrong with them, and how to use them.
    Inspect(Inspect),
}

/// What files hold, what could be their label, what is wrong with them, and how to use them.
///
/// Nothing is written anywhere. The counts are exact: of a private file they are
/// for your eyes. Of several files it says, too, whether their columns agree; of
/// a session, what becomes of each of its datasets.
#[derive(Debug, Args)]
struct Inspect {
    /// Data files, or one session (.ron).
    #[arg(required = true)]
    files: Vec<PathBuf>,

    /// Show ranges and common values, too.
    #[arg(long)]
    show_values: bool,

    /// Print JSON.
    #[arg(long)]
    json: bool,
}

impl Data {
    pub fn execute(&self) -> Result<()> {
        let DataCommand::Inspect(inspect) = &self.command;
        let report = match inspect.files.as_slice() {
            [path] if path.extension().is_some_and(|extension| extension == "ron") => {
                inspect.session(path)?
            }
            files => inspect.tables(files)?,
        };
        if inspect.json { print_json(&report.json()?) } else { report.print() }
    }
}

/// Everything found out about the files or the session.
#[derive(Default)]
struct Report {
    tables: Vec<Inspected>,
    compatibility: Vec<Compatibility>,
    plans: Vec<PlanReport>,
}

struct Inspected {
    inspection: Inspection,
    definition: DatasetDefinition,
    /// The definition is ours, to start from.
    suggested: bool,
    warnings: Vec<String>,
}

/// What becomes of the public records of a plan.
struct PlanReport {
    name: String,
    outcome: Result<(usize, usize)>,
}

impl Inspect {
    fn tables(&self, files: &[PathBuf]) -> Result<Report> {
        let mut report = Report::default();
        let mut first: Option<Table> = None;
        for path in files {
            let table = read::read_plainly(path)?;
            let inspection = Inspection::of(&table, self.show_values)?;
            let name = path.file_stem().unwrap_or(path.as_os_str()).to_string_lossy();
            let source = Source::File(path.display().to_string());
            let definition = inspection.definition(&name, source);
            report.tables.push(Inspected {
                inspection,
                definition,
                suggested: true,
                warnings: Vec::new(),
            });
            match &first {
                Some(first) => report.compatibility.push(Compatibility::between(first, &table)),
                None => first = Some(table),
            }
        }
        Ok(report)
    }

    fn session(&self, path: &Path) -> Result<Report> {
        let session = Session::open(path)?;
        let workspace = Workspace::of_session(path)?;
        // Whoever asks for this command is at the keyboard.
        let watch = Watch::open();
        let mut report = Report::default();
        let mut all = Vec::new();
        for definition in &session.datasets {
            let loaded = dataset::load(definition, &workspace)?;
            let inspection = self.inspect(&loaded, &watch)?;
            report.tables.push(Inspected {
                inspection,
                definition: loaded.definition.clone(),
                suggested: false,
                warnings: loaded.warnings.clone(),
            });
            all.push(loaded);
        }
        let all: Vec<&Loaded> = all.iter().collect();
        for plan in &session.plans {
            let assembled = assemble(&session, plan, &all);
            let outcome = assembled
                .map(|assembly| (assembly.problem.public.len(), assembly.problem.public.clipped));
            report.plans.push(PlanReport { name: plan.name.clone(), outcome });
        }
        Ok(report)
    }

    fn inspect(&self, loaded: &Loaded, watch: &Watch) -> Result<Inspection> {
        match &loaded.records {
            Records::Public(table) => Inspection::of(table, self.show_values),
            Records::Private(table) => {
                let exact = table.curator(watch, |table| Inspection::of(table, self.show_values));
                let shown = exact.as_ref().and_then(|exact| exact.reveal(watch));
                shown.cloned().unwrap_or_else(|| Err(Error::refused("the view is sealed")))
            }
        }
    }
}

impl Report {
    fn json(&self) -> Result<Value> {
        let failed =
            |error: serde_json::Error| Error::failed(format!("cannot write JSON: {error}"));
        let mut tables = Vec::new();
        for table in &self.tables {
            let mut value = serde_json::to_value(&table.inspection).map_err(failed)?;
            value["definition"] = json!(file::to_ron(&table.definition)?);
            value["warnings"] = json!(table.warnings);
            tables.push(value);
        }
        let plans = self.plans.iter().map(|plan| match &plan.outcome {
            Ok((records, clipped)) => {
                json!({"name": plan.name, "public_records": records, "clipped": clipped})
            }
            Err(error) => json!({"name": plan.name, "problem": error.to_string()}),
        });
        Ok(json!({
            "tables": tables,
            "compatibility": serde_json::to_value(&self.compatibility).map_err(failed)?,
            "plans": plans.collect::<Vec<_>>(),
        }))
    }

    fn print(&self) -> Result<()> {
        for table in &self.tables {
            table.print()?;
        }
        for compatibility in &self.compatibility {
            let differences = compatibility.differences().count();
            if differences == 0 {
                print_line(&format!(
                    "{} and {} have the same columns.\n",
                    compatibility.first, compatibility.second
                ))?;
            } else {
                print_line(&format!("{differences} columns differ:\n{compatibility}\n"))?;
            }
        }
        for plan in &self.plans {
            print_line(&match &plan.outcome {
                Ok((records, clipped)) => format!(
                    "plan '{}': {clipped} of {records} public training records are clipped ({:.1} %)",
                    plan.name,
                    100.0 * *clipped as f64 / (*records).max(1) as f64
                ),
                Err(error) => format!("plan '{}': {error}", plan.name),
            })?;
        }
        print_line("◆ These numbers are exact: of a private file they are for your eyes only.")
    }
}

impl Inspected {
    fn print(&self) -> Result<()> {
        let Inspection { origin, rows, columns, problems, label_candidates, .. } = &self.inspection;
        let title = if self.suggested { origin } else { &self.definition.name };
        print_line(&format!("{title}: {rows} rows, {} columns", columns.len()))?;
        let remarks = remarks_on_columns(&self.definition);
        let width = columns.iter().map(|column| column.name.chars().count()).max().unwrap_or(0);
        for column in columns {
            let mut line = format!("  {:width$}  {:8}", column.name, column.kind);
            if let Some(distinct) = column.distinct {
                line += &format!("  {distinct} different");
            }
            if column.missing > 0 {
                line += &format!("  {} missing", column.missing);
            }
            if let Some(values) = &column.values {
                line += &format!("  {values}");
            }
            if let Some(remark) = remarks.get(column.name.as_str()) {
                line += &format!("  {remark}");
            }
            print_line(line.trim_end())?;
        }
        for problem in problems {
            match &problem.column {
                Some(column) => print_line(&format!("  ! {column}: {}", problem.what))?,
                None => print_line(&format!("  ! {}", problem.what))?,
            }
        }
        for warning in &self.warnings {
            print_line(&format!("  ! {warning}"))?;
        }
        if !self.suggested {
            return print_line("");
        }
        for candidate in label_candidates {
            let task = match candidate.classes {
                Some(classes) => format!("{} with {classes} classes", candidate.task),
                None => candidate.task.to_string(),
            };
            print_line(&format!("  label? {}: {task}", candidate.column))?;
        }
        let ron = file::to_ron(&self.definition)?;
        print_line(&format!("  to use it, among the `datasets` of a session:\n{ron}\n"))
    }
}
