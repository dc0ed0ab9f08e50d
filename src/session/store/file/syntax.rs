//! What is wrong with a session file that is not valid RON, in plain words: which field, what it
//! takes, and what stands there instead. The parser's own words speak of types of a program.

use std::path::Path;

use ron::Error as Ron;
use ron::error::{Position, SpannedError};

use crate::data::names::hint;
use crate::error::Error;
use crate::files;
use crate::methods::public_predictor;

/// The most characters of the file that a message shows.
const SHOWN: usize = 40;

/// Fields that take a word or a form with brackets, and how they are written.
const FORMS: [(&str, &str); 8] = [
    ("source", "file(\"patients.csv\"), or as `halflight guide files` says for other files"),
    ("pay", "covered, share(0.1) or epsilon(0.25)"),
    ("public_predictor", public_predictor::IN_A_FILE),
    ("columns", "all, only([\"age\"]) or except([\"mrn\"])"),
    ("target", "(epsilon: 1.0, delta: 1e-5)"),
    ("epsilon", "1.0"),
    ("delta", "1e-5"),
    ("version", "1"),
];

/// The error of a session file with this text.
pub(super) fn refusal(error: &SpannedError, text: &str, origin: &str) -> Error {
    let start = &error.span.start;
    let place = format!("{origin}:{}:{}", start.line, start.col);
    let (before, after) = text.split_at(offset(text, start));
    let negative = before.trim_end().ends_with('-');
    // A table of private records may have been named by mistake: nothing of it is shown.
    let is_session = ["(", "#![", "//", "/*"].iter().any(|it| text.trim_start().starts_with(it));
    let (what, cure) = if is_session {
        explained(&error.code, field(before), found(after), negative)
    } else {
        let cure = "begin it with (version: 1, and end it with ); to look at a table, use \
                    `halflight data inspect FILE`";
        ("a session begins with an opening bracket".to_owned(), cure.to_owned())
    };
    let previous = files::previous(Path::new(origin));
    let cure = if previous.is_file() {
        format!("{cure}; or use the copy from before the last save: {}", previous.display())
    } else {
        cure
    };
    Error::failed(format!("not a session: {what}")).at(place).cure(cure)
}

