//! The time of day, from a clock that may be wrong.

use std::time::SystemTime;

use jiff::Timestamp;

/// Now, or the nearest time that can be written if the machine's clock is far off.
pub fn now() -> Timestamp {
    written(SystemTime::now())
}

fn written(time: SystemTime) -> Timestamp {
    let before = time < SystemTime::UNIX_EPOCH;
    let nearest = if before { Timestamp::MIN } else { Timestamp::MAX };
    Timestamp::try_from(time).unwrap_or(nearest)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_clock_beyond_the_years_that_can_be_written_gives_the_nearest_time() {
        let years = |count: u64| Duration::from_hours(24 * 366 * count);
        assert_eq!(written(SystemTime::UNIX_EPOCH + years(20_000)), Timestamp::MAX);
        assert_eq!(written(SystemTime::UNIX_EPOCH - years(20_000)), Timestamp::MIN);
        assert!(written(SystemTime::UNIX_EPOCH + years(50)).to_string().starts_with("2020"));
    }
}
