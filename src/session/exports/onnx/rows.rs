//! From the columns of a raw table to the features of a model.

use serde_json::{Value as Json, json};

use super::graph::{Attribute, Element, Graph, Value};
use super::models::{centred, scores};
use crate::data::preparation::{Features, Recipe, RecipeScore, ScoreRecipe};
use crate::error::Result;
use crate::model::Model;

/// The features of every record, with related values.
pub struct Rows {
    pub features: Value,
    /// Whether a record lacks a number that is not filled in.
    pub gap: Option<Value>,
    /// The columns, for the reader of the file.
    pub columns: Vec<Json>,
}

/// The numbers of all numeric columns, side by side.
#[derive(Default)]
struct RowNumbers {
    inputs: Vec<Value>,
    centre: Vec<f64>,
    width: Vec<f64>,
    fill: Vec<f64>,
}

/// Between `largest` and its negative.
fn clipped(graph: &mut Graph, value: &Value, largest: f64) -> Value {
    let (low, high) = (graph.number(-largest), graph.number(largest));
    graph.node("Clip", &[value, &low, &high], &[])
}

/// The features of a public predictor's scores, and whether a record lacks a number that they need.
fn scored(
    graph: &mut Graph,
    score: &RecipeScore,
    standard: &Value,
    recipe: &Recipe,
) -> Result<(Value, Option<Value>, Vec<Json>)> {
    let known = graph.inputs().len();
    let (raw, gap, columns) = match &score.from {
        ScoreRecipe::Features(model) => (scores(graph, model, standard).value, None, Vec::new()),
        ScoreRecipe::Rows(model, own) => {
            let rows = prepare(graph, own)?;
            (scores(graph, model, &rows.features).value, rows.gap, rows.columns)
        }
        ScoreRecipe::Column { name, fill } => {
            let raw = graph.input(name, Element::Double, 1)?;
            let missing = graph.node("IsNaN", &[&raw], &[]);
            let fill = graph.number(*fill);
            let filled = graph.node("Where", &[&missing, &fill, &raw], &[]);
            let columns = vec![json!({"column": name, "numbers": 1})];
            (filled, (!recipe.fills_gaps).then_some(missing), columns)
        }
    };
    // Those that were not there before.
    let inputs = graph.inputs();
    let is_new = |it: &Json| inputs[known..].iter().any(|name| it["column"] == **name);
    let columns = columns.into_iter().filter(is_new).collect();
    let count = score.centre.len();
    let raw = match (count, &score.from) {
        (1, ScoreRecipe::Features(model) | ScoreRecipe::Rows(model, _))
            if tells_two_scores(model) =>
        {
            graph.product(&raw, 2, &[-1.0, 1.0])
        }
        (1, _) => raw,
        _ => centred(graph, &raw, count),
    };
    let moved = graph.with_row("Sub", &raw, &score.centre);
    let numbers = graph.with_number("Mul", &moved, score.factor);
    let short = graph.shortened(&numbers, score.limit);
    let scaled = graph.with_number("Mul", &short, score.scale);
    Ok((graph.with_number("Div", &scaled, recipe.unit), gap, columns))
}

/// A classifier of two classes has a score for each; only their difference matters.
fn tells_two_scores(model: &Model) -> bool {
    matches!(model, Model::Classifier(it) if it.architecture().outputs() == 2)
}

