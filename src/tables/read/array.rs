//! Arrays in NPY, IDX and safetensors files: a type, a shape, and the numbers one after another.
//! The first axis counts records.

use std::fmt::Write as _;
use std::io::{ErrorKind, Read};
use std::sync::Arc;

use half::{bf16, f16};

use super::input::Input;
use crate::column::Column;
use crate::error::{Error, Result};
use crate::files::scratch::Scratch;
use crate::names;
use crate::numbers::Numbers;
use crate::table::Table;
use crate::texts::Texts;
use crate::vectors::{Values, Vectors};

/// Above this a double cannot represent every integer.
const LARGEST_EXACT: u64 = 1 << 53;
const BLOCK: usize = 1 << 16;
/// Numbers on the disk that change their order together.
const TURNED: usize = 1 << 22;

/// One number (or text) of an array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Element {
    Bool,
    I8,
    U8,
    I16,
    U16,
    I32,
    U32,
    I64,
    U64,
    F16,
    Bf16,
    F32,
    F64,
    /// Text of this many UTF-32 characters.
    Utf32(usize),
    /// Text of this many bytes.
    Text(usize),
}

impl Element {
    pub fn size(self) -> usize {
        match self {
            Self::Bool | Self::I8 | Self::U8 => 1,
            Self::I16 | Self::U16 | Self::F16 | Self::Bf16 => 2,
            Self::I32 | Self::U32 | Self::F32 => 4,
            Self::I64 | Self::U64 | Self::F64 => 8,
            Self::Utf32(length) => length.saturating_mul(4),
            Self::Text(length) => length,
        }
    }

    /// Single precision holds all its values.
    fn is_single(self) -> bool {
        self.size() <= 2 || self == Self::F32
    }

    fn is_text(self) -> bool {
        matches!(self, Self::Utf32(_) | Self::Text(_))
    }
}

/// The contents of an array's header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArrayLayout {
    pub element: Element,
    pub big_endian: bool,
    /// First axis fastest.
    pub fortran: bool,
    pub shape: Vec<usize>,
}

impl ArrayLayout {
    pub fn rows(&self) -> usize {
        self.shape.first().copied().unwrap_or(0)
    }

    /// Numbers of one record.
    fn width(&self) -> usize {
        self.shape.iter().skip(1).product()
    }

    /// Whether the file has the numbers column by column.
    fn is_by_columns(&self) -> bool {
        self.fortran && self.width() > 1
    }

    /// `None` on overflow.
    pub fn bytes(&self) -> Option<u64> {
        let mut bytes = self.element.size() as u64;
        for &length in &self.shape {
            bytes = bytes.checked_mul(length as u64)?;
        }
        Some(bytes)
    }

    /// The place in a record of each number, in the order in which the file has them by columns.
    fn places(&self) -> Vec<usize> {
        let lengths = self.shape.get(1..).unwrap_or_default();
        let mut places = vec![0];
        for (axis, length) in lengths.iter().enumerate() {
            let step: usize = lengths[axis + 1..].iter().product();
            let along =
                (0..*length).flat_map(|index| places.iter().map(move |at| at + index * step));
            places = along.collect();
        }
        places
    }

    /// "4000 × 384".
    pub fn dimensions(&self) -> String {
        let lengths: Vec<_> = self.shape.iter().map(ToString::to_string).collect();
        if lengths.is_empty() { "a single value".to_owned() } else { lengths.join(" × ") }
    }
}

/// An array in a file with several.
pub struct ArrayEntry {
    pub name: String,
    pub layout: ArrayLayout,
    /// Where its reader finds it.
    pub place: u64,
    /// The most bytes that its numbers can have there.
    pub available: u64,
}

