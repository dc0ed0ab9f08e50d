//! The study of reviews: how well one kind of goods is rated where most public records are about
//! another kind, after table 2 of the paper of `CnvxAdap`.
//!
//! As there, public records are 500 reviews of one kind and 200 of the other, and 300 of the other
//! are private. Labels are −1 and 1, so that a constant answer has a mean squared error of 1.

use rand::SeedableRng;
use rand::rngs::ChaCha20Rng;
use rand::seq::SliceRandom;

use super::grid::{Grid, GridTask, Harvest, epsilon_words};
use super::labelled::{
    CNVX_ADAP, CNVX_ADAP_PRINTED, LEAST_DISCREPANCY, LabelledProblem, LabelledRow, PROFILED,
    REVIEW_SCORES, SplitModels, method,
};
use super::table::{SeedValues, StudyTable};
use super::tuned::Tuned;
use crate::data::column::Column;
use crate::data::{Dataset, Preparation, PreparationSettings, Table, Task};
use crate::error::{Error, Result};
use halflight_advice::rehearsal::Split;

const KINDS: [&str; 4] = ["books", "dvd", "electronics", "kitchen"];
/// Public reviews of the other kind and of the private kind, and private ones.
const COUNTS: [usize; 3] = [500, 200, 300];
/// Reviews of the private kind on which settings are chosen.
const VALIDATION: usize = 50;
/// Only κ₁ and α are: with so many features the others take minutes.
const TUNED_SETTINGS: usize = 2;
const EPSILONS: [f64; 3] = [4.0, 10.0, f64::INFINITY];

static ROWS: [LabelledRow; 4] = [
    CNVX_ADAP,
    CNVX_ADAP_PRINTED,
    method(PROFILED, Task::Regression, "profiled_cnvx_adap", &[]),
    LEAST_DISCREPANCY,
];

pub struct ReviewStudy {
    problem: LabelledProblem,
    table: Table,
    /// The rows of each kind.
    rows: Vec<Vec<usize>>,
    seeds: Vec<u64>,
}

impl ReviewStudy {
    /// On all reviews.
    pub fn new(table: Table, seeds: u64) -> Result<Self> {
        let kind = table.names.iter().position(|name| name == "domain");
        let Some(Column::Numbers(kinds)) = kind.map(|at| &table.columns[at]) else {
            return Err(Error::failed("the reviews have no column 'domain' of numbers"));
        };
        let of =
            |kind: usize| (0..kinds.len()).filter(|at| kinds.get(*at) == kind as f64).collect();
        let rows: Vec<Vec<usize>> = (0..KINDS.len()).map(of).collect();
        if rows
            .iter()
            .any(|rows| rows.len() <= COUNTS[1] + COUNTS[2] + VALIDATION || rows.len() < COUNTS[0])
        {
            return Err(Error::failed("a kind of goods has too few reviews"));
        }
        let problem = LabelledProblem::new(&REVIEW_SCORES, table.clone())?;
        Ok(Self { problem, table, rows, seeds: (0..seeds).collect() })
    }

    /// Source and target of every row of the table.
    fn pairs() -> Vec<(usize, usize)> {
        let all = (0..KINDS.len()).flat_map(|from| (0..KINDS.len()).map(move |to| (from, to)));
        all.filter(|(from, to)| from != to).collect()
    }

