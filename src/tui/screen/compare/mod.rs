//! Compare: runs side by side.

mod update;
mod view;

use super::{Keys, LONGEST_TEXT, Screen, explained, listed, moved};
use crate::canvas::{Canvas, Rect};
use crate::context::{Change, Context};
use crate::data::Task;
use crate::engine::Request;
use crate::fuzzy;
use crate::glossary::Explained;
use crate::live_run::always_log;
use crate::methods::Series;
use crate::privacy::Watch;
use crate::privacy::ledger::RunId;
use crate::run_column::{RunColumn, SortValue};
use crate::session::archive::{DIED, curve, epsilon};
use crate::session::comparison::{self, Answer, NOT_FOR_CHOICE, Totals};
use crate::session::run_directory::Process;
use crate::session::{ArchivedRun, plan_field};
use crate::tab::{CHARTS, Pane};
use crate::text_table::Sheet;
use crate::theme::{Glyphs, SERIES};
use crate::widgets::viewport::Viewport;

/// The width of the first column, until the user changes it.
pub const USUAL_WIDTH: u16 = 24;

pub const ARCHIVE: Pane = Pane { filters: true, enters: true, ..Pane::list("archive") };
/// The selected run, or the differences between the pinned ones.
pub const DETAILS: Pane = Pane::scrolled("details");

#[derive(Debug)]
pub struct CompareScreen {
    /// Index into the archive.
    pub selected: usize,
    /// The sorting column. Until one is chosen, the run to take comes first, then the best score, then
    /// the newest.
    pub sort: Option<RunColumn>,
    pub reverse: bool,
    /// A pinned run keeps its place, and so its colour and marker.
    pub pins: [Option<RunId>; SERIES],
    pub viewport: Viewport,
    pub quantity: Option<Quantity>,
    /// First line of the details.
    pub detail: usize,
    /// The width of the first column in cells.
    pub width: u16,
    /// Whether the screen shows the tasks of a sweep, with the state of each first.
    pub is_board: bool,
}

impl Default for CompareScreen {
    fn default() -> Self {
        Self {
            selected: 0,
            sort: None,
            reverse: false,
            pins: Default::default(),
            viewport: Viewport::default(),
            quantity: None,
            detail: 0,
            width: USUAL_WIDTH,
            is_board: false,
        }
    }
}

/// The quantity in the chart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quantity {
    Series(Series),
    Epsilon,
    /// The released score of every run against the ε of the run.
    Score,
    /// The best value of a series against its ε.
    Utility(Series),
}

impl Quantity {
    pub const ALL: [Self; 31] = [
        Self::Score,
        Self::Series(Series::PrivateError),
        Self::Series(Series::PublicError),
        Self::Series(Series::PublicLoss),
        Self::Series(Series::PrivateLoss),
        Self::Series(Series::Objective),
        Self::Series(Series::ExactObjective),
        Self::Series(Series::PublicObjective),
        Self::Series(Series::StationarityGap),
        Self::Series(Series::ExactStationarityGap),
        Self::Series(Series::MomentDiscrepancy),
        Self::Series(Series::ExactMomentDiscrepancy),
        Self::Epsilon,
        Self::Utility(Series::PrivateAbsoluteError),
        Self::Utility(Series::PublicAbsoluteError),
        Self::Utility(Series::PrivateError),
        Self::Utility(Series::PublicError),
        Self::Series(Series::PrivateAbsoluteError),
        Self::Series(Series::PublicAbsoluteError),
        Self::Series(Series::PrivateBalancedAccuracy),
        Self::Series(Series::PublicBalancedAccuracy),
        Self::Series(Series::PrivateAuc),
        Self::Series(Series::PublicAuc),
        Self::Series(Series::PublicAccuracy),
        Self::Series(Series::PrivateAccuracy),
        Self::Series(Series::HoldoutLoss),
        Self::Series(Series::ClipFraction),
        Self::Series(Series::GradientMedian),
        Self::Series(Series::GradientTail),
        Self::Series(Series::SubspaceEnergy),
        Self::Series(Series::ExactSubspaceEnergy),
    ];

