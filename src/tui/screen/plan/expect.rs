//! What to expect from a plan: its rehearsals on public data, as they arrive.

use ratatui::style::Style;

use crate::canvas::{
    Canvas, Fill, Length, Line, Rect, Span, bold, in_rows, longest, wrapped_lines,
};
use crate::context::Context;
use crate::engine::rehearse::RehearsalProgress;
use crate::glossary::Explained;
use crate::notice::one_line;
use crate::rehearsal::advice::{Advice, PlayerLine as Found, PlayerStanding};
use crate::rehearsal::{ErrorMeasure, Player};
use crate::screen::plan::COST;
use crate::widgets::chart::Chart;
use crate::widgets::number::compact;
use crate::widgets::ranges::{self, Ranged};
use crate::widgets::shortened_by_words;

/// Rows of the chart, if there is room.
const CHART_ROWS: u16 = 14;
const LEAST_CHART: u16 = 7;

/// The number of methods in the chart: the best ones.
const CURVES: usize = 4;

/// `scroll` is the first line that is shown where not all of it fits and it has the keys.
pub fn expectations(context: &Context, canvas: &mut Canvas, area: Rect, scroll: Option<usize>) {
    let rehearsal = &context.rehearsal;
    let Some(progress) = &rehearsal.progress else {
        let inner = canvas.boxed(area, "What to expect · preparing…");
        canvas.empty(inner, &["Preparing the public data to stand in for the private ones…"]);
        return;
    };
    let RehearsalProgress { done, total, advice, .. } = progress;
    let title = match (rehearsal.work.is_some(), done == total) {
        (true, _) => format!("Rehearsal · {}", progress.words()),
        (false, true) => "What to expect".to_owned(),
        (false, false) => {
            format!("What to expect · stopped at {done} of {total}: c continues, r: costs")
        }
    };
    let (width, height) = (area.width.saturating_sub(2), area.height.saturating_sub(2));
    let epsilon = context.shown_plan().map(|plan| plan.target.epsilon);
    let near = epsilon.and_then(|epsilon| advice.at_epsilon(epsilon));
    let shown = Shown { context, epsilon, is_near: near.is_some() };
    let advice = near.as_ref().unwrap_or(advice);
    let said = match done {
        0 => vec![Line::raw(
            "Models of the public records are taught first, for all trials: with many columns this takes most of the time.",
        )],
        done => findings(shown, advice, done < total, canvas, width),
    };
    let lines = said.iter().map(|line| wrapped_lines(&line.to_string(), width)).sum::<u16>();
    let table = standings(advice, (canvas, true), width).len() as u16 + 1;
    if let Some(first) = scroll.filter(|_| lines + table > height) {
        let all = said.into_iter().chain([Line::raw("")]);
        let all = all.chain(standings(advice, (canvas, false), width)).collect();
        return canvas.text_pane(area, &title, COST, all, first);
    }
    let inner = canvas.boxed(area, &title);
    let spare = inner.height.saturating_sub(lines + table + 1);
    let chart = if spare >= LEAST_CHART { spare.min(CHART_ROWS) } else { 0 };
    let [words, curves, standings] = in_rows(
        inner,
        [Length(lines + u16::from(inner.height > lines + 4)), Length(chart), Fill(1)],
    );
    canvas.paragraph(said, false, words);
    if chart > 0 {
        // The table names the curves.
        rehearsed_errors(advice, (epsilon, false), canvas, curves);
    }
    let table = self::standings(advice, (canvas, chart > 0), standings.width);
    canvas.lines(table, standings);
}

/// The findings of a rehearsal in full.
pub fn all_findings(advice: &Advice) -> Explained {
    Explained {
        name: "findings of the rehearsal".to_owned(),
        also: "expect advice method".to_owned(),
        text: [advice.sentences(), vec![advice.who_plays()]].concat().join("\n\n"),
    }
}

/// What the findings are shown for.
#[derive(Clone, Copy)]
struct Shown<'a> {
    context: &'a Context,
    /// The plan's ε, and whether one was rehearsed near it.
    epsilon: Option<f64>,
    is_near: bool,
}

