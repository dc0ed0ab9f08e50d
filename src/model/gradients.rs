//! The per-example gradients of a batch, mostly without writing them out.
//!
//! The gradient of a dense layer is an outer product δᵢ⊗(aᵢ, 1) of the output's gradient and the
//! input, so its factors are enough: ‖gᵢ‖² = ‖δᵢ‖²(‖aᵢ‖² + 1), ⟨gᵢ, gⱼ⟩ = (δᵢ·δⱼ)(aᵢ·aⱼ + 1), and
//! Σcᵢgᵢ is one product of two thin matrices. That is C + D numbers per example instead of C·(D +
//! 1). A convolution sums over P positions, and its inner products by factors would cost P²(D + C)
//! instead of D·C. With more than a few positions this is more, so its gradients are written out.
//!
//! Every operation on per-example gradients that ranking and training need is here. All of them
//! agree with [`Gradients::columns`]. What is written out is kept in doubles for training; a ranking,
//! which reads large batches again and again, keeps it in single precision.

use std::borrow::Cow;

use nalgebra::DMatrix;

use super::architecture::Architecture;
use super::layer::FEW;
use crate::numeric::leading::{Leading, leading, leading_of};
use crate::numeric::parallel::threads_for;
use crate::numeric::product::{
    Strided, for_columns, multiply, parts_of_columns, plain, product, symmetric_by_panels,
    transposed,
};
use crate::numeric::tall::{
    Many, add_combinations, few_combinations, inner_products_with_few, squared_lengths,
};
use crate::numeric::{Matrix, Vector};

/// With more combinations than this, a Gram matrix by a symmetric product of whole batches would
/// cost less. The number is that of a basis of about 90, twice for the projections, twice because
/// half of the matrix is enough, with thin products at half of the speed.
const COMBINATIONS: usize = 720;

/// Rows of a Gram matrix whose factors are multiplied at once.
const TILE: usize = 512;

/// One gradient per example, over all layers.
#[derive(Debug, Clone, PartialEq)]
pub struct Gradients<T: Many = f64> {
    /// The loss of every example.
    pub losses: Vec<f64>,
    /// Layers with parameters, in the order of the parameters.
    pub layers: Vec<Contribution<T>>,
}

/// The part of one layer in every gradient.
#[derive(Debug, Clone, PartialEq)]
pub enum Contribution<T: Many = f64> {
    /// δᵢ⊗(aᵢ, 1): weights by (output, input), then biases; or δᵢ⊗aᵢ without them.
    Outer {
        /// D × m
        inputs: Matrix,
        /// C × m
        deltas: Matrix,
        biases: bool,
    },
    /// Written out, one example per column.
    Formed(DMatrix<T>),
}

impl<T: Many> Gradients<T> {
    /// m
    pub fn examples(&self) -> usize {
        self.losses.len()
    }

    /// p
    pub fn parameters(&self) -> usize {
        self.layers.iter().map(Contribution::parameters).sum()
    }

    /// ‖gᵢ‖²
    pub fn squared_norms(&self) -> Vec<f64> {
        let mut norms = vec![0.0; self.examples()];
        for layer in &self.layers {
            layer.add_squared_norms(&mut norms);
        }
        norms
    }

    /// ⟨gᵢ, gⱼ⟩ of this batch with itself.
    pub fn gram(&self) -> Matrix {
        let count = self.examples();
        let width: usize = self.layers.iter().map(Contribution::numbers).sum();
        symmetric_by_panels(count, threads_for(count * count * width), |first, rows, part| {
            for layer in &self.layers {
                layer.add_gram(rows, (first, part.len() / rows), part);
            }
        })
    }

    /// The `count` largest eigenvalues of [`Self::gram`] and their eigenvectors; `None` if they are
    /// not finite. If example by example costs more than a few dozen combinations and their
    /// projections, K·x = Gᵀ(G·x), the matrix is not formed.
    pub fn leading(&self, count: usize) -> Option<Leading> {
        let examples = self.examples();
        let formed = examples * self.layers.iter().map(Contribution::numbers).sum::<usize>();
        let times = |few: &Matrix| self.project(&self.combinations(few)).transpose();
        let unformed = (self.parameters() * COMBINATIONS < formed)
            .then(|| leading_of(&times, examples, count))
            .flatten();
        unformed.or_else(|| leading(&self.gram(), count))
    }

