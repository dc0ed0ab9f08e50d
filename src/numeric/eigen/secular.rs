//! The eigenvalues of a diagonal matrix plus a multiple of zzᵀ: the roots of the secular equation.
//!
//! With poles d₁ < d₂ < … and positive weights wᵢ, the function 1 + Σ wᵢ/(dᵢ − λ) rises from −∞ to
//! ∞ between neighbouring poles, and from −∞ to 1 beyond the last one, so it has one root in each of
//! these intervals. A root is kept as its distance to the nearer end of its interval: then its
//! distances to all poles are exact to some units in their last place, however close it lies to one.
//! Vectors that are orthogonal follow from that (see [`super::divide`]).

/// The sums below are added up in this many lanes, which keeps their rounding errors small and their
/// divisions in the registers of every machine.
const LANES: usize = 8;

/// After this many steps, each halves the interval until its ends are neighbours; five are usual.
const QUICK_STEPS: usize = 60;

/// Replaces `distances` by dᵢ − λ for root number `index`, which is returned.
pub(super) fn root(poles: &[f64], weights: &[f64], index: usize, distances: &mut [f64]) -> f64 {
    let count = poles.len();
    let (left, next) = (poles[index], poles.get(index + 1).copied());
    // The last root is at most the sum of all weights beyond the last pole.
    let gap = next.map_or_else(|| weights.iter().sum(), |next| next - left);
    let from = |distances: &mut [f64], origin: f64| {
        for (distance, pole) in distances.iter_mut().zip(poles) {
            *distance = pole - origin;
        }
    };
    from(distances, left);
    let at = |distances: &[f64], shift: f64| SecularValue::at(distances, weights, index, shift);
    let (mut low, mut high, mut shift) = (0.0, gap, 0.5 * gap);
    let mut value = at(distances, shift);
    let mut origin = left;
    if let (true, Some(next)) = (value.sum < 0.0, next) {
        origin = next;
        from(distances, next);
        (low, high, shift) = (-gap, 0.0, -0.5 * gap);
        value = at(distances, shift);
    }
    let exact = f64::EPSILON * (2 + count / LANES) as f64;
    for step in 0.. {
        if value.sum.abs() <= exact * value.size {
            break;
        }
        *(if value.sum < 0.0 { &mut low } else { &mut high }) = shift;
        let right = next.map(|_| distances[index + 1] - shift);
        let mut tried = shift + value.step(distances[index] - shift, right);
        if !(low < tried && tried < high) || step > QUICK_STEPS {
            tried = 0.5 * (low + high);
        }
        if !(low < tried && tried < high) {
            break;
        }
        shift = tried;
        value = at(distances, shift);
    }
    for distance in distances.iter_mut() {
        *distance -= shift;
    }
    origin + shift
}

/// The secular function somewhere, with what is known of its parts.
struct SecularValue {
    sum: f64,
    /// The sum of all absolute values that were added.
    size: f64,
    /// The slopes of the parts with the poles to the left and to the right.
    slopes: [f64; 2],
}

impl SecularValue {
    fn at(distances: &[f64], weights: &[f64], index: usize, shift: f64) -> Self {
        let middle = index + 1;
        let (falls, left) = part(&distances[..middle], &weights[..middle], shift);
        let (rises, right) = part(&distances[middle..], &weights[middle..], shift);
        Self { sum: 1.0 + falls + rises, size: 1.0 - falls + rises, slopes: [left, right] }
    }

    /// The way to the root of a function with two poles whose parts have the values and slopes of
    /// the secular function's parts (the "middle way" of Li), given the distances to the poles.
    fn step(&self, left: f64, right: Option<f64>) -> f64 {
        let [slope_left, slope_right] = self.slopes;
        let Some(right) = right else {
            return left * self.sum / (self.sum - left * slope_left);
        };
        let a = (left + right) * self.sum - left * right * (slope_left + slope_right);
        let b = left * right * self.sum;
        let c = self.sum - left * slope_left - right * slope_right;
        let root = (a * a - 4.0 * b * c).max(0.0).sqrt();
        if a <= 0.0 { (a - root) / (2.0 * c) } else { 2.0 * b / (a + root) }
    }
}

/// Σ wᵢ/(dᵢ − λ) and its slope.
fn part(distances: &[f64], weights: &[f64], shift: f64) -> (f64, f64) {
    let (mut sums, mut slopes) = ([0.0; LANES], [0.0; LANES]);
    let mut add = |distances: &[f64], weights: &[f64]| {
        for (((sum, slope), distance), weight) in
            sums.iter_mut().zip(&mut slopes).zip(distances).zip(weights)
        {
            let inverse = 1.0 / (distance - shift);
            *sum += weight * inverse;
            *slope += weight * inverse * inverse;
        }
    };
    let (blocks, rest) = distances.as_chunks::<LANES>();
    let (weights, rest_of_weights) = weights.as_chunks::<LANES>();
    for (distances, weights) in blocks.iter().zip(weights) {
        add(distances, weights);
    }
    add(rest, rest_of_weights);
    (sums.iter().sum(), slopes.iter().sum())
}
