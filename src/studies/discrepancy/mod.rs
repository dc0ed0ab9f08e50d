//! The study of unlabelled adaptation: the synthetic setup of section 7 of the first paper, every
//! method, pairs of a number of private records and an ε, and the goals of each.
//!
//! The study measures ‖M(q)‖₂ of the returned weights on the *exact* second moment of the target,
//! and the returned model's mean squared error on target records that no method saw. A study on
//! public data may do this; a run on private data may not.
//!
//! | module | holds |
//! |---|---|
//! | [`entries`] | the rows of the study and their expected results |
//! | [`convergence`] | the same searches without noise |
//! | [`figures`] | the plots |
//! | `temperatures` | the printed algorithms over μ |

mod convergence;
mod entries;
mod figures;
mod temperatures;

use self::entries::{ENTRIES, EPSILONS, RowMeasure, SIZES};
use super::grid::{Grid, GridTask, Harvest, epsilon_words};
use super::table::{StudyTable, TableContent};
use crate::data::Dataset;
use crate::data::synthetic::{self, DEFAULT_MIXTURE, SyntheticPart};
use crate::error::Result;
use crate::evaluation::Measured;
use crate::model::LinearModel;
use crate::numeric::Matrix;
use crate::numeric::symmetric::{spectral_norm, weighted_outer_sum};
use crate::privacy::Target;
use halflight_advice::rehearsal::RehearsalNoise;

pub use self::convergence::{Convergence, Course};
pub use self::temperatures::Temperatures;

/// m
pub const PUBLIC_RECORDS: usize = 1000;
/// The papers' δ, which is not below 1/n.
pub const DELTA: f64 = 1.0 / 8000.0;
/// The dimension of the papers' setup.
pub const DIMENSION: usize = 10;
/// A very large ε, for the plan of a run without noise.
const PLENTY: f64 = 100.0;
/// Target records that evaluate models and are not given to any method.
const HELD_OUT: usize = 8000;

/// The trials and their problems.
#[derive(Debug, Clone, PartialEq)]
pub struct DiscrepancyStudy {
    /// d
    pub dimension: usize,
    /// n
    pub sizes: Vec<usize>,
    pub epsilons: Vec<f64>,
    pub seeds: Vec<u64>,
}

/// One method on one problem.
#[derive(Debug, Clone, PartialEq)]
pub struct DiscrepancyResult {
    /// ‖M(q)‖₂
    pub discrepancy: Option<f64>,
    /// Errors on unseen target records.
    pub scores: Option<Measured>,
    /// The proven ε of methods that use the target.
    pub epsilon: Option<f64>,
}

/// The data of one repetition.
struct RepetitionData {
    public: Dataset,
    /// The target in the private role.
    private: Dataset,
    held_out: Dataset,
}

impl RepetitionData {
    fn generate(dimension: usize, size: usize, seed: u64) -> Result<Self> {
        let part = |part, rows| synthetic::dataset(part, rows, dimension, DEFAULT_MIXTURE, seed);
        let public = part(SyntheticPart::Source, PUBLIC_RECORDS)?;
        // More private records continue the same stream, so the held-out ones come first.
        let target = part(SyntheticPart::Target, HELD_OUT + size)?;
        Ok(Self {
            public,
            private: target.records(HELD_OUT, size),
            held_out: target.records(0, HELD_OUT),
        })
    }

    fn scores(&self, predictions: &[f64]) -> Option<Measured> {
        let target = self.held_out.target.as_ref()?;
        Measured::of_numbers(predictions.iter().copied().zip(target.iter().copied()))
    }

    fn scores_of(&self, model: &LinearModel) -> Option<Measured> {
        self.scores(&model.predict(&self.held_out.features))
    }
}

impl DiscrepancyStudy {
    /// The whole table.
    pub fn full(dimension: usize, seeds: u64) -> Self {
        Self {
            dimension,
            sizes: SIZES.to_vec(),
            epsilons: EPSILONS.to_vec(),
            seeds: (0..seeds).collect(),
        }
    }

    /// The study at the ends of both axes.
    pub fn quick(dimension: usize, seeds: u64) -> Self {
        Self {
            sizes: vec![SIZES[0], SIZES[3]],
            epsilons: vec![EPSILONS[0], EPSILONS[2], EPSILONS[3]],
            ..Self::full(dimension, seeds)
        }
    }

    /// (n, ε) of every column.
    fn problems(&self) -> Vec<(usize, f64)> {
        let sizes = self.sizes.iter();
        sizes.flat_map(|n| self.epsilons.iter().map(move |epsilon| (*n, *epsilon))).collect()
    }

    pub fn grid(&self) -> Grid {
        let column = |(n, epsilon)| format!("n={n} {}", epsilon_words(epsilon));
        let columns = self.problems().into_iter().map(column);
        Grid::new(ENTRIES.iter().map(|entry| entry.title), columns, &self.seeds)
    }

    /// The task of [`DiscrepancyStudy::grid`]. Rows share their data, so their differences are sharp;
    /// they do not share their noise.
    pub fn measure(&self, place: GridTask<'_>) -> Result<Option<DiscrepancyResult>> {
        let (size, epsilon) = self.problems()[place.column];
        let entry = &ENTRIES[place.row];
        if !entry.has_noise() && Some(&epsilon) != self.epsilons.first() {
            // The same for every ε: see `Study::tables`.
            return Ok(None);
        }
        if epsilon.is_infinite() && entry.has_noise() && !entry.is_printed() {
            return Ok(None);
        }
        let data = RepetitionData::generate(self.dimension, size, place.repetition)?;
        entry.measure(&data, noise_of(epsilon), place.seed()).map(Some)
    }

