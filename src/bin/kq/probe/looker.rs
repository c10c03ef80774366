//! What the runtime says of the containers of probes while they are probed again and again.

use kq::edge::clock::steady;
use kq::edge::cri::{CriSession, RuntimeNeeds};
use kq::facts::runtime::{Container, ContainerState, Sandbox};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// How old an answer may be: a kubelet itself lists its containers once a second
/// (`genericPlegRelistPeriod`).
const FRESH: Duration = Duration::from_secs(1);

/// Asks the runtime, for everybody who wants to know, at most once a second.
pub struct ContainerPoller {
    endpoint: Option<String>,
    host_root: PathBuf,
    timeout: Duration,
    last: Mutex<Option<Last>>,
}

struct Last {
    at: Instant,
    session: Option<CriSession>,
    containers: BTreeMap<(String, String), Container>,
    sandboxes: BTreeMap<String, Sandbox>,
    asked: bool,
}

/// What became of a container.
#[derive(Clone, Debug, Default)]
pub enum Look {
    /// Nobody could be asked.
    #[default]
    NotAsked,
    /// The runtime has none of that name in the pod.
    Gone,
    There {
        /// What it does.
        container: Box<Container>,
        /// How it ended; `None`: it has not, or nobody knows.
        exit_code: Option<i32>,
        /// The sandbox of its pod.
        sandbox: Option<Box<Sandbox>>,
    },
}

impl ContainerPoller {
    /// Asks the runtime at an endpoint; without one it never asks.
    pub fn new(endpoint: Option<String>, host_root: PathBuf, timeout: Duration) -> Self {
        Self { endpoint, host_root, timeout, last: Mutex::new(None) }
    }

    /// Returns what became of a container of a pod.
    pub fn look(&self, uid: &str, name: &str) -> Look {
        let Some(endpoint) = self.endpoint.as_deref().filter(|_| !uid.is_empty()) else {
            return Look::NotAsked;
        };
        let mut last = self.last.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let is_fresh = last.as_ref().is_some_and(|last| last.at.elapsed() < FRESH);
        if !is_fresh {
            *last = Some(self.ask(endpoint, last.take()));
        }
        let Some(last) = last.as_ref().filter(|last| last.asked) else { return Look::NotAsked };
        match last.containers.get(&(uid.to_owned(), name.to_owned())) {
            None => Look::Gone,
            Some(container) => {
                let ended = container.state == ContainerState::Exited;
                let session = last.session.as_ref().filter(|_| ended);
                let details = session.and_then(|it| it.container_details(&container.id).ok());
                Look::There {
                    container: Box::new(container.clone()),
                    exit_code: details.flatten().and_then(|details| details.exit_code),
                    sandbox: last.sandboxes.get(uid).cloned().map(Box::new),
                }
            }
        }
    }

    /// Returns the first IP of a sandbox, if the runtime tells it.
    pub fn ip(&self, sandbox: &Sandbox) -> Option<String> {
        let last = self.last.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let status = last.as_ref()?.session.as_ref()?.sandbox_status(&sandbox.id).ok()??;
        status.ips.first().cloned()
    }

    fn ask(&self, endpoint: &str, last: Option<Last>) -> Last {
        let session = last.and_then(|last| last.session);
        let session =
            session.or_else(|| CriSession::connect(endpoint, &self.host_root, self.timeout).ok());
        let needs = RuntimeNeeds { containers: true, sandboxes: true, ..RuntimeNeeds::default() };
        let facts = session.as_ref().and_then(|session| session.read(needs).ok());
        let (containers, sandboxes) =
            facts.map(|facts| (facts.containers.found, facts.sandboxes.found)).unwrap_or_default();
        let asked = containers.is_some();
        let mut newest: BTreeMap<(String, String), Container> = BTreeMap::new();
        let rank =
            |it: &Container| (it.state == ContainerState::Running, it.attempt, it.created_at);
        for container in containers.into_iter().flat_map(|found| found.value) {
            let key = (container.pod_uid.clone(), container.name.clone());
            if newest.get(&key).is_none_or(|other| rank(other) < rank(&container)) {
                newest.insert(key, container);
            }
        }
        let mut of_pods: BTreeMap<String, Sandbox> = BTreeMap::new();
        for sandbox in sandboxes.into_iter().flat_map(|found| found.value) {
            let rank = |it: &Sandbox| (it.ready, it.attempt, it.created_at);
            if of_pods.get(&sandbox.uid).is_none_or(|other| rank(other) < rank(&sandbox)) {
                of_pods.insert(sandbox.uid.clone(), sandbox);
            }
        }
        Last { at: steady(), session, containers: newest, sandboxes: of_pods, asked }
    }
}
