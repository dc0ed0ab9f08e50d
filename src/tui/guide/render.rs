//! Markdown as lines of a terminal: headings, paragraphs, lists, tables and code, wrapped to a
//! width. Words keep their tone, so that the caller may or may not colour them.

use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};
use ratatui::buffer::CellWidth;

/// The tone of a piece of text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextTone {
    Plain,
    Strong,
    Code,
    Heading,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    pub text: String,
    pub tone: TextTone,
}

impl Piece {
    fn plain(text: String) -> Self {
        Self { text, tone: TextTone::Plain }
    }
}

/// One line of the terminal.
pub type TerminalLine = Vec<Piece>;

/// The least width of a table's columns, for any terminal.
const LEAST_COLUMN: usize = 6;
/// The gap between two columns of a table.
const GAP: &str = "  ";

/// The lines of a page for a terminal of this width.
pub fn render(markdown: &str, width: usize) -> Vec<TerminalLine> {
    let mut page = Page { width: width.max(20), ..Page::default() };
    for event in Parser::new_ext(markdown, Options::ENABLE_TABLES) {
        page.take(event);
    }
    while page.lines.last().is_some_and(Vec::is_empty) {
        page.lines.pop();
    }
    page.lines
}

/// Text of a line without tones.
pub fn plain(line: &[Piece]) -> String {
    let text: String = line.iter().map(|piece| piece.text.as_str()).collect();
    text.trim_end().to_owned()
}

#[derive(Default)]
struct Page {
    width: usize,
    lines: Vec<TerminalLine>,
    /// Text of the current block.
    inline: TerminalLine,
    strong: usize,
    heading: Option<HeadingLevel>,
    /// Open lists: the next number, or none if they have bullets.
    lists: Vec<Option<u64>>,
    /// The mark before the next line of an item.
    mark: Option<String>,
    code: bool,
    link: Option<(String, usize)>,
    /// Rows of cells; the first is the heading.
    table: Option<Vec<Vec<TerminalLine>>>,
}

