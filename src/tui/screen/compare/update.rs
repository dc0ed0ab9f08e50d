//! The keys of the Compare screen.

use std::path::PathBuf;

use super::CompareScreen;
use crate::context::{Context, OpenPopup};
use crate::engine::Request;
use crate::keys::{also, show};
use crate::popup::question::Prompt;
use crate::privacy::ledger::RunId;
use crate::run_column::RunColumn;
use crate::screen::{Keys, charts};
use crate::session::ArchivedRun;
use crate::session::archive::DIED;
use crate::tab::Tab;

/// The least and the largest width of the first column.
const WIDTHS: [u16; 2] = [10, 60];

#[rustfmt::skip] // a table reads best as one
pub const KEYS: Keys<CompareScreen> = &[
    show(&["space", "m", "enter"], "mark", "mark a run or not: marked runs are overlaid and compared", pin),
    show(&["s"], "sort", "sort by the next column of the table", sort),
    show(&["S"], "reverse", "reverse the order", reverse),
    show(&["]"], "next series", "show the next series, or utility against ε", |screen, context| screen.next_quantity(context.archived(), &context.watch, 1)),
    also(&["["], "previous series", "show the previous series", |screen, context| screen.next_quantity(context.archived(), &context.watch, -1)),
    show(&["e"], "tag", "write a remark on the run", tag),
    show(&["d", "delete"], "delete", "delete the run's directory; its ledger entries stay", delete),
    also(&["t"], "take settings", "put the plan of this run on the Plan screen: in the place of the plan with its name, or as a further plan; u undoes it", take_settings),
    show(&["w"], "report", "write a report to pass on: on the marked runs, or on all of the same private dataset", report),
    also(&["P"], "predict", "predict: write the answers of the run's model for the rows of a file", predict),
    also(&["R"], "resume", "resume a run whose program died", go_on),
    also(&["M"], "unmark all", "unmark every run", |screen, _| screen.pins = Default::default()),
    also(&["U"], "refresh", "read the run directories again", |_, context| context.ask(Request::Archive)),
    also(&["y"], "log", "logarithmic axis on or off", charts::log_axis),
    also(&["~"], "smooth", "smoothing: none, some, strong", charts::smooth),
    also(&["+", "="], "zoom", "zoom in at the cursor", charts::zoom_in),
    also(&["-"], "zoom out", "zoom out", charts::zoom_out),
    also(&["left"], "cursor left", "move the chart cursor left", charts::cursor_left),
    also(&["right"], "cursor right", "move the chart cursor right", charts::cursor_right),
    also(&["H", "shift-left"], "pan left", "move the window left", charts::pan_left),
    also(&["L", "shift-right"], "pan right", "move the window right", charts::pan_right),
    also(&["0"], "reset view", "whole range, no cursor", charts::reset),
    also(&["<", ","], "narrower", "make the first column narrower", |screen, context| set_width(screen, context, screen.width.saturating_sub(2))),
    also(&[">", "."], "wider", "make the first column wider", |screen, context| set_width(screen, context, screen.width + 2)),
];

fn selected(screen: &CompareScreen, context: &Context) -> Option<ArchivedRun> {
    screen.run(context.archived()).cloned()
}

fn pin(screen: &mut CompareScreen, context: &mut Context) {
    let Some(run) = selected(screen, context) else { return };
    if !screen.toggle_pin(&run.id) {
        context.warn("six runs are marked: m takes a mark away, M all of them");
    }
}

fn sort(screen: &mut CompareScreen, context: &mut Context) {
    let columns = RunColumn::shown(!context.watch.is_sealed()).into_iter();
    let columns: Vec<_> =
        columns.filter(|column| context.is_drawn(|head| column.has_head(head))).collect();
    let after = columns.iter().skip_while(|column| Some(**column) != screen.sort).nth(1);
    // After the last column comes the order of the beginning.
    if let Some(next) = after.or(columns.first().filter(|_| screen.sort.is_none())) {
        screen.sort_best_first(*next);
    } else {
        (screen.sort, screen.reverse) = (None, false);
    }
    say_order(screen, context);
}

/// The sorting column need not be visible in the table.
fn say_order(screen: &CompareScreen, context: &mut Context) {
    let Some(column) = screen.sort else {
        return context.inform("sorted: the run to take, then the best score, then the newest");
    };
    let order = if screen.reverse { ", the last first" } else { "" };
    context.inform(format!("sorted by {}{order}", column.title()));
}

fn reverse(screen: &mut CompareScreen, context: &mut Context) {
    screen.sort.get_or_insert(RunColumn::Score);
    screen.reverse = !screen.reverse;
    say_order(screen, context);
}

