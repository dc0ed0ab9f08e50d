//! Work for all threads of a machine. Results never depend on the number of threads: work is split
//! by its shape alone, and sums are added up in a fixed order.

use std::cell::Cell;
use std::num::NonZero;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

/// The most parts into which work is split: enough for a large machine.
const PARTS: usize = 64;

/// Shares of each thread in the work of [`map`], so that a slow one does not keep the others waiting.
const SHARES: usize = 8;

/// The least multiplications per part; with fewer, passing it to a thread costs more.
const LEAST_SHARE: usize = 1 << 20;

/// Fewer cells of a table than this are not worth a second thread.
const LEAST_CELLS: usize = 1 << 18;

thread_local! {
    /// Whether this thread is one of many that each have their own work.
    static ALONE: Cell<bool> = const { Cell::new(false) };
}

/// The default number of threads.
pub fn of_the_machine() -> usize {
    std::thread::available_parallelism().map_or(1, NonZero::get)
}

/// Sets the number of threads. Only the first call counts, and only before any work.
pub fn set_threads(threads: usize) {
    // If it fails, the threads already exist.
    let _ = rayon::ThreadPoolBuilder::new().num_threads(threads.max(1)).build_global();
}

/// The number of threads available for work.
pub fn threads() -> usize {
    if ALONE.get() { 1 } else { rayon::current_num_threads() }
}

/// Does work on this thread alone, as one of several at the same time.
pub fn alone<T>(work: impl FnOnce() -> T) -> T {
    let before = ALONE.replace(true);
    let done = work();
    ALONE.set(before);
    done
}

/// The number of parts, of `least` lines or more, into which work with this many multiplications on
/// this many lines is split. It does not depend on the machine: the rounding of a product depends
/// on its shape, and results must be the same to the last bit on any number of threads.
pub fn parts_for(multiplications: usize, lines: usize, least: usize) -> usize {
    even((multiplications / LEAST_SHARE).min(lines / least.max(1)))
}

/// The power of two at or below a number of parts: three equal parts would take two threads as long
/// as four do.
pub fn even(parts: usize) -> usize {
    1 << parts.clamp(1, PARTS).ilog2()
}

/// The number of threads that pays off for this many multiplications.
pub fn threads_for(multiplications: usize) -> usize {
    (multiplications / LEAST_SHARE).clamp(1, threads())
}

/// The results of `work` for each number below `count`, on several threads if there are many.
pub fn map<T: Send>(count: usize, work: impl Fn(usize) -> T + Sync + Send) -> Vec<T> {
    let threads = threads();
    if count < 16 || threads < 2 {
        return (0..count).map(work).collect();
    }
    let share = count.div_ceil(threads * SHARES);
    let mut parts: Vec<Vec<T>> = (0..count).step_by(share).map(|_| Vec::new()).collect();
    let jobs = (0..count).step_by(share).zip(&mut parts).collect();
    share_out(jobs, threads, &|(first, part): (usize, &mut Vec<T>)| {
        *part = (first..count.min(first + share)).map(&work).collect();
    });
    parts.into_iter().flatten().collect()
}

/// The results of `work` for stretches of rows in whole blocks, in order: one for each thread that
/// pays off for this many cells, so that columns on the disk are read once.
pub fn by_stretches<T: Send>(
    rows: usize,
    cells: usize,
    block: usize,
    work: impl Fn(Range<usize>) -> T + Sync,
) -> Vec<T> {
    let threads = threads().min(cells / LEAST_CELLS).max(1);
    let stretch = rows.div_ceil(threads).next_multiple_of(block);
    let work = &|thread: usize| work(thread * stretch..rows.min((thread + 1) * stretch));
    std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|thread| scope.spawn(move || work(thread))).collect();
        let first = work(0);
        // If a thread failed, its part is computed here.
        let others = others.into_iter().enumerate();
        let others = others.map(|(at, other)| other.join().unwrap_or_else(|_| work(at + 1)));
        std::iter::once(first).chain(others).collect()
    })
}

/// Runs both at once, if there are two threads: the serial parts of each overlap with the other.
pub fn at_once<A: Send, B: Send>(
    one: impl FnOnce() -> A + Send,
    other: impl FnOnce() -> B + Send,
) -> (A, B) {
    if threads() < 2 {
        return (one(), other());
    }
    let mut found = None;
    let one = rayon::in_place_scope(|scope| {
        scope.spawn(|_| found = Some(other()));
        one()
    });
    // A panic in the other one is propagated.
    (one, found.unwrap_or_else(|| unreachable!("the scope waits for all that it spawned")))
}

/// Does the jobs on up to `threads` threads, including this one; each takes the next job when it is
/// free.
pub fn share_out<J: Send>(jobs: Vec<J>, threads: usize, work: &(impl Fn(J) + Sync)) {
    let threads = threads.min(jobs.len());
    if threads <= 1 {
        jobs.into_iter().for_each(work);
        return;
    }
    let queue = Mutex::new(jobs.into_iter());
    on_all(threads, &|| {
        let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).next();
        while let Some(job) = next() {
            work(job);
        }
    });
}

/// Does the work on this many threads at once, including this one. It is compiled once for all kinds of
/// work.
fn on_all(threads: usize, work: &(dyn Fn() + Sync)) {
    rayon::in_place_scope(|scope| {
        for _ in 1..threads {
            scope.spawn(|_| work());
        }
        work();
    });
}

/// The results of `work` for each number below `count`, shared out as by [`share_out`].
pub fn share_out_for_results<T: Send>(
    count: usize,
    threads: usize,
    work: impl Fn(usize) -> T + Sync,
) -> Vec<T> {
    let mut results: Vec<Option<T>> = (0..count).map(|_| None).collect();
    let jobs = results.iter_mut().enumerate().collect();
    let fill = |(index, result): (usize, &mut Option<T>)| *result = Some(work(index));
    share_out(jobs, threads, &fill);
    results.into_iter().flatten().collect()
}

/// Does the work with this many threads, for tests and benchmarks.
pub fn with_threads<T: Send>(threads: usize, work: impl FnOnce() -> T + Send) -> T {
    match rayon::ThreadPoolBuilder::new().num_threads(threads).build() {
        Ok(pool) => pool.install(work),
        Err(_) => work(),
    }
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
        for threads in [1, 2, 5] {
            assert_eq!(with_threads(threads, || at_once(|| 1, || "two")), (1, "two"));
        }
    }

    #[test]
    fn work_within_work_comes_to_an_end_on_any_number_of_threads() {
        for threads in [1, 2, 8] {
            let done = AtomicUsize::new(0);
            with_threads(threads, || {
                share_out((0..20).collect(), 8, &|_: usize| {
                    share_out((0..20).collect(), 8, &|_: usize| {
                        done.fetch_add(1, Ordering::Relaxed);
                    });
                });
            });
            assert_eq!(done.into_inner(), 400);
        }
    }

    #[test]
    fn one_of_many_works_keeps_to_its_thread() {
        with_threads(3, || {
            assert_eq!(threads(), 3);
            assert_eq!(alone(threads), 1);
            assert_eq!(threads(), 3);
        });
    }

    #[test]
    fn parts_follow_from_the_shape() {
        assert_eq!(parts_for(10, 1000, 10), 1);
        assert_eq!(parts_for(5 << 20, 1000, 10), 4);
        assert_eq!(parts_for(5 << 20, 35, 10), 2);
        assert_eq!(parts_for(1 << 40, 1 << 20, 10), PARTS);
    }
}
