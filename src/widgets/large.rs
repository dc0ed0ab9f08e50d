//! Numbers three rows high, made of half blocks, for what should be seen first on a screen.

/// Rows of a large number.
pub const ROWS: u16 = 3;

/// Three cells wide, five half rows high; a bit for each half cell, the left one first.
const FONT: [(char, [u8; 5]); 16] = [
    ('0', [0b111, 0b101, 0b101, 0b101, 0b111]),
    ('1', [0b010, 0b110, 0b010, 0b010, 0b111]),
    ('2', [0b111, 0b001, 0b111, 0b100, 0b111]),
    ('3', [0b111, 0b001, 0b111, 0b001, 0b111]),
    ('4', [0b101, 0b101, 0b111, 0b001, 0b001]),
    ('5', [0b111, 0b100, 0b111, 0b001, 0b111]),
    ('6', [0b111, 0b100, 0b111, 0b101, 0b111]),
    ('7', [0b111, 0b001, 0b010, 0b010, 0b010]),
    ('8', [0b111, 0b101, 0b111, 0b101, 0b111]),
    ('9', [0b111, 0b101, 0b111, 0b001, 0b111]),
    ('.', [0b000, 0b000, 0b000, 0b000, 0b010]),
    ('-', [0b000, 0b000, 0b111, 0b000, 0b000]),
    ('%', [0b101, 0b001, 0b010, 0b100, 0b101]),
    ('k', [0b100, 0b101, 0b110, 0b101, 0b101]),
    ('M', [0b101, 0b111, 0b111, 0b101, 0b101]),
    (' ', [0; 5]),
];

/// The rows of a number; `None` if one of its characters is not in the font.
pub fn rows(text: &str) -> Option<[String; ROWS as usize]> {
    let mut rows: [String; ROWS as usize] = Default::default();
    for c in text.chars() {
        let (_, shape) = FONT.iter().find(|(known, _)| *known == c)?;
        for (row, line) in rows.iter_mut().enumerate() {
            let upper = shape[2 * row];
            let lower = shape.get(2 * row + 1).copied().unwrap_or(0);
            line.extend((0..3).rev().map(|bit| match (upper >> bit & 1, lower >> bit & 1) {
                (1, 1) => '█',
                (1, _) => '▀',
                (_, 1) => '▄',
                _ => ' ',
            }));
            line.push(' ');
        }
    }
    Some(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_drawn_and_words_are_not() {
        let drawn = rows("1.7").unwrap();
        assert_eq!(drawn, ["▄█      ▀▀█ ", " █       █  ", "▀▀▀  ▀   ▀  "]);
        assert!(rows("1e-9").is_none() && rows("").unwrap()[0].is_empty());
        for digit in '0'..='9' {
            let lines = rows(&digit.to_string()).unwrap();
            assert!(lines.iter().all(|line| line.chars().count() == 4));
            assert!(('0'..digit).all(|other| rows(&other.to_string()).unwrap() != lines));
        }
    }
}
