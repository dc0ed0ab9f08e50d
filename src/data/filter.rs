//! Row filters such as `season != 1` or `sex == "F" and age >= 30`.
//!
//! ```text
//! any     = all { "or" all }
//! all     = one { "and" one }
//! one     = "not" one | "(" any ")" | column operator value
//! column  = name | "`" any name "`"
//! value   = number | "'" text "'" | '"' text '"'          (a doubled quote stands for itself)
//! ```

use std::fmt;
use std::iter::Peekable;
use std::str::Chars;

use super::names;
use super::table::{Cell, Column, Table, finite};
use crate::error::{Error, Result};

/// Deeper nesting is refused rather than risking the stack.
const DEEPEST: usize = 50;

/// A parsed filter. Parsing needs no data; types are checked against a table.
#[derive(Debug, Clone, PartialEq)]
pub struct Filter {
    text: String,
    condition: Condition,
}

#[derive(Debug, Clone, PartialEq)]
enum Condition {
    Any(Vec<Condition>),
    All(Vec<Condition>),
    Not(Box<Condition>),
    Comparison(Comparison),
}

#[derive(Debug, Clone, PartialEq)]
struct Comparison {
    column: String,
    /// Where the column and the value stand in the filter.
    column_at: usize,
    operator: Operator,
    value: Value,
    value_at: usize,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Operator {
    Equal,
    Unequal,
    Less,
    AtMost,
    Greater,
    AtLeast,
}

#[derive(Debug, Clone, PartialEq)]
enum Value {
    Number(f64),
    Text(String),
}

impl Filter {
    pub fn parse(text: &str) -> Result<Self> {
        let mut parser = Parser { tokens: tokens(text)?, next: 0, end: text.chars().count() + 1 };
        let condition = parser.any(0)?;
        match parser.take() {
            (_, None) => Ok(Self { text: text.trim().to_owned(), condition }),
            (at, found) => Err(expected("'and', 'or' or the end", found.as_ref(), at)
                .cure("join comparisons with 'and' or 'or'")),
        }
    }

    /// The rows for which it holds.
    pub fn apply(&self, table: &Table) -> Result<Table> {
        let holds = self.condition.holds(table)?;
        let rows: Vec<usize> = (0..table.rows()).filter(|&row| holds[row]).collect();
        if rows.is_empty() {
            return Err(Error::failed(format!(
                "the filter '{}' selects no row of {}",
                self.text, table.origin
            ))
            .cure("check the values that it compares with"));
        }
        Ok(table.select(&rows))
    }
}

impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Condition {
    /// For every row whether it holds.
    fn holds(&self, table: &Table) -> Result<Vec<bool>> {
        match self {
            Self::Any(parts) => combine(parts, table, |a, b| a | b),
            Self::All(parts) => combine(parts, table, |a, b| a & b),
            Self::Not(part) => Ok(part.holds(table)?.into_iter().map(|holds| !holds).collect()),
            Self::Comparison(comparison) => comparison.holds(table),
        }
    }
}

/// Every part is looked at, so that a mistake in any of them shows.
fn combine(
    parts: &[Condition],
    table: &Table,
    combine: fn(bool, bool) -> bool,
) -> Result<Vec<bool>> {
    let mut masks = parts.iter().map(|part| part.holds(table));
    let first = masks.next().unwrap_or_else(|| Ok(vec![true; table.rows()]))?;
    masks.try_fold(first, |mask, part| {
        Ok(mask.into_iter().zip(part?).map(|(a, b)| combine(a, b)).collect())
    })
}

impl Comparison {
    fn holds(&self, table: &Table) -> Result<Vec<bool>> {
        let column = table.column(&self.column).map_err(|_| {
            Error::usage(format!("{} has no column '{}'", table.origin, self.column))
                .at(place(self.column_at))
                .cure(names::hint("columns", &self.column, &table.names))
        })?;
        match (column, &self.value) {
            (Column::Numbers(cells), Value::Number(number)) => {
                if let Some(row) = cells.iter().position(|cell| cell.is_nan()) {
                    let what = format!("missing values, for instance at {}", table.place(row));
                    return Err(Error::usage(format!("column '{}' holds {what}", self.column))
                        .at(place(self.column_at))
                        .cure("complete the file, or filter by another column"));
                }
                Ok(cells.iter().map(|cell| self.operator.holds(cell, number)).collect())
            }
            (Column::Text(cells), Value::Text(text)) => {
                Ok(cells.iter().map(|cell| self.operator.holds(cell, text)).collect())
            }
            (Column::Numbers(_), Value::Text(text)) => {
                let cure = match finite(text.trim()) {
                    Some(number) => self.rewritten(&number.to_string()),
                    None => "compare it with a number".to_owned(),
                };
                Err(self
                    .mismatch(&format!("numbers, but is compared with the text '{text}'"), cure))
            }
            (Column::Vectors(_), _) => Err(self.mismatch(
                "vectors, which cannot be compared",
                "filter by a column of numbers or text".to_owned(),
            )),
            (Column::Text(cells), Value::Number(number)) => {
                let quoted = self.rewritten(&format!("\"{number}\""));
                let is_text = |cell: &String| matches!(Cell::parse(cell), Cell::Text(_));
                let cure = match cells.iter().position(is_text) {
                    // Numbers with a few gaps are no text in the eyes of the user.
                    Some(row) if !cells.iter().all(is_text) => format!(
                        "{} has '{}' in it; clean the file, or {quoted}",
                        table.place(row),
                        cells[row]
                    ),
                    _ => quoted,
                };
                Err(self.mismatch(&format!("text, but is compared with the number {number}"), cure))
            }
        }
    }

