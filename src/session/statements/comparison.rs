//! Which of several models to take, and what may be told of it.

use super::public_alone::{PublicAlone, public_alone};
use super::question::{Question, is_public, public_of};
use super::sum;
use crate::data::Task;
use crate::evaluation::Scored;
use crate::evaluation::words::less_error;
use crate::plot::number::compact_up;
use crate::privacy::accountant::{Guarantee, delta_words, round_up};
use crate::privacy::ledger::{RunId, SharedNoise, Total, TotalStanding};
use crate::privacy::{Adjacency, Watch};
use crate::rehearsal::advice::{capital, may_decide};
use crate::store::ArchivedRun;
use crate::store::archive::{epsilon, last};
use crate::verdict::error_cell;

/// The caution beside exact numbers of several runs.
pub const NOT_FOR_CHOICE: &str = "◆ is not for choosing or telling.";

/// Why a run has another error beside others than by itself.
pub const JOINED: &str = "All scores of the same held-out records are joined: the same public \
                          data alone have one error, and noise is less. What each score says by \
                          itself is in its certificate.";

const PUBLIC_ALONE: &str = "public data alone";

/// What the ranges of an answer are.
const RANGES: &str = "ranges are 95 %";

/// Up to so many runs that cannot be told apart are named.
const MOST_NAMED: usize = 3;

/// From so many scores on, the least of them is expected to be too low.
const MANY: usize = 3;

/// The model to take for one private dataset.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// The model to take.
    pub model: String,
    /// The dataset and the kind of error, if there are several.
    pub about: String,
    /// How good the model is, or why there is none.
    pub verdict: String,
    /// How sure that is, in sentences.
    pub reasons: Vec<String>,
    /// What may be told, and to whom.
    pub telling: String,
    /// Whether exact numbers decided.
    pub is_exact: bool,
    /// The run that is taken.
    pub taken: Option<RunId>,
}

impl Answer {
    fn of(model: &str, verdict: String, telling: String) -> Self {
        let (model, about) = (model.to_owned(), String::new());
        Self { model, about, verdict, reasons: Vec::new(), telling, is_exact: false, taken: None }
    }

    /// Which model to take, why, and what may be told: each a line with a head. Every display shows it
    /// so.
    pub fn lines(&self) -> Vec<(&'static str, String)> {
        let Self { model, about, verdict, reasons, telling, .. } = self;
        let lines = [
            (TAKE, format!("{model}{about}: {verdict}")),
            ("Why", reasons.join(" ")),
            ("Share", telling.clone()),
        ];
        lines.into_iter().filter(|(_, words)| !words.is_empty()).collect()
    }

    /// All lines in one text.
    pub fn text(&self) -> String {
        let line = |(head, words): (&str, String)| format!("{head} {words}");
        self.lines().into_iter().map(line).collect::<Vec<_>>().join(" ")
    }
}

/// The head of the line with the model.
pub const TAKE: &str = "Take";

/// The name of a run's plan.
pub fn plan_of(run: &ArchivedRun) -> &str {
    run.plan.as_ref().map_or("run", |plan| &plan.name)
}

/// The plan of a run; beside other runs of a plan with this name also its ε, or its time if they have
/// one ε.
pub fn usual_name(run: &ArchivedRun, namesakes: &[&ArchivedRun]) -> String {
    match own_epsilon(run, namesakes) {
        _ if namesakes.is_empty() => format!("'{}'", plan_of(run)),
        Some(epsilon) => format!("'{}' at {epsilon}", plan_of(run)),
        None => format!("run {}", run.time),
    }
}

/// The ε of a run, if none of the others has it.
pub fn own_epsilon(run: &ArchivedRun, others: &[&ArchivedRun]) -> Option<String> {
    let own = epsilon(run)?;
    let is_alone = others.iter().all(|it| epsilon(it) != Some(own));
    is_alone.then(|| format!("ε {}", compact_up(own)))
}

/// The other runs whose plan has the name of this one's.
pub fn namesakes<'a>(run: &ArchivedRun, among: &[&'a ArchivedRun]) -> Vec<&'a ArchivedRun> {
    let is_namesake = |it: &&&ArchivedRun| it.id != run.id && plan_of(it) == plan_of(run);
    among.iter().filter(is_namesake).copied().collect()
}

