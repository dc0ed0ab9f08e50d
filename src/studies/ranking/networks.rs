//! How much a ranking depends on the network (table 5 of the paper), and the distances of all pairs
//! of datasets.
//!
//! The paper compares a small probe with large pretrained networks. Here the networks are those
//! that a ranking can use.

use std::sync::{Mutex, PoisonError};

use super::{CandidateScores, PIXELS, RankingStudy, classes, kendall};
use crate::data::Dataset;
use crate::error::Result;
use crate::grid::Harvest;
use crate::model::Activation;
use crate::rank::{ProbeModel, RankingSettings, RankingSetup, Subspace};
use crate::table::{StudyTable, TableRow};

/// The number of directions: a multiple of C − 1 near the paper's 16.
const DIRECTIONS: usize = 18;
const PRIVATE: &str = "private images";

impl RankingStudy {
    /// A study like this with a row for each network instead of each k, its own network first.
    pub fn of_networks(&self, repeats: usize) -> Result<Self> {
        let own = self.settings.model;
        let others = [
            ProbeModel::Linear,
            ProbeModel::Perceptron(128, Activation::Relu),
            ProbeModel::Probe,
            ProbeModel::Table7a,
        ];
        let networks = std::iter::once(own).chain(others.into_iter().filter(|it| *it != own));
        let (mut rows, mut setups) = (Vec::new(), Vec::new());
        for model in networks {
            rows.push((model.words(), DIRECTIONS));
            setups.push(Mutex::new(self.setup(model)?));
        }
        Ok(Self {
            private: self.private.clone(),
            test: self.test.clone(),
            candidates: self.candidates.clone(),
            settings: self.settings.clone(),
            repeats,
            rows,
            setups,
        })
    }

    /// The ranking of the study with this network.
    pub(super) fn setup(&self, model: ProbeModel) -> Result<RankingSetup> {
        let settings = RankingSettings { model, directions: DIRECTIONS, ..self.settings.clone() };
        let shape = (self.private.len(), PIXELS);
        let bounds = self.private.bounds;
        let classes = Some(classes(&self.private));
        RankingSetup::new(&settings, self.candidates.clone(), shape, classes, bounds)
    }

    /// Distances by candidate and network, and how far the order of the mean distances agrees with
    /// that of the first network. For a study [`Self::of_networks`].
    pub fn transfer(&self, harvest: &Harvest<CandidateScores>) -> StudyTable {
        let row = |(candidate, name): (usize, &str)| {
            let cell = |network| harvest.of(network, 0).map(move |scores| scores[candidate].1);
            TableRow::new(name, (0..self.rows.len()).map(cell))
        };
        let mut rows: Vec<TableRow> = self.names().into_iter().enumerate().map(row).collect();
        let means = |network| self.means(harvest, network, |score| -score.1);
        let first = means(0);
        let taus = (0..self.rows.len()).map(|network| [kendall(&means(network), &first)]);
        rows.push(TableRow::new("Kendall τ with the first network", taus));
        let title = format!("Distances by network, k = {DIRECTIONS}");
        StudyTable::new(title, self.rows.iter().map(|(words, _)| words), rows)
    }

    /// The distance of every dataset's span to every other's, the private images included.
    pub fn all_pairs(&self, repeats: usize) -> Result<StudyTable> {
        let mut setup = self.setup(self.settings.model)?;
        let names: Vec<String> =
            std::iter::once(PRIVATE).chain(self.names()).map(str::to_owned).collect();
        let mut samples = vec![vec![Vec::new(); names.len()]; names.len()];
        for repeat in 0..repeats {
            let round = setup.round(repeat)?;
            let chosen = round.conditions.private_batch(self.private.len(), setup.batch);
            let gradients = round.conditions.gradients(&features(&self.private, &chosen))?;
            let private = Subspace::of(&gradients, round.directions)?;
            let spans: Vec<Option<&Subspace>> = std::iter::once(Some(&private))
                .chain(round.spans.iter().map(Option::as_ref))
                .collect();
            for (at, of_one) in samples.iter_mut().enumerate() {
                for (with, sample) in of_one.iter_mut().enumerate() {
                    let both = spans[at].zip(spans[with]);
                    // Rounding would leave a little.
                    let distance = |(one, other): (&Subspace, &Subspace)| {
                        if at == with { 0.0 } else { one.distance(other) }
                    };
                    sample.extend(both.map(distance));
                }
            }
        }
        let rows = names.iter().zip(samples).map(|(name, samples)| TableRow::new(name, samples));
        let title = format!("Distances of all pairs, k = {DIRECTIONS}");
        Ok(StudyTable::new(title, &names, rows))
    }
}

pub(super) fn features(data: &Dataset, chosen: &[usize]) -> crate::numeric::Matrix {
    data.features.select_columns(chosen)
}

/// The setup with the most directions.
pub(super) fn last_setup(study: &RankingStudy) -> std::sync::MutexGuard<'_, RankingSetup> {
    study.setups[study.setups.len() - 1].lock().unwrap_or_else(PoisonError::into_inner)
}
