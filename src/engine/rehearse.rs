//! Rehearses a plan: its public datasets play the private one, on all cores. The results are kept
//! in the workspace.
//!
//! [`data_of`] takes only the number of records and the definition of the private dataset. The
//! contents of its rows cannot get in: [`RehearsalData`] are made of public tables and [`Declared`].

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::assembly::{
    missing_of, pool, predictor_model, shared_classes, training_records, wanted_columns,
};
use super::control::Control;
use super::job::{Job, named};
use super::trial_costs::{ExpectedTrial, ToldTime, TrialCosts, TrialTime, counted_down};
use super::{overlap, resemblance};
use crate::data::filter::Filter;
use crate::data::selection::{resolved, used_columns};
use crate::data::{DatasetDefinition, SharedTime, Source, Table, Task};
use crate::error::{Error, Result};
use crate::evaluation::{Evaluation, Pay, Scoring};
use crate::methods::labelled::public_shape::MOST_FEATURES;
use crate::methods::{self, PublicPredictor, STEPS_VERSION};
use crate::numeric::parallel;
use crate::plot::number::duration;
use crate::privacy::Watch;
use crate::privacy::ledger::sha256;
use crate::rehearsal::advice::{Advice, PlayerLine, Results, TrialResult};
use crate::rehearsal::case::{FEWEST_ACTING, FEWEST_PERSONS};
use crate::rehearsal::{
    Declared, Played, Player, ROUNDS, RehearsalData, RunTerms, Thinning, Trust, player,
};
use crate::session::notebook::{self, Notebook, TrialKey};
use crate::session::{Loaded, PlanDefinition, Session, Workspace};

/// Raised whenever other public rows play, or losses are computed differently. Earlier results are
/// then ignored.
const VERSION: u32 = 2;

/// How often signals are checked.
const CHECK_INTERVAL: Duration = Duration::from_millis(50);

/// While trials take longer, the time left is told this often.
const TICK: Duration = Duration::from_secs(1);

/// The grid of ε, as multiples of the plan's own.
const EPSILON_GRID: [f64; 5] = [0.25, 0.5, 1.0, 2.0, 4.0];

/// The share of a process that does everything.
pub const ALL_TRIALS: (usize, usize) = (0, 1);

/// A request for rehearsals.
#[derive(Debug, Clone)]
pub struct RehearsalJob {
    /// The run that is rehearsed.
    pub run: Job,
    /// Empty for a grid around the plan's own.
    pub epsilons: Vec<f64>,
    /// Empty for all that fit.
    pub methods: Vec<String>,
    /// `None`: as many as the number of records requires.
    pub repetitions: Option<u64>,
    /// Methods that fall behind are tried as often as the others.
    pub deep: bool,
    /// The plan is compared with public data alone, at its ε, and no other method is tried.
    pub as_it_is: bool,
    /// The share of the trials for this process, and the number of shares.
    pub part: (usize, usize),
    /// An open watch lets the last ranking by exact numbers weigh rehearsals; the ledger notes it.
    pub exact: Option<Watch>,
}

impl RehearsalJob {
    /// Rehearsals of all methods that fit, around the plan's own ε.
    pub fn new(run: Job) -> Self {
        let (epsilons, methods) = (Vec::new(), Vec::new());
        let (repetitions, deep, as_it_is) = (None, false, false);
        let (part, exact) = (ALL_TRIALS, None);
        Self { run, epsilons, methods, repetitions, deep, as_it_is, part, exact }
    }

    /// A rehearsal of the plan as it is, which takes a few seconds.
    pub fn as_it_is(run: Job) -> Self {
        Self { as_it_is: true, ..Self::new(run) }
    }

    /// The session with the advised method instead of the plan's.
    pub fn advised(&self, advice: &Advice) -> Result<Session> {
        let mut session = self.run.session.clone();
        let plan = session.plans.iter_mut().find(|plan| plan.name == self.run.plan.name);
        let (player, plan) = advice.to_take().zip(plan).ok_or_else(|| {
            Error::refused("no method could be rehearsed").cure("the table says why none fits")
        })?;
        plan.take_player(player);
        Ok(session)
    }

    /// The session with at most `most` methods that are worth choosing among, instead of the
    /// plan's.
    pub fn candidates(&self, advice: &Advice, most: usize) -> Result<Session> {
        let plans = advice.worth_choosing(most).into_iter().filter_map(|player| {
            let Player::Method { id, .. } = &player else { return None };
            let name = format!("{}, {id}", self.run.plan.name);
            let mut plan = PlanDefinition { name, ..self.run.plan.clone() };
            plan.take_player(&player);
            Some(plan)
        });
        let plans: Vec<PlanDefinition> = plans.collect();
        if plans.is_empty() {
            return Err(Error::refused("no method could be rehearsed")
                .cure("there is nothing to choose: use public data alone"));
        }
        let mut session = self.run.session.clone();
        let place = session.plans.iter().position(|plan| plan.name == self.run.plan.name);
        let place = place.unwrap_or(session.plans.len());
        session.plans.splice(place..(place + 1).min(session.plans.len()), plans);
        Ok(session)
    }
}

/// The progress of a rehearsal.
#[derive(Debug, Clone, PartialEq)]
pub struct RehearsalProgress {
    pub done: usize,
    /// The number of trials if no further method falls behind, and none comes near.
    pub total: usize,
    /// The time until the end, from the first trial on.
    pub left: Option<Duration>,
    /// The time so far.
    pub took: Duration,
    pub advice: Advice,
}

impl RehearsalProgress {
    pub fn is_whole(&self) -> bool {
        self.done == self.total
    }

    /// The state after so much more time in which no trial was done.
    fn after(&self, time: Duration) -> Self {
        let left = self.left.map(|left| counted_down(left, time));
        Self { left, took: self.took + time, ..self.clone() }
    }

    /// `about 12 s left, 80 of 126`, or `measuring for 5 s, 0 of 126`.
    pub fn words(&self) -> String {
        let left = match self.left {
            _ if self.is_whole() => String::new(),
            Some(left) => format!("about {} left, ", duration(left.as_secs_f64().ceil())),
            None if self.took < TICK => "measuring, ".to_owned(),
            None => format!("measuring for {}, ", duration(self.took.as_secs_f64().floor())),
        };
        format!("{left}{} of {}", self.done, self.total)
    }
}

const ONLY_THESE: &str = "Only the methods that you named were tried.";
const AS_IT_IS: &str = "Only the plan itself was tried.";
const ONE_SET: &str = "There is one public dataset, so its parts play the private records. If these differ \
                       from it more than its parts do from each other, they help more than is said here; if less, \
                       they help less, or harm.";

/// Rehearses until everything is done or stopped; `tell` is called after every trial. A plan that lost
/// its free score goes on with the trials of the plan that had one, which hold but for what they say of
/// the score.
pub fn rehearse(
    job: &RehearsalJob,
    tell: &mut dyn FnMut(&RehearsalProgress),
) -> Result<RehearsalProgress> {
    let Some(plan) = scored_before(job) else { return rehearse_plan(job, tell) };
    let scored = RehearsalJob { run: Job { plan, ..job.run.clone() }, ..job.clone() };
    let without = |progress: RehearsalProgress| {
        let advice = progress.advice.clone().without_scores();
        RehearsalProgress { advice, ..progress }
    };
    rehearse_plan(&scored, &mut |progress| tell(&without(progress.clone()))).map(without)
}

