//! Rows × columns × seeds of independent tasks on a few threads.
//!
//! A task's draws depend on its position alone ([`GridTask::seed`]), so the number of threads and
//! the order of the tasks change nothing.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::channel;

use sha2::{Digest, Sha256};

use super::table::{StudyTable, TableRow};
use crate::error::Result;

/// The measurements to make.
#[derive(Debug, Clone)]
pub struct Grid {
    /// Titles of the rows: usually methods.
    pub rows: Vec<String>,
    /// Titles of the columns: usually the sizes and the ε of a problem.
    pub columns: Vec<String>,
    pub seeds: Vec<u64>,
}

/// One task of a grid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct GridTask<'a> {
    pub row: usize,
    pub column: usize,
    pub row_title: &'a str,
    pub column_title: &'a str,
    /// The repetition: rows with the same one should share their data, which makes their
    /// differences sharper.
    pub repetition: u64,
}

impl GridTask<'_> {
    /// The seed of this task's noise: a hash of the place's titles and its repetition,
    /// so that no two tasks share noise and no other row or column changes it.
    pub fn seed(&self) -> u64 {
        let mut hash = Sha256::new();
        for part in [self.row_title, self.column_title] {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part.as_bytes());
        }
        hash.update(self.repetition.to_le_bytes());
        let digest = hash.finalize();
        digest.iter().take(8).fold(0, |seed, byte| seed << 8 | u64::from(*byte))
    }
}

/// The results of tasks; tasks that were stopped or have no result are missing.
#[derive(Debug, Clone)]
pub struct Harvest<T> {
    pub grid: Grid,
    /// By row, then column, then seed.
    results: Vec<Option<T>>,
    /// The number of completed tasks.
    pub done: usize,
}

impl Grid {
    /// A grid with these titles of rows and columns.
    pub fn new(
        rows: impl IntoIterator<Item: Into<String>>,
        columns: impl IntoIterator<Item: Into<String>>,
        seeds: &[u64],
    ) -> Self {
        let (rows, columns) =
            (rows.into_iter().map(Into::into), columns.into_iter().map(Into::into));
        Self { rows: rows.collect(), columns: columns.collect(), seeds: seeds.to_vec() }
    }

    pub fn tasks(&self) -> usize {
        self.rows.len() * self.columns.len() * self.seeds.len()
    }

    fn place(&self, task: usize) -> GridTask<'_> {
        let (cell, seed) = (task / self.seeds.len(), task % self.seeds.len());
        let (row, column) = (cell / self.columns.len(), cell % self.columns.len());
        GridTask {
            row,
            column,
            row_title: &self.rows[row],
            column_title: &self.columns[column],
            repetition: self.seeds[seed],
        }
    }

    /// Runs every task on up to `threads` threads and calls `tell` with the number of tasks done.
    /// No further task is started once `stop` is set or a task failed; if several failed, the first
    /// in the grid's order is returned.
    pub fn run<T: Send>(
        self,
        threads: usize,
        stop: &AtomicBool,
        tell: &mut dyn FnMut(usize),
        task: impl Fn(GridTask<'_>) -> Result<Option<T>> + Sync,
    ) -> Result<Harvest<T>> {
        let total = self.tasks();
        let mut results: Vec<Option<T>> = (0..total).map(|_| None).collect();
        let mut failures = Vec::new();
        let mut done = 0;
        let (next, failed) = (AtomicUsize::new(0), AtomicBool::new(false));
        let (grid, next, failed, task) = (&self, &next, &failed, &task);
        std::thread::scope(|scope| {
            let (sender, receiver) = channel();
            for _ in 0..threads.clamp(1, total.max(1)) {
                let sender = sender.clone();
                scope.spawn(move || {
                    while !stop.load(Ordering::Relaxed) && !failed.load(Ordering::Relaxed) {
                        let index = next.fetch_add(1, Ordering::Relaxed);
                        if index >= total || sender.send((index, task(grid.place(index)))).is_err()
                        {
                            break;
                        }
                    }
                });
            }
            drop(sender);
            for (index, result) in receiver {
                match result {
                    Ok(result) => {
                        results[index] = result;
                        done += 1;
                        tell(done);
                    }
                    Err(error) => {
                        failed.store(true, Ordering::Relaxed);
                        let place = self.place(index);
                        let at = format!(
                            "{}, {}, seed {}",
                            place.row_title, place.column_title, place.repetition
                        );
                        let place =
                            error.place().map_or(at.clone(), |inner| format!("{at}: {inner}"));
                        failures.push((index, error.at(place)));
                    }
                }
            }
        });
        match failures.into_iter().min_by_key(|(index, _)| *index) {
            Some((_, error)) => Err(error),
            None => Ok(Harvest { grid: self, results, done }),
        }
    }
}

