//! A definition made into records. Private records are wrapped as they are read.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::workspace::Workspace;
use crate::data::csv::Dialect;
use crate::data::filter::Filter;
use crate::data::read::{self, Progress, Reading, Unwatched};
use crate::data::table::Column;
use crate::data::{DatasetDefinition, Role, Source, Table, csv, synthetic};
use crate::error::{Error, Result};
use crate::privacy::Private;
use crate::privacy::ledger::DatasetRecord;

/// A dataset in memory, with what may be shown of it freely.
#[derive(Debug)]
pub struct Loaded {
    pub definition: DatasetDefinition,
    /// Public under replace-one adjacency.
    pub rows: usize,
    pub columns: Vec<ColumnKind>,
    pub records: Records,
    /// How the ledger knows it; private datasets only.
    pub record: Option<DatasetRecord>,
    /// Remarks that do not stop anything.
    pub warnings: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnKind {
    pub name: String,
    pub numeric: bool,
    /// How many features it makes; more than one where it holds vectors.
    pub width: usize,
}

pub enum Records {
    Public(Box<Table>),
    Private(Private<Table>),
}

impl std::fmt::Debug for Records {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Public(_) => "Public(…)",
            Self::Private(_) => "Private(…)",
        })
    }
}

impl Loaded {
    pub fn public(&self) -> Result<&Table> {
        match &self.records {
            Records::Public(table) => Ok(table),
            Records::Private(_) => {
                Err(Error::refused(format!("'{}' is private", self.definition.name)))
            }
        }
    }

    pub fn private(&self) -> Result<&Private<Table>> {
        match &self.records {
            Records::Private(table) => Ok(table),
            Records::Public(_) => {
                Err(Error::usage(format!("'{}' is not private", self.definition.name)))
            }
        }
    }
}

/// Reads, filters, checks and wraps.
pub fn load(definition: &DatasetDefinition, workspace: &Workspace) -> Result<Loaded> {
    load_watched(definition, workspace, &mut Unwatched)
}

/// Like [`load`]; `progress` is told how far the reading is and may stop it.
pub fn load_watched(
    definition: &DatasetDefinition,
    workspace: &Workspace,
    progress: &mut dyn Progress,
) -> Result<Loaded> {
    let (whole, origin) = read(&definition.source, workspace, progress)?;
    let table = match &definition.filter {
        Some(filter) => Filter::parse(filter)?.apply(&whole)?,
        None => whole,
    };
    if let Some(label) = &definition.label {
        table.column(label)?;
    }
    let mut warnings = table.remarks.clone();
    let fingerprint = table.view.to_string();
    if definition.role == Role::Public
        && definition.fingerprint.as_ref().is_some_and(|known| *known != fingerprint)
    {
        warnings.push(format!(
            "'{}' has changed since the session was saved: other rows than then",
            definition.name
        ));
    }
    let columns = column_kinds(&table);
    let rows = table.rows();
    let mut definition = definition.clone();
    let (records, record) = match definition.role {
        Role::Public => {
            definition.fingerprint = Some(fingerprint);
            (Records::Public(Box::new(table)), None)
        }
        Role::Private => {
            definition.fingerprint = None;
            let record = DatasetRecord {
                name: definition.name.clone(),
                origin,
                content: table.content.to_string(),
                view: fingerprint,
                rows: rows as u64,
            };
            (Records::Private(Private::new(table)), Some(record))
        }
    };
    Ok(Loaded { definition, rows, columns, records, record, warnings })
}

/// Names and kinds of a table's columns; no values.
pub fn column_kinds(table: &Table) -> Vec<ColumnKind> {
    let columns = table.names.iter().zip(&table.columns).map(|(name, column)| ColumnKind {
        name: name.clone(),
        numeric: matches!(column, Column::Numbers(_)),
        width: column.width(),
    });
    columns.collect()
}

/// The same file by another path (a link, `..`) is the same origin.
fn canonical(path: &PathBuf) -> String {
    path.canonicalize().unwrap_or_else(|_| path.clone()).display().to_string()
}

/// A source's table and its origin.
fn read(
    source: &Source,
    workspace: &Workspace,
    progress: &mut dyn Progress,
) -> Result<(Table, String)> {
    let mut file_with = |file: &str, reading: &Reading| {
        let path = workspace.resolve(file);
        Ok((read::read(&path, reading, progress)?, canonical(&path)))
    };
    match source {
        Source::Together(files) => {
            let files: BTreeMap<String, PathBuf> =
                files.iter().map(|(name, file)| (name.clone(), workspace.resolve(file))).collect();
            let table = read::read_together(&files, progress)?;
            Ok((table, files.values().map(canonical).collect::<Vec<_>>().join(" + ")))
        }
        Source::File(file) => file_with(file, &Reading::Plain),
        Source::Delimited { file, delimiter, names } => {
            let dialect = Dialect { delimiter: *delimiter, names: names.clone() };
            file_with(file, &Reading::Delimited(dialect))
        }
        Source::Arrays { file, arrays } => file_with(file, &Reading::Arrays(arrays.clone())),
        Source::Sparse { file, width } => file_with(file, &Reading::Sparse(*width)),
        Source::Builtin(name) => {
            let bytes = super::demo::builtin(name)?;
            let origin = format!("builtin:{name}");
            Ok((csv::read_bytes(&origin, bytes)?, origin))
        }
        Source::Synthetic { part, rows, dimension, mixture, seed } => {
            let table = synthetic::generate(*part, *rows, *dimension, *mixture, *seed)?;
            let origin = table.origin.clone();
            Ok((table, origin))
        }
    }
}
