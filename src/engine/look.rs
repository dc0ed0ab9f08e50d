//! Records looks at exact numbers of private data, if the ledger knows the data.

use std::path::Path;

use crate::data::{DatasetDefinition, Role, Source};
use crate::error::{Error, Result};
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
    match as_private(path, workspace, source)? {
        Some(loaded) => note(&loaded, workspace, what),
        None => Ok(()),
    }
}

/// Refuses a file that is said to be public but whose rows the ledger knows as private.
pub fn refuse_private_file(
    path: &Path,
    workspace: &Workspace,
    source: impl FnOnce(String) -> Source,
) -> Result<()> {
    let Some(loaded) = as_private(path, workspace, source)? else { return Ok(()) };
    let book = workspace.book()?;
    let Some(account) = loaded.record.as_ref().and_then(|record| book.find(record)) else {
        return Ok(());
    };
    Err(Error::refused(format!("the ledger knows rows of this file as private ({})", account.id.0))
        .at(path.display().to_string())
        .cure("leave --public out; the ledger then notes that exact numbers were seen"))
}

/// The file as private data; nothing where there is no ledger, or the file cannot be read.
fn as_private(
    path: &Path,
    workspace: &Workspace,
    source: impl FnOnce(String) -> Source,
) -> Result<Option<Loaded>> {
    let path =
        std::path::absolute(path).map_err(|error| Error::io("find the file", path, &error))?;
    if !workspace.folder().is_dir() {
        return Ok(None);
    }
    let source = source(path.display().to_string());
    let definition = DatasetDefinition::new("file", Role::Private, source);
    // The reader of the file reports read errors. An unreadable file has no account.
    Ok(dataset::load(&definition, workspace).ok())
}
