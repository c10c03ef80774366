//! SIGINT and SIGTERM, handled between two steps and never in the middle of one.

#[cfg(target_os = "linux")]
use crate::supervisor::is_supervised;
use std::future::poll_fn;
use std::io;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::thread;
use std::time::{Duration, Instant};
use tokio::runtime::Builder;

/// A second signal within this time is the first one, which a terminal sent to this process and the one that waits for it
/// passed on.
const ECHO: Duration = Duration::from_millis(250);

/// Whether a signal was caught, from [`Interrupts::watch`] until the process ends.
#[derive(Clone, Debug)]
pub struct Interrupts {
    caught: Arc<(Mutex<Option<&'static str>>, Condvar)>,
}

impl Interrupts {
    /// Begins to watch: from here on a signal does not end the process. The first is passed to `first`, at
    /// once; for each after it `again` is called.
    /// Fails where signals cannot be watched.
    pub fn watch(
        first: impl Fn(&'static str) + Send + 'static,
        again: impl Fn() + Send + 'static,
    ) -> io::Result<Self> {
        Self::watch_signals(ending, first, again)
    }

    /// Watches the signals that end a full-screen program, which restores the terminal first: also SIGHUP and SIGQUIT.
    /// Fails where signals cannot be watched.
    pub fn watch_at_terminal(
        first: impl Fn(&'static str) + Send + 'static,
        again: impl Fn() + Send + 'static,
    ) -> io::Result<Self> {
        Self::watch_signals(ending_at_terminal, first, again)
    }

    fn watch_signals(
        signals: impl FnOnce() -> io::Result<Vec<Signal>>,
        first: impl Fn(&'static str) + Send + 'static,
        again: impl Fn() + Send + 'static,
    ) -> io::Result<Self> {
        let caught = Arc::new((Mutex::new(None), Condvar::new()));
        let watched = Self { caught: Arc::clone(&caught) };
        let echo = match is_supervised() {
            true => ECHO,
            false => Duration::ZERO,
        };
        let mut last = None;
        watch_each(signals, move |name| {
            let is_echo = last.is_some_and(|last: Instant| last.elapsed() < echo);
            last = Some(Instant::now());
            let (known, wake) = &*caught;
            let before = known.lock().unwrap_or_else(PoisonError::into_inner).replace(name);
            match before {
                None => first(name),
                Some(_) if is_echo => {}
                Some(_) => again(),
            }
            wake.notify_all();
        })?;
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

/// Passes each signal that ends a full-screen program to `caught`, by its name, until the process ends.
/// Fails where signals cannot be watched.
pub(crate) fn pass_each(caught: impl FnMut(&'static str) + Send + 'static) -> io::Result<()> {
    watch_each(ending_at_terminal, caught)
}

fn watch_each(
    signals: impl FnOnce() -> io::Result<Vec<Signal>>,
    mut caught: impl FnMut(&'static str) + Send + 'static,
) -> io::Result<()> {
    let runtime = Builder::new_current_thread().enable_io().build()?;
    let mut signals = {
        let _inside = runtime.enter();
        signals()?
    };
    let watch = move || {
        runtime.block_on(async {
            loop {
                let name = poll_fn(|context| {
                    for signal in &mut signals {
                        if let Poll::Ready(Some(())) = (signal.poll)(context) {
                            return Poll::Ready(signal.name);
                        }
                    }
                    Poll::Pending
                });
                caught(name.await);
            }
        });
    };
    thread::Builder::new().name("signals".to_owned()).spawn(watch)?;
    Ok(())
}

/// Polls for the next occurrence of a signal.
type PollSignal = dyn FnMut(&mut Context<'_>) -> Poll<Option<()>> + Send;

/// A signal that is watched.
struct Signal {
    name: &'static str,
    poll: Box<PollSignal>,
}

impl Signal {
    fn new(
        name: &'static str,
        poll: impl FnMut(&mut Context<'_>) -> Poll<Option<()>> + Send + 'static,
    ) -> Self {
        Self { name, poll: Box::new(poll) }
    }
}

/// Elsewhere no process waits for this one.
#[cfg(not(target_os = "linux"))]
fn is_supervised() -> bool {
    false
}

/// Returns the signals that end a program.
#[cfg(unix)]
fn ending() -> io::Result<Vec<Signal>> {
    use tokio::signal::unix::SignalKind as Kind;
    Ok(vec![unix("SIGINT", Kind::interrupt())?, unix("SIGTERM", Kind::terminate())?])
}

/// Returns the signals that end a full-screen program.
#[cfg(unix)]
fn ending_at_terminal() -> io::Result<Vec<Signal>> {
    use tokio::signal::unix::SignalKind as Kind;
    let mut signals = ending()?;
    signals.extend([unix("SIGHUP", Kind::hangup())?, unix("SIGQUIT", Kind::quit())?]);
    Ok(signals)
}

#[cfg(unix)]
fn unix(name: &'static str, kind: tokio::signal::unix::SignalKind) -> io::Result<Signal> {
    let mut signal = tokio::signal::unix::signal(kind)?;
    Ok(Signal::new(name, move |context| signal.poll_recv(context)))
}

/// Returns the signals that end a program of a console.
#[cfg(windows)]
fn ending() -> io::Result<Vec<Signal>> {
    use tokio::signal::windows::{ctrl_break, ctrl_c};
    let (mut ctrl_c, mut ctrl_break) = (ctrl_c()?, ctrl_break()?);
    Ok(vec![
        Signal::new("Ctrl+C", move |context| ctrl_c.poll_recv(context)),
        Signal::new("Ctrl+Break", move |context| ctrl_break.poll_recv(context)),
    ])
}

/// Returns the signals that end a full-screen program of a console.
#[cfg(windows)]
fn ending_at_terminal() -> io::Result<Vec<Signal>> {
    let mut closed = tokio::signal::windows::ctrl_close()?;
    let mut signals = ending()?;
    signals.push(Signal::new("close", move |context| closed.poll_recv(context)));
    Ok(signals)
}
