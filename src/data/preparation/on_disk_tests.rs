//! Records that are prepared from a table on the disk.

use std::fs;

use crate::overlap::{DigestKey, Sketch};
use crate::read::{Overflow, Reading, TableReader, Unwatched};
use crate::write::{WriteFormat, bytes};
use crate::{
    Bounds, Column, Columns, DatasetDefinition, Missing, Preparation, PreparationSettings, Role,
    Source, Table,
};

/// 50 000 rows: singles, doubles with gaps, a few texts, a name for each row, and a label.
fn columns() -> Vec<(String, Column)> {
    let numbers =
        |of: fn(u32) -> f64| Column::Numbers((0..50_000).map(of).collect::<Vec<_>>().into());
    let texts = |of: fn(u32) -> String| Column::Text((0..50_000).map(of).collect());
    let gaps = |row| if row % 7 == 3 { f64::NAN } else { f64::from(row).sqrt() };
    let all = [
        ("single", numbers(|row| f64::from(row) / 8.0)),
        ("double", numbers(gaps)),
        ("text", texts(|row| ["a", "b", "", "c"][row as usize / 5 % 4].to_owned())),
        ("name", texts(|row| format!("é{row}"))),
        ("y", numbers(|row| f64::from(row * 37 % 101))),
    ];
    all.map(|(name, column)| (name.to_owned(), column)).to_vec()
}

#[test]
fn prepared_records_are_beside_their_table_and_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.parquet");
    fs::write(&path, bytes(WriteFormat::Parquet, &columns()).unwrap()).unwrap();
    let read = |reader: TableReader| reader.read(&path, &Reading::Plain, &mut Unwatched).unwrap();
    let overflow = Overflow { folder: folder.path().to_path_buf(), above: 1 << 16 };
    let memory = read(TableReader::private());
    let disk = read(TableReader::private().with(overflow));
    let key = DigestKey::new([5; 32]);
    assert!(Sketch::of(&memory, &key) == Sketch::of(&disk, &key));
    let mut definition =
        DatasetDefinition::new("t", Role::Public, Source::File("t.parquet".to_owned()));
    definition.label = Some("y".to_owned());
    definition.columns = Columns::Except(vec!["name".to_owned()]);
    definition.missing = Missing::PublicMean;
    let settings = PreparationSettings::default();
    let preparation = Preparation::fit(&memory, &definition, &settings).unwrap();
    let rows: Vec<usize> = (0..50_000).filter(|row| row % 5 != 0).collect();
    let bounds = Bounds { feature_norm: 0.8, label: 0.5 };
    let of = |table: &Table| {
        let asked = ("private", true);
        let trained = preparation.bounded_private_rows(table, &rows, asked, bounds).unwrap();
        let judged = preparation.apply_to_private_rows_for_evaluation(table, &rows, "judges");
        (trained, judged.unwrap())
    };
    let ((train, judges), (train_on_disk, judges_on_disk)) = (of(&memory), of(&disk));
    assert!(train.features.numbers().is_some());
    assert!(train_on_disk.features.numbers().is_none());
    assert!(judges_on_disk.features.numbers().is_none());
    assert_eq!(train, train_on_disk);
    assert_eq!(judges, judges_on_disk);
    let chosen: Vec<usize> = (0..rows.len()).step_by(99).collect();
    assert_eq!(train.select(&chosen), train_on_disk.select(&chosen));
}
