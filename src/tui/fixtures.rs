//! The interface set up for tests: every screen in its main states, without a
//! thread, a file or a clock.

use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use super::app::App;
use super::context::{DatasetStatus, OpenPopup};
use super::keymap;
use super::live_ranking::RankingWork;
use super::live_rehearsal::LiveRehearsal;
use super::live_run::{Ended, LiveRun};
use super::notice::Level;
use super::popup::dataset_form::DatasetForm;
use super::popup::export_form::ExportForm;
use super::popup::file_browser::FileBrowser;
use super::popup::question::QuestionPopup;
use super::popup::ranking_form::RankingForm;
use super::screen::compare::Quantity;
use super::screen::data::{COLUMNS, ROWS};
use super::screen::ledger::ENTRIES;
use super::screen::plan::{QUEUE, presets};
use super::screen::run::LOG;
use super::tab::Tab;
use super::theme::{Glyphs, Theme};
use super::widgets::text_field::TextField;
use crate::data::{DatasetDefinition, Guessed, Role, Source};
use crate::engine::PreparedStore;
use crate::engine::assembly::propose;
use crate::engine::choice::{ChoiceProgress, Chosen, Offer, PUBLIC_ALONE, Placed};
use crate::engine::evaluator::Scores;
use crate::engine::job::StepProgress;
use crate::engine::lookup::{
    Digest, DirectoryEntry, ExactRows, FirstCells, Listing, Rows, RunLife, Schema, Wanted,
};
use crate::engine::ranking::{Findings, RankingSummary};
use crate::engine::rehearse;
use crate::engine::timing::RunTime;
use crate::engine::worker::{JobEvent, Preview, TrainerSteps};
use crate::engine::{Control, RunProgress, Summary};
use crate::error::Error;
use crate::evaluation::scoring::ForeseenScore;
use crate::evaluation::{FurtherScores, Loss, Measured, Score, Scored};
use crate::methods::example::made_up;
use crate::methods::{ColumnCorrection, ExplainedEnergy, Measure, Separation, Series, Step};
use crate::privacy::accountant::{Adjacency, Event, Guarantee, Noise, QueryKind};
use crate::privacy::ledger::{
    self, Account, AccountId, Book, Budget, Cause, DatasetRecord, Gap, Grant, RowOrder, RunId,
    RunOutcome, RunRecord, RunState, TotalStanding,
};
use crate::privacy::{CuratorOnly, NoiseSource, Private, Released, Target, Watch};
use crate::rank::candidate_line::{
    Alongside, CandidateLine, CandidatePlace, Mean, MeanScores, Paired,
};
use crate::rank::comparison::Comparison;
use crate::rank::{CandidateOrder, Disclosed, ReleasedError, ReleasedLine};
use crate::rehearsal::advice::Advice;
use crate::rehearsal::{self, Player};
use crate::session::archive::DrawnRun;
use crate::session::dataset::ColumnKind;
use crate::session::example::gaussian;
use crate::session::plan_field::PlanField;
use crate::session::{
    ArchivedRun, Loaded, PlanDefinition, Session, Workspace, archive, dataset, demo,
};
use halflight_privacy_inside::openings::{OpenPrivate, OpenReleased, OpenWatch};

pub fn exact<T: Clone>(value: T) -> CuratorOnly<T> {
    let value = Private::new(value).curator(&Watch::open(), Clone::clone);
    value.expect("an open watch sees")
}

/// The demo's session without its first plan. The next one is of a method with a gap and sixty steps,
/// which most screens are drawn for.
pub fn session() -> Session {
    let mut session = demo::session("bikeshare").unwrap();
    let first = session.plans.remove(0);
    session.plans[0].name = first.name;
    session
}

/// The demo's session, nothing read yet.
pub fn opened() -> App {
    let session = session();
    App::new(session, None, Theme::truecolor(), Glyphs::unicode())
}

/// The demo's datasets, read once for all tests.
fn datasets() -> &'static [Arc<Loaded>] {
    static DATASETS: OnceLock<Vec<Arc<Loaded>>> = OnceLock::new();
    DATASETS.get_or_init(|| {
        let workspace = Workspace::fresh(Path::new("/nowhere"));
        let session = session();
        let read = |definition| Arc::new(dataset::load(definition, &workspace).unwrap());
        session.datasets.iter().map(read).collect()
    })
}

/// The demo with its data in memory.
pub fn loaded() -> App {
    let mut app = opened();
    for loaded in datasets() {
        let name = loaded.definition.name.clone();
        let status = DatasetStatus::Ready { loaded: Arc::clone(loaded), account: None };
        app.context.compared.insert(name.clone(), None);
        app.context.datasets.insert(name, status);
    }
    app
}

/// The preview of the first plan.
pub fn preview() -> Preview {
    static PREVIEW: OnceLock<Preview> = OnceLock::new();
    PREVIEW.get_or_init(|| preview_of(session().plans[0].clone())).clone()
}

