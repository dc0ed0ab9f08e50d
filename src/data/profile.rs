//! Profiles of columns: how their values are spread, for a picture of each column in one line.
//!
//! A profile is exact. Of private columns only the person at the keyboard may see it.

use rand::RngExt as _;
use serde::{Serialize, Serializer};

use super::column::Cell;
use super::inspect::{ColumnFacts, LabelCandidate, columns_of};
use super::table::{Table, seeded};

/// The parts of the range of a column whose values are counted. Histograms with 12, 16, 20, 24, 32,
/// 40, 48, 60, 80, 96 or 120 cells have equally many of them in each cell.
const BINS: usize = 480;
/// The width from which the cells of a histogram have a gap between them.
const WITH_GAP: usize = 3;
/// The cells of a histogram in JSON.
const CELLS: usize = 24;
/// The most different texts that are kept of a column.
const MOST_TEXTS: usize = 32;
/// A larger table is profiled by this many of its rows, or by fewer if it has many columns.
const MOST_ROWS: usize = 100_000;
const FEWEST_ROWS: usize = 1_000;
const MOST_CELLS: usize = 4_000_000;

/// How the values of a column are spread.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Spread {
    /// A column of numbers.
    Numbers(NumberSpread),
    /// The most frequent texts and how often each occurs, the most frequent first.
    Texts(#[serde(serialize_with = "with_names")] Vec<(String, usize)>),
}

/// How numbers are spread.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NumberSpread {
    /// The smallest number.
    pub least: f64,
    /// The median.
    pub middle: f64,
    /// The largest number.
    pub greatest: f64,
    /// How many numbers are in each of equal parts of the range.
    #[serde(rename = "histogram", serialize_with = "in_few_cells")]
    bins: Vec<usize>,
    /// The distance of neighbours, if all numbers are on a coarse grid, such as whole numbers.
    #[serde(skip)]
    step: Option<f64>,
}

fn with_names<S: Serializer>(texts: &[(String, usize)], to: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Text<'a> {
        text: &'a str,
        rows: usize,
    }
    to.collect_seq(texts.iter().map(|(text, rows)| Text { text, rows: *rows }))
}

fn in_few_cells<S: Serializer>(bins: &[usize], to: S) -> Result<S::Ok, S::Error> {
    to.collect_seq(bins.chunks(BINS / CELLS).map(|cell| cell.iter().sum::<usize>()))
}

