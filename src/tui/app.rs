//! The whole state of the interface: the shared state, the screens, and how they are shown.

use std::path::PathBuf;

use ratatui::layout::Position;

use super::canvas::Border;
use super::context::{Context, Effect};
use super::keys::{Binding, Key, also, shown};
use super::pictures::Drawing;
use super::screen::{self, Screen};
use super::tab::{Pane, Tab, each_screen};
use super::theme::{Glyphs, Theme};
use super::widgets::viewport::Viewport;
use crate::engine::Request;
use crate::session::Session;

pub struct App {
    pub context: Context,
    pub screens: Screens,
    /// Whether the filter of the current screen is being typed.
    pub filtering: bool,
    /// Whether the focused part fills the whole screen.
    pub maximised: bool,
    pub theme: Theme,
    pub glyphs: Glyphs,
    /// Columns and rows of the last frame.
    pub size: (u16, u16),
    /// The border that the mouse drags, or has clicked once.
    pub grabbed: Grabbed,
    /// Whether the program uses the mouse.
    pub mouse: bool,
    /// How images are drawn.
    pub pictures: Drawing,
    /// The path of the config file, for the help.
    pub config_file: Option<PathBuf>,
}

/// What the mouse does with a border between two parts of a screen.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Grabbed {
    #[default]
    Nothing,
    /// The button is down since it was pressed in this cell; after a first click, or not.
    Pressed(Border, Position, bool),
    Dragged(Border, Position),
    /// The border was clicked, and the mouse has not moved since.
    Clicked(&'static str),
}

macro_rules! screens {
    ($([$key:literal] $name:ident: $folder:ident::$state:ident,)*) => {
        /// Every screen with its own state.
        #[derive(Debug, Default)]
        pub struct Screens {
            $(pub $folder: screen::$folder::$state,)*
        }

        impl Screens {
            pub fn get(&self, tab: Tab) -> &dyn Screen {
                match tab {
                    $(Tab::$name => &self.$folder,)*
                }
            }

            pub fn get_mut(&mut self, tab: Tab) -> &mut dyn Screen {
                match tab {
                    $(Tab::$name => &mut self.$folder,)*
                }
            }

            /// The words of a screen's keys.
            pub fn keys(tab: Tab) -> Vec<&'static Key> {
                match tab {
                    $(Tab::$name => {
                        screen::$folder::$state::keys().iter().map(|it| &it.key).collect()
                    })*
                }
            }

            /// Calls the function of a screen's key.
            fn call(&mut self, tab: Tab, place: usize, context: &mut Context) {
                match tab {
                    $(Tab::$name => {
                        (screen::$folder::$state::keys()[place].call)(&mut self.$folder, context);
                    })*
                }
            }
        }

        /// The keys that go to a screen.
        pub const TAB_KEYS: &[Binding<fn(&mut App)>] = &[
            $(also(
                &[$key],
                stringify!($name),
                concat!("go to ", stringify!($name)),
                |app| app.go_to(Tab::$name),
            ),)*
        ];
    };
}
each_screen!(screens);

impl App {
    pub fn new(
        session: Session,
        session_path: Option<PathBuf>,
        theme: Theme,
        glyphs: Glyphs,
    ) -> Self {
        Self {
            context: Context::new(session, session_path),
            screens: Screens::default(),
            filtering: false,
            maximised: false,
            theme,
            glyphs,
            size: (80, 24),
            grabbed: Grabbed::default(),
            mouse: true,
            pictures: Drawing::HalfBlocks,
            config_file: None,
        }
    }

    /// What to ask for when the interface opens.
    pub fn first_requests(&mut self) -> Vec<Effect> {
        self.context.ask_for_everything();
        if !self.context.files.is_empty() {
            self.context.ask(Request::OpenFiles(self.context.files.clone()));
        }
        self.context.offer_lost();
        // A session that was named on the command line is a recent one, too.
        if let Some(path) = self.context.session_path.clone() {
            self.context.remember(path);
        }
        std::mem::take(&mut self.context.effects)
    }

