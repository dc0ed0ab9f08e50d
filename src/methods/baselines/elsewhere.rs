//! How predictors err on public records of a domain that they did not learn from.
//!
//! The domains are the public datasets, or, of a single one, the thirds of its records along the
//! first principal direction of their features. Each is left out in turn.

use crate::labelled::public_shape::labels::Labels;
use crate::labelled::public_shape::teaching::teach_alone;
use crate::numeric::principal::Principal;
use crate::prelude::*;

/// At most this many records are taken, and at most this many numbers.
const MOST_RECORDS: usize = 4_000;
const MOST_NUMBERS: usize = 1_000_000;

/// Trees take too long for more features.
const MOST_FEATURES_OF_TREES: usize = 200;

/// Fewer records of a dataset are no domain.
const FEWEST: usize = 20;
const THIRDS: usize = 3;

/// The sizes of errors, in units of prepared labels, of a linear predictor or of trees, whichever
/// errs less. Empty if the labels are no numbers, or there are too few records.
pub fn errors_elsewhere(public: &PublicRecords) -> Vec<f64> {
    let shown = shown(public.by_dataset(), public.dimension());
    errors_among(public.select(&shown.concat()), &shown.iter().map(Vec::len).collect::<Vec<_>>())
}

/// The records of each dataset by which [`errors_among`] tells errors, for so many features.
pub fn shown(by_dataset: Vec<Vec<usize>>, dimension: usize) -> Vec<Vec<usize>> {
    let all: usize = by_dataset.iter().map(Vec::len).sum();
    let most = MOST_RECORDS.min(MOST_NUMBERS / dimension.max(1)).max(FEWEST);
    let stride = all.div_ceil(most).max(1);
    let thinned = by_dataset.into_iter().map(|own| own.into_iter().step_by(stride).collect());
    thinned.filter(|own: &Vec<usize>| own.len() >= FEWEST).collect()
}

/// The errors of [`errors_elsewhere`] for records that were [`shown`], dataset by dataset.
pub fn errors_among(mut chosen: PublicData, sizes: &[usize]) -> Vec<f64> {
    let mut sizes = sizes.to_vec();
    if sizes.len() < 2 {
        let thirds = thirds(&chosen);
        chosen = chosen.select(&thirds.concat());
        sizes = thirds.iter().map(Vec::len).collect();
    }
    let (Some(truth), Ok(labels)) = (&chosen.target, Labels::of(&chosen)) else {
        return Vec::new();
    };
    let domain = (0..).zip(&sizes).flat_map(|(at, size)| vec![at; *size]);
    let domain: Vec<u32> = domain.collect();
    let features = chosen.features.doubles(0..chosen.len());
    let errors = |trees: bool| -> Vec<f64> {
        let found = teach_alone(&features, &labels, trees, &domain).unseen;
        found.iter().zip(truth).map(|(found, label)| (found - label).abs()).collect()
    };
    let linear = errors(false);
    if chosen.dimension() > MOST_FEATURES_OF_TREES {
        return linear;
    }
    let trees = errors(true);
    let sum = |errors: &[f64]| errors.iter().sum::<f64>();
    if sum(&trees) < sum(&linear) { trees } else { linear }
}

/// The thirds of records along their first principal direction.
fn thirds(public: &PublicData) -> Vec<Vec<usize>> {
    let features = public.features.doubles(0..public.len());
    let mut order: Vec<usize> = (0..public.len()).collect();
    if let Some((_, principal)) = Principal::centred(&features, 1)
        && principal.directions.ncols() > 0
    {
        let places = features.tr_mul(&principal.directions.column(0));
        order.sort_by(|a, b| places[*a].total_cmp(&places[*b]));
    }
    let size = order.len().div_ceil(THIRDS).max(1);
    order.chunks(size).map(<[usize]>::to_vec).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example;

    #[test]
    fn errors_in_another_dataset_show_its_shift_and_those_of_one_dataset_are_small() {
        let (_, public, _) = example::shifted(4, 600, 40, 1);
        let with = |shift: f64| {
            let mut public = public.clone();
            let labels = public.target.iter_mut().flatten().enumerate();
            labels.for_each(|(at, label)| *label += if at < 300 { 0.0 } else { shift });
            PublicRecords::from(public)
        };
        let mean = |errors: &[f64]| errors.iter().sum::<f64>() / errors.len() as f64;
        let of_two = |shift: f64| {
            let owners = (0..600).map(|at| u32::from(at >= 300)).collect();
            errors_elsewhere(&with(shift).of_datasets(owners, 2))
        };
        let (shifted, alike) = (of_two(0.5), of_two(0.0));
        assert_eq!(shifted.len(), 600);
        let (shifted, alike) = (mean(&shifted), mean(&alike));
        assert!((shifted - 0.5).abs() <= alike + 0.05, "{shifted} {alike}");
        assert!(alike < 0.2, "{alike}");
        let alone = errors_elsewhere(&with(0.0));
        assert!(alone.len() == 600 && mean(&alone) < 2.0 * alike, "{}", mean(&alone));
    }

    #[test]
    fn records_without_numbers_as_labels_have_no_errors() {
        let (_, mut public, _) = example::shifted(4, 60, 40, 1);
        public.target = None;
        assert!(errors_elsewhere(&PublicRecords::from(public)).is_empty());
    }
}
