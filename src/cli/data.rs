//! `halflight data inspect`: the contents of a file and how to use it.
//!
//! `schemas.json` describes the output of `--json`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::reading::Watched;
use super::{print_json, print_line};
use crate::data::inspect::{ColumnFacts, Inspection, remarks_on_columns};
use crate::data::names::shortened;
use crate::data::profile::{Axis, Spread};
use crate::data::read::{Overflow, Reading, TableReader, Unwatched};
use crate::data::{Compatibility, DatasetDefinition, Role, Source, Table};
use crate::engine::PreparedStore;
use crate::engine::assembly::{Assembly, assemble};
use crate::engine::count::{Counted, count};
use crate::engine::{inspect, look, overlap};
use crate::error::{Error, Result};
use crate::plot::bars::{bars, of_texts, values_below};
use crate::privacy::CuratorOnly;
use crate::privacy::accountant::round_up;
use crate::session::family::{self, FamilyFile};
use crate::session::found_file::FoundFile;
use crate::session::known_rows::KnownAccounts;
use crate::session::{Loaded, Session, Workspace, dataset, file};

/// The most columns of one file that are listed one by one.
const MOST_COLUMNS: usize = 500;

/// Look at data files.
#[derive(Debug, Args)]
#[command(after_help = "Example:
  halflight data inspect private.csv public.csv")]
pub struct Data {
    #[command(subcommand)]
    command: DataCommand,
}

#[derive(Debug, Subcommand)]
enum DataCommand {
    /// Show what files contain, which column could be the label, what is wrong, and how to use
    /// them.
    Inspect(Inspect),
    /// Release the number of records of a private dataset, with noise, if that number is private
    /// too.
    Count(Count),
}

/// Release the number of records of a private dataset, with noise, if that number is private too.
///
/// Otherwise the number of private records counts as public. The count gets noise (discrete
/// Laplace, ε as given) and is entered in the ledger. With `records: N` on the dataset, N as proposed
/// here, every run treats it as N records: empty ones fill it up, in a secret order, and nothing
/// shows how many there are. The guarantee then holds for adding or leaving out a record, too.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  halflight data count session.ron --dataset ours --epsilon 0.1
  halflight data count session.ron --dataset ours --epsilon 0.1 --write")]
struct Count {
    /// Session file (.ron).
    session: PathBuf,

    /// The private dataset, by its name in the session.
    #[arg(long, value_name = "NAME")]
    dataset: String,

    /// The ε that the count may cost.
    #[arg(long)]
    epsilon: f64,

    /// Write the proposed `records` into the session.
    #[arg(long)]
    write: bool,

    /// Print JSON.
    #[arg(long)]
    json: bool,
}

impl Count {
    fn execute(&self) -> Result<()> {
        let mut session = Session::open(&self.session)?;
        let workspace = Workspace::of_session(&self.session)?;
        let counted = count(&session, &self.dataset, self.epsilon, &workspace)?;
        if self.write {
            let mut all = session.datasets.iter_mut();
            if let Some(dataset) = all.find(|dataset| dataset.name == self.dataset) {
                dataset.records = Some(counted.proposal);
            }
            session.check()?;
            session.save(&self.session)?;
        }
        let Counted { dataset, about, within, proposal, guarantee, run } = counted;
        let about = about.get();
        if self.json {
            return print_json(&json!({
                "dataset": dataset, "about": about, "within": within, "records": proposal,
                "guarantee": guarantee, "run": run, "written": self.write,
            }));
        }
        let next = if self.write {
            format!("{} now says `records: {proposal}` for it", self.session.display())
        } else {
            format!("write `records: {proposal}` on it in the session, or use --write")
        };
        print_line(&format!(
            "'{dataset}' has about {about} records (released at ε = {}; with probability 95 % the \
             number is within {within:.0}).\nSo that nothing else shows how many there are, {next}.",
            round_up(guarantee.epsilon, 4)
        ))
    }
}