/// The total of the account that a run is charged to, if its ledger is there.
pub type Totals<'a> = &'a dyn Fn(&RunId) -> Option<Total>;

/// The model to take for each private dataset, that of the first run first. Released scores decide;
/// where there are none, exact errors are compared if they may be seen. No number is compared across
/// datasets, labels or kinds of error. `name` gets the other runs whose plan has the same name.
pub fn answers(
    runs: &[&ArchivedRun],
    name: impl Fn(&ArchivedRun, &[&ArchivedRun]) -> String,
    total: Totals,
    watch: &Watch,
) -> Vec<Answer> {
    let mut groups: Vec<(Question, Vec<&ArchivedRun>)> = Vec::new();
    for run in runs.iter().filter(|run| run.told().is_some() || run.is_settled()) {
        let question = Question::of(run);
        match groups.iter_mut().find(|(other, _)| *other == question) {
            Some((_, group)) => group.push(run),
            None => groups.push((question, vec![run])),
        }
    }
    let questions: Vec<Question> = groups.iter().map(|(question, _)| *question).collect();
    // Exact errors decide nothing beside a score on the same data.
    groups.retain(|(own, _)| {
        own.is_scored || !questions.iter().any(|it| it.is_scored && it.is_on_data_of(own))
    });
    let several = groups.len() > 1;
    let of_one = |(question, group): &(Question, Vec<&ArchivedRun>)| {
        let named = |run: &ArchivedRun| name(run, &namesakes(run, group));
        let mut answer = if question.is_scored {
            // Runs of public data alone may have no score.
            let is_own = |run: &&ArchivedRun| {
                let own = Question::of(run);
                is_public(run) && own.is_on_data_of(question) && own.label == question.label
            };
            let of_public_data: Vec<&ArchivedRun> = runs.iter().copied().filter(is_own).collect();
            scored((group, total), &of_public_data, named)
        } else {
            exact(group, named, watch)
        };
        if several {
            let Question { private, test, measure, .. } = *question;
            let alike = groups.iter().filter(|(other, _)| other.is_on_data_of(question)).count();
            let by = if alike > 1 { format!(" by {measure}") } else { String::new() };
            answer.about = format!(" for '{}'{by}", test.unwrap_or(private));
        }
        answer
    };
    groups.iter().map(of_one).collect()
}

/// A run and its released score.
type Entry<'a> = (&'a ArchivedRun, &'a Scored);

