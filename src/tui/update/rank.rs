//! The Rank screen: starting, cancelling, sorting, taking a dataset into the plan.

use super::{go_to, prompt};
use crate::data::Role;
use crate::engine::desk::RankNews;
use crate::engine::ranking::Manner;
use crate::engine::{Control, Request};
use crate::privacy::Target;
use crate::rank::Selector;
use crate::tui::app::{App, DatasetStatus, Effect, Level, Tab};
use crate::tui::keymap::Action;
use crate::tui::plan_form;
use crate::tui::popup::Wanted;
use crate::tui::rank::Work;

pub(super) fn act(app: &mut App, action: Action) -> Vec<Effect> {
    match action {
        Action::Rank if app.watch.is_sealed() => app.say(
            Level::Warning,
            "sealed: a ranking by exact numbers computes nothing; p selects privately, v unseals",
        ),
        Action::Rank => return start(app, Manner::Curator),
        Action::RankPrivately | Action::RankTable | Action::RankDirection => {
            let (title, help) = match action {
                Action::RankTable => (
                    "Release the table",
                    "ε for the noisy scores of all datasets, or ε and δ: 1 1e-6",
                ),
                Action::RankDirection => {
                    ("Release a direction", "ε for one leading direction, or ε and δ: 1 1e-6")
                }
                _ => {
                    ("Select privately", "ε for the name of the best dataset, or ε and δ: 0.5 1e-6")
                }
            };
            app.popup = Some(prompt(title, help, "0.5", Wanted::Ranking(action)));
        }
        Action::CancelRanking => match &app.rank.work {
            Some(work) => {
                work.control.stop();
                app.say(Level::Info, "stopping after this repeat");
            }
            None => app.say(Level::Info, "no ranking is under way"),
        },
        Action::SortNext => {
            app.rank.sort = app.rank.sort.next();
            app.rank.selected = 0;
        }
        Action::SortReverse => app.rank.reverse = !app.rank.reverse,
        Action::TakeCandidate => return take(app),
        Action::FollowPlan => follow(app),
        _ => {}
    }
    Vec::new()
}

/// Starts a ranking, unless one is under way or there is nothing to rank.
fn start(app: &mut App, manner: Manner) -> Vec<Effect> {
    if app.rank.work.is_some() {
        app.say(Level::Warning, "a ranking is under way: c cancels it");
        return Vec::new();
    }
    let private = match app.session.ranking.private_name(&app.session) {
        Ok(name) => name.to_owned(),
        Err(error) => {
            app.complain(&error);
            return Vec::new();
        }
    };
    let loading = |name: &str| matches!(app.data.status.get(name), Some(DatasetStatus::Loading(_)));
    let names = app.session.ranking.public_names(&app.session);
    if names.is_empty() {
        app.say(
            Level::Warning,
            "there is no public dataset to rank: add one on the Data screen (1, a)",
        );
        return Vec::new();
    }
    let reading = names.into_iter().chain([private.as_str()]).find(|name| loading(name));
    if let Some(text) = reading.map(|name| format!("'{name}' is still being read")) {
        app.say(Level::Warning, text);
        return Vec::new();
    }
    let rank = &mut app.rank;
    rank.started += 1;
    let (id, control) = (rank.started, Control::default());
    rank.work = Some(Work {
        id,
        control: control.clone(),
        done: 0,
        total: app.session.ranking.settings.repeats,
        words: "preparing the data".to_owned(),
        privately: manner != Manner::Curator,
    });
    rank.shown = None;
    rank.left_out.clear();
    rank.selected = 0;
    let (session, watch) = (app.session.clone(), app.watch.for_run());
    vec![Effect::ask(Request::Rank { id, session, watch, control, manner })]
}

/// What was typed into the question for ε.
pub(super) fn privately(app: &mut App, text: &str, action: Action) -> Result<Vec<Effect>, String> {
    let private = app.session.ranking.private_name(&app.session).ok().map(str::to_owned);
    let budget = private.and_then(|name| app.session.budgets.get(&name)).map(|it| it.delta);
    let mut numbers = text.split_whitespace().map(str::parse::<f64>);
    let epsilon = numbers.next().and_then(Result::ok).filter(|it| *it > 0.0 && it.is_finite());
    let delta = numbers.next().map_or(Some(budget.unwrap_or(1e-6)), Result::ok);
    let delta = delta.filter(|delta| *delta > 0.0 && *delta < 1.0);
    let (Some(epsilon), Some(delta), None) = (epsilon, delta, numbers.next()) else {
        return Err("type ε, or ε and δ, such as: 0.5 1e-6".to_owned());
    };
    let target = Target { epsilon, delta };
    Ok(start(
        app,
        match action {
            Action::RankTable => Manner::Table(target),
            Action::RankDirection => Manner::Direction(target),
            _ => Manner::Winner(Selector::default(), target),
        },
    ))
}

/// Ranks from now on with the model and the scaling of the plan.
fn follow(app: &mut App) {
    let Some(plan) = app.session.plans.get(app.plan.plan).cloned() else {
        app.say(Level::Info, "there is no plan yet: 3 makes one");
        return;
    };
    match app.session.ranking.follow(&plan) {
        Ok(()) => {
            app.changed();
            let model = app.session.ranking.settings.model.words();
            app.say(
                Level::Good,
                format!("like '{}': {model}, its scaling; r ranks anew", plan.name),
            );
        }
        Err(error) => app.complain(&error),
    }
}

/// Takes the selected dataset into the plan: alone, in place of what was there.
fn take(app: &mut App) -> Vec<Effect> {
    let Some(name) = app.rank.chosen(&app.watch) else {
        app.say(Level::Info, "rank first: r by exact numbers, p privately");
        return Vec::new();
    };
    if !app.names_with(Role::Public).contains(&name) {
        app.say(Level::Warning, format!("'{name}' is not in the session any more"));
        return Vec::new();
    }
    if app.session.plans.is_empty() {
        match plan_form::first_plan(&app.session) {
            Ok(plan) => app.session.plans.push(plan),
            Err(error) => {
                app.complain(&error);
                return Vec::new();
            }
        }
    }
    let index = app.plan.plan.min(app.session.plans.len() - 1);
    app.session.plans[index].public = vec![name.clone()];
    app.changed();
    let effects = go_to(app, Tab::Plan);
    app.say(Level::Good, format!("the plan adapts from '{name}' now"));
    effects
}

/// News of a ranking.
pub(super) fn heard(app: &mut App, id: u64, news: RankNews) {
    let watch = app.watch.clone();
    match app.rank.hear(id, news, &watch) {
        None => return,
        Some(Ok(line)) => app.say(Level::Good, line),
        Some(Err(error)) => app.complain(&error),
    }
    if app.leaving && app.working() == 0 {
        app.quit = true;
    }
}
