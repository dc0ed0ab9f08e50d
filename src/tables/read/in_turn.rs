//! Splits long work between several threads. Each takes a piece, works on it by itself, and adds
//! its result when all earlier ones have been added.
//!
//! So results and errors do not depend on the number of threads, and each thread holds one piece in
//! memory.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use crate::error::Result;
use crate::numeric::parallel;

/// The most threads; more would wait for the one that adds.
const MOST_THREADS: usize = 8;

/// The number of threads that pay off for `pieces` pieces on this machine.
pub fn threads(pieces: u64) -> usize {
    let pieces = usize::try_from(pieces).unwrap_or(usize::MAX);
    parallel::threads().min(MOST_THREADS).min(pieces).max(1)
}

/// `take` fills a piece and returns whether there was another, `work` works on it, `add` adds it.
/// Pieces are reused, so that they can keep their memory.
///
/// The error is that of the earliest failing piece; nothing is added after it.
pub fn in_turn<T: Default>(
    threads: usize,
    take: impl FnMut(&mut T) -> Result<bool> + Send,
    work: impl Fn(&mut T) -> Result<()> + Sync,
    add: impl FnMut(&mut T) -> Result<()> + Send,
) -> Result<()> {
    let source = Mutex::new(PieceSource { take, taken: 0, is_exhausted: false });
    let results = Mutex::new(PieceResults { add, added: 0, error: None, abandoned: false });
    let progress = Condvar::new();
    let work_on_pieces = || {
        let _abandon = AbandonOnPanic { results: &results, progress: &progress };
        let mut piece = T::default();
        loop {
            let (number, taken) = {
                let mut source = locked(&source);
                if source.is_exhausted {
                    return;
                }
                let taken = (source.take)(&mut piece);
                source.is_exhausted = !matches!(taken, Ok(true));
                let number = source.taken;
                source.taken += 1;
                (number, taken)
            };
            let worked = match taken {
                Ok(true) => work(&mut piece),
                Ok(false) => return,
                Err(error) => Err(error),
            };
            let mut results = locked(&results);
            while results.added != number && !results.is_over() {
                results = progress.wait(results).unwrap_or_else(PoisonError::into_inner);
            }
            if results.is_over() {
                return;
            }
            match worked.and_then(|()| (results.add)(&mut piece)) {
                Ok(()) => results.added += 1,
                Err(error) => results.error = Some(error),
            }
            progress.notify_all();
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads {
            scope.spawn(work_on_pieces);
        }
        work_on_pieces();
    });
    let results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
    results.error.map_or(Ok(()), Err)
}

struct PieceSource<F> {
    take: F,
    taken: u64,
    /// There is no piece left, or the next could not be taken.
    is_exhausted: bool,
}

struct PieceResults<F> {
    add: F,
    added: u64,
    error: Option<crate::Error>,
    /// Whether a thread has crashed, so that its piece will never arrive.
    abandoned: bool,
}

impl<F> PieceResults<F> {
    fn is_over(&self) -> bool {
        self.abandoned || self.error.is_some()
    }
}

/// Makes sure that nobody waits for a thread that crashes.
struct AbandonOnPanic<'a, F> {
    results: &'a Mutex<PieceResults<F>>,
    progress: &'a Condvar,
}

impl<F> Drop for AbandonOnPanic<'_, F> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            locked(self.results).abandoned = true;
            self.progress.notify_all();
        }
    }
}

/// A lock is only poisoned by a crash, which is reported separately.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Error;

    /// Squares of 0 … 99, of which `bad` fail, added one after another.
    fn squares(threads: usize, bad: &[u64]) -> (Result<()>, Vec<u64>) {
        let (mut next, mut all) = (0, Vec::new());
        let take = |piece: &mut u64| {
            *piece = next;
            next += 1;
            Ok(*piece < 100)
        };
        let work = |piece: &mut u64| {
            // Earlier pieces are slower.
            std::thread::sleep(std::time::Duration::from_micros(100 - *piece));
            if bad.contains(piece) {
                return Err(Error::failed(format!("piece {piece}")));
            }
            *piece *= *piece;
            Ok(())
        };
        let result = in_turn(threads, take, work, |piece: &mut u64| {
            all.push(*piece);
            Ok(())
        });
        (result, all)
    }

    #[test]
    fn results_come_in_order_however_many_threads_there_are() {
        for threads in [1, 2, 7] {
            let (result, all) = squares(threads, &[]);
            assert!(result.is_ok());
            assert_eq!(all, (0..100).map(|i| i * i).collect::<Vec<_>>());
        }
    }

    #[test]
    fn the_earliest_error_counts_and_nothing_is_added_after_it() {
        for threads in [1, 2, 7] {
            let (result, all) = squares(threads, &[70, 31, 32]);
            assert!(result.unwrap_err().to_string().contains("piece 31"));
            assert_eq!(all.len(), 31);
        }
    }

    #[test]
    #[should_panic(expected = "scoped thread panicked")]
    fn a_thread_that_crashes_leaves_nobody_waiting() {
        let mut next = 0;
        let take = |piece: &mut u64| {
            next += 1;
            *piece = next;
            Ok(next < 50)
        };
        let main = std::thread::current().id();
        let work = |piece: &mut u64| {
            std::thread::sleep(std::time::Duration::from_millis(1));
            assert!(*piece < 5 || std::thread::current().id() == main, "crash");
            Ok(())
        };
        let _ = in_turn(3, take, work, |_: &mut u64| Ok(()));
    }
}
