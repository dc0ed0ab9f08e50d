//! `halflight man`: the manual as man pages.

use std::path::PathBuf;

use clap::{Args, Command, CommandFactory};
use clap_mangen::Man as Page;
use serde_json::json;

use super::{Arguments, print_json, print_text, write_files};
use crate::error::{Error, Result};

/// Print the man page of a command, or write those of all.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  halflight man | man -l -
  halflight man run | man -l -
  halflight man --out ~/.local/share/man/man1")]
pub struct Man {
    /// The command, such as `ledger budget` [default: the page of halflight itself].
    #[arg(conflicts_with = "out")]
    command: Vec<String>,

    /// Write the pages of all commands into this directory.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,

    /// Print the paths of the written pages as JSON.
    #[arg(long, requires = "out")]
    json: bool,
}

impl Man {
    pub fn execute(&self) -> Result<()> {
        let Some(directory) = &self.out else { return self.print() };
        let written = write_files(directory, pages()?)?;
        if self.json { print_json(&json!({ "pages": written })) } else { Ok(()) }
    }

    fn print(&self) -> Result<()> {
        let wanted = [&["halflight".to_owned()], self.command.as_slice()].concat().join("-");
        let pages = pages()?;
        let found = pages.iter().find(|(name, _)| *name == format!("{wanted}.1"));
        let (_, text) = found.ok_or_else(|| {
            let known: Vec<_> = pages
                .iter()
                .filter_map(|(name, _)| name.strip_prefix("halflight-")?.strip_suffix(".1"))
                .map(|name| name.replace('-', " "))
                .collect();
            Error::usage(format!("there is no command '{}'", self.command.join(" ")))
                .cure(format!("the commands are: {}", known.join(", ")))
        })?;
        print_text(text.as_bytes())
    }
}

/// The pages of all commands, by file name.
fn pages() -> Result<Vec<(String, String)>> {
    let mut root = Arguments::command();
    root.build();
    let mut pages = Vec::new();
    collect(&root, "halflight", &mut pages)?;
    Ok(pages)
}

fn collect(command: &Command, name: &str, pages: &mut Vec<(String, String)>) -> Result<()> {
    let failed = |error| Error::failed(format!("cannot write the man page: {error}"));
    let mut text = Vec::new();
    // Without a date, so that the same program gives the same page.
    let page = Page::new(command.clone().display_name(name)).date("").manual("Halflight");
    page.render(&mut text).map_err(failed)?;
    pages.push((format!("{name}.1"), String::from_utf8_lossy(&text).into_owned()));
    for sub in command.get_subcommands().filter(|sub| sub.get_name() != "help") {
        collect(sub, &format!("{name}-{}", sub.get_name()), pages)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(name: &str) -> String {
        let pages = pages().unwrap();
        pages.into_iter().find(|(known, _)| known == name).unwrap().1
    }

    #[test]
    fn the_man_page_of_predict() {
        insta::assert_snapshot!(page("halflight-predict.1"));
    }

    #[test]
    fn the_main_page_names_every_command_and_every_command_has_a_page() {
        let main = page("halflight.1");
        for command in Arguments::command().get_subcommands() {
            let name = format!("halflight-{}", command.get_name());
            assert!(main.contains(&name.replace('-', "\\-")), "{name}");
            assert!(page(&format!("{name}.1")).contains("halflight"), "{name}");
        }
    }
}
