//! Colours by role and symbols by meaning, for terminals of different abilities.
//!
//! Widgets name a role ("warning", "curator"), never a colour, so that a terminal
//! with fewer colours, `NO_COLOR`, or a font without symbols changes one value
//! here and nothing else. Nothing reads the environment or a file: the caller
//! passes them in. Themes are RON: see `assets/themes`.

mod glyphs;

use std::collections::BTreeMap;
use std::str::FromStr;

use ratatui::style::{Color, Modifier, Style};
use ron::extensions::Extensions;
use serde::Deserialize;

use crate::error::{Error, Result};

pub use glyphs::{Glyphs, SERIES};

/// One style for each role on the screen.
///
/// Colour is never the only difference: a selection is reversed, an error says
/// so in words, and each series has its own marker in [`Glyphs`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Theme {
    pub name: String,
    pub tone: ThemeBackground,
    pub depth: Depth,
    pub text: Style,
    /// Helpful but secondary: units, axis labels, hints.
    pub muted: Style,
    /// Things that should be seen first: headings, the active tab, key names.
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

/// The number of colours of the terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    True,
    /// The fixed 6 × 6 × 6 cube of 256-colour terminals.
    Cube,
    Sixteen,
    /// No colour, only modifiers.
    None,
}

/// The background that a theme is made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ThemeBackground {
    Dark,
    Light,
}

/// The themes inside the program; the first is the default.
pub const BUILT_IN: [(&str, &str); 3] = [
    ("dark", include_str!("../../../assets/themes/dark.ron")),
    ("light", include_str!("../../../assets/themes/light.ron")),
    ("high-contrast", include_str!("../../../assets/themes/high-contrast.ron")),
];

/// A theme in the form of its file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ThemeFile {
    tone: ThemeBackground,
    colours: BTreeMap<String, (String, String)>,
    text: Look,
    muted: Look,
    accent: Look,
    border: Look,
    border_focused: Look,
    warning: Look,
    error: Look,
    good: Look,
    curator: Look,
    series: Vec<String>,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[allow(clippy::struct_excessive_bools)] // as they stand in the file
struct Look {
    colour: Option<String>,
    bold: bool,
    dim: bool,
    italic: bool,
    underlined: bool,
}

impl ThemeFile {
    fn colour(&self, name: &str, depth: Depth) -> Result<Color> {
        let unknown = || {
            let known: Vec<&str> = self.colours.keys().map(String::as_str).collect();
            Error::usage(format!("the theme has no colour '{name}'"))
                .cure(format!("its colours are: {}", known.join(", ")))
        };
        let (value, plain) = self.colours.get(name).ok_or_else(unknown)?;
        let read = |text: &str| {
            Color::from_str(text).map_err(|_| {
                Error::usage(format!("'{text}' is not a colour"))
                    .cure("write #RRGGBB and one of the 16 names, such as lightcyan")
            })
        };
        Ok(match (depth, read(value)?, read(plain)?) {
            (Depth::True, color, _) => color,
            (Depth::Cube, Color::Rgb(r, g, b), _) => Color::Indexed(nearest_in_cube((r, g, b))),
            (Depth::Cube | Depth::Sixteen, _, plain) => plain,
            (Depth::None, ..) => Color::Reset,
        })
    }

    fn style(&self, look: &Look, depth: Depth) -> Result<Style> {
        let mut style = Style::new();
        if let Some(name) = &look.colour {
            style = style.fg(self.colour(name, depth)?);
        }
        for (on, modifier) in [
            (look.bold, Modifier::BOLD),
            (look.dim, Modifier::DIM),
            (look.italic, Modifier::ITALIC),
            (look.underlined, Modifier::UNDERLINED),
        ] {
            if on {
                style = style.add_modifier(modifier);
            }
        }
        Ok(style)
    }
}

impl Theme {
    pub fn truecolor() -> Self {
        Self::built_in(BUILT_IN[0].0, Depth::True)
    }

    /// A theme inside the program; no colours if there is none with that name.
    pub fn built_in(name: &str, depth: Depth) -> Self {
        let found = BUILT_IN.iter().find(|(known, _)| *known == name);
        let parsed = found.and_then(|(name, text)| Self::parse(text, name, depth).ok());
        parsed.unwrap_or_else(Self::monochrome)
    }