    /// Σ cᵢgᵢ
    pub fn weighted_sum(&self, coefficients: &[f64]) -> Vector {
        let mut sum = Vector::zeros(self.parameters());
        self.add_weighted_sum(coefficients, sum.as_mut_slice());
        sum
    }

    /// Adds Σ cᵢgᵢ to `sum`.
    pub fn add_weighted_sum(&self, coefficients: &[f64], mut sum: &mut [f64]) {
        for layer in &self.layers {
            let (own, others) = sum.split_at_mut(layer.parameters());
            layer.add_weighted(coefficients, own);
            sum = others;
        }
    }

    /// Gᵀ·U: one linear combination of the gradients per column of U, p × k.
    pub fn combinations(&self, coefficients: &Matrix) -> Matrix {
        let mut sums = Matrix::zeros(self.parameters(), coefficients.ncols());
        let mut first = 0;
        for layer in &self.layers {
            layer.combine(coefficients, first, &mut sums);
            first += layer.parameters();
        }
        sums
    }

    /// Vᵀgᵢ for every example, k × m, for a basis V of p × k.
    pub fn project(&self, basis: &Matrix) -> Matrix {
        let mut coordinates = Matrix::zeros(basis.ncols(), self.examples());
        let mut first = 0;
        for layer in &self.layers {
            layer.add_coordinates(basis, first, &mut coordinates);
            first += layer.parameters();
        }
        coordinates
    }

    /// The squares of all numbers of the gradients.
    pub fn squares(&self) -> Gradients {
        // On a slice, whole registers are multiplied.
        let square = |matrix: &Matrix| {
            let mut squares = matrix.clone();
            squares.as_mut_slice().iter_mut().for_each(|number| *number *= *number);
            squares
        };
        let layers = self.layers.iter().map(|layer| match layer {
            // A bias has the input 1.
            Contribution::Outer { inputs, deltas, biases } => Contribution::Outer {
                inputs: square(inputs),
                deltas: square(deltas),
                biases: *biases,
            },
            Contribution::Formed(formed) => Contribution::Formed(formed.map(|number| {
                let number: f64 = number.into();
                number * number
            })),
        });
        Gradients { losses: self.losses.clone(), layers: layers.collect() }
    }

    /// The mean gradients of the first examples, with `counts` examples per mean, and their mean
    /// losses.
    pub fn means(&self, counts: &[usize]) -> Gradients {
        let mut means = Matrix::zeros(self.parameters(), counts.len());
        let mut losses = vec![0.0; counts.len()];
        let mut gradient = vec![0.0; self.parameters()];
        let mut example = 0;
        for ((mut mean, loss), count) in means.column_iter_mut().zip(&mut losses).zip(counts) {
            let share = 1.0 / (*count).max(1) as f64;
            for _ in 0..*count {
                self.write(example, &mut gradient);
                mean.iter_mut().zip(&gradient).for_each(|(mean, part)| *mean += share * part);
                *loss += share * self.losses[example];
                example += 1;
            }
        }
        Gradients { losses, layers: vec![Contribution::Formed(means)] }
    }

    fn write(&self, example: usize, mut rest: &mut [f64]) {
        for layer in &self.layers {
            let (own, others) = rest.split_at_mut(layer.parameters());
            layer.write(example, own);
            rest = others;
        }
    }

    /// Every gradient written out, one per column: p × m.
    pub fn columns(&self) -> Matrix {
        let mut columns = Matrix::zeros(self.parameters(), self.examples());
        for (example, mut column) in columns.column_iter_mut().enumerate() {
            self.write(example, column.as_mut_slice());
        }
        columns
    }

    /// The room of what is written out, for another batch.
    pub fn room(self) -> Vec<Vec<T>> {
        let formed = self.layers.into_iter().filter_map(|layer| match layer {
            Contribution::Formed(formed) => Some(formed.data.into()),
            Contribution::Outer { .. } => None,
        });
        formed.collect()
    }