    fn mismatch(&self, what: &str, cure: String) -> Error {
        Error::usage(format!("column '{}' holds {what}", self.column))
            .at(place(self.value_at))
            .cure(cure)
    }

    fn rewritten(&self, value: &str) -> String {
        let plain = self.column.chars().all(belongs_to_word) && finite(&self.column).is_none();
        let quote = if plain { "" } else { "`" };
        format!("write {quote}{}{quote} {} {value}", self.column, self.operator.symbol())
    }
}

impl Operator {
    fn holds<T: PartialOrd + ?Sized>(self, a: &T, b: &T) -> bool {
        match self {
            Self::Equal => a == b,
            Self::Unequal => a != b,
            Self::Less => a < b,
            Self::AtMost => a <= b,
            Self::Greater => a > b,
            Self::AtLeast => a >= b,
        }
    }

    fn symbol(self) -> &'static str {
        match self {
            Self::Equal => "==",
            Self::Unequal => "!=",
            Self::Less => "<",
            Self::AtMost => "<=",
            Self::Greater => ">",
            Self::AtLeast => ">=",
        }
    }
}

fn place(at: usize) -> String {
    format!("filter, character {at}")
}

fn expected(what: &str, found: Option<&Token>, at: usize) -> Error {
    let found = found.map_or_else(|| "the end".to_owned(), ToString::to_string);
    Error::usage(format!("expected {what}, found {found}")).at(place(at))
}

#[derive(Debug, Clone, PartialEq)]
enum Token {
    /// A bare name; `and`, `or` and `not` among them.
    Word(String),
    /// A name in backquotes.
    Quoted(String),
    Number(f64),
    Text(String),
    Operator(Operator),
    Open,
    Close,
}

impl Token {
    fn is(&self, keyword: &str) -> bool {
        matches!(self, Self::Word(word) if word.eq_ignore_ascii_case(keyword))
    }
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Word(word) => write!(f, "'{word}'"),
            Self::Quoted(name) => write!(f, "`{name}`"),
            Self::Number(number) => write!(f, "the number {number}"),
            Self::Text(text) => write!(f, "the text \"{text}\""),
            Self::Operator(operator) => write!(f, "'{}'", operator.symbol()),
            Self::Open => f.write_str("'('"),
            Self::Close => f.write_str("')'"),
        }
    }
}

fn belongs_to_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '.'
}

/// Reads characters and counts them.
struct Scanner<'a> {
    rest: Peekable<Chars<'a>>,
    /// Of the next character, from 1.
    at: usize,
}

impl Scanner<'_> {
    fn take(&mut self) -> Option<char> {
        let next = self.rest.next();
        self.at += usize::from(next.is_some());
        next
    }

    fn take_if(&mut self, wanted: impl FnOnce(char) -> bool) -> Option<char> {
        let next = *self.rest.peek()?;
        if wanted(next) { self.take() } else { None }
    }

    /// The rest of a name or number that starts with `first`.
    fn word(&mut self, first: char) -> String {
        let mut word = String::from(first);
        loop {
            let exponent = word.ends_with(['e', 'E']) && word.starts_with(begins_number);
            let signed = |c| exponent && (c == '-' || c == '+');
            match self.take_if(|c| belongs_to_word(c) || signed(c)) {
                Some(c) => word.push(c),
                None => return word,
            }
        }
    }

    /// What stands between `quote` and its next single occurrence.
    fn quoted(&mut self, quote: char, start: usize) -> Result<String> {
        let mut text = String::new();
        loop {
            match self.take() {
                Some(c) if c != quote => text.push(c),
                Some(_) if self.take_if(|c| c == quote).is_some() => text.push(quote),
                Some(_) => return Ok(text),
                None => {
                    return Err(Error::usage(format!("the {quote} opened here is never closed"))
                        .at(place(start))
                        .cure(format!("end it with {quote}")));
                }
            }
        }
    }
}

