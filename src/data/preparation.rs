//! From columns to bounded features, with constants that are declared or public.

use serde::{Deserialize, Serialize};

use super::Dataset;
use super::definition::DatasetDefinition;
use super::table::Table;
use crate::error::Result;

/// How features and labels are brought into bounds; part of a session's plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PreparationSettings {
    pub features: FeatureScaling,
    pub labels: LabelRange,
    /// Append a constant feature.
    pub intercept: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FeatureScaling {
    /// Public mean and standard deviation, divided by the public 95 % norm quantile, clipped to norm 1.
    Public,
    /// Taken as they are; rows are clipped to this declared norm.
    Declared(f64),
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LabelRange {
    /// Public mean ± 3 public standard deviations.
    Public,
    /// Declared lowest and highest label.
    Declared(f64, f64),
}

/// Everything that turns a raw row into model input. Fitted on public data;
/// travels with the model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Preparation {}

impl Default for PreparationSettings {
    fn default() -> Self {
        Self { features: FeatureScaling::Public, labels: LabelRange::Public, intercept: true }
    }
}

impl Preparation {
    /// Fitted on a public table.
    pub fn fit(
        _public: &Table,
        _definition: &DatasetDefinition,
        _settings: &PreparationSettings,
    ) -> Result<Self> {
        todo!()
    }
    /// Bounded features and (if `with_label`) bounded labels.
    pub fn apply(&self, _table: &Table, _name: &str, _with_label: bool) -> Result<Dataset> {
        todo!()
    }
    /// Bounded features, but labels in original units, unclipped: for evaluation.
    pub fn apply_for_evaluation(&self, _table: &Table, _name: &str) -> Result<Dataset> {
        todo!()
    }
    /// A prediction in label units.
    pub fn label_from_prediction(&self, _prediction: f64) -> f64 {
        todo!()
    }
}