/// The plan with a free score, if that one was rehearsed and this one was not.
fn scored_before(job: &RehearsalJob) -> Option<PlanDefinition> {
    let (plan, workspace) = (&job.run.plan, &job.run.workspace);
    let loaded: Vec<&Loaded> = job.run.datasets.iter().map(Arc::as_ref).collect();
    let scored = with_free_score(plan)?;
    let has = |plan| notebook::summary(workspace, &name_of(plan, &loaded).ok()?, None);
    (has(plan).is_none() && has(&scored).is_some()).then_some(scored)
}

/// A plan as it was before it lost its free score, with a method that cannot have one.
fn with_free_score(plan: &PlanDefinition) -> Option<PlanDefinition> {
    let evaluation = Some(Evaluation::default());
    plan.evaluation.is_none().then(|| PlanDefinition { evaluation, ..plan.clone() })
}

fn rehearse_plan(
    job: &RehearsalJob,
    tell: &mut dyn FnMut(&RehearsalProgress),
) -> Result<RehearsalProgress> {
    let loaded: Vec<&Loaded> = job.run.datasets.iter().map(Arc::as_ref).collect();
    let own_epsilon = [job.run.plan.target.epsilon];
    let epsilons = if job.as_it_is { &own_epsilon } else { job.epsilons.as_slice() };
    let Rehearsed { private, publics, mut data } = rehearsed(&job.run, epsilons)?;
    data.left_out.extend((!job.methods.is_empty()).then(|| ONLY_THESE.to_owned()));
    data.left_out.extend(job.as_it_is.then(|| AS_IT_IS.to_owned()));
    data.left_out.extend((publics == 1).then(|| ONE_SET.to_owned()));
    let is_deep = job.deep || job.part != ALL_TRIALS;
    let thinning = if is_deep { Thinning::Deep } else { data.thinning() };
    let mut repetitions = data.repetitions();
    if thinning == Thinning::Wide {
        let all = data.cases.len();
        let (cases, few) = data.few_of_wide();
        data.cases.truncate(cases);
        repetitions = few;
        data.left_out.extend((cases < all).then(|| {
            format!(
                "{cases} of {all} parts play, because models of so many columns take long to learn. A \
                 deep rehearsal plays all."
            )
        }));
    }
    let data = Arc::new(data);
    let players = players(job, private.definition.task)?;
    let notebook = Notebook::open(&job.run.workspace, &name_of(&job.run.plan, &loaded)?)?;
    let notebook = if job.exact.is_some() { notebook.unwritten() } else { notebook };
    let trust = trust(&job.run, job.exact.as_ref(), private, &data)?;
    let results = Results::new(&data, &players).trusting(trust);
    let repetitions = job.repetitions.unwrap_or(repetitions);
    let plan = players.iter().position(|player| *player == job.run.plan.player());
    let epsilon = job.run.plan.target.epsilon;
    let rounds = thinning.rounds(TrialResult::all(&data, &players, repetitions), epsilon);
    let repetitions = thinning.repetitions_of_settings(repetitions);
    let mut work = Work {
        job,
        data,
        notebook,
        results,
        plan,
        thinning,
        played: 0,
        later: rounds,
        variants: if job.part == ALL_TRIALS && !job.as_it_is { repetitions } else { 0 },
        costs: TrialCosts::new(parallel::threads()),
        told: None,
        begun: Instant::now(),
    };
    let mut progress = work.progress(&[]);
    for round in 0..=ROUNDS {
        if job.run.control.is_stopped() {
            break;
        }
        let entries = std::mem::take(&mut work.later[round]);
        if entries.is_empty() {
            continue;
        }
        progress = work.play(work.still_promising(round, entries), tell)?;
    }
    // The advised method may do better with other settings; only a complete rehearsal tries them.
    if work.variants > 0 && !job.run.control.is_stopped() {
        let more = work.results.vary(epsilon, repetitions);
        work.variants = 0;
        progress = work.play(more, tell)?;
    }
    progress.advice.stopped = job.run.control.is_stopped() && !progress.is_whole();
    // A rehearsal with only some methods or trials has no advice for others, and neither has one
    // that used exact numbers.
    if job.methods.is_empty() && job.part == ALL_TRIALS && job.exact.is_none() {
        let summary = serde_json::to_string(&progress.advice)
            .map_err(|error| Error::failed(format!("cannot write JSON: {error}")))?;
        let of = job.as_it_is.then(|| as_it_is(&job.run.plan));
        work.notebook.sum_up(of.as_deref(), &summary)?;
    }
    Ok(progress)
}

/// What is rehearsed.
pub(super) struct Rehearsed<'a> {
    pub private: &'a Loaded,
    /// The number of public datasets.
    pub publics: usize,
    pub data: RehearsalData,
}

/// Looks whether the plan of a run can be rehearsed, and finds the records that play.
pub(super) fn rehearsed<'a>(run: &'a Job, epsilons: &[f64]) -> Result<Rehearsed<'a>> {
    let loaded: Vec<&Loaded> = run.datasets.iter().map(Arc::as_ref).collect();
    if run.plan.start.is_some() {
        return Err(Error::usage(
            "a plan that starts from an earlier model cannot be rehearsed: its \
             model has not seen the parts that would play the private records",
        )
        .cure("rehearse the plan without `start`"));
    }
    // A private row among the public ones would play with them.
    let (private, publics) = roles(&run.plan, &loaded)?;
    overlap::refuse_private_rows(private, &publics, &run.workspace, &Watch::sealed())?;
    let declared = declared(private, &run.plan)?;
    let plan = run.plan.resolved(&run.workspace);
    let data = data_from(&plan, epsilons, declared, &publics)?;
    Ok(Rehearsed { private, publics: publics.len(), data })
}

/// The weights of cases from earlier rankings: released ones, and exact ones if requested.
pub(super) fn trust(
    run: &Job,
    exact: Option<&Watch>,
    private: &Loaded,
    data: &RehearsalData,
) -> Result<Trust> {
    let cases = &data.cases;
    let found = match exact {
        Some(watch) => Some(resemblance::exact(private, &run.workspace, watch)?),
        None => resemblance::released(private, &run.workspace),
    };
    Ok(match found {
        Some((misses, words)) => Trust::of_ranking(cases, &misses, &words),
        None => Trust::equal(cases.len()),
    })
}

/// A rehearsal under way.
struct Work<'a> {
    job: &'a RehearsalJob,
    data: Arc<RehearsalData>,
    notebook: Notebook,
    results: Results,
    /// The plan among the players.
    plan: Option<usize>,
    thinning: Thinning,
    /// Trials that were completed, now or in an earlier session.
    played: usize,
    /// The trials of each round that has not begun.
    later: Vec<Vec<TrialResult>>,
    /// How often other settings of the advised method will be tried.
    variants: u64,
    costs: TrialCosts,
    told: Option<ToldTime>,
    begun: Instant,
}

