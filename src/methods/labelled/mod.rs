//! Methods for private records with labels, numbers or classes.
//!
//! | module | holds |
//! |---|---|
//! | [`public_shape`] | predictors taught by public records, corrected by private ones |
//! | [`labelled_discrepancy`], `penalty` | how far apart the losses of two datasets can be |
//! | [`records`] | labelled records and the losses of scores on them |
//! | [`public_scores`] | the linear scores of public records, with a ridge that these choose |
//! | [`profiled`] | the shared parts of the methods with weights in closed form |
//! | [`profiled_cnvx_adap`], [`profiled_logistic`], [`target_only`] | those methods |
//! | [`weighted`] | the shared parts of the published methods with learned weights |
//! | [`cnvx_adap`], [`ncnvx_adap`] | those methods |

pub mod cnvx_adap;
pub mod labelled_discrepancy;
pub mod ncnvx_adap;
mod penalty;
pub mod profiled;
pub mod profiled_cnvx_adap;
pub mod profiled_logistic;
pub mod public_scores;
pub mod public_shape;
pub mod records;
pub mod target_only;
pub mod weighted;
