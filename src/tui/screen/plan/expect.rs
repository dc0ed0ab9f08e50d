//! What to expect from a plan: its rehearsals on public data, as they arrive.

use ratatui::style::Style;

use crate::canvas::{Canvas, Fill, Length, Line, Rect, bold, in_rows, wrapped_lines};
use crate::context::Context;
use crate::engine::rehearse::RehearsalProgress;
use crate::glossary::Explained;
use crate::rehearsal::Player;
use crate::rehearsal::advice::{Advice, PlayerLine as Found};
use crate::screen::plan::COST;
use crate::theme::Theme;
use crate::widgets::chart::Chart;
use crate::widgets::number::compact;

/// Rows of the chart, if there is room.
const CHART_ROWS: u16 = 14;
const LEAST_CHART: u16 = 9;

/// The findings that a person decides with come first; the others are behind `i`.
const SHOWN: usize = 3;

/// The number of methods in the chart: the best ones.
const CURVES: usize = 4;

/// `scroll` is the first line that is shown where not all of it fits and it has the keys.
pub fn expectations(context: &Context, canvas: &mut Canvas, area: Rect, scroll: Option<usize>) {
    let theme = canvas.theme;
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
    let mut said = match done {
        0 => vec!["Models of the public records are taught first, for all trials.".to_owned()],
        done if done < total => advice.so_far(),
        _ => advice.sentences(),
    };
    let further = said.split_off(said.len().min(SHOWN)).len();
    let plan = context.shown_plan().filter(|_| done == total);
    let own = plan.and_then(|it| advice.of_another(&it.player(), it.target.epsilon));
    // After the advice and its promise.
    let place = said.len().min(2);
    said.splice(place..place, own);
    said.extend((further > 0).then(|| format!("i: {further} more findings")));
    let (width, height) = (area.width.saturating_sub(2), area.height.saturating_sub(2));
    let lines = said.iter().map(|text| wrapped_lines(text, width)).sum::<u16>();
    let table = standings(advice, theme, width).len() as u16 + 1;
    if let Some(first) = scroll.filter(|_| lines + table > height) {
        let all = sentences(said, theme).into_iter().chain([Line::raw("")]);
        let all = all.chain(standings(advice, theme, width)).collect();
        return canvas.text_pane(area, &title, COST, all, first);
    }
    let inner = canvas.boxed(area, &title);
    let spare = inner.height.saturating_sub(lines + table + 1);
    let chart = if spare >= LEAST_CHART { spare.min(CHART_ROWS) } else { 0 };
    let [words, curves, standings] = in_rows(
        inner,
        [Length(lines + u16::from(inner.height > lines + 4)), Length(chart), Fill(1)],
    );
    canvas.paragraph(sentences(said, theme), true, words);
    if chart > 0 {
        rehearsed_errors(advice, canvas, curves);
    }
    let table = self::standings(advice, theme, standings.width);
    canvas.lines(table, standings);
}

/// The findings that are not on the screen.
pub fn further_findings(advice: &Advice) -> impl Iterator<Item = Explained> {
    let further = advice.sentences().into_iter().enumerate().skip(SHOWN);
    further.map(|(at, text)| Explained {
        name: format!("further finding {} of the rehearsal", at + 1 - SHOWN),
        also: "expect advice method".to_owned(),
        text,
    })
}

fn sentences(said: Vec<String>, theme: &Theme) -> Vec<Line<'static>> {
    let style = |at| if at == 0 { bold(theme.text) } else { theme.text };
    let lines = said.into_iter().enumerate();
    lines.map(|(at, sentence)| Line::styled(sentence, style(at))).collect()
}

/// The error relative to public data alone, over ε.
pub fn rehearsed_errors(advice: &Advice, canvas: &mut Canvas, area: Rect) {
    let (theme, glyphs) = (canvas.theme, canvas.glyphs);
    let curves = advice.curves(CURVES);
    let title = format!("{}, beside public data alone", advice.measure().words());
    let mut chart = Chart::new(&title, theme, glyphs)
        .x_axis("ε", false)
        .reference(1.0, "public data alone")
        // The legend has the numbers at the plan's ε.
        .cursor(Some(advice.epsilons[advice.at]))
        .legend(true)
        .empty("no method has been tried so far");
    for (slot, (name, points)) in curves.iter().enumerate() {
        chart = chart.curve((name, slot), false, points);
    }
    canvas.chart(area, &chart);
}

/// Every player at the plan's ε, the best first.
fn standings(advice: &Advice, theme: &Theme, width: u16) -> Vec<Line<'static>> {
    let head = format!("{} at ε {}", advice.measure().words(), compact(advice.epsilons[advice.at]));
    let width = usize::from(width);
    let room = width.saturating_sub(19);
    // A name that is too long has a line of its own.
    let row = |name: &str, ratio: &str, best: &str, style: Style| {
        let is_long = name.chars().count() > room;
        let above = is_long.then(|| Line::styled(name.to_owned(), style));
        let name = if is_long { "" } else { name };
        let line = Line::styled(format!("{name:<room$} {ratio:>8} {best:>9}"), style);
        above.into_iter().chain([line])
    };
    let mut lines: Vec<Line> = row(&head, "× public", "best in", theme.muted).collect();
    for line in advice.sorted() {
        let style = match (&line.player, advice.is_choice(line, advice.at)) {
            (_, true) => bold(theme.good),
            (Player::PublicOnly | Player::NoPrivacy, _) => theme.muted,
            _ => theme.text,
        };
        let (ratio, best) = words(advice, line);
        lines.extend(row(&line.player.title(), &ratio, &best, style));
    }
    lines
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
