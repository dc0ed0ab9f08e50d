//! Cases: which public rows play the private records, and which stay public.

use std::collections::{BTreeMap, BTreeSet};

use rand::rngs::ChaCha20Rng;
use rand::{RngExt, SeedableRng};

use super::CANNOT_PLAY;
use super::trust::{numbers, traced};
use crate::data::column::{Cell, Column};
use crate::data::{Dataset, Preparation, Table, Task};
use crate::error::Result;
use crate::methods::baselines::reference::DEFAULT_RIDGE;
use crate::numeric::least_squares::NormalEquations;
use crate::numeric::principal::Principal;
use crate::numeric::{Matrix, Vector};

/// Fewer records or persons are not enough to train or to evaluate.
pub const FEWEST_ACTING: usize = 60;
pub const FEWEST_PERSONS: usize = 30;

/// The rest must be enough to represent the public data.
const MOST_ACTING_SHARE: f64 = 0.67;

/// The most values of one column that play in turn.
const MOST_VALUES: usize = 6;

/// A column with more different numbers is cut into parts of equal size.
const MOST_SINGLE_VALUES: usize = 12;

/// If datasets and known shifts give fewer cases than this, slices are added.
const FEWEST: usize = 3;
const WANTED: usize = 6;

/// The number of records for estimating the strength of a shift.
const COMPARED: usize = 4000;

/// The number of records for finding principal directions.
const SPANNING: usize = 600;

/// Public rows in the private role, by their indices in the pooled table.
#[derive(Debug, Clone, PartialEq)]
pub struct Case {
    /// A title such as `season 2` or `hospital-b`.
    pub title: String,
    pub kind: CaseKind,
    pub acting: Vec<usize>,
    pub public: Vec<usize>,
}

/// The reason for these rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum CaseKind {
    /// The rows are a dataset of their own.
    Dataset,
    /// The rows differ in a column that separates public and private data.
    Shift,
    /// The rows differ in some column.
    Slice,
}

impl Case {
    /// Why it cannot be played: a run would refuse it, or never meet it.
    fn trouble(&self, classes: &[usize]) -> Option<&'static str> {
        let among = |rows: &[usize]| rows.iter().map(|row| classes[*row]).collect::<BTreeSet<_>>();
        let (acting, public) = (among(&self.acting), among(&self.public));
        if acting.len() < 2 {
            Some("it has one class alone")
        } else if public.len() < 2 {
            Some("the others have one class alone")
        } else if !acting.is_subset(&public) {
            Some("the others lack one of its classes")
        } else {
            None
        }
    }

    /// A name that is unique, even if a dataset has the name of a part of another.
    pub fn name(&self) -> String {
        format!("{:?}: {}", self.kind, self.title)
    }

    /// The case with nobody on both sides, as in a run: if somebody would be, a coin decides
    /// whether the acting or the public rows are kept. `None` if too few persons are left.
    pub fn of_persons(self, whose: &[usize]) -> Option<Self> {
        let persons = |rows: &[usize]| rows.iter().map(|row| whose[*row]).collect::<BTreeSet<_>>();
        let (acting, public) = (persons(&self.acting), persons(&self.public));
        let mut coins = ChaCha20Rng::seed_from_u64(0);
        let both = acting.intersection(&public);
        let acts: BTreeMap<usize, bool> = both.map(|who| (*who, coins.random())).collect();
        let stays = |acting: bool| {
            let acts = &acts;
            move |row: &usize| acts.get(&whose[*row]).is_none_or(|acts| *acts == acting)
        };
        let acting: Vec<usize> = self.acting.into_iter().filter(stays(true)).collect();
        let public: Vec<usize> = self.public.into_iter().filter(stays(false)).collect();
        let case = Self { acting, public, ..self };
        let enough = case.acting.len() >= FEWEST_ACTING
            && case.acting_persons(whose) >= FEWEST_PERSONS
            && persons(&case.public).len() >= FEWEST_PERSONS;
        enough.then_some(case)
    }

    /// The number of acting persons.
    pub fn acting_persons(&self, whose: &[usize]) -> usize {
        self.acting.iter().map(|row| whose[*row]).collect::<BTreeSet<_>>().len()
    }
}

