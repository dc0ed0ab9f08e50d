//! What an interface reads before the user decides: directories, the first rows of a file, how much
//! still fits into a budget, what an account may show to others.

use std::path::{Path, PathBuf};

use serde_json::json;

use crate::data::profile::TableProfile;
use crate::data::read::{self, Format, Overflow, Reading, read_for_columns};
use crate::data::{DatasetDefinition, Role, Table};
use crate::error::{Doing, Error, Result};
use crate::privacy::accountant::{Adjacency, Event, round_up};
use crate::privacy::ledger::{Account, AccountId, Gap, RunRecord, RunState, Total, TotalStanding};
use crate::privacy::openings::OpenPrivate;
use crate::privacy::{CuratorOnly, Guarantee, Ledger, NoiseSource, Private, Watch};
use crate::session::Workspace;
use crate::session::dataset::{ColumnKind, column_kinds};
use crate::session::family::{self, FamilyFile};
use crate::session::found_file::FoundFile;

/// The most rows of a private dataset that are shown to the curator at once.
const MOST_ROWS: usize = 500;
/// Above this many runs a plan is so cheap that they are not counted.
pub const MOST_RUNS: u64 = 1024;
/// Rows shown of a file that is not a dataset yet.
const FIRST_ROWS_SHOWN: usize = 20;
/// How much of a text file is read to guess its columns.
const FIRST_BYTES_READ: u64 = 64 * 1024;
/// Other files only make sense as a whole; above this size they are not looked at.
const MOST_BYTES_OF_WHOLE: u64 = 32 << 20;

/// The kind of files that somebody looks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wanted {
    Data,
    Sessions,
}

/// The contents of a directory: folders first, then the wanted files.
#[derive(Debug, Clone, PartialEq)]
pub struct Listing {
    pub wanted: Wanted,
    pub directory: PathBuf,
    pub entries: Vec<DirectoryEntry>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct DirectoryEntry {
    pub name: String,
    pub is_directory: bool,
    pub bytes: u64,
}

/// The contents of a directory relative to `base`, or to the program's working directory if the
/// base does not exist yet: the demo's is made with its first run.
pub fn list(base: &Path, directory: &Path, wanted: Wanted) -> Result<Listing> {
    let base = if base.is_dir() { base } else { Path::new(".") };
    let is_session = |name: &str| Path::new(name).extension().is_some_and(|it| it == "ron");
    const LIST: &str = "list the directory";
    let named = &base.join(directory);
    let directory = named.canonicalize().doing(LIST, named)?;
    let entries = std::fs::read_dir(&directory).doing(LIST, named)?;
    let entries = entries.flatten().filter_map(|entry| {
        let about = std::fs::metadata(entry.path()).ok()?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let (is_directory, bytes) = (about.is_dir(), about.len());
        let is_wanted = wanted == Wanted::Data || is_directory || is_session(&name);
        let is_shown = is_wanted && !name.starts_with('.');
        is_shown.then_some(DirectoryEntry { name, is_directory, bytes })
    });
    let mut entries: Vec<DirectoryEntry> = entries.collect();
    entries.sort_by(|a, b| (!a.is_directory, &a.name).cmp(&(!b.is_directory, &b.name)));
    Ok(Listing { wanted, directory, entries })
}

/// Cells as text.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Rows {
    pub header: Vec<String>,
    pub rows: Vec<Vec<String>>,
    /// The total number of rows.
    pub total: usize,
}

impl Rows {
    /// The first `most` rows of a table.
    pub fn of(table: &Table, most: usize) -> Self {
        let row =
            |row: usize| table.columns.iter().map(|column| column.cell(row).to_string()).collect();
        Self {
            header: table.names.clone(),
            rows: (0..table.rows().min(most)).map(row).collect(),
            total: table.rows(),
        }
    }
}

/// What the curator sees of a private dataset.
#[derive(Debug, Clone)]
pub struct ExactRows {
    /// The first rows.
    pub rows: Rows,
    /// `None` if the rows could not be read again.
    pub profile: Option<TableProfile>,
}

