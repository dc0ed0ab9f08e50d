//! Colours by role and symbols by meaning, each at several levels of ability.
//!
//! Widgets name a role ("warning", "curator"), never a colour, so that a terminal
//! with fewer colours, `NO_COLOR`, or a font without symbols changes one value
//! here and nothing else. Nothing reads the environment: the caller passes it in.

use std::borrow::Cow;

use ratatui::style::{Color, Modifier, Style};

/// How many data series can be told apart by colour and marker.
pub const SERIES: usize = 6;

/// One style for each role on the screen.
///
/// Colour is never the only difference: a selection is reversed, an error says
/// so in words, and each series has its own marker in [`Glyphs`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Theme {
    pub text: Style,
    /// Helpful but secondary: units, axis labels, hints.
    pub muted: Style,
    /// What the eye should find first: headings, the active tab, key names.
    pub accent: Style,
    pub border: Style,
    pub border_focused: Style,
    pub selection: Style,
    pub warning: Style,
    pub error: Style,
    pub good: Style,
    /// Numbers computed from private data without noise (marked `◆`).
    pub curator: Style,
    pub series: [Style; SERIES],
}

/// The colours that themes are painted with: the colour-blind-safe palette of
/// Okabe and Ito, and one grey that is legible on black and on white.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Paint {
    Orange,
    SkyBlue,
    Green,
    Yellow,
    Blue,
    Vermillion,
    Purple,
    Grey,
}

impl Paint {
    const fn rgb(self) -> (u8, u8, u8) {
        match self {
            Self::Orange => (0xE6, 0x9F, 0x00),
            Self::SkyBlue => (0x56, 0xB4, 0xE9),
            Self::Green => (0x00, 0x9E, 0x73),
            Self::Yellow => (0xF0, 0xE4, 0x42),
            Self::Blue => (0x00, 0x72, 0xB2),
            Self::Vermillion => (0xD5, 0x5E, 0x00),
            Self::Purple => (0xCC, 0x79, 0xA7),
            Self::Grey => (0x8A, 0x8A, 0x8A),
        }
    }

    const fn ansi16(self) -> Color {
        match self {
            Self::Orange => Color::Yellow,
            Self::SkyBlue => Color::Cyan,
            Self::Green => Color::Green,
            Self::Yellow => Color::LightYellow,
            Self::Blue => Color::Blue,
            Self::Vermillion => Color::Red,
            Self::Purple => Color::Magenta,
            Self::Grey => Color::DarkGray,
        }
    }
}

impl Theme {
    pub fn truecolor() -> Self {
        Self::painted(|paint| {
            let (r, g, b) = paint.rgb();
            Color::Rgb(r, g, b)
        })
    }

    /// The nearest colours of the fixed 6 × 6 × 6 cube of 256-colour terminals.
    pub fn ansi256() -> Self {
        Self::painted(|paint| Color::Indexed(nearest_in_cube(paint.rgb())))
    }

    pub fn ansi16() -> Self {
        Self::painted(Paint::ansi16)
    }

    /// No colour at all. crossterm's own handling of `NO_COLOR` also resets
    /// REVERSED and BOLD, hence a theme that never asks for a colour.
    pub fn monochrome() -> Self {
        let plain = Style::new();
        let bold = plain.add_modifier(Modifier::BOLD);
        let dim = plain.add_modifier(Modifier::DIM);
        Self {
            text: plain,
            muted: dim,
            accent: bold,
            border: dim,
            border_focused: bold,
            selection: plain.add_modifier(Modifier::REVERSED),
            warning: bold,
            error: bold.add_modifier(Modifier::UNDERLINED),
            good: plain,
            curator: plain.add_modifier(Modifier::ITALIC),
            series: [plain, bold, dim, plain, bold, dim],
        }
    }

