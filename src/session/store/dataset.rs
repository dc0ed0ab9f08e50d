//! Turns a definition into records. Private records are wrapped as they are read.

use crate::privacy::Watch;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use rand::rngs::ChaCha20Rng;

use super::features;
use super::known_rows::KnownAccounts;
use super::secret::FoundSecret;
use super::workspace::Workspace;
use crate::data::filter::Filter;
use crate::data::fingerprint::InOrder;
use crate::data::leaking;
use crate::data::overlap::Sketch;
use crate::data::persons;
use crate::data::profile::TableProfile;
use crate::data::read::{self, Overflow, Reading, ReadingProgress, Unwatched, parts};
use crate::data::table::{FileEnding, seeded};
use crate::data::{DatasetDefinition, Fingerprint, Role, Source, Table, Unit, csv, synthetic};
use crate::data::{Missing, RowChoice, Sample, SecretOrder, missing};
use crate::error::{Error, Result};
use crate::faults::{Fault, planted};
use crate::privacy::ledger::{AccountId, DatasetRecord};
use crate::privacy::openings::OpenPrivate;
use crate::privacy::{Ledger, Private, Secret};

/// Distinguishes data that were read at different times, even from the same file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadingId(u64);

impl ReadingId {
    fn next() -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        Self(COUNT.fetch_add(1, Ordering::Relaxed))
    }
}

/// A dataset in memory, with the facts that may be shown freely.
#[derive(Debug)]
pub struct Loaded {
    pub reading: ReadingId,
    pub definition: DatasetDefinition,
    /// The number of protected records (or `records` of the definition) or persons. Public under
    /// replace-one adjacency.
    pub rows: usize,
    pub columns: Vec<ColumnKind>,
    pub records: LoadedRecords,
    /// Record of the dataset in the ledger; private datasets only.
    pub record: Option<DatasetRecord>,
    /// The files of a private dataset that has several, each tied to it by its rows: spending on
    /// one of them is spending on the whole, and vice versa.
    pub parts: Vec<DatasetRecord>,
    /// Remarks that do not stop anything.
    pub warnings: Vec<String>,
    /// Why nothing of a dataset that is said to be public is shown or used: the ledger may know its
    /// rows as private ones.
    pub withheld: Option<Error>,
    /// Secret of the dataset's record in the ledger; private datasets only.
    pub secret: Option<Secret>,
    /// The order of its rows; private datasets only.
    pub order: Option<OrderOfRows>,
    /// The column of a private dataset that names persons, where single rows are protected.
    named: Option<PersonColumn>,
    /// A sketch of its rows, for comparison with other datasets; made on demand.
    sketch: OnceLock<Sketch>,
    /// A missing value that stops plans, once it was looked for.
    gap: OnceLock<Option<Error>>,
    /// A profile of the columns of a public dataset, once somebody asked for it.
    profile: OnceLock<Option<TableProfile>>,
    /// Columns of a public dataset that give its label away, once somebody asked for them.
    leaking: OnceLock<Vec<String>>,
}

/// The order of private rows in their file, after its filter.
#[derive(Debug, Clone, PartialEq)]
pub struct OrderOfRows {
    /// The key of every random choice among them.
    pub choices: SecretOrder,
    /// A keyed name for these rows in this order.
    pub name: String,
}

impl OrderOfRows {
    fn of(table: &Table, secret: &Secret) -> Self {
        let rows = InOrder { rows: table.view, order: table.order };
        Self { choices: secret.order_of(&rows), name: secret.name_in_order(&rows) }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnKind {
    pub name: String,
    pub numeric: bool,
    /// The number of its features; more than one if it holds vectors.
    pub width: usize,
}

impl ColumnKind {
    /// What a cell of it holds.
    pub fn holds(&self) -> &'static str {
        match self.width {
            _ if self.numeric => "number",
            1 => "text",
            _ => "vector",
        }
    }
}

pub enum LoadedRecords {
    Public(Box<Table>),
    Private(Private<Table>),
}

/// The column of a private table that names persons, if one does.
struct PersonColumn(Private<Option<String>>);

impl std::fmt::Debug for PersonColumn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("PersonColumn(…)")
    }
}

impl std::fmt::Debug for LoadedRecords {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Public(_) => "Public(…)",
            Self::Private(_) => "Private(…)",
        })
    }
}

impl Loaded {
    /// How a private file ends, for who may see it.
    pub fn exact_ending(&self, watch: &Watch) -> Option<FileEnding> {
        let ending = self.private().ok()?.curator(watch, |table| table.ending)?;
        ending.reveal(watch).copied()
    }

