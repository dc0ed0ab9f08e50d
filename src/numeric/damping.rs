//! The length of a Newton step.

/// The first of the lengths 1, ½, ¼, … at which a value is lower than `current` by a quarter of what
/// its slope foretells: the value there, and what comes with it. `decrement` is what a whole step
/// would gain by the slope alone. `None` if only rounding is left.
pub fn damped<T>(current: f64, decrement: f64, at: impl Fn(f64) -> (f64, T)) -> Option<(f64, T)> {
    let mut length = 1.0;
    while length >= 1e-6 {
        let (reached, there) = at(length);
        if reached <= current - 0.25 * length * decrement {
            return Some((reached, there));
        }
        length /= 2.0;
    }
    None
}
