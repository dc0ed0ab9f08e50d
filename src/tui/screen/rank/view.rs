//! The picture of the Rank screen.

use ratatui::layout::Margin;

use super::{CANDIDATES, CandidateRow, RankColumn, RankScreen};
use crate::canvas::{
    Canvas, Fill, Length, Line, Rect, Span, bold, fitting, in_rows, longest, sort_mark,
    wrapped_lines,
};
use crate::context::{Context, DatasetStatus};
use crate::glossary::Explained;
use crate::live_ranking::price;
use crate::privacy::Guarantee;
use crate::privacy::accountant::round_up;
use crate::rank::candidate_line::{CandidateLine, CandidatePlace, Estimate, Mean, MeanScores};
use crate::rank::comparison::Comparison;
use crate::rank::{CandidateOrder, Disclosed, RankingSettings, released};
use crate::rehearsal::advice::capital;
use crate::screen::data::in_datasets;
use crate::screen::listed;
use crate::theme::Theme;
use crate::widgets::cut_apart;
use crate::widgets::number::{compact, duration, percent};
use crate::widgets::whiskers::Whiskers;

/// The shown exact comparison, and how it is shown.
#[derive(Clone, Copy)]
struct Shown<'a> {
    screen: &'a RankScreen,
    context: &'a Context,
    comparison: &'a Comparison,
}

pub fn view(screen: &RankScreen, context: &Context, canvas: &mut Canvas, area: Rect) {
    let theme = canvas.theme;
    let [state, body] = in_rows(area, [Length(u16::from(context.ranking.work.is_some())), Fill(1)]);
    progress(context, canvas, state);
    let ranking = &context.ranking;
    let old = ranking.is_of_other_data(&context.session).then(|| {
        "The datasets were changed since this ranking was made: r ranks them as they are."
            .to_owned()
    });
    let body = beside(canvas, body, old.or_else(|| ranking.saved.clone()));
    let visible = screen.exact(ranking, &context.watch);
    if let Some(comparison) = visible.filter(|_| screen.shows_exact(ranking, &context.watch)) {
        let body = beside(canvas, body, ranking.released.as_ref().map(other_result));
        return exact(Shown { screen, context, comparison }, canvas, body);
    }
    let sign = canvas.glyphs.curator;
    let other =
        visible.map(|table| format!("{sign} By exact numbers: {}. ] shows it.", table.verdict));
    let body = beside(canvas, body, other.filter(|_| ranking.released.is_some()));
    match &ranking.released {
        None if ranking.exact.is_some() => canvas.empty_box(
            body,
            "Rank · sealed",
            &[
                "This ranking consists of exact numbers, and the view is sealed.",
                "v opens the view; p releases the errors of models.",
            ],
        ),
        None => nothing(context, canvas, body),
        Some((Disclosed::Winner(name), guarantee)) => {
            let inner = canvas.boxed(body, "Rank · selected privately");
            let best = vec![
                Span::styled("best of these: ", theme.text),
                Span::styled(name.get().clone(), theme.good),
            ];
            let about = format!(
                "Released at {}: the name only, not how far it is ahead.",
                price(guarantee)
            );
            let about = Line::styled(about, theme.muted);
            let mut lines = vec![Line::from(best), Line::raw(""), about, Line::raw("")];
            lines.extend(caveats(context, guarantee).map(|text| Line::styled(text, theme.warning)));
            lines.extend(notes(context, theme));
            canvas.paragraph(lines, true, inner);
        }
        Some((found, guarantee)) => {
            let (what, bar, about) = match found {
                Disclosed::Direction(_) => ("one direction at", RankColumn::Energy, ""),
                Disclosed::Errors(_) => ("released at", RankColumn::Error, MAY_BE_USELESS),
                _ => ("released at", RankColumn::Energy, ""),
            };
            let unit = context.private_name().and_then(|name| {
                let private = context.session.dataset(name).ok()?;
                private.label_unit().filter(|_| bar == RankColumn::Error)
            });
            let unit = unit.map_or_else(String::new, |unit| format!(" · errors in {unit}"));
            let title = format!("Rank · {what} {} · ± 95 % of the noise{unit}", price(guarantee));
            let rows = screen.rows(ranking, &context.watch).len();
            let rows = (rows as u16 + 3).clamp(5, (body.height * 2 / 3).max(5));
            let [above, below] = canvas.two_rows("rank.list", body, rows);
            let inner = canvas.pane(above, &title, CANDIDATES);
            let bar = Bar { column: bar, marks: [None, None], order: bar };
            candidates(screen, context, canvas, inner, (bar, Vec::new()));
            let is_about_errors = !about.is_empty();
            let noise = is_about_errors.then(|| Line::styled(OF_NOISE, theme.muted));
            let about = is_about_errors.then(|| Line::styled(about, theme.warning));
            let notes = noise.into_iter().chain(about).chain(notes(context, theme));
            let notes = notes.collect::<Vec<_>>();
            let needed = notes.iter().map(|it| wrapped_lines(&it.to_string(), below.width)).sum();
            let [words, picture] = in_rows(below, [Length(needed), Fill(1)]);
            canvas.paragraph(notes, true, inset(words));
            labels(context, canvas, picture);
        }
    }
}

