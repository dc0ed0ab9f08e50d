//! Which of several scored models to take.

use super::names::with_epsilon;
use super::telling::{if_blanked, ranked, summed, telling};
use super::{Answer, PUBLIC_ALONE, RANGES, Totals};
use crate::evaluation::Scored;
use crate::evaluation::words::less_error;
use crate::privacy::accountant::{delta_words, round_up};
use crate::privacy::ledger::Total;
use crate::rehearsal::advice::{capital, may_decide};
use crate::statements::public_alone::{PublicAlone, public_alone};
use crate::statements::question::{is_public, public_of};
use crate::store::ArchivedRun;

/// Up to so many runs that cannot be told apart are named.
const MOST_NAMED: usize = 3;

/// From so many scores on, the least of them is expected to be too low.
const MANY: usize = 3;

/// A run and its released score.
type Entry<'a> = (&'a ArchivedRun, &'a Scored);

/// Runs whose scores can be compared.
pub(super) struct Choice<'a> {
    runs: &'a [&'a ArchivedRun],
    total: Totals<'a>,
    name: &'a dyn Fn(&ArchivedRun) -> String,
    /// Plans of public data alone on the same records. They may have no score.
    of_public_data: Vec<&'a ArchivedRun>,
    /// The runs with private records whose score says something, the least error first.
    private: Vec<Entry<'a>>,
    publics: Vec<PublicAlone<'a>>,
}

