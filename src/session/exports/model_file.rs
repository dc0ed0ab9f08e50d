//! A model on disk, in two equivalent files:
//!
//! * `model.safetensors` holds the numbers, for any reader, and their meaning in its metadata under
//!   `halflight` (JSON);
//! * `model.ron` holds everything as text: kind, tensors, the preparation of raw rows.
//!
//! Only the tensors were computed from private records, and they were released. Scales,
//! vocabularies and classes are declared or public.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use safetensors::SafeTensors;
use safetensors::tensor::{Dtype, TensorView};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::data::{Preparation, Table};
use crate::error::{Doing as _, Error, Result};
use crate::evaluation::Scored;
use crate::files;
use crate::methods::public_predictor::EarlierModel;
use crate::model::{Architecture, Model};
use crate::privacy::ledger::sha256;
use crate::privacy::{NoiseSource, Released};
use crate::statements::Certificate;
use crate::store::RunDirectory;

const VERSION: u32 = 1;
pub use crate::store::run_directory::MODEL as TEXT;
pub(super) const NUMBERS: &str = "model.safetensors";
/// The key of the tensors' meaning in the metadata of their file.
const METADATA: &str = "halflight";

/// A model with everything that turns a raw row into a prediction.
#[derive(Debug, Clone, PartialEq)]
pub struct SavedModel {
    /// Path of `model.ron`, for messages.
    pub path: PathBuf,
    pub model: Model,
    pub preparation: Preparation,
    /// Columns with another name in raw files: name there → name here.
    pub rename: BTreeMap<String, String>,
    /// Whether the noise of its run came from a known seed. A model file of an earlier version does
    /// not say it; then the certificate beside it does.
    pub noise_is_known: bool,
    /// Remarks from reading it.
    pub remarks: Vec<String>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ModelFile {
    version: u32,
    kind: String,
    /// The layers of a classifier.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    architecture: Option<Architecture>,
    tensors: BTreeMap<String, TensorFile>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    rename: BTreeMap<String, String>,
    preparation: Preparation,
    /// Released score of the model on private records that were held out of training.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    score: Option<Scored>,
    /// The mark of a model whose noise was not secret.
    #[serde(default, skip_serializing_if = "NoiseSource::is_secret")]
    noise: NoiseSource,
}

/// What a model holds besides its numbers.
pub struct Beside<'a> {
    pub preparation: &'a Preparation,
    /// Columns with another name in raw files: name there → name here.
    pub rename: &'a BTreeMap<String, String>,
    /// Released score of the model.
    pub score: Option<&'a Scored>,
    pub noise: NoiseSource,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct TensorFile {
    shape: Vec<usize>,
    values: Vec<f64>,
}

/// Writes a released model twice into the directory of its run: numbers for any reader, and with the
/// preparation that turns a raw row into its input. Returns the SHA-256 of the latter.
pub fn keep(run: &RunDirectory, model: &Released<Model>, beside: &Beside) -> Result<String> {
    write(run.path(), model.get(), beside)
}

/// Writes both files into `directory` and returns the SHA-256 of `model.ron`.
fn write(directory: &Path, model: &Model, beside: &Beside) -> Result<String> {
    let failed = |error: &dyn std::fmt::Display| {
        Error::failed(format!("the model cannot be written: {error}"))
    };
    let tensors = model.tensors().into_iter().map(|tensor| {
        (tensor.name.into_owned(), TensorFile { shape: tensor.shape, values: tensor.values })
    });
    let file = ModelFile {
        version: VERSION,
        kind: model.kind().to_owned(),
        architecture: model.architecture().cloned(),
        tensors: tensors.collect(),
        rename: beside.rename.clone(),
        preparation: beside.preparation.clone(),
        score: beside.score.cloned(),
        noise: beside.noise,
    };
    let pretty = ron::ser::PrettyConfig::new().compact_arrays(true);
    let text = ron::ser::to_string_pretty(&file, pretty).map_err(|error| failed(&error))?;
    let text = text + "\n";
    files::write_private(&directory.join(TEXT), text.as_bytes())?;
    let numbers = numbers(&file).map_err(|error| failed(&error))?;
    files::write_private(&directory.join(NUMBERS), &numbers)?;
    Ok(sha256(text.as_bytes()))
}

/// The tensors for any reader. All metadata are under one key, because the order of several keys is
/// random and equal models must give equal files.
fn numbers(file: &ModelFile) -> std::result::Result<Vec<u8>, safetensors::SafeTensorError> {
    let mut about = json!({
        "version": file.version,
        "kind": file.kind,
        "architecture": file.architecture,
        "features": file.preparation.feature_names(),
        "label": file.preparation.label_name(),
        "classes": file.preparation.class_names(),
        "rename": file.rename,
        "preparation": file.preparation,
    });
    if let Some(score) = &file.score {
        about["score"] = json!(score);
    }
    if !file.noise.is_secret() {
        about["noise"] = json!(file.noise);
        about["warning"] = json!(KNOWN_NOISE);
    }
    let bytes = |tensor: &TensorFile| -> Vec<u8> {
        tensor.values.iter().flat_map(|value| value.to_le_bytes()).collect()
    };
    let bytes: Vec<Vec<u8>> = file.tensors.values().map(bytes).collect();
    let views = file.tensors.iter().zip(&bytes).map(|((name, tensor), bytes)| {
        Ok((name.as_str(), TensorView::new(Dtype::F64, tensor.shape.clone(), bytes)?))
    });
    let views: Vec<_> = views.collect::<std::result::Result<_, safetensors::SafeTensorError>>()?;
    let metadata = HashMap::from([(METADATA.to_owned(), about.to_string())]);
    safetensors::serialize(views, Some(metadata))
}

impl SavedModel {
    /// Opens the model of a run directory, or a `model.ron` by its path.
    pub fn open(path: &Path) -> Result<Self> {
        let path = if path.is_dir() { path.join(TEXT) } else { path.to_path_buf() };
        let place = path.display().to_string();
        if path.extension().is_some_and(|extension| extension == "safetensors") {
            return Err(Error::usage("the numbers alone are not enough to read raw rows")
                .at(place)
                .cure(format!("name the {TEXT} beside it, or its run directory")));
        }
        let file = read_text(&path, &place)?;
        let damaged = |what: &str| {
            Error::failed(what).at(place.clone()).cure("fit the model again, or restore its files")
        };
        let mut remarks = Vec::new();
        let beside = path.with_file_name(NUMBERS);
        let tensors = if beside.exists() {
            let tensors = read_numbers(&beside)?;
            if !same(&tensors, &file.tensors) {
                return Err(damaged(&format!("it and the {NUMBERS} beside it differ")));
            }
            tensors
        } else {
            remarks.push(format!("there is no {NUMBERS} beside it: numbers are those of {TEXT}"));
            file.tensors
        };
        let tensor = |name: &str| {
            let found: &TensorFile = tensors.get(name)?;
            let count: usize = found.shape.iter().product();
            let finite = found.values.iter().all(|value| value.is_finite());
            (finite && count == found.values.len())
                .then(|| (found.shape.clone(), found.values.clone()))
        };
        let layers = file.architecture.as_ref();
        let model = Model::from_tensors(&file.kind, layers, tensor).ok_or_else(|| {
            damaged(&format!("its tensors make no model of the kind '{}'", file.kind))
        })?;
        if model.inputs() != file.preparation.dimension() {
            return Err(damaged(&format!(
                "its preparation makes {} numbers of a row and its model takes {}",
                file.preparation.dimension(),
                model.inputs()
            )));
        }
        let noise_is_known = !file.noise.is_secret() || has_void_certificate(&path);
        remarks.extend(noise_is_known.then(|| KNOWN_NOISE.to_owned()));
        let ModelFile { preparation, rename, .. } = file;
        Ok(Self { path, model, preparation, rename, noise_is_known, remarks })
    }

