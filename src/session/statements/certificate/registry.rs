//! A certificate with the field names of the registry of differential privacy deployments that
//! OpenDP runs and NIST proposes to host, so that an entry needs no retyping. Facts that only the
//! curator knows (purpose, region, dates of publication) are left out.

use serde_json::{Value, json};

use super::Facts;
use crate::privacy::{Adjacency, Guarantee};

pub(super) fn entry(facts: &Facts, guarantee: &Guarantee) -> Value {
    let metric = match (guarantee.adjacency, &facts.unit) {
        (Adjacency::ReplaceOne, None) => "one record replaced by any other",
        (Adjacency::ZeroOut, None) => "one record replaced by a blank one",
        (Adjacency::ReplaceOne, Some(_)) => "all records of one person replaced by any others",
        (Adjacency::ZeroOut, Some(_)) => "all records of one person replaced by blank ones",
    };
    let (unit, described, unprotected) = match &facts.unit {
        None => (
            "record",
            "one row of the private dataset".to_owned(),
            "number of records, columns, classes, declared bounds",
        ),
        Some(unit) => (
            "person",
            format!("all rows of the private dataset with the same '{unit}'"),
            "number of persons, columns, classes, declared bounds",
        ),
    };
    json!({
        "deployment": {
            "data_product_type": "machine learning model",
            "description": format!("a model trained by the method {}", facts.method),
        },
        "dp_flavor": {
            "name": if guarantee.delta == 0.0 { "pure DP" } else { "approximate DP" },
            "input_metric": metric,
            "bound_on_dataset_size": "bounded",
            "unprotected_quantities": unprotected,
        },
        "privacy_loss": {
            "privacy_unit": unit,
            "privacy_unit_description": described,
            "privacy_parameters": {"epsilon": guarantee.epsilon, "delta": guarantee.delta},
        },
        "model": {
            "model_name": "central",
            "model_name_description": "one trusted curator holds the data and adds the noise",
            "is_dynamic": false,
            "is_interactive": false,
        },
        "accounting": {
            "composition": guarantee.bound,
            "post_processing": "everything after the listed mechanisms uses their outputs and \
                                public data only",
            "pre_processing_eda_hyperparameter_tuning": if facts.standing.looks.is_empty() {
                "none outside the guarantee that the ledger knows of".to_owned()
            } else {
                facts.standing.looks.join("; ")
            },
        },
        "implementation": {
            "mechanisms": facts.mechanisms.iter().map(|event| event.what.clone())
                .collect::<Vec<_>>(),
            "library": concat!("halflight ", env!("CARGO_PKG_VERSION")),
        },
    })
}
