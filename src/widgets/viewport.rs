//! The view of charts: axis, smoothing, window, cursor. All charts of a screen share one viewport,
//! so that they show the same steps.

/// The smallest window, in steps.
const NARROWEST: f64 = 2.0;

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Viewport {
    /// Whether axes are logarithmic, if the numbers allow it.
    pub log: bool,
    /// Weight of the past in the moving average: 0, .6 or .9.
    pub smoothing: f64,
    /// The step at which charts stop.
    pub frozen: Option<f64>,
    pub window: Option<(f64, f64)>,
    pub cursor: Option<f64>,
    /// The column where the mouse button went down, and the window at that time.
    grip: Option<(u16, (f64, f64))>,
}

impl Viewport {
    pub fn next_smoothing(&mut self) {
        self.smoothing = match self.smoothing {
            x if x < 0.5 => 0.6,
            x if x < 0.8 => 0.9,
            _ => 0.0,
        };
    }

    /// The visible range; `whole` is the range of the data.
    fn range(&self, whole: (f64, f64)) -> (f64, f64) {
        self.window.unwrap_or(whole)
    }

    /// Narrows or widens the window around `at`, the cursor or the middle.
    pub fn zoom(&mut self, factor: f64, at: Option<f64>, whole: (f64, f64)) {
        let (low, high) = self.range(whole);
        let at = at.or(self.cursor).unwrap_or(f64::midpoint(low, high)).clamp(low, high);
        let (new_low, new_high) = (at - (at - low) * factor, at + (high - at) * factor);
        if new_high - new_low < NARROWEST && factor < 1.0 {
            return;
        }
        self.show(new_low, new_high, whole);
    }

    /// Moves the window by a share of its width; it stays over the data.
    pub fn pan(&mut self, share: f64, whole: (f64, f64)) {
        let Some((low, high)) = self.window else { return };
        self.move_to(low + (high - low) * share, high - low, whole);
    }

    fn move_to(&mut self, low: f64, width: f64, whole: (f64, f64)) {
        let low = low.min(whole.1 - width).max(whole.0);
        self.show(low, low + width, whole);
    }

    fn show(&mut self, low: f64, high: f64, whole: (f64, f64)) {
        let (low, high) = (low.max(whole.0), high.min(whole.1));
        let everything = low <= whole.0 && high >= whole.1;
        self.window = (low < high && !everything).then_some((low, high));
    }

    /// Moves the cursor by a sixtieth of the visible range.
    pub fn step_cursor(&mut self, forward: bool, whole: (f64, f64)) {
        let (low, high) = self.range(whole);
        let stride = ((high - low) / 60.0).round().max(1.0);
        let from = self.cursor.unwrap_or(if forward { low } else { high });
        let next = if forward { from + stride } else { from - stride };
        self.cursor = Some(next.clamp(low, high.max(low)));
    }

    pub fn reset(&mut self) {
        (self.window, self.cursor, self.grip) = (None, None, None);
    }

    /// Leaves one layer: the cursor, then zoom and freeze. False if there was none.
    pub fn step_out(&mut self) -> bool {
        if self.cursor.take().is_some() {
            return true;
        }
        self.window.take().is_some() | self.frozen.take().is_some()
    }

    /// The mouse button went down on this column of a plot.
    pub fn grab(&mut self, column: u16) {
        self.grip = self.window.map(|window| (column, window));
    }

    /// The mouse moved to this column with its button down. False without a
    /// window that could be dragged.
    pub fn drag(&mut self, column: u16, columns: u16, whole: (f64, f64)) -> bool {
        let Some((from, (low, high))) = self.grip else { return false };
        let moved = (f64::from(from) - f64::from(column)) / f64::from(columns.max(1));
        self.move_to(low + (high - low) * moved, high - low, whole);
        true
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const WHOLE: (f64, f64) = (0.0, 100.0);

    #[test]
    fn zooming_keeps_what_is_under_the_cursor_where_it_was() {
        let mut viewport = Viewport { cursor: Some(25.0), ..Viewport::default() };
        viewport.zoom(0.8, None, WHOLE);
        let (low, high) = viewport.window.unwrap();
        assert!(((25.0 - low) / (high - low) - 0.25).abs() < 1e-12);
        viewport.zoom(1.25, None, WHOLE);
        viewport.zoom(1.25, None, WHOLE);
        assert_eq!(viewport.window, None, "zoomed out as far as the data go");
    }

    #[test]
    fn dragging_moves_the_window_with_the_mouse_and_not_beyond_the_data() {
        let mut viewport = Viewport { window: Some((40.0, 60.0)), ..Viewport::default() };
        viewport.grab(10);
        assert!(viewport.drag(15, 50, WHOLE));
        assert_eq!(viewport.window, Some((38.0, 58.0)));
        viewport.drag(500, 50, WHOLE);
        assert_eq!(viewport.window, Some((0.0, 20.0)));
        let mut whole = Viewport::default();
        whole.grab(10);
        assert!(!whole.drag(15, 50, WHOLE));
    }

    #[test]
    fn stepping_out_takes_the_cursor_first() {
        let mut viewport =
            Viewport { cursor: Some(1.0), window: Some((1.0, 9.0)), ..Viewport::default() };
        assert!(viewport.step_out() && viewport.window.is_some());
        assert!(viewport.step_out() && viewport.window.is_none());
        assert!(!viewport.step_out());
    }

    proptest! {
        #[test]
        fn a_window_always_lies_over_the_data(
            moves in prop::collection::vec((0u8..6, 0.0..100.0f64), 1..60),
        ) {
            let mut viewport = Viewport::default();
            for (kind, at) in moves {
                match kind {
                    0 => viewport.zoom(0.8, Some(at), WHOLE),
                    1 => viewport.zoom(1.25, Some(at), WHOLE),
                    2 => viewport.pan(at / 50.0 - 1.0, WHOLE),
                    3 => viewport.step_cursor(at > 50.0, WHOLE),
                    4 => viewport.grab(at as u16),
                    _ => { viewport.drag(at as u16, 50, WHOLE); }
                }
                if let Some((low, high)) = viewport.window {
                    prop_assert!(low >= 0.0 && high <= 100.0 && low < high);
                }
                prop_assert!(viewport.cursor.is_none_or(|x| (0.0..=100.0).contains(&x)));
            }
        }
    }
}