impl Work<'_> {
    /// How far behind the last one that plays a trial of a round is, by what is known so far: at most 0
    /// are those of players near enough to the best one, and those of the plan as it is, at its own ε.
    fn behind(
        &self,
        round: usize,
        playing: &BTreeSet<usize>,
    ) -> impl Fn(&TrialResult) -> Option<f64> + use<> {
        let epsilon = self.job.run.plan.target.epsilon;
        let margins = self.results.margins(round, epsilon, self.thinning, playing);
        let plan = self.plan.filter(|_| round < ROUNDS);
        move |entry| {
            let is_plan = Some(entry.player) == plan && entry.epsilon == Some(epsilon);
            if is_plan { Some(f64::NEG_INFINITY) } else { margins.get(&entry.player).copied() }
        }
    }

    /// The trials of a round that are promising, or known.
    fn still_promising(&self, round: usize, mut entries: Vec<TrialResult>) -> Vec<TrialResult> {
        let behind = self.behind(round, &BTreeSet::new());
        let plays = |entry: &TrialResult| behind(entry).is_some_and(|margin| margin <= 0.0);
        let players = &self.results.players;
        let is_known =
            |entry: &TrialResult| self.notebook.find(&key_of(entry, &self.data, players)).is_some();
        entries.retain(|entry| plays(entry) || is_known(entry));
        entries
    }

    /// The trials that may follow this round, each with its probability: those of the players that may be
    /// near enough then, and other settings of the method that is advised now, each of which counts as a
    /// trial of it.
    fn expected(&self, left: &[TrialResult], advice: &Advice) -> Vec<ExpectedTrial> {
        let playing: BTreeSet<usize> = left.iter().map(|entry| entry.player).collect();
        let mut waiting: BTreeMap<usize, usize> = BTreeMap::new();
        let count = |waiting: &mut BTreeMap<usize, usize>, entries: &[TrialResult]| {
            for entry in entries {
                *waiting.entry(entry.player).or_default() += 1;
            }
        };
        count(&mut waiting, left);
        let mut expected = Vec::new();
        for (round, entries) in self.later[..ROUNDS].iter().enumerate() {
            if entries.is_empty() {
                continue;
            }
            let behind = self.behind(round, &playing);
            let open = |player: &usize| {
                let waiting = waiting.get(player).copied().unwrap_or(0);
                waiting as f64 / (waiting + self.results.count(*player)).max(1) as f64
            };
            let players: BTreeSet<usize> = entries.iter().map(|entry| entry.player).collect();
            let open: BTreeMap<usize, f64> =
                players.into_iter().map(|player| (player, open(&player))).collect();
            for entry in entries {
                let (behind, open) = (behind(entry), open[&entry.player]);
                expected.push(ExpectedTrial { trial: *entry, behind, open });
            }
            count(&mut waiting, entries);
        }
        if let Some((line, (player, _))) = advice.choice[advice.at].zip(advice.chosen(advice.at)) {
            let epsilon = Some(advice.epsilons[advice.at]);
            let variants = player.variants().len() as u64 * self.variants;
            let cases = 0..self.data.cases.len();
            let variant = |case| TrialResult { case, player: line, repetition: u64::MAX, epsilon };
            let variants = cases.flat_map(|case| (0..variants).map(move |_| variant(case)));
            expected.extend(variants.map(ExpectedTrial::surely));
        }
        expected
    }

    /// Plays the trials of this process's share that are not known yet.
    fn play(
        &mut self,
        entries: Vec<TrialResult>,
        tell: &mut dyn FnMut(&RehearsalProgress),
    ) -> Result<RehearsalProgress> {
        let players = self.results.players.clone();
        let mut waiting = Vec::new();
        let (part, parts) = self.job.part;
        for (at, entry) in entries.into_iter().enumerate() {
            match self.notebook.find(&key_of(&entry, &self.data, &players)) {
                Some(known) => {
                    self.results.add(entry, known);
                    self.played += 1;
                }
                None if at % parts == part => waiting.push(entry),
                None => {}
            }
        }
        let mut left = waiting.clone();
        let mut progress = self.progress(&left);
        tell(&progress);
        let (trials, receiver) = self.begin(&players, waiting, self.costs.is_empty());
        let (mut told, mut since) = (Instant::now(), Instant::now());
        while !self.job.run.control.is_stopped() {
            let Outcome { entry, found, time } = match receiver.recv_timeout(CHECK_INTERVAL) {
                Ok(found) => found,
                Err(RecvTimeoutError::Timeout) => {
                    if told.elapsed() >= TICK {
                        told = Instant::now();
                        tell(&progress.after(since.elapsed()));
                    }
                    continue;
                }
                Err(RecvTimeoutError::Disconnected) => break,
            };
            match found {
                Ok(played) => {
                    self.notebook.note(key_of(&entry, &self.data, &players), played)?;
                    self.results.add(entry, played);
                }
                Err(error) => self.results.fail(entry, &error),
            }
            self.played += 1;
            left.retain(|waiting| *waiting != entry);
            let counted = counted(&entry, &progress.advice);
            self.costs.note(&counted, time, self.begun.elapsed());
            progress = self.progress(&left);
            let ratio = |line: &PlayerLine| Some(line.standings[progress.advice.at]?.ratio);
            let ratios = progress.advice.lines.iter().map(|line| ratio(line).unwrap_or(1.0));
            trials.queue().ratios = ratios.collect();
            tell(&progress);
            (told, since) = (Instant::now(), Instant::now());
        }
        Ok(progress)
    }

    /// The state, with these trials still to come in this round.
    fn progress(&mut self, left: &[TrialResult]) -> RehearsalProgress {
        let advice = self.results.advice(self.job.run.plan.target.epsilon);
        let expected = self.expected(left, &advice);
        let surely = |entry: &TrialResult| ExpectedTrial::surely(counted(entry, &advice));
        let all: Vec<ExpectedTrial> = left.iter().map(surely).chain(expected).collect();
        let estimate = self.costs.left(&all, left.len());
        self.told = estimate.map(|left| ToldTime::after(self.told, left, self.begun.elapsed()));
        RehearsalProgress {
            done: self.played,
            total: self.played + all.iter().filter(|it| it.is_likely()).count(),
            left: self.told.map(ToldTime::left),
            took: self.begun.elapsed(),
            advice,
        }
    }

    /// Starts the threads that play and report every trial. Nothing waits for their end, so that
    /// stopping is quick.
    fn begin(
        &self,
        players: &[Player],
        waiting: Vec<TrialResult>,
        is_first: bool,
    ) -> (Arc<Trials>, Receiver<Outcome>) {
        let queue = TrialQueue {
            waiting,
            plan: self.plan,
            epsilon: self.job.run.plan.target.epsilon,
            slow: HashSet::new(),
            ratios: Vec::new(),
        };
        let trials = Arc::new(Trials {
            data: Arc::clone(&self.data),
            players: players.to_vec(),
            queue: Mutex::new(queue),
            control: self.job.run.control.clone(),
        });
        let (sender, receiver) = channel();
        let playing = Arc::clone(&trials);
        std::thread::spawn(move || {
            // The first number on screen waits for the first trial, which learns from all public
            // records of its case: it has every thread to itself.
            if is_first && !playing.play_one(&sender, parallel::threads()) {
                return;
            }
            for _ in 0..parallel::threads() {
                let (trials, sender) = (Arc::clone(&playing), sender.clone());
                std::thread::spawn(move || {
                    parallel::alone(|| while trials.play_one(&sender, 1) {});
                });
            }
        });
        (trials, receiver)
    }
}

/// Other settings of the advised method count as trials of it.
fn counted(entry: &TrialResult, advice: &Advice) -> TrialResult {
    let is_known = entry.player < advice.lines.len();
    let player = if is_known { Some(entry.player) } else { advice.choice[advice.at] };
    TrialResult { player: player.unwrap_or(0), ..*entry }
}

