//! Run: runs that are under way, and those finished since the program was opened.

mod choice;
mod trainer;
mod update;
mod view;

use std::collections::BTreeMap;

use super::{DIED_RUN, Keys, Screen, explained, moved_in};
use crate::canvas::{Canvas, Rect};
use crate::context::{Change, Context};
use crate::engine::Request;
use crate::glossary::Explained;
use crate::live_run::LiveRun;
use crate::methods::Series;
use crate::privacy::Watch;
use crate::session::archive::DIED;
use crate::tab::{CHARTS, Pane};
use crate::text_table::Sheet;
use crate::widgets::viewport::Viewport;
use crate::{fuzzy, glossary};
pub use view::result_in_words;

pub const RUNS: Pane = Pane::list("runs");
pub const LOG: Pane = Pane { filters: true, ..Pane::list("log") };

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

impl Screen for RunScreen {
    fn keys() -> Keys<Self> {
        update::KEYS
    }

    /// Runs of other processes are shown from here on.
    fn open(&mut self, context: &mut Context) {
        if context.archive.is_none() {
            context.ask(Request::Archive);
        }
    }

    fn panes(&self, context: &Context) -> Vec<Pane> {
        if context.runs.len() > 1 { vec![CHARTS, RUNS, LOG] } else { vec![CHARTS, LOG] }
    }

    fn select(&mut self, pane: Pane, by: isize, context: &Context) {
        if pane != LOG {
            self.selected = moved_in(context.runs.len(), self.selected, by);
            return;
        }
        let visible = self.visible_log(context);
        let last = visible.len().saturating_sub(1);
        let here = self.line.and_then(|line| visible.iter().position(|it| *it == line));
        let next = here.unwrap_or(last).saturating_add_signed(by).min(last);
        self.line = visible.get(next).copied().filter(|_| next < last);
    }

    fn next_step(&self, context: &Context) -> Option<String> {
        let Some(run) = self.run(context) else {
            if context.has_died_run() {
                return Some(DIED_RUN.to_owned());
            }
            let next = if context.watched.is_empty() {
                "3 shows the plan, l launches it there"
            } else {
                "q ends the watch and stops no run"
            };
            let earlier = if context.archived().is_empty() { "" } else { "; 5 shows earlier runs" };
            return Some(format!("{next}{earlier}"));
        };
        if run.trained.is_some() {
            return Some("its ε is computed here from the noise that its file states".to_owned());
        }
        if run.state() == DIED {
            return Some("this run died: R resumes it, 6 settles it".to_owned());
        }
        if run.has_ended() {
            return Some("5 compares it, 6 shows the ledger".to_owned());
        }
        Some("it continues on every screen; c stops it and keeps its model".to_owned())
    }

    fn hindrance(&self, name: &str, context: &Context) -> Option<&'static str> {
        let Some(run) = self.run(context) else {
            // The pace is also that of the next run.
            let works = matches!(name, "slower" | "faster");
            return (!works).then_some("no run is shown: 3 plans one");
        };
        match name {
            "pause" | "stop" if run.has_ended() => Some("this run has ended"),
            "pause" | "stop" | "slower" | "faster" if run.trained.is_some() => {
                Some("another trainer's run cannot be steered from here")
            }
            "log" | "smooth" | "freeze" | "zoom" | "zoom out" | "cursor left" | "cursor right"
            | "pan left" | "pan right" | "reset view"
                if run.choice.is_some() =>
            {
                Some("a choice has no charts")
            }
            "previous run" | "next run" if context.runs.len() < 2 => Some("this is the only run"),
            _ => None,
        }
    }

    fn words(&self, context: &Context) -> Vec<Explained> {
        let curves = self.run(context).into_iter().flat_map(|run| run.curves.keys());
        let mut words =
            curves.filter_map(|series| glossary::explain(series.words())).collect::<Vec<_>>();
        // The most important word first.
        words.sort_by_key(|word| word.name != Series::PrivateError.words());
        let result = self.run(context).and_then(|run| result_in_words(run, &context.watch));
        let result = result.map(|text| Explained {
            name: "this result".to_owned(),
            also: "verdict".to_owned(),
            text,
        });
        let training =
            self.run(context).and_then(|run| view::training_in_words(run, &context.watch));
        let training = training.map(|text| Explained {
            name: "numbers of training".to_owned(),
            also: "objective gap slope correction size unit".to_owned(),
            text: format!("{text}\n\nz shows these numbers as curves."),
        });
        words.splice(0..0, result.into_iter().chain(training));
        words.extend(explained(
            "ε; verdict; choice; hold-out; public data alone; linear, no privacy; \
             correction; clipping; guarantee; exact number; released; steps",
        ));
        words
    }

    fn view(&self, context: &Context, canvas: &mut Canvas, area: Rect) {
        view::view(self, context, canvas, area);
    }

    fn follow(&mut self, change: &Change, context: &mut Context) {
        if matches!(change, Change::Met)
            && let Some(run) = context.runs.last_mut()
        {
            run.smooth(self.viewport.smoothing, self.viewport.log);
        }
        if matches!(change, Change::Launched) {
            self.selected = context.runs.len().saturating_sub(1);
            self.viewport.reset();
            (self.viewport.frozen, self.line) = (None, None);
            if let Some(run) = context.runs.last_mut() {
                run.smooth(self.viewport.smoothing, self.viewport.log);
            }
        }
    }

    fn step_out(&mut self, _: &mut Context) -> bool {
        self.viewport.step_out()
    }

    fn charts(&mut self, context: &Context) -> Option<(&mut Viewport, (f64, f64))> {
        let extent = self.run(context)?.extent();
        Some((&mut self.viewport, extent))
    }

    /// The curves of a run over the steps in the charts.
    fn sheet(&self, context: &Context, watch: &Watch) -> Option<Sheet> {
        let run = self.run(context)?;
        let (low, high) = self.viewport.window.unwrap_or((f64::NEG_INFINITY, f64::INFINITY));
        let high = self.viewport.frozen.map_or(high, |frozen| high.min(frozen));
        let mut header = vec!["step".to_owned(), "epsilon".to_owned()];
        let mut columns: Vec<&[(f64, f64)]> = vec![run.epsilon.view().as_slice()];
        for (series, curve) in &run.curves {
            if let Some(points) = curve.points(watch) {
                let mark = if curve.is_exact() { " ◆" } else { "" };
                header.push(format!("{}{mark}", series.words()));
                columns.push(points.raw().view().as_slice());
            }
        }
        let mut rows: BTreeMap<u64, Vec<String>> = BTreeMap::new();
        for (index, points) in columns.iter().enumerate() {
            for (x, y) in points.iter().filter(|point| point.0 >= low && point.0 <= high) {
                let row = rows.entry(*x as u64).or_insert_with(|| {
                    let mut row = vec![String::new(); columns.len() + 1];
                    row[0] = x.to_string();
                    row
                });
                row[index + 1] = y.to_string();
            }
        }
        Some(Sheet { header, rows: rows.into_values().collect() })
    }

    fn export_name(&self) -> Option<&'static str> {
        Some("curves")
    }
}
