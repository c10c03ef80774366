//! A limit on connections: when all places are taken, a new connection replaces the one that was silent for longest.
//!
//! So silent connections keep no other out, however many there are, and active ones are not disturbed.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;
use tokio::task::AbortHandle;

/// Places for so many connections.
#[derive(Clone, Debug)]
pub(super) struct Places {
    most: usize,
    table: Arc<Table>,
}

#[derive(Debug, Default)]
struct Table {
    /// By number: the one that came first is the first.
    taken: Mutex<(u64, BTreeMap<u64, Place>)>,
    /// One has become free, or silent.
    freed: Notify,
}

#[derive(Debug)]
struct Place {
    /// How much is done for it right now; 0: it is silent.
    busy: usize,
    task: Option<AbortHandle>,
}

/// A place that is taken, until it is dropped.
#[derive(Debug)]
pub(super) struct Seat {
    number: u64,
    table: Arc<Table>,
}

/// Something is done for a connection, until this is dropped.
#[derive(Debug)]
pub(super) struct Busy {
    number: u64,
    table: Arc<Table>,
}

impl Places {
    pub(super) fn new(most: usize) -> Self {
        Self { most: most.max(1), table: Arc::default() }
    }

    /// Runs a connection in a place of its own, once there is one. Where the place is given to another, it is
    /// dropped, and with it what it holds.
    pub(super) async fn run<F>(&self, connection: impl FnOnce(Seat) -> F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        loop {
            let freed = self.table.freed.notified();
            let is_full = self.table.lock().1.len() >= self.most;
            if !is_full || self.end_silent() {
                break;
            }
            freed.await;
        }
        let number = {
            let mut table = self.table.lock();
            table.0 += 1;
            let number = table.0;
            table.1.insert(number, Place { busy: 0, task: None });
            number
        };
        let seat = Seat { number, table: self.table.clone() };
        let task = tokio::spawn(connection(seat)).abort_handle();
        // One that has ended already has no place any more.
        if let Some(place) = self.table.lock().1.get_mut(&number) {
            place.task = Some(task);
        }
    }

    /// Ends the connection that has been silent for longest; returns true if there was one.
    pub(super) fn end_silent(&self) -> bool {
        let mut table = self.table.lock();
        let silent = table.1.iter().find(|(_, place)| place.busy == 0 && place.task.is_some());
        let Some(number) = silent.map(|(number, _)| *number) else { return false };
        let ended = table.1.remove(&number);
        drop(table);
        // Its seat is dropped with it, and looks at the table.
        ended.and_then(|place| place.task).iter().for_each(AbortHandle::abort);
        true
    }
}

impl Table {
    fn lock(&self) -> MutexGuard<'_, (u64, BTreeMap<u64, Place>)> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Seat {
    /// Keeps the place for this connection as long as what is returned is held.
    pub(super) fn busy(&self) -> Busy {
        if let Some(place) = self.table.lock().1.get_mut(&self.number) {
            place.busy += 1;
        }
        Busy { number: self.number, table: self.table.clone() }
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        if let Some(place) = self.table.lock().1.get_mut(&self.number) {
            place.busy = place.busy.saturating_sub(1);
        }
        self.table.freed.notify_one();
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.table.lock().1.remove(&self.number);
        self.table.freed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::pending;
    use tokio::sync::mpsc;
    use tokio::task::yield_now;

    #[test]
    fn newcomers_get_the_places_of_those_who_are_silent() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        runtime.block_on(async {
            let places = Places::new(3);
            let (sender, mut ended) = mpsc::unbounded_channel();
            struct Tells(u64, mpsc::UnboundedSender<u64>);
            impl Drop for Tells {
                fn drop(&mut self) {
                    let _ = self.1.send(self.0);
                }
            }
            for number in 1..=6 {
                let tells = Tells(number, sender.clone());
                places
                    .run(|seat| async move {
                        // The second one speaks.
                        let _busy = (number == 2).then(|| seat.busy());
                        let _held = (seat, tells);
                        pending::<()>().await;
                    })
                    .await;
                yield_now().await;
            }
            yield_now().await;
            let ended: Vec<u64> = std::iter::from_fn(|| ended.try_recv().ok()).collect();
            assert_eq!(ended, [1, 3, 4], "the oldest of those who are silent");
            assert_eq!(places.table.lock().1.len(), 3);
        });
    }

    #[test]
    fn where_all_speak_newcomers_wait() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        runtime.block_on(async {
            let places = Places::new(1);
            let (end, ends) = tokio::sync::oneshot::channel::<()>();
            places
                .run(|seat| async move {
                    let _busy = seat.busy();
                    let _ = ends.await;
                })
                .await;
            yield_now().await;
            let second = tokio::spawn({
                let places = places.clone();
                async move { places.run(|seat| async move { drop(seat) }).await }
            });
            yield_now().await;
            assert!(!second.is_finished());
            let _ = end.send(());
            second.await.expect("it got the place");
        });
    }
}
