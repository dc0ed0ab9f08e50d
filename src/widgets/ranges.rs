//! Values with their ranges, on a line of text: `  ──●──   ──○────`.

use ratatui::style::Style;
use ratatui::text::{Line, Span};

use crate::plot::axis::{Axis, Scale};
use crate::theme::Glyphs;

/// A value and the ends of its range.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ranged {
    pub value: f64,
    pub low: f64,
    pub high: f64,
    pub marker: &'static str,
    pub style: Style,
}

/// One axis for all lines, with everything that they hold.
pub fn axis(values: impl Iterator<Item = f64>) -> Option<Axis> {
    let values = values.filter(|value| value.is_finite());
    let ends = values.fold(None, |ends: Option<(f64, f64)>, value| {
        let (low, high) = ends.unwrap_or((value, value));
        Some((low.min(value), high.max(value)))
    });
    ends.map(|(low, high)| Axis::around(low, high, Scale::Linear))
}

fn cell(axis: &Axis, value: f64, width: u16) -> usize {
    let last = f64::from(width.max(1)) - 1.0;
    (axis.fraction(value) * last).round() as usize
}

/// The values in `width` cells: later ones over earlier ones, and markers over ranges. A reference
/// is a mark behind them.
pub fn line(
    axis: &Axis,
    width: u16,
    values: &[Ranged],
    reference: Option<(f64, Style)>,
    glyphs: &Glyphs,
) -> Vec<Span<'static>> {
    let mut cells = vec![(" ", Style::new()); usize::from(width)];
    let mut put = |at: usize, symbol, style| {
        if let Some(cell) = cells.get_mut(at) {
            *cell = (symbol, style);
        }
    };
    if let Some((value, style)) = reference {
        put(cell(axis, value, width), glyphs.vertical, style);
    }
    for Ranged { low, high, style, .. } in values {
        for at in cell(axis, *low, width)..=cell(axis, *high, width) {
            put(at, glyphs.horizontal, *style);
        }
    }
    for Ranged { value, marker, style, .. } in values {
        put(cell(axis, *value, width), marker, *style);
    }
    cells.into_iter().map(|(symbol, style)| Span::styled(symbol, style)).collect()
}

/// The labels of the axis in `width` cells, each below its place.
pub fn scale(axis: &Axis, width: u16, percent: bool, style: Style) -> Line<'static> {
    let count = (width / 12).max(2);
    let ticks = if percent { axis.percent_ticks(count) } else { axis.ticks(count, false) };
    let mut text = vec![' '; usize::from(width)];
    let mut free = 0;
    for tick in ticks {
        let label: Vec<char> = tick.label.chars().collect();
        let at = cell(axis, tick.value, width).saturating_sub(label.len() / 2);
        let at = at.min(text.len().saturating_sub(label.len()));
        if at >= free && label.len() <= text.len() {
            text[at..at + label.len()].copy_from_slice(&label);
            free = at + label.len() + 1;
        }
    }
    Line::styled(text.into_iter().collect::<String>(), style)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(values: &[Ranged], reference: Option<f64>) -> String {
        let axis = Axis::exactly(0.0, 20.0);
        let reference = reference.map(|value| (value, Style::new()));
        let spans = line(&axis, 21, values, reference, &Glyphs::unicode());
        spans.into_iter().map(|span| span.content).collect()
    }

    fn of(value: f64, half: f64, marker: &'static str) -> Ranged {
        Ranged { value, low: value - half, high: value + half, marker, style: Style::new() }
    }

    #[test]
    fn values_ranges_and_the_reference_stand_where_they_are() {
        let values = [of(15.0, 3.0, "○"), of(5.0, 2.0, "●")];
        assert_eq!(drawn(&values, Some(10.0)), "   ──●──  │ ───○───  ");
    }

    #[test]
    fn no_range_hides_a_value() {
        let values = [of(10.0, 8.0, "○"), of(8.0, 6.0, "●")];
        assert_eq!(drawn(&values, None), "  ──────●─○────────  ");
        assert_eq!(drawn(&[of(40.0, 30.0, "●")], Some(-7.0)), "│         ──────────●");
    }

    #[test]
    fn labels_stand_below_their_places_and_not_over_each_other() {
        let axis = Axis::exactly(0.0, 20.0);
        let text = |width, percent| scale(&axis, width, percent, Style::new()).to_string();
        assert_eq!(text(21, false), "0        10        20");
        assert_eq!(text(3, false), "0  ");
        assert!(super::axis([f64::NAN].into_iter()).is_none());
        assert!(super::axis([3.0].into_iter()).is_some());
    }
}