impl ExactRows {
    pub fn of(table: &Table) -> Self {
        Self { rows: Rows::of(table, MOST_ROWS), profile: TableProfile::of(table) }
    }
}

/// The columns of a file, from its beginning.
#[derive(Debug, Clone)]
pub struct Schema {
    pub columns: Vec<ColumnKind>,
    pub rows: usize,
    /// Whether the whole file was read, not only its beginning.
    pub whole: bool,
    pub cells: FirstCells,
}

/// The first cells of a file, if they may be seen.
#[derive(Debug, Clone)]
pub enum FirstCells {
    /// Cells that are not shown, because they were not declared public.
    Hidden,
    Public(Rows),
    /// Somebody wanted to look.
    Exact(CuratorOnly<Rows>),
}

impl Schema {
    /// Cells are public if the file's role is. An unknown file may be private, or a copy of a
    /// private one.
    fn of(table: Table, whole: bool, role: Option<Role>, look: Option<&Watch>) -> Self {
        let (columns, rows) = (column_kinds(&table), table.rows());
        let first = |table: &Table| Rows::of(table, FIRST_ROWS_SHOWN);
        let cells = match (role, look) {
            (Some(Role::Public), _) => FirstCells::Public(first(&table)),
            (_, Some(watch)) => Private::new(table)
                .curator(watch, first)
                .map_or(FirstCells::Hidden, FirstCells::Exact),
            _ => FirstCells::Hidden,
        };
        Self { columns, rows, whole, cells }
    }
}

/// The datasets of a new session with these files: the first one private and the others public until
/// the user changes this. With them a remark on what was found beside the files.
pub fn new_datasets(
    files: &[PathBuf],
    overflow: &Overflow,
) -> Result<(Vec<DatasetDefinition>, Option<String>)> {
    let mut found: Vec<FamilyFile> = Vec::new();
    let mut notes = Vec::new();
    for path in files {
        let file = FoundFile::of(path, &path.display().to_string())?;
        let read = |path: &Path, reading: &Reading| read_for_columns(path, reading, overflow);
        let (table, source) = file.read(read)?;
        notes.extend(file.note());
        // Images and their labels may both be named.
        if found.iter().all(|it| it.source != source) {
            found.push(FamilyFile::of(source, &table));
        }
    }
    Ok((family::definitions(&found, true), Some(notes.join(" ")).filter(|it| !it.is_empty())))
}

/// A quick look at the beginning of a text file with this role, if it has one.
pub fn glance(
    path: &Path,
    role: Option<Role>,
    look: Option<&Watch>,
    overflow: &Overflow,
) -> Result<Schema> {
    let size = std::fs::metadata(path).doing("read the file", path)?.len();
    let (mut bytes, whole) = read::beginning(path, FIRST_BYTES_READ)?;
    let format = read::format(path)?;
    let table = || {
        let found = FoundFile::of(path, &path.display().to_string())?;
        found.read(|path, reading| read_for_columns(path, reading, overflow))
    };
    if matches!(format, Format::Npz | Format::Safetensors | Format::Idx)
        && size <= MOST_BYTES_OF_WHOLE
    {
        return Ok(Schema::of(table()?.0, true, role, look));
    }
    if !whole && format != Format::Csv {
        if size > MOST_BYTES_OF_WHOLE {
            return Err(Error::usage(format!("{} of {} MB", format.name(), size >> 20))
                .cure("press Enter to read it and see its columns"));
        }
        return Ok(Schema::of(table()?.0, true, role, look));
    }
    if !whole && let Some(end) = bytes.iter().rposition(|byte| *byte == b'\n') {
        bytes.truncate(end + 1);
    }
    let name = path.display().to_string();
    let table = read::read_bytes(&name, &bytes, &Reading::Plain).or_else(|error| {
        read::read_private_bytes(&name, &bytes, &Reading::Plain).map_err(|_| error)
    })?;
    Ok(Schema::of(table, whole, role, look))
}

