//! The picture of the Compare screen.

use ratatui::layout::Constraint::{Fill, Length};
use ratatui::layout::{Constraint, Rect};
use ratatui::text::{Line, Span};

use super::state::{ARCHIVE, CompareScreen, DETAILS, Quantity, USUAL_WIDTH};
use crate::canvas::{Canvas, fitting, in_columns, in_rows, sort_mark};
use crate::context::Context;
use crate::methods::{Series, source_words};
use crate::privacy::Watch;
use crate::run_column::RunColumn;
use crate::session::ArchivedRun;
use crate::session::archive::{
    DIED, GIVEN_UP, MISSING, best, best_of_all, curve, epsilon, last_further, one_epsilon,
    state_words, tally,
};
use crate::session::follow::{unread_words, wrote_words};
use crate::tab::CHARTS;
use crate::theme::Theme;
use crate::verdict::{Standing, Tone, error_cell};
use crate::widgets::chart::{Chart, SeriesView};
use crate::widgets::smoothing::{PlotPoint, smooth};
use crate::widgets::track::TrackView;

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
    let order = screen.order(runs, context.filter(), &context.watch);
    match canvas.alone {
        Some(ARCHIVE) => return archive(screen, context, canvas, area, &order),
        Some(DETAILS) => return differences(screen, context, canvas, area),
        Some(_) => return chart(screen, context, canvas, area, &order),
        None => {}
    }
    let least = if area.height >= 30 { area.height * 2 / 5 } else { area.height / 2 };
    let rows = (runs.len() as u16 + 3).clamp(5, least.max(5));
    let [above, below] = in_rows(area, [Length(rows), Fill(1)]);
    archive(screen, context, canvas, above, &order);
    let chart_width = (below.width * 11 / 20).max(34);
    let [left, right] = in_columns(below, [Length(chart_width), Fill(1)]);
    chart(screen, context, canvas, left, &order);
    differences(screen, context, canvas, right);
}

fn archive(
    screen: &CompareScreen,
    context: &Context,
    canvas: &mut Canvas,
    area: Rect,
    order: &[usize],
) {
    let title = if screen.is_board {
        let runs = context.archived();
        let best = best_of_all(runs).map(|(run, what, error)| {
            let plan = run.plan.as_ref().map_or("", |plan| &plan.name);
            format!(" · least {what} {} ({plan})", error_cell(run.task(), error))
        });
        format!("{} tasks: {}{}", runs.len(), tally(runs), best.unwrap_or_default())
    } else {
        format!(
            "Runs · {} of {} · errors on held-out records",
            order.len(),
            context.archived().len()
        )
    };
    let inner = canvas.pane(area, &context.filtered_title(&title), ARCHIVE);
    if order.is_empty() {
        canvas.empty(inner, &["No run passes the filter; Esc clears it."]);
    } else {
        runs_table(screen, context, canvas, inner, order);
    }
}

/// The width that a column needs; numbers are not cut. Names are cut at `names` letters.
fn width_of(screen: &CompareScreen, context: &Context, column: RunColumn, names: u16) -> u16 {
    let longest = |least: u16| {
        let texts = context.archived().iter().map(|run| column.text(run, &context.watch));
        texts.map(|text| text.chars().count() as u16).fold(least, u16::max)
    };
    match column {
        // The user can make it wider or narrower.
        RunColumn::Plan if screen.width != USUAL_WIDTH => screen.width,
        RunColumn::Plan => longest(4).min(names),
        // A method is recognised by its first words.
        RunColumn::Method => longest(6).min(if names == LONGEST_NAME { names } else { 18 }),
        RunColumn::Time => 16,
        RunColumn::Epsilon | RunColumn::Delta => longest(3),
        RunColumn::Score | RunColumn::PublicLast | RunColumn::Outcome => longest(8),
        RunColumn::PublicBest => longest(11),
        RunColumn::PrivateBest => longest(14),
        RunColumn::PrivateLast | RunColumn::Steps => longest(9),
        RunColumn::NoPrivacy | RunColumn::Further(_) => {
            longest(column.title().chars().count() as u16)
        }
        RunColumn::Tag => longest(4).min(14),
        RunColumn::Run => 42,
    }
}