    pub fn title(self) -> String {
        match self {
            Self::Series(series @ Series::PublicError) => format!("{}; may rise", series.words()),
            Self::Series(series) => series.words().to_owned(),
            Self::Epsilon => "ε spent".to_owned(),
            Self::Score => "released error against ε".to_owned(),
            Self::Utility(series) => format!("best {} against ε", series.words()),
        }
    }

    /// Whether the quantity is a share of wrong answers for all of these runs.
    pub fn is_share<'a>(self, runs: impl IntoIterator<Item = &'a ArchivedRun>) -> bool {
        let is_error = match self {
            Self::Score => true,
            Self::Series(series) | Self::Utility(series) => series.is_error(),
            Self::Epsilon => false,
        };
        let mut runs = runs.into_iter().peekable();
        let of_classes = |run: &ArchivedRun| run.task() == Some(Task::Classification);
        is_error && runs.peek().is_some() && runs.all(of_classes)
    }

    /// Whether each run is one point.
    pub fn is_of_runs(self) -> bool {
        matches!(self, Self::Score | Self::Utility(_))
    }

    /// Whether the axis is always logarithmic, whatever the user chose.
    pub fn always_log(self) -> bool {
        matches!(self, Self::Series(series) if always_log(series))
    }
}

impl CompareScreen {
    /// The model to take of the marked runs, or of all if fewer than two are marked: for the dataset of
    /// the selected run first.
    fn answers(&self, context: &Context, glyphs: &Glyphs) -> Vec<Answer> {
        let total = |run: &RunId| {
            let book = context.book.as_ref()?;
            let account = book.account_of_run(run).filter(|it| it.units().len() <= 1)?;
            let place = book.accounts.iter().position(|it| it.id == account.id)?;
            context.digests.get(place)?.total.clone()
        };
        self.answers_to(context.archived(), &context.watch, (glyphs, &total))
    }

    fn answers_to(
        &self,
        runs: &[ArchivedRun],
        watch: &Watch,
        (glyphs, total): (&Glyphs, Totals),
    ) -> Vec<Answer> {
        let name = |run: &ArchivedRun, namesakes: &[&ArchivedRun]| {
            let mark = self.slot(&run.id).map(|slot| glyphs.series(slot));
            match mark {
                Some(mark) if !namesakes.is_empty() => mark.to_owned(),
                Some(mark) => format!("{mark} {}", comparison::usual_name(run, &[])),
                None => Self::name(runs, run, namesakes),
            }
        };
        let marked: Vec<&ArchivedRun> = self.pinned(runs).into_iter().map(|(_, run)| run).collect();
        let chosen: Vec<&ArchivedRun> = match marked.len() {
            0 | 1 => self.run(runs).into_iter().chain(self.others(runs)).collect(),
            _ => marked,
        };
        comparison::answers(&chosen, name, total, watch)
    }

    /// The name of a run beside others. Where all have one plan, its name stands above the table.
    fn name(runs: &[ArchivedRun], run: &ArchivedRun, namesakes: &[&ArchivedRun]) -> String {
        match Self::short_name(runs, run, namesakes) {
            Some(epsilon) => format!("the run at {epsilon}"),
            None => comparison::usual_name(run, namesakes),
        }
    }

    /// The ε of a run, if it is enough to tell it from the others because all have one plan.
    fn short_name(
        runs: &[ArchivedRun],
        run: &ArchivedRun,
        namesakes: &[&ArchivedRun],
    ) -> Option<String> {
        let plan = comparison::plan_of(run);
        let have_one = runs.len() > 1 && runs.iter().all(|it| comparison::plan_of(it) == plan);
        comparison::own_epsilon(run, namesakes).filter(|_| have_one)
    }

