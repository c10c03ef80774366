//! Limits the memory of the process.
//!
//! Readers have limits of their own ([`crate::facts::limits`]), but cannot foresee the size of parsed text. Readers count
//! the bytes that they receive, and a thread checks that the resident memory
//! stays in proportion to them. It ends the process before the node is affected.

use rustix::param::page_size;
use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// How fast memory can be filled: 8 GiB in a second, in bytes per microsecond.
const FILLED_PER_US: u64 = (8 << 30) / 1_000_000;

/// The shortest and the longest pause between two checks.
const SHORTEST: Duration = Duration::from_millis(1);
const LONGEST: Duration = Duration::from_millis(50);

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

/// Starts checking the memory of this process; `allowed` returns the limit for a number of received bytes.
/// Above it, `over` is called, which should end the process.
///
/// # Errors
///
/// Fails if the kernel does not report the resident memory.
pub fn watch(
    allowed: impl Fn(u64) -> u64 + Send + 'static,
    over: impl Fn(&Exceeded) + Send + 'static,
) -> io::Result<()> {
    let file = File::open("/proc/self/statm")?;
    resident(&file)?;
    let turn = move || {
        while let Ok(bytes) = resident(&file) {
            let (total, largest) = count();
            let allowed = allowed(total);
            let Some(left) = allowed.checked_sub(bytes) else {
                let (source, received) = largest.unwrap_or_default();
                return over(&Exceeded { source, received, allowed });
            };
            thread::sleep(Duration::from_micros(left / FILLED_PER_US).clamp(SHORTEST, LONGEST));
        }
    };
    thread::Builder::new().name("memory".to_owned()).stack_size(256 << 10).spawn(turn)?;
    Ok(())
}

/// Returns how many bytes were received, and the source that gave most.
fn count() -> (u64, Option<(String, u64)>) {
    let all = RECEIVED.lock().unwrap_or_else(PoisonError::into_inner);
    let total = all.values().fold(0, |sum: u64, bytes| sum.saturating_add(*bytes));
    let largest = all.iter().max_by_key(|(_, bytes)| **bytes);
    (total, largest.map(|(source, bytes)| (source.clone(), *bytes)))
}

/// Returns how many bytes are resident: the second field of `statm`, in pages.
fn resident(statm: &File) -> io::Result<u64> {
    let mut text = [0; 128];
    let length = statm.read_at(&mut text, 0)?;
    let text = String::from_utf8_lossy(text.get(..length).unwrap_or_default());
    let pages = text.split_whitespace().nth(1).and_then(|pages| pages.parse::<u64>().ok());
    let pages = pages.ok_or_else(|| io::Error::other("statm has no second field"))?;
    Ok(pages.saturating_mul(page_size() as u64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    #[test]
    fn what_is_above_the_limit_is_told_with_the_largest_source() {
        received("the list of everything", 1 << 40);
        received("the list of everything", 1);
        received("something else", 2);
        let (told, hears) = channel();
        watch(|_| 1, move |it| told.send(it.clone()).expect("somebody listens")).expect("watched");
        let exceeded = hears.recv_timeout(Duration::from_secs(10)).expect("it is told");
        let source = "the list of everything".to_owned();
        assert_eq!(exceeded, Exceeded { source, received: (1 << 40) + 1, allowed: 1 });
    }

    #[test]
    fn resident_memory_is_known() {
        let file = File::open("/proc/self/statm").expect("a file");
        let bytes = resident(&file).expect("a number");
        assert!((1 << 20..1 << 40).contains(&bytes), "{bytes}");
    }
}
