use std::collections::BTreeSet;
use std::path::Path;

use super::*;
use crate::data::DatasetDefinition;
use crate::evaluation::{Loss, Noise, Score, Scored};
use crate::privacy::accountant::{Composition, round_up};
use crate::privacy::ledger::{SharedNoise, TotalStanding};
use crate::privacy::openings::OpenWatch;
use crate::privacy::{Adjacency, Event, Target};
use crate::statements::public_alone::{join_scores, public_alone};
use crate::store::archive::DrawnRun;
use crate::store::demo;
use crate::store::example::gaussian;

fn around(value: f64, half: f64) -> Score {
    Score { value, low: value - half, high: value + half }
}

/// A score of numbers whose difference to public data alone is known to ± 5.
fn score(error: f64, public: f64) -> Scored {
    Scored {
        records: 400,
        loss: Some(Loss::Absolute),
        largest_error: Some(140.0),
        error: around(error, 2.0),
        public_alone: Some(around(public, 2.0)),
        difference: Some(around(error - public, 5.0)),
        ..Scored::default()
    }
}

fn run(name: &str, epsilon: f64, score: Option<Scored>) -> ArchivedRun {
    let id = RunId(format!("20260101-000000-{name}"));
    let mut plan = demo::session("bikeshare").unwrap().plans[0].clone();
    name.clone_into(&mut plan.name);
    let guarantee = Some(Target { epsilon, delta: 1e-6 });
    let outcome = "finished".to_owned();
    let unread = ArchivedRun::unread(id, Path::new("runs"));
    ArchivedRun { plan: Some(plan), guarantee, outcome, score, ..unread }
}

fn all(runs: &[ArchivedRun]) -> Vec<String> {
    let runs: Vec<&ArchivedRun> = runs.iter().collect();
    let found = answers(&runs, usual_name, &|_| None, &Watch::open()).into_iter();
    let text = |(head, words): (&str, String)| format!("{head} {words}");
    found.map(|it| it.lines().into_iter().map(text).collect::<Vec<_>>().join(" | ")).collect()
}

fn only(runs: &[ArchivedRun]) -> String {
    let mut found = all(runs);
    assert_eq!(found.len(), 1, "{found:?}");
    found.remove(0)
}

const GAIN: &str = "50 % (38 to 62) less error than public data alone (cap 140).";
const ERROR: &str = "Error 20.0 (18.0 to 22.0) on 400 held-out records; ranges are 95 %.";

#[test]
fn without_a_score_no_model_is_named() {
    let text = "Take nothing yet: no score was released, so nothing says which model to take. | \
                Share nothing about how good they are.";
    assert_eq!(only(&[run("a", 1.0, None), run("b", 1.0, None)]), text);
    assert_eq!(all(&[]), [""; 0]);
}

