//! Turns many repeats into a table.
//!
//! The shared parts of a repeat (weights, labels, the private batch) move all scores together, so
//! candidates are compared by their *differences* within a repeat. The mean difference from the
//! best has a t-interval over the repeats, and a candidate whose interval contains 0 cannot be told
//! apart from the best. Errors of the candidates' own models are compared in the same way, record
//! by record.

use serde::{Deserialize, Serialize};

use super::candidate_line::{Alongside, CandidateLine, CandidatePlace, Mean, MeanScores, Paired};
use super::candidates::RankingSetup;
use super::records::Supply;
use super::repeat::Repeat;
use super::settings::CandidateOrder;
use super::subspace::SpanScore;
use super::verdict;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// The candidates, the best first, broken ones last.
    pub lines: Vec<CandidateLine>,
    /// Other private records: as good as data can be at this m.
    pub floor: MeanScores,
    /// Noise.
    pub ceiling: MeanScores,
    pub order: CandidateOrder,
    /// The table in the second order, with the verdicts of this one: by GSD where this one is by error,
    /// and by error where this one is by GSD and all candidates have an error.
    pub other: Option<Box<Comparison>>,
    /// The error of the best answer that is the same for all private records.
    pub constant: Option<Mean>,
    /// Whether an error is a share of wrong answers, and not one of numbers.
    pub classes: bool,
    /// Whether errors are in units of the label. Those of earlier builds are shares of its range.
    #[serde(default)]
    pub in_label_units: bool,
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
        CandidateOrder::Energy => score.energy,
        CandidateOrder::Distance | CandidateOrder::Error => -score.distance,
    }
}

/// The numbers that order a candidate (larger is better), and those of noise for comparison, from
/// the same repeats or records.
struct LineScores {
    own: Vec<f64>,
    nothing: Vec<f64>,
}

fn negated(losses: &[f64]) -> Vec<f64> {
    losses.iter().map(|loss| -loss).collect()
}

