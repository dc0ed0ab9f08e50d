//! Ctrl-C and friends.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::error::{Error, Result};

/// Calls `stop` at the first signal and sets the returned flag; the next one ends the
/// process.
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
        }
    });
    Ok(interrupted)
}
