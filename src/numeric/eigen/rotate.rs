//! The rotations of all sweeps, applied to the basis a few rows at a time.

use pulp::{Simd, WithSimd};

use super::sweep::{Rotations, Shears};
use super::{BLOCK, Matrix, four_lanes, parallel};

/// Registers of rows that are rotated together.
const REGISTERS: usize = 4;

/// Rows that are rotated together.
const HEIGHT: usize = BLOCK * REGISTERS;

/// The basis after all rotations, without its padding.
pub(super) fn rotated(
    basis: &[f64],
    dimension: usize,
    rotations: &Rotations,
    threads: usize,
) -> Matrix {
    let mut panels = vec![0.0; dimension.next_multiple_of(HEIGHT) * dimension];
    let jobs = panels.chunks_exact_mut(dimension * HEIGHT).enumerate().collect();
    parallel::share_out(jobs, threads, &|(index, panel): (usize, &mut [f64])| {
        four_lanes().dispatch(Rotate { basis, first: index * HEIGHT, panel, rotations });
    });
    let mut vectors = Matrix::zeros(dimension, dimension);
    for (j, column) in vectors.as_mut_slice().chunks_exact_mut(dimension).enumerate() {
        let panels = panels.chunks_exact(dimension * HEIGHT);
        for (rows, panel) in column.chunks_mut(HEIGHT).zip(panels) {
            rows.copy_from_slice(&panel[j * HEIGHT..][..rows.len()]);
        }
    }
    vectors
}

/// Copies some rows of the basis and rotates them.
struct Rotate<'a> {
    basis: &'a [f64],
    /// The number of the first row.
    first: usize,
    panel: &'a mut [f64],
    rotations: &'a Rotations,
}

impl WithSimd for Rotate<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { basis, first, panel, rotations } = self;
        let padded = (panel.len() / HEIGHT).next_multiple_of(BLOCK);
        let height = HEIGHT.min(padded - first);
        for (to, from) in panel.chunks_exact_mut(HEIGHT).zip(basis.chunks_exact(padded)) {
            to[..height].copy_from_slice(&from[first..first + height]);
        }
        // One, if registers are as wide as a block.
        let strips = BLOCK / S::F64_LANES;
        let columns = S::as_mut_simd_f64s(panel).0.as_chunks_mut::<REGISTERS>().0;
        for strip in 0..strips {
            let mut rest = rotations.turns.as_slice();
            for (first, count) in &rotations.pairs {
                let turns;
                (turns, rest) = rest.split_at(*count);
                let columns = columns[first * strips + strip..].iter_mut().step_by(strips);
                turn_twice(simd, columns, turns);
            }
        }
    }
}

/// Both sweeps of a pair: x is on its way through the first, z through the second.
#[inline(always)]
fn turn_twice<'a, S: Simd>(
    simd: S,
    mut columns: impl Iterator<Item = &'a mut [S::f64s; REGISTERS]>,
    turns: &[[Shears; 2]],
) where
    S::f64s: 'a,
{
    let (Some(mut one), Some(mut two)) = (columns.next(), columns.next()) else { return };
    let ([[start, _], ..], [.., [_, end]]) = (turns, turns) else { return };
    let mut x = *one;
    let mut z = turn(simd, *start, &mut x, two);
    for (column, window) in columns.zip(turns.windows(2)) {
        let y = turn(simd, window[1][0], &mut x, column);
        *one = turn(simd, window[0][1], &mut z, &y);
        (one, two) = (two, column);
    }
    *one = turn(simd, *end, &mut z, &x);
    *two = z;
}

/// Turns two columns, of which the first is returned and the second takes the place of x.
#[inline(always)]
fn turn<S: Simd>(
    simd: S,
    [tangent, minus]: Shears,
    x: &mut [S::f64s; REGISTERS],
    y: &[S::f64s; REGISTERS],
) -> [S::f64s; REGISTERS] {
    let (tangent, minus) = (simd.splat_f64s(tangent), simd.splat_f64s(minus));
    let mut turned = *x;
    for ((turned, x), y) in turned.iter_mut().zip(x).zip(y) {
        let sheared = simd.mul_add_e_f64s(tangent, *y, *x);
        *x = simd.mul_add_e_f64s(minus, sheared, *y);
        *turned = simd.mul_add_e_f64s(tangent, *x, sheared);
    }
    turned
}
