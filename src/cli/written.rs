//! Tests that the program understands every command in the guide, the README and the help.

use std::collections::BTreeSet;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, Parser};

use super::Arguments;
use crate::guide::{PROOFS, TOPICS};

/// A command on a page, in the order of the page.
struct WrittenPage {
    /// Whether the command is within a sentence and so may lack its arguments.
    named: bool,
    words: String,
}

/// The commands of a page: lines of its blocks, fenced or indented, and code within its sentences.
fn commands(page: &str) -> Vec<WrittenPage> {
    let mut found = Vec::new();
    let mut fenced = None;
    let mut begun = String::new();
    for line in page.lines() {
        if let Some(language) = line.trim_start().strip_prefix("```") {
            fenced = if fenced.is_some() { None } else { Some(language.trim().to_owned()) };
            continue;
        }
        if fenced.as_deref().is_some_and(|language| ["python", "json"].contains(&language)) {
            continue;
        }
        if fenced.is_some() || line.starts_with("    ") {
            begun.push_str(line.trim());
            if begun.ends_with('\\') {
                begun.pop();
                continue;
            }
            let line = std::mem::take(&mut begun);
            let at = line.match_indices("halflight ").map(|(at, _)| at);
            let is_word =
                |at: &usize| line[..*at].chars().last().is_none_or(|c| " (;$".contains(c));
            let starts = at.filter(is_word);
            found.extend(
                starts.map(|at| WrittenPage { named: false, words: line[at..].to_owned() }),
            );
        } else {
            let code = line.split('`').skip(1).step_by(2);
            let ours = code.filter(|code| code.starts_with("halflight "));
            found
                .extend(ours.map(|code| WrittenPage { named: true, words: without_choices(code) }));
        }
    }
    found
}

/// `[A | B]` as `A`.
fn without_choices(code: &str) -> String {
    let code = code.replace("\\|", "|");
    let parts = code.split('[').enumerate();
    let kept = parts.map(|(at, part)| match part.split_once(']') {
        Some((within, behind)) if at > 0 => {
            format!("{}{behind}", within.split('|').next().unwrap_or_default())
        }
        _ => part.to_owned(),
    });
    kept.collect()
}

/// The words as a shell splits them, up to the end of the command.
fn words(line: &str) -> Vec<String> {
    // The output of another command is a placeholder.
    let line = match line.split_once("$(") {
        Some((before, rest)) => {
            format!("{before}RUN{}", rest.split_once(')').map_or("", |it| it.1))
        }
        None => line.to_owned(),
    };
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    for c in line.chars() {
        match (quote, c) {
            (Some(open), _) if c == open => quote = None,
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, '|' | '>' | '<' | ';' | '&' | '#' | ')') => break,
            (None, ' ') => words.extend(word.take()),
            _ => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words.retain(|word| !["…", "..."].contains(&word.as_str()));
    words
}

/// Words such as RUN are placeholders.
fn stands_for_something(word: &str) -> bool {
    let word = word.trim_end_matches(['.', '…']);
    !word.is_empty() && word.chars().all(|c| c.is_ascii_uppercase() || "_:=".contains(c))
}

/// The reason why the program would not understand the command.
fn flaw(written: &WrittenPage) -> Option<String> {
    match Arguments::try_parse_from(words(&written.words)) {
        Ok(arguments) => {
            let unlike_file = |file: &&std::path::PathBuf| {
                file.extension().is_none() && file.to_str() != Some("/")
            };
            let file = arguments.files.iter().find(unlike_file)?;
            let file = file.to_string_lossy();
            (!stands_for_something(&file)).then(|| format!("there is no command '{file}'"))
        }
        Err(error) => {
            let fine = match error.kind() {
                ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => true,
                ErrorKind::MissingRequiredArgument
                | ErrorKind::MissingSubcommand
                | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => written.named,
                ErrorKind::InvalidValue | ErrorKind::ValueValidation => {
                    matches!(
                        error.get(ContextKind::InvalidValue),
                        Some(ContextValue::String(value)) if stands_for_something(value)
                    )
                }
                _ => false,
            };
            (!fine).then(|| error.to_string())
        }
    }
}

fn check(place: &str, text: &str) -> BTreeSet<String> {
    let all = commands(text);
    for written in &all {
        if let Some(flaw) = flaw(written) {
            panic!("{place}: {}\n{flaw}", written.words);
        }
    }
    all.iter().filter_map(|written| words(&written.words).get(1).cloned()).collect()
}

#[test]
fn every_command_of_the_guide_and_of_the_readme_is_understood() {
    let pages = TOPICS.iter().chain(PROOFS).map(|topic| (topic.name, topic.text));
    let readmes = [
        ("README.md", include_str!("../../README.md")),
        ("assets/python/README.md", include_str!("../../assets/python/README.md")),
    ];
    let mut seen = BTreeSet::new();
    for (name, text) in pages.chain(readmes) {
        seen.extend(check(name, text));
    }
    // The guide covers every command.
    for command in Arguments::command().get_subcommands() {
        assert!(seen.contains(command.get_name()), "no page tells of {}", command.get_name());
    }
}

#[test]
fn every_example_of_the_help_is_understood() {
    fn below(command: &clap::Command, count: &mut usize) {
        if let Some(text) = command.get_after_help() {
            *count += check(command.get_name(), &text.to_string().replace("\n  ", "\n    ")).len();
        }
        command.get_subcommands().for_each(|command| below(command, count));
    }
    let mut count = 0;
    below(&Arguments::command(), &mut count);
    assert!(count > 25, "{count}");
}

#[test]
fn what_the_program_does_not_know_is_found() {
    for line in
        ["    halflight frobnicate", "Say `halflight run --no-such s.ron`.", "    halflight verify"]
    {
        let [written] = commands(line).try_into().ok().unwrap();
        assert!(flaw(&written).is_some(), "{line}");
    }
    let fine = "| `halflight watch [RUN \\| DIR]` | and `halflight verify`, `halflight completions SHELL` |";
    let found = commands(fine);
    assert_eq!(found.len(), 3);
    assert!(found.iter().all(|written| flaw(written).is_none()));
}
