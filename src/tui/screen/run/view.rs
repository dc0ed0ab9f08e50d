//! How the Run screen looks: loss, stationarity gap and spend, live.

use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Cell, Paragraph, Row};

use super::state::{LOG, RUNS, RunScreen};
use crate::adapt::Series;
use crate::data::Task;
use crate::engine::Summary;
use crate::privacy::CuratorOnly;
use crate::privacy::accountant::round_up;
use crate::tui::canvas::{Canvas, ListHit};
use crate::tui::context::Context;
use crate::tui::live_run::{Ended, LiveRun, Logged};
use crate::tui::notice::one_line;
use crate::tui::tab::CHARTS;
use crate::tui::widgets::chart::{Chart, SeriesView};
use crate::tui::widgets::gauge::BudgetGauge;
use crate::tui::widgets::number::{compact, duration};
use crate::tui::widgets::track::TrackView;
use crate::tui::widgets::whiskers::Whiskers;

pub fn view(screen: &RunScreen, context: &Context, canvas: &mut Canvas, area: Rect) {
    let theme = canvas.theme;
    let Some(run) = screen.run(context) else {
        let words = "No run in this sitting yet. Press 3 for the plan, then l to launch it.";
        canvas.empty_box(area, "Run", &[words]);
        return;
    };
    let several = context.runs.len() > 1;
    let on_log = canvas.has_focus(LOG) || canvas.filtering;
    let results_rows = if run.has_ended() && (!on_log || area.height >= 30) { 5 } else { 0 };
    let log_rows = match (area.height, on_log) {
        (40.., _) => 8,
        (_, true) => 7,
        (30.., _) => 5,
        _ if results_rows == 0 => 3,
        _ => 0,
    };
    let [list, status, charts, results, log] = area.layout(&Layout::vertical([
        Constraint::Length(if several { (context.runs.len() as u16).min(4) } else { 0 }),
        Constraint::Length(2),
        Constraint::Fill(1),
        Constraint::Length(results_rows),
        Constraint::Length(log_rows),
    ]));
    if several {
        run_list(screen, context, canvas, list);
    }
    status_lines(screen, canvas, status, run);
    three_charts(screen, context, canvas, charts, run);
    if results_rows > 0 {
        match &run.ended {
            Some(Ended::Summary(summary)) => outcome(context, canvas, results, summary),
            Some(Ended::Refused(error)) => {
                let text = format!("Nothing was spent. {}", one_line(error));
                canvas.wrapped(text, theme.error, results);
            }
            None => {}
        }
    }
    event_log(screen, context, canvas, log, run);
}

fn run_list(screen: &RunScreen, context: &Context, canvas: &mut Canvas, area: Rect) {
    let glyphs = canvas.glyphs;
    let mark = if canvas.has_focus(RUNS) { glyphs.pointer } else { " " };
    let row = |index: usize| {
        let run = &context.runs[index];
        let mark = if index == screen.selected { mark } else { " " };
        Row::new(vec![
            Cell::from(format!("{mark}{}", run.plan)),
            Cell::from(run.method.clone()),
            Cell::from(run.state()),
            Cell::from(format!("step {} of {}", run.step, run.total)),
            Cell::from(format!("ε {}", round_up(run.spent(), 3))),
        ])
    };
    let widths = [
        Constraint::Fill(1),
        Constraint::Length(20),
        Constraint::Length(9),
        Constraint::Length(17),
        Constraint::Length(9),
    ];
    let list = (RUNS, context.runs.len(), Some(screen.selected));
    canvas.list(area, (Vec::new(), widths.to_vec()), list, row);
}

