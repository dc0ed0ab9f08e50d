//! A buffer of cells as an SVG picture of a terminal window.
//!
//! The pictures of README and guide are made from the program's own views, and a test compares
//! them, so they cannot go stale: the same buffer always gives the same text.
//!
//! Fonts differ in their symbols and in the widths of these. Only letters use the font; braille
//! dots, blocks and box lines are drawn as shapes. Every text states its length, so columns stay
//! aligned.

use std::fmt::Write;

use ratatui::buffer::{Buffer, Cell, CellWidth};
use ratatui::style::Color::{
    Black, Blue, Cyan, DarkGray, Gray, Green, LightBlue, LightCyan, LightGreen, LightMagenta,
    LightRed, LightYellow, Magenta, Red, White, Yellow,
};
use ratatui::style::{Color, Modifier};

use crate::plot::svg::escaped;
use crate::theme::indexed_rgb;

// Sizes are sums of powers of two, so that every coordinate is exact and short.
/// Size of a cell in user units, in the proportion of common terminal fonts.
const CELL: (f64, f64) = (9.0, 18.0);
const FONT_SIZE: f64 = 15.0;
/// From the top of a cell to the baseline of letters.
const BASELINE: f64 = 13.5;
/// Free space around the cells, and the height of the bar with the title.
const PADDING: f64 = 10.0;
const TITLE_BAR: f64 = 30.0;
const STROKE: f64 = 1.2;
/// Neighbouring dots touch, as in most terminals.
const DOT_RADIUS: f64 = 2.25;

pub type Rgb = (u8, u8, u8);

fn rgb(hex: u32) -> Rgb {
    ((hex >> 16) as u8, (hex >> 8) as u8, hex as u8)
}

/// The default and the 16 named colours of the terminal in the picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TerminalColours {
    pub foreground: Rgb,
    pub background: Rgb,
    pub ansi: [Rgb; 16],
}

#[allow(clippy::unreadable_literal)] // colours, as they are written everywhere
impl TerminalColours {
    pub fn dark() -> Self {
        Self {
            foreground: rgb(0xD8D8D8),
            background: rgb(0x16181D),
            ansi: [
                0x2A2D35, 0xE06C5A, 0x4CB38A, 0xE0A83C, 0x5C9BD6, 0xCC79A7, 0x5FB8D0, 0xC0C4CC,
                0x7C828E, 0xF08876, 0x6FD0A8, 0xF0E442, 0x86B8EC, 0xE29CC4, 0x8AD6E8, 0xFFFFFF,
            ]
            .map(rgb),
        }
    }

    pub fn light() -> Self {
        Self {
            foreground: rgb(0x24272E),
            background: rgb(0xFDFDFB),
            ansi: [
                0x24272E, 0xB83A24, 0x007A58, 0x9A6A00, 0x005E9A, 0x9C4478, 0x00748C, 0x5A5F6A,
                0x7C828E, 0xD55E00, 0x009E73, 0x8A7C00, 0x0072B2, 0xB85C92, 0x208CA8, 0x101216,
            ]
            .map(rgb),
        }
    }

    fn resolve(&self, color: Color, default: Rgb) -> Rgb {
        let place = match color {
            Color::Reset => return default,
            Color::Rgb(r, g, b) => return (r, g, b),
            Color::Indexed(index) if index >= 16 => return indexed_rgb(index),
            Color::Indexed(index) => usize::from(index),
            named => NAMED.as_flattened().iter().position(|it| *it == named).unwrap_or(0),
        };
        self.ansi[place]
    }
}

/// The named colours in the order of their numbers.
const NAMED: [[Color; 8]; 2] = [
    [Black, Red, Green, Yellow, Blue, Magenta, Cyan, Gray],
    [DarkGray, LightRed, LightGreen, LightYellow, LightBlue, LightMagenta, LightCyan, White],
];

/// The look of the letters of a cell, with reversal applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct CellLook {
    ink: Rgb,
    ground: Rgb,
    modifier: Modifier,
}

