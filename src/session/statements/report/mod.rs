//! A report on one run or several: one self-contained HTML file.
//!
//! | module | holds |
//! |---|---|
//! | [`figures`] | the plots |
//! | [`rankings`] | the results of rankings of the public data |
//! | [`rehearsal`] | the results that rehearsals predicted |
//! | [`page`] | the page, section by section |
//! | `style.css` | its look on a light screen, on a dark one, and on paper |
//!
//! A report is made to be passed on. Everything in it is public or released, unless the curator's
//! numbers were explicitly requested: then a stamp says so. Texts that people wrote or that may
//! quote a cell of a private file (remarks on runs, error messages, paths of files) count as the
//! curator's, too.

mod figures;
mod page;
mod rankings;
mod rehearsal;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::certificate::Certificate;
use super::public_alone::join_scores;
use super::sum;
use crate::error::{Error, Result};
use crate::evaluation::Scored;
use crate::files;
use crate::privacy::Watch;
use crate::privacy::accountant::Guarantee;
use crate::privacy::ledger::{Book, RunId, Total};
use crate::rehearsal::advice::Advice;
use crate::store::ranking_record::ArchivedRanking;
use crate::store::run_directory::SESSION;
use crate::store::workspace::FOLDER;
use crate::store::{ArchivedRun, PlanDefinition, Session, Workspace, archive};

/// Name of the report that every run leaves in its directory.
pub const FILE: &str = "report.html";

/// The runs, in the order of the report.
#[derive(Debug)]
pub struct Report {
    pub runs: Vec<Reported>,
    /// Rankings of public data for the private data of these runs.
    pub rankings: Vec<ArchivedRanking>,
    /// The total of the account that each run is charged to, if the ledger of its workspace is there.
    totals: BTreeMap<RunId, Total>,
    /// Under an open watch the curator's numbers are shown, and the report is stamped.
    pub watch: Watch,
    /// When it was made, UTC.
    pub made: String,
}

pub use self::rehearsal::keep as keep_rehearsal;

/// One run and everything in its directory about it.
#[derive(Debug)]
pub struct Reported {
    /// A, B, … : its name in plots and tables; empty if there is only one run.
    pub letter: String,
    pub run: ArchivedRun,
    pub certificate: Option<Certificate>,
    pub session: Option<Session>,
    /// The advice from rehearsals before it began.
    pub rehearsal: Option<Advice>,
}

fn totals(runs: &[Reported]) -> BTreeMap<RunId, Total> {
    let mut books: BTreeMap<PathBuf, Option<Book>> = BTreeMap::new();
    let total = |reported: &Reported| {
        let folder = rankings::workspace_of(&reported.run.directory)?;
        let base = folder.parent()?.to_path_buf();
        let read = || Workspace::with_folder(&base, &folder).book().ok();
        let book = books.entry(folder.clone()).or_insert_with(read).as_ref()?;
        Some((reported.run.id.clone(), sum::of_account(book, &reported.run.id)?))
    };
    runs.iter().filter_map(total).collect()
}

/// The joint cost of several runs for somebody with a record in the private data of all of them.
#[derive(Debug, Clone, PartialEq)]
pub struct Together {
    /// Letters of the runs.
    pub runs: Vec<String>,
    /// Whether scores are in it that were paid for later.
    pub has_later_scores: bool,
    pub guarantee: Guarantee,
}

impl Reported {
    fn plan(&self) -> Option<&PlanDefinition> {
        self.run.plan.as_ref()
    }

    /// What is known from scores about its model.
    fn score(&self) -> Option<&Scored> {
        self.run.told()
    }

    /// Whether its model is that of public data alone.
    fn public_only(&self) -> bool {
        self.plan().is_some_and(|plan| !plan.player().spends())
    }

    /// Whether its certificate says that nothing is guaranteed.
    pub fn is_void(&self) -> bool {
        self.certificate.as_ref().is_some_and(|certificate| certificate.guarantee.is_none())
    }
}

impl Report {
    /// Reads the runs in these directories.
    pub fn read(directories: &[PathBuf], watch: Watch) -> Result<Self> {
        if directories.is_empty() {
            return Err(Error::usage("there is no run to report on yet")
                .cure("name run directories, or a workspace that has runs"));
        }
        // In the order of time, so that a run has one letter wherever the report was asked for.
        let mut directories: Vec<&PathBuf> = directories.iter().collect();
        directories.sort_by_key(|it| it.file_name().map(ToOwned::to_owned));
        let mut read: Vec<ArchivedRun> =
            directories.iter().map(|it| archive::read_run(it)).collect();
        join_scores(&mut read);
        let runs = directories.iter().zip(read).enumerate().map(|(index, (directory, run))| {
            let letter = if directories.len() == 1 { String::new() } else { letter(index) };
            Ok(Reported {
                letter,
                run,
                certificate: Certificate::read(directory)?,
                session: Session::open(&directory.join(SESSION)).ok(),
                rehearsal: rehearsal::read(directory),
            })
        });
        let mut runs: Vec<Reported> = runs.collect::<Result<_>>()?;
        let rankings = rankings::of(&runs);
        // Others learn of no ranking but of those that the report shows.
        let was_ranked = rankings.iter().any(ArchivedRanking::is_exact);
        for reported in runs.iter_mut().filter(|_| watch.is_sealed()) {
            reported.run.was_ranked = was_ranked;
        }
        for certificate in runs.iter_mut().filter_map(|reported| reported.certificate.as_mut()) {
            if watch.is_sealed() {
                *certificate = certificate.for_others()?;
            }
        }
        let totals = totals(&runs);
        let made = crate::clock::now().strftime("%Y-%m-%d %H:%M UTC").to_string();
        Ok(Self { runs, rankings, totals, watch, made })
    }

