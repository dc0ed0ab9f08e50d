//! Adaptation with weights in closed form: the shared parts of the profiled methods.
//!
//! Record i has a largest weight cᵢ (α/m public, (1−α)/n private) and a loss aᵢ = ℓ(xᵢ·w, yᵢ) +
//! d̂·\[public\]. The weights qᵢ = cᵢ·min(1, √(κ₁/aᵢ)) minimise the objective of CnvxAdap over q in
//! closed form, which leaves
//!
//! > F(w) = Σ cᵢ·φ(aᵢ),  φ(a) = a for a ≤ κ₁, else 2√(κ₁a) − κ₁,
//!
//! For squared loss, F is convex, and it is Huber's loss of the residual where d̂ = 0.
//!
//! *Sensitivity.* Every private record's part of the gradient is clipped to norm c·C, so replacing
//! one moves the sum by at most 2c·C, for any w and any records. For squared loss C = 2√κ₁·r clips
//! nothing within the bounds, since φ′(a)·2|res|·‖x‖ = 2·min(|res|, √κ₁)·‖x‖; for logistic
//! and softmax loss C is a choice.
//!
//! *Persons.* Where persons are protected, n counts persons, and a record's weight cᵢ is the
//! person's weight divided by the number of the person's records. A person's part of the gradient
//! is then a mean of vectors no longer than c·C. Where public records name persons, they show how
//! long such a mean usually is: much shorter, where the slopes of one person's records cancel. Then
//! no record is clipped. Instead the mean is multiplied by a public factor and clipped to c·C, and
//! the released sum is divided by the same factor.
//!
//! | module | holds |
//! |---|---|
//! | this | the objective of one side, its gradient, its weights |
//! | [`batches`] | the private records that a step uses, and the plan that follows |
//! | [`public_side`] | public records with a weight each, or one for each dataset |
//! | [`descent`] | preconditioned descent around the public solution, and the run |

pub(super) mod batches;
pub(super) mod descent;
pub(super) mod public_side;

use std::ops::Range;

use super::records::{LabelledRecords, RecordLoss, ScoreLoss};
use crate::data::Persons;
use crate::model::softmax;
use crate::numeric::columns::{ExampleColumns, view};
use crate::numeric::doubles::Doubles;
use crate::numeric::fused::{self, Slopes};
use crate::numeric::projection::shrink_factor;
use crate::numeric::rounding::summation_error;
use crate::numeric::{Vector, parallel};
use crate::{ProblemShape, effective_sample_of};

/// Slopes of persons are clipped at this many times their public root mean square, but not below a
/// part of a record's bound.
const PERSONS_ROOM: f64 = 0.8;
const MOST_GAIN: f64 = 50.0;

/// The shape of the objective: known before private data are touched.
#[derive(Debug, Clone, Copy)]
pub struct Profile {
    /// The minimised loss.
    pub loss: RecordLoss,
    /// The share of the public records in the objective.
    pub alpha: f64,
    /// κ₁
    pub kappa: f64,
    /// d̂ ≥ 0, on public records only: on private ones it would break the sensitivity.
    pub penalty: f64,
    /// C
    pub clip: f64,
    /// Whether public records keep their largest weight for any loss: α-pooling.
    pub pooled: bool,
    /// The factor by which the slope of a person is lengthened for clipping, if persons are clipped
    /// and not their records.
    pub gain: Option<f64>,
}

impl Profile {
    /// Largest norm of one private record's part of the gradient.
    pub fn influence(&self, records: usize) -> f64 {
        (1.0 - self.alpha) / records as f64 * self.clip
    }

    /// Replace-one ℓ₂ sensitivity of the private gradient *as it is computed*: the sum of
    /// n floating-point vectors is not the true sum, under either neighbour.
    pub fn sensitivity(&self, shape: &ProblemShape) -> f64 {
        let n = shape.private_records;
        let summed = n * shape.most_records + self.loss.parameters(shape.dimension) + 16;
        let rounding = n as f64 * summation_error(summed);
        2.0 * self.influence(n) * (1.0 + rounding)
    }

