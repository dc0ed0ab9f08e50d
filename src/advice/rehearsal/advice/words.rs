//! What is told of the advice.

use super::{
    Advice, CAUTION, NOTICEABLE, PlayerLine, PlayerStanding, VAGUE, Variant, is_too_early, least,
    nearest,
};
use crate::evaluation::scoring::ForeseenScore;
use crate::plot::number::compact;
use crate::rehearsal::player::Player;
use crate::rehearsal::{CANNOT_PLAY, ErrorMeasure};

/// Standard deviations on either side that contain 95 of 100 normal deviates.
const TWO_SIDED: f64 = 1.96;

impl Advice {
    /// A sentence on other settings of the advised method that are no better.
    fn on_settings(&self) -> Option<String> {
        if self.settings.is_empty() || self.better_settings().is_some() {
            return None;
        }
        let words = |it: &Variant| {
            let percent = 100.0 * (it.ratio - 1.0);
            let what = self.chosen_by();
            let error = match percent {
                x if x.abs() < 0.5 => format!("as much {what}"),
                x if x < 0.0 => format!("{:.0} % less {what}", -x),
                x => format!("{x:.0} % more {what}"),
            };
            format!("{}: {error}", it.player.in_a_sentence())
        };
        let all: Vec<String> = self.settings.iter().map(words).collect();
        Some(format!("Its settings can stay as they are ({}).", all.join("; ")))
    }

    /// The expected result of a plan, in a sentence.
    pub fn expectation(&self, plan: &Player, epsilon: f64) -> Option<String> {
        let (standing, rehearsed) = self.promised(plan, epsilon)?;
        let s = if standing.cases == 1 { "" } else { "s" };
        let said = format!(
            "In {} rehearsal{s} on public data at ε {}, {} had {} than public data alone, which \
             cost nothing.",
            standing.cases,
            compact(rehearsed),
            plan.in_a_sentence(),
            self.better(standing)
        );
        Some([vec![said, self.promise(standing)], self.limits(standing)].concat().join(" "))
    }

    /// The expected result of a plan that lost to public data alone, in sentences.
    pub fn warning(&self, plan: &Player, epsilon: f64) -> Option<String> {
        let (standing, rehearsed) = self.promised(plan, epsilon)?;
        if standing.ratio <= 1.0 + NOTICEABLE {
            return None;
        }
        let s = if standing.cases == 1 { "" } else { "s" };
        let rehearsals = format!("{} rehearsal{s} at ε {}", standing.cases, compact(rehearsed));
        let lost = match self.lost_in(plan, rehearsed) {
            Some(lost) if 2 * lost > standing.cases => format!("in {lost} of {rehearsals}"),
            _ => format!("on the average of {rehearsals}"),
        };
        Some(format!(
            "Worse than public data alone, which cost nothing, {lost}: {}. {}",
            self.better(standing),
            self.promise(standing)
        ))
    }

    /// The number of rehearsals in which a plan lost to public data alone; `None` if only their mean is
    /// known.
    fn lost_in(&self, plan: &Player, epsilon: f64) -> Option<usize> {
        let line = self.lines.iter().find(|line| line.player == *plan)?;
        let logs = line.logs.get(nearest(&self.epsilons, epsilon))?;
        (!logs.is_empty()).then(|| logs.iter().filter(|log| **log > 0.0).count())
    }

    /// What to expect of a plan that did not lose, in two short sentences.
    pub fn prospects(&self, plan: &Player, epsilon: f64) -> Option<String> {
        let (standing, _) = self.promised(plan, epsilon)?;
        let s = if standing.cases == 1 { "" } else { "s" };
        (standing.ratio <= 1.0 + NOTICEABLE).then(|| {
            format!(
                "In {} rehearsal{s} it had {} than public data alone. {}",
                standing.cases,
                self.better(standing),
                self.promise(standing)
            )
        })
    }

