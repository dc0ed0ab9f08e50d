//! How the Compare screen looks.

use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Cell, Paragraph, Row, Wrap};

use super::state::{ARCHIVE, CompareScreen, Quantity};
use crate::privacy::Watch;
use crate::session::ArchivedRun;
use crate::session::archive::{best, curve, epsilon};
use crate::tui::canvas::{Canvas, fitting, sort_mark};
use crate::tui::context::Context;
use crate::tui::run_column::RunColumn;
use crate::tui::tab::CHARTS;
use crate::tui::theme::Theme;
use crate::tui::widgets::chart::{Chart, SeriesView};
use crate::tui::widgets::smoothing::{Point, smooth};
use crate::tui::widgets::track::TrackView;

pub fn view(screen: &CompareScreen, context: &Context, canvas: &mut Canvas, area: Rect) {
    let Some(runs) = &context.archive else {
        canvas.empty_box(area, "Compare", &["Reading the run directories…"]);
        return;
    };
    if runs.is_empty() {
        let words = "No run in this workspace yet. Press 3 for the plan, then l to launch it.";
        canvas.empty_box(area, "Compare", &[words]);
        return;
    }
    let least = if area.height >= 30 { area.height * 2 / 5 } else { area.height / 2 };
    let rows = (runs.len() as u16 + 3).clamp(5, least.max(5));
    let [above, below] =
        area.layout(&Layout::vertical([Constraint::Length(rows), Constraint::Fill(1)]));
    let order = screen.order(runs, context.filter(), &context.watch);
    let title = format!("Runs · {} of {}", order.len(), runs.len());
    let inner = canvas.pane(above, &context.filtered_title(&title), ARCHIVE);
    if order.is_empty() {
        canvas.empty(inner, &["No run passes the filter; Esc clears it."]);
    } else {
        runs_table(screen, context, canvas, inner, &order);
    }
    let chart_width = (below.width * 11 / 20).max(34);
    let [left, right] =
        below.layout(&Layout::horizontal([Constraint::Length(chart_width), Constraint::Fill(1)]));
    chart(screen, context, canvas, left, &order);
    differences(screen, context, canvas, right);
}

/// What a column needs; the first one is as wide as the user made it.
fn width_of(screen: &CompareScreen, column: RunColumn) -> u16 {
    match column {
        RunColumn::Plan => screen.width,
        RunColumn::Method | RunColumn::Time => 18,
        RunColumn::Epsilon | RunColumn::Delta => 6,
        RunColumn::PublicLast | RunColumn::PublicBest | RunColumn::PrivateBest => 8,
        RunColumn::PrivateLast | RunColumn::Steps | RunColumn::Outcome => 9,
        RunColumn::Tag => 14,
        RunColumn::Run => 42,
    }
}

/// The columns that fit, chosen by weight, in the order of the table.
fn columns_that_fit(screen: &CompareScreen, context: &Context, room: u16) -> Vec<RunColumn> {
    const BY_WEIGHT: [RunColumn; 13] = [
        RunColumn::Plan,
        RunColumn::Epsilon,
        RunColumn::PublicLast,
        RunColumn::PublicBest,
        RunColumn::PrivateLast,
        RunColumn::PrivateBest,
        RunColumn::Outcome,
        RunColumn::Method,
        RunColumn::Steps,
        RunColumn::Tag,
        RunColumn::Time,
        RunColumn::Delta,
        RunColumn::Run,
    ];
    let shown = RunColumn::shown(!context.watch.is_sealed());
    let by_weight = BY_WEIGHT.into_iter().filter(|column| shown.contains(column));
    let width = |column| width_of(screen, column);
    let mut columns = fitting(by_weight, width, room.saturating_sub(2));
    columns.sort_by_key(|column| RunColumn::ALL.iter().position(|other| other == column));
    columns
}

fn runs_table(
    screen: &CompareScreen,
    context: &Context,
    canvas: &mut Canvas,
    area: Rect,
    order: &[usize],
) {
    let (theme, glyphs) = (canvas.theme, canvas.glyphs);
    let columns = columns_that_fit(screen, context, area.width);
    let mut header = vec![Line::raw("")];
    header.extend(columns.iter().map(|column| {
        let mark = sort_mark(*column == screen.sort, screen.reverse);
        let style = if column.is_exact() { theme.curator } else { theme.muted };
        let line = Line::styled(format!("{}{mark}", column.title()), style);
        if column.is_number() { line.right_aligned() } else { line }
    }));
    let mut widths = vec![Constraint::Length(1)];
    widths.extend(columns.iter().map(|column| Constraint::Length(width_of(screen, *column))));
    let row = |place: usize| {
        let run = &context.archived()[order[place]];
        let slot = screen.slot(&run.id);
        let mark = slot
            .map_or(Span::raw(" "), |slot| Span::styled(glyphs.series(slot), theme.series(slot)));
        let mut cells = vec![Cell::from(mark)];
        cells.extend(columns.iter().map(|column| cell(theme, run, *column, &context.watch)));
        Row::new(cells)
    };
    let selected = order.iter().position(|index| *index == screen.selected);
    let list = (ARCHIVE, order.len(), selected);
    canvas.list(area, (header, widths), list, row);
}

fn cell<'a>(theme: &Theme, run: &ArchivedRun, column: RunColumn, watch: &Watch) -> Cell<'a> {
    let text = column.text(run, watch);
    let style = match column {
        _ if column.is_exact() => theme.curator,
        RunColumn::Outcome => match run.outcome.as_str() {
            "finished" => theme.good,
            "open" => theme.warning,
            "stopped" => theme.text,
            _ => theme.error,
        },
        _ => theme.text,
    };
    let line = Line::styled(text, style);
    Cell::from(if column.is_number() { line.right_aligned() } else { line })
}