/// The preview of a plan for the demo's data.
pub fn preview_of(plan: PlanDefinition) -> Preview {
    let session = session();
    let loaded: Vec<&Loaded> = datasets().iter().map(|loaded| &**loaded).collect();
    let proposal = propose(&session, &plan, &loaded, &PreparedStore::default()).unwrap();
    let noise_by_epsilon = proposal.noise_by_epsilon(plan.target);
    Preview {
        leaking: proposal.leaking().to_vec(),
        shape: proposal.problem.shape.clone(),
        releases: proposal.prepared.plan().clone(),
        account: AccountId("new account".to_owned()),
        unit: None,
        budget: session.budgets.get(&plan.private).copied(),
        standing: TotalStanding::AtMost,
        elsewhere: None,
        spent: None,
        after: Some(proposal.calibrated.guarantee().clone()),
        fits: Some(9),
        of_several: None,
        refusal: None,
        calibrated: proposal.calibrated,
        warnings: proposal.warnings,
        rehearsed: None,
        rehearsed_as_it_is: None,
        noise_by_epsilon,
        plan,
        score: None,
    }
}

/// Selects the first field of the shown plan for which this holds.
pub fn select_field(app: &mut App, wanted: impl Fn(&PlanField) -> bool) {
    let screen = &mut app.screens.plan;
    screen.unfolded = true;
    let lines = screen.lines(&app.context.session.plans[app.context.plan.index]);
    let place = lines.iter().position(|field| field.as_ref().is_some_and(&wanted));
    screen.field = place.unwrap_or(usize::MAX);
}

/// A method that projects on public directions, with their number being chosen.
fn choosing_directions() -> App {
    let mut app = priced();
    let plan = &mut app.context.session.plans[0];
    "pillar".clone_into(&mut plan.method);
    plan.settings.clear();
    let key = |field: &PlanField| matches!(field, PlanField::Setting(it) if it.key == "components");
    select_field(&mut app, key);
    let mut preview = preview();
    let shares = (1..=64).map(|k| 1.0 - (f64::from(64 - k) / 64.0).powi(6)).collect();
    let outside = (1..=64).map(|k| (f64::from(64 - k) / 64.0).powi(3)).collect();
    let separation = Separation { outside, margins: vec![0.1; 64], margin: 0.1 };
    let separation = Some(separation);
    preview.releases.explained = Some(ExplainedEnergy { chosen: 10, shares, separation });
    app.context.plan.preview = Some(Ok(Box::new(preview)));
    app
}

/// The results of rehearsals after this many of 126 trials.
pub fn rehearsal(done: usize) -> rehearse::RehearsalProgress {
    let standing = |ratio: f64, best_in: usize| {
        let (least, most) = (0.9 * ratio, 1.1 * ratio);
        Some(rehearsal::advice::PlayerStanding {
            ratio,
            least,
            most,
            best_in,
            cases: 3,
            spread: None,
            score: Some(ForeseenScore { records: 414, half_width: 0.24 }),
            log_loss: None,
        })
    };
    let line = |player: Player, ratios: [f64; 5], best_in: usize, from: usize| {
        let standings = ratios.into_iter().map(|ratio| standing(ratio, best_in));
        let standings = standings.map(|found| found.filter(|_| done >= from)).collect();
        rehearsal::advice::PlayerLine { player, standings, failed: None, logs: Vec::new() }
    };
    let method = Player::method;
    let lines = vec![
        line(Player::PublicOnly, [1.0; 5], 1, 0),
        line(Player::NoPrivacy, [0.7; 5], 0, 0),
        line(method("public_shape"), [1.04, 0.98, 0.8, 0.76, 0.75], 2, 0),
        line(method("profiled_cnvx_adap"), [1.2, 1.1, 0.9, 0.85, 0.82], 0, 60),
        line(method("target_only"), [9.0, 3.0, 1.3, 0.9, 0.75], 0, 100),
    ];
    let advice = Advice {
        epsilons: vec![0.25, 0.5, 1.0, 2.0, 4.0],
        at: 2,
        cases: ["season 2", "season 3", "season 4"].map(str::to_owned).to_vec(),
        lines,
        choice: vec![Some(0), Some(2), Some(2), Some(2), Some(2)],
        settings: Vec::new(),
        grown: 1.0,
        weights: Vec::new(),
        notes: Vec::new(),
        lacks_persons: false,
        judged_by: Some(rehearsal::ErrorMeasure::MeanAbsolute),
        behind: 0,
        stopped: false,
    };
    let left = Some(Duration::from_secs((126 - done) as u64 / 4));
    rehearse::RehearsalProgress { done, total: 126, left, took: Duration::ZERO, advice }
}

fn rehearsing(done: usize) -> App {
    let mut app = priced();
    let plan = app.context.session.plans[0].clone();
    app.context.rehearsal = LiveRehearsal {
        plan: Some(plan),
        methods: Vec::new(),
        deep: false,
        work: (done < 126).then(Control::default),
        progress: Some(rehearsal(done)),
        shown: true,
        started: 1,
    };
    app
}

pub fn priced() -> App {
    let mut app = loaded();
    app.context.tab = Tab::Plan;
    app.context.plan.preview = Some(Ok(Box::new(preview())));
    let time = RunTime {
        open: Duration::from_millis(12_300),
        sealed: Duration::from_secs(4),
        at_most: false,
    };
    app.context.plan.timed = Some((preview().plan, Some(time)));
    app
}

/// A run with made-up numbers after this many steps.
pub fn run(id: u64, steps: u64, total: u64) -> LiveRun {
    let plan = session().plans.remove(0);
    let mut run = LiveRun::new(id, &plan, Control::default());
    let granted = RunId(format!("20260101-00000{id}-x"));
    let (warnings, cautions) = (Vec::new(), None);
    run.hear(JobEvent::Progress(RunProgress::Granted {
        run: granted,
        steps: total,
        warnings,
        cautions,
    }));
    for index in 1..=steps {
        run.hear(JobEvent::Progress(RunProgress::Stepped(progress(index, total))));
    }
    run
}

