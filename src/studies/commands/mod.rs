//! The commands: one for each study.

mod choose;
mod kept;

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use self::kept::Kept;
use crate::classification::{self, WhichStudy, material};
use crate::correction;
use crate::coverage;
use crate::data;
use crate::data::read::{Reading, Unwatched};
use crate::discrepancy::{self, Convergence, DiscrepancyStudy, Temperatures};
use crate::error::{Doing, Error, Result};
use crate::files;
use crate::guesses::{self, Guesses};
use crate::labelled::{
    self, CASES, Case, FURTHER, HEART, KEPT, LabelledProblem, PAPER, REVIEW_SCORES, REVIEWS,
};
use crate::model::Activation;
use crate::numeric::parallel;
use crate::peers;
use crate::persons;
use crate::plot::Figure;
use crate::predictor;
use crate::rank::ProbeModel;
use crate::ranking::{self, families::Images, training::TrainingStudy, utility::UtilityTrials};
use crate::record_counts::RecordCountStudy;
use crate::rehearsal;
use crate::reviews::ReviewStudy;
use crate::ridges;
use crate::scores;
use crate::session::demo;
use crate::sites;
use crate::trees;
use crate::{Grid, GridTask, Harvest, StudyTable};
use halflight::cli::progress::ProgressLine;
use halflight::cli::{messages, print_json, print_line, signals};

/// Repeat the papers' experiments on public data.
///
/// Methods run with the same plans, calibration and mechanisms as on private data, but
/// their noise comes from seeds so that tables can be repeated: nothing here is private.
#[derive(Debug, Args)]
#[command(after_help = "Example:
  halflight-studies discrepancy --quick")]
pub struct Studies {
    #[command(subcommand)]
    study: Which,
}

#[derive(Debug, Subcommand)]
enum Which {
    /// Private targets without labels: the moment discrepancy that every method reaches.
    Discrepancy(Discrepancy),
    /// Private labels correct what public data teach: against linear models and public data alone.
    Correction(CorrectionCommand),
    /// Methods with and without a public predictor, on real datasets.
    #[command(after_help = "Example:
  halflight-studies predictor --only wind,wine --data data")]
    Predictor(OnDatasets),
    /// Linear methods with fixed ridges, and with the one that public records choose.
    #[command(after_help = "Example:
  halflight-studies ridges --only adult,german --data data")]
    Ridges(OnDatasets),
    /// What protecting whole persons costs, against group privacy.
    #[command(after_help = "Example:
  halflight-studies persons --only bikeshare --quick")]
    Persons(OnDatasets),
    /// What several sites gain by training one model together.
    #[command(after_help = "Example:
  halflight-studies sites --data data")]
    Sites(OnDatasets),
    /// What rehearsals recommend, and what would have been best.
    Rehearsal(Rehearsal),
    /// Private targets with labels: real datasets, every method, relative to no privacy.
    #[command(after_help = "Example:
  halflight-studies labelled --only wind,wine --data data")]
    Labelled(OnDatasets),
    /// Which public images can stand in: orders, their certainty, private selection.
    Ranking(RankingCommand),
    /// Released scores: how often their intervals contain the true value.
    Scores(ScoresCommand),
    /// A private choice among rehearsed plans, against the default plan with the same ε.
    Choose(choose::ChooseStudy),
    /// Classes on the principal directions of public records, over k, ε and public sets.
    Pillar(Classification),
    /// Classes by gradients in a public subspace, over its dimension, ε and public sets.
    Gep(Classification),
}

impl Studies {
    pub fn execute(&self) -> Result<()> {
        match &self.study {
            Which::Discrepancy(study) => study.execute(),
            Which::Persons(on) => on.persons(),
            Which::Sites(on) => on.sites(),
            Which::Rehearsal(study) => study.execute(),
            Which::Labelled(on) => on.labelled(),
            Which::Correction(study) => study.execute(),
            Which::Predictor(on) => on.predictor(),
            Which::Ridges(on) => on.ridges(),
            Which::Ranking(study) => study.execute(),
            Which::Scores(study) => study.execute(),
            Which::Choose(study) => study.execute(),
            Which::Pillar(study) => study.execute(WhichStudy::Pillar),
            Which::Gep(study) => study.execute(WhichStudy::Gep),
        }
    }
}