fn status_lines(screen: &RunScreen, canvas: &mut Canvas, area: Rect, run: &LiveRun) {
    let (theme, glyphs) = (canvas.theme, canvas.glyphs);
    let [first, second] =
        area.layout(&Layout::vertical([Constraint::Length(1), Constraint::Length(1)]));
    let state = run.state();
    let style = match state {
        "finished" => theme.good,
        "paused" | "stopped" => theme.warning,
        "failed" | "refused" => theme.error,
        _ => theme.accent,
    };
    let mut parts = vec![
        Span::styled(format!(" {} ", run.plan), theme.text),
        Span::styled(state, style),
        Span::styled(format!(" · step {} of {} · {}", run.step, run.total, run.phase), theme.text),
    ];
    if let Some(left) = run.remaining() {
        let text = format!(" · about {} left", duration(left.as_secs_f64()));
        parts.push(Span::styled(text, theme.muted));
    }
    if let Some(pace) = run.control.pace().filter(|_| !run.has_ended()) {
        parts.push(Span::styled(format!(" · pace {pace}/s"), theme.muted));
    }
    for (on, word) in [
        (screen.viewport.frozen.is_some(), " · frozen"),
        (screen.viewport.window.is_some(), " · zoomed"),
        (screen.viewport.smoothing > 0.0, " · smoothed"),
    ] {
        if on {
            parts.push(Span::styled(word, theme.warning));
        }
    }
    canvas.render(Line::from(parts), first);
    let inset = Rect { x: second.x + 1, width: second.width.saturating_sub(2), ..second };
    let gauge = BudgetGauge::new("ε", run.spent(), run.target.epsilon, theme, glyphs);
    canvas.render(gauge, inset);
}

fn three_charts(
    screen: &RunScreen,
    context: &Context,
    canvas: &mut Canvas,
    area: Rect,
    run: &LiveRun,
) {
    let [loss, gap, spend] = if area.width >= 120 {
        area.layout(&Layout::horizontal([Constraint::Fill(1); 3]))
    } else {
        let [left, right] = area.layout(&Layout::horizontal([Constraint::Fill(1); 2]));
        let [above, below] = right.layout(&Layout::vertical([Constraint::Fill(1); 2]));
        [left, above, below]
    };
    // The objective and the errors have different units: a chart for both would
    // flatten one of them.
    let log = screen.viewport.log;
    let errors = Figure {
        title: "error on held-out records",
        series: &[(Series::PublicError, "public"), (Series::PrivateError, "private")],
        log,
    };
    let objective = Figure {
        title: "objective",
        series: &[(Series::Objective, "released"), (Series::ExactObjective, "exact")],
        log,
    };
    let losses = Figure {
        title: "loss on training records",
        series: &[
            (Series::PublicLoss, "public"),
            (Series::PrivateLoss, "private"),
            (Series::HoldoutLoss, "held out"),
        ],
        log,
    };
    let has =
        |figure: &Figure| figure.series.iter().any(|(series, _)| run.curves.contains_key(series));
    // Where the objective cannot be shown, its parts may be.
    let objective = if has(&losses) && !has(&objective) { losses } else { objective };
    let has_errors = has(&errors);
    if loss.height >= 14 && has_errors {
        let [above, below] = loss.layout(&Layout::vertical([Constraint::Fill(1); 2]));
        chart(screen, context, canvas, above, run, &errors);
        chart(screen, context, canvas, below, run, &objective);
    } else {
        chart(screen, context, canvas, loss, run, if has_errors { &errors } else { &objective });
    }
    if run.curves.contains_key(&CORRECTIONS[0].0) {
        corrections(screen, context, canvas, gap, run);
        spend_chart(screen, canvas, spend, run);
        return;
    }
    let gaps = Figure {
        title: "stationarity gap",
        series: &[
            (Series::StationarityGap, "noisy"),
            (Series::ExactStationarityGap, "exact"),
            (Series::GradientMedian, "median record"),
            (Series::GradientTail, "90 % of records"),
        ],
        log: true,
    };
    chart(screen, context, canvas, gap, run, &gaps);
    spend_chart(screen, canvas, spend, run);
}

