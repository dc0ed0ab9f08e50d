//! Turns a table's rows into digests, block by block.

use super::key::{DigestKey, GROUPS, siphash, word};
use super::{ALL, BITS, CLASSES, Class, GATHERED, HALVES, NAMED, PLACE, Sketch};
use crate::column::{CellWindow, Column};
use crate::numbers::Numbers;
use crate::numeric::parallel;
use crate::table::Table;
use crate::vectors::Vectors;

/// The number of rows that are hashed together.
const BLOCK: usize = 64;
/// The number of rows that determine the information in a column.
const SAMPLE: usize = 256;
/// A class with so few digests after thousands of rows identifies nobody.
const HOPELESS: usize = GATHERED / 16;

impl Sketch {
    /// The digests of all rows of `table`.
    pub fn of(table: &Table, key: &DigestKey) -> Self {
        let rows = table.rows();
        if rows == 0 {
            let classes = (0..CLASSES).map(|_| Lowest::new().into_class(0.0));
            return Self { rows: 0, classes: classes.collect() };
        }
        let plan = HashPlan::of(table, key);
        let parts = parallel::by_stretches(rows, plan.cells * rows, BLOCK, |rows| {
            let mut gathered = [const { Lowest::new() }; CLASSES];
            let mut block = RowSums::new(table.columns.len());
            for start in rows.step_by(BLOCK) {
                block.fill(table, key, &plan, start);
                block.digest(key, &plan, &mut gathered);
            }
            gathered.iter_mut().for_each(Lowest::settle);
            gathered
        });
        let mut gathered = [const { Lowest::new() }; CLASSES];
        for part in parts {
            gathered.iter_mut().zip(part).for_each(|(all, part)| all.join(part));
        }
        let classes = gathered.into_iter().zip(&plan.spreads);
        let classes = classes.map(|(lowest, spread)| lowest.into_class(*spread));
        Self { rows: rows as u64, classes: classes.collect() }
    }
}

/// The role of a column for its rows.
#[derive(Clone, Copy, PartialEq)]
enum HashedKind {
    Varying,
    Constant,
    /// The column numbers the rows.
    Counter,
}

/// A column, or one position of a column of vectors.
#[derive(Clone, Copy)]
struct ColumnPlace {
    group: usize,
    factor: u64,
    kind: HashedKind,
}

/// Facts about the columns before the rows are hashed.
struct HashPlan {
    /// The places of each column; a column of vectors has one for each position.
    places: Vec<Vec<ColumnPlace>>,
    cells: usize,
    /// Groups that have a varying column.
    used: Vec<usize>,
    /// The contribution of constant columns to a class.
    constants: [u64; CLASSES],
    spreads: [f64; CLASSES],
}

/// The classes of halves that are bound to names and have the constant columns.
fn is_bound(half: usize) -> bool {
    half % 2 == 1
}

/// The halves that contain the columns of a group.
fn halves(key: &DigestKey, group: usize) -> impl Iterator<Item = usize> + '_ {
    (0..HALVES).filter(move |half| key.halves[*half] >> group & 1 == 1)
}

impl HashPlan {
    fn of(table: &Table, key: &DigestKey) -> Self {
        let mut plan = Self {
            places: Vec::with_capacity(table.columns.len()),
            cells: 0,
            used: Vec::new(),
            constants: [0; CLASSES],
            spreads: [0.0; CLASSES],
        };
        for (name, column) in table.names.iter().zip(&table.columns) {
            let kinds = kinds(column);
            let mut places = Vec::with_capacity(kinds.len());
            for (position, kind) in kinds.into_iter().enumerate() {
                let (group, factor) = key.column(name, position);
                if kind == HashedKind::Constant {
                    let cell = match column {
                        Column::Vectors(vectors) => key.number(vectors.value(0, position)),
                        _ => key.cell(column.cell(0)),
                    };
                    plan.add_constant(key, group, cell, factor);
                } else {
                    plan.add_spread(key, group, kind, spread(column, position));
                }
                if kind == HashedKind::Varying && !plan.used.contains(&group) {
                    plan.used.push(group);
                }
                places.push(ColumnPlace { group, factor, kind });
            }
            plan.cells += places.len();
            plan.places.push(places);
        }
        plan
    }

    fn add_constant(&mut self, key: &DigestKey, group: usize, cell: u64, factor: u64) {
        let mut add = |class: usize, cell: u64| {
            self.constants[class] = self.constants[class].wrapping_add(cell);
        };
        add(PLACE, cell);
        add(NAMED, cell.wrapping_mul(factor));
        for half in halves(key, group).filter(|half| is_bound(*half)) {
            add(PLACE + 1 + half, cell.wrapping_mul(factor));
        }
    }

    fn add_spread(&mut self, key: &DigestKey, group: usize, kind: HashedKind, bits: f64) {
        // A place by itself is unique.
        self.spreads[PLACE] = 1000.0;
        if kind == HashedKind::Counter {
            return;
        }
        let halves = halves(key, group).map(|half| PLACE + 1 + half);
        for class in [ALL, NAMED].into_iter().chain(halves) {
            self.spreads[class] = (self.spreads[class] + bits).min(1000.0);
        }
    }
}

