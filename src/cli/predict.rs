//! `halflight predict MODEL DATA`: a model's predictions for raw rows.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::{Value, json};

use super::progress::ProgressLine;
use super::reading::Watched;
use super::{further_json, messages, print_json, print_line, print_text};
use crate::data::read::{self, Format, Overflow, Reading, TableReader};
use crate::data::{Column, Missing, Source, write};
use crate::engine::look::{self, Look};
use crate::engine::predict::{WantedPredictions, WrittenPredictions};
use crate::error::{Doing as _, Error, Result};
use crate::session::model_file::KNOWN_NOISE;
use crate::session::named::{self, Replace};
use crate::session::prediction::PredictionScore;
use crate::session::{Predictions, SavedModel, Session, Workspace, archive, dataset, outbox};

/// Predict the rows of a file with the model of a run.
///
/// The model file holds its preparation too, so give it raw rows, in any format that `halflight data
/// inspect` reads. Columns are matched by name, and further columns are ignored. If a column of the
/// model is missing or has another shape, nothing is predicted.
///
/// Predictions of private rows are as private as the rows. Counts and scores of rows that may be
/// private are marked ◆, and a score of a dataset that a ledger knows is noted in that ledger.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  halflight predict 'winter from the other seasons' new.csv -o predictions.csv
  halflight predict .halflight/runs/RUN new.parquet --keep id --score -o predictions.parquet
  halflight predict model.ron session.ron --dataset winter")]
#[expect(clippy::struct_excessive_bools, reason = "switches of a command line")]
pub struct Predict {
    /// Run: its directory, its name in this workspace or that of its plan; or a model.ron.
    model: PathBuf,

    /// Data file, or with --dataset a session (.ron).
    data: PathBuf,

    /// Predict this dataset of the session, filtered and renamed as it says.
    #[arg(long, value_name = "NAME")]
    dataset: Option<String>,

    /// Write predictions here: .csv or .parquet; `-` prints CSV.
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    output: PathBuf,

    /// Overwrite the output file.
    #[arg(long)]
    force: bool,

    /// Copy these columns of the data beside the predictions, such as an identifier. A column of
    /// a CSV file that the model does not use keeps leading zeros and all digits, but not with
    /// --dataset.
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    keep: Vec<String>,

    /// Columns that have another name in this file.
    #[arg(long, value_name = "IN_FILE=IN_MODEL", value_delimiter = ',', value_parser = pair)]
    rename: Vec<(String, String)>,

    /// What to do with rows that lack a value [default: what the model says].
    #[arg(long, value_enum)]
    missing: Option<DecisionRule>,

    /// Compare the predictions with the label column. The result is exact: for private rows it is
    /// for your eyes only.
    #[arg(long)]
    score: bool,

    /// The rows are public, so counts and score may be shared.
    #[arg(long, conflicts_with = "dataset")]
    public: bool,

    /// Print a summary as JSON, and the predictions too if no file is written.
    #[arg(long)]
    json: bool,

    /// Put counts and score of rows that may be private into the JSON.
    #[arg(long, requires = "json")]
    include_curator: bool,
}

/// The ledger's note for a score.
const SCORE_NOTE: &str =
    "unprotected look: exact score of a model on rows that may be these records";

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum DecisionRule {
    /// Predict nothing at all.
    Refuse,
    /// Leave such rows without a prediction.
    Drop,
    /// Fill in the public mean of the column.
    PublicMean,
}

fn pair(text: &str) -> std::result::Result<(String, String), String> {
    let (file, model) = text.split_once('=').ok_or("write IN_FILE=IN_MODEL")?;
    Ok((file.to_owned(), model.to_owned()))
}

