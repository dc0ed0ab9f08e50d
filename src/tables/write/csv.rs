//! CSV according to RFC 4180, with lines that end in a line feed.

use std::fmt::Write as _;
use std::io::{self, Write};

use crate::column::{CellWindow, Column};

/// Up to 2⁵³, whole numbers are written digit by digit; beyond it, a double does not hold every one.
const LARGEST_PLAIN: f64 = (1_u64 << 53) as f64;

/// The text that is written at once.
const BLOCK: usize = 1 << 16;

pub(super) fn write(columns: &[(String, Column)], out: &mut dyn Write) -> io::Result<()> {
    let rows = columns.first().map_or(0, |(_, column)| column.len());
    let mut text = String::with_capacity(2 * BLOCK);
    let mut windows = CellWindow::several(columns.len());
    for (at, (name, _)) in columns.iter().enumerate() {
        separate(&mut text, at);
        quoted(&mut text, name);
    }
    text.push('\n');
    for row in 0..rows {
        let start = text.len();
        for (at, (_, column)) in columns.iter().enumerate() {
            separate(&mut text, at);
            match column {
                Column::Numbers(numbers) => {
                    number(&mut text, windows[at].numbers.get(numbers, row));
                }
                Column::Text(texts) => quoted(&mut text, windows[at].texts.get(texts, row)),
                Column::Vectors(_) => {}
            }
        }
        // Many readers skip a blank line.
        if text.len() == start {
            text.push_str("\"\"");
        }
        text.push('\n');
        if text.len() >= BLOCK {
            out.write_all(text.as_bytes())?;
            text.clear();
        }
    }
    out.write_all(text.as_bytes())
}

fn separate(out: &mut String, at: usize) {
    if at > 0 {
        out.push(',');
    }
}

/// The shortest form of the number that loses no bit.
fn number(out: &mut String, x: f64) {
    let _ = if x.is_nan() {
        Ok(())
    } else if x.fract() == 0.0 && x.abs() <= LARGEST_PLAIN {
        write!(out, "{x}")
    } else {
        write!(out, "{x:?}")
    };
}

fn quoted(out: &mut String, text: &str) {
    if text.contains([',', '"', '\n', '\r']) {
        let _ = write!(out, "\"{}\"", text.replace('"', "\"\""));
    } else {
        out.push_str(text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_in_the_only_column_is_no_blank_line() {
        let numbers = Column::Numbers(vec![1.0, f64::NAN, 9_007_199_254_740_991.0].into());
        let mut text = Vec::new();
        write(&[("x".into(), numbers)], &mut text).unwrap();
        assert_eq!(String::from_utf8(text).unwrap(), "x\n1\n\"\"\n9007199254740991\n");
    }

    #[test]
    fn numbers_are_short_and_gaps_are_empty() {
        let numbers = Column::Numbers(vec![1.0, f64::NAN, -0.1, 1e-300, 1e22].into());
        let texts = Column::Text(["a", "", "b,c", "d\"e", "f"].iter().collect());
        let mut text = Vec::new();
        write(&[("x".into(), numbers), ("t".into(), texts)], &mut text).unwrap();
        let expected = "x,t\n1,a\n,\n-0.1,\"b,c\"\n1e-300,\"d\"\"e\"\n1e22,f\n";
        assert_eq!(String::from_utf8(text).unwrap(), expected);
    }
}