pub fn progress(index: u64, total: u64) -> StepProgress {
    let x = index as f64;
    let decay = (-x / 20.0).exp();
    let wobble = 0.02 * (x * 1.7).sin();
    let measures = vec![
        made_up(Series::PublicObjective, 0.3 + decay + wobble),
        made_up(Series::PublicError, 130.0 + 40.0 * decay + 100.0 * wobble),
        made_up(Series::PublicAbsoluteError, 110.0 + 40.0 * decay + 100.0 * wobble),
        made_up(Series::StationarityGap, decay + wobble.abs()),
        made_up(Series::NoiseGap, 0.04),
        Measure::curator(Series::ExactObjective, exact(0.3 + decay)),
        Measure::curator(Series::PrivateError, exact(110.0 + 30.0 * decay)),
        Measure::curator(Series::PrivateAbsoluteError, exact(90.0 + 30.0 * decay)),
        Measure::curator(Series::ExactStationarityGap, exact(decay)),
    ];
    let phase = if index < 3 { "start" } else { "descend" };
    let step = Step { index, total, phase, measures, done: index == total };
    StepProgress {
        step,
        epsilon: (x / total as f64).sqrt(),
        worked: Duration::from_millis(index * 4),
        columns: Vec::new(),
    }
}

pub fn running() -> App {
    let mut app = priced();
    app.context.tab = Tab::Run;
    app.context.runs.push(run(1, 40, 60));
    app
}

/// A run that corrects public predictors.
#[cfg(test)]
pub fn correcting() -> App {
    let mut app = running();
    let sizes = [
        (Series::LevelCorrection, 0.8),
        (Series::ScaleCorrection, 0.4),
        (Series::CellsCorrection, 0.01),
        (Series::StationarityGap, 0.06),
        (Series::NoiseGap, 0.02),
    ];
    let measures = sizes.map(|(series, size)| made_up(series, size)).to_vec();
    let mut last = progress(41, 60);
    last.step.measures = measures;
    let column = |(name, size, times_noise): (&str, f64, f64)| {
        let column = name.to_owned();
        ColumnCorrection { column, size, times_noise }
    };
    last.columns =
        [("hr", 0.3, 1.5), ("temp", 0.6, 4.0), ("weathersit", 0.0, 1.0)].map(column).to_vec();
    app.context.runs[0].hear(JobEvent::Progress(RunProgress::Stepped(last)));
    app
}

pub fn summary() -> Summary {
    Summary {
        run: RunId("20260101-000001-x".to_owned()),
        directory: "/work/.halflight/runs/20260101-000001-x".into(),
        plan: "winter from the other seasons".to_owned(),
        method: "linear, weighted by fit",
        public_only: false,
        sites: Vec::new(),
        unit: None,
        private_records: 1654,
        public_records: 5261,
        outcome: RunOutcome::Finished,
        target: Target { epsilon: 1.0, delta: 1e-6 },
        guarantee: Guarantee {
            epsilon: 0.9999,
            epsilon_lower: 0.9998,
            delta: 1e-6,
            adjacency: Adjacency::ReplaceOne,
            bound: "Gaussian".to_owned(),
            covers: crate::privacy::accountant::Coverage::FixedPlan,
        },
        with_start: None,
        scores: Scores {
            loss: Loss::Absolute,
            task: Some(crate::data::Task::Regression),
            model_on_public: Some(measured(118.2)),
            source_only_on_public: Some(measured(112.5)),
            model: Some(exact(measured(91.5))),
            source_only: Some(exact(measured(103.25))),
            target_only: Some(exact(measured(88.75))),
            trivial: Some(exact(140.5)),
            held_out: Some(exact(414)),
            persons: None,
        },
        steps: 60,
        worked: Duration::from_millis(240),
        peeked: true,
        trouble: None,
        score: Some(told(31.25)),
        source_weights: Vec::new(),
    }
}

/// Mean absolute and root mean squared error of a model.
fn measured(error: f64) -> Measured {
    let further =
        FurtherScores { root_mean_squared_error: Some(1.25 * error), ..Default::default() };
    Measured { error, further }
}

/// A released score with this mean error.
pub fn told(error: f64) -> Scored {
    let around = |value: f64, half: f64| Score { value, low: value - half, high: value + half };
    Scored {
        records: 414,
        loss: Some(Loss::Absolute),
        largest_error: Some(140.2),
        error: around(error, 4.5),
        public_alone: Some(around(52.0, 9.0)),
        one_answer: Some(around(78.0, 11.0)),
        difference: Some(around(error - 52.0, 7.0)),
        ..Scored::default()
    }
}

/// A choice between the plans of the demo, before it begins.
pub fn offer() -> Offer {
    let session = session();
    let names = session.plans.iter().map(|plan| plan.name.clone());
    Offer {
        candidates: names.chain([PUBLIC_ALONE.to_owned()]).collect(),
        target: session.plans[0].target,
        plans: session.plans,
        each: 0.6812,
        how: String::new(),
        trains_in_secret: false,
        apart: "3.1 % of the largest error that counts".to_owned(),
        warnings: Vec::new(),
        refusal: None,
    }
}

