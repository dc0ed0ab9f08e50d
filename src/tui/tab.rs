//! The screens and their parts by name.

/// Passes the one list of the screens to a macro. A line is the key that goes to the screen, its
/// name, and its state in a folder of `screen`.
macro_rules! each_screen {
    ($make:ident) => {
        $make! {
            ["1"] Data: data::DataScreen,
            ["2"] Rank: rank::RankScreen,
            ["3"] Plan: plan::PlanScreen,
            ["4"] Run: run::RunScreen,
            ["5"] Compare: compare::CompareScreen,
            ["6"] Ledger: ledger::LedgerScreen,
        }
    };
}
pub(super) use each_screen;

macro_rules! tabs {
    ($([$key:literal] $name:ident: $folder:ident::$state:ident,)*) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Tab {
            $($name,)*
        }

        impl Tab {
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            pub fn title(self) -> &'static str {
                match self {
                    $(Self::$name => stringify!($name),)*
                }
            }
        }
    };
}
each_screen!(tabs);

impl Tab {
    pub fn index(self) -> usize {
        self as usize
    }

    pub fn offset(self, by: isize) -> Self {
        let here = self.index() as isize;
        Self::ALL[(here + by).rem_euclid(Self::ALL.len() as isize) as usize]
    }
}

/// A part of a screen that can have the focus.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pane {
    pub name: &'static str,
    /// Whether the pane scrolls; the others have a selected row.
    pub scrolls: bool,
    /// Whether a filter shortens its list.
    pub filters: bool,
    /// Whether a second click on a row does what Enter does.
    pub enters: bool,
}

impl Pane {
    pub const fn list(name: &'static str) -> Self {
        Self { name, scrolls: false, filters: false, enters: false }
    }

    pub const fn scrolled(name: &'static str) -> Self {
        Self { scrolls: true, ..Self::list(name) }
    }
}

/// The charts of a screen.
pub const CHARTS: Pane = Pane::list("charts");
