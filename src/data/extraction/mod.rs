//! Features by a pretrained network: images or vectors go in, features come out.
//!
//! The network is public: it was trained on other data and is read from a file. Each record goes
//! through it by itself, because a network may compute something of all records that it gets together,
//! such as one scale for its whole numbers. So the features of a record depend on that record alone, a
//! guarantee for records also holds for their features, and a record keeps its identity in the ledger.
//!
//! A record with a missing number has missing features, and the dataset's policy for missing values
//! applies to it.

mod image;
#[cfg(feature = "onnx")]
mod onnx;

use std::fmt::Write as _;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

pub use self::image::ImageSizes;
use super::column::Column;
use super::read::ReadingProgress;
use super::read::in_turn::in_turn;
use super::table::Table;
use super::vectors::{Values, Vectors};
use crate::error::{Error, Result};
use crate::numeric::parallel;

/// Records that one thread takes at a time.
const PART: usize = 16;

/// The extraction of a dataset's features, as given in a session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Extraction {
    /// An ONNX file, relative to the session.
    pub network: String,
    /// The column of images or vectors; by default the only one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub column: Option<String>,
    /// Channels, height and width of the images in that column; without it the network gets the
    /// vectors unchanged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<ImageSizes>,
    /// Whether the colours of a pixel are together in the file, not each colour by itself.
    #[serde(default, skip_serializing_if = "is_default")]
    pub channels_last: bool,
    /// The images that the network takes; by default the same as in the file. Grey images become
    /// coloured or vice versa, and sizes are changed by bilinear interpolation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<ImageSizes>,
    /// The network gets (x − subtract)/divide.
    #[serde(default, skip_serializing_if = "is_default")]
    pub subtract: f32,
    /// The divisor of pixels before the network.
    #[serde(default = "one")]
    pub divide: f32,
    /// The name of the network's output; by default the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

fn one() -> f32 {
    1.0
}

/// A network that is ready to run.
trait RunnableNetwork: Sync {
    /// The output for one input.
    fn run(&self, input: Vec<f32>) -> Result<Vec<f32>>;
}