    /// Refuses a model that protects nobody, before anything is made of it that may be passed on.
    pub fn refuse_known_noise(&self) -> Result<()> {
        if !self.noise_is_known {
            return Ok(());
        }
        Err(Error::refused(format!("the model has no guarantee: {KNOWN_NOISE}"))
            .at(self.path.display().to_string())
            .cure("use a model of a run without --insecure-noise-seed"))
    }

    /// The model as a public predictor of rows like those of `table`, whose columns it finds by
    /// their names there.
    pub fn for_table(&self, table: &Table) -> EarlierModel {
        let here = |name: &str| {
            let raw = self.rename.iter().find(|(old, new)| *new == name && table.has(old));
            raw.filter(|_| !table.has(name)).map_or(name, |(old, _)| old.as_str()).to_owned()
        };
        EarlierModel {
            model: self.model.clone(),
            preparation: self.preparation.clone().with_columns_called(&here),
            place: self.path.display().to_string(),
        }
    }

    /// Whether the model, or its score, may read this column of a raw table.
    pub fn reads(&self, column: &str) -> Result<bool> {
        let expected = self.preparation.expected(&self.path.display().to_string())?;
        let label = self.preparation.label_name() == column;
        Ok(label || expected.has(column) || self.rename.contains_key(column))
    }