/// How many more runs with these events fit into the account's budget, up to [`MOST_RUNS`]; `None`
/// without a budget. `with_one` is the total with one of them, at the budget's δ.
pub fn how_many_fit(
    account: &Account,
    events: &[Event],
    with_one: Option<&Guarantee>,
) -> Option<u64> {
    let budget = account.budget?;
    let limits = account.limits();
    let fits = |runs: u64| {
        limits.iter().all(|limit| {
            let known = with_one.filter(|_| runs == 1 && limit.delta == budget.delta).cloned();
            let total = || account.spent_with_runs(events, runs, limit.delta).ok().flatten();
            known.or_else(total).is_some_and(|total| total.epsilon <= limit.epsilon)
        })
    };
    let (mut fitting, mut too_many) = (0, 1);
    while too_many < MOST_RUNS && fits(too_many) {
        (fitting, too_many) = (too_many, too_many * 2);
    }
    while too_many - fitting > 1 {
        let middle = u64::midpoint(fitting, too_many);
        if fits(middle) {
            fitting = middle;
        } else {
            too_many = middle;
        }
    }
    Some(if too_many >= MOST_RUNS && fits(MOST_RUNS) { MOST_RUNS } else { fitting })
}

/// The sums of an account, computed once so that screens only show them.
#[derive(Debug, Clone, PartialEq)]
pub struct Digest {
    /// δ at which everything here is stated: the budget's.
    pub delta: f64,
    /// The total of everything charged; `None` if it cannot be computed.
    pub total: Option<Total>,
    /// ε of the charges under each adjacency; `None` if not every entry holds for it.
    pub totals: [(Adjacency, Option<f64>); 2],
    /// ε of the largest further run at this δ; `None` if none is granted.
    pub largest: Option<f64>,
    /// The reason why none is granted.
    pub closed: Option<String>,
    /// ε of the first so many runs together, in their order; empty if there is no total.
    pub after: Vec<(usize, f64)>,
    /// One for each run of the account.
    pub entries: Vec<EntryDigest>,
}

/// The ε that a run was granted. Public data alone draw nothing, whatever their plan asked for.
pub fn granted(run: &RunRecord) -> f64 {
    let draws_none = run.claim.is_none() && run.grant.events.is_empty();
    if draws_none { 0.0 } else { run.grant.target.epsilon }
}

/// The state of a run that the ledger granted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunLife {
    /// A program executes it now.
    Running,
    /// The program of the run is gone; its draws are in its directory.
    Died,
    /// All its draws were announced for a sweep whose results are not collected yet.
    Reserved,
    Over,
}

