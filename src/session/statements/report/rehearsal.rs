//! The results that rehearsals predicted for each method: curves over ε, and the numbers.

use std::path::Path;

use maud::{Markup, PreEscaped, html};

use super::figures::{self, series};
use super::page::{NONE, table};
use super::{Report, once};
use crate::error::{Error, Result};
use crate::files;
use crate::plot::number::compact;
use crate::plot::{AxisSide, ChartSeries, Figure, Mark, Point};
use crate::rehearsal::Player;
use crate::rehearsal::advice::Advice;

/// The file beside the others of a rehearsed run.
const FILE: &str = "rehearsal.json";

/// Methods that the plot shows: the best ones.
const CURVES: usize = 5;

/// The advice kept in a run's directory. Somebody may have edited the file.
pub(super) fn read(directory: &Path) -> Option<Advice> {
    let text = std::fs::read(directory.join(FILE)).ok()?;
    serde_json::from_slice(&text).ok().filter(Advice::is_sound)
}

/// Keeps the advice of rehearsals on public data beside the other files of a run.
pub fn keep(directory: &Path, advice: &Advice) -> Result<()> {
    let text = serde_json::to_string(advice)
        .map_err(|error| Error::failed(format!("cannot write JSON: {error}")))?;
    files::write_private(&directory.join(FILE), text.as_bytes())
}

/// Runs with the same rehearsal appear once.
pub(super) fn html(report: &Report) -> Markup {
    let advice = report.runs.iter().filter_map(|it| Some((it.rehearsal.as_ref()?, it)));
    let told = once(advice);
    html! {
        @for (advice, letters) in &told {
            @if report.has_several() { p { "Runs " (letters.join(", ")) } }
            figure { (PreEscaped(figure(advice).svg())) }
            (numbers(advice))
            @for sentence in advice.sentences() { p.note { (sentence) } }
        }
    }
}

fn figure(advice: &Advice) -> Figure {
    let curve = |(title, points): (String, Vec<(f64, f64)>)| {
        let points = points.into_iter().map(|(epsilon, ratio)| Point::new(epsilon, ratio));
        series(&title, Mark::Line, points.collect())
    };
    let mut all: Vec<ChartSeries> = advice.curves(CURVES).into_iter().map(curve).collect();
    let ends = [advice.epsilons.first(), advice.epsilons.last()].into_iter().flatten();
    let public_alone = ends.map(|epsilon| Point::new(*epsilon, 1.0)).collect();
    all.push(series(&Player::PublicOnly.title(), Mark::Level, public_alone));
    Figure {
        note: format!("means over {} rehearsals on public data", advice.cases.len()),
        ..figures::figure(
            "Error in rehearsals, over ε",
            AxisSide::linear(&format!(
                "{}, divided by that of public data alone",
                advice.measure().words()
            )),
            AxisSide::log("ε").at(&advice.epsilons),
            all,
        )
    }
}

fn numbers(advice: &Advice) -> Markup {
    let titles = advice.epsilons.iter().map(|epsilon| format!("ε {}", compact(*epsilon)));
    let header: Vec<String> = std::iter::once(String::new()).chain(titles).collect();
    let rows = advice.sorted().map(|line| {
        let ratios = line.standings.iter();
        let ratios =
            ratios.map(|found| found.map_or(NONE.to_owned(), |it| format!("{:.3}", it.ratio)));
        std::iter::once(line.player.title()).chain(ratios).collect()
    });
    table(&header, rows)
}
