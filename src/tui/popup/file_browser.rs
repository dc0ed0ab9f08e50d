//! A directory, and a first look at the file under the cursor.

use std::path::PathBuf;

use ratatui::layout::Constraint::Max;

use super::picker::{Item, Picker};
use crate::canvas::{Canvas, Fill, Length, Line, Rect, Span, in_columns, in_rows, longest};
use crate::engine::lookup::{DirectoryEntry, FirstCells, Listing, Schema, Wanted};
use crate::error::Result;
use crate::notice::one_line;
use crate::privacy::Watch;
use crate::widgets::shortened;

#[derive(Debug)]
pub struct FileBrowser {
    pub wanted: Wanted,
    pub directory: PathBuf,
    pub picker: Picker<DirectoryEntry>,
    /// A first look at a file.
    pub glance: Option<(PathBuf, Result<Schema>)>,
}

impl FileBrowser {
    pub fn new(listing: &Listing) -> Self {
        let item = |entry: &DirectoryEntry| {
            if entry.is_directory {
                return Item::new(format!("{}/", entry.name), "", entry.clone());
            }
            Item { key: size(entry.bytes), ..Item::new(&entry.name, "", entry.clone()) }
        };
        let up = DirectoryEntry { name: "..".to_owned(), is_directory: true, bytes: 0 };
        let items = std::iter::once(&up).chain(&listing.entries).map(item).collect();
        let title = match listing.wanted {
            Wanted::Data => "Add a dataset",
            Wanted::Sessions => "Open a session (.ron)",
        };
        let mut picker = Picker::new(title, items);
        picker.selected = usize::from(picker.items.len() > 1);
        let (wanted, directory) = (listing.wanted, listing.directory.clone());
        Self { wanted, directory, picker, glance: None }
    }

    /// The file under the cursor.
    pub fn file(&self) -> Option<PathBuf> {
        let entry = &self.picker.chosen()?.value;
        (!entry.is_directory).then(|| self.directory.join(&entry.name))
    }

    /// The files on the left, the start of the one under the cursor on the right.
    pub fn draw(&self, canvas: &mut Canvas, body: Rect, watch: &Watch) {
        let theme = canvas.theme;
        let wide = if self.wanted == Wanted::Data { 116 } else { 76 };
        let inner = canvas.window(body, wide, 30, &self.picker.title);
        let [place, field, lists, keys] =
            in_rows(inner, [Length(1), Length(1), Fill(1), Length(1)]);
        let [left, _, right] = in_columns(
            lists,
            [
                Length(match self.wanted {
                    Wanted::Data => (lists.width * 2 / 5).min(44),
                    Wanted::Sessions => lists.width,
                }),
                Max(2),
                Fill(1),
            ],
        );
        let directory = self.directory.display().to_string();
        canvas.line(Line::styled(directory, theme.muted), place);
        self.picker.draw_query(canvas, field, "a few letters of the name, or a path");
        self.picker.draw_items(canvas, left);
        let glance = self.glance.as_ref().filter(|(file, _)| self.file().as_ref() == Some(file));
        let schema = glance.map(|(_, schema)| schema);
        match schema {
            Some(Ok(schema)) => first_look(canvas, right, schema, watch),
            Some(Err(error)) => canvas.wrapped(one_line(error), theme.error, right),
            None => {}
        }
        let hidden =
            matches!(schema, Some(Ok(schema)) if matches!(schema.cells, FirstCells::Hidden));
        let words = if hidden && !watch.is_sealed() {
            "Enter opens a folder or takes a file, Ctrl-o shows cells ◆, Esc leaves"
        } else {
            "Enter opens a folder or takes a file, Esc leaves"
        };
        canvas.line(Line::styled(words, theme.muted), keys);
    }
}

fn size(bytes: u64) -> String {
    match bytes {
        0..1_000 => format!("{bytes} B"),
        1_000..1_000_000 => format!("{} kB", bytes / 1_000),
        1_000_000..1_000_000_000 => format!("{} MB", bytes / 1_000_000),
        _ => format!("{:.1} GB", bytes as f64 / 1e9),
    }
}

const HIDDEN: &str = "cells are hidden: the file may be private";

/// The columns of a file, and its first cells if they may be seen.
fn first_look(canvas: &mut Canvas, area: Rect, schema: &Schema, watch: &Watch) {
    let theme = canvas.theme;
    let text = schema.columns.iter().filter(|column| column.holds() == "text").count();
    let rows = if schema.whole {
        format!("{} {}", schema.rows, if schema.rows == 1 { "row" } else { "rows" })
    } else {
        format!("more than {} rows", schema.rows)
    };
    let (cells, style, about) = match &schema.cells {
        FirstCells::Public(rows) => (Some(rows), theme.muted, None),
        FirstCells::Exact(rows) => match rows.reveal(watch) {
            Some(rows) => (Some(rows), theme.curator, Some("◆ cells, for your eyes only")),
            None => (None, theme.curator, Some(HIDDEN)),
        },
        FirstCells::Hidden => (None, theme.muted, Some(HIDDEN)),
    };
    let columns = schema.columns.len();
    let head = format!("{rows}, {columns} columns ({text} text)");
    let mut lines = vec![Line::styled(head, theme.accent)];
    lines.extend(about.map(|about| Line::styled(about, style)));
    let names = usize::from(longest(schema.columns.iter().map(|it| &it.name)).min(24));
    for (index, column) in schema.columns.iter().enumerate() {
        let kind = format!("{:6}", column.holds());
        let values: Vec<&str> = cells
            .iter()
            .flat_map(|rows| rows.rows.iter().take(4))
            .filter_map(|row| row.get(index).map(String::as_str))
            .collect();
        let name = shortened(&column.name, names as u16, canvas.glyphs.cut);
        lines.push(Line::from(vec![
            Span::styled(format!("{name:<names$} "), theme.text),
            Span::styled(format!("{kind}  "), theme.muted),
            Span::styled(values.join(", "), style),
        ]));
    }
    canvas.lines(lines, area);
}