/// Show what files contain, which column could be the label, what is wrong, and how to use them.
///
/// Nothing is written, except a line in the ledger if --show-values looks at a private dataset that
/// it knows. The counts are exact: those of a private file are for your eyes only (◆), and are in
/// the JSON only with --include-curator. The program cannot know whether a file is private: name
/// the public ones with --public. For several files it also shows whether their columns agree; for
/// a session, what is done with each of its datasets.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  halflight data inspect private.csv --public public.parquet
  halflight data inspect session.ron --json")]
struct Inspect {
    /// Data files, or one session (.ron).
    #[arg(required_unless_present = "public")]
    files: Vec<PathBuf>,

    /// A data file that is public, so its numbers may be shared, also if it is named before. May be
    /// repeated.
    #[arg(long, value_name = "FILE")]
    public: Vec<PathBuf>,

    /// Show distributions, ranges and common values of what may be private, too.
    #[arg(long)]
    show_values: bool,

    /// Print JSON; exact numbers of what is not public only with --include-curator.
    #[arg(long)]
    json: bool,

    /// Put exact numbers of files that may be private into the JSON.
    #[arg(long, requires = "json")]
    include_curator: bool,
}

/// The ledger's note for a look at values.
const VALUES_NOTE: &str = "unprotected look: ranges and common values of the columns";

impl Data {
    pub fn execute(&self) -> Result<()> {
        let inspect = match &self.command {
            DataCommand::Inspect(inspect) => inspect,
            DataCommand::Count(count) => return count.execute(),
        };
        let is_session = |path: &Path| path.extension().is_some_and(|extension| extension == "ron");
        let mut report = match inspect.files.as_slice() {
            [path] if is_session(path) && inspect.public.is_empty() => inspect.session(path)?,
            _ => inspect.tables()?,
        };
        report.note_gaps();
        if inspect.json {
            print_json(&report.json(inspect.include_curator)?)
        } else {
            report.print()
        }
    }
}

/// Everything found out about the files or the session.
#[derive(Default)]
struct DataReport {
    tables: Vec<Inspected>,
    compatibility: Vec<Compatibility>,
    /// For each plan, how many of its records had to be clipped to its bounds.
    plans: Vec<(String, Result<Clipped>)>,
}

struct Inspected {
    inspection: Inspection,
    definition: DatasetDefinition,
    /// `None` for a file without a declared role.
    role: Option<Role>,
    /// The number of its rows, or of its persons where persons are protected: how many rows these
    /// have is no public number.
    protected: usize,
    /// Whether the program suggested the definition as a starting point.
    suggested: bool,
    warnings: Vec<String>,
}

struct Clipped {
    public: usize,
    of_public: usize,
    /// An exact number, so never in the JSON.
    private: Option<CuratorOnly<usize>>,
    of_private: usize,
}

impl Inspect {
    fn tables(&self) -> Result<DataReport> {
        let mut report = DataReport::default();
        let (mut first, mut files): (Option<Table>, Vec<FamilyFile>) = (None, Vec::new());
        let overflow = Workspace::of(Path::new("."))?.overflow();
        let real = |path: &PathBuf| path.canonicalize().unwrap_or_else(|_| path.clone());
        let named: Vec<PathBuf> = self.public.iter().map(real).collect();
        let unknown = self.files.iter().filter(|path| !named.contains(&real(path)));
        let unknown = unknown.map(|path| (path, None));
        let public = self.public.iter().map(|path| (path, Some(Role::Public)));
        for (path, role) in unknown.chain(public) {
            let found = FoundFile::of(path, &path.display().to_string())?;
            let (mut table, source) = found.read(|path, reading| {
                let reader = TableReader::default().with(overflow.clone());
                let table = reader.read(path, reading, &mut Watched::default());
                table.or_else(|error| readable(path, role, &overflow, (reading, error)))
            })?;
            table.remarks.extend(found.note());
            // The ledger may know better.
            let refused = role.and_then(|_| known_as_private(path, &source));
            let role = role.filter(|_| refused.is_none());
            let show_values = self.show_values || role == Some(Role::Public);
            if show_values {
                // Also of files that are said to be public: another ledger may know better.
                look::note_file(path, &Workspace::of_session(path)?, Source::File, VALUES_NOTE)?;
            }
            let mut inspection = inspect::table(&table, role, show_values)?;
            if let Some(error) = refused {
                inspection.note(error.to_string());
            }
            files.push(FamilyFile::inspected(source, table.names.clone(), inspection.clone()));
            report.tables.push(Inspected {
                inspection,
                definition: DatasetDefinition::default(),
                role,
                protected: table.rows(),
                suggested: true,
                warnings: Vec::new(),
            });
            match &first {
                Some(first) => report.compatibility.push(Compatibility::between(first, &table)),
                None => first = Some(table),
            }
        }
        let mut all: Vec<_> = report.tables.into_iter().zip(files).collect();
        all.sort_by_key(|(table, _)| table.role.is_some());
        (report.tables, files) = all.into_iter().unzip();
        // As the interface opens these files. Those without a declared role may be private: each is
        // described with the public ones alone, and in these none of its cells is quoted.
        let unknown = report.tables.iter().filter(|table| table.role.is_none()).count();
        let (unknown, public) = files.split_at(unknown);
        let mut described = Vec::new();
        for file in unknown {
            let files = [std::slice::from_ref(file), public].concat();
            described.push(family::definitions(&files, true));
        }
        let of_public = match described.first() {
            Some(with_one) => with_one[1..].to_vec(),
            None => family::definitions(public, false),
        };
        let own = described.into_iter().map(|mut files| files.swap_remove(0));
        for (table, definition) in report.tables.iter_mut().zip(own.chain(of_public)) {
            table.definition = definition;
        }
        Ok(report)
    }

