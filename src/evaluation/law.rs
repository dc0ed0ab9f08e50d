//! The distribution of the noise of a sum of released numbers.

use crate::numeric::special::normal_tails;

/// Noise around zero, symmetric.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Law {
    /// Normal noise.
    Gaussian {
        /// Standard deviation.
        sd: f64,
    },
    /// A sum of independent Laplace variables of one scale.
    Laplace {
        /// The scale of each term.
        scale: f64,
        /// The number of terms.
        terms: usize,
    },
}

impl Law {
    /// The law of Σ cᵢnᵢ, where the nᵢ are independent noise of this scale. A sum of Laplace
    /// variables with unequal factors has none of these laws: it gets the one with the same
    /// variance and about equally heavy tails.
    pub fn of(laplace: bool, scale: f64, factors: &[f64]) -> Self {
        let squares: f64 = factors.iter().map(|c| c * c).sum();
        if !laplace {
            return Self::Gaussian { sd: scale * squares.sqrt() };
        }
        let fourths: f64 = factors.iter().map(|c| c.powi(4)).sum();
        if fourths == 0.0 {
            return Self::Laplace { scale: 0.0, terms: 1 };
        }
        let terms = (squares * squares / fourths).floor().max(1.0);
        Self::Laplace { scale: scale * (squares / terms).sqrt(), terms: terms as usize }
    }

    /// Standard deviation.
    pub fn sd(&self) -> f64 {
        match *self {
            Self::Gaussian { sd } => sd,
            Self::Laplace { scale, terms } => scale * (2.0 * terms as f64).sqrt(),
        }
    }

    /// The probability that the noise is at least x.
    pub fn above(&self, x: f64) -> f64 {
        if self.sd() == 0.0 {
            return if x <= 0.0 { 1.0 } else { 0.0 };
        }
        match *self {
            Self::Gaussian { sd } => normal_tails(x / sd).1,
            Self::Laplace { scale, terms } => {
                let tail = laplace_tail(x.abs() / scale, terms);
                if x >= 0.0 { tail } else { 1.0 - tail }
            }
        }
    }
}

/// The probability that a sum of `terms` Laplace variables of scale 1 is at least x ≥ 0: e⁻ˣ Σᵢ
/// xⁱ/i! Σₗ C(k − 1 + l, l)/2^{k + l} for i from 0 to k − 1 and l to k − 1 − i.
fn laplace_tail(x: f64, terms: usize) -> f64 {
    // Σₗ, longest first.
    let mut sums = Vec::with_capacity(terms);
    let (mut part, mut sum) = (0.5_f64.powi(terms as i32), 0.0);
    for l in 0..terms {
        sum += part;
        sums.push(sum);
        part *= 0.5 * (terms + l) as f64 / (l + 1) as f64;
    }
    let (mut power, mut tail) = ((-x).exp(), 0.0);
    for i in 0..terms {
        tail += power * sums[terms - 1 - i];
        power *= x / (i + 1) as f64;
    }
    tail
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tails_are_those_of_the_closed_forms() {
        let one = Law::Laplace { scale: 2.0, terms: 1 };
        for x in [0.0, 0.3, 1.0, 7.0] {
            assert!((one.above(x) - 0.5 * (-x / 2.0).exp()).abs() < 1e-15);
            assert!((one.above(-x) + one.above(x) - 1.0).abs() < 1e-15);
        }
        // Two: e⁻ˣ(2 + x)/4.
        for x in [0.0, 0.5, 3.0_f64] {
            let two = Law::Laplace { scale: 1.0, terms: 2 }.above(x);
            assert!((two - (-x).exp() * (2.0 + x) / 4.0).abs() < 1e-15);
        }
        let normal = Law::Gaussian { sd: 3.0 };
        assert!((normal.above(3.0 * 1.959_964) - 0.025).abs() < 1e-7);
        // The sum of many is nearly normal.
        let many = Law::Laplace { scale: 1.0, terms: 64 };
        assert!((many.above(many.sd()) - 0.158_66).abs() < 2e-3);
    }

    #[test]
    fn equal_factors_are_exact_and_others_keep_their_variance() {
        let Law::Laplace { scale, terms } = Law::of(true, 3.0, &[0.5, -0.5, 0.5, -0.5]) else {
            panic!("not Laplace")
        };
        assert_eq!((scale, terms), (1.5, 4));
        for factors in [&[1.0, 0.2][..], &[3.0, -1.0, 1.0], &[0.1, 0.2, 0.3, 0.4]] {
            let squares: f64 = factors.iter().map(|c| c * c).sum();
            for laplace in [false, true] {
                let sd = if laplace { (2.0 * squares).sqrt() } else { squares.sqrt() };
                assert!((Law::of(laplace, 1.0, factors).sd() / sd - 1.0).abs() < 1e-12);
            }
        }
        assert_eq!(Law::of(true, 1.0, &[0.0]).above(0.1), 0.0);
    }
}
