//! What a method works on.

use crate::data::{Bounds, Dataset};
use crate::privacy::Private;

/// What is public about a problem: enough to plan.
#[derive(Debug, Clone, PartialEq)]
pub struct ProblemShape {
    /// n; public under replace-one.
    pub private_records: usize,
    pub public_records: usize,
    pub dimension: usize,
    pub bounds: Bounds,
    pub private_labels: bool,
}

/// Prepared data. `public` has a target; `private` has one if the method needs it.
pub struct Problem {
    pub shape: ProblemShape,
    pub public: Dataset,
    pub private: Private<Dataset>,
    /// Seeds everything random that is not noise.
    pub seed: u64,
}
