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
use crate::error::Result;
use crate::evaluation::Measured;
use crate::privacy::Target;
use halflight_advice::rehearsal::{ErrorMeasure, RehearsalNoise, Split};

const EPSILONS: [f64; 3] = [0.5, 1.0, 2.0];
const DELTA: f64 = 1e-5;
const LABEL: &str = "income>50K";
/// Columns of codes that are in order; the others are categories.
const NUMBERS: [&str; 6] =
    ["age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week"];
/// The file of the peers' scores.
const SCORES: &str = "peers.csv";
const WARM_START: &str = "noisy warm start, linear";
/// Our methods; the wide ones take features that are hardly clipped.
const OURS: [(&str, bool); 5] = [
    ("public_only_classes", true),
    ("public_shape_classes", true),
    ("profiled_logistic", false),
    (WARM_START, false),
    ("target_only_logistic", false),
];

/// Accuracy, AUC and logarithmic loss.
type PeerScores = [f64; 3];
const TITLES: [&str; 3] = [
    "accuracy, % (higher is better)",
    "AUC (higher is better)",
    "logarithmic loss, nats (lower is better)",
];

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
    lines: Vec<PeerLine>,
    seeds: Vec<u64>,
}

impl PeerStudy {
    /// The study on the splits in a directory.
    pub fn new(directory: &Path) -> Result<Self> {
        let file = read(&directory.join(SCORES), &Reading::Plain, &mut Unwatched)
            .map_err(|error| error.cure("run assets/peers/peers.py with this directory first"))?;
        let cell = |row: usize, name: &str| file.column(name).map(|column| column.cell(row));
        let number = |row, name: &str| -> Result<f64> {
            Ok(if let Cell::Number(number) = cell(row, name)? { number } else { f64::NAN })
        };
        let text = |row, name: &str| -> Result<String> {
            Ok(if let Cell::Text(text) = cell(row, name)? { text.into() } else { String::new() })
        };
        let line = |row: usize| -> Result<PeerLine> {
            let [accuracy, auc, log_loss] =
                ["accuracy", "auc", "log_loss"].map(|it| number(row, it));
            Ok(PeerLine {
                peer: text(row, "peer")?,
                epsilon: number(row, "epsilon")?,
                seed: number(row, "seed")? as u64,
                scores: [100.0 * accuracy?, auc?, log_loss?],
                neighbours: text(row, "neighbours")?,
                version: text(row, "version")?,
            })
        };
        let lines = (0..file.rows()).map(line).collect::<Result<Vec<_>>>()?;
        let mut seeds: Vec<u64> = lines.iter().map(|line| line.seed).collect();
        seeds.sort_unstable();
        seeds.dedup();
        Ok(Self { directory: directory.to_owned(), lines, seeds })
    }

    /// One row for each of our methods.
    pub fn grid(&self) -> Grid {
        Grid {
            rows: OURS.iter().map(|(method, _)| (*method).to_owned()).collect(),
            columns: vec!["split".to_owned()],
            seeds: self.seeds.clone(),
        }
    }

    fn split(&self, seed: u64, wide: bool) -> Result<Split> {
        let table = |name: &str| -> Result<Table> {
            let path = self.directory.join(format!("split-{seed}/{name}.csv"));
            read(&path, &Reading::Plain, &mut Unwatched)
        };
        let public = table("public")?;
        let mut definition =
            DatasetDefinition::new("peers", Role::Public, Source::Builtin("peers".to_owned()));
        definition.label = Some(LABEL.to_owned());
        definition.task = Task::Classification;
        let category = |name: &&String| **name != LABEL && !NUMBERS.contains(&name.as_str());
        definition.categories =
            public.names.iter().filter(category).map(|name| (name.clone(), Vec::new())).collect();
        let plain = Preparation::fit(&public, &definition, &PreparationSettings::default())?;
        let preparation = if wide { plain.wide(LabelRange::Public) } else { plain };
        let records: PublicRecords = preparation.apply(&public, "public", true)?.into();
        LabelledProblem::split_of(preparation, records, (table("private")?, table("held_out")?))
    }

    /// The scores of one of our methods on a split, by ε.
    pub fn measure(&self, place: GridTask<'_>) -> Result<Option<Vec<PeerScores>>> {
        let (method, wide) = OURS[place.row];
        let split = self.split(place.repetition, wide)?;
        let score = |(k, epsilon): (usize, &f64)| {
            let noise = RehearsalNoise::For(Target { epsilon: *epsilon, delta: DELTA });
            let seed = place.seed().wrapping_add(k as u64);
            let model = if method == WARM_START {
                warm_start(split.trial("profiled_logistic", noise, seed)).run_sealed()?.model
            } else {
                split.trial(method, noise, seed).run_sealed()?.model
            };
            let Measured { error, further } = split.measured(&model)?;
            let loss = split.loss(&model, ErrorMeasure::Logarithmic)?;
            Ok([100.0 * (1.0 - error), further.auc.unwrap_or(f64::NAN), loss])
        };
        EPSILONS.iter().enumerate().map(score).collect::<Result<_>>().map(Some)
    }

    /// A table for each score: our methods, then the peers.
    pub fn tables(&self, harvest: &Harvest<Vec<PeerScores>>) -> Vec<StudyTable> {
        let peers = self.peers();
        let table = |(score, title): (usize, &str)| {
            let ours = OURS.iter().enumerate().map(|(row, (method, _))| {
                let cell = |k: usize| harvest.of(row, 0).map(move |found| found[k][score]);
                TableRow::new(*method, (0..EPSILONS.len()).map(cell))
            });
            let theirs = peers.iter().map(|(peer, lines)| {
                let cell = |epsilon: f64| {
                    let fits = move |it: &&&PeerLine| it.epsilon.is_nan() || it.epsilon == epsilon;
                    lines.iter().filter(fits).map(|line| line.scores[score])
                };
                TableRow::new(*peer, EPSILONS.map(cell))
            });
            StudyTable::new(title, epsilon_columns(&EPSILONS), ours.chain(theirs))
        };
        TITLES.into_iter().enumerate().map(table).collect()
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
            "Peers on adult_pub025_01: 3238 public records, and the 32384 private ones without a \
             fifth that is held out for the scores. δ = {DELTA}. Ours guarantee ε for replacing one \
             record, which is stricter than for adding or removing one; public_only_classes spends \
             nothing. Splits: {}.",
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
            let text = format!("age,race,{LABEL}\n{rows}");
            let file = directory.path().join(format!("split-0/{name}.csv"));
            std::fs::write(file, text).unwrap();
        }
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
