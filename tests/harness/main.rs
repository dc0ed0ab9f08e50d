//! Faults are made wherever they can happen, and what must never happen is looked for.
//!
//! | module | what it does |
//! |---|---|
//! | [`failpoints`] | stops every command at every step by which something comes to the disk |
//! | [`power_loss`] | loses what a power failure may lose after every such step |
//!
//! `cargo test` does a part of it, chosen by a seed that each commit has of its own. The seed is
//! printed; `HALFLIGHT_SEED` gives it again. With `HALFLIGHT_HARNESS=long` everything is done: see
//! `assets/harness.sh`.

#![allow(clippy::unwrap_used, clippy::panic)] // a test's helpers fail by panicking

mod failpoints;
mod invariants;
mod place;
mod power_loss;
#[path = "../support/program.rs"]
mod program;

use std::process::Command;

/// Whether everything is to be tried.
fn is_long() -> bool {
    std::env::var("HALFLIGHT_HARNESS").is_ok_and(|word| word == "long")
}

/// Numbers that come again with their seed.
pub struct Dice(u64);

impl Dice {
    /// Of this commit, or of the seed that was asked for. `what` tells harnesses apart.
    pub fn of_this_commit(what: &str) -> Self {
        let seed = std::env::var("HALFLIGHT_SEED").unwrap_or_else(|_| {
            let head = Command::new("git").args(["rev-parse", "--short=12", "HEAD"]).output();
            let head = head.ok().filter(|head| head.status.success());
            head.map_or("0".to_owned(), |head| String::from_utf8_lossy(&head.stdout).into())
        });
        let seed = seed.trim();
        println!("{what}: HALFLIGHT_SEED={seed}");
        Self::new(0, &format!("{seed}{what}"))
    }

    pub fn new(seed: u64, what: &str) -> Self {
        Self(what.bytes().fold(0xcbf2_9ce4_8422_2325 ^ seed, |sum, byte| {
            (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        }))
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let bits = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    /// A number below `bound`; 0 where there is none.
    pub fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound.max(1) as u64) as usize
    }

    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }
}
