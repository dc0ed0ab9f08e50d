//! The study of rehearsals: their advice compared with the best choice in hindsight.
//!
//! Rehearsals see only the public records of each dataset. Then every player is tried on the
//! target, too: one part is for training, the other evaluates, as in a real run. The regret is the
//! amount by which the advised player's error exceeds that of the best one.

use std::collections::BTreeSet;

use super::grid::{Grid, GridTask, Harvest, epsilon_columns};
use super::labelled::LabelledProblem;
use super::table::{ExpectedMean, SeedValues, StudyTable, TableRow};
use crate::data;
use crate::data::PreparationSettings;
use crate::data::filter::Filter;
use crate::error::Result;
use crate::evaluation::Loss;
use crate::methods::PublicPredictor;
use crate::numeric::parallel;
use halflight_advice::rehearsal::advice::{
    Advice, PlayerStanding, Results, TrialResult, may_decide,
};
use halflight_advice::rehearsal::case::{Case, CaseKind};
use halflight_advice::rehearsal::{
    Declared, Played, Player, RehearsalData, RunTerms, Thinning, player,
};

/// The goal for every cell of regrets, and for the error relative to public data alone.
const WANTED_REGRET: f64 = 0.05;
const WANTED_AT_MOST: f64 = 1.02;

/// The goal for the share of runs within the range that was told of them.
const WANTED_WITHIN: f64 = 0.9;

/// The goal for the share of cells in which a quick rehearsal advises what a deep one does.
const WANTED_AGREEMENT: f64 = 0.95;

/// A dataset with its rehearsals, and the real run.
pub struct RehearsedDataset {
    name: &'static str,
    players: Vec<Player>,
    rehearsed: RehearsalData,
    /// The target in the private role, and nothing else.
    real: RehearsalData,
}

pub struct RehearsalStudy {
    pub subjects: Vec<RehearsedDataset>,
    pub epsilons: Vec<f64>,
    pub seeds: Vec<u64>,
    /// One for each row of the grid.
    tasks: Vec<StudyTask>,
}

#[derive(Debug, Clone, Copy)]
struct StudyTask {
    subject: usize,
    real: bool,
    entry: TrialResult,
}

impl RehearsedDataset {
    fn new(problem: &LabelledProblem, epsilons: &[f64], methods: &[String]) -> Result<Self> {
        let case = problem.case;
        let rows = problem.target.rows();
        let records = case.private_records.unwrap_or(rows / 2).min(rows);
        let definition = problem.definition.clone();
        let private = Declared { rows, records, definition: definition.clone() };
        let terms = RunTerms {
            given: PublicPredictor::None,
            delta: case.delta,
            epsilons: epsilons.to_vec(),
            preparation: PreparationSettings::default(),
            seed: 0,
            public_records: None,
            loss: Loss::default(),
            score: None,
            earlier: None,
        };
        let filters = [Filter::parse(case.source)?, Filter::parse(case.target)?];
        let mut shifted: Vec<String> =
            filters.iter().flat_map(Filter::columns).map(str::to_owned).collect();
        shifted.sort();
        shifted.dedup();
        let source = problem.source.rows();
        let rehearsed = RehearsalData::new(
            problem.source.clone(),
            definition.clone(),
            private.clone(),
            terms.clone(),
            (&vec![0; source], &[case.name.to_owned()]),
            &shifted,
        )?;
        let all = data::Table::concat(&[&problem.source, &problem.target])?;
        let target = Case {
            title: "target".to_owned(),
            kind: CaseKind::Dataset,
            public: (0..source).collect(),
            acting: (source..all.rows()).collect(),
        };
        let real = RehearsalData::with_cases(all, definition, private, terms, vec![target])?;
        let players = player::players(case.task, methods)?;
        Ok(Self { name: case.name, players, rehearsed, real })
    }

    fn advice(&self, results: &Results, k: usize) -> Advice {
        results.advice(self.real.terms.epsilons[k])
    }
}

impl RehearsalStudy {
    pub fn new(
        problems: &[LabelledProblem],
        quick: bool,
        seeds: u64,
        methods: &[String],
    ) -> Result<Self> {
        let epsilons = if quick { vec![0.5, 5.0] } else { vec![0.5, 1.0, 2.0, 5.0] };
        let subjects = problems
            .iter()
            .map(|problem| RehearsedDataset::new(problem, &epsilons, methods))
            .collect::<Result<Vec<_>>>()?;
        let mut tasks = Vec::new();
        for (at, subject) in subjects.iter().enumerate() {
            let rounds = (subject.rehearsed.repetitions() / seeds.max(1)).max(1);
            // If few records are held out, a single split also says little about the truth.
            let often = (subject.real.repetitions() / seeds.max(1)).max(1);
            for (real, data, rounds) in
                [(false, &subject.rehearsed, rounds), (true, &subject.real, often)]
            {
                let entries = TrialResult::all(data, &subject.players, rounds).into_iter();
                tasks.extend(entries.map(|entry| StudyTask { subject: at, real, entry }));
            }
        }
        Ok(Self { subjects, epsilons, seeds: (0..seeds).collect(), tasks })
    }

