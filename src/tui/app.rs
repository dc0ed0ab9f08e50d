//! Everything the interface knows, in one struct. `update` changes it, `view`
//! shows it.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use super::compare::CompareScreen;
use super::fuzzy;
use super::history::History;
use super::live_run::LiveRun;
use super::plan_form::{self, PlanField};
use super::popup::Popup;
use super::rank::RankScreen;
use super::theme::{Glyphs, Theme};
use super::widgets::text_field::TextField;
use super::widgets::viewport::Viewport;
use crate::data::Role;
use crate::engine::Request;
use crate::engine::desk::{JobId, Preview};
use crate::engine::shelf::{Digest, Rows};
use crate::error::Error;
use crate::privacy::ledger::{Account, AccountId, Book};
use crate::privacy::{CuratorOnly, Watch};
use crate::session::{Loaded, PlanDefinition, Session, State};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tab {
    Data,
    Rank,
    Plan,
    Run,
    Compare,
    Ledger,
}

impl Tab {
    pub const ALL: [Self; 6] =
        [Self::Data, Self::Rank, Self::Plan, Self::Run, Self::Compare, Self::Ledger];

    pub fn title(self) -> &'static str {
        match self {
            Self::Data => "Data",
            Self::Rank => "Rank",
            Self::Plan => "Plan",
            Self::Run => "Run",
            Self::Compare => "Compare",
            Self::Ledger => "Ledger",
        }
    }

    pub fn index(self) -> usize {
        Self::ALL.iter().position(|tab| *tab == self).unwrap_or(0)
    }

    pub fn offset(self, by: isize) -> Self {
        let here = self.index() as isize;
        Self::ALL[(here + by).rem_euclid(Self::ALL.len() as isize) as usize]
    }
}

/// A part of a screen that can have the focus. Lists move with ↑ and ↓.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pane {
    Datasets,
    /// Rows of the selected dataset.
    Rows,
    /// Fields of the plan.
    Fields,
    Queue,
    Runs,
    Charts,
    Log,
    /// Ranked datasets.
    Candidates,
    /// Archived runs.
    Archive,
    Accounts,
    Entries,
}

#[derive(Debug)]
#[allow(clippy::struct_excessive_bools)] // a state, not a set of options
pub struct App {
    pub session: Session,
    pub session_path: Option<PathBuf>,
    /// Directory of the demo's workspace, when this is the demo.
    pub demo: Option<PathBuf>,
    pub unsaved: bool,
    pub history: History,
    pub tab: Tab,
    /// Which part of each screen has the focus.
    focus: [usize; Tab::ALL.len()],
    filters: [TextField; Tab::ALL.len()],
    /// The filter of this screen is being typed.
    pub filtering: bool,
    /// Sealed view and the knowledge of who looked.
    pub watch: Watch,
    pub theme: Theme,
    pub glyphs: Glyphs,
    pub data: DataScreen,
    pub rank: RankScreen,
    pub plan: PlanScreen,
    pub run: RunScreen,
    pub compare: CompareScreen,
    pub ledger: LedgerScreen,
    pub popup: Option<Popup>,
    pub notice: Option<Notice>,
    /// Columns and rows of the last frame.
    pub size: (u16, u16),
    /// Where the user was, kept for the next time.
    pub state: State,
    /// Whether the mouse is taken from the terminal.
    pub mouse: bool,
    /// The path of the config file, for the help.
    pub config_file: Option<PathBuf>,
    /// Stop what runs, then leave.
    pub leaving: bool,
    pub quit: bool,
}

#[derive(Debug, Default)]
pub struct DataScreen {
    pub selected: usize,
    pub status: BTreeMap<String, DatasetStatus>,
    /// First row and first column of the preview.
    pub row: usize,
    pub column: usize,
    /// Private rows that were asked for.
    pub peeked: Option<(String, CuratorOnly<Rows>)>,
}

#[derive(Debug, Clone)]
pub enum DatasetStatus {
    /// Which share has been read.
    Loading(f64),
    Ready {
        loaded: Arc<Loaded>,
        account: Option<AccountId>,
    },
    Failed(Error),
}

#[derive(Debug, Default)]
pub struct PlanScreen {
    pub plan: usize,
    pub field: usize,
    pub editing: Option<Editing>,
    pub preview: Option<Result<Box<Preview>, Error>>,
    /// A newer preview has been asked for.
    pub waiting: bool,
    /// Plans to be run one after the other.
    pub queue: Vec<PlanDefinition>,
    pub queued: usize,
    /// The queue is being worked off.
    pub working: bool,
    /// The run of the queue that is under way.
    pub queue_job: Option<JobId>,
    /// The picker of earlier runs opens when the archive arrives.
    pub wants_runs: bool,
}

/// A field being typed into.
#[derive(Debug)]
pub struct Editing {
    pub field: PlanField,
    pub text: TextField,
    pub problem: Option<String>,
}

