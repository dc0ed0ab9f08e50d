//! The binary: reports panics well, then hands over to the command line.

use std::process::ExitCode;

fn main() -> ExitCode {
    // Only the report of our own panics depends on it; without it they are plain.
    let _ = color_eyre::install();
    halflight::cli::main()
}
