//! Real files of every format, read to the numbers that their README gives.
//! They lie outside the repository (their licences differ); where they are
//! missing, the test says so. What must always run stands in `hostile_files.rs`
//! and beside the readers.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use halflight::data::csv::Dialect;
use halflight::data::read::{self, Reading, Unwatched};
use halflight::data::{Column, Table, Vectors};

/// The folder with the examples, if it is there.
fn examples() -> Option<PathBuf> {
    let places = ["../shared/data", "/work/shared/data"];
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let found = places.iter().map(|place| here.join(place)).find(|place| place.is_dir());
    if found.is_none() {
        eprintln!("SKIPPED: ../shared/data is not there, so no real file was read");
    }
    found
}

fn read(path: &Path, reading: &Reading) -> Table {
    match read::read(path, reading, &mut Unwatched) {
        Ok(table) => table,
        Err(error) => panic!("{error}"),
    }
}

fn example(name: &str) -> Option<Table> {
    example_as(name, &Reading::Plain)
}

fn example_as(name: &str, reading: &Reading) -> Option<Table> {
    Some(read(&examples()?.join("format_examples").join(name), reading))
}

fn numbers(table: &Table, name: &str) -> Vec<f64> {
    match table.column(name) {
        Ok(Column::Numbers(cells)) => cells.iter().collect(),
        Ok(other) => panic!("{name} is {}", other.kind()),
        Err(error) => panic!("{error}"),
    }
}

fn texts(table: &Table, name: &str) -> Vec<String> {
    match table.column(name) {
        Ok(Column::Text(cells)) => cells.iter().map(Cow::into_owned).collect(),
        Ok(other) => panic!("{name} is {}", other.kind()),
        Err(error) => panic!("{error}"),
    }
}

fn vectors<'t>(table: &'t Table, name: &str) -> &'t Vectors {
    match table.column(name) {
        Ok(Column::Vectors(vectors)) => vectors,
        Ok(other) => panic!("{name} is {}", other.kind()),
        Err(error) => panic!("{error}"),
    }
}

fn row(vectors: &Vectors, row: usize) -> Vec<f64> {
    vectors.row(row).numbers().collect()
}

/// Compares numbers in four files: the CSV is what the arrays were made from.
#[test]
fn the_arrays_of_wind_hold_the_numbers_of_its_table() {
    let Some(folder) = examples() else { return };
    let table = read(&folder.join("wind/wind.csv"), &Reading::Plain);
    let stations = ["RPT", "VAL", "ROS", "KIL", "SHA", "BIR", "DUB", "CLA", "MUL", "CLO", "BEL"];
    let features = example("wind_features.npy").unwrap();
    let features = vectors(&features, "x");
    assert_eq!((features.len(), features.width()), (6574, 11));
    for (at, station) in stations.iter().enumerate() {
        for (row, &number) in numbers(&table, station).iter().enumerate() {
            assert_eq!(features.value(row, at), number);
        }
    }
    assert_eq!(numbers(&example("wind_target.npy").unwrap(), "x"), numbers(&table, "MAL"));
    for other in ["wind_features_fortran_f4.npy", "wind_features_bigendian.npy"] {
        let other = example(other).unwrap();
        let other = vectors(&other, "x");
        assert_eq!((other.len(), other.width()), (1000, 11));
        for at in 0..1000 {
            let same =
                row(other, at).iter().zip(row(features, at)).all(|(a, b)| (a - b).abs() < 1e-5);
            assert!(same, "row {at}");
        }
    }
}

/// 1797 digits, in two NPZ files, in IDX files and as CSV.
#[test]
fn the_digits_are_the_same_in_every_format() {
    let Some(folder) = examples() else { return };
    let table = read(&folder.join("optdigits/optdigits_8x8.csv.gz"), &Reading::Plain);
    let digits = numbers(&table, "digit");
    let pixels = |row: usize| -> Vec<f64> {
        (0..64).map(|at| numbers(&table, &format!("p{at}"))[row]).collect()
    };
    assert_eq!((table.rows(), digits[0]), (1797, 0.0));
    let deflated = example("optdigits.npz").unwrap();
    let stored = example("optdigits_stored.npz").unwrap();
    assert_eq!(numbers(&deflated, "y"), digits);
    assert_eq!(numbers(&stored, "labels"), digits);
    let (deflated, stored) = (vectors(&deflated, "X"), vectors(&stored, "features"));
    assert_eq!((deflated.width(), stored.width()), (64, 64));
    let images = example("optdigits-images-idx3-ubyte.gz").unwrap();
    let features = example("optdigits-features-idx2-float32.gz").unwrap();
    for at in (0..1797).step_by(97) {
        let expected = pixels(at);
        assert_eq!(row(stored, at), expected);
        let largest = row(deflated, at).into_iter().fold(0.0, f64::max);
        let unit = if largest <= 1.0 { 16.0 } else { 1.0 };
        let scaled: Vec<f64> = row(deflated, at).iter().map(|x| x * unit).collect();
        assert_eq!(scaled, expected);
        let bytes: Vec<f64> = row(vectors(&images, "pixel"), at).iter().map(|x| x / 15.0).collect();
        assert_eq!(bytes, expected);
        assert_eq!(vectors(&features, "x").width(), 64);
    }
    assert_eq!(numbers(&example("optdigits-labels-idx1-ubyte.gz").unwrap(), "label"), digits);
    let files =
        [("pixel", "optdigits-images-idx3-ubyte.gz"), ("digit", "optdigits-labels-idx1-ubyte.gz")];
    let files =
        files.map(|(name, file)| (name.to_owned(), folder.join("format_examples").join(file)));
    let both = read::read_together(&files.into(), read::read_plainly).ok().unwrap();
    assert_eq!((both.rows(), numbers(&both, "digit")), (1797, digits));
}

