use std::collections::{BTreeMap, BTreeSet};

use super::results::WORST;
use super::*;
use crate::rehearsal::{Played, ROUNDS, Thinning, Trust};

const PLAYERS: [&str; 2] = ["public_shape", "target_only"];

/// Losses of public data alone, no privacy and two methods: one list for each case, each
/// with a loss for either ε.
fn results(cases: &[[[f64; 2]; 4]]) -> Results {
    let methods = PLAYERS.map(Player::method);
    let players = [vec![Player::PublicOnly, Player::NoPrivacy], methods.to_vec()].concat();
    let known = Advice {
        epsilons: vec![0.5, 2.0],
        cases: (0..cases.len()).map(|case| format!("case {case}")).collect(),
        grown: 1.0,
        ..Advice::default()
    };
    let mut results = Results {
        known,
        losses: BTreeMap::new(),
        failed: BTreeMap::new(),
        variants: players.len(),
        players,
        trust: Trust::equal(cases.len()),
        left_out: Vec::new(),
    };
    for (case, losses) in cases.iter().enumerate() {
        for (player, losses) in losses.iter().enumerate() {
            for (epsilon, loss) in [0.5, 2.0].iter().zip(losses) {
                let epsilon = (player > 1).then_some(*epsilon);
                results.add(
                    TrialResult { case, player, repetition: 0, epsilon },
                    Played::of_loss(*loss),
                );
            }
        }
    }
    results
}

#[test]
fn classes_are_chosen_for_by_their_finer_loss_and_never_by_one_that_errs_more() {
    // The first method errs a little less often, and the second has less of the finer loss.
    let case = [[1.0; 2], [0.5; 2], [0.9; 2], [0.92; 2]];
    let mut found = results(&[case, case]);
    found.known.judged_by = Some(ErrorMeasure::WrongAnswers);
    let choose = |found: &mut Results, finer: [f64; 4]| {
        for ((_, player, _), played) in &mut found.losses {
            for played in played.values_mut() {
                played.finer = Some(finer[*player]);
            }
        }
        let advice = found.advice(0.5);
        let (player, standing) = advice.chosen(0).unwrap();
        (player.clone(), standing.ratio, advice.sentences().join(" "))
    };
    let (first, second) = (Player::method(PLAYERS[0]), Player::method(PLAYERS[1]));
    let (player, ratio, said) = choose(&mut found, [1.0, 0.5, 0.9, 0.7]);
    assert_eq!(player, second);
    assert!((ratio - 0.92).abs() < 1e-12 && said.contains("8 % fewer wrong answers"), "{said}");
    assert!(said.contains("chosen by logarithmic loss"), "{said}");
    let best = "best in 2 of 2 rehearsals by logarithmic loss (0.70 × that of public data alone)";
    assert!(said.contains(best), "{said}");
    assert_eq!(choose(&mut found, [1.0, 0.5, 0.7, 0.9]).0, first);
    let mut worse = results(&[[[1.0; 2], [0.5; 2], [0.99; 2], [1.1; 2]]]);
    worse.known.judged_by = Some(ErrorMeasure::WrongAnswers);
    assert_eq!(choose(&mut worse, [1.0, 0.5, 0.9, 0.5]).0, first);
    assert_eq!(choose(&mut worse, [1.0, 0.5, 1.1, 0.5]).0, Player::PublicOnly);
}

#[test]
fn ratios_count_and_not_how_large_the_errors_of_a_case_are() {
    // In the large case the second method is 10 % better, in the small one only half as good.
    let found = results(&[
        [[1000.0; 2], [500.0; 2], [900.0, 700.0], [810.0, 700.0]],
        [[1.0; 2], [0.5; 2], [0.9, 0.7], [1.8, 0.7]],
    ]);
    let advice = found.advice(0.5);
    assert_eq!((advice.at, advice.choice[0]), (0, Some(2)));
    let (player, standing) = advice.chosen(0).unwrap();
    assert_eq!(player.id(), "public_shape");
    assert!((standing.ratio - 0.9).abs() < 1e-12);
    assert_eq!((standing.best_in, standing.cases), (1, 2));
    let said = advice.sentences().join(" ");
    assert!(said.contains("use 'public model, corrected': best in 1 of 2"), "{said}");
    assert!(said.contains("10 % less mean squared error"), "{said}");
    assert!(said.contains("still had 29 % less error than it at ε 2"), "{said}");
    // A plan that does not follow the advice has its own promise.
    assert_eq!(advice.of_another(player, 0.5), None);
    let other = &found.players[3];
    let of_other = advice.of_another(other, 0.5).unwrap();
    assert!(
        of_other.starts_with("This plan instead, at ε 0.5: 21 % more mean squared error; a run "),
        "{of_other}"
    );
    assert!(
        advice.of_another(player, 2.0).unwrap().starts_with("This plan instead, at ε 2: 30 % less")
    );
    assert_eq!(advice.of_another(&Player::PublicOnly, 0.5), None);
}

