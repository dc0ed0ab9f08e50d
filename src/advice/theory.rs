//! What theory says of a plan, for those who ask: the numbers of [`crate::methods::theory`] in words.

use crate::methods::ProblemShape;
use crate::methods::theory::{FAILURE, Says, TheoryLine};
use crate::plot::number::compact;
use crate::privacy::Target;

/// The quantities from which everything is computed.
pub fn given(shape: &ProblemShape, target: Target) -> String {
    format!(
        "from public quantities alone: n = {}, m = {}, d = {}, r = {}, ε = {}, δ = {}; each bound \
         may fail with probability {FAILURE}",
        amount(shape.private_records as f64),
        amount(shape.public_records as f64),
        amount(shape.dimension as f64),
        compact(shape.bounds.feature_norm),
        target.epsilon,
        compact(target.delta),
    )
}

/// A sentence for one line.
pub fn words(line: &TheoryLine) -> String {
    let TheoryLine { what, theorem, says } = line;
    let nothing = match says.tells() {
        Some(false) => ": the theorem says nothing here",
        Some(true) | None => "",
    };
    match *says {
        Says::Takes { asked, used } => {
            format!("{what}: {theorem} takes {}; the plan has {}", amount(asked), amount(used))
        }
        Says::AtLeast { asked, used } => format!(
            "{what}: {theorem} asks for {} or more; the plan has {}{nothing}",
            amount(asked),
            amount(used)
        ),
        Says::Below { most, used } => format!(
            "{what}: {theorem} asks for less than {}; the plan has {}{nothing}",
            amount(most),
            amount(used)
        ),
        Says::Bound { value, largest } => format!(
            "{what}: at most {} by {theorem}, and at most {} without it{nothing}",
            amount(value),
            amount(largest)
        ),
        Says::NotComputed(why) => format!("{what}: not computed ({theorem}): {why}"),
    }
}

/// A sentence for a method that no theorem of the papers is about.
pub const NONE: &str = "the papers have no theorem about this method";

/// A number that may be very large: `33`, `5 262`, `1.2 million`, `3.4e12`.
fn amount(x: f64) -> String {
    match x.abs() {
        size if size < 1e3 || !size.is_finite() => compact(x),
        size if size < 1e6 => {
            let whole = x.round() as i64;
            format!("{} {:03}", whole / 1000, (whole % 1000).abs())
        }
        size if size < 1e9 => format!("{:.1} million", x / 1e6),
        _ => format!("{x:.1e}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_says_what_is_asked_what_the_plan_has_and_whether_that_says_anything() {
        let of = |says| words(&TheoryLine { what: "public records", theorem: "theorem 1", says });
        assert_eq!(
            of(Says::AtLeast { asked: 1_234_567.0, used: 5262.0 }),
            "public records: theorem 1 asks for 1.2 million or more; the plan has 5 262: the \
             theorem says nothing here"
        );
        let enough = of(Says::AtLeast { asked: 12.0, used: 5262.0 });
        assert!(enough.ends_with("the plan has 5 262"), "{enough}");
        let bound = of(Says::Bound { value: 2.0, largest: 1.0 });
        assert!(bound.contains("at most 2 by theorem 1, and at most 1 without it: the"), "{bound}");
        assert!(of(Says::NotComputed("it is private")).ends_with("(theorem 1): it is private"));
        assert!(
            of(Says::Below { most: 0.5, used: 0.1 }).ends_with("less than 0.5; the plan has 0.1")
        );
        assert_eq!(["1 007", "3.4e12"], [amount(1007.4), amount(3.4e12)]);
    }
}
