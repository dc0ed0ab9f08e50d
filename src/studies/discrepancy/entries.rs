//! The rows of the study: each method, its settings, and the expected result. For printed
//! algorithms this is the result of an independent program (`assets/printed.py`), for ours it is
//! our goal.

use std::collections::BTreeMap;

use super::{DIMENSION, DiscrepancyResult, RepetitionData, moment_discrepancy, second_moment};
use crate::error::Result;
use crate::methods::Value;
use crate::methods::baselines::minimum_discrepancy::minimum_discrepancy;
use crate::methods::baselines::reference::{DEFAULT_RIDGE, source_only};
use crate::model::LinearModel;
use crate::numeric::least_squares::NormalEquations;
use crate::table::ExpectedMean;
use halflight_advice::rehearsal::{RehearsalNoise, Trial};

/// How far, relatively, a row may be from the independent program: both draw their own data.
const ALIKE: f64 = 0.1;

/// How close to the least ‖M(q)‖₂ the non-private baseline has to come.
const DM_TOLERANCE: f64 = 1e-4;

/// A row of the tables.
pub(super) struct DiscrepancyRow {
    pub title: &'static str,
    pub arm: Arm,
    /// Settings that differ from the method's defaults.
    pub settings: &'static [(&'static str, RowSetting)],
    pub wanted: &'static [RowGoal],
}

#[derive(Clone, Copy, PartialEq)]
pub(super) enum Arm {
    /// Uniform weights on the source.
    SourceOnly,
    /// The weights of least ‖M(q)‖₂, without privacy.
    MinimumDiscrepancy,
    /// Least squares on the labelled target.
    Oracle,
    Method(&'static str),
}

#[derive(Clone, Copy)]
pub(super) enum RowSetting {
    Number(f64),
    Word(&'static str),
}

/// The goal of a row in one dimension.
pub(super) struct RowGoal {
    dimension: usize,
    measure: RowMeasure,
    /// For n = 1000 and ε = 1, 4, 16, then for n = 8000; NaN means no goal.
    numbers: [f64; 6],
    /// Whether the numbers are bounds, or otherwise numbers that a reproduction should approach.
    bound: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum RowMeasure {
    Discrepancy,
    Error,
}

pub(super) const SIZES: [usize; 4] = [1000, 2000, 4000, 8000];
/// Without noise only the printed algorithms run.
pub(super) const EPSILONS: [f64; 4] = [1.0, 4.0, 16.0, f64::INFINITY];
/// The columns with goals.
const GOAL_SIZES: [usize; 2] = [1000, 8000];
const GOAL_EPSILONS: [f64; 3] = [1.0, 4.0, 16.0];
/// No goal.
const ANY: f64 = f64::NAN;

const fn at_most(dimension: usize, measure: RowMeasure, numbers: [f64; 6]) -> RowGoal {
    RowGoal { dimension, measure, numbers, bound: true }
}

const fn about(measure: RowMeasure, numbers: [f64; 6]) -> RowGoal {
    RowGoal { dimension: DIMENSION, measure, numbers, bound: false }
}

pub(super) const UNIT_BALL: (&str, RowSetting) = ("lambda", RowSetting::Number(1.0));
pub(super) const PRINTED: (&str, RowSetting) = ("mode", RowSetting::Word("as_printed"));
const ROUNDS: (&str, RowSetting) = ("rounds", RowSetting::Number(1000.0));

pub(super) static ENTRIES: &[DiscrepancyRow] = &[
    DiscrepancyRow {
        title: "public data only, uniform weights",
        arm: Arm::SourceOnly,
        settings: &[],
        wanted: &[about(RowMeasure::Discrepancy, [0.379; 6]), about(RowMeasure::Error, [9.5; 6])],
    },
    DiscrepancyRow {
        title: "minimum discrepancy (DM), no privacy",
        arm: Arm::MinimumDiscrepancy,
        settings: &[],
        wanted: &[],
    },
    DiscrepancyRow {
        title: "two-stage Frank–Wolfe as printed, μ=10, K=1000",
        arm: Arm::Method("two_stage_frank_wolfe"),
        settings: &[PRINTED, ("temperature", RowSetting::Number(10.0)), ROUNDS, UNIT_BALL],
        wanted: &[about(RowMeasure::Discrepancy, [0.372, 0.348, 0.264, 0.314, 0.203, 0.104])],
    },
    DiscrepancyRow {
        title: "two-stage Frank–Wolfe, rigorous",
        arm: Arm::Method("two_stage_frank_wolfe"),
        settings: &[UNIT_BALL],
        wanted: &[at_most(10, RowMeasure::Discrepancy, [0.17, 0.10, 0.062, 0.065, 0.043, 0.028])],
    },
    DiscrepancyRow {
        title: "mirror descent as printed, K=1000",
        arm: Arm::Method("mirror_descent"),
        settings: &[PRINTED, UNIT_BALL],
        wanted: &[about(RowMeasure::Discrepancy, [ANY, ANY, ANY, ANY, ANY, 0.243])],
    },
    DiscrepancyRow {
        title: "mirror descent, rigorous",
        arm: Arm::Method("mirror_descent"),
        settings: &[UNIT_BALL],
        wanted: &[],
    },
    DiscrepancyRow {
        title: "single-stage Frank–Wolfe as printed, K=1000",
        arm: Arm::Method("frank_wolfe"),
        settings: &[PRINTED, UNIT_BALL],
        wanted: &[about(RowMeasure::Discrepancy, [0.374, 0.362, 0.316, 0.351, 0.272, 0.152])],
    },
    DiscrepancyRow {
        title: "single-stage Frank–Wolfe, rigorous",
        arm: Arm::Method("frank_wolfe"),
        settings: &[UNIT_BALL],
        wanted: &[at_most(10, RowMeasure::Discrepancy, [0.15, 0.085, 0.032, 0.042, 0.019, 0.012])],
    },
    DiscrepancyRow {
        title: "moment release, two-stage",
        arm: Arm::Method("moment_release"),
        settings: &[UNIT_BALL],
        wanted: &[
            at_most(10, RowMeasure::Discrepancy, [0.0125, 0.005, 0.0027, 0.0028, 0.0015, 0.0011]),
            at_most(50, RowMeasure::Discrepancy, [ANY, ANY, ANY, ANY, ANY, 0.0025]),
            at_most(200, RowMeasure::Discrepancy, [ANY, ANY, ANY, ANY, ANY, 0.007]),
        ],
    },
    DiscrepancyRow {
        title: "moment release, joint",
        arm: Arm::Method("moment_release"),
        settings: &[("goal", RowSetting::Word("joint")), UNIT_BALL],
        wanted: &[],
    },
    DiscrepancyRow {
        title: "oracle: labelled target, no privacy",
        arm: Arm::Oracle,
        settings: &[],
        wanted: &[about(RowMeasure::Error, [2.6; 6])],
    },
];

impl DiscrepancyRow {
    /// Whether the row has noise; otherwise it is the same for every ε.
    pub fn has_noise(&self) -> bool {
        matches!(self.arm, Arm::Method(_))
    }

