//! How far one record moves each exact query, relative to the announced sensitivity.
//!
//! One rehearsal is the history. Others have another record in one place, and see the samples and
//! released values of the first, so the exact queries differ by that record alone. Any two of them
//! are neighbours under replace-one; each of them and the one that leaves the record blank are
//! neighbours under zero-out. All other output must be the same to the last bit in all of them, and
//! on entirely different records, too. Any difference has leaked past the mechanisms.

use serde::Serialize;

use super::neighbours::{NULL, others, variants};
use super::subject::{Played, Subject};
use crate::error::Result;
use crate::numeric::Matrix;
use crate::numeric::eigen::eigenvalues;
use crate::privacy::Adjacency;
use crate::privacy::accountant::{Event, Query, QueryKind, Rule};
use crate::privacy::tape::{Departure, Draw};

/// Rounding of the comparison itself.
const ROUNDING: f64 = 1e-9;

/// The largest change of one release.
#[derive(Debug, Clone, Serialize)]
pub struct Moved {
    pub release: String,
    pub adjacency: Adjacency,
    /// The change of the exact query between neighbours, relative to its announced sensitivity: at
    /// most 1.
    pub largest: f64,
}

pub(super) fn measure(subject: &Subject, findings: &mut Vec<String>) -> Result<Vec<Moved>> {
    let events = &subject.calibrated.events;
    let first = subject.play(subject.bounded(subject.private.clone()), 1, Departure::default())?;
    if first.exceeds {
        findings.push("a release can be drawn once more than announced".to_owned());
    }
    for (index, event) in events.iter().enumerate() {
        let drawn = first.draws.iter().filter(|draw| draw.event == index).count() as u64;
        if drawn > event.count {
            findings.push(format!("{}: {drawn} draws, {} announced", event.label, event.count));
        }
    }
    // A record that is in a sample, if there are samples.
    let members = |draw: &Draw| draw.members.first().copied();
    let at = first.draws.iter().find_map(members).unwrap_or(0);
    let again =
        |blank: Vec<usize>| Departure { before: Some(first.draws.clone()), blank, present: None };
    let hostile = variants(&subject.private, at);
    let play = |data: &crate::data::Dataset, blank: Vec<usize>| -> Result<Played> {
        subject.play(subject.bounded(data.clone()), 1, again(blank))
    };
    let played = hostile.iter().map(|data| play(data, Vec::new())).collect::<Result<Vec<_>>>()?;
    // A null record if all records are used, and none if it would be sampled.
    let blank = play(&hostile[NULL], vec![at])?;
    let other = play(&others(&subject.private), Vec::new())?;

    for run in played.iter().chain([&blank, &other]) {
        if run.told != first.told {
            findings.push("what is told besides the releases follows the private data".to_owned());
            break;
        }
    }
    let mut every = played.iter().chain([&blank, &other, &first]).flat_map(|run| &run.draws);
    if let Some(draw) = every.find(|draw| draw.overreached) {
        let label = &events[draw.event].label;
        findings.push(format!("{label}: the mechanism had to clip what the method gave"));
    }

    let mut moved: Vec<Moved> = events
        .iter()
        .map(|event| Moved {
            release: event.label.clone(),
            adjacency: event.adjacency,
            largest: 0.0,
        })
        .collect();
    for (i, one) in played.iter().enumerate() {
        for other in played[..i].iter().chain([&blank]) {
            let zeroed = std::ptr::eq(other, &raw const blank);
            for (a, b) in one.draws.iter().zip(&other.draws) {
                let event = &events[a.event];
                if zeroed == (event.adjacency == Adjacency::ZeroOut) {
                    let share = change(event, &a.exact, &b.exact);
                    let largest = &mut moved[a.event].largest;
                    *largest = if share.is_nan() { f64::INFINITY } else { largest.max(share) };
                }
            }
        }
    }
    for moved in &moved {
        if moved.largest > 1.0 + ROUNDING {
            findings.push(format!(
                "{}: a neighbour moves it by {:.3} times what was announced",
                moved.release, moved.largest
            ));
        }
    }
    Ok(moved)
}

/// The change of a query, relative to its announced sensitivity.
fn change(event: &Event, one: &[f64], other: &[f64]) -> f64 {
    let differences = || one.iter().zip(other).map(|(a, b)| a - b);
    let spread = |values: &[f64]| {
        let largest = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        largest - values.iter().copied().fold(f64::INFINITY, f64::min)
    };
    let Query { kind, sensitivity, size } = event.mechanism.query;
    let moved = match kind {
        QueryKind::Gaussian | QueryKind::SampledSum { .. } => {
            differences().map(|x| x * x).sum::<f64>().sqrt()
        }
        QueryKind::Laplace => differences().map(f64::abs).sum::<f64>(),
        QueryKind::Selection(Rule::Exponential | Rule::PermuteAndFlip) => {
            spread(&differences().collect::<Vec<_>>())
        }
        QueryKind::Selection(Rule::NoisyMaximum) => differences().map(f64::abs).fold(0.0, f64::max),
        QueryKind::Direction => {
            let side = size as usize;
            let matrix = Matrix::from_iterator(side, side, differences());
            eigenvalues(&matrix).map_or(f64::NAN, |values| spread(values.as_slice()))
        }
        QueryKind::Pure | QueryKind::Repeated(_) => f64::NAN,
    };
    moved / sensitivity
}
