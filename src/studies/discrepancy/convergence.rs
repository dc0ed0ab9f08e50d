//! The searches for weights without noise: where they end, and how fast their stationarity gap
//! falls.

use super::entries::{Arm, DiscrepancyRow, RowSetting};
use super::{DELTA, PUBLIC_RECORDS, RepetitionData, moment_discrepancy, second_moment};
use crate::error::Result;
use crate::grid::{Grid, GridTask, Harvest};
use crate::methods::Series as Stream;
use crate::methods::baselines::minimum_discrepancy::MinimumDiscrepancy;
use crate::methods::unlabelled::moment_release;
use crate::plot::{AxisSide, ChartSeries, Figure, Mark, Panel, Point};
use crate::privacy::Target;
use crate::table::{ExpectedMean, StudyTable};
use halflight_advice::rehearsal::RehearsalNoise;

/// n of these runs.
const SIZE: usize = 8000;
/// The gap counts as closed at this share of its first value.
const CLOSED: f64 = 1e-3;

/// Our μ, because the paper prints none.
const TEMPERATURE: f64 = 10.0;
const MOST_ITERATIONS: u32 = 300;

/// Runs without noise in several dimensions.
#[derive(Debug, Clone, PartialEq)]
pub struct Convergence {
    pub dimensions: Vec<usize>,
    pub seeds: Vec<u64>,
}

/// One search without noise.
#[derive(Debug, Clone, PartialEq)]
pub struct Course {
    /// ‖M(q)‖₂ at the end.
    pub discrepancy: f64,
    /// Iterations and the gap after them, as a share of the first gap.
    pub gaps: Vec<(f64, f64)>,
}

/// A search and its goals.
struct Searcher {
    entry: DiscrepancyRow,
    /// In one step of the run.
    iterations_per_step: f64,
    discrepancy_at_most: Option<f64>,
    iterations_at_most: Option<f64>,
}

/// The largest dimension with goals for these searches.
const MOST_FEATURES: usize = 50;

/// Searches that continue after the gap is closed, so that the curves show more than the bound.
static SEARCHERS: &[Searcher] = &[
    Searcher {
        entry: DiscrepancyRow {
            title: "smoothed discrepancy, accelerated descent",
            arm: Arm::MinimumDiscrepancy,
            settings: &[],
            wanted: &[],
        },
        iterations_per_step: 1.0,
        discrepancy_at_most: None,
        iterations_at_most: Some(100.0),
    },
    Searcher {
        entry: DiscrepancyRow {
            title: "two-stage Frank–Wolfe",
            arm: Arm::Method("two_stage_frank_wolfe"),
            // At a high temperature, where F̃ is close to the spectral norm.
            settings: &[
                ("lambda", RowSetting::Number(1.0)),
                ("rounds", RowSetting::Number(1000.0)),
                ("temperature", RowSetting::Number(200.0)),
            ],
            wanted: &[],
        },
        iterations_per_step: 1.0,
        discrepancy_at_most: Some(0.0025),
        iterations_at_most: None,
    },
    Searcher {
        entry: DiscrepancyRow {
            title: "moment release, two-stage",
            arm: Arm::Method("moment_release"),
            settings: &[
                ("lambda", RowSetting::Number(1.0)),
                // The form whose iterations are accelerated ones.
                ("form", RowSetting::Word("dense")),
                ("tolerance", RowSetting::Number(1e-5)),
                ("iterations", RowSetting::Number(1000.0)),
            ],
            wanted: &[],
        },
        iterations_per_step: moment_release::ITERATIONS_PER_STEP as f64,
        discrepancy_at_most: None,
        iterations_at_most: Some(100.0),
    },
];

impl Course {
    fn new(data: &RepetitionData, weights: &[f64], gaps: Vec<(f64, f64)>) -> Self {
        let first = gaps.first().map_or(1.0, |(_, gap)| *gap);
        Self {
            discrepancy: moment_discrepancy(&second_moment(&data.private), &data.public, weights),
            gaps: gaps.into_iter().map(|(iterations, gap)| (iterations, gap / first)).collect(),
        }
    }