    /// One row per trial and round: if rehearsals repeat trials more often than there are seeds,
    /// there are several rounds of seeds.
    pub fn grid(&self) -> Grid {
        let title = |(at, task): (usize, &StudyTask)| {
            let subject = &self.subjects[task.subject];
            format!("{at} {} {}", subject.name, subject.players[task.entry.player].id())
        };
        Grid::new(self.tasks.iter().enumerate().map(title), ["loss"], &self.seeds)
    }

    /// The loss of one trial; `None` if a player cannot work on the data.
    pub fn measure(&self, place: GridTask<'_>) -> Result<Option<Played>> {
        let StudyTask { subject, real, entry } = self.tasks[place.row];
        let subject = &self.subjects[subject];
        let data = if real { &subject.real } else { &subject.rehearsed };
        let player = &subject.players[entry.player];
        let repetition = self.repetition(entry, place.repetition);
        let play = || data.play(entry.case, player, repetition, entry.epsilon);
        Ok(parallel::alone(play).ok())
    }

    /// A text that identifies a trial.
    pub fn words(&self, place: GridTask<'_>) -> String {
        let StudyTask { subject, real, entry } = self.tasks[place.row];
        let of = &self.subjects[subject];
        let data = if real { &of.real } else { &of.rehearsed };
        let case = data.cases[entry.case].name();
        let player = of.players[entry.player].id();
        let repetition = self.repetition(entry, place.repetition);
        let epsilon = entry.epsilon.map_or("none".to_owned(), |epsilon| epsilon.to_string());
        let measure = data.measure().words();
        format!("{} | {case} | {player} | {repetition} | {epsilon} | {measure}", of.name)
    }

    fn repetition(&self, entry: TrialResult, seed: u64) -> u64 {
        entry.repetition * self.seeds.len() as u64 + seed
    }

    /// The results of a subject: of its rehearsals or of the real run.
    fn results(&self, harvest: &Harvest<Played>, subject: usize, real: bool) -> Results {
        let mut results = self.none(subject, real);
        for (entry, loss) in self.losses(harvest, subject, real) {
            results.add(entry, loss);
        }
        results
    }

    fn none(&self, subject: usize, real: bool) -> Results {
        let of = &self.subjects[subject];
        Results::new(if real { &of.real } else { &of.rehearsed }, &of.players)
    }

    fn losses(
        &self,
        harvest: &Harvest<Played>,
        subject: usize,
        real: bool,
    ) -> Vec<(TrialResult, Played)> {
        let mut losses = Vec::new();
        for (row, task) in self.tasks.iter().enumerate() {
            if (task.subject, task.real) == (subject, real) {
                for (seed, loss) in (0..).zip(harvest.of(row, 0)) {
                    let repetition = self.repetition(task.entry, seed);
                    losses.push((TrialResult { repetition, ..task.entry }, *loss));
                }
            }
        }
        losses
    }

    /// The advice of a rehearsal as it is by default, in which methods that fall behind are tried less.
    fn quick_advice(&self, harvest: &Harvest<Played>, subject: usize, k: usize) -> Advice {
        let of = &self.subjects[subject];
        let mut losses = self.losses(harvest, subject, false);
        let thinning = of.rehearsed.thinning();
        if thinning == Thinning::Wide {
            let (cases, repetitions) = of.rehearsed.few_of_wide();
            losses.retain(|(it, _)| it.case < cases && it.repetition < repetitions);
        }
        let mut quick = self.none(subject, false);
        let entries = losses.iter().map(|(entry, _)| *entry).collect();
        for (round, entries) in thinning.rounds(entries, self.epsilons[k]).into_iter().enumerate() {
            let near = quick.near(round, self.epsilons[k], thinning, &BTreeSet::new());
            for entry in entries.into_iter().filter(|it| near.contains(&it.player)) {
                let loss = losses.iter().find(|(known, _)| *known == entry);
                if let Some((_, loss)) = loss {
                    quick.add(entry, *loss);
                }
            }
        }
        of.advice(&quick, k)
    }

