//! The score that a run releases when its model is done, from plan to words.

use std::fmt::Write;

use serde::{Deserialize, Serialize};

use super::definition::FEWEST;
use super::interval;
use super::law::Law;
use super::score::{Constant, KnownOfScore};
use super::tally::{Answer, BINS, Kind, LABEL, Losses};
use super::usual::MARGIN;
use super::words;
use super::{Answers, Evaluation, Judged, Loss, Pay, Scored, Tally, UsualErrors};
use crate::data::{Classes, Dataset, DatasetDefinition, HeldOut, Missing, PublicData};
use crate::error::{Error, Result};
use crate::numeric::columns::ExampleColumns;
use crate::privacy::accountant::{QueryKind, calibrate};
use crate::privacy::openings::{OpenPrivate, OpenReleased};
use crate::privacy::{
    Allotment, Calibrated, PlannedRelease, Private, Reach, Released, Spender, Target,
};

/// The expected share of wrong answers, before anything is known.
const USUAL_SHARE: f64 = 0.2;
/// The expected mean and standard deviation of a loss, in units of the largest that counts, if no
/// public record shows them.
const USUAL_LOSS: (f64, f64) = (0.25, 0.25);

/// A score that is less accurate than this share of the error of one answer for all tells little.
const IMPRECISE: f64 = 0.25;

/// Two models are never taken to be closer than this part of the largest loss: where they agree on all
/// public records, they may still differ on private ones.
const LEAST_REACH: f64 = 0.05;

/// The least records of a class for which anything is reported, for any noise.
const FEW_OF_A_CLASS: f64 = 5.0;

/// A score to be released.
#[derive(Debug, Clone)]
pub struct Scoring {
    /// The score that the plan asks for.
    pub asked: Evaluation,
    /// The tally to release.
    pub tally: Tally,
    /// Errors on public records of another domain.
    pub usual: Option<UsualErrors>,
    /// The bound of every error, from the declared range of the label.
    pub bound: Option<f64>,
    /// The best answer that is the same for all on public records, and its error there.
    pub constant: Option<(Constant, f64)>,
    /// The unit of the label.
    pub unit: Option<String>,
    /// Whether the method builds on a finished model.
    pub builds_on_a_model: bool,
}

/// What a released score is expected to say of a model, beside public data alone.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ForeseenScore {
    /// The number of held-out rows.
    pub records: usize,
    /// Half the width of the interval of the gain: of how much less error than public data alone, as a
    /// share of theirs.
    pub half_width: f64,
}

/// The input for the score of a model, besides the held-out records.
#[derive(Clone, Copy)]
pub struct ScoringNeeds<'a> {
    /// The model of public data alone, if the two are compared.
    pub public_alone: Option<Judged<'a>>,
    /// Public records that show the typical probabilities.
    pub public_holdout: Option<&'a PublicData>,
    pub classes: &'a [String],
    /// The label for an answer of the model, in units of the held-out records.
    pub label: &'a (dyn Fn(f64) -> f64 + Sync),
}

/// How precise a score will be, in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expected {
    pub brief: String,
    pub details: String,
    /// Whether the score will leave nearly everything open.
    pub says_nothing: bool,
}

impl std::fmt::Display for Expected {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        write!(f, "{}{}", self.brief, self.details)
    }
}

