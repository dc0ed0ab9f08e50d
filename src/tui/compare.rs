//! The Compare screen's state: which runs, in which order, which of them pinned.

use std::cmp::Ordering;

use super::fuzzy;
use super::theme::SERIES;
use super::widgets::number::{compact_up, five_digits};
use super::widgets::viewport::Viewport;
use crate::adapt::Series;
use crate::privacy::Watch;
use crate::privacy::ledger::RunId;
pub use crate::session::archive::{best, curve, epsilon, last};
use crate::session::{ArchivedRun, plan_field};

#[derive(Debug)]
pub struct CompareScreen {
    /// `None` until the run directories have been read once.
    pub runs: Option<Vec<ArchivedRun>>,
    /// Index into `runs`.
    pub selected: usize,
    pub sort: Column,
    pub reverse: bool,
    /// A pinned run keeps its place, and with it its colour and marker.
    pub pins: [Option<RunId>; SERIES],
    pub viewport: Viewport,
    pub shown: Shown,
    /// Cells of the first column.
    pub width: u16,
}

impl Default for CompareScreen {
    fn default() -> Self {
        Self {
            runs: None,
            selected: 0,
            sort: Column::Time,
            reverse: true,
            pins: Default::default(),
            viewport: Viewport::default(),
            shown: Shown::Series(Series::PublicError),
            width: 24,
        }
    }
}

/// What the chart shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shown {
    Series(Series),
    Epsilon,
    /// The best value of a series against the ε that it cost.
    Utility(Series),
}

impl Shown {
    pub const ALL: [Self; 19] = [
        Self::Series(Series::PublicError),
        Self::Series(Series::PrivateError),
        Self::Series(Series::PublicLoss),
        Self::Series(Series::PrivateLoss),
        Self::Series(Series::Objective),
        Self::Series(Series::ExactObjective),
        Self::Series(Series::StationarityGap),
        Self::Series(Series::ExactStationarityGap),
        Self::Epsilon,
        Self::Utility(Series::PublicError),
        Self::Utility(Series::PrivateError),
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
            Self::Series(series) => series.words().to_owned(),
            Self::Epsilon => "ε spent".to_owned(),
            Self::Utility(series) => format!("best {} against ε", series.words()),
        }
    }

    /// Whether a logarithmic axis makes sense whatever the user chose.
    pub fn always_log(self) -> bool {
        matches!(self, Self::Series(Series::StationarityGap | Series::ExactStationarityGap))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Column {
    Plan,
    Method,
    Epsilon,
    Delta,
    PublicLast,
    PublicBest,
    PrivateLast,
    PrivateBest,
    Steps,
    Outcome,
    Time,
    Tag,
    Run,
}

/// A cell as it is sorted.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    Number(f64),
    Text(String),
    Missing,
}

impl Value {
    fn rank(&self) -> u8 {
        match self {
            Self::Number(_) => 0,
            Self::Text(_) => 1,
            Self::Missing => 2,
        }
    }

    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Number(a), Self::Number(b)) => a.total_cmp(b),
            (Self::Text(a), Self::Text(b)) => a.to_lowercase().cmp(&b.to_lowercase()),
            // Numbers, then text, then what is missing.
            _ => self.rank().cmp(&other.rank()),
        }
    }
}

impl Column {
    pub const ALL: [Self; 13] = [
        Self::Plan,
        Self::Method,
        Self::Epsilon,
        Self::Delta,
        Self::PublicLast,
        Self::PublicBest,
        Self::PrivateLast,
        Self::PrivateBest,
        Self::Steps,
        Self::Outcome,
        Self::Time,
        Self::Tag,
        Self::Run,
    ];

    /// The columns to show: exact numbers only where they may be seen.
    pub fn shown(exact: bool) -> Vec<Self> {
        Self::ALL.into_iter().filter(|column| exact || !column.is_exact()).collect()
    }