/// What is public about the private records. How many of them fall on each side of the hold-out
/// depends on their number alone.
fn declared(private: &Loaded, plan: &PlanDefinition) -> Result<Declared> {
    let (rows, definition) = (private.rows, private.definition.clone());
    Ok(Declared { rows, records: training_records(private, plan)?, definition })
}

/// The public predictors that a plan gives to a method with predictors of its own.
fn given(plan: &PlanDefinition) -> PublicPredictor {
    let has_own = methods::method(&plan.method).is_ok_and(|it| it.spec().has_own_predictor);
    if has_own { plan.public_predictor.clone() } else { PublicPredictor::None }
}

/// The data of rehearsals from public and declared values.
fn data_from(
    plan: &PlanDefinition,
    epsilons: &[f64],
    declared: Declared,
    publics: &[&Loaded],
) -> Result<RehearsalData> {
    let private = &declared.definition;
    let own = &publics[0].definition;
    let Some(label) = own.label.clone().filter(|_| private.label == own.label) else {
        return Err(Error::usage(format!(
            "a rehearsal needs the label of '{}' in the public data too: without it nothing tells \
             how good a model is",
            plan.private
        ))
        .cure("give the private and the public datasets the same label column"));
    };
    let tables = publics.iter().map(|loaded| loaded.public()).collect::<Result<Vec<_>>>()?;
    // The columns that identify a person are not features.
    let own = DatasetDefinition { unit: private.unit.clone(), ..own.clone() };
    let mut definition = resolved(&own, tables[0])?;
    let (given, earlier) = (given(plan), predictor_model(plan)?);
    wanted_columns(&given, None, &mut definition, tables[0])?;
    let used = used_columns(&definition, tables[0])?;
    // Columns that are not features may still distinguish groups.
    let everywhere = |name: &&String| tables.iter().all(|table| table.has(name));
    let mut columns = used.clone();
    let known: HashSet<&String> = used.iter().collect();
    let others = tables[0].names.iter().filter(|name| !known.contains(name)).filter(everywhere);
    columns.extend(others.filter(|name| same_kind(&tables, name)).cloned());
    let table = pool(&tables, &columns)?;
    definition.missing = missing_of(publics);
    if definition.task == Task::Classification {
        let all = publics.iter().map(|it| &it.definition).chain([private]).collect::<Vec<_>>();
        definition.classes = shared_classes(&table, &all)?;
    }
    let owners: Vec<usize> =
        tables.iter().enumerate().flat_map(|(at, table)| vec![at; table.rows()]).collect();
    let shifted = shifted(publics.iter().map(|loaded| &loaded.definition).chain([private]))?;
    let mut epsilons = match epsilons {
        [] => EPSILON_GRID.map(|share| share * plan.target.epsilon).to_vec(),
        epsilons => [epsilons, &[plan.target.epsilon]].concat(),
    };
    epsilons.sort_by(f64::total_cmp);
    epsilons.dedup();
    let earlier = earlier.map(|saved| saved.for_table(&table));
    let terms = RunTerms {
        delta: plan.target.delta,
        epsilons,
        preparation: plan.preparation.clone(),
        seed: plan.seed,
        public_records: plan.public_records,
        loss: plan.loss(),
        score: score(plan, &declared, definition.classes.len())?,
        given,
        earlier,
    };
    let owners = (owners.as_slice(), plan.public.as_slice());
    let protects_persons = private.unit.is_some();
    let data = RehearsalData::new(table, definition, declared, terms, owners, &shifted)?;
    if data.cases.is_empty() {
        let by_person = protects_persons && !data.lacks_persons();
        let persons = by_person.then(|| format!(" of {FEWEST_PERSONS} persons"));
        let persons = persons.unwrap_or_default();
        return Err(Error::refused(format!(
            "the public data of '{label}' cannot play the private role: no dataset, no column's \
             values and no direction of the features leave enough records of every class on both \
             sides ({FEWEST_ACTING}{persons} at least)"
        ))
        .cure("add a second public dataset, or keep columns by which the records differ"));
    }
    Ok(data)
}

/// The plan's released score, and the ε of the whole plan. `None` if too few records are held out for
/// one that costs nothing.
fn score(
    plan: &PlanDefinition,
    private: &Declared,
    classes: usize,
) -> Result<Option<(Scoring, f64)>> {
    let Some(asked) = plan.own_score() else { return Ok(None) };
    let rows = Table::holdout_rows(private.rows, plan.holdout);
    let scoring = match Scoring::of(asked, &private.definition, rows, classes, true) {
        Err(_) if asked.pay == Pay::Covered => return Ok(None),
        scoring => scoring?,
    };
    Ok(Some((scoring, plan.target.epsilon)))
}

/// The private dataset of a plan, and the public ones.
fn roles<'a>(
    plan: &PlanDefinition,
    loaded: &[&'a Loaded],
) -> Result<(&'a Loaded, Vec<&'a Loaded>)> {
    let find = |name: &String| named(loaded, name).copied();
    Ok((find(&plan.private)?, plan.public.iter().map(find).collect::<Result<Vec<_>>>()?))
}

/// A name for everything that a loss depends on, besides player, ε and repetition.
pub(super) fn name_of(plan: &PlanDefinition, loaded: &[&Loaded]) -> Result<String> {
    let (private, publics) = roles(plan, loaded)?;
    // Independent of the place of the files: public ones are identified by their fingerprints. What
    // was guessed is the same once it is confirmed.
    let nowhere = |loaded: &Loaded| DatasetDefinition {
        source: Source::Builtin(String::new()),
        guessed: BTreeMap::new(),
        ..loaded.definition.clone()
    };
    let facts = (
        (VERSION, STEPS_VERSION),
        (nowhere(private), private.rows),
        publics.into_iter().map(nowhere).collect::<Vec<_>>(),
        (plan.target.delta, &plan.preparation, plan.holdout, plan.seed),
    );
    let mut facts = ron::to_string(&facts)
        .map_err(|error| Error::failed(format!("cannot name the rehearsal: {error}")))?;
    // Only if there is one, so that the results of earlier programs keep their name.
    // Only an ε of its own is another share of another ε.
    let share = |asked: Evaluation| match asked.pay {
        Pay::Epsilon(_) => (asked, Some(plan.target.epsilon)),
        Pay::Covered | Pay::Share(_) => (asked, None),
    };
    let paid = plan.own_score().map(share);
    if plan.private_records.is_some() || paid.is_some() {
        facts = format!("{facts}{:?}", (plan.private_records, paid));
    }
    if let Some(public) = plan.public_records {
        facts = format!("{facts}public {public}");
    }
    facts = format!("{facts}{:?}", plan.loss());
    // Earlier programs took the logarithmic loss of classes.
    if private.definition.task == Task::Classification {
        facts += "wrong answers";
    }
    let given = given(plan);
    if !given.is_none() {
        facts = format!("{facts}given {given}");
    }
    // Of so many features earlier programs clipped those of public data alone.
    if private.columns.iter().map(|column| column.width).sum::<usize>() > MOST_FEATURES {
        facts += "public alone";
    }
    // Earlier programs let one record of each person play.
    if private.definition.unit.is_some() {
        facts += "whole persons";
    }
    Ok(sha256(facts.as_bytes())[..16].to_owned())
}

