//! `halflight score RUN`: a score that may be published.

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::{Value, json};

use super::{messages, print_json, print_line};
use crate::engine::score::{self, ScoreRelease, ScoredRecords};
use crate::error::{Doing as _, Error, Result};
use crate::evaluation::{Evaluation, Expected, Loss, Pay};
use crate::files;
use crate::privacy::accountant::{delta_words, round_up};
use crate::privacy::ledger::{AccountId, Book, Budget, sha256};
use crate::session::archive::{self, LaterScore};
use crate::session::named::{self, Replace};
use crate::session::{Session, Workspace};

/// Release how good a model is on private records, for some ε.
///
/// A plan with `evaluation` releases its score with the run, usually at no cost. This command is
/// for a model that has none, or for other private records: those of a table with the columns of
/// the private data, or of a dataset of a session. The ε is charged to their account.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  halflight score .halflight/runs/RUN --epsilon 0.2 --dry-run
  halflight score .halflight/runs/RUN --epsilon 0.2
  halflight score .halflight/runs/RUN --epsilon 0.5 --per-class --auc --json
  halflight score .halflight/runs/RUN clinic.csv --epsilon 0.5 --largest-error 100
  halflight score .halflight/runs/RUN other.ron --dataset clinic --epsilon 0.5 -o score.json")]
#[expect(clippy::struct_excessive_bools, reason = "switches of a command line")]
pub struct ScoreCommand {
    /// Run: its directory, its name in this workspace or that of its plan; or with --dataset a model.ron.
    model: PathBuf,

    /// A table of private records, read as those of the run; or a session (.ron) with --dataset.
    /// Without it, the records that the run held out are used.
    #[arg(value_name = "DATA")]
    data: Option<PathBuf>,

    /// Private dataset of the session.
    #[arg(long, value_name = "NAME", requires = "data")]
    dataset: Option<String>,

    /// The ε that the score may add to that of all spending on these records.
    #[arg(long, value_name = "EPSILON")]
    epsilon: f64,

    /// Also release the share of wrong answers in each class.
    #[arg(long)]
    per_class: bool,

    /// Also release the AUC: how well the probabilities order the records of two classes.
    #[arg(long)]
    auc: bool,

    /// For numbers: release the root mean squared error instead of the mean absolute one.
    #[arg(long)]
    squared: bool,

    /// For numbers: larger errors count as this much, in units of the label.
    #[arg(long, value_name = "ERROR")]
    largest_error: Option<f64>,

    /// Only say how precise the score will be: nothing is spent.
    #[arg(long)]
    dry_run: bool,

    /// Release it even if it will say next to nothing.
    #[arg(long)]
    anyway: bool,

    /// Also write the score with its guarantee to this file, to pass on; `halflight verify` checks
    /// it. A copy stays in .halflight/scores.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Print the result as JSON.
    #[arg(long)]
    json: bool,
}

/// What the account has spent with this, of its budget.
fn all_spending(books: [&Book; 2], account: &AccountId) -> Option<String> {
    let [before, after] = books.map(|book| {
        let account = book.account(account)?;
        let Budget { epsilon, delta, .. } = account.budget?;
        let total = account.total(delta).ok()?.known.map(|it| it.epsilon);
        Some((total.map_or_else(|| "0".to_owned(), |it| round_up(it, 4)), epsilon, delta))
    });
    let (total, budget, delta) = after?;
    let before = before.map_or_else(|| "0".to_owned(), |(total, ..)| total);
    Some(format!(
        "all spending on these records: ε = {total} of {budget} at δ {}; {before} before this score",
        delta_words(delta)
    ))
}

