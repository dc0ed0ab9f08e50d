//! Run: loss, stationarity gap and spend, live.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Cell, Paragraph, Row, Wrap};

use super::{Hits, ListHit, Plot, boxed, empty, filtered_title, pane, table};
use crate::adapt::Series;
use crate::data::Task;
use crate::engine::Summary;
use crate::privacy::CuratorOnly;
use crate::privacy::accountant::round_up;
use crate::tui::app::{App, Pane, one_line};
use crate::tui::live_run::{Ended, LiveRun, Logged};
use crate::tui::widgets::chart::{Chart, SeriesView};
use crate::tui::widgets::gauge::BudgetGauge;
use crate::tui::widgets::number::{compact, duration};
use crate::tui::widgets::track::TrackView;
use crate::tui::widgets::viewport::Viewport;
use crate::tui::widgets::whiskers::Whiskers;

pub fn view(app: &App, frame: &mut Frame, area: Rect, hits: &mut Hits) {
    let Some(run) = app.selected_run() else {
        let inner = boxed(app, frame, area, "Run");
        empty(
            app,
            frame,
            inner,
            &["No run in this sitting yet. Press 3 for the plan, then l to launch it."],
        );
        return;
    };
    let several = app.run.runs.len() > 1;
    let on_log = app.pane() == Some(Pane::Log) || app.filtering;
    let results_rows = if run.has_ended() && (!on_log || area.height >= 30) { 5 } else { 0 };
    let log_rows = match (area.height, on_log) {
        (40.., _) => 8,
        (_, true) => 7,
        (30.., _) => 5,
        _ if results_rows == 0 => 3,
        _ => 0,
    };
    let [list, status, charts, results, log] = area.layout(&Layout::vertical([
        Constraint::Length(if several { (app.run.runs.len() as u16).min(4) } else { 0 }),
        Constraint::Length(2),
        Constraint::Fill(1),
        Constraint::Length(results_rows),
        Constraint::Length(log_rows),
    ]));
    if several {
        run_list(app, frame, list, hits);
    }
    status_lines(app, frame, status, run);
    three_charts(app, frame, charts, run, hits);
    if results_rows > 0 {
        match &run.ended {
            Some(Ended::Summary(summary)) => outcome(app, frame, results, summary),
            Some(Ended::Refused(error)) => {
                let text = format!("Nothing was spent. {}", one_line(error));
                let paragraph = Paragraph::new(text).style(app.theme.error);
                frame.render_widget(paragraph.wrap(Wrap { trim: true }), results);
            }
            None => {}
        }
    }
    event_log(app, frame, log, run, hits);
}