/// What is wrong, and what to do.
fn explained(code: &Ron, field: Option<&str>, found: &str, negative: bool) -> (String, String) {
    let instead = if found.is_empty() { String::new() } else { format!(", found {found}") };
    let wants = |form: &str, cure: &str| {
        let what = match field {
            Some(field) => format!("'{field}' must be {form}{instead}"),
            None => format!("expected {form}{instead}"),
        };
        (what, cure.to_owned())
    };
    let form = FORMS.iter().find(|(name, _)| Some(*name) == field);
    let listed = |expected: &[&str]| expected.iter().map(ToString::to_string).collect::<Vec<_>>();
    match code {
        Ron::NoSuchStructField { expected, found, .. } => (
            format!("'{found}' is not a field here"),
            hint("fields here", found, &listed(expected)),
        ),
        Ron::MissingStructField { field, .. } => {
            let form = FORMS.iter().find(|(name, _)| name == field).map_or("…", |(_, form)| form);
            (format!("the field '{field}' is missing"), format!("add it: {field}: {form}"))
        }
        Ron::DuplicateStructField { field, .. } => {
            (format!("the field '{field}' is given twice"), "leave one of them out".to_owned())
        }
        Ron::NoSuchEnumVariant { expected, found, .. } => {
            let what = match field {
                Some(field) => format!("'{field}' cannot be '{found}'"),
                None => format!("'{found}' is not known here"),
            };
            let choices = || hint("choices here", found, &listed(expected));
            (what, form.map_or_else(choices, |(_, form)| format!("write {form}")))
        }
        Ron::ExpectedIdentifier | Ron::SuggestRawIdentifier(_) => {
            let guess = match found.chars().next() {
                Some('0'..='9') => "if this belongs to a number, write a decimal point: 1.5",
                Some('(' | ')' | '[' | ']' | '{' | '}') => {
                    "look for a missing or wrong bracket before this place"
                }
                Some(',') => "remove the comma",
                Some('#' | '<') => "begin a comment with //",
                _ => "write a word without quotes, such as the name of a field",
            };
            let cure =
                form.map_or(guess.to_owned(), |(name, form)| format!("write {name}: {form}"));
            wants("a word without quotes", &cure)
        }
        Ron::ExpectedString => wants("a text", "put it in straight double quotes: \"…\""),
        Ron::ExpectedStringEnd => wants("the end of a text", "close the text with a double quote"),
        Ron::ExpectedChar => {
            wants("one character", "put one character in single quotes, such as ';'")
        }
        Ron::ExpectedInteger | Ron::IntegerOutOfBounds | Ron::InvalidIntegerDigit { .. } => {
            if !negative {
                return wants("a whole number", "write digits without quotes");
            }
            let what = field.map_or("the number".to_owned(), |name| format!("'{name}'"));
            (what + " must not be negative", "write a whole number from 0 on".to_owned())
        }
        Ron::ExpectedFloat => wants("a number", "write it without quotes, such as 0.5 or 1e-5"),
        Ron::ExpectedBoolean => wants("true or false", "write it without quotes"),
        Ron::ExpectedArray => wants("a list", "put it in square brackets: [\"one\", \"another\"]"),
        Ron::ExpectedMap => {
            wants("pairs of a name and a value", "put them in braces: {\"name\": value}")
        }
        Ron::ExpectedMapColon => wants("a colon", "write a colon after the name"),
        Ron::ExpectedNamedStructLike(_)
        | Ron::ExpectedStructLike
        | Ron::ExpectedDifferentStructName { .. } => {
            let cure = form.map_or(
                "write ( before them and ) after them, or close the list before with ]".to_owned(),
                |(name, form)| format!("write {name}: {form}"),
            );
            wants("values in round brackets", &cure)
        }
        Ron::ExpectedComma => {
            let cure = match found.chars().next() {
                Some('^' | '%') => "write the number itself, such as 0.5 or 1e-5",
                Some('.') => "write a whole number",
                Some(')' | ']' | '}') => "look for a missing or wrong bracket before this place",
                _ => "separate values with commas, and close every quote before this place",
            };
            wants("a comma", cure)
        }
        Ron::InvalidEscape(_) => {
            wants("a text without a single \\", "write / or \\\\ instead of \\")
        }
        Ron::ExpectedArrayEnd
        | Ron::ExpectedMapEnd
        | Ron::ExpectedStructLikeEnd
        | Ron::ExpectedOptionEnd => wants(
            "a closing bracket",
            "look for a missing comma, a missing bracket or a value too many",
        ),
        Ron::Eof => (
            "the file ends too early".to_owned(),
            "close what is open: look for a missing bracket or quote".to_owned(),
        ),
        Ron::TrailingCharacters => (
            format!("something follows the end of the session{instead}"),
            "remove it, or look for a bracket too many before it".to_owned(),
        ),
        other => (other.to_string(), "correct the file at this place".to_owned()),
    }
}

/// The bytes before a place.
fn offset(text: &str, place: &Position) -> usize {
    let line = text.split_inclusive('\n').take(place.line.saturating_sub(1)).map(str::len).sum();
    let column = text[line..].char_indices().nth(place.col.saturating_sub(1));
    column.map_or(text.len(), |(at, _)| line + at)
}

/// The field whose value would begin after this text.
fn field(before: &str) -> Option<&str> {
    let name = before.trim_end().trim_end_matches('-').trim_end().strip_suffix(':')?.trim_end();
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let field = &name[name.trim_end_matches(is_part).len()..];
    (!field.is_empty()).then_some(field)
}

