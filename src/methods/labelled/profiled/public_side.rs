//! The public side of the objective: a weight for each record, or one for each dataset.
//!
//! If all mₛ records of a dataset share the weight c·t, minimising over t ∈ (0, 1] leaves
//! c·mₛ·φ(āₛ) of them, with the mean āₛ of their aᵢ: the same closed form as for one record, t =
//! min(1, √(κ₁/āₛ)). A given t leaves c·mₛ·t·āₛ.

use super::{ObjectivePass, Profile, SidePart, profiled};
use crate::effective_sample_of;
use crate::labelled::records::LabelledRecords;
use crate::prelude::*;
use crate::sources::WeightedSource;

/// The public records of a run.
#[derive(Debug)]
pub struct PublicSide {
    all: LabelledRecords<Doubles>,
    /// Empty if every record has a weight of its own.
    sources: Vec<(WeightedSource, LabelledRecords<Doubles>)>,
}

impl PublicSide {
    pub fn new(all: LabelledRecords<Doubles>, sources: Vec<WeightedSource>) -> Self {
        let sources = sources.into_iter().map(|source| {
            let records = all.chosen(&source.members);
            (source, records)
        });
        Self { sources: sources.collect(), all }
    }

    pub fn data(&self) -> &PublicData {
        self.all.data()
    }

    /// The objective at a point.
    pub fn pass(&self, profile: &Profile, w: &Vector) -> ObjectivePass {
        if self.sources.is_empty() {
            return profile.public(&self.all).pass(w);
        }
        let nothing = ObjectivePass {
            gradient: Vector::zeros(w.len()),
            value: 0.0,
            mean_loss: 0.0,
            weight: 0.0,
            effective_sample: 0.0,
        };
        let (mut sum, mut squares) = (nothing, 0.0);
        for (source, records) in &self.sources {
            let part = self.part(profile, records).pass(w);
            let (value, kept) = weighted(profile, source, &part);
            let share = source.members.len() as f64 / self.data().len() as f64;
            sum.gradient.axpy(kept, &part.gradient, 1.0);
            sum.value += value;
            sum.mean_loss += share * part.mean_loss;
            sum.weight += kept * part.weight;
            squares += (kept * part.weight).powi(2) / source.members.len() as f64;
        }
        sum.effective_sample = effective_sample_of(sum.weight, squares);
        sum
    }

    /// The weight of every record.
    pub fn weights(&self, profile: &Profile, w: &Vector) -> Vec<f64> {
        if self.sources.is_empty() {
            return profile.public(&self.all).weights(w);
        }
        let mut weights = vec![0.0; self.data().len()];
        for (source, records) in &self.sources {
            let part = self.part(profile, records);
            let (_, kept) = weighted(profile, source, &part.pass(w));
            for member in &source.members {
                weights[*member] = kept * part.weight;
            }
        }
        weights
    }

    /// The records of one dataset at their largest weight, among all public ones.
    fn part<'a>(
        &self,
        profile: &Profile,
        records: &'a LabelledRecords<Doubles>,
    ) -> SidePart<'a, Doubles> {
        let pooled = Profile { pooled: true, ..*profile };
        SidePart { weight: profile.alpha / self.data().len() as f64, ..pooled.public(records) }
    }
}

/// The value of a dataset with its weight, and the weight as a share of the largest.
fn weighted(profile: &Profile, source: &WeightedSource, part: &ObjectivePass) -> (f64, f64) {
    if let Some(kept) = source.given {
        return (kept * part.value, kept);
    }
    let (value, kept) = profiled(part.value / part.weight, profile.kappa);
    (part.weight * value, kept)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Dataset;
    use crate::example;
    use crate::labelled::records::{RecordLoss, ScoreLoss};

    const PROFILE: Profile = Profile {
        loss: RecordLoss::Score(ScoreLoss::Squared),
        alpha: 0.3,
        kappa: 0.05,
        penalty: 0.01,
        clip: 1.0,
        pooled: false,
        gain: None,
    };

    fn side(given: [Option<f64>; 2]) -> (PublicSide, Dataset, Vector) {
        let (_, mut public, _) = example::shifted(3, 12, 20, 4);
        // The labels of the second dataset are far off.
        public.target.as_mut().unwrap()[8..].iter_mut().for_each(|y| *y += 3.0);
        let sources = [(0..8), (8..12)].map(Vec::from_iter).into_iter().zip(given);
        let sources = sources.map(|(members, given)| WeightedSource { members, given }).collect();
        let all = LabelledRecords::new(public.clone().into());
        (PublicSide::new(all, sources), public, Vector::from_vec(vec![0.2, -0.1, 0.3]))
    }

    /// Written again: F(w, t) = Σₛ Σᵢ c·t·aᵢ + κ₁·c·mₛ(1/t − 1).
    #[test]
    fn the_learned_weight_of_a_dataset_minimises_the_objective() {
        let (side, public, w) = side([None, None]);
        let y = public.target.as_ref().unwrap();
        let loss = |i: usize| (public.features.column(i).dot(&w) - y[i]).powi(2) + 0.01;
        let c = 0.3 / 12.0;
        let of = |members: std::ops::Range<usize>, t: f64| {
            let price = 0.05 * c * members.len() as f64 * (1.0 / t - 1.0);
            members.map(|i| c * t * loss(i)).sum::<f64>() + price
        };
        let weights = side.weights(&PROFILE, &w);
        let mut best = 0.0;
        for members in [0..8, 8..12] {
            let ours = weights[members.start] / c;
            assert!(weights[members.clone()].iter().all(|q| *q == weights[members.start]));
            let least = (1..=1000).map(|k| f64::from(k) / 1000.0).min_by(|one, other| {
                of(members.clone(), *one).total_cmp(&of(members.clone(), *other))
            });
            assert!((ours - least.unwrap()).abs() < 2e-3, "{ours} {least:?}");
            best += of(members, ours);
        }
        assert!(weights[8] < 0.5 * weights[0], "{weights:?}");
        let pass = side.pass(&PROFILE, &w);
        assert!((pass.value - best).abs() < 1e-12, "{} {best}", pass.value);
        assert!((pass.weight - weights.iter().sum::<f64>()).abs() < 1e-12);
        let squares: f64 = weights.iter().map(|q| q * q).sum();
        assert!((pass.effective_sample - pass.weight.powi(2) / squares).abs() < 1e-9);
    }

    #[test]
    fn gradients_are_slopes_of_the_value_for_learned_and_for_given_weights() {
        for given in [[None, None], [Some(1.0), Some(0.25)]] {
            let (side, _, w) = side(given);
            let gradient = side.pass(&PROFILE, &w).gradient;
            for k in 0..3 {
                let at = |by: f64| {
                    let mut other = w.clone();
                    other[k] += by;
                    side.pass(&PROFILE, &other).value
                };
                let rise = (at(1e-6) - at(-1e-6)) / 2e-6;
                assert!((rise - gradient[k]).abs() < 1e-8, "{given:?}: {rise} {}", gradient[k]);
            }
            if let Some(last) = given[1] {
                let weights = side.weights(&PROFILE, &w);
                assert!((weights[8] / weights[0] - last).abs() < 1e-12);
            }
        }
    }
}
