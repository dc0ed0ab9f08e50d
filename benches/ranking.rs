//! `cargo bench --bench ranking`: one repeat with two datasets (forward and backward, leading
//! subspaces, distance and energy), against numpy on the same shapes: the explicit Gram route,
//! and what two thin SVDs would take. Then a whole ranking, all repeats of ours, against the
//! route with explicit gradients and thin SVDs on the same images, weights and labels: numpy
//! is timed on a part of it and scaled, and the distances are compared.
//!
//! numpy is asked through `python3`, or the interpreter that `PYTHON` names; without one only
//! our own times are printed. `cargo bench --bench ranking -- whole` leaves the first part out,
//! `-- repeat` the second.
#![allow(clippy::unwrap_used)]

#[path = "peers/mod.rs"]
mod peers;

use std::fs;
use std::hint::black_box;
use std::path::Path;
use std::time::Instant;

use halflight::data::{Bounds, Dataset};
use halflight::model::{Activation, Architecture, Classifier, ExampleLabels, Volume};
use halflight::numeric::Matrix;
use halflight::rank::subspace::lead_and_span;
use halflight::rank::{Candidate, ProbeModel, Ranking, RankingSettings, RankingSetup, Subspace};
use rand::SeedableRng;
use rand::rngs::ChaCha20Rng;
use rand_distr::{Distribution, StandardNormal};

const RECORDS: usize = 2000;
const PIXELS: usize = 784;
const CLASSES: usize = 10;
const DIRECTIONS: usize = 18;
const ROUNDS: usize = 5;

/// Of the whole ranking.
const CANDIDATES: usize = 5;
const REPEATS: usize = 10;
/// A batch small enough that numpy's distances to all candidates can be waited for.
const SMALL: usize = 300;

fn main() {
    let wanted = |part: &str| !std::env::args().any(|it| it == part);
    if wanted("whole") {
        repeat();
    }
    if wanted("repeat") {
        whole();
    }
}

/// One repeat with two datasets.
fn repeat() {
    let image = Volume { channels: 1, height: 28, width: 28 };
    let cases = [
        ("mlp", Architecture::perceptron(PIXELS, 38, CLASSES, Activation::Relu).unwrap()),
        ("probe", Architecture::probe(image, CLASSES).unwrap()),
    ];
    println!(
        "{:>8} {:>8} {:>8} {:>10} {:>9} {:>9} {:>12} {:>8} {:>12} {:>8}",
        "model",
        "p",
        "repeat",
        "gradients",
        "spans",
        "scores",
        "numpy Gram",
        "ratio",
        "numpy SVDs",
        "ratio"
    );
    for (name, architecture) in cases {
        let mut generator = ChaCha20Rng::seed_from_u64(1);
        let parameters = architecture.initial(&mut generator);
        let p = parameters.len();
        let model = Classifier::new(architecture, parameters).unwrap();
        let datasets = [1, 2].map(|seed| images(seed, RECORDS, 0.07));
        let labels: Vec<u32> = (0..RECORDS as u32).map(|i| i * 7 % CLASSES as u32).collect();
        let labels = ExampleLabels::Classes(&labels);
        let mut best = [f64::INFINITY; 4];
        for _ in 0..ROUNDS {
            let start = Instant::now();
            let gradients = datasets
                .each_ref()
                .map(|data| model.gradients_of::<f32>(black_box(data).clone(), labels).unwrap());
            let passes = start.elapsed().as_secs_f64();
            let (lead, span) = lead_and_span(&gradients[0], &gradients[1], DIRECTIONS);
            let (lead, span) = (lead.unwrap(), span.unwrap());
            let after = start.elapsed().as_secs_f64();
            black_box(lead.score(&span));
            let all = start.elapsed().as_secs_f64();
            if all < best[0] {
                best = [all, passes, after - passes, all - after];
            }
        }
        let told = |seconds: Option<f64>| {
            seconds.map_or("–".to_owned(), |seconds| format!("{seconds:.2} s"))
        };
        let ratio = |peer: Option<f64>| {
            peer.map_or("–".to_owned(), |peer| format!("{:.1}", peer / best[0]))
        };
        let (gram, svd) = numpy(name);
        println!(
            "{name:>8} {p:>8} {:>7.3}s {:>9.3}s {:>8.3}s {:>8.3}s {:>12} {:>8} {:>12} {:>8}",
            best[0],
            best[1],
            best[2],
            best[3],
            told(gram),
            ratio(gram),
            told(svd),
            ratio(svd)
        );
    }
}

/// Blurred noise: a spectrum that decays, as that of images does.
fn images(seed: u64, records: usize, turn: f64) -> Matrix {
    let mut generator = ChaCha20Rng::seed_from_u64(seed);
    let mut images = Matrix::zeros(PIXELS, records);
    for mut column in images.column_iter_mut() {
        let waves: Vec<(f64, f64, f64)> = (0..40)
            .map(|wave| {
                let normal: f64 = StandardNormal.sample(&mut generator);
                let wave = f64::from(wave);
                (normal / (1.0 + wave), (wave * turn).sin(), (wave * 0.11).cos())
            })
            .collect();
        for (at, pixel) in column.iter_mut().enumerate() {
            let (y, x) = ((at / 28) as f64, (at % 28) as f64);
            let noise: f64 = StandardNormal.sample(&mut generator);
            *pixel = waves.iter().map(|(size, a, b)| size * (a * y + b * x).cos()).sum::<f64>()
                + 0.1 * noise;
        }
    }
    images
}

/// Seconds of the explicit Gram route and of two thin SVDs.
fn numpy(model: &str) -> (Option<f64>, Option<f64>) {
    let line = peer(&[model]);
    let seconds = |key: &str| line.as_ref()?.get(key)?.as_f64();
    (seconds("gram"), seconds("svd"))
}

