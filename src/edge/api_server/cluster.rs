//! Asking the API server about all nodes: the nodes themselves, and the pods of each, several at once.

use crate::edge::api_server::page::List;
use crate::edge::api_server::{ApiError, ApiServer};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// How many lists are asked for at once: few enough for every API server's own limits.
const AT_ONCE: usize = 8;

/// After how many lists in a row that got no answer at all the others are not asked for.
const PATIENCE: usize = 2 * AT_ONCE;

impl ApiServer {
    /// Returns the nodes: pages of JSON, each a `NodeList`, as they came.
    ///
    /// # Errors
    ///
    /// Fails when not all of them came.
    pub fn nodes(&self, deadline: Duration) -> Result<Vec<Vec<u8>>, ApiError> {
        self.list(&List::nodes(), deadline)
    }

    /// Asks for the pods of each node, several at once, and gives what came, as in
    /// [`pods_of_node`](Self::pods_of_node), to a function, together with the node's place. Returns what
    /// the function made of it, in the order of the nodes; tells after each how many are done.
    ///
    /// The deadline is that of every single list. A server that does not answer at all any more is not
    /// asked for the rest.
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
                // Somebody waits for as many as there are nodes.
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
            // What is left of it would keep the loop below waiting for a worker that panicked.
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
