//! A budget on one line: `ε 1.24 of 8 ██░░░░░░░░ 16 %`.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::widgets::Widget;

use crate::theme::{Glyphs, Theme};
use crate::{number, width, write};

/// From this share on a budget is called nearly spent.
const NEARLY: f64 = 0.9;
/// From this share on a budget counts as spent, because the rest is useless.
const FULL: f64 = 0.999;
/// Calibration leaves a little of a run's grant unused.
const ALL: f64 = 0.98;
/// The shortest useful bar, given the percentage beside it.
const SHORTEST_BAR: u16 = 5;
const LONGEST_BAR: u16 = 60;

/// The spent part of a budget. Spending is rounded up and the budget down, so the line never
/// promises too much.
#[derive(Debug, Clone, Copy)]
pub struct BudgetGauge<'a> {
    of: GaugeOf,
    spent: f64,
    budget: f64,
    theme: &'a Theme,
    glyphs: &'a Glyphs,
}

/// The account, the run or the plan whose spending a gauge shows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum GaugeOf {
    Account,
    /// A run, which normally uses all of its grant.
    Run,
    /// An account after the execution of a plan.
    Plan,
}

/// The meaning of the numbers, which decides the words, the style and the bar.
#[derive(Debug, Clone, Copy, PartialEq)]
enum GaugeState {
    /// A share of the budget from 0 to 1.
    Within(f64),
    /// More than the budget: the share is above 1, or infinite for a zero budget.
    Over(f64),
    Unlimited,
    /// Spending or budget is not a number: nothing can be promised.
    Unknown,
}

impl<'a> BudgetGauge<'a> {
    pub fn new(
        of: GaugeOf,
        (spent, budget): (f64, f64),
        theme: &'a Theme,
        glyphs: &'a Glyphs,
    ) -> Self {
        Self { of, spent, budget, theme, glyphs }
    }

    fn state(&self) -> GaugeState {
        let spent = self.spent.max(0.0);
        if self.spent.is_nan() || self.budget.is_nan() {
            GaugeState::Unknown
        } else if self.budget == f64::INFINITY {
            GaugeState::Unlimited
        } else if spent > self.budget {
            GaugeState::Over(if self.budget > 0.0 { spent / self.budget } else { f64::INFINITY })
        } else if self.budget > 0.0 {
            GaugeState::Within(spent / self.budget)
        } else {
            // Nothing allowed, nothing spent: the budget is used up.
            GaugeState::Within(1.0)
        }
    }

    fn numbers(&self, state: GaugeState) -> String {
        let spent = number::compact_up(if self.spent < 0.0 { 0.0 } else { self.spent });
        let after = if self.of == GaugeOf::Plan { "after it: " } else { "" };
        match state {
            GaugeState::Unlimited => format!("{after}ε {spent}, no budget set"),
            _ => format!("{after}ε {spent} of {}", number::compact_down(self.budget)),
        }
    }

    /// The verdict in words, from the longest form to the shortest.
    fn verdicts(&self, state: GaugeState) -> Vec<String> {
        // The tolerance keeps 0.16 · 100 = 16.000000000000004 from becoming 17 %.
        let percent = |share: f64| (share * 100.0 - 1e-9).ceil().max(0.0) + 0.0;
        let words = |words: &[&str]| words.iter().map(|it| (*it).to_owned()).collect();
        match (self.of, state) {
            (GaugeOf::Run, GaugeState::Within(share)) if share > ALL => {
                words(&["all of this run's ε", "all of it", "all"])
            }
            (GaugeOf::Plan, GaugeState::Within(share)) if share > FULL => {
                words(&["all of it", "all"])
            }
            (_, GaugeState::Within(share)) if share > FULL => words(&["used up", "full"]),
            (of, GaugeState::Within(share)) => {
                let percent = format!("{} %", percent(share));
                let nearly = of == GaugeOf::Account && share >= NEARLY;
                nearly
                    .then(|| format!("{percent} nearly spent"))
                    .into_iter()
                    .chain([percent])
                    .collect()
            }
            (_, GaugeState::Over(share)) if share < 100.0 => {
                let over = format!("{} % over budget", percent(share - 1.0));
                words(&[&over, "over budget", "over"])
            }
            (_, GaugeState::Over(_)) => words(&["over budget", "over"]),
            (_, GaugeState::Unlimited) => Vec::new(),
            (_, GaugeState::Unknown) => words(&["unknown", "?"]),
        }
    }