/// The known differences between public and private records.
#[derive(Debug, Clone, Copy)]
pub struct Differences<'a> {
    /// The columns by which filters separate them.
    pub shifted: &'a [String],
    /// Declared means of private columns.
    pub means: &'a BTreeMap<String, f64>,
}

/// What the columns of a table are for. The label and the columns that identify persons make no cases.
#[derive(Debug, Clone, Copy)]
pub struct Roles<'a> {
    pub label: &'a str,
    /// The columns that are features. Only these make slices: a column that the user left out may be the
    /// label under another name.
    pub features: &'a [String],
    /// The columns that identify persons.
    pub unit: &'a [String],
    /// The person of each row, where persons play.
    pub whose: Option<&'a [usize]>,
}

impl Roles<'_> {
    fn has(&self, name: &str) -> bool {
        name == self.label || self.unit.iter().any(|column| column == name)
    }

    /// The features that no known difference has.
    fn may_be_cut(&self, name: &String, shifted: &[String]) -> bool {
        self.features.contains(name) && !self.has(name) && !shifted.contains(name)
    }
}

/// The cases that play, and why others do not.
#[derive(Debug, Default)]
pub struct FoundCases {
    pub cases: Vec<Case>,
    pub left_out: Vec<String>,
}

impl FoundCases {
    fn take(&mut self, found: impl IntoIterator<Item = Case>, classes: Option<&[usize]>) {
        for case in found {
            match classes.and_then(|classes| case.trouble(classes)) {
                None => self.cases.push(case),
                Some(why) => self.leave_out(&case.title, why),
            }
        }
    }

    fn leave_out(&mut self, title: &str, why: &str) {
        self.left_out.push(format!("'{title}'{CANNOT_PLAY}{why}."));
    }

    /// The cases with nobody on both sides.
    fn of_persons(self, whose: &[usize], classes: Option<&[usize]>) -> Self {
        let mut found = Self { cases: Vec::new(), left_out: self.left_out };
        for case in self.cases {
            let title = case.title.clone();
            match case.of_persons(whose) {
                Some(case) => found.take([case], classes),
                None => {
                    found.leave_out(&title, "with nobody on both sides, too few persons are left");
                }
            }
        }
        found
    }
}

/// Every case that the public rows offer. `owners` gives the dataset of each row.
pub fn cases(
    table: &Table,
    (owners, datasets): (&[usize], &[String]),
    Differences { shifted, means }: Differences<'_>,
    roles: Roles<'_>,
    preparation: &Preparation,
) -> Result<FoundCases> {
    let mut found = FoundCases::default();
    let classes = classes(table, roles.label, preparation)?;
    let classes = classes.as_deref();
    if datasets.len() > 1 {
        for (at, name) in datasets.iter().enumerate() {
            match case(name.clone(), CaseKind::Dataset, owners, at) {
                Some(case) => found.take([case], classes),
                None => found.leave_out(name, trouble_of_size(owners, at)),
            }
        }
    }
    for name in shifted.iter().filter(|name| !roles.has(name) && table.has(name)) {
        for part in parts(table, name, CaseKind::Shift)? {
            // If there is a dataset for each value, it plays once, under its own name.
            if !found.cases.iter().any(|known| known.acting == part.acting) {
                found.take([part], classes);
            }
        }
    }
    found.take(declared(table, means, roles.label), classes);
    if found.cases.len() < FEWEST {
        let wanted = WANTED - found.cases.len();
        let cut = table.names.iter().filter(|name| roles.may_be_cut(name, shifted));
        found.take(slices(table, cut, preparation, wanted)?, classes);
    }
    if found.cases.len() < FEWEST {
        found.take(ends(table, preparation, WANTED - found.cases.len())?, classes);
    }
    Ok(match roles.whose {
        Some(whose) => found.of_persons(whose, classes),
        None => found,
    })
}

