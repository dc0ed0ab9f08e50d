//! `halflight-studies choose`: whether a choice among plans beats the default plan.
//!
//! It does what a user does: `rehearse --best` on the public records, then `choose`, and beside it
//! `run` of the default plan with the same ε. Part of the target plays the private records; the
//! rest evaluates the models. All of this is the engine's own code, including ledger and files; only
//! the noise comes from seeds.
//!
//! For comparison it shows the most that a choice with one shared training could gain: the default
//! plan's correction of the public model, made weaker or stronger by the strength that is best on
//! the held-out records. No private choice can know this strength.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};

use clap::Args;

use super::{OnDatasets, StudyFindings, conduct};
use crate::data::preparation::PreparationSettings;
use crate::data::write::{self, WriteFormat};
use crate::data::{DatasetDefinition, Role, Source, Table as Rows, Task};
use crate::engine::Control;
use crate::engine::choice::{ChoiceJob, Way};
use crate::engine::job::Job;
use crate::engine::launch;
use crate::engine::prepared::PreparedStore;
use crate::engine::rehearse::{self, RehearsalJob};
use crate::error::{Doing, Error, Result};
use crate::evaluation::Evaluation;
use crate::files;
use crate::grid::epsilon_columns;
use crate::labelled::{CASES, Case, FURTHER, HEART, LabelledProblem};
use crate::model::{Model, Shape};
use crate::numeric::parallel;
use crate::privacy::Target;
use crate::privacy::ledger::Budget;
use crate::session::{Loaded, PlanDefinition, SavedModel, Session, Workspace, dataset};
use crate::{ExpectedMean, Grid, GridTask, Harvest, SeedValues, StudyTable, TableRow};
use halflight::cli::progress::ProgressLine;
use halflight::cli::signals;
use halflight_advice::rehearsal::Player;
use halflight_advice::rehearsal::Prospect;

/// The datasets on which a choice should win.
const WANTED: [&str; 7] = ["wind", "bikeshare", "wine", "gas", "adult", "german", "heart"];
/// The number of datasets on which a choice must win.
const WINS: usize = 5;

/// The methods that rehearsals have advised anywhere. Trials of the others take minutes with many
/// columns.
const METHODS: [&str; 6] = [
    "public_shape",
    "public_shape_classes",
    "profiled_cnvx_adap",
    "profiled_logistic",
    "target_only",
    "target_only_logistic",
];

/// The shares of ε used in rehearsals: with two candidates, with three, and all of it.
const SHARES: [f64; 3] = [0.55, 0.7, 1.0];

/// Factors on the default plan's correction; 0 is public data alone.
const STRENGTHS: [f64; 8] = [0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0];

/// A private choice among the plans that rehearsals find worth it, against the default plan.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  halflight-studies choose --only bikeshare --quick
  halflight-studies choose --data data --best 0
  halflight-studies choose --data data --seeds 4")]
pub(super) struct ChooseStudy {
    /// Other shifts of the same datasets, which no rule was tuned on.
    #[arg(long)]
    further: bool,

    /// At most so many candidates, as for `rehearse --best`. 0 rehearses nothing, which takes most of
    /// the time: the default plan stands alone beside public data.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u8).range(..=20))]
    best: u8,

    #[command(flatten)]
    on: OnDatasets,
}

impl ChooseStudy {
    pub fn execute(&self) -> Result<()> {
        let cases: Vec<&'static Case> = if self.further {
            FURTHER.iter().collect()
        } else {
            let wanted = CASES.iter().chain([&HEART]);
            wanted.filter(|case| WANTED.contains(&case.name)).collect()
        };
        let (problems, missing) = self.on.problems(cases)?;
        let manner = &self.on.manner;
        let interrupted = signals::on_first(|| {})?;
        let study = ChoiceStudy {
            problems,
            epsilons: if manner.quick { vec![1.0] } else { vec![1.0, 2.0, 5.0] },
            seeds: (0..manner.seeds()).collect(),
            most: self.best.into(),
            known: Mutex::default(),
            scenes: Mutex::default(),
        };
        study.rehearse(&interrupted)?;
        let harvest = conduct("splits", study.grid(), &interrupted, |place| study.measure(place))?;
        let findings = StudyFindings {
            name: "choose",
            header: study.header(&missing, &harvest),
            tables: study.tables(&harvest),
            figures: Vec::new(),
        };
        manner.publish(&findings, (harvest.done, harvest.tasks()), "splits")
    }
}

