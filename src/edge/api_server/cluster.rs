//! Requests all nodes, and the pods of each, several at once.

use crate::edge::api_server::page::List;
use crate::edge::api_server::{ApiError, ApiServer};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// The number of concurrent lists: few enough for the limits of any API server.
const AT_ONCE: usize = 8;

/// The number of consecutive lists without any answer after which the rest are skipped.
const PATIENCE: usize = 2 * AT_ONCE;

impl ApiServer {
    /// Returns the nodes: unparsed pages of JSON, each a `NodeList`.
    ///
    /// # Errors
    ///
    /// Fails unless all of them arrived.
    pub fn nodes(&self, deadline: Duration) -> Result<Vec<Vec<u8>>, ApiError> {
        self.list(&List::nodes(), deadline)
    }

    /// Requests the pods of each node, several at once, and passes each answer, as of
    /// [`pods_of_node`](Self::pods_of_node), to a function, together with the node's index. Returns the
    /// results in the order of the nodes; reports after each how many are done.
    ///
    /// The deadline applies to each list. If the server stops answering, the rest is
    /// skipped.
    pub fn pods_of_each<T: Send>(
        &self,
        nodes: &[&str],
        deadline: Duration,
        work: impl Fn(usize, Result<Vec<Vec<u8>>, ApiError>) -> T + Sync,
        mut done: impl FnMut(usize),
    ) -> Vec<T> {
        let (next, silent) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let (results, come) = mpsc::channel();
        let ask_all = |results: mpsc::Sender<(usize, T)>| {
            loop {
                let at = next.fetch_add(1, Ordering::Relaxed);
                let Some(node) = nodes.get(at) else { return };
                let pods = match silent.load(Ordering::Relaxed) {
                    count if count >= PATIENCE => Err(ApiError::Silent { count }),
                    _ => self.pods_of_node(node, deadline),
                };
                match &pods {
                    Err(ApiError::Http(error)) if error.status().is_none() => {
                        silent.fetch_add(1, Ordering::Relaxed);
                    }
                    Err(ApiError::Silent { .. }) => {}
                    _ => silent.store(0, Ordering::Relaxed),
                }
                // The receiver expects one result per node.
                if results.send((at, work(at, pods))).is_err() {
                    return;
                }
            }
        };
        let mut all: Vec<(usize, T)> = Vec::with_capacity(nodes.len());
        thread::scope(|scope| {
            for _ in 0..AT_ONCE.min(nodes.len()) {
                let (ask_all, results) = (&ask_all, results.clone());
                scope.spawn(move || ask_all(results));
            }
            // A leftover sender would keep the loop below waiting after a worker panicked.
            drop(results);
            for _ in 0..nodes.len() {
                let Ok(one) = come.recv() else { break };
                all.push(one);
                done(all.len());
            }
        });
        all.sort_by_key(|(at, _)| *at);
        all.into_iter().map(|(_, made)| made).collect()
    }
}
