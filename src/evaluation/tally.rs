//! The contribution of held-out records to the released vector.
//!
//! The number of held-out *rows* is public. An unusable row (with a gap, say) counts as a wrong
//! answer, or, where gaps are expected, separately.
//!
//! # Classes
//!
//! Every row falls into one cell: right or wrong; the same for public data alone; its class and the
//! bin of its probability, where they are requested. The tally counts the rows of every cell.
//! Replacing a row takes one from a cell and adds one to another: √2 in the ℓ₂ norm, 2 in the ℓ₁
//! norm, for any number of cells. With two cells one of the counts is enough: 1 in both norms.
//!
//! # Numbers
//!
//! The loss of a row, clipped and scaled, is x in \[0, 1\]. Beside Σx the tally has wΣ4x(1 − x),
//! from which the variance of x follows; it costs nothing as long as w is not too large. Let two
//! values differ by d and have the sum s; their change is (d, 4wd(1 − s)), and |1 − s| ≤ 1 − d:
//!
//! * ℓ₂: d²(1 + 16w²(1 − s)²) ≤ 1 for every d exactly if 16w² ≤ (1 + d)/(d²(1 − d)), which is
//!   least where d² + d = 1: there it is d⁻⁵. So w = ¼((1 + √5)/2)^{5/2} and the sensitivity is 1.
//! * ℓ₁: d(1 + 4w(1 − d)) ≤ 1 for every d if 4w ≤ 1/d: so w = ¼, and the sensitivity is 1.
//!
//! A third number counts the rows with x = 1, those that the cap cuts, each with the weight v. It
//! changes by v at most, so the square of the change in ℓ₂ is at most 1 + v², and the change in ℓ₁
//! at most 1 + v, attained from x = 0 to x = 1.
//!
//! The loss x of the model and that of public data alone, y, give t = (1 + (x − y)/r)/2, cut to
//! \[0, 1\]. The reach r is public: about how far the two models are apart on public records, at most 1.
//! The closer they are, the smaller is the noise in their difference. t has the same first two numbers,
//! for the variance of the difference, and as the third one the weighted count of rows with y = 1.
//! Both parts together move by at most √(2 + 2v²), or 2 + 2v in the ℓ₁ norm, attained from x = 0, y = 1
//! to x = 1, y = 0.
//!
//! If gaps count separately, an unusable row adds nothing, and the number of usable rows is one
//! more number. If a usable row becomes unusable, its numbers vanish, which moves each pair by at
//! most 1 (d = s = x above), and the number of usable rows changes by 1. A single part moves by at
//! most √(2 + v²), or 2 + v. Of two parts, both counts change only if y = 1; then t is at most ½, and
//! its pair is at most ¼ + w² squared, or ¾ in ℓ₁. With v² ≤ ¾ − w², or v ≤ ¼, this is no more than
//! from x = 1, y = 0: √(3 + v²), or 3 + v.
//!
//! # One answer for all
//!
//! The best constant answer on public records is scored by the same rows: the yardstick for every
//! model. Where classes are counted separately, its errors are a sum of cells. Otherwise a number is
//! added: how many rows it answers wrongly, with the weight c; for numbers, its loss and the second
//! number of that, both with this weight. As shown above, they move by at most c, and by c in the worst
//! cases above: its loss does not depend on the models'. So c² is added to the square of the
//! sensitivity in ℓ₂, and c to that in ℓ₁. As c² (or c) is a fixed part of the rest, this makes the noise 6 %
//! larger, or 10 % with Laplace noise.
//!
//! The rounding of sums under either neighbour is counted as well.

use super::definition::{Evaluation, Loss};
use super::law::Law;
use crate::numeric::rounding::summation_error;
use crate::privacy::{Adjacency, Gaussian, Laplace, Release};

/// The name of the release.
pub const LABEL: &str = "score";

/// ¼φ^{5/2}, rounded down.
const SECOND_IN_L2: f64 = 0.832_547_6;
const SECOND_IN_L1: f64 = 0.25;

/// Weight of the count of rows that the cap cuts. It raises the noise of a mean by 2.6 %, or 5 %
/// with Laplace noise.
const ABOVE_IN_L2: f64 = 0.23;
const ABOVE_IN_L1: f64 = 0.05;

/// What the numbers of one answer for all add, as a part of the square of the sensitivity without them
/// (in the ℓ₁ norm, of the sensitivity).
const CONSTANT_IN_L2: f64 = 0.125;
const CONSTANT_IN_L1: f64 = 0.1;

/// Numbers of one part: the mean, its second number, and the count of rows that the cap cuts.
pub(super) const PER_PART: usize = 3;

