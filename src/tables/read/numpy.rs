//! NPY and NPZ files.

use std::borrow::Cow;
use std::io::{BufReader, Read};

use zip::ZipArchive;
use zip::result::ZipError;

use super::array::{self, ArrayEntry, ArrayLayout, Element};
use super::input::{Input, Raw};
use crate::error::{Error, Result};
use crate::table::Table;

/// The first bytes of an array.
pub const MAGIC: &[u8] = b"\x93NUMPY";
/// Headers are not longer, unless they have thousands of named fields.
const LONGEST_HEADER: usize = 1 << 16;

/// One array, called `name`.
pub fn read_npy(input: &Input, name: &str) -> Result<Table> {
    let mut reader = input.plain();
    let (layout, header) = layout(input, name, &mut *reader)?;
    let available = input.most_bytes().saturating_sub(header);
    array::read_alone(input, &mut *reader, (name, "the array"), &layout, available)
}

/// The requested arrays, or otherwise all.
pub fn read_npz(input: &Input, wanted: &[String]) -> Result<Table> {
    let mut archive = open(input)?;
    let entries = entries(input, &mut archive, wanted)?;
    array::read_several(input, &entries, wanted, |entry, space| {
        let ArrayEntry { name, place, .. } = entry;
        let reader = archive.by_index(*place as usize);
        let mut reader = reader.map_err(|error| damaged(input, &error))?;
        // The header again, to be past it.
        layout(input, name, &mut reader)?;
        let column = array::read(input, &mut reader, name, &entry.layout, space)?;
        // Reading to the end checks the checksum.
        let rest = reader.read(&mut [0; 1]).map_err(|error| input.io(&error))?;
        if rest > 0 {
            return Err(input
                .error(format!("array '{name}' is longer than its header says"))
                .cure("copy or download the file again"));
        }
        Ok(column)
    })
}

/// The arrays of an NPZ file.
pub fn npz_entries(input: &Input) -> Result<Vec<ArrayEntry>> {
    entries(input, &mut open(input)?, &[])
}

fn entries(input: &Input, archive: &mut Archive, wanted: &[String]) -> Result<Vec<ArrayEntry>> {
    let mut entries = Vec::new();
    for at in 0..archive.len() {
        let Some((name, available)) = member(input, archive, at)? else { continue };
        let place = at as u64;
        // Only requested arrays must be readable.
        if !wanted.is_empty() && !wanted.contains(&name) {
            entries.push(ArrayEntry { name, layout: UNREAD, place, available });
            continue;
        }
        let mut reader = archive.by_index(at).map_err(|error| damaged(input, &error))?;
        let (layout, header) = layout(input, &name, &mut reader)?;
        let available = available.saturating_sub(header);
        entries.push(ArrayEntry { name, layout, place, available });
    }
    Ok(entries)
}

/// The layout of an array that is not read.
const UNREAD: ArrayLayout =
    ArrayLayout { element: Element::U8, big_endian: false, fortran: false, shape: Vec::new() };

const COPY_AGAIN: &str = "copy or download the file again; NPZ files are zip archives of arrays";

type Archive<'i, 'a> = ZipArchive<BufReader<Raw<'i, 'a>>>;

fn open<'i, 'a>(input: &'i Input<'a>) -> Result<Archive<'i, 'a>> {
    ZipArchive::new(BufReader::new(input.raw())).map_err(|error| match error {
        ZipError::InvalidArchive(_) => input
            .error("the archive is cut off or damaged: the list of its contents cannot be read")
            .cure(COPY_AGAIN),
        error => damaged(input, &error),
    })
}

/// Names in a zip archive, to detect its kind.
pub fn members(input: &Input) -> Result<Vec<String>> {
    let archive = open(input)?;
    Ok(archive.file_names().flatten().map(Cow::into_owned).collect())
}

/// Name of the array in this place, and its largest possible length in bytes.
fn member(input: &Input, archive: &mut Archive, at: usize) -> Result<Option<(String, u64)>> {
    let entry = archive.by_index(at).map_err(|error| damaged(input, &error))?;
    let most = Input::most_inflated(entry.compressed_size().min(input.length));
    let name = entry.name().map_err(|error| damaged(input, &error))?;
    let name = name.strip_suffix(".npy").map(str::to_owned);
    Ok(name.map(|name| (name, entry.size().min(most))))
}

