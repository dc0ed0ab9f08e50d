//! `halflight completions SHELL`: completion of our commands for a shell.

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use super::{Arguments, print_text};
use crate::error::Result;

/// Print the completions of a shell.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  halflight completions bash > ~/.local/share/bash-completion/completions/halflight
  halflight completions zsh > ~/.zfunc/_halflight
  halflight completions fish > ~/.config/fish/completions/halflight.fish")]
pub struct Completions {
    shell: Shell,
}

impl Completions {
    pub fn execute(&self) -> Result<()> {
        print_text(text(self.shell).as_bytes())
    }
}

fn text(shell: Shell) -> String {
    let mut out = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), "halflight", &mut out);
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum;

    use super::*;

    /// Only one command, because other commands come and go.
    #[test]
    fn the_completions_of_predict_in_fish() {
        let text = text(Shell::Fish);
        let lines = text.lines().filter(|line| line.contains("using_subcommand predict"));
        insta::assert_snapshot!(lines.collect::<Vec<_>>().join("\n"));
    }

    #[test]
    fn every_shell_completes_every_command() {
        let commands = Arguments::command();
        for shell in Shell::value_variants() {
            let text = text(*shell);
            for command in commands.get_subcommands() {
                assert!(text.contains(command.get_name()), "{shell}: {}", command.get_name());
            }
        }
    }
}
