//! Rankings while a network is trained (figure 1 of the paper), and how much of its gradients lies
//! in a few directions (figure 3).
//!
//! The network learns the private images by plain stochastic gradients. At some steps every
//! dataset's gradients are taken again, with random labels as before the training, and their
//! distances to the private ones. The paper trains a larger network, on CIFAR-10.

use rand::rngs::ChaCha20Rng;
use rand::{RngExt, SeedableRng};

use super::networks::{features, last_setup};
use super::{RankingStudy, kendall};
use crate::error::{Error, Result};
use crate::grid::{Grid, GridTask, Harvest};
use crate::model::ExampleLabels;
use crate::plot::{AxisSide, ChartSeries, Figure, Mark, Panel, Point};
use crate::rank::{Lead, Subspace};
use crate::table::{SeedValues, StudyTable, TableRow};

/// Records of a step, and its length.
const BATCH: usize = 64;
const RATE: f64 = 0.05;
/// The numbers of directions whose energy is told.
const RANKS: [usize; 6] = [1, 9, 18, 50, 100, 200];

/// A network in training.
pub struct TrainingStudy<'a> {
    study: &'a RankingStudy,
    /// The steps after which the datasets are compared, the first of which is 0.
    at: Vec<usize>,
    seeds: Vec<u64>,
}

/// What was found in one training.
#[derive(Debug, Clone)]
pub struct TrainingCourse {
    /// By step, then by candidate.
    distances: Vec<Vec<f64>>,
    /// Singular values of the private gradients relative to the largest, at the first and the last
    /// step.
    spectra: [Vec<f64>; 2],
    /// Right answers on the test images at the end, in %.
    right: f64,
}

impl<'a> TrainingStudy<'a> {
    pub fn new(study: &'a RankingStudy, quick: bool, seeds: u64) -> Self {
        let at = if quick { vec![0, 10, 100] } else { vec![0, 1, 3, 10, 30, 100, 300, 1000, 3000] };
        Self { study, at, seeds: (0..seeds).collect() }
    }

    pub fn grid(&self) -> Grid {
        Grid::new(["training"], [self.study.settings.model.words()], &self.seeds)
    }

    pub fn measure(&self, place: GridTask<'_>) -> Result<Option<TrainingCourse>> {
        let study = self.study;
        let repeat = place.repetition as usize;
        let (mut round, batch) = {
            let mut setup = last_setup(study);
            (setup.round(repeat)?, setup.batch)
        };
        let chosen = |candidate: usize| last_setup(study).chosen(candidate, repeat);
        let private = round.conditions.private_batch(study.private.len(), batch);
        let private = features(&study.private, &private);
        let labels = study.private.classes.as_ref().map(|classes| &classes.of);
        let labels = labels.ok_or_else(|| Error::failed("the private images have no labels"))?;
        let mut generator = ChaCha20Rng::seed_from_u64(place.seed());
        let (mut distances, mut spectra) = (Vec::new(), Vec::new());
        let mut taken = 0;
        for until in &self.at {
            while taken < *until {
                let of_step: Vec<usize> =
                    (0..BATCH).map(|_| generator.random_range(0..labels.len())).collect();
                let classes: Vec<u32> = of_step.iter().map(|at| labels[*at]).collect();
                let model = &mut round.conditions.model;
                let gradients = model.gradients(
                    &features(&study.private, &of_step),
                    ExampleLabels::Classes(&classes),
                )?;
                let slope = gradients.weighted_sum(&[1.0 / BATCH as f64; BATCH]);
                for (parameter, slope) in model.parameters_mut().iter_mut().zip(&slope) {
                    *parameter -= RATE * slope;
                }
                taken += 1;
            }
            let gradients = round.conditions.gradients(&private)?;
            let lead = Lead::of(&gradients, round.directions)?;
            let distance = |at: usize| -> Result<f64> {
                let data = study.candidates[at].data.as_ref().map_err(Clone::clone)?;
                let of_candidate = round.conditions.gradients(&data.features(&chosen(at)?)?)?;
                Ok(lead.score(&Subspace::of(&of_candidate, round.directions)?).distance)
            };
            distances.push((0..study.candidates.len()).map(distance).collect::<Result<_>>()?);
            if until == &0 || self.at.last() == Some(until) {
                let squares = gradients.leading(gradients.examples());
                let squares = squares.ok_or_else(|| Error::failed("a gradient is not finite"))?;
                let root = |value: &f64| value.max(0.0).sqrt();
                let largest = squares.values.first().map_or(1.0, root);
                spectra.push(squares.values.iter().map(|it| root(it) / largest).collect());
            }
        }
        let model = crate::model::Model::Classifier(round.conditions.model.clone());
        let right = crate::evaluation::Measured::of_model(&model, &study.test, |raw| raw)
            .ok_or_else(|| Error::failed("the network tells no classes"))?
            .right_in_percent();
        let spectra = spectra.try_into();
        let spectra =
            spectra.map_err(|_| Error::failed("a training has a beginning and an end"))?;
        Ok(Some(TrainingCourse { distances, spectra, right }))
    }

