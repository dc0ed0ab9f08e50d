//! `cargo bench --bench preview [-- ROWS COLUMNS]`: what a plan costs, asked for the first time,
//! asked again after an edit of its ε and of a setting, and after an edit of what is held out;
//! and how long a run takes to begin after that, the first time and the second.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;
use std::time::Instant;

use halflight::engine::assembly::assemble;
use halflight::engine::preview::preview;
use halflight::engine::{Job, PreparedStore};
use halflight::methods::Value;
use halflight::session::{Loaded, PlanDefinition, Session, Workspace, dataset};
use peak_alloc::PeakAlloc;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// Methods with a setting of each.
const METHODS: [(&str, &str); 5] = [
    ("moment_release", "lambda"),
    ("frank_wolfe", "lambda"),
    ("mirror_descent", "lambda"),
    ("cnvx_adap", "alpha"),
    ("profiled_cnvx_adap", "alpha"),
];

fn main() {
    let sizes: Vec<usize> = std::env::args().filter_map(|word| word.parse().ok()).collect();
    let (rows, columns) = match sizes[..] {
        [rows, columns] => (rows, columns),
        _ => (100_000, 100),
    };
    let folder = tempfile::tempdir().unwrap();
    let workspace = Workspace::of(folder.path()).unwrap();
    let session = session(rows, columns);
    let load = |data| Arc::new(dataset::load(data, &workspace).unwrap());
    let datasets: Vec<Arc<Loaded>> = session.datasets.iter().map(load).collect();
    let loaded: Vec<&Loaded> = datasets.iter().map(Arc::as_ref).collect();
    let tables = MEMORY.current_usage();
    println!("{rows} private and {} public rows × {columns} columns", rows / 5);
    println!(
        "{:>20} {:>10} {:>10} {:>10} {:>8} {:>10} {:>10} {:>10}",
        "method", "first", "ε", "setting", "ratio", "hold-out", "run", "next run"
    );
    let mut kept: f64 = 0.0;
    for (method, setting) in METHODS {
        let store = PreparedStore::default();
        let mut plan = PlanDefinition { method: method.to_owned(), ..session.plans[0].clone() };
        let asked = |plan: &PlanDefinition| {
            let plan = plan.clone();
            let start = Instant::now();
            let job = Job::new(session.clone(), plan, datasets.clone(), workspace.clone());
            preview(&Job { prepared: store.clone(), ..job }).unwrap();
            start.elapsed().as_secs_f64() * 1e3
        };
        let begun = |plan: &PlanDefinition| {
            let start = Instant::now();
            assemble(&session, plan, &loaded, &store).unwrap();
            start.elapsed().as_secs_f64() * 1e3
        };
        let first = asked(&plan);
        plan.target.epsilon = 2.0;
        let again = asked(&plan);
        plan.settings = [(setting.to_owned(), Value::Number(0.25))].into();
        let edited = asked(&plan);
        let (run, next) = (begun(&plan), begun(&plan));
        kept = kept.max((MEMORY.current_usage() - tables) as f64 / tables as f64);
        plan.holdout = 0.3;
        let split = asked(&plan);
        println!(
            "{method:>20} {first:>7.1} ms {again:>7.2} ms {edited:>7.2} ms {:>8.0} {split:>7.1} ms {run:>7.1} ms {next:>7.2} ms",
            first / again.max(edited),
        );
    }
    println!("kept for the next: {kept:.2} × the tables of the datasets");
}

fn session(rows: usize, columns: usize) -> Session {
    let data = |name: &str, role: &str, part: &str, rows: usize| {
        format!(
            "(name: \"{name}\", role: {role}, label: \"y\", source: synthetic(part: {part}, \
             rows: {rows}, dimension: {columns}, mixture: 0.2, seed: 1))"
        )
    };
    let text = format!(
        "(version: 1, datasets: [{}, {}], budgets: {{\"ours\": (epsilon: 4.0, delta: 1e-8)}}, \
         plans: [(name: \"first\", method: \"moment_release\", private: \"ours\", \
         public: [\"theirs\"], target: (epsilon: 1.0, delta: 1e-9))])",
        data("ours", "private", "target", rows),
        data("theirs", "public", "source", rows / 5),
    );
    Session::parse(&text, "bench").unwrap()
}
