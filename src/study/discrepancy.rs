//! The study of unlabelled adaptation: the papers' synthetic setup, every method, six
//! pairs of a number of private records and an ε, and what the project's issue wants of
//! each.
//!
//! Measured are ‖M(q)‖₂ of the returned weights on the *exact* second moment of the
//! target, and the returned model's mean squared error on target records that no method
//! saw: what a study on public data may do and a run on private data may not.

use std::collections::BTreeMap;

use super::grid::{Grid, Harvest, Place};
use super::rehearsal::{Noise, Rehearsal};
use super::table::{Content, Row, Table, Wanted};
use crate::adapt::Value;
use crate::adapt::baseline::{self, DEFAULT_RIDGE};
use crate::data::Dataset;
use crate::data::synthetic::{self, DEFAULT_MIXTURE, Part};
use crate::error::Result;
use crate::model::LinearModel;
use crate::numeric::Matrix;
use crate::numeric::symmetric::{spectral_norm, weighted_outer_sum};
use crate::plot::{Figure, Mark, Panel, Point, Scale, Series, Side};
use crate::privacy::Target;

/// m
pub const PUBLIC_RECORDS: usize = 1000;
/// The papers' δ, which is not below 1/n.
pub const DELTA: f64 = 1.0 / 8000.0;
/// The dimension of the papers' setup.
pub const DIMENSION: usize = 10;
/// Target records that judge models and that no method gets.
const JUDGES: usize = 8000;
/// How far a reproduction may be from a printed method's number: our data are a
/// reconstruction.
const ALIKE: f64 = 0.1;

/// What is tried, on which problems.
#[derive(Debug, Clone, PartialEq)]
pub struct Study {
    /// d
    pub dimension: usize,
    /// n
    pub sizes: Vec<usize>,
    pub epsilons: Vec<f64>,
    pub seeds: Vec<u64>,
}

/// One method on one problem.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    /// ‖M(q)‖₂
    pub discrepancy: Option<f64>,
    /// Mean squared error on unseen target records.
    pub error: Option<f64>,
    /// What the accountant proves, of methods that look at the target.
    pub epsilon: Option<f64>,
}

/// A row of the tables.
struct Entry {
    title: &'static str,
    arm: Arm,
    /// Settings that differ from the method's defaults.
    settings: &'static [(&'static str, Setting)],
    wanted: &'static [Wish],
}

#[derive(Clone, Copy, PartialEq)]
enum Arm {
    /// Uniform weights on the source.
    SourceOnly,
    /// Least squares on the labelled target.
    Oracle,
    Method(&'static str),
}

#[derive(Clone, Copy)]
enum Setting {
    Number(f64),
    Word(&'static str),
}

/// What the issue wants of a row in one dimension.
struct Wish {
    dimension: usize,
    measure: Measure,
    /// For n = 1000 and ε = 1, 4, 16, then for n = 8000; NaN: nothing is wanted.
    numbers: [f64; 6],
    /// A bound, or else a number that a reproduction should come near.
    bound: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Measure {
    Discrepancy,
    Error,
}

const SIZES: [usize; 2] = [1000, 8000];
const EPSILONS: [f64; 3] = [1.0, 4.0, 16.0];
/// No wish.
const ANY: f64 = f64::NAN;

const fn at_most(dimension: usize, measure: Measure, numbers: [f64; 6]) -> Wish {
    Wish { dimension, measure, numbers, bound: true }
}

const fn about(measure: Measure, numbers: [f64; 6]) -> Wish {
    Wish { dimension: DIMENSION, measure, numbers, bound: false }
}

static ENTRIES: &[Entry] = &[
    Entry {
        title: "source-only, uniform weights",
        arm: Arm::SourceOnly,
        settings: &[],
        wanted: &[about(Measure::Discrepancy, [0.381; 6]), about(Measure::Error, [9.5; 6])],
    },
    Entry {
        title: "moment release, two-stage",
        arm: Arm::Method("moment_release"),
        settings: &[("lambda", Setting::Number(1.0))],
        wanted: &[
            at_most(10, Measure::Discrepancy, [0.0125, 0.005, 0.0027, 0.0028, 0.0015, 0.0011]),
            at_most(50, Measure::Discrepancy, [ANY, ANY, ANY, ANY, ANY, 0.0025]),
            at_most(200, Measure::Discrepancy, [ANY, ANY, ANY, ANY, ANY, 0.007]),
        ],
    },
    Entry {
        title: "oracle: labelled target, no privacy",
        arm: Arm::Oracle,
        settings: &[],
        wanted: &[about(Measure::Error, [2.6; 6])],
    },
];

/// The data of one repetition.
struct Data {
    public: Dataset,
    /// The target in the private role.
    private: Dataset,
    judges: Dataset,
}

impl Data {
    fn generate(dimension: usize, size: usize, seed: u64) -> Result<Self> {
        let part = |part, rows| synthetic::dataset(part, rows, dimension, DEFAULT_MIXTURE, seed);
        let public = part(Part::Source, PUBLIC_RECORDS)?;
        // More private records continue the same stream, so the judges come first.
        let target = part(Part::Target, JUDGES + size)?;
        Ok(Self {
            public,
            private: target.records(JUDGES, size),
            judges: target.records(0, JUDGES),
        })
    }

