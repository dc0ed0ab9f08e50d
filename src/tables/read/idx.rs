//! IDX files, the format of MNIST and its family: `0 0 type axes`, the length of every axis, then
//! the numbers, all big-endian.

use std::io::Read;

use super::array::{self, ArrayLayout, Element};
use super::input::Input;
use crate::error::Result;
use crate::table::Table;

/// Whether a file starts like one.
pub fn is_idx(start: &[u8]) -> bool {
    matches!(start, [0, 0, kind, axes, ..] if element(*kind).is_some() && (1..=8).contains(axes))
}

fn element(kind: u8) -> Option<Element> {
    match kind {
        0x08 => Some(Element::U8),
        0x09 => Some(Element::I8),
        0x0B => Some(Element::I16),
        0x0C => Some(Element::I32),
        0x0D => Some(Element::F32),
        0x0E => Some(Element::F64),
        _ => None,
    }
}

/// The shape of an array, as far as its first bytes tell.
#[derive(Debug, Clone, Copy)]
pub struct IdxShape {
    pub axes: u8,
    /// The length of the first axis.
    pub rows: u32,
}

/// The shape in the first eight bytes of an IDX file; `None` of another file.
pub fn shape(start: &[u8]) -> Option<IdxShape> {
    let (head, rows) = (start.get(..4)?, start.get(4..8)?.try_into().ok()?);
    is_idx(head).then(|| IdxShape { axes: head[3], rows: u32::from_be_bytes(rows) })
}

/// The array is called `label` if it has one axis, `pixel` if it has more and holds bytes,
/// otherwise `x`.
pub fn read(input: &Input) -> Result<Table> {
    let mut reader = input.plain();
    let mut number = || {
        let mut bytes = [0; 4];
        reader.read_exact(&mut bytes).map(|()| bytes).map_err(|error| input.io(&error))
    };
    let [_, _, kind, axes] = number()?;
    let element = element(kind).ok_or_else(|| {
        input
            .error(format!("numbers of type {kind:#04x} are not known (byte 2)"))
            .cure("the file is damaged: copy or download it again")
    })?;
    let shape = (0..axes).map(|_| number().map(|bytes| u32::from_be_bytes(bytes) as usize));
    let layout = ArrayLayout {
        element,
        big_endian: true,
        fortran: false,
        shape: shape.collect::<Result<_>>()?,
    };
    let name = match (axes, element) {
        (1, _) => "label",
        (_, Element::U8) => "pixel",
        _ => "x",
    };
    let available = input.most_bytes().saturating_sub(4 + 4 * u64::from(axes));
    array::read_alone(input, &mut *reader, (name, &format!("array '{name}'")), &layout, available)
}
