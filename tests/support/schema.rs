//! A JSON Schema validator for what our schemas use, stricter than the standard: a field
//! that a schema does not describe is a mistake, so that nothing is printed undocumented.

use serde_json::Value;

/// What is wrong with `value`, if anything; `schema` is a document of its own.
pub fn flaw(schema: &Value, value: &Value) -> Option<String> {
    check(schema, schema, value, "$")
}

fn check(root: &Value, schema: &Value, value: &Value, place: &str) -> Option<String> {
    if let Some(reference) = schema["$ref"].as_str() {
        let pointer = reference.strip_prefix('#').unwrap();
        return check(root, root.pointer(pointer).unwrap(), value, place);
    }
    if let Some(choices) = schema["anyOf"].as_array() {
        let flaws: Option<Vec<String>> =
            choices.iter().map(|choice| check(root, choice, value, place)).collect();
        return flaws.map(|flaws| flaws.join("; or "));
    }
    if let Some(values) = schema["enum"].as_array() {
        return (!values.contains(value)).then(|| format!("{place} is {value}"));
    }
    let types: Vec<&str> = match &schema["type"] {
        Value::String(name) => vec![name],
        Value::Array(names) => names.iter().filter_map(Value::as_str).collect(),
        other => panic!("{place}: a schema without a type: {other}"),
    };
    if !types.iter().any(|name| is(name, value)) {
        return Some(format!("{place} is {value}, not {}", types.join(" or ")));
    }
    match value {
        Value::Array(items) => items
            .iter()
            .enumerate()
            .find_map(|(at, item)| check(root, &schema["items"], item, &format!("{place}[{at}]"))),
        Value::Object(fields) => {
            let required = schema["required"].as_array().into_iter().flatten();
            let missing =
                required.filter_map(Value::as_str).find(|name| !fields.contains_key(*name));
            if let Some(name) = missing {
                return Some(format!("{place} lacks '{name}'"));
            }
            fields.iter().find_map(|(name, field)| {
                let place = format!("{place}.{name}");
                let described = [&schema["properties"][name], &schema["additionalProperties"]];
                match described.into_iter().find(|schema| schema.is_object()) {
                    Some(schema) => check(root, schema, field, &place),
                    None => Some(format!("{place} is not documented")),
                }
            })
        }
        _ => None,
    }
}

fn is(name: &str, value: &Value) -> bool {
    match name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        "number" => value.is_number(),
        "integer" => value.is_u64() || value.is_i64(),
        other => panic!("the validator does not know the type {other}"),
    }
}
