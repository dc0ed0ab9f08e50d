//! The noise itself, sampled exactly from a cryptographic generator.

pub mod discrete_gaussian;
pub mod generator;

pub use discrete_gaussian::DiscreteGaussian;
pub use generator::NoiseGenerator;
