//! The study of several sites: what training together brings over training alone.
//!
//! One part of a dataset is public, and every other part is a site: hospitals, or seasons. In some cases
//! one part is dealt at random to the sites instead, so that their records are alike. Half of a site's
//! records play its private ones, the rest are held out. The error is on the held-out records of
//! all sites, for the model of each site alone, for the joint one, and for one trained where all
//! records are at one place.

use super::grid::{Grid, GridTask, Harvest, epsilon_columns};
use super::labelled::{Case, LabelledProblem, SplitModels};
use super::table::{StudyTable, TableRow};
use crate::data::filter::Filter;
use crate::data::table::{seeded, shuffled};
use crate::data::{Dataset, PublicRecords, Table, Task};
use crate::error::Result;
use crate::methods::labelled::public_shape;
use crate::model::Model;
use crate::privacy::Target;
use halflight_advice::rehearsal::{RehearsalNoise, Split, Trial};

/// A dataset, and who has which of its records.
struct SitesCase {
    dataset: &'static str,
    sites: Sites,
}

/// What the three sites are.
enum Sites {
    /// Parts of the source by these filters; the target is public.
    Parts([&'static str; 3]),
    /// Parts of the target, dealt at random: their records are alike.
    Dealt,
}

const CLEVELAND: &str = "hospital == \"cleveland\"";
const HUNGARIAN: &str = "hospital == \"hungarian\"";
const VA: &str = "hospital == \"va\"";
const SWITZERLAND: &str = "hospital == \"switzerland\"";

const CASES: [SitesCase; 6] = [
    of_parts("heart-cleveland", [HUNGARIAN, VA, SWITZERLAND]),
    of_parts("heart-hungarian", [CLEVELAND, VA, SWITZERLAND]),
    of_parts("heart-va", [CLEVELAND, HUNGARIAN, SWITZERLAND]),
    of_parts("heart-switzerland", [CLEVELAND, HUNGARIAN, VA]),
    of_parts("bikeshare-autumn", ["season == 1", "season == 2", "season == 4"]),
    SitesCase { dataset: "bikeshare", sites: Sites::Dealt },
];

const fn of_parts(dataset: &'static str, parts: [&'static str; 3]) -> SitesCase {
    SitesCase { dataset, sites: Sites::Parts(parts) }
}

const EPSILONS: [f64; 3] = [0.5, 1.0, 2.0];

/// The most records that are dealt to a site: with more, each has enough for itself.
const MOST: usize = 400;

const ROWS: [&str; 4] =
    ["public data alone", "each site alone", "the sites together", "all records at one place"];

/// Whether a dataset is split into sites.
pub fn has_sites(case: &Case) -> bool {
    CASES.iter().any(|it| it.dataset == case.name)
}

#[derive(Debug)]
pub struct SitesStudy {
    problems: Vec<LabelledProblem>,
    seeds: Vec<u64>,
}

/// The errors of one split: for each row of the table, those at every ε.
pub type SiteErrors = [[f64; EPSILONS.len()]; ROWS.len()];

impl SitesStudy {
    pub fn new(problems: Vec<LabelledProblem>, seeds: u64) -> Self {
        Self { problems, seeds: (0..seeds).collect() }
    }

    pub fn grid(&self) -> Grid {
        LabelledProblem::grid(&self.problems, &self.seeds)
    }

