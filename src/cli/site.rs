//! `halflight site SESSION`: one of several sites that train a model together.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::messages;
use super::run::RunCommand;
use crate::engine::sites::{self, Place};
use crate::error::Result;
use crate::session::Workspace;

/// Train one model with other sites, each on private records of its own.
///
/// Every site runs this command with the same plan and the same public data. What a site releases is
/// charged to its own ledger and gets its own noise; only then does it travel, signed, through the
/// folder. All sites end with the same model, and each has a certificate for its own records.
///
/// Nothing is spent before all sites agree. A site that stops is waited for; the run goes on with
/// `halflight run --resume`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  halflight site session.ron --plan heart --exchange /shared/heart --name A --sites A,B,C
  halflight run --resume .halflight/runs/RUN
  halflight verify .halflight/runs/RUN/joint.json")]
pub struct SiteCommand {
    #[command(flatten)]
    run: RunCommand,

    /// Folder that all sites read and write; an empty one for each joint run.
    #[arg(long, value_name = "DIR")]
    exchange: PathBuf,

    /// Name of this site.
    #[arg(long)]
    name: String,

    /// Names of all sites.
    #[arg(long, value_name = "NAMES", value_delimiter = ',', required = true)]
    sites: Vec<String>,

    /// How long to wait for the other sites, such as 30s, 10m or 2h.
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = time)]
    timeout: Duration,

    /// Go on without a site that is missing for that long; the first site by name decides. All sites
    /// must say so.
    #[arg(long)]
    without_missing: bool,
}

impl SiteCommand {
    pub fn execute(self) -> Result<()> {
        let folder = std::path::absolute(&self.exchange).unwrap_or(self.exchange);
        let place = Place {
            folder,
            name: self.name,
            sites: self.sites,
            timeout: self.timeout,
            without_missing: self.without_missing,
        };
        let mut run = self.run;
        run.place = Some(place.checked()?);
        run.execute()
    }
}

/// Says who takes part, before the run waits for the others.
pub(super) fn announce(place: &Place, workspace: &Workspace) -> Result<()> {
    messages::tell(format_args!(
        "site {} of {}: key {}; waiting for the others in {}",
        place.name,
        place.sites.join(", "),
        sites::fingerprint(workspace)?,
        place.folder.display()
    ));
    Ok(())
}

fn time(text: &str) -> std::result::Result<Duration, String> {
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let unit = match &text[digits.len()..] {
        "ms" => 0.001,
        "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        _ => return Err("give a number and ms, s, m or h, such as 10m".to_owned()),
    };
    let seconds = digits.parse::<f64>().ok().map(|number| unit * number);
    let time = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    time.filter(|time| !time.is_zero()).ok_or_else(|| "give a time above 0".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_a_unit() {
        assert_eq!(time("10m").unwrap(), Duration::from_mins(10));
        assert_eq!(time("1.5s").unwrap(), Duration::from_millis(1500));
        for wrong in ["", "10", "m", "-1s", "0s", "1e400h", "10 days"] {
            assert!(time(wrong).is_err(), "{wrong}");
        }
    }
}
