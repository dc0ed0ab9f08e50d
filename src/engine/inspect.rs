//! What a table holds: for everybody if it is public, and otherwise for the user at the keyboard.

use crate::data::inspect::Inspection;
use crate::data::{Bounded, Role, Table};
use crate::error::{Error, Result};
use crate::privacy::openings::OpenPrivate;
use crate::privacy::{CuratorOnly, Private, Watch};
use crate::session::{Loaded, LoadedRecords};

/// What a loaded dataset holds. Private ones need an open view, and so do those that are said to be
/// public and whose rows the ledger knows as private; of these no values are told.
pub fn loaded(loaded: &Loaded, values: bool, view: &Watch) -> Result<Inspection> {
    match &loaded.records {
        LoadedRecords::Public(_) if loaded.withheld.is_some() && view.is_sealed() => Err(sealed()),
        LoadedRecords::Public(records) if loaded.withheld.is_some() => {
            table(records, Some(Role::Private), false)
        }
        LoadedRecords::Public(records) => table(records, Some(Role::Public), values),
        LoadedRecords::Private(records) => {
            let exact =
                records.curator(view, |records| table(records, Some(Role::Private), values));
            let shown = exact.as_ref().and_then(|exact| exact.reveal(view));
            shown.cloned().unwrap_or_else(|| Err(sealed()))
        }
    }
}

/// The refusal to show exact numbers in a sealed view.
pub fn sealed() -> Error {
    Error::refused("the view is sealed, and these numbers are exact").cure(
        "leave it so, or write `sealed: false` into the session: the ledger notes what is seen then",
    )
}

/// What a table holds, with its values or without. The names of columns may be the values of a
/// private record; then they are shown only together with values.
pub fn table(table: &Table, role: Option<Role>, values: bool) -> Result<Inspection> {
    let may_be_private = role != Some(Role::Public);
    if values || !may_be_private || !table.names_seem_a_record() {
        return Ok(Inspection::of(table, values));
    }
    let mut inspection = Inspection::of(&table.with_numbered_columns(), false);
    // A session could not name them.
    inspection.label_candidates.clear();
    inspection.note(
        "some columns have numbers for names: if the file has no header line, name its columns in \
         a session: delimited(file: …, names: […]). The names are not shown here, as they may be a \
         private record: --show-values shows them, and so does --public for a public file"
            .to_owned(),
    );
    Ok(inspection)
}

/// How many private records of a plan had to be clipped.
pub fn clipped(private: &Private<Bounded>, view: &Watch) -> Option<CuratorOnly<usize>> {
    private.curator(view, |private| private.clipped)
}