impl Spread {
    /// The spread of different values in ascending order, each with how often it occurs; `None`
    /// without any.
    pub(super) fn of(values: &[(Cell<'_>, usize)]) -> Option<Self> {
        let number = |(cell, count): &(Cell<'_>, usize)| match cell {
            Cell::Number(number) => Some((*number, *count)),
            _ => None,
        };
        let numbers: Vec<(f64, usize)> = values.iter().filter_map(number).collect();
        if values.is_empty() {
            return None;
        }
        if numbers.len() == values.len() {
            return NumberSpread::of(&numbers).map(Self::Numbers);
        }
        let mut texts: Vec<&(Cell<'_>, usize)> = values.iter().collect();
        texts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        texts.truncate(MOST_TEXTS);
        Some(Self::Texts(texts.iter().map(|(cell, count)| (cell.to_string(), *count)).collect()))
    }
}

impl NumberSpread {
    /// The spread of numbers in ascending order, each with how often it occurs.
    fn of(numbers: &[(f64, usize)]) -> Option<Self> {
        let (least, greatest) = (numbers.first()?.0, numbers.last()?.0);
        let total: usize = numbers.iter().map(|(_, count)| count).sum();
        let at = |place: usize| {
            let mut before = 0;
            let found = numbers.iter().find(|(_, count)| {
                before += count;
                before > place
            });
            found.map_or(greatest, |(number, _)| *number)
        };
        let (low, high) = (at((total - 1) / 2), at(total / 2));
        // Halves, because the sum of two large numbers may overflow.
        let middle = if low == high { low } else { low / 2.0 + high / 2.0 };
        let mut bins = vec![0; BINS];
        for (number, count) in numbers {
            bins[place(*number, (least, greatest), BINS)] += count;
        }
        let step = step_of(numbers).filter(|step| {
            let on_grid = |(number, _): &(f64, usize)| is_whole((number - least) / step);
            (greatest - least) / step < BINS as f64 && numbers.iter().all(on_grid)
        });
        Some(Self { least, middle, greatest, bins, step })
    }

    /// A histogram over a range that holds all numbers: how many are in each of its equal cells. Each
    /// number is in the right cell or, near the border of two, in the next.
    pub fn histogram(&self, range: (f64, f64), cells: usize) -> Vec<usize> {
        let mut counts = vec![0; cells.max(1)];
        for (bin, count) in self.bins.iter().enumerate().filter(|(_, count)| **count > 0) {
            let share = (bin as f64 + 0.5) / BINS as f64;
            let centre = self.least * (1.0 - share) + self.greatest * share;
            let at = place(centre, range, counts.len());
            counts[at] += count;
        }
        counts
    }

    /// A histogram on an axis that holds all numbers. Wide cells have a gap between them.
    pub fn on(&self, axis: &Axis) -> Vec<usize> {
        let gap = usize::from(axis.each >= WITH_GAP);
        let cell = |count: usize| {
            std::iter::repeat_n(count, axis.each - gap).chain(std::iter::repeat_n(0, gap))
        };
        self.histogram(axis.range, axis.cells).into_iter().flat_map(cell).collect()
    }

    /// Each of a few numbers on a grid, such as codes of classes, with its share.
    pub fn shares(&self, most: usize) -> Option<Vec<(f64, f64)>> {
        let step = self.step?;
        let points = ((self.greatest - self.least) / step).round() as usize + 1;
        let total = self.bins.iter().sum::<usize>() as f64;
        let share = |at: usize| {
            let number = self.least + at as f64 * step;
            (number, self.bins[place(number, self.range(), BINS)] as f64 / total)
        };
        let shares = (points <= most).then(|| (0..points).map(share).collect::<Vec<_>>())?;
        Some(shares.into_iter().filter(|(_, share)| *share > 0.0).collect())
    }

    /// The range of its numbers.
    pub fn range(&self) -> (f64, f64) {
        (self.least, self.greatest)
    }
}

/// The smallest distance of two different numbers in ascending order.
fn step_of(numbers: &[(f64, usize)]) -> Option<f64> {
    numbers.windows(2).map(|pair| pair[1].0 - pair[0].0).reduce(f64::min)
}

fn is_whole(number: f64) -> bool {
    (number - number.round()).abs() < 0.01
}

/// The cells of histograms on a common axis.
#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    /// From the lower end of the first cell to the upper end of the last.
    range: (f64, f64),
    cells: usize,
    /// How often each cell is drawn.
    each: usize,
}

impl Axis {
    /// An axis for numbers in a range that holds all of them, at most so wide. Numbers on a common
    /// grid, such as whole ones, get cells with equally many points of it: otherwise cells with one
    /// point more would look like peaks.
    pub fn of(spreads: &[&NumberSpread], (low, high): (f64, f64), room: usize) -> Self {
        let room = room.max(1);
        let step = spreads.iter().filter_map(|it| it.step).reduce(f64::min).filter(|step| {
            let on_grid = |it: &&NumberSpread| {
                let has_grid = it.least == it.greatest || it.step.is_some();
                has_grid && [it.least, it.greatest].iter().all(|end| is_whole((end - low) / step))
            };
            let steps = spreads.iter().filter_map(|it| it.step);
            (high - low) / step < BINS as f64
                && is_whole((high - low) / step)
                && spreads.iter().all(on_grid)
                && steps.map(|it| it / step).all(is_whole)
        });
        let Some(step) = step else {
            return Self { range: (low, high), cells: cells_in(room), each: 1 };
        };
        let points = ((high - low) / step).round() as usize + 1;
        let in_cell = points.div_ceil(room);
        let cells = points.div_ceil(in_cell);
        let first = low - step / 2.0;
        let range = (first, first + (cells * in_cell) as f64 * step);
        Self { range, cells, each: room / cells }
    }

    /// The number of drawn cells.
    pub fn width(&self) -> usize {
        self.cells * self.each
    }

    /// The drawn cells before a number.
    pub fn cells_before(&self, number: f64) -> usize {
        let share = (number - self.range.0) / (self.range.1 - self.range.0);
        let before = (share * self.width() as f64).round();
        if before.is_finite() { (before.max(0.0) as usize).min(self.width()) } else { 0 }
    }
}

/// The most cells of a histogram that fit into this much room and hold equally many bins.
pub fn cells_in(room: usize) -> usize {
    (1..=room.clamp(1, BINS)).rev().find(|cells| BINS.is_multiple_of(*cells)).unwrap_or(1)
}

/// The cell of a number among equal cells of a range; in the middle if the range is a single number.
fn place(number: f64, (low, high): (f64, f64), cells: usize) -> usize {
    let share = (number / 2.0 - low / 2.0) / (high / 2.0 - low / 2.0);
    if share.is_nan() { cells / 2 } else { ((share * cells as f64) as usize).min(cells - 1) }
}

/// A profile of all columns of a table.
#[derive(Debug, Clone, PartialEq)]
pub struct TableProfile {
    /// The number of rows that it is made from.
    pub rows: usize,
    /// The number of all rows.
    pub of: usize,
    /// The columns in the order of the table.
    pub columns: Vec<ColumnFacts>,
    /// Possible labels, the best first.
    pub labels: Vec<LabelCandidate>,
}

impl TableProfile {
    /// The profile of a table; `None` if its rows cannot be read from the disk. Of a large table it
    /// takes a random row from each of many equal stretches.
    pub fn of(table: &Table) -> Option<Self> {
        let numbers = table.columns.iter().map(super::Column::width).sum::<usize>().max(1);
        let (of, most) = (table.rows(), (MOST_CELLS / numbers).clamp(FEWEST_ROWS, MOST_ROWS));
        let of_rows = |table: &Table| {
            let (columns, _, labels) = columns_of(table, true);
            Self { rows: table.rows(), of, columns, labels }
        };
        if of <= most {
            return Some(of_rows(table));
        }
        // A fixed step would always meet the same hour of a day.
        let mut random = seeded(0);
        let row = |at: usize| random.random_range(at * of / most..(at + 1) * of / most);
        table.excerpt(&(0..most).map(row).collect::<Vec<_>>()).ok().map(|rows| of_rows(&rows))
    }

    /// The profile of a column.
    pub fn column(&self, name: &str) -> Option<&ColumnFacts> {
        self.columns.iter().find(|column| column.name == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::column::Column;
    use crate::vectors::{Values, Vectors};
    use proptest::prelude::*;

    fn profile_of(columns: Vec<Column>) -> TableProfile {
        let names = (0..columns.len()).map(|at| format!("c{at}")).collect();
        TableProfile::of(&Table::of_rows("t", names, columns).unwrap()).unwrap()
    }

    fn of_numbers(numbers: &[f64]) -> ColumnFacts {
        profile_of(vec![Column::Numbers(numbers.to_vec().into())]).columns.remove(0)
    }

    fn spread(facts: &ColumnFacts) -> &NumberSpread {
        let Some(Spread::Numbers(spread)) = &facts.spread else { panic!("{facts:?}") };
        spread
    }

    #[test]
    fn one_row_two_values_constants_and_gaps_have_the_histograms_that_one_expects() {
        let one = of_numbers(&[7.5]);
        assert_eq!((spread(&one).range(), spread(&one).middle), ((7.5, 7.5), 7.5));
        assert_eq!(spread(&one).histogram((7.5, 7.5), 4), [0, 0, 1, 0]);
        assert_eq!(spread(&one).histogram((0.0, 10.0), 4), [0, 0, 0, 1]);
        let constant = of_numbers(&[2.0; 9]);
        assert_eq!(
            (spread(&constant).histogram((2.0, 2.0), 3), constant.distinct),
            (vec![0, 9, 0], Some(1))
        );
        let two = of_numbers(&[1.0, 0.0, 0.0, f64::NAN, 1.0, 0.0]);
        assert_eq!((two.missing, two.distinct, spread(&two).middle), (1, Some(2), 0.0));
        assert_eq!(spread(&two).histogram((0.0, 1.0), 12)[..], [&[3][..], &[0; 10], &[2]].concat());
        assert_eq!(spread(&two).shares(4), Some(vec![(0.0, 0.6), (1.0, 0.4)]));
        assert_eq!(spread(&of_numbers(&[1.0, 2.0, 4.0, 9.0])).middle, 3.0);
        let codes = of_numbers(&[1.0, 2.0, 4.0, 2.0]);
        assert_eq!(spread(&codes).shares(4), Some(vec![(1.0, 0.25), (2.0, 0.5), (4.0, 0.25)]));
        assert_eq!((spread(&codes).shares(3), spread(&constant).shares(4)), (None, None));
        let gaps = of_numbers(&[f64::NAN; 3]);
        assert_eq!((gaps.spread, gaps.missing), (None, 3));
        assert_eq!(of_numbers(&[]).spread, None);
    }

    /// The histogram of a column on its own axis.
    fn alone(numbers: &[f64], room: usize) -> Vec<usize> {
        let facts = of_numbers(numbers);
        spread(&facts).on(&Axis::of(&[spread(&facts)], spread(&facts).range(), room))
    }

    #[test]
    fn numbers_on_a_grid_get_cells_with_equally_many_points() {
        let hours: Vec<f64> = (0..24).flat_map(|hour| [f64::from(hour); 5]).collect();
        assert_eq!(alone(&hours, 24), [5; 24]);
        assert_eq!(alone(&hours, 50), [5; 48]);
        assert_eq!(alone(&hours, 20), [10; 12]);
        assert_eq!(alone(&hours, 11), [[15].repeat(8)].concat());
        let hundredths: Vec<f64> = (0..50).map(|it| 0.02 * f64::from(it) + 0.3).collect();
        assert_eq!(alone(&hundredths, 25), [2; 25]);
        assert_eq!(alone(&hundredths, 20), [[3].repeat(16), vec![2]].concat());
        assert_eq!(alone(&[0.0, 1.0, 1.0], 6), [1, 1, 0, 2, 2, 0]);
        // Two sets on one grid, one on another.
        let [low, high, beside] =
            [[1.0, 2.0], [2.0, 4.0], [1.5, 2.25]].map(|numbers| of_numbers(&numbers));
        let both = [spread(&low), spread(&high)];
        let axis = Axis::of(&both, (1.0, 4.0), 4);
        assert_eq!(both.map(|it| it.on(&axis)), [[1, 1, 0, 0], [0, 1, 0, 1]].map(Vec::from));
        assert_eq!(
            (axis.cells_before(0.0), axis.cells_before(2.5), axis.cells_before(9.0)),
            (0, 2, 4)
        );
        assert_eq!(Axis::of(&[both[0], spread(&beside)], (1.0, 2.25), 13).width(), 12);
        assert_eq!(Axis::of(&both, (0.75, 4.0), 13).width(), 12, "a declared end beside the grid");
    }

    #[test]
    fn huge_and_tiny_numbers_are_in_their_cells() {
        let huge = of_numbers(&[f64::MIN, f64::MAX, 0.0]);
        assert_eq!(spread(&huge).histogram(spread(&huge).range(), 3), [1, 1, 1]);
        assert!(spread(&of_numbers(&[f64::MAX, f64::MAX])).middle == f64::MAX);
        let tiny = f64::from_bits(1);
        assert_eq!(
            spread(&of_numbers(&[0.0, tiny])).histogram((0.0, tiny), 12).iter().sum::<usize>(),
            2
        );
    }

    #[test]
    fn texts_are_counted_the_most_frequent_first() {
        let texts = ["b", "a", "", "b", "c", "b", "a"].map(str::to_owned);
        let facts = profile_of(vec![Column::Text(texts.into_iter().collect())]).columns.remove(0);
        let counts = [("b", 3), ("a", 2), ("c", 1)].map(|(text, count)| (text.to_owned(), count));
        assert_eq!(facts.spread, Some(Spread::Texts(counts.to_vec())));
        assert_eq!((facts.missing, facts.distinct), (1, Some(3)));
    }

    #[test]
    fn json_has_few_cells_and_vectors_have_no_spread() {
        let facts = of_numbers(&[0.0, 1.0, 1.0]);
        let json = serde_json::to_value(&facts).unwrap();
        let counts = json["profile"]["numbers"]["histogram"].as_array().unwrap();
        assert_eq!((counts.len(), &counts[0], &counts[23]), (24, &1.into(), &2.into()));
        let vectors = Vectors::new(2, Values::F64(vec![1.0, 2.0, 3.0, 4.0])).unwrap();
        let profile = profile_of(vec![Column::Vectors(vectors)]);
        assert_eq!((profile.columns[0].spread.clone(), profile.columns[0].distinct), (None, None));
    }

    #[test]
    fn a_large_table_is_profiled_by_rows_of_all_its_stretches() {
        let rows = 3 * MOST_ROWS;
        let hours: Vec<f64> = (0..rows).map(|row| (row % 3) as f64).collect();
        let places: Vec<f64> = (0..rows).map(|row| row as f64).collect();
        let profile = profile_of([hours, places].map(|it| Column::Numbers(it.into())).into());
        assert_eq!((profile.rows, profile.of), (MOST_ROWS, rows));
        let third = |count: &usize| count.abs_diff(MOST_ROWS / 3) < MOST_ROWS / 50;
        let hours = spread(&profile.columns[0]).histogram((0.0, 2.0), 3);
        assert!(hours.iter().all(third), "{hours:?}");
        let places = spread(&profile.columns[1]).histogram((0.0, rows as f64), 3);
        assert!(places.iter().all(third), "{places:?}");
    }

    #[test]
    fn the_cells_of_a_histogram_fit_their_room() {
        assert_eq!([1, 11, 13, 24, 25, 100, 5000].map(cells_in), [1, 10, 12, 24, 24, 96, 480]);
    }

    proptest! {
        #[test]
        fn a_histogram_counts_every_number_once_on_every_axis_that_holds_them(
            numbers in proptest::collection::vec(
                prop_oneof![
                    8 => -1e3..1e3_f64,
                    2 => (-3..4_i32).prop_map(f64::from),
                    1 => proptest::num::f64::NORMAL | proptest::num::f64::SUBNORMAL,
                    1 => Just(f64::NAN),
                ],
                0..80,
            ),
            cells in 1..130_usize,
            below in 0.0..1e3_f64,
            above in 0.0..1e3_f64,
        ) {
            let facts = of_numbers(&numbers);
            let mut present: Vec<f64> = numbers.iter().copied().filter(|it| !it.is_nan()).collect();
            present.sort_unstable_by(f64::total_cmp);
            prop_assert_eq!(facts.missing, numbers.len() - present.len());
            let Some(Spread::Numbers(spread)) = &facts.spread else {
                prop_assert!(present.is_empty());
                return Ok(());
            };
            let (least, greatest) = spread.range();
            prop_assert_eq!((least, greatest), (present[0] + 0.0, present[present.len() - 1] + 0.0));
            prop_assert!(least <= spread.middle && spread.middle <= greatest);
            for range in [(least, greatest), (least - below, greatest + above)] {
                let counts = spread.histogram(range, cells);
                prop_assert_eq!(counts.len(), cells);
                prop_assert_eq!(counts.iter().sum::<usize>(), present.len());
            }
            let axis = Axis::of(&[spread], (least - below.floor(), greatest + above.floor()), cells);
            prop_assert!((1..=cells).contains(&axis.width()));
            let counts = spread.on(&axis);
            let drawn = if axis.each < WITH_GAP { axis.each } else { axis.each - 1 };
            prop_assert_eq!(counts.iter().sum::<usize>(), drawn * present.len());
            // On the own axis each number is in its own cell, if the cells hold equally many bins.
            let cells = cells_in(cells);
            let mut expected = vec![0; cells];
            for number in &present {
                expected[place(*number, (least, greatest), BINS) * cells / BINS] += 1;
            }
            prop_assert_eq!(spread.histogram((least, greatest), cells), expected);
        }
    }
}
