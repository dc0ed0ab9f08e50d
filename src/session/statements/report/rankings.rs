//! The rankings of the public data: bars with whiskers, a table, and the cost.

use std::path::Path;

use maud::{Markup, PreEscaped, html};

use super::page::{quoted, table};
use super::{Report, Reported};
use crate::plot::{AxisSide, ChartSeries, Figure, Mark, Panel, Point};
use crate::privacy::accountant::{delta_words, round_up};
use crate::rank::CandidateOrder;
use crate::rank::candidate_line::Mean;
use crate::ranking_record::{
    self, ArchivedFindings, ArchivedRanking, RecordedLine, RecordedTable, ReleasedRanking,
};

/// More names than this do not fit below their bars, so numbers replace them.
const MOST_NAMES: usize = 5;

/// For the private data of each of these runs, the last ranking by exact numbers and the last
/// released one, from the workspace of the run. Data of another name may be on the same account,
/// but a report must not tell that.
pub(super) fn of(runs: &[Reported]) -> Vec<ArchivedRanking> {
    let mut found: Vec<ArchivedRanking> = Vec::new();
    for reported in runs {
        let Some(certificate) = &reported.certificate else { continue };
        let Some(workspace) = workspace_of(&reported.run.directory) else { continue };
        let about = ranking_record::read(&workspace);
        let named = reported.run.plan.as_ref().map(|plan| &plan.private);
        let about = about.into_iter().filter(|ranking| {
            ranking.account == certificate.account && named == Some(&ranking.private)
        });
        for ranking in about {
            let known = found.iter().any(|other| {
                let kind = |it: &ArchivedRanking| std::mem::discriminant(&it.findings);
                other.account == ranking.account && kind(other) == kind(&ranking)
            });
            if !known {
                found.push(ranking);
            }
        }
    }
    found
}

/// `…/.halflight` of `…/.halflight/runs/RUN`.
fn workspace_of(run: &Path) -> Option<std::path::PathBuf> {
    let run = std::path::absolute(run).ok()?;
    let runs = run.parent()?;
    (runs.file_name()? == "runs").then(|| runs.parent())?.map(Path::to_path_buf)
}

pub(super) fn html(report: &Report) -> Markup {
    html! { @for ranking in &report.rankings { (one(ranking, report)) } }
}

fn one(ranking: &ArchivedRanking, report: &Report) -> Markup {
    let private = quoted(&[&ranking.private]);
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
                        (quoted(&[winner])) " was selected privately for " (private)
                    }
                    None => { "the public data were ranked privately for " (private) }
                }
                ", at "
                b {
                    "ε = " (round_up(guarantee.epsilon, 4))
                    ", δ = " (delta_words(guarantee.delta))
                }
                " (" (guarantee.adjacency.words()) "), which adds to what runs cost."
            }
            @if let Some(table) = table { (shown(table, "")) }
        },
    }
}

/// The plot and the table below it.
fn shown(found: &RecordedTable, standing: &str) -> Markup {
    let number = |order: CandidateOrder, mean: Option<Mean>| {
        mean.map_or_else(|| "–".to_owned(), |mean| mean.told_by(order))
    };
    // Empty columns are not shown.
    let mut orders = vec![CandidateOrder::Error, CandidateOrder::Energy, CandidateOrder::Distance];
    orders.retain(|order| found.lines.iter().any(|line| score_of(*order)(line).is_some()));
    let scores: Vec<_> = orders.iter().map(|order| score_of(*order)).collect();
    let rows = found.lines.iter().enumerate().map(|(index, line)| {
        let place = (index + 1).to_string();
        let verdict = line.verdict.clone();
        let scores = orders.iter().zip(&scores).map(|(order, score)| number(*order, score(line)));
        [place, line.name.clone()].into_iter().chain(scores).chain([verdict]).collect()
    });
    let rows: Vec<Vec<String>> = rows.collect();
    let names = orders.iter().map(|order| format!("{}{standing}", order.words()));
    let header: Vec<String> = ["", "public data"]
        .map(str::to_owned)
        .into_iter()
        .chain(names)
        .chain(["in words".to_owned()])
        .collect();
    let header: Vec<&str> = header.iter().map(String::as_str).collect();
    html! {
        figure { (PreEscaped(figure(found, standing).svg())) }
        (table(&header, &rows))
        @if !found.verdict.is_empty() { p.note { (found.verdict) } }
    }
}

fn score_of(order: CandidateOrder) -> fn(&RecordedLine) -> Option<Mean> {
    match order {
        CandidateOrder::Energy => |line| line.energy,
        CandidateOrder::Distance => |line| line.distance,
        CandidateOrder::Error => |line| line.error,
    }
}

fn figure(found: &RecordedTable, standing: &str) -> Figure {
    let score = score_of(found.order);
    let whiskered =
        |x: f64, mean: Mean| Point { spread: Some(mean.deviation), ..Point::new(x, mean.mean) };
    let bars = found.lines.iter().enumerate();
    let bars = bars.filter_map(|(place, line)| Some(whiskered(place as f64, score(line)?)));
    let mut series =
        vec![ChartSeries { name: String::new(), mark: Mark::Bars, points: bars.collect() }];
    let ends = [-0.5, found.lines.len() as f64 - 0.5];
    for (name, reference) in [("more private data", found.floor), ("noise", found.ceiling)] {
        let Some((energy, distance)) = reference else { continue };
        let mean = match found.order {
            CandidateOrder::Energy => energy.mean,
            CandidateOrder::Distance => distance.mean,
            CandidateOrder::Error => continue,
        };
        series.push(ChartSeries {
            name: name.to_owned(),
            mark: Mark::Level,
            points: ends.map(|x| Point::new(x, mean)).to_vec(),
        });
    }
    let names: Vec<&str> = found.lines.iter().map(|line| line.name.as_str()).collect();
    let numbers: Vec<String> = (1..=names.len()).map(|place| place.to_string()).collect();
    let horizontal = if names.len() <= MOST_NAMES {
        AxisSide::named("", &names)
    } else {
        AxisSide::named("place", &numbers.iter().map(String::as_str).collect::<Vec<_>>())
    };
    let words = found.order.words();
    Figure {
        title: format!("Public data by {words}{standing}"),
        note: if found.floor.is_some() && found.order == CandidateOrder::Error {
            "mean ± its standard error over the private records".to_owned()
        } else if found.floor.is_some() {
            "mean ± standard deviation over the repeats".to_owned()
        } else {
            "± shows the noise".to_owned()
        },
        vertical: AxisSide::linear(words).in_percent(found.order == CandidateOrder::Error),
        panels: vec![Panel { title: String::new(), horizontal, series }],
    }
}
