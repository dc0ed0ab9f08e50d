//! Records of shifts, and what our public predictors say of them, for comparison with other people's
//! trees by `assets/peers/trees.py`.

use std::path::Path;

use serde_json::json;

use super::correction::alone;
use super::labelled::LabelledProblem;
use crate::data::selection::used_columns;
use crate::data::write::{WriteFormat, bytes};
use crate::data::{Column, Table};
use crate::error::{Doing as _, Error, Result};
use crate::files;
use crate::methods::labelled::public_shape;
use crate::model::Model;
use halflight_advice::rehearsal::Split;

/// Our predictors by their place in a shape, and the mixture that is the base of corrections.
const OURS: [(Option<usize>, &str); 4] = [
    (Some(0), "linear"),
    (Some(1), "trees, 8 leaves"),
    (Some(2), "trees, 31 leaves"),
    (None, "mixture"),
];

/// Writes `public.csv`, `held_out.csv`, `about.json` and `ours.csv` of a shift into a folder of its
/// name. `ours.csv` has our predictions of the held-out records: a number, or the probability of the
/// true class.
pub fn write(problem: &LabelledProblem, directory: &Path) -> Result<()> {
    let case = problem.case;
    let folder = directory.join(case.name);
    files::create_folder(&folder).doing("create the folder", &folder)?;
    let (_, held_out) = problem.parts(0)?;
    let names = used_columns(&problem.definition, &problem.source)?;
    for (name, table) in [("public", &problem.source), ("held_out", &held_out)] {
        write_columns(&folder.join(format!("{name}.csv")), &columns_of(table, &names)?)?;
    }
    let about = json!({
        "task": case.task.to_string(), "label": case.label, "categories": case.categories,
    });
    files::write(&folder.join("about.json"), about.to_string().as_bytes())?;
    let split = problem.split_by(problem.wide_preparation()?, 0)?;
    let ground = public_shape::ground(&split.problem())?;
    let ours = OURS.iter().map(|(place, title)| {
        let model = match place {
            Some(place) => alone(&ground, *place),
            None => Model::Shape(ground.shape.clone()),
        };
        Ok(((*title).to_owned(), Column::Numbers(answers(&split, &model)?.into())))
    });
    write_columns(&folder.join("ours.csv"), &ours.collect::<Result<Vec<_>>>()?)
}

/// The predictions of the held-out records, or the probabilities of their classes.
fn answers(split: &Split, model: &Model) -> Result<Vec<f64>> {
    let features = &split.held_out.features;
    let answers = match &split.held_out.classes {
        Some(classes) => model.probabilities(features).map(|told| {
            let each = classes.of.iter().enumerate();
            each.map(|(at, class)| told[(*class as usize, at)]).collect()
        }),
        None => model.numbers(features).map(|raw| {
            raw.into_iter().map(|it| split.preparation.label_from_prediction(it)).collect()
        }),
    };
    answers.ok_or_else(|| Error::failed("the model and the labels do not match"))
}

fn columns_of(table: &Table, names: &[String]) -> Result<Vec<(String, Column)>> {
    names.iter().map(|name| Ok((name.clone(), table.column(name)?.clone()))).collect()
}

fn write_columns(path: &Path, columns: &[(String, Column)]) -> Result<()> {
    files::write(path, &bytes(WriteFormat::Csv, columns)?)
}
