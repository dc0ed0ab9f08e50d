//! Clicks, wheel, dragging.

use crossterm::event::{KeyCode, KeyEvent, MouseButton, MouseEvent, MouseEventKind};
use ratatui::layout::Position;

use super::{on_key, popups};
use crate::app::{App, Grabbed};
use crate::canvas::{Hits, Plot};
use crate::context::OpenPopup;
use crate::keymap;
use crate::tab::CHARTS;

pub(super) fn on_mouse(app: &mut App, mouse: MouseEvent, hits: &Hits) {
    let at = Position::new(mouse.column, mouse.row);
    if app.context.popup.is_none() && move_border(app, mouse.kind, at, hits) {
        return;
    }
    match mouse.kind {
        MouseEventKind::ScrollDown => wheel(app, at, 1, hits),
        MouseEventKind::ScrollUp => wheel(app, at, -1, hits),
        MouseEventKind::Down(MouseButton::Left) if app.context.popup.is_some() => {
            click_popup(app, at, hits);
        }
        MouseEventKind::Down(MouseButton::Left) => click(app, at, hits),
        MouseEventKind::Moved | MouseEventKind::Drag(MouseButton::Left)
            if app.context.popup.is_none() =>
        {
            let dragged = matches!(mouse.kind, MouseEventKind::Drag(_));
            hover(app, at, dragged, hits);
        }
        _ => {}
    }
}

/// Drags the border between two parts of a screen; a second click on it moves it back to its usual
/// place. False if the mouse does something else.
fn move_border(app: &mut App, kind: MouseEventKind, at: Position, hits: &Hits) -> bool {
    let before = std::mem::take(&mut app.grabbed);
    match (kind, before) {
        (MouseEventKind::Down(MouseButton::Left), _) => {
            let border = hits.borders.iter().find(|border| border.contains(at));
            let Some(border) = border else { return false };
            let again = before == Grabbed::Clicked(border.name);
            app.grabbed = Grabbed::Pressed(*border, at, again);
        }
        (
            MouseEventKind::Drag(MouseButton::Left),
            Grabbed::Pressed(border, from, _) | Grabbed::Dragged(border, from),
        ) => {
            app.grabbed = Grabbed::Dragged(border, from);
            let share = border.share([from, at]);
            app.context.state.borders.insert(border.name.to_owned(), share);
        }
        (MouseEventKind::Up(MouseButton::Left), Grabbed::Dragged(..)) => {
            app.context.remember_state();
        }
        (MouseEventKind::Up(MouseButton::Left), Grabbed::Pressed(border, _, true)) => {
            app.context.state.borders.remove(border.name);
            app.context.remember_state();
        }
        (MouseEventKind::Up(MouseButton::Left), Grabbed::Pressed(border, _, false)) => {
            app.grabbed = Grabbed::Clicked(border.name);
        }
        _ => return false,
    }
    true
}

fn plot_at(hits: &Hits, at: Position) -> Option<&Plot> {
    hits.charts.iter().find(|plot| plot.area.contains(at))
}

fn click(app: &mut App, at: Position, hits: &Hits) {
    if let Some((_, tab)) = hits.tabs.iter().find(|(area, _)| area.contains(at)) {
        return app.go_to(*tab);
    }
    if let Some((_, command)) = hits.hints.iter().find(|(area, _)| area.contains(at)) {
        return keymap::act(app, *command);
    }
    if let Some(head) = hits.heads.iter().find(|head| head.area.contains(at)) {
        app.focus_on(head.pane);
        return app.screen_mut().0.sort_by(&head.title);
    }
    if let Some(list) = hits.lists.iter().find(|list| list.area.contains(at)) {
        let row = list.first + usize::from(at.y - list.area.y);
        app.screen_mut().0.stop_typing();
        let again = app.pane() == Some(list.pane) && list.selected == Some(row);
        app.focus_on(list.pane);
        if !list.pane.scrolls {
            app.select_in(list.pane, isize::MIN / 2);
            app.select_in(list.pane, row as isize);
        }
        if again && list.pane.enters {
            let enter = KeyEvent::from(KeyCode::Enter);
            if let Some(command) = keymap::command(app.context.tab, enter) {
                return keymap::act(app, command);
            }
        }
    }
    if let Some(plot) = plot_at(hits, at) {
        app.focus_on(CHARTS);
        app.look(|viewport, _| {
            viewport.cursor = Some(plot.x_at(at.x));
            viewport.grab(at.x);
        });
    }
}

/// A click on a row selects it; a click anywhere else does nothing.
fn click_popup(app: &mut App, at: Position, hits: &Hits) {
    if let Some((_, key)) = hits.answers.iter().find(|(area, _)| area.contains(at)) {
        return on_key(app, *key);
    }
    let rows = hits.popup_rows.filter(|(area, _)| area.contains(at));
    let Some((area, first)) = rows else { return };
    let Some(mut popup) = app.context.popup.take() else { return };
    let chosen = popup.choose(first + usize::from(at.y - area.y));
    // A clicked word is shown, a clicked column ticked; anything else is taken as the answer.
    if chosen && !matches!(popup, OpenPopup::Words(_) | OpenPopup::Dataset(_)) {
        popups::enter(app, popup);
    } else {
        app.context.popup = Some(popup);
    }
}

/// Over a chart the mouse is a crosshair; with its button down it drags a zoomed
/// window.
fn hover(app: &mut App, at: Position, dragged: bool, hits: &Hits) {
    let Some(plot) = plot_at(hits, at) else { return };
    app.look(|viewport, whole| {
        if !(dragged && viewport.drag(at.x, plot.area.width, whole)) {
            viewport.cursor = Some(plot.x_at(at.x));
        }
    });
}

fn wheel(app: &mut App, at: Position, by: i16, hits: &Hits) {
    if let Some(popup) = &mut app.context.popup {
        return popup.scroll(by);
    }
    if let Some(plot) = plot_at(hits, at) {
        let factor = if by > 0 { 1.25 } else { 0.8 };
        return app.look(|viewport, whole| viewport.zoom(factor, Some(plot.x_at(at.x)), whole));
    }
    let under = hits.lists.iter().find(|list| list.area.contains(at)).map(|list| list.pane);
    if let Some(pane) = under.or(app.pane()) {
        app.select_in(pane, isize::from(if pane.scrolls { 3 * by } else { by }));
    }
}
