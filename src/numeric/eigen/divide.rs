//! Divide and conquer for large tridiagonal matrices (Cuppen 1981; Gu and Eisenstat 1995).
//!
//! Without the entry β in its middle a tridiagonal matrix falls into two, whose eigenvectors are
//! found first. In their basis the whole is diagonal plus ρzzᵀ, with ρ = 2|β| and z made from the
//! last row of the upper eigenvectors and the first row of the lower ones. Its eigenvalues are the
//! roots of an equation ([`super::secular`]), and eigenvector number j has the entries zᵢ/(dᵢ − λⱼ).
//!
//! *Orthogonality.* Roots have errors, so the quotients with z itself may be far from orthogonal
//! where roots are close. But the computed roots are the exact ones for another ẑ, by Löwner's
//! formula ẑᵢ² = Πⱼ(λⱼ − dᵢ)/Πⱼ≠ᵢ(dⱼ − dᵢ)/ρ, which differs from z by rounding errors only. The
//! quotients with ẑ are orthogonal, as all differences have small relative errors.
//!
//! *Deflation.* Where zᵢ is negligible, the old eigenvector stays one. Where two dᵢ are almost
//! equal, a rotation makes one of their zᵢ zero.
//!
//! The cost is in the products of the old eigenvectors with the new ones, at the speed of
//! [`product`]. Old eigenvectors of the upper matrix are zero in the lower rows, and the other way
//! round, which halves the work.

use std::ops::Range;

use super::rotate::rotated;
use super::secular::root;
use super::sweep::Tridiagonal;
use super::{BLOCK, Matrix, PATIENCE, fused, parallel};
use crate::product::{self, Strided};

/// About how many multiplications take as long as a term of the secular equation for one root.
const COST: usize = 16;

/// The rows of an old eigenvector that are not all zero.
#[derive(Clone, Copy, PartialEq)]
enum Half {
    Upper,
    Both,
    Lower,
}

/// A tridiagonal matrix on its way to its eigenvalues and eigenvectors: some columns of all.
pub(super) struct Division<'a> {
    /// The diagonal, then the eigenvalues.
    pub values: &'a mut [f64],
    /// The entries beside the diagonal.
    pub beside: &'a [f64],
    /// Whole columns, zero at first; the eigenvectors fill the rows from `first` on.
    pub columns: &'a mut [f64],
    pub height: usize,
    pub first: usize,
    /// Matrices of up to this size are left to the sweeps.
    pub leaf: usize,
}

impl Division<'_> {
    /// `None` if the sweeps of a small part do not converge.
    pub(super) fn conquer(self) -> Option<()> {
        let Self { values, beside, columns, height, first, leaf } = self;
        let count = values.len();
        if count <= leaf {
            return swept(values, beside, columns, height, first);
        }
        let middle = count / 2;
        let link = beside[middle - 1];
        values[middle - 1] -= link.abs();
        values[middle] -= link.abs();
        let (upper_values, lower_values) = values.split_at_mut(middle);
        let (upper_columns, lower_columns) = columns.split_at_mut(middle * height);
        let upper = Division {
            values: upper_values,
            beside: &beside[..middle - 1],
            columns: upper_columns,
            height,
            first,
            leaf,
        };
        let lower = Division {
            values: lower_values,
            beside: &beside[middle..],
            columns: lower_columns,
            height,
            first: first + middle,
            leaf,
        };
        let (upper, lower) = parallel::at_once(|| upper.conquer(), || lower.conquer());
        upper.and(lower)?;
        Merge::of(values, columns, height, first, link).finish();
        Some(())
    }
}

/// A small matrix, by sweeps.
fn swept(
    values: &mut [f64],
    beside: &[f64],
    columns: &mut [f64],
    height: usize,
    first: usize,
) -> Option<()> {
    let count = values.len();
    let squares = beside.iter().map(|entry| entry * entry.abs()).collect();
    let mut tridiagonal = Tridiagonal { diagonal: values.to_vec(), squares };
    let rotations = tridiagonal.diagonalise(PATIENCE)?;
    let padded = count.next_multiple_of(BLOCK);
    let identity = Matrix::identity(padded, padded);
    let vectors = rotated(identity.as_slice(), count, &rotations, 1);
    values.copy_from_slice(&tridiagonal.diagonal);
    for (to, from) in columns.chunks_exact_mut(height).zip(vectors.as_slice().chunks_exact(count)) {
        to[first..first + count].copy_from_slice(from);
    }
    Some(())
}

/// Two solved matrices that become one.
struct Merge<'a> {
    values: &'a mut [f64],
    columns: &'a mut [f64],
    height: usize,
    upper: Range<usize>,
    lower: Range<usize>,
    rho: f64,
    z: Vec<f64>,
    parts: Vec<Half>,
}

impl<'a> Merge<'a> {
    fn of(
        values: &'a mut [f64],
        columns: &'a mut [f64],
        height: usize,
        first: usize,
        link: f64,
    ) -> Self {
        let (count, middle) = (values.len(), values.len() / 2);
        let (upper, lower) = (first..first + middle, first + middle..first + count);
        let row = |column: usize, row: usize| columns[column * height + row];
        let half = 0.5_f64.sqrt();
        let above = (0..middle).map(|column| half * row(column, lower.start - 1));
        let below = (middle..count).map(|column| half.copysign(link) * row(column, lower.start));
        let z = above.chain(below).collect();
        let mut parts = vec![Half::Upper; middle];
        parts.resize(count, Half::Lower);
        Self { rho: 2.0 * link.abs(), values, columns, height, upper, lower, z, parts }
    }

