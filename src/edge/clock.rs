//! The time.

use crate::facts::timestamp::Timestamp as Moment;
use jiff::Timestamp;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

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

/// Does something that cannot be interrupted, such as reading a long text, and gives it up when the time is over: a
/// thread of its own goes on with it then until the process ends. `None`: it was given up.
pub fn within<T: Send + 'static>(
    time: Duration,
    work: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    let (done, waits) = mpsc::channel();
    // Whoever waited may be gone.
    thread::spawn(move || drop(done.send(work())));
    waits.recv_timeout(time).ok()
}

/// Returns a moment of a clock that nobody sets: to measure how long something takes.
pub fn steady() -> Instant {
    Instant::now()
}

/// Waits.
pub fn pause(duration: Duration) {
    thread::sleep(duration);
}
