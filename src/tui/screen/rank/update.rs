//! The keys of the Rank screen.

use super::RankScreen;
use crate::context::{Context, DatasetStatus, OpenPopup};
use crate::data::Role;
use crate::engine::lookup::Digest;
use crate::engine::ranking::Manner;
use crate::keys::{also, show};
use crate::notice::Level;

use crate::popup::ranking_form::RankingForm;
use crate::privacy::Target;
use crate::privacy::ledger::Account;
use crate::rank::RankingMechanism;
use crate::screen::Keys;
use crate::session::{RankingDefinition, plan_name};
use crate::tab::Tab;
use crate::widgets::number::compact_down;

#[rustfmt::skip] // a table reads best as one
pub const KEYS: Keys<RankScreen> = &[
    show(&["r"], "rank", "rank the public datasets by exact numbers (◆); the ledger notes it", rank),
    show(&["p"], "privately", "rank under differential privacy, as the settings say: by default each dataset's error is released, without labels only the name of the best", rank_by_session),
    show(&["e"], "settings", "edit the settings: k, m, repeats, model, order, mechanism, ε", edit_settings),
    also(&[], "name only", "release the best dataset's name under differential privacy", select_privately),
    also(&[], "noisy table", "release every dataset's scores under differential privacy", release_table),
    also(&[], "direction", "release one leading direction of the private gradients under differential privacy", release_direction),
    show(&["c"], "cancel", "cancel the ranking; the table keeps the repeats so far", cancel),
    show(&["enter", "t"], "take", "take the selected dataset into the plan, or all that are as good as the best", take),
    show(&["s"], "order", "order by GSD, or by the error of each dataset's own model", switch_order),
    also(&["="], "like the plan", "rank with the model and the scaling of the plan", follow_plan),
    also(&["]", "["], "other result", "switch between the exact and the released ranking", |screen, _| screen.released_in_front = !screen.released_in_front),
];

fn rank(_: &mut RankScreen, context: &mut Context) {
    if context.watch.is_sealed() {
        context.warn(
            "the view is sealed, so exact numbers are not computed: p selects privately, v opens \
             the view",
        );
    } else if context.ranking.work.is_some() || context.ranking.exact(&context.watch).is_some() {
        context.rank(Manner::Curator);
    } else {
        // The first look cannot be undone.
        let text =
            "Rank by exact numbers (◆), for your eyes only? No noise is added, so no ε covers what \
             you choose by them. The ledger, answers and reports say so from then on. p ranks under \
             privacy instead."
                .to_owned();
        context.confirm(text, "rank", |context| context.rank(Manner::Curator));
    }
}

/// Ranks by the mechanism of the session.
fn rank_by_session(_: &mut RankScreen, context: &mut Context) {
    rank_privately(context, context.session.ranking.mechanism(&context.session));
}

fn select_privately(_: &mut RankScreen, context: &mut Context) {
    rank_privately(context, RankingMechanism::PermuteAndFlip);
}

fn release_table(_: &mut RankScreen, context: &mut Context) {
    rank_privately(context, RankingMechanism::Table);
}

fn release_direction(_: &mut RankScreen, context: &mut Context) {
    rank_privately(context, RankingMechanism::Direction);
}

fn edit_settings(_: &mut RankScreen, context: &mut Context) {
    let form = RankingForm::new(&context.session);
    context.popup = Some(OpenPopup::Ranking(Box::new(form)));
}

/// Asks for ε first, keeps it in the session, and then asks whether to spend it.
fn rank_privately(context: &mut Context, mechanism: RankingMechanism) {
    let private = context.session.ranking.private_name(&context.session).unwrap_or_default();
    if let Some(why) = has_no_room(context, private, None) {
        return context.warn(why);
    }
    let title = match mechanism {
        RankingMechanism::Errors => "ε for the errors of public models",
        RankingMechanism::PermuteAndFlip | RankingMechanism::Exponential => {
            "ε for the name of the best dataset"
        }
        RankingMechanism::Table => "ε for the table",
        RankingMechanism::Direction => "ε for one direction",
    };
    let help = format!("Type ε, or ε and δ: 0.5 1e-6. {}", mechanism.about());
    let ranking = &context.session.ranking;
    let epsilon = ranking.epsilon.unwrap_or(0.5).to_string();
    let delta = ranking.delta.map(|delta| format!(" {delta:e}")).unwrap_or_default();
    context.prompt(title, help, &(epsilon + &delta), move |context, text| {
        let (target, delta) =
            target(context, text).ok_or("type ε, or ε and δ, such as: 0.5 1e-6")?;
        let private = context.session.ranking.private_name(&context.session).unwrap_or_default();
        if let Some(why) = has_no_room(context, private, Some(target)) {
            return Err(why);
        }
        let ranking = &mut context.session.ranking;
        let kept = (ranking.epsilon, ranking.delta);
        if (ranking.epsilon.unwrap_or(0.5), ranking.delta) != (target.epsilon, delta) {
            (ranking.epsilon, ranking.delta) = (Some(target.epsilon), delta);
        }
        if kept != (ranking.epsilon, ranking.delta) {
            context.changed();
        }
        let session = &context.session;
        let private = session.ranking.private_name(session).unwrap_or_default().to_owned();
        if has_budget(context, &private) {
            ask_to_release(context, &private, (mechanism, target));
        } else {
            let name = private.clone();
            context.ask_for_budget(private, target, move |context| {
                ask_to_release(context, &name, (mechanism, target));
            });
        }
        Ok(())
    });
}

