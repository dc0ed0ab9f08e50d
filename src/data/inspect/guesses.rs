//! What is guessed of files: a definition to start from, and the reasons for it.

use std::collections::BTreeMap;

use super::calendar::InARow;
use super::{AsFeature, ColumnFacts, Inspection, LabelCandidate, NUMBERS};
use crate::definition::{Columns, DatasetDefinition, Guessed, Role, Source};
use crate::profile::Spread;
use crate::{Missing, Task};

/// How many columns are named in a guess.
const NAMED: usize = 12;

/// How many columns of categories are named, and values of each.
const SHOWN: usize = 3;

impl Inspection {
    /// A definition to start from: with the best label, and without columns that cannot be
    /// features. It is private until somebody changes this.
    pub fn definition(&self, name: &str, source: Source) -> DatasetDefinition {
        Self::described(&[self], None, name, (source, false))
    }

    /// A definition to start from for one or more tables with the same columns. For a private table
    /// it only uses the kind of most cells of a column.
    pub fn definition_of_all(
        all: &[&Self],
        private: Option<&Self>,
        name: &str,
        source: Source,
    ) -> DatasetDefinition {
        let all_public = !all.iter().any(|it| private.is_some_and(|own| std::ptr::eq(*it, own)));
        Self::described(all, private, name, (source, all_public))
    }