    /// The number of unusable rows of a private file and the place of the first, for who may see
    /// them.
    pub fn exact_unusable(&self, watch: &Watch) -> Option<(usize, u64)> {
        let unusable = self.private().ok()?.curator(watch, |table| table.unusable)?;
        *unusable.reveal(watch)?
    }

    /// A remark about the column of a private dataset that names persons, if single rows are
    /// protected, for who may see it.
    pub fn exact_named(&self, watch: &Watch) -> Option<String> {
        let found = self.named.as_ref()?.0.curator(watch, Clone::clone)?;
        let name = found.reveal(watch)?.as_ref()?;
        Some(format!(
            "the column '{name}' seems to name persons. The guarantee is for single rows: for \
             somebody with k rows, ε is k times as large. `unit: \"{name}\"` protects all rows of \
             one person together"
        ))
    }

    /// The first missing value of a public dataset that stops plans with its column. It is looked
    /// for once.
    pub fn gap(&self) -> Option<&Error> {
        let look = || missing::first_refused(self.public().ok()?, &self.definition).ok()?;
        self.gap.get_or_init(look).as_ref()
    }

    /// A profile of the columns of a public dataset; made once.
    pub fn profile(&self) -> Option<&TableProfile> {
        let table = self.public().ok()?;
        self.profile.get_or_init(|| TableProfile::of(table)).as_ref()
    }

    /// Warnings about columns of a public dataset that nearly tell its label; looked for once.
    pub fn leaking(&self) -> &[String] {
        let (Ok(table), Some(label)) = (self.public(), &self.definition.label) else { return &[] };
        let found = || leaking::of_label(table, &self.definition, label).unwrap_or_default();
        self.leaking.get_or_init(found)
    }

    /// The account of a private dataset in the ledger, opened if there is none.
    pub fn register(&self, ledger: &mut Ledger) -> Result<AccountId> {
        self.parts.iter().try_for_each(|part| ledger.register(part).map(|_| ()))?;
        let record = self.record.as_ref().ok_or_else(|| {
            Error::usage(format!("'{}' is public and has no account", self.definition.name))
        })?;
        ledger.register(record)
    }

    /// The columns that identify the person of a row, in the ledger's words; `None` where single
    /// records are protected.
    pub fn unit(&self) -> Option<String> {
        self.definition.unit.as_ref().map(Unit::words)
    }

    /// The size in words: `400 rows`, or `120 persons`.
    pub fn size(&self) -> String {
        let what = if self.unit().is_some() && self.record.is_some() { "persons" } else { "rows" };
        format!("{} {what}", self.rows)
    }

    /// A private dataset with a split that everybody can compute, for runs that protect nothing
    /// because their noise is known; `None` for a public one.
    pub fn in_known_order(&self) -> Option<Self> {
        let LoadedRecords::Private(records) = &self.records else { return None };
        let order = self.order.clone();
        Some(Self {
            reading: self.reading,
            definition: self.definition.clone(),
            rows: self.rows,
            columns: self.columns.clone(),
            records: LoadedRecords::Private(records.share()),
            record: self.record.clone(),
            parts: self.parts.clone(),
            warnings: self.warnings.clone(),
            withheld: None,
            secret: self.secret.clone(),
            order: order.map(|order| OrderOfRows { choices: SecretOrder::KNOWN, ..order }),
            named: self.named.as_ref().map(|named| PersonColumn(named.0.share())),
            sketch: self.sketch.clone(),
            gap: OnceLock::new(),
            profile: OnceLock::new(),
            leaking: OnceLock::new(),
        })
    }

    /// Sets the number of records for the ledger, where it is not public.
    pub fn set_rows_on_record(&mut self, rows: u64) {
        self.record.iter_mut().chain(&mut self.parts).for_each(|record| record.rows = rows);
    }

    /// A sketch of its rows in the file, for comparison with other datasets.
    pub fn sketch(&self, secret: &Secret) -> Option<&Sketch> {
        match (&self.records, &self.record) {
            (LoadedRecords::Public(table), _) => {
                Some(self.sketch.get_or_init(|| Sketch::of(table, &secret.overlap_key())))
            }
            (LoadedRecords::Private(_), record) => record.as_ref()?.sketch.as_ref(),
        }
    }

    /// The rows of a public dataset; an error where they are withheld or private.
    pub fn public(&self) -> Result<&Table> {
        match &self.records {
            LoadedRecords::Public(table) => {
                self.withheld.as_ref().map_or(Ok(table), |error| Err(error.clone()))
            }
            LoadedRecords::Private(_) => {
                Err(Error::refused(format!("'{}' is private", self.definition.name)))
            }
        }
    }

