//! Rank: not built yet, and it says so.

use ratatui::Frame;
use ratatui::layout::Rect;

use super::{boxed, empty};
use crate::tui::app::App;

pub fn view(app: &App, frame: &mut Frame, area: Rect) {
    let inner = boxed(app, frame, area, "Rank · not built yet");
    empty(
        app,
        frame,
        inner,
        &[
            "This screen will order the public datasets by how well they can stand in for the",
            "private one: Gradient Subspace Distance and captured gradient energy, with their",
            "uncertainty, and a private way to choose.",
            "",
            "It does not exist in this version. Until then the public data of a plan are",
            "chosen by hand: press 3 for the plan.",
        ],
    );
}