impl Page {
    fn take(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) if self.code => self.code_lines(&text),
            Event::Text(text) => self.push(&text, self.tone()),
            Event::Code(text) => self.push(&text, TextTone::Code),
            Event::SoftBreak | Event::HardBreak => self.push(" ", self.tone()),
            Event::Rule => self.blank(),
            // Comments mark tables for tests.
            _ => {}
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Heading { level, .. } => self.heading = Some(level),
            Tag::Strong | Tag::Emphasis => self.strong += 1,
            Tag::List(first) => {
                self.flush();
                self.lists.push(first);
            }
            Tag::Item => {
                self.flush();
                let mark = match self.lists.last_mut() {
                    Some(Some(number)) => {
                        *number += 1;
                        format!("{}. ", *number - 1)
                    }
                    _ => "- ".to_owned(),
                };
                self.mark = Some(mark);
            }
            Tag::CodeBlock(CodeBlockKind::Fenced(_) | CodeBlockKind::Indented) => {
                self.flush();
                self.code = true;
            }
            Tag::Link { dest_url, .. } => {
                self.link = Some((dest_url.into_string(), self.inline.len()));
            }
            Tag::Image { .. } => self.push("(picture: ", self.tone()),
            Tag::Table(_) => {
                self.flush();
                self.table = Some(Vec::new());
            }
            Tag::TableHead | Tag::TableRow => {
                if let Some(table) = &mut self.table {
                    table.push(Vec::new());
                }
            }
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Heading(level) => self.end_heading(level),
            TagEnd::Strong | TagEnd::Emphasis => self.strong = self.strong.saturating_sub(1),
            TagEnd::Paragraph => {
                self.flush();
                self.blank();
            }
            TagEnd::Item => {
                self.flush();
                self.mark = None;
            }
            TagEnd::List(_) => {
                self.lists.pop();
                if self.lists.is_empty() {
                    self.blank();
                }
            }
            TagEnd::CodeBlock => {
                self.code = false;
                self.blank();
            }
            TagEnd::Link => self.end_link(),
            TagEnd::Image => self.push(")", self.tone()),
            TagEnd::TableCell => {
                let cell = std::mem::take(&mut self.inline);
                if let Some(row) = self.table.as_mut().and_then(|table| table.last_mut()) {
                    row.push(cell);
                }
            }
            TagEnd::Table => {
                if let Some(table) = self.table.take() {
                    self.lines.extend(table_lines(&table, self.width));
                    self.blank();
                }
            }
            _ => {}
        }
    }

    fn tone(&self) -> TextTone {
        match (self.heading.is_some(), self.strong > 0) {
            (true, _) => TextTone::Heading,
            (_, true) => TextTone::Strong,
            _ => TextTone::Plain,
        }
    }

    fn push(&mut self, text: &str, tone: TextTone) {
        self.inline.push(Piece { text: text.to_owned(), tone });
    }

    fn blank(&mut self) {
        if self.lines.last().is_some_and(|line| !line.is_empty()) {
            self.lines.push(Vec::new());
        }
    }

    fn indent(&self) -> usize {
        2 * self.lists.len()
    }

    /// Ends the current block and turns it into lines.
    fn flush(&mut self) {
        if self.inline.is_empty() {
            return;
        }
        let inline = std::mem::take(&mut self.inline);
        let mut mark = self.mark.take();
        let indent = self.indent().max(mark.as_ref().map_or(0, String::len));
        for line in wrap(&inline, self.width.saturating_sub(indent)) {
            let mark = mark.take().unwrap_or_default();
            let before = (indent > 0).then(|| Piece::plain(format!("{mark:>indent$}")));
            self.lines.push(before.into_iter().chain(line).collect());
        }
    }

    fn end_heading(&mut self, level: HeadingLevel) {
        self.heading = None;
        let inline = toned(std::mem::take(&mut self.inline), TextTone::Heading);
        self.blank();
        let lines = wrap(&inline, self.width);
        let wide = lines.iter().map(|line| cells(line)).max().unwrap_or(0);
        self.lines.extend(lines);
        let rule = match level {
            HeadingLevel::H1 => "=",
            HeadingLevel::H2 => "-",
            _ => "",
        };
        if !rule.is_empty() {
            self.lines.push(vec![Piece { text: rule.repeat(wide), tone: TextTone::Heading }]);
        }
        self.lines.push(Vec::new());
    }

    /// Code keeps its lines at any length, because they are for copying.
    fn code_lines(&mut self, text: &str) {
        let indent = " ".repeat(self.indent().max(2) + 2);
        for line in text.lines() {
            let text = format!("{indent}{line}");
            self.lines.push(vec![Piece { text, tone: TextTone::Code }]);
        }
    }

    /// The target of a link follows its words: the command for another page, otherwise the address.
    fn end_link(&mut self) {
        let Some((place, start)) = self.link.take() else { return };
        let shown: String = self.inline[start..].iter().map(|piece| piece.text.as_str()).collect();
        let target = match super::topic_of_link(&place) {
            Some(topic) => format!("halflight guide {topic}"),
            None => place.trim_start_matches("../").to_owned(),
        };
        if shown != target && !target.starts_with('#') {
            self.push(" (", self.tone());
            self.push(&target, TextTone::Code);
            self.push(")", self.tone());
        }
    }
}

fn cells(line: &[Piece]) -> usize {
    line.iter().map(|piece| usize::from(piece.text.cell_width())).sum()
}

/// Breaks text at its blanks so that no line is too wide, unless a single word is.
fn wrap(inline: &[Piece], width: usize) -> Vec<TerminalLine> {
    let mut lines: Vec<TerminalLine> = vec![Vec::new()];
    let (mut used, mut owed) = (0, false);
    for word in words(inline) {
        let wide = cells(&word);
        if used > 0 && used + usize::from(owed) + wide > width {
            lines.push(Vec::new());
            (used, owed) = (0, false);
        }
        let Some(line) = lines.last_mut() else { continue };
        if owed && used > 0 {
            line.push(Piece::plain(" ".to_owned()));
            used += 1;
        }
        used += wide;
        line.extend(word);
        owed = true;
    }
    lines
}

/// Runs of pieces without a blank between them.
fn words(inline: &[Piece]) -> Vec<TerminalLine> {
    let mut words: Vec<TerminalLine> = Vec::new();
    let mut open = false;
    for piece in inline {
        for (index, part) in piece.text.split(' ').enumerate() {
            open &= index == 0;
            if part.is_empty() {
                continue;
            }
            let piece = Piece { text: part.to_owned(), tone: piece.tone };
            match words.last_mut().filter(|_| open) {
                Some(word) => word.push(piece),
                None => words.push(vec![piece]),
            }
            open = true;
        }
    }
    words
}

fn toned(line: TerminalLine, tone: TextTone) -> TerminalLine {
    line.into_iter().map(|piece| Piece { tone, ..piece }).collect()
}

