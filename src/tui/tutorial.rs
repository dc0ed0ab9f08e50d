//! The tutorial: seven steps on synthetic hospital records. A step says which key to press next,
//! and the next step follows only when the state shows that it was done. The tutorial itself
//! presses nothing and changes nothing.

use crate::data::{Role, Source};
use crate::session::demo;

use super::context::{Context, DatasetStatus, OpenPopup, Tutorial};
use super::live_run::Ended;
use super::tab::Tab;

/// Rows of the strip, including its title.
pub const ROWS: u16 = 4;
/// Below this the strip would hide too much of a screen.
pub const LEAST_HEIGHT: u16 = 22;

struct TutorialStep {
    name: &'static str,
    /// The instruction, and an explanation of the screen.
    text: fn(&Context) -> &'static str,
    is_done: fn(&Context) -> bool,
}

const STEPS: [TutorialStep; 7] = [
    TutorialStep { name: "add data", text: add, is_done: is_added },
    TutorialStep { name: "rank", text: rank, is_done: is_ranked },
    TutorialStep { name: "rehearse", text: rehearse, is_done: is_rehearsed },
    TutorialStep { name: "plan", text: plan, is_done: is_planned },
    TutorialStep { name: "run", text: run, is_done: has_run },
    TutorialStep { name: "verdict", text: verdict, is_done: knows_the_verdict },
    TutorialStep { name: "report", text: report, is_done: is_reported },
];

impl Tutorial {
    /// Moves on when the action of the current step was done.
    pub fn follow(&mut self, context: &Context) {
        while STEPS.get(self.done).is_some_and(|step| (step.is_done)(context)) {
            self.done += 1;
        }
    }

    /// Progress of the tutorial, for the title of the strip.
    pub fn title(&self) -> String {
        match STEPS.get(self.done) {
            Some(step) => format!("Tutorial {} of {}: {}", self.done + 1, STEPS.len(), step.name),
            None => format!("Tutorial: all {} steps done", STEPS.len()),
        }
    }

    pub fn text(&self, context: &Context) -> &'static str {
        match STEPS.get(self.done) {
            Some(step) => (step.text)(context),
            None => {
                "The page is written, and holds no exact number. Now your own data: halflight \
                 private.csv public.csv. More to read: halflight guide. q leaves and removes the \
                 tutorial's folder; Esc ends the tutorial, and you can go on here."
            }
        }
    }
}

impl Context {
    /// Lets the tutorial check the state.
    pub fn follow_tutorial(&mut self) {
        if let Some(mut tutorial) = self.tutorial.take() {
            tutorial.follow(self);
            self.tutorial = Some(tutorial);
        }
    }
}

fn add(context: &Context) -> &'static str {
    match &context.popup {
        Some(OpenPopup::Files(_)) => {
            "Choose county.csv with the arrow keys, or type a part of its name. Beside the list \
             you see its columns. Press Enter to take it."
        }
        Some(OpenPopup::Dataset(_)) => {
            "It has the same columns as the others, so the form is filled in like theirs: public, \
             with the label days. Role and label decide everything else. Press Enter to add it."
        }
        _ if context.tab != Tab::Data => "Press 1 to go to the Data screen.",
        _ => {
            "Made-up hospital stays, in days. The city's are private: every question to them costs \
             ε. Coast and children are public. County is still missing: press a to add a file."
        }
    }
}

fn is_added(context: &Context) -> bool {
    let added = context.session.datasets.iter().find(|dataset| {
        let is_the_file =
            |file: &str| file.trim_start_matches("./").strip_suffix(".csv") == Some(demo::ADDED);
        dataset.role == Role::Public
            && matches!(&dataset.source, Source::File(file) if is_the_file(file))
    });
    let status = added.and_then(|dataset| context.datasets.get(&dataset.name));
    matches!(status, Some(DatasetStatus::Ready { .. }))
}

fn rank(context: &Context) -> &'static str {
    if context.tab != Tab::Rank {
        "Four tables are read. Which hospital can stand in for the city's? Press 2 for the Rank screen."
    } else if context.ranking.work.is_some() {
        "Small random models are tried on every hospital. Hospitals from which they would learn the \
         same as from the city's can stand in for it. Wait for the table."
    } else {
        "Press r and y to rank by exact numbers. They are marked ◆: for your eyes only, not to be shared. \
         (p ranks with noise, for some ε; not needed now.)"
    }
}

