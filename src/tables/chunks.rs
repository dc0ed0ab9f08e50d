//! The cells of a column in chunks of rows, each in memory or, for tables that are too large for
//! it, on the disk.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use crate::error::Result;
use crate::files::scratch::Scratch;

/// The most rows of a chunk that is made of single cells.
pub const CHUNK: usize = 1 << 14;
/// So many chosen cells stay in memory, whatever they were chosen from.
pub const FEW: usize = 1 << 16;
/// Chosen rows are read together with those between them, if these are at most this many times as
/// many.
pub const SPARSE: usize = 8;

/// The cells of a chunk in few bytes.
pub trait PackedCells: Clone {
    /// What must be known to read them again.
    type Form: Copy;
    fn form(&self) -> Self::Form;
    /// What is written to the disk.
    fn as_bytes(&self) -> Cow<'_, [u8]>;
}

#[derive(Clone)]
pub struct Chunk<P: PackedCells> {
    pub rows: Range<usize>,
    pub kept: Kept<P>,
}

#[derive(Clone)]
pub enum Kept<P: PackedCells> {
    Memory(Arc<P>),
    Disk { space: Arc<Scratch>, at: u64, form: P::Form },
}

/// The chunks of a column, without the last rows, which are not packed yet.
#[derive(Clone)]
pub struct Chunks<P: PackedCells> {
    /// Where chunks are written, if not kept in memory.
    space: Option<Arc<Scratch>>,
    list: Vec<Chunk<P>>,
}

impl<P: PackedCells> Default for Chunks<P> {
    fn default() -> Self {
        Self::in_space(None)
    }
}

impl<P: PackedCells> Chunks<P> {
    /// No chunks yet, which will be written to this space.
    pub fn in_space(space: Option<&Arc<Scratch>>) -> Self {
        Self { space: space.map(Arc::clone), list: Vec::new() }
    }

    /// Room for `rows` chosen cells: in the same file if they are more than `few`. A file for each
    /// column would be more than a process may open.
    pub fn beside(&self, rows: usize, few: usize) -> Self {
        Self::in_space(self.space.as_ref().filter(|_| rows > few))
    }

    /// The number of rows in chunks.
    pub fn rows(&self) -> usize {
        self.list.last().map_or(0, |chunk| chunk.rows.end)
    }

    /// The number of the chunk that holds a row.
    pub fn number_of(&self, row: usize) -> usize {
        self.list.partition_point(|chunk| chunk.rows.end <= row)
    }

    pub fn list(&self) -> &[Chunk<P>] {
        &self.list
    }

    /// Adds a chunk of so many rows. [`Self::settle`] is to be called afterwards.
    pub fn push(&mut self, rows: usize, packed: P) {
        let first = self.rows();
        self.list.push(Chunk { rows: first..first + rows, kept: Kept::Memory(Arc::new(packed)) });
    }

    /// Adds all chunks of another column. They are not copied; those in memory are written if these
    /// go to the disk.
    pub fn append(&mut self, other: &Self) -> Result<()> {
        let before = self.rows();
        for Chunk { rows, kept } in &other.list {
            let rows = rows.start + before..rows.end + before;
            self.list.push(Chunk { rows, kept: kept.clone() });
            self.settle()?;
        }
        Ok(())
    }

    /// Writes the last chunks, if they go to the disk and are still in memory.
    pub fn settle(&mut self) -> Result<()> {
        let Some(space) = &self.space else { return Ok(()) };
        for chunk in self.list.iter_mut().rev() {
            let Kept::Memory(packed) = &chunk.kept else { break };
            let (at, form) = (space.append(&packed.as_bytes())?, packed.form());
            chunk.kept = Kept::Disk { space: Arc::clone(space), at, form };
        }
        Ok(())
    }

    /// From now on the chunks are on the disk.
    pub fn move_to(&mut self, space: &Arc<Scratch>) -> Result<()> {
        self.space.get_or_insert_with(|| Arc::clone(space));
        self.settle()
    }

    /// Where they are, if on the disk.
    pub fn space(&self) -> Option<&Arc<Scratch>> {
        self.space.as_ref()
    }
}
