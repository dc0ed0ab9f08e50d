//! The page of a report, section by section.

use std::fmt::Write;

use super::figures::MOST_CURVES;
use super::{Report, Reported, Together, rankings};
use crate::adapt::{self, Series};
use crate::data::{Columns, DatasetDefinition, Missing, Role, Source};
use crate::evaluation::words;
use crate::plot::Figure;
use crate::plot::number::{compact, five_digits};
use crate::plot::svg::escaped;
use crate::privacy::Event;
use crate::privacy::accountant::{QueryKind, Rule, round_up};
use crate::session::archive::{epsilon, last};
use crate::session::plan_field::{differences, fields};
use crate::verdict::Standing;

const STYLE: &str = include_str!("style.css");
const VERSION: &str = env!("CARGO_PKG_VERSION");
/// Nothing is loaded from anywhere, and the browser shall see to it.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'";

const RELEASED: &str = "Released numbers only. Nothing in this report was computed from private \
                        data without noise, and all noise is in the ledger.";
const CURATORS: &str = "For the curator only. Numbers marked ◆ were computed from private data \
                        without noise. No guarantee covers this report: do not pass it on.";

pub(super) fn html(report: &Report, figures: &[Figure], together: &[Together]) -> String {
    let title = title(report);
    let (stamp, class) =
        if report.is_curators() { (CURATORS, "curator") } else { (RELEASED, "released") };
    let mut out = format!(
        "<!doctype html>\n<html lang=\"en\" class=\"{class}\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"generator\" content=\"halflight {VERSION}\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
         <title>{}{}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n",
        if report.is_curators() { "◆ CURATOR ONLY · " } else { "" },
        escaped(&title)
    );
    if report.is_curators() {
        out.push_str("<div class=\"banner\">◆ Curator only · do not pass on ◆</div>\n");
    }
    let _ = write!(
        out,
        "<header>\n<p class=\"kicker\">Privacy report</p>\n<h1>{}</h1>\n<p class=\"lead\">{}</p>\n\
         <p class=\"stamp\">{stamp}</p>\n</header>\n<main>\n",
        escaped(&title),
        lead(report)
    );
    let promise = ("The guarantee in words", guarantee(report));
    let seen = ("What was seen on the way", plots(report, figures));
    // Of one run the reader asks what it promises, of several first how they compare.
    let told = score(report);
    let two = if let [only] = report.runs.as_slice() {
        out.push_str(&tiles(report, only));
        if !told.is_empty() {
            section(&mut out, "How good the model is", &told);
        }
        [promise, seen]
    } else {
        section(&mut out, "Runs", &(runs_table(report) + &sums(together)));
        if !told.is_empty() {
            section(&mut out, "How good the models are", &told);
        }
        [seen, promise]
    };
    for (title, content) in two.iter().filter(|(_, content)| !content.is_empty()) {
        section(&mut out, title, content);
    }
    if !report.rankings.is_empty() {
        section(&mut out, "How the public data were ranked", &rankings::html(report));
    }
    section(&mut out, "How it was made", &settings(report));
    section(&mut out, "Data", &datasets(report));
    section(&mut out, "Noise that was drawn", &mechanisms(report));
    section(&mut out, "How to repeat it", &repeat(report));
    let _ = write!(
        out,
        "</main>\n<footer>Made by halflight {VERSION} on {}.</footer>\n</body>\n</html>\n",
        escaped(&report.made)
    );
    out
}

fn section(out: &mut String, title: &str, content: &str) {
    let _ = write!(out, "<section>\n<h2>{title}</h2>\n{content}</section>\n");
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
        escaped(adapt::name_of(&plan.method))
    )
}

/// Names of people's choosing, in quotation marks.
pub(super) fn quoted(names: &[&str]) -> String {
    names.iter().map(|name| format!("“{}”", escaped(name))).collect::<Vec<_>>().join(", ")
}

/// ε as it may be shown: never too small.
fn shown_epsilon(reported: &Reported) -> String {
    if reported.is_void() {
        return "unbounded".to_owned();
    }
    epsilon(&reported.run).map_or_else(|| "–".to_owned(), |epsilon| round_up(epsilon, 4))
}

fn error(reported: &Reported, series: Series, report: &Report) -> Option<String> {
    last(&reported.run, series, &report.watch).map(five_digits)
}

