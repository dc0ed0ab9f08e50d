//! `cargo bench --bench accounting`: the time of one accounting call and of calibrating a
//! plan (which the interface does at every keystroke), the former against Google's
//! dp-accounting in the same run if `PYTHON` names a Python that has it
//! (`pip install dp-accounting==0.6.0`).
#![allow(clippy::unwrap_used)]

use std::hint::black_box;
use std::process::Command;
use std::time::Instant;

use halflight::privacy::accountant::{
    Adjacency, Allotment, Composition, Event, Mechanism, PlannedMechanism, PlannedRelease, Target,
    calibrate,
};

const DELTAS: [f64; 8] = [1e-5, 1e-5, 1e-5, 1e-5, 1e-6, 1e-6, 1e-6, 1e-6];
/// (σ, rate, steps).
const CASES: [(f64, f64, u64); 8] = [
    (1.0, 1.0, 1),
    (10.0, 1.0, 1000),
    (1.0, 0.01, 1000),
    (1.1, 0.004, 15_000),
    (0.6, 0.002, 5000),
    (4.0, 0.05, 10_000),
    (20.0, 0.1, 20_000),
    (2.0, 0.5, 300),
];

fn main() {
    let peer = peer_seconds();
    println!(
        "{:>5} {:>6} {:>6} {:>6} | {:>12} {:>8} {:>9} | {:>12} {:>9} | {:>9} {:>6}",
        "σ", "q", "T", "δ", "ε upper", "width", "ms", "contour", "ms", "peer ms", "ratio"
    );
    for (index, ((sigma, rate, count), delta)) in CASES.into_iter().zip(DELTAS).enumerate() {
        let event = Event {
            label: "release".to_owned(),
            what: "a vector".to_owned(),
            mechanism: Mechanism::SubsampledGaussian {
                sensitivity: 1.0,
                sigma,
                grid: 0.0,
                coordinates: 1,
                rate,
            },
            count,
            adjacency: Adjacency::ZeroOut,
        };
        let sum = Composition::of([&event]).unwrap();
        let (guarantee, bound) = best(|| sum.guarantee(delta).unwrap());
        let (converged, contour) = best(|| sum.converged(delta).ok());
        let width = 100.0 * (guarantee.epsilon - guarantee.epsilon_lower) / guarantee.epsilon;
        let converged = converged.map_or("none".to_owned(), |epsilon| format!("{epsilon:.8}"));
        let (theirs, ratio) = peer.as_ref().map_or(("-".to_owned(), "-".to_owned()), |peer| {
            (format!("{:.1}", 1e3 * peer[index]), format!("{:.0}", peer[index] / bound))
        });
        println!(
            "{sigma:>5} {rate:>6} {count:>6} {delta:>6.0e} | {:>12.8} {width:>7.2}% {:>9.3} | {converged:>12} {:>9.3} | {theirs:>9} {ratio:>6}",
            guarantee.epsilon,
            bound * 1e3,
            contour * 1e3,
        );
    }
    println!();
    calibrations();
}

fn calibrations() {
    let adjacency = Adjacency::ZeroOut;
    let release = |label: &'static str, mechanism, count| PlannedRelease {
        label,
        what: String::new(),
        mechanism,
        count,
        noise: Allotment::Share(1.0),
        adjacency,
    };
    let moment = PlannedMechanism::Gaussian { l2_sensitivity: 0.01, coordinates: 100 };
    let vertex = PlannedMechanism::Selection { range: 0.01, candidates: 1000 };
    let sample =
        PlannedMechanism::SubsampledGaussian { l2_sensitivity: 1.0, coordinates: 100, rate: 0.01 };
    let target = Target { epsilon: 1.0, delta: 1e-6 };
    for (name, plan) in [
        ("60 gradients", vec![release("gradient", moment, 60)]),
        ("1000 selections", vec![release("vertex", vertex, 1000)]),
        ("30 selections and a moment", vec![release("a", moment, 1), release("b", vertex, 30)]),
        ("1000 minibatches", vec![release("step", sample, 1000)]),
        (
            "1000 minibatches and a moment",
            vec![release("a", moment, 1), release("b", sample, 1000)],
        ),
    ] {
        let (calibrated, seconds) = best(|| calibrate(&plan, target).unwrap());
        println!(
            "calibrating {name:30} {:9.2} ms, ε = {:.6} ({})",
            seconds * 1e3,
            calibrated.guarantee().epsilon,
            calibrated.guarantee().bound,
        );
    }
}

/// The result and the least of some times: the machine may be shared.
fn best<T>(work: impl Fn() -> T) -> (T, f64) {
    let once = || {
        let start = Instant::now();
        let result = black_box(work());
        (result, start.elapsed().as_secs_f64())
    };
    let (mut result, mut seconds) = once();
    for _ in 0..4 {
        let (next, took) = once();
        if took < seconds {
            (result, seconds) = (next, took);
        }
    }
    (result, seconds)
}

/// Seconds per case, as `benches/peers/accounting.py` prints them.
fn peer_seconds() -> Option<Vec<f64>> {
    let python = std::env::var("PYTHON").ok()?;
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/peers/accounting.py");
    let mut command = Command::new(python);
    command.arg(script);
    for ((sigma, rate, steps), delta) in CASES.into_iter().zip(DELTAS) {
        command.arg(format!("{sigma},{rate},{steps},{delta}"));
    }
    let output = command.output().ok()?;
    let lines = String::from_utf8(output.stdout).ok()?;
    lines.lines().map(|line| line.parse().ok()).collect()
}