/// The requested arrays as a table, otherwise all. `read` reads one of them.
pub fn read_several(
    input: &Input,
    entries: &[ArrayEntry],
    wanted: &[String],
    mut read: impl FnMut(&ArrayEntry, Option<&Arc<Scratch>>) -> Result<Column>,
) -> Result<Table> {
    let chosen = choose(input, entries, wanted)?;
    let chosen: Vec<&ArrayEntry> = chosen.into_iter().map(|at| &entries[at]).collect();
    for ArrayEntry { name, layout, available, .. } in &chosen {
        check_length(input, name, layout, *available)?;
    }
    let space = room(input, chosen.iter().map(|entry| &entry.layout))?;
    let columns = chosen.into_iter().map(|it| Ok((it.name.clone(), read(it, space.as_ref())?)));
    table(input, columns.collect::<Result<_>>()?)
}

/// The arrays of a file to read: the requested ones, otherwise all with an entry per record, if
/// this is clear.
fn choose(input: &Input, entries: &[ArrayEntry], wanted: &[String]) -> Result<Vec<usize>> {
    let all: Vec<String> = entries.iter().map(|entry| entry.name.clone()).collect();
    let chosen: Vec<usize> = if wanted.is_empty() {
        (0..entries.len()).filter(|&at| !entries[at].layout.shape.is_empty()).collect()
    } else {
        let find = |name: &String| {
            all.iter().position(|known| known == name).ok_or_else(|| {
                input
                    .error(format!("there is no array '{name}'"))
                    .cure(names::hint("arrays", name, &all))
            })
        };
        wanted.iter().map(find).collect::<Result<_>>()?
    };
    let Some(&first) = chosen.first() else {
        return Err(input.error("there is no array in it").cure("save at least one array in it"));
    };
    let rows = entries[first].layout.rows();
    if chosen.iter().all(|&at| entries[at].layout.rows() == rows) {
        return Ok(chosen);
    }
    let mut listed = String::new();
    for &at in chosen.iter().take(12) {
        let ArrayEntry { name, layout, .. } = &entries[at];
        let _ = write!(listed, ", '{name}' {}", layout.dimensions());
    }
    let same: Vec<_> = chosen
        .iter()
        .filter(|&&at| entries[at].layout.rows() == rows)
        .map(|&at| format!("{:?}", entries[at].name))
        .collect();
    Err(input
        .error(format!("its arrays do not have the same number of records:{}", &listed[1..]))
        .cure(format!(
            "name those that belong together, such as: source: arrays(file: …, arrays: [{}])",
            same.join(", ")
        )))
}

/// Where the cells of arrays go that are read together, which all have room in the file: `None` if
/// they fit into memory.
fn room<'l>(
    input: &Input,
    layouts: impl IntoIterator<Item = &'l ArrayLayout>,
) -> Result<Option<Arc<Scratch>>> {
    let mut all = 0_u64;
    for layout in layouts {
        let bytes = layout.bytes().unwrap_or(u64::MAX);
        // Numbers become doubles sooner or later.
        let doubles = match layout.element {
            _ if layout.element.is_text() => 1,
            number => size_of::<f64>().div_ceil(number.size()) as u64,
        };
        all = all.saturating_add(bytes.saturating_mul(doubles));
    }
    input.room(all, 0)
}

/// Refuses an array if at most `available` bytes can follow and it needs more.
fn check_length(input: &Input, name: &str, layout: &ArrayLayout, available: u64) -> Result<()> {
    let needed = layout.bytes().unwrap_or(u64::MAX);
    if needed <= available {
        return Ok(());
    }
    Err(input.wrong_length(&format!("array '{name}' ({})", layout.dimensions()), needed, available))
}

/// The only array of a file, whose content ends with it, as a table. `called` is the array in the
/// error if there is more.
pub fn read_alone(
    input: &Input,
    reader: &mut dyn Read,
    (name, called): (&str, &str),
    layout: &ArrayLayout,
    available: u64,
) -> Result<Table> {
    if let Some(needed) = layout.bytes().filter(|needed| *needed < available && !input.packed) {
        let what = format!("{called} ({})", layout.dimensions());
        return Err(input.wrong_length(&what, needed, available));
    }
    check_length(input, name, layout, available)?;
    let space = room(input, [layout])?;
    let column = read(input, reader, name, layout, space.as_ref())?;
    table(input, vec![(name.to_owned(), column)])
}

