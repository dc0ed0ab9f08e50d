//! Asks a Python peer, through `python3` or the interpreter that `PYTHON` names.

use std::collections::BTreeMap;
use std::process::Command;

use halflight::numeric::parallel;

/// What the script prints, if it works and its packages are there.
pub fn ask(script: &str, arguments: &[&str]) -> Option<Vec<u8>> {
    let python = std::env::var("PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/peers");
    let output = Command::new(python)
        .arg(format!("{folder}/{script}"))
        .args(arguments)
        .env("OPENBLAS_NUM_THREADS", parallel::threads().to_string())
        .output()
        .ok()?;
    output.status.success().then_some(output.stdout)
}

/// Seconds of each peer that there is.
#[allow(dead_code)] // every bench has its own copy of this module
pub fn seconds(script: &str, arguments: &[&str]) -> BTreeMap<String, f64> {
    let said = ask(script, arguments);
    said.and_then(|said| serde_json::from_slice(&said).ok()).unwrap_or_default()
}

/// A line each: the peer, its time, and how many times ours that is.
#[allow(dead_code)] // as above
pub fn tell(peers: &BTreeMap<String, f64>, ours: f64) {
    for (peer, seconds) in peers {
        println!("  {peer:>9}: {:.3} ms, {:.2} × ours", 1e3 * seconds, seconds / ours);
    }
}