    /// Reads a theme; `name` is that of its file.
    pub fn parse(text: &str, name: &str, depth: Depth) -> Result<Self> {
        if depth == Depth::None {
            return Ok(Self::monochrome());
        }
        let options = ron::Options::default().with_default_extension(Extensions::IMPLICIT_SOME);
        let file: ThemeFile = options.from_str(text).map_err(|error| {
            let (line, column) = (error.span.start.line, error.span.start.col);
            Error::usage(format!("not a theme: {}", error.code))
                .at(format!("{name}.ron:{line}:{column}"))
                .cure("`halflight guide screens` says where there is one to copy")
        })?;
        let style = |look: &Look| file.style(look, depth);
        if file.series.len() != SERIES {
            return Err(Error::usage(format!("the theme has {} series", file.series.len()))
                .at(format!("{name}.ron"))
                .cure(format!("name {SERIES} colours")));
        }
        let mut series = [Style::new(); SERIES];
        for (style, name) in series.iter_mut().zip(&file.series) {
            *style = style.fg(file.colour(name, depth)?);
        }
        Ok(Self {
            name: name.to_owned(),
            tone: file.tone,
            depth,
            text: style(&file.text)?,
            muted: style(&file.muted)?,
            accent: style(&file.accent)?,
            border: style(&file.border)?,
            border_focused: style(&file.border_focused)?,
            // Colour is never the only sign.
            selection: Style::new().add_modifier(Modifier::REVERSED),
            warning: style(&file.warning)?,
            error: style(&file.error)?,
            good: style(&file.good)?,
            curator: style(&file.curator)?,
            series,
        })
    }

    /// The built-in theme after this one, in the same depth.
    pub fn next(&self) -> Self {
        if self.depth == Depth::None {
            return self.clone();
        }
        let here = BUILT_IN.iter().position(|(name, _)| *name == self.name);
        let next = here.map_or(0, |here| (here + 1) % BUILT_IN.len());
        Self::built_in(BUILT_IN[next].0, self.depth)
    }

