//! Signals of the system that ask a program to end.
//!
//! On Unix a waiting thread receives them. Windows knows two of them and only sets a flag, which a
//! thread checks a few times a second.

use signal_hook::consts::SIGINT;

use crate::error::{Error, Result};

/// Ctrl-C.
pub const INTERRUPT: i32 = SIGINT;

/// Whether a signal says that the terminal was closed.
#[cfg(unix)]
pub fn is_hangup(signal: i32) -> bool {
    signal == signal_hook::consts::SIGHUP
}
/// On other systems no signal does.
#[cfg(not(unix))]
pub fn is_hangup(_signal: i32) -> bool {
    false
}

/// The signals that end a command between two steps.
#[cfg(unix)]
pub const ENDING: &[i32] = &[SIGINT, signal_hook::consts::SIGTERM, signal_hook::consts::SIGHUP];
#[cfg(not(unix))]
pub const ENDING: &[i32] = &[SIGINT, signal_hook::consts::SIGTERM];

/// The signals that end the interface, including Ctrl-\, after which the terminal must be restored.
#[cfg(unix)]
pub const LEAVING: &[i32] = &[
    SIGINT,
    signal_hook::consts::SIGTERM,
    signal_hook::consts::SIGHUP,
    signal_hook::consts::SIGQUIT,
];
#[cfg(not(unix))]
pub const LEAVING: &[i32] = ENDING;

/// Calls `hear` with each signal, on a thread of its own, until it returns false.
pub fn listen(signals: &[i32], hear: impl FnMut(i32) -> bool + Send + 'static) -> Result<()> {
    start(signals, hear)
        .map_err(|error| Error::failed(format!("cannot listen to signals: {error}")))
}

/// Has the effect that the signal has on a program that does not listen.
pub fn give_in(signal: i32) {
    let _ = signal_hook::low_level::emulate_default_handler(signal);
}

/// Stops this process until the shell continues it, like Ctrl-Z. If no shell could do this (`tmux
/// new halflight`), the system does not stop it. Windows has no equivalent.
pub fn wait_for_shell() -> std::io::Result<()> {
    #[cfg(unix)]
    signal_hook::low_level::raise(signal_hook::consts::SIGTSTP)?;
    Ok(())
}

#[cfg(unix)]
fn start(
    signals: &[i32],
    mut hear: impl FnMut(i32) -> bool + Send + 'static,
) -> std::io::Result<()> {
    let mut signals = signal_hook::iterator::Signals::new(signals)?;
    std::thread::spawn(move || {
        let _ = signals.forever().find(|signal| !hear(*signal));
    });
    Ok(())
}

#[cfg(not(unix))]
fn start(
    signals: &[i32],
    mut hear: impl FnMut(i32) -> bool + Send + 'static,
) -> std::io::Result<()> {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::Duration;

    const BETWEEN_LOOKS: Duration = Duration::from_millis(50);

    let mut flags = Vec::new();
    for &signal in signals {
        let flag = Arc::new(AtomicBool::new(false));
        signal_hook::flag::register(signal, Arc::clone(&flag))?;
        flags.push((signal, flag));
    }
    std::thread::spawn(move || {
        loop {
            for (signal, flag) in &flags {
                if flag.swap(false, Ordering::Relaxed) && !hear(*signal) {
                    return;
                }
            }
            std::thread::sleep(BETWEEN_LOOKS);
        }
    });
    Ok(())
}