    pub fn private(&self) -> Result<&Private<Table>> {
        match &self.records {
            LoadedRecords::Private(table) => Ok(table),
            LoadedRecords::Public(_) => {
                Err(Error::usage(format!("'{}' is not private", self.definition.name)))
            }
        }
    }

    /// What a planted fault takes from its private rows: how many are unusable. Without the fault,
    /// and in every other build, it is 0.
    pub fn stolen(&self, fault: Fault) -> usize {
        match &self.records {
            LoadedRecords::Private(table) if planted(fault) => {
                table.stolen(|table| table.unusable.map_or(0, |(rows, _)| rows))
            }
            _ => 0,
        }
    }

    /// What a planted fault tells of its private rows: their digest, or how many are unusable.
    pub fn leaked(&self, fault: Fault) -> Option<String> {
        let table = self.private().ok().filter(|_| planted(fault))?;
        table.stolen(|table| match (fault, table.unusable) {
            (Fault::PlainDigest, _) => Some(table.view.to_string()),
            (_, unusable) => unusable.map(|(rows, _)| format!("{rows} private rows are empty")),
        })
    }
}

/// Reads, filters, checks and wraps.
pub fn load(definition: &DatasetDefinition, workspace: &Workspace) -> Result<Loaded> {
    load_watched(definition, workspace, &mut Unwatched)
}

/// Like [`load`]; `progress` gets the progress of the reading and may stop it.
pub fn load_watched(
    definition: &DatasetDefinition,
    workspace: &Workspace,
    progress: &mut dyn ReadingProgress,
) -> Result<Loaded> {
    let mut reader = Reader { workspace, progress, role: definition.role, of: 1 };
    let (whole, parts) = reader.read(&definition.source)?;
    let progress = reader.progress;
    let mut warnings = whole.remarks.clone();
    let private = definition.role == Role::Private;
    // A public dataset is compared with private ones later, if at all. Only if a network replaces
    // the contents of the file would this be too late.
    let found = (private || definition.extract.is_some()).then(|| workspace.secret());
    let found = found.transpose()?;
    let owner = found.as_ref().filter(|_| private);
    let secret = owner.map(|found| &found.secret);
    let (table, order) = chosen_rows(definition, whole, secret, &mut warnings)?;
    let about = definition.units.keys().chain(definition.notes.keys());
    let unit = definition.unit.iter().flat_map(Unit::columns);
    for column in definition.label.iter().chain(about).chain(unit) {
        table.column(column)?;
    }
    let fingerprint = table.view.to_string();
    if !private && definition.fingerprint.as_ref().is_some_and(|known| *known != fingerprint) {
        warnings.push(format!(
            "'{}' has changed since the session was saved: other rows than then",
            definition.name
        ));
    }
    let content = table.content;
    let sketch = found.as_ref().map(|found| Sketch::of(&table, &found.secret.overlap_key()));
    let table = match definition.extract.as_ref().zip(found.as_ref()) {
        Some((extraction, found)) => {
            features::extracted(extraction, table, workspace, &found.secret, progress)?
        }
        None => table,
    };
    let choices = order.as_ref().map(|order| &order.choices);
    let table = match (definition.records, choices) {
        (Some(records), Some(choices)) => {
            warnings.push(format!(
                "'{}' counts as {records} records: how many there are stays private",
                definition.name
            ));
            table.of_size(records, choices.generator(RowChoice::Size, 0))?
        }
        _ => table,
    };
    let table = match definition.unit.as_ref().filter(|_| private) {
        Some(unit) => {
            let kept = (definition.most_records(), definition.without_unit);
            persons::by_person(&table, unit, kept, choices)?
        }
        None => table,
    };
    let table = match definition.sample {
        Some(sample) if table.persons.is_some() => {
            table.sample(sample.rows, generator_of(sample, choices))?
        }
        _ => table,
    };
    let (rows, several) = (table.protected(), parts.len() > 1);
    let mut definition = definition.clone();
    definition.fingerprint = (!private).then(|| fingerprint.clone());
    let (record, parts) = match owner {
        None => (None, Vec::new()),
        Some(FoundSecret { secret, remark }) => {
            warnings.extend(remark.clone());
            let record = |origin, content: Fingerprint| DatasetRecord {
                name: definition.name.clone(),
                origin,
                content: secret.fingerprint(&content.to_string()),
                view: secret.fingerprint(&fingerprint),
                rows: rows as u64,
                key: Some(secret.id()),
                sketch: None,
            };
            // A folder is the same place when parts are added to it.
            let origin = match definition.source.files()[..] {
                [place] => canonical(&workspace.resolve(place)),
                _ => parts.iter().map(|part| part.origin.as_str()).collect::<Vec<_>>().join(" + "),
            };
            let whole = DatasetRecord { sketch: sketch.clone(), ..record(origin, content) };
            let parts = parts.into_iter().filter(|_| several);
            (Some(whole), parts.map(|part| record(part.origin, part.content)).collect())
        }
    };
    let columns = column_kinds(&table);
    let records = if private {
        LoadedRecords::Private(Private::new(table))
    } else {
        LoadedRecords::Public(Box::new(table))
    };
    let named = match &records {
        LoadedRecords::Private(table) if definition.unit.is_none() => {
            Some(PersonColumn(table.transform(persons::named)))
        }
        _ => None,
    };
    let mut loaded = Loaded {
        reading: ReadingId::next(),
        definition,
        rows,
        columns,
        records,
        named,
        record,
        parts,
        warnings,
        withheld: None,
        secret: found.filter(|_| private).map(|found| found.secret),
        order,
        sketch: sketch.map_or_else(OnceLock::new, OnceLock::from),
        gap: OnceLock::new(),
        profile: OnceLock::new(),
        leaking: OnceLock::new(),
    };
    if !private {
        loaded.withheld = KnownAccounts::of(workspace).refusal(&loaded);
    }
    if loaded.withheld.is_some() {
        // They count rows and name cells.
        loaded.warnings.clear();
    }
    Ok(loaded)
}