    fn painted(color: impl Fn(Paint) -> Color) -> Self {
        let plain = Style::new();
        let of = |paint| plain.fg(color(paint));
        let bold = |paint| of(paint).add_modifier(Modifier::BOLD);
        Self {
            text: plain,
            muted: of(Paint::Grey),
            accent: bold(Paint::SkyBlue),
            border: of(Paint::Grey),
            border_focused: bold(Paint::SkyBlue),
            selection: plain.add_modifier(Modifier::REVERSED),
            warning: bold(Paint::Orange),
            error: bold(Paint::Vermillion),
            good: of(Paint::Green),
            // Purple belongs to curator-only numbers, so no series uses it.
            curator: of(Paint::Purple),
            series: [
                of(Paint::SkyBlue),
                of(Paint::Orange),
                of(Paint::Green),
                of(Paint::Yellow),
                of(Paint::Vermillion),
                of(Paint::Blue),
            ],
        }
    }

    /// The best theme for an environment: `no_color` says whether `NO_COLOR` is
    /// set and non-empty, the others are the values of the variables.
    pub fn detect(no_color: bool, colorterm: Option<&str>, term: Option<&str>) -> Self {
        let term = term.unwrap_or_default().to_ascii_lowercase();
        let colorterm = colorterm.unwrap_or_default().to_ascii_lowercase();
        if no_color || term == "dumb" || term.starts_with("vt") {
            Self::monochrome()
        } else if term == "linux" {
            // The kernel's console accepts longer sequences but has 16 colours.
            Self::ansi16()
        } else if colorterm == "truecolor" || colorterm == "24bit" || term.contains("direct") {
            Self::truecolor()
        } else if term.contains("256") {
            Self::ansi256()
        } else {
            Self::ansi16()
        }
    }

    /// The style of the `index`-th series; after the last colour it starts again.
    pub fn series(&self, index: usize) -> Style {
        self.series[index % SERIES]
    }

    /// Every role with its name, for documentation and tests.
    pub fn roles(&self) -> Vec<(&'static str, Style)> {
        let mut roles = vec![
            ("text", self.text),
            ("muted", self.muted),
            ("accent", self.accent),
            ("border", self.border),
            ("border_focused", self.border_focused),
            ("selection", self.selection),
            ("warning", self.warning),
            ("error", self.error),
            ("good", self.good),
            ("curator", self.curator),
        ];
        roles.extend(self.series.map(|style| ("series", style)));
        roles
    }
}

/// The index of the nearest colour in the cube (16–231) or grey ramp (232–255).
fn nearest_in_cube((r, g, b): (u8, u8, u8)) -> u8 {
    (16..=255)
        .min_by_key(|&index| {
            let (x, y, z) = indexed_rgb(index);
            let squared = |u: u8, v: u8| u32::from(u.abs_diff(v)).pow(2);
            squared(r, x) + squared(g, y) + squared(b, z)
        })
        .unwrap_or(7)
}

/// The colour that every 256-colour terminal shows for an index from 16 up.
pub(crate) fn indexed_rgb(index: u8) -> (u8, u8, u8) {
    if index >= 232 {
        let grey = 8 + 10 * (index - 232);
        return (grey, grey, grey);
    }
    let index = index.saturating_sub(16);
    let level = |step: u8| if step == 0 { 0 } else { 55 + 40 * step };
    (level(index / 36), level(index / 6 % 6), level(index % 6))
}

/// The symbols that widgets draw with, for terminals with and without Unicode.
/// All are one cell wide, except the words in [`Glyphs::spell`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Glyphs {
    /// Stands before every curator-only number.
    pub curator: &'static str,
    /// One marker per series, so that curves differ without colour.
    pub series: [&'static str; SERIES],
    pub bullet: &'static str,
    pub pointer: &'static str,
    pub bar_full: &'static str,
    pub bar_empty: &'static str,
    pub horizontal: &'static str,
    pub vertical: &'static str,
    pub corner: &'static str,
    pub tick_left: &'static str,
    pub tick_below: &'static str,
    /// Joins two measured points where there are no braille dots.
    pub join: &'static str,
    pub clipped_left: &'static str,
    pub clipped_right: &'static str,
    pub unicode: bool,
}

impl Glyphs {
    pub const fn unicode() -> Self {
        Self {
            curator: "◆",
            series: ["●", "▲", "■", "▼", "○", "△"],
            bullet: "●",
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
            unicode: true,
        }
    }

