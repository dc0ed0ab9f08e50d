//! The page of a report, section by section.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::figures::MOST_CURVES;
use super::{Report, Reported, Together, once, rankings, rehearsal};
use crate::data::{Columns, DatasetDefinition, Missing, Role, Source, Task};
use crate::evaluation::{Score, Scored, measured, words};
use crate::glossary;
use crate::methods::{self, Series};
use crate::plot::Figure;
use crate::plot::number::{compact, percent};
use crate::privacy::Event;
use crate::privacy::accountant::{QueryKind, Rule, delta_words, round_up};
use crate::statements::Certificate;
use crate::statements::comparison;
use crate::statements::public_alone::{PublicAlone, public_alone};
use crate::statements::question::is_public;
use crate::store::ArchivedRun;
use crate::store::archive::{cell, epsilon, last, last_further, state_words};
use crate::store::file::plan_field::{common, differences};
use crate::store::ranking_record::ArchivedRanking;

const STYLE: &str = include_str!("style.css");
const VERSION: &str = env!("CARGO_PKG_VERSION");
/// Nothing is loaded from anywhere, and the browser enforces this.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'";
const RELEASED: &str = "Released numbers only. Nothing in this report was computed from private \
                        data without noise, and all noise is in the ledger.";
const RANKED: &str = "But the public data were ranked by exact numbers before: no ε covers what \
                      that decided.";
const CURATORS: &str = "For the curator only. Numbers marked ◆ were computed from private data \
                        without noise. No guarantee covers this report: do not pass it on.";
const VOID: &str = "The noise is known: it came from a seed that was given on the command line \
                    (--insecure-noise-seed), so anybody can take it away. No private record behind \
                    this report is protected: do not pass it on.";
const UNCERTIFIED: &str = "This run has no certificate: it is still at work, or its process died. \
                           What it had reserved counts as spent.";
/// What stands for a number that is not there.
pub(super) const NONE: &str = "–";

pub(super) fn html(report: &Report, figures: &[Figure], together: &[Together]) -> String {
    let title = title(report);
    let (curators, void) = (report.is_curators(), report.is_void());
    let stamp = match (void, curators) {
        (false, false) if report.rankings.iter().any(ArchivedRanking::is_exact) => {
            format!("{RELEASED} {RANKED}")
        }
        (false, false) => RELEASED.to_owned(),
        (true, false) => VOID.to_owned(),
        (false, true) => CURATORS.to_owned(),
        (true, true) => format!("{VOID} {CURATORS}"),
    };
    let promise = section("The guarantee in words", &guarantee(report));
    let seen = section("While it was trained", &plots(report, figures));
    let page = html! {
        (DOCTYPE)
        html lang="en" class=(if curators || void { "curator" } else { "released" }) {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="generator" content={ "halflight " (VERSION) };
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                title {
                    @if curators { "◆ CURATOR ONLY · " } @else if void { "NO GUARANTEE · " }
                    (title)
                }
                style { (PreEscaped(STYLE)) }
            }
            body {
                @if curators {
                    div.banner { "◆ Curator only · do not pass on ◆" }
                } @else if void {
                    div.banner { "No guarantee · do not pass on" }
                }
                header {
                    p.kicker { "Privacy report" }
                    h1 { (title) }
                    p.lead { (lead(report)) }
                    p.stamp { (stamp) }
                }
                main {
                    // For one run readers first want its promise, for several the comparison.
                    @if let [only] = report.runs.as_slice() {
                        (verdicts(report))
                        (rankings::verdicts(report))
                        (section("How good the model is", &html! {
                            (score(report)) (sums(report, together))
                        }))
                        (tiles(report, only))
                        (exact(report, only))
                        (promise)
                    } @else {
                        (verdicts(report))
                        (rankings::verdicts(report))
                        (section("How good the models are", &score(report)))
                        (section("Runs", &html! { (runs_table(report)) (sums(report, together)) }))
                        (promise)
                    }
                    (section("What rehearsals predicted", &rehearsal::html(report)))
                    (section("How the public data were ranked", &rankings::html(report)))
                    (section("What the public data weigh", &source_weights(report)))
                    (seen)
                    (section("How it was made", &settings(report)))
                    (section("Data", &datasets(report)))
                    (section("Noise that was drawn", &mechanisms(report)))
                    (section("How to repeat it", &repeat(report)))
                    (section("What the words mean", &meanings(report)))
                }
                footer { "Made by halflight " (VERSION) " on " (report.made) "." }
            }
        }
        "\n"
    };
    page.into_string()
}

