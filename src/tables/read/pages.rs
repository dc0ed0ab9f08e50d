//! The pages of a Parquet column chunk: header, then (compressed) contents.
//!
//! The `parquet` crate decodes pages, but gets them from here, one by one. So its codecs written in
//! C (zstd) are not needed, a page's header is checked against the file before anything is
//! allocated, and all reading goes through [`Input`].

use std::collections::VecDeque;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use flate2::read::MultiGzDecoder;
use parquet::basic::{Compression, Encoding};
use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::file::metadata::ColumnChunkMetaData;
use ruzstd::decoding::StreamingDecoder;

use super::input::{Input, Raw};
use crate::error::{Error, Result};

/// Pages that unpack to less are accepted for any compressed size.
const ALWAYS_ALLOWED: usize = 1 << 24;
const MOST_UNPACKED: usize = 1024;
/// Page headers hold a few numbers and perhaps the least and largest value.
const LONGEST_HEADER: u64 = 1 << 20;
const DEEPEST: usize = 8;

/// A chunk's pages, in the order of the file.
pub struct Pages<'i, 'a> {
    input: &'i Input<'a>,
    column: String,
    reader: BufReader<Raw<'i, 'a>>,
    at: u64,
    end: u64,
    compression: Compression,
    /// The number of values still to come.
    values_left: u64,
    /// Whether a dictionary has been returned.
    dictionary: bool,
}

impl<'i, 'a> Pages<'i, 'a> {
    pub fn new(input: &'i Input<'a>, chunk: &ColumnChunkMetaData) -> Result<Self> {
        let column = chunk.column_path().parts().join(".");
        let start = match chunk.dictionary_page_offset() {
            Some(dictionary) if dictionary > 0 => dictionary.min(chunk.data_page_offset()),
            _ => chunk.data_page_offset(),
        };
        let at = u64::try_from(start).unwrap_or(u64::MAX);
        let end = at.saturating_add(u64::try_from(chunk.compressed_size()).unwrap_or(u64::MAX));
        if end > input.length {
            return Err(damaged(
                input,
                &column,
                at,
                &format!("its pages go on to byte {end}, the file has {}", input.length),
            ));
        }
        let mut reader = BufReader::with_capacity(1 << 16, input.raw());
        reader.seek(SeekFrom::Start(at)).map_err(|error| input.io(&error))?;
        let values_left = u64::try_from(chunk.num_values()).unwrap_or(0);
        Ok(Self {
            input,
            column,
            reader,
            at,
            end,
            compression: chunk.compression(),
            values_left,
            dictionary: false,
        })
    }

    /// Whether all values have been returned.
    pub fn finished(&self) -> bool {
        self.values_left == 0
    }

    /// The next page with values or a dictionary.
    pub fn next(&mut self) -> Result<Page> {
        loop {
            if let Some(page) = self.page()? {
                return Ok(page);
            }
        }
    }