    pub fn screen(&self) -> &dyn Screen {
        self.screens.get(self.context.tab)
    }

    pub fn screen_mut(&mut self) -> (&mut dyn Screen, &mut Context) {
        (self.screens.get_mut(self.context.tab), &mut self.context)
    }

    pub fn go_to(&mut self, tab: Tab) {
        self.filtering = false;
        self.screen_mut().0.stop_typing();
        if tab != self.context.tab {
            self.context.leave_error();
        }
        self.context.tab = tab;
        self.maximised = false;
        let (screen, context) = self.screen_mut();
        screen.open(context);
    }

    /// Shows the screen of a key and calls the key's function, or says why it has no effect.
    pub fn call(&mut self, tab: Tab, place: usize) {
        if tab != self.context.tab {
            self.go_to(tab);
        }
        let key = Screens::keys(tab)[place];
        match self.screen().hindrance(key.name, &self.context) {
            None => self.screens.call(tab, place, &mut self.context),
            Some(why) => {
                let pressed = key.keys.first().map_or(":".to_owned(), |key| shown(key));
                self.context.inform(format!("{pressed} ({}): {why}", key.name));
            }
        }
    }

    /// Tells the screens about every change and goes to the requested screen, until nothing is left
    /// to do.
    pub fn settle(&mut self) {
        loop {
            if let Some(change) = self.context.changes.pop_front() {
                for tab in Tab::ALL {
                    self.screens.get_mut(*tab).follow(&change, &mut self.context);
                }
            } else if let Some(tab) = self.context.next_tab.take() {
                self.go_to(tab);
            } else {
                return;
            }
        }
    }

    /// Changes the view of the screen's charts.
    pub fn look(&mut self, change: impl FnOnce(&mut Viewport, (f64, f64))) {
        let (screen, context) = self.screen_mut();
        if let Some((viewport, whole)) = screen.charts(context) {
            change(viewport, whole);
        }
    }

    /// The focused part of the screen.
    pub fn pane(&self) -> Option<Pane> {
        self.screen().focus(&self.context)
    }

    pub fn move_focus(&mut self, by: isize) {
        let panes = self.screen().panes(&self.context);
        let here = panes.iter().position(|pane| Some(*pane) == self.pane()).unwrap_or(0);
        let next = (here as isize + by).rem_euclid(panes.len().max(1) as isize);
        if let Some(pane) = panes.get(next as usize) {
            self.context.focus_on(*pane);
        }
    }

    pub fn focus_on(&mut self, pane: Pane) {
        if self.screen().panes(&self.context).contains(&pane) {
            self.context.focus_on(pane);
        }
    }

    /// Moves the selection of the focused list.
    pub fn select(&mut self, by: isize) {
        if let Some(pane) = self.pane() {
            self.select_in(pane, by);
        }
    }

    pub fn select_in(&mut self, pane: Pane, by: isize) {
        let (screen, context) = self.screen_mut();
        screen.select(pane, by, context);
    }

    pub fn start_filter(&mut self) {
        match self.screen().panes(&self.context).into_iter().find(|pane| pane.filters) {
            Some(pane) => {
                self.filtering = true;
                self.focus_on(pane);
            }
            None => self.context.inform("there is no list to filter here"),
        }
    }

    /// Leaves one layer: the notice, the filter, the full screen, then the screen's own layers.
    /// Windows and typed fields take Esc before this.
    pub fn step_out(&mut self) {
        if self.context.notice.take().is_some() {
            return;
        }
        if !self.context.filter().is_empty() {
            self.context.filter_field_mut().set("");
            return;
        }
        if std::mem::take(&mut self.maximised) {
            return;
        }
        let (screen, context) = self.screen_mut();
        if screen.step_out(context) {
            return;
        }
        if context.tutorial.is_some() {
            context.ask_to_leave_tutorial();
        } else if let Some(first) = screen.panes(context).first() {
            context.focus_on(*first);
        }
    }
}