#[test]
fn sparks_flights_have_missing_numbers_and_text() {
    let Some(table) = example("bts_flights_2008_04_part9.snappy.parquet") else { return };
    assert_eq!(table.names.len(), 27);
    assert_eq!(table.rows(), 22_051);
    assert!(table.remarks.is_empty(), "{:?}", table.remarks);
    let delays = numbers(&table, "arrDelay");
    // Counted with pyarrow.
    assert_eq!(delays.iter().filter(|delay| delay.is_nan()).count(), 282);
    assert!(delays.iter().any(|delay| *delay > 60.0));
    assert!(texts(&table, "origin").iter().any(|origin| origin == "ORD"));
    assert!(numbers(&table, "dayOfMonth").iter().all(|day| (1.0..=31.0).contains(day)));
}

#[test]
fn zstd_and_small_row_groups_hold_the_numbers_of_the_csv() {
    let Some(table) = example("gas_drift_1_4_5.zstd.parquet") else { return };
    assert_eq!(table.rows(), 803);
    let whole = read(
        &examples().unwrap().join("gas_drift/gas_drift_batches_1-6_8_9.csv.gz"),
        &Reading::Plain,
    );
    assert_eq!(whole.rows(), 6697);
    let batches = numbers(&whole, "batch");
    let chosen: Vec<usize> =
        (0..whole.rows()).filter(|&row| [1.0, 4.0, 5.0].contains(&batches[row])).collect();
    let whole = whole.select(&chosen).unwrap();
    assert_eq!(texts(&table, "gas"), texts(&whole, "gas"));
    for feature in ["f1", "f64", "f128"] {
        for (single, double) in numbers(&table, feature).iter().zip(numbers(&whole, feature)) {
            assert_eq!(*single as f32, double as f32, "{feature}");
        }
    }
}

#[test]
fn embeddings_in_parquet_become_vectors() {
    let Some(table) = example("reviews_minilm_400.parquet") else { return };
    assert_eq!(table.rows(), 400);
    let embedding = table.columns.iter().find_map(|column| match column {
        Column::Vectors(vectors) => Some(vectors),
        _ => None,
    });
    let embedding = embedding.unwrap();
    assert_eq!((embedding.len(), embedding.width()), (400, 384));
    for at in 0..400 {
        let norm: f64 = embedding.row(at).numbers().map(|x| x * x).sum::<f64>().sqrt();
        assert!((norm - 1.0).abs() < 1e-2, "row {at}: {norm}");
    }
    let kinds: Vec<_> = table.columns.iter().map(Column::kind).collect();
    assert!(kinds.contains(&"text".to_owned()) && kinds.contains(&"numbers".to_owned()));
}

#[test]
fn safetensors_hold_single_and_half_precision() {
    let Some(test) = example("pneumonia_test_lite0_f32.safetensors") else { return };
    let validation = example("pneumonia_val_lite0_f16.safetensors").unwrap();
    for (table, rows) in [(&test, 200), (&validation, 524)] {
        assert_eq!(table.rows(), rows);
        let features = table.columns.iter().find(|column| column.width() == 1280);
        assert!(features.is_some());
        let labels = table.columns.iter().find_map(|column| match column {
            Column::Numbers(labels) => Some(labels),
            _ => None,
        });
        assert!(labels.unwrap().iter().all(|label| [0.0, 1.0].contains(&label)));
    }
    let labels = validation.columns.iter().find_map(|column| match column {
        Column::Numbers(labels) => Some(labels.iter().sum::<f64>()),
        _ => None,
    });
    // Pneumonia in the README of pneumonia_mnist: 389 of the 524.
    assert_eq!(labels, Some(389.0));
}