/// Reads an array whose length is checked. Its cells go to `space`, if there is any.
pub fn read(
    input: &Input,
    reader: &mut dyn Read,
    name: &str,
    layout: &ArrayLayout,
    space: Option<&Arc<Scratch>>,
) -> Result<Column> {
    let needed = layout.bytes().unwrap_or(u64::MAX);
    if needed == 0 {
        return Err(input
            .error(format!("array '{name}' is empty ({})", layout.dimensions()))
            .cure("at least one record is needed"));
    }
    let array = Array { input, name, layout };
    let count = needed as usize / layout.element.size();
    if layout.element.is_text() {
        return array.texts(reader, needed, space);
    }
    if !layout.is_by_columns() {
        return array.column(array.numbers(reader, needed, space)?);
    }
    // The header of a packed file is not trusted to make room for all numbers: there they are moved
    // when all have arrived.
    if space.is_none() && count as u64 <= input.length {
        return array.column(array.placed(reader, needed, count)?);
    }
    let elsewhere = space.map(|space| space.another()).transpose()?;
    let by_columns = array.numbers(reader, needed, elsewhere.as_ref())?;
    array.column(array.by_records(&by_columns, space)?)
}

/// An array that is being read.
#[derive(Clone, Copy)]
struct Array<'i, 'a> {
    input: &'i Input<'a>,
    name: &'i str,
    layout: &'i ArrayLayout,
}

/// The elements of an array, each with its least byte first.
fn elements<const N: usize>(bytes: &[u8], big_endian: bool) -> impl Iterator<Item = [u8; N]> {
    bytes.as_chunks().0.iter().map(move |element: &[u8; N]| {
        let mut element = *element;
        if big_endian {
            element.reverse();
        }
        element
    })
}

fn singles(numbers: impl Iterator<Item: Into<f32>>) -> Values {
    Values::F32(numbers.map(Into::into).collect())
}

fn doubles(numbers: impl Iterator<Item: Into<f64>>) -> Values {
    Values::F64(numbers.map(Into::into).collect())
}

/// Replaces records of `width` numbers with an infinite one by missing numbers.
fn forget_infinite<T: Copy>(numbers: &mut [T], width: usize, infinite: fn(T) -> bool, missing: T) {
    let records = numbers.chunks_mut(width);
    let infinite = records.filter(|record| record.iter().any(|x| infinite(*x)));
    infinite.for_each(|record| record.fill(missing));
}

impl Array<'_, '_> {
    /// Reads blocks of whole elements, each with the number of elements before it.
    fn blocks(
        self,
        reader: &mut dyn Read,
        needed: u64,
        mut take: impl FnMut(&[u8], usize) -> Result<()>,
    ) -> Result<()> {
        let size = self.layout.element.size();
        // Whole records only where an infinite number makes its whole record missing.
        let by_record = self.input.forgiving && !self.layout.is_by_columns();
        let unit = if by_record { size * self.layout.width().max(1) } else { size };
        self.input.check_memory(unit as u64)?;
        let most = ((BLOCK / unit).max(1) * unit) as u64;
        let (mut block, mut seen) = (Vec::new(), 0);
        while seen < needed {
            // The block grows as bytes arrive, because a header may lie.
            block.clear();
            let expected = most.min(needed - seen);
            let read = (&mut *reader).take(expected).read_to_end(&mut block);
            let read = read.map_err(|error| self.input.io(&error))? as u64;
            if read < expected {
                return Err(self.input.io(&ErrorKind::UnexpectedEof.into()));
            }
            take(&block, seen as usize / size)?;
            seen += read;
        }
        Ok(())
    }

