//! What joining other sites brings, in numbers and words.

use std::collections::BTreeMap;

use serde::Serialize;

use super::advice::{NOTICEABLE, percents};
use super::rehearsal_data::sites::{OtherSites, PlayedSites, SitesRehearsal, SitesScene};
use super::{ErrorMeasure, Trust};
use crate::plot::number::compact;

/// A mean over rehearsals, with the least and the largest of them.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Span {
    pub mean: f64,
    pub least: f64,
    pub most: f64,
}

/// What was found at one ε.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct JoiningLine {
    pub epsilon: f64,
    pub others: OtherSites,
    /// The error of this site's own run, over that of public data alone.
    pub alone: Span,
    /// The error of the joint run, over that of public data alone.
    pub together: Span,
    /// That of the joint run with one noise for all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub one_noise: Option<Span>,
    /// The error of the joint run over that of this site's own run; below 1 joining helps.
    pub change: Span,
    /// The number of rehearsals.
    pub rehearsals: usize,
}

/// What joining other sites brings.
#[derive(Debug, Clone, PartialEq)]
pub struct Joining {
    /// The training records or persons of each site, those of this site first.
    pub records: Vec<usize>,
    pub measure: ErrorMeasure,
    pub lines: Vec<JoiningLine>,
    pub notes: Vec<String>,
}

/// The errors so far: by ε, kind of other sites and case, one for each repetition.
#[derive(Debug, Default)]
pub struct JoiningResults {
    played: BTreeMap<(usize, OtherSites, usize), Vec<PlayedSites>>,
    /// Why the scenes of a kind could not play.
    failed: BTreeMap<OtherSites, String>,
}

impl JoiningResults {
    /// Adds the errors of a scene at the ε of this index.
    pub fn add(&mut self, epsilon: usize, (others, of): (OtherSites, usize), played: PlayedSites) {
        self.played.entry((epsilon, others, of)).or_default().push(played);
    }

    pub fn fail(&mut self, others: OtherSites, why: &str) {
        self.failed.entry(others).or_insert_with(|| why.to_owned());
    }

    /// What is known so far.
    pub fn sum_up(&self, data: &SitesRehearsal, epsilons: &[f64], trust: &Trust) -> Joining {
        let mut lines = Vec::new();
        for (at, epsilon) in epsilons.iter().enumerate() {
            for others in [OtherSites::Alike, OtherSites::Unlike] {
                let of = |ratio: fn(&PlayedSites) -> Option<f64>| {
                    let own = self.played.range((at, others, 0)..=(at, others, usize::MAX));
                    Span::of(own.filter_map(|((.., case), all)| {
                        let logs = all.iter().map(|played| Some(ratio(played)?.ln()));
                        let logs = logs.sum::<Option<f64>>()?;
                        Some((logs / all.len() as f64, trust.weights[*case]))
                    }))
                };
                let alone = of(|it| Some(it.alone / it.public_alone));
                let together = of(|it| Some(it.together / it.public_alone));
                let one_noise = of(|it| Some(it.one_noise? / it.public_alone)).map(|it| it.0);
                let change = of(|it| Some(it.together / it.alone));
                let (Some((alone, rehearsals)), Some((together, _)), Some((change, _))) =
                    (alone, together, change)
                else {
                    continue;
                };
                let epsilon = *epsilon;
                lines.push(JoiningLine {
                    epsilon,
                    others,
                    alone,
                    together,
                    one_noise,
                    change,
                    rehearsals,
                });
            }
        }
        let mut notes = trust.why.clone();
        let is_there = |others| lines.iter().any(|line| line.others == others);
        for (others, why) in &self.failed {
            let some = if is_there(*others) { "Some" } else { "The" };
            notes.push(format!("{some} rehearsals with sites {} failed: {why}.", others.words()));
        }
        let is_tried = |scene: &SitesScene| scene.others == OtherSites::Unlike;
        let unlike = if data.scenes.iter().any(is_tried) { FEWER } else { UNKNOWN };
        notes.push(unlike.to_owned());
        notes.push(GUESSED.to_owned());
        Joining { records: data.records().to_vec(), measure: data.measure(), lines, notes }
    }
}

const UNKNOWN: &str = "What joining brings where the sites' records differ was not tried: that needs three \
                       public datasets, or three values of a column in a filter.";
const FEWER: &str =
    "Datasets that play other sites are not public then, so compare the two numbers of one line.";
const GUESSED: &str = "Who plays the sites is guessed. If private records differ more from the public ones than the \
                       public datasets from each other, joining can bring much more than this.";

impl Span {
    /// The mean of logarithms by weight, as a factor, and their number.
    fn of(weighted: impl Iterator<Item = (f64, f64)>) -> Option<(Self, usize)> {
        let all: Vec<(f64, f64)> = weighted.collect();
        let of = |with: fn(f64, f64) -> f64| all.iter().map(|(log, _)| *log).reduce(with);
        let (least, most) = (of(f64::min)?.exp(), of(f64::max)?.exp());
        let weight: f64 = all.iter().map(|(_, weight)| weight).sum();
        let mean = all.iter().map(|(log, weight)| log * weight).sum::<f64>() / weight;
        Some((Self { mean: mean.exp(), least, most }, all.len()))
    }