    /// Iterations until the gap is closed.
    fn iterations(&self) -> Option<f64> {
        let closed = self.gaps.iter().find(|(_, gap)| *gap <= CLOSED);
        closed.map(|(iterations, _)| *iterations)
    }
}

/// Accelerated descent on the smoothed discrepancy at our temperature.
fn smoothed(data: &RepetitionData) -> Result<Course> {
    let moment = second_moment(&data.private);
    let mut search = MinimumDiscrepancy::new(data.public.features.clone(), TEMPERATURE)?;
    let mut gaps = Vec::new();
    for iteration in 0..=MOST_ITERATIONS {
        gaps.extend(search.gap(&moment).map(|gap| (f64::from(iteration), gap)));
        search.advance(&moment);
    }
    Ok(Course::new(data, search.weights().as_slice(), gaps))
}

impl Convergence {
    pub fn grid(&self) -> Grid {
        let columns = self.dimensions.iter().map(|d| format!("d={d}"));
        Grid::new(SEARCHERS.iter().map(|it| it.entry.title), columns, &self.seeds)
    }

    /// The task of [`Convergence::grid`].
    pub fn measure(&self, place: GridTask<'_>) -> Result<Option<Course>> {
        let searcher = &SEARCHERS[place.row];
        let data = RepetitionData::generate(self.dimensions[place.column], SIZE, place.repetition)?;
        let Arm::Method(method) = searcher.entry.arm else { return smoothed(&data).map(Some) };
        let noise = RehearsalNoise::None(Target { epsilon: 1.0, delta: DELTA });
        let rehearsed = searcher.entry.rehearsal(method, &data, noise, place.seed()).run()?;
        // Without noise both are the same.
        let told = rehearsed.series(Stream::StationarityGap);
        let exact = rehearsed.series(Stream::ExactStationarityGap);
        let gaps = if told.is_empty() { exact } else { told }.into_iter();
        let gaps = gaps.map(|(step, gap)| ((step - 1.0) * searcher.iterations_per_step, gap));
        Ok(Some(Course::new(&data, rehearsed.weights()?, gaps.collect())))
    }

    pub fn tables(&self, harvest: &Harvest<Course>) -> Vec<StudyTable> {
        let mut ends = harvest
            .table("Without noise: ‖M(q)‖₂ in the end", |course| Some(course.discrepancy));
        let mut speeds = harvest.table(
            "Without noise: iterations until the stationarity gap is 1/1000 of its start",
            Course::iterations,
        );
        for Searcher { entry, discrepancy_at_most, iterations_at_most, .. } in SEARCHERS {
            let goal = |column: usize, wanted: Option<f64>| {
                wanted
                    .filter(|_| self.dimensions[column] <= MOST_FEATURES)
                    .map(ExpectedMean::AtMost)
            };
            ends.want(entry.title, |column| goal(column, *discrepancy_at_most));
            speeds.want(entry.title, |column| goal(column, *iterations_at_most));
        }
        vec![ends, speeds]
    }

    /// The gap against the iterations, a panel for every dimension, of the first seed.
    pub fn figures(&self, harvest: &Harvest<Course>) -> Vec<(String, Figure)> {
        let series = |row: usize, column: usize| {
            let course = harvest.of(row, column).next();
            let gaps = course.into_iter().flat_map(|course| &course.gaps);
            ChartSeries {
                name: SEARCHERS[row].entry.title.to_owned(),
                mark: Mark::Curve,
                points: gaps.map(|(x, y)| Point::new(*x, *y)).collect(),
            }
        };
        let panel = |(column, dimension): (usize, &usize)| Panel {
            title: format!("d = {dimension}"),
            horizontal: AxisSide::log("iterations"),
            series: (0..SEARCHERS.len()).map(|row| series(row, column)).collect(),
        };
        let figure = Figure {
            title: "How fast the searches converge without noise".to_owned(),
            note: format!(
                "n = {SIZE}, m = {PUBLIC_RECORDS}, seed {}. Without noise: not private.",
                self.seeds.first().unwrap_or(&0)
            ),
            vertical: AxisSide::log("stationarity gap as a share of its first value"),
            panels: self.dimensions.iter().enumerate().map(panel).collect(),
        };
        vec![("convergence.svg".to_owned(), figure)]
    }
}
