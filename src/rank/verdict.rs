//! What a table of scores says, in words.

use std::cmp::Ordering;

use super::line::{Line, Place, listed};
use super::repeat::Repeat;
use super::settings::Order;

/// What a useless candidate is no better than.
fn nothing(order: Order) -> &'static str {
    match order {
        Order::Energy | Order::Distance => "noise",
        Order::Error => "the same answer for everybody",
    }
}

/// About one candidate.
pub fn of_line(line: &Line, order: Order) -> String {
    let place = match line.place {
        Place::Broken => {
            let trouble = line.trouble.as_deref().unwrap_or("it failed in a repeat");
            // What the columns differ in is a table of its own.
            return format!("left out: {}", trouble.lines().next().unwrap_or_default());
        }
        Place::Best if line.as_floor => "best; as good as more private records".to_owned(),
        Place::Best => "best".to_owned(),
        Place::Tied(Some(more)) => {
            format!("as good as the best; {more} more repeats would tell")
        }
        Place::Tied(None) => "as good as the best".to_owned(),
        Place::Behind => "behind the best".to_owned(),
    };
    if line.as_noise { format!("{place}; no better than {}", nothing(order)) } else { place }
}

/// About private records that say less than they should: exact, so for the curator alone.
pub(super) fn of_private(repeats: &[&Repeat], directions: usize) -> Option<String> {
    let rank = repeats.iter().map(|repeat| repeat.rank).min()?;
    if repeats.iter().all(|repeat| repeat.alike) {
        return Some(
            "all private records that were drawn are the same: whatever has a record like it looks equally good; check the private features and its filter".to_owned(),
        );
    }
    (rank < directions).then(|| {
        format!(
            "the private gradients span only {rank} of k = {directions} directions: look for private records or features that are all the same"
        )
    })
}

/// About all of them, the best first.
pub fn of_all(lines: &[Line], order: Order) -> String {
    let nothing = nothing(order);
    let named = |keep: &dyn Fn(&Line) -> bool| -> Vec<&str> {
        lines.iter().filter(|line| keep(line)).map(|line| line.name.as_str()).collect()
    };
    let Some(best) = lines.first().filter(|line| line.place == Place::Best) else {
        return "no dataset could be ranked".to_owned();
    };
    let mut parts = Vec::new();
    if best.as_noise {
        parts.push(format!("use none: not even {} is better than {nothing}", best.name));
    } else {
        parts.push(format!("use {}", best.name));
        let tied = named(&|line| matches!(line.place, Place::Tied(_)) && !line.as_noise);
        if !tied.is_empty() {
            let more = lines.iter().filter_map(|line| match line.place {
                Place::Tied(more) if !line.as_noise => Some(more),
                _ => None,
            });
            let more: Option<Vec<usize>> = more.collect();
            let would = match more.and_then(|more| more.into_iter().max()) {
                _ if order == Order::Error => String::new(),
                None => " (and more repeats would hardly help)".to_owned(),
                Some(most) => format!(" ({most} more repeats would)"),
            };
            parts.push(format!("{} cannot be told apart from it{would}", listed(&tied)));
        }
        let noise = named(&|line| line.place != Place::Broken && line.as_noise);
        if !noise.is_empty() {
            parts.push(format!("{} {} no better than {nothing}", listed(&noise), are(noise.len())));
        }
    }
    let broken = named(&|line| line.place == Place::Broken);
    if !broken.is_empty() {
        parts.push(format!("{} {} left out", listed(&broken), was(broken.len())));
    }
    parts.join("; ")
}

/// Of candidates in the order of their errors: which one energy would put first, if another.
pub(super) fn by_energy(lines: &[Line]) -> Option<String> {
    let energy = |line: &&Line| line.summary.as_ref().map(|summary| summary.energy.mean);
    let known = lines.iter().filter(|line| energy(line).is_some());
    let most = known.max_by(|a, b| energy(a).partial_cmp(&energy(b)).unwrap_or(Ordering::Equal))?;
    let first = lines.first()?;
    (most.name != first.name).then(|| {
        format!(
            "energy, which does not look at labels, would put {} first; the error of a dataset's \
             own model says more about the error to come",
            most.name
        )
    })
}

fn are(count: usize) -> &'static str {
    if count == 1 { "is" } else { "are" }
}

fn was(count: usize) -> &'static str {
    if count == 1 { "was" } else { "were" }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(name: &str, place: Place, as_noise: bool) -> Line {
        Line {
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
            line("hospital_b", Place::Best, false),
            line("hospital_c", Place::Tied(Some(12)), false),
            line("clinic", Place::Behind, false),
            line("cifar", Place::Behind, true),
            line("cells", Place::Broken, false),
        ];
        assert_eq!(
            of_all(&lines, Order::Energy),
            "use hospital_b; hospital_c cannot be told apart from it (12 more repeats would); \
             cifar is no better than noise; cells was left out"
        );
        assert_eq!(
            of_line(&lines[1], Order::Energy),
            "as good as the best; 12 more repeats would tell"
        );
        assert_eq!(of_line(&lines[3], Order::Energy), "behind the best; no better than noise");
        assert!(of_line(&lines[4], Order::Energy).contains("3 features"));
        let mut differing = line("renamed", Place::Broken, false);
        differing.trouble = Some("its columns do not go\n  column  a.csv  b.csv".to_owned());
        assert_eq!(of_line(&differing, Order::Energy), "left out: its columns do not go");
        assert_eq!(
            of_all(&lines, Order::Error),
            "use hospital_b; hospital_c cannot be told apart from it; cifar is no better than the \
             same answer for everybody; cells was left out"
        );
        let useless = [line("noise", Place::Best, true)];
        assert_eq!(
            of_all(&useless, Order::Energy),
            "use none: not even noise is better than noise"
        );
        assert_eq!(
            of_all(&[line("a", Place::Broken, false)], Order::Energy),
            "no dataset could be ranked"
        );
    }

    #[test]
    fn many_names_are_counted() {
        let lines: Vec<Line> = std::iter::once(line("a", Place::Best, false))
            .chain((0..8).map(|i| line(&format!("b{i}"), Place::Tied(None), false)))
            .collect();
        let words = of_all(&lines, Order::Energy);
        assert!(words.contains("b0, b1, b2, b3 and 4 more cannot be told apart"), "{words}");
    }
}
