//! Decides which candidate wins, by noisy sums of losses on held-out records.
//!
//! *Sensitivity.* Replacing a held-out record changes each of the k sums by at most 1, the largest
//! loss, and so their vector by at most √k. This is attained where all losses go from 0 to 1. The
//! rounding of sums under either neighbour is counted as well.
//!
//! *The first candidate is kept* unless another is better by more than one standard deviation of
//! chance: the noise of two sums, and the choice of held-out records. The public held-out records
//! show how much losses vary from record to record.
//!
//! *Intervals* of all k candidates hold together, so they also hold for the chosen one.

use std::sync::Arc;

use super::{Basis, Decision, KeptCandidate, Placed};
use crate::data::HeldOut;
use crate::error::Result;
use crate::evaluation::law::Law;
use crate::evaluation::scoring::{ModelScorer, Scoring};
use crate::evaluation::{Judged, Score, interval};
use crate::model::Model;
use crate::numeric::rounding::summation_error;
use crate::privacy::openings::{OpenPrivate, OpenReleased};
use crate::privacy::{Gaussian, Private, Reach, Release, Released, Spender};

const LABEL: &str = "choice";

pub(super) fn sums_of(models: usize, rows: usize) -> Release<Gaussian> {
    let rounding = summation_error(rows + 8) * rows as f64;
    let sensitivity = (models as f64).sqrt() * (1.0 + f64::EPSILON + 2.0 * rounding);
    Release::new(LABEL, Gaussian { sensitivity, numbers: models })
}

pub(super) fn decide(
    models: &[Released<Model>],
    basis: &Basis,
    sums: &Release<Gaussian>,
    scoring: &Scoring,
    spender: &mut Spender,
) -> Result<Decision> {
    let Basis { kept, alone, .. } = *basis;
    let of_plans = models.iter().map(Released::get).zip(kept);
    let of_plans = of_plans.map(|(model, it)| (Judged { model, view: &it.own }, it));
    let alone = alone.map(|model| (Judged { model, view: &kept[0].alone }, &kept[0]));
    let all: Vec<(Judged, &KeptCandidate)> = of_plans.chain(alone).collect();
    let labels: Vec<_> =
        kept.iter().map(|it| |raw| it.preparation.label_from_prediction(raw)).collect();
    let needs = |place: usize| kept[place].needs(None, &labels[place]);
    let place = |index: usize| if index < kept.len() { index } else { 0 };
    let scorers = all.iter().enumerate();
    let scorers = scorers
        .map(|(index, (judged, _))| ModelScorer::new(scoring, *judged, &needs(place(index))));
    let scorers = scorers.collect::<Result<Vec<_>>>()?;
    let holdouts: Vec<Private<HeldOut>> = all.iter().map(|(_, it)| it.holdout.share()).collect();
    let rows = scoring.tally.rows;
    let total = |holdouts: &Vec<Arc<HeldOut>>| -> Vec<f64> {
        let losses = scorers.iter().zip(holdouts).map(|(scorer, holdout)| scorer.losses(holdout));
        losses.map(|losses| summed(&losses, rows)).collect()
    };
    let reach = Reach::between(0.0, rows as f64, all.len());
    let private = Private::together(&holdouts);
    let noisy = private.release_gaussian(spender, *sums, &reach, total)?;
    let law = Law::Gaussian { sd: spender.scale(sums)? };
    let tail = interval::outside(all.len());
    let largest = scoring.largest_error();
    let placed = noisy.get().iter().map(|sum| match largest {
        None => interval::share(*sum, rows, &law, tail),
        Some(largest) => {
            let mean = (sum / rows as f64).clamp(0.0, 1.0);
            // No loss in [0, 1] with this mean varies more.
            let sum = (*sum, [0.0, 1.0]);
            let score = interval::mean(sum, rows as f64, mean * (1.0 - mean), &law, tail);
            let units = |x: f64| scoring.asked.loss.error(largest, x);
            Score { value: units(score.value), low: units(score.low), high: units(score.high) }
        }
    });
    let placed = basis.names().into_iter().zip(placed);
    let placed = placed.map(|(name, error)| Placed { name, error }).collect();
    let public: Vec<Vec<f64>> = scorers
        .iter()
        .enumerate()
        .map(|(index, scorer)| scorer.losses(&kept[place(index)].public_holdout))
        .collect();
    let of_records: Vec<f64> =
        public.iter().map(|other| differing(&public[0], other, rows)).collect();
    let winner = best(noisy.get(), spender.scale(sums)?, &of_records);
    let (judged, of) = all[winner];
    // Of the winner's public datasets.
    let beside = of.public_alone.as_ref().and_then(|alone| alone.model());
    let needs = of.needs(beside.as_ref(), &labels[place(winner)]);
    let score = scoring.draw(&of.holdout, judged, &needs, spender)?.into_inner();
    // Public data alone are not compared with themselves.
    let score = if winner < models.len() { score } else { score.alone() };
    let model = match models.get(winner) {
        Some(model) => model.clone(),
        None => noisy.map(|_| judged.model.clone()),
    };
    Ok(Decision { winner, of_plan: place(winner), model, placed, score })
}

/// The candidate with the least sum; or the first one, if chance can explain why it is worse: it is
/// first because somebody expects it to be good, and by chance alone one of many is always the
/// least. `of_records` gives, for each candidate, the standard deviation of the difference between
/// its sum and the first one's, over the choice of held-out records.
fn best(sums: &[f64], noise: f64, of_records: &[f64]) -> usize {
    let order = sums.iter().enumerate();
    let least = order.min_by(|a, b| a.1.total_cmp(b.1)).map_or(0, |(index, _)| index);
    let chance = (std::f64::consts::SQRT_2 * noise).hypot(of_records[least]);
    if sums.first().is_some_and(|first| first - sums[least] <= chance) { 0 } else { least }
}