    pub fn title(self) -> &'static str {
        match self {
            Self::Plan => "plan",
            Self::Method => "method",
            Self::Epsilon => "ε",
            Self::Delta => "δ",
            Self::PublicLast => "public",
            Self::PublicBest => "best",
            Self::PrivateLast => "private ◆",
            Self::PrivateBest => "best ◆",
            Self::Steps => "steps",
            Self::Outcome => "outcome",
            Self::Time => "time (UTC)",
            Self::Tag => "tag",
            Self::Run => "run",
        }
    }

    pub fn is_exact(self) -> bool {
        matches!(self, Self::PrivateLast | Self::PrivateBest)
    }

    pub fn is_number(self) -> bool {
        matches!(
            self,
            Self::Epsilon
                | Self::Delta
                | Self::PublicLast
                | Self::PublicBest
                | Self::PrivateLast
                | Self::PrivateBest
                | Self::Steps
        )
    }

    /// What sorts and is exported.
    pub fn value(self, run: &ArchivedRun, watch: &Watch) -> Value {
        let number = |x: Option<f64>| x.map_or(Value::Missing, Value::Number);
        let text = |text: &str| match text {
            "" => Value::Missing,
            text => Value::Text(text.to_owned()),
        };
        match self {
            Self::Plan => text(run.plan.as_ref().map_or("", |plan| &plan.name)),
            Self::Method => text(run.plan.as_ref().map_or("", |plan| &plan.method)),
            Self::Epsilon => number(epsilon(run)),
            Self::Delta => {
                let asked = run.plan.as_ref().map(|plan| plan.target);
                number(run.guarantee.or(asked).map(|target| target.delta))
            }
            Self::PublicLast => number(last(run, Series::PublicError, watch)),
            Self::PublicBest => number(best(run, Series::PublicError, watch)),
            Self::PrivateLast => number(last(run, Series::PrivateError, watch)),
            Self::PrivateBest => number(best(run, Series::PrivateError, watch)),
            Self::Steps => Value::Number(run.steps as f64),
            Self::Outcome => text(&run.outcome),
            Self::Time => text(&run.time),
            Self::Tag => text(&run.tag),
            Self::Run => text(&run.id.0),
        }
    }

    /// What the table shows.
    pub fn text(self, run: &ArchivedRun, watch: &Watch) -> String {
        match (self, self.value(run, watch)) {
            (_, Value::Missing) => "–".to_owned(),
            (Self::Epsilon, Value::Number(x)) => compact_up(x),
            (Self::Delta, Value::Number(x)) => format!("{x:e}"),
            (Self::Steps, Value::Number(x)) => match run.of {
                of if of > run.steps => format!("{x} of {of}"),
                _ => x.to_string(),
            },
            (_, Value::Number(x)) => five_digits(x),
            (Self::Time, Value::Text(time)) => time.chars().take(16).collect(),
            (_, Value::Text(text)) => text,
        }
    }
}

impl CompareScreen {
    pub fn runs(&self) -> &[ArchivedRun] {
        self.runs.as_deref().unwrap_or_default()
    }

    pub fn run(&self) -> Option<&ArchivedRun> {
        self.runs().get(self.selected)
    }

