//! Starting a ranking.

use super::{Change, Context, OpenPopup};
use crate::engine::ranking::Manner;
use crate::engine::worker::JobRequest;
use crate::engine::{Control, Request};
use crate::live_ranking::{RankingWork, ranked};
use crate::popup::ranking_form::RankingForm;
use crate::session::Loaded;

/// Larger data are prepared only when somebody ranks them.
const MOST_NUMBERS: usize = 1 << 24;

impl Context {
    /// Accepts the form of the ranking's settings, or shows it again with its error.
    pub fn set_ranking(&mut self, mut form: Box<RankingForm>) {
        match form.definition() {
            Ok(settings) if settings == self.session.ranking => {}
            Ok(settings) => {
                self.session.ranking = settings;
                self.changed();
                self.inform("the settings of the ranking are changed; u undoes it");
            }
            Err(error) => {
                form.refuse(&error);
                self.popup = Some(OpenPopup::Ranking(form));
            }
        }
    }

    /// Asks how long a ranking would take, once its datasets are read.
    pub fn time_ranking(&mut self) {
        let session = &self.session;
        let publics = session.ranking.public_names(session);
        let Ok(private) = session.ranking.private_name(session) else { return };
        let is_read = |name: &&str| self.loaded(name).is_some();
        let is_known = self.ranking.timed.as_ref().is_some_and(|(of, _)| {
            of.ranking == session.ranking && of.datasets == session.datasets
        });
        let is_shown = self.ranking.work.is_none() && self.ranking.is_empty();
        let may = is_shown && !is_known && !publics.is_empty() && is_read(&private);
        let numbers = |name: &str| {
            let of = |loaded: &Loaded| loaded.columns.iter().map(|it| it.width).sum::<usize>();
            self.loaded(name).map_or(0, |loaded| loaded.rows * of(loaded))
        };
        let all: usize = publics.iter().chain([&private]).map(|name| numbers(name)).sum();
        if may && all <= MOST_NUMBERS && publics.iter().all(is_read) {
            let session = Box::new(session.clone());
            self.ranking.timed = Some((session.clone(), None));
            self.ask(Request::TimeRanking(session));
        }
    }

    /// Starts a ranking, unless one is under way or there is nothing to rank.
    pub fn rank(&mut self, manner: Manner) {
        if self.ranking.work.is_some() {
            return self.warn("a ranking is under way: c cancels it");
        }
        let private = match self.session.ranking.private_name(&self.session) {
            Ok(name) => name.to_owned(),
            Err(error) => return self.complain(&error),
        };
        let names = self.session.ranking.public_names(&self.session);
        if names.is_empty() {
            return self
                .warn("there is no public dataset to rank: add one on the Data screen (1, a)");
        }
        let needed: Vec<String> = names.into_iter().map(str::to_owned).chain([private]).collect();
        if let Some(words) = self.being_read(&needed) {
            return self.warn(words);
        }
        let (id, control) = (self.ranking.started + 1, Control::default());
        let work = RankingWork {
            id,
            control: control.clone(),
            done: 0,
            total: self.session.ranking.settings.repeats,
            words: "preparing the data".to_owned(),
            privately: manner != Manner::Curator,
            begun: false,
        };
        self.notice = None;
        self.ranking.saved = None;
        self.ranking.work = Some(work);
        self.ranking.started = id;
        // The result of the other kind of ranking is kept.
        if manner == Manner::Curator {
            self.ranking.exact = None;
            self.ranking.of = Some(ranked(&self.session));
        }
        self.note(Change::Ranking);
        let (session, watch) = (self.session.clone(), self.watch.for_run());
        self.start(id, control, JobRequest::Ranking { session, watch, manner });
    }
}