impl RunLife {
    /// The life of a run in the ledger of this workspace.
    pub fn of(run: &RunRecord, ledger: &Ledger, workspace: &Workspace) -> Self {
        let planned = run.grant.events.iter().map(|event| event.count);
        let announced = planned.eq(run.reserved.iter().copied());
        match run.state {
            RunState::Settled { .. } | RunState::Recovered | RunState::Claimed => Self::Over,
            RunState::Open if ledger.is_alive(&run.grant.run) => Self::Running,
            // The runs of a sweep are in its own directory.
            RunState::Open if announced && !workspace.run_directory(&run.grant.run).is_dir() => {
                Self::Reserved
            }
            RunState::Open => Self::Died,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EntryDigest {
    pub life: RunLife,
    /// ε of this run's charges, at its own δ; `None` if it is unknown, or if its noise is not
    /// secret.
    pub spent: Option<f64>,
    pub charged: u64,
    pub planned: u64,
}

impl Digest {
    pub fn of(account: &Account, life: &dyn Fn(&RunRecord) -> RunLife) -> Self {
        let delta = account.delta();
        let entry = |run: &RunRecord| EntryDigest {
            life: life(run),
            spent: match run.grant.noise {
                NoiseSource::Secret => epsilon_of(run.spent(run.grant.target.delta)),
                NoiseSource::Seeded(_) => None,
            },
            charged: run.charged.iter().sum(),
            planned: run.grant.events.iter().map(|event| event.count).sum(),
        };
        let closed = account.closed();
        let total = account.total(delta).ok();
        let is_told = total.as_ref().is_some_and(|it| it.standing != TotalStanding::Nothing);
        Self {
            delta,
            total,
            totals: totals(account, delta),
            largest: account.largest_epsilon(delta).ok().flatten().filter(|_| closed.is_none()),
            closed: closed.map(|error| error.what().to_owned()),
            after: if is_told { after(account, delta) } else { Vec::new() },
            entries: account.runs.iter().map(entry).collect(),
        }
    }

    /// ε to draw beside a budget; NaN if there is no total.
    pub fn gauge(&self) -> f64 {
        let total = self.total.as_ref().filter(|total| total.standing != TotalStanding::Nothing);
        total.map_or(f64::NAN, Total::epsilon)
    }
}

/// A picture of the spending has at most so many stairs: each is computed by itself.
const MOST_STAIRS: usize = 24;

/// ε of the first so many runs together; of long ledgers, for a part of them and all.
fn after(account: &Account, delta: f64) -> Vec<(usize, f64)> {
    let all = account.runs.len();
    let each = all.div_ceil(MOST_STAIRS).max(1);
    let of_first = |runs: usize| Some((runs, epsilon_of(account.spent_by_first(runs, delta))?));
    let places = (1..=all).filter(|runs| runs % each == 0 || *runs == all);
    places.map(of_first).collect::<Option<_>>().unwrap_or_default()
}

/// ε of all entries together under each adjacency. Replace-one needs every entry to hold for it.
/// Entries for replace-one hold for zero-out with the same numbers.
fn totals(account: &Account, delta: f64) -> [(Adjacency, Option<f64>); 2] {
    let spent = epsilon_of(account.spent(delta));
    let events = account.charged_events();
    let all_replace = events.iter().all(|event| event.adjacency == Adjacency::ReplaceOne);
    [(Adjacency::ReplaceOne, if all_replace { spent } else { None }), (Adjacency::ZeroOut, spent)]
}

/// ε of a sum: 0 of nothing, `None` if it is unknown.
fn epsilon_of<E>(spent: std::result::Result<Option<Guarantee>, E>) -> Option<f64> {
    Some(spent.ok()?.map_or(0.0, |guarantee| guarantee.epsilon))
}

/// Things that a sum of guarantees does not cover; each run's own certificate says more.
const NOT_COVERED: [&str; 4] = [
    "data of the same people that the ledger does not know: copies elsewhere, other workspaces",
    "decisions taken on exact numbers that the curator saw (see 'peeked' of each run)",
    "timing and memory of the machine, and access to it",
    "which data have records in common: `entries` lists the runs on these records and on all data \
     that share rows with them, and whoever knows the data of these runs learns that they do",
];

/// The joint guarantee of everything on an account, for others. It names neither the account nor
/// lines of the ledger: both would be the same in other files about this account.
pub fn certificate(account: &Account) -> Result<String> {
    let delta = account.delta();
    let total = account.total(delta)?;
    let totals = totals(account, delta).map(|(adjacency, epsilon)| {
        let epsilon = epsilon.map(|epsilon| round_up(epsilon, 4));
        let under = |standing| epsilon.clone().filter(|_| total.standing == standing);
        json!({
            "holds_for": adjacency.words(), "delta": delta,
            "epsilon_at_most": under(TotalStanding::AtMost),
            "epsilon_at_least": under(TotalStanding::AtLeast),
            "epsilon_if_claims_are_true": under(TotalStanding::Claimed),
        })
    });
    let entries = account.runs.iter().map(|run| {
        let corrections = run
            .corrections
            .iter()
            .map(|change| json!({"time": change.time, "why": change.why, "before": change.before}));
        json!({
            "run": run.grant.run, "time": run.time, "method": run.grant.method_words(),
            "granted": run.grant.target, "charged": run.charged_events(),
            "noise": run.grant.noise, "one_noise": run.grant.one_noise, "allow_large_delta": run.grant.allow_large_delta,
            "person": run.grant.unit, "order": run.grant.order,
            "recovered": run.state == RunState::Recovered,
            "claimed": run.is_claimed(),
            "claimed_epsilon": run.claim.as_ref().map(|claim| claim.says),
            "changed_by_hand": corrections.collect::<Vec<_>>(),
        })
    });
    let certificate = json!({
        "halflight": env!("CARGO_PKG_VERSION"),
        "account": AccountId::alias()?,
        "budget": account.budget,
        "protects": account.whom(),
        "total": format!("everything together, at δ = {delta:e}: {}", total.words()),
        "totals": totals,
        "past_is_known": !account.gaps().iter().any(Gap::hides_spending),
        "gaps": account.gaps().iter().map(Gap::words).collect::<Vec<_>>(),
        "entries": entries.collect::<Vec<_>>(),
        "not_covered": not_covered(account, &total),
        "outside_every_guarantee": account.unprotected.iter().map(|entry| {
            json!({"time": entry.time, "what": entry.what, "epsilon": "unstated"})
        }).collect::<Vec<_>>(),
    });
    serde_json::to_string_pretty(&certificate)
        .map(|text| text + "\n")
        .map_err(|error| Error::failed(format!("the certificate cannot be written: {error}")))
}

/// Things that the totals of an account do not promise.
fn not_covered(account: &Account, total: &Total) -> Vec<String> {
    let mut list: Vec<String> = NOT_COVERED.map(str::to_owned).to_vec();
    let known_noise = "anything: a run's noise came from a seed that is not secret (see `gaps`), so \
                       no total holds; nothing of that run may be passed on";
    let has_known_noise = account.gaps().iter().any(|gap| !gap.hides_spending());
    list.extend(has_known_noise.then(|| known_noise.to_owned()));
    let lost = account.gaps().iter().filter(|gap| gap.hides_spending());
    list.extend(lost.map(Gap::missing));
    let claims = "whatever other trainers drew beyond what they say (`claimed` entries): nobody \
                  here has seen their draws, nor how exact their noise is";
    list.extend(total.claims.as_ref().map(|_| claims.to_owned()));
    let shares = "what those learn who know more shares of a noise that several sites have together, or \
                  who can compute the masks without their keys (X25519, HKDF with SHA-256, ChaCha20): \
                  `joint.json` of the runs with `one_noise` says what is left then";
    list.extend((!total.conditions.is_empty()).then(|| shares.to_owned()));
    list.extend(account.large_delta());
    list.extend(total.remark.clone());
    list.extend(account.of_several_units().map(str::to_owned));
    list.extend(account.by_place());
    list.extend(total.elsewhere.clone());
    list
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::privacy::Target;
    use crate::privacy::accountant::{Noise, QueryKind};
    use crate::privacy::ledger::{
        Book, Budget, ChargedElsewhere, DatasetRecord, Grant, RowOrder, RunId, SharedNoise,
    };
    use crate::privacy::openings::OpenWatch;

    fn account(epsilon: f64) -> Account {
        let dataset = DatasetRecord {
            name: "ages".to_owned(),
            origin: "ages.csv".to_owned(),
            content: "a".to_owned(),
            view: "b".to_owned(),
            rows: 100,
            ..DatasetRecord::default()
        };
        let mut account = Account::unopened(&dataset, &Book::default());
        account.budget = Some(Budget::new(epsilon, 1e-6));
        account
    }

    /// Noise as it is drawn: a whole number of steps of a fine grid.
    fn event(sigma: f64) -> Event {
        let grid = (sigma.log2().floor() - 28.0).exp2();
        let noise = Noise { scale: (sigma / grid).ceil() * grid, grid };
        Event {
            label: "mean".to_owned(),
            what: String::new(),
            mechanism: QueryKind::Gaussian.query(1.0, 1).with(noise),
            count: 1,
            adjacency: Adjacency::ReplaceOne,
            held_out: false,
        }
    }

    #[test]
    fn as_many_runs_fit_as_the_budget_bears_and_one_more_does_not() {
        let (mut account, events) = (account(2.0), [event(20.0)]);
        let fit = |account: &Account, events: &[Event]| {
            let one = account.spent_with(events, 1e-6).unwrap();
            how_many_fit(account, events, one.as_ref())
        };
        let fitting = fit(&account, &events).unwrap();
        assert!(fitting > 1 && fitting < MOST_RUNS, "{fitting}");
        let total =
            |runs: u64| account.spent_with_runs(&events, runs, 1e-6).unwrap().unwrap().epsilon;
        assert!(total(fitting) <= 2.0 && total(fitting + 1) > 2.0);
        assert_eq!(fit(&account, &[event(1e-3)]), Some(0));
        assert_eq!(fit(&account, &[event(1e6)]), Some(MOST_RUNS));
        account.budget = None;
        assert_eq!(fit(&account, &events), None);
    }

    #[test]
    fn the_stairs_of_the_spending_rise_to_the_total() {
        let directory = tempfile::tempdir().unwrap();
        let mut account = spent_from(directory.path(), NoiseSource::Secret);
        let first = account.runs[0].clone();
        for (runs, stairs) in [(1, 1), (5, 5), (60, 20)] {
            account.runs = vec![first.clone(); runs];
            let digest = Digest::of(&account, &|_| RunLife::Over);
            assert_eq!(digest.after.len(), stairs);
            assert!(digest.after.windows(2).all(|it| it[0].0 < it[1].0 && it[0].1 < it[1].1));
            assert_eq!(digest.after.last(), Some(&(runs, digest.gauge())));
        }
    }

    #[test]
    fn a_certificate_of_an_account_names_no_fingerprint_and_no_file() {
        let mut account = account(2.0);
        let folder = "/home/somebody/study/.halflight".into();
        let (is_there, at_least, epsilon, delta) = (true, false, 1.25, 1e-6);
        let conditions = [SharedNoise { sites: 5, may_collude: 1 }].into();
        let whom = Some("a single record".to_owned());
        let other =
            ChargedElsewhere { folder, is_there, epsilon, at_least, delta, conditions, whom };
        account.elsewhere.push(other);
        let text = certificate(&account).unwrap();
        assert!(text.contains("\"totals\"") && !text.contains("ages"), "{text}");
        assert!(text.contains("another ledger of the same user") && text.contains("ε 1.25"));
        assert!(text.contains(", while at least 4 of 5 sites add their shares"), "{text}");
        assert!(!text.contains("somebody"), "{text}");
    }

    #[test]
    fn a_total_of_runs_with_one_noise_says_its_condition_and_so_must_its_certificate() {
        let directory = tempfile::tempdir().unwrap();
        let mut account = spent_from(directory.path(), NoiseSource::Secret);
        assert!(!certificate(&account).unwrap().contains("shares"));
        account.runs[0].grant.one_noise = Some(SharedNoise { sites: 10, may_collude: 3 });
        let text = certificate(&account).unwrap();
        let condition =
            ", while at least 7 of 10 sites add their shares of the noise and tell nobody";
        assert!(text.contains(condition) && text.contains("X25519"), "{text}");
        let file = directory.path().join("certificate.json");
        for (said, faults) in [(text.clone(), 0), (text.replace(condition, ""), 1)] {
            std::fs::write(&file, said).unwrap();
            let report = halflight_verify::verify(&file).unwrap();
            assert_eq!(report.faults.len(), faults, "{}", report.text());
        }
    }

    /// What a certificate of an account leaves out is found, and so is a number that is none.
    #[test]
    fn a_certificate_of_an_account_says_whom_it_protects_and_what_its_runs_assume() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("certificate.json");
        let faults = |text: &str| {
            std::fs::write(&file, text).unwrap();
            let report = halflight_verify::verify(&file).unwrap();
            (report.faults.len(), report.text())
        };
        let mut account = spent_from(directory.path(), NoiseSource::Secret);
        let plain = certificate(&account).unwrap();
        assert_eq!(faults(&plain).0, 0, "{plain}");
        let total = format!("ε {}", account.total(1e-6).unwrap().words().trim_start_matches("ε "));
        assert_eq!(faults(&plain.replace(&total, "ε 0.01")).0, 1, "{plain}");
        account.runs[0].grant.unit = Some("patient".to_owned());
        let persons = certificate(&account).unwrap();
        let whom = "persons (by 'patient')";
        assert!(persons.contains(whom) && faults(&persons).0 == 0, "{persons}");
        let found = faults(&persons.replace(whom, "a single record"));
        assert_eq!(found.0, 1, "{}", found.1);
        let mut other = account.runs[0].clone();
        other.grant.unit = None;
        other.grant.order = RowOrder::ByPlace;
        account.runs.push(other);
        let both = certificate(&account).unwrap();
        assert!(both.contains("a single record") && faults(&both).0 == 0, "{both}");
        for said in ["holds for single records only", "the order of the rows"] {
            let found = faults(&both.replace(said, "…"));
            assert_eq!(found.0, 1, "{said}: {}", found.1);
        }
        let number = format!("\"{}\"", round_up(account.total(1e-6).unwrap().epsilon(), 4));
        std::fs::write(&file, both.replace(&number, "\"NaN\"")).unwrap();
        assert!(halflight_verify::verify(&file).is_err());
    }

    /// A ledger with one granted run of this noise.
    fn spent_from(directory: &Path, noise: NoiseSource) -> Account {
        let mut ledger = Ledger::open(directory).unwrap();
        let id = ledger.register(&account(2.0).datasets[0]).unwrap();
        ledger.set_budget(&id, Budget::new(2.0, 1e-6)).unwrap();
        let grant = Grant {
            run: RunId("r".to_owned()),
            account: id.clone(),
            method: "m".to_owned(),
            target: Target { epsilon: 1.0, delta: 1e-6 },
            events: vec![event(20.0)],
            allow_large_delta: false,
            noise,
            unit: None,
            order: RowOrder::Secret,
            one_noise: None,
        };
        ledger.grant(grant).unwrap();
        ledger.book().unwrap().account(&id).unwrap().clone()
    }

    #[test]
    fn the_second_opinion_bears_out_the_certificate_of_an_account_and_no_edited_one() {
        let directory = tempfile::tempdir().unwrap();
        let account = spent_from(directory.path(), NoiseSource::Secret);
        let text = certificate(&account).unwrap();
        assert!(!text.contains(&account.id.0) && !text.contains("\"seq\""), "{text}");
        let file = directory.path().join("certificate.json");
        let check = |text: &str| {
            std::fs::write(&file, text).unwrap();
            halflight_verify::verify(&file).unwrap()
        };
        let report = check(&text);
        assert!(report.holds() && report.claims.len() == 2, "{}", report.text());
        let says = report.claims[0].says;
        let smaller = text.replace(&round_up(says, 4), &round_up(says / 2.0, 4));
        assert!(check(&smaller).text().contains("DOES NOT HOLD"));
        for (from, to, fault) in [
            ("\"noise\": \"secret\"", "\"noise\": {\"known_seed\": 7}", "no secret"),
            ("\"past_is_known\": true", "\"past_is_known\": false", "not all that was spent"),
            ("replace_one", "zero_out", "not every entry is for it"),
        ] {
            let report = check(&text.replace(from, to));
            assert!(report.faults.iter().any(|it| it.contains(fault)), "{}", report.text());
        }
    }

    #[test]
    fn a_run_with_a_known_seed_leaves_an_account_without_totals() {
        let directory = tempfile::tempdir().unwrap();
        let account = spent_from(directory.path(), NoiseSource::Secret);
        assert!(!certificate(&account).unwrap().contains("\"epsilon_at_most\": null"));
        assert!(
            Digest::of(&account, &|_| RunLife::Over).gauge() > 0.0
                && Digest::of(&account, &|_| RunLife::Over).largest.is_some()
        );

        let directory = tempfile::tempdir().unwrap();
        let mut account = spent_from(directory.path(), NoiseSource::Seeded(7));
        let digest = Digest::of(&account, &|_| RunLife::Over);
        assert!(digest.gauge().is_nan() && digest.largest.is_none() && digest.after.is_empty());
        assert_eq!(digest.entries[0].spent, None);
        for accepted in [false, true] {
            let text = certificate(&account).unwrap();
            assert!(text.contains("\"epsilon_at_most\": null"), "{text}");
            assert!(text.contains("no total: run r used noise from a known seed"), "{text}");
            assert!(!accepted || text.contains("(seed 7); in line 3 since"), "{text}");
            let mut ledger = Ledger::open(directory.path()).unwrap();
            let _ = ledger.accept(&account.id, "only a test");
            account = ledger.book().unwrap().account(&account.id).unwrap().clone();
        }
        assert!(
            Digest::of(&account, &|_| RunLife::Over).closed.is_none(),
            "accepted: further runs are granted"
        );
    }

    #[test]
    fn a_glance_shows_cells_of_public_files_and_others_only_to_an_open_look() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("small.csv");
        std::fs::write(&path, "age,word\n61,secret\n47,two,too many\n").unwrap();
        let cells =
            |role, look| glance(&path, role, look, &Overflow::to(directory.path())).unwrap().cells;
        let (open, sealed) = (Watch::open(), Watch::sealed());
        assert!(
            matches!(cells(Some(Role::Public), None), FirstCells::Public(rows) if rows.rows.len() == 2)
        );
        for role in [None, Some(Role::Private)] {
            assert!(matches!(cells(role, None), FirstCells::Hidden));
            assert!(matches!(cells(role, Some(&sealed)), FirstCells::Hidden));
            let FirstCells::Exact(rows) = cells(role, Some(&open)) else { panic!("{role:?}") };
            assert_eq!(rows.reveal(&open).unwrap().rows[0], ["61", "secret"]);
            assert!(rows.reveal(&sealed).is_none());
        }
        assert!(open.has_peeked() && !sealed.has_peeked());
    }

    #[test]
    fn a_glance_at_a_packed_file_sees_the_beginning_of_what_is_packed() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("long.csv.gz");
        let rows: Vec<String> =
            (0..60_000).map(|row| format!("{},w{row}", row * 7919 % 60_000)).collect();
        let file = std::fs::File::create(&path).unwrap();
        let mut packed = flate2::write::GzEncoder::new(file, flate2::Compression::fast());
        std::io::Write::write_all(&mut packed, format!("n,w\n{}\n", rows.join("\n")).as_bytes())
            .unwrap();
        packed.finish().unwrap();
        assert!(std::fs::metadata(&path).unwrap().len() > FIRST_BYTES_READ);
        let schema = glance(&path, None, None, &Overflow::to(directory.path())).unwrap();
        assert!(!schema.whole && schema.rows > 1000 && schema.columns.len() == 2);
    }

    #[test]
    fn a_glance_reads_whole_lines_of_the_beginning() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("long.csv");
        let rows: Vec<String> = (0..20_000).map(|row| format!("{row},word{row}")).collect();
        std::fs::write(&path, format!("number,word\n{}\n", rows.join("\n"))).unwrap();
        let schema = glance(&path, None, None, &Overflow::to(directory.path())).unwrap();
        assert!(!schema.whole && schema.rows > 1000);
        assert!(schema.columns[0].numeric && !schema.columns[1].numeric);
        std::fs::create_dir(directory.path().join("zoo")).unwrap();
        let listing = list(directory.path(), Path::new("."), Wanted::Data).unwrap();
        assert_eq!(listing.entries[0].name, "zoo");
        assert_eq!(listing.entries[1].name, "long.csv");
    }

    #[test]
    fn before_its_base_is_made_a_workspace_is_looked_at_from_where_the_program_runs() {
        let directory = tempfile::tempdir().unwrap();
        let listing = list(&directory.path().join("later"), Path::new("."), Wanted::Data).unwrap();
        assert_eq!(listing.directory, std::env::current_dir().unwrap().canonicalize().unwrap());
        assert!(list(directory.path(), Path::new("nowhere"), Wanted::Data).is_err());
    }
}
