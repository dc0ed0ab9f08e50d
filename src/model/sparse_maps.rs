//! Convolutions of maps in which most entries are zero.
//!
//! Pooling passes each delta to the one winner of its window and zeros to all others: in a 2 × 2
//! window a quarter is left. The sums then run over the few marked positions, straight from the
//! image, without patches and with a fraction of the multiplications. Nothing is approximated: the
//! terms left out are zero. Straight after pooling they are not even written down; after an activation
//! between the two they are found among the others.
#![allow(clippy::inline_always)] // inlined, to be compiled for the instruction set that is found

use pulp::{Arch, Simd, WithSimd};

use super::convolution::{Convolution, Deltas, Pool};

/// If one position in this many is marked, the marks are as much work as a matrix product over all
/// positions.
const WORTHWHILE: usize = 3;

/// A register this wide holds a line of eight.
const WIDE: usize = 8;

/// Positions of a map that are not zero.
pub(super) struct Marks<'a> {
    convolution: &'a Convolution,
    /// The start of the patch of each position, in a channel of the framed image.
    starts: Vec<usize>,
    /// The start of the patch of each mark, and its delta; with room for all positions.
    found: Vec<(usize, f64)>,
    count: usize,
}

/// Whether the winners of a pool right after this convolution are few enough, and its filters have a
/// usual size.
pub(super) fn winners_suit(convolution: &Convolution, pool: &Pool) -> bool {
    few(convolution, pool.output().size(), pool.input.size())
}

fn few(convolution: &Convolution, marked: usize, positions: usize) -> bool {
    matches!(convolution.kernel, 4 | 8) && WORTHWHILE * marked <= positions
}

impl<'a> Marks<'a> {
    pub fn new(convolution: &'a Convolution) -> Self {
        let (output, stride) = (convolution.output(), convolution.stride);
        let line = convolution.frame().width * stride;
        let starts = (0..output.height)
            .flat_map(|row| (0..output.width).map(move |column| row * line + column * stride))
            .collect();
        // One more: unmarked positions are also written, and overwritten by the next.
        let found = vec![(0, 0.0); output.plane() + 1];
        Self { convolution, starts, found, count: 0 }
    }

    /// Whether few enough of an example's deltas are not zero, and the filters have a usual size.
    pub fn are_worthwhile(&self, deltas: Deltas<'_>) -> bool {
        match deltas {
            Deltas::All(deltas) => {
                let marked = deltas.iter().filter(|delta| **delta != 0.0).count();
                few(self.convolution, marked, deltas.len())
            }
            Deltas::Winners(..) => true,
        }
    }

    /// The marks of the map of one filter.
    pub fn find(&mut self, deltas: Deltas<'_>, filter: usize) {
        match deltas.part(filter, self.convolution.filters) {
            Deltas::All(map) => {
                self.count = 0;
                for (start, delta) in self.starts.iter().zip(map) {
                    // No branch, because the zeros are unpredictable.
                    self.found[self.count] = (*start, *delta);
                    self.count += usize::from(*delta != 0.0);
                }
            }
            Deltas::Winners(deltas, at) => {
                let first = filter * self.starts.len();
                self.count = deltas.len();
                for (found, (delta, at)) in self.found.iter_mut().zip(deltas.iter().zip(at)) {
                    *found = (self.starts[at - first], *delta);
                }
            }
        }
    }

    pub fn deltas(&self) -> impl Iterator<Item = f64> {
        self.marks().iter().map(|(_, delta)| *delta)
    }

    fn marks(&self) -> &[(usize, f64)] {
        &self.found[..self.count]
    }

    /// Σ δ·patch over the marks, written over the weights of one filter.
    pub fn write_sums(&self, image: &[f64], weights: &mut [f64]) {
        Arch::new().dispatch(Sums { marks: self, image, weights });
    }

    /// δ times the weights of one filter, added to the patches of a framed image at the marks.
    pub fn add_back(&self, weights: &[f64], image: &mut [f64]) {
        Arch::new().dispatch(Back { marks: self, weights, image });
    }
}

struct Sums<'a> {
    marks: &'a Marks<'a>,
    image: &'a [f64],
    weights: &'a mut [f64],
}

impl WithSimd for Sums<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Self { marks, image, weights } = self;
        let frame = marks.convolution.frame();
        let (found, width, plane) = (marks.marks(), frame.width, frame.plane());
        match marks.convolution.kernel {
            8 if S::F64_LANES < WIDE => sums::<8, 4>(found, image, weights, width, plane),
            8 => sums::<8, 8>(found, image, weights, width, plane),
            _ => sums::<4, 4>(found, image, weights, width, plane),
        }
    }
}

struct Back<'a> {
    marks: &'a Marks<'a>,
    weights: &'a [f64],
    image: &'a mut [f64],
}

impl WithSimd for Back<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Self { marks, weights, image } = self;
        let frame = marks.convolution.frame();
        let (found, width, plane) = (marks.marks(), frame.width, frame.plane());
        match marks.convolution.kernel {
            8 => back::<8>(found, weights, image, width, plane),
            _ => back::<4>(found, weights, image, width, plane),
        }
    }
}

