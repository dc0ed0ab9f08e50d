//! Ctrl-C and friends.
//!
//! The first signal asks the work to stop, which it does between two steps, and settles what was
//! drawn. Some steps are long: what does not stop by itself is ended, by SIGTERM and SIGHUP after two
//! seconds and by Ctrl-C the second time. Nothing is lost then, as by any death: what was announced
//! is charged, and the run can go on. SIGQUIT (Ctrl-\) is left to the system and ends at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::messages;
use crate::engine::control::PATIENCE;
use crate::error::Result;
use crate::privacy::spender;
use crate::signals::{self, INTERRUPT};

/// Calls `stop` at the first signal and sets the returned flag. The next one ends the process.
pub fn on_first(stop: impl Fn() + Send + 'static) -> Result<Arc<AtomicBool>> {
    let interrupted = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&interrupted);
    signals::listen(signals::ENDING, move |signal| {
        if seen.swap(true, Ordering::Relaxed) {
            signals::give_in(signal);
        }
        stop();
        // Who presses Ctrl-C may wait, or press it again.
        if signal != INTERRUPT {
            std::thread::spawn(move || end_in_a_while(signal));
        }
        true
    })?;
    Ok(interrupted)
}

fn end_in_a_while(signal: i32) {
    std::thread::sleep(PATIENCE);
    if spender::is_at_stake() {
        messages::tell(
            "it did not stop in time and is ended: what it announced is charged; \
             `halflight ledger` lists the run, which can go on or be settled",
        );
    }
    signals::give_in(signal);
}