const OF_NOISE: &str = "± and 'likely' are of the noise alone: they do not count how other private \
    records would differ.";

const MAY_BE_USELESS: &str = "These models are quick ones. A run's score says how good public data \
    alone are, beside one answer for all.";

const QUICK: &str = "The model is a quick one: Compare has the errors of runs, which are others.";

const OF_ERRORS: &str = "The error of a model of this dataset alone on the private records: \
    wrong answers in percent, or how far off it is in units of the label. It predicts \
    best how wrong a private model will be. The best of them need not be good: always \
    giving the same answer may be as good.";

/// The shown result in full: what the table does not say, and what its numbers do not say.
pub(super) fn in_words(screen: &RankScreen, context: &Context) -> Vec<Explained> {
    let word = |name: &str, text: String| Explained {
        name: name.to_owned(),
        also: "verdict ranking".to_owned(),
        text,
    };
    let ranking = &context.ranking;
    if screen.shows_exact(ranking, &context.watch) {
        let Some(table) = screen.exact(ranking, &context.watch) else { return Vec::new() };
        let notes = table.remarks.iter().map(|it| ("Note", it));
        let said = std::iter::once(("Verdict", &table.verdict)).chain(notes);
        let said = said.map(|(title, text)| (title, format!("{}.", capital(text))));
        let Comparison { repeats, batch, directions, .. } = table;
        let how = format!("{repeats} repeats, m {batch}, k {directions}.");
        let said = listed(said.chain([("How it was computed", how)]));
        let chosen = screen.chosen(context);
        let chosen = table.lines.iter().find(|line| Some(&line.name) == chosen.as_ref());
        let chosen = chosen.map(|line| word(&line.name, about(line, table)));
        return std::iter::once(word("verdict of this ranking", said)).chain(chosen).collect();
    }
    let about = match &ranking.released {
        Some((Disclosed::Errors(_), _)) => format!("{OF_ERRORS} {}", released::OF_ERRORS),
        Some((Disclosed::Table(_), _)) => released::OF_TABLE.to_owned(),
        _ => return Vec::new(),
    };
    vec![word("these released numbers", about)]
}

/// What the table does not tell of one dataset.
fn about(line: &CandidateLine, table: &Comparison) -> String {
    let over = |mean: Mean| mean.over(table.repeats).text();
    let mut parts = vec![("Verdict", format!("{}.", capital(&line.verdict)))];
    let behind = line.behind.filter(|behind| behind.mean > 0.0).map(Estimate::from);
    parts.extend(behind.map(|behind| {
        let (behind, of) = match table.order {
            CandidateOrder::Error => (behind.difference_text(table.in_label_units), "error"),
            CandidateOrder::Energy => (behind.text(), "energy"),
            CandidateOrder::Distance => (behind.text(), "GSD"),
        };
        let on =
            "Both were measured on the same records, so it is surer than the two by themselves.";
        ("Behind the best", format!("{behind} of {of} (95 %). {on}"))
    }));
    let alongside = line.alongside.clone().unwrap_or_default();
    parts.extend(alongside.error.map(|error| {
        let error = error.estimate().error_text(table.in_label_units);
        let (error, unit) = (error.trim_end_matches(" %"), table.error_unit());
        ("Error of its own model", format!("{error} (95 %), in {unit}; less is better. {QUICK}"))
    }));
    if let Some(summary) = &line.summary {
        let scores = format!(
            "GSD {}, from 0 to 1; less is better. Energy {}, from 0 to 1; more is better. \
             d = GSD × √k is {}. All ± are 95 %.",
            over(summary.distance),
            over(summary.energy),
            over(summary.projection_metric())
        );
        parts.push(("GSD and energy", scores));
        let ends = |scores: &MeanScores| {
            let degrees = |angle: Option<&f64>| angle.map_or(0.0, |it| it.to_degrees());
            let [first, last] = [scores.angles.first(), scores.angles.last()].map(degrees);
            format!("{first:.0}° to {last:.0}°")
        };
        let angles = format!(
            "{}; between other private records {}, of noise {}. Less is better.",
            ends(summary),
            ends(&table.floor),
            ends(&table.ceiling)
        );
        parts.push(("Principal angles", angles));
    }
    let others = [
        ("without labels", alongside.unlabelled),
        ("with labels", alongside.labelled),
        ("Task2Vec", alongside.task2vec),
    ];
    let others = others.iter().filter_map(|(name, it)| Some(format!("{name} {}", compact((*it)?))));
    let others = others.collect::<Vec<_>>().join(", ");
    if !others.is_empty() {
        parts.push(("Discrepancy", format!("{}; 0 or more, less is better.", capital(&others))));
    }
    parts.push(("Records", format!("{}.", line.records)));
    listed(parts)
}