    /// The factor by which released slopes are lengthened.
    pub fn factor(&self) -> f64 {
        self.gain.unwrap_or(1.0)
    }

    /// The profile for persons, if the public records at this point show how long the mean slopes
    /// of persons are.
    pub fn for_persons(
        self,
        public: &LabelledRecords<Doubles>,
        persons: Option<&Persons>,
        most: usize,
        at: &Vector,
    ) -> Self {
        let (Some(persons), RecordLoss::Score(loss)) = (persons.filter(|_| most > 1), self.loss)
        else {
            return self;
        };
        let square = |own: Range<usize>| {
            let own: Vec<usize> = own.take(most).collect();
            let (mut sum, mut room) = (Vector::zeros(at.len()), Vec::new());
            for record in &own {
                let x = view(public.data.features.read(*record..record + 1, &mut room));
                let y = public.labels()[*record];
                let score = x.dot(at);
                let (value, slope) = loss.with_slope(score, y);
                let kept = profiled(value, self.kappa).1;
                sum.axpy(kept * slope / own.len() as f64, &x, 1.0);
            }
            sum.norm_squared()
        };
        let squares: f64 = persons.iter().filter(|own| !own.is_empty()).map(square).sum();
        let length = PERSONS_ROOM * (squares / persons.count() as f64).sqrt();
        let gain = (self.clip / length).min(MOST_GAIN);
        if gain > 1.0 { Self { gain: Some(gain), ..self } } else { self }
    }

    /// The public part of the objective.
    pub fn public<'a, F>(&self, records: &'a LabelledRecords<F>) -> SidePart<'a, F> {
        SidePart {
            gain: None,
            records,
            loss: self.loss,
            weight: self.alpha / records.labels().len() as f64,
            penalty: self.penalty,
            kappa: if self.pooled { f64::INFINITY } else { self.kappa },
            influence: f64::INFINITY,
        }
    }

    /// `count` is the planned number of records.
    pub fn private<'a, F>(&self, records: &'a LabelledRecords<F>, count: usize) -> SidePart<'a, F> {
        SidePart {
            records,
            loss: self.loss,
            weight: (1.0 - self.alpha) / count as f64,
            penalty: 0.0,
            kappa: self.kappa,
            influence: self.influence(count),
            gain: self.gain.filter(|_| records.data.persons.is_some()),
        }
    }
}

/// φ(a), and φ′(a): the share of its largest weight that a record keeps.
#[inline]
pub fn profiled(loss: f64, kappa: f64) -> (f64, f64) {
    if loss <= kappa {
        return (loss, 1.0);
    }
    let kept = (kappa / loss).sqrt();
    (2.0 * kept * loss - kappa, kept)
}

/// The records of one side in the objective.
#[derive(Debug, Clone)]
pub struct SidePart<'a, F> {
    /// The records whose losses are added.
    pub records: &'a LabelledRecords<F>,
    loss: RecordLoss,
    /// cᵢ
    pub weight: f64,
    penalty: f64,
    kappa: f64,
    /// No record, or no person, moves the gradient by more.
    pub influence: f64,
    /// If persons are clipped, the factor for their slopes.
    gain: Option<f64>,
}

/// The results of one pass over the records: the objective at a point.
#[derive(Debug, Clone)]
pub struct ObjectivePass {
    /// Σ cᵢφ′(aᵢ)ℓ′(xᵢ·w)xᵢ, every term clipped to `influence`.
    pub gradient: Vector,
    /// Σ cᵢφ(aᵢ)
    pub value: f64,
    /// The mean of ℓ, without the penalty.
    pub mean_loss: f64,
    /// Σ qᵢ
    pub weight: f64,
    /// (Σ qᵢ)²/Σ qᵢ²
    pub effective_sample: f64,
}

/// The number of records whose slopes are computed together, and of partial sums of the other
/// results: loops over whole registers, without dependent sums.
const BLOCK: usize = 16;
const LANES: usize = 8;