impl<T> Harvest<T> {
    /// All tasks, done or not.
    pub fn tasks(&self) -> usize {
        self.results.len()
    }

    /// The results of one cell, in the order of the seeds.
    pub fn of(&self, row: usize, column: usize) -> impl Iterator<Item = &T> {
        let seeds = self.grid.seeds.len();
        let first = (row * self.grid.columns.len() + column) * seeds;
        self.results[first..first + seeds].iter().flatten()
    }

    /// One number of every result, as a table. Rows without any are left out.
    pub fn table(&self, title: &str, number: impl Fn(&T) -> Option<f64>) -> StudyTable {
        let row = |(index, label): (usize, &String)| {
            let cell = |column| self.of(index, column).filter_map(&number);
            let row = TableRow::new(label, (0..self.grid.columns.len()).map(cell));
            row.has_any().then_some(row)
        };
        let rows = self.grid.rows.iter().enumerate().filter_map(row);
        StudyTable::new(title, &self.grid.columns, rows)
    }
}

/// The words for an ε, as columns are called.
pub fn epsilon_words(epsilon: f64) -> String {
    if epsilon.is_finite() { format!("ε={epsilon}") } else { "ε=∞".to_owned() }
}

/// The titles of columns, one for each ε.
pub fn epsilon_columns(epsilons: &[f64]) -> Vec<String> {
    epsilons.iter().map(|epsilon| epsilon_words(*epsilon)).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::Mutex;

    use super::*;
    use crate::error::Error;

    fn grid() -> Grid {
        Grid {
            rows: vec!["a".into(), "b".into()],
            columns: vec!["x".into(), "y".into(), "z".into()],
            seeds: (0..5).collect(),
        }
    }

    fn go() -> AtomicBool {
        AtomicBool::new(false)
    }

    #[test]
    fn the_number_of_threads_changes_nothing() {
        let task =
            |place: GridTask<'_>| Ok((place.row + place.column > 0).then(|| place.seed() as f64));
        let table = |threads| {
            let harvest = grid().run(threads, &go(), &mut |_| {}, task).unwrap();
            assert_eq!(harvest.done, harvest.tasks());
            harvest.table("seeds", |seed| Some(*seed))
        };
        assert_eq!(table(1), table(4));
        assert!(table(2).rows[0].cells[0].samples.is_empty());
    }

    #[test]
    fn no_two_tasks_share_a_seed_and_seeds_do_not_depend_on_the_rest_of_the_grid() {
        let seeds = Mutex::new(BTreeSet::new());
        let note = |place: GridTask<'_>| {
            seeds.lock().unwrap().insert(place.seed());
            Ok(Some(()))
        };
        grid().run(2, &go(), &mut |_| {}, note).unwrap();
        let all = seeds.lock().unwrap().clone();
        assert_eq!(all.len(), 30);
        let smaller = Grid { rows: vec!["b".into()], columns: vec!["z".into()], seeds: vec![3] };
        assert!(all.contains(&smaller.place(0).seed()));
    }

    #[test]
    fn progress_is_told_and_a_stop_keeps_what_was_done() {
        let stop = go();
        let mut told = Vec::new();
        let mut tell = |done| {
            told.push(done);
            if done == 4 {
                stop.store(true, Ordering::Relaxed);
            }
        };
        let slow = |_: GridTask<'_>| {
            std::thread::sleep(std::time::Duration::from_millis(2));
            Ok(Some(1.0))
        };
        let harvest = grid().run(1, &stop, &mut tell, slow).unwrap();
        assert!((4..=6).contains(&harvest.done));
        assert_eq!(told, (1..=harvest.done).collect::<Vec<_>>());
        assert_eq!(harvest.of(0, 0).count(), harvest.done.min(5));
    }

    #[test]
    fn a_failure_ends_the_study_and_names_its_place() {
        let task = |place: GridTask<'_>| {
            if place.row_title == "b" { Err(Error::failed("no")) } else { Ok(Some(())) }
        };
        let error = grid().run(1, &go(), &mut |_| {}, task).unwrap_err();
        assert_eq!(error.place(), Some("b, x, seed 0"));
    }
}