/// The first candidate is trained, the second one is at work.
pub fn choosing() -> App {
    let mut app = priced();
    app.context.tab = Tab::Run;
    let offer = offer();
    let mut run = LiveRun::choosing(1, offer.clone(), Control::default()).unwrap();
    run.hear_choice(JobEvent::Progress(ChoiceProgress::Granted {
        run: RunId("20260101-000001-choice".to_owned()),
        offer: Box::new(offer.clone()),
    }));
    for (candidate, step) in [(0, 60), (1, 13)] {
        let name = offer.candidates[candidate].clone();
        run.hear_choice(JobEvent::Progress(ChoiceProgress::Stepped { name, step, of: 60 }));
    }
    app.context.runs.push(run);
    app
}

pub fn chosen() -> Chosen {
    let around = |value: f64| Score { value, low: value - 6.0, high: value + 6.0 };
    let names = offer().candidates.into_iter();
    let placed = names.zip([34.4, 41.0, 52.0].map(around));
    Chosen {
        run: RunId("20260101-000001-choice".to_owned()),
        directory: "/work/.halflight/runs/20260101-000001-choice".into(),
        outcome: RunOutcome::Finished,
        unit: None,
        target: offer().target,
        guarantee: summary().guarantee,
        placed: placed.map(|(name, error)| Placed { name, error }).collect(),
        winner: Some(0),
        score: Some(told(34.4)),
        how: "Every candidate was trained once.".to_owned(),
        trouble: None,
    }
}

fn has_chosen() -> App {
    let mut app = choosing();
    app.context.runs[0].hear_choice(JobEvent::Ended(Box::new(Ok(chosen()))));
    app
}

fn scores(energy: f64, distance: f64) -> MeanScores {
    let mean = |mean: f64| Mean { mean, deviation: 0.04 * mean };
    let angles = (0..6).map(|i| distance * (0.6 + 0.15 * f64::from(i))).collect();
    MeanScores { energy: mean(energy), distance: mean(distance), angles }
}

/// A ranking of made-up numbers.
pub fn comparison() -> Comparison {
    let line = |name: &str, place, energy: f64, verdict: &str| CandidateLine {
        name: name.to_owned(),
        records: 2000,
        place,
        summary: (place != CandidatePlace::Broken).then(|| scores(energy, 1.0 - energy)),
        behind: Some(Paired::of(&[0.515, 0.525, 0.52], &[energy, energy + 0.002, energy - 0.004])),
        as_floor: false,
        as_noise: false,
        alongside: Some(Alongside {
            unlabelled: Some(2.0 * (1.0 - energy)),
            labelled: None,
            task2vec: None,
            error: Some(Mean { mean: 0.5 - energy / 2.0, deviation: 0.0 }),
            losses: None,
        }),
        verdict: verdict.to_owned(),
        trouble: None,
    };
    let table = |order| {
        Comparison {
            in_label_units: false,
        lines: vec![
            line("autumn", CandidatePlace::Best, 0.52, "best"),
            line("spring", CandidatePlace::Tied(Some(12)), 0.516, "as good as the best; 12 more repeats would tell"),
            line("summer", CandidatePlace::Behind, 0.31, "behind the best"),
            line("airline", CandidatePlace::Broken, 0.0, "left out: it lacks the columns 'hum' and 'windspeed'"),
        ],
        floor: scores(0.55, 0.42),
        ceiling: scores(0.12, 0.9),
        order,
        other: None,
        constant: Some(Mean { mean: 0.5, deviation: 0.0 }),
        classes: false,
        repeats: 10,
        batch: 500,
        directions: 16,
        verdict: "use autumn; spring cannot be told apart from it (12 more repeats would); airline was left out".to_owned(),
        remarks: vec!["model: 37 inputs → linear 32 → relu → linear 1".to_owned()],
    }
    };
    let by_gsd = Some(Box::new(table(CandidateOrder::Distance)));
    Comparison { other: by_gsd, ..table(CandidateOrder::Error) }
}

pub fn rank_summary() -> RankingSummary {
    RankingSummary {
        private: "winter".to_owned(),
        findings: Findings::Curator(Some(exact(comparison()))),
        remarks: Vec::new(),
        left_out: Vec::new(),
        stopped: true,
        unkept: None,
        sites: Vec::new(),
        may_collude: None,
        joint: None,
    }
}

pub fn ranked() -> App {
    let mut app = loaded();
    app.context.tab = Tab::Rank;
    app.context.ranking.exact = Some(Box::new(exact(comparison())));
    app
}

fn ranking(mut app: App) -> App {
    app.context.tab = Tab::Rank;
    app.context.ranking.work = Some(RankingWork {
        id: 1,
        control: Control::default(),
        done: 4,
        total: 13,
        words: "repeat 4 of 10".to_owned(),
        privately: false,
        begun: true,
    });
    app
}

/// A run of another process, and another trainer whose claim is too low.
pub fn elsewhere() -> App {
    let mut app = running();
    let errors: Vec<f64> = (0..25).map(|i| 90.0 + 60.0 * (-f64::from(i) / 9.0).exp()).collect();
    let mut run = archived(1, 2.0, &errors);
    archive::PAUSED.clone_into(&mut run.outcome);
    run.of = 60;
    app.context.runs = vec![LiveRun::elsewhere(1, &run), LiveRun::of_trainer(2, trained())];
    app
}

/// The other trainer.
pub fn training() -> App {
    let mut app = elsewhere();
    app.screens.run.selected = 1;
    app
}

