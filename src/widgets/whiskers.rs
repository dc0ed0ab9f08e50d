//! A mean as a bar in a line of text, with a whisker of half its range, and reference marks.

use ratatui::style::Style;
use ratatui::text::Span;

use crate::theme::Glyphs;

#[derive(Debug, Clone, Copy)]
pub struct Whiskers {
    pub mean: f64,
    pub half_width: f64,
    /// The value at the right end.
    pub full: f64,
    /// Reference values, each shown as a mark.
    pub marks: [Option<f64>; 2],
}

impl Whiskers {
    /// The bar in `width` cells, with the styles of bar, whisker and marks.
    pub fn spans(&self, width: u16, glyphs: &Glyphs, styles: [Style; 3]) -> Vec<Span<'static>> {
        let [bar, whisker, mark] = styles;
        let cells = f64::from(width.max(1));
        let place = |value: f64| (value / self.full * cells).floor().clamp(0.0, cells - 1.0);
        let marked = self.marks.map(|value| value.filter(|value| value.is_finite()).map(place));
        let cell = |index: u16| {
            let at = f64::from(index);
            let middle = (at + 0.5) / cells * self.full;
            if marked.contains(&Some(at)) {
                Span::styled(glyphs.vertical, mark)
            } else if middle <= self.mean {
                Span::styled(glyphs.bar_full, bar)
            } else if middle <= self.mean + self.half_width {
                Span::styled(glyphs.horizontal, whisker)
            } else {
                Span::raw(" ")
            }
        };
        (0..width).map(cell).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(whiskers: Whiskers, glyphs: &Glyphs) -> String {
        whiskers
            .spans(10, glyphs, [Style::new(); 3])
            .iter()
            .map(|span| span.content.clone())
            .collect()
    }

    #[test]
    fn bar_whisker_and_marks_stand_where_their_values_are() {
        let whiskers =
            Whiskers { mean: 0.5, half_width: 0.2, full: 1.0, marks: [Some(0.9), Some(0.1)] };
        assert_eq!(drawn(whiskers, &Glyphs::unicode()), "█│███──  │");
        assert_eq!(drawn(whiskers, &Glyphs::ascii()), "#|###--  |");
    }

    #[test]
    fn values_beyond_the_ends_stay_inside() {
        let whiskers =
            Whiskers { mean: 7.0, half_width: f64::NAN, full: 1.0, marks: [Some(9.0), None] };
        assert_eq!(drawn(whiskers, &Glyphs::unicode()), "█████████│");
        let nothing = Whiskers { mean: -1.0, half_width: 0.0, full: 1.0, marks: [None, None] };
        assert_eq!(drawn(nothing, &Glyphs::unicode()), "          ");
    }
}