impl<'a> Choice<'a> {
    pub(super) fn new(
        runs: &'a [&'a ArchivedRun],
        total: Totals<'a>,
        of_public_data: Vec<&'a ArchivedRun>,
        name: &'a dyn Fn(&ArchivedRun) -> String,
    ) -> Self {
        let mut private: Vec<Entry> = with_private_records(runs).collect();
        private.retain(|(_, score)| !score.says_nothing());
        private.sort_by(|(_, one), (_, other)| one.error.value.total_cmp(&other.error.value));
        let mut publics = public_alone(runs.iter().copied());
        publics.retain(|it| !it.score.says_nothing());
        Self { runs, total, name, of_public_data, private, publics }
    }

    pub(super) fn answer(&self) -> Answer {
        let useful = self.private.iter().filter(|it| self.is_useful(it.1));
        let useful: Vec<Entry> = useful.copied().collect();
        let Some(&best) = useful.first() else {
            return self.by_promise().unwrap_or_else(|| self.without_useful());
        };
        // Another method may have a better public model than the one with which this run is compared.
        let is_better = |it: &PublicAlone| {
            self.among(&it.score).is_clearly_less(&self.among(best.1)) == Some(true)
        };
        if self.publics.iter().any(is_better) {
            return self.public_data("that of another plan is clearly better than every run");
        }
        self.least(best, &useful)
    }

    /// Among many scores chance makes one look better: their ranges have to hold together.
    fn among(&self, score: &Scored) -> Scored {
        score.among(self.private.len())
    }

    fn is_useful(&self, score: &Scored) -> bool {
        is_useful(&self.among(score), &self.publics)
    }

    fn name(&self, run: &ArchivedRun) -> String {
        (self.name)(run)
    }

    /// What may be told of a run, or of its score.
    fn telling(&self, what: &str, run: &ArchivedRun) -> String {
        telling(what, run, (self.runs, (self.total)(&run.id)))
    }

    /// The answer that takes, of the useful runs that cannot be told apart, the one with the least
    /// error: all of their ε is spent, and counts for the choice. One that is not clearly better than
    /// its own public data alone counts, too, if its error is no higher.
    fn least(&self, best: Entry<'a>, useful: &[Entry<'a>]) -> Answer {
        let is_worse = |other: &Entry| self.among(best.1).is_clearly_less(&self.among(other.1));
        let counts = |it: &&Entry<'a>| {
            let is_low = it.1.error.value <= best.1.error.value && it.1.beyond_constant().is_none();
            let is_near = it.0.id == best.0.id || is_worse(it) == Some(false);
            is_near && (is_low || useful.iter().any(|useful| useful.0.id == it.0.id))
        };
        let near: Vec<Entry> = self.private.iter().filter(counts).copied().collect();
        // One that is shown to be better than one answer for all is preferred to one that is not.
        let may_be_below = |score: &Scored| score.is_below_constant() != Some(false);
        let is_shown = near.iter().any(|(_, score)| may_be_below(score));
        let competes = |(_, score): &Entry| !is_shown || may_be_below(score);
        let (run, score) = near.iter().copied().find(competes).unwrap_or(best);
        let verdict = if self.is_useful(score) {
            score.gain_words()
        } else {
            let clear = self.name(best.0);
            format!("{}, and {clear} is clearly better than public data alone", score.named_error())
        };
        let others: Vec<Entry> = near.into_iter().filter(|it| it.0.id != run.id).collect();
        let competing = others.iter().filter(|it| competes(it)).count();
        let rest = self.private.iter().filter(|it| it.0.id != run.id);
        let rest: Vec<(Entry, Option<bool>)> = rest.map(|it| (*it, is_worse(it))).collect();
        let beside = score.beside_constant();
        let error = format!("Error {}{}{beside}; {RANGES}.", score.short(), on_records(score));
        let mut said = vec![error];
        said.extend(match others.as_slice() {
            [] => self.beside_worse(score, &rest),
            [other] => Some(self.beside_one(other.0, competing)),
            several => Some(self.beside_several(several, competing)),
        });
        let unknown = rest.iter().find(|(_, is_worse)| is_worse.is_none());
        said.extend(unknown.map(|((other, _), _)| {
            let name = self.name(other);
            capital(&format!("{name} cannot be compared: it has another cap."))
        }));
        let is_later = |it: &Scored| Some(it) != run.score.as_ref();
        let later = run.later_scores.iter().filter(|it| it.held_out && is_later(&it.score));
        said.extend(later.map(|it| format!("A later score of it: {}.", it.score.brief())));
        said.extend(score.contradiction().map(|it| format!("{}.", capital(&it))));
        let is_least = self.private.first().is_some_and(|it| it.0.id == run.id);
        if is_least && self.private.len() >= MANY {
            let count = self.private.len();
            said.push(format!("The least of {count} scores is likely to be too low."));
        }
        let model = with_epsilon(self.name(run), run);
        let shared = self.telling("model and score", run);
        let of = Answer::of(&model, format!("{verdict}."), shared);
        Answer { reasons: said, taken: Some(run.id.clone()), ..of }
    }

    /// How the run that is taken compares with runs that are all worse.
    fn beside_worse(&self, score: &Scored, rest: &[(Entry, Option<bool>)]) -> Option<String> {
        match rest {
            [((other, of_other), Some(true))] => {
                let errors = [score.error.value, of_other.error.value];
                let less = less_error(errors, score.loss.is_some());
                Some(format!("{less} than {}; the ranges do not overlap.", self.name(other)))
            }
            [_, _, ..] if rest.iter().all(|(_, is_worse)| *is_worse == Some(true)) => {
                Some("Every other run is clearly worse.".to_owned())
            }
            _ => None,
        }
    }

    fn beside_one(&self, other: &ArchivedRun, competing: usize) -> String {
        let has = match competing {
            0 => "is not shown to be better than one answer for all",
            _ => "has no lower error",
        };
        capital(&format!("{} cannot be told apart, and {has}.", self.name(other)))
    }

    fn beside_several(&self, several: &[Entry], competing: usize) -> String {
        let count = several.len();
        let of = match competing {
            all if all == count => "it has the least error",
            0 => "it alone is shown to be better than one answer for all",
            _ => "of those shown to be better than one answer for all, it has the least error",
        };
        let names: Vec<String> = several.iter().map(|(other, _)| self.name(other)).collect();
        let names = match names.split_last() {
            Some((last, first)) if count <= MOST_NAMED => {
                capital(&format!("{} and {last}", first.join(", ")))
            }
            _ => format!("{count} others"),
        };
        format!("{names} cannot be told apart; {of}.")
    }

    /// The answer that takes a run because of its rehearsal.
    fn by_promise(&self) -> Option<Answer> {
        let (run, score) = promised(with_private_records(self.runs), &self.publics)?;
        let is_better = |it: &PublicAlone| it.score.is_clearly_less(score) == Some(true);
        if self.publics.iter().any(is_better) {
            return None;
        }
        let public = self.publics.iter().find(|it| it.is_beside(run))?;
        let promise = score.foretold_words().unwrap_or_default();
        let verdict = format!(
            "its rehearsal promises {promise} than public data alone; its score agrees, but is too \
             imprecise to confirm it."
        );
        let error = format!(
            "Error {}, that of public data alone {}{},{}{}; {RANGES}.",
            score.short(),
            score.error_text(&public.score.error),
            if public.scores > 1 {
                format!(" from {} scores", public.scores)
            } else {
                String::new()
            },
            on_records(score),
            score.beside_constant()
        );
        let name = with_epsilon(self.name(run), run);
        let answer = Answer::of(&name, verdict, self.telling("model and score", run));
        Some(Answer { reasons: vec![error], taken: Some(run.id.clone()), ..answer })
    }

    /// The answer where no run is clearly better than public data alone.
    fn without_useful(&self) -> Answer {
        let Some(&(run, score)) = self.private.first() else {
            let has_score = with_private_records(self.runs).next().is_some();
            return self.public_data(if has_score {
                "the scores are too imprecise to show that a run is better"
            } else {
                "no other run has a score"
            });
        };
        let is_worse = |(_, it): &Entry| self.among(it).difference.is_some_and(|it| it.low > 0.0);
        let why = match (self.private.as_slice(), self.private.iter().all(is_worse)) {
            ([_], true) => {
                format!("{} is {}", self.name(run), score.verdict().unwrap_or_default())
            }
            ([_], false) => {
                let gain = score.brief_gain().map_or_else(String::new, |it| format!(": {it}"));
                format!("{} is not clearly better{gain}", self.name(run))
            }
            (_, true) => "every run is clearly worse".to_owned(),
            (_, false) => "no run is clearly better".to_owned(),
        };
        let other = |model, verdict| Answer::of(model, verdict, self.telling("the scores", run));
        let mut answer = if let Some(why) = score.beyond_constant() {
            other("no model", format!("{} is {why}.", self.name(run)))
        } else if score.builds_on_a_model {
            other(score.beside(), format!("{why}."))
        } else {
            let mut answer =
                self.public_data(&format!("{why}, and public data would have cost no ε"));
            let broken = score.contradiction().filter(|it| !why.contains(it));
            answer.reasons.extend(broken.map(|it| format!("{}.", capital(&it))));
            answer
        };
        if self.private.iter().any(|it| is_useful(it.1, &self.publics)) {
            answer.reasons.push(format!(
                "By its own range one run is better; among {} scores that may be chance.",
                self.private.len()
            ));
        }
        answer
    }

    /// The answer that takes public data alone.
    fn public_data(&self, why: &str) -> Answer {
        // The most precise release says how good they are, and is about one set of public data.
        let width = |it: &&PublicAlone| it.score.error.high - it.score.error.low;
        let best = self.publics.iter().min_by(|one, other| width(one).total_cmp(&width(other)));
        let error = |PublicAlone { score, scores, .. }: &PublicAlone| {
            let of = if *scores > 1 { format!(" from {scores} scores") } else { on_records(score) };
            let cap = score.cap().map_or_else(String::new, |cap| format!(", capped at {cap}"));
            let (name, error, beside) =
                (capital(score.kind()), score.short(), score.beside_constant());
            format!("{name} of {PUBLIC_ALONE}{cap}: {error}{of}{beside}; {RANGES}.")
        };
        let is_of_best = |run: &&ArchivedRun| best.is_none_or(|it| public_of(run) == it.of);
        let run = self.of_public_data.iter().copied().find(is_of_best);
        // Nothing is taken that is not shown to be better than no model.
        if let Some(score) =
            best.map(|it| &it.score).filter(|it| it.is_below_constant() == Some(false))
        {
            let (records, constant) = (score.records, score.one_answer_name());
            let verdict = format!(
                "with {records} held-out records none is shown to beat the {constant} for all; {why}."
            );
            let run = self.private.first().map(|it| it.0).or_else(|| self.runs.first().copied());
            let telling = run.map_or_else(String::new, |run| self.telling("the scores", run));
            let reasons = best.map(error).into_iter().collect();
            return Answer { reasons, ..Answer::of("no model yet", verdict, telling) };
        }
        let name = self.public_name(best.map(|it| it.of.as_slice()), run);
        let of = Answer::of(&name, format!("{why}."), self.telling_of_public_data());
        let how = "For its model, run a plan with the method 'public data alone'.".to_owned();
        let how = run.is_none().then_some(how);
        let taken = run.map(|run| run.id.clone());
        Answer { reasons: best.map(error).into_iter().chain(how).collect(), taken, ..of }
    }

    /// The name of public data alone: with its public data where runs have others, and with the name of
    /// its run.
    fn public_name(&self, set: Option<&[&str]>, run: Option<&ArchivedRun>) -> String {
        let set = set.map(<[&str]>::to_vec).or_else(|| run.map(public_of)).unwrap_or_default();
        let is_one = self.runs.iter().all(|run| public_of(run) == set);
        let of_set = if is_one { String::new() } else { format!(" ({})", set.join(" + ")) };
        // The plan may be called what it is.
        let is_said = |name: &String| name.trim_matches('\'').starts_with(PUBLIC_ALONE);
        let named = run.map(|run| self.name(run)).filter(|name| !is_said(name));
        let named = named.map_or_else(String::new, |name| format!(", {name}"));
        format!("{PUBLIC_ALONE}{of_set}{named}")
    }

    /// What may be told of public data alone. Scores, and a ranking before them, chose it.
    fn telling_of_public_data(&self) -> String {
        let runs = self.runs;
        let total = runs.first().and_then(|run| (self.total)(&run.id));
        let whom = if_blanked(runs, total.as_ref());
        let beside = total.as_ref().map_or_else(String::new, Total::beside);
        let all = match (total, summed(runs)) {
            (Some(total), _) => {
                let delta = delta_words(total.delta);
                format!("all spending on these records is {} (δ {delta})", total.words())
            }
            (None, Some(sum)) => {
                format!("it is ε {} (δ {})", round_up(sum.epsilon, 4), delta_words(sum.delta))
            }
            (None, None) => "the ε of their runs counts".to_owned(),
        };
        format!(
            "that model with anybody: it used no private record. Scores chose it; with them, {all}{whom}{beside}.{}",
            ranked(runs)
        )
    }
}