#[test]
fn the_advice_so_far_is_one_player_with_its_own_range_and_a_reason_beside_a_lower_mean() {
    for losses in [
        [[1.0; 2], [0.5; 2], [0.99, 0.8], [1.2, 0.9]],
        [[1.0; 2], [0.5; 2], [1.1, 0.8], [3.0, 0.9]],
        [[1.0; 2], [0.5; 2], [0.9, 0.8], [0.89, 0.9]],
    ] {
        let advice = results(&[losses, losses]).advice(0.5);
        let (advised, standing) = advice.chosen(0).unwrap();
        let said = advice.so_far().join(" ");
        let first = format!("is {}, from 2 of 2 rehearsals", advised.in_a_sentence());
        assert!(said.contains(&first), "{said}");
        let range = format!("a run should have {}", advice.range_words(standing));
        assert_eq!(said.contains(&range), advised.spends(), "{said}");
        let least = advice.sorted().find(|line| line.player != Player::NoPrivacy).unwrap();
        let reason = said.contains("has the lower mean");
        assert_eq!(reason, least.player.spends() && least.player != *advised, "{said}");
    }
}

#[test]
fn early_on_methods_count_by_what_they_have_played_and_not_by_what_public_data_alone_have() {
    let case = [[1.0; 2], [0.5; 2], [0.8; 2], [0.9; 2]];
    let mut found = results(&[case; 3]);
    // Public data alone and no privacy have played everything, the second method nothing.
    found.losses.retain(|(case, player, k), _| *player < 2 || (*case, *player, *k) == (0, 2, 0));
    let advice = found.advice(0.5);
    let titles: Vec<String> = advice.sorted().map(|line| line.player.id()).collect();
    assert_eq!(titles, ["no_privacy", "public_shape", "public_only", "target_only"]);
    let said = &advice.so_far()[0];
    let head = "So far (1 of 2 methods tried) the advice at ε 0.5 is 'public model, corrected', from 1 of 3 \
                rehearsals: too few";
    assert!(said.starts_with(head), "{said}");
    // Nothing is said of an ε at which no method has played, nor before any has.
    assert_eq!(advice.choice, [Some(2), None]);
    found.losses.retain(|(_, player, _), _| *player < 2);
    assert_eq!(found.advice(0.5).so_far(), ["Nothing is known yet."]);
    // Where no method fits, public data alone are what there is.
    for player in [2, 3] {
        found.failed.insert(player, "it does not fit".to_owned());
    }
    let said = found.advice(0.5).so_far().concat();
    assert!(said.contains("is public data alone") && said.contains("no method fits"), "{said}");
}

