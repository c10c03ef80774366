//! Work on several nodes at a time.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

/// Works on each of `nodes` nodes, `parallel` at a time, and passes the results to `take` as they arrive, with their
/// number so far. Work that has begun is completed even if `take` fails; no more is begun then.
pub(super) fn each<T: Send, E>(
    nodes: usize,
    parallel: usize,
    work: impl Fn(usize) -> T + Sync,
    mut take: impl FnMut(usize, T) -> Result<(), E>,
) -> Result<(), E> {
    let (next, (sender, results)) = (AtomicUsize::new(0), mpsc::channel());
    let (next, work) = (&next, &work);
    thread::scope(|scope| {
        for _ in 0..parallel.min(nodes) {
            let sender = sender.clone();
            scope.spawn(move || {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    // The channel is closed once a result could not be taken.
                    if at >= nodes || sender.send(work(at)).is_err() {
                        break;
                    }
                }
            });
        }
        drop(sender);
        results.into_iter().enumerate().try_for_each(|(done, result)| take(done + 1, result))
    })
}
