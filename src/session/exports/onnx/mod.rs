//! A model with its preparation as an ONNX file, which many runtimes read.
//!
//! | module | holds |
//! |---|---|
//! | [`graph`] | values, operators, constants |
//! | [`rows`] | from raw columns to features |
//! | [`models`], [`trees`] | from features to scores |
//!
//! The file takes raw columns, each as an input of its own, and gives the results of `halflight
//! predict`. Sums of trees and convolutions are rounded to single precision on the way, as runtimes
//! offer nothing better.

mod graph;
mod models;
mod rows;
mod trees;

use serde_json::json;

use super::SavedModel;
use crate::error::Result;
use graph::{Attribute, Element, Graph, Value};
use models::{Meaning, Scores};

/// The file, and the names of its inputs and outputs.
pub struct Exported {
    pub bytes: Vec<u8>,
    /// Names of inputs, in the order of the model.
    pub inputs: Vec<String>,
    pub outputs: Vec<String>,
}

/// The first words of the file for its readers.
const WORDS: &str = "A model made by halflight. Each input is one raw column: numbers as [records, \
                     width] in double precision, where NaN means that a value is missing; texts as \
                     [records, 1]. A text that the model does not know counts as 'other'.";

/// Fails if the model's preparation is damaged.
pub fn export(saved: &SavedModel) -> Result<Exported> {
    let preparation = &saved.preparation;
    let recipe = preparation.recipe()?;
    let mut graph = Graph::default();
    let rows = rows::prepare(&mut graph, &recipe)?;
    let Scores { value: scores, meaning } =
        models::scores(&mut graph, &saved.model, &rows.features);
    let gap = rows.gap.as_ref();
    let outputs = match meaning {
        Meaning::Number => {
            let (centre, width) = preparation.label_scale().unwrap_or((0.0, 1.0));
            let scaled = graph.with_number("Mul", &scores, width);
            let label = graph.with_number("Add", &scaled, centre);
            let label = unless(&mut graph, gap, &label);
            vec![graph.output("prediction", &label, Element::Double, Some(1))]
        }
        Meaning::TwoClasses => {
            let positive = graph.with_number("Greater", &scores, 0.0);
            let number = graph.cast(&positive, Element::Integer);
            let axis = graph.integers(&[1]);
            let number = graph.node("Squeeze", &[&number, &axis], &[]);
            let negative = graph.node("Neg", &[&scores], &[]);
            let odds = graph.beside(&[negative, scores]);
            let probabilities = graph.node("Sigmoid", &[&odds], &[]);
            classes(&mut graph, saved, gap, &number, ("probabilities", probabilities))
        }
        Meaning::Classes => {
            let number = largest(&mut graph, &scores);
            let shares = graph.node("Softmax", &[&scores], &[Attribute::Integer("axis", 1)]);
            classes(&mut graph, saved, gap, &number, ("probabilities", shares))
        }
        Meaning::Margins => {
            let number = largest(&mut graph, &scores);
            classes(&mut graph, saved, gap, &number, ("scores", scores))
        }
    };
    let about = json!({
        "label": preparation.label_name(),
        "classes": preparation.class_names(),
        "columns": rows.columns,
        "rename": saved.rename,
        "kind": saved.model.kind(),
    });
    let inputs = graph.inputs();
    let bytes = graph.file(WORDS, &[("halflight", about.to_string())]);
    Ok(Exported { bytes, inputs, outputs })
}

/// The index of the largest score, the first of equal ones.
fn largest(graph: &mut Graph, scores: &Value) -> Value {
    let attributes = [Attribute::Integer("axis", 1), Attribute::Integer("keepdims", 0)];
    graph.node("ArgMax", &[scores], &attributes)
}

/// The names of classes, and numbers for each of them.
fn classes(
    graph: &mut Graph,
    saved: &SavedModel,
    gap: Option<&Value>,
    number: &Value,
    (name, numbers): (&str, Value),
) -> Vec<String> {
    let names = saved.preparation.class_names();
    let label = graph.learned(
        "LabelEncoder",
        &[number],
        &[
            Attribute::Integers("keys_int64s", (0..names.len() as i64).collect()),
            Attribute::Texts("values_strings", names.to_vec()),
            Attribute::Text("default_string", ""),
        ],
    );
    let label = match gap {
        None => label,
        Some(gap) => {
            let axis = graph.integers(&[1]);
            let gap = graph.node("Squeeze", &[gap, &axis], &[]);
            let none = graph.text("");
            graph.node("Where", &[&gap, &none, &label], &[])
        }
    };
    let label = graph.output("label", &label, Element::Text, None);
    let numbers = unless(graph, gap, &numbers);
    vec![label, graph.output(name, &numbers, Element::Double, Some(names.len()))]
}