#[test]
fn what_is_said_of_other_epsilons_is_what_the_table_shows() {
    let of = |ratios: [[f64; 2]; 2], log_losses: Option<[[f64; 2]; 2]>| {
        let mut found = results(&[[[1.0; 2], [0.5; 2], ratios[0], ratios[1]]; 2]);
        if let Some(log_losses) = log_losses {
            found.known.judged_by = Some(ErrorMeasure::WrongAnswers);
            for ((_, player, k), played) in &mut found.losses {
                let own = player.checked_sub(2).map_or(1.0, |method| log_losses[method][*k]);
                for played in played.values_mut() {
                    played.finer = Some(own);
                }
            }
        }
        found.advice(0.5).ends()
    };
    let nothing_more = |there: &str, beyond: &str| {
        Some(format!(
            "Beyond ε 0.5 nothing more is gained ({there} × public data alone there, {beyond} at best beyond)."
        ))
    };
    assert_eq!(of([[0.9, 0.89], [0.95, 0.94]], None), nothing_more("0.900", "0.890"));
    assert_eq!(of([[0.9, 0.87], [0.95, 0.94]], None), None);
    let plan = |epsilon| {
        let plan = results(&[[[1.0; 2], [0.5; 2], [0.9, 0.89], [0.95, 0.94]]; 2]).advice(epsilon);
        (plan.ends().unwrap_or_default(), plan.less_is_enough())
    };
    let (ends, caution) = plan(2.0);
    assert!(ends.starts_with("Already ε 0.5 is enough (0.900"), "{ends}");
    assert!(caution.is_some_and(|it| it.starts_with("In the rehearsals ε 0.5 was enough:")));
    assert_eq!(plan(0.5).1, None);
    // A small error may halve.
    assert_eq!(of([[0.03, 0.015], [0.95, 0.94]], None), None);
    // The first has less logarithmic loss, and the table shows that the second one errs less and less.
    let finer = Some([[0.5, 0.49], [0.9, 0.9]]);
    assert_eq!(of([[0.9, 0.9], [0.9, 0.6]], finer), None);
    assert_eq!(of([[0.9, 0.91], [0.92, 0.9]], finer), nothing_more("0.900", "0.900"));
    // Public data alone are as good only where no method in the table has less error.
    let late = Some([[1.2, 0.9], [1.3, 1.2]]);
    let alone = "Up to ε 0.5 public data alone is as good.";
    assert_eq!(of([[1.1, 0.8], [1.2, 0.9]], late).as_deref(), Some(alone));
    assert_eq!(of([[0.9, 0.8], [1.2, 0.9]], late), None);
    // Nothing more is gained only where something is.
    let never = Some([[1.2, 1.2], [1.3, 1.2]]);
    assert_eq!(of([[0.97, 0.99], [1.2, 1.1]], never), None);
}

#[test]
fn an_epsilon_that_is_close_to_no_privacy_is_followed_by_none_that_is_not() {
    let near = |ratios: [f64; 2]| {
        let case = [[1.0; 2], [0.5; 2], ratios, [2.0; 2]];
        results(&[case; 2]).advice(2.0).near_no_privacy().unwrap()
    };
    assert!(near([0.51, 0.51]).starts_with("From ε 0.5 on it is within 5 %"));
    assert!(near([0.6, 0.51]).starts_with("To be within 5 %"));
    assert!(near([0.51, 0.6]).contains("still had 17 % less error than it at ε 2"));
}

#[test]
fn public_data_alone_are_advised_where_every_method_loses_to_them() {
    let case = [[1.0; 2], [0.5; 2], [1.2, 0.8], [3.0, 0.9]];
    let advice = results(&[case, case]).advice(0.5);
    assert_eq!(advice.choice, [Some(0), Some(2)]);
    let said = advice.sentences().join(" ");
    assert!(said.contains("use public data alone and spend nothing"), "{said}");
    assert!(said.contains("'public model, corrected', had 20 % more mean squared error"), "{said}");
    assert!(said.contains("Up to ε 0.5 public data alone is as good"), "{said}");
    // Nothing is said of an ε at which no method was tried.
    let mut stopped = advice.clone();
    for line in stopped.lines.iter_mut().filter(|line| line.player.spends()) {
        line.standings[0] = None;
    }
    assert!(!stopped.sentences().join(" ").contains("Up to ε"));
}

#[test]
fn rehearsals_that_disagree_say_so_and_no_privacy_is_never_advised() {
    let advice = results(&[
        [[1.0; 2], [0.1; 2], [0.5; 2], [9.0; 2]],
        [[1.0; 2], [0.1; 2], [1.3; 2], [9.0; 2]],
    ])
    .advice(2.0);
    assert_eq!(advice.choice, [Some(2), Some(2)]);
    let said = advice.sentences().join(" ");
    let promised = "A run should have 164 % more to 86 % less mean squared error than public data \
                    alone; the rehearsals disagree.";
    assert!(said.contains(promised), "{said}");
    let told = advice.expectation(&Player::method(PLAYERS[0]), 2.0).unwrap();
    assert!(told.contains("the rehearsals disagree"), "{told}");
}

