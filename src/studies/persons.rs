//! The study of persons: the cost of protecting all records of a person, with a form of the method
//! that sums over persons and with group privacy.
//!
//! Half of the target's persons play the private ones, the rest are held out. The measure is the excess
//! error over the same method without noise, relative to the excess error of public data alone: 1
//! is no better than using no private data.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::grid::{Grid, GridTask, Harvest, epsilon_columns};
use super::labelled::{LabelledProblem, SplitModels};
use super::table::{ExpectedMean, SeedValues, StudyTable, TableRow};
use crate::data::persons::{WithoutUnit, by_person};
use crate::data::table::{seeded, shuffled};
use crate::data::{Dataset, Persons, Preparation, Table, Unit};
use crate::error::{Error, Result};
use crate::methods::Value;
use crate::methods::labelled::public_shape;
use crate::model::Model;
use crate::privacy::Target;
use crate::privacy::accountant::gaussian;
use halflight_advice::rehearsal::{ErrorMeasure, RehearsalNoise, Split, Trial};

/// A dataset's unit, and the most records of it that are used.
struct UnitCase {
    dataset: &'static str,
    /// The columns of the unit.
    unit: &'static str,
    most: usize,
    /// Whether the source plays the private role and the target the public one: for bikeshare, nine
    /// months of days instead of three.
    turned: bool,
    /// Most persons have few records, as patients have few visits; otherwise all that there are.
    few: bool,
}

const DAYS: UnitCase =
    UnitCase { dataset: "bikeshare", unit: "day", most: 24, turned: false, few: false };

const CASES: [UnitCase; 7] = [
    UnitCase { most: 5, ..DAYS },
    DAYS,
    UnitCase { most: 5, turned: true, ..DAYS },
    UnitCase { turned: true, ..DAYS },
    UnitCase { most: 5, turned: true, few: true, ..DAYS },
    UnitCase { turned: true, few: true, ..DAYS },
    UnitCase { dataset: "airline", unit: "month + day", most: 5, ..DAYS },
];

const METHODS: [&str; 2] = ["public_shape", "profiled_cnvx_adap"];

/// How persons are protected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Protection {
    /// The sum is over persons.
    Person,
    /// Records are protected, at 1/k of the person's ε, and a matching δ.
    Times,
    /// Records are protected so that k of them together have exactly the person's ε and δ.
    Group,
}

const FORMS: [(Protection, &str); 3] = [
    (Protection::Person, "persons added up"),
    (Protection::Group, "k records as a group"),
    (Protection::Times, "k times ε by hand"),
];

/// The number of records of a person, for the sentence about noise.
const MOST: usize = 24;

/// The goal: the excess of group privacy, relative to that of summing over persons.
const WANTED: f64 = 2.0;

/// Whether a dataset has a unit of persons.
pub fn has_unit(case: &super::labelled::Case) -> bool {
    CASES.iter().any(|it| it.dataset == case.name)
}

#[derive(Debug)]
pub struct PersonsStudy {
    problems: Vec<LabelledProblem>,
    /// These problems with the roles changed.
    turned: Vec<LabelledProblem>,
    epsilons: Vec<f64>,
    seeds: Vec<u64>,
}

/// The errors of one split, by form, then by ε.
#[derive(Debug, Clone)]
pub struct PersonErrors {
    excess: Vec<Vec<f64>>,
    /// Mean absolute errors relative to those of the same method without noise.
    absolute: Vec<Vec<Option<f64>>>,
}

impl PersonsStudy {
    pub fn new(problems: Vec<LabelledProblem>, quick: bool, seeds: u64) -> Self {
        let epsilons = if quick { vec![1.0, 4.0] } else { vec![0.5, 1.0, 2.0, 4.0] };
        let turned = problems.iter().map(LabelledProblem::turned).collect();
        Self { turned, problems, epsilons, seeds: (0..seeds).collect() }
    }