impl Comparison {
    /// What the constant answer is, which the private records themselves chose.
    pub fn constant_name(&self) -> &'static str {
        if self.in_label_units { "private median for all" } else { "commonest class for all" }
    }

    /// The comparison of at least two repeats, in this order and in a second one.
    pub(super) fn of(
        setup: &RankingSetup,
        repeats: &[&Repeat],
        alongside: &[Option<Alongside>],
        order: CandidateOrder,
    ) -> Self {
        let mut first = Self::in_order(setup, repeats, alongside, order);
        let second = match first.order {
            CandidateOrder::Distance => CandidateOrder::Error,
            CandidateOrder::Energy | CandidateOrder::Error => CandidateOrder::Distance,
        };
        let mut other = Self::in_order(setup, repeats, alongside, second);
        if let Some(differ) = verdict::by_gsd(&first, &other) {
            first.remarks.insert(0, differ);
        }
        // One verdict on a dataset, in whichever order it is shown.
        (other.verdict, other.remarks) = (first.verdict.clone(), first.remarks.clone());
        for line in &mut other.lines {
            let judged = first.lines.iter().find(|judged| judged.name == line.name);
            if let Some(judged) = judged {
                (line.place, line.as_floor, line.as_noise) =
                    (judged.place, judged.as_floor, judged.as_noise);
                line.verdict.clone_from(&judged.verdict);
            }
        }
        first.other = (other.order == second).then(|| Box::new(other));
        first
    }

    fn in_order(
        setup: &RankingSetup,
        repeats: &[&Repeat],
        alongside: &[Option<Alongside>],
        order: CandidateOrder,
    ) -> Self {
        let values = |scores: &[&SpanScore]| -> Vec<f64> {
            scores.iter().map(|score| goodness(order, score)).collect()
        };
        let floor: Vec<&SpanScore> = repeats.iter().map(|repeat| &repeat.floor).collect();
        let ceiling: Vec<&SpanScore> = repeats.iter().map(|repeat| &repeat.ceiling).collect();
        let column = |index: usize| repeats.iter().map(|it| it.scores[index].as_ref()).collect();
        let columns: Vec<Option<Vec<&SpanScore>>> =
            (0..setup.candidates.len()).map(column).collect();
        let errors: Option<Vec<Option<LineScores>>> = (order == CandidateOrder::Error)
            .then(|| {
                let of = |(column, alongside): (&Option<Vec<_>>, &Option<Alongside>)| {
                    if column.is_none() {
                        return Some(None);
                    }
                    let (own, nothing) = alongside.as_ref()?.losses.as_ref()?;
                    Some(Some(LineScores { own: negated(own), nothing: negated(nothing) }))
                };
                columns.iter().zip(alongside).map(of).collect()
            })
            .flatten();
        let by_error = errors.is_some();
        let order = match order {
            CandidateOrder::Error if !by_error => CandidateOrder::Distance,
            order => order,
        };
        let all_scores = errors.unwrap_or_else(|| {
            let of =
                |it: &Vec<&SpanScore>| LineScores { own: values(it), nothing: values(&ceiling) };
            columns.iter().map(|column| column.as_ref().map(of)).collect()
        });
        let mean = |index: usize| {
            all_scores[index]
                .as_ref()
                .map_or(f64::NEG_INFINITY, |scores| Mean::of(&scores.own).mean)
        };
        let mut ranks: Vec<usize> = (0..columns.len()).collect();
        ranks.sort_by(|a, b| mean(*b).total_cmp(&mean(*a)));
        let best = ranks.first().and_then(|index| all_scores[*index].as_ref());
        let best_scores = best.map_or(&[][..], |scores| &scores.own);
        let mut lines: Vec<CandidateLine> = Vec::new();
        for (rank, index) in ranks.into_iter().enumerate() {
            let candidate = &setup.candidates[index];
            let mut line = CandidateLine {
                name: candidate.name.clone(),
                records: candidate.data.as_ref().map_or(0, Supply::len),
                place: CandidatePlace::Broken,
                summary: None,
                behind: None,
                as_floor: false,
                as_noise: false,
                alongside: alongside.get(index).and_then(Option::as_ref).map(Alongside::in_a_line),
                verdict: String::new(),
                trouble: candidate.data.as_ref().err().map(|error| error.what().to_owned()),
            };
            if let (Some(scores), Some(LineScores { own, nothing })) =
                (&columns[index], &all_scores[index])
            {
                let behind = Paired::of(best_scores, own);
                line.place = match rank {
                    0 => CandidatePlace::Best,
                    _ if behind.is_clear() => CandidatePlace::Behind,
                    // An error does not depend on repeats.
                    _ if by_error => CandidatePlace::Tied(None),
                    _ => CandidatePlace::Tied(behind.more_repeats()),
                };
                line.summary = Some(MeanScores::of(scores));
                line.behind = Some(behind);
                line.as_floor = !by_error && !Paired::of(&values(&floor), own).is_clear();
                line.as_noise = !Paired::of(own, nothing).is_clear();
            }
            line.verdict = verdict::of_line(&line, order);
            lines.push(line);
        }
        Self {
            verdict: verdict::of_all(&lines, order),
            lines,
            floor: MeanScores::of(&floor),
            ceiling: MeanScores::of(&ceiling),
            order,
            other: None,
            constant: alongside.iter().flatten().find_map(|it| {
                it.losses.as_ref().map(|(_, constant)| Mean::with_standard_error(constant))
            }),
            classes: setup.classes.is_some(),
            in_label_units: setup.label_range.is_some(),
            repeats: repeats.len(),
            batch: setup.batch,
            directions: setup.directions,
            remarks: setup
                .remarks()
                .into_iter()
                .chain(verdict::of_private(repeats, setup.directions))
                .collect(),
        }
    }

    /// The table in this order, if there is one.
    pub fn by(&self, order: CandidateOrder) -> Option<&Self> {
        [Some(self), self.other.as_deref()].into_iter().flatten().find(|it| it.order == order)
    }

    /// What the table says against a plan that uses these datasets.
    pub fn against(&self, used: &[String]) -> Option<String> {
        verdict::against(&self.lines, self.order, used)
    }

    /// Whether the verdict on this dataset is that it is of no use.
    pub fn is_useless(&self, name: &str) -> bool {
        self.lines.iter().any(|line| line.name == name && line.as_noise)
    }

    /// The unit of an error, in words.
    pub fn error_unit(&self) -> &'static str {
        match (self.classes, self.in_label_units) {
            (true, _) => "% of answers wrong",
            (false, true) => "units of the label (mean absolute error)",
            (false, false) => "% of the range of labels",
        }
    }
}