#[test]
fn the_range_of_a_run_grows_with_what_rehearsals_and_repetitions_leave_open() {
    let standing =
        PlayerStanding { ratio: 0.9, least: 0.88, most: 0.92, cases: 4, ..case_standing() };
    let (least, most) = standing.range();
    assert!(least < 0.45 && 1.0 < most && most < 1.05, "{least} {most}");
    let words = |standing| Advice::default().range_words(standing);
    assert_eq!(words(standing), "2 % more to 58 % less");
    for wider in [
        PlayerStanding { least: 0.7, most: 1.1, ..standing },
        PlayerStanding { spread: Some(1.2), ..standing },
        PlayerStanding { cases: 1, ..standing },
    ] {
        let (low, high) = wider.range();
        assert!(low < least && high > most, "{wider:?}");
    }
    let lost = PlayerStanding { ratio: 3.0, least: 2.9, most: 3.1, ..standing };
    assert!(words(lost).ends_with("% more"), "{}", words(lost));
    // The same range is kept beside a released score.
    let case = [[1.0; 2], [0.5; 2], [0.9; 2], [0.95; 2]];
    let mut advice = results(&[case, case]).advice(0.5);
    let plan = Player::method("public_shape");
    assert_eq!(advice.foretold(&plan, 0.5), None, "squares of earlier builds are not compared");
    advice.judged_by = Some(ErrorMeasure::MeanAbsolute);
    let (found, range) =
        (advice.foretold(&plan, 0.5).unwrap(), advice.of_plan(&plan, 0.5).unwrap().0.range());
    assert!((found.value - 0.1).abs() < 1e-12);
    assert_eq!((found.low, found.high), (1.0 - range.1, 1.0 - range.0));
    advice.judged_by = Some(ErrorMeasure::Logarithmic);
    assert_eq!(advice.foretold(&plan, 0.5), None, "no score is a logarithm");
}

/// Whoever adds a task, a kind of score or a measure is caught here: a promise is compared with what
/// came, so both have one measure, and so has the sentence on exact errors.
#[test]
fn the_promise_the_score_and_the_verdict_of_a_plan_are_in_one_measure() {
    use crate::evaluation::{Loss, Scored};
    use crate::verdict::Errors;
    for task in [Task::Classification, Task::Regression] {
        for loss in [Loss::Absolute, Loss::Squared] {
            let loss_of_score = (task == Task::Regression).then_some(loss);
            let kind = Scored { loss: loss_of_score, ..Scored::default() }.kind();
            let measure = ErrorMeasure::of(task, loss);
            assert_eq!(measure.words(), kind);
            assert!(measure.is_of_scores());
            let case = [[1.0; 2], [0.5; 2], [0.8; 2], [0.95; 2]];
            let mut advice = results(&[case, case]).advice(0.5);
            advice.judged_by = Some(measure);
            let told = advice.expectation(&Player::method(PLAYERS[0]), 0.5).unwrap();
            assert_eq!(told.matches(kind).count(), 2, "the mean and the range of a run: {told}");
            assert!(advice.foretold(&Player::method(PLAYERS[0]), 0.5).is_some());
            // A gain is a share of the same error everywhere: half the error is half the error.
            let whole = if loss_of_score == Some(Loss::Squared) { 16.0 } else { 4.0 };
            let gap = |share: f64| (share - 1.0) * whole;
            let half = if loss_of_score == Some(Loss::Squared) { 0.25 } else { 0.5 };
            let score = |value, low, high| Score { value, low, high };
            let came = Scored {
                loss: loss_of_score,
                error: score(2.0, 1.9, 2.1),
                public_alone: Some(score(4.0, 3.9, 4.1)),
                difference: Some(score(gap(half), gap(0.9 * half), gap(1.1 * half))),
                largest_error: Some(50.0),
                ..Scored::default()
            };
            let verdict = came.verdict().unwrap_or_default();
            assert!(verdict.starts_with("better: 50"), "{verdict}");
            let exact = Errors {
                task,
                loss,
                model: 0.2,
                public_alone: Some(0.4),
                no_privacy: None,
                trivial: None,
                records: None,
                persons: None,
                further: None,
            };
            let exact = exact.verdict().sentences.concat();
            assert!(exact.starts_with("Half the error of public data alone"), "{exact}");
        }
    }
}

