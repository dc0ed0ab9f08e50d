//! The whole table, released at once under differential privacy.
//!
//! The moments S of the private gradients in the candidates' own directions
//! ([`super::shared_directions`]) are released with Gaussian noise, for all repeats together.
//! Everything else is post-processing: the energy of candidate j is tr(CⱼᵀSCⱼ), the mean share of a
//! gradient inside its span, and the private span, as far as it lies in those directions, is that
//! of the leading eigenvectors of S.
//!
//! *Sensitivity.* ‖uuᵀ − vvᵀ‖_F ≤ √2 for vectors of norm at most 1, attained by orthogonal ones, so
//! one of n records moves the R stacked moments by at most √(2R)/n. Packed as in
//! [`crate::numeric::symmetric::pack`], the ℓ₂ norm is the Frobenius norm.
//!
//! *Spread.* Noise of scale σ moves an energy by σ√k in each repeat, independently.

use rand::SeedableRng;
use rand::rngs::ChaCha20Rng;
use rand_distr::{Distribution, StandardNormal};

use super::candidate_line::Mean;
use super::candidates::{PublicRepeat, RankingSetup};
use super::ranking::RankStep;
use super::records::Supply;
use super::released::{Disclosed, PrivateRanking, ReleasedLine, alone};
use super::shared_directions::CommonDirections;
use crate::data::SecretOrder;
use crate::error::{Error, Result};
use crate::numeric::Matrix;
use crate::numeric::leading::leading;
use crate::numeric::product::inner_products;
use crate::numeric::symmetric::{self, pack, packed_length, unpack};
use crate::privacy::openings::{OpenPrivate, OpenReleased};
use crate::privacy::{Gaussian, PlannedRelease, Private, Reach, Release, Spender};

const MOMENTS: &str = "moments";
/// The number of noisy copies that estimate the spread of distances.
const COPIES: usize = 12;

/// The public part of a private table; made before anything is drawn.
pub struct PrivateTable {
    setup: RankingSetup,
    frames: Vec<CommonDirections>,
    rounds: Vec<PublicRepeat>,
    held: Private<(Supply, Vec<f64>)>,
    /// Draws the random labels of the private records.
    order: SecretOrder,
    done: usize,
    n: usize,
}

impl PrivateTable {
    /// Computes the public side of every repeat.
    pub fn new(
        mut setup: RankingSetup,
        repeats: usize,
        private: &Private<Supply>,
        (private_records, order): (usize, SecretOrder),
    ) -> Result<Self> {
        let mut rounds =
            (0..repeats).map(|repeat| setup.round(repeat)).collect::<Result<Vec<_>>>()?;
        let frames = rounds.iter().map(CommonDirections::of).collect::<Result<Vec<_>>>()?;
        // The frames hold the needed parts of the spans.
        for round in &mut rounds {
            round.spans.clear();
        }
        let held = private.map_unseen(|data| (data.clone(), Vec::new()));
        Ok(Self { setup, frames, rounds, held, order, done: 0, n: private_records })
    }

    fn sizes(&self) -> impl Iterator<Item = usize> {
        self.frames.iter().map(CommonDirections::size)
    }

    fn table(&self, packed: &[f64], sigma: f64) -> Vec<ReleasedLine> {
        let mut moments = Vec::new();
        let mut rest = packed;
        for size in self.sizes() {
            let (own, others) = rest.split_at(packed_length(size));
            moments.push(unpack(own, size));
            rest = others;
        }
        let mut generator = ChaCha20Rng::seed_from_u64(self.setup.directions as u64);
        let copies: Vec<Vec<Matrix>> = (0..COPIES)
            .map(|_| moments.iter().map(|moment| noisier(moment, sigma, &mut generator)).collect())
            .collect();
        let line = |(index, candidate): (usize, &super::Candidate)| {
            let k = self.frames[0].spans[index].as_ref().map(Matrix::ncols);
            let energy =
                self.mean(index, &moments, |span, moment| Some(energy(span, moment))).map(|mean| {
                    Mean {
                        mean,
                        deviation: sigma
                            * (k.unwrap_or(0) as f64 / self.frames.len() as f64).sqrt(),
                    }
                });
            let far = self.mean(index, &moments, distance).map(|mean| {
                let copies: Vec<f64> = copies
                    .iter()
                    .filter_map(|moments| self.mean(index, moments, distance))
                    .collect();
                Mean { mean, deviation: Mean::of(&copies).deviation }
            });
            ReleasedLine { name: candidate.name.clone(), energy, distance: far }
        };
        let mut lines: Vec<_> = self.setup.candidates.iter().enumerate().map(line).collect();
        let key = |line: &ReleasedLine| line.energy.map_or(f64::NEG_INFINITY, |energy| energy.mean);
        lines.sort_by(|a, b| key(b).total_cmp(&key(a)));
        lines
    }

