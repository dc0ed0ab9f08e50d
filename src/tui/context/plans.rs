//! The shown plan: its cost, its settings, launching it.

use std::collections::BTreeMap;

use super::budget::parse_beside;
use super::{Change, Context, DatasetStatus, OpenPopup};
use crate::data::{DatasetDefinition, PreparationSettings, Role, Table, Task};
use crate::engine::preview::SEVERAL;
use crate::engine::sites::{self, Place};
use crate::engine::worker::{JobId, JobRequest, RehearsalEvent};
use crate::engine::{Control, Request};
use crate::error::{Action, Error, Result};
use crate::evaluation::Evaluation;
use crate::evaluation::definition::FEWEST;
use crate::glossary;
use crate::live_rehearsal::LiveRehearsal;
use crate::live_run::LiveRun;
use crate::methods;
use crate::notice::{ErrorTopic, one_line};
use crate::popup::question::QuestionPopup;
use crate::popup::sites_form::SitesForm;
use crate::privacy::Target;
use crate::privacy::ledger::Budget;
use crate::rehearsal::advice::Advice;
use crate::session::fit::PlanData;
use crate::session::{ArchivedRun, PlanDefinition, Session, plan_name};
use crate::tab::Tab;
use crate::widgets::number::compact_up;

/// The target of a new plan.
pub const TARGET: Target = Target { epsilon: 1.0, delta: 1e-6 };

const REHEARSE: &str = "r rehearses this plan on public data, for free";

impl Context {
    pub fn shown_plan(&self) -> Option<&PlanDefinition> {
        self.session.plans.get(self.plan.index)
    }

    /// The private dataset that the user works on: that of the shown plan, or else of the session.
    pub fn private_name(&self) -> Option<&str> {
        let of_session = || self.session.datasets.iter().find(|it| it.role == Role::Private);
        let of_plan = self.shown_plan().map(|plan| plan.private.as_str());
        of_plan.or_else(|| of_session().map(|it| it.name.as_str()))
    }

    /// Whether a run is known that had the settings of this plan.
    pub fn was_run(&self, plan: &PlanDefinition) -> bool {
        let own = (&plan.name, &plan.method, plan.target);
        self.runs.iter().any(|run| (&run.plan, &run.method, run.target) == own)
            || self.archived().iter().any(|run| run.plan.as_ref() == Some(plan))
    }

    /// Asks for the cost of the shown plan.
    pub fn ask_preview(&mut self) {
        let Some(plan) = self.shown_plan().cloned() else {
            self.plan.preview = None;
            return;
        };
        self.plan.waiting = true;
        self.ask(Request::Preview { session: self.session.clone(), plan });
    }

    /// Makes a first plan if there is none; returns whether it did.
    pub fn ensure_plan(&mut self) -> Result<bool> {
        let missing = self.session.plans.is_empty();
        if missing {
            let mut plan = first_plan(&self.session)?;
            // A file that cannot be read keeps nobody from the others.
            let is_broken =
                |name: &String| matches!(self.datasets.get(name), Some(DatasetStatus::Failed(_)));
            let (broken, sound): (Vec<_>, Vec<_>) =
                plan.public.iter().cloned().partition(is_broken);
            if !broken.is_empty() && !sound.is_empty() {
                plan.public = sound;
                plan.name = plan_name::free(&plan, &self.session.plans);
                let names = broken.join("', '");
                self.warn(format!("the plan leaves out '{names}', which cannot be read"));
            }
            let evaluation = self.free_score(&plan);
            self.session.plans.push(PlanDefinition { evaluation, ..plan });
        }
        Ok(missing)
    }

    /// Shows the plan of an earlier run: in the place of the plan with its name, or as a further plan.
    pub fn add_plan(&mut self, earlier: PlanDefinition) {
        let plans = &mut self.session.plans;
        let own = plans.iter().position(|plan| plan.name == earlier.name);
        // Of the shown plan only datasets may stay.
        let shown = plans.get(self.plan.index).filter(|_| own.is_none());
        if let Some(plan) = shown.cloned().or_else(|| first_plan(&self.session).ok()) {
            let further = PlanDefinition { name: earlier.name.clone(), ..plan };
            self.session.plans.extend(own.is_none().then_some(further));
        }
        self.plan.index = own.unwrap_or(self.session.plans.len().saturating_sub(1));
        self.take_plan(earlier);
        if own.is_none() {
            let name = self.shown_plan().map_or("", |plan| &plan.name);
            self.inform(format!("added the plan '{name}' of the earlier run; u takes it away"));
        }
    }

