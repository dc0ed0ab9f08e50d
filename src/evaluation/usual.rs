//! Errors on public records of another domain: what is known about errors before a private record is
//! looked at.

use std::sync::Arc;

use super::definition::Loss;

/// The share of public records of other domains whose errors are below the cap, but for the margin.
const BELOW: f64 = 0.98;
/// The cap is this many times as large, because the private domain may be farther away than the
/// public ones are from one another.
pub(super) const MARGIN: f64 = 1.25;

/// Sizes of errors, in units of the label, of models on public records of a domain that they did not
/// learn from.
#[derive(Debug, Clone, PartialEq)]
pub struct UsualErrors {
    /// In ascending order, finite.
    sizes: Arc<[f64]>,
}

impl UsualErrors {
    /// Sorts the errors. `None` if they show no size above zero.
    pub fn of(errors: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut sizes: Vec<f64> =
            errors.into_iter().map(f64::abs).filter(|size| size.is_finite()).collect();
        sizes.sort_by(f64::total_cmp);
        let usual = Self { sizes: sizes.into() };
        (usual.cap() > 0.0).then_some(usual)
    }

    /// The limit of errors.
    pub fn cap(&self) -> f64 {
        let place = (self.sizes.len() as f64 * BELOW).ceil() as usize;
        MARGIN * self.sizes.get(place.max(1) - 1).copied().unwrap_or(0.0)
    }

    /// Mean and standard deviation of the losses, each as a share of that of the cap.
    pub fn moments(&self, loss: Loss, cap: f64) -> (f64, f64) {
        let losses = self.sizes.iter().map(|size| loss.of(size / cap));
        let count = self.sizes.len() as f64;
        let mean = losses.clone().sum::<f64>() / count;
        let variance = losses.map(|x| (x - mean).powi(2)).sum::<f64>() / count;
        (mean, variance.sqrt())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cap_is_above_nearly_all_errors_and_follows_their_unit() {
        let errors = |unit: f64| UsualErrors::of((1..=100).map(|size| unit * f64::from(size)));
        let usual = errors(1.0).unwrap();
        assert_eq!(usual.cap(), 122.5);
        assert_eq!(errors(-2.0).unwrap().cap(), 245.0);
        let (mean, sd) = usual.moments(Loss::Absolute, 50.0);
        // Half of them count as the cap.
        assert!((mean - (25.5 + 50.0) / 100.0).abs() < 1e-12 && sd > 0.2 && sd < 0.4, "{sd}");
        let (square, _) = usual.moments(Loss::Squared, 200.0);
        assert!((Loss::Squared.error(200.0, square) - 3383.5_f64.sqrt()).abs() < 1e-9);
    }

    #[test]
    fn without_any_error_there_is_no_cap() {
        assert_eq!(UsualErrors::of([]), None);
        assert_eq!(UsualErrors::of([0.0, 0.0, f64::NAN]), None);
    }
}