    fn release(&self) -> Release<Gaussian> {
        let repeats = self.frames.len() as f64;
        let exact = (2.0 * repeats).sqrt() / self.n as f64;
        let sensitivity = exact + 2.0 * CommonDirections::rounding(self.n) * repeats.sqrt();
        let numbers = self.sizes().map(packed_length).sum();
        Release::new(MOMENTS, Gaussian { sensitivity, numbers })
    }

    /// The mean over the repeats; `None` for a candidate that failed in one.
    fn mean(
        &self,
        candidate: usize,
        moments: &[Matrix],
        number: impl Fn(&Matrix, &Matrix) -> Option<f64>,
    ) -> Option<f64> {
        let values = self
            .frames
            .iter()
            .zip(moments)
            .map(|(frame, moment)| number(frame.spans[candidate].as_ref()?, moment));
        let values: Option<Vec<f64>> = values.collect();
        values.map(|values| Mean::of(&values).mean)
    }
}

impl PrivateRanking for PrivateTable {
    fn method(&self) -> &'static str {
        "private_table"
    }

    fn setup(&self) -> &RankingSetup {
        &self.setup
    }

    fn repeats(&self) -> usize {
        self.frames.len()
    }

    fn plan(&self) -> Result<PlannedRelease> {
        Ok(alone(
            &self.release(),
            "second moments of the private gradients' directions, in the public spans",
        ))
    }

    fn step(&mut self) -> Result<RankStep> {
        let (round, frame) = (&self.rounds[self.done], &self.frames[self.done]);
        self.held = self.held.try_map(|(data, moments)| {
            let mut moments = moments.clone();
            let labels = round.conditions.secret_labels(&self.order)?;
            moments.extend(pack(&frame.moment(round, data, labels)?));
            Ok((data.clone(), moments))
        })?;
        self.done += 1;
        Ok(RankStep::repeat(self.done, self.frames.len()))
    }

    fn finish(self: Box<Self>, spender: &mut Spender) -> Result<Disclosed> {
        if self.done < self.frames.len() {
            return Err(Error::failed("the private table is not complete"));
        }
        let release = self.release();
        let sigma = spender.scale(&release)?;
        // The trace of each moment is at most 1.
        let reach = Reach::Ball((self.frames.len() as f64).sqrt());
        let moments =
            self.held.release_gaussian(spender, release, &reach, |(_, all)| all.clone())?;
        Ok(Disclosed::Table(moments.map(|moments| self.table(&moments, sigma))))
    }
}

/// tr(CᵀSC), which is in [0, 1] without noise.
fn energy(span: &Matrix, moment: &Matrix) -> f64 {
    symmetric::quadratic_forms(span, moment).sum()
}

/// √(k − Σcos²θ)/√k between the span and that of the leading eigenvectors of the moment. Nothing is
/// known of it if there are no other directions than those of the span.
fn distance(span: &Matrix, moment: &Matrix) -> Option<f64> {
    let k = span.ncols();
    if k >= moment.nrows() {
        return None;
    }
    let cosines = inner_products(&leading(moment, k)?.vectors, span).norm_squared();
    Some((1.0 - cosines / k as f64).clamp(0.0, 1.0).sqrt())
}

