//! A run whose interface was closed continues in a process of its own, under the same grant. It is
//! resumed, so nothing is spent twice.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::error::{Error, Result};
use crate::files::{self, step};
use crate::memory;

/// The output of the process, beside the run's other files.
const LOG: &str = "headless.log";

/// Starts the process that continues the run in this directory.
pub fn go_on(run: &Path, pace: Option<f64>) -> Result<()> {
    let by_hand = || format!("`halflight run --resume {}` resumes the run", run.display());
    let path = run.join(LOG);
    let log = step::open(files::private().append(true).create(true), &path)
        .map_err(|error| Error::io("begin the log of the run", &path, &error).cure(by_hand()))?;
    let started = std::env::current_exe().and_then(|program| {
        let mut command = Command::new(program);
        command.args(["run", "--resume"]).arg(run).args(memory::as_option());
        if let Some(pace) = pace {
            command.arg("--pace").arg(pace.to_string());
        }
        // This process must not get the terminal's keys or its hang-up.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn()
    });
    started.map(|_| ()).map_err(|error| {
        Error::io("start the process that continues the run", run, &error).cure(by_hand())
    })
}
