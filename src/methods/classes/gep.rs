//! Gradient embedding perturbation: noise in the directions of public gradients, and a little noise
//! outside them.
//!
//! After Yu et al. and algorithm 4 of Gu, Kamath and Wu, *Choosing Public Datasets for Private
//! Machine Learning via Gradient Subspace Distance*. An orthonormal basis V (p × k) of the *anchor*
//! subspace comes from the gradients of public records at the current model, by power iteration.
//! Every private gradient is split into its embedding wᵢ = Vᵀgᵢ and its residual rᵢ = gᵢ − Vwᵢ,
//! clipped to S₁ and S₂. Noise on only k numbers is small, and the residual, with most of the p
//! numbers, is short. Residuals are never formed: with the clipping factors e and f,
//!
//! > Σ fᵢrᵢ = Σ fᵢgᵢ − V·Σ fᵢwᵢ.
//!
//! *Sensitivity.* Both parts of a step are one Gaussian mechanism on one Poisson sample: a vector
//! of k + p numbers, (√s·Σeᵢwᵢ/S₁, √(1−s)·Σfᵢrᵢ/S₂), to which one record adds at most √(s + 1 − s)
//! = 1. The share s splits the budget. Neighbours are zero-out, as in [`super::sampled`].
//!
//! *As printed*: all records are in every step, with noise of σS₁ on the embeddings and σS₂ on the
//! residuals, σ = 2√(2T·log(1/δ))/ε. That is the vector above with s = ½ and noise of σ/√2. Both
//! parts together have μ² = ε²/(4·log(1/δ)) for zero-out neighbours, which is less than the paper
//! claims. Under replace-one the vector moves by up to 2, and the same σ is not enough. Steps have one
//! rate, and the last model is returned. The basis is found by the paper's power iteration, which
//! goes on from the step before instead of a random start.
//!
//! ‖rᵢ‖² = ‖gᵢ‖² − ‖wᵢ‖² is a difference of rounded numbers, so a small share of ‖gᵢ‖² is added
//! before clipping ([`residual_slack`]). Gradients much longer than S₁ + S₂ are shortened first, so
//! that no sum cancels numbers far larger than its result.

use super::dp_sgd;
use super::sampled::design::{self, ANCHORS, Design, generator};
use super::sampled::fields::{NetworkChoice, NetworkSettings, StepSettings, batch, steps};
use super::sampled::optimiser::OptimiserKind;
use super::sampled::step_length::StepLengths;
use super::sampled::training::{ClippingEffect, GradientSource, SampledTraining, seen};
use super::sampled::{Examples, rounding};
use crate::model::Gradients;
use crate::numeric::positive::{evened_columns, orthogonal_columns};
use crate::numeric::product::{inner_products, plain, product};
use crate::numeric::projection::shrink_factor;
use crate::numeric::symmetric;
use crate::prelude::*;
use crate::privacy::Contributions;
use crate::privacy::openings::{OpenPrivate, OpenReleased};
use rand::RngExt;

/// The default number of directions and anchors.
const USUAL_BASIS: usize = 100;
const USUAL_ANCHORS: usize = 400;

const POWER_ITERATIONS: usize = 8;
/// Directions with less than this share of the largest one's energy are left out of the basis.
const LEAST_ENERGY: f64 = 1e-10;
/// The least allowance for errors of ‖rᵢ‖², as a share of ‖gᵢ‖²: see [`residual_slack`].
const RESIDUAL_SLACK: f64 = 1e-10;
/// Gradients longer than this many times S₁ + S₂ are shortened before they are split.
const LONGEST: f64 = 100.0;

choices! {
    pub enum AnchorLabels { Random = "random", Own = "own" }
}

static SPEC: Spec = Spec {
    id: "gep",
    name: "private, with public gradients",
    paper: "Gradient embedding (GEP)",
    summary: "Any number of classes told apart by private gradients, most of whose noise stays \
              in the few directions in which public gradients point.",
    line: "noise mostly where public gradients point",
    task: Task::Classification,
    needs_public_labels: false,
    fields: GepSettings::FIELDS,
    tries: &[("basis", &[10.0, 40.0])],
    place: 4,
    assumption: Some(
        "The guarantee is semi-private: it is for the private records alone. The subspace \
         in which gradients are released was computed from public records without noise, \
         which is only right if these do not depend on the private records.",
    ),
    covers_scores: false,
    always_samples: true,
    gap: Gap::SAMPLE,
    ..Spec::DEFAULT
};

