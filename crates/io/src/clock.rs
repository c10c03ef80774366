//! The time.

use jiff::Timestamp;
use kq_facts::timestamp::Timestamp as Moment;
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

/// Returns a time, to the millisecond, that is not before anything read so far.
///
/// Truncated to whole seconds, it would be before the creation of a new container.
pub fn after_now() -> Moment {
    moment().plus(1_000_000)
}

/// Runs something that cannot be interrupted, such as parsing a long text, within a time limit. After the limit, its
/// thread runs on until the process ends. `None`: the limit was reached.
pub fn within<T: Send + 'static>(
    time: Duration,
    work: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    let (done, waits) = mpsc::channel();
    // The receiver may be gone.
    thread::spawn(move || drop(done.send(work())));
    waits.recv_timeout(time).ok()
}

/// Returns the monotonic time, for measuring durations.
pub fn steady() -> Instant {
    Instant::now()
}

/// Waits.
pub fn pause(duration: Duration) {
    thread::sleep(duration);
}
