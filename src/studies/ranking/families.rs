//! Families of images: the one that plays the private part, and those that may stand in for it.
//!
//! All become 28 × 28 grey pixels in [−1, 1], with their original labels.

use std::path::Path;

use rand::RngExt;
use rand::rngs::ChaCha20Rng;
use rand::seq::SliceRandom;
use rand_distr::{Distribution, StandardNormal};

use super::{ITSELF, PIXELS};
use crate::data::column::Column;
use crate::data::images::{ImageShape, resized, square};
use crate::data::read::{Reading, Unwatched, read, read_bytes};
use crate::data::{Bounds, Classes, Dataset, Table};
use crate::error::{Error, Result};
use crate::numeric::Matrix;

const SIZE: ImageShape = (1, 28, 28);
/// The most images of a file.
const MOST: usize = 10_000;
/// The most images that judge the training.
const TESTS: usize = 2000;
/// Images of noise.
const NOISE: usize = 2000;

/// Where the images are, and which of them play the private part.
#[derive(Debug, Clone, Copy)]
pub enum Images<'a> {
    /// Clothes, from the images inside the program.
    Inside,
    /// Clothes, from a directory.
    Clothes(&'a Path),
    /// X-rays, from a directory.
    XRays(&'a Path),
}

/// The parts of the study.
pub struct Cast {
    pub private: Dataset,
    /// Images of the private kind that are in no other part.
    pub test: Dataset,
    pub candidates: Vec<Dataset>,
    /// Families that were not found.
    pub missing: Vec<String>,
}

/// A family that a directory may hold.
struct DirectoryFamily {
    name: &'static str,
    /// The name of its labels.
    kind: &'static str,
    images: &'static str,
    arrays: &'static [&'static str],
    /// The labels' own file.
    labels: Option<&'static str>,
}

const ELSEWHERE: [DirectoryFamily; 5] = [
    DirectoryFamily {
        name: "digits (MNIST)",
        kind: "digit",
        images: "mnist/t10k-images-idx3-ubyte.gz",
        arrays: &[],
        labels: Some("mnist/t10k-labels-idx1-ubyte.gz"),
    },
    DirectoryFamily {
        name: "digits (8×8)",
        kind: "digit",
        images: "optdigits/optdigits_8x8.csv.gz",
        arrays: &[],
        labels: None,
    },
    DirectoryFamily {
        name: "photographs (CIFAR-10)",
        kind: "photograph",
        images: "cifar10_part/cifar10_train_first2000.bin.gz",
        arrays: &[],
        labels: None,
    },
    DirectoryFamily {
        name: "digits on photographs",
        kind: "digit",
        images: "mnist_m_made/mnist_m_made_2k_1k.npz",
        arrays: &["train_images", "train_labels"],
        labels: None,
    },
    DirectoryFamily {
        name: X_RAYS,
        kind: FINDING,
        images: RADIOGRAPHS,
        arrays: &["train_images", "train_labels"],
        labels: None,
    },
];

const X_RAYS: &str = "X-rays";
const RADIOGRAPHS: &str = "pneumonia_mnist/pneumoniamnist.npz";
/// The kinds of the private images.
const GARMENT: &str = "garment";
const FINDING: &str = "finding";

impl Cast {
    pub fn new(images: Images<'_>, generator: &mut ChaCha20Rng) -> Result<Self> {
        let (all, tests, mut others, missing) = match images {
            Images::Inside => inside()?,
            Images::Clothes(directory) => found(directory, false)?,
            Images::XRays(directory) => found(directory, true)?,
        };
        let classes = all.classes.as_ref().map_or(0, |classes| classes.names.len()) as u32;
        let mut order: Vec<usize> = (0..all.len()).collect();
        order.shuffle(generator);
        let (ours, rest) = order.split_at(order.len() / 2);
        let private = chosen("private", &all, ours);
        let (half, test) = if let Some(tests) = tests {
            (chosen("disjoint half", &all, rest), tests)
        } else {
            let (test, half) = rest.split_at(rest.len() / 3);
            (chosen("disjoint half", &all, half), chosen("test", &all, test))
        };
        let inverted =
            Dataset { name: "inverted".to_owned(), features: -&half.features, ..half.clone() };
        let mut candidates = vec![named(ITSELF, &private), half, inverted];
        candidates.append(&mut others);
        let images = Matrix::from_fn(PIXELS, NOISE, |_, _| StandardNormal.sample(generator));
        let labels = (0..NOISE).map(|_| generator.random_range(0..classes)).collect();
        candidates.push(dataset("noise", "noise", images, labels));
        Ok(Self { private, test, candidates, missing })
    }
}

type FamilyParts = (Dataset, Option<Dataset>, Vec<Dataset>, Vec<String>);