impl Predict {
    pub fn execute(&self) -> Result<()> {
        let named = archive::run_named(&self.model)?;
        let format = self.format(&named)?;
        let mut model = SavedModel::open(&named)?;
        outbox::refuse_another_model(&model.path)?;
        model.remarks.iter().for_each(messages::note);
        if let Some(rule) = self.missing {
            model.preparation = model.preparation.with_missing(match rule {
                DecisionRule::Refuse => Missing::Refuse,
                DecisionRule::Drop => Missing::Drop,
                DecisionRule::PublicMean => Missing::PublicMean,
            });
        }
        let outcome = match &self.dataset {
            Some(name) => self.of_dataset(&model, name)?,
            None => self.of_file(&model)?,
        };
        if self.json && outcome.score.is_some() && !outcome.public && !self.include_curator {
            messages::tell(
                "note: the score is exact, so it is in the JSON only with --include-curator, or with \
                 --public if everybody may know these rows",
            );
        }
        Self::remark(&outcome);
        let Some(format) = format else { return self.print(&model, &outcome) };
        write::private_file(&self.output, format, &outcome.columns)?;
        if self.json {
            return print_json(&self.summary(&model, &outcome));
        }
        print_line(&format!(
            "predictions of {} rows{} in {}",
            outcome.predictions.rows,
            if outcome.of_persons { " ◆" } else { "" },
            self.output.display()
        ))?;
        outcome.score.iter().try_for_each(|score| print_line(&words(&outcome, score)))
    }

    /// `None` for standard output. Refuses an existing file before anything is read.
    fn format(&self, model: &Path) -> Result<Option<write::WriteFormat>> {
        if self.output == Path::new("-") {
            return Ok(None);
        }
        let format = write::WriteFormat::of(&self.output)?;
        let mut data = [model, &self.data].map(named::data_at).concat();
        data.push(self.data.clone());
        named::check(&self.output, Replace::Forced(self.force), &data)?;
        Ok(Some(format))
    }

    fn of_file(&self, model: &SavedModel) -> Result<WrittenPredictions> {
        if self.data.extension().is_some_and(|extension| extension == "ron") {
            return Err(Error::usage("it is not clear which dataset of the session to predict")
                .at(self.data.display().to_string())
                .cure("name it: --dataset NAME"));
        }
        // The largest index in a LIBSVM file says little about the length of the model's vectors.
        let width = model.preparation.vector_width("x");
        let sparse = match width {
            Some(width) if read::format(&self.data)? == Format::Libsvm => Some(width),
            _ => None,
        };
        let reading = sparse.map_or(Reading::Plain, Reading::Sparse);
        // A column that only goes along may be an identifier.
        let mut names = Vec::new();
        for name in &self.keep {
            if !model.reads(name)? && self.rename.iter().all(|(in_file, _)| in_file != name) {
                names.push(name.clone());
            }
        }
        let reader = TableReader::default().with(Overflow::beside(&self.output)).with_names(names);
        let table = reader.read(&self.data, &reading, &mut Watched::default())?;
        if self.score {
            let source = |file| match sparse {
                Some(width) => Source::Sparse { file, width },
                None => Source::File(file),
            };
            let mut look = Self::look(model, self.public)?;
            // Also of rows that are said to be public: the ledger may know better.
            look.at_file(&self.data, source)?;
            look.write()?;
        }
        Self::with_progress(|tell| self.wanted().of_table(model, table, self.public, tell))
    }