    fn style(&self, state: GaugeState) -> Style {
        match state {
            GaugeState::Over(_) | GaugeState::Unknown => self.theme.error,
            GaugeState::Within(share) if share >= NEARLY && self.of == GaugeOf::Account => {
                self.theme.warning
            }
            GaugeState::Within(_) | GaugeState::Unlimited => self.theme.good,
        }
    }
}

impl Widget for BudgetGauge<'_> {
    fn render(self, area: Rect, buffer: &mut Buffer) {
        let area = area.intersection(buffer.area);
        if area.is_empty() {
            return;
        }
        let state = self.state();
        let style = self.style(state);
        let numbers = self.numbers(state);
        let numbers = self.glyphs.spell(&numbers);
        let after = write(buffer, area, area.x, area.y, &numbers, self.theme.text);

        // If space is short, the bar is dropped first, then words of the verdict.
        let room = area.right() - after;
        let verdicts = self.verdicts(state);
        let Some(verdict) = verdicts.iter().find(|verdict| width(verdict) < room) else {
            return;
        };
        // Words follow the bar of an account.
        let most = if self.of == GaugeOf::Account { u16::MAX } else { LONGEST_BAR };
        let bar = room.saturating_sub(width(verdict) + 2).min(most);
        let mut x = after + 1;
        if bar >= SHORTEST_BAR {
            let filled = match state {
                // It is said that all is used.
                GaugeState::Within(share) if share > ALL && matches!(self.of, GaugeOf::Run) => bar,
                GaugeState::Within(share) => filled_cells(share, bar),
                GaugeState::Over(_) => bar,
                GaugeState::Unlimited | GaugeState::Unknown => 0,
            };
            for column in 0..bar {
                let full = (self.glyphs.bar_full, style);
                let (glyph, style) =
                    if column < filled { full } else { (self.glyphs.bar_empty, self.theme.muted) };
                write(buffer, area, x + column, area.y, glyph, style);
            }
            x += bar + 1;
        }
        write(buffer, area, x, area.y, verdict, style);
    }
}