    pub fn measure(&self, place: GridTask<'_>) -> Result<Option<SiteErrors>> {
        let problem = &self.problems[place.row];
        let Some(case) = CASES.iter().find(|it| it.dataset == problem.case.name) else {
            return Ok(None);
        };
        let turned = problem.turned();
        let problem = if let Sites::Parts(_) = case.sites { &turned } else { problem };
        let preparation = problem.wide_preparation()?;
        let public: PublicRecords = preparation.apply(&problem.source, "public", true)?.into();
        let (mut splits, mut all) = (Vec::new(), Vec::new());
        for own in case.sites.tables(&problem.target, place.repetition)? {
            let order = shuffled(own.rows(), &mut seeded(place.repetition));
            let (train, test) = order.split_at(own.rows() / 2);
            let parts = (own.select(train)?, own.select(test)?);
            all.push(parts.0.clone());
            splits.push(LabelledProblem::split_of(preparation.clone(), public.clone(), parts)?);
        }
        let task = problem.case.task;
        let error = |models: &[Model]| mean_error(task, &splits, models);
        let sites = splits.len();
        let of_public = Model::Shape(public_shape::ground(&splits[0].problem())?.shape.clone());
        let mut errors = [[error(&vec![of_public; sites])?; EPSILONS.len()]; ROWS.len()];
        let all = Table::concat(&all.iter().collect::<Vec<_>>())?;
        let private: Dataset = preparation.apply(&all, "all sites", true)?;
        let method = match task {
            Task::Regression => "public_shape",
            Task::Classification => "public_shape_classes",
        };
        for (at, epsilon) in EPSILONS.into_iter().enumerate() {
            let noise = RehearsalNoise::For(Target { epsilon, delta: problem.case.delta });
            let seed = |site: usize| place.seed().wrapping_add((at * (sites + 1) + site) as u64);
            let trials: Vec<Trial> = (0..)
                .zip(&splits)
                .map(|(site, split)| split.trial(method, noise, seed(site)))
                .collect();
            let models = |trial: &Trial| Ok(trial.run_sealed()?.model);
            errors[1][at] = error(&trials.iter().map(models).collect::<Result<Vec<_>>>()?)?;
            let joint = Trial::run_together(&trials)?.into_iter().map(|tried| tried.model);
            errors[2][at] = error(&joint.collect::<Vec<_>>())?;
            let trial = splits[0].trial(method, noise, seed(sites));
            let whole = Trial { private: &private, ..trial }.run_sealed()?.model;
            errors[3][at] = error(&vec![whole; sites])?;
        }
        Ok(Some(errors))
    }

    pub fn tables(&self, harvest: &Harvest<SiteErrors>) -> Vec<StudyTable> {
        let table = |(row, problem): (usize, &LabelledProblem)| {
            let cells = |kind: usize| {
                let cell = |at: usize| harvest.of(row, 0).map(move |it| it[kind][at]);
                TableRow::new(ROWS[kind], (0..EPSILONS.len()).map(cell))
            };
            let measure = match problem.case.task {
                Task::Regression => "root mean square error",
                Task::Classification => "share of wrong answers",
            };
            let title = format!("{} · {measure} (less is better)", of_case(problem.case));
            StudyTable::new(title, epsilon_columns(&EPSILONS), (0..ROWS.len()).map(cells))
        };
        self.problems.iter().enumerate().map(table).collect()
    }

    pub fn header(&self, missing: &[&str]) -> Vec<String> {
        let said = "Three sites train one model with public_shape, each with its own noise at the ε of \
             the column.";
        super::header([said], missing)
    }
}

impl Sites {
    fn tables(&self, private: &Table, repetition: u64) -> Result<Vec<Table>> {
        match self {
            Self::Parts(filters) => {
                let part = |filter: &&str| Filter::parse(filter)?.apply(private);
                filters.iter().map(part).collect()
            }
            Self::Dealt => {
                let order = shuffled(private.rows(), &mut seeded(repetition));
                let part = |site: usize| {
                    let rows = order.iter().copied().skip(site).step_by(3).take(MOST);
                    private.select(&rows.collect::<Vec<_>>())
                };
                (0..3).map(part).collect()
            }
        }
    }
}

/// Who has what, in words.
fn of_case(case: &Case) -> String {
    match CASES.iter().find(|it| it.dataset == case.name).map(|it| &it.sites) {
        Some(Sites::Dealt) => {
            format!("{}: {}, dealt at random to three sites", case.name, case.target)
        }
        _ => format!("{} is public, the others are sites", case.target),
    }
}

/// The error over the held-out records of all sites, each with its model.
fn mean_error(task: Task, splits: &[Split], models: &[Model]) -> Result<f64> {
    let power = if task == Task::Regression { 2 } else { 1 };
    let (mut sum, mut count) = (0.0, 0.0);
    for (split, model) in splits.iter().zip(models) {
        let records = split.held_out.len() as f64;
        sum += records * split.measured(model)?.error.powi(power);
        count += records;
    }
    Ok((sum / count).powf(1.0 / f64::from(power)))
}
