//! Arrays in NPY, IDX and safetensors files: a type, a shape, and the numbers one after another.
//! The first axis counts records.

use std::fmt::Write as _;
use std::io::Read;
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
        self.fortran && self.shape.len() > 1
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
}

/// The arrays of a file to read: the requested ones, otherwise all with an entry per record, if
/// this is clear.
pub fn choose(input: &Input, entries: &[ArrayEntry], wanted: &[String]) -> Result<Vec<usize>> {
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
        let ArrayEntry { name, layout } = &entries[at];
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
pub fn room<'l>(
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
pub fn check_length(input: &Input, name: &str, layout: &ArrayLayout, available: u64) -> Result<()> {
    let needed = layout.bytes().unwrap_or(u64::MAX);
    if needed <= available {
        return Ok(());
    }
    Err(input.wrong_length(&format!("array '{name}' ({})", layout.dimensions()), needed, available))
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
    let is_text = layout.element.is_text();
    let mut texts = Texts::default();
    if let Some(space) = space.filter(|_| is_text) {
        texts.move_to(space)?;
    }
    let space = space.filter(|_| !is_text);
    let mut decoder = Decoder {
        input,
        name,
        layout,
        values: Values::F32(Vec::new()),
        rows: None,
        placed: 0,
        bytes: None,
        disk: space.map(|space| DiskArray::new(space, layout)).transpose()?,
        texts,
    };
    let size = layout.element.size();
    if decoder.disk.is_some() {
        decoder.values = decoder.zeros(0);
    } else if layout.element == Element::U8 && layout.width() > 1 && !layout.is_by_columns() {
        decoder.bytes = Some(Vec::with_capacity(needed.min(input.length()) as usize));
    } else if !layout.element.is_text() {
        let count = needed / size as u64;
        // In another order, numbers go to their places as they arrive. The header of a packed file
        // is not trusted for this: there they are moved when all have arrived.
        if layout.is_by_columns() && count <= input.length() {
            let rows = decoder.zeros(count as usize);
            decoder.rows = Some((Scatter::new(&layout.shape), rows));
        }
        // At first no more than the file could hold unpacked.
        let count = if decoder.rows.is_some() { BLOCK as u64 } else { count.min(input.length()) };
        decoder.values = if layout.element.is_single() {
            Values::F32(Vec::with_capacity(count as usize))
        } else {
            Values::F64(Vec::with_capacity(count as usize))
        };
    }
    // On the way to the disk, whole records, so that each is known when it leaves.
    let unit = if decoder.disk.is_some() { size * layout.width().max(1) } else { size };
    input.check_memory(unit as u64)?;
    let mut buffer = vec![0; ((BLOCK / unit).max(1) * unit).min(needed as usize)];
    let mut left = needed as usize;
    while left > 0 {
        let block = buffer.len().min(left);
        reader.read_exact(&mut buffer[..block]).map_err(|error| input.io(&error))?;
        decoder.take(&buffer[..block])?;
        decoder.scatter();
        decoder.settle()?;
        left -= block;
    }
    decoder.finish()
}

/// The numbers of an array that is too large for memory, in the order of the file.
struct DiskArray {
    numbers: Numbers,
    /// Where they stay: they are elsewhere until they are in our order.
    space: Arc<Scratch>,
}

impl DiskArray {
    fn new(space: &Arc<Scratch>, layout: &ArrayLayout) -> Result<Self> {
        let mut numbers = Numbers::default();
        if layout.is_by_columns() {
            numbers.move_to(&space.another()?)?;
        } else {
            numbers.move_to(space)?;
        }
        Ok(Self { numbers, space: Arc::clone(space) })
    }

    /// The numbers of one record after another. `forgiving`: those of a record with an infinite one
    /// are missing, which is done already where the file has it so.
    fn by_records(self, layout: &ArrayLayout, forgiving: bool) -> Result<Numbers> {
        if !layout.is_by_columns() {
            return Ok(self.numbers);
        }
        let (rows, width, places) = (layout.rows(), layout.width(), layout.places());
        let mut all = Numbers::default();
        all.move_to(&self.space)?;
        let (step, mut room) = ((TURNED / width).max(1), Vec::new());
        for first in (0..rows).step_by(step) {
            let end = rows.min(first + step);
            let mut records = vec![0.0; (end - first) * width];
            for (column, place) in places.iter().enumerate() {
                let numbers =
                    self.numbers.read(column * rows + first..column * rows + end, &mut room);
                let slots = records[*place..].iter_mut().step_by(width);
                slots.zip(numbers).for_each(|(slot, number)| *slot = *number);
            }
            let mut records = Values::F64(records);
            if forgiving {
                records.forget_infinite(width);
            }
            all.append(&records.into_f64())?;
        }
        Ok(all)
    }
}

/// Decodes numbers as they arrive.
struct Decoder<'i, 'a> {
    input: &'i Input<'a>,
    name: &'i str,
    layout: &'i ArrayLayout,
    values: Values,
    /// The places of the numbers of an array in Fortran's order … …
    rows: Option<(Scatter, Values)>,
    /// … and how many numbers have left `values`.
    placed: usize,
    /// Replaces `values` if rows of bytes can stay bytes.
    bytes: Option<Vec<u8>>,
    /// Where they go if they are too many for memory.
    disk: Option<DiskArray>,
    texts: Texts,
}

/// The way from Fortran's order (first axis fastest) to ours (last axis fastest).
struct Scatter {
    shape: Vec<usize>,
    /// The distance of neighbours along an axis in our order.
    steps: Vec<usize>,
    /// The index of the next number … …
    index: Vec<usize>,
    /// … and its place.
    at: usize,
}

impl Scatter {
    fn new(shape: &[usize]) -> Self {
        let mut steps = vec![1; shape.len()];
        for axis in (1..shape.len()).rev() {
            steps[axis - 1] = steps[axis] * shape[axis];
        }
        Self { shape: shape.to_vec(), steps, index: vec![0; shape.len()], at: 0 }
    }

    /// Puts the next numbers into their places.
    fn put<T: Copy>(&mut self, mut numbers: &[T], places: &mut [T]) {
        while !numbers.is_empty() {
            let run = numbers.len().min(self.shape[0] - self.index[0]);
            let (now, later) = numbers.split_at(run);
            let slots = places[self.at..].iter_mut().step_by(self.steps[0]);
            slots.zip(now).for_each(|(slot, number)| *slot = *number);
            numbers = later;
            self.advance(run);
        }
    }

    /// Advances along the first axis, and at its end along the next ones.
    fn advance(&mut self, by: usize) {
        self.index[0] += by;
        self.at += by * self.steps[0];
        for axis in 0..self.shape.len() {
            if self.index[axis] < self.shape[axis] {
                return;
            }
            self.at -= self.shape[axis] * self.steps[axis];
            self.index[axis] = 0;
            if let Some(next) = self.index.get_mut(axis + 1) {
                *next += 1;
                self.at += self.steps[axis + 1];
            }
        }
    }
}

/// Decodes numbers of one type and pushes them.
macro_rules! push {
    ($type:ty, $bytes:expr, $layout:expr, $values:expr, $convert:expr) => {{
        let (cells, _) = $bytes.as_chunks::<{ size_of::<$type>() }>();
        if $layout.big_endian {
            $values.extend(cells.iter().map(|cell| $convert(<$type>::from_be_bytes(*cell))));
        } else {
            $values.extend(cells.iter().map(|cell| $convert(<$type>::from_le_bytes(*cell))));
        }
    }};
}

impl Decoder<'_, '_> {
    fn take(&mut self, bytes: &[u8]) -> Result<()> {
        let layout = self.layout;
        if let Some(all) = &mut self.bytes {
            all.extend_from_slice(bytes);
            return Ok(());
        }
        let values = match (&mut self.values, layout.element) {
            (_, Element::Utf32(length)) => return self.take_texts(bytes, length * 4),
            (_, Element::Text(length)) => return self.take_texts(bytes, length),
            (Values::F32(values), element) => {
                match element {
                    Element::Bool => {
                        values.extend(bytes.iter().map(|&byte| f32::from(u8::from(byte != 0))));
                    }
                    Element::I8 => push!(i8, bytes, layout, values, f32::from),
                    Element::I16 => push!(i16, bytes, layout, values, f32::from),
                    Element::U16 => push!(u16, bytes, layout, values, f32::from),
                    Element::F16 => push!(f16, bytes, layout, values, f32::from),
                    Element::Bf16 => push!(bf16, bytes, layout, values, f32::from),
                    Element::F32 => push!(f32, bytes, layout, values, |value| value),
                    _ => push!(u8, bytes, layout, values, f32::from),
                }
                return Ok(());
            }
            (Values::F64(values), _) => values,
        };
        let before = values.len();
        let mut inexact = false;
        match layout.element {
            Element::I32 => push!(i32, bytes, layout, values, f64::from),
            Element::U32 => push!(u32, bytes, layout, values, f64::from),
            Element::I64 => {
                push!(i64, bytes, layout, values, |value: i64| {
                    inexact |= value.unsigned_abs() > LARGEST_EXACT;
                    value as f64
                });
            }
            Element::U64 => {
                push!(u64, bytes, layout, values, |value: u64| {
                    inexact |= value > LARGEST_EXACT;
                    value as f64
                });
            }
            _ => push!(f64, bytes, layout, values, |value| value),
        }
        if inexact && self.input.forgiving {
            let beyond = |value: &&mut f64| value.abs() >= LARGEST_EXACT as f64;
            values[before..].iter_mut().filter(beyond).for_each(|value| *value = f64::NAN);
        } else if inexact {
            let beyond = |value: &f64| value.abs() >= LARGEST_EXACT as f64;
            let at = before + values[before..].iter().position(beyond).unwrap_or(0);
            let (rows, width) = (layout.rows(), layout.width().max(1));
            let at = at + self.placed;
            let row = if layout.fortran { at % rows } else { at / width };
            return Err(self
                .flaw(row, "an integer beyond 2⁵³ cannot be computed with exactly")
                .cure("leave the array out, or save it as text"));
        }
        Ok(())
    }

    fn take_texts(&mut self, bytes: &[u8], size: usize) -> Result<()> {
        for cell in bytes.chunks_exact(size.max(1)) {
            let text = if let Element::Utf32(_) = self.layout.element {
                let (characters, _) = cell.as_chunks::<4>();
                let character = |code: &[u8; 4]| {
                    let big = self.layout.big_endian;
                    char::from_u32(if big {
                        u32::from_be_bytes(*code)
                    } else {
                        u32::from_le_bytes(*code)
                    })
                };
                characters.iter().map(character).collect::<Option<String>>()
            } else {
                std::str::from_utf8(cell).ok().map(str::to_owned)
            };
            let text = text.or_else(|| self.input.forgiving.then(String::new));
            let Some(text) = text else {
                return Err(self
                    .flaw(self.texts.len() / self.layout.width().max(1), "the text is not Unicode")
                    .cure("save the array as UTF-8 or Unicode text"));
            };
            self.texts.push(text.trim_end_matches('\0').trim());
        }
        self.texts.settle()
    }

    /// Zeros of the type in which the array is stored.
    fn zeros(&self, count: usize) -> Values {
        if self.layout.element.is_single() {
            Values::F32(vec![0.0; count])
        } else {
            Values::F64(vec![0.0; count])
        }
    }

    /// Moves arrived numbers to their places, if these are elsewhere.
    fn scatter(&mut self) {
        let Some((scatter, rows)) = &mut self.rows else { return };
        match (&mut self.values, rows) {
            (Values::F32(values), Values::F32(rows)) => {
                scatter.put(values, rows);
                self.placed += values.len();
                values.clear();
            }
            (Values::F64(values), Values::F64(rows)) => {
                scatter.put(values, rows);
                self.placed += values.len();
                values.clear();
            }
            _ => {}
        }
    }

    /// Writes the numbers that arrived, if they go to the disk.
    fn settle(&mut self) -> Result<()> {
        let Some(disk) = &mut self.disk else { return Ok(()) };
        if self.input.forgiving && !self.layout.is_by_columns() {
            self.values.forget_infinite(self.layout.width().max(1));
        }
        self.placed += self.values.len();
        match &mut self.values {
            Values::F32(values) => disk.numbers.extend(values.drain(..).map(f64::from)),
            Values::F64(values) => disk.numbers.extend(values.drain(..)),
        }
        disk.numbers.settle()
    }

    /// An error in this row.
    fn flaw(&self, row: usize, what: &str) -> Error {
        let place = format!("{}, array '{}', row {}", self.input.origin, self.name, row + 1);
        Error::failed(what).at(place)
    }

    /// The error for an infinite number in this place.
    fn infinite(&self, at: usize) -> Error {
        self.flaw(at / self.layout.width().max(1), "an infinite number")
            .cure("replace infinite numbers before saving, or remove such records")
    }

    fn misshapen(&self) -> Error {
        self.input.error("the shape does not fit the numbers")
    }

    fn finish(mut self) -> Result<Column> {
        let (rows, width) = (self.layout.rows(), self.layout.width());
        if self.layout.element.is_text() {
            if width == 1 {
                return Ok(Column::Text(self.texts));
            }
            return Err(self
                .flaw(0, "an array of texts with more than one axis")
                .cure("text needs one axis: leave the array out or split it"));
        }
        if let Some(disk) = self.disk.take() {
            let numbers = disk.by_records(self.layout, self.input.forgiving)?;
            if let Some(at) = numbers.first_infinite() {
                return Err(self.infinite(at));
            }
            if width == 1 {
                return Ok(Column::Numbers(numbers));
            }
            return Vectors::on_disk(width, numbers, self.layout.element.is_single())
                .filter(|vectors| vectors.len() == rows)
                .map(Column::Vectors)
                .ok_or_else(|| self.misshapen());
        }
        if let Some(bytes) = self.bytes.take() {
            return Vectors::of_bytes(width, bytes)
                .filter(|vectors| vectors.len() == rows)
                .map(Column::Vectors)
                .ok_or_else(|| self.misshapen());
        }
        if self.layout.is_by_columns() && self.rows.is_none() {
            let places = self.zeros(self.values.len());
            self.rows = Some((Scatter::new(&self.layout.shape), places));
            self.scatter();
        }
        let mut values = match self.rows.take() {
            Some((_, rows)) => rows,
            None => std::mem::replace(&mut self.values, Values::F32(Vec::new())),
        };
        if self.input.forgiving {
            values.forget_infinite(width.max(1));
        }
        if let Some(at) = values.first_infinite() {
            return Err(self.infinite(at));
        }
        if width == 1 {
            return Ok(Column::Numbers(values.into_f64().into()));
        }
        Vectors::new(width, values)
            .filter(|vectors| vectors.len() == rows)
            .map(Column::Vectors)
            .ok_or_else(|| self.misshapen())
    }
}

/// Arrays under their names as a table.
pub fn table(input: &Input, columns: Vec<(String, Column)>) -> Result<Table> {
    let (names, columns) = columns.into_iter().unzip();
    Table::of_rows(input.origin.clone(), names, columns)
}

#[cfg(test)]
mod tests {
    use std::fmt::Debug;
    use std::path::Path;

    use super::super::input::{Overflow, Unwatched};
    use super::super::numpy;
    use super::*;

    /// An NPY file of these cells.
    fn npy(kind: &str, fortran: bool, shape: &[usize], cells: &[Vec<u8>]) -> Vec<u8> {
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