    /// The numbers in the order of the file.
    fn numbers(
        self,
        reader: &mut dyn Read,
        needed: u64,
        space: Option<&Arc<Scratch>>,
    ) -> Result<Numbers> {
        let mut numbers = Numbers::in_space(space);
        let width = self.layout.width();
        self.blocks(reader, needed, |block, before| {
            let mut values = self.decoded(block, before)?;
            if !self.layout.is_by_columns() {
                self.forget_infinite(&mut values);
            }
            match values {
                // A column of numbers takes the fewest bytes, as does everything on the disk.
                Values::F32(values) if width == 1 || space.is_some() => {
                    numbers.extend(values.into_iter().map(f64::from));
                    numbers.settle()
                }
                Values::F64(values) => numbers.append(&values),
                values => numbers.join(&values.into()),
            }
        })?;
        Ok(numbers)
    }

    /// Replaces records of a private array with an infinite number by missing ones.
    fn forget_infinite(self, values: &mut Values) {
        let width = self.layout.width();
        match values {
            Values::F32(values) if self.input.forgiving => {
                forget_infinite(values, width, f32::is_infinite, f32::NAN);
            }
            Values::F64(values) if self.input.forgiving => {
                forget_infinite(values, width, f64::is_infinite, f64::NAN);
            }
            _ => {}
        }
    }

    /// The numbers by records, of an array that the file has by columns: they go to their places as
    /// they arrive.
    fn placed(self, reader: &mut dyn Read, needed: u64, count: usize) -> Result<Numbers> {
        let mut records = match self.layout.element {
            Element::U8 | Element::Bool => Values::U8(vec![0; count]),
            element if element.is_single() => Values::F32(vec![0.0; count]),
            _ => Values::F64(vec![0.0; count]),
        };
        let places = self.layout.places();
        self.blocks(reader, needed, |block, before| {
            match (&mut records, self.decoded(block, before)?) {
                (Values::U8(all), Values::U8(some)) => self.put(all, &places, before, &some),
                (Values::F32(all), Values::F32(some)) => self.put(all, &places, before, &some),
                (Values::F64(all), Values::F64(some)) => self.put(all, &places, before, &some),
                _ => {}
            }
            Ok(())
        })?;
        self.forget_infinite(&mut records);
        Ok(records.into())
    }

    /// Puts numbers of columns, `before` numbers after the first, into their places in the records.
    fn put<T: Copy>(self, records: &mut [T], places: &[usize], mut before: usize, some: &[T]) {
        let (rows, width) = (self.layout.rows(), self.layout.width());
        let mut left = some;
        while !left.is_empty() {
            let (column, row) = (before / rows, before % rows);
            let (now, later) = left.split_at(left.len().min(rows - row));
            let slots = records[row * width + places[column]..].iter_mut().step_by(width);
            slots.zip(now).for_each(|(slot, number)| *slot = *number);
            (left, before) = (later, before + now.len());
        }
    }

    /// The numbers by records, some records at a time.
    fn by_records(self, by_columns: &Numbers, space: Option<&Arc<Scratch>>) -> Result<Numbers> {
        let (rows, width, places) = (self.layout.rows(), self.layout.width(), self.layout.places());
        let mut all = Numbers::in_space(space);
        let (step, mut room) = ((TURNED / width).max(1), Vec::new());
        for first in (0..rows).step_by(step) {
            let end = rows.min(first + step);
            let mut records = vec![0.0; (end - first) * width];
            for (column, place) in places.iter().enumerate() {
                let numbers =
                    by_columns.read(column * rows + first..column * rows + end, &mut room);
                let slots = records[*place..].iter_mut().step_by(width);
                slots.zip(numbers).for_each(|(slot, number)| *slot = *number);
            }
            if self.input.forgiving {
                forget_infinite(&mut records, width, f64::is_infinite, f64::NAN);
            }
            all.append(&records)?;
        }
        Ok(all)
    }

