//! What the file of a method needs from the crate and from those below it.

pub(crate) use crate::data::{Bounded, Dataset, PublicData, PublicRecords, Task};
pub(crate) use crate::error::{Error, Result};
pub(crate) use crate::faults::{Fault, planted};
pub(crate) use crate::model::{Classifier, Model};
pub(crate) use crate::numeric::columns::{ExampleColumns, Singles};
pub(crate) use crate::numeric::doubles::Doubles;
pub(crate) use crate::numeric::rounding::summation_error;
pub(crate) use crate::numeric::{Matrix, Vector};
pub(crate) use crate::plan::GRADIENT;
pub(crate) use crate::privacy::{
    Adjacency, Allotment, Calibrated, Gaussian, PlannedRelease, Private, PrivateFault, Reach,
    Release, Released, SampledSum, Spender, Target, Watch,
};
pub(crate) use crate::spec::{
    Setting, automatic, automatic_whole, choices, flag, real, settings, whole,
};
pub(crate) use crate::{
    Gap, MOST_FEATURES, Measure, Method, Mode, Plan, Problem, ProblemShape, Run, Series, Settings,
    Spec, Start, Step, effective_sample,
};