struct ChoiceStudy {
    problems: Vec<LabelledProblem>,
    epsilons: Vec<f64>,
    seeds: Vec<u64>,
    most: usize,
    /// The results of rehearsals, by problem and ε.
    known: Mutex<BTreeMap<(usize, usize), Rehearsed>>,
    /// The splits of one problem at a time. All runs of a split share what is learned once from
    /// public records.
    scenes: Mutex<BTreeMap<(usize, u64), Arc<ChoiceScene>>>,
}

#[derive(Clone)]
struct Rehearsed {
    candidates: Vec<PlanDefinition>,
    prospect: Option<Prospect>,
}

/// Errors on held-out records, and the chosen candidate.
struct ChoiceErrors {
    default: f64,
    /// The error of the advised plan alone, with all of the ε.
    advised: f64,
    chosen: f64,
    /// The error of the default plan's correction at the strength that turns out best.
    hindsight: f64,
    winner: String,
}

impl ChoiceStudy {
    /// Public records act as private ones. Only the number of the real private records is used.
    fn rehearse(&self, interrupted: &AtomicBool) -> Result<()> {
        let total = self.problems.len() * self.epsilons.len();
        let mut progress = ProgressLine::new("rehearsals", total);
        for (at, problem) in self.problems.iter().enumerate() {
            let scene = ChoiceScene::set(problem, 0)?;
            for (k, epsilon) in self.epsilons.iter().enumerate() {
                if interrupted.load(std::sync::atomic::Ordering::Relaxed) {
                    return Err(Error::interrupted("stopped by a signal among the rehearsals"));
                }
                let plan = default_plan(problem, *epsilon, 0);
                if self.most == 0 {
                    let alone = Rehearsed { candidates: vec![plan], prospect: None };
                    let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
                    known.insert((at, k), alone);
                    continue;
                }
                let classes = problem.case.task == Task::Classification;
                let fits = |id: &&&str| {
                    crate::methods::method(id)
                        .is_ok_and(|it| (it.spec().task == Task::Classification) == classes)
                };
                let methods = METHODS.iter().filter(fits).map(|id| (*id).to_owned());
                let (session, datasets) =
                    (scene.session(vec![plan.clone()]), scene.datasets.clone());
                let run = Job::new(session, plan, datasets, scene.workspace.clone());
                let job = RehearsalJob {
                    epsilons: SHARES.map(|share| share * epsilon).to_vec(),
                    methods: methods.collect(),
                    ..RehearsalJob::new(run)
                };
                let advice = rehearse::rehearse(&job, &mut |_| {})?.advice;
                let candidates = job.candidates(&advice, self.most)?.plans;
                let players: Vec<Player> = candidates.iter().map(PlanDefinition::player).collect();
                let prospect = advice.prospect(&players, *epsilon);
                let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
                known.insert((at, k), Rehearsed { candidates, prospect });
                progress.tell(at * self.epsilons.len() + k + 1);
            }
        }
        drop(progress);
        Ok(())
    }

    /// The scene of a split, created at the first call.
    fn scene(&self, row: usize, split: u64) -> Result<Arc<ChoiceScene>> {
        let mut scenes = self.scenes.lock().unwrap_or_else(PoisonError::into_inner);
        // Another thread may still work on the previous problem.
        scenes.retain(|(other, _), _| other + 1 >= row);
        if let Some(scene) = scenes.get(&(row, split)) {
            return Ok(Arc::clone(scene));
        }
        let scene = Arc::new(ChoiceScene::set(&self.problems[row], split)?);
        scenes.insert((row, split), Arc::clone(&scene));
        Ok(scene)
    }

