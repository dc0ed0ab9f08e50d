//! Noisy projected gradient descent over a model and the weights of all records: the core of
//! CnvxAdap and of NCnvxAdap.
//!
//! Every step releases two vectors, both accounted: the private part of the model's
//! gradient, and one number per private record, the slope of the objective in its weight.
//!
//! *Sensitivity.* qᵢ ≤ cᵢ = (1−α)/n. Replacing a private record moves Σ qᵢ∇ℓᵢ by at most 2cG, and
//! the slope −ℓᵢqᵢ/vᵢ of its own weight, which lies in \[−cB, 0\], by at most cB. Where persons are
//! protected, n counts persons, each has one weight, and ℓᵢ and ∇ℓᵢ are means over a person's
//! records. They stay within B and G, so both bounds hold for a person as for a record. Where the
//! private records are the source, ℓᵢ + d̂ stands for ℓᵢ in the slope; d̂ is the same under either
//! neighbour, so the slope lies in \[−c(B + d̂), −cd̂\] and moves no further. The pulls between the
//! weights depend on no data. The private weights are functions of released vectors, so the next
//! step's bounds hold for any values of them. Yet they describe single records, so they never leave
//! this module.
//!
//! *Refined.* At the best weight for its loss, no record's part of the gradient is longer than c·C,
//! C = 2√κ₁·r, because qᵢ ≤ c√(κ₁/ℓᵢ) there for any κ₂, κ_∞ and d̂. So each part is clipped to c·C,
//! which makes the sensitivity 2cC, and changes nothing at the minimum. The weights of public records
//! are solved for in every step, which needs no release, and the steps of the model are scaled by the
//! public curvature.

use nalgebra::{Cholesky, Dyn};

use super::SourceSide;
use super::learner::{Largest, Learner, LossPass};
use super::objective::{Pulls, Weights, above, gradient_mapping, into_ball};
use crate::labelled::penalty::ReleasedPenalty;
use crate::labelled::records::{LabelledRecords, mean_of_tail};
use crate::numeric::positive::cholesky;
use crate::prelude::*;
use crate::privacy::openings::{OpenCuratorOnly, OpenPrivate, OpenReleased};
use crate::sources::WeightedSource;

const WEIGHTS: &str = "weights";

/// The step length along each slope.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pace {
    pub model: f64,
    pub public: f64,
    pub private: f64,
    /// β̄: the scale at which the gradient mapping is measured.
    pub beta: f64,
}

/// Which model a run delivers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ReturnedModel {
    /// The mean of this share of the steps, counted from the last.
    Tail(f64),
    /// The model of this step, or the newest before it.
    Step(u64),
}

pub struct WeightedDescent {
    pub releases: Releases,
    pub learner: Learner,
    pub pulls: Pulls,
    /// d̂
    pub penalty: f64,
    /// The records whose losses get the penalty.
    pub source: SourceSide,
    /// The penalty to be released, until it is.
    pub(in crate::labelled) released_penalty: Option<ReleasedPenalty>,
    pub largest: Largest,
    pub pace: Pace,
    /// What the rigorous mode does better; `None` as printed.
    pub refined: Option<Refinement>,
    pub steps: u64,
    pub returned: ReturnedModel,
    pub public: LabelledRecords<Doubles>,
    pub private: Private<LabelledRecords<Singles>>,
    pub weights: Weights,
    /// Public datasets with one weight for all records; none if every record has its own.
    pub sources: Vec<WeightedSource>,
    pub iterates: Vec<Vector>,
    pub model: Option<Released<Model>>,
}

/// How steps come to the minimum with few releases.
#[derive(Debug, Clone, Default)]
pub struct Refinement {
    /// The public curvature with damping, a block for each score. Without it, a step follows the
    /// gradient.
    curvature: Vec<Cholesky<f64, Dyn>>,
}

impl Refinement {
    /// `curvature` has a block for each score.
    pub fn new(curvature: Vec<Matrix>, damping: f64) -> Result<Self> {
        let damped = |mut block: Matrix| {
            for k in 0..block.nrows() {
                block[(k, k)] += damping;
            }
            cholesky(block).ok_or_else(|| {
                Error::failed("the public features are collinear").cure("raise the damping")
            })
        };
        Ok(Self { curvature: curvature.into_iter().map(damped).collect::<Result<_>>()? })
    }