    fn cases(&self) -> Vec<(&UnitCase, &LabelledProblem)> {
        let of = |case: &'static UnitCase| {
            let problems = if case.turned { &self.turned } else { &self.problems };
            Some((case, problems.iter().find(|it| it.case.name == case.dataset)?))
        };
        CASES.iter().filter_map(of).collect()
    }

    pub fn grid(&self) -> Grid {
        let name = |case: &UnitCase| {
            let turned = if case.turned { ", roles changed" } else { "" };
            let few = if case.few { ", few of most" } else { "" };
            format!(
                "{}{turned}, by {}, at most {} records{few}",
                case.dataset, case.unit, case.most
            )
        };
        Grid::new(self.cases().iter().map(|(case, _)| name(case)), METHODS, &self.seeds)
    }

    pub fn measure(&self, place: GridTask<'_>) -> Result<Option<PersonErrors>> {
        let (case, problem) = self.cases()[place.row];
        let method = METHODS[place.column];
        let wide = method == "public_shape";
        let preparation = if wide { problem.wide_preparation()? } else { problem.preparation()? };
        let split = case.split(problem, preparation, place.repetition)?;
        let (delta, seed) = (problem.case.delta, place.seed());
        let absolute = |model: &Model| -> Result<Option<f64>> {
            Ok(split.measured(model)?.further.mean_absolute_error)
        };
        let error = |private: &Dataset, noise: RehearsalNoise, seed: u64| {
            let mut settings = BTreeMap::new();
            if let (false, RehearsalNoise::None(_)) = (wide, noise) {
                // A low threshold only serves against noise.
                settings.insert("kappa_scale".to_owned(), Value::Number(1.5));
            }
            let trial = Trial { settings, private, ..split.trial(method, noise, seed) };
            let model = trial.run_sealed()?.model;
            Ok::<_, Error>((split.loss(&model, ErrorMeasure::MeanSquare)?, absolute(&model)?))
        };
        let plenty = Target { epsilon: 100.0, delta };
        let (least, unit) = error(&split.private, RehearsalNoise::None(plenty), seed)?;
        let public = if wide {
            Model::Shape(public_shape::ground(&split.problem())?.shape.clone())
        } else {
            Split::exact(problem.case.task, &*split.public)?
        };
        let public = split.loss(&public, ErrorMeasure::MeanSquare)? - least;
        let records = Dataset { persons: None, ..split.private.clone() };
        let (mut excess, mut all) = (Vec::new(), Vec::new());
        for (form, _) in FORMS {
            let (mut errors, mut sizes) = (Vec::new(), Vec::new());
            for (at, epsilon) in self.epsilons.iter().enumerate() {
                let target = Target { epsilon: *epsilon, delta };
                let (private, target) = match form {
                    Protection::Person => (&split.private, target),
                    Protection::Times => (&records, times(target, case.most)),
                    Protection::Group => (&records, group(target, case.most)),
                };
                let (found, size) =
                    error(private, RehearsalNoise::For(target), seed.wrapping_add(at as u64))?;
                errors.push((found - least) / public);
                sizes.push(size.zip(unit).map(|(size, unit)| size / unit));
            }
            excess.push(errors);
            all.push(sizes);
        }
        Ok(Some(PersonErrors { excess, absolute: all }))
    }

    pub fn tables(&self, harvest: &Harvest<PersonErrors>) -> Vec<StudyTable> {
        let columns = epsilon_columns(&self.epsilons);
        let grid = self.grid();
        let mut tables = Vec::new();
        for (row, name) in grid.rows.iter().enumerate() {
            for (column, method) in grid.columns.iter().enumerate() {
                type Of<'a> = &'a dyn Fn(&PersonErrors, usize, usize) -> Option<f64>;
                let table = |title: String, of: Of| {
                    let row_of = |(form, (_, label)): (usize, &(Protection, &str))| {
                        let cell =
                            |k| harvest.of(row, column).filter_map(move |found| of(found, form, k));
                        TableRow::new(*label, (0..columns.len()).map(cell))
                    };
                    StudyTable::new(title, &columns, FORMS.iter().enumerate().map(row_of))
                };
                let title = format!("{name} · {method}");
                let absolute = format!("{title} · mean absolute error, without noise = 1");
                let absolute = table(absolute, &|it, form, k| it.absolute[form][k]);
                let mut table = table(title, &|it, form, k| Some(it.excess[form][k]));
                let by_hand: Vec<Option<f64>> =
                    table.rows[2].cells.iter().map(SeedValues::mean).collect();
                table.want(FORMS[0].1, |k| by_hand[k].map(|it| ExpectedMean::AtMost(it / WANTED)));
                tables.extend([table, absolute]);
            }
        }
        tables
    }

    pub fn header(&self, missing: &[&str]) -> Vec<String> {
        let mut header = vec![
            "Persons instead of records: squared error on the records of other persons, in excess \
             of the same method without noise. 1 is the excess of public data alone, so as good \
             as no private data at all."
                .to_owned(),
            "Goal: at most half the excess that k times ε has, worked out by hand.".to_owned(),
        ];
        let (first, last) = (self.epsilons.first(), self.epsilons.last());
        for problem in self.problems.iter().take(1) {
            let more = |epsilon: &f64| {
                let target = Target { epsilon: *epsilon, delta: problem.case.delta };
                let percent = 100.0 * (more_noise(target, MOST) - 1.0);
                format!("{percent:.1} % at ε = {epsilon}")
            };
            header.push(format!(
                "By hand, k times ε takes only a little more noise than persons added up (k = \
                 {MOST}: {}). More is gained only where slopes of one person's records cancel, so \
                 that persons are clipped at less than a record's length.",
                first.into_iter().chain(last).map(more).collect::<Vec<_>>().join(", ")
            ));
        }
        header.extend(super::not_found(missing));
        header
    }
}