#[derive(Debug, Default)]
pub struct RunScreen {
    pub runs: Vec<LiveRun>,
    pub selected: usize,
    pub viewport: Viewport,
    /// Line of the log; the last one follows what arrives.
    pub line: Option<usize>,
    /// Steps per second for the next run.
    pub pace: Option<f64>,
}

#[derive(Debug, Default)]
pub struct LedgerScreen {
    pub book: Option<Book>,
    /// What each account adds up to.
    pub digests: Vec<Digest>,
    pub selected: usize,
    /// Index into the runs of the account.
    pub entry: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    Info,
    Good,
    Warning,
    Error,
}

/// The line above the hint bar.
#[derive(Debug, Clone)]
pub struct Notice {
    pub level: Level,
    pub text: String,
}

/// What `update` wants done outside.
#[derive(Debug)]
pub enum Effect {
    Ask(Box<Request>),
    Repaint,
    /// Put this on the clipboard of the terminal.
    Copy(String),
}

impl Effect {
    pub fn ask(request: Request) -> Self {
        Self::Ask(Box::new(request))
    }
}

impl App {
    pub fn new(
        session: Session,
        session_path: Option<PathBuf>,
        theme: Theme,
        glyphs: Glyphs,
    ) -> Self {
        Self {
            history: History::new(&session),
            session,
            session_path,
            demo: None,
            unsaved: false,
            tab: Tab::Data,
            focus: Default::default(),
            filters: Default::default(),
            filtering: false,
            watch: Watch::open(),
            theme,
            glyphs,
            data: DataScreen::default(),
            rank: RankScreen::default(),
            plan: PlanScreen::default(),
            run: RunScreen::default(),
            compare: CompareScreen::default(),
            ledger: LedgerScreen::default(),
            popup: None,
            notice: None,
            size: (80, 24),
            state: State::default(),
            mouse: true,
            config_file: None,
            leaving: false,
            quit: false,
        }
    }

    /// What to ask for when the interface opens or another session is loaded.
    pub fn first_requests(&mut self) -> Vec<Effect> {
        let mut effects: Vec<Effect> = Vec::new();
        for definition in &self.session.datasets {
            self.data.status.insert(definition.name.clone(), DatasetStatus::Loading(0.0));
            effects.push(Effect::ask(Request::Load(definition.clone())));
        }
        effects.push(Effect::ask(Request::Ledger));
        effects.extend(self.ask_preview());
        effects
    }

    /// Asks what the shown plan costs.
    pub fn ask_preview(&mut self) -> Option<Effect> {
        let Some(plan) = self.session.plans.get(self.plan.plan) else {
            self.plan.preview = None;
            return None;
        };
        self.plan.waiting = true;
        Some(Effect::ask(Request::Preview { session: self.session.clone(), plan: plan.clone() }))
    }

    pub fn say(&mut self, level: Level, text: impl Into<String>) {
        self.notice = Some(Notice { level, text: text.into() });
    }

    pub fn complain(&mut self, error: &Error) {
        self.say(Level::Error, one_line(error));
    }

    /// The session changed and differs from what is on disk.
    pub fn changed(&mut self) {
        self.unsaved = true;
        self.history.note(&self.session);
    }

    /// The parts of this screen that can have the focus.
    pub fn panes(&self) -> Vec<Pane> {
        let mut panes = match self.tab {
            Tab::Data => vec![Pane::Datasets, Pane::Rows],
            Tab::Rank => vec![Pane::Candidates],
            Tab::Plan => vec![Pane::Fields, Pane::Queue],
            Tab::Run => vec![Pane::Charts, Pane::Runs, Pane::Log],
            Tab::Compare => vec![Pane::Archive, Pane::Charts],
            Tab::Ledger => vec![Pane::Accounts, Pane::Entries],
        };
        panes.retain(|pane| match pane {
            Pane::Queue => !self.plan.queue.is_empty(),
            Pane::Runs => self.run.runs.len() > 1,
            _ => true,
        });
        panes
    }

    pub fn pane(&self) -> Option<Pane> {
        let panes = self.panes();
        panes.get(self.focus[self.tab.index()]).or(panes.first()).copied()
    }

    pub fn move_focus(&mut self, by: isize) {
        let count = self.panes().len() as isize;
        if count > 0 {
            let focus = &mut self.focus[self.tab.index()];
            let here = (*focus as isize).min(count - 1);
            *focus = (here + by).rem_euclid(count) as usize;
        }
    }

    pub fn focus_on(&mut self, pane: Pane) {
        if let Some(place) = self.panes().iter().position(|it| *it == pane) {
            self.focus[self.tab.index()] = place;
        }
    }

    /// The filter of this screen.
    pub fn filter(&self) -> &str {
        self.filters[self.tab.index()].text()
    }

