//! The record of a ranking, for reports: one file in the workspace's `rankings`. It is `ID.json`
//! for a released ranking and `ID.curator.json` for one by exact numbers: the name shows that it
//! must not be passed on. Beside the table for reports it holds the whole result, so that an
//! interface can show it again.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::archive::time_of;
use super::file::RankingDefinition;
use super::json;
use super::workspace::Workspace;
use crate::error::{Doing as _, Result};
use crate::files;
use crate::privacy::ledger::{AccountId, RunId, SharedNoise};
use crate::privacy::openings::{OpenPrivate, OpenReleased, OpenWatch};
use crate::privacy::{CuratorOnly, Guarantee, Private, Released, Watch};
use crate::rank::candidate_line::{CandidatePlace, Mean, MeanScores};
use crate::rank::comparison::Comparison;
use crate::rank::{CandidateOrder, Disclosed, ReleasedError, ReleasedLine};

const FOLDER: &str = "rankings";
const EXACT: &str = ".curator.json";
const RELEASED: &str = ".json";
const JOINT: &str = ".joint.json";
const OF_A_DIRECTION: &str = "The scores are those of one private direction: the energy is the \
    share of it that a dataset's span holds, the distance the sine of their angle.";

const OF_ERRORS: &str = "The error is that of a model of the dataset alone on the private records: \
    the share of wrong answers, or how far off it is, in units of the label.";

/// One public dataset's scores; `None` for a broken one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RecordedLine {
    pub name: String,
    pub energy: Option<Mean>,
    pub distance: Option<Mean>,
    /// The error of the dataset's own model on the private records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Mean>,
    /// The verdict on it, in words.
    pub verdict: String,
}

/// Scores of reference data, the best and the worst possible: energy and distance.
pub type ReferenceScores = (Mean, Mean);

/// The table of a ranking.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RecordedTable {
    pub order: CandidateOrder,
    /// The lines, the best first.
    pub lines: Vec<RecordedLine>,
    /// Other private records.
    pub floor: Option<ReferenceScores>,
    /// Noise.
    pub ceiling: Option<ReferenceScores>,
    pub verdict: String,
    /// Whether errors are in units of the label, and not shares.
    #[serde(default)]
    pub in_label_units: bool,
    /// The number of repeats behind the energies and distances; 0 for released ones, and in files of
    /// earlier builds.
    #[serde(default)]
    pub repeats: usize,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReleasedRanking {
    pub guarantee: Guarantee,
    /// The name of the winner, the only result of a private selection.
    pub winner: Option<String>,
    pub table: Option<RecordedTable>,
}

/// What every file of a ranking begins with.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Header {
    pub account: AccountId,
    /// The name of the private dataset.
    pub private: String,
    /// The session's settings; files of earlier versions have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settings: Option<RankingDefinition>,
    /// The other sites of a joint ranking.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sites: Vec<String>,
    /// How many of the sites may put together what they know, if all have one noise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub may_collude: Option<usize>,
}

impl Header {
    /// On which condition its guarantee holds; empty if there is none.
    pub fn condition(&self) -> String {
        SharedNoise::conditions(SharedNoise::with(&self.sites, self.may_collude))
    }
}

/// A ranking, read from its file.
#[derive(Debug, Clone)]
pub struct ArchivedRanking {
    pub id: RunId,
    /// UTC.
    pub time: String,
    pub header: Header,
    pub findings: ArchivedFindings,
    /// The whole result; files of earlier versions have none.
    pub whole: Option<WholeRanking>,
}

/// A result as an interface shows it.
#[derive(Debug, Clone)]
pub enum WholeRanking {
    Exact(Box<CuratorOnly<Comparison>>),
    Released(Disclosed, Guarantee),
}

impl ArchivedRanking {
    /// Whether exact numbers of the private data decided.
    pub fn is_exact(&self) -> bool {
        matches!(self.findings, ArchivedFindings::Exact(_))
    }

    /// The names of the datasets that it names. `None` if it may not be seen.
    pub fn names(&self, watch: &Watch) -> Option<Vec<&str>> {
        let table = match &self.findings {
            ArchivedFindings::Exact(table) => Some(table.reveal(watch)?),
            ArchivedFindings::Released(released) => released.table.as_ref(),
        };
        let lines = table.into_iter().flat_map(|table| &table.lines);
        let winner = match &self.findings {
            ArchivedFindings::Released(released) => released.winner.as_deref(),
            ArchivedFindings::Exact(_) => None,
        };
        Some(lines.map(|line| line.name.as_str()).chain(winner).collect())
    }
}

#[derive(Debug, Clone)]
pub enum ArchivedFindings {
    Exact(CuratorOnly<RecordedTable>),
    Released(ReleasedRanking),
}

#[derive(Serialize, Deserialize)]
struct File<T, W> {
    #[serde(flatten)]
    header: Header,
    findings: T,
    #[serde(default = "Option::default", skip_serializing_if = "Option::is_none")]
    whole: Option<W>,
}

