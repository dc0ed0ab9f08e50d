//! A model's scores from a released tally.

use serde::{Deserialize, Serialize};

use super::definition::Loss;
use super::interval;
use super::law::Law;
use super::tally::{BINS, Kind, PER_PART, Tally};
use super::together::Noise;
use crate::numeric::Vector;
use crate::numeric::projection::onto_simplex;

/// A released number with an interval that contains the truth 95 times out of 100.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Score {
    /// The estimate.
    pub value: f64,
    /// The lower end of its interval.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

impl Score {
    /// Whether the interval covers this number.
    pub fn holds(&self, truth: f64) -> bool {
        (self.low..=self.high).contains(&truth)
    }

    /// One estimate of what several releases told, and how many of them it comes from; the more precise
    /// ones count more. Their records may be
    /// the same ones, so the range is as wide as if all of them erred together: the standard deviation of
    /// a weighted mean is at most the weighted mean of theirs. Much wider ones are left out: they would
    /// only widen it.
    pub fn pooled(scores: &[Self]) -> Option<(Self, usize)> {
        const MUCH_WIDER: f64 = 1.25;
        let width = |it: &Self| it.high - it.low;
        let least = scores.iter().map(width).fold(f64::INFINITY, f64::min);
        let scores = || scores.iter().filter(|it| width(it) <= MUCH_WIDER * least);
        let weight = |it: &Self| (it.high - it.low).max(f64::MIN_POSITIVE).powi(-2).min(1e200);
        let all: f64 = scores().map(weight).sum();
        let mean = |of: fn(&Self) -> f64| scores().map(|it| weight(it) / all * of(it)).sum::<f64>();
        let pooled =
            Self { value: mean(|it| it.value), low: mean(|it| it.low), high: mean(|it| it.high) };
        (all > 0.0).then(|| (pooled, scores().count()))
    }

    pub(super) fn map(self, change: impl Fn(f64) -> f64) -> Self {
        Self { value: change(self.value), low: change(self.low), high: change(self.high) }
    }

    pub(super) fn within(self, low: f64, high: f64) -> Self {
        self.map(|it| it.clamp(low, high))
    }
}

/// The share of wrong answers among the records of one class.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClassScore {
    /// The class.
    pub class: String,
    /// The estimated number of its held-out records.
    pub records: f64,
    /// `None` if hardly any record has the class.
    pub wrong: Option<Score>,
}

/// Everything released about a model on held-out private records.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scored {
    /// Held-out rows.
    pub records: usize,
    /// The private dataset of the rows, if it is not that of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elsewhere: Option<Elsewhere>,
    /// The estimated number of usable rows, if gaps count separately; without it, an unusable row
    /// counts as wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usable: Option<f64>,
    /// The loss for numbers; without it the error is the share of wrong answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss: Option<Loss>,
    /// The unit of the label, where the session names it: public.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    /// The limit of errors; larger ones count as this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub largest_error: Option<f64>,
    /// The error of the model.
    pub error: Score,
    /// The share of records whose error is at or above the limit. Earlier versions did not report
    /// it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub above: Option<Score>,
    /// The share for public data alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub public_above: Option<Score>,
    /// The bound of every error, from the declared range of the label.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bound: Option<f64>,
    /// The range of the error of the model without the limit, if no error is above the bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uncapped: Option<ErrorRange>,
    /// The error of public data alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub public_alone: Option<Score>,
    /// Whether the model that is called public data alone contains a finished model, on which the
    /// method builds and which may have seen private records.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub builds_on_a_model: bool,
    /// How much less error than public data alone rehearsals on public data foretold, as a share of
    /// theirs: public.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub foretold: Option<Score>,
    /// Two errors on one record differ by at most this, or count as if they did, in `difference`: public.
    /// For squared losses it limits the difference of the squares. Earlier versions had no other limit than
    /// that of the errors.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub largest_difference: Option<f64>,
    /// The error of the best answer that is the same for all on public records: the most common class,
    /// the median, or the mean for squared losses. Earlier versions did not measure it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub one_answer: Option<Score>,
    /// What earlier versions told instead: the error of that answer on public records. It says nothing
    /// about private ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub constant: Option<f64>,
    /// The first minus the second; for squared losses, before the root is taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub difference: Option<Score>,
    /// The noise in these numbers. Earlier versions did not tell it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub noise: Option<Noise>,
    /// One for each class.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub classes: Vec<ClassScore>,
    /// The mean over the classes of the share of right answers, if each has a share. Earlier
    /// versions did not report it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub balanced_accuracy: Option<Score>,
    /// The probability that of two records, one of each class, the right one gets the larger
    /// probability.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auc: Option<Score>,
}

/// The ends of an error that was not released itself.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ErrorRange {
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// A private dataset that did not train, and what the score cost it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Elsewhere {
    /// Name of the dataset in the session.
    pub dataset: String,
    /// ε of the score.
    pub epsilon: f64,
    /// The account that paid for it. Earlier versions wrote it; the ledger knows it by the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account: Option<String>,
    /// The entry of the ledger.
    pub run: String,
}

/// The best answer that is the same for all, on public records.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Constant {
    /// The most common class.
    Class(u32),
    /// The median label, or the mean for squared losses.
    Number(f64),
}

