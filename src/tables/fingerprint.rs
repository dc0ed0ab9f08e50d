//! A name for a set of rows that depends only on the rows: not on the file's name, the order of its
//! rows, or the order of its columns. A second number, computed in the same pass, also depends on
//! the order of the rows.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use sha2::block_api::compress256;
use sha2::{Digest, Sha256};

use super::column::{Cell, CellWindow, Column};
use crate::error::{Error, Result};
use crate::numeric::parallel;

pub const PREFIX: &str = "sha256-sum:";

/// Sum modulo 2²⁵⁶ of the SHA-256 of every row (its cells under their column
/// names, columns sorted), plus the number of rows.
///
/// This is a sum and not, say, an exclusive or, because duplicated rows must count. The fingerprint
/// of two joined tables is the sum of theirs.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, Default)]
#[serde(try_from = "String", into = "String")]
pub struct Fingerprint {
    /// Big-endian.
    pub sum: [u8; 32],
    /// The number of rows.
    pub rows: u64,
}

impl Fingerprint {
    /// The fingerprint of no rows.
    pub const EMPTY: Self = Self { sum: [0; 32], rows: 0 };

    /// The fingerprint of the rows of these columns.
    pub fn of(names: &[String], columns: &[Column]) -> Self {
        InOrder::of(names, columns).rows
    }

    /// With the rows of `other` added.
    pub fn plus(self, other: Self) -> Self {
        Self { sum: add(self.sum, other.sum), rows: self.rows + other.rows }
    }

    /// The last 128 bits of the sum.
    fn low(self) -> u128 {
        self.sum.last_chunk().map_or(0, |low| u128::from_be_bytes(*low))
    }
}

/// The fingerprint of rows, with a number that changes when rows change places.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct InOrder {
    /// The fingerprint, which does not depend on the order.
    pub rows: Fingerprint,
    /// Σ i·dᵢ modulo 2¹²⁸ over the rows i = 1, 2, …, where dᵢ is the last half of the row's digest.
    /// Digests are as good as random, so another order of different rows has the same sum with a
    /// chance of 2⁻¹²⁸.
    pub order: u128,
}

impl InOrder {
    /// The rows of these columns.
    pub fn of(names: &[String], columns: &[Column]) -> Self {
        Names::of(names).fingerprint(columns)
    }

    /// These rows, and then those of `other`.
    #[must_use]
    pub fn then(self, other: Self) -> Self {
        let moved = u128::from(self.rows.rows).wrapping_mul(other.rows.low());
        Self {
            rows: self.rows.plus(other.rows),
            order: self.order.wrapping_add(other.order).wrapping_add(moved),
        }
    }

    fn with_row(self, digest: [u8; 32]) -> Self {
        let row = Fingerprint { sum: digest, rows: 1 };
        self.then(Self { rows: row, order: row.low() })
    }
}

/// SHA-256 of every row. Rows that agree in every cell (numbers as numbers, text as text) have the
/// same digest, for any order of the columns.
pub(super) fn row_digests<'a>(
    names: &'a [String],
    columns: &'a [Column],
) -> impl Iterator<Item = [u8; 32]> + 'a {
    let mut digester = Names::of(names).digester(columns);
    (0..rows_of(columns)).step_by(BLOCK).flat_map(move |start| digester.block(start))
}

/// The number of rows hashed together: their cells are gathered column by column, in memory order.
/// A hundred cells of each stay in the fastest cache.
const BLOCK: usize = 32;
/// The bytes before the text or the numbers of a cell, and all those of a number.
const HEAD: usize = 9;
/// The bytes of the names' hash.
const SCHEMA: usize = 32;
/// The bytes that SHA-256 takes at once.
const BYTES: usize = 64;
/// The state of SHA-256 before the first of them (FIPS 180-4, 5.3.3).
const FIRST: [u32; 8] = [
    0x6a09_e667,
    0xbb67_ae85,
    0x3c6e_f372,
    0xa54f_f53a,
    0x510e_527f,
    0x9b05_688c,
    0x1f83_d9ab,
    0x5be0_cd19,
];

