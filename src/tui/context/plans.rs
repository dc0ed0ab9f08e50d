//! The shown plan: its cost, its settings, launching it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::{Change, Context};
use crate::data::{PreparationSettings, Role, Task};
use crate::engine::{Control, Request};
use crate::error::{Error, Result};
use crate::privacy::Target;
use crate::rehearsal::Player;
use crate::rehearsal::advice::Advice;
use crate::session::{PlanDefinition, Session};
use crate::tui::live_rehearsal::{LiveRehearsal, Work};
use crate::tui::live_run::LiveRun;
use crate::tui::notice::Level;

impl Context {
    pub fn shown_plan(&self) -> Option<&PlanDefinition> {
        self.session.plans.get(self.plan.index)
    }

    /// Asks what the shown plan costs.
    pub fn ask_preview(&mut self) {
        let Some(plan) = self.shown_plan().cloned() else {
            self.plan.preview = None;
            return;
        };
        self.plan.waiting = true;
        self.ask(Request::Preview { session: self.session.clone(), plan });
    }

    /// Makes a first plan where there is none; says whether it did.
    pub fn ensure_plan(&mut self) -> Result<bool> {
        let missing = self.session.plans.is_empty();
        if missing {
            self.session.plans.push(first_plan(&self.session)?);
        }
        Ok(missing)
    }

    /// The settings of an earlier run become the shown plan; its datasets are kept
    /// where the session has none of that name.
    pub fn take_plan(&mut self, earlier: PlanDefinition) {
        let known =
            |name: &String| self.session.datasets.iter().any(|dataset| dataset.name == *name);
        let mut taken = earlier;
        if let Some(plan) = self.shown_plan() {
            taken.name.clone_from(&plan.name);
            if !known(&taken.private) {
                taken.private.clone_from(&plan.private);
            }
            if !taken.public.iter().all(known) {
                taken.public.clone_from(&plan.public);
            }
            self.session.plans[self.plan.index] = taken;
        } else {
            self.session.plans.push(taken);
        }
        self.changed();
        self.say(Level::Info, "took the settings of the earlier run; u undoes it");
        self.ask_preview();
    }

    /// Lets public data play the private role for the shown plan. Nothing is spent.
    pub fn rehearse(&mut self) {
        let Some(plan) = self.shown_plan().cloned() else { return };
        let mut names = std::iter::once(&plan.private).chain(&plan.public);
        if let Some(name) = names.find(|name| self.is_loading(name)) {
            let text = format!("'{name}' is still being read");
            return self.say(Level::Warning, text);
        }
        self.rehearsal.stop();
        let (id, stop) = (self.rehearsal.started + 1, Arc::new(AtomicBool::new(false)));
        let work = Some(Work { id, stop: Arc::clone(&stop) });
        self.rehearsal = LiveRehearsal {
            plan: Some(plan.clone()),
            work,
            progress: None,
            shown: true,
            started: id,
        };
        self.notice = None;
        self.ask(Request::Rehearse { id, session: self.session.clone(), plan, stop });
    }

    /// The method that the rehearsal advises becomes that of the shown plan.
    pub fn take_advice(&mut self) {
        let advice = self.shown_plan().and_then(|plan| self.advice(plan)).cloned();
        let Some(advice) = advice else {
            return self.say(Level::Info, "nothing is advised yet: r rehearses the plan, for free");
        };
        match advice.to_take() {
            Some(Player::Method { id, settings }) => {
                let plan = &mut self.session.plans[self.plan.index];
                plan.method.clone_from(id);
                plan.settings.clone_from(settings);
                self.changed();
                self.say(Level::Info, "took the advised method; u undoes it");
                self.ask_preview();
            }
            _ => self.say(
                Level::Warning,
                "public data alone are advised at this ε: no run is worth its ε",
            ),
        }
    }

    /// What rehearsals say of a plan's data: of this sitting, or of an earlier one.
    pub fn advice(&self, plan: &PlanDefinition) -> Option<&Advice> {
        let live = self.rehearsal.progress.as_ref().filter(|_| self.rehearsal.fits(plan));
        let earlier = || match &self.plan.preview {
            Some(Ok(preview)) => preview.rehearsed.as_ref(),
            _ => None,
        };
        live.map(|progress| &progress.advice).or_else(earlier)
    }

    pub fn launch(&mut self, plan: PlanDefinition) {
        let id = self.runs.iter().map(|run| run.id + 1).max().unwrap_or(1);
        let control = Control::default();
        control.set_pace(self.pace);
        let watch = self.watch.for_run();
        self.runs.push(LiveRun::new(id, &plan, control.clone()));
        self.note(Change::Launched);
        self.notice = None;
        let session = self.for_disk();
        self.ask(Request::Launch { id, session, plan, watch, control });
    }
}

/// A plan for a session that has none: first private from all public datasets.
pub fn first_plan(session: &Session) -> Result<PlanDefinition> {
    let of = |role: Role| session.datasets.iter().filter(move |dataset| dataset.role == role);
    let private = of(Role::Private).next().ok_or_else(|| {
        Error::usage("no dataset is private").cure("mark one as private on the Data screen (e)")
    })?;
    let public: Vec<String> = of(Role::Public).map(|dataset| dataset.name.clone()).collect();
    if public.is_empty() {
        return Err(Error::usage("no dataset is public").cure("add one on the Data screen (a)"));
    }
    let same_label = of(Role::Public)
        .all(|dataset| dataset.label == private.label && dataset.task == private.task);
    let method = match (&private.label, private.task) {
        (None, _) => "moment_release",
        (Some(_), Task::Regression) => "public_shape",
        (Some(_), Task::Classification) if same_label => "public_shape_classes",
        // Public records need not have the label.
        (Some(_), Task::Classification) => "dp_sgd",
    };
    Ok(PlanDefinition {
        name: format!("{} from {}", private.name, public.join(", ")),
        method: method.to_owned(),
        private: private.name.clone(),
        public,
        target: Target { epsilon: 1.0, delta: 1e-6 },
        settings: BTreeMap::new(),
        preparation: PreparationSettings::default(),
        holdout: 0.2,
        seed: 1,
        start: None,
        start_is_public: false,
        allow_large_delta: false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::fixtures;

    #[test]
    fn the_first_plan_has_a_method_for_what_the_labels_are() {
        let mut session = fixtures::loaded().context.session;
        let private = |session: &Session| {
            session.datasets.iter().position(|dataset| dataset.role == Role::Private).unwrap()
        };
        let at = private(&session);
        for (label, task, method) in [
            (Some("y"), Task::Regression, "public_shape"),
            (Some("y"), Task::Classification, "dp_sgd"),
            (None, Task::Regression, "moment_release"),
        ] {
            session.datasets[at].label = label.map(str::to_owned);
            session.datasets[at].task = task;
            assert_eq!(first_plan(&session).unwrap().method, method);
        }
        for dataset in &mut session.datasets {
            dataset.label = Some("y".to_owned());
            dataset.task = Task::Classification;
        }
        assert_eq!(first_plan(&session).unwrap().method, "public_shape_classes");
    }
}
