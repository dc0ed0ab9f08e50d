//! Records looks at exact numbers of private data, if the ledger knows the data.

use std::path::Path;

use crate::data::{DatasetDefinition, Role, Source};
use crate::error::Result;
use crate::session::{Loaded, Workspace, dataset};

/// Writes into the ledger, before it happens, that somebody looks at exact numbers of a
/// private dataset. Where no ledger has met the dataset there is nothing to write.
pub fn note(loaded: &Loaded, workspace: &Workspace, what: &str) -> Result<()> {
    let Some(record) = &loaded.record else { return Ok(()) };
    let account = workspace.book()?.find(record).map(|account| account.id.clone());
    match account {
        Some(account) => workspace.ledger()?.record_unprotected(&account, what),
        None => Ok(()),
    }
}

/// The same of a file that no session speaks of; it may be private.
pub fn note_file(path: &Path, source: impl FnOnce(String) -> Source, what: &str) -> Result<()> {
    let path = std::path::absolute(path)
        .map_err(|error| crate::Error::io("find the file", path, &error))?;
    let workspace = Workspace::of_session(&path)?;
    if !workspace.folder().is_dir() {
        return Ok(());
    }
    let source = source(path.display().to_string());
    let definition = DatasetDefinition::new("file", Role::Private, source);
    // What cannot be read is told by whoever reads it; no account is of it.
    match dataset::load(&definition, &workspace) {
        Ok(loaded) => note(&loaded, &workspace, what),
        Err(_) => Ok(()),
    }
}
