//! `halflight schema [COMMAND]`: the output of `--json`, as JSON Schema.
//!
//! The schemas are in `schemas.json`, one per command. Documented fields stay: later versions only
//! add. A command that prints anything else fails the tests.

use clap::Args;
use serde_json::{Map, Value, json};

use super::{print_json, print_line};
use crate::error::{Error, Result};

const SCHEMAS: &str = include_str!("schemas.json");
/// The Python file that writes the steps of another trainer.
const STEPS: &str = include_str!("../../assets/steps.py");
const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";

/// Print the JSON Schema of what a command prints with --json.
///
/// Fields are only ever added. Programs should ignore fields that they do not know.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  halflight schema
  halflight schema run
  halflight schema data inspect
  halflight schema steps --python > steps.py")]
pub struct SchemaCommand {
    /// The command, such as `run` or `data inspect` [default: list them all]. `steps` is what other
    /// trainers write.
    command: Vec<String>,

    /// Print a Python file that writes `steps`, to put beside a trainer.
    #[arg(long)]
    python: bool,
}

impl SchemaCommand {
    pub fn execute(&self) -> Result<()> {
        if self.python {
            return match self.command.as_slice() {
                [only] if only == "steps" => print_line(STEPS.trim_end()),
                _ => Err(Error::usage("only `steps` has a Python file")
                    .cure("halflight schema steps --python > steps.py")),
            };
        }
        let schemas = parsed()?;
        let commands = schemas["commands"].as_object().cloned().unwrap_or_default();
        if self.command.is_empty() {
            return print_json(&json!({ "schemas": commands.keys().collect::<Vec<_>>() }));
        }
        print_json(&of(&self.command.join(" "), &commands, &schemas["$defs"])?)
    }
}

fn parsed() -> Result<Value> {
    serde_json::from_str(SCHEMAS)
        .map_err(|error| Error::failed(format!("the schemas are damaged: {error}")))
}

/// A self-contained schema document.
fn of(command: &str, commands: &Map<String, Value>, shared: &Value) -> Result<Value> {
    let found = commands.get(command).and_then(Value::as_object).ok_or_else(|| {
        let known: Vec<_> = commands.keys().map(String::as_str).collect();
        Error::usage(format!("there is no schema for '{command}'"))
            .cure(format!("there are: {}", known.join(", ")))
    })?;
    let mut schema = found.clone();
    schema.insert("$schema".to_owned(), json!(DIALECT));
    schema.insert("$defs".to_owned(), shared.clone());
    Ok(Value::Object(schema))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All `$ref`s in a value.
    fn references(value: &Value) -> Vec<String> {
        match value {
            Value::Object(fields) => {
                let own = fields.get("$ref").and_then(Value::as_str).map(str::to_owned);
                own.into_iter().chain(fields.values().flat_map(references)).collect()
            }
            Value::Array(items) => items.iter().flat_map(references).collect(),
            _ => Vec::new(),
        }
    }

    #[test]
    fn every_schema_stands_for_itself_and_requires_only_what_it_describes() {
        let schemas = parsed().unwrap();
        let commands = schemas["commands"].as_object().unwrap();
        for name in commands.keys() {
            let schema = of(name, commands, &schemas["$defs"]).unwrap();
            assert!(schema["title"].as_str().unwrap().starts_with("halflight"), "{name}");
            for reference in references(&schema) {
                let pointer = reference.strip_prefix('#').unwrap();
                assert!(schema.pointer(pointer).is_some(), "{name}: {reference}");
            }
            for required in schema["required"].as_array().unwrap() {
                let described = &schema["properties"][required.as_str().unwrap()];
                assert!(described.is_object(), "{name}: {required}");
            }
        }
        assert!(of("dance", commands, &Value::Null).unwrap_err().to_string().contains("run"));
    }
}
