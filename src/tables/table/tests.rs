use proptest::prelude::*;

use super::*;
use crate::vectors::{Values, Vectors};

fn numbers(cells: &[f64]) -> Column {
    Column::Numbers(cells.to_vec().into())
}

fn text(cells: &[&str]) -> Column {
    Column::Text(cells.iter().collect())
}

fn table(origin: &str, columns: &[(&str, Column)]) -> Table {
    let (names, columns): (Vec<_>, Vec<_>) =
        columns.iter().map(|(name, column)| ((*name).to_owned(), column.clone())).unzip();
    let lines = (2..).take(columns[0].len()).collect();
    Table::new(origin, names, columns, lines).ok().unwrap()
}

fn error<T>(result: Result<T>) -> String {
    result.err().unwrap().to_string()
}

#[test]
fn a_table_of_a_size_holds_every_row_once_or_as_many_as_there_is_room_for() {
    let bytes = Vectors::new(2, Values::U8(vec![1, 2, 3, 4, 5, 6])).unwrap();
    let columns = [
        ("number", numbers(&[1.0, 2.0, 3.0])),
        ("text", text(&["1", "2", "3"])),
        ("vector", Column::Vectors(bytes)),
    ];
    let table = table("a.csv", &columns);
    let rows = |size: usize, seed: u8| {
        let sized = table.of_size(size, ChaCha20Rng::from_seed([seed; 32])).unwrap();
        assert_eq!((sized.rows(), sized.view), (size, table.view));
        let Column::Vectors(vectors) = &sized.columns[2] else { panic!() };
        let row = |row: usize| {
            let (Column::Numbers(number), Column::Text(text)) =
                (&sized.columns[0], &sized.columns[1])
            else {
                panic!()
            };
            if number.get(row).is_nan() {
                assert!(text.get(row).is_empty() && sized.lines.at(row) == 0);
                assert!(vectors.row(row).numbers().all(f64::is_nan));
                return 0;
            }
            let number = number.get(row) as usize;
            assert_eq!(
                (text.get(row).as_ref(), sized.lines.at(row)),
                (number.to_string().as_str(), number as u64 + 1)
            );
            assert_eq!(vectors.value(row, 1), 2.0 * number as f64);
            number
        };
        (0..size).map(row).collect::<Vec<_>>()
    };
    // Every order occurs, each about equally often.
    let mut orders: BTreeMap<Vec<usize>, u32> = BTreeMap::new();
    for seed in 0..=255 {
        let mut filled = rows(4, seed);
        *orders.entry(filled.clone()).or_default() += 1;
        filled.sort_unstable();
        assert_eq!(filled, [0, 1, 2, 3]);
        let cut = rows(2, seed);
        assert!(cut[0] != cut[1] && !cut.contains(&0));
    }
    assert_eq!(orders.len(), 24);
    assert!(orders.values().all(|count| (1..=25).contains(count)), "{orders:?}");
    assert_eq!(rows(5, 1), rows(5, 1));
}

#[test]
fn an_unknown_column_suggests_the_near_one() {
    let table = table("a.csv", &[("temp", numbers(&[1.0])), ("hum", numbers(&[1.0]))]);
    assert!(table.column("hum").is_ok());
    assert_eq!(
        error(table.column("tmep2")),
        "a.csv: there is no column 'tmep2'\n  what to do: the columns are: temp, hum"
    );
    assert!(error(table.column("tem")).contains("did you mean 'temp'?"));
}

#[test]
fn some_rows_are_among_more_rows_of_the_same_seed() {
    let rows: Vec<usize> = (0..50).map(|row| 3 * row).collect();
    let some = |count, seed| Table::some_of(&rows, count, seeded(seed));
    let (few, more) = (some(7, 5), some(20, 5));
    assert_eq!((few.len(), more.len()), (7, 20));
    assert!(few.is_sorted() && few.iter().all(|row| more.contains(row)));
    assert!(more.iter().all(|row| rows.contains(row)));
    assert_ne!(few, some(7, 6));
    assert_eq!(some(60, 5), rows);
}

#[test]
fn a_table_with_uneven_or_doubled_columns_is_refused() {
    let new = |names: &[&str], columns: Vec<Column>| {
        let names = names.iter().map(|&name| name.to_owned()).collect();
        error(Table::new("t", names, columns, vec![2, 3].into()))
    };
    assert!(new(&["a", "a"], vec![numbers(&[1.0, 2.0]); 2]).contains("two columns"));
    assert!(new(&["a"], vec![numbers(&[1.0])]).contains("1 cells for 2 rows"));
    assert!(new(&["a", "b"], vec![numbers(&[1.0, 2.0])]).contains("2 names"));
    assert!(new(&["a"], vec![numbers(&[1.0, f64::INFINITY])]).contains("row 2"));
}

