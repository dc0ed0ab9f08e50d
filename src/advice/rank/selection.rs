//! The best candidate, released under differential privacy.
//!
//! Record i gives candidate j the score fᵢⱼ = ‖Vⱼᵀgᵢ‖²/‖gᵢ‖² ∈ [0, 1], the share of the record's
//! gradient that lies in the candidate's span, averaged over all repeats; a candidate's score is
//! the sum over the private records. The spans are made of public data, weights and labels of
//! public seeds, so
//!
//! *Sensitivity.* replacing one record moves every score by something in [−1, 1], whatever the
//! number of repeats: the range of the change is at most 2, attained by two candidates with
//! orthogonal spans when a record inside one is replaced by a record inside the other.
//!
//! Permute-and-flip or the exponential mechanism, sampled exactly, releases the winner and nothing
//! else, not even its margin.

use super::candidates::{PublicRepeat, RankingSetup};
use super::ranking::RankStep;
use super::records::Supply;
use super::released::{Disclosed, PrivateRanking, alone};
use crate::data::SecretOrder;
use crate::error::{Error, Result};
use crate::numeric::rounding::summation_error;
use crate::privacy::openings::{OpenPrivate, OpenReleased};
use crate::privacy::{PlannedRelease, Private, Reach, Release, Released, Rule, Selection, Spender};

/// The release's name in the plan and the ledger.
const WINNER: &str = "winner";

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Selector {
    #[default]
    PermuteAndFlip,
    Exponential,
}

/// A selection in progress: the scores are summed, unseen, repeat by repeat.
pub struct PrivateSelection {
    selector: Selector,
    setup: RankingSetup,
    repeats: usize,
    done: usize,
    private_records: usize,
    /// Draws the random labels of the private records.
    order: SecretOrder,
    held: Private<(Supply, Vec<f64>)>,
}

impl PrivateSelection {
    pub fn new(
        selector: Selector,
        setup: RankingSetup,
        repeats: usize,
        private: &Private<Supply>,
        (private_records, order): (usize, SecretOrder),
    ) -> Self {
        let candidates = setup.candidates.len();
        let held = private.map_unseen(|data| (data.clone(), vec![0.0; candidates]));
        Self { selector, setup, repeats, done: 0, private_records, order, held }
    }

    fn release(&self) -> Release<Selection> {
        let n = self.private_records as f64;
        // Sums of n·R shares in floating point, under either neighbour.
        let rounding = summation_error(self.private_records * self.repeats + 16) * n;
        let rule = match self.selector {
            Selector::PermuteAndFlip => Rule::PermuteAndFlip,
            Selector::Exponential => Rule::Exponential,
        };
        let candidates = self.setup.candidates.len();
        Release::new(WINNER, Selection { rule, range: 2.0 + 4.0 * rounding, candidates })
    }

    /// Draws the winner, after the last step; as often as the spender's plan allows.
    pub fn draw(&self, spender: &mut Spender) -> Result<Released<String>> {
        if self.done < self.repeats {
            return Err(Error::failed("the selection is not complete"));
        }
        // Sums of one share in [0, 1] per record.
        let n = self.private_records as f64;
        let reach = Reach::between(0.0, n, self.setup.candidates.len());
        let winner =
            self.held.select(spender, self.release(), &reach, |(_, scores)| scores.clone())?;
        Ok(winner.map(|index| self.setup.candidates[index].name.clone()))
    }
}

