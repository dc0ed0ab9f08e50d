//! Definitions of datasets, and the data read from them.

use super::{Change, Context, DatasetStatus, OpenPopup};
use crate::data::{DatasetDefinition, Role};
use crate::engine::Request;
use crate::notice::{ErrorTopic, one_line};
use crate::popup::dataset_form::DatasetForm;
use crate::session::Loaded;
use crate::session::dataset::ColumnKind;
use crate::session::family;

impl Context {
    pub fn names_with(&self, role: Role) -> Vec<String> {
        let datasets = self.session.datasets.iter().filter(|dataset| dataset.role == role);
        datasets.map(|dataset| dataset.name.clone()).collect()
    }

    /// The data of this dataset, once they were read.
    pub fn loaded(&self, name: &str) -> Option<&Loaded> {
        match self.datasets.get(name)? {
            DatasetStatus::Ready { loaded, .. } => Some(loaded),
            _ => None,
        }
    }

    pub fn is_loading(&self, name: &str) -> bool {
        matches!(self.datasets.get(name), Some(DatasetStatus::Loading(_)))
    }

    /// Reads a dataset (again).
    pub fn load(&mut self, definition: DatasetDefinition) {
        self.datasets.insert(definition.name.clone(), DatasetStatus::Loading(0.0));
        self.compared.remove(&definition.name);
        self.ask(Request::Load(definition));
    }

    /// Accepts a form, or shows it again with its error.
    pub fn describe(&mut self, mut form: Box<DatasetForm>) {
        let definition = match form.definition() {
            Ok(definition) => definition,
            Err(error) => {
                form.problem = Some(one_line(&error));
                self.popup = Some(OpenPopup::Dataset(form));
                return;
            }
        };
        let clash = self.session.datasets.iter().any(|other| {
            other.name == definition.name && form.replaces.as_ref() != Some(&other.name)
        });
        if clash {
            form.problem = Some(format!("another dataset is called '{}'", definition.name));
            self.popup = Some(OpenPopup::Dataset(form));
            return;
        }
        let mut followers = Vec::new();
        if let Some(old) = &form.replaces {
            self.rename(old, &definition.name);
            let place = self.session.datasets.iter_mut().find(|dataset| dataset.name == *old);
            if let Some(place) = place {
                let before = std::mem::replace(place, definition.clone());
                followers = self.follow(&before, &definition);
            }
            self.datasets.remove(old);
            self.mended(&ErrorTopic::Dataset(old.clone()));
            if *old != definition.name {
                self.ask(Request::Forget(old.clone()));
            }
        } else {
            self.session.datasets.push(definition.clone());
        }
        self.changed();
        self.note(Change::Described(definition.name.clone()));
        self.load(definition);
        if !followers.is_empty() {
            let text = format!("also changed: {}; u undoes it", followers.join(", "));
            self.inform(text);
        }
        self.refit_plans();
        self.ask_preview();
    }

    /// Applies the same change to datasets with the same columns and the same description. Returns
    /// their names.
    fn follow(&mut self, before: &DatasetDefinition, now: &DatasetDefinition) -> Vec<String> {
        if family::same_settings(before, now) {
            return Vec::new();
        }
        let relatives = self.relatives(&before.name);
        let alike = |it: &&mut DatasetDefinition| {
            relatives.contains(&it.name) && family::same_settings(before, it)
        };
        let mut followers = Vec::new();
        for dataset in self.session.datasets.iter_mut().filter(alike) {
            family::take_settings(now, dataset);
            followers.push(dataset.clone());
        }
        let names = followers.iter().map(|dataset| dataset.name.clone()).collect();
        for dataset in followers {
            self.load(dataset);
        }
        names
    }

    /// The other datasets whose files have the same columns.
    fn relatives(&self, name: &str) -> Vec<String> {
        let columns = |name: &str| {
            let loaded = self.loaded(name)?;
            Some(loaded.columns.iter().map(|column| column.name.clone()).collect::<Vec<_>>())
        };
        let Some(own) = columns(name) else { return Vec::new() };
        let others = self.session.datasets.iter().filter(|other| other.name != name);
        let related = others.filter(|other| columns(&other.name).as_ref() == Some(&own));
        related.map(|other| other.name.clone()).collect()
    }

    /// Applies a dataset's settings for its columns to all datasets with the same ones.
    pub fn same_for_all(&mut self, name: &str) {
        let Some(from) = self.session.datasets.iter().find(|it| it.name == name).cloned() else {
            return;
        };
        let relatives = self.relatives(name);
        let mut changed = Vec::new();
        for dataset in &mut self.session.datasets {
            if relatives.contains(&dataset.name) && !family::same_settings(&from, dataset) {
                family::take_settings(&from, dataset);
                changed.push(dataset.clone());
            }
        }
        let text = match changed.len() {
            0 => "no other dataset has these columns and other settings".to_owned(),
            count => format!("changed like '{name}': {count} datasets; u undoes it"),
        };
        self.inform(text);
        if changed.is_empty() {
            return;
        }
        for dataset in changed {
            self.load(dataset);
        }
        self.changed();
        self.refit_plans();
        self.ask_preview();
    }

    /// A form for a new dataset with the settings of this one.
    pub fn copy_dataset(&mut self, from: &DatasetDefinition) {
        let known = self.loaded(&from.name);
        let known = known.map(|loaded| loaded.columns.iter().map(|it| it.name.clone()).collect());
        let mut copy = DatasetDefinition { fingerprint: None, ..from.clone() };
        while self.session.datasets.iter().any(|other| other.name == copy.name) {
            copy.name.push('\'');
        }
        let form = DatasetForm::new(copy, known.unwrap_or_default(), true);
        self.popup = Some(OpenPopup::Dataset(Box::new(form)));
    }

    /// After a look at a file, offers to describe it, like those with the same columns.
    pub(super) fn inspected(&mut self, mut definition: DatasetDefinition, columns: &[ColumnKind]) {
        let no_private = self.names_with(Role::Private).is_empty();
        definition.role = if no_private { Role::Private } else { Role::Public };
        let relative =
            self.session.datasets.iter().find(|other| {
                self.loaded(&other.name).is_some_and(|loaded| loaded.columns == columns)
            });
        if let Some(relative) = relative {
            family::take_settings(relative, &mut definition);
        }
        while self.session.datasets.iter().any(|other| other.name == definition.name) {
            definition.name.push('\'');
        }
        let known = columns.iter().map(|column| column.name.clone()).collect();
        let form = DatasetForm::new(definition, known, true);
        self.notice = None;
        self.popup = Some(OpenPopup::Dataset(Box::new(form)));
    }

    /// Plans and budgets follow a dataset's new name.
    pub(super) fn rename(&mut self, old: &str, new: &str) {
        if let Some(budget) = self.session.budgets.remove(old) {
            self.session.budgets.insert(new.to_owned(), budget);
        }
        for plan in &mut self.session.plans {
            let names = std::iter::once(&mut plan.private).chain(&mut plan.public);
            for name in names.chain(&mut plan.test) {
                if name == old {
                    new.clone_into(name);
                }
            }
        }
    }

    pub fn remove_dataset(&mut self, name: &str) {
        self.session.datasets.retain(|dataset| dataset.name != name);
        self.session.budgets.remove(name);
        self.datasets.remove(name);
        self.mended(&ErrorTopic::Dataset(name.to_owned()));
        self.ask(Request::Forget(name.to_owned()));
        self.changed();
        self.note(Change::Removed);
        self.ask_preview();
    }
}