/// The names of a table's columns, sorted and hashed once for all blocks of its rows.
pub struct Names {
    order: Vec<usize>,
    /// The hash of the names, which are the same in every row: each row's message begins with it.
    schema: [u8; SCHEMA],
}

impl Names {
    /// The fingerprint of a table with these columns.
    pub fn of(names: &[String]) -> Self {
        let mut order: Vec<usize> = (0..names.len()).collect();
        order.sort_by(|&a, &b| names[a].cmp(&names[b]));
        let mut schema = Sha256::new();
        for &column in &order {
            schema.update((names[column].len() as u64).to_le_bytes());
            schema.update(names[column].as_bytes());
        }
        Self { order, schema: schema.finalize().into() }
    }

    /// The number of added rows.
    pub fn count(&self) -> usize {
        self.order.len()
    }

    /// The fingerprint of the rows of columns with these names. The sums do not depend on the
    /// division among threads.
    pub fn fingerprint(&self, columns: &[Column]) -> InOrder {
        let rows = rows_of(columns);
        let cells = columns.iter().map(Column::width).sum::<usize>() * rows;
        let parts = parallel::by_stretches(rows, cells, BLOCK, |rows| {
            let mut digester = self.digester(columns);
            rows.step_by(BLOCK).fold(InOrder::default(), |sum, start| {
                digester.block(start).into_iter().fold(sum, InOrder::with_row)
            })
        });
        parts.into_iter().fold(InOrder::default(), InOrder::then)
    }

    fn digester<'a>(&self, columns: &'a [Column]) -> Digester<'a> {
        let (rows, windows) = (Vec::new(), CellWindow::several(columns.len()));
        let columns = self.order.iter().map(|column| &columns[*column]).collect();
        Digester { columns, schema: self.schema, numbers: Vec::new(), rows, windows }
    }
}

fn rows_of(columns: &[Column]) -> usize {
    columns.first().map_or(0, Column::len)
}

/// Makes the digests of a table's rows, block after block.
struct Digester<'a> {
    /// Sorted by name.
    columns: Vec<&'a Column>,
    schema: [u8; SCHEMA],
    /// The messages of rows of numbers, which are all equally long.
    numbers: Vec<[u8; BYTES]>,
    /// The messages of other rows.
    rows: Vec<Vec<u8>>,
    /// One for each column.
    windows: Vec<CellWindow>,
}

impl Digester<'_> {
    /// Digests of the rows from `start` on.
    fn block(&mut self, start: usize) -> Vec<[u8; 32]> {
        let rows = self.columns.first().map_or(0, |column| column.len());
        let block = start..rows.min(start + BLOCK);
        let is_number = |column: &&Column| matches!(column, Column::Numbers(_));
        if self.columns.iter().all(is_number) {
            // Only the cells change from block to block.
            if self.numbers.is_empty() {
                let mut message = self.schema.to_vec();
                message.resize(SCHEMA + HEAD * self.columns.len(), 0);
                finish(&mut message);
                self.numbers = message.repeat(BLOCK).as_chunks().0.to_vec();
            }
            let long = self.numbers.len() / BLOCK;
            for (at, (column, window)) in self.columns.iter().zip(&mut self.windows).enumerate() {
                let Column::Numbers(cells) = column else { continue };
                let rows = self.numbers.as_flattened_mut().chunks_exact_mut(long * BYTES);
                let at = SCHEMA + at * HEAD;
                for (row, number) in rows.zip(window.numbers.read(cells, block.clone())) {
                    row[at..at + HEAD].copy_from_slice(&number_head(*number));
                }
            }
            // Block by block of all rows: a processor overlaps messages that do not depend on each
            // other.
            let mut states = vec![FIRST; block.len()];
            for at in 0..long {
                for (state, row) in states.iter_mut().zip(self.numbers.chunks_exact(long)) {
                    compress256(state, &row[at..=at]);
                }
            }
            return states.into_iter().map(in_bytes).collect();
        }
        self.rows.resize(block.len(), Vec::new());
        for row in &mut self.rows {
            row.clear();
            row.extend_from_slice(&self.schema);
        }
        for (column, window) in self.columns.iter().zip(&mut self.windows) {
            let rows = self.rows.iter_mut();
            if let Column::Numbers(cells) = column {
                for (row, number) in rows.zip(window.numbers.read(cells, block.clone())) {
                    row.extend_from_slice(&number_head(*number));
                }
            } else {
                for (row, at) in rows.zip(block.clone()) {
                    encode(window.cell(column, at), row);
                }
            }
        }
        let digests = self.rows.iter_mut().map(|row| {
            finish(row);
            digest(row.as_chunks().0)
        });
        digests.collect()
    }
}