impl Scoring {
    /// For `rows` held-out rows of the private dataset with this many classes, or numbers.
    /// `comparable`: whether the public records have the same label.
    pub fn of(
        asked: Evaluation,
        private: &DatasetDefinition,
        rows: usize,
        classes: usize,
        comparable: bool,
    ) -> Result<Self> {
        asked.check()?;
        if private.label.is_none() {
            return Err(Error::usage(format!(
                "a score needs labels, and '{}' has no label column",
                private.name
            ))
            .cure("choose its label, or leave `evaluation` out of the plan"));
        }
        if classes == 0 && (asked.per_class || asked.auc) {
            return Err(Error::usage(
                "`per_class` and `auc` are for classes, and the label is a number",
            )
            .cure("leave them out of `evaluation`"));
        }
        if asked.auc && classes != 2 {
            return Err(Error::usage(format!("`auc` is for two classes, and there are {classes}"))
                .cure("ask for `per_class: true` instead"));
        }
        if classes > 0 && (asked.loss != Loss::default() || asked.largest_error.is_some()) {
            return Err(Error::usage(
                "`loss` and `largest_error` are for numbers, and the label is a class",
            )
            .cure("leave them out of `evaluation`"));
        }
        if classes == 0 && !comparable && asked.largest_error.is_none() {
            return Err(size_unknown());
        }
        let gaps = private.missing == Missing::Drop || private.records.is_some();
        let laplace = matches!(asked.pay, Pay::Epsilon(_));
        let tally = Tally::new(&asked, rows, classes, comparable, gaps, laplace);
        let (usual, bound, constant, builds_on_a_model) = <_>::default();
        let unit = private.label_unit();
        let scoring = Self { asked, tally, usual, bound, constant, unit, builds_on_a_model };
        if rows < FEWEST {
            return Err(scoring.too_few());
        }
        Ok(scoring)
    }

    /// Adds what is known about errors beforehand: their sizes on public records of another domain,
    /// and a bound. Refuses numbers of which nothing shows how large an error may be.
    pub fn knowing(self, usual: Option<UsualErrors>, bound: Option<f64>) -> Result<Self> {
        let known = Self { usual, bound, ..self };
        let is_of_numbers = matches!(known.tally.kind, Kind::Numbers { .. });
        if is_of_numbers && known.largest_error().is_none() {
            return Err(size_unknown());
        }
        Ok(known)
    }

    /// Adds the best answer that is the same for all of these public records: the most common class, the
    /// median, or the mean for squared losses. `label` gives a label in its own units.
    pub fn beside_constant(self, public: &PublicData, label: impl Fn(f64) -> f64) -> Self {
        let constant = match (&public.classes, &public.target, self.largest_error()) {
            (Some(classes), ..) => {
                let mut counts = vec![0_usize; classes.names.len()];
                for of in &classes.of {
                    counts[*of as usize] += 1;
                }
                let best = (0..counts.len()).rev().max_by_key(|class| counts[*class]);
                best.map(|class| {
                    let share = counts[class] as f64 / classes.of.len().max(1) as f64;
                    (Constant::Class(class as u32), 1.0 - share)
                })
            }
            (None, Some(raw), Some(cap)) if !raw.is_empty() => {
                let mut labels: Vec<f64> = raw.iter().map(|raw| label(*raw)).collect();
                labels.sort_by(f64::total_cmp);
                let loss = self.asked.loss;
                let mean = |of: &dyn Fn(f64) -> f64| {
                    labels.iter().map(|label| of(*label)).sum::<f64>() / labels.len() as f64
                };
                let answer = match loss {
                    Loss::Absolute => labels[labels.len() / 2],
                    Loss::Squared => mean(&|label| label),
                };
                let losses = mean(&|label| loss.of((label - answer).abs() / cap));
                Some((Constant::Number(answer), loss.error(cap, losses)))
            }
            _ => None,
        };
        Self { constant, ..self }
    }

    /// The limit of errors: the declared one, or the one that public records show; at most their
    /// bound.
    pub fn largest_error(&self) -> Option<f64> {
        let largest = self.asked.largest_error.or_else(|| Some(self.usual.as_ref()?.cap()));
        largest.map(|largest| largest.min(self.bound.unwrap_or(largest)))
    }

    fn too_few(&self) -> Error {
        let what = match self.tally.rows {
            0 => "no record is held out to score the model by".to_owned(),
            rows => {
                // The uncertainty from the number of records alone.
                let half = 100.0 * self.half_width_with(0.0);
                let of = match self.tally.kind {
                    Kind::Classes { .. } => "percentage points",
                    Kind::Numbers { .. } => "% of the largest error that counts",
                };
                format!(
                    "{rows} records are too few for a score: even without noise it would be off by \
                     up to {half:.0} {of}"
                )
            }
        };
        Error::refused(what).cure(format!(
            "{FEWEST} are enough: raise `holdout`, or leave `evaluation` out and score the model on \
             a table of other records: `halflight score RUN TABLE`"
        ))
    }