    /// The look that an exact score is.
    fn look(model: &SavedModel, public: bool) -> Result<Look<'static>> {
        let folder = std::path::absolute(model.path.parent().unwrap_or(Path::new(".")))
            .doing("find the model", &model.path)?;
        let mut look = Look::new(SCORE_NOTE, &[&Workspace::of(&folder)?])?;
        if !public {
            look.by_model(&folder)?;
        }
        Ok(look)
    }

    fn of_dataset(&self, model: &SavedModel, name: &str) -> Result<WrittenPredictions> {
        let session = Session::open(&self.data)?;
        let workspace = Workspace::of_session(&self.data)?;
        let definition = session.dataset(name)?;
        let loaded = dataset::load_watched(definition, &workspace, &mut Watched::default())?;
        if !self.keep.is_empty() {
            messages::tell(
                "note: identifiers of a CSV file that look like numbers lose leading zeros here, and \
                 digits after the fifteenth; predict the file itself to keep them as they stand",
            );
        }
        loaded.warnings.iter().for_each(messages::note);
        if self.score {
            let mut look = Self::look(model, loaded.record.is_none())?;
            look.at(&loaded, &workspace)?;
            look.write()?;
        }
        let view = look::view(session.sealed);
        Self::with_progress(|tell| self.wanted().of_loaded(model, loaded, &view, tell))
    }

    fn with_progress<T>(predict: impl FnOnce(&mut dyn FnMut(usize, usize)) -> T) -> T {
        let mut progress = ProgressLine::new("rows", 0);
        let predictions = predict(&mut |done, all| {
            progress.expect(all);
            progress.tell(done);
        });
        drop(progress);
        predictions
    }

    fn wanted(&self) -> WantedPredictions {
        WantedPredictions {
            keep: self.keep.clone(),
            rename: self.rename.iter().cloned().collect(),
            score: self.score,
        }
    }

    /// Prints what a reader of the predictions should know.
    fn remark(outcome: &WrittenPredictions) {
        let Predictions { rows, without, clipped, unknown, .. } = &outcome.predictions;
        let mark = if outcome.public { "" } else { " ◆" };
        let note = |text: String| messages::tell(format_args!("note: {text}{mark}"));
        if *without > 0 {
            note(format!("{without} of {rows} rows lack a value and have no prediction"));
        }
        if *clipped > 0 {
            note(format!(
                "{clipped} of {rows} rows lie beyond the bound that the model was trained under \
                 and were moved to it"
            ));
        }
        for (column, count) in unknown {
            note(format!(
                "in {count} of {rows} rows '{column}' has a value that the model does not know; it \
                 counts as 'other'"
            ));
        }
    }

    /// Prints the predictions on standard output. Remarks about them must not be mixed in.
    fn print(&self, model: &SavedModel, outcome: &WrittenPredictions) -> Result<()> {
        if self.json {
            let mut summary = self.summary(model, outcome);
            let columns = outcome.columns.iter().map(|(name, column)| {
                let cells = match column {
                    // JSON has no NaN: a missing value is null.
                    Column::Numbers(numbers) => json!(numbers.whole()),
                    Column::Text(texts) => json!(texts.iter().collect::<Vec<_>>()),
                    Column::Vectors(_) => Value::Null,
                };
                (name.clone(), cells)
            });
            summary["columns"] = Value::Object(columns.collect());
            return print_json(&summary);
        }
        let csv = write::bytes(write::WriteFormat::Csv, &outcome.columns)?;
        print_text(&csv)?;
        outcome.score.iter().for_each(|score| messages::tell(words(outcome, score)));
        Ok(())
    }

    fn summary(&self, model: &SavedModel, outcome: &WrittenPredictions) -> Value {
        let Predictions { rows, without, clipped, unknown, .. } = &outcome.predictions;
        let preparation = &model.preparation;
        let unknown: BTreeMap<_, _> = unknown.iter().cloned().collect();
        let rows = (!outcome.of_persons || self.include_curator).then_some(rows);
        let mut summary = json!({
            "model": model.path,
            "kind": model.model.kind(),
            "task": preparation.task(),
            "label": preparation.label_name(),
            "data": outcome.origin,
            "rows": rows,
            "output": (self.output != Path::new("-")).then_some(&self.output),
        });
        if model.noise_is_known {
            summary["warning"] = json!(KNOWN_NOISE);
        }
        if !outcome.public && !self.include_curator {
            return summary;
        }
        summary["without_prediction"] = json!(without);
        summary["clipped"] = json!(clipped);
        summary["unknown_values"] = json!(unknown);
        if let Some(score) = &outcome.score {
            let mut told = further_json(&score.further);
            (told["measure"], told["value"]) = (json!(score.name()), json!(score.value));
            told["rows"] = json!(score.rows);
            summary["curator_only_score"] = told;
        }
        summary
    }
}

/// A score of the predictions, with its mark.
fn words(outcome: &WrittenPredictions, score: &PredictionScore) -> String {
    let mark = if outcome.public {
        ""
    } else {
        " ◆ (exact: if these rows are private, so is this number)"
    };
    format!(
        "{} on {} rows: {}, {}{mark}",
        score.words(),
        score.rows,
        crate::plot::number::compact(score.value),
        score.further.words()
    )
}
