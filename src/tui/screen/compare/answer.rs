//! Which of several runs is better, in a sentence.

use super::CompareScreen;
use crate::data::Task;
use crate::evaluation::words::less_error;
use crate::privacy::Watch;
use crate::session::ArchivedRun;
use crate::session::archive::last;
use crate::theme::Glyphs;
use crate::verdict::error_cell;

/// How the best run compares with others.
pub struct Answer {
    pub text: String,
    /// Whether exact numbers decided.
    pub is_exact: bool,
}

/// A run and the error by which it is compared.
struct Entry<'a> {
    run: &'a ArchivedRun,
    error: f64,
    kind: String,
    private: Option<&'a str>,
}

impl CompareScreen {
    /// Compares the best of the pinned runs with the other ones, or the two best runs of all if
    /// fewer than two are pinned. Released scores decide; where there are not two of them, exact
    /// errors do if they may be seen.
    pub fn answer(&self, runs: &[ArchivedRun], watch: &Watch, glyphs: &Glyphs) -> Option<Answer> {
        let released =
            |run: &ArchivedRun| run.score.as_ref().map(|it| (it.error.value, it.kind().to_owned()));
        let exact = |run: &ArchivedRun| {
            let series = run.error_series()[1];
            let error = last(run, series, watch).filter(|_| run.is_settled())?;
            Some((error, series.words().to_owned()))
        };
        let mut entries = self.entries(runs, released);
        let is_exact = entries.len() < 2;
        if is_exact {
            entries = self.entries(runs, exact);
        }
        let (best, others) = entries.split_first().filter(|(_, others)| !others.is_empty())?;
        let others = others.iter().take(if self.are_compared() { others.len() } else { 1 });
        let sentences = others.map(|other| self.sentence(best, other, glyphs));
        Some(Answer { text: sentences.collect::<Vec<_>>().join(" "), is_exact })
    }

    /// Whether the user chose the runs to compare.
    fn are_compared(&self) -> bool {
        self.pins.iter().flatten().count() > 1
    }

    /// The runs with a number, the best first. If the user chose none, all are of one private
    /// dataset and one kind of error: those of the selected run, or of the first one.
    fn entries<'a>(
        &self,
        runs: &'a [ArchivedRun],
        number: impl Fn(&ArchivedRun) -> Option<(f64, String)>,
    ) -> Vec<Entry<'a>> {
        let entry = |run: &'a ArchivedRun| {
            let (error, kind) = number(run)?;
            let private = run.plan.as_ref().map(|plan| plan.private.as_str());
            Some(Entry { run, error, kind, private })
        };
        let all = || runs.iter().filter_map(entry);
        let model = self.run(runs).and_then(entry).or_else(|| all().next());
        let is_like = |it: &Entry| {
            model
                .as_ref()
                .is_some_and(|model| (&model.kind, model.private) == (&it.kind, it.private))
        };
        let is_in = |it: &Entry| {
            if self.are_compared() { self.slot(&it.run.id).is_some() } else { is_like(it) }
        };
        let mut entries: Vec<Entry> = all().filter(is_in).collect();
        entries.sort_by(|one, other| one.error.total_cmp(&other.error));
        entries
    }

    fn sentence(&self, best: &Entry, other: &Entry, glyphs: &Glyphs) -> String {
        let plan =
            |run: &ArchivedRun| run.plan.as_ref().map_or("run", |plan| &plan.name).to_owned();
        let are_namesakes = plan(best.run) == plan(other.run);
        let name = |run: &ArchivedRun| match self.slot(&run.id).map(|slot| glyphs.series(slot)) {
            Some(mark) if are_namesakes => mark.to_owned(),
            Some(mark) => format!("{mark} '{}'", plan(run)),
            None if are_namesakes => format!("the run of {}", run.time),
            None => format!("'{}'", plan(run)),
        };
        let [own, others] = [best, other].map(|it| name(it.run));
        let less = if best.private != other.private {
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
}