/// What was released, in a file.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum DisclosedInFile {
    Winner(String),
    Table(Vec<ReleasedLine>),
    Errors(Vec<ReleasedError>),
    Direction(Vec<ReleasedLine>),
}

impl DisclosedInFile {
    fn of(disclosed: &Disclosed) -> Self {
        match disclosed {
            Disclosed::Winner(name) => Self::Winner(name.get().clone()),
            Disclosed::Table(lines) => Self::Table(lines.get().clone()),
            Disclosed::Errors(lines) => Self::Errors(lines.get().clone()),
            Disclosed::Direction(lines) => Self::Direction(lines.get().clone()),
        }
    }

    /// Values in a file of released values have been released.
    fn disclosed(self) -> Disclosed {
        match self {
            Self::Winner(name) => Disclosed::Winner(Released::of_public(name)),
            Self::Table(lines) => Disclosed::Table(Released::of_public(lines)),
            Self::Errors(lines) => Disclosed::Errors(Released::of_public(lines)),
            Self::Direction(lines) => Disclosed::Direction(Released::of_public(lines)),
        }
    }
}

impl RecordedTable {
    pub fn of(comparison: &Comparison) -> Self {
        let lines = comparison.lines.iter().filter(|line| line.place != CandidatePlace::Broken);
        let lines = lines.map(|line| RecordedLine {
            name: line.name.clone(),
            energy: line.summary.as_ref().map(|summary| summary.energy),
            distance: line.summary.as_ref().map(|summary| summary.distance),
            error: line.alongside.as_ref().and_then(|it| it.error),
            verdict: line.verdict.clone(),
        });
        let reference = |summary: &MeanScores| Some((summary.energy, summary.distance));
        Self {
            order: comparison.order,
            lines: lines.collect(),
            floor: reference(&comparison.floor),
            ceiling: reference(&comparison.ceiling),
            verdict: comparison.verdict.clone(),
            in_label_units: comparison.in_label_units,
            repeats: comparison.repeats,
        }
    }

    /// A table of released numbers: it has no scores of reference data.
    fn released(
        order: CandidateOrder,
        lines: impl Iterator<Item = RecordedLine>,
        verdict: &str,
    ) -> Self {
        let (lines, verdict) = (lines.collect(), verdict.to_owned());
        let in_label_units = false;
        let (floor, ceiling, repeats) = (None, None, 0);
        Self { order, lines, floor, ceiling, verdict, in_label_units, repeats }
    }

    fn of_scores(lines: &[ReleasedLine], verdict: &str) -> Self {
        let lines = lines.iter().filter(|line| line.energy.is_some());
        let lines = lines.map(|line| RecordedLine {
            name: line.name.clone(),
            energy: line.energy,
            distance: line.distance,
            error: None,
            verdict: String::new(),
        });
        Self::released(CandidateOrder::Energy, lines, verdict)
    }

    fn of_errors(lines: &[ReleasedError]) -> Self {
        let in_label_units = lines.iter().any(|line| line.in_label_units);
        let lines = lines.iter().filter(|line| line.error.is_some());
        let lines = lines.map(|line| RecordedLine {
            name: line.name.clone(),
            energy: None,
            distance: None,
            error: line.error,
            verdict: line.words(),
        });
        let table = Self::released(CandidateOrder::Error, lines, OF_ERRORS);
        Self { in_label_units, ..table }
    }
}

impl ReleasedRanking {
    pub fn of(disclosed: &Disclosed, guarantee: &Guarantee) -> Self {
        let (winner, table) = match disclosed {
            Disclosed::Winner(winner) => (Some(winner.get().clone()), None),
            Disclosed::Errors(lines) => {
                let winner = lines.get().first().map(|line| line.name.clone());
                (winner, Some(RecordedTable::of_errors(lines.get())))
            }
            Disclosed::Table(table) => (None, Some(RecordedTable::of_scores(table.get(), ""))),
            Disclosed::Direction(table) => {
                (None, Some(RecordedTable::of_scores(table.get(), OF_A_DIRECTION)))
            }
        };
        Self { guarantee: guarantee.clone(), winner, table }
    }
}

/// Keeps a released ranking, and what an interface needs to show it again.
pub fn keep_released(
    workspace: &Workspace,
    id: &RunId,
    header: Header,
    findings: &ReleasedRanking,
    disclosed: Option<&Disclosed>,
) -> Result<()> {
    let whole = disclosed.map(DisclosedInFile::of);
    keep(workspace, &format!("{}{RELEASED}", id.0), &File { header, findings, whole })
}

/// Keeps an exact one for the curator, if the watch allows it.
pub fn keep_exact(
    workspace: &Workspace,
    id: &RunId,
    header: Header,
    comparison: &CuratorOnly<Comparison>,
    watch: &Watch,
) -> Result<()> {
    let Some(whole) = comparison.reveal(watch) else { return Ok(()) };
    let findings = RecordedTable::of(whole);
    keep(workspace, &format!("{}{EXACT}", id.0), &File { header, findings, whole: Some(whole) })
}

