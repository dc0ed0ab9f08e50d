//! tui
pub mod picture;
pub mod theme;
pub mod widgets;