/// The generator of a sample: of private rows it is secret.
fn generator_of(sample: Sample, choices: Option<&SecretOrder>) -> ChaCha20Rng {
    choices.filter(|_| !planted(Fault::SampleByPlace)).map_or_else(
        || seeded(sample.seed),
        |choices| choices.generator(RowChoice::Sample, sample.seed),
    )
}

/// The rows that a definition selects: filtered, sampled, and, for public data, without incomplete
/// ones if these are dropped. With the order of private rows before any of them was chosen at
/// random.
fn chosen_rows(
    definition: &DatasetDefinition,
    whole: Table,
    secret: Option<&Secret>,
    warnings: &mut Vec<String>,
) -> Result<(Table, Option<OrderOfRows>)> {
    let mut table = definition.apart(whole)?;
    if let Some(filter) = &definition.filter {
        let filter = Filter::parse(filter)?;
        table = match definition.role {
            Role::Public => filter.apply(&table)?,
            Role::Private => filter.apply_to_private(&table)?,
        };
    }
    let order = secret.map(|secret| OrderOfRows::of(&table, secret));
    // For persons the sample is taken later, when the owners of the rows are known.
    let of_persons = definition.unit.is_some() && definition.role == Role::Private;
    if let Some(sample) = definition.sample.filter(|_| !of_persons) {
        let choices = order.as_ref().map(|order| &order.choices);
        table = table.sample(sample.rows, generator_of(sample, choices))?;
    }
    let mut table = table.renamed(&definition.rename)?;
    if definition.missing != Missing::Drop {
        return Ok((table, order));
    }
    if definition.role == Role::Private {
        warnings.push(format!(
            "incomplete records of '{}' count as empty ones: their number stays private",
            definition.name
        ));
        return Ok((table, order));
    }
    let complete = missing::complete_rows(&table, definition)?;
    let dropped = table.rows() - complete.len();
    if complete.is_empty() {
        return Err(Error::failed("a value is missing in every row")
            .at(table.origin)
            .cure("leave columns with many gaps out of the features"));
    }
    if dropped > 0 {
        warnings.push(format!(
            "{dropped} of {} rows of '{}' lack a value and are left out",
            table.rows(),
            definition.name
        ));
        table = table.select(&complete)?;
    }
    Ok((table, order))
}

/// One file (or other origin) that a dataset's rows come from.
struct SourcePart {
    origin: String,
    content: Fingerprint,
}

/// Reads sources. An unreadable private record stops nothing.
struct Reader<'a> {
    workspace: &'a Workspace,
    progress: &'a mut dyn ReadingProgress,
    role: Role,
    /// The number of sources of the table of which one is being read.
    of: usize,
}

