//! Reference numbers that independent code computed (`tests/golden`), for the tests of every crate.
//! It depends on no other crate of the workbench, so that even the lowest can use it.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::missing_panics_doc,
    reason = "only tests use this crate"
)]

pub mod statistics;

use nalgebra::{DMatrix, DVector};
use serde_json::Value;

/// Numbers of one file in `tests/golden`. A path joins the names of its entries by dots.
pub struct Golden(pub Value);

impl Golden {
    pub fn read(text: &str) -> Self {
        Self(serde_json::from_str(text).unwrap())
    }

    pub fn value(&self, path: &str) -> &Value {
        path.split('.').fold(&self.0, |value, key| {
            value.get(key).unwrap_or_else(|| panic!("no golden entry {path}"))
        })
    }

    pub fn number(&self, path: &str) -> f64 {
        self.value(path).as_f64().unwrap()
    }

    pub fn vector(&self, path: &str) -> DVector<f64> {
        DVector::from_vec(serde_json::from_value(self.value(path).clone()).unwrap())
    }

    pub fn rows(&self, path: &str) -> DMatrix<f64> {
        let rows: Vec<Vec<f64>> = serde_json::from_value(self.value(path).clone()).unwrap();
        DMatrix::from_fn(rows.len(), rows[0].len(), |i, j| rows[i][j])
    }

    /// Records are rows in the golden files and columns here.
    pub fn records(&self, path: &str) -> DMatrix<f64> {
        self.rows(path).transpose()
    }
}

pub fn discrepancy() -> Golden {
    Golden::read(include_str!("../../tests/golden/discrepancy.json"))
}

pub fn correction() -> Golden {
    Golden::read(include_str!("../../tests/golden/correction.json"))
}

pub fn gsd() -> Golden {
    Golden::read(include_str!("../../tests/golden/gsd.json"))
}

pub fn adaptation() -> Golden {
    Golden::read(include_str!("../../tests/golden/adaptation.json"))
}

pub fn theory() -> Golden {
    Golden::read(include_str!("../../tests/golden/theory.json"))
}

#[track_caller]
pub fn assert_close(ours: &DMatrix<f64>, golden: &DMatrix<f64>, tolerance: f64) {
    assert_eq!(ours.shape(), golden.shape());
    let worst = (ours - golden).amax();
    assert!(worst <= tolerance, "differs by {worst:e}:\n{ours}\n{golden}");
}

#[track_caller]
pub fn assert_near(ours: &DVector<f64>, golden: &DVector<f64>, tolerance: f64) {
    assert_eq!(ours.len(), golden.len());
    let worst = (ours - golden).amax();
    assert!(worst <= tolerance, "differs by {worst:e}: {ours} {golden}");
}

/// Elements of an XML document, or what is wrong with it.
pub fn elements(xml: &str) -> Result<Vec<String>, String> {
    let mut open: Vec<String> = vec![];
    let mut all = vec![];
    let mut rest = xml;
    while let Some(start) = rest.find('<') {
        let text = &rest[..start];
        if text.contains('>') || text.replace("&amp;", "").contains("&&") {
            return Err(format!("stray sign in {text:?}"));
        }
        let end = rest.find('>').ok_or("an element does not end")?;
        let tag = &rest[start + 1..end];
        rest = &rest[end + 1..];
        if !tag.matches('"').count().is_multiple_of(2) || tag.contains('<') {
            return Err(format!("bad attribute in <{tag}>"));
        }
        if let Some(name) = tag.strip_prefix('/') {
            if open.pop().as_deref() != Some(name) {
                return Err(format!("</{name}> closes something else"));
            }
            continue;
        }
        let name = tag.split([' ', '/']).next().unwrap_or_default();
        if !tag.ends_with('/') {
            open.push(name.to_owned());
        }
        all.push(tag.to_owned());
    }
    if open.is_empty() { Ok(all) } else { Err(format!("{open:?} stay open")) }
}