/// The standard deviation of the difference of two models' summed losses on this many records, from
/// the variation of their losses on public ones. The two are treated as independent: they mostly
/// err on the same public records, where a correction for private ones changes little, but less so
/// on the private ones.
fn differing(first: &[f64], other: &[f64], rows: usize) -> f64 {
    let variance = |losses: &[f64]| {
        let count = losses.len().max(1) as f64;
        let mean = losses.iter().sum::<f64>() / count;
        losses.iter().map(|loss| (loss - mean).powi(2)).sum::<f64>() / count
    };
    ((variance(first) + variance(other)) * rows as f64).sqrt()
}

/// The sum over this many rows; rows without a loss count with the largest one.
fn summed(losses: &[f64], rows: usize) -> f64 {
    let unused = rows.saturating_sub(losses.len()) as f64;
    let bounded = |loss: &f64| if loss.is_nan() { 1.0 } else { loss.clamp(0.0, 1.0) };
    losses.iter().map(bounded).sum::<f64>() + unused
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::privacy::openings::OpenSpender;
    use crate::privacy::{Adjacency, Allotment};

    /// How far the sums of all candidates move together.
    fn moved(one: &[Vec<f64>], other: &[Vec<f64>], rows: usize) -> f64 {
        let sums = one.iter().zip(other);
        let squares = sums.map(|(one, other)| (summed(one, rows) - summed(other, rows)).powi(2));
        squares.sum::<f64>().sqrt()
    }

    #[test]
    fn a_record_that_all_candidates_get_wrong_instead_of_right_attains_the_sensitivity() {
        for models in [2, 3, 7] {
            let before = vec![vec![0.3, 0.0, 1.0]; models];
            for after in [vec![vec![0.3, 1.0, 1.0]; models], vec![vec![0.3, 1.0]; models]] {
                let planned = sums_of(models, 3)
                    .announced(String::new(), 1, Allotment::Covered, Adjacency::ReplaceOne)
                    .query;
                let found = moved(&before, &after, 3);
                assert!((found / planned.sensitivity - 1.0).abs() < 1e-12, "{found}");
                assert_eq!(planned.size, models as u64);
            }
        }
    }

    #[test]
    fn the_first_candidate_is_kept_unless_another_is_clearly_better() {
        let alike = [0.0; 3];
        assert_eq!(best(&[10.0, 9.0, 30.0], 2.0, &alike), 0);
        assert_eq!(best(&[13.0, 9.0, 30.0], 2.0, &alike), 1);
        assert_eq!(best(&[10.0, 9.0, 3.0], 2.0, &alike), 2);
        assert_eq!(best(&[3.0, 9.0, 10.0], 2.0, &alike), 0);
        assert_eq!(best(&[10.0, 9.0], 0.0, &alike), 1);
        // Other held-out records might have decided otherwise.
        assert_eq!(best(&[13.0, 9.0, 30.0], 2.0, &[0.0, 3.0, 0.0]), 0);
        assert_eq!(best(&[13.0, 9.0, 30.0], 2.0, &[0.0, 2.0, 9.0]), 1);
    }

    #[test]
    fn sums_differ_by_chance_as_losses_on_public_records_vary() {
        let sd = differing(&[1.0, 0.0, 1.0, 0.0], &[0.0, 1.0], 100);
        assert!((sd - 50.0_f64.sqrt()).abs() < 1e-12);
        assert_eq!(differing(&[], &[0.25, 0.25], 100), 0.0);
    }

    /// The best possible attack on one release of noisy sums: its position along the only direction
    /// in which the two neighbours differ.
    #[test]
    fn the_best_attack_on_the_sums_shows_more_than_half_of_their_epsilon_and_not_more() {
        use crate::privacy::accountant::calibrate;
        use crate::privacy::{Allotment, Target};
        use halflight_dp::shown::epsilon_shown;
        let (models, rows, delta) = (3, 40, 1e-3);
        let sums = sums_of(models, rows);
        let share = Allotment::Share(1.0);
        let planned = sums.announced(String::new(), 1, share, Adjacency::ReplaceOne);
        let noise = calibrate(&[planned], Target { epsilon: 8.0, delta }).unwrap();
        let seen = |wrong: f64, seed: u64| -> f64 {
            let mut spender = Spender::rehearsal(&noise, seed);
            let reach = Reach::between(0.0, rows as f64, models);
            let exact = |(): &()| vec![20.0 + wrong; models];
            let told = Private::new(()).release_gaussian(&mut spender, sums, &reach, exact);
            told.unwrap().into_inner().iter().sum()
        };
        let worlds = [1.0, 0.0].map(|wrong| -> Vec<f64> {
            (0..20_000).map(|seed| seen(wrong, 2 * seed + wrong as u64)).collect()
        });
        let shown = epsilon_shown(delta, &worlds[0], &worlds[1]);
        assert!((4.0..=8.0).contains(&shown), "{shown} of 8");
    }

    proptest! {
        #[test]
        fn no_other_record_passes_it(
            losses in proptest::collection::vec(proptest::collection::vec(-2.0..3.0_f64, 4), 3),
            other in proptest::collection::vec(-2.0..3.0_f64, 3), useless in any::<bool>(),
        ) {
            let mut neighbour = losses.clone();
            for (losses, other) in neighbour.iter_mut().zip(other) {
                if useless { losses.pop(); } else { losses[1] = other; }
            }
            prop_assert!(moved(&losses, &neighbour, 4) <= 3.0_f64.sqrt() * (1.0 + 1e-12));
        }
    }
}
