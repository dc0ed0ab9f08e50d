//! The append-only record of what each private dataset has spent.
//!
//! | module | holds |
//! |---|---|
//! | [`entry`] | the contents of one line |
//! | [`book`] | what the lines add up to: all accounts |
//! | [`account`] | one account: its runs and their total |
//! | [`admission`] | whether a further run fits into its budget |
//! | [`total`] | the sum of everything, and whether it may be called a total |
//! | [`gap`] | why it may not: lost lines, noise from a known seed; kept for ever |
//! | [`delta`] | which δ is too large for a number of records |
//! | [`flaw`] | why a ledger cannot be continued, and how this is reported and repaired |
//! | [`traces`] | run directories that show that lines were lost |
//! | [`elsewhere`] | what this user's other ledgers charged on the same records |
//! | [`witness`] | what this user's programs remember of a ledger, so that copies are detected |
//! | [`chain`] | how lines are written, chained by hash, and checked when they are read |
//! | [`disk`] | the files, their locks, and the order in which they are synced |
//! | [`shared_disk`] | whether a lock also excludes other machines |
//! | [`handle`] | [`Ledger`]: every decision, taken under the lock |
//!
//! # The files
//!
//! | file | holds |
//! |---|---|
//! | `ledger.jsonl` | the ledger: one JSON object per line |
//! | `ledger.head` | number and hash of the last confirmed line, so that a cut-off end is detected |
//! | `ledger.lock` | locked while the ledger is read (shared) or changed (exclusive) |
//! | `open/RUN.lock` | locked as long as the program that executes this open run is alive; holds its draws so far |
//! | `ledger.torn-TIME` | the unfinished last line of a program that died while writing it |
//! | `ledger.damaged-TIME.jsonl` | a damaged ledger, set aside by a repair |
//!
//! # From a program
//!
//! ```
//! use halflight_privacy_inside::ledger::{Budget, DatasetRecord, Ledger};
//!
//! # fn main() -> Result<(), halflight_base::Error> {
//! # let folder = tempfile::tempdir().unwrap();
//! # let folder = folder.path();
//! let ages = DatasetRecord {
//!     name: "ages".to_owned(),
//!     origin: "/data/ages.csv".to_owned(),
//!     content: "fingerprint of the file".to_owned(),
//!     view: "fingerprint of its rows".to_owned(),
//!     rows: 1000,
//!     key: None,
//!     sketch: None,
//! };
//! let account = Ledger::open(folder)?.register(&ages)?;
//! Ledger::open(folder)?.set_budget(&account, Budget::new(2.0, 1e-5))?;
//!
//! // The same rows are the same account for every program.
//! let mut ledger = Ledger::open(folder)?;
//! assert_eq!(ledger.register(&ages)?, account);
//! let book = ledger.book()?;
//! let known = book.account(&account).and_then(|known| known.budget);
//! assert_eq!(known, Some(Budget::new(2.0, 1e-5)));
//! # Ok(())
//! # }
//! ```
//!
//! # Checking a ledger by hand
//!
//! A line ends with `,"hash":"…"}`; the hash is the SHA-256 of the bytes before
//! that, and `prev` repeats the hash of the line before (64 zeros on the first):
//!
//! ```sh
//! sed -n 3p ledger.jsonl | sed 's/,"hash":"[0-9a-f]*"}$//' | tr -d '\n' | sha256sum
//! ```
//!
//! The chain shows accidents: an edited line, a lost one. It holds no secret, so it does not stop a
//! curator who rewrites every file. Two things outside the ledger also show lost lines: run
//! directories whose runs are not in the ledger ([`traces`]), and the last line that this user's
//! programs remember ([`witness`]). Locks need a disk that supports them for every machine that
//! uses the workspace ([`shared_disk`]).
//!
//! # What is never forgotten
//!
//! A repair records that lines were lost, and a grant records that a run's noise came from a known
//! seed. Both leave a [`Gap`] in every account that they concern. Nothing is granted until somebody
//! accepts the gap. From then on the amount spent is shown everywhere as *at least* a number, or as
//! no number ([`Total`]).
//!
//! # What others claim
//!
//! Another trainer's file states what it drew from the records of an account. It is charged like a
//! run ([`Claim`]), because it may be true. It is shown separately beside every total
//! ([`TotalStanding::Claimed`]), because halflight has not seen it happen. No budget is asked,
//! because it is already spent. Whether its steps were planned is unknown, so they are added up as
//! if each had been chosen by the outputs before it. The same training is recognised by its own id,
//! and only added lines are charged. Lines that do not continue the charged ones are refused.
//!
//! A file can be wrong. Where it was corrected, [`Ledger::raise`] charges the larger number of each
//! draw in either version; this needs only the new file. Counting less needs the curator's word
//! ([`Ledger::correct`]), which the ledger keeps with its reason ([`Correction`]). It is shown
//! beside every total, and the line keeps the earlier numbers.
//!
//! # What names private rows
//!
//! `content` and `view` of a dataset are HMACs under the user's secret. `key` identifies the
//! secret, and `sketch` holds digests of some rows ([`crate::data::overlap`]). So a file is
//! recognised by its rows, and nobody without the secret can test a guess about a row. A ledger of
//! an earlier version has plain fingerprints. The first change rewrites it: its first line then
//! says so, and names the end of the old chain.
//!
//! # Why nothing is drawn that is not charged
//!
//! A draw is announced before it is made: the line is written and synced, then the head, and only
//! then does [`Ledger::reserve`] return. A program that dies in between leaves at worst one line
//! too many, never one too few. A run that was never settled counts in full.
//!
//! The runs of a sweep are reserved together, and all their draws are announced with them
//! ([`Ledger::grant_carried`]): executing one, on any machine, writes nothing here, and the
//! run counts in full until its result is collected.

pub mod account;
mod admission;
pub mod book;
mod chain;
pub mod delta;
mod disk;
pub mod elsewhere;
pub mod entry;
mod flaw;
pub mod gap;
mod handle;
mod lock;
#[cfg(test)]
mod samples;
mod shared_disk;
pub mod total;
mod traces;
mod witness;

pub use account::{Account, Claims, Corrected, RaisedBudget, RunRecord, RunState, Unprotected};
pub use book::Book;
pub use chain::sha256;
pub use elsewhere::ChargedElsewhere;
pub use entry::{
    AccountId, Budget, Claim, Correction, DatasetRecord, Entry, Grant, LedgerLine, ORDER_ASSUMED,
    ReadSoFar, RowOrder, RunId, RunOutcome, SharedNoise, claimed_name,
};
pub use gap::{Acceptance, Cause, Gap};
pub use handle::{Ledger, Unfinished};
pub(crate) use lock::take;
pub use lock::{on_waiting, this_host, this_process};
pub use shared_disk::{about as about_disk, locks_reach, on_one_machine};
pub use total::{Total, TotalStanding};
pub use witness::is_torn_note;