impl CellLook {
    fn of(cell: &Cell, paper: &TerminalColours) -> Self {
        let mut ink = paper.resolve(cell.fg, paper.foreground);
        let mut ground = paper.resolve(cell.bg, paper.background);
        if cell.modifier.contains(Modifier::REVERSED) {
            (ink, ground) = (ground, ink);
        }
        if cell.modifier.contains(Modifier::DIM) {
            ink = dimmed(ink, ground);
        }
        if cell.modifier.contains(Modifier::HIDDEN) {
            ink = ground;
        }
        Self { ink, ground, modifier: cell.modifier }
    }

    /// The attributes of a `<text>` other than its place.
    fn attributes(self) -> String {
        let mut attributes = format!(" fill=\"{}\"", hex(self.ink));
        if self.modifier.contains(Modifier::BOLD) {
            attributes += " font-weight=\"bold\"";
        }
        if self.modifier.contains(Modifier::ITALIC) {
            attributes += " font-style=\"italic\"";
        }
        let mut decorations =
            vec![(Modifier::UNDERLINED, "underline"), (Modifier::CROSSED_OUT, "line-through")];
        decorations.retain(|(modifier, _)| self.modifier.contains(*modifier));
        let decorations: Vec<&str> = decorations.into_iter().map(|(_, name)| name).collect();
        if !decorations.is_empty() {
            let _ = write!(attributes, " text-decoration=\"{}\"", decorations.join(" "));
        }
        attributes
    }

    /// Whether a blank is visible, because a line runs under or through it.
    fn marks_blanks(self) -> bool {
        self.modifier.intersects(Modifier::UNDERLINED | Modifier::CROSSED_OUT)
    }
}

/// Two thirds of the way from the ground to the ink, so that dimmed letters stay legible.
fn dimmed(ink: Rgb, ground: Rgb) -> Rgb {
    let mix = |a: u8, b: u8| ((2 * u16::from(a) + u16::from(b)) / 3) as u8;
    (mix(ink.0, ground.0), mix(ink.1, ground.1), mix(ink.2, ground.2))
}

fn hex((r, g, b): Rgb) -> String {
    format!("#{r:02x}{g:02x}{b:02x}")
}

/// The picture of a buffer, in a window with this title.
pub fn svg(buffer: &Buffer, title: &str, paper: &TerminalColours) -> String {
    let (columns, rows) = (f64::from(buffer.area.width), f64::from(buffer.area.height));
    let width = columns * CELL.0 + 2.0 * PADDING;
    let height = rows * CELL.1 + 2.0 * PADDING + TITLE_BAR;
    let title = escaped(title);
    let (ground, quiet) = (hex(paper.background), hex(dimmed(paper.foreground, paper.background)));
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" role=\"img\" font-size=\"{FONT_SIZE}\" \
         font-family=\"ui-monospace,'DejaVu Sans Mono','Cascadia Mono',Menlo,Consolas,monospace\">\n\
         <title>{title}</title>\n\
         <rect x=\"0.5\" y=\"0.5\" width=\"{}\" height=\"{}\" rx=\"8\" fill=\"{ground}\" \
         stroke=\"{quiet}\" stroke-opacity=\"0.5\"/>\n",
        width - 1.0,
        height - 1.0,
    );
    for (index, color) in ["#d55e00", "#e69f00", "#009e73"].into_iter().enumerate() {
        let x = 18.0 + 18.0 * index as f64;
        let _ = writeln!(out, "<circle cx=\"{x}\" cy=\"16\" r=\"5.5\" fill=\"{color}\"/>");
    }
    let middle = width / 2.0;
    let _ = writeln!(
        out,
        "<text x=\"{middle}\" y=\"21\" text-anchor=\"middle\" fill=\"{quiet}\">{title}</text>"
    );
    let _ = writeln!(out, "<g transform=\"translate({PADDING} {})\">", TITLE_BAR + PADDING);
    for row in 0..buffer.area.height {
        draw_row(&mut out, buffer, row, paper);
    }
    out.push_str("</g>\n</svg>\n");
    out
}