/// The findings that a person decides with; `i` has all of them.
fn findings(
    Shown { context, epsilon: own, is_near }: Shown,
    advice: &Advice,
    so_far: bool,
    canvas: &Canvas,
    room: u16,
) -> Vec<Line<'static>> {
    let theme = canvas.theme;
    let warning = |text: String| Line::styled(text, theme.warning);
    let Some((player, standing)) = advice.advised() else {
        return advice.sentences().into_iter().map(Line::raw).collect();
    };
    let epsilon = advice.epsilons[advice.at];
    let all = advice.cases.len();
    let use_it = match (so_far, advice.cases_of_methods()) {
        (false, _) => "Use".to_owned(),
        (true, cases) if cases == all => format!("So far ({}): use", advice.methods_tried()),
        (true, cases) => {
            format!("So far ({}, {cases} of {all} rehearsals): use", advice.methods_tried())
        }
    };
    let head = if player.spends() {
        let by = match advice.sorted().next() {
            // The table is sorted by wrong answers.
            Some(first)
                if first.player != *player && advice.measure() == ErrorMeasure::WrongAnswers =>
            {
                ", chosen by logarithmic loss"
            }
            _ => "",
        };
        format!("{use_it} {}{by}, at ε {}", player.in_a_sentence(), compact(epsilon))
    } else {
        format!("{use_it} public data alone at ε {}: it spends nothing", compact(epsilon))
    };
    let mut lines = vec![Line::styled(head, bold(theme.text))];
    let refusal = super::refusal(context).map(one_line);
    lines.extend(refusal.map(|words| Line::styled(words, theme.error)));
    match own.map(compact) {
        Some(own) if !is_near => {
            lines.push(warning(format!("not rehearsed at the plan's ε {own}: r")));
        }
        Some(own) if own != compact(epsilon) => {
            let words = format!("the nearest that was rehearsed to the plan's ε {own}");
            lines.push(Line::styled(words, theme.muted));
        }
        _ => {}
    }
    let plan = context.shown_plan().filter(|_| !so_far);
    let own = plan.map(|it| (it.player(), it.target.epsilon));
    let is_other = |(own, epsilon): &(Player, f64)| advice.of_another(own, *epsilon).is_some();
    let own = own.filter(is_other);
    if player.spends() {
        let own = own.and_then(|(own, epsilon)| Some(advice.of_plan(&own, epsilon)?.0));
        lines.extend(result(advice, (standing, own), canvas, room));
    } else {
        let own = own.and_then(|(own, epsilon)| advice.of_another(&own, epsilon));
        lines.extend(own.map(Line::raw));
        lines.extend(advice.beside_least(player).map(Line::raw));
    }
    lines.extend(advice.ends().filter(|_| !so_far).map(Line::raw));
    let limits = advice.limits(standing).into_iter().filter(|_| player.spends());
    lines.extend(limits.map(warning));
    lines.extend(ranked_against(context, canvas));
    lines.extend(cannot_play(advice).map(|text| Line::styled(text, theme.muted)));
    lines.push(Line::styled("i, then ↓: all findings", theme.muted));
    lines
}

/// A line on public parts that cannot act as private.
fn cannot_play(advice: &Advice) -> Option<String> {
    match advice.cannot_play().count() {
        0 => None,
        1 => Some("1 public part cannot play the private role: i says why".to_owned()),
        count => Some(format!("{count} public parts cannot play the private role: i says why")),
    }
}

/// What the ranking says against the public data of the plan.
pub fn ranked_against(context: &Context, canvas: &Canvas) -> Option<Line<'static>> {
    let plan = context.shown_plan()?;
    let Some(ranked) = context.ranking.exact(&context.watch) else {
        let (released, _) = context.ranking.released.as_ref()?;
        let text = released.against(&plan.public)?;
        return Some(Line::styled(text, canvas.theme.warning));
    };
    let text = ranked.against(&plan.public)?;
    Some(Line::styled(format!("{} {text}", canvas.glyphs.curator), canvas.theme.curator))
}

