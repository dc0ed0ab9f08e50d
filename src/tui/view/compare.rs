//! Compare: runs side by side.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Cell, Row};

use super::run::place;
use super::{Hits, boxed, empty, filtered_title, pane, table};
use crate::session::ArchivedRun;
use crate::tui::app::{App, Pane};
use crate::tui::compare::{Column, Shown, best, curve, epsilon};
use crate::tui::widgets::chart::{Chart, SeriesView};
use crate::tui::widgets::series::{Point, smooth};
use crate::tui::widgets::track::TrackView;

pub fn view(app: &App, frame: &mut Frame, area: Rect, hits: &mut Hits) {
    let screen = &app.compare;
    let Some(runs) = &screen.runs else {
        let inner = boxed(app, frame, area, "Compare");
        empty(app, frame, inner, &["Reading the run directories…"]);
        return;
    };
    if runs.is_empty() {
        let inner = boxed(app, frame, area, "Compare");
        empty(
            app,
            frame,
            inner,
            &["No run in this workspace yet. Press 3 for the plan, then l to launch it."],
        );
        return;
    }
    let least = if area.height >= 30 { area.height * 2 / 5 } else { area.height / 2 };
    let rows = (runs.len() as u16 + 3).clamp(5, least.max(5));
    let [above, below] =
        area.layout(&Layout::vertical([Constraint::Length(rows), Constraint::Fill(1)]));
    let order = screen.order(app.filter(), &app.watch);
    let title = format!("Runs · {} of {}", order.len(), runs.len());
    let inner = pane(app, frame, above, &filtered_title(app, &title), Pane::Archive);
    if order.is_empty() {
        empty(app, frame, inner, &["No run passes the filter; Esc clears it."]);
    } else {
        runs_table(app, frame, inner, &order, hits);
    }
    let chart_width = (below.width * 11 / 20).max(34);
    let [left, right] =
        below.layout(&Layout::horizontal([Constraint::Length(chart_width), Constraint::Fill(1)]));
    chart(app, frame, left, &order, hits);
    differences(app, frame, right);
}

/// What a column needs; the first one is as wide as the user made it.
fn width_of(app: &App, column: Column) -> u16 {
    match column {
        Column::Plan => app.compare.width,
        Column::Method | Column::Time => 18,
        Column::Epsilon | Column::Delta => 6,
        Column::PublicLast | Column::PublicBest | Column::PrivateBest => 8,
        Column::PrivateLast | Column::Steps | Column::Outcome => 9,
        Column::Tag => 14,
        Column::Run => 42,
    }
}

/// The columns that fit, the most telling ones first; in the order of the table.
fn columns_that_fit(app: &App, room: u16) -> Vec<Column> {
    const BY_WEIGHT: [Column; 13] = [
        Column::Plan,
        Column::Epsilon,
        Column::PublicLast,
        Column::PublicBest,
        Column::PrivateLast,
        Column::PrivateBest,
        Column::Outcome,
        Column::Method,
        Column::Steps,
        Column::Tag,
        Column::Time,
        Column::Delta,
        Column::Run,
    ];
    let shown = Column::shown(!app.watch.is_sealed());
    let mut left = room.saturating_sub(2);
    let mut fitting: Vec<Column> = BY_WEIGHT
        .into_iter()
        .filter(|column| shown.contains(column))
        .take_while(|column| {
            let width = width_of(app, *column) + 1;
            let fits = width <= left;
            left = left.saturating_sub(width);
            fits
        })
        .collect();
    fitting.sort_by_key(|column| Column::ALL.iter().position(|other| other == column));
    fitting
}

fn runs_table(app: &App, frame: &mut Frame, area: Rect, order: &[usize], hits: &mut Hits) {
    let screen = &app.compare;
    let columns = columns_that_fit(app, area.width);
    let mut header = vec![Line::raw("")];
    header.extend(columns.iter().map(|column| {
        let mark = match (*column == screen.sort, screen.reverse) {
            (true, true) => "▼",
            (true, false) => "▲",
            _ => "",
        };
        let style = if column.is_exact() { app.theme.curator } else { app.theme.muted };
        let line = Line::styled(format!("{}{mark}", column.title()), style);
        if column.is_number() { line.right_aligned() } else { line }
    }));
    let mut widths = vec![Constraint::Length(1)];
    widths.extend(columns.iter().map(|column| Constraint::Length(width_of(app, *column))));
    let row = |place: usize| {
        let run = &screen.runs()[order[place]];
        let slot = screen.slot(&run.id);
        let mark = slot.map_or(Span::raw(" "), |slot| {
            Span::styled(app.glyphs.series(slot), app.theme.series(slot))
        });
        let mut cells = vec![Cell::from(mark)];
        cells.extend(columns.iter().map(|column| cell(app, run, *column)));
        Row::new(cells)
    };
    let selected = order.iter().position(|index| *index == screen.selected);
    let list = (Pane::Archive, order.len(), selected);
    hits.lists.push(table(app, frame, area, (header, widths), list, row));
}