/// The label of all datasets on one axis, if the area has room for it.
fn labels(context: &Context, canvas: &mut Canvas, area: Rect) {
    let session = &context.session;
    let private = session.ranking.private_name(session).ok();
    let label = private.and_then(|name| session.dataset(name).ok()?.label.as_deref());
    let is_loaded = |name: &str| context.loaded(name).is_some();
    let sets = session.datasets.iter().filter(|it| is_loaded(&it.name)).count() as u16;
    if let Some(label) = label.filter(|_| sets > 1 && area.height >= sets + 3) {
        let height = area.height.min(4 * sets + 3);
        in_datasets(label, &|_| true, context, canvas, Rect { height, ..area });
    }
}

/// A line above a result about the other one; returns the rest of the area.
fn beside(canvas: &mut Canvas, area: Rect, text: Option<String>) -> Rect {
    let Some(text) = text else { return area };
    let style = canvas.theme.muted;
    let rows = wrapped_lines(&text, area.width.saturating_sub(2)).min(3);
    let [line, rest] = in_rows(area, [Length(rows), Fill(1)]);
    canvas.wrapped(text, style, line.inner(Margin::new(1, 0)));
    rest
}

/// A released result, while the exact one is shown.
fn other_result((found, guarantee): &(Disclosed, Guarantee)) -> String {
    let what = match found {
        Disclosed::Winner(name) => format!("best of these: {}", name.get()),
        Disclosed::Errors(lines) => {
            let best = lines.get().first().map_or("none", |line| line.name.as_str());
            format!("{best} has the smallest error")
        }
        Disclosed::Table(_) => "a table".to_owned(),
        Disclosed::Direction(_) => "one direction".to_owned(),
    };
    format!("Released at ε {}: {what}. ] shows it.", round_up(guarantee.epsilon, 4))
}

/// Facts that the name of a winner does not show.
fn caveats(context: &Context, guarantee: &Guarantee) -> impl Iterator<Item = String> {
    let session = &context.session;
    let private = session.ranking.private_name(session).ok();
    let records = private.and_then(|name| context.loaded(name)).map(|loaded| loaded.rows);
    let left_out = context.ranking.left_out.len();
    let candidates = session.ranking.public_names(session).len().saturating_sub(left_out);
    let sure = records.filter(|_| candidates > 1).map(|records| {
        let most = energy_behind(guarantee.epsilon, candidates, records);
        if most >= 1.0 {
            return "At this ε the noise is so large that any of them might have won.".to_owned();
        }
        format!(
            "With 95 % certainty it captures at most {} less of the private gradients' energy \
             than the best one does.",
            compact(most)
        )
    });
    let useless = "The best may be no better than noise: a noisy table (e) would show it.";
    sure.into_iter().chain([useless.to_owned()])
}

/// The most, with 95 % certainty, by which the energy of a privately selected dataset is below the
/// best one's. For the exponential mechanism, with scores that are sums over records and move
/// within a range of 2 when one record changes, P(score behind the best ≥ (2/ε)(ln k + t)) ≤ e⁻ᵗ;
/// permute-and-flip is no worse.
fn energy_behind(epsilon: f64, candidates: usize, records: usize) -> f64 {
    let doubt: f64 = 0.05;
    2.0 / epsilon * ((candidates as f64).ln() - doubt.ln()) / records.max(1) as f64
}

