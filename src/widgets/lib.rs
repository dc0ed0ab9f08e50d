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