#[test]
fn a_selection_remembers_the_file_and_its_lines() {
    let whole = table("a.csv", &[("x", numbers(&[1.0, 2.0, 3.0])), ("t", text(&["a", "b", "c"]))]);
    let part = whole.select(&[2, 0]).unwrap();
    assert_eq!(part.rows(), 2);
    assert_eq!(part.place(0), "a.csv:4");
    assert!(part.columns[1] == text(&["c", "a"]));
    assert_eq!(part.content, whole.content);
    assert_ne!(part.view, whole.view);
    assert_eq!(part.view.rows, 2);
    assert_eq!(whole.select(&[2, 1, 0]).unwrap().view, whole.view);
}

#[test]
fn tables_are_put_together_by_column_name() {
    let a = table("a.csv", &[("x", numbers(&[1.0])), ("k", numbers(&[0.5]))]);
    let b = table("b.csv", &[("k", text(&["?"])), ("x", numbers(&[2.0]))]);
    let both = Table::concat(&[&a, &b]).ok().unwrap();
    assert_eq!(both.names, ["x", "k"]);
    assert!(both.columns == [numbers(&[1.0, 2.0]), text(&["0.5", "?"])]);
    assert_eq!(both.view, Fingerprint::of(&both.names, &both.columns));
    assert_eq!(both.origin, "a.csv + b.csv");
    assert_eq!((both.place(0), both.place(1)), ("a.csv:2".into(), "b.csv:2".into()));
    let three = Table::concat(&[&a, &both.select(&[1]).unwrap()]).ok().unwrap();
    assert_eq!(three.place(1), "b.csv:2");
}

#[test]
fn tables_with_other_columns_are_not_put_together() {
    let a = table("a.csv", &[("x", numbers(&[1.0])), ("k", numbers(&[0.5]))]);
    let b = table("b.csv", &[("x", numbers(&[1.0])), ("z", numbers(&[0.5]))]);
    let error = error(Table::concat(&[&a, &b]));
    assert!(error.starts_with("b.csv: "), "{error}");
    assert!(error.contains("do not match those of a.csv: 'k', 'z'"), "{error}");
}

#[test]
fn a_missing_number_is_an_empty_cell() {
    let gap = table("a", &[("x", numbers(&[1.0, f64::NAN]))]);
    let empty = table("b", &[("x", text(&["1", ""]))]);
    assert!(gap == gap.clone());
    assert_eq!(gap.view, empty.view);
    assert_eq!(Table::concat(&[&gap, &empty]).ok().unwrap().view, gap.view.plus(gap.view));
}

#[test]
fn vectors_are_selected_and_put_together_row_by_row() {
    let vectors = |width, values: &[f32]| {
        Column::Vectors(Vectors::new(width, Values::F32(values.to_vec())).unwrap())
    };
    let make =
        |origin, column| Table::of_rows(origin, vec!["x".into()], vec![column]).ok().unwrap();
    let a = make("a.npy", vectors(2, &[1.0, 2.0, 3.0, 4.0]));
    let b = make("b.npy", vectors(2, &[5.0, 6.0]));
    let both = Table::concat(&[&a, &b]).ok().unwrap();
    assert!(both.columns == [vectors(2, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0])]);
    assert_eq!(both.view, Fingerprint::of(&both.names, &both.columns));
    assert_eq!((both.place(1), both.place(2)), ("a.npy, row 2".into(), "b.npy, row 1".into()));
    assert_eq!(both.select(&[2]).unwrap().view, b.view);
    let wide = make("w.npy", vectors(1, &[5.0, 6.0]));
    let error = error(Table::concat(&[&a, &wide]));
    assert!(error.starts_with("w.npy: its columns do not match those of a.npy: 'x'"), "{error}");
}

#[test]
fn copies_are_counted_once_each_beyond_the_first() {
    let table = table(
        "t",
        &[
            ("x", numbers(&[1.0, 1.0, 2.0, 1.0, -0.0, 0.0])),
            ("t", text(&["a", "a", "a", "b", "", ""])),
        ],
    );
    assert_eq!(table.duplicated_rows(), 2);
}

#[test]
fn values_come_in_order_numbers_by_size() {
    let table = table("t", &[("x", text(&["10", "9", "b", "9.0", "-1", "a"]))]);
    let values: Vec<_> =
        table.values("x").unwrap().iter().map(|(v, n)| (v.to_string(), *n)).collect();
    let expected = [("-1", 1), ("9", 2), ("10", 1), ("a", 1), ("b", 1)];
    assert_eq!(values, expected.map(|(v, n)| (v.to_owned(), n)));
}

/// These positions must not change: sessions identify a split by its seed alone.
#[test]
fn a_shuffle_is_the_same_for_ever() {
    assert_eq!(shuffled(10, &mut seeded(7)), [3, 0, 5, 4, 9, 8, 7, 6, 2, 1]);
}