    /// The releases of a plan and this one, with their noise. If training spends nothing, the rest
    /// of the budget is left.
    pub fn calibrate(&self, training: &[PlannedRelease], target: Target) -> Result<Calibrated> {
        let target = match self.asked.pay {
            Pay::Share(share) if training.is_empty() => {
                Target { epsilon: share * target.epsilon, ..target }
            }
            _ => target,
        };
        let mut releases = training.to_vec();
        releases.push(self.release(&releases, target)?);
        calibrate(&releases, target)
    }

    /// A remark if the score is paid for but would be free.
    pub fn caution(&self, training: &[PlannedRelease]) -> Option<String> {
        let covered = training.iter().any(covers);
        (self.asked.pay != Pay::Covered && covered).then(|| {
            "this score costs ε, and need not: the noise of this method's training covers it; \
             `evaluation: ()` is free and usually more precise"
                .to_owned()
        })
    }

    /// A remark that some class will have hardly any held-out record, if it is as rare as among
    /// public ones; its private frequency is secret.
    pub fn rare(&self, public: &Classes) -> Option<String> {
        let Kind::Classes { classes: Some(_), .. } = self.tally.kind else { return None };
        let expected = public.names.iter().enumerate().map(|(class, name)| {
            let count = public.of.iter().filter(|of| **of as usize == class).count();
            (name, self.tally.rows as f64 * count as f64 / public.of.len().max(1) as f64)
        });
        let (name, count) = expected.min_by(|one, other| one.1.total_cmp(&other.1))?;
        (count < FEW_OF_A_CLASS).then(|| {
            format!(
                "class '{name}' is rare among the public records: if it is as rare among the {} \
                 held-out ones, about {count:.0} of them belong to it, too few for its share of \
                 wrong answers or an AUC",
                self.tally.rows
            )
        })
    }

    fn release(&self, others: &[PlannedRelease], target: Target) -> Result<PlannedRelease> {
        let allotment = match self.asked.pay {
            Pay::Covered if others.iter().any(covers) => Allotment::Covered,
            Pay::Covered => {
                let why = if others.is_empty() {
                    "this method releases nothing from private records"
                } else {
                    "this method draws no Gaussian noise from all of its records"
                };
                return Err(Error::refused(format!(
                    "{why}, so nothing covers a score of the held-out ones"
                ))
                .cure("give the score a share of the budget: `evaluation: (pay: share(0.1))`"));
            }
            Pay::Share(share) => {
                let shares = others.iter().map(|other| match other.noise {
                    Allotment::Share(share) => share,
                    _ => 0.0,
                });
                let all: f64 = shares.sum();
                Allotment::Share(if all > 0.0 { all * share / (1.0 - share) } else { 1.0 })
            }
            Pay::Epsilon(epsilon) => {
                if epsilon >= target.epsilon {
                    return Err(Error::usage(format!(
                        "the score gets ε = {epsilon} of a run of ε = {}: nothing is left to \
                         train with",
                        target.epsilon
                    ))
                    .cure("give the score less, or the run more"));
                }
                Allotment::AsPrinted(self.tally.sensitivity() / epsilon)
            }
        };
        Ok(self.announced(allotment))
    }

    /// The release, with this noise.
    pub fn announced(&self, noise: Allotment) -> PlannedRelease {
        let (what, adjacency) = (self.tally.words(), Tally::ADJACENCY);
        let planned = if self.tally.laplace {
            self.tally.laplace().announced(what, 1, noise, adjacency)
        } else {
            self.tally.gaussian().announced(what, 1, noise, adjacency)
        };
        PlannedRelease { held_out: true, ..planned }
    }

    /// With Gaussian noise in place of Laplace noise.
    #[must_use]
    pub fn with_gaussian_noise(mut self) -> Self {
        self.tally.laplace = false;
        self
    }

