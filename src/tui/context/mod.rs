//! The state that screens share: the session, the data that were read, plans and their cost, runs,
//! the ledger. Through it a screen asks for work, opens a window, shows a message or goes to
//! another screen. State that only one screen needs is kept by that screen.
//!
//! | module | holds |
//! |---|---|
//! | `session` | saving, opening, undo, leaving |
//! | [`budget`] | a budget while it is typed |
//! | `datasets` | definitions of datasets and the data read from them |
//! | `split` | a dataset split into private and public parts |
//! | `plans` | the shown plan, its cost, launching it |
//! | `choice` | lets private records choose among plans |
//! | `elsewhere` | runs of other processes |
//! | `queue` | runs to be made one after another |
//! | `ranking` | starting a ranking |
//! | `reports` | reports of the engine's worker |

pub mod budget;
mod choice;
mod datasets;
mod elsewhere;
mod plans;
mod queue;
mod ranking;
mod reports;
mod session;
mod split;

use std::collections::{BTreeMap, VecDeque};
use std::path::PathBuf;
use std::sync::Arc;

use super::history::History;
use super::live_ranking::LiveRanking;
use super::live_rehearsal::LiveRehearsal;
use super::live_run::LiveRun;
use super::notice::{ErrorTopic, Level, Notice, one_line};
use super::popup::picker::{Item, Picker};
use super::popup::question::{Prompt, QuestionPopup};
use super::popup::{self, Then};
use super::tab::{Pane, Tab};
use super::widgets::text_field::TextField;
use crate::engine::lookup::{Digest, ExactRows, RunLife};
use crate::engine::sites::Place;
use crate::engine::timing::RunTime;
use crate::engine::worker::{JobId, Preview};
use crate::engine::{Request, look};
use crate::error::Error;
use crate::privacy::ledger::{AccountId, Book, RunId};
use crate::privacy::{Adjacency, CuratorOnly, Watch};
use crate::session::unsaved::{HeldFile, Unsaved};
use crate::session::{ArchivedRun, Loaded, PlanDefinition, ProgramState, Session, WhenClosed};

pub use plans::{TARGET, dropped};

pub type OpenPopup = popup::Popup<Context>;

/// The progress of the tutorial: see [`super::tutorial`].
#[derive(Debug, Default)]
pub struct Tutorial {
    /// The number of completed steps.
    pub(super) done: usize,
}

/// What becomes of the demo's workspace when the program ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DemoWorkspace {
    Removed,
    Kept,
}

pub struct Context {
    pub session: Session,
    pub session_path: Option<PathBuf>,
    /// What becomes of the demo's workspace, when this is the demo.
    pub demo: Option<DemoWorkspace>,
    /// The tutorial, while it is active.
    pub tutorial: Option<Tutorial>,
    /// The last written page or table.
    pub written: Option<PathBuf>,
    /// The files of a new session, until they were looked at.
    pub files: Vec<PathBuf>,
    /// Why the program ends.
    pub failed: Option<Error>,
    pub unsaved: bool,
    /// An unsaved session of a program that was killed, until the user says what becomes of it.
    pub lost: Option<(Unsaved, HeldFile)>,
    /// What the user asked for as soon as the session is saved.
    pub after_saving: Option<fn(&mut Self)>,
    /// The session as this interface last read it from its file or wrote it there.
    pub on_disk: Option<Session>,
    /// For public datasets that were compared with private rows: why theirs are withheld.
    pub compared: BTreeMap<String, Option<Error>>,
    /// Why datasets do not fit those with the same columns.
    pub misfits: BTreeMap<String, Error>,
    history: History,
    /// The read data, by the names of the session's datasets.
    pub datasets: BTreeMap<String, DatasetStatus>,
    /// Requested private rows.
    pub peeked: Option<(String, CuratorOnly<ExactRows>)>,
    pub plan: ShownPlan,
    pub queue: Queue,
    pub runs: Vec<LiveRun>,
    /// Places whose runs are watched, besides the workspace.
    pub watched: Vec<PathBuf>,
    /// Steps per second for the next run.
    pub pace: Option<f64>,
    pub ranking: LiveRanking,
    pub rehearsal: LiveRehearsal,
    /// The rehearsal of a plan as it is, asked for when it was to be launched.
    pub trial: LiveRehearsal,
    /// Runs of the workspace; `None` until their directories have been read once.
    pub archive: Option<Vec<ArchivedRun>>,
    pub book: Option<Book>,
    /// The sums of each account.
    pub digests: Vec<Digest>,
    /// Whether the view is sealed, and whether somebody looked.
    pub watch: Watch,
    /// The user's position, kept for the next time.
    pub state: ProgramState,
    /// The current screen. Screens change it by [`Context::go_to`].
    pub tab: Tab,
    attention: [Attention; Tab::ALL.len()],
    pub popup: Option<OpenPopup>,
    pub notice: Option<Notice>,
    /// What happens to runs when the terminal is closed.
    pub when_closed: WhenClosed,
    /// How many signals asked the program to end.
    pub signals: usize,
    /// Whether to stop all work, then leave.
    pub leaving: bool,
    pub quit: bool,
    /// What was typed in prompts, by their titles.
    pub typed: BTreeMap<String, Vec<String>>,
    /// The requested effects.
    pub effects: Vec<Effect>,
    /// The heads of the columns that were drawn last.
    pub(super) heads: Vec<String>,
    /// Changes that the screens have not heard of yet.
    pub(super) changes: VecDeque<Change>,
    pub(super) next_tab: Option<Tab>,
}

