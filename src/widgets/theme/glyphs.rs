//! Symbols by meaning, for terminals with and without Unicode.

use std::borrow::Cow;

/// The number of data series that colour and marker can distinguish.
pub const SERIES: usize = 6;

/// The symbols of widgets, for terminals with and without Unicode. All are one cell wide, except
/// the words in [`Glyphs::spell`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Glyphs {
    /// The mark before every curator-only number.
    pub curator: &'static str,
    /// One marker per series, so that curves also differ without colour.
    pub series: [&'static str; SERIES],
    pub pointer: &'static str,
    pub bar_full: &'static str,
    pub bar_empty: &'static str,
    pub horizontal: &'static str,
    pub vertical: &'static str,
    pub corner: &'static str,
    pub tick_left: &'static str,
    pub tick_below: &'static str,
    /// Joins two measured points without braille dots.
    pub join: &'static str,
    pub clipped_left: &'static str,
    pub clipped_right: &'static str,
    /// The end of a name that was cut.
    pub cut: &'static str,
    pub unicode: bool,
}

impl Glyphs {
    pub const fn unicode() -> Self {
        Self {
            curator: "◆",
            series: ["●", "▲", "■", "▼", "○", "△"],
            pointer: "▶",
            bar_full: "█",
            bar_empty: "░",
            horizontal: "─",
            vertical: "│",
            corner: "└",
            tick_left: "┤",
            tick_below: "┬",
            join: "·",
            clipped_left: "‹",
            clipped_right: "›",
            cut: "…",
            unicode: true,
        }
    }

    /// Plain ASCII: for fonts without braille, for logs, for screen readers.
    pub const fn ascii() -> Self {
        Self {
            curator: "*",
            series: ["o", "+", "x", "#", "@", "%"],
            pointer: ">",
            bar_full: "#",
            bar_empty: "-",
            horizontal: "-",
            vertical: "|",
            corner: "+",
            tick_left: "+",
            tick_below: "+",
            join: ".",
            clipped_left: "<",
            clipped_right: ">",
            cut: "~",
            unicode: false,
        }
    }

    /// By the locale, in the order of POSIX (`LC_ALL` wins over `LC_CTYPE` wins
    /// over `LANG`, an empty value counts as unset), and by the terminal.
    ///
    /// If no locale is set at all, Unicode is assumed: this is common in containers and remote
    /// shells, whose terminals do use UTF-8.
    pub fn detect(
        lc_all: Option<&str>,
        lc_ctype: Option<&str>,
        lang: Option<&str>,
        term: Option<&str>,
    ) -> Self {
        // The kernel's console font has 512 glyphs and no braille among them.
        if matches!(term, Some("linux" | "dumb")) {
            return Self::ascii();
        }
        let locale = [lc_all, lc_ctype, lang].into_iter().flatten().find(|value| !value.is_empty());
        let speaks_utf8 = locale.is_none_or(|value| {
            let value = value.to_ascii_lowercase();
            value.contains("utf-8") || value.contains("utf8")
        });
        if speaks_utf8 { Self::unicode() } else { Self::ascii() }
    }

    /// The marker of the `index`-th series; after the last it starts again.
    pub fn series(&self, index: usize) -> &'static str {
        self.series[index % SERIES]
    }

    /// The text in a form that this terminal can show: without Unicode, the symbols of this program
    /// become words or ASCII signs and anything else becomes `?`.
    pub fn spell<'a>(&self, text: &'a str) -> Cow<'a, str> {
        if self.unicode || text.is_ascii() {
            return Cow::Borrowed(text);
        }
        let mut plain = String::with_capacity(text.len());
        for c in text.chars() {
            match c {
                'ε' => plain.push_str("eps"),
                'δ' => plain.push_str("delta"),
                'σ' => plain.push_str("sigma"),
                'μ' | 'µ' => plain.push_str("mu"),
                'κ' => plain.push_str("kappa"),
                'Λ' => plain.push_str("Lambda"),
                '√' => plain.push_str("sqrt"),
                '∞' => plain.push_str("inf"),
                '…' => plain.push_str("..."),
                '≤' => plain.push_str("<="),
                '≥' => plain.push_str(">="),
                '→' => plain.push_str("->"),
                '±' => plain.push_str("+-"),
                '–' | '—' | '−' => plain.push('-'),
                '·' => plain.push('.'),
                '×' => plain.push('x'),
                '²' => plain.push_str("^2"),
                '◆' => plain.push_str(self.curator),
                c if c.is_ascii() => plain.push(c),
                _ => plain.push('?'),
            }
        }
        Cow::Owned(plain)
    }
}

#[cfg(test)]
mod tests {
    use ratatui::buffer::CellWidth;

    use super::*;

    #[test]
    fn the_locale_decides_between_unicode_and_ascii() {
        let rows = [
            (None, None, Some("en_GB.UTF-8"), Some("xterm"), true),
            (None, None, Some("C.utf8"), None, true),
            (None, None, None, None, true),
            (Some("C"), Some("en_GB.UTF-8"), Some("en_GB.UTF-8"), None, false),
            (Some(""), Some("POSIX"), Some("en_GB.UTF-8"), None, false),
            (None, None, Some("de_DE.ISO-8859-1"), Some("xterm"), false),
            (None, None, Some("en_GB.UTF-8"), Some("linux"), false),
            (None, None, Some("en_GB.UTF-8"), Some("dumb"), false),
        ];
        for (lc_all, lc_ctype, lang, term, unicode) in rows {
            let found = Glyphs::detect(lc_all, lc_ctype, lang, term);
            assert_eq!(found.unicode, unicode, "{lc_all:?} {lc_ctype:?} {lang:?} {term:?}");
        }
    }

    fn symbols(glyphs: &Glyphs) -> Vec<&'static str> {
        let mut all = vec![
            glyphs.curator,
            glyphs.pointer,
            glyphs.bar_full,
            glyphs.bar_empty,
            glyphs.horizontal,
            glyphs.vertical,
            glyphs.corner,
            glyphs.tick_left,
            glyphs.tick_below,
            glyphs.join,
            glyphs.clipped_left,
            glyphs.clipped_right,
            glyphs.cut,
        ];
        all.extend(glyphs.series);
        all
    }

    #[test]
    fn every_glyph_is_one_cell_and_ascii_is_ascii() {
        assert!(symbols(&Glyphs::ascii()).iter().all(|glyph| glyph.is_ascii()));
        for glyphs in [Glyphs::unicode(), Glyphs::ascii()] {
            assert!(symbols(&glyphs).iter().all(|glyph| glyph.cell_width() == 1));
            for (i, marker) in glyphs.series.iter().enumerate() {
                assert!(!glyphs.series[..i].contains(marker));
                assert_ne!(*marker, glyphs.curator);
            }
        }
    }

    #[test]
    fn without_unicode_symbols_are_spelt_out() {
        let ascii = Glyphs::ascii();
        assert_eq!(ascii.spell("ε ≤ ∞ ◆ 3 × 2…"), "eps <= inf * 3 x 2...");
        assert_eq!(ascii.spell("naïve"), "na?ve");
        assert_eq!(Glyphs::unicode().spell("ε ≤ ∞"), "ε ≤ ∞");
    }
}