/// What is public of a score, besides its tally.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct KnownOfScore {
    /// The first bin in which the second class is the answer.
    pub threshold: usize,
    /// The limit of errors.
    pub largest_error: Option<f64>,
    /// The limit of the difference of two losses, at most 1.
    pub reach: f64,
    pub constant: Option<Constant>,
}

/// A class with fewer records gets no share.
const FEW: f64 = 3.0;

/// Released counts and how to interpret them.
struct ReleasedCounts<'a> {
    tally: &'a Tally,
    counts: Vec<f64>,
    scale: f64,
}

/// Without their mean.
fn centred(factors: &[f64]) -> Vec<f64> {
    let mean = factors.iter().sum::<f64>() / factors.len() as f64;
    factors.iter().map(|factor| factor - mean).collect()
}

impl ReleasedCounts<'_> {
    /// Index, class, outcome of the model, and whether public data alone are wrong, for every cell
    /// of usable rows.
    fn cells(&self) -> impl Iterator<Item = (usize, usize, usize, bool)> {
        let tally = self.tally;
        let (model, public) = tally.outcomes();
        let cells = tally.own_numbers() - usize::from(tally.counts_gaps());
        (0..cells).map(move |cell| {
            (cell, cell / (model * public), cell / public % model, cell % public == 1)
        })
    }

    /// 1 for the cells that count, 0 for the others.
    fn factors(&self, counts: impl Fn(usize, usize, bool) -> bool) -> Vec<f64> {
        let mut factors = vec![0.0; self.counts.len()];
        for (cell, class, outcome, public_wrong) in self.cells() {
            factors[cell] = f64::from(u8::from(counts(class, outcome, public_wrong)));
        }
        factors
    }

    fn sum(&self, factors: &[f64]) -> f64 {
        factors.iter().zip(&self.counts).map(|(factor, count)| factor * count).sum()
    }

    /// The noise of such a sum. All counts add up to the number of rows, so the difference was
    /// distributed equally over all.
    fn law(&self, factors: &[f64]) -> Law {
        Law::of(self.tally.laplace, self.scale, &centred(factors))
    }

    fn tail(&self) -> f64 {
        interval::outside(self.tally.models)
    }

    /// The covariance of the noise of two such sums.
    fn covariance(&self, one: &[f64], other: &[f64]) -> f64 {
        let product = centred(one).into_iter().zip(centred(other)).map(|(one, other)| one * other);
        Law::of(self.tally.laplace, self.scale, &[1.0]).sd().powi(2) * product.sum::<f64>()
    }

    fn share(&self, counted: &[f64], among: &[f64]) -> Score {
        let rows = self.tally.rows;
        if among.iter().all(|factor| *factor == 1.0) {
            return interval::share(self.sum(counted), rows, &self.law(counted), self.tail());
        }
        let law = |p| {
            let both = counted.iter().zip(among).map(|(one, all)| one - p * all);
            self.law(&both.collect::<Vec<_>>())
        };
        interval::ratio(self.sum(counted), self.sum(among), rows, law, self.tail())
    }
}

impl Scored {
    /// The scores from a released vector. `scale` is σ or b of its noise.
    pub fn of(
        tally: &Tally,
        released: &[f64],
        scale: f64,
        classes: &[String],
        known: &KnownOfScore,
    ) -> Self {
        match tally.kind {
            Kind::Numbers { loss } => Self::of_numbers(tally, released, scale, loss, known),
            Kind::Classes { .. } => Self::of_classes(tally, released, scale, classes, known),
        }
    }

    /// With ranges that hold together with those of this many models, about as much wider as they are
    /// for numbers with normal noise.
    pub fn among(&self, models: usize) -> Self {
        let wider = interval::widening(models);
        let widened = |Score { value, low, high }: Score| Score {
            value,
            low: value - wider * (value - low),
            high: value + wider * (high - value),
        };
        let error = widened(self.error);
        let [public_alone, difference, one_answer] =
            [self.public_alone, self.difference, self.one_answer].map(|it| it.map(widened));
        Self { error, public_alone, one_answer, difference, ..self.clone() }
    }

    /// Without a comparison, if there was nothing to compare with.
    pub fn alone(self) -> Self {
        Self {
            public_alone: None,
            public_above: None,
            difference: None,
            largest_difference: None,
            foretold: None,
            ..self
        }
    }

    /// The released scores of public data alone. For classes and probabilities there are none.
    pub fn of_public_data(self) -> Self {
        let error = self.public_alone.unwrap_or(self.error);
        let (balanced_accuracy, auc) = (None, None);
        let (above, bound) = (self.public_above.or(self.above), self.bound);
        let told =
            Self { error, above, classes: Vec::new(), balanced_accuracy, auc, ..self.alone() };
        told.bounded(bound)
    }

    /// With the range of the error without the limit, if this bounds every error. A record above the
    /// limit adds at most the difference of the two, so the upper end of their share times this
    /// difference is added to the upper end.
    pub fn bounded(self, bound: Option<f64>) -> Self {
        let error = bound.and_then(|bound| self.with_limit(bound));
        let uncapped = error.map(|Score { low, high, .. }| ErrorRange { low, high });
        Self { bound, uncapped, ..self }
    }

