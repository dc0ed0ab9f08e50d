//! Source-only and target-only models, with which a private model is compared.

use crate::MOST_FEATURES;
use crate::data::{Bounded, Classes, Dataset};
use crate::error::{Error, Result};
use crate::model::{Architecture, Classifier, ExampleLabels, LinearModel, Model};
use crate::numeric::columns::{ExampleColumns, mean_of, sum_of_squares};
use crate::numeric::least_squares::{NormalEquations, ridge_of_few};
use crate::numeric::{Vector, fused, parallel};
use crate::privacy::openings::OpenPrivate;
use crate::privacy::{CuratorOnly, Private, Watch};

/// Ridge of plain least squares on prepared data, whose mean square norm is at most r² ≈ 1.
///
/// This ridge makes collinear designs (one-hots next to an intercept) solvable with ten digits to spare,
/// and affects only directions with less than 10⁻⁵ of the features' second moment, about which a
/// few thousand public records say nothing anyway.
pub const DEFAULT_RIDGE: f64 = 1e-5;

/// The most multiplications for the reference of a classification: a second or two.
const WORK: usize = 20_000_000_000;
const FEWEST_ITERATIONS: usize = 30;
const MOST_ITERATIONS: usize = 300;
/// Records whose gradients are added up at once.
const BLOCK: usize = 1 << 12;

/// The most multiplications for a whole comparison: about ten seconds of two threads, mostly while
/// the run takes its steps.
const MOST_WORK: f64 = 2e11;

/// Whether a reference for this many records, features and outputs is quick enough: a comparison
/// must not delay anything.
pub fn is_quick(records: usize, dimension: usize, outputs: usize) -> bool {
    let (n, d) = (records as f64, dimension as f64);
    let shorter = records.min(dimension);
    let descents = 2.0 * FEWEST_ITERATIONS as f64 * outputs as f64;
    shorter <= MOST_FEATURES && n * d * descents.max(shorter as f64) <= MOST_WORK
}

/// The multiplications of [`reference`]; numbers have no classes.
pub fn multiplications(records: usize, dimension: usize, classes: usize) -> f64 {
    let (n, d) = (records as f64, dimension as f64);
    match classes {
        0 => n * d * records.min(dimension) as f64,
        _ => 2.0 * n * d * (classes * iterations(records, dimension, classes)) as f64,
    }
}

/// Fewer of a softmax regression the longer one takes.
fn iterations(records: usize, dimension: usize, outputs: usize) -> usize {
    let one_pass = 2 * records * dimension * outputs;
    (WORK / one_pass.max(1)).clamp(FEWEST_ITERATIONS, MOST_ITERATIONS)
}

/// The model of the public data alone.
pub fn source_only<F: ExampleColumns>(public: &Dataset<F>, ridge: f64) -> Result<LinearModel> {
    if public.dimension() <= public.len() {
        return ridge_solution(public, ridge).map(LinearModel::from);
    }
    let weights = ridge_of_few(&public.features, labels(public)?, ridge);
    weights.map(LinearModel::from).ok_or_else(|| undetermined(public))
}

/// The model that any method is compared with: the ridge solution of a regression, softmax
/// regression for classes.
pub fn reference<F: ExampleColumns>(data: &Dataset<F>, ridge: f64) -> Result<Model> {
    match &data.classes {
        Some(classes) => softmax_regression(data, classes).map(Model::Classifier),
        None => source_only(data, ridge).map(Model::from),
    }
}

/// The exact, non-private model of the private data alone: for the curator to see what
/// privacy and adaptation cost. `None` under a sealed watch.
pub fn target_only(
    private: &Private<Bounded>,
    ridge: f64,
    watch: &Watch,
) -> Result<Option<CuratorOnly<Model>>> {
    if watch.is_sealed() {
        return Ok(None);
    }
    let model = private.try_map(|data| match &data.classes {
        None if data.dimension() <= data.len() => ridge_solution(data, ridge).map(linear),
        _ => reference(&**data, ridge),
    })?;
    Ok(model.curator(watch, Clone::clone))
}

