//! Plan: how a model is adapted, and the cost.

mod cost;
mod expect;
mod form;
mod update;
mod view;

use std::collections::BTreeSet;
use std::mem::discriminant;

use crossterm::event::{KeyCode, KeyEvent};

use super::{Keys, LONGEST_TEXT, Screen, explained, moved_in};
use crate::canvas::{Canvas, Rect};
use crate::context::{Change, Context};
use crate::engine::preview::Preview;
use crate::error::{Action, Error};
use crate::glossary::Explained;
use crate::notice::one_line;
use crate::privacy::Watch;
use crate::rehearsal::advice::Advice;
use crate::session::PlanDefinition;
use crate::tab::Pane;
use crate::text_table::Sheet;
use crate::theory;
use crate::widgets::text_field::TextField;
use form::{FormField, PlanField, fields};
#[cfg(test)]
pub use update::presets;

pub const FIELDS: Pane = Pane { enters: true, ..Pane::list("fields") };
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
        let first = [F::Method, F::Private, F::Public, F::Epsilon, F::Delta, F::Score];
        let are_one = |one: &PlanField, other: &PlanField| discriminant(one) == discriminant(other);
        let is_first = |field: &PlanField| first.iter().any(|it| are_one(it, field));
        let (mut main, rest): (Vec<F>, Vec<F>) = fields(plan).into_iter().partition(is_first);
        main.sort_by_key(|field| first.iter().position(|it| are_one(it, field)));
        let shown = rest.into_iter().filter(|field| self.unfolded || !field.is_default(plan));
        main.into_iter().chain(shown).map(Some).chain([None]).collect()
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
            let fits = || Some(&plan.private) == private;
            // Public data alone are a candidate without a plan.
            plan.player().spends() && if any_marked { marked(plan) } else { fits() }
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
}

/// Why the ledger refuses the shown plan; that it needs a budget first is no refusal.
fn refusal(context: &Context) -> Option<&Error> {
    let preview = context.plan.preview.as_ref()?.as_ref().ok()?;
    let needs_budget = |it: &&Error| matches!(it.action(), Some(Action::SetBudget { .. }));
    preview.refusal.as_ref().filter(|it| !needs_budget(it))
}

impl Screen for PlanScreen {
    fn keys() -> Keys<Self> {
        update::KEYS
    }

    fn panes(&self, context: &Context) -> Vec<Pane> {
        let mut panes = vec![FIELDS, COST];
        if !context.queue.plans.is_empty() {
            panes.push(QUEUE);
        }
        panes
    }

    fn select(&mut self, pane: Pane, by: isize, context: &Context) {
        if pane == COST {
            self.cost = self.cost.saturating_add_signed(by).min(LONGEST_TEXT);
        } else if pane == QUEUE {
            self.queued = moved_in(context.queue.plans.len(), self.queued, by);
        } else {
            self.field = moved_in(self.field_count(context), self.field, by);
        }
    }

    fn next_step(&self, context: &Context) -> Option<String> {
        if context.shown_plan().is_none() {
            return Some("1 adds the data: one private and one public dataset".to_owned());
        }
        let rehearsal = &context.rehearsal;
        let rehearsed = context.shown_plan().filter(|plan| rehearsal.shown && rehearsal.fits(plan));
        if let Some(plan) = rehearsed {
            let advised = context.advice(plan).and_then(Advice::to_take);
            let words = if rehearsal.work.is_some() {
                "wait for the rehearsal, or c stops it"
            } else if advised == Some(&plan.player()) {
                "l launches the plan, which has the advised method"
            } else {
                "t takes the advised method; l launches the plan as it is"
            };
            let words = if refusal(context).is_some() {
                "lower ε or another plan; r: costs"
            } else {
                words
            };
            return Some(words.to_owned());
        }
        match context.plan.preview.as_ref()?.as_ref().ok()? {
            preview if !preview.plan.spends() => {
                Some("l launches this plan, which spends nothing".to_owned())
            }
            preview if preview.budget.is_none() => Some(
                "l asks for a budget and launches; r rehearses on public data, free".to_owned(),
            ),
            preview if preview.refusal.is_none() => {
                Some("l launches; r rehearses on public data, free".to_owned())
            }
            _ => None,
        }
    }