/// The columns of a board for a task in little room.
const OF_A_TASK: [RunColumn; 5] = [
    RunColumn::Plan,
    RunColumn::Outcome,
    RunColumn::Score,
    RunColumn::PublicBest,
    RunColumn::Steps,
];

/// The columns that fit, chosen by weight, in the order of the table, with their widths.
fn columns_that_fit(
    screen: &CompareScreen,
    context: &Context,
    room: u16,
) -> (Vec<RunColumn>, Vec<u16>) {
    const BY_WEIGHT: [RunColumn; 21] = [
        RunColumn::Plan,
        RunColumn::Epsilon,
        RunColumn::Score,
        RunColumn::PublicLast,
        RunColumn::PrivateLast,
        RunColumn::Outcome,
        RunColumn::Method,
        RunColumn::Time,
        RunColumn::Steps,
        RunColumn::Tag,
        RunColumn::PublicBest,
        RunColumn::PrivateBest,
        RunColumn::NoPrivacy,
        RunColumn::Delta,
        RunColumn::Further(Series::PrivateAbsoluteError),
        RunColumn::Further(Series::PublicAbsoluteError),
        RunColumn::Further(Series::PrivateAuc),
        RunColumn::Further(Series::PrivateBalancedAccuracy),
        RunColumn::Further(Series::PublicAuc),
        RunColumn::Further(Series::PublicBalancedAccuracy),
        RunColumn::Run,
    ];
    let shown = RunColumn::shown(!context.watch.is_sealed());
    let has = |column: RunColumn| match column {
        RunColumn::Score => context.archived().iter().any(|run| run.told.is_some()),
        RunColumn::Tag => context.archived().iter().any(|run| !run.tag.is_empty()),
        other => other.has_any(context.archived(), &context.watch),
    };
    let first = if screen.is_board { &OF_A_TASK[..] } else { &[] };
    let others = BY_WEIGHT.into_iter().filter(|column| !first.contains(column));
    let by_weight: Vec<RunColumn> = first
        .iter()
        .copied()
        .chain(others)
        .filter(|column| shown.contains(column) && has(*column))
        .collect();
    let fitted = |names: u16| {
        let width = |column| width_of(screen, context, column, names);
        fitting(by_weight.iter().copied(), width, room.saturating_sub(2))
    };
    // Names are not cut, unless this costs one of the most important columns. The state of a run is
    // visible even if little is left of its name.
    let standing = by_weight.iter().position(|column| *column == RunColumn::Outcome);
    let standing = standing.map_or(0, |place| place + 1);
    let has_first = |names, wanted: usize| fitted(names).len().min(wanted);
    let [whole, usual, short] = [LONGEST_NAME, USUAL_WIDTH, SHORTEST_NAME];
    let names = if has_first(usual, standing) < has_first(short, standing) {
        short
    } else if has_first(whole, FIRST_IN_WEIGHT) < has_first(usual, FIRST_IN_WEIGHT) {
        usual
    } else {
        whole
    };
    let mut columns = fitted(names);
    columns.sort_by_key(|column| RunColumn::ALL.iter().position(|other| other == column));
    let widths = columns.iter().map(|column| width_of(screen, context, *column, names)).collect();
    (columns, widths)
}

/// How many of the columns, by weight, come before uncut names.
const FIRST_IN_WEIGHT: usize = 8;

/// The longest name of a plan or a method.
const LONGEST_NAME: u16 = 48;
const SHORTEST_NAME: u16 = 12;

