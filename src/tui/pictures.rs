//! Images as pixels, by kitty's protocol with Unicode placeholders: the cells of an image hold letters
//! that name it by their colour, so that windows cover it and scrolling moves it like text. Other
//! terminals get half blocks.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ratatui::style::{Color, Style};

use super::canvas::Span;

/// How images are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Drawing {
    #[default]
    HalfBlocks,
    /// By the terminal.
    Pixels,
}

/// An image of red, green and blue bytes, in so many cells.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Picture {
    /// Pixels of a line, and lines.
    pub size: (usize, usize),
    pub pixels: Vec<u8>,
    pub columns: usize,
    pub rows: usize,
}

/// A letter for private use, which kitty replaces with a cell of an image.
const PLACEHOLDER: char = '\u{10eeee}';

/// The marks of the first rows and columns, in the order of kitty's list.
const MARKS: [char; 32] = [
    '\u{305}', '\u{30d}', '\u{30e}', '\u{310}', '\u{312}', '\u{33d}', '\u{33e}', '\u{33f}',
    '\u{346}', '\u{34a}', '\u{34b}', '\u{34c}', '\u{350}', '\u{351}', '\u{352}', '\u{357}',
    '\u{35b}', '\u{363}', '\u{364}', '\u{365}', '\u{366}', '\u{367}', '\u{368}', '\u{369}',
    '\u{36a}', '\u{36b}', '\u{36c}', '\u{36d}', '\u{36e}', '\u{36f}', '\u{483}', '\u{484}',
];

/// The most letters of a part of an image.
const PART: usize = 4096;

impl Picture {
    /// The number of the image in the terminal, which is a colour: at least 256, as smaller ones are
    /// colours of the palette.
    fn number(&self) -> u32 {
        let mut digest = DefaultHasher::new();
        self.hash(&mut digest);
        (digest.finish() as u32 & 0x00ff_ffff).max(256)
    }

    /// The letters of one row of cells.
    pub fn cells(&self, row: usize) -> Span<'static> {
        let [_, red, green, blue] = self.number().to_be_bytes();
        let marks = MARKS.get(row).zip(MARKS.get(..self.columns));
        let letters = marks.map(|(row, columns)| {
            columns.iter().flat_map(|column| [PLACEHOLDER, *row, *column]).collect::<String>()
        });
        Span::styled(
            letters.unwrap_or_else(|| " ".repeat(self.columns)),
            Style::new().fg(Color::Rgb(red, green, blue)),
        )
    }

    /// Sends the pixels, without an answer from the terminal.
    pub fn send(&self, out: &mut impl Write) -> std::io::Result<()> {
        let text = STANDARD.encode(&self.pixels);
        let (width, height) = self.size;
        let (number, columns, rows) = (self.number(), self.columns, self.rows);
        let mut head =
            format!("a=T,U=1,f=24,s={width},v={height},i={number},c={columns},r={rows},");
        let mut left = text.as_str();
        while !left.is_empty() {
            let (part, rest) = left.split_at(left.len().min(PART));
            write!(out, "\x1b_G{head}q=2,m={};{part}\x1b\\", u8::from(!rest.is_empty()))?;
            (left, head) = (rest, String::new());
        }
        Ok(())
    }

    /// Removes the image from the terminal.
    pub fn remove(&self, out: &mut impl Write) -> std::io::Result<()> {
        write!(out, "\x1b_Ga=d,d=I,i={},q=2\x1b\\", self.number())
    }
}

/// Whether a terminal with these variables may be one that shows images by placeholders: only such a
/// one is asked. A multiplexer in between would take the question as its title.
fn may_show(variable: &dyn Fn(&str) -> Option<String>) -> bool {
    let multiplexer = ["TMUX", "STY", "ZELLIJ"].iter().any(|name| variable(name).is_some());
    let names = ["TERM", "TERM_PROGRAM"].map(|name| variable(name).unwrap_or_default());
    let kind = names.iter().any(|name| name.contains("kitty") || name.contains("ghostty"));
    let nested = ["tmux", "screen"].iter().any(|it| names[0].starts_with(it));
    !multiplexer && !nested && (kind || variable("KITTY_WINDOW_ID").is_some())
}

/// Whether an answer says that images are shown: kitty has placeholders since 0.28.
fn says_yes(answer: &str) -> bool {
    let after = |name: &str| answer.split_once(name).map(|(_, rest)| rest);
    let kitty = after("\x1bP>|kitty(").is_some_and(|rest| {
        let mut numbers = rest.split(|c: char| !c.is_ascii_digit()).map(str::parse::<u32>);
        let [major, minor] = [numbers.next(), numbers.next()].map(|it| it.and_then(Result::ok));
        (major, minor) >= (Some(0), Some(28))
    });
    answer.contains("\x1b_Gi=31;OK") && (kitty || after("\x1bP>|ghostty").is_some())
}