fn trained() -> TrainerSteps {
    let points = |scale: f64| (1..=40).map(move |x| (f64::from(x), scale * f64::from(x).sqrt()));
    TrainerSteps {
        path: "/train/events.jsonl".into(),
        name: "cifar".to_owned(),
        trainer: "opacus 1.5".to_owned(),
        step: 40,
        of: 400,
        delta: Some(1e-5),
        metrics: [("loss".to_owned(), points(-0.3).map(|(x, y)| (x, y + 2.3)).collect())].into(),
        claimed: points(0.1).collect(),
        computed: points(0.2).collect(),
        ours: Some(0.2 * 40.0_f64.sqrt()),
        verdict: "the claim is too low: these draws leak at least ε 1.2649".to_owned(),
        is_too_low: true,
        wrote: None,
        end: None,
    }
}

/// A single finished run.
pub fn finished() -> App {
    let mut app = several();
    app.context.runs.truncate(1);
    app
}

pub fn several() -> App {
    let mut app = running();
    app.context.runs.clear();
    let mut finished = run(1, 60, 60);
    finished.hear(JobEvent::Ended(Box::new(Ok(summary()))));
    let mut refused = run(2, 0, 60);
    refused.ended = Some(Ended::Refused(Error::refused("the budget is used up").cure("raise it")));
    app.context.runs = vec![finished, refused, run(3, 25, 60)];
    app
}

/// A run as in the archive, with exact numbers.
pub fn archived(number: u32, epsilon: f64, errors: &[f64]) -> ArchivedRun {
    let mut plan = session().plans.remove(0);
    plan.target.epsilon = epsilon;
    let scaled = |shift: f64, factor: f64| {
        let steps = errors.iter().enumerate();
        steps.map(|(i, y)| (i as f64 + 1.0, factor * (y + shift))).collect::<Vec<_>>()
    };
    let points = |shift: f64| scaled(shift, 1.0);
    let exact = [
        (Series::PrivateError, points(1000.0)),
        (Series::PrivateAbsoluteError, scaled(1000.0, 0.75)),
    ];
    let exact = exact.into();
    let id = RunId(format!("20260101-00000{number}-x"));
    ArchivedRun {
        time: format!("2026-01-01 00:00:0{number}"),
        plan: Some(plan),
        outcome: "finished".to_owned(),
        guarantee: Some(Target { epsilon, delta: 1e-6 }),
        drawn: vec![DrawnRun {
            run: id.clone(),
            person: None,
            mechanisms: vec![gaussian(epsilon / 4.5)],
        }],
        peeked: true,
        steps: errors.len() as u64,
        of: errors.len() as u64,
        curves: [
            (Series::PublicError, points(0.0)),
            (Series::PublicAbsoluteError, scaled(0.0, 0.75)),
        ]
        .into(),
        epsilon: points(0.0),
        exact: Private::new(exact).curator(&Watch::open(), Clone::clone),
        score: (number % 2 == 1).then(|| told(28.0 + f64::from(number))),
        ..ArchivedRun::unread(id, Path::new(&format!("/runs/{number}")))
    }
}

pub fn comparing() -> App {
    let mut app = loaded();
    app.context.tab = Tab::Compare;
    let errors = |start: f64| -> Vec<f64> {
        (0..60).map(|i| 110.0 + start * (-f64::from(i) / 15.0).exp()).collect()
    };
    let mut runs = vec![
        archived(1, 1.0, &errors(60.0)),
        archived(2, 0.5, &errors(90.0)),
        archived(3, 4.0, &errors(30.0)),
    ];
    runs[2].tag = "the good one".to_owned();
    runs[1].outcome = "stopped".to_owned();
    app.context.archive = Some(runs);
    app
}

pub fn pinned() -> App {
    let mut app = comparing();
    for index in [0, 2] {
        let id = app.context.archived()[index].id.clone();
        app.screens.compare.toggle_pin(&id);
    }
    app
}

fn event(count: u64) -> Event {
    Event {
        label: "gradient".to_owned(),
        what: "noisy gradient of the private part".to_owned(),
        mechanism: QueryKind::Gaussian.query(1.0, 37).with(Noise::ideal(40.0)),
        count,
        adjacency: Adjacency::ReplaceOne,
        held_out: false,
    }
}

pub fn book() -> (Book, Vec<Digest>) {
    let dataset = DatasetRecord {
        name: "winter".to_owned(),
        origin: "builtin:bikeshare".to_owned(),
        content: "c".to_owned(),
        view: "v".to_owned(),
        rows: 2068,
        ..DatasetRecord::default()
    };
    let mut account = Account::unopened(&dataset, &Book::default());
    account.id = AccountId("amber-otter-17".to_owned());
    account.budget = Some(Budget::new(4.0, 1e-5));
    let record = |number: u32, charged: u64, state: RunState| RunRecord {
        time: format!("2026-01-01T00:00:0{number}Z"),
        grant: Grant {
            run: RunId(format!("20260101-00000{number}-x")),
            account: account.id.clone(),
            method: "profiled_cnvx_adap".to_owned(),
            target: Target { epsilon: 1.0, delta: 1e-6 },
            events: vec![event(60)],
            allow_large_delta: false,
            noise: NoiseSource::Secret,
            unit: None,
            order: RowOrder::Secret,
            one_noise: None,
        },
        granted: ledger::LedgerLine { seq: u64::from(number), hash: String::new() },
        settled: None,
        reserved: vec![60],
        charged: vec![charged],
        state,
        claim: None,
        corrections: Vec::new(),
    };
    let settled = |outcome, peeked| RunState::Settled { outcome, peeked };
    account.runs = vec![
        record(1, 60, settled(RunOutcome::Finished, true)),
        record(2, 12, settled(RunOutcome::Stopped, false)),
        record(3, 60, RunState::Open),
    ];
    let cause = Cause::Lost { after: 3, until: Some(9), why: "the chain breaks".to_owned() };
    let noticed = Some(("2026-01-01T00:00:00Z".to_owned(), 4));
    let gaps = vec![Gap { cause, noticed, accepted: None }];
    let mut fresh = Account::unopened(&dataset, &Book { gaps, ..Book::default() });
    fresh.id = AccountId("cedar-lynx-02".to_owned());
    let accounts = vec![account, fresh];
    let digests = accounts.iter().map(|account| Digest::of(account, &|_| RunLife::Died)).collect();
    (Book { accounts, ..Book::default() }, digests)
}