    /// The error with a larger limit, as large as it can be.
    pub(super) fn with_limit(&self, larger: f64) -> Option<Score> {
        let (limit, above) = (self.largest_error?, self.above?);
        let power = if self.loss == Some(Loss::Squared) { 2 } else { 1 };
        let beyond = (larger.powi(power) - limit.powi(power)).max(0.0);
        let raised = |error: f64, share: f64| {
            (error.powi(power) + share.max(0.0) * beyond).powf(1.0 / f64::from(power))
        };
        let Score { value, low, high } = self.error;
        Some(Score { value: raised(value, above.value), low, high: raised(high, above.high) })
    }

    /// The error alone.
    fn of_error(tally: &Tally, error: Score) -> Self {
        Self { records: tally.rows, error, ..Self::default() }
    }

    fn of_numbers(
        tally: &Tally,
        released: &[f64],
        scale: f64,
        loss: Loss,
        &KnownOfScore { largest_error, reach, .. }: &KnownOfScore,
    ) -> Self {
        let largest = largest_error.unwrap_or(1.0);
        let usable = tally.counts_gaps().then(|| released[tally.own_numbers() - 1]);
        let records = usable.unwrap_or(tally.rows as f64).clamp(1.0, tally.rows as f64);
        // Mean and variance of a pair of numbers; the variance is raised by the amount that noise
        // may hide.
        let moments = |[sum, second]: [f64; 2], scale: f64| {
            let mean = (sum / records).clamp(0.0, 1.0);
            let second = second * tally.second_to_mean(records);
            let variance = mean - second - mean * mean + tally.hidden(scale, records);
            (mean, variance.clamp(0.0, mean * (1.0 - mean)))
        };
        let of_part = |part: usize| [0, 1].map(|it| released[PER_PART * part + it]);
        // If the number of records is noisy, it also moves the mean.
        let law = |weight: f64, mean: f64| {
            let factors = if tally.counts_gaps() { vec![weight, mean] } else { vec![weight] };
            Law::of(tally.laplace, scale, &factors)
        };
        let tail = interval::outside(tally.models);
        let above = |part: usize| {
            let (one, rows) = (1.0 / tally.above(), tally.rows);
            let count = one * released[PER_PART * part + 2];
            match usable {
                Some(usable) => {
                    let law = |p: f64| Law::of(tally.laplace, scale, &[one, p]);
                    interval::ratio(count, usable, rows, law, tail)
                }
                None => interval::share(count, rows, &Law::of(tally.laplace, scale, &[one]), tail),
            }
        };
        let (mean, variance) = moments(of_part(0), scale);
        let sum = (released[0], [0.0, 1.0]);
        let error = interval::mean(sum, records, variance, &law(1.0, mean), tail);
        let one_answer = tally.has_constant.then(|| {
            let each = 1.0 / tally.constant_weight();
            let own = [0, 1].map(|it| each * released[tally.own_numbers() + it]);
            let (mean, variance) = moments(own, each * scale);
            interval::mean((own[0], [0.0, 1.0]), records, variance, &law(each, mean), tail)
        });
        let per_record = (Law::of(tally.laplace, scale, &[1.0]).sd() / records).powi(2);
        let gaps = if tally.counts_gaps() { 1.0 } else { 0.0 };
        let own_noise = per_record * (1.0 + gaps * mean * mean);
        let (mut public_alone, mut difference) = (None, None);
        let (mut public_noise, mut both_noise) = (0.0, 0.0);
        if tally.compared {
            let (half, spread) = moments(of_part(1), scale);
            let gap = reach * (2.0 * half - 1.0);
            // Both errors are between the ends, which bounds their difference.
            let own = released[0].clamp(0.0, records);
            let sum = reach * (2.0 * released[PER_PART] - records);
            let sum = sum.clamp(own - records, own);
            // It is r(2t − 1), so a noisy number of records moves it as it moves 2rt.
            let spread = 4.0 * reach * reach * spread;
            let noise = law(2.0 * reach, gap + reach);
            let of_gap = (sum, [-reach, reach]);
            let told = interval::mean(of_gap, records, spread, &noise, tail);
            // At most as uncertain as both together.
            let joined = (variance.sqrt() + spread.sqrt()).powi(2);
            let both = law(1.0_f64.hypot(2.0 * reach), mean - gap - reach);
            public_noise = (both.sd() / records).powi(2);
            both_noise = per_record * (1.0 + gaps * mean * (mean - gap - reach));
            let alone = (released[0] - sum, [0.0, 1.0]);
            public_alone = Some(interval::mean(alone, records, joined, &both, tail));
            difference = Some(told);
        }
        // The mean of the errors is at least their cap times the share that reaches it.
        let at_cap = |share: Score, error: Score| {
            let most = error.value.max(share.low);
            Score { value: share.value.min(most), ..share }
        };
        let size = match loss {
            Loss::Absolute => largest,
            Loss::Squared => largest * largest,
        };
        let units = |score: Score| score.map(|it| loss.error(largest, it));
        let constant_noise = one_answer.map_or(0.0, |it: Score| {
            per_record * (tally.constant_weight().powi(-2) + gaps * it.value * it.value)
        });
        let [own, public, both, one_answer_noise] =
            [own_noise, public_noise, both_noise, constant_noise].map(|it| size * size * it);
        let noise = Noise { own, public, both, one_answer: one_answer_noise };
        Self {
            noise: Some(noise),
            usable,
            loss: Some(loss),
            largest_error,
            largest_difference: (tally.compared && reach < 1.0).then_some(reach * size),
            above: Some(at_cap(above(0), error)),
            public_above: public_alone.map(|error| at_cap(above(1), error)),
            public_alone: public_alone.map(units),
            one_answer: one_answer.map(units),
            difference: difference.map(|it: Score| it.map(|it| size * it)),
            ..Self::of_error(tally, units(error))
        }
    }

