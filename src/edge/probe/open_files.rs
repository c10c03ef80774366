//! How many connections can be open at once.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Descriptors that are not connections: standard streams, the poller, the runtime's socket, files.
const SPARE: u64 = 64;

/// Raises the process's own limit of open files towards the need of `count` connections, and returns the number that
/// can be open at the same time.
pub fn connections_at_once(count: usize) -> usize {
    let limit = getrlimit(Resource::Nofile);
    let needed = u64::try_from(count).unwrap_or(u64::MAX).saturating_add(SPARE);
    let mut current = limit.current.unwrap_or(u64::MAX);
    if current < needed {
        let raised = limit.maximum.unwrap_or(u64::MAX).min(needed);
        let asked = Rlimit { current: Some(raised), maximum: limit.maximum };
        if raised > current && setrlimit(Resource::Nofile, asked).is_ok() {
            current = raised;
        }
    }
    let possible = usize::try_from(current.saturating_sub(SPARE)).unwrap_or(usize::MAX);
    count.min(possible).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn at_least_one_and_no_more_than_requested() {
        assert_eq!(connections_at_once(0), 1);
        assert_eq!(connections_at_once(3), 3);
        assert!(connections_at_once(usize::MAX) >= 64);
    }
}
