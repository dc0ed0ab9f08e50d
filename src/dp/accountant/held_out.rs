//! The cost of what a run releases about records that it held out of training.
//!
//! A run splits the private records by their position and a public seed, never by their contents.
//! Training sees one part; a *held-out* release sees the other part and the outputs of training.
//! Neighbours differ in one position, which is in one of the two parts:
//!
//! * In training: the held-out release sees the same records on both sides. Given the outputs of
//!   training it has the same law, so it adds nothing to the privacy loss.
//! * Held out: training sees the same records on both sides and has no privacy loss. Only the loss
//!   of the held-out releases is left.
//!
//! So the transcript is dominated by the worse of two pairs, not by their sum. Let μ_T be the ratio
//! of everything Gaussian that training draws from all its records, and μ_H that of the held-out
//! releases, Gaussian as well. A Gaussian mechanism of ratio max(μ_T, μ_H) together with everything
//! else that training draws dominates both pairs: drawing more never reveals less, and a smaller
//! ratio never reveals more. It is the same list with a Gaussian of ratio √(μ_H² − μ_T²) *instead
//! of* the held-out releases, where μ_H is larger, and with nothing instead of them where it is
//! not. [`counted`] turns a run into this list. Domination carries over to every composition,
//! including adaptive ones, so runs are added up by these lists.
//!
//! Only actual draws cover held-out releases: for a run that ended early, μ_T is that of its draws.
//!
//! Under zero-out the same holds: a null record has the position of the record that it replaces.
//! Releases that are not Gaussian count in full.

use super::event::{Event, Query, QueryKind};

/// The least squared ratio that a held-out release counts for, so that the slack of its grid counts
/// as well (see [`super::composition`]).
const LEAST: f64 = 1e-18;

fn is_gaussian(event: &Event) -> bool {
    event.mechanism.query.kind == QueryKind::Gaussian
}

/// Σ count·(sensitivity/σ)² of Gaussian events.
fn mu_squared<'a>(events: impl Iterator<Item = &'a Event>) -> f64 {
    let square = |event: &Event| {
        let ratio = event.mechanism.query.sensitivity / event.mechanism.noise.scale;
        event.count as f64 * ratio * ratio
    };
    events.map(square).filter(|square| square.is_finite()).sum()
}

/// The squared ratio of everything Gaussian that training draws. Held-out releases up to this size
/// are free.
pub(super) fn covered(run: &[Event]) -> f64 {
    mu_squared(run.iter().filter(|event| !event.held_out && is_gaussian(event)))
}

/// The events that *one run* counts for. Held-out releases count only for the part that training
/// does not cover.
pub fn counted(run: &[Event]) -> Vec<Event> {
    let apart = |event: &Event| event.held_out && is_gaussian(event);
    let theirs = mu_squared(run.iter().filter(|event| apart(event)));
    // Both sums are rounded.
    let beyond = (theirs * (1.0 + 1e-12) - covered(run) * (1.0 - 1e-12)).max(LEAST);
    let count = |event: &Event| {
        if !apart(event) || event.count == 0 {
            return event.clone();
        }
        let Query { sensitivity, .. } = event.mechanism.query;
        let mut left = Event { held_out: false, ..event.clone() };
        // Each is reduced in the same proportion as all of them together.
        left.mechanism.query.sensitivity =
            sensitivity * (beyond / theirs).sqrt() * (1.0 + 4.0 * f64::EPSILON);
        left
    };
    run.iter().map(count).collect()
}

#[cfg(test)]
mod tests {
    use super::super::event::{Adjacency, Noise, Rule};
    use super::super::{Composition, Guarantee};
    use super::*;

    fn event(kind: QueryKind, ratio: f64, count: u64, held_out: bool) -> Event {
        Event {
            label: if held_out { "score" } else { "gradient" }.into(),
            what: String::new(),
            mechanism: kind.query(ratio, 3).with(Noise::ideal(1.0)),
            count,
            adjacency: Adjacency::ReplaceOne,
            held_out,
        }
    }

    fn guarantee(events: &[Event]) -> Guarantee {
        Composition::of(events).unwrap().guarantee(1e-5).unwrap()
    }

    #[test]
    fn a_run_costs_the_worse_of_its_two_parts() {
        use QueryKind::Gaussian as G;
        let both = |training: f64, held_out: f64| {
            guarantee(&[event(G, training, 4, false), event(G, held_out, 1, true)]).epsilon
        };
        let alone = |ratio: f64| guarantee(&[event(G, ratio, 1, false)]).epsilon;
        for (training, held_out) in [(0.2, 0.4), (0.2, 0.1), (0.2, 0.9), (0.05, 0.5)] {
            let worse = f64::max(2.0 * training, held_out);
            let (ours, worse) = (both(training, held_out), alone(worse));
            assert!(ours >= worse && ours <= worse * (1.0 + 1e-6), "{ours} {worse}");
        }
        // If there are several held-out releases, all of them count.
        let two = [event(G, 0.3, 1, false), event(G, 0.3, 2, true), event(G, 0.4, 1, true)];
        let ratio = (2.0 * 0.09 + 0.16_f64).sqrt();
        assert!((guarantee(&two).epsilon / alone(ratio) - 1.0).abs() < 1e-6);
    }

    #[test]
    fn what_training_did_not_draw_covers_nothing() {
        use QueryKind::Gaussian as G;
        let run = |drawn| [event(G, 0.1, drawn, false), event(G, 0.4, 1, true)];
        let alone = guarantee(&[event(G, 0.4, 1, false)]).epsilon;
        for drawn in [0, 1, 16] {
            assert!((guarantee(&run(drawn)).epsilon / alone - 1.0).abs() < 1e-6, "{drawn}");
        }
        assert!(guarantee(&run(17)).epsilon > alone * 1.01);
    }

    #[test]
    fn runs_add_up_by_what_each_of_them_counts_for() {
        use QueryKind::Gaussian as G;
        let first = [event(G, 0.5, 1, false), event(G, 0.1, 1, true)];
        let second = [event(G, 0.1, 1, false), event(G, 0.5, 1, true)];
        let all: Vec<Event> = [first, second].iter().flat_map(|run| counted(run)).collect();
        let sum = Composition::of(&all).unwrap();
        assert!((sum.mu - 0.5_f64.sqrt()).abs() < 1e-9, "{}", sum.mu);
        // In one list they would cover each other.
        assert_eq!(counted(&all), all);
    }

    #[test]
    fn only_gaussian_noise_covers_and_is_covered() {
        let laplace = event(QueryKind::Laplace, 0.2, 1, true);
        let sampled = event(QueryKind::SampledSum { rate: 0.1 }, 1.0, 9, false);
        let selection = event(QueryKind::Selection(Rule::Exponential), 0.2, 9, false);
        let gaussian = event(QueryKind::Gaussian, 0.2, 1, true);
        for training in [sampled, selection] {
            let run = [training.clone(), laplace.clone()];
            assert_eq!(counted(&run), run);
            let run = counted(&[training.clone(), gaussian.clone()]);
            let ratio = run[1].mechanism.query.sensitivity;
            assert!((ratio - 0.2).abs() < 1e-9 && !run[1].held_out);
        }
    }
}