    fn session(&self, path: &Path) -> Result<DataReport> {
        let session = Session::open(path)?;
        let workspace = Workspace::of_session(path)?;
        // The user of this command is at the keyboard, unless the session is sealed.
        let watch = look::view(session.sealed);
        let shows_private = self.show_values && !session.sealed;
        let mut report = DataReport::default();
        let mut refusals = BTreeMap::new();
        let mut all = Vec::new();
        for definition in &session.datasets {
            all.push(dataset::load_watched(definition, &workspace, &mut Watched::default())?);
        }
        for loaded in &all {
            if shows_private {
                look::note(loaded, &workspace, VALUES_NOTE)?;
            }
            // A public dataset may hold rows of a private one.
            let shares = |it: &&Loaded| it.private().is_ok() && overlap::holds_rows(it, loaded);
            let mut refused = loaded.withheld.clone();
            if loaded.public().is_ok() {
                let of =
                    |it: &Loaded| overlap::rows_of(&it.definition.name, &loaded.definition.name);
                refused = all.iter().find(shares).map(of);
            }
            let is_public = loaded.private().is_err();
            // Remarks, and what a plan clips, count cells of rows that may be private.
            let is_told = refused.is_none();
            if let Some(error) = refused.as_ref().filter(|_| is_public) {
                refusals.insert(loaded.definition.name.as_str(), error.clone());
            }
            let values = if is_public { refused.is_none() } else { shows_private };
            let mut inspection = inspect::loaded(loaded, values, &watch)?;
            let role = if is_public && refused.is_none() { Role::Public } else { Role::Private };
            if let Some(error) = refused {
                inspection.note(error.to_string());
            }
            if loaded.private().is_ok()
                && let Some(what) = first_unread(&loaded.definition.source, &workspace)
            {
                inspection.note(what);
            }
            report.tables.push(Inspected {
                inspection,
                definition: loaded.definition.clone(),
                role: Some(role),
                protected: loaded.rows,
                suggested: false,
                warnings: if is_told { loaded.warnings.clone() } else { Vec::new() },
            });
        }
        let all: Vec<&Loaded> = all.iter().collect();
        let store = PreparedStore::default();
        for plan in &session.plans {
            let refusal = plan.public.iter().find_map(|name| refusals.get(name.as_str()));
            let refusal = refusal.map_or(Ok(()), |error| Err(error.clone()));
            let assembled = refusal.and_then(|()| assemble(&session, plan, &all, &store));
            let outcome = assembled.map(|Assembly { proposal, private, .. }| Clipped {
                public: proposal.problem.public.clipped,
                of_public: proposal.problem.public.len(),
                private: inspect::clipped(&private, &watch),
                of_private: proposal.problem.shape.private_records,
            });
            report.plans.push((plan.name.clone(), outcome));
        }
        Ok(report)
    }
}