    /// Regrets, errors relative to public data alone, and the advised player for each dataset.
    pub fn tables(&self, harvest: &Harvest<Played>) -> Vec<StudyTable> {
        let columns = epsilon_columns(&self.epsilons);
        let (mut regrets, mut ratios, mut same) = (Vec::new(), Vec::new(), Vec::new());
        let (mut advised_within, mut all_within) = (Vec::new(), Vec::new());
        let (mut advised_better, mut all_better) = (Vec::new(), Vec::new());
        for (at, subject) in self.subjects.iter().enumerate() {
            let rehearsed = self.results(harvest, at, false);
            let real = self.results(harvest, at, true);
            let (mut regret, mut ratio, mut agrees) = (Vec::new(), Vec::new(), Vec::new());
            let (mut advised_cells, mut all_cells) = (Vec::new(), Vec::new());
            let (mut advised_gains, mut all_gains) = (Vec::new(), Vec::new());
            for k in 0..self.epsilons.len() {
                let truth = subject.advice(&real, k);
                let advice = self.quick_advice(harvest, at, k);
                let advised = advice.choice[k];
                // For each run of a player, 1 if what was told of it holds and 0 if not.
                let held = |player: usize, holds: &dyn Fn((f64, f64), f64) -> Option<bool>| {
                    let line = &advice.lines[player];
                    let told = line.standings[k].filter(|_| line.player.spends());
                    let Some(told) = told.map(PlayerStanding::range) else { return Vec::new() };
                    let runs = real.repeated(0, player, k).into_iter();
                    let held = runs.filter_map(|log| holds(told, log.exp()));
                    held.map(|held| f64::from(u8::from(held))).collect::<Vec<f64>>()
                };
                let within = |player| {
                    held(player, &|(least, most), error| Some((least..=most).contains(&error)))
                };
                let better = |player: usize| {
                    let standing = advice.lines[player].standings[k];
                    let gain = standing.filter(|it| may_decide(&it.gain()));
                    held(player, &|_, error| gain.map(|_| error < 1.0))
                };
                advised_gains.push(SeedValues::of(advised.map_or(Vec::new(), better)));
                let all = (0..advice.lines.len()).flat_map(better).collect();
                all_gains.push(SeedValues::of(all));
                advised_cells.push(SeedValues::of(advised.map_or(Vec::new(), within)));
                let all = (0..advice.lines.len()).flat_map(within).collect();
                all_cells.push(SeedValues::of(all));
                let deep = subject.advice(&rehearsed, k).choice[k];
                let agreement = deep.is_some().then(|| f64::from(u8::from(advised == deep)));
                agrees.push(SeedValues::of(agreement.into_iter().collect()));
                let of = |line: usize| Some(truth.lines[line].standings[k]?.ratio);
                let best = truth.best(k);
                let found = advised.and_then(of).zip(best.and_then(of));
                regret.push(SeedValues::of(
                    found.map(|(ours, best)| ours / best - 1.0).into_iter().collect(),
                ));
                ratio.push(SeedValues::of(found.map(|(ours, _)| ours).into_iter().collect()));
            }
            let label = subject.name.to_owned();
            advised_within.push(TableRow { label: label.clone(), cells: advised_cells });
            all_within.push(TableRow { label: label.clone(), cells: all_cells });
            advised_better.push(TableRow { label: label.clone(), cells: advised_gains });
            all_better.push(TableRow { label: label.clone(), cells: all_gains });
            regrets.push(TableRow { label: label.clone(), cells: regret });
            ratios.push(TableRow { label: label.clone(), cells: ratio });
            same.push(TableRow { label, cells: agrees });
        }
        let table = |title: &str, mut rows: Vec<TableRow>, bound: Option<f64>| {
            for cell in rows.iter_mut().flat_map(|row| &mut row.cells) {
                cell.wanted = bound.map(ExpectedMean::AtMost);
            }
            StudyTable::new(title, &columns, rows)
        };
        let all: Vec<f64> =
            regrets.iter().flat_map(|row| &row.cells).filter_map(SeedValues::mean).collect();
        let summary = summary(all);
        let ranges =
            ranges_told([&advised_within, &all_within], "runs within the range that was told");
        let gains = ranges_told([&advised_better, &all_better], SURE_GAINS);
        let agreeing: Vec<f64> =
            same.iter().flat_map(|row| &row.cells).filter_map(SeedValues::mean).collect();
        vec![
            table(
                "regret: error of the advised player over that of the best one, minus 1",
                regrets,
                Some(WANTED_REGRET),
            ),
            table(
                "error of the advised player over that of public data alone",
                ratios,
                Some(WANTED_AT_MOST),
            ),
            summary,
            table(
                "1 where the advice is the same as that of a deep rehearsal, 0 elsewhere",
                same,
                None,
            ),
            agreement(&agreeing),
            table(
                "runs of the advised player within the range that was told",
                advised_within,
                None,
            ),
            table("runs of every player within the range that was told", all_within, None),
            ranges,
            table(&format!("{SURE_GAINS} (the advised player)"), advised_better, None),
            gains,
        ]
    }