    /// Plain ASCII: for fonts without braille, for logs, for screen readers.
    pub const fn ascii() -> Self {
        Self {
            curator: "*",
            series: ["o", "+", "x", "#", "@", "%"],
            bullet: "o",
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
            unicode: false,
        }
    }

    /// By the locale, in the order of POSIX (`LC_ALL` wins over `LC_CTYPE` wins
    /// over `LANG`, an empty value counts as unset), and by the terminal.
    ///
    /// Where no locale is set at all Unicode is assumed: that is the usual state
    /// of containers and remote shells, whose terminals do speak UTF-8.
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

    /// The text as this terminal can show it: without Unicode, the symbols of
    /// this program become words or ASCII signs and anything else becomes `?`.
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

    fn colored(style: Style) -> bool {
        [style.fg, style.bg, style.underline_color]
            .into_iter()
            .flatten()
            .any(|color| color != Color::Reset)
    }

    #[test]
    fn the_monochrome_theme_names_no_colour_in_any_role() {
        for (name, style) in Theme::monochrome().roles() {
            assert!(!colored(style), "{name} asks for a colour: {style:?}");
        }
        // …while the same check does find the colours of the other themes.
        for theme in [Theme::truecolor(), Theme::ansi256(), Theme::ansi16()] {
            assert!(theme.roles().into_iter().filter(|(_, style)| colored(*style)).count() > 10);
        }
    }

    #[test]
    fn a_selection_is_reversed_in_every_theme() {
        for theme in [Theme::truecolor(), Theme::ansi256(), Theme::ansi16(), Theme::monochrome()] {
            assert!(theme.selection.add_modifier.contains(Modifier::REVERSED));
        }
    }

    #[test]
    fn monochrome_keeps_emphasis_and_quietness_as_modifiers() {
        let theme = Theme::monochrome();
        assert!(theme.accent.add_modifier.contains(Modifier::BOLD));
        assert!(theme.muted.add_modifier.contains(Modifier::DIM));
        assert_ne!(theme.error, theme.warning);
        assert_ne!(theme.curator, theme.text);
    }

    #[test]
    fn series_colours_differ_from_each_other_and_from_the_curators() {
        for theme in [Theme::truecolor(), Theme::ansi256(), Theme::ansi16()] {
            for (i, style) in theme.series.iter().enumerate() {
                assert_ne!(style.fg, theme.curator.fg);
                assert!(theme.series[..i].iter().all(|other| other.fg != style.fg));
            }
            assert_eq!(theme.series(SERIES), theme.series(0));
        }
    }

    #[test]
    fn the_environment_decides_the_number_of_colours() {
        let rows = [
            (true, Some("truecolor"), Some("xterm-256color"), Theme::monochrome()),
            (false, Some("truecolor"), Some("xterm-256color"), Theme::truecolor()),
            (false, Some("24bit"), None, Theme::truecolor()),
            (false, None, Some("xterm-direct"), Theme::truecolor()),
            (false, None, Some("tmux-256color"), Theme::ansi256()),
            (false, Some(""), Some("xterm"), Theme::ansi16()),
            (false, Some("truecolor"), Some("linux"), Theme::ansi16()),
            (false, Some("truecolor"), Some("dumb"), Theme::monochrome()),
            (false, None, Some("vt220"), Theme::monochrome()),
            (false, None, None, Theme::ansi16()),
        ];
        for (no_color, colorterm, term, expected) in rows {
            let found = Theme::detect(no_color, colorterm, term);
            assert_eq!(found, expected, "{no_color} {colorterm:?} {term:?}");
        }
    }

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
            glyphs.bullet,
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

    #[test]
    fn the_256_colour_theme_takes_the_nearest_entry_of_the_cube() {
        assert_eq!(indexed_rgb(16), (0, 0, 0));
        assert_eq!(indexed_rgb(231), (255, 255, 255));
        assert_eq!(indexed_rgb(232), (8, 8, 8));
        assert_eq!(nearest_in_cube((0x8A, 0x8A, 0x8A)), 245);
        assert_eq!(nearest_in_cube((0xD7, 0x5F, 0x00)), 166);
    }
}