/// The class of every row, by its index among the values of the label; `None` if labels are
/// numbers.
fn classes(table: &Table, label: &str, preparation: &Preparation) -> Result<Option<Vec<usize>>> {
    if preparation.task() != Task::Classification {
        return Ok(None);
    }
    let column = table.column(label)?;
    Ok(Some(numbered(column, &column.values())))
}

/// The value of every row, by its index among the values of the column.
fn numbered(column: &Column, values: &[(Cell<'_>, usize)]) -> Vec<usize> {
    let numbers: BTreeMap<&Cell<'_>, usize> =
        values.iter().enumerate().map(|(at, (cell, _))| (cell, at)).collect();
    column.cells().map(|cell| numbers[&cell]).collect()
}

/// The rows of one group, if there are enough and not too many of them.
fn case(title: String, kind: CaseKind, groups: &[usize], group: usize) -> Option<Case> {
    let (acting, public): (Vec<usize>, Vec<usize>) =
        (0..groups.len()).partition(|row| groups[*row] == group);
    let fits = acting.len() >= FEWEST_ACTING
        && acting.len() as f64 <= MOST_ACTING_SHARE * groups.len() as f64;
    fits.then_some(Case { title, kind, acting, public })
}

/// Why a group cannot be played that is too small or too large.
fn trouble_of_size(groups: &[usize], group: usize) -> &'static str {
    let count = groups.iter().filter(|of| **of == group).count();
    if count < FEWEST_ACTING { "it has too few records" } else { "the others have too few records" }
}

/// The values of a column, each in turn.
fn parts(table: &Table, name: &str, kind: CaseKind) -> Result<Vec<Case>> {
    let column = table.column(name)?;
    let Some((groups, titles)) = grouped(column, name, MOST_VALUES) else { return Ok(Vec::new()) };
    let all = titles.into_iter().enumerate();
    let mut cases: Vec<Case> =
        all.filter_map(|(group, title)| case(title, kind, &groups, group)).collect();
    // Spread over the values if there are many.
    let stride = cases.len().div_ceil(MOST_VALUES).max(1);
    let mut at = 0..;
    cases.retain(|_| at.next().is_some_and(|at| at % stride == 0));
    Ok(cases)
}

/// The group of every row, and a title for each: one per value, or parts of equal size for a column
/// with many numbers. `None` for a column without groups, such as names.
fn grouped(column: &Column, name: &str, parts: usize) -> Option<(Vec<usize>, Vec<String>)> {
    if matches!(column, Column::Vectors(_)) {
        return None;
    }
    let values = column.values();
    let few = values.len() <= MOST_SINGLE_VALUES;
    if few || !column.is_mostly_numbers() {
        let large = values.iter().filter(|(_, count)| *count >= FEWEST_ACTING);
        if !few && large.count() < 2 {
            return None;
        }
        let titles = values.iter().map(|(cell, _)| format!("{name} {}", words(cell)));
        return Some((numbered(column, &values), titles.collect()));
    }
    let numbers = numbers(column);
    let mut sorted: Vec<f64> = numbers.iter().copied().filter(|x| x.is_finite()).collect();
    sorted.sort_by(f64::total_cmp);
    let cut = |part: usize| sorted[part * sorted.len() / parts];
    let cuts: Vec<f64> = (1..parts).map(cut).collect();
    let group = |x: &f64| if x.is_finite() { cuts.partition_point(|cut| cut <= x) } else { parts };
    let title = |part: usize| match part {
        0 => format!("{name} below {}", cuts[0]),
        part if part + 1 == parts => format!("{name} from {}", cuts[part - 1]),
        part => format!("{name} from {} to {}", cuts[part - 1], cuts[part]),
    };
    Some((numbers.iter().map(group).collect(), (0..parts).map(title).collect()))
}

fn words(cell: &Cell<'_>) -> String {
    match cell {
        Cell::Number(x) => x.to_string(),
        Cell::Text(text) if text.is_empty() => "missing".to_owned(),
        Cell::Text(text) => text.clone().into_owned(),
        Cell::Vector(_) => String::new(),
    }
}

/// The slices on which a linear model of the other rows is worst, compared with their own:
/// adaptation is for such shifts. Each column gives its worse end.
fn slices<'a>(
    table: &Table,
    columns: impl Iterator<Item = &'a String>,
    preparation: &Preparation,
    wanted: usize,
) -> Result<Vec<Case>> {
    let stride = table.rows().div_ceil(COMPARED).max(1);
    let rows: Vec<usize> = (0..table.rows()).step_by(stride).collect();
    let some = preparation.apply(&table.excerpt(&rows)?, "public", true)?;
    let answers = answers(&some);
    let mut found: Vec<(f64, Case)> = Vec::new();
    for name in columns {
        let Some((groups, titles)) = grouped(table.column(name)?, name, 3) else { continue };
        let of: Vec<usize> = rows.iter().map(|row| groups[*row]).collect();
        let cases = titles.into_iter().enumerate().filter_map(|(group, title)| {
            let case = case(title, CaseKind::Slice, &groups, group)?;
            Some((strength(&some.features, &answers, &of, group)?, case))
        });
        found.extend(cases.max_by(|one, other| one.0.total_cmp(&other.0)));
    }
    found.sort_by(|one, other| other.0.total_cmp(&one.0));
    Ok(found.into_iter().take(wanted).map(|(_, case)| case).collect())
}