    fn of_classes(
        tally: &Tally,
        released: &[f64],
        scale: f64,
        names: &[String],
        &KnownOfScore { threshold, constant, .. }: &KnownOfScore,
    ) -> Self {
        let rows = tally.rows as f64;
        let (released, of_constant) = released.split_at(tally.own_numbers());
        let each = 1.0 / tally.constant_weight();
        if let [wrong] = released {
            let share = |count: f64, factor: f64| {
                let law = Law::of(tally.laplace, scale, &[factor]);
                interval::share(count, tally.rows, &law, interval::outside(tally.models))
            };
            let one_answer = of_constant.first().map(|count| share(each * count, each));
            let own = (Law::of(tally.laplace, scale, &[1.0]).sd() / rows).powi(2);
            let one_answer_noise = if one_answer.is_some() { each * each * own } else { 0.0 };
            let noise = Noise { own, public: 0.0, both: 0.0, one_answer: one_answer_noise };
            let noise = Some(noise);
            return Self { one_answer, noise, ..Self::of_error(tally, share(*wrong, 1.0)) };
        }
        let missing = (rows - released.iter().sum::<f64>()) / released.len() as f64;
        let counts = released.iter().map(|count| count + missing).collect();
        let Kind::Classes { classes, binned } = tally.kind else { unreachable!("counted cells") };
        let cells = ReleasedCounts { tally, counts, scale };
        let wrong_in = |class: usize, outcome: usize| {
            if binned { (outcome >= threshold) != (class == 1) } else { outcome == 1 }
        };
        let usable = cells.factors(|_, _, _| true);
        let wrong = cells.factors(|class, outcome, _| wrong_in(class, outcome));
        let mut scored = Self::of_error(tally, cells.share(&wrong, &usable));
        let counted = tally.counts_gaps().then(|| cells.sum(&usable).clamp(0.0, rows));
        scored.usable = counted.filter(|_| tally.expects_gaps);
        let records = counted.unwrap_or(rows).max(1.0);
        // Where gaps count for themselves, noise also moves the number of usable rows.
        let among = |counted: &[f64], share: f64| -> Vec<f64> {
            counted.iter().zip(&usable).map(|(one, all)| (one - share * all) / records).collect()
        };
        let own = among(&wrong, scored.error.value);
        let mut noise = Noise { own: cells.covariance(&own, &own), ..Noise::default() };
        (scored.one_answer, noise.one_answer) = match (constant, of_constant) {
            (_, [count]) => {
                let law = |p: f64| {
                    let usable = centred(&usable).into_iter().map(|factor| p * factor);
                    Law::of(tally.laplace, scale, &usable.chain([each]).collect::<Vec<_>>())
                };
                let told = interval::ratio(each * count, records, tally.rows, law, cells.tail());
                (Some(told), (law(told.value).sd() / records).powi(2))
            }
            (Some(Constant::Class(constant)), []) if tally.has_constant => {
                let others = cells.factors(|class, _, _| class != constant as usize);
                let told = cells.share(&others, &usable);
                let others = among(&others, told.value);
                (Some(told), cells.covariance(&others, &others))
            }
            _ => (None, 0.0),
        };
        if tally.compared {
            let public = cells.factors(|_, _, public_wrong| public_wrong);
            let alone = cells.share(&public, &usable);
            scored.public_alone = Some(alone);
            let of_alone = among(&public, alone.value);
            noise.public = cells.covariance(&of_alone, &of_alone);
            noise.both = cells.covariance(&own, &of_alone);
            let gap: Vec<f64> = wrong.iter().zip(&public).map(|(one, other)| one - other).collect();
            // Noise can take the records that only one of the two answers wrongly below none. There they
            // say no more than none, as for one error.
            let only = |sign: f64| {
                let factors: Vec<f64> = gap.iter().map(|it| (sign * it).max(0.0)).collect();
                cells.sum(&factors).clamp(0.0, records)
            };
            let (more, less) = (only(1.0), only(-1.0));
            let sum = more - less;
            let either: Vec<f64> = gap.iter().map(|it| it.abs()).collect();
            // The number of records that noise may hide is added.
            let differ = more + less + cells.law(&either).sd();
            let differ = differ.clamp(sum.abs().clamp(1.0, records), records) / records;
            let variance = differ - (sum / records).powi(2);
            let sum = (sum, [-1.0, 1.0]);
            let told = interval::mean(sum, records, variance, &cells.law(&gap), cells.tail());
            scored.difference = Some(told);
        }
        scored.noise = Some(noise);
        let mut shares = Vec::new();
        for (class, name) in names.iter().enumerate().take(classes.unwrap_or(0)) {
            let of_class = cells.factors(|other, _, _| other == class);
            let wrong =
                cells.factors(|other, outcome, _| other == class && wrong_in(class, outcome));
            let records = cells.sum(&of_class);
            let few = records < FEW.max(2.0 * cells.law(&of_class).sd());
            let told = (!few).then(|| cells.share(&wrong, &of_class));
            let share = told.map(|told| told.value);
            shares.extend(share.map(|share| ClassShare { wrong, of_class, records, share }));
            let records = records.clamp(0.0, rows);
            scored.classes.push(ClassScore { class: name.clone(), records, wrong: told });
        }
        let has_all = !shares.is_empty() && shares.len() == scored.classes.len();
        scored.balanced_accuracy = has_all.then(|| balanced_accuracy(&cells, &shares));
        scored.auc = if binned { auc(&cells) } else { None };
        scored
    }
}

