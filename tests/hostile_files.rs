//! Damaged and hostile files of every format: a table or an error with a cure,
//! never a panic, and never much more memory than the file could hold.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::fs;
use std::io::Write;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use flate2::Compression;
use flate2::write::GzEncoder;
use halflight::data::read::{self, Format, Reading, Unwatched};
use halflight::data::{Column, Table};
use halflight::error::ErrorKind;
use peak_alloc::PeakAlloc;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

#[path = "support/chance.rs"]
mod chance;

use chance::{Dice, damage, is_long};

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// What a small damaged file may make the readers ask for.
const MOST_MEMORY: usize = 200 << 20;
/// Damaged copies of each file.
const COPIES: u64 = 400;

/// Lets one test run at a time, however many threads there are: memory is counted for all of them.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packer = GzEncoder::new(Vec::new(), Compression::fast());
    packer.write_all(bytes).unwrap();
    packer.finish().unwrap()
}

fn npy(kind: &str, fortran: bool, shape: &str, bytes: &[u8]) -> Vec<u8> {
    let order = if fortran { "True" } else { "False" };
    let header = format!("{{'descr': '{kind}', 'fortran_order': {order}, 'shape': ({shape}), }}\n");
    let mut file = b"\x93NUMPY\x01\x00".to_vec();
    file.extend((header.len() as u16).to_le_bytes());
    file.extend(header.as_bytes());
    file.extend(bytes);
    file
}

