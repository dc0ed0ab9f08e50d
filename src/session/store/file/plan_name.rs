//! The name of a plan until its user gives it one: its method, and what tells it from the other plans
//! of this method.

use super::{PlanDefinition, Session};
use crate::methods;
use crate::plot::number::compact;

/// More public datasets than this are counted, not named.
const MOST_NAMED: usize = 3;

/// Parts that follow the method in a name where other plans of this method differ in them.
const PARTS: [fn(&PlanDefinition) -> String; 3] = [
    |plan| format!(" for {}", plan.private),
    |plan| format!(" from {}", public(plan)),
    |plan| format!(", ε {}", compact(plan.target.epsilon)),
];

/// What a name follows: a change of anything else leaves it as it is.
fn followed(plan: &PlanDefinition) -> (&str, [String; PARTS.len()]) {
    (&plan.method, PARTS.map(|part| part(plan)))
}

fn public(plan: &PlanDefinition) -> String {
    match plan.public.as_slice() {
        many if many.len() > MOST_NAMED => format!("{} datasets", many.len()),
        few => few.join(", "),
    }
}

/// The names, without a number, that earlier builds made from a plan's data.
fn earlier(plan: &PlanDefinition) -> [String; 4] {
    let of_data = format!("{} from {}", plan.private, public(plan));
    let with = |end: &str| format!("{of_data}{end}");
    let lone = format!("{} without its labels", plan.private);
    [with(", public data alone"), with(", without labels"), lone, of_data]
}

/// Whether the plan has no given name, so that its name was made by the program, perhaps with a number.
pub fn is_automatic(plan: &PlanDefinition) -> bool {
    let number = |rest: &str| rest.trim_start().parse::<usize>().is_ok_and(|n| n > 1);
    let is_of = |stem: &String| {
        plan.name.strip_prefix(stem).is_some_and(|rest| rest.is_empty() || number(rest))
    };
    let with_parts = |chosen: usize| {
        let parts = PARTS.iter().enumerate().filter(|(at, _)| chosen >> at & 1 == 1);
        let parts = parts.map(|(_, part)| part(plan)).collect::<String>();
        format!("{}{parts}", methods::name_of(&plan.method))
    };
    (0..1 << PARTS.len()).map(with_parts).chain(earlier(plan)).any(|stem| is_of(&stem))
}

/// A name for a plan that no other plan has.
pub fn free(plan: &PlanDefinition, others: &[PlanDefinition]) -> String {
    let taken = |name: &String| others.iter().any(|other| other.name == *name);
    let mut stem = methods::name_of(&plan.method).to_owned();
    let mut alike: Vec<&PlanDefinition> =
        others.iter().filter(|other| other.method == plan.method).collect();
    for part in PARTS {
        let before = alike.len();
        alike.retain(|other| part(other) == part(plan));
        if alike.len() < before {
            stem += &part(plan);
        }
    }
    let mut names =
        std::iter::once(stem.clone()).chain((2..).map(|number| format!("{stem} {number}")));
    names.find(|name| !taken(name)).unwrap_or(stem)
}

/// Renames the plans whose method, data or ε have changed since `before`, unless their user has named
/// them.
pub fn follow(before: &Session, now: &mut Session) {
    for index in 0..now.plans.len() {
        let plan = &now.plans[index];
        let old = before.plans.iter().find(|old| old.name == plan.name);
        if old.is_some_and(|old| is_automatic(old) && followed(old) != followed(plan)) {
            let mut others = now.plans.clone();
            others.remove(index);
            now.plans[index].name = free(&now.plans[index], &others);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::demo;

    fn plan() -> PlanDefinition {
        let mut plan = demo::session("bikeshare").unwrap().plans.remove(0);
        "public_shape".clone_into(&mut plan.method);
        plan.name = free(&plan, &[]);
        plan
    }

    #[test]
    fn a_name_follows_method_data_and_epsilon_until_the_user_gives_one() {
        let mut before = demo::session("bikeshare").unwrap();
        before.plans = vec![plan()];
        assert_eq!(before.plans[0].name, "public model, corrected");
        let mut second = plan();
        second.name = free(&second, &before.plans);
        assert!(second.name == "public model, corrected 2" && is_automatic(&second));
        before.plans.push(second);
        let mut change = |of: &dyn Fn(&mut PlanDefinition)| {
            let mut now = before.clone();
            of(&mut now.plans[1]);
            follow(&before, &mut now);
            assert_eq!(now.plans[0], before.plans[0]);
            assert!(is_automatic(&now.plans[1]) || now.plans[1].name == "mine");
            before = now;
            before.plans[1].name.clone()
        };
        let names = [
            change(&|plan| plan.target.epsilon = 2.0),
            change(&|plan| plan.seed += 1),
            change(&|plan| plan.public = ["a", "b"].map(str::to_owned).to_vec()),
            change(&|plan| "moment_release".clone_into(&mut plan.method)),
            change(&|plan| "public_shape".clone_into(&mut plan.method)),
            change(&|plan| plan.public = ["a", "b", "c", "d"].map(str::to_owned).to_vec()),
            change(&|plan| "mine".clone_into(&mut plan.name)),
            change(&|plan| plan.target.epsilon = 3.0),
        ];
        assert_eq!(
            names,
            [
                "public model, corrected, ε 2",
                "public model, corrected, ε 2",
                "public model, corrected from a, b",
                methods::name_of("moment_release"),
                "public model, corrected from a, b",
                "public model, corrected from 4 datasets",
                "mine",
                "mine",
            ]
        );
    }

    #[test]
    fn a_name_of_an_earlier_build_stays_until_the_plan_changes() {
        let mut before = demo::session("bikeshare").unwrap();
        before.plans = vec![plan()];
        let public = public(&before.plans[0]);
        for name in [
            format!("winter from {public}"),
            format!("winter from {public} 2"),
            format!("winter from {public}, without labels"),
            format!("winter from {public}, public data alone"),
            "winter without its labels".to_owned(),
        ] {
            before.plans[0].name.clone_from(&name);
            let mut now = before.clone();
            now.plans[0].seed += 1;
            follow(&before, &mut now);
            assert_eq!(now.plans[0].name, name);
            now.plans[0].target.epsilon *= 2.0;
            follow(&before, &mut now);
            assert_eq!(now.plans[0].name, "public model, corrected");
        }
    }

    #[test]
    fn no_two_plans_have_the_same_name() {
        let mut plans: Vec<PlanDefinition> = Vec::new();
        for method in methods::methods().iter().map(|method| method.spec().id) {
            for (epsilon, public) in [(1.0, "a"), (1.0, "b"), (2.0, "a"), (1.0, "a")] {
                let mut plan = plan();
                (plan.method, plan.target.epsilon) = (method.to_owned(), epsilon);
                plan.public = vec![public.to_owned()];
                plan.name = free(&plan, &plans);
                assert!(plans.iter().all(|other| other.name != plan.name), "{}", plan.name);
                assert!(is_automatic(&plan), "{}", plan.name);
                plans.push(plan);
            }
        }
    }
}