    fn finish(mut self) {
        let kept = self.deflate();
        if kept.is_empty() {
            return;
        }
        // The old eigenvectors in an order in which those of each part are adjacent.
        let mut places = Vec::with_capacity(kept.len());
        for part in [Half::Upper, Half::Both, Half::Lower] {
            places.extend((0..kept.len()).filter(|at| self.parts[kept[*at]] == part));
        }
        let number = |part| kept.iter().filter(|column| self.parts[**column] == part).count();
        let (only_upper, only_lower) = (number(Half::Upper), number(Half::Lower));
        let count = kept.len();

        let (values, new) = self.new_vectors(&kept, &places);
        let times_new = |rows: &Range<usize>, some: Range<usize>| {
            let old: Vec<f64> = places[some.clone()]
                .iter()
                .flat_map(|at| &self.columns[kept[*at] * self.height..][rows.clone()])
                .copied()
                .collect();
            let old = product::plain(&old, rows.len(), some.len());
            let new = Strided::by_columns(&new[some.start..], some.len(), count, count);
            product::product(&old, &new)
        };
        let above = times_new(&self.upper, 0..count - only_lower);
        let below = times_new(&self.lower, only_upper..count);
        for (at, column) in kept.iter().enumerate() {
            self.values[*column] = values[at];
            let target = &mut self.columns[column * self.height..][..self.height];
            for (rows, product) in [(&self.upper, &above), (&self.lower, &below)] {
                target[rows.clone()]
                    .copy_from_slice(&product.as_slice()[at * rows.len()..][..rows.len()]);
            }
        }
    }

    /// The columns whose eigenvectors change, by increasing dᵢ.
    fn deflate(&mut self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.values.len()).collect();
        order.sort_by(|a, b| self.values[*a].total_cmp(&self.values[*b]));
        let largest = self.values.iter().fold(self.rho, |most, value| most.max(value.abs()));
        let negligible = 2.0 * f64::EPSILON * largest;
        let mut kept: Vec<usize> = Vec::new();
        for column in order {
            if self.rho * self.z[column].abs() <= negligible {
                continue;
            }
            if let Some(before) = kept.last().copied() {
                let length = self.z[before].hypot(self.z[column]);
                let (cos, sin) = (self.z[column] / length, -self.z[before] / length);
                let (smaller, larger) = (self.values[before], self.values[column]);
                if ((larger - smaller) * cos * sin).abs() <= negligible {
                    (self.z[before], self.z[column]) = (0.0, length);
                    self.values[before] = smaller * cos * cos + larger * sin * sin;
                    self.values[column] = smaller * sin * sin + larger * cos * cos;
                    self.turn(before, column, cos, sin);
                    kept.pop();
                }
            }
            kept.push(column);
        }
        kept
    }

    fn turn(&mut self, one: usize, other: usize, cos: f64, sin: f64) {
        if self.parts[one] != self.parts[other] {
            self.parts[other] = Half::Both;
        }
        for row in self.upper.start..self.lower.end {
            let (one, other) = (one * self.height + row, other * self.height + row);
            let (x, y) = (self.columns[one], self.columns[other]);
            self.columns[one] = cos * x + sin * y;
            self.columns[other] = cos * y - sin * x;
        }
    }

    /// The new eigenvalues, and their eigenvectors in the basis of the old ones in this order.
    fn new_vectors(&self, kept: &[usize], places: &[usize]) -> (Vec<f64>, Vec<f64>) {
        let count = kept.len();
        let poles: Vec<f64> = kept.iter().map(|column| self.values[*column]).collect();
        let weights: Vec<f64> =
            kept.iter().map(|column| self.rho * self.z[*column].powi(2)).collect();
        let mut roots = vec![0.0; count];
        // Column j holds dᵢ − λⱼ.
        let mut distances = vec![0.0; count * count];
        let share = count.div_ceil(product::parts_of_columns(count * count * COST, count));
        let threads = parallel::threads();
        let jobs = distances.chunks_mut(share * count).zip(roots.chunks_mut(share)).enumerate();
        parallel::share_out(jobs.collect(), threads, &|(job, (distances, roots)): (
            usize,
            (&mut [f64], &mut [f64]),
        )| {
            for (k, (distances, found)) in distances.chunks_exact_mut(count).zip(roots).enumerate()
            {
                *found = root(&poles, &weights, job * share + k, distances);
            }
        });
        let mut exact = vec![1.0; count];
        let jobs = exact.chunks_mut(share).enumerate().collect();
        parallel::share_out(jobs, threads, &|(job, exact): (usize, &mut [f64])| {
            let first = job * share;
            for (j, (column, other)) in distances.chunks_exact(count).zip(&poles).enumerate() {
                let column = &column[first..][..exact.len()];
                for (((exact, distance), pole), i) in
                    exact.iter_mut().zip(column).zip(&poles[first..]).zip(first..)
                {
                    *exact *= if i == j { -distance } else { distance / (pole - other) };
                }
            }
            for (exact, column) in exact.iter_mut().zip(&kept[first..]) {
                *exact = exact.abs().sqrt().copysign(self.z[*column]);
            }
        });
        let jobs = distances.chunks_mut(share * count).collect();
        parallel::share_out(jobs, threads, &|distances: &mut [f64]| {
            let mut vector = vec![0.0; count];
            for column in distances.chunks_exact_mut(count) {
                for ((vector, exact), distance) in vector.iter_mut().zip(&exact).zip(&*column) {
                    *vector = exact / distance;
                }
                let length = fused::dot(&vector, &vector).sqrt();
                for (entry, place) in column.iter_mut().zip(places) {
                    *entry = vector[*place] / length;
                }
            }
        });
        (roots, distances)
    }
}
