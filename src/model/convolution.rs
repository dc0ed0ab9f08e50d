//! Convolutions and pooling, with images laid out as columns.
//!
//! In steps of one, filters slide along the lines of an image ([`sliding`]). Otherwise a convolution
//! is a matrix product once every patch that a filter sees is written out: P × D, P positions by D
//! numbers in a patch. The per-example gradient is also a matrix product, patchesᵀ·δ, and so is the
//! gradient passed back to the inputs. After pooling most of δ is zero, and then only the patches
//! that count are visited ([`Marks`]).

use serde::{Deserialize, Serialize};

use super::sliding;
use super::sparse_maps::Marks;
use crate::numeric::product::{multiply, plain, transposed};
use crate::numeric::tall::Many;

/// The shape of an image or of a stack of feature maps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Volume {
    pub channels: usize,
    pub height: usize,
    pub width: usize,
}

/// Square filters over all channels: cross-correlation, as in every library.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Convolution {
    pub input: Volume,
    pub filters: usize,
    pub kernel: usize,
    pub stride: usize,
    /// Zeros around the image.
    pub padding: usize,
}

/// The largest number of each window; the first of equal ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pool {
    pub input: Volume,
    pub window: usize,
    pub stride: usize,
}

/// d loss / d outputs of a layer, for one example or a block of them.
#[derive(Debug, Clone, Copy)]
pub(super) enum Deltas<'a> {
    /// Of every output.
    All(&'a [f64]),
    /// Of the winners of windows, as many for each map, and where each is among the outputs of its
    /// example; those of all other outputs are zero.
    Winners(&'a [f64], &'a [usize]),
}

impl Deltas<'_> {
    /// One of so many equal parts.
    pub fn part(self, index: usize, parts: usize) -> Self {
        let range = |length: usize| index * (length / parts)..(index + 1) * (length / parts);
        match self {
            Self::All(deltas) => Self::All(&deltas[range(deltas.len())]),
            Self::Winners(deltas, at) => {
                Self::Winners(&deltas[range(deltas.len())], &at[range(at.len())])
            }
        }
    }
}

impl Volume {
    pub fn size(&self) -> usize {
        self.channels * self.height * self.width
    }

    pub(super) fn plane(&self) -> usize {
        self.height * self.width
    }
}

impl std::fmt::Display for Volume {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.channels == 1 {
            write!(f, "{}×{}", self.height, self.width)
        } else {
            write!(f, "{}×{}×{}", self.channels, self.height, self.width)
        }
    }
}

/// The number of positions of a window along one side.
pub(super) fn places(side: usize, window: usize, stride: usize) -> usize {
    if side < window || stride == 0 { 0 } else { (side - window) / stride + 1 }
}

impl Convolution {
    pub fn output(&self) -> Volume {
        let places = |side: usize| places(side + 2 * self.padding, self.kernel, self.stride);
        Volume {
            channels: self.filters,
            height: places(self.input.height),
            width: places(self.input.width),
        }
    }

    /// D
    pub(super) fn patch(&self) -> usize {
        self.input.channels * self.kernel * self.kernel
    }

    /// The input with its frame of zeros.
    pub(super) fn frame(&self) -> Volume {
        let Volume { channels, height, width } = self.input;
        Volume { channels, height: height + 2 * self.padding, width: width + 2 * self.padding }
    }

    /// A buffer for [`Self::framed`].
    fn empty_frame(&self) -> Vec<f64> {
        vec![0.0; if self.padding == 0 { 0 } else { self.frame().size() }]
    }

    /// The image within its frame, if there is one; `frame` is the buffer for it.
    fn framed<'a>(&self, image: &'a [f64], frame: &'a mut [f64]) -> &'a [f64] {
        if self.padding == 0 {
            return image;
        }
        for (line, at) in image.chunks_exact(self.input.width).zip(self.lines_in_frame()) {
            frame[at..at + line.len()].copy_from_slice(line);
        }
        frame
    }

    /// The start of each line of the input in the frame.
    fn lines_in_frame(&self) -> impl Iterator<Item = usize> {
        let (Volume { channels, height, .. }, frame) = (self.input, self.frame());
        let padding = self.padding;
        let first = move |channel| (channel * frame.height + padding) * frame.width + padding;
        (0..channels)
            .flat_map(move |channel| (0..height).map(move |row| first(channel) + row * frame.width))
    }

    /// P × D, column-major, of one framed image.
    fn patches(&self, image: &[f64], patches: &mut [f64]) {
        let width = self.output().width;
        self.for_lines(|line, at| {
            let slots = &mut patches[line * width..(line + 1) * width];
            if self.stride == 1 {
                for (slot, pixel) in slots.iter_mut().zip(&image[at..at + width]) {
                    *slot = *pixel;
                }
            } else {
                for (slot, pixel) in slots.iter_mut().zip(image[at..].iter().step_by(self.stride)) {
                    *slot = *pixel;
                }
            }
        });
    }

