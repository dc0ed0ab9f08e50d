//! Starting a ranking.

use super::{Change, Context, OpenPopup};
use crate::engine::Control;
use crate::engine::ranking::Manner;
use crate::engine::worker::JobRequest;
use crate::live_ranking::RankingWork;
use crate::popup::ranking_form::RankingForm;

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
        }
        self.note(Change::Ranking);
        let (session, watch) = (self.session.clone(), self.watch.for_run());
        self.start(id, control, JobRequest::Ranking { session, watch, manner });
    }
}
