//! Definitions of datasets, and the data read from them.

use std::collections::BTreeMap;

use super::{Change, Context, DatasetStatus, OpenPopup};
use crate::data::{DatasetDefinition, Guessed, Role, Task};
use crate::engine::Request;
use crate::error::Error;
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

    /// Why the rows of a dataset that is said to be public are withheld, once that is known.
    pub fn withheld(&self, name: &str) -> Option<&Error> {
        let known = self.loaded(name).and_then(|loaded| loaded.withheld.as_ref());
        known.or_else(|| self.compared.get(name)?.as_ref())
    }

    /// Whether the rows of a public dataset may be shown. Beside private data they must have been
    /// compared with these.
    pub fn is_open(&self, name: &str) -> bool {
        let is_compared = self.compared.contains_key(name);
        self.withheld(name).is_none() && (is_compared || self.names_with(Role::Private).is_empty())
    }

    /// Takes back what was guessed from the cells of a file that was taken for a public one, and keeps
    /// what is guessed of private files, too.
    pub(super) fn withdraw_guesses(&mut self, name: &str) {
        let of_cells = [Guessed::Missing, Guessed::Numbers, Guessed::Rows, Guessed::Order];
        let datasets = self.session.datasets.iter_mut();
        for dataset in datasets.filter(|it| it.name == name && it.role == Role::Public) {
            dataset.guessed.retain(|about, _| !of_cells.contains(about));
        }
    }

    /// Tells the first remark of a dataset that was read.
    pub(super) fn warn_of(&mut self, name: &str) {
        if let Some(warning) = self.loaded(name).and_then(|it| it.warnings.first()).cloned() {
            self.warn(warning);
        }
    }

    pub fn is_loading(&self, name: &str) -> bool {
        matches!(self.datasets.get(name), Some(DatasetStatus::Loading(_)))
    }

    /// Says which of these datasets is still being read, if one is.
    pub fn being_read<'a>(&self, names: impl IntoIterator<Item = &'a String>) -> Option<String> {
        let name = names.into_iter().find(|name| self.is_loading(name))?;
        Some(format!("'{name}' is still being read"))
    }

    /// Reads a dataset (again).
    pub fn load(&mut self, definition: DatasetDefinition) {
        self.datasets.insert(definition.name.clone(), DatasetStatus::Loading(0.0));
        self.compared.remove(&definition.name);
        self.ask(Request::Load(definition));
    }

    /// Opens the form of a dataset; a new one gets a name that no other has.
    pub fn open_form(
        &mut self,
        mut definition: DatasetDefinition,
        of: &[ColumnKind],
        is_new: bool,
    ) {
        let files = |of: &DatasetDefinition| {
            let files = of.source.files();
            files.into_iter().map(|it| it.trim_start_matches("./").to_owned()).collect::<Vec<_>>()
        };
        let own = files(&definition);
        let is_same = |it: &&DatasetDefinition| {
            !own.is_empty() && files(it) == own && it.filter == definition.filter
        };
        let same = self.session.datasets.iter().find(is_same);
        let same = same.filter(|_| is_new && definition.filter.is_none()).map(|it| {
            format!("this file is in the session already, as '{}': Esc leaves it at that", it.name)
        });
        while is_new && self.session.dataset(&definition.name).is_ok() {
            definition.name.push('\'');
        }
        let known = of.iter().map(|column| column.name.clone()).collect();
        let mut form = DatasetForm::new(definition, known, is_new);
        form.problem = same;
        self.popup = Some(OpenPopup::Dataset(Box::new(form)));
    }

    /// The columns of a dataset, once they were read.
    pub fn columns(&self, name: &str) -> Vec<ColumnKind> {
        self.loaded(name).map(|loaded| loaded.columns.clone()).unwrap_or_default()
    }

    /// Accepts a form, or shows it again with its error.
    pub fn describe(&mut self, mut form: Box<DatasetForm>) {
        let definition = form.definition().map_err(|error| one_line(&error));
        let definition = definition.and_then(|definition| {
            let name = &definition.name;
            let clash = form.replaces.as_ref() != Some(name) && self.session.dataset(name).is_ok();
            if clash { Err(format!("another dataset is called '{name}'")) } else { Ok(definition) }
        });
        let definition = match definition {
            Ok(definition) => definition,
            Err(problem) => {
                form.problem = Some(problem);
                return self.popup = Some(OpenPopup::Dataset(form));
            }
        };
        let mut followers = Vec::new();
        if let Some(old) = &form.replaces {
            self.rename(old, &definition.name);
            let place = self.session.datasets.iter_mut().find(|dataset| dataset.name == *old);
            if let Some(place) = place {
                let before = std::mem::replace(place, definition.clone());
                if !family::same_settings(&before, &definition) {
                    let alike = |it: &_| family::same_settings(&before, it);
                    followers = self.share_settings(&definition, old, alike);
                }
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
            self.inform(format!("also changed: {}; u undoes it", followers.join(", ")));
        }
        self.refit_plans();
        self.ask_preview();
    }

    /// Makes a column the label of a dataset, and of those that share its settings.
    pub fn set_label(&mut self, name: &str, label: Option<(&str, Task)>) {
        let Ok(definition) = self.session.dataset(name).cloned() else { return };
        if label.map(|(label, _)| label) == definition.label.as_deref() {
            return self.inform("the label stays as it is");
        }
        let known = self.columns(name).into_iter().map(|column| column.name).collect();
        let mut form = DatasetForm::new(definition, known, false);
        form.set_label(label);
        self.describe(Box::new(form));
    }

    /// Gives the settings of a dataset to those with the columns of `name` for which this holds, and
    /// reads them again. Returns their names.
    fn share_settings(
        &mut self,
        from: &DatasetDefinition,
        name: &str,
        wanted: impl Fn(&DatasetDefinition) -> bool,
    ) -> Vec<String> {
        let relatives = self.relatives(name);
        let mut changed = Vec::new();
        for dataset in &mut self.session.datasets {
            if relatives.contains(&dataset.name) && wanted(dataset) {
                family::take_settings(from, dataset);
                changed.push(dataset.clone());
            }
        }
        let names = changed.iter().map(|dataset| dataset.name.clone()).collect();
        for dataset in changed {
            self.load(dataset);
        }
        names
    }

    /// The other datasets whose files have the same columns.
    pub fn relatives(&self, name: &str) -> Vec<String> {
        let names = |name: &str| {
            let columns = &self.loaded(name)?.columns;
            Some(columns.iter().map(|column| column.name.as_str()).collect::<Vec<_>>())
        };
        let Some(own) = names(name) else { return Vec::new() };
        let others = self.session.datasets.iter().filter(|other| other.name != name);
        let related = others.filter(|other| names(&other.name).as_ref() == Some(&own));
        related.map(|other| other.name.clone()).collect()
    }

    /// Applies a dataset's settings for its columns to all datasets with the same ones.
    /// Confirms what was guessed about it.
    pub fn same_for_all(&mut self, from: &DatasetDefinition) {
        let differs = |it: &_| !family::same_settings(from, it);
        let count = self.share_settings(from, &from.name, differs).len();
        let confirmed = self.confirm_guesses(&from.name);
        let changed = format!("changed like '{}': {count} datasets; u undoes it", from.name);
        match (confirmed.as_slice(), count) {
            ([], 0) => return self.inform(
                "nothing is left to confirm, and no dataset with these columns has other settings",
            ),
            ([], _) => self.inform(changed),
            (names, 0) => self.inform(format!("confirmed: {}", names.join(", "))),
            (names, _) => self.inform(format!("confirmed: {}; {changed}", names.join(", "))),
        }
        self.changed();
        self.refit_plans();
        self.ask_preview();
    }

    /// Confirms what was guessed about a dataset, and those guesses that others with the same columns
    /// share. Returns the names of the datasets.
    fn confirm_guesses(&mut self, name: &str) -> Vec<String> {
        let mut relatives = self.relatives(name);
        // What is refused has no use that could be confirmed.
        relatives.retain(|it| self.withheld(it).is_none());
        let mut confirmed = Vec::new();
        for dataset in &mut self.session.datasets {
            let before = dataset.guessed.len();
            if dataset.name == name {
                dataset.guessed.clear();
            } else if relatives.contains(&dataset.name) {
                let own = [Guessed::Numbers, Guessed::Files];
                dataset.guessed.retain(|about, _| own.contains(about));
            }
            if dataset.guessed.len() < before {
                confirmed.push(dataset.name.clone());
            }
        }
        confirmed
    }

    /// Looks for datasets that do not fit those with the same columns, and complains of new ones.
    pub(super) fn look_for_misfits(&mut self) {
        let ready = self.datasets.iter().filter_map(|(name, status)| match status {
            DatasetStatus::Ready { loaded, .. } => Some((name, &**loaded)),
            _ => None,
        });
        let ready: Vec<(&String, &Loaded)> = ready.collect();
        let others = |own: &str| {
            let others = ready.iter().filter(move |(name, _)| *name != own);
            others.map(|(_, loaded)| *loaded).collect::<Vec<_>>()
        };
        let found = ready.iter().filter_map(|(name, loaded)| {
            Some(((*name).clone(), family::misfit(loaded, &others(name))?))
        });
        let found: BTreeMap<String, Error> = found.collect();
        let before = std::mem::replace(&mut self.misfits, found);
        let new = self.misfits.iter().find(|(name, _)| !before.contains_key(*name));
        if let Some((name, error)) = new.map(|(name, error)| (name.clone(), error.clone())) {
            self.complain_of(ErrorTopic::Dataset(name), &error);
        }
        for name in before.into_keys() {
            if !self.misfits.contains_key(&name) {
                self.mended(&ErrorTopic::Dataset(name));
            }
        }
    }

    /// After a look at a file, offers to describe it, like those with the same columns.
    pub(super) fn inspected(
        &mut self,
        mut definition: DatasetDefinition,
        columns: &[ColumnKind],
        odd_texts: (Vec<String>, String),
    ) {
        let no_private = self.names_with(Role::Private).is_empty();
        definition.role = if no_private { Role::Private } else { Role::Public };
        if definition.role == Role::Public {
            family::read_as_missing(&mut definition, odd_texts);
        }
        let has_these = |loaded: &Loaded| {
            loaded.columns.iter().map(|it| &it.name).eq(columns.iter().map(|it| &it.name))
        };
        let datasets = &self.session.datasets;
        let relative = datasets.iter().find(|it| self.loaded(&it.name).is_some_and(has_these));
        if let Some(relative) = relative {
            family::take_settings(relative, &mut definition);
        }
        self.notice = None;
        self.open_form(definition, columns, true);
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

    /// Plans go on without it; those that cannot go with it.
    pub fn remove_dataset(&mut self, name: &str) {
        self.session.datasets.retain(|dataset| dataset.name != name);
        self.session.budgets.remove(name);
        let ranking = &mut self.session.ranking;
        ranking.public.retain(|public| public != name);
        ranking.private.take_if(|private| private == name);
        let mut gone = Vec::new();
        for plan in &mut self.session.plans {
            let had = plan.public.len();
            plan.public.retain(|public| public != name);
            plan.test.take_if(|test| test == name);
            if plan.private == name || (plan.public.is_empty() && had > 0) {
                gone.push(plan.name.clone());
            }
        }
        self.session.plans.retain(|plan| !gone.contains(&plan.name));
        self.plan.index = self.plan.index.min(self.session.plans.len().saturating_sub(1));
        if !gone.is_empty() {
            let plans = gone.join("', '");
            self.inform(format!(
                "removed with '{name}': plan '{plans}', which needs it; u undoes it"
            ));
        }
        self.forget(name);
        self.look_for_misfits();
        self.mended(&ErrorTopic::Dataset(name.to_owned()));
        self.changed();
        self.note(Change::Removed);
        self.ask_preview();
    }
}
