//! How the Rank screen looks.

use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Cell, Paragraph, Row as TableRow, Wrap};

use super::state::{CANDIDATES, Column, RankScreen, Row};
use crate::privacy::accountant::round_up;
use crate::rank::comparison::{Comparison, Mean, Summary};
use crate::tui::canvas::{Canvas, fitting, sort_mark};
use crate::tui::context::Context;
use crate::tui::live_ranking::Found;
use crate::tui::theme::Theme;
use crate::tui::widgets::chart::{Chart, SeriesView};
use crate::tui::widgets::number::compact;
use crate::tui::widgets::smoothing::Point;
use crate::tui::widgets::track::TrackView;
use crate::tui::widgets::whiskers::Whiskers;

pub fn view(screen: &RankScreen, context: &Context, canvas: &mut Canvas, area: Rect) {
    let theme = canvas.theme;
    let [state, body] = area.layout(&Layout::vertical([
        Constraint::Length(u16::from(context.ranking.work.is_some())),
        Constraint::Fill(1),
    ]));
    progress(context, canvas, state);
    match &context.ranking.found {
        None => nothing(context, canvas, body),
        Some(Found::Exact(_)) => match context.ranking.exact(&context.watch) {
            Some(comparison) => exact(screen, context, canvas, body, comparison),
            None => canvas.empty_box(
                body,
                "Rank · sealed",
                &[
                    "The ranking is made of exact numbers, and the view is sealed.",
                    "v unseals it; p selects the best dataset privately.",
                ],
            ),
        },
        Some(Found::Winner(name, guarantee)) => {
            let inner = canvas.boxed(body, "Rank · selected privately");
            let mut lines = vec![
                Line::from(vec![
                    Span::styled("use ", theme.text),
                    Span::styled(name.clone(), theme.good),
                ]),
                Line::raw(""),
                Line::styled(
                    format!(
                        "Released at ε {}, δ {:e}: that it won, and not by how much. Enter takes it into the plan.",
                        round_up(guarantee.epsilon, 4),
                        guarantee.delta
                    ),
                    theme.muted,
                ),
                Line::raw(""),
            ];
            lines.extend(notes(context, theme));
            canvas.render(Paragraph::new(lines).wrap(Wrap { trim: true }), inner);
        }
        Some(shown @ (Found::Table(lines, guarantee) | Found::Direction(lines, guarantee))) => {
            let what = match shown {
                Found::Direction(..) => "one direction at",
                _ => "released at",
            };
            let title = format!(
                "Rank · {what} ε {}, δ {:e} · ± what the noise makes of it",
                round_up(guarantee.epsilon, 4),
                guarantee.delta
            );
            let rows = (lines.len() as u16 + 3).clamp(5, (body.height * 2 / 3).max(5));
            let [above, below] =
                body.layout(&Layout::vertical([Constraint::Length(rows), Constraint::Fill(1)]));
            let inner = canvas.pane(above, &title, CANDIDATES);
            candidates(screen, context, canvas, inner, [None, None]);
            let notes = notes(context, theme).collect::<Vec<_>>();
            canvas.render(Paragraph::new(notes).wrap(Wrap { trim: false }), below);
        }
    }
}

/// Remarks on a private ranking, and what was left out.
fn notes(context: &Context, theme: &Theme) -> impl Iterator<Item = Line<'static>> {
    let remarks = context.ranking.remarks.iter().map(|remark| format!(" note: {remark}"));
    let left_out = context.ranking.left_out.iter();
    let left_out = left_out.map(|(name, error)| format!(" left out: {name}: {}", error.what()));
    remarks.chain(left_out).map(|text| Line::styled(text, theme.muted))
}

fn progress(context: &Context, canvas: &mut Canvas, area: Rect) {
    let (theme, glyphs) = (canvas.theme, canvas.glyphs);
    let Some(work) = &context.ranking.work else { return };
    let share = work.done as f64 / work.total.max(1) as f64;
    let bar = Whiskers { mean: share, deviation: 1.0, full: 1.0, marks: [None, None] };
    let mut spans = vec![Span::raw(" ")];
    spans.extend(bar.spans(24, glyphs, (theme.accent, theme.muted, theme.muted)));
    let manner = if work.privately { "privately" } else { "by exact numbers" };
    let text = format!(" {} · {manner} · c cancels", work.words);
    spans.push(Span::styled(text, theme.text));
    canvas.render(Line::from(spans), area);
}

