//! A definition made into records. Private records are wrapped as they are read.

use super::workspace::Workspace;
use crate::data::filter::Filter;
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
    let (whole, origin) = read(&definition.source, workspace)?;
    let table = match &definition.filter {
        Some(filter) => Filter::parse(filter)?.apply(&whole)?,
        None => whole,
    };
    if let Some(label) = &definition.label {
        table.column(label)?;
    }
    let mut warnings = Vec::new();
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
    });
    columns.collect()
}

fn read(source: &Source, workspace: &Workspace) -> Result<(Table, String)> {
    match source {
        Source::File(file) => {
            let path = workspace.resolve(file);
            let table = csv::read(&path)?;
            // The same file by another path (a link, `..`) is the same origin.
            let origin = path.canonicalize().unwrap_or(path);
            Ok((table, origin.display().to_string()))
        }
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
        _ => Err(Error::failed("this kind of source is not read yet")),
    }
}
