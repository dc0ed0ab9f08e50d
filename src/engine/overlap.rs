//! Detects rows that are already known: private rows in data declared public, and private data
//! whose rows have an account under another name.
//!
//! The refusal does not depend on who is looking: otherwise the promise to these people would be
//! broken. The number of affected rows is exact, so only an open watch sees it.

use crate::data::Unit;
use crate::data::overlap::{Overlap, SHARED};
use crate::data::persons::share_a_person;
use crate::error::{Error, Result};
use crate::faults::{Fault, planted};
use crate::privacy::ledger::Book;
use crate::privacy::openings::OpenPrivate;
use crate::privacy::{Secret, Watch};
use crate::session::{Loaded, Workspace, known_rows};

/// Refuses public data that contain a private row, recognised by its place or its contents. Returns
/// the result of [`check`].
pub(super) fn refuse_private_rows(
    private: &Loaded,
    publics: &[&Loaded],
    workspace: &Workspace,
    watch: &Watch,
) -> Result<Vec<String>> {
    if publics.iter().any(|public| public.withheld.is_some()) {
        // Who may see it is told how many rows these are.
        check(private, publics, workspace, watch)?;
    }
    refuse_rows(private, publics, Some(watch))?;
    check(private, publics, workspace, watch)
}

/// Refuses public data that contain a row of this private dataset, whatever the ledger knows.
pub(super) fn refuse_rows(
    private: &Loaded,
    publics: &[&Loaded],
    watch: Option<&Watch>,
) -> Result<()> {
    for public in publics {
        if let Some(unit) = &private.definition.unit {
            refuse_shared_persons(private, public, unit)?;
        }
        refuse_records(private, public)?;
        between(private, public, watch)?;
    }
    Ok(())
}

/// Refuses a record of one file on both sides: it would be used without any protection.
fn refuse_records(private: &Loaded, public: &Loaded) -> Result<()> {
    let (name, theirs) = (&private.definition.name, &public.definition.name);
    let other = public.public()?;
    private.private()?.try_map(|rows| {
        if !rows.shares_a_record(other) {
            return Ok(());
        }
        // The position of the row would reveal something about that person.
        Err(Error::refused(format!(
            "a row of {} is private in '{name}' and is among the public rows of '{theirs}', too",
            rows.origin
        ))
        .cure("change the row filters so that no row is on both sides"))
    })?;
    Ok(())
}

/// Refuses somebody whose records are partly public: they are not protected.
fn refuse_shared_persons(private: &Loaded, public: &Loaded, unit: &Unit) -> Result<()> {
    let (name, theirs) = (&private.definition.name, &public.definition.name);
    let other = public.public()?;
    private.private()?.try_map(|rows| {
        if share_a_person(rows, other, unit) != Some(true) {
            return Ok(());
        }
        Err(Error::refused(format!(
            "somebody in '{name}' has records among the public rows of '{theirs}', too ({} is the \
             same)",
            unit.words()
        ))
        .cure(
            "change the row filters so that nobody is on both sides; where the public rows use \
             the same names for other people, rename their column",
        ))
    })?;
    Ok(())
}

/// Refuses public data that hold rows of an account of this workspace, or of `private`. Returns
/// remarks for the curator before the start, if the watch is open.
pub(super) fn check(
    private: &Loaded,
    publics: &[&Loaded],
    workspace: &Workspace,
    watch: &Watch,
) -> Result<Vec<String>> {
    let secret = workspace.secret()?.secret;
    let book = workspace.book()?;
    book.check_secret(&secret)?;
    let mut notes = Vec::new();
    for public in publics {
        notes.extend(between(private, public, Some(watch))?);
        notes.extend(with_accounts(public, &book, &secret, watch)?);
    }
    notes.extend(joined(private, &book));
    Ok(if watch.is_sealed() { Vec::new() } else { notes })
}

