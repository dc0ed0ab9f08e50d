//! What can never be known again about an account.

use super::entry::RunId;

/// A reason why there is no total of what was spent. It is never forgotten: accepting it lets
/// further runs be granted, and makes nothing known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gap {
    /// Why it is there.
    pub cause: Cause,
    /// When it was written down, and in which line; none for damage that nobody has repaired.
    pub noticed: Option<(String, u64)>,
    /// Who accepted the gap and goes on.
    pub accepted: Option<Acceptance>,
}

/// Why an account has no total.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cause {
    /// Lines of the ledger were lost.
    Lost {
        /// The last line before them.
        after: u64,
        /// The last of them, as far as this is known.
        until: Option<u64>,
        /// How that was noticed.
        why: String,
    },
    /// Datasets are known under a secret that is lost: this may be one of them.
    LostSecret {
        /// Its name.
        key: String,
        /// What became of it.
        why: String,
    },
    /// Noise that anybody can repeat guarantees nothing.
    KnownNoise {
        /// The run that drew it.
        run: RunId,
        /// From which it comes.
        seed: u64,
    },
}

/// Somebody goes on in spite of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Acceptance {
    /// When.
    pub time: String,
    /// In whose words.
    pub why: String,
}

impl Gap {
    /// Something was spent, or may have been, and nobody knows what; otherwise all is known and
    /// guarantees nothing.
    pub fn hides_spending(&self) -> bool {
        !matches!(self.cause, Cause::KnownNoise { .. })
    }

    /// What is missing in a total, to be said behind its number.
    pub fn missing(&self) -> String {
        match &self.cause {
            Cause::Lost { after, until: Some(until), .. } if *until > after + 1 => {
                format!("what lines {} to {until} held, which nobody knows", after + 1)
            }
            Cause::Lost { after, until: Some(_), .. } => {
                format!("what line {} held, which nobody knows", after + 1)
            }
            Cause::Lost { after, until: None, .. } => {
                format!("what the lines held that were lost after line {after}, which nobody knows")
            }
            Cause::LostSecret { key, .. } => {
                format!("what was spent on these records under {key}, a secret that is lost")
            }
            Cause::KnownNoise { run, .. } => {
                format!("run {} used noise from a known seed, so it gives no guarantee", run.0)
            }
        }
    }

    /// The whole of it, in a sentence.
    pub fn words(&self) -> String {
        let what = match &self.cause {
            Cause::Lost { why, .. } | Cause::LostSecret { why, .. } => {
                format!("{}: {why}", self.missing())
            }
            Cause::KnownNoise { seed, .. } => format!("{} (seed {seed})", self.missing()),
        };
        let noticed =
            self.noticed.as_ref().map(|(time, line)| format!("; in line {line} since {time}"));
        let accepted = match &self.accepted {
            Some(Acceptance { time, why }) => format!("; accepted {time} ({why})"),
            None => "; not accepted".to_owned(),
        };
        [what, noticed.unwrap_or_default(), accepted].concat()
    }
}
