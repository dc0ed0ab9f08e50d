//! Makes a symmetric matrix tridiagonal by reflections.

use pulp::{Simd, WithSimd};

use super::sweep::Tridiagonal;
use super::{BLOCK, NOTHING, fused};

/// Makes a symmetric matrix tridiagonal by reflections I − uuᵀ, and stores every u in place of the
/// column that it cleared.
///
/// With w = Au − ½(uᵀAu)u, a reflection takes A to A − uwᵀ − wuᵀ. This is delayed until the next
/// column is known, and done in one pass with its multiplication.
pub(super) struct Reduce<'a> {
    pub matrix: &'a mut [f64],
    pub tridiagonal: &'a mut Tridiagonal,
}

impl WithSimd for Reduce<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { matrix, tridiagonal: Tridiagonal { diagonal, squares } } = self;
        let dimension = diagonal.len();
        let padded = dimension.next_multiple_of(BLOCK);
        let mut room = vec![0.0; 6 * padded];
        let mut vectors = room.chunks_exact_mut(padded);
        let mut vector = || vectors.next().unwrap_or_default();
        // The pending reflection, then the next one, and its parts of Au.
        let (mut v, w) = (vector(), vector());
        let (mut u, below, image, sums) = (vector(), vector(), vector(), vector());
        for k in 0..dimension {
            let column = &mut matrix[k * padded..][..padded];
            let (vk, wk) = (v[k], w[k]);
            for ((entry, v), w) in column[k..].iter_mut().zip(&v[k..]).zip(&w[k..]) {
                *entry -= v * wk + w * vk;
            }
            (v[k], w[k]) = (0.0, 0.0);
            diagonal[k] = column[k];
            column[..=k].fill(0.0);
            let Some(square) = squares.get_mut(k) else {
                break;
            };
            let beside = reflector(&mut column[k + 1..]);
            *square = beside * beside.abs();
            u.copy_from_slice(column);

            let first = (k + 1) / BLOCK * BLOCK;
            below.copy_from_slice(u);
            image[first..].fill(0.0);
            for block in (first..padded).step_by(BLOCK) {
                // A block on the diagonal is complete; only the part below it counts twice.
                below[block..block + BLOCK].fill(0.0);
                for j in (block..block + BLOCK).step_by(2) {
                    let (a, b) = matrix[j * padded..][..2 * padded].split_at_mut(padded);
                    let columns = [&mut a[block..], &mut b[block..]];
                    let factors = [[v[j], w[j], u[j]], [v[j + 1], w[j + 1], u[j + 1]]];
                    let rows = [&v[block..], &w[block..], &below[block..]];
                    let found = pass(simd, columns, factors, rows, &mut image[block..]);
                    sums[j..j + 2].copy_from_slice(&found);
                }
            }
            for ((w, image), sum) in w[k + 1..].iter_mut().zip(&image[k + 1..]).zip(&sums[k + 1..])
            {
                *w = image + sum;
            }
            let half = fused::dot(&w[first..], &u[first..]) / 2.0;
            for (w, u) in w[first..].iter_mut().zip(&u[first..]) {
                *w -= half * u;
            }
            std::mem::swap(&mut u, &mut v);
        }
    }
}

/// Replaces x by the u of the reflection that takes it to a multiple of the first axis, which
/// is returned.
#[inline(always)]
fn reflector(x: &mut [f64]) -> f64 {
    let head = x[0];
    let rest = fused::dot(&x[1..], &x[1..]);
    if rest <= NOTHING {
        x.fill(0.0);
        return head;
    }
    let length = (head * head + rest).sqrt().copysign(head);
    x[0] += length;
    let factor = 1.0 / (length * x[0]).sqrt();
    for entry in x {
        *entry *= factor;
    }
    -length
}

/// Subtracts v·wⱼ + w·vⱼ from two columns, adds the columns times uⱼ to the image, and returns
/// their products with what is below the diagonal of u.
#[inline(always)]
fn pass<S: Simd>(
    simd: S,
    [a, b]: [&mut [f64]; 2],
    [[va, wa, ua], [vb, wb, ub]]: [[f64; 3]; 2],
    [v, w, below]: [&[f64]; 3],
    image: &mut [f64],
) -> [f64; 2] {
    let (a, b) = (S::as_mut_simd_f64s(a).0, S::as_mut_simd_f64s(b).0);
    let (v, w) = (S::as_simd_f64s(v).0, S::as_simd_f64s(w).0);
    let (below, image) = (S::as_simd_f64s(below).0, S::as_mut_simd_f64s(image).0);
    let (va, wa, ua) = (simd.splat_f64s(-va), simd.splat_f64s(-wa), simd.splat_f64s(ua));
    let (vb, wb, ub) = (simd.splat_f64s(-vb), simd.splat_f64s(-wb), simd.splat_f64s(ub));
    let (mut sum_a, mut sum_b) = (simd.splat_f64s(0.0), simd.splat_f64s(0.0));
    for (((((a, b), v), w), below), image) in
        a.iter_mut().zip(b).zip(v).zip(w).zip(below).zip(image)
    {
        *a = simd.mul_add_e_f64s(*w, va, simd.mul_add_e_f64s(*v, wa, *a));
        *b = simd.mul_add_e_f64s(*w, vb, simd.mul_add_e_f64s(*v, wb, *b));
        *image = simd.mul_add_e_f64s(*b, ub, simd.mul_add_e_f64s(*a, ua, *image));
        sum_a = simd.mul_add_e_f64s(*a, *below, sum_a);
        sum_b = simd.mul_add_e_f64s(*b, *below, sum_b);
    }
    [simd.reduce_sum_f64s(sum_a), simd.reduce_sum_f64s(sum_b)]
}