    /// The advice in sentences.
    pub fn sentences(&self) -> Vec<String> {
        let Some((player, standing)) = self.chosen(self.at) else {
            let failed = self.lines.first().and_then(|line| line.failed.as_ref());
            return vec![failed.map_or("Nothing is known yet.".to_owned(), |why| {
                format!("Nothing can be said, because public data alone give no model: {why}.")
            })];
        };
        let epsilon = compact(self.epsilons[self.at]);
        // Other settings that are better have their own result, which is the only one that is promised.
        let better = self.better_settings();
        let (advised, standing) = self.advised().unwrap_or((player, standing));
        let cases = standing.cases;
        let best = match better {
            Some(better) => format!(
                "{:.0} % less {} than {}, better in {} of {cases} rehearsals, and",
                100.0 * (1.0 - better.ratio),
                self.chosen_by(),
                player.in_a_sentence(),
                standing.best_in,
            ),
            None => match standing.log_loss {
                // Methods are chosen by it.
                Some(log_loss) => format!(
                    "best in {} of {cases} rehearsals by logarithmic loss ({log_loss:.2} × that of public \
                     data alone),",
                    standing.best_in
                ),
                None => format!("best in {} of {cases} rehearsals,", standing.best_in),
            },
        };
        let mut said = vec![if *player == Player::PublicOnly {
            format!(
                "At ε {epsilon} use public data alone and spend nothing: {}. The method '{}' makes \
                 their model.",
                self.lost(self.at),
                player.title()
            )
        } else {
            format!(
                "At ε {epsilon} (an attacker's odds: at most × {}) use {}: {best} {} than public \
                 data alone.",
                odds(self.epsilons[self.at]),
                advised.in_a_sentence(),
                self.better(standing)
            )
        }];
        said.extend(self.beside_least(player));
        if player.spends() && standing.ratio > 1.0 - NOTICEABLE {
            said.push(
                "Public data alone, which cost nothing, did as well: use them if you would \
                 rather spend nothing. The method is advised because it loses next to nothing, \
                 and gains where the private data differ more from the public ones than these \
                 differ from each other."
                    .to_owned(),
            );
        }
        said.extend(player.spends().then(|| self.promise(standing)));
        // It decides about ε.
        said.extend(self.ends());
        if player.spends() {
            said.extend(self.limits(standing));
        }
        said.extend(self.findings(player, standing));
        said.extend(self.on_settings());
        if player.spends() {
            said.extend(self.near_no_privacy());
        }
        said.extend(doubt(standing));
        said
    }

    /// What the report of a run says below the result of its plan: how the rehearsals were made, and
    /// which method they advised, if it is another one.
    pub fn beside_plan(&self, plan: &Player, epsilon: f64) -> Vec<String> {
        let advised = self.to_take().filter(|advised| *advised != plan).map(|advised| {
            format!(
                "At ε {} the rehearsals advised {}, which this run did not use.",
                compact(self.epsilons[self.at]),
                advised.in_a_sentence()
            )
        });
        advised.into_iter().chain(self.reliability(plan, epsilon)).collect()
    }

    /// How the rehearsals of a plan were made, and how far they can be trusted.
    pub fn reliability(&self, plan: &Player, epsilon: f64) -> Vec<String> {
        let standing = self.of_plan(plan, epsilon).map(|(standing, _)| standing);
        standing.map_or(Vec::new(), |it| [self.findings(plan, it), doubt(it)].concat())
    }

    /// Which public parts act as private.
    pub fn who_plays(&self) -> String {
        let parts = self.cases.join("; ");
        match self.cases.len() {
            1 => format!("One part of the public data plays the private role: {parts}."),
            count => {
                format!("{count} parts of the public data play the private role in turn: {parts}.")
            }
        }
    }

    /// The sentences on parts that cannot.
    pub fn cannot_play(&self) -> impl Iterator<Item = &str> {
        self.notes.iter().map(String::as_str).filter(|note| note.contains(CANNOT_PLAY))
    }

