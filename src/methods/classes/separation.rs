//! How much of what tells public classes apart lies in few public directions: a guide to k.
//!
//! After the low-rank separability of Pinto, Hu, Yang and Sanyal. Let w separate two classes of
//! public records x, which are centred and of length 1, and let P be the projection on the first k
//! principal directions:
//!
//! > ξ_k = 1 − ‖Pw‖/‖w‖,  γ_k = a low quantile of ±⟨Pw, x⟩/‖Pw‖.
//!
//! Theorem 1 of the paper asks for a number of private records that grows with √k/(γ(1 − ξ_k −
//! γ/10)). Its margin γ is one that no record misses, and real classes have none: so a quantile
//! stands for it, and the k for which the theorem asks for least is advice and no promise.
//!
//! The separators are differences of the ridge solutions of one class against the rest, which are
//! known in closed form in principal coordinates. Everything here comes from public records.

use crate::numeric::principal::Principal;
use crate::prelude::*;

/// The most records that are looked at, so that a plan need not wait.
const MOST_RECORDS: usize = 1000;
/// The share of the records that may miss the margin.
const MISSING: f64 = 0.1;
/// The ridge of the separators, relative to the largest eigenvalue: fainter directions count less.
const RIDGE: f64 = 0.01;

/// Means over all pairs of classes.
#[derive(Debug, Clone, PartialEq)]
pub struct Separation {
    /// ξ_k for k = 1, 2, …
    pub outside: Vec<f64>,
    /// γ_k: negative where more records than a tenth are on the wrong side.
    pub margins: Vec<f64>,
    /// γ of the whole separators.
    pub margin: f64,
}

impl Separation {
    /// `None` for records without classes, or of one class.
    pub fn of(public: &PublicData, centre: bool) -> Result<Option<Self>> {
        let Some(classes) = &public.classes else { return Ok(None) };
        if classes.names.len() < 2 || public.is_empty() {
            return Ok(None);
        }
        let records = public.thinned(0, MOST_RECORDS);
        let mut features = records.features.doubles(0..records.len());
        let mean = if centre { features.column_mean() } else { Vector::zeros(public.dimension()) };
        for mut record in features.column_iter_mut() {
            record -= &mean;
        }
        let principal = Principal::of(&features, usize::MAX)
            .ok_or_else(|| Error::failed("the public records have no principal directions"))?;
        let mut along = principal.directions.tr_mul(&features);
        let of = records.classes.map(|classes| classes.of).unwrap_or_default();
        let weights = ridge_solutions(&along, &principal.energies, &of, classes.names.len());
        for (mut record, whole) in along.column_iter_mut().zip(features.column_iter()) {
            let length = whole.norm();
            if length > 0.0 {
                record /= length;
            }
        }
        Ok(Some(Self::of_weights(&weights, &along, &of)))
    }

    /// `weights` and records of length 1, in principal coordinates.
    fn of_weights(weights: &Matrix, along: &Matrix, of: &[u32]) -> Self {
        let rank = weights.nrows();
        let present = |class: usize| of.contains(&(class as u32));
        let pairs = (0..weights.ncols()).flat_map(|b| (0..b).map(move |a| (a, b)));
        let pairs: Vec<(usize, usize)> =
            pairs.filter(|(a, b)| present(*a) && present(*b)).collect();
        let (mut outside, mut margins) = (vec![0.0; rank], vec![0.0; rank]);
        let share = 1.0 / pairs.len().max(1) as f64;
        let mut margin = 0.0;
        for (a, b) in pairs {
            let w = weights.column(b) - weights.column(a);
            let length = w.norm().max(f64::MIN_POSITIVE);
            let side = |class: u32| match class as usize {
                class if class == a => Some(-1.0),
                class if class == b => Some(1.0),
                _ => None,
            };
            let sides = of.iter().enumerate().filter_map(|(at, class)| Some((at, side(*class)?)));
            let sides: Vec<(usize, f64)> = sides.collect();
            let mut scores = vec![0.0; sides.len()];
            let mut square = 0.0;
            for k in 0..rank {
                square += w[k] * w[k];
                for (score, (at, side)) in scores.iter_mut().zip(&sides) {
                    *score += side * w[k] * along[(k, *at)];
                }
                let kept = f64::sqrt(square);
                outside[k] += share * (1.0 - kept / length).max(0.0);
                if kept > 0.0 {
                    margins[k] += share * quantile(&scores) / kept;
                }
            }
            margin += share * quantile(&scores) / length;
        }
        Self { outside, margins, margin }
    }

