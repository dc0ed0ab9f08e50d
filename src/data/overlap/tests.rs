use super::*;
use crate::{Column, Table, Values, Vectors};

fn key() -> DigestKey {
    DigestKey::new([5; 32])
}

/// A different number for every pair.
fn number(row: usize, column: usize) -> f64 {
    let mixed = (row as u64 * 0x9E37_79B9 + column as u64 * 0x85EB_CA6B + 1)
        .wrapping_mul(0xBF58_476D_1CE4_E5B9);
    ((mixed ^ mixed >> 31) % 100_003) as f64 / 7.0
}

#[allow(clippy::needless_pass_by_value)] // a range reads better than its reference
fn columns(rows: impl IntoIterator<Item = usize> + Clone, count: usize) -> Vec<(String, Column)> {
    let column = |at: usize| {
        let cells = rows.clone().into_iter().map(|row| number(row, at)).collect();
        (format!("c{at}"), Column::Numbers(cells))
    };
    (0..count).map(column).collect()
}

fn table(columns: Vec<(String, Column)>) -> Table {
    let (names, columns) = columns.into_iter().unzip();
    Table::of_rows("t.csv", names, columns).unwrap()
}

fn sketch(columns: Vec<(String, Column)>) -> Sketch {
    Sketch::of(&table(columns), &key())
}

fn written(sketch: &Sketch) -> Sketch {
    Sketch::try_from(String::from(sketch.clone())).unwrap()
}

/// Share and number of the first table's rows that the ledger finds in the second.
fn seen(one: &Sketch, other: &Sketch) -> (f64, u64) {
    let overlap = written(one).overlap(other).unwrap();
    assert!(overlap.shared, "{overlap:?}");
    (overlap.share, overlap.rows)
}

#[test]
fn what_is_written_is_read_back_and_small() {
    for rows in [0, 1, 2, 100, 5000] {
        let sketch = sketch(columns(0..rows, 6));
        let text = String::from(sketch.clone());
        assert!(text.len() < 20_000, "{}", text.len());
        let back = Sketch::try_from(text.clone()).unwrap();
        assert_eq!((back.rows(), String::from(back)), (rows as u64, text.clone()));
        for bad in ["", "AQ", &text[..text.len() - 4], "!"] {
            assert!(Sketch::try_from(bad.to_owned()).is_err());
        }
        assert_eq!(format!("{sketch:?}"), format!("Sketch({rows} rows)"));
    }
}

#[test]
fn another_key_sees_nothing() {
    let table = table(columns(0..500, 6));
    let (one, other) = (Sketch::of(&table, &key()), Sketch::of(&table, &DigestKey::new([6; 32])));
    assert_eq!(one.overlap(&other), None);
    assert_eq!(seen(&one, &one), (1.0, 500));
}

#[test]
fn the_share_is_that_of_the_smaller_table() {
    let whole = sketch(columns(0..10_000, 6));
    for (rows, share) in [(0..1000, 1.0), (5000..15_000, 0.5), (9800..10_800, 0.2)] {
        let smaller = rows.len() as f64;
        let (found, count) = seen(&whole, &sketch(columns(rows, 6)));
        assert!((found - share).abs() < 0.1, "{found} for {share}");
        assert_eq!(count as f64, (found * smaller).round());
    }
    assert_eq!(whole.overlap(&sketch(columns(20_000..30_000, 6))), None);
}

#[test]
fn a_few_common_rows_are_told_and_tie_nothing() {
    let (one, other) = (sketch(columns(0..2000, 6)), sketch(columns(1990..4000, 6)));
    let overlap = one.overlap(&other).unwrap();
    assert!(!overlap.shared && (5..20).contains(&overlap.rows), "{overlap:?}");
}

#[test]
fn a_small_table_is_found_among_many_other_rows() {
    let small = sketch(columns(0..200, 6));
    let large = sketch(columns((0..200).chain(1000..100_000), 6));
    assert!(seen(&small, &large).0 > 0.9);
}

