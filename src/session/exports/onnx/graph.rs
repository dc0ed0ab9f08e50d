//! A computation in ONNX: values with names, each made of earlier ones by an operator.
//!
//! A value holds one row per record. Everything is computed in double precision, except
//! convolutions and sums of trees, which runtimes offer only in single precision.

use std::collections::HashSet;

use crate::error::{Error, Result};
use crate::exports::wire::Message;

/// The version of the format and of the two sets of operators: those of 2021, which every current
/// runtime reads.
const FORMAT: i64 = 8;
const OPERATORS: i64 = 17;
const LEARNING_OPERATORS: i64 = 3;
const LEARNING: &str = "ai.onnx.ml";

/// The type of a value's elements, with the numbers of the format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Element {
    Float = 1,
    Integer = 7,
    Text = 8,
    Double = 11,
}

/// An attribute of an operator, besides its inputs.
pub enum Attribute<'a> {
    Integer(&'a str, i64),
    Text(&'a str, &'a str),
    Integers(&'a str, Vec<i64>),
    Texts(&'a str, Vec<String>),
    /// A vector of doubles.
    Doubles(&'a str, Vec<f64>),
}

/// The name of a value.
pub type Value = String;

/// The computation so far.
#[derive(Default)]
pub struct Graph {
    body: Message,
    /// The inputs: their name, what they hold, and how many of it.
    inputs: Vec<(Value, Element, usize)>,
    names: HashSet<String>,
    next: usize,
}

impl Graph {
    /// An input of the model: this many numbers or texts per record. Two parts of a model may use the
    /// same one.
    pub fn input(&mut self, name: &str, element: Element, width: usize) -> Result<Value> {
        match self.inputs.iter().find(|(known, ..)| known == name) {
            None => {
                self.names.insert(name.to_owned());
                self.inputs.push((name.to_owned(), element, width));
                self.body.message(11, &described(name, element, Some(width)));
            }
            Some((_, held, count)) if (*held, *count) == (element, width) => {}
            Some(_) => {
                return Err(Error::refused(format!(
                    "the model takes column '{name}' once as numbers and once as texts, because its \
                     public predictor was made with other declarations, and an ONNX file has one \
                     form for it"
                ))
                .cure("use `halflight predict`, or a public predictor that treats the column alike"));
            }
        }
        Ok(name.to_owned())
    }

    /// The names of the inputs so far.
    pub fn inputs(&self) -> Vec<String> {
        self.inputs.iter().map(|(name, ..)| name.clone()).collect()
    }

    /// Makes `value` a result with this name, or a similar one if it is taken. Without a width it
    /// has one element per record.
    pub fn output(
        &mut self,
        name: &str,
        value: &Value,
        element: Element,
        width: Option<usize>,
    ) -> Value {
        let mut name = name.to_owned();
        while !self.names.insert(name.clone()) {
            name.push('_');
        }
        self.add("", "Identity", &[value], &name, &[]);
        self.body.message(12, &described(&name, element, width));
        name
    }

    /// The result of an operator on values.
    pub fn node(&mut self, kind: &str, inputs: &[&Value], attributes: &[Attribute]) -> Value {
        let name = self.fresh();
        self.add("", kind, inputs, &name, attributes);
        name
    }

    /// The result of an operator for machine learning on values.
    pub fn learned(&mut self, kind: &str, inputs: &[&Value], attributes: &[Attribute]) -> Value {
        let name = self.fresh();
        self.add(LEARNING, kind, inputs, &name, attributes);
        name
    }

    /// A constant array.
    pub fn doubles(&mut self, shape: &[usize], values: &[f64]) -> Value {
        self.constant(Element::Double, shape, &bytes(values))
    }

    pub fn floats(&mut self, shape: &[usize], values: &[f64]) -> Value {
        let single = values.iter().flat_map(|value| (*value as f32).to_le_bytes());
        self.constant(Element::Float, shape, &single.collect::<Vec<u8>>())
    }

    pub fn integers(&mut self, values: &[i64]) -> Value {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        self.constant(Element::Integer, &[values.len()], &bytes)
    }

    pub fn number(&mut self, value: f64) -> Value {
        self.doubles(&[], &[value])
    }

    pub fn text(&mut self, value: &str) -> Value {
        let name = self.fresh();
        let mut tensor = Message::default();
        tensor.integer(2, Element::Text as i64).bytes(6, value.as_bytes()).text(8, &name);
        self.body.message(5, &tensor);
        name
    }

    pub fn cast(&mut self, value: &Value, to: Element) -> Value {
        self.node("Cast", &[value], &[Attribute::Integer("to", to as i64)])
    }

    /// An operator of a value and a number.
    pub fn with_number(&mut self, kind: &str, value: &Value, number: f64) -> Value {
        let number = self.number(number);
        self.node(kind, &[value, &number], &[])
    }

    /// An operator of a value and a row of numbers.
    pub fn with_row(&mut self, kind: &str, value: &Value, row: &[f64]) -> Value {
        let row = self.doubles(&[row.len()], row);
        self.node(kind, &[value, &row], &[])
    }

    /// `value` times a matrix with this many rows, given row by row.
    pub fn product(&mut self, value: &Value, rows: usize, matrix: &[f64]) -> Value {
        let matrix = self.doubles(&[rows, matrix.len() / rows.max(1)], matrix);
        self.node("MatMul", &[value, &matrix], &[])
    }

    /// Values side by side.
    pub fn beside(&mut self, values: &[Value]) -> Value {
        if let [one] = values {
            return one.clone();
        }
        let values: Vec<&Value> = values.iter().collect();
        self.node("Concat", &values, &[Attribute::Integer("axis", 1)])
    }

    /// The Euclidean norm of each record.
    pub fn norm(&mut self, value: &Value) -> Value {
        let squares = self.node("Mul", &[value, value], &[]);
        let axis = self.integers(&[1]);
        let sum = self.node("ReduceSum", &[&squares, &axis], &[]);
        self.node("Sqrt", &[&sum], &[])
    }

    /// Each record, shortened to the norm `limit` if it is longer.
    pub fn shortened(&mut self, value: &Value, limit: f64) -> Value {
        if limit <= 0.0 {
            return self.with_number("Mul", value, 0.0);
        }
        let norm = self.norm(value);
        let least = self.with_number("Max", &norm, limit);
        let limit = self.number(limit);
        let factor = self.node("Div", &[&limit, &least], &[]);
        self.node("Mul", &[value, &factor], &[])
    }

    /// The whole file; `about` is kept with it, name by name.
    pub fn file(mut self, words: &str, about: &[(&str, String)]) -> Vec<u8> {
        self.body.text(2, "halflight");
        let mut file = Message::default();
        file.integer(1, FORMAT).text(2, "halflight").text(3, env!("CARGO_PKG_VERSION"));
        file.text(6, words).message(7, &self.body);
        for (set, version) in [("", OPERATORS), (LEARNING, LEARNING_OPERATORS)] {
            file.message(8, Message::default().text(1, set).integer(2, version));
        }
        for (name, text) in about {
            file.message(14, Message::default().text(1, name).text(2, text));
        }
        file.into_bytes()
    }

    /// A name that no value has.
    fn fresh(&mut self) -> Value {
        loop {
            self.next += 1;
            let name = format!("value {}", self.next);
            if self.names.insert(name.clone()) {
                return name;
            }
        }
    }

    fn constant(&mut self, element: Element, shape: &[usize], bytes: &[u8]) -> Value {
        let name = self.fresh();
        let mut tensor = Message::default();
        for side in shape {
            tensor.integer(1, *side as i64);
        }
        tensor.integer(2, element as i64).text(8, &name).bytes(9, bytes);
        self.body.message(5, &tensor);
        name
    }

    fn add(
        &mut self,
        set: &str,
        kind: &str,
        inputs: &[&Value],
        output: &str,
        attributes: &[Attribute],
    ) {
        let mut node = Message::default();
        for input in inputs {
            node.text(1, input);
        }
        node.text(2, output).text(4, kind);
        for attribute in attributes {
            node.message(5, &attribute.message());
        }
        node.text(7, set);
        self.body.message(1, &node);
    }
}

impl Attribute<'_> {
    fn message(&self) -> Message {
        let mut message = Message::default();
        let kind = match self {
            Self::Integer(name, value) => {
                message.text(1, name).integer(3, *value);
                2
            }
            Self::Text(name, value) => {
                message.text(1, name).text(4, value);
                3
            }
            Self::Doubles(name, values) => {
                let mut tensor = Message::default();
                tensor.integer(1, values.len() as i64).integer(2, Element::Double as i64);
                message.text(1, name).message(5, tensor.bytes(9, &bytes(values)));
                4
            }
            Self::Integers(name, values) => {
                message.text(1, name);
                for value in values {
                    message.integer(8, *value);
                }
                7
            }
            Self::Texts(name, values) => {
                message.text(1, name);
                for value in values {
                    message.text(9, value);
                }
                8
            }
        };
        message.integer(20, kind);
        message
    }
}

fn bytes(values: &[f64]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

/// Name, elements and shape of an input or output: any number of records.
fn described(name: &str, element: Element, width: Option<usize>) -> Message {
    let mut shape = Message::default();
    shape.message(1, Message::default().text(2, "records"));
    if let Some(width) = width {
        shape.message(1, Message::default().integer(1, width as i64));
    }
    let mut tensor = Message::default();
    tensor.integer(1, element as i64).message(2, &shape);
    let mut value = Message::default();
    value.text(1, name).message(2, Message::default().message(1, &tensor));
    value
}