fn kinds(column: &Column) -> Vec<HashedKind> {
    let kind = |constant: bool| if constant { HashedKind::Constant } else { HashedKind::Varying };
    match column {
        Column::Numbers(cells) => {
            let first = word(cells.get(0));
            let constant = || cells.iter().all(|x| word(x) == first);
            vec![if is_counter(cells) { HashedKind::Counter } else { kind(constant()) }]
        }
        Column::Text(cells) => {
            let first = cells.get(0);
            vec![kind(cells.iter().all(|cell| cell == first))]
        }
        Column::Vectors(vectors) => constants(vectors).into_iter().map(kind).collect(),
    }
}

/// Which positions have the same number in every row.
fn constants(vectors: &Vectors) -> Vec<bool> {
    let mut same = vec![true; vectors.width()];
    if vectors.is_empty() {
        return same;
    }
    let first: Vec<u64> = vectors.row(0).numbers().map(word).collect();
    for row in 1..vectors.len() {
        for ((same, first), x) in same.iter_mut().zip(&first).zip(vectors.row(row).numbers()) {
            *same &= word(x) == *first;
        }
    }
    same
}

/// Whole numbers, nearly all different, nearly without gaps: the rows, numbered.
fn is_counter(cells: &Numbers) -> bool {
    let (mut least, mut most) = (f64::INFINITY, f64::NEG_INFINITY);
    for x in cells.iter() {
        if x.fract() != 0.0 {
            return false; // also for NaN
        }
        (least, most) = (least.min(x), most.max(x));
    }
    let (range, rows) = (most - least + 1.0, cells.len() as f64);
    if cells.len() < 2 || range > 1.5 * rows || range < 0.98 * rows {
        return false;
    }
    let mut seen = vec![false; range as usize];
    for x in cells.iter() {
        seen[(x - least) as usize] = true;
    }
    seen.iter().filter(|seen| **seen).count() as f64 >= 0.98 * rows
}

/// Bits of information in a cell, from how rarely two cells of a sample agree.
fn spread(column: &Column, position: usize) -> f64 {
    let rows = column.len();
    let at = (0..rows).step_by(rows.div_ceil(SAMPLE).max(1));
    let mut words: Vec<u64> = match column {
        Column::Numbers(cells) => at.map(|row| word(cells.get(row))).collect(),
        Column::Vectors(vectors) => at.map(|row| word(vectors.value(row, position))).collect(),
        Column::Text(cells) => {
            let mut texts: Vec<_> = at.map(|row| cells.get(row)).collect();
            texts.sort_unstable();
            let mut number = 0;
            let each = texts.iter().enumerate().map(|(at, text)| {
                number += u64::from(at > 0 && texts[at - 1] != *text);
                number
            });
            each.collect()
        }
    };
    words.sort_unstable();
    let pairs: usize = words.chunk_by(|a, b| a == b).map(|run| run.len() * (run.len() - 1)).sum();
    let all = (words.len() * (words.len().max(2) - 1)).max(1) as f64;
    -(pairs.max(1) as f64 / all).min(1.0).log2()
}

/// Sums of some rows.
struct RowSums {
    rows: usize,
    /// By group, for varying columns: sums of the cells by themselves, and bound to their columns.
    free: Vec<[u64; BLOCK]>,
    bound: Vec<[u64; BLOCK]>,
    /// The digest of the row's place, including columns that number the rows.
    place: [u64; BLOCK],
    cells: [u64; BLOCK],
    /// One for each column.
    windows: Vec<CellWindow>,
}

impl RowSums {
    fn new(columns: usize) -> Self {
        let windows = CellWindow::several(columns);
        let sums = || vec![[0; BLOCK]; GROUPS];
        Self { rows: 0, free: sums(), bound: sums(), place: [0; BLOCK], cells: [0; BLOCK], windows }
    }

    fn fill(&mut self, table: &Table, key: &DigestKey, plan: &HashPlan, start: usize) {
        let end = table.rows().min(start + BLOCK);
        self.rows = end - start;
        for group in &plan.used {
            self.free[*group] = [0; BLOCK];
            self.bound[*group] = [0; BLOCK];
        }
        for (at, (content, line)) in table.provenance_of(start..end).enumerate() {
            self.place[at] = key.place(&content.sum, line);
        }
        for (at, (column, places)) in table.columns.iter().zip(&plan.places).enumerate() {
            match column {
                Column::Numbers(_) | Column::Text(_) if places[0].kind == HashedKind::Constant => {}
                Column::Numbers(cells) => {
                    let cells = self.windows[at].numbers.read(cells, start..end);
                    for (hash, x) in self.cells.iter_mut().zip(cells) {
                        *hash = key.number(*x);
                    }
                    self.add(places[0]);
                }
                Column::Text(_) => {
                    for (hash, row) in self.cells.iter_mut().zip(start..end) {
                        *hash = key.cell(self.windows[at].cell(column, row));
                    }
                    self.add(places[0]);
                }
                Column::Vectors(vectors) => {
                    for at in 0..self.rows {
                        let numbers = vectors.row(start + at).numbers().zip(places);
                        for (x, place) in numbers.filter(|(_, it)| it.kind == HashedKind::Varying) {
                            let hash = key.number(x);
                            let sum = &mut self.free[place.group][at];
                            *sum = sum.wrapping_add(hash);
                            let sum = &mut self.bound[place.group][at];
                            *sum = sum.wrapping_add(hash.wrapping_mul(place.factor));
                        }
                    }
                }
            }
        }
    }

