//! A ranking that the interface follows.

use std::time::Duration;

use crate::data::DatasetDefinition;
use crate::engine::Control;
use crate::engine::ranking::{Findings, RankingProgress, RankingSummary};
use crate::engine::worker::{JobEvent, JobId, RankingEvent};
use crate::error::{Error, Result};
use crate::privacy::accountant::{delta_words, round_up};
use crate::privacy::{CuratorOnly, Guarantee, Watch};
use crate::rank::Disclosed;
use crate::rank::comparison::Comparison;
use crate::session::Session;
use crate::session::ranking_record::{ArchivedRanking, WholeRanking};

#[derive(Debug, Default)]
pub struct LiveRanking {
    pub work: Option<RankingWork>,
    /// The result with exact numbers, for the curator.
    pub exact: Option<Box<CuratorOnly<Comparison>>>,
    /// The result of a private ranking.
    pub released: Option<(Disclosed, Guarantee)>,
    pub remarks: Vec<String>,
    pub left_out: Vec<(String, Error)>,
    /// When and how the shown results were made, if that was before the session was opened.
    pub saved: Option<String>,
    /// The datasets of which the shown exact result is, if it was made since the session was opened.
    pub of: Option<Vec<DatasetDefinition>>,
    /// The session for which a ranking was timed, and the time once it is known.
    pub timed: Option<(Box<Session>, Option<Duration>)>,
    /// The number of started rankings, which is the id of the last one.
    pub started: JobId,
}

/// A ranking under way.
#[derive(Debug)]
pub struct RankingWork {
    pub id: JobId,
    pub control: Control,
    pub done: usize,
    pub total: usize,
    pub words: String,
    pub privately: bool,
    /// Whether the data are prepared; a private ranking then has its grant.
    pub begun: bool,
}

/// The datasets of a session as a ranking reads them.
pub fn ranked(session: &Session) -> Vec<DatasetDefinition> {
    let mut datasets = session.datasets.clone();
    for dataset in &mut datasets {
        dataset.guessed.clear();
    }
    datasets
}

impl LiveRanking {
    /// The exact table, if it may be seen.
    pub fn exact<'a>(&'a self, watch: &Watch) -> Option<&'a Comparison> {
        self.exact.as_ref().and_then(|comparison| comparison.reveal(watch))
    }

    /// Shows the last results of earlier rankings of datasets that the session has, unless there are
    /// new ones.
    pub fn show_again(
        &mut self,
        mut rankings: Vec<ArchivedRanking>,
        session: &Session,
        watch: &Watch,
    ) {
        if !self.is_empty() || self.work.is_some() {
            return;
        }
        let (now, known) = (&session.ranking, session.ranking.public_names(session));
        rankings.retain(|ranking| {
            ranking.names(watch).is_none_or(|names| names.iter().all(|name| known.contains(name)))
        });
        let mut said = Vec::new();
        for ArchivedRanking { time, header, whole, .. } in rankings {
            let condition = header.condition();
            let kind = match whole {
                Some(WholeRanking::Exact(comparison)) if self.exact.is_none() => {
                    self.exact = Some(comparison);
                    "by exact numbers"
                }
                Some(WholeRanking::Released(disclosed, guarantee)) if self.released.is_none() => {
                    self.released = Some((disclosed, guarantee));
                    "released"
                }
                _ => continue,
            };
            let other = header.settings.is_some_and(|it| it != *now);
            let other = if other { ", with other settings than now" } else { "" };
            let sites = match header.sites.as_slice() {
                [] => String::new(),
                others => format!(", with the records of other sites ({}), too", others.join(", ")),
            };
            said.push(format!("{kind}, of {time} UTC{sites}{other}{condition}"));
        }
        if !said.is_empty() {
            self.saved = Some(format!("Saved ranking: {}.", said.join("; ")));
        }
    }

    /// Whether the session's datasets are others than those that were ranked.
    pub fn is_of_other_data(&self, session: &Session) -> bool {
        self.of.as_ref().is_some_and(|of| *of != ranked(session))
    }

    /// Whether there is anything to show.
    pub fn is_empty(&self) -> bool {
        self.exact.is_none() && self.released.is_none()
    }

    /// Stops the current ranking. A ranking with exact numbers ends at once, with the repeats so
    /// far, because it has nothing to settle.
    pub fn stop(&mut self) {
        if let Some(work) = &self.work {
            work.control.stop();
        }
        self.work.take_if(|work| !work.privately);
    }

    /// Processes an event of the ranking. Returns a line for the user when it has ended.
    pub fn hear(
        &mut self,
        id: JobId,
        event: RankingEvent,
        watch: &Watch,
    ) -> Option<Result<String>> {
        if self.work.as_ref().is_none_or(|work| work.id != id) {
            return None;
        }
        match event {
            // The interface ranks for one site alone.
            JobEvent::Progress(RankingProgress::Sites(_)) => None,
            JobEvent::Progress(RankingProgress::Begun { total, remarks }) => {
                self.remarks = remarks;
                if let Some(work) = &mut self.work {
                    (work.total, work.begun) = (total, true);
                }
                None
            }
            JobEvent::Progress(RankingProgress::Stepped { step, comparison }) => {
                if let Some(work) = &mut self.work {
                    (work.done, work.total, work.words) = (step.index, step.total, step.words);
                }
                if let Some(comparison) = comparison {
                    self.exact = Some(comparison);
                }
                None
            }
            JobEvent::Ended(result) => {
                self.work = None;
                Some((*result).map(|summary| self.take(summary, watch)))
            }
        }
    }

    fn take(&mut self, summary: RankingSummary, watch: &Watch) -> String {
        self.remarks = summary.remarks;
        self.left_out = summary.left_out;
        let words = match summary.findings {
            Findings::Nothing => "stopped before anything was spent".to_owned(),
            Findings::Curator(None) => "stopped before two repeats were done".to_owned(),
            Findings::Curator(Some(comparison)) => {
                let words = comparison.reveal(watch).map(|_| "ranked by exact numbers".to_owned());
                self.exact = Some(Box::new(comparison));
                words.unwrap_or_else(|| "ranked; the view is sealed".to_owned())
            }
            Findings::Private { disclosed, guarantee, .. } => {
                let what = match &disclosed {
                    Disclosed::Winner(name) => format!("use {}:", name.get()),
                    Disclosed::Errors(lines) => {
                        let best = lines.get().first().map_or("none", |line| line.name.as_str());
                        format!("use {best}: errors")
                    }
                    Disclosed::Table(_) => "table".to_owned(),
                    Disclosed::Direction(_) => "direction".to_owned(),
                };
                let price = price(&guarantee);
                self.released = Some((disclosed, guarantee));
                format!("{what} released at {price}")
            }
        };
        match summary.unkept {
            Some(error) => format!("{words}; it will be missing in reports: {error}"),
            None => words,
        }
    }
}

