//! Numerical tools without domain words: special functions, projections, dense symmetric kernels.
//! Of `base` they use errors and files without a name.
//!
//! Vocabulary: [`Matrix`] and [`Vector`] are nalgebra's; a data matrix holds one
//! example per *column*, so an example is contiguous in memory.

use halflight_base::{error, files};

pub mod accelerated;
pub mod angles;
pub mod columns;
pub mod convolution;
pub mod damping;
pub mod doubles;
pub mod eigen;
pub mod exponential;
pub mod fused;
pub mod leading;
pub mod least_squares;
mod norm;
pub mod pairwise;
pub mod parallel;
pub mod positive;
pub mod principal;
pub mod product;
pub mod projection;
pub mod prox;
pub mod rounding;
pub mod rows;
pub mod special;
pub mod student;
pub mod symmetric;
pub mod tall;
mod tiles;
pub mod trust_region;

/// A dense column-major matrix.
pub type Matrix = nalgebra::DMatrix<f64>;
/// A dense column vector.
pub type Vector = nalgebra::DVector<f64>;

/// The widest registers of the machine with at most four numbers: AVX2 even if there is AVX-512.
fn four_lanes() -> pulp::Arch {
    #[cfg(target_arch = "x86_64")]
    if let Some(avx2) = pulp::x86::V3::try_new() {
        return pulp::Arch::V3(avx2);
    }
    pulp::Arch::new()
}