settings! {
    struct GepSettings {
        mode: Mode = Mode::or(Mode::Rigorous).named("mode", "").help(
            "rigorous: noise from the accountant, on samples. as_printed: noise and steps of the \
             paper, on all records, for reproduction; the certificate states what the accountant \
             proves for that noise.",
        ),
        model: NetworkChoice = NetworkSettings::model,
        units: u64 = NetworkSettings::units,
        channels: u64 = NetworkSettings::channels,
        height: Option<u64> = NetworkSettings::height,
        basis: Option<u64> = automatic_whole(2000.0).named("basis dimension k", "directions").help(
            "Of the anchor subspace. More keep more of the gradients and cost more noise. \
             Automatic takes 100, or as many as public records and parameters allow.",
        ),
        anchors: Option<u64> = automatic_whole(10_000.0).named("anchors", "records").help(
            "Public records whose gradients span the anchor subspace; at least as many as \
             directions. Automatic takes 400, or all if there are fewer.",
        ),
        anchor_labels: AnchorLabels = AnchorLabels::or(AnchorLabels::Random)
            .named("anchor labels", "")
            .help(
                "Labels of the public records there: drawn at random, or their own where they \
                 have the private classes.",
            ),
        refresh: u64 = whole(1, 1000, 1).named("refresh", "steps")
            .help("The subspace is computed again after so many steps."),
        clip_embedding: f64 = real(1e-6, 1e6, 0.5).named("clip S₁", "norm of embedding")
            .help("What a gradient says inside the subspace is clipped to this norm."),
        clip_residual: f64 = real(0.0, 1e6, 0.25).named("clip S₂", "norm of residual")
            .help("What it says outside is clipped to this norm; 0 leaves it out."),
        share: f64 = real(0.01, 0.99, 0.5).named("share of S₁", "share of budget")
            .help("Part of the budget for the embedding; the rest is for the residual."),
        steps: u64 = steps(100_000, 30),
        batch: Option<u64> = StepSettings::batch,
        learning_rate: Option<f64> = StepSettings::learning_rate,
        momentum: f64 = StepSettings::momentum,
        average: f64 = StepSettings::average,
        optimiser: OptimiserKind = StepSettings::optimiser,
    }
}

/// DP-SGD with gradients split along and across the span of public ones.
pub const METHOD: &Method = &Method { spec: &SPEC, plan };

fn plan(settings: &Settings, problem: Problem, target: Target) -> Result<(Plan, Start)> {
    let given = settings;
    let (mut settings, mut course) = (GepSettings::of(given)?, StepSettings::of(given)?);
    let shape = &problem.shape;
    let printed = settings.mode == Mode::AsPrinted;
    if printed {
        settings.print(given)?;
        (course.average, course.batch) = (0.0, Some(shape.private_records as u64));
    }
    let labels = settings.anchor_labels;
    check_labels(labels, shape, &problem.public)?;
    let network = design::network(shape, NetworkSettings::of(given)?, shape.dimension)?;
    let parameters = network.parameters();
    let Sizes { directions, anchors } = sizes(shape, parameters, settings.anchors, settings.basis)?;
    let split =
        ContributionSplit::new(settings.clip_embedding, settings.clip_residual, settings.share)
            .of_sizes(directions, parameters);
    let (batch, n) = (batch(shape, course.batch)?, shape.private_records);
    let residual = if split.residual > 0.0 { parameters } else { 0 };
    let release = Release::new(
        GRADIENT,
        SampledSum {
            sensitivity: 1.0 + split.rounding(n, directions, parameters),
            numbers: directions + residual,
            rate: batch as f64 / n as f64,
        },
    );
    let (noise, records) = if printed {
        let noise = Allotment::AsPrinted(printed_noise(target, course.steps));
        (noise, "all records".to_owned())
    } else {
        (Allotment::Share(1.0), format!("one Poisson sample of about {batch} records"))
    };
    let what = format!(
        "the sum of clipped gradient embeddings ({directions} numbers) and residuals \
         ({residual} numbers) over {records}, in each step"
    );
    let announced = release.announced(what, course.steps, noise, Adjacency::ZeroOut);
    let mut plan = Plan::new(vec![announced], course.steps, batch as f64);
    plan.warnings = design::remarks(&network);
    plan.theory.push(crate::theory::says_of_subspace());
    let start: Start = Box::new(move |private, noise| {
        let design = dp_sgd::design(&problem, network)?;
        let source = Embedded {
            release,
            anchors: anchor_records(&problem, &design, labels, anchors)?,
            split,
            directions,
            refresh: settings.refresh,
            batch: batch as f64,
            drawn: 0,
            basis: Anchor::default(),
        };
        let length = noise.scale(&release)? * split.noise_length(directions, parameters);
        let pace = StepLengths::of(design.model.architecture());
        let motion = pace.motion(course, length / source.batch, parameters);
        Ok(Box::new(SampledTraining::new(&problem, &private, design, Box::new(source), motion)?))
    });
    Ok((plan, start))
}

