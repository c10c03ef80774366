//! Ends kq where a read of the node does not return.
//!
//! Most of what kq reads answers at once, because the kernel or a local disk does. A file of the node can also be on a file
//! system whose server is gone, and a file of a process can wait for a lock that the process holds. No system call for
//! reading has a deadline, so a thread looks at the reads from outside. Slow reads count together: many of them, each just
//! within the limit, end kq as well.

use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// A read that takes longer is slow, and its time counts.
const SLOW: Duration = Duration::from_millis(100);

/// The pause between two looks.
const PAUSE: Duration = Duration::from_millis(100);

/// How long reads may take where no command has said so.
const DEFAULT: Duration = Duration::from_secs(9);

/// The reads of this process.
struct Reads {
    /// Those under way: a number, the start, and what is read.
    now: Vec<(u64, Instant, String)>,
    /// The number of the next one.
    next: u64,
    /// The time that slow reads took.
    spent: Duration,
    /// How long they may take, together.
    limit: Duration,
}

static READS: Mutex<Reads> =
    Mutex::new(Reads { now: Vec::new(), next: 0, spent: Duration::ZERO, limit: DEFAULT });

/// Ends the process.
type End = dyn Fn(&Hung) + Send + Sync;

/// What is done where a read does not return.
static OVER: OnceLock<Box<End>> = OnceLock::new();

/// The thread.
static THREAD: OnceLock<()> = OnceLock::new();

/// Reads that exceed the limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hung {
    /// What is read.
    pub path: String,
    /// The limit.
    pub limit: Duration,
}

/// Sets what is done where a read does not return, which should end the process. Without it, nothing is watched.
pub fn watch(over: impl Fn(&Hung) + Send + Sync + 'static) {
    // The first caller's holds.
    let _ = OVER.set(Box::new(over));
}

/// Begins a question, whose reads may take this long together.
pub fn begin(limit: Duration) {
    let mut reads = reads();
    reads.spent = Duration::ZERO;
    reads.limit = limit;
}

/// A read that is under way, until this value is dropped.
#[derive(Debug)]
#[must_use]
pub struct Reading(Option<u64>);

/// Says that something is read from now on.
pub fn reading(path: &str) -> Reading {
    if OVER.get().is_none() {
        return Reading(None);
    }
    THREAD.get_or_init(|| {
        // Without a thread the reads have no deadline, as those of any other program.
        let thread = thread::Builder::new().name("reads".to_owned()).stack_size(256 << 10);
        let _ = thread.spawn(look);
    });
    let mut reads = reads();
    let number = reads.next;
    reads.next += 1;
    reads.now.push((number, Instant::now(), path.to_owned()));
    Reading(Some(number))
}

impl Drop for Reading {
    fn drop(&mut self) {
        let Some(number) = self.0 else { return };
        let mut reads = reads();
        let Some(at) = reads.now.iter().position(|(other, ..)| *other == number) else { return };
        let (_, begun, _) = reads.now.swap_remove(at);
        let took = begun.elapsed();
        if took >= SLOW {
            reads.spent = reads.spent.saturating_add(took);
        }
    }
}

fn reads() -> MutexGuard<'static, Reads> {
    READS.lock().unwrap_or_else(PoisonError::into_inner)
}

fn look() {
    loop {
        thread::sleep(PAUSE);
        let Some(hung) = hung(&reads(), Instant::now()) else { continue };
        if let Some(over) = OVER.get() {
            over(&hung);
        }
    }
}

/// Returns the oldest read, if it and the slow ones before exceed the limit.
fn hung(reads: &Reads, now: Instant) -> Option<Hung> {
    let (_, begun, path) = reads.now.iter().min_by_key(|(_, begun, _)| *begun)?;
    let took = now.saturating_duration_since(*begun);
    let exceeds = took >= SLOW && took.saturating_add(reads.spent) > reads.limit;
    exceeds.then(|| Hung { path: path.clone(), limit: reads.limit })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_reads_count_together() {
        let begin = Instant::now();
        let at = |millis: u64| begin + Duration::from_millis(millis);
        let reads = |spent: u64| Reads {
            now: vec![(1, at(50), "/b".to_owned()), (0, at(0), "/a".to_owned())],
            next: 2,
            spent: Duration::from_millis(spent),
            limit: Duration::from_millis(1000),
        };
        for (name, spent, now, expected) in [
            ("quick", 5000, 50, None),
            ("within the limit", 0, 900, None),
            ("beyond it", 0, 1001, Some("/a")),
            ("with those before", 900, 150, Some("/a")),
        ] {
            let found = hung(&reads(spent), at(now)).map(|hung| hung.path);
            assert_eq!(found.as_deref(), expected, "{name}");
        }
        let idle = Reads { now: Vec::new(), ..reads(5000) };
        assert_eq!(hung(&idle, at(9000)), None);
    }
}