/// Why a file that is said to be public is shown as a private one: the ledger beside it, or that of
/// the current folder, knows its rows, or knows some under a secret that is not here.
fn known_as_private(path: &Path, source: &Source) -> Option<Error> {
    let name = family::name_of(&path.display().to_string());
    let definition = DatasetDefinition::new(&name, Role::Public, source.clone());
    let beside = Workspace::of_session(path).ok();
    let here = Workspace::of(Path::new(".")).ok();
    beside.into_iter().chain(here).find_map(|workspace| {
        let known = KnownAccounts::of(&workspace);
        if known.is_empty() {
            return None;
        }
        // Paths are relative to the current folder.
        let workspace = Workspace::with_folder(Path::new("."), workspace.folder());
        let refusal = known.refusal(&dataset::load(&definition, &workspace).ok()?);
        refusal.or_else(|| known.unknown())
    })
}

/// How many different values a column has, and how many rows without one.
fn counts_of(column: &ColumnFacts) -> String {
    let distinct = column.distinct.map(|distinct| format!("{distinct} different"));
    let missing = (column.missing > 0).then(|| format!("{} missing", column.missing));
    [distinct, missing].into_iter().flatten().collect::<Vec<_>>().join("  ")
}

/// A heading, and for each column its distribution in one line, if any column shows its values.
fn profiles_of(columns: &[ColumnFacts]) -> Vec<String> {
    const CELLS: usize = 24;
    if columns.iter().all(|column| column.spread.is_none()) {
        return Vec::new();
    }
    let headings = ["least", "middle", "greatest"];
    let numbers = [0, 1, 2].map(|which| {
        let value = |column: &ColumnFacts| match &column.spread {
            Some(Spread::Numbers(it)) => Some([it.least, it.middle, it.greatest][which]),
            _ => None,
        };
        values_below(&columns.iter().map(value).collect::<Vec<_>>(), headings[which])
    });
    let below = |at: usize| numbers.iter().map(|it| it[at].as_str()).collect::<Vec<_>>().join(" ");
    let of_column = |(at, column): (usize, &ColumnFacts)| match &column.spread {
        Some(Spread::Numbers(it)) => {
            let axis = Axis::of(&[it], it.range(), CELLS);
            format!("{:<CELLS$} {}", bars(&it.on(&axis), 1).concat(), below(at))
        }
        Some(Spread::Texts(texts)) => of_texts(texts, column.present, CELLS),
        None => String::new(),
    };
    let widths = numbers.iter().map(|it| it.first().map_or(0, |it| it.chars().count()));
    let heads = headings.iter().zip(widths).map(|(head, width)| format!("{head:<width$}"));
    let heading = format!("{:<CELLS$} {}", "distribution", heads.collect::<Vec<_>>().join(" "));
    let lines = columns.iter().enumerate().map(of_column);
    std::iter::once(heading.trim_end().to_owned()).chain(lines).collect()
}

/// A private file may have unreadable records; the error gives the place of the first one.
fn readable(
    path: &Path,
    role: Option<Role>,
    overflow: &Overflow,
    (reading, error): (&Reading, Error),
) -> Result<Table> {
    if role == Some(Role::Public) {
        return Err(error);
    }
    let reader = TableReader::private().with(overflow.clone());
    let Ok(mut table) = reader.read(path, reading, &mut Unwatched) else {
        return Err(error);
    };
    table.remarks.push(unread(&error));
    Ok(table)
}

/// The place of a record that could not be read, and the reason.
fn unread(error: &Error) -> String {
    format!(
        "some records cannot be read, such as {} ({}): in a private dataset they count as empty \
         records, and a public dataset with them is refused",
        error.place().unwrap_or_default(),
        error.what()
    )
}