impl UnitCase {
    fn split(
        &self,
        problem: &LabelledProblem,
        preparation: Preparation,
        seed: u64,
    ) -> Result<Split> {
        let unit = Unit::parse(self.unit).ok_or_else(|| Error::failed("a unit has no column"))?;
        let table = by_person(&problem.target, &unit, (self.most, WithoutUnit::OwnPerson), None)?;
        let table = if self.few { with_few_records(table, seed)? } else { table };
        let persons =
            table.persons.clone().ok_or_else(|| Error::failed("the table names no persons"))?;
        let mut order = shuffled(persons.count(), &mut seeded(seed));
        let others = order.split_off(persons.count() / 2);
        order.sort_unstable();
        let (rows, own) = persons.chosen(&order);
        let mut private = preparation.apply(&table.select(&rows)?, "private", true)?;
        private.persons = Some(Arc::new(own));
        let source = by_person(&problem.source, &unit, (usize::MAX, WithoutUnit::OwnPerson), None)?;
        let source = if self.few { with_few_records(source, seed)? } else { source };
        let public = preparation.apply(&source, "public", true)?;
        let held_out = table.select(&persons.chosen(&others).0)?;
        Ok(Split {
            public: crate::data::PublicRecords::from(public).by_person(source.persons),
            private,
            held_out: preparation.apply_for_evaluation(&held_out, "judges")?,
            preparation,
        })
    }
}

/// A table's persons with fewer records: of n persons, the j-th by chance keeps n/j at most. So
/// half of them have one record, a quarter two or three, and some have many.
fn with_few_records(table: Table, seed: u64) -> Result<Table> {
    let Some(persons) = &table.persons else { return Ok(table) };
    let mut most = vec![0; persons.count()];
    for (rank, person) in shuffled(persons.count(), &mut seeded(seed)).into_iter().enumerate() {
        most[person] = persons.count() / (rank + 1);
    }
    // Records of a person stand in random order.
    let kept = persons.iter().zip(most).map(|(own, most)| own.start..own.end.min(own.start + most));
    let kept: Vec<_> = kept.collect();
    let fewer = Persons::of_counts(kept.iter().map(ExactSizeIterator::len));
    let rows: Vec<usize> = kept.into_iter().flatten().collect();
    Ok(table.select(&rows)?.of_persons(fewer))
}

/// If every record has this guarantee, k of them together have the one that is asked for:
/// k·ε and δ·(e^{kε} − 1)/(e^ε − 1).
fn times(target: Target, k: usize) -> Target {
    let epsilon = target.epsilon / k as f64;
    let delta = target.delta * epsilon.exp_m1() / target.epsilon.exp_m1();
    Target { epsilon, delta }
}

/// How many times more noise the same guarantee takes with [`times`] than with a sum over persons.
fn more_noise(target: Target, k: usize) -> f64 {
    let mu = |target: Target| gaussian::mu(target.epsilon, target.delta);
    mu(target) / (k as f64 * mu(times(target, k)))
}

/// The guarantee of a group of k records under Gaussian noise, exactly: k records move the sum k times as far.
fn group(target: Target, k: usize) -> Target {
    let Target { epsilon, delta } = target;
    Target { epsilon: gaussian::epsilon(gaussian::mu(epsilon, delta) / k as f64, delta), delta }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn most_persons_keep_few_records() {
        let column = crate::data::Column::Numbers((0..1000).map(f64::from).collect());
        let table = Table::of_rows("t.csv", vec!["x".to_owned()], vec![column]).unwrap();
        let fewer =
            with_few_records(table.of_persons(Persons::of_counts(vec![10; 100])), 3).unwrap();
        let persons = fewer.persons.as_ref().unwrap();
        let with = |count: usize| persons.iter().filter(|own| own.len() == count).count();
        assert_eq!((persons.count(), with(0), with(1), with(2)), (100, 0, 50, 17));
        assert_eq!((with(10), persons.records()), (10, fewer.rows()));
    }

    #[test]
    fn by_hand_a_record_gets_less_than_the_exact_curve_leaves_it() {
        for (epsilon, k) in [(0.5, 5), (1.0, 24), (4.0, 24)] {
            let target = Target { epsilon, delta: 1e-5 };
            let (by_hand, exact) = (times(target, k), group(target, k));
            let mu = |target: Target| gaussian::mu(target.epsilon, target.delta);
            assert!(mu(by_hand) < mu(exact), "{epsilon} {k}");
            assert!((mu(exact) * k as f64 / mu(target) - 1.0).abs() < 1e-6);
            let more = more_noise(Target { epsilon, delta: 1e-5 }, k);
            assert!((1.0..1.04).contains(&more), "{more}");
        }
    }
}
