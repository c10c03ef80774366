//! The state of the probed containers, polled from the runtime during repeated probes.

use kq_facts::runtime::{Container, ContainerState, Sandbox};
use kq_io::clock::steady;
use kq_linux::cri::{CriSession, RuntimeNeeds};
use kq_probe::Status;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The largest age of a list of containers. The kubelet itself lists its containers once a second
/// (`genericPlegRelistPeriod`).
const MAX_AGE: Duration = Duration::from_secs(1);

/// Lists containers and sandboxes at most once a second, for all probes together.
pub struct ContainerPoller {
    endpoint: Option<String>,
    host_root: PathBuf,
    timeout: Duration,
    last: Mutex<Option<Listing>>,
}

struct Listing {
    at: Instant,
    session: Option<CriSession>,
    /// The newest containers by pod UID and name; `None`: the runtime did not answer.
    containers: Option<BTreeMap<(String, String), Container>>,
    /// The newest sandboxes by pod UID.
    sandboxes: BTreeMap<String, Sandbox>,
}

/// A container at a moment.
#[derive(Clone, Debug)]
pub enum ContainerObservation {
    /// The runtime did not answer.
    Unknown,
    /// The pod has no container of that name.
    Gone,
    /// The runtime has the container.
    Present {
        container: Box<Container>,
        /// `None`: the container has not ended, or the code is unknown.
        exit_code: Option<i32>,
        /// The sandbox of its pod.
        sandbox: Option<Box<Sandbox>>,
    },
}

impl ContainerObservation {
    pub fn status(&self) -> Status<'_> {
        match self {
            Self::Unknown => Status::AsReported,
            Self::Gone => Status::Gone,
            Self::Present { container, exit_code, .. } => Status::Seen(container, *exit_code),
        }
    }
}

impl ContainerPoller {
    /// Makes a poller of the runtime at an endpoint; without one, every container is unknown.
    pub fn new(endpoint: Option<String>, host_root: PathBuf, timeout: Duration) -> Self {
        Self { endpoint, host_root, timeout, last: Mutex::new(None) }
    }

    /// Returns a container of a pod, not older than [`MAX_AGE`].
    pub fn container(&self, uid: &str, name: &str) -> ContainerObservation {
        let Some(endpoint) = self.endpoint.as_deref().filter(|_| !uid.is_empty()) else {
            return ContainerObservation::Unknown;
        };
        let mut last = self.last();
        if last.as_ref().is_none_or(|last| last.at.elapsed() >= MAX_AGE) {
            *last = Some(self.list(endpoint, last.take()));
        }
        let Some(last) = last.as_ref() else { return ContainerObservation::Unknown };
        let Some(containers) = &last.containers else { return ContainerObservation::Unknown };
        let Some(container) = containers.get(&(uid.to_owned(), name.to_owned())) else {
            return ContainerObservation::Gone;
        };
        let ended = container.state == ContainerState::Exited;
        let session = last.session.as_ref().filter(|_| ended);
        let details = session.and_then(|it| it.container_details(&container.id).ok());
        ContainerObservation::Present {
            container: Box::new(container.clone()),
            exit_code: details.flatten().and_then(|details| details.exit_code),
            sandbox: last.sandboxes.get(uid).cloned().map(Box::new),
        }
    }

    /// Returns the first IP of a sandbox; `None`: the runtime reports none.
    pub fn ip(&self, sandbox: &Sandbox) -> Option<String> {
        let last = self.last();
        let status = last.as_ref()?.session.as_ref()?.sandbox_status(&sandbox.id).ok()??;
        status.ips.first().cloned()
    }

    fn last(&self) -> MutexGuard<'_, Option<Listing>> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn list(&self, endpoint: &str, last: Option<Listing>) -> Listing {
        let session = last.and_then(|last| last.session);
        let session =
            session.or_else(|| CriSession::connect(endpoint, &self.host_root, self.timeout).ok());
        let needs = RuntimeNeeds { containers: true, sandboxes: true, ..RuntimeNeeds::default() };
        let facts = session.as_ref().and_then(|session| session.read(needs).ok());
        let (containers, sandboxes) =
            facts.map(|facts| (facts.containers.found, facts.sandboxes.found)).unwrap_or_default();
        let containers = containers.map(|found| {
            let key = |it: &Container| (it.pod_uid.clone(), it.name.clone());
            let rank =
                |it: &Container| (it.state == ContainerState::Running, it.attempt, it.created_at);
            newest(found.value.into_inner(), key, rank)
        });
        let sandboxes = sandboxes.map(|found| {
            let rank = |it: &Sandbox| (it.ready, it.attempt, it.created_at);
            newest(found.value.into_inner(), |it| it.uid.clone(), rank)
        });
        Listing { at: steady(), session, containers, sandboxes: sandboxes.unwrap_or_default() }
    }
}

/// Returns the item with the highest rank of each key; the first of equal ones.
fn newest<T, K: Ord, R: Ord>(
    all: Vec<T>,
    key: impl Fn(&T) -> K,
    rank: impl Fn(&T) -> R,
) -> BTreeMap<K, T> {
    let mut newest = BTreeMap::new();
    for item in all {
        let key = key(&item);
        if newest.get(&key).is_none_or(|other| rank(other) < rank(&item)) {
            newest.insert(key, item);
        }
    }
    newest
}
