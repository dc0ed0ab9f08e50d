//! Measurements that others can repeat: every release and its noise, on public data in the private
//! role, compared with the claims about them.
//!
//! | module | asks |
//! |---|---|
//! | [`subject`] | what is audited: every method, on synthetic data or on a session's public data |
//! | [`neighbours`] | the records of a hostile neighbour |
//! | [`sensitivity`] | same noise, same history: how far does one record move each exact query, relative to the announced sensitivity? Does anything but the releases depend on the data? |
//! | [`noise`] | is the noise drawn the noise accounted for? |
//! | [`canary`] | which lower bound on ε do many runs, or one, show? |
//!
//! Nothing here touches private data or a ledger. Tests plant faults
//! ([`halflight_base::faults`]) that the audit must find.

pub mod canary;
pub mod neighbours;
pub mod noise;
pub mod page;
pub mod sensitivity;
pub mod subject;

use serde::Serialize;

use crate::error::Result;
pub use canary::Shown;
pub use sensitivity::Moved;
pub use subject::Subject;

/// The amount of work of an audit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Effort {
    /// The most rehearsals of each subject for testing its noise.
    pub rehearsals: u64,
    /// Runs with and without the canary; 0 for none.
    pub canaries: usize,
}

impl Effort {
    pub const CORNER: Self = Self { rehearsals: 40, canaries: 0 };
    pub const QUICK: Self = Self { rehearsals: 60, canaries: 200 };
    pub const WHOLE: Self = Self { rehearsals: 200, canaries: 1000 };
}

/// The results for one subject.
#[derive(Debug, Clone, Serialize)]
pub struct Audited {
    pub subject: String,
    /// The proven ε of its plan.
    pub claimed: f64,
    pub delta: f64,
    pub releases: Vec<Moved>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shown: Option<Shown>,
    /// The problems in words; empty if there are none.
    pub findings: Vec<String>,
}

/// Audits one subject. A failure of the audit is also a finding.
pub fn audit(subject: &Subject, effort: Effort) -> Audited {
    let guarantee = &subject.calibrated.guarantee();
    let mut audited = Audited {
        subject: subject.name.clone(),
        claimed: guarantee.epsilon,
        delta: guarantee.delta,
        releases: Vec::new(),
        shown: None,
        findings: Vec::new(),
    };
    if let Err(error) = look(subject, effort, &mut audited) {
        audited.findings.push(format!("it does not run as planned: {}", error.what()));
    }
    audited
}

fn look(subject: &Subject, effort: Effort, audited: &mut Audited) -> Result<()> {
    audited.releases = sensitivity::measure(subject, &mut audited.findings)?;
    noise::check(subject, effort.rehearsals, &mut audited.findings)?;
    if effort.canaries > 0 {
        let shown = canary::show(subject, effort.canaries)?;
        let highest = shown.many_runs.max(shown.one_run);
        if highest > audited.claimed {
            audited.findings.push(format!(
                "runs show an ε of at least {highest:.3} where {:.3} is claimed",
                audited.claimed
            ));
        }
        audited.shown = Some(shown);
    }
    Ok(())
}