/// NaN for records with a gap.
fn unless(graph: &mut Graph, gap: Option<&Value>, numbers: &Value) -> Value {
    match gap {
        None => numbers.clone(),
        Some(gap) => {
            let none = graph.number(f64::NAN);
            graph.node("Where", &[gap, &none, numbers], &[])
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::super::wire::tests::{Field, fields};
    use super::*;
    use crate::data::Task;
    use crate::example::preparation;
    use crate::model::convolution::{Convolution, Pool};
    use crate::model::layer::{Dense, Layer};
    use crate::model::shape::{Block, BlockSource, Predictor, ScoreMeaning, Shape};
    use crate::model::trees::{Forest, LEAF, Tree};
    use crate::model::{Activation, Architecture, Classifier, LinearModel, Model, Network, Volume};
    use crate::numeric::Matrix;

    fn saved(model: Model, task: Task) -> SavedModel {
        let (path, rename) = ("model.ron".into(), [].into());
        SavedModel {
            path,
            model,
            preparation: preparation(task),
            rename,
            noise_is_known: false,
            remarks: Vec::new(),
        }
    }

    fn parts(message: &[(u64, Field)], number: u64) -> Vec<&Field> {
        message.iter().filter(|(field, _)| *field == number).map(|(_, part)| part).collect()
    }

    /// Checks that every value is made once, before it is used. Returns the outputs.
    fn check(model: Model, task: Task) -> Vec<String> {
        check_saved(&saved(model, task))
    }

    fn check_saved(saved: &SavedModel) -> Vec<String> {
        let exported = export(saved).unwrap();
        let file = fields(&exported.bytes);
        let graph = parts(&file, 7)[0].message();
        let name = |field: &Field, number| parts(&field.message(), number)[0].text();
        let mut made: HashSet<String> = HashSet::new();
        let inputs: Vec<String> = parts(&graph, 11).iter().map(|input| name(input, 1)).collect();
        assert_eq!(inputs, exported.inputs);
        let constants = parts(&graph, 5).into_iter().map(|constant| name(constant, 8));
        for name in inputs.iter().cloned().chain(constants) {
            assert!(made.insert(name));
        }
        for node in parts(&graph, 1) {
            for input in parts(&node.message(), 1) {
                assert!(made.contains(&input.text()), "{} of {}", input.text(), name(node, 4));
            }
            assert!(made.insert(name(node, 2)));
        }
        let outputs: Vec<String> = parts(&graph, 12).iter().map(|output| name(output, 1)).collect();
        assert!(outputs.iter().all(|output| made.contains(output)));
        assert_eq!(outputs, exported.outputs);
        outputs
    }

    fn shape(answer: ScoreMeaning) -> Shape {
        let outputs = answer.outputs();
        let tree = Tree {
            feature: vec![0, LEAF, 1, LEAF, LEAF],
            threshold: vec![0.5, 0.0, 0.1, 0.0, 0.0],
            left: vec![1, LEAF, 3, LEAF, LEAF],
            right: vec![2, LEAF, 4, LEAF, LEAF],
            values: vec![0.0, -1.0, 1.0, 0.5, 2.0],
            outputs: 1,
        };
        let block = |source, count: usize| Block {
            source,
            centre: vec![0.0; count],
            width: vec![1.0; count],
            limit: 1.0,
            scale: 0.5,
        };
        let mut blocks = vec![
            block(BlockSource::Constant, 1),
            block(BlockSource::Scores(vec![0.0, 1.0]), outputs),
            block(BlockSource::Columns(None), 3),
            block(BlockSource::Columns(Some(Matrix::from_element(2, 3, 0.3))), 2),
            block(BlockSource::Cells { tree: tree.clone(), slots: vec![LEAF, 0, LEAF, 1, 2] }, 3),
        ];
        if outputs == 1 {
            blocks.push(block(BlockSource::Effects { predictor: 1, groups: vec![0, 1, 1] }, 2));
        }
        let features: usize = blocks.iter().map(Block::len).sum();
        Shape {
            inputs: 3,
            answer,
            predictors: vec![
                Predictor::Linear { weights: vec![0.1; outputs * 4], radius: 1.0 },
                Predictor::Forest(Forest { base: vec![0.0; outputs], trees: vec![tree; outputs] }),
            ],
            base: vec![0.5, 0.5],
            blocks,
            correction: vec![0.1; features * outputs],
        }
    }

    #[test]
    fn every_model_becomes_a_graph_in_order() {
        let weights = || LinearModel { weights: vec![1.0, -1.0, 0.5] };
        let number = ["prediction".to_owned()];
        assert_eq!(check(weights().into(), Task::Regression), number);
        let shape_of = |answer| Model::Shape(shape(answer));
        assert_eq!(check(shape_of(ScoreMeaning::Number), Task::Regression), number);

        let network = Network { inputs: 3, parameters: vec![0.1; 8] };
        let image = Volume { channels: 1, height: 1, width: 3 };
        let convolution =
            Convolution { input: image, filters: 2, kernel: 1, stride: 1, padding: 1 };
        let pool = Pool { input: convolution.output(), window: 2, stride: 1 };
        let flat = pool.output().size();
        let classifier = |layers: Vec<Layer>| {
            let architecture = Architecture::new(layers).unwrap();
            let parameters = vec![0.1; architecture.parameters()];
            Model::Classifier(Classifier::new(architecture, parameters).unwrap())
        };
        let probable = ["label".to_owned(), "probabilities".to_owned()];
        for model in [
            Model::Logistic(weights()),
            Model::Network(network),
            shape_of(ScoreMeaning::TwoClasses),
            shape_of(ScoreMeaning::Classes(2)),
            classifier(vec![
                Layer::Convolution(convolution),
                Layer::Activation(Activation::Relu, convolution.output().size()),
                Layer::MaxPool(pool),
                Layer::Dense(Dense { inputs: flat, outputs: 2 }),
            ]),
        ] {
            assert_eq!(check(model, Task::Classification), probable);
        }
        let margins = classifier(vec![
            Layer::Normalise(3),
            Layer::Linear(Dense { inputs: 3, outputs: 2 }),
            Layer::Margins(2),
        ]);
        assert_eq!(check(margins, Task::Classification), ["label", "scores"]);
    }

    #[test]
    fn a_public_predictor_is_part_of_the_graph_and_shares_its_inputs() {
        use crate::data::preparation::{ScoreColumn, ScoreSource};
        use crate::data::{Missing, PreparationSettings, csv};
        use crate::numeric::Matrix;
        let public =
            csv::read_bytes("public.csv", b"x,z,y,s\n1,4,0,3\n2,9,1,5\n3,1,0,4\n4,2,1,9\n");
        let public = public.ok().unwrap();
        let plain = preparation(Task::Regression);
        let other = preparation(Task::Classification);
        let pair = Shape::of_one(
            2,
            ScoreMeaning::Number,
            Predictor::Linear { weights: vec![0.5, 1.0, 2.0], radius: 3.0 },
        );
        let two = Architecture::linear(3, 2).unwrap();
        let parameters = (0..two.parameters()).map(|k| k as f64 / 3.0).collect();
        let two = Model::Classifier(Classifier::new(two, parameters).unwrap());
        let column = ScoreColumn::of(&public, "s", Missing::Refuse).unwrap();
        let trained = ScoreSource::Trained(Model::Shape(pair));
        let earlier = ScoreSource::Earlier { model: two, preparation: Box::new(other) };
        let column = ScoreSource::Column(column);
        for (sources, inputs) in [
            (vec![trained.clone()], vec!["x", "z"]),
            (vec![earlier.clone()], vec!["x", "z"]),
            (vec![column.clone()], vec!["x", "z", "s"]),
            (vec![column, trained, earlier], vec!["x", "z", "s"]),
        ] {
            let own = sources.iter().map(|it| plain.scores_of(it, &public).unwrap());
            let scores: Vec<_> = own.collect();
            let all = Matrix::from_fn(scores.len(), 4, |at, row| scores[at][(0, row)]);
            let settings = PreparationSettings::default();
            let scored = plain.with_scores(sources, &public, &all, &settings).unwrap();
            let weights = (0..3 + scores.len()).map(|k| 1.0 - 0.5 * k as f64).collect();
            let model: Model = LinearModel { weights }.into();
            let (path, rename) = ("model.ron".into(), [].into());
            let saved = SavedModel {
                path,
                model,
                preparation: scored,
                rename,
                noise_is_known: false,
                remarks: Vec::new(),
            };
            assert_eq!(check_saved(&saved), ["prediction"]);
            assert_eq!(export(&saved).unwrap().inputs, inputs);
        }
    }

    #[test]
    fn a_column_may_have_the_name_of_an_output_or_of_a_value() {
        let mut graph = Graph::default();
        let inputs =
            ["prediction", "value 1"].map(|name| graph.input(name, Element::Double, 1).unwrap());
        let sum = graph.node("Add", &[&inputs[0], &inputs[1]], &[]);
        assert_eq!(sum, "value 2");
        assert_eq!(graph.output("prediction", &sum, Element::Double, Some(1)), "prediction_");
    }
}