fn npz(method: CompressionMethod, arrays: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut writer = ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, array) in arrays {
        let options = SimpleFileOptions::default().compression_method(method);
        writer.start_file(format!("{name}.npy"), options).unwrap();
        writer.write_all(array).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

fn doubles(count: usize) -> Vec<u8> {
    (0..count).flat_map(|at| (at as f64 / 4.0).to_le_bytes()).collect()
}

fn idx(kind: u8, shape: &[u32], bytes: &[u8]) -> Vec<u8> {
    let mut file = vec![0, 0, kind, shape.len() as u8];
    file.extend(shape.iter().flat_map(|length| length.to_be_bytes()));
    file.extend(bytes);
    file
}

fn safetensors() -> Vec<u8> {
    let header = r#"{"label":{"dtype":"U8","shape":[6],"data_offsets":[72,78]},"x":{"dtype":"F32","shape":[6,3],"data_offsets":[0,72]}}"#;
    let mut file = (header.len() as u64).to_le_bytes().to_vec();
    file.extend(header.as_bytes());
    file.extend((0..18).flat_map(|at| (at as f32).to_le_bytes()));
    file.extend([0, 1, 0, 1, 0, 1]);
    file
}

const CSV: &str = "a;b;c\n1;\"x;\"\"y\";2.5\n?;z;-1e3\n3;\"two\nlines\";4\n";
const LIBSVM: &str = "1 0:5 3:1 # a comment\n-1 2:0.25\n1 1:3 3:2\n";
const ARFF: &str = "% people\n@relation p\n@attribute 'the age' numeric\n@attribute sex {'f x', m}\n\
                    @data\n30,'f x'\n?,m\n{0 4}\n";

/// A small valid file of every kind under its usual name.
fn seeds() -> Vec<(&'static str, Vec<u8>)> {
    let pixels: Vec<u8> = (0..6 * 8).collect();
    let pair = [
        ("X", npy("<f8", true, "6, 2", &doubles(12))),
        ("y", npy("|u1", false, "6,", &[0, 1, 2, 3, 4, 5])),
    ];
    vec![
        ("t.csv", CSV.into()),
        ("t.csv.gz", gzip(CSV.as_bytes())),
        ("t.svmlight", LIBSVM.into()),
        ("t.arff", ARFF.into()),
        ("t.npy", npy("<f8", false, "6, 2", &doubles(12))),
        ("t.npy.gz", gzip(&npy(">f2", false, "6, 4", &pixels))),
        ("stored.npz", npz(CompressionMethod::Stored, &pair)),
        ("deflated.npz", npz(CompressionMethod::Deflated, &pair)),
        ("t-images-idx3-ubyte", idx(8, &[6, 2, 4], &pixels)),
        ("t-labels-idx1-ubyte.gz", gzip(&idx(8, &[48], &pixels))),
        ("t.safetensors", safetensors()),
        ("t.bin", vec![7; 2 * 3073]),
        ("snappy.parquet", include_bytes!("files/snappy.parquet").to_vec()),
        ("zstd.parquet", include_bytes!("files/zstd.parquet").to_vec()),
        ("gzip.parquet", include_bytes!("files/gzip.parquet").to_vec()),
        ("none.parquet", include_bytes!("files/none.parquet").to_vec()),
    ]
}

fn read_bytes(name: &str, bytes: &[u8]) -> halflight::Result<Table> {
    read::read_bytes(name, bytes, &Reading::Plain)
}

fn table(name: &str, bytes: &[u8]) -> Table {
    match read_bytes(name, bytes) {
        Ok(table) => table,
        Err(error) => panic!("{name}: {error}"),
    }
}

fn refusal(name: &str, bytes: impl AsRef<[u8]>) -> String {
    match read_bytes(name, bytes.as_ref()) {
        Ok(table) => panic!("{name} was read: {} rows", table.rows()),
        Err(error) => error.to_string(),
    }
}

fn cells(table: &Table, name: &str) -> Vec<String> {
    match table.column(name) {
        Ok(Column::Vectors(vectors)) => (0..vectors.len())
            .map(|row| format!("{:?}", vectors.row(row).numbers().collect::<Vec<_>>()))
            .collect(),
        Ok(column) => column.cells().map(|cell| cell.to_string()).collect(),
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn every_format_has_a_seed() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let mut seen = Vec::new();
    for (name, bytes) in seeds() {
        let path = folder.path().join(name);
        fs::write(&path, bytes).unwrap();
        seen.push(read::format(&path).ok().unwrap());
    }
    for format in Format::all() {
        assert!(seen.contains(&format), "{format:?}: add a small file of it to `seeds`");
    }
}

#[test]
fn every_seed_reads_to_what_was_written() {
    let _alone = alone();
    for (name, bytes) in seeds() {
        let table = table(name, &bytes);
        match name {
            "t.csv" | "t.csv.gz" => {
                assert_eq!(cells(&table, "a"), ["1", "", "3"], "{name}");
                assert_eq!(cells(&table, "b"), ["x;\"y", "z", "two\nlines"]);
                assert!(table.lines.iter().eq([2, 3, 4]));
            }
            "t.svmlight" => {
                assert_eq!(cells(&table, "label"), ["1", "-1", "1"]);
                assert_eq!(cells(&table, "x")[1], "[0.0, 0.0, 0.25, 0.0]");
            }
            "t.arff" => {
                assert_eq!(cells(&table, "the age"), ["30", "", "4"]);
                assert_eq!(cells(&table, "sex"), ["f x", "m", "f x"]);
            }
            "t.npy" => assert_eq!(cells(&table, "x")[5], "[2.5, 2.75]"),
            "stored.npz" | "deflated.npz" => {
                assert_eq!(cells(&table, "X")[1], "[0.25, 1.75]");
                assert_eq!(cells(&table, "y")[5], "5");
            }
            "t-images-idx3-ubyte" => {
                assert_eq!(
                    cells(&table, "pixel")[1],
                    "[8.0, 9.0, 10.0, 11.0, 12.0, 13.0, 14.0, 15.0]"
                );
            }
            "t-labels-idx1-ubyte.gz" => assert_eq!(cells(&table, "label")[47], "47"),
            "t.safetensors" => {
                assert_eq!(cells(&table, "x")[5], "[15.0, 16.0, 17.0]");
                assert_eq!(cells(&table, "label")[5], "1");
            }
            "t.bin" => assert_eq!(cells(&table, "label"), ["7", "7"]),
            "t.npy.gz" => assert_eq!(table.rows(), 6),
            _ => parquet_is_as_written(&table),
        }
    }
}

/// What `files/make.py` writes.
fn parquet_is_as_written(table: &Table) {
    assert_eq!(table.rows(), 40);
    let missing = |row: usize| row % 7 == 3;
    let expect = |name: &str, cell: &dyn Fn(usize) -> String, gaps: bool| {
        for (row, found) in cells(table, name).into_iter().enumerate() {
            let expected = if gaps && missing(row) { String::new() } else { cell(row) };
            assert_eq!(found, expected, "{name}, row {row}");
        }
    };
    expect("integer", &|row| (row as i64 - 20).to_string(), true);
    expect("unsigned", &|row| (4_000_000_000 + row as u64).to_string(), false);
    expect("double", &|row| (row as f64 / 8.0).to_string(), true);
    expect("half", &|row| (row as f64 / 4.0).to_string(), false);
    expect("flag", &|row| usize::from(row.is_multiple_of(2)).to_string(), false);
    expect("text", &|row| format!("t{}", row % 5), true);
    let day = |row: usize| match row {
        0..14 => format!("2008-04-{}", 17 + row),
        _ if row < 45 => format!("2008-05-{:02}", row - 13),
        _ => String::new(),
    };
    expect("day", &day, true);
    expect("moment", &|row| format!("2008-04-17T12:30:{row:02}"), false);
    expect("price", &|row| (row as f64 * 0.25).to_string(), false);
    expect("inside.x", &|row| row.to_string(), false);
    let Ok(Column::Text(identifiers)) = table.column("identifier") else {
        panic!("identifiers beyond 2⁵³ are text")
    };
    assert_eq!(identifiers.get(39), (2_u64.pow(60) + 39).to_string());
    expect(
        "embedding",
        &|row| {
            let x = row as f64;
            let minus = if row == 0 { 0.0 } else { -x };
            format!("{:?}", [x, x + 0.5, minus])
        },
        false,
    );
    for (row, list) in cells(table, "list").into_iter().enumerate() {
        let expected = if missing(row) { [f64::NAN; 2] } else { [row as f64, 2.0 * row as f64] };
        assert_eq!(list, format!("{expected:?}"));
    }
    assert!(!table.has("ragged"));
    assert_eq!(table.remarks, ["column 'ragged' is left out: lists of different lengths"]);
}

#[test]
fn damaged_files_give_a_table_or_an_error_and_little_memory() {
    let _alone = alone();
    let seeds = seeds();
    let seed = Dice::of_the_seed("damaged files").next();
    let copies = if is_long() { 100_000 } else { COPIES };
    let (mut read_anyway, mut longest) = (0, Duration::ZERO);
    for (name, bytes) in &seeds {
        for copy in 0..copies {
            let mut dice = Dice::new(seed.wrapping_add(copy), name);
            let other = &seeds[dice.below(seeds.len())].1;
            let damaged = damage(bytes, other, &mut dice);
            MEMORY.reset_peak_usage();
            let begun = Instant::now();
            let result = read_bytes(name, &damaged);
            longest = longest.max(begun.elapsed());
            // As private records: what could be read is there, whatever else is.
            let private = read::read_private_bytes(name, &damaged, &Reading::Plain);
            if let Ok(table) = &private {
                assert!(table.columns.iter().all(|column| column.len() == table.rows()));
            }
            // Private files keep to more rules: names of columns stand in one line, and what looks
            // like LIBSVM has a declared width. Public Parquet is not read to its end where a
            // column is left out.
            let rules = ["in the header", "the width of its vectors"];
            let ruled = private
                .as_ref()
                .is_err_and(|error| rules.iter().any(|rule| error.what().contains(rule)));
            if result.is_ok() && !ruled && !name.contains("parquet") {
                let refused = private.as_ref().err();
                assert!(refused.is_none(), "{name}, copy {copy}, only as private: {refused:?}");
            }
            let peak = MEMORY.peak_usage();
            assert!(peak < MOST_MEMORY, "{name}, copy {copy}: {} MiB", peak >> 20);
            match result {
                Ok(table) => {
                    read_anyway += 1;
                    assert!(table.rows() > 0);
                    assert!(table.columns.iter().all(|column| column.len() == table.rows()));
                }
                Err(error) => {
                    let place = error.place().unwrap_or_default();
                    assert!(place.starts_with(name), "{name}, copy {copy}: {error}");
                }
            }
        }
    }
    // Else the damage is so coarse that nothing behind the magic is reached.
    assert!(read_anyway > 200, "{read_anyway}");
    println!("{copies} damaged copies of {} files, the longest in {longest:?}", seeds.len());
    assert!(longest < Duration::from_secs(2), "{longest:?}");
}

#[test]
fn hostile_headers_are_refused_before_room_is_made_for_them() {
    let _alone = alone();
    MEMORY.reset_peak_usage();
    for (name, bytes) in [
        ("a.npy", npy("<f8", false, "4000000000, 4000000000", &doubles(2))),
        ("b.npy", npy("<f8", false, "100000000000, 1", &doubles(2))),
        ("c.npy", npy("<U4000000000", false, "4,", &doubles(2))),
        ("d-idx3-ubyte", idx(8, &[u32::MAX, u32::MAX, u32::MAX], &[1, 2])),
        ("e-idx1-ubyte.gz", gzip(&idx(0x0E, &[u32::MAX], &[1, 2]))),
        (
            "f.npz",
            npz(CompressionMethod::Deflated, &[("x", npy("<f4", false, "9999999999,", &[0; 8]))]),
        ),
        ("g.svmlight", b"1 4000000000:1\n2 1:1\n".to_vec()),
        ("h.safetensors", [&u64::MAX.to_le_bytes()[..], b"{}"].concat()),
        ("i.parquet", [b"PAR1\x15\x04\x19\x5c", &[0xff; 16][..], b"PAR1"].concat()),
    ] {
        let error = refusal(name, bytes);
        assert!(error.contains("what to do"), "{name}: {error}");
    }
    assert!(MEMORY.peak_usage() < MOST_MEMORY, "{} MiB", MEMORY.peak_usage() >> 20);
}

#[test]
fn damage_is_named_with_place_and_cure() {
    let _alone = alone();
    let whole_gzip = gzip(CSV.repeat(50).as_bytes());
    let pair = npz(CompressionMethod::Stored, &[("x", npy("<f8", false, "3,", &doubles(3)))]);
    let images = idx(8, &[3, 4], &[7; 12]);
    let mut infinite = doubles(4);
    infinite[16..24].copy_from_slice(&f64::INFINITY.to_le_bytes());
    let wide = (0..100_000).map(|column| format!("c{column},")).collect::<Vec<_>>().concat();
    for (name, bytes, parts) in [
        (
            "a.csv.gz",
            whole_gzip[..whole_gzip.len() / 2].to_vec(),
            vec!["ends too early, at byte", "again"],
        ),
        (
            "b-idx3-ubyte",
            images[..15].to_vec(),
            vec!["array 'pixel' (3 × 4) needs 12 bytes, found 3"],
        ),
        (
            "b.npy",
            npy("<f8", false, "3,", &doubles(2)),
            vec!["needs 24 bytes, found 16", "cut off"],
        ),
        (
            "c.npz",
            b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n".to_vec(),
            vec!["pointer of git-lfs", "git lfs pull"],
        ),
        (
            "d.csv",
            b"a,b\n1,2\n3".to_vec(),
            vec!["d.csv:3: this row has 1 cell, the header has 2 cells"],
        ),
        ("e.csv", b"a,b\n".to_vec(), vec!["a header but no rows"]),
        ("f.csv", b"a,b\n1,2,3\n".to_vec(), vec!["f.csv:2: this row has 3 cells"]),
        (
            "g.csv",
            format!("{wide}last\n1,2\n").into(),
            vec!["g.csv:2", "the header has 100001 cells"],
        ),
        ("h.npy", b"a,b\n1,2\n".to_vec(), vec!["does not start with \\x93NUMPY (byte 0)"]),
        ("h.parquet", b"a,b\n1,2\n".to_vec(), vec!["its name says a Parquet file"]),
        (
            "i.npy",
            npy("<f8", false, "2, 2", &infinite),
            vec!["array 'x', row 2: an infinite number"],
        ),
        ("j.csv", b"a,b,a\n1,2,3\n".to_vec(), vec!["columns 1 and 3 have the same name"]),
        ("k.csv", b"a,b\n1,2\ncaf\xe9,3\n".to_vec(), vec!["k.csv:3: the text is not UTF-8"]),
        ("l.xlsx", npz_named("[Content_Types].xml"), vec!["spreadsheet", "save the sheet as CSV"]),
        ("m.pt", npz_named("archive/data.pkl"), vec!["PyTorch"]),
        ("n.feather", b"ARROW1\0\0".to_vec(), vec!["Feather", "pandas"]),
        ("o.pkl", b"\x80\x04\x95".to_vec(), vec!["runs code when it is opened"]),
        ("p.onnx", b"\x08\x07\x12\x04".to_vec(), vec!["a network (ONNX)"]),
        ("q.csv", b"<!DOCTYPE html><html>".to_vec(), vec!["a web page", "download failed"]),
        ("r.npy", npy("|O", false, "3,", &doubles(3)), vec!["Python objects"]),
        ("s.bin", vec![1; 5000], vec!["5000 bytes are not a whole number of CIFAR records"]),
        ("t.csv", Vec::new(), vec!["the file is empty"]),
        (
            "u.npz",
            pair[..pair.len() / 2].to_vec(),
            vec!["the archive is cut off or damaged: the list of its contents"],
        ),
        ("v.svmlight", b"1 0:1\nx 0:1\n".to_vec(), vec!["v.svmlight:2: expected a label"]),
        (
            "w.arff",
            b"@relation r\n@attribute a numeric\n@data\nx\n".to_vec(),
            vec!["w.arff:4, column 'a': expected a number"],
        ),
        (
            "x.npy",
            npy("<i8", false, "2,", &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f].repeat(2)),
            vec!["row 1: an integer beyond"],
        ),
    ] {
        let error = refusal(name, bytes);
        assert!(error.starts_with(name) && error.contains("what to do"), "{name}: {error}");
        for part in parts {
            assert!(error.contains(part), "{name}: {error}");
        }
    }
}

fn npz_named(member: &str) -> Vec<u8> {
    let mut writer = ZipWriter::new(std::io::Cursor::new(Vec::new()));
    writer.start_file(member, SimpleFileOptions::default()).unwrap();
    writer.write_all(b"<xml/>").unwrap();
    writer.finish().unwrap().into_inner()
}

#[test]
fn a_hundred_thousand_columns_are_read() {
    let _alone = alone();
    let names: Vec<String> = (0..100_000).map(|column| format!("c{column}")).collect();
    let row = vec!["1.5"; 100_000].join(",");
    let table = table("wide.csv", format!("{}\n{row}\n{row}\n", names.join(",")).as_bytes());
    assert_eq!((table.names.len(), table.rows()), (100_000, 2));
}

#[test]
fn paths_that_are_no_files_say_so() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let refusal = |path: &Path| read::read_plainly(path).err().unwrap().to_string();
    assert!(refusal(folder.path()).contains("no file with records"));
    assert!(refusal(&folder.path().join("none.npy")).contains("check the path"));
    assert!(refusal(Path::new("/dev/null")).contains("not a regular file"));
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let path = folder.path().join("secret.csv");
        fs::write(&path, CSV).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o0)).unwrap();
        // The administrator reads everything.
        match read::read_plainly(&path) {
            Ok(table) => assert_eq!(table.rows(), 3),
            Err(error) => assert!(error.to_string().contains("permissions"), "{error}"),
        }
    }
}

#[test]
fn progress_is_told_and_stops_the_reading() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("long.csv");
    let text = format!("a,b\n{}", "12.25,34.5\n".repeat(500_000));
    fs::write(&path, &text).unwrap();
    let mut told = Vec::new();
    let mut watch = |read, of| {
        told.push((read, of));
        ControlFlow::Continue(())
    };
    let table = read::read(&path, &Reading::Plain, &mut watch).ok().unwrap();
    assert_eq!(table.rows(), 500_000);
    assert!(told.len() > 4 && told.is_sorted(), "{told:?}");
    assert_eq!(told.last(), Some(&(text.len() as u64, text.len() as u64)));
    let mut stop =
        |read, _| if read > 2 << 20 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) };
    let error = read::read(&path, &Reading::Plain, &mut stop).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Interrupted);
    let _ = read::read(&path, &Reading::Plain, &mut Unwatched).ok().unwrap();
}
