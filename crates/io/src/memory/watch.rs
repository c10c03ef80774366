//! The thread that compares the resident memory with the received bytes.

use super::{Exceeded, RECEIVED};
use rustix::param::page_size;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::PoisonError;
use std::thread;
use std::time::Duration;

/// How fast memory can be filled: 8 GiB in a second, in bytes per microsecond.
const FILLED_PER_US: u64 = (8 << 30) / 1_000_000;

/// The shortest and the longest pause between two checks.
const SHORTEST: Duration = Duration::from_millis(1);
const LONGEST: Duration = Duration::from_millis(50);

/// Starts checking the memory of this process; `allowed` returns the limit for a number of received bytes.
/// Above it, `over` is called, which should end the process.
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

/// Returns how many bytes of memory this process has; `None`: the kernel does not say.
pub fn resident_memory() -> Option<u64> {
    File::open("/proc/self/statm").and_then(|file| resident(&file)).ok()
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
    use super::super::received;
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
