//! The penalty d̂ on public records: declared, or released from the data.

use super::labelled_discrepancy::{Risk, discrepancy, largest_loss, sensitivity};
use crate::data::Bounds;
use crate::prelude::*;
use crate::privacy::Laplace;
use crate::privacy::openings::{OpenPrivate, OpenReleased};

const DISCREPANCY: &str = "discrepancy";

/// The source of a method's penalty d̂ on public records.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum PenaltySource {
    /// Known without looking at the private data.
    Declared(f64),
    /// Measured on the private data, in a ball of this radius around a model, with this noise.
    Released { radius: f64, noise: PenaltyNoise },
}

/// The noise of a released penalty.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum PenaltyNoise {
    /// For this share of the budget.
    Share(f64),
    /// Of scale 2B/(εn), for ε/2.
    AsPrinted { epsilon: f64 },
}

choices! {
    pub enum PenaltyFrom { Declared = "declared", Released = "released" }
}

/// The settings that [`PenaltySource::of`] takes.
pub(super) const SOURCE_FIELD: Setting<PenaltyFrom> =
    PenaltyFrom::or(PenaltyFrom::Declared).named("penalty from", "").help(
        "Where the public penalty d̂ comes from: declared (the number given here), or released \
         (the labelled discrepancy of the data around the public solution, under Laplace noise, \
         for a share of the budget; as_printed, of all models in the ball, with the printed noise).",
    );
pub(super) const PENALTY_FIELD: Setting<f64> =
    real(0.0, 4.0, 0.0).named("public penalty d̂", "squared loss").help(
        "Added to the loss of every public record before it is weighted, where it is declared: a \
         known discrepancy between public and private data. It must be known without looking at \
         the private data.",
    );
pub(super) const RADIUS_FIELD: Setting<f64> =
    real(0.0, 100.0, 0.1).named("discrepancy radius", "norm of weights").help(
        "A released penalty is the largest difference of losses this close to the public \
         solution. Far away it is dominated by models that nobody would use.",
    );
pub(super) const SHARE_FIELD: Setting<f64> = real(0.001, 0.9, 0.05)
    .named("discrepancy's share", "share of budget")
    .help("What a released penalty may cost of the budget.");

impl PenaltySource {
    pub(super) fn of(from: PenaltyFrom, declared: f64, radius: f64, share: f64) -> Self {
        match from {
            PenaltyFrom::Declared => Self::Declared(declared),
            PenaltyFrom::Released => Self::Released { radius, noise: PenaltyNoise::Share(share) },
        }
    }

    /// The release, if any, and its place in the plan.
    pub(super) fn release(
        self,
        shape: &ProblemShape,
        centre: &Vector,
    ) -> Result<Option<(PlannedRelease, ReleasedPenalty)>> {
        let Self::Released { radius, noise } = self else { return Ok(None) };
        if shape.most_records > 1 {
            return Err(Error::usage(
                "a released penalty is for single records, and this private dataset protects \
                 persons with several",
            )
            .cure("set `penalty_from: \"declared\"`"));
        }
        let sensitivity = sensitivity(shape, centre, radius);
        let release = Release::new(DISCREPANCY, Laplace { sensitivity, numbers: 1 });
        let (of, noise) = match noise {
            PenaltyNoise::Share(share) => ("the public solution", Allotment::Share(share)),
            PenaltyNoise::AsPrinted { epsilon } => {
                let largest = largest_loss(shape.bounds, centre, radius);
                let scale = 2.0 * largest / (epsilon * shape.private_records as f64);
                ("zero", Allotment::AsPrinted(scale))
            }
        };
        let what = format!("the labelled discrepancy within {radius} of {of}, once");
        let announced = release.announced(what, 1, noise, Adjacency::ReplaceOne);
        let (centre, bounds) = (centre.clone(), shape.bounds);
        Ok(Some((announced, ReleasedPenalty { release, centre, radius, bounds })))
    }

    /// d̂, or 0 until it is drawn.
    pub(super) fn declared(self) -> f64 {
        match self {
            Self::Declared(penalty) => penalty,
            Self::Released { .. } => 0.0,
        }
    }

    /// The share of the budget for the method's other releases.
    pub(super) fn remaining_share(self) -> f64 {
        match self {
            Self::Released { noise: PenaltyNoise::Share(share), .. } => 1.0 - share,
            Self::Declared(_) | Self::Released { .. } => 1.0,
        }
    }
}

/// A penalty that is still to be drawn.
#[derive(Debug, Clone)]
pub(super) struct ReleasedPenalty {
    release: Release<Laplace>,
    centre: Vector,
    radius: f64,
    bounds: Bounds,
}

impl ReleasedPenalty {
    /// `data`: the records as a dataset.
    pub(super) fn draw<R, F: ExampleColumns>(
        self,
        spender: &mut Spender,
        public: &PublicData,
        private: &Private<R>,
        data: fn(&R) -> &Dataset<F>,
    ) -> Result<Released<f64>> {
        let Self { release, centre, radius, bounds } = self;
        let theirs = Risk::of(public).ok_or_else(|| {
            Error::failed("the labelled discrepancy needs labels").cure("choose the label column")
        })?;
        let largest = largest_loss(bounds, &centre, radius);
        let query = |records: &R| {
            let ours = Risk::bounded(data(records), bounds);
            let value = ours.and_then(|ours| discrepancy(&ours, &theirs, &centre, radius));
            vec![value.unwrap_or(0.0).clamp(0.0, largest)]
        };
        let reach = Reach::between(0.0, largest, 1);
        let noisy = private.release_laplace(spender, release, &reach, query)?;
        // A penalty cannot be negative, nor larger than any loss.
        Ok(noisy.map(|noisy| noisy.first().map_or(0.0, |d| d.clamp(0.0, largest))))
    }
}