impl GepSettings {
    /// Takes the values that the paper fixes, and refuses others.
    fn print(&mut self, given: &Settings) -> Result<()> {
        let own = ["refresh", "share", "batch", "momentum", "average", "optimiser"];
        self.mode.fixes(&SPEC, given, &own)?;
        if self.clip_residual == 0.0 {
            return Err(Error::usage("as_printed releases residuals, and clip S₂ is 0")
                .cure("give a clip S₂ above 0, or choose mode: \"rigorous\""));
        }
        self.share = 0.5;
        Ok(())
    }
}

/// The printed noise of either part relative to its clip norm, 2√(2T·log(1/δ))/ε, in units of the
/// vector with both: these are √½ of each.
fn printed_noise(target: Target, steps: u64) -> f64 {
    let multiplier = 2.0 * (2.0 * steps as f64 * (1.0 / target.delta).ln()).sqrt() / target.epsilon;
    multiplier * 0.5_f64.sqrt()
}

/// The number of directions of the subspace, and of public records that anchor it.
#[derive(Debug, Clone, Copy)]
struct Sizes {
    directions: usize,
    anchors: usize,
}

fn sizes(
    shape: &ProblemShape,
    parameters: usize,
    anchors: Option<u64>,
    basis: Option<u64>,
) -> Result<Sizes> {
    let all = shape.public_records;
    let wanted = anchors.map(|anchors| anchors as usize);
    if let Some(wanted) = wanted.filter(|wanted| *wanted > all) {
        return Err(Error::usage(format!("{wanted} anchors are wanted of {all} public records"))
            .cure(format!("choose at most {all}, or 0 for automatic")));
    }
    let most = wanted.unwrap_or(all);
    let directions =
        basis.map_or(USUAL_BASIS.min(most).min(parameters), |directions| directions as usize);
    let anchors = wanted.unwrap_or(all.min(USUAL_ANCHORS.max(directions)));
    if directions > anchors {
        return Err(Error::usage(format!(
            "a basis of {directions} directions is wanted of the gradients of {anchors} public \
             records"
        ))
        .cure("choose a smaller basis, or more anchors"));
    }
    if directions > parameters {
        return Err(Error::usage(format!(
            "a basis of {directions} directions is wanted of gradients of {parameters} numbers"
        ))
        .cure(format!("choose at most {parameters}")));
    }
    Ok(Sizes { directions, anchors })
}

/// If the anchors have their own labels, these must be private classes.
pub(super) fn check_labels(
    labels: AnchorLabels,
    shape: &ProblemShape,
    public: &PublicData,
) -> Result<()> {
    let same = public.classes.as_ref().is_some_and(|classes| classes.names == shape.classes);
    if labels == AnchorLabels::Random || same {
        return Ok(());
    }
    Err(Error::usage(format!(
        "public gradients are to be of the records' own labels, but '{}' has {} classes of its own where \
         the private records have {}",
        public.name,
        public.classes.as_ref().map_or(0, |classes| classes.names.len()),
        shape.classes.len()
    ))
    .cure("take random labels, or public records with the private classes"))
}