/// What all studies take.
#[derive(Debug, Args)]
struct StudyOptions {
    /// Repetitions, each with data and noise of its own; 10, or 2 with --quick.
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=1000))]
    seeds: Option<u64>,

    /// Few seeds and the corners of the table only.
    #[arg(long)]
    quick: bool,

    /// Print JSON, with every sample.
    #[arg(long)]
    json: bool,

    /// Write tables (Markdown, JSON) and plots (SVG) into this directory.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// Runs the grid with a progress bar. Work that a signal left unfinished is missing from the
/// harvest.
fn conduct<T: Send>(
    what: &str,
    grid: Grid,
    interrupted: &AtomicBool,
    task: impl Fn(GridTask<'_>) -> Result<Option<T>> + Sync,
) -> Result<Harvest<T>> {
    let mut progress = ProgressLine::new(what, grid.tasks());
    let harvest = grid.run(parallel::threads(), interrupted, &mut |done| progress.tell(done), task);
    drop(progress);
    harvest
}

impl StudyOptions {
    fn seeds(&self) -> u64 {
        self.seeds_of(2, 10)
    }

    /// The repetitions, where a study has its own numbers with and without --quick.
    fn seeds_of(&self, quick: u64, full: u64) -> u64 {
        self.seeds.unwrap_or(if self.quick { quick } else { full })
    }

    /// Conducts a study of one grid and publishes its tables. `what` names its tasks in the plural.
    fn conduct<T: Send>(
        &self,
        (name, what): (&'static str, &str),
        header: impl FnOnce(&Harvest<T>) -> Vec<String>,
        grid: Grid,
        measure: impl Fn(GridTask<'_>) -> Result<Option<T>> + Sync,
        tables: impl FnOnce(&Harvest<T>) -> Vec<StudyTable>,
    ) -> Result<()> {
        let harvest = conduct(what, grid, &*signals::on_first(|| {})?, measure)?;
        let (header, tables) = (header(&harvest), tables(&harvest));
        let findings = StudyFindings { name, header, tables, figures: Vec::new() };
        self.publish(&findings, (harvest.done, harvest.tasks()), what)
    }

    /// Prints the findings and writes them to the requested places. Fails if a signal left work
    /// undone. `what` names the work in the plural.
    fn publish(
        &self,
        findings: &StudyFindings,
        (done, all): (usize, usize),
        what: &str,
    ) -> Result<()> {
        if let Some(directory) = &self.out {
            findings.write(directory)?;
        }
        if self.json {
            print_json(&findings.json())?;
        } else {
            print_line(&findings.text())?;
        }
        if done == all {
            return Ok(());
        }
        Err(Error::interrupted(format!(
            "stopped by a signal after {done} of {all} {what}; the tables show what was done"
        )))
    }
}

/// The findings of a study.
struct StudyFindings {
    name: &'static str,
    /// Notes for the reader, line by line.
    header: Vec<String>,
    tables: Vec<StudyTable>,
    /// The figures with their file names.
    figures: Vec<(String, Figure)>,
}

impl StudyFindings {
    fn text(&self) -> String {
        let mut text = self.header.join("\n");
        for table in &self.tables {
            text.push_str("\n\n");
            text.push_str(table.text().trim_end());
        }
        text
    }

    fn markdown(&self) -> String {
        let tables: Vec<String> = self.tables.iter().map(StudyTable::markdown).collect();
        format!("{}\n\n{}", self.header.join("  \n"), tables.join("\n"))
    }

    fn json(&self) -> Value {
        let tables: Vec<Value> = self.tables.iter().map(StudyTable::json).collect();
        json!({ "study": self.name, "header": self.header, "tables": tables })
    }

    fn write(&self, directory: &Path) -> Result<()> {
        files::create_folder(directory).doing("create the directory", directory)?;
        let json = serde_json::to_string_pretty(&self.json())
            .map_err(|error| Error::failed(format!("cannot write JSON: {error}")))?;
        let texts = [("md", self.markdown()), ("json", json)];
        let texts = texts.map(|(ending, text)| (format!("{}.{ending}", self.name), text));
        let figures = self.figures.iter().map(|(name, figure)| (name.clone(), figure.svg()));
        for (name, text) in texts.into_iter().chain(figures) {
            let path = directory.join(name);
            files::write(&path, text.as_bytes())?;
            messages::tell(format_args!("wrote {}", path.display()));
        }
        Ok(())
    }
}

/// The tables of unlabelled adaptation, in the papers' synthetic setup.
#[derive(Debug, Args)]
#[command(after_help = "Example:
  halflight-studies discrepancy --quick --out plots")]
struct Discrepancy {
    /// Features of the records; 10 in the papers' setup.
    #[arg(long, default_value_t = discrepancy::DIMENSION,
          value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(2..=1000))]
    dimension: usize,

    #[command(flatten)]
    manner: StudyOptions,
}

impl Discrepancy {
    fn execute(&self) -> Result<()> {
        let seeds = self.manner.seeds();
        let study = if self.manner.quick {
            DiscrepancyStudy::quick(self.dimension, seeds)
        } else {
            DiscrepancyStudy::full(self.dimension, seeds)
        };
        let convergence =
            Convergence { dimensions: self.dimensions_without_noise(), seeds: study.seeds.clone() };
        let interrupted = signals::on_first(|| {})?;
        let courses = conduct("runs without noise", convergence.grid(), &interrupted, |place| {
            convergence.measure(place)
        })?;
        let harvest = conduct("runs", study.grid(), &interrupted, |place| study.measure(place))?;
        let sweep = Temperatures::new(self.dimension, &study.seeds, self.manner.quick);
        let swept = conduct("μ", sweep.grid(), &interrupted, |place| sweep.measure(place))?;
        let tables =
            [study.tables(&harvest), convergence.tables(&courses), vec![sweep.table(&swept)]];
        let findings = StudyFindings {
            name: "discrepancy",
            header: study.header(),
            tables: tables.concat(),
            figures: [study.figures(&harvest), convergence.figures(&courses)].concat(),
        };
        let done = harvest.done + courses.done + swept.done;
        let done = (done, harvest.tasks() + courses.tasks() + swept.tasks());
        self.manner.publish(&findings, done, "runs")
    }

    /// Convergence is checked in two dimensions.
    fn dimensions_without_noise(&self) -> Vec<usize> {
        if self.dimension == discrepancy::DIMENSION { vec![10, 50] } else { vec![self.dimension] }
    }
}

/// Which datasets with labels on both sides a study takes.
#[derive(Debug, Args)]
struct OnDatasets {
    /// Directory of datasets: wind/wind.csv, wine_quality/wine_quality.csv and so on, plain
    /// or as .gz. Without it, those inside the program.
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,

    /// Only these datasets, such as wind,wine.
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,

    #[command(flatten)]
    manner: StudyOptions,
}

/// Public shapes with a private correction, on real datasets.
#[derive(Debug, Args)]
#[command(after_help = "Example:
  halflight-studies correction --only wind,wine --data data")]
struct CorrectionCommand {
    /// Other shifts of the same datasets.
    #[arg(long)]
    further: bool,

    /// Directory of assets/peers/peers.py: our methods beside other people's private learners, on
    /// the same records.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["further", "kept", "data", "only"])]
    peers: Option<PathBuf>,

    /// Write the records of the further and the kept shifts into this directory, and what our public
    /// predictors say, for assets/peers/trees.py.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["further", "kept", "peers"])]
    trees: Option<PathBuf>,

    /// Twelve shifts that were kept back: no rule was tuned on them.
    #[arg(long, conflicts_with = "further")]
    kept: bool,

    /// These ε, such as 0.05,0.1, instead of the usual ones.
    #[arg(long, value_delimiter = ',', conflicts_with_all = ["peers", "trees"])]
    epsilons: Vec<f64>,

    #[command(flatten)]
    on: OnDatasets,
}

impl CorrectionCommand {
    fn execute(&self) -> Result<()> {
        if let Some(directory) = &self.peers {
            return self.beside(directory);
        }
        if let Some(directory) = &self.trees {
            let (problems, missing) = self.on.problems(FURTHER.iter().chain(&KEPT))?;
            crate::not_found(&missing).iter().for_each(messages::tell);
            return problems.iter().try_for_each(|problem| trees::write(problem, directory));
        }
        let cases: Vec<&'static Case> = match (self.further, self.kept) {
            (true, _) => FURTHER.iter().collect(),
            (_, true) => KEPT.iter().collect(),
            _ => CASES.iter().chain([&HEART]).collect(),
        };
        let (problems, missing) = self.on.problems(cases)?;
        let (manner, chosen_on) = (&self.on.manner, !self.further && !self.kept);
        let mut study =
            correction::CorrectionStudy::new(problems, manner.quick, manner.seeds(), chosen_on);
        if !self.epsilons.is_empty() {
            study.epsilons.clone_from(&self.epsilons);
        }
        manner.conduct(
            ("correction", "splits"),
            |_| study.header(&missing),
            study.grid(),
            |place| study.measure(place),
            |harvest| study.tables(harvest),
        )
    }

    fn beside(&self, directory: &Path) -> Result<()> {
        let study = peers::PeerStudy::new(directory)?;
        self.on.manner.conduct(
            ("peers", "runs"),
            |_| study.header(),
            study.grid(),
            |place| study.measure(place),
            |harvest| study.tables(harvest),
        )
    }
}