    /// Adds the numbers of the patches back to their pixels in a framed image.
    fn add_patches(&self, patches: &[f64], image: &mut [f64]) {
        let width = self.output().width;
        self.for_lines(|line, at| {
            let values = &patches[line * width..(line + 1) * width];
            let pixels = image[at..].iter_mut().step_by(self.stride);
            for (pixel, value) in pixels.zip(values) {
                *pixel += value;
            }
        });
    }

    /// As a matrix, the patches consist of lines: one number of the patch at one row of positions.
    /// Visits them in order, with the start of each in the framed image.
    fn for_lines(&self, mut visit: impl FnMut(usize, usize)) {
        let (frame, rows) = (self.frame(), self.output().height);
        let mut line = 0;
        for channel in 0..frame.channels {
            for (down, right) in
                (0..self.kernel).flat_map(|y| (0..self.kernel).map(move |x| (y, x)))
            {
                let first = (channel * frame.height + down) * frame.width + right;
                for row in 0..rows {
                    visit(line, first + row * self.stride * frame.width);
                    line += 1;
                }
            }
        }
    }

    pub(super) fn forward(&self, parameters: &[f64], images: &[f64], outputs: &mut [f64]) {
        let (positions, patch) = (self.output().plane(), self.patch());
        let (weights, biases) = parameters.split_at(patch * self.filters);
        let mut frame = self.empty_frame();
        let pairs = images
            .chunks_exact(self.input.size())
            .zip(outputs.chunks_exact_mut(positions * self.filters));
        if sliding::suits(self) {
            let size = self.frame().size();
            let mut longer = vec![0.0; size + sliding::BEYOND];
            for (image, output) in pairs {
                longer[..size].copy_from_slice(self.framed(image, &mut frame));
                sliding::write_maps(self, (weights, biases), &longer, output);
            }
            return;
        }
        let mut patches = vec![0.0; positions * patch];
        for (image, output) in pairs {
            self.patches(self.framed(image, &mut frame), &mut patches);
            for (map, bias) in output.chunks_exact_mut(positions).zip(biases) {
                map.fill(*bias);
            }
            let patches = plain(&patches, positions, patch);
            multiply(output, &patches, &plain(weights, patch, self.filters), 1.0);
        }
    }

    pub(super) fn backward(&self, parameters: &[f64], deltas: Deltas<'_>, to: &mut [f64]) {
        let (positions, patch) = (self.output().plane(), self.patch());
        let weights = &parameters[..patch * self.filters];
        let (mut patches, mut frame) = (Vec::new(), self.empty_frame());
        let mut marks = Marks::new(self);
        let count = to.len() / self.input.size();
        for (index, image) in to.chunks_exact_mut(self.input.size()).enumerate() {
            let deltas = deltas.part(index, count);
            let target = if self.padding == 0 { &mut *image } else { frame.as_mut_slice() };
            if marks.are_worthwhile(deltas) {
                for (filter, weights) in weights.chunks_exact(patch).enumerate() {
                    marks.find(deltas, filter);
                    marks.add_back(weights, target);
                }
            } else if let Deltas::All(deltas) = deltas {
                patches.resize(positions * patch, 0.0);
                let weights = transposed(weights, patch, self.filters);
                multiply(&mut patches, &plain(deltas, positions, self.filters), &weights, 0.0);
                self.add_patches(&patches, target);
            }
            if self.padding > 0 {
                for (line, at) in
                    image.chunks_exact_mut(self.input.width).zip(self.lines_in_frame())
                {
                    line.copy_from_slice(&frame[at..at + line.len()]);
                }
                frame.fill(0.0);
            }
        }
    }

    /// The gradient of every example, one per column of `gradients`.
    pub(super) fn gradients<T: Many>(
        &self,
        images: &[f64],
        deltas: Deltas<'_>,
        gradients: &mut [T],
    ) {
        let (positions, patch) = (self.output().plane(), self.patch());
        let (mut patches, mut frame) = (Vec::new(), self.empty_frame());
        let mut marks = Marks::new(self);
        let parameters = (patch + 1) * self.filters;
        let count = images.len() / self.input.size();
        let examples =
            images.chunks_exact(self.input.size()).zip(gradients.chunks_exact_mut(parameters));
        let mut room = Vec::new();
        for (index, (image, gradient)) in examples.enumerate() {
            let deltas = deltas.part(index, count);
            let image = self.framed(image, &mut frame);
            T::write(gradient, &mut room, |gradient| {
                let (weights, biases) = gradient.split_at_mut(patch * self.filters);
                if marks.are_worthwhile(deltas) {
                    let filters = weights.chunks_exact_mut(patch).zip(biases);
                    for (filter, (weights, bias)) in filters.enumerate() {
                        marks.find(deltas, filter);
                        marks.write_sums(image, weights);
                        *bias = marks.deltas().sum();
                    }
                    return;
                }
                let Deltas::All(deltas) = deltas else { return };
                patches.resize(positions * patch, 0.0);
                self.patches(image, &mut patches);
                let patches = transposed(&patches, positions, patch);
                multiply(weights, &patches, &plain(deltas, positions, self.filters), 0.0);
                for (bias, map) in biases.iter_mut().zip(deltas.chunks_exact(positions)) {
                    *bias = map.iter().sum();
                }
            });
        }
    }
}

