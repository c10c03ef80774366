//! Ends kq where a read of the node does not return.
//!
//! Most of what kq reads answers at once, because the kernel or a local disk does. A file of the node can also be on a file
//! system whose server is gone, and a file of a process can wait for a lock that the process holds. No system call for
//! reading has a deadline, so a thread looks at the reads from outside. Slow reads count together: many of them, each just
//! within the limit, end kq as well.

use std::cell::Cell;
use std::collections::VecDeque;
use std::marker::PhantomData;
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
    /// Those under way.
    now: Vec<Read>,
    /// The number of the next one.
    next: u64,
    /// When slow reads ended, and how long each took that no other did at the same time.
    slow: VecDeque<(Instant, Duration)>,
    /// How long they may take, together.
    limit: Duration,
}

/// A read that is under way.
struct Read {
    number: u64,
    begun: Instant,
    /// What is read.
    path: String,
    /// Its time does not count together with that of others: the reader has a deadline of its own.
    is_apart: bool,
}

static READS: Mutex<Reads> =
    Mutex::new(Reads { now: Vec::new(), next: 0, slow: VecDeque::new(), limit: DEFAULT });

thread_local! {
    /// How many reads this thread has begun, one within the other.
    static DEPTH: Cell<usize> = const { Cell::new(0) };
}

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
    reads.slow.clear();
    reads.limit = limit;
}

/// A read that is under way, until this value is dropped.
#[derive(Debug)]
#[must_use]
pub struct Reading {
    number: Option<u64>,
    // It ends on the thread on which it began.
    thread: PhantomData<*const ()>,
}

/// Says that something is read from now on.
pub fn reading(path: &str) -> Reading {
    begun(path, false)
}

/// The same for a reader that has a deadline of its own between two reads: many slow reads do not add up.
pub fn reading_apart(path: &str) -> Reading {
    begun(path, true)
}

fn begun(path: &str, is_apart: bool) -> Reading {
    let depth = DEPTH.get();
    DEPTH.set(depth + 1);
    let none = Reading { number: None, thread: PhantomData };
    // The outermost one counts.
    if depth > 0 || OVER.get().is_none() {
        return none;
    }
    THREAD.get_or_init(|| {
        // Without a thread the reads have no deadline, as those of any other program.
        let thread = thread::Builder::new().name("reads".to_owned()).stack_size(256 << 10);
        let _ = thread.spawn(look);
    });
    let mut reads = reads();
    let number = reads.next;
    reads.next += 1;
    reads.now.push(Read { number, begun: Instant::now(), path: path.to_owned(), is_apart });
    Reading { number: Some(number), ..none }
}

impl Drop for Reading {
    fn drop(&mut self) {
        DEPTH.set(DEPTH.get().saturating_sub(1));
        let Some(number) = self.number else { return };
        let mut reads = reads();
        let Some(at) = reads.now.iter().position(|read| read.number == number) else { return };
        let read = reads.now.swap_remove(at);
        let now = Instant::now();
        if now - read.begun >= SLOW && !read.is_apart {
            // Reads on several threads take the time only once.
            let from = reads.slow.back().map_or(read.begun, |(end, _)| read.begun.max(*end));
            reads.slow.push_back((now, now.saturating_duration_since(from)));
        }
    }
}

fn reads() -> MutexGuard<'static, Reads> {
    READS.lock().unwrap_or_else(PoisonError::into_inner)
}

fn look() {
    loop {
        thread::sleep(PAUSE);
        let Some(hung) = hung(&mut reads(), Instant::now()) else { continue };
        if let Some(over) = OVER.get() {
            over(&hung);
        }
    }
}

/// Returns the oldest read, if it exceeds the limit, together with the slow ones of the time before: twice the limit, so that a
/// command that runs for days is not ended by what was slow at times.
fn hung(reads: &mut Reads, now: Instant) -> Option<Hung> {
    let limit = reads.limit;
    let is_old =
        |(end, _): &mut (Instant, Duration)| now.saturating_duration_since(*end) > limit * 2;
    while reads.slow.front_mut().is_some_and(is_old) {
        reads.slow.pop_front();
    }
    let oldest = reads.now.iter().min_by_key(|read| read.begun)?;
    let took = now.saturating_duration_since(oldest.begun);
    let before = match oldest.is_apart {
        true => Duration::ZERO,
        false => reads.slow.iter().map(|(_, took)| *took).sum(),
    };
    let exceeds = took >= SLOW && took.saturating_add(before) > limit;
    exceeds.then(|| Hung { path: oldest.path.clone(), limit })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_reads_count_together() {
        let begin = Instant::now();
        let at = |millis: u64| begin + Duration::from_millis(millis);
        let read = |number, millis, path: &str, is_apart| Read {
            number,
            begun: at(millis),
            path: path.to_owned(),
            is_apart,
        };
        for (name, spent, is_apart, now, expected) in [
            ("quick", 5000, false, 5050, None),
            ("within the limit", 0, false, 5900, None),
            ("beyond it", 0, false, 6001, Some("/a")),
            ("with those before", 900, false, 5150, Some("/a")),
            ("apart", 900, true, 5150, None),
            ("apart, beyond it", 0, true, 6001, Some("/a")),
            ("long ago", 900, false, 7000 + 150, Some("/a")),
        ] {
            let mut reads = Reads {
                now: vec![read(1, 5050, "/b", false), read(0, 5000, "/a", is_apart)],
                next: 2,
                slow: [(at(5000), Duration::from_millis(spent))].into(),
                limit: Duration::from_millis(1000),
            };
            let found = hung(&mut reads, at(now)).map(|hung| hung.path);
            assert_eq!(found.as_deref(), expected, "{name}");
            assert_eq!(reads.slow.is_empty(), now > 7000, "{name}");
        }
    }
}
