//! The noise itself, sampled exactly from a cryptographic generator.

mod coin;
pub mod discrete_gaussian;
pub mod generator;
mod grid;
pub mod selection;
#[cfg(test)]
mod statistics;

pub use discrete_gaussian::DiscreteGaussian;
pub use generator::NoiseGenerator;
pub use selection::ExponentialMechanism;