/// The first unreadable record in a private dataset's file.
fn first_unread(source: &Source, workspace: &Workspace) -> Option<String> {
    let (file, reading) = match source {
        Source::File(file) => (file, Reading::Plain),
        Source::Sparse { file, width } => (file, Reading::Sparse(*width)),
        Source::Delimited { file, .. } => (file, Reading::Delimited(source.dialect())),
        _ => return None,
    };
    let path = workspace.resolve(file);
    // As the dataset was read: what is too large for memory is no flaw of a record.
    let read = |reader: TableReader| {
        reader.with(Overflow::to(workspace.folder())).read(&path, &reading, &mut Unwatched)
    };
    let public = match read(TableReader::default()) {
        Ok(table) => table.rows(),
        Err(error) => return Some(unread(&error)),
    };
    let private = read(TableReader::private()).ok()?.rows();
    (public != private).then(|| {
        format!(
            "some cells have several lines: read as a public file it has {public} rows, and as a \
             private file, where every line is a record, {private}; remove the line breaks \
             inside cells"
        )
    })
}

impl DataReport {
    fn is_public(&self, origin: &str) -> bool {
        let mut tables = self.tables.iter();
        tables.all(|table| table.is_public() || table.inspection.origin != origin)
    }

    /// Notes which columns are missing in most rows of a public table.
    fn note_gaps(&mut self) {
        let public = || self.tables.iter().filter(|table| table.is_public());
        let facts = |it: &'_ Inspected| (it.definition.clone(), it.inspection.columns.clone());
        let facts: Vec<_> = public().map(facts).collect();
        let all: Vec<(&str, &[ColumnFacts])> =
            facts.iter().map(|(definition, facts)| (&*definition.name, &**facts)).collect();
        let found = facts.iter().map(|(own, facts)| family::mostly_missing((own, facts), &all));
        let tables = self.tables.iter_mut().filter(|table| table.is_public());
        for (table, words) in tables.zip(found) {
            if let Some(words) = words {
                table.inspection.note(words);
            }
        }
    }

    fn json(&self, curator: bool) -> Result<Value> {
        let mut tables = Vec::new();
        for table in &self.tables {
            let whole = curator || table.is_public();
            let mut value = if whole { json!(table.inspection) } else { table.schema() };
            value["role"] = json!(table.role);
            // A suggested definition depends on the contents of the cells.
            if whole || !table.suggested {
                value["definition"] = json!(file::to_ron(&table.definition)?);
            }
            value["warnings"] = json!(table.warnings);
            tables.push(value);
        }
        let plans = self.plans.iter().map(|(name, outcome)| match outcome {
            Ok(found) => json!({
                "name": name, "public_records": found.of_public, "clipped": found.public,
            }),
            Err(error) => json!({"name": name, "problem": error.to_string()}),
        });
        let known = |it: &&Compatibility| {
            curator || (self.is_public(&it.first) && self.is_public(&it.second))
        };
        Ok(json!({
            "tables": tables,
            "compatibility": self.compatibility.iter().filter(known).collect::<Vec<_>>(),
            "plans": plans.collect::<Vec<_>>(),
        }))
    }

    fn print(&self) -> Result<()> {
        self.tables.iter().try_for_each(Inspected::print)?;
        for compatibility in &self.compatibility {
            let (first, second) = (&compatibility.first, &compatibility.second);
            print_line(&match compatibility.differences().count() {
                0 => format!("{first} and {second} have the same columns.\n"),
                differences => format!("{differences} columns differ:\n{compatibility}\n"),
            })?;
        }
        for (name, outcome) in &self.plans {
            let words = outcome.as_ref().map_or_else(ToString::to_string, ToString::to_string);
            print_line(&format!("plan '{name}': {words}"))?;
        }
        if self.tables.iter().any(|table| table.role.is_none()) {
            print_line(
                "◆ These numbers are exact. The program cannot know whether the files are \
                                        private: if one is, they are for your eyes only. Name \
                                        the public ones with --public FILE.",
            )?;
        }
        if self.tables.iter().any(|table| table.role == Some(Role::Private)) {
            print_line("◆ These numbers are exact and for your eyes only.")?;
        }
        Ok(())
    }
}

impl std::fmt::Display for Clipped {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let share = |count: usize, of: usize| {
            format!("{count} of {of} ({:.1} %)", 100.0 * count as f64 / of.max(1) as f64)
        };
        let public = share(self.public, self.of_public);
        write!(f, "{public} public training records")?;
        let private = self.private.as_ref().and_then(|count| count.reveal(&look::view(false)));
        if let Some(&count) = private {
            write!(f, " and ◆ {} private ones", share(count, self.of_private))?;
        }
        write!(f, " are clipped to the bounds")
    }
}

