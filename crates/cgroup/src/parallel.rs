//! The same computation for many things, on all CPUs. How many there are decides about the time alone, never about a
//! result.

use std::num::NonZero;
use std::panic::resume_unwind;
use std::thread;

/// How many things are worth a thread.
const FEW: usize = 256;

/// Returns the result for each item, in their order. Where no thread can be started, the caller's does the work.
pub(super) fn in_parallel<T: Sync, R: Send>(
    items: &[T],
    compute: impl Fn(&T) -> R + Sync,
) -> Vec<R> {
    let all = |items: &[T]| -> Vec<R> { items.iter().map(&compute).collect() };
    if items.len() <= FEW {
        return all(items);
    }
    let cpus = thread::available_parallelism().map_or(1, NonZero::get);
    let mut parts = items.chunks(items.len().div_ceil(cpus).max(FEW));
    let own = parts.next().unwrap_or_default();
    thread::scope(|scope| {
        let all = &all;
        let others: Vec<_> = parts
            .map(|part| (part, thread::Builder::new().spawn_scoped(scope, move || all(part))))
            .collect();
        let mut results = all(own);
        for (part, started) in others {
            results.extend(match started.map(thread::ScopedJoinHandle::join) {
                Ok(Ok(done)) => done,
                Ok(Err(panic)) => resume_unwind(panic),
                Err(_) => all(part),
            });
        }
        results
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_keep_the_order_of_the_items() {
        for count in [0, 1, FEW, FEW + 1, 10 * FEW + 3] {
            let items: Vec<usize> = (0..count).collect();
            assert_eq!(
                in_parallel(&items, |item| item + 1),
                (1..=count).collect::<Vec<_>>(),
                "{count}"
            );
        }
    }
}
