//! From text to a condition. Every token has its position.

use std::fmt;
use std::iter::Peekable;
use std::str::Chars;

use super::condition::{
    CellComparison, Condition, Literal, NamedColumn, Operator, belongs_to_word, place,
};
use crate::error::{Error, Result};

/// Deeper nesting is refused, to protect the stack.
const DEEPEST: usize = 50;

/// The condition that `text` writes.
pub(super) fn parse(text: &str) -> Result<Condition> {
    let mut parser = Parser { tokens: tokens(text)?, next: 0, end: text.chars().count() + 1 };
    let condition = parser.any(0)?;
    match parser.take() {
        (_, None) => Ok(condition),
        (at, found) => Err(expected("'and', 'or' or the end", found.as_ref(), at)
            .cure("join comparisons with 'and' or 'or'")),
    }
}

fn expected(what: &str, found: Option<&Token>, at: usize) -> Error {
    let found = found.map_or_else(|| "the end".to_owned(), ToString::to_string);
    Error::usage(format!("expected {what}, found {found}")).at(place(at))
}

#[derive(Debug, Clone, PartialEq)]
enum Token {
    /// A bare word, including `and`, `or` and `not`.
    Word(String),
    /// A name in backquotes.
    Quoted(String),
    Number(f64),
    Text(String),
    Operator(Operator),
    /// A parenthesis, a bracket or a comma.
    Sign(char),
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
            Self::Sign(sign) => write!(f, "'{sign}'"),
        }
    }
}

/// Reads characters and counts them.
struct Scanner<'a> {
    rest: Peekable<Chars<'a>>,
    /// The position of the next character, from 1.
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

    /// The text between `quote` and its next single occurrence.
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
            '(' | ')' | '[' | ']' | ',' => Token::Sign(c),
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
            .cure("write a number such as -1.5; put a column name with a sign in backquotes")),
    }
}

fn unexpected(c: char, at: usize) -> Error {
    let cure = match c {
        '=' => "to compare, write ==",
        '<' => "for 'is not', write !=",
        '!' => "to negate, write not",
        '&' => "write and",
        '|' => "write or",
        _ => "put names with other characters than letters, digits, _ and . in backquotes",
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

    fn next_is(&self, keyword: &str) -> bool {
        self.tokens.get(self.next).is_some_and(|(_, token)| token.is(keyword))
    }

    fn take_keyword(&mut self, keyword: &str) -> bool {
        let found = self.next_is(keyword);
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
            Some(Token::Sign('(')) => {
                let inner = self.any(depth + 1)?;
                match self.take() {
                    (_, Some(Token::Sign(')'))) => Ok(inner),
                    (found_at, found) => Err(expected("')'", found.as_ref(), found_at)
                        .cure(format!("close the parenthesis of character {at}"))),
                }
            }
            Some(word) if word.is("not") => Ok(Condition::Not(Box::new(self.one(depth + 1)?))),
            Some(Token::Word(name))
                if !["and", "or"].iter().any(|k| k.eq_ignore_ascii_case(&name)) =>
            {
                self.claim(NamedColumn { text: name, at })
            }
            Some(Token::Quoted(name)) => self.claim(NamedColumn { text: name, at }),
            found => Err(expected("a column name", found.as_ref(), at)
                .cure("write column, operator, value: season != 1; unusual names in backquotes")),
        }
    }

    /// A claim about a column.
    fn claim(&mut self, column: NamedColumn) -> Result<Condition> {
        if self.take_keyword("is") {
            let negated = self.take_keyword("not");
            return match self.take() {
                (_, Some(word)) if word.is("missing") => {
                    Ok(negate(Condition::Missing(column), negated))
                }
                (at, found) => Err(expected("'missing'", found.as_ref(), at).cure(format!(
                    "write: {0} is missing, or: {0} is not missing; to compare, write ==",
                    column.text
                ))),
            };
        }
        let negated = self.take_keyword("not");
        if negated || self.next_is("in") {
            return Ok(negate(self.membership(&column)?, negated));
        }
        let operator = match self.take() {
            (_, Some(Token::Operator(operator))) => operator,
            (at, found) => {
                return Err(expected("a comparison", found.as_ref(), at).cure(format!(
                    "write ==, !=, <, <=, >, >=, in or is missing after '{}'; put a name with \
                     blanks in backquotes",
                    column.text
                )));
            }
        };
        let (value, value_at) = self.value()?;
        Ok(Condition::Comparison(CellComparison { column, operator, value, value_at }))
    }

    /// `in [a, b]` is `== a or == b`.
    fn membership(&mut self, column: &NamedColumn) -> Result<Condition> {
        if !self.take_keyword("in") {
            let (at, found) = self.take();
            return Err(expected("'in'", found.as_ref(), at)
                .cure("write: not in [1, 2]; to negate a comparison, put not before the column"));
        }
        let (start, open) = self.take();
        if open != Some(Token::Sign('[')) {
            return Err(expected("'['", open.as_ref(), start)
                .cure("write the values in brackets: in [\"a\", \"b\"]"));
        }
        let mut equal = Vec::new();
        loop {
            let (value, value_at) = self.value()?;
            let (column, operator) = (column.clone(), Operator::Equal);
            equal.push(Condition::Comparison(CellComparison { column, operator, value, value_at }));
            match self.take() {
                (_, Some(Token::Sign(','))) => {}
                (_, Some(Token::Sign(']'))) => return Ok(Condition::Any(equal)),
                (at, found) => {
                    return Err(expected("',' or ']'", found.as_ref(), at)
                        .cure(format!("close the bracket of character {start}")));
                }
            }
        }
    }

    fn value(&mut self) -> Result<(Literal, usize)> {
        match self.take() {
            (at, Some(Token::Number(number))) => Ok((Literal::Number(number), at)),
            (at, Some(Token::Text(text))) => Ok((Literal::Text(text), at)),
            (at, found) => {
                let example = match &found {
                    Some(Token::Word(word)) => word.as_str(),
                    _ => "F",
                };
                Err(expected("a number or a text", found.as_ref(), at)
                    .cure(format!("put text in quotes: \"{example}\"")))
            }
        }
    }
}

fn negate(condition: Condition, negated: bool) -> Condition {
    if negated { Condition::Not(Box::new(condition)) } else { condition }
}