impl ScoreCommand {
    pub fn execute(&self) -> Result<()> {
        if let Some(output) = &self.output {
            named::check(output, Replace::Nothing, &[])?;
        }
        let model = &archive::run_named(&self.model)?;
        let (path, session, dataset) = self.records(model)?;
        let workspace = Workspace::of_session(&path)?;
        let records = ScoredRecords {
            session: &session,
            workspace: &workspace,
            dataset: dataset.as_deref(),
            is_copy: path == model.join("run.ron"),
        };
        let asked = Evaluation {
            pay: Pay::Epsilon(self.epsilon),
            per_class: self.per_class,
            auc: self.auc,
            loss: if self.squared { Loss::Squared } else { Loss::Absolute },
            largest_error: self.largest_error,
        };
        let before = workspace.book().unwrap_or_default();
        let Some(released) = score::score(model, &records, asked, &|it| self.agree(it))? else {
            return Ok(());
        };
        let value = self.as_json(model, &released)?;
        let text = serde_json::to_string_pretty(&value).unwrap_or_default() + "\n";
        // The score has been paid for, so it is always saved as well.
        let name = format!("{}.json", released.paid.run.0);
        let in_folder = |folder: PathBuf| -> Result<PathBuf> {
            files::create_private_folder(&folder).doing("create the folder", &folder)?;
            Ok(folder.join(&name))
        };
        let kept = in_folder(workspace.folder().join("scores"))?;
        let write = |file: &Path| {
            files::write_private(file, text.as_bytes())?;
            messages::tell(format_args!("written to {}", file.display()));
            Ok(())
        };
        for file in [&kept].into_iter().chain(&self.output) {
            write(file)?;
        }
        // Compare and the report show the copy in the directory of the run, which may be somebody else's.
        if model.join("run.ron").exists() {
            let beside = in_folder(model.join(LaterScore::FOLDER));
            if let Err(error) = beside.and_then(|file| write(&file)) {
                messages::tell(format_args!(
                    "Compare and reports will not show the score: {error}"
                ));
            }
        }
        if self.json {
            return print_json(&value);
        }
        let score = released.paid.value.get();
        let mut lines = score.lines();
        if self.auc && score.auc.is_none() {
            lines.push("  AUC: too few records of a class to tell it at this ε".to_owned());
        }
        let paid = &released.paid;
        let (account, run, guarantee) = (&paid.account, &paid.run, &paid.guarantee);
        let delta = if guarantee.epsilon > self.epsilon {
            format!(" at δ {}", delta_words(guarantee.delta))
        } else {
            String::new()
        };
        lines.push(format!(
            "charged to {} as {}: alone ε = {}{delta}, {}",
            account.0,
            run.0,
            round_up(guarantee.epsilon, 4),
            guarantee.adjacency.words()
        ));
        lines.extend(all_spending([&before, &workspace.book()?], &released.paid.account));
        lines.extend(released.caveat.iter().cloned());
        lines.iter().try_for_each(|line| print_line(line))
    }

    /// Says what to expect of the score; whether to release it.
    fn agree(&self, expected: &Expected) -> Result<bool> {
        let Expected { brief, details, says_nothing } = expected;
        messages::tell(format_args!("expected: {brief}{details}"));
        if *says_nothing && !self.anyway && !self.dry_run {
            return Err(Error::refused(
                "the score would say next to nothing, so nothing was spent",
            )
            .cure("raise --epsilon, or score more records; --anyway releases it all the same"));
        }
        Ok(!self.dry_run)
    }

    /// The records for the score: the session file, the session, and its dataset.
    fn records(&self, model: &Path) -> Result<(PathBuf, Session, Option<String>)> {
        let own = model.join("run.ron");
        let is_session = |data: &PathBuf| data.extension().is_some_and(|it| it == "ron");
        match (&self.data, &self.dataset) {
            (Some(path), Some(name)) => {
                Ok((path.clone(), Session::open(path)?, Some(name.clone())))
            }
            (Some(path), None) if is_session(path) => {
                let known = Session::open(path)?.datasets;
                let known: Vec<String> = known.into_iter().map(|it| it.name).collect();
                Err(Error::usage(
                    "it is not clear on which dataset of the session to score the \
                    model",
                )
                .cure(format!("add --dataset with one of: {}", known.join(", "))))
            }
            _ if !own.exists() => Err(Error::usage("this is not a run directory")
                .at(model.display().to_string())
                .cure("name one below .halflight/runs, or add a session and --dataset")),
            (Some(file), None) => {
                let (session, name) = score::with_file(model, file)?;
                Ok((own, session, Some(name)))
            }
            (None, _) => Ok((own.clone(), Session::open(&own)?, None)),
        }
    }

    /// The released result and its guarantees, for programs and for passing on. It does not name the
    /// account: that would tell which data have rows in common.
    fn as_json(&self, model: &Path, released: &ScoreRelease) -> Result<Value> {
        let is_run = model.is_dir();
        let file = if is_run { model.join("model.ron") } else { model.to_path_buf() };
        let bytes = std::fs::read(&file).doing("read", &file)?;
        let mut value = json!({
            "kind": "score",
            "model": sha256(&bytes),
            "dataset": released.dataset,
            "held_out": self.data.is_none(),
            "run": released.paid.run,
            "score": released.paid.value.get(),
            "guarantee": released.paid.guarantee,
            "mechanisms": released.paid.drawn,
        });
        if let Some(caveat) = &released.caveat {
            value["caveat"] = json!(caveat);
        }
        Ok(value)
    }
}