    /// The definition, with what was guessed in it. Columns with gaps are named only if all tables
    /// are public: one private record can make a gap.
    fn described(
        all: &[&Self],
        private: Option<&Self>,
        name: &str,
        (source, all_public): (Source, bool),
    ) -> DatasetDefinition {
        let mut definition = DatasetDefinition::new(name, Role::Private, source);
        let candidates = all.first().map_or(&[][..], |first| &first.label_candidates[..]);
        let in_table = |table: &Self, wanted: &LabelCandidate| {
            table.label_candidates.iter().any(|other| other.column == wanted.column)
        };
        // One private record can have another value, so only public tables say it.
        let is_division = |column: &str| {
            let public =
                all.iter().filter(|it| !private.is_some_and(|own| std::ptr::eq(**it, own)));
            let mut problems = public.flat_map(|table| &table.problems);
            problems.any(|it| {
                it.as_feature == AsFeature::Division && it.column.as_deref() == Some(column)
            })
        };
        let candidates: Vec<LabelCandidate> =
            candidates.iter().filter(|it| !is_division(&it.column)).cloned().collect();
        let mut in_all = candidates.iter().filter(|it| all.iter().all(|table| in_table(table, it)));
        if let Some(label) = in_all.next().or(candidates.first()) {
            definition.label = Some(label.column.clone());
            let found = all.iter().flat_map(|table| &table.label_candidates);
            let found = || found.clone().filter(move |other| other.column == label.column);
            let is_number = |it: &LabelCandidate| it.task == Task::Regression;
            // If one table has too many values for classes, the label is a number in all tables. A
            // few values that do not start like codes may be some of the codes in other tables.
            let is_number = found().any(|it| is_number(it) && !it.is_either)
                || (is_number(label) && found().all(is_number));
            definition.task = if is_number { Task::Regression } else { Task::Classification };
            definition.guessed.insert(Guessed::Label, label.guess(definition.task, &candidates));
        }
        let mut useless: Vec<String> = Vec::new();
        let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
        for problem in all.iter().flat_map(|table| &table.problems) {
            let Some(name) = &problem.column else { continue };
            let is_useless = match problem.as_feature {
                AsFeature::Fine | AsFeature::Person => false,
                // A column that is constant in one table may distinguish it from the others.
                AsFeature::Constant => all.iter().all(|table| table.problems.contains(problem)),
                // If other tables have numbers, text is an error in this file. Its reader names the
                // cell; without the column nobody would notice.
                AsFeature::Mixed => {
                    let has_numbers = |table: &Inspection| {
                        table.has(name, |facts| facts.kind == NUMBERS)
                            || (all_public && table.has_only_numbers(name))
                    };
                    let in_private = private.is_some_and(|it| it.has_numbers(name));
                    !in_private && !all.iter().any(|table| has_numbers(table))
                }
                AsFeature::Division => is_division(name),
                _ => true,
            };
            if is_useless && !useless.contains(name) {
                useless.push(name.clone());
                let reason = problem.as_feature.reason();
                match reasons.iter_mut().find(|(known, _)| *known == reason) {
                    Some((_, columns)) => columns.push(name),
                    None => reasons.push((reason, vec![name])),
                }
            }
        }
        if !useless.is_empty() {
            definition.columns = Columns::Except(useless);
            let reasons =
                reasons.iter().map(|(reason, columns)| format!("{} ({reason})", quoted(columns)));
            let words = format!("left out: {}", reasons.collect::<Vec<_>>().join("; "));
            definition.guessed.insert(Guessed::Columns, words);
        }
        let codes = Self::numbers_like_codes(all, &definition);
        let tables: Vec<&[ColumnFacts]> = all.iter().map(|table| &table.columns[..]).collect();
        let clock = Self::clock_times(&tables, &definition);
        let of_cells = [codes, clock].into_iter().flatten().filter(|_| all_public);
        let told = of_cells.chain(Self::weights(&tables, &definition, all_public));
        for words in told.collect::<Vec<_>>() {
            let said = definition.guessed.entry(Guessed::Columns).or_default();
            *said = if said.is_empty() { words } else { format!("{said}; {words}") };
        }
        let in_a_row = Self::in_a_row(&tables).filter(|_| all_public);
        definition.guessed.extend(in_a_row.map(|words| (Guessed::Order, words)));
        let columns = || all.iter().flat_map(|table| &table.columns);
        let mut gaps: Vec<&str> = Vec::new();
        let has_gap = |it: &&ColumnFacts| it.missing > 0 || all_public && it.odd.is_some();
        for column in columns().filter(has_gap) {
            if !gaps.contains(&&*column.name) {
                gaps.push(&column.name);
            }
        }
        if !gaps.is_empty() {
            definition.missing = Missing::PublicMean;
            let mut found: Vec<&str> =
                columns().flat_map(|it| it.missing_as.iter()).copied().collect();
            found.sort_unstable();
            found.dedup();
            let [of, found] = match (all_public, found.as_slice()) {
                (false, _) => [String::new(), String::new()],
                (true, []) => [format!(" in {}", quoted(&gaps)), String::new()],
                (true, found) => {
                    [format!(" in {}", quoted(&gaps)), format!(" ({})", quoted(found))]
                }
            };
            let words = format!(
                "values read as missing{of}{found}: the mean of the public records fills them in"
            );
            definition.guessed.insert(Guessed::Missing, words);
        }
        if let Some(words) = Self::categories_like_gaps(all, &definition).filter(|_| all_public) {
            let said = definition.guessed.entry(Guessed::Missing).or_default();
            *said = if said.is_empty() { words } else { format!("{said}; {words}") };
        }
        definition
    }

    /// Which columns hold a few whole numbers, which may be codes.
    fn numbers_like_codes(all: &[&Self], definition: &DatasetDefinition) -> Option<String> {
        let is_code = |table: &&Self, column: &str| {
            table.label_candidates.iter().any(|it| it.is_either && it.column == column)
        };
        let columns = all.first()?.columns.iter().map(|it| it.name.as_str());
        let has_problem = |name: &str| {
            let mut problems = all.iter().flat_map(|table| &table.problems);
            problems.any(|problem| problem.column.as_deref() == Some(name))
        };
        let is_feature = |name: &&str| {
            let is_label = definition.label.as_deref() == Some(*name);
            definition.uses(name) && !is_label && !has_problem(name)
        };
        let codes = columns.filter(|name| all.iter().all(|table| is_code(table, name)));
        let codes: Vec<&str> = codes.filter(is_feature).collect();
        let (count, first) = (codes.len(), quoted(&codes[..codes.len().min(3)]));
        match count {
            0 => None,
            1 => Some(format!(
                "{first} has few different whole numbers and is read as a number: if they are codes, \
                 Enter, and name it under 'categories'"
            )),
            _ => {
                let more =
                    if count > 3 { format!(" and {} more", count - 3) } else { String::new() };
                Some(format!(
                    "{first}{more} have few different whole numbers and are read as numbers: if they \
                     are codes, Enter, and name them under 'categories'"
                ))
            }
        }
    }