pub(super) fn anchor_records(
    problem: &Problem,
    design: &Design,
    labels: AnchorLabels,
    count: usize,
) -> Result<Examples> {
    let Problem { shape, public, seed, .. } = problem;
    let known = shape.classes.len();
    let records = match labels {
        AnchorLabels::Own => Examples::new(public.shared(), known)?,
        AnchorLabels::Random => Examples::unlabelled(public.shared()),
    };
    let mut generator = generator(*seed, ANCHORS);
    let mut at: Vec<usize> = (0..records.len()).collect();
    rand::seq::SliceRandom::shuffle(at.as_mut_slice(), &mut generator);
    at.truncate(count);
    let class = |i: &usize| match records.classes().get(*i) {
        Some(class) => *class,
        None => generator.random_range(0..known as u32),
    };
    let classes = at.iter().map(class).collect();
    seen(design, records.select(&at).of_classes(classes))
}

/// How a record's contribution of length 1 is divided.
#[derive(Debug, Clone, Copy)]
struct ContributionSplit {
    /// S₁
    embedding: f64,
    /// S₂
    residual: f64,
    /// √s/S₁
    embedding_unit: f64,
    /// √(1−s)/S₂
    residual_unit: f64,
    /// Added to ‖rᵢ‖², in units of ‖gᵢ‖².
    slack: f64,
}

/// How far ‖gᵢ‖² − ‖wᵢ‖², as computed, may lie below the squared length of gᵢ − Vwᵢ, as a share of
/// ‖gᵢ‖². With γ for sums over the p numbers of a gradient, every entry of w has an error of γ‖g‖,
/// so ‖w‖² has one of 2√k·γ. VᵀV became a projection by two products with that rounding, so each of
/// its k² entries has an error of 3γ and the matrix one of 3k·γ. The squares themselves have an
/// error of 2γ.
fn residual_slack(directions: usize, parameters: usize) -> f64 {
    let k = directions as f64;
    let terms = 3.0 * k + 2.0 * k.sqrt() + 2.0;
    RESIDUAL_SLACK.max(terms * summation_error(parameters + directions + 32))
}

impl ContributionSplit {
    /// S₁, S₂ and s.
    fn new(embedding: f64, residual: f64, share: f64) -> Self {
        let (embedding_unit, residual_unit) = if residual > 0.0 {
            (share.sqrt() / embedding, (1.0 - share).sqrt() / residual)
        } else {
            (1.0 / embedding, 0.0)
        };
        Self { embedding, residual, embedding_unit, residual_unit, slack: RESIDUAL_SLACK }
    }

    /// The split for this many directions and gradients of this many numbers.
    fn of_sizes(self, directions: usize, parameters: usize) -> Self {
        Self { slack: residual_slack(directions, parameters), ..self }
    }

    fn longest(&self) -> f64 {
        LONGEST * (self.embedding + self.residual)
    }

    /// The amount that rounding adds to the sensitivity of a sum over this many records. An
    /// embedding is one sum. A residual Σfg − V·(Σfw) is two sums and a product with V, whose error
    /// is √k·γ of the length, as V has a Frobenius norm of at most √k.
    fn rounding(&self, records: usize, directions: usize, parameters: usize) -> f64 {
        let sums = rounding(records, directions + parameters);
        let product =
            (2 * records + 1) as f64 * (directions as f64).sqrt() * summation_error(directions);
        self.longest() * (self.embedding_unit * sums + self.residual_unit * (2.0 * sums + product))
    }

    /// Root mean square length of the effect on a gradient of unit noise on every number.
    fn noise_length(&self, directions: usize, parameters: usize) -> f64 {
        let part =
            |count: usize, unit: f64| if unit > 0.0 { count as f64 / (unit * unit) } else { 0.0 };
        (part(directions, self.embedding_unit) + part(parameters, self.residual_unit)).sqrt()
    }

