//! Halflight: a terminal workbench for private domain adaptation.
//!
//! This package is the program: the command line, and under their old names the crates below it. They
//! are in `src`, one folder each; the guide's page `code` has a picture of what each of them uses.
//!
//! | crate | holds |
//! |---|---|
//! | [`cli`] | argument parsing, headless commands, exit codes |
//! | [`tui`] · [`guide`] | screens, keymap; no mathematics, no files · the guide in `assets/guide`, and its pages in a terminal |
//! | [`widgets`] | charts, text fields, themes, pictures of screens |
//! | [`engine`] | jobs in the background: events out, commands in |
//! | [`session`] | the RON session, run directories, statements, exports |
//! | [`rank`] · [`rehearsal`] · [`audit`] · [`verdict`] · [`theory`] · [`glossary`] | `halflight-advice`: what to do and what to expect, before anything is spent |
//! | [`methods`] | adaptation methods, one file each, as pure step functions |
//! | [`evaluation`] | scores, exact and released |
//! | [`privacy`] | the boundary around private data, the spender, the ledger; the accountant and the samplers are `halflight-dp` |
//! | [`data`] · [`model`] | datasets, readers, bounds · models, losses, gradients |
//! | [`verify`] | certificates and ledgers, recomputed by independent code |
//! | [`plot`] · [`numeric`] | axes, short numbers, charts as SVG · dense kernels, special functions: no domain words |
//! | [`error`] · [`files`] · [`memory`] · [`clock`] · [`signals`] | `halflight-base` |
//!
//! Neither this package nor the interface names `halflight-privacy-inside`, so their code cannot open
//! what is private:
//!
//! ```compile_fail,E0433
//! use halflight_privacy_inside::openings::OpenWatch;
//! ```
//!
//! ```compile_fail,E0599
//! let watch = halflight::privacy::Watch::open();
//! ```

pub mod cli;

pub use error::{Error, Result};
pub use halflight_advice::{audit, glossary, rank, rehearsal, theory, verdict};
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
pub use halflight_widgets as widgets;
