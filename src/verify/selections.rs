//! Selections of one size, each of which may depend on the outputs of earlier ones.
//!
//! The largest δ of j draws at ε is the largest over t in [0, ε₀] of p·δ₋(ε − t) + (1 − p)·δ₋(ε −
//! t + ε₀), where δ₋ is that of j − 1 draws, and a draw has the losses t and t − ε₀ with the
//! probabilities p and 1 − p. Here t runs only over a lattice, so the value is never too large, and
//! with fine lattices hardly too small.

/// The least and the most steps of ε₀.
const STEPS: (f64, f64) = (4.0, 24.0);
const MOST_WORK: f64 = 4e7;

/// ε of `count` draws of range ε₀ at δ; `None` if it would take too long. `most` is known to be
/// enough.
pub fn epsilon(range: f64, count: f64, delta: f64, most: f64) -> Option<f64> {
    // Twice as far as the answer: anything further has a much smaller δ.
    let reach = (2.0 * most + range).min(range * count);
    let steps = (MOST_WORK * range / (2.0 * reach * count)).sqrt().floor().min(STEPS.1);
    if steps < STEPS.0 || reach > 300.0 {
        return None;
    }
    let (n, step) = (steps as usize, range / steps);
    let half = (reach / step).round() as usize;
    let at = |index: usize| (index as f64 - (half + n) as f64) * step;
    let places = 2 * (half + n) + 1;
    let mut now: Vec<f64> = (0..places).map(|index| (-at(index).exp_m1()).max(0.0)).collect();
    let chances: Vec<f64> =
        (0..=n).map(|k| (k as f64 * step - range).exp_m1() / (-range).exp_m1()).collect();
    for _ in 0..count as u64 {
        let next = (n..places - n).map(|index| {
            let choices = chances.iter().enumerate();
            let worth = |(k, p): (usize, &f64)| p * now[index - k] + (1.0 - p) * now[index - k + n];
            choices.map(worth).fold(0.0, f64::max)
        });
        let next: Vec<f64> = next.collect();
        now[n..places - n].copy_from_slice(&next);
    }
    let after = now.iter().position(|value| *value <= delta)?;
    if after == 0 || at(after) <= 0.0 {
        return Some(0.0);
    }
    // The curve is convex in e^ε, and here interpolated linearly in it.
    let (left, right) = (at(after - 1).exp(), at(after).exp());
    let part = (now[after - 1] - delta) / (now[after - 1] - now[after]);
    Some((left + part * (right - left)).ln().max(0.0))
}