    /// Distances over the steps, and the energy of the first directions.
    pub fn tables(&self, harvest: &Harvest<TrainingCourse>) -> [StudyTable; 2] {
        [self.distances(harvest), Self::energies(harvest)]
    }

    fn distances(&self, harvest: &Harvest<TrainingCourse>) -> StudyTable {
        let courses: Vec<&TrainingCourse> = harvest.of(0, 0).collect();
        let row = |label: &str, of: &dyn Fn(&TrainingCourse, usize) -> f64| {
            let cell = |at| courses.iter().map(move |course| of(course, at));
            TableRow::new(label, (0..self.at.len()).map(cell))
        };
        let names = self.study.names().into_iter().enumerate();
        let mut rows: Vec<TableRow> = names
            .map(|(candidate, name)| row(name, &|course, at| course.distances[at][candidate]))
            .collect();
        let order = "Kendall τ with the order before the training";
        rows.push(row(order, &|it, at| kendall(&it.distances[at], &it.distances[0])));
        let right = SeedValues::of(courses.iter().map(|course| course.right).collect());
        let reached = right.mean().map_or(String::new(), |right| {
            format!(", which ends with {right:.1} % right answers on test images")
        });
        let title = format!("Distances during training without noise{reached}");
        StudyTable::new(title, self.at.iter().map(|at| format!("step {at}")), rows)
    }

    fn energies(harvest: &Harvest<TrainingCourse>) -> StudyTable {
        let courses: Vec<&TrainingCourse> = harvest.of(0, 0).collect();
        let share = |spectrum: &[f64], rank: usize| {
            let energy = |part: &[f64]| part.iter().map(|s| s * s).sum::<f64>();
            100.0 * energy(&spectrum[..rank.min(spectrum.len())]) / energy(spectrum)
        };
        let row = |(which, label): (usize, &str)| {
            let cell = |rank| courses.iter().map(move |it| share(&it.spectra[which], rank));
            TableRow::new(label, RANKS.map(cell))
        };
        let title = "Energy of the private gradients in their first directions, %";
        let rows = ["before the training", "after it"].into_iter().enumerate().map(row);
        StudyTable::new(title, RANKS.map(|rank| format!("first {rank}")), rows)
    }

    /// Figures 1 and 3.
    pub fn figures(&self, harvest: &Harvest<TrainingCourse>) -> Vec<(String, Figure)> {
        let mut table = self.distances(harvest);
        // The last row is no distance.
        table.rows.pop();
        // A logarithmic axis has no 0.
        let at: Vec<f64> = self.at.iter().map(|at| (*at as f64).max(0.5)).collect();
        let panel = |title: &str, horizontal: AxisSide, series: Vec<ChartSeries>| Panel {
            title: title.to_owned(),
            horizontal,
            series,
        };
        let note = format!(
            "{}; mean over {} trainings. Public images in both roles: not private.",
            self.study.settings.model.words(),
            self.seeds.len()
        );
        let distances = Figure {
            title: "The order of the datasets during training".to_owned(),
            note: note.clone(),
            vertical: AxisSide::linear("distance to the private images"),
            panels: vec![panel(
                "",
                AxisSide::log("step; 0.5 stands for the beginning").at(&at),
                table.series(&at),
            )],
        };
        let spectrum = |(which, name): (usize, &str)| {
            let courses: Vec<&TrainingCourse> = harvest.of(0, 0).collect();
            let count = courses.iter().map(|it| it.spectra[which].len()).min().unwrap_or(0);
            let mean = |at: usize| {
                courses.iter().map(|it| it.spectra[which][at]).sum::<f64>() / courses.len() as f64
            };
            let points =
                (0..count).map(|at| Point { x: (at + 1) as f64, y: mean(at), spread: None });
            let points = points.filter(|point| point.y > 1e-6).collect();
            ChartSeries { name: name.to_owned(), mark: Mark::Line, points }
        };
        let ticks: Vec<f64> = RANKS.iter().map(|rank| *rank as f64).collect();
        let spectra = ["before the training", "after it"].into_iter().enumerate().map(spectrum);
        let spectra = Figure {
            title: "Singular values of the private gradients".to_owned(),
            note,
            vertical: AxisSide::log("relative to the largest"),
            panels: vec![panel("", AxisSide::log("number").at(&ticks), spectra.collect())],
        };
        vec![
            ("ranking-training.svg".to_owned(), distances),
            ("ranking-singular-values.svg".to_owned(), spectra),
        ]
    }
}
