//! Public data alone on private records, as all scores beside them say together.

use super::question::{Question, is_public, public_of};
use crate::data::{DatasetDefinition, PreparationSettings};
use crate::evaluation::{Score, Scored, together};
use crate::methods::PublicPredictor;
use crate::store::{ArchivedRun, PlanDefinition};

/// Public data alone of one set of public data.
#[derive(Debug, Clone, PartialEq)]
pub struct PublicAlone<'a> {
    /// The names of the public datasets.
    pub of: Vec<&'a str>,
    /// The error that all scores say together, and the rest of the most precise of them.
    pub score: Scored,
    /// How many scores say it.
    pub scores: usize,
    model: ModelOf<'a>,
}

/// What is asked, and what the model of public data alone and the cap of its errors depend on. The
/// method of the plan, its settings and its ε are of the model beside it; seeds are left out, because
/// they change little.
#[derive(Debug, Clone, PartialEq)]
struct ModelOf<'a> {
    question: Question<'a>,
    data: Vec<&'a DatasetDefinition>,
    preparation: Option<&'a PreparationSettings>,
    public_records: Option<usize>,
    given: Option<PublicPredictor>,
    cap: Option<f64>,
}

impl<'a> PublicAlone<'a> {
    /// What the score of a run says of public data alone.
    fn of_run(run: &'a ArchivedRun, score: &Scored) -> Option<Self> {
        let score = match (is_public(run), score.builds_on_a_model) {
            (true, _) => score.clone(),
            (false, true) => return None,
            (false, false) => score.public_alone.map(|_| score.clone().of_public_data())?,
        };
        let of = public_of(run);
        let data = run.data.iter().filter(|it| of.contains(&it.name.as_str())).collect();
        let plan = run.plan.as_ref();
        let model = ModelOf {
            question: Question::of(run),
            data,
            preparation: plan.map(|plan| &plan.preparation),
            public_records: plan.and_then(|plan| plan.public_records),
            given: plan.map(PlanDefinition::given_predictor),
            cap: score.largest_error,
        };
        Some(Self { of, score, scores: 1, model })
    }

    /// The error of one answer for all, which these public data chose.
    pub fn one_answer(&self) -> Option<Scored> {
        Some(Scored { error: self.score.one_answer?, ..self.score.clone() })
    }

    /// Whether both tell of one model. Data may have changed between two runs, so their ranges overlap.
    fn agrees_with(&self, other: &Self) -> bool {
        let one = self.score.error;
        self.is_same_as(other) && other.part_within(&[one.low, one.high]).is_some()
    }

    fn is_same_as(&self, other: &Self) -> bool {
        self.of == other.of && self.model == other.model
    }

    /// The part of its range that is within these ends.
    fn part_within(&self, [low, high]: &[f64; 2]) -> Option<[f64; 2]> {
        let Score { low: own_low, high: own_high, .. } = self.score.error;
        let [low, high] = [low.max(own_low), high.min(own_high)];
        (low <= high).then_some([low, high])
    }

    /// Whether the model of a run is compared with these.
    pub fn is_beside(&self, run: &'a ArchivedRun) -> bool {
        let own = run.told().and_then(|score| Self::of_run(run, score));
        own.is_some_and(|it| it.agrees_with(self))
    }
}

/// A group, the part of the ranges that all of them have in common, and what else they share.
type Group<'a, K> = (Vec<(usize, PublicAlone<'a>)>, [f64; 2], K);

/// Puts those together that tell of one model, with their places. Ranges of which any two overlap have a part in common.
fn grouped<'a, K: PartialEq>(
    told: impl IntoIterator<Item = (usize, PublicAlone<'a>, K)>,
) -> Vec<Vec<(usize, PublicAlone<'a>)>> {
    let mut groups: Vec<Group<K>> = Vec::new();
    for (at, one, key) in told {
        let found = groups.iter_mut().find_map(|(group, common, other)| {
            let is_same = *other == key && group[0].1.is_same_as(&one);
            let common_now = one.part_within(common).filter(|_| is_same)?;
            Some((group, common, common_now))
        });
        if let Some((group, common, common_now)) = found {
            *common = common_now;
            group.push((at, one));
        } else {
            let Score { low, high, .. } = one.score.error;
            groups.push((vec![(at, one)], [low, high], key));
        }
    }
    groups.into_iter().map(|(group, ..)| group).collect()
}

/// Public data alone of each set of public data, as the scores of these runs say together.
pub fn public_alone<'a>(runs: impl IntoIterator<Item = &'a ArchivedRun>) -> Vec<PublicAlone<'a>> {
    let told = runs.into_iter().filter_map(|run| PublicAlone::of_run(run, run.told()?));
    let groups = grouped(told.map(|it| (0, it, ())));
    let groups = groups.into_iter().map(|group| group.into_iter().map(|(_, it)| it).collect());
    let pooled = |group: Vec<PublicAlone<'a>>| {
        let errors: Vec<Score> = group.iter().map(|it| it.score.error).collect();
        let one_answers: Vec<Score> = group.iter().filter_map(|it| it.score.one_answer).collect();
        let width = |it: &PublicAlone| it.score.error.high - it.score.error.low;
        let best = group.into_iter().min_by(|one, other| width(one).total_cmp(&width(other)))?;
        let (error, scores) = Score::pooled(&errors)?;
        let one_answer = Score::pooled(&one_answers).map(|(error, _)| error);
        let score = Scored { error, one_answer, ..best.score.clone() };
        Some(PublicAlone { score, scores, ..best })
    };
    groups.filter_map(pooled).collect()
}

/// The runs whose scores are of the same held-out records and the same public data alone.
fn on_the_same_records(runs: &[ArchivedRun]) -> Vec<Vec<usize>> {
    let told = runs.iter().enumerate().filter_map(|(at, run)| {
        let told = PublicAlone::of_run(run, run.score.as_ref()?)?;
        // The seed and the share of held-out records choose them.
        let plan = run.plan.as_ref()?;
        let sample = (plan.seed, plan.holdout.to_bits(), told.score.records);
        Some((at, told, sample))
    });
    let indices = |group: Vec<(usize, PublicAlone)>| group.into_iter().map(|(at, _)| at).collect();
    grouped(told).into_iter().map(indices).collect()
}

/// Tells of every run what all scores of its records say together.
pub fn join_scores(runs: &mut [ArchivedRun]) {
    for run in runs.iter_mut() {
        run.joined = None;
    }
    for group in on_the_same_records(runs) {
        let scores: Vec<&Scored> = group.iter().filter_map(|at| runs[*at].score.as_ref()).collect();
        let joined = together(&scores);
        for (at, joined) in group.into_iter().zip(joined) {
            runs[at].joined = Some(joined).filter(|it| runs[at].score.as_ref() != Some(it));
        }
    }
}
