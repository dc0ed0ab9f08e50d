//! The meanings of the words in screens, reports and commands. The guide's page of words has the
//! texts, one for each word, and everything reads them there.

use std::sync::LazyLock;

use crate::methods;
use crate::privacy::Adjacency;

/// The guide's page. Each word has a line between its two marks:
/// `**name** (other, names): What it means.`
const PAGE: &str = include_str!("../../assets/guide/words.md");

/// A word with two or three sentences: its meaning, which direction is better, what changes it.
#[derive(Debug)]
pub struct Word {
    pub name: &'static str,
    /// Other words for it.
    also: Vec<&'static str>,
    pub text: &'static str,
}

/// In alphabetical order.
pub static WORDS: LazyLock<Vec<Word>> = LazyLock::new(|| lines().filter_map(Word::parse).collect());

/// The lines of the page that explain a word.
fn lines() -> impl Iterator<Item = &'static str> {
    let (_, rest) = PAGE.split_once("<!-- words -->").unwrap_or_default();
    let (words, _) = rest.split_once("<!-- end of words -->").unwrap_or_default();
    words.lines().filter(|line| !line.is_empty())
}

impl Word {
    fn parse(line: &'static str) -> Option<Self> {
        let (name, rest) = line.strip_prefix("**")?.split_once("**")?;
        let (also, text) = rest.split_once(": ")?;
        let also = also.strip_prefix(" (").and_then(|also| also.strip_suffix(')'));
        let also = also.map_or_else(Vec::new, |also| also.split(", ").collect());
        Some(Self { name, also, text })
    }
}

/// The change between neighbouring data for which a guarantee holds.
pub fn change(adjacency: Adjacency, of_persons: bool) -> &'static str {
    match (adjacency, of_persons) {
        (Adjacency::ReplaceOne, false) => "any one record is replaced",
        (Adjacency::ZeroOut, false) => "any one record is blanked",
        (Adjacency::ReplaceOne, true) => "any person's records are all replaced",
        (Adjacency::ZeroOut, true) => "any person's records are all blanked",
    }
}

/// An explanation to show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explained {
    pub name: String,
    /// Other words for it.
    pub also: String,
    pub text: String,
}

impl From<&Word> for Explained {
    fn from(word: &Word) -> Self {
        Self { name: word.name.to_owned(), also: word.also.join(" "), text: word.text.to_owned() }
    }
}

/// The entry of a word, under any of its names.
pub fn find(name: &str) -> Option<&'static Word> {
    // Sessions write `replace_one`, and texts replace-one.
    let plain = |name: &str| name.trim().to_lowercase().replace(['_', '-'], " ");
    let name = plain(name);
    let called = |word: &&Word| word.also.iter().any(|it| plain(it) == name);
    WORDS.iter().find(|word| plain(word.name) == name).or_else(|| WORDS.iter().find(called))
}

/// Explains a word of the glossary, a method or a setting.
pub fn explain(name: &str) -> Option<Explained> {
    find(name).map(Explained::from).or_else(|| method(name)).or_else(|| setting(name))
}

/// A method by its name in sessions, in papers or in plain words.
fn method(name: &str) -> Option<Explained> {
    let wanted = name.trim().to_lowercase();
    let mut specs = methods::methods().iter().map(|method| method.spec());
    let spec = specs.find(|spec| {
        [spec.id, spec.name, spec.paper].iter().any(|name| name.to_lowercase() == wanted)
    })?;
    let text =
        format!("{} In sessions it is called {}, in papers {}.", spec.summary, spec.id, spec.paper);
    Some(Explained { name: spec.name.to_owned(), also: spec.paper.to_owned(), text })
}

/// A setting of a method, by its name or its key.
fn setting(name: &str) -> Option<Explained> {
    let wanted = name.trim().to_lowercase();
    let specs = methods::methods().iter().map(|method| method.spec());
    let mut fields = specs.flat_map(|spec| spec.fields);
    let field = fields.find(|it| it.key == wanted || it.name.to_lowercase() == wanted)?;
    let text = format!("{} Takes {}.", field.help, field.kind.range());
    Some(Explained { name: field.name.to_owned(), also: field.key.to_owned(), text })
}

/// Words that are similar to an unknown one.
pub fn near(name: &str) -> Vec<&'static str> {
    let wanted = name.trim().to_lowercase();
    let names = |word: &'static Word| std::iter::once(word.name).chain(word.also.iter().copied());
    let close = |other: &str| {
        let other = other.to_lowercase();
        other.contains(&wanted) || (other.chars().count() > 2 && wanted.contains(&other))
    };
    WORDS.iter().filter(|word| names(word).any(close)).map(|word| word.name).take(8).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::methods::Series;

    #[test]
    fn every_word_is_there_once_and_is_explained_in_a_few_short_sentences() {
        let mut seen = std::collections::BTreeSet::new();
        for word in WORDS.iter() {
            assert!(seen.insert(word.name.to_lowercase()), "{} is there twice", word.name);
            let sentences = word.text.matches(['.', '!']).count();
            assert!(word.text.ends_with('.') && sentences >= 1, "{}", word.name);
            assert!(word.text.chars().count() <= 320, "{} is too long", word.name);
        }
    }

    #[test]
    fn every_line_of_the_page_is_read_and_could_be_written_again() {
        let also = |word: &Word| match word.also.as_slice() {
            [] => String::new(),
            also => format!(" ({})", also.join(", ")),
        };
        let line = |word: &Word| format!("**{}**{}: {}", word.name, also(word), word.text);
        let read: Vec<String> = WORDS.iter().map(line).collect();
        assert_eq!(read, lines().collect::<Vec<_>>());
        assert!(read.len() > 80, "{} words", read.len());
    }

    #[test]
    fn every_series_of_a_chart_is_explained() {
        for name in [
            Series::Objective,
            Series::ExactObjective,
            Series::PublicObjective,
            Series::PublicLoss,
            Series::PrivateLoss,
            Series::PublicError,
            Series::PrivateError,
            Series::StationarityGap,
            Series::ExactStationarityGap,
            Series::ModelGap,
            Series::NoiseGap,
            Series::SelectionSignal,
            Series::MomentDiscrepancy,
            Series::ExactMomentDiscrepancy,
            Series::EffectiveSample,
            Series::PublicWeight,
            Series::PublicAccuracy,
            Series::PrivateAccuracy,
            Series::PublicAbsoluteError,
            Series::PrivateAbsoluteError,
            Series::PublicBalancedAccuracy,
            Series::PrivateBalancedAccuracy,
            Series::PublicAuc,
            Series::PrivateAuc,
            Series::HoldoutLoss,
            Series::ClipFraction,
            Series::GradientMedian,
            Series::SubspaceEnergy,
            Series::ExactSubspaceEnergy,
        ] {
            assert!(find(name.words()).is_some(), "{}", name.words());
        }
    }

    #[test]
    fn words_are_found_under_all_their_names_and_near_ones_are_offered() {
        assert_eq!(find("Epsilon").unwrap().name, "ε");
        assert_eq!(find("zero-shot").unwrap().name, "error of its own model");
        assert_eq!(explain("pillar").unwrap().name, "private, on public directions");
        assert!(explain("clip_norm").or_else(|| explain("steps")).is_some());
        assert!(explain("nonsense").is_none() && near("nonsense").is_empty());
        assert!(near("discrep").contains(&"discrepancy"));
    }
}