/// One row: grounds below, shapes above them, letters on top.
fn draw_row(out: &mut String, buffer: &Buffer, row: u16, paper: &TerminalColours) {
    let top = f64::from(row) * CELL.1;
    let mut grounds = Paths::default();
    let mut shapes = Paths::default();
    let mut texts: Vec<Text> = Vec::new();
    let mut column = 0;
    while column < buffer.area.width {
        let cell = &buffer[(buffer.area.x + column, buffer.area.y + row)];
        let symbol = printable(cell.symbol());
        // Cells covered by a wide character are not drawn.
        let span = symbol.cell_width().clamp(1, buffer.area.width - column);
        let look = CellLook::of(cell, paper);
        let left = f64::from(column) * CELL.0;
        if look.ground != paper.background {
            let size = (f64::from(span) * CELL.0, CELL.1);
            grounds.push(
                look.ground,
                Pen::Fill(1.0),
                CellShape::Rectangle { at: (left, top), size },
            );
        }
        if !shapes.draw(symbol, look.ink, (left, top)) {
            let ascii = symbol.is_ascii();
            match texts.last_mut() {
                Some(text) if ascii && text.ascii && text.look == look && text.end() == column => {
                    text.content.push_str(symbol);
                    text.columns += span;
                }
                _ => texts.push(Text {
                    column,
                    columns: span,
                    content: symbol.to_owned(),
                    look,
                    ascii,
                }),
            }
        }
        column += span;
    }
    grounds.write(out);
    shapes.write(out);
    for text in texts {
        text.write(out, top + BASELINE);
    }
}

/// XML has no control characters, and neither does a screen.
fn printable(symbol: &str) -> &str {
    if symbol.is_empty() || symbol.contains(char::is_control) { " " } else { symbol }
}

/// A run of ASCII letters in one style, or one other symbol: its width depends on the font, so each
/// gets its own position.
struct Text {
    column: u16,
    columns: u16,
    content: String,
    look: CellLook,
    ascii: bool,
}

impl Text {
    fn end(&self) -> u16 {
        self.column + self.columns
    }

    fn write(&self, out: &mut String, y: f64) {
        let (mut column, mut columns) = (self.column, self.columns);
        let mut content = self.content.as_str();
        if !self.look.marks_blanks() {
            let without = content.trim_start_matches(' ');
            column += (content.len() - without.len()) as u16;
            columns -= (content.len() - without.len()) as u16;
            content = without.trim_end_matches(' ');
            columns -= (without.len() - content.len()) as u16;
        }
        if content.is_empty() {
            return;
        }
        let _ = writeln!(
            out,
            "<text xml:space=\"preserve\" x=\"{}\" y=\"{y}\" textLength=\"{}\" \
             lengthAdjust=\"spacingAndGlyphs\"{}>{}</text>",
            f64::from(column) * CELL.0,
            f64::from(columns) * CELL.0,
            self.look.attributes(),
            escaped(content),
        );
    }
}

/// How a shape is drawn.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Pen {
    /// Filled, with this opacity.
    Fill(f64),
    Stroke,
    /// Round dots at the given places.
    Dots,
}

/// The shapes of one row, gathered by colour so that a curve is one element.
#[derive(Default)]
struct Paths {
    paths: Vec<(Rgb, Pen, Vec<CellShape>)>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum CellShape {
    Rectangle {
        at: (f64, f64),
        size: (f64, f64),
    },
    Line {
        from: (f64, f64),
        to: (f64, f64),
    },
    /// A quarter of a circle between the middles of two sides, bent at `corner`.
    Arc {
        from: (f64, f64),
        corner: (f64, f64),
        to: (f64, f64),
    },
    Dot {
        at: (f64, f64),
    },
}

impl CellShape {
    /// Grows by the shape on the right, so that no seam shows; false if they do not touch.
    fn grows_by(&mut self, next: Self) -> bool {
        match (self, next) {
            (Self::Rectangle { at: own, size: grown }, Self::Rectangle { at, size })
                if own.0 + grown.0 == at.0 && (own.1, grown.1) == (at.1, size.1) =>
            {
                grown.0 += size.0;
                true
            }
            (Self::Line { from: start, to: end }, Self::Line { from, to })
                if *end == from && start.1 == to.1 && from.1 == to.1 =>
            {
                *end = to;
                true
            }
            _ => false,
        }
    }
}

impl Paths {
    fn push(&mut self, color: Rgb, pen: Pen, shape: CellShape) {
        let Some((.., shapes)) = self.paths.iter_mut().find(|it| (it.0, it.1) == (color, pen))
        else {
            return self.paths.push((color, pen, vec![shape]));
        };
        if !shapes.last_mut().is_some_and(|last| last.grows_by(shape)) {
            shapes.push(shape);
        }
    }

