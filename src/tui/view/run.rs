//! Run: loss, stationarity gap and spend, live.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Cell, Paragraph, Row, Table, TableState, Wrap};

use super::{Hits, Plot, boxed, empty, scrolled};
use crate::adapt::Series;
use crate::engine::Summary;
use crate::privacy::CuratorOnly;
use crate::privacy::accountant::round_up;
use crate::tui::app::{App, one_line};
use crate::tui::runs::{Ended, Points, RunView};
use crate::tui::widgets::chart::{Chart, SeriesView};
use crate::tui::widgets::gauge::BudgetGauge;
use crate::tui::widgets::number::{compact, duration};

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
    let list_rows = if app.run.runs.len() > 1 { (app.run.runs.len() as u16).min(4) } else { 0 };
    let foot_rows = if run.has_ended() { 5 } else { 3 };
    let [list, status, charts, foot] = area.layout(&Layout::vertical([
        Constraint::Length(list_rows),
        Constraint::Length(2),
        Constraint::Fill(1),
        Constraint::Length(foot_rows),
    ]));
    run_list(app, frame, list, hits);
    status_lines(app, frame, status, run);
    three_charts(app, frame, charts, run, hits);
    match &run.ended {
        Some(Ended::Summary(summary)) => results(app, frame, foot, run, summary),
        Some(Ended::Refused(error)) => {
            let text = format!("Nothing was spent. {}", one_line(error));
            let paragraph = Paragraph::new(text).style(app.theme.error);
            frame.render_widget(paragraph.wrap(Wrap { trim: true }), foot);
        }
        None => log(app, frame, foot, run),
    }
}

fn run_list(app: &App, frame: &mut Frame, area: Rect, hits: &mut Hits) {
    if area.height == 0 {
        return;
    }
    let rows = app.run.runs.iter().map(|run| {
        Row::new(vec![
            Cell::from(format!(" {}", run.plan)),
            Cell::from(run.method.clone()),
            Cell::from(run.state()),
            Cell::from(format!("step {} of {}", run.step, run.total)),
            Cell::from(format!("ε {}", round_up(run.spent(), 3))),
        ])
    });
    let widths = [
        Constraint::Fill(1),
        Constraint::Length(20),
        Constraint::Length(9),
        Constraint::Length(17),
        Constraint::Length(9),
    ];
    let table = Table::new(rows, widths).row_highlight_style(app.theme.selection);
    let first = scrolled(app.run.selected, area.height, app.run.runs.len());
    let mut state = TableState::new().with_offset(first).with_selected(app.run.selected);
    frame.render_stateful_widget(table, area, &mut state);
    hits.rows = Some((area, first));
}

