//! `halflight guide [TOPIC]`: the guide that the program carries, in the terminal.

use std::fmt::Write as _;
use std::io::{IsTerminal, Write};
use std::process::{Command, Stdio};

use clap::Args;

use super::{interface, print_line, print_text};
use crate::error::{Error, Result};
use crate::guide::render::{TerminalLine, TextTone, plain, render};
use crate::guide::{self, Topic};

/// Show a page of the guide, or list the pages.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  halflight guide
  halflight guide epsilon
  halflight guide proofs
  halflight guide budgets | grep -i settle

In a terminal, long pages go through the program that PAGER names, or less. Elsewhere, and with
PAGER=cat, they are printed as they are; --markdown prints their source.")]
pub struct Guide {
    /// The page; without one all pages are listed.
    topic: Option<String>,

    /// Print the page's Markdown instead of laying it out.
    #[arg(long, requires = "topic")]
    markdown: bool,
}

/// The width if the terminal's is unknown, and the largest width that is easy to read.
const USUAL_WIDTH: usize = 80;
const WIDEST: usize = 100;

impl Guide {
    pub fn execute(&self) -> Result<()> {
        let Some(wanted) = &self.topic else { return show(&overview()) };
        if wanted == "proofs" {
            return show(&proofs());
        }
        let topic = guide::find(wanted).ok_or_else(|| {
            let near = guide::near(wanted);
            let cure = match near.as_slice() {
                [] => "`halflight guide` lists the pages".to_owned(),
                near => {
                    format!("perhaps one of: {}; `halflight guide` lists them", near.join(", "))
                }
            };
            Error::usage(format!("the guide has no page '{wanted}'")).cure(cure)
        })?;
        if self.markdown { print_text(topic.text.as_bytes()) } else { show(topic.text) }
    }
}

/// The list of pages, as Markdown.
fn overview() -> String {
    let mut text = "# The guide\n\n`halflight guide TOPIC` shows a page.\n\n".to_owned();
    text += &listed(guide::TOPICS.iter());
    text += "\n`halflight guide proofs` lists the proofs: a page for each mechanism and method. \
             `halflight explain WORD` says what a word means.\n";
    text
}

fn proofs() -> String {
    let mut text = "# Proofs\n\n`halflight guide proofs/NAME` shows one.\n\n".to_owned();
    text += &listed(guide::PROOFS.iter());
    text
}

fn listed(topics: impl Iterator<Item = &'static Topic>) -> String {
    let rows = topics.map(|topic| format!("| `{}` | {} |\n", topic.name, topic.about));
    format!("| page | about |\n|---|---|\n{}", rows.collect::<String>())
}

fn show(markdown: &str) -> Result<()> {
    let out = std::io::stdout();
    let size = crossterm::terminal::size().ok().filter(|_| out.is_terminal());
    let width = size.map_or(USUAL_WIDTH, |(columns, _)| usize::from(columns).clamp(20, WIDEST));
    let lines = render(markdown, width);
    let glyphs = interface::glyphs(&|name| std::env::var(name).ok());
    let Some((_, rows)) = size else {
        return lines.iter().try_for_each(|line| print_line(&glyphs.spell(&plain(line))));
    };
    let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let mut text = String::new();
    for line in &lines {
        text += &glyphs.spell(&coloured(line, no_color));
        text.push('\n');
    }
    if lines.len() >= usize::from(rows) && paged(&text) {
        return Ok(());
    }
    print_text(text.as_bytes())
}

/// Bold and, unless colour is off, one colour, in codes that every terminal understands.
fn coloured(line: &TerminalLine, no_color: bool) -> String {
    let mut text = String::new();
    for piece in line {
        let code = match (piece.tone, no_color) {
            (TextTone::Plain, _) | (TextTone::Code, true) => "",
            (TextTone::Strong, _) | (TextTone::Heading, true) => "\x1b[1m",
            (TextTone::Code, false) => "\x1b[36m",
            (TextTone::Heading, false) => "\x1b[1;33m",
        };
        let end = if code.is_empty() { "" } else { "\x1b[0m" };
        let _ = write!(text, "{code}{}{end}", piece.text);
    }
    text
}

/// Hands the text to a pager. Returns whether there was one.
fn paged(text: &str) -> bool {
    let named = std::env::var("PAGER").ok().filter(|pager| !pager.trim().is_empty());
    let pager = named.unwrap_or_else(|| "less".to_owned());
    let mut words = pager.split_whitespace();
    let Some(program) = words.next() else { return false };
    let mut command = Command::new(program);
    command.args(words).stdin(Stdio::piped());
    if std::env::var_os("LESS").is_none() {
        // Colours are kept, and the page stays on the terminal afterwards.
        command.env("LESS", "FRX");
    }
    let Ok(mut child) = command.spawn() else { return false };
    if let Some(mut input) = child.stdin.take() {
        // The write fails if the reader quits early, which is fine.
        let _ = write!(input, "{text}");
    }
    child.wait().is_ok()
}