/// A section, or nothing if it would be empty.
fn section(title: &str, content: &Markup) -> Markup {
    html! {
        @if !content.0.is_empty() {
            section { h2 { (title) } (content) }
        }
    }
}

/// Words on this page that not every reader knows.
const WORDS: [&str; 8] = [
    "guarantee",
    "ε",
    "δ",
    "holds if",
    "hold-out",
    "public data alone",
    "linear, no privacy",
    "noise",
];

/// Explains the words of the report with the texts of the interface.
fn meanings(report: &Report) -> Markup {
    let beside = [measured::ABSOLUTE, measured::BALANCED, measured::AUC];
    let is_shown =
        |series: Series| report.runs.iter().any(|it| measured(it, series, report).is_some());
    let beside = Series::BESIDE_PUBLIC.into_iter().zip(beside);
    let beside = beside.filter(|(series, _)| is_shown(*series)).map(|(_, name)| name);
    let words = WORDS.into_iter().chain(beside);
    let words = words.chain(report.is_curators().then_some("exact number"));
    html! {
        @if report.runs.iter().any(|it| it.score().is_some()) {
            p { b { "95 % interval" } ": " (words::RELEASED) }
        }
        @for word in words.filter_map(glossary::find) {
            p { b { (word.name) } ": " (word.text) }
        }
    }
}

fn title(report: &Report) -> String {
    match report.runs.as_slice() {
        [only] => only.plan().map_or(&only.run.id.0, |plan| &plan.name).clone(),
        runs => format!("{} runs", runs.len()),
    }
}

fn lead(report: &Report) -> String {
    let [only] = report.runs.as_slice() else {
        let plans = report.runs.iter().filter_map(Reported::plan);
        let names: BTreeSet<&String> = plans.map(|plan| &plan.private).collect();
        return format!("On the private data {}.", quoted(names));
    };
    let Some(plan) = only.plan() else { return "Its plan cannot be read.".to_owned() };
    let what = of_label(only);
    let public = quoted(&plan.public);
    let chosen = only.certificate.as_ref().and_then(|it| it.chosen.as_ref());
    let plans = only.session.as_ref().map_or(&[][..], |session| &session.plans);
    let of_a_plan = |winner: &String| plans.iter().any(|plan| plan.name == *winner);
    if chosen.is_some_and(|it| !it.winner.as_ref().is_some_and(of_a_plan)) {
        return format!(
            "A model{what} of the public data {public} alone: private records chose it."
        );
    }
    let sites = only.certificate.as_ref().map_or(&[][..], |it| &it.other_sites);
    let together = match sites {
        [] => String::new(),
        names => format!(" It was trained together with the sites {}.", quoted(names)),
    };
    format!(
        "A model{what} for the private data {}, adapted from the public data {public} by {}.{together}",
        quoted([&plan.private]),
        methods::name_of(&plan.method)
    )
}

/// ` of “label”`, if the run's session is known.
fn of_label(reported: &Reported) -> String {
    let label = reported.session.as_ref().and_then(|session| {
        let definition = session.dataset(reported.plan()?.public.first()?).ok()?;
        definition.label.as_ref()
    });
    label.map_or_else(String::new, |label| format!(" of {}", quoted([label])))
}

/// Names of people's choosing, in quotation marks.
pub(super) fn quoted<'a>(names: impl IntoIterator<Item = &'a String>) -> String {
    names.into_iter().map(|name| format!("“{name}”")).collect::<Vec<_>>().join(", ")
}

/// ε for display, never rounded down.
fn shown_epsilon(reported: &Reported) -> String {
    if reported.is_void() {
        return "unbounded".to_owned();
    }
    epsilon(&reported.run).map_or_else(|| NONE.to_owned(), |epsilon| round_up(epsilon, 4))
}

fn measured(reported: &Reported, series: Series, report: &Report) -> Option<String> {
    let value = last(&reported.run, series, &report.watch)?;
    Some(cell(reported.run.task(), series, value))
}