    /// Discrepancy, error and proven ε, each with its goals.
    pub fn tables(&self, harvest: &Harvest<DiscrepancyResult>) -> Vec<StudyTable> {
        let title = "‖M(q)‖₂ of the returned weights on the exact target moment";
        let discrepancy = harvest.table(title, |measured| measured.discrepancy);
        let title = "Mean squared error on unseen target records, × 10⁴";
        let error = harvest.table(title, |measured| Some(measured.scores?.error.powi(2) * 1e4));
        let title = "Mean absolute error on unseen target records, × 10²";
        let absolute = harvest
            .table(title, |measured| Some(measured.scores?.further.mean_absolute_error? * 1e2));
        let epsilon = harvest.table(
            &format!("ε that the accountant proves at δ = 1/{:.0}, replace-one", 1.0 / DELTA),
            |measured| measured.epsilon,
        );
        let mut tables = vec![
            self.with_goals(discrepancy, RowMeasure::Discrepancy),
            self.with_goals(error, RowMeasure::Error),
            self.on_every_epsilon(absolute),
            StudyTable { content: TableContent::Privacy, ..epsilon },
        ];
        tables.retain(|table| !table.rows.is_empty());
        tables
    }

    /// The header of the tables for the reader.
    pub fn header(&self) -> Vec<String> {
        vec![
            format!(
                "halflight {} · halflight-studies discrepancy · synthetic source and target of Bassily, Mohri \
                 and Suresh, section 7",
                env!("CARGO_PKG_VERSION")
            ),
            format!(
                "d = {}, m = {PUBLIC_RECORDS} public records, r = Λ = 1, δ = 1/{:.0}; mean ± sd over \
                 {} seeds (0 to {})",
                self.dimension,
                1.0 / DELTA,
                self.seeds.len(),
                self.seeds.len().saturating_sub(1)
            ),
            "The paper prints no μ; 10 is ours, and the last table sweeps it. At ε = ∞ the printed \
             algorithms run without noise."
                .to_owned(),
            "Nothing here is private: public data play the private part and the noise is seeded. \
             δ is the papers' and not below 1/n, which a real run refuses unless told otherwise."
                .to_owned(),
        ]
    }

    /// Copies rows that do not depend on ε, which were measured only for the first, to the others.
    fn on_every_epsilon(&self, mut table: StudyTable) -> StudyTable {
        for entry in ENTRIES.iter().filter(|entry| !entry.has_noise()) {
            for row in table.rows.iter_mut().filter(|row| row.label == entry.title) {
                for block in row.cells.chunks_mut(self.epsilons.len()) {
                    let first = block[0].clone();
                    block.fill(first);
                }
            }
        }
        table
    }

    /// A table on every ε with the goals.
    fn with_goals(&self, table: StudyTable, measure: RowMeasure) -> StudyTable {
        let mut table = self.on_every_epsilon(table);
        let problems = self.problems();
        for entry in ENTRIES {
            let goal = |column: usize| {
                let (size, epsilon) = problems[column];
                entry.goal(measure, self.dimension, size, epsilon)
            };
            table.want(entry.title, goal);
        }
        table
    }
}

/// The noise for this ε; none if it is infinite.
fn noise_of(epsilon: f64) -> RehearsalNoise {
    if epsilon.is_finite() {
        RehearsalNoise::For(Target { epsilon, delta: DELTA })
    } else {
        RehearsalNoise::None(Target { epsilon: PLENTY, delta: DELTA })
    }
}

/// M₀ = (1/n)Σ xxᵀ
pub fn second_moment(data: &Dataset) -> Matrix {
    let uniform = vec![1.0 / data.len() as f64; data.len()];
    weighted_outer_sum(&data.features, &uniform)
}

/// ‖M(q)‖₂ = ‖M₀ − Σ qᵢxᵢxᵢᵀ‖₂
pub fn moment_discrepancy(moment: &Matrix, public: &Dataset, weights: &[f64]) -> f64 {
    spectral_norm(&(moment - weighted_outer_sum(&public.features, weights)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn held_out_records_are_no_private_records_and_more_records_keep_the_first() {
        let few = RepetitionData::generate(3, 20, 5).unwrap();
        let many = RepetitionData::generate(3, 40, 5).unwrap();
        assert_eq!(few.held_out.features, many.held_out.features);
        assert_eq!(few.private.features, many.private.records(0, 20).features);
        assert_eq!((few.held_out.len(), few.private.len()), (HELD_OUT, 20));
        let judged =
            few.held_out.features.column_iter().any(|x| x == few.private.features.column(0));
        assert!(!judged);
    }

    #[test]
    fn the_discrepancy_of_a_sample_from_itself_is_nothing() {
        let data = RepetitionData::generate(3, 20, 5).unwrap();
        let moment = second_moment(&data.private);
        let uniform = vec![1.0 / 20.0; 20];
        assert!(moment_discrepancy(&moment, &data.private, &uniform) < 1e-15);
        assert!(moment_discrepancy(&moment, &data.public.records(0, 20), &uniform) > 0.01);
    }
}