/// The cost of a private ranking.
pub fn price(guarantee: &Guarantee) -> String {
    format!("ε {}, δ {}", round_up(guarantee.epsilon, 4), delta_words(guarantee.delta))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;
    use crate::privacy::ledger::{AccountId, RunId};
    use crate::session::Workspace;
    use crate::session::ranking_record::{self, Header};

    #[test]
    fn a_saved_ranking_is_shown_again_as_it_was_unless_there_is_a_newer_one() {
        let open = fixtures::loaded().context.watch;
        let place = tempfile::tempdir().unwrap();
        let workspace = Workspace::fresh(place.path());
        let names = ["spring", "summer", "autumn", "airline"].map(str::to_owned).to_vec();
        let mut session = Session::default();
        session.ranking.public = names;
        let header = Header {
            account: AccountId("a".to_owned()),
            private: "winter".to_owned(),
            settings: Some(session.ranking.clone()),
            sites: Vec::new(),
            may_collude: None,
        };
        let made = fixtures::exact(fixtures::comparison());
        let id = RunId("20260101-120000-ranking-00".to_owned());
        ranking_record::keep_exact(&workspace, &id, header, &made, &open).unwrap();
        let kept = || ranking_record::read(workspace.folder());

        let mut ranking = LiveRanking::default();
        ranking.show_again(kept(), &session, &open);
        assert_eq!(ranking.exact(&open), Some(&fixtures::comparison()));
        assert_eq!(ranking.exact(&Watch::sealed()), None);
        let said = ranking.saved.clone().unwrap();
        assert!(said.contains("2026-01-01") && !said.contains("other settings"), "{said}");

        session.ranking.settings.repeats += 1;
        let mut ranking = LiveRanking::default();
        ranking.show_again(kept(), &session, &open);
        assert!(ranking.saved.is_some_and(|said| said.contains("other settings")));
        let mut newer = fixtures::comparison();
        newer.repeats = 3;
        let newer = Some(Box::new(fixtures::exact(newer)));
        let mut ranking = LiveRanking { exact: newer, ..LiveRanking::default() };
        ranking.show_again(kept(), &session, &open);
        assert_eq!((ranking.exact(&open).unwrap().repeats, ranking.saved), (3, None));

        // One that names a dataset which is not in the session is of other data.
        session.ranking.public.retain(|name| name != "summer");
        let mut ranking = LiveRanking::default();
        ranking.show_again(kept(), &session, &open);
        assert!(ranking.is_empty() && ranking.saved.is_none());
    }

    #[test]
    fn a_ranking_is_of_other_data_once_a_dataset_is_changed_and_not_when_a_guess_is_confirmed() {
        let mut session = fixtures::loaded().context.session;
        let ranking = LiveRanking { of: Some(ranked(&session)), ..LiveRanking::default() };
        assert!(!ranking.is_of_other_data(&session));
        session.datasets[1].guessed.insert(crate::data::Guessed::Label, "a reason".to_owned());
        assert!(!ranking.is_of_other_data(&session));
        session.datasets[1].columns = crate::data::Columns::Except(vec!["hr".to_owned()]);
        assert!(ranking.is_of_other_data(&session));
    }
}