/// Remarks on a private ranking, and the candidates that were left out.
fn notes(context: &Context, theme: &Theme) -> impl Iterator<Item = Line<'static>> {
    let remarks = context.ranking.remarks.iter().map(|remark| format!("note: {remark}"));
    let left_out = context.ranking.left_out.iter();
    let left_out = left_out.map(|(name, error)| format!("left out: {name}: {}", error.what()));
    remarks.chain(left_out).map(|text| Line::styled(text, theme.muted))
}

fn progress(context: &Context, canvas: &mut Canvas, area: Rect) {
    let (theme, glyphs) = (canvas.theme, canvas.glyphs);
    let Some(work) = &context.ranking.work else { return };
    let share = work.done as f64 / work.total.max(1) as f64;
    let bar = Whiskers { mean: share, half_width: 1.0, full: 1.0, marks: [None, None] };
    let mut spans = vec![Span::raw(" ")];
    spans.extend(bar.spans(24, glyphs, [theme.accent, theme.muted, theme.muted]));
    let manner = if work.privately { "privately" } else { "by exact numbers" };
    let text = format!(" {} · {manner} · c cancels", work.words);
    spans.push(Span::styled(text, theme.text));
    canvas.line(Line::from(spans), area);
}

/// The rows that the words before a ranking need.
const LEAST_WORDS: u16 = 14;

/// What will be compared: the label in all datasets, and sizes.
fn nothing(context: &Context, canvas: &mut Canvas, area: Rect) {
    let session = &context.session;
    let private = session.ranking.private_name(session).ok();
    // A box needs two rows, the axis one, and each dataset one to four, the private one one.
    let sets =
        session.datasets.iter().filter(|it| context.loaded(&it.name).is_some()).count() as u16;
    let drawn = area.height.saturating_sub(LEAST_WORDS).min(4 * sets);
    let drawn = if sets < 2 || drawn < sets + 3 { 0 } else { drawn };
    let [area, picture] = canvas.two_rows("rank.label", area, area.height.saturating_sub(drawn));
    labels(context, canvas, picture);
    let inner = canvas.boxed(area, "Rank");
    if let Some(work) = &context.ranking.work {
        let when = if work.privately {
            "The table appears at the end."
        } else {
            "First each dataset's own model is taught, for its error. Then GSD is computed in \
             several repeats; the table appears after the second one."
        };
        return canvas.empty(inner, &[when]);
    }
    let theme = canvas.theme;
    let private = private.unwrap_or("the private one");
    let question = match session.ranking.public_names(session).as_slice() {
        [only] => format!("One candidate, so no ranking: how near is {only} to {private}?"),
        _ => format!("Which public dataset can stand in for {private}?"),
    };
    let mut lines = vec![Line::styled(question, theme.text), Line::raw("")];
    lines.extend(sizes(context, canvas, inner));
    if let Some((_, Some(time))) = &context.ranking.timed {
        let text = format!("takes about {}", duration(time.as_secs_f64()));
        lines.push(Line::styled(text, theme.muted));
    }
    let epsilon = context.session.ranking.epsilon;
    let epsilon = epsilon.map_or("some ε".to_owned(), |epsilon| format!("ε {epsilon}"));
    let keys = [
        format!("r  exact ({}): no ε, noted in the ledger", canvas.glyphs.curator),
        format!("p  released, for {epsilon}"),
    ];
    lines.push(Line::raw(""));
    lines.extend(keys.map(|text| Line::styled(text, theme.muted)));
    canvas.paragraph(lines, true, inner);
}