impl Inspected {
    fn is_public(&self) -> bool {
        self.role == Some(Role::Public)
    }

    /// Facts that do not concern single records: the number of records or persons, and the columns.
    fn schema(&self) -> Value {
        let columns = self.inspection.columns.iter();
        let columns = columns.map(|column| json!({"name": column.name, "kind": column.most}));
        json!({
            "origin": self.inspection.origin,
            "rows": self.protected,
            "columns": columns.collect::<Vec<_>>(),
        })
    }

    fn print(&self) -> Result<()> {
        let exact = |text: &str| match text {
            "" => String::new(),
            _ if self.is_public() => text.to_owned(),
            _ => format!("{text} ◆"),
        };
        let Inspection { origin, rows, columns, problems, label_candidates, .. } = &self.inspection;
        let title = if self.suggested { origin } else { &self.definition.name };
        print_line(&format!("{title}: {rows} rows, {} columns", columns.len()))?;
        let remarks = remarks_on_columns(&self.definition);
        let names = columns.iter().map(|column| shortened(&column.name).chars().count());
        let width = names.max().unwrap_or(0);
        let counts: Vec<String> = columns.iter().map(counts_of).collect();
        let room = counts.iter().map(|it| it.chars().count()).max().unwrap_or(0);
        let kinds = columns.iter().map(|column| column.kind.len()).max().unwrap_or(0).clamp(8, 24);
        let profiles = profiles_of(columns);
        if let Some(heading) = profiles.first().filter(|it| !it.is_empty()) {
            let indent = 2 + width + 2 + kinds + 2 + room + 2;
            print_line(&format!("{}{heading}", " ".repeat(indent)))?;
        }
        for (at, column) in columns.iter().enumerate().take(MOST_COLUMNS) {
            let picture = profiles.get(at + 1).map_or("", String::as_str);
            let facts = exact(format!("{:room$}  {picture}", counts[at]).trim_end());
            let facts = [facts, remarks.get(column.name.as_str()).cloned().unwrap_or_default()];
            let (name, kind) = (shortened(&column.name), &column.kind);
            let line = format!("  {name:width$}  {kind:kinds$}  {}", facts.join("  "));
            print_line(line.trim_end())?;
        }
        if columns.len() > MOST_COLUMNS {
            let more = columns.len() - MOST_COLUMNS;
            print_line(&format!("  and {more} columns more; --json lists them all"))?;
        }
        let (of_columns, general): (Vec<_>, Vec<_>) =
            problems.iter().partition(|problem| problem.column.is_some());
        for problem in of_columns.iter().take(MOST_COLUMNS) {
            let column = problem.column.as_deref().unwrap_or_default();
            print_line(&exact(&format!("  ! {column}: {}", problem.what)))?;
        }
        if of_columns.len() > MOST_COLUMNS {
            let more = of_columns.len() - MOST_COLUMNS;
            print_line(&format!("  ! and {more} columns more; --json lists them all"))?;
        }
        for problem in general {
            print_line(&exact(&format!("  ! {}", problem.what)))?;
        }
        for warning in &self.warnings {
            print_line(&format!("  ! {warning}"))?;
        }
        let mut definition = self.definition.clone();
        let guessed = std::mem::take(&mut definition.guessed);
        if !self.suggested {
            for guess in guessed.values() {
                print_line(&format!("  guessed: {guess}"))?;
            }
            if !guessed.is_empty() {
                print_line(
                    "  to confirm it: `=` on the Data screen, or remove `guessed` from the session",
                )?;
            }
            return print_line("");
        }
        for guess in guessed.values() {
            print_line(&exact(&format!("  guessed: {guess}")))?;
        }
        for candidate in label_candidates {
            let words = candidate.words();
            print_line(&exact(&format!("  label? {}: {words}", candidate.column)))?;
        }
        let ron = file::to_ron(&definition)?;
        print_line(&format!("  to use it, among the `datasets` of a session:\n{ron}\n"))
    }
}
