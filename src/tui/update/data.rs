//! The Data screen: datasets, their definitions, their rows.

use std::path::PathBuf;

use crate::data::{DatasetDefinition, Role};
use crate::engine::Request;
use crate::tui::app::{App, DatasetStatus, Effect, Level, one_line};
use crate::tui::keymap::Action;
use crate::tui::popup::dataset_form::DatasetForm;
use crate::tui::popup::{Answer, Popup};

pub(super) fn act(app: &mut App, action: Action) -> Vec<Effect> {
    let selected = app.session.datasets.get(app.data.selected).cloned();
    match (action, selected) {
        (Action::AddDataset, _) => {
            return vec![Effect::ask(Request::Browse(PathBuf::from(".")))];
        }
        (Action::ColumnLeft, _) => app.data.column = app.data.column.saturating_sub(1),
        (Action::ColumnRight, Some(definition)) => {
            if let Some(DatasetStatus::Ready { loaded, .. }) = app.data.status.get(&definition.name)
            {
                app.data.column = (app.data.column + 1).min(loaded.columns.len().saturating_sub(1));
            }
        }
        (Action::CancelLoad, Some(definition)) => {
            if let Some(DatasetStatus::Loading(_)) = app.data.status.get(&definition.name) {
                return vec![Effect::ask(Request::CancelLoad(definition.name))];
            }
            app.say(Level::Info, "this dataset is not being read");
        }
        (Action::ShowRows, Some(definition)) => return show_rows(app, &definition),
        (Action::EditDataset, Some(definition)) => {
            let known = match app.data.status.get(&definition.name) {
                Some(DatasetStatus::Ready { loaded, .. }) => {
                    loaded.columns.iter().map(|column| column.name.clone()).collect()
                }
                _ => Vec::new(),
            };
            app.popup = Some(Popup::Dataset(Box::new(DatasetForm::new(definition, known, false))));
        }
        (Action::RemoveDataset, Some(definition)) => {
            let text = format!(
                "Remove '{}' from the session? Its file and its ledger entries stay.",
                definition.name
            );
            app.popup =
                Some(Popup::Question { text, then: Answer::RemoveDataset(definition.name) });
        }
        (Action::ReloadDataset, Some(definition)) => {
            app.data.status.insert(definition.name.clone(), DatasetStatus::Loading(0.0));
            let mut effects = vec![Effect::ask(Request::Load(definition))];
            effects.extend(app.ask_preview());
            return effects;
        }
        _ => {}
    }
    Vec::new()
}

/// Public rows are there anyway; private ones are exact, so they are asked for
/// by name, marked, and gone when the view is sealed.
fn show_rows(app: &mut App, definition: &DatasetDefinition) -> Vec<Effect> {
    if definition.role == Role::Public {
        app.say(Level::Info, "public rows are shown below: Tab moves there, arrows scroll");
        return Vec::new();
    }
    if app.data.peeked.take_if(|(name, _)| *name == definition.name).is_some() {
        return Vec::new();
    }
    if app.watch.is_sealed() {
        app.say(Level::Warning, "the view is sealed: v opens it");
        return Vec::new();
    }
    let (dataset, watch) = (definition.name.clone(), app.watch.clone());
    vec![Effect::ask(Request::Peek { dataset, watch })]
}

pub(super) fn save(app: &mut App, mut form: Box<DatasetForm>) -> Vec<Effect> {
    let definition = match form.definition() {
        Ok(definition) => definition,
        Err(error) => {
            form.problem = Some(one_line(&error));
            app.popup = Some(Popup::Dataset(form));
            return Vec::new();
        }
    };
    let clash =
        app.session.datasets.iter().any(|other| {
            other.name == definition.name && form.replaces.as_ref() != Some(&other.name)
        });
    if clash {
        form.problem = Some(format!("another dataset is called '{}'", definition.name));
        app.popup = Some(Popup::Dataset(form));
        return Vec::new();
    }
    if let Some(old) = &form.replaces {
        rename(app, old, &definition.name);
        if let Some(place) = app.session.datasets.iter_mut().find(|dataset| dataset.name == *old) {
            *place = definition.clone();
        }
        app.data.status.remove(old);
    } else {
        app.session.datasets.push(definition.clone());
        app.data.selected = app.session.datasets.len() - 1;
    }
    app.changed();
    app.data.status.insert(definition.name.clone(), DatasetStatus::Loading(0.0));
    let mut effects = vec![Effect::ask(Request::Load(definition))];
    effects.extend(app.ask_preview());
    effects
}

/// Plans and budgets follow a dataset's new name.
fn rename(app: &mut App, old: &str, new: &str) {
    if let Some(budget) = app.session.budgets.remove(old) {
        app.session.budgets.insert(new.to_owned(), budget);
    }
    for plan in &mut app.session.plans {
        for name in std::iter::once(&mut plan.private).chain(&mut plan.public) {
            if name == old {
                new.clone_into(name);
            }
        }
    }
}