/// The candidates and their sizes; of many the first ones.
fn sizes(context: &Context, canvas: &Canvas, area: Rect) -> Vec<Line<'static>> {
    let theme = canvas.theme;
    let session = &context.session;
    let names = session.ranking.public_names(session);
    let most = usize::from(area.height).saturating_sub(14).max(3);
    let shown = &names[..names.len().min(most)];
    let room = usize::from(longest(shown)).min(30);
    let texts: Vec<String> = shown.iter().map(|name| (*name).to_owned()).collect();
    let cut = cut_apart(&texts, room as u16, "…");
    let line = |(name, cut): (&&str, String)| {
        let mut spans = vec![Span::raw(format!("{cut:<room$} "))];
        let Some(loaded) = context.loaded(name) else {
            let failed = matches!(context.datasets.get(*name), Some(DatasetStatus::Failed(_)));
            let words = if failed { "cannot be read" } else { "not read yet" };
            spans.push(Span::styled(words, theme.muted));
            return Line::from(spans);
        };
        let size = loaded.size();
        let labels = session.dataset(name).is_ok_and(|it| it.label.is_some());
        let labels = if labels { "" } else { ", no labels: it has no error" };
        spans.push(Span::styled(format!("{size}{labels}"), theme.muted));
        Line::from(spans)
    };
    let mut lines: Vec<Line> = shown.iter().zip(cut).map(line).collect();
    if names.len() > shown.len() {
        let more = format!("and {} more", names.len() - shown.len());
        lines.push(Line::styled(more, theme.muted));
    }
    lines
}

/// What is compared, and how.
pub(super) fn settings(context: &Context) -> String {
    let session = &context.session;
    let ranking = &session.ranking;
    let private = ranking.private_name(session).unwrap_or("none yet");
    let RankingSettings { directions, batch, repeats, seed, .. } = &ranking.settings;
    format!(
        "Private: {private}. Model: {}. GSD: k {directions} directions, m {batch} records, {repeats} \
         repeats, seed {seed}. Order: {}. Released: {}.",
        ranking.model_words(session),
        ranking.settings.order.words(),
        ranking.mechanism(session).about()
    )
}

fn exact(shown: Shown, canvas: &mut Canvas, area: Rect) {
    let (theme, glyphs) = (canvas.theme, canvas.glyphs);
    let Shown { screen, context, comparison } = shown;
    let rows = comparison.lines.len() as u16 + 3 + references(comparison).len() as u16;
    // One answer, in whichever order the table is shown.
    let first = context.ranking.exact(&context.watch).unwrap_or(comparison);
    let mut answer = vec![Line::styled(in_brief(first), bold(theme.curator))];
    // The model is told with the settings, by `i`; m is with them.
    let is_told = |it: &&String| {
        let is_about_gsd = it.starts_with("the directions next to ");
        let is_by_error = comparison.order == CandidateOrder::Error;
        it.starts_with("model: ") || it.starts_with("m is ") || (is_about_gsd && is_by_error)
    };
    let remarks = comparison.remarks.iter().filter(|it| !is_told(it));
    answer.extend(remarks.map(|it| {
        let end = [": ", "; "].iter().filter_map(|end| it.find(end)).min();
        let first = end.map_or(it.clone(), |end| format!("{} (i)", &it[..end]));
        Line::styled(format!("note: {first}"), theme.warning)
    }));
    let needed = answer.iter().map(|line| wrapped_lines(&line.to_string(), inset(area).width));
    let most = if area.height >= 28 { 6 } else { 3 };
    let [words, area] = in_rows(area, [Length(needed.sum::<u16>().clamp(1, most)), Fill(1)]);
    canvas.paragraph(answer, true, inset(words));
    let [above, below] = if canvas.alone.is_some() {
        [area, Rect::default()]
    } else {
        canvas.two_rows("rank.list", area, rows.clamp(5, (area.height * 3 / 4).max(5)))
    };
    let other = match comparison.order {
        _ if !screen.has_two_orders(context) => "",
        CandidateOrder::Distance => " (s: error)",
        CandidateOrder::Error | CandidateOrder::Energy => " (s: GSD)",
    };
    let (by, order) = match comparison.order {
        CandidateOrder::Distance => ("GSD", RankColumn::Gsd),
        CandidateOrder::Error => ("error", RankColumn::Error),
        CandidateOrder::Energy => ("energy", RankColumn::Energy),
    };
    let title = format!("{} by {by}{other} · ± 95 %", glyphs.curator);
    let inner = canvas.pane(above, &title, CANDIDATES);
    let marks = [&comparison.floor, &comparison.ceiling].map(|it| Some(it.distance.mean));
    let bar = Bar { column: RankColumn::Gsd, marks, order };
    candidates(screen, context, canvas, inner, (bar, references(comparison)));
    labels(context, canvas, below);
}

