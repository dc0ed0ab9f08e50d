//! How far one record moves each exact query, relative to the announced sensitivity.
//!
//! One rehearsal is the history. Others have another record in one place, and see the samples and
//! released values of the first, so the exact queries differ by that record alone. Any two of them
//! are neighbours under replace-one; each of them and the one that leaves the record blank are
//! neighbours under zero-out. All other output must be the same to the last bit in all of them, and
//! on entirely different records, too. Any difference has leaked past the mechanisms.
//!
//! Neighbours are unordered: the other record may be anywhere. So the first run is also repeated
//! with the records in another order, and nothing may change but the rounding of sums.

use serde::Serialize;

use super::neighbours::{NULL, others, reversed, variants};
use super::subject::{HELD_OUT, Played, Subject};
use crate::error::Result;
use crate::privacy::Adjacency;
use crate::privacy::tape::{Departure, Draw};

/// Rounding of the comparison itself.
const ROUNDING: f64 = 1e-9;

/// The most that another order of the records may change, relative to the sensitivity: the rounding
/// of sums.
const OF_ORDER: f64 = 1e-6;

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
    let events = subject.calibrated.events();
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

    let turned = in_another_order(subject, &first)?;
    // Sums of numbers that belong to single records are rounded in another order then.
    let of_each = (0..events.len()).any(|event| subject.is_of_each_record(event));
    let in_another_order = (!of_each).then_some(&turned);
    for run in played.iter().chain([&blank, &other]).chain(in_another_order) {
        if run.reported != first.reported {
            findings.push("what is told besides the releases follows the private data".to_owned());
            break;
        }
    }
    let mut every = played.iter().chain([&blank, &other, &first]).flat_map(|run| &run.draws);
    if let Some(draw) = every.find(|draw| draw.overreached) {
        let label = &events[draw.event].label;
        findings.push(format!("{label}: the mechanism had to clip what the method gave"));
    }

    for (a, b) in first.draws.iter().zip(&turned.draws) {
        let event = &events[a.event];
        let moved = a.moved(b, &event.mechanism.query);
        if moved.is_nan() || moved > OF_ORDER {
            findings.push(format!("{}: it follows the order of the records", event.label));
            break;
        }
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
                    let share = a.moved(b, &event.mechanism.query);
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

/// The first run again with the records in another order, and its draws as they would be in the
/// first order. Records that are held out stay held out, and samples have the same records.
fn in_another_order(subject: &Subject, first: &Played) -> Result<Played> {
    let (data, all) = (&subject.private, subject.private.protected());
    let side = if subject.is_scored() { HELD_OUT.min(all / 2) } else { 0 };
    let (data, order) = reversed(data, side, all - side);
    // To reverse twice changes nothing, so this leads there and back.
    let turn = |draw: &mut Draw| {
        draw.members.iter_mut().for_each(|member| *member = order[*member]);
        draw.members.sort_unstable();
        if subject.is_of_each_record(draw.event) {
            let start = subject.first_in_training();
            for values in [&mut draw.exact, &mut draw.released] {
                let before = values.clone();
                for (at, value) in values.iter_mut().enumerate() {
                    *value = before[order[at + start] - start];
                }
            }
        }
    };
    let mut before = first.draws.clone();
    before.iter_mut().for_each(turn);
    let history = Departure { before: Some(before), ..Departure::default() };
    let mut turned = subject.play(subject.bounded(data), 1, history)?;
    turned.draws.iter_mut().for_each(turn);
    Ok(turned)
}