/// The cost of a run, and what was measured on public records.
fn tiles(report: &Report, only: &Reported) -> Markup {
    let tile = |value: Markup, name: &str, class: &str| {
        html! { div.tile.(class) { b { (value) } span { (name) } } }
    };
    let word = |word: &str| html! { (word) };
    let [public, private] = only.run.error_series();
    let measures = [
        ([public, Series::PublicError], Series::BESIDE_PUBLIC, "public", "", ""),
        ([private, Series::PrivateError], Series::BESIDE_PRIVATE, "private", " ◆", "exact"),
    ];
    html! {
        section.tiles {
            @let loss = if only.public_only() {
                "privacy loss of the score, rounded up; the model itself has none"
            } else {
                "privacy loss, rounded up"
            };
            (tile(html! { i { "ε" } " " (shown_epsilon(only)) }, loss, "main"))
            @if let Some(certificate) = &only.certificate {
                @if let Some(guarantee) = &certificate.guarantee {
                    @let delta = html! { i { "δ" } (format!(" {}", delta_words(guarantee.delta))) };
                    (tile(delta, "chance that the promise of ε does not hold", "main"))
                    (tile(word(guarantee.adjacency.words()), "neighbouring data", "word"))
                }
                @let records = match certificate.person {
                    None => "private training records",
                    Some(_) => "private persons in training",
                };
                @if !only.public_only() {
                    (tile(word(&grouped(certificate.records as u64)), records, ""))
                }
            }
            @for ([error, other], beside, kind, mark, class) in measures {
                @let other = Some(other).filter(|other| *other != error);
                @let other = other.and_then(|other| measured(only, other, report));
                @let other = other.map(|value| (measured::SQUARED, value));
                @let name = if error.is_error() { "error" } else { measured::ABSOLUTE };
                @let error = measured(only, error, report).map(|value| (name, value));
                @let further = last_further(&only.run, beside, &report.watch).rows();
                @let further = further.into_iter().filter(|(it, _)| *it != name);
                @for (name, value) in error.into_iter().chain(other).chain(further) {
                    @let name = format!("{name} on {kind} records held out");
                    (tile(html! { (value) (mark) }, &name, class))
                }
            }
            (tile(word(state_words(&only.run.outcome)), &steps(only), "word"))
        }
    }
}

/// What the curator sees of a run.
fn exact(report: &Report, only: &Reported) -> Markup {
    html! {
        @if let Some(errors) = only.run.errors.as_ref().and_then(|it| it.reveal(&report.watch)) {
            p.exact { (errors.verdict().text()) }
            @let further = errors.further_sentences().join(" ");
            @if !further.is_empty() { p.exact { (further) } }
        }
        // The curator's remark on the run, and why it failed.
        @if report.is_curators() {
            @if !only.run.tag.is_empty() { p.exact { "Remark: " (only.run.tag) " ◆" } }
            @if let Some(trouble) = &only.run.trouble { p.exact { "Trouble: " (trouble) " ◆" } }
        }
    }
}

fn steps(reported: &Reported) -> String {
    match (reported.run.steps, reported.run.of) {
        (0, 0) => "all candidates were trained".to_owned(),
        (steps, of) if of > steps => format!("after {} of {of} steps", grouped(steps)),
        (steps, _) => format!("after {} steps", grouped(steps)),
    }
}

/// Which model to take, what may be told, and how good each of several is, in words.
fn verdicts(report: &Report) -> Markup {
    let letter = |run: &ArchivedRun| {
        let of_run = report.runs.iter().find(|it| it.run.id == run.id);
        of_run.map_or("", |it| it.letter.as_str())
    };
    let named = |run: &ArchivedRun, _: &[&ArchivedRun]| {
        if report.has_several() {
            format!("run {} ({})", letter(run), comparison::plan_of(run))
        } else {
            "this model".to_owned()
        }
    };
    let runs: Vec<&ArchivedRun> = report.runs.iter().map(|it| &it.run).collect();
    html! {
        @for answer in comparison::answers(&runs, named, &|run| report.totals.get(run).cloned(), &report.watch) {
            table.answer {
                @for (head, words) in answer.lines() {
                    tr {
                        th { (head) }
                        td class=[answer.is_exact.then_some("exact")] {
                            @if head == comparison::TAKE { b { (words) } } @else { (words) }
                            @if answer.is_exact { " ◆" }
                        }
                    }
                }
            }
        }
        @if !report.has_several() && report.totals.is_empty() {
            p.note {
                "If it was chosen among several runs by their scores, the ε of all of them counts: a \
                 report on all of them has it."
            }
        }
        @if report.is_curators() && report.has_several() { p.exact { (comparison::NOT_FOR_CHOICE) } }
        @for reported in report.runs.iter().filter(|_| report.has_several()) {
            @let name = reported.plan().map_or("", |plan| plan.name.as_str());
            @let who = format!("Run {} ({name})", reported.letter);
            @if let Some(verdict) = reported.score().and_then(Scored::verdict) {
                p { (who) ": " (verdict) "." }
            }
            @if let Some(errors) = reported.run.errors.as_ref().and_then(|it| it.reveal(&report.watch)) {
                p.exact { (who) ": " (errors.verdict().text()) }
            }
        }
    }
}

