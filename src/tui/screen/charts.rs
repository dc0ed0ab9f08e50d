//! Zoom, pan, cursor, axis and smoothing: the same on every screen with charts.

use super::Screen;
use crate::context::Context;
use crate::widgets::viewport::Viewport;

fn look<S: Screen>(screen: &mut S, context: &Context, change: fn(&mut Viewport, (f64, f64))) {
    if let Some((viewport, whole)) = screen.charts(context) {
        change(viewport, whole);
    }
}

pub fn log_axis<S: Screen>(screen: &mut S, context: &mut Context) {
    let Some((viewport, _)) = screen.charts(context) else { return };
    viewport.log = !viewport.log;
    context.state.log_axis = viewport.log;
    context.remember_state();
}

pub fn smooth<S: Screen>(screen: &mut S, context: &mut Context) {
    look(screen, context, |viewport, _| viewport.next_smoothing());
}

pub fn zoom_in<S: Screen>(screen: &mut S, context: &mut Context) {
    look(screen, context, |viewport, whole| viewport.zoom(0.8, None, whole));
}

pub fn zoom_out<S: Screen>(screen: &mut S, context: &mut Context) {
    look(screen, context, |viewport, whole| viewport.zoom(1.25, None, whole));
}

pub fn pan_left<S: Screen>(screen: &mut S, context: &mut Context) {
    pan(screen, context, -0.25);
}

pub fn pan_right<S: Screen>(screen: &mut S, context: &mut Context) {
    pan(screen, context, 0.25);
}

fn pan<S: Screen>(screen: &mut S, context: &mut Context, share: f64) {
    let Some((viewport, whole)) = screen.charts(context) else { return };
    viewport.pan(share, whole);
    if viewport.window.is_none() {
        context.inform("everything is in view: + zooms in first");
    }
}

pub fn cursor_left<S: Screen>(screen: &mut S, context: &mut Context) {
    look(screen, context, |viewport, whole| viewport.step_cursor(false, whole));
}

pub fn cursor_right<S: Screen>(screen: &mut S, context: &mut Context) {
    look(screen, context, |viewport, whole| viewport.step_cursor(true, whole));
}

pub fn reset<S: Screen>(screen: &mut S, context: &mut Context) {
    look(screen, context, |viewport, _| viewport.reset());
}