/// The parts of a correction, with short names.
const CORRECTIONS: [(Series, &str); 6] = [
    (Series::LevelCorrection, "level"),
    (Series::ScaleCorrection, "scale"),
    (Series::OtherCorrection, "other model"),
    (Series::EffectsCorrection, "tree effects"),
    (Series::ColumnsCorrection, "columns"),
    (Series::CellsCorrection, "regions"),
];

/// What each part of the correction contributes after the last round, as bars.
fn corrections(
    screen: &RunScreen,
    context: &Context,
    canvas: &mut Canvas,
    area: Rect,
    run: &LiveRun,
) {
    let (theme, glyphs) = (canvas.theme, canvas.glyphs);
    let inner = canvas.boxed(area, "size of each correction");
    let last = |series: Series| {
        let points =
            until(run.curves.get(&series)?.points(&context.watch)?.shown(), screen.viewport.frozen);
        points.iter().last().map(|(_, size)| *size)
    };
    let sizes: Vec<(&str, f64)> =
        CORRECTIONS.iter().filter_map(|(series, name)| Some((*name, last(*series)?))).collect();
    let full = sizes.iter().fold(0.0, |most: f64, (_, size)| most.max(*size));
    let width = inner.width.saturating_sub(25);
    let style = (theme.series(0), theme.muted, theme.muted);
    let line = |(name, size): &(&'static str, f64)| {
        let bar =
            Whiskers { mean: *size, deviation: 0.0, full: full.max(1e-300), marks: [None; 2] };
        let mut parts = vec![Span::styled(format!(" {name:<13}"), theme.text)];
        parts.extend(bar.spans(width, glyphs, style));
        parts.push(Span::styled(format!(" {}", compact(*size)), theme.muted));
        Line::from(parts)
    };
    canvas.render(Paragraph::new(sizes.iter().map(line).collect::<Vec<_>>()), inner);
}

/// What one chart shows.
struct Figure<'a> {
    title: &'a str,
    /// Each with its short name in the legend.
    series: &'a [(Series, &'static str)],
    log: bool,
}

fn chart(
    screen: &RunScreen,
    context: &Context,
    canvas: &mut Canvas,
    area: Rect,
    run: &LiveRun,
    figure: &Figure,
) {
    let (theme, glyphs) = (canvas.theme, canvas.glyphs);
    let Figure { title, series, log } = *figure;
    let viewport = &screen.viewport;
    let views = series.iter().enumerate().filter_map(|(slot, (series, name))| {
        let curve = run.curves.get(series)?;
        let points = until(curve.points(&context.watch)?.shown(), viewport.frozen);
        let style = theme.series(slot);
        Some(SeriesView { name, style, curator: curve.is_exact(), points, slot })
    });
    let views: Vec<_> = views.collect();
    let sealed = context.watch.is_sealed() && views.len() < series.len();
    let title = if sealed { format!("{title} · sealed") } else { title.to_owned() };
    let chart = Chart::new(&title, theme, glyphs).log(log).x_axis("step", true);
    canvas.pointed_chart(area, CHARTS, views.into_iter().fold(chart, Chart::series), viewport);
}

fn spend_chart(screen: &RunScreen, canvas: &mut Canvas, area: Rect, run: &LiveRun) {
    let (theme, glyphs) = (canvas.theme, canvas.glyphs);
    let points = until(run.epsilon.view(), screen.viewport.frozen);
    let style = theme.series(2);
    let spent = SeriesView { name: "spent", style, curator: false, points, slot: 2 };
    let label = format!("ε {} granted", compact(run.target.epsilon));
    let title = format!("ε spent at δ {:e}", run.target.delta);
    let chart = Chart::new(&title, theme, glyphs)
        .x_axis("step", true)
        .series(spent)
        .reference(run.target.epsilon, &label);
    canvas.pointed_chart(area, CHARTS, chart, &screen.viewport);
}