fn is_ranked(context: &Context) -> bool {
    context.ranking.work.is_none() && context.ranking.exact.is_some()
}

fn rehearse(context: &Context) -> &'static str {
    let rehearsal = &context.rehearsal;
    if context.tab != Tab::Plan && rehearsal.work.is_some() {
        "The rehearsal goes on. Press 3 to see what it finds, and wait for its end."
    } else if context.tab != Tab::Plan {
        "The table begins with the best hospital: its own model has the least error on the city's \
         records. The smaller the GSD, the more alike. When you have read the verdicts, press 3."
    } else if rehearsal.work.is_some() {
        "Each public hospital plays the city's part in turn, and every method that fits is tried on \
         it. This takes some seconds and costs no privacy. Wait for the end."
    } else if rehearsal.progress.is_some() {
        "The rehearsal was stopped. Press c to continue it."
    } else {
        "A plan says which method, which data and which ε. Trying plans on the city's records would \
         cost ε each time. Press r: they are tried on the public hospitals instead, for free."
    }
}

/// Whether a rehearsal was completed.
fn is_rehearsed(context: &Context) -> bool {
    context.rehearsal.is_whole()
}

fn plan(context: &Context) -> &'static str {
    if context.tab != Tab::Plan {
        "Press 3 to go back to the Plan screen."
    } else if !context.rehearsal.shown && !has_advised_method(context) {
        "The plan has another method than the advised one. Press t to take it."
    } else if context.rehearsal.shown {
        "Each number is an error, divided by that of public data alone: below 1 is better. Press t \
         to take the advised method (it may be yours already), then r again: the costs come back."
    } else {
        "The costs are being worked out."
    }
}

/// Whether the shown plan has the method and the settings that the rehearsal advises.
fn has_advised_method(context: &Context) -> bool {
    let Some(plan) = context.shown_plan() else { return false };
    match context.advice(plan).and_then(|advice| advice.to_take()) {
        Some(player) => plan.player() == *player,
        // There is no advice to take.
        _ => true,
    }
}

fn is_planned(context: &Context) -> bool {
    let priced = context.plan.preview.as_ref().is_some_and(Result::is_ok);
    is_rehearsed(context)
        && has_advised_method(context)
        && !context.rehearsal.shown
        && priced
        && !context.plan.waiting
}

fn run(context: &Context) -> &'static str {
    let under_way = context.runs.last().is_some_and(|run| !run.has_ended());
    match &context.popup {
        Some(OpenPopup::Prompt(_)) => {
            "The budget is what all runs on these records may spend together, now and later. The \
             ledger keeps to it. Press Enter to take the one that is offered."
        }
        Some(OpenPopup::Question(_)) => {
            "Nothing has been spent so far. Press y: the ledger writes the grant down, and the \
             run begins."
        }
        _ if under_way => {
            "Each step is entered in the ledger, and then its noise is drawn. (Space would pause, c \
             would stop the run.) Wait for the end."
        }
        _ if context.tab != Tab::Plan => "Press 3 to go back to the Plan screen, then l to launch.",
        _ => {
            "You see what the rehearsal expects, and what this run costs. Press l to launch the \
             plan. First you are asked for the budget of the city's records."
        }
    }
}

fn has_run(context: &Context) -> bool {
    let last = context.runs.last();
    matches!(last.and_then(|run| run.ended.as_ref()), Some(Ended::Summary(_)))
}

fn verdict(context: &Context) -> &'static str {
    match context.tab {
        Tab::Compare => {
            "'Take' says which model to take and how much better it is than public data alone, 'Why' \
             how sure that is. When you have read them, press 6 to see what it cost."
        }
        _ => {
            "The run has ended. Its log has the released score, which may be shared, and exact \
             errors (◆), which may not. Press 5: Compare says in words how good the model is."
        }
    }
}

fn knows_the_verdict(context: &Context) -> bool {
    let charged = context.book.as_ref().is_some_and(|book| !book.accounts.is_empty());
    has_run(context) && charged && context.tab == Tab::Ledger
}