    /// Which features look like clock times that are read as plain numbers, by the columns of public
    /// tables.
    pub fn clock_times(all: &[&[ColumnFacts]], definition: &DatasetDefinition) -> Option<String> {
        let found = Self::features_that(all, definition, |facts| facts.is_clock);
        let (look, them) = if found.len() == 1 { ("looks", "it") } else { ("look", "them") };
        (!found.is_empty()).then(|| {
            format!(
                "{} {look} like clock times (1059 for 10:59), read as plain numbers: write minutes \
                 in the file, or Enter, and untick {them} under 'columns'",
                quoted(&found)
            )
        })
    }

    /// Which features of a private table have their categories from the columns of public tables.
    pub fn public_categories(
        all: &[&[ColumnFacts]],
        definition: &DatasetDefinition,
    ) -> Option<String> {
        let is_declared = |name: &str| definition.category(name).is_some_and(|it| !it.is_empty());
        let found = Self::features_that(all, definition, |facts| {
            Some(facts.most == "text" && !is_declared(&facts.name))
        });
        let values = |name: &str| {
            let facts = all.iter().copied().flatten().filter(|it| it.name == name);
            let texts = facts.filter_map(|it| match &it.spread {
                Some(Spread::Texts(texts)) => Some(texts.iter().map(|(text, _)| text.as_str())),
                _ => None,
            });
            let mut values: Vec<&str> = Vec::new();
            for text in texts.flatten() {
                if !values.contains(&text) {
                    values.push(text);
                }
            }
            let more = if values.len() > SHOWN { ", …" } else { "" };
            values.truncate(SHOWN);
            let values = values.join(", ");
            if values.is_empty() { quoted(&[name]) } else { format!("'{name}' ({values}{more})") }
        };
        let named: Vec<String> = found.iter().take(SHOWN).map(|name| values(name)).collect();
        let more = found.len().saturating_sub(SHOWN);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        (!found.is_empty()).then(|| {
            format!(
                "public data alone say which values {}{more} can have, and any other counts as \
                 'other': to have your own, Enter, and list them under 'categories'",
                named.join(", ")
            )
        })
    }

    /// What the rows of a public table are one after the other, and what a score then says.
    pub fn in_a_row(all: &[&[ColumnFacts]]) -> Option<String> {
        const FINEST_FIRST: [&str; 7] =
            ["minutes", "hours", "times", "days", "weeks", "months", "years"];
        let found = all.iter().copied().flatten();
        let found = found.filter_map(|facts| Some((&facts.name, facts.in_a_row?)));
        let rank = |(_, it): &(&String, InARow)| FINEST_FIRST.iter().position(|at| *at == it.are);
        let (column, InARow { are: times, of_several }) = found.min_by_key(rank)?;
        let one = format!("one record is one {}, and ", times.trim_end_matches('s'));
        let one = if of_several { "" } else { &one };
        Some(format!(
            "rows look like {times} in a row ('{column}'): {one}a score is for such {times}, not for those \
             to come, which need test data of their own"
        ))
    }

