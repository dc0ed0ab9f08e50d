//! Histograms in lines of text, and numbers below each other.

use super::number::of_a_cell;

/// Bars of no, one … eight eighths of a line.
const EIGHTHS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// The most texts of a column that are drawn, and the most cells for the bar of one.
const MOST_BARS: usize = 8;
const WIDEST_BAR: usize = 3;
/// The most letters of a text.
const LONGEST_TEXT: usize = 24;

/// Draws counts as bars beside each other, in so many lines, the upper one first. The highest bar
/// ends an eighth below the top, so that pictures below each other stay apart. A count above 0 has at
/// least the lowest bar.
pub fn bars(counts: &[usize], lines: usize) -> Vec<String> {
    let (most, top) = (counts.iter().max().copied().unwrap_or(0), (8 * lines).saturating_sub(1));
    let height = |count: usize| match count {
        0 => 0,
        _ => ((count as f64 / most as f64 * top as f64).round() as usize).max(1),
    };
    let line = |below: usize| {
        let bar = |count: &usize| EIGHTHS[height(*count).saturating_sub(8 * below).min(8)];
        counts.iter().map(bar).collect()
    };
    (0..lines).rev().map(line).collect()
}

/// Numbers below each other with their decimal points in one column, all equally wide.
pub fn aligned(numbers: &[String]) -> Vec<String> {
    let split = |number: &str| {
        // An exponent or a unit belongs to what follows the point.
        let at = number.find(|c: char| !c.is_ascii_digit() && c != '-').unwrap_or(number.len());
        let (whole, rest) = number.split_at(at);
        (whole.to_owned(), rest.to_owned())
    };
    let parts: Vec<(String, String)> = numbers.iter().map(|number| split(number)).collect();
    let length = |text: &String| text.chars().count();
    let before = parts.iter().map(|(whole, _)| length(whole)).max().unwrap_or(0);
    let after = parts.iter().map(|(_, rest)| length(rest)).max().unwrap_or(0);
    parts.iter().map(|(whole, rest)| format!("{whole:>before$}{rest:<after$}")).collect()
}

/// Values of columns below each other, as wide as their heading at least.
pub fn values_below(values: &[Option<f64>], heading: &str) -> Vec<String> {
    let room = heading.chars().count();
    let texts = values.iter().map(|value| value.map_or_else(String::new, of_a_cell));
    let texts = aligned(&texts.collect::<Vec<_>>()).into_iter();
    texts.map(|text| format!("{text:<room$}")).collect()
}

/// A share in percent without decimals.
pub fn percent_of(share: f64) -> String {
    if share > 0.0 && share < 0.01 { "<1 %".to_owned() } else { format!("{:.0} %", 100.0 * share) }
}

/// The beginning of a text, on one line.
fn in_short(text: &str) -> String {
    let letters = text.chars().map(|it| if it.is_control() { ' ' } else { it });
    if text.chars().nth(LONGEST_TEXT).is_none() {
        return letters.collect();
    }
    letters.take(LONGEST_TEXT - 1).chain(['…']).collect()
}

/// The most frequent texts of a column, the most frequent first, out of so many: a bar for each in
/// so many cells, and what they are.
pub fn of_texts(texts: &[(String, usize)], total: usize, cells: usize) -> String {
    let counts: Vec<usize> =
        texts.iter().take(cells.min(MOST_BARS)).map(|(_, count)| *count).collect();
    let width = (cells / counts.len().max(1)).clamp(1, WIDEST_BAR);
    let bar = |bar: char| std::iter::repeat_n(bar, width);
    let drawn: String = bars(&counts, 1).concat().chars().flat_map(bar).collect();
    let words = texts.iter().take(MOST_BARS).map(|(text, count)| {
        format!("{} {}", in_short(text), percent_of(*count as f64 / total.max(1) as f64))
    });
    let words = words.collect::<Vec<_>>().join(", ");
    format!("{drawn:<cells$} {words}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn bars_are_as_high_as_their_counts() {
        assert_eq!(bars(&[0, 1, 500, 1000, 250], 1), [" ▁▄▇▂"]);
        assert_eq!(bars(&[15, 8, 7, 0], 2), ["▇   ", "██▇ "]);
        assert_eq!(bars(&[0, 0], 1), ["  "]);
        assert_eq!(bars(&[], 1), [""]);
        assert!(bars(&[3], 0).is_empty());
    }

    #[test]
    fn decimal_points_are_below_each_other() {
        let numbers = ["-365", "0.02", "12.5k", "1.2e-5", "7M", "", "–"].map(str::to_owned);
        let expected = [
            "-365     ",
            "   0.02  ",
            "  12.5k  ",
            "   1.2e-5",
            "   7M    ",
            "         ",
            "    –    ",
        ];
        assert_eq!(aligned(&numbers), expected);
    }

    #[test]
    fn texts_have_a_bar_each_and_their_shares() {
        let texts =
            [("clear", 65), ("mist", 34), ("snow", 1)].map(|(text, n)| (text.to_owned(), n));
        assert_eq!(of_texts(&texts, 200, 10), "▇▇▇▄▄▄▁▁▁  clear 32 %, mist 17 %, snow <1 %");
        assert_eq!(of_texts(&[], 0, 4), "     ");
        let long = [("a long\nreview of a book that nobody reads".to_owned(), 1)];
        assert_eq!(of_texts(&long, 1, 3), "▇▇▇ a long review of a book… 100 %");
        let below = values_below(&[Some(0.5), None, Some(12.0)], "greatest");
        assert_eq!(below, [" 0.5    ", "        ", "12      "]);
    }

    proptest! {
        #[test]
        fn a_higher_count_has_no_lower_bar_and_only_an_empty_one_has_none(
            counts in proptest::collection::vec(0..40_usize, 0..30), lines in 1..5_usize
        ) {
            let drawn = bars(&counts, lines);
            prop_assert_eq!(drawn.len(), lines);
            let height = |at: usize| -> usize {
                let level = |line: &String| line.chars().nth(at).unwrap();
                drawn.iter().map(|line| EIGHTHS.iter().position(|it| *it == level(line)).unwrap()).sum()
            };
            for (one, count) in counts.iter().enumerate() {
                prop_assert_eq!(height(one) == 0, *count == 0);
                for (other, larger) in counts.iter().enumerate().filter(|(_, it)| *it >= count) {
                    prop_assert!(height(one) <= height(other), "{} {}", count, larger);
                }
            }
        }
    }
}