/// Refuses a public dataset that has more rows of the private one than chance explains; fewer are
/// only a remark for the curator.
fn between(private: &Loaded, public: &Loaded, watch: Option<&Watch>) -> Result<Option<String>> {
    let record = private.record.as_ref().zip(private.secret.as_ref());
    let Some((record, secret)) = record else { return Ok(None) };
    if public.definition.declared_public {
        return Ok(None);
    }
    let rows = public.sketch(secret);
    let overlap = record.sketch.as_ref().zip(rows).and_then(|(mine, theirs)| mine.overlap(theirs));
    let Some(overlap) = overlap else { return Ok(None) };
    let (name, ours) = (&public.definition.name, &private.definition.name);
    if overlap.copied {
        return Err(refusal(
            &format!("'{name}' is declared public and holds rows that are private in '{ours}'"),
            public,
            &overlap,
            watch,
        ));
    }
    Ok(Some(format!(
        "about {} rows of '{ours}' are in '{name}' too, perhaps by chance: they would be used \
         without protection",
        overlap.rows
    )))
}

/// Whether a public dataset contains a row of a private one, recognised by its place or its
/// contents.
pub fn holds_rows(private: &Loaded, public: &Loaded) -> bool {
    refuse_rows(private, &[public], None).is_err()
}

/// Why the rows of a public dataset are withheld that holds rows of this private one.
pub fn rows_of(private: &str, public: &str) -> Error {
    Error::refused(format!("rows of '{private}', which is private, are in '{public}' too"))
        .cure("change the filter, or the role of one of them")
}

/// Whether a planted fault leaves out this public dataset, because a private row is in it.
pub(super) fn is_dropped(private: &Loaded, public: &Loaded) -> bool {
    planted(Fault::DroppedCandidate)
        && public.record.is_none()
        && !matches!(between(private, public, None), Ok(None))
}

/// Compares a public dataset with all accounts of the ledger.
fn with_accounts(
    public: &Loaded,
    book: &Book,
    secret: &Secret,
    watch: &Watch,
) -> Result<Vec<String>> {
    let mut notes = Vec::new();
    for it in known_rows::in_accounts(public, book, secret) {
        if it.overlap.shared {
            let what = known_rows::words(public, book, &it.account);
            return Err(refusal(&what, public, &it.overlap, Some(watch)));
        }
        notes.push(format!(
            "about {} rows of '{}' are in the private account {} too, perhaps by chance",
            it.overlap.rows, public.definition.name, it.account.0
        ));
    }
    Ok(notes)
}

/// Accounts that a private dataset joins, or nearly joins, because of its rows.
fn joined(private: &Loaded, book: &Book) -> Vec<String> {
    let Some(record) = &private.record else { return Vec::new() };
    let Some(rows) = &record.sketch else { return Vec::new() };
    let name = &private.definition.name;
    let overlaps = book.overlaps(rows).into_iter().filter(|(account, _)| {
        // There is nothing to report about its own account.
        book.account(account).is_some_and(|it| !it.datasets.iter().any(|it| it.has_rows_of(record)))
    });
    let told = overlaps.map(|(account, overlap)| {
        let id = &account.0;
        if overlap.shared {
            // Of the smaller of the two.
            let share = match (100.0 * overlap.share).floor() {
                95.0.. => "nearly all".to_owned(),
                share => format!("about {share:.0} %"),
            };
            format!(
                "'{name}' and account {id} have {share} of their rows in common: what was spent \
                 there is spent here"
            )
        } else {
            format!(
                "about {} rows of '{name}' are in account {id} too, fewer than the {:.0} % from \
                 which on an account is shared",
                overlap.rows,
                100.0 * SHARED
            )
        }
    });
    told.collect()
}

fn refusal(what: &str, public: &Loaded, overlap: &Overlap, watch: Option<&Watch>) -> Error {
    let rows = match watch {
        Some(watch) if !watch.is_sealed() => format!(": about {} ◆", overlap.rows),
        _ => String::new(),
    };
    Error::refused(format!("{what}{rows}")).cure(known_rows::cure(public))
}

/// The statement in a certificate about public data that somebody vouches for.
pub fn declarations<'a>(publics: impl IntoIterator<Item = &'a Loaded>) -> Vec<String> {
    let declared = publics.into_iter().filter(|public| public.definition.declared_public);
    let declared = declared.map(|public| {
        format!(
            "'{}' was declared public by hand: whether it holds private records of the ledger was \
             not checked",
            public.definition.name
        )
    });
    declared.collect()
}
