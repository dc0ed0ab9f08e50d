//! Weka's ARFF: attributes with their types, then rows of comma-separated cells.

use super::input::Input;
use super::records::{FileRecord, FileRecords};
use crate::column::{Column, finite};
use crate::error::{Error, Result};
use crate::table::Table;
use crate::texts::Texts;

/// Cells after which room is made for more.
const CELLS: usize = 1 << 20;

/// Whether a text starts like one: comments, then `@relation`.
pub fn is_arff(start: &str) -> bool {
    let line = start.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with('%'));
    line.is_some_and(|line| keyword(line, "@relation").is_some())
}

/// The text after `keyword` on a line.
fn keyword<'t>(line: &'t str, keyword: &str) -> Option<&'t str> {
    let (start, rest) = line.split_at_checked(keyword.len())?;
    let apart = rest.is_empty() || rest.starts_with(char::is_whitespace);
    (start.eq_ignore_ascii_case(keyword) && apart).then(|| rest.trim_start())
}

struct Attribute {
    name: String,
    numeric: bool,
    /// The value that a sparse row leaves out.
    usual: String,
}

/// Reads a whole file.
pub fn read(input: &Input) -> Result<Table> {
    let mut records = FileRecords::new(input, None);
    let attributes = header(input, &mut records)?;
    let mut columns: Vec<Column> = attributes
        .iter()
        .map(|attribute| {
            if attribute.numeric {
                Column::Numbers(Vec::new().into())
            } else {
                Column::Text(Texts::default())
            }
        })
        .collect();
    let mut lines = Vec::new();
    while let Some(record) = records.next()? {
        let text = record.text(input).map(str::trim);
        if text.as_ref().is_ok_and(|text| text.is_empty() || text.starts_with('%')) {
            continue;
        }
        match text.and_then(|text| row(input, &record, text, &attributes)) {
            Ok(cells) => {
                for (cell, column) in cells.into_iter().zip(&mut columns) {
                    match (cell, column) {
                        (ArffValue::Number(number), Column::Numbers(numbers)) => {
                            numbers.push(number);
                        }
                        (ArffValue::Text(text), Column::Text(texts)) => texts.push(&text),
                        _ => {}
                    }
                }
            }
            Err(_) if input.forgiving => columns.iter_mut().for_each(Column::push_missing),
            Err(error) => return Err(error),
        }
        lines.push(record.line);
        if lines.len() * columns.len() / CELLS > (lines.len() - 1) * columns.len() / CELLS {
            columns.iter_mut().try_for_each(Column::settle)?;
            // As many times as the file is longer than what was read of it.
            let times = 1.0 / input.share_read().max(f64::EPSILON);
            let cells = columns.iter().map(Column::bytes).sum::<u64>() as f64 * times;
            let rows = (lines.len() as f64 * times) as usize;
            input.place(&mut columns, cells as u64, (lines.len(), rows))?;
        }
    }
    if lines.is_empty() {
        return Err(input
            .error("there are no rows after @data")
            .cure("at least one row is needed"));
    }
    let names = attributes.into_iter().map(|attribute| attribute.name).collect();
    Table::new(input.origin.clone(), names, columns, lines.into())
}

/// A cell according to its attribute's declaration.
enum ArffValue {
    Number(f64),
    Text(String),
}

/// The cells of one row, as many as there are attributes.
fn row(
    input: &Input,
    record: &FileRecord,
    text: &str,
    attributes: &[Attribute],
) -> Result<Vec<ArffValue>> {
    let cells = match text.strip_prefix('{') {
        Some(sparse) => sparse_cells(input, record, sparse, attributes)?,
        None => cells(text).map_err(|what| flaw(input, record, what))?,
    };
    if cells.len() != attributes.len() {
        let what = format!(
            "this row has {} cells, there are {} attributes",
            cells.len(),
            attributes.len()
        );
        return Err(flaw(input, record, &what));
    }
    let value = |(cell, attribute): (ArffCell, &Attribute)| {
        if !attribute.numeric {
            return Ok(ArffValue::Text(cell.text));
        }
        match finite(&cell.text) {
            Some(number) => Ok(ArffValue::Number(number)),
            None if cell.is_missing() => Ok(ArffValue::Number(f64::NAN)),
            None => Err(Error::failed("expected a number")
                .at(format!("{}, column '{}'", record.place(input), attribute.name))
                .quoting(cell.text)
                .cure("correct the cell, or write ? for a missing value")),
        }
    };
    cells.into_iter().zip(attributes).map(value).collect()
}

