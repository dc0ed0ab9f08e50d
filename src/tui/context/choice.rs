//! Lets private records choose among plans.

use super::{Change, Context};
use crate::engine::Request;
use crate::engine::choice::{Offer, PUBLIC_ALONE};
use crate::engine::worker::JobRequest;
use crate::error::Action;
use crate::live_run::LiveRun;
use crate::notice::ErrorTopic;
use crate::privacy::Target;
use crate::privacy::accountant::round_up;
use crate::session::PlanDefinition;
use crate::tab::Tab;

impl Context {
    /// Asks for the cost of letting private records choose among these plans.
    pub fn offer_choice(&mut self, plans: Vec<PlanDefinition>, target: Target) {
        let names = plans.iter().flat_map(|plan| plan.public.iter().chain([&plan.private]));
        if let Some(words) = self.being_read(names) {
            return self.warn(words);
        }
        self.inform("working out the noise for all candidates…");
        self.ask(Request::OfferChoice { session: self.for_disk(), plans, target });
    }

    /// Asks whether to pay for a choice, or for a budget if there is none.
    pub(super) fn ask_to_choose(&mut self, offer: Offer) {
        if self.popup.is_some() {
            return self.inform("the cost of the choice is known now: press p on Plan again");
        }
        self.notice = None;
        let Some(private) = offer.plans.first().map(|plan| plan.private.clone()) else { return };
        if let Some(refusal) = &offer.refusal {
            return match refusal.action() {
                Some(Action::SetBudget { .. }) => {
                    let (plans, target) = (offer.plans.clone(), offer.target);
                    self.ask_for_budget(private, target, move |context| {
                        context.offer_choice(plans.clone(), target);
                    });
                }
                _ => self.complain_of(ErrorTopic::Plan, refusal),
            };
        }
        self.confirm(question(&offer, &private), "choose", |context| context.choose(offer));
    }

    fn choose(&mut self, offer: Offer) {
        let (id, control) = self.next_job();
        let Some(run) = LiveRun::choosing(id, offer.clone(), control.clone()) else { return };
        self.runs.push(run);
        self.note(Change::Launched);
        self.notice = None;
        self.go_to(Tab::Run);
        let (session, Offer { plans, target, .. }) = (self.for_disk(), offer);
        self.start(id, control, JobRequest::Choice { session, plans, target });
    }
}

/// Price, candidates, and the difference that the choice can detect.
fn question(offer: &Offer, private: &str) -> String {
    let names: Vec<String> = offer.plans.iter().map(|plan| format!("'{}'", plan.name)).collect();
    let alone = offer.candidates.iter().any(|name| name == PUBLIC_ALONE);
    let beside = if alone { ", and public data alone, which cost nothing" } else { "" };
    let Target { epsilon, delta } = offer.target;
    let how = if offer.trains_in_secret {
        "Plans are drawn at random and trained several times; how often stays secret, and only the \
         best model is written."
    } else {
        "The first plan is kept unless another is clearly better, and only the winner's model is \
         written."
    };
    let first = offer.warnings.first().map_or(String::new(), |note| format!(" Note: {note}."));
    format!(
        "Let private records choose among {}{beside}? It reserves ε {epsilon} at δ {delta:e} of \
         '{private}' for all of them together; each training gets ε {}. Noise hides differences \
         of less than {}. {how}{first}",
        names.join(", "),
        round_up(offer.each, 3),
        offer.apart
    )
}
