//! The time.

use crate::facts::timestamp::Timestamp as Moment;
use jiff::Timestamp;
use std::time::Instant;

/// Returns the time now: RFC 3339, UTC, whole seconds.
pub fn now() -> String {
    let seconds = Timestamp::now().as_second();
    Timestamp::from_second(seconds).map_or_else(|_| String::new(), |now| now.to_string())
}

/// Returns the time now, to the millisecond.
pub fn moment() -> Moment {
    Moment(Timestamp::now().as_millisecond().saturating_mul(1_000_000))
}

/// Returns the time at which everything that was read up to now is past, to the millisecond.
///
/// Cut to whole seconds, a container that was just created would be from the future.
pub fn after_now() -> Moment {
    moment().plus(1_000_000)
}

/// Returns a moment of a clock that nobody sets: to measure how long something takes.
pub fn steady() -> Instant {
    Instant::now()
}