/// The bar looks empty only if nothing is spent, and full only if everything is.
fn filled_cells(share: f64, bar: u16) -> u16 {
    let exact = share.clamp(0.0, 1.0) * f64::from(bar);
    let cells = exact.round() as u16;
    if share <= 0.0 {
        0
    } else if share >= 1.0 {
        bar
    } else {
        cells.clamp(1, bar.saturating_sub(1).max(1))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use ratatui::buffer::Cell;

    use super::*;
    use crate::theme::Depth;

    fn drawn(spent: f64, budget: f64, columns: u16, glyphs: &Glyphs) -> String {
        let theme = Theme::monochrome();
        let mut buffer = Buffer::empty(Rect::new(0, 0, columns, 1));
        BudgetGauge::new(GaugeOf::Account, (spent, budget), &theme, glyphs)
            .render(buffer.area, &mut buffer);
        buffer.content.iter().map(Cell::symbol).collect::<String>().trim_end().to_owned()
    }

    #[test]
    fn a_gauge_says_how_much_of_the_budget_is_spent() {
        let unicode = Glyphs::unicode();
        let rows = [
            (1.24, 8.0, 28, "ε 1.24 of 8 ██░░░░░░░░░ 16 %"),
            (0.0, 8.0, 24, "ε 0 of 8 ░░░░░░░░░░░ 0 %"),
            (0.0001, 8.0, 24, "ε 1e-4 of 8 █░░░░░░░ 1 %"),
            (7.9, 8.0, 40, "ε 7.9 of 8 ██████████░ 99 % nearly spent"),
            (8.0, 8.0, 32, "ε 8 of 8 ███████████████ used up"),
            (9.1, 8.0, 36, "ε 9.1 of 8 ████████ 14 % over budget"),
            (1.0, 0.0, 28, "ε 1 of 0 ███████ over budget"),
            (f64::INFINITY, 8.0, 28, "ε ∞ of 8 ███████ over budget"),
            (1.24, f64::INFINITY, 28, "ε 1.24, no budget set"),
            (f64::NAN, 8.0, 24, "ε – of 8 ░░░░░░░ unknown"),
            (1.0, f64::NAN, 24, "ε 1 of – ░░░░░░░ unknown"),
            (-3.0, 8.0, 24, "ε 0 of 8 ░░░░░░░░░░░ 0 %"),
        ];
        for (spent, budget, columns, expected) in rows {
            assert_eq!(drawn(spent, budget, columns, &unicode), expected);
        }
    }

    #[test]
    fn all_of_a_grant_and_a_plan_that_takes_the_rest_are_no_alarm() {
        let (theme, glyphs) = (Theme::monochrome(), Glyphs::unicode());
        let mut buffer = Buffer::empty(Rect::new(0, 0, 40, 1));
        for (of, words) in [(GaugeOf::Run, "all of this run's ε"), (GaugeOf::Plan, "all of it")] {
            let gauge = BudgetGauge::new(of, (1.0, 1.0), &theme, &glyphs);
            assert_eq!(gauge.style(gauge.state()), theme.good);
            gauge.render(buffer.area, &mut buffer);
            let text: String = buffer.content.iter().map(Cell::symbol).collect();
            assert!(text.trim_end().ends_with(words), "{text}");
        }
    }

    #[test]
    fn the_verdict_outlives_the_bar_where_space_is_short() {
        let unicode = Glyphs::unicode();
        assert_eq!(drawn(9.1, 8.0, 27, &unicode), "ε 9.1 of 8 14 % over budget");
        assert_eq!(drawn(9.1, 8.0, 22, &unicode), "ε 9.1 of 8 over budget");
        assert_eq!(drawn(9.1, 8.0, 16, &unicode), "ε 9.1 of 8 over");
        assert_eq!(drawn(9.1, 8.0, 10, &unicode), "ε 9.1 of 8");
        assert_eq!(drawn(9.1, 8.0, 4, &unicode), "ε 9.");
    }

    #[test]
    fn the_ascii_gauge_is_ascii() {
        assert_eq!(drawn(1.24, 8.0, 30, &Glyphs::ascii()), "eps 1.24 of 8 ##--------- 16 %");
        assert!(drawn(f64::NAN, f64::NAN, 40, &Glyphs::ascii()).is_ascii());
    }

    #[test]
    fn over_budget_has_the_style_of_an_error() {
        let theme = Theme::truecolor();
        let glyphs = Glyphs::unicode();
        let mut buffer = Buffer::empty(Rect::new(0, 0, 40, 1));
        BudgetGauge::new(GaugeOf::Account, (9.1, 8.0), &theme, &glyphs)
            .render(buffer.area, &mut buffer);
        assert_eq!(Some(buffer[(12, 0)].fg), theme.error.fg);
        assert_eq!(Some(buffer[(39, 0)].fg), theme.error.fg);
    }

    proptest! {
        #[test]
        fn a_gauge_stays_in_its_area_for_any_numbers(
            spent in any::<f64>(), budget in any::<f64>(),
            x in 0u16..20, y in 0u16..4, columns in 0u16..60, rows in 0u16..4,
        ) {
            let frame = Rect::new(0, 0, 50, 5);
            let mut buffer = Buffer::filled(frame, Cell::new("~"));
            let area = Rect::new(x, y, columns, rows);
            let (theme, glyphs) = (Theme::built_in("dark", Depth::Sixteen), Glyphs::unicode());
            BudgetGauge::new(GaugeOf::Account, (spent, budget), &theme, &glyphs)
                .render(area, &mut buffer);
            for position in frame.positions().filter(|position| !area.contains(*position)) {
                prop_assert_eq!(buffer[position].symbol(), "~");
            }
        }
    }
}