/// The numbers that a reader looks for first.
fn tiles(report: &Report, only: &Reported) -> String {
    let mut tiles = Vec::new();
    let mut tile = |value: String, name: &str, class: &str| {
        tiles.push(format!(
            "<div class=\"tile {class}\"><b>{value}</b><span>{}</span></div>\n",
            escaped(name)
        ));
    };
    tile(format!("<i>ε</i> {}", shown_epsilon(only)), "privacy loss, rounded up", "main");
    if let Some(certificate) = &only.certificate {
        if let Some(guarantee) = &certificate.guarantee {
            tile(format!("<i>δ</i> {:e}", guarantee.delta), "chance that ε says nothing", "main");
            tile(guarantee.adjacency.words().to_owned(), "neighbouring data", "word");
        }
        let what = match certificate.person {
            None => "private training records",
            Some(_) => "private persons in training",
        };
        tile(grouped(certificate.records), what, "");
    }
    if let Some(error) = error(only, Series::PublicError, report) {
        tile(error, "error on public records held out", "");
    }
    if let Some(error) = error(only, Series::PrivateError, report) {
        tile(format!("{error} ◆"), "error on private records held out", "exact");
    }
    tile(escaped(&only.run.outcome), &steps(only), "word");
    let mut out = format!("<section class=\"tiles\">\n{}</section>\n", tiles.concat());
    if let Some(errors) = only.run.errors.as_ref().and_then(|it| it.reveal(&report.watch)) {
        let verdict = errors.verdict(Standing::Exact);
        let _ = writeln!(out, "<p class=\"exact\">{}</p>", escaped(&verdict.text()));
    }
    if report.is_curators() {
        out.push_str(&remarks(only));
    }
    out
}

/// The released scores.
fn score(report: &Report) -> String {
    let mut out = String::new();
    for reported in &report.runs {
        let Some(scored) = reported.certificate.as_ref().and_then(|it| it.score.as_ref()) else {
            continue;
        };
        let whose = if report.runs.len() > 1 {
            format!("Run {}, on {}", reported.letter, scored.note())
        } else {
            format!("On {}", scored.note())
        };
        let _ = writeln!(out, "<p>{}.</p>", escaped(&whose));
        if let Some(verdict) = scored.verdict() {
            let _ = writeln!(out, "<p><b>The model is {}.</b></p>", escaped(&verdict));
        }
        if let Some(chosen) = reported.certificate.as_ref().and_then(|it| it.chosen.as_ref()) {
            let _ = writeln!(out, "<p>{}</p>", escaped(&chosen.sentence));
        }
        let rows = scored.rows().into_iter().map(|(name, value)| vec![name, value]);
        out.push_str(&table(&["", "95 % interval in brackets"], &rows.collect::<Vec<_>>()));
    }
    if !out.is_empty() {
        let _ = writeln!(out, "<p class=\"note\">{}</p>", escaped(words::RELEASED));
    }
    out
}

fn steps(reported: &Reported) -> String {
    match (reported.run.steps, reported.run.of) {
        (0, 0) => "all candidates were trained".to_owned(),
        (steps, of) if of > steps => format!("after {} of {} steps", grouped_u64(steps), of),
        (steps, _) => format!("after {} steps", grouped_u64(steps)),
    }
}

/// What the curator wrote about a run, and why it failed.
fn remarks(reported: &Reported) -> String {
    let mut out = String::new();
    if !reported.run.tag.is_empty() {
        let _ = writeln!(out, "<p class=\"exact\">Remark: {} ◆</p>", escaped(&reported.run.tag));
    }
    if let Some(trouble) = &reported.run.trouble {
        let _ = writeln!(out, "<p class=\"exact\">Trouble: {} ◆</p>", escaped(trouble));
    }
    out
}

fn runs_table(report: &Report) -> String {
    let mut header =
        vec!["", "plan", "method", "ε", "δ", "private records", "public error", "outcome"];
    let tagged = report.runs.iter().any(|reported| !reported.run.tag.is_empty());
    if report.is_curators() {
        header.push("private error ◆");
    }
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
            plan.map_or_else(dash, |plan| adapt::name_of(&plan.method).to_owned()),
            shown_epsilon(reported),
            certificate
                .and_then(|certificate| certificate.guarantee.as_ref())
                .map_or_else(dash, |guarantee| format!("{:e}", guarantee.delta)),
            certificate.map_or_else(dash, |certificate| grouped(certificate.records)),
            error(reported, Series::PublicError, report).unwrap_or_else(dash),
            reported.run.outcome.clone(),
        ];
        if report.is_curators() {
            row.push(error(reported, Series::PrivateError, report).unwrap_or_else(dash));
            row.extend(tagged.then(|| reported.run.tag.clone()));
        }
        row
    });
    table(&header, &rows.collect::<Vec<_>>())
}

