//! The meaning of a table of scores, in words.

use super::candidate_line::{CandidateLine, CandidatePlace, listed};
use super::comparison::Comparison;
use super::released::ReleasedError;
use super::repeat::Repeat;
use super::settings::CandidateOrder;

/// The reference that a useless candidate does not beat.
fn nothing(order: CandidateOrder) -> &'static str {
    match order {
        CandidateOrder::Energy | CandidateOrder::Distance => "noise",
        CandidateOrder::Error => "one answer for all",
    }
}

/// About one candidate.
pub fn of_line(line: &CandidateLine, order: CandidateOrder) -> String {
    match line.place {
        // A set that is of no use is not called the best, or as good as the best.
        _ if line.as_noise && line.place != CandidatePlace::Broken => of_no_use(order),
        CandidatePlace::Broken => {
            let trouble = line.trouble.as_deref().unwrap_or("it failed in a repeat");
            // The differences of the columns are a table of their own.
            format!("left out: {}", trouble.lines().next().unwrap_or_default())
        }
        CandidatePlace::Best if line.as_floor => "best; as good as more private records".to_owned(),
        CandidatePlace::Best => "best".to_owned(),
        CandidatePlace::Tied(Some(more)) => {
            format!("as good as the best; {} would decide", repeats_words(more))
        }
        CandidatePlace::Tied(None) => "as good as the best".to_owned(),
        CandidatePlace::Behind => "behind the best".to_owned(),
    }
}

/// The verdict on a set that is no better than nothing.
fn of_no_use(order: CandidateOrder) -> String {
    match order {
        CandidateOrder::Energy | CandidateOrder::Distance => useless(order).to_owned(),
        CandidateOrder::Error => format!("{}: no better than {}", useless(order), nothing(order)),
    }
}

/// What a set is called that is no better than nothing.
fn useless(order: CandidateOrder) -> &'static str {
    match order {
        CandidateOrder::Energy | CandidateOrder::Distance => "like noise",
        CandidateOrder::Error => "no use alone",
    }
}

/// A remark about private records with too little information: exact, so only for the curator.
pub(super) fn of_private(repeats: &[&Repeat], directions: usize) -> Option<String> {
    let rank = repeats.iter().map(|repeat| repeat.rank).min()?;
    if repeats.iter().all(|repeat| repeat.alike) {
        return Some(
            "all private records that were drawn are the same, so every dataset with such a record looks equally good; check the private features and the filter".to_owned(),
        );
    }
    (rank < directions).then(|| {
        format!(
            "the private gradients span only {rank} of k = {directions} directions: look for private records or features that are all the same"
        )
    })
}

/// About all of them, the best first.
pub fn of_all(lines: &[CandidateLine], order: CandidateOrder) -> String {
    let nothing = nothing(order);
    let named = |keep: &dyn Fn(&CandidateLine) -> bool| -> Vec<&str> {
        lines.iter().filter(|line| keep(line)).map(|line| line.name.as_str()).collect()
    };
    let Some(best) = lines.first().filter(|line| line.place == CandidatePlace::Best) else {
        return "no dataset could be ranked".to_owned();
    };
    let mut parts = Vec::new();
    if best.as_noise {
        parts.push(match order {
            // A method can correct a model that is wrong.
            CandidateOrder::Error => format!(
                "no dataset is of use alone: not even the model of {}, which errs least, is better \
                 than {nothing}; a private run may correct it",
                best.name
            ),
            _ => format!("every dataset is like noise, even {}: use none", best.name),
        });
    } else {
        parts.push(format!("use {}", best.name));
        let tied = named(&|line| matches!(line.place, CandidatePlace::Tied(_)) && !line.as_noise);
        if !tied.is_empty() {
            let more = lines.iter().filter_map(|line| match line.place {
                CandidatePlace::Tied(more) if !line.as_noise => Some(more),
                _ => None,
            });
            let more: Option<Vec<usize>> = more.collect();
            let would = match more.and_then(|more| more.into_iter().max()) {
                _ if order == CandidateOrder::Error => String::new(),
                None => " (more repeats would probably not change that)".to_owned(),
                Some(most) => format!(" ({} would decide)", repeats_words(most)),
            };
            parts.push(format!("{} may be as good{would}", listed(&tied)));
        }
        let noise = named(&|line| line.place != CandidatePlace::Broken && line.as_noise);
        if !noise.is_empty() {
            let (names, are) = (listed(&noise), are(noise.len()));
            parts.push(match order {
                CandidateOrder::Error => format!("{names} {are} of {}", of_no_use(order)),
                _ => format!("{names} {are} {}", of_no_use(order)),
            });
        }
    }
    let broken = named(&|line| line.place == CandidatePlace::Broken);
    if !broken.is_empty() {
        parts.push(format!("{} {} left out", listed(&broken), was(broken.len())));
    }
    parts.join("; ")
}