    /// Indices of the runs that pass the filter, in the order of the table.
    pub fn order(&self, filter: &str, watch: &Watch) -> Vec<usize> {
        let runs = self.runs();
        let columns = Column::shown(!watch.is_sealed());
        let passes = |run: &ArchivedRun| {
            let cells: Vec<String> = columns.iter().map(|column| column.text(run, watch)).collect();
            fuzzy::holds(filter, &cells.join(" "))
        };
        let mut order: Vec<usize> = (0..runs.len()).filter(|&it| passes(&runs[it])).collect();
        let value = |index: usize| self.sort.value(&runs[index], watch);
        order.sort_by(|&a, &b| {
            let (x, y) = (value(a), value(b));
            // What is missing stays at the end in either direction.
            let missing = |value: &Value| *value == Value::Missing;
            if self.reverse && !missing(&x) && !missing(&y) { y.cmp(&x) } else { x.cmp(&y) }
        });
        order
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

    /// Pinned runs with their places; the selected one where none is pinned.
    pub fn pinned(&self) -> Vec<(usize, &ArchivedRun)> {
        let of = |id: &RunId| self.runs().iter().find(|run| run.id == *id);
        let pinned: Vec<_> = self
            .pins
            .iter()
            .enumerate()
            .filter_map(|(slot, pin)| Some((slot, of(pin.as_ref()?)?)))
            .collect();
        if pinned.is_empty() {
            self.run().map(|run| (0, run)).into_iter().collect()
        } else {
            pinned
        }
    }

    /// The next thing that the shown runs have numbers for.
    pub fn next_shown(&mut self, watch: &Watch) {
        let here = Shown::ALL.iter().position(|shown| *shown == self.shown).unwrap_or(0);
        let next = (1..=Shown::ALL.len())
            .map(|step| Shown::ALL[(here + step) % Shown::ALL.len()])
            .find(|shown| self.has(*shown, watch));
        self.shown = next.unwrap_or(self.shown);
        self.viewport.reset();
    }

    fn has(&self, shown: Shown, watch: &Watch) -> bool {
        match shown {
            Shown::Epsilon => true,
            Shown::Series(series) => {
                self.pinned().iter().any(|(_, run)| curve(run, series, watch).is_some())
            }
            Shown::Utility(series) => {
                self.runs().iter().any(|run| curve(run, series, watch).is_some())
            }
        }
    }

    /// First and last x of what the chart shows.
    pub fn extent(&self) -> (f64, f64) {
        if let Shown::Utility(_) = self.shown {
            let spent = self.runs().iter().filter_map(epsilon);
            return (0.0, spent.fold(1.0, f64::max));
        }
        let steps = self.pinned().into_iter().map(|(_, run)| run.steps);
        (0.0, steps.max().unwrap_or(2).max(2) as f64)
    }

    /// What differs between the configurations of the pinned runs: a name, and a
    /// value for each.
    pub fn differences(&self) -> Vec<(String, Vec<String>)> {
        let plans: Vec<_> = self.pinned().iter().map(|(_, run)| run.plan.as_ref()).collect();
        plan_field::differences(&plans)
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::privacy::{Private, Target};
    use crate::session::demo;

    /// A run as the archive would give it, with exact numbers.
    ///
    /// # Panics
    /// When the demo is broken.
    pub fn archived(number: u32, epsilon: f64, errors: &[f64]) -> ArchivedRun {
        let mut plan = demo::session("bikeshare").unwrap().plans.remove(0);
        plan.target.epsilon = epsilon;
        let points = |shift: f64| {
            errors.iter().enumerate().map(|(i, y)| (i as f64 + 1.0, y + shift)).collect::<Vec<_>>()
        };
        let exact = [(Series::PrivateError, points(1000.0))].into();
        ArchivedRun {
            id: RunId(format!("20260101-00000{number}-x")),
            directory: format!("/runs/{number}").into(),
            time: format!("2026-01-01 00:00:0{number}"),
            plan: Some(plan),
            tag: String::new(),
            outcome: "finished".to_owned(),
            guarantee: Some(Target { epsilon, delta: 1e-6 }),
            peeked: true,
            steps: errors.len() as u64,
            of: errors.len() as u64,
            curves: [(Series::PublicError, points(0.0))].into(),
            epsilon: points(0.0),
            exact: Private::new(exact).curator(&Watch::open(), Clone::clone),
            trouble: None,
        }
    }

    fn screen() -> CompareScreen {
        CompareScreen {
            runs: Some(vec![
                archived(1, 2.0, &[5.0, 3.0, 4.0]),
                archived(2, 0.5, &[9.0]),
                archived(3, 1.0, &[]),
            ]),
            ..CompareScreen::default()
        }
    }

    #[test]
    fn sorting_follows_the_column_and_puts_what_is_missing_last() {
        let mut screen = screen();
        let watch = Watch::open();
        assert_eq!(screen.order("", &watch), [2, 1, 0], "newest first");
        screen.sort = Column::PublicBest;
        screen.reverse = false;
        assert_eq!(screen.order("", &watch), [0, 1, 2]);
        screen.reverse = true;
        assert_eq!(screen.order("", &watch), [1, 0, 2]);
        assert_eq!(screen.order("nothing has this", &watch), [0; 0]);
    }

    #[test]
    fn best_and_last_are_different_numbers() {
        let (screen, watch) = (screen(), Watch::open());
        let run = &screen.runs()[0];
        assert_eq!(Column::PublicBest.value(run, &watch), Value::Number(3.0));
        assert_eq!(Column::PublicLast.value(run, &watch), Value::Number(4.0));
        assert_eq!(Column::PrivateBest.value(run, &watch), Value::Number(1003.0));
    }

    #[test]
    fn sealed_no_exact_number_is_shown_sorted_by_or_found() {
        let (mut screen, watch) = (screen(), Watch::sealed());
        for run in screen.runs() {
            for column in [Column::PrivateLast, Column::PrivateBest] {
                assert_eq!(column.value(run, &watch), Value::Missing);
            }
        }
        assert!(Column::shown(false).iter().all(|column| !column.title().contains('◆')));
        assert!(screen.order("1009", &Watch::open()).len() == 1);
        assert!(screen.order("1009", &watch).is_empty());
        for _ in 0..20 {
            screen.next_shown(&watch);
            assert!(!matches!(
                screen.shown,
                Shown::Series(Series::PrivateError) | Shown::Utility(Series::PrivateError)
            ));
        }
    }

    #[test]
    fn pins_keep_their_place_when_others_leave() {
        let mut screen = screen();
        let ids: Vec<RunId> = screen.runs().iter().map(|run| run.id.clone()).collect();
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
        let mut screen = screen();
        let ids: Vec<RunId> = screen.runs().iter().map(|run| run.id.clone()).collect();
        screen.toggle_pin(&ids[0]);
        screen.toggle_pin(&ids[1]);
        let differences = screen.differences();
        assert_eq!(differences.len(), 1, "{differences:?}");
        assert_eq!(differences[0], ("ε of this run".to_owned(), vec!["2".into(), "0.5".into()]));
    }
}