fn ask_to_release(
    context: &mut Context,
    private: &str,
    (mechanism, target): (RankingMechanism, Target),
) {
    let Target { epsilon, delta } = target;
    let text = format!(
        "Release it? It spends ε {epsilon} at δ {delta:e} of '{private}', which cannot be undone."
    );
    let manner = Manner::Private(mechanism, target);
    context.confirm(text, "release", move |context| context.rank(manner));
}

/// Whether the session or the ledger has a budget for a private dataset.
fn has_budget(context: &Context, private: &str) -> bool {
    let known = account_of(context, private);
    context.session.budgets.contains_key(private)
        || known.is_some_and(|(account, _)| account.budget.is_some())
}

/// The account of a private dataset, with its sums.
fn account_of<'a>(context: &'a Context, private: &str) -> Option<(&'a Account, &'a Digest)> {
    let Some(DatasetStatus::Ready { account: Some(id), .. }) = context.datasets.get(private) else {
        return None;
    };
    let accounts = context.book.as_ref()?.accounts.iter().zip(&context.digests);
    accounts.into_iter().find(|(account, _)| account.id == *id)
}

/// Why the ledger would refuse to spend this, or anything, as far as it is known before a ranking is
/// prepared.
fn has_no_room(context: &Context, private: &str, target: Option<Target>) -> Option<String> {
    let (account, digest) = account_of(context, private)?;
    account.budget?;
    let no =
        || format!("nothing of the budget of '{private}' is left: 6, then b, for a larger one");
    match digest.largest {
        None => Some(digest.closed.clone().unwrap_or_else(no)),
        Some(most) => {
            let target = target.filter(|it| it.delta == digest.delta && it.epsilon > most)?;
            let (most, epsilon) = (compact_down(most), target.epsilon);
            Some(format!("the budget of '{private}' has room for ε {most}, not for ε {epsilon}"))
        }
    }
}

/// "ε" or "ε δ", with the typed δ; without one, the δ that the session asks for.
fn target(context: &Context, text: &str) -> Option<(Target, Option<f64>)> {
    let session = &context.session;
    let usual = RankingDefinition { delta: None, ..session.ranking.clone() }.delta(session);
    let numbers: Result<Vec<f64>, _> = text.split_whitespace().map(str::parse).collect();
    match numbers.ok()?[..] {
        [epsilon] => Some((Target::new(epsilon, usual).ok()?, None)),
        [epsilon, delta] => Some((Target::new(epsilon, delta).ok()?, Some(delta))),
        _ => None,
    }
}

fn cancel(_: &mut RankScreen, context: &mut Context) {
    context.ranking.stop();
    let words = match &context.ranking.work {
        Some(_) => "stopping; nothing has been spent",
        None => "stopped; the table keeps the repeats so far",
    };
    context.inform(words);
}

fn switch_order(screen: &mut RankScreen, context: &mut Context) {
    let shown = screen.exact(&context.ranking, &context.watch).map(|table| table.order);
    let first = context.ranking.exact(&context.watch);
    let tables = [first, first.and_then(|table| table.other.as_deref())];
    screen.order = tables.into_iter().flatten().map(|it| it.order).find(|it| Some(*it) != shown);
    screen.selected = 0;
}

/// From now on ranks with the model and the scaling of the plan.
fn follow_plan(_: &mut RankScreen, context: &mut Context) {
    let Some(plan) = context.shown_plan().cloned() else { return };
    match context.session.ranking.follow(&plan) {
        Ok(()) => {
            context.changed();
            let model = context.session.ranking.model_words(&context.session);
            context.say(
                Level::Good,
                format!("like '{}': {model}, its scaling; r ranks again", plan.name),
            );
        }
        Err(error) => context.complain(&error),
    }
}

/// Puts the advised datasets into the plan, instead of the earlier ones.
fn take(screen: &mut RankScreen, context: &mut Context) {
    let names = screen.advised(context);
    let known = context.names_with(Role::Public);
    if let Some(gone) = names.iter().find(|name| !known.contains(name)) {
        return context.warn(format!("'{gone}' is no longer in the session"));
    }
    let is_new = match context.ensure_plan() {
        Ok(is_new) => is_new,
        Err(error) => return context.complain(&error),
    };
    let index = context.plan.index.min(context.session.plans.len() - 1);
    let plan = &mut context.session.plans[index];
    let before = std::mem::replace(&mut plan.public, names);
    let left: Vec<&String> = before.iter().filter(|name| !plan.public.contains(name)).collect();
    let listed =
        |names: &[&String]| names.iter().map(|name| name.as_str()).collect::<Vec<_>>().join(", ");
    let mut text = format!("the plan now uses {}", listed(&plan.public.iter().collect::<Vec<_>>()));
    if !left.is_empty() {
        let (own, all) = (plan.public.len(), before.len());
        let sets = if own == 1 { "dataset" } else { "datasets" };
        text = format!(
            "{text} and no longer {}; a rehearsal now plays with {own} public {sets} instead of \
             {all}{}",
            listed(&left),
            if is_new { "" } else { "; u undoes this" }
        );
    }
    if is_new {
        let mut others = context.session.plans.clone();
        let plan = others.remove(index);
        context.session.plans[index].name = plan_name::free(&plan, &others);
    }
    context.changed();
    context.go_to(Tab::Plan);
    context.say(Level::Good, text);
}
