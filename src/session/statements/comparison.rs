//! Which of several runs is better, in a sentence.

use crate::data::Task;
use crate::evaluation::Scored;
use crate::evaluation::words::less_error;
use crate::privacy::Watch;
use crate::store::ArchivedRun;
use crate::store::archive::last;
use crate::verdict::error_cell;

/// The caution beside exact numbers of several runs.
pub const NOT_FOR_CHOICE: &str = "◆ is not for choosing or telling.";

/// Of so many runs or fewer, the best one is compared with each of the others.
const MOST: usize = 6;

/// How the best run compares with others.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    pub text: String,
    /// Whether exact numbers decided.
    pub is_exact: bool,
}

/// The runs that are compared.
#[derive(Clone, Copy)]
pub enum Among<'a> {
    /// The runs that the user chose, each with the best one.
    Chosen,
    /// The two best of those with the private dataset and the kind of error of this run, or of the
    /// first one.
    Like(Option<&'a ArchivedRun>),
}

/// A run and the error by which it is compared.
struct Entry<'a> {
    run: &'a ArchivedRun,
    error: f64,
    kind: String,
}

impl Entry<'_> {
    fn private(&self) -> Option<&str> {
        self.run.plan.as_ref().map(|plan| plan.private.as_str())
    }
}

/// The name of a run's plan.
pub fn plan_of(run: &ArchivedRun) -> &str {
    run.plan.as_ref().map_or("run", |plan| &plan.name)
}

/// The plan of a run, or its time beside a run of a plan with the same name.
pub fn usual_name(run: &ArchivedRun, are_namesakes: bool) -> String {
    if are_namesakes { format!("the run of {}", run.time) } else { format!("'{}'", plan_of(run)) }
}

/// Compares the best of these runs with the others. Released scores decide; where there are not two
/// of them, exact errors do if they may be seen. `name` gets whether two plans have the same name.
pub fn answer(
    runs: &[&ArchivedRun],
    among: Among,
    name: impl Fn(&ArchivedRun, bool) -> String,
    watch: &Watch,
) -> Option<Answer> {
    let released =
        |run: &ArchivedRun| run.score.as_ref().map(|it| (it.error.value, it.kind().to_owned()));
    let exact = |run: &ArchivedRun| {
        let series = run.error_series()[1];
        let error = last(run, series, watch).filter(|_| run.is_settled())?;
        Some((error, series.words().to_owned()))
    };
    let mut entries = entries(runs, among, released);
    let is_exact = entries.len() < 2;
    if is_exact {
        entries = self::entries(runs, among, exact);
    }
    if let Among::Like(_) = among {
        entries.truncate(2);
    }
    let (best, others) = entries.split_first().filter(|(_, others)| !others.is_empty())?;
    // The best one may still be of no use.
    let alarm = best.run.score.as_ref().filter(|_| !is_exact).and_then(Scored::alarm);
    let alarm = alarm.map(|alarm| format!("{}: {alarm}", name(best.run, false)));
    let compared = others.iter().map(|other| sentence(best, other, &name));
    let mut sentences: Vec<String> = alarm.into_iter().chain(compared).collect();
    let scores: Vec<&Scored> = entries.iter().filter_map(|it| it.run.score.as_ref()).collect();
    sentences.extend(public_alone(&scores).filter(|_| !is_exact));
    Some(Answer { text: sentences.join(" "), is_exact })
}

/// Compares the runs of each private dataset, a text for each.
pub fn answers(
    runs: &[&ArchivedRun],
    name: impl Fn(&ArchivedRun, bool) -> String,
    watch: &Watch,
) -> Vec<Answer> {
    let private = |run: &ArchivedRun| run.plan.as_ref().map(|plan| plan.private.clone());
    let mut datasets = Vec::new();
    for run in runs {
        if !datasets.contains(&private(run)) {
            datasets.push(private(run));
        }
    }
    let of_one = |dataset| {
        let own: Vec<&ArchivedRun> =
            runs.iter().copied().filter(|run| private(run) == dataset).collect();
        let among = if own.len() > MOST { Among::Like(None) } else { Among::Chosen };
        answer(&own, among, &name, watch)
    };
    datasets.into_iter().filter_map(of_one).collect()
}

/// The runs with a number, the best first.
fn entries<'a>(
    runs: &[&'a ArchivedRun],
    among: Among,
    number: impl Fn(&ArchivedRun) -> Option<(f64, String)>,
) -> Vec<Entry<'a>> {
    let entry = |run: &'a ArchivedRun| {
        let (error, kind) = number(run)?;
        Some(Entry { run, error, kind })
    };
    let mut entries: Vec<Entry> = runs.iter().copied().filter_map(entry).collect();
    if let Among::Like(run) = among {
        let model = run.and_then(|run| entries.iter().find(|it| it.run.id == run.id));
        let model = model.or(entries.first());
        let like = model.map(|it| (it.kind.clone(), it.private().map(str::to_owned)));
        entries.retain(|it| {
            like.as_ref().is_some_and(|(kind, private)| {
                (kind, private.as_deref()) == (&it.kind, it.private())
            })
        });
    }
    entries.sort_by(|one, other| one.error.total_cmp(&other.error));
    entries
}

fn sentence(best: &Entry, other: &Entry, name: impl Fn(&ArchivedRun, bool) -> String) -> String {
    let are_namesakes = plan_of(best.run) == plan_of(other.run);
    let [own, others] = [best, other].map(|it| name(it.run, are_namesakes));
    let less = if best.private() != other.private() {
        Err("not comparable: they are of different private data".to_owned())
    } else if best.kind != other.kind {
        Err(format!("not comparable: {} and {}", best.kind, other.kind))
    } else if let (Some(score), Some(of_other)) = (&best.run.score, &other.run.score) {
        score.less_than((&others, of_other))
    } else {
        let task = best.run.task();
        let less = less_error([best.error, other.error], task != Some(Task::Classification));
        let [one, two] = [best.error, other.error].map(|error| error_cell(task, error));
        Ok(format!("{less} than {others} ({one} against {two}, exact)"))
    };
    let text = match less {
        Ok(less) => format!("{own} has {less}."),
        Err(why) => format!("{own} and {others} are {why}."),
    };
    text.strip_prefix("the run").map_or(text.clone(), |rest| format!("The run{rest}"))
}

/// Why the error of public data alone is another number in each run, if it is.
fn public_alone(scores: &[&Scored]) -> Option<String> {
    let mut numbers: Vec<String> = Vec::new();
    for number in scores.iter().filter_map(|score| score.public_value()) {
        if !numbers.contains(&number) {
            numbers.push(number);
        }
    }
    let caps = scores.windows(2).any(|pair| pair[0].largest_error != pair[1].largest_error);
    let own = if caps { "noise and cap" } else { "noise" };
    (numbers.len() > 1).then(|| {
        let numbers = numbers.join(" and ");
        format!(
            "Public data alone have errors of {numbers}: each run releases that with its own {own}, and \
             methods of another kind have another public model."
        )
    })
}
