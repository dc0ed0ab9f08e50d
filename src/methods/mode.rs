//! Whether noise and steps are the rigorous ones or those printed in a paper.

use super::spec::{Settings, Spec, choices};
use crate::error::{Error, Result};

choices! {
    pub enum Mode {
        /// Noise that the accountant calibrates.
        Rigorous = "rigorous",
        /// Noise and steps of a paper, for reproduction. The certificate states what the
        /// accountant proves for them.
        AsPrinted = "as_printed",
    }
}

impl Mode {
    /// Refuses settings that the printed algorithm fixes itself.
    pub(super) fn fixes(self, spec: &Spec, settings: &Settings, keys: &[&str]) -> Result<()> {
        if self == Self::Rigorous {
            return Ok(());
        }
        refuse_given(spec, settings, keys, "as_printed", "mode: \"rigorous\"")
    }
}

/// Refuses the first of these settings that is given, since `by` has a value of its own for it.
pub(super) fn refuse_given(
    spec: &Spec,
    settings: &Settings,
    keys: &[&str],
    by: &str,
    instead: &str,
) -> Result<()> {
    match keys.iter().find(|key| !settings.is_default(spec, key)) {
        Some(key) => Err(Error::usage(format!(
            "{by} takes no '{key}': the paper has a value of its own for it"
        ))
        .cure(format!("leave '{key}' out, or choose {instead}"))),
        None => Ok(()),
    }
}
