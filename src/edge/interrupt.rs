//! SIGINT and SIGTERM, handled between two steps and never in the middle of one.

use std::future::poll_fn;
use std::io;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::task::Poll;
use std::thread;
use std::time::{Duration, Instant};
use tokio::runtime::Builder;
use tokio::signal::unix::{SignalKind, signal};

/// Whether a signal was caught, from [`Interrupts::watch`] until the process ends.
#[derive(Clone, Debug)]
pub struct Interrupts {
    caught: Arc<(Mutex<Option<&'static str>>, Condvar)>,
}

impl Interrupts {
    /// Begins to watch: from here on a signal does not end the process. The first is passed to `first`, at
    /// once; for each after it `again` is called.
    ///
    /// # Errors
    ///
    /// Fails where signals cannot be watched.
    pub fn watch(
        first: impl Fn(&'static str) + Send + 'static,
        again: impl Fn() + Send + 'static,
    ) -> io::Result<Self> {
        let kinds = [("SIGINT", SignalKind::interrupt()), ("SIGTERM", SignalKind::terminate())];
        Self::watch_kinds(&kinds, first, again)
    }

    /// Watches the signals that end a full-screen program, which restores the terminal first: also SIGHUP and SIGQUIT.
    ///
    /// # Errors
    ///
    /// Fails where signals cannot be watched.
    pub fn watch_at_terminal(
        first: impl Fn(&'static str) + Send + 'static,
        again: impl Fn() + Send + 'static,
    ) -> io::Result<Self> {
        let kinds = [
            ("SIGINT", SignalKind::interrupt()),
            ("SIGTERM", SignalKind::terminate()),
            ("SIGHUP", SignalKind::hangup()),
            ("SIGQUIT", SignalKind::quit()),
        ];
        Self::watch_kinds(&kinds, first, again)
    }

    fn watch_kinds(
        kinds: &[(&'static str, SignalKind)],
        first: impl Fn(&'static str) + Send + 'static,
        again: impl Fn() + Send + 'static,
    ) -> io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_io().build()?;
        let mut signals = {
            let _inside = runtime.enter();
            let watched = kinds.iter().map(|(name, kind)| Ok((*name, signal(*kind)?)));
            watched.collect::<io::Result<Vec<_>>>()?
        };
        let caught = Arc::new((Mutex::new(None), Condvar::new()));
        let watched = Self { caught: Arc::clone(&caught) };
        let watch = move || {
            runtime.block_on(async {
                loop {
                    let name = poll_fn(|context| {
                        for (name, signal) in &mut signals {
                            if let Poll::Ready(Some(())) = signal.poll_recv(context) {
                                return Poll::Ready(*name);
                            }
                        }
                        Poll::Pending
                    })
                    .await;
                    let (known, wake) = &*caught;
                    let before = known.lock().unwrap_or_else(PoisonError::into_inner).replace(name);
                    match before {
                        None => first(name),
                        Some(_) => again(),
                    }
                    wake.notify_all();
                }
            });
        };
        thread::Builder::new().name("signals".to_owned()).spawn(watch)?;
        Ok(watched)
    }

    /// Returns the signal that was caught.
    pub fn caught(&self) -> Option<&'static str> {
        *self.caught.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits, but no longer than until a signal is caught.
    pub fn pause(&self, wait: Duration) {
        let (caught, wake) = &*self.caught;
        let until = Instant::now() + wait.min(Duration::from_secs(24 * 60 * 60));
        let mut caught = caught.lock().unwrap_or_else(PoisonError::into_inner);
        while caught.is_none() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            caught = wake.wait_timeout(caught, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}