/// The released scores.
fn score(report: &Report) -> Markup {
    let scores = report
        .certified()
        .filter_map(|(it, certificate)| Some((it, &it.letter, it.score()?, &certificate.chosen)));
    let scores: Vec<_> = scores.collect();
    let mut alike: BTreeMap<String, OfOneKind> = BTreeMap::new();
    for (reported, letter, scored, _) in &scores {
        let who = if report.has_several() { format!("{letter}: ") } else { String::new() };
        let kind = alike.entry(format!("{}{}", scored.kind(), of_label(reported))).or_default();
        kind.caps.extend(scored.cap());
        let row = |name, score, is_ours| Range { name: format!("{who}{name}"), score, is_ours };
        if !is_public(&reported.run) {
            kind.rows.push(row("this model", scored.error, true));
            let below = scored.public_alone.filter(|_| scored.builds_on_a_model);
            kind.rows.extend(below.map(|error| row(scored.beside(), error, false)));
        }
        kind.runs.push(&reported.run);
    }
    for kind in alike.values_mut() {
        let publics = public_alone(kind.runs.iter().copied());
        let of = |of: &[&str]| {
            if publics.len() > 1 { format!(": {}", of.join(" + ")) } else { String::new() }
        };
        let row = |name: &str, it: &PublicAlone, score| Range {
            name: format!("{name}{}", of(&it.of)),
            score,
            is_ours: false,
        };
        let one_answer = |it: &PublicAlone| {
            Some(row(&format!("{} for all", it.score.one_answer_name()), it, it.score.one_answer?))
        };
        kind.rows.extend(publics.iter().map(|it| row("public data alone", it, it.score.error)));
        kind.rows.extend(publics.iter().filter_map(one_answer));
    }
    html! {
        // Errors of one kind are on one axis.
        @for (name, kind) in &alike {
            @let caps = kind.caps.iter().cloned().collect::<Vec<_>>().join(" or ");
            p {
                b { (name) @if !caps.is_empty() { ", capped at " (caps) } }
                " (less is better)"
            }
            (ranges(kind))
        }
        @if scores.iter().any(|(reported, ..)| reported.run.joined.is_some()) {
            p.note { (comparison::JOINED) }
        }
        @for (_, letter, scored, chosen) in &scores {
            p {
                @if report.has_several() { "Run " (letter) ", on " } @else { "On " }
                (scored.note()) "."
            }
            @if let Some(chosen) = chosen { p { (chosen.sentence) } }
            @let rows = scored.rows().into_iter().map(|(name, value)| vec![name, value]);
            (table(&["", "95 % interval in brackets"], rows))
        }
        @for reported in &report.runs {
            @for later in &reported.run.later_scores {
                @let of = if report.has_several() { format!("Run {}: ", reported.letter) } else { String::new() };
                @if reported.run.score.as_ref() == Some(&later.score) {
                    p { (of) "this score was paid for later." }
                } @else {
                    p { (of) "scored later, " (later.sentence()) "." }
                    @let rows = later.score.rows().into_iter().map(|(name, value)| vec![name, value]);
                    (table(&["", "95 % interval in brackets"], rows))
                }
            }
        }
    }
}

/// A released error with its range.
struct Range {
    name: String,
    score: Score,
    /// Whether a private model has this error, and not public data alone.
    is_ours: bool,
}

/// Released errors of one kind.
#[derive(Default)]
struct OfOneKind<'a> {
    caps: BTreeSet<String>,
    rows: Vec<Range>,
    runs: Vec<&'a ArchivedRun>,
}

/// Errors with their ranges, on one axis that begins at zero.
fn ranges(OfOneKind { rows, .. }: &OfOneKind) -> Markup {
    const NAMES: f64 = 190.0;
    const WIDTH: f64 = 640.0;
    const ROW: f64 = 30.0;
    let most = rows.iter().map(|row| row.score.high).fold(0.0, f64::max);
    if most <= 0.0 {
        return html! {};
    }
    let at = |value: f64| NAMES + (WIDTH - NAMES - 20.0) * (value.max(0.0) / most);
    let height = ROW * rows.len() as f64 + 24.0;
    let base = height - 20.0;
    html! {
        figure.ranges {
            svg viewBox={ "0 0 " (WIDTH) " " (height) } role="img"
                aria-label="errors with their ranges" font-size="14" font-family="sans-serif" {
                line x1=(at(0.0)) x2=(at(most)) y1=(base) y2=(base) stroke="#8a8f99" {}
                @for value in [0.0, most / 2.0, most] {
                    text x=(at(value)) y=(height - 4.0) text-anchor="middle" fill="#5f6570" {
                        (compact(value))
                    }
                }
                @for (place, row) in rows.iter().enumerate() {
                    @let y = ROW * (place as f64 + 0.5);
                    @let colour = if row.is_ours { "#0072b2" } else { "#8a8f99" };
                    @let Score { value, low, high } = row.score;
                    text x="0" y=(y + 5.0) fill="#24272e" { (row.name) }
                    line x1=(at(low)) x2=(at(high)) y1=(y) y2=(y) stroke=(colour) stroke-width="5"
                        stroke-linecap="round" stroke-opacity="0.45" {}
                    circle cx=(at(value)) cy=(y) r="6" fill=(colour) {}
                }
            }
        }
    }
}