impl PrivateRanking for PrivateSelection {
    fn method(&self) -> &'static str {
        "private_selection"
    }

    fn setup(&self) -> &RankingSetup {
        &self.setup
    }

    fn repeats(&self) -> usize {
        self.repeats
    }

    fn plan(&self) -> Result<PlannedRelease> {
        let candidates = &self.setup.candidates;
        if candidates.iter().filter(|candidate| candidate.data.is_ok()).count() < 2 {
            return Err(Error::usage("there are fewer than two datasets to select from").cure(
                "add another public dataset that fits: selecting among one would spend ε on nothing",
            ));
        }
        Ok(alone(
            &self.release(),
            "the public dataset whose gradients capture most of the private ones",
        ))
    }

    fn step(&mut self) -> Result<RankStep> {
        let round = self.setup.round(self.done)?;
        let share = 1.0 / self.repeats as f64;
        self.held = self.held.try_map(|(data, scores)| {
            let sums = score_sums(&round, data, &self.order)?;
            let added = scores.iter().zip(sums).map(|(score, sum)| score + share * sum);
            Ok((data.clone(), added.collect()))
        })?;
        self.done += 1;
        Ok(RankStep::repeat(self.done, self.repeats))
    }

    fn finish(self: Box<Self>, spender: &mut Spender) -> Result<Disclosed> {
        self.draw(spender).map(Disclosed::Winner)
    }
}