    fn hindrance(&self, name: &str, context: &Context) -> Option<&'static str> {
        let is_free = matches!(name, "new plan" | "run queue" | "remove");
        match context.shown_plan() {
            None if !is_free => {
                Some("there is no plan yet: it needs one private and one public dataset (1)")
            }
            _ if name == "remove" && context.queue.plans.is_empty() => {
                context.shown_plan().is_none().then_some("there is no plan yet")
            }
            _ if matches!(name, "previous plan" | "next plan") => (context.session.plans.len() < 2)
                .then_some("this is the only plan: n makes another"),
            _ if name == "choose best" && self.candidates(context).is_empty() => {
                Some("there is no plan to choose: public data alone cost nothing")
            }
            Some(plan) if name == "mark" && !plan.player().spends() => Some(
                "public data alone are a candidate of every choice, without a plan and at no cost",
            ),
            _ => None,
        }
    }

    fn words(&self, context: &Context) -> Vec<Explained> {
        let field = self.field(context);
        let mut words: Vec<Explained> = match (field, context.shown_plan()) {
            (Some(PlanField::Method), Some(plan)) => explained(&plan.method),
            // A setting is explained by its method, because other methods may have one with the
            // same name.
            (Some(field @ PlanField::Setting(setting)), _) => {
                vec![Explained {
                    name: setting.name.to_owned(),
                    also: setting.key.to_owned(),
                    text: field.help(),
                }]
            }
            (Some(field), _) => explained(field.name()),
            (None, _) => explained("extra settings"),
        };
        let advice = context.shown_plan().and_then(|plan| context.advice(plan));
        let findings = advice.map(expect::all_findings);
        words.extend(findings);
        if let Some(Ok(preview)) = &context.plan.preview {
            words.extend(cost::how_noise_is_made(preview));
            words.extend(by_theory(preview));
        }
        words.extend(explained(
            "method; private data; public data; ε; δ; budget; holds if; noise; draws; steps; \
             hold-out; features; clipping; label range; intercept; seed; explained energy; \
             rehearsal; choice; preset; queue; sweep",
        ));
        words
    }

    fn view(&self, context: &Context, canvas: &mut Canvas, area: Rect) {
        view::view(self, context, canvas, area);
    }

    /// The settings of the shown plan.
    fn sheet(&self, context: &Context, _: &Watch) -> Option<Sheet> {
        let plan = context.shown_plan()?;
        let rows = fields(plan).into_iter().map(|it| vec![it.name().to_owned(), it.value(plan)]);
        let header = ["setting", "value"].map(str::to_owned).to_vec();
        Some(Sheet { header, rows: rows.collect() })
    }

    fn open(&mut self, context: &mut Context) {
        if let Ok(true) = context.ensure_plan() {
            context.changed();
        }
        context.ask_preview();
    }

    fn follow(&mut self, change: &Change, context: &mut Context) {
        match change {
            Change::Opened => *self = Self::default(),
            Change::Restored => self.editing = None,
            Change::Dequeued => self.queued = self.queued.saturating_sub(1),
            Change::Archive(_)
                if std::mem::take(&mut self.wants_runs) && context.popup.is_none() =>
            {
                update::offer_runs(context);
            }
            _ => {}
        }
    }

    fn type_key(&mut self, key: KeyEvent, context: &mut Context) -> bool {
        let Some(editing) = &mut self.editing else { return false };
        match key.code {
            KeyCode::Esc => self.editing = None,
            KeyCode::Enter => {
                match update::set_field(context, editing.field, editing.text.text()) {
                    Ok(()) => self.editing = None,
                    Err(problem) => editing.problem = Some(problem),
                }
            }
            _ => {
                editing.problem = None;
                editing.text.handle(key);
                // Validated while typing, on a copy.
                if let Some(plan) = context.shown_plan() {
                    let tried = editing.field.set(&mut plan.clone(), editing.text.text());
                    editing.problem = tried.err().map(|error| one_line(&error));
                }
            }
        }
        true
    }

    fn paste(&mut self, text: &str) -> bool {
        let Some(editing) = &mut self.editing else { return false };
        editing.text.insert(text);
        true
    }

    fn is_typing(&self) -> bool {
        self.editing.is_some()
    }

    fn stop_typing(&mut self) {
        self.editing = None;
    }
}

/// What the theorems of the papers say of the plan, if they say something.
fn by_theory(preview: &Preview) -> Option<Explained> {
    let plan = &preview.plan;
    let lines = &preview.releases.theory;
    let given = theory::given(&preview.shape, plan.target);
    let sentences = lines.iter().map(|line| format!(". {}", theory::words(line)));
    (!lines.is_empty()).then(|| Explained {
        name: "what theory says of this plan".to_owned(),
        also: "theorem corollary learning bound".to_owned(),
        text: given + &sentences.collect::<String>(),
    })
}