fn nothing(context: &Context, canvas: &mut Canvas, area: Rect) {
    let inner = canvas.boxed(area, "Rank");
    if context.ranking.work.is_some() {
        canvas.empty(inner, &["The table begins with the second repeat."]);
        return;
    }
    let settings = &context.session.ranking.settings;
    let about = format!(
        "Set: {}, k near {}, m up to {}, {} repeats.",
        settings.model.words(),
        settings.directions,
        settings.batch,
        settings.repeats
    );
    let sign = canvas.glyphs.curator;
    let ways = [
        format!(
            "  r   by exact numbers ({sign}), with uncertainty: for your eyes; the ledger notes it"
        ),
        "  p   privately: releases the name of the best dataset and nothing else".to_owned(),
        "  t   privately: releases every dataset's scores, with noise".to_owned(),
        "  d   privately: releases one direction, and what spans hold of it".to_owned(),
    ];
    let lines = [
        "Which public dataset can stand in for the private one? A small model",
        "turns every dataset into gradients. The share of the private gradients'",
        "energy that lies in a dataset's leading subspace says how useful it is.",
        "",
        &ways[0],
        &ways[1],
        &ways[2],
        &ways[3],
        "",
        &about,
    ];
    canvas.empty(inner, &lines);
}

fn exact(
    screen: &RankScreen,
    context: &Context,
    canvas: &mut Canvas,
    area: Rect,
    comparison: &Comparison,
) {
    let (theme, glyphs) = (canvas.theme, canvas.glyphs);
    let rows = comparison.lines.len() as u16 + 3;
    let least = if area.height >= 28 { area.height / 2 } else { area.height * 3 / 5 };
    let [above, words, below] = area.layout(&Layout::vertical([
        Constraint::Length(rows.clamp(5, least.max(5))),
        Constraint::Length(if area.height >= 28 { 3 } else { 2 }),
        Constraint::Fill(1),
    ]));
    let title = format!(
        "{} by {} · {} repeats, m {}, k {}",
        glyphs.curator,
        comparison.order.words(),
        comparison.repeats,
        comparison.batch,
        comparison.directions
    );
    let inner = canvas.pane(above, &title, CANDIDATES);
    let marks = [comparison.floor.energy.mean, comparison.ceiling.energy.mean].map(Some);
    candidates(screen, context, canvas, inner, marks);
    let mut verdict = vec![Line::styled(format!(" {}", comparison.verdict), theme.curator)];
    verdict.extend(
        comparison.remarks.iter().map(|it| Line::styled(format!(" note: {it}"), theme.muted)),
    );
    canvas.render(Paragraph::new(verdict).wrap(Wrap { trim: false }), words);
    let [left, right] = below.layout(&Layout::horizontal([
        Constraint::Length((below.width * 11 / 20).max(34)),
        Constraint::Fill(1),
    ]));
    spectrum(screen, context, canvas, left, comparison);
    details(screen, context, canvas, right, comparison);
}

/// The width of a column; the bar and the verdict take the rest.
fn width_of(column: Column) -> u16 {
    match column {
        Column::Rank => 2,
        Column::Name => 18,
        Column::Energy | Column::Distance => 13,
        Column::Unlabelled | Column::Labelled | Column::ZeroShot => 9,
        Column::Verdict => 0,
    }
}

/// The columns that fit beside a bar and a verdict.
fn columns_that_fit(room: u16) -> Vec<Column> {
    let by_weight = [
        Column::Rank,
        Column::Name,
        Column::Energy,
        Column::Distance,
        Column::ZeroShot,
        Column::Unlabelled,
        Column::Labelled,
    ];
    let mut columns = fitting(by_weight, width_of, room.saturating_sub(14 + 20));
    columns.push(Column::Verdict);
    columns.sort_by_key(|column| Column::ALL.iter().position(|other| other == column));
    columns
}

fn candidates(
    screen: &RankScreen,
    context: &Context,
    canvas: &mut Canvas,
    area: Rect,
    marks: [Option<f64>; 2],
) {
    let (theme, glyphs) = (canvas.theme, canvas.glyphs);
    let rows = screen.rows(&context.ranking, &context.watch);
    let full = rows
        .iter()
        .filter_map(|row| row.energy.map(|energy| energy.mean + energy.deviation))
        .chain(marks.into_iter().flatten())
        .fold(1e-9_f64, f64::max);
    let columns = columns_that_fit(area.width);
    let bar = 14 + area.width.saturating_sub(120) / 6;
    let is_exact = matches!(context.ranking.found, Some(Found::Exact(_)));
    let style = if is_exact { theme.curator } else { theme.text };
    let mut header = Vec::new();
    let mut widths = Vec::new();
    for column in &columns {
        let mark = sort_mark(*column == screen.sort, screen.reverse);
        header.push(Line::raw(format!("{}{mark}", column.title())));
        widths.push(match column {
            Column::Verdict => Constraint::Fill(1),
            column => Constraint::Length(width_of(*column)),
        });
        if *column == Column::Energy {
            header.push(Line::raw(""));
            widths.push(Constraint::Length(bar));
        }
    }
    let row = |place: usize| {
        let row: &Row = &rows[place];
        let mut cells = Vec::new();
        for column in &columns {
            let text = match column {
                Column::Rank => row.rank.to_string(),
                Column::Name => row.name.clone(),
                Column::Energy => row.energy.map_or_else(none, with_deviation),
                Column::Distance => row.distance.map_or_else(none, with_deviation),
                Column::Unlabelled => row.unlabelled.map_or_else(none, compact),
                Column::Labelled => row.labelled.map_or_else(none, compact),
                Column::ZeroShot => row.zero_shot.map_or_else(none, compact),
                Column::Verdict => row.verdict.clone(),
            };
            let own = if *column == Column::Name { theme.text } else { style };
            cells.push(Cell::from(Span::styled(text, own)));
            if *column == Column::Energy {
                let spans = row.energy.map(|energy| {
                    let Mean { mean, deviation } = energy;
                    let whiskers = Whiskers { mean, deviation, full, marks };
                    whiskers.spans(bar, glyphs, (style, style, theme.warning))
                });
                cells.push(Cell::from(Line::from(spans.unwrap_or_default())));
            }
        }
        TableRow::new(cells)
    };
    let selected = screen.selected.min(rows.len().saturating_sub(1));
    let list = (CANDIDATES, rows.len(), Some(selected));
    canvas.list(area, (header, widths), list, row);
}

