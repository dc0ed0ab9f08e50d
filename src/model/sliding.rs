//! Convolutions in steps of one, without patches: the filters slide along the lines of an image.
//!
//! Neighbouring outputs of one line need neighbouring pixels, so the registers hold a strip of
//! outputs of a few filters, and each weight is multiplied by a run of pixels as they are in memory.
//! Every output is one chain of additions over the channels, lines and columns of its filter.
#![allow(clippy::inline_always)] // inlined, to be compiled for the instruction set that is found

use pulp::{Arch, Simd, WithSimd};

use super::convolution::{Convolution, Volume};

/// The most registers of a strip: with the sums of four filters, a run of pixels and a weight, they
/// fit into the sixteen registers of AVX2.
const WIDEST: usize = 2;
/// The most registers of a strip if they hold eight numbers: there are 32 of them.
const WIDE_WIDEST: usize = 3;
const WIDE: usize = 8;
/// With fewer outputs in a line, most of a register would stay empty.
const LEAST: usize = 4;
/// More numbers than a strip may have beyond the end of a line.
pub(super) const BEYOND: usize = WIDE * WIDE_WIDEST;

/// Whether the filters of this convolution slide.
pub(super) fn suits(convolution: &Convolution) -> bool {
    convolution.stride == 1 && convolution.output().width >= LEAST
}

/// Writes the maps of one framed image, which is followed by [`BEYOND`] numbers of any kind.
pub(super) fn write_maps(
    convolution: &Convolution,
    (weights, biases): (&[f64], &[f64]),
    image: &[f64],
    maps: &mut [f64],
) {
    let (frame, output) = (convolution.frame(), convolution.output());
    let slide = Slide { kernel: convolution.kernel, frame, output, weights, biases, image, maps };
    Arch::new().dispatch(slide);
}

struct Slide<'a> {
    kernel: usize,
    frame: Volume,
    output: Volume,
    weights: &'a [f64],
    biases: &'a [f64],
    image: &'a [f64],
    maps: &'a mut [f64],
}

impl WithSimd for Slide<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let registers = self.output.width.div_ceil(S::F64_LANES);
        let widest = if S::F64_LANES < WIDE { WIDEST } else { WIDE_WIDEST };
        let registers = registers.div_ceil(registers.div_ceil(widest));
        // Filters of the usual sizes are unrolled.
        match self.kernel {
            4 => self.slide_strips::<S, 4>(simd, registers),
            8 => self.slide_strips::<S, 8>(simd, registers),
            _ => self.slide_strips::<S, 0>(simd, registers),
        }
    }
}

impl Slide<'_> {
    /// `SIDE` is the side of the filters, or 0 if only `self` knows it. At least eight sums are
    /// added to in turn, because each addition has to wait for the one before.
    #[inline(always)]
    fn slide_strips<S: Simd, const SIDE: usize>(self, simd: S, registers: usize) {
        match registers {
            1 => self.slide::<S, SIDE, 1, 8>(simd),
            2 => self.slide::<S, SIDE, 2, 4>(simd),
            _ => self.slide::<S, SIDE, 3, 4>(simd),
        }
    }

    #[inline(always)]
    fn slide<S: Simd, const SIDE: usize, const REGISTERS: usize, const FILTERS: usize>(
        self,
        simd: S,
    ) {
        let Self { kernel, frame, output, weights, biases, image, maps } = self;
        let kernel = if SIDE == 0 { kernel } else { SIDE };
        let (patch, wide) = (frame.channels * kernel * kernel, REGISTERS * S::F64_LANES);
        for first in (0..output.channels).step_by(FILTERS) {
            let filters = FILTERS.min(output.channels - first);
            let mut own = [weights; FILTERS];
            let mut start = [[simd.splat_f64s(0.0); REGISTERS]; FILTERS];
            for (index, (own, start)) in own.iter_mut().zip(&mut start).enumerate() {
                // The results of a repeated filter are left out.
                let filter = first + index.min(filters - 1);
                *own = &weights[filter * patch..][..patch];
                *start = [simd.splat_f64s(biases[filter]); REGISTERS];
            }
            for row in 0..output.height {
                for column in (0..output.width).step_by(wide) {
                    let mut sums = start;
                    for line in 0..frame.channels * kernel {
                        let (channel, down) = (line / kernel, line % kernel);
                        let at = (channel * frame.height + row + down) * frame.width + column;
                        let pixels = &image[at..at + kernel - 1 + wide];
                        let mut weights = own;
                        for weights in &mut weights {
                            *weights = &weights[line * kernel..][..kernel];
                        }
                        for right in 0..kernel {
                            let mut run = [simd.splat_f64s(0.0); REGISTERS];
                            run.copy_from_slice(S::as_simd_f64s(&pixels[right..right + wide]).0);
                            for (sums, weights) in sums.iter_mut().zip(&weights) {
                                let weight = simd.splat_f64s(weights[right]);
                                for (sum, pixels) in sums.iter_mut().zip(run) {
                                    *sum = simd.mul_add_e_f64s(pixels, weight, *sum);
                                }
                            }
                        }
                    }
                    let kept = wide.min(output.width - column);
                    let mut strip = [0.0; BEYOND];
                    for (index, sums) in sums.iter().enumerate().take(filters) {
                        S::as_mut_simd_f64s(&mut strip[..wide]).0.copy_from_slice(sums);
                        let map = (first + index) * output.plane() + row * output.width + column;
                        maps[map..map + kept].copy_from_slice(&strip[..kept]);
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
    fn sliding_filters_give_the_sums_of_the_definition() {
        // Whole numbers, so every order of summation is exact.
        let numbers = |count: usize, salt: usize| -> Vec<f64> {
            (0..count).map(|i| ((i * 7 + i / 3 + salt) % 11) as f64 - 5.0).collect()
        };
        for (channels, height, width, filters, kernel, padding) in [
            (1, 28, 28, 64, 8, 0),
            (3, 9, 10, 16, 4, 0),
            (2, 7, 6, 5, 3, 1),
            (1, 4, 30, 2, 1, 0),
            (2, 5, 5, 7, 2, 2),
        ] {
            let input = Volume { channels, height, width };
            let convolution = Convolution { input, filters, kernel, stride: 1, padding };
            assert!(suits(&convolution));
            let (image, patch) = (numbers(input.size(), 1), convolution.patch());
            let parameters = numbers((patch + 1) * filters, 2);
            let output = convolution.output();
            let mut wanted = Vec::new();
            for filter in 0..filters {
                for (row, column) in
                    (0..output.plane()).map(|at| (at / output.width, at % output.width))
                {
                    let mut sum = parameters[patch * filters + filter];
                    for entry in 0..patch {
                        let (channel, rest) =
                            (entry / (kernel * kernel), entry % (kernel * kernel));
                        let y = (row + rest / kernel).wrapping_sub(padding);
                        let x = (column + rest % kernel).wrapping_sub(padding);
                        if y < height && x < width {
                            sum += parameters[filter * patch + entry]
                                * image[(channel * height + y) * width + x];
                        }
                    }
                    wanted.push(sum);
                }
            }
            let mut maps = vec![9.0; output.size()];
            convolution.forward(&parameters, &image, &mut maps);
            assert_eq!(maps, wanted, "{kernel} {padding}");
        }
    }
}
