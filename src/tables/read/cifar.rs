//! CIFAR's binary files: records of one label byte (CIFAR-100: two) and 3072 bytes of red, green
//! and blue pixels, without a header.

use std::io::Read;

use super::array;
use super::input::Input;
use crate::column::Column;
use crate::error::Result;
use crate::numbers::Numbers;
use crate::table::Table;
use crate::vectors::{Values, Vectors};

const PIXELS: usize = 3 * 32 * 32;
/// Records read at a time.
const BLOCK: usize = 64;

/// The number of label bytes of a record, if the length fits.
fn labels(length: u64) -> Option<usize> {
    let fits = |labels: &usize| length > 0 && length.is_multiple_of((labels + PIXELS) as u64);
    [1, 2].into_iter().find(fits)
}

/// Reads a whole file.
pub fn read(input: &Input) -> Result<Table> {
    let mut reader = input.plain();
    let mut bytes = Vec::new();
    if input.packed {
        reader.read_to_end(&mut bytes).map_err(|error| input.io(&error))?;
    }
    let length = if input.packed { bytes.len() as u64 } else { input.length };
    let Some(labels) = labels(length) else {
        return Err(input
            .error(format!(
                "{length} bytes are not a whole number of CIFAR records (3073 or 3074 bytes each)"
            ))
            .cure("copy or download the file again; other binary files are not known by .bin"));
    };
    let record = labels + PIXELS;
    // Numbers become doubles sooner or later.
    let space = input.room((size_of::<f64>() as u64).saturating_mul(length), 0)?;
    let mut pixels = Numbers::in_space(space.as_ref());
    let mut columns = vec![pixels.clone(); labels];
    let mut take = |records: &[u8]| -> Result<()> {
        let mut some = Vec::new();
        for record in records.chunks_exact(record) {
            for (column, &label) in columns.iter_mut().zip(record) {
                column.push(f64::from(label));
            }
            some.extend_from_slice(&record[labels..]);
        }
        columns.iter_mut().try_for_each(Numbers::settle)?;
        pixels.join(&Values::U8(some).into())
    };
    if input.packed {
        take(&bytes)?;
    } else {
        let mut block = vec![0; BLOCK * record];
        let mut left = length as usize;
        while left > 0 {
            let length = block.len().min(left);
            reader.read_exact(&mut block[..length]).map_err(|error| input.io(&error))?;
            take(&block[..length])?;
            left -= length;
        }
    }
    let names: &[&str] = if labels == 1 { &["label"] } else { &["coarse_label", "label"] };
    let pixels = Vectors::of_numbers(PIXELS, pixels, true);
    let pixels = pixels.ok_or_else(|| input.error("an image is cut off"))?;
    let mut table: Vec<_> = names
        .iter()
        .zip(columns)
        .map(|(name, column)| ((*name).to_owned(), Column::Numbers(column)))
        .collect();
    table.push(("pixel".to_owned(), Column::Vectors(pixels)));
    array::table(input, table)
}