/// The scales of a [`SidePart`].
#[derive(Debug, Clone, Copy)]
struct Scales {
    weight: f64,
    penalty: f64,
    kappa: f64,
    influence: f64,
    gain: Option<f64>,
}

/// Computes the slopes of a pass, and adds up the other results.
struct SlopeSums<'a> {
    labels: &'a [f64],
    norms: &'a [f64],
    /// `None`: all are 1.
    shares: Option<&'a [f64]>,
    of: ScoreLoss,
    scales: Scales,
    profiled: [f64; LANES],
    loss: [f64; LANES],
    kept: [f64; LANES],
    kept_squares: [f64; LANES],
}

impl Slopes for SlopeSums<'_> {
    // Compiled as a part of the pass, for the instruction set detected at run time.
    #[allow(clippy::inline_always)]
    #[inline(always)]
    fn slopes(&mut self, first: usize, scores: &mut [f64]) {
        let Self { labels, norms, shares, .. } = *self;
        for (at, scores) in scores.chunks_mut(BLOCK).enumerate() {
            let start = first + at * BLOCK;
            let block = start..start + scores.len();
            let (labels, norms) = (&labels[block.clone()], &norms[block.clone()]);
            let shares = match shares {
                Some(shares) => &shares[block],
                None => &[1.0; BLOCK][..scores.len()],
            };
            // Matched once per block, not once per record.
            match self.of {
                ScoreLoss::Squared => self.block(ScoreLoss::Squared, scores, labels, norms, shares),
                ScoreLoss::Logistic => {
                    self.block(ScoreLoss::Logistic, scores, labels, norms, shares);
                }
            }
        }
    }
}

impl SlopeSums<'_> {
    #[allow(clippy::inline_always)]
    #[inline(always)]
    fn block(
        &mut self,
        loss: ScoreLoss,
        scores: &mut [f64],
        labels: &[f64],
        norms: &[f64],
        weights: &[f64],
    ) {
        let Scales { weight, penalty, kappa, influence, gain } = self.scales;
        // If persons are clipped, their records are not.
        let (factor, influence) = gain.map_or((1.0, influence), |gain| (gain, f64::INFINITY));
        let [mut values, mut losses, mut shares, mut squares, mut slopes] = [[0.0; BLOCK]; 5];
        // A loop of its own: exponentials of several records at once.
        for (((score, y), suffered), slope) in
            scores.iter().zip(labels).zip(&mut losses).zip(&mut slopes)
        {
            (*suffered, *slope) = loss.with_slope(*score, *y);
        }
        let told = losses.iter_mut().zip(&mut values).zip(shares.iter_mut().zip(&mut squares));
        let records = scores.iter_mut().zip(&slopes).zip(norms.iter().zip(weights));
        for (((score, slope), (norm, own)), ((suffered, value), (share, square))) in
            records.zip(told)
        {
            let loss_of_it = *suffered;
            let (profiled, kept) = profiled(loss_of_it + penalty, kappa);
            (*suffered, *value) = (own * loss_of_it, own * profiled);
            (*share, *square) = (own * kept, own * kept * kept);
            let slope = factor * weight * kept * slope;
            let shrink = own * shrink_factor(slope.abs() * norm, influence);
            *score = if shrink > 0.0 { shrink * slope } else { 0.0 };
        }
        add(&mut self.profiled, &values);
        add(&mut self.loss, &losses);
        add(&mut self.kept, &shares);
        add(&mut self.kept_squares, &squares);
    }
}

#[allow(clippy::inline_always)]
#[inline(always)]
fn add(sums: &mut [f64; LANES], terms: &[f64; BLOCK]) {
    for terms in terms.as_chunks::<LANES>().0 {
        for (sum, term) in sums.iter_mut().zip(terms) {
            *sum += term;
        }
    }
}