/// The file that says what is promised to the people at each site of a joint ranking.
pub fn joint_file(workspace: &Workspace, id: &RunId) -> Result<PathBuf> {
    Ok(folder_of(workspace)?.join(format!("{}{JOINT}", id.0)))
}

fn keep<T: Serialize>(workspace: &Workspace, name: &str, file: &T) -> Result<()> {
    json::write(&folder_of(workspace)?.join(name), file)
}

fn folder_of(workspace: &Workspace) -> Result<PathBuf> {
    let folder = workspace.folder().join(FOLDER);
    files::create_private_folder(&folder).doing("create the folder of rankings", &folder)?;
    Ok(folder)
}

/// The rankings made beside these runs, the newest first. An unreadable file, perhaps of another
/// version, is skipped.
pub fn read(folder: &Path) -> Vec<ArchivedRanking> {
    let Ok(entries) = fs::read_dir(folder.join(FOLDER)) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    paths.iter().rev().filter_map(|path| read_one(path)).collect()
}

fn read_one(path: &Path) -> Option<ArchivedRanking> {
    let name = path.file_name()?.to_str()?;
    let text = fs::read(path).ok()?;
    let (id, header, findings, whole) = if let Some(id) = name.strip_suffix(EXACT) {
        // The exact numbers go from the file into the type that protects them.
        let file: File<RecordedTable, Comparison> = serde_json::from_slice(&text).ok()?;
        let File { header, findings, whole } = file;
        let exact = Private::new(findings).curator(&Watch::open(), Clone::clone)?;
        let whole = whole.and_then(|it| Private::new(it).curator(&Watch::open(), Clone::clone));
        let whole = whole.map(|it| WholeRanking::Exact(Box::new(it)));
        (id, header, ArchivedFindings::Exact(exact), whole)
    } else {
        let file: File<ReleasedRanking, DisclosedInFile> = serde_json::from_slice(&text).ok()?;
        let File { header, findings, whole } = file;
        let guarantee = findings.guarantee.clone();
        let whole = whole.map(|it| WholeRanking::Released(it.disclosed(), guarantee));
        (name.strip_suffix(RELEASED)?, header, ArchivedFindings::Released(findings), whole)
    };
    Some(ArchivedRanking { id: RunId(id.to_owned()), time: time_of(id), header, findings, whole })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::privacy::accountant::{Adjacency, Coverage};

    #[test]
    fn a_kept_ranking_is_read_back_and_what_cannot_be_read_is_passed_over() {
        let place = tempfile::tempdir().unwrap();
        let workspace = Workspace::fresh(place.path());
        let account = AccountId("acc-1".to_owned());
        let guarantee = Guarantee {
            epsilon: 0.5,
            epsilon_lower: 0.5,
            delta: 0.0,
            adjacency: Adjacency::ReplaceOne,
            covers: Coverage::FixedPlan,
            bound: "pure".into(),
        };
        let released =
            ReleasedRanking { guarantee, winner: Some("autumn".to_owned()), table: None };
        let id = RunId("20260101-120000-ranking-00".to_owned());
        let header = |account: &AccountId| Header {
            account: account.clone(),
            private: "winter".to_owned(),
            settings: None,
            sites: Vec::new(),
            may_collude: None,
        };
        let winner = Disclosed::Winner(Released::of_public("autumn".to_owned()));
        keep_released(&workspace, &id, header(&account), &released, Some(&winner)).unwrap();
        let mean = Mean { mean: 0.25, deviation: 0.01 };
        let table = RecordedTable {
            in_label_units: false,
            repeats: 0,
            order: CandidateOrder::Energy,
            lines: vec![RecordedLine {
                name: "spring".to_owned(),
                energy: Some(mean),
                distance: None,
                error: None,
                verdict: "the best".to_owned(),
            }],
            floor: Some((mean, mean)),
            ceiling: None,
            verdict: "spring".to_owned(),
        };
        let file = File { header: header(&account), findings: &table, whole: None::<Comparison> };
        keep(&workspace, "20260101-130000-ranking-00.curator.json", &file).unwrap();
        fs::write(workspace.folder().join(FOLDER).join("20260101-14.json"), "{}").unwrap();

        let found = read(workspace.folder());
        assert_eq!(found.len(), 2);
        assert_eq!(found[0].time, "2026-01-01 13:00:00");
        let ArchivedFindings::Exact(exact) = &found[0].findings else { panic!() };
        assert_eq!(exact.reveal(&Watch::sealed()), None);
        assert_eq!(exact.reveal(&Watch::open()), Some(&table));
        let ArchivedFindings::Released(read) = &found[1].findings else { panic!() };
        assert_eq!((read, &found[1].header.account), (&released, &account));
        let Some(WholeRanking::Released(Disclosed::Winner(name), _)) = &found[1].whole else {
            panic!()
        };
        assert_eq!(name.get(), "autumn");
        assert!(super::read(Path::new("/nowhere")).is_empty());
    }
}
