//! `cargo bench --bench larger [-- RECORDS FEATURES]`: a gradient step over private features that are
//! kept on the disk, beside the same step in memory and beside reading the same bytes from the file
//! with as many threads. The file lies in the folder in which the bench is started, and is in the page
//! cache if there is room for it.
#![allow(clippy::unwrap_used)]

use std::hint::black_box;
use std::path::Path;
use std::time::Instant;

use halflight::files::scratch::Scratch;
use halflight::numeric::columns::Singles;
use halflight::numeric::{Matrix, Vector, fused, parallel};

const ROUNDS: usize = 5;
/// The records that are made, and the bytes that are read, at a time.
const PART: usize = 1 << 12;
const BLOCK: usize = 1 << 18;

fn main() {
    let asked: Vec<usize> = std::env::args().filter_map(|it| it.parse().ok()).collect();
    let [records, features] = asked[..] else { return step(4_000_000, 100) };
    step(records, features);
}

fn step(records: usize, features: usize) {
    let threads = parallel::threads();
    let place = Scratch::create_in(Path::new(".")).unwrap();
    let file = place.another().unwrap();
    let mut memory = Singles::with_room(features, records, None).unwrap();
    let mut disk = Singles::with_room(features, records, Some(&place)).unwrap();
    for first in (0..records).step_by(PART) {
        let count = PART.min(records - first);
        let part = Matrix::from_fn(features, count, |row, at| {
            ((first + at) * 31 + row * 17) as f64 % 101.0 / 101.0
        });
        memory.append(&Singles::from(&part)).unwrap();
        disk.append(&Singles::from(&part)).unwrap();
    }
    for part in memory.numbers().unwrap().chunks(BLOCK) {
        file.append(bytemuck::cast_slice(part)).unwrap();
    }
    let w = Vector::from_element(features, 0.01);
    let slope = |i: usize, score: f64| score - (i % 2) as f64;
    let [mut in_memory, mut on_disk, mut reading] = [f64::INFINITY; 3];
    let timed = |least: &mut f64, work: &dyn Fn()| {
        let start = Instant::now();
        work();
        *least = least.min(start.elapsed().as_secs_f64());
    };
    for _ in 0..ROUNDS {
        let step = |features: &Singles| {
            black_box(fused::gradient(black_box(features), &w, threads, slope));
        };
        timed(&mut in_memory, &|| step(&memory));
        timed(&mut on_disk, &|| step(&disk));
        timed(&mut reading, &|| read_once(&file, records * features * size_of::<f32>(), threads));
    }
    let gigabytes = (records * features * size_of::<f32>()) as f64 / 1e9;
    println!("{records} × {features}: {gigabytes:.1} GB, {threads} threads");
    for (what, seconds) in
        [("in memory", in_memory), ("on the disk", on_disk), ("reading", reading)]
    {
        println!("{what:>12} {seconds:>8.3} s {:>8.1} GB/s", gigabytes / seconds);
    }
    println!("{:.0} % of the speed of reading", 100.0 * reading / on_disk);
}

/// Reads all bytes, each thread a part of its own.
fn read_once(file: &Scratch, bytes: usize, threads: usize) {
    let share = bytes.div_ceil(threads);
    std::thread::scope(|scope| {
        for thread in 0..threads {
            scope.spawn(move || {
                let mut room = vec![0; BLOCK];
                let end = bytes.min((thread + 1) * share);
                for at in (thread * share..end).step_by(BLOCK) {
                    file.read(&mut room[..BLOCK.min(end - at)], at as u64);
                    black_box(&room);
                }
            });
        }
    });
}
