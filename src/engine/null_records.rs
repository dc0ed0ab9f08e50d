//! Tests that an unusable private record has no effect and cannot be detected, in every format and
//! with every method.

use std::path::Path;

use super::assembly::{Assembly, Proposal, assemble};
use super::prepared::PreparedStore;
use super::ranking::prepare;
use crate::data::{Bounded, Dataset, HeldOut, PreparationSettings, Task};
use crate::methods;
use crate::numeric::Matrix;
use crate::privacy::openings::{OpenPrivate, OpenSpender, OpenWatch};
use crate::privacy::{Spender, Target, Watch};
use crate::session::{Loaded, PlanDefinition, Session, Workspace, dataset};
use std::sync::Arc;

pub(super) const PRIVATE: usize = 120;

/// Cells of record `i`: two numbers, a category, a number and a class.
fn record(i: usize) -> [String; 5] {
    let (a, b) = ((i * 7 % 11) as f64 / 10.0, (i * 5 % 13) as f64 / 4.0 + (i / 250) as f64 / 100.0);
    let kind = ["red", "green"][i % 2];
    [a.to_string(), b.to_string(), kind.to_owned(), (a - b).to_string(), (i % 2).to_string()]
}

pub(super) fn csv(records: std::ops::Range<usize>) -> Vec<Vec<u8>> {
    let line = |i: usize| (record(i).join(",") + "\n").into_bytes();
    std::iter::once(b"a,b,kind,y,class\n".to_vec()).chain(records.map(line)).collect()
}

