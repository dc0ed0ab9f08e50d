//! The line above the hint bar.

use crate::error::Error;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    Info,
    Good,
    Warning,
    Error,
}

#[derive(Debug, Clone)]
pub struct Notice {
    pub level: Level,
    pub text: String,
}

/// An error on one line.
pub fn one_line(error: &Error) -> String {
    error.to_string().replace("\n  what to do:", " —").replace('\n', " ")
}