    /// The usual relative error of keeping what is written out; 0 if nothing is, or in doubles.
    pub fn rounding(&self) -> f64 {
        let formed = |layer: &Contribution<T>| matches!(layer, Contribution::Formed(_));
        if self.layers.iter().any(formed) { T::ROUNDING } else { 0.0 }
    }
}

impl Gradients {
    /// The gradients with respect to some layers, counted among those with parameters.
    pub fn of_layers(self, chosen: impl Fn(usize) -> bool) -> Self {
        let layers = self.layers.into_iter().enumerate().filter(|(index, _)| chosen(*index));
        Self { losses: self.losses, layers: layers.map(|(_, layer)| layer).collect() }
    }

    /// The gradients with respect to the biases and the whole last layer, as if everything else
    /// were constant; `architecture` is that of the model.
    pub fn fine(&self, architecture: &Architecture) -> Self {
        let trained = architecture.layers().iter().filter(|layer| layer.parameters() > 0);
        let layers = trained.zip(&self.layers).enumerate().map(|(index, (layer, contribution))| {
            if index + 1 == self.layers.len() {
                return contribution.clone();
            }
            let rows = match contribution {
                Contribution::Outer { deltas, biases: true, .. } => deltas.clone(),
                Contribution::Outer { .. } => Matrix::zeros(0, self.examples()),
                Contribution::Formed(formed) => {
                    let count = layer.biases();
                    formed.rows(formed.nrows() - count, count).into_owned()
                }
            };
            Contribution::Formed(rows)
        });
        Self { losses: self.losses.clone(), layers: layers.collect() }
    }
}

fn whole(matrix: &Matrix) -> Strided<'_> {
    plain(matrix.as_slice(), matrix.nrows(), matrix.ncols())
}

/// Some columns of a matrix.
fn some<T: Many>(matrix: &DMatrix<T>, (first, count): (usize, usize)) -> Cow<'_, [f64]> {
    let rows = matrix.nrows();
    T::doubles(&matrix.as_slice()[first * rows..(first + count) * rows])
}

/// Σ inputᵢ⊗weightᵢ: one column per row of `weighted`.
fn outer_sums(inputs: &Matrix, weighted: &Matrix) -> Matrix {
    let (height, count) = weighted.shape();
    if height <= FEW {
        return few_combinations(inputs, &weighted.transpose());
    }
    if height < inputs.nrows() {
        // Transposed, there are more columns to divide among threads.
        let across = transposed(inputs.as_slice(), inputs.nrows(), count);
        return product(&whole(weighted), &across).transpose();
    }
    product(&whole(inputs), &transposed(weighted.as_slice(), height, count))
}

/// Products of some columns of a matrix with others, added to `part`.
fn add_products<T: Many>(
    matrix: &DMatrix<T>,
    rows: (usize, usize),
    columns: (usize, usize),
    part: &mut [f64],
) {
    let height = matrix.nrows();
    let (left, right) = (some(matrix, rows), some(matrix, columns));
    let left = transposed(&left, height, rows.1);
    multiply(part, &left, &plain(&right, height, columns.1), 1.0);
}

impl<T: Many> Contribution<T> {
    pub fn parameters(&self) -> usize {
        match self {
            Self::Outer { inputs, deltas, biases } => {
                (inputs.nrows() + usize::from(*biases)) * deltas.nrows()
            }
            Self::Formed(formed) => formed.nrows(),
        }
    }

    /// The number of stored numbers for one example's contribution.
    fn numbers(&self) -> usize {
        match self {
            Self::Outer { inputs, deltas, .. } => inputs.nrows() + deltas.nrows(),
            Self::Formed(formed) => formed.nrows(),
        }
    }

    fn write(&self, example: usize, gradient: &mut [f64]) {
        match self {
            Self::Formed(formed) => {
                for (slope, number) in gradient.iter_mut().zip(formed.column(example).iter()) {
                    *slope = (*number).into();
                }
            }
            Self::Outer { inputs, deltas, .. } => {
                let (weights, biases) = gradient.split_at_mut(inputs.nrows() * deltas.nrows());
                let input = inputs.column(example);
                let rows = weights.chunks_exact_mut(inputs.nrows());
                for (row, delta) in rows.zip(&deltas.column(example)) {
                    for (weight, input) in row.iter_mut().zip(&input) {
                        *weight = delta * input;
                    }
                }
                for (bias, delta) in biases.iter_mut().zip(&deltas.column(example)) {
                    *bias = *delta;
                }
            }
        }
    }

