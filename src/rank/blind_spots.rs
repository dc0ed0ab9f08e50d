//! Differences that gradients with random labels cannot see.
//!
//! They ignore the labels and, with linear or tanh models on [−1, 1], even an inversion of the
//! inputs. So each candidate is also compared with the private data in three other ways:
//!
//! * the unlabelled discrepancy 4Λ²‖M₀ − M_pub‖₂ of the second moments;
//! * the labelled discrepancy of a regression, in a ball of radius Λ around the candidate's own
//!   ridge solution (over the whole ball it says nothing);
//! * the *zero-shot* score: the score of a [model of the candidate alone](super::public_models) on
//!   the private records.
//!
//! All three are exact, so they are only for the curator.

use std::sync::Arc;

use super::candidate_line::Alongside;
use super::candidates::{Candidate, Lineup};
use super::public_models::PublicModel;
use super::records::LOOKED_AT;
use super::settings::RankingSettings;
use crate::adapt::baselines::reference::{DEFAULT_RIDGE, source_only};
use crate::adapt::labelled::labelled_discrepancy::{Risk, discrepancy};
use crate::data::Dataset;
use crate::model::LinearModel;
use crate::numeric::symmetric::{spectral_norm, weighted_outer_sum};
use crate::numeric::{Matrix, Vector};
use crate::privacy::{CuratorOnly, Private, Watch};

/// `None` under a sealed watch.
pub fn of(
    candidate: &Candidate,
    lineup: &Lineup,
    settings: &RankingSettings,
    private: &Private<Arc<Dataset>>,
    watch: &Watch,
) -> Option<CuratorOnly<Alongside>> {
    let some = candidate.data.as_ref().ok().and_then(|it| it.some(LOOKED_AT, settings.seed).ok());
    let Some(data) = some.as_deref() else {
        return private.curator(watch, |_| Alongside::default());
    };
    let moment = moment(data);
    let source = source_only(data, DEFAULT_RIDGE).ok();
    let own = PublicModel::of(data, lineup.classes(), settings.seed).ok();
    let constant = PublicModel::constant(data).ok();
    private.curator(watch, |private| Alongside {
        unlabelled: Some(
            4.0 * settings.radius.powi(2) * spectral_norm(&(self::moment(private) - &moment)),
        ),
        labelled: labelled(private, data, source.as_ref(), settings.radius),
        losses: own.as_ref().zip(constant.as_ref()).and_then(|(own, constant)| {
            let private = private.thinned(0, LOOKED_AT);
            Some((own.losses(&private)?, constant.losses(&private)?))
        }),
    })
}

fn moment(data: &Dataset) -> Matrix {
    weighted_outer_sum(&data.features, &vec![1.0 / data.len() as f64; data.len()])
}

fn labelled(
    private: &Dataset,
    public: &Dataset,
    source: Option<&LinearModel>,
    radius: f64,
) -> Option<f64> {
    let centre = Vector::from_column_slice(&source?.weights);
    discrepancy(&Risk::of(private)?, &Risk::of(public)?, &centre, radius)
}
