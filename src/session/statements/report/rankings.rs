//! The rankings of the public data: bars with whiskers, a table, and the cost.

use std::path::Path;

use maud::{Markup, PreEscaped, html};

use super::figures::{self, series};
use super::page::{NONE, quoted, table};
use super::{Report, Reported};
use crate::plot::{AxisSide, Figure, Mark, Point};
use crate::privacy::accountant::{delta_words, round_up};
use crate::rank::CandidateOrder;
use crate::rank::candidate_line::Estimate;
use crate::store::ranking_record::{
    self, ArchivedFindings, ArchivedRanking, RecordedLine, RecordedTable, ReleasedRanking,
};

/// More names than this do not fit below their bars, so numbers replace them.
const MOST_NAMES: usize = 5;

/// For the private data of each of these runs, the last ranking by exact numbers and the last
/// released one, from the workspace of the run. Data of another name may be on the same account,
/// but a report must not tell that.
pub(super) fn of(runs: &[Reported]) -> Vec<ArchivedRanking> {
    let mut found: Vec<ArchivedRanking> = Vec::new();
    let kind = |it: &ArchivedRanking| std::mem::discriminant(&it.findings);
    for reported in runs {
        let Some(certificate) = &reported.certificate else { continue };
        let Some(workspace) = workspace_of(&reported.run.directory) else { continue };
        let named = reported.plan().map(|plan| &plan.private);
        for ranking in ranking_record::read(&workspace) {
            let is_about = ranking.header.account == certificate.account
                && named == Some(&ranking.header.private);
            let is_known = found.iter().any(|other| {
                other.header.account == ranking.header.account && kind(other) == kind(&ranking)
            });
            if is_about && !is_known {
                found.push(ranking);
            }
        }
    }
    found
}

/// `…/.halflight` of `…/.halflight/runs/RUN`.
pub(super) fn workspace_of(run: &Path) -> Option<std::path::PathBuf> {
    let run = std::path::absolute(run).ok()?;
    let runs = run.parent()?;
    (runs.file_name()? == "runs").then(|| runs.parent())?.map(Path::to_path_buf)
}

/// What the rankings say, in the words of the Rank screen.
pub(super) fn verdicts(report: &Report) -> Markup {
    let said = report.rankings.iter().filter_map(|ranking| match &ranking.findings {
        ArchivedFindings::Exact(table) => {
            Some((table.reveal(&report.watch)?.verdict.clone(), " ◆", "exact"))
        }
        ArchivedFindings::Released(found) => {
            let first = found.table.as_ref().and_then(|table| table.lines.first());
            let best = found.winner.as_ref().or(first.map(|line| &line.name))?;
            // How sure that is.
            let sure = first.map_or("", |line| line.verdict.as_str());
            let said =
                if sure.is_empty() { format!("use {best}") } else { format!("{best} is {sure}") };
            Some((said, "", ""))
        }
    });
    html! {
        @for (verdict, mark, class) in said {
            p.(class) { b { "The ranking of the public data: " } (verdict) "." (mark) }
        }
    }
}

pub(super) fn html(report: &Report) -> Markup {
    html! { @for ranking in &report.rankings { (one(ranking, report)) } }
}

fn one(ranking: &ArchivedRanking, report: &Report) -> Markup {
    let private = quoted([&ranking.header.private]);
    match &ranking.findings {
        ArchivedFindings::Exact(table) => html! {
            p {
                "On " (ranking.time) " UTC the public data were ranked by exact numbers of "
                (private) ". No guarantee covers a choice of data by such a ranking."
            }
            @if let Some(table) = table.reveal(&report.watch) { (shown(table, " ◆")) }
        },
        ArchivedFindings::Released(ReleasedRanking { guarantee, winner, table }) => html! {
            p {
                "On " (ranking.time) " UTC "
                @match winner {
                    Some(winner) => {
                        (quoted([winner])) " was selected privately for " (private)
                    }
                    None => { "the public data were ranked privately for " (private) }
                }
                @if !ranking.header.sites.is_empty() {
                    " and the records of other sites (" (ranking.header.sites.join(", ")) ")"
                }
                ", at "
                b {
                    "ε = " (round_up(guarantee.epsilon, 4))
                    ", δ = " (delta_words(guarantee.delta))
                }
                " (" (guarantee.adjacency.words()) ")" (ranking.header.condition())
                "; it adds to what runs cost."
            }
            @if let Some(table) = table { (shown(table, "")) }
        },
    }
}

