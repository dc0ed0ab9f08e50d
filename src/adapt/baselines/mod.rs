//! Methods that are not private, for comparison.
//!
//! | module | holds |
//! |---|---|
//! | [`reference`](mod@reference) | source-only and target-only models |
//! | [`kernel_mean_matching`] | weights that match means in a kernel's space |
//! | [`minimum_discrepancy`] | the weights of least discrepancy |

pub mod kernel_mean_matching;
pub mod minimum_discrepancy;
pub mod reference;
