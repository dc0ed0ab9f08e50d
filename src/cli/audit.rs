//! `halflight audit`: measures what is claimed.

use std::path::PathBuf;

use clap::Args;
use serde_json::json;

use super::progress::ProgressLine;
use super::{messages, print_result, signals};
use crate::audit::{Audited, Effort, Subject, audit, page::page, subject};
use crate::data::table::seeded;
use crate::data::{Preparation, selection};
use crate::error::{Error, Result};
use crate::files;
use crate::methods;
use crate::session::named::{self, OwnKind, Replace};
use crate::session::{Session, Workspace, dataset};

/// Test whether the methods keep what they claim, on public data in the private role.
///
/// For every release it measures how far one hostile record moves it, compared with what was
/// announced, and whether its noise is what was accounted for. Runs with canaries show how large
/// ε is at least, beside the ε that is claimed. With a session, the methods get its public data and the settings of its
/// plan. No private file is opened and no ledger is touched.
///
/// The exit code is 1 if something exceeds its claim.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  halflight audit --quick
  halflight audit --method dp_sgd --method gep --json
  halflight audit --method moment_release --runs 10000
  halflight audit session.ron --plan first --page audit.html")]
pub struct Audit {
    /// Session whose public data and plan are used [default: synthetic data and every method].
    session: Option<PathBuf>,

    /// The plan of the session [default: the first].
    #[arg(long, requires = "session")]
    plan: Option<String>,

    /// Only this method; may be given more than once.
    #[arg(long, value_name = "ID")]
    method: Vec<String>,

    /// A quick audit, which takes two minutes at most.
    #[arg(long)]
    quick: bool,

    /// Check only sensitivities and noise, without canaries.
    #[arg(long)]
    no_canaries: bool,

    /// Runs with a canary, and as many without: more of them show more of ε, and take longer.
    #[arg(long, value_name = "COUNT", conflicts_with = "no_canaries",
          value_parser = clap::value_parser!(u32).range(20..=1_000_000))]
    runs: Option<u32>,

    /// Print JSON.
    #[arg(long)]
    json: bool,

    /// Write a page (HTML) to this file.
    #[arg(long, value_name = "FILE")]
    page: Option<PathBuf>,
}

impl Audit {
    pub fn execute(&self) -> Result<()> {
        if let Some(page) = &self.page {
            named::check(page, Replace::Own(OwnKind::Audit), &[])?;
        }
        let interrupted = signals::on_first(|| ())?;
        let subjects = match &self.session {
            Some(path) => self.of_session(path)?,
            None => subject::built_in(&self.method, !self.no_canaries)?,
        };
        let mut effort = if self.quick { Effort::QUICK } else { Effort::WHOLE };
        if let Some(canaries) = self.runs.or(self.no_canaries.then_some(0)) {
            effort.canaries = canaries as usize;
        }
        let mut progress = ProgressLine::new("auditing", subjects.len());
        let mut audits = Vec::new();
        for (index, subject) in subjects.iter().enumerate() {
            progress.tell_with(index, &format!(", {}", subject.name));
            audits.push(audit(subject, effort));
            if interrupted.load(std::sync::atomic::Ordering::Relaxed) {
                return Err(Error::interrupted("the audit was stopped"));
            }
        }
        progress.tell(subjects.len());
        drop(progress);
        if let Some(file) = &self.page {
            files::write(file, page(&audits).as_bytes())?;
            messages::tell(format_args!("page: {}", file.display()));
        }
        let wrong = audits.iter().filter(|audited| !audited.findings.is_empty()).count();
        let value = || json!({ "sound": wrong == 0, "audits": audits });
        print_result(self.json, value, || as_text(&audits))?;
        if wrong > 0 {
            return Err(Error::failed(format!(
                "{wrong} of {} audits found more than is claimed",
                audits.len()
            ))
            .cure("do not rely on these methods, and report the output of this command"));
        }
        Ok(())
    }

    /// Public data of a session in both roles: half of the records act as private.
    fn of_session(&self, path: &std::path::Path) -> Result<Vec<Subject>> {
        let session = Session::open(path)?;
        let workspace = Workspace::of_session(path)?;
        let plan = match &self.plan {
            Some(name) => session.plans.iter().find(|plan| plan.name == *name),
            None => session.plans.first(),
        };
        let plan = plan.ok_or_else(|| {
            let known: Vec<_> = session.plans.iter().map(|plan| plan.name.as_str()).collect();
            Error::usage("the session has no such plan")
                .cure(format!("its plans are: {}", known.join(", ")))
        })?;
        let name = plan.public.first().map_or("", String::as_str);
        let definition = session.datasets.iter().find(|dataset| dataset.name == name);
        let definition = definition
            .ok_or_else(|| Error::failed(format!("dataset '{name}' is not in the session")))?;
        let loaded = dataset::load(definition, &workspace)?;
        let (ours, theirs) = loaded.public()?.split(0.5, seeded(plan.seed))?;
        let definition = selection::resolved(definition, &ours)?;
        let preparation = Preparation::fit(&ours, &definition, &plan.preparation)?;
        let public = preparation.apply(&ours, "public", true)?;
        let private = preparation.apply(&theirs, "public in the private role", true)?;
        let wanted =
            if self.method.is_empty() { std::slice::from_ref(&plan.method) } else { &self.method };
        let subject = |id: &String| {
            let mut settings = methods::method(id)?.spec().settings_for_few_records();
            if *id == plan.method {
                // The plan's own settings, except the number of steps.
                let own = plan
                    .settings
                    .iter()
                    .filter(|(key, _)| !LENGTH_SETTINGS.contains(&key.as_str()));
                settings.extend(own.map(|(key, value)| (key.clone(), value.clone())));
            }
            let both = (public.records(0, MOST_RECORDS).into(), private.records(0, MOST_RECORDS));
            let target = (!self.no_canaries).then_some(plan.target);
            Subject::new(id, id, &settings, both, target)
        };
        wanted.iter().map(subject).collect()
    }
}

/// Settings for the length of a run. An audit takes few steps.
const LENGTH_SETTINGS: [&str; 4] = ["steps", "rounds", "iterations", "epochs"];
/// The largest number of records used from each side of a session's data.
const MOST_RECORDS: usize = 400;

fn as_text(audits: &[Audited]) -> String {
    let mut lines = vec![format!(
        "{:<34} {:<14} {:>10} {:>10} {:>10} {:>10}",
        "subject", "release", "change", "ε (many)", "ε (one)", "ε claimed"
    )];
    for audited in audits {
        let cell = |x: Option<f64>| x.map_or("-".to_owned(), |x| format!("{x:.3}"));
        let shown = audited.shown.as_ref();
        let [many, one, claimed] = [
            shown.map(|shown| shown.many_runs),
            shown.map(|shown| shown.one_run),
            Some(audited.claimed).filter(|claimed| claimed.is_finite()),
        ]
        .map(cell);
        for moved in &audited.releases {
            lines.push(format!(
                "{:<34} {:<14} {:>10.4} {many:>10} {one:>10} {claimed:>10}",
                audited.subject, moved.release, moved.largest
            ));
        }
        lines.extend(audited.findings.iter().map(|finding| format!("  ! {finding}")));
    }
    lines.join("\n")
}
