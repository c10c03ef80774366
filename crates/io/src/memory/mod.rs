//! Limits the memory of the process.
//!
//! Readers have limits of their own ([`kq_facts::limits`]), but cannot foresee the size of parsed text. Readers count
//! the bytes that they receive, and a thread checks that the resident memory
//! stays in proportion to them. It ends the process before the node is affected.

#[cfg(target_os = "linux")]
mod watch;

#[cfg(not(target_os = "linux"))]
pub use super::elsewhere::{resident_memory, watch_memory as watch};
#[cfg(target_os = "linux")]
pub use watch::{resident_memory, watch};

use std::collections::BTreeMap;
use std::io;
use std::sync::{Mutex, PoisonError};

/// The number of sources that are counted separately; the others are counted together.
const MOST_SOURCES: usize = 1_000;

/// The number of bytes received from each source.
static RECEIVED: Mutex<BTreeMap<String, u64>> = Mutex::new(BTreeMap::new());

/// The memory limit is exceeded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exceeded {
    /// The source that gave most; empty where none gave anything.
    pub source: String,
    /// How many bytes it gave.
    pub received: u64,
    /// The limit.
    pub allowed: u64,
}

/// Counts bytes received from a source, before they are parsed.
pub fn received(source: &str, bytes: usize) {
    let mut all = RECEIVED.lock().unwrap_or_else(PoisonError::into_inner);
    match all.get_mut(source) {
        Some(count) => *count = count.saturating_add(bytes as u64),
        None => {
            let name = if all.len() < MOST_SOURCES { source } else { "" };
            let count = all.entry(name.to_owned()).or_default();
            *count = count.saturating_add(bytes as u64);
        }
    }
}

/// Starts a new count, for the next question of a process that answers several.
pub fn forget_received() {
    RECEIVED.lock().unwrap_or_else(PoisonError::into_inner).clear();
}

/// A reader that counts its bytes as they arrive.
#[derive(Debug)]
pub struct Counting<'s, R> {
    source: &'s str,
    reader: R,
}

impl<'s, R: io::Read> Counting<'s, R> {
    /// Counts the bytes of a reader as those of a source.
    pub fn new(source: &'s str, reader: R) -> Self {
        Self { source, reader }
    }
}

impl<R: io::Read> io::Read for Counting<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.reader.read(buffer)?;
        received(self.source, count);
        Ok(count)
    }
}
