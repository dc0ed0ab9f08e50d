//! The plots of a report: the changes over the steps, the spending, and for several runs the
//! utility at each ε.

use std::collections::BTreeSet;

use super::{Report, Reported};
use crate::data::{DatasetDefinition, Task};
use crate::methods::{self, Series as Measured};
use crate::plot::{AxisSide, ChartSeries, Figure, Mark, Panel, Point};
use crate::privacy::Watch;
use crate::rank::candidate_line::{Estimate, Mean};
use crate::rehearsal::advice::capital;
use crate::store::archive::{self, last};

/// More curves than this in one plot cannot be told apart.
pub(super) const MOST_CURVES: usize = 7;
/// Nobody can see more points than this.
const MOST_POINTS: usize = 600;
/// A curve that falls to less than this share of its largest value needs a log axis.
const WIDE: f64 = 30.0;

/// Series that belong in one plot.
const GROUPS: [(&str, &str, &[Measured]); 10] = [
    (
        "Error on records held out",
        "root mean squared error in label units",
        &[Measured::PublicError, Measured::PrivateError],
    ),
    (
        "Mean absolute error on records held out",
        "mean absolute error in label units",
        &[Measured::PublicAbsoluteError, Measured::PrivateAbsoluteError],
    ),
    (
        "Balanced accuracy on records held out",
        "mean of the right answers of each class in %",
        &[Measured::PublicBalancedAccuracy, Measured::PrivateBalancedAccuracy],
    ),
    (
        "AUC on records held out",
        "chance that two records of both classes are in order",
        &[Measured::PublicAuc, Measured::PrivateAuc],
    ),
    (
        "Objective",
        "what the method minimises",
        &[Measured::Objective, Measured::PublicObjective, Measured::ExactObjective],
    ),
    ("Loss of the training records", "mean loss", &[Measured::PublicLoss, Measured::PrivateLoss]),
    (
        "Stationarity gap",
        "distance from a point that no step improves",
        &[
            Measured::StationarityGap,
            Measured::NoiseGap,
            Measured::ExactStationarityGap,
            Measured::ModelGap,
        ],
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
    let curves = match shown {
        [only] => GROUPS.iter().map(|group| of_one(only, group, &report.watch)).collect(),
        several => of_several(several, &report.watch),
    };
    let first = report.runs.first().map(|it| it.run.error_series());
    let utility = first.unwrap_or([Measured::PublicError, Measured::PrivateError]);
    let utility = utility.into_iter().filter_map(|error| utility_figure(report, error));
    let has_points = |figure: &Figure| {
        let mut series = figure.panels.iter().flat_map(|panel| &panel.series);
        series.any(|series| !series.points.is_empty())
    };
    utility.chain(curves).chain([spent(shown)]).filter(has_points).collect()
}

/// All measurements of one kind in one run.
fn of_one(only: &Reported, group: &(&str, &str, &[Measured]), watch: &Watch) -> Figure {
    let (title, label, wanted) = group;
    let curves = wanted.iter().filter_map(|series| {
        let (points, exact) = archive::curve(&only.run, *series, watch)?;
        let standing = if exact { " ◆" } else { "" };
        Some(curve(&format!("{}{standing}", series.words()), points))
    });
    let mut curves: Vec<ChartSeries> = curves.collect();
    // A single curve is described by the title of the plot.
    let mut title = (*title).to_owned();
    if let [only] = curves.as_mut_slice()
        && !only.name.ends_with('◆')
    {
        title = capital(&std::mem::take(&mut only.name));
    }
    let share = wanted.iter().any(|series| is_share(std::slice::from_ref(only), *series));
    over_steps(&title, &in_units(only, if share { SHARE } else { label }), curves, share)
}

/// The label of an axis, with the unit that the session names.
fn in_units(reported: &Reported, label: &str) -> String {
    let private = reported.plan().map(|plan| &plan.private);
    let mut data = reported.run.data.iter();
    let unit = data.find(|it| Some(&it.name) == private).and_then(DatasetDefinition::label_unit);
    unit.map_or_else(|| label.to_owned(), |unit| label.replace("label units", &unit))
}

/// What the axis of an error of classes says.
const SHARE: &str = "wrong answers";

/// Whether a number counts wrong answers in all of these runs.
fn is_share(runs: &[Reported], series: Measured) -> bool {
    let of_classes = |reported: &Reported| reported.run.task() == Some(Task::Classification);
    series.is_error() && runs.iter().all(of_classes)
}

/// One plot for each measure. A run keeps its place in all of them, so that it has the same colour.
fn of_several(runs: &[Reported], watch: &Watch) -> Vec<Figure> {
    let all =
        GROUPS.iter().flat_map(|(_, label, wanted)| wanted.iter().map(move |it| (label, *it)));
    let figures = all.map(|(label, series)| {
        let mut standing = "";
        let curves = runs.iter().map(|reported| {
            let found = archive::curve(&reported.run, series, watch);
            if found.is_some_and(|(_, exact)| exact) {
                standing = " ◆";
            }
            curve(&reported.letter, found.map_or(&[], |(points, _)| points))
        });
        let curves = curves.collect();
        let title = capital(series.words());
        let share = is_share(runs, series);
        let label = if share { SHARE } else { label };
        let label = runs.first().map_or_else(String::new, |first| in_units(first, label));
        over_steps(&format!("{title}{standing}"), &label, curves, share)
    });
    figures.collect()
}

fn curve(name: &str, points: &[(f64, f64)]) -> ChartSeries {
    let every = points.len().div_ceil(MOST_POINTS).max(1);
    let last = points.len().saturating_sub(1);
    let kept = points.iter().enumerate();
    let kept = kept.filter(|(at, _)| at.is_multiple_of(every) || *at == last);
    let points: Vec<Point> = kept.map(|(_, &(x, y))| Point::new(x, y)).collect();
    // A single point is not a line.
    let mark = if points.len() == 1 { Mark::Points } else { Mark::Curve };
    series(name, mark, points)
}

fn over_steps(title: &str, label: &str, series: Vec<ChartSeries>, share: bool) -> Figure {
    let values = series.iter().flat_map(|series| &series.points).map(|point| point.y);
    let (low, high) =
        values.fold((f64::INFINITY, 0.0_f64), |(low, high), y| (low.min(y), high.max(y)));
    let wide = low > 0.0 && high > WIDE * low;
    let vertical = if wide { AxisSide::log(label) } else { AxisSide::linear(label) };
    figure(title, vertical.in_percent(share), AxisSide::linear("step"), series)
}

/// A figure of one panel without a note.
pub(super) fn figure(
    title: &str,
    vertical: AxisSide,
    horizontal: AxisSide,
    series: Vec<ChartSeries>,
) -> Figure {
    let panels = vec![Panel { title: String::new(), horizontal, series }];
    Figure { title: title.to_owned(), note: String::new(), vertical, panels }
}

pub(super) fn series(name: &str, mark: Mark, points: Vec<Point>) -> ChartSeries {
    ChartSeries { name: name.to_owned(), mark, points }
}

/// ε after every step, and the allowed ε.
fn spent(runs: &[Reported]) -> Figure {
    let mut curves: Vec<ChartSeries> = Vec::new();
    let mut targets: Vec<f64> = Vec::new();
    let mut longest = 1.0_f64;
    for reported in runs {
        let Some((last, _)) = reported.run.epsilon.last() else {
            curves.push(curve(&reported.letter, &[]));
            continue;
        };
        // Before its first step a run has spent nothing.
        let points = [&[(0.0, 0.0)], reported.run.epsilon.as_slice()].concat();
        let name = if reported.letter.is_empty() { "spent" } else { &reported.letter };
        curves.push(curve(name, &points));
        longest = longest.max(*last);
        let target = reported.plan().map(|plan| plan.target.epsilon);
        targets.extend(target.filter(|target| !targets.contains(target)));
    }
    // Many targets would be too many lines to read.
    for target in targets.iter().filter(|_| targets.len() <= 3) {
        let ends = [0.0, longest].map(|step| Point::new(step, *target));
        curves.push(series(&format!("allowed: {target}"), Mark::Level, ends.to_vec()));
    }
    figure("Privacy spent", AxisSide::linear("ε so far"), AxisSide::linear("step"), curves)
}

/// The last error against ε, if not all have the same ε: one series per method. Runs that differ only
/// by chance are one point with its spread.
fn utility_figure(report: &Report, error: Measured) -> Option<Figure> {
    let found = report.runs.iter().filter_map(|reported| {
        let error = last(&reported.run, error, &report.watch)?;
        Some((reported.plan()?.method.as_str(), reported.run.guarantee?.epsilon, error))
    });
    let found: Vec<(&str, f64, f64)> = found.collect();
    if archive::one_epsilon(found.iter().map(|(_, epsilon, _)| *epsilon)).is_some() {
        return None;
    }
    let methods: BTreeSet<&str> = found.iter().map(|(method, ..)| *method).collect();
    let curves = methods.into_iter().map(|method| {
        let of_it = found.iter().filter(|(other, ..)| *other == method);
        let mut of_it: Vec<(f64, f64)> = of_it.map(|(_, x, y)| (*x, *y)).collect();
        of_it.sort_by(|a, b| a.0.total_cmp(&b.0));
        let alike = of_it.chunk_by(|a, b| (a.0 - b.0).abs() <= 1e-3 * b.0);
        let points = alike.map(|alike| {
            let errors: Vec<f64> = alike.iter().map(|(_, y)| *y).collect();
            let (mean, spread) = mean_and_half_width(&errors);
            Point { spread, ..Point::new(alike[0].0, mean) }
        });
        let points: Vec<Point> = points.collect();
        let mark = if points.len() > 1 { Mark::Line } else { Mark::Points };
        series(methods::name_of(method), mark, points)
    });
    let curves: Vec<ChartSeries> = curves.collect();
    let points = || curves.iter().flat_map(|series| &series.points);
    let low = points().map(|point| point.x).fold(f64::INFINITY, f64::min);
    let high = points().map(|point| point.x).fold(0.0, f64::max);
    let is_wide = low > 0.0 && high > 8.0 * low;
    let repeated = points().any(|point| point.spread.is_some());
    let is_exact = matches!(error, Measured::PrivateError | Measured::PrivateAbsoluteError);
    let standing = if is_exact { " ◆" } else { "" };
    let label = format!("last {}, held out", error.words());
    let vertical = AxisSide::linear(&label).in_percent(is_share(&report.runs, error));
    let axis = if is_wide { AxisSide::log } else { AxisSide::linear };
    let note = if repeated { "runs of equal ε: mean ± 95 %" } else { "" };
    Some(Figure {
        note: note.to_owned(),
        ..figure(&format!("Error against ε{standing}"), vertical, axis("ε of the run"), curves)
    })
}

/// The mean of some numbers, and half of its 95 % range, which one number does not show.
fn mean_and_half_width(values: &[f64]) -> (f64, Option<f64>) {
    let Estimate { value, half_width } = Mean::of(values).over(values.len());
    (value, Some(half_width).filter(|it| it.is_finite()))
}