/// One class: the cells of its wrong answers and of all its records, and the estimated number of
/// its records.
struct ClassShare {
    wrong: Vec<f64>,
    of_class: Vec<f64>,
    records: f64,
    share: f64,
}

/// 1 minus the mean of the shares. Records of a class are drawn by chance, and noise moves a share
/// of w wrong answers among n records by the noise of (w − p·n)/n, for all classes together.
fn balanced_accuracy(cells: &ReleasedCounts, shares: &[ClassShare]) -> Score {
    let classes = shares.len() as f64;
    let mut factors = vec![0.0; cells.counts.len()];
    let (mut wrong, mut variance) = (0.0, 0.0);
    for ClassShare { wrong: cells_wrong, of_class, records, share } in shares {
        wrong += share / classes;
        // With two right and two wrong answers added, because none among a few does not mean never.
        let usual = (share * records + 2.0) / (records + 4.0);
        variance += usual * (1.0 - usual) / records / classes.powi(2);
        let weight = 1.0 / (records * classes);
        for ((factor, wrong), all) in factors.iter_mut().zip(cells_wrong).zip(of_class) {
            *factor += weight * (wrong - share * all);
        }
    }
    let value = 1.0 - wrong;
    let half = interval::quantile(variance.sqrt(), &cells.law(&factors), cells.tail());
    Score { value, low: value - half, high: value + half }.within(0.0, 1.0)
}

/// From the counts of both classes in every bin; the variance is DeLong's plus that of the noise.
fn auc(cells: &ReleasedCounts) -> Option<Score> {
    let mut counts = [[0.0; BINS]; 2];
    for (cell, class, bin, _) in cells.cells() {
        counts[class][bin] += cells.counts[cell];
    }
    let per_bin = if cells.tally.compared { 2.0 } else { 1.0 };
    let noise =
        Law::of(cells.tally.laplace, cells.scale, &vec![1.0; (per_bin as usize) * BINS]).sd();
    let totals = counts.map(|bins: [f64; BINS]| bins.iter().sum::<f64>());
    if totals.iter().any(|total| *total < FEW.max(2.0 * noise)) {
        return None;
    }
    // Counts below 0 are noise; only cutting them off would make the classes more alike.
    let kept: [Vector; 2] = std::array::from_fn(|class| {
        let shares = counts[class].iter().map(|count| count / totals[class]);
        let mut shares = Vector::from_iterator(BINS, shares);
        onto_simplex(&mut shares);
        shares * totals[class]
    });
    // How many records of the other class a record in this bin beats.
    let beaten = |own: usize, bin: usize| {
        let other = kept[1 - own].as_slice();
        let lower: f64 = other[..bin].iter().sum();
        let upper: f64 = other[bin + 1..].iter().sum();
        let share = if own == 1 { lower } else { upper } + 0.5 * other[bin];
        share / totals[1 - own]
    };
    let value: f64 = (0..BINS).map(|bin| kept[1][bin] * beaten(1, bin)).sum::<f64>() / totals[1];
    let (mut sampling, mut slopes) = (0.0, 0.0);
    for own in 0..2 {
        let spread = (0..BINS).map(|bin| kept[own][bin] * (beaten(own, bin) - value).powi(2));
        sampling += spread.sum::<f64>() / totals[own] / (totals[own] - 1.0).max(1.0);
        let slope = (0..BINS).map(|bin| ((beaten(own, bin) - value) / totals[own]).powi(2));
        slopes += per_bin * slope.sum::<f64>();
    }
    let spread = if cells.tally.laplace { 2.0 } else { 1.0 };
    let sd = (sampling + spread * slopes * cells.scale.powi(2)).sqrt();
    let half = interval::quantile(sd, &Law::Gaussian { sd: 0.0 }, cells.tail());
    Some(Score { value, low: value - half, high: value + half }.within(0.0, 1.0))
}

#[cfg(test)]
mod tests {
    use rand::rngs::ChaCha20Rng;
    use rand::{RngExt, SeedableRng};

    use super::super::scoring::reach_for;
    use super::super::tally::{Answer, Losses};
    use super::super::{Answers, Evaluation, Scoring};
    use super::*;

    const RELEASES: usize = 400;
    const KNOWN: KnownOfScore = KnownOfScore {
        threshold: 5,
        largest_error: None,
        reach: 1.0,
        constant: Some(Constant::Class(0)),
    };
    /// The losses of numbers differ by no more.
    const REACH: f64 = 0.4;

    fn noisy(exact: Vec<f64>, scale: f64, laplace: bool, draw: &mut ChaCha20Rng) -> Vec<f64> {
        let one = |draw: &mut ChaCha20Rng| -(1.0 - draw.random::<f64>()).ln();
        let noise = |draw: &mut ChaCha20Rng| {
            if laplace {
                return one(draw) - one(draw);
            }
            (2.0 * one(draw)).sqrt() * (std::f64::consts::TAU * draw.random::<f64>()).cos()
        };
        exact.into_iter().map(|it| it + scale * noise(draw)).collect()
    }

