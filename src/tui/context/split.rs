//! Splitting a dataset by a column: into a private part and public ones.

use super::{Change, Context};
use crate::data::Role;
use crate::engine::Request;
use crate::engine::worker::Dividers;
use crate::notice::Level;
use crate::popup::picker::Item;
use crate::session::family::{self, By, Divider, TablePart};

impl Context {
    /// Offers the columns by which a dataset can be split.
    pub(super) fn offer_split(&mut self, dataset: &str, columns: Option<&Dividers>) {
        let (columns, sign) = match columns {
            Some(Dividers::Public(columns)) => (columns, ""),
            Some(Dividers::Exact(columns)) => match columns.reveal(&self.watch) {
                Some(columns) => (columns, "◆ "),
                None => return,
            },
            None => {
                let text = "the view is sealed, and values are exact: v opens it, or type a filter";
                return self.warn(text);
            }
        };
        let label = self.session.dataset(dataset).ok().and_then(|it| it.label.clone());
        let mut columns = columns.clone();
        // A split by the label comes last, because nothing is left to learn after it.
        columns.sort_by_key(|divider| Some(&divider.column) == label.as_ref());
        if columns.is_empty() {
            let text = "there is no column to split by: none has numbers or only a few values";
            return self.inform(text);
        }
        let items = columns.into_iter().map(|Divider { column, by }| {
            let detail = match &by {
                By::Values(values) => {
                    let values: Vec<String> = values.iter().map(ToString::to_string).collect();
                    format!("one part for each: {}", values.join(", "))
                }
                By::Numbers => "you choose the numbers".to_owned(),
            };
            let (dataset, title) = (dataset.to_owned(), column.clone());
            let take = move |context: &mut Self| match by {
                By::Values(values) => {
                    context.choose_private(&dataset, &family::by_values(&column, &values), &[]);
                }
                By::Numbers => context.ask_where_to_cut(dataset, column),
            };
            Item::that(title, detail, take)
        });
        let title = format!("{sign}Divide '{dataset}' by");
        self.pick(&title, items.collect());
        if !sign.is_empty() {
            self.inform("the values are exact (◆): the ledger notes that they were looked at");
        }
    }

    fn ask_where_to_cut(&mut self, dataset: String, column: String) {
        let title = format!("Divide '{dataset}' at which {column}?");
        let help = "one number or several: 50 makes a part below 50 and one from 50 on";
        self.prompt(title, help, "", move |context, text| {
            let numbers = text.split([',', ' ']).filter(|part| !part.is_empty());
            let cuts: Result<Vec<f64>, _> = numbers.map(str::parse).collect();
            let cuts = cuts.ok().filter(|cuts| cuts.iter().all(|cut| cut.is_finite()));
            let cuts = cuts.ok_or("give numbers, such as: 30, 50")?;
            context.choose_private(&dataset, &family::by_numbers(&column, &cuts), &[]);
            Ok(())
        });
    }

    /// Asks which parts are private: one after the other, while more than one would be public.
    fn choose_private(&mut self, dataset: &str, parts: &[TablePart], chosen: &[usize]) {
        let is_first = chosen.is_empty();
        let left = (0..parts.len()).filter(|index| !chosen.contains(index));
        let left: Vec<usize> = left.collect();
        let rest = if is_first { "private; the others are public" } else { "private, too" };
        if !is_first && left.len() < 2 {
            return self.split(dataset, parts, chosen);
        }
        let item = |index: usize| {
            let (dataset, parts) = (dataset.to_owned(), parts.to_vec());
            let title = parts[index].name.clone();
            let chosen = [chosen, &[index]].concat();
            let take = move |context: &mut Self| context.choose_private(&dataset, &parts, &chosen);
            Item::that(title, rest, take)
        };
        let items = left.iter().copied().map(item);
        if is_first {
            return self.pick("Which part is private?", items.collect());
        }
        let (whole, all, own) = (dataset.to_owned(), parts.to_vec(), chosen.to_vec());
        let end = move |context: &mut Self| context.split(&whole, &all, &own);
        let end = Item::that("no more", "the others are public", end);
        self.pick("Is another part private, too?", std::iter::once(end).chain(items).collect());
    }

    /// Splits a dataset and the others that come from the same table. The chosen parts of the
    /// private one among them stay private, as one dataset; everything else is public.
    fn split(&mut self, dataset: &str, parts: &[TablePart], private: &[usize]) {
        let own = (0..parts.len()).filter(|index| private.contains(index));
        let own: Vec<TablePart> = own.map(|index| parts[index].clone()).collect();
        let others = (0..parts.len()).filter(|index| !private.contains(index));
        let others: Vec<TablePart> = others.map(|index| parts[index].clone()).collect();
        let place = private.iter().min().copied().unwrap_or(0);
        let mut parts_of_private = others.clone();
        parts_of_private.insert(place.min(others.len()), family::together(&own));
        let private = place.min(others.len());
        let all = &self.session.datasets;
        let Some(whole) = all.iter().find(|it| it.name == dataset).cloned() else { return };
        let of_table =
            |name: &str| all.iter().any(|it| it.name == name && it.source == whole.source);
        let siblings: Vec<_> = all.iter().filter(|it| of_table(&it.name)).cloned().collect();
        let parent = siblings.iter().find(|it| it.role == Role::Private).unwrap_or(&whole).clone();
        for sibling in &siblings {
            let is_parent = sibling.name == parent.name;
            let mut new = family::split(sibling, if is_parent { &parts_of_private } else { parts });
            if is_parent {
                new[private].role = Role::Private;
                // A declared number of records is for the whole dataset.
                self.rename(&parent.name, &new[private].name.clone());
            }
            let names: Vec<String> = new.iter().map(|it| it.name.clone()).collect();
            let place = self.session.datasets.iter().position(|it| it.name == sibling.name);
            let place = place.unwrap_or(self.session.datasets.len() - 1);
            self.session.datasets.splice(place..=place, new.iter().cloned());
            self.replace_public(&sibling.name, &names);
            self.forget(&sibling.name);
            for definition in new {
                self.load(definition);
            }
        }
        let chosen = self.session.datasets.iter().find(|it| it.role == Role::Private);
        let chosen = chosen.map(|it| it.name.clone()).unwrap_or_default();
        self.changed();
        self.note(Change::Described(chosen));
        self.refit_plans();
        self.ask_preview();
        let count = parts_of_private.len() + parts.len() * (siblings.len() - 1);
        self.say(Level::Good, format!("{count} datasets, one of them private; u undoes it"));
    }

    /// Plans that use a public dataset use its parts.
    fn replace_public(&mut self, old: &str, parts: &[String]) {
        for plan in &mut self.session.plans {
            if let Some(place) = plan.public.iter().position(|name| name == old) {
                plan.public.splice(place..=place, parts.iter().cloned());
            }
        }
    }

    /// Forgets a dataset that is no longer in the session.
    pub(super) fn forget(&mut self, name: &str) {
        self.datasets.remove(name);
        self.ask(Request::Forget(name.to_owned()));
    }
}
