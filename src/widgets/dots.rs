//! A grid of dots that becomes cells: eight braille dots in each, or one character where there is
//! no braille.

/// The owner of a dot; a later owner takes over the whole cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Owner {
    Reference,
    Series(usize),
}

/// Whether a dot was measured or only joins two that were.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Ink {
    Join,
    Measured,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Dot {
    pub owner: Owner,
    pub ink: Ink,
    /// The braille dots, numbered as in Unicode.
    bits: u8,
}

impl Dot {
    pub fn braille(self) -> char {
        char::from_u32(0x2800 + u32::from(self.bits)).unwrap_or(' ')
    }
}

pub(super) struct Dots {
    cells: Vec<Option<Dot>>,
    width: usize,
    height: usize,
    braille: bool,
}

impl Dots {
    pub fn new(width: u16, height: u16, braille: bool) -> Self {
        let (width, height) = (usize::from(width), usize::from(height));
        Self { cells: vec![None; width * height], width, height, braille }
    }

    pub fn columns(&self) -> usize {
        if self.braille { self.width * 2 } else { self.width }
    }

    pub fn rows(&self) -> usize {
        if self.braille { self.height * 4 } else { self.height }
    }

    /// The dot row for a share of the height, counted from the bottom.
    pub fn row(&self, fraction: f64) -> usize {
        let last = self.rows().saturating_sub(1);
        ((1.0 - fraction) * last as f64).round() as usize
    }

    /// The dot column for a share of the width.
    pub fn column(&self, fraction: f64) -> usize {
        let last = self.columns().saturating_sub(1);
        (fraction * last as f64).round() as usize
    }

    /// The cell that a dot lies in.
    pub fn cell_of(&self, column: usize, row: usize) -> (u16, u16) {
        let (x, y) = if self.braille { (column / 2, row / 4) } else { (column, row) };
        (x as u16, y as u16)
    }

    pub fn mark(&self, x: u16, y: u16) -> Option<Dot> {
        let (x, y) = (usize::from(x), usize::from(y));
        if x < self.width && y < self.height { self.cells[y * self.width + x] } else { None }
    }

    pub fn set(&mut self, column: usize, row: usize, owner: Owner, ink: Ink) {
        const BRAILLE: [[u8; 2]; 4] = [[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]];
        if column >= self.columns() || row >= self.rows() {
            return;
        }
        let (x, y) = self.cell_of(column, row);
        let bits = if self.braille { BRAILLE[row % 4][column % 2] } else { 0 };
        let cell = &mut self.cells[usize::from(y) * self.width + usize::from(x)];
        *cell = Some(match *cell {
            Some(old) if old.owner == owner => {
                Dot { owner, ink: old.ink.max(ink), bits: old.bits | bits }
            }
            Some(old) => Dot { owner, ink, bits: old.bits | bits },
            None => Dot { owner, ink, bits },
        });
    }

    /// All dots of a column between two rows.
    pub fn bar(&mut self, column: usize, from: usize, to: usize, owner: Owner, ink: Ink) {
        for row in from.min(to)..=from.max(to) {
            self.set(column, row, owner, ink);
        }
    }

    /// The straight line between two dots (Bresenham), both included.
    pub fn line(&mut self, from: (usize, usize), to: (usize, usize), owner: Owner) {
        let (mut x, mut y) = (from.0 as i64, from.1 as i64);
        let (end_x, end_y) = (to.0 as i64, to.1 as i64);
        let (run, rise) = ((end_x - x).abs(), -(end_y - y).abs());
        let (step_x, step_y) = ((end_x - x).signum(), (end_y - y).signum());
        let mut error = run + rise;
        loop {
            self.set(x as usize, y as usize, owner, Ink::Join);
            if (x, y) == (end_x, end_y) {
                break;
            }
            let twice = 2 * error;
            if twice >= rise {
                error += rise;
                x += step_x;
            }
            if twice <= run {
                error += run;
                y += step_y;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn dots_become_the_braille_characters_of_unicode() {
        let mut dots = Dots::new(1, 1, true);
        dots.set(0, 0, Owner::Series(0), Ink::Measured);
        assert_eq!(dots.mark(0, 0).unwrap().braille(), '⠁');
        dots.bar(1, 0, 3, Owner::Series(0), Ink::Measured);
        assert_eq!(dots.mark(0, 0).unwrap().braille(), '⢹');
        dots.bar(0, 3, 0, Owner::Series(1), Ink::Join);
        let mark = dots.mark(0, 0).unwrap();
        assert_eq!((mark.braille(), mark.owner), ('⣿', Owner::Series(1)));
    }

    #[test]
    fn a_measured_dot_outranks_a_join() {
        let mut dots = Dots::new(2, 1, false);
        dots.set(0, 0, Owner::Series(0), Ink::Measured);
        dots.line((0, 0), (1, 0), Owner::Series(0));
        assert_eq!(dots.mark(0, 0).unwrap().ink, Ink::Measured);
        assert_eq!(dots.mark(1, 0).unwrap().ink, Ink::Join);
    }

    proptest! {
        #[test]
        fn a_line_ends_where_it_should_without_a_hole(
            a in (0usize..12, 0usize..12), b in (0usize..12, 0usize..12),
        ) {
            let mut dots = Dots::new(12, 12, false);
            dots.line(a, b, Owner::Series(0));
            let set = |x: usize, y: usize| dots.mark(x as u16, y as u16).is_some();
            prop_assert!(set(a.0, a.1) && set(b.0, b.1));
            let count = dots.cells.iter().flatten().count();
            prop_assert_eq!(count, a.0.abs_diff(b.0).max(a.1.abs_diff(b.1)) + 1);
        }
    }
}
