//! The time.

use jiff::Timestamp;

/// Returns the time now: RFC 3339, UTC, whole seconds.
pub fn now() -> String {
    let seconds = Timestamp::now().as_second();
    Timestamp::from_second(seconds).map_or_else(|_| String::new(), |now| now.to_string())
}
