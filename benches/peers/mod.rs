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

/// Rows in which a peer was quicker.
#[allow(dead_code)] // as above
#[derive(Default)]
pub struct Behind(Vec<String>);

#[allow(dead_code)] // as above
impl Behind {
    /// A line for each peer: its time, and how many times ours that is.
    pub fn tell(&mut self, row: &str, peers: &BTreeMap<String, f64>, ours: f64) {
        for (peer, seconds) in peers {
            println!("  {peer:>9}: {:.3} ms, {:.2} × ours", 1e3 * seconds, seconds / ours);
            self.note(row, peer, *seconds, ours);
        }
    }

    pub fn note(&mut self, row: &str, peer: &str, theirs: f64, ours: f64) {
        if theirs < ours {
            self.0.push(format!("{row}: {peer} takes {:.2} of our time", theirs / ours));
        }
    }

    /// Ends the bench, with an error if any row is behind.
    pub fn end(self) {
        if !self.0.is_empty() {
            println!("behind a peer:\n  {}", self.0.join("\n  "));
            std::process::exit(1);
        }
    }
}
