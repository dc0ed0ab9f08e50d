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
use super::sampled::step_length::StepLengths;
use super::sampled::training::{ClippingEffect, GradientSource, SampledTraining, seen};
use super::sampled::{Examples, SampledObjective, rounding};
use crate::model::Gradients;
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
    let start: Start = Box::new(move |private, noise| {
        let design = dp_sgd::design(&problem, network)?;
        let source = Embedded {
            release,
            objective: design.objective,
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
        let own = ["refresh", "share", "batch", "momentum", "average"];
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
fn check_labels(labels: AnchorLabels, shape: &ProblemShape, public: &PublicData) -> Result<()> {
    let same = public.classes.as_ref().is_some_and(|classes| classes.names == shape.classes);
    if labels == AnchorLabels::Random || same {
        return Ok(());
    }
    Err(Error::usage(format!(
        "the anchors are to have their own labels, but '{}' has {} classes of its own where \
         the private records have {}",
        public.name,
        public.classes.as_ref().map_or(0, |classes| classes.names.len()),
        shape.classes.len()
    ))
    .cure("take random labels, or public records with the private classes"))
}

fn anchor_records(
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
            combinations = times(&combinations.qr().q());
        }
        let combinations = combinations.qr().q();
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
    objective: SampledObjective,
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
        model: &Classifier,
        private: &Private<Examples>,
        spender: &mut Spender,
    ) -> Result<Released<Vector>> {
        if self.drawn.is_multiple_of(self.refresh) {
            let gradients = self.objective.gradients(model, &self.anchors)?;
            let before = std::mem::take(&mut self.basis);
            self.basis = Anchor::of(&gradients, self.directions, before)?;
        }
        self.drawn += 1;
        let (objective, split, basis) = (self.objective, self.split, &self.basis.basis);
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
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::data::Dataset;
    use crate::model::gradients::Contribution;
    use crate::privacy::ClippedSum;
    use crate::privacy::accountant::QueryKind;
    use crate::trial::{RehearsalNoise, Trial};
    use crate::{Value, example};
    use halflight_testing as golden;

    fn of_rows(rows: &Matrix) -> Gradients {
        let columns = rows.transpose();
        Gradients {
            losses: vec![0.0; columns.ncols()],
            layers: vec![Contribution::Formed(columns)],
        }
    }

    fn settings(pairs: &[(&str, f64)]) -> BTreeMap<String, Value> {
        pairs.iter().map(|(key, x)| ((*key).to_owned(), Value::Number(*x))).collect()
    }

    #[test]
    fn the_subspace_and_a_step_agree_with_the_reference() {
        let golden = golden::gsd();
        let (private, public) =
            (of_rows(&golden.rows("subspace.A")), of_rows(&golden.rows("subspace.B")));
        let mut anchor = Anchor::default();
        for _ in 0..10 {
            // Each time it continues from its earlier place.
            anchor = Anchor::of(&public, 2, anchor).unwrap();
        }
        let projector = &anchor.basis * anchor.basis.transpose();
        golden::assert_close(&projector, &golden.rows("gep_step.projector"), 1e-9);
        let (s1, s2) = (golden.number("gep_step.S1"), golden.number("gep_step.S2"));
        let split = ContributionSplit::new(s1, s2, 0.5);
        let inside = private.project(&anchor.basis);
        let squares = private.squared_norms();
        for (i, square) in squares.iter().enumerate() {
            let within = inside.column(i).norm_squared();
            let (one, two) = split.factors(*square, within);
            let wanted = |entry: &str| golden.vector(&format!("gep_step.{entry}"))[i];
            assert!((within.sqrt() - wanted("embedding_norms")).abs() < 1e-9);
            assert!(((square - within).sqrt() - wanted("residual_norms")).abs() < 1e-9);
            assert!((one - wanted("clip1")).abs() < 1e-9 && (two - wanted("clip2")).abs() < 1e-9);
        }
        let mut sum = ClippedSum::new(6, 1.0);
        sum.add(&split.embed(&anchor.basis, &private), squares.len(), f64::INFINITY);
        let sum = sum.finish();
        let mean = split.gradient(&anchor.basis, &sum) / squares.len() as f64;
        golden::assert_near(&mean, &golden.vector("gep_step.v_hat"), 1e-9);
        let next = golden.vector("gep_step.theta") - golden.number("gep_step.eta") * mean;
        golden::assert_near(&next, &golden.vector("gep_step.theta_next"), 1e-9);
    }

    /// The lines of algorithm 4, for two directions and one finite ε: the basis by a singular value
    /// decomposition, rows clipped one by one, and the noise σ times each clip norm.
    #[test]
    fn the_printed_step_is_that_of_the_paper() {
        let golden = golden::gsd();
        let (rows, public) = (golden.rows("subspace.A"), golden.rows("subspace.B"));
        let (s1, s2, steps, n) = (0.4, 0.15, 7_u64, rows.nrows());
        let target = Target { epsilon: 2.0, delta: 1e-5 };
        let normals = example::normals(&mut example::generator(9), 2 + rows.ncols());

        let mut anchor = Anchor::default();
        for _ in 0..10 {
            anchor = Anchor::of(&of_rows(&public), 2, anchor).unwrap();
        }
        let split = ContributionSplit::new(s1, s2, 0.5);
        let mut sum = ClippedSum::new(2 + rows.ncols(), 1.0);
        let private = of_rows(&rows);
        sum.add(&split.embed(&anchor.basis, &private), n, f64::INFINITY);
        let noise = printed_noise(target, steps);
        let noisy: Vec<f64> =
            sum.finish().iter().zip(normals.iter()).map(|(part, z)| part + noise * z).collect();
        let ours = split.gradient(&anchor.basis, &noisy) / n as f64;

        let sigma = 2.0 * (2.0 * 7.0 * (1e5_f64).ln()).sqrt() / 2.0;
        let decomposed = public.clone().svd(false, true);
        let v = decomposed.v_t.unwrap().rows(0, 2).into_owned();
        // The same noise, in the axes of this basis.
        let turned = &v * &anchor.basis * normals.rows(0, 2);
        let (mut w, mut r) = (sigma * s1 * turned, sigma * s2 * normals.rows(2, rows.ncols()));
        for row in rows.row_iter() {
            let inside = &v * row.transpose();
            let outside = row.transpose() - v.transpose() * &inside;
            w += &inside * (s1 / inside.norm()).min(1.0);
            r += &outside * (s2 / outside.norm()).min(1.0);
        }
        let printed = (v.transpose() * w + r) / n as f64;
        golden::assert_near(&ours, &printed, 1e-8);
    }

    #[test]
    fn as_printed_takes_all_records_and_the_certificate_has_what_is_proved() {
        let target = Target { epsilon: 1.0, delta: 1e-5 };
        let mut given = settings(&[("basis", 4.0), ("steps", 12.0), ("learning_rate", 0.5)]);
        given.insert("mode".to_owned(), Value::Text("as_printed".to_owned()));
        let done = rehearse("gep", given.clone(), RehearsalNoise::For(target));
        let guarantee = &done.calibrated.guarantee();
        assert_eq!(guarantee.adjacency, Adjacency::ZeroOut);
        // μ = ε/(2√log(1/δ)) = 0.147.
        assert!((0.4..0.7).contains(&guarantee.epsilon), "{}", guarantee.epsilon);
        let event = &done.calibrated.events()[0];
        let QueryKind::SampledSum { rate } = event.mechanism.query.kind else { panic!() };
        assert_eq!((rate, event.count), (1.0, 12));
        let (shape, public, _) = example::two_classes(5, 80, 300, 2);
        for (key, number) in [
            ("batch", 60.0),
            ("share", 0.7),
            ("momentum", 0.5),
            ("average", 0.5),
            ("refresh", 3.0),
            ("clip_residual", 0.0),
        ] {
            let mut given = given.clone();
            given.insert(key.to_owned(), Value::Number(number));
            let error = example::plan(METHOD, &given, &shape, &public).unwrap_err();
            let key = if key == "clip_residual" { "clip S₂" } else { key };
            assert!(error.what().contains(key), "{error}");
            given.remove("mode");
            example::plan(METHOD, &given, &shape, &public).unwrap();
        }
    }

    #[test]
    fn public_gradients_with_too_few_directions_leave_columns_of_zeros() {
        let mut generator = example::generator(3);
        let one = example::normals(&mut generator, 9);
        let two = example::normals(&mut generator, 9);
        let rows = Matrix::from_fn(12, 9, |i, j| one[j] * i as f64 + two[j]);
        let anchor = Anchor::of(&of_rows(&rows), 5, Anchor::default()).unwrap();
        let norms: Vec<f64> = anchor.basis.column_iter().map(|column| column.norm()).collect();
        assert_eq!(norms.iter().filter(|norm| (*norm - 1.0).abs() < 1e-12).count(), 2, "{norms:?}");
        assert_eq!(norms.iter().filter(|norm| **norm < 1e-12).count(), 3, "{norms:?}");
        assert!((anchor.energy - 1.0).abs() < 1e-9);
    }

    #[test]
    fn one_record_adds_at_most_a_vector_of_length_one() {
        let mut generator = example::generator(5);
        for scale in [1e-3, 1.0, 1e6] {
            let rows =
                Matrix::from_fn(40, 30, |_, _| scale * example::normals(&mut generator, 1)[0]);
            let gradients = of_rows(&rows);
            let anchor = Anchor::of(&gradients, 6, Anchor::default()).unwrap();
            for residual in [0.0, 0.3] {
                let split = ContributionSplit::new(0.8, residual, 0.5);
                for i in 0..40 {
                    let one = of_rows(&rows.rows(i, 1).into_owned());
                    // In a run the mechanism clips at 1; here only the method clips.
                    let mut sum =
                        ClippedSum::new(if residual > 0.0 { 36 } else { 6 }, f64::INFINITY);
                    let embeddings = split.embed(&anchor.basis, &one);
                    sum.add(&embeddings, 1, f64::INFINITY);
                    let length = Vector::from_vec(sum.finish()).norm();
                    let rounding = split.rounding(1, 6, 30);
                    assert!(length <= 1.0 + rounding, "{scale} {i}: {length}");
                    // The norm by which the mechanism clips is the vector's, up to the slack.
                    let claimed = Contributions::squared_norms(&embeddings)[0].sqrt();
                    assert!((claimed - length).abs() < 1e-5, "{scale} {i}: {claimed} {length}");
                    assert!(scale < 1.0 || length > 0.99, "{scale} {i}: {length}");
                }
            }
        }
    }

    /// Neighbours: a sample with a record, and the same with the record blank. Records that are
    /// clipped in both parts attain the sensitivity.
    #[test]
    fn leaving_a_record_blank_moves_a_step_by_the_sensitivity_and_no_further() {
        let mut generator = example::generator(6);
        let rows = Matrix::from_fn(60, 30, |_, _| 3.0 * example::normals(&mut generator, 1)[0]);
        let anchor = Anchor::of(&of_rows(&rows), 6, Anchor::default()).unwrap();
        for (share, residual) in [(0.5, 0.3), (0.9, 0.1), (0.5, 0.0)] {
            let split = ContributionSplit::new(0.8, residual, share).of_sizes(6, 30);
            let numbers = if residual > 0.0 { 36 } else { 6 };
            let sum = |rows: &Matrix| {
                let mut sum = ClippedSum::new(numbers, f64::INFINITY);
                let gradients = of_rows(rows);
                sum.add(&split.embed(&anchor.basis, &gradients), rows.nrows(), f64::INFINITY);
                Vector::from_vec(sum.finish())
            };
            let whole = sum(&rows);
            let sensitivity = 1.0 + split.rounding(60, 6, 30);
            for blank in 0..60 {
                let moved = (&whole - sum(&rows.clone().remove_row(blank))).norm();
                assert!(moved <= sensitivity && moved > 0.99, "{share} {blank}: {moved}");
            }
        }
    }

    #[test]
    fn more_numbers_and_directions_leave_more_slack_for_their_rounding() {
        assert_eq!(residual_slack(5, 50), RESIDUAL_SLACK);
        let many = residual_slack(100, 200_000);
        assert!((6e-9..9e-9).contains(&many), "{many}");
    }

    #[test]
    fn the_plan_announces_vectors_of_length_one() {
        let (shape, public, _) = example::two_classes(6, 60, 400, 2);
        let given = settings(&[("basis", 5.0), ("batch", 40.0), ("steps", 20.0)]);
        let plan = example::plan(METHOD, &given, &shape, &public).unwrap();
        let [release] = plan.releases.as_slice() else { panic!() };
        let QueryKind::SampledSum { rate } = release.query.kind else { panic!() };
        let l2_sensitivity = release.query.sensitivity;
        assert!((1.0..1.0001).contains(&l2_sensitivity), "{l2_sensitivity}");
        assert_eq!((rate, release.count, release.adjacency), (0.1, 20, Adjacency::ZeroOut));
    }

    fn rehearse(
        method: &str,
        settings: BTreeMap<String, Value>,
        noise: RehearsalNoise,
    ) -> crate::trial::Tried {
        let (_, public, private) = example::two_classes(5, 80, 300, 2);
        let (public, private) = (&public, &private);
        Trial { settings, ..Trial::new(method, public, private, noise, 4) }.run().unwrap()
    }

    #[test]
    fn with_a_full_basis_and_no_residual_it_is_dp_sgd_in_the_rotated_basis() {
        let own = || Value::Text("own".to_owned());
        let common = [("steps", 15.0), ("batch", 60.0), ("learning_rate", 0.7)];
        let mut ours = settings(&common);
        // Five features and two classes: gradients have five directions, because the slopes of two
        // scores add up to zero.
        ours.extend(settings(&[("basis", 10.0), ("clip_embedding", 0.3), ("clip_residual", 0.0)]));
        ours.insert("anchor_labels".to_owned(), own());
        let mut theirs = settings(&common);
        theirs.extend(settings(&[("clip", 0.3)]));
        let noise = RehearsalNoise::None(example::TARGET);
        let parameters = |done: crate::trial::Tried| match done.model {
            Model::Classifier(model) => Vector::from_column_slice(model.parameters()),
            _ => panic!("another model"),
        };
        let gep = rehearse("gep", ours.clone(), noise);
        let energy = gep.series(Series::ExactSubspaceEnergy);
        assert!(energy.iter().all(|(_, share)| (share - 1.0).abs() < 1e-9), "{energy:?}");
        // DP-SGD scores in single precision.
        golden::assert_near(&parameters(gep), &parameters(rehearse("dp_sgd", theirs, noise)), 1e-7);
        // The noise is also the same: as many numbers, the same σ relative to the clip norm.
        let target = Target { epsilon: 1.0, delta: 1e-5 };
        let sigma = |method, settings| {
            let done: crate::trial::Tried = rehearse(method, settings, RehearsalNoise::For(target));
            done.calibrated.events()[0].mechanism.noise.scale
        };
        let mut theirs = settings(&common);
        theirs.extend(settings(&[("clip", 1.0)]));
        let (one, other) = (sigma("gep", ours), sigma("dp_sgd", theirs));
        assert!((one / other - 1.0).abs() < 1e-6, "{one} {other}");
    }

    #[test]
    fn with_a_fair_budget_it_learns_from_random_anchor_labels() {
        let (_, public, private) = example::two_classes(8, 200, 3000, 2);
        let public = Dataset { classes: None, ..public };
        let given = settings(&[("basis", 8.0), ("batch", 500.0)]);
        let noise = RehearsalNoise::For(Target { epsilon: 1.0, delta: 1e-5 });
        let done = Trial { settings: given, ..Trial::new(SPEC.id, &public, &private, noise, 4) };
        let done = done.run().unwrap();
        let classes = done.model.classes(&private.features).unwrap();
        let truth = &private.classes.as_ref().unwrap().of;
        let right = classes.iter().zip(truth).filter(|(one, other)| one == other).count();
        assert!(right > 2300, "{right}");
        let energy = done.series(Series::SubspaceEnergy);
        assert!(energy.len() == 30 && energy.iter().all(|(_, share)| *share > 0.8), "{energy:?}");
    }

    #[test]
    fn what_does_not_fit_is_refused_with_both_sizes() {
        let (shape, public, _) = example::two_classes(6, 60, 400, 2);
        let refusal = |pairs: &[(&str, f64)], labels: &str, public: &Dataset| {
            let mut given = settings(pairs);
            given.insert("anchor_labels".to_owned(), Value::Text(labels.to_owned()));
            example::plan(METHOD, &given, &shape, public).unwrap_err().to_string()
        };
        let error = refusal(&[("basis", 13.0)], "random", &public);
        assert!(error.contains("13 directions") && error.contains("12 numbers"), "{error}");
        let error = refusal(&[("basis", 70.0)], "random", &public);
        assert!(error.contains("70 directions") && error.contains("60 public"), "{error}");
        let error = refusal(&[("basis", 5.0), ("anchors", 61.0)], "random", &public);
        assert!(error.contains("61 anchors") && error.contains("60 public"), "{error}");
        let unlabelled = Dataset { classes: None, ..public.clone() };
        let error = refusal(&[("basis", 5.0)], "own", &unlabelled);
        assert!(error.contains("0 classes of its own") && error.contains("have 2"), "{error}");
    }
}
