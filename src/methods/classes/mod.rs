//! Methods for any number of classes, on Poisson samples of the private records. Public records
//! need not have their labels.
//!
//! | module | holds |
//! |---|---|
//! | [`sampled`] | the parts that the methods share |
//! | [`separation`] | how much of what separates public classes lies in few public directions |
//! | [`dp_sgd`], [`pillar`], [`gep`], [`adadps`], [`pretraining`] | the methods |

pub mod adadps;
pub mod dp_sgd;
pub mod gep;
pub mod pillar;
pub mod pretraining;
pub mod sampled;
pub mod separation;