    /// `None` for a page of another kind.
    fn page(&mut self) -> Result<Option<Page>> {
        let start = self.at;
        let flaw = |what: &str| damaged(self.input, &self.column, start, what);
        let mut header = Thrift {
            bytes: (&mut self.reader).take(LONGEST_HEADER.min(self.end - start)),
            read: 0,
        };
        let fields = header.structure(0).ok_or_else(|| flaw("a page header is damaged"))?;
        self.at += header.read;
        let size = |id| fields.number(id).and_then(|size| usize::try_from(size).ok());
        let (Some(unpacked), Some(packed)) = (size(2), size(3)) else {
            return Err(flaw("a page header lacks its sizes"));
        };
        if packed as u64 > self.end - self.at {
            return Err(flaw(&format!(
                "a page of {packed} bytes in a chunk that has {} left",
                self.end - self.at
            )));
        }
        if unpacked > ALWAYS_ALLOWED.max(packed.saturating_mul(MOST_UNPACKED)) {
            return Err(flaw(&format!(
                "a page claims to unpack from {packed} bytes to {unpacked}"
            )));
        }
        let mut contents = vec![0; packed];
        self.reader.read_exact(&mut contents).map_err(|error| self.input.io(&error))?;
        self.at += packed as u64;
        let count = |value: Option<i64>| {
            value
                .and_then(|value| u32::try_from(value).ok())
                .ok_or_else(|| flaw("a page lacks its counts"))
        };
        let encoding = |value: Option<i64>| {
            value.and_then(encoding).ok_or_else(|| flaw("an encoding that is not known"))
        };
        let about =
            |id: i64| fields.structure(id).ok_or_else(|| flaw("a page lacks its description"));
        let page = match fields.number(1) {
            Some(0) => {
                let about = about(5)?;
                Page::DataPage {
                    buf: self.unpack(&contents, unpacked, start)?,
                    num_values: count(about.number(1))?,
                    encoding: encoding(about.number(2))?,
                    def_level_encoding: encoding(about.number(3))?,
                    rep_level_encoding: encoding(about.number(4))?,
                    statistics: None,
                }
            }
            Some(2) => {
                let about = about(7)?;
                Page::DictionaryPage {
                    buf: self.unpack(&contents, unpacked, start)?,
                    num_values: count(about.number(1))?,
                    encoding: encoding(about.number(2))?,
                    is_sorted: about.flag(3).unwrap_or(false),
                }
            }
            Some(3) => {
                let about = about(8)?;
                let (definitions, repetitions) = (count(about.number(5))?, count(about.number(6))?);
                // Levels come before the values and are never compressed.
                let levels = definitions as usize + repetitions as usize;
                if levels > packed || levels > unpacked {
                    return Err(flaw("a page is shorter than its levels"));
                }
                let mut buffer = contents[..levels].to_vec();
                if about.flag(7).unwrap_or(true) {
                    // A page without values may have no compressed part.
                    if packed > levels {
                        buffer.extend_from_slice(&self.unpack(
                            &contents[levels..],
                            unpacked - levels,
                            start,
                        )?);
                    }
                } else {
                    buffer.extend_from_slice(&contents[levels..]);
                }
                Page::DataPageV2 {
                    buf: buffer.into(),
                    num_values: count(about.number(1))?,
                    num_nulls: count(about.number(2))?,
                    num_rows: count(about.number(3))?,
                    encoding: encoding(about.number(4))?,
                    def_levels_byte_len: definitions,
                    rep_levels_byte_len: repetitions,
                    is_compressed: false,
                    statistics: None,
                }
            }
            _ => return Ok(None),
        };
        if !page.is_dictionary_page() {
            let values = u64::from(page.num_values());
            if values > self.values_left {
                return Err(flaw(&format!(
                    "a page of {values} values in a chunk that has {} left",
                    self.values_left
                )));
            }
            self.values_left -= values;
            #[allow(deprecated)]
            let coded =
                matches!(page.encoding(), Encoding::PLAIN_DICTIONARY | Encoding::RLE_DICTIONARY);
            if coded && !self.dictionary {
                return Err(flaw("a page refers to a dictionary that is not there"));
            }
        } else if page.num_values() as usize > unpacked {
            return Err(flaw("a dictionary claims more entries than it has bytes"));
        }
        self.dictionary |= page.is_dictionary_page();
        Ok(Some(page))
    }

    fn unpack(&self, packed: &[u8], size: usize, at: u64) -> Result<Bytes> {
        let flaw = |what: String| damaged(self.input, &self.column, at, &what);
        let mut unpacked = Vec::new();
        let limit = size as u64 + 1;
        match self.compression {
            Compression::UNCOMPRESSED => unpacked.extend_from_slice(packed),
            Compression::SNAPPY => {
                if snap::raw::decompress_len(packed).ok() == Some(size) {
                    let decoded = snap::raw::Decoder::new().decompress_vec(packed);
                    unpacked = decoded.map_err(|error| flaw(format!("a page: {error}")))?;
                }
            }
            Compression::GZIP(_) => {
                let decoded = MultiGzDecoder::new(packed).take(limit).read_to_end(&mut unpacked);
                decoded.map_err(|error| flaw(format!("a page: {error}")))?;
            }
            Compression::ZSTD(_) => {
                let decoder = StreamingDecoder::new(packed);
                let decoder = decoder.map_err(|error| flaw(format!("a page: {error}")))?;
                let decoded = decoder.take(limit).read_to_end(&mut unpacked);
                decoded.map_err(|error| flaw(format!("a page: {error}")))?;
            }
            other => {
                let name = format!("{other:?}");
                let name = name.split('(').next().unwrap_or_default().to_owned();
                return Err(Error::failed(format!("the compression {name} cannot be read"))
                    .at(format!("{}, column '{}'", self.input.origin, self.column))
                    .cure("save it with compression snappy, gzip or zstd, or with none"));
            }
        }
        if unpacked.len() == size {
            return Ok(unpacked.into());
        }
        Err(flaw(format!("a page does not unpack to {size} bytes")))
    }
}

fn damaged(input: &Input, column: &str, at: u64, what: &str) -> Error {
    Error::failed(what.to_owned())
        .at(format!("{}, column '{column}', from byte {at}", input.origin))
        .cure("the file is damaged: copy or download it again")
}

