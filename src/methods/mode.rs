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
        let given = |key: &&&str| !settings.is_default(spec, key);
        match keys.iter().find(given) {
            Some(key) if self == Self::AsPrinted => Err(Error::usage(format!(
                "as_printed takes no '{key}': the paper has a value of its own for it"
            ))
            .cure(format!("leave '{key}' out, or choose mode: \"rigorous\""))),
            _ => Ok(()),
        }
    }
}