/// The weights of several public datasets: released.
fn source_weights(report: &Report) -> Markup {
    let weighed = report.certified().filter(|(_, it)| !it.source_weights.is_empty());
    let weighed: Vec<_> = weighed.collect();
    html! {
        @for (reported, certificate) in &weighed {
            @if report.has_several() { p { "Run " (reported.letter) "." } }
            @let rows = certificate.source_weights.iter().map(|it| {
                let (weight, share) = (compact(it.weight), percent(it.share));
                vec![it.dataset.clone(), it.records.to_string(), weight, share]
            });
            (table(&["public data", "records", "weight of a record", "share of all weight"], rows))
        }
        @if !weighed.is_empty() {
            p.note {
                "Released with the model, so they may be passed on. The weight of a record is the mean \
                 over a dataset, relative to the dataset with the largest."
            }
        }
    }
}

fn runs_table(report: &Report) -> Markup {
    let column = |title: &str, cell: &dyn Fn(&Reported) -> Option<String>| {
        let cells = report.runs.iter().map(|it| cell(it).unwrap_or_else(|| NONE.to_owned()));
        (title.to_owned(), cells.collect::<Vec<_>>())
    };
    let are_numbers = report.runs.iter().all(|it| it.run.task() == Some(Task::Regression));
    let of_series = |series: Series, mark: &str| {
        let of_error = if are_numbers { measured::SQUARED } else { measured::WRONG };
        let name = match series {
            Series::PublicError | Series::PrivateError => {
                series.words().replacen("error", of_error, 1)
            }
            _ => series.words().to_owned(),
        };
        column(&format!("{name}{mark}"), &|it| measured(it, series, report))
    };
    let mut columns = vec![
        column("", &|it| Some(it.letter.clone())),
        column("plan", &|it| Some(it.plan()?.name.clone())),
        column("method", &|it| Some(methods::name_of(&it.plan()?.method).to_owned())),
        column("ε", &|it| Some(shown_epsilon(it))),
        column("δ", &|it| Some(delta_words(it.certificate.as_ref()?.guarantee.as_ref()?.delta))),
        column("private records", &|it| Some(grouped(it.certificate.as_ref()?.records as u64))),
        column("outcome", &|it| Some(state_words(&it.run.outcome).to_owned())),
    ];
    let has_any = |(_, cells): &(String, Vec<String>)| cells.iter().any(|cell| cell != NONE);
    let [public, private] = [(Series::PublicError, ""), (Series::PrivateError, " ◆")];
    let of = |(series, mark)| of_series(series, mark);
    let beside = Series::BESIDE_PUBLIC.map(|series| (series, "")).into_iter();
    let beside = beside.chain(Series::BESIDE_PRIVATE.map(|it| (it, " ◆"))).map(of);
    // Further scores are those of numbers or of classes.
    let beside: Vec<_> = beside.filter(has_any).collect();
    // Runs are judged by the mean absolute error of numbers, where it is known.
    if !are_numbers || beside.is_empty() {
        columns.push(of(public));
        columns.extend(report.is_curators().then(|| of(private)));
    }
    columns.extend(beside);
    if report.is_curators() && report.runs.iter().any(|it| !it.run.tag.is_empty()) {
        columns.push(column("remark ◆", &|it| Some(it.run.tag.clone())));
    }
    let titles: Vec<&String> = columns.iter().map(|(title, _)| title).collect();
    let row = |at: usize| columns.iter().map(|(_, cells)| cells[at].clone()).collect();
    table(&titles, (0..report.runs.len()).map(row))
}

