//! Keeps what a command writes, for a process that answers about one snapshot after another.

use crate::exit::{self, Code};
use crate::usage;
use kq_core::fleet::{NoAnswer, NodeDisruptions, Packed};
use kq_node::action::fleet::MAX_ANSWER_BYTES;
use std::ffi::OsString;
use std::io::{self, Write};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The most bytes of notes that are kept.
const MAX_NOTES_BYTES: usize = 64 << 10;

/// What the command under way has written; `None`: it writes to standard output and standard error.
static WRITTEN: Mutex<Option<Written>> = Mutex::new(None);

#[derive(Default)]
struct Written {
    output: Vec<u8>,
    notes: String,
    /// It wrote more than an answer may have.
    is_large: bool,
    /// The findings of `what-if`, apart from its output.
    disruptions: Option<NodeDisruptions>,
}

/// Runs a command line in this process, and returns what it writes, and the pods that a change disrupts.
/// Fails if that is more than an answer may have.
pub fn run(arguments: Vec<OsString>) -> Result<(Packed, Option<NodeDisruptions>), NoAnswer> {
    *written() = Some(Written::default());
    let code = match usage::read(arguments) {
        Ok(line) => crate::answer(line).unwrap_or_else(|failure| exit::report(&failure)),
        Err(error) => {
            note(error.to_string().lines().next().unwrap_or_default());
            Code::Usage
        }
    };
    let Written { output, notes, is_large, disruptions } = written().take().unwrap_or_default();
    match is_large {
        true => Err(NoAnswer::Large(MAX_ANSWER_BYTES)),
        false => Ok((Packed { exit_code: Some(code as u8), output, notes }, disruptions)),
    }
}

/// Keeps the pods that a change disrupts, where this process answers about many snapshots.
pub fn keep(disruptions: impl FnOnce() -> NodeDisruptions) {
    if let Some(written) = &mut *written() {
        written.disruptions = Some(disruptions());
    }
}

/// Lets what follows reach standard error: this process is about to end.
pub fn release() {
    *written() = None;
}

/// Keeps a line of standard error, and returns true; returns false where it is to be written.
pub fn note(line: &str) -> bool {
    match &mut *written() {
        Some(written) => {
            if written.notes.len() + line.len() < MAX_NOTES_BYTES {
                written.notes.push_str(line);
                written.notes.push('\n');
            }
            true
        }
        None => false,
    }
}

/// Standard output, or what stands for it.
pub struct Output;

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut *written() {
            Some(written) => {
                let length = written.output.len() + bytes.len();
                if length as u64 > MAX_ANSWER_BYTES {
                    written.is_large = true;
                    return Err(io::ErrorKind::FileTooLarge.into());
                }
                written.output.extend_from_slice(bytes);
                Ok(bytes.len())
            }
            None => io::stdout().write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match *written() {
            Some(_) => Ok(()),
            None => io::stdout().flush(),
        }
    }
}

fn written() -> MutexGuard<'static, Option<Written>> {
    WRITTEN.lock().unwrap_or_else(PoisonError::into_inner)
}