    /// Adds the cells of one column to their sums.
    fn add(&mut self, ColumnPlace { group, factor, kind }: ColumnPlace) {
        let cells = &self.cells;
        if kind == HashedKind::Counter {
            return add(&mut self.place, cells);
        }
        add(&mut self.free[group], cells);
        for (sum, hash) in self.bound[group].iter_mut().zip(cells) {
            *sum = sum.wrapping_add(hash.wrapping_mul(factor));
        }
    }

    /// Adds the digests of every class to those gathered before.
    fn digest(&self, key: &DigestKey, plan: &HashPlan, gathered: &mut [Lowest; CLASSES]) {
        let mut sums = [[0; BLOCK]; CLASSES];
        for group in &plan.used {
            let (free, bound) = (&self.free[*group], &self.bound[*group]);
            add(&mut sums[ALL], free);
            add(&mut sums[NAMED], bound);
            for half in halves(key, *group) {
                add(&mut sums[PLACE + 1 + half], if is_bound(half) { bound } else { free });
            }
        }
        sums[PLACE] = sums[ALL];
        add(&mut sums[PLACE], &self.place);
        for (class, sums) in sums.iter_mut().enumerate() {
            let lowest = &mut gathered[class];
            if lowest.hopeless {
                continue;
            }
            let sums = &mut sums[..self.rows];
            for sum in &mut *sums {
                *sum = sum.wrapping_add(plan.constants[class]);
            }
            siphash(key.classes[class], sums);
            for digest in sums {
                lowest.push(*digest >> (64 - BITS));
            }
        }
    }
}

fn add(sums: &mut [u64; BLOCK], more: &[u64; BLOCK]) {
    for (sum, more) in sums.iter_mut().zip(more) {
        *sum = sum.wrapping_add(*more);
    }
}

/// The smallest digests of a class, and how often each occurred.
struct Lowest {
    /// In order.
    kept: Vec<(u64, u32)>,
    fresh: Vec<u64>,
    /// Larger ones are not needed.
    limit: u64,
    /// Whether there are too few different ones among many rows.
    hopeless: bool,
}

impl Lowest {
    const fn new() -> Self {
        Self { kept: Vec::new(), fresh: Vec::new(), limit: u64::MAX, hopeless: false }
    }

    #[inline]
    fn push(&mut self, digest: u64) {
        if digest <= self.limit {
            self.fresh.push(digest);
            if self.fresh.len() == GATHERED {
                self.settle();
            }
        }
    }

    fn settle(&mut self) {
        let mut fresh = std::mem::take(&mut self.fresh);
        fresh.sort_unstable();
        let counted = fresh.chunk_by(|a, b| a == b).map(|run| (run[0], run.len() as u32));
        self.merge(counted.collect());
        fresh.clear();
        self.fresh = fresh;
        let rows: u64 = self.kept.iter().map(|(_, count)| u64::from(*count)).sum();
        self.hopeless |= rows >= GATHERED as u64 && self.kept.len() < HOPELESS;
    }

    fn merge(&mut self, more: Vec<(u64, u32)>) {
        if more.is_empty() {
            return;
        }
        self.kept.extend(more);
        self.kept.sort_unstable();
        self.kept.dedup_by(|later, first| {
            let same = later.0 == first.0;
            if same {
                first.1 = first.1.saturating_add(later.1);
            }
            same
        });
        if self.kept.len() > GATHERED {
            self.kept.truncate(GATHERED);
            self.limit = self.kept[GATHERED - 1].0;
        }
    }

    fn join(&mut self, other: Self) {
        self.hopeless |= other.hopeless;
        self.limit = self.limit.min(other.limit);
        self.merge(other.kept);
        let within = self.kept.partition_point(|(digest, _)| *digest <= self.limit);
        self.kept.truncate(within);
    }

    fn into_class(self, spread: f64) -> Class {
        if self.hopeless {
            return Class { digests: Vec::new(), whole: false, unique: 0.0, spread: 0.0 };
        }
        let rows: u64 = self.kept.iter().map(|(_, count)| u64::from(*count)).sum();
        let alone = self.kept.iter().filter(|(_, count)| *count == 1).count();
        Class {
            digests: self.kept.into_iter().map(|(digest, _)| digest).collect(),
            whole: self.limit == u64::MAX,
            unique: alone as f64 / rows.max(1) as f64,
            spread,
        }
    }
}
