//! The time of day, from a clock that may be wrong.

use std::time::SystemTime;

use jiff::Timestamp;

/// Now, or the nearest time that can be written where the machine's clock is far off.
pub fn now() -> Timestamp {
    let time = SystemTime::now();
    let before = time < SystemTime::UNIX_EPOCH;
    let nearest = if before { Timestamp::MIN } else { Timestamp::MAX };
    Timestamp::try_from(time).unwrap_or(nearest)
}
