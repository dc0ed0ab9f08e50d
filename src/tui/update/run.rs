//! The Run screen: steering runs.

use super::{charts, select_in};
use crate::tui::app::{App, Effect, Level, Pane};
use crate::tui::keymap::Action;
use crate::tui::popup::{Answer, Popup};

pub(super) fn act(app: &mut App, action: Action) -> Vec<Effect> {
    match action {
        Action::PreviousRun => select_in(app, Pane::Runs, -1),
        Action::NextRun => select_in(app, Pane::Runs, 1),
        _ if charts::act(app, action) => {}
        _ => steer(app, action),
    }
    Vec::new()
}

fn steer(app: &mut App, action: Action) {
    let Some(run) = app.run.runs.get(app.run.selected) else { return };
    match action {
        Action::Pause | Action::Stop if run.has_ended() => {
            app.say(Level::Info, "this run has ended");
        }
        Action::Pause if run.control.is_paused() => run.control.resume(),
        Action::Pause => run.control.pause(),
        Action::Stop => {
            let text = "Stop this run? It delivers the model of its last step; what was drawn stays charged.";
            app.popup =
                Some(Popup::Question { text: text.to_owned(), then: Answer::StopRun(run.id) });
        }
        Action::Slower | Action::Faster => {
            let now = run.control.pace();
            let next = match (action, now) {
                (Action::Faster, Some(pace)) if pace < 512.0 => Some(pace * 2.0),
                (Action::Faster, _) => None,
                (_, Some(pace)) => Some((pace / 2.0).max(0.5)),
                (_, None) => Some(512.0),
            };
            run.control.set_pace(next);
            app.run.pace = next;
            app.say(
                Level::Info,
                match next {
                    Some(pace) => format!("pace: at most {pace} steps per second"),
                    None => "pace: as fast as it can".to_owned(),
                },
            );
        }
        Action::Freeze => {
            let last = run.extent().1;
            let viewport = &mut app.run.viewport;
            viewport.frozen = if viewport.frozen.is_some() { None } else { Some(last) };
        }
        _ => {}
    }
}
