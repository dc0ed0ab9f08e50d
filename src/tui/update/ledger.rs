//! The Ledger screen: budgets, certificates, mending.

use super::{popups, prompt};
use crate::data::Role;
use crate::privacy::ledger::{Gap, RunState};
use crate::tui::app::{App, Effect, Level};
use crate::tui::keymap::Action;
use crate::tui::popup::{ALLOW, Answer, Popup, Wanted};

pub(super) fn act(app: &mut App, action: Action) -> Vec<Effect> {
    let account = app.selected_account();
    match action {
        Action::SetBudget => {
            let named =
                account.and_then(|account| account.datasets.last()).map(|it| it.name.clone());
            let name = named.filter(|name| app.names_with(Role::Private).contains(name));
            let Some(name) = name.or_else(|| app.names_with(Role::Private).into_iter().next())
            else {
                app.say(
                    Level::Warning,
                    "no dataset of this session is private: mark one on the Data screen",
                );
                return Vec::new();
            };
            let now = account.and_then(|account| account.budget);
            let now = now.or(app.session.budgets.get(&name).copied());
            let text = now.map(|it| {
                let allow = if it.allow_large_delta { format!(" {ALLOW}") } else { String::new() };
                format!("{} {:e}{allow}", it.epsilon, it.delta)
            });
            let text = text.unwrap_or_default();
            popups::ask_for_budget(app, name, &text);
        }
        Action::Certify => match account.map(|account| account.id.clone()) {
            Some(account) => {
                let path = format!("certificate-{}.json", account.0);
                app.popup = Some(prompt(
                    "Write a certificate of everything spent",
                    "file, relative to the session; it names no data, only the account",
                    &path,
                    Wanted::Certificate(account),
                ));
            }
            None => app.say(Level::Info, "nothing was spent yet: there is nothing to certify"),
        },
        Action::AcceptPast => match account.filter(|account| account.waits_for_acceptance()) {
            Some(account) => {
                let waiting = account.gaps().iter().filter(|gap| gap.accepted.is_none());
                let missing: Vec<String> = waiting.map(Gap::missing).collect();
                let text = format!(
                    "'{}' has no total: {}. Go on without one? It is repeated beside every number for ever.",
                    account.id.0,
                    missing.join("; and ")
                );
                app.popup =
                    Some(Popup::Question { text, then: Answer::AcceptPast(account.id.clone()) });
            }
            None => app.say(Level::Info, "nothing waits to be accepted here"),
        },
        Action::SettleDead => {
            let mine: Vec<_> = app
                .run
                .runs
                .iter()
                .filter(|run| !run.has_ended())
                .filter_map(|run| run.run.clone())
                .collect();
            let dead = account.and_then(|account| {
                account
                    .runs
                    .iter()
                    .find(|run| run.state == RunState::Open && !mine.contains(&run.grant.run))
            });
            match dead {
                Some(run) => {
                    let id = run.grant.run.clone();
                    let text = format!(
                        "Settle {}? If its process is gone, only what it had announced stays charged. It cannot be resumed then: `halflight ledger` says how to go on with it instead.",
                        id.0
                    );
                    app.popup = Some(Popup::Question { text, then: Answer::SettleDead(id) });
                }
                None => app.say(Level::Info, "no run is open here: nothing to settle"),
            }
        }
        Action::Repair => {
            let text = "Set a damaged ledger aside and go on with its good lines? That lines are lost is remembered for ever.";
            app.popup = Some(Popup::Question { text: text.to_owned(), then: Answer::Repair });
        }
        _ => {}
    }
    Vec::new()
}