#[test]
fn one_score_is_taken_or_public_data_alone() {
    let told = "Share model and score with anybody: ε 1 (δ 1e-6).";
    let good = run("a", 1.0, Some(score(20.0, 40.0)));
    assert_eq!(
        only(std::slice::from_ref(&good)),
        format!("Take 'a' at ε 1: {GAIN} | Why {ERROR} | {told}")
    );
    let free = "For its model, run a plan with the method 'public data alone'. | Share that model with \
                anybody: it used no private record. Scores chose it; with them, the ε of their runs \
                counts.";
    let open = "Take public data alone: 'a' is not clearly better: 5 % less (7 more to 18 less), and public data would have cost no ε. | \
                Why Mean absolute error of public data alone, capped at 140: 40.0 (38.0 to 42.0) on 400 held-out \
                records; ranges are 95 %.";
    assert_eq!(only(&[run("a", 1.0, Some(score(38.0, 40.0)))]), format!("{open} {free}"));
    let bad = only(&[run("a", 1.0, Some(score(60.0, 40.0)))]);
    assert!(bad.starts_with("Take public data alone: 'a' is WORSE: 50 % (38 to 62) more"), "{bad}");
    let wide = Scored { error: around(70.0, 60.0), ..score(70.0, 40.0) };
    let wide = only(&[run("a", 1.0, Some(wide))]);
    assert!(wide.contains("the scores are too imprecise to show"), "{wide}");
    let constant = Scored { one_answer: Some(around(10.0, 1.0)), ..score(20.0, 40.0) };
    let constant = only(&[run("a", 1.0, Some(constant))]);
    let worse = "Take no model: 'a' is WORSE than one answer for all (public median): 10";
    assert!(constant.starts_with(worse), "{constant}");
    let mut seen = good.clone();
    seen.was_ranked = true;
    assert!(only(&[seen]).ends_with("ranking of public data by exact numbers (◆)."));
    // The draws of a run and of a later score add up.
    let drawn = |name: &str, mu| {
        let mut run = run(name, 1.0, Some(score(20.0, 40.0)));
        let (own, mechanisms) = (run.id.clone(), vec![gaussian(mu)]);
        run.drawn = vec![DrawnRun { run: own, person: None, mechanisms }];
        run
    };
    let sum = Composition::of(&[gaussian(0.3), gaussian(0.4)]).unwrap().gate(1e-6).unwrap();
    let told = only(&[drawn("a", 0.3), drawn("b", 0.4)]);
    let wanted = format!(
        "Share model and score with anybody: ε {} for the choice among 2, ε 1 alone (δ 1e-6).",
        round_up(sum.epsilon, 4)
    );
    assert!(told.ends_with(&wanted), "{told}");
    // Whoever protects other units has another sum.
    let mut persons = drawn("c", 0.4);
    persons.drawn[0].person = Some("patient".to_owned());
    assert!(only(&[drawn("a", 0.3), persons]).contains("ε is the sum in the ledger"));
    let mut void = good;
    void.guarantee = None;
    assert!(only(&[void]).ends_with("Share nothing: nothing is guaranteed."));
    let alone = Scored { difference: None, public_alone: None, ..score(20.0, 40.0) };
    let alone = only(&[run("a", 1.0, Some(alone))]);
    assert!(
        alone.starts_with("Take 'a' at ε 1: mean absolute error, capped at 140: 20"),
        "{alone}"
    );
    let built = Scored { builds_on_a_model: true, ..score(38.0, 40.0) };
    let built = only(&[run("a", 1.0, Some(built))]);
    assert!(built.starts_with("Take the model it builds on: 'a' is not clearly"), "{built}");
    let foretold = Scored { foretold: Some(around(0.1, 0.05)), ..score(20.0, 40.0) };
    let broken = only(&[run("a", 1.0, Some(foretold))]);
    assert!(broken.contains(". The rehearsal of this plan promised 10 %"), "{broken}");
}