/// The answer from the released scores of runs that can be compared.
fn scored(
    (runs, total): (&[&ArchivedRun], Totals),
    of_public_data: &[&ArchivedRun],
    name: impl Fn(&ArchivedRun) -> String,
) -> Answer {
    let all = || runs.iter().filter_map(|run| Some((*run, run.told()?)));
    let mut private: Vec<Entry> = all().filter(|(run, _)| !is_public(run)).collect();
    private.retain(|(_, score)| !score.says_nothing());
    private.sort_by(|(_, one), (_, other)| one.error.value.total_cmp(&other.error.value));
    // Among many scores chance makes one look better: their ranges have to hold together.
    let among = |score: &Scored| score.among(private.len());
    let mut publics = public_alone(runs.iter().copied());
    publics.retain(|it| !it.score.says_nothing());
    let is_useful = |score: &Scored| is_useful(&among(score), &publics);
    let alone = |why: &str| {
        // The most precise release says how good they are, and is about one set of public data.
        let width = |it: &&PublicAlone| it.score.error.high - it.score.error.low;
        let best = publics.iter().min_by(|one, other| width(one).total_cmp(&width(other)));
        let set = best.map(|it| it.of.clone());
        let of_public_data = of_public_data.iter().copied();
        let of_public_data =
            of_public_data.clone().find(|run| set.as_ref().is_none_or(|it| public_of(run) == *it));
        let set = set.or_else(|| of_public_data.map(public_of)).unwrap_or_default();
        let is_one = runs.iter().all(|run| public_of(run) == set);
        let of_set = if is_one { String::new() } else { format!(" ({})", set.join(" + ")) };
        // The plan may be called what it is.
        let is_said = |name: &String| name.trim_matches('\'').starts_with(PUBLIC_ALONE);
        let named = of_public_data.map(&name).filter(|name| !is_said(name));
        let named = named.map_or_else(String::new, |name| format!(", {name}"));
        let named = format!("{of_set}{named}");
        // Scores, and a ranking before them, chose it.
        let (all, whom) = if let Some(total) = runs.first().and_then(|run| total(&run.id)) {
            let all = format!("{} (δ {})", total.words(), delta_words(total.delta));
            (format!("all spending on these records, {all}"), if_blanked(runs, Some(&total)))
        } else {
            let sum = summed(runs).map_or_else(
                || "the ε of their runs".to_owned(),
                |it| format!("ε {} (δ {})", round_up(it.epsilon, 4), delta_words(it.delta)),
            );
            (sum, if_blanked(runs, None))
        };
        let telling = format!(
            "that model with anybody: no ε by itself; with the scores, which chose it, {all}{whom}.{}",
            ranked(runs)
        );
        // Without a score that says so, this is no praise.
        let doubt = best.filter(|it| it.score.is_below_constant() == Some(false));
        let doubt = doubt.map_or_else(String::new, |it| {
            let records = it.score.records;
            format!(
                "; with {records} held-out records no model is shown to beat one answer for all"
            )
        });
        let of = Answer::of(&format!("{PUBLIC_ALONE}{named}"), format!("{why}{doubt}."), telling);
        let error = best.map(|PublicAlone { score, scores, .. }| {
            let of = if *scores > 1 { format!(" from {scores} scores") } else { on_records(score) };
            let (error, beside) = (capital(&score.named_error()), score.beside_constant());
            format!("{error}{of}{beside}; {RANGES}.")
        });
        let how = "To make it, run a plan with the method 'public data alone'.".to_owned();
        let how = of_public_data.is_none().then_some(how);
        let taken = of_public_data.map(|run| run.id.clone());
        Answer { reasons: error.into_iter().chain(how).collect(), taken, ..of }
    };
    let promised = || {
        let (run, score) = promised(all().filter(|(run, _)| !is_public(run)), &publics)?;
        let is_better = |it: &PublicAlone| it.score.is_clearly_less(score) == Some(true);
        if publics.iter().any(is_better) {
            return None;
        }
        let public = publics.iter().find(|it| it.is_beside(run))?;
        let name = with_epsilon(name(run), run);
        Some(on_promise((runs, total(&run.id)), (run, score), (&name, public)))
    };
    let useful: Vec<Entry> = private.iter().copied().filter(|it| is_useful(it.1)).collect();
    let (Some(&least), Some(&best)) = (private.first(), useful.first()) else {
        return promised().unwrap_or_else(|| {
            if private.is_empty() {
                return alone(if all().any(|(run, _)| !is_public(run)) {
                    "the scores are too imprecise to show that a run is better"
                } else {
                    "no other run has a score"
                });
            }
            let mut answer = none_is_useful((runs, total), &private, &name, alone);
            if private.iter().any(|it| self::is_useful(it.1, &publics)) {
                answer.reasons.push(format!(
                    "By its own range one run is better; among {} scores that may be chance.",
                    private.len()
                ));
            }
            answer
        });
    };
    // Another method may have a better public model than the one with which this run is compared.
    let is_better =
        |it: &PublicAlone| among(&it.score).is_clearly_less(&among(best.1)) == Some(true);
    if publics.iter().any(is_better) {
        return alone("that of another plan is clearly better than every run");
    }
    // Of those that cannot be told apart, the one with the least error: all of their ε is spent, and
    // counts for the choice. One that is not clearly better than its own public data alone counts, too,
    // if its error is no higher.
    let is_worse = |other: &Entry| among(best.1).is_clearly_less(&among(other.1));
    let counts = |it: &&Entry| {
        let is_low = it.1.error.value <= best.1.error.value && it.1.beyond_constant().is_none();
        is_useful(it.1) || is_low
    };
    let near = || {
        let near = private.iter().filter(counts);
        near.filter(|it| it.0.id == best.0.id || is_worse(it) == Some(false))
    };
    // One that is shown to be better than one answer for all is preferred to one that is not.
    let may_be_below = |score: &Scored| score.is_below_constant() != Some(false);
    let is_shown = near().any(|(_, score)| may_be_below(score));
    let alike = || near().filter(|(_, score)| !is_shown || may_be_below(score));
    let (run, score) = *alike().next().unwrap_or(&best);
    let good = if is_useful(score) {
        score.gain_words()
    } else {
        let clear = name(best.0);
        format!("{}, and {clear} is clearly better than public data alone", score.named_error())
    };
    let beside = score.beside_constant();
    let mut said = vec![format!("Error {}{}{beside}; {RANGES}.", score.short(), on_records(score))];
    let others: Vec<&Entry> = near().filter(|(other, _)| other.id != run.id).collect();
    let competes = |other: &&&Entry| !is_shown || may_be_below(other.1);
    let competing = others.iter().filter(competes).count();
    let names = others.iter().map(|(other, _)| name(other)).collect::<Vec<_>>();
    let rest: Vec<&Entry> = private.iter().filter(|(other, _)| other.id != run.id).collect();
    match (others.as_slice(), rest.as_slice()) {
        ([], [other]) if is_worse(other) == Some(true) => {
            let errors = [score.error.value, other.1.error.value];
            let less = less_error(errors, score.loss.is_some());
            said.push(format!("{less} than {}; the ranges do not overlap.", name(other.0)));
        }
        ([], [_, ..]) if rest.iter().all(|other| is_worse(other) == Some(true)) => {
            said.push("Every other run is clearly worse.".to_owned());
        }
        ([], _) => {}
        ([_], _) => {
            let has = match competing {
                0 => "is not shown to be better than one answer for all",
                _ => "has no lower error",
            };
            said.push(capital(&format!("{} cannot be told apart, and {has}.", names[0])));
        }
        (several, _) => {
            let count = several.len();
            let of = match competing {
                all if all == count => "it has the least error",
                0 => "it alone is shown to be better than one answer for all",
                _ => "of those shown to be better than one answer for all, it has the least error",
            };
            let names = match names.split_last() {
                Some((last, first)) if count <= MOST_NAMED => {
                    capital(&format!("{} and {last}", first.join(", ")))
                }
                _ => format!("{count} others"),
            };
            said.push(format!("{names} cannot be told apart; {of}."));
        }
    }
    let unknown = rest.iter().find(|other| is_worse(other).is_none());
    said.extend(unknown.map(|other| {
        capital(&format!("{} cannot be compared: it has another cap.", name(other.0)))
    }));
    let later =
        run.later_scores.iter().filter(|it| it.held_out && Some(&it.score) != run.score.as_ref());
    said.extend(later.map(|it| format!("A later score of it: {}.", it.score.brief())));
    said.extend(score.contradiction().map(|it| format!("{}.", capital(&it))));
    if least.0.id == run.id && private.len() >= MANY {
        said.push(format!("The least of {} scores is likely to be too low.", private.len()));
    }
    let model = with_epsilon(name(run), run);
    let shared = telling("model and score", run, (runs, total(&run.id)));
    let of = Answer::of(&model, format!("{good}."), shared);
    Answer { reasons: said, taken: Some(run.id.clone()), ..of }
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

/// The answer that takes a run because of its rehearsal.
fn on_promise(
    of: (&[&ArchivedRun], Option<Total>),
    (run, score): Entry<'_>,
    (name, public): (&str, &PublicAlone),
) -> Answer {
    let promise = score.foretold_words().unwrap_or_default();
    let verdict = format!(
        "its rehearsal promises {promise} than public data alone; its score agrees, but is too \
         imprecise to confirm it."
    );
    let from =
        if public.scores > 1 { format!(" from {} scores", public.scores) } else { String::new() };
    let error = format!(
        "Error {}, that of public data alone {}{from},{}{}; {RANGES}.",
        score.short(),
        score.error_text(&public.score.error),
        on_records(score),
        score.beside_constant()
    );
    let told = telling("model and score", run, of);
    let answer = Answer::of(name, verdict, told);
    Answer { reasons: vec![error], taken: Some(run.id.clone()), ..answer }
}

/// The answer where no run, the one with the least error first, is clearly better than public data
/// alone.
fn none_is_useful(
    (runs, total): (&[&ArchivedRun], Totals),
    private: &[Entry],
    name: &dyn Fn(&ArchivedRun) -> String,
    alone: impl Fn(&str) -> Answer,
) -> Answer {
    let (run, score) = private[0];
    let other = |model, verdict| {
        Answer::of(model, verdict, telling("the scores", run, (runs, total(&run.id))))
    };
    if let Some(why) = score.beyond_constant() {
        return other("no model", format!("{} is {why}.", name(run)));
    }
    let among = |score: &Scored| score.among(private.len());
    let is_worse = |(_, it): &Entry| among(it).difference.is_some_and(|gap| gap.low > 0.0);
    let why = match (private, private.iter().all(is_worse)) {
        ([_], true) => format!("{} is {}", name(run), score.verdict().unwrap_or_default()),
        ([_], false) => format!("{} is not clearly better", name(run)),
        (_, true) => "every run is clearly worse".to_owned(),
        (_, false) => "no run is clearly better".to_owned(),
    };
    if score.builds_on_a_model {
        return other(score.beside(), format!("{why}."));
    }
    let mut answer = alone(&format!("{why}, and public data cost no ε"));
    let broken = score.contradiction().filter(|it| !why.contains(it));
    answer.reasons.extend(broken.map(|it| format!("{}.", capital(&it))));
    answer
}

/// The ε of all these runs and of their later scores: a choice among them depends on all of it.
fn summed(runs: &[&ArchivedRun]) -> Option<Guarantee> {
    let person = runs.first()?.drawn.last()?.person.as_deref();
    sum::of(runs, person)?.ok()
}

/// The name of a run with its ε, unless the plan's name says it.
fn with_epsilon(name: String, run: &ArchivedRun) -> String {
    match epsilon(run) {
        Some(epsilon) if !name.contains('ε') => format!("{name} at ε {}", compact_up(epsilon)),
        _ => name,
    }
}

fn on_records(score: &Scored) -> String {
    format!(" on {} held-out records", score.records)
}

/// A caution if exact numbers of these records had ranked the public data before a run began.
fn ranked(runs: &[&ArchivedRun]) -> &'static str {
    if runs.iter().any(|run| run.was_ranked) {
        " The ε leaves out the ranking of public data by exact numbers (◆)."
    } else {
        ""
    }
}

