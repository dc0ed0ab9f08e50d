//! The page of a report, section by section.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::figures::MOST_CURVES;
use super::{Report, Reported, Together, rankings, rehearsal};
use crate::Certificate;
use crate::archive::{self, cell, epsilon, last, last_further};
use crate::data::{Columns, DatasetDefinition, Missing, Role, Source};
use crate::evaluation::{Scored, measured, words};
use crate::glossary;
use crate::methods::{self, Series};
use crate::plan_field::{differences, fields};
use crate::plot::Figure;
use crate::plot::number::{compact, percent};
use crate::privacy::Event;
use crate::privacy::accountant::{QueryKind, Rule, round_up};
use crate::verdict::Standing;

const STYLE: &str = include_str!("style.css");
const VERSION: &str = env!("CARGO_PKG_VERSION");
/// Nothing is loaded from anywhere, and the browser enforces this.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'";

const RELEASED: &str = "Released numbers only. Nothing in this report was computed from private \
                        data without noise, and all noise is in the ledger.";
const CURATORS: &str = "For the curator only. Numbers marked ◆ were computed from private data \
                        without noise. No guarantee covers this report: do not pass it on.";
const VOID: &str = "The noise is known: it came from a seed that was given on the command line \
                    (--insecure-noise-seed), so anybody can take it away. No private record behind \
                    this report is protected: do not pass it on.";
const UNCERTIFIED: &str = "This run has no certificate: it is still at work, or its process died. \
                           What it had reserved counts as spent.";