    fn add_squared_norms(&self, norms: &mut [f64]) {
        match self {
            Self::Outer { inputs, deltas, biases } => {
                let lengths = squared_lengths(inputs.as_slice(), inputs.nrows());
                let constant = f64::from(u8::from(*biases));
                for ((norm, delta), input) in
                    norms.iter_mut().zip(deltas.column_iter()).zip(lengths)
                {
                    *norm += delta.norm_squared() * (input + constant);
                }
            }
            Self::Formed(formed) => {
                let lengths = squared_lengths(formed.as_slice(), formed.nrows());
                norms.iter_mut().zip(lengths).for_each(|(norm, length)| *norm += length);
            }
        }
    }

    fn add_weighted(&self, factors: &[f64], sum: &mut [f64]) {
        match self {
            Self::Formed(formed) => {
                add_combinations(formed.as_slice(), formed.nrows(), factors, sum);
            }
            Self::Outer { inputs, deltas, .. } => {
                let (height, (outputs, count)) = (inputs.nrows(), deltas.shape());
                let (weights, biases) = sum.split_at_mut(height * outputs);
                let weighted = Matrix::from_fn(count, outputs, |i, k| factors[i] * deltas[(k, i)]);
                if outputs <= FEW {
                    add_combinations(inputs.as_slice(), height, weighted.as_slice(), weights);
                } else {
                    let parts = parts_of_columns(inputs.len() * outputs, outputs);
                    for_columns(weights, height, parts, |first, part| {
                        let some = whole(&weighted).columns(first, part.len() / height);
                        multiply(part, &whole(inputs), &some, 1.0);
                    });
                }
                for (bias, weighted) in biases.iter_mut().zip(weighted.column_iter()) {
                    *bias += weighted.sum();
                }
            }
        }
    }

    /// Adds the inner products of the first `rows` examples with these `columns`.
    fn add_gram(&self, rows: usize, columns: (usize, usize), part: &mut [f64]) {
        let (inputs, deltas, biases) = match self {
            Self::Formed(formed) => return add_products(formed, (0, rows), columns, part),
            Self::Outer { inputs, deltas, biases } => (inputs, deltas, biases),
        };
        // (δᵢ·δⱼ)(aᵢ·aⱼ + 1), some rows at a time: both factors stay in the cache.
        let width = part.len() / rows.max(1);
        let constant = f64::from(u8::from(*biases));
        let (mut products, mut slopes) = (Vec::new(), Vec::new());
        for first in (0..rows).step_by(TILE) {
            let height = TILE.min(rows - first);
            products.clear();
            products.resize(height * width, constant);
            slopes.clear();
            slopes.resize(height * width, 0.0);
            add_products(inputs, (first, height), columns, &mut products);
            add_products(deltas, (first, height), columns, &mut slopes);
            let factors = products.chunks_exact(height).zip(slopes.chunks_exact(height));
            for (column, (products, slopes)) in part.chunks_exact_mut(rows).zip(factors) {
                let column = column[first..].iter_mut();
                for ((entry, product), slope) in column.zip(products).zip(slopes) {
                    *entry += product * slope;
                }
            }
        }
    }

    fn combine(&self, coefficients: &Matrix, first: usize, sums: &mut Matrix) {
        let wanted = coefficients.ncols();
        match self {
            Self::Formed(formed) => {
                let part = few_combinations(formed, coefficients);
                sums.rows_mut(first, formed.nrows()).copy_from(&part);
            }
            Self::Outer { inputs, deltas, biases: biased } => {
                let (height, outputs) = (inputs.nrows(), deltas.nrows());
                // One row per combination and output: c∘δ.
                let mut weighted = Matrix::zeros(outputs * wanted, inputs.ncols());
                for (example, mut column) in weighted.column_iter_mut().enumerate() {
                    for k in 0..wanted {
                        let mut rows = column.rows_mut(k * outputs, outputs);
                        rows.axpy(coefficients[(example, k)], &deltas.column(example), 0.0);
                    }
                }
                let weights = outer_sums(inputs, &weighted);
                let biases = weighted.column_sum();
                for k in 0..wanted {
                    let mut sum = sums.column_mut(k);
                    let (start, length) = (k * outputs * height, outputs * height);
                    let weights = &weights.as_slice()[start..start + length];
                    sum.as_mut_slice()[first..first + length].copy_from_slice(weights);
                    if *biased {
                        sum.rows_mut(first + length, outputs)
                            .copy_from(&biases.rows(k * outputs, outputs));
                    }
                }
            }
        }
    }

