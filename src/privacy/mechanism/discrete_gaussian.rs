//! The discrete Gaussian on a dyadic grid (Canonne, Kamath, Steinke 2020).

use super::generator::NoiseGenerator;
use crate::error::Result;

/// Noise `grid · Z` with Z an exact discrete Gaussian of integer scale `steps`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DiscreteGaussian {
    /// σ in grid steps, in [2²⁸, 2²⁹].
    pub steps: u64,
    /// The grid step is 2^exponent.
    pub exponent: i32,
}

impl DiscreteGaussian {
    /// The finest grid for a wanted σ; the resulting σ is never smaller.
    pub fn at_least(_sigma: f64) -> Result<Self> {
        todo!()
    }
    /// Reads an event's scale back; refuses a σ that is not on the grid.
    pub fn from_event(_sigma: f64, _grid: f64) -> Result<Self> {
        todo!()
    }
    pub fn sigma(&self) -> f64 {
        todo!()
    }
    pub fn grid(&self) -> f64 {
        todo!()
    }
    /// Rounds `values` to the grid and adds independent noise.
    pub fn perturb(&self, _generator: &mut NoiseGenerator, _values: &[f64]) -> Result<Vec<f64>> {
        todo!()
    }
}