    fn others<'a>(&self, runs: &'a [ArchivedRun]) -> impl Iterator<Item = &'a ArchivedRun> {
        let selected = self.selected;
        runs.iter().enumerate().filter(move |(at, _)| *at != selected).map(|(_, run)| run)
    }

    /// Becomes a board, in the order of the tasks' values.
    pub fn become_a_board(&mut self) {
        (self.is_board, self.sort, self.reverse) = (true, Some(RunColumn::Plan), false);
    }

    pub fn run<'a>(&self, runs: &'a [ArchivedRun]) -> Option<&'a ArchivedRun> {
        runs.get(self.selected)
    }

    /// Indices of the runs that pass the filter, in the order of the table.
    pub fn order(&self, context: &Context, filter: &str) -> Vec<usize> {
        let (runs, watch) = (context.archived(), &context.watch);
        // Marking runs does not move them.
        let all = Self { selected: self.selected, ..Self::default() };
        let answers = self.sort.is_none().then(|| all.answers(context, &Glyphs::unicode()));
        let taken = answers.into_iter().flatten().filter_map(|answer| answer.taken);
        self.order_of(runs, filter, watch, &taken.collect::<Vec<_>>())
    }

    fn order_of(
        &self,
        runs: &[ArchivedRun],
        filter: &str,
        watch: &Watch,
        taken: &[RunId],
    ) -> Vec<usize> {
        let columns = RunColumn::shown(!watch.is_sealed());
        let passes = |run: &ArchivedRun| {
            let cells: Vec<String> = columns.iter().map(|column| column.text(run, watch)).collect();
            fuzzy::holds(filter, &cells.join(" "))
        };
        // There may be thousands of them, and they are drawn often.
        let passing = runs.iter().enumerate().filter(|(_, run)| filter.is_empty() || passes(run));
        let column = self.sort.unwrap_or(RunColumn::Score);
        let mut order: Vec<(usize, SortValue)> =
            passing.map(|(index, run)| (index, column.value(run, watch))).collect();
        let by_value = |x: &SortValue, y: &SortValue| {
            // Missing values stay at the end in either direction.
            let missing = |value: &SortValue| *value == SortValue::Missing;
            if self.reverse && !missing(x) && !missing(y) { y.compare(x) } else { x.compare(y) }
        };
        if self.sort.is_none() {
            let is_other = |at: usize| !taken.contains(&runs[at].id);
            order.sort_by(|(one, x), (other, y)| {
                let first = is_other(*one).cmp(&is_other(*other));
                let newest = || runs[*other].time.cmp(&runs[*one].time);
                first.then_with(|| by_value(x, y)).then_with(newest)
            });
        } else {
            order.sort_by(|(_, x), (_, y)| by_value(x, y));
        }
        order.into_iter().map(|(index, _)| index).collect()
    }

    /// Sorts by a column: the best or the newest run comes first, and names are in their order.
    pub fn sort_best_first(&mut self, column: RunColumn) {
        (self.sort, self.reverse) = (Some(column), column.is_best_when_large());
    }

    pub fn slot(&self, run: &RunId) -> Option<usize> {
        self.pins.iter().position(|pin| pin.as_ref() == Some(run))
    }

    /// Pins or unpins. False when every place is taken.
    pub fn toggle_pin(&mut self, run: &RunId) -> bool {
        if let Some(slot) = self.slot(run) {
            self.pins[slot] = None;
            return true;
        }
        let free = self.pins.iter_mut().find(|pin| pin.is_none());
        free.map(|pin| *pin = Some(run.clone())).is_some()
    }

    /// Pinned runs with their places; the selected one if none is pinned.
    pub fn pinned<'a>(&self, runs: &'a [ArchivedRun]) -> Vec<(usize, &'a ArchivedRun)> {
        let of = |id: &RunId| runs.iter().find(|run| run.id == *id);
        let pinned: Vec<_> = self
            .pins
            .iter()
            .enumerate()
            .filter_map(|(slot, pin)| Some((slot, of(pin.as_ref()?)?)))
            .collect();
        if pinned.is_empty() {
            self.run(runs).map(|run| (0, run)).into_iter().collect()
        } else {
            pinned
        }
    }

    /// The quantity in the chart. Until another one is chosen, it is the released scores; if there is
    /// none, the error on private records by which the runs are judged, and the error on public
    /// records only if that cannot be seen.
    pub fn shown_quantity(&self, runs: &[ArchivedRun], watch: &Watch) -> Quantity {
        let usual = || self.usual_series(runs, watch);
        let is_scored = self.has(Quantity::Score, runs, watch);
        self.quantity.unwrap_or_else(|| if is_scored { Quantity::Score } else { usual() })
    }

    /// The series in the chart of runs without scores, or below the scores.
    pub fn usual_series(&self, runs: &[ArchivedRun], watch: &Watch) -> Quantity {
        let usual = [Series::PublicError, Series::PrivateError];
        let pinned = self.pinned(runs);
        let [public, private] = pinned.first().map_or(usual, |(_, run)| run.error_series());
        let private = Quantity::Series(private);
        if self.has(private, runs, watch) { private } else { Quantity::Series(public) }
    }

    /// Switches to the next quantity for which the shown runs have numbers.
    pub fn next_quantity(&mut self, runs: &[ArchivedRun], watch: &Watch, by: isize) {
        let all = Quantity::ALL;
        let shown = self.shown_quantity(runs, watch);
        let here = all.iter().position(|quantity| *quantity == shown).unwrap_or(0);
        let at = |step: isize| (here as isize + by * step).rem_euclid(all.len() as isize) as usize;
        let mut others = (1..=all.len() as isize).map(|step| all[at(step)]);
        let next = others.find(|quantity| self.has(*quantity, runs, watch));
        self.quantity = next.or(self.quantity);
        self.viewport.reset();
    }

    fn has(&self, quantity: Quantity, runs: &[ArchivedRun], watch: &Watch) -> bool {
        match quantity {
            Quantity::Epsilon => true,
            Quantity::Score => runs.iter().any(|run| run.score.is_some()),
            Quantity::Series(series) => {
                self.pinned(runs).iter().any(|(_, run)| curve(run, series, watch).is_some())
            }
            Quantity::Utility(series) => runs.iter().any(|run| curve(run, series, watch).is_some()),
        }
    }

    /// First and last x of the chart.
    pub fn extent(&self, runs: &[ArchivedRun], watch: &Watch) -> (f64, f64) {
        if self.shown_quantity(runs, watch).is_of_runs() {
            let spent = runs.iter().filter_map(epsilon);
            return (0.0, PAST_THE_LAST * spent.fold(1.0, f64::max));
        }
        let steps = self.pinned(runs).into_iter().map(|(_, run)| run.steps);
        (0.0, steps.max().unwrap_or(2).max(2) as f64)
    }

    /// The differences between the configurations of the pinned runs: a name, and a value for each.
    pub fn differences(&self, runs: &[ArchivedRun]) -> Vec<(String, Vec<String>)> {
        let plans: Vec<_> = self.pinned(runs).iter().map(|(_, run)| run.plan.as_ref()).collect();
        let data: Vec<_> = self.pinned(runs).iter().map(|(_, run)| run.data.as_slice()).collect();
        let mut found = plan_field::differences(&plans);
        found.extend(plan_field::data_differences(&data));
        let ends: Vec<String> = self.pinned(runs).iter().map(|(_, run)| end_of(run)).collect();
        if ends.iter().any(|end| *end != ends[0]) {
            found.push(("end".to_owned(), ends));
        }
        found
    }
}

