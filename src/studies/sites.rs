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
#[derive(Debug)]
struct SitesCase {
    dataset: &'static str,
    sites: Sites,
}

/// What the sites are.
#[derive(Debug)]
enum Sites {
    /// Parts of the source by these filters; the target is public.
    Parts([&'static str; 3]),
    /// The target, dealt at random to so many: their records are alike.
    Dealt(usize),
}

const CLEVELAND: &str = "hospital == \"cleveland\"";
const HUNGARIAN: &str = "hospital == \"hungarian\"";
const VA: &str = "hospital == \"va\"";
const SWITZERLAND: &str = "hospital == \"switzerland\"";

const CASES: [SitesCase; 7] = [
    of_parts("heart-cleveland", [HUNGARIAN, VA, SWITZERLAND]),
    of_parts("heart-hungarian", [CLEVELAND, VA, SWITZERLAND]),
    of_parts("heart-va", [CLEVELAND, HUNGARIAN, SWITZERLAND]),
    of_parts("heart-switzerland", [CLEVELAND, HUNGARIAN, VA]),
    of_parts("bikeshare-autumn", ["season == 1", "season == 2", "season == 4"]),
    SitesCase { dataset: "bikeshare", sites: Sites::Dealt(3) },
    SitesCase { dataset: "bikeshare", sites: Sites::Dealt(10) },
];

const fn of_parts(dataset: &'static str, parts: [&'static str; 3]) -> SitesCase {
    SitesCase { dataset, sites: Sites::Parts(parts) }
}

const EPSILONS: [f64; 3] = [0.5, 1.0, 2.0];

/// The most records that are dealt to a site: with more, each has enough for itself.
const MOST: usize = 400;

const ROWS: [&str; 5] = [
    "public data alone",
    "each site alone",
    "the sites together, each with its own noise",
    "the sites together, with one noise for all",
    "all records at one place",
];

/// Whether a dataset is split into sites.
pub fn has_sites(case: &Case) -> bool {
    CASES.iter().any(|it| it.dataset == case.name)
}

#[derive(Debug)]
pub struct SitesStudy {
    problems: Vec<LabelledProblem>,
    /// The rows: a case and the place of its problem.
    cases: Vec<(usize, &'static SitesCase)>,
    seeds: Vec<u64>,
}

/// The errors of one split: for each row of the table, those at every ε.
pub type SiteErrors = [[f64; EPSILONS.len()]; ROWS.len()];

impl SitesStudy {
    pub fn new(problems: Vec<LabelledProblem>, seeds: u64) -> Self {
        let of = |(at, problem): (usize, &LabelledProblem)| {
            let own = CASES.iter().filter(|case| case.dataset == problem.case.name);
            own.map(move |case| (at, case)).collect::<Vec<_>>()
        };
        let cases = problems.iter().enumerate().flat_map(of).collect();
        Self { problems, cases, seeds: (0..seeds).collect() }
    }

    pub fn grid(&self) -> Grid {
        let title = |(_, case): &(usize, &SitesCase)| match case.sites {
            Sites::Dealt(count @ 4..) => format!("{} at {count} sites", case.dataset),
            _ => case.dataset.to_owned(),
        };
        Grid::new(self.cases.iter().map(title), ["split"], &self.seeds)
    }

    pub fn measure(&self, place: GridTask<'_>) -> Result<Option<SiteErrors>> {
        let (at, case) = self.cases[place.row];
        let problem = &self.problems[at];
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
            for (row, may_collude) in [(2, None), (3, Some(1))] {
                let joint = Trial::run_together(&trials, may_collude)?.into_iter();
                errors[row][at] = error(&joint.map(|tried| tried.model).collect::<Vec<_>>())?;
            }
            let trial = splits[0].trial(method, noise, seed(sites));
            let whole = Trial { private: &private, ..trial }.run_sealed()?.model;
            errors[4][at] = error(&vec![whole; sites])?;
        }
        Ok(Some(errors))
    }

    pub fn tables(&self, harvest: &Harvest<SiteErrors>) -> Vec<StudyTable> {
        let table = |(row, (at, case)): (usize, &(usize, &SitesCase))| {
            let problem = &self.problems[*at];
            let cells = |kind: usize| {
                let cell = |at: usize| harvest.of(row, 0).map(move |it| it[kind][at]);
                TableRow::new(ROWS[kind], (0..EPSILONS.len()).map(cell))
            };
            let measure = match problem.case.task {
                Task::Regression => "root mean square error",
                Task::Classification => "share of wrong answers",
            };
            let title =
                format!("{} · {measure} (less is better)", of_case(problem.case, &case.sites));
            StudyTable::new(title, epsilon_columns(&EPSILONS), (0..ROWS.len()).map(cells))
        };
        self.cases.iter().enumerate().map(table).collect()
    }

    pub fn header(&self, missing: &[&str]) -> Vec<String> {
        let said = "Several sites train one model with public_shape at the ε of the column: with noise of \
             each, or with one noise for all while one site may tell its share.";
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
            Self::Dealt(count) => {
                let order = shuffled(private.rows(), &mut seeded(repetition));
                let part = |site: usize| {
                    let rows = order.iter().copied().skip(site).step_by(*count).take(MOST);
                    private.select(&rows.collect::<Vec<_>>())
                };
                (0..*count).map(part).collect()
            }
        }
    }
}

/// Who has what, in words.
fn of_case(case: &Case, sites: &Sites) -> String {
    match sites {
        Sites::Dealt(count) => {
            format!("{}: {}, dealt at random to {count} sites", case.name, case.target)
        }
        Sites::Parts(_) => format!("{} is public, the others are sites", case.target),
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
