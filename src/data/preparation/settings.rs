//! The user's choices for bringing features and labels into bounds.

use serde::{Deserialize, Serialize};

/// How features and labels are brought into bounds; part of a session's plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PreparationSettings {
    /// How features are brought to one scale.
    pub features: FeatureScaling,
    /// The range of labels that are numbers.
    pub labels: LabelRange,
    /// Append a constant feature.
    pub intercept: bool,
}

/// How features are brought to one scale.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FeatureScaling {
    /// Public mean and standard deviation, divided by the public 95 % norm quantile, clipped to norm 1.
    Public,
    /// Used unchanged; rows are clipped to this declared norm.
    Declared(f64),
}

/// The range of labels that are numbers.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LabelRange {
    /// Public mean ± 3 public standard deviations, or ± 30 where the method bounds errors itself.
    Public,
    /// Declared lowest and highest label.
    Declared(f64, f64),
}

impl Default for PreparationSettings {
    fn default() -> Self {
        Self { features: FeatureScaling::Public, labels: LabelRange::Public, intercept: true }
    }
}