/// The advice of the last rehearsal of a plan's data, if there was one.
pub fn known(plan: &PlanDefinition, loaded: &[&Loaded], workspace: &Workspace) -> Option<Advice> {
    kept(plan, loaded, workspace, None)
}

/// What the last rehearsal of a plan as it is found, if there was one.
pub fn known_as_it_is(
    plan: &PlanDefinition,
    loaded: &[&Loaded],
    workspace: &Workspace,
) -> Option<Advice> {
    kept(plan, loaded, workspace, Some(&as_it_is(plan)))
}

/// A name for a method with its settings and ε.
fn as_it_is(plan: &PlanDefinition) -> String {
    let player = format!("{} at {}", plan.player().id(), plan.target.epsilon);
    sha256(player.as_bytes())[..16].to_owned()
}

fn kept(
    plan: &PlanDefinition,
    loaded: &[&Loaded],
    workspace: &Workspace,
    of: Option<&str>,
) -> Option<Advice> {
    if plan.start.is_some() {
        return None;
    }
    let read = |plan: &PlanDefinition| {
        let name = name_of(plan, loaded).ok()?;
        let advice: Advice =
            serde_json::from_str(&notebook::summary(workspace, &name, of)?).ok()?;
        // Somebody may have edited the file.
        advice.is_sound().then_some(advice)
    };
    // What was rehearsed with a free score holds, but for what was said of the score.
    read(plan).or_else(|| Some(read(&with_free_score(plan)?)?.without_scores()))
}

/// Whether all tables have numbers there, or all have text: the playing rows must be selected in
/// the same way.
fn same_kind(tables: &[&Table], name: &str) -> bool {
    let kind = |table: &&Table| table.column(name).map(std::mem::discriminant).ok();
    tables.windows(2).all(|pair| kind(&pair[0]) == kind(&pair[1]))
}

/// The columns that filters name, under their names here.
fn shifted<'a>(definitions: impl Iterator<Item = &'a DatasetDefinition>) -> Result<Vec<String>> {
    let mut names = BTreeSet::new();
    for definition in definitions {
        let Some(filter) = &definition.filter else { continue };
        let filter = Filter::parse(filter)?;
        let here = |name: &str| definition.rename.get(name).map_or(name, String::as_str).to_owned();
        names.extend(filter.columns().into_iter().map(here));
    }
    Ok(names.into_iter().collect())
}

/// The methods to try: the requested ones, or all that fit, and the plan itself.
fn players(job: &RehearsalJob, task: Task) -> Result<Vec<Player>> {
    let mut players = player::players(task, &job.methods)?;
    methods::method(&job.run.plan.method)?.spec().check(&job.run.plan.settings)?;
    let plan = job.run.plan.player();
    if job.as_it_is {
        if !plan.spends() {
            return Err(Error::usage(
                "the plan is public data alone, and is compared with nothing",
            )
            .cure("rehearse all methods"));
        }
        players = vec![Player::PublicOnly];
    }
    if job.methods.is_empty() && !players.contains(&plan) {
        players.push(plan);
    }
    Ok(players)
}

fn key_of(entry: &TrialResult, data: &RehearsalData, players: &[Player]) -> TrialKey {
    TrialKey {
        scene: data.cases[entry.case].name(),
        player: players[entry.player].id(),
        repetition: entry.repetition,
        epsilon: entry.epsilon,
    }
}

struct Trials {
    data: Arc<RehearsalData>,
    players: Vec<Player>,
    queue: Mutex<TrialQueue>,
    control: Control,
}

struct TrialQueue {
    waiting: Vec<TrialResult>,
    /// The plan among the players, and its ε.
    plan: Option<usize>,
    epsilon: f64,
    /// The players whose last trial took more than [`SLOW`] seconds.
    slow: HashSet<usize>,
    /// The error of each player so far, over that of public data alone.
    ratios: Vec<f64>,
}

/// A trial that takes longer comes after those of other players.
const SLOW: f64 = 2.0;

/// The result of a trial.
struct Outcome {
    entry: TrialResult,
    found: Result<Played>,
    time: TrialTime,
}

impl TrialQueue {
    /// The next trial: the plan as it is, and public data alone, which it is compared with; then other
    /// players at the plan's ε; then other ε. Among other players the one with the least error so far
    /// comes first, because it is the most likely to be advised. One without a result counts as good
    /// as public data alone, and the list of methods decides among these.
    fn next(&mut self) -> Option<TrialResult> {
        let place = |entry: &TrialResult| {
            let is_other = entry.player != 0 && Some(entry.player) != self.plan;
            let is_elsewhere = entry.epsilon.is_some_and(|epsilon| epsilon != self.epsilon);
            let is_slow = is_other && self.slow.contains(&entry.player);
            (entry.repetition, is_elsewhere, is_other, is_slow, entry.case, entry.player == 0)
        };
        let ratio = |entry: &TrialResult| self.ratios.get(entry.player).copied().unwrap_or(1.0);
        let sooner = |one: &usize, other: &usize| {
            let (a, b) = (&self.waiting[*one], &self.waiting[*other]);
            place(a).cmp(&place(b)).then(ratio(a).total_cmp(&ratio(b))).then(one.cmp(other))
        };
        let first = (0..self.waiting.len()).min_by(sooner)?;
        Some(self.waiting.remove(first))
    }

    /// Takes out the other trials of the same player in the same case.
    fn withdraw(&mut self, of: TrialResult) -> Vec<TrialResult> {
        let same = |other: &TrialResult| (other.case, other.player) == (of.case, of.player);
        self.waiting.extract_if(.., |other| same(other)).collect()
    }
}