/// Where errors and GSD put different candidates first: which of them to believe.
pub(super) fn by_gsd(first: &Comparison, other: &Comparison) -> Option<String> {
    let by = |order| [first, other].into_iter().find(|it| it.order == order)?.lines.first();
    let (by_error, by_gsd) = (by(CandidateOrder::Error)?, by(CandidateOrder::Distance)?);
    (by_error.name != by_gsd.name).then(|| {
        format!(
            "by error {} is first, by GSD {}: the error of a dataset's own model is the better \
             guide to the error of a run; GSD looks at features alone, so labels that are \
             shifted or coded in another way do not change it",
            by_error.name, by_gsd.name
        )
    })
}

/// About the datasets of a plan: those that are no better than nothing, and those behind another that
/// is pooled with them or left out.
pub(super) fn against(
    lines: &[CandidateLine],
    order: CandidateOrder,
    used: &[String],
) -> Option<String> {
    let named = |keep: &dyn Fn(&CandidateLine) -> bool| -> Vec<&str> {
        let lines = lines.iter().filter(|line| used.contains(&line.name) && keep(line));
        lines.map(|line| line.name.as_str()).collect()
    };
    let useless = named(&|line| line.place != CandidatePlace::Broken && line.as_noise);
    if !useless.is_empty() {
        let nothing = nothing(order);
        let (names, are) = (listed(&useless), are(useless.len()));
        return Some(format!(
            "by the ranking, {names} {are} no better than {nothing}, so a rehearsal may promise far too \
             much or too little"
        ));
    }
    let behind = named(&|line| line.place == CandidatePlace::Behind);
    behind_the_best(&lines.first()?.name, &behind, used)
}

/// Datasets that are behind the best one, if the plan pools them with it, or has nothing better.
fn behind_the_best(best: &String, behind: &[&str], used: &[String]) -> Option<String> {
    let why = match used.contains(best) {
        _ if behind.is_empty() => return None,
        true if behind.len() == 1 => "with which this plan pools it",
        true => "with which this plan pools them",
        false if behind.len() == used.len() => "which this plan does not use",
        false => return None,
    };
    let (names, are) = (listed(behind), are(behind.len()));
    Some(format!("by the ranking, {names} {are} behind {best}, {why}"))
}

/// About the datasets of a plan, from released errors: those that are clearly behind the best one.
pub(super) fn against_released(lines: &[ReleasedError], used: &[String]) -> Option<String> {
    let is_behind = |line: &&ReleasedError| {
        let behind = line.behind.map(|it| it.estimate());
        used.contains(&line.name) && behind.is_some_and(|it| it.value > it.half_width)
    };
    let behind: Vec<&str> = lines.iter().filter(is_behind).map(|it| it.name.as_str()).collect();
    behind_the_best(&lines.first()?.name, &behind, used)
}

/// One or two words for a narrow column; [`of_line`] says it in full.
pub fn in_short(line: &CandidateLine, order: CandidateOrder) -> &'static str {
    match line.place {
        CandidatePlace::Broken => "left out",
        _ if line.as_noise => useless(order),
        CandidatePlace::Best => "best",
        CandidatePlace::Tied(_) => "as good",
        CandidatePlace::Behind => "behind",
    }
}

fn repeats_words(more: usize) -> String {
    if more == 1 { "1 more repeat".to_owned() } else { format!("{more} more repeats") }
}

fn are(count: usize) -> &'static str {
    if count == 1 { "is" } else { "are" }
}

fn was(count: usize) -> &'static str {
    if count == 1 { "was" } else { "were" }
}

#[cfg(test)]
mod tests {
    use halflight_privacy_inside::openings::OpenReleased as _;

    use super::super::candidate_line::Mean;
    use super::super::released::Disclosed;
    use super::*;
    use crate::privacy::Released;

    fn line(name: &str, place: CandidatePlace, as_noise: bool) -> CandidateLine {
        CandidateLine {
            name: name.to_owned(),
            records: 100,
            place,
            summary: None,
            behind: None,
            as_floor: false,
            as_noise,
            alongside: None,
            verdict: String::new(),
            trouble: Some("it has 3 features where the private data have 4".to_owned()),
        }
    }