    /// A record of two classes: the model is wrong with probability .25 or .1, public data alone
    /// more often, and mostly on the same records. Probabilities of the second class rise with the
    /// class.
    fn answer(draw: &mut ChaCha20Rng) -> Answer {
        let class = u32::from(draw.random::<f64>() < 0.3);
        let wrong = draw.random::<f64>() < if class == 1 { 0.25 } else { 0.1 };
        let public_wrong =
            if wrong { draw.random::<f64>() < 0.7 } else { draw.random::<f64>() < 0.1 };
        let high = (class == 1) != wrong;
        let bin = if high { 5 + draw.random_range(0..4) } else { draw.random_range(0..5) };
        Answer { class, wrong, bin, public_wrong, constant_wrong: class == 1 }
    }

    /// How often each interval contained the truth.
    fn coverage(
        tally: &Tally,
        usable: usize,
        (scale, reach): (f64, f64),
        truth: &[(&str, f64)],
    ) -> Vec<(String, f64, usize)> {
        let mut draw = ChaCha20Rng::seed_from_u64(11);
        let mut held: Vec<(String, f64, usize)> =
            truth.iter().map(|(name, _)| ((*name).to_owned(), 0.0, 0)).collect();
        let names = ["no".to_owned(), "yes".to_owned()];
        for _ in 0..RELEASES {
            let exact = match tally.kind {
                Kind::Classes { .. } => {
                    tally.count(&Answers::Classes((0..usable).map(|_| answer(&mut draw)).collect()))
                }
                Kind::Numbers { .. } => {
                    let losses = (0..usable).map(|_| {
                        let own = draw.random::<f64>().powi(2);
                        let public = (0.6 * own + 0.4 * draw.random::<f64>()).min(1.0);
                        Losses::of([own, public, 0.5 + 0.5 * draw.random::<f64>()], reach)
                    });
                    tally.count(&Answers::Numbers(losses.collect()))
                }
            };
            let released = noisy(exact, scale, tally.laplace, &mut draw);
            let known = KnownOfScore { reach, ..KNOWN };
            let scored = Scored::of(tally, &released, scale, &names, &known);
            for ((name, truth), held) in truth.iter().zip(&mut held) {
                let score = match *name {
                    "error" => Some(scored.error),
                    "public" => scored.public_alone,
                    "difference" => scored.difference,
                    "constant" => scored.one_answer,
                    "yes" => scored.classes.get(1).and_then(|class| class.wrong),
                    "balanced" => scored.balanced_accuracy,
                    _ => scored.auc,
                };
                if let Some(score) = score {
                    held.2 += 1;
                    held.1 += f64::from(u8::from(score.holds(*truth)));
                }
            }
        }
        for (_, held, told) in &mut held {
            *held /= (*told).max(1) as f64;
        }
        held
    }

    fn classes((auc, per_class): (bool, bool), rows: usize, gaps: bool, laplace: bool) -> Tally {
        let asked = Evaluation { per_class, auc, ..Evaluation::default() };
        Tally::new(&asked, rows, 2, true, gaps, laplace)
    }

    #[test]
    fn all_scores_of_classes_hold_the_truth() {
        let error = 0.3 * 0.25 + 0.7 * 0.1;
        let public = 0.7 * error + 0.1 * (1.0 - error);
        let wrong = |class: f64| 0.25 * class + 0.1 * (1.0 - class);
        let (yes, no) = (1.0 - wrong(1.0), 1.0 - wrong(0.0));
        // Both in the right half, or one wrong; within a half, by chance.
        let auc = yes * no + 0.5 * (yes * (1.0 - no) + (1.0 - yes) * no);
        let truth = [
            ("error", error),
            ("public", public),
            ("difference", error - public),
            ("constant", 0.3),
            ("yes", 0.25),
            ("balanced", 1.0 - 0.5 * (0.25 + 0.1)),
            ("auc", auc),
        ];
        for (rows, usable) in [(150, 150), (900, 900), (300, 260)] {
            for laplace in [false, true] {
                for (auc, per_class) in [(false, false), (false, true), (true, true)] {
                    if auc && rows != 900 || laplace && rows == 900 && !auc {
                        continue;
                    }
                    // `halflight-studies scores` has all of them.
                    let scale = if laplace == per_class { 0.4 } else { 6.0 };
                    let gaps = usable < rows;
                    let tally = classes((auc, per_class), rows, gaps, laplace);
                    for (name, found, told) in coverage(&tally, usable, (scale, 1.0), &truth) {
                        if told < RELEASES / 2 {
                            continue;
                        }
                        let at = format!("{name}: {found} of {told}, {tally:?}, {scale}");
                        // Four standard deviations for this many releases.
                        assert!(found >= 0.905, "{at}");
                        assert!(found <= 0.99, "{at}");
                    }
                }
            }
        }
    }

