//! Halflight: a terminal workbench for private domain adaptation.
//!
//! Layers, each using only those below it:
//!
//! | layer | holds |
//! |---|---|
//! | [`cli`] | argument parsing, headless commands, exit codes |
//! | [`tui`] | screens, widgets, keymap, theme; no mathematics, no files |
//! | [`engine`] | jobs in the background: events out, commands in |
//! | [`rehearsal`] | public data in the private role: results to expect, before anything is spent |
//! | [`audit`] | every release and its noise, measured and compared with the claims |
//! | [`verify`] | certificates and ledgers, recomputed by independent code |
//! | [`session`] | the RON session, run directories, the demo |
//! | [`rank`] | which public data can stand in for private ones: gradient subspaces, ties, private selection |
//! | [`adapt`] | adaptation methods, one file each, as pure step functions |
//! | [`model`] · [`data`] · [`privacy`] | models · datasets, readers, bounds · guarantees, mechanisms, accountant, ledger |
//! | [`glossary`] · [`guide`] | the meanings of words that people read · the guide in `assets/guide`, and its pages in a terminal |
//! | [`verdict`] | is the model good: its errors compared with others, in words |
//! | [`plot`] | axes, short numbers, charts as SVG: no domain words |
//! | [`numeric`] | dense kernels, projections, special functions: no domain words |
//! | [`bibliography`] | the papers that modules cite by name |
//! | [`files`] · [`memory`] · [`clock`] · [`signals`] | files that are complete or absent, and who may read them · how much memory a table may take · the time · signals that ask the program to end |

// The texts of public modules link to their private submodules.
#![allow(rustdoc::private_intra_doc_links)]

pub mod cli;

pub use error::{Error, Result};
pub use halflight_advice::{audit, glossary, rank, rehearsal, verdict};
pub use halflight_base::{bibliography, clock, error, faults, files, memory, signals};
pub use halflight_data as data;
pub use halflight_engine as engine;
pub use halflight_evaluation as evaluation;
pub use halflight_methods as methods;
pub use halflight_model as model;
pub use halflight_numeric as numeric;
pub use halflight_plot as plot;
pub use halflight_privacy as privacy;
pub use halflight_session as session;
pub use halflight_tui::{self as tui, guide};
pub use halflight_verify as verify;