    /// A raw table with the names of the model: renamed by the model's own names and by `further`
    /// ones, which come first.
    pub fn under_its_names(
        &self,
        table: Table,
        further: &BTreeMap<String, String>,
    ) -> Result<Table> {
        let expected = self.preparation.expected(&self.path.display().to_string())?;
        let table = table.apart_into(&expected.names)?.renamed(further)?;
        let wanted = |(old, new): &(&String, &String)| table.has(old) && !table.has(new);
        let names = self.rename.iter().filter(wanted).map(|(a, b)| (a.clone(), b.clone()));
        let names = names.collect();
        table.renamed(&names)
    }
}

/// What everybody must know of a model whose noise was not secret.
pub const KNOWN_NOISE: &str = "its noise came from a known seed (--insecure-noise-seed), so it \
                               protects none of its private training records: do not pass on the \
                               model or anything made with it";

/// Whether the certificate beside a model says that nothing is guaranteed. One that cannot be read
/// is an error elsewhere.
fn has_void_certificate(model: &Path) -> bool {
    let directory = model.parent().unwrap_or(Path::new(""));
    Certificate::read(directory).ok().flatten().is_some_and(|it| it.guarantee.is_none())
}

fn read_text(path: &Path, place: &str) -> Result<ModelFile> {
    let text = std::fs::read_to_string(path).map_err(|error| match error.kind() {
        std::io::ErrorKind::InvalidData => Error::failed("this is not a text file, so not a model")
            .at(place)
            .cure("name a run directory or its model.ron"),
        std::io::ErrorKind::NotFound => Error::io("read the model", path, &error)
            .cure("name a run directory or its model.ron; a run that failed has none"),
        _ => Error::io("read the model", path, &error),
    })?;
    let file: ModelFile = ron::from_str(&text).map_err(|error| {
        Error::failed(format!("not a model of halflight: {}", error.code))
            .at(format!("{place}:{}:{}", error.span.start.line, error.span.start.col))
            .cure("name a run directory or its model.ron")
    })?;
    if file.version == VERSION {
        return Ok(file);
    }
    Err(Error::failed(format!("the model has version {}", file.version))
        .at(place)
        .cure(format!("this halflight reads version {VERSION}; use a matching release")))
}

fn read_numbers(path: &Path) -> Result<BTreeMap<String, TensorFile>> {
    let bytes = std::fs::read(path).doing("read the model", path)?;
    let damaged = |what: String| {
        Error::failed(what)
            .at(path.display().to_string())
            .cure("restore it, or remove it to use the numbers of model.ron")
    };
    let file = SafeTensors::deserialize(&bytes)
        .map_err(|error| damaged(format!("the numbers of the model are damaged: {error}")))?;
    let tensors = file.tensors().into_iter().map(|(name, view)| {
        if view.dtype() != Dtype::F64 {
            return Err(damaged(format!("tensor '{name}' is not of double precision")));
        }
        let values = view.data().chunks_exact(8).filter_map(|bytes| bytes.try_into().ok());
        let values = values.map(f64::from_le_bytes).collect();
        Ok((name, TensorFile { shape: view.shape().to_vec(), values }))
    });
    tensors.collect()
}

/// To the last bit: RON keeps all digits.
fn same(one: &BTreeMap<String, TensorFile>, other: &BTreeMap<String, TensorFile>) -> bool {
    let bits = |tensor: &TensorFile| -> Vec<u64> {
        tensor.values.iter().map(|value| value.to_bits()).collect()
    };
    one.len() == other.len()
        && one.iter().zip(other).all(|((name, a), (other_name, b))| {
            name == other_name && a.shape == b.shape && bits(a) == bits(b)
        })
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::data::{Task, csv};
    use crate::example::preparation;
    use crate::model::LinearModel;

    /// Writes a model with these weights, as a run would.
    pub(crate) fn saved(directory: &Path, weights: &[f64], task: Task) {
        let weights = LinearModel { weights: weights.to_vec() };
        let model = match task {
            Task::Regression => Model::Linear(weights),
            Task::Classification => Model::Logistic(weights),
        };
        let rename = [("old".to_owned(), "z".to_owned())].into();
        let noise = NoiseSource::Secret;
        let preparation = &preparation(task);
        let beside = Beside { preparation, rename: &rename, score: None, noise };
        write(directory, &model, &beside).unwrap();
    }

    #[test]
    fn a_model_whose_noise_is_known_carries_a_mark_in_both_files() {
        let place = tempfile::tempdir().unwrap();
        let model = Model::Linear(LinearModel { weights: vec![1.0, 2.0, 3.0] });
        let preparation = &preparation(Task::Regression);
        let rename = BTreeMap::new();
        let noise = NoiseSource::Seeded(7);
        write(place.path(), &model, &Beside { preparation, rename: &rename, score: None, noise })
            .unwrap();
        let numbers = std::fs::read(place.path().join(NUMBERS)).unwrap();
        let metadata = SafeTensors::read_metadata(&numbers).unwrap().1.metadata().clone().unwrap();
        assert!(metadata[METADATA].contains("protects none of its private"), "{metadata:?}");
        let read = SavedModel::open(place.path()).unwrap();
        assert_eq!((read.noise_is_known, read.remarks.len()), (true, 1));
        assert!(read.refuse_known_noise().is_err());
        // A model of an earlier version has no mark, and its certificate says it.
        saved(place.path(), &[1.0, 2.0, 3.0], Task::Regression);
        assert!(SavedModel::open(place.path()).unwrap().refuse_known_noise().is_ok());
        let seeded = crate::statements::certificate::tests::seeded().text().unwrap();
        std::fs::write(place.path().join("certificate.json"), seeded).unwrap();
        assert!(SavedModel::open(place.path()).unwrap().refuse_known_noise().is_err());
    }

    #[test]
    fn a_model_is_read_back_as_it_was_and_equal_models_are_equal_files() {
        let place = tempfile::tempdir().unwrap();
        let weights = [0.1 + 0.2, -1e-300, 1.0 / 3.0];
        saved(place.path(), &weights, Task::Regression);
        let first = std::fs::read(place.path().join(NUMBERS)).unwrap();
        let read = SavedModel::open(place.path()).unwrap();
        assert_eq!(read, SavedModel::open(&place.path().join(TEXT)).unwrap());
        assert_eq!(read.model, Model::Linear(LinearModel { weights: weights.to_vec() }));
        assert_eq!(read.preparation, preparation(Task::Regression));
        assert!(read.remarks.is_empty());
        saved(place.path(), &weights, Task::Regression);
        assert_eq!(first, std::fs::read(place.path().join(NUMBERS)).unwrap());
    }

    #[test]
    fn what_is_damaged_or_does_not_belong_together_is_refused() {
        let place = tempfile::tempdir().unwrap();
        let error = |change: &dyn Fn(&Path)| {
            saved(place.path(), &[1.0, 2.0, 3.0], Task::Regression);
            change(place.path());
            SavedModel::open(place.path()).unwrap_err().to_string()
        };
        let edit = |from: &str, to: &str| {
            let path = place.path().join(TEXT);
            let text = std::fs::read_to_string(&path).unwrap();
            assert!(text.contains(from), "{text}");
            std::fs::write(&path, text.replace(from, to)).unwrap();
        };
        assert!(error(&|_| edit("version: 1", "version: 2")).contains("version 2"));
        assert!(error(&|_| edit("1.0, 2.0", "1.0, 2.5")).contains("beside it differ"));
        assert!(error(&|_| edit("\"linear\"", "\"forest\"")).contains("kind 'forest'"));
        assert!(error(&|_| edit("kind:", "sort:")).contains("model.ron:"));
        let cut = |place: &Path| std::fs::write(place.join(NUMBERS), "short").unwrap();
        assert!(error(&cut).contains("damaged"));
        let gone = |place: &Path| std::fs::remove_file(place.join(TEXT)).unwrap();
        assert!(error(&gone).contains("run directory"));
        let alone = error(&|place| {
            std::fs::remove_file(place.join(NUMBERS)).unwrap();
            edit("[3]", "[2]");
        });
        assert!(alone.contains("no model of the kind 'linear'"), "{alone}");
    }

    #[test]
    fn the_text_alone_is_enough_and_says_so() {
        let place = tempfile::tempdir().unwrap();
        saved(place.path(), &[1.0, 2.0, 3.0], Task::Regression);
        std::fs::remove_file(place.path().join(NUMBERS)).unwrap();
        assert_eq!(SavedModel::open(place.path()).unwrap().remarks.len(), 1);
    }

    #[test]
    fn columns_are_found_under_the_names_of_the_raw_file() {
        let place = tempfile::tempdir().unwrap();
        saved(place.path(), &[1.0, 2.0, 3.0], Task::Regression);
        let model = SavedModel::open(place.path()).unwrap();
        let table = |text: &str| csv::read_bytes("raw.csv", text.as_bytes()).ok().unwrap();
        let names =
            |text: &str| model.under_its_names(table(text), &BTreeMap::new()).ok().unwrap().names;
        assert_eq!(names("x,old\n1,2\n"), ["x", "z"]);
        assert_eq!(names("z,old\n1,2\n"), ["z", "old"]);
        let further = [("first".to_owned(), "x".to_owned())].into();
        let table = model.under_its_names(table("first,old\n1,2\n"), &further).ok().unwrap();
        assert_eq!(table.names, ["x", "z"]);
    }
}