#[test]
fn where_scores_are_too_imprecise_the_promise_of_a_rehearsal_decides() {
    let promised = |gain: f64, half: f64, error: f64| Scored {
        foretold: Some(around(gain, half)),
        error: around(error, 25.0),
        difference: Some(around(error - 40.0, 30.0)),
        ..score(error, 40.0)
    };
    let of = |score: Scored| run("a", 1.0, Some(score));
    let taken = only(&[of(promised(0.4, 0.2, 30.0))]);
    assert!(
        taken.starts_with(
            "Take 'a' at ε 1: its rehearsal promises 40 % (20 to 60) less error than public data alone; its \
             score agrees, but is too imprecise to confirm it. | Why Error 30 (5 to 55), that of public \
             data alone 40.0 (38.0 to 42.0), on 400 held-out records; ranges are 95 %. | Share model and \
             score with anybody: ε 1"
        ),
        "{taken}"
    );
    let alone = "Take public data alone";
    // Next to nothing is promised, or a run may lose more than it should gain, or the score is on the
    // other side.
    assert!(only(&[of(promised(0.01, 0.005, 30.0))]).starts_with(alone));
    assert!(only(&[of(promised(0.2, 0.5, 30.0))]).starts_with(alone));
    assert!(only(&[of(promised(0.4, 0.2, 44.0))]).starts_with(alone));
    // What all scores say of public data alone counts, too: beside that this error is no lower.
    let beside = |public_alone, error, foretold| {
        let difference = Some(around(error - public_alone, 30.0));
        let half = if foretold { 9.0 } else { 1.0 };
        let scored = promised(0.4, 0.2, error);
        let public_alone = Some(around(public_alone, half));
        let foretold = scored.foretold.filter(|_| foretold);
        of(Scored { public_alone, difference, foretold, ..scored })
    };
    let own = beside(42.0, 36.0, true);
    assert!(only(std::slice::from_ref(&own)).starts_with("Take 'a' at ε 1: its rehearsal"));
    let said = only(&[own, beside(34.0, 40.0, false)]);
    assert!(said.starts_with(alone), "{said}");
    // Repeating a plan until one of its scores is on the right side does not help.
    let repeated = [44.0, 36.0, 47.0].map(|error| of(promised(0.4, 0.2, error)));
    assert!(only(&repeated).starts_with(alone), "{}", only(&repeated));
    // Of several promises the largest counts, and not the least score.
    let several = [of(promised(0.4, 0.2, 20.0)), run("b", 1.0, Some(promised(0.5, 0.2, 30.0)))];
    assert!(only(&several).starts_with("Take 'b' at ε 1:"), "{}", only(&several));
    // What a score shows clearly needs no promise.
    let clear = run("c", 1.0, Some(score(20.0, 40.0)));
    let both = [of(promised(0.6, 0.2, 30.0)), clear];
    assert!(only(&both).starts_with("Take 'c' at ε 1: 50 % (38 to 62) less"), "{}", only(&both));
}

#[test]
fn a_promise_for_blanked_records_alone_is_called_so() {
    let weaker = Event { adjacency: Adjacency::ZeroOut, ..gaussian(0.1) };
    let mut one = run("a", 1.0, Some(score(20.0, 40.0)));
    let drawn = |mechanisms| vec![DrawnRun { run: one.id.clone(), person: None, mechanisms }];
    let (usual, blanked) = (drawn(vec![gaussian(0.1)]), drawn(vec![weaker.clone()]));
    let whom = ", for a record that is blanked, not replaced.";
    one.drawn = usual;
    assert!(!only(std::slice::from_ref(&one)).contains("blanked"));
    // Runs that are not compared here may be in the total.
    let known = Composition::of(&[weaker]).unwrap().gate(1e-6).ok();
    let (standing, missing) = (TotalStanding::AtMost, Vec::new());
    let conditions = BTreeSet::new();
    let total = Total {
        standing,
        delta: 1e-6,
        known,
        claims: None,
        missing,
        remark: None,
        conditions,
        elsewhere: None,
    };
    let found = answers(&[&one], usual_name, &|_| Some(total.clone()), &Watch::open());
    assert!(found[0].telling.ends_with(whom), "{}", found[0].telling);
    // What other ledgers charged is in no total, so it is said beside one, whatever is taken.
    let charged = "what another ledger of the same user charged on these records: ε 2 at δ 1e-6";
    let beside = Total { elsewhere: Some(charged.to_owned()), ..total };
    for score in [score(20.0, 40.0), score(60.0, 40.0)] {
        let run = run("a", 1.0, Some(score));
        let found = answers(&[&run], usual_name, &|_| Some(beside.clone()), &Watch::open());
        let words = format!(". Not in it: {charged}.");
        assert!(found[0].telling.ends_with(&words), "{}", found[0].telling);
    }
    one.drawn = blanked;
    let alone = run("b", 1.0, Some(score(60.0, 40.0)));
    for runs in [vec![one.clone()], vec![one.clone(), run("b", 1.0, None)], vec![one, alone]] {
        assert!(only(&runs).ends_with(whom), "{}", only(&runs));
    }
}

