//! Dyadic grids: the powers of two between which all exact samplers work.

pub(super) const SMALLEST_SCALE: f64 = 1e-150;
pub(super) const LARGEST_SCALE: f64 = 1e150;

/// The e with 2^e ≤ value < 2^(e+1), for an ordinary (normal, positive) value.
pub(super) fn exponent_of(value: f64) -> i32 {
    ((value.to_bits() >> 52) & 0x7ff) as i32 - 1023
}

/// 2^exponent exactly, for −1022 ≤ exponent ≤ 1023.
pub(super) fn power_of_two(exponent: i32) -> f64 {
    f64::from_bits(((1023 + exponent) as u64) << 52)
}
