//! One leading direction of the private gradients, released under differential privacy.
//!
//! Gu, Kamath and Wu release the leading private subspace by a Bingham mechanism. Their sampler is
//! a Markov chain, which guarantees nothing for any number of steps, and in the space of all
//! parameters its answer is noise: a network of p = 30 000 parameters with λ₁ = 0.15 needs p/λ₁ =
//! 200 000 private records at ε = 1. This module keeps the feasible part, for k = 1: a direction u
//! with P(u) ∝ exp(uᵀSu/scale), drawn exactly ([`crate::privacy::mechanism::direction`]) among the
//! candidates' own directions ([`super::shared_directions`]), where s is the dimension of all their
//! spans together. Candidate j holds the share ‖Cⱼᵀu‖² of u, the squared cosine of the angle
//! between u and its span.
//!
//! *Sensitivity.* Replacing one of n records moves S by (vvᵀ − uuᵀ)/n with vectors of norm at most
//! 1, whose eigenvalues are within ±1/n: a range of 2/n, attained by orthogonal ones. ε is pure, as
//! in the paper, where Theorem 2 has c² on the wrong side.
//!
//! *Limits.* The direction always lies in the candidates' joint span, so its shares compare
//! candidates and do not say whether any of them is good: a single candidate would hold all of it.
//! It shows one direction where [`super::release`] shows all of them, from one repeat where that
//! shows the mean of many. It shows nothing at all unless nελ₁/2 is well above s/2: by chance
//! alone, a dataset's share is k/s. With C classes of random labels, C − 1 eigenvalues are almost
//! equal, and the direction is a random one in their space. So the effect of noise is shown in
//! advance, by drawing from every candidate's own public moment as if it were the private one.

use super::candidate_line::Mean;
use super::candidates::{PublicRepeat, RankingSetup};
use super::ranking::RankStep;
use super::records::Supply;
use super::released::{Disclosed, PrivateRanking, ReleasedLine, alone};
use super::shared_directions::CommonDirections;
use crate::data::SecretOrder;
use crate::error::{Error, Result};
use crate::numeric::{Matrix, Vector};
use crate::privacy::mechanism::{DirectionMechanism, NoiseGenerator};
use crate::privacy::openings::{OpenPrivate, OpenReleased};
use crate::privacy::{Direction, PlannedRelease, Private, Reach, Release, Released, Spender};

const DIRECTION: &str = "direction";
/// The number of directions drawn from a public moment to see the effect of noise.
const COPIES: usize = 20;

/// The share of one direction in every candidate's span; `None` for a broken one.
type Shares = Vec<Option<f64>>;

/// A private direction that is being computed.
pub struct PrivateDirection {
    setup: RankingSetup,
    round: PublicRepeat,
    frame: CommonDirections,
    /// The data with the moment, once it is computed.
    held: Private<(Supply, Matrix)>,
    /// Draws the random labels of the private records.
    order: SecretOrder,
    done: bool,
    n: usize,
    /// The shares of copies of each candidate, once the outlook was computed: see [`Self::copied`].
    copies: Vec<Vec<Shares>>,
}

impl PrivateDirection {
    /// Computes the public side of the first repeat.
    pub fn new(
        mut setup: RankingSetup,
        private: &Private<Supply>,
        (private_records, order): (usize, SecretOrder),
    ) -> Result<Self> {
        let round = setup.round(0)?;
        let frame = CommonDirections::of(&round)?;
        let held = private.map_unseen(|data| (data.clone(), Matrix::zeros(0, 0)));
        let (done, copies) = (false, Vec::new());
        Ok(Self { setup, round, frame, held, order, done, n: private_records, copies })
    }

    /// The share of this vector's direction in each candidate's span.
    fn shares(&self, along: &[f64]) -> Shares {
        let direction = Vector::from_column_slice(along).normalize();
        let share = |span: &Matrix| span.tr_mul(&direction).norm_squared().clamp(0.0, 1.0);
        self.frame.spans.iter().map(|span| span.as_ref().map(share)).collect()
    }