/// The plot and the table below it.
fn shown(found: &RecordedTable, standing: &str) -> Markup {
    // Empty columns are not shown.
    let mut orders = vec![CandidateOrder::Error, CandidateOrder::Energy, CandidateOrder::Distance];
    orders.retain(|order| found.lines.iter().any(|line| score_of(found, *order, line).is_some()));
    let rows = found.lines.iter().enumerate().map(|(index, line)| {
        let scores = orders.iter().map(|order| {
            score_of(found, *order, line)
                .map_or_else(|| NONE.to_owned(), |it| it.text_by(*order, found.in_label_units))
        });
        let place = [(index + 1).to_string(), line.name.clone()];
        place.into_iter().chain(scores).chain([line.verdict.clone()]).collect()
    });
    let names = orders.iter().map(|order| format!("{}{standing}", order.words()));
    let header = ["", "public data"].map(str::to_owned).into_iter().chain(names);
    let header: Vec<String> = header.chain(["in words".to_owned()]).collect();
    html! {
        figure { (PreEscaped(figure(found, standing).svg())) }
        (table(&header, rows))
        @if !found.verdict.is_empty() { p.note { (found.verdict) } }
    }
}

/// The score of this order with its 95 % range; without one for repeats of an unknown number.
fn score_of(found: &RecordedTable, order: CandidateOrder, line: &RecordedLine) -> Option<Estimate> {
    let score = match order {
        CandidateOrder::Energy => line.energy,
        CandidateOrder::Distance => line.distance,
        CandidateOrder::Error => line.error,
    };
    let is_of_repeats = found.ceiling.is_some() && order != CandidateOrder::Error;
    score.map(|it| if is_of_repeats { it.over(found.repeats) } else { it.estimate() })
}

fn figure(found: &RecordedTable, standing: &str) -> Figure {
    let whiskered = |x: f64, Estimate { value, half_width }: Estimate| {
        let spread = Some(half_width).filter(|it| it.is_finite());
        Point { spread, ..Point::new(x, value) }
    };
    let bars = found.lines.iter().enumerate().filter_map(|(place, line)| {
        Some(whiskered(place as f64, score_of(found, found.order, line)?))
    });
    let mut all = vec![series("", Mark::Bars, bars.collect())];
    let ends = [-0.5, found.lines.len() as f64 - 0.5];
    for (name, reference) in [("more private data", found.floor), ("noise", found.ceiling)] {
        let Some((energy, distance)) = reference else { continue };
        let mean = match found.order {
            CandidateOrder::Energy => energy.mean,
            CandidateOrder::Distance => distance.mean,
            CandidateOrder::Error => continue,
        };
        all.push(series(name, Mark::Level, ends.map(|x| Point::new(x, mean)).to_vec()));
    }
    let names: Vec<&str> = found.lines.iter().map(|line| line.name.as_str()).collect();
    let numbers: Vec<String> = (1..=names.len()).map(|place| place.to_string()).collect();
    let horizontal = if names.len() <= MOST_NAMES {
        AxisSide::named("", &names)
    } else {
        AxisSide::named("place", &numbers.iter().map(String::as_str).collect::<Vec<_>>())
    };
    let (words, is_error) = (found.order.words(), found.order == CandidateOrder::Error);
    let note = match (found.ceiling, is_error) {
        (Some(_), true) => "± 95 %: other private records",
        (Some(_), false) => "± 95 %: other repeats",
        (None, _) => "± 95 % of the noise",
    };
    let title = format!("Public data by {words}{standing}");
    let is_share = is_error && !found.in_label_units;
    let vertical = AxisSide::linear(words).in_percent(is_share);
    Figure { note: note.to_owned(), ..figures::figure(&title, vertical, horizontal, all) }
}