    fn rehearsed(&self, row: usize, column: usize) -> Option<Rehearsed> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).get(&(row, column)).cloned()
    }

    fn grid(&self) -> Grid {
        let rows = self.problems.iter().map(|it| it.case.name);
        Grid::new(rows, epsilon_columns(&self.epsilons), &self.seeds)
    }

    fn measure(&self, place: GridTask<'_>) -> Result<Option<ChoiceErrors>> {
        let problem = &self.problems[place.row];
        let Some(Rehearsed { candidates, .. }) = self.rehearsed(place.row, place.column) else {
            return Ok(None);
        };
        let (epsilon, split) = (self.epsilons[place.column], place.repetition);
        let measure = || -> Result<ChoiceErrors> {
            let scene = self.scene(place.row, split)?;
            let default = default_plan(problem, epsilon, split);
            let candidates: Vec<PlanDefinition> =
                candidates.into_iter().map(|plan| PlanDefinition { seed: split, ..plan }).collect();
            let seed = place.seed();
            let of_default = scene.run(default.clone(), seed, &STRENGTHS)?;
            let [exact, hindsight] = [of_default[FULL], least(&of_default)];
            let advised = candidates[0].clone();
            let same = advised.method == default.method && advised.settings == default.settings;
            let of_advised = if same { exact } else { scene.run(advised, seed ^ 1, &[1.0])?[0] };
            let folder = TemporaryFolder::new()?;
            let job = ChoiceJob {
                session: scene.session(candidates.clone()),
                plans: candidates,
                target: default.target,
                way: Way::Auto,
                datasets: scene.datasets.clone(),
                workspace: Workspace::fresh(&folder.0),
                prepared: scene.prepared.clone(),
                control: Control::default(),
            };
            let alone = job.plans.len() == 1 && same;
            let chosen = job.execute_insecurely(seed ^ 2, &mut |_| {})?;
            if let Some(trouble) = chosen.trouble {
                return Err(trouble);
            }
            // If public data alone are the only rival, the default plan has all of the ε, and the
            // two differ only by their noise.
            let kept = alone && chosen.winner == Some(0);
            let winner = chosen.winner.and_then(|at| chosen.placed.get(at));
            Ok(ChoiceErrors {
                default: exact,
                advised: of_advised,
                chosen: if kept { exact } else { scene.errors(&chosen.directory, &[1.0])?[0] },
                hindsight,
                winner: winner.map(|it| it.name.clone()).unwrap_or_default(),
            })
        };
        parallel::alone(measure).map(Some)
    }

    fn tables(&self, harvest: &Harvest<ChoiceErrors>) -> Vec<StudyTable> {
        let mut against = harvest.table(
            "error of the chosen model over that of the default plan, with the same ε in all",
            |it| Some(it.chosen / it.default),
        );
        for cell in against.rows.iter_mut().flat_map(|row| &mut row.cells) {
            cell.wanted = Some(ExpectedMean::AtMost(1.0));
        }
        vec![
            against,
            harvest.table(
                "error of the advised plan alone, with all of the ε, over that of the default plan",
                |it| Some(it.advised / it.default),
            ),
            harvest.table(
                "error of the default plan's correction in the best strength of eight, known \
                 afterwards, over that of the default plan",
                |it| Some(it.hindsight / it.default),
            ),
            harvest.table("error of the chosen model", |it| Some(it.chosen)),
            harvest.table("error of the default plan", |it| Some(it.default)),
            self.wins(harvest),
        ]
    }

    /// For all ε and splits of a dataset: the geometric mean of the ratio, its uncertainty (two
    /// standard errors), and how often the choice was better, equal and worse.
    fn wins(&self, harvest: &Harvest<ChoiceErrors>) -> StudyTable {
        let row = |(at, problem): (usize, &LabelledProblem)| {
            let all = (0..self.epsilons.len()).flat_map(|k| harvest.of(at, k));
            let ratios: Vec<f64> = all.map(|it| it.chosen / it.default).collect();
            let logs = SeedValues::of(ratios.iter().map(|ratio| ratio.ln()).collect());
            let mean = logs.mean().unwrap_or_default().exp();
            let error = logs.deviation().unwrap_or(f64::INFINITY) / (ratios.len() as f64).sqrt();
            let share =
                |like: fn(&f64) -> bool| ratios.iter().filter(|ratio| like(ratio)).count() as f64;
            let counted = [share(|x| *x < 1.0), share(|x| *x == 1.0), share(|x| *x > 1.0)];
            let cell = |x: f64| (!ratios.is_empty()).then_some(x);
            let cells = [mean, mean * 2.0 * error].into_iter().chain(counted).map(cell);
            TableRow::new(problem.case.name, cells)
        };
        let columns = ["ratio", "±", "better", "the same", "worse"];
        let rows = self.problems.iter().enumerate().map(row);
        StudyTable::new("all ε and splits together", columns, rows)
    }

    fn header(&self, missing: &[&str], harvest: &Harvest<ChoiceErrors>) -> Vec<String> {
        let wins = self.wins(harvest);
        let clearly = |row: &&TableRow| {
            row.mean(0).zip(row.mean(1)).is_some_and(|(ratio, chance)| ratio + chance < 1.0)
        };
        let won = wins.rows.iter().filter(clearly);
        let mut header = vec![
            "The default plan (the corrected public model, with a fifth of the private records \
             held out) against a choice with the same ε in all, among public data alone and the \
             plans that rehearsals on public data find worth it. Errors are those that a score \
             tells, on target records that nobody saw: mean absolute errors, or shares of wrong \
             classes."
                .to_owned(),
            format!(
                "The choice has less error, by more than chance explains, on {} of {} datasets (wanted: \
                 {WINS} of {}). A choice that keeps \
                 the default plan, with nothing beside it but public data alone, is the default \
                 plan.",
                won.count(),
                self.problems.len(),
                WANTED.len()
            ),
        ];
        for (at, problem) in self.problems.iter().enumerate() {
            for (k, epsilon) in self.epsilons.iter().enumerate() {
                let Some(Rehearsed { candidates, prospect }) = self.rehearsed(at, k) else {
                    continue;
                };
                let player = |plan: &PlanDefinition| plan.player().id();
                let names: Vec<String> = candidates.iter().map(player).collect();
                let expected = prospect.map_or(String::new(), |prospect| {
                    let pays = if prospect.pays() || candidates.len() == 1 {
                        ""
                    } else {
                        ", not expected to pay"
                    };
                    format!(
                        "; rehearsed: {:.3}, the best plan alone {:.3}{pays}",
                        prospect.choice, prospect.single
                    )
                });
                let mut winners: BTreeMap<&str, usize> = BTreeMap::new();
                for found in harvest.of(at, k) {
                    let name = found.winner.rsplit(", ").next().unwrap_or_default();
                    *winners.entry(name).or_default() += 1;
                }
                let winners: Vec<String> =
                    winners.iter().map(|(name, count)| format!("{name} {count}")).collect();
                header.push(format!(
                    "{} ε {epsilon}: {}{expected}; chosen: {}",
                    problem.case.name,
                    names.join(" or "),
                    winners.join(", ")
                ));
            }
        }
        if !missing.is_empty() {
            header.push(format!("Not found, so left out: {}.", missing.join(", ")));
        }
        header
    }
}