    /// The numbers of a block, `before` numbers after the first.
    fn decoded(self, bytes: &[u8], before: usize) -> Result<Values> {
        let big = self.layout.big_endian;
        // What a double cannot hold.
        let beyond = |size: u64| size > LARGEST_EXACT;
        let signed = |x: i64| if beyond(x.unsigned_abs()) { f64::NAN } else { x as f64 };
        let unsigned = |x: u64| if beyond(x) { f64::NAN } else { x as f64 };
        Ok(match self.layout.element {
            Element::U8 => Values::U8(bytes.to_vec()),
            Element::Bool => Values::U8(bytes.iter().map(|byte| u8::from(*byte != 0)).collect()),
            Element::I8 => singles(elements(bytes, big).map(i8::from_le_bytes)),
            Element::I16 => singles(elements(bytes, big).map(i16::from_le_bytes)),
            Element::U16 => singles(elements(bytes, big).map(u16::from_le_bytes)),
            Element::F16 => singles(elements(bytes, big).map(f16::from_le_bytes)),
            Element::Bf16 => singles(elements(bytes, big).map(bf16::from_le_bytes)),
            Element::F32 => singles(elements(bytes, big).map(f32::from_le_bytes)),
            Element::I32 => doubles(elements(bytes, big).map(i32::from_le_bytes)),
            Element::U32 => doubles(elements(bytes, big).map(u32::from_le_bytes)),
            Element::I64 => self
                .exact(doubles(elements(bytes, big).map(i64::from_le_bytes).map(signed)), before)?,
            Element::U64 => self.exact(
                doubles(elements(bytes, big).map(u64::from_le_bytes).map(unsigned)),
                before,
            )?,
            // Arrays of texts go another way: see `texts`.
            Element::F64 | Element::Utf32(_) | Element::Text(_) => {
                doubles(elements(bytes, big).map(f64::from_le_bytes))
            }
        })
    }

    /// Refuses public integers of which some have no double.
    fn exact(self, integers: Values, before: usize) -> Result<Values> {
        let Values::F64(numbers) = &integers else { return Ok(integers) };
        let lost = numbers.iter().position(|x| x.is_nan()).filter(|_| !self.input.forgiving);
        let Some(at) = lost.map(|at| before + at) else { return Ok(integers) };
        let (rows, width) = (self.layout.rows(), self.layout.width());
        let row = if self.layout.fortran { at % rows } else { at / width };
        Err(self
            .flaw(row, "an integer beyond 2⁵³ cannot be computed with exactly")
            .cure("leave the array out, or save it as text"))
    }

    fn texts(
        self,
        reader: &mut dyn Read,
        needed: u64,
        space: Option<&Arc<Scratch>>,
    ) -> Result<Column> {
        let Self { layout, .. } = self;
        let mut texts = Texts::in_space(space);
        self.blocks(reader, needed, |block, before| {
            for (at, cell) in (before..).zip(block.chunks_exact(layout.element.size())) {
                let text = if let Element::Utf32(_) = layout.element {
                    let characters = elements(cell, layout.big_endian).map(u32::from_le_bytes);
                    characters.map(char::from_u32).collect::<Option<String>>()
                } else {
                    std::str::from_utf8(cell).ok().map(str::to_owned)
                };
                let Some(text) = text.or_else(|| self.input.forgiving.then(String::new)) else {
                    return Err(self
                        .flaw(at / layout.width(), "the text is not Unicode")
                        .cure("save the array as UTF-8 or Unicode text"));
                };
                texts.push(text.trim_end_matches('\0').trim());
            }
            texts.settle()
        })?;
        if layout.width() == 1 {
            return Ok(Column::Text(texts));
        }
        Err(self
            .flaw(0, "an array of texts with more than one axis")
            .cure("text needs one axis: leave the array out or split it"))
    }