fn cell<'a>(app: &App, run: &ArchivedRun, column: Column) -> Cell<'a> {
    let text = column.text(run, &app.watch);
    let style = match column {
        _ if column.is_exact() => app.theme.curator,
        Column::Outcome => match run.outcome.as_str() {
            "finished" => app.theme.good,
            "open" => app.theme.warning,
            "stopped" => app.theme.text,
            _ => app.theme.error,
        },
        _ => app.theme.text,
    };
    let line = Line::styled(text, style);
    Cell::from(if column.is_number() { line.right_aligned() } else { line })
}

fn chart(app: &App, frame: &mut Frame, area: Rect, order: &[usize], hits: &mut Hits) {
    let (screen, viewport) = (&app.compare, &app.compare.viewport);
    let log = viewport.log || screen.shown.always_log();
    if let Shown::Utility(series) = screen.shown {
        // Every run of the table is a point; unpinned ones are all alike.
        let points: Vec<(usize, Option<usize>, [Point; 1], bool)> = order
            .iter()
            .filter_map(|&index| {
                let run = &screen.runs()[index];
                let exact = curve(run, series, &app.watch)?.1;
                let point = [(epsilon(run)?, best(run, series, &app.watch)?)];
                Some((index, screen.slot(&run.id), point, exact))
            })
            .collect();
        let title = format!("{} (b: next)", screen.shown.title());
        let mut chart = Chart::new(&title, &app.theme, &app.glyphs)
            .log(log)
            .x_axis("ε", false)
            .legend(false)
            .empty("no run has both numbers");
        // Pinned runs lie on top: they come first.
        for pinned in [true, false] {
            for (_, slot, point, curator) in points.iter().filter(|it| it.1.is_some() == pinned) {
                chart = chart.series(SeriesView {
                    name: "",
                    style: slot.map_or(app.theme.muted, |slot| app.theme.series(slot)),
                    curator: *curator,
                    points: point.as_slice().into(),
                    slot: slot.unwrap_or(4),
                });
            }
        }
        place(app, frame, area, chart, viewport, hits);
        return;
    }
    let pinned = screen.pinned();
    let curves: Vec<(usize, &ArchivedRun, Vec<Point>, bool)> = pinned
        .into_iter()
        .filter_map(|(slot, run)| {
            let (points, exact) = match screen.shown {
                Shown::Series(series) => curve(run, series, &app.watch)?,
                _ => (&run.epsilon, false),
            };
            Some((slot, run, smooth(points, viewport.smoothing, log), exact))
        })
        .collect();
    let title = format!("{} (b: next)", screen.shown.title());
    let mut chart = Chart::new(&title, &app.theme, &app.glyphs)
        .log(log)
        .x_axis("step", true)
        .empty("no numbers of this kind: b shows others");
    for (slot, run, points, curator) in &curves {
        chart = chart.series(SeriesView {
            name: run.plan.as_ref().map_or("run", |plan| &plan.name),
            style: app.theme.series(*slot),
            curator: *curator,
            points: TrackView::from(points),
            slot: *slot,
        });
    }
    place(app, frame, area, chart, viewport, hits);
}

/// What differs between the pinned runs, and nothing else.
fn differences(app: &App, frame: &mut Frame, area: Rect) {
    let screen = &app.compare;
    let pinned = screen.pinned();
    let is_pinned = screen.pins.iter().any(Option::is_some);
    let title = if is_pinned { "What differs" } else { "Selected run" };
    let inner = boxed(app, frame, area, title);
    if !is_pinned {
        selected(app, frame, inner);
        return;
    }
    if pinned.len() < 2 {
        empty(app, frame, inner, &["Pin a second run (Space) to see what differs."]);
        return;
    }
    let differences = screen.differences();
    if differences.is_empty() {
        empty(app, frame, inner, &["The same settings in every pinned run."]);
        return;
    }
    let names = differences.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    let mut widths = vec![Constraint::Length(names as u16)];
    widths.extend(pinned.iter().map(|_| Constraint::Fill(1)));
    let mut header = vec![Line::raw("")];
    header.extend(pinned.iter().map(|(slot, _)| {
        Line::styled(app.glyphs.series(*slot).to_owned(), app.theme.series(*slot))
    }));
    let row = |place: usize| {
        let (name, values) = &differences[place];
        let mut cells = vec![Cell::from(Span::styled(name.clone(), app.theme.muted))];
        cells.extend(values.iter().map(|value| Cell::from(value.clone())));
        Row::new(cells)
    };
    let list = (Pane::Archive, differences.len(), None);
    // Nothing in it can be selected: it is not a list for the mouse.
    let _ = table(app, frame, inner, (header, widths), list, row);
}

fn selected(app: &App, frame: &mut Frame, area: Rect) {
    let Some(run) = app.compare.run() else { return };
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
    let mut lines = super::pairs(app, &facts);
    lines.push(Line::styled("Pin runs (Space) to overlay and compare them.", app.theme.muted));
    let paragraph = ratatui::widgets::Paragraph::new(lines);
    frame.render_widget(paragraph.wrap(ratatui::widgets::Wrap { trim: false }), area);
}