impl Pool {
    pub fn output(&self) -> Volume {
        Volume {
            channels: self.input.channels,
            height: places(self.input.height, self.window, self.stride),
            width: places(self.input.width, self.window, self.stride),
        }
    }

    pub(super) fn forward(&self, images: &[f64], outputs: &mut [f64]) {
        let images = images.chunks_exact(self.input.size());
        for (image, output) in images.zip(outputs.chunks_exact_mut(self.output().size())) {
            self.winners(image, |position, _, largest| output[position] = largest);
        }
    }

    pub(super) fn backward(&self, images: &[f64], deltas: &[f64], to: &mut [f64]) {
        let images = images.chunks_exact(self.input.size());
        let deltas = deltas.chunks_exact(self.output().size());
        for ((image, deltas), to) in images.zip(deltas).zip(to.chunks_exact_mut(self.input.size()))
        {
            self.winners(image, |position, winner, _| to[winner] += deltas[position]);
        }
    }

    /// Where the winner of each window is in its image.
    pub(super) fn winner_places(&self, images: &[f64]) -> Vec<usize> {
        let (images, windows) = (images.chunks_exact(self.input.size()), self.output().size());
        let mut places = vec![0; images.len() * windows];
        for (image, places) in images.zip(places.chunks_exact_mut(windows)) {
            self.winners(image, |position, winner, _| places[position] = winner);
        }
        places
    }

    /// Each window with the position in the image of its largest number, and that number.
    fn winners(&self, image: &[f64], visit: impl FnMut(usize, usize, f64)) {
        // Windows of the usual size are unrolled.
        if self.window == 2 { self.among::<2>(image, visit) } else { self.among::<0>(image, visit) }
    }

    /// [`Self::winners`], where `SIDE` is the side of the windows, or 0 if only `self` knows it.
    fn among<const SIDE: usize>(&self, image: &[f64], mut visit: impl FnMut(usize, usize, f64)) {
        let side = if SIDE == 0 { self.window } else { SIDE };
        let (output, width) = (self.output(), self.input.width);
        let mut position = 0;
        for channel in 0..output.channels {
            for row in 0..output.height {
                let first = channel * self.input.plane() + row * self.stride * width;
                let lines = &image[first..first + (side - 1) * width + width];
                for column in 0..output.width {
                    let start = column * self.stride;
                    let (mut winner, mut largest) = (start, lines[start]);
                    for down in 0..side {
                        let start = start + down * width;
                        for (at, number) in (start..).zip(&lines[start..start + side]) {
                            // No branch, because the winner is unpredictable.
                            let better = *number > largest;
                            winner = if better { at } else { winner };
                            largest = if better { *number } else { largest };
                        }
                    }
                    visit(position, first + winner, largest);
                    position += 1;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn padding_is_as_good_as_a_frame_of_zeros() {
        let input = Volume { channels: 2, height: 4, width: 5 };
        let framed = Volume { channels: 2, height: 6, width: 7 };
        let image: Vec<f64> = (0..input.size()).map(|i| ((i * 7) % 11) as f64).collect();
        let mut large = vec![0.0; framed.size()];
        for channel in 0..2 {
            for row in 0..4 {
                for column in 0..5 {
                    large[(channel * 6 + row + 1) * 7 + column + 1] =
                        image[(channel * 4 + row) * 5 + column];
                }
            }
        }
        let padded = Convolution { input, filters: 3, kernel: 3, stride: 2, padding: 1 };
        let plain = Convolution { input: framed, padding: 0, ..padded };
        assert_eq!(padded.output(), plain.output());
        let parameters: Vec<f64> = (0..3 * 18 + 3).map(|i| f64::from((i * 5) % 7) - 3.0).collect();
        let forward = |convolution: &Convolution, image: &[f64]| {
            let mut outputs = vec![0.0; convolution.output().size()];
            convolution.forward(&parameters, image, &mut outputs);
            outputs
        };
        assert_eq!(forward(&padded, &image), forward(&plain, &large));
    }

    #[test]
    fn the_first_of_equal_numbers_wins_its_window_and_gets_the_whole_delta() {
        let pool =
            Pool { input: Volume { channels: 1, height: 2, width: 4 }, window: 2, stride: 2 };
        let image = [1.0, 1.0, 0.0, 2.0, 1.0, 0.0, 3.0, 2.0];
        let (mut outputs, mut back) = ([0.0; 2], [0.0; 8]);
        pool.forward(&image, &mut outputs);
        pool.backward(&image, &[5.0, 7.0], &mut back);
        assert_eq!(outputs, [1.0, 3.0]);
        assert_eq!(back, [5.0, 0.0, 0.0, 0.0, 0.0, 0.0, 7.0, 0.0]);
    }
}
