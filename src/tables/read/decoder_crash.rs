//! Crashes of third-party decoders on files that were damaged on purpose.
//!
//! Such a crash is expected and handled, so it is not printed, least of all over the interface's
//! screen. The program's hook prints crashes; here it is silenced for one thread.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;

thread_local! {
    static EXPECTED: Cell<bool> = const { Cell::new(false) };
}

/// Whether this thread is in a call whose crash is caught and reported as an error.
pub fn is_expected() -> bool {
    EXPECTED.get()
}

/// The result of `work`; `None` if it crashes.
pub(super) fn contained<T>(work: impl FnOnce() -> T) -> Option<T> {
    static SILENCED: Once = Once::new();
    SILENCED.call_once(|| {
        let earlier = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if !is_expected() {
                earlier(panic);
            }
        }));
    });
    let before = EXPECTED.replace(true);
    let result = catch_unwind(AssertUnwindSafe(work)).ok();
    EXPECTED.set(before);
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crash_becomes_nothing_and_only_inside_it_is_expected() {
        assert_eq!(contained(|| 7), Some(7));
        let crashed = contained(|| {
            assert!(is_expected());
            let none: [u8; 0] = [];
            none[std::hint::black_box(3)]
        });
        assert_eq!(crashed, None);
        assert!(!is_expected());
    }
}