    fn scale(&self, gradient: &mut Vector) {
        for (score, block) in self.curvature.iter().enumerate() {
            let size = block.l_dirty().nrows();
            block.solve_mut(&mut gradient.rows_mut(score * size, size));
        }
    }
}

/// The releases of every step.
#[derive(Debug, Clone, Copy)]
pub struct Releases {
    gradient: Release<Gaussian>,
    weights: Release<Gaussian>,
}

impl Releases {
    /// The noise of an entry of the gradient, and of a weight's slope.
    pub fn noise(&self, noise: &Calibrated) -> Result<(f64, f64)> {
        Ok((noise.scale(&self.gradient)?, noise.scale(&self.weights)?))
    }
}

/// The two releases of every step. `gradient` and `weights` say how much noise each gets.
pub fn releases(
    learner: Learner,
    shape: &ProblemShape,
    largest: Largest,
    alpha: f64,
    steps: u64,
    (gradient, weights): (Allotment, Allotment),
) -> (Vec<PlannedRelease>, Releases) {
    let n = shape.private_records;
    let parameters = learner.parameters(shape.dimension);
    let cap = (1.0 - alpha) / n as f64;
    // The sum of floating-point vectors is not the true sum, under either neighbour.
    let summed = n * shape.most_records;
    let rounding = n as f64 * summation_error(summed + parameters + 16);
    // The error of one product, or for persons, of the mean over their records.
    let of_slope = summation_error(8 + 2 * shape.most_records);
    let releases = Releases {
        gradient: Release::new(
            GRADIENT,
            Gaussian {
                sensitivity: 2.0 * cap * largest.gradient * (1.0 + rounding),
                numbers: parameters,
            },
        ),
        weights: Release::new(
            WEIGHTS,
            Gaussian { sensitivity: cap * largest.loss * (1.0 + of_slope), numbers: n },
        ),
    };
    let of_gradient = format!(
        "the private part of the gradient of models no longer than Λ = {:.4}, {parameters} \
         numbers in each step",
        largest.radius
    );
    let whose = if shape.most_records > 1 { "person" } else { "record" };
    let of_weights =
        format!("the slope of every private {whose}'s weight, {n} numbers in each step");
    let announced = vec![
        releases.gradient.announced(of_gradient, steps, gradient, Adjacency::ReplaceOne),
        releases.weights.announced(of_weights, steps, weights, Adjacency::ReplaceOne),
    ];
    (announced, releases)
}

/// The part of the objective and its slopes that some of the records contribute.
struct PartialObjective {
    value: f64,
    model: Vector,
    /// −ℓᵢqᵢ/vᵢ
    weights: Vec<f64>,
}

/// Records of a dataset with one weight move as their mean does; given weights stay.
fn share_slopes(sources: &[WeightedSource], slopes: &mut Vector) {
    for source in sources {
        let sum: f64 = source.members.iter().map(|member| slopes[*member]).sum();
        let mean = sum / source.members.len() as f64;
        for member in &source.members {
            slopes[*member] = if source.given.is_some() { 0.0 } else { mean };
        }
    }
}

impl WeightedDescent {
    fn theta(&self) -> &Vector {
        &self.iterates[self.iterates.len() - 1]
    }

    /// Gives public records the best weights for the model, if each has its own.
    fn weigh_public(&mut self) {
        if self.refined.is_none() || !self.sources.is_empty() {
            return;
        }
        let (m, unweighted) = (self.weights.caps.public_records, std::iter::repeat(0.0));
        let pass = self.public.pass(self.learner, self.theta(), unweighted, Largest::ANYTHING);
        let (penalty, _) = self.source.split(self.penalty);
        let losses: Vec<f64> = pass.losses.iter().map(|loss| loss + penalty).collect();
        let held = &self.weights.v.as_slice()[m..];
        self.weights = self.pulls.best_weights(self.weights.caps, &losses, held);
    }

    fn public_part(&self) -> PartialObjective {
        let weights = self.weights.public();
        let pass = self.public.pass(self.learner, self.theta(), weights, Largest::ANYTHING);
        let (penalty, _) = self.source.split(self.penalty);
        self.part(pass, penalty, 0)
    }

