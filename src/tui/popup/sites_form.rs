//! Where a plan meets other sites. Enter goes on, Esc leaves.

use std::path::PathBuf;

use crossterm::event::KeyEvent;

use super::form::{Form, FormLine, typed};
use crate::canvas::{Canvas, Fill, Length, Line, Rect, in_rows};
use crate::engine::sites::{Place, checked, time, trusted};
use crate::error::{Error, Result};
use crate::notice::one_line;

const FOLDER: usize = 0;
const NAME: usize = 1;
const SITES: usize = 2;
const NOISE: usize = 3;
const KEYS: usize = 4;
const MISSING: usize = 5;
const TIMEOUT: usize = 6;

const NOISES: &[&str] = &["each site adds its own", "one for all"];
const MISSINGS: &[&str] = &["all wait", "the others go on"];

#[derive(Debug)]
pub struct SitesForm {
    form: Form,
    /// With one noise for all: how many sites may put together what they know.
    may_collude: usize,
    problem: Option<String>,
}

impl SitesForm {
    const LINES: [FormLine; 7] = [
        typed(
            "exchange folder",
            "the folder that all sites read and write; an empty one for each run",
        ),
        typed("this site", "the name of this site: A"),
        typed("all sites", "the names of all sites, this one, too: A, B, C"),
        FormLine {
            label: "noise",
            choices: NOISES,
            help: "Space changes it. One noise for all is less noise; three sites or more can have it. One of them \
                   may tell its share, or as many as in the last joint run. It needs the keys of the others",
        },
        typed(
            "trusted keys",
            "fingerprints that the others tell you by phone: B=0123-4567-89ab-cdef, C=…, or a file with one a \
             line. Run prints that of this site. Another key is refused",
        ),
        FormLine {
            label: "missing sites",
            choices: MISSINGS,
            help: "Space changes it. What happens if a site is silent for that long: all stop and are resumed, or \
                   the others go on without it. All sites must say the same",
        },
        typed("wait at most", "how long to wait for the other sites: 30s, 10m or 2h"),
    ];

    /// With the place of an earlier run, if there is one.
    pub fn new(earlier: Option<&Place>) -> Self {
        let trusted = |place: &Place| {
            let pairs = place.trusted.iter().map(|(name, key)| format!("{name}={key}"));
            pairs.collect::<Vec<_>>().join(", ")
        };
        let texts = [
            earlier.map(|it| it.folder.display().to_string()),
            earlier.map(|it| it.name.clone()),
            earlier.map(|it| it.sites.join(", ")),
            earlier.map(|it| NOISES[usize::from(it.may_collude.is_some())].to_owned()),
            earlier.map(trusted),
            earlier.map(|it| MISSINGS[usize::from(it.without_missing)].to_owned()),
            earlier.map(|it| format!("{:?}", it.timeout)),
        ];
        let usual = ["", "", "", NOISES[0], "", MISSINGS[0], "10m"].map(str::to_owned);
        let texts = texts.into_iter().zip(usual).map(|(text, usual)| text.unwrap_or(usual));
        let may_collude = earlier.and_then(|it| it.may_collude).unwrap_or(1);
        Self { form: Form::new(&Self::LINES, texts), may_collude, problem: None }
    }

    /// Moves, types or switches.
    pub fn handle(&mut self, key: KeyEvent) {
        self.form.handle(key);
        self.problem = None;
    }

    pub fn paste(&mut self, text: &str) {
        self.form.paste(text);
    }

    pub fn refuse(&mut self, error: &Error) {
        self.problem = Some(one_line(error));
    }

    /// The place that the form describes.
    pub fn place(&self) -> Result<Place> {
        let text = |line| self.form.text(line);
        let timeout = time(text(TIMEOUT)).map_err(|why| {
            Error::usage(format!("'{}' is no time to wait", text(TIMEOUT))).cure(why)
        })?;
        let folder = PathBuf::from(text(FOLDER));
        let names = text(SITES).split(',').map(str::trim).filter(|name| !name.is_empty());
        let keys = Some(text(KEYS)).filter(|keys| !keys.is_empty());
        checked(Place {
            folder: std::path::absolute(&folder).unwrap_or(folder),
            name: text(NAME).to_owned(),
            sites: names.map(str::to_owned).collect(),
            timeout,
            without_missing: self.form.choice(MISSING) == 1,
            may_collude: (self.form.choice(NOISE) == 1).then_some(self.may_collude),
            trusted: keys.map(trusted).transpose()?.unwrap_or_default(),
        })
    }

    pub fn draw(&self, canvas: &mut Canvas, body: Rect) {
        let theme = canvas.theme;
        let inner = canvas.window(body, 76, 18, "Run the plan together with other sites");
        let lines = Self::LINES.len() as u16;
        let [fields, help, problem, keys] =
            in_rows(inner, [Length(lines), Length(4), Fill(1), Length(1)]);
        self.form.draw(canvas, fields, |_| theme.text);
        canvas.wrapped(self.form.help(), theme.muted, help);
        if let Some(text) = &self.problem {
            canvas.wrapped(text, theme.error, problem);
        }
        let words = "↑↓ or Tab between fields, Enter goes on, Esc leaves";
        canvas.line(Line::styled(words, theme.muted), keys);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::time::Duration;

    use super::*;
    use crate::widgets::text_field::TextField;

    #[test]
    fn the_form_gives_back_the_place_that_it_was_opened_with() {
        let folder = tempfile::tempdir().unwrap();
        let key = |name: &str| (name.to_owned(), "0123-4567-89ab-cdef".to_owned());
        for may_collude in [None, Some(1), Some(2)] {
            let place = Place {
                folder: folder.path().to_owned(),
                name: "B".to_owned(),
                sites: ["A", "B", "C", "D"].map(str::to_owned).into(),
                timeout: Duration::from_mins(90),
                without_missing: may_collude.is_none(),
                may_collude,
                trusted: BTreeMap::from(["A", "C"].map(key)),
            };
            assert_eq!(SitesForm::new(Some(&place)).place().unwrap(), place);
        }
    }

    #[test]
    fn what_is_wrong_is_said_before_anything_begins() {
        let folder = tempfile::tempdir().unwrap();
        let here = folder.path().display().to_string();
        let right = [here.as_str(), "A", "A, B, C", NOISES[0], "", MISSINGS[0], "10m"];
        for (line, text, said) in [
            (FOLDER, "/nowhere/at/all", "exchange folder"),
            (NAME, "D", "is not among the sites"),
            (SITES, "A", "two sites or more"),
            (KEYS, "B=0123", "keys to trust"),
            (TIMEOUT, "long", "no time to wait"),
        ] {
            let mut form = SitesForm::new(None);
            for (at, text) in right.iter().enumerate() {
                form.form.texts[at] = TextField::new(text);
            }
            assert!(form.place().is_ok());
            form.form.texts[line] = TextField::new(text);
            let error = form.place().unwrap_err().to_string();
            assert!(error.contains(said), "{error}");
        }
    }
}
