//! Values as JSON files that only their owner can read.

use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::{Doing as _, Error, Result};
use crate::files;

/// Writes a value, indented.
pub fn write<T: Serialize>(path: &Path, value: &T) -> Result<()> {
    put(path, serde_json::to_string_pretty(value))
}

/// Writes a value in one line.
pub fn write_line<T: Serialize>(path: &Path, value: &T) -> Result<()> {
    put(path, serde_json::to_string(value))
}

fn put(path: &Path, text: serde_json::Result<String>) -> Result<()> {
    let text = text.map_err(|error| {
        Error::failed(format!("it cannot be written: {error}")).at(path.display().to_string())
    })?;
    files::write_private(path, (text + "\n").as_bytes())
}

/// Reads a value.
pub fn read<T: DeserializeOwned>(path: &Path) -> Result<T> {
    let text = std::fs::read(path).doing("read", path)?;
    serde_json::from_slice(&text).map_err(|error| {
        Error::failed(format!("it cannot be read: {error}")).at(path.display().to_string())
    })
}