    /// Whether the row is an algorithm as printed.
    pub fn is_printed(&self) -> bool {
        self.settings.iter().any(|(key, _)| *key == PRINTED.0)
    }

    pub fn measure(
        &self,
        data: &RepetitionData,
        noise: RehearsalNoise,
        seed: u64,
    ) -> Result<DiscrepancyResult> {
        self.measure_with(data, noise, seed, &[])
    }

    /// The measures with further settings.
    pub fn measure_with(
        &self,
        data: &RepetitionData,
        noise: RehearsalNoise,
        seed: u64,
        given: &[(&str, RowSetting)],
    ) -> Result<DiscrepancyResult> {
        let uniform = 1.0 / data.public.len() as f64;
        match self.arm {
            Arm::SourceOnly => {
                let weights = vec![uniform; data.public.len()];
                let moment = second_moment(&data.private);
                let model = source_only(&data.public, DEFAULT_RIDGE)?;
                Ok(DiscrepancyResult {
                    discrepancy: Some(moment_discrepancy(&moment, &data.public, &weights)),
                    scores: data.scores_of(&model),
                    epsilon: None,
                })
            }
            Arm::MinimumDiscrepancy => {
                let moment = second_moment(&data.private);
                let minimum =
                    minimum_discrepancy(data.public.features.clone(), &moment, DM_TOLERANCE)?;
                let target = data.public.target.as_deref().unwrap_or_default();
                let weights = minimum.weights.as_slice();
                let normal = NormalEquations::weighted(&data.public.features, target, weights);
                let model = normal.in_ball(DEFAULT_RIDGE, 1.0).map(LinearModel::from);
                Ok(DiscrepancyResult {
                    discrepancy: Some(minimum.norm),
                    scores: model.and_then(|model| data.scores_of(&model)),
                    epsilon: None,
                })
            }
            Arm::Oracle => {
                let model = source_only(&data.private, DEFAULT_RIDGE)?;
                Ok(DiscrepancyResult {
                    discrepancy: None,
                    scores: data.scores_of(&model),
                    epsilon: None,
                })
            }
            Arm::Method(method) => {
                let mut rehearsal = self.rehearsal(method, data, noise, seed);
                rehearsal.settings.extend(values(given));
                let rehearsed = rehearsal.run_sealed()?;
                let proven = rehearsed.calibrated.guarantee().epsilon;
                let moment = second_moment(&data.private);
                let predictions = rehearsed.model.numbers(&data.held_out.features);
                Ok(DiscrepancyResult {
                    discrepancy: Some(moment_discrepancy(
                        &moment,
                        &data.public,
                        rehearsed.weights()?,
                    )),
                    scores: predictions.and_then(|predictions| data.scores(&predictions)),
                    epsilon: Some(proven).filter(|_| matches!(noise, RehearsalNoise::For(_))),
                })
            }
        }
    }

