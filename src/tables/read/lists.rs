//! Vectors in the making, from the lists of a Parquet column.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::error::Result;
use crate::files::scratch::Scratch;
use crate::numbers::Numbers;
use crate::vectors::Vectors;

/// Vectors in the making.
pub(super) struct Lists {
    numbers: Numbers,
    /// Whether they are in single precision.
    single: bool,
    width: Option<usize>,
    /// A row is being read …
    open: bool,
    /// … and has this many numbers so far.
    current: usize,
    /// Rows before the first with any number.
    empty: usize,
    /// For private records, the length of each; the most common one is the width.
    lengths: Option<Vec<usize>>,
}

impl Lists {
    /// No rows yet. `forgiving`: a list of another length than most becomes missing.
    pub fn new(single: bool, forgiving: bool) -> Self {
        let (numbers, lengths) = (Numbers::default(), forgiving.then(Vec::new));
        Self { numbers, single, width: None, open: false, current: 0, empty: 0, lengths }
    }

    /// The bytes of a number.
    pub fn bytes(&self) -> u64 {
        if self.single { 4 } else { 8 }
    }

    /// From now on they go to the disk.
    pub fn move_to(&mut self, space: &Arc<Scratch>) -> Result<()> {
        self.numbers.move_to(space)
    }

    pub fn push(&mut self, number: Option<f64>, begins: bool) {
        self.open |= begins;
        let Some(number) = number else { return };
        self.numbers.push(number);
        self.current += 1;
    }

    /// Whether the row that ends here is as long as those before it. A missing list counts as a
    /// list of missing numbers.
    pub fn end_row(&mut self) -> bool {
        let length = std::mem::take(&mut self.current);
        if !std::mem::take(&mut self.open) {
            return true;
        }
        if let Some(lengths) = &mut self.lengths {
            lengths.push(length);
            return true;
        }
        match self.width {
            None if length == 0 => self.empty += 1,
            None => self.width = Some(length),
            Some(width) if length == 0 => {
                self.numbers.extend(std::iter::repeat_n(f64::NAN, width));
            }
            Some(width) => return length == width,
        }
        true
    }

    /// Packs what was read.
    pub fn settle(&mut self) -> Result<()> {
        self.numbers.settle()
    }

    /// The vectors, or why there are none.
    pub fn finish(self, rows: usize) -> Result<std::result::Result<Vectors, &'static str>> {
        let (width, unlike) = match &self.lengths {
            Some(lengths) => (commonest(lengths), "it lacks rows"),
            None => (self.width, "lists of different lengths"),
        };
        let Some(width) = width else { return Ok(Err("all its lists are empty")) };
        let mut numbers = Numbers::in_space(self.numbers.space());
        for _ in 0..self.empty {
            numbers.append(&vec![f64::NAN; width])?;
        }
        numbers.join(&match &self.lengths {
            Some(lengths) => even(self.numbers, lengths, width)?,
            None => self.numbers,
        })?;
        let vectors = Vectors::of_numbers(width, numbers, self.single);
        Ok(vectors.filter(|vectors| vectors.len() == rows).ok_or(unlike))
    }
}

/// The most common length of lists with any numbers; the longest of equals.
fn commonest(lengths: &[usize]) -> Option<usize> {
    let mut counts = BTreeMap::new();
    for length in lengths.iter().filter(|&&length| length > 0) {
        *counts.entry(*length).or_insert(0_usize) += 1;
    }
    counts.into_iter().max_by_key(|(_, count)| *count).map(|(length, _)| length)
}