    /// The page about one run, to lie beside this copy of its certificate.
    pub fn beside(directory: &Path, copy: &Certificate) -> Result<String> {
        let mut report = Self::read(&[directory.to_path_buf()], Watch::sealed())?;
        report.runs[0].certificate = Some(copy.clone());
        report.html()
    }

    /// The page.
    pub fn html(&self) -> Result<String> {
        Ok(page::html(self, &figures::figures(self), &self.together()?))
    }

    fn has_several(&self) -> bool {
        self.runs.len() > 1
    }

    /// The runs that have ended, with their certificates.
    fn certified(&self) -> impl Iterator<Item = (&Reported, &Certificate)> {
        self.runs.iter().filter_map(|it| Some((it, it.certificate.as_ref()?)))
    }

    /// Whether the report shows numbers that are only for the curator.
    pub fn is_curators(&self) -> bool {
        !self.watch.is_sealed()
    }

    /// Whether the noise of one of the runs is known, so that nothing protects its records.
    pub fn is_void(&self) -> bool {
        self.runs.iter().any(Reported::is_void)
    }

    /// The sums of several runs, for those that protect the same unit.
    ///
    /// All runs count, whatever their accounts: runs on one account have data with common rows, and
    /// a report must not tell which runs these are.
    pub fn together(&self) -> Result<Vec<Together>> {
        let mut units: BTreeMap<Option<&str>, Vec<(&Reported, &Certificate)>> = BTreeMap::new();
        for certified in self.certified() {
            units.entry(certified.1.person.as_deref()).or_default().push(certified);
        }
        let sums = units.into_iter().filter_map(|(unit, runs)| {
            let archived: Vec<&ArchivedRun> = runs.iter().map(|(it, _)| &it.run).collect();
            let has_later_scores = archived.iter().any(|run| !run.later_scores.is_empty());
            if runs.len() == 1 && !has_later_scores {
                return None;
            }
            let runs = runs.iter().map(|(reported, _)| reported.letter.clone()).collect();
            let sum = sum::of(&archived, unit)?;
            Some(sum.map(|guarantee| Together { runs, has_later_scores, guarantee }))
        });
        sums.collect()
    }
}

/// Everything once, with the letters of the runs that it is about.
fn once<'a, T: PartialEq>(
    all: impl IntoIterator<Item = (T, &'a Reported)>,
) -> Vec<(T, Vec<&'a str>)> {
    let mut found: Vec<(T, Vec<&str>)> = Vec::new();
    for (it, reported) in all {
        match found.iter_mut().find(|(known, _)| *known == it) {
            Some((_, letters)) => letters.push(&reported.letter),
            None => found.push((it, vec![&reported.letter])),
        }
    }
    found
}

/// A, B, … Z, AA, AB, …
fn letter(index: usize) -> String {
    let last = char::from(b'A' + (index % 26) as u8);
    match index / 26 {
        0 => last.to_string(),
        more => letter(more - 1) + &last.to_string(),
    }
}

/// Writes a report beside the other files of a run that has ended.
pub fn leave(directory: &Path) -> Result<()> {
    let report = Report::read(&[directory.to_path_buf()], Watch::sealed())?;
    files::write_private(&directory.join(FILE), report.html()?.as_bytes())
}

/// The run directories that a user names: a run directory, its `run.ron`, the name of a run in the
/// workspace here or of its plan, or a workspace for all of its runs, oldest first.
pub fn directories(named: &Path) -> Result<Vec<PathBuf>> {
    if named.is_file() && named.file_name().is_some_and(|name| name == SESSION) {
        return Ok(vec![named.parent().unwrap_or(Path::new(".")).to_path_buf()]);
    }
    if named.join(SESSION).is_file() {
        return Ok(vec![named.to_path_buf()]);
    }
    if named.join(FOLDER).is_dir() || named.file_name().is_some_and(|name| name == FOLDER) {
        let mut runs = archive::directories(&Workspace::of(named)?.folder().join("runs"))?;
        runs.sort();
        return Ok(runs);
    }
    let run = archive::run_named(named)?;
    if run.join(SESSION).is_file() {
        return Ok(vec![run]);
    }
    Err(Error::usage("there is no run here")
        .at(named.display().to_string())
        .cure("name a run directory, such as .halflight/runs/RUN, or a workspace"))
}

#[cfg(test)]
mod tests;
