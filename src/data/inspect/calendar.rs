//! Whether rows follow each other in time, as the days of a year do: by a column of dates, or by one that
//! is called like a part of the calendar, in the order of the file.

use crate::column::{Cell, Column};
use crate::identifiers::is_of_calendar;

/// With fewer steps from row to row this may be chance.
const FEWEST_STEPS: usize = 30;
const MOST_ROWS: usize = 20_000;

/// So many of the steps are about as long as their median, or begin a new month, day or year.
const REGULAR: f64 = 0.95;
/// New ones begin no more often than this: years have four quarters.
const MOST_BEGINNINGS: f64 = 1.0 / 3.0;

/// So many of the texts are dates, or of the numbers such as 20110131.
const DATES: f64 = 0.95;

/// The places of year, month and day in a date.
const ORDERS: [[usize; 3]; 3] = [[0, 1, 2], [2, 1, 0], [2, 0, 1]];

/// What the rows of a table are one after the other.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct InARow {
    /// `days`, `hours` or, if it has no name, `times`.
    pub are: &'static str,
    /// Whether they begin anew, although years and dates do not: with another person or country.
    pub of_several: bool,
}

impl InARow {
    fn of(are: &'static str, times: &[f64]) -> Self {
        let begins_anew = times.windows(2).any(|pair| pair[1] < pair[0]);
        Self { are, of_several: begins_anew && matches!(are, "years" | "times") }
    }

    fn of_dates(days: &[f64]) -> Option<Self> {
        let are = step_words(median_step(days)?);
        let of_several = days.windows(2).any(|pair| pair[1] < pair[0]);
        Some(Self { are, of_several })
    }
}

/// Whether rows follow each other by this column.
pub(super) fn rows_are(name: &str, column: &Column) -> Option<InARow> {
    let cells = || column.cells().take(MOST_ROWS);
    if let Column::Text(_) = column {
        return ORDERS.iter().find_map(|order| {
            let day = |cell: Cell| match &cell {
                Cell::Text(text) => day_of_text(text, *order),
                _ => None,
            };
            cells().next().and_then(day)?;
            let days: Vec<f64> = cells().filter_map(day).collect();
            let are_dates = days.len() as f64 >= DATES * cells().count() as f64;
            InARow::of_dates(&days).filter(|_| are_dates)
        });
    }
    let number = |cell: Cell| match cell {
        Cell::Number(number) => Some(number),
        _ => None,
    };
    let numbers: Vec<f64> = cells().filter_map(number).collect();
    let days: Vec<f64> = numbers.iter().filter_map(|number| day_of_digits(*number)).collect();
    if !days.is_empty() && days.len() as f64 >= DATES * numbers.len() as f64 {
        return InARow::of_dates(&days);
    }
    let words = named(name)?;
    median_step(&numbers).map(|_| InARow::of(words, &numbers))
}

/// What a column counts by its name.
fn named(name: &str) -> Option<&'static str> {
    let name = name.to_lowercase();
    let has = |part: &str| name.contains(part);
    match &*name {
        "hr" => Some("hours"),
        "yr" => Some("years"),
        "mo" | "mon" => Some("months"),
        _ if !is_of_calendar(&name) => None,
        _ if has("minute") => Some("minutes"),
        _ if has("hour") => Some("hours"),
        _ if has("day") || has("date") => Some("days"),
        _ if has("week") => Some("weeks"),
        _ if has("month") || has("mnth") => Some("months"),
        _ if has("year") => Some("years"),
        _ => Some("times"),
    }
}

/// What is so many days apart.
fn step_words(days: f64) -> &'static str {
    match days {
        0.04..0.05 => "hours",
        0.9..3.5 => "days",
        6.5..7.5 => "weeks",
        27.0..32.0 => "months",
        360.0..370.0 => "years",
        _ => "times",
    }
}

/// The median of the steps from row to row, if nearly all of them are about as long as it.
fn median_step(times: &[f64]) -> Option<f64> {
    let steps = || times.windows(2).map(|pair| pair[1] - pair[0]);
    let mut forward: Vec<f64> = steps().filter(|step| *step > 0.0).collect();
    forward.sort_by(f64::total_cmp);
    let median = *forward.get(forward.len() / 2)?;
    let count = steps().count();
    let regular = steps().filter(|step| (0.5..=2.0).contains(&(step / median))).count();
    let beginnings = steps().filter(|step| *step < 0.0).count();
    let share = |of: usize| of as f64 / count as f64;
    let is_regular = count >= FEWEST_STEPS
        && share(regular + beginnings) >= REGULAR
        && share(beginnings) <= MOST_BEGINNINGS;
    is_regular.then_some(median)
}

/// The day, and the part of it, of a text such as `2011-01-31 15:00`.
fn day_of_text(text: &str, [year, month, day]: [usize; 3]) -> Option<f64> {
    let (date, time) = text.trim().split_once(['T', ' ']).unwrap_or((text.trim(), ""));
    let parts: Vec<&str> = date.split(['-', '/', '.']).collect();
    if parts.len() != 3 || parts[year].len() != 4 {
        return None;
    }
    let number = |at: usize| parts[at].parse::<u32>().ok();
    let mut clock = time.split(':').map_while(|part| part.parse::<f64>().ok());
    let hours = clock.next().unwrap_or(0.0) + clock.next().unwrap_or(0.0) / 60.0;
    Some(day_number(number(year)?, number(month)?, number(day)?)? + hours / 24.0)
}

