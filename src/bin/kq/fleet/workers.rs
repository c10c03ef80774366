//! Several things at a time, each result in the order in which it comes.

use crate::exit::Failure;
use crate::progress::Progress;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

/// Works on each of so many nodes, `parallel` at a time, and gives the results to a function as they come. Work that has
/// begun comes to its end also where that function fails; no more is begun then.
pub fn each<T: Send>(
    nodes: usize,
    parallel: usize,
    work: impl Fn(usize) -> T + Sync,
    mut take: impl FnMut(T) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let progress = Progress::of("nodes");
    let (next, (sender, results)) = (AtomicUsize::new(0), mpsc::channel());
    let (next, work) = (&next, &work);
    thread::scope(|scope| {
        for _ in 0..parallel.min(nodes) {
            let sender = sender.clone();
            scope.spawn(move || {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    // Nobody receives any more once a result could not be taken.
                    if at >= nodes || sender.send(work(at)).is_err() {
                        break;
                    }
                }
            });
        }
        drop(sender);
        for (done, result) in results.into_iter().enumerate() {
            take(result)?;
            progress.show(done + 1, nodes);
        }
        Ok(())
    })
}
