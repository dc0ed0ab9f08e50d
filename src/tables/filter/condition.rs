//! The conditions of a filter, and the rows for which they hold.

use std::collections::BTreeSet;

use crate::column::{Cell, Column, finite, lacks_value};
use crate::error::{Error, Result};
use crate::names;
use crate::table::Table;

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Condition {
    Any(Vec<Condition>),
    All(Vec<Condition>),
    Not(Box<Condition>),
    Comparison(CellComparison),
    Missing(NamedColumn),
}

/// A column's name and its position in the filter.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct NamedColumn {
    pub text: String,
    pub at: usize,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct CellComparison {
    pub column: NamedColumn,
    pub operator: Operator,
    pub value: Literal,
    pub value_at: usize,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Operator {
    Equal,
    Unequal,
    Less,
    AtMost,
    Greater,
    AtLeast,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Literal {
    Number(f64),
    Text(String),
}

/// The result of a condition for a row. A comparison with a missing number is unknown, and so is
/// its negation (Kleene's logic, as in SQL).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Truth {
    False,
    Unknown,
    True,
}

impl Truth {
    fn not(self) -> Self {
        match self {
            Self::False => Self::True,
            Self::Unknown => Self::Unknown,
            Self::True => Self::False,
        }
    }
}

impl From<bool> for Truth {
    fn from(holds: bool) -> Self {
        if holds { Self::True } else { Self::False }
    }
}

/// Whether a column of the wrong kind is an error, or each cell is tested by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Types {
    Checked,
    OfEachCell,
}

impl Condition {
    /// Adds the names of the columns that it uses.
    pub fn name_columns<'a>(&'a self, named: &mut BTreeSet<&'a str>) {
        match self {
            Self::Any(parts) | Self::All(parts) => {
                for part in parts {
                    part.name_columns(named);
                }
            }
            Self::Not(part) => part.name_columns(named),
            Self::Comparison(comparison) => {
                named.insert(&comparison.column.text);
            }
            Self::Missing(name) => {
                named.insert(&name.text);
            }
        }
    }

    /// Whether the condition holds for every row.
    pub fn holds(&self, table: &Table, types: Types) -> Result<Vec<Truth>> {
        match self {
            Self::Any(parts) => combine(parts, table, types, Truth::max),
            Self::All(parts) => combine(parts, table, types, Truth::min),
            Self::Not(part) => Ok(part.holds(table, types)?.into_iter().map(Truth::not).collect()),
            Self::Comparison(comparison) => match types {
                Types::Checked => comparison.holds(table),
                Types::OfEachCell => comparison.holds_of_cells(table),
            },
            Self::Missing(name) => {
                Ok(name.column(table)?.cells().map(|cell| lacks_value(&cell).into()).collect())
            }
        }
    }
}

/// Every part is evaluated, so that an error in any of them shows.
fn combine(
    parts: &[Condition],
    table: &Table,
    types: Types,
    combine: fn(Truth, Truth) -> Truth,
) -> Result<Vec<Truth>> {
    let mut masks = parts.iter().map(|part| part.holds(table, types));
    let first = masks.next().unwrap_or_else(|| Ok(vec![Truth::True; table.rows()]))?;
    masks.try_fold(first, |mask, part| {
        Ok(mask.into_iter().zip(part?).map(|(a, b)| combine(a, b)).collect())
    })
}

impl NamedColumn {
    fn column<'a>(&self, table: &'a Table) -> Result<&'a Column> {
        table.column(&self.text).map_err(|_| {
            Error::usage(format!("{} has no column '{}'", table.origin, self.text))
                .at(place(self.at))
                .cure(names::hint("columns", &self.text, &table.names))
        })
    }
}

impl CellComparison {
    fn holds(&self, table: &Table) -> Result<Vec<Truth>> {
        match (self.column.column(table)?, &self.value) {
            (Column::Numbers(cells), Literal::Number(number)) => {
                let truth = |cell: f64| {
                    if cell.is_nan() {
                        Truth::Unknown
                    } else {
                        self.operator.holds(&cell, number).into()
                    }
                };
                Ok(cells.iter().map(truth).collect())
            }
            (Column::Text(cells), Literal::Text(text)) => Ok(cells
                .iter()
                .map(|cell| self.operator.holds(cell.as_ref(), text.as_str()).into())
                .collect()),
            (Column::Numbers(_), Literal::Text(text)) => {
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
            (Column::Text(cells), Literal::Number(number)) => {
                let quoted = self.rewritten(&format!("\"{number}\""));
                let is_text = |cell: &str| matches!(Cell::parse(cell), Cell::Text(_));
                let what = format!("text, but is compared with the number {number}");
                match cells.iter().position(|cell| is_text(&cell)) {
                    // Users do not see numbers with a few gaps as text.
                    Some(row) if !cells.iter().all(|cell| is_text(&cell)) => {
                        let place = table.place(row);
                        let cure = format!("{place} is not a number: clean the file, or {quoted}");
                        Err(self.mismatch(&what, cure).quoting(cells.get(row)))
                    }
                    _ => Err(self.mismatch(&what, quoted)),
                }
            }
        }
    }

    /// Whether the comparison holds for each cell, whatever kind the others give their column.
    fn holds_of_cells(&self, table: &Table) -> Result<Vec<Truth>> {
        let column = self.column.column(table)?;
        if let Column::Vectors(_) = column {
            return self.holds(table);
        }
        let truth = |cell: Cell<'_>| match (&self.value, cell) {
            (Literal::Number(number), Cell::Number(cell)) => {
                self.operator.holds(&cell, number).into()
            }
            (Literal::Number(_), _) => Truth::Unknown,
            // Whether a number is stored as a number or as text depends on the other cells.
            (Literal::Text(text), cell) => match self.operator {
                Operator::Equal => (cell == Cell::parse(text)).into(),
                Operator::Unequal => (cell != Cell::parse(text)).into(),
                _ => self.operator.holds(cell.to_string().as_str(), text.as_str()).into(),
            },
        };
        Ok(column.cells().map(truth).collect())
    }

    fn mismatch(&self, what: &str, cure: String) -> Error {
        Error::usage(format!("column '{}' holds {what}", self.column.text))
            .at(place(self.value_at))
            .cure(cure)
    }

    fn rewritten(&self, value: &str) -> String {
        let name = &self.column.text;
        let plain = name.chars().all(belongs_to_word) && finite(name).is_none();
        let quote = if plain { "" } else { "`" };
        format!("write {quote}{name}{quote} {} {value}", self.operator.symbol())
    }
}

/// A position in a filter, for messages.
pub(super) fn place(at: usize) -> String {
    format!("filter, character {at}")
}

/// Letters of names that need no quotes.
pub(super) fn belongs_to_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '.'
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

    pub fn symbol(self) -> &'static str {
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