    /// √k/(1 − ξ_k − γ/10), up to a factor that is the same for all k. `None` where nothing of the
    /// separators is left.
    pub fn needed(&self, k: usize) -> Option<f64> {
        let outside = self.outside.get(k.checked_sub(1)?)?;
        let left = 1.0 - outside - 0.1 * self.margin.max(0.0);
        (left > 0.0).then(|| (k as f64).sqrt() / left)
    }

    /// The k for which the theorem asks for least.
    pub fn advised(&self) -> usize {
        let needed = |k: &usize| self.needed(*k).unwrap_or(f64::INFINITY);
        (1..=self.outside.len()).min_by(|a, b| needed(a).total_cmp(&needed(b))).unwrap_or(1)
    }

    /// In words, for k directions whose last one has this eigengap.
    pub fn words(&self, k: usize, gap: f64) -> String {
        let at = k.clamp(1, self.outside.len().max(1)) - 1;
        format!(
            "{k} components hold all but ξ = {:.2} of what separates the public classes, at a margin \
             of {:.2}; the eigengap behind them is {:.1} % of the largest eigenvalue. By the theorem \
             of PILLAR, {} components need fewest private records",
            self.outside.get(at).copied().unwrap_or(1.0),
            self.margins.get(at).copied().unwrap_or(0.0),
            100.0 * gap,
            self.advised()
        )
    }
}

/// The weights of every class against the rest, one per column, by coordinates with these energies.
fn ridge_solutions(along: &Matrix, energies: &[f64], of: &[u32], classes: usize) -> Matrix {
    let share = 1.0 / of.len() as f64;
    let ridge = RIDGE * energies.first().copied().unwrap_or(0.0);
    let mut weights = Matrix::zeros(along.nrows(), classes);
    for (record, class) in along.column_iter().zip(of) {
        weights.column_mut(*class as usize).axpy(share, &record, 1.0);
    }
    for (mut coordinate, energy) in weights.row_iter_mut().zip(energies) {
        coordinate /= (energy + ridge).max(f64::MIN_POSITIVE);
    }
    weights
}

/// The value that a tenth of the numbers are below.
fn quantile(numbers: &[f64]) -> f64 {
    let mut sorted = numbers.to_vec();
    sorted.sort_by(f64::total_cmp);
    let at = (MISSING * sorted.len() as f64) as usize;
    sorted.get(at).copied().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand::rngs::ChaCha20Rng;
    use rand_distr::{Distribution, StandardNormal};

    use super::*;
    use crate::data::{Bounds, Classes, Dataset};

    /// Two classes that differ along coordinate `apart` of five, of falling energy.
    fn records(apart: usize) -> Dataset {
        let mut generator = ChaCha20Rng::seed_from_u64(3);
        let of: Vec<u32> = (0..400).map(|at| at % 2).collect();
        let features = Matrix::from_fn(5, of.len(), |i, j| {
            let normal: f64 = StandardNormal.sample(&mut generator);
            let spread = 2.0 * 0.5_f64.powi(i as i32);
            let side = if of[j] == 1 { spread } else { -spread };
            if i == apart { side + 0.1 * spread * normal } else { spread * normal }
        });
        Dataset {
            classes: Some(Classes { of, names: vec!["a".to_owned(), "b".to_owned()] }),
            ..Dataset::unlabelled("made", features, Bounds { feature_norm: 10.0, label: 1.0 })
        }
    }

    #[test]
    fn what_separates_classes_is_found_in_the_direction_that_does() {
        for apart in 0..4 {
            let found = Separation::of(&records(apart).into(), true).unwrap().unwrap();
            assert!(found.outside.is_sorted_by(|a, b| a >= b), "{found:?}");
            assert!(found.outside[4] < 1e-9);
            assert!(found.outside[apart] < 0.2, "{apart}: {found:?}");
            if apart > 0 {
                assert!(found.outside[apart - 1] > 0.6, "{apart}: {found:?}");
            }
            assert!((found.margins[4] - found.margin).abs() < 1e-12);
            assert!(found.margins[apart] > 0.0, "{apart}: {found:?}");
            // Fewer directions do not separate, and more cost more.
            assert_eq!(found.advised(), apart + 1);
        }
    }

    #[test]
    fn records_without_classes_have_no_separation() {
        let plain = Dataset { classes: None, ..records(0) };
        assert_eq!(Separation::of(&plain.into(), true).unwrap(), None);
        let words = Separation::of(&records(1).into(), true).unwrap().unwrap().words(2, 0.25);
        assert!(words.contains("25.0 %") && words.contains("2 components need"), "{words}");
    }
}