impl Extraction {
    /// The column that is replaced by its features.
    fn column_of<'a>(&'a self, table: &'a Table) -> Result<(&'a str, &'a Vectors)> {
        let name = if let Some(name) = &self.column {
            name
        } else {
            let vectors = |at: &usize| matches!(table.columns[*at], Column::Vectors(_));
            let mut found = (0..table.columns.len()).filter(vectors);
            let (Some(only), None) = (found.next(), found.next()) else {
                return Err(Error::usage("which column the network reads is not clear")
                    .at(table.origin.clone())
                    .cure("name it: extract: (column: \"…\", …)"));
            };
            &table.names[only]
        };
        match table.column(name)? {
            Column::Vectors(vectors) => Ok((name, vectors)),
            other => Err(Error::usage(format!(
                "column '{name}' holds {}, and a network takes vectors",
                other.kind()
            ))
            .at(table.origin.clone())
            .cure("name a column of images or embeddings")),
        }
    }

    /// The shape of the numbers that the network takes for one record.
    fn taken(&self, width: usize) -> Result<Vec<usize>> {
        if self.divide == 0.0 || !self.divide.is_finite() || !self.subtract.is_finite() {
            return Err(Error::usage(format!(
                "the network is to see (x − {})/{}",
                self.subtract, self.divide
            ))
            .cure("give finite numbers and divide by something else than 0"));
        }
        let Some(image) = self.image else {
            return match self.input {
                None => Ok(vec![width]),
                Some(_) => {
                    Err(Error::usage("`input` says what images become, but not what they are")
                        .cure("add image: (channels: …, height: …, width: …)"))
                }
            };
        };
        let input = self.input.unwrap_or(image);
        if image.size() != width {
            return Err(Error::usage(format!(
                "an image of {image} has {} numbers, and the column's vectors have {width}",
                image.size()
            ))
            .cure("give the channels, height and width of the images in the file"));
        }
        image::check(image, input)?;
        Ok(vec![input.channels, input.height, input.width])
    }

    /// Prepares a record for the network.
    fn prepare(&self, vector: &[f32], ready: &mut Vec<f32>) {
        let seen = vector.iter().map(|x| (x - self.subtract) / self.divide);
        match self.image {
            None => ready.extend(seen),
            Some(image) => {
                let pixels: Vec<f32> = seen.collect();
                let input = self.input.unwrap_or(image);
                image::adapt(&pixels, image, self.channels_last, input, ready);
            }
        }
    }

    /// A name for the features of these vectors by this network: anything that changes the features
    /// changes it.
    pub fn key(&self, network: &[u8], table: &Table) -> Result<String> {
        let (_, vectors) = self.column_of(table)?;
        let mut hash = Sha256::new();
        // Earlier versions gave a network several records together.
        hash.update(b"each record by itself");
        hash.update(Sha256::digest(network));
        hash.update(format!("{:?}", Self { network: String::new(), ..self.clone() }));
        hash.update((vectors.width() as u64).to_le_bytes());
        vectors.for_bytes(|bytes| hash.update(bytes));
        Ok(hash.finalize().iter().fold(String::new(), |mut key, byte| {
            // Writing into a String cannot fail.
            let _ = write!(key, "{byte:02x}");
            key
        }))
    }

    /// The features of every record. `network` are the bytes of the file at `path`.
    pub fn extract(
        &self,
        path: &Path,
        network: &[u8],
        table: &Table,
        progress: &mut dyn ReadingProgress,
    ) -> Result<Vectors> {
        let (_, vectors) = self.column_of(table)?;
        let shape = self.taken(vectors.width())?;
        let network = open(path, network, &shape, self.output.as_deref())?;
        self.run(network.as_ref(), vectors, progress)
    }

    /// `table` with its images replaced by `features`. Its fingerprints stay those of the
    /// records in the file.
    pub fn replace(&self, mut table: Table, features: Vectors) -> Result<Table> {
        let (name, vectors) = self.column_of(&table)?;
        if vectors.len() != features.len() {
            return Err(Error::failed(format!(
                "{} features for {} records",
                features.len(),
                vectors.len()
            )));
        }
        let name = name.to_owned();
        for (known, column) in table.names.iter().zip(&mut table.columns) {
            if *known == name {
                *column = Column::Vectors(features);
                break;
            }
        }
        Ok(table)
    }

    fn run(
        &self,
        network: &dyn RunnableNetwork,
        vectors: &Vectors,
        progress: &mut dyn ReadingProgress,
    ) -> Result<Vectors> {
        let records = vectors.len();
        let parts = records.div_ceil(PART);
        let threads = parallel::threads().min(parts);
        let crash = || {
            Error::failed("the network crashed")
                .at(self.network.clone())
                .cure("give another network, or report this one")
        };
        let run = |single: &[f32]| {
            let mut ready = Vec::new();
            self.prepare(single, &mut ready);
            catch_unwind(AssertUnwindSafe(|| network.run(ready))).unwrap_or_else(|_| Err(crash()))
        };
        // No record decides how many features all have.
        let width = run(&vec![0.0; vectors.width()])?.len();
        let features_of = |record: usize| -> Result<Vec<f32>> {
            let single = single(vectors, record);
            let features = run(&single)?;
            let is_complete = single.iter().chain(&features).all(|x| x.is_finite());
            let fits = is_complete && features.len() == width;
            Ok(if fits { features } else { vec![f32::NAN; width] })
        };
        let part_of = |at: usize| -> Result<Vec<f32>> {
            let records = at * PART..((at + 1) * PART).min(records);
            Ok(records.map(features_of).collect::<Result<Vec<_>>>()?.concat())
        };
        let (mut next, mut features) = (0, Vec::new());
        in_turn(
            threads,
            |part: &mut (usize, Vec<f32>)| {
                part.0 = next;
                next += 1;
                Ok(part.0 < parts)
            },
            |part| {
                part.1 = part_of(part.0)?;
                Ok(())
            },
            |part| {
                features.append(&mut part.1);
                let done = records.min((part.0 + 1) * PART) as u64;
                if progress.advance(done, records as u64) == ControlFlow::Break(()) {
                    return Err(Error::interrupted("extracting features was stopped"));
                }
                Ok(())
            },
        )?;
        Vectors::new(width, Values::F32(features))
            .ok_or_else(|| Error::failed("the network gave no features"))
    }
}