    fn columns() -> Vec<(&'static LabelledRow, f64)> {
        let of = |row: &'static LabelledRow| {
            let epsilons = if row.depends_on_epsilon() { EPSILONS.len() } else { 1 };
            EPSILONS[..epsilons].iter().map(move |epsilon| (row, *epsilon))
        };
        ROWS.iter().flat_map(of).collect()
    }

    /// A row for each ordered pair of kinds.
    pub fn grid(&self) -> Grid {
        let title = |(from, to): (usize, usize)| format!("{} → {}", KINDS[from], KINDS[to]);
        Grid::new(Self::pairs().into_iter().map(title), ["split"], &self.seeds)
    }

    /// A split, and its validation records.
    fn split(&self, (from, to): (usize, usize), seed: u64) -> Result<(Split, Dataset)> {
        let mut generator = ChaCha20Rng::seed_from_u64(seed);
        let mut order = |kind: usize| {
            let mut rows = self.rows[kind].clone();
            rows.shuffle(&mut generator);
            rows
        };
        let [others, own, private] = COUNTS;
        let (source, target) = (order(from), order(to));
        let (own, rest) = target.split_at(own);
        let (private, rest) = rest.split_at(private);
        let (validation, held_out) = rest.split_at(VALIDATION);
        let source = self.table.select(&[&source[..others], own].concat())?;
        let settings = PreparationSettings::default();
        let preparation = Preparation::fit(&source, &self.problem.definition, &settings)?;
        let (private, held_out) = (self.table.select(private)?, self.table.select(held_out)?);
        let validation = self.table.select(validation)?;
        let validation = preparation.apply_for_evaluation(&validation, "validation")?;
        let split = Split {
            public: preparation.apply(&source, "public", true)?.into(),
            private: preparation.apply(&private, "private", true)?,
            held_out: preparation.apply_for_evaluation(&held_out, "judges")?,
            preparation,
        };
        Ok((split, validation))
    }

    /// Mean squared errors, by column.
    pub fn measure(&self, place: GridTask<'_>) -> Result<Option<Vec<f64>>> {
        let (split, validation) = self.split(Self::pairs()[place.row], place.repetition)?;
        let task = self.problem.case.task;
        let tuned = Tuned::few(task, &split, &validation, TUNED_SETTINGS)?;
        let error = |(at, (row, epsilon)): (u64, (&LabelledRow, f64))| {
            let seed = place.seed().wrapping_add(at);
            let model = row.model(self.problem.case, &split, &tuned, epsilon, seed)?;
            // The file has labels 0 and 1.
            Ok(4.0 * split.measured(&model)?.error.powi(2))
        };
        (0..).zip(Self::columns()).map(error).collect::<Result<_>>().map(Some)
    }

    pub fn table(&self, harvest: &Harvest<Vec<f64>>) -> StudyTable {
        let columns = Self::columns();
        let mut table = harvest.table(
            &format!(
                "reviews · mean squared error of ±1, a constant answer = 1 · {} + {} public \
                 records, {} private · δ = {:e}",
                COUNTS[0], COUNTS[1], COUNTS[2], self.problem.case.delta
            ),
            |_| None,
        );
        table.columns = columns
            .iter()
            .map(|(row, epsilon)| {
                if row.depends_on_epsilon() {
                    format!("{}, {}", row.title, epsilon_words(*epsilon))
                } else {
                    row.title.to_owned()
                }
            })
            .collect();
        table.rows = harvest
            .grid
            .rows
            .iter()
            .enumerate()
            .map(|(at, label)| super::TableRow {
                label: label.clone(),
                cells: (0..columns.len())
                    .map(|k| SeedValues::of(harvest.of(at, 0).map(|errors| errors[k]).collect()))
                    .collect(),
            })
            .collect();
        table
    }

    /// How this differs from the paper.
    pub fn header() -> String {
        "Reviews are its table 2: as embeddings of 384 numbers, positive or negative where it has \
         stars; κ₁ and α are chosen on 50 reviews, as there, and the 450 that are left of a kind \
         judge."
            .to_owned()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use super::*;
    use crate::data::vectors::{Values, Vectors};

    /// Reviews of three numbers, the first of which is the rating with noise.
    fn reviews() -> Table {
        let (mut kinds, mut labels, mut features) = (Vec::new(), Vec::new(), Vec::new());
        for i in 0..2400_u32 {
            let label = f64::from(i / 4 % 2);
            let noise = (f64::from(i) * 7.7).sin();
            kinds.push(f64::from(i % 4));
            labels.push(label);
            features.extend([label + 0.3 * noise, noise.cos(), f64::from(i % 4)]);
        }
        let columns = vec![
            Column::Numbers(kinds.into()),
            Column::Vectors(Vectors::new(3, Values::F64(features)).unwrap()),
            Column::Numbers(labels.into()),
        ];
        let names = ["domain", "features", "labels"].map(str::to_owned).to_vec();
        Table::of_rows("reviews", names, columns).unwrap()
    }

    #[test]
    fn twelve_pairs_are_learned_from_public_and_private_reviews() {
        let study = ReviewStudy::new(reviews(), 1).unwrap();
        let (split, validation) = study.split((0, 3), 0).unwrap();
        assert_eq!(
            (split.public.len(), split.private.len(), split.held_out.len(), validation.len()),
            (700, 300, 50, 50)
        );
        let stop = AtomicBool::new(false);
        let harvest = study.grid().run(2, &stop, &mut |_| {}, |it| study.measure(it)).unwrap();
        let table = study.table(&harvest);
        assert_eq!((table.rows.len(), table.columns.len()), (12, 10));
        for row in &table.rows {
            let profiled = row.mean(7).unwrap();
            assert!(profiled > 0.0 && profiled < 0.9, "{}: {profiled}", row.label);
        }
        let few = reviews().select(&(0..800).collect::<Vec<_>>()).unwrap();
        assert!(ReviewStudy::new(few, 1).is_err());
    }
}
