//! How far a command is, for somebody who waits at a terminal.

use std::io::{self, IsTerminal, Write};

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
            // A terminal that is gone is no failure.
            let _ = write!(io::stderr(), "\r\x1b[K{done} of {all} {}", self.what);
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.is_shown {
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
    }
}