    fn add_coordinates(&self, basis: &Matrix, first: usize, coordinates: &mut Matrix) {
        let wanted = basis.ncols();
        match self {
            Self::Formed(formed) => {
                let basis = basis.rows(first, formed.nrows()).into_owned();
                *coordinates += inner_products_with_few(&basis, formed);
            }
            Self::Outer { inputs, deltas, biases: biased } => {
                let (height, outputs) = (inputs.nrows(), deltas.nrows());
                let length = height * outputs;
                let mut weights = vec![0.0; length * wanted];
                for (k, weights) in weights.chunks_exact_mut(length.max(1)).enumerate() {
                    weights.copy_from_slice(&basis.column(k).as_slice()[first..first + length]);
                }
                // Row (k, output): the product of basis vector k with the inputs there.
                let across = transposed(&weights, height, outputs * wanted);
                let images = product(&across, &whole(inputs));
                let biases = basis.rows(first + length, if *biased { outputs } else { 0 });
                for (example, delta) in deltas.column_iter().enumerate() {
                    let image = images.column(example);
                    for k in 0..wanted {
                        coordinates[(k, example)] += image.rows(k * outputs, outputs).dot(&delta);
                        if *biased {
                            coordinates[(k, example)] += biases.column(k).dot(&delta);
                        }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_are_those_of_the_gradients_written_out() {
        let gradients: Gradients = Gradients {
            losses: vec![1.0, 2.0, 4.0],
            layers: vec![
                Contribution::Outer {
                    inputs: Matrix::from_fn(2, 3, |i, j| (i + 2 * j) as f64),
                    deltas: Matrix::from_fn(3, 3, |i, j| i as f64 - j as f64),
                    biases: true,
                },
                Contribution::Formed(Matrix::from_fn(2, 3, |i, j| (3 * i + j) as f64)),
            ],
        };
        let (columns, means) = (gradients.columns(), gradients.means(&[1, 2]));
        assert_eq!(means.losses, [1.0, 3.0]);
        assert_eq!(means.columns().column(0), columns.column(0));
        let mean = (columns.column(1) + columns.column(2)) / 2.0;
        assert!((means.columns().column(1) - mean).norm() < 1e-12);
    }

    #[test]
    fn the_leading_eigenpairs_are_those_of_the_gram_matrix_whether_it_is_formed_or_not() {
        // Decaying, in independent directions.
        let (parameters, examples) = (150, 900);
        let entry = |i: usize, j: usize| {
            let wave = ((i * 37 + 11) as f64 * (j + 1) as f64 * 0.618_033).sin();
            wave * 0.93_f64.powi(i as i32)
        };
        let formed = Matrix::from_fn(parameters, examples, entry);
        let gradients =
            Gradients { losses: vec![0.0; examples], layers: vec![Contribution::Formed(formed)] };
        // The second one is not formed: many examples of few parameters.
        assert!(parameters * COMBINATIONS < examples * parameters);
        let (wanted, found) =
            (leading(&gradients.gram(), 9).unwrap(), gradients.leading(9).unwrap());
        for (wanted, found) in wanted.values.iter().zip(&found.values) {
            assert!((wanted - found).abs() < 1e-9 * found, "{wanted} {found}");
        }
        let outside = &found.vectors - &wanted.vectors * wanted.vectors.tr_mul(&found.vectors);
        assert!(outside.norm() < 1e-7, "{}", outside.norm());
        let next = found.next.unwrap();
        assert!((next - wanted.next.unwrap()).abs() < 1e-6 * next && next < found.values[8]);
        let mut bad = gradients.clone();
        if let Contribution::Formed(formed) = &mut bad.layers[0] {
            formed[(3, 5)] = f64::NAN;
        }
        assert!(bad.leading(9).is_none());
    }
}