    fn private_part<F: ExampleColumns>(&self, records: &LabelledRecords<F>) -> PartialObjective {
        let unclipped = if planted(Fault::UnclippedWeights) { 6.0 } else { 1.0 };
        let weights = self.weights.private().map(|q| unclipped * q);
        // A record with less weight may have a longer gradient: their product is what counts.
        let v = &self.weights.v.as_slice()[self.weights.caps.public_records..];
        let room = self.refined.is_some().then(|| v.iter().copied());
        let theta = self.theta();
        let pass = records.pass_with_room(self.learner, theta, weights, self.largest, room);
        let (_, penalty) = self.source.split(self.penalty);
        self.part(pass, penalty, self.weights.caps.public_records)
    }

    /// The part of the records whose weights begin at `first`.
    fn part(&self, pass: LossPass, penalty: f64, first: usize) -> PartialObjective {
        let LossPass { losses, gradient: model } = pass;
        let suffered = losses.iter().zip(first..);
        PartialObjective {
            value: suffered
                .clone()
                .map(|(loss, index)| self.weights.of(index) * (loss + penalty))
                .sum(),
            model,
            weights: suffered
                .map(|(loss, index)| -self.weights.rate(index) * (loss + penalty))
                .collect(),
        }
    }

    /// Slopes of the whole objective, from the known private part.
    fn slopes(
        &self,
        public: &PartialObjective,
        model: &[f64],
        weights: &[f64],
    ) -> (Vector, Vector) {
        let data = public.weights.iter().chain(weights).copied();
        let by_data = Vector::from_iterator(self.weights.caps.records(), data);
        (
            &public.model + Vector::from_column_slice(model),
            by_data + self.pulls.slope(&self.weights),
        )
    }

    fn mapping(&self, model: &Vector, weights: &Vector) -> f64 {
        let beta = self.pace.beta;
        let ball = |w: &mut Vector| into_ball(w, self.largest.radius);
        let model = gradient_mapping(self.theta(), model, beta, ball);
        let floor = |v: &mut Vector| above(v, 1.0);
        let weights = gradient_mapping(&self.weights.v, weights, beta, floor);
        model.norm().hypot(weights.norm())
    }

    fn advance(&mut self, model: &Vector, weights: &Vector) -> Result<()> {
        let mut direction = model.clone();
        if let Some(refined) = &self.refined {
            refined.scale(&mut direction);
        }
        let mut theta = self.theta() - self.pace.model * direction;
        if !theta.iter().all(|entry| entry.is_finite()) {
            return Err(Error::failed(format!(
                "the weights grew without bound in step {}",
                self.iterates.len()
            ))
            .cure("take smaller steps"));
        }
        into_ball(&mut theta, self.largest.radius);
        let first = self.weights.caps.public_records;
        let mut weights = weights.clone();
        share_slopes(&self.sources, &mut weights);
        for (index, slope) in weights.iter().enumerate() {
            let pace = if index < first { self.pace.public } else { self.pace.private };
            self.weights.v[index] -= pace * slope;
        }
        above(&mut self.weights.v, 1.0);
        self.iterates.push(theta);
        Ok(())
    }

    fn delivered(&self) -> Vector {
        match self.returned {
            ReturnedModel::Tail(share) => mean_of_tail(&self.iterates, share),
            ReturnedModel::Step(step) => {
                self.iterates[(self.iterates.len() - 1).min(step as usize)].clone()
            }
        }
    }
}

