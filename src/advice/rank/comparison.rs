//! Turns many repeats into a table.
//!
//! The shared parts of a repeat (weights, labels, the private batch) move all scores together, so
//! candidates are compared by their *differences* within a repeat. The mean difference from the
//! best has a t-interval over the repeats, and a candidate whose interval contains 0 cannot be told
//! apart from the best. Errors of the candidates' own models are compared in the same way, record
//! by record.

use super::candidate_line::{Alongside, CandidateLine, CandidatePlace, Mean, MeanScores, Paired};
use super::candidates::Lineup;
use super::records::Supply;
use super::repeat::Repeat;
use super::settings::CandidateOrder;
use super::subspace::SpanScore;
use super::verdict;

#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// The candidates, the best first, broken ones last.
    pub lines: Vec<CandidateLine>,
    /// Other private records: as good as data can be at this m.
    pub floor: MeanScores,
    /// Noise.
    pub ceiling: MeanScores,
    /// The order; by energy if not all candidates have an error.
    pub order: CandidateOrder,
    pub repeats: usize,
    /// m
    pub batch: usize,
    /// k
    pub directions: usize,
    pub verdict: String,
    pub remarks: Vec<String>,
}

/// The score, where larger is better.
fn goodness(order: CandidateOrder, score: &SpanScore) -> f64 {
    match order {
        CandidateOrder::Distance => -score.distance,
        CandidateOrder::Energy | CandidateOrder::Error => score.energy,
    }
}

/// The numbers that order a candidate (larger is better), and those of noise for comparison, from
/// the same repeats or records.
struct Goods {
    own: Vec<f64>,
    nothing: Vec<f64>,
}

fn negated(losses: &[f64]) -> Vec<f64> {
    losses.iter().map(|loss| -loss).collect()
}

impl Comparison {
    /// The comparison of at least two repeats.
    pub(super) fn of(
        lineup: &Lineup,
        repeats: &[&Repeat],
        alongside: &[Option<Alongside>],
        order: CandidateOrder,
    ) -> Self {
        let column = |pick: &dyn Fn(&Repeat) -> Option<&SpanScore>| -> Option<Vec<SpanScore>> {
            repeats.iter().map(|repeat| pick(repeat).cloned()).collect()
        };
        let goods = |scores: &[SpanScore]| -> Vec<f64> {
            scores.iter().map(|score| goodness(order, score)).collect()
        };
        let summary = |scores: &[SpanScore]| MeanScores::of(&scores.iter().collect::<Vec<_>>());
        let floor = column(&|repeat| Some(&repeat.floor)).unwrap_or_default();
        let ceiling = column(&|repeat| Some(&repeat.ceiling)).unwrap_or_default();
        let columns: Vec<Option<Vec<SpanScore>>> = (0..lineup.candidates.len())
            .map(|index| column(&|repeat| repeat.scores[index].as_ref()))
            .collect();
        let errors: Option<Vec<Option<Goods>>> = (order == CandidateOrder::Error)
            .then(|| {
                let of = |(column, alongside): (&Option<Vec<SpanScore>>, &Option<Alongside>)| {
                    if column.is_none() {
                        return Some(None);
                    }
                    let (own, nothing) = alongside.as_ref()?.losses.as_ref()?;
                    Some(Some(Goods { own: negated(own), nothing: negated(nothing) }))
                };
                columns.iter().zip(alongside).map(of).collect()
            })
            .flatten();
        let order = if order == CandidateOrder::Error && errors.is_none() {
            CandidateOrder::Energy
        } else {
            order
        };
        let all_goods = errors.unwrap_or_else(|| {
            let of = |scores: &Option<Vec<SpanScore>>| {
                scores.as_ref().map(|it| Goods { own: goods(it), nothing: goods(&ceiling) })
            };
            columns.iter().map(of).collect()
        });
        let mean = |index: usize| {
            all_goods[index].as_ref().map_or(f64::NEG_INFINITY, |goods| Mean::of(&goods.own).mean)
        };
        let mut ranks: Vec<usize> = (0..columns.len()).collect();
        ranks.sort_by(|a, b| mean(*b).total_cmp(&mean(*a)));
        let best = ranks.first().and_then(|index| all_goods[*index].as_ref());
        let best_goods = best.map_or(&[][..], |goods| &goods.own);
        let mut lines: Vec<CandidateLine> = Vec::new();
        for (rank, index) in ranks.into_iter().enumerate() {
            let candidate = &lineup.candidates[index];
            let mut line = CandidateLine {
                name: candidate.name.clone(),
                records: candidate.data.as_ref().map_or(0, Supply::len),
                place: CandidatePlace::Broken,
                summary: None,
                behind: None,
                as_floor: false,
                as_noise: false,
                alongside: alongside.get(index).cloned().flatten(),
                verdict: String::new(),
                trouble: candidate.data.as_ref().err().map(|error| error.what().to_owned()),
            };
            if let (Some(scores), Some(Goods { own, nothing })) =
                (&columns[index], &all_goods[index])
            {
                let behind = Paired::of(best_goods, own);
                line.place = match rank {
                    0 => CandidatePlace::Best,
                    _ if behind.is_clear() => CandidatePlace::Behind,
                    // An error does not depend on repeats.
                    _ if order == CandidateOrder::Error => CandidatePlace::Tied(None),
                    _ => CandidatePlace::Tied(behind.more_repeats()),
                };
                line.summary = Some(summary(scores));
                line.behind = Some(behind);
                line.as_floor =
                    order != CandidateOrder::Error && !Paired::of(&goods(&floor), own).is_clear();
                line.as_noise = !Paired::of(own, nothing).is_clear();
            }
            line.verdict = verdict::of_line(&line, order);
            lines.push(line);
        }
        let by_energy =
            (order == CandidateOrder::Error).then(|| verdict::by_energy(&lines)).flatten();
        Self {
            verdict: verdict::of_all(&lines, order),
            lines,
            floor: summary(&floor),
            ceiling: summary(&ceiling),
            order,
            repeats: repeats.len(),
            batch: lineup.batch,
            directions: lineup.directions,
            remarks: lineup
                .remarks()
                .into_iter()
                .chain(verdict::of_private(repeats, lineup.directions))
                .chain(by_energy)
                .collect(),
        }
    }
}
