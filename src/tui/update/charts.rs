//! Zoom, pan, cursor, axis and smoothing: the same on Run and Compare.

use crate::tui::app::{App, Level, Tab};
use crate::tui::keymap::Action;
use crate::tui::lens::Lens;

/// The lens of this screen's charts and the range of their data.
pub(super) fn lens(app: &mut App) -> Option<(&mut Lens, (f64, f64))> {
    match app.tab {
        Tab::Run => {
            let extent = app.selected_run()?.extent();
            Some((&mut app.run.lens, extent))
        }
        Tab::Compare => {
            let extent = app.compare.extent();
            Some((&mut app.compare.lens, extent))
        }
        _ => None,
    }
}

/// False when the action has nothing to do with charts.
pub(super) fn act(app: &mut App, action: Action) -> bool {
    let Some((lens, whole)) = lens(app) else { return false };
    match action {
        Action::LogAxis => lens.log = !lens.log,
        Action::Smooth => lens.next_smoothing(),
        Action::ZoomIn => lens.zoom(0.8, None, whole),
        Action::ZoomOut => lens.zoom(1.25, None, whole),
        Action::PanLeft => lens.pan(-0.25, whole),
        Action::PanRight => lens.pan(0.25, whole),
        Action::CursorLeft => lens.step_cursor(false, whole),
        Action::CursorRight => lens.step_cursor(true, whole),
        Action::ResetView => lens.reset(),
        _ => return false,
    }
    match action {
        Action::LogAxis | Action::Smooth => smooth(app),
        Action::PanLeft | Action::PanRight => {
            let zoomed = match app.tab {
                Tab::Run => app.run.lens.window.is_some(),
                _ => app.compare.lens.window.is_some(),
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
    let (weight, log) = (app.run.lens.smoothing, app.run.lens.log);
    if app.tab == Tab::Run {
        app.run.runs.iter_mut().for_each(|run| run.smooth(weight, log));
    }
}
