//! The images and features of the studies, and the public sets that may stand in for them.

use std::path::Path;

use rand::SeedableRng;
use rand::rngs::ChaCha20Rng;
use rand::seq::SliceRandom;
use rand_distr::{Distribution, StandardNormal};

use crate::data::column::Column;
use crate::data::read::{Reading, Unwatched, read, read_bytes};
use crate::data::{Bounds, Classes, Dataset, Table};
use crate::error::{Error, Result};
use crate::numeric::Matrix;

/// One labelled dataset in two roles, and public candidates of the same dimension.
#[derive(Debug)]
pub struct Material {
    pub name: &'static str,
    train: Dataset,
    pub test: Dataset,
    /// The number of private records in `train`; the others are public.
    pub private: usize,
    pub public: usize,
    /// Records that are unrelated to the private ones, or even misleading.
    pub candidates: Vec<(String, Dataset)>,
}

/// The origin of a dataset: files in a directory, or bytes inside the program.
enum MaterialOrigin<'a> {
    Directory(&'a Path),
    Inside,
}

const FASHION: [(&str, &[u8]); 4] = [
    (
        "train2k-images-idx3-ubyte.gz",
        include_bytes!("../../../assets/fashion_mnist/train2k-images-idx3-ubyte.gz"),
    ),
    (
        "train2k-labels-idx1-ubyte.gz",
        include_bytes!("../../../assets/fashion_mnist/train2k-labels-idx1-ubyte.gz"),
    ),
    (
        "t1k-images-idx3-ubyte.gz",
        include_bytes!("../../../assets/fashion_mnist/t1k-images-idx3-ubyte.gz"),
    ),
    (
        "t1k-labels-idx1-ubyte.gz",
        include_bytes!("../../../assets/fashion_mnist/t1k-labels-idx1-ubyte.gz"),
    ),
];
const DIGITS: &[u8] = include_bytes!("../../../assets/optdigits/optdigits_8x8.csv.gz");

/// All material that was found, and the files that are missing.
pub fn load(directory: Option<&Path>) -> Result<(Vec<Material>, Vec<&'static str>)> {
    let place = directory.map_or(MaterialOrigin::Inside, MaterialOrigin::Directory);
    let mut missing = Vec::new();
    let mut found = Vec::new();
    let loaded = [
        ("fashion_mnist/train10k-images-idx3-ubyte.gz", fashion(&place)?),
        ("optdigits/optdigits_8x8.csv.gz", digits(&place)?),
        ("features_cifar10_lite0/cifar10_lite0.npz", photographs(&place)?),
        ("pneumonia_mnist/pneumoniamnist.npz", radiographs(&place)?),
    ];
    for (name, material) in loaded {
        match material {
            Some(material) => found.push(material),
            None => missing.push(name),
        }
    }
    Ok((found, missing))
}

impl Material {
    /// Public and private records of one split.
    pub fn split(&self, seed: u64) -> (Dataset, Dataset) {
        let mut order: Vec<usize> = (0..self.train.len()).collect();
        order.shuffle(&mut ChaCha20Rng::seed_from_u64(seed));
        let (private, rest) = order.split_at(self.private);
        (chosen(&self.train, &rest[..self.public]), chosen(&self.train, private))
    }

    pub fn dimension(&self) -> usize {
        self.train.dimension()
    }
}

/// Fashion-MNIST: 9 000 private and 1 000 public images of ten thousand, or 1 600 and 400 of
/// those inside the program.
fn fashion(place: &MaterialOrigin<'_>) -> Result<Option<Material>> {
    let (train, test, private) = match place {
        MaterialOrigin::Inside => {
            let inside = |at: usize| {
                let (name, bytes) = FASHION[at];
                read_bytes(&format!("builtin:{name}"), bytes, &Reading::Plain)
            };
            let pair = |at| Ok::<_, Error>((inside(at)?, inside(at + 1)?));
            (pair(0)?, pair(2)?, 1600)
        }
        MaterialOrigin::Directory(directory) => {
            let files = |part: &str| -> Result<Option<(Table, Table)>> {
                let images = directory.join(format!("fashion_mnist/{part}-images-idx3-ubyte.gz"));
                let labels = directory.join(format!("fashion_mnist/{part}-labels-idx1-ubyte.gz"));
                if !images.exists() {
                    return Ok(None);
                }
                let table = |path: &Path| read(path, &Reading::Plain, &mut Unwatched);
                Ok(Some((table(&images)?, table(&labels)?)))
            };
            let (Some(train), Some(test)) = (files("train10k")?, files("t10k")?) else {
                return Ok(None);
            };
            (train, test, 9000)
        }
    };
    let dataset = |(images, labels): &(Table, Table)| {
        labelled("fashion", features(&images.columns, 255.0)?, labels, 28.0)
    };
    let (train, test) = (dataset(&train)?, dataset(&test)?);
    let public = train.len() - private;
    let mut candidates = others(place, &train, public, &OTHERS[..1])?;
    let last = train.dimension() - 1;
    let turned = Matrix::from_fn(last + 1, public, |i, j| test.features[(last - i, j)]);
    candidates.push(("images upside down".to_owned(), unlabelled(&train, turned)));
    candidates.push(("noise".to_owned(), unlabelled(&train, noise(last + 1, public))));
    Ok(Some(Material { name: "Fashion-MNIST", train, test, private, public, candidates }))
}

