//! `cargo bench --bench overlap [-- DATA]`: what [`halflight::data::overlap`] sees and does not
//! see, on real data in the folder DATA, and what it costs beside reading.
//!
//! The constants were chosen with the sets under CHOSEN in view; those under CHECKED are for
//! checking them, and were not looked at while they were chosen.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::path::Path;
use std::time::Instant;

use halflight::data::filter::Filter;
use halflight::data::overlap::{DigestKey, Sketch};
use halflight::data::{Column, Table, read};

const CHOSEN: [(&str, &[&str]); 4] = [
    ("bikeshare/bikeshare.csv", &["season == 1", "season == 2", "season == 3", "season == 4"]),
    ("wine_quality/wine_quality.csv", &["colour == \"red\"", "colour == \"white\""]),
    ("adult/adult.csv.gz", &["sex == \"Male\"", "sex == \"Female\""]),
    (
        "german_credit/south_german_credit.csv",
        &["foreign_worker == 1", "foreign_worker == 2", "telephone == 1", "telephone == 2"],
    ),
];
const CHECKED: [(&str, &[&str]); 6] = [
    (
        "heart_hospitals/heart_hospitals.csv",
        &[
            "hospital == \"cleveland\"",
            "hospital == \"hungarian\"",
            "hospital != \"cleveland\" and hospital != \"hungarian\"",
        ],
    ),
    (
        "airline_nyc_ord_2013/airline_nyc_ord_2013.csv.gz",
        &["origin == \"EWR\"", "origin == \"LGA\"", "origin == \"JFK\""],
    ),
    (
        "airline_ord_2008/airline_ord_2008_jan_apr.csv.gz",
        &["month == 1", "month == 2", "month == 3", "month == 4"],
    ),
    (
        "gas_drift/gas_drift_batches_1-6_8_9.csv.gz",
        &["batch == 1", "batch == 2", "batch == 3", "batch == 4"],
    ),
    ("optdigits/optdigits_8x8.csv.gz", &["digit < 5", "digit >= 5"]),
    ("wind/wind.csv", &["year < 1970", "year >= 1970", "month < 7", "month >= 7"]),
];

fn main() {
    let data = std::env::args().skip(1).find(|word| !word.starts_with('-'));
    let data = data.unwrap_or_else(|| "/work/shared/data".to_owned());
    let keys: Vec<DigestKey> = (0..10).map(|seed| DigestKey::new([seed; 32])).collect();
    for (title, sets) in [("CHOSEN", &CHOSEN[..]), ("CHECKED", &CHECKED[..])] {
        println!("== {title}");
        for (file, splits) in sets {
            let Ok(table) = read::read_plainly(&Path::new(&data).join(file)) else {
                println!("SKIPPED: {file}");
                continue;
            };
            println!("{file}: {} × {}", table.rows(), table.columns.len());
            coincidences(&table, splits, &keys);
            evasions(&table, &keys);
        }
    }
    cost();
}

/// Parts of one table that have no row in common: whatever is seen there is chance.
fn coincidences(table: &Table, splits: &[&str], keys: &[DigestKey]) {
    let parts: Vec<(&str, Table)> = splits
        .iter()
        .map(|split| (*split, Filter::parse(split).unwrap().apply(table).unwrap()))
        .collect();
    let halves = [0, 1].map(|rest| {
        let rows: Vec<usize> = (0..table.rows()).filter(|row| mix(*row) % 2 == rest).collect();
        ("random half", table.select(&rows).unwrap())
    });
    let mut pairs = vec![(&halves[0], &halves[1])];
    for (at, one) in parts.iter().enumerate() {
        pairs.extend(parts[..at].iter().map(|other| (one, other)));
    }
    let (mut wrong, mut all, mut noted, mut worst) = (0, 0, 0, (0.0, String::new()));
    for (one, other) in pairs {
        if one.0 != "random half" && overlapping(one.0, other.0) {
            continue;
        }
        for key in keys {
            // Without what says that the file is the same.
            let (a, b) = (sketch(&anew(&one.1), key), sketch(&anew(&other.1), key));
            let seen = a.overlap(&b);
            all += 1;
            wrong += usize::from(seen.is_some_and(|seen| seen.shared));
            noted += usize::from(seen.is_some_and(|seen| !seen.shared));
            let share = seen.map_or(0.0, |seen| seen.share);
            if share > worst.0 {
                worst = (share, format!("{} | {}", one.0, other.0));
            }
        }
    }
    println!(
        "  disjoint parts: {wrong} of {all} taken for shared, {noted} noted; largest share {:.3} {}",
        worst.0, worst.1
    );
}

/// Filters on different columns choose some rows in common.
fn overlapping(one: &str, other: &str) -> bool {
    one.split(' ').next() != other.split(' ').next()
}

