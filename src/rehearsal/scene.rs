//! Scenes: which public rows play the private records, and which stay public.

use std::collections::BTreeMap;

use crate::adapt::baselines::reference::DEFAULT_RIDGE;
use crate::data::column::{Cell, Column};
use crate::data::{Dataset, Preparation, Table};
use crate::error::Result;
use crate::numeric::least_squares::NormalEquations;
use crate::numeric::{Matrix, Vector};

/// Fewer records can neither be learned from nor judge.
pub const FEWEST_ACTING: usize = 60;

/// The others must be able to stand for the public data.
const MOST_ACTING_SHARE: f64 = 0.67;

/// Values of one column that play in turn, at most.
const MOST_VALUES: usize = 6;

/// A column of more different numbers is cut into parts of equal size.
const MOST_SINGLE_VALUES: usize = 12;

/// How many scenes are wanted; if datasets and known shifts make fewer, slices fill up.
const WANTED: usize = 6;

/// Records by which the strength of a shift is estimated.
const COMPARED: usize = 4000;

/// Public rows in the private role, by their numbers in the pooled table.
#[derive(Debug, Clone, PartialEq)]
pub struct Scene {
    /// A title such as `season 2` or `hospital-b`.
    pub title: String,
    pub kind: SceneKind,
    pub acting: Vec<usize>,
    pub public: Vec<usize>,
}

/// Why these rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SceneKind {
    /// They are a dataset of their own.
    Dataset,
    /// They differ in a column by which public and private data were told apart.
    Shift,
    /// They differ in some column.
    Slice,
}

impl Scene {
    /// Unlike any other scene's, where a dataset is called like a part of one.
    pub fn name(&self) -> String {
        format!("{:?}: {}", self.kind, self.title)
    }
}

impl SceneKind {
    pub fn words(self) -> &'static str {
        match self {
            Self::Dataset => "a public dataset",
            Self::Shift => "a part by the column that your filters name",
            Self::Slice => "a slice of the public data",
        }
    }
}

/// Every scene that the public rows offer. `owners` tells which dataset each row belongs to;
/// `shifted` names the columns that filters tell public and private records apart by.
pub fn scenes(
    table: &Table,
    (owners, datasets): (&[usize], &[String]),
    shifted: &[String],
    label: &str,
    preparation: &Preparation,
) -> Result<Vec<Scene>> {
    let mut found = Vec::new();
    if datasets.len() > 1 {
        for (at, name) in datasets.iter().enumerate() {
            found.extend(scene(name.clone(), SceneKind::Dataset, owners, at));
        }
    }
    for name in shifted.iter().filter(|name| name.as_str() != label && table.has(name)) {
        for part in parts(table, name, SceneKind::Shift)? {
            // A dataset for each value plays once, under its own name.
            if !found.iter().any(|known: &Scene| known.acting == part.acting) {
                found.push(part);
            }
        }
    }
    if found.len() < WANTED / 2 {
        found.extend(slices(table, label, shifted, preparation, WANTED - found.len())?);
    }
    Ok(found)
}

/// The rows of one group, where there are enough and not too many of them.
fn scene(title: String, kind: SceneKind, groups: &[usize], group: usize) -> Option<Scene> {
    let (acting, public): (Vec<usize>, Vec<usize>) =
        (0..groups.len()).partition(|row| groups[*row] == group);
    let fits = acting.len() >= FEWEST_ACTING
        && acting.len() as f64 <= MOST_ACTING_SHARE * groups.len() as f64;
    fits.then_some(Scene { title, kind, acting, public })
}

/// The values of a column, each in turn.
fn parts(table: &Table, name: &str, kind: SceneKind) -> Result<Vec<Scene>> {
    let column = table.column(name)?;
    let Some((groups, titles)) = grouped(column, name, MOST_VALUES) else { return Ok(Vec::new()) };
    let all = titles.into_iter().enumerate();
    let mut scenes: Vec<Scene> =
        all.filter_map(|(group, title)| scene(title, kind, &groups, group)).collect();
    // Spread over the values where there are many.
    let stride = scenes.len().div_ceil(MOST_VALUES).max(1);
    let mut at = 0..;
    scenes.retain(|_| at.next().is_some_and(|at| at % stride == 0));
    Ok(scenes)
}

/// The group of every row, and a title for each: one per value, or parts of equal size of a
/// column of many numbers. `None` of a column that makes no groups, such as one of names.
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
        let numbers: BTreeMap<Cell<'_>, usize> =
            values.iter().enumerate().map(|(at, (cell, _))| (*cell, at)).collect();
        let groups = column.cells().map(|cell| numbers[&cell]).collect();
        let titles = values.iter().map(|(cell, _)| format!("{name} {}", words(*cell)));
        return Some((groups, titles.collect()));
    }
    let number = |cell: Cell<'_>| if let Cell::Number(x) = cell { x } else { f64::NAN };
    let numbers: Vec<f64> = column.cells().map(number).collect();
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

fn words(cell: Cell<'_>) -> String {
    match cell {
        Cell::Number(x) => x.to_string(),
        Cell::Text("") => "missing".to_owned(),
        Cell::Text(text) => text.to_owned(),
        Cell::Vector(_) => String::new(),
    }
}