#[derive(Debug, Clone)]
pub enum DatasetStatus {
    /// With the share that has been read.
    Loading(f64),
    /// Read, with its account if it has one.
    Ready { loaded: Arc<Loaded>, account: Option<AccountId> },
    /// Reading failed.
    Failed(Error),
}

/// The shown plan and its cost.
#[derive(Debug, Default)]
pub struct ShownPlan {
    pub index: usize,
    pub preview: Option<Result<Box<Preview>, Error>>,
    /// The last plan that was timed, and the time of a run of it, if it could be timed.
    pub timed: Option<(PlanDefinition, Option<RunTime>)>,
    /// Whether a newer preview was requested.
    pub waiting: bool,
    /// Whether the launch is offered as soon as the ledger would grant it.
    pub launches: bool,
    /// Where it meets other sites if it is launched with them.
    pub sites: Option<Place>,
    /// The promise of the plan before it took the advised method, until the new one is known.
    pub promise: Option<Adjacency>,
}

/// Plans to be run one after another.
#[derive(Debug, Default)]
pub struct Queue {
    pub plans: Vec<PlanDefinition>,
    /// Whether the queue is being processed.
    pub working: bool,
    /// The current run of the queue.
    pub job: Option<JobId>,
}

/// The user's position on a screen.
#[derive(Debug, Default)]
struct Attention {
    pane: Option<Pane>,
    filter: TextField,
}

/// An effect that `update` requests.
#[derive(Debug)]
pub enum Effect {
    Ask(Box<Request>),
    Repaint,
    /// Put this on the clipboard of the terminal.
    Copy(String),
    /// Restore the terminal until the shell brings the program to the foreground.
    Suspend,
    /// Notify a user who looks elsewhere.
    Ring(String),
    /// Keep the unsaved session in this file from now on.
    KeepIn(HeldFile),
    /// Remove this file with an unsaved session.
    Discard(HeldFile),
}

/// A change of the shared state. Every screen is told, so that its selection stays valid.
#[derive(Debug)]
pub enum Change {
    /// Another session was opened.
    Opened,
    /// Undo or redo restored another state of the session.
    Restored,
    /// This dataset is new or has a new description.
    Described(String),
    Removed,
    /// A ranking has begun.
    Ranking,
    /// The first plan of the queue has left it.
    Dequeued,
    /// A run has begun; it is the last in the list.
    Launched,
    /// The runs in the archive have changed; with the earlier ones.
    Archive(Option<Vec<RunId>>),
    /// A run of another process was found; it is the last in the list.
    Met,
    Ledger,
}

impl Context {
    pub fn new(session: Session, session_path: Option<PathBuf>) -> Self {
        Self {
            history: History::new(&session),
            watch: look::view(session.sealed),
            on_disk: session_path.is_some().then(|| session.clone()),
            session,
            session_path,
            compared: BTreeMap::new(),
            misfits: BTreeMap::new(),
            lost: None,
            after_saving: None,
            demo: None,
            tutorial: None,
            written: None,
            files: Vec::new(),
            failed: None,
            unsaved: false,
            datasets: BTreeMap::new(),
            peeked: None,
            plan: ShownPlan::default(),
            queue: Queue::default(),
            runs: Vec::new(),
            watched: Vec::new(),
            pace: None,
            ranking: LiveRanking::default(),
            rehearsal: LiveRehearsal::default(),
            trial: LiveRehearsal::default(),
            archive: None,
            book: None,
            digests: Vec::new(),
            state: ProgramState::default(),
            tab: Tab::ALL[0],
            attention: Default::default(),
            popup: None,
            notice: None,
            leaving: false,
            quit: false,
            when_closed: WhenClosed::default(),
            signals: 0,
            typed: BTreeMap::new(),
            effects: Vec::new(),
            heads: Vec::new(),
            changes: VecDeque::new(),
            next_tab: None,
        }
    }

    /// Asks the engine's worker.
    pub fn ask(&mut self, request: Request) {
        self.effects.push(Effect::Ask(Box::new(request)));
    }

    fn note(&mut self, change: Change) {
        self.changes.push_back(change);
    }

    pub fn go_to(&mut self, tab: Tab) {
        self.next_tab = Some(tab);
    }

    pub fn say(&mut self, level: Level, text: impl Into<String>) {
        self.notice = Some(Notice { level, text: text.into(), cause: None });
    }