fn encoding(code: i64) -> Option<Encoding> {
    #[allow(deprecated)]
    Some(match code {
        0 => Encoding::PLAIN,
        2 => Encoding::PLAIN_DICTIONARY,
        3 => Encoding::RLE,
        4 => Encoding::BIT_PACKED,
        5 => Encoding::DELTA_BINARY_PACKED,
        6 => Encoding::DELTA_LENGTH_BYTE_ARRAY,
        7 => Encoding::DELTA_BYTE_ARRAY,
        8 => Encoding::RLE_DICTIONARY,
        9 => Encoding::BYTE_STREAM_SPLIT,
        _ => return None,
    })
}

/// Gives the decoder one page after another: it needs to own its source, but the file must stay
/// here.
#[derive(Clone, Default)]
pub struct PageQueue {
    pages: Arc<Mutex<VecDeque<Page>>>,
}

impl PageQueue {
    pub fn put(&self, page: Page) {
        self.pages.lock().unwrap_or_else(PoisonError::into_inner).push_back(page);
    }

    fn pop(&self) -> Option<Page> {
        self.pages.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
    }
}

impl Iterator for PageQueue {
    type Item = parquet::errors::Result<Page>;

    fn next(&mut self) -> Option<Self::Item> {
        self.pop().map(Ok)
    }
}

impl PageReader for PageQueue {
    fn get_next_page(&mut self) -> parquet::errors::Result<Option<Page>> {
        Ok(self.pop())
    }

    /// Only needed for skipping, which is not used.
    fn peek_next_page(&mut self) -> parquet::errors::Result<Option<PageMetadata>> {
        Ok(None)
    }

    fn skip_next_page(&mut self) -> parquet::errors::Result<()> {
        self.pop();
        Ok(())
    }

    /// A list may continue in the next page.
    fn at_record_boundary(&mut self) -> parquet::errors::Result<bool> {
        Ok(false)
    }
}

/// Reads a structure in Thrift's compact protocol.
struct Thrift<R> {
    bytes: R,
    read: u64,
}

enum ThriftField {
    /// A flag is 0 or 1.
    Number(i64),
    Structure(Fields),
    /// A value that is not needed here.
    Other,
}

struct Fields(Vec<(i64, ThriftField)>);

impl Fields {
    fn find(&self, id: i64) -> Option<&ThriftField> {
        self.0.iter().find(|(known, _)| *known == id).map(|(_, field)| field)
    }

    fn number(&self, id: i64) -> Option<i64> {
        match self.find(id)? {
            ThriftField::Number(number) => Some(*number),
            _ => None,
        }
    }

    fn flag(&self, id: i64) -> Option<bool> {
        self.number(id).map(|number| number != 0)
    }

    fn structure(&self, id: i64) -> Option<&Self> {
        match self.find(id)? {
            ThriftField::Structure(fields) => Some(fields),
            _ => None,
        }
    }
}

impl<R: Read> Thrift<R> {
    fn byte(&mut self) -> Option<u8> {
        let mut byte = [0];
        self.bytes.read_exact(&mut byte).ok()?;
        self.read += 1;
        Some(byte[0])
    }

    fn varint(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }

    fn zigzag(&mut self) -> Option<i64> {
        let number = self.varint()?;
        Some((number >> 1) as i64 ^ -((number & 1) as i64))
    }

    fn skip(&mut self, length: u64) -> Option<ThriftField> {
        let skipped = std::io::copy(&mut (&mut self.bytes).take(length), &mut std::io::sink());
        self.read += length;
        (skipped.ok()? == length).then_some(ThriftField::Other)
    }

    fn structure(&mut self, depth: usize) -> Option<Fields> {
        let mut fields = Vec::new();
        let mut id = 0;
        loop {
            let head = self.byte()?;
            if head == 0 {
                return Some(Fields(fields));
            }
            id = if head >> 4 == 0 {
                self.zigzag()?
            } else {
                i64::checked_add(id, i64::from(head >> 4))?
            };
            let field = match head & 0x0f {
                1 => ThriftField::Number(1),
                2 => ThriftField::Number(0),
                kind => self.value(kind, depth)?,
            };
            fields.push((id, field));
        }
    }

    fn value(&mut self, kind: u8, depth: usize) -> Option<ThriftField> {
        if depth > DEEPEST {
            return None;
        }
        match kind {
            // In a list, flags take a byte each.
            1..=3 => self.skip(1),
            4..=6 => self.zigzag().map(ThriftField::Number),
            7 => self.skip(8),
            8 => {
                let length = self.varint()?;
                self.skip(length)
            }
            9 | 10 => {
                let head = self.byte()?;
                let length = if head >> 4 == 15 { self.varint()? } else { u64::from(head >> 4) };
                for _ in 0..length {
                    self.value(head & 0x0f, depth + 1)?;
                }
                Some(ThriftField::Other)
            }
            12 => self.structure(depth + 1).map(ThriftField::Structure),
            _ => None,
        }
    }
}