fn single(vectors: &Vectors, record: usize) -> Vec<f32> {
    vectors.row(record).numbers().map(|number| number as f32).collect()
}

#[cfg(feature = "onnx")]
fn open(
    path: &Path,
    bytes: &[u8],
    shape: &[usize],
    output: Option<&str>,
) -> Result<Box<dyn RunnableNetwork>> {
    Ok(Box::new(onnx::OnnxNetwork::read(path, bytes, shape, output)?))
}

#[cfg(not(feature = "onnx"))]
fn open(path: &Path, _: &[u8], _: &[usize], _: Option<&str>) -> Result<Box<dyn RunnableNetwork>> {
    Err(Error::usage("this halflight was built without networks")
        .at(path.display().to_string())
        .cure("build it with cargo build --release --features onnx, or give extracted features"))
}

#[cfg(test)]
mod tests {
    use super::super::read::Unwatched;
    use super::*;

    fn table(width: usize, values: Vec<f64>) -> Table {
        let vectors = Vectors::new(width, Values::F64(values)).unwrap();
        let text = Column::Text((0..vectors.len()).map(|row| row.to_string()).collect());
        let names = vec!["id".to_owned(), "x".to_owned()];
        Table::of_rows("test.npy", names, vec![text, Column::Vectors(vectors)]).unwrap()
    }

    fn plain() -> Extraction {
        Extraction {
            network: "network.onnx".to_owned(),
            column: None,
            image: None,
            channels_last: false,
            input: None,
            subtract: 0.0,
            divide: 1.0,
            output: None,
        }
    }

    /// The sum and the first number of its input.
    struct ByteSummary(usize);

    impl RunnableNetwork for ByteSummary {
        fn run(&self, input: Vec<f32>) -> Result<Vec<f32>> {
            // What is computed of several records together would make them depend on each other.
            assert_eq!(input.len(), self.0);
            Ok(vec![input.iter().sum(), input[0]])
        }
    }

    #[test]
    fn every_record_gets_its_own_features_in_the_order_of_the_records() {
        let rows = 5 * PART + 3;
        let table = table(3, (0..3 * rows).map(|x| x as f64).collect());
        let extraction = Extraction { subtract: 1.0, divide: 2.0, ..plain() };
        let (_, vectors) = extraction.column_of(&table).unwrap();
        let features = extraction.run(&ByteSummary(3), vectors, &mut Unwatched).unwrap();
        assert_eq!((features.len(), features.width()), (rows, 2));
        for row in 0..rows {
            let first = 3.0 * row as f64;
            assert_eq!(features.value(row, 0), (3.0 * first + 3.0 - 3.0) / 2.0);
            assert_eq!(features.value(row, 1), (first - 1.0) / 2.0);
        }
        let (content, view) = (table.content, table.view);
        let replaced = extraction.replace(table, features).unwrap();
        assert_eq!((replaced.content, replaced.view), (content, view));
        assert_eq!(replaced.column("x").unwrap().width(), 2);
    }

    #[test]
    fn a_missing_number_makes_the_features_of_its_record_missing_and_no_others() {
        let mut values = vec![1.0; 6];
        values[3] = f64::NAN;
        let table = table(2, values);
        let extraction = plain();
        let (_, vectors) = extraction.column_of(&table).unwrap();
        let features = plain().run(&ByteSummary(2), vectors, &mut Unwatched).unwrap();
        assert_eq!(features.first_missing(), Some((1, 0)));
        assert_eq!((features.value(0, 0), features.value(2, 0)), (2.0, 2.0));
    }