    /// The shares of directions drawn from a candidate's own gradients with this noise, as if there
    /// were n records of them.
    fn copied(&self, candidate: usize, scale: f64) -> Result<Vec<Shares>> {
        let Ok(supply) = &self.setup.candidates[candidate].data else { return Ok(Vec::new()) };
        let records = supply.select(&self.setup.chosen(candidate, 0)?)?;
        let labels = self.round.conditions.labels()?;
        let moment = self.frame.moment(&self.round, &records.into(), labels)?;
        let mechanism = DirectionMechanism::with_scale(scale)?;
        // Everything here is public, including the seed.
        let mut generator = NoiseGenerator::insecure_from_seed(candidate as u64);
        (0..COPIES).map(|_| Ok(self.shares(&mechanism.draw(&mut generator, &moment)?))).collect()
    }

    fn release(&self) -> Release<Direction> {
        let range = 2.0 / self.n as f64 + 4.0 * CommonDirections::rounding(self.n);
        Release::new(DIRECTION, Direction { range, dimension: self.frame.size() })
    }

    /// Draws, after its step, and returns the share of the direction in each candidate's span; as
    /// often as the spender's plan allows.
    pub fn draw(&self, spender: &mut Spender) -> Result<Released<Shares>> {
        if !self.done {
            return Err(Error::failed("the private direction is not complete"));
        }
        // The trace of the moment is at most 1.
        let reach = Reach::Ball(1.0);
        let along =
            self.held
                .release_direction(spender, self.release(), &reach, |(_, moment)| moment.clone())?;
        Ok(along.map(|along| self.shares(&along)))
    }

    fn table(&self, shares: &[Option<f64>]) -> Vec<ReleasedLine> {
        let share = |index: &usize| shares[*index].unwrap_or(f64::NEG_INFINITY);
        let mut order: Vec<usize> = (0..shares.len()).collect();
        order.sort_by(|a, b| share(b).total_cmp(&share(a)));
        // As uncertain as if the private gradients were those of the best.
        let copies = self.copies.get(order[0]).map_or(&[][..], Vec::as_slice);
        let deviation = |number: &dyn Fn(f64) -> f64, index: usize| {
            let numbers = copies.iter().filter_map(|shares| shares[index].map(number));
            let numbers: Vec<f64> = numbers.collect();
            if numbers.is_empty() { 0.0 } else { Mean::of(&numbers).deviation }
        };
        let mean = |number: &dyn Fn(f64) -> f64, index: usize| {
            let mean = shares[index].map(number)?;
            Some(Mean { mean, deviation: deviation(number, index) })
        };
        let line = |index: usize| ReleasedLine {
            name: self.setup.candidates[index].name.clone(),
            energy: mean(&|share| share, index),
            distance: mean(&|share| (1.0 - share).sqrt(), index),
        };
        order.into_iter().map(line).collect()
    }
}

