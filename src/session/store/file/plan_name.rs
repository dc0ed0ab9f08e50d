//! The name of a plan until its user gives it one. It is made from its data and changes with them.

use super::{PlanDefinition, Session};
use crate::methods;

/// More public datasets than this are counted, not named.
const MOST_NAMED: usize = 3;

/// The end of a name whose method does not use the private labels.
const WITHOUT_LABELS: &str = ", without labels";

/// A name made from a plan's data and whether its method uses the private labels.
fn of(plan: &PlanDefinition) -> String {
    let end = match methods::method(&plan.method).map(methods::Method::spec) {
        Ok(spec) if spec.public_only => ", public data alone",
        Ok(spec) if !spec.needs_private_labels => WITHOUT_LABELS,
        _ => "",
    };
    format!("{}{end}", of_data(plan))
}

/// A name made from a plan's data alone.
fn of_data(plan: &PlanDefinition) -> String {
    let public = match plan.public.as_slice() {
        many if many.len() > MOST_NAMED => format!("{} datasets", many.len()),
        few => few.join(", "),
    };
    format!("{} from {public}", plan.private)
}

/// Whether the plan has no given name, so that its name comes from its data, perhaps with a number.
pub fn is_automatic(plan: &PlanDefinition) -> bool {
    let number = |rest: &str| rest.trim_start().parse::<usize>().is_ok_and(|n| n > 1);
    let is_of = |stem: &String| {
        plan.name.strip_prefix(stem).is_some_and(|rest| rest.is_empty() || number(rest))
    };
    let mut stems = vec![of(plan), of_data(plan)];
    if stems[0] != stems[1] {
        // As earlier builds named them.
        stems.push(format!("{}{WITHOUT_LABELS}", of_data(plan)));
        stems.push(format!("{} without its labels", plan.private));
    }
    stems.iter().any(is_of)
}

/// A name for a plan that no other plan has.
pub fn free(plan: &PlanDefinition, others: &[PlanDefinition]) -> String {
    let taken = |name: &String| others.iter().any(|other| other.name == *name);
    let stem = of(plan);
    let mut names =
        std::iter::once(stem.clone()).chain((2..).map(|number| format!("{stem} {number}")));
    names.find(|name| !taken(name)).unwrap_or(stem)
}

/// Renames the plans whose data have changed since `before`, unless their user has named them.
pub fn follow(before: &Session, now: &mut Session) {
    for index in 0..now.plans.len() {
        let plan = &now.plans[index];
        let old = before.plans.iter().find(|old| old.name == plan.name);
        if old.is_some_and(|old| is_automatic(old) && of(old) != of(plan)) {
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

    #[test]
    fn a_name_follows_the_data_until_the_user_gives_one() {
        let mut before = demo::session("bikeshare").unwrap();
        before.plans.truncate(1);
        before.plans[0].name = free(&before.plans[0], &[]);
        assert!(is_automatic(&before.plans[0]));
        let mut second = before.plans[0].clone();
        second.name = free(&second, &before.plans);
        assert!(second.name.ends_with(" 2") && is_automatic(&second));
        before.plans.push(second);

        let mut now = before.clone();
        now.plans[1].public = ["a", "b"].map(str::to_owned).to_vec();
        follow(&before, &mut now);
        assert_eq!(now.plans[1].name, "winter from a, b");
        assert_eq!(now.plans[0], before.plans[0]);

        // And the use of the labels, also of the demo's plan.
        let labelled = now.clone();
        "moment_release".clone_into(&mut now.plans[1].method);
        follow(&labelled, &mut now);
        assert_eq!(now.plans[1].name, "winter from a, b, without labels");
        for name in ["winter from a, b, without labels", "winter without its labels"] {
            name.clone_into(&mut now.plans[1].name);
            let unlabelled = now.clone();
            let mut upgraded = now.clone();
            upgraded.plans[1].method.clone_from(&before.plans[0].method);
            follow(&unlabelled, &mut upgraded);
            assert_eq!(upgraded.plans[1].name, "winter from a, b");
        }
        now = labelled;
        "public_only".clone_into(&mut now.plans[1].method);
        assert_eq!(free(&now.plans[1], &[]), "winter from a, b, public data alone");
        "public_shape".clone_into(&mut now.plans[1].method);

        "mine".clone_into(&mut now.plans[1].name);
        let named = now.clone();
        now.plans[1].public.push("c".to_owned());
        follow(&named, &mut now);
        assert!(now.plans[1].name == "mine" && !is_automatic(&now.plans[1]));
        now.plans[1].public.extend(["d", "e"].map(str::to_owned));
        assert_eq!(free(&now.plans[1], &[]), "winter from 5 datasets");
    }
}