/// What to use, and how sure that is; the table says the rest.
fn in_brief(table: &Comparison) -> String {
    let lines = &table.lines;
    match lines.first() {
        Some(best) if best.place == CandidatePlace::Best && !best.as_noise => {
            let tied = lines
                .iter()
                .filter(|it| matches!(it.place, CandidatePlace::Tied(_)) && !it.as_noise);
            let names: Vec<&str> =
                std::iter::once(best).chain(tied).map(|it| it.name.as_str()).collect();
            let use_it = match &names[..] {
                [one, other] => format!("Use {one} or {other}"),
                [one, others @ .., _] => {
                    format!("Use {one}, or one of {} as good", others.len() + 1)
                }
                _ => format!("Use {}", best.name),
            };
            let behind = lines.iter().find(|it| it.place == CandidatePlace::Behind);
            let behind = behind.and_then(|line| {
                let behind = Estimate::from(line.behind?);
                Some(if table.order == CandidateOrder::Error {
                    let more = behind.difference_text(table.in_label_units);
                    format!("; {} has {more} more error", line.name)
                } else {
                    format!("; {} is {} behind", line.name, behind.text())
                })
            });
            format!("{use_it}{}.", behind.unwrap_or_default())
        }
        Some(best) if best.as_noise && table.order == CandidateOrder::Error => {
            "None is of use alone; a private run may correct that.".to_owned()
        }
        Some(best) if best.as_noise => "All are like noise: use none.".to_owned(),
        _ => format!("{}.", capital(&table.verdict)),
    }
}

/// Text without a box is aligned with text in boxes.
fn inset(area: Rect) -> Rect {
    area.inner(Margin::new(1, 0))
}

/// The width of a column; the bar and the verdict take the rest.
fn width_of(column: RankColumn, rows: &[CandidateRow]) -> u16 {
    match column {
        RankColumn::Name => longest(rows.iter().map(|row| &row.name)).clamp(8, 20),
        column => column.facts().1.unwrap_or(0),
    }
}

/// The columns that fit beside a bar and a verdict, without empty ones.
fn columns_that_fit(room: u16, bar: &Bar, rows: &[CandidateRow]) -> Vec<RankColumn> {
    let first = bar.column;
    let mut by_weight = vec![
        RankColumn::Gsd,
        RankColumn::Error,
        // Only there if somebody asked for it.
        RankColumn::Task2Vec,
        RankColumn::Energy,
        RankColumn::Elsewhere,
    ];
    // `i` has the energy where nothing is sorted by it.
    by_weight.retain(|it| *it != RankColumn::Energy || [first, bar.order].contains(it));
    // A stable sort: the column with the bars comes first.
    by_weight.sort_by_key(|column| *column != first);
    by_weight.retain(|column| rows.iter().any(|row| column.number(row).is_some()));
    let by_weight = [RankColumn::Rank, RankColumn::Name].into_iter().chain(by_weight);
    // The verdict is not cut if the score that it judges still fits beside it.
    let verdict = longest(rows.iter().map(|row| &row.verdict));
    let first =
        [RankColumn::Rank, RankColumn::Name, first].map(|column| width_of(column, rows) + 1);
    let most =
        room.saturating_sub(first.iter().sum::<u16>() + bar_width(room) + 2).max(verdict.min(20));
    let taken = bar_width(room) + 2 + verdict.min(most);
    let width = |column| width_of(column, rows);
    let mut columns = fitting(by_weight, width, room.saturating_sub(taken));
    columns.push(RankColumn::Verdict);
    columns.sort_by_key(|column| RankColumn::ALL.iter().position(|other| other == column));
    columns
}

/// The column that has bars, their marks, and the column that orders the table.
struct Bar {
    column: RankColumn,
    marks: [Option<f64>; 2],
    order: RankColumn,
}

fn bar_width(room: u16) -> u16 {
    10 + room.saturating_sub(78) / 8
}

/// What the candidates of an exact table are compared with.
fn references(comparison: &Comparison) -> Vec<CandidateRow> {
    let of = |name: &str| CandidateRow {
        name: name.to_owned(),
        repeats: Some(comparison.repeats),
        ..CandidateRow::default()
    };
    let spans = [("more private data", &comparison.floor), ("noise", &comparison.ceiling)];
    let spans = spans.map(|(name, scores)| CandidateRow {
        energy: Some(scores.energy),
        distance: Some(scores.distance),
        ..of(name)
    });
    let constant = comparison.constant;
    let in_label_units = comparison.in_label_units;
    let constant = constant.map(|error| CandidateRow {
        error: Some(error),
        in_label_units,
        ..of(comparison.constant_name())
    });
    spans.into_iter().chain(constant).collect()
}

