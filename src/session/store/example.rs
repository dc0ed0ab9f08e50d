//! A preparation and a draw for the tests of this crate and of those above.

#![allow(clippy::unwrap_used, clippy::missing_panics_doc, reason = "only tests use it")]

use crate::data::{DatasetDefinition, Preparation, PreparationSettings, Role, Source, Task, csv};
use crate::privacy::Event;
use crate::privacy::accountant::{Adjacency, Noise, QueryKind};

/// A fitted preparation of two features, an intercept and the label `y`.
pub fn preparation(task: Task) -> Preparation {
    let public = "x,z,y\n1,4,0\n2,9,1\n3,1,0\n4,2,1\n";
    let public = csv::read_bytes("public.csv", public.as_bytes()).ok().unwrap();
    let source = Source::File("public.csv".into());
    let mut definition = DatasetDefinition::new("public", Role::Public, source);
    definition.label = Some("y".into());
    definition.task = task;
    Preparation::fit(&public, &definition, &PreparationSettings::default()).unwrap()
}

/// A draw of Gaussian noise with this μ.
pub fn gaussian(mu: f64) -> Event {
    Event {
        label: String::new(),
        what: String::new(),
        mechanism: QueryKind::Gaussian.query(1.0, 1).with(Noise::ideal(1.0 / mu)),
        count: 1,
        adjacency: Adjacency::ReplaceOne,
        held_out: false,
    }
}