/// Bins of a probability: this many by the quantiles of public records, one of them divided
/// where the answer changes.
pub const BINS: usize = 9;

/// The contents of a released tally. All of this is public.
#[derive(Debug, Clone, PartialEq)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts")]
pub struct Tally {
    /// Held-out rows.
    pub rows: usize,
    /// Whether public data alone are also scored.
    pub compared: bool,
    /// Whether unusable rows are expected, so that their number is reported.
    pub expects_gaps: bool,
    /// The kind of count.
    pub kind: Kind,
    /// Whether the noise is Laplace noise, so that the ℓ₁ norm decides.
    pub laplace: bool,
    /// The number of models, if one was chosen by the same rows.
    pub models: usize,
    /// Whether one answer for all is also scored.
    pub has_constant: bool,
}

/// The kind of count.
#[derive(Debug, Clone, PartialEq)]
pub enum Kind {
    Classes {
        /// The number of classes, if they are counted separately.
        classes: Option<usize>,
        /// Whether probabilities are binned.
        binned: bool,
    },
    Numbers {
        /// The loss of an answer.
        loss: Loss,
    },
}

/// The answers for the usable held-out rows.
#[derive(Debug, Clone, PartialEq)]
pub enum Answers {
    /// One answer for each record.
    Classes(Vec<Answer>),
    /// The losses for each record.
    Numbers(Vec<Losses>),
}

/// Scaled losses of the answers for one row, in \[0, 1\].
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Losses {
    /// Of the model.
    pub own: f64,
    /// Of public data alone.
    pub public: f64,
    /// The first minus the second, as a part of the reach, in \[−1, 1\].
    pub gap: f64,
    /// Of one answer for all.
    pub constant: f64,
}

/// The answer for one row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Answer {
    /// The true class.
    pub class: u32,
    /// Whether the answer is wrong.
    pub wrong: bool,
    /// The bin of the second class's probability.
    pub bin: usize,
    /// Whether public data alone are wrong.
    pub public_wrong: bool,
    /// Whether one answer for all is wrong.
    pub constant_wrong: bool,
}

impl Losses {
    /// Of the model, of public data alone, and of one answer for all; the first two differ by at most
    /// `reach`, or count as if they did.
    pub fn of([own, public, constant]: [f64; 3], reach: f64) -> Self {
        Self { own, public, gap: ((own - public) / reach).clamp(-1.0, 1.0), constant }
    }
}

impl Tally {
    /// For `rows` held-out rows with this many classes, or numbers. `may_have_gaps`: whether
    /// unusable rows are expected.
    pub fn new(
        asked: &Evaluation,
        rows: usize,
        classes: usize,
        compared: bool,
        may_have_gaps: bool,
        laplace: bool,
    ) -> Self {
        let kind = if classes == 0 {
            Kind::Numbers { loss: asked.loss }
        } else {
            let binned = asked.auc && classes == 2;
            Kind::Classes { classes: (asked.per_class || binned).then_some(classes), binned }
        };
        Self {
            rows,
            compared,
            expects_gaps: may_have_gaps,
            kind,
            laplace,
            models: 1,
            has_constant: compared,
        }
    }

    /// Whether unusable rows count separately: they are expected, or classes are counted
    /// separately, and a row without a class falls into none of them.
    pub fn counts_gaps(&self) -> bool {
        self.expects_gaps || matches!(self.kind, Kind::Classes { classes: Some(_), .. })
    }

    /// For one class: the possible outcomes of the model and of public data alone.
    pub(super) fn outcomes(&self) -> (usize, usize) {
        let model = if matches!(self.kind, Kind::Classes { binned: true, .. }) { BINS } else { 2 };
        (model, if self.compared { 2 } else { 1 })
    }

    /// Whether there are only right and wrong, so that one number is enough.
    fn is_single(&self) -> bool {
        matches!(self.kind, Kind::Classes { classes: None, binned: false })
            && !self.compared
            && !self.counts_gaps()
    }

    /// Length of the vector.
    pub fn numbers(&self) -> usize {
        self.own_numbers() + self.constant_numbers()
    }

    /// The length without the numbers of one answer for all, which stand at the end.
    pub(super) fn own_numbers(&self) -> usize {
        match self.kind {
            Kind::Classes { classes, .. } => {
                if self.is_single() {
                    return 1;
                }
                let (model, public) = self.outcomes();
                classes.unwrap_or(1) * model * public + usize::from(self.counts_gaps())
            }
            Kind::Numbers { .. } => self.parts() * PER_PART + usize::from(self.counts_gaps()),
        }
    }