    /// The factors of embedding and residual, from ‖g‖² and ‖Vᵀg‖².
    fn factors(&self, whole: f64, inside: f64) -> (f64, f64) {
        let first = shrink_factor(whole.sqrt(), self.longest());
        let outside = (whole - inside).max(0.0) + self.slack * whole;
        let embedding = first * shrink_factor(first * inside.sqrt(), self.embedding);
        let residual = first * shrink_factor(first * outside.sqrt(), self.residual);
        let residual = if planted(Fault::MissingResidual) { 1.0 } else { residual };
        (embedding, if self.residual > 0.0 { residual } else { 0.0 })
    }

    /// The gradient that a released sum stands for: the basis times the first of its numbers, plus
    /// the others.
    fn gradient(&self, basis: &Matrix, sum: &[f64]) -> Vector {
        let (inside, outside) = sum.split_at(basis.ncols());
        let mut gradient = basis * (Vector::from_column_slice(inside) / self.embedding_unit);
        if self.residual > 0.0 {
            gradient += Vector::from_column_slice(outside) / self.residual_unit;
        }
        gradient
    }

    /// Embeddings and residuals of gradients, clipped and in units.
    fn embed<'a>(self, basis: &'a Matrix, gradients: &'a Gradients) -> Embeddings<'a> {
        let inside = gradients.project(basis);
        let squares = gradients.squared_norms();
        let factors = squares.iter().zip(inside.column_iter());
        let factors = factors.map(|(square, w)| self.factors(*square, w.norm_squared())).collect();
        Embeddings { split: self, basis, gradients, inside, squares, factors }
    }
}

/// (√s/S₁·eᵢwᵢ, √(1−s)/S₂·fᵢrᵢ) of every gradient, not formed.
struct Embeddings<'a> {
    split: ContributionSplit,
    basis: &'a Matrix,
    gradients: &'a Gradients,
    /// wᵢ
    inside: Matrix,
    /// ‖gᵢ‖²
    squares: Vec<f64>,
    /// eᵢ and fᵢ
    factors: Vec<(f64, f64)>,
}

impl Contributions for Embeddings<'_> {
    fn squared_norms(&self) -> Vec<f64> {
        let ContributionSplit { embedding_unit, residual_unit, .. } = self.split;
        let records = self.squares.iter().zip(self.inside.column_iter()).zip(&self.factors);
        let norms = records.map(|((whole, w), (e, f))| {
            let inside = w.norm_squared();
            let counted = !planted(Fault::MissingResidual);
            let outside = if counted { (whole - inside).max(0.0) } else { 0.0 };
            (embedding_unit * e).powi(2) * inside + (residual_unit * f).powi(2) * outside
        });
        norms.collect()
    }

    fn add_weighted(&self, factors: &[f64], sum: &mut [f64]) {
        let ContributionSplit { embedding_unit, residual_unit, residual, .. } = self.split;
        let both = || self.factors.iter().zip(factors);
        let embedding = Vector::from_iterator(factors.len(), both().map(|((e, _), by)| by * e));
        let (inside, outside) = sum.split_at_mut(self.inside.nrows());
        let embedded = embedding_unit * (&self.inside * embedding);
        inside.iter_mut().zip(&embedded).for_each(|(sum, part)| *sum += part);
        if residual > 0.0 {
            let residual = Vector::from_iterator(factors.len(), both().map(|((_, f), by)| by * f));
            let mut rest = self.gradients.weighted_sum(residual.as_slice());
            rest -= self.basis * (&self.inside * &residual);
            let rest = residual_unit * rest;
            outside.iter_mut().zip(&rest).for_each(|(sum, part)| *sum += part);
        }
    }
}

/// An anchor subspace.
#[derive(Debug, Clone, Default)]
struct Anchor {
    /// V, with columns of zeros where the public gradients have too few directions.
    basis: Matrix,
    /// The combinations of the anchors' gradients from which it started last time.
    combinations: Matrix,
    /// Share of the public gradients' energy in the subspace.
    energy: f64,
}