fn chart(
    screen: &CompareScreen,
    context: &Context,
    canvas: &mut Canvas,
    area: Rect,
    order: &[usize],
) {
    let (theme, glyphs) = (canvas.theme, canvas.glyphs);
    let viewport = &screen.viewport;
    let log = viewport.log || screen.quantity.always_log();
    if let Quantity::Utility(series) = screen.quantity {
        // Every run of the table is a point; unpinned ones are all alike.
        let points: Vec<(usize, Option<usize>, [Point; 1], bool)> = order
            .iter()
            .filter_map(|&index| {
                let run = &context.archived()[index];
                let exact = curve(run, series, &context.watch)?.1;
                let point = [(epsilon(run)?, best(run, series, &context.watch)?)];
                Some((index, screen.slot(&run.id), point, exact))
            })
            .collect();
        let title = format!("{} (b: next)", screen.quantity.title());
        let mut chart = Chart::new(&title, theme, glyphs)
            .log(log)
            .x_axis("ε", false)
            .legend(false)
            .empty("no run has both numbers");
        // Pinned runs lie on top: they come first.
        for pinned in [true, false] {
            for (_, slot, point, curator) in points.iter().filter(|it| it.1.is_some() == pinned) {
                chart = chart.series(SeriesView {
                    name: "",
                    style: slot.map_or(theme.muted, |slot| theme.series(slot)),
                    curator: *curator,
                    points: point.as_slice().into(),
                    slot: slot.unwrap_or(4),
                });
            }
        }
        canvas.pointed_chart(area, CHARTS, chart, viewport);
        return;
    }
    let pinned = screen.pinned(context.archived());
    let curves: Vec<(usize, &ArchivedRun, Vec<Point>, bool)> = pinned
        .into_iter()
        .filter_map(|(slot, run)| {
            let (points, exact) = match screen.quantity {
                Quantity::Series(series) => curve(run, series, &context.watch)?,
                _ => (&run.epsilon, false),
            };
            Some((slot, run, smooth(points, viewport.smoothing, log), exact))
        })
        .collect();
    let title = format!("{} (b: next)", screen.quantity.title());
    let mut chart = Chart::new(&title, theme, glyphs)
        .log(log)
        .x_axis("step", true)
        .empty("no numbers of this kind: b shows others");
    for (slot, run, points, curator) in &curves {
        chart = chart.series(SeriesView {
            name: run.plan.as_ref().map_or("run", |plan| &plan.name),
            style: theme.series(*slot),
            curator: *curator,
            points: TrackView::from(points),
            slot: *slot,
        });
    }
    canvas.pointed_chart(area, CHARTS, chart, viewport);
}

/// What differs between the pinned runs, and nothing else.
fn differences(screen: &CompareScreen, context: &Context, canvas: &mut Canvas, area: Rect) {
    let (theme, glyphs) = (canvas.theme, canvas.glyphs);
    let pinned = screen.pinned(context.archived());
    let is_pinned = screen.pins.iter().any(Option::is_some);
    let title = if is_pinned { "What differs" } else { "Selected run" };
    let inner = canvas.boxed(area, title);
    if !is_pinned {
        selected(screen, context, canvas, inner);
        return;
    }
    if pinned.len() < 2 {
        canvas.empty(inner, &["Pin a second run (Space) to see what differs."]);
        return;
    }
    let differences = screen.differences(context.archived());
    if differences.is_empty() {
        canvas.empty(inner, &["The same settings in every pinned run."]);
        return;
    }
    let names = differences.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    let mut widths = vec![Constraint::Length(names as u16)];
    widths.extend(pinned.iter().map(|_| Constraint::Fill(1)));
    let mut header = vec![Line::raw("")];
    header.extend(
        pinned
            .iter()
            .map(|(slot, _)| Line::styled(glyphs.series(*slot).to_owned(), theme.series(*slot))),
    );
    let row = |place: usize| {
        let (name, values) = &differences[place];
        let mut cells = vec![Cell::from(Span::styled(name.clone(), theme.muted))];
        cells.extend(values.iter().map(|value| Cell::from(value.clone())));
        Row::new(cells)
    };
    let _ = canvas.table(inner, (header, widths), (differences.len(), None), row);
}

fn selected(screen: &CompareScreen, context: &Context, canvas: &mut Canvas, area: Rect) {
    let theme = canvas.theme;
    let Some(run) = screen.run(context.archived()) else { return };
    let mut facts = vec![("run", run.id.0.clone()), ("tag", run.tag.clone())];
    if let Some(plan) = &run.plan {
        facts.push(("private", plan.private.clone()));
        facts.push(("public", plan.public.join(" + ")));
        let settings: Vec<String> =
            plan.settings.iter().map(|(key, value)| format!("{key} {value}")).collect();
        let settings =
            if settings.is_empty() { "defaults".to_owned() } else { settings.join(", ") };
        facts.push(("settings", settings));
        facts.push(("seed", plan.seed.to_string()));
    }
    let seen = if run.peeked { "computed ◆" } else { "none: sealed" };
    facts.push(("exact numbers", seen.to_owned()));
    facts.push(("directory", run.directory.display().to_string()));
    if let Some(trouble) = &run.trouble {
        facts.push(("trouble", trouble.clone()));
    }
    let mut lines = canvas.pairs(&facts);
    lines.push(Line::styled("Pin runs (Space) to overlay and compare them.", theme.muted));
    canvas.render(Paragraph::new(lines).wrap(Wrap { trim: false }), area);
}
