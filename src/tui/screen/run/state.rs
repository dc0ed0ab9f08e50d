//! Which run is shown, and the view of its charts and log.

use crate::context::Context;
use crate::fuzzy;
use crate::live_run::LiveRun;
use crate::tab::Pane;
use crate::widgets::viewport::Viewport;

pub const RUNS: Pane = Pane::list("runs");
pub const LOG: Pane = Pane::list("log");

#[derive(Debug, Default)]
pub struct RunScreen {
    pub selected: usize,
    pub viewport: Viewport,
    /// Line of the log; `None` if the log follows new lines.
    pub line: Option<usize>,
}

impl RunScreen {
    pub fn run<'a>(&self, context: &'a Context) -> Option<&'a LiveRun> {
        context.runs.get(self.selected)
    }

    /// The lines of the log that pass the filter, as indices.
    pub fn visible_log(&self, context: &Context) -> Vec<usize> {
        let log = self.run(context).map(|run| run.log.as_slice()).unwrap_or_default();
        let passes = |line: &usize| fuzzy::holds(context.filter(), log[*line].text(&context.watch));
        (0..log.len()).filter(passes).collect()
    }

    /// Curves are averaged as they grow; a new setting averages them again.
    pub fn smooth(&self, context: &mut Context) {
        for run in &mut context.runs {
            run.smooth(self.viewport.smoothing, self.viewport.log);
        }
    }
}