#[test]
fn where_the_ledger_is_there_all_spending_on_the_records_is_told() {
    let good = run("a", 1.0, Some(score(20.0, 40.0)));
    let one_noise = SharedNoise { sites: 3, may_collude: 1 };
    let on_condition = |run: &ArchivedRun, standing, mu, delta, conditions: &[SharedNoise]| {
        let conditions = conditions.iter().copied().collect();
        let known = Composition::of(&[gaussian(mu)]).unwrap().gate(delta).ok();
        let (claims, remark, missing) = (None, None, vec!["what was lost".to_owned()]);
        let total =
            Total { standing, delta, known, claims, missing, remark, conditions, elsewhere: None };
        let found = answers(&[run], usual_name, &|_| Some(total.clone()), &Watch::open());
        found[0].telling.clone()
    };
    let told = |standing, mu, delta| on_condition(&good, standing, mu, delta, &[]);
    let share = "model and score with anybody";
    assert_eq!(told(TotalStanding::AtMost, 0.1, 1e-6), format!("{share}: ε 1 (δ 1e-6)."));
    let more = told(TotalStanding::AtMost, 1.0, 1e-6);
    let all = format!("{share}. All spending on these records: ε ");
    assert!(more.starts_with(&all) && more.ends_with("; this run alone: ε 1 (δ 1e-6)."), "{more}");
    let smaller = told(TotalStanding::AtMost, 0.1, 1e-5);
    assert!(smaller.ends_with("; this run alone: ε 1 at its smaller δ, 1e-6."), "{smaller}");
    // What holds on a condition is told with it, of this run and of others in the total.
    let condition = ", while at least 2 of 3 sites add their shares of the noise and tell nobody, \
                     and nobody can compute masks without their keys";
    for mu in [0.1, 1.0] {
        let said = on_condition(&good, TotalStanding::AtMost, mu, 1e-6, &[one_noise]);
        assert_eq!(said.matches(condition).count(), 1, "{said}");
    }
    let joint = ArchivedRun { one_noise: Some(one_noise), ..good.clone() };
    assert!(only(std::slice::from_ref(&joint)).ends_with(&format!("{condition}.")));
    // Neither another δ nor lines that were lost may read as the ε of the run alone.
    for said in [
        told(TotalStanding::AtMost, 0.1, 1e-5),
        told(TotalStanding::AtLeast, 0.1, 1e-6),
        told(TotalStanding::Nothing, 0.1, 1e-6),
    ] {
        assert!(said.starts_with(&format!("{share}. All spending on these records: ")), "{said}");
    }
}