/// Appends what SHA-256 demands at the end of a message: a bit, zeros, and the number of bits.
fn finish(message: &mut Vec<u8>) {
    let bits = 8 * message.len() as u64;
    message.push(1 << 7);
    message.resize((message.len() + size_of::<u64>()).next_multiple_of(BYTES), 0);
    let end = message.len() - size_of::<u64>();
    message[end..].copy_from_slice(&bits.to_be_bytes());
}

/// The SHA-256 of a finished message, without a copy of it.
fn digest(message: &[[u8; BYTES]]) -> [u8; 32] {
    let mut state = FIRST;
    compress256(&mut state, message);
    in_bytes(state)
}

fn in_bytes(state: [u32; 8]) -> [u8; 32] {
    let mut digest = [0; 32];
    for (bytes, word) in digest.as_chunks_mut().0.iter_mut().zip(state) {
        *bytes = word.to_be_bytes();
    }
    digest
}

/// A cell as bytes, such that no two different sequences of cells agree.
fn encode(cell: Cell<'_>, bytes: &mut Vec<u8>) {
    match cell {
        Cell::Number(number) => bytes.extend_from_slice(&number_head(number)),
        Cell::Text(text) => {
            bytes.extend_from_slice(&head(1, text.len() as u64));
            bytes.extend_from_slice(text.as_bytes());
        }
        Cell::Vector(vector) => {
            bytes.extend_from_slice(&head(2, vector.width() as u64));
            bytes.reserve(vector.width() * size_of::<f64>());
            for number in vector.numbers() {
                bytes.extend_from_slice(&number.to_bits().to_le_bytes());
            }
        }
    }
}

/// A number as [`encode`] writes it; a missing one is an empty text.
#[inline]
fn number_head(number: f64) -> [u8; HEAD] {
    match Cell::number(number) {
        Cell::Number(number) => head(0, number.to_bits()),
        _ => head(1, 0),
    }
}

#[inline]
fn head(kind: u8, number: u64) -> [u8; HEAD] {
    let mut head = [kind; HEAD];
    head[1..].copy_from_slice(&number.to_le_bytes());
    head
}

/// a + b modulo 2²⁵⁶.
fn add(a: [u8; 32], b: [u8; 32]) -> [u8; 32] {
    let mut sum = [0; 32];
    let mut carry = false;
    for at in (0..32).step_by(8).rev() {
        let word = |bytes: &[u8; 32]| {
            bytes[at..].first_chunk().map_or(0, |word| u64::from_be_bytes(*word))
        };
        let (partial, over) = word(&a).overflowing_add(word(&b));
        let (total, over_again) = partial.overflowing_add(u64::from(carry));
        carry = over || over_again;
        sum[at..at + 8].copy_from_slice(&total.to_be_bytes());
    }
    sum
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(PREFIX)?;
        for byte in self.sum {
            write!(f, "{byte:02x}")?;
        }
        write!(f, ":{}", self.rows)
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Fingerprint {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        parse(text).ok_or_else(|| {
            Error::usage(format!("'{text}' is not a fingerprint")).cure(format!(
                "a fingerprint is {PREFIX}, 64 hexadecimal digits, a colon and the number of rows; \
                 copy it whole"
            ))
        })
    }
}

