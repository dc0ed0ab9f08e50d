//! The keys of the Run screen.

use super::{RUNS, RunScreen};
use crate::context::Context;
use crate::engine::Request;
use crate::keys::{also, show};
use crate::live_elsewhere::RunElsewhere;
use crate::screen::{Keys, Screen, charts};
use crate::session::archive::PAUSED;
use crate::session::steering::SteeringRequest;

#[rustfmt::skip] // a table reads best as one
pub const KEYS: Keys<RunScreen> = &[
    show(&["space"], "pause", "pause the run, or let it go on", pause),
    show(&["c"], "stop", "stop the run and keep its model so far", stop),
    show(&["<", ","], "slower", "halve the pace, in steps per second", |screen, context| set_pace(screen, context, slower)),
    show(&[">", "."], "faster", "double the pace; beyond 512 as fast as it can", |screen, context| set_pace(screen, context, faster)),
    also(&["R"], "resume", "resume a run whose program died", go_on),
    show(&["y"], "log", "logarithmic axis for errors and objective on or off", log_axis),
    show(&["~"], "smooth", "smoothing: none, some, strong", smooth),
    show(&["f"], "freeze", "hold the charts still while data keep arriving", freeze),
    show(&["+", "="], "zoom", "zoom in at the cursor", charts::zoom_in),
    also(&["-"], "zoom out", "zoom out", charts::zoom_out),
    also(&["left"], "cursor left", "move the chart cursor left", charts::cursor_left),
    also(&["right"], "cursor right", "move the chart cursor right", charts::cursor_right),
    also(&["H", "shift-left"], "pan left", "move the window left", charts::pan_left),
    also(&["L", "shift-right"], "pan right", "move the window right", charts::pan_right),
    also(&["0"], "reset view", "whole run, no cursor", charts::reset),
    also(&["["], "previous run", "show the previous run", |screen, context| screen.select(RUNS, -1, context)),
    also(&["]"], "next run", "show the next run", |screen, context| screen.select(RUNS, 1, context)),
];

fn pause(screen: &mut RunScreen, context: &mut Context) {
    let Some(run) = screen.run(context) else { return };
    if let Some(elsewhere) = &run.elsewhere {
        let request = if elsewhere.outcome == PAUSED {
            SteeringRequest::GoOn
        } else {
            SteeringRequest::Pause
        };
        let directory = elsewhere.directory.clone();
        context.ask(Request::Steer { directory, request });
    } else if run.control.is_paused() {
        run.control.resume();
    } else {
        run.control.pause();
    }
}

fn stop(screen: &mut RunScreen, context: &mut Context) {
    let Some(run) = screen.run(context) else { return };
    if let Some(elsewhere) = &run.elsewhere {
        let directory = elsewhere.directory.clone();
        let text = format!(
            "Ask {} to stop this run? The model of its last step is kept. What it has spent stays \
             spent.",
            elsewhere.process.as_ref().map_or("its process".to_owned(), ToString::to_string)
        );
        return context.confirm(text, "stop", move |context| {
            context.ask(Request::Steer { directory, request: SteeringRequest::Stop });
        });
    }
    let control = run.control.clone();
    let text = "Stop this run? The model of its last step is kept. What it has spent stays spent.";
    context.confirm(text, "stop", move |_| control.stop());
}

fn go_on(screen: &mut RunScreen, context: &mut Context) {
    let id = screen.run(context).and_then(|run| run.run.clone());
    let archived = context.archived().iter().find(|run| Some(&run.id) == id.as_ref());
    match archived.cloned() {
        Some(run) => context.ask_to_go_on(run),
        None => context.inform(
            "this run did not die; runs that died are on Compare (5), where R resumes them",
        ),
    }
}

/// A faster pace has no effect.
const FASTEST: f64 = 512.0;

#[allow(clippy::unnecessary_wraps)] // changes a pace as `faster` does
fn slower(now: Option<f64>) -> Option<f64> {
    Some(now.map_or(FASTEST, |pace| (pace / 2.0).max(0.5)))
}

fn faster(now: Option<f64>) -> Option<f64> {
    now.filter(|pace| *pace < FASTEST).map(|pace| pace * 2.0)
}

/// The power of two closest to an observed speed.
fn rounded(speed: f64) -> f64 {
    speed.clamp(0.5, FASTEST).log2().round().exp2()
}

fn set_pace(screen: &RunScreen, context: &mut Context, change: fn(Option<f64>) -> Option<f64>) {
    let Some(run) = context.runs.get_mut(screen.selected) else {
        context.pace = change(context.pace);
        return context.inform(pace_words("pace of the next run", context.pace));
    };
    // Only the speed is known of a run of another process.
    let speed = run.elsewhere.as_ref().and_then(RunElsewhere::speed);
    let next = change(run.control.pace().or(speed.map(rounded)));
    run.control.set_pace(next);
    let is_over = run.has_ended();
    if let Some(elsewhere) = run.elsewhere.as_mut().filter(|_| !is_over) {
        elsewhere.forget_speed();
        let directory = elsewhere.directory.clone();
        context.ask(Request::Steer { directory, request: SteeringRequest::Pace(next) });
    } else {
        context.pace = next;
    }
    context.inform(pace_words(if is_over { "pace of the next run" } else { "pace" }, next));
}

fn pace_words(of: &str, pace: Option<f64>) -> String {
    match pace {
        Some(pace) => format!("{of}: at most {pace} steps per second"),
        None => format!("{of}: as fast as it can"),
    }
}

fn log_axis(screen: &mut RunScreen, context: &mut Context) {
    charts::log_axis(screen, context);
    screen.smooth(context);
}

fn smooth(screen: &mut RunScreen, context: &mut Context) {
    charts::smooth(screen, context);
    screen.smooth(context);
}

fn freeze(screen: &mut RunScreen, context: &mut Context) {
    let Some(run) = screen.run(context) else { return };
    let last = run.extent().1;
    let frozen = &mut screen.viewport.frozen;
    *frozen = if frozen.is_some() { None } else { Some(last) };
}