fn run_list(app: &App, frame: &mut Frame, area: Rect, hits: &mut Hits) {
    let mark = if app.pane() == Some(Pane::Runs) { app.glyphs.pointer } else { " " };
    let row = |index: usize| {
        let run = &app.run.runs[index];
        let mark = if index == app.run.selected { mark } else { " " };
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
    let list = (Pane::Runs, app.run.runs.len(), Some(app.run.selected));
    hits.lists.push(table(app, frame, area, (Vec::new(), widths.to_vec()), list, row));
}

fn status_lines(app: &App, frame: &mut Frame, area: Rect, run: &LiveRun) {
    let [first, second] =
        area.layout(&Layout::vertical([Constraint::Length(1), Constraint::Length(1)]));
    let state = run.state();
    let style = match state {
        "finished" => app.theme.good,
        "paused" | "stopped" => app.theme.warning,
        "failed" | "refused" => app.theme.error,
        _ => app.theme.accent,
    };
    let mut parts = vec![
        Span::styled(format!(" {} ", run.plan), app.theme.text),
        Span::styled(state, style),
        Span::styled(
            format!(" · step {} of {} · {}", run.step, run.total, run.phase),
            app.theme.text,
        ),
    ];
    if let Some(left) = run.remaining() {
        let text = format!(" · about {} left", duration(left.as_secs_f64()));
        parts.push(Span::styled(text, app.theme.muted));
    }
    if let Some(pace) = run.control.pace().filter(|_| !run.has_ended()) {
        parts.push(Span::styled(format!(" · pace {pace}/s"), app.theme.muted));
    }
    for (on, word) in [
        (app.run.viewport.frozen.is_some(), " · frozen"),
        (app.run.viewport.window.is_some(), " · zoomed"),
        (app.run.viewport.smoothing > 0.0, " · smoothed"),
    ] {
        if on {
            parts.push(Span::styled(word, app.theme.warning));
        }
    }
    frame.render_widget(Line::from(parts), first);
    let inset = Rect { x: second.x + 1, width: second.width.saturating_sub(2), ..second };
    let gauge = BudgetGauge::new("ε", run.spent(), run.target.epsilon, &app.theme, &app.glyphs);
    frame.render_widget(gauge, inset);
}

fn three_charts(app: &App, frame: &mut Frame, area: Rect, run: &LiveRun, hits: &mut Hits) {
    let [loss, gap, spend] = if area.width >= 120 {
        area.layout(&Layout::horizontal([Constraint::Fill(1); 3]))
    } else {
        let [left, right] = area.layout(&Layout::horizontal([Constraint::Fill(1); 2]));
        let [above, below] = right.layout(&Layout::vertical([Constraint::Fill(1); 2]));
        [left, above, below]
    };
    // The objective has a scale of its own; errors are in label units. One
    // chart for both would flatten one of them.
    let log = app.run.viewport.log;
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
    // Where the objective itself is nobody's to see, its parts may be.
    let objective = if has(&losses) && !has(&objective) { losses } else { objective };
    let has_errors = has(&errors);
    if loss.height >= 14 && has_errors {
        let [above, below] = loss.layout(&Layout::vertical([Constraint::Fill(1); 2]));
        chart(app, frame, above, run, &errors, hits);
        chart(app, frame, below, run, &objective, hits);
    } else {
        chart(app, frame, loss, run, if has_errors { &errors } else { &objective }, hits);
    }
    if run.curves.contains_key(&CORRECTIONS[0].0) {
        corrections(app, frame, gap, run);
        spend_chart(app, frame, spend, run, hits);
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
    chart(app, frame, gap, run, &gaps, hits);
    spend_chart(app, frame, spend, run, hits);
}

/// What a correction is made of, in short.
const CORRECTIONS: [(Series, &str); 6] = [
    (Series::LevelCorrection, "level"),
    (Series::ScaleCorrection, "scale"),
    (Series::OtherCorrection, "other model"),
    (Series::EffectsCorrection, "tree effects"),
    (Series::ColumnsCorrection, "columns"),
    (Series::CellsCorrection, "regions"),
];

/// What each part of the correction contributes after the last round, as bars.
fn corrections(app: &App, frame: &mut Frame, area: Rect, run: &LiveRun) {
    let inner = boxed(app, frame, area, "size of each correction");
    let last = |series: Series| {
        let points =
            until(run.curves.get(&series)?.points(&app.watch)?.shown(), app.run.viewport.frozen);
        points.iter().last().map(|(_, size)| *size)
    };
    let sizes: Vec<(&str, f64)> =
        CORRECTIONS.iter().filter_map(|(series, name)| Some((*name, last(*series)?))).collect();
    let full = sizes.iter().fold(0.0, |most: f64, (_, size)| most.max(*size));
    let width = inner.width.saturating_sub(25);
    let style = (app.theme.series(0), app.theme.muted, app.theme.muted);
    let line = |(name, size): &(&'static str, f64)| {
        let bar =
            Whiskers { mean: *size, deviation: 0.0, full: full.max(1e-300), marks: [None; 2] };
        let mut parts = vec![Span::styled(format!(" {name:<13}"), app.theme.text)];
        parts.extend(bar.spans(width, &app.glyphs, style));
        parts.push(Span::styled(format!(" {}", compact(*size)), app.theme.muted));
        Line::from(parts)
    };
    frame.render_widget(Paragraph::new(sizes.iter().map(line).collect::<Vec<_>>()), inner);
}

/// What one chart shows.
struct Figure<'a> {
    title: &'a str,
    /// Each with its short name in the legend.
    series: &'a [(Series, &'static str)],
    log: bool,
}

fn chart(
    app: &App,
    frame: &mut Frame,
    area: Rect,
    run: &LiveRun,
    figure: &Figure,
    hits: &mut Hits,
) {
    let Figure { title, series, log } = *figure;
    let viewport = &app.run.viewport;
    let views = series.iter().enumerate().filter_map(|(slot, (series, name))| {
        let curve = run.curves.get(series)?;
        let points = until(curve.points(&app.watch)?.shown(), viewport.frozen);
        let style = app.theme.series(slot);
        Some(SeriesView { name, style, curator: curve.is_exact(), points, slot })
    });
    let views: Vec<_> = views.collect();
    let sealed = app.watch.is_sealed() && views.len() < series.len();
    let title = if sealed { format!("{title} · sealed") } else { title.to_owned() };
    let chart = Chart::new(&title, &app.theme, &app.glyphs).log(log).x_axis("step", true);
    place(app, frame, area, views.into_iter().fold(chart, Chart::series), viewport, hits);
}

fn spend_chart(app: &App, frame: &mut Frame, area: Rect, run: &LiveRun, hits: &mut Hits) {
    let points = until(run.epsilon.view(), app.run.viewport.frozen);
    let style = app.theme.series(2);
    let spent = SeriesView { name: "spent", style, curator: false, points, slot: 2 };
    let label = format!("ε {} granted", compact(run.target.epsilon));
    let title = format!("ε spent at δ {:e}", run.target.delta);
    let chart = Chart::new(&title, &app.theme, &app.glyphs)
        .x_axis("step", true)
        .series(spent)
        .reference(run.target.epsilon, &label);
    place(app, frame, area, chart, &app.run.viewport, hits);
}