/// What rehearsals advise, on real datasets with a shift.
#[derive(Debug, Args)]
#[command(after_help = "Example:
  halflight-studies rehearsal --only wind,wine --data data --quick")]
struct Rehearsal {
    /// Only these methods, such as public_shape,target_only (default: all that fit).
    #[arg(long, value_delimiter = ',')]
    methods: Vec<String>,

    /// Keep the loss of every trial in this file. Those that stand there are not made again.
    #[arg(long, value_name = "FILE")]
    kept: Option<PathBuf>,

    /// Twelve shifts that were kept back instead: the range that is told of a run was not chosen on
    /// them.
    #[arg(long)]
    kept_back: bool,

    #[command(flatten)]
    on: OnDatasets,
}

impl Rehearsal {
    fn execute(&self) -> Result<()> {
        let cases: Vec<&'static Case> = if self.kept_back {
            KEPT.iter().collect()
        } else {
            CASES.iter().chain(&FURTHER).chain(&REVIEWS).collect()
        };
        let (problems, missing) = self.on.problems(cases)?;
        let manner = &self.on.manner;
        let study =
            rehearsal::RehearsalStudy::new(&problems, manner.quick, manner.seeds(), &self.methods)?;
        let kept = self.kept.as_deref().map(Kept::open).transpose()?;
        let measure = |place: GridTask<'_>| match &kept {
            Some(kept) => kept.of(&study.words(place), || study.measure(place)),
            None => study.measure(place),
        };
        manner.conduct(
            ("rehearsal", "trials"),
            |harvest| [study.header(&missing), study.choices(harvest)].concat(),
            study.grid(),
            measure,
            |harvest| study.tables(harvest),
        )
    }
}

