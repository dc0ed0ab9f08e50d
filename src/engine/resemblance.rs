//! How close public datasets are to a private one, according to earlier rankings.

use super::look;
use crate::error::{Error, Result};
use crate::privacy::Watch;
use crate::rank::candidate_line::Mean;
use crate::rehearsal::Miss;
use crate::session::ranking_record::{
    self, ArchivedFindings, ArchivedRanking, RecordedTable, WholeRanking,
};
use crate::session::{Loaded, PlanDefinition, Workspace};

const ADVICE_NOTE: &str = "a rehearsal weighed by exact numbers: its advice";

/// From the last released ranking with a table, which was already paid for. One of several sites is about
/// other records, too, and does not count.
pub fn released(private: &Loaded, workspace: &Workspace) -> Option<(Vec<Miss>, String)> {
    let all = rankings(private, workspace).into_iter();
    all.filter(|it| it.header.sites.is_empty()).find_map(|ranking| {
        let ArchivedFindings::Released(found) = &ranking.findings else { return None };
        let words = format!("the private ranking of {} UTC", ranking.time);
        Some((misses(found.table.as_ref()?), words))
    })
}

/// From the last ranking with exact numbers. The ledger notes that they decide something.
pub fn exact(
    private: &Loaded,
    workspace: &Workspace,
    watch: &Watch,
) -> Result<(Vec<Miss>, String)> {
    if watch.is_sealed() {
        return Err(Error::refused(
            "the view is sealed, and this ranking is made of exact numbers",
        )
        .cure("rank privately, and rehearse without --include-curator"));
    }
    let found = rankings(private, workspace).into_iter().find_map(|ranking| {
        let ArchivedFindings::Exact(table) = &ranking.findings else { return None };
        let words = format!("the exact ranking of {} UTC (◆ for the curator)", ranking.time);
        Some((misses(table.reveal(watch)?), words))
    });
    let found = found.ok_or_else(|| {
        Error::usage(format!(
            "there is no ranking of public data by exact numbers of '{}'",
            private.definition.name
        ))
        .cure("make one first (`halflight rank SESSION`), or leave --include-curator out")
    })?;
    private.register(&mut workspace.ledger()?)?;
    look::note(private, workspace, ADVICE_NOTE)?;
    Ok(found)
}

/// The rankings of the dataset's account, the newest first. No ledger is created for this.
pub fn rankings(private: &Loaded, workspace: &Workspace) -> Vec<ArchivedRanking> {
    let all = ranking_record::read(workspace.folder());
    let Some(record) = private.record.as_ref().filter(|_| !all.is_empty()) else {
        return Vec::new();
    };
    let Ok(book) = workspace.existing_ledger().and_then(|mut ledger| ledger.book()) else {
        return Vec::new();
    };
    let Some(own) = book.find(record).map(|account| &account.id) else { return Vec::new() };
    let of_it = |ranking: &ArchivedRanking| {
        book.account(&ranking.header.account).is_some_and(|account| account.id == *own)
    };
    all.into_iter().filter(of_it).collect()
}

/// What the last exact ranking of a plan's private data says against its public data, if the watch
/// allows it.
pub fn against(
    plan: &PlanDefinition,
    private: &Loaded,
    workspace: &Workspace,
    watch: &Watch,
) -> Option<String> {
    let mut exact = rankings(private, workspace).into_iter().filter_map(|it| match it.whole {
        Some(WholeRanking::Exact(comparison)) => Some(comparison),
        _ => None,
    });
    exact.next()?.reveal(watch)?.against(&plan.public)
}

/// The error of each dataset, or the energy that it does not capture.
fn misses(table: &RecordedTable) -> Vec<Miss> {
    let lines = table.lines.iter().filter_map(|line| {
        let missing = |energy: Mean| Mean { mean: 1.0 - energy.mean, ..energy };
        let Mean { mean: share, deviation } = line.error.or(line.energy.map(missing))?;
        Some(Miss { dataset: line.name.clone(), share, deviation })
    });
    lines.collect()
}
