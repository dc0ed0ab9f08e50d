//! `halflight explain WORD`: explains a word.

use clap::Args;

use super::print_line;
use crate::error::{Error, Result};
use crate::glossary::{self, WORDS};

/// Explain a word that screens, reports and commands use.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  halflight explain epsilon
  halflight explain 'public error'
  halflight explain")]
pub struct Explain {
    /// The word, the name of a method, or that of one of its settings; without one all words
    /// are listed.
    word: Vec<String>,
}

impl Explain {
    pub fn execute(&self) -> Result<()> {
        let word = self.word.join(" ");
        if word.is_empty() {
            return WORDS.iter().try_for_each(|word| print_line(word.name));
        }
        let Some(found) = glossary::explain(&word) else {
            let near = glossary::near(&word);
            let cure = if near.is_empty() {
                "`halflight explain` lists all words".to_owned()
            } else {
                format!("perhaps one of: {}", near.join(", "))
            };
            return Err(Error::usage(format!("'{word}' is not explained")).cure(cure));
        };
        print_line(&format!("{}\n  {}", found.name, found.text))
    }
}