fn status_lines(app: &App, frame: &mut Frame, area: Rect, run: &RunView) {
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
        (app.run.frozen.is_some(), " · frozen"),
        (app.run.window.is_some(), " · zoomed"),
        (app.run.smoothing > 0.0, " · smoothed"),
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

fn three_charts(app: &App, frame: &mut Frame, area: Rect, run: &RunView, hits: &mut Hits) {
    let [loss, gap, spend] = if area.width >= 120 {
        area.layout(&Layout::horizontal([Constraint::Fill(1); 3]))
    } else {
        let [left, right] = area.layout(&Layout::horizontal([Constraint::Fill(1); 2]));
        let [above, below] = right.layout(&Layout::vertical([Constraint::Fill(1); 2]));
        [left, above, below]
    };
    // The objective has a scale of its own; errors are in label units. One
    // chart for both would flatten one of them.
    let log = app.run.log_loss;
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
    let has_errors = errors.series.iter().any(|(series, _)| run.curves.contains_key(series));
    if loss.height >= 14 && has_errors {
        let [above, below] = loss.layout(&Layout::vertical([Constraint::Fill(1); 2]));
        chart(app, frame, above, run, &errors, hits);
        chart(app, frame, below, run, &objective, hits);
    } else {
        chart(app, frame, loss, run, if has_errors { &errors } else { &objective }, hits);
    }
    let gaps = Figure {
        title: "stationarity gap",
        series: &[(Series::StationarityGap, "noisy"), (Series::ExactStationarityGap, "exact")],
        log: true,
    };
    chart(app, frame, gap, run, &gaps, hits);
    spend_chart(app, frame, spend, run, hits);
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
    run: &RunView,
    figure: &Figure,
    hits: &mut Hits,
) {
    let Figure { title, series, log } = *figure;
    let smoothed: Vec<Option<Points>> = series
        .iter()
        .map(|(series, _)| {
            let points = run.curves.get(series)?.points(&run.watch)?;
            let shown = until(points, app.run.frozen);
            (app.run.smoothing > 0.0)
                .then(|| crate::tui::widgets::chart::smooth(shown, app.run.smoothing, log))
        })
        .collect();
    let views = series.iter().zip(&smoothed).enumerate().filter_map(
        |(index, ((series, name), smoothed))| {
            let curve = run.curves.get(series)?;
            let points = match smoothed {
                Some(points) => points,
                None => until(curve.points(&run.watch)?, app.run.frozen),
            };
            let style = app.theme.series(index);
            Some(SeriesView { name, style, curator: curve.is_exact(), points })
        },
    );
    let views: Vec<_> = views.collect();
    let sealed = app.watch.is_sealed() && views.len() < series.len();
    let title = if sealed { format!("{title} · sealed") } else { title.to_owned() };
    let chart = Chart::new(&title, &app.theme, &app.glyphs).log(log);
    place(app, frame, area, views.into_iter().fold(chart, Chart::series), hits);
}

fn spend_chart(app: &App, frame: &mut Frame, area: Rect, run: &RunView, hits: &mut Hits) {
    let points = until(&run.epsilon, app.run.frozen);
    let style = app.theme.series(2);
    let spent = SeriesView { name: "spent", style, curator: false, points };
    let label = format!("ε {} granted", compact(run.target.epsilon));
    let title = format!("ε spent at δ {:e}", run.target.delta);
    let chart = Chart::new(&title, &app.theme, &app.glyphs)
        .series(spent)
        .reference(run.target.epsilon, &label);
    place(app, frame, area, chart, hits);
}

fn place(app: &App, frame: &mut Frame, area: Rect, chart: Chart, hits: &mut Hits) {
    let inner = boxed(app, frame, area, "");
    let chart = chart
        .x_axis("step", true)
        .window(app.run.window)
        .cursor(app.run.cursor)
        .empty("no steps yet");
    if let Some((area, (low, high))) = chart.plot(inner) {
        hits.charts.push(Plot { area, low, high });
    }
    frame.render_widget(&chart, inner);
}

fn until(points: &[(f64, f64)], last: Option<f64>) -> &[(f64, f64)] {
    match last {
        Some(last) => &points[..points.partition_point(|(x, _)| *x <= last)],
        None => points,
    }
}

fn log(app: &App, frame: &mut Frame, area: Rect, run: &RunView) {
    let first = run.log.len().saturating_sub(usize::from(area.height));
    let lines: Vec<Line> = run.log[first..]
        .iter()
        .map(|line| Line::styled(format!(" {line}"), app.theme.muted))
        .collect();
    frame.render_widget(Paragraph::new(lines), area);
}

/// What came of it: the three models side by side, the guarantee, the place.
fn results(app: &App, frame: &mut Frame, area: Rect, run: &RunView, summary: &Summary) {
    let exact = |score: &Option<CuratorOnly<f64>>| {
        let value = score.as_ref().and_then(|score| score.reveal(&run.watch));
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
    let mut row = vec![Span::styled(" private RMSE", app.theme.text)];
    row.extend(score("source-only", exact(&scores.source_only)));
    row.extend(score("target-only", exact(&scores.target_only)));
    row.extend(score("model", exact(&scores.model)));
    lines.push(Line::from(row));
    let public = |score: Option<f64>| score.map_or_else(|| "–".to_owned(), compact);
    lines.push(Line::from(vec![
        Span::styled(" public RMSE ", app.theme.text),
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