fn noisier(moment: &Matrix, sigma: f64, generator: &mut ChaCha20Rng) -> Matrix {
    let mut packed = pack(moment);
    for number in &mut packed {
        let normal: f64 = StandardNormal.sample(generator);
        *number += sigma * normal;
    }
    unpack(&packed, moment.nrows())
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::data::{Bounds, Dataset};
    use crate::privacy::accountant::QueryKind;
    use crate::privacy::accountant::calibrate;
    use crate::privacy::openings::OpenSpender;
    use crate::privacy::{Calibrated, Target};
    use crate::rank::{ProbeModel, RankingSettings};

    const DIMENSION: usize = 60;
    const BOUNDS: Bounds = Bounds { feature_norm: 1.0, label: 1.0 };
    pub const RECORDS: usize = 400;

    /// Records along a few axes, mostly the first.
    pub fn records(first: usize, count: usize, seed: u64) -> Dataset {
        let mut generator = ChaCha20Rng::seed_from_u64(seed);
        let mut features = Matrix::zeros(DIMENSION, count);
        for mut column in features.column_iter_mut() {
            for axis in 0..4 {
                let normal: f64 = StandardNormal.sample(&mut generator);
                column[first + axis] = 0.4 * normal / (1.0 + axis as f64);
            }
            let norm = column.norm().max(1.0);
            column /= norm;
        }
        Dataset::unlabelled("d", features, BOUNDS)
    }

    pub fn setup() -> RankingSetup {
        let settings = RankingSettings {
            model: ProbeModel::Linear,
            batch: 40,
            directions: 3,
            ..RankingSettings::default()
        };
        let candidates = [(0, "same"), (2, "half"), (20, "other")].map(|(first, name)| {
            super::super::Candidate {
                name: name.to_owned(),
                data: Ok(records(first, 100, 7 + first as u64).into()),
            }
        });
        RankingSetup::new(&settings, candidates.into(), (RECORDS, DIMENSION), None, BOUNDS).unwrap()
    }

    fn table(private: &Private<Supply>) -> Box<PrivateTable> {
        let mut table =
            PrivateTable::new(setup(), 2, private, (RECORDS, SecretOrder::KNOWN)).unwrap();
        while !table.step().unwrap().done {}
        Box::new(table)
    }

    pub fn lines(disclosed: Disclosed) -> Vec<ReleasedLine> {
        let (Disclosed::Table(table) | Disclosed::Direction(table)) = disclosed else { panic!() };
        table.into_inner()
    }

    #[test]
    fn without_noise_the_table_holds_the_mean_shares_and_with_noise_stays_near_them() {
        let data = records(0, RECORDS, 1);
        let private = Private::new(Supply::from(data.clone()));
        let exact = table(&private);
        let plan = [exact.plan().unwrap()];
        let noiseless = Calibrated::noiseless(&plan, 1e-6);
        let exact = lines(exact.finish(&mut Spender::rehearsal(&noiseless, 0)).unwrap());
        assert_eq!(exact[0].name, "same");
        assert_eq!(exact[2].name, "other");
        let mut setup = setup();
        let mut shares = 0.0;
        for repeat in 0..2 {
            let round = setup.round(repeat).unwrap();
            let gradients = round.conditions.gradients(&data.features).unwrap();
            let of = round.spans[0].as_ref().unwrap().shares(&gradients);
            shares += of.iter().sum::<f64>() / (2 * RECORDS) as f64;
        }
        assert!((exact[0].energy.unwrap().mean - shares).abs() < 1e-9);

        let calibrated = calibrate(&plan, Target { epsilon: 4.0, delta: 1e-5 }).unwrap();
        let seeds = 0..20;
        let mut off = Vec::new();
        for seed in seeds {
            let noisy = table(&private).finish(&mut Spender::rehearsal(&calibrated, seed)).unwrap();
            let noisy = lines(noisy);
            let same = noisy.iter().find(|line| line.name == "same").unwrap();
            let energy = same.energy.unwrap();
            off.push((energy.mean - exact[0].energy.unwrap().mean) / energy.deviation);
            assert!((0.0..=1.0).contains(&same.distance.unwrap().mean));
        }
        // Standard normals: the stated spread is that of the noise.
        let mean_square = off.iter().map(|z| z * z).sum::<f64>() / 20.0;
        assert!((0.3..2.2).contains(&mean_square), "{mean_square}");
    }

    #[test]
    fn orthogonal_records_attain_the_sensitivity_and_nothing_exceeds_it() {
        let ours = records(0, RECORDS, 1);
        let packed = |data: &Dataset| -> Vec<f64> {
            let private = Private::new(Supply::from(data.clone()));
            let table = table(&private);
            let plan = [table.plan().unwrap()];
            let mut spender = Spender::rehearsal(&Calibrated::noiseless(&plan, 1e-6), 0);
            let released = table.held.release_gaussian(
                &mut spender,
                table.release(),
                &Reach::Ball(9.0),
                |(_, all)| all.clone(),
            );
            released.unwrap().into_inner()
        };
        let with = |axis: usize, size: f64| {
            let mut data = ours.clone();
            data.features.column_mut(5).fill(0.0);
            data.features[(axis, 5)] = size;
            packed(&data)
        };
        let moved = |a: &[f64], b: &[f64]| {
            a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt()
        };
        let private = Private::new(Supply::from(ours.clone()));
        let planned = table(&private).plan().unwrap().query;
        assert_eq!(planned.kind, QueryKind::Gaussian);
        let bound = planned.sensitivity;
        assert!((bound - 4.0_f64.sqrt() / RECORDS as f64).abs() < 1e-9);
        let attained = moved(&with(0, 1.0), &with(20, 1.0));
        assert!(attained <= bound && attained > 0.9 * bound, "{attained} {bound}");
        for (axis, size) in [(0, 1e200), (20, f64::NAN), (3, -0.5), (0, 0.0)] {
            let change = moved(&with(axis, size), &with(20, 1.0));
            assert!(change <= bound, "{axis} {size}: {change} {bound}");
        }
    }
}
