//! The one error of the library. Every failure says what happened, where, and what the user can do.

use std::fmt;
use std::path::Path;

/// The result of nearly every function that can fail.
pub type Result<T> = std::result::Result<T, Error>;

/// The kind of failure, which decides the exit code of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// Something failed while working.
    Failed,
    /// The request itself makes no sense (bad argument, bad setting).
    Usage,
    /// The privacy budget or a privacy rule refuses it.
    Refused,
    /// The user stopped it.
    Interrupted,
}

/// A failure with its place and its cure.
///
/// The text names files, lines and columns but never the contents of a cell, because it may end up
/// in logs, reports and files of results. A cell that helps to find the fault is its *quote*, which
/// only [`Error::for_curator`] shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    kind: ErrorKind,
    what: String,
    place: Option<String>,
    cure: Option<String>,
    action: Option<Box<Action>>,
    quote: Option<Quote>,
}

/// The action on the ledger that a cure needs. The interface says which command or key does it: see
/// [`Error::action`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// `None` for a dataset that has no account yet.
    SetBudget { account: Option<String> },
    /// Raise a budget where it is set: in the ledger for this account, in the session, or in both.
    RaiseBudget { account: Option<String>, in_session: bool },
    /// Give the account this budget, "ε δ", although its δ is large.
    AllowDelta { account: String, budget: String },
    /// Continue although something about this account is unknown.
    Accept { account: String },
    /// Continue without the records under this lost secret.
    DoWithout { secret: String },
    /// Say that no other machine uses the workspace.
    TrustLocks,
    /// Set a damaged ledger aside, and accept that something is then unknown.
    Repair,
    /// List the accounts of the ledger.
    ListAccounts,
    /// Say that another trainer's file was corrected since it was charged.
    MendClaim,
}

/// Contents of a file. No `Debug`, so that it cannot get into a log.
#[derive(Clone, PartialEq, Eq)]
struct Quote(String);

impl fmt::Debug for Quote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Quote(…)")
    }
}

/// A longer quote is cut.
const LONGEST_QUOTE: usize = 60;

impl Error {
    /// An error of this kind.
    pub fn new(kind: ErrorKind, what: impl Into<String>) -> Self {
        Self { kind, what: what.into(), place: None, cure: None, action: None, quote: None }
    }

    /// Something went wrong: exit code 1.
    pub fn failed(what: impl Into<String>) -> Self {
        Self::new(ErrorKind::Failed, what)
    }

    /// The request makes no sense: exit code 2.
    pub fn usage(what: impl Into<String>) -> Self {
        Self::new(ErrorKind::Usage, what)
    }

    /// A guarantee or a budget does not allow it: exit code 3.
    pub fn refused(what: impl Into<String>) -> Self {
        Self::new(ErrorKind::Refused, what)
    }

    /// The user ended it: exit code 130.
    pub fn interrupted(what: impl Into<String>) -> Self {
        Self::new(ErrorKind::Interrupted, what)
    }

    /// A failed call of the operating system on `path`.
    pub fn io(doing: &str, path: &Path, source: &std::io::Error) -> Self {
        use std::io::ErrorKind;
        let error =
            Self::failed(format!("cannot {doing}: {source}")).at(path.display().to_string());
        match source.kind() {
            ErrorKind::NotFound => error.cure("check the path"),
            ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
                error.cure("change its permissions, or choose another place")
            }
            ErrorKind::StorageFull => error.cure("free some space on this disk"),
            _ => error,
        }
    }

    /// Where it happened: `file`, `file:line`, `file:line, column 'x'`.
    pub fn at(mut self, place: impl Into<String>) -> Self {
        self.place = Some(place.into());
        self
    }

    /// What the user can do.
    pub fn cure(mut self, cure: impl Into<String>) -> Self {
        self.cure = Some(cure.into());
        self
    }

    /// The action on the ledger that the cure needs.
    pub fn asking(mut self, action: Action) -> Self {
        self.action = Some(Box::new(action));
        self
    }

    /// With the words of an interface for this action.
    pub fn in_words(&self, words: impl FnOnce(&Action) -> String) -> Self {
        let Some(action) = &self.action else { return self.clone() };
        let words = words(action);
        let cure =
            self.cure.as_ref().map_or_else(|| words.clone(), |cure| format!("{cure}: {words}"));
        Self { cure: Some(cure), action: None, ..self.clone() }
    }

    /// The contents of the cell: exact, so only for the curator.
    pub fn quoting(mut self, cell: impl fmt::Display) -> Self {
        let text = cell.to_string();
        let cut = text.chars().count() > LONGEST_QUOTE;
        let short: String = text.chars().take(LONGEST_QUOTE).collect();
        self.quote = Some(Quote(if cut { short + "…" } else { short }));
        self
    }

    /// The whole text and the quote, marked as exact: for an open view on a terminal.
    pub fn for_curator(&self) -> String {
        match &self.quote {
            Some(Quote(quote)) => format!("{self}\n  ◆ found there: '{quote}'"),
            None => self.to_string(),
        }
    }

    /// Places the error in a part of something larger: a plan, a dataset.
    pub fn within(mut self, part: &str) -> Self {
        self.what = format!("{part}: {}", self.what);
        self
    }

    /// The kind of failure.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// What went wrong, in words.
    pub fn what(&self) -> &str {
        &self.what
    }

    /// Where: a file, a line, a record.
    pub fn place(&self) -> Option<&str> {
        self.place.as_deref()
    }

    /// The action on the ledger that the cure needs, if any.
    pub fn action(&self) -> Option<&Action> {
        self.action.as_deref()
    }

    /// What to do about it.
    pub fn cure_text(&self) -> Option<&str> {
        self.cure.as_deref()
    }
}

/// Says what a call of the operating system was for.
pub trait Doing<T> {
    /// The value, or the error of a call on `path`, as in `std::fs::read(path).doing("read", path)`.
    fn doing(self, what: &str, path: &Path) -> Result<T>;

    /// The value; `None` if the file does not exist.
    fn if_there(self) -> std::io::Result<Option<T>>;
}

impl<T> Doing<T> for std::io::Result<T> {
    fn doing(self, what: &str, path: &Path) -> Result<T> {
        self.map_err(|error| Error::io(what, path, &error))
    }

    fn if_there(self) -> std::io::Result<Option<T>> {
        match self {
            Ok(value) => Ok(Some(value)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(place) = &self.place {
            write!(f, "{place}: ")?;
        }
        f.write_str(&self.what)?;
        if let Some(cure) = &self.cure {
            write!(f, "\n  what to do: {cure}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_names_place_reason_and_cure_in_that_order() {
        let error = Error::failed("expected a number")
            .at("a.csv:17, column 'temp'")
            .cure("mark the column as categorical");
        assert_eq!(
            error.to_string(),
            "a.csv:17, column 'temp': expected a number\n  what to do: mark the column as categorical"
        );
    }

    #[test]
    fn only_the_curator_is_shown_what_stands_in_a_cell() {
        let error = Error::failed("expected a number").at("a.csv:17").quoting("HIV+");
        for text in [error.to_string(), format!("{error:?}"), error.what().to_owned()] {
            assert!(!text.contains("HIV"), "{text}");
        }
        assert_eq!(error.for_curator(), "a.csv:17: expected a number\n  ◆ found there: 'HIV+'");
        let long = Error::failed("x").quoting("é".repeat(100)).for_curator();
        assert!(long.contains(&format!("'{}…'", "é".repeat(60))), "{long}");
    }
}