fn evasions(table: &Table, keys: &[DigestKey]) {
    let rows = table.rows();
    let columns = table.columns.len();
    let every =
        |n: usize| -> Vec<usize> { (0..rows).filter(|row| mix(*row).is_multiple_of(n)).collect() };
    let first200: Vec<usize> = (0..rows.min(200)).collect();
    let mut shuffled: Vec<usize> = (0..rows).collect();
    shuffled.sort_by_key(|row| mix(*row));
    type Evasion<'a> = (&'a str, Box<dyn Fn(usize) -> (Table, Table) + 'a>);
    let own = |change: Box<dyn Fn(usize) -> Table>| -> Box<dyn Fn(usize) -> (Table, Table)> {
        let whole = table.clone();
        Box::new(move |at| (anew(&whole), change(at)))
    };
    let t = table.clone();
    let numeric: Vec<usize> =
        (0..columns).filter(|at| matches!(table.columns[*at], Column::Numbers(_))).collect();
    let evasions: Vec<Evasion> = vec![
        ("199 of 200 rows", {
            let (all, most) =
                (table.select(&first200).unwrap(), table.select(&first200[1..]).unwrap());
            Box::new(move |_| (anew(&all), anew(&most)))
        }),
        (
            "half of the rows",
            own({
                let t = t.select(&every(2)).unwrap();
                Box::new(move |_| anew(&t))
            }),
        ),
        (
            "10 % of the rows",
            own({
                let t = t.select(&every(10)).unwrap();
                Box::new(move |_| anew(&t))
            }),
        ),
        (
            "5 % of the rows",
            own({
                let t = t.select(&every(20)).unwrap();
                Box::new(move |_| anew(&t))
            }),
        ),
        (
            "1 % of the rows",
            own({
                let t = t.select(&every(100)).unwrap();
                Box::new(move |_| anew(&t))
            }),
        ),
        (
            "rows shuffled",
            own({
                let t = t.select(&shuffled).unwrap();
                Box::new(move |_| anew(&t))
            }),
        ),
        (
            "rows doubled",
            own({
                let twice: Vec<usize> = (0..rows).chain(0..rows).collect();
                let t = t.select(&twice).unwrap();
                Box::new(move |_| anew(&t))
            }),
        ),
        (
            "every column renamed",
            own({
                let t = t.clone();
                Box::new(move |_| renamed(&t, 0, columns))
            }),
        ),
        (
            "one column renamed",
            own({
                let t = t.clone();
                Box::new(move |at| renamed(&t, at % columns, 1))
            }),
        ),
        (
            "one column dropped",
            own({
                let t = t.clone();
                Box::new(move |at| dropped(&t, &[at % columns]))
            }),
        ),
        (
            "two columns dropped",
            own({
                let t = t.clone();
                Box::new(move |at| dropped(&t, &[at % columns, (at * 7 + 3) % columns]))
            }),
        ),
        (
            "three columns dropped",
            own({
                let t = t.clone();
                Box::new(move |at| {
                    dropped(&t, &[at % columns, (at * 7 + 3) % columns, (at * 5 + 1) % columns])
                })
            }),
        ),
        (
            "a column added",
            own({
                let t = t.clone();
                Box::new(move |at| added(&t, at))
            }),
        ),
        (
            "a constant column added",
            own({
                let t = t.clone();
                Box::new(move |_| constant(&t))
            }),
        ),
        (
            "a row number added",
            own({
                let t = t.clone();
                Box::new(move |_| numbered(&t))
            }),
        ),
        (
            "one column rescaled",
            own({
                let (t, numeric) = (t.clone(), numeric.clone());
                Box::new(move |at| changed(&t, numeric[at % numeric.len()], |x| x * 1.7 + 0.3))
            }),
        ),
        (
            "one column rounded",
            own({
                let (t, numeric) = (t.clone(), numeric.clone());
                Box::new(move |at| {
                    changed(&t, numeric[at % numeric.len()], |x| (x / 3.0).round() * 3.0)
                })
            }),
        ),
        (
            "a cell a row edited, any column",
            own({
                let t = t.clone();
                Box::new(move |at| edited(&t, at))
            }),
        ),
        (
            "one dropped, one rescaled, 10 % of rows",
            own({
                let (t, numeric) = (t.select(&every(10)).unwrap(), numeric.clone());
                Box::new(move |at| {
                    let column = numeric[at % numeric.len()];
                    dropped(&changed(&t, column, |x| x * 1.7 + 0.3), &[(column + 1) % columns])
                })
            }),
        ),
    ];
    for (what, make) in evasions {
        let (mut found, mut all, mut least) = (0, 0, f64::INFINITY);
        for at in 0..columns.min(24) {
            let (whole, copy) = make(at);
            let key = &keys[at % keys.len()];
            // What the ledger keeps of the first, and what memory has of the second.
            let seen = written(&sketch(&whole, key)).overlap(&sketch(&copy, key));
            all += 1;
            found += usize::from(seen.is_some_and(|seen| seen.shared));
            least = least.min(seen.map_or(0.0, |seen| seen.share));
        }
        println!("  {what:<40} found {found:>3} of {all:>3}, least share {least:.2}");
    }
}

