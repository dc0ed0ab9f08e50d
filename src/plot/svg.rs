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