    /// Otherwise a record with another number of features would move those of all after it.
    #[test]
    fn a_record_with_another_number_of_features_has_none_and_moves_no_other() {
        struct AsManyAsItSays;
        impl RunnableNetwork for AsManyAsItSays {
            fn run(&self, input: Vec<f32>) -> Result<Vec<f32>> {
                Ok(vec![input[1]; 2 + input[0] as usize])
            }
        }
        let table = table(2, vec![0.0, 5.0, 2.0, 6.0, 0.0, 7.0]);
        let extraction = plain();
        let (_, vectors) = extraction.column_of(&table).unwrap();
        let features = extraction.run(&AsManyAsItSays, vectors, &mut Unwatched).unwrap();
        assert_eq!((features.len(), features.width()), (3, 2));
        let row = |at: usize| [0, 1].map(|column| features.value(at, column));
        assert_eq!((row(0), row(2)), ([5.0; 2], [7.0; 2]));
        assert!(row(1).iter().all(|value| value.is_nan()));
    }

    #[test]
    fn a_stopped_extraction_is_interrupted() {
        let table = table(1, vec![1.0; 4000]);
        struct Slow;
        impl RunnableNetwork for Slow {
            fn run(&self, input: Vec<f32>) -> Result<Vec<f32>> {
                std::thread::sleep(std::time::Duration::from_millis(2));
                Ok(input)
            }
        }
        let extraction = plain();
        let (_, vectors) = extraction.column_of(&table).unwrap();
        let mut stop = |_: u64, _: u64| ControlFlow::Break(());
        let error = plain().run(&Slow, vectors, &mut stop).err().unwrap();
        assert_eq!(error.kind(), crate::error::ErrorKind::Interrupted);
    }

    #[test]
    fn a_network_that_crashes_is_an_error() {
        struct Broken;
        impl RunnableNetwork for Broken {
            fn run(&self, _: Vec<f32>) -> Result<Vec<f32>> {
                panic!("a test crashes here")
            }
        }
        let (table, extraction) = (table(1, vec![1.0; 5 * PART]), plain());
        let (_, vectors) = extraction.column_of(&table).unwrap();
        let error = extraction.run(&Broken, vectors, &mut Unwatched).err().unwrap().to_string();
        assert!(error.starts_with("network.onnx: the network crashed\n"), "{error}");
    }

    #[test]
    fn shapes_that_do_not_fit_are_refused_with_both_shapes() {
        let image = ImageSizes { channels: 1, height: 2, width: 2 };
        let wrong = Extraction { image: Some(image), ..plain() };
        let error = wrong.taken(5).unwrap_err().to_string();
        assert!(error.contains("1 × 2 × 2") && error.contains('5'), "{error}");
        assert!(Extraction { input: Some(image), ..plain() }.taken(4).is_err());
        assert!(Extraction { divide: 0.0, ..plain() }.taken(4).is_err());
        let wider = ImageSizes { channels: 3, height: 4, width: 4 };
        let fits = Extraction { image: Some(image), input: Some(wider), ..plain() };
        assert_eq!(fits.taken(4).unwrap(), [3, 4, 4]);
    }

    #[test]
    fn the_key_changes_with_network_settings_and_order_of_the_records() {
        let (one, other) = (table(1, vec![1.0, 2.0]), table(1, vec![2.0, 1.0]));
        let key = plain().key(b"network", &one).unwrap();
        assert_eq!(key, plain().key(b"network", &one).unwrap());
        assert_ne!(key, plain().key(b"Network", &one).unwrap());
        assert_ne!(key, plain().key(b"network", &other).unwrap());
        let scaled = Extraction { divide: 2.0, ..plain() };
        assert_ne!(key, scaled.key(b"network", &one).unwrap());
    }

    #[cfg(not(feature = "onnx"))]
    #[test]
    fn without_the_feature_the_error_says_how_to_get_it() {
        let table = table(1, vec![1.0]);
        let path = Path::new("network.onnx");
        let error = plain().extract(path, b"", &table, &mut Unwatched).err().unwrap();
        assert!(error.to_string().contains("--features onnx"), "{error}");
    }
}
