//! Images in the form that a network expects.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// The brightness of red, green and blue (ITU-R BT.601).
const BRIGHTNESS: [f32; 3] = [0.299, 0.587, 0.114];

/// The sizes of an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ImageSizes {
    /// 1 for grey, 3 for colour.
    pub channels: usize,
    /// In pixels.
    pub height: usize,
    /// In pixels.
    pub width: usize,
}

impl ImageSizes {
    /// The number of numbers in an image.
    pub fn size(self) -> usize {
        self.channels.saturating_mul(self.height).saturating_mul(self.width)
    }
}

impl fmt::Display for ImageSizes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} × {} × {}", self.channels, self.height, self.width)
    }
}

pub(super) fn check(image: ImageSizes, input: ImageSizes) -> Result<()> {
    let empty = image.size() == 0 || input.size() == 0;
    let colours = matches!((image.channels, input.channels), (1, 3) | (3, 1))
        || image.channels == input.channels;
    if empty || !colours {
        return Err(Error::usage(format!("images of {image} cannot become images of {input}"))
            .cure("grey (1 channel) and coloured (3 channels) images can become each other"));
    }
    if input.size() > 1 << 24 {
        return Err(Error::usage(format!("images of {input} are too large"))
            .cure("most networks take 224 × 224 pixels"));
    }
    Ok(())
}

/// Appends the image as `input`, channel by channel. The shapes were checked.
pub(super) fn adapt(
    pixels: &[f32],
    image: ImageSizes,
    channels_last: bool,
    input: ImageSizes,
    ready: &mut Vec<f32>,
) {
    let area = image.height * image.width;
    let pixel = |channel: usize, at: usize| {
        if channels_last {
            pixels[at * image.channels + channel]
        } else {
            pixels[channel * area + at]
        }
    };
    let channel = |of: usize| -> Vec<f32> {
        let value = |at: usize| match (image.channels, input.channels) {
            (1, 3) => pixel(0, at),
            (3, 1) => (0..3).map(|colour| BRIGHTNESS[colour] * pixel(colour, at)).sum(),
            _ => pixel(of, at),
        };
        (0..area).map(value).collect()
    };
    let mut last = Vec::new();
    for of in 0..input.channels {
        // From grey to colour: the same values three times.
        if of == 0 || image.channels == input.channels {
            last = resize(&channel(of), image, input);
        }
        ready.extend_from_slice(&last);
    }
}

/// Bilinear interpolation between the centres of pixels; constant beyond the outermost ones.
fn resize(pixels: &[f32], from: ImageSizes, to: ImageSizes) -> Vec<f32> {
    if (from.height, from.width) == (to.height, to.width) {
        return pixels.to_vec();
    }
    // The two pixels around a place, and its distance from the first.
    let places = |from: usize, to: usize| -> Vec<(usize, usize, f32)> {
        let scale = from as f32 / to as f32;
        let place = |at: usize| {
            let place = ((at as f32 + 0.5) * scale - 0.5).clamp(0.0, (from - 1) as f32);
            let first = (place as usize).min(from - 1);
            (first, (first + 1).min(from - 1), place - first as f32)
        };
        (0..to).map(place).collect()
    };
    let columns = places(from.width, to.width);
    let mut resized = Vec::with_capacity(to.height * to.width);
    for (top, bottom, down) in places(from.height, to.height) {
        let row = |row: usize| &pixels[row * from.width..(row + 1) * from.width];
        let (top, bottom) = (row(top), row(bottom));
        for &(left, right, across) in &columns {
            let mix = |row: &[f32]| row[left] + across * (row[right] - row[left]);
            let (above, below) = (mix(top), mix(bottom));
            resized.push(above + down * (below - above));
        }
    }
    resized
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn shape(channels: usize, height: usize, width: usize) -> ImageSizes {
        ImageSizes { channels, height, width }
    }

    fn adapted(
        pixels: &[f32],
        image: ImageSizes,
        channels_last: bool,
        input: ImageSizes,
    ) -> Vec<f32> {
        check(image, input).unwrap();
        let mut ready = Vec::new();
        adapt(pixels, image, channels_last, input, &mut ready);
        ready
    }

    #[test]
    fn an_image_that_fits_stays_as_it_is_and_colours_are_put_apart() {
        let pixels = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
        assert_eq!(adapted(&pixels, shape(3, 1, 2), false, shape(3, 1, 2)), pixels);
        let apart = adapted(&pixels, shape(3, 1, 2), true, shape(3, 1, 2));
        assert_eq!(apart, [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
    }

    #[test]
    fn grey_becomes_three_equal_colours_and_white_becomes_white() {
        assert_eq!(adapted(&[7.0], shape(1, 1, 1), false, shape(3, 1, 1)), [7.0; 3]);
        let grey = adapted(&[1.0; 3], shape(3, 1, 1), false, shape(1, 1, 1));
        assert!((grey[0] - 1.0).abs() < 1e-6);
    }

    /// The values of PyTorch's `interpolate(…, mode="bilinear", align_corners=False)`.
    #[test]
    fn sizes_change_by_bilinear_interpolation() {
        let larger = adapted(&[0.0, 4.0], shape(1, 1, 2), false, shape(1, 1, 4));
        assert_eq!(larger, [0.0, 1.0, 3.0, 4.0]);
        let smaller = adapted(&[0.0, 2.0, 4.0, 6.0], shape(1, 4, 1), false, shape(1, 2, 1));
        assert_eq!(smaller, [1.0, 5.0]);
        let plane: Vec<f32> = (0..12).map(|at| (at / 4) as f32 + 10.0 * (at % 4) as f32).collect();
        let odd = adapted(&plane, shape(1, 3, 4), false, shape(1, 3, 2));
        assert_eq!(odd, [5.0, 25.0, 6.0, 26.0, 7.0, 27.0]);
    }

    #[test]
    fn impossible_shapes_are_refused() {
        assert!(check(shape(2, 4, 4), shape(3, 4, 4)).is_err());
        assert!(check(shape(1, 0, 4), shape(1, 4, 4)).is_err());
        assert!(check(shape(1, 4, 4), shape(1, 100_000, 100_000)).is_err());
    }
}