/// What the peer prints.
fn peer(arguments: &[&str]) -> Option<serde_json::Value> {
    serde_json::from_slice(&peers::ask("ranking.py", arguments)?).ok()
}

/// A ranking from the first repeat to the last.
fn whole() {
    let data: Vec<Dataset> = (0..=CANDIDATES)
        .map(|which| {
            let records = if which == 0 { 2 * RECORDS } else { RECORDS + 500 };
            dataset(images(10 + which as u64, records, 0.07 + 0.01 * which as f64))
        })
        .collect();
    let settings = |batch: usize, repeats: usize| RankingSettings {
        model: ProbeModel::Probe,
        directions: 16,
        batch,
        repeats,
        ..RankingSettings::default()
    };
    let setup = |settings: &RankingSettings| {
        let candidates = data[1..].iter().enumerate().map(|(index, data)| Candidate {
            name: format!("candidate {}", index + 1),
            data: Ok(data.clone().into()),
        });
        let shape = (data[0].len(), PIXELS);
        RankingSetup::new(settings, candidates.collect(), shape, Some(CLASSES), bounds()).unwrap()
    };
    let full = settings(RECORDS, REPEATS);
    let (all, ours) = (setup(&full), data[0].clone().into());
    let (directions, start) = (all.directions, Instant::now());
    black_box(Ranking::of_public(&full, all, ours).unwrap());
    let ours = start.elapsed().as_secs_f64();
    println!(
        "\nwhole ranking: probe, m = {RECORDS}, k = {directions} (16 wished for), {REPEATS} repeats, {CANDIDATES} candidates"
    );
    println!("ours: {ours:.1} s, all repeats ({} spans in each)", CANDIDATES + 3);

    // numpy: the private span and one candidate's, in the first repeat; then all candidates
    // with fewer records.
    let pair = compare(&mut setup(&full), &data, 1);
    let small = settings(SMALL, 2);
    let all = compare(&mut setup(&small), &data, CANDIDATES);
    let Some((seconds, difference)) = pair else {
        println!("numpy: SKIPPED, no Python with numpy (set PYTHON)");
        return;
    };
    // Without floor and ceiling: what the distances of the candidates need.
    let spans = REPEATS * (CANDIDATES + 1);
    let scaled = seconds * spans as f64 / 2.0;
    println!(
        "numpy, explicit gradients and thin SVDs: {seconds:.1} s for 2 of {spans} spans, scaled to {scaled:.0} s; ratio {:.1}",
        scaled / ours
    );
    println!("largest difference of a distance: {difference:.1e} (1 candidate, m = {RECORDS})");
    if let Some((_, difference)) = all {
        println!("{:>46} ({CANDIDATES} candidates, m = {SMALL})", format!("{difference:.1e}"));
    }
}

/// Seconds that numpy takes for the spans of the private records and of the first `count`
/// candidates in the first repeat, and by how much a distance differs from ours at most.
fn compare(setup: &mut RankingSetup, data: &[Dataset], count: usize) -> Option<(f64, f64)> {
    let (round, batch) = (setup.round(0).unwrap(), setup.batch);
    let conditions = &round.conditions;
    let drawn = conditions.private_batch(data[0].len(), 2 * batch);
    let private = data[0].features.select_columns(&drawn[..batch]);
    let span = Subspace::of(&conditions.gradients(&private).unwrap(), round.directions).unwrap();
    let place = tempfile::tempdir().unwrap();
    let write = |name: &str, numbers: &[f64], width: usize| {
        write_array(&place.path().join(name), numbers, width);
    };
    write("weights.npy", conditions.model.parameters(), 1);
    let labels = conditions.classes_of(batch).unwrap().unwrap();
    write("labels.npy", &labels.into_iter().map(f64::from).collect::<Vec<_>>(), 1);
    write("0.npy", private.as_slice(), PIXELS);
    for index in 0..count {
        let chosen = setup.chosen(index, 0).unwrap();
        let images = data[index + 1].features.select_columns(&chosen);
        write(&format!("{}.npy", index + 1), images.as_slice(), PIXELS);
    }
    let directions = round.directions.to_string();
    let found = peer(&["whole", place.path().to_str().unwrap(), &directions])?;
    let distances = found["distances"].as_array()?;
    assert_eq!(distances.len(), count);
    let differences = distances.iter().zip(&round.spans).map(|(theirs, candidate)| {
        (theirs.as_f64().unwrap() - span.distance(candidate.as_ref().unwrap())).abs()
    });
    Some((found["seconds"].as_f64()?, differences.fold(0.0, f64::max)))
}

/// A file that numpy reads: rows of `width` numbers.
fn write_array(path: &Path, numbers: &[f64], width: usize) {
    let shape = if width == 1 {
        format!("({},)", numbers.len())
    } else {
        format!("({}, {width})", numbers.len() / width)
    };
    let header = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}");
    // Length of magic, version and length field: 10; the whole is a multiple of 64.
    let header =
        format!("{header:<width$}\n", width = (header.len() + 11).next_multiple_of(64) - 11);
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
    fs::write(path, bytes).unwrap();
}

/// As long as √784 at most, which the ranking takes for entries of about 1.
fn bounds() -> Bounds {
    Bounds { feature_norm: (PIXELS as f64).sqrt(), label: 1.0 }
}

fn dataset(features: Matrix) -> Dataset {
    Dataset {
        name: "images".to_owned(),
        features,
        feature_names: Vec::new(),
        target: None,
        classes: None,
        bounds: bounds(),
        clipped: 0,
        persons: None,
    }
}
