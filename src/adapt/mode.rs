//! Whether noise and steps are those that can be defended or those that are printed.

use super::spec::choices;

choices! {
    pub enum Mode {
        /// Noise that the accountant calibrates.
        Rigorous = "rigorous",
        /// Noise and steps of a paper, for reproduction. The certificate states what the
        /// accountant proves for them.
        AsPrinted = "as_printed",
    }
}