    #[test]
    fn several_releases_make_one_estimate_whose_range_holds_even_if_they_err_together() {
        let around = |value: f64, half: f64| Score { value, low: value - half, high: value + half };
        assert_eq!(Score::pooled(&[]), None);
        let one = around(40.0, 3.0);
        assert_eq!(Score::pooled(&[one]), Some((one, 1)));
        let (two, _) = Score::pooled(&[one, around(44.0, 3.0)]).unwrap();
        assert!((two.value - 42.0).abs() < 1e-12 && (two.high - 45.0).abs() < 1e-12, "{two:?}");
        let (unequal, of) = Score::pooled(&[one, around(70.0, 30.0)]).unwrap();
        assert_eq!((unequal, of), (one, 1), "one that is much less precise says nothing more");
        // The same held-out records, so the same chance of them, and each release with noise of its own.
        let mut draw = ChaCha20Rng::seed_from_u64(9);
        let mut normal = || noisy(vec![0.0], 1.0, false, &mut draw)[0];
        let held = (0..RELEASES).filter(|_| {
            let chance = normal();
            let told: Vec<Score> =
                (0..3).map(|_| around(chance + normal(), 1.96 * 2.0_f64.sqrt())).collect();
            Score::pooled(&told).unwrap().0.holds(0.0)
        });
        let held = held.count() as f64 / RELEASES as f64;
        assert!(held >= 0.95, "{held}");
    }

    #[test]
    fn of_one_class_no_auc_is_told() {
        let tally = classes((true, true), 60, false, false);
        let one = |bin| Answer { wrong: bin > 4, bin, ..Answer::default() };
        let exact = tally.count(&Answers::Classes((0..60).map(|k| one(k % BINS)).collect()));
        let names = ["no".to_owned(), "yes".to_owned()];
        let mut draw = ChaCha20Rng::seed_from_u64(2);
        let told = (0..200).filter(|_| {
            let released = noisy(exact.clone(), 3.0, false, &mut draw);
            let told = Scored::of(&tally, &released, 3.0, &names, &KNOWN);
            assert_eq!(
                told.balanced_accuracy.is_some(),
                told.classes.iter().all(|class| class.wrong.is_some()),
                "a class without a share has no part in the mean"
            );
            told.auc.is_some()
        });
        // By chance, noise is larger than two of its standard deviations.
        let told = told.count();
        assert!(told <= 14, "{told} of 200");
    }

    #[test]
    fn noise_beyond_what_is_possible_makes_no_model_better() {
        let tally = classes((false, false), 60, false, false);
        let of = |own_only: f64| {
            // Right of both, wrong of one or the other, wrong of both.
            let released = [60.0 - 15.0 - own_only - 4.0, 15.0, own_only, 4.0, 0.0];
            Scored::of(&tally, &released, 8.0, &[], &KNOWN).difference.unwrap()
        };
        assert_eq!(of(-14.0).value, of(0.0).value);
        assert!(of(0.0).value < of(5.0).value && of(-14.0).high >= of(0.0).high);
        let numbers = Tally::new(&Evaluation::default(), 60, 0, true, false, false);
        let of = |gap: f64| {
            let half = 0.5 * (60.0 + gap);
            let released = [-9.0, 0.0, 0.0, half, 0.0, 0.0, 0.0, 0.0];
            Scored::of(&numbers, &released, 4.0, &[], &KNOWN).difference.unwrap()
        };
        assert_eq!(of(6.0).value, of(0.0).value, "a model without errors is not worse");
        assert!(of(-6.0).value < of(0.0).value);
    }

    #[test]
    fn all_scores_of_numbers_hold_the_truth() {
        let (x, y) = (1.0 / 3.0, 0.6 / 3.0 + 0.2);
        let truth = [("error", x), ("public", y), ("difference", x - y), ("constant", 0.75)];
        for (rows, usable) in [(100, 100), (1500, 1500), (400, 350)] {
            for laplace in [false, true] {
                for (scale, reach) in [(0.5, 1.0), (5.0, 1.0), (5.0, REACH)] {
                    let asked = Evaluation::default();
                    let tally = Tally::new(&asked, rows, 0, true, usable < rows, laplace);
                    for (name, found, _) in coverage(&tally, usable, (scale, reach), &truth) {
                        let at = format!("{name}: {found}, {tally:?}, {scale} {reach}");
                        // Four standard deviations for this many releases.
                        assert!(found >= 0.905, "{at}");
                        // Public data alone are reported only with certain numbers.
                        assert!(found <= 0.993 || name == "public", "{at}");
                    }
                }
            }
        }
    }