/// The rehearsed error beside that of public data alone, and the range of a run on an axis with 0 for
/// the same error. Below it, the same of a plan that is another one.
pub fn result(
    advice: &Advice,
    (standing, of_plan): (PlayerStanding, Option<PlayerStanding>),
    canvas: &Canvas,
    room: u16,
) -> Vec<Line<'static>> {
    let (theme, glyphs) = (canvas.theme, canvas.glyphs);
    // The mark of public data alone on the axis below.
    let mark = glyphs.vertical;
    let told = format!("{} than public data alone ({mark})", advice.better(standing));
    let mut lines = canvas.pairs(&[("result", told)], room);
    let runs = std::iter::once(("range  ", standing)).chain(of_plan.map(|it| ("plan   ", it)));
    let runs: Vec<(&str, PlayerStanding)> = runs.collect();
    let change = |ratio: f64| match 100.0 * (ratio - 1.0) {
        less if less < 0.0 => format!("{:.0} % {}", -less, advice.less()),
        more => format!("{more:.0} % more"),
    };
    let told = runs.iter().filter(|(_, it)| advice.reservation(*it).is_none());
    let ends = told.flat_map(|(_, it)| <[f64; 2]>::from(it.range())).chain([1.0]);
    let axis = ranges::axis(ends);
    let texts = runs.iter().map(|(_, it)| {
        let (low, high) = it.range();
        [change(low), change(high)]
    });
    let texts: Vec<[String; 2]> = texts.collect();
    let [left, right] = [0, 1].map(|at| longest(texts.iter().map(|it| &it[at])));
    let width = room.saturating_sub(7 + left + right + 2).min(MOST_RANGE);
    for ((name, standing), [least, most]) in runs.into_iter().zip(texts) {
        let mut spans = vec![Span::styled(name, theme.muted)];
        let reservation = advice.reservation(standing);
        if let (None, Some(axis)) = (reservation, &axis) {
            let (low, high) = standing.range();
            let marker = glyphs.series(0);
            let run = Ranged { value: standing.ratio, low, high, marker, style: theme.series(0) };
            // The place of public data alone is seen in the range, too.
            let marker = glyphs.vertical;
            let alone = Ranged { value: 1.0, low: 1.0, high: 1.0, marker, style: theme.warning };
            spans.push(Span::raw(format!("{least:>left$} ", left = usize::from(left))));
            spans.extend(ranges::line(axis, width, &[alone, run], None, glyphs));
            spans.push(Span::raw(format!(" {most}")));
        }
        spans.extend(reservation.map(|words| Span::styled(words, theme.warning)));
        lines.push(Line::from(spans));
    }
    if standing.disagree() {
        lines.push(Line::styled("       the rehearsals disagree", theme.warning));
    }
    lines
}

/// The most cells of the range of a run.
const MOST_RANGE: u16 = 40;

/// The error relative to public data alone, over ε, with the plan's ε and whether there is a legend.
pub fn rehearsed_errors(
    advice: &Advice,
    (epsilon, legend): (Option<f64>, bool),
    canvas: &mut Canvas,
    area: Rect,
) {
    let (theme, glyphs) = (canvas.theme, canvas.glyphs);
    let curves = advice.curves(CURVES);
    let mut chart = Chart::new("error, × public data alone", theme, glyphs)
        .x_axis("ε", false)
        .reference(1.0, "")
        // The legend has the numbers at the plan's ε.
        .cursor(epsilon)
        .legend(legend)
        .empty("no method has been tried so far");
    for (slot, (name, points)) in curves.iter().enumerate() {
        chart = chart.curve((name, slot), false, points);
    }
    canvas.chart(area, &chart);
}

