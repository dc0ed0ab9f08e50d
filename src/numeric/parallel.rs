//! Work for both of a machine's threads. What is computed never depends on how many there are.

use std::sync::{Mutex, OnceLock, PoisonError};

/// Parts that a sum is made of, at most, and so threads that can work on it. Two take all
/// that memory gives.
pub const PARTS: usize = 2;

/// Multiplications that one thread gets at least; under it, starting a thread costs more.
const LEAST_SHARE: usize = 1 << 20;

/// Threads of this machine, as far as they are of use.
pub fn threads() -> usize {
    // Asking takes longer than a small pass.
    static THREADS: OnceLock<usize> = OnceLock::new();
    *THREADS.get_or_init(|| std::thread::available_parallelism().map_or(1, usize::from).min(PARTS))
}

/// Parts that a work of so many multiplications is split into. The machine has no say in it:
/// a product is rounded otherwise where its shape is another, and results must be the same to
/// the last bit on any number of threads.
pub fn parts_for(multiplications: usize) -> usize {
    (multiplications / LEAST_SHARE).clamp(1, PARTS)
}

/// Threads that a work of so many multiplications is worth.
pub fn threads_for(multiplications: usize) -> usize {
    parts_for(multiplications).min(threads())
}

/// Both at once, where there are two threads: what either does alone is hidden by the other.
pub fn at_once<A: Send, B: Send>(
    one: impl FnOnce() -> A + Send,
    other: impl FnOnce() -> B + Send,
) -> (A, B) {
    if threads() < 2 {
        return (one(), other());
    }
    std::thread::scope(|scope| {
        let other = scope.spawn(other);
        let one = one();
        (one, other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    })
}

/// Does the jobs on up to `threads` threads, this one among them, each taking the next when
/// it is free.
pub fn share_out<J: Send>(jobs: Vec<J>, threads: usize, work: &(impl Fn(J) + Sync)) {
    if threads <= 1 || jobs.len() <= 1 {
        jobs.into_iter().for_each(work);
        return;
    }
    let queue = Mutex::new(jobs.into_iter());
    let take_turns = || {
        let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).next();
        while let Some(job) = next() {
            work(job);
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads {
            scope.spawn(take_turns);
        }
        take_turns();
    });
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn every_job_is_done_once() {
        for threads in [1, 2, 3] {
            let done = AtomicUsize::new(0);
            share_out((1..=10).collect(), threads, &|job: usize| {
                done.fetch_add(job, Ordering::Relaxed);
            });
            assert_eq!(done.into_inner(), 55);
        }
    }

    #[test]
    fn both_are_done_and_told_apart() {
        assert_eq!(at_once(|| 1, || "two"), (1, "two"));
    }
}