/// The third of the rows that is farthest along the direction from the public means to the declared
/// private ones. By the declaration they are most like the private rows.
fn declared(table: &Table, means: &BTreeMap<String, f64>, label: &str) -> Option<Case> {
    let of_label = |name: &String| name == label || name.starts_with(&format!("{label}="));
    let means = means.iter().filter(|(name, _)| !of_label(name));
    let known = traced(table, &means.map(|(name, mean)| (name.clone(), *mean)).collect());
    let along = |row: usize| known.iter().map(|it| it.declared * it.places[row]).sum::<f64>();
    let places: Vec<f64> = (0..table.rows()).map(along).collect();
    let differ = places.iter().any(|place| *place != places[0]);
    let title = "rows most like the declared means".to_owned();
    differ.then(|| case(title, CaseKind::Shift, &thirds(&places), 2))?
}

/// If no column separates enough groups, as in tables of images: the third of the records that is
/// farthest out along a principal direction of the features, and the third at its other end.
fn ends(table: &Table, preparation: &Preparation, wanted: usize) -> Result<Vec<Case>> {
    let prepared = |rows: &[usize]| preparation.apply(&table.excerpt(rows)?, "public", true);
    let stride = table.rows().div_ceil(SPANNING).max(1);
    let some: Vec<usize> = (0..table.rows()).step_by(stride).collect();
    let main = Principal::centred(&prepared(&some)?.features, wanted.div_ceil(2));
    let Some((_, Principal { directions, .. })) = main else { return Ok(Vec::new()) };
    let mut places: Vec<Vec<f64>> = vec![Vec::new(); directions.ncols()];
    let rows: Vec<usize> = (0..table.rows()).collect();
    for block in rows.chunks(COMPARED) {
        let features = prepared(block)?.features;
        for (places, direction) in places.iter_mut().zip(directions.column_iter()) {
            places.extend(features.tr_mul(&direction).iter());
        }
    }
    let mut found = Vec::new();
    for (number, places) in (1..).zip(&places) {
        let groups = thirds(places);
        for (end, group) in [("one end", 2), ("the other end", 0)] {
            let title = format!("{end} of main direction {number}");
            found.extend(case(title, CaseKind::Slice, &groups, group));
        }
    }
    found.truncate(wanted);
    Ok(found)
}

/// 0 for the least third, 2 for the largest.
fn thirds(numbers: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..numbers.len()).collect();
    order.sort_by(|one, other| numbers[*one].total_cmp(&numbers[*other]));
    let mut groups = vec![0; numbers.len()];
    for (place, row) in order.into_iter().enumerate() {
        groups[row] = 3 * place / numbers.len();
    }
    groups
}

/// One row per output: the labels, or indicators of the classes.
fn answers(data: &Dataset) -> Matrix {
    match (&data.target, &data.classes) {
        (Some(target), _) => Matrix::from_row_slice(1, target.len(), target),
        (None, Some(classes)) => Matrix::from_fn(classes.names.len(), data.len(), |class, at| {
            f64::from(u8::from(classes.of[at] as usize == class))
        }),
        (None, None) => Matrix::zeros(1, data.len()),
    }
}