fn table_lines(rows: &[Vec<TerminalLine>], width: usize) -> Vec<TerminalLine> {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let widest = |index: usize| {
        let column = rows.iter().filter_map(|row| row.get(index));
        column.map(|cell| cells(cell)).max().unwrap_or(0)
    };
    let natural: Vec<usize> = (0..columns).map(widest).collect();
    let widths = share(&natural, width.saturating_sub(GAP.len() * columns.saturating_sub(1)));
    let mut lines = Vec::new();
    for (number, row) in rows.iter().enumerate() {
        let is_heading = number == 0;
        if is_heading && row.iter().all(|cell| cells(cell) == 0) {
            continue;
        }
        let wrapped = |(index, width): (usize, &usize)| {
            let cell = row.get(index).cloned().unwrap_or_default();
            wrap(&if is_heading { toned(cell, TextTone::Strong) } else { cell }, *width)
        };
        let parts: Vec<Vec<TerminalLine>> = widths.iter().enumerate().map(wrapped).collect();
        for level in 0..parts.iter().map(Vec::len).max().unwrap_or(0) {
            let mut line = TerminalLine::new();
            for (index, (part, width)) in parts.iter().zip(&widths).enumerate() {
                let text = part.get(level).cloned().unwrap_or_default();
                let missing = width.saturating_sub(cells(&text));
                line.extend(text);
                if index + 1 < columns {
                    line.push(Piece::plain(" ".repeat(missing) + GAP));
                }
            }
            lines.push(line);
        }
        if is_heading {
            let rules: Vec<String> = widths.iter().map(|width| "-".repeat(*width)).collect();
            lines.push(vec![Piece::plain(rules.join(GAP))]);
        }
    }
    lines
}

/// Widths of columns that fit together: narrow ones have their natural width, the others share the
/// rest equally.
fn share(natural: &[usize], width: usize) -> Vec<usize> {
    let mut widths = natural.to_vec();
    let mut open: Vec<usize> = (0..natural.len()).collect();
    let mut left = width;
    loop {
        let part = left / open.len().max(1);
        let (fits, wide): (Vec<usize>, Vec<usize>) =
            open.iter().partition(|index| natural[**index] <= part);
        if fits.is_empty() || wide.is_empty() {
            for index in wide {
                widths[index] = part.max(LEAST_COLUMN);
            }
            return widths;
        }
        left -= fits.iter().map(|index| natural[*index]).sum::<usize>();
        open = wide;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(markdown: &str, width: usize) -> String {
        let lines = render(markdown, width);
        lines.iter().map(|line| plain(line) + "\n").collect()
    }

    #[test]
    fn paragraphs_and_lists_are_wrapped_and_code_is_not() {
        let page = "# Title\n\nSome words that are\nbroken anew.\n\n- one item of several words\n- \
                    two\n\n```sh\nhalflight run session.ron --plan name\n```\n";
        let wanted = "Title\n=====\n\nSome words that are\nbroken anew.\n\n- one item of\n  \
                      several words\n- two\n\n    halflight run session.ron --plan name\n";
        assert_eq!(text(page, 20), wanted);
    }

    #[test]
    fn tables_fit_the_width_and_wide_cells_are_wrapped() {
        let page = "| a | what it does |\n|---|---|\n| x | a longer text that does not fit |\n";
        let shown = text(page, 20);
        assert_eq!(
            shown,
            "a  what it does\n-  -----------------\nx  a longer text\n   that does not fit\n"
        );
        assert!(text(page, 80).contains("x  a longer text that does not fit"));
    }

    #[test]
    fn links_say_the_command_that_shows_the_page() {
        assert_eq!(
            text("See [Budgets](budgets.md).", 80),
            "See Budgets (halflight guide budgets).\n"
        );
        let proofs = text("See [it](proofs/public_shape.md).", 80);
        assert_eq!(proofs, "See it (halflight guide proofs/public_shape).\n");
        assert_eq!(text("[x](https://a.example)", 80), "x (https://a.example)\n");
    }

    #[test]
    fn bold_words_and_code_keep_their_tone_next_to_punctuation() {
        let lines = render("a **b**, `c d`.", 80);
        let tones: Vec<_> = lines[0].iter().map(|it| (it.text.as_str(), it.tone)).collect();
        assert!(tones.contains(&("b", TextTone::Strong)) && tones.contains(&("d", TextTone::Code)));
        assert_eq!(plain(&lines[0]), "a b, c d.");
    }

    #[test]
    fn numbered_items_keep_their_numbers() {
        assert_eq!(text("1. one\n2. two\n", 80), "1. one\n2. two\n");
    }
}