impl Run for WeightedDescent {
    fn step(&mut self, spender: &mut Spender, watch: &Watch) -> Result<Step> {
        if let Some(penalty) = self.released_penalty.take() {
            let drawn = penalty.draw(spender, &self.public.data, &self.private, |it| &it.data)?;
            self.penalty = *drawn.get();
        }
        self.weigh_public();
        let public = self.public_part();
        // Both releases, and what the curator sees, come from one pass over the records.
        let private = self.private.map_unseen(|records| self.private_part(records));
        let whole = Reach::Ball(self.weights.caps.private_total() * self.largest.gradient);
        let gradient =
            private.release_gaussian(spender, self.releases.gradient, &whole, |part| {
                part.model.as_slice().to_vec()
            })?;
        let each = &Reach::EachRecord;
        let slopes = private
            .release_gaussian(spender, self.releases.weights, each, |part| part.weights.clone())?;
        let (by_model, by_weights) = self.slopes(&public, gradient.get(), slopes.get());

        let seen = public.value + self.pulls.value(&self.weights);
        let on_public: f64 = self.weights.public().sum();
        let total = on_public + self.weights.private().sum::<f64>();
        // The weights follow from earlier releases.
        let told = |series, value| Measure::released(series, slopes.and(value));
        let mut measures = vec![
            told(Series::PublicObjective, seen),
            told(Series::StationarityGap, self.mapping(&by_model, &by_weights)),
            told(Series::EffectiveSample, effective_sample(self.weights.public())),
            told(Series::PublicWeight, on_public / total),
        ];
        let look = |part: &PartialObjective| {
            let (model, weights) = self.slopes(&public, part.model.as_slice(), &part.weights);
            (seen + part.value, self.mapping(&model, &weights))
        };
        if let Some(looked) = private.curator(watch, look) {
            let value = looked.clone().map(|(value, _)| value);
            measures.push(Measure::curator(Series::ExactObjective, value));
            let gap = looked.map(|(_, gap)| gap);
            measures.push(Measure::curator(Series::ExactStationarityGap, gap));
        }

        self.advance(&by_model, &by_weights)?;
        let model = self.learner.model(self.public.data.dimension(), &self.delivered())?;
        self.model = Some(gradient.and(model));
        let index = self.iterates.len() as u64 - 1;
        let done = index == self.steps;
        Ok(Step { index, total: self.steps, phase: "descend", measures, done })
    }

    fn model(&self) -> Option<Released<Model>> {
        self.model.clone()
    }

