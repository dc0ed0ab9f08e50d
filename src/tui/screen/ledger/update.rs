//! The keys of the Ledger screen.

use super::LedgerScreen;
use crate::context::Context;
use crate::context::budget::{ALLOW, parse_budget};
use crate::data::Role;
use crate::engine::Request;
use crate::engine::lookup::RunLife;
use crate::engine::worker::SoughtSweep;
use crate::keys::{also, show};
use crate::notice::one_line;
use crate::privacy::accountant::delta_words;
use crate::privacy::ledger::{Budget, Gap};
use crate::screen::Keys;

#[rustfmt::skip] // a table reads best as one
pub const KEYS: Keys<LedgerScreen> = &[
    show(&["b"], "budget", "set the budget of the private dataset", set_budget),
    show(&["w"], "certificate", "write a certificate of everything spent", certify),
    show(&["c"], "settle", "settle a run whose program died", settle),
    also(&["enter"], "unfold", "show every run of a sweep, or fold them again", |screen, _| screen.unfolded = !screen.unfolded),
    also(&["U"], "collect", "gather the results of a sweep and settle its runs", collect),
    also(&["A"], "accept", "allow runs although the total is not known: lines were lost, or \
                            noise came from a known seed", accept),
    also(&["F"], "repair", "set a damaged ledger aside and continue without its damaged lines", repair),
];

fn set_budget(screen: &mut LedgerScreen, context: &mut Context) {
    let account = screen.account(context);
    let private = context.names_with(Role::Private);
    let named = account.and_then(|account| account.datasets.last()).map(|it| it.name.clone());
    let named = named.filter(|name| private.contains(name));
    let now = account.and_then(|account| account.budget);
    let Some(name) = named.or_else(|| private.into_iter().next()) else {
        return context.warn("no dataset of this session is private: mark one on the Data screen");
    };
    let promised = now;
    let now = now.or(context.session.budgets.get(&name).copied());
    let text = now.map(|it| {
        let allow = if it.allow_large_delta { format!(" {ALLOW}") } else { String::new() };
        format!("{} {:e}{allow}", it.epsilon, it.delta)
    });
    let title = format!("Budget of '{name}'");
    let help = format!(
        "ε and δ for all runs together, now and later, such as: 4 1e-5. δ of 1/n and more needs: {ALLOW}"
    );
    context.prompt(title, help, &text.unwrap_or_default(), move |context, text| {
        let budget = parse_budget(text).map_err(|error| one_line(&error))?;
        let set = {
            let name = name.clone();
            move |context: &mut Context| context.set_budget(name, budget)
        };
        match promised.filter(|promised| *promised != budget) {
            None => set(context),
            Some(promised) => {
                context.confirm(another_budget(&name, promised, budget), "change", set);
            }
        }
        Ok(())
    });
}

/// The question before a budget that the ledger knows is changed.
fn another_budget(name: &str, promised: Budget, budget: Budget) -> String {
    let words = |it: Budget| format!("ε {} (δ {})", it.epsilon, delta_words(it.delta));
    format!(
        "Change the budget of '{name}' from {} to {}? It is what was promised to the people in the data. \
         The ledger keeps that it was changed. What was spent stays spent.",
        words(promised),
        words(budget)
    )
}

fn certify(screen: &mut LedgerScreen, context: &mut Context) {
    let Some(account) = screen.account(context).map(|account| account.id.clone()) else { return };
    let path = format!("certificate-{}.json", account.0);
    let title = "Write a certificate of everything spent";
    let help = "file, relative to the session; it names no data, only the account";
    context.ask_for(title, help, &path, move |context, path| {
        context.ask(Request::Certify { account: account.clone(), path: path.into() });
    });
}

/// Collects a waiting sweep: the selected one if it waits, or one that the user names.
fn collect(screen: &mut LedgerScreen, context: &mut Context) {
    if let Some(run) = screen.waiting(context, RunLife::Reserved) {
        let sweep = SoughtSweep::Of(run.grant.run.clone());
        return context.ask(Request::Collect { sweep, give_up: false });
    }
    context.ask_for_sweep();
}

/// Continues without a total.
fn accept(screen: &mut LedgerScreen, context: &mut Context) {
    let Some(account) = screen.account(context) else { return };
    let waiting = account.gaps().iter().filter(|gap| gap.accepted.is_none());
    let missing: Vec<String> = waiting.map(Gap::missing).collect();
    let text = format!(
        "What was spent on '{}' is not known in full: {}. Go on all the same? Every number will \
         carry this remark from now on.",
        account.id.0,
        missing.join("; and ")
    );
    let id = account.id.clone();
    context.confirm(text, "accept", |context| context.ask(Request::AcceptUnknownPast(id)));
}

/// Settles a run whose process is gone: the selected one if it is such a run.
fn settle(screen: &mut LedgerScreen, context: &mut Context) {
    let dead = screen.waiting(context, RunLife::Died);
    let Some(id) = dead.map(|run| run.grant.run.clone()) else { return };
    let text = format!(
        "Settle {}? Only what it had entered in the ledger stays charged. It cannot be resumed \
         afterwards. To resume it, press R on Compare (5) instead.",
        id.0
    );
    context.confirm(text, "settle", |context| context.ask(Request::AbandonRun(id)));
}

fn repair(_: &mut LedgerScreen, context: &mut Context) {
    let text = "If the ledger is damaged: set it aside and continue with the lines that can be \
                read? A remark that lines were lost will stay for good. A ledger without damage \
                is left as it is.";
    context.confirm(text, "repair", |context| context.ask(Request::RepairLedger));
}