    /// Half the expected width of the interval of the error, with the calibrated noise.
    pub fn half_width(&self, calibrated: &Calibrated) -> f64 {
        self.half_width_with(Self::scale(calibrated))
    }

    /// Half the width of the interval of the error, at a typical error: for classes as a share of
    /// all records, for numbers as a share of the largest loss that counts.
    fn half_width_with(&self, scale: f64) -> f64 {
        let rows = self.tally.rows as f64;
        let variance = match self.tally.kind {
            Kind::Classes { .. } => USUAL_SHARE * (1.0 - USUAL_SHARE),
            Kind::Numbers { .. } => self.usual_loss().1.powi(2) + self.tally.hidden(scale, rows),
        };
        let noise = self.noise(scale);
        interval::quantile((rows * variance).sqrt(), &noise, interval::outside(1)) / rows
    }

    /// The expected mean and standard deviation of a loss, in units of the largest that counts.
    fn usual_loss(&self) -> (f64, f64) {
        let known = self.usual.as_ref().zip(self.largest_error());
        known.map_or(USUAL_LOSS, |(usual, cap)| usual.moments(self.asked.loss, cap))
    }

    /// Half the width of the interval of the error before anything is released, in units of the
    /// label. It is a forecast: noise and limit are known, and how much errors vary is taken from
    /// public records of another domain.
    pub fn forecast(&self, calibrated: &Calibrated) -> Option<f64> {
        self.in_label_units(self.half_width_with(Self::scale(calibrated)))
    }

    /// What the released score would say of a model and of public data alone, for their `errors` on
    /// records like the held-out ones: sizes of errors in units of the label, or 1 for a wrong class
    /// and 0 for a right one. `grown` is how many times as large the noise will be as the calibrated
    /// one. `None` if public data alone make no error.
    pub fn foreseen(
        &self,
        errors: (&[f64], &[f64]),
        (calibrated, grown): (&Calibrated, f64),
    ) -> Option<ForeseenScore> {
        self.foreseen_with(errors, grown * Self::scale(calibrated))
    }

    pub(super) fn foreseen_with(
        &self,
        (model, public): (&[f64], &[f64]),
        scale: f64,
    ) -> Option<ForeseenScore> {
        let rows = self.tally.rows as f64;
        let (loss, cap, noise, hidden) = match self.tally.kind {
            Kind::Classes { .. } => {
                let noise = Law::of(
                    self.tally.laplace,
                    scale,
                    &vec![1.0; self.tally.own_numbers().div_ceil(2)],
                );
                let hidden = noise.sd() / rows;
                (Loss::Absolute, 1.0, noise, hidden)
            }
            Kind::Numbers { loss } => {
                let usual = || UsualErrors::of(public.iter().copied()).map(|usual| usual.cap());
                let cap = self.largest_error().or_else(usual)?;
                let apart = model
                    .iter()
                    .zip(public)
                    .map(|(model, public)| (loss.of(model / cap) - loss.of(public / cap)).abs());
                let reach = reach_for(apart.fold(0.0, f64::max));
                let noise = Law::of(self.tally.laplace, scale, &[2.0 * reach]);
                (loss, cap, noise, 4.0 * reach * reach * self.tally.hidden(scale, rows))
            }
        };
        let pairs = model.iter().zip(public);
        let pairs = pairs.map(|(model, public)| (loss.of(model / cap), loss.of(public / cap)));
        let count = model.len().max(1) as f64;
        let sum = pairs.fold([0.0; 3], |[all, alone, squares], (model, public)| {
            [all + model, alone + public, squares + (model - public).powi(2)]
        });
        let [mean, alone, squares] = sum.map(|sum| sum / count);
        let variance = (squares - (mean - alone).powi(2)).max(0.0) + hidden;
        let half =
            interval::quantile((rows * variance).sqrt(), &noise, interval::outside(1)) / rows;
        let end = |mean: f64| loss.error(1.0, mean.max(0.0));
        let whole = end(alone);
        (whole > 0.0).then(|| ForeseenScore {
            records: self.tally.rows,
            half_width: 0.5 * (end(mean + half) - end(mean - half)) / whole,
        })
    }