fn candidates(
    screen: &RankScreen,
    context: &Context,
    canvas: &mut Canvas,
    area: Rect,
    (bar, references): (Bar, Vec<CandidateRow>),
) {
    let (theme, glyphs) = (canvas.theme, canvas.glyphs);
    let Bar { column: barred, marks, order } = bar;
    let mut rows = screen.rows(&context.ranking, &context.watch);
    let candidates = rows.len();
    rows.extend(references);
    let score = |row: &CandidateRow| match barred {
        RankColumn::Error => row.error.map(|it| it.estimate()),
        RankColumn::Energy => row.estimate(row.energy),
        _ => row.estimate(row.distance),
    };
    let full = rows
        .iter()
        .filter_map(|row| score(row).map(|score| score.value + score.half_width))
        .filter(|end| end.is_finite())
        .chain(marks.into_iter().flatten())
        .fold(1e-9_f64, f64::max);
    let mut columns = columns_that_fit(area.width, &bar, &rows);
    if let Some(place) = columns.iter().position(|column| *column == barred) {
        columns.insert(place + 1, RankColumn::Bar);
    }
    let bar = bar_width(area.width);
    let is_exact = screen.shows_exact(&context.ranking, &context.watch);
    let style = if is_exact { theme.curator } else { theme.text };
    let head = |column: &RankColumn| {
        let mark = sort_mark(*column == order, false);
        Line::raw(format!("{}{mark}", column.title()))
    };
    let width = |column: &RankColumn| match column {
        RankColumn::Verdict => Fill(1),
        RankColumn::Bar => Length(bar),
        column => Length(width_of(*column, &rows)),
    };
    let (header, widths) =
        (columns.iter().map(head).collect(), columns.iter().map(width).collect());
    let cell = |row: &CandidateRow, column: &RankColumn| {
        let text = match column {
            RankColumn::Bar => {
                let Some(Estimate { value, half_width }) = score(row) else {
                    return Line::default();
                };
                let whiskers = Whiskers { mean: value, half_width, full, marks };
                return Line::from(whiskers.spans(bar, glyphs, [style, style, theme.warning]));
            }
            RankColumn::Name => return Line::styled(row.name.clone(), theme.text),
            RankColumn::Rank if row.rank == 0 => "·".to_owned(),
            column if row.rank == 0 && column.number(row).is_none() => String::new(),
            RankColumn::Rank => row.rank.to_string(),
            RankColumn::Energy => row.estimate(row.energy).map_or_else(none, |it| it.text()),
            RankColumn::Gsd => row.estimate(row.distance).map_or_else(none, |it| it.text()),
            RankColumn::Task2Vec => row.task2vec.map_or_else(none, compact),
            RankColumn::Error => {
                let error = row.error.map(|it| it.estimate().error_text(row.in_label_units));
                error.unwrap_or_else(none)
            }
            RankColumn::Elsewhere if row.in_label_units => row.elsewhere.map_or_else(none, compact),
            RankColumn::Elsewhere => row.elsewhere.map_or_else(none, percent),
            RankColumn::Verdict => row.verdict.clone(),
        };
        Line::styled(text, style)
    };
    let row = |place: usize| columns.iter().map(|column| cell(&rows[place], column)).collect();
    let selected = screen.selected.min(candidates.saturating_sub(1));
    let list = (CANDIDATES, rows.len(), Some(selected));
    canvas.list(area, (header, widths), list, row);
}

fn none() -> String {
    "–".to_owned()
}

#[cfg(test)]
mod tests {
    use super::energy_behind;

    /// For the exponential mechanism itself: weights e^(ε s/2), with the winner further behind than
    /// the bound at most 5 % of the time.
    #[test]
    fn a_winner_is_seldom_further_behind_than_is_said() {
        for (epsilon, records, candidates) in [(0.5, 200, 3), (2.0, 1000, 8)] {
            let most = energy_behind(epsilon, candidates, records) * records as f64;
            // One best dataset, with all others exactly this far behind.
            let behind = (-epsilon * most / 2.0).exp() * (candidates - 1) as f64;
            let missed = behind / (1.0 + behind);
            assert!(missed <= 0.05 && missed > 0.02, "{missed}");
        }
        assert!(energy_behind(0.01, 3, 100) > 1.0);
    }
}