/// Σᵢ fᵢⱼ of one repeat; 0 for a broken candidate.
fn score_sums(round: &PublicRepeat, records: &Supply, order: &SecretOrder) -> Result<Vec<f64>> {
    let mut sums = vec![0.0; round.spans.len()];
    let labels = round.conditions.secret_labels(order)?;
    round.conditions.in_blocks(records, labels, |gradients| {
        for (sum, span) in sums.iter_mut().zip(&round.spans) {
            if let Some(span) = span {
                *sum += span.shares(gradients).iter().sum::<f64>();
            }
        }
    })?;
    Ok(sums)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::data::{Bounds, Dataset};
    use crate::numeric::Matrix;
    use crate::privacy::accountant::calibrate;
    use crate::privacy::openings::OpenSpender;
    use crate::privacy::{Calibrated, Target};
    use crate::rank::{Candidate, ProbeModel, RankingSettings};

    const DIMENSION: usize = 400;
    const BOUNDS: Bounds = Bounds { feature_norm: 1.0, label: 1.0 };

    fn data(features: Matrix) -> Dataset {
        Dataset::unlabelled("d", features, BOUNDS)
    }

    /// All records are one unit vector.
    fn along(axis: usize, count: usize) -> Dataset {
        data(Matrix::from_fn(DIMENSION, count, |i, _| f64::from(u8::from(i == axis))))
    }

    /// Two candidates with nearly orthogonal spans of one direction.
    fn setup() -> RankingSetup {
        let settings = RankingSettings {
            model: ProbeModel::Linear,
            batch: 10,
            directions: 1,
            ..RankingSettings::default()
        };
        let candidates = [0, 1].map(|axis| Candidate {
            name: format!("axis {axis}"),
            data: Ok(along(axis, 40).into()),
        });
        RankingSetup::new(&settings, candidates.into(), (40, DIMENSION), None, BOUNDS).unwrap()
    }

    /// The score sums of R repeats, as in a selection.
    fn scores(setup: &mut RankingSetup, repeats: usize, private: &Dataset) -> Vec<f64> {
        let mut sums = vec![0.0; setup.candidates.len()];
        for repeat in 0..repeats {
            let round = setup.round(repeat).unwrap();
            let added = score_sums(&round, &private.clone().into(), &SecretOrder::KNOWN).unwrap();
            sums.iter_mut().zip(added).for_each(|(sum, added)| *sum += added / repeats as f64);
        }
        sums
    }

    #[test]
    fn private_records_get_labels_that_only_the_secret_tells() {
        let mut setup = setup();
        let labels = |repeat: usize, setup: &mut RankingSetup, key: u8| {
            let conditions = setup.round(repeat).unwrap().conditions;
            conditions.secret_labels(&SecretOrder::new([key; 32])).unwrap().numbers(20)
        };
        let one = labels(0, &mut setup, 1);
        assert_eq!(one, labels(0, &mut setup, 1));
        assert_ne!(one, labels(0, &mut setup, 2));
        assert_ne!(one, labels(1, &mut setup, 1), "each repeat has its own");
        let public = setup.round(0).unwrap().conditions.labels().unwrap().numbers(20);
        assert_ne!(one, public);
    }

    /// max − min of the change of the scores.
    fn range(ours: &[f64], theirs: &[f64]) -> f64 {
        let changes: Vec<f64> = ours.iter().zip(theirs).map(|(a, b)| a - b).collect();
        changes.iter().copied().fold(f64::MIN, f64::max)
            - changes.iter().copied().fold(f64::MAX, f64::min)
    }

    #[test]
    fn adversarial_neighbours_attain_the_sensitivity_whatever_the_number_of_repeats() {
        for repeats in [1, 3] {
            let mut setup = setup();
            let ours = along(0, 40);
            let mut theirs = along(0, 40);
            theirs.features.set_column(7, &along(1, 1).features.column(0));
            let moved =
                range(&scores(&mut setup, repeats, &ours), &scores(&mut setup, repeats, &theirs));
            assert!(moved <= 2.0 && moved > 1.98, "{moved}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn no_record_whatever_it_holds_moves_the_scores_by_more(
            entries in proptest::collection::vec(-1e3..1e3_f64, 8),
            broken in 0..6_usize,
        ) {
            let mut setup = setup();
            let ours = along(0, 40);
            let mut theirs = along(0, 40);
            for (axis, entry) in entries.iter().enumerate() {
                theirs.features[(axis, 7)] = *entry;
            }
            match broken {
                0 => theirs.features[(0, 7)] = f64::NAN,
                1 => theirs.features[(0, 7)] = f64::INFINITY,
                2 => theirs.features.column_mut(7).fill(0.0),
                _ => {}
            }
            let (ours, theirs) = (scores(&mut setup, 1, &ours), scores(&mut setup, 1, &theirs));
            for (a, b) in ours.iter().zip(&theirs) {
                prop_assert!((a - b).abs() <= 1.0 + 1e-12, "{} {}", a, b);
            }
            prop_assert!(range(&ours, &theirs) <= 2.0 + 1e-12);
        }
    }

    #[test]
    fn the_winner_is_drawn_as_often_as_planned_and_follows_epsilon() {
        for selector in [Selector::PermuteAndFlip, Selector::Exponential] {
            // 30 records along one axis, 10 along the other: 20 apart.
            let mut mixed = along(0, 40);
            for record in 30..40 {
                mixed.features.set_column(record, &along(1, 1).features.column(0));
            }
            let private = Private::new(Supply::from(mixed));
            let mut work =
                PrivateSelection::new(selector, setup(), 2, &private, (40, SecretOrder::KNOWN));
            let plan = [work.plan().unwrap()];
            assert!(
                work.draw(&mut Spender::rehearsal(&Calibrated::noiseless(&plan, 1e-6), 0)).is_err()
            );
            while !work.step().unwrap().done {}
            let wins = |epsilon: f64| {
                let calibrated = calibrate(&plan, Target { epsilon, delta: 1e-6 }).unwrap();
                (0..200)
                    .filter(|seed| {
                        let mut spender = Spender::rehearsal(&calibrated, *seed);
                        let winner = work.draw(&mut spender).unwrap();
                        assert!(work.draw(&mut spender).is_err());
                        winner.get() == "axis 0"
                    })
                    .count()
            };
            // 20 apart at scale 2/ε: ten times ε.
            let (sure, doubtful) = (wins(1.0), wins(0.01));
            assert!(sure >= 199, "{selector:?}: {sure}");
            assert!((70..=135).contains(&doubtful), "{selector:?}: {doubtful}");
        }
    }

    #[test]
    fn selecting_among_one_is_refused() {
        let mut setup = setup();
        let good = setup.candidates[0].clone();
        let broken = Candidate { name: "b".to_owned(), data: Err(Error::failed("gone")) };
        let settings = RankingSettings { directions: 1, ..RankingSettings::default() };
        setup = RankingSetup::new(&settings, vec![good, broken], (40, DIMENSION), None, BOUNDS)
            .unwrap();
        let private = Private::new(Supply::from(along(0, 40)));
        let work = PrivateSelection::new(
            Selector::default(),
            setup,
            2,
            &private,
            (40, SecretOrder::KNOWN),
        );
        assert!(work.plan().unwrap_err().to_string().contains("fewer than two datasets"));
    }
}