    /// How many numbers one answer for all adds.
    fn constant_numbers(&self) -> usize {
        match self.kind {
            _ if !self.has_constant => 0,
            Kind::Classes { classes: Some(_), .. } => 0,
            Kind::Classes { .. } => 1,
            Kind::Numbers { .. } => 2,
        }
    }

    /// Means of numbers: the model's loss, and its difference from public data alone.
    fn parts(&self) -> usize {
        if self.compared { 2 } else { 1 }
    }

    /// How far one replaced row moves the vector, in the norm of its noise: see the module's
    /// documentation.
    pub fn sensitivity(&self) -> f64 {
        let added = self.constant_weight();
        let added = if self.laplace { added } else { added * added };
        let square = self.own_sensitivity() + added;
        let exact = if self.laplace { square } else { square.sqrt() * (1.0 + f64::EPSILON) };
        exact + 2.0 * self.rounding()
    }

    /// The sensitivity without one answer for all; squared in the ℓ₂ norm.
    fn own_sensitivity(&self) -> f64 {
        match self.kind {
            Kind::Classes { .. } if self.is_single() => 1.0,
            Kind::Classes { .. } => 2.0,
            Kind::Numbers { .. } => {
                let above = if self.laplace { self.above() } else { self.above().powi(2) };
                let (parts, gaps) = (self.parts() as f64, self.counts_gaps());
                if gaps { parts + 1.0 + above } else { parts * (1.0 + above) }
            }
        }
    }

    /// The weight of the numbers of one answer for all; 0 if there are none.
    pub(super) fn constant_weight(&self) -> f64 {
        match (self.constant_numbers(), self.laplace) {
            (0, _) => 0.0,
            (_, true) => CONSTANT_IN_L1 * self.own_sensitivity(),
            (_, false) => (CONSTANT_IN_L2 * self.own_sensitivity()).sqrt(),
        }
    }

    /// How far the vector of sums may be from the true one, in the norm of its noise, under either
    /// neighbour. Counts are exact, but for the product with a weight; every other number is a sum with one
    /// term of at most 1 per row.
    fn rounding(&self) -> f64 {
        let (rows, numbers) = (self.rows as f64, self.numbers() as f64);
        if matches!(self.kind, Kind::Classes { .. }) {
            return self.constant_weight() * rows * f64::EPSILON;
        }
        let each = summation_error(self.rows + 8) * rows;
        each * if self.laplace { numbers } else { numbers.sqrt() }
    }

    /// Weight of the second number of a mean.
    pub(super) fn second(&self) -> f64 {
        if self.laplace { SECOND_IN_L1 } else { SECOND_IN_L2 }
    }

    /// The factor from a noisy second number to the mean of x(1 − x) over this many rows.
    pub(super) fn second_to_mean(&self, rows: f64) -> f64 {
        1.0 / (4.0 * self.second() * rows)
    }

    /// How much variance the noise of a second number may hide, for noise of this scale.
    pub(super) fn hidden(&self, scale: f64, rows: f64) -> f64 {
        Law::of(self.laplace, scale, &[self.second_to_mean(rows)]).sd()
    }

    /// Weight of the count of rows that the cap cuts.
    pub(super) fn above(&self) -> f64 {
        if self.laplace { ABOVE_IN_L1 } else { ABOVE_IN_L2 }
    }

    /// The release with normal noise.
    pub fn gaussian(&self) -> Release<Gaussian> {
        let (sensitivity, numbers) = (self.sensitivity(), self.numbers());
        Release::new(LABEL, Gaussian { sensitivity, numbers })
    }

    /// The release with Laplace noise.
    pub fn laplace(&self) -> Release<Laplace> {
        let (sensitivity, numbers) = (self.sensitivity(), self.numbers());
        Release::new(LABEL, Laplace { sensitivity, numbers })
    }

    /// The model may answer anything for a null record, so this is for replaced records; it also
    /// holds for null records.
    pub const ADJACENCY: Adjacency = Adjacency::ReplaceOne;

    /// The release in words.
    pub fn words(&self) -> String {
        let what = match self.kind {
            Kind::Classes { binned: true, .. } => {
                "right and wrong answers by class and probability"
            }
            Kind::Classes { classes: Some(_), .. } => "right and wrong answers by class",
            Kind::Classes { .. } => "right and wrong answers",
            Kind::Numbers { .. } => "errors",
        };
        let beside = match (self.compared, self.has_constant) {
            (true, true) => ", beside public data alone and one answer for all",
            (true, false) => ", beside public data alone",
            (false, true) => ", beside one answer for all",
            (false, false) => "",
        };
        format!("{what} on the {} held-out private records{beside}", self.rows)
    }

