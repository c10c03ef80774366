//! One deadline over everything that a call does, and the runtime that it does it in.

use crate::edge::http::error::{HttpError, Phase};
use std::time::Duration;
use tokio::runtime::Builder;
use tokio::time::{Instant, timeout_at};

/// What `Duration::MAX` and its like become; an instant so far away cannot be computed.
const FOR_EVER: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// When a call must be over.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deadline {
    at: Instant,
    given: Duration,
}

impl Deadline {
    /// Starts the clock.
    pub(crate) fn after(given: Duration) -> Self {
        Self { at: Instant::now() + given.min(FOR_EVER), given }
    }

    /// Does something, and gives it up when the time is over.
    pub(crate) async fn within<T>(
        &self,
        address: &str,
        phase: Phase,
        work: impl Future<Output = T>,
    ) -> Result<T, HttpError> {
        timeout_at(self.at, work).await.map_err(|_| HttpError::Timeout {
            address: address.to_owned(),
            phase,
            deadline: self.given,
        })
    }

    /// Returns true if there is time to wait and then retry.
    #[cfg(feature = "apiserver")]
    pub(crate) fn allows(&self, wait: Duration) -> bool {
        wait < self.at.saturating_duration_since(Instant::now())
    }
}

/// Does the work of one call in a runtime of its own.
pub(crate) fn run<T, E: From<HttpError>>(work: impl Future<Output = Result<T, E>>) -> Result<T, E> {
    let runtime = Builder::new_current_thread()
        .enable_io()
        .enable_time()
        .build()
        .map_err(|error| HttpError::Runtime { error })?;
    let done = runtime.block_on(work);
    // A name that is still being looked up blocks a thread, for which a dropped runtime would wait
    // past the deadline.
    runtime.shutdown_background();
    done
}