impl Trials {
    fn queue(&self) -> MutexGuard<'_, TrialQueue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Plays and reports the next trial on so many threads. False if there is none, or nobody listens
    /// any more.
    fn play_one(&self, sender: &Sender<Outcome>, threads: usize) -> bool {
        if self.control.is_stopped() {
            return false;
        }
        let Some(entry) = self.queue().next() else { return false };
        let (start, before) = (Instant::now(), SharedTime::of_this_thread());
        let player = &self.players[entry.player];
        let found = self.data.play(entry.case, player, entry.repetition, entry.epsilon);
        let (took, shared) = (start.elapsed(), SharedTime::of_this_thread().since(before));
        let time = TrialTime::new(took.saturating_sub(shared.waited), shared.learned, threads);
        let mut told = vec![Outcome { entry, found, time }];
        if let Err(error) = &told[0].found {
            // A player that fails once in a case always fails: it does not fit these data.
            let error = error.clone();
            let others = self.queue().withdraw(entry).into_iter();
            told.extend(others.map(|entry| Outcome {
                entry,
                found: Err(error.clone()),
                time: TrialTime::default(),
            }));
        }
        if took.as_secs_f64() > SLOW {
            self.queue().slow.insert(entry.player);
        }
        told.into_iter().all(|found| sender.send(found).is_ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Guessed;
    use crate::privacy::Guarantee;
    use crate::privacy::accountant::{Adjacency, Coverage};
    use crate::privacy::ledger::{AccountId, RunId};
    use crate::privacy::openings::OpenWatch;
    use crate::rank::CandidateOrder;
    use crate::rank::candidate_line::Mean;
    use crate::rehearsal::Miss;
    use crate::session::dataset;
    use crate::session::ranking_record::{self, RecordedLine, RecordedTable, ReleasedRanking};

    const ROWS: usize = 2000;

    /// A job on 2000 public rows in two regions and 800 private ones, whose labels are `turn` times
    /// those of public ones.
    fn job(directory: &std::path::Path, turn: f64, more: &str) -> RehearsalJob {
        let row = |row: usize, turn: f64, by: f64| {
            let a = (row * 37 % 101) as f64 / 50.0 - 1.0 + by;
            let b = (row * 53 % 97) as f64 / 48.0 - 1.0 + by;
            // In the south the slope is reversed.
            let (region, slope) = [("north", 1.0), ("south", -1.0)][row % 2];
            format!("{a},{b},{region},{}\n", turn * (slope * a + 0.5 * b))
        };
        let text = |rows: usize, turn: f64, by: f64| {
            let rows: Vec<String> = (0..rows).map(|at| row(at, turn, by)).collect();
            "a,b,region,y\n".to_owned() + &rows.concat()
        };
        std::fs::write(directory.join("public.csv"), text(ROWS, 1.0, 0.0)).unwrap();
        // Shifted a little: the same rows would be refused.
        std::fs::write(directory.join("private.csv"), text(800, turn, 0.003)).unwrap();
        let session = format!(
            r#"(version: 1, name: "s", datasets: [
                (name: "ours", role: private, source: file("private.csv"), label: "y",
                 columns: only(["a", "b"])),
                (name: "theirs", role: public, source: file("public.csv"), label: "y",
                 columns: only(["a", "b"]), filter: "region != 'west'"{more}),
            ], plans: [(name: "p", method: "target_only", private: "ours", public: ["theirs"],
                target: (epsilon: 1.0, delta: 1e-5))])"#
        );
        let path = directory.join("session.ron");
        std::fs::write(&path, session).unwrap();
        let session = Session::open(&path).unwrap();
        let workspace = Workspace::of_session(&path).unwrap();
        let load = |data| Arc::new(dataset::load(data, &workspace).unwrap());
        let datasets = session.datasets.iter().map(load).collect();
        let plan = session.plans[0].clone();
        RehearsalJob {
            epsilons: vec![0.5],
            methods: vec!["target_only".to_owned(), "profiled_cnvx_adap".to_owned()],
            repetitions: Some(1),
            deep: true,
            ..RehearsalJob::new(Job::new(session, plan, datasets, workspace))
        }
    }

    fn run(job: &RehearsalJob) -> RehearsalProgress {
        let found = rehearse(job, &mut |_| {}).unwrap();
        // The time depends on the machine.
        RehearsalProgress { took: Duration::ZERO, ..found }
    }

    #[test]
    fn other_private_rows_make_no_difference_and_no_ledger_is_touched() {
        let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let found = run(&job(one.path(), 1.0, ""));
        assert_eq!(found, run(&job(other.path(), -3.0, "")));
        // And five other settings of the advised method, in each case.
        assert_eq!((found.done, found.total), (44, 44));
        assert_eq!(found.advice.settings.len(), 5);
        assert_eq!(found.advice.cases[..2], ["region north", "region south"]);
        assert_eq!(found.advice.epsilons, [0.5, 1.0]);
        assert!(found.advice.choice.iter().all(Option::is_some));
        let kept: Vec<_> = std::fs::read_dir(one.path().join(".halflight")).unwrap().collect();
        let names = kept.into_iter().map(|file| file.unwrap().file_name());
        let names: Vec<_> = names.filter(|name| name != "secret").collect();
        assert!(names.iter().all(|name| name == "rehearsals"), "{names:?}");
    }

    #[test]
    fn what_was_found_is_not_done_again_and_shares_add_up() {
        let directory = tempfile::tempdir().unwrap();
        let whole = tempfile::tempdir().unwrap();
        let first = RehearsalJob { part: (0, 2), ..job(directory.path(), 1.0, "") };
        let second = RehearsalJob { part: (1, 2), ..job(directory.path(), 1.0, "") };
        let one = run(&first);
        assert_eq!((one.done, one.total), (12, 12));
        run(&second);
        let mut told = Vec::new();
        let again = RehearsalJob { part: (0, 1), ..first };
        let found = rehearse(&again, &mut |state| told.push(state.done)).unwrap();
        assert_eq!((told[0], *told.last().unwrap()), (24, 44));
        assert_eq!(found.advice, run(&job(whole.path(), 1.0, "")).advice);
    }

    #[test]
    fn what_cannot_be_rehearsed_is_refused_in_words() {
        let directory = tempfile::tempdir().unwrap();
        let mut unlabelled = job(directory.path(), 1.0, "");
        let theirs = Arc::get_mut(&mut unlabelled.run.datasets[1]).unwrap();
        theirs.definition.label = None;
        let refused = |job: &RehearsalJob| rehearse(job, &mut |_| {}).unwrap_err().to_string();
        assert!(refused(&unlabelled).contains("needs the label"));
        let few = job(directory.path(), 1.0, ", sample: (rows: 70, seed: 1)");
        assert!(refused(&few).contains("cannot play the private role"));
    }

    /// A released ranking of `theirs` alone.
    fn ranking() -> ReleasedRanking {
        let guarantee = Guarantee {
            epsilon: 0.5,
            epsilon_lower: 0.5,
            delta: 0.0,
            adjacency: Adjacency::ReplaceOne,
            covers: Coverage::FixedPlan,
            bound: "pure".to_owned(),
        };
        let line = RecordedLine {
            name: "theirs".to_owned(),
            energy: None,
            distance: None,
            error: Some(Mean { mean: 0.2, deviation: 0.05 }),
            verdict: String::new(),
        };
        let (order, verdict) = (CandidateOrder::Error, String::new());
        let lines = vec![line];
        let table = RecordedTable {
            repeats: 0,
            order,
            lines,
            floor: None,
            ceiling: None,
            verdict,
            in_label_units: false,
        };
        ReleasedRanking { guarantee, winner: None, table: Some(table) }
    }

    #[test]
    fn a_released_ranking_is_heard_and_an_exact_one_only_where_the_ledger_notes_it() {
        let directory = tempfile::tempdir().unwrap();
        let job = job(directory.path(), 1.0, "");
        let (private, workspace) = (&job.run.datasets[0], &job.run.workspace);
        assert_eq!(resemblance::released(private, workspace), None);
        let asked =
            RehearsalJob { exact: Some(Watch::open()), ..self::job(directory.path(), 1.0, "") };
        let refused = rehearse(&asked, &mut |_| {}).unwrap_err().to_string();
        assert!(refused.contains("no ranking of public data by exact numbers"), "{refused}");

        let account = private.register(&mut workspace.ledger().unwrap()).unwrap();
        let keep = |id: &str, account: &AccountId, sites: &[&str]| {
            let id = RunId(format!("{id}-ranking-00"));
            let header = ranking_record::Header {
                sites: sites.iter().map(|site| (*site).to_owned()).collect(),
                account: account.clone(),
                private: "ours".to_owned(),
                settings: None,
                may_collude: None,
            };
            ranking_record::keep_released(workspace, &id, header, &ranking(), None).unwrap();
        };
        keep("20260101-120000", &account, &[]);
        keep("20260101-130000", &AccountId("somebody-else".to_owned()), &[]);
        keep("20260101-133000", &account, &["B"]);
        let (misses, words) = resemblance::released(private, workspace).unwrap();
        let miss = Miss { dataset: "theirs".to_owned(), share: 0.2, deviation: 0.05 };
        assert_eq!((misses, words.contains("12:00:00")), (vec![miss], true), "{words}");

        let table = serde_json::to_value(ranking().table).unwrap();
        let exact = serde_json::json!({"account": account, "private": "ours", "findings": table});
        let file = directory.path().join(".halflight/rankings/20260101-140000-r.curator.json");
        std::fs::write(file, exact.to_string()).unwrap();
        let noted = || {
            let book = workspace.ledger().unwrap().book().unwrap();
            book.account(&account).unwrap().unprotected.len()
        };
        let folder = directory.path().join(".halflight/rehearsals");
        run(&asked);
        assert_eq!(noted(), 1);
        assert!(!folder.exists(), "what exact numbers steered is written nowhere");
        run(&job);
        assert_eq!(noted(), 1);
        assert!(folder.exists());
        assert_eq!(resemblance::released(private, workspace).unwrap().1, words);
        let sealed = RehearsalJob { exact: Some(Watch::sealed()), ..asked };
        assert!(rehearse(&sealed, &mut |_| {}).is_err());
        assert_eq!(noted(), 1);
    }