    /// An error in this row.
    fn flaw(self, row: usize, what: &str) -> Error {
        let place = format!("{}, array '{}', row {}", self.input.origin, self.name, row + 1);
        Error::failed(what).at(place)
    }

    fn column(self, numbers: Numbers) -> Result<Column> {
        let (rows, width) = (self.layout.rows(), self.layout.width());
        if let Some(at) = numbers.first_infinite() {
            return Err(self
                .flaw(at / width, "an infinite number")
                .cure("replace infinite numbers before saving, or remove such records"));
        }
        if width == 1 {
            return Ok(Column::Numbers(numbers));
        }
        Vectors::of_numbers(width, numbers, self.layout.element.is_single())
            .filter(|vectors| vectors.len() == rows)
            .map(Column::Vectors)
            .ok_or_else(|| self.input.error("the shape does not fit the numbers"))
    }
}

/// Arrays under their names as a table.
pub fn table(input: &Input, columns: Vec<(String, Column)>) -> Result<Table> {
    let (names, columns) = columns.into_iter().unzip();
    Table::of_rows(input.origin.clone(), names, columns)
}

#[cfg(test)]
pub(super) mod tests {
    use std::fmt::Debug;
    use std::path::Path;

    use super::super::input::{Overflow, Unwatched};
    use super::super::numpy;
    use super::*;

    /// An NPY file of these cells.
    pub fn npy(kind: &str, fortran: bool, shape: &[usize], cells: &[Vec<u8>]) -> Vec<u8> {
        let order = if fortran { "True" } else { "False" };
        let shape = format!("{shape:?}").replace('[', "(").replace(']', ",)");
        let header = format!("{{'descr': '{kind}', 'fortran_order': {order}, 'shape': {shape}}}\n");
        let length = u16::try_from(header.len()).unwrap().to_le_bytes();
        [numpy::MAGIC, &[1, 0], &length, header.as_bytes(), &cells.concat()].concat()
    }

    /// The table, or what is wrong, in memory and on the disk.
    fn both(file: &[u8], forgiving: bool, folder: &Path) -> [Result<Table>; 2] {
        [None, Some(Overflow { folder: folder.to_path_buf(), above: 1 << 10 })].map(|overflow| {
            let mut progress = Unwatched;
            let mut input = Input::of_bytes("a.npy", file, &mut progress).unwrap();
            (input.forgiving, input.overflow) = (forgiving, overflow);
            numpy::read_npy(&input, "a")
        })
    }

    fn same(file: &[u8], forgiving: bool, folder: &Path, what: &dyn Debug) -> Table {
        let [memory, disk] = both(file, forgiving, folder).map(Result::unwrap);
        assert!(memory.space().is_none() && disk.space().is_some(), "{what:?}");
        assert!(memory == disk, "{what:?}");
        if let (Column::Vectors(memory), Column::Vectors(disk)) =
            (&memory.columns[0], &disk.columns[0])
        {
            let written = |vectors: &Vectors| {
                let mut all = Vec::new();
                vectors.for_bytes(|bytes| all.extend_from_slice(bytes));
                all
            };
            assert!(written(memory) == written(disk), "{what:?}");
        }
        disk
    }

    /// Numbers that need each kind's width.
    fn cells(kind: &str, count: usize) -> Vec<Vec<u8>> {
        (0..count as u32)
            .map(|at| match kind {
                "|u1" => vec![(at * 7 % 256) as u8],
                "<f4" => ((at as f32).sin()).to_le_bytes().to_vec(),
                ">i4" => (at * 7_919).to_be_bytes().to_vec(),
                _ => f64::from(at).sin().to_le_bytes().to_vec(),
            })
            .collect()
    }

