//! Which field is selected or being typed, and which entry of the queue is selected.

use std::collections::BTreeSet;

use super::form::{FormField, PlanField, fields};
use crate::context::Context;
use crate::session::PlanDefinition;
use crate::tab::Pane;
use crate::widgets::text_field::TextField;

pub const FIELDS: Pane = Pane::list("fields");
pub const QUEUE: Pane = Pane::list("queue");
/// The cost of the plan, or its expected result.
pub const COST: Pane = Pane::scrolled("cost");

#[derive(Debug, Default)]
pub struct PlanScreen {
    /// The selected line.
    pub field: usize,
    /// Whether every setting is shown, not only the five most important and the changed ones.
    pub unfolded: bool,
    pub editing: Option<Editing>,
    pub queued: usize,
    /// First line of the costs.
    pub cost: usize,
    /// Names of the plans among which private records should choose.
    pub marked: BTreeSet<String>,
    /// Whether the picker of earlier runs opens when the archive arrives.
    pub wants_runs: bool,
}

/// A field being typed into.
#[derive(Debug)]
pub struct Editing {
    pub field: PlanField,
    pub text: TextField,
    pub problem: Option<String>,
}

impl PlanScreen {
    /// The lines of the form. The one that folds and unfolds the rest is not a field.
    pub fn lines(&self, plan: &PlanDefinition) -> Vec<Option<PlanField>> {
        use PlanField as F;
        let first = [F::Method, F::Private, F::Public, F::Epsilon, F::Delta];
        let is_first = |it: &PlanField| {
            matches!(it, F::Method | F::Private | F::Public | F::Epsilon | F::Delta)
        };
        let rest = fields(plan).into_iter().filter(|field| !is_first(field));
        let shown = rest.filter(|field| self.unfolded || !field.is_default(plan));
        first.into_iter().chain(shown).map(Some).chain([None]).collect()
    }

    /// The number of folded settings.
    pub fn folded(&self, plan: &PlanDefinition) -> usize {
        fields(plan).len() + 1 - self.lines(plan).len()
    }

    /// The marked plans; without marks, all for the private data of the shown one.
    pub fn candidates(&self, context: &Context) -> Vec<PlanDefinition> {
        let shown = context.shown_plan();
        let private = shown.map(|plan| &plan.private);
        let marked = |plan: &&PlanDefinition| self.marked.contains(&plan.name);
        let any_marked = context.session.plans.iter().any(|plan| marked(&plan));
        let wanted = |plan: &&PlanDefinition| {
            // Public data alone are a candidate without a plan.
            let fits = || Some(&plan.private) == private && plan.player().spends();
            if any_marked { marked(plan) } else { fits() }
        };
        let mut plans: Vec<_> = context.session.plans.iter().filter(wanted).cloned().collect();
        // The first one is kept if noise hides which is the best.
        plans.sort_by_key(|plan| Some(plan) != shown);
        plans
    }

    pub fn field_count(&self, context: &Context) -> usize {
        context.shown_plan().map_or(0, |plan| self.lines(plan).len())
    }

    /// The selected field; none on the line that unfolds the rest.
    pub fn field(&self, context: &Context) -> Option<PlanField> {
        self.lines(context.shown_plan()?).get(self.field).copied().flatten()
    }

    /// Selects the first field for which this holds.
    #[cfg(test)]
    pub fn select_field(&mut self, plan: &PlanDefinition, wanted: impl Fn(&PlanField) -> bool) {
        self.unfolded = true;
        let lines = self.lines(plan);
        let place = lines.iter().position(|field| field.as_ref().is_some_and(&wanted));
        self.field = place.unwrap_or(usize::MAX);
    }
}
