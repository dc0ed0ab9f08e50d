//! Which field is selected or typed, and which entry of the queue.

use super::form::{PlanField, fields};
use crate::tui::context::Context;
use crate::tui::tab::Pane;
use crate::tui::widgets::text_field::TextField;

pub const FIELDS: Pane = Pane::list("fields");
pub const QUEUE: Pane = Pane::list("queue");

#[derive(Debug, Default)]
pub struct PlanScreen {
    pub field: usize,
    pub editing: Option<Editing>,
    pub queued: usize,
    /// The picker of earlier runs opens when the archive arrives.
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
    pub fn field_count(context: &Context) -> usize {
        context.shown_plan().map_or(0, |plan| fields(plan).len())
    }

    pub fn field(&self, context: &Context) -> Option<PlanField> {
        fields(context.shown_plan()?).get(self.field).copied()
    }
}