    #[test]
    fn private_rows_among_the_public_ones_do_not_play() {
        let directory = tempfile::tempdir().unwrap();
        let mut copied = job(directory.path(), 1.0, "");
        let public = std::fs::read_to_string(directory.path().join("public.csv")).unwrap();
        let some: Vec<&str> = public.lines().take(801).collect();
        std::fs::write(directory.path().join("private.csv"), some.join("\n")).unwrap();
        let private = &copied.run.session.datasets[0];
        copied.run.datasets[0] = Arc::new(dataset::load(private, &copied.run.workspace).unwrap());
        let refused = rehearse(&copied, &mut |_| {}).unwrap_err();
        assert!(refused.to_string().contains("rows that are private"), "{refused}");
        assert!(!directory.path().join(".halflight/rehearsals").exists());
    }

    #[test]
    fn what_is_kept_is_the_owners_and_damage_to_it_is_no_advice() {
        let directory = tempfile::tempdir().unwrap();
        let job = RehearsalJob { methods: Vec::new(), ..job(directory.path(), 1.0, "") };
        let advice = |job: &RehearsalJob| {
            let loaded: Vec<&Loaded> = job.run.datasets.iter().map(Arc::as_ref).collect();
            known(&job.run.plan, &loaded, &job.run.workspace)
        };
        assert_eq!(advice(&job), None);
        let found = run(&job);
        assert_eq!(advice(&job), Some(found.advice.clone()));
        // A guess that is confirmed afterwards changes nothing.
        let definition = &job.run.session.datasets[0];
        let mut guessed = dataset::load(definition, &job.run.workspace).unwrap();
        guessed.definition.guessed.insert(Guessed::Label, "labels often have this name".to_owned());
        let others = job.run.datasets[1..].iter().map(Arc::as_ref);
        let loaded: Vec<&Loaded> = std::iter::once(&guessed).chain(others).collect();
        assert!(known(&job.run.plan, &loaded, &job.run.workspace).is_some());
        let plan = Player::of_plan("target_only", &BTreeMap::new(), &PublicPredictor::None);
        assert!(
            found
                .advice
                .expectation(&plan, 1.2)
                .unwrap()
                .contains("at ε 1, 'private records alone' had")
        );
        assert_eq!(found.advice.expectation(&plan, 8.0), None, "too far from what was rehearsed");

        let folder = directory.path().join(".halflight/rehearsals");
        let folder = std::fs::read_dir(folder).unwrap().next().unwrap().unwrap().path();
        #[cfg(unix)]
        for file in std::fs::read_dir(&folder).unwrap() {
            use std::os::unix::fs::PermissionsExt;
            let mode = file.unwrap().metadata().unwrap().permissions().mode();
            assert_eq!(mode & 0o077, 0, "{mode:o}");
        }
        for (from, to) in [("\"at\":", "\"at\":7"), ("\"choice\":[", "\"choice\":[99,"), ("{", "")]
        {
            let whole = serde_json::to_string(&found.advice).unwrap();
            std::fs::write(folder.join("advice.json"), whole.replacen(from, to, 1)).unwrap();
            assert_eq!(advice(&job), None, "{from}");
        }
        let started = PlanDefinition { start: Some("run".to_owned()), ..job.run.plan.clone() };
        let started = RehearsalJob { run: Job { plan: started, ..job.run }, ..job };
        assert!(rehearse(&started, &mut |_| {}).unwrap_err().to_string().contains("starts from"));
    }

    #[test]
    fn whole_persons_play_where_the_public_data_name_them() {
        let directory = tempfile::tempdir().unwrap();
        let mut job = RehearsalJob {
            methods: vec!["target_only".to_owned()],
            epsilons: vec![1.0],
            ..job(directory.path(), 1.0, "")
        };
        // Ten rows of each, in both regions.
        let named = |file: &str, who: &str| {
            let path = directory.path().join(file);
            let text = std::fs::read_to_string(&path).unwrap();
            let lines = text.lines().enumerate().map(|(at, line)| match at {
                0 => format!("{line},who\n"),
                row => format!("{line},{who}{}\n", (row - 1) / 10),
            });
            let lines: String = lines.collect();
            std::fs::write(path, lines).unwrap();
        };
        named("private.csv", "q");
        let unit = crate::data::Unit::Column("who".to_owned());
        job.run.session.datasets[0].unit = Some(unit);
        let read = |job: &mut RehearsalJob| {
            let load = |data| Arc::new(dataset::load(data, &job.run.workspace).unwrap());
            job.run.datasets = job.run.session.datasets.iter().map(load).collect();
        };
        let data = |job: &RehearsalJob| {
            let loaded: Vec<&Loaded> = job.run.datasets.iter().map(Arc::as_ref).collect();
            let (private, publics) = roles(&job.run.plan, &loaded).unwrap();
            let declared = declared(private, &job.run.plan).unwrap();
            data_from(&job.run.plan.resolved(&job.run.workspace), &[], declared, &publics).unwrap()
        };
        read(&mut job);
        assert!(data(&job).lacks_persons());
        // 64 persons train, and as many rows play them.
        assert_eq!(data(&job).scale(0), (64, 1.0));
        let told = run(&job).advice.sentences().concat();
        assert!(told.contains("do not say whose record a row is"), "{told}");

        named("public.csv", "p");
        read(&mut job);
        let data = data(&job);
        assert!(!data.lacks_persons() && !data.cases.is_empty());
        for (at, case) in data.cases.iter().enumerate() {
            let persons = |rows: &[usize]| rows.iter().map(|row| row / 10).collect::<HashSet<_>>();
            let (acting, public) = (persons(&case.acting), persons(&case.public));
            assert!(acting.is_disjoint(&public), "{}", case.title);
            // Persons are counted, not their rows.
            let (trained, factor) = data.scale(at);
            assert!(trained <= 64 && trained < acting.len(), "{}: {trained}", case.title);
            assert_eq!(factor, 64.0 / trained as f64);
        }
        let found = run(&job);
        assert_eq!(found.done, found.total);
        assert!(found.advice.lines.iter().all(|line| line.failed.is_none()), "{found:?}");
        assert!(!found.advice.lacks_persons);
    }