/// The slices on which a linear model of the other rows is worst, beside one of their own: such
/// shifts are what adaptation is for. Each column gives its worse end.
fn slices(
    table: &Table,
    label: &str,
    known: &[String],
    preparation: &Preparation,
    wanted: usize,
) -> Result<Vec<Scene>> {
    let stride = table.rows().div_ceil(COMPARED).max(1);
    let rows: Vec<usize> = (0..table.rows()).step_by(stride).collect();
    let some = preparation.apply(&table.excerpt(&rows), "public", true)?;
    let answers = answers(&some);
    let mut found: Vec<(f64, Scene)> = Vec::new();
    for name in table.names.iter().filter(|name| *name != label && !known.contains(name)) {
        let Some((groups, titles)) = grouped(table.column(name)?, name, 3) else { continue };
        let of: Vec<usize> = rows.iter().map(|row| groups[*row]).collect();
        let scenes = titles.into_iter().enumerate().filter_map(|(group, title)| {
            let scene = scene(title, SceneKind::Slice, &groups, group)?;
            Some((strength(&some.features, &answers, &of, group)?, scene))
        });
        found.extend(scenes.max_by(|one, other| one.0.total_cmp(&other.0)));
    }
    found.sort_by(|one, other| other.0.total_cmp(&one.0));
    Ok(found.into_iter().take(wanted).map(|(_, scene)| scene).collect())
}

/// One row per output: the labels, or which class it is.
fn answers(data: &Dataset) -> Matrix {
    match (&data.target, &data.classes) {
        (Some(target), _) => Matrix::from_row_slice(1, target.len(), target),
        (None, Some(classes)) => Matrix::from_fn(classes.names.len(), data.len(), |class, at| {
            f64::from(u8::from(classes.of[at] as usize == class))
        }),
        (None, None) => Matrix::zeros(1, data.len()),
    }
}

/// By how much a linear model of the other records is worse on a group than the group's own.
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
    use crate::data::{DatasetDefinition, PreparationSettings, Role, Source};

    /// 400 rows: four seasons, a number, a name for every row, and a label that turns with `turn`.
    fn table() -> (Table, Preparation) {
        let rows = 0..400_usize;
        let season = rows.clone().map(|row| (row % 4) as f64).collect();
        let size: Vec<f64> = rows.clone().map(|row| (row * 37 % 101) as f64).collect();
        let turn: Vec<f64> = rows.clone().map(|row| (row * 53 % 97) as f64).collect();
        let label = size.iter().zip(&turn).map(|(x, t)| if *t >= 64.0 { -x } else { *x }).collect();
        let names = rows.clone().map(|row| format!("n{row}")).collect();
        let columns = vec![
            Column::Numbers(season),
            Column::Numbers(size),
            Column::Numbers(turn),
            Column::Text(names),
            Column::Numbers(label),
        ];
        let titles = ["season", "size", "turn", "name", "label"].map(str::to_owned).to_vec();
        let lines = rows.map(|row| row as u64 + 2).collect();
        let table = Table::new("t.csv", titles, columns, lines).unwrap();
        let mut definition =
            DatasetDefinition::new("t", Role::Public, Source::File("t.csv".to_owned()));
        definition.label = Some("label".to_owned());
        definition.columns =
            crate::data::Columns::Only(["season", "size", "turn"].map(str::to_owned).to_vec());
        let settings = PreparationSettings::default();
        let preparation = Preparation::fit(&table, &definition, &settings).unwrap();
        (table, preparation)
    }

    fn titles(owners: &[usize], datasets: &[&str], shifted: &[&str]) -> Vec<(String, SceneKind)> {
        let (table, preparation) = table();
        let datasets: Vec<String> = datasets.iter().map(|name| (*name).to_owned()).collect();
        let shifted: Vec<String> = shifted.iter().map(|name| (*name).to_owned()).collect();
        let found = scenes(&table, (owners, &datasets), &shifted, "label", &preparation).unwrap();
        for scene in &found {
            let mut all = [scene.acting.as_slice(), &scene.public].concat();
            all.sort_unstable();
            assert_eq!(all, (0..400).collect::<Vec<_>>(), "{}", scene.title);
            assert!(scene.acting.len() >= FEWEST_ACTING);
        }
        found.into_iter().map(|scene| (scene.title, scene.kind)).collect()
    }

    #[test]
    fn datasets_and_the_column_of_a_filter_play_first() {
        let owners: Vec<usize> = (0..400).map(|row| row / 150).collect();
        let found = titles(&owners, &["a", "b", "c"], &["season", "gone"]);
        let datasets: Vec<&str> = found
            .iter()
            .filter(|(_, kind)| *kind == SceneKind::Dataset)
            .map(|(title, _)| title.as_str())
            .collect();
        assert_eq!(datasets, ["a", "b", "c"]);
        let shifts: Vec<&str> = found
            .iter()
            .filter(|(_, kind)| *kind == SceneKind::Shift)
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
        assert!(found.iter().all(|(_, kind)| *kind == SceneKind::Dataset), "{found:?}");
    }

    #[test]
    fn one_dataset_is_cut_where_a_model_of_the_rest_is_worst() {
        let found = titles(&[0; 400], &["only"], &[]);
        assert!(found[0].0.starts_with("turn") && found[0].1 == SceneKind::Slice, "{found:?}");
        assert!(found.iter().all(|(title, _)| !title.contains("name")), "{found:?}");
    }

    #[test]
    fn a_group_that_is_too_small_or_nearly_everything_does_not_play() {
        let few: Vec<usize> = (0..400).map(|row| usize::from(row < FEWEST_ACTING - 1)).collect();
        assert!(scene("few".to_owned(), SceneKind::Slice, &few, 1).is_none());
        assert!(scene("nearly all".to_owned(), SceneKind::Slice, &few, 0).is_none());
    }
}
