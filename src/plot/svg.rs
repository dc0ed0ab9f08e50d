//! Common parts of all our SVGs.

/// Text, escaped for an element or an attribute.
pub fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c if c.is_control() || matches!(c, '\u{FFFE}' | '\u{FFFF}') => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

/// A coordinate to a tenth of a unit, as short as possible.
pub fn place(x: f64) -> String {
    let tenths = (x * 10.0).round() / 10.0;
    // Not "-0".
    format!("{}", if tenths == 0.0 { 0.0 } else { tenths })
}

/// The elements of a document, or its error.
#[cfg(test)]
pub(crate) fn elements(xml: &str) -> Result<Vec<String>, String> {
    let mut open: Vec<String> = vec![];
    let mut all = vec![];
    let mut rest = xml;
    while let Some(start) = rest.find('<') {
        let text = &rest[..start];
        if text.contains('>') || text.replace("&amp;", "").contains("&&") {
            return Err(format!("stray sign in {text:?}"));
        }
        let end = rest.find('>').ok_or("an element does not end")?;
        let tag = &rest[start + 1..end];
        rest = &rest[end + 1..];
        if !tag.matches('"').count().is_multiple_of(2) || tag.contains('<') {
            return Err(format!("bad attribute in <{tag}>"));
        }
        if let Some(name) = tag.strip_prefix('/') {
            if open.pop().as_deref() != Some(name) {
                return Err(format!("</{name}> closes something else"));
            }
            continue;
        }
        let name = tag.split([' ', '/']).next().unwrap_or_default();
        if !tag.ends_with('/') {
            open.push(name.to_owned());
        }
        all.push(tag.to_owned());
    }
    if open.is_empty() { Ok(all) } else { Err(format!("{open:?} stay open")) }
}