    /// Makes the settings of an earlier run those of the shown plan. If the session lacks the run's
    /// datasets, those of the shown plan stay.
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
        let name = self.shown_plan().map_or("", |plan| &plan.name);
        self.inform(format!(
            "the plan '{name}' has the settings of the earlier run now, in the place of its own; u \
             undoes it"
        ));
        self.ask_preview();
    }

    /// Lets public data play the private role for the shown plan, with these methods, or all that fit.
    /// Nothing is spent.
    pub fn rehearse(&mut self, methods: Vec<String>, deep: bool) {
        let Some(plan) = self.shown_plan().cloned() else { return };
        if let Some(words) = self.being_read(std::iter::once(&plan.private).chain(&plan.public)) {
            return self.warn(words);
        }
        self.rehearsal.stop();
        let (id, control) = self.next_rehearsal();
        self.rehearsal = LiveRehearsal {
            plan: Some(plan.clone()),
            methods: methods.clone(),
            deep,
            work: Some(control.clone()),
            progress: None,
            shown: true,
            started: id,
        };
        self.notice = None;
        let session = self.session.clone();
        self.start(id, control, JobRequest::Rehearsal { session, plan, methods, deep });
    }

    fn next_rehearsal(&self) -> (JobId, Control) {
        (self.rehearsal.started.max(self.trial.started) + 1, Control::default())
    }

    /// Rehearses the shown plan as it is. At the end the launch is offered again.
    fn try_plan(&mut self) {
        let Some(plan) = self.shown_plan().cloned() else { return };
        self.trial.stop();
        let (id, control) = self.next_rehearsal();
        self.trial = LiveRehearsal {
            plan: Some(plan.clone()),
            work: Some(control.clone()),
            started: id,
            ..LiveRehearsal::default()
        };
        self.start(id, control, JobRequest::Trial { session: self.session.clone(), plan });
        self.inform("rehearsing this plan on public data; c stops");
    }

    /// Follows the rehearsal of a plan as it is.
    pub(super) fn hear_trial(&mut self, id: JobId, event: RehearsalEvent) {
        match self.trial.hear(id, event) {
            None => {
                let progress = self.trial.progress.as_ref().filter(|it| it.done > 0);
                if let Some(progress) = progress {
                    self.inform(format!("rehearsing this plan: {}; c stops", progress.words()));
                }
            }
            Some(Err(error)) => self.complain(&error),
            Some(Ok(_)) => {
                self.ask_preview();
                let is_shown = self.tab == Tab::Plan && self.popup.is_none();
                if !self.trial.is_whole() {
                    self.inform("the rehearsal of the plan was stopped");
                } else if is_shown && self.shown_plan() == self.trial.plan.as_ref() {
                    self.notice = None;
                    self.ask_to_launch();
                } else {
                    self.inform("the plan was rehearsed: l on Plan says what to expect");
                }
            }
        }
    }

    /// Asks which methods to rehearse.
    pub fn ask_to_rehearse(&mut self) {
        let Some(plan) = self.shown_plan() else { return };
        let title = "Rehearse only these methods";
        let (own, task) = (plan.method.clone(), methods::task_of(&plan.method));
        let help = "their names as on the screen, their ids or how one of these begins, with commas \
                    between; the plan's own is there already";
        self.prompt(title, help, &own, move |context, text| {
            let methods = methods::named(text, task).map_err(|error| one_line(&error))?;
            context.rehearse(methods.into_iter().map(str::to_owned).collect(), false);
            Ok(())
        });
    }

    /// Makes the advised method of the rehearsal that of the shown plan. Asks first if the plan would
    /// lose what the user chose.
    pub fn take_advice(&mut self) {
        let advice = self.shown_plan().and_then(|plan| self.advice(plan)).cloned();
        let Some(advice) = advice else {
            return self.inform("there is no advice yet: r rehearses the plan, for free");
        };
        let is_over = self.rehearsal.work.is_none();
        let Some(player) = advice.to_take().filter(|player| player.spends() || is_over) else {
            let text = "so far the rehearsal advises public data alone: wait for its end";
            return self.inform(text);
        };
        let before = &self.session.plans[self.plan.index];
        if before.player() == *player {
            let so_far = if is_over { "" } else { " so far" };
            return self.inform(format!("the plan has the method that is advised{so_far}"));
        }
        let mut taken = before.clone();
        taken.take_player(player);
        taken.evaluation = self.score_after(before, &taken);
        if taken.player() == before.player() {
            return self.inform("the plan has the advised method, with the promise that you chose");
        }
        match dropped(before, &taken) {
            Some(lost) if before.evaluation.is_some() && taken.evaluation.is_none() => {
                let name = player.in_a_sentence();
                let text = format!("Take {name}? It cannot have what the plan has: {lost}.");
                self.confirm(text, "take it", move |context| context.put_advice(taken, &lost));
            }
            lost => self.put_advice(taken, &lost.unwrap_or_default()),
        }
    }

    fn put_advice(&mut self, taken: PlanDefinition, lost: &str) {
        let words = if taken.player().spends() {
            "took the advised method"
        } else {
            "took public data alone: at this ε a private run is not worth its ε"
        };
        self.plan.promise = match &self.plan.preview {
            Some(Ok(preview)) => Some(preview.calibrated.guarantee().adjacency),
            _ => None,
        };
        self.session.plans[self.plan.index] = taken;
        self.changed();
        let lost = if lost.is_empty() { String::new() } else { format!("; {lost}") };
        self.inform(format!("{words}; u undoes it{lost}"));
        self.ask_preview();
    }

    /// Warns if the method that was taken promises something else than the one before it.
    pub fn check_promise(&mut self) {
        let Some(Ok(preview)) = &self.plan.preview else { return };
        // A preview of the plan before may come late.
        if Some(&preview.plan) != self.shown_plan() {
            return;
        }
        let before = self.plan.promise.take();
        let now = preview.calibrated.guarantee().adjacency;
        if let Some(before) = before.filter(|it| *it != now && preview.plan.player().spends()) {
            let [was, is] = [before, now].map(|it| glossary::change(it, preview.unit.is_some()));
            self.warn(format!(
                "the advised method has another promise: it holds if {is}, and before if {was}; u \
                 undoes it"
            ));
        }
    }

    /// The advice of rehearsals for a plan's data, from this session of work or an earlier one.
    pub fn advice(&self, plan: &PlanDefinition) -> Option<&Advice> {
        let live = self.rehearsal.progress.as_ref().filter(|_| self.rehearsal.fits(plan));
        let earlier = || match &self.plan.preview {
            Some(Ok(preview)) => preview.rehearsed.as_ref(),
            _ => None,
        };
        live.map(|progress| &progress.advice).or_else(earlier)
    }

    /// The rehearsals that say what to expect of a plan as it is: of all methods, or of the plan alone.
    pub fn rehearsed(&self, plan: &PlanDefinition) -> Option<&Advice> {
        let (player, epsilon) = (plan.player(), plan.target.epsilon);
        let trial = self.trial.progress.as_ref().filter(|_| self.trial.fits(plan));
        let kept = match &self.plan.preview {
            Some(Ok(preview)) => preview.rehearsed_as_it_is.as_ref(),
            _ => None,
        };
        let all = [self.advice(plan), trial.map(|it| &it.advice), kept];
        let mut promises =
            all.into_iter().flatten().filter(|it| it.promised(&player, epsilon).is_some());
        promises
            .next()
            .or_else(|| all.into_iter().flatten().find(|it| it.of_plan(&player, epsilon).is_some()))
    }

    /// A score on held-out records, if it is free and there are enough of them.
    pub fn free_score(&self, plan: &PlanDefinition) -> Option<Evaluation> {
        let method = methods::method(&plan.method).ok()?;
        let private = self.loaded(&plan.private)?;
        let labelled = private.definition.label.is_some() && method.spec().needs_public_labels;
        let enough = Table::holdout_rows(private.rows, plan.holdout) >= FEWEST;
        (labelled && enough && method.spec().covers_scores).then(Evaluation::default)
    }

    /// The score of a plan after its method changed. A method that cannot have a free one drops it; one
    /// that can gets it back.
    pub fn score_after(&self, before: &PlanDefinition, now: &PlanDefinition) -> Option<Evaluation> {
        let covers = |plan: &PlanDefinition| {
            methods::method(&plan.method).is_ok_and(|method| method.spec().covers_scores)
        };
        let comes_back = now.evaluation.is_none() && covers(now) && !covers(before);
        if comes_back { self.free_score(now) } else { now.evaluation }
    }

    /// Calls a function with the properties of a plan's data that methods need.
    pub fn with_material<R>(
        &self,
        plan: &PlanDefinition,
        tell: impl FnOnce(PlanData<'_>) -> R,
    ) -> Option<R> {
        let private = self.session.dataset(&plan.private).ok()?;
        let public = plan.public.iter().filter_map(|name| self.session.dataset(name).ok());
        let public: Vec<&DatasetDefinition> = public.collect();
        let classes = self.classes(private, &public);
        Some(tell(PlanData { private, public: &public, classes }))
    }

    /// The number of classes of the label: declared ones, or those of the public data.
    fn classes(&self, private: &DatasetDefinition, public: &[&DatasetDefinition]) -> Option<usize> {
        if private.task != Task::Classification {
            return None;
        }
        if !private.classes.is_empty() {
            return Some(private.classes.len());
        }
        let label = private.label.as_ref()?;
        let classes = public.iter().filter_map(|public| {
            let table = self.loaded(&public.name)?.public().ok()?;
            Some(table.values(label).ok()?.len())
        });
        classes.max()
    }

    /// Gives plans whose method no longer fits their data one that does.
    pub fn refit_plans(&mut self) {
        let mut told = Vec::new();
        for index in 0..self.session.plans.len() {
            let plan = &self.session.plans[index];
            let Ok(method) = methods::method(&plan.method) else { continue };
            let better = self.with_material(plan, |material| {
                let misfit = material.misfit(method.spec());
                misfit.map(|why| (material.suggestion(), why))
            });
            let Some((id, why)) = better.flatten().filter(|(id, _)| *id != plan.method) else {
                continue;
            };
            let (before, name) = (plan.clone(), methods::name_of(id));
            let plan = &mut self.session.plans[index];
            plan.take_method(id);
            let dropped =
                dropped(&before, plan).map_or(String::new(), |words| format!(" ({words})"));
            told.push(format!(
                "plan '{}' has a new method, '{name}', because the one before {why}{dropped}",
                plan.name
            ));
        }
        if !told.is_empty() {
            self.changed();
            self.inform(told.join("; "));
        }
    }

    /// Warnings about columns that almost give the label away: in the public data of the shown plan, if
    /// it uses the dataset and its cost is known, otherwise in each public dataset with this label.
    pub fn leaking(&self, dataset: &str) -> Vec<String> {
        if let Some(Ok(preview)) = &self.plan.preview
            && preview.plan.uses(dataset)
        {
            return preview.leaking.clone();
        }
        let label = self.session.dataset(dataset).ok().and_then(|it| it.label.as_ref());
        let alike = self.session.datasets.iter().filter(|it| it.label.as_ref() == label);
        // Of rows that may be private, too, nothing is told.
        let open = alike.filter(|it| self.is_open(&it.name));
        let loaded = open.filter_map(|it| self.loaded(&it.name));
        let mut found: Vec<String> = loaded.flat_map(|it| it.leaking().to_vec()).collect();
        found.dedup();
        found
    }

    /// Asks where the shown plan meets other sites: where the last one did, if there is one.
    pub fn ask_for_sites(&mut self) {
        let Some(plan) = self.shown_plan() else { return };
        if let Err(error) = sites::check_plan(plan) {
            return self.warn(one_line(&error));
        }
        let earlier = || {
            let joint = self.archived().iter().filter(|run| !run.sites.is_empty());
            sites::place_of(&joint.max_by_key(|run| &run.id)?.directory)
        };
        let place = self.plan.sites.clone().or_else(earlier);
        self.popup = Some(OpenPopup::Sites(Box::new(SitesForm::new(place.as_ref()))));
    }

    /// Takes the place of the form, or shows the form again with its error.
    pub fn join_sites(&mut self, mut form: Box<SitesForm>) {
        match form.place() {
            Ok(place) => {
                self.plan.sites = Some(place);
                self.ask_to_launch();
            }
            Err(error) => {
                form.refuse(&error);
                self.popup = Some(OpenPopup::Sites(form));
            }
        }
    }

    /// Asks whether to launch the shown plan, once its cost is known and the ledger would grant it;
    /// asks for a budget if there is none.
    pub fn ask_to_launch(&mut self) {
        let Some(plan) = self.shown_plan() else { return };
        // A preview of exactly this plan is enough even while a newer one is computed: the ledger
        // decides at launch.
        let refusal = match &self.plan.preview {
            Some(Ok(preview)) if preview.plan == *plan => preview.refusal.clone(),
            Some(Err(error)) if !self.plan.waiting => Some(error.clone()),
            _ => {
                self.plan.launches = true;
                let text = "the cost is still being computed; you will be asked when it is known";
                return self.inform(text);
            }
        };
        if let Some(refusal) = refusal {
            return match refusal.action() {
                Some(Action::SetBudget { .. }) => {
                    let (name, target) = (plan.private.clone(), plan.target);
                    self.ask_for_budget(name, target, |context| context.plan.launches = true);
                }
                _ => self.complain_of(ErrorTopic::Plan, &refusal),
            };
        }
        if self.trial.work.is_some() && self.trial.plan.as_ref() == Some(plan) {
            return self.inform("the plan is being rehearsed; you will be asked at the end");
        }
        let player = plan.player();
        let advice = self.rehearsed(plan);
        let lost = advice.and_then(|it| it.warning(&player, plan.target.epsilon));
        let lost = lost.map(|words| format!("{words} Do not launch it. "));
        let prospects = advice.and_then(|it| it.prospects(&player, plan.target.epsilon));
        let limits = advice.filter(|_| prospects.is_some() && plan.spends()).and_then(|it| {
            let limits = it.limits(it.of_plan(&player, plan.target.epsilon)?.0);
            Some(limits.into_iter().chain(it.less_is_enough()))
        });
        let limits = limits.into_iter().flatten();
        let leaking = self.leaking(&plan.private).into_iter().map(|it| format!("{it}."));
        let is_scored = match &self.plan.preview {
            Some(Ok(preview)) if preview.plan == *plan => preview.score.is_some(),
            _ => true,
        };
        let unscored = (plan.spends() && !is_scored)
            .then(|| "It releases no score: how good it is cannot be told.".to_owned());
        let warnings = limits.chain(leaking).chain(unscored).collect::<Vec<_>>().join(" ");
        let holds = match &self.plan.preview {
            Some(Ok(preview)) if !preview.calibrated.events().is_empty() => {
                let adjacency = preview.calibrated.guarantee().adjacency;
                format!(" (if {})", glossary::change(adjacency, preview.unit.is_some()))
            }
            _ => String::new(),
        };
        let cost = if plan.spends() {
            let Target { epsilon, delta } = plan.target;
            format!(
                "reserves ε {epsilon} at δ {delta:e}{holds} of the budget of '{}'",
                plan.private
            )
        } else {
            "uses public data alone and spends nothing".to_owned()
        };
        let label = self.session.dataset(&plan.private).ok().and_then(|it| it.label.as_ref());
        let predicts = label.map_or_else(String::new, |label| format!("predicts '{label}', and "));
        let exact = if plan.spends() && !self.watch.is_sealed() {
            " Numbers marked ◆ will be exact, for your eyes only: for none, press Esc, then v."
        } else {
            ""
        };
        let is_unknown = player.spends() && lost.is_none() && prospects.is_none();
        let cannot_play = match () {
            () if plan.start.is_some() => Some("a plan that starts from a model has no rehearsal"),
            () if label.is_none() => Some("without a label there is no rehearsal"),
            () if self.rehearsal.work.is_some() => {
                Some("a rehearsal is under way: press Esc to wait for it")
            }
            () => None,
        };
        let expect = match prospects {
            Some(words) => format!(" {words}"),
            None if is_unknown => {
                format!(" What to expect is not known: {}.", cannot_play.unwrap_or(REHEARSE))
            }
            None => String::new(),
        };
        let elsewhere = match &self.plan.preview {
            Some(Ok(preview)) if plan.spends() => preview.elsewhere.clone(),
            _ => None,
        };
        let elsewhere =
            elsewhere.map_or_else(String::new, |it| format!(" That budget leaves out {it}."));
        let together = self.plan.sites.as_ref().map_or_else(String::new, |place| {
            let others = place.sites.iter().filter(|name| **name != place.name);
            let others: Vec<&str> = others.map(String::as_str).collect();
            let (folder, others) = (place.folder.display(), others.join(", "));
            format!(" as site {}, together with {others} in {folder}", place.name)
        });
        let safe = match &self.plan.sites {
            Some(_) => " Nothing is spent before all sites are there and agree.",
            None => "",
        };
        let all_the_same = if lost.is_some() { " all the same" } else { "" };
        let text = format!(
            "{}Launch '{}'{together}{all_the_same}? It {predicts}{cost}.{elsewhere}{safe}{expect}{exact}{}",
            lost.unwrap_or_default(),
            plan.name,
            if warnings.is_empty() { warnings } else { format!(" Warning: {warnings}") }
        );
        let launch = |context: &mut Self| {
            if let Some(plan) = context.shown_plan().cloned() {
                context.go_to(Tab::Run);
                context.launch_with(plan, context.plan.sites.clone());
            }
        };
        let mut question = QuestionPopup::new(text, "launch", launch);
        if is_unknown && cannot_play.is_none() {
            question.other = Some(('r', "rehearse", Box::new(Self::try_plan)));
        }
        self.popup = Some(OpenPopup::Question(question));
    }

    /// A private dataset without a budget gets one before something is spent on it.
    pub fn ask_for_budget(
        &mut self,
        name: String,
        target: Target,
        then: impl Fn(&mut Self) + 'static,
    ) {
        let title = format!("A budget for '{name}': ε and δ");
        let (of_several, elsewhere) = match &self.plan.preview {
            Some(Ok(preview)) if preview.plan.private == name => {
                (preview.of_several, preview.elsewhere.clone())
            }
            _ => (None, None),
        };
        let several = of_several.map_or_else(String::new, |epsilon| {
            format!("; {SEVERAL} runs like that of the plan come to ε {}", compact_up(epsilon))
        });
        let elsewhere = elsewhere.map_or_else(String::new, |it| format!(". Not in it: {it}"));
        let help = format!(
            "ε and δ for all that is spent on these records, now and later. This is enough for the \
             first: give more for several{several}{elsewhere}"
        );
        let text = format!("{} {:e}", target.epsilon, target.delta);
        self.prompt(title, help, &text, move |context, text| {
            let budget = parse_beside(text, target.delta).map_err(|error| one_line(&error))?;
            context.set_budget(name.clone(), budget);
            then(context);
            Ok(())
        });
    }

    /// Sets the budget of a private dataset. Plans that have the usual δ follow the δ of its first
    /// budget, so that the ε of a run is the one that counts there.
    pub fn set_budget(&mut self, dataset: String, budget: Budget) {
        let is_first = !self.session.budgets.contains_key(&dataset) && !budget.allow_large_delta;
        let plans = self.session.plans.iter();
        let follows = plans.map(|it| {
            let is_usual = it.private == dataset && it.target.delta == TARGET.delta;
            // A rehearsal is one of its δ.
            is_first && is_usual && self.advice(it).is_none()
        });
        let follows: Vec<bool> = follows.collect();
        if follows.contains(&true) && budget.delta != TARGET.delta {
            self.inform(format!(
                "plans with the usual δ now have that of the budget, {:e}",
                budget.delta
            ));
        }
        for (plan, _) in self.session.plans.iter_mut().zip(follows).filter(|it| it.1) {
            plan.target.delta = budget.delta;
        }
        self.session.budgets.insert(dataset.clone(), budget);
        self.changed();
        self.ask(Request::SetBudget { dataset, budget });
        self.ask_preview();
    }

    /// Launches a plan at this site alone.
    pub fn launch(&mut self, plan: PlanDefinition) {
        self.launch_with(plan, None);
    }

    fn launch_with(&mut self, plan: PlanDefinition, sites: Option<Place>) {
        let (id, control) = self.begin(&plan);
        let (session, watch) = (self.for_disk(), self.watch.for_run());
        let sites = sites.map(Box::new);
        self.start(id, control, JobRequest::Run { session, plan, watch, sites });
    }

    /// Resumes a run whose program died.
    pub fn resume(&mut self, run: &ArchivedRun) {
        let Some(plan) = &run.plan else {
            return self.warn("the plan of this run cannot be read");
        };
        let (id, control) = self.begin(plan);
        if let Some(live) = self.runs.last_mut() {
            live.goes_on(run);
        }
        let (run, watch) = (run.id.clone(), self.watch.for_run());
        self.start(id, control, JobRequest::Resume { run, watch });
    }

    /// Starts to follow a run.
    fn begin(&mut self, plan: &PlanDefinition) -> (JobId, Control) {
        let (id, control) = self.next_job();
        let label = self.session.dataset(&plan.private).ok().and_then(|it| it.label.clone());
        let mut run = LiveRun::new(id, plan, control.clone());
        run.label = label;
        self.runs.push(run);
        self.note(Change::Launched);
        self.notice = None;
        (id, control)
    }

    /// Starts a job, which reports under this id.
    pub(super) fn start(&mut self, id: JobId, control: Control, job: JobRequest) {
        self.ask(Request::Start { id, control, job });
    }

    /// The id of the next run, and its control.
    pub(super) fn next_job(&self) -> (JobId, Control) {
        let control = Control::default();
        control.set_pace(self.pace);
        (self.runs.iter().map(|run| run.id + 1).max().unwrap_or(1), control)
    }
}

