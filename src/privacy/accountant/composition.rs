//! Adding events up.

use serde::{Deserialize, Serialize};

use super::event::{Adjacency, Event};
use crate::error::Result;

/// What a list of events guarantees: for neighbours under `adjacency`, the
/// outputs are (`epsilon`, `delta`)-indistinguishable.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Guarantee {
    /// A proven upper bound, never rounded down.
    pub epsilon: f64,
    /// A value that the true ε at this δ does not lie under.
    pub epsilon_lower: f64,
    pub delta: f64,
    pub adjacency: Adjacency,
    /// Which bound decided, in words.
    pub bound: String,
}

/// The sum of a list of events: a Gaussian mechanism of sensitivity-to-noise
/// ratio `mu`, and the slack of sampling it on a grid.
///
/// GDP sums stay valid when later events are chosen after seeing earlier
/// outputs, so the same number serves the budget gate and the display.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Composition {
    pub mu: f64,
    /// Total-variation distance to the ideal Gaussian, summed over all draws.
    pub discretisation: f64,
    pub adjacency: Adjacency,
}

impl Composition {
    pub fn of<'a>(_events: impl IntoIterator<Item = &'a Event>) -> Result<Self> {
        todo!()
    }
    /// δ at this ε, discretisation included; at most 1.
    pub fn delta(&self, _epsilon: f64) -> Result<f64> {
        todo!()
    }
    /// ε at this δ.
    pub fn guarantee(&self, _delta: f64) -> Result<Guarantee> {
        todo!()
    }
}

/// Decimal text of `value` with `decimals` digits, rounded *up*: an ε on the
/// screen is never smaller than the true one.
pub fn round_up(_value: f64, _decimals: usize) -> String {
    todo!()
}
