//! What the cells of a column look like.

use std::collections::BTreeSet;

use super::OddText;
use crate::column::{Cell, Column, TEXTS_OF_GAPS, finite, is_missing, is_missing_text};
use crate::numbers::Numbers;
use crate::table::Table;

/// From so many values on numbers can be told to be clock times, if they have so many different hours
/// and minutes.
const FEWEST_TIMES: usize = 100;
const FEWEST_HOURS: usize = 6;
const FEWEST_MINUTES: usize = 5;

/// The weights of a survey differ by this factor; those of bodies and cars do not.
const UNEQUAL: f64 = 20.0;

/// Where so many pairs of equal numbers are expected and there is none, no measurement is: the chance
/// is below e⁻¹⁰.
const FEWEST_EQUAL: f64 = 10.0;

/// A text in more than one of so many cells may be a category.
const ODD_OF: usize = 10;

/// Texts that are categories, and often say that a value is not known.
const SEEM_GAPS: [&str; 8] = [
    "none",
    "unknown",
    "not known",
    "missing",
    "not available",
    "unspecified",
    "not specified",
    "undefined",
];

/// What rows are called that somebody set apart.
const DIVISIONS: [&str; 9] =
    ["train", "training", "test", "testing", "val", "valid", "validation", "dev", "holdout"];

/// Whether every value says for what somebody used the row.
pub(super) fn divides(column: &Column, distinct: usize) -> bool {
    let is_one = |(value, _): &(Cell, usize)| matches!(value, Cell::Text(text) if DIVISIONS.contains(&&*text.to_lowercase()));
    (2..=3).contains(&distinct) && column.values().iter().all(is_one)
}

/// The texts that are read as missing in a column of text.
pub(super) fn missing_as(column: &Column) -> Vec<&'static str> {
    let Column::Text(cells) = column else { return Vec::new() };
    let found: Vec<_> = cells.counts().map(|(cell, _)| cell.to_lowercase()).collect();
    let shown = TEXTS_OF_GAPS.iter().filter(|text| !text.is_empty() && is_missing_text(text));
    shown.copied().filter(|text| found.iter().any(|cell| cell == text)).collect()
}

/// The only text with a value of a column that has numbers otherwise.
pub(super) fn odd_text(table: &Table, column: &Column) -> Option<OddText> {
    let Column::Text(cells) = column else { return None };
    if !column.is_mostly_numbers() {
        return None;
    }
    let mut odd = cells.counts().filter(|(text, _)| finite(text).is_none() && !is_missing(text));
    let (text, count) = odd.next().filter(|_| odd.next().is_none())?;
    if count > column.len() / ODD_OF {
        return None;
    }
    let text = text.into_owned();
    let row = column.cells().position(|cell| matches!(&cell, Cell::Text(it) if *it == text))?;
    Some(OddText { text, count, place: table.place(row) })
}

/// The texts of a column that are read as categories although they may say that there is no value.
pub(super) fn seem_missing(column: &Column) -> Vec<String> {
    let Column::Text(cells) = column else { return Vec::new() };
    let texts = cells.counts().map(|(cell, _)| cell.into_owned());
    texts.filter(|cell| SEEM_GAPS.iter().any(|text| text.eq_ignore_ascii_case(cell))).collect()
}

/// Whether most cells of a column of text that are not whole numbers have a decimal comma that
/// cannot separate thousands, and more than a tenth of all cells do.
pub(super) fn has_decimal_commas(column: &Column) -> bool {
    let Column::Text(cells) = column else { return false };
    let (mut present, mut whole, mut with_comma) = (0, 0, 0);
    for (cell, count) in cells.counts().filter(|(cell, _)| !is_missing(cell)) {
        present += count;
        let decimals = cell.split_once(',').filter(|(_, decimals)| decimals.len() != 3);
        if decimals.is_some_and(|(before, after)| {
            finite(&format!("{}.{after}", before.replace('.', ""))).is_some()
        }) {
            with_comma += count;
        } else if !cell.contains(['.', ',']) && finite(&cell).is_some() {
            whole += count;
        }
    }
    2 * with_comma > present - whole && 10 * with_comma > present
}