    #[test]
    fn the_foreseen_range_of_a_gain_is_the_one_that_comes() {
        let mut draw = ChaCha20Rng::seed_from_u64(4);
        let near = |x: f64, y: f64| assert!((x / y - 1.0).abs() < 0.03, "{x} {y}");
        let mean = |of: &[f64]| of.iter().sum::<f64>() / of.len() as f64;
        let scoring = |tally: &Tally, asked| Scoring {
            asked,
            tally: tally.clone(),
            usual: None,
            bound: None,
            constant: None,
            unit: None,
            builds_on_a_model: false,
        };
        for (rows, scale) in [(300, 0.0), (300, 4.0), (2000, 4.0)] {
            let public: Vec<f64> = (0..rows).map(|_| draw.random()).collect();
            let model: Vec<f64> = public.iter().map(|x| 0.8 * x * draw.random::<f64>()).collect();
            for loss in [Loss::Absolute, Loss::Squared] {
                let asked = Evaluation { loss, largest_error: Some(1.0), ..Evaluation::default() };
                let tally = Tally::new(&asked, rows, 0, true, false, false);
                let found = scoring(&tally, asked).foreseen_with((&model, &public), scale).unwrap();
                let losses = |of: &[f64]| of.iter().map(|x| loss.of(*x)).collect::<Vec<f64>>();
                let (model, public) = (losses(&model), losses(&public));
                let pairs = model.iter().zip(&public);
                let most = pairs.clone().map(|(own, public)| (own - public).abs());
                let reach = reach_for(most.fold(0.0, f64::max));
                let pairs = pairs.map(|(&own, &public)| Losses::of([own, public, 0.5], reach));
                let exact = tally.count(&Answers::Numbers(pairs.collect()));
                let known = KnownOfScore { largest_error: Some(1.0), reach, ..KNOWN };
                let told = Scored::of(&tally, &exact, scale, &[], &known);
                let told = told.difference.unwrap();
                let (model, public) = (mean(&model), mean(&public));
                let half = 0.5 * (told.high - told.low);
                let end = |mean: f64| loss.error(1.0, mean.max(0.0));
                let width = end(model + half) - end(model - half);
                near(found.half_width, 0.5 * width / end(public));
            }
            let answers: Vec<Answer> = (0..rows).map(|_| answer(&mut draw)).collect();
            let tally = classes((false, false), rows, false, false);
            let exact = tally.count(&Answers::Classes(answers.clone()));
            let told =
                Scored::of(&tally, &exact, scale, &["no".to_owned(), "yes".to_owned()], &KNOWN);
            let wrong = |of: fn(&Answer) -> bool| {
                answers.iter().map(|it| f64::from(u8::from(of(it)))).collect::<Vec<f64>>()
            };
            let (model, public) = (wrong(|it| it.wrong), wrong(|it| it.public_wrong));
            let asked = Evaluation::default();
            let found = scoring(&tally, asked).foreseen_with((&model, &public), scale).unwrap();
            let told = told.difference.unwrap();
            near(found.half_width, 0.5 * (told.high - told.low) / mean(&public));
        }
    }

    #[test]
    fn without_noise_the_scores_are_the_plain_ones() {
        let mut draw = ChaCha20Rng::seed_from_u64(3);
        let answers: Vec<Answer> = (0..300).map(|_| answer(&mut draw)).collect();
        let wrong = answers.iter().filter(|it| it.wrong).count() as f64 / 300.0;
        let public = answers.iter().filter(|it| it.public_wrong).count() as f64 / 300.0;
        let constant = answers.iter().filter(|it| it.constant_wrong).count() as f64 / 300.0;
        let names = ["no".to_owned(), "yes".to_owned()];
        for (auc, per_class) in [(false, false), (false, true), (true, true)] {
            let tally = classes((auc, per_class), 300, false, false);
            let exact = tally.count(&Answers::Classes(answers.clone()));
            let scored = Scored::of(&tally, &exact, 0.0, &names, &KNOWN);
            assert!((scored.one_answer.unwrap().value - constant).abs() < 1e-12);
            assert!((scored.error.value - wrong).abs() < 1e-12);
            assert!((scored.public_alone.unwrap().value - public).abs() < 1e-12);
            assert!((scored.difference.unwrap().value - (wrong - public)).abs() < 1e-12);
            let balanced = [0, 1].map(|class| {
                let own: Vec<&Answer> = answers.iter().filter(|it| it.class == class).collect();
                own.iter().filter(|it| !it.wrong).count() as f64 / own.len() as f64
            });
            match scored.balanced_accuracy {
                Some(told) => {
                    assert!((told.value - 0.5 * (balanced[0] + balanced[1])).abs() < 1e-12);
                }
                None => assert!(!per_class),
            }
            if auc {
                let place = |class: u32| answers.iter().filter(move |it| it.class == class);
                let pairs =
                    place(1).flat_map(|one| place(0).map(move |other| (one.bin, other.bin)));
                let (mut won, mut all) = (0.0, 0.0);
                for (one, other) in pairs {
                    all += 1.0;
                    won += match one.cmp(&other) {
                        std::cmp::Ordering::Greater => 1.0,
                        std::cmp::Ordering::Equal => 0.5,
                        std::cmp::Ordering::Less => 0.0,
                    };
                }
                assert!((scored.auc.unwrap().value - won / all).abs() < 1e-12);
            }
        }
        let losses: Vec<Losses> = (0..50)
            .map(|_| [(); 3].map(|()| draw.random()))
            .map(|losses| Losses::of(losses, 1.0))
            .collect();
        let mean = |of: fn(&Losses) -> f64| losses.iter().map(of).sum::<f64>() / 50.0;
        for loss in [Loss::Absolute, Loss::Squared] {
            let asked = Evaluation { loss, ..Evaluation::default() };
            let tally = Tally::new(&asked, 50, 0, true, false, false);
            let exact = tally.count(&Answers::Numbers(losses.clone()));
            let known = KnownOfScore { largest_error: Some(10.0), ..KNOWN };
            let scored = Scored::of(&tally, &exact, 0.0, &[], &known);
            let found = [scored.error, scored.public_alone.unwrap(), scored.one_answer.unwrap()];
            let truth = [mean(|it| it.own), mean(|it| it.public), mean(|it| it.constant)];
            for (found, truth) in found.into_iter().zip(truth) {
                assert!((found.value - loss.error(10.0, truth)).abs() < 1e-9);
            }
        }
    }
}