/// The day of a number such as 20110131.
fn day_of_digits(number: f64) -> Option<f64> {
    if number.fract() != 0.0 || !(18_000_101.0..=21_001_231.0).contains(&number) {
        return None;
    }
    let digits = number as u32;
    day_number(digits / 10_000, digits / 100 % 100, digits % 100)
}

/// The number of days since the first of March of the year 0.
fn day_number(year: u32, month: u32, day: u32) -> Option<f64> {
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    // Years begin in March, so that leap days are their last ones.
    let (year, month) =
        if month > 2 { (year, month - 3) } else { (year.checked_sub(1)?, month + 9) };
    let leap_days = year / 4 - year / 100 + year / 400;
    Some(f64::from(365 * year + leap_days + (153 * month + 2) / 5 + day - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_texts(cells: impl Iterator<Item = String>) -> Option<&'static str> {
        rows_are("x", &Column::Text(cells.collect())).map(|it| it.are)
    }

    fn of_numbers(name: &str, cells: impl Iterator<Item = u32>) -> Option<&'static str> {
        rows_are(name, &Column::Numbers(cells.map(f64::from).collect())).map(|it| it.are)
    }

    #[test]
    fn years_that_begin_anew_are_of_several() {
        let of_several = |name: &str, years: &dyn Fn(u32) -> u32| {
            let years = (0..120).map(|at| f64::from(years(at))).collect();
            rows_are(name, &Column::Numbers(years)).unwrap().of_several
        };
        assert!(of_several("year", &|at| 1980 + at % 20));
        assert!(!of_several("year", &|at| 1880 + at));
        assert!(!of_several("month", &|at| at % 12));
    }

    #[test]
    fn days_are_counted_over_leap_years_and_centuries() {
        let day = |year, month, day| day_number(year, month, day).unwrap();
        assert_eq!(day(2012, 3, 1) - day(2012, 2, 28), 2.0);
        assert_eq!(day(2011, 3, 1) - day(2011, 2, 28), 1.0);
        assert_eq!(day(2000, 3, 1) - day(2000, 2, 29), 1.0);
        assert_eq!(day(2100, 3, 1) - day(2100, 2, 28), 1.0);
        assert_eq!(day(2026, 1, 1) - day(1926, 1, 1), 36_525.0);
        assert_eq!(day_number(2011, 13, 1), None);
    }

    #[test]
    fn rows_that_follow_each_other_are_told_in_any_form_of_a_date() {
        let days = || (0..200_u32).map(|at| (2011 + at / 336, at / 28 % 12 + 1, at % 28 + 1));
        let texts: [&dyn Fn(u32, u32, u32) -> String; 4] = [
            &|y, m, d| format!("{y}-{m:02}-{d:02}"),
            &|y, m, d| format!("{d}.{m}.{y}"),
            &|y, m, d| format!("{m}/{d}/{y}"),
            &|y, m, d| format!("{y}-{m:02}-{d:02} 12:30:00"),
        ];
        for text in texts {
            assert_eq!(of_texts(days().map(|(y, m, d)| text(y, m, d))), Some("days"));
            // Rows in another order, and many rows of each day, do not follow each other.
            let mixed = (0..200).map(|at| days().nth(at * 77 % 200).unwrap());
            assert_eq!(of_texts(mixed.map(|(y, m, d)| text(y, m, d))), None);
            let each = days().flat_map(|day| [day; 5]);
            assert_eq!(of_texts(each.map(|(y, m, d)| text(y, m, d))), None);
        }
        let digits = || days().map(|(y, m, d)| 10_000 * y + 100 * m + d);
        assert_eq!(of_numbers("x", digits()), Some("days"));
        assert_eq!(
            of_texts((0..60).map(|at| format!("{}-{:02}-01", 2000 + at / 12, at % 12 + 1))),
            Some("months")
        );
        let hours = (0..100).map(|at| format!("2011-01-{:02} {:02}:00", at / 24 + 1, at % 24));
        assert_eq!(of_texts(hours), Some("hours"));
    }

    #[test]
    fn numbers_count_time_if_their_column_is_called_so() {
        let hours = || (0..240).map(|at| at % 24);
        assert_eq!(of_numbers("hr", hours()), Some("hours"));
        assert_eq!(of_numbers("hour", hours().rev()), None);
        assert_eq!(of_numbers("height", hours()), None);
        assert_eq!(of_numbers("month", (0..240).map(|at| at % 12)), Some("months"));
        assert_eq!(of_numbers("month", (0..240).map(|at| at / 30)), None);
        assert_eq!(of_numbers("year", 1900..2000), Some("years"));
        assert_eq!(of_numbers("year", 1990..2000), None, "too few");
        assert_eq!(of_numbers("day", (0..240).map(|at| at * at * 7 % 31)), None);
    }
}