#[test]
fn order_names_constants_and_row_numbers_do_not_matter() {
    let whole = sketch(columns(0..300, 6));
    let mut other = columns((0..300).rev(), 6);
    other.reverse();
    assert_eq!(seen(&whole, &sketch(other)), (1.0, 300));
    let renamed = columns(0..300, 6).into_iter().map(|(name, cells)| (name + "x", cells));
    assert_eq!(seen(&whole, &sketch(renamed.collect())), (1.0, 300));
    let mut more = columns(0..300, 6);
    more.push(("id".to_owned(), Column::Numbers((1..=300).map(f64::from).collect())));
    more.push(("by".to_owned(), Column::Text(["us"; 300].iter().collect())));
    assert_eq!(seen(&whole, &sketch(more)), (1.0, 300));
}

#[test]
fn one_or_two_other_columns_do_not_hide_the_rows() {
    let whole = sketch(columns(0..300, 8));
    for at in 0..8 {
        let mut dropped = columns(0..300, 8);
        dropped.remove(at);
        assert_eq!(seen(&whole, &sketch(dropped)), (1.0, 300));
        let mut edited = columns(0..300, 8);
        edited[at].1 = Column::Numbers((0..300).map(|row| number(row, 99)).collect());
        assert_eq!(seen(&whole, &sketch(edited)), (1.0, 300));
    }
}

/// Two files that number their rows and contain little else do not share people for that reason.
#[test]
fn row_numbers_and_coarse_columns_are_no_evidence() {
    let file = |from: usize| {
        let coarse = |at: usize| {
            let cells = (from..from + 400).map(|row| number(row, at).floor() % 3.0).collect();
            (format!("c{at}"), Column::Numbers(cells))
        };
        let id = Column::Numbers((1..=400).map(f64::from).collect());
        let mut columns = vec![("id".to_owned(), id)];
        columns.extend((0..4).map(coarse));
        sketch(columns)
    };
    let overlap = file(0).overlap(&file(10_000));
    assert!(overlap.is_none_or(|overlap| !overlap.shared), "{overlap:?}");
}

/// Rows without distinct values are told apart by their place in the file.
#[test]
fn rows_of_one_file_are_known_by_their_place_however_coarse() {
    let cells = (0..600).map(|row| f64::from(row % 3)).collect();
    let file = table(vec![("c".to_owned(), Column::Numbers(cells))]);
    let part = |rows: std::ops::Range<usize>| {
        Sketch::of(&file.select(&rows.collect::<Vec<_>>()).unwrap(), &key())
    };
    assert_eq!(part(0..300).overlap(&part(300..600)), None);
    assert!(seen(&part(0..300), &part(150..450)).0 > 0.4);
}

#[test]
fn vectors_are_columns_one_by_one() {
    let numbers = (0..300 * 12).map(|at| number(at / 12, at % 12));
    let vectors = Vectors::new(12, Values::F64(numbers.collect())).unwrap();
    let embedded = sketch(vec![("v".to_owned(), Column::Vectors(vectors))]);
    assert_eq!(seen(&embedded, &sketch(columns(0..300, 12))), (1.0, 300));
    let mut dead = (0..300 * 12).map(|at| number(at / 12, at % 12)).collect::<Vec<_>>();
    dead.iter_mut().step_by(12).for_each(|x| *x = 0.0);
    let vectors = Vectors::new(12, Values::F64(dead)).unwrap();
    assert_eq!(seen(&embedded, &sketch(vec![("v".to_owned(), Column::Vectors(vectors))])).1, 300);
}

#[test]
fn missing_cells_and_several_threads_agree() {
    let gaps = |rows: usize| -> Vec<(String, Column)> {
        let mut columns = columns(0..rows, 5);
        if let Column::Numbers(cells) = &mut columns[0].1 {
            let with_gaps = cells.iter().enumerate();
            *cells = with_gaps.map(|(row, x)| if row % 3 == 0 { f64::NAN } else { x }).collect();
        }
        columns
    };
    let text = gaps(400).into_iter().map(|(name, column)| match column {
        Column::Numbers(cells) => {
            let text = |x: f64| if x.is_nan() { "NA".to_owned() } else { x.to_string() };
            (name, Column::Text(cells.iter().map(text).collect()))
        }
        other => (name, other),
    });
    assert_eq!(seen(&sketch(gaps(400)), &sketch(text.collect())), (1.0, 400));
    // More cells than one thread takes.
    let (one, two) = (sketch(gaps(150_000)), sketch(gaps(150_000)));
    assert!(one == two);
}