    /// The cell of an answer.
    pub(super) fn cell(&self, answer: &Answer) -> usize {
        let Kind::Classes { classes, binned } = self.kind else { return 0 };
        let (model, public) = self.outcomes();
        let class = if classes.is_some() { answer.class as usize } else { 0 };
        let outcome = if binned { answer.bin.min(BINS - 1) } else { usize::from(answer.wrong) };
        let beside = if self.compared { usize::from(answer.public_wrong) } else { 0 };
        (class * model + outcome) * public + beside
    }

    /// The exact tally. Rows that are not among the answers could not be used.
    pub fn count(&self, answers: &Answers) -> Vec<f64> {
        let mut vector = vec![0.0; self.numbers()];
        let (own, constant) = vector.split_at_mut(self.own_numbers());
        match (answers, &self.kind) {
            (Answers::Classes(answers), Kind::Classes { .. }) => {
                self.count_classes(answers, own);
                if let [count] = constant {
                    *count = self.constant_weight() * self.wrong_if_constant(answers);
                }
            }
            (Answers::Numbers(losses), Kind::Numbers { .. }) => {
                let unused = self.rows.saturating_sub(losses.len());
                for losses in losses {
                    self.add(losses, own, constant);
                }
                if self.counts_gaps() {
                    let last = own.len() - 1;
                    own[last] = losses.len() as f64;
                } else {
                    let most = Losses { own: 1.0, public: 1.0, gap: 0.0, constant: 1.0 };
                    (0..unused).for_each(|_| self.add(&most, own, constant));
                }
            }
            _ => {}
        }
        vector
    }

    fn count_classes(&self, answers: &[Answer], counts: &mut [f64]) {
        let unused = self.rows.saturating_sub(answers.len()) as f64;
        if self.is_single() {
            counts[0] = answers.iter().filter(|answer| answer.wrong).count() as f64 + unused;
            return;
        }
        let cells = counts.len() - usize::from(self.counts_gaps());
        for answer in answers {
            if let Some(count) = counts[..cells].get_mut(self.cell(answer)) {
                *count += 1.0;
            }
        }
        // In a cell of their own, or with the largest loss.
        if let Some(last) = counts.last_mut() {
            *last += unused;
        }
    }

    /// How many rows one answer for all answers wrongly, those that cannot be used included if they are
    /// not counted for themselves.
    fn wrong_if_constant(&self, answers: &[Answer]) -> f64 {
        let unused = if self.counts_gaps() { 0 } else { self.rows.saturating_sub(answers.len()) };
        (answers.iter().filter(|it| it.constant_wrong).count() + unused) as f64
    }