/// argmin of the mean logistic loss, nearly: Nesterov's accelerated descent from zero. The
/// curvature of the loss is at most half the features' second moment, including the 1 of the
/// biases.
fn softmax_regression<F: ExampleColumns>(
    data: &Dataset<F>,
    classes: &Classes,
) -> Result<Classifier> {
    if classes.of.len() != data.len() || data.is_empty() {
        return Err(Error::failed(format!("dataset '{}' has no classes to fit", data.name))
            .cure("choose its label column"));
    }
    let (features, outputs) = (&data.features, classes.names.len());
    let architecture = Architecture::linear(data.dimension(), outputs)?;
    let iterations = iterations(data.len(), data.dimension(), outputs);
    let share = 1.0 / data.len() as f64;
    let curvature = 0.5 * (largest_moment(features) + 1.0);
    let mut point = vec![0.0; architecture.parameters()];
    let mut ahead = Classifier::new(architecture, point.clone())?;
    for iteration in 0..iterations {
        let mut slope = Vector::zeros(point.len());
        for (at, of) in classes.of.chunks(BLOCK).enumerate() {
            let examples = features.doubles(at * BLOCK..at * BLOCK + of.len());
            let gradients = ahead.gradients_of::<f64>(examples, ExampleLabels::Classes(of))?;
            slope += gradients.weighted_sum(&vec![share; of.len()]);
        }
        let momentum = iteration as f64 / (iteration + 3) as f64;
        let coordinates = ahead.parameters_mut().iter_mut().zip(&mut point).zip(&slope);
        for ((ahead, point), slope) in coordinates {
            let next = *ahead - slope / curvature;
            *ahead = next + momentum * (next - *point);
            *point = next;
        }
    }
    ahead.parameters_mut().copy_from_slice(&point);
    Ok(ahead)
}

/// The largest eigenvalue of (1/n)Σxxᵀ, a little above it, by power iteration.
fn largest_moment(features: &impl ExampleColumns) -> f64 {
    const PASSES: usize = 12;
    let mut direction = mean_of(features);
    let mut found = 0.0;
    for _ in 0..PASSES {
        let length = direction.norm();
        if length == 0.0 {
            break;
        }
        direction /= length;
        let sum = fused::gradient(features, &direction, parallel::threads(), |_, score| score);
        direction = sum / features.count() as f64;
        found = direction.norm();
    }
    // Never more than the mean squared length, which also holds if the iteration starts badly.
    let trace = sum_of_squares(features) / features.count() as f64;
    if found == 0.0 { trace } else { (1.1 * found).min(trace) }
}

/// argmin (1/n)Σ(x·w − y)² + ridge·‖w‖².
pub(crate) fn ridge_solution<F: ExampleColumns>(data: &Dataset<F>, ridge: f64) -> Result<Vector> {
    let equations = NormalEquations::mean(&data.features, labels(data)?);
    equations.ridge(ridge).ok_or_else(|| undetermined(data))
}

fn linear(weights: Vector) -> Model {
    LinearModel::from(weights).into()
}

fn labels<F>(data: &Dataset<F>) -> Result<&[f64]> {
    data.target.as_deref().filter(|target| !target.is_empty()).ok_or_else(|| {
        Error::failed(format!("dataset '{}' has no labels to fit", data.name))
            .cure("choose its label column")
    })
}

