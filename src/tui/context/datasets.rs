//! Definitions of datasets, and what was read of them.

use super::{Change, Context, DatasetStatus, Popup};
use crate::data::{DatasetDefinition, Role};
use crate::engine::Request;
use crate::session::Loaded;
use crate::tui::notice::one_line;
use crate::tui::popup::dataset_form::DatasetForm;

impl Context {
    pub fn names_with(&self, role: Role) -> Vec<String> {
        let datasets = self.session.datasets.iter().filter(|dataset| dataset.role == role);
        datasets.map(|dataset| dataset.name.clone()).collect()
    }

    /// What was read of this dataset, once it was.
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
        self.ask(Request::Load(definition));
    }

    /// Takes a form in, or shows it again with what is wrong.
    pub fn describe(&mut self, mut form: Box<DatasetForm>) {
        let definition = match form.definition() {
            Ok(definition) => definition,
            Err(error) => {
                form.problem = Some(one_line(&error));
                self.popup = Some(Popup::Dataset(form));
                return;
            }
        };
        let clash = self.session.datasets.iter().any(|other| {
            other.name == definition.name && form.replaces.as_ref() != Some(&other.name)
        });
        if clash {
            form.problem = Some(format!("another dataset is called '{}'", definition.name));
            self.popup = Some(Popup::Dataset(form));
            return;
        }
        if let Some(old) = &form.replaces {
            self.rename(old, &definition.name);
            let place = self.session.datasets.iter_mut().find(|dataset| dataset.name == *old);
            if let Some(place) = place {
                *place = definition.clone();
            }
            self.datasets.remove(old);
        } else {
            self.session.datasets.push(definition.clone());
        }
        self.changed();
        self.note(Change::Described(definition.name.clone()));
        self.load(definition);
        self.ask_preview();
    }

    /// Plans and budgets follow a dataset's new name.
    fn rename(&mut self, old: &str, new: &str) {
        if let Some(budget) = self.session.budgets.remove(old) {
            self.session.budgets.insert(new.to_owned(), budget);
        }
        for plan in &mut self.session.plans {
            for name in std::iter::once(&mut plan.private).chain(&mut plan.public) {
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
        self.changed();
        self.note(Change::Removed);
        self.ask_preview();
    }
}
