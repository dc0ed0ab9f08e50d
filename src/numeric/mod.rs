//! Numerical tools without domain words: special functions, projections, dense symmetric kernels.
//! Everything above may use it; it uses no other module.
//!
//! Vocabulary: [`Matrix`] and [`Vector`] are nalgebra's; a data matrix holds one
//! example per *column*, so an example is contiguous in memory.

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

/// The entry called `path` (segments joined by dots) of a golden file, as numbers by row.
#[cfg(test)]
pub(crate) mod golden {
    use serde_json::Value;

    use super::{Matrix, Vector};

    pub struct Golden(pub Value);

    impl Golden {
        pub fn read(text: &str) -> Self {
            Self(serde_json::from_str(text).unwrap())
        }

        pub fn value(&self, path: &str) -> &Value {
            path.split('.').fold(&self.0, |value, key| {
                value.get(key).unwrap_or_else(|| panic!("no golden entry {path}"))
            })
        }

        pub fn number(&self, path: &str) -> f64 {
            self.value(path).as_f64().unwrap()
        }

        pub fn vector(&self, path: &str) -> Vector {
            Vector::from_vec(serde_json::from_value(self.value(path).clone()).unwrap())
        }

        pub fn rows(&self, path: &str) -> Matrix {
            let rows: Vec<Vec<f64>> = serde_json::from_value(self.value(path).clone()).unwrap();
            Matrix::from_fn(rows.len(), rows[0].len(), |i, j| rows[i][j])
        }

        /// Records are rows in the golden files and columns here.
        pub fn records(&self, path: &str) -> Matrix {
            self.rows(path).transpose()
        }
    }

    pub fn discrepancy() -> Golden {
        Golden::read(include_str!("../../tests/golden/discrepancy.json"))
    }

    pub fn correction() -> Golden {
        Golden::read(include_str!("../../tests/golden/correction.json"))
    }

    pub fn gsd() -> Golden {
        Golden::read(include_str!("../../tests/golden/gsd.json"))
    }

    pub fn adaptation() -> Golden {
        Golden::read(include_str!("../../tests/golden/adaptation.json"))
    }

    #[track_caller]
    pub fn assert_close(ours: &Matrix, golden: &Matrix, tolerance: f64) {
        assert_eq!(ours.shape(), golden.shape());
        let worst = (ours - golden).amax();
        assert!(worst <= tolerance, "differs by {worst:e}:\n{ours}\n{golden}");
    }

    #[track_caller]
    pub fn assert_near(ours: &Vector, golden: &Vector, tolerance: f64) {
        assert_eq!(ours.len(), golden.len());
        let worst = (ours - golden).amax();
        assert!(worst <= tolerance, "differs by {worst:e}: {ours} {golden}");
    }
}
