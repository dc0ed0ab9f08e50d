//! Records looks at exact numbers of private data, if the ledger knows the data.

use std::path::Path;

use crate::data::{DatasetDefinition, Role, Source};
use crate::error::Result;
use crate::session::{Loaded, Workspace, dataset};

/// Records a look at exact numbers of a private dataset in the ledger, before the look happens.
/// There is nothing to write if no ledger knows the dataset.
pub fn note(loaded: &Loaded, workspace: &Workspace, what: &str) -> Result<()> {
    let Some(record) = &loaded.record else { return Ok(()) };
    let account = workspace.book()?.find(record).map(|account| account.id.clone());
    match account {
        Some(account) => workspace.ledger()?.record_unprotected(&account, what),
        None => Ok(()),
    }
}

/// The same for a file that is in no session but may be private.
pub fn note_file(
    path: &Path,
    workspace: &Workspace,
    source: impl FnOnce(String) -> Source,
    what: &str,
) -> Result<()> {
    let path = std::path::absolute(path)
        .map_err(|error| crate::Error::io("find the file", path, &error))?;
    if !workspace.folder().is_dir() {
        return Ok(());
    }
    let source = source(path.display().to_string());
    let definition = DatasetDefinition::new("file", Role::Private, source);
    // The reader of the file reports read errors. An unreadable file has no account.
    match dataset::load(&definition, workspace) {
        Ok(loaded) => note(&loaded, workspace, what),
        Err(_) => Ok(()),
    }
}
