//! The hash-chained file, its lock and its write-ahead discipline.

use std::path::{Path, PathBuf};

use super::book::Book;
use super::entry::{AccountId, Budget, DatasetRecord, Grant, Outcome, RunId};
use crate::error::Result;

/// A handle on the ledger of one workspace. Every process and every run opens
/// its own; a file lock makes each change see all earlier ones.
#[derive(Debug)]
pub struct Ledger {
    path: PathBuf,
}

impl Ledger {
    /// Opens (does not create) the ledger in `directory`; the file appears with the first entry.
    pub fn open(_directory: &Path) -> Result<Self> {
        todo!()
    }
    pub fn path(&self) -> &Path {
        &self.path
    }
    /// Everything on disk now, added up.
    pub fn book(&mut self) -> Result<Book> {
        todo!()
    }
    /// The account of this dataset: known by content, view or origin, else opened.
    pub fn register(&mut self, _dataset: &DatasetRecord) -> Result<AccountId> {
        todo!()
    }
    pub fn set_budget(&mut self, _account: &AccountId, _budget: Budget) -> Result<()> {
        todo!()
    }
    /// Reserves the whole run or refuses it.
    pub fn grant(&mut self, _grant: Grant) -> Result<()> {
        todo!()
    }
    /// Announces draws; returns only after they are on disk.
    pub fn reserve(&mut self, _run: &RunId, _event: usize, _count: u64) -> Result<()> {
        todo!()
    }
    pub fn settle(
        &mut self,
        _run: &RunId,
        _used: &[u64],
        _outcome: Outcome,
        _peeked: bool,
    ) -> Result<()> {
        todo!()
    }
    /// Settles an open run whose process is gone at what it had reserved.
    pub fn abandon(&mut self, _run: &RunId) -> Result<()> {
        todo!()
    }
    /// The curator accepts the unknown past of an account.
    pub fn accept(&mut self, _account: &AccountId, _why: &str) -> Result<()> {
        todo!()
    }
    /// Sets a damaged ledger aside and goes on with its good prefix.
    pub fn repair(&mut self) -> Result<PathBuf> {
        todo!()
    }
}
