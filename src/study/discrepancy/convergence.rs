//! What the searches for weights do when privacy costs nothing: where they end, and how
//! fast their stationarity gap falls.

use super::entries::{Arm, Entry, Setting};
use super::{DELTA, Data, PUBLIC_RECORDS, moment_discrepancy, second_moment};
use crate::adapt::{Series as Stream, moment_release};
use crate::error::Result;
use crate::plot::{Figure, Mark, Panel, Point, Series, Side};
use crate::privacy::Target;
use crate::study::grid::{Grid, Harvest, Place};
use crate::study::rehearsal::Noise;
use crate::study::table::{Table, Wanted};

/// n of these runs.
const SIZE: usize = 8000;
/// The gap counts as closed at this share of its first value.
const CLOSED: f64 = 1e-3;

/// Runs without noise in several dimensions.
#[derive(Debug, Clone, PartialEq)]
pub struct Convergence {
    pub dimensions: Vec<usize>,
    pub seeds: Vec<u64>,
}

/// One run without noise.
#[derive(Debug, Clone, PartialEq)]
pub struct Course {
    /// ‖M(q)‖₂ in the end.
    pub discrepancy: f64,
    /// Iterations and the gap after them, as a share of the first gap.
    pub gaps: Vec<(f64, f64)>,
}

/// A method without noise.
struct Searcher {
    entry: Entry,
    /// Iterations of the search in one step of the run.
    iterations_per_step: f64,
    discrepancy_at_most: Option<f64>,
    iterations_at_most: Option<f64>,
}

/// They go on after the gap is closed, so that the curves show more than the bound.
static SEARCHERS: &[Searcher] = &[Searcher {
    entry: Entry {
        title: "moment release, two-stage",
        arm: Arm::Method("moment_release"),
        settings: &[
            ("lambda", Setting::Number(1.0)),
            ("tolerance", Setting::Number(1e-5)),
            ("iterations", Setting::Number(1000.0)),
        ],
        wanted: &[],
    },
    iterations_per_step: moment_release::ITERATIONS_PER_STEP as f64,
    discrepancy_at_most: None,
    iterations_at_most: Some(100.0),
}];

impl Course {
    /// Iterations until the gap is closed.
    fn iterations(&self) -> Option<f64> {
        let closed = self.gaps.iter().find(|(_, gap)| *gap <= CLOSED);
        closed.map(|(iterations, _)| *iterations)
    }
}

impl Convergence {
    pub fn grid(&self) -> Grid {
        Grid {
            rows: SEARCHERS.iter().map(|searcher| searcher.entry.title.to_owned()).collect(),
            columns: self.dimensions.iter().map(|d| format!("d={d}")).collect(),
            seeds: self.seeds.clone(),
        }
    }

    /// The task of [`Convergence::grid`].
    pub fn measure(&self, place: Place<'_>) -> Result<Option<Course>> {
        let searcher = &SEARCHERS[place.row];
        let Arm::Method(method) = searcher.entry.arm else { return Ok(None) };
        let data = Data::generate(self.dimensions[place.column], SIZE, place.repetition)?;
        let noise = Noise::None(Target { epsilon: 1.0, delta: DELTA });
        let rehearsed = searcher.entry.rehearsal(method, &data, noise, place.seed()).run()?;
        let moment = second_moment(&data.private);
        let gaps = rehearsed.series(Stream::StationarityGap);
        let first = gaps.first().map_or(1.0, |(_, gap)| *gap);
        let share = |(step, gap)| ((step - 1.0) * searcher.iterations_per_step, gap / first);
        Ok(Some(Course {
            discrepancy: moment_discrepancy(&moment, &data.public, rehearsed.weights()?),
            gaps: gaps.into_iter().map(share).collect(),
        }))
    }

    pub fn tables(&self, harvest: &Harvest<Course>) -> Vec<Table> {
        let mut ends = harvest
            .table("Without noise: ‖M(q)‖₂ in the end", |course| Some(course.discrepancy));
        let mut speeds = harvest.table(
            "Without noise: iterations until the stationarity gap is 1/1000 of its start",
            Course::iterations,
        );
        for Searcher { entry, discrepancy_at_most, iterations_at_most, .. } in SEARCHERS {
            ends.want(entry.title, |_| discrepancy_at_most.map(Wanted::AtMost));
            speeds.want(entry.title, |_| iterations_at_most.map(Wanted::AtMost));
        }
        vec![ends, speeds]
    }

    /// The gap against the iterations, a panel for every dimension, of the first seed.
    pub fn figures(&self, harvest: &Harvest<Course>) -> Vec<(String, Figure)> {
        let series = |row: usize, column: usize| {
            let course = harvest.of(row, column).next();
            let gaps = course.into_iter().flat_map(|course| &course.gaps);
            Series {
                name: SEARCHERS[row].entry.title.to_owned(),
                mark: Mark::Curve,
                points: gaps.map(|(x, y)| Point::new(*x, *y)).collect(),
            }
        };
        let panel = |(column, dimension): (usize, &usize)| Panel {
            title: format!("d = {dimension}"),
            horizontal: Side::log("iterations"),
            series: (0..SEARCHERS.len()).map(|row| series(row, column)).collect(),
        };
        let figure = Figure {
            title: "How fast the searches converge without noise".to_owned(),
            note: format!(
                "n = {SIZE}, m = {PUBLIC_RECORDS}, seed {}. Without noise: not private.",
                self.seeds.first().unwrap_or(&0)
            ),
            vertical: Side::log("stationarity gap as a share of its first value"),
            panels: self.dimensions.iter().enumerate().map(panel).collect(),
        };
        vec![("convergence.svg".to_owned(), figure)]
    }
}
