//! Clicks, wheel, dragging.

use crossterm::event::{MouseButton, MouseEvent, MouseEventKind};
use ratatui::layout::Position;

use super::{Effect, act, charts, go_to, popups, select_in, select_row};
use crate::tui::app::{App, Pane};
use crate::tui::keymap::Action;
use crate::tui::popup::Popup;
use crate::tui::view::Hits;

pub(super) fn on_mouse(app: &mut App, mouse: MouseEvent, hits: &Hits) -> Vec<Effect> {
    let at = Position::new(mouse.column, mouse.row);
    match mouse.kind {
        MouseEventKind::ScrollDown | MouseEventKind::ScrollUp => {
            let down = mouse.kind == MouseEventKind::ScrollDown;
            wheel(app, at, down, hits)
        }
        MouseEventKind::Down(MouseButton::Left) if app.popup.is_some() => {
            click_popup(app, at, hits)
        }
        MouseEventKind::Down(MouseButton::Left) => click(app, at, hits),
        MouseEventKind::Moved | MouseEventKind::Drag(MouseButton::Left) if app.popup.is_none() => {
            let dragged = matches!(mouse.kind, MouseEventKind::Drag(_));
            hover(app, at, dragged, hits);
            Vec::new()
        }
        _ => Vec::new(),
    }
}

fn click(app: &mut App, at: Position, hits: &Hits) -> Vec<Effect> {
    if let Some((_, tab)) = hits.tabs.iter().find(|(area, _)| area.contains(at)) {
        return go_to(app, *tab);
    }
    if let Some((_, action)) = hits.hints.iter().find(|(area, _)| area.contains(at)) {
        return act(app, *action);
    }
    if let Some(list) = hits.lists.iter().find(|list| list.area.contains(at)) {
        let row = list.first + usize::from(at.y - list.area.y);
        app.plan.editing = None;
        let again = app.pane() == Some(list.pane) && list.selected == Some(row);
        app.focus_on(list.pane);
        if list.pane != Pane::Rows {
            select_row(app, list.pane, row);
        }
        // A second click does what Enter does.
        if again && matches!(list.pane, Pane::Datasets) {
            return act(app, Action::EditDataset);
        }
        if again && list.pane == Pane::Fields {
            return act(app, Action::EditField);
        }
        if again && list.pane == Pane::Archive {
            return act(app, Action::Pin);
        }
    }
    if let Some(plot) = hits.charts.iter().find(|plot| plot.area.contains(at)) {
        let (x, column) = (plot.x_at(at.x), at.x);
        app.focus_on(Pane::Charts);
        if let Some((viewport, _)) = charts::viewport(app) {
            viewport.cursor = Some(x);
            viewport.grab(column);
        }
    }
    Vec::new()
}

/// A row of a list takes it; anywhere else in or beside the window does nothing.
fn click_popup(app: &mut App, at: Position, hits: &Hits) -> Vec<Effect> {
    if let Some((_, key)) = hits.answers.iter().find(|(area, _)| area.contains(at)) {
        return super::on_key(app, *key);
    }
    let Some((area, first)) = hits.popup_rows.filter(|(area, _)| area.contains(at)) else {
        return Vec::new();
    };
    let row = first + usize::from(at.y - area.y);
    match app.popup.take() {
        Some(Popup::Pick(mut picker)) if row < picker.matches().len() => {
            picker.selected = row;
            let picked = picker.chosen().map(|item| item.picked.clone());
            picked.map_or_else(Vec::new, |picked| popups::take(app, picked))
        }
        Some(Popup::Files(mut files)) if row < files.picker.matches().len() => {
            files.picker.selected = row;
            popups::take_file(app, files)
        }
        popup => {
            app.popup = popup;
            Vec::new()
        }
    }
}

/// Over a chart the mouse is a crosshair; with its button down it drags a zoomed
/// window.
fn hover(app: &mut App, at: Position, dragged: bool, hits: &Hits) {
    let Some(plot) = hits.charts.iter().find(|plot| plot.area.contains(at)) else { return };
    if let Some((viewport, whole)) = charts::viewport(app)
        && !(dragged && viewport.drag(at.x, plot.area.width, whole))
    {
        viewport.cursor = Some(plot.x_at(at.x));
    }
}

fn wheel(app: &mut App, at: Position, down: bool, hits: &Hits) -> Vec<Effect> {
    let by = if down { 1 } else { -1 };
    match &mut app.popup {
        Some(Popup::Help { scroll, .. }) => {
            *scroll = if down { scroll.saturating_add(1) } else { scroll.saturating_sub(1) };
            return Vec::new();
        }
        Some(Popup::Pick(picker)) => {
            picker.step(by);
            return Vec::new();
        }
        Some(Popup::Files(files)) => {
            files.picker.step(by);
            return Vec::new();
        }
        Some(_) => return Vec::new(),
        None => {}
    }
    if let Some(plot) = hits.charts.iter().find(|plot| plot.area.contains(at)) {
        let x = plot.x_at(at.x);
        if let Some((viewport, whole)) = charts::viewport(app) {
            viewport.zoom(if down { 1.25 } else { 0.8 }, Some(x), whole);
        }
        return Vec::new();
    }
    let under = hits.lists.iter().find(|list| list.area.contains(at)).map(|list| list.pane);
    let pane = under.or(app.pane());
    if let Some(pane) = pane {
        select_in(app, pane, if pane == Pane::Rows { 3 * by } else { by });
    }
    Vec::new()
}
