//! Safetensors files: the length of a JSON header, the header, the numbers.
//!
//! Read by hand and not by the crate, which needs the whole file in memory before it looks at the
//! header.

use std::io::{Read, Seek, SeekFrom};

use serde_json::{Map, Value};

use super::array::{self, ArrayEntry, ArrayLayout, Element};
use super::input::{Input, Raw};
use crate::error::Result;
use crate::table::Table;

/// The format's own limit.
const LONGEST_HEADER: u64 = 100_000_000;

/// Whether a file of this length starts like one.
pub fn is_safetensors(start: &[u8], length: u64) -> bool {
    let Some((header, rest)) = start.split_first_chunk::<8>() else { return false };
    let header = u64::from_le_bytes(*header);
    rest.first() == Some(&b'{') && header <= LONGEST_HEADER.min(length.saturating_sub(8))
}

fn element(kind: &str) -> Option<Element> {
    Some(match kind {
        "BOOL" => Element::Bool,
        "I8" => Element::I8,
        "U8" => Element::U8,
        "I16" => Element::I16,
        "U16" => Element::U16,
        "I32" => Element::I32,
        "U32" => Element::U32,
        "I64" => Element::I64,
        "U64" => Element::U64,
        "F16" => Element::F16,
        "BF16" => Element::Bf16,
        "F32" => Element::F32,
        "F64" => Element::F64,
        _ => return None,
    })
}

/// The requested tensors, or otherwise all.
pub fn read(input: &Input, wanted: &[String]) -> Result<Table> {
    let (entries, mut reader) = entries(input, wanted)?;
    array::read_several(input, &entries, wanted, |entry, space| {
        reader.seek(SeekFrom::Start(entry.place)).map_err(|error| input.io(&error))?;
        array::read(input, &mut reader, &entry.name, &entry.layout, space)
    })
}

/// The requested tensors, or otherwise all, and a reader of the file.
pub fn entries<'i, 'a>(
    input: &'i Input<'a>,
    wanted: &[String],
) -> Result<(Vec<ArrayEntry>, Raw<'i, 'a>)> {
    let flaw = |what: String| {
        input
            .error(format!("the header is damaged: {what}"))
            .cure("copy or download the file again")
    };
    let mut reader = input.raw();
    let mut length = [0; 8];
    reader.read_exact(&mut length).map_err(|error| input.io(&error))?;
    let length = u64::from_le_bytes(length);
    let available = input.length.saturating_sub(8);
    if length > available.min(LONGEST_HEADER) {
        return Err(input.wrong_length("the header", length, available));
    }
    let mut header = vec![0; length as usize];
    reader.read_exact(&mut header).map_err(|error| input.io(&error))?;
    let header: Map<String, Value> =
        serde_json::from_slice(&header).map_err(|error| flaw(error.to_string()))?;

    let mut entries = Vec::new();
    for (name, about) in header {
        if name == "__metadata__" || (!wanted.is_empty() && !wanted.contains(&name)) {
            continue;
        }
        let kind = about["dtype"].as_str().unwrap_or_default();
        let Some(element) = element(kind) else {
            return Err(input
                .error(format!("tensor '{name}' has numbers of type '{kind}', which are not known"))
                .cure(
                    "save it as F32, or name the tensors to read: arrays(file: …, arrays: […])",
                ));
        };
        let numbers = |key: &str| -> Option<Vec<u64>> {
            about[key].as_array()?.iter().map(Value::as_u64).collect()
        };
        let (Some(shape), Some([start, end])) = (
            numbers("shape"),
            numbers("data_offsets").as_deref().and_then(|o| o.first_chunk()).copied(),
        ) else {
            return Err(flaw(format!("tensor '{name}' lacks its shape or place")));
        };
        let shape = shape.into_iter().map(|length| length as usize).collect();
        let layout = ArrayLayout { element, big_endian: false, fortran: false, shape };
        let fits = end <= available - length && end.checked_sub(start) == layout.bytes();
        if !fits {
            return Err(input.wrong_length(
                &format!("tensor '{name}' ({} from byte {start})", layout.dimensions()),
                layout.bytes().unwrap_or(u64::MAX),
                (available - length).saturating_sub(start),
            ));
        }
        entries.push(ArrayEntry {
            name,
            layout,
            place: 8 + length + start,
            available: end - start,
        });
    }
    Ok((entries, reader))
}
