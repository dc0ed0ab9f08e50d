//! The line above the hint bar.

use crate::error::{Action, Error};

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
    /// Cause of an error; the notice disappears when it is fixed.
    pub cause: Option<ErrorTopic>,
}

/// The subject of an error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ErrorTopic {
    /// A dataset that could not be read, by its name.
    Dataset(String),
    /// The shown plan.
    Plan,
    Ranking,
}

/// An error on one line, its cure with the keys that help.
pub fn one_line(error: &Error) -> String {
    with_keys(error).to_string().replace("\n  what to do:", " —").replace('\n', " ")
}

/// An error with the keys for the ledger action of its cure.
pub fn with_keys(error: &Error) -> Error {
    error.in_words(|action| {
        let keys = match action {
            Action::SetBudget { .. } => {
                "b on the Ledger screen (6), or under `budgets` in the session"
            }
            Action::RaiseBudget { .. } => "b on the Ledger screen (6)",
            Action::TrustLocks => "outside, with HALFLIGHT_ONE_MACHINE=1",
            Action::DoWithout { .. } => "outside, with `halflight ledger accept`",
            Action::AllowDelta { .. } => "b on the Ledger screen (6), which says how",
            Action::Accept { .. } => "A on the Ledger screen (6)",
            Action::Repair => "R, then A on the Ledger screen (6)",
            Action::MendClaim => "outside, with `halflight ledger claim --mended`",
            Action::ListAccounts => "the Ledger screen (6) shows them",
        };
        keys.to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_of_the_ledger_names_the_key_that_helps() {
        let account = "acc-1".to_owned();
        let refusal = Error::refused("no total").cure("go on").asking(Action::Accept { account });
        assert_eq!(one_line(&refusal), "no total — go on: A on the Ledger screen (6)");
        assert_eq!(one_line(&Error::failed("no").cure("wait")), "no — wait");
    }
}
