//! The list of methods.

use super::Method;
use super::baselines::public_only;
use super::classes::{dp_sgd, gep, pillar, pretraining};
use super::labelled::{
    cnvx_adap, ncnvx_adap, profiled_cnvx_adap, profiled_logistic, public_shape, target_only,
};
use super::unlabelled::{frank_wolfe, mirror_descent, moment_release};
use crate::data::Task;
use crate::data::names::hint_or_all;
use crate::error::{Error, Result};
use crate::privacy::ledger::Grant;

/// All methods, in the order of the Plan screen.
pub fn methods() -> &'static [&'static Method] {
    &[
        public_shape::NUMBERS,
        public_shape::CLASSES,
        profiled_cnvx_adap::METHOD,
        moment_release::METHOD,
        frank_wolfe::SINGLE_STAGE,
        frank_wolfe::TWO_STAGE,
        mirror_descent::METHOD,
        profiled_logistic::METHOD,
        cnvx_adap::METHOD,
        ncnvx_adap::METHOD,
        target_only::NUMBERS,
        target_only::CLASSES,
        dp_sgd::METHOD,
        pillar::METHOD,
        gep::METHOD,
        pretraining::METHOD,
        public_only::NUMBERS,
        public_only::CLASSES,
    ]
}

/// The name of a method; other ids keep their name.
pub fn name_of(id: &str) -> &str {
    method(id).map_or(id, |method| method.spec().name)
}

/// What a method learns: a number or a class.
pub fn task_of(id: &str) -> Option<Task> {
    method(id).ok().map(|method| method.spec().task)
}

/// The method of a grant in plain words, and where its noise came from if that is known.
pub fn name_in(grant: &Grant) -> String {
    grant.method_words().replacen(&grant.method, name_of(&grant.method), 1)
}

/// The method called `id`.
pub fn method(id: &str) -> Result<&'static Method> {
    methods().iter().copied().find(|method| method.spec().id == id).ok_or_else(|| {
        let known: Vec<_> = methods().iter().map(|method| method.spec().id).collect();
        Error::usage(format!("there is no method '{id}'")).cure(hint_or_all(
            id,
            &known,
            "choose one of",
        ))
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_method_has_a_name_of_its_own_and_describes_itself() {
        let mut ids = BTreeSet::new();
        for spec in methods().iter().map(|method| method.spec()) {
            assert!(ids.insert(spec.id), "{} is there twice", spec.id);
            for text in [spec.id, spec.name, spec.paper, spec.summary, spec.line] {
                assert!(!text.is_empty(), "{}", spec.id);
            }
            assert!(spec.line.chars().count() <= 60, "{}", spec.id);
            for (variant, key, text) in spec.variants {
                let value = spec.field(key).and_then(|field| field.kind.parse(text));
                assert!(value.is_some(), "{}, {variant}", spec.id);
            }
        }
    }
}