    #[test]
    fn the_verdict_names_the_best_its_equals_and_what_is_useless() {
        let lines = [
            line("hospital_b", CandidatePlace::Best, false),
            line("hospital_c", CandidatePlace::Tied(Some(12)), false),
            line("clinic", CandidatePlace::Behind, false),
            line("cifar", CandidatePlace::Behind, true),
            line("cells", CandidatePlace::Broken, false),
        ];
        assert_eq!(
            of_all(&lines, CandidateOrder::Energy),
            "use hospital_b; hospital_c may be as good (12 more repeats would decide); \
             cifar is like noise; cells was left out"
        );
        assert_eq!(
            of_line(&lines[1], CandidateOrder::Energy),
            "as good as the best; 12 more repeats would decide"
        );
        assert_eq!(of_line(&lines[3], CandidateOrder::Energy), "like noise");
        assert!(of_line(&lines[4], CandidateOrder::Energy).contains("3 features"));
        assert!(
            of_line(&line("x", CandidatePlace::Tied(Some(1)), false), CandidateOrder::Energy)
                .ends_with("1 more repeat would decide")
        );
        let mut differing = line("renamed", CandidatePlace::Broken, false);
        differing.trouble = Some("its columns do not match\n  column  a.csv  b.csv".to_owned());
        assert_eq!(
            of_line(&differing, CandidateOrder::Energy),
            "left out: its columns do not match"
        );
        assert_eq!(
            of_all(&lines, CandidateOrder::Error),
            "use hospital_b; hospital_c may be as good; cifar is of no use alone: no better than \
             one answer for all; cells was left out"
        );
        let useless = [line("noise", CandidatePlace::Best, true)];
        assert_eq!(
            of_all(&useless, CandidateOrder::Energy),
            "every dataset is like noise, even noise: use none"
        );
        assert_eq!(
            of_all(&[line("a", CandidatePlace::Broken, false)], CandidateOrder::Energy),
            "no dataset could be ranked"
        );
    }

    /// The line, the column and the sentence of a table agree: what is of no use is never the best, one
    /// to use, or as good as the best.
    #[test]
    fn a_set_has_one_verdict_in_its_line_in_its_column_and_in_the_sentence() {
        let places = [CandidatePlace::Best, CandidatePlace::Tied(None), CandidatePlace::Behind];
        for order in [CandidateOrder::Error, CandidateOrder::Energy, CandidateOrder::Distance] {
            for first in [true, false] {
                let lines =
                    places.map(|place| line("set", place, first || place != CandidatePlace::Best));
                for line in &lines {
                    let (short, full) = (in_short(line, order), of_line(line, order));
                    assert!(full.starts_with(short), "{short}; {full}");
                    assert_eq!(full.contains("best") || short.contains("good"), !line.as_noise);
                }
                let said = of_all(&lines, order);
                assert_eq!(said.contains("use set"), !first, "{said}");
                assert!(said.contains(useless(order)) || said.contains("of use alone"), "{said}");
                assert!(!said.contains("good"), "{said}");
            }
        }
    }

    #[test]
    fn a_plan_is_told_what_the_ranking_says_against_it() {
        let lines = [
            line("hospital_b", CandidatePlace::Best, false),
            line("clinic", CandidatePlace::Behind, false),
            line("cifar", CandidatePlace::Behind, true),
        ];
        let said = |used: &[&str]| {
            let used: Vec<String> = used.iter().map(|name| (*name).to_owned()).collect();
            against(&lines, CandidateOrder::Distance, &used).unwrap_or_default()
        };
        let useless = "by the ranking, cifar is no better than noise, so a rehearsal may promise";
        assert!(said(&["hospital_b", "cifar"]).starts_with(useless));
        let pooled = said(&["hospital_b", "clinic"]);
        assert!(pooled.starts_with("by the ranking, clinic is behind hospital_b"), "{pooled}");
        // Released errors say it where the noise leaves no doubt.
        let error = |name: &str, behind: f64| ReleasedError {
            name: name.to_owned(),
            error: None,
            behind: (behind > 0.0).then_some(Mean { mean: behind, deviation: 1.0 }),
            first: None,
            elsewhere: None,
            in_label_units: false,
        };
        let errors = [error("hospital_b", 0.0), error("near", 1.9), error("clinic", 2.1)];
        let disclosed = Disclosed::Errors(Released::of_public(errors.to_vec()));
        let used = ["hospital_b", "near", "clinic"].map(str::to_owned);
        assert_eq!(disclosed.against(&used), Some(pooled));
        assert_eq!(disclosed.against(&used[1..]), None);
        assert!(said(&["clinic"]).ends_with("behind hospital_b, which this plan does not use"));
        assert_eq!(said(&["clinic", "unranked"]), "");
        assert_eq!(said(&["hospital_b"]), "");
        assert_eq!(said(&["unranked"]), "");
    }

    #[test]
    fn many_names_are_counted() {
        let lines: Vec<CandidateLine> = std::iter::once(line("a", CandidatePlace::Best, false))
            .chain((0..8).map(|i| line(&format!("b{i}"), CandidatePlace::Tied(None), false)))
            .collect();
        let words = of_all(&lines, CandidateOrder::Energy);
        assert!(words.contains("b0, b1, b2, b3 and 4 more may be as good"), "{words}");
    }
}
