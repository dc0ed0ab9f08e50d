//! Resizes images, so that two families of images become comparable.

/// Channels, height and width of an image laid out channel by channel, row by row.
pub type ImageShape = (usize, usize, usize);

/// The shape of a square image with one or three channels and this many numbers.
pub fn square(numbers: usize) -> Option<ImageShape> {
    [1, 3].into_iter().find_map(|channels| {
        let side = ((numbers / channels) as f64).sqrt().round() as usize;
        (side > 0 && channels * side * side == numbers).then_some((channels, side, side))
    })
}

/// Bilinear, with the pixels as points in the middle of their squares. If the numbers of channels
/// differ, the mean of all channels is used.
pub fn resized(image: &[f64], from: ImageShape, to: ImageShape) -> Vec<f64> {
    let (channels, height, width) = from;
    let pixel = |channel: usize, y: usize, x: usize| {
        let at = |channel: usize| image[(channel * height + y) * width + x];
        if channels == to.0 {
            at(channel)
        } else {
            (0..channels).map(at).sum::<f64>() / channels as f64
        }
    };
    let mut result = Vec::with_capacity(to.0 * to.1 * to.2);
    for channel in 0..to.0 {
        for row in 0..to.1 {
            let (above, below, down) = between(row, to.1, height);
            for column in 0..to.2 {
                let (left, right, along) = between(column, to.2, width);
                let line = |y: usize| {
                    (1.0 - along) * pixel(channel, y, left) + along * pixel(channel, y, right)
                };
                result.push((1.0 - down) * line(above) + down * line(below));
            }
        }
    }
    result
}

/// The two pixels around the middle of pixel `at` of `to`, and the weight of the second.
fn between(at: usize, to: usize, from: usize) -> (usize, usize, f64) {
    let place = (at as f64 + 0.5) * from as f64 / to as f64 - 0.5;
    let place = place.clamp(0.0, (from - 1) as f64);
    let first = place.floor() as usize;
    (first, (first + 1).min(from - 1), place - first as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_size_changes_nothing_and_a_flat_image_stays_flat() {
        let image: Vec<f64> = (0..24).map(f64::from).collect();
        assert_eq!(resized(&image, (2, 3, 4), (2, 3, 4)), image);
        let flat = resized(&[0.3; 64], (1, 8, 8), (1, 28, 28));
        assert!(flat.len() == 784 && flat.iter().all(|pixel| (pixel - 0.3).abs() < 1e-15));
    }

    #[test]
    fn a_slope_stays_a_slope_and_channels_are_averaged() {
        let slope: Vec<f64> = (0..16).map(|i| f64::from(i % 4)).collect();
        let wide = resized(&slope, (1, 4, 4), (1, 4, 8));
        assert_eq!(wide[..8], [0.0, 0.25, 0.75, 1.25, 1.75, 2.25, 2.75, 3.0]);
        let half = resized(&slope, (1, 4, 4), (1, 2, 2));
        assert_eq!(half, [0.5, 2.5, 0.5, 2.5]);
        let grey = resized(&[3.0, 0.0, 6.0], (3, 1, 1), (1, 1, 1));
        assert_eq!(grey, [3.0]);
        assert_eq!(resized(&[2.0], (1, 1, 1), (3, 1, 1)), [2.0; 3]);
    }

    #[test]
    fn squares_are_recognised() {
        assert_eq!(square(784), Some((1, 28, 28)));
        assert_eq!(square(3072), Some((3, 32, 32)));
        assert_eq!((square(785), square(0)), (None, None));
    }
}