/// Runs on the same private data compose.
fn sums(together: &[Together]) -> String {
    let mut out = String::new();
    for sum in together {
        let guarantee = &sum.guarantee;
        let _ = writeln!(
            out,
            "<p class=\"note\">Runs {} used the same private data (account {}): together they \
             cost <b>ε = {}, δ = {:e}</b> ({}), also if later ones were chosen after seeing \
             earlier ones. Other runs on these data add to that; the ledger has the whole sum.</p>",
            escaped(&sum.runs.join(", ")),
            escaped(&sum.account.0),
            round_up(guarantee.epsilon, 4),
            guarantee.delta,
            guarantee.adjacency.words(),
        );
    }
    out
}

fn guarantee(report: &Report) -> String {
    let mut out = String::new();
    for (words, letters) in statements(report) {
        let runs: Vec<String> = letters
            .iter()
            .filter(|letter| !letter.is_empty())
            .map(|letter| format!("<b class=\"letter\">{letter}</b> "))
            .collect();
        let _ = writeln!(out, "<blockquote>{}{words}</blockquote>", runs.concat());
    }
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
    out.push_str("<div class=\"columns\">\n");
    for (class, title, sentences) in lists {
        if sentences.is_empty() {
            continue;
        }
        let _ = writeln!(out, "<div class=\"{class}\"><h3>{title}</h3><ul>");
        for (sentence, letters) in sentences {
            let _ = writeln!(out, "<li>{}{letters}</li>", escaped(&sentence));
        }
        out.push_str("</ul></div>\n");
    }
    out.push_str("</div>\n");
    out
}

/// What the runs promise, each promise once with the letters of the runs that make it.
fn statements(report: &Report) -> Vec<(String, Vec<&str>)> {
    let mut all: Vec<(String, Vec<&str>)> = Vec::new();
    for reported in &report.runs {
        let words = match &reported.certificate {
            Some(certificate) => {
                let sentences = std::iter::once(&certificate.statement)
                    .chain(&certificate.also)
                    .chain([&certificate.reading]);
                let words: Vec<String> =
                    sentences.map(|sentence| format!("<p>{}</p>", escaped(sentence))).collect();
                words.concat()
            }
            None => "<p>This run has no certificate: it is still at work, or its process died. \
                     What it had reserved counts as spent.</p>"
                .to_owned(),
        };
        match all.iter_mut().find(|(known, _)| *known == words) {
            Some((_, letters)) => letters.push(&reported.letter),
            None => all.push((words, vec![&reported.letter])),
        }
    }
    all
}

/// What certificates say, each sentence once; with the letters of the runs that say it
/// where not all do.
fn said(
    report: &Report,
    sentences: impl Fn(&crate::session::Certificate) -> Vec<&str>,
) -> Vec<(String, String)> {
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
        let some = letters.len() < count;
        let mark = some.then(|| format!(" <b class=\"letter\">{}</b>", letters.join(", ")));
        (sentence, mark.unwrap_or_default())
    });
    marked.collect()
}

fn plots(report: &Report, figures: &[Figure]) -> String {
    let mut out = String::new();
    if figures.is_empty() {
        return out;
    }
    if report.runs.len() > MOST_CURVES {
        let _ = writeln!(
            out,
            "<p class=\"note\">Curves are those of the first {MOST_CURVES} runs; utility is that \
             of all.</p>"
        );
    }
    out.push_str("<div class=\"plots\">\n");
    for figure in figures {
        let _ = writeln!(out, "<figure>\n{}</figure>", figure.svg());
    }
    out.push_str(
        "</div>\n<p class=\"note\">Errors on public records cost no privacy, so they are shown. \
         The model is made for the private ones: where the two kinds differ, this error may well \
         grow while the model gets better.</p>\n",
    );
    out
}

