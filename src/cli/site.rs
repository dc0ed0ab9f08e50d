//! `halflight site SESSION`: one of several sites that train a model together.

use std::collections::BTreeMap;
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
/// folder. With --one-noise all sites together add as much noise as one alone would, or little more.
/// All sites end with the same model, and each has a certificate for its own records. Which public data
/// to take is asked with `halflight rank --exchange`.
///
/// Nothing is spent before all sites agree. A site that stops is waited for; the run goes on with
/// `halflight run --resume`.
#[derive(Debug, Args)]
#[command(
    mut_arg("resume", |it| it.hide(true)),
    mut_arg("dry_run", |it| it.hide(true)),
    mut_arg("exchange", |it| it.required(true)),
    after_help = "Examples:
  halflight site session.ron --plan heart --exchange /shared/heart --name A --sites A,B,C
  halflight site session.ron --plan heart --exchange /shared/heart --name A --sites A,B,C --one-noise --trust keys
  halflight run --resume .halflight/runs/RUN
  halflight verify .halflight/runs/RUN/joint.json"
)]
pub struct SiteCommand {
    #[command(flatten)]
    run: RunCommand,

    #[command(flatten)]
    meeting: Meeting,
}

/// Where a site meets the others.
#[derive(Debug, Clone, Args)]
pub(super) struct Meeting {
    /// Folder that all sites read and write; an empty one for each time.
    #[arg(long, value_name = "DIR", requires = "name", requires = "sites")]
    exchange: Option<PathBuf>,

    /// Name of this site.
    #[arg(long, requires = "exchange")]
    name: Option<String>,

    /// Names of all sites.
    #[arg(long, value_name = "NAMES", value_delimiter = ',', requires = "exchange")]
    sites: Vec<String>,

    /// How long to wait for the other sites, such as 30s, 10m or 2h.
    #[arg(long, value_name = "TIME", default_value = "10m", requires = "exchange", value_parser = sites::time)]
    timeout: Duration,

    /// Go on without a site that is missing for that long; the first site by name decides. All sites
    /// must say so.
    #[arg(long, requires = "exchange")]
    without_missing: bool,

    /// Fingerprints of keys, as A=0123-4567-89ab-cdef,B=…, or a file with one a line. Another key is
    /// refused, and nothing is spent.
    #[arg(long, value_name = "KEYS", requires = "exchange")]
    trust: Option<String>,

    /// Let all sites add one noise together, and hide what each sends under masks that cancel in the sum.
    /// All sites must say so, and each must --trust the keys of the others.
    #[arg(long, requires = "exchange", conflicts_with = "without_missing")]
    one_noise: bool,

    /// How many sites may put together what they know without breaking a guarantee.
    #[arg(long, value_name = "N", default_value_t = 1, requires = "one_noise")]
    may_collude: usize,
}

impl SiteCommand {
    pub fn execute(self) -> Result<()> {
        let mut run = self.run;
        run.place = self.meeting.place()?;
        run.execute()
    }
}

impl Meeting {
    /// The place, if an exchange folder is named.
    pub(super) fn place(&self) -> Result<Option<Place>> {
        let (Some(folder), Some(name)) = (&self.exchange, &self.name) else { return Ok(None) };
        let place = Place {
            trusted: self.trust.as_deref().map_or_else(|| Ok(BTreeMap::new()), sites::trusted)?,
            folder: std::path::absolute(folder).unwrap_or_else(|_| folder.clone()),
            name: name.clone(),
            sites: self.sites.clone(),
            timeout: self.timeout,
            without_missing: self.without_missing,
            may_collude: self.one_noise.then_some(self.may_collude),
        };
        sites::checked(place).map(Some)
    }
}

/// Says who takes part, before the run waits for the others.
pub(super) fn announce(place: &Place, workspace: &Workspace) -> Result<()> {
    messages::tell(sites::announcement(place, workspace)?);
    sites::check_trust(place, workspace)
}
