//! The keys of the Data screen.

use std::path::PathBuf;

use super::{DATASETS, DataScreen, ROWS};
use crate::context::Context;
use crate::data::{DatasetDefinition, Guessed, Role, Task};
use crate::engine::Request;
use crate::engine::lookup::Wanted;
use crate::keys::{also, show};
use crate::popup::picker::Item;
use crate::screen::Keys;

#[rustfmt::skip] // a table reads best as one
pub const KEYS: Keys<DataScreen> = &[
    show(&["a"], "add", "add a data file: browse, preview, then describe it", |_, context| context.ask(Request::Browse(PathBuf::from("."), Wanted::Data))),
    show(&["enter", "e"], "edit", "edit role, label, filter and columns", edit),
    show(&["Y"], "label", "choose the label from a list of the columns, with a suggestion", choose_label),
    show(&["D"], "divide", "divide the table by a column: one part or several private, the others public", split),
    show(&["d", "delete"], "remove", "remove the dataset from the session", remove),
    show(&["U"], "reload", "read the dataset's file again", reload),
    also(&["n"], "new dataset", "describe another dataset like this one", copy),
    also(&["="], "same for all", "confirm what was guessed, and describe all datasets with the same columns like this one", same_for_all),
    also(&["c"], "cancel reading", "stop waiting for a dataset that is being read", cancel_reading),
    show(&["o"], "rows", "show or hide private rows, and profiles of their columns (◆)", show_rows),
    also(&["left"], "columns left", "scroll the preview to the left", |screen, _| screen.column = screen.column.saturating_sub(1)),
    also(&["right"], "columns right", "scroll the preview to the right", columns_right),
];

fn edit(screen: &mut DataScreen, context: &mut Context) {
    let Some(definition) = screen.definition(context).cloned() else { return };
    let columns = context.columns(&definition.name);
    context.open_form(definition, &columns, false);
}

/// Offers every column as the label: those first that can be one, by a public dataset with the same
/// columns or by private rows that are shown.
fn choose_label(screen: &mut DataScreen, context: &mut Context) {
    let Some(definition) = screen.definition(context).cloned() else { return };
    let (name, columns) = (definition.name.clone(), context.columns(&definition.name));
    if columns.is_empty() {
        return context.warn(format!("'{name}' is not read yet"));
    }
    let relatives = context.relatives(&name);
    let datasets = context.session.datasets.iter();
    let known = datasets.filter(|it| it.name == name || relatives.contains(&it.name));
    // Public rows are asked before exact ones.
    let mut known: Vec<_> = known
        .filter_map(|it| {
            Some((it.role == Role::Private, &it.name, DataScreen::profile(it, context)?))
        })
        .collect();
    known.sort_by_key(|(is_exact, of, _)| (*is_exact, **of != name));
    let known = known.first();
    let sign = if known.is_some_and(|(is_exact, ..)| *is_exact) { "◆ " } else { "" };
    let candidates = known.map_or(&[][..], |(.., profile)| &profile.labels[..]);
    let mut items = Vec::new();
    for column in &columns {
        let facts = known.and_then(|(.., profile)| profile.column(&column.name));
        let place = candidates.iter().position(|it| it.column == column.name);
        let candidate = place.map(|place| &candidates[place]);
        let is_label = definition.label.as_ref() == Some(&column.name);
        let kind = match (facts.and_then(|it| it.distinct), column.holds()) {
            (Some(1), kind) => format!("{sign}1 {kind}"),
            (Some(count), kind) => format!("{sign}{count} {kind}s"),
            (None, kind) => kind.to_owned(),
        };
        let is_guessed = definition.guessed.contains_key(&Guessed::Label);
        let now = is_label.then(|| if is_guessed { "now, guessed" } else { "now" }.to_owned());
        let role = match (place, candidate) {
            (Some(0), Some(it)) => {
                Some(format!("suggested: {}; {}", it.reason(candidates), it.words()))
            }
            (_, candidate) => candidate.map(|it| format!("possible: {}", it.words())),
        };
        let parts = [Some(kind), now, role].into_iter().flatten().collect::<Vec<_>>().join(" · ");
        let task = match candidate {
            Some(candidate) => candidate.task,
            None if column.numeric => Task::Regression,
            None => Task::Classification,
        };
        let (dataset, label) = (name.clone(), column.name.clone());
        let take = move |context: &mut Context| context.set_label(&dataset, Some((&label, task)));
        let order = (place.unwrap_or(candidates.len()), !is_label);
        items.push((order, Item::that(column.name.clone(), parts, take)));
    }
    items.sort_by_key(|(order, _)| *order);
    let dataset = name.clone();
    let none = Item::that("no label", "the dataset is unlabelled", move |context: &mut Context| {
        context.set_label(&dataset, None);
    });
    let items = items.into_iter().map(|(_, item)| item).chain([none]);
    let seen =
        known.map_or_else(String::new, |(_, of, _)| format!(" by the different values of '{of}'"));
    context.pick(&format!("Label of '{name}'{seen}"), items.collect());
}