    pub fn inform(&mut self, text: impl Into<String>) {
        self.say(Level::Info, text);
    }

    pub fn warn(&mut self, text: impl Into<String>) {
        self.say(Level::Warning, text);
    }

    pub fn complain(&mut self, error: &Error) {
        self.say(Level::Error, one_line(error));
    }

    /// Shows an error that disappears when its cause is fixed.
    pub fn complain_of(&mut self, cause: ErrorTopic, error: &Error) {
        let notice = Notice { level: Level::Error, text: one_line(error), cause: Some(cause) };
        self.notice = Some(notice);
    }

    /// Removes an error without a specific cause: a user who goes to another screen has read it.
    pub fn leave_error(&mut self) {
        self.notice.take_if(|notice| notice.level == Level::Error && notice.cause.is_none());
    }

    /// Removes the notice: a user who presses a key has read it. An error stays until Esc, or until
    /// another screen is shown.
    pub fn read_notice(&mut self) {
        self.notice.take_if(|notice| notice.level != Level::Error);
    }

    /// Removes an error whose cause is fixed.
    pub fn mended(&mut self, cause: &ErrorTopic) {
        self.notice.take_if(|notice| notice.cause.as_ref() == Some(cause));
    }

    /// Asks whether to do something; `yes` is the word for it.
    pub fn confirm(
        &mut self,
        text: impl Into<String>,
        yes: &'static str,
        then: impl FnOnce(&mut Self) + 'static,
    ) {
        self.popup = Some(OpenPopup::Question(QuestionPopup::new(text, yes, then)));
    }

    /// Asks for a line of text; `take` says what is wrong with it.
    pub fn prompt(
        &mut self,
        title: impl Into<String>,
        help: impl Into<String>,
        text: &str,
        take: impl Fn(&mut Self, &str) -> Result<(), String> + 'static,
    ) {
        self.popup = Some(OpenPopup::Prompt(Prompt::new(title, help, text, take)));
    }

    /// Asks for a line of text that is always right.
    pub fn ask_for(
        &mut self,
        title: &str,
        help: &str,
        text: &str,
        then: impl Fn(&mut Self, &str) + 'static,
    ) {
        self.prompt(title, help, text, move |context, text| {
            then(context, text);
            Ok(())
        });
    }

    /// Offers a list to choose from.
    pub fn pick(&mut self, title: &str, items: Vec<Item<Then<Self>>>) {
        self.popup = Some(OpenPopup::Pick(Picker::new(title, items)));
    }

    /// Keeps where the user is, for the next time.
    pub fn remember_state(&mut self) {
        self.ask(Request::Remember(self.state.clone()));
    }

    /// Asks whether to leave the tutorial.
    pub fn ask_to_leave_tutorial(&mut self) {
        let text = "Leave the tutorial? You can go on here by yourself. To start it again, quit \
                    (q) and type halflight tutorial.";
        self.confirm(text, "leave", |context| {
            context.tutorial = None;
            context.inform("the tutorial is over; `halflight tutorial` starts it again");
        });
    }

    /// The part of the current screen that should have the focus.
    pub fn wanted_pane(&self) -> Option<Pane> {
        self.attention[self.tab.index()].pane
    }

    pub fn focus_on(&mut self, pane: Pane) {
        self.attention[self.tab.index()].pane = Some(pane);
    }

    /// The filter of the current screen.
    pub fn filter(&self) -> &str {
        self.filter_field().text()
    }

    pub fn filter_field(&self) -> &TextField {
        &self.attention[self.tab.index()].filter
    }

    pub fn filter_field_mut(&mut self) -> &mut TextField {
        &mut self.attention[self.tab.index()].filter
    }

    /// Whether a column with such a head is in a table on the screen; true before anything is drawn.
    pub fn is_drawn(&self, is_head: impl Fn(&str) -> bool) -> bool {
        self.heads.is_empty() || self.heads.iter().any(|drawn| is_head(drawn))
    }

    /// The title of a list that may be filtered.
    pub fn filtered_title(&self, title: &str) -> String {
        match self.filter() {
            "" => title.to_owned(),
            filter => format!("{title} · filter: {filter}"),
        }
    }

    /// The number of runs and rankings under way.
    pub fn working(&self) -> usize {
        let runs = self.runs.iter().filter(|run| run.is_at_work()).count();
        runs + usize::from(self.ranking.work.is_some())
    }

    pub fn is_rehearsing(&self) -> bool {
        self.rehearsal.work.is_some() || self.trial.work.is_some()
    }

    /// Whether the ledger knows a run whose program died.
    pub fn has_died_run(&self) -> bool {
        let mut entries = self.digests.iter().flat_map(|digest| &digest.entries);
        entries.any(|entry| entry.life == RunLife::Died)
    }

    /// The archived runs known so far.
    pub fn archived(&self) -> &[ArchivedRun] {
        self.archive.as_deref().unwrap_or_default()
    }
}