/// Handwritten digits of 8 × 8 pixels.
fn digits(place: &MaterialOrigin<'_>) -> Result<Option<Material>> {
    let table = match place {
        MaterialOrigin::Inside => {
            read_bytes("builtin:optdigits_8x8.csv.gz", DIGITS, &Reading::Plain)?
        }
        MaterialOrigin::Directory(directory) => {
            let path = directory.join("optdigits/optdigits_8x8.csv.gz");
            if !path.exists() {
                return Ok(None);
            }
            read(&path, &Reading::Plain, &mut Unwatched)?
        }
    };
    let (pixels, label) = table.columns.split_at(table.columns.len() - 1);
    let pixels = features(pixels, 16.0)?;
    let all = labelled("digits", pixels, &part_of(&table, label)?, 8.0)?;
    let (train, test) = halves(&all, 1300);
    let (private, public) = (1000, 300);
    let last = train.dimension() - 1;
    let turned = Matrix::from_fn(last + 1, public, |i, j| test.features[(last - i, j)]);
    let candidates = vec![
        ("images upside down".to_owned(), unlabelled(&train, turned)),
        ("noise".to_owned(), unlabelled(&train, noise(last + 1, public))),
    ];
    Ok(Some(Material { name: "optdigits", train, test, private, public, candidates }))
}

/// Images of 28 × 28 pixels that may stand in for others.
const OTHERS: [(&str, &str); 2] = [
    ("digits (MNIST)", "mnist/t10k-images-idx3-ubyte.gz"),
    ("clothes (Fashion-MNIST)", "fashion_mnist/t10k-images-idx3-ubyte.gz"),
];

/// As many of the `wanted` images as there are public records, where their files are.
fn others(
    place: &MaterialOrigin<'_>,
    like: &Dataset,
    public: usize,
    wanted: &[(&str, &str)],
) -> Result<Vec<(String, Dataset)>> {
    let MaterialOrigin::Directory(directory) = place else { return Ok(Vec::new()) };
    let mut found = Vec::new();
    for (name, file) in wanted {
        let path = directory.join(file);
        if path.exists() {
            let images = read(&path, &Reading::Plain, &mut Unwatched)?;
            let images = features(&images.columns, 255.0)?.columns(0, public).into_owned();
            found.push(((*name).to_owned(), unlabelled(like, images)));
        }
    }
    Ok(found)
}

/// The training and the test part of a file of arrays: records of `what`, divided by `largest`, and
/// their labels.
fn of_arrays(
    place: &MaterialOrigin<'_>,
    file: &str,
    what: &str,
    (largest, norm): (f64, f64),
) -> Result<Option<(Dataset, Dataset)>> {
    let MaterialOrigin::Directory(directory) = place else { return Ok(None) };
    let path = directory.join(file);
    if !path.exists() {
        return Ok(None);
    }
    let arrays = |part: &str| {
        let names = [what, "labels"].map(|what| format!("{part}_{what}"));
        let table = read(&path, &Reading::Arrays(names.to_vec()), &mut Unwatched)?;
        let (numbers, labels) = table.columns.split_at(1);
        labelled(what, features(numbers, largest)?, &part_of(&table, labels)?, norm)
    };
    Ok(Some((arrays("train")?, arrays("test")?)))
}

