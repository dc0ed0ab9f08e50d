//! The Compare screen: sorting, pinning, tagging, deleting runs.

use super::{charts, go_to, plan, prompt};
use crate::engine::Request;
use crate::tui::app::{App, Effect, Level, Tab};
use crate::tui::compare::Column;
use crate::tui::keymap::Action;
use crate::tui::popup::{Answer, Popup, Wanted};

/// The first column may be as narrow and as wide as this.
const WIDTHS: std::ops::RangeInclusive<u16> = 10..=60;

pub(super) fn act(app: &mut App, action: Action) -> Vec<Effect> {
    if charts::act(app, action) {
        return Vec::new();
    }
    match action {
        Action::SortNext => {
            let columns = Column::shown(!app.watch.is_sealed());
            let here = columns.iter().position(|column| *column == app.compare.sort);
            let next = here.map_or(0, |here| (here + 1) % columns.len());
            app.compare.sort = columns[next];
            // Errors and ε: the smallest first; time: the newest first.
            app.compare.reverse = app.compare.sort == Column::Time;
        }
        Action::SortReverse => app.compare.reverse = !app.compare.reverse,
        Action::NextSeries => {
            let watch = app.watch.clone();
            app.compare.next_shown(&watch);
        }
        Action::Unpin => app.compare.pins = Default::default(),
        Action::Refresh => return vec![Effect::ask(Request::Archive)],
        Action::Narrower | Action::Wider => {
            let width = app.compare.width;
            let width = if action == Action::Wider { width + 2 } else { width.saturating_sub(2) };
            app.compare.width = width.clamp(*WIDTHS.start(), *WIDTHS.end());
            app.state.run_column = Some(app.compare.width);
            return vec![Effect::ask(Request::Remember(app.state.clone()))];
        }
        _ => return on_run(app, action),
    }
    Vec::new()
}

fn on_run(app: &mut App, action: Action) -> Vec<Effect> {
    let Some(run) = app.compare.run().cloned() else { return Vec::new() };
    match action {
        Action::Pin if app.compare.toggle_pin(&run.id) => {}
        Action::Pin => {
            app.say(Level::Warning, "six runs are pinned: unpin one, or c clears all");
        }
        Action::TagRun => {
            app.popup = Some(prompt(
                "Tag",
                "a remark on this run, kept in its directory; empty removes it",
                &run.tag,
                Wanted::Tag(run.id),
            ));
        }
        Action::DeleteRun => {
            let working = app
                .run
                .runs
                .iter()
                .any(|live| !live.has_ended() && live.run.as_ref() == Some(&run.id));
            if working {
                app.say(Level::Warning, "this run is under way: stop it first");
                return Vec::new();
            }
            let text = format!(
                "Delete {} with its model and its numbers? What it spent stays in the ledger.",
                run.id.0
            );
            app.popup = Some(Popup::Question { text, then: Answer::DeleteRun(run.id) });
        }
        Action::PlanLike => match run.plan {
            Some(earlier) => {
                let mut effects = go_to(app, Tab::Plan);
                effects.extend(plan::take_plan(app, &earlier));
                return effects;
            }
            None => app.say(Level::Warning, "the plan of this run cannot be read"),
        },
        _ => {}
    }
    Vec::new()
}