    #[test]
    fn the_plan_itself_and_public_data_alone_come_first_then_the_best_so_far() {
        let entry =
            |player, case, repetition, epsilon| TrialResult { case, player, repetition, epsilon };
        // Player 0 is public data alone, and player 2 the plan.
        let expected = [
            entry(2, 0, 0, Some(1.0)),
            entry(0, 0, 0, None),
            entry(2, 1, 0, Some(1.0)),
            entry(0, 1, 0, None),
            entry(3, 0, 0, Some(1.0)),
            entry(1, 0, 0, None),
            entry(4, 0, 0, Some(1.0)),
            entry(3, 0, 0, Some(0.5)),
            entry(3, 0, 1, Some(1.0)),
        ];
        let mut waiting = expected.to_vec();
        waiting.sort_by_key(|entry| (entry.player, entry.case, entry.repetition));
        let (ratios, slow) = (vec![1.0, 1.0, 1.3, 0.8, 0.5], HashSet::from([4]));
        let mut queue = TrialQueue { waiting, plan: Some(2), epsilon: 1.0, slow, ratios };
        let found: Vec<_> = std::iter::from_fn(|| queue.next()).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn a_quick_rehearsal_gives_the_advice_of_a_deep_one_with_fewer_trials() {
        let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let of = |directory: &std::path::Path, deep| RehearsalJob {
            methods: ["target_only", "profiled_cnvx_adap", "public_shape"]
                .map(str::to_owned)
                .to_vec(),
            repetitions: Some(2),
            deep,
            ..job(directory, 1.0, "")
        };
        let mut lefts = Vec::new();
        let tell = &mut |state: &RehearsalProgress| lefts.push((state.done, state.left));
        let quick = rehearse(&of(one.path(), false), tell).unwrap();
        // From the first trial on, the time left is told.
        assert!(quick.is_whole() && lefts.iter().all(|(done, left)| (*done > 0) == left.is_some()));
        // What is told of the plan as it is has every repetition, however far behind it is.
        let (own, _) = quick.advice.of_plan(&Player::method("target_only"), 1.0).unwrap();
        assert!(own.cases == quick.advice.cases.len() && own.spread.is_some(), "{own:?}");
        let deep = run(&of(other.path(), true));
        assert!(quick.advice.behind > 0 && deep.advice.behind == 0);
        assert!(quick.done < deep.done, "{} {}", quick.done, deep.done);
        assert_eq!(quick.advice.to_take(), deep.advice.to_take());
        assert_eq!(quick.advice.choice[quick.advice.at], deep.advice.choice[deep.advice.at]);
        // A deep one goes on where a quick one ended, and then the two are the same.
        assert_eq!(run(&of(one.path(), true)).advice, deep.advice);
        assert_eq!(run(&of(one.path(), false)).advice, deep.advice);
    }

    #[test]
    fn a_plan_is_tried_as_it_is_and_no_trial_is_played_twice() {
        let directory = tempfile::tempdir().unwrap();
        let mut job = job(directory.path(), 1.0, "");
        job.methods.clear();
        job.epsilons.clear();
        assert!(!job.run.is_rehearsed());
        let own = RehearsalJob::as_it_is(job.run.clone());
        let found = run(&own);
        let player = job.run.plan.player();
        let tried: Vec<&Player> = found.advice.lines.iter().map(|line| &line.player).collect();
        assert_eq!(tried, [&Player::PublicOnly, &player]);
        // Two players, four cases, three times.
        assert_eq!((found.done, found.advice.epsilons.as_slice()), (24, [1.0].as_slice()));
        assert!(job.run.is_rehearsed() && job.run.advice().is_none());
        assert_eq!(job.run.rehearsed_as_it_is(), Some(found.advice.clone()));
        let settings = BTreeMap::from([("passes".to_owned(), methods::Value::Number(2.0))]);
        let mut other = job.run.clone();
        other.plan.target.epsilon = 2.0;
        assert!(!other.is_rehearsed(), "another ε");
        other.plan = PlanDefinition { settings, ..job.run.plan.clone() };
        assert!(!other.is_rehearsed(), "other settings");
        // A rehearsal of several methods goes on from there.
        let mut told = Vec::new();
        let all = RehearsalJob { methods: vec!["target_only".to_owned()], ..job };
        let all = rehearse(&all, &mut |state| told.push(state.done)).unwrap();
        assert_eq!(told[0], 8, "of one repetition");
        assert!(all.advice.of_plan(&player, 1.0).is_some());
        let mut alone = own;
        alone.run.plan.method = "public_only".to_owned();
        assert!(rehearse(&alone, &mut |_| {}).unwrap_err().to_string().contains("nothing"));
    }

    #[test]
    fn a_plan_is_rehearsed_by_its_own_error() {
        let directory = tempfile::tempdir().unwrap();
        let mut job = RehearsalJob { methods: Vec::new(), ..job(directory.path(), 1.0, "") };
        job.epsilons = vec![1.0];
        job.run.plan.evaluation = Some(Evaluation::default());
        let advice = |job: &RehearsalJob| {
            let loaded: Vec<&Loaded> = job.run.datasets.iter().map(Arc::as_ref).collect();
            known(&job.run.plan, &loaded, &job.run.workspace)
        };
        let absolute = run(&job).advice;
        assert_eq!(absolute.measure().words(), "mean absolute error");
        let of_plan = |advice: &Advice, job: &RehearsalJob| {
            advice.of_plan(&job.run.plan.player(), 1.0).unwrap().0
        };
        // 200 records are held out.
        assert_eq!(of_plan(&absolute, &job).score.unwrap().records, 160);
        // With another method the free score may be gone, and nothing is said of it then.
        let evaluation = job.run.plan.evaluation.take();
        let without = advice(&job).unwrap();
        assert_eq!(of_plan(&without, &job).score, None);
        assert_eq!(of_plan(&without, &job).ratio, of_plan(&absolute, &job).ratio);
        // A further rehearsal of it plays no trial anew.
        let mut told = 0;
        let again = rehearse(&job, &mut |_| told += 1).unwrap();
        assert_eq!((again.advice, again.done), (without, again.total));
        assert!(told < again.total, "{told}");
        job.run.plan.evaluation = evaluation;
        let loss = crate::evaluation::Loss::Squared;
        job.run.plan.evaluation = Some(Evaluation { loss, ..<_>::default() });
        assert_eq!(advice(&job), None, "another error is another rehearsal");
        let squared = run(&job).advice;
        assert_eq!(squared.measure().words(), "root mean squared error");
        assert_ne!(of_plan(&squared, &job).ratio, of_plan(&absolute, &job).ratio);
    }

    #[test]
    fn a_stopped_rehearsal_tells_what_it_has() {
        let directory = tempfile::tempdir().unwrap();
        let job = job(directory.path(), 1.0, "");
        let found = rehearse(&job, &mut |state| {
            if state.done == 3 {
                job.run.control.stop();
            }
        });
        let found = found.unwrap();
        assert_eq!((found.done, found.advice.stopped), (3, true));
        assert!(found.advice.sentences().join(" ").contains("was stopped before its end"));
        let job = RehearsalJob { run: Job { control: Control::default(), ..job.run }, ..job };
        let whole = run(&job);
        assert_eq!((whole.done, whole.advice.stopped), (44, false));
    }
}
