//! Makes words from others' files safe to show in a terminal.

/// One line of at most `most` characters: characters that control a terminal, change the direction
/// of writing or have no width become `?`, and longer texts are cut.
pub fn harmless(text: &str, most: usize) -> String {
    let mut line: String = text.trim().chars().take(most).map(tamed).collect();
    if text.trim().chars().nth(most).is_some() {
        line.pop();
        line.push('…');
    }
    line
}

/// [`harmless`] for several lines of any length, such as an error that quotes a file.
pub fn harmless_lines(text: &str) -> String {
    text.chars().map(|c| if c == '\n' { c } else { tamed(c) }).collect()
}

fn tamed(c: char) -> char {
    let is_harmful = c.is_control()
        || matches!(c, '\u{200B}'..='\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{2060}'..='\u{206F}')
        || matches!(c, '\u{FEFF}' | '\u{FFF9}'..='\u{FFFB}' | '\u{E0000}'..='\u{E0FFF}');
    if is_harmful { '?' } else { c }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_steers_a_terminal_is_left_and_long_words_are_cut() {
        assert_eq!(harmless(" winter · ε 1\n", 40), "winter · ε 1");
        assert_eq!(harmless("a\x1b[2Jb\u{9b}31m\u{202e}c\nd\0", 40), "a?[2Jb?31m?c?d?");
        assert_eq!(harmless(&"x".repeat(1_000_000), 4), "xxx…");
        assert_eq!(harmless("four", 4), "four");
        assert_eq!(harmless_lines("a\x1b[2J\n  b\r"), "a?[2J\n  b?");
    }
}
