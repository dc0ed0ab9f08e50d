//! The results that rehearsals predicted for each method: curves over ε, and the numbers.

use std::path::Path;

use maud::{Markup, PreEscaped, html};

use super::figures::{self, series};
use super::page::{NONE, table};
use super::{Report, Reported, once};
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

/// The title of a plan that ran, and what is said about it.
type OfPlan = Option<(String, Vec<String>)>;

fn further(of: &OfPlan) -> &[String] {
    of.as_ref().map_or(&[], |(_, further)| further.as_slice())
}

/// What was promised of each plan that ran, and the rehearsal behind it, once for all runs that it
/// is of. The certificate has the promise; that of another method is nowhere.
pub(super) fn html(report: &Report) -> Markup {
    let told = report.runs.iter().filter_map(|it| {
        let promise = it.certificate.as_ref().and_then(|it| it.rehearsed.as_deref());
        let of_plan = it.rehearsal.as_ref().zip(it.plan()).map(|(advice, plan)| {
            let epsilon = plan.target.epsilon;
            (plan.player().title(), advice.beside_plan(&plan.player(), epsilon))
        });
        let of = (promise, of_plan);
        (promise.is_some() || of.1.is_some()).then_some((it.rehearsal.as_ref(), of, it))
    });
    let told: Vec<_> = told.collect();
    let is_told = |run: &&Reported| told.iter().any(|(.., other)| other.letter == run.letter);
    // Runs at several ε have advice for each from the same trials.
    let trials = |advice: Option<&Advice>| advice.map(|it| it.curves(usize::MAX));
    let rehearsals = once(told.iter().map(|(advice, _, run)| (trials(*advice), *run)));
    let others = report.runs.iter().filter(|run| !told.is_empty() && !is_told(run));
    let others: Vec<&str> = others.map(|run| run.letter.as_str()).collect();
    html! {
        @for (rehearsal, _) in &rehearsals {
            @let of_runs = told.iter().filter(|(advice, ..)| trials(*advice) == *rehearsal);
            @let advice = of_runs.clone().find_map(|(advice, ..)| *advice);
            @let of_runs = once(of_runs.map(|(_, of, run)| (of, *run)));
            @let is_of_all = |it: &String| of_runs.iter().all(|((_, of), _)| further(of).contains(it));
            @for ((promise, of_plan), letters) in &of_runs {
                @if report.has_several() { p { (if letters.len() > 1 { "Runs " } else { "Run " }) (letters.join(", ")) } }
                p { (promise.unwrap_or("Nothing was promised of the plan that ran.")) }
                @for sentence in further(of_plan).iter().filter(|it| !is_of_all(it)) { p.note { (sentence) } }
            }
            @if let Some(advice) = advice {
                @let of_plans = of_runs.iter().filter_map(|((_, of_plan), _)| of_plan.as_ref());
                @let titles: Vec<&str> = of_plans.map(|(title, _)| title.as_str()).collect();
                figure { (PreEscaped(figure(advice).svg())) }
                (numbers(advice, &titles))
                @let first = of_runs.first().map_or(&[][..], |((_, of_plan), _)| further(of_plan));
                @for sentence in first.iter().filter(|it| is_of_all(it)) { p.note { (sentence) } }
            }
        }
        @match others.as_slice() {
            [] => {}
            [run] => p.note { "Run " (run) " has no rehearsal of its own." }
            runs => p.note { "Runs " (runs.join(", ")) " have no rehearsal of their own." }
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

/// The table of the methods; those of the plans that ran, which have these titles, are marked.
fn numbers(advice: &Advice, plans: &[&str]) -> Markup {
    let titles = advice.epsilons.iter().map(|epsilon| format!("ε {}", compact(*epsilon)));
    let header: Vec<String> = std::iter::once(String::new()).chain(titles).collect();
    let ratio = |found: Option<f64>| found.map_or(NONE.to_owned(), |it| format!("{it:.3}"));
    let of_plan = if plans.len() > 1 { "(a plan that ran)" } else { "(this plan)" };
    let is_of_plan = |title: &str| plans.contains(&title);
    let titled = |title: String| {
        if is_of_plan(&title) { format!("{title} {of_plan}") } else { title }
    };
    let rows = advice.for_table().map(|line| {
        let ratios = line.standings.iter().map(|found| ratio(found.map(|it| it.ratio)));
        std::iter::once(titled(line.player.title())).chain(ratios).collect()
    });
    // Other settings are tried at the plan's ε alone.
    let varied = advice.settings.iter().filter(|it| is_of_plan(&it.player.title())).map(|it| {
        let at = |k: usize| ratio((k == advice.at).then_some(it.standing.ratio));
        let ratios = (0..advice.epsilons.len()).map(at);
        std::iter::once(titled(it.player.title())).chain(ratios).collect()
    });
    let rows = varied.chain(rows);
    table(&header, rows)
}