fn until(points: TrackView<'_>, last: Option<f64>) -> TrackView<'_> {
    last.map_or(points, |last| points.until(last))
}

fn event_log(
    screen: &RunScreen,
    context: &Context,
    canvas: &mut Canvas,
    area: Rect,
    run: &LiveRun,
) {
    let (theme, glyphs) = (canvas.theme, canvas.glyphs);
    if area.height == 0 {
        return;
    }
    let focused = canvas.has_focus(LOG);
    let (area, titled) = if area.height >= 5 {
        (canvas.pane(area, &context.filtered_title("Events"), LOG), true)
    } else {
        (area, false)
    };
    let visible = screen.visible_log(context);
    if visible.is_empty() {
        canvas.empty(area, &["No event passes the filter; Esc clears it."]);
        return;
    }
    let last = visible.len() - 1;
    let line = screen.line.and_then(|line| visible.iter().position(|it| *it == line));
    let at = line.unwrap_or(last);
    let row = |place: usize| {
        let logged = &run.log[visible[place]];
        let text = logged.text(&context.watch).replace('\n', " ");
        let line = match logged {
            Logged::Said(_) => Line::styled(format!(" {text}"), theme.muted),
            Logged::Exact(_) => Line::styled(format!(" {} {text}", glyphs.curator), theme.curator),
        };
        Row::new(vec![Cell::from(line)])
    };
    let columns = (Vec::new(), vec![Constraint::Fill(1)]);
    if focused && titled {
        canvas.list(area, columns, (LOG, visible.len(), Some(at)), row);
        return;
    }
    // Without the focus the newest lines are shown, and none is selected.
    let first = visible.len().saturating_sub(usize::from(area.height));
    let (area, _) =
        canvas.table(area, columns, (visible.len() - first, None), |it| row(it + first));
    canvas.hits.lists.push(ListHit { area, first, pane: LOG, selected: None });
}

/// The result: the three models side by side, the guarantee, the directory.
fn outcome(context: &Context, canvas: &mut Canvas, area: Rect, summary: &Summary) {
    let theme = canvas.theme;
    let exact = |score: &Option<CuratorOnly<f64>>| {
        let value = score.as_ref().and_then(|score| score.reveal(&context.watch));
        value.map_or_else(|| "–".to_owned(), |value| format!("{} ◆", compact(*value)))
    };
    let scores = &summary.scores;
    let mut lines = Vec::new();
    if let Some(trouble) = &summary.trouble {
        lines.push(Line::styled(format!(" {}", one_line(trouble)), theme.error));
    }
    let score = |name: &'static str, value: String| {
        [Span::styled(format!("  {name} "), theme.muted), Span::styled(value, theme.curator)]
    };
    let error = match scores.task {
        Some(Task::Classification) => "wrong",
        _ => "RMSE",
    };
    let mut row = vec![Span::styled(format!(" private {error}"), theme.text)];
    row.extend(score("source-only", exact(&scores.source_only)));
    row.extend(score("target-only", exact(&scores.target_only)));
    row.extend(score("model", exact(&scores.model)));
    lines.push(Line::from(row));
    let public = |score: Option<f64>| score.map_or_else(|| "–".to_owned(), compact);
    lines.push(Line::from(vec![
        Span::styled(format!(" public {error} "), theme.text),
        Span::styled("  source-only ", theme.muted),
        Span::styled(public(scores.source_only_on_public), theme.text),
        Span::styled("    model ", theme.muted),
        Span::styled(public(scores.model_on_public), theme.text),
    ]));
    let peeked = if summary.peeked { " · exact numbers were computed ◆" } else { " · sealed" };
    lines.push(Line::styled(
        format!(
            " guarantee: ε {} at δ {:e}, {}{peeked}",
            round_up(summary.guarantee.epsilon, 4),
            summary.guarantee.delta,
            summary.guarantee.adjacency.words()
        ),
        theme.good,
    ));
    lines.push(Line::styled(format!(" {}", summary.directory.display()), theme.muted));
    canvas.render(Paragraph::new(lines), area);
}
