//! The results of rehearsals, kept in the workspace. All of them are public.
//!
//! Every process writes a file of its own, one line per trial, and reads the files of all. So any
//! number of processes can work on the same rehearsal, on any number of machines. If the last line
//! was cut short, its trial is repeated.

use std::collections::HashMap;
use std::fs::File;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::Workspace;
use crate::error::{Doing as _, Error, Result};
use crate::files::{self, step};
use crate::rehearsal::Played;

const FOLDER: &str = "rehearsals";
const ENDING: &str = "jsonl";
const SUMMARY: &str = "advice.json";

/// The key of a trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TrialKey {
    pub scene: String,
    pub player: String,
    pub repetition: u64,
    /// `None` if nothing is spent.
    pub epsilon: Option<f64>,
}

#[derive(Debug, Serialize, Deserialize)]
struct NotebookLine {
    #[serde(flatten)]
    key: TrialKey,
    #[serde(flatten)]
    played: Played,
}

/// The known results of one rehearsal.
#[derive(Debug)]
pub struct Notebook {
    folder: PathBuf,
    /// Created with the first line.
    file: Option<File>,
    known: HashMap<String, Played>,
    is_written: bool,
}

impl Notebook {
    /// `name` distinguishes rehearsals: it stands for everything that a loss depends on.
    pub fn open(workspace: &Workspace, name: &str) -> Result<Self> {
        let folder = workspace.folder().join(FOLDER).join(name);
        let mut known = HashMap::new();
        let files = std::fs::read_dir(&folder).into_iter().flatten().flatten();
        for path in files.map(|file| file.path()) {
            if path.extension().is_none_or(|ending| ending != ENDING) {
                continue;
            }
            let text = std::fs::read_to_string(&path).doing("read the rehearsal", &path)?;
            let lines = text.lines().filter_map(|line| serde_json::from_str(line).ok());
            known.extend(lines.map(|line: NotebookLine| (line.key.words(), line.played)));
        }
        Ok(Self { folder, file: None, known, is_written: true })
    }

    /// For a rehearsal that exact numbers steer. Which trials it plays depends on them, and whatever is
    /// written here may stand in a certificate later.
    pub fn unwritten(self) -> Self {
        Self { is_written: false, ..self }
    }

    /// Keeps a summary, for readers without time for everything: of all methods, or `of` one.
    pub fn sum_up(&self, of: Option<&str>, summary: &str) -> Result<()> {
        files::create_private_folder(&self.folder).doing("write the rehearsal", &self.folder)?;
        files::write_private(&self.folder.join(summary_file(of)), summary.as_bytes())
    }

    pub fn find(&self, key: &TrialKey) -> Option<Played> {
        self.known.get(&key.words()).copied()
    }

    pub fn note(&mut self, key: TrialKey, played: Played) -> Result<()> {
        let words = key.words();
        if !self.is_written {
            self.known.insert(words, played);
            return Ok(());
        }
        // JSON has no infinity.
        let line =
            NotebookLine { key, played: Played { loss: played.loss.min(f64::MAX), ..played } };
        let mut text = serde_json::to_string(&line)
            .map_err(|error| Error::failed(format!("cannot write JSON: {error}")))?;
        text.push('\n');
        let file = match &mut self.file {
            Some(file) => file,
            None => self.file.insert(own_file(&self.folder)?),
        };
        step::write(file, text.as_bytes()).doing("write the rehearsal", &self.folder)?;
        self.known.insert(words, played);
        Ok(())
    }
}

/// The summary kept by [`Notebook::sum_up`].
pub fn summary(workspace: &Workspace, name: &str, of: Option<&str>) -> Option<String> {
    let folder = workspace.folder().join(FOLDER).join(name);
    std::fs::read_to_string(folder.join(summary_file(of))).ok()
}

fn summary_file(of: Option<&str>) -> String {
    of.map_or_else(|| SUMMARY.to_owned(), |of| format!("advice-{of}.json"))
}

/// A file that no other process writes.
fn own_file(folder: &Path) -> Result<File> {
    files::create_private_folder(folder).doing("write the rehearsal", folder)?;
    let time = crate::clock::now().as_nanosecond();
    let path = folder.join(format!("{time}-{}.{ENDING}", std::process::id()));
    step::open(files::private().create_new(true).append(true), &path)
        .doing("write the rehearsal", folder)
}

impl TrialKey {
    fn words(&self) -> String {
        let epsilon = self.epsilon.map_or(String::new(), |epsilon| epsilon.to_string());
        format!("{}\n{}\n{}\n{epsilon}", self.scene, self.player, self.repetition)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;
    use crate::evaluation::scoring::ForeseenScore;

    fn key(repetition: u64) -> TrialKey {
        let (scene, player) = ("season 2".to_owned(), "public_shape".to_owned());
        TrialKey { scene, player, repetition, epsilon: Some(0.1 + 0.2) }
    }

    #[test]
    fn what_was_noted_is_found_by_the_next_and_a_torn_line_is_not() {
        let directory = tempfile::tempdir().unwrap();
        let workspace = Workspace::fresh(directory.path());
        let mut one = Notebook::open(&workspace, "abc").unwrap();
        let mut other = Notebook::open(&workspace, "abc").unwrap();
        one.note(key(0), Played::of_loss(0.25)).unwrap();
        one.note(key(1), Played::of_loss(f64::INFINITY)).unwrap();
        let score = Some(ForeseenScore { records: 50, half_width: 0.2 });
        other.note(key(2), Played { loss: 3.0, finer: None, score }).unwrap();
        let folder = directory.path().join(".halflight/rehearsals/abc");
        for file in std::fs::read_dir(&folder).unwrap() {
            let mut file =
                std::fs::OpenOptions::new().append(true).open(file.unwrap().path()).unwrap();
            file.write_all(b"{\"scene\":\"season 2\",\"pla").unwrap();
        }
        let again = Notebook::open(&workspace, "abc").unwrap();
        assert_eq!(again.find(&key(0)), Some(Played::of_loss(0.25)));
        assert_eq!(again.find(&key(1)), Some(Played::of_loss(f64::MAX)));
        assert_eq!(again.find(&key(2)), Some(Played { loss: 3.0, finer: None, score }));
        assert_eq!(again.find(&key(3)), None);
        assert!(Notebook::open(&workspace, "abd").unwrap().find(&key(0)).is_none());
    }
}
