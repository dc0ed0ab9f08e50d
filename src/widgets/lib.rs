//! The parts of screens. Each widget draws given values into a buffer: no files, no clock, no
//! terminal, no state of its own.
//!
//! | module | holds |
//! |---|---|
//! | [`chart`] | a chart of several curves |
//! | [`series`], [`smoothing`], [`track`] | the points of curves: columns, averages, curves that grow |
//! | [`viewport`] | axis, window and cursor of the charts of a screen |
//! | [`gauge`], [`whiskers`], [`ranges`], [`large`] | a budget on a line, bars and ranges in a line of text, large numbers |
//! | [`text_field`] | a line of text that can be edited |
//! | [`theme`] | colours by role, symbols by meaning |
//! | [`screenshot`] | a screen as an SVG picture |

use halflight_base::error;
use halflight_plot as plot;

pub mod chart;
mod dots;
pub mod gauge;
pub mod large;
pub mod ranges;
pub mod screenshot;
pub mod series;
pub mod smoothing;
pub mod text_field;
pub mod theme;
pub mod track;
pub mod viewport;
pub mod whiskers;

pub use crate::plot::{bars, number};

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;
use ratatui::text::Span;

/// Writes text from (`x`, `y`) on, cut at the borders of `area` (which lies
/// inside the buffer), and returns the column after it.
fn write(buffer: &mut Buffer, area: Rect, x: u16, y: u16, text: &str, style: Style) -> u16 {
    if y < area.top() || y >= area.bottom() || x < area.left() {
        return x;
    }
    let room = area.right().saturating_sub(x);
    buffer.set_stringn(x, y, text, usize::from(room), style).0
}

/// Sets a single cell, if it lies in `area`. Unlike [`write`] it does not look for graphemes, which
/// would take most of the time of a chart.
fn put(buffer: &mut Buffer, area: Rect, x: u16, y: u16, symbol: &str, style: Style) {
    if area.contains(Position { x, y })
        && let Some(cell) = buffer.cell_mut(Position { x, y })
    {
        cell.set_symbol(symbol).set_style(style);
    }
}

/// The number of cells that a text takes.
fn width(text: &str) -> u16 {
    u16::try_from(Span::raw(text).width()).unwrap_or(u16::MAX)
}

/// Texts of at most `room` cells. If cut ones would look the same, they are cut in their middle, because
/// their ends tell them apart.
pub fn cut_apart(texts: &[String], room: u16, mark: &str) -> Vec<String> {
    let ends: Vec<String> = texts.iter().map(|text| shortened(text, room, mark)).collect();
    let is_alike =
        |at: usize| (0..at).any(|other| ends[other] == ends[at] && texts[other] != texts[at]);
    if !(0..texts.len()).any(is_alike) {
        return ends;
    }
    // The end of a number does not tell what it is.
    let is_name = |text: &str| text.chars().filter(|it| it.is_alphabetic()).count() > 3;
    let cut = |text: &String| {
        if is_name(text) { without_middle(text, room, mark) } else { shortened(text, room, mark) }
    };
    texts.iter().map(cut).collect()
}

/// At most `room` cells of a text, with `mark` in place of its middle.
pub fn without_middle(text: &str, room: u16, mark: &str) -> String {
    let left = room.saturating_sub(width(mark));
    if width(text) <= room || left < 2 {
        return shortened(text, room, mark);
    }
    let (mut end, mut used) = (String::new(), 0);
    for letter in text.chars().rev() {
        used += width(letter.encode_utf8(&mut [0; 4]));
        if used > left / 2 {
            break;
        }
        end.insert(0, letter);
    }
    format!("{}{end}", shortened(text, room - width(&end), mark))
}

/// At most `room` cells of a text; a cut is shown by `mark`.
pub fn shortened(text: &str, room: u16, mark: &str) -> String {
    if width(text) <= room {
        return text.to_owned();
    }
    let mut kept = String::new();
    let mut used = width(mark);
    for grapheme in Span::raw(text).styled_graphemes(Style::new()) {
        used = used.saturating_add(width(grapheme.symbol));
        if used > room {
            break;
        }
        kept.push_str(grapheme.symbol);
    }
    if room > 0 {
        kept.push_str(mark);
    }
    kept
}

/// At most `room` cells of a text, of which whole words are kept; a cut is shown by `mark`. Only a
/// first word that does not fit is cut itself.
pub fn shortened_by_words(text: &str, room: u16, mark: &str) -> String {
    if width(text) <= room {
        return text.to_owned();
    }
    let mut ends = text.match_indices(' ').map(|(at, _)| text[..at].trim_end_matches(','));
    let kept = ends.rfind(|kept| width(kept) + width(mark) <= room);
    kept.map_or_else(|| shortened(text, room, mark), |kept| format!("{kept}{mark}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_shortened_between_its_words() {
        let short = |room| shortened_by_words("public model, corrected", room, "…");
        assert_eq!(short(23), "public model, corrected");
        assert_eq!(short(22), "public model…");
        assert_eq!(short(13), "public model…");
        assert_eq!(short(12), "public…");
        assert_eq!(short(5), "publ…");
    }

    #[test]
    fn names_that_would_look_the_same_are_cut_in_their_middle() {
        let names = ["heart_hospitals_basel", "heart_hospitals_bern"].map(str::to_owned);
        assert_eq!(cut_apart(&names, 12, "…"), ["heart_…basel", "heart_…_bern"]);
        assert_eq!(cut_apart(&names[..1], 12, "…"), ["heart_hospi…"]);
        assert_eq!(cut_apart(&names, 20, "…"), ["heart_hospitals_bas…", "heart_hospitals_bern"]);
        assert_eq!(cut_apart(&names, 2, "…"), ["h…", "h…"]);
        let same = ["heart_hospitals", "heart_hospitals"].map(str::to_owned);
        assert_eq!(cut_apart(&same, 8, "…"), ["heart_h…", "heart_h…"]);
    }
}
