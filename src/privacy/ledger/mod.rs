//! The append-only record of what each private dataset has spent.
//!
//! | module | holds |
//! |---|---|
//! | [`entry`] | what one line says |
//! | [`book`] | what the lines add up to: all accounts |
//! | [`account`] | one of them: its runs, and what they come to |
//! | [`admission`] | whether a further run fits into its budget |
//! | [`total`] | what everything comes to, and whether that may be called a total |
//! | [`gap`] | why it may not: lost lines, noise from a known seed; never forgotten |
//! | [`delta`] | which δ is too large for so many records |
//! | [`flaw`] | why a ledger may not be gone on with, and how that is said and mended |
//! | [`traces`] | run directories that show that lines were lost |
//! | [`witness`] | what this user's programs remember of a ledger, so that copies are noticed |
//! | [`chain`] | how lines are written, chained by hash, and read back with suspicion |
//! | [`disk`] | the files, their locks, and the order in which they are synced |
//! | [`shared_disk`] | whether a lock keeps other machines out |
//! | [`handle`] | [`Ledger`]: every decision, taken under the lock |
//!
//! # The files
//!
//! | file | holds |
//! |---|---|
//! | `ledger.jsonl` | the ledger: one JSON object per line |
//! | `ledger.head` | number and hash of the last confirmed line, so that a cut-off end is noticed |
//! | `ledger.lock` | locked while the ledger is read (shared) or changed (exclusive) |
//! | `open/RUN.lock` | locked as long as the program that carries out this open run is alive; holds its draws so far |
//! | `ledger.torn-TIME` | the unfinished last line of a program that died while writing it |
//! | `ledger.damaged-TIME.jsonl` | a damaged ledger, set aside by a repair |
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
//! The chain shows accidents: an edited line, a lost one. It holds no secret, so it does
//! not stop a curator who rewrites every file. That lines were lost is also seen by
//! looking outside: run directories whose runs are not in the ledger ([`traces`]), and
//! the last line that this user's programs remember ([`witness`]). Locks need a disk
//! that has them for every machine that uses the workspace ([`shared_disk`]).
//!
//! # What is never forgotten
//!
//! A repair writes down that lines were lost, and a run whose noise came from a known
//! seed is in its grant. Both make a [`Gap`] of every account that they concern. Nothing
//! is granted until somebody accepts the gap; from then on everything spent is *at least*
//! a number, or has none, wherever it is shown ([`Total`]).
//!
//! # What others claim
//!
//! Another trainer's file says what it drew from the records of an account. It is charged like a
//! run ([`Claim`]), because it may be true; it stands apart wherever a total is shown
//! ([`TotalStanding::Claimed`]), because nobody here has seen it. No budget is asked: it is spent.
//! Whether its steps were planned is not known, so it is added up as if each had been chosen by
//! what came out before. The same training is known again by its own id, and only the lines that
//! were added are charged; lines that do not continue those that were charged are refused.
//!
//! A file can be wrong. Where it was mended, [`Ledger::raise`] charges whatever either version
//! says, the larger number of each draw: that needs no more than the new file. To count less takes
//! the curator's word ([`Ledger::correct`]), which stands in the ledger with its reason
//! ([`Correction`]), is told beside every total, and leaves what counted before in its line.
//!
//! # What names private rows
//!
//! `content` and `view` of a dataset are HMACs under the user's secret, `key` says under which
//! one, and `sketch` holds digests of some rows ([`crate::data::overlap`]), so that a file is
//! known again by its rows and nobody without the secret can test a guess about one. A ledger
//! of an earlier version, whose fingerprints are plain, is written again by the first change:
//! its first line then says so, and names the end of the old chain.
//!
//! # Why nothing is drawn that is not charged
//!
//! A draw is announced before it is made: the line is written and synced, then
//! the head, and only then does [`Ledger::reserve`] return. A program that dies
//! in between leaves at worst a line too many, never one too few. What was never
//! settled counts in full.
//!
//! The runs of a sweep are reserved together, and all their draws are announced with
//! them ([`Ledger::grant_carried`]): whoever carries one out, on whatever machine, writes
//! nothing here, and until its result is collected it counts in full.

pub mod account;
mod admission;
pub mod book;
mod chain;
pub mod delta;
mod disk;
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

pub use account::{Account, Claims, Corrected, RunRecord, RunState, Unprotected};
pub use book::Book;
pub(crate) use chain::sha256;
pub use entry::{
    AccountId, Budget, Claim, Correction, DatasetRecord, Entry, Grant, LedgerLine, ReadSoFar,
    RunId, RunOutcome, claimed_name,
};
pub use gap::{Acceptance, Cause, Gap};
pub use handle::{Ledger, Unfinished};
pub(in crate::privacy) use lock::take;
pub use lock::{on_waiting, this_host, this_process};
pub use shared_disk::{about as about_disk, locks_reach, on_one_machine};
pub use total::{Total, TotalStanding};
pub use witness::is_torn_note;