#[test]
fn of_two_the_better_or_the_cheaper_one_is_taken() {
    let of = |name: &str, epsilon, error| run(name, epsilon, Some(score(error, 40.0)));
    let more = "Share model and score with anybody: ε 1 (δ 1e-6) alone; for the choice among \
                2, ε is the sum in the ledger.";
    let (a, cheap) = (of("a", 1.0, 20.0), of("b", 0.5, 30.0));
    let less = "33 % less error than 'b'; the ranges do not overlap.";
    assert_eq!(
        only(&[cheap, a.clone()]),
        format!("Take 'a' at ε 1: {GAIN} | Why {ERROR} {less} | {more}")
    );
    // Ranges that touch cannot be told apart: the one with less error, in either order.
    for runs in [[of("b", 4.0, 16.0), a.clone()], [a.clone(), of("b", 4.0, 16.0)]] {
        let said = only(&runs);
        assert!(said.starts_with("Take 'b' at ε 4: 60 %"), "{said}");
        assert!(said.contains(". 'a' cannot be told apart, and has no lower error. | "), "{said}");
    }
    let equal = only(&[a.clone(), of("b", 1.0, 21.0), of("c", 1.0, 22.0)]);
    assert!(
        equal.contains(". 'b' and 'c' cannot be told apart; it has the least error."),
        "{equal}"
    );
    let near = |names: &[&str]| {
        let runs: Vec<ArchivedRun> =
            std::iter::once(a.clone()).chain(names.iter().map(|it| of(it, 1.0, 21.0))).collect();
        only(&runs)
    };
    assert!(near(&["b", "c", "d"]).contains(". 'b', 'c' and 'd' cannot be told apart; "));
    assert!(near(&["b", "c", "d", "e"]).contains(". 4 others cannot be told apart; "));
    let several = only(&[a.clone(), of("b", 1.0, 30.0), of("c", 1.0, 60.0)]);
    assert!(several.contains(". Every other run is clearly worse."), "{several}");
    let none = only(&[of("b", 1.0, 38.0), of("c", 1.0, 39.0)]);
    assert!(
        none.contains("no run is clearly better, and public data would have cost no ε"),
        "{none}"
    );
    let worse = only(&[of("b", 1.0, 58.0), of("c", 1.0, 59.0)]);
    assert!(worse.contains("every run is clearly worse, and"), "{worse}");
    // One that is not clearly better than its own public data alone, at less ε and with less error.
    let mut unclear = run("b", 0.5, Some(score(18.0, 20.0)));
    let taken = only(&[unclear.clone(), a.clone()]);
    assert!(
        taken.starts_with("Take 'b' at ε 0.5: mean absolute error, capped at 140: 18"),
        "{taken}"
    );
    assert!(taken.contains("'a' is clearly better than public data alone"), "{taken}");
    unclear.score = Some(score(24.0, 26.0));
    assert!(only(&[unclear, a.clone()]).starts_with("Take 'a' at ε 1"));
    // One that is shown to be better than one answer for all is worth more ε.
    let beside = |name, epsilon, error: f64, half| {
        let (one_answer, error_of) = (Some(around(24.0, 1.5)), around(error, half));
        let scored = Scored { one_answer, error: error_of, ..score(error, 40.0) };
        run(name, epsilon, Some(scored))
    };
    let (cheap, shown) = (beside("b", 0.5, 21.0, 5.0), beside("a", 1.0, 20.0, 2.0));
    assert!(only(&[cheap.clone(), shown]).starts_with("Take 'a' at ε 1"));
    let unclear = only(&[cheap]);
    let constant = "Error 21.0 (16.0 to 26.0) on 400 held-out records, the public median \
                    for all 24.0 (22.5 to 25.5), not clearly more; ranges are 95 %.";
    assert!(unclear.contains(constant), "{unclear}");
    let many: Vec<ArchivedRun> = (0..5).map(|at| of("p", 1.0, 20.0 + f64::from(at))).collect();
    assert!(only(&many).contains("The least of 5 scores is likely to be too low."));
}

#[test]
fn a_run_of_public_data_alone_counts_as_that() {
    let mut public = run("p", 0.2, Some(score(40.0, 40.0).alone()));
    public.plan.as_mut().unwrap().method = "public_only".to_owned();
    let text = only(std::slice::from_ref(&public));
    assert!(text.starts_with("Take public data alone, 'p': no other run has a score."), "{text}");
    // A score that was not compared with public data alone is compared with theirs.
    let uncompared = |error| Some(score(error, 40.0).alone());
    let taken = only(&[public.clone(), run("a", 1.0, uncompared(20.0))]);
    assert!(taken.starts_with("Take 'a' at ε 1: mean absolute error"), "{taken}");
    let kept = only(&[public.clone(), run("a", 1.0, uncompared(37.0))]);
    assert!(kept.starts_with("Take public data alone, 'p': 'a' is not clearly"), "{kept}");
    // Better than its own public model, and clearly worse than another one.
    let text = only(&[public, run("a", 1.0, Some(score(60.0, 90.0)))]);
    assert!(text.starts_with("Take public data alone, 'p': that of another plan"), "{text}");
}

#[test]
fn the_error_of_public_data_alone_is_that_of_the_same_public_data() {
    let of = |name: &str, public: &[&str], score| {
        let mut run = run(name, 1.0, score);
        let plan = run.plan.as_mut().unwrap();
        plan.public = public.iter().map(|it| (*it).to_owned()).collect();
        run
    };
    let wide = |public| Scored { public_alone: Some(around(public, 9.0)), ..score(60.0, 40.0) };
    let one = of("a", &["spring", "summer"], Some(score(60.0, 40.0)));
    let other = of("b", &["autumn"], Some(wide(30.0)));
    let mut alone = of("p", &["autumn"], None);
    alone.plan.as_mut().unwrap().method = "public_only".to_owned();
    let text = only(&[one.clone(), other.clone(), alone.clone()]);
    let begin = "Take public data alone (spring + summer): every run is clearly worse";
    assert!(text.starts_with(begin), "{text}");
    assert!(text.contains("40.0 (38.0 to 42.0)") && text.contains("For its model, run"), "{text}");
    // A run of them is named beside their own error alone.
    alone.plan.as_mut().unwrap().public = vec!["summer".to_owned(), "spring".to_owned()];
    let text = only(&[one, other, alone]);
    let begin = "Take public data alone (spring + summer), 'p': every run is clearly worse";
    assert!(text.starts_with(begin) && !text.contains("For its model, run"), "{text}");
}