    /// No colour at all. crossterm's own handling of `NO_COLOR` also resets REVERSED and BOLD, so
    /// this theme never requests a colour.
    pub fn monochrome() -> Self {
        let plain = Style::new();
        let bold = plain.add_modifier(Modifier::BOLD);
        let dim = plain.add_modifier(Modifier::DIM);
        Self {
            name: "monochrome".to_owned(),
            tone: ThemeBackground::Dark,
            depth: Depth::None,
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

    /// The colours that an environment can show: `no_color` says whether `NO_COLOR` is set and
    /// non-empty, the others are the values of the variables.
    pub fn depth_of(no_color: bool, colorterm: Option<&str>, term: Option<&str>) -> Depth {
        let term = term.unwrap_or_default().to_ascii_lowercase();
        let colorterm = colorterm.unwrap_or_default().to_ascii_lowercase();
        if no_color || term == "dumb" || term.starts_with("vt") {
            Depth::None
        } else if term == "linux" {
            // The kernel's console accepts longer sequences but has 16 colours.
            Depth::Sixteen
        } else if colorterm == "truecolor" || colorterm == "24bit" || term.contains("direct") {
            Depth::True
        } else if term.contains("256") {
            Depth::Cube
        } else {
            Depth::Sixteen
        }
    }

    /// The style of the `index`-th series; after the last colour it starts again.
    pub fn series(&self, index: usize) -> Style {
        self.series[index % SERIES]
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

#[cfg(test)]
mod tests {
    use super::*;

    fn ansi256() -> Theme {
        Theme::built_in("dark", Depth::Cube)
    }

    fn ansi16() -> Theme {
        Theme::built_in("dark", Depth::Sixteen)
    }

    /// Every role with its name.
    fn roles(theme: &Theme) -> Vec<(&'static str, Style)> {
        let mut roles = vec![
            ("text", theme.text),
            ("muted", theme.muted),
            ("accent", theme.accent),
            ("border", theme.border),
            ("border_focused", theme.border_focused),
            ("selection", theme.selection),
            ("warning", theme.warning),
            ("error", theme.error),
            ("good", theme.good),
            ("curator", theme.curator),
        ];
        roles.extend(theme.series.map(|style| ("series", style)));
        roles
    }

    fn colored(style: Style) -> bool {
        [style.fg, style.bg, style.underline_color]
            .into_iter()
            .flatten()
            .any(|color| color != Color::Reset)
    }

    #[test]
    fn the_monochrome_theme_names_no_colour_in_any_role() {
        for (name, style) in roles(&Theme::monochrome()) {
            assert!(!colored(style), "{name} asks for a colour: {style:?}");
        }
        // …while the same check does find the colours of the other themes.
        for theme in [Theme::truecolor(), ansi256(), ansi16()] {
            assert!(roles(&theme).into_iter().filter(|(_, style)| colored(*style)).count() > 10);
        }
    }

    #[test]
    fn a_selection_is_reversed_in_every_theme() {
        for theme in [Theme::truecolor(), ansi256(), ansi16(), Theme::monochrome()] {
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

    /// Contrast of two colours after WCAG 2.
    fn contrast(a: Color, b: (u8, u8, u8)) -> f64 {
        let Color::Rgb(red, green, blue) = a else { return f64::INFINITY };
        let light = |(r, g, b): (u8, u8, u8)| {
            let part = |c: u8| {
                let c = f64::from(c) / 255.0;
                if c <= 0.04045 { c / 12.92 } else { ((c + 0.055) / 1.055).powf(2.4) }
            };
            0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b)
        };
        let (a, b) = (light((red, green, blue)) + 0.05, light(b) + 0.05);
        a.max(b) / a.min(b)
    }

    #[test]
    fn every_built_in_theme_is_read_and_can_be_read_on_its_ground() {
        for (name, text) in BUILT_IN {
            let theme = Theme::parse(text, name, Depth::True).unwrap();
            let (ground, least) = match (theme.tone, name) {
                (ThemeBackground::Light, _) => ((0xFF, 0xFF, 0xFF), 4.5),
                (ThemeBackground::Dark, "high-contrast") => ((0, 0, 0), 7.0),
                (ThemeBackground::Dark, _) => ((0, 0, 0), 3.5),
            };
            for (role, style) in roles(&theme) {
                let Some(color) = style.fg else { continue };
                let found = contrast(color, ground);
                assert!(found >= least, "{name}: {role} stands at {found:.2} : 1");
            }
            for (i, style) in theme.series.iter().enumerate() {
                assert_ne!(style.fg, theme.curator.fg, "{name}");
                assert!(theme.series[..i].iter().all(|other| other.fg != style.fg), "{name}");
            }
        }
    }

    #[test]
    fn themes_follow_each_other_in_the_same_depth_and_no_colour_stays_none() {
        let dark = ansi256();
        let light = dark.next();
        assert_eq!((light.name.as_str(), light.tone), ("light", ThemeBackground::Light));
        assert_eq!(light.next().next(), dark);
        assert_eq!(Theme::monochrome().next(), Theme::monochrome());
    }

    #[test]
    fn a_wrong_theme_is_refused_with_its_place() {
        let dark = BUILT_IN[0].1;
        let unknown = dark.replace("text: ()", "text: (colour: \"mauve\")");
        let error = Theme::parse(&unknown, "mine", Depth::True).unwrap_err();
        assert!(error.to_string().contains("mauve"), "{error}");
        let misspelt = dark.replace("text: ()", "txet: ()");
        let error = Theme::parse(&misspelt, "mine", Depth::True).unwrap_err();
        assert!(error.to_string().contains("mine.ron:"), "{error}");
    }

    #[test]
    fn series_colours_differ_from_each_other_and_from_the_curators() {
        for theme in [Theme::truecolor(), ansi256(), ansi16()] {
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
            (true, Some("truecolor"), Some("xterm-256color"), Depth::None),
            (false, Some("truecolor"), Some("xterm-256color"), Depth::True),
            (false, Some("24bit"), None, Depth::True),
            (false, None, Some("xterm-direct"), Depth::True),
            (false, None, Some("tmux-256color"), Depth::Cube),
            (false, Some(""), Some("xterm"), Depth::Sixteen),
            (false, Some("truecolor"), Some("linux"), Depth::Sixteen),
            (false, Some("truecolor"), Some("dumb"), Depth::None),
            (false, None, Some("vt220"), Depth::None),
            (false, None, None, Depth::Sixteen),
        ];
        for (no_color, colorterm, term, expected) in rows {
            let found = Theme::depth_of(no_color, colorterm, term);
            assert_eq!(found, expected, "{no_color} {colorterm:?} {term:?}");
        }
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
