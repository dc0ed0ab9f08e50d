//! `cargo bench --bench accounting`: the time of one accounting call and of calibrating a
//! plan (which the interface does at every keystroke), the former against Google's
//! dp-accounting in the same run if `PYTHON` names a Python that has it
//! (`pip install dp-accounting==0.6.0`).
//!
//! `cargo bench --bench accounting -- calibration`: what calibration wastes on a grid of 500
//! plans of minibatches, and how long it takes.
#![allow(clippy::unwrap_used)]

use std::hint::black_box;
use std::process::Command;
use std::time::Instant;

use halflight::privacy::accountant::{
    Adjacency, Allotment, Composition, Event, Noise, PlannedRelease, QueryKind, Rule, Target,
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
    if std::env::args().any(|argument| argument == "calibration") {
        return waste();
    }
    let peer = peer_seconds();
    println!(
        "{:>5} {:>6} {:>6} {:>6} | {:>12} {:>8} {:>9} | {:>12} {:>9} | {:>9} {:>6}",
        "σ", "q", "T", "δ", "ε upper", "width", "ms", "contour", "ms", "peer ms", "ratio"
    );
    for (index, ((sigma, rate, count), delta)) in CASES.into_iter().zip(DELTAS).enumerate() {
        let event = Event {
            label: "release".to_owned(),
            what: "a vector".to_owned(),
            mechanism: QueryKind::SampledSum { rate }.query(1.0, 1).with(Noise::ideal(sigma)),
            count,
            adjacency: Adjacency::ZeroOut,
            held_out: false,
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
    let release = |label: &'static str, query, count| PlannedRelease {
        label,
        what: String::new(),
        query,
        count,
        noise: Allotment::Share(1.0),
        adjacency,
        held_out: false,
    };
    let moment = QueryKind::Gaussian.query(0.01, 100);
    let vertex = QueryKind::Selection(Rule::Exponential).query(0.01, 1000);
    let sample = QueryKind::SampledSum { rate: 0.01 }.query(1.0, 100);
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

/// What calibration leaves unused of ε: by the bound that it proves, and by the converged value
/// where there is one.
fn waste() {
    let mut rows = Vec::new();
    for rate in [1e-4, 1e-3, 0.01, 0.1, 0.5] {
        for count in [1, 60, 1000, 10_000, 100_000] {
            for epsilon in [0.1, 0.5, 1.0, 3.0, 8.0] {
                for delta in [1e-5, 1e-6, 1e-8, 1e-12] {
                    rows.push(wasted(rate, count, Target { epsilon, delta }));
                }
            }
        }
    }
    let seconds: f64 = rows.iter().map(|row| row.seconds).sum();
    println!("{} plans, {:.1} ms each", rows.len(), 1e3 * seconds / rows.len() as f64);
    let mut worst = |name: &str, of: fn(&Row) -> f64| {
        rows.sort_by(|a, b| of(b).total_cmp(&of(a)));
        println!("\n{name}");
        for row in &rows[..8] {
            println!(
                "  q {:<6} T {:<6} ε {:<4} δ {:<6e}: proven {:.5} %, true {:.5} % unused, {:.1} ms, σ {:.6} ({})",
                row.rate,
                row.count,
                row.target.epsilon,
                row.target.delta,
                100.0 * row.proven,
                100.0 * row.truly,
                1e3 * row.seconds,
                row.sigma,
                row.bound,
            );
        }
    };
    worst("most of the proven ε unused", |row| row.proven);
    worst("most of the true ε unused", |row| row.truly);
    worst("slowest", |row| row.seconds);
}

struct Row {
    rate: f64,
    count: u64,
    target: Target,
    sigma: f64,
    proven: f64,
    truly: f64,
    seconds: f64,
    bound: String,
}

fn wasted(rate: f64, count: u64, target: Target) -> Row {
    let plan = [PlannedRelease {
        label: "step",
        what: String::new(),
        query: QueryKind::SampledSum { rate }.query(1.0, 100),
        count,
        noise: Allotment::Share(1.0),
        adjacency: Adjacency::ZeroOut,
        held_out: false,
    }];
    let start = Instant::now();
    let calibrated = calibrate(&plan, target).unwrap();
    let seconds = start.elapsed().as_secs_f64();
    let sum = Composition::of(calibrated.events()).unwrap();
    let guarantee = calibrated.guarantee().clone();
    // Where the integral does not converge the lower bound stands for it.
    let converged = sum.converged(target.delta).unwrap_or(guarantee.epsilon_lower);
    Row {
        rate,
        count,
        target,
        sigma: calibrated.events()[0].mechanism.noise.scale,
        proven: 1.0 - guarantee.epsilon / target.epsilon,
        truly: 1.0 - converged / target.epsilon,
        seconds,
        bound: guarantee.bound,
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