/// Asks the terminal whether it shows images, if it may. It must be in raw mode, and nobody else may
/// read from it.
#[cfg(unix)]
pub fn are_shown() -> bool {
    may_show(&|name| std::env::var(name).ok().filter(|value| !value.is_empty()))
        && answer().is_ok_and(|answer| says_yes(&answer))
}

#[cfg(not(unix))]
pub fn are_shown() -> bool {
    false
}

/// How long the terminal may take.
#[cfg(unix)]
const PATIENCE: std::time::Duration = std::time::Duration::from_millis(300);

/// What the terminal says to three questions: its name, whether it takes images, and what it can do,
/// which every terminal answers.
#[cfg(unix)]
fn answer() -> std::io::Result<String> {
    use std::io::Read as _;
    use std::os::fd::AsRawFd as _;

    let mut out = std::io::stdout();
    write!(out, "\x1b[>q\x1b_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA\x1b\\\x1b[c")?;
    out.flush()?;
    let mut terminal = std::fs::File::open("/dev/tty")?;
    let (mut answer, mut buffer) = (String::new(), [0; 256]);
    let end = std::time::Instant::now() + PATIENCE;
    let is_whole = |answer: &str| {
        answer.rsplit_once("\x1b[?").is_some_and(|(_, features)| features.ends_with('c'))
    };
    while !is_whole(&answer) {
        let left = end.saturating_duration_since(std::time::Instant::now());
        let fd = terminal.as_raw_fd();
        let mut wait = [filedescriptor::pollfd { fd, events: filedescriptor::POLLIN, revents: 0 }];
        let ready = filedescriptor::poll(&mut wait, Some(left)).map_err(std::io::Error::other)?;
        if ready == 0 {
            break;
        }
        let read = terminal.read(&mut buffer)?;
        if read == 0 {
            break;
        }
        answer += &String::from_utf8_lossy(&buffer[..read]);
    }
    Ok(answer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_terminals_that_show_images_are_asked_and_believed() {
        let asked = |set: &[(&str, &str)]| {
            may_show(&|name| set.iter().find(|it| it.0 == name).map(|it| it.1.to_owned()))
        };
        assert!(asked(&[("TERM", "xterm-kitty")]) && asked(&[("TERM", "xterm-ghostty")]));
        assert!(asked(&[("TERM", "xterm-256color"), ("KITTY_WINDOW_ID", "1")]));
        assert!(!asked(&[("TERM", "xterm-256color")]) && !asked(&[]));
        for inside in ["TMUX", "STY", "ZELLIJ"] {
            assert!(!asked(&[("TERM", "xterm-kitty"), (inside, "0")]), "{inside}");
        }
        assert!(!asked(&[("TERM", "tmux-256color"), ("KITTY_WINDOW_ID", "1")]));

        let says =
            |name: &str| says_yes(&format!("\x1bP>|{name}\x1b\\\x1b_Gi=31;OK\x1b\\\x1b[?62c"));
        assert!(says("kitty(0.28.0)") && says("kitty(0.41.2)") && says("kitty(1.0.0)"));
        assert!(says("ghostty 1.2.3"));
        // Their images are not bound to letters.
        assert!(!says("kitty(0.27.1)") && !says("WezTerm 20240203") && !says("tmux 3.4"));
        assert!(!says_yes("\x1bP>|kitty(0.41.2)\x1b\\\x1b[?62c") && !says_yes(""));
    }

    #[test]
    fn the_parts_of_an_image_are_short_and_together_the_whole() {
        let pixels: Vec<u8> = (0..64 * 64 * 3).map(|at| (at % 251) as u8).collect();
        let picture = Picture { size: (64, 64), pixels, columns: 8, rows: 4 };
        let mut sent = Vec::new();
        picture.send(&mut sent).unwrap();
        let sent = String::from_utf8(sent).unwrap();
        let parts: Vec<(&str, &str)> = sent
            .split_terminator("\x1b\\")
            .map(|part| part.strip_prefix("\x1b_G").unwrap().split_once(';').unwrap())
            .collect();
        assert_eq!(parts.len(), 4);
        assert!(parts[0].0.starts_with("a=T,U=1,f=24,s=64,v=64,i="), "{}", parts[0].0);
        assert!(parts[..3].iter().all(|(head, part)| head.ends_with("m=1") && part.len() == PART));
        assert_eq!(parts[3].0, "q=2,m=0");
        let text: String = parts.iter().map(|(_, part)| *part).collect();
        assert_eq!(STANDARD.decode(text).unwrap(), picture.pixels);
        assert_eq!(picture.cells(0).width(), 8);
        assert_eq!(picture.cells(3).content.chars().nth(1), Some(MARKS[3]));
    }
}
