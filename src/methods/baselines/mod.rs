//! Baselines, for comparison.
//!
//! Only [`public_only`] is a method. The others look at private records without noise, and a
//! [`crate::Run`] has no place for that: it delivers a released model, whose file and
//! certificate may be passed on. Their results are [`crate::privacy::CuratorOnly`] beside a run's
//! own, or come from studies on public data.
//!
//! | module | holds |
//! |---|---|
//! | [`elsewhere`] | errors on public records of another domain |
//! | [`public_only`] | public data alone, as a method |
//! | [`reference`](mod@reference) | source-only and target-only models |
//! | [`minimum_discrepancy`] | the weights of least discrepancy |

pub mod elsewhere;
pub mod minimum_discrepancy;
pub mod public_only;
pub mod reference;