    pub fn rehearsal<'a>(
        &self,
        method: &'a str,
        data: &'a RepetitionData,
        noise: RehearsalNoise,
        seed: u64,
    ) -> Trial<'a> {
        let settings = self.settings();
        let (public, private) = (&data.public, &data.private);
        Trial { settings, ..Trial::new(method, public, private, noise, seed) }
    }

    fn settings(&self) -> BTreeMap<String, Value> {
        values(self.settings).collect()
    }

    pub fn goal(
        &self,
        measure: RowMeasure,
        dimension: usize,
        size: usize,
        epsilon: f64,
    ) -> Option<ExpectedMean> {
        let goal = self
            .wanted
            .iter()
            .find(|goal| goal.measure == measure && goal.dimension == dimension)?;
        let block = GOAL_SIZES.iter().position(|known| *known == size)?;
        let place = GOAL_EPSILONS.iter().position(|known| *known == epsilon)?;
        let number = goal.numbers[block * GOAL_EPSILONS.len() + place];
        let wanted = if goal.bound {
            ExpectedMean::AtMost(number)
        } else {
            ExpectedMean::About(number, ALIKE)
        };
        (!number.is_nan()).then_some(wanted)
    }
}

fn values(given: &[(&str, RowSetting)]) -> impl Iterator<Item = (String, Value)> {
    given.iter().map(|(key, setting)| {
        let value = match setting {
            RowSetting::Number(number) => Value::Number(*number),
            RowSetting::Word(word) => Value::Text((*word).to_owned()),
        };
        ((*key).to_owned(), value)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::methods;

    #[test]
    fn every_row_names_a_method_and_settings_that_it_has() {
        for entry in ENTRIES {
            let Arm::Method(id) = entry.arm else { continue };
            let given = entry.settings();
            methods::method(id).unwrap().spec().check(&given).unwrap();
            assert_eq!(given.len(), entry.settings.len(), "{}", entry.title);
        }
    }

    #[test]
    fn titles_tell_rows_apart() {
        let titles: std::collections::BTreeSet<_> = ENTRIES.iter().map(|e| e.title).collect();
        assert_eq!(titles.len(), ENTRIES.len());
    }

    #[test]
    fn a_goal_belongs_to_its_column_and_dimension() {
        let release = ENTRIES.iter().find(|e| e.title == "moment release, two-stage").unwrap();
        let goal =
            |dimension, n, epsilon| release.goal(RowMeasure::Discrepancy, dimension, n, epsilon);
        assert_eq!(goal(10, 1000, 16.0), Some(ExpectedMean::AtMost(0.0027)));
        assert_eq!(goal(10, 8000, 1.0), Some(ExpectedMean::AtMost(0.0028)));
        assert_eq!(goal(50, 8000, 16.0), Some(ExpectedMean::AtMost(0.0025)));
        assert_eq!(goal(50, 8000, 4.0), None);
        assert_eq!(goal(10, 8000, 2.0), None);
        assert_eq!(goal(11, 8000, 1.0), None);
    }
}
