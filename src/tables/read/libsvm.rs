//! LIBSVM (SVMlight) text: `label index:value index:value …`, without the zeros.
//!
//! The value of index i becomes `x[i]`, whether a file counts from 0 or from 1. One file alone does
//! not always show which, and two files of one family must not be shifted against each other.

use super::input::Input;
use super::records::{FileRecord, FileRecords};
use crate::chunks::CHUNK;
use crate::column::{Column, finite};
use crate::error::{Error, Result};
use crate::numbers::Numbers;
use crate::table::Table;
use crate::vectors::Vectors;

/// Dense, a table may be this many times as large as the file …
const MOST_DENSER: u64 = 1024;
/// … or this many numbers.
const ALWAYS_ALLOWED: u64 = 1 << 24;

/// Whether a line looks like this format.
pub fn is_libsvm(line: &str) -> bool {
    let mut words = line.split('#').next().unwrap_or_default().split_ascii_whitespace();
    let pair = |word: &str| parse_pair(word).is_some() || word.starts_with("qid:");
    words.next().is_some_and(|label| finite(label).is_some())
        && words.next().is_some_and(pair)
        && words.all(pair)
}

fn parse_pair(word: &str) -> Option<(u32, f64)> {
    let (index, value) = word.split_once(':')?;
    Some((index.parse().ok()?, finite(value)?))
}

/// `width` is the length of the vectors; by default the largest index decides.
pub fn read(input: &Input, width: Option<usize>) -> Result<Table> {
    let mut records = FileRecords::new(input, None);
    let (mut labels, mut lines) = (Vec::new(), Vec::new());
    // Records that are not of this format.
    let mut unread = Vec::new();
    let (mut ends, mut indices, mut values) = (Vec::new(), Vec::new(), Vec::new());
    while let Some(record) = records.next()? {
        let text = match record.text(input) {
            // A text that is not a line of this format.
            Err(_) if input.forgiving => "?",
            text => text?,
        };
        let text = text.split('#').next().unwrap_or_default();
        let mut words = text.split_ascii_whitespace();
        let Some(label) = words.next() else { continue };
        let start = indices.len();
        let pairs = || -> Result<f64> {
            let wrong = |what: &str, word: &str| flaw(input, &record, what).quoting(word);
            let label = finite(label).ok_or_else(|| wrong("expected a label", label))?;
            for word in words.filter(|word| !word.starts_with("qid:")) {
                let (index, value) =
                    parse_pair(word).ok_or_else(|| wrong("expected index:value", word))?;
                if let Some(width) = width.filter(|&width| index as usize >= width) {
                    return Err(wrong(&format!("an index does not fit a width of {width}"), word)
                        .cure("indices count from 0: the width is the largest index plus 1"));
                }
                indices.push(index);
                values.push(value);
            }
            Ok(label)
        };
        match pairs() {
            Ok(label) => labels.push(label),
            Err(_) if input.forgiving => {
                indices.truncate(start);
                values.truncate(start);
                unread.push(labels.len());
                labels.push(f64::NAN);
            }
            Err(error) => return Err(error),
        }
        ends.push(indices.len());
        lines.push(record.line);
    }
    if labels.is_empty() {
        return Err(input.error("the file has no rows").cure("at least one row is needed"));
    }
    let largest = indices.iter().max().map_or(0, |&largest| largest as usize + 1);
    let width = width.unwrap_or(largest).max(1);
    let dense = (width as u64).saturating_mul(labels.len() as u64);
    if dense > ALWAYS_ALLOWED.max(input.length.saturating_mul(MOST_DENSER)) {
        return Err(input
            .error(format!(
                "{} rows of {width} numbers are more than fits: nearly all would be 0",
                labels.len()
            ))
            .cure("keep the features that occur often, and number them from 0"));
    }
    let single = values.iter().all(|&value| f64::from(value as f32) == value);
    let pairs = (indices.len() * (size_of::<u32>() + size_of::<f64>())) as u64;
    let space = input.room(dense.saturating_mul(size_of::<f64>() as u64), pairs)?;
    let mut numbers = Numbers::in_space(space.as_ref());
    let (mut start, mut unread) = (0, unread.into_iter().peekable());
    let together = (CHUNK / width).max(1);
    for (block, ends) in ends.chunks(together).enumerate() {
        let mut records = vec![0.0; ends.len() * width];
        for (row, (record, &end)) in records.chunks_exact_mut(width).zip(ends).enumerate() {
            if unread.next_if_eq(&(block * together + row)).is_some() {
                record.fill(f64::NAN);
            }
            for (&index, &value) in indices[start..end].iter().zip(&values[start..end]) {
                record[index as usize] = value;
            }
            start = end;
        }
        numbers.append(&records)?;
    }
    let vectors = Vectors::of_numbers(width, numbers, single);
    let vectors = vectors.ok_or_else(|| input.error("rows of different lengths"))?;
    Table::new(
        input.origin.clone(),
        vec!["label".to_owned(), "x".to_owned()],
        vec![Column::Numbers(labels.into()), Column::Vectors(vectors)],
        lines.into(),
    )
}

fn flaw(input: &Input, record: &FileRecord, what: &str) -> Error {
    Error::failed(what)
        .at(record.place(input))
        .cure("a row of LIBSVM text is: label index:value index:value …")
}