    fn error(&self, predictions: &[f64]) -> Option<f64> {
        let target = self.judges.target.as_ref()?;
        let errors = predictions.iter().zip(target).map(|(p, y)| (p - y).powi(2));
        Some(errors.sum::<f64>() / target.len() as f64)
    }

    fn error_of(&self, model: &LinearModel) -> Option<f64> {
        self.error(&model.predict(&self.judges.features))
    }
}

impl Entry {
    fn measure(&self, data: &Data, noise: Noise, seed: u64) -> Result<Measured> {
        let uniform = 1.0 / data.public.len() as f64;
        match self.arm {
            Arm::SourceOnly => {
                let weights = vec![uniform; data.public.len()];
                let moment = second_moment(&data.private);
                let model = baseline::source_only(&data.public, DEFAULT_RIDGE)?;
                Ok(Measured {
                    discrepancy: Some(moment_discrepancy(&moment, &data.public, &weights)),
                    error: data.error_of(&model),
                    epsilon: None,
                })
            }
            Arm::Oracle => {
                let model = baseline::source_only(&data.private, DEFAULT_RIDGE)?;
                Ok(Measured { discrepancy: None, error: data.error_of(&model), epsilon: None })
            }
            Arm::Method(method) => {
                let rehearsed = self.rehearsal(method, data, noise, seed).run()?;
                let moment = second_moment(&data.private);
                let predictions = rehearsed.model.numbers(&data.judges.features);
                Ok(Measured {
                    discrepancy: Some(moment_discrepancy(
                        &moment,
                        &data.public,
                        rehearsed.weights()?,
                    )),
                    error: predictions.and_then(|predictions| data.error(&predictions)),
                    epsilon: Some(rehearsed.calibrated.guarantee.epsilon),
                })
            }
        }
    }

    fn rehearsal<'a>(
        &self,
        method: &'a str,
        data: &'a Data,
        noise: Noise,
        seed: u64,
    ) -> Rehearsal<'a> {
        let value = |setting| match setting {
            Setting::Number(number) => Value::Number(number),
            Setting::Word(word) => Value::Text(word.to_owned()),
        };
        let settings: BTreeMap<_, _> = self
            .settings
            .iter()
            .map(|(key, setting)| ((*key).to_owned(), value(*setting)))
            .collect();
        let (public, private) = (&data.public, &data.private);
        Rehearsal { method, settings, public, private, noise, seed }
    }

    fn wish(
        &self,
        measure: Measure,
        dimension: usize,
        size: usize,
        epsilon: f64,
    ) -> Option<Wanted> {
        let wish = self
            .wanted
            .iter()
            .find(|wish| wish.measure == measure && wish.dimension == dimension)?;
        let block = SIZES.iter().position(|known| *known == size)?;
        let place = EPSILONS.iter().position(|known| *known == epsilon)?;
        let number = wish.numbers[block * EPSILONS.len() + place];
        let wanted = if wish.bound { Wanted::AtMost(number) } else { Wanted::About(number, ALIKE) };
        (!number.is_nan()).then_some(wanted)
    }
}

impl Study {
    /// The whole table.
    pub fn full(dimension: usize, seeds: u64) -> Self {
        Self {
            dimension,
            sizes: SIZES.to_vec(),
            epsilons: EPSILONS.to_vec(),
            seeds: (0..seeds).collect(),
        }
    }

    /// Its corners.
    pub fn quick(dimension: usize, seeds: u64) -> Self {
        Self { epsilons: vec![EPSILONS[0], EPSILONS[2]], ..Self::full(dimension, seeds) }
    }

    /// (n, ε) of every column.
    fn problems(&self) -> Vec<(usize, f64)> {
        let sizes = self.sizes.iter();
        sizes.flat_map(|n| self.epsilons.iter().map(move |epsilon| (*n, *epsilon))).collect()
    }