/// The sums of several runs.
fn sums(report: &Report, together: &[Together]) -> Markup {
    let mut kinds = report.certified().filter_map(|(_, it)| Some(it.guarantee.as_ref()?.adjacency));
    let first = kinds.next();
    let differ = kinds.any(|other| Some(other) != first);
    let has_delta = |delta| {
        let mut own = report.certified().filter_map(|(_, it)| Some(it.guarantee.as_ref()?.delta));
        own.any(|it| it == delta)
    };
    html! {
        @for Together { runs, has_later_scores, guarantee } in together {
            @let (who, data) = match (runs.as_slice(), *has_later_scores) {
                ([_], _) => {
                    ("This run and the scores that were paid for later".to_owned(), "private data")
                }
                (runs, is_scored) => {
                    let scores = if is_scored { " and their later scores" } else { "" };
                    (format!("Runs {}{scores}", runs.join(", ")), "private data of all of them")
                }
            };
            p.note {
                (who) " together cost whoever is in the " (data) " "
                b {
                    "ε = " (round_up(guarantee.epsilon, 4))
                    ", δ = " (delta_words(guarantee.delta))
                }
                @if !has_delta(guarantee.delta) { ", which is the δ of the budget" }
                " (" (guarantee.adjacency.words()) "): all their noise is accounted together, \
                 usually for less than the sum of their ε. It holds also if later ones were chosen \
                 after seeing earlier ones. Rankings and other runs on these data add to that; "
                @if report.totals.is_empty() { "the ledger has" } @else { "all spending, above, is" }
                " the whole sum."
                @if differ {
                    " Some promises are for records that are replaced. They hold for blanked ones at \
                     the same ε, and so does the sum."
                }
            }
        }
    }
}

/// The sentences of one kind in a certificate.
type Sentences = fn(&Certificate) -> Vec<&str>;
/// The lists of sentences: class, title, and where they are.
const LISTS: [(&str, &str, Sentences); 4] = [
    ("covered", "It covers", |it| texts(&it.covered)),
    ("uncovered", "It does not cover", |it| texts(&it.not_covered)),
    ("assumed", "It takes as public", |it| texts(&it.taken_as_public)),
    ("assumed", "It assumes", |it| texts(it.assumption.as_slice())),
];

fn texts<T: AsRef<str>>(list: &[T]) -> Vec<&str> {
    list.iter().map(AsRef::as_ref).collect()
}

