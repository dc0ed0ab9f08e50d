//! Reads files that others may have edited: every missing or odd field is an error with its name,
//! and unknown fields are ignored.

use serde_json::Value;

use super::curve;
use super::loss::{CheckedLoss, Draws};
use crate::error::{Error, Result};

/// More draws than this cannot be a plan.
const MOST: f64 = 1e15;

fn odd(name: &str, what: &str) -> Error {
    Error::failed(format!("`{name}` {what}"))
        .cure("restore the file from a copy: as it is, nobody can check it")
}

pub fn field<'a>(value: &'a Value, name: &str) -> Result<&'a Value> {
    value.get(name).ok_or_else(|| odd(name, "is missing"))
}

pub fn text<'a>(value: &'a Value, name: &str) -> Result<&'a str> {
    field(value, name)?.as_str().ok_or_else(|| odd(name, "is not text"))
}

pub fn list<'a>(value: &'a Value, name: &str) -> Result<&'a [Value]> {
    field(value, name)?.as_array().map(Vec::as_slice).ok_or_else(|| odd(name, "is not a list"))
}

pub fn number(value: &Value, name: &str) -> Result<f64> {
    field(value, name)?
        .as_f64()
        .filter(|number| number.is_finite())
        .ok_or_else(|| odd(name, "is not a number"))
}

fn within(value: &Value, name: &str, low: f64, high: f64) -> Result<f64> {
    let found = number(value, name)?;
    if found >= low && found <= high {
        return Ok(found);
    }
    Err(odd(name, &format!("is {found}, and must be between {low} and {high}")))
}

pub fn count(value: &Value, name: &str) -> Result<u64> {
    let found = within(value, name, 0.0, MOST)?;
    if found.fract() == 0.0 { Ok(found as u64) } else { Err(odd(name, "is not a whole number")) }
}

/// The items of a list that may be missing.
pub fn items(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

/// A mechanism, however often it was drawn.
pub fn without_count(event: &Value) -> Value {
    let mut event = event.clone();
    event.as_object_mut().map(|object| object.remove("count"));
    event
}

/// (ε, δ) of an object that has both.
pub fn target(value: &Value) -> Result<(f64, f64)> {
    Ok((within(value, "epsilon", 0.0, 1e300)?, within(value, "delta", 0.0, 1.0)?))
}

/// The draws of the events of one run; with `counts` instead of their own, if given.
pub fn draws(events: &[Value], counts: Option<&[u64]>) -> Result<Vec<Draws>> {
    let mut all = Vec::new();
    // μ² of Gaussian noise on held-out records, and on all others: a record is in one of them.
    let (mut apart, mut training) = (0.0, 0.0);
    for (index, event) in events.iter().enumerate() {
        let count = match counts {
            Some(counts) => counts.get(index).copied().unwrap_or(0),
            None => count(event, "count")?,
        };
        let label = event["label"].as_str().unwrap_or("without a label");
        let kind = kind(event).map_err(|error| error.at(format!("mechanism '{label}'")))?;
        let Some(kind) = kind.filter(|_| count > 0) else { continue };
        let count = count as f64;
        let held_out = event["held_out"].as_bool().unwrap_or(false);
        match kind {
            CheckedLoss::Gaussian { mu } if held_out => {
                apart += count * mu * mu;
                continue;
            }
            CheckedLoss::Gaussian { mu } if is_full(event) => training += count * mu * mu,
            _ => {}
        }
        all.push(Draws { kind, count });
    }
    if apart > training * (1.0 + 1e-9) {
        all.push(Draws {
            kind: CheckedLoss::Gaussian { mu: (apart - training).sqrt() },
            count: 1.0,
        });
    }
    Ok(all)
}

/// Whether the event is not on a sample, not even on one of all records.
fn is_full(event: &Value) -> bool {
    event.get("mechanism").is_some_and(|mechanism| mechanism.get("gaussian").is_some())
}

/// The most that an event reveals in one draw; `None` if it reveals nothing.
fn kind(event: &Value) -> Result<Option<CheckedLoss>> {
    let replaced = match text(event, "adjacency")? {
        "replace_one" => true,
        "zero_out" => false,
        other => return Err(odd("adjacency", &format!("is '{other}', which is not known"))),
    };
    let mechanism = field(event, "mechanism")?.as_object();
    let Some((name, it)) = mechanism.and_then(|object| object.iter().next()) else {
        return Err(odd("mechanism", "names none"));
    };
    let ratio = |change: &str, noise: &str| -> Result<f64> {
        Ok(within(it, change, 0.0, 1e300)? / within(it, noise, 1e-300, 1e300)?)
    };
    let kind = match name.as_str() {
        "gaussian" => CheckedLoss::Gaussian { mu: ratio("sensitivity", "sigma")? },
        "subsampled_gaussian" => {
            let mu = ratio("sensitivity", "sigma")?;
            let rate = within(it, "rate", 1e-300, 1.0)?;
            if rate < 1.0 {
                CheckedLoss::Sampled { mu, rate, replaced }
            } else {
                CheckedLoss::Gaussian { mu: if replaced { 2.0 * mu } else { mu } }
            }
        }
        "repeated_gaussian" => curve::repeated(
            ratio("sensitivity", "sigma")?,
            within(it, "shape", 0.0, 16.0)?,
            within(it, "stop", 1e-10, 0.999_999_999_9)?,
        ),
        "laplace" => CheckedLoss::Laplace { epsilon: ratio("sensitivity", "scale")? },
        "noisy_selection" => CheckedLoss::Laplace { epsilon: 2.0 * ratio("sensitivity", "scale")? },
        "selection" | "direction" => CheckedLoss::Range { epsilon: ratio("range", "scale")? },
        "permute_and_flip" => CheckedLoss::Pure { epsilon: ratio("range", "scale")? },
        "pure" => CheckedLoss::Pure { epsilon: within(it, "epsilon", 0.0, 1e300)? },
        other => return Err(odd("mechanism", &format!("is '{other}', which is not known"))),
    };
    Ok(Some(kind).filter(|kind| kind.size() > 0.0))
}