impl Reader<'_> {
    /// Reads everything that a source names.
    fn read(&mut self, source: &Source) -> Result<(Table, Vec<SourcePart>)> {
        if let Some(sources) = self.in_parts(source)? {
            let (mut table, parts) = self.several(&sources)?;
            table.origin = source.files().join(" + ");
            return Ok((table, parts));
        }
        let (table, origin) = match source {
            Source::Several(sources) => return self.several(sources),
            Source::Together(files) => {
                let paths =
                    files.iter().map(|(name, file)| (name.clone(), self.workspace.resolve(file)));
                let files: BTreeMap<String, PathBuf> = paths.collect();
                let table = read::read_together(&files, |path| self.file(path, &Reading::Plain))?;
                let origins: Vec<_> = files.values().map(|file| canonical(file)).collect();
                (table, origins.join(" + "))
            }
            Source::File(file) => self.file_with(file, &Reading::Plain)?,
            source @ Source::Delimited { file, .. } => {
                self.file_with(file, &Reading::Delimited(source.dialect()))?
            }
            Source::Arrays { file, arrays } => {
                self.file_with(file, &Reading::Arrays(arrays.clone()))?
            }
            Source::Sparse { file, width } => self.file_with(file, &Reading::Sparse(*width))?,
            Source::Builtin(name) => {
                let origin = format!("builtin:{name}");
                (csv::read_bytes(&origin, super::demo::builtin(name)?)?, origin)
            }
            Source::Synthetic { part, rows, dimension, mixture, seed } => {
                let table = synthetic::generate(*part, *rows, *dimension, *mixture, *seed)?;
                let origin = table.origin.clone();
                (table, origin)
            }
        };
        let content = table.content;
        Ok((table, vec![SourcePart { origin, content }]))
    }

    /// Reads sources one after another.
    fn several(&mut self, sources: &[Source]) -> Result<(Table, Vec<SourcePart>)> {
        let of_whole = self.of;
        self.of *= sources.len().max(1);
        let mut tables = Vec::new();
        let mut parts: Vec<SourcePart> = Vec::new();
        for source in sources {
            let (table, further) = self.read(source)?;
            for part in further {
                // Otherwise one person's record would be in the dataset twice.
                if parts.iter().any(|known| known.content == part.content) {
                    return Err(Error::usage("the same rows are named twice")
                        .at(part.origin)
                        .cure("name every file once: copies multiply what a person risks"));
                }
                parts.push(part);
            }
            tables.push(table);
        }
        self.of = of_whole;
        Ok((read::joined(&tables)?, parts))
    }

    /// A source whose file is a folder or a pattern, as its parts: the ledger knows each by itself.
    fn in_parts(&self, source: &Source) -> Result<Option<Vec<Source>>> {
        let (Source::File(file)
        | Source::Delimited { file, .. }
        | Source::Arrays { file, .. }
        | Source::Sparse { file, .. }) = source
        else {
            return Ok(None);
        };
        let parts = parts::of(&self.workspace.resolve(file))?;
        let of_part = |part: PathBuf| {
            let mut source = source.clone();
            for file in source.files_mut() {
                *file = part.display().to_string();
            }
            source
        };
        Ok(parts.map(|parts| parts.into_iter().map(of_part).collect()))
    }

    fn file(&mut self, path: &Path, reading: &Reading) -> Result<Table> {
        let reader = match self.role {
            Role::Public => read::TableReader::default(),
            Role::Private => read::TableReader::private(),
        };
        let overflow = Overflow::to(self.workspace.folder()).for_one(self.of);
        reader.with(overflow).read(path, reading, self.progress)
    }

    fn file_with(&mut self, file: &str, reading: &Reading) -> Result<(Table, String)> {
        let path = self.workspace.resolve(file);
        Ok((self.file(&path, reading)?, canonical(&path)))
    }
}

/// Names and kinds of a table's columns; no values. A column is numeric if most of its cells are
/// numbers, so that no single record decides it.
pub fn column_kinds(table: &Table) -> Vec<ColumnKind> {
    let columns = table.names.iter().zip(&table.columns).map(|(name, column)| ColumnKind {
        name: name.clone(),
        numeric: column.is_mostly_numbers(),
        width: column.width(),
    });
    columns.collect()
}

/// The origin of a file, which is the same by another path (a link, `..`).
pub fn canonical(path: &Path) -> String {
    path.canonicalize().unwrap_or_else(|_| path.to_path_buf()).display().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Column, Values, Vectors};

    #[test]
    fn vectors_are_not_called_text() {
        let vectors = Vectors::new(3, Values::F32(vec![0.5; 6])).unwrap();
        let words = ["north", "south"].iter().collect();
        let columns = vec![
            Column::Numbers(vec![1.0, 2.0].into()),
            Column::Text(words),
            Column::Vectors(vectors),
        ];
        let names = ["age", "ward", "image"].map(str::to_owned).to_vec();
        let table = Table::of_rows("t.npz", names, columns).unwrap();
        let holds: Vec<_> = column_kinds(&table).iter().map(ColumnKind::holds).collect();
        assert_eq!(holds, ["number", "text", "vector"]);
    }
}