impl<F: ExampleColumns> SidePart<'_, F> {
    /// A record that is not finite is ignored in the gradient.
    pub fn pass(&self, w: &Vector) -> ObjectivePass {
        let of = match self.loss {
            RecordLoss::Score(of) => of,
            RecordLoss::Softmax { classes } => return self.softmax_pass(classes, w),
        };
        let zero = [0.0; LANES];
        let LabelledRecords { data, norms, shares, .. } = self.records;
        let Self { weight, penalty, kappa, influence, gain, .. } = *self;
        let sums = || SlopeSums {
            labels: self.records.labels(),
            norms,
            shares: shares.as_deref(),
            of,
            scales: Scales { weight, penalty, kappa, influence, gain },
            profiled: zero,
            loss: zero,
            kept: zero,
            kept_squares: zero,
        };
        let features = &data.features;
        let threads = parallel::threads();
        let persons = data.persons.as_ref().filter(|_| gain.is_some());
        let (gradient, parts) = match persons {
            None => fused::with_slopes(features, w, threads, sums),
            Some(persons) => {
                let own: Vec<Range<usize>> = persons.iter().collect();
                fused::by_group(features, w, threads, sums, (&own, self.influence))
            }
        };
        let total =
            |of: &dyn Fn(&SlopeSums<'_>) -> [f64; LANES]| parts.iter().flat_map(of).sum::<f64>();
        let kept = total(&|sums| sums.kept);
        ObjectivePass {
            gradient,
            value: self.weight * total(&|sums| sums.profiled),
            mean_loss: total(&|sums| sums.loss) / self.records.protected() as f64,
            weight: self.weight * kept,
            effective_sample: effective_sample_of(kept, total(&|sums| sums.kept_squares)),
        }
    }

    /// [`Self::pass`] for a score per class. Records are clipped, also where persons are protected.
    fn softmax_pass(&self, classes: usize, w: &Vector) -> ObjectivePass {
        let LabelledRecords { data, norms, shares, .. } = self.records;
        let labels = self.records.labels();
        let share = |at: usize| shares.as_ref().map_or(1.0, |shares| shares[at]);
        let slopes_of = |at: usize, x: &[f64], slopes: &mut [f64], sums: &mut [f64; 4]| {
            let loss = softmax::loss_and_slopes(x, labels[at] as usize, w.as_slice(), slopes);
            let (value, kept) = profiled(loss + self.penalty, self.kappa);
            let terms = [value, loss, kept, kept * kept];
            sums.iter_mut().zip(terms).for_each(|(sum, term)| *sum += share(at) * term);
            let length = slopes.iter().map(|slope| slope * slope).sum::<f64>().sqrt();
            let weight = self.weight * kept;
            let shrink = share(at) * shrink_factor(weight * length * norms[at], self.influence);
            for slope in slopes {
                *slope *= shrink * weight;
            }
            shrink > 0.0
        };
        let (gradient, parts) = softmax::sums(&data.features, classes, slopes_of);
        let [value, loss, kept, squares] =
            [0, 1, 2, 3].map(|which| parts.iter().map(|sums| sums[which]).sum::<f64>());
        ObjectivePass {
            gradient,
            value: self.weight * value,
            mean_loss: loss / self.records.protected() as f64,
            weight: self.weight * kept,
            effective_sample: effective_sample_of(kept, squares),
        }
    }

    /// qᵢ = cᵢφ′(aᵢ)
    pub fn weights(&self, w: &Vector) -> Vec<f64> {
        let LabelledRecords { data, .. } = self.records;
        let labels = self.records.labels();
        let mut weights = Vec::with_capacity(labels.len());
        data.features.each(|at, x| {
            let y = labels[at];
            let loss = match self.loss {
                RecordLoss::Score(loss) => {
                    loss.with_slope(x.iter().zip(w).map(|(x, w)| x * w).sum(), y).0
                }
                RecordLoss::Softmax { classes } => {
                    let (class, slopes) = (y as usize, &mut vec![0.0; classes]);
                    softmax::loss_and_slopes(x, class, w.as_slice(), slopes)
                }
            };
            weights.push(self.weight * profiled(loss + self.penalty, self.kappa).1);
        });
        weights
    }
}
