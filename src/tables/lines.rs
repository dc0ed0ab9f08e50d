//! The line of a file that each row of a table starts on.

/// The lines of a table's rows, or their numbers in a file without lines. Rows without gaps between
/// them, as in most files, take no memory.
#[derive(Clone)]
pub struct RowLines(LineList);

#[derive(Clone)]
enum LineList {
    Runs { runs: Vec<LineRun>, rows: usize },
    Listed(Vec<u64>),
}

/// Rows on lines that follow each other.
#[derive(Clone, Copy)]
struct LineRun {
    row: usize,
    line: u64,
}

impl LineRun {
    fn at(self, row: usize) -> u64 {
        self.line + (row - self.row) as u64
    }
}

/// With fewer rows to a run than this, the lines are listed.
const SHORT: usize = 4;

impl RowLines {
    /// Rows that follow each other.
    pub fn in_turn(line: u64, rows: usize) -> Self {
        Self(LineList::Runs { runs: vec![LineRun { row: 0, line }], rows })
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        match &self.0 {
            LineList::Runs { rows, .. } => *rows,
            LineList::Listed(lines) => lines.len(),
        }
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The line of a row, if there is such a row.
    pub fn get(&self, row: usize) -> Option<u64> {
        (row < self.len()).then(|| self.at(row))
    }

    /// The line of a row.
    pub fn at(&self, row: usize) -> u64 {
        match &self.0 {
            LineList::Runs { runs, .. } => {
                let next = runs.partition_point(|run| run.row <= row);
                runs[next - 1].at(row)
            }
            LineList::Listed(lines) => lines[row],
        }
    }

    /// All of them.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = u64> + '_ {
        (0..self.len()).map(|row| self.at(row))
    }

    /// Adds a row.
    pub(super) fn push(&mut self, line: u64) {
        match &mut self.0 {
            LineList::Runs { runs, rows } => {
                if runs.last().is_none_or(|run| run.at(*rows) != line) {
                    runs.push(LineRun { row: *rows, line });
                }
                *rows += 1;
            }
            LineList::Listed(lines) => lines.push(line),
        }
    }

    /// Adds the rows of another part.
    pub(super) fn append(&mut self, lines: &Self) {
        self.extend(lines.iter());
        if let LineList::Runs { runs, rows } = &self.0
            && runs.len() > 1 + rows / SHORT
        {
            self.0 = LineList::Listed(self.iter().collect());
        }
    }
}

impl Extend<u64> for RowLines {
    fn extend<I: IntoIterator<Item = u64>>(&mut self, lines: I) {
        lines.into_iter().for_each(|line| self.push(line));
    }
}

impl Default for RowLines {
    fn default() -> Self {
        Self(LineList::Runs { runs: Vec::new(), rows: 0 })
    }
}

impl From<Vec<u64>> for RowLines {
    fn from(lines: Vec<u64>) -> Self {
        lines.into_iter().collect()
    }
}

impl FromIterator<u64> for RowLines {
    fn from_iter<I: IntoIterator<Item = u64>>(lines: I) -> Self {
        let (mut all, mut part) = (Self::default(), Self::default());
        part.extend(lines);
        all.append(&part);
        all
    }
}

/// Equality of the lines, however they are kept.
impl PartialEq for RowLines {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.iter().eq(other.iter())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn they_are_those_that_were_added(
            parts in prop::collection::vec((0..4_u64, 0..9_u64), 0..6)
        ) {
            let (mut lines, mut listed, mut next) = (RowLines::default(), Vec::new(), 2);
            for (gap, count) in parts {
                let part: Vec<u64> = (next + gap..next + gap + count).collect();
                next += gap + count;
                lines.append(&part.clone().into());
                listed.extend(part);
            }
            prop_assert_eq!(lines.len(), listed.len());
            prop_assert!(lines.iter().eq(listed.iter().copied()));
            prop_assert_eq!(lines.get(listed.len()), None);
            prop_assert!(lines == RowLines::from(listed));
        }
    }

    #[test]
    fn rows_without_gaps_take_no_memory() {
        let mut lines = RowLines::from(vec![2, 3, 4]);
        lines.append(&vec![5, 6].into());
        assert!(matches!(&lines.0, LineList::Runs { runs, rows: 5 } if runs.len() == 1));
        lines.append(&vec![8, 1, 4].into());
        assert!(matches!(&lines.0, LineList::Listed(_)));
        assert!(lines.iter().eq([2, 3, 4, 5, 6, 8, 1, 4]));
    }
}
