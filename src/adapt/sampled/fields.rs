//! Settings that several methods have, and what they come to.

use super::design::PlannedDesign;
use super::rounding;
use crate::adapt::plan::GRADIENT;
use crate::adapt::spec::{Field, FieldKind};
use crate::adapt::{Plan, ProblemShape, Settings};
use crate::error::{Error, Result};
use crate::privacy::accountant::PlannedMechanism;
use crate::privacy::{Adjacency, Allotment, PlannedRelease};

/// Records that a sample has on average where nothing else is said.
const USUAL_BATCH: usize = 512;

pub const BATCH: Field = Field {
    key: "batch",
    name: "batch",
    unit: "records",
    help: "Private records that a step uses on average: each is drawn with probability batch/n. \
           Automatic takes 512, or all if there are fewer.",
    kind: FieldKind::Automatic { whole: true, max: 1e7 },
};
pub const CLIP: Field = Field {
    key: "clip",
    name: "clip C",
    unit: "norm of gradient",
    help: "Every record's gradient is clipped to this norm. Noise grows with it; under most \
           gradients' length it makes records that are learned already count for less.",
    kind: FieldKind::Real { min: 1e-6, max: 1e6, default: 0.5 },
};
pub const LEARNING_RATE: Field = Field {
    key: "learning_rate",
    name: "learning rate",
    unit: "",
    help: "Step along the noisy mean gradient. Automatic follows the plan: the less noise its \
           steps gather, the longer they are.",
    kind: FieldKind::Automatic { whole: false, max: 1e6 },
};
pub const MOMENTUM: Field = Field {
    key: "momentum",
    name: "momentum",
    unit: "",
    help: "Share of the last step that the next one keeps; lower a learning rate of your own \
           with it.",
    kind: FieldKind::Real { min: 0.0, max: 0.999, default: 0.0 },
};
pub const AVERAGE: Field = Field {
    key: "average",
    name: "averaged tail",
    unit: "share of steps",
    help: "The model is the mean of this share of the steps, counted from the last; 0 takes the \
           last step alone.",
    kind: FieldKind::Real { min: 0.0, max: 1.0, default: 0.25 },
};
pub const UNITS: Field = Field {
    key: "units",
    name: "hidden units",
    unit: "",
    help: "Of the network with a hidden layer.",
    kind: FieldKind::Whole { min: 1, max: 10_000, default: 32 },
};
pub const CHANNELS: Field = Field {
    key: "channels",
    name: "image channels",
    unit: "",
    help: "Of the convolutional network: 1 for grey images, 3 for colours, one channel after the \
           other.",
    kind: FieldKind::Whole { min: 1, max: 64, default: 1 },
};
pub const HEIGHT: Field = Field {
    key: "height",
    name: "image height",
    unit: "pixels",
    help: "Of the convolutional network. Automatic takes square images.",
    kind: FieldKind::Automatic { whole: true, max: 10_000.0 },
};

pub const fn steps(default: u64) -> Field {
    Field {
        key: "steps",
        name: "steps T",
        unit: "gradients",
        help: "Noisy gradient steps. The noise per step grows with the square root of their \
               number.",
        kind: FieldKind::Whole { min: 1, max: 100_000, default },
    }
}

pub const fn model(default: &'static str) -> Field {
    Field {
        key: "model",
        name: "model",
        unit: "",
        help: "Softmax regression, a network with one hidden layer of tanh units, or a small \
               convolutional network for images.",
        kind: FieldKind::Choice { options: &["softmax", "hidden_layer", "probe_cnn"], default },
    }
}

/// Records that a sample has on average, where the settings say it.
pub fn members_on_average(shape: &ProblemShape, settings: &Settings) -> Result<Option<usize>> {
    let (wanted, all) = (settings.whole("batch")? as usize, shape.private_records);
    if wanted > all {
        return Err(Error::usage(format!(
            "a batch of {wanted} records is more than the {all} private training records"
        ))
        .cure(format!("choose a batch of at most {all}, or 0 for automatic")));
    }
    Ok((wanted > 0).then_some(wanted))
}

/// The same, or what is usual.
pub fn batch(shape: &ProblemShape, settings: &Settings) -> Result<usize> {
    let usual = USUAL_BATCH.min(shape.private_records);
    Ok(members_on_average(shape, settings)?.unwrap_or(usual))
}

/// A plan of one clipped sum in each step.
pub fn plan(shape: &ProblemShape, settings: &Settings, design: &PlannedDesign) -> Result<Plan> {
    let (clip, steps) = (settings.number("clip")?, settings.whole("steps")?);
    let batch = batch(shape, settings)?;
    let parameters = design.trained;
    let gradient = PlannedRelease {
        label: GRADIENT,
        what: format!(
            "the sum of clipped gradients over a Poisson sample of about {batch} records, \
             {parameters} numbers in each step"
        ),
        mechanism: PlannedMechanism::SubsampledGaussian {
            l2_sensitivity: clip * (1.0 + rounding(shape.private_records, parameters)),
            coordinates: parameters as u64,
            rate: batch as f64 / shape.private_records as f64,
        },
        count: steps,
        noise: Allotment::Share(1.0),
        adjacency: Adjacency::ZeroOut,
    };
    Ok(Plan {
        releases: vec![gradient],
        steps,
        signal: clip * batch as f64,
        warnings: design.remarks.clone(),
        explained: None,
    })
}
