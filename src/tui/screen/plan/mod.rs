//! Plan: how a model is adapted, and the cost.

mod expect;
mod form;
mod state;
mod update;
mod view;

use crossterm::event::{KeyCode, KeyEvent};
use ratatui::layout::Rect;

use super::{Keys, LONGEST_TEXT, Screen, explained, moved_in};
use crate::canvas::Canvas;
use crate::context::{Change, Context};
use crate::glossary::Explained;
use crate::notice::one_line;
use crate::tab::Pane;
use form::{FormField, PlanField};
use state::COST;
pub use state::{FIELDS, PlanScreen, QUEUE};
#[cfg(test)]
pub use update::presets;

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
        let rehearsal = &context.rehearsal;
        if rehearsal.shown && context.shown_plan().is_some_and(|plan| rehearsal.fits(plan)) {
            let words = if rehearsal.work.is_some() {
                "wait for the rehearsal, or R stops it; r shows what the plan costs"
            } else {
                "t takes the advised method; l launches the plan as it is"
            };
            return Some(words.to_owned());
        }
        match context.plan.preview.as_ref()?.as_ref().ok()? {
            preview if preview.budget.is_none() => Some(
                "l asks for a budget and launches; r rehearses on public data, free".to_owned(),
            ),
            preview if preview.refusal.is_none() => {
                Some("l launches this plan; r rehearses it on public data, for free".to_owned())
            }
            _ => None,
        }
    }

    fn words(&self, context: &Context) -> Vec<Explained> {
        let field = self.field(context);
        let mut words: Vec<Explained> = match (field, context.shown_plan()) {
            (Some(PlanField::Method), Some(plan)) => explained([plan.method.as_str()]),
            // A setting is explained by its method, because other methods may have one with the
            // same name.
            (Some(field @ PlanField::Setting(setting)), _) => {
                vec![Explained {
                    name: setting.name.to_owned(),
                    also: setting.key.to_owned(),
                    text: field.help(),
                }]
            }
            (Some(field), _) => explained([field.name()]),
            (None, _) => explained(["extra settings"]),
        };
        words.extend(explained([
            "method",
            "private data",
            "public data",
            "ε",
            "δ",
            "budget",
            "holds if",
            "noise",
            "draws",
            "steps",
            "hold-out",
            "features",
            "clipping",
            "label range",
            "intercept",
            "seed",
            "explained energy",
            "rehearsal",
            "choice",
            "preset",
            "queue",
            "sweep",
        ]));
        words
    }

    fn view(&self, context: &Context, canvas: &mut Canvas, area: Rect) {
        view::view(self, context, canvas, area);
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

    fn enters_on_click(&self, pane: Pane) -> bool {
        pane == FIELDS
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

    fn stop_typing(&mut self) {
        self.editing = None;
    }
}
