//! The plots of a report: what changed over the steps, what was spent, and of several runs
//! what utility each ε bought.

use super::{Report, Reported};
use crate::adapt::Series as Measured;
use crate::plot::{Figure, Mark, Panel, Point, Series, Side};
use crate::privacy::Watch;
use crate::session::archive::last;

/// More curves than this in one plot cannot be told apart.
pub(super) const MOST_CURVES: usize = 7;
/// More points than this nobody can see.
const MOST_POINTS: usize = 600;
/// A curve that falls to less than this share of its largest value needs a log axis.
const WIDE: f64 = 30.0;

/// Series that belong in one plot.
const GROUPS: [(&str, &str, &[Measured]); 7] = [
    (
        "Error on records held out",
        "root mean squared error in label units, or share of wrong classes",
        &[Measured::PublicError, Measured::PrivateError],
    ),
    ("Objective", "what the method minimises", &[Measured::Objective, Measured::ExactObjective]),
    ("Loss of the training records", "mean loss", &[Measured::PublicLoss, Measured::PrivateLoss]),
    (
        "Stationarity gap",
        "distance from a point that no step improves",
        &[Measured::StationarityGap, Measured::ExactStationarityGap, Measured::ModelGap],
    ),
    (
        "Moment discrepancy",
        "spectral norm of the weighted moment difference",
        &[Measured::MomentDiscrepancy, Measured::ExactMomentDiscrepancy],
    ),
    ("Effective sample", "public records that count", &[Measured::EffectiveSample]),
    ("Weight on public records", "share of the total weight", &[Measured::PublicWeight]),
];

/// All plots for which there are numbers.
pub(super) fn figures(report: &Report) -> Vec<Figure> {
    let shown = &report.runs[..report.runs.len().min(MOST_CURVES)];
    let groups = GROUPS.iter().map(|(title, label, series)| {
        let mut curves = curves(shown, series, &report.watch);
        // The title of the plot says what the one curve of one run is.
        if let ([_], [only]) = (shown, curves.as_mut_slice())
            && !only.name.ends_with('◆')
        {
            only.name.clear();
        }
        over_steps(title, label, curves)
    });
    utility(report)
        .into_iter()
        .chain(groups)
        .chain([spent(shown)])
        .filter(|figure| figure.panels.iter().any(|panel| !panel.series.is_empty()))
        .collect()
}

fn curves(runs: &[Reported], wanted: &[Measured], watch: &Watch) -> Vec<Series> {
    let mut curves = Vec::new();
    for reported in runs {
        let exact = reported.run.exact.as_ref().and_then(|exact| exact.reveal(watch));
        for series in wanted {
            let released = reported.run.curves.get(series).map(|points| (points, ""));
            let exact = exact.and_then(|exact| exact.get(series)).map(|points| (points, " ◆"));
            for (points, standing) in released.into_iter().chain(exact) {
                let name = name(reported, series.words(), wanted.len() > 1);
                curves.push(curve(&format!("{name}{standing}"), points));
            }
        }
    }
    curves
}

/// One run is named by what is measured, one of several by its letter first.
fn name(reported: &Reported, measured: &str, ambiguous: bool) -> String {
    match (reported.letter.as_str(), ambiguous) {
        ("", _) => measured.to_owned(),
        (letter, true) => format!("{letter} · {measured}"),
        (letter, false) => letter.to_owned(),
    }
}

fn curve(name: &str, points: &[(f64, f64)]) -> Series {
    let every = points.len().div_ceil(MOST_POINTS).max(1);
    let last = points.len().saturating_sub(1);
    let kept = points.iter().enumerate();
    let kept = kept.filter(|(at, _)| at.is_multiple_of(every) || *at == last);
    let points: Vec<Point> = kept.map(|(_, &(x, y))| Point::new(x, y)).collect();
    // A single point has no line.
    let mark = if points.len() > 1 { Mark::Curve } else { Mark::Points };
    Series { name: name.to_owned(), mark, points }
}

fn over_steps(title: &str, label: &str, series: Vec<Series>) -> Figure {
    let values = series.iter().flat_map(|series| &series.points).map(|point| point.y);
    let (low, high) =
        values.fold((f64::INFINITY, 0.0_f64), |(low, high), y| (low.min(y), high.max(y)));
    let wide = low > 0.0 && high > WIDE * low;
    figure(title, if wide { Side::log(label) } else { Side::linear(label) }, "step", series)
}

