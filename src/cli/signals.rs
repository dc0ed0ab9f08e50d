//! Ctrl-C and friends.
//!
//! The first signal asks the work to stop. It stops between two steps, and its draws are settled.
//! Some steps are long: SIGTERM and SIGHUP end work that does not stop by itself within two
//! seconds, and settle its run from outside. A second Ctrl-C does the same. SIGQUIT (Ctrl-\) is
//! left to the system and ends the program at once: announced draws are charged, and the run can be
//! resumed.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::messages;
use crate::engine::{Control, ending};
use crate::error::Result;
use crate::signals::{self, INTERRUPT};

/// Calls `stop` at the first signal and sets the returned flag. The next one ends the process.
pub fn on_first(stop: impl Fn() + Send + 'static) -> Result<Arc<AtomicBool>> {
    let interrupted = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&interrupted);
    signals::listen(signals::ENDING, move |signal| {
        if seen.swap(true, Ordering::Relaxed) {
            end(signal);
        }
        stop();
        // After Ctrl-C the user may wait or press it again.
        if signal == INTERRUPT {
            messages::tell("stopping; this may take as long as a step. Ctrl-C again ends at once");
        } else {
            std::thread::spawn(move || {
                std::thread::sleep(ending::PATIENCE);
                end(signal);
            });
        }
        true
    })?;
    Ok(interrupted)
}

/// The control of work that the first signal ends, and a flag that says whether it came.
pub fn control() -> Result<(Control, Arc<AtomicBool>)> {
    let control = Control::default();
    let ended = control.clone();
    let interrupted = on_first(move || ended.end())?;
    Ok((control, interrupted))
}

fn end(signal: i32) {
    let said = ending::settle(&[]).words();
    if !said.is_empty() {
        messages::tell(said);
    }
    signals::give_in(signal);
}