    /// Half of the width in units of the label, for half of it as a share of the largest loss.
    fn in_label_units(&self, half: f64) -> Option<f64> {
        let (cap, (mean, _)) = (self.largest_error()?, self.usual_loss());
        let end = |mean: f64| self.asked.loss.error(cap, mean.max(0.0));
        Some(0.5 * (end(mean + half) - end(mean - half)))
    }

    fn scale(calibrated: &Calibrated) -> f64 {
        let event = calibrated.events().iter().find(|event| event.label == LABEL);
        event.map_or(0.0, |event| event.mechanism.noise.scale)
    }

    /// The noise in the summed loss, for noise of this scale in each number of the tally.
    pub fn noise(&self, scale: f64) -> Law {
        let cells = self.tally.own_numbers();
        let factors = match self.tally.kind {
            // Half of the cells are wrong, and their total is known.
            Kind::Classes { .. } if cells > 1 => vec![0.5; cells],
            _ => vec![1.0],
        };
        Law::of(self.tally.laplace, scale, &factors)
    }

    /// The expected width of the interval in words, and what else the score depends on.
    pub fn expected(&self, calibrated: &Calibrated) -> Expected {
        let rows = self.tally.rows;
        let half = self.half_width_with(Self::scale(calibrated));
        let says_nothing = 2.0 * half > words::OPEN;
        if let (Kind::Numbers { loss }, Some(cap), Some(half)) =
            (&self.tally.kind, self.largest_error(), self.forecast(calibrated))
        {
            let noise = self.noise(Self::scale(calibrated));
            let alone = interval::quantile(0.0, &noise, interval::outside(1)) / rows as f64;
            let cap = words::three_digits(cap);
            let unit = self.unit.as_ref().map_or_else(String::new, |unit| format!(" {unit}"));
            let source = match self.usual {
                Some(_) => "errors vary as on public records of another domain".to_owned(),
                None => format!("errors are a quarter of {cap} on average"),
            };
            let mut brief = format!(
                "the released {} on {rows} held-out records, capped at {cap}, will be accurate to \
                 about ± {}{unit} (95 %)",
                loss.words(),
                words::two_digits(half)
            );
            if let Some((_, constant)) = self.constant {
                let error = words::three_digits(constant);
                let middle = if *loss == Loss::Squared { "mean" } else { "median" };
                let _ = write!(
                    brief,
                    "; the public {middle} for all has {error}{unit} on public records"
                );
                if half > IMPRECISE * constant {
                    brief +=
                        ". So it tells little; more held-out records (`holdout`) make it better";
                }
            }
            return Expected {
                says_nothing,
                brief,
                details: format!(
                    " (± {} by noise alone; the rest by which records are held out, if {source})",
                    words::two_digits(self.in_label_units(alone).unwrap_or_default())
                ),
            };
        }
        let half = 100.0 * half;
        let brief = if says_nothing {
            format!("a score from {rows} held-out records says nothing at this ε")
        } else if half > 20.0 {
            format!(
                "a score from {rows} held-out records will be very imprecise: ± {half:.0} \
                 percentage points (95 %). More records, or a larger `holdout`, make it better"
            )
        } else {
            format!(
                "the released share of wrong answers on {rows} held-out records will be accurate \
                 to about ± {half:.1} percentage points (95 %)"
            )
        };
        Expected { brief, details: String::new(), says_nothing }
    }