#[test]
fn other_settings_that_are_better_have_the_only_promise() {
    let case = [[1.0; 2], [0.5; 2], [0.8; 2], [0.95; 2]];
    let mut advice = results(&[case, case]).advice(0.5);
    let base = Player::method(PLAYERS[0]);
    let changed = base.variants().remove(0);
    let standing = PlayerStanding { ratio: 0.6, best_in: 2, ..case_standing() };
    advice.settings = vec![Variant { player: changed.clone(), standing, ratio: 0.75 }];
    assert_eq!(advice.to_take(), Some(&changed));
    let said = advice.sentences().join(" ");
    let head = format!(
        "use {}: 25 % less error than {}, better in 2 of 2 rehearsals, and 40 % less mean squared \
         error than public data alone.",
        changed.in_a_sentence(),
        base.in_a_sentence()
    );
    assert!(said.contains(&head), "{said}");
    assert_eq!(said.matches("A run should").count(), 1, "{said}");
    assert!(!said.contains("20 %"), "{said}");
    // A report has the promise of the plan that ran beside it, and no other one.
    for plan in [&changed, &base] {
        let beside = advice.beside_plan(plan, 0.5).join(" ");
        assert!(!beside.contains("A run should") && !beside.contains("than public"), "{beside}");
        assert_eq!(beside.contains("which this run did not use"), *plan == base, "{beside}");
    }
}

#[test]
fn who_has_played_in_fewer_cases_comes_after_the_others() {
    let case = [[1.0; 2], [0.5; 2], [0.9; 2], [0.6; 2]];
    let mut found = results(&[case, case]);
    found.losses.remove(&(1, 3, 0));
    let advice = found.advice(0.5);
    let titles: Vec<String> = advice.sorted().map(|line| line.player.id()).collect();
    assert_eq!(titles, ["no_privacy", "public_shape", "public_only", "target_only"]);
    assert!(advice.so_far()[0].contains("is 'public model, corrected', from"));
}

#[test]
fn one_case_of_several_promises_nothing() {
    let case = [[1.0; 2], [0.5; 2], [0.5; 2], [0.6; 2]];
    let mut found = results(&[case, case]);
    let plan = Player::method(PLAYERS[0]);
    let whole = found.advice(0.5);
    assert!(whole.expectation(&plan, 0.5).is_some());
    assert!(whole.so_far()[0].contains("a run should have"), "{}", whole.so_far()[0]);
    found.losses.retain(|(case, ..), _| *case == 0);
    let early = found.advice(0.5);
    assert_eq!((early.expectation(&plan, 0.5), early.promised(&plan, 0.5)), (None, None));
    let said = &early.so_far()[0];
    assert!(said.contains("from 1 of 2 rehearsals: too few") && !said.contains('%'), "{said}");
}

#[test]
fn a_method_with_another_than_the_least_mean_is_advised_with_its_reason() {
    let wild = |ratio: f64| [[1.0; 2], [0.5; 2], [ratio; 2], [0.8; 2]];
    let advice = results(&[wild(0.5), wild(1.2)]).advice(0.5);
    assert_eq!(advice.choice[0], Some(3));
    let why = "'public model, corrected' has the lower mean (0.775 against 0.800 × public data alone), \
               but its worst rehearsal was worse (1.20 against 0.80).";
    for said in [advice.sentences(), advice.so_far()] {
        assert!(said.iter().any(|it| it == why), "{said:?}");
    }
    let near = [[1.0; 2], [0.5; 2], [0.8, 1.5], [0.82, 0.5]];
    let advice = results(&[near, near]).advice(0.5);
    assert_eq!(advice.choice[0], Some(3));
    let said = advice.sentences().join(" ");
    assert!(said.contains("but it did worse at nearby ε."), "{said}");
    let plain = results(&[wild(0.7), wild(0.75)]).advice(0.5).sentences().join(" ");
    assert!(!plain.contains("lower mean"), "{plain}");
}

#[test]
fn who_has_played_in_fewer_cases_is_not_chosen_before_the_others() {
    let case = [[1.0; 2], [0.5; 2], [0.9; 2], [0.95; 2]];
    let mut found = results(&[case, case]);
    found.losses.remove(&(1, 2, 0));
    assert_eq!(found.advice(0.5).choice[0], Some(3));
    let nothing = results(&[]).advice(1.0);
    assert_eq!(nothing.sentences(), ["Nothing is known yet."]);
}

#[test]
fn one_case_does_not_decide_for_all_others() {
    // In the last case public data alone are hopeless, and the second method is the better
    // one of two that are both much better; elsewhere it loses to them by half.
    let usual = [[1.0; 2], [0.5; 2], [0.95; 2], [1.5; 2]];
    let odd = [[1.0; 2], [0.1; 2], [0.3; 2], [0.1; 2]];
    let advice = results(&[usual, usual, odd]).advice(0.5);
    assert_eq!(advice.choice, [Some(2), Some(2)]);
}