    /// Which features have the name of a survey's weights: how many people a row stands for. Whether
    /// `weight` alone is one is told by public cells.
    fn weights(
        all: &[&[ColumnFacts]],
        definition: &DatasetDefinition,
        all_public: bool,
    ) -> Option<String> {
        let found = Self::features_that(all, definition, |facts| {
            // Of what may be private only the name counts.
            let is_number = !all_public || facts.most == NUMBERS;
            let is_wide = all_public && facts.is_unequal;
            Some(is_number && (names_weights(&facts.name) || is_wide && is_weight(&facts.name)))
        });
        let (are, as_what, them) = match found.len() {
            1 => ("is", "a feature", "it"),
            _ => ("are", "features", "them"),
        };
        (!found.is_empty()).then(|| {
            format!(
                "{} {are} named like a survey's weights (how many people a row stands for) and used \
                 as {as_what}: Enter, and untick {them} under 'columns'",
                quoted(&found)
            )
        })
    }

    /// Which texts are read as categories although they may say that there is no value, and what
    /// leaves their rows out.
    fn categories_like_gaps(all: &[&Self], definition: &DatasetDefinition) -> Option<String> {
        let is_used = |it: &&ColumnFacts| definition.uses(&it.name);
        let mut columns_of: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for column in all.iter().flat_map(|table| &table.columns).filter(is_used) {
            for text in &column.seem_missing {
                let columns = columns_of.entry(text).or_default();
                if !columns.contains(&&*column.name) {
                    columns.push(&column.name);
                }
            }
        }
        let (text, columns) = columns_of.first_key_value()?;
        let is_plain = columns[0].chars().all(|it| it.is_alphanumeric() || it == '_');
        let mark = if is_plain { "" } else { "`" };
        let filter = format!("{mark}{}{mark} != \"{text}\"", columns[0]);
        let each =
            columns_of.iter().map(|(text, columns)| format!("'{text}' in {}", quoted(columns)));
        let each = each.collect::<Vec<_>>().join("; ");
        Some(format!(
            "read as a category, not as missing: {each}; a filter such as {filter} leaves those rows \
             out"
        ))
    }

    /// The features among the columns for which this holds in a table that can say it, and in none it
    /// does not.
    fn features_that<'a>(
        all: &[&'a [ColumnFacts]],
        definition: &DatasetDefinition,
        holds: impl Fn(&ColumnFacts) -> Option<bool>,
    ) -> Vec<&'a str> {
        let names = all.first().copied().unwrap_or_default().iter();
        let names = names.map(|it| it.name.as_str()).filter(|name| {
            let facts = all.iter().copied().flatten().filter(|it| it.name == *name);
            let told: Vec<bool> = facts.filter_map(&holds).collect();
            let is_label = definition.label.as_deref() == Some(*name);
            !told.is_empty() && told.iter().all(|it| *it) && !is_label && definition.uses(name)
        });
        names.collect()
    }
}

impl LabelCandidate {
    /// The guess that this column is the label, and its reason.
    fn guess(&self, task: Task, candidates: &[Self]) -> String {
        let Self { column, is_either, .. } = self;
        let why = self.reason(candidates);
        let other = match task {
            _ if !is_either => String::new(),
            Task::Regression => format!(", or {} if its numbers are codes", Task::Classification),
            Task::Classification => format!(", or {} if they measure something", Task::Regression),
        };
        format!("label '{column}' ({task}{other}): {why}")
    }
}

/// Whether surveys call their weights by this name.
fn names_weights(name: &str) -> bool {
    let name = name.to_lowercase();
    let words: Vec<&str> = name.split(|it: char| !it.is_alphanumeric()).collect();
    let has = |of: &[&str]| words.iter().any(|word| of.contains(word));
    name.ends_with("wgt")
        || has(&["wght", "pweight", "perwt", "hhwt", "finalwt", "asecwt", "wtfinl", "pwgtp"])
        || has(&["weight", "weights", "wt"])
            && has(&["sample", "sampling", "survey", "person", "household", "design", "final"])
}

/// Whether a column is called a weight, of whatever kind.
fn is_weight(name: &str) -> bool {
    ["weight", "weights", "wt"].contains(&&*name.to_lowercase())
}

/// Some names in quotes, and how many more there are.
pub fn quoted(names: &[&str]) -> String {
    let shown = names.iter().take(NAMED).map(|name| format!("'{name}'"));
    let shown = shown.collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(NAMED) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}