fn damaged(input: &Input, error: &ZipError) -> Error {
    input.error(format!("the archive is damaged: {error}")).cure(COPY_AGAIN)
}

/// Reads a header. Returns its length, too.
fn layout(input: &Input, name: &str, reader: &mut dyn Read) -> Result<(ArrayLayout, u64)> {
    let flaw = |what: &str| {
        input
            .error(format!("array '{name}': {what}"))
            .cure("copy the file again, or save it again with numpy.save or numpy.savez")
    };
    let mut exact = |length: usize| {
        let mut bytes = vec![0; length];
        reader.read_exact(&mut bytes).map(|()| bytes).map_err(|error| input.io(&error))
    };
    let start = exact(8)?;
    if !start.starts_with(MAGIC) {
        return Err(flaw("it does not start like an array of NumPy (byte 0)"));
    }
    let bytes = match start[6] {
        1 => 2,
        2 | 3 => 4,
        version => {
            return Err(flaw(&format!("version {version} of the format is not known (byte 6)")));
        }
    };
    let length =
        exact(bytes)?.iter().rev().fold(0, |length, byte| length << 8 | usize::from(*byte));
    if length > LONGEST_HEADER {
        return Err(flaw(&format!("its header claims {length} bytes (byte 8)")));
    }
    let header = exact(length)?;
    let header = String::from_utf8_lossy(&header);
    let layout = parse(&header).map_err(|what| flaw(&what))?;
    Ok((layout, (start.len() + bytes + length) as u64))
}

/// Reads `{'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }`.
fn parse(header: &str) -> std::result::Result<ArrayLayout, String> {
    let value = |key: &str| {
        let quoted = [format!("'{key}'"), format!("\"{key}\"")];
        let after = quoted.iter().find_map(|key| header.split_once(key.as_str()));
        let value = after.and_then(|(_, rest)| rest.trim_start().strip_prefix(':'));
        value.map(str::trim_start).ok_or_else(|| format!("its header lacks '{key}'"))
    };
    let kind = value("descr")?;
    let quote = kind.chars().next().filter(|c| matches!(c, '\'' | '"'));
    let kind = quote
        .and_then(|quote| kind[1..].split_once(quote))
        .ok_or("it has named fields (a structured type): save each field as an array of its own")?;
    let (element, big_endian) = element(kind.0)?;
    let fortran = match value("fortran_order")? {
        order if order.starts_with("True") => true,
        order if order.starts_with("False") => false,
        _ => return Err("its header's 'fortran_order' is neither True nor False".to_owned()),
    };
    let shape = value("shape")?.strip_prefix('(').and_then(|rest| rest.split_once(')'));
    let (shape, _) = shape.ok_or("its header's 'shape' is not a list of lengths")?;
    let shape = shape
        .split(',')
        .map(str::trim)
        .filter(|length| !length.is_empty())
        .map(|length| length.trim_end_matches('L').parse())
        .collect::<std::result::Result<Vec<usize>, _>>()
        .map_err(|_| "its header's 'shape' is not a list of lengths")?;
    Ok(ArrayLayout { element, big_endian, fortran, shape })
}

fn element(kind: &str) -> std::result::Result<(Element, bool), String> {
    let big_endian = kind.starts_with('>');
    let plain = kind.trim_start_matches(['<', '>', '|', '=']);
    let element = match plain {
        "b1" => Element::Bool,
        "i1" => Element::I8,
        "u1" => Element::U8,
        "i2" => Element::I16,
        "u2" => Element::U16,
        "i4" => Element::I32,
        "u4" => Element::U32,
        "i8" => Element::I64,
        "u8" => Element::U64,
        "f2" => Element::F16,
        "f4" => Element::F32,
        "f8" => Element::F64,
        _ => {
            let length = plain.get(1..).and_then(|length| length.parse().ok());
            match (plain.chars().next(), length.filter(|&length: &usize| length > 0)) {
                (Some('U'), Some(length)) => Element::Utf32(length),
                (Some('S'), Some(length)) => Element::Text(length),
                (Some('O'), _) => {
                    return Err("it holds Python objects: give it a type first, such as \
                                array.astype(float), or array.astype(str) for text"
                        .to_owned());
                }
                _ => {
                    return Err(format!("numbers of type '{kind}' are not known: save as float64"));
                }
            }
        }
    };
    Ok((element, big_endian))
}
