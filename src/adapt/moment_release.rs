//! Moment release: the target moment once under noise, everything else as post-processing.
use super::{Method, Plan, Problem, ProblemShape, Run, Settings, Spec};
use crate::error::Result;
use crate::privacy::Calibrated;
pub struct MomentRelease;
impl Method for MomentRelease {
    fn spec(&self) -> &'static Spec {
        todo!()
    }
    fn plan(&self, _shape: &ProblemShape, _settings: &Settings) -> Result<Plan> {
        todo!()
    }
    fn start(
        &self,
        _problem: Problem,
        _settings: &Settings,
        _noise: &Calibrated,
    ) -> Result<Box<dyn Run>> {
        todo!()
    }
}