/// X-rays of children's chests, with pneumonia or without; a tenth of them are public.
fn radiographs(place: &MaterialOrigin<'_>) -> Result<Option<Material>> {
    let file = "pneumonia_mnist/pneumoniamnist.npz";
    let Some((train, test)) = of_arrays(place, file, "images", (255.0, 28.0))? else {
        return Ok(None);
    };
    let public = train.len() / 10;
    let private = train.len() - public;
    let mut candidates = others(place, &train, public, &OTHERS)?;
    candidates.push(("noise".to_owned(), unlabelled(&train, noise(train.dimension(), public))));
    let name = "PneumoniaMNIST, children's X-rays of 28 px";
    Ok(Some(Material { name, train, test, private, public, candidates }))
}

/// Features of photographs from `EfficientNet`.
fn photographs(place: &MaterialOrigin<'_>) -> Result<Option<Material>> {
    let file = "features_cifar10_lite0/cifar10_lite0.npz";
    let Some((train, test)) = of_arrays(place, file, "features", (1.0, 215.0))? else {
        return Ok(None);
    };
    let (private, public) = (train.len() - 1000, 1000);
    let noise = unlabelled(&train, noise(train.dimension(), public));
    let candidates = vec![("noise".to_owned(), noise)];
    let name = "CIFAR-10, EfficientNet features";
    Ok(Some(Material { name, train, test, private, public, candidates }))
}

/// A table with only some columns.
fn part_of(table: &Table, columns: &[Column]) -> Result<Table> {
    let names = (0..columns.len()).map(|at| format!("c{at}")).collect();
    Table::new(table.origin.clone(), names, columns.to_vec(), table.lines.clone())
}

/// One example per column of the result, divided by `largest`.
fn features(columns: &[Column], largest: f64) -> Result<Matrix> {
    let rows = columns.first().map_or(0, Column::len);
    let mut examples: Vec<Vec<f64>> = vec![Vec::new(); rows];
    for column in columns {
        for (row, example) in examples.iter_mut().enumerate() {
            match column {
                Column::Vectors(vectors) => example.extend(vectors.row(row).numbers()),
                Column::Numbers(numbers) => example.push(numbers.get(row)),
                Column::Text(_) => {
                    return Err(Error::failed("the study expects numbers, and found text"));
                }
            }
        }
    }
    let width = examples.first().map_or(0, Vec::len);
    let numbers = examples.into_iter().flatten().map(|number| number / largest);
    Ok(Matrix::from_vec(width, rows, numbers.collect()))
}

/// With the classes 0 to 9 of the last column of `labels`; `norm` bounds every example.
fn labelled(name: &str, features: Matrix, labels: &Table, norm: f64) -> Result<Dataset> {
    let column = labels.columns.last().ok_or_else(|| Error::failed("there are no labels"))?;
    let of = self::features(std::slice::from_ref(column), 1.0)?;
    let of: Vec<u32> = of.iter().map(|class| *class as u32).collect();
    let names = (0..=of.iter().copied().max().unwrap_or(0)).map(|class| class.to_string());
    let names: Vec<String> = names.collect();
    Ok(Dataset {
        feature_names: (0..features.nrows()).map(|at| format!("x{at}")).collect(),
        classes: Some(Classes { of, names }),
        ..Dataset::unlabelled(name, features, Bounds { feature_norm: norm, label: 1.0 })
    })
}

fn unlabelled(like: &Dataset, features: Matrix) -> Dataset {
    Dataset { features, classes: None, ..like.clone() }
}

fn noise(dimension: usize, count: usize) -> Matrix {
    let mut generator = ChaCha20Rng::seed_from_u64(1);
    Matrix::from_fn(dimension, count, |_, _| StandardNormal.sample(&mut generator))
}

/// The first `count` records of a fixed shuffle, and the others.
fn halves(all: &Dataset, count: usize) -> (Dataset, Dataset) {
    let mut order: Vec<usize> = (0..all.len()).collect();
    order.shuffle(&mut ChaCha20Rng::seed_from_u64(0));
    (chosen(all, &order[..count]), chosen(all, &order[count..]))
}

fn chosen(all: &Dataset, at: &[usize]) -> Dataset {
    let classes = all.classes.as_ref().map(|classes| Classes {
        of: at.iter().map(|i| classes.of[*i]).collect(),
        names: classes.names.clone(),
    });
    Dataset { features: all.features.select_columns(at), classes, ..all.clone() }
}