#[test]
fn arff_agrees_with_the_csv_of_the_same_people() {
    let Some(table) = example("credit-g.arff") else { return };
    assert_eq!((table.rows(), table.names.len()), (1000, 21));
    let codes =
        read(&examples().unwrap().join("german_credit/german_credit_codes.csv"), &Reading::Plain);
    let good = texts(&table, "class").iter().filter(|class| *class == "good").count();
    assert_eq!(good, 700);
    assert_eq!(numbers(&table, "age").iter().sum::<f64>(), {
        let age = codes.names.iter().find(|name| name.starts_with("age")).unwrap();
        numbers(&codes, age).iter().sum::<f64>()
    });
}

#[test]
fn libsvm_text_becomes_vectors_of_one_width() {
    let Some(table) = example("kitchen_train.svmlight") else { return };
    assert_eq!(table.rows(), 2000);
    let labels = numbers(&table, "label");
    assert_eq!(labels.iter().filter(|&&label| label == 1.0).count(), 1000);
    assert!(labels.iter().all(|label| label.abs() == 1.0));
    // Despite its README it counts from 0: the first row starts `1 0:5 3:1`.
    assert_eq!(row(vectors(&table, "x"), 0)[..4], [5.0, 0.0, 0.0, 1.0]);
    let wide = example_as("kitchen_train.svmlight", &Reading::Sparse(5000)).unwrap();
    assert_eq!(vectors(&wide, "x").width(), 5000);
}

#[test]
fn the_original_adult_file_is_read_with_names_from_the_session() {
    let names = "age workclass fnlwgt education education_num marital_status occupation \
                 relationship race sex capital_gain capital_loss hours_per_week native_country \
                 income";
    let names = names.split_whitespace().map(str::to_owned).collect();
    let dialect = Dialect { names, ..Dialect::default() };
    let Some(table) = example_as("adult.test", &Reading::Delimited(dialect)) else { return };
    assert_eq!((table.rows(), table.names.len()), (16_281, 15));
    let rich = texts(&table, "income").iter().filter(|income| *income == ">50K.").count();
    assert_eq!(rich, 3846);
    assert!(texts(&table, "workclass").contains(&"?".to_owned()));
    assert_eq!(numbers(&table, "age")[0], 25.0);
}

#[test]
fn cifar_records_start_with_the_known_labels() {
    let Some(table) = example("cifar10_100.bin") else { return };
    assert_eq!((table.rows(), vectors(&table, "pixel").width()), (100, 3072));
    let known = [3.0, 8.0, 8.0, 0.0, 6.0, 6.0, 1.0, 6.0, 3.0, 1.0];
    assert_eq!(numbers(&table, "label")[..10], known);
}

/// Rows of each dataset as its README counts them.
#[test]
fn every_dataset_has_the_rows_that_its_readme_counts() {
    let Some(folder) = examples() else { return };
    for (file, rows) in [
        ("adult/adult.csv.gz", 48_842),
        ("airline_nyc_ord_2013/airline_nyc_ord_2013.csv.gz", 16_566),
        ("airline_ord_2008/airline_ord_2008_jan_apr.csv.gz", 217_942),
        ("bikeshare/bikeshare.csv", 8_645),
        ("heart_hospitals/heart_hospitals.csv", 920),
        ("wine_quality/wine_quality.csv", 6_497),
        ("german_credit/south_german_credit.csv", 1_000),
        ("amazon_reviews/books_train.svmlight.gz", 2_000),
        ("cifar10_part/cifar10_test_part.bin.gz", 846),
        ("fashion_mnist/t10k-images-idx3-ubyte.gz", 10_000),
        ("mnist/t10k-labels-idx1-ubyte.gz", 10_000),
    ] {
        assert_eq!(read(&folder.join(file), &Reading::Plain).rows(), rows, "{file}");
    }
    let arrays =
        |names: &[&str]| Reading::Arrays(names.iter().map(|&name| name.to_owned()).collect());
    for (file, names, rows) in [
        ("features_cifar10_lite0/cifar10_lite0.npz", ["train_features", "train_labels"], 4660),
        ("features_reviews_minilm/reviews_minilm.npz", ["features", "labels"], 4000),
        ("pneumonia_mnist/pneumoniamnist.npz", ["test_images", "test_labels"], 624),
    ] {
        assert_eq!(read(&folder.join(file), &arrays(&names)).rows(), rows, "{file}");
    }
    let several = folder.join("pneumonia_mnist/pneumoniamnist.npz");
    let error = read::read_plainly(&several).err().unwrap().to_string();
    assert!(error.contains("do not have the same number of records"), "{error}");
    assert!(error.contains("arrays(file"), "{error}");
}
