//! Ctrl-C and friends.
//!
//! The first signal asks the work to stop, which it does between two steps, and settles what was
//! drawn. Some steps are long: what does not stop by itself is ended, by SIGTERM and SIGHUP after two
//! seconds and by Ctrl-C the second time. Nothing is lost then, as by any death: what was announced
//! is charged, and the run can go on. SIGQUIT (Ctrl-\) is left to the system and ends at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use super::messages;
use crate::engine::control::PATIENCE;
use crate::error::{Error, Result};
use crate::privacy::spender;

/// Calls `stop` at the first signal and sets the returned flag. The next one ends the process.
pub fn on_first(stop: impl Fn() + Send + 'static) -> Result<Arc<AtomicBool>> {
    let interrupted = Arc::new(AtomicBool::new(false));
    let mut signals = signal_hook::iterator::Signals::new([SIGINT, SIGTERM, SIGHUP])
        .map_err(|error| Error::failed(format!("cannot listen to signals: {error}")))?;
    let seen = Arc::clone(&interrupted);
    std::thread::spawn(move || {
        for signal in signals.forever() {
            if seen.swap(true, Ordering::Relaxed) {
                let _ = signal_hook::low_level::emulate_default_handler(signal);
            }
            stop();
            // Who presses Ctrl-C may wait, or press it again.
            if signal != SIGINT {
                std::thread::spawn(move || end_in_a_while(signal));
            }
        }
    });
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
    let _ = signal_hook::low_level::emulate_default_handler(signal);
}