/// The images inside the program; their test images are some of the private kind.
fn inside() -> Result<FamilyParts> {
    let table =
        |name: &str, bytes: &[u8]| read_bytes(&format!("builtin:{name}"), bytes, &Reading::Plain);
    let train = table(
        "train2k-images-idx3-ubyte",
        include_bytes!("../../../assets/fashion_mnist/train2k-images-idx3-ubyte.gz"),
    )?;
    let train_labels = table(
        "train2k-labels-idx1-ubyte",
        include_bytes!("../../../assets/fashion_mnist/train2k-labels-idx1-ubyte.gz"),
    )?;
    let test = table(
        "t1k-images-idx3-ubyte",
        include_bytes!("../../../assets/fashion_mnist/t1k-images-idx3-ubyte.gz"),
    )?;
    let test_labels = table(
        "t1k-labels-idx1-ubyte",
        include_bytes!("../../../assets/fashion_mnist/t1k-labels-idx1-ubyte.gz"),
    )?;
    let digits = table(
        "optdigits_8x8.csv",
        include_bytes!("../../../assets/optdigits/optdigits_8x8.csv.gz"),
    )?;
    let (train, test) = (
        family("train", GARMENT, &train, Some(&train_labels), MOST)?,
        family("test", GARMENT, &test, Some(&test_labels), MOST)?,
    );
    let all: Vec<_> = train.features.column_iter().chain(test.features.column_iter()).collect();
    let labels = [labels_of(&train), labels_of(&test)].concat();
    let fashion = dataset("fashion", GARMENT, Matrix::from_columns(&all), labels);
    let turned = Matrix::from_fn(PIXELS, test.len(), |i, j| test.features[(PIXELS - 1 - i, j)]);
    let others = vec![
        family("digits (8×8)", "digit", &digits, None, MOST)?,
        dataset("test images upside down", GARMENT, turned, labels_of(&test).to_vec()),
    ];
    Ok((fashion, None, others, Vec::new()))
}

fn found(directory: &Path, x_rays: bool) -> Result<FamilyParts> {
    let plain = |file: &str| read(&directory.join(file), &Reading::Plain, &mut Unwatched);
    let mut missing = Vec::new();
    let mut others = Vec::new();
    for DirectoryFamily { name, kind, images, arrays, labels } in ELSEWHERE {
        if x_rays && name == X_RAYS {
            continue;
        }
        let path = directory.join(images);
        if !path.exists() {
            missing.push(name.to_owned());
            continue;
        }
        let reading = if arrays.is_empty() {
            Reading::Plain
        } else {
            Reading::Arrays(arrays.iter().map(|&name| name.to_owned()).collect())
        };
        let table = read(&path, &reading, &mut Unwatched)?;
        let labels = labels.map(plain).transpose()?;
        others.push(family(name, kind, &table, labels.as_ref(), MOST)?);
    }
    let fashion = |name: &str, part: &str, most: usize| {
        let images = plain(&format!("fashion_mnist/{part}-images-idx3-ubyte.gz"))?;
        let labels = plain(&format!("fashion_mnist/{part}-labels-idx1-ubyte.gz"))?;
        family(name, GARMENT, &images, Some(&labels), most)
    };
    if x_rays {
        others.push(fashion("clothes (Fashion-MNIST)", "t10k", MOST)?);
        let part = |part: &str| {
            let arrays = ["images", "labels"].map(|what| format!("{part}_{what}"));
            let reading = Reading::Arrays(arrays.to_vec());
            let table = read(&directory.join(RADIOGRAPHS), &reading, &mut Unwatched)?;
            family(part, FINDING, &table, None, MOST)
        };
        return Ok((part("train")?, Some(part("test")?), others, missing));
    }
    let test = fashion("test", "t10k", TESTS)?;
    Ok((fashion("fashion", "train10k", MOST)?, Some(test), others, missing))
}

/// Pixels in [−1, 1], so a norm of at most √784; nothing is clipped.
fn dataset(name: &str, kind: &str, features: Matrix, of: Vec<u32>) -> Dataset {
    let classes = of.iter().max().map_or(0, |last| last + 1);
    let names = (0..classes).map(|class| format!("{kind} {class}")).collect();
    Dataset {
        classes: Some(Classes { of, names }),
        ..Dataset::unlabelled(
            name.to_owned(),
            features,
            Bounds { feature_norm: (PIXELS as f64).sqrt(), label: 1.0 },
        )
    }
}

fn named(name: &str, data: &Dataset) -> Dataset {
    Dataset { name: name.to_owned(), ..data.clone() }
}

fn labels_of(data: &Dataset) -> &[u32] {
    data.classes.as_ref().map_or(&[], |classes| &classes.of)
}

