//! Implicit QR sweeps on a tridiagonal matrix: two diagonals, and a record of the rotations.

use super::NOTHING;

/// A rotation of neighbouring columns as three shears, each of which is one instruction: the
/// tangent of half the angle, and minus the sine. The cosine is never negative.
pub(super) type Shears = [f64; 2];

/// The rotations of all sweeps. Two sweeps are applied together, the second one column behind
/// the first, so that columns are loaded half as often.
pub(super) struct Rotations {
    /// The first column that each pair of sweeps rotates, and its number of rotations.
    pub pairs: Vec<(usize, usize)>,
    pub turns: Vec<[Shears; 2]>,
}

/// A symmetric tridiagonal matrix.
pub(super) struct Tridiagonal {
    pub diagonal: Vec<f64>,
    /// The squares of the entries beside the diagonal, with the signs of the entries.
    pub squares: Vec<f64>,
}

impl Tridiagonal {
    /// Leaves the eigenvalues on the diagonal, and returns the rotations used.
    pub(super) fn diagonalise(&mut self, patience: usize) -> Option<Rotations> {
        let dimension = self.diagonal.len();
        let mut rotations = Rotations { pairs: Vec::new(), turns: Vec::new() };
        let mut turns = vec![[[0.0; 2]; 2]; dimension - 1];
        let mut end = dimension - 1;
        while rotations.pairs.len() <= patience * dimension {
            let (mut low, mut high) = (dimension, 0);
            for which in 0..2 {
                let Some((first, last)) = self.last_coupled(end) else { break };
                self.sweep(first, last, turns[first..last].iter_mut().map(|pair| &mut pair[which]));
                (low, high, end) = (low.min(first), high.max(last), last);
            }
            if high == 0 {
                return Some(rotations);
            }
            rotations.pairs.push((low, high - low));
            rotations.turns.extend_from_slice(&turns[low..high]);
            turns[low..high].fill([[0.0; 2]; 2]);
        }
        None
    }

    /// The first and the last row of the last part up to `end` that is not diagonal yet.
    fn last_coupled(&self, end: usize) -> Option<(usize, usize)> {
        let last = (1..=end).rev().find(|i| !self.splits_before(*i))?;
        Some(((1..last).rev().find(|i| self.splits_before(*i)).unwrap_or(0), last))
    }

    fn splits_before(&self, i: usize) -> bool {
        let error = f64::EPSILON * (self.diagonal[i - 1].abs() + self.diagonal[i].abs());
        self.squares[i - 1].abs() <= (error * error).max(NOTHING)
    }

    /// The eigenvalue of the last two rows that is nearer to the last entry.
    fn shift(&self, last: usize) -> f64 {
        let square = self.squares[last - 1].abs();
        let half = (self.diagonal[last - 1] - self.diagonal[last]) / 2.0;
        let root = (half * half + square).sqrt().copysign(half);
        self.diagonal[last] - square / (half + root)
    }

    /// One QR sweep in the variant of Pal, Walker and Kahan: it needs only squares, so the
    /// dependency from one rotation to the next is one division and no root. `pivot` is the square
    /// of the entry to be rotated onto its neighbour, `gamma` has its sign.
    fn sweep<'a>(
        &mut self,
        first: usize,
        last: usize,
        turns: impl Iterator<Item = &'a mut Shears>,
    ) {
        let shift = self.shift(last);
        let diagonal = &mut self.diagonal[first..=last];
        let squares = &mut self.squares[first..last];
        // The squares of the cosine and, with its sign, of the sine.
        let (mut cos2, mut sin2) = (1.0, 0.0);
        let mut gamma = diagonal[0] - shift;
        let mut pivot = gamma * gamma;
        for (i, turn) in turns.enumerate() {
            let square = squares[i].abs();
            let (entry, before) = (diagonal[i + 1], gamma);
            let sum = pivot + square;
            if i > 0 {
                squares[i - 1] = sin2 * sum.copysign(before);
            }
            let sign = 1.0_f64.copysign(squares[i]) * 1.0_f64.copysign(before);
            if pivot > NOTHING {
                let inverse = 1.0 / sum;
                let scaled = pivot * (entry - shift) - square * before;
                gamma = scaled * inverse;
                (cos2, sin2) = (pivot * inverse, sign * square * inverse);
                pivot = scaled * scaled / (pivot * sum);
            } else {
                gamma = -before;
                pivot = cos2 * square;
                (cos2, sin2) = (0.0, sign);
            }
            diagonal[i] = before + (entry - gamma);
            let sin = sin2.abs().sqrt().copysign(sin2);
            *turn = [sin / (1.0 + cos2.sqrt()), -sin];
        }
        self.squares[last - 1] = sin2 * pivot.copysign(gamma);
        self.diagonal[last] = shift + gamma;
    }
}
