//! What the keys of the Ledger screen do.

use super::budget::{ALLOW, parse_budget};
use super::state::LedgerScreen;
use crate::data::Role;
use crate::engine::Request;
use crate::privacy::ledger::{Gap, RunState};
use crate::tui::context::Context;
use crate::tui::keys::{also, show};
use crate::tui::notice::{Level, one_line};
use crate::tui::popup::question::Prompt;
use crate::tui::screen::Keys;

#[rustfmt::skip] // a table reads best as one
pub const KEYS: Keys<LedgerScreen> = &[
    show(&["b"], "budget", "set the budget of the private dataset", set_budget),
    show(&["w"], "certificate", "write a certificate of everything spent", certify),
    show(&["s"], "settle", "settle a run whose process is gone", settle),
    also(&["A"], "accept", "go on without a total: after lost lines, after noise from a known seed", accept),
    also(&["R"], "repair", "set a damaged ledger aside and go on", repair),
];

fn set_budget(screen: &mut LedgerScreen, context: &mut Context) {
    let account = screen.account(context);
    let private = context.names_with(Role::Private);
    let named = account.and_then(|account| account.datasets.last()).map(|it| it.name.clone());
    let named = named.filter(|name| private.contains(name));
    let now = account.and_then(|account| account.budget);
    let Some(name) = named.or_else(|| private.into_iter().next()) else {
        context.say(
            Level::Warning,
            "no dataset of this session is private: mark one on the Data screen",
        );
        return;
    };
    let now = now.or(context.session.budgets.get(&name).copied());
    let text = now.map(|it| {
        let allow = if it.allow_large_delta { format!(" {ALLOW}") } else { String::new() };
        format!("{} {:e}{allow}", it.epsilon, it.delta)
    });
    let title = format!("Budget of '{name}'");
    let help =
        format!("ε and δ for everything ever, such as: 4 1e-5. δ of 1/n and more needs: {ALLOW}");
    let take = move |context: &mut Context, text: &str| {
        let budget = parse_budget(text).map_err(|error| one_line(&error))?;
        context.session.budgets.insert(name.clone(), budget);
        context.changed();
        context.ask(Request::SetBudget { dataset: name.clone(), budget });
        context.ask_preview();
        Ok(())
    };
    context.prompt(Prompt::new(title, help, &text.unwrap_or_default(), take));
}

fn certify(screen: &mut LedgerScreen, context: &mut Context) {
    let Some(account) = screen.account(context).map(|account| account.id.clone()) else {
        context.say(Level::Info, "nothing was spent yet: there is nothing to certify");
        return;
    };
    let path = format!("certificate-{}.json", account.0);
    context.prompt(Prompt::new(
        "Write a certificate of everything spent",
        "file, relative to the session; it names no data, only the account",
        &path,
        move |context: &mut Context, path| {
            context.ask(Request::Certify { account: account.clone(), path: path.into() });
            Ok(())
        },
    ));
}

/// Goes on without a total.
fn accept(screen: &mut LedgerScreen, context: &mut Context) {
    let account = screen.account(context).filter(|account| account.waits_for_acceptance());
    let Some(account) = account else {
        context.say(Level::Info, "nothing waits to be accepted here");
        return;
    };
    let waiting = account.gaps().iter().filter(|gap| gap.accepted.is_none());
    let missing: Vec<String> = waiting.map(Gap::missing).collect();
    let text = format!(
        "'{}' has no total: {}. Go on without one? It is repeated beside every number for ever.",
        account.id.0,
        missing.join("; and ")
    );
    let id = account.id.clone();
    context.confirm(text, "accept", |context| context.ask(Request::AcceptUnknownPast(id)));
}

/// Settles a run whose process is gone; runs of this sitting are not.
fn settle(screen: &mut LedgerScreen, context: &mut Context) {
    let live = context.runs.iter().filter(|run| !run.has_ended());
    let mine: Vec<_> = live.filter_map(|run| run.run.as_ref()).collect();
    let dead = screen.account(context).and_then(|account| {
        let mut open = account.runs.iter().filter(|run| run.state == RunState::Open);
        open.find(|run| !mine.contains(&&run.grant.run))
    });
    let Some(id) = dead.map(|run| run.grant.run.clone()) else {
        context.say(Level::Info, "no run is open here: nothing to settle");
        return;
    };
    let text = format!(
        "Settle {}? If its process is gone, only what it had announced stays charged. It cannot be resumed then: `halflight ledger` says how to go on with it instead.",
        id.0
    );
    context.confirm(text, "settle", |context| context.ask(Request::AbandonRun(id)));
}

fn repair(_: &mut LedgerScreen, context: &mut Context) {
    let text = "Set a damaged ledger aside and go on with its good lines? That lines are lost is remembered for ever.";
    context.confirm(text, "repair", |context| context.ask(Request::RepairLedger));
}
