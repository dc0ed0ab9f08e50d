//! The binary: reports panics well, then hands over to the command line.

use std::process::ExitCode;

/// The C library of static programs is slow at this.
#[cfg(feature = "mimalloc")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    // Only the report of our own panics depends on it; without it they are plain.
    let _ = color_eyre::install();
    halflight::cli::main()
}
