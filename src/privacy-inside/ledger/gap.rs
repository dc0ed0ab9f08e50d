//! What can never be known again about an account.

use super::entry::RunId;

/// A reason why the spending has no total. It is never forgotten: accepting it allows further runs,
/// but makes nothing known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gap {
    /// The cause of the gap.
    pub cause: Cause,
    /// When it was recorded, and in which line; `None` for damage that nobody has repaired.
    pub noticed: Option<(String, u64)>,
    /// The acceptance of the gap, if somebody accepted it.
    pub accepted: Option<Acceptance>,
}

/// Why an account has no total.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cause {
    /// Lines of the ledger were lost.
    Lost {
        /// The last line before them.
        after: u64,
        /// The last of them, if known.
        until: Option<u64>,
        /// How the loss was noticed.
        why: String,
    },
    /// Datasets are known under a secret that is lost: this may be one of them.
    LostSecret {
        /// Name of the lost secret.
        key: String,
        /// What happened to it.
        why: String,
    },
    /// Noise that anybody can repeat guarantees nothing.
    KnownNoise {
        /// The run that drew it.
        run: RunId,
        /// The seed of the noise.
        seed: u64,
    },
}

/// Somebody continues in spite of a gap.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Acceptance {
    /// When.
    pub time: String,
    /// The reason, in the curator's words.
    pub why: String,
}

impl Gap {
    /// Whether something unknown was, or may have been, spent. Otherwise everything is known but
    /// guarantees nothing.
    pub fn hides_spending(&self) -> bool {
        !matches!(self.cause, Cause::KnownNoise { .. })
    }

    /// The part missing in a total, in words that follow its number.
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