/// `LINES` of a filter are summed at once, so that they stay in registers, and there are enough of
/// them: each addition has to wait for the one before.
#[inline(always)]
fn sums<const SIDE: usize, const LINES: usize>(
    marks: &[(usize, f64)],
    image: &[f64],
    weights: &mut [f64],
    width: usize,
    plane: usize,
) {
    let channels = image.chunks_exact(plane).zip(weights.chunks_exact_mut(SIDE * SIDE));
    for (channel, weights) in channels {
        for (strip, weights) in weights.chunks_exact_mut(LINES * SIDE).enumerate() {
            let pixels = &channel[strip * LINES * width..];
            let mut sums = [[0.0; SIDE]; LINES];
            for (at, delta) in marks {
                let pixels = &pixels[*at..][..(LINES - 1) * width + SIDE];
                for (down, sums) in sums.iter_mut().enumerate() {
                    let line = &pixels[down * width..][..SIDE];
                    for (sum, pixel) in sums.iter_mut().zip(line) {
                        *sum += delta * pixel;
                    }
                }
            }
            for (weights, sums) in weights.chunks_exact_mut(SIDE).zip(sums) {
                weights.copy_from_slice(&sums);
            }
        }
    }
}

#[inline(always)]
fn back<const SIDE: usize>(
    marks: &[(usize, f64)],
    weights: &[f64],
    image: &mut [f64],
    width: usize,
    plane: usize,
) {
    // Neighbouring patches overlap, and what was just written cannot be read at another offset without
    // waiting. So a mark is done in all channels before the next.
    for (at, delta) in marks {
        let channels = image.chunks_exact_mut(plane).zip(weights.chunks_exact(SIDE * SIDE));
        for (channel, weights) in channels {
            let pixels = &mut channel[*at..][..(SIDE - 1) * width + SIDE];
            let (weights, _) = weights.as_chunks::<SIDE>();
            for (down, weights) in weights.iter().enumerate() {
                if let Some(line) = pixels[down * width..].first_chunk_mut::<SIDE>() {
                    *line = std::array::from_fn(|i| line[i] + delta * weights[i]);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::convolution::Volume;

    /// Whole numbers, so every order of summation is exact.
    fn numbers(count: usize, salt: usize) -> Vec<f64> {
        (0..count).map(|i| ((i * 7 + i / 3 + salt) % 11) as f64 - 5.0).collect()
    }

    #[test]
    fn few_deltas_give_the_gradients_that_all_of_them_would() {
        let input = Volume { channels: 3, height: 12, width: 14 };
        for (kernel, stride, padding) in [(4, 1, 0), (8, 1, 0), (4, 2, 1), (8, 3, 3)] {
            let convolution = Convolution { input, filters: 6, kernel, stride, padding };
            let (positions, patch) = (convolution.output().plane(), convolution.patch());
            let image = numbers(input.size(), 1);
            let parameters = numbers((patch + 1) * 6, 2);
            // Every fifth delta of a map is not zero, and in the second case every other one.
            for nth in [5, 2] {
                let marked = |at: usize| (at % positions).is_multiple_of(nth);
                let some = |(at, delta)| if marked(at) { delta } else { 0.0 };
                let deltas: Vec<f64> =
                    numbers(positions * 6, 3).into_iter().enumerate().map(some).collect();
                let all = Deltas::All(&deltas);
                assert_eq!(Marks::new(&convolution).are_worthwhile(all), nth == 5);
                // The definition, position by position: d output / d (weight, pixel).
                let mut wanted = vec![0.0; parameters.len()];
                let mut back = vec![0.0; input.size()];
                let output = convolution.output();
                for (at, delta) in deltas.iter().enumerate() {
                    let (filter, position) = (at / positions, at % positions);
                    let (row, column) = (position / output.width, position % output.width);
                    wanted[patch * 6 + filter] += delta;
                    for entry in 0..patch {
                        let (channel, rest) =
                            (entry / (kernel * kernel), entry % (kernel * kernel));
                        let y = (row * stride + rest / kernel).wrapping_sub(padding);
                        let x = (column * stride + rest % kernel).wrapping_sub(padding);
                        if y < input.height && x < input.width {
                            let pixel = (channel * input.height + y) * input.width + x;
                            wanted[filter * patch + entry] += delta * image[pixel];
                            back[pixel] += delta * parameters[filter * patch + entry];
                        }
                    }
                }
                let at: Vec<usize> = (0..deltas.len()).filter(|at| marked(*at)).collect();
                let theirs: Vec<f64> = at.iter().map(|at| deltas[*at]).collect();
                for deltas in [all, Deltas::Winners(&theirs, &at)] {
                    let mut found = vec![9.0; parameters.len()];
                    convolution.gradients(&image, deltas, &mut found);
                    assert_eq!(found, wanted, "{kernel} {stride} {padding} {nth}");
                    let mut found = vec![0.0; input.size()];
                    convolution.backward(&parameters, deltas, &mut found);
                    assert_eq!(found, back, "{kernel} {stride} {padding} {nth}");
                }
            }
        }
    }
}