    pub fn grid(&self) -> Grid {
        let columns = self.problems().into_iter().map(|(n, epsilon)| format!("n={n} ε={epsilon}"));
        Grid {
            rows: ENTRIES.iter().map(|entry| entry.title.to_owned()).collect(),
            columns: columns.collect(),
            seeds: self.seeds.clone(),
        }
    }

    /// The task of [`Study::grid`]. Rows share their data, so their differences are sharp;
    /// they do not share their noise.
    pub fn measure(&self, place: Place<'_>) -> Result<Option<Measured>> {
        let (size, epsilon) = self.problems()[place.column];
        let data = Data::generate(self.dimension, size, place.repetition)?;
        let noise = Noise::For(Target { epsilon, delta: DELTA });
        ENTRIES[place.row].measure(&data, noise, place.seed()).map(Some)
    }

    /// Discrepancy, error and proven ε, each against what is wanted.
    pub fn tables(&self, harvest: &Harvest<Measured>) -> Vec<Table> {
        let discrepancy = harvest
            .table("‖M(q)‖₂ of the returned weights on the exact target moment", |measured| {
                measured.discrepancy
            });
        let error = harvest
            .table("Mean squared error on unseen target records, × 10⁴", |measured| {
                Some(measured.error? * 1e4)
            });
        let epsilon = harvest.table(
            &format!("ε that the accountant proves at δ = 1/{:.0}, replace-one", 1.0 / DELTA),
            |measured| measured.epsilon,
        );
        let mut tables = vec![
            self.with_wishes(discrepancy, Measure::Discrepancy),
            self.with_wishes(error, Measure::Error),
            Table { content: Content::Privacy, ..epsilon },
        ];
        tables.retain(|table| !table.rows.is_empty());
        tables
    }

    /// What a reader of the tables must know.
    pub fn header(&self) -> Vec<String> {
        vec![
            format!(
                "halflight {} · reproduce discrepancy · synthetic source and target after the \
                 papers' description (a reconstruction)",
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
            "Nothing here is private: public data play the private part and the noise is seeded. \
             δ is the papers' and not below 1/n, which a real run refuses unless told otherwise."
                .to_owned(),
        ]
    }

    /// Discrepancy and error against ε, a panel for every n.
    pub fn figures(&self, harvest: &Harvest<Measured>) -> Vec<(String, Figure)> {
        let tables = self.tables(harvest);
        let titles = ["discrepancy.svg", "error.svg"];
        let labels = ["‖M(q)‖₂, lower is better", "mean squared error × 10⁴, lower is better"];
        let scales = [Scale::Log, Scale::Linear];
        let measured = tables.iter().filter(|table| table.content == Content::Measurements);
        let figures = measured.zip(titles).zip(labels.into_iter().zip(scales));
        figures
            .map(|((table, name), (label, scale))| {
                (name.to_owned(), self.figure(table, label, scale))
            })
            .collect()
    }

    fn figure(&self, table: &Table, label: &str, scale: Scale) -> Figure {
        let problems = self.problems();
        let series = |row: &Row, size: usize| {
            let columns = problems.iter().zip(&row.cells).filter(|((n, _), _)| *n == size);
            let points = columns.filter_map(|((_, epsilon), cell)| {
                Some(Point { x: *epsilon, y: cell.mean()?, spread: cell.deviation() })
            });
            let private = ENTRIES
                .iter()
                .any(|entry| entry.title == row.label && matches!(entry.arm, Arm::Method(_)));
            let mark = if private { Mark::Line } else { Mark::Level };
            Series { name: row.label.clone(), mark, points: points.collect() }
        };
        let panel = |size: &usize| Panel {
            title: format!("n = {size}"),
            horizontal: Side::log("ε").at(&self.epsilons),
            series: table.rows.iter().map(|row| series(row, *size)).collect(),
        };
        Figure {
            title: table.title.clone(),
            note: format!(
                "d = {}, m = {PUBLIC_RECORDS}, δ = 1/{:.0}; mean ± sd over {} seeds. Seeded noise on \
                 public data: not private.",
                self.dimension,
                1.0 / DELTA,
                self.seeds.len()
            ),
            vertical: Side { scale, ..Side::linear(label) },
            panels: self.sizes.iter().map(panel).collect(),
        }
    }

    fn with_wishes(&self, mut table: Table, measure: Measure) -> Table {
        let problems = self.problems();
        for entry in ENTRIES {
            let wish = |column: usize| {
                let (size, epsilon) = problems[column];
                entry.wish(measure, self.dimension, size, epsilon)
            };
            table.want(entry.title, wish);
        }
        table
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