fn with_private_records<'a>(runs: &'a [&'a ArchivedRun]) -> impl Iterator<Item = Entry<'a>> {
    let private = runs.iter().filter(|run| !is_public(run));
    private.filter_map(|run| Some((*run, run.told()?)))
}

/// Whether a model is clearly better than public data alone. A score that was not compared with them
/// is compared with those of the other runs.
fn is_useful(score: &Scored, publics: &[PublicAlone]) -> bool {
    let helps = match score.difference {
        Some(gap) => gap.high < 0.0,
        None => publics.iter().all(|it| score.is_clearly_less(&it.score) == Some(true)),
    };
    helps && score.beyond_constant().is_none()
}

/// The run that its rehearsal promised to be better than public data alone, where scores are too
/// imprecise to say so. Its ε is spent, and both estimates are on its side, so it is expected to have the
/// least error. Nothing speaks against it: no score is clearly worse, and together those of all such
/// runs say the same, each by itself and beside what all scores say of public data alone. The promise
/// chooses among them, so that chance favours none.
fn promised<'a>(
    private: impl Iterator<Item = Entry<'a>>,
    publics: &[PublicAlone],
) -> Option<Entry<'a>> {
    let has_promise = |(_, score): &Entry| score.foretold.as_ref().is_some_and(may_decide);
    let of: Vec<Entry> = private.filter(has_promise).filter(|it| !it.1.builds_on_a_model).collect();
    let gains = of.iter().filter_map(|(_, score)| Some((score.difference?, score.public_alone?)));
    let together: f64 = gains.map(|(gap, public)| gap.value / public.value).sum();
    let beside = of.iter().filter_map(|(run, score)| {
        let public = publics.iter().find(|it| it.is_beside(run))?;
        Some(score.error.value / public.score.error.value - 1.0)
    });
    let beside: f64 = beside.sum();
    let is_denied = |score: &Scored| {
        let is_worse = score.difference.is_none_or(|gap| gap.low > 0.0);
        is_worse || score.contradiction().is_some() || score.beyond_constant().is_some()
    };
    let agree = together < 0.0 && beside < 0.0;
    if !agree || of.iter().any(|(_, score)| is_denied(score)) {
        return None;
    }
    let gain = |(_, score): &Entry| score.foretold.map_or(0.0, |gain| gain.value);
    let spent = |(run, _): &Entry| run.guarantee.map_or(f64::INFINITY, |it| it.epsilon);
    of.into_iter().max_by(|one, other| {
        gain(one).total_cmp(&gain(other)).then(spent(other).total_cmp(&spent(one)))
    })
}

fn on_records(score: &Scored) -> String {
    format!(" on {} held-out records", score.records)
}
