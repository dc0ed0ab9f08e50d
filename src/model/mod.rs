//! Models: what an adaptation run produces and how it predicts.
//!
//! Used by `adapt` and everything above; uses only `numeric`.

pub mod linear;

pub use linear::LinearModel;
