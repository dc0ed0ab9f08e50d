//! Zoom, pan, cursor, axis and smoothing: the same on Run and Compare.

use crate::tui::app::{App, Level, Tab};
use crate::tui::keymap::Action;
use crate::tui::widgets::viewport::Viewport;

/// The viewport of this screen's charts and the range of their data.
pub(super) fn viewport(app: &mut App) -> Option<(&mut Viewport, (f64, f64))> {
    match app.tab {
        Tab::Run => {
            let extent = app.selected_run()?.extent();
            Some((&mut app.run.viewport, extent))
        }
        Tab::Compare => {
            let extent = app.compare.extent();
            Some((&mut app.compare.viewport, extent))
        }
        _ => None,
    }
}

/// False when the action has nothing to do with charts.
pub(super) fn act(app: &mut App, action: Action) -> bool {
    let Some((viewport, whole)) = viewport(app) else { return false };
    match action {
        Action::LogAxis => viewport.log = !viewport.log,
        Action::Smooth => viewport.next_smoothing(),
        Action::ZoomIn => viewport.zoom(0.8, None, whole),
        Action::ZoomOut => viewport.zoom(1.25, None, whole),
        Action::PanLeft => viewport.pan(-0.25, whole),
        Action::PanRight => viewport.pan(0.25, whole),
        Action::CursorLeft => viewport.step_cursor(false, whole),
        Action::CursorRight => viewport.step_cursor(true, whole),
        Action::ResetView => viewport.reset(),
        _ => return false,
    }
    match action {
        Action::LogAxis | Action::Smooth => smooth(app),
        Action::PanLeft | Action::PanRight => {
            let zoomed = match app.tab {
                Tab::Run => app.run.viewport.window.is_some(),
                _ => app.compare.viewport.window.is_some(),
            };
            if !zoomed {
                app.say(Level::Info, "everything is in view: + zooms in first");
            }
        }
        _ => {}
    }
    true
}

/// Curves of runs are averaged as they grow; a new setting averages them again.
fn smooth(app: &mut App) {
    let (weight, log) = (app.run.viewport.smoothing, app.run.viewport.log);
    if app.tab == Tab::Run {
        app.run.runs.iter_mut().for_each(|run| run.smooth(weight, log));
    }
}