impl OnDatasets {
    fn predictor(&self) -> Result<()> {
        let (problems, missing) = self.problems(CASES.iter().chain([&HEART]))?;
        let (quick, seeds) = (self.manner.quick, self.manner.seeds());
        let study = predictor::PredictorStudy::new(problems, quick, seeds);
        self.manner.conduct(
            ("predictor", "splits"),
            |_| predictor::PredictorStudy::header(&missing),
            study.grid(),
            |place| study.measure(place),
            |harvest| study.tables(harvest),
        )
    }

    fn ridges(&self) -> Result<()> {
        let (problems, missing) = self.problems(CASES.iter().chain([&HEART]).chain(&FURTHER))?;
        let study = ridges::RidgeStudy::new(problems, self.manner.quick, self.manner.seeds());
        self.manner.conduct(
            ("ridges", "splits"),
            |_| ridges::RidgeStudy::header(&missing),
            study.grid(),
            |place| study.measure(place),
            |harvest| study.tables(harvest),
        )
    }

    fn persons(&self) -> Result<()> {
        let (problems, missing) = self.problems(CASES.iter().filter(|it| persons::has_unit(it)))?;
        let study = persons::PersonsStudy::new(problems, self.manner.quick, self.manner.seeds());
        self.manner.conduct(
            ("persons", "splits"),
            |_| study.header(&missing),
            study.grid(),
            |place| study.measure(place),
            |harvest| study.tables(harvest),
        )
    }