    /// Releases the tally of the held-out records and computes the scores of the model, which was
    /// released before.
    pub fn draw(
        &self,
        holdout: &Private<HeldOut>,
        judged: Judged<'_>,
        needs: &ScoringNeeds,
        spender: &mut Spender,
    ) -> Result<Released<Scored>> {
        let scorer = ModelScorer::new(self, judged, needs)?;
        let query = |holdout: &HeldOut| self.tally.count(&scorer.answers(holdout));
        let reach = Reach::between(0.0, self.tally.rows as f64, self.tally.numbers());
        let (released, scale) = if self.tally.laplace {
            let release = self.tally.laplace();
            (holdout.release_laplace(spender, release, &reach, query)?, spender.scale(&release)?)
        } else {
            let release = self.tally.gaussian();
            (holdout.release_gaussian(spender, release, &reach, query)?, spender.scale(&release)?)
        };
        let known = scorer.known();
        let compared = needs.public_alone.is_some();
        Ok(released.map(|released| {
            let scored = Scored::of(&self.tally, &released, scale, needs.classes, &known);
            let scored = if compared { scored } else { scored.alone() };
            let (unit, builds_on_a_model) = (self.unit.clone(), self.builds_on_a_model);
            Scored { unit, builds_on_a_model, ..scored.bounded(self.bound) }
        }))
    }
}

/// The limit of the difference of two losses, for the largest that public records show.
pub fn reach_for(largest: f64) -> f64 {
    (MARGIN * largest).clamp(LEAST_REACH, 1.0)
}

fn size_unknown() -> Error {
    Error::usage("the public records do not show how large an error may be").cure(
        "declare it, in units of the label: `largest_error` in the plan, or `--largest-error`",
    )
}

/// Gaussian noise on all training records also hides a score on the others.
fn covers(release: &PlannedRelease) -> bool {
    release.query.kind == QueryKind::Gaussian
}

/// The model and public data alone, with the rules for scoring their answers. All of it is public
/// or released.
pub struct ModelScorer<'a> {
    judged: Judged<'a>,
    public: Option<Judged<'a>>,
    label: &'a (dyn Fn(f64) -> f64 + Sync),
    /// The edges of probabilities between bins.
    edges: Vec<f64>,
    loss: Option<(Loss, f64)>,
    /// The limit of the difference of two losses.
    reach: f64,
    /// The answer that is the same for all.
    constant: Option<Constant>,
}

impl<'a> ModelScorer<'a> {
    pub fn new(scoring: &Scoring, judged: Judged<'a>, needs: &ScoringNeeds<'a>) -> Result<Self> {
        let mut scorer = Self {
            judged,
            public: needs.public_alone,
            label: needs.label,
            edges: Vec::new(),
            loss: None,
            reach: 1.0,
            constant: scoring.constant.map(|(answer, _)| answer),
        };
        match scoring.tally.kind {
            Kind::Classes { binned: true, .. } => {
                scorer.edges = edges(judged, needs.public_holdout);
            }
            Kind::Classes { .. } => {}
            Kind::Numbers { loss } => {
                let largest = scoring.largest_error().ok_or_else(size_unknown)?;
                scorer.loss = Some((loss, largest));
                scorer.reach = scorer.reach(needs.public_holdout).unwrap_or(1.0);
            }
        }
        Ok(scorer)
    }

    /// The limit of the difference of two losses: how far the two models are apart on public records,
    /// and a margin. The losses of one record differ by no more than the answers (for squares, than twice
    /// as much), as parts of the largest error.
    fn reach(&self, public: Option<&PublicData>) -> Option<f64> {
        let ((loss, largest), features) = (self.loss?, &public?.features);
        let answers = |Judged { model, view }: Judged<'_>| model.numbers(&view.of(features));
        let (own, alone) = (answers(self.judged)?, answers(self.public?)?);
        let apart = own.iter().zip(&alone);
        let apart = apart.map(|(own, alone)| ((self.label)(*own) - (self.label)(*alone)).abs());
        let most = apart.fold(0.0, f64::max) / largest;
        Some(reach_for(if loss == Loss::Squared { 2.0 * most } else { most }))
    }

    fn errors<F: ExampleColumns>(
        &self,
        Judged { model, view }: Judged<'_>,
        holdout: &Dataset<F>,
    ) -> Option<Vec<f64>> {
        let truth = holdout.target.as_ref()?;
        let found = model.numbers(&view.of(&holdout.features))?;
        let errors = found.into_iter().zip(truth);
        Some(errors.map(|(raw, label)| ((self.label)(raw) - label).abs()).collect())
    }

