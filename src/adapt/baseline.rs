//! Source-only and target-only: what a private model is compared with.

use crate::data::Dataset;
use crate::error::{Error, Result};
use crate::model::LinearModel;
use crate::numeric::Vector;
use crate::numeric::least_squares::NormalEquations;
use crate::privacy::{CuratorOnly, Private, Watch};

/// Ridge of plain least squares on prepared data, whose mean square norm is at most r² ≈ 1.
///
/// It makes collinear designs (one-hots next to an intercept) solvable with ten digits
/// to spare, and moves only directions that carry less than 10⁻⁵ of the features'
/// second moment, where a few thousand public records say nothing anyway.
pub const DEFAULT_RIDGE: f64 = 1e-5;

/// The model of the public data alone.
pub fn source_only(public: &Dataset, ridge: f64) -> Result<LinearModel> {
    ridge_solution(public, ridge).map(LinearModel::from)
}

/// The exact, non-private model of the private data alone: for the curator to see what
/// privacy and adaptation cost. `None` under a sealed watch.
pub fn target_only(
    private: &Private<Dataset>,
    ridge: f64,
    watch: &Watch,
) -> Result<Option<CuratorOnly<LinearModel>>> {
    if watch.is_sealed() {
        return Ok(None);
    }
    let model = private.try_map(|data| source_only(data, ridge))?;
    Ok(model.curator(watch, Clone::clone))
}

/// argmin (1/n)Σ(x·w − y)² + ridge·‖w‖².
pub(super) fn ridge_solution(data: &Dataset, ridge: f64) -> Result<Vector> {
    let target = data.target.as_deref().filter(|target| !target.is_empty()).ok_or_else(|| {
        Error::failed(format!("dataset '{}' has no labels to fit", data.name))
            .cure("choose its label column")
    })?;
    NormalEquations::mean(&data.features, target).ridge(ridge).ok_or_else(|| {
        Error::failed(format!("the features of '{}' do not determine a linear model", data.name))
            .cure("raise the ridge, or drop columns that say the same")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapt::example;
    use crate::numeric::golden;

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
        let source = source_only(&public, DEFAULT_RIDGE).unwrap();
        let watch = Watch::open();
        let target = target_only(&Private::new(public.clone()), DEFAULT_RIDGE, &watch).unwrap();
        assert_eq!(target.unwrap().reveal(&watch), Some(&source));
        assert!(watch.has_peeked());
        let target = source.mean_squared_error(&public.features, public.target.as_ref().unwrap());
        assert!(target < 0.05, "{target}");
    }

    #[test]
    fn a_sealed_watch_gets_no_target_only_model_and_missing_labels_are_an_error() {
        let (_, public, _) = example::shifted(4, 60, 20, 3);
        let sealed = Watch::sealed();
        let private = Private::new(public.clone());
        assert!(target_only(&private, DEFAULT_RIDGE, &sealed).unwrap().is_none());
        assert!(!sealed.has_peeked());
        let unlabelled = Dataset { target: None, ..public };
        assert!(source_only(&unlabelled, DEFAULT_RIDGE).is_err());
    }
}