    /// How far repetitions of a player are apart, and what the rehearsals differ by from a run.
    fn findings(&self, player: &Player, standing: PlayerStanding) -> Vec<String> {
        let repeated = player.spends().then(|| repeated(standing)).flatten();
        let mut said: Vec<String> = repeated.into_iter().collect();
        if player.spends() && self.grown > 1.0 + NOTICEABLE {
            said.push(format!(
                "The rehearsals have fewer records than the private data. So ε was up to {} times \
                 as large in them, which keeps the noise in proportion to the number of records.",
                compact((10.0 * self.grown).round() / 10.0)
            ));
        }
        said.extend(self.notes.iter().cloned());
        // Who fell behind is known only at the end.
        said.extend(self.stopped.then(|| {
            "The rehearsal was stopped before its end, so some methods were not tried, or seldom."
                .to_owned()
        }));
        said.extend((self.behind > 0 && !self.stopped).then(|| {
            let (s, were) = if self.behind == 1 { ("", "was") } else { ("s", "were") };
            format!(
                "{} method{s} fell behind and {were} tried less often than the others. A deep rehearsal \
                 tries all of them alike.",
                self.behind
            )
        }));
        if self.lacks_persons {
            said.push(
                "The public data do not say whose record a row is, so every row counted as a \
                 person of its own here. A run with several records of each person should do a \
                 little better."
                    .to_owned(),
            );
        }
        said
    }

    /// Why a method is advised although another one has a lower mean in the table.
    pub fn beside_least(&self, advised: &Player) -> Option<String> {
        let other = self.sorted().find(|line| line.player != Player::NoPrivacy)?;
        let found = other.standings[self.at].filter(|_| other.player != *advised)?;
        let own = self.lines.iter().find(|line| line.player == *advised)?.standings[self.at]?;
        // Why public data alone are not advised has a sentence of its own.
        if !other.player.spends() || own.cases < found.cases {
            return None;
        }
        let cautious = |it: PlayerStanding| it.ratio.ln() + CAUTION * it.most.ln();
        let why = if self.measure() == ErrorMeasure::WrongAnswers {
            "methods for classes are chosen by logarithmic loss, which needs fewer records"
                .to_owned()
        } else if cautious(own) <= cautious(found) {
            format!("its worst rehearsal was worse ({:.2} against {:.2})", found.most, own.most)
        } else {
            "it did worse at nearby ε".to_owned()
        };
        Some(format!(
            "{} has the lower mean ({:.3} against {:.3} × public data alone), but {why}.",
            capital(&other.player.in_a_sentence()),
            found.ratio,
            own.ratio
        ))
    }

    /// What is known while trials are still to come: the advice if nothing followed, with the range of
    /// a run as soon as two rehearsals have a result.
    pub fn so_far(&self) -> Vec<String> {
        let Some((player, standing)) = self.advised() else { return self.sentences() };
        let all = self.cases.len();
        let (epsilon, s) = (compact(self.epsilons[self.at]), if all == 1 { "" } else { "s" });
        let ahead = self.beside_least(player);
        let why = if !player.spends() {
            match ahead {
                Some(_) => "no method is clearly better in all respects".to_owned(),
                None => self.lost(self.at),
            }
        } else if is_too_early(standing, all) {
            "too few to promise anything".to_owned()
        } else {
            format!("a run should have {} {}", self.range_words(standing), self.measure().words())
        };
        let mut said = vec![format!(
            "So far ({} tried) the advice at ε {epsilon} is {}, from {} of {all} rehearsal{s}: {why}.",
            self.methods_tried(),
            player.in_a_sentence(),
            self.cases_of_methods()
        )];
        said.extend(ahead);
        said.push("Further trials may change this.".to_owned());
        said
    }

