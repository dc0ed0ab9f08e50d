//! The product of all reflections: the basis in which the matrix is tridiagonal.

use pulp::{Simd, WithSimd};

use super::BLOCK;

/// Computes a block of columns of the product of all reflections. Each reflection is subtracted in
/// the same pass that multiplies by the next.
pub(super) struct Reflect<'a> {
    pub reflectors: &'a [f64],
    /// The number of the first column.
    pub first: usize,
    pub columns: &'a mut [f64],
}

impl WithSimd for Reflect<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { reflectors, first, columns } = self;
        let padded = columns.len() / BLOCK;
        for (k, column) in columns.chunks_exact_mut(padded).enumerate() {
            column[first + k] = 1.0;
        }
        let (ab, cd) = columns.split_at_mut(2 * padded);
        let ((a, b), (c, d)) = (ab.split_at_mut(padded), cd.split_at_mut(padded));
        // The last column needed no reflection.
        let none = &reflectors[(padded - 1) * padded..];
        let mut due = none;
        let mut shares = [simd.splat_f64s(0.0); BLOCK];
        // Reflection number k − 1 does not change the rows before k, and so does not change these
        // columns if k is beyond them.
        for k in (0..first + BLOCK).rev() {
            let next = if k == 0 { none } else { &reflectors[(k - 1) * padded..k * padded] };
            let from = k / BLOCK * BLOCK;
            let rows = S::as_simd_f64s(&due[from..]).0.iter().zip(S::as_simd_f64s(&next[from..]).0);
            let (a, b) =
                (S::as_mut_simd_f64s(&mut a[from..]).0, S::as_mut_simd_f64s(&mut b[from..]).0);
            let (c, d) =
                (S::as_mut_simd_f64s(&mut c[from..]).0, S::as_mut_simd_f64s(&mut d[from..]).0);
            let mut sums = [simd.splat_f64s(0.0); BLOCK];
            for ((((a, b), c), d), (due, next)) in a.iter_mut().zip(b).zip(c).zip(d).zip(rows) {
                *a = simd.mul_add_e_f64s(*due, shares[0], *a);
                *b = simd.mul_add_e_f64s(*due, shares[1], *b);
                *c = simd.mul_add_e_f64s(*due, shares[2], *c);
                *d = simd.mul_add_e_f64s(*due, shares[3], *d);
                sums[0] = simd.mul_add_e_f64s(*next, *a, sums[0]);
                sums[1] = simd.mul_add_e_f64s(*next, *b, sums[1]);
                sums[2] = simd.mul_add_e_f64s(*next, *c, sums[2]);
                sums[3] = simd.mul_add_e_f64s(*next, *d, sums[3]);
            }
            for (share, sum) in shares.iter_mut().zip(sums) {
                *share = simd.splat_f64s(-simd.reduce_sum_f64s(sum));
            }
            due = next;
        }
    }
}