/// What differs, then what all plans share.
fn settings(report: &Report) -> String {
    let plans: Vec<_> = report.runs.iter().map(|reported| reported.run.plan.as_ref()).collect();
    let different = differences(&plans);
    let mut out = String::new();
    if report.runs.len() > 1 {
        let letters = report.runs.iter().map(|reported| reported.letter.as_str());
        let header: Vec<&str> = std::iter::once("").chain(letters).collect();
        let rows = different
            .iter()
            .map(|(name, values)| [std::slice::from_ref(name), values.as_slice()].concat());
        let rows: Vec<Vec<String>> = rows.collect();
        if rows.is_empty() {
            out.push_str("<p>The plans are the same; only the noise differs.</p>\n");
        } else {
            out.push_str("<h3>What differs</h3>\n");
            out.push_str(&table(&header, &rows));
        }
        out.push_str("<h3>What is the same</h3>\n");
    }
    let Some(plan) = plans.iter().flatten().next() else { return out };
    let shared = fields(plan)
        .into_iter()
        .filter(|field| different.iter().all(|(name, _)| name != field.name()));
    out.push_str("<dl>\n");
    for field in shared {
        let (name, value) = (escaped(field.name()), escaped(&field.shown(plan)));
        let _ = writeln!(out, "<div><dt>{name}</dt><dd>{value}</dd></div>");
    }
    out + "</dl>\n"
}

/// Every dataset once. Paths stay at home: only the names of files are told.
fn datasets(report: &Report) -> String {
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
        return "<p>The sessions of these runs cannot be read.</p>\n".to_owned();
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

fn mechanisms(report: &Report) -> String {
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
        return "<p>None: nothing was released.</p>\n".to_owned();
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
    table(&header, &rows)
        + &format!("<p class=\"note\">Accounted by {}.</p>\n", escaped(&accountants.join(" · ")))
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

fn repeat(report: &Report) -> String {
    let mut commands = String::new();
    let several = report.runs.len() > 1;
    let say = |out: &mut String, comment: &str, command: &str| {
        let _ =
            writeln!(out, "<span># {}</span>\nhalflight {}", escaped(comment), escaped(command));
    };
    for reported in &report.runs {
        let directory = format!(".halflight/runs/{}", reported.run.id.0);
        let of = if several { format!("{}: ", reported.letter) } else { String::new() };
        let choice = reported.certificate.as_ref().filter(|it| it.chosen.is_some());
        let again = "fresh noise, and its ε is spent again";
        match choice {
            Some(it) => say(
                &mut commands,
                &format!("{of}the same choice once more: {again}"),
                &format!(
                    "choose {directory}/run.ron --epsilon {} --delta {:e}",
                    it.target.epsilon, it.target.delta
                ),
            ),
            None => say(
                &mut commands,
                &format!("{of}the same plan once more: {again}"),
                &format!("run {directory}/run.ron"),
            ),
        }
        if !several {
            say(
                &mut commands,
                "what its model says about new rows",
                &format!("predict {directory} new.csv -o predictions.csv"),
            );
        }
    }
    say(&mut commands, "everything that was spent on these private data", "ledger");
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
    format!(
        "<pre>{commands}</pre>\n{}<p class=\"note\">The runs were made with halflight {}. Data, \
         settings and the public seed are in each run's <code>run.ron</code>; private noise comes \
         from the operating system and cannot be drawn again.</p>\n",
        table(header, &runs),
        escaped(&versions.join(", "))
    )
}

/// Cells are escaped here and nowhere else.
pub(super) fn table(header: &[&str], rows: &[Vec<String>]) -> String {
    let mut out = String::from("<div class=\"scroll\"><table>\n");
    let cells = header.iter().map(|cell| format!("<th scope=\"col\">{}</th>", escaped(cell)));
    let _ = writeln!(out, "<thead><tr>{}</tr></thead>", cells.collect::<String>());
    out.push_str("<tbody>\n");
    for row in rows {
        out.push_str("<tr>");
        for (at, cell) in row.iter().enumerate() {
            let (cell, numeric) = (escaped(cell), is_number(cell));
            let _ = match (at, numeric) {
                (0, _) => write!(out, "<th scope=\"row\">{cell}</th>"),
                (_, true) => write!(out, "<td class=\"number\">{cell}</td>"),
                (_, false) => write!(out, "<td>{cell}</td>"),
            };
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody>\n</table></div>\n");
    out
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
        let table = table(&["a<b"], &[vec!["<i>".into(), "1.5".into(), "x & y".into()]]);
        assert!(table.contains("<th scope=\"col\">a&lt;b</th>"), "{table}");
        assert!(table.contains("<th scope=\"row\">&lt;i&gt;</th><td class=\"number\">1.5</td>"));
        assert!(table.contains("<td>x &amp; y</td>"), "{table}");
    }
}