    /// How many methods have a result or do not fit, such as `5 of 11 methods`.
    pub fn methods_tried(&self) -> String {
        let spending = || self.lines.iter().filter(|line| line.player.spends());
        let is_tried =
            |line: &&PlayerLine| line.failed.is_some() || line.standings[self.at].is_some();
        let (tried, all) = (spending().filter(is_tried).count(), spending().count());
        format!("{tried} of {all} method{}", if all == 1 { "" } else { "s" })
    }

    /// `31 % less mean absolute error`, or `31 % fewer wrong answers`.
    pub fn better(&self, standing: PlayerStanding) -> String {
        let gain = 100.0 * (1.0 - standing.ratio);
        let word = if gain >= 0.0 { self.less() } else { "more" };
        format!("{:.0} % {word} {}", gain.abs(), self.measure().words())
    }

    /// The error by which methods and settings are chosen.
    fn chosen_by(&self) -> &'static str {
        match self.measure() {
            ErrorMeasure::WrongAnswers => ErrorMeasure::Logarithmic.words(),
            _ => "error",
        }
    }

    /// Errors are less, wrong answers are fewer.
    pub fn less(&self) -> &'static str {
        if self.measure() == ErrorMeasure::WrongAnswers { "fewer" } else { "less" }
    }

    /// The range of a run in words, such as `4 % to 60 % less`.
    pub fn range_words(&self, standing: PlayerStanding) -> String {
        let (least, most) = standing.range();
        percents(1.0 - most, 1.0 - least, self.less())
    }

    /// The range of a run, in a sentence.
    fn promise(&self, standing: PlayerStanding) -> String {
        let disagree = if standing.disagree() { "; the rehearsals disagree" } else { "" };
        let (range, what) = (self.range_words(standing), self.measure().words());
        let (least, most) = standing.range();
        if most > VAGUE * least {
            return format!("What a run will have cannot be foretold: {range} {what}{disagree}.");
        }
        format!("A run should have {range} {what} than public data alone{disagree}.")
    }

    /// What to expect of a plan that does not follow the advice.
    pub fn of_another(&self, player: &Player, epsilon: f64) -> Option<String> {
        let (chosen, _) = self.chosen(self.at)?;
        let (standing, near) = self.of_plan(player, epsilon).filter(|_| player.spends())?;
        let (had, range) = (self.better(standing), self.range_words(standing));
        let is_other = player != chosen || near != self.epsilons[self.at];
        is_other.then(|| {
            format!("This plan instead, at ε {}: {had}; a run should have {range}.", compact(near))
        })
    }

    /// Sentences for a foretold gain that the number of records does not hold.
    pub fn limits(&self, standing: PlayerStanding) -> Vec<String> {
        let gains = standing.ratio < 1.0 - NOTICEABLE;
        let found = [too_few(standing), self.unconfirmed(standing)];
        found.into_iter().flatten().filter(|_| gains).collect()
    }

    /// A warning if the released score of a run is too uncertain to confirm the foretold gain.
    fn unconfirmed(&self, standing: PlayerStanding) -> Option<String> {
        let ForeseenScore { records, half_width } = standing.score?;
        let gain = 1.0 - standing.ratio;
        (half_width >= gain && self.measure().is_of_scores()).then(|| {
            format!(
                "The score tells the gain to ± {:.0} % (95 %, {records} records): it cannot confirm {:.0} %.",
                100.0 * half_width,
                100.0 * gain
            )
        })
    }

    /// The statement that every method loses to public data alone.
    fn lost(&self, k: usize) -> String {
        let spending = self.lines.iter().filter(|line| line.player.spends());
        let found = spending.filter_map(|line| Some((line, line.standings[k]?)));
        match least(found.map(|(line, standing)| ((line, standing), standing.ratio))) {
            Some((line, standing)) => {
                let player = line.player.in_a_sentence();
                format!("the best method, {player}, had {}", self.better(standing))
            }
            None => "no method fits".to_owned(),
        }
    }

    /// The ε from which on anything is gained, and the ε from which on nothing more is. Both count as a
    /// reader of the table does: by its error, and for no method another ε has less of it.
    pub fn ends(&self) -> Option<String> {
        let (gains, enough) = self.gains()?;
        let none = (gains > 0).then(|| {
            let epsilon = compact(self.epsilons[gains - 1]);
            format!("up to ε {epsilon} public data alone is as good")
        });
        let enough = enough.map(|(k, there, beyond)| {
            // The advice before it is for the plan's ε.
            let epsilon = compact(self.epsilons[k]);
            let enough = if k < self.at {
                format!("already ε {epsilon} is enough")
            } else {
                format!("beyond ε {epsilon} nothing more is gained")
            };
            format!("{enough} ({there:.3} × public data alone there, {beyond:.3} at best beyond)")
        });
        let said: Vec<String> = none.into_iter().chain(enough).collect();
        (!said.is_empty()).then(|| capital(&said.join("; ")) + ".")
    }

    /// A caution before ε is spent of which a smaller part is enough.
    pub fn less_is_enough(&self) -> Option<String> {
        let (k, ..) = self.gains()?.1.filter(|(k, ..)| *k < self.at)?;
        let epsilon = compact(self.epsilons[k]);
        Some(format!(
            "In the rehearsals ε {epsilon} was enough: a larger ε gained next to nothing."
        ))
    }

    /// Where in the list of ε something is gained first, and where nothing more is.
    fn gains(&self) -> Option<(usize, Option<Enough>)> {
        let chosen = (0..self.epsilons.len()).map(|k| Some(self.chosen(k)?.1.ratio));
        let chosen: Vec<f64> = chosen.collect::<Option<_>>()?;
        let least: Vec<f64> = (0..chosen.len()).map(|k| self.least_spending(k)).collect();
        let last = chosen.len().checked_sub(1)?;
        // A rehearsal that was stopped may have tried no method at other ε.
        if least.iter().any(|ratio| ratio.is_infinite()) {
            return None;
        }
        let best_after = |k: usize| least[k..].iter().copied().fold(f64::INFINITY, f64::min);
        let gains = (0..=last).find(|k| chosen[*k].min(least[*k]) < 1.0 - NOTICEABLE)?;
        let is_enough = |k: &usize| best_after(k + 1) > (1.0 - NOTICEABLE) * chosen[*k];
        let helps = |k: &usize| chosen[*k] < 1.0 - NOTICEABLE;
        let enough = (gains..last).find(|k| helps(k) && is_enough(k));
        Some((gains, enough.map(|k| (k, chosen[k], best_after(k + 1)))))
    }

    /// The least error of a method at an ε of the list, over that of public data alone.
    fn least_spending(&self, k: usize) -> f64 {
        let spending = self.lines.iter().filter(|line| line.player.spends());
        let ratios = spending.filter_map(|line| Some(line.standings[k]?.ratio));
        ratios.fold(f64::INFINITY, f64::min)
    }

    /// The cost of privacy: how close the choice is to private data without privacy.
    pub(super) fn near_no_privacy(&self) -> Option<String> {
        const CLOSE: f64 = 1.05;
        let line = self.lines.iter().find(|line| line.player == Player::NoPrivacy)?;
        let excess: Vec<f64> = (0..self.epsilons.len())
            .map(|k| Some(self.chosen(k)?.1.ratio / line.standings[k]?.ratio))
            .collect::<Option<_>>()?;
        let other = "a linear model of the private data alone, without any privacy";
        let here = excess[self.at];
        if here < 1.0 - NOTICEABLE {
            let times = 1.0 / here;
            let had = if times < 2.0 {
                format!("{:.0} % more error than it", 100.0 * (times - 1.0))
            } else {
                format!("{times:.1} times as much error")
            };
            return Some(format!(
                "For comparison: {other}, had {had}: it is a straight line, and has learned nothing \
                 from public data."
            ));
        }
        // It stays so close at every larger ε.
        let far = excess.iter().rposition(|excess| *excess > CLOSE);
        let close = far.map_or(0, |last| last + 1);
        Some(match (close < excess.len()).then_some(close) {
            Some(0) => {
                let least = compact(self.epsilons[0]);
                format!("From ε {least} on it is within 5 % of {other}.")
            }
            Some(k) => {
                // By linear interpolation in the logarithm of ε.
                let share = (excess[k - 1] - CLOSE) / (excess[k - 1] - excess[k]);
                let (from, to) = (self.epsilons[k - 1].ln(), self.epsilons[k].ln());
                let epsilon = (from + share * (to - from)).exp();
                format!(
                    "To be within 5 % of {other}: ε ≈ {epsilon:.2}, where an attacker's odds \
                     change by at most the factor {}.",
                    odds(epsilon)
                )
            }
            None => {
                let last = compact(*self.epsilons.last()?);
                let less = 100.0 * (1.0 - 1.0 / excess.last()?);
                format!(
                    "For comparison: {other}, still had {less:.0} % less error than it at ε {last}."
                )
            }
        })
    }
}