#[test]
fn who_loses_next_to_nothing_is_preferred_to_public_data_alone_and_it_is_said() {
    let nearly = [[1.0; 2], [0.5; 2], [1.015; 2], [1.5; 2]];
    let advice = results(&[nearly, nearly]).advice(0.5);
    assert_eq!(advice.choice, [Some(2), Some(2)]);
    let said = advice.sentences().join(" ");
    assert!(said.contains("Public data alone, which cost nothing, did as well"), "{said}");
    let clearly = [[1.0; 2], [0.5; 2], [1.03; 2], [1.5; 2]];
    assert_eq!(results(&[clearly, clearly]).advice(0.5).choice, [Some(0), Some(0)]);
}

#[test]
fn an_epsilon_of_which_its_neighbours_say_otherwise_is_not_believed() {
    let case = [[1.0; 2], [0.5; 2], [0.8; 2], [0.79, 1.3]];
    assert_eq!(results(&[case, case]).advice(0.5).choice, [Some(2), Some(2)]);
}

#[test]
fn a_clear_loss_at_an_epsilon_is_not_advised_whatever_its_neighbours_say() {
    let case = [[1.0; 2], [0.5; 2], [1.1, 0.3], [1.5; 2]];
    assert_eq!(results(&[case, case]).advice(0.5).choice, [Some(0), Some(2)]);
}

fn case_standing() -> PlayerStanding {
    PlayerStanding {
        ratio: 1.0,
        least: 0.5,
        most: 1.0,
        best_in: 1,
        cases: 2,
        spread: None,
        score: None,
        log_loss: None,
    }
}

#[test]
fn repetitions_say_how_far_they_are_apart() {
    let case = [[1.0; 2], [0.5; 2], [0.9; 2], [0.95; 2]];
    let mut found = results(&[case]);
    assert_eq!(found.advice(0.5).lines[2].standings[0].unwrap().spread, None);
    found.add(
        TrialResult { case: 0, player: 0, repetition: 1, epsilon: None },
        Played::of_loss(1.0),
    );
    found.add(
        TrialResult { case: 0, player: 2, repetition: 1, epsilon: Some(0.5) },
        Played::of_loss(0.9 * 1.21),
    );
    let spread = found.advice(0.5).lines[2].standings[0].unwrap().spread.unwrap();
    assert!((spread.ln() - 1.21_f64.ln() / 2.0_f64.sqrt()).abs() < 1e-12);
    // 10 % less error is as much as chance changes it.
    let standing = PlayerStanding { ratio: 0.9, spread: Some(1.1), ..case_standing() };
    let doubt = "The records are too few to rely on this forecast";
    let advice = found.advice(0.5);
    assert!(advice.limits(standing).concat().contains(doubt), "{:?}", advice.limits(standing));
    let plan = Player::method("public_shape");
    assert!(advice.expectation(&plan, 0.5).is_some());
    for sure in [
        PlayerStanding { spread: Some(1.02), ..standing },
        PlayerStanding { ratio: 0.99, ..standing },
        PlayerStanding { spread: None, ..standing },
    ] {
        assert_eq!(advice.limits(sure), [""; 0]);
    }
}

#[test]
fn a_larger_epsilon_for_fewer_records_is_said() {
    let case = [[1.0; 2], [0.5; 2], [0.9; 2], [0.95; 2]];
    let mut found = results(&[case]);
    let said = |found: &Results| found.advice(0.5).sentences().join(" ");
    assert!(!said(&found).contains("times as large"), "{}", said(&found));
    found.known.grown = 2.34;
    assert!(said(&found).contains("So ε was up to 2.3 times as large"), "{}", said(&found));
}

#[test]
fn odds_are_rounded_up() {
    assert_eq!([0.5, 1.0, 4.0, 30.0].map(odds), ["1.65", "2.72", "55", "2e13"]);
}

#[test]
fn a_model_that_is_no_number_counts_as_bad_not_as_missing() {
    let case = [[1.0; 2], [0.5; 2], [f64::NAN; 2], [f64::INFINITY; 2]];
    let advice = results(&[case]).advice(0.5);
    assert_eq!(advice.choice[0], Some(0));
    assert!((advice.lines[2].standings[0].unwrap().ratio - WORST).abs() < 1e-9);
}