    /// Draws a symbol as shapes if fonts draw it badly.
    fn draw(&mut self, symbol: &str, ink: Rgb, (left, top): (f64, f64)) -> bool {
        let mut chars = symbol.chars();
        let (Some(c), None) = (chars.next(), chars.next()) else { return false };
        // Parts of a cell, in shares of its width and height.
        let mut fill = |opacity: f64, x: f64, y: f64, width: f64, height: f64| {
            let at = (left + x * CELL.0, top + y * CELL.1);
            let size = (width * CELL.0, height * CELL.1);
            self.push(ink, Pen::Fill(opacity), CellShape::Rectangle { at, size });
        };
        let code = c as u32;
        match c {
            '\u{2800}'..='\u{28FF}' => {
                // Unicode numbers the dots 1-3 left, 4-6 right, and 7 and 8 below them.
                for bit in (0..8).filter(|bit| code & (1 << bit) != 0) {
                    let (x, y) = if bit < 6 { (bit / 3, bit % 3) } else { (bit - 6, 3) };
                    let (x, y) = (f64::from(x) + 0.5, f64::from(y) + 0.5);
                    let at = (left + x * CELL.0 / 2.0, top + y * CELL.1 / 4.0);
                    self.push(ink, Pen::Dots, CellShape::Dot { at });
                }
            }
            '▀' => fill(1.0, 0.0, 0.0, 1.0, 0.5),
            // The lower eighths, ▁ to █, and the left ones, ▉ to ▏.
            '▁'..='█' => {
                let height = f64::from(code - 0x2580) / 8.0;
                fill(1.0, 0.0, 1.0 - height, 1.0, height);
            }
            '▉'..='▏' => fill(1.0, 0.0, 0.0, f64::from(0x2590 - code) / 8.0, 1.0),
            '▐' => fill(1.0, 0.5, 0.0, 0.5, 1.0),
            '░' => fill(0.25, 0.0, 0.0, 1.0, 1.0),
            '▒' => fill(0.5, 0.0, 0.0, 1.0, 1.0),
            '▓' => fill(0.75, 0.0, 0.0, 1.0, 1.0),
            '▔' => fill(1.0, 0.0, 0.0, 1.0, 0.125),
            '▕' => fill(1.0, 0.875, 0.0, 0.125, 1.0),
            '▖'..='▟' => {
                // Quarters: upper left, upper right, lower left, lower right.
                const QUARTERS: [u8; 10] = [
                    0b0010, 0b0001, 0b1000, 0b1011, 0b1001, 0b1110, 0b1101, 0b0100, 0b0110, 0b0111,
                ];
                let quarters = QUARTERS[(code - 0x2596) as usize];
                for (bit, x, y) in [(8, 0.0, 0.0), (4, 0.5, 0.0), (2, 0.0, 0.5), (1, 0.5, 0.5)] {
                    if quarters & bit != 0 {
                        fill(1.0, x, y, 0.5, 0.5);
                    }
                }
            }
            _ => return self.draw_box(c, ink, (left, top)),
        }
        true
    }

    /// The thin lines of tables and borders, and the round corners.
    fn draw_box(&mut self, c: char, ink: Rgb, (left, top): (f64, f64)) -> bool {
        let middle = (left + CELL.0 / 2.0, top + CELL.1 / 2.0);
        let (right, bottom) = (left + CELL.0, top + CELL.1);
        let (north, south) = ((middle.0, top), (middle.0, bottom));
        let (west, east) = ((left, middle.1), (right, middle.1));
        let round = match c {
            '╭' => Some((south, east)),
            '╮' => Some((west, south)),
            '╯' => Some((north, west)),
            '╰' => Some((east, north)),
            _ => None,
        };
        if let Some((from, to)) = round {
            self.push(ink, Pen::Stroke, CellShape::Arc { from, corner: middle, to });
            return true;
        }
        // Which sides the lines reach: north, east, south, west.
        let (n, e, s, w) = match c {
            '─' => (false, true, false, true),
            '│' => (true, false, true, false),
            '┌' => (false, true, true, false),
            '┐' => (false, false, true, true),
            '└' => (true, true, false, false),
            '┘' => (true, false, false, true),
            '├' => (true, true, true, false),
            '┤' => (true, false, true, true),
            '┬' => (false, true, true, true),
            '┴' => (true, true, false, true),
            '┼' => (true, true, true, true),
            _ => return false,
        };
        if n || s {
            let (from, to) = (if n { north } else { middle }, if s { south } else { middle });
            self.push(ink, Pen::Stroke, CellShape::Line { from, to });
        }
        // Last, so that the next cell of a border can continue it.
        if w || e {
            let (from, to) = (if w { west } else { middle }, if e { east } else { middle });
            self.push(ink, Pen::Stroke, CellShape::Line { from, to });
        }
        true
    }