fn report(context: &Context) -> &'static str {
    match (&context.popup, context.tab) {
        (Some(OpenPopup::Prompt(_)), Tab::Compare) => {
            "The page holds only public and released numbers. Press Enter to write it beside the \
             session, here in the tutorial's own folder."
        }
        (_, Tab::Compare) => "Press w to write a page about this run that you could pass on.",
        _ => {
            "The ledger keeps what the run has spent, for good; the budget has that much less left. \
             Last of all, press 5 for Compare, and w there: a page for others, without exact numbers."
        }
    }
}

fn is_reported(context: &Context) -> bool {
    let page = |path: &std::path::PathBuf| path.extension().is_some_and(|it| it == "html");
    has_run(context) && context.written.as_ref().is_some_and(page)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;

    fn step(tutorial: &Tutorial) -> &'static str {
        STEPS.get(tutorial.done).map_or("end", |step| step.name)
    }

    #[test]
    fn texts_are_short_enough_for_the_strip_of_a_small_terminal() {
        for (name, mut app) in fixtures::scenes() {
            for done in 0..=STEPS.len() {
                for tab in Tab::ALL {
                    app.context.tab = *tab;
                    let text = Tutorial { done }.text(&app.context);
                    let lines = usize::from(crate::canvas::wrapped_lines(text, 78));
                    assert!(lines < usize::from(ROWS), "{name}: {text}");
                }
            }
        }
    }

    #[test]
    fn a_dataset_counts_as_added_once_it_is_public_and_read() {
        let mut context = fixtures::loaded().context;
        assert!(!is_added(&context));
        context.session.datasets[3].source = Source::File("county.csv".to_owned());
        assert!(is_added(&context));
        context.session.datasets[3].role = Role::Private;
        assert!(!is_added(&context));
        context.session.datasets[3].role = Role::Public;
        let name = context.session.datasets[3].name.clone();
        context.datasets.insert(name, DatasetStatus::Loading(0.5));
        assert!(!is_added(&context));
    }

    #[test]
    fn a_ranking_counts_once_it_has_ended() {
        assert!(!is_ranked(&fixtures::loaded().context));
        assert!(is_ranked(&fixtures::ranked().context));
    }

    #[test]
    fn a_rehearsal_counts_when_it_is_whole_and_a_plan_when_it_is_the_advised_one() {
        let mut context = fixtures::priced().context;
        assert!(!is_rehearsed(&context) && !is_planned(&context));
        let plan = context.shown_plan().cloned();
        context.rehearsal.plan = plan;
        context.rehearsal.progress = Some(fixtures::rehearsal(1));
        assert!(!is_rehearsed(&context));
        let total = fixtures::rehearsal(1).total;
        context.rehearsal.progress = Some(fixtures::rehearsal(total));
        context.rehearsal.shown = true;
        assert!(is_rehearsed(&context) && !is_planned(&context));
        context.take_advice();
        assert!(has_advised_method(&context));
        context.rehearsal.shown = false;
        context.plan.waiting = false;
        assert!(is_planned(&context));
        context.session.plans[0].method = "target_only".to_owned();
        assert!(!is_planned(&context));
    }

    #[test]
    fn a_run_counts_when_it_has_a_result_and_not_when_it_was_refused() {
        let mut context = fixtures::running().context;
        assert!(!has_run(&context));
        let refused = crate::error::Error::failed("no");
        context.runs.last_mut().unwrap().ended = Some(Ended::Refused(refused));
        assert!(!has_run(&context));
        let summary = Ended::Summary(Box::new(fixtures::summary()));
        context.runs.last_mut().unwrap().ended = Some(summary);
        assert!(has_run(&context) && !knows_the_verdict(&context) && !is_reported(&context));
        context.book = Some(fixtures::book().0);
        context.tab = Tab::Ledger;
        assert!(knows_the_verdict(&context));
        context.written = Some("curves.csv".into());
        assert!(!is_reported(&context));
        context.written = Some("report.html".into());
        assert!(is_reported(&context));
    }

    #[test]
    fn steps_are_taken_in_their_order() {
        let mut tutorial = Tutorial::default();
        let mut context = fixtures::ranked().context;
        tutorial.follow(&context);
        assert_eq!(step(&tutorial), "add data");
        context.session.datasets[3].source = Source::File("county.csv".to_owned());
        tutorial.follow(&context);
        assert_eq!(step(&tutorial), "rehearse");
    }
}
