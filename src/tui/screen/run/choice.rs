//! A choice among plans, live: the candidates, the progress of each, and the released values.

use ratatui::style::Style;

use crate::canvas::{Canvas, Fill, Length, Line, Rect, Span, bold, in_rows};
use crate::engine::choice::{Chosen, PUBLIC_ALONE};
use crate::glossary;
use crate::live_run::{Ended, LiveChoice, LiveRun};
use crate::privacy::accountant::{delta_words, round_up};
use crate::theme::{Glyphs, Theme};

/// Cells of a bar for the training progress of a candidate.
const BAR: usize = 20;
/// The least width with room for bars.
const WIDE: u16 = 90;

/// The candidates, instead of the charts of a run.
pub fn candidates(canvas: &mut Canvas, area: Rect, run: &LiveRun, choice: &LiveChoice) {
    let (theme, glyphs) = (canvas.theme, canvas.glyphs);
    let chosen = match &run.ended {
        Some(Ended::Chosen(chosen)) => Some(chosen.as_ref()),
        _ => None,
    };
    let inner = canvas.boxed(area, "Candidates");
    let said = explanation(choice, chosen);
    let candidates = &choice.offer.candidates;
    let rows = candidates.len() as u16 + 2;
    let [table, words] = in_rows(inner, [Length(rows), Fill(1)]);
    let wide = inner.width >= WIDE;
    let row = |index: usize| {
        let name = &candidates[index];
        let placed = chosen.and_then(|it| it.placed.iter().find(|it| it.name == *name));
        let winner = chosen.and_then(|it| it.placed.get(it.winner?));
        let wins = placed.is_some() && winner.is_some_and(|winner| winner.name == *name);
        let style = if wins { bold(theme.good) } else { theme.text };
        let told = chosen.and_then(|it| it.score.as_ref()).zip(placed);
        let error = told.map(|(told, placed)| told.error_text(&placed.error));
        vec![
            Line::styled(if wins { glyphs.pointer } else { " " }, style),
            Line::styled(name.clone(), style),
            training((theme, glyphs), run, (choice, name), (style, wide)),
            Line::styled(error.unwrap_or_default(), style).right_aligned(),
        ]
    };
    let widths = vec![Length(1), Fill(1), Length(if wide { 36 } else { 12 }), Length(26)];
    let header = ["", "candidate", "training", "released error (95 %)"];
    let header = header.map(Line::raw).to_vec();
    let count = candidates.len();
    canvas.table(table, (header, widths), (count, None), row);
    let text: Vec<Line> = said.into_iter().map(|text| Line::styled(text, theme.muted)).collect();
    canvas.paragraph(text, true, words);
}

fn training<'a>(
    (theme, glyphs): (&Theme, &Glyphs),
    run: &LiveRun,
    (choice, name): (&LiveChoice, &str),
    (style, wide): (Style, bool),
) -> Line<'a> {
    let words = match choice.steps.get(name) {
        None if name == PUBLIC_ALONE && wide => "not needed, costs nothing".to_owned(),
        None if name == PUBLIC_ALONE => "not needed".to_owned(),
        None if choice.offer.trains_in_secret => "at random".to_owned(),
        None if run.has_ended() => "not trained".to_owned(),
        None => "waits".to_owned(),
        Some((step, _)) if run.has_ended() => format!("{step} steps"),
        Some((step, of)) if !wide => format!("{step} of {of}"),
        Some((step, of)) => {
            let full = (*step as f64 / (*of).max(1) as f64 * BAR as f64) as usize;
            let bar = glyphs.bar_full.repeat(full) + &glyphs.bar_empty.repeat(BAR - full.min(BAR));
            let words = Span::styled(format!("{step} of {of} "), style);
            return Line::from(vec![words, Span::styled(bar, theme.accent)]);
        }
    };
    Line::styled(words, style)
}

/// The price and the detectable difference; at the end, how to read the errors.
fn explanation(choice: &LiveChoice, chosen: Option<&Chosen>) -> Vec<String> {
    let mut said: Vec<String> = chosen.map(|chosen| chosen.how.clone()).into_iter().collect();
    said.push(format!(
        "Each training gets ε {}. Records that none of them sees decide. Noise hides differences \
         of less than {}.",
        round_up(choice.offer.each, 3),
        choice.offer.apart
    ));
    if chosen.is_some_and(|chosen| chosen.score.is_some()) {
        said.push(
            "In brackets: ranges that hold for all of them at once, in 95 of 100 choices."
                .to_owned(),
        );
    }
    said
}

/// Who won, in words.
pub fn verdict(chosen: &Chosen) -> String {
    let winner = chosen.winner.and_then(|winner| chosen.placed.get(winner));
    match (winner, &chosen.score) {
        (Some(winner), Some(told)) => {
            format!("Chosen: {}. Its score may be shared: {}.", winner.name, told.sentence())
        }
        _ => "Nothing was chosen: it ended early. What was drawn is charged.".to_owned(),
    }
}

/// The guarantee for all candidates together.
pub fn guarantee(chosen: &Chosen) -> String {
    format!(
        "guarantee, for all candidates together: ε {} at δ {} if {}",
        round_up(chosen.guarantee.epsilon, 4),
        delta_words(chosen.guarantee.delta),
        glossary::change(chosen.guarantee.adjacency, chosen.unit.is_some())
    )
}