    fn sites(&self) -> Result<()> {
        let all = FURTHER.iter().chain(&CASES);
        let (problems, missing) = self.problems(all.filter(|it| sites::has_sites(it)))?;
        let study = sites::SitesStudy::new(problems, self.manner.seeds());
        self.manner.conduct(
            ("sites", "splits"),
            |_| study.header(&missing),
            study.grid(),
            |place| study.measure(place),
            |harvest| study.tables(harvest),
        )
    }

    fn labelled(&self) -> Result<()> {
        let manner = &self.manner;
        let (tables, missing) = self.tables(PAPER.iter().chain([&REVIEW_SCORES]))?;
        let (reviews, tables): (Vec<_>, Vec<_>) =
            tables.into_iter().partition(|(case, _)| case.name == REVIEW_SCORES.name);
        let problems = tables.into_iter().map(|(case, table)| LabelledProblem::new(case, table));
        let problems = problems.collect::<Result<_>>()?;
        let study = labelled::LabelledStudy::new(problems, manner.quick, manner.seeds());
        let counts = RecordCountStudy::new(&study.problems, manner.quick, manner.seeds_of(1, 10));
        let interrupted = signals::on_first(|| {})?;
        let harvest = conduct("splits", study.grid(), &interrupted, |place| study.measure(place))?;
        let found = conduct("counts", counts.grid(), &interrupted, |place| counts.measure(place))?;
        let mut findings = StudyFindings {
            name: "labelled",
            header: study.header(&missing),
            tables: [study.tables(&harvest), counts.tables(&found)].concat(),
            figures: [study.figures(&harvest), counts.figures(&found)].concat(),
        };
        findings.header.push(RecordCountStudy::header());
        let (mut done, mut tasks) = (harvest.done + found.done, harvest.tasks() + found.tasks());
        for (_, table) in reviews {
            let study = ReviewStudy::new(table, manner.seeds())?;
            let found = conduct("pairs", study.grid(), &interrupted, |place| study.measure(place))?;
            findings.header.push(ReviewStudy::header());
            findings.tables.push(study.table(&found));
            (done, tasks) = (done + found.done, tasks + found.tasks());
        }
        manner.publish(&findings, (done, tasks), "splits")
    }

    /// The requested problems, and the files of those whose data cannot be found.
    fn problems(
        &self,
        cases: impl IntoIterator<Item = &'static Case>,
    ) -> Result<(Vec<LabelledProblem>, Vec<&'static str>)> {
        let (tables, missing) = self.tables(cases)?;
        let problems = tables.into_iter().map(|(case, table)| LabelledProblem::new(case, table));
        Ok((problems.collect::<Result<_>>()?, missing))
    }

    /// The tables of the requested cases, and the files that cannot be found.
    fn tables(&self, cases: impl IntoIterator<Item = &'static Case>) -> Result<FoundTables> {
        let cases: Vec<&'static Case> = cases.into_iter().collect();
        let known: Vec<&str> = cases.iter().map(|case| case.name).collect();
        if let Some(name) = self.only.iter().find(|name| !known.contains(&name.as_str())) {
            return Err(Error::usage(format!("there is no dataset '{name}' in this study"))
                .cure(format!("choose from: {}", known.join(", "))));
        }
        let any = self.only.is_empty();
        let wanted = |case: &Case| any || self.only.iter().any(|name| name == case.name);
        let (mut found, mut missing) = (Vec::new(), Vec::new());
        for case in cases.into_iter().filter(|case| wanted(case)) {
            match table(case.file, case.arrays, self.data.as_deref())? {
                Some(table) => found.push((case, table)),
                None if missing.contains(&case.file) => {}
                None => missing.push(case.file),
            }
        }
        Ok((found, missing))
    }
}