fn undetermined<F>(data: &Dataset<F>) -> Error {
    Error::failed(format!("the features of '{}' do not determine a linear model", data.name))
        .cure("raise the ridge, or drop columns that say the same")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example;
    use crate::numeric::Matrix;
    use crate::privacy::openings::OpenWatch;
    use halflight_testing as golden;

    #[test]
    fn the_public_ridge_solution_agrees_with_the_reference() {
        let golden = golden::adaptation();
        let data = example::labelled(
            golden.records("common.Xpub"),
            golden.vector("common.ypub").as_slice().to_vec(),
        );
        let w = ridge_solution(&data, golden.number("cnvxP_step.public_ridge")).unwrap();
        golden::assert_near(&w, &golden.vector("cnvxP_step.w_pub"), 1e-12);
    }

    #[test]
    fn on_equal_data_source_only_and_target_only_are_the_same_model() {
        let (_, public, _) = example::shifted(4, 60, 20, 3);
        let public = Bounded::from(public).doubles();
        let source = source_only(&public, DEFAULT_RIDGE).unwrap();
        let watch = Watch::open();
        let target =
            target_only(&Private::new(public.clone().into()), DEFAULT_RIDGE, &watch).unwrap();
        assert_eq!(target.unwrap().reveal(&watch), Some(&Model::from(source.clone())));
        assert!(watch.has_peeked());
        let target = source.mean_squared_error(&public.features, public.target.as_ref().unwrap());
        assert!(target < 0.05, "{target}");
    }

    #[test]
    fn classes_that_a_plane_separates_are_learnt() {
        let (_, data, _) = example::shifted(4, 300, 20, 3);
        let first = data.features.row(0);
        let of: Vec<u32> = first.iter().map(|x| u32::from(*x > 0.0)).collect();
        let names = vec!["no".to_owned(), "yes".to_owned()];
        let data =
            Dataset { target: None, classes: Some(Classes { of: of.clone(), names }), ..data };
        let model = reference(&data, DEFAULT_RIDGE).unwrap();
        let found = model.classes(&data.features).unwrap();
        let wrong = found.iter().zip(&of).filter(|(one, other)| one != other).count();
        assert!(wrong <= 9, "{wrong} of 300 are wrong");
        let classes = Classes { of: Vec::new(), names: Vec::new() };
        let unlabelled = Dataset { classes: Some(classes), ..data };
        assert!(reference(&unlabelled, DEFAULT_RIDGE).is_err());
    }

    #[test]
    fn the_curvature_is_bounded_by_the_largest_moment() {
        let features = Matrix::from_fn(3, 40, |i, j| ((i * 7 + j * 13) % 11) as f64 / 11.0);
        let moment = &features * features.transpose() / 40.0;
        let largest = moment.symmetric_eigenvalues().max();
        let found = largest_moment(&features);
        assert!(found >= largest && found <= 1.11 * largest, "{found} {largest}");
    }

    #[test]
    fn of_more_features_than_records_the_solution_is_the_same() {
        let (_, public, _) = example::shifted(40, 25, 20, 3);
        assert!(public.dimension() > public.len());
        let few = source_only(&public, 1e-3).unwrap();
        let all = LinearModel::from(ridge_solution(&public, 1e-3).unwrap());
        let [few, all] = [few, all].map(|model| model.predict(&public.features));
        for (few, all) in few.iter().zip(&all) {
            assert!((few - all).abs() < 1e-9, "{few} {all}");
        }
    }

    #[test]
    fn comparisons_that_take_too_long_are_not_made() {
        assert!(is_quick(200, 100_000, 1) && is_quick(100_000, 400, 1) && is_quick(200, 20_000, 2));
        assert!(!is_quick(5_000, 5_000, 1) && !is_quick(10_000_000, 1_000, 1));
        assert!(!is_quick(1_000_000, 3_000, 10));
    }

    #[test]
    fn a_sealed_watch_gets_no_target_only_model_and_missing_labels_are_an_error() {
        let (_, public, _) = example::shifted(4, 60, 20, 3);
        let sealed = Watch::sealed();
        let private = Private::new(public.clone().into());
        assert!(target_only(&private, DEFAULT_RIDGE, &sealed).unwrap().is_none());
        assert!(!sealed.has_peeked());
        let unlabelled = Dataset { target: None, ..public };
        assert!(source_only(&unlabelled, DEFAULT_RIDGE).is_err());
    }
}
