//! The binary: sets up readable panic reports, then hands over to the command line.

use std::io::Write as _;
use std::process::ExitCode;

use color_eyre::config::HookBuilder;

/// The C library of static programs allocates slowly.
#[cfg(feature = "mimalloc")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The text below the report of a crash.
const CURE: &str = "what to do: please report this. What was drawn from private records is \
    charged; `halflight ledger` shows what can be resumed.";

fn main() -> ExitCode {
    let (panics, _) = HookBuilder::default().panic_section(CURE).into_hooks();
    // If standard error is closed, nothing is printed: the crate's own hook would crash.
    std::panic::set_hook(Box::new(move |panic| {
        let _ = writeln!(std::io::stderr(), "{}", panics.panic_report(panic));
    }));
    halflight::cli::main()
}