fn begins_number(c: char) -> bool {
    c.is_ascii_digit() || matches!(c, '+' | '-' | '.')
}

/// The tokens of `text`, each with its position.
fn tokens(text: &str) -> Result<Vec<(usize, Token)>> {
    let mut scanner = Scanner { rest: text.chars().peekable(), at: 1 };
    let mut tokens = Vec::new();
    loop {
        let at = scanner.at;
        let Some(c) = scanner.take() else { return Ok(tokens) };
        let mut followed_by = |next| scanner.take_if(|c| c == next).is_some();
        let token = match c {
            _ if c.is_whitespace() => continue,
            '(' => Token::Open,
            ')' => Token::Close,
            '=' if followed_by('=') => Token::Operator(Operator::Equal),
            '!' if followed_by('=') => Token::Operator(Operator::Unequal),
            '<' if followed_by('=') => Token::Operator(Operator::AtMost),
            '>' if followed_by('=') => Token::Operator(Operator::AtLeast),
            '<' if !followed_by('>') => Token::Operator(Operator::Less),
            '>' => Token::Operator(Operator::Greater),
            '"' | '\'' => Token::Text(scanner.quoted(c, at)?),
            '`' => Token::Quoted(scanner.quoted(c, at)?),
            _ if belongs_to_word(c) || begins_number(c) => word_or_number(&scanner.word(c), at)?,
            _ => return Err(unexpected(c, at)),
        };
        tokens.push((at, token));
    }
}

fn word_or_number(word: &str, at: usize) -> Result<Token> {
    if !word.starts_with(begins_number) {
        return Ok(Token::Word(word.to_owned()));
    }
    match (word.parse::<f64>(), word.starts_with(['+', '-'])) {
        (Ok(number), _) if number.is_finite() => Ok(Token::Number(number)),
        (Err(_), false) => Ok(Token::Word(word.to_owned())),
        _ => Err(Error::usage(format!("'{word}' is not a finite number"))
            .at(place(at))
            .cure("write a number such as -1.5; a column name with a sign stands in backquotes")),
    }
}

fn unexpected(c: char, at: usize) -> Error {
    let cure = match c {
        '=' => "to compare, write ==",
        '<' => "for 'is not', write !=",
        '!' => "to negate, write not",
        '&' => "write and",
        '|' => "write or",
        _ => "names with other characters than letters, digits, _ and . stand in backquotes",
    };
    Error::usage(format!("unexpected '{c}'")).at(place(at)).cure(cure)
}

struct Parser {
    tokens: Vec<(usize, Token)>,
    next: usize,
    /// Position just after the filter.
    end: usize,
}

impl Parser {
    fn take(&mut self) -> (usize, Option<Token>) {
        let taken = self.tokens.get(self.next).cloned();
        self.next += 1;
        taken.map_or((self.end, None), |(at, token)| (at, Some(token)))
    }

    fn take_keyword(&mut self, keyword: &str) -> bool {
        let found = self.tokens.get(self.next).is_some_and(|(_, token)| token.is(keyword));
        self.next += usize::from(found);
        found
    }

    fn any(&mut self, depth: usize) -> Result<Condition> {
        self.joined("or", Condition::Any, |parser| {
            parser.joined("and", Condition::All, |parser| parser.one(depth))
        })
    }

    fn joined(
        &mut self,
        keyword: &str,
        join: fn(Vec<Condition>) -> Condition,
        part: impl Fn(&mut Self) -> Result<Condition>,
    ) -> Result<Condition> {
        let first = part(self)?;
        if !self.take_keyword(keyword) {
            return Ok(first);
        }
        let mut parts = vec![first, part(self)?];
        while self.take_keyword(keyword) {
            parts.push(part(self)?);
        }
        Ok(join(parts))
    }