/// Every player at the plan's ε, the best first, with the markers of the curves if these are drawn.
fn standings(advice: &Advice, (canvas, drawn): (&Canvas, bool), width: u16) -> Vec<Line<'static>> {
    let (theme, glyphs) = (canvas.theme, canvas.glyphs);
    let curves = advice.curves(if drawn { CURVES } else { 0 });
    let head = format!("{} at ε {}", advice.measure().words(), compact(advice.epsilons[advice.at]));
    let width = usize::from(width);
    // Methods for classes are chosen by it.
    let has_log_loss = advice.sorted().any(|line| log_loss(advice, line).is_some());
    let blank = if drawn { "  " } else { "" };
    let columns = |[ratio, log_loss, best]: [usize; 3]| {
        [ratio, if has_log_loss { log_loss } else { 0 }, best]
    };
    let room_of =
        |columns: [usize; 3]| width.saturating_sub(columns.iter().sum()).max(blank.len() + 1);
    let longest = longest(advice.sorted().map(|line| line.player.title()));
    let (wide, narrow) = (columns([9, 10, 10]), columns([6, 6, 6]));
    // Columns become narrower before names are shortened.
    let is_narrow = usize::from(longest) + blank.len() > room_of(wide);
    let columns = if is_narrow { narrow } else { wide };
    let room = room_of(columns);
    let short = |name: &str| shortened_by_words(name, (room - blank.len()) as u16, "…");
    let row = |name: &str, texts: [&str; 3], style: Style| {
        let slot = curves.iter().position(|(curve, _)| curve == name);
        let mark = slot.map_or(blank.to_owned(), |slot| format!("{} ", glyphs.series(slot)));
        let marked = Span::styled(mark, slot.map_or(style, |slot| theme.series(slot)));
        let cell = |(text, columns): (&str, usize)| match columns {
            0 => String::new(),
            columns => format!("{text:>columns$}"),
        };
        let numbers: String = texts.into_iter().zip(columns).map(cell).collect();
        let cells = room - blank.len();
        let line = |name: &str| Span::styled(format!("{name:<cells$}{numbers}"), style);
        // Where two names would look the same, each has a line of its own.
        let name_here = short(name);
        let alike = advice.lines.iter().filter(|line| short(&line.player.title()) == name_here);
        if name_here != name && alike.count() > 1 {
            let above = Line::from(vec![marked, Span::styled(name.to_owned(), style)]);
            return vec![above, Line::from(vec![Span::raw(blank), line("")])];
        }
        vec![Line::from(vec![marked, line(&name_here)])]
    };
    let heads =
        if is_narrow { ["×", "log.", "best"] } else { ["× public", "log. loss", "best in"] };
    let mut lines = Vec::new();
    // What the numbers are has a line of its own where it does not fit beside their names.
    if head.chars().count() + blank.len() > room {
        lines.push(Line::styled(format!("{blank}{head}"), theme.muted));
        lines.extend(row("× public alone", heads, theme.muted));
    } else {
        lines.extend(row(&head, heads, theme.muted));
    }
    for line in advice.for_table() {
        let style = match (&line.player, advice.is_choice(line, advice.at)) {
            (_, true) => bold(theme.good),
            (Player::PublicOnly | Player::NoPrivacy, _) => theme.muted,
            _ => theme.text,
        };
        let (ratio, best) = words(advice, line);
        let log_loss = log_loss(advice, line).map(|it| format!("{it:.3}")).unwrap_or_default();
        let best = if is_narrow { best.replace(" of ", "/") } else { best };
        lines.extend(row(&line.player.title(), [&ratio, &log_loss, &best], style));
    }
    lines
}

/// The logarithmic loss relative to public data alone, for classes.
fn log_loss(advice: &Advice, line: &Found) -> Option<f64> {
    line.standings[advice.at]?.log_loss
}

fn words(advice: &Advice, line: &Found) -> (String, String) {
    match line.standings[advice.at] {
        None if line.failed.is_some() => ("–".to_owned(), "no fit".to_owned()),
        None => ("…".to_owned(), String::new()),
        Some(found) if line.player == Player::NoPrivacy => {
            (format!("{:.3}", found.ratio), String::new())
        }
        Some(found) => {
            (format!("{:.3}", found.ratio), format!("{} of {}", found.best_in, found.cases))
        }
    }
}