#[test]
fn every_position_is_equally_likely_in_a_shuffle() {
    let mut counts = [0_i32; 5];
    for seed in 0..5000 {
        counts[shuffled(5, &mut seeded(seed))[0]] += 1;
    }
    assert!(counts.iter().all(|count| (count - 1000).abs() < 150), "{counts:?}");
}

#[test]
fn a_sample_is_fixed_by_numbers_alone_and_impossible_ones_are_refused() {
    let make = |cells: [f64; 5]| table("t", &[("x", numbers(&cells))]);
    let lines = |cells| make(cells).sample(3, seeded(7)).ok().unwrap().lines;
    assert!(lines([1.0, 2.0, 3.0, 4.0, 5.0]) == lines([9.0; 5]));
    assert!(lines([9.0; 5]).iter().is_sorted());
    assert_eq!(make([9.0; 5]).sample(5, seeded(1)).ok().unwrap().rows(), 5);
    for rows in [0, 6] {
        assert!(error(make([9.0; 5]).sample(rows, seeded(7))).contains("sample 1 to 5 rows"));
    }
}

#[test]
fn renaming_columns_refreshes_no_fingerprint_and_joins_none() {
    let a = table("a.csv", &[("x", numbers(&[1.0, 2.0])), ("y", numbers(&[3.0, 4.0]))]);
    let rename = |old: &str, new: &str| a.clone().renamed(&[(old.into(), new.into())].into());
    let renamed = rename("x", "age").ok().unwrap();
    assert_eq!(renamed.names, ["age", "y"]);
    assert_eq!((renamed.content, renamed.view), (a.content, a.view));
    assert!(error(rename("x", "y")).contains("cannot be renamed 'y'"));
    assert!(error(rename("z", "age")).contains("no column 'z'"));
}

#[test]
fn provenance_names_the_same_record_in_whatever_table_it_stands() {
    let a = table("a.csv", &[("x", numbers(&[1.0, 2.0]))]);
    let b = table("b.csv", &[("x", numbers(&[3.0, 4.0]))]);
    let renamed = Table { origin: "c.csv".into(), ..a.clone() };
    let both = Table::concat(&[&b, &renamed]).ok().unwrap();
    let of = |table: &Table| table.provenance().collect::<Vec<_>>();
    assert_eq!(of(&both)[2..], of(&a));
    assert_eq!(of(&both.select(&[3]).unwrap()), of(&a)[1..]);
    assert_ne!(of(&both)[0], of(&a)[0]);
    let (first, second) = (a.select(&[0]).unwrap(), a.select(&[1]).unwrap());
    for (one, other, shared) in [
        (&a, &b, false),
        (&a, &both, true),
        (&both, &b, true),
        (&first, &second, false),
        (&both.select(&[0, 1, 2]).unwrap(), &second, false),
        (&both.select(&[3]).unwrap(), &second, true),
    ] {
        assert_eq!((one.shares_a_record(other), other.shares_a_record(one)), (shared, shared));
    }
}

#[test]
fn impossible_shares_are_refused() {
    let table = table("t", &[("x", numbers(&[1.0, 2.0]))]);
    for share in [1.0, -0.1, f64::NAN] {
        assert!(error(table.split(share, seeded(0))).contains("cannot be held out"));
    }
    assert!(error(table.select(&[0]).unwrap().split(0.5, seeded(0))).contains("cannot be split"));
}

proptest! {
    #[test]
    fn both_ways_of_splitting_put_every_row_on_one_side_of_the_same_sizes(
        rows in 2_usize..200, holdout in 0.0..0.99, seed in any::<u64>()
    ) {
        for split in [Table::split_rows, Table::shuffled_split] {
            let (train, test) = split(rows, holdout, seeded(seed)).unwrap();
            prop_assert_eq!(test.len(), Table::holdout_rows(rows, holdout));
            prop_assert!(train.is_sorted() && test.is_sorted());
            let mut all = [train, test].concat();
            all.sort_unstable();
            prop_assert_eq!(all, (0..rows).collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_split_parts_the_rows_and_depends_on_the_seed_alone(
        rows in 2_usize..200, holdout in 0.01..0.99, seed in any::<u64>()
    ) {
        let cells: Vec<f64> = (0..rows).map(|row| row as f64).collect();
        let whole = table("t", &[("x", numbers(&cells))]);
        let (train, test) = whole.split(holdout, seeded(seed)).ok().unwrap();
        prop_assert!(train.rows() > 0 && test.rows() > 0);
        prop_assert_eq!(train.rows() + test.rows(), whole.rows());
        let mut lines: Vec<u64> = train.lines.iter().chain(test.lines.iter()).collect();
        lines.sort_unstable();
        prop_assert!(lines.into_iter().eq(whole.lines.iter()));
        prop_assert!((test.rows() as f64 - rows as f64 * holdout).abs() <= 1.0);
        prop_assert!(test.lines.iter().is_sorted());
        let again = whole.split(holdout, seeded(seed)).ok().unwrap();
        prop_assert!(again == (train, test));
    }
}
