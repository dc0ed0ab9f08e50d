//! The error of the accountant and the samplers.

use std::fmt;

/// The result of what can fail here.
pub type Result<T> = std::result::Result<T, Error>;

/// The kind of failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// A computation failed.
    Failed,
    /// The request makes no sense.
    Usage,
    /// No noise gives the wanted guarantee, or the guarantee does not allow the release.
    Refused,
}

/// A failure: what is wrong, where, and what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    /// The kind of failure.
    pub kind: ErrorKind,
    /// What is wrong.
    pub what: String,
    /// Where, for instance which release of a plan.
    pub place: Option<String>,
    /// What to do.
    pub cure: Option<String>,
}

impl Error {
    fn new(kind: ErrorKind, what: impl Into<String>) -> Self {
        Self { kind, what: what.into(), place: None, cure: None }
    }

    pub(crate) fn failed(what: impl Into<String>) -> Self {
        Self::new(ErrorKind::Failed, what)
    }

    pub(crate) fn usage(what: impl Into<String>) -> Self {
        Self::new(ErrorKind::Usage, what)
    }

    pub(crate) fn refused(what: impl Into<String>) -> Self {
        Self::new(ErrorKind::Refused, what)
    }

    pub(crate) fn at(mut self, place: impl Into<String>) -> Self {
        self.place = Some(place.into());
        self
    }

    pub(crate) fn cure(mut self, cure: impl Into<String>) -> Self {
        self.cure = Some(cure.into());
        self
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(place) = &self.place {
            write!(f, "{place}: ")?;
        }
        f.write_str(&self.what)?;
        self.cure.iter().try_for_each(|cure| write!(f, "\n  what to do: {cure}"))
    }
}

impl std::error::Error for Error {}

impl From<Error> for halflight_base::Error {
    fn from(error: Error) -> Self {
        let Error { kind, what, place, cure } = error;
        let mut told = match kind {
            ErrorKind::Failed => Self::failed(what),
            ErrorKind::Usage => Self::usage(what),
            ErrorKind::Refused => Self::refused(what),
        };
        if let Some(place) = place {
            told = told.at(place);
        }
        match cure {
            Some(cure) => told.cure(cure),
            None => told,
        }
    }
}