fn figure(title: &str, vertical: Side, horizontal: &str, series: Vec<Series>) -> Figure {
    Figure {
        title: title.to_owned(),
        note: String::new(),
        vertical,
        panels: vec![Panel { title: String::new(), horizontal: Side::linear(horizontal), series }],
    }
}

/// ε after every step, and what was allowed.
fn spent(runs: &[Reported]) -> Figure {
    let mut series: Vec<Series> = Vec::new();
    let mut targets: Vec<f64> = Vec::new();
    let mut longest = 1.0_f64;
    for reported in runs.iter().filter(|reported| !reported.run.epsilon.is_empty()) {
        // Before its first step a run has spent nothing.
        let points = [&[(0.0, 0.0)], reported.run.epsilon.as_slice()].concat();
        series.push(curve(&name(reported, "spent", false), &points));
        longest = points.last().map_or(longest, |(step, _)| longest.max(*step));
        let target = reported.run.plan.as_ref().map(|plan| plan.target.epsilon);
        targets.extend(target.filter(|target| !targets.contains(target)));
    }
    // Many targets are a fan of lines that nobody can read.
    for target in targets.iter().filter(|_| targets.len() <= 3) {
        series.push(Series {
            name: format!("allowed: {target}"),
            mark: Mark::Level,
            points: [0.0, longest].map(|step| Point::new(step, *target)).to_vec(),
        });
    }
    figure("Privacy spent", Side::linear("ε so far"), "step", series)
}

/// The last error against ε, one series per method; runs that differ by chance alone are
/// one point with its spread.
fn utility(report: &Report) -> Option<Figure> {
    if report.runs.len() < 2 {
        return None;
    }
    let mut found: Vec<(String, f64, f64)> = Vec::new();
    for reported in &report.runs {
        let Some(plan) = &reported.run.plan else { continue };
        let Some(guarantee) = reported.run.guarantee else { continue };
        for (series, standing) in [(Measured::PublicError, ""), (Measured::PrivateError, " ◆")] {
            if let Some(error) = last(&reported.run, series, &report.watch) {
                let words = series.words().replace(" error", " records");
                let name = if report.is_curators() {
                    format!("{}, {words}{standing}", plan.method)
                } else {
                    plan.method.clone()
                };
                found.push((name, guarantee.epsilon, error));
            }
        }
    }
    let mut series: Vec<Series> = Vec::new();
    let mut names: Vec<&String> = found.iter().map(|(name, ..)| name).collect();
    names.sort_unstable();
    names.dedup();
    for name in names {
        let mut of_it: Vec<(f64, f64)> =
            found.iter().filter(|(other, ..)| other == name).map(|(_, x, y)| (*x, *y)).collect();
        of_it.sort_by(|a, b| a.0.total_cmp(&b.0));
        let points: Vec<Point> = of_it
            .chunk_by(|a, b| (a.0 - b.0).abs() <= 1e-3 * b.0)
            .map(|alike| {
                let errors: Vec<f64> = alike.iter().map(|(_, y)| *y).collect();
                let (mean, spread) = mean_and_deviation(&errors);
                Point { spread, ..Point::new(alike[0].0, mean) }
            })
            .collect();
        let mark = if points.len() > 1 { Mark::Line } else { Mark::Points };
        series.push(Series { name: name.clone(), mark, points });
    }
    let xs = series.iter().flat_map(|series| &series.points).map(|point| point.x);
    let (low, high) = xs.fold((f64::INFINITY, 0.0_f64), |(low, high), x| (low.min(x), high.max(x)));
    let mut figure = figure(
        "Utility against ε",
        Side::linear("last error on records held out"),
        "ε of the run",
        series,
    );
    if low > 0.0 && high > 8.0 * low {
        figure.panels[0].horizontal = Side::log("ε of the run");
    }
    let repeated =
        figure.panels[0].series.iter().flat_map(|s| &s.points).any(|point| point.spread.is_some());
    if repeated {
        "runs of equal ε: mean ± standard deviation".clone_into(&mut figure.note);
    }
    Some(figure)
}

/// The spread of a single number is unknown.
fn mean_and_deviation(values: &[f64]) -> (f64, Option<f64>) {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    if values.len() < 2 {
        return (mean, None);
    }
    let squares = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
    (mean, Some((squares / (count - 1.0)).sqrt()))
}
