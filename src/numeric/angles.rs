//! Principal angles between the spans of two orthonormal bases (one vector per column).

use super::product::{inner_products, product, whole};
use super::{Matrix, Vector};

/// The singular values of a thin matrix, the largest first: those of the triangle of its QR.
pub fn singular_values(thin: &Matrix) -> Vec<f64> {
    let triangle = thin.clone().qr().r();
    let mut values = triangle.svd(false, false).singular_values.as_slice().to_vec();
    values.sort_by(|one, other| other.total_cmp(one));
    values
}

/// √(Σ sin²θ) = ‖(I − AAᵀ)B‖_F, computed from the rest of B, so that equal spans give 0 and not the
/// root of a rounding error, as √(k − Σ cos²θ) would.
pub fn distance(a: &Matrix, b: &Matrix) -> f64 {
    outside(a, b).norm()
}

/// (I − AAᵀ)B
fn outside(a: &Matrix, b: &Matrix) -> Matrix {
    let shares = inner_products(a, b);
    b - product(&whole(a), &whole(&shares))
}

/// ‖Vᵀg‖² of every column of coordinates.
pub fn squared_lengths(coordinates: &Matrix) -> Vector {
    Vector::from_iterator(
        coordinates.ncols(),
        coordinates.column_iter().map(|column| column.norm_squared()),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turned_planes_have_the_distance_of_their_angle() {
        let (sine, cosine) = 0.3_f64.sin_cos();
        let a = Matrix::identity(4, 2);
        let mut b = Matrix::zeros(4, 2);
        b[(0, 0)] = 1.0;
        b[(1, 1)] = cosine;
        b[(2, 1)] = sine;
        assert!((distance(&a, &b) - sine).abs() < 1e-15);
        assert_eq!(distance(&a, &a), 0.0);
        // Another basis of the same plane.
        let turned = &a * Matrix::from_row_slice(2, 2, &[cosine, -sine, sine, cosine]);
        assert!(distance(&a, &turned) < 1e-15);
    }
}