#[test]
fn all_scores_together_say_how_good_public_data_alone_are() {
    let of = |name: &str, public: f64| run(name, 1.0, Some(score(38.0, public)));
    let found = |runs: &[ArchivedRun]| -> Vec<(usize, f64)> {
        let found = public_alone(runs).into_iter();
        found.map(|it| (it.scores, it.score.error.value)).collect()
    };
    let both = [of("a", 40.0), of("b", 43.0)];
    let text = only(&both);
    assert!(text.contains("41.5 (39.5 to 43.5) from 2 scores"), "{text}");
    assert_eq!(found(&both), [(2, 41.5)]);
    // Not those of other private records, bounds or caps, nor scores that contradict each other.
    let apart = |change: fn(&mut ArchivedRun)| {
        let mut other = of("b", 43.0);
        change(&mut other);
        assert_eq!(found(&[of("a", 40.0), other]), [(1, 40.0), (1, 43.0)]);
    };
    apart(|it| it.plan.as_mut().unwrap().private.insert(0, '2'));
    apart(|it| it.plan.as_mut().unwrap().preparation.intercept = false);
    apart(|it| it.score.as_mut().unwrap().largest_error = Some(141.0));
    assert_eq!(found(&[of("a", 40.0), of("b", 90.0)]), [(1, 40.0), (1, 90.0)]);
}

#[test]
fn scores_of_the_same_records_are_joined_and_then_agree_with_each_other() {
    let noise = |own, public, both| Some(Noise { own, public, both, one_answer: 0.0 });
    let precise = Scored { noise: noise(0.5, 0.6, 0.5), ..score(30.0, 40.0) };
    let wide = Scored {
        noise: noise(25.0, 25.5, 25.0),
        error: around(41.0, 11.0),
        public_alone: Some(around(50.0, 11.0)),
        difference: Some(around(-9.0, 3.0)),
        ..score(0.0, 0.0)
    };
    let mut runs = [run("a", 1.0, Some(precise)), run("b", 0.1, Some(wide.clone()))];
    join_scores(&mut runs);
    let told: Vec<&Scored> = runs.iter().filter_map(ArchivedRun::told).collect();
    let public = told[0].public_alone.unwrap();
    assert_eq!(told[1].public_alone, Some(public));
    assert!((public.value - 40.2).abs() < 0.1, "{public:?}");
    for it in &told {
        let gap = it.error.value - public.value;
        assert!((gap - it.difference.unwrap().value).abs() < 1e-9, "{it:?}");
    }
    assert!((told[1].error.value - 31.4).abs() < 0.1, "{:?}", told[1].error);
    let width = |it: &Scored| it.error.high - it.error.low;
    assert!(width(told[1]) < 0.6 * width(&wide), "{:?}", told[1].error);
    assert_eq!(runs[1].score, Some(wide), "its own release stays");
    // What an answer says of the error and of public data alone is what they have in common.
    assert!(only(&runs).contains("25 % "), "{}", only(&runs));
    // Joined again, nothing changes. Another seed has other held-out records.
    let before = runs.clone();
    join_scores(&mut runs);
    assert_eq!(runs[0].joined, before[0].joined);
    runs[1].plan.as_mut().unwrap().seed += 1;
    join_scores(&mut runs);
    assert!(runs.iter().all(|it| it.joined.is_none()));
}