#[test]
fn a_gain_that_the_released_score_cannot_show_is_said_and_another_one_is_not() {
    let case = [[1.0; 2], [0.5; 2], [0.87; 2], [0.95; 2]];
    let mut advice = results(&[case]).advice(0.5);
    advice.judged_by = Some(ErrorMeasure::MeanAbsolute);
    let plan = Player::method("public_shape");
    let score = |half_width| ForeseenScore { records: 90, half_width };
    let said = |advice: &Advice| advice.expectation(&plan, 0.5).unwrap();
    assert!(!said(&advice).contains("The score"), "no score is released");
    let wide = "The score tells the gain to ± 24 % (95 %, 90 records): it cannot confirm 13 %.";
    let mut with = |half_width: f64| {
        advice.lines[2].standings[0].as_mut().unwrap().score = Some(score(half_width));
        [advice.sentences().join(" "), said(&advice)].map(|text| text.contains(wide))
    };
    assert_eq!([with(0.24), with(0.08)], [[true, true], [false, false]]);
    // Where nothing is gained, nothing has to be confirmed.
    let mut advice = results(&[[[1.0; 2], [0.5; 2], [1.01; 2], [1.5; 2]]]).advice(0.5);
    advice.lines[2].standings[0].as_mut().unwrap().score = Some(score(0.24));
    assert!(!advice.sentences().join(" ").contains("held-out"));
}

