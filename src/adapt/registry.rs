//! Which methods there are.

use super::{
    Method, cnvx_adap, dp_sgd, frank_wolfe, gep, mirror_descent, moment_release, ncnvx_adap,
    pillar, pretraining, profiled_cnvx_adap, profiled_logistic, public_shape, target_only,
};
use crate::error::{Error, Result};

/// All methods, in the order of the Plan screen.
pub fn methods() -> &'static [&'static dyn Method] {
    &[
        public_shape::NUMBERS,
        public_shape::CLASSES,
        &profiled_cnvx_adap::ProfiledCnvxAdap,
        &moment_release::MomentRelease,
        &frank_wolfe::FrankWolfe,
        &frank_wolfe::TwoStageFrankWolfe,
        &mirror_descent::MirrorDescent,
        &profiled_logistic::ProfiledLogistic,
        &cnvx_adap::CnvxAdap,
        &ncnvx_adap::NcnvxAdap,
        target_only::NUMBERS,
        target_only::CLASSES,
        &dp_sgd::DpSgd,
        &pillar::Pillar,
        &gep::Gep,
        &pretraining::Pretraining,
    ]
}

/// The method called `id`.
pub fn method(id: &str) -> Result<&'static dyn Method> {
    methods().iter().copied().find(|method| method.spec().id == id).ok_or_else(|| {
        let known: Vec<_> = methods().iter().map(|method| method.spec().id).collect();
        Error::usage(format!("there is no method '{id}'"))
            .cure(format!("choose one of: {}", known.join(", ")))
    })
}