fn default_plan(problem: &LabelledProblem, epsilon: f64, seed: u64) -> PlanDefinition {
    let classes = problem.case.task == Task::Classification;
    PlanDefinition {
        name: "default".to_owned(),
        method: if classes { "public_shape_classes" } else { "public_shape" }.to_owned(),
        private: OURS.to_owned(),
        public: vec![THEIRS.to_owned()],
        target: Target { epsilon, delta: problem.case.delta },
        settings: BTreeMap::new(),
        preparation: PreparationSettings::default(),
        holdout: 0.2,
        private_records: None,
        public_records: None,
        test: None,
        evaluation: Some(Evaluation::default()),
        seed,
        start: None,
        start_is_public: false,
        public_predictor: crate::methods::PublicPredictor::None,
        // The paper's δ for the wind data is above 1/n.
        allow_large_delta: true,
    }
}

const OURS: &str = "private";
const THEIRS: &str = "public";

/// The index of the unchanged correction among the strengths.
const FULL: usize = 4;

fn least(errors: &[f64]) -> f64 {
    errors.iter().copied().fold(f64::INFINITY, f64::min)
}

/// One split as a user would see it: two files and a session.
struct ChoiceScene {
    /// The folder of the files.
    _folder: TemporaryFolder,
    workspace: Workspace,
    definitions: Vec<DatasetDefinition>,
    datasets: Vec<Arc<Loaded>>,
    prepared: PreparedStore,
    held_out: Rows,
}

