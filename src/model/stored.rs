//! A model inside another file, in the form of `model.ron`: its kind, layers and arrays.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Architecture, Model};

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StoredModel {
    kind: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    architecture: Option<Architecture>,
    /// The shape of each array, and its numbers.
    tensors: BTreeMap<String, (Vec<usize>, Vec<f64>)>,
}

impl From<Model> for StoredModel {
    fn from(model: Model) -> Self {
        let tensors = model.tensors().into_iter();
        Self {
            kind: model.kind().to_owned(),
            architecture: model.architecture().cloned(),
            tensors: tensors.map(|it| (it.name.into_owned(), (it.shape, it.values))).collect(),
        }
    }
}

impl TryFrom<StoredModel> for Model {
    type Error = String;

    fn try_from(stored: StoredModel) -> Result<Self, String> {
        let tensor = |name: &str| {
            let (shape, values) = stored.tensors.get(name)?;
            let whole = shape.iter().product::<usize>() == values.len();
            let finite = values.iter().all(|value| value.is_finite());
            (whole && finite).then(|| (shape.clone(), values.clone()))
        };
        Self::from_tensors(&stored.kind, stored.architecture.as_ref(), tensor)
            .ok_or_else(|| format!("these arrays make no model of the kind '{}'", stored.kind))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LinearModel;
    use crate::numeric::Matrix;

    #[test]
    fn a_model_in_another_file_comes_back_with_the_same_bits() {
        let model: Model = LinearModel { weights: vec![0.1 + 0.2, -1e-300, 1.0 / 3.0] }.into();
        let text = ron::to_string(&model).unwrap();
        let again: Model = ron::from_str(&text).unwrap();
        assert_eq!(again, model);
        let features = Matrix::from_fn(3, 5, |row, at| (row + 2 * at) as f64 / 7.0);
        let bits = |model: &Model| model.scores(&features).map(f64::to_bits);
        assert_eq!(bits(&again), bits(&model));
    }

    #[test]
    fn arrays_that_make_no_model_are_refused() {
        let model: Model = LinearModel { weights: vec![1.0, 2.0] }.into();
        let text = ron::to_string(&model).unwrap();
        for (from, to) in [("\"linear\"", "\"forest\""), ("([2]", "([3]"), ("1.0", "inf")] {
            assert!(text.contains(from), "{text}");
            let error = ron::from_str::<Model>(&text.replacen(from, to, 1)).unwrap_err();
            assert!(error.to_string().contains("make no model"), "{error}");
        }
    }
}
