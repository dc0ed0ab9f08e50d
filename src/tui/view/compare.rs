//! Compare: not built yet, and it says so.

use ratatui::Frame;
use ratatui::layout::Rect;

use super::{boxed, empty};
use crate::tui::app::App;

pub fn view(app: &App, frame: &mut Frame, area: Rect) {
    let inner = boxed(app, frame, area, "Compare · not built yet");
    empty(
        app,
        frame,
        inner,
        &[
            "This screen will set runs side by side: a sortable table, overlaid charts, what",
            "differs in their settings, and utility against ε.",
            "",
            "It does not exist in this version. Until then: press 4 for the runs of this",
            "sitting, one after the other; every run's numbers lie in its directory, under",
            ".halflight/runs.",
        ],
    );
}
