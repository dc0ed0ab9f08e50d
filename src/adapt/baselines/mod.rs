//! Baselines, for comparison. All but [`public_only`] use private records without noise.
//!
//! | module | holds |
//! |---|---|
//! | [`public_only`] | public data alone, as a method |
//! | [`reference`](mod@reference) | source-only and target-only models |
//! | [`kernel_mean_matching`] | weights that match means in a kernel's space |
//! | [`minimum_discrepancy`] | the weights of least discrepancy |

pub mod kernel_mean_matching;
pub mod minimum_discrepancy;
pub mod public_only;
pub mod reference;