fn runs_table(
    screen: &CompareScreen,
    context: &Context,
    canvas: &mut Canvas,
    area: Rect,
    order: &[usize],
) {
    let (theme, glyphs) = (canvas.theme, canvas.glyphs);
    let (columns, mut cells) = columns_that_fit(screen, context, area.width);
    let mut header = vec![Line::raw("")];
    header.extend(columns.iter().map(|column| {
        let mark = sort_mark(*column == screen.sort, screen.reverse);
        let style = if column.is_exact() { theme.curator } else { theme.muted };
        let line = Line::styled(format!("{}{mark}", column.title()), style);
        if column.is_number() { line.right_aligned() } else { line }
    }));
    // The remaining room goes to cut names.
    let taken = cells.iter().map(|cell| cell + 1).sum::<u16>() + 1;
    let mut left = area.width.saturating_sub(taken);
    for (column, cell) in columns.iter().zip(&mut cells) {
        if matches!(column, RunColumn::Plan | RunColumn::Method | RunColumn::Tag) {
            let texts = order.iter().map(|index| &context.archived()[*index]);
            let texts = texts.map(|run| column.text(run, &context.watch).chars().count() as u16);
            let more = texts.max().unwrap_or(0).saturating_sub(*cell).min(left);
            (*cell, left) = (*cell + more, left - more);
        }
    }
    let mut widths = vec![Length(1)];
    widths.extend(cells.into_iter().map(Constraint::Length));
    let row = |place: usize| {
        let run = &context.archived()[order[place]];
        let slot = screen.slot(&run.id);
        let mark = slot
            .map_or(Span::raw(" "), |slot| Span::styled(glyphs.series(slot), theme.series(slot)));
        let mut cells = vec![Line::from(mark)];
        cells.extend(columns.iter().map(|column| cell(theme, run, *column, &context.watch)));
        cells
    };
    let selected = order.iter().position(|index| *index == screen.selected);
    let list = (ARCHIVE, order.len(), selected);
    canvas.list(area, (header, widths), list, row);
}

