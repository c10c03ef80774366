//! How far a command is, for somebody who waits at a terminal.

use std::io::{self, IsTerminal, Write};

/// One line on standard error that is written over and over, and gone in the end. Elsewhere than on a
/// terminal nothing is written.
pub struct Progress {
    what: &'static str,
    total: usize,
    is_shown: bool,
}

impl Progress {
    /// Begins: so many of what are to be done.
    pub fn of(total: usize, what: &'static str) -> Self {
        Self { what, total, is_shown: io::stderr().is_terminal() }
    }

    /// Shows how many are done.
    pub fn show(&self, done: usize) {
        if self.is_shown {
            let Self { what, total, .. } = self;
            // A terminal that is gone is no failure.
            let _ = write!(io::stderr(), "\r\x1b[K{done} of {total} {what}");
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