/// What may be told of a run that was chosen among these by their scores.
fn telling(
    what: &str,
    run: &ArchivedRun,
    (runs, total): (&[&ArchivedRun], Option<Total>),
) -> String {
    let Some(own) = run.guarantee else {
        return "nothing: nothing is guaranteed.".to_owned();
    };
    let (epsilon, delta) = (compact_up(own.epsilon), delta_words(own.delta));
    if let Some(total) = total {
        // A choice among runs, and a ranking before them, depend on all that was released.
        let (all, at) = (total.words(), delta_words(total.delta));
        let is_own = total.standing == TotalStanding::AtMost
            && total.known.as_ref().is_some_and(|it| it.epsilon <= own.epsilon)
            && at == delta;
        let all = if is_own {
            format!(": ε {epsilon} (δ {delta}){}", total.condition())
        } else {
            // At a smaller δ the part may have a larger ε than the whole.
            let own = if own.delta < total.delta {
                format!("ε {epsilon} at its smaller δ, {delta}")
            } else {
                format!("ε {epsilon} (δ {delta})")
            };
            format!(". All spending on these records: {all} (δ {at}); this run alone: {own}")
        };
        let whom = if_blanked(runs, Some(&total));
        return format!("{what} with anybody{all}{whom}.{}", ranked(runs));
    }
    if runs.len() == 1 && run.later_scores.is_empty() {
        let whom = if_blanked(runs, None) + &condition(runs);
        return format!("{what} with anybody: ε {epsilon} (δ {delta}){whom}.{}", ranked(runs));
    }
    let with = match runs.len() {
        1 if run.later_scores.len() > 1 => "with the scores that were paid for later".to_owned(),
        1 => "with the score that was paid for later".to_owned(),
        count => format!("for the choice among {count}"),
    };
    let all = match summed(runs) {
        Some(sum) if delta_words(sum.delta) == delta => {
            format!("ε {} {with}, ε {epsilon} alone (δ {delta})", round_up(sum.epsilon, 4))
        }
        Some(sum) => format!(
            "ε {} (δ {}) {with}, ε {epsilon} (δ {delta}) alone",
            round_up(sum.epsilon, 4),
            delta_words(sum.delta)
        ),
        None => format!("ε {epsilon} (δ {delta}) alone; {with}, ε is the sum in the ledger"),
    };
    let whom = if_blanked(runs, None) + &condition(runs);
    format!("{what} with anybody: {all}{whom}.{}", ranked(runs))
}

