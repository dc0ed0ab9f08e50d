//! Rows of text under a header, for a file or the clipboard.

use std::fmt::Write;

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Sheet {
    pub header: Vec<String>,
    pub rows: Vec<Vec<String>>,
}

impl Sheet {
    pub fn csv(&self) -> String {
        let mut text = String::new();
        for row in std::iter::once(&self.header).chain(&self.rows) {
            let cells: Vec<String> = row.iter().map(|cell| quoted(cell)).collect();
            let _ = writeln!(text, "{}", cells.join(","));
        }
        text
    }
}

fn quoted(cell: &str) -> String {
    if cell.contains([',', '"', '\n', '\r']) {
        return format!("\"{}\"", cell.replace('"', "\"\""));
    }
    cell.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_with_commas_and_quotes_are_quoted() {
        let sheet = Sheet {
            header: vec!["a".into(), "b".into()],
            rows: vec![vec!["1,5".into(), "say \"x\"".into()]],
        };
        assert_eq!(sheet.csv(), "a,b\n\"1,5\",\"say \"\"x\"\"\"\n");
    }
}