fn none() -> String {
    "–".to_owned()
}

fn with_deviation(mean: Mean) -> String {
    format!("{:.3} ± {:.3}", mean.mean, mean.deviation)
}

/// The principal angles of the selected candidate against the best, between other private
/// records and noise.
fn spectrum(
    screen: &RankScreen,
    context: &Context,
    canvas: &mut Canvas,
    area: Rect,
    comparison: &Comparison,
) {
    let (theme, glyphs) = (canvas.theme, canvas.glyphs);
    let points = |summary: &Summary| -> Vec<Point> {
        let degrees = summary.angles.iter().enumerate();
        degrees.map(|(index, angle)| ((index + 1) as f64, angle.to_degrees())).collect()
    };
    let chosen = screen.chosen(context);
    let of = |name: Option<&str>| {
        let line = comparison.lines.iter().find(|line| Some(line.name.as_str()) == name)?;
        Some((line.name.as_str(), points(line.summary.as_ref()?)))
    };
    let best = of(comparison.lines.first().map(|line| line.name.as_str()));
    let chosen = of(chosen.as_deref());
    let mut curves: Vec<(&str, Vec<Point>)> = Vec::new();
    curves.extend(chosen);
    if best.as_ref().map(|(name, _)| *name) != curves.first().map(|(name, _)| *name) {
        curves.extend(best);
    }
    curves.push(("more private data", points(&comparison.floor)));
    curves.push(("noise", points(&comparison.ceiling)));
    let inner = canvas.boxed(area, "");
    let mut chart = Chart::new("principal angles, degrees", theme, glyphs)
        .x_axis("direction", true)
        .empty("no angles");
    for (slot, (name, points)) in curves.iter().enumerate() {
        chart = chart.series(SeriesView {
            name,
            style: theme.series(slot),
            curator: true,
            points: TrackView::from(points),
            slot,
        });
    }
    canvas.chart(inner, &chart);
}

fn details(
    screen: &RankScreen,
    context: &Context,
    canvas: &mut Canvas,
    area: Rect,
    comparison: &Comparison,
) {
    let theme = canvas.theme;
    let inner = canvas.boxed(area, "Selected dataset");
    let chosen = screen.chosen(context);
    let line = comparison.lines.iter().find(|line| Some(&line.name) == chosen.as_ref());
    let Some(line) = line else { return };
    let mut facts = vec![("dataset", line.name.clone()), ("records", line.records.to_string())];
    if let Some(summary) = &line.summary {
        facts.push(("energy", with_deviation(summary.energy)));
        facts.push(("distance", with_deviation(summary.distance)));
    }
    if let Some(behind) = line.behind.filter(|behind| behind.mean > 0.0) {
        let text = format!("{:.4} ± {:.4} (95 %)", behind.mean, behind.half_width);
        facts.push(("behind the best", text));
    }
    let references =
        format!("{:.3} to {:.3}", comparison.ceiling.energy.mean, comparison.floor.energy.mean);
    facts.push(("noise to private", references));
    let alongside = line.alongside.clone().unwrap_or_default();
    for (name, number) in [
        ("discrepancy", alongside.unlabelled),
        ("labelled discr.", alongside.labelled),
        ("zero-shot", alongside.zero_shot),
    ] {
        facts.extend(number.map(|number| (name, compact(number))));
    }
    facts.push(("verdict", line.verdict.clone()));
    let mut lines = canvas.pairs(&facts);
    lines.push(Line::styled("Enter takes it into the plan.", theme.muted));
    canvas.render(Paragraph::new(lines).wrap(Wrap { trim: false }), inner);
}
