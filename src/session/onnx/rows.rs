//! From the columns of a raw table to the features of a model.

use serde_json::{Value as Json, json};

use super::graph::{Attribute, Element, Graph, Value};
use crate::data::preparation::{Features, Recipe};

/// The features of every record, with related values.
pub struct Rows {
    pub features: Value,
    /// Whether a record lacks a number that is not filled in.
    pub gap: Option<Value>,
    /// The columns, for the reader of the file.
    pub columns: Json,
}

/// The numbers of all numeric columns, side by side.
#[derive(Default)]
struct Numbers {
    inputs: Vec<Value>,
    centre: Vec<f64>,
    width: Vec<f64>,
    fill: Vec<f64>,
}

pub fn prepare(graph: &mut Graph, recipe: &Recipe) -> Rows {
    let mut numbers = Numbers::default();
    let mut texts = Vec::new();
    let mut columns = Vec::new();
    for column in &recipe.columns {
        match &column.becomes {
            Features::Numbers { centre, width, fill } => {
                numbers.inputs.push(graph.input(&column.name, Element::Double, centre.len()));
                numbers.centre.extend(centre);
                numbers.width.extend(width);
                numbers.fill.extend(fill);
                columns.push(json!({"column": column.name, "numbers": centre.len()}));
            }
            Features::Texts { known, rows } => {
                texts.push((graph.input(&column.name, Element::Text, 1), known, rows));
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
        let standard = graph.with_row("Div", &centred, &numbers.width);
        let scaled = graph.with_number("Div", &standard, recipe.unit);
        let (low, high) = (graph.number(-recipe.largest), graph.number(recipe.largest));
        parts.push(graph.node("Clip", &[&scaled, &low, &high], &[]));
    }
    for (input, known, rows) in texts {
        parts.push(encoded(graph, &input, known, rows));
    }
    let side_by_side = graph.beside(&parts);
    let ordered = in_order(graph, &side_by_side, recipe);
    let mut features = graph.shortened(&ordered, recipe.norm);
    if let Some(intercept) = recipe.intercept {
        let norm = graph.norm(&features);
        let none = graph.with_number("Mul", &norm, 0.0);
        let intercept = graph.with_number("Add", &none, intercept);
        features = graph.beside(&[features, intercept]);
    }
    if recipe.divisor != 1.0 {
        features = graph.with_number("Div", &features, recipe.divisor);
    }
    Rows { features, gap, columns: json!(columns) }
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
