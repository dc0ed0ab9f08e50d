//! Principal angles between the spans of two orthonormal bases (one vector per column).

use std::f64::consts::FRAC_1_SQRT_2;

use super::product::{inner_products, plain, product};
use super::{Matrix, Vector};

/// The principal angles, smallest first. Small ones are computed from their sines, large ones from
/// their cosines: each inverse function loses half of the digits where the function is flat.
pub fn principal_angles(a: &Matrix, b: &Matrix) -> Vec<f64> {
    let cosines = inner_products(a, b).svd(false, false).singular_values;
    let (mut cosines, sines) = (cosines.as_slice().to_vec(), singular_values(&outside(a, b)));
    cosines.sort_by(|one, other| other.total_cmp(one));
    let angle = |(cosine, sine): (&f64, &f64)| {
        if *cosine > FRAC_1_SQRT_2 {
            sine.clamp(0.0, 1.0).asin()
        } else {
            cosine.clamp(0.0, 1.0).acos()
        }
    };
    cosines.iter().zip(sines.iter().rev()).map(angle).collect()
}

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
    let inside = product(
        &plain(a.as_slice(), a.nrows(), a.ncols()),
        &plain(shares.as_slice(), shares.nrows(), shares.ncols()),
    );
    b - inside
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
    fn turned_planes_have_the_angles_they_were_turned_by() {
        let (sine, cosine) = 0.3_f64.sin_cos();
        let a = Matrix::identity(4, 2);
        let mut b = Matrix::zeros(4, 2);
        b[(0, 0)] = 1.0;
        b[(1, 1)] = cosine;
        b[(2, 1)] = sine;
        let angles = principal_angles(&a, &b);
        assert!(angles[0].abs() < 1e-15 && (angles[1] - 0.3).abs() < 1e-15);
        assert!((distance(&a, &b) - sine).abs() < 1e-15);
        assert_eq!(distance(&a, &a), 0.0);
        // Another basis of the same plane.
        let turned = &a * Matrix::from_row_slice(2, 2, &[cosine, -sine, sine, cosine]);
        assert!(distance(&a, &turned) < 1e-15);
    }
}
