//! Differences that gradients with random labels cannot see.
//!
//! They ignore the labels and, with linear or tanh models on [−1, 1], even an inversion of the
//! inputs. So each candidate is also compared with the private data in other ways:
//!
//! * the unlabelled discrepancy 4Λ²‖M₀ − M_pub‖₂ of the second moments;
//! * the labelled discrepancy of a regression, in a ball of radius Λ around the candidate's own
//!   ridge solution (over the whole ball it says nothing);
//! * the *zero-shot* score: the score of a [model of the candidate alone](super::public_models) on
//!   the private records;
//! * on request the distance by [Task2Vec](super::task2vec).
//!
//! All are exact, so they are only for the curator.

use super::candidate_line::{Alongside, Mean};
use super::candidates::{Candidate, RankingSetup};
use super::public_models::PublicModel;
use super::records::{LOOKED_AT, Supply};
use super::settings::RankingSettings;
use super::task2vec::TaskEmbedding;
use crate::data::Dataset;
use crate::error::Result;
use crate::methods::baselines::reference::{DEFAULT_RIDGE, source_only};
use crate::methods::labelled::labelled_discrepancy::{Risk, discrepancy};
use crate::model::LinearModel;
use crate::numeric::symmetric::{outer_sum, spectral_norm};
use crate::numeric::{Matrix, Vector};
use crate::privacy::openings::OpenPrivate;
use crate::privacy::{CuratorOnly, Private, Watch};

/// What is compared with every candidate.
pub struct PrivateSide {
    /// Some of the records.
    some: Dataset,
    moment: Matrix,
    /// `None` without labels.
    risk: Option<Risk>,
    /// `None` unless Task2Vec is asked for.
    embedding: Option<TaskEmbedding>,
}

impl PrivateSide {
    /// Reads all records once.
    pub fn of(records: &Supply, settings: &RankingSettings) -> Result<Self> {
        let mut moment = Matrix::zeros(records.dimension(), records.dimension());
        let mut risk = None;
        records.in_blocks(0..records.len(), |_, block| {
            let share = block.len() as f64 / records.len() as f64;
            moment += second_moment(block, share);
            risk = Risk::of(block).map(|own| own.times(share).plus(risk.take()));
            Ok(())
        })?;
        let some = records.thinned(LOOKED_AT)?;
        let embedding = embedding(&some, settings);
        Ok(Self { some, moment, risk, embedding })
    }
}

/// `None` under a sealed watch.
pub fn of(
    candidate: &Candidate,
    setup: &RankingSetup,
    settings: &RankingSettings,
    private: &Private<PrivateSide>,
    watch: &Watch,
) -> Result<Option<CuratorOnly<Alongside>>> {
    let Ok(supply) = &candidate.data else {
        // Its own line says what is wrong with it.
        return Ok(private.curator(watch, |_| Alongside::default()));
    };
    let some = supply.some(LOOKED_AT, settings.seed);
    let data = &*some.map_err(|error| error.within(&candidate.name))?;
    let moment = second_moment(data, 1.0);
    let source = source_only(data, DEFAULT_RIDGE).ok();
    let own = PublicModel::of(data, setup.classes, settings.seed).ok();
    let embedding = embedding(data, settings);
    Ok(private.curator(watch, |private| {
        let task2vec = private.embedding.as_ref().zip(embedding.as_ref());
        let losses = own.as_ref().and_then(|own| {
            // The best constant answer for these records, whatever is usual in public ones.
            let constant = PublicModel::constant(&private.some).ok()?;
            let range = setup.label_range.unwrap_or(1.0);
            let errors = |model: &PublicModel| -> Option<Vec<f64>> {
                Some(model.losses(&private.some)?.into_iter().map(|loss| range * loss).collect())
            };
            Some((errors(own)?, errors(&constant)?))
        });
        Alongside {
            unlabelled: Some(
                4.0 * settings.radius.powi(2) * spectral_norm(&(&private.moment - &moment)),
            ),
            labelled: labelled(private, data, source.as_ref(), settings.radius),
            task2vec: task2vec.and_then(|(own, theirs)| own.distance(theirs)),
            error: losses.as_ref().map(|(own, _)| Mean::with_standard_error(own)),
            losses,
        }
    }))
}

/// `None` unless it is asked for, or where there is none.
fn embedding(data: &Dataset, settings: &RankingSettings) -> Option<TaskEmbedding> {
    settings.task2vec.then(|| TaskEmbedding::of(data, settings).ok().flatten()).flatten()
}

/// The second moment of records that are this share of all.
fn second_moment(data: &Dataset, share: f64) -> Matrix {
    let weight = share / data.len() as f64;
    outer_sum(&data.features, |_| weight)
}

fn labelled(
    private: &PrivateSide,
    public: &Dataset,
    source: Option<&LinearModel>,
    radius: f64,
) -> Option<f64> {
    let centre = Vector::from_column_slice(&source?.weights);
    discrepancy(private.risk.as_ref()?, &Risk::of(public)?, &centre, radius)
}