#[test]
fn a_run_is_not_taken_because_chance_favours_one_of_many_scores() {
    let near = |error| Some(score(error, 40.0));
    let alone = only(&[run("a", 1.0, near(34.5))]);
    assert!(alone.starts_with("Take 'a' at ε 1"), "{alone}");
    // The range of the difference, ± 5, holds for one score, and ± 7 together for eight.
    let names = ["a", "b", "c", "d", "e", "f", "g", "h"];
    let of = |name: &str| run(name, 1.0, near(if name == "a" { 34.5 } else { 40.0 }));
    let many = only(&names.map(of));
    assert!(many.starts_with("Take public data alone: no run is clearly better"), "{many}");
    assert!(many.contains("one run is better; among 8 scores that may be chance"), "{many}");
    let sure = names.map(|name| run(name, 1.0, near(if name == "a" { 30.0 } else { 40.0 })));
    assert!(only(&sure).starts_with("Take 'a' at ε 1"), "{}", only(&sure));
}

#[test]
fn without_a_model_that_is_shown_to_be_useful_the_answer_says_so() {
    let bare = Scored { one_answer: Some(around(41.0, 3.0)), ..score(39.0, 40.0) };
    let text = only(&[run("a", 1.0, Some(bare))]);
    let doubt = "with 400 held-out records none is shown to beat the public median for all";
    assert!(text.starts_with(&format!("Take no model yet: {doubt}; 'a' is not")), "{text}");
    assert!(text.ends_with("Share the scores with anybody: ε 1 (δ 1e-6)."), "{text}");
    let shown = Scored { one_answer: Some(around(60.0, 3.0)), ..score(39.0, 40.0) };
    assert!(!only(&[run("a", 1.0, Some(shown))]).contains(doubt));
}

#[test]
fn other_caps_are_compared_only_where_they_decide() {
    let capped = |cap, above| {
        let above = Some(around(above, 0.001));
        Scored { largest_error: Some(cap), above, ..score(20.0, 40.0) }
    };
    let other = |error, cap| Scored { largest_error: Some(cap), ..score(error, 60.0) };
    let pair = |one, two| only(&[run("a", 1.0, Some(one)), run("b", 1.0, Some(two))]);
    assert!(pair(capped(100.0, 0.0), other(30.0, 140.0)).contains("less error than 'b'"));
    let raised = pair(capped(100.0, 0.5), other(30.0, 140.0));
    assert!(raised.contains("'b' cannot be told apart, and has no lower error"), "{raised}");
    let unknown = Scored { above: None, ..capped(100.0, 0.0) };
    let unknown = pair(unknown, other(30.0, 140.0));
    assert!(unknown.contains("'b' cannot be compared: it has another cap."), "{unknown}");
    assert!(pair(capped(140.0, 0.0), other(30.0, 100.0)).contains("less error than 'b'"));
}

#[test]
fn each_dataset_and_each_kind_of_error_has_an_answer_of_its_own() {
    let a = run("a", 1.0, Some(score(20.0, 40.0)));
    let mut other = run("b", 1.0, Some(score(2.0, 40.0)));
    other.plan.as_mut().unwrap().private = "autumn".to_owned();
    let squared = Scored { loss: Some(Loss::Squared), ..score(3.0, 40.0) };
    let squared = run("c", 1.0, Some(squared));
    let found = all(&[other, a.clone(), squared, run("d", 1.0, None)]);
    let private = a.plan.as_ref().unwrap().private.clone();
    let heads = [
        "Take 'b' at ε 1 for 'autumn': 95.0 %".to_owned(),
        format!("Take 'a' at ε 1 for '{private}' by mean absolute error: 50 %"),
        format!("Take 'c' at ε 1 for '{private}' by root mean squared error: "),
    ];
    assert_eq!(found.len(), heads.len(), "{found:?}");
    for (text, head) in found.iter().zip(heads) {
        assert!(text.starts_with(&head), "{text}");
    }
    // Another label or filter under the same name is another question.
    let mut relabelled = a.clone();
    let private = DatasetDefinition { name: private, ..DatasetDefinition::default() };
    relabelled.data = vec![DatasetDefinition { label: Some("y".to_owned()), ..private }];
    assert_eq!(all(&[a, relabelled]).len(), 2);
}
