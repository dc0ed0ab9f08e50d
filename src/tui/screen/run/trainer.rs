//! The steps of another trainer: its metrics, and its ε beside ours.

use ratatui::layout::Layout;

use super::view::Shown;
use crate::canvas::{Canvas, Fill, Rect, in_columns};
use crate::live_elsewhere::TrainerSteps;
use crate::privacy::accountant::round_up;
use crate::tab::CHARTS;
use crate::widgets::chart::Chart;

/// The most charts; more would leave no room for any.
const MOST: usize = 3;

/// Our ε and the claimed one, as far as known.
pub fn spent(trained: &TrainerSteps) -> String {
    let Some(delta) = trained.delta else { return "no ε is known".to_owned() };
    let claimed = trained.claimed.last().map(|(_, epsilon)| round_up(*epsilon, 4));
    let claimed = claimed.map_or_else(|| "none claimed".to_owned(), |it| format!("ε {it} claimed"));
    match trained.ours {
        Some(ours) => format!("ε {} computed here, {claimed}, at δ {delta:e}", round_up(ours, 4)),
        None => format!("no ε is computed here, {claimed} at δ {delta:e}"),
    }
}

pub fn charts(shown: Shown, canvas: &mut Canvas, area: Rect, trained: &TrainerSteps) {
    let (theme, glyphs, viewport) = (canvas.theme, canvas.glyphs, &shown.screen.viewport);
    let count = trained.metrics.len().min(MOST);
    let [usual, _] = in_columns(area, [Fill(2), Fill(1)]);
    let [metrics, spent] = canvas.two_columns("run.metrics", area, usual.width);
    let rows = metrics.layout_vec(&Layout::vertical(vec![Fill(1); count.max(1)]));
    // The file does not say whether a metric may be published.
    if shown.context.watch.is_sealed() || count == 0 {
        let inner = canvas.boxed(metrics, "metrics");
        let words =
            if count == 0 { "The file has no metrics." } else { "Sealed: they may be exact." };
        canvas.empty(inner, &[words]);
    } else {
        for ((slot, (name, points)), area) in trained.metrics.iter().enumerate().zip(rows) {
            let chart = Chart::new(name, theme, glyphs).log(viewport.log).legend(false);
            canvas.pointed_chart(area, CHARTS, chart.curve((name, slot), true, points), viewport);
        }
    }
    let title = trained.delta.map_or_else(|| "ε".to_owned(), |delta| format!("ε at δ {delta:e}"));
    let chart = Chart::new(&title, theme, glyphs)
        .curve(("claimed", 0), false, &trained.claimed)
        .curve(("ours", 1), false, &trained.computed);
    canvas.pointed_chart(spent, CHARTS, chart.empty("no ε is known"), viewport);
}
