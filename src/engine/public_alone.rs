//! The model of public data alone. Every private model is compared with it.

use crate::methods::baselines::public_only;
use crate::methods::baselines::reference::is_quick;
use crate::methods::labelled::public_shape;
use crate::methods::{self, Problem};
use crate::model::Model;

/// Trees are trained on at most this many numbers, which takes about a second; larger data are
/// thinned out evenly.
const MOST_NUMBERS: usize = 200_000;

/// For wider records, and for more than two classes (mostly images), the comparison is with a
/// linear model.
const MOST_FEATURES_OF_TREES: usize = 200;

/// The best predictor from public data that takes about a second: a mixture of linear models and
/// trees, or a linear model where trees take longer. `None` if the public records lack the private
/// label, if it would take too long, or if it is what `method` makes. It is trained once for the same
/// records, and a run of `method` may already have trained all of it.
pub(super) fn public_alone(problem: &Problem, method: &str) -> Option<Model> {
    let public = &problem.public;
    let method = methods::method(method).ok().map(methods::Method::spec);
    if !is_comparable(problem) || method.is_some_and(|spec| spec.public_only) {
        return None;
    }
    if method.is_some_and(|spec| spec.takes_wide_features) {
        return public_only::predictor(problem).ok();
    }
    let narrow = public.dimension() <= MOST_FEATURES_OF_TREES && problem.shape.classes.len() <= 2;
    let model = if !narrow {
        public_only::linear(public)
    } else if public.len() <= most_for_trees(public.dimension()) {
        public_only::predictor(problem)
    } else {
        // As bits, so that no seed is rounded.
        let seed = f64::from_bits(problem.seed);
        public.once("predictors of fewer records", seed, |public, seed| {
            let fewer = public.thinned(0, most_for_trees(public.dimension()));
            public_shape::mixture(&fewer, seed.to_bits())
        })
    };
    model.ok()
}

fn most_for_trees(features: usize) -> usize {
    (MOST_NUMBERS / features.max(1)).max(1000)
}

/// Whether public data alone can be compared with private models soon.
pub(super) fn is_comparable(problem: &Problem) -> bool {
    let public = &problem.public;
    let labelled = match &public.classes {
        Some(classes) => classes.names == problem.shape.classes,
        None => public.target.is_some() && problem.shape.classes.is_empty(),
    };
    let numbers = problem.shape.classes.len().max(1);
    labelled && is_quick(public.len(), public.dimension(), numbers)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::methods::baselines::reference::DEFAULT_RIDGE;
    use crate::methods::example;

    #[test]
    fn without_the_private_label_there_is_nothing_to_compare_with() {
        let (shape, mut public, _) = example::shifted(3, 40, 50, 1);
        assert!(public_alone(&example::problem(&shape, &public), "target_only").is_some());
        assert!(public_alone(&example::problem(&shape, &public), "public_only").is_none());
        public.target = None;
        assert!(public_alone(&example::problem(&shape, &public), "target_only").is_none());
    }

    #[test]
    fn it_is_trained_once_for_the_same_records() {
        let known = |problem: &Problem, what, setting| {
            problem.public.once::<Model>(what, setting, |_, _| panic!("trained twice")).unwrap()
        };
        let (shape, public, _) = example::shifted(MOST_FEATURES_OF_TREES + 1, 40, 50, 1);
        let wide = example::problem(&shape, &public);
        let model = public_alone(&wide, "target_only").unwrap();
        assert_eq!(model, known(&wide, "linear model", DEFAULT_RIDGE));
        let (shape, public, _) = example::shifted(100, most_for_trees(100) + 1, 50, 1);
        let long = example::problem(&shape, &public);
        let model = public_alone(&long, "target_only").unwrap();
        let seed = f64::from_bits(long.seed);
        assert_eq!(model, known(&long, "predictors of fewer records", seed));
    }
}