impl PrivateRanking for PrivateDirection {
    fn method(&self) -> &'static str {
        "private_direction"
    }

    fn setup(&self) -> &RankingSetup {
        &self.setup
    }

    fn repeats(&self) -> usize {
        1
    }

    fn plan(&self) -> Result<PlannedRelease> {
        if self.frame.spans.iter().flatten().count() < 2 {
            return Err(Error::usage("fewer than two datasets can be compared by a direction")
                .cure(
                    "add another public dataset that fits: one alone holds all of any direction, \
                 and ε would be spent on nothing",
                ));
        }
        Ok(alone(
            &self.release(),
            "a leading direction of the private gradients, in the public spans",
        ))
    }

    fn outlook(&mut self, scale: f64) -> Result<Vec<String>> {
        // ‖S‖ is at most its trace, and that is at most 1.
        let largest = 1.0 + CommonDirections::rounding(self.n);
        DirectionMechanism::with_scale(scale)?.check_norm(largest)?;
        let candidates = 0..self.setup.candidates.len();
        self.copies = candidates.map(|index| self.copied(index, scale)).collect::<Result<_>>()?;
        let mut expected = Vec::new();
        for (index, span) in self.frame.spans.iter().enumerate() {
            let Some(span) = span else { continue };
            let own = self.copies[index].iter().filter_map(|shares| shares[index]);
            let share = Mean::of(&own.collect::<Vec<_>>()).mean;
            let chance = span.ncols() as f64 / self.frame.size() as f64;
            expected.push((share, chance, &self.setup.candidates[index].name));
        }
        expected.sort_by(|a, b| b.0.total_cmp(&a.0));
        let Some((share, chance, _)) = expected.first().copied() else { return Ok(Vec::new()) };
        let listed = expected.iter().map(|(share, _, name)| format!("{name} {share:.2}"));
        let mut remarks = vec![format!(
            "one direction, of one repeat, among {} of the datasets together, so that shares compare \
             them and do not say whether any is good: by chance a span holds {chance:.2} of it; with \
             this noise, were the private gradients those of a dataset, its own span would hold: {}",
            self.frame.size(),
            listed.collect::<Vec<_>>().join(", ")
        )];
        if share < 0.5 * (1.0 + chance) {
            remarks.push(
                "this direction is mostly noise: a larger ε, or fewer `directions` or datasets, \
                 would leave less of it; at the same ε, the name of the best dataset or the table \
                 says more"
                    .to_owned(),
            );
        }
        Ok(remarks)
    }

    fn step(&mut self) -> Result<RankStep> {
        self.held = self.held.try_map(|(data, _)| {
            let labels = self.round.conditions.secret_labels(&self.order)?;
            let moment = self.frame.moment(&self.round, data, labels)?;
            Ok((data.clone(), moment))
        })?;
        self.done = true;
        Ok(RankStep::repeat(1, 1))
    }

    fn finish(self: Box<Self>, spender: &mut Spender) -> Result<Disclosed> {
        let shares = self.draw(spender)?;
        Ok(Disclosed::Direction(shares.map(|shares| self.table(&shares))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numeric::eigen::eigen;
    use crate::privacy::accountant::QueryKind;
    use crate::privacy::accountant::calibrate;
    use crate::privacy::openings::OpenSpender;
    use crate::privacy::{Calibrated, Target};
    use crate::rank::release::tests::{RECORDS, lines, records, setup};

    fn private() -> Private<Supply> {
        Private::new(Supply::from(records(0, RECORDS, 1)))
    }

    fn finished(private: &Private<Supply>, spender: &mut Spender) -> Vec<ReleasedLine> {
        let mut work = Box::new(
            PrivateDirection::new(setup(), private, (RECORDS, SecretOrder::KNOWN)).unwrap(),
        );
        assert!(work.step().unwrap().done);
        lines(work.finish(spender).unwrap())
    }

    fn planned() -> [PlannedRelease; 1] {
        [PrivateDirection::new(setup(), &private(), (RECORDS, SecretOrder::KNOWN))
            .unwrap()
            .plan()
            .unwrap()]
    }

    #[test]
    fn without_noise_it_is_the_leading_eigenvector_and_with_noise_it_follows_epsilon() {
        let work =
            PrivateDirection::new(setup(), &private(), (RECORDS, SecretOrder::KNOWN)).unwrap();
        let moment = {
            let labels = work.round.conditions.labels().unwrap();
            work.frame.moment(&work.round, &records(0, RECORDS, 1).into(), labels).unwrap()
        };
        let (values, vectors) = eigen(&moment).unwrap();
        let leading: Vec<f64> = vectors.column(values.imax()).iter().copied().collect();
        let share = work.shares(&leading)[0].unwrap();
        let at = |epsilon: f64, seed: u64| {
            let calibrated = calibrate(&planned(), Target { epsilon, delta: 1e-6 }).unwrap();
            finished(&private(), &mut Spender::rehearsal(&calibrated, seed))
        };
        // Almost no noise: λ₁ is far above 2/nε.
        let sure = at(1e4, 3);
        assert_eq!(sure[0].name, "same");
        assert!((sure[0].energy.unwrap().mean - share).abs() < 1e-3 && share > 0.9, "{share}");
        let distance = sure[0].distance.unwrap().mean;
        assert!((distance - (1.0 - share).sqrt()).abs() < 1e-2);
        let mean = |epsilon: f64| {
            let shares = (0..30).map(|seed| {
                let lines = at(epsilon, seed);
                let line = lines.iter().find(|line| line.name == "same").unwrap();
                line.energy.unwrap().mean
            });
            shares.sum::<f64>() / 30.0
        };
        // About three of nine directions.
        let (little, much) = (mean(1.0), mean(1e-3));
        assert!(little > 0.7, "{little}");
        assert!((0.15..0.65).contains(&much), "{much}");
    }

    #[test]
    fn it_needs_its_step_and_noiseless_rehearsals_draw_the_leading_direction() {
        let calibrated = Calibrated::noiseless(&planned(), 1e-6);
        let mut spender = Spender::rehearsal(&calibrated, 0);
        let work = Box::new(
            PrivateDirection::new(setup(), &private(), (RECORDS, SecretOrder::KNOWN)).unwrap(),
        );
        let error = work.finish(&mut spender).unwrap_err().to_string();
        assert!(error.contains("not complete"), "{error}");
        let lines = finished(&private(), &mut spender);
        let sure = lines[0].energy.unwrap();
        assert!(lines[0].name == "same" && sure.mean > 0.9 && sure.deviation == 0.0, "{lines:?}");
    }

    #[test]
    fn the_outlook_tells_noise_from_a_direction_before_anything_is_drawn() {
        let mut work =
            PrivateDirection::new(setup(), &private(), (RECORDS, SecretOrder::KNOWN)).unwrap();
        let mut at = |epsilon: f64| {
            let target = Target { epsilon, delta: 1e-6 };
            let calibrated = calibrate(&planned(), target).unwrap();
            work.outlook(calibrated.events()[0].mechanism.noise.scale).unwrap()
        };
        let (clear, noise) = (at(20.0), at(0.01));
        assert_eq!((clear.len(), noise.len()), (1, 2), "{clear:?}");
        assert!(clear[0].contains("among ") && clear[0].contains("same 0.9"), "{clear:?}");
        assert!(noise[1].contains("mostly noise"), "{noise:?}");
        // Only one thing is known about S: its norm is at most 1.
        let error = work.outlook(1.0 / 7e7).unwrap_err().to_string();
        assert!(error.contains("so little noise"), "{error}");
    }

    #[test]
    fn one_dataset_alone_is_refused() {
        let good = setup().candidates[0].clone();
        let bounds = crate::data::Bounds { feature_norm: 1.0, label: 1.0 };
        let settings = crate::rank::RankingSettings { batch: 40, ..Default::default() };
        let dimension = records(0, 1, 1).dimension();
        let alone =
            RankingSetup::new(&settings, vec![good], (RECORDS, dimension), None, bounds).unwrap();
        let work = PrivateDirection::new(alone, &private(), (RECORDS, SecretOrder::KNOWN)).unwrap();
        assert!(work.plan().unwrap_err().to_string().contains("fewer than two datasets"));
    }

    #[test]
    fn orthogonal_records_attain_the_range_and_nothing_exceeds_it() {
        let work =
            PrivateDirection::new(setup(), &private(), (RECORDS, SecretOrder::KNOWN)).unwrap();
        let planned = work.plan().unwrap().query;
        assert_eq!(planned.kind, QueryKind::Direction);
        let bound = planned.sensitivity;
        assert!((bound - 2.0 / RECORDS as f64).abs() < 1e-9);
        let moment = |axis: usize, size: f64| {
            let mut all = records(0, RECORDS, 1);
            all.features.column_mut(5).fill(0.0);
            all.features[(axis, 5)] = size;
            let labels = work.round.conditions.labels().unwrap();
            work.frame.moment(&work.round, &all.into(), labels).unwrap()
        };
        let range = |a: &Matrix, b: &Matrix| {
            let (values, _) = eigen(&(a - b)).unwrap();
            values.max() - values.min()
        };
        let attained = range(&moment(0, 1.0), &moment(20, 1.0));
        assert!(attained <= bound && attained > 0.9 * bound, "{attained} {bound}");
        for (axis, size) in [(0, 1e200), (20, f64::NAN), (3, -0.5), (0, 0.0)] {
            let change = range(&moment(axis, size), &moment(20, 1.0));
            assert!(change <= bound, "{axis} {size}: {change} {bound}");
        }
    }
}