#[test]
fn an_advice_says_its_error_and_one_of_earlier_builds_the_square_or_the_logarithm() {
    let case = [[1.0; 2], [0.5; 2], [0.9; 2], [0.95; 2]];
    let mut advice = results(&[case]).advice(0.5);
    advice.judged_by = Some(ErrorMeasure::MeanAbsolute);
    assert!(advice.sentences()[0].ends_with("less mean absolute error than public data alone."));
    let json = serde_json::to_string(&advice).unwrap();
    assert_eq!(serde_json::from_str::<Advice>(&json).unwrap(), advice);
    let earlier = json.replace(r#","measure":"mean_absolute""#, "").replace(r#","behind":0"#, "");
    assert!(earlier.len() + 30 < json.len());
    let earlier: Advice = serde_json::from_str(&earlier).unwrap();
    assert_eq!(earlier.measure(), ErrorMeasure::MeanSquare);
    let classes = Player::method("profiled_logistic");
    let lines = vec![PlayerLine { player: classes, ..earlier.lines[2].clone() }];
    assert_eq!(Advice { lines, ..earlier }.measure(), ErrorMeasure::Logarithmic);
}

#[test]
fn a_method_that_falls_behind_is_not_tried_again_and_that_is_said() {
    // The second method has 30 % more error than the first at ε 0.5, and 15 % more at ε 2.
    let found = results(&[[[1.0; 2], [0.5; 2], [0.8, 0.8], [1.04, 0.92]]]);
    assert_eq!(found.near(1, 2.0, Thinning::Usual, &BTreeSet::new()).len(), 4, "as near as 20 %");
    // A trial of wide records takes long, so that a smaller bound counts once all cases have played.
    assert_eq!(found.near(1, 2.0, Thinning::Wide, &BTreeSet::new()).len(), 4);
    // After one case of them, the best three play on however far behind they are.
    assert_eq!(found.near(1, 0.5, Thinning::Wide, &BTreeSet::new()).len(), 4);
    assert_eq!(
        found.near(2, 2.0, Thinning::Wide, &BTreeSet::new()).into_iter().collect::<Vec<_>>(),
        [0, 1, 2]
    );
    assert_eq!(
        found.near(2, 2.0, Thinning::Usual, &BTreeSet::new()).into_iter().collect::<Vec<_>>(),
        [0, 1, 2]
    );
    assert_eq!(
        found.near(1, 0.5, Thinning::Usual, &BTreeSet::new()).into_iter().collect::<Vec<_>>(),
        [0, 1, 2]
    );
    // One that fell behind after the first case is not compared with the others again.
    let mut early = results(&[[[1.0; 2], [0.5; 2], [0.8; 2], [0.5; 2]]; 2]);
    early.losses.remove(&(1, 3, 0));
    assert_eq!(
        early.near(2, 0.5, Thinning::Wide, &BTreeSet::new()).into_iter().collect::<Vec<_>>(),
        [0, 1, 2]
    );
    // While it still plays, all are compared in the cases that they share.
    let near = early.near(2, 0.5, Thinning::Wide, &BTreeSet::from([3]));
    assert_eq!(near.into_iter().collect::<Vec<_>>(), [0, 1, 3]);
    // Where public data alone are far better than every method, the best one still plays at other ε.
    let lost = results(&[[[1.0; 2], [0.5; 2], [1.5, 0.9], [2.0, 1.9]]]);
    assert_eq!(
        lost.near(1, 0.5, Thinning::Usual, &BTreeSet::new()).into_iter().collect::<Vec<_>>(),
        [0, 1, 2]
    );
    assert_eq!(found.advice(0.5).behind, 0);
    let mut less = found;
    less.losses.remove(&(0, 3, 1));
    let said = less.advice(0.5).sentences().join(" ");
    assert!(said.contains("1 method fell behind and was tried less often"), "{said}");
    less.failed.insert(3, "it needs classes".to_owned());
    assert_eq!(less.advice(0.5).behind, 0, "it does not fit at all");
}

#[test]
fn rounds_have_every_trial_once_and_begin_with_the_plans_own_epsilon() {
    let of = |player, repetition, epsilon| TrialResult { case: 0, player, repetition, epsilon };
    let all = [of(0, 0, None), of(1, 0, Some(1.0)), of(1, 0, Some(2.0)), of(1, 1, Some(1.0))];
    let rounds = |thinning: Thinning, all: &[TrialResult]| thinning.rounds(all.to_vec(), 1.0);
    let part = |from: usize, to: usize| all[from..to].to_vec();
    let usual = [part(0, 2), part(2, 3), part(3, 4), Vec::new(), Vec::new()];
    assert_eq!(rounds(Thinning::Usual, &all), usual);
    let whole = [all.to_vec(), Vec::new(), Vec::new(), Vec::new(), Vec::new()];
    assert_eq!(rounds(Thinning::Deep, &all), whole);
    // With wide records only the best methods of the first case play in the others, and only trials at the
    // plan's ε are repeated.
    let further = [TrialResult { case: 1, ..all[1] }, of(1, 1, Some(2.0))];
    let [other_case, again] = further.map(|trial| vec![trial]);
    let wide = [part(0, 2), other_case, part(2, 3), part(3, 4), again];
    assert_eq!(rounds(Thinning::Wide, &[all.to_vec(), further.to_vec()].concat()), wide);
}

#[test]
fn of_few_records_the_plans_own_epsilon_is_repeated_before_others_are_tried() {
    let each = |epsilon| {
        (0..8).map(move |repetition| TrialResult { case: 0, player: 1, repetition, epsilon })
    };
    let all: Vec<TrialResult> = each(Some(2.0)).chain(each(Some(1.0))).collect();
    let rounds = Thinning::Few.rounds(all, 1.0);
    let told: Vec<Vec<(Option<f64>, u64)>> = rounds
        .iter()
        .map(|round| round.iter().map(|trial| (trial.epsilon, trial.repetition)).collect())
        .collect();
    let part = |epsilon, of: std::ops::Range<u64>| -> Vec<(Option<f64>, u64)> {
        of.map(|repetition| (Some(epsilon), repetition)).collect()
    };
    let expected = [part(1.0, 0..2), part(1.0, 2..8), part(2.0, 0..2), Vec::new(), part(2.0, 2..8)];
    assert_eq!(told, expected);
    // Nobody plays the last ones anew.
    let found = results(&[[[1.0; 2], [0.5; 2], [0.8; 2], [0.8; 2]]]);
    assert_eq!(found.near(2, 2.0, Thinning::Few, &BTreeSet::new()).len(), 4);
    assert!(found.near(ROUNDS, 2.0, Thinning::Few, &BTreeSet::new()).is_empty());
}

#[test]
fn settings_are_compared_in_the_repetitions_that_both_have() {
    let mut found = results(&[[[1.0; 2], [0.5; 2], [0.8; 2], [1.2; 2]]]);
    let more = TrialResult { case: 0, player: 2, repetition: 1, epsilon: Some(0.5) };
    // Other records, of which everybody errs twice as much and the method errs less often.
    found.add(TrialResult { player: 0, epsilon: None, ..more }, Played::of_loss(2.0));
    found.add(more, Played::of_loss(0.8));
    let trials = found.vary(0.5, 1);
    for trial in trials.iter().filter(|trial| trial.repetition == 0) {
        found.add(*trial, Played::of_loss(0.76));
    }
    let advice = found.advice(0.5);
    assert!((advice.settings[0].ratio - 0.95).abs() < 1e-12, "{:?}", advice.settings);
}