fn sketch(table: &Table, key: &DigestKey) -> Sketch {
    Sketch::of(table, key)
}

fn written(sketch: &Sketch) -> Sketch {
    let text = String::from(sketch.clone());
    assert!(text.len() < 20_000);
    Sketch::try_from(text).unwrap()
}

/// Rows of the table as a file of their own.
fn anew(table: &Table) -> Table {
    Table::of_rows("another.csv", table.names.clone(), table.columns.clone()).unwrap()
}

fn with(names: Vec<String>, columns: Vec<Column>) -> Table {
    Table::of_rows("another.csv", names, columns).unwrap()
}

fn renamed(table: &Table, from: usize, count: usize) -> Table {
    let names = table.names.iter().enumerate().map(|(at, name)| {
        if (from..from + count).contains(&at) { format!("{name}_x{at}") } else { name.clone() }
    });
    with(names.collect(), table.columns.clone())
}

fn dropped(table: &Table, gone: &[usize]) -> Table {
    let kept: Vec<usize> = (0..table.columns.len()).filter(|at| !gone.contains(at)).collect();
    with(
        kept.iter().map(|at| table.names[*at].clone()).collect(),
        kept.iter().map(|at| table.columns[*at].clone()).collect(),
    )
}

fn more(table: &Table, name: String, cells: Vec<f64>) -> Table {
    let mut names = table.names.clone();
    let mut columns = table.columns.clone();
    names.push(name);
    columns.push(Column::Numbers(cells.into()));
    with(names, columns)
}

fn added(table: &Table, seed: usize) -> Table {
    let cells = (0..table.rows()).map(|row| (mix(row + seed * 1_000_003) % 9973) as f64 / 7.0);
    more(table, format!("extra{seed}"), cells.collect())
}

fn constant(table: &Table) -> Table {
    more(table, "made_by".to_owned(), vec![3.0; table.rows()])
}

fn numbered(table: &Table) -> Table {
    more(table, "row".to_owned(), (0..table.rows()).map(|row| row as f64).collect())
}

fn changed(table: &Table, at: usize, change: impl Fn(f64) -> f64) -> Table {
    let mut columns = table.columns.clone();
    if let Column::Numbers(cells) = &mut columns[at] {
        *cells = cells.iter().map(change).collect();
    }
    with(table.names.clone(), columns)
}

/// In each row another column's cell.
fn edited(table: &Table, seed: usize) -> Table {
    let mut columns = table.columns.clone();
    let count = columns.len();
    for (at, column) in columns.iter_mut().enumerate() {
        let is_edited = |row: usize| mix(row * 31 + seed) % count == at;
        match column {
            Column::Numbers(cells) => {
                let edited = cells.iter().enumerate();
                *cells = edited.map(|(row, x)| if is_edited(row) { x + 1.5 } else { x }).collect();
            }
            Column::Text(cells) => {
                let end = |row: usize| if is_edited(row) { "x" } else { "" };
                let edited = cells.iter().enumerate();
                *cells = edited.map(|(row, cell)| format!("{cell}{}", end(row))).collect();
            }
            Column::Vectors(_) => {}
        }
    }
    with(table.names.clone(), columns)
}

fn mix(x: usize) -> usize {
    let x = (x as u64 ^ 0x5851_f42d_4c95_7f2d).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ x >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (x ^ x >> 32) as usize >> 8
}

fn cost() {
    println!("== COST");
    let key = DigestKey::new([1; 32]);
    for (rows, columns) in [(1_000_000, 10), (1_000_000, 100), (1000, 20_000)] {
        let column = |at: usize| {
            Column::Numbers((0..rows).map(|row| mix(row * columns + at) as f64).collect())
        };
        let names: Vec<String> = (0..columns).map(|at| format!("c{at}")).collect();
        let cells: Vec<Column> = (0..columns).map(column).collect();
        let start = Instant::now();
        let table = with(names, cells);
        let fingerprint = start.elapsed().as_secs_f64();
        let best = (0..3).map(|_| {
            let start = Instant::now();
            let sketch = Sketch::of(&table, &key);
            assert!(sketch.rows() > 0);
            start.elapsed().as_secs_f64()
        });
        let best = best.fold(f64::INFINITY, f64::min);
        println!("{rows} × {columns}: sketch {best:.3} s, fingerprint {fingerprint:.3} s");
    }
}
