//! The model of public data alone. Every private model is compared with it.

use std::borrow::Cow;

use crate::adapt::baselines::public_only;
use crate::adapt::baselines::reference::{DEFAULT_RIDGE, is_quick, reference};
use crate::adapt::{self, Method, Problem};
use crate::model::Model;

/// Trees are trained on at most this many numbers, which takes about a second; larger data are
/// thinned out evenly.
const MOST_NUMBERS: usize = 200_000;

/// For wider records, and for more than two classes (mostly images), the comparison is with a
/// linear model.
const MOST_FEATURES_OF_TREES: usize = 200;

/// The best predictor from public data that takes about a second: a mixture of linear models and
/// trees, or a linear model where trees take longer. `None` if the public records lack the private
/// label, if it would take too long, or if it is what `method` makes. A run of `method` may already
/// have trained all of them.
pub(super) fn public_alone(problem: &Problem, method: &str) -> Option<Model> {
    let public = &problem.public;
    let method = adapt::method(method).ok();
    if !is_comparable(problem) || method.is_some_and(Method::is_public_only) {
        return None;
    }
    let taught = method.is_some_and(Method::takes_wide_features);
    let narrow = public.dimension() <= MOST_FEATURES_OF_TREES && problem.shape.classes.len() <= 2;
    if !taught && !narrow {
        return reference(&**public, DEFAULT_RIDGE).ok();
    }
    let most = (MOST_NUMBERS / public.dimension().max(1)).max(1000);
    let problem = if taught || public.len() <= most {
        Cow::Borrowed(problem)
    } else {
        let public = public.thinned(0, most).into();
        Cow::Owned(Problem { public, ..problem.clone() })
    };
    public_only::predictor(&problem).ok()
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
    use crate::adapt::example;

    #[test]
    fn without_the_private_label_there_is_nothing_to_compare_with() {
        let (shape, mut public, _) = example::shifted(3, 40, 50, 1);
        assert!(public_alone(&example::problem(&shape, &public), "target_only").is_some());
        assert!(public_alone(&example::problem(&shape, &public), "public_only").is_none());
        public.target = None;
        assert!(public_alone(&example::problem(&shape, &public), "target_only").is_none());
    }
}
