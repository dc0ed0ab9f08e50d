//! Profiled CnvxAdap: closed-form weights, noise on the gradient alone.
use super::{Method, Plan, Problem, ProblemShape, Run, Settings, Spec};
use crate::error::Result;
use crate::privacy::Calibrated;
pub struct ProfiledCnvxAdap;
impl Method for ProfiledCnvxAdap {
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