/// What a plan lost when it got another method: `25 for 'lambda' was dropped`.
pub fn dropped(before: &PlanDefinition, now: &PlanDefinition) -> Option<String> {
    let kept = |key: &String| now.settings.contains_key(key);
    let settings = before.settings.iter().filter(|(key, _)| !kept(key));
    let mut lost: Vec<String> = settings.map(|(key, value)| format!("{key} {value}")).collect();
    let predictor = before.public_predictor != now.public_predictor;
    lost.extend(predictor.then(|| "the public predictor".to_owned()));
    let score = before.evaluation.is_some() && now.evaluation.is_none();
    lost.extend(score.then(|| "the released score".to_owned()));
    (!lost.is_empty()).then(|| format!("dropped with the method before: {}", lost.join(", ")))
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
    let definitions: Vec<&DatasetDefinition> = of(Role::Public).collect();
    let material = PlanData { private, public: &definitions, classes: None };
    let budget = session.budgets.get(&private.name).filter(|budget| !budget.allow_large_delta);
    let delta = budget.map_or(TARGET.delta, |budget| budget.delta);
    let plan = PlanDefinition {
        name: String::new(),
        method: material.suggestion().to_owned(),
        private: private.name.clone(),
        public,
        target: Target { delta, ..TARGET },
        settings: BTreeMap::new(),
        preparation: PreparationSettings::default(),
        holdout: 0.2,
        private_records: None,
        public_records: None,
        test: None,
        seed: 1,
        start: None,
        start_is_public: false,
        public_predictor: methods::PublicPredictor::None,
        allow_large_delta: false,
        evaluation: None,
    };
    Ok(PlanDefinition { name: plan_name::free(&plan, &session.plans), ..plan })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;

    #[test]
    fn the_first_plan_leaves_out_what_cannot_be_read_and_says_so() {
        let mut context = fixtures::loaded().context;
        context.session.plans.clear();
        let failed = |error| DatasetStatus::Failed(Error::failed(error));
        context.datasets.insert("spring".to_owned(), failed("a row has too many cells"));
        assert!(context.ensure_plan().unwrap());
        assert_eq!(context.session.plans[0].public, ["summer", "autumn"]);
        assert!(context.notice.as_ref().unwrap().text.contains("leaves out 'spring'"));
        // Where none can be read, the plan says what is wrong.
        context.session.plans.clear();
        for name in ["summer", "autumn"] {
            context.datasets.insert(name.to_owned(), failed("gone"));
        }
        assert!(context.ensure_plan().unwrap());
        assert_eq!(context.session.plans[0].public.len(), 3);
    }

    #[test]
    fn the_first_plan_has_a_method_for_what_the_labels_are() {
        let mut session = fixtures::loaded().context.session;
        let private = |session: &Session| {
            session.datasets.iter().position(|dataset| dataset.role == Role::Private).unwrap()
        };
        let at = private(&session);
        for (label, task, method) in [
            (Some("y"), Task::Regression, "public_shape"),
            (Some("y"), Task::Classification, "pillar"),
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