fn tag(screen: &mut CompareScreen, context: &mut Context) {
    let Some(ArchivedRun { id, tag, .. }) = selected(screen, context) else { return };
    let help = "a remark on this run, kept in its directory; empty removes it";
    let prompt = Prompt::new("Tag", help, &tag, move |context: &mut Context, tag| {
        context.ask(Request::TagRun { run: id.clone(), tag: tag.to_owned() });
        Ok(())
    });
    context.popup = Some(OpenPopup::Prompt(Prompt { may_be_empty: true, ..prompt }));
}

fn delete(screen: &mut CompareScreen, context: &mut Context) {
    let Some(run) = selected(screen, context) else { return };
    let id = run.id.clone();
    if context.runs.iter().any(|live| live.is_at_work() && live.run.as_ref() == Some(&id)) {
        return context.warn("this run is still under way: stop it first");
    }
    // The deletion itself also refuses this: a run of another process may have begun since.
    if run.is_alive() {
        let process = run.process.as_ref().map_or_else(String::new, |it| format!(" by {it}"));
        let text = format!("this run is under way, carried out{process}: stop it first");
        return context.warn(text);
    }
    let resumable = if run.outcome == DIED { " Its program died; R resumes it." } else { "" };
    let text = format!(
        "Delete {} with its model and its numbers? What it spent stays in the ledger.{resumable}",
        id.0
    );
    context.confirm(text, "delete", move |context| context.ask(Request::DeleteRun(id)));
}

/// Writes a page without exact numbers about the pinned runs, or about those of the same private
/// dataset.
fn report(screen: &mut CompareScreen, context: &mut Context) {
    let archived = context.archived();
    let private = |run: &ArchivedRun| run.plan.as_ref().map(|plan| plan.private.clone());
    let (all, marks) = (archived.len(), screen.pins.iter().flatten().count());
    // What the answer above the table is about, unless some are marked.
    let alike: Vec<&ArchivedRun> = match screen.run(archived).filter(|_| marks == 0) {
        Some(selected) if !screen.is_board => {
            let of_it = |run: &&ArchivedRun| run.is_settled() && private(run) == private(selected);
            archived.iter().filter(of_it).collect()
        }
        _ => Vec::new(),
    };
    let pinned = || screen.pinned(archived).into_iter().map(|(_, run)| run).collect();
    let chosen: Vec<&ArchivedRun> = if alike.len() > 1 { alike } else { pinned() };
    let runs: Vec<RunId> = chosen.iter().map(|run| run.id.clone()).collect();
    let of = match (runs.len(), marks) {
        (1, _) if all == 1 => "the only run".to_owned(),
        (1, 0) => format!("the selected run of {all}; Space marks others"),
        (1, _) => format!("the marked run of {all}"),
        (some, 0) => {
            let private = chosen.first().and_then(|run| private(run)).unwrap_or_default();
            format!("all {some} runs on '{private}'; Space marks some of them")
        }
        (some, _) => format!("the {some} marked runs of {all}"),
    };
    let help = format!(
        "of {of}: an HTML page with public and released numbers only; the path is relative to the \
         session"
    );
    context.ask_for("Write a report", &help, "report.html", move |context, path| {
        context.ask(Request::Report { runs: runs.clone(), path: path.into() });
    });
}

/// Asks for the rows, then for the file for the answers.
fn predict(screen: &mut CompareScreen, context: &mut Context) {
    let Some(run) = selected(screen, context) else { return };
    let help = "a file with the columns of the model's data; the path is relative to the session";
    let title = "Predict the rows of which file?";
    context.ask_for(title, help, "", move |context, data| {
        let (run, data) = (run.id.clone(), PathBuf::from(data));
        let help = "a new file, .csv or .parquet; predictions are as private as the rows";
        context.ask_for(
            "Write the predictions",
            help,
            "predictions.csv",
            move |context, output| {
                let (run, data, output) = (run.clone(), data.clone(), output.into());
                context.ask(Request::Predict { run, data, output });
            },
        );
    });
}

fn go_on(screen: &mut CompareScreen, context: &mut Context) {
    // If only one run died, it is that one, wherever the cursor is.
    let mut died = context.archived().iter().filter(|run| run.outcome == DIED);
    let only = died.next().filter(|_| died.next().is_none()).cloned();
    let run = selected(screen, context);
    let run = run.filter(|run| run.outcome == DIED || only.is_none()).or(only);
    if let Some(run) = run {
        context.ask_to_go_on(run);
    }
}

fn take_settings(screen: &mut CompareScreen, context: &mut Context) {
    let Some(run) = selected(screen, context) else { return };
    let Some(earlier) = run.plan else {
        return context.warn("the plan of this run cannot be read");
    };
    context.add_plan(earlier);
    context.go_to(Tab::Plan);
}

fn set_width(screen: &mut CompareScreen, context: &mut Context, width: u16) {
    screen.width = width.clamp(WIDTHS[0], WIDTHS[1]);
    context.state.run_column = Some(screen.width);
    context.remember_state();
}