fn cell<'a>(theme: &Theme, run: &ArchivedRun, column: RunColumn, watch: &Watch) -> Line<'a> {
    let text = column.text(run, watch);
    let style = match column {
        _ if column.is_exact() => theme.curator,
        RunColumn::Outcome => match run.outcome.as_str() {
            "finished" => theme.good,
            "running" => theme.accent,
            "paused" | "missing" | "unseen" => theme.warning,
            "stopped" | "not begun" => theme.text,
            _ => theme.error,
        },
        _ => theme.text,
    };
    let line = Line::styled(text, style);
    if column.is_number() { line.right_aligned() } else { line }
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
    let quantity = screen.shown_quantity(context.archived(), &context.watch);
    let log = viewport.log || quantity.always_log();
    if quantity.is_of_runs() {
        // Every run of the table is a point; unpinned ones are all alike.
        let mut points: Vec<(usize, Option<usize>, [PlotPoint; 1], bool)> = order
            .iter()
            .filter_map(|&index| {
                let run = &context.archived()[index];
                let (value, exact) = match quantity {
                    Quantity::Utility(series) => {
                        let exact = curve(run, series, &context.watch)?.1;
                        (best(run, series, &context.watch)?, exact)
                    }
                    _ => (run.told.as_ref()?.error.value, false),
                };
                Some((index, screen.slot(&run.id), [(epsilon(run)?, value)], exact))
            })
            .collect();
        if let Some(one) = one_epsilon(points.iter().map(|(_, _, point, _)| point[0].0)) {
            for (_, _, point, _) in &mut points {
                point[0].0 = one;
            }
        }
        let title = format!("{} (b: next)", quantity.title());
        let shown = points.iter().map(|(index, ..)| &context.archived()[*index]);
        let mut chart = Chart::new(&title, theme, glyphs)
            .log(log)
            .percent(quantity.is_share(shown))
            .x_axis("ε", false)
            .legend(false)
            .empty("no run has both numbers");
        // Pinned runs are on top, so they come first.
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
    let curves: Vec<(usize, &ArchivedRun, Vec<PlotPoint>, bool)> = pinned
        .into_iter()
        .filter_map(|(slot, run)| {
            let (points, exact) = match quantity {
                Quantity::Series(series) => curve(run, series, &context.watch)?,
                _ => (&run.epsilon, false),
            };
            Some((slot, run, smooth(points, viewport.smoothing, log), exact))
        })
        .collect();
    let title = format!("{} (b: next)", quantity.title());
    let mut chart = Chart::new(&title, theme, glyphs)
        .log(log)
        .percent(quantity.is_share(curves.iter().map(|(_, run, ..)| *run)))
        .x_axis("step", true)
        .empty("no run has numbers of this kind: b shows others");
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

/// Only the differences between the pinned runs.
fn differences(screen: &CompareScreen, context: &Context, canvas: &mut Canvas, area: Rect) {
    let (theme, glyphs) = (canvas.theme, canvas.glyphs);
    let pinned = screen.pinned(context.archived());
    let is_pinned = screen.pins.iter().any(Option::is_some);
    let title = if is_pinned { "What differs" } else { "Selected run" };
    if !is_pinned {
        let lines = selected(screen, context, canvas, area.width.saturating_sub(2));
        return canvas.text_pane(area, title, DETAILS, lines, screen.detail);
    }
    let inner = canvas.pane(area, title, DETAILS);
    if pinned.len() < 2 {
        canvas.empty(inner, &["Pin a second run (Space) to see what differs."]);
        return;
    }
    let differences = screen.differences(context.archived());
    if differences.is_empty() {
        canvas.empty(inner, &["All pinned runs have the same settings and data."]);
        return;
    }
    let names = differences.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    let mut widths = vec![Length(names as u16)];
    widths.extend(pinned.iter().map(|_| Fill(1)));
    let mut header = vec![Line::raw("")];
    header.extend(
        pinned
            .iter()
            .map(|(slot, _)| Line::styled(glyphs.series(*slot).to_owned(), theme.series(*slot))),
    );
    let row = |place: usize| {
        let (name, values) = &differences[place];
        let mut cells = vec![Line::styled(name.clone(), theme.muted)];
        cells.extend(values.iter().map(|value| Line::raw(value.clone())));
        cells
    };
    let _ = canvas.table(inner, (header, widths), (differences.len(), None), row);
}

fn selected<'a>(
    screen: &CompareScreen,
    context: &Context,
    canvas: &Canvas,
    room: u16,
) -> Vec<Line<'a>> {
    let theme = canvas.theme;
    let Some(run) = screen.run(context.archived()) else { return Vec::new() };
    let mut facts = vec![("run", run.id.0.clone()), ("tag", run.tag.clone())];
    if let Some(told) = &run.told {
        facts.push(("released score", told.sentence()));
    }
    facts.extend(source_words(&run.source_weights).map(|words| ("released", words)));
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
    let further = last_further(run, Series::BESIDE_PUBLIC, &context.watch).words();
    if !further.is_empty() {
        facts.push(("public score", further));
    }
    let seen = match (run.peeked || run.exact.is_some(), run.is_settled()) {
        (true, _) => "computed ◆",
        (false, true) => "not computed (sealed view)",
        (false, false) => "none yet",
    };
    facts.push(("exact numbers", seen.to_owned()));
    if !run.is_settled()
        && let Some(process) = &run.process
    {
        let wrote = wrote_words(run.wrote);
        match run.outcome.as_str() {
            DIED => {
                facts.push(("died", format!("{process}, {wrote}; r resumes it")));
            }
            MISSING => {
                let text = format!("{process}, {wrote}; c on the Ledger screen (6) settles it");
                facts.push(("no result", text));
            }
            _ => facts.push(("carried out by", format!("{process}, {wrote}"))),
        }
    }
    if state_words(&run.outcome) == GIVEN_UP {
        facts.push(("given up", "p puts its settings into the plan, to start it again".to_owned()));
    }
    facts.push(("directory", run.directory.display().to_string()));
    if run.skipped > 0 {
        facts.push(("not shown", unread_words(run.skipped)));
    }
    if let Some(trouble) = &run.trouble {
        facts.push(("trouble", trouble.clone()));
    }
    let mut lines = Vec::new();
    if let Some(errors) = run.errors.as_ref().and_then(|errors| errors.reveal(&context.watch)) {
        let verdict = errors.verdict(Standing::Exact);
        let style = match verdict.tone {
            Tone::Good => theme.good,
            Tone::Unsure => theme.text,
            Tone::Bad => theme.error,
        };
        let text = verdict.text().replace('◆', canvas.glyphs.curator);
        lines.push(Line::styled(text, style));
        let further = errors.further_sentences(Standing::Exact).into_iter();
        let further = further.map(|text| text.replace('◆', canvas.glyphs.curator));
        lines.extend(further.map(|text| Line::styled(text, theme.curator)));
    }
    lines.extend(canvas.pairs(&facts, room));
    lines.push(Line::styled("Pin runs (Space) to overlay and compare them.", theme.muted));
    lines
}
