//! The printed Frank–Wolfe algorithms over μ, for which the paper prints no number.

use super::entries::{Arm, DiscrepancyRow, PRINTED, RowSetting, UNIT_BALL};
use super::{DELTA, DiscrepancyResult, RepetitionData, noise_of};
use crate::error::Result;
use crate::grid::{Grid, GridTask, Harvest, epsilon_columns};
use crate::table::StudyTable;

/// n of these runs.
const SIZE: usize = 8000;

/// Runs of both algorithms at several μ and ε.
#[derive(Debug, Clone, PartialEq)]
pub struct Temperatures {
    pub dimension: usize,
    pub temperatures: Vec<f64>,
    pub epsilons: Vec<f64>,
    pub seeds: Vec<u64>,
}

const STAGES: [(&str, &str); 2] =
    [("frank_wolfe", "single-stage"), ("two_stage_frank_wolfe", "two-stage")];

impl Temperatures {
    pub fn new(dimension: usize, seeds: &[u64], quick: bool) -> Self {
        let (temperatures, epsilons) = if quick {
            (vec![1.0, 10.0, 100.0], vec![16.0, f64::INFINITY])
        } else {
            (vec![1.0, 3.0, 10.0, 30.0, 100.0], vec![4.0, 16.0, f64::INFINITY])
        };
        Self { dimension, temperatures, epsilons, seeds: seeds.to_vec() }
    }

    pub fn grid(&self) -> Grid {
        let row = |mu: &f64| STAGES.map(|(_, stage)| format!("{stage} as printed, μ={mu}"));
        Grid::new(
            self.temperatures.iter().flat_map(row),
            epsilon_columns(&self.epsilons),
            &self.seeds,
        )
    }

    /// The task of [`Temperatures::grid`].
    pub fn measure(&self, place: GridTask<'_>) -> Result<Option<DiscrepancyResult>> {
        let mu = self.temperatures[place.row / STAGES.len()];
        let (method, _) = STAGES[place.row % STAGES.len()];
        let row = DiscrepancyRow {
            title: "",
            arm: Arm::Method(method),
            settings: &[PRINTED, UNIT_BALL],
            wanted: &[],
        };
        let data = RepetitionData::generate(self.dimension, SIZE, place.repetition)?;
        let noise = noise_of(self.epsilons[place.column]);
        let given = [("temperature", RowSetting::Number(mu))];
        row.measure_with(&data, noise, place.seed(), &given).map(Some)
    }

    pub fn table(&self, harvest: &Harvest<DiscrepancyResult>) -> StudyTable {
        let title = format!(
            "Mean squared error on unseen target records over μ, × 10⁴, n = {SIZE}, δ = 1/{:.0}; lower \
             is better",
            1.0 / DELTA
        );
        harvest.table(&title, |measured| Some(measured.scores?.error.powi(2) * 1e4))
    }
}
