//! What runs are called beside each other.

use crate::plot::number::compact_up;
use crate::store::ArchivedRun;
use crate::store::archive::epsilon;

/// The name of a run's plan.
pub fn plan_of(run: &ArchivedRun) -> &str {
    run.plan.as_ref().map_or("run", |plan| &plan.name)
}

/// The plan of a run; beside other runs of a plan with this name also its ε, or its time if they have
/// one ε.
pub fn usual_name(run: &ArchivedRun, namesakes: &[&ArchivedRun]) -> String {
    match own_epsilon(run, namesakes) {
        _ if namesakes.is_empty() => format!("'{}'", plan_of(run)),
        Some(epsilon) => format!("'{}' at {epsilon}", plan_of(run)),
        None => format!("run {}", run.time),
    }
}

/// The ε of a run, if none of the others has it.
pub fn own_epsilon(run: &ArchivedRun, others: &[&ArchivedRun]) -> Option<String> {
    let own = epsilon(run)?;
    let is_alone = others.iter().all(|it| epsilon(it) != Some(own));
    is_alone.then(|| format!("ε {}", compact_up(own)))
}

/// The other runs whose plan has the name of this one's.
pub fn namesakes<'a>(run: &ArchivedRun, among: &[&'a ArchivedRun]) -> Vec<&'a ArchivedRun> {
    let is_namesake = |it: &&&ArchivedRun| it.id != run.id && plan_of(it) == plan_of(run);
    among.iter().filter(is_namesake).copied().collect()
}

/// The name of a run with its ε, unless the plan's name says it.
pub(super) fn with_epsilon(name: String, run: &ArchivedRun) -> String {
    match epsilon(run) {
        Some(epsilon) if !name.contains('ε') => format!("{name} at ε {}", compact_up(epsilon)),
        _ => name,
    }
}
