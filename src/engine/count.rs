//! The number of private records, released with noise where it is itself private.
//!
//! All other code treats the number of private records as public. Where it is not, two things hide
//! it:
//!
//! * *The count.* n is released once with discrete Laplace noise. Adding or removing a record moves
//!   n by 1, which is its sensitivity.
//! * *The size.* A definition with `records: N` makes a table of exactly N rows
//!   ([`crate::data::Table::of_size`]), in an order that depends on the user's secret. Empty rows
//!   fill it up; if there are too many records, a random part is left out.
//!
//! *Why this suffices.* Let D' be D with one more record. A uniformly random order of N rows of D'
//! is drawn by drawing one of D, and then changing at most one row: the new record takes the place
//! of an empty row, or, where rows are cut, perhaps of another record. So every order of D has an
//! order of D' whose table is a neighbour, and a mechanism that hides which of two neighbours it
//! saw also hides whether the data were D or D'. Under replace-one, both changes are replacements.
//! Under zero-out the first change is allowed (an empty row is a null record) and the second is
//! not, so N must be at least n. [`proposal`] adds enough to the noisy count to make it less than n
//! with probability at most [`TOO_SMALL`], and δ grows by this probability.

use super::spend::Purpose;
use crate::data::Role;
use crate::error::{Error, Result};
use crate::privacy::accountant::calibrate;
use crate::privacy::ledger::RunId;
use crate::privacy::openings::{OpenPrivate, OpenReleased};
use crate::privacy::{
    Adjacency, Allotment, Guarantee, Laplace, PlannedRelease, Private, Reach, Release, Released,
    Spender, Target,
};
use crate::session::{Loaded, Session, Workspace, dataset};

pub(super) const METHOD: &str = "count";
const RELEASE: Release<Laplace> = Release::new("count", Laplace { sensitivity: 1.0, numbers: 1 });

/// The largest probability that the proposed size is less than the number of records.
pub const TOO_SMALL: f64 = 1e-10;

/// No file has more records.
const MOST_RECORDS: f64 = 1e12;

/// The guarantee is pure; this is only a number for the ledger.
const DELTA: f64 = 1e-12;

/// A count that was released.
#[derive(Debug, Clone)]
pub struct Counted {
    pub dataset: String,
    /// Noisy and rounded.
    pub about: Released<f64>,
    /// In 95 of 100 releases the number of records is this close.
    pub within: f64,
    /// The proposed value of `records`.
    pub proposal: usize,
    pub guarantee: Guarantee,
    pub run: RunId,
}

fn plan() -> PlannedRelease {
    RELEASE.announced(
        "the number of private records".to_owned(),
        1,
        Allotment::Share(1.0),
        // An added record takes the place of an empty one, so it is a replacement.
        Adjacency::ReplaceOne,
    )
}

/// Releases the number of records of a private dataset of the session, after its filter.
pub fn count(
    session: &Session,
    name: &str,
    epsilon: f64,
    workspace: &Workspace,
) -> Result<Counted> {
    let mut definition = session.dataset(name)?.clone();
    if definition.role == Role::Public {
        return Err(Error::usage(format!(
            "'{name}' is public: its rows need no noise to be counted"
        ))
        .cure("name a private dataset of the session"));
    }
    if definition.unit.is_some() {
        return Err(Error::usage(format!(
            "'{name}' protects persons, and how many there are is taken as public"
        ))
        .cure("leave `unit` out to count records; their number stays private anyway"));
    }
    definition.records = None;
    let target = Target { epsilon, delta: DELTA };
    let calibrated = calibrate(&[plan()], target)?;
    let mut private = dataset::load(&definition, workspace)?;
    // The ledger gets the number when it is released.
    private.set_rows_on_record(0);
    let purpose = Purpose::new(METHOD, &calibrated);
    let paid = purpose.pay(&private, (session, workspace), |spender| noisy(&private, spender))?;
    let (about, scale) = paid.value;
    let proposal = proposal(*about.get(), scale);
    private.set_rows_on_record(proposal as u64);
    private.register(&mut workspace.ledger()?)?;
    Ok(Counted {
        dataset: name.to_owned(),
        proposal,
        within: scale * 20.0_f64.ln(),
        about,
        guarantee: paid.guarantee,
        run: paid.run,
    })
}

fn noisy(private: &Loaded, spender: &mut Spender) -> Result<(Released<f64>, f64)> {
    let scale = spender.scale(&RELEASE)?;
    release(&private.private()?.map_unseen(|table| table.rows() as f64), spender)
        .map(|about| (about, scale))
}

fn release(rows: &Private<f64>, spender: &mut Spender) -> Result<Released<f64>> {
    let reach = Reach::between(0.0, MOST_RECORDS, 1);
    let noisy = rows.release_laplace(spender, RELEASE, &reach, |rows| vec![*rows])?;
    Ok(noisy.map(|noisy| noisy.first().copied().unwrap_or_default().round()))
}

/// P(noise < −t) ≤ ½e^{−t/b} for the Laplace distribution of scale b.
fn proposal(about: f64, scale: f64) -> usize {
    let margin = -scale * (2.0 * TOO_SMALL).ln();
    (about + margin).ceil().max(10.0) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::privacy::Calibrated;
    use crate::privacy::accountant::QueryKind;
    use crate::privacy::openings::OpenSpender;

    fn released(rows: f64, calibrated: &Calibrated, seed: u64) -> f64 {
        let mut spender = Spender::rehearsal(calibrated, seed);
        release(&Private::new(rows), &mut spender).unwrap().into_inner()
    }

    #[test]
    fn neighbours_attain_the_sensitivity() {
        let noiseless = Calibrated::noiseless(&[plan()], DELTA);
        let exact = |rows| released(rows, &noiseless, 0);
        assert_eq!(exact(1_000_000.0), 1_000_000.0);
        let planned = QueryKind::Laplace.query(1.0, 1);
        assert_eq!((exact(501.0) - exact(500.0), plan().query), (1.0, planned));
    }

    #[test]
    fn the_count_is_off_by_what_the_noise_says_and_the_proposal_is_never_too_small() {
        let epsilon = 0.1;
        let calibrated = calibrate(&[plan()], Target { epsilon, delta: DELTA }).unwrap();
        let scale = calibrated.events()[0].mechanism.noise.scale;
        // Rounding to the grid costs almost nothing.
        assert!((scale * epsilon - 1.0).abs() < 0.01, "{scale}");
        assert!(calibrated.guarantee().epsilon <= epsilon);
        let mut within = 0;
        for seed in 0..2000 {
            let about = released(500.0, &calibrated, seed);
            within += u32::from((about - 500.0).abs() <= scale * 20.0_f64.ln() + 0.5);
            assert!(proposal(about, scale) >= 500);
        }
        assert!((1870..=1930).contains(&within), "{within} of 2000");
    }
}