/// On which conditions these runs are protected, behind their ε.
fn condition(runs: &[&ArchivedRun]) -> String {
    SharedNoise::conditions(runs.iter().filter_map(|run| run.one_noise))
}

/// The weaker promise, where a run makes no other: neither its ε nor a sum with it holds for replaced
/// records.
fn if_blanked(runs: &[&ArchivedRun], total: Option<&Total>) -> String {
    let all = total.and_then(|total| Some(total.known.as_ref()?.adjacency));
    let drawn = || runs.iter().flat_map(|run| &run.drawn);
    let mut events = drawn().flat_map(|it| &it.mechanisms);
    let is_weaker = |adjacency| adjacency == Adjacency::ZeroOut;
    if !events.any(|event| is_weaker(event.adjacency)) && !all.is_some_and(is_weaker) {
        return String::new();
    }
    let of = if drawn().any(|it| it.person.is_some()) {
        "a person whose records are"
    } else {
        "a record that is"
    };
    format!(", for {of} blanked, not replaced")
}

/// The answer without a score: exact errors of the two best, if they may be seen.
fn exact(runs: &[&ArchivedRun], name: impl Fn(&ArchivedRun) -> String, watch: &Watch) -> Answer {
    let error = |run: &&ArchivedRun| last(run, run.error_series()[1], watch);
    let mut seen: Vec<(&ArchivedRun, f64)> =
        runs.iter().filter_map(|run| Some((*run, error(run)?))).collect();
    seen.sort_by(|one, other| one.1.total_cmp(&other.1));
    let none = "no score was released, so nothing says which model to take.";
    let telling = "nothing about how good they are.".to_owned();
    let mut answer = Answer::of("nothing yet", none.to_owned(), telling);
    answer.is_exact = seen.len() > 1;
    if let [(best, own), (second, other), ..] = seen.as_slice() {
        let task = best.task();
        let less = less_error([*own, *other], task != Some(Task::Classification));
        let [own, other] = [*own, *other].map(|error| error_cell(task, error));
        let [one, two] = [best, second].map(|run| name(run));
        let found = format!("{one} has {less} than {two} ({own} against {other}, exact).");
        answer.reasons.push(capital(&found));
    }
    answer
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::super::public_alone::join_scores;
    use super::*;
    use crate::data::DatasetDefinition;
    use crate::evaluation::{Loss, Noise, Score};
    use crate::privacy::accountant::Composition;
    use crate::privacy::openings::OpenWatch;
    use crate::privacy::{Event, Target};
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
        let free = "To make it, run a plan with the method 'public data alone'. | Share that model with anybody: no ε by \
                    itself; with the scores, which chose it, the ε of their runs.";
        let open = "Take public data alone: 'a' is not clearly better, and public data cost no ε. | \
                    Why Mean absolute error, capped at 140: 40.0 (38.0 to 42.0) on 400 held-out \
                    records; ranges are 95 %.";
        assert_eq!(only(&[run("a", 1.0, Some(score(38.0, 40.0)))]), format!("{open} {free}"));
        let bad = only(&[run("a", 1.0, Some(score(60.0, 40.0)))]);
        assert!(
            bad.starts_with("Take public data alone: 'a' is WORSE: 50 % (38 to 62) more"),
            "{bad}"
        );
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
        assert!(
            only(&both).starts_with("Take 'c' at ε 1: 50 % (38 to 62) less"),
            "{}",
            only(&both)
        );
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
        let total =
            Total { standing, delta: 1e-6, known, claims: None, missing, remark: None, conditions };
        let found = answers(&[&one], usual_name, &|_| Some(total.clone()), &Watch::open());
        assert!(found[0].telling.ends_with(whom), "{}", found[0].telling);
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
            let total = Total { standing, delta, known, claims, missing, remark, conditions };
            let found = answers(&[run], usual_name, &|_| Some(total.clone()), &Watch::open());
            found[0].telling.clone()
        };
        let told = |standing, mu, delta| on_condition(&good, standing, mu, delta, &[]);
        let share = "model and score with anybody";
        assert_eq!(told(TotalStanding::AtMost, 0.1, 1e-6), format!("{share}: ε 1 (δ 1e-6)."));
        let more = told(TotalStanding::AtMost, 1.0, 1e-6);
        let all = format!("{share}. All spending on these records: ε ");
        assert!(
            more.starts_with(&all) && more.ends_with("; this run alone: ε 1 (δ 1e-6)."),
            "{more}"
        );
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
            assert!(
                said.starts_with(&format!("{share}. All spending on these records: ")),
                "{said}"
            );
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
            assert!(
                said.contains(". 'a' cannot be told apart, and has no lower error. | "),
                "{said}"
            );
        }
        let equal = only(&[a.clone(), of("b", 1.0, 21.0), of("c", 1.0, 22.0)]);
        assert!(
            equal.contains(". 'b' and 'c' cannot be told apart; it has the least error."),
            "{equal}"
        );
        let near = |names: &[&str]| {
            let runs: Vec<ArchivedRun> = std::iter::once(a.clone())
                .chain(names.iter().map(|it| of(it, 1.0, 21.0)))
                .collect();
            only(&runs)
        };
        assert!(near(&["b", "c", "d"]).contains(". 'b', 'c' and 'd' cannot be told apart; "));
        assert!(near(&["b", "c", "d", "e"]).contains(". 4 others cannot be told apart; "));
        let several = only(&[a.clone(), of("b", 1.0, 30.0), of("c", 1.0, 60.0)]);
        assert!(several.contains(". Every other run is clearly worse."), "{several}");
        let none = only(&[of("b", 1.0, 38.0), of("c", 1.0, 39.0)]);
        assert!(none.contains("no run is clearly better, and public data cost no ε"), "{none}");
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
        let constant = "Error 21.0 (16.0 to 26.0) on 400 held-out records, one answer for \
                        all 24.0 (22.5 to 25.5), not clearly more; ranges are 95 %.";
        assert!(unclear.contains(constant), "{unclear}");
        let many: Vec<ArchivedRun> = (0..5).map(|at| of("p", 1.0, 20.0 + f64::from(at))).collect();
        assert!(only(&many).contains("The least of 5 scores is likely to be too low."));
    }

    #[test]
    fn a_run_of_public_data_alone_counts_as_that() {
        let mut public = run("p", 0.2, Some(score(40.0, 40.0).alone()));
        public.plan.as_mut().unwrap().method = "public_only".to_owned();
        let text = only(std::slice::from_ref(&public));
        assert!(
            text.starts_with("Take public data alone, 'p': no other run has a score."),
            "{text}"
        );
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
        assert!(text.contains("40.0 (38.0 to 42.0)") && text.contains("To make it, run"), "{text}");
        // A run of them is named beside their own error alone.
        alone.plan.as_mut().unwrap().public = vec!["summer".to_owned(), "spring".to_owned()];
        let text = only(&[one, other, alone]);
        let begin = "Take public data alone (spring + summer), 'p': every run is clearly worse";
        assert!(text.starts_with(begin) && !text.contains("To make it, run"), "{text}");
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
        let doubt = "with 400 held-out records no model is shown to beat one answer for all";
        assert!(text.starts_with("Take public data alone:") && text.contains(doubt), "{text}");
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
}