fn guarantee(report: &Report) -> Markup {
    let promises = report.runs.iter().map(|reported| {
        let promise = reported.certificate.as_ref().map_or(vec![UNCERTIFIED], |it| {
            let also = it.also.iter().map(String::as_str);
            [it.statement.as_str()].into_iter().chain(also).chain([it.reading.as_str()]).collect()
        });
        (promise, reported)
    });
    let count = report.certified().count();
    html! {
        @for (sentences, letters) in once(promises) {
            blockquote {
                @for letter in letters.iter().filter(|letter| !letter.is_empty()) {
                    b.letter { (letter) } " "
                }
                @for sentence in sentences { p { (sentence) } }
            }
        }
        div.columns {
            @for (class, title, sentences) in LISTS {
                @let of_run = |(run, it)| sentences(it).into_iter().map(move |it| (it, run));
                @let said = once(report.certified().flat_map(of_run));
                @if !said.is_empty() {
                    div class=(class) {
                        h3 { (title) }
                        ul {
                            @for (sentence, letters) in said {
                                li {
                                    (sentence)
                                    @if letters.len() < count { " " b.letter { (letters.join(", ")) } }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn plots(report: &Report, figures: &[Figure]) -> Markup {
    if figures.is_empty() {
        return html! {};
    }
    html! {
        @if report.runs.len() > MOST_CURVES {
            p.note {
                "Curves are those of the first " (MOST_CURVES) " runs; utility is that of all."
            }
        }
        div.plots {
            @for figure in figures { figure { (PreEscaped(figure.svg())) } }
        }
        p.note {
            "Errors on public records cost no privacy, so they are shown. But the model is made for \
             the private records: where the two differ, this error may well grow while the model \
             gets better."
        }
    }
}

/// The differences, then the common settings of all plans.
fn settings(report: &Report) -> Markup {
    let plans: Vec<_> = report.runs.iter().map(Reported::plan).collect();
    let different = differences(&plans);
    let letters = report.runs.iter().map(|reported| reported.letter.as_str());
    let header: Vec<&str> = [""].into_iter().chain(letters).collect();
    let rows = different
        .iter()
        .map(|(name, values)| [std::slice::from_ref(name), values.as_slice()].concat());
    html! {
        @if report.has_several() {
            @if different.is_empty() {
                p { "The plans are the same; only the noise differs." }
            } @else {
                h3 { "What differs" }
                (table(&header, rows))
            }
            h3 { "What is the same" }
        }
        dl {
            @for (name, value) in common(&plans) { div { dt { (name) } dd { (value) } } }
        }
    }
}

/// Every dataset once. Only the names of files are shown, not their paths.
fn datasets(report: &Report) -> Markup {
    let described = report.runs.iter().flat_map(|reported| {
        let datasets = reported.session.iter().flat_map(|session| &session.datasets);
        datasets.map(move |dataset| (description(dataset), reported))
    });
    let known = once(described);
    if known.is_empty() {
        return html! { p { "The plans of these runs cannot be read." } };
    }
    let header = ["dataset", "standing", "from", "rows", "label", "features", "gaps"];
    table(&header, known.into_iter().map(|(description, _)| description))
}

fn description(dataset: &DatasetDefinition) -> Vec<String> {
    let drawn = if dataset.unit.is_some() { "persons at random" } else { "at random" };
    let mut rows = match (&dataset.filter, &dataset.sample) {
        (None, None) if dataset.records.is_some() => "their number is hidden".to_owned(),
        (None, None) => "all".to_owned(),
        (Some(filter), None) => filter.clone(),
        (None, Some(sample)) => format!("{} {drawn}", sample.rows),
        (Some(filter), Some(sample)) => format!("{} {drawn} of {filter}", sample.rows),
    };
    if let Some(unit) = &dataset.unit {
        rows = format!("{rows}; up to {} of each '{}'", dataset.most_records(), unit.words());
    }
    let mut features = match &dataset.columns {
        Columns::All => "every other column".to_owned(),
        columns => columns.words(),
    };
    if let Some(extraction) = &dataset.extract {
        features = format!("{features}, extracted by {}", file_name(&extraction.network));
    }
    let role = match dataset.role {
        Role::Private => "private",
        Role::Public => "public",
    };
    let gaps = match dataset.missing {
        Missing::Refuse => "refused",
        Missing::Drop => "left out",
        Missing::PublicMean => "public mean",
    };
    let from = match &dataset.source {
        Source::Builtin(name) => format!("built-in {name}"),
        Source::Synthetic { .. } => "synthetic".to_owned(),
        source => source.files().into_iter().map(file_name).collect::<Vec<_>>().join(", "),
    };
    let label = dataset.label.as_deref().unwrap_or(NONE).to_owned();
    vec![dataset.name.clone(), role.to_owned(), from, rows, label, features, gaps.to_owned()]
}

fn file_name(path: &str) -> String {
    Path::new(path).file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn mechanisms(report: &Report) -> Markup {
    let rows = report.certified().flat_map(|(reported, certificate)| {
        certificate.mechanisms.iter().map(move |event| (reported, mechanism(event)))
    });
    let rows: Vec<_> = rows.collect();
    if rows.is_empty() {
        return html! { p { "None: nothing was released." } };
    }
    let accountants = once(report.certified().map(|(reported, certificate)| {
        let bound = certificate.guarantee.as_ref().map_or("void", |it| it.bound.as_str());
        (format!("{}; {bound}", certificate.accountant), reported)
    }));
    let accountants: Vec<String> = accountants.into_iter().map(|(line, _)| line).collect();
    let header = ["what was released", "mechanism", "size", "sensitivity", "noise", "draws"];
    html! {
        (lettered(report, &header, rows))
        p.note { "Accounted by " (accountants.join(" · ")) "." }
    }
}

fn mechanism(event: &Event) -> Vec<String> {
    let (query, noise) = (&event.mechanism.query, &event.mechanism.noise);
    let (name, symbol) = match query.kind {
        QueryKind::Gaussian => ("discrete Gaussian", "σ"),
        QueryKind::SampledSum { .. } => ("discrete Gaussian on a Poisson sample", "σ"),
        QueryKind::Laplace => ("discrete Laplace", "scale"),
        QueryKind::Selection(Rule::Exponential) => ("exponential mechanism", "scale"),
        QueryKind::Selection(Rule::PermuteAndFlip) => ("permute-and-flip", "scale"),
        QueryKind::Direction => ("Bingham direction", "scale"),
        QueryKind::Selection(Rule::NoisyMaximum) => ("largest noisy score", "scale"),
        QueryKind::Repeated(_) => ("discrete Gaussian, repeated", "σ"),
        QueryKind::Pure => ("pure differential privacy", "scale"),
    };
    vec![
        event.what.clone(),
        name.to_owned(),
        query.size_words(),
        format!("{} ({})", compact(query.sensitivity), event.adjacency.words()),
        format!("{symbol} {}", compact(noise.scale)),
        grouped(event.count),
    ]
}

fn repeat(report: &Report) -> Markup {
    let several = report.has_several();
    let mut commands: Vec<(String, String)> = Vec::new();
    for reported in &report.runs {
        let directory = format!(".halflight/runs/{}", reported.run.id.0);
        let of = if several { format!("{}: ", reported.letter) } else { String::new() };
        let choice = reported.certificate.as_ref().filter(|it| it.chosen.is_some());
        let (what, command) = match choice.map(|it| it.target) {
            Some(target) => {
                let (epsilon, delta) = (target.epsilon, target.delta);
                let command =
                    format!("choose {directory}/run.ron --epsilon {epsilon} --delta {delta:e}");
                ("choice", command)
            }
            None => ("plan", format!("run {directory}/run.ron")),
        };
        let spends = reported.run.guarantee.is_none_or(|it| it.epsilon > 0.0);
        let cost =
            if spends { "fresh noise, and its ε is spent again" } else { "it spends nothing" };
        let comment = format!("{of}the same {what} once more: {cost}");
        commands.push((comment, command));
        if !several {
            let command = format!("predict {directory} new.csv -o predictions.csv");
            commands.push(("what its model says about new rows".to_owned(), command));
        }
    }
    commands
        .push(("everything that was spent on these private data".to_owned(), "ledger".to_owned()));
    let versions: BTreeSet<&str> =
        report.certified().map(|(_, it)| it.halflight.as_ref()).collect();
    let versions: Vec<&str> = versions.into_iter().collect();
    let runs = report.runs.iter().map(|reported| {
        let seen = match reported.certificate.as_ref().map(|certificate| certificate.peeked) {
            Some(true) => "exact numbers could be seen by the curator",
            Some(false) => "sealed: nobody saw an exact number while it ran",
            None => NONE,
        };
        let (id, time) = (reported.run.id.0.clone(), reported.run.time.clone());
        (reported, vec![id, time, seen.to_owned()])
    });
    html! {
        pre {
            @for (comment, command) in &commands {
                span { "# " (comment) } "\nhalflight " (command) "\n"
            }
        }
        (lettered(report, &["run", "begun (UTC)", "while it worked"], runs))
        p.note {
            "The runs were made with halflight " (versions.join(", ")) ". Data, settings and the \
             public seed are in each run's "
            code { "run.ron" }
            @if report.is_void() {
                "; private noise came from a known seed, which the guarantee in words names."
            } @else {
                "; private noise comes from the operating system and cannot be drawn again."
            }
        }
    }
}

/// A table with rows about runs: of several runs, their letters come first.
fn lettered<'a>(
    report: &Report,
    header: &[&str],
    rows: impl IntoIterator<Item = (&'a Reported, Vec<String>)>,
) -> Markup {
    let letter = |letter: String| report.has_several().then_some(letter);
    let header: Vec<String> = letter(String::new())
        .into_iter()
        .chain(header.iter().map(|title| (*title).to_owned()))
        .collect();
    let rows = rows
        .into_iter()
        .map(|(reported, row)| letter(reported.letter.clone()).into_iter().chain(row).collect());
    table(&header, rows)
}

pub(super) fn table(
    header: &[impl AsRef<str>],
    rows: impl IntoIterator<Item = Vec<String>>,
) -> Markup {
    html! {
        div.scroll {
            table {
                thead { tr { @for cell in header { th scope="col" { (cell.as_ref()) } } } }
                tbody {
                    @for row in rows {
                        tr {
                            @for (at, cell) in row.iter().enumerate() {
                                @if at == 0 {
                                    th scope="row" { (cell) }
                                } @else {
                                    @let title = header.get(at).map(AsRef::as_ref);
                                    @let title = title.filter(|title| !title.is_empty());
                                    @let class = is_number(cell).then_some("number");
                                    td class=[class] data-title=[title] { (cell) }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn is_number(cell: &str) -> bool {
    cell == NONE || cell.replace('\u{202f}', "").parse::<f64>().is_ok()
}

/// 1234567 as 1 234 567, with narrow spaces that do not break.
fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push('\u{202f}');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_counts_are_grouped_by_thousands() {
        for (count, text) in
            [(7, "7"), (1654, "1\u{202f}654"), (1_000_000, "1\u{202f}000\u{202f}000")]
        {
            assert_eq!(grouped(count), text);
            assert!(is_number(text));
        }
    }

    #[test]
    fn cells_are_escaped_and_numbers_are_set_apart() {
        let rows = [vec!["<i>".into(), "1.5".into(), "x & y".into()]];
        let table = table(&["a<b"], rows).into_string();
        assert!(table.contains("<th scope=\"col\">a&lt;b</th>"), "{table}");
        assert!(table.contains("<th scope=\"row\">&lt;i&gt;</th><td class=\"number\">1.5</td>"));
        assert!(table.contains("<td>x &amp; y</td>"), "{table}");
    }
}