fn chosen(name: &str, all: &Dataset, at: &[usize]) -> Dataset {
    let classes = all.classes.as_ref().map(|classes| Classes {
        of: at.iter().map(|i| classes.of[*i]).collect(),
        names: classes.names.clone(),
    });
    Dataset { features: all.features.select_columns(at), classes, ..named(name, all) }
}

/// The first images of a table with their labels: its widest column and the other one, or all its
/// columns but the last and that one; or the labels of a separate table.
fn family(
    name: &str,
    kind: &str,
    table: &Table,
    labels: Option<&Table>,
    most: usize,
) -> Result<Dataset> {
    let rows = table.rows().min(most);
    let widest = table.columns.iter().max_by_key(|column| column.width());
    let last = table.columns.len().saturating_sub(1);
    let is_image = |at: usize, column: &Column| match widest {
        Some(Column::Vectors(images)) => column.width() == images.width(),
        _ => at < last,
    };
    let (columns, own): (Vec<_>, Vec<_>) =
        table.columns.iter().enumerate().partition(|(at, column)| is_image(*at, column));
    let columns: Vec<&Column> = columns.into_iter().map(|(_, column)| column).collect();
    let label = match labels {
        Some(labels) => labels.columns.last(),
        None => own.last().map(|(_, column)| *column),
    };
    let label =
        label.ok_or_else(|| Error::failed("there are no labels").at(table.origin.clone()))?;
    let of = numbers(&[label], rows).into_iter().map(|label| label[0] as u32).collect();
    Ok(dataset(name, kind, images(table, &columns, rows)?, of))
}

/// The numbers of every row.
fn numbers(columns: &[&Column], rows: usize) -> Vec<Vec<f64>> {
    let mut raw: Vec<Vec<f64>> = vec![Vec::new(); rows];
    for column in columns {
        for (row, numbers) in raw.iter_mut().enumerate() {
            match column {
                Column::Vectors(vectors) => numbers.extend(vectors.row(row).numbers()),
                Column::Numbers(column) => numbers.push(column.get(row)),
                Column::Text(_) => {}
            }
        }
    }
    raw
}

/// Images as 28 × 28 grey pixels in [−1, 1].
fn images(table: &Table, columns: &[&Column], rows: usize) -> Result<Matrix> {
    let raw = numbers(columns, rows);
    let width = raw.first().map_or(0, Vec::len);
    let from = square(width).ok_or_else(|| {
        Error::failed(format!("{width} numbers do not make a square image"))
            .at(table.origin.clone())
    })?;
    let largest = raw.iter().flatten().fold(0.0_f64, |most, pixel| most.max(*pixel)).max(1.0);
    // NumPy's layout of colours is pixel by pixel, CIFAR's channel by channel.
    let by_pixel = from.0 == 3 && table.origin.contains(".npz");
    let mut matrix = Matrix::zeros(PIXELS, rows);
    for (image, mut column) in raw.iter().zip(matrix.column_iter_mut()) {
        let grey: Vec<f64> = if by_pixel {
            image.chunks(3).map(|pixel| pixel.iter().sum::<f64>() / 3.0).collect()
        } else {
            image.clone()
        };
        let from = if by_pixel { (1, from.1, from.2) } else { from };
        for (slot, pixel) in column.iter_mut().zip(resized(&grey, from, SIZE)) {
            *slot = 2.0 * pixel / largest - 1.0;
        }
    }
    Ok(matrix)
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;

    #[test]
    fn the_parts_inside_the_program_are_labelled_and_the_test_images_in_no_other() {
        let cast = Cast::new(Images::Inside, &mut ChaCha20Rng::seed_from_u64(1)).unwrap();
        assert!(cast.missing.is_empty() && cast.candidates.len() >= 6);
        for data in cast.candidates.iter().chain([&cast.private, &cast.test]) {
            let classes = data.classes.as_ref().unwrap();
            assert_eq!((classes.of.len(), classes.names.len()), (data.len(), 10));
            assert!(data.name == "noise" || data.features.amax() <= 1.0, "{}", data.name);
        }
        let half = cast.candidates.iter().find(|data| data.name == "disjoint half").unwrap();
        let images = |data: &Dataset| -> Vec<Vec<u64>> {
            let bits = |column: Vec<f64>| column.into_iter().map(f64::to_bits).collect();
            data.features.column_iter().map(|x| bits(x.iter().copied().collect())).collect()
        };
        let mut seen: Vec<Vec<u64>> =
            [&cast.private, half, &cast.test].into_iter().flat_map(images).collect();
        let all = seen.len();
        seen.sort();
        seen.dedup();
        // Fashion-MNIST has a few images twice.
        assert!(seen.len() + 5 > all, "{} of {all}", seen.len());
    }
}