pub fn spending() -> App {
    let mut app = comparing();
    app.context.tab = Tab::Ledger;
    let mut preview = preview();
    preview.account = AccountId("amber-otter-17".to_owned());
    app.context.plan.preview = Some(Ok(Box::new(preview)));
    let (book, digests) = book();
    (app.context.book, app.context.digests) = (Some(book), digests);
    app
}

pub fn listing() -> Listing {
    let entry = |name: &str, is_directory, bytes| DirectoryEntry {
        name: name.to_owned(),
        is_directory,
        bytes,
    };
    Listing {
        wanted: Wanted::Data,
        directory: "/home/ada/study".into(),
        entries: vec![
            entry("archive", true, 0),
            entry("hospital_a.csv", false, 48_213),
            entry("hospital_b.csv", false, 1_200_000),
            entry("notes.txt", false, 713),
        ],
    }
}

/// The first rows of the file that has this schema.
pub fn rows() -> ExactRows {
    let row = |cells: [&str; 3]| cells.map(str::to_owned).to_vec();
    let rows = Rows {
        header: ["age", "ward", "stay"].map(str::to_owned).to_vec(),
        rows: vec![row(["61", "north", "3.5"]), row(["47", "south", "1"])],
        total: 2,
    };
    // Made-up: those of the public rows in spring.
    ExactRows { rows, profile: datasets()[1].profile().cloned() }
}

/// Two sets of images, the first private.
pub fn pictured() -> App {
    let folder = tempfile::tempdir().unwrap();
    let workspace = Workspace::fresh(folder.path());
    let mut app = opened();
    app.context.session = Session::default();
    for (name, role, slant) in
        [("ours", Role::Private, 1), ("dark", Role::Public, 1), ("light", Role::Public, 4)]
    {
        let pixel = |at: u8| slant * (at % 64 / 8 + at % 8) + at / 64;
        let header = [0, 0, 8, 3, 0, 0, 0, 4, 0, 0, 0, 8, 0, 0, 0, 8];
        let bytes: Vec<u8> = header.into_iter().chain((0..=255).map(pixel)).collect();
        let file = format!("{name}-images-idx3-ubyte");
        std::fs::write(folder.path().join(&file), bytes).unwrap();
        let labels = format!("{name}-labels-idx1-ubyte");
        std::fs::write(folder.path().join(&labels), [0, 0, 8, 1, 0, 0, 0, 4, 7, 5, 5, 6]).unwrap();
        let files = [("pixel", file), ("label", labels)].map(|(of, file)| (of.to_owned(), file));
        let label = Some("label".to_owned());
        let definition = DatasetDefinition {
            label,
            ..DatasetDefinition::new(name, role, Source::Together(files.into()))
        };
        let loaded = Arc::new(dataset::load(&definition, &workspace).unwrap());
        app.context.session.datasets.push(definition);
        app.context.compared.insert(name.to_owned(), None);
        let status = DatasetStatus::Ready { loaded, account: None };
        app.context.datasets.insert(name.to_owned(), status);
    }
    app
}

/// A private and a public table, in which one column is twice the label.
pub fn with_a_twin() -> App {
    let row = |row: usize| format!("{row},{}", 2 * row);
    tables("stay,twin", &[("ours", Role::Private), ("theirs", Role::Public)], &|_, at| row(at))
}

/// Tables of 60 rows with the label `stay`, from the place of a table and of a row.
pub fn tables(head: &str, sets: &[(&str, Role)], row: &dyn Fn(usize, usize) -> String) -> App {
    let folder = tempfile::tempdir().unwrap();
    let workspace = Workspace::fresh(folder.path());
    let mut app = opened();
    app.context.session = Session::default();
    for (at, (name, role)) in sets.iter().enumerate() {
        let (name, role) = ((*name).to_owned(), *role);
        let lines: Vec<String> = (0..60).map(|line| row(at, line)).collect();
        let file = format!("{name}.csv");
        let text = format!("{head}\n{}\n", lines.join("\n"));
        std::fs::write(folder.path().join(&file), text).unwrap();
        let label = Some("stay".to_owned());
        let definition =
            DatasetDefinition { label, ..DatasetDefinition::new(&name, role, Source::File(file)) };
        let loaded = Arc::new(dataset::load(&definition, &workspace).unwrap());
        app.context.session.datasets.push(definition);
        app.context.compared.insert(name.clone(), None);
        let status = DatasetStatus::Ready { loaded, account: None };
        app.context.datasets.insert(name, status);
    }
    app
}

