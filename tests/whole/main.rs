//! The whole program, as its users and their scripts meet it.
//!
//! One target holds all of it, because each target is linked with the whole library, and because
//! many of these tests wait while others work. `cargo test --test whole ledger::` runs one part.
//! The other targets are processes of their own for a reason: `hostile_files` counts memory,
//! `audit` plants faults in itself, and `harness` has a long form.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // a test's helpers fail by panicking

#[path = "../support/chance.rs"]
mod chance;
#[path = "../support/own_secret.rs"]
mod own_secret;
#[path = "../support/program.rs"]
mod program;
#[path = "../support/schema.rs"]
mod schema;
#[path = "../support/mod.rs"]
mod support;

mod boundary;
mod browser;
mod certificates;
mod command_line;
mod correction;
mod data;
mod doctor;
mod export;
#[cfg(feature = "onnx")]
mod extraction;
mod formats;
mod guide;
mod hidden_number;
mod keys;
mod kill;
mod larger;
mod ledger;
mod ledger_memory;
mod looks;
mod measures;
mod neighbours;
mod overlap;
mod persons;
mod pictures;
mod pipeline;
mod predictor;
mod public_only;
mod python;
mod ranking;
mod resume;
mod scores;
mod sites;
mod source_weights;
mod sweep;
mod terminal;
mod theory;
mod trainers;
mod tutorial;
mod verify;
mod watch;