    fn add(&self, losses: &Losses, own: &mut [f64], constant: &mut [f64]) {
        let bounded = |x: f64| if x.is_nan() { 1.0 } else { x.clamp(0.0, 1.0) };
        let half = 0.5 * (1.0 + losses.gap);
        let [x, y, t, z] = [losses.own, losses.public, half, losses.constant].map(bounded);
        // No loss is above 1, whoever says so: the sensitivity with gaps depends on it.
        let t = if y >= 1.0 { t.min(0.5) } else { t };
        let second = |mean: f64| self.second() * 4.0 * mean * (1.0 - mean);
        let parts = [(x, x), (t, y)].into_iter().take(self.parts());
        for ((mean, loss), numbers) in parts.zip(own.chunks_exact_mut(PER_PART)) {
            numbers[0] += mean;
            numbers[1] += second(mean);
            numbers[2] += if loss >= 1.0 { self.above() } else { 0.0 };
        }
        for (number, value) in constant.iter_mut().zip([z, second(z)]) {
            *number += self.constant_weight() * value;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn every_tally(rows: usize) -> Vec<Tally> {
        let mut all = Vec::new();
        for bits in 0..128_u32 {
            let bit = |place: u32| bits >> place & 1 == 1;
            let asked = Evaluation {
                per_class: bit(0),
                auc: bit(1),
                loss: if bit(1) { Loss::Squared } else { Loss::Absolute },
                ..Evaluation::default()
            };
            let classes = if bit(2) { if bit(0) { 3 } else { 2 } } else { 0 };
            let tally = Tally::new(&asked, rows, classes, bit(3), bit(4), bit(5));
            all.push(Tally { has_constant: bit(6), ..tally });
        }
        all
    }

    fn norm(tally: &Tally, change: &[f64]) -> f64 {
        if tally.laplace {
            change.iter().map(|x| x.abs()).sum()
        } else {
            change.iter().map(|x| x * x).sum::<f64>().sqrt()
        }
    }

    fn moved(tally: &Tally, one: &Answers, other: &Answers) -> f64 {
        let pairs = tally.count(one).into_iter().zip(tally.count(other));
        norm(tally, &pairs.map(|(one, other)| one - other).collect::<Vec<_>>())
    }

    /// Every possible answer for one row; none if it is unusable.
    fn rows_of(tally: &Tally) -> Vec<Answers> {
        let mut rows = vec![];
        match tally.kind {
            Kind::Classes { classes, .. } => {
                rows.push(Answers::Classes(vec![]));
                for bits in 0..8 {
                    for class in 0..classes.unwrap_or(1) as u32 {
                        for bin in [0, 4, BINS - 1] {
                            let [wrong, public_wrong, constant_wrong] =
                                [1, 2, 4].map(|bit| bits & bit == bit);
                            rows.push(Answers::Classes(vec![Answer {
                                class,
                                wrong,
                                bin,
                                public_wrong,
                                constant_wrong,
                            }]));
                        }
                    }
                }
            }
            Kind::Numbers { .. } => {
                rows.push(Answers::Numbers(vec![]));
                let fine = if tally.has_constant { 10 } else { 20 };
                let grid = || (0..=fine).map(move |i| f64::from(i) / f64::from(fine));
                let pairs = grid().flat_map(|own| grid().map(move |public| (own, public)));
                // Its numbers are independent of the others, so a few values are enough.
                let constants: &[f64] =
                    if tally.has_constant { &[0.0, 0.2, 0.618, 1.0] } else { &[0.0] };
                let all = pairs.flat_map(|(own, public)| {
                    let reaches = [1.0, 0.3].into_iter();
                    reaches.flat_map(move |reach| {
                        let of = move |&constant| Losses::of([own, public, constant], reach);
                        constants.iter().map(of)
                    })
                });
                rows.extend(all.map(|losses| Answers::Numbers(vec![losses])));
            }
        }
        rows
    }

    #[test]
    fn the_sensitivity_is_attained_and_never_passed() {
        for tally in every_tally(1) {
            let rows = rows_of(&tally);
            let mut most: f64 = 0.0;
            for one in &rows {
                for other in &rows {
                    most = most.max(moved(&tally, one, other));
                }
            }
            let planned = tally.sensitivity();
            assert!(most <= planned * (1.0 + 1e-9), "{tally:?}: {most} > {planned}");
            assert!(most >= planned * 0.9999, "{tally:?}: {most} < {planned}");
            assert_eq!(tally.count(&rows[0]).len(), tally.numbers());
        }
    }

    #[test]
    fn a_larger_weight_of_the_second_number_would_pass_it() {
        let golden = 0.5 * (5.0_f64.sqrt() - 1.0);
        let change = |w: f64, d: f64| (d * d * (1.0 + 16.0 * w * w * (1.0 - d).powi(2))).sqrt();
        assert!(change(SECOND_IN_L2, golden) <= 1.0 && change(SECOND_IN_L2, golden) > 0.999_999);
        assert!(change(SECOND_IN_L2 * 1.001, golden) > 1.0);
    }

    #[test]
    fn the_count_of_large_losses_is_light_enough_for_the_sensitivity_with_gaps() {
        assert!(ABOVE_IN_L2.powi(2) <= 0.75 - SECOND_IN_L2.powi(2));
        const { assert!(ABOVE_IN_L1 <= 0.25) };
    }

    proptest! {
        #[test]
        fn no_replaced_row_of_many_passes_it(
            losses in proptest::collection::vec(proptest::array::uniform4(-0.5..1.5_f64), 5),
            other in proptest::array::uniform4(-0.5..1.5_f64), useless in any::<bool>(),
        ) {
            // Even for losses and gaps that do not fit each other.
            let of = |[own, public, constant, gap]: [f64; 4]| Losses {
                own, public, gap: if gap > 1.4 { f64::NAN } else { 2.0 * gap - 1.0 }, constant,
            };
            let (losses, other) = (losses.into_iter().map(of).collect::<Vec<_>>(), of(other));
            for tally in every_tally(5) {
                if !matches!(tally.kind, Kind::Numbers { .. }) {
                    continue;
                }
                let mut neighbour = losses.clone();
                if useless { neighbour.pop(); } else { neighbour[2] = other; }
                let found =
                    moved(&tally, &Answers::Numbers(losses.clone()), &Answers::Numbers(neighbour));
                prop_assert!(found <= tally.sensitivity() * (1.0 + 1e-9), "{:?} {}", tally, found);
            }
        }
    }
}