    /// `0.81 (0.75 to 0.92)`.
    fn words(self) -> String {
        let Self { mean, least, most } = self;
        format!("{mean:.2} ({least:.2} to {most:.2})")
    }
}

impl OtherSites {
    fn words(self) -> &'static str {
        match self {
            Self::Alike => "that are alike",
            Self::Unlike => "that differ",
        }
    }
}

impl Joining {
    fn less(&self) -> &'static str {
        if self.measure == ErrorMeasure::WrongAnswers { "fewer" } else { "less" }
    }

    /// `12 % less mean absolute error (5 % to 20 % less)`.
    fn change(&self, change: Span) -> String {
        let less = self.less();
        let range = percents(1.0 - change.most, 1.0 - change.least, less);
        let measure = self.measure.words();
        if (change.mean - 1.0).abs() < NOTICEABLE {
            return format!("no clear change in {measure} ({range})");
        }
        let percent = 100.0 * (1.0 - change.mean);
        let word = if percent > 0.0 { less } else { "more" };
        format!("{:.0} % {word} {measure} ({range})", percent.abs())
    }

    /// What joining brings at this ε, in one sentence.
    pub fn sentence(&self, epsilon: f64) -> String {
        let of = |others| {
            let mut own = self.lines.iter().filter(|it| it.epsilon == epsilon);
            own.find(|line| line.others == others).map(|line| self.change(line.change))
        };
        let (alike, unlike) = (of(OtherSites::Alike), of(OtherSites::Unlike));
        let others = self.records.len() - 1;
        let sites = if others == 1 { "another site" } else { &format!("{others} other sites") };
        let if_alike = alike.map(|words| format!("{words} if their records are like those here"));
        let if_unlike = unlike.map(|words| {
            format!("{words} if they differ from them as the public datasets do from each other")
        });
        let parts: Vec<String> = [if_alike, if_unlike].into_iter().flatten().collect();
        if parts.is_empty() {
            return "Nothing is known yet.".to_owned();
        }
        format!("At ε {} joining {sites} brings {}.", compact(epsilon), parts.join(", and "))
    }

    /// The numbers behind the sentence: a line for each ε and kind of other sites.
    pub fn table(&self) -> Vec<String> {
        let with = match self.records.len() - 1 {
            1 => "with the other one".to_owned(),
            others => format!("with the other {others}"),
        };
        let line = |line: &JoiningLine| {
            let JoiningLine { epsilon, others, alone, together, rehearsals, .. } = line;
            let s = if *rehearsals == 1 { "" } else { "s" };
            let one_noise = line.one_noise.map(|it| format!(", with one noise {}", it.words()));
            let one_noise = one_noise.unwrap_or_default();
            format!(
                "ε {}, sites {}: alone {}, {with}: {}{one_noise}, in {rehearsals} rehearsal{s}",
                compact(*epsilon),
                others.words(),
                alone.words(),
                together.words()
            )
        };
        self.lines.iter().map(line).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn joining(alike: f64, unlike: Option<f64>) -> Joining {
        let line = |others, change: f64| JoiningLine {
            epsilon: 1.0,
            others,
            alone: Span { mean: 0.92, least: 0.9, most: 1.0 },
            together: Span { mean: 0.92 * change, least: 0.7, most: 0.9 },
            one_noise: Some(Span { mean: 0.79, least: 0.7, most: 0.85 }),
            change: Span { mean: change, least: change - 0.1, most: change + 0.05 },
            rehearsals: 3,
        };
        let lines =
            [Some(line(OtherSites::Alike, alike)), unlike.map(|it| line(OtherSites::Unlike, it))];
        Joining {
            records: vec![200, 100, 300],
            measure: ErrorMeasure::MeanAbsolute,
            lines: lines.into_iter().flatten().collect(),
            notes: Vec::new(),
        }
    }

    #[test]
    fn the_first_line_says_what_joining_brings_and_the_others_have_the_numbers() {
        let told = joining(0.88, Some(1.2));
        assert_eq!(
            told.sentence(1.0),
            "At ε 1 joining 2 other sites brings 12 % less mean absolute error (7 % to 22 % less) if \
             their records are like those here, and 20 % more mean absolute error (10 % to 25 % more) \
             if they differ from them as the public datasets do from each other."
        );
        assert_eq!(
            told.table()[0],
            "ε 1, sites that are alike: alone 0.92 (0.90 to 1.00), with the other 2: 0.81 (0.70 to \
             0.90), with one noise 0.79 (0.70 to 0.85), in 3 rehearsals"
        );
        let told = joining(0.99, None).sentence(1.0);
        assert!(
            told.contains("brings no clear change in mean absolute error (4 % more to 11 % less)"),
            "{told}"
        );
        assert!(!told.contains("differ"), "{told}");
        assert_eq!(joining(0.9, None).sentence(2.0), "Nothing is known yet.");
    }
}
