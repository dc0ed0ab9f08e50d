//! `halflight-studies`: repeats the papers' experiments on public data.

use std::process::ExitCode;

use clap::Parser;
use halflight::cli;
use halflight_studies::commands::Studies;

#[derive(Debug, Parser)]
#[command(name = "halflight-studies", version)]
struct Arguments {
    /// Number of threads [default: HALFLIGHT_THREADS, or as many as the machine has]. Results do
    /// not depend on it.
    #[arg(long, global = true, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=cli::MOST_THREADS))]
    threads: Option<u16>,

    #[command(flatten)]
    studies: Studies,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    cli::finish(cli::use_threads(arguments.threads).and_then(|()| arguments.studies.execute()))
}