/// The beginning of the text from here on: a word, a text in quotes, or a single sign.
fn found(after: &str) -> &str {
    let after = after.trim_start();
    let length = if let Some(quoted) = after.strip_prefix('"') {
        quoted.find(['"', '\n']).map_or(after.len(), |at| at + 2)
    } else {
        let end =
            after.find(|letter: char| letter.is_whitespace() || "(),:[]{}\"".contains(letter));
        let sign = after.chars().next().map_or(0, char::len_utf8);
        end.unwrap_or(after.len()).max(sign)
    };
    let shown = after.char_indices().nth(SHOWN).map_or(after.len(), |(at, _)| at);
    after[..length.min(shown).min(after.len())].trim_end()
}

#[cfg(test)]
mod tests {
    use super::super::Session;

    #[test]
    fn a_flaw_is_told_with_its_field_and_what_to_write() {
        let session = "(version: 1, datasets: [
            (name: \"ours\", role: private, source: file(\"a.csv\"), label: \"y\"),
            (name: \"theirs\", role: public, source: file(\"b.csv\"), label: \"y\")],
            plans: [(name: \"p\", method: \"profiled_cnvx_adap\", private: \"ours\",
            public: [\"theirs\"], target: (epsilon: 1.0, delta: 1e-5), seed: 1)])";
        assert!(Session::parse(session, "s.ron").is_ok());
        for (from, to, wanted) in [
            ("file(\"a.csv\")", "file(a.csv)", ["s.ron:2:56", "expected a text, found a.csv"]),
            ("file(\"a.csv\")", "\"a.csv\"", ["'source' must be a word", "write source: file("]),
            ("file(\"a.csv\")", "fil(\"a.csv\")", ["'source' cannot be 'fil'", "file(\"pat"]),
            ("role: private", "role: privat", ["'role' cannot be 'privat'", "'private'?"]),
            ("label", "task: classify, label", ["'task' cannot be 'classify'", "regression, "]),
            ("seed: 1", "seed: \"x\"", ["'seed' must be a whole number, found \"x\"", "digits"]),
            ("[\"theirs\"]", "\"b\"", ["'public' must be a list, found \"b\"", "[\"one\""]),
            ("seed: 1", "seed: -1", ["'seed' must not be negative", "from 0 on"]),
            ("epsilon: 1.0", "epsilon: \"1\"", ["'epsilon' must be a number", "0.5"]),
            ("seed: 1", "sed: 1", ["'sed' is not a field here", "did you mean 'seed'?"]),
            ("seed: 1", "seed: 1, evaluation: (pay: 0.1)", ["not a session", "share(0.1)"]),
            (", delta: 1e-5", "", ["'delta' is missing", "add it"]),
            ("seed: 1", "seed: 1, seed: 2", ["'seed' is given twice", "leave one"]),
            ("(version", "version", ["begins with an opening bracket", "(version: 1"]),
            ("seed: 1)])", "seed: 1)]", ["s.ron:5", "a comma, found ]"]),
            ("seed: 1)])", "seed: 1)]) 7", ["follows the end of the session, found 7", "remove"]),
            ("seed: 1", "seed: 1 weight: 2", ["a comma", "s.ron:5"]),
        ] {
            let text = session.replacen(from, to, 1);
            let error = Session::parse(&text, "s.ron").unwrap_err().to_string();
            assert!(wanted.iter().all(|wanted| error.contains(wanted)), "{to}: {error}");
        }
        for table in ["007,HIV\n8,x\n", "é\n", "\"HIV\",\"x\"\n", "HIV: 007\n", "HIV(x)\n"] {
            let error = Session::parse(table, "s.ron").unwrap_err().to_string();
            assert!(!error.contains("HIV") && !error.contains("007"), "{error}");
        }
        // Not even half of a letter is shown, and no more than a little.
        for text in ["(version: é", "(version: \"éé", "(version: 1, name: é\u{1f600}", "é"] {
            assert!(Session::parse(text, "s.ron").is_err());
        }
        let long = format!("(version: {})", "x".repeat(5000));
        assert!(Session::parse(&long, "s.ron").unwrap_err().to_string().len() < 200);
    }
}
