//! The steps of another trainer: its metrics, and its ε beside ours.

use ratatui::layout::Constraint::Fill;
use ratatui::layout::{Layout, Rect};

use super::state::RunScreen;
use crate::canvas::{Canvas, in_columns};
use crate::context::Context;
use crate::live_elsewhere::TrainerSteps;
use crate::privacy::accountant::round_up;
use crate::tab::CHARTS;
use crate::widgets::chart::{Chart, SeriesView};

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

pub fn charts(
    screen: &RunScreen,
    context: &Context,
    canvas: &mut Canvas,
    area: Rect,
    trained: &TrainerSteps,
) {
    let (theme, glyphs, viewport) = (canvas.theme, canvas.glyphs, &screen.viewport);
    let shown = trained.metrics.len().min(MOST);
    let [metrics, spent] = in_columns(area, [Fill(2), Fill(1)]);
    let rows = metrics.layout_vec(&Layout::vertical(vec![Fill(1); shown.max(1)]));
    // The file does not say whether a metric may be published.
    if context.watch.is_sealed() || shown == 0 {
        let inner = canvas.boxed(metrics, "metrics");
        let words =
            if shown == 0 { "The file has no metrics." } else { "Sealed: they may be exact." };
        canvas.empty(inner, &[words]);
    } else {
        for ((slot, (name, points)), area) in trained.metrics.iter().enumerate().zip(rows) {
            let style = theme.series(slot);
            let view = SeriesView { name, style, curator: true, points: points.into(), slot };
            let chart = Chart::new(name, theme, glyphs).x_axis("step", true).log(viewport.log);
            canvas.pointed_chart(area, CHARTS, chart.legend(false).series(view), viewport);
        }
    }
    let title = trained.delta.map_or_else(|| "ε".to_owned(), |delta| format!("ε at δ {delta:e}"));
    let mut chart = Chart::new(&title, theme, glyphs).x_axis("step", true);
    for (slot, (name, points)) in
        [("claimed", &trained.claimed), ("ours", &trained.computed)].into_iter().enumerate()
    {
        let style = theme.series(slot);
        chart =
            chart.series(SeriesView { name, style, curator: false, points: points.into(), slot });
    }
    canvas.pointed_chart(spent, CHARTS, chart.empty("no ε is known"), viewport);
}