    fn one(&mut self, depth: usize) -> Result<Condition> {
        let (at, token) = self.take();
        if depth > DEEPEST {
            return Err(Error::usage(format!("more than {DEEPEST} conditions inside each other"))
                .at(place(at))
                .cure("write a simpler filter"));
        }
        match token {
            Some(Token::Open) => {
                let inner = self.any(depth + 1)?;
                match self.take() {
                    (_, Some(Token::Close)) => Ok(inner),
                    (found_at, found) => Err(expected("')'", found.as_ref(), found_at)
                        .cure(format!("close the parenthesis of character {at}"))),
                }
            }
            Some(word) if word.is("not") => Ok(Condition::Not(Box::new(self.one(depth + 1)?))),
            Some(Token::Word(name))
                if !["and", "or"].iter().any(|k| k.eq_ignore_ascii_case(&name)) =>
            {
                self.comparison(name, at)
            }
            Some(Token::Quoted(name)) => self.comparison(name, at),
            found => Err(expected("a column name", found.as_ref(), at)
                .cure("write column, operator, value: season != 1; unusual names in backquotes")),
        }
    }

    fn comparison(&mut self, column: String, column_at: usize) -> Result<Condition> {
        let operator = match self.take() {
            (_, Some(Token::Operator(operator))) => operator,
            (at, found) => {
                return Err(expected("a comparison", found.as_ref(), at).cure(format!(
                    "write ==, !=, <, <=, > or >= after '{column}'; a name with blanks stands in \
                     backquotes"
                )));
            }
        };
        let (value, value_at) = match self.take() {
            (at, Some(Token::Number(number))) => (Value::Number(number), at),
            (at, Some(Token::Text(text))) => (Value::Text(text), at),
            (at, Some(Token::Word(word))) => {
                return Err(expected("a number or a text", Some(&Token::Word(word.clone())), at)
                    .cure(format!("text stands in quotes: \"{word}\"")));
            }
            (at, found) => {
                return Err(expected("a number or a text", found.as_ref(), at)
                    .cure("text stands in quotes: \"F\""));
            }
        };
        Ok(Condition::Comparison(Comparison { column, column_at, operator, value, value_at }))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::data::csv;

    const PEOPLE: &str = "sex,age,blood group,height,2nd\n\
        F,30,A,1.6,1\nM,41,B,NA,2\nF,29,0,1.7,3\nM,30,'x,1.8,4\n";

    fn people() -> Table {
        csv::read_bytes("people.csv", PEOPLE.as_bytes()).ok().unwrap()
    }

    fn lines(filter: &str) -> Vec<u64> {
        match Filter::parse(filter).and_then(|filter| filter.apply(&people())) {
            Ok(table) => table.lines,
            Err(error) => panic!("{filter}: {error}"),
        }
    }

    fn refusal(filter: &str) -> String {
        match Filter::parse(filter).and_then(|filter| filter.apply(&people())) {
            Ok(_) => panic!("{filter} was accepted"),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn every_operator_compares_numbers_and_text() {
        for (filter, expected) in [
            ("age == 30", vec![2, 5]),
            ("age != 30", vec![3, 4]),
            ("age < 30", vec![4]),
            ("age <= 3e1", vec![2, 4, 5]),
            ("age>30.0", vec![3]),
            ("age >= +30", vec![2, 3, 5]),
            ("age > -1", vec![2, 3, 4, 5]),
            ("sex == \"F\"", vec![2, 4]),
            ("sex != 'F'", vec![3, 5]),
            ("sex < 'G'", vec![2, 4]),
        ] {
            assert_eq!(lines(filter), expected, "{filter}");
        }
    }

    #[test]
    fn not_binds_closer_than_and_and_and_closer_than_or() {
        assert_eq!(lines("sex == 'F' or sex == 'M' and age > 40"), [2, 3, 4]);
        assert_eq!(lines("(sex == 'F' or sex == 'M') and age > 40"), [3]);
        assert_eq!(lines("not sex == 'F' and age > 40"), [3]);
        assert_eq!(lines("not (sex == 'F' and age == 30)"), [3, 4, 5]);
        assert_eq!(lines("not not age == 29 OR age == 41"), [3, 4]);
    }

    #[test]
    fn unusual_names_and_texts_can_be_written() {
        assert_eq!(lines("`blood group` == 'A'"), [2]);
        assert_eq!(lines("`blood group` == '''x'"), [5]);
        assert_eq!(lines("`blood group` == \"'x\""), [5]);
        assert_eq!(lines("2nd >= 4"), [5]);
    }

    #[test]
    fn mistakes_are_named_with_their_character() {
        for (filter, at, part) in [
            ("", 1, "expected a column name, found the end"),
            ("age = 30", 5, "write =="),
            ("age == ", 8, "expected a number or a text, found the end"),
            ("sex == F", 8, "text stands in quotes: \"F\""),
            ("sex == 'F", 8, "never closed"),
            ("blood group == 'A'", 7, "expected a comparison, found 'group'"),
            ("age > 3 4", 9, "expected 'and', 'or' or the end, found the number 4"),
            ("20 < age", 1, "expected a column name, found the number 20"),
            ("20 < age < 40", 1, "expected a column name"),
            ("age > 20 < 40", 10, "found '<'"),
            ("(age > 20", 10, "close the parenthesis of character 1"),
            ("age > 20)", 9, "found ')'"),
            ("age > 20 && sex == 'F'", 10, "write and"),
            ("age > 20 and", 13, "expected a column name, found the end"),
            ("age > 20 or and", 13, "expected a column name, found 'and'"),
            ("age <> 20", 5, "write !="),
            ("!age == 20", 1, "write not"),
            ("age == 1e999", 8, "not a finite number"),
            ("é == 'ü' ü", 10, "found 'ü'"),
            ("age % 3", 5, "unexpected '%'"),
        ] {
            let error = Filter::parse(filter).unwrap_err().to_string();

            assert!(error.starts_with(&format!("filter, character {at}: ")), "{filter}: {error}");
            assert!(error.contains(part), "{filter}: {error}");
        }
    }

    #[test]
    fn unknown_columns_and_mixed_types_are_refused_with_a_cure() {
        for (filter, at, part) in [
            ("age > 1 or agee == 1", 12, "people.csv has no column 'agee'"),
            ("agee == 1", 1, "did you mean 'age'?"),
            ("age == '30'", 8, "write age == 30"),
            ("age == 'old'", 8, "compare it with a number"),
            ("sex == 1", 8, "write sex == \"1\""),
            ("`blood group` != 0", 18, "people.csv:2 has 'A' in it"),
            ("height > 1.5", 1, "missing values, for instance at people.csv:3"),
            ("`2nd` == '4'", 10, "write 2nd == 4"),
        ] {
            let error = refusal(filter);
            assert!(error.starts_with(&format!("filter, character {at}: ")), "{filter}: {error}");
            assert!(error.contains(part), "{filter}: {error}");
        }
    }

    #[test]
    fn a_filter_that_selects_nothing_is_refused() {
        let error = refusal("age == 9");
        assert!(error.starts_with("the filter 'age == 9' selects no row of people.csv"), "{error}");
    }

    #[test]
    fn deep_nesting_is_refused_and_long_chains_are_not() {
        for deep in ["(".repeat(100_000), "not ".repeat(100_000)] {
            assert!(Filter::parse(&deep).unwrap_err().to_string().contains("simpler filter"));
        }
        let long = vec!["age != 30"; 10_000].join(" and ");
        assert_eq!(lines(&long), [3, 4]);
    }

    #[test]
    fn the_selected_rows_have_a_fingerprint_of_their_own_tied_to_the_file() {
        let whole = people();
        let women = Filter::parse("sex == 'F'").unwrap().apply(&whole).ok().unwrap();
        let men = Filter::parse("not sex == 'F'").unwrap().apply(&whole).ok().unwrap();
        assert_eq!(women.content, whole.content);
        assert_eq!(women.view.rows, 2);
        assert_eq!(women.view.plus(men.view), whole.view);
    }

    #[test]
    fn bikeshare_splits_into_winter_and_the_rest() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/assets/bikeshare/bikeshare.csv");
        let table = csv::read(path.as_ref()).ok().unwrap();
        let rows = |filter| Filter::parse(filter).unwrap().apply(&table).ok().unwrap().rows();
        assert_eq!(rows("season == 1"), 2068);
        assert_eq!(rows("season != 1"), 6577);
        assert_eq!(rows("weathersit == 'heavy rain/snow'"), 1);
    }

    proptest! {
        #[test]
        fn no_text_makes_the_parser_stumble(text in "[a1.'\"`()=<>!+e é-]{0,30}") {
            if let Ok(filter) = Filter::parse(&text) {
                prop_assert_eq!(&Filter::parse(&filter.to_string()).unwrap().to_string(), &filter.to_string());
            }
        }

        #[test]
        fn a_condition_and_its_negation_part_the_rows(age in 25_i32..45, height in prop::bool::ANY) {
            let join = if height { "and sex == 'F'" } else { "or sex == 'F'" };
            let rows = |filter: &str| {
                Filter::parse(filter).unwrap().apply(&people()).map_or(0, |table| table.rows())
            };
            let filter = format!("age >= {age} {join}");
            prop_assert_eq!(rows(&filter) + rows(&format!("not ({filter})")), 4);
        }
    }
}
