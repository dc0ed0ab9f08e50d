//! Blind builds: mechanisms get zeros instead of exact answers, and their noise repeats itself.
//!
//! In a blind program nothing that a mechanism releases depends on private records. So whatever
//! differs between two private tables, in any output of any command, got out past the mechanisms.
//! `tests/whole/neighbours.rs` compares whole commands in this way.
//!
//! Only builds with debug assertions have this, when `HALFLIGHT_BLIND` is set; release builds never
//! do. Nothing is at risk even there: a certificate stays true where the records decide nothing.

/// Whether mechanisms are blind.
#[cfg(debug_assertions)]
pub fn is_blind() -> bool {
    static BLIND: std::sync::OnceLock<bool> = std::sync::OnceLock::new();
    *BLIND.get_or_init(|| std::env::var_os("HALFLIGHT_BLIND").is_some())
}

/// Never in a release build.
#[cfg(not(debug_assertions))]
pub const fn is_blind() -> bool {
    false
}
