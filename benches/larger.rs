//! `cargo bench --bench larger [-- RECORDS FEATURES]`: a gradient step over private features that are
//! kept on the disk, beside the same step in memory and beside reading the same bytes from the file
//! with as many threads. The file lies in the folder in which the bench is started, and is in the page
//! cache if there is room for it. Where the bench may empty this cache (as root on Linux), it
//! measures the step and the reading from the disk itself, too.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::hint::black_box;
use std::path::Path;
use std::process::Command;
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
    let bytes = records * features * size_of::<f32>();
    let w = Vector::from_element(features, 0.01);
    let slope = |i: usize, score: f64| score - (i % 2) as f64;
    let step = |features: &Singles| {
        black_box(fused::gradient(black_box(features), &w, threads, slope));
    };
    let read = || read_once(&file, bytes, threads);
    let gigabytes = bytes as f64 / 1e9;
    println!("{records} × {features}: {gigabytes:.1} GB, {threads} threads");
    let told = |what: &str, seconds: f64| {
        println!("{what:>32} {seconds:>8.3} s {:>8.1} GB/s", gigabytes / seconds);
    };
    let [in_memory, on_disk, reading] =
        median([&|| step(&memory), &|| step(&disk), &read], &|| true).unwrap();
    told("step, in memory", in_memory);
    told("step, kept on the disk", on_disk);
    told("reading", reading);
    println!("{:.0} % of the speed of reading", 100.0 * reading / on_disk);
    let Some([on_disk, reading]) = median([&|| step(&disk), &read], &empty_page_cache) else {
        println!("from the disk itself: not measured, as only root may empty the page cache");
        return;
    };
    told("step, from the disk itself", on_disk);
    told("reading, from the disk itself", reading);
    println!("{:.0} % of the speed of reading", 100.0 * reading / on_disk);
}

/// The median seconds of each work, in turn, if `prepare` succeeds before every one.
fn median<const N: usize>(works: [&dyn Fn(); N], prepare: &dyn Fn() -> bool) -> Option<[f64; N]> {
    let mut seconds = [[0.0; ROUNDS]; N];
    for round in 0..ROUNDS {
        for (seconds, work) in seconds.iter_mut().zip(works) {
            if !prepare() {
                return None;
            }
            let start = Instant::now();
            work();
            seconds[round] = start.elapsed().as_secs_f64();
        }
    }
    Some(seconds.map(|mut seconds| {
        seconds.sort_by(f64::total_cmp);
        seconds[ROUNDS / 2]
    }))
}

/// Empties the cache, if possible: what is not yet on the disk would stay in it.
fn empty_page_cache() -> bool {
    Command::new("sync").status().is_ok_and(|status| status.success())
        && fs::write("/proc/sys/vm/drop_caches", "1").is_ok()
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