fn header(input: &Input, records: &mut FileRecords) -> Result<Vec<Attribute>> {
    let mut attributes = Vec::new();
    while let Some(record) = records.next()? {
        let line = record.text(input)?.trim();
        if line.is_empty() || line.starts_with('%') || keyword(line, "@relation").is_some() {
            continue;
        }
        if keyword(line, "@data").is_some() {
            if attributes.is_empty() {
                return Err(flaw(input, &record, "there is no @attribute before @data"));
            }
            return Ok(attributes);
        }
        let Some(text) = keyword(line, "@attribute") else {
            return Err(flaw(input, &record, "expected @attribute or @data"));
        };
        attributes.push(attribute(text).map_err(|what| flaw(input, &record, &what))?);
    }
    Err(input
        .error("the file ends before @data")
        .cure("it is cut off or no ARFF: copy or download it again"))
}

/// Reads `name type`.
fn attribute(text: &str) -> std::result::Result<Attribute, String> {
    let (name, kind) = if text.starts_with(['\'', '"']) {
        quoted(text)?
    } else {
        let end = text.find(char::is_whitespace).unwrap_or(text.len());
        (text[..end].to_owned(), &text[end..])
    };
    let kind = kind.trim();
    if name.is_empty() || kind.is_empty() {
        return Err("an attribute needs a name and a type".to_owned());
    }
    let word = kind.split_whitespace().next().unwrap_or_default().to_ascii_lowercase();
    let (numeric, usual) = match word.as_str() {
        "numeric" | "real" | "integer" => (true, "0".to_owned()),
        "string" | "date" => (false, String::new()),
        _ => {
            let inside = kind.strip_prefix('{').and_then(|kind| kind.strip_suffix('}'));
            let values = inside.ok_or_else(|| {
                format!("attribute '{name}' has a type that is not known: {kind}")
            })?;
            let first = cells(values)?.into_iter().next();
            (false, first.map(|cell| cell.text).unwrap_or_default())
        }
    };
    Ok(Attribute { name, numeric, usual })
}

struct ArffCell {
    text: String,
    quoted: bool,
}

impl ArffCell {
    fn is_missing(&self) -> bool {
        self.text == "?" && !self.quoted
    }
}

/// Cells between commas; single and double quotes, backslashes inside them.
fn cells(text: &str) -> std::result::Result<Vec<ArffCell>, &'static str> {
    let mut cells = Vec::new();
    let mut rest = text;
    loop {
        let (cell, after) = first_cell(rest.trim_start())?;
        cells.push(cell);
        if after.is_empty() {
            return Ok(cells);
        }
        rest = after.strip_prefix(',').ok_or("expected a comma after a quoted cell")?;
    }
}

/// The cell at the start, and what follows it: nothing, or the comma after a plain cell.
fn first_cell(text: &str) -> std::result::Result<(ArffCell, &str), &'static str> {
    if text.starts_with(['\'', '"']) {
        let (text, after) = quoted(text)?;
        return Ok((ArffCell { text, quoted: true }, after.trim_start()));
    }
    let (text, after) = text.split_at(text.find(',').unwrap_or(text.len()));
    Ok((ArffCell { text: text.trim().to_owned(), quoted: false }, after))
}

/// The quoted text at the start, and what follows it.
fn quoted(text: &str) -> std::result::Result<(String, &str), &'static str> {
    let mut characters = text.char_indices();
    let quote = characters.next().map(|(_, quote)| quote);
    let mut inside = String::new();
    while let Some((at, character)) = characters.next() {
        match character {
            '\\' => inside.extend(characters.next().map(|(_, escaped)| escaped)),
            _ if Some(character) == quote => {
                return Ok((inside.trim().to_owned(), &text[at + character.len_utf8()..]));
            }
            _ => inside.push(character),
        }
    }
    Err("a quote opened in this row is never closed")
}

/// Cells of `{index value, index value}`.
fn sparse_cells(
    input: &Input,
    record: &FileRecord,
    text: &str,
    attributes: &[Attribute],
) -> Result<Vec<ArffCell>> {
    let flaw = |what: &str| flaw(input, record, what);
    let inside = text.trim_end().strip_suffix('}').ok_or_else(|| flaw("expected '}'"))?;
    let usual = |attribute: &Attribute| ArffCell { text: attribute.usual.clone(), quoted: true };
    let mut row: Vec<ArffCell> = attributes.iter().map(usual).collect();
    if inside.trim().is_empty() {
        return Ok(row);
    }
    // A quote opens after the index, so commas are searched for by hand.
    let mut rest = inside.trim_start();
    loop {
        let end = rest.find(char::is_whitespace).ok_or_else(|| flaw("expected: index value"))?;
        let slot = rest[..end].parse().ok().and_then(|index: usize| row.get_mut(index));
        let slot = slot.ok_or_else(|| flaw("there is no attribute of this index"))?;
        (*slot, rest) = first_cell(rest[end..].trim_start()).map_err(&flaw)?;
        if rest.is_empty() {
            return Ok(row);
        }
        rest = rest.strip_prefix(',').ok_or_else(|| flaw("expected a comma"))?.trim_start();
    }
}

fn flaw(input: &Input, record: &FileRecord, what: &str) -> Error {
    Error::failed(what)
        .at(record.place(input))
        .cure("compare the line with Weka's description of ARFF")
}
