//! Is the ranking right? Trains privately with every candidate, and shows which column of the ranking
//! has the order of the accuracies.
//!
//! Public records help in two ways: GEP uses the directions of their gradients but not their
//! labels, pre-training uses both. In GEP, the residual outside these directions makes up for wrong
//! ones, so it is also tried without the residual. DP-SGD uses no public records. Training on the
//! private data uses the same network as the ranking, and the test images judge.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{CandidateScores, ENERGY, RankingStudy, classes, spearman};
use crate::error::{Error, Result};
use crate::grid::{Grid, GridTask, Harvest};
use crate::methods::Value;
use crate::privacy::Target;
use crate::rank::{Alongside, ProbeModel, Ranking, RankingSettings, Supply};
use crate::table::{StudyTable, TableRow};
use halflight_advice::rehearsal::{RehearsalNoise, Trial};

const TARGET: Target = Target { epsilon: 2.0, delta: 1e-5 };
/// The basis of GEP: a k of the ranking.
const BASIS: f64 = 18.0;
const STEPS: f64 = 30.0;
const WITHOUT: &str = "no public images: DP-SGD";

/// Training with every candidate.
pub struct UtilityTrials<'a> {
    study: &'a RankingStudy,
    methods: [(&'static str, UtilityMethod); 3],
    seeds: Vec<u64>,
    /// The number of public records, the same for every candidate.
    public: usize,
}

type UtilityMethod = (&'static str, BTreeMap<String, Value>);

impl<'a> UtilityTrials<'a> {
    pub fn new(study: &'a RankingStudy, seeds: u64, most: usize) -> Result<Self> {
        let ProbeModel::Perceptron(units, _) = study.settings.model else {
            return Err(Error::usage("training is with a network of one hidden layer"));
        };
        let batch = (study.private.len() / 4).max(256) as f64;
        let settings = |numbers: &[(&str, f64)]| -> BTreeMap<String, Value> {
            let numbers = numbers.iter().map(|(key, x)| ((*key).to_owned(), Value::Number(*x)));
            let units = ("units".to_owned(), Value::Number(units as f64));
            let model = ("model".to_owned(), Value::Text("hidden_layer".to_owned()));
            numbers.chain([units, model]).collect()
        };
        let gep = settings(&[("basis", BASIS), ("steps", STEPS), ("batch", batch)]);
        let mut inside = gep.clone();
        inside.insert("clip_residual".to_owned(), Value::Number(0.0));
        let sizes = study.candidates.iter().filter_map(|it| Some(it.data.as_ref().ok()?.len()));
        Ok(Self {
            study,
            methods: [
                ("GEP", ("gep", gep)),
                ("GEP, no residual", ("gep", inside)),
                ("pre-training", ("pretraining", settings(&[]))),
            ],
            seeds: (0..seeds).collect(),
            public: sizes.min().unwrap_or(0).min(most),
        })
    }

    /// A row per candidate and one without a candidate, a column per method.
    pub fn grid(&self) -> Grid {
        let names = self.study.names().into_iter().chain([WITHOUT]);
        Grid::new(names, self.methods.iter().map(|(name, _)| *name), &self.seeds)
    }

    /// The score of two classes, of which one may be rare, is AUC.
    fn is_auc(&self) -> bool {
        classes(&self.study.private) == 2
    }

    /// Right answers on the test images, or AUC, in %.
    pub fn measure(&self, place: GridTask<'_>) -> Result<Option<f64>> {
        let study = self.study;
        let (mut method, mut settings) = self.methods[place.column].1.clone();
        let public = match study.candidates.get(place.row) {
            Some(candidate) => {
                candidate.data.as_ref().map_err(Clone::clone)?.records(0, self.public)?
            }
            // GEP's steps and batch; there are no public records, so these values are not used.
            None if place.column == 0 => {
                settings.remove("basis");
                method = "dp_sgd";
                study.test.records(0, 1)
            }
            None => return Ok(None),
        };
        let (private, noise, seed) = (&study.private, RehearsalNoise::For(TARGET), place.seed());
        let rehearsal = Trial { settings, ..Trial::new(method, &public, private, noise, seed) };
        let measured = rehearsal.run_sealed()?.measured(&study.test)?;
        let [_, _, auc] = measured.further.drawn();
        if self.is_auc() {
            return Ok(auc.map(|auc| 100.0 * auc));
        }
        Ok(Some(measured.right_in_percent()))
    }

    /// The columns of a ranking beside the accuracies, and how well the order of each column matches
    /// that of the accuracies.
    pub fn tables(
        &self,
        scores: &Harvest<CandidateScores>,
        found: &Harvest<f64>,
    ) -> Result<[StudyTable; 2]> {
        let Self { study, public, .. } = self;
        let grid = &found.grid;
        let columns = study.columns(scores)?;
        let shown: Vec<&RankingColumn> = columns.iter().filter(|column| column.shown).collect();
        let rows = grid.rows.iter().enumerate().map(|(row, label)| {
            let one = |it: &&RankingColumn| it.values.get(row).copied().flatten();
            let of_column = |it| one(it).into_iter().collect::<Vec<_>>();
            let accuracy = |column: usize| found.of(row, column).copied().collect();
            let accuracies = (0..grid.columns.len()).map(accuracy);
            TableRow::new(label, shown.iter().map(of_column).chain(accuracies))
        });
        let names = shown.iter().map(|column| column.name.clone());
        let title = format!(
            "Columns of the ranking, and {} on {} test images, %, with {public} public images \
             · ε = {}, δ = {:e}",
            if self.is_auc() { "AUC" } else { "right answers" },
            study.test.len(),
            TARGET.epsilon,
            TARGET.delta
        );
        let accuracies = StudyTable::new(title, names.chain(grid.columns.iter().cloned()), rows);
        let rows = columns.iter().map(|column| {
            let cells = (0..grid.columns.len()).map(|of| correlations(column, found, of));
            TableRow::new(&column.name, cells)
        });
        let title =
            "Spearman correlation of column and accuracy over the candidates; 1 predicts best";
        Ok([accuracies, StudyTable::new(title, &grid.columns, rows)])
    }
}

/// A column of the ranking with a value for each candidate.
pub struct RankingColumn {
    name: String,
    values: Vec<Option<f64>>,
    /// The sign that makes larger values better.
    sign: f64,
    /// Whether the table of accuracies shows it.
    shown: bool,
}

impl RankingStudy {
    /// The scores of every k, and the measures beside them.
    fn columns(&self, harvest: &Harvest<CandidateScores>) -> Result<Vec<RankingColumn>> {
        let last = self.rows.len() - 1;
        let mut columns: Vec<RankingColumn> = self
            .score_rows()
            .map(|(name, row, goodness)| {
                let sign = if name.starts_with(ENERGY) { 1.0 } else { -1.0 };
                let means = self.means(harvest, row, goodness);
                let values = means.into_iter().map(|value| Some(sign * value)).collect();
                RankingColumn { name, values, sign, shown: row == last }
            })
            .collect();
        let settings = RankingSettings { task2vec: true, ..self.settings.clone() };
        let setup = self.setup(self.settings.model)?;
        let supply = Supply::Ready(Arc::clone(&self.private));
        let alongside = Ranking::alongside_of_public(&settings, setup, supply)?;
        type Read = fn(&Alongside) -> Option<f64>;
        let measures: [(&str, Read); 3] = [
            ("discrepancy of moments", |it| it.unlabelled),
            ("error of its own model", |it| it.error.map(|error| error.mean)),
            ("Task2Vec", |it| it.task2vec),
        ];
        columns.extend(measures.map(|(name, pick)| RankingColumn {
            name: name.to_owned(),
            values: alongside.iter().map(pick).collect(),
            sign: -1.0,
            shown: true,
        }));
        Ok(columns)
    }
}

/// One per seed with which every candidate was trained, over the candidates with a value.
fn correlations(column: &RankingColumn, found: &Harvest<f64>, method: usize) -> Vec<f64> {
    let known = column.values.iter().enumerate().filter_map(|(row, value)| Some((row, (*value)?)));
    let (rows, values): (Vec<usize>, Vec<f64>) = known.unzip();
    let goods: Vec<f64> = values.iter().map(|value| column.sign * value).collect();
    let accuracies: Vec<Vec<f64>> =
        rows.iter().map(|row| found.of(*row, method).copied().collect()).collect();
    let seeds = accuracies.iter().map(Vec::len).min().unwrap_or(0);
    let of_seed =
        |seed: usize| spearman(&goods, &accuracies.iter().map(|of| of[seed]).collect::<Vec<_>>());
    (0..seeds).map(of_seed).collect()
}