/// A few rows of a table whose columns are mostly coarse: some classes have only coarse columns,
/// and the key decides which ones.
#[test]
fn no_key_finds_strangers_in_a_small_table_of_coarse_columns() {
    let of = |rows: std::ops::Range<usize>| {
        let coarse = |at: usize, values: usize| {
            let cells = rows.clone().map(|row| (number(row, at) as usize % values) as f64);
            (format!("k{at}"), Column::Numbers(cells.collect()))
        };
        let mut all = columns(rows.clone(), 4);
        all.extend([coarse(10, 3), coarse(11, 9), coarse(12, 60), coarse(13, 900)]);
        table(all)
    };
    let (large, part) = (of(1000..1300), of(1265..1300));
    let strangers: Vec<Table> = (0..5).map(|at| of(35 * at..35 * (at + 1))).collect();
    for seed in 0..=255 {
        let key = DigestKey::new([seed; 32]);
        let large = Sketch::of(&large, &key);
        let seen_in_it = |small| written(&Sketch::of(small, &key)).overlap(&large);
        for small in &strangers {
            let found = seen_in_it(small);
            assert!(!found.is_some_and(|it| it.shared), "key {seed}: {found:?}");
        }
        let found = seen_in_it(&part);
        assert!(found.is_some_and(|it| it.shared && it.share > 0.9), "key {seed}: {found:?}");
    }
}

#[test]
fn no_key_takes_a_flag_or_an_age_in_years_for_the_same_people() {
    let rows = |cells: &dyn Fn(usize) -> [f64; 3]| {
        let column = |at: usize| Column::Numbers((0..1000).map(|row| cells(row)[at]).collect());
        table(
            ["a", "b", "y"]
                .iter()
                .enumerate()
                .map(|(at, n)| ((*n).to_owned(), column(at)))
                .collect(),
        )
    };
    let wave = |row: usize| (row as f64 * 0.7).sin();
    // The same columns, finer there.
    let one = rows(&|row| [0.1, (row % 3) as f64, (row % 2) as f64]);
    let ages = rows(&|row| [number(row, 1), (row % 3) as f64, (20 + row * 7 % 60) as f64]);
    let finer = rows(&|row| [wave(row), (row % 5) as f64, (3.0 * wave(row)).cos()]);
    let decimal =
        rows(&|row| [wave(row), (row % 5) as f64, 20.0 + (row * 41 % 6000) as f64 / 100.0]);
    let copy = rows(&|row| [wave(row % 50), (row % 5) as f64, number(row % 50, 3)]);
    let whole = rows(&|row| [wave(row), (row % 5) as f64, number(row, 3)]);
    for seed in 0..=255 {
        let key = DigestKey::new([seed; 32]);
        for (one, other) in [(&one, &finer), (&ages, &decimal)] {
            let other = Sketch::of(other, &key);
            let found = written(&Sketch::of(one, &key)).overlap(&other);
            assert!(!found.is_some_and(|it| it.shared), "key {seed}: {found:?}");
        }
        // Every row twenty times is still a copy.
        let found = Sketch::of(&copy, &key).overlap(&Sketch::of(&whole, &key));
        assert!(found.is_some_and(|it| it.shared), "key {seed}: {found:?}");
    }
}

/// Real tables, whose rows may be equal by chance: some rows of one half in the other are found, and
/// halves without a copied row are not suspected.
#[test]
fn a_few_copied_rows_are_more_than_chance_explains() {
    use crate::table::{seeded, shuffled};
    for name in ["bikeshare/bikeshare.csv", "german_credit/german_credit_codes.csv"] {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../assets").join(name);
        let whole = crate::read::read_plainly(&path).unwrap();
        let mut found = 0;
        for seed in 0..20 {
            let order = shuffled(whole.rows(), &mut seeded(seed));
            let (ours, theirs) = order.split_at(whole.rows().min(4000) / 2);
            let theirs = &theirs[..ours.len()];
            let key = DigestKey::new([seed as u8; 32]);
            let of = |rows: &[usize]| Sketch::of(&whole.select(rows).unwrap(), &key);
            let mine = of(ours);
            let apart = mine.overlap(&of(theirs));
            assert!(!apart.is_some_and(|it| it.copied), "{name}, {seed}: {apart:?}");
            let with = [&ours[..8], theirs].concat();
            found += usize::from(mine.overlap(&of(&with)).is_some_and(|it| it.copied));
        }
        assert_eq!(found, 20, "{name}");
    }
}