    pub fn filter_field(&self) -> &TextField {
        &self.filters[self.tab.index()]
    }

    pub fn filter_field_mut(&mut self) -> &mut TextField {
        &mut self.filters[self.tab.index()]
    }

    /// Which entries of a list are shown, and in which order, as indices.
    pub fn visible(&self, pane: Pane) -> Vec<usize> {
        match pane {
            Pane::Datasets => self.visible_datasets(),
            Pane::Rows => (0..self.preview_rows()).collect(),
            Pane::Fields => {
                let plan = self.session.plans.get(self.plan.plan);
                (0..plan.map_or(0, |plan| plan_form::fields(plan).len())).collect()
            }
            Pane::Queue => (0..self.plan.queue.len()).collect(),
            Pane::Candidates => (0..self.rank.rows(&self.watch).len()).collect(),
            Pane::Runs | Pane::Charts if self.tab == Tab::Run => (0..self.run.runs.len()).collect(),
            Pane::Runs | Pane::Charts | Pane::Archive => {
                self.compare.order(self.filter(), &self.watch)
            }
            Pane::Log => self.visible_log(),
            Pane::Accounts => {
                (0..self.ledger.book.as_ref().map_or(0, |book| book.accounts.len())).collect()
            }
            Pane::Entries => self.visible_entries(),
        }
    }

    fn visible_datasets(&self) -> Vec<usize> {
        let passes = |index: &usize| {
            let dataset = &self.session.datasets[*index];
            let role = match dataset.role {
                Role::Private => "private",
                Role::Public => "public",
            };
            let words = [Some(&dataset.name), dataset.label.as_ref(), dataset.filter.as_ref()];
            let words: Vec<&str> = words.into_iter().flatten().map(String::as_str).collect();
            fuzzy::holds(self.filter(), &format!("{} {role}", words.join(" ")))
        };
        (0..self.session.datasets.len()).filter(passes).collect()
    }

    fn visible_log(&self) -> Vec<usize> {
        let log = self.selected_run().map(|run| run.log.as_slice()).unwrap_or_default();
        (0..log.len())
            .filter(|&line| fuzzy::holds(self.filter(), log[line].text(&self.watch)))
            .collect()
    }

    /// Entries of the selected account, the newest first.
    pub fn visible_entries(&self) -> Vec<usize> {
        let runs = self.selected_account().map(|account| account.runs.as_slice());
        let runs = runs.unwrap_or_default();
        let Some(digest) = self.selected_digest() else { return Vec::new() };
        let passes = |index: &usize| {
            let cells = super::view::ledger::entry_cells(&runs[*index], &digest.entries[*index]);
            fuzzy::holds(self.filter(), &cells.join(" "))
        };
        (0..runs.len().min(digest.entries.len())).rev().filter(passes).collect()
    }

    /// How many rows of the selected dataset can be seen.
    pub fn preview_rows(&self) -> usize {
        match self.preview_of_selected() {
            Some(RowsShown::Public(loaded)) => loaded.rows,
            Some(RowsShown::Private(rows)) => rows.rows.len(),
            None => 0,
        }
    }

    /// The rows that may be shown of the selected dataset.
    pub fn preview_of_selected(&self) -> Option<RowsShown<'_>> {
        let definition = self.session.datasets.get(self.data.selected)?;
        if definition.role == Role::Private {
            let (name, rows) = self.data.peeked.as_ref()?;
            return rows
                .reveal(&self.watch)
                .filter(|_| *name == definition.name)
                .map(RowsShown::Private);
        }
        match self.data.status.get(&definition.name)? {
            DatasetStatus::Ready { loaded, .. } => {
                loaded.public().is_ok().then_some(RowsShown::Public(loaded))
            }
            _ => None,
        }
    }

    pub fn selected_run(&self) -> Option<&LiveRun> {
        self.run.runs.get(self.run.selected)
    }

    pub fn selected_account(&self) -> Option<&Account> {
        self.ledger.book.as_ref()?.accounts.get(self.ledger.selected)
    }

    pub fn selected_digest(&self) -> Option<&Digest> {
        self.ledger.digests.get(self.ledger.selected)
    }

    pub fn working(&self) -> usize {
        let runs = self.run.runs.iter().filter(|run| !run.has_ended()).count();
        runs + usize::from(self.rank.work.is_some())
    }

    pub fn names_with(&self, role: Role) -> Vec<String> {
        let datasets = self.session.datasets.iter().filter(|dataset| dataset.role == role);
        datasets.map(|dataset| dataset.name.clone()).collect()
    }
}

/// Rows that may be seen.
#[derive(Debug, Clone, Copy)]
pub enum RowsShown<'a> {
    Public(&'a Loaded),
    Private(&'a Rows),
}

/// An error on one line, for the notice.
pub fn one_line(error: &Error) -> String {
    error.to_string().replace("\n  what to do:", " —").replace('\n', " ")
}
