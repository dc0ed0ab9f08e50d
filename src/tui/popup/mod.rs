//! Windows over a screen. They know nothing about the screen below: an answer is a function of `C`
//! that the opener provides.

pub mod dataset_form;
pub mod export_form;
pub mod file_browser;
pub mod form;
pub mod picker;
pub mod question;
pub mod ranking_form;
pub mod sites_form;
pub mod words;

use super::canvas::{Canvas, Rect};
use super::keys::Command;
use crate::privacy::Watch;
use dataset_form::DatasetForm;
use export_form::ExportForm;
use file_browser::FileBrowser;
use picker::Picker;
use question::{Prompt, QuestionPopup};
use ranking_form::RankingForm;
use sites_form::SitesForm;
use words::Words;

pub use question::Then;

pub enum Popup<C> {
    Question(QuestionPopup<C>),
    Prompt(Prompt<C>),
    Dataset(Box<DatasetForm>),
    Ranking(Box<RankingForm>),
    Sites(Box<SitesForm>),
    /// Every command.
    Palette(Picker<Command>),
    Pick(Picker<Then<C>>),
    Files(Box<FileBrowser>),
    Export(Box<ExportForm>),
    /// The meanings of the words of a screen.
    Words(Words),
}

impl<C> Popup<C> {
    pub fn draw(&self, canvas: &mut Canvas, body: Rect, watch: &Watch) {
        match self {
            Self::Question(question) => question.draw(canvas, body),
            Self::Prompt(prompt) => prompt.draw(canvas, body),
            Self::Dataset(form) => form.draw(canvas, body),
            Self::Ranking(form) => form.draw(canvas, body),
            Self::Sites(form) => form.draw(canvas, body),
            Self::Palette(picker) => picker.draw(canvas, body),
            Self::Pick(picker) => picker.draw(canvas, body),
            Self::Files(files) => files.draw(canvas, body, watch),
            Self::Export(form) => form.draw(canvas, body),
            Self::Words(words) => words.draw(canvas, body),
        }
    }

    /// A paste goes where text is typed.
    pub fn paste(&mut self, text: &str) {
        match self {
            Self::Question(_) => {}
            Self::Prompt(prompt) => prompt.text.insert(text),
            Self::Dataset(form) => form.paste(text),
            Self::Ranking(form) => form.paste(text),
            Self::Sites(form) => form.paste(text),
            Self::Palette(picker) => picker.query.insert(text),
            Self::Pick(picker) => picker.query.insert(text),
            Self::Files(files) => files.picker.query.insert(text),
            Self::Export(form) => form.paste(text),
            Self::Words(words) => words.picker.query.insert(text),
        }
    }

    /// The wheel of the mouse, a step up or down.
    pub fn scroll(&mut self, by: i16) {
        match self {
            Self::Palette(picker) => picker.step(by.into()),
            Self::Pick(picker) => picker.step(by.into()),
            Self::Files(files) => files.picker.step(by.into()),
            Self::Dataset(form) => form.list.iter_mut().for_each(|list| list.step(by.into())),
            Self::Words(words) => {
                words.picker.step(by.into());
                words.top = 0;
            }
            _ => {}
        }
    }

    /// Selects a row of a list; false if there is none.
    pub fn choose(&mut self, row: usize) -> bool {
        match self {
            Self::Palette(picker) => picker.choose(row),
            Self::Pick(picker) => picker.choose(row),
            Self::Files(files) => files.picker.choose(row),
            // A click ticks.
            Self::Dataset(form) => {
                form.list.as_mut().is_some_and(|list| list.choose(row) && list.tick())
            }
            Self::Words(words) => {
                words.top = 0;
                words.picker.choose(row)
            }
            _ => false,
        }
    }
}