/// Lists, one after another, as vectors of one width. Those of another length or with an infinite
/// number become missing.
fn even(lists: Numbers, lengths: &[usize], width: usize) -> Result<Numbers> {
    let alike = lengths.iter().all(|length| *length == width);
    if alike && lists.first_infinite().is_none() {
        return Ok(lists);
    }
    let mut even = Numbers::in_space(lists.space());
    let (missing, mut first, mut room) = (vec![f64::NAN; width], 0, Vec::new());
    for length in lengths {
        let list = lists.read(first..first + length, &mut room);
        let usable = list.len() == width && list.iter().all(|number| !number.is_infinite());
        even.append(if usable { list } else { &missing })?;
        first += length;
    }
    Ok(even)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use parquet::data_type::{ByteArray, ByteArrayType, FloatType};
    use parquet::file::writer::SerializedFileWriter;
    use parquet::schema::parser::parse_message_type;

    use super::super::input::{Input, Overflow, Unwatched};
    use super::super::parquet::read;
    use super::*;
    use crate::{Column, Table};

    /// A file with a column of text and one of lists of single-precision numbers.
    fn with_lists(path: &Path, lists: &[Option<Vec<f32>>]) {
        let schema = "message rows { optional binary town (UTF8); \
                      optional group x (LIST) { repeated group list { required float element; } } }";
        let schema = Arc::new(parse_message_type(schema).unwrap());
        let file = fs::File::create(path).unwrap();
        let mut file = SerializedFileWriter::new(file, schema, Arc::default()).unwrap();
        let mut group = file.next_row_group().unwrap();
        let mut column = group.next_column().unwrap().unwrap();
        let towns: Vec<ByteArray> = (0..lists.len()).map(|at| ["a", "b"][at % 2].into()).collect();
        let levels = vec![1; lists.len()];
        column.typed::<ByteArrayType>().write_batch(&towns, Some(&levels), None).unwrap();
        column.close().unwrap();
        let (mut values, mut definitions, mut repetitions) = (Vec::new(), Vec::new(), Vec::new());
        for list in lists {
            repetitions.push(0);
            match list {
                None => definitions.push(0),
                Some(list) if list.is_empty() => definitions.push(1),
                Some(list) => {
                    values.extend_from_slice(list);
                    definitions.extend(list.iter().map(|_| 2));
                    repetitions.extend(list.iter().skip(1).map(|_| 1));
                }
            }
        }
        let mut column = group.next_column().unwrap().unwrap();
        let levels = (Some(definitions.as_slice()), Some(repetitions.as_slice()));
        column.typed::<FloatType>().write_batch(&values, levels.0, levels.1).unwrap();
        column.close().unwrap();
        group.close().unwrap();
        file.close().unwrap();
    }

    /// Of 12 numbers each, without those of some rows.
    fn lists(missing: &[usize]) -> Vec<Option<Vec<f32>>> {
        let list = |row: usize| (0..12).map(|at| ((row * 12 + at) % 1009) as f32 / 8.0).collect();
        (0..9000).map(|row| (!missing.contains(&row)).then(|| list(row))).collect()
    }

    /// The file read into memory, and onto the disk.
    fn both(lists: &[Option<Vec<f32>>], forgiving: bool) -> (Table, Table) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lists.parquet");
        with_lists(&path, lists);
        let overflow = Overflow { folder: folder.path().to_path_buf(), above: 1 << 16 };
        let table = |overflow: Option<Overflow>| {
            let mut progress = Unwatched;
            let mut input = Input::open(&path, &mut progress).unwrap();
            (input.forgiving, input.overflow) = (forgiving, overflow);
            read(&input).unwrap()
        };
        let (memory, disk) = (table(None), table(Some(overflow)));
        assert!(memory.space().is_none() && disk.space().is_some());
        (memory, disk)
    }

    #[test]
    fn lists_on_the_disk_are_the_same_lists() {
        let whole = lists(&[0, 1, 77]);
        let (memory, disk) = both(&whole, false);
        assert!(memory == disk && memory.columns[1] == disk.columns[1]);
        let many: Vec<usize> = (0..9000).rev().filter(|row| row % 3 != 1).collect();
        for rows in [many.as_slice(), &many[..5]] {
            let (one, other) = (memory.select(rows).unwrap(), disk.select(rows).unwrap());
            assert!(one == other && one.columns[1] == other.columns[1]);
            assert_eq!(other.columns[1].space().is_some(), rows.len() > 5);
        }
        let twice = |table: &Table| Table::concat(&[table, table]).unwrap();
        assert!(twice(&memory) == twice(&disk) && twice(&disk).space().is_some());
        let more = |table: &Table| table.of_size(9500, crate::table::seeded(3)).unwrap();
        assert!(more(&memory).columns == more(&disk).columns);
        let apart = |table: Table| table.apart_into(&["x[3]".to_owned()]).unwrap().columns;
        assert!(apart(memory) == apart(disk));
    }

    #[test]
    fn private_lists_that_cannot_be_read_are_missing_on_the_disk_too() {
        let mut flawed = lists(&[0, 5000]);
        flawed[3] = Some(vec![1.0; 7]);
        flawed[4] = Some(Vec::new());
        flawed[8999] = Some(vec![f32::INFINITY; 12]);
        let (memory, disk) = both(&flawed, true);
        assert!(memory == disk);
        let (Column::Vectors(ours), Column::Vectors(theirs)) =
            (&memory.columns[1], &disk.columns[1])
        else {
            panic!("no vectors")
        };
        assert!(ours == theirs && ours.first_missing() == theirs.first_missing());
        for row in [0, 3, 4, 5000, 8999] {
            assert!(theirs.row(row).numbers().all(f64::is_nan), "{row}");
        }
        assert!(theirs.row(8998).numbers().all(f64::is_finite));
        let bytes = |vectors: &Vectors| {
            let mut all = Vec::new();
            vectors.for_bytes(|bytes| all.extend_from_slice(bytes));
            all
        };
        assert!(bytes(ours) == bytes(theirs));
    }

    #[test]
    fn a_list_of_another_length_than_most_is_missing() {
        let lengths = [2, 3, 2, 0, 2];
        assert_eq!(commonest(&lengths), Some(2));
        assert_eq!(commonest(&[1, 4, 0]), Some(4));
        assert_eq!(commonest(&[0]), None);
        let even = even((1..=9).map(f64::from).collect(), &lengths, 2).unwrap();
        let even: Vec<String> = even.iter().map(|x| x.to_string()).collect();
        assert_eq!(even, ["1", "2", "NaN", "NaN", "6", "7", "NaN", "NaN", "8", "9"]);
    }
}