pub fn schema() -> Schema {
    let column = |name: &str, numeric| ColumnKind { name: name.to_owned(), numeric, width: 1 };
    Schema {
        columns: vec![column("age", true), column("ward", false), column("stay", true)],
        rows: 2,
        whole: true,
        cells: FirstCells::Hidden,
    }
}

pub fn browsing() -> App {
    let mut app = loaded();
    let mut files = FileBrowser::new(&listing());
    files.picker.selected = 2;
    files.glance = files.file().map(|file| (file, Ok(schema())));
    app.context.popup = Some(OpenPopup::Files(Box::new(files)));
    app
}

pub fn peeking() -> App {
    let mut app = loaded();
    app.context.peeked = Some(("winter".to_owned(), exact(rows())));
    app.focus_on(ROWS);
    app
}

/// Calls a function of the shown screen by its name.
fn act_on(app: &mut App, name: &str) {
    let command = keymap::of(app.context.tab).find(|(_, key)| key.name == name);
    keymap::act(app, command.unwrap().0);
}

/// Every screen in each of its main states, with a name.
pub fn scenes() -> Vec<(&'static str, App)> {
    let with = |mut app: App, change: &dyn Fn(&mut App)| {
        change(&mut app);
        app
    };
    let fresh = opened;
    let on = |tab: Tab| with(fresh(), &|app| app.context.tab = tab);
    let seal = |app: App| {
        app.context.watch.seal(true);
        app
    };
    let filter = |app: &mut App, text: &str| {
        app.context.filter_field_mut().set(text);
        app.filtering = true;
    };
    vec![
        ("data_reading", with(fresh(), &|app| drop(app.first_requests()))),
        ("data_empty", with(fresh(), &|app| app.context.session = Session::default())),
        ("data_ready", loaded()),
        (
            "data_public_rows",
            with(loaded(), &|app| {
                app.screens.data.selected = 1;
                app.focus_on(ROWS);
                (app.screens.data.row, app.screens.data.column) = (100, 1);
            }),
        ),
        ("data_private_rows", peeking()),
        ("data_private_rows_sealed", seal(peeking())),
        (
            "data_private_columns",
            with(peeking(), &|app| {
                app.focus_on(COLUMNS);
                app.screens.data.place = 10;
            }),
        ),
        (
            "data_columns",
            with(loaded(), &|app| {
                app.focus_on(COLUMNS);
                app.screens.data.place = 9;
            }),
        ),
        ("data_public_columns", with(loaded(), &|app| app.screens.data.selected = 1)),
        ("data_images", pictured()),
        ("data_label", with(loaded(), &|app| act_on(app, "label"))),
        (
            "data_guessed",
            with(loaded(), &|app| {
                let guesses = [
                    (
                        Guessed::Label,
                        "label 'bikers' (regression): the last column that can be one",
                    ),
                    (Guessed::Columns, "left out: 'instant' (an identifier of the row)"),
                ];
                app.context.session.datasets[0].guessed =
                    guesses.map(|(about, words)| (about, words.to_owned())).into();
            }),
        ),
        (
            "data_failed",
            with(loaded(), &|app| {
                let error = Error::failed("expected a number, found text")
                    .at("a.csv:17, column 'temp'")
                    .cure("mark the column as categorical");
                app.context.complain(&error);
                app.context.datasets.insert("winter".to_owned(), DatasetStatus::Failed(error));
            }),
        ),
        ("data_filter", with(loaded(), &|app| filter(app, "public"))),
        ("data_browser", browsing()),
        (
            "data_form",
            with(loaded(), &|app| {
                let known = vec!["bikers".to_owned(), "hr".to_owned()];
                let mut form =
                    DatasetForm::new(app.context.session.datasets[0].clone(), known, false);
                form.form.focus = 2;
                form.paste("z");
                app.context.popup = Some(OpenPopup::Dataset(Box::new(form)));
            }),
        ),
        (
            "data_form_columns",
            with(loaded(), &|app| {
                let context = &mut app.context;
                let winter = context.session.datasets[0].clone();
                let columns = context.columns(&winter.name);
                context.open_form(winter, &columns, false);
                if let Some(OpenPopup::Dataset(form)) = &mut context.popup {
                    form.form.focus = 8;
                    form.enter();
                }
            }),
        ),
        ("rank", on(Tab::Rank)),
        (
            "rank_settings",
            with(on(Tab::Rank), &|app| {
                let form = RankingForm::new(&app.context.session);
                app.context.popup = Some(OpenPopup::Ranking(Box::new(form)));
            }),
        ),
        (
            "rank_saved",
            with(ranked(), &|app| {
                app.context.ranking.saved =
                    Some("Saved ranking: by exact numbers, of 2026-01-01 12:00:00 UTC.".to_owned());
            }),
        ),
        ("rank_working", ranking(loaded())),
        ("rank_streaming", ranking(ranked())),
        ("rank_exact", with(ranked(), &|app| app.screens.rank.selected = 2)),
        (
            "rank_sorted",
            with(ranked(), &|app| app.screens.rank.order = Some(CandidateOrder::Distance)),
        ),
        ("rank_sealed", seal(ranked())),
        (
            "rank_winner",
            with(on(Tab::Rank), &|app| {
                app.context.ranking.released = Some((
                    Disclosed::Winner(Released::of_public("autumn".to_owned())),
                    summary().guarantee,
                ));
            }),
        ),
        (
            "rank_errors",
            with(on(Tab::Rank), &|app| {
                let line =
                    |name: &str, error: f64, behind: Option<f64>, first: f64| ReleasedError {
                        in_label_units: false,
                        name: name.to_owned(),
                        error: Some(Mean { mean: error, deviation: 0.012 }),
                        behind: behind.map(|mean| Mean { mean, deviation: 0.009 }),
                        first: Some(first),
                        elsewhere: Some(0.13),
                    };
                let lines = vec![
                    line("autumn", 0.081, None, 0.97),
                    line("spring", 0.102, Some(0.021), 0.03),
                    line("summer", 0.187, Some(0.106), 0.0),
                ];
                app.context.ranking.released =
                    Some((Disclosed::Errors(Released::of_public(lines)), summary().guarantee));
            }),
        ),
        (
            "rank_released",
            with(on(Tab::Rank), &|app| {
                let line = |name: &str, energy: f64| ReleasedLine {
                    name: name.to_owned(),
                    energy: Some(Mean { mean: energy, deviation: 0.03 }),
                    distance: Some(Mean { mean: 1.0 - energy, deviation: 0.05 }),
                };
                let lines = vec![line("autumn", 0.5), line("summer", 0.27)];
                app.context.ranking.released =
                    Some((Disclosed::Table(Released::of_public(lines)), summary().guarantee));
            }),
        ),
        ("plan_waiting", with(on(Tab::Plan), &|app| app.context.plan.waiting = true)),
        ("plan_none", with(on(Tab::Plan), &|app| app.context.session.plans.clear())),
        ("plan_priced", priced()),
        ("plan_directions", choosing_directions()),
        ("plan_rehearsing", rehearsing(80)),
        ("plan_rehearsed", rehearsing(126)),
        (
            "plan_rehearsed_costs",
            with(rehearsing(126), &|app| {
                app.context.rehearsal.shown = false;
                "target_only".clone_into(&mut app.context.session.plans[0].method);
                let plan = app.context.session.plans[0].clone();
                app.context.plan.preview = Some(Ok(Box::new(Preview { plan, ..preview() })));
            }),
        ),
        (
            "plan_queue",
            with(priced(), &|app| {
                let plan = app.context.session.plans[0].clone();
                app.context.queue.plans = vec![plan.clone(), plan];
                app.focus_on(QUEUE);
            }),
        ),
        (
            "plan_presets",
            with(priced(), &|app| {
                app.context.popup = Some(presets());
            }),
        ),
        (
            "plan_launch",
            with(priced(), &|app| {
                let text = "Launch 'winter'? It reserves ε 1 before it starts.".to_owned();
                app.context.popup =
                    Some(OpenPopup::Question(QuestionPopup::new(text, "launch", |_| {})));
            }),
        ),
        (
            "plan_sites",
            with(priced(), &|app| {
                app.context.session.plans[0].take_method("public_shape");
                app.context.ask_for_sites();
            }),
        ),
        ("run_none", on(Tab::Run)),
        ("run_working", running()),
        ("run_sealed", seal(running())),
        (
            "run_cursor",
            with(running(), &|app| {
                app.screens.run.viewport.cursor = Some(20.2);
                app.screens.run.viewport.window = Some((10.0, 30.0));
                app.screens.run.viewport.log = true;
            }),
        ),
        (
            "run_smoothed",
            with(running(), &|app| {
                app.screens.run.viewport.smoothing = 0.9;
                app.context.runs[0].smooth(0.9, false);
            }),
        ),
        ("run_finished", finished()),
        ("run_several", several()),
        ("run_elsewhere", elsewhere()),
        ("run_trainer", training()),
        ("run_trainer_sealed", seal(training())),
        ("run_refused", with(several(), &|app| app.screens.run.selected = 1)),
        ("run_choosing", choosing()),
        ("run_chosen", has_chosen()),
        ("run_maximised", with(running(), &|app| app.maximised = true)),
        (
            "run_log",
            with(several(), &|app| {
                app.focus_on(LOG);
                filter(app, "step");
            }),
        ),
        ("compare_empty", with(comparing(), &|app| app.context.archive = Some(Vec::new()))),
        ("compare_selected", comparing()),
        ("compare_pinned", pinned()),
        ("compare_sealed", seal(pinned())),
        (
            "compare_utility",
            with(pinned(), &|app| {
                app.screens.compare.quantity = Some(Quantity::Utility(Series::PublicError));
            }),
        ),
        ("ledger_reading", on(Tab::Ledger)),
        ("ledger_empty", with(on(Tab::Ledger), &|app| app.context.book = Some(Book::default()))),
        ("ledger_accounts", spending()),
        (
            "ledger_entries",
            with(spending(), &|app| {
                app.focus_on(ENTRIES);
                app.screens.ledger.entry = 1;
            }),
        ),
        (
            "palette",
            with(loaded(), &|app| {
                let mut palette = keymap::palette(Tab::Data);
                palette.query = TextField::new("bud");
                app.context.popup = Some(OpenPopup::Palette(palette));
            }),
        ),
        (
            "export",
            with(pinned(), &|app| {
                app.context.popup =
                    Some(OpenPopup::Export(Box::new(ExportForm::new("runs", true, false))));
            }),
        ),
        (
            "notice",
            with(loaded(), &|app| {
                app.context.say(
                    Level::Error,
                    "a long message that says what went wrong and what to do. ".repeat(4),
                );
            }),
        ),
    ]
}