    /// The method that was advised, and in brackets the one that was best.
    pub fn choices(&self, harvest: &Harvest<Played>) -> Vec<String> {
        let mut lines = Vec::new();
        for (at, subject) in self.subjects.iter().enumerate() {
            let rehearsed = self.results(harvest, at, false);
            let real = self.results(harvest, at, true);
            let cases: Vec<&str> =
                subject.rehearsed.cases.iter().map(|case| case.title.as_str()).collect();
            lines.push(format!("{}, rehearsed on {}:", subject.name, cases.join(", ")));
            for (k, epsilon) in self.epsilons.iter().enumerate() {
                let id = |line: Option<usize>| {
                    line.map_or("–".to_owned(), |at| subject.players[at].title())
                };
                let advised = id(self.quick_advice(harvest, at, k).choice[k]);
                let deep = id(subject.advice(&rehearsed, k).choice[k]);
                let deep = if advised == deep { String::new() } else { format!(", deep: {deep}") };
                let best = id(subject.advice(&real, k).best(k));
                let right = if advised == best { String::new() } else { format!(", best: {best}") };
                lines.push(format!("  ε {epsilon}: advised {advised}{deep}{right}"));
            }
        }
        lines
    }

    pub fn header(&self, missing: &[&str]) -> Vec<String> {
        let lines =
            ["Rehearsals on the public records alone, and the target that they were to predict: \
             mean absolute error, or share of wrong answers, on target records that no \
             player saw."];
        super::header(lines, missing)
    }
}

/// Promises by which the answer of Compare takes a run whose score agrees and is too imprecise.
const SURE_GAINS: &str = "runs better than public data alone, of those whose promise may decide";

/// How often what was told of a run holds: of the advised players, and of all. Every
/// cell counts the same, whatever its number of runs.
fn ranges_told(rows: [&[TableRow]; 2], what: &str) -> StudyTable {
    let share = |rows: &[TableRow]| {
        let cells = rows.iter().flat_map(|row| &row.cells).filter_map(SeedValues::mean);
        SeedValues {
            wanted: Some(ExpectedMean::AtLeast(WANTED_WITHIN)),
            ..SeedValues::of(cells.collect())
        }
    };
    let row = TableRow { label: "share of runs".to_owned(), cells: rows.map(share).to_vec() };
    StudyTable::new(
        format!("{what}, over all cells"),
        ["of the advised player", "of every player"],
        [row],
    )
}

/// The median, the share of small ones and the largest.
fn summary(mut regrets: Vec<f64>) -> StudyTable {
    regrets.sort_by(f64::total_cmp);
    let count = regrets.len();
    let within = |bound: f64| regrets.iter().filter(|x| **x <= bound).count() as f64 / count as f64;
    let cell = |value: f64, wanted| SeedValues {
        samples: if count > 0 { vec![value] } else { Vec::new() },
        wanted,
    };
    let median = regrets.get(count / 2).copied().unwrap_or_default();
    let cells = vec![
        cell(median, Some(ExpectedMean::AtMost(0.02))),
        cell(within(0.05), Some(ExpectedMean::AtLeast(0.9))),
        cell(regrets.last().copied().unwrap_or_default(), None),
    ];
    let row = TableRow { label: "advised".to_owned(), cells };
    let title = format!("regrets of all {count} cells");
    StudyTable::new(title, ["median", "share up to 5 %", "largest"], [row])
}

/// The share of cells in which quick and deep rehearsals advise the same.
fn agreement(same: &[f64]) -> StudyTable {
    let share = same.iter().sum::<f64>() / same.len() as f64;
    let samples = if same.is_empty() { Vec::new() } else { vec![share] };
    let cell = SeedValues { samples, wanted: Some(ExpectedMean::AtLeast(WANTED_AGREEMENT)) };
    let row = TableRow { label: "advised".to_owned(), cells: vec![cell] };
    let title = format!("quick and deep rehearsals advise the same in {} cells", same.len());
    StudyTable::new(title, ["share"], [row])
}