/// The place of an ε in the list, the error there, and the least one beyond, over that of public data
/// alone.
type Enough = (usize, f64, f64);

/// A range of gains in words, such as `4 % to 60 % less`.
pub(in crate::rehearsal) fn percents(low: f64, high: f64, less: &str) -> String {
    let [low, high] = [low, high].map(|gain| 100.0 * gain);
    match (low < 0.0, high < 0.0) {
        (false, false) => format!("{low:.0} % to {high:.0} % {less}"),
        (true, true) => format!("{:.0} % to {:.0} % more", -high, -low),
        _ => format!("{:.0} % more to {high:.0} % {less}", -low),
    }
}

/// The largest factor, e^ε, by which an attacker's odds about a person change, rounded up.
pub fn odds(epsilon: f64) -> String {
    let factor = epsilon.exp();
    let up = |places: f64| (factor * places).ceil() / places;
    if factor < 10.0 {
        format!("{:.2}", up(100.0))
    } else if factor < 1e4 {
        format!("{:.0}", up(1.0))
    } else {
        let power = 10.0_f64.powf(factor.log10().floor());
        format!("{:.0e}", (factor / power).ceil() * power)
    }
}

/// A sentence on the difference between repetitions.
fn repeated(standing: PlayerStanding) -> Option<String> {
    let percent = 100.0 * ((TWO_SIDED * standing.spread?.ln()).exp() - 1.0);
    Some(format!(
        "Within a rehearsal, other records and other noise change that by about ± {} % (95 %).",
        if percent < 0.95 { format!("{percent:.1}") } else { format!("{percent:.0}") }
    ))
}

/// A warning if the records are too few for the foretold gain to be sure in a single run: other
/// records and other noise, as between repetitions of a rehearsal, may take all of it.
fn too_few(standing: PlayerStanding) -> Option<String> {
    let change = (TWO_SIDED * standing.spread?.ln()).exp();
    (standing.ratio * change >= 1.0).then(|| {
        "The records are too few to rely on this forecast: other records and other noise may take all of the \
         gain."
            .to_owned()
    })
}

/// Sentences on how far the rehearsals can be trusted.
fn doubt(standing: PlayerStanding) -> Vec<String> {
    let mut said = Vec::new();
    if standing.cases < 2 {
        said.push(
            "There is only one rehearsal, so nobody knows how far this can be trusted.".to_owned(),
        );
    }
    said.push(
        "The range of a run allows for rehearsals that differ, and for private data that differ more or \
         less from the public ones than these from each other. Ratios and the order of the methods carry over; \
         the errors themselves do not."
            .to_owned(),
    );
    said
}

/// The text with a capital letter at its beginning.
pub fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}