/// A chart in a box, seen through the viewport of its screen.
pub(super) fn place(
    app: &App,
    frame: &mut Frame,
    area: Rect,
    chart: Chart,
    viewport: &Viewport,
    hits: &mut Hits,
) {
    let inner = pane(app, frame, area, "", Pane::Charts);
    let chart = chart.window(viewport.window).cursor(viewport.cursor);
    if let Some((area, (low, high))) = chart.draw(inner, frame.buffer_mut()) {
        hits.charts.push(Plot { area, low, high });
    }
}

fn until(points: TrackView<'_>, last: Option<f64>) -> TrackView<'_> {
    last.map_or(points, |last| points.until(last))
}

fn event_log(app: &App, frame: &mut Frame, area: Rect, run: &LiveRun, hits: &mut Hits) {
    if area.height == 0 {
        return;
    }
    let focused = app.pane() == Some(Pane::Log);
    let (area, title) = if area.height >= 5 {
        (pane(app, frame, area, &filtered_title(app, "Events"), Pane::Log), true)
    } else {
        (area, false)
    };
    let visible = app.visible(Pane::Log);
    if visible.is_empty() {
        empty(app, frame, area, &["No event passes the filter; Esc clears it."]);
        return;
    }
    let last = visible.len() - 1;
    let line = app.run.line.and_then(|line| visible.iter().position(|it| *it == line));
    let at = line.unwrap_or(last);
    let row = |place: usize| {
        let logged = &run.log[visible[place]];
        let text = logged.text(&app.watch).replace('\n', " ");
        let line = match logged {
            Logged::Said(_) => Line::styled(format!(" {text}"), app.theme.muted),
            Logged::Exact(_) => {
                Line::styled(format!(" {} {text}", app.glyphs.curator), app.theme.curator)
            }
        };
        Row::new(vec![Cell::from(line)])
    };
    let height = usize::from(area.height);
    // Without the focus the newest lines are shown, and none is selected.
    let (list, first) = if focused && title {
        ((Pane::Log, visible.len(), Some(at)), None)
    } else {
        ((Pane::Log, visible.len(), None), Some(visible.len().saturating_sub(height)))
    };
    let widths = vec![Constraint::Fill(1)];
    let hit = match first {
        None => table(app, frame, area, (Vec::new(), widths), list, row),
        Some(first) => {
            let rows = list.1 - first;
            let shape = (Vec::new(), widths);
            let hit = table(app, frame, area, shape, (Pane::Log, rows, None), |it| row(it + first));
            ListHit { first, ..hit }
        }
    };
    hits.lists.push(hit);
}

/// What came of it: the three models side by side, the guarantee, the place.
fn outcome(app: &App, frame: &mut Frame, area: Rect, summary: &Summary) {
    let exact = |score: &Option<CuratorOnly<f64>>| {
        let value = score.as_ref().and_then(|score| score.reveal(&app.watch));
        value.map_or_else(|| "–".to_owned(), |value| format!("{} ◆", compact(*value)))
    };
    let scores = &summary.scores;
    let mut lines = Vec::new();
    if let Some(trouble) = &summary.trouble {
        lines.push(Line::styled(format!(" {}", one_line(trouble)), app.theme.error));
    }
    let score = |name: &'static str, value: String| {
        [
            Span::styled(format!("  {name} "), app.theme.muted),
            Span::styled(value, app.theme.curator),
        ]
    };
    let error = match scores.task {
        Some(Task::Classification) => "wrong",
        _ => "RMSE",
    };
    let mut row = vec![Span::styled(format!(" private {error}"), app.theme.text)];
    row.extend(score("source-only", exact(&scores.source_only)));
    row.extend(score("target-only", exact(&scores.target_only)));
    row.extend(score("model", exact(&scores.model)));
    lines.push(Line::from(row));
    let public = |score: Option<f64>| score.map_or_else(|| "–".to_owned(), compact);
    lines.push(Line::from(vec![
        Span::styled(format!(" public {error} "), app.theme.text),
        Span::styled("  source-only ", app.theme.muted),
        Span::styled(public(scores.source_only_on_public), app.theme.text),
        Span::styled("    model ", app.theme.muted),
        Span::styled(public(scores.model_on_public), app.theme.text),
    ]));
    let peeked = if summary.peeked { " · exact numbers were computed ◆" } else { " · sealed" };
    lines.push(Line::styled(
        format!(
            " guarantee: ε {} at δ {:e}, {}{peeked}",
            round_up(summary.guarantee.epsilon, 4),
            summary.guarantee.delta,
            summary.guarantee.adjacency.words()
        ),
        app.theme.good,
    ));
    lines.push(Line::styled(format!(" {}", summary.directory.display()), app.theme.muted));
    frame.render_widget(Paragraph::new(lines), area);
}
