//! Our methods on the records on which `assets/peers/peers.py` ran other people's private learners,
//! and all of them in one table.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::correction::warm_start;
use super::grid::{Grid, GridTask, Harvest, epsilon_columns};
use super::labelled::{LabelledProblem, SplitModels};
use super::table::{StudyTable, TableRow};
use crate::data::column::Cell;
use crate::data::preparation::LabelRange;
use crate::data::read::{Reading, Unwatched, read};
use crate::data::{
    DatasetDefinition, Preparation, PreparationSettings, PublicRecords, Role, Source, Table, Task,
};
use crate::error::{Doing as _, Error, Result};
use crate::evaluation::Measured;
use crate::numeric::Vector;
use crate::privacy::Target;
use halflight_advice::rehearsal::{ErrorMeasure, RehearsalNoise, Split};
use serde::Deserialize;

/// The file of the peers' scores, and what it is about.
const SCORES: &str = "peers.csv";
const ABOUT: &str = "about.json";
const WARM_START: &str = "noisy warm start, linear";
/// Our methods; the wide ones take features that are hardly clipped.
type Ours = [(&'static str, bool); 5];
const OF_NUMBERS: Ours = [
    ("public_only", true),
    ("public_shape", true),
    ("profiled_cnvx_adap", false),
    (WARM_START, false),
    ("target_only", false),
];
const OF_CLASSES: Ours = [
    ("public_only_classes", true),
    ("public_shape_classes", true),
    ("profiled_logistic", false),
    (WARM_START, false),
    ("target_only_logistic", false),
];

/// Accuracy, AUC and logarithmic loss of classes, or R² of numbers.
type PeerScores = Vec<f64>;
/// Columns of [`SCORES`] with their factors and titles.
type Titles = &'static [(&'static str, f64, &'static str)];
const TITLES_OF_NUMBERS: Titles = &[("r2", 1.0, "R² (higher is better)")];
const TITLES_OF_CLASSES: Titles = &[
    ("accuracy", 100.0, "accuracy, % (higher is better)"),
    ("auc", 1.0, "AUC (higher is better)"),
    ("log_loss", 1.0, "logarithmic loss, nats (lower is better)"),
];

/// What the splits have in common.
#[derive(Debug, Deserialize)]
struct About {
    label: String,
    task: Task,
    /// Columns of codes that are in order; the others are categories.
    numbers: Vec<String>,
    epsilons: Vec<f64>,
    delta: f64,
}

/// A line of the peers' scores.
#[derive(Debug)]
struct PeerLine {
    peer: String,
    /// NaN without privacy.
    epsilon: f64,
    seed: u64,
    scores: PeerScores,
    neighbours: String,
    version: String,
}

#[derive(Debug)]
pub struct PeerStudy {
    directory: PathBuf,
    about: About,
    lines: Vec<PeerLine>,
    seeds: Vec<u64>,
}

impl PeerStudy {
    /// The study on the splits in a directory.
    pub fn new(directory: &Path) -> Result<Self> {
        let file = read(&directory.join(SCORES), &Reading::Plain, &mut Unwatched)
            .map_err(|error| error.cure("run assets/peers/peers.py with this directory first"))?;
        let place = directory.join(ABOUT);
        let about = std::fs::read(&place).doing("read", &place)?;
        let about: About = serde_json::from_slice(&about)
            .map_err(|error| Error::failed(format!("{ABOUT}: {error}")))?;
        let cell = |row: usize, name: &str| file.column(name).map(|column| column.cell(row));
        let number = |row, name: &str| -> Result<f64> {
            Ok(if let Cell::Number(number) = cell(row, name)? { number } else { f64::NAN })
        };
        let text = |row, name: &str| -> Result<String> {
            Ok(if let Cell::Text(text) = cell(row, name)? { text.into() } else { String::new() })
        };
        let line = |row: usize| -> Result<PeerLine> {
            let score = |(name, factor, _): &(&str, f64, _)| Ok(factor * number(row, name)?);
            Ok(PeerLine {
                peer: text(row, "peer")?,
                epsilon: number(row, "epsilon")?,
                seed: number(row, "seed")? as u64,
                scores: titles(about.task).iter().map(score).collect::<Result<_>>()?,
                neighbours: text(row, "neighbours")?,
                version: text(row, "version")?,
            })
        };
        let lines = (0..file.rows()).map(line).collect::<Result<Vec<_>>>()?;
        let mut seeds: Vec<u64> = lines.iter().map(|line| line.seed).collect();
        seeds.sort_unstable();
        seeds.dedup();
        Ok(Self { directory: directory.to_owned(), about, lines, seeds })
    }

    fn ours(&self) -> Ours {
        if self.about.task == Task::Regression { OF_NUMBERS } else { OF_CLASSES }
    }

    /// One row for each of our methods.
    pub fn grid(&self) -> Grid {
        Grid {
            rows: self.ours().iter().map(|(method, _)| (*method).to_owned()).collect(),
            columns: vec!["split".to_owned()],
            seeds: self.seeds.clone(),
        }
    }

    fn table(&self, seed: u64, name: &str) -> Result<Table> {
        let path = self.directory.join(format!("split-{seed}/{name}.csv"));
        read(&path, &Reading::Plain, &mut Unwatched)
    }

    /// The mean square error of the best constant on held-out records.
    fn variance(&self, seed: u64) -> Result<f64> {
        let table = self.table(seed, "held_out")?;
        let column = table.column(&self.about.label)?;
        let number = |row| if let Cell::Number(number) = column.cell(row) { number } else { 0.0 };
        let labels: Vec<f64> = (0..table.rows()).map(number).collect();
        Ok(Vector::from_vec(labels).variance())
    }

    fn split(&self, seed: u64, wide: bool) -> Result<Split> {
        let table = |name: &str| self.table(seed, name);
        let public = table("public")?;
        let mut definition =
            DatasetDefinition::new("peers", Role::Public, Source::Builtin("peers".to_owned()));
        let About { label, task, numbers, .. } = &self.about;
        definition.label = Some(label.clone());
        definition.task = *task;
        let category = |name: &&String| *name != label && !numbers.contains(name);
        definition.categories =
            public.names.iter().filter(category).map(|name| (name.clone(), Vec::new())).collect();
        let plain = Preparation::fit(&public, &definition, &PreparationSettings::default())?;
        let preparation = if wide { plain.wide(LabelRange::Public) } else { plain };
        let records: PublicRecords = preparation.apply(&public, "public", true)?.into();
        LabelledProblem::split_of(preparation, records, (table("private")?, table("held_out")?))
    }

    /// The scores of one of our methods on a split, by ε.
    pub fn measure(&self, place: GridTask<'_>) -> Result<Option<Vec<PeerScores>>> {
        let (method, wide) = self.ours()[place.row];
        let split = self.split(place.repetition, wide)?;
        let score = |(k, epsilon): (usize, &f64)| {
            let target = Target { epsilon: *epsilon, delta: self.about.delta };
            let noise = RehearsalNoise::For(target);
            let seed = place.seed().wrapping_add(k as u64);
            let model = if method == WARM_START {
                warm_start(split.trial(self.ours()[2].0, noise, seed)).run_sealed()?.model
            } else {
                split.trial(method, noise, seed).run_sealed()?.model
            };
            if self.about.task == Task::Regression {
                let square = split.loss(&model, ErrorMeasure::MeanSquare)?;
                return Ok(vec![1.0 - square / self.variance(place.repetition)?]);
            }
            let Measured { error, further } = split.measured(&model)?;
            let loss = split.loss(&model, ErrorMeasure::Logarithmic)?;
            Ok(vec![100.0 * (1.0 - error), further.auc.unwrap_or(f64::NAN), loss])
        };
        self.about.epsilons.iter().enumerate().map(score).collect::<Result<_>>().map(Some)
    }

    /// A table for each score: our methods, then the peers.
    pub fn tables(&self, harvest: &Harvest<Vec<PeerScores>>) -> Vec<StudyTable> {
        let peers = self.peers();
        let table = |(score, (_, _, title)): (usize, &(_, _, &'static str))| {
            let ours = self.ours().into_iter().enumerate().map(|(row, (method, _))| {
                let cell = |k: usize| harvest.of(row, 0).map(move |found| found[k][score]);
                TableRow::new(method, (0..self.about.epsilons.len()).map(cell))
            });
            let theirs = peers.iter().map(|(peer, lines)| {
                let cell = |epsilon: f64| {
                    let fits = move |it: &&&PeerLine| it.epsilon.is_nan() || it.epsilon == epsilon;
                    lines.iter().filter(fits).map(|line| line.scores[score])
                };
                TableRow::new(*peer, self.about.epsilons.iter().copied().map(cell))
            });
            StudyTable::new(*title, epsilon_columns(&self.about.epsilons), ours.chain(theirs))
        };
        titles(self.about.task).iter().enumerate().map(table).collect()
    }

    /// The lines of each peer.
    fn peers(&self) -> BTreeMap<&str, Vec<&PeerLine>> {
        let mut peers: BTreeMap<&str, Vec<&PeerLine>> = BTreeMap::new();
        for line in &self.lines {
            peers.entry(&line.peer).or_default().push(line);
        }
        peers
    }

    pub fn header(&self) -> Vec<String> {
        let mut header = vec![format!(
            "Our methods on the records of the peers in this directory; δ = {}. Ours guarantee ε for \
             replacing one record, which is stricter than for adding or removing one; {} spends \
             nothing. Splits: {}.",
            self.about.delta,
            self.ours()[0].0,
            self.seeds.len()
        )];
        for (peer, lines) in self.peers() {
            let PeerLine { neighbours, version, .. } = lines[0];
            let guarantee = match neighbours.as_str() {
                "" => "spends nothing",
                "none" => "no guarantee",
                neighbours => neighbours,
            };
            header.push(format!("{peer}: {version}; {guarantee}; {} runs.", lines.len()));
        }
        header
    }
}

fn titles(task: Task) -> Titles {
    if task == Task::Regression { TITLES_OF_NUMBERS } else { TITLES_OF_CLASSES }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use super::*;

    #[test]
    fn ours_and_theirs_stand_in_one_table_with_their_guarantees() {
        let directory = tempfile::tempdir().unwrap();
        let missing = PeerStudy::new(directory.path()).unwrap_err();
        assert!(missing.to_string().contains("peers.py"), "{missing}");
        std::fs::create_dir(directory.path().join("split-0")).unwrap();
        for (name, first) in [("public", 0), ("private", 1), ("held_out", 2)] {
            let row = |i: usize| {
                format!("{},{},{}\n", i % 7, i % 3, usize::from(i % 7 > 3 && !i.is_multiple_of(11)))
            };
            let rows: String = (first..first + 120).map(row).collect();
            let text = format!("age,race,rich\n{rows}");
            let file = directory.path().join(format!("split-0/{name}.csv"));
            std::fs::write(file, text).unwrap();
        }
        let about = r#"{"label":"rich","task":"classification","numbers":["age"],"epsilons":[0.5,1,2],"delta":1e-5}"#;
        std::fs::write(directory.path().join(ABOUT), about).unwrap();
        let lines = "peer,epsilon,seed,accuracy,auc,log_loss,seconds,neighbours,version\n\
                     theirs,1.0,0,0.75,0.8,0.5,1,replace one,theirs 2\n\
                     free,,0,0.7,0.7,0.6,1,,free 1\n";
        std::fs::write(directory.path().join(SCORES), lines).unwrap();
        let study = PeerStudy::new(directory.path()).unwrap();
        let task = |place: GridTask<'_>| study.measure(place);
        let harvest = study.grid().run(1, &AtomicBool::new(false), &mut |_| {}, task).unwrap();
        let tables = study.tables(&harvest);
        let mean = |table: usize, row: &str, k| tables[table].row(row).unwrap().mean(k);
        assert_eq!((mean(0, "theirs", 0), mean(0, "theirs", 1)), (None, Some(75.0)));
        assert_eq!((mean(1, "free", 0), mean(2, "free", 2)), (Some(0.7), Some(0.6)));
        let ours = mean(0, "profiled_logistic", 2).unwrap();
        assert!(ours > 60.0 && ours <= 100.0, "{ours}");
        let header = study.header().join("\n");
        assert!(header.contains("theirs: theirs 2; replace one; 1 runs"), "{header}");
        assert!(header.contains("free: free 1; spends nothing"), "{header}");
    }
}