/// Makes the features of a recipe from its columns.
pub fn prepare(graph: &mut Graph, recipe: &Recipe) -> Result<Rows> {
    let mut numbers = RowNumbers::default();
    let mut texts = Vec::new();
    let mut columns = Vec::new();
    for column in &recipe.columns {
        match &column.becomes {
            Features::Numbers { centre, width, fill } => {
                let count = centre.len();
                numbers.inputs.push(graph.input(&column.name, Element::Double, count)?);
                numbers.centre.extend(centre);
                numbers.width.extend(width);
                numbers.fill.extend(fill);
                columns.push(json!({"column": column.name, "numbers": centre.len()}));
            }
            Features::Texts { known, rows } => {
                let text = graph.input(&column.name, Element::Text, 1)?;
                texts.push((text, known, rows));
                columns.push(json!({"column": column.name, "texts": known}));
            }
        }
    }
    let (mut parts, mut gap) = (Vec::new(), None);
    if !numbers.inputs.is_empty() {
        let mut raw = graph.beside(&numbers.inputs);
        let missing = graph.node("IsNaN", &[&raw], &[]);
        if recipe.fills_gaps {
            let fill = graph.doubles(&[1, numbers.fill.len()], &numbers.fill);
            raw = graph.node("Where", &[&missing, &fill, &raw], &[]);
        } else {
            let missing = graph.cast(&missing, Element::Double);
            let axis = graph.integers(&[1]);
            let count = graph.node("ReduceSum", &[&missing, &axis], &[]);
            gap = Some(graph.with_number("Greater", &count, 0.0));
        }
        let centred = graph.with_row("Sub", &raw, &numbers.centre);
        parts.push(graph.with_row("Div", &centred, &numbers.width));
    }
    for (input, known, rows) in texts {
        parts.push(encoded(graph, &input, known, rows));
    }
    let side_by_side = graph.beside(&parts);
    let ordered = in_order(graph, &side_by_side, recipe);
    let scaled = graph.with_number("Div", &ordered, recipe.unit);
    let features = clipped(graph, &scaled, recipe.largest);
    let mut parts = vec![features];
    for score in &recipe.scores {
        let standard = clipped(graph, &ordered, recipe.largest);
        let (scores, lacks, further) = scored(graph, score, &standard, recipe)?;
        columns.extend(further);
        gap = match (gap, lacks) {
            (Some(own), Some(other)) => Some(graph.node("Or", &[&own, &other], &[])),
            (own, other) => own.or(other),
        };
        parts.push(scores);
    }
    let features = graph.beside(&parts);
    let mut features = graph.shortened(&features, recipe.norm);
    if let Some(intercept) = recipe.intercept {
        let norm = graph.norm(&features);
        let none = graph.with_number("Mul", &norm, 0.0);
        let intercept = graph.with_number("Add", &none, intercept);
        features = graph.beside(&[features, intercept]);
    }
    if recipe.divisor != 1.0 {
        features = graph.with_number("Div", &features, recipe.divisor);
    }
    Ok(Rows { features, gap, columns })
}

/// The features of a text, from its index among the known ones.
fn encoded(graph: &mut Graph, input: &Value, known: &[String], rows: &[Vec<f64>]) -> Value {
    let number = graph.learned(
        "LabelEncoder",
        &[input],
        &[
            Attribute::Texts("keys_strings", known.to_vec()),
            Attribute::Integers("values_int64s", (0..known.len() as i64).collect()),
            Attribute::Integer("default_int64", known.len() as i64),
        ],
    );
    let table = graph.doubles(&[rows.len(), rows.len()], &rows.concat());
    let features = graph.node("Gather", &[&table, &number], &[Attribute::Integer("axis", 0)]);
    let axis = graph.integers(&[1]);
    graph.node("Squeeze", &[&features, &axis], &[])
}

/// So far numbers come before texts; the model needs them in the order of its columns.
fn in_order(graph: &mut Graph, features: &Value, recipe: &Recipe) -> Value {
    let is_text = |becomes: &Features| matches!(becomes, Features::Texts { .. });
    let width = |becomes: &Features| match becomes {
        Features::Numbers { centre, .. } => centre.len(),
        Features::Texts { rows, .. } => rows.len(),
    };
    let kinds: Vec<_> = recipe.columns.iter().map(|column| &column.becomes).collect();
    let mut next_text: usize =
        kinds.iter().filter(|kind| !is_text(kind)).map(|kind| width(kind)).sum();
    let mut next_number = 0;
    let mut order = Vec::new();
    for kind in kinds {
        let next = if is_text(kind) { &mut next_text } else { &mut next_number };
        order.extend((*next..*next + width(kind)).map(|at| at as i64));
        *next += width(kind);
    }
    if order.is_sorted() {
        return features.clone();
    }
    let order = graph.integers(&order);
    graph.node("Gather", &[features, &order], &[Attribute::Integer("axis", 1)])
}
