//! The binary: reports panics well, then hands over to the command line.

use std::backtrace::{Backtrace, BacktraceStatus};
use std::io::Write as _;
use std::panic::PanicHookInfo;
use std::process::ExitCode;

/// The C library of static programs is slow at this.
#[cfg(feature = "mimalloc")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    std::panic::set_hook(Box::new(tell));
    halflight::cli::main()
}

/// Where there is nobody to tell, nothing is told.
fn tell(panic: &PanicHookInfo<'_>) {
    let mut out = std::io::stderr();
    let _ = writeln!(
        out,
        "halflight crashed: {panic}\nwhat to do: please report this. What was drawn from private \
         records is charged; `halflight ledger` says what goes on."
    );
    let trace = Backtrace::capture();
    if trace.status() == BacktraceStatus::Captured {
        let _ = writeln!(out, "{trace}");
    }
}