/// How much worse a linear model of the other records is on a group than the group's own model.
fn strength(features: &Matrix, answers: &Matrix, of: &[usize], group: usize) -> Option<f64> {
    let (ours, others): (Vec<usize>, Vec<usize>) = (0..of.len()).partition(|at| of[*at] == group);
    // Fewer would fit their own model too well.
    let spare = ours.len().checked_sub(2 * features.nrows()).filter(|spare| *spare > 0)?;
    let freedom = (spare + features.nrows()) as f64 / ours.len() as f64;
    let part = |at: &[usize]| (features.select_columns(at), answers.select_columns(at));
    let ((ours, truth), (others, taught)) = (part(&ours), part(&others));
    let (mut own, mut foreign) = (0.0, 0.0);
    for output in 0..answers.nrows() {
        let truth: Vec<f64> = truth.row(output).iter().copied().collect();
        let taught: Vec<f64> = taught.row(output).iter().copied().collect();
        let loss = |w: &Vector| {
            let scores = ours.tr_mul(w);
            scores.iter().zip(&truth).map(|(score, truth)| (score - truth).powi(2)).sum::<f64>()
        };
        own += loss(&NormalEquations::mean(&ours, &truth).ridge(100.0 * DEFAULT_RIDGE)?);
        foreign += loss(&NormalEquations::mean(&others, &taught).ridge(100.0 * DEFAULT_RIDGE)?);
    }
    Some(foreign * freedom / own.max(1e-12))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::vectors::{Values, Vectors};
    use crate::data::{DatasetDefinition, PreparationSettings, Role, Source};

    fn records(features: &[String]) -> Roles<'_> {
        Roles { label: "label", features, unit: &[], whose: None }
    }

    fn features() -> [String; 3] {
        ["season", "size", "turn"].map(str::to_owned)
    }

    /// 400 rows: four seasons, a number, a name for every row, and a label that depends on `turn`.
    fn table() -> (Table, Preparation) {
        let rows = 0..400_usize;
        let season = rows.clone().map(|row| (row % 4) as f64).collect();
        let size: Vec<f64> = rows.clone().map(|row| (row * 37 % 101) as f64).collect();
        let turn: Vec<f64> = rows.clone().map(|row| (row * 53 % 97) as f64).collect();
        let label = size.iter().zip(&turn).map(|(x, t)| if *t >= 64.0 { -x } else { *x }).collect();
        let names = rows.clone().map(|row| format!("n{row}")).collect();
        let columns = vec![
            Column::Numbers(season),
            Column::Numbers(size.into()),
            Column::Numbers(turn.into()),
            Column::Text(names),
            Column::Numbers(label),
        ];
        let titles = ["season", "size", "turn", "name", "label"].map(str::to_owned).to_vec();
        let lines = rows.map(|row| row as u64 + 2).collect();
        let table = Table::new("t.csv", titles, columns, lines).unwrap();
        let mut definition =
            DatasetDefinition::new("t", Role::Public, Source::File("t.csv".to_owned()));
        definition.label = Some("label".to_owned());
        definition.columns = crate::data::Columns::Only(features().to_vec());
        let settings = PreparationSettings::default();
        let preparation = Preparation::fit(&table, &definition, &settings).unwrap();
        (table, preparation)
    }

    fn titles(owners: &[usize], datasets: &[&str], shifted: &[&str]) -> Vec<(String, CaseKind)> {
        declaring(owners, datasets, shifted, &BTreeMap::new())
    }

    fn declaring(
        owners: &[usize],
        datasets: &[&str],
        shifted: &[&str],
        means: &BTreeMap<String, f64>,
    ) -> Vec<(String, CaseKind)> {
        let (table, preparation) = table();
        let datasets: Vec<String> = datasets.iter().map(|name| (*name).to_owned()).collect();
        let shifted: Vec<String> = shifted.iter().map(|name| (*name).to_owned()).collect();
        let differences = Differences { shifted: &shifted, means };
        let owners = (owners, datasets.as_slice());
        let features = features();
        let roles = records(&features);
        let found = cases(&table, owners, differences, roles, &preparation).unwrap().cases;
        for case in &found {
            let mut all = [case.acting.as_slice(), &case.public].concat();
            all.sort_unstable();
            assert_eq!(all, (0..400).collect::<Vec<_>>(), "{}", case.title);
            assert!(case.acting.len() >= FEWEST_ACTING);
        }
        found.into_iter().map(|case| (case.title, case.kind)).collect()
    }

    #[test]
    fn datasets_and_the_column_of_a_filter_play_first() {
        let owners: Vec<usize> = (0..400).map(|row| row / 150).collect();
        let found = titles(&owners, &["a", "b", "c"], &["season", "gone"]);
        let datasets: Vec<&str> = found
            .iter()
            .filter(|(_, kind)| *kind == CaseKind::Dataset)
            .map(|(title, _)| title.as_str())
            .collect();
        assert_eq!(datasets, ["a", "b", "c"]);
        let shifts: Vec<&str> = found
            .iter()
            .filter(|(_, kind)| *kind == CaseKind::Shift)
            .map(|(title, _)| title.as_str())
            .collect();
        assert_eq!(shifts, ["season 0", "season 1", "season 2", "season 3"]);
        assert_eq!(found.len(), 7);
    }

    #[test]
    fn datasets_that_are_the_values_of_that_column_play_once() {
        let (table, _) = table();
        let seasons = table.column("season").unwrap();
        let owners: Vec<usize> = seasons
            .cells()
            .map(|cell| if let Cell::Number(season) = cell { season as usize } else { 0 })
            .collect();
        let found = titles(&owners, &["a", "b", "c", "d"], &["season"]);
        assert_eq!(found.len(), 4, "{found:?}");
        assert!(found.iter().all(|(_, kind)| *kind == CaseKind::Dataset), "{found:?}");
    }

    #[test]
    fn one_dataset_is_cut_where_a_model_of_the_rest_is_worst() {
        let found = titles(&[0; 400], &["only"], &[]);
        assert!(found[0].0.starts_with("turn") && found[0].1 == CaseKind::Slice, "{found:?}");
        assert!(found.iter().all(|(title, _)| !title.contains("name")), "{found:?}");
    }

    #[test]
    fn a_column_that_is_no_feature_is_not_cut_and_nothing_is_said_of_it() {
        let (table, preparation) = table();
        let differences = Differences { shifted: &[], means: &BTreeMap::new() };
        let owners = (&[0; 400][..], &["only".to_owned()][..]);
        let [_, size, turn] = features();
        for (features, is_cut) in [(vec![size.clone(), turn], true), (vec![size], false)] {
            let roles = records(&features);
            let found = cases(&table, owners, differences, roles, &preparation).unwrap();
            let cut = found.cases.iter().any(|case| case.title.starts_with("turn"));
            assert_eq!(cut, is_cut, "{found:?}");
            assert!(found.left_out.is_empty(), "{found:?}");
        }
    }

    #[test]
    fn rows_like_the_declared_private_ones_play() {
        let means = BTreeMap::from([("size".to_owned(), 90.0)]);
        let found = declaring(&[0; 400], &["only"], &[], &means);
        assert_eq!(found[0], ("rows most like the declared means".to_owned(), CaseKind::Shift));
        // A declaration about the label alone is not a shift of the features.
        let means = BTreeMap::from([("label".to_owned(), 90.0)]);
        assert_eq!(declaring(&[0; 400], &["only"], &[], &means), titles(&[0; 400], &["only"], &[]));
        let (table, _) = table();
        let case = declared(&table, &BTreeMap::from([("size".to_owned(), 90.0)]), "label").unwrap();
        let Column::Numbers(sizes) = table.column("size").unwrap() else { panic!() };
        let least = case.acting.iter().map(|row| sizes.get(*row)).fold(f64::INFINITY, f64::min);
        assert!(case.public.iter().all(|row| sizes.get(*row) <= least));
    }

    #[test]
    fn where_no_column_makes_groups_the_ends_of_main_directions_play() {
        let vector = |row: u32| {
            let (long, short) = (f64::from(row * 37 % 101), f64::from(row * 53 % 97));
            [long, 0.1 * short, long + 0.1 * short]
        };
        let vectors = Vectors::new(3, Values::F64((0..300).flat_map(vector).collect())).unwrap();
        let labels = (0..300).map(|row| f64::from(row % 7)).collect();
        let columns = vec![Column::Vectors(vectors), Column::Numbers(labels)];
        let names = ["pixels", "label"].map(str::to_owned).to_vec();
        let table = Table::new("t.npz", names, columns, (0..300).collect()).unwrap();
        let mut definition =
            DatasetDefinition::new("t", Role::Public, Source::File("t.npz".to_owned()));
        definition.label = Some("label".to_owned());
        let settings = PreparationSettings::default();
        let preparation = Preparation::fit(&table, &definition, &settings).unwrap();
        let (owners, datasets) = (vec![0; 300], ["only".to_owned()]);
        let differences = Differences { shifted: &[], means: &BTreeMap::new() };
        let owners = (owners.as_slice(), datasets.as_slice());
        let features = ["pixels".to_owned()];
        let roles = records(&features);
        let found = cases(&table, owners, differences, roles, &preparation).unwrap().cases;
        assert!(found.len() >= FEWEST, "{found:?}");
        assert_eq!(found[0].title, "one end of main direction 1");
        assert!(found.iter().all(|case| case.acting.len() == 100));
        assert!(found[0].acting.iter().all(|row| !found[1].acting.contains(row)));
    }

    #[test]
    fn sets_of_one_class_and_with_classes_of_their_own_do_not_play_and_it_is_said() {
        // `a` and `b` have both classes, `c` has one, and `d` has a third of its own.
        let class = |row: usize| match row / 100 {
            2 => "no",
            3 if row.is_multiple_of(2) => "perhaps",
            _ if row.is_multiple_of(2) => "yes",
            _ => "no",
        };
        let labels = Column::Text((0..400).map(|row| class(row).to_owned()).collect());
        let sizes = Column::Numbers((0..400_usize).map(|row| (row * 37 % 101) as f64).collect());
        let names = ["size", "label"].map(str::to_owned).to_vec();
        let table = Table::new("t.csv", names, vec![sizes, labels], (2..402).collect()).unwrap();
        let mut definition =
            DatasetDefinition::new("t", Role::Public, Source::File("t.csv".to_owned()));
        definition.label = Some("label".to_owned());
        definition.task = Task::Classification;
        let settings = PreparationSettings::default();
        let preparation = Preparation::fit(&table, &definition, &settings).unwrap();
        let owners: Vec<usize> = (0..400).map(|row| row / 100).collect();
        let datasets = ["a", "b", "c", "d"].map(str::to_owned);
        let differences = Differences { shifted: &[], means: &BTreeMap::new() };
        let features = ["size".to_owned()];
        let (owners, roles) = ((owners.as_slice(), datasets.as_slice()), records(&features));
        let found = cases(&table, owners, differences, roles, &preparation).unwrap();
        let titles: Vec<&str> = found.cases.iter().map(|case| case.title.as_str()).collect();
        assert_eq!(titles[..2], ["a", "b"]);
        assert!(!titles.contains(&"c") && !titles.contains(&"d"), "{titles:?}");
        assert_eq!(
            found.left_out[..2],
            [
                "'c' cannot play the private role: it has one class alone.",
                "'d' cannot play the private role: the others lack one of its classes."
            ]
        );
    }

    #[test]
    fn a_group_that_is_too_small_or_nearly_everything_does_not_play() {
        let few: Vec<usize> = (0..400).map(|row| usize::from(row < FEWEST_ACTING - 1)).collect();
        assert!(case("few".to_owned(), CaseKind::Slice, &few, 1).is_none());
        assert!(case("nearly all".to_owned(), CaseKind::Slice, &few, 0).is_none());
    }
}