    fn weights(&self) -> Option<Released<Vec<f64>>> {
        let weights = self.weights.public().collect();
        Some(self.model.as_ref()?.and(weights))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proptest::prelude::*;

    use super::*;
    use crate::data::Bounds;
    use crate::example;
    use crate::labelled::weighted::objective::Caps;
    use crate::numeric::Matrix;
    use crate::privacy::accountant::QueryKind;
    use halflight_testing::{self as golden, Golden};

    /// The five records of the reference at its w and the u of `case`.
    fn reference(
        learner: Learner,
        pulls: Pulls,
        case: &str,
        radius: f64,
    ) -> (WeightedDescent, LabelledRecords<Matrix>) {
        let golden = golden::adaptation();
        let labels = match learner {
            Learner::Squared => {
                [golden.vector("common.ypub").as_slice(), golden.vector("common.ypriv").as_slice()]
                    .concat()
            }
            _ => golden.vector("J.labels").as_slice().to_vec(),
        };
        let records = |x: &str, labels: &[f64]| {
            let data = example::labelled(golden.records(x), labels.to_vec());
            LabelledRecords::labelled(data.into(), labels.to_vec())
        };
        let (public, private) =
            (records("common.Xpub", &labels[..3]), records("common.Xpriv", &labels[3..]));
        let caps = Caps::new(golden.number("common.alpha"), 3, 2);
        let u = golden.vector(case);
        let v = Vector::from_fn(5, |i, _| u[i] * if i < 3 { caps.public } else { caps.private });
        let bounds = Bounds { feature_norm: 1.0, label: 1.0 };
        // Nothing is drawn with it.
        let unused = Release::new("unused", Gaussian { sensitivity: 1.0, numbers: 1 });
        let descent = WeightedDescent {
            releases: Releases { gradient: unused, weights: unused },
            learner,
            pulls,
            penalty: golden.number("common.d_dp"),
            source: SourceSide::Public,
            released_penalty: None,
            largest: learner.largest(bounds, radius),
            pace: Pace { model: 0.0, public: 0.0, private: 0.0, beta: 1.0 },
            refined: None,
            steps: 4,
            returned: ReturnedModel::Tail(0.0),
            public: public.in_doubles(),
            private: Private::new(private.clone().in_singles()),
            weights: Weights { caps, v },
            sources: Vec::new(),
            iterates: vec![golden.vector("common.w")],
            model: None,
        };
        (descent, private)
    }

    #[test]
    fn records_of_a_dataset_keep_one_weight_and_a_given_one_stays() {
        let pulls = Pulls { total: 0.1, square: 0.0, largest: 0.0, sharpness: None };
        let (mut descent, private) = reference(Learner::Squared, pulls, "F.u", 1.0);
        let source = |members, given| WeightedSource { members, given };
        descent.sources = vec![source(vec![0, 2], None), source(vec![1], Some(0.5))];
        descent.weights = Weights::of_sources(descent.weights.caps, &descent.sources);
        assert_eq!(descent.weights.v.as_slice(), [1.0, 2.0, 1.0, 1.0, 1.0]);
        descent.pace = Pace { model: 0.1, public: 2.0, private: 2.0, beta: 1.0 };
        let (public, part) = (descent.public_part(), descent.private_part(&private));
        let (w, v) = descent.slopes(&public, part.model.as_slice(), &part.weights);
        descent.advance(&w, &v).unwrap();
        let found = &descent.weights.v;
        let mean = f64::midpoint(v[0], v[2]);
        assert!(mean < 0.0 && v[0] != v[2], "{v}");
        assert_eq!((found[0], found[1], found[2]), (1.0 - 2.0 * mean, 2.0, found[0]));
    }

    fn strengths(golden: &Golden, keys: [&str; 3]) -> [f64; 3] {
        keys.map(|key| golden.number(key))
    }

    fn cases() -> [(&'static str, Learner, Pulls); 2] {
        let golden = golden::adaptation();
        let [total, square, largest] = strengths(&golden, ["F.kappa1", "F.kappa2", "F.kappa_inf"]);
        let convex = Pulls { total, square, largest, sharpness: None };
        let [total, square, largest] =
            strengths(&golden, ["J.lambda1", "J.lambda2", "J.lambda_inf"]);
        let sharpness = golden.number("J.mu");
        let smooth = Pulls { total, square, largest, sharpness: Some(sharpness) };
        [("F", Learner::Squared, convex), ("J", Learner::Logistic, smooth)]
    }

    #[test]
    fn values_and_all_gradient_blocks_agree_with_the_reference() {
        let golden = golden::adaptation();
        for (case, learner, pulls) in cases() {
            let (descent, private) = reference(learner, pulls, &format!("{case}.u"), 1.0);
            let (public, part) = (descent.public_part(), descent.private_part(&private));
            let value = public.value + part.value + pulls.value(&descent.weights);
            assert!((value - golden.number(&format!("{case}.value"))).abs() < 1e-12);
            let (w, v) = descent.slopes(&public, part.model.as_slice(), &part.weights);
            golden::assert_near(&w, &golden.vector(&format!("{case}.grad_w")), 1e-12);
            let caps = descent.weights.caps;
            let u = |block: &str| golden.vector(&format!("{case}.{block}"));
            // ∂/∂u = c·∂/∂v.
            let by_public = caps.public * v.rows(0, 3);
            golden::assert_near(&by_public.into_owned(), &u("grad_u_pub"), 1e-13);
            let by_private = caps.private * v.rows(3, 2);
            golden::assert_near(&by_private.into_owned(), &u("grad_u_priv"), 1e-13);
        }
    }

    #[test]
    fn four_printed_steps_without_noise_end_where_the_reference_ends() {
        let golden = golden::adaptation();
        let [total, square, largest] = [0, 1, 2]
            .map(|index| golden.value("alg1_steps_eps_inf.kappas")[index].as_f64().unwrap());
        let pulls = Pulls { total, square, largest, sharpness: None };
        let (mut descent, private) = reference(Learner::Squared, pulls, "F.u", 1.0);
        descent.pace = crate::labelled::cnvx_adap::printed_pace(
            descent.largest,
            pulls,
            descent.weights.caps,
            4,
            descent.theta().len(),
            (0.0, 0.0),
            SourceSide::Public,
        );
        for _ in 0..4 {
            let (public, part) = (descent.public_part(), descent.private_part(&private));
            let (w, v) = descent.slopes(&public, part.model.as_slice(), &part.weights);
            descent.advance(&w, &v).unwrap();
        }
        let number = |key: &str| golden.number(&format!("alg1_steps_eps_inf.{key}"));
        assert!((descent.pace.model - number("eta_w")).abs() < 1e-12);
        let caps = descent.weights.caps;
        let eta = descent.pace.public / caps.public.powi(2);
        assert!((eta - number("eta_u_pub")).abs() < 1e-10);
        let eta = descent.pace.private / caps.private.powi(2);
        assert!((eta - number("eta_u_priv")).abs() < 1e-10);
        golden::assert_near(descent.theta(), &golden.vector("alg1_steps_eps_inf.w_after"), 1e-10);
        let v = &descent.weights.v;
        let u = Vector::from_fn(5, |i, _| v[i] / if i < 3 { caps.public } else { caps.private });
        golden::assert_near(&u, &golden.vector("alg1_steps_eps_inf.u_after"), 1e-10);
    }

    /// Two records with two features, with features and labels up to 1. The first record is
    /// replaced. With the sensitivities of both releases; every weight is at its largest.
    struct RecordPair {
        descent: WeightedDescent,
        records: LabelledRecords<Matrix>,
        sensitivities: [f64; 2],
    }

    impl RecordPair {
        fn of(learner: Learner, theta: &[f64]) -> Self {
            Self::with_persons(learner, theta, 1)
        }

        fn with_persons(learner: Learner, theta: &[f64], most_records: usize) -> Self {
            let pulls = Pulls { total: 0.0, square: 0.0, largest: 0.0, sharpness: None };
            let theta = Vector::from_column_slice(theta);
            let (mut descent, records) = reference(learner, pulls, "F.u", theta.norm());
            descent.iterates = vec![theta];
            descent.weights.v.fill(1.0);
            let shape = ProblemShape {
                private_records: 2,
                most_records,
                joint: None,
                public_records: 3,
                dimension: 2,
                bounds: Bounds { feature_norm: 1.0, label: 1.0 },
                private_labels: true,
                classes: Vec::new(),
                start: None,
            };
            let alpha = 1.0 - 2.0 * descent.weights.caps.private;
            let noise = Allotment::Share(0.5);
            let (planned, _) = releases(learner, &shape, descent.largest, alpha, 1, (noise, noise));
            let sensitivities = [0, 1].map(|release| planned[release].query.sensitivity);
            Self { descent, records, sensitivities }
        }

        /// Both releases with this record in the first place.
        fn with(&self, angle: f64, y: f64) -> (Vector, Vector) {
            let records = self.records.with_first(&[angle.cos(), angle.sin()], y);
            let part = self.descent.private_part(&records);
            (part.model, Vector::from_vec(part.weights))
        }

        /// The largest share of either sensitivity that a pair of neighbours attains: records with
        /// the longest allowed features, in all directions, with the largest labels and one in
        /// between.
        fn attained(&self, labels: &[f64]) -> [f64; 2] {
            let angles = (0..120).map(|k| f64::from(k) * std::f64::consts::TAU / 120.0);
            let all: Vec<(Vector, Vector)> = angles
                .flat_map(|angle| labels.iter().map(move |y| (angle, *y)))
                .map(|(angle, y)| self.with(angle, y))
                .collect();
            farthest(&all, self.sensitivities)
        }
    }

    /// The largest distance between two of these, relative to the sensitivities.
    fn farthest(all: &[(Vector, Vector)], sensitivities: [f64; 2]) -> [f64; 2] {
        let mut farthest = [0.0_f64; 2];
        for (i, one) in all.iter().enumerate() {
            for other in &all[..i] {
                let moved = [(&one.0 - &other.0).norm(), (&one.1 - &other.1).norm()];
                for (farthest, moved) in farthest.iter_mut().zip(moved) {
                    *farthest = farthest.max(moved);
                }
            }
        }
        [0, 1].map(|release| farthest[release] / sensitivities[release])
    }

    /// If nearly all of the gradient's length comes from the label, neighbours attain 91 % of its
    /// sensitivity. With a longer model they cannot, because the longest gradients all point the
    /// same way: 65 % remain at rΛ = y_max, and half in the limit. The slopes attain their
    /// sensitivity.
    #[test]
    fn neighbours_attain_both_sensitivities_of_the_squared_loss_with_a_short_model() {
        for (radius, gradient) in [(0.1, 0.91..=1.0), (1.0, 0.64..=0.66), (100.0, 0.49..=0.51)] {
            let pair = RecordPair::of(Learner::Squared, &[radius, 0.0]);
            let attained = pair.attained(&[-1.0, -radius.min(1.0), radius.min(1.0), 1.0]);
            assert!(gradient.contains(&attained[0]), "{radius}: {attained:?}");
            assert!(attained[0] <= 1.0, "{radius}: {attained:?}");
            let slope = if radius > 1.0 { 0.98..=1.0 } else { 0.999..=1.0 };
            assert!(slope.contains(&attained[1]), "{radius}: {attained:?}");
        }
    }

    #[test]
    fn neighbours_attain_both_sensitivities_of_the_logistic_loss() {
        let linear = RecordPair::of(Learner::Logistic, &[10.0, 0.0]).attained(&[-1.0, 1.0]);
        // One unit: W = (1, 0) and a. The gradient is steepest where the unit is not saturated,
        // and the loss is largest where it is.
        let steep = RecordPair::of(Learner::Network { units: 1 }, &[1.0, 0.0, 100.0]);
        let flat = RecordPair::of(Learner::Network { units: 1 }, &[3.0, 0.0, 10.0]);
        let (steep, flat) = (steep.attained(&[-1.0, 1.0]), flat.attained(&[-1.0, 1.0]));
        for attained in [linear[0], linear[1], steep[0], flat[1]] {
            assert!((0.9..=1.0).contains(&attained), "{linear:?} {steep:?} {flat:?}");
        }
        assert!(steep[1] <= 1.0 && flat[0] <= 1.0, "{steep:?} {flat:?}");
    }

    /// The penalty moves to the private records, and no bound with it.
    #[test]
    fn a_private_source_moves_the_penalty_and_both_sensitivities_stay_and_are_attained() {
        let mut pair = RecordPair::of(Learner::Logistic, &[10.0, 0.0]);
        let usual = pair.attained(&[-1.0, 1.0]);
        pair.descent.penalty = 3.0;
        pair.descent.source = SourceSide::Private;
        let turned = pair.attained(&[-1.0, 1.0]);
        for (one, other) in usual.iter().zip(turned) {
            assert!((one - other).abs() < 1e-9 && (0.9..=1.0).contains(&other), "{turned:?}");
        }
        let (public, private) =
            (pair.descent.public_part(), pair.descent.private_part(&pair.records));
        pair.descent.source = SourceSide::Public;
        let (before, theirs) =
            (pair.descent.public_part(), pair.descent.private_part(&pair.records));
        let caps = pair.descent.weights.caps;
        let (all, rest) = (3.0 * caps.public, caps.private_total());
        assert!((before.value - public.value - 3.0 * all).abs() < 1e-12);
        assert!((private.value - theirs.value - 3.0 * rest).abs() < 1e-12);
        assert!((private.weights[0] - theirs.weights[0] + 3.0 * caps.private).abs() < 1e-12);
        assert_eq!(public.model, before.model);
    }

    /// Where one class leads far before both others, a record of another has the longest gradient.
    /// Where two classes are furthest apart, a record has the largest loss.
    #[test]
    fn neighbours_attain_both_sensitivities_of_the_softmax_loss() {
        let of = |first: [f64; 3]| {
            let theta = 10.0 * Vector::from_column_slice(&first).normalize();
            let theta: Vec<f64> = theta.iter().flat_map(|weight| [*weight, 0.0]).collect();
            RecordPair::of(Learner::Softmax { classes: 3 }, &theta).attained(&[0.0, 1.0, 2.0])
        };
        let (steep, apart) = (of([2.0, -1.0, -1.0]), of([1.0, -1.0, 0.0]));
        assert!((0.9..=1.0).contains(&steep[0]) && steep[1] <= 1.0, "{steep:?}");
        assert!((0.9..=1.0).contains(&apart[1]) && apart[0] <= 1.0, "{apart:?}");
    }

    /// The clipped gradient attains its sensitivity with records on opposite sides, whatever the
    /// weight of the record, and no record passes it.
    #[test]
    fn neighbours_attain_the_sensitivity_of_the_clipped_gradient_at_any_weight() {
        for v in [1.0, 3.0] {
            let (radius, kappa) = (2.0, 0.04_f64);
            let mut pair = RecordPair::of(Learner::Squared, &[radius, 0.0]);
            let unclipped = pair.descent.largest.gradient;
            pair.descent.largest.gradient = 2.0 * kappa.sqrt();
            pair.descent.refined = Some(Refinement::default());
            pair.descent.weights.v[3] = v;
            pair.sensitivities[0] *= 2.0 * kappa.sqrt() / unclipped;
            let attained = pair.attained(&[-1.0, 1.0]);
            assert!((0.999..=1.0).contains(&attained[0]), "{v}: {attained:?}");
            assert!(attained[1] <= 1.0, "{v}: {attained:?}");
        }
    }

    /// Two persons with up to this many records. The first person is replaced.
    struct PersonPair {
        pair: RecordPair,
        most: usize,
    }

    impl PersonPair {
        fn of(learner: Learner, theta: &[f64], most: usize) -> Self {
            Self { pair: RecordPair::with_persons(learner, theta, most), most }
        }

        /// Both releases with these records of the first person.
        fn with(&self, own: &[(f64, f64)]) -> (Vector, Vector) {
            let other = (self.pair.records.data.features.column(1), self.pair.records.labels()[1]);
            let features = Matrix::from_fn(2, own.len() + 1, |row, at| {
                let angle = own.get(at).map(|record| [record.0.cos(), record.0.sin()]);
                angle.map_or(other.0[row], |x| x[row])
            });
            let labels: Vec<f64> = own.iter().map(|record| record.1).chain([other.1]).collect();
            let mut data = example::labelled(features, labels.clone());
            data.persons = Some(Arc::new(crate::data::Persons::of_counts([own.len(), 1])));
            let records = LabelledRecords::labelled(Arc::new(data), labels);
            let part = self.pair.descent.private_part(&records);
            (part.model, Vector::from_vec(part.weights))
        }

        /// The largest share of either sensitivity that a pair of persons attains: with one record,
        /// with equal ones, with different ones, and with none.
        fn attained(&self, labels: &[f64]) -> [f64; 2] {
            let angles = (0..36).map(|k| f64::from(k) * std::f64::consts::TAU / 36.0);
            let records: Vec<(f64, f64)> =
                angles.flat_map(|angle| labels.iter().map(move |y| (angle, *y))).collect();
            let mut all = vec![self.with(&[])];
            for (k, one) in records.iter().enumerate() {
                all.push(self.with(&[*one]));
                all.push(self.with(&vec![*one; self.most]));
                for other in records[..k].iter().step_by(6) {
                    all.push(self.with(&[*one, *other]));
                }
            }
            farthest(&all, self.pair.sensitivities)
        }
    }

    /// A person with any records attains as much as a single record, and no more.
    #[test]
    fn persons_attain_both_sensitivities_as_records_do_and_pass_neither() {
        let labels = [-1.0, 1.0];
        let single = RecordPair::of(Learner::Squared, &[0.1, 0.0]).attained(&labels);
        let persons = PersonPair::of(Learner::Squared, &[0.1, 0.0], 3).attained(&labels);
        assert!(persons[0] > 0.9 && persons[0] <= single[0] + 1e-9, "{persons:?} {single:?}");
        assert!((0.999..=1.0).contains(&persons[1]), "{persons:?}");

        let linear = PersonPair::of(Learner::Logistic, &[10.0, 0.0], 3).attained(&labels);
        let network = PersonPair::of(Learner::Network { units: 1 }, &[1.0, 0.0, 100.0], 3);
        let network = network.attained(&labels);
        assert!((0.9..=1.0).contains(&linear[0]) && (0.9..=1.0).contains(&linear[1]), "{linear:?}");
        assert!((0.9..=1.0).contains(&network[0]) && network[1] <= 1.0, "{network:?}");
    }

    proptest! {
        #[test]
        fn no_pair_of_neighbours_moves_either_release_by_more_than_its_sensitivity(
            x in proptest::collection::vec(-3.0..3.0_f64, 4),
            y in prop_oneof![Just(-1.0), Just(1.0)],
            v in 1.0..3.0_f64,
        ) {
            for (_, learner, pulls) in cases() {
                let (mut descent, private) = reference(learner, pulls, "common.u", 1.0);
                descent.weights.v[3] = v;
                let shape = ProblemShape {
                    private_records: 2,
                    most_records: 1,
                    joint: None,
                    public_records: 3,
                    dimension: 2,
                    bounds: Bounds { feature_norm: 1.0, label: 1.0 },
                    private_labels: true,
                    classes: Vec::new(),
                    start: None,
                };
                let noise = Allotment::Share(0.5);
                let (planned, _) =
                    releases(learner, &shape, descent.largest, 0.4, 1, (noise, noise));
                let with = |x, y| descent.private_part(&private.with_first(x, y));
                let (one, other) = (with(&x[..2], y), with(&x[2..], -y));
                let gradients = (one.model - other.model).norm();
                let slopes = Vector::from_vec(one.weights) - Vector::from_vec(other.weights);
                for (release, moved) in planned.iter().zip([gradients, slopes.norm()]) {
                    prop_assert_eq!(release.query.kind, QueryKind::Gaussian);
                    let l2_sensitivity = release.query.sensitivity;
                    prop_assert!(moved <= l2_sensitivity, "{} {moved}", release.label);
                }
            }
        }
    }
}
