//! The values and classes that a definition declares, in their canonical form.

use std::collections::HashSet;

use super::column::Cell;
use super::names;
use crate::error::{Error, Result};

/// Declared classes in their canonical form: two or more, none twice.
pub fn declared_classes(declared: &[String]) -> Result<Vec<String>> {
    if declared.len() < 2 {
        return Err(Error::usage("there is only one class")
            .cure("declare two or more `classes`, or none to take those of the public data"));
    }
    declared_values("the label", declared)
}

/// The class as which unknown labels count.
pub fn class_of(name: &str, classes: &[String]) -> Result<u32> {
    let class = (0..).zip(classes).find(|(_, class)| Cell::parse(class) == Cell::parse(name));
    class.map(|(class, _)| class).ok_or_else(|| {
        Error::usage(format!("unknown labels are to count as '{name}', which is not a class"))
            .cure(names::list("classes", classes))
    })
}

/// Declared values in their canonical form; none twice.
pub(super) fn declared_values(column: &str, declared: &[String]) -> Result<Vec<String>> {
    let mut seen = HashSet::new();
    declared
        .iter()
        .map(|value| {
            let cell = Cell::parse(value);
            let written = cell.to_string();
            if seen.insert(cell) {
                return Ok(written);
            }
            Err(Error::usage(format!("category '{column}' declares the value '{value}' twice"))
                .cure("declare every value once"))
        })
        .collect()
}