type FoundTables = (Vec<(&'static Case, data::Table)>, Vec<&'static str>);

/// `None` if the dataset cannot be found.
fn table(file: &str, arrays: &[&str], directory: Option<&Path>) -> Result<Option<data::Table>> {
    if let Some(directory) = directory {
        let plain = directory.join(file);
        let packed = directory.join(format!("{file}.gz"));
        let found = [plain, packed].into_iter().find(|path| path.exists());
        let named = || arrays.iter().map(|name| (*name).to_owned()).collect();
        let reading = if arrays.is_empty() { Reading::Plain } else { Reading::Arrays(named()) };
        let read = |path: PathBuf| data::read::read(&path, &reading, &mut Unwatched);
        return found.map(read).transpose();
    }
    let name = file.split('/').next().unwrap_or_default();
    let Ok(bytes) = demo::builtin(name) else { return Ok(None) };
    data::read::csv::read_bytes(&format!("builtin:{name}"), bytes).map(Some)
}

/// Intervals of released scores, over the number of records, ε and the share of wrong answers.
#[derive(Debug, Args)]
#[command(after_help = "Example:
  halflight-studies scores --quick
  halflight-studies scores --coverage --data ../shared/data")]
struct ScoresCommand {
    /// Score twelve real tables instead: what the ranges contain, their forecast, the cap, and what
    /// opening the files guesses.
    #[arg(long)]
    coverage: bool,

    /// Directory of datasets for --coverage. Without it, those inside the program.
    #[arg(long, value_name = "DIR", requires = "coverage")]
    data: Option<PathBuf>,

    #[command(flatten)]
    manner: StudyOptions,
}

impl ScoresCommand {
    fn execute(&self) -> Result<()> {
        if self.coverage {
            return self.cover();
        }
        let study = scores::Study::new(self.manner.quick, self.manner.seeds);
        self.manner.conduct(
            ("scores", "cells"),
            |harvest| study.header(harvest),
            study.grid(),
            |place| study.measure(place),
            |harvest| study.tables(harvest),
        )
    }

    fn cover(&self) -> Result<()> {
        let (mut problems, mut missing) = (Vec::new(), Vec::new());
        let mut found = Guesses::default();
        for (at, case) in coverage::TABLES.iter().enumerate() {
            let mark = if at < coverage::CHOSEN_ON { "" } else { "*" };
            match table(case.file, case.arrays, self.data.as_deref())? {
                Some(table) => {
                    found.add(case.file, Some(format!("{}{mark}", case.name)), &table);
                    problems.push(LabelledProblem::new(case, table)?);
                }
                None => missing.push(case.file),
            }
        }
        for file in guesses::FURTHER.iter().chain(&guesses::WITH_PERSONS).map(|it| it.file) {
            match table(file, &[], self.data.as_deref())? {
                Some(table) => found.add(file, None, &table),
                None => missing.push(file),
            }
        }
        missing.dedup();
        let study = coverage::Study::new(problems, self.manner.quick, self.manner.seeds);
        let further = || found.lines().into_iter().chain(crate::not_found(&missing));
        self.manner.conduct(
            ("coverage", "cells"),
            |harvest| study.header(harvest).into_iter().chain(further()).collect(),
            study.grid(),
            |place| study.measure(place),
            |harvest| study.tables(harvest),
        )
    }
}

/// Which image sets can stand in for half of Fashion-MNIST, or of the X-rays.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  halflight-studies ranking --quick
  halflight-studies ranking --columns
  halflight-studies ranking --data ../shared/data --out tables")]
struct RankingCommand {
    /// Directory of datasets: fashion_mnist/, mnist/, optdigits/ and so on. Without it,
    /// those inside the program.
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,

    /// X-rays of children's chests, with pneumonia or without, play the private part.
    #[arg(long, requires = "data")]
    x_rays: bool,

    /// Records of a batch.
    #[arg(long, default_value_t = 300)]
    batch: usize,

    /// Only show which column of the ranking predicts the accuracy of private training best: GSD,
    /// energy, discrepancy, error of the dataset's own model, Task2Vec.
    #[arg(long)]
    columns: bool,

    /// Units of the hidden layer whose gradients are compared.
    #[arg(long, default_value_t = 38)]
    units: usize,

    #[command(flatten)]
    manner: StudyOptions,
}

impl RankingCommand {
    fn execute(&self) -> Result<()> {
        let repeats = if self.manner.quick && self.manner.seeds.is_none() {
            5
        } else {
            self.manner.seeds() as usize
        };
        let images = match self.data.as_deref() {
            None => Images::Inside,
            Some(directory) if self.x_rays => Images::XRays(directory),
            Some(directory) => Images::Clothes(directory),
        };
        let model = ProbeModel::Perceptron(self.units, Activation::Relu);
        let (study, missing) = ranking::RankingStudy::new(images, model, self.batch, repeats, 1)?;
        let interrupted = signals::on_first(|| {})?;
        let harvest = conduct("repeats", study.grid(), &interrupted, |place| study.measure(place))?;
        let (seeds, most) = if self.manner.quick { (1, 500) } else { (3, 1000) };
        let trials =
            UtilityTrials::new(&study, self.manner.seeds.unwrap_or(seeds).min(seeds), most)?;
        let trained =
            conduct("trainings", trials.grid(), &interrupted, |place| trials.measure(place))?;
        let columns = trials.tables(&harvest, &trained)?;
        let counted = (harvest.done + trained.done, harvest.tasks() + trained.tasks());
        if self.columns {
            let findings = StudyFindings {
                name: "ranking-columns",
                header: study.header(&missing),
                tables: columns.into(),
                figures: Vec::new(),
            };
            return self.manner.publish(&findings, counted, "repeats and trainings");
        }
        let mut tables = study.tables(&harvest);
        tables.splice(1..1, columns);
        // Convolutions take long.
        let few = if self.manner.quick { repeats.min(2) } else { repeats };
        let networks = study.of_networks(few)?;
        let others = conduct("networks", networks.grid(), &interrupted, |it| networks.measure(it))?;
        let training = TrainingStudy::new(&study, self.manner.quick, seeds);
        let courses = conduct("courses", training.grid(), &interrupted, |it| training.measure(it))?;
        let done = counted.0 + others.done + courses.done;
        let tasks = counted.1 + others.tasks() + courses.tasks();
        if done == tasks {
            tables.insert(1, study.selections(repeats.min(5))?);
            tables.push(study.all_pairs(few)?);
        }
        tables.push(networks.transfer(&others));
        tables.extend(training.tables(&courses));
        let findings = StudyFindings {
            name: "ranking",
            header: study.header(&missing),
            tables,
            figures: training.figures(&courses),
        };
        self.manner.publish(&findings, (done, tasks), "repeats and trainings")
    }
}

/// Classification with public features or gradients, on images and features of images.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  halflight-studies pillar --quick
  halflight-studies gep --only fashion --data ../shared/data")]
struct Classification {
    /// Directory of datasets: fashion_mnist, optdigits, features_cifar10_lite0, mnist. Without
    /// it, those inside the program.
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,

    /// Only datasets whose name has this in it, such as fashion.
    #[arg(long)]
    only: Option<String>,

    #[command(flatten)]
    manner: StudyOptions,
}

impl Classification {
    fn execute(&self, subject: WhichStudy) -> Result<()> {
        let seeds = self.manner.seeds_of(1, 3);
        let (materials, missing) = material::load(self.data.as_deref())?;
        let only = self.only.as_deref().unwrap_or_default().to_lowercase();
        let wanted = materials
            .into_iter()
            .filter(|material| material.name.to_lowercase().contains(&only))
            .map(|material| {
                classification::ClassificationStudy::new(
                    subject,
                    material,
                    self.manner.quick,
                    seeds,
                )
            });
        let interrupted = signals::on_first(|| {})?;
        let (mut tables, mut figures, mut done, mut tasks) = (Vec::new(), Vec::new(), 0, 0);
        for study in wanted {
            let harvest =
                conduct(study.name(), study.grid(), &interrupted, |place| study.measure(place))?;
            (done, tasks) = (done + harvest.done, tasks + harvest.tasks());
            tables.extend(study.tables(&harvest));
            figures.extend(study.figures(&harvest));
        }
        let name = if subject == WhichStudy::Pillar { "pillar" } else { "gep" };
        let header = classification::header(subject, &missing);
        let findings = StudyFindings { name, header, tables, figures };
        self.manner.publish(&findings, (done, tasks), "runs")
    }
}
