//! What a screen shows, as text for a file or the clipboard. Exact numbers are
//! left out unless they were asked for by name and the view is not sealed.

use std::collections::BTreeMap;
use std::fmt::Write;

use ratatui::Terminal;
use ratatui::backend::TestBackend;

use super::app::{App, Tab};
use super::compare::{Column, Value};
use super::live_run::LiveRun;
use super::screenshot::{Paper, svg};
use super::theme::Tone;
use super::view::ledger::{ENTRY_HEADER, entry_cells};
use super::view::view;
use crate::error::{Error, Result};
use crate::privacy::Watch;
use crate::rank::comparison::Mean;

/// Rows of text under a header.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Sheet {
    pub header: Vec<String>,
    pub rows: Vec<Vec<String>>,
}

impl Sheet {
    pub fn csv(&self) -> String {
        let mut text = String::new();
        for row in std::iter::once(&self.header).chain(&self.rows) {
            let cells: Vec<String> = row.iter().map(|cell| quoted(cell)).collect();
            let _ = writeln!(text, "{}", cells.join(","));
        }
        text
    }
}

fn quoted(cell: &str) -> String {
    if cell.contains([',', '"', '\n', '\r']) {
        return format!("\"{}\"", cell.replace('"', "\"\""));
    }
    cell.to_owned()
}

/// The watch under which an export is made.
fn eyes(app: &App, exact: bool) -> Watch {
    if exact && !app.watch.is_sealed() { Watch::open() } else { Watch::sealed() }
}

/// The table of this screen, as it is filtered and sorted; `None` where there is none.
pub fn sheet(app: &App, exact: bool) -> Option<Sheet> {
    let watch = eyes(app, exact);
    match app.tab {
        Tab::Compare => app.compare.runs.as_ref().map(|_| runs_table(app, &watch)),
        Tab::Run => app.selected_run().map(|run| curves(app, run, &watch)),
        Tab::Ledger => entries(app),
        Tab::Rank => candidates(app, &watch),
        Tab::Data | Tab::Plan => None,
    }
}

/// The ranked datasets as they are sorted; released ones, or exact ones under an open watch.
fn candidates(app: &App, watch: &Watch) -> Option<Sheet> {
    app.rank.shown.as_ref()?;
    let number = |number: Option<f64>| number.map_or_else(String::new, |number| number.to_string());
    let mean = |it: Option<Mean>| [number(it.map(|it| it.mean)), number(it.map(|it| it.deviation))];
    let rows = app.rank.rows(watch).into_iter().map(|row| {
        let [energy, energy_sd] = mean(row.energy);
        let [distance, distance_sd] = mean(row.distance);
        let others = [row.unlabelled, row.labelled, row.zero_shot].map(number);
        let [unlabelled, labelled, zero_shot] = others;
        let first = [row.rank.to_string(), row.name, energy, energy_sd, distance, distance_sd];
        first.into_iter().chain([unlabelled, labelled, zero_shot, row.verdict]).collect()
    });
    let header = "rank,dataset,energy,energy_sd,distance,distance_sd,unlabelled_discrepancy,labelled_discrepancy,zero_shot,verdict";
    Some(Sheet { header: header.split(',').map(str::to_owned).collect(), rows: rows.collect() })
}

fn runs_table(app: &App, watch: &Watch) -> Sheet {
    let columns = Column::shown(!watch.is_sealed());
    // The order on the screen, which an exact column may have sorted.
    let order = app.compare.order(app.filter(), &app.watch);
    let row = |index: usize| {
        let run = &app.compare.runs()[index];
        let cell = |column: &Column| match column.value(run, watch) {
            Value::Number(x) => x.to_string(),
            Value::Text(text) => text,
            Value::Missing => String::new(),
        };
        columns.iter().map(cell).collect()
    };
    Sheet {
        header: columns.iter().map(|column| column.title().to_owned()).collect(),
        rows: order.into_iter().map(row).collect(),
    }
}

/// The curves of a run over the steps that the charts show.
fn curves(app: &App, run: &LiveRun, watch: &Watch) -> Sheet {
    let viewport = &app.run.viewport;
    let (low, high) = viewport.window.unwrap_or((f64::NEG_INFINITY, f64::INFINITY));
    let high = viewport.frozen.map_or(high, |frozen| high.min(frozen));
    let mut header = vec!["step".to_owned(), "epsilon".to_owned()];
    let mut columns: Vec<&[(f64, f64)]> = vec![run.epsilon.view().as_slice()];
    for (series, curve) in &run.curves {
        if let Some(points) = curve.points(watch) {
            let mark = if curve.is_exact() { " ◆" } else { "" };
            header.push(format!("{}{mark}", series.words()));
            columns.push(points.raw().view().as_slice());
        }
    }
    let mut rows: BTreeMap<u64, Vec<String>> = BTreeMap::new();
    for (index, points) in columns.iter().enumerate() {
        for (x, y) in points.iter().filter(|point| point.0 >= low && point.0 <= high) {
            let row = rows.entry(*x as u64).or_insert_with(|| {
                let mut row = vec![String::new(); columns.len() + 1];
                row[0] = x.to_string();
                row
            });
            row[index + 1] = y.to_string();
        }
    }
    Sheet { header, rows: rows.into_values().collect() }
}

fn entries(app: &App) -> Option<Sheet> {
    let (account, digest) = (app.selected_account()?, app.selected_digest()?);
    let rows = app.visible_entries().into_iter();
    let rows = rows.map(|index| entry_cells(&account.runs[index], &digest.entries[index]));
    Some(Sheet { header: ENTRY_HEADER.map(str::to_owned).to_vec(), rows: rows.collect() })
}

/// The screen as a picture, without windows over it.
pub fn picture(app: &mut App, exact: bool) -> Result<String> {
    let (columns, rows) = app.size;
    let failed = |error: &dyn std::fmt::Display| Error::failed(format!("cannot draw: {error}"));
    let mut terminal =
        Terminal::new(TestBackend::new(columns, rows)).map_err(|error| failed(&error))?;
    let seen = eyes(app, exact);
    let watch = std::mem::replace(&mut app.watch, seen);
    let (popup, notice) = (app.popup.take(), app.notice.take());
    let drawn = terminal.draw(|frame| {
        view(app, frame);
    });
    let drawn = drawn.map(|_| ()).map_err(|error| failed(&error));
    (app.watch, app.popup, app.notice) = (watch, popup, notice);
    drawn?;
    let paper = match app.theme.tone {
        Tone::Light => Paper::light(),
        Tone::Dark => Paper::dark(),
    };
    let title = format!("halflight: {}", app.tab.title());
    Ok(svg(terminal.backend().buffer(), &title, &paper))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_with_commas_and_quotes_are_quoted() {
        let sheet = Sheet {
            header: vec!["a".into(), "b".into()],
            rows: vec![vec!["1,5".into(), "say \"x\"".into()]],
        };
        assert_eq!(sheet.csv(), "a,b\n\"1,5\",\"say \"\"x\"\"\"\n");
    }
}