pub(super) fn session(private: &str, public: &str, label: &str) -> Session {
    let about = match label {
        "class" => {
            "label: \"class\", task: classification, classes: [\"0\", \"1\"], columns: except([\"y\"])"
        }
        "y" => "label: \"y\", columns: except([\"class\"])",
        // Arrays, LIBSVM.
        other => other,
    };
    let text = format!(
        "(version: 1, datasets: [
            (name: \"ours\", role: private, source: {private}, {about}),
            (name: \"theirs\", role: public, source: {public}, {about})])"
    );
    Session::parse(&text, "test").unwrap_or_else(|error| panic!("{error}"))
}

pub(super) fn plan(method: &str) -> PlanDefinition {
    PlanDefinition {
        name: method.to_owned(),
        method: method.to_owned(),
        private: "ours".to_owned(),
        public: vec!["theirs".to_owned()],
        target: Target { epsilon: 4.0, delta: 1e-5 },
        settings: std::collections::BTreeMap::default(),
        preparation: PreparationSettings::default(),
        holdout: 0.2,
        seed: 1,
        start: None,
        start_is_public: false,
        public_predictor: methods::PublicPredictor::None,
        private_records: None,
        public_records: None,
        test: None,
        allow_large_delta: false,
        evaluation: None,
    }
}

pub(super) fn load(session: &Session, directory: &Path) -> Vec<Loaded> {
    let workspace = Workspace::fresh(directory);
    let load = |it| dataset::load(it, &workspace).unwrap_or_else(|error| panic!("{error}"));
    // A damaged file has another secret order, and records are compared one by one.
    let load = |it| {
        let loaded = load(it);
        loaded.in_known_order().unwrap_or(loaded)
    };
    session.datasets.iter().map(load).collect()
}

fn assembled(session: &Session, loaded: &[Loaded], method: &str) -> Assembly {
    assemble(session, &plan(method), &loaded.iter().collect::<Vec<_>>(), &PreparedStore::default())
        .unwrap_or_else(|error| panic!("{method}: {error}"))
}

/// Everything about a plan and its datasets that others besides the curator may see.
fn seen(loaded: &[Loaded], assembly: &Assembly) -> String {
    let ours = &loaded[0];
    format!(
        "{} {:?} {:?} | {:?} | {} | {:?} {:?} | {:?} {}",
        ours.rows,
        ours.columns,
        ours.warnings,
        assembly.proposal.problem.shape,
        ron::to_string(&assembly.proposal.preparation).unwrap(),
        assembly.proposal.calibrated.events(),
        assembly.proposal.warnings,
        assembly.proposal.problem.public,
        assembly.private_holdout.is_some(),
    )
}

fn training(assembly: &Assembly) -> Dataset {
    let watch = Watch::open();
    let all = assembly.private.curator(&watch, Bounded::doubles).unwrap();
    all.reveal(&watch).unwrap().clone()
}

fn held_out(assembly: &Assembly) -> usize {
    let watch = Watch::open();
    let holdout = assembly.private_holdout.as_ref().unwrap();
    *holdout.curator(&watch, HeldOut::len).unwrap().reveal(&watch).unwrap()
}

/// The number of records that differ; each must be null in the second dataset.
fn nulls(first: &Dataset, second: &Dataset) -> usize {
    let columns = |features: &Matrix| {
        features.column_iter().map(nalgebra::Matrix::into_owned).collect::<Vec<_>>()
    };
    let (before, after) = (columns(&first.features), columns(&second.features));
    assert_eq!(before.len(), after.len());
    let mut count = 0;
    for (at, (before, after)) in before.iter().zip(&after).enumerate() {
        let label = |data: &Dataset| match (&data.target, &data.classes) {
            (Some(target), _) => target[at],
            (_, Some(classes)) => f64::from(classes.of[at]),
            _ => 0.0,
        };
        if before == after {
            assert_eq!(label(first), label(second));
        } else {
            assert_eq!((after.norm(), label(second)), (0.0, 0.0), "not a null record");
            count += 1;
        }
    }
    count
}

/// Replaces records of a file one by one with garbage and compares everything that is visible.
fn compare(
    label: &str,
    method: &str,
    source: &str,
    whole: &[u8],
    damaged: &[Vec<u8>],
    public: &[u8],
) {
    let directory = tempfile::tempdir().unwrap();
    let write =
        |name: &str, bytes: &[u8]| std::fs::write(directory.path().join(name), bytes).unwrap();
    let place = |name: &str| source.replace("FILE", name);
    let session = session(&place("ours"), &place("theirs"), label);
    write("theirs", public);
    write("ours", whole);
    let loaded = load(&session, directory.path());
    let before = assembled(&session, &loaded, method);
    let (everybody, data, rest) = (seen(&loaded, &before), training(&before), held_out(&before));
    let (mut trained, mut held) = (0, 0);
    for (number, damaged) in damaged.iter().enumerate() {
        write("ours", damaged);
        let loaded = load(&session, directory.path());
        let after = assembled(&session, &loaded, method);
        assert_eq!(seen(&loaded, &after), everybody, "{source} {number}");
        let (null, left_out) = (nulls(&data, &training(&after)), rest - held_out(&after));
        assert_eq!(null + left_out, 1, "{source}: damage {number} hit no record, or several");
        (trained, held) = (trained + null, held + left_out);
    }
    assert!(trained > 0 && held > 0, "{source}: {trained} and {held}");
}

/// Records at many places, each replaced by every kind of garbage.
fn damaged(lines: &[Vec<u8>], garbage: &[&[u8]], first: usize) -> Vec<Vec<u8>> {
    let victims = (first..lines.len()).step_by(9);
    let kinds = (0..garbage.len()).cycle();
    let one = |(victim, kind): (usize, usize)| {
        let mut lines = lines.to_vec();
        lines[victim] = garbage[kind].to_vec();
        lines.concat()
    };
    // Every kind of garbage several times, at places on both sides of the split.
    victims.cycle().zip(kinds).take(40).map(one).collect()
}

#[test]
fn no_record_of_a_text_table_shows_that_it_cannot_be_used() {
    let garbage: [&[u8]; 13] = [
        b"1,2\n",
        b"1,2,red,1,0,9,9\n",
        b"?,1,red,1,0\n",
        b"cat,1,red,1,0\n",
        b"inf,1,red,1,0\n",
        b"1,\"2,5\",red,1,0\n",
        b"0.1,0.2,red,none of the numbers,neither class\n",
        b"\xff\xfe,1,red,1,0\n",
        b"0.3,1,\"red,1,0\n",
        b"\"0.3,1,red,1,0\n",
        b"0.3,1,red,1,\"0\n",
        b"\0\0,\0,\0,\0,\0\n",
        b"garbage\n",
    ];
    let lines = csv(0..PRIVATE);
    let (ours, theirs) = (lines.concat(), csv(500..700).concat());
    let all = damaged(&lines, &garbage, 1);
    for (label, method) in [("y", "target_only"), ("class", "dp_sgd")] {
        compare(label, method, "file(\"FILE\")", &ours, &all, &theirs);
    }
    // Without a header, and with another separator.
    let bytes =
        |text: &[u8]| text.iter().map(|&byte| if byte == b',' { b';' } else { byte }).collect();
    let lines: Vec<Vec<u8>> = lines[1..].iter().map(|line| bytes(line)).collect();
    let garbage: Vec<Vec<u8>> = garbage.iter().map(|line| bytes(line)).collect();
    let garbage: Vec<&[u8]> =
        garbage.iter().map(Vec::as_slice).filter(|it| !it.contains(&b'"')).collect();
    let theirs: Vec<u8> = bytes(&csv(500..700)[1..].concat());
    let source = "delimited(file: \"FILE\", delimiter: ';', names: [\"a\", \"b\", \"kind\", \"y\", \"class\"])";
    let all = damaged(&lines, &garbage, 0);
    compare("y", "target_only", source, &lines.concat(), &all, &theirs);
}

#[test]
fn no_record_of_libsvm_or_arff_shows_that_it_cannot_be_used() {
    let line = |i: usize| {
        let [a, b, _, y, _] = record(i);
        format!("{y} 0:{a} 1:{b}\n").into_bytes()
    };
    let lines: Vec<_> = (0..PRIVATE).map(line).collect();
    let theirs: Vec<u8> = (500..700).flat_map(line).collect();
    let garbage: [&[u8]; 7] = [
        b"garbage\n",
        b"1 99:5\n",
        b"1 0:x\n",
        b"inf 0:1\n",
        b"1,2,3\n",
        b"\xff 0:1\n",
        b"1 0:1 1\n",
    ];
    let source = "sparse(file: \"FILE\", width: 3)";
    let all = damaged(&lines, &garbage, 0);
    compare("label: \"label\"", "target_only", source, &lines.concat(), &all, &theirs);

    let header =
        b"@relation r\n@attribute a numeric\n@attribute b numeric\n@attribute kind {red, green}\n\
                   @attribute y numeric\n@attribute class {0, 1}\n@data\n";
    let arff = |range| {
        let mut lines = csv(range);
        lines[0] = header.to_vec();
        lines
    };
    let garbage: [&[u8]; 6] = [
        b"1,2\n",
        b"x,1,red,1,0\n",
        b"1,2,red,'1,0\n",
        b"{7 1}\n",
        b"\xff,1,red,1,0\n",
        b"?,?,?,?,?\n",
    ];
    let all = damaged(&arff(0..PRIVATE), &garbage, 1);
    let (ours, theirs) = (arff(0..PRIVATE).concat(), arff(500..700).concat());
    compare("y", "target_only", "file(\"FILE\")", &ours, &all, &theirs);
}

fn npy(rows: &[[f64; 3]], garbage: Option<(usize, usize, f64)>) -> Vec<u8> {
    let mut rows = rows.to_vec();
    if let Some((row, column, number)) = garbage {
        rows[row][column] = number;
    }
    let shape =
        format!("{{'descr': '<f8', 'fortran_order': False, 'shape': ({}, 3), }}", rows.len());
    let header = format!("{shape:<117}\n");
    let mut file = b"\x93NUMPY\x01\x00".to_vec();
    file.extend((header.len() as u16).to_le_bytes());
    file.extend(header.bytes());
    file.extend(rows.iter().flatten().flat_map(|x| x.to_le_bytes()));
    file
}

#[test]
fn no_record_of_an_array_or_of_parquet_shows_that_it_cannot_be_used() {
    use crate::data::{Column, write};
    let rows = |range: std::ops::Range<usize>| -> Vec<[f64; 3]> {
        let row = |i| [0, 1, 3].map(|at| record(i)[at].parse().unwrap());
        range.map(row).collect()
    };
    let (ours, theirs) = (rows(0..PRIVATE), rows(500..700));
    let garbage = [f64::INFINITY, f64::NAN, f64::NEG_INFINITY];
    let places = || (0..PRIVATE).step_by(5).zip((0..3).cycle()).zip(garbage.iter().cycle());
    let all: Vec<_> =
        places().map(|((row, at), number)| npy(&ours, Some((row, at, *number)))).collect();
    compare(
        "label: \"x[2]\"",
        "target_only",
        "file(\"FILE\")",
        &npy(&ours, None),
        &all,
        &npy(&theirs, None),
    );

    let parquet = |rows: &[[f64; 3]], garbage: Option<(usize, usize, f64)>| {
        let mut rows = rows.to_vec();
        if let Some((row, column, number)) = garbage {
            rows[row][column] = number;
        }
        let column = |at: usize| Column::Numbers(rows.iter().map(|row| row[at]).collect());
        let columns = ["a", "b", "y"].map(str::to_owned).into_iter().zip([0, 1, 2].map(column));
        write::bytes(write::WriteFormat::Parquet, &columns.collect::<Vec<_>>()).unwrap()
    };
    let all: Vec<_> =
        places().map(|((row, at), number)| parquet(&ours, Some((row, at, *number)))).collect();
    let (ours, theirs) = (parquet(&ours, None), parquet(&theirs, None));
    compare("label: \"y\"", "target_only", "file(\"FILE\")", &ours, &all, &theirs);
}

/// Every method plans, starts and steps as if the record were absent.
#[test]
fn no_method_tells_of_a_record_that_cannot_be_used() {
    let directory = tempfile::tempdir().unwrap();
    let write =
        |name: &str, bytes: &[u8]| std::fs::write(directory.path().join(name), bytes).unwrap();
    let lines = csv(0..PRIVATE);
    write("theirs.csv", &csv(500..700).concat());
    for method in methods::methods() {
        let id = method.spec().id;
        let label = if method.spec().task == Task::Regression { "y" } else { "class" };
        let session = session("file(\"ours.csv\")", "file(\"theirs.csv\")", label);
        write("ours.csv", &lines.concat());
        let loaded = load(&session, directory.path());
        let everybody = seen(&loaded, &assembled(&session, &loaded, id));
        for garbage in [&b"garbage\n"[..], b"x,1,red,none,neither\n"] {
            write("ours.csv", &damaged(&lines, &[garbage], 1)[3]);
            let loaded = load(&session, directory.path());
            let assembly = assembled(&session, &loaded, id);
            assert_eq!(seen(&loaded, &assembly), everybody, "{id}");
            let Assembly { proposal: Proposal { prepared, calibrated, .. }, private, .. } =
                assembly;
            let mut spender = Spender::rehearsal(&calibrated, 1);
            let mut run = prepared.start(private, &calibrated).unwrap();
            run.step(&mut spender, &Watch::sealed())
                .unwrap_or_else(|error| panic!("{id}: {error}"));
        }
    }
}

#[test]
fn a_ranking_tells_nothing_of_a_record_that_cannot_be_used() {
    let directory = tempfile::tempdir().unwrap();
    let lines = csv(0..PRIVATE);
    std::fs::write(directory.path().join("theirs.csv"), csv(500..700).concat()).unwrap();
    let field = |bytes: &[u8]| {
        std::fs::write(directory.path().join("ours.csv"), bytes).unwrap();
        let session = session("file(\"ours.csv\")", "file(\"theirs.csv\")", "class");
        let loaded: Vec<_> = load(&session, directory.path()).into_iter().map(Arc::new).collect();
        let (setup, _) =
            prepare(&session, &session.ranking, &loaded, &PreparedStore::default()).unwrap();
        (loaded.iter().map(|it| it.rows).collect::<Vec<_>>(), setup.remarks())
    };
    assert_eq!(field(&damaged(&lines, &[b"x,y\n"], 1)[0]), field(&lines.concat()));
}

/// With `records`, one record more or less changes nothing that is visible.
#[test]
fn nothing_shows_how_many_records_there_are() {
    let directory = tempfile::tempdir().unwrap();
    let write =
        |name: &str, bytes: &[u8]| std::fs::write(directory.path().join(name), bytes).unwrap();
    write("theirs.csv", &csv(500..700).concat());
    for records in [130, 100] {
        for (label, method) in [("y", "target_only"), ("class", "dp_sgd")] {
            let mut session = session("file(\"ours.csv\")", "file(\"theirs.csv\")", label);
            session.datasets[0].records = Some(records);
            let of = |range| {
                write("ours.csv", &csv(range).concat());
                let loaded = load(&session, directory.path());
                let assembly = assembled(&session, &loaded, method);
                assert_eq!(loaded[0].rows, records);
                let data = training(&assembly);
                let filled = data.features.column_iter().filter(|column| column.norm() > 0.0);
                (seen(&loaded, &assembly), filled.count() + held_out(&assembly))
            };
            let (everybody, whole) = of(0..PRIVATE);
            let (less, one_less) = of(1..PRIVATE);
            assert_eq!(everybody, less, "{method}");
            assert_eq!((whole, one_less), (records.min(PRIVATE), records.min(PRIVATE - 1)));
        }
    }
}