fn parse(text: &str) -> Option<Fingerprint> {
    let (hex, rows) = text.strip_prefix(PREFIX)?.split_once(':')?;
    if hex.len() != 64 || !rows.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let mut sum = [0; 32];
    for (byte, pair) in sum.iter_mut().zip(hex.as_bytes().chunks(2)) {
        let digit = |at: usize| char::from(pair[at]).to_digit(16);
        *byte = (digit(0)? * 16 + digit(1)?) as u8;
    }
    Some(Fingerprint { sum, rows: rows.parse().ok()? })
}

impl TryFrom<String> for Fingerprint {
    type Error = Error;

    fn try_from(text: String) -> Result<Self> {
        text.parse()
    }
}

impl From<Fingerprint> for String {
    fn from(fingerprint: Fingerprint) -> Self {
        fingerprint.to_string()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn text(cells: &[&str]) -> Column {
        Column::Text(cells.iter().collect())
    }

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|&name| name.to_owned()).collect()
    }

    fn of(columns: &[(&str, Column)]) -> Fingerprint {
        let (names, columns): (Vec<_>, Vec<_>) =
            columns.iter().map(|(name, column)| ((*name).to_owned(), column.clone())).unzip();
        Fingerprint::of(&names, &columns)
    }

    /// Two columns of up to 20 rows: a number and a text each.
    fn rows() -> impl Strategy<Value = Vec<(i8, String)>> {
        prop::collection::vec((any::<i8>(), "[a-c]{0,2}"), 1..20)
    }

    fn table(rows: &[(i8, String)]) -> Vec<(&'static str, Column)> {
        vec![
            ("n", Column::Numbers(rows.iter().map(|(n, _)| f64::from(*n)).collect())),
            ("t", Column::Text(rows.iter().map(|(_, t)| t).collect())),
        ]
    }

    proptest! {
        #[test]
        fn the_order_of_rows_and_columns_does_not_matter(
            (rows, shuffled) in rows().prop_flat_map(|rows| (Just(rows.clone()), Just(rows).prop_shuffle()))
        ) {
            let mut columns = table(&shuffled);
            columns.reverse();
            prop_assert_eq!(of(&table(&rows)), of(&columns));
        }

        #[test]
        fn one_changed_cell_changes_it(mut rows in rows(), at in any::<prop::sample::Index>(), number in any::<bool>()) {
            let before = of(&table(&rows));
            let row = &mut rows[at.index(before.rows as usize)];
            if number { row.0 = row.0.wrapping_add(1); } else { row.1.push('d'); }
            prop_assert_ne!(before, of(&table(&rows)));
        }

        #[test]
        fn duplicates_count(mut rows in rows(), at in any::<prop::sample::Index>()) {
            let before = of(&table(&rows));
            let row = rows[at.index(rows.len())].clone();
            rows.push(row.clone());
            let once = of(&table(&rows));
            rows.push(row);
            prop_assert_ne!(before.sum, once.sum);
            prop_assert_ne!(before.sum, of(&table(&rows)).sum);
        }

        #[test]
        fn parts_add_up_to_the_whole(rows in rows(), at in any::<prop::sample::Index>()) {
            let (a, b) = rows.split_at(at.index(rows.len()));
            prop_assert_eq!(of(&table(a)).plus(of(&table(b))), of(&table(&rows)));
        }

        #[test]
        fn it_reads_back_what_it_writes(sum in any::<[u8; 32]>(), rows in any::<u64>()) {
            let fingerprint = Fingerprint { sum, rows };
            prop_assert_eq!(fingerprint.to_string().parse::<Fingerprint>().unwrap(), fingerprint);
        }
    }

    #[test]
    fn numbers_agree_however_they_are_written_and_typed() {
        let numbers = of(&[("x", Column::Numbers(vec![1.0, 0.0].into()))]);
        assert_eq!(numbers, of(&[("x", Column::Numbers(vec![1.0, -0.0].into()))]));
        assert_eq!(numbers, of(&[("x", text(&["1.0", "0"]))]));
        assert_eq!(numbers, of(&[("x", text(&["-0e3", "+1"]))]));
        assert_ne!(numbers, of(&[("x", text(&["1.0", "none"]))]));
    }

    #[test]
    fn cells_do_not_run_into_each_other_and_names_count() {
        let ab = of(&[("x", text(&["ab"])), ("y", text(&["c"]))]);
        assert_ne!(ab, of(&[("x", text(&["a"])), ("y", text(&["bc"]))]));
        assert_ne!(ab, of(&[("x", text(&["ab"])), ("z", text(&["c"]))]));
        assert_ne!(ab, of(&[("y", text(&["ab"])), ("x", text(&["c"]))]));
    }

    #[test]
    fn several_threads_agree_with_one() {
        let cells = (0..(1 << 18) * 3 + 7).map(|row| f64::from(row % 1000)).collect();
        let (names, columns) = (names(&["x"]), [Column::Numbers(cells)]);
        let one = row_digests(&names, &columns).fold(InOrder::default(), InOrder::with_row);
        assert_eq!(InOrder::of(&names, &columns), one);
    }

    #[test]
    fn a_finished_message_has_the_digest_of_the_message() {
        for length in 0..200_u8 {
            let mut message: Vec<u8> = (0..length).collect();
            let expected: [u8; 32] = Sha256::digest(&message).into();
            finish(&mut message);
            assert_eq!(digest(message.as_chunks().0), expected, "{length}");
        }
    }

    #[test]
    fn the_sum_carries_and_wraps() {
        let mut one = [0; 32];
        one[31] = 1;
        assert_eq!(add([255; 32], one), [0; 32]);
        let mut low = [0; 32];
        low[31] = 255;
        let mut carried = [0; 32];
        carried[30] = 1;
        assert_eq!(add(low, one), carried);
    }

    /// Made with Python's hashlib: names hash, then cells, as documented above.
    #[test]
    fn it_agrees_with_an_independent_implementation() {
        let columns = [Column::Numbers(vec![1.0, 2.5].into()), text(&["é", ""])];
        assert_eq!(
            Fingerprint::of(&names(&["b", "a"]), &columns).to_string(),
            "sha256-sum:11615e574932cfb12f07d22158379d9e839a152786bc7a94f9be27d48ba750b5:2"
        );
    }

    /// Checks more rows than are hashed together, with -0 and missing numbers among them.
    #[test]
    fn rows_of_numbers_agree_with_an_independent_implementation() {
        let number = |row: i32| match row % 7 {
            3 => -0.0,
            5 => f64::NAN,
            _ => f64::from(row) / 4.0,
        };
        let columns = [0, 1].map(|from| Column::Numbers((from..from + 70).map(number).collect()));
        assert_eq!(
            Fingerprint::of(&names(&["b", "a"]), &columns).to_string(),
            "sha256-sum:d17b9333516f14687d40b5a3c02ebf99f742e243e3c68ded5a0222f0dbd21056:70"
        );
    }

    #[test]
    fn damaged_fingerprints_are_refused() {
        for bad in ["", "sha256-sum:00:1", "abc", &format!("{PREFIX}{}:+1", "0".repeat(64))] {
            let error = bad.parse::<Fingerprint>().unwrap_err();
            assert!(error.to_string().contains("is not a fingerprint"), "{error}");
        }
    }
}
