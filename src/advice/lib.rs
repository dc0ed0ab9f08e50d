//! What to do, and what to expect, before anything is spent.
//!
//! | module | holds |
//! |---|---|
//! | [`rank`] | which public data can stand in for private ones: gradient subspaces, ties, private selection |
//! | [`rehearsal`] | public data in the private role: results to expect, before anything is spent |
//! | [`audit`] | every release and its noise, measured and compared with the claims |
//! | [`verdict`] | is the model good: its errors compared with others, in words |
//! | [`theory`] | what the theorems of the papers ask of a plan and promise for it, in words |
//! | [`glossary`] | the meanings of words that people read |

use halflight_base::error;
use halflight_data as data;
use halflight_evaluation as evaluation;
use halflight_methods as methods;
use halflight_model as model;
use halflight_numeric as numeric;
use halflight_plot as plot;
use halflight_privacy_inside as privacy;

pub mod audit;
pub mod glossary;
pub mod rank;
pub mod rehearsal;
pub mod theory;
pub mod verdict;