    #[test]
    fn an_array_on_the_disk_is_the_same_array() {
        let folder = tempfile::tempdir().unwrap();
        for kind in ["|u1", "<f4", ">i4", "<f8"] {
            for shape in [&[21_000][..], &[21_000, 1], &[7_000, 3], &[1_500, 3, 5], &[2, 70_000]] {
                for fortran in [false, true] {
                    let file = npy(kind, fortran, shape, &cells(kind, shape.iter().product()));
                    same(&file, false, folder.path(), &(kind, shape, fortran));
                }
            }
        }
    }

    #[test]
    fn fortrans_order_is_turned_some_records_at_a_time() {
        // More numbers than change their order together.
        let (rows, width) = (700, TURNED / 500);
        let at = |row: usize, column: usize| (row * 31 + column * 17) % 251;
        let cells: Vec<Vec<u8>> = (0..width)
            .flat_map(|column| (0..rows).map(move |row| vec![at(row, column) as u8]))
            .collect();
        let folder = tempfile::tempdir().unwrap();
        let file = npy("|u1", true, &[rows, width], &cells);
        let [_, disk] = both(&file, false, folder.path()).map(Result::unwrap);
        let Column::Vectors(vectors) = &disk.columns[0] else { panic!("no vectors") };
        for row in [0, 1, 499, 500, 501, 699] {
            let wanted = (0..width).map(|column| at(row, column) as f64);
            assert!(vectors.row(row).numbers().eq(wanted), "{row}");
        }
    }

    /// No number of another record decides whether a number is kept.
    #[test]
    fn whole_numbers_of_two_to_the_53_stay_beside_larger_ones() {
        let folder = tempfile::tempdir().unwrap();
        let whole = [1 << 53, (1 << 53) + 1, -(1_i64 << 53), i64::MIN, 7];
        let cells: Vec<_> =
            whole.repeat(5_000).iter().map(|x: &i64| x.to_le_bytes().to_vec()).collect();
        let file = npy("<i8", false, &[cells.len()], &cells);
        let table = same(&file, true, folder.path(), &whole);
        let Column::Numbers(numbers) = &table.columns[0] else { panic!("no numbers") };
        let kept = numbers.iter().map(|x| (!x.is_nan()).then_some(x as i64));
        let wanted = [Some(whole[0]), None, Some(whole[2]), None, Some(7)];
        assert!(kept.eq(wanted.repeat(5_000)));
        let [memory, disk] = both(&file, false, folder.path()).map(|it| it.err().unwrap());
        assert_eq!(memory.to_string(), disk.to_string());
        assert!(memory.to_string().contains("row 2"), "{memory}");
    }

    #[test]
    fn what_cannot_be_read_is_missing_or_named_on_the_disk_too() {
        let folder = tempfile::tempdir().unwrap();
        for fortran in [false, true] {
            let mut infinite = cells("<f8", 30_000);
            infinite[29_000] = f64::INFINITY.to_le_bytes().to_vec();
            let infinite = npy("<f8", fortran, &[10_000, 3], &infinite);
            let mut large: Vec<Vec<u8>> =
                (0..30_000_i64).map(|at| at.to_le_bytes().to_vec()).collect();
            large[29_500] = i64::MAX.to_le_bytes().to_vec();
            let large = npy("<i8", fortran, &[10_000, 3], &large);
            for (file, at) in [(infinite, 29_000), (large, 29_500)] {
                let row = if fortran { at % 10_000 } else { at / 3 };
                let table = same(&file, true, folder.path(), &fortran);
                let Column::Vectors(vectors) = &table.columns[0] else { panic!("no vectors") };
                assert!(vectors.row(row).numbers().any(f64::is_nan));
                assert!(vectors.row(row - 1).numbers().all(f64::is_finite));
                let [memory, disk] =
                    both(&file, false, folder.path()).map(|read| read.err().unwrap().to_string());
                assert_eq!(memory, disk);
                assert!(disk.contains(&format!("row {}", row + 1)), "{disk}");
            }
        }
    }
}
