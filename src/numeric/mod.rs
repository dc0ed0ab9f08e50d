//! Numerical tools without domain words: special functions, projections, dense
//! symmetric kernels. Everything above may use it; it uses nothing of ours.
//!
//! Vocabulary: [`Matrix`] and [`Vector`] are nalgebra's; a data matrix holds one
//! example per *column*, so an example is contiguous in memory.

pub mod special;

/// A dense column-major matrix.
pub type Matrix = nalgebra::DMatrix<f64>;
/// A dense column vector.
pub type Vector = nalgebra::DVector<f64>;
