//! Public data in the private role: what to expect before anything is spent.

pub mod advice;
pub mod player;
pub mod scene;
mod split;
pub mod stage;
mod trial;

pub use player::Player;
pub use scene::Scene;
pub use split::Split;
pub use stage::{Declared, Stage, Terms};
pub use trial::{Noise, Trial, Tried};