    pub fn largest_error(&self) -> Option<f64> {
        self.loss.map(|(_, largest)| largest)
    }

    fn known(&self) -> KnownOfScore {
        let threshold = self.edges.iter().position(|edge| *edge >= 0.5);
        KnownOfScore {
            threshold: threshold.map_or(BINS, |place| place + 1),
            largest_error: self.largest_error(),
            reach: self.reach,
            constant: self.constant,
        }
    }

    fn answers<F: ExampleColumns>(&self, holdout: &Dataset<F>) -> Answers {
        match self.loss {
            Some((loss, largest)) => {
                let scaled = |judged: Judged<'_>| -> Vec<f64> {
                    let errors = self.errors(judged, holdout).unwrap_or_default();
                    errors.into_iter().map(|error| loss.of(error / largest)).collect()
                };
                let ours = scaled(self.judged);
                let theirs = self.public.map_or_else(|| ours.clone(), scaled);
                let truth = holdout.target.iter().flatten();
                let constants = truth.map(|label| match self.constant {
                    Some(Constant::Number(answer)) => loss.of((label - answer).abs() / largest),
                    _ => 1.0,
                });
                let all = ours.into_iter().zip(theirs).zip(constants);
                let losses =
                    |((own, public), constant)| Losses::of([own, public, constant], self.reach);
                Answers::Numbers(all.map(losses).collect())
            }
            None => Answers::Classes(self.classes(holdout)),
        }
    }

    /// Losses of the model on the usable records, in [0, 1].
    pub fn losses<F: ExampleColumns>(&self, holdout: &Dataset<F>) -> Vec<f64> {
        match self.answers(holdout) {
            Answers::Numbers(losses) => losses.into_iter().map(|losses| losses.own).collect(),
            Answers::Classes(answers) => {
                answers.into_iter().map(|answer| f64::from(u8::from(answer.wrong))).collect()
            }
        }
    }

    fn classes<F: ExampleColumns>(&self, holdout: &Dataset<F>) -> Vec<Answer> {
        let Some(truth) = holdout.classes.as_ref() else { return Vec::new() };
        let Judged { model, view } = self.judged;
        let features = &view.of(&holdout.features);
        let found = model.classes(features).unwrap_or_default();
        let public = self.public.and_then(|it| it.model.classes(&it.view.of(&holdout.features)));
        let chances = model.probabilities(features).filter(|_| !self.edges.is_empty());
        let answer = |(row, class): (usize, &u32)| {
            // A model without probabilities counts as certain of its answer.
            let certain = if found.get(row) == Some(&1) { 1.0 } else { 0.0 };
            let chance = chances.as_ref().map_or(certain, |chances| chances[(1, row)]);
            Answer {
                class: *class,
                wrong: found.get(row) != Some(class),
                bin: self.edges.iter().filter(|edge| chance > **edge).count(),
                public_wrong: public.as_ref().is_some_and(|public| public.get(row) != Some(class)),
                constant_wrong: self.constant != Some(Constant::Class(*class)),
            }
        };
        truth.of.iter().enumerate().map(answer).collect()
    }
}

/// The edges between bins of the second class's probability: quantiles of public records (or parts
/// of equal width if there are none), and ½, where the answer changes.
fn edges(Judged { model, view }: Judged<'_>, public: Option<&PublicData>) -> Vec<f64> {
    let chances = public.and_then(|public| model.probabilities(&view.of(&public.features)));
    let mut chances: Vec<f64> =
        chances.map(|chances| chances.row(1).iter().copied().collect()).unwrap_or_default();
    chances.sort_by(f64::total_cmp);
    let quantile = |part: usize| {
        let place = (chances.len() * part / (BINS - 1)).min(chances.len().saturating_sub(1));
        chances.get(place).copied().unwrap_or(part as f64 / (BINS - 1) as f64)
    };
    let mut edges: Vec<f64> = (1..BINS - 1).map(quantile).chain([0.5]).collect();
    edges.sort_by(f64::total_cmp);
    edges
}