/// Whether these values are clock times written as whole numbers, such as 1059 for 10:59: nearly all of
/// them, of many hours and minutes. `None` if there are too few.
pub(super) fn are_clock_times(values: &[(Cell<'_>, usize)]) -> Option<bool> {
    let total: usize = values.iter().map(|(_, count)| count).sum();
    if total < FEWEST_TIMES {
        return None;
    }
    let time = |(cell, count): &(Cell<'_>, usize)| match cell {
        Cell::Number(x) if x.fract() == 0.0 && (0.0..=2400.0).contains(x) && x % 100.0 < 60.0 => {
            Some(((*x as u16) / 100, (*x as u16) % 100, *count))
        }
        _ => None,
    };
    let times: Vec<(u16, u16, usize)> = values.iter().filter_map(time).collect();
    let of_rows: usize = times.iter().map(|(.., count)| count).sum();
    let hours: BTreeSet<u16> = times.iter().map(|(hour, ..)| *hour).collect();
    let minutes: BTreeSet<u16> = times.iter().map(|(_, minute, _)| *minute).collect();
    // A few values may be mistakes, but not many of the different ones.
    let nearly_all = 100 * of_rows >= 99 * total && 20 * times.len() >= 19 * values.len();
    Some(nearly_all && hours.len() >= FEWEST_HOURS && minutes.len() >= FEWEST_MINUTES)
}

/// Whether these values are positive numbers of which the largest is many times the least.
pub(super) fn are_unequal(values: &[(Cell<'_>, usize)]) -> bool {
    let numbers = values.iter().map(|(cell, _)| match cell {
        Cell::Number(x) => *x,
        _ => f64::NAN,
    });
    let [least, most] = numbers.fold([f64::INFINITY, 0.0], |[least, most], x| {
        if x.is_nan() { [f64::NEG_INFINITY, most] } else { [least.min(x), most.max(x)] }
    });
    least > 0.0 && most >= UNEQUAL * least
}

pub(super) fn has_numbers(column: &Column) -> bool {
    column.cells().any(|cell| matches!(cell, Cell::Number(_)))
}

/// Whether all its cells would be numbers with points instead of commas, or without commas.
pub(super) fn has_commas_for_points(column: &Column) -> bool {
    let Column::Text(cells) = column else { return false };
    let number = |cell: &str| {
        cell.contains(',')
            && (finite(&cell.replacen(',', ".", 1)).is_some()
                || finite(&cell.replace(',', "")).is_some())
    };
    let plain = |cell: &str| finite(cell).is_some() || is_missing(cell);
    let all = || cells.counts().map(|(cell, _)| cell);
    all().any(|cell| number(&cell)) && all().all(|cell| plain(&cell) || number(&cell))
}

pub(super) fn counts_up(column: &Column) -> bool {
    let Column::Numbers(cells) = column else { return false };
    cells.iter().zip(cells.iter().skip(1)).all(|(one, next)| next == one + 1.0)
}

/// Whether different whole numbers are so close together that measurements of other rows would hardly
/// all differ. Of n numbers from a range of r, n²/2r pairs are expected to be equal, or more.
pub(super) fn are_close_together(column: &Column) -> bool {
    let Column::Numbers(cells) = column else { return false };
    let ends = cells.iter().reduce(f64::min).zip(cells.iter().reduce(f64::max));
    let pairs = (cells.len() as f64).powi(2) / 2.0;
    are_whole(cells) && ends.is_some_and(|(low, high)| pairs >= FEWEST_EQUAL * (high - low))
}

/// Whether none of the numbers has decimals.
pub(super) fn are_whole(cells: &Numbers) -> bool {
    cells.iter().all(|cell| cell.is_nan() || cell.fract() == 0.0)
}

/// Whether they are whole numbers, some of which a double cannot tell from the next. No measurement
/// is that exact.
pub(super) fn are_too_long(column: &Column) -> bool {
    const LARGEST_EXACT: f64 = (1_u64 << 53) as f64;
    let Column::Numbers(cells) = column else { return false };
    are_whole(cells) && cells.iter().any(|cell| cell.abs() >= LARGEST_EXACT)
}

pub(super) fn is_whole(column: &Column) -> bool {
    matches!(column, Column::Numbers(cells) if are_whole(cells))
}