impl ChoiceScene {
    fn set(problem: &LabelledProblem, split: u64) -> Result<Self> {
        let folder = TemporaryFolder::new()?;
        let (private, held_out) = problem.parts(split)?;
        let workspace = Workspace::fresh(&folder.0);
        let definition = |name: &str, role: Role, rows: &Rows| -> Result<DatasetDefinition> {
            let path = folder.0.join(format!("{name}.csv"));
            let columns: Vec<_> = rows.names.iter().cloned().zip(rows.columns.clone()).collect();
            files::write_private(&path, &write::bytes(WriteFormat::Csv, &columns)?)?;
            let source = Source::File(path.display().to_string());
            let (name, definition) = (name.to_owned(), problem.definition.clone());
            Ok(DatasetDefinition { name, role, source, ..definition })
        };
        let definitions = vec![
            definition(OURS, Role::Private, &private)?,
            definition(THEIRS, Role::Public, &problem.source)?,
        ];
        let load = |it| Ok(Arc::new(dataset::load(it, &workspace)?));
        let datasets = definitions.iter().map(load).collect::<Result<_>>()?;
        let prepared = PreparedStore::default();
        Ok(Self { _folder: folder, workspace, definitions, datasets, prepared, held_out })
    }

    fn session(&self, plans: Vec<PlanDefinition>) -> Session {
        // Enough budget for a whole run or choice.
        let epsilon = 10.0 * plans.iter().map(|plan| plan.target.epsilon).fold(0.0, f64::max);
        let delta = 10.0 * plans.iter().map(|plan| plan.target.delta).fold(0.0, f64::max);
        let budget = Budget { epsilon, delta, allow_large_delta: true };
        let budgets = BTreeMap::from([(OURS.to_owned(), budget)]);
        Session { datasets: self.definitions.clone(), budgets, plans, ..Session::default() }
    }

    /// Errors of a run's model on the test records, with its correction at these strengths.
    fn run(&self, plan: PlanDefinition, noise: u64, strengths: &[f64]) -> Result<Vec<f64>> {
        // Known noise leaves an account without a total, so each run gets its own workspace.
        let folder = TemporaryFolder::new()?;
        let (session, datasets) = (self.session(vec![plan.clone()]), self.datasets.clone());
        let job = Job::new(session, plan, datasets, Workspace::fresh(&folder.0));
        let job = Job { prepared: self.prepared.clone(), ..job };
        let summary = launch::execute_insecurely(&job, noise, &mut |_| {})?;
        match summary.trouble {
            Some(trouble) => Err(trouble),
            None => self.errors(&summary.directory, strengths),
        }
    }

    /// Shares of wrong answers, or mean absolute errors.
    fn errors(&self, directory: &Path, strengths: &[f64]) -> Result<Vec<f64>> {
        let SavedModel { model, preparation, .. } = SavedModel::open(directory)?;
        let held_out = preparation.apply_for_evaluation(&self.held_out, "judges")?;
        let error = |strength: &f64| -> Result<f64> {
            let model = with_strength(&model, *strength);
            let mismatch = || Error::failed("the model and the labels do not match");
            let count = held_out.len() as f64;
            if let Some(classes) = &held_out.classes {
                let told = model.classes(&held_out.features).ok_or_else(mismatch)?;
                let wrong = told.iter().zip(&classes.of).filter(|(one, other)| one != other);
                return Ok(wrong.count() as f64 / count);
            }
            let told = model.numbers(&held_out.features).ok_or_else(mismatch)?;
            let truth = held_out.target.as_ref().ok_or_else(mismatch)?;
            let error = |(raw, truth): (&f64, &f64)| {
                (preparation.label_from_prediction(*raw) - truth).abs()
            };
            Ok(told.iter().zip(truth).map(error).sum::<f64>() / count)
        };
        strengths.iter().map(error).collect()
    }
}

/// A corrected public model with its correction times `strength`. Other models stay unchanged.
fn with_strength(model: &Model, strength: f64) -> Model {
    match model {
        Model::Shape(shape) => Model::Shape(Shape {
            correction: shape.correction.iter().map(|x| strength * x).collect(),
            ..shape.clone()
        }),
        other => other.clone(),
    }
}

/// A folder that is removed when this value is dropped.
struct TemporaryFolder(PathBuf);

impl TemporaryFolder {
    fn new() -> Result<Self> {
        static NUMBER: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
        let number = NUMBER.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let name = format!("halflight-choose-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        files::create_private_folder(&path).doing("create the folder", &path)?;
        Ok(Self(path))
    }
}

impl Drop for TemporaryFolder {
    fn drop(&mut self) {
        // Any remaining files are public data, and the system clears temporary folders.
        let _ = files::step::remove_folder(&self.0);
    }
}
