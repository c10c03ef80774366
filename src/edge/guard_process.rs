//! Runs kq once more as a child process that outlives this one for as long as its work takes: it gets lines through its
//! standard input, and learns from the end of file that this process has ended, however it ended.

use super::own_program::{PROGRAM, beginning_of};
use std::ffi::OsString;
use std::io::{self, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// The line that the process writes once it is in a session of its own.
pub const READY: &str = "ready";

/// A process that is ready. It is awaited when this value is dropped.
#[derive(Debug)]
pub struct GuardProcess {
    child: Mutex<Child>,
    input: Mutex<Option<ChildStdin>>,
}

impl GuardProcess {
    /// Starts kq with these arguments, and waits until it is ready.
    ///
    /// # Errors
    ///
    /// Fails if it cannot be started, and if it is not ready in time.
    pub fn start(arguments: &[OsString], patience: Duration) -> io::Result<Self> {
        let mut child = Command::new(PROGRAM)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()?;
        let input = child.stdin.take();
        let first = beginning_of(child.stdout.take(), READY.len() as u64);
        let process = Self { child: Mutex::new(child), input: Mutex::new(input) };
        match first.recv_timeout(patience) {
            Ok(Ok(line)) if line == READY.as_bytes() => Ok(process),
            Ok(Ok(_)) => Err(io::Error::other("it ended at once")),
            Ok(Err(error)) => Err(error),
            Err(_) => Err(io::ErrorKind::TimedOut.into()),
        }
    }

    /// Passes a line on. A pipe takes a short line as a whole or not at all.
    ///
    /// # Errors
    ///
    /// Fails if the process has ended.
    pub fn send(&self, line: &str) -> io::Result<()> {
        let mut input = self.input.lock().unwrap_or_else(PoisonError::into_inner);
        match &mut *input {
            Some(input) => input.write_all(line.as_bytes()),
            None => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }

    /// Ends the input, waits for the end of the process, and returns true if it succeeded.
    pub fn finish(&self) -> bool {
        drop(self.input.lock().unwrap_or_else(PoisonError::into_inner).take());
        let mut child = self.child.lock().unwrap_or_else(PoisonError::into_inner);
        child.wait().is_ok_and(|status| status.success())
    }
}

impl Drop for GuardProcess {
    fn drop(&mut self) {
        self.finish();
    }
}

/// Moves this process into a session of its own, where it gets no signals of a terminal.
///
/// # Errors
///
/// Fails for a process that a shell started as a job: it leads a group already.
pub fn own_session() -> io::Result<()> {
    rustix::process::setsid()?;
    Ok(())
}