impl Anchor {
    /// The subspace of `gradients`, searched from its earlier place. Power iteration on the Gram
    /// matrix finds the combinations of gradients with the most energy; no matrix of gradients is
    /// formed until the basis is.
    fn of(gradients: &Gradients, directions: usize, before: Self) -> Result<Self> {
        let gram = gradients.gram();
        let count = gradients.examples();
        let mut combinations = before.combinations;
        if combinations.shape() != (count, directions) {
            // Any start that is not orthogonal to the solution.
            combinations = Matrix::from_fn(count, directions, |i, j| {
                ((i * directions + j) as f64 * 0.754_877_666).fract() - 0.5
            });
        }
        let times = |matrix: &Matrix| {
            product(
                &plain(gram.as_slice(), count, count),
                &plain(matrix.as_slice(), count, matrix.ncols()),
            )
        };
        for _ in 0..POWER_ITERATIONS {
            combinations = times(&evened_columns(&combinations));
        }
        let combinations = orthogonal_columns(&combinations);
        let inside = inner_products(&combinations, &times(&combinations));
        let broken = || {
            Error::failed("the public gradients hold something else than numbers")
                .cure("choose a lower learning rate")
        };
        let (values, vectors) = symmetric::eigen(&inside).ok_or_else(broken)?;
        let mut coefficients = &combinations * vectors;
        let least = LEAST_ENERGY * values.max();
        for (mut column, value) in coefficients.column_iter_mut().zip(&values) {
            column *= if *value > least { 1.0 / value.sqrt() } else { 0.0 };
        }
        let basis = orthonormal(&gradients.combinations(&coefficients)).ok_or_else(broken)?;
        let total = gram.trace();
        let energy = if total > 0.0 { values.sum() / total } else { 0.0 };
        Ok(Self { basis, combinations, energy })
    }
}

/// Removes the rounding error of an almost orthonormal basis: V(VᵀV)^−½. Columns of zeros stay.
fn orthonormal(basis: &Matrix) -> Option<Matrix> {
    let (values, vectors) = symmetric::eigen(&inner_products(basis, basis))?;
    let root = Matrix::from_diagonal(
        &values.map(|value| if value > 0.5 { 1.0 / value.sqrt() } else { 0.0 }),
    );
    Some(basis * (&vectors * root * vectors.transpose()))
}

/// Two clipped sums in each step, released together.
struct Embedded {
    anchors: Examples,
    release: Release<SampledSum>,
    split: ContributionSplit,
    directions: usize,
    refresh: u64,
    /// The average number of records in a sample.
    batch: f64,
    drawn: u64,
    basis: Anchor,
}

impl GradientSource for Embedded {
    fn draw(
        &mut self,
        Design { objective, model, .. }: &Design,
        private: &Private<Examples>,
        spender: &mut Spender,
    ) -> Result<Released<Vector>> {
        if self.drawn.is_multiple_of(self.refresh) {
            let gradients = objective.gradients(model, &self.anchors)?;
            let before = std::mem::take(&mut self.basis);
            self.basis = Anchor::of(&gradients, self.directions, before)?;
        }
        self.drawn += 1;
        let (split, basis) = (self.split, &self.basis.basis);
        let noisy = private.release_sampled_sum(
            spender,
            self.release,
            Examples::protected,
            |records, sample, sum| {
                // Shapes were checked at the start; chunks that do not fit add nothing.
                let _ = objective.over_sample(model, records, sample.members(), |g, count| {
                    sum.add(&split.embed(basis, g), count, f64::INFINITY);
                });
            },
        )?;
        Ok(noisy.map(|noisy| split.gradient(basis, &noisy) / self.batch))
    }

    fn look(&self, gradients: &Gradients) -> ClippingEffect {
        let inside = gradients.project(&self.basis.basis);
        let (mut clipped, mut kept, mut all) = (0, 0.0, 0.0);
        for (square, embedding) in gradients.squared_norms().iter().zip(inside.column_iter()) {
            let within = embedding.norm_squared();
            clipped += usize::from(within.sqrt() > self.split.embedding);
            kept += within;
            all += square;
        }
        let energy = if all > 0.0 { kept / all } else { 0.0 };
        ClippingEffect {
            clipped: clipped as f64 / gradients.examples() as f64,
            energy: Some(energy),
        }
    }

    /// Computed from public records at a released model.
    fn public_measures(&self) -> Vec<(Series, f64)> {
        vec![(Series::SubspaceEnergy, self.basis.energy)]
    }
}

#[cfg(test)]
mod tests;
