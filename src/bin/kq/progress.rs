//! How far a command is, for somebody who waits at a terminal.

use std::io::{self, IsTerminal, Write};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// What takes no longer needs no line.
const SOON: Duration = Duration::from_millis(500);

/// How long each picture of a line is shown.
const TURN: Duration = Duration::from_millis(120);

const PICTURES: [char; 4] = ['|', '/', '-', '\\'];

/// Begins the line again.
const CLEAR: &str = "\r\x1b[K";

/// Whether the line is shown. Who writes something else holds it meanwhile.
static IS_SHOWN: Mutex<bool> = Mutex::new(false);

/// One line on standard error that is written over and over, and gone in the end. Elsewhere than on a
/// terminal nothing is written.
pub struct Progress {
    what: &'static str,
    is_shown: bool,
}

impl Progress {
    /// Begins to count things of a kind.
    pub fn of(what: &'static str) -> Self {
        Self { what, is_shown: io::stderr().is_terminal() }
    }

    /// Shows how many of all are done.
    pub fn show(&self, done: usize, all: usize) {
        if self.is_shown {
            paint(&format!("{done} of {all} {}", self.what));
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        drop(hidden());
    }
}

/// Does something, and says so where it takes longer than a moment.
pub fn waiting<T>(what: &'static str, work: impl FnOnce() -> T) -> T {
    if !io::stderr().is_terminal() {
        return work();
    }
    let (done, is_done) = channel::<()>();
    let spinner = thread::spawn(move || {
        let mut pause = SOON;
        for picture in PICTURES.iter().cycle() {
            match is_done.recv_timeout(pause) {
                Err(RecvTimeoutError::Timeout) => paint(&format!("{picture} {what}")),
                _ => break,
            }
            pause = TURN;
        }
    });
    let result = work();
    drop(done);
    // It paints no more once it has ended.
    let _ = spinner.join();
    drop(hidden());
    result
}

/// Takes the line away until the guard is dropped.
pub fn hidden() -> MutexGuard<'static, bool> {
    let mut is_shown = IS_SHOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if std::mem::take(&mut *is_shown) {
        // A terminal that is gone is no failure.
        let _ = write!(io::stderr(), "{CLEAR}");
    }
    is_shown
}

fn paint(text: &str) {
    let mut is_shown = IS_SHOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let _ = write!(io::stderr(), "{CLEAR}{text}");
    *is_shown = true;
}