fn split(screen: &mut DataScreen, context: &mut Context) {
    let Some(name) = screen.definition(context).map(|it| it.name.clone()) else { return };
    if context.loaded(&name).is_none() {
        return context.warn(format!("'{name}' is not read yet"));
    }
    let watch = context.watch.clone();
    let is_private = context.session.dataset(&name).is_ok_and(|it| it.role == Role::Private);
    if !is_private || watch.is_sealed() {
        return context.ask(Request::Dividers { dataset: name, watch });
    }
    let text = format!(
        "Look at the values by which the rows of '{name}' can be divided (◆)? They are exact, and the \
         ledger notes that they were seen."
    );
    context.confirm(text, "look", move |context| {
        let watch = context.watch.clone();
        context.ask(Request::Dividers { dataset: name, watch });
    });
}

/// Opens a form for a new dataset with the settings of this one.
fn copy(screen: &mut DataScreen, context: &mut Context) {
    if let Some(from) = screen.definition(context) {
        let (copy, columns) = (from.clone(), context.columns(&from.name));
        context.open_form(DatasetDefinition { fingerprint: None, ..copy }, &columns, true);
    }
}

fn same_for_all(screen: &mut DataScreen, context: &mut Context) {
    if let Some(from) = screen.definition(context).cloned() {
        context.same_for_all(&from);
    }
}

fn remove(screen: &mut DataScreen, context: &mut Context) {
    let Some(name) = screen.definition(context).map(|it| it.name.clone()) else { return };
    let text = format!("Remove '{name}' from the session? Its file and its ledger entries stay.");
    context.confirm(text, "remove", move |context| context.remove_dataset(&name));
}

fn reload(screen: &mut DataScreen, context: &mut Context) {
    let Some(definition) = screen.definition(context).cloned() else { return };
    let text = format!("'{}' is read again", definition.name);
    context.load(definition);
    context.ask_preview();
    context.inform(text);
}

fn cancel_reading(screen: &mut DataScreen, context: &mut Context) {
    let Some(name) = screen.definition(context).map(|it| it.name.clone()) else { return };
    if context.is_loading(&name) {
        context.ask(Request::CancelLoad(name));
    } else {
        context.inform("this dataset is not being read");
    }
}

/// Public rows are always available. Private ones are exact: they are requested explicitly, marked,
/// and removed when the view is sealed.
fn show_rows(screen: &mut DataScreen, context: &mut Context) {
    let Some(definition) = screen.definition(context) else { return };
    let (role, dataset) = (definition.role, definition.name.clone());
    if let Some(why) =
        (role == Role::Public).then(|| DataScreen::hidden(definition, context)).flatten()
    {
        context.warn(why);
    } else if role == Role::Public {
        context.focus_on(ROWS);
        context.inform("public rows: arrows scroll, Esc leads back to the list");
    } else if context.peeked.take_if(|(name, _)| *name == dataset).is_some() {
        // They were shown and are now hidden.
        context.focus_on(DATASETS);
    } else if context.watch.is_sealed() {
        context.warn("the view is sealed: v opens it");
    } else {
        screen.row = 0;
        // On a small terminal they replace the description.
        context.focus_on(ROWS);
        let watch = context.watch.clone();
        context.ask(Request::Peek { dataset, watch });
    }
}

fn columns_right(screen: &mut DataScreen, context: &mut Context) {
    let loaded = screen.definition(context).and_then(|it| context.loaded(&it.name));
    if let Some(loaded) = loaded {
        screen.column = (screen.column + 1).min(loaded.columns.len().saturating_sub(1));
    }
}