pub(super) fn html(report: &Report, figures: &[Figure], together: &[Together]) -> String {
    let title = title(report);
    let curators = report.is_curators();
    let void = report.is_void();
    let (stamp, class) = match (curators, void) {
        (true, false) => (CURATORS.to_owned(), "curator"),
        (true, true) => (format!("{VOID} {CURATORS}"), "curator"),
        (false, true) => (VOID.to_owned(), "curator"),
        (false, false) => (RELEASED.to_owned(), "released"),
    };
    let promise = section("The guarantee in words", &guarantee(report));
    let seen = section("Charts", &plots(report, figures));
    let page = html! {
        (DOCTYPE)
        html lang="en" class=(class) {
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
                        @let told = only.certificate.as_ref().and_then(|it| it.score.as_ref());
                        @if let Some(alarm) = told.and_then(Scored::alarm) {
                            p.uncovered { b { (alarm) } }
                        }
                        (tiles(report, only))
                        (section("How good the model is", &score(report)))
                        (promise)
                        (seen)
                    } @else {
                        (verdicts(report))
                        (section("Runs", &html! { (runs_table(report)) (sums(together)) }))
                        (section("How good the models are", &score(report)))
                        (seen)
                        (promise)
                    }
                    (section("What rehearsals predicted", &rehearsal::html(report)))
                    (section("How the public data were ranked", &rankings::html(report)))
                    (section("What the public data weigh", &source_weights(report)))
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

/// Words on this page that not every reader knows.
const WORDS: [&str; 8] = [
    "guarantee",
    "ε",
    "δ",
    "holds if",
    "hold-out",
    "public data only",
    "private data, no privacy",
    "noise",
];

/// Explains the words of the report with the texts of the interface.
fn meanings(report: &Report) -> Markup {
    let beside = [measured::ABSOLUTE, measured::BALANCED, measured::AUC];
    let beside = Series::BESIDE_PUBLIC.into_iter().zip(beside);
    let beside = beside
        .filter(|(series, _)| report.runs.iter().any(|it| measured(it, *series, report).is_some()))
        .map(|(_, name)| name);
    let words = WORDS.into_iter().chain(beside);
    let words = words.chain(report.is_curators().then_some("exact number"));
    html! {
        @for word in words.filter_map(glossary::find) {
            p { b { (word.name) } ": " (word.text) }
        }
    }
}

/// A section, or nothing if it would be empty.
fn section(title: &str, content: &Markup) -> Markup {
    html! {
        @if !content.0.is_empty() {
            section { h2 { (title) } (content) }
        }
    }
}

fn title(report: &Report) -> String {
    match report.runs.as_slice() {
        [only] => {
            only.run.plan.as_ref().map_or_else(|| only.run.id.0.clone(), |it| it.name.clone())
        }
        runs => format!("{} runs", runs.len()),
    }
}

fn lead(report: &Report) -> String {
    let [only] = report.runs.as_slice() else {
        let mut names: Vec<&str> = report
            .runs
            .iter()
            .filter_map(|reported| reported.run.plan.as_ref())
            .map(|plan| plan.private.as_str())
            .collect();
        names.sort_unstable();
        names.dedup();
        return format!("On the private data {}.", quoted(&names));
    };
    let Some(plan) = &only.run.plan else { return "Its plan cannot be read.".to_owned() };
    let label = only.session.as_ref().and_then(|session| {
        let definition = session.dataset(plan.public.first()?).ok()?;
        definition.label.clone()
    });
    let what = label.map_or_else(String::new, |label| format!(" of {}", quoted(&[&label])));
    let public: Vec<&str> = plan.public.iter().map(String::as_str).collect();
    let chosen = only.certificate.as_ref().and_then(|it| it.chosen.as_ref());
    let plans = only.session.as_ref().map_or(&[][..], |session| &session.plans);
    let of_a_plan = |winner: &String| plans.iter().any(|plan| plan.name == *winner);
    if chosen.is_some_and(|it| !it.winner.as_ref().is_some_and(of_a_plan)) {
        return format!(
            "A model{what} of the public data {} alone: private records chose it.",
            quoted(&public)
        );
    }
    format!(
        "A model{what} for the private data {}, adapted from the public data {} by {}.",
        quoted(&[&plan.private]),
        quoted(&public),
        methods::name_of(&plan.method)
    )
}

/// Names of people's choosing, in quotation marks.
pub(super) fn quoted(names: &[&str]) -> String {
    names.iter().map(|name| format!("“{name}”")).collect::<Vec<_>>().join(", ")
}

/// ε for display, never rounded down.
fn shown_epsilon(reported: &Reported) -> String {
    if reported.is_void() {
        return "unbounded".to_owned();
    }
    epsilon(&reported.run).map_or_else(|| "–".to_owned(), |epsilon| round_up(epsilon, 4))
}

fn measured(reported: &Reported, series: Series, report: &Report) -> Option<String> {
    let value = last(&reported.run, series, &report.watch)?;
    Some(cell(reported.run.task(), series, value))
}

/// The further scores beside the error, if they exist and may be seen.
fn further(
    reported: &Reported,
    series: [Series; 3],
    report: &Report,
) -> Vec<(&'static str, String)> {
    last_further(&reported.run, series, &report.watch).rows()
}

/// The numbers that a reader looks for first.
fn tiles(report: &Report, only: &Reported) -> Markup {
    let tile = |value: Markup, name: &str, class: &str| {
        html! { div.tile.(class) { b { (value) } span { (name) } } }
    };
    let word = |word: &str| html! { (word) };
    let errors = only.run.errors.as_ref().and_then(|it| it.reveal(&report.watch));
    html! {
        section.tiles {
            (tile(html! { i { "ε" } " " (shown_epsilon(only)) }, "privacy loss, rounded up", "main"))
            @if let Some(certificate) = &only.certificate {
                @if let Some(guarantee) = &certificate.guarantee {
                    @let delta = html! { i { "δ" } (format!(" {:e}", guarantee.delta)) };
                    (tile(delta, "chance that the promise of ε does not hold", "main"))
                    (tile(word(guarantee.adjacency.words()), "neighbouring data", "word"))
                }
                @let records = match certificate.person {
                    None => "private training records",
                    Some(_) => "private persons in training",
                };
                (tile(word(&grouped(certificate.records)), records, ""))
            }
            @if let Some(error) = measured(only, Series::PublicError, report) {
                (tile(word(&error), "error on public records held out", ""))
            }
            @for (name, value) in further(only, Series::BESIDE_PUBLIC, report) {
                (tile(word(&value), &format!("{name} on public records held out"), ""))
            }
            @if let Some(error) = measured(only, Series::PrivateError, report) {
                (tile(html! { (error) " ◆" }, "error on private records held out", "exact"))
            }
            @for (name, value) in further(only, Series::BESIDE_PRIVATE, report) {
                @let name = format!("{name} on private records held out");
                (tile(html! { (value) " ◆" }, &name, "exact"))
            }
            (tile(word(archive::state_words(&only.run.outcome)), &steps(only), "word"))
        }
        @if let Some(errors) = errors {
            p.exact { (errors.verdict(Standing::Exact).text()) }
            @let further = errors.further_sentences(Standing::Exact).join(" ");
            @if !further.is_empty() { p.exact { (further) } }
        }
        // The curator's remark on the run, and why it failed.
        @if report.is_curators() {
            @if !only.run.tag.is_empty() { p.exact { "Remark: " (only.run.tag) " ◆" } }
            @if let Some(trouble) = &only.run.trouble { p.exact { "Trouble: " (trouble) " ◆" } }
        }
    }
}

/// How good the models of several runs are, in words.
fn verdicts(report: &Report) -> Markup {
    html! {
        @for reported in &report.runs {
            @let name = reported.run.plan.as_ref().map_or("", |plan| plan.name.as_str());
            @let who = format!("Run {} ({name})", reported.letter);
            @let told = reported.certificate.as_ref().and_then(|it| it.score.as_ref());
            @if let Some(alarm) = told.and_then(Scored::alarm) {
                p.uncovered { b { (who) ": " (alarm) } }
            }
            @if let Some(verdict) = told.and_then(Scored::verdict) {
                p { b { (who) ": the model is " (verdict) "." } }
            }
            @if let Some(errors) = reported.run.errors.as_ref().and_then(|it| it.reveal(&report.watch)) {
                p.exact { (who) ": " (errors.verdict(Standing::Exact).text()) }
            }
        }
    }
}

/// The released scores.
fn score(report: &Report) -> Markup {
    let several = report.runs.len() > 1;
    let scores: Vec<_> = report
        .runs
        .iter()
        .filter_map(|reported| {
            let certificate = reported.certificate.as_ref()?;
            Some((&reported.letter, certificate.score.as_ref()?, &certificate.chosen))
        })
        .collect();
    html! {
        @for (letter, scored, chosen) in &scores {
            // Of several runs the verdicts stand at the head of the page.
            @if let Some(verdict) = scored.verdict().filter(|_| !several) {
                p { b { "The model is " (verdict) "." } }
            }
            p {
                @if several { "Run " (letter) ", on " } @else { "On " }
                (scored.note()) "."
            }
            @if let Some(chosen) = chosen { p { (chosen.sentence) } }
            @let rows = scored.rows().into_iter().map(|(name, value)| vec![name, value]);
            (table(&["", "95 % interval in brackets"], &rows.collect::<Vec<_>>()))
        }
        @if !scores.is_empty() { p.note { (words::RELEASED) } }
    }
}

/// The weights of several public datasets: released.
fn source_weights(report: &Report) -> Markup {
    let several = report.runs.len() > 1;
    let weighed = report.runs.iter().filter_map(|reported| {
        let weights = &reported.certificate.as_ref()?.source_weights;
        (!weights.is_empty()).then_some((&reported.letter, weights))
    });
    let weighed: Vec<_> = weighed.collect();
    html! {
        @for (letter, weights) in &weighed {
            @if several { p { "Run " (letter) "." } }
            @let rows = weights.iter().map(|it| {
                vec![
                    it.dataset.clone(),
                    it.records.to_string(),
                    compact(it.weight),
                    percent(it.share),
                ]
            });
            @let columns = ["public data", "records", "weight of a record", "share of all weight"];
            (table(&columns, &rows.collect::<Vec<_>>()))
        }
        @if !weighed.is_empty() {
            p.note {
                "Released with the model, so they may be passed on. The weight of a record is the mean \
                 over a dataset, relative to the dataset with the largest."
            }
        }
    }
}

fn steps(reported: &Reported) -> String {
    match (reported.run.steps, reported.run.of) {
        (0, 0) => "all candidates were trained".to_owned(),
        (steps, of) if of > steps => format!("after {} of {} steps", grouped_u64(steps), of),
        (steps, _) => format!("after {} steps", grouped_u64(steps)),
    }
}

fn runs_table(report: &Report) -> Markup {
    let mut header =
        vec!["", "plan", "method", "ε", "δ", "private records", "public error", "outcome"];
    let tagged = report.runs.iter().any(|reported| !reported.run.tag.is_empty());
    if report.is_curators() {
        header.push("private error ◆");
    }
    // Further scores are those of numbers or of classes.
    let exact = Series::BESIDE_PRIVATE.into_iter().filter(|_| report.is_curators());
    let beside =
        Series::BESIDE_PUBLIC.into_iter().map(|it| (it, "")).chain(exact.map(|it| (it, " ◆")));
    let beside: Vec<(Series, String)> = beside
        .filter(|(series, _)| report.runs.iter().any(|it| measured(it, *series, report).is_some()))
        .map(|(series, mark)| (series, format!("{}{mark}", series.words())))
        .collect();
    header.extend(beside.iter().map(|(_, title)| title.as_str()));
    if report.is_curators() && tagged {
        header.push("remark ◆");
    }
    let dash = || "–".to_owned();
    let rows = report.runs.iter().map(|reported| {
        let plan = reported.run.plan.as_ref();
        let certificate = reported.certificate.as_ref();
        let mut row = vec![
            reported.letter.clone(),
            plan.map_or_else(dash, |plan| plan.name.clone()),
            plan.map_or_else(dash, |plan| methods::name_of(&plan.method).to_owned()),
            shown_epsilon(reported),
            certificate
                .and_then(|certificate| certificate.guarantee.as_ref())
                .map_or_else(dash, |guarantee| format!("{:e}", guarantee.delta)),
            certificate.map_or_else(dash, |certificate| grouped(certificate.records)),
            measured(reported, Series::PublicError, report).unwrap_or_else(dash),
            archive::state_words(&reported.run.outcome).to_owned(),
        ];
        if report.is_curators() {
            row.push(measured(reported, Series::PrivateError, report).unwrap_or_else(dash));
        }
        let further = beside.iter().map(|(series, _)| measured(reported, *series, report));
        row.extend(further.map(|told| told.unwrap_or_else(dash)));
        row.extend((report.is_curators() && tagged).then(|| reported.run.tag.clone()));
        row
    });
    table(&header, &rows.collect::<Vec<_>>())
}

/// The sums of several runs.
fn sums(together: &[Together]) -> Markup {
    html! {
        @for Together { runs, guarantee } in together {
            p.note {
                "Runs " (runs.join(", ")) " together cost whoever is in the private data of all of \
                 them "
                b {
                    "ε = " (round_up(guarantee.epsilon, 4))
                    ", δ = " (format!("{:e}", guarantee.delta))
                }
                " (" (guarantee.adjacency.words()) "), also if later ones were chosen after \
                 seeing earlier ones. Other runs on these data add to that; the ledger has the \
                 whole sum."
            }
        }
    }
}

fn guarantee(report: &Report) -> Markup {
    let lists = [
        ("covered", "It covers", said(report, |it| it.covered.iter().map(AsRef::as_ref).collect())),
        (
            "uncovered",
            "It does not cover",
            said(report, |it| it.not_covered.iter().map(String::as_str).collect()),
        ),
        (
            "uncovered",
            "It takes as public",
            said(report, |it| it.taken_as_public.iter().map(String::as_str).collect()),
        ),
        (
            "uncovered",
            "It assumes",
            said(report, |it| it.assumption.iter().map(AsRef::as_ref).collect()),
        ),
        (
            "covered",
            "It was rehearsed",
            said(report, |it| it.rehearsed.iter().map(String::as_str).collect()),
        ),
    ];
    html! {
        @for (sentences, letters) in statements(report) {
            blockquote {
                @for letter in letters.iter().filter(|letter| !letter.is_empty()) {
                    b.letter { (letter) } " "
                }
                @for sentence in sentences { p { (sentence) } }
            }
        }
        div.columns {
            @for (class, title, sentences) in lists.iter().filter(|(_, _, it)| !it.is_empty()) {
                div class=(class) {
                    h3 { (title) }
                    ul {
                        @for (sentence, letters) in sentences {
                            li {
                                (sentence)
                                @if let Some(letters) = letters { " " b.letter { (letters) } }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// The promises of the runs, each once, with the letters of the runs that make it.
fn statements(report: &Report) -> Vec<(Vec<&str>, Vec<&str>)> {
    let mut all: Vec<(Vec<&str>, Vec<&str>)> = Vec::new();
    for reported in &report.runs {
        let sentences: Vec<&str> = match &reported.certificate {
            Some(certificate) => std::iter::once(&certificate.statement)
                .chain(&certificate.also)
                .chain([&certificate.reading])
                .map(String::as_str)
                .collect(),
            None => vec![UNCERTIFIED],
        };
        match all.iter_mut().find(|(known, _)| *known == sentences) {
            Some((_, letters)) => letters.push(&reported.letter),
            None => all.push((sentences, vec![&reported.letter])),
        }
    }
    all
}

/// The sentences of certificates, each once, with the letters of its runs if not all have it.
fn said(
    report: &Report,
    sentences: impl Fn(&Certificate) -> Vec<&str>,
) -> Vec<(String, Option<String>)> {
    let mut all: Vec<(String, Vec<&str>)> = Vec::new();
    let certified = || report.runs.iter().filter(|reported| reported.certificate.is_some());
    for reported in certified() {
        for sentence in reported.certificate.iter().flat_map(&sentences) {
            match all.iter_mut().find(|(known, _)| known == sentence) {
                Some((_, letters)) => letters.push(&reported.letter),
                None => all.push((sentence.to_owned(), vec![&reported.letter])),
            }
        }
    }
    let count = certified().count();
    let marked = all.into_iter().map(|(sentence, letters)| {
        let letters = (letters.len() < count).then(|| letters.join(", "));
        (sentence, letters)
    });
    marked.collect()
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
    let plans: Vec<_> = report.runs.iter().map(|reported| reported.run.plan.as_ref()).collect();
    let different = differences(&plans);
    let several = report.runs.len() > 1;
    let letters = report.runs.iter().map(|reported| reported.letter.as_str());
    let header: Vec<&str> = std::iter::once("").chain(letters).collect();
    let rows = different
        .iter()
        .map(|(name, values)| [std::slice::from_ref(name), values.as_slice()].concat());
    let rows: Vec<Vec<String>> = rows.collect();
    html! {
        @if several && rows.is_empty() {
            p { "The plans are the same; only the noise differs." }
        } @else if several {
            h3 { "What differs" }
            (table(&header, &rows))
        }
        @if several { h3 { "What is the same" } }
        @if let Some(plan) = plans.iter().flatten().next() {
            @let shared = |name: &str| different.iter().all(|(other, _)| other != name);
            dl {
                @for field in fields(plan).into_iter().filter(|field| shared(field.name())) {
                    div { dt { (field.name()) } dd { (field.shown(plan)) } }
                }
            }
        }
    }
}

/// Every dataset once. Only the names of files are shown, not their paths.
fn datasets(report: &Report) -> Markup {
    let mut known: Vec<&DatasetDefinition> = Vec::new();
    for session in report.runs.iter().filter_map(|reported| reported.session.as_ref()) {
        for dataset in &session.datasets {
            let told = |other: &&DatasetDefinition| description(other) == description(dataset);
            if !known.iter().any(told) {
                known.push(dataset);
            }
        }
    }
    if known.is_empty() {
        return html! { p { "The plans of these runs cannot be read." } };
    }
    let rows: Vec<_> = known.iter().map(|dataset| description(dataset)).collect();
    table(&["dataset", "standing", "from", "rows", "label", "features", "gaps"], &rows)
}

fn description(dataset: &DatasetDefinition) -> Vec<String> {
    let drawn = if dataset.unit.is_some() { "persons at random" } else { "at random" };
    let rows = match (&dataset.filter, &dataset.sample) {
        (None, None) if dataset.records.is_some() => "their number is hidden".to_owned(),
        (None, None) => "all".to_owned(),
        (Some(filter), None) => filter.clone(),
        (None, Some(sample)) => format!("{} {drawn}", sample.rows),
        (Some(filter), Some(sample)) => format!("{} {drawn} of {filter}", sample.rows),
    };
    let rows = match &dataset.unit {
        Some(unit) => {
            format!("{rows}; up to {} of each '{}'", dataset.most_records(), unit.words())
        }
        None => rows,
    };
    let features = match &dataset.columns {
        Columns::All => "every other column".to_owned(),
        Columns::Only(names) => names.join(", "),
        Columns::Except(names) => format!("all but {}", names.join(", ")),
    };
    let features = match &dataset.extract {
        Some(extraction) => format!("{features}, extracted by {}", file_name(&extraction.network)),
        None => features,
    };
    let gaps = match dataset.missing {
        Missing::Refuse => "refused",
        Missing::Drop => "left out",
        Missing::PublicMean => "public mean",
    };
    vec![
        dataset.name.clone(),
        match dataset.role {
            Role::Private => "private".to_owned(),
            Role::Public => "public".to_owned(),
        },
        origin(&dataset.source),
        rows,
        dataset.label.clone().unwrap_or_else(|| "–".to_owned()),
        features,
        gaps.to_owned(),
    ]
}

fn origin(source: &Source) -> String {
    match source {
        Source::Builtin(name) => format!("built-in {name}"),
        Source::Synthetic { .. } => "synthetic".to_owned(),
        _ => source.files().into_iter().map(file_name).collect::<Vec<_>>().join(", "),
    }
}

fn file_name(path: &str) -> String {
    std::path::Path::new(path).file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn mechanisms(report: &Report) -> Markup {
    let several = report.runs.len() > 1;
    let mut header =
        vec!["what was released", "mechanism", "size", "sensitivity", "noise", "draws"];
    if several {
        header.insert(0, "");
    }
    let mut rows = Vec::new();
    for reported in &report.runs {
        let Some(certificate) = &reported.certificate else { continue };
        for event in &certificate.mechanisms {
            let mut row = mechanism(event);
            if several {
                row.insert(0, reported.letter.clone());
            }
            rows.push(row);
        }
    }
    if rows.is_empty() {
        return html! { p { "None: nothing was released." } };
    }
    let mut accountants: Vec<String> = Vec::new();
    for reported in &report.runs {
        let Some(certificate) = &reported.certificate else { continue };
        let bound = certificate.guarantee.as_ref().map_or("void", |it| it.bound.as_str());
        let line = format!("{}; {bound}", certificate.accountant);
        if !accountants.contains(&line) {
            accountants.push(line);
        }
    }
    html! {
        (table(&header, &rows))
        p.note { "Accounted by " (accountants.join(" · ")) "." }
    }
}

fn mechanism(event: &Event) -> Vec<String> {
    let name = match event.mechanism.query.kind {
        QueryKind::Gaussian => "discrete Gaussian",
        QueryKind::SampledSum { .. } => "discrete Gaussian on a Poisson sample",
        QueryKind::Laplace => "discrete Laplace",
        QueryKind::Selection(Rule::Exponential) => "exponential mechanism",
        QueryKind::Selection(Rule::PermuteAndFlip) => "permute-and-flip",
        QueryKind::Direction => "Bingham direction",
        QueryKind::Selection(Rule::NoisyMaximum) => "largest noisy score",
        QueryKind::Repeated(_) => "discrete Gaussian, repeated",
        QueryKind::Pure => "pure differential privacy",
    };
    let symbol = match event.mechanism.query.kind {
        QueryKind::Gaussian | QueryKind::SampledSum { .. } | QueryKind::Repeated(_) => "σ",
        _ => "scale",
    };
    vec![
        event.what.clone(),
        name.to_owned(),
        event.mechanism.query.size_words(),
        format!("{} ({})", compact(event.mechanism.query.sensitivity), event.adjacency.words()),
        format!("{symbol} {}", compact(event.mechanism.noise.scale)),
        grouped_u64(event.count),
    ]
}

fn repeat(report: &Report) -> Markup {
    let several = report.runs.len() > 1;
    let mut commands: Vec<(String, String)> = Vec::new();
    for reported in &report.runs {
        let directory = format!(".halflight/runs/{}", reported.run.id.0);
        let of = if several { format!("{}: ", reported.letter) } else { String::new() };
        let choice = reported.certificate.as_ref().filter(|it| it.chosen.is_some());
        let again = "fresh noise, and its ε is spent again";
        commands.push(match choice {
            Some(it) => (
                format!("{of}the same choice once more: {again}"),
                format!(
                    "choose {directory}/run.ron --epsilon {} --delta {:e}",
                    it.target.epsilon, it.target.delta
                ),
            ),
            None => (
                format!("{of}the same plan once more: {again}"),
                format!("run {directory}/run.ron"),
            ),
        });
        if !several {
            commands.push((
                "what its model says about new rows".to_owned(),
                format!("predict {directory} new.csv -o predictions.csv"),
            ));
        }
    }
    let everything = "everything that was spent on these private data";
    commands.push((everything.to_owned(), "ledger".to_owned()));
    let mut versions: Vec<String> = report
        .runs
        .iter()
        .filter_map(|reported| reported.certificate.as_ref())
        .map(|certificate| certificate.halflight.to_string())
        .collect();
    versions.sort_unstable();
    versions.dedup();
    let runs = report.runs.iter().map(|reported| {
        let mut row = vec![reported.run.id.0.clone(), reported.run.time.clone()];
        if several {
            row.insert(0, reported.letter.clone());
        }
        let seen = match reported.certificate.as_ref().map(|certificate| certificate.peeked) {
            Some(true) => "exact numbers could be seen by the curator",
            Some(false) => "sealed: nobody saw an exact number",
            None => "–",
        };
        row.push(seen.to_owned());
        row
    });
    let runs: Vec<Vec<String>> = runs.collect();
    let header: &[&str] = if several {
        &["", "run", "begun (UTC)", "while it worked"]
    } else {
        &["run", "begun (UTC)", "while it worked"]
    };
    html! {
        pre {
            @for (comment, command) in &commands {
                span { "# " (comment) } "\nhalflight " (command) "\n"
            }
        }
        (table(header, &runs))
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

pub(super) fn table(header: &[&str], rows: &[Vec<String>]) -> Markup {
    html! {
        div.scroll {
            table {
                thead { tr { @for cell in header { th scope="col" { (cell) } } } }
                tbody {
                    @for row in rows {
                        tr {
                            @for (at, cell) in row.iter().enumerate() {
                                @if at == 0 {
                                    th scope="row" { (cell) }
                                } @else if is_number(cell) {
                                    td.number { (cell) }
                                } @else {
                                    td { (cell) }
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
    cell == "–" || cell.replace('\u{202f}', "").parse::<f64>().is_ok()
}

fn grouped(count: usize) -> String {
    grouped_u64(count as u64)
}

/// 1234567 as 1 234 567, with narrow spaces that do not break.
fn grouped_u64(count: u64) -> String {
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
        let table = table(&["a<b"], &rows).into_string();
        assert!(table.contains("<th scope=\"col\">a&lt;b</th>"), "{table}");
        assert!(table.contains("<th scope=\"row\">&lt;i&gt;</th><td class=\"number\">1.5</td>"));
        assert!(table.contains("<td>x &amp; y</td>"), "{table}");
    }
}