/// The end of the axis of ε, in times the largest ε: no point stands on the frame.
const PAST_THE_LAST: f64 = 1.05;

fn end_of(run: &ArchivedRun) -> String {
    match run.outcome.as_str() {
        "finished" => "finished".to_owned(),
        other => format!("{other} at step {} of {}", run.steps, run.of),
    }
}

impl Screen for CompareScreen {
    fn keys() -> Keys<Self> {
        update::KEYS
    }

    fn panes(&self, _: &Context) -> Vec<Pane> {
        vec![ARCHIVE, CHARTS, DETAILS]
    }

    fn select(&mut self, pane: Pane, by: isize, context: &Context) {
        if pane == DETAILS {
            self.detail = self.detail.saturating_add_signed(by).min(LONGEST_TEXT);
            return;
        }
        self.detail = 0;
        let order = self.order(context, context.filter());
        self.selected = moved(&order, self.selected, by);
    }

    fn next_step(&self, context: &Context) -> Option<String> {
        let run = self.run(context.archived())?;
        (run.outcome == DIED).then(|| "this run died: R resumes it, 6 settles it".to_owned())
    }

    fn hindrance(&self, name: &str, context: &Context) -> Option<&'static str> {
        match name {
            "refresh" => None,
            _ if context.archived().is_empty() => Some("there is no run yet: 3 plans one"),
            "smooth" if self.shown_quantity(context.archived(), &context.watch).is_of_runs() => {
                Some("each run is a point here: there is nothing to smooth")
            }
            "unmark all" if self.pins.iter().all(Option::is_none) => Some("no run is marked"),
            _ => None,
        }
    }

    fn sort_by(&mut self, head: &str) {
        let column = RunColumn::ALL.into_iter().find(|column| column.has_head(head));
        match column {
            Some(column) if Some(column) == self.sort => self.reverse = !self.reverse,
            Some(column) => self.sort_best_first(column),
            None => {}
        }
    }

    fn words(&self, context: &Context) -> Vec<Explained> {
        let first = match self.shown_quantity(context.archived(), &context.watch) {
            Quantity::Series(series) | Quantity::Utility(series) => series.words(),
            Quantity::Epsilon => "ε",
            Quantity::Score => "score",
        };
        let sort = self.sort.unwrap_or(RunColumn::Score).title();
        let run = self.run(context.archived()).map(|run| Explained {
            name: "this run".to_owned(),
            also: "verdict seed directory".to_owned(),
            text: view::in_full(run, &context.watch),
        });
        let words = explained(&format!(
            "{first}; {sort}; error on private records; error on public records; mean absolute error; \
             balanced accuracy; AUC; verdict; ε; δ; outcome; steps; exact number; public data \
             alone; linear, no privacy; tag; run"
        ));
        let answers = self.answers(context, &Glyphs::unicode());
        let caution = [("Exact numbers", NOT_FOR_CHOICE.to_owned())];
        let answers = answers.iter().map(|answer| Explained {
            name: format!("which model to take{}", answer.about),
            also: "answer choice share".to_owned(),
            text: listed(answer.lines().into_iter().chain(caution.clone())),
        });
        run.into_iter().chain(answers).chain(words).collect()
    }

    fn view(&self, context: &Context, canvas: &mut Canvas, area: Rect) {
        view::view(self, context, canvas, area);
    }

    fn open(&mut self, context: &mut Context) {
        // A score or a run of another program has spent, too.
        context.ask(Request::Ledger);
        context.ask(Request::Archive);
    }

    /// A run that was started here is selected once it appears; otherwise the selected one stays
    /// selected, and at first it is the top one on the private data that the user works on.
    fn follow(&mut self, change: &Change, context: &mut Context) {
        let Change::Archive(before) = change else { return };
        let runs = context.archived();
        let is_new = |run: &ArchivedRun| {
            let is_known = before.as_ref().is_none_or(|before| before.contains(&run.id));
            !is_known && run.process.as_ref().is_some_and(Process::is_this)
        };
        let new = runs.iter().position(is_new);
        let id = before.as_ref().and_then(|before| before.get(self.selected));
        let place = new.or_else(|| runs.iter().position(|run| Some(&run.id) == id));
        let order = self.order(context, "");
        let private = |at: &&usize| runs[**at].plan.as_ref().map(|plan| plan.private.as_str());
        let ours = order.iter().find(|at| private(at) == context.private_name());
        self.selected = place.or(ours.or(order.first()).copied()).unwrap_or(0);
    }

    fn step_out(&mut self, _: &mut Context) -> bool {
        self.viewport.step_out()
    }

    fn charts(&mut self, context: &Context) -> Option<(&mut Viewport, (f64, f64))> {
        let extent = self.extent(context.archived(), &context.watch);
        Some((&mut self.viewport, extent))
    }

    fn sheet(&self, context: &Context, watch: &Watch) -> Option<Sheet> {
        let runs = context.archive.as_ref()?;
        let mut columns = RunColumn::shown(!watch.is_sealed());
        columns.retain(|column| column.has_any(runs, watch));
        // The order on the screen, which an exact column may have sorted.
        let order = self.order(context, context.filter());
        let row = |index: usize| {
            let cell = |column: &RunColumn| match column.value(&runs[index], watch) {
                SortValue::Number(x) => x.to_string(),
                SortValue::Text(text) => text,
                SortValue::Missing => String::new(),
            };
            columns.iter().map(cell).collect()
        };
        Some(Sheet {
            header: columns.iter().map(|column| column.title().to_owned()).collect(),
            rows: order.into_iter().map(row).collect(),
        })
    }

    fn export_name(&self) -> Option<&'static str> {
        Some("runs")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Columns;
    use crate::fixtures::{archived, told};
    use crate::session::demo;
    use crate::theme::Glyphs;
    use halflight_privacy_inside::openings::OpenWatch;

    fn runs() -> Vec<ArchivedRun> {
        vec![archived(1, 2.0, &[5.0, 3.0, 4.0]), archived(2, 0.5, &[9.0]), archived(3, 1.0, &[])]
    }

    #[test]
    fn sorting_follows_the_column_and_puts_what_is_missing_last() {
        let (mut screen, mut runs) = (CompareScreen::default(), runs());
        let watch = Watch::open();
        // The run to take, then the best score, then the newest.
        runs.extend([archived(4, 1.0, &[]), archived(5, 1.0, &[])]);
        runs[4].score = Some(told(20.0));
        assert_eq!(screen.order_of(&runs, "", &watch, &[]), [4, 0, 2, 3, 1]);
        let taken = [runs[2].id.clone()];
        assert_eq!(screen.order_of(&runs, "", &watch, &taken), [2, 4, 0, 3, 1]);
        runs.truncate(3);
        screen.sort = Some(RunColumn::PublicBest);
        screen.reverse = false;
        assert_eq!(screen.order_of(&runs, "", &watch, &[]), [0, 1, 2]);
        screen.reverse = true;
        assert_eq!(screen.order_of(&runs, "", &watch, &[]), [1, 0, 2]);
        assert_eq!(screen.order_of(&runs, "nothing has this", &watch, &[]), [0; 0]);
    }

    #[test]
    fn sorting_by_a_column_begins_with_the_best_and_a_second_time_turns_it_around() {
        let (mut screen, runs, watch) = (CompareScreen::default(), runs(), Watch::open());
        for column in RunColumn::ALL.into_iter().filter(|it| *it != RunColumn::Time) {
            screen.sort_by(column.title());
            let first = screen.order_of(&runs, "", &watch, &[])[0];
            let value = |index: usize| column.value(&runs[index], &watch);
            let best = (0..runs.len()).filter(|it| value(*it) != SortValue::Missing);
            let best = best.min_by(|one, other| {
                let order = value(*one).compare(&value(*other));
                if column.is_best_when_large() { order.reverse() } else { order }
            });
            assert!(best.is_none_or(|best| value(best) == value(first)), "{}", column.title());
            screen.sort_by(column.title());
            assert_eq!(screen.reverse, !column.is_best_when_large());
        }
        screen.sort_by(RunColumn::Time.title());
        assert_eq!(screen.order_of(&runs, "", &watch, &[]), [2, 1, 0], "the newest first");
        let more_is_better = [Series::PublicAuc, Series::PrivateBalancedAccuracy];
        assert!(more_is_better.iter().all(|it| RunColumn::Further(*it).is_best_when_large()));
    }

    #[test]
    fn the_answer_is_for_the_marked_runs_or_all_and_begins_with_the_selected_dataset() {
        let (mut screen, mut runs, open) = (CompareScreen::default(), runs(), Watch::open());
        let glyphs = Glyphs::unicode();
        for (run, name) in runs.iter_mut().zip(["a", "b", "c"]) {
            run.plan.as_mut().unwrap().name = name.to_owned();
        }
        runs[2].score = Some(told(26.0));
        let answers = |screen: &CompareScreen, runs: &[ArchivedRun], watch: &Watch| {
            let all = screen.answers_to(runs, watch, (&glyphs, &|_| None)).into_iter();
            all.map(|it| it.text()).collect::<Vec<_>>()
        };
        let text = answers(&screen, &runs, &Watch::sealed()).concat();
        assert!(text.starts_with("Take 'c' at ε 1: ") && text.contains("'a' cannot"), "{text}");
        // The marked ones carry their marks.
        screen.toggle_pin(&runs[2].id);
        screen.toggle_pin(&runs[0].id);
        let text = answers(&screen, &runs, &open).concat();
        assert!(text.starts_with("Take ● 'c' at ε 1: "), "{text}");
        screen.pins = Default::default();
        runs[1].plan.as_mut().unwrap().private = "autumn".to_owned();
        screen.selected = 1;
        let found = answers(&screen, &runs, &open);
        assert!(found[0].starts_with("Take nothing yet for 'autumn': no score"), "{found:?}");
        assert!(found[1].starts_with("Take 'c' at ε 1 for 'winter': "), "{found:?}");
    }

    #[test]
    fn runs_of_one_plan_on_other_columns_differ() {
        let (mut screen, mut runs) = (CompareScreen::default(), runs());
        runs[1].plan = runs[0].plan.clone();
        for run in &mut runs[..2] {
            run.data = demo::session("bikeshare").unwrap().datasets;
            screen.toggle_pin(&run.id);
        }
        assert!(screen.differences(&runs).is_empty());
        runs[1].outcome = "stopped".to_owned();
        let (what, ends) = &screen.differences(&runs)[0];
        assert_eq!((what.as_str(), ends[0].as_str()), ("end", "finished"));
        assert!(ends[1].starts_with("stopped at step "), "{ends:?}");
        runs[1].outcome = "finished".to_owned();
        runs[1].data[0].columns = Columns::Except(vec!["num".to_owned()]);
        let found = screen.differences(&runs);
        let name = format!("columns of {}", runs[1].data[0].name);
        assert_eq!((found.len(), &found[0].0), (1, &name));
        assert_eq!(found[0].1[1], "all but num");
    }

    #[test]
    fn best_and_last_are_different_numbers() {
        let (runs, watch) = (runs(), Watch::open());
        let run = &runs[0];
        assert_eq!(RunColumn::PublicBest.value(run, &watch), SortValue::Number(2.25));
        assert_eq!(RunColumn::PublicLast.value(run, &watch), SortValue::Number(3.0));
        let private = SortValue::Number(752.25);
        assert_eq!(RunColumn::PrivateBest.value(run, &watch), private);
    }

    #[test]
    fn sealed_no_exact_number_is_shown_sorted_by_or_found() {
        let (mut screen, runs, watch) = (CompareScreen::default(), runs(), Watch::sealed());
        for run in &runs {
            for column in RunColumn::ALL.into_iter().filter(|column| column.is_exact()) {
                assert_eq!(column.value(run, &watch), SortValue::Missing);
                assert!(column.title().contains('◆'), "{}", column.title());
            }
        }
        assert!(RunColumn::shown(false).iter().all(|column| !column.title().contains('◆')));
        assert!(screen.order_of(&runs, "1.009k", &Watch::open(), &[]).len() == 1);
        assert!(screen.order_of(&runs, "1.009k", &watch, &[]).is_empty());
        for _ in 0..Quantity::ALL.len() {
            screen.next_quantity(&runs, &watch, 1);
            assert!(!matches!(
                screen.quantity,
                Some(
                    Quantity::Series(Series::PrivateError | Series::PrivateAbsoluteError)
                        | Quantity::Utility(Series::PrivateError | Series::PrivateAbsoluteError)
                )
            ));
        }
    }

    #[test]
    fn further_scores_have_columns_and_charts_where_runs_have_them() {
        let (mut screen, runs, watch) = (CompareScreen::default(), runs(), Watch::open());
        let further = |series| RunColumn::Further(series);
        let (public, private) = (Series::PublicError, Series::PrivateError);
        assert_eq!(RunColumn::PublicLast.value(&runs[0], &watch), SortValue::Number(3.0));
        assert_eq!(RunColumn::PrivateLast.value(&runs[0], &watch), SortValue::Number(753.0));
        assert!(further(private).has_any(&runs, &watch));
        assert!(!further(private).has_any(&runs, &Watch::sealed()));
        assert!(!further(Series::PublicAuc).has_any(&runs, &watch), "these are numbers");
        let exact: Vec<bool> = RunColumn::ALL
            .into_iter()
            .filter(|column| matches!(column, RunColumn::Further(_)))
            .map(RunColumn::is_exact)
            .collect();
        assert_eq!(exact, [false, true, false, true, false, true]);
        let mut seen = Vec::new();
        for _ in 0..Quantity::ALL.len() {
            screen.next_quantity(&runs, &watch, 1);
            seen.extend(screen.quantity);
        }
        assert!(seen.contains(&Quantity::Series(public)));
        assert!(seen.contains(&Quantity::Series(private)));
        assert!(!seen.contains(&Quantity::Series(Series::PublicAuc)));
    }

    #[test]
    fn the_chart_begins_with_released_scores_or_else_with_the_private_error_if_it_can_be_seen() {
        let (mut screen, mut runs) = (CompareScreen::default(), runs());
        let (open, sealed) = (Watch::open(), Watch::sealed());
        assert!(runs[0].score.is_some() && runs[1].score.is_none());
        for selected in [0, 1] {
            screen.selected = selected;
            assert_eq!(screen.shown_quantity(&runs, &open), Quantity::Score);
            assert_eq!(screen.shown_quantity(&runs, &sealed), Quantity::Score);
        }
        for run in &mut runs {
            run.score = None;
        }
        screen.selected = 0;
        let private = Quantity::Series(Series::PrivateAbsoluteError);
        assert_eq!(screen.shown_quantity(&runs, &open), private);
        let public = Quantity::Series(Series::PublicAbsoluteError);
        assert_eq!(screen.shown_quantity(&runs, &sealed), public);
    }

    #[test]
    fn pins_keep_their_place_when_others_leave() {
        let (mut screen, runs) = (CompareScreen::default(), runs());
        let ids: Vec<RunId> = runs.iter().map(|run| run.id.clone()).collect();
        for id in &ids {
            assert!(screen.toggle_pin(id));
        }
        screen.toggle_pin(&ids[0]);
        assert_eq!((screen.slot(&ids[1]), screen.slot(&ids[2])), (Some(1), Some(2)));
        for number in 0..4 {
            screen.toggle_pin(&RunId(format!("other {number}")));
        }
        assert!(!screen.toggle_pin(&ids[0]), "six places");
    }

    #[test]
    fn only_what_differs_is_in_the_comparison() {
        let (mut screen, runs) = (CompareScreen::default(), runs());
        let ids: Vec<RunId> = runs.iter().map(|run| run.id.clone()).collect();
        screen.toggle_pin(&ids[0]);
        screen.toggle_pin(&ids[1]);
        let differences = screen.differences(&runs);
        assert_eq!(differences.len(), 1, "{differences:?}");
        assert_eq!(differences[0], ("ε of this run".to_owned(), vec!["2".into(), "0.5".into()]));
    }
}
