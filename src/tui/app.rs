//! Everything the interface knows, in one struct. `update` changes it, `view`
//! shows it.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use super::plan_form::PlanField;
use super::popup::Popup;
use super::runs::RunView;
use super::theme::{Glyphs, Theme};
use super::widgets::field::Field as TextField;
use crate::data::Role;
use crate::engine::Request;
use crate::engine::desk::Preview;
use crate::error::Error;
use crate::privacy::Watch;
use crate::privacy::ledger::{Account, AccountId, Book};
use crate::session::{Loaded, Session};

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

    pub fn offset(self, by: isize) -> Self {
        let here = Self::ALL.iter().position(|tab| *tab == self).unwrap_or(0) as isize;
        Self::ALL[(here + by).rem_euclid(Self::ALL.len() as isize) as usize]
    }
}

#[derive(Debug)]
pub struct App {
    pub session: Session,
    pub session_path: Option<PathBuf>,
    /// Directory of the demo's workspace, when this is the demo.
    pub demo: Option<PathBuf>,
    pub unsaved: bool,
    pub tab: Tab,
    /// Sealed view and the knowledge of who looked.
    pub watch: Watch,
    pub theme: Theme,
    pub glyphs: Glyphs,
    pub data: DataScreen,
    pub plan: PlanScreen,
    pub run: RunScreen,
    pub ledger: LedgerScreen,
    pub popup: Option<Popup>,
    pub notice: Option<Notice>,
    /// Stop what runs, then leave.
    pub leaving: bool,
    pub quit: bool,
}

#[derive(Debug, Default)]
pub struct DataScreen {
    pub selected: usize,
    pub status: BTreeMap<String, DatasetStatus>,
}

#[derive(Debug, Clone)]
pub enum DatasetStatus {
    Loading,
    Ready { loaded: Arc<Loaded>, account: Option<AccountId> },
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
    pub runs: Vec<RunView>,
    pub selected: usize,
    pub log_loss: bool,
    /// Weight of the past in the moving average: 0, .6 or .9.
    pub smoothing: f64,
    /// Charts stop at this step.
    pub frozen: Option<f64>,
    pub window: Option<(f64, f64)>,
    pub cursor: Option<f64>,
    /// Steps per second for the next run.
    pub pace: Option<f64>,
}

#[derive(Debug, Default)]
pub struct LedgerScreen {
    pub book: Option<Book>,
    pub selected: usize,
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
            session,
            session_path,
            demo: None,
            unsaved: false,
            tab: Tab::Data,
            watch: Watch::open(),
            theme,
            glyphs,
            data: DataScreen::default(),
            plan: PlanScreen::default(),
            run: RunScreen::default(),
            ledger: LedgerScreen::default(),
            popup: None,
            notice: None,
            leaving: false,
            quit: false,
        }
    }

    /// What to ask for when the interface opens or another session is loaded.
    pub fn first_requests(&mut self) -> Vec<Effect> {
        let mut effects: Vec<Effect> = Vec::new();
        for definition in &self.session.datasets {
            self.data.status.insert(definition.name.clone(), DatasetStatus::Loading);
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
    }

    pub fn selected_run(&self) -> Option<&RunView> {
        self.run.runs.get(self.run.selected)
    }

    pub fn selected_account(&self) -> Option<&Account> {
        self.ledger.book.as_ref()?.accounts.get(self.ledger.selected)
    }

    pub fn working(&self) -> usize {
        self.run.runs.iter().filter(|run| !run.has_ended()).count()
    }

    pub fn names_with(&self, role: Role) -> Vec<String> {
        let datasets = self.session.datasets.iter().filter(|dataset| dataset.role == role);
        datasets.map(|dataset| dataset.name.clone()).collect()
    }
}

/// An error on one line, for the notice.
pub fn one_line(error: &Error) -> String {
    error.to_string().replace("\n  what to do:", " —").replace('\n', " ")
}
