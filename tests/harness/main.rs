//! Faults are made wherever they can happen, and what must never happen is looked for.
//!
//! | module | what it does |
//! |---|---|
//! | [`commands`] | gives random commands in one workspace, some of which are stopped |
//! | [`failpoints`] | stops every command at every step by which something comes to the disk |
//! | [`power_loss`] | loses what a power failure may lose after every such step |
//! | [`readers`] | gives damaged files of a workspace to whatever reads them |
//! | [`saving`] | stops the interface at every step by which it saves a session |
//!
//! `cargo test` does a part of it, chosen by a seed that each commit has of its own. The seed is
//! printed; `HALFLIGHT_SEED` gives it again. With `HALFLIGHT_HARNESS=long` everything is done: see
//! `assets/harness.sh`.

#![allow(clippy::unwrap_used, clippy::panic)] // a test's helpers fail by panicking

#[path = "../support/chance.rs"]
mod chance;
mod commands;
mod failpoints;
mod invariants;
mod place;
mod power_loss;
#[path = "../support/program.rs"]
mod program;
mod readers;
mod saving;
#[path = "../support/mod.rs"]
mod support;
