//! Bounds on the error of floating-point sums.

/// Largest relative error of one rounded operation.
const UNIT: f64 = f64::EPSILON / 2.0;

/// Bound γ on the relative error of a sum of products of at most `operations` rounded operations
/// per term, in any order: |computed − true| ≤ γ·Σ|terms|.
///
/// A query on private data computed in floating point differs from the query for which its
/// sensitivity was derived; the difference has to be counted.
pub fn summation_error(operations: usize) -> f64 {
    let bound = operations as f64 * UNIT;
    bound / (1.0 - bound)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn no_order_of_summation_errs_by_more_than_the_bound(
            whole in proptest::collection::vec(-1_000_000_i64..1_000_000, 2..200),
            scale in 1_u32..40,
        ) {
            // Sums of integers are exact; a factor that is not a power of two makes the terms
            // round.
            let factor = 0.1_f64.powi(scale as i32);
            let terms: Vec<f64> = whole.iter().map(|k| *k as f64 * factor).collect();
            let exact = whole.iter().sum::<i64>() as f64 * factor;
            let size: f64 = terms.iter().map(|t| t.abs()).sum();
            let allowed = summation_error(terms.len() + 4) * size;
            let forward: f64 = terms.iter().sum();
            let backward: f64 = terms.iter().rev().sum();
            prop_assert!((forward - exact).abs() <= allowed);
            prop_assert!((backward - exact).abs() <= allowed);
        }
    }
}