    fn write(&self, out: &mut String) {
        for (color, pen, shapes) in &self.paths {
            let mut d = String::new();
            for shape in shapes {
                let _ = match *shape {
                    CellShape::Rectangle { at, size } => {
                        write!(d, "M{} {}h{}v{}h{}z", at.0, at.1, size.0, size.1, -size.0)
                    }
                    CellShape::Line { from, to } if from.1 == to.1 => {
                        write!(d, "M{} {}H{}", from.0, from.1, to.0)
                    }
                    CellShape::Line { from, to } => write!(d, "M{} {}V{}", from.0, from.1, to.1),
                    CellShape::Arc { from, corner, to } => write!(
                        d,
                        "M{} {}Q{} {} {} {}",
                        from.0, from.1, corner.0, corner.1, to.0, to.1
                    ),
                    // A circle as two half turns, so that a row of dots is one element.
                    CellShape::Dot { at } => write!(
                        d,
                        "M{} {}a{r} {r} 0 1 1 {t} 0a{r} {r} 0 1 1 -{t} 0z",
                        at.0 - DOT_RADIUS,
                        at.1,
                        r = DOT_RADIUS,
                        t = 2.0 * DOT_RADIUS,
                    ),
                };
            }
            let color = hex(*color);
            let _ = match pen {
                Pen::Dots | Pen::Fill(1.0) => writeln!(out, "<path d=\"{d}\" fill=\"{color}\"/>"),
                Pen::Fill(opacity) => {
                    writeln!(out, "<path d=\"{d}\" fill=\"{color}\" fill-opacity=\"{opacity}\"/>")
                }
                Pen::Stroke => writeln!(
                    out,
                    "<path d=\"{d}\" fill=\"none\" stroke=\"{color}\" stroke-width=\"{STROKE}\"/>"
                ),
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use ratatui::layout::Rect;
    use ratatui::style::{Style, Stylize};
    use ratatui::text::Line;

    use super::*;
    use halflight_testing::elements;

    fn picture(lines: Vec<Line<'_>>) -> String {
        svg(&Buffer::with_lines(lines), "halflight", &TerminalColours::dark())
    }

    #[test]
    fn a_small_window_as_svg() {
        let lines = vec![
            Line::from(vec!["┌─".into(), " a < b ".bold(), "─╮".into()]),
            Line::from(vec!["│".into(), "ε = 2".cyan().dim(), " ".into(), "x&y".reversed()]),
            Line::from(vec!["⣀⡠".fg(Color::Rgb(0x56, 0xB4, 0xE9)), "██▌░░".green()]),
            Line::from("数据 ok".underlined()),
        ];
        insta::assert_snapshot!(picture(lines));
    }

    #[test]
    fn text_is_escaped() {
        let out = svg(&Buffer::with_lines(["<a href=\"x\">&'"]), "<&>", &TerminalColours::light());
        assert!(out.contains("&lt;a href=&quot;x&quot;&gt;&amp;&#39;</text>"), "{out}");
        assert!(out.contains("<title>&lt;&amp;&gt;</title>"));
        assert!(elements(&out).is_ok());
    }

    #[test]
    fn a_run_of_equal_letters_is_one_text_with_its_length() {
        let out = picture(vec![Line::from(vec!["ab".red(), "cd".red(), "  ef".blue()])]);
        let texts: Vec<&str> = out.lines().filter(|line| line.contains("xml:space")).collect();
        assert_eq!(texts.len(), 2, "{texts:?}");
        assert!(texts[0].contains("x=\"0\"") && texts[0].contains("textLength=\"36\""));
        assert!(texts[1].contains("x=\"54\"") && texts[1].contains(">ef<"));
    }

    #[test]
    fn reversed_cells_swap_ink_and_ground() {
        let paper = TerminalColours::dark();
        let out = picture(vec![Line::from("on".reversed())]);
        assert!(out.contains(&format!("h18v18h-18z\" fill=\"{}\"", hex(paper.foreground))));
        assert!(out.contains(&format!("fill=\"{}\">on<", hex(paper.background))));
    }

    #[test]
    fn named_indexed_and_true_colours_reach_the_picture() {
        let paper = TerminalColours::dark();
        let colors =
            [Red, Color::Indexed(9), Color::Indexed(166), Color::Rgb(1, 2, 3), Color::Reset];
        let expected = [paper.ansi[1], paper.ansi[9], (0xD7, 0x5F, 0), (1, 2, 3), paper.foreground];
        for (color, expected) in colors.into_iter().zip(expected) {
            let out = picture(vec![Line::from("x").style(Style::new().fg(color))]);
            assert!(out.contains(&format!("fill=\"{}\">x<", hex(expected))), "{color}");
        }
    }

    #[test]
    fn braille_is_drawn_as_one_circle_per_dot() {
        let out = picture(vec![Line::from("⣿⠁")]);
        let path = out.lines().find(|line| line.contains("<path")).unwrap();
        // Nine dots, each of two half turns.
        assert_eq!(path.matches('a').count() - "path".matches('a').count(), 18);
        assert!(!out.contains('⣿'));
    }

    #[test]
    fn blocks_are_rectangles_of_their_share() {
        let out = picture(vec![Line::from("███▄▌▟")]);
        assert!(out.contains("M0 0h27v18h-27z"), "full blocks grow together: {out}");
        assert!(out.contains("M27 9h9v9h-9z"));
        assert!(out.contains("M36 0h4.5v18h-4.5z"));
        assert!(out.contains("M49.5 0h4.5v9h-4.5z"));
    }

    #[test]
    fn every_block_element_and_light_box_line_has_a_shape() {
        for c in ('\u{2580}'..='\u{259F}').chain("─│┌┐└┘├┤┬┴┼╭╮╯╰".chars())
        {
            let mut paths = Paths::default();
            assert!(paths.draw(&c.to_string(), (0, 0, 0), (0.0, 0.0)), "{c}");
            assert!(!paths.paths.is_empty(), "{c}");
        }
    }

    #[test]
    fn a_wide_character_takes_two_columns() {
        let out = picture(vec![Line::from("数x")]);
        assert!(out.contains("textLength=\"18\"") && out.contains(">数<"));
        assert!(out.contains("x=\"18\""), "{out}");
    }

    fn any_cell() -> impl Strategy<Value = (String, u8, u16)> {
        let symbol = prop_oneof![
            4 => "[ -~]", 2 => "[─-╿▀-▟⠀-⣿]", 1 => "\\PC", 1 => Just("数".to_owned()),
            1 => Just("\u{1b}".to_owned()), 1 => Just(String::new()),
        ];
        (symbol, any::<u8>(), any::<u16>())
    }

    proptest! {
        #[test]
        fn any_buffer_gives_the_same_well_formed_picture_twice(
            cells in prop::collection::vec(any_cell(), 60), (x, y) in (0u16..9, 0u16..9),
        ) {
            let mut buffer = Buffer::empty(Rect::new(x, y, 12, 5));
            for (cell, (symbol, color, modifier)) in buffer.content.iter_mut().zip(&cells) {
                cell.set_symbol(symbol);
                cell.set_fg(Color::Indexed(*color)).set_bg(Color::Indexed(color.wrapping_mul(7)));
                cell.modifier = Modifier::from_bits_truncate(*modifier);
            }
            let out = svg(&buffer, "any", &TerminalColours::light());
            prop_assert_eq!(&out, &svg(&buffer, "any", &TerminalColours::light()));
            let found = elements(&out);
            prop_assert!(found.is_ok(), "{:?}\n{}", found, out);
            let stray = ['\u{1b}', '\0'];
            prop_assert!(!out.contains("NaN") && !out.contains(stray));
        }
    }

    #[test]
    fn an_empty_buffer_is_an_empty_window() {
        let out = svg(&Buffer::empty(Rect::ZERO), "", &TerminalColours::dark());
        assert!(elements(&out).is_ok_and(|found| found[0].starts_with("svg")));
    }
}
