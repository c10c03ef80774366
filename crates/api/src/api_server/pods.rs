//! Creates, reads and deletes a pod, and reads its log; requests a single pod with its events, all nodes, the pods of
//! each, and all PodDisruptionBudgets.
//!
//! The server selects events by name, so that a cluster with a hundred thousand events sends only those of one pod. Without a
//! namespace, it searches all of them.

use crate::api_server::client::{SHORTEST_WAIT, check_name};
use crate::api_server::page::{List, is_node_name};
use crate::api_server::status::Status;
use crate::api_server::{ApiError, ApiServer, DeletedPod};
use crate::http::HttpError;
use hyper::Method;
use hyper::body::Bytes;
use kq_k8s::validation::{is_namespace_name, is_pod_name};
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// The largest pod that is read: etcd stores no larger object.
const MAX_POD: u64 = 8 << 20;

/// A created pod.
#[derive(Deserialize)]
struct Made {
    metadata: MadeMetadata,
}

#[derive(Deserialize)]
struct MadeMetadata {
    uid: String,
}

impl ApiServer {
    /// Creates a pod, and returns its UID. If the server is busy, kq retries when the server asks for it. It must not be
    /// called from asynchronous code.
    /// Fails if the pod was rejected, and if it is unknown whether it was created.
    pub fn create_pod(&self, namespace: &str, pod: &Value) -> Result<String, ApiError> {
        let path = pods(namespace)?;
        let made = self.patiently(&Method::POST, &path, &Bytes::from(pod.to_string()))?;
        let made: Made = serde_json::from_slice(&made)
            .map_err(|error| self.unexpected(&path, format!("not a pod: {error}")))?;
        Ok(made.metadata.uid)
    }

    /// Returns the pods of a namespace that have a label: unparsed pages of JSON. It must not be called from asynchronous
    /// code.
    /// Fails unless all of them arrived.
    pub fn pods_with_label(
        &self,
        namespace: &str,
        label: &str,
        value: &str,
        deadline: Duration,
    ) -> Result<Vec<Vec<u8>>, ApiError> {
        self.list(&List::labelled_pods(pods(namespace)?, label, value), deadline)
    }

    /// Returns a pod as JSON; `None`: it does not exist. It must not be called from asynchronous code.
    /// Fails if that is unknown.
    pub fn read_pod(&self, namespace: &str, name: &str) -> Result<Option<Vec<u8>>, ApiError> {
        let path = pod(namespace, name)?;
        let found = self.call(self.deadline(), async |call| call.ask(&path, MAX_POD).await);
        absent_as_none(found)
    }

    /// Returns the log of a pod's only container. It must not be called from asynchronous code.
    /// Fails if it is incomplete, or exceeds the limit.
    pub fn pod_log(&self, namespace: &str, name: &str, limit: u64) -> Result<Vec<u8>, ApiError> {
        let path = format!("{}/log", pod(namespace, name)?);
        self.call(self.deadline(), async |call| {
            call.receive("text/plain", Method::GET, &path, Bytes::new(), limit).await
        })
    }

    /// Deletes the pod with this UID at once, and no other pod of its name. It must not be called from asynchronous code.
    /// Fails if it may still exist.
    pub fn delete_pod(
        &self,
        namespace: &str,
        name: &str,
        uid: &str,
    ) -> Result<DeletedPod, ApiError> {
        let path = pod(namespace, name)?;
        let options = json!({
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "gracePeriodSeconds": 0,
            "preconditions": {"uid": uid},
        });
        let deleted = self.patiently(&Method::DELETE, &path, &Bytes::from(options.to_string()));
        match absent_as_none(deleted) {
            // The precondition failed: another pod has this name.
            Err(ApiError::Http(HttpError::Status { code: 409, .. })) => Ok(DeletedPod::Replaced),
            deleted => Ok(deleted?.map_or(DeletedPod::Absent, |_| DeletedPod::Deleted)),
        }
    }

    /// Sends a request; retries when a busy server asks for it.
    fn patiently(&self, method: &Method, path: &str, body: &Bytes) -> Result<Vec<u8>, ApiError> {
        self.call(self.deadline(), async |call| {
            loop {
                let sent = call.send(method.clone(), path, body.clone(), MAX_POD).await;
                let Err(ApiError::Http(error)) = sent else { return sent };
                let wait = match &error {
                    HttpError::Status { code: 429, retry_after: Some(wait), .. } => {
                        (*wait).max(SHORTEST_WAIT)
                    }
                    _ => return Err(error.into()),
                };
                if !call.deadline.allows(wait) {
                    return Err(error.into());
                }
                tokio::time::sleep(wait).await;
            }
        })
    }
}

pub(super) fn absent_as_none(
    found: Result<Vec<u8>, ApiError>,
) -> Result<Option<Vec<u8>>, ApiError> {
    match found {
        Ok(answer) => Ok(Some(answer)),
        // Only a server of this API answers so in a Status; another server has no pods at all.
        Err(ApiError::Http(HttpError::Status { code: 404, refusal, .. }))
            if Status::parse(&refusal).is_some() =>
        {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// Returns the path of a namespace's pods; nothing but a name becomes a part of it.
fn pods(namespace: &str) -> Result<String, ApiError> {
    match is_namespace_name(namespace) {
        true => Ok(format!("/api/v1/namespaces/{namespace}/pods")),
        false => {
            Err(ApiError::PodName { namespace: Some(namespace.to_owned()), name: String::new() })
        }
    }
}

fn pod(namespace: &str, name: &str) -> Result<String, ApiError> {
    match is_pod_name(name) {
        true => Ok(format!("{}/{name}", pods(namespace)?)),
        false => {
            Err(ApiError::PodName { namespace: Some(namespace.to_owned()), name: name.to_owned() })
        }
    }
}

/// The number of concurrent lists: few enough for the limits of any API server.
const AT_ONCE: usize = 8;

/// The largest list of the pods of one node among many: 1,000 pods of 32 kB. The memory that kq allows itself is for all
/// nodes together.
const MAX_PODS_OF_NODE: u64 = 32 << 20;

/// The number of consecutive lists without any answer after which the rest are skipped.
const PATIENCE: usize = 2 * AT_ONCE;

impl ApiServer {
    /// Returns the nodes: unparsed pages of JSON, each a `NodeList`.
    /// Fails unless all of them arrived.
    pub fn nodes(&self, deadline: Duration) -> Result<Vec<Vec<u8>>, ApiError> {
        self.list(&List::nodes(), deadline)
    }

    /// Returns the PodDisruptionBudgets: unparsed pages of JSON, each a `PodDisruptionBudgetList`.
    /// Fails unless all of them arrived.
    pub fn disruption_budgets(&self, deadline: Duration) -> Result<Vec<Vec<u8>>, ApiError> {
        self.list(&List::disruption_budgets(), deadline)
    }

    /// Changes fields of a node by a JSON merge patch. It must not be called from asynchronous code.
    /// Fails if the node may be unchanged.
    pub fn patch_node(&self, node: &str, patch: &Value) -> Result<(), ApiError> {
        check_name(node)?;
        let path = format!("/api/v1/nodes/{node}");
        self.patiently(&Method::PATCH, &path, &Bytes::from(patch.to_string())).map(drop)
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
                    _ => self.pods_of_node_within(node, deadline, MAX_PODS_OF_NODE),
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

impl ApiServer {
    /// Returns the pods of a name: unparsed pages of JSON, each a `PodList`. It must not be called from
    /// asynchronous code.
    /// Fails unless all of them arrived, and for an invalid name.
    pub fn pods_of_name(
        &self,
        namespace: Option<&str>,
        name: &str,
        deadline: Duration,
    ) -> Result<Vec<Vec<u8>>, ApiError> {
        check(namespace, name)?;
        let selector = format!("metadata.name={name}");
        self.list(&List::within(namespace, "pods", "PodList", selector), deadline)
    }

    /// Returns the events about pods of a name: unparsed pages of JSON, each an `EventList`. It must not be
    /// called from asynchronous code.
    /// Fails unless all of them arrived, and for an invalid name.
    pub fn events_of_pod(
        &self,
        namespace: Option<&str>,
        name: &str,
        deadline: Duration,
    ) -> Result<Vec<Vec<u8>>, ApiError> {
        check(namespace, name)?;
        let selector = format!("involvedObject.kind=Pod,involvedObject.name={name}");
        self.list(&List::within(namespace, "events", "EventList", selector), deadline)
    }

    /// Returns the events about the pods of a namespace, in the same form. It must not be called from asynchronous code.
    /// Fails unless all of them arrived, and for an invalid name.
    pub fn events_of_namespace(
        &self,
        namespace: &str,
        deadline: Duration,
    ) -> Result<Vec<Vec<u8>>, ApiError> {
        check(Some(namespace), "x")?;
        let selector = "involvedObject.kind=Pod".to_owned();
        self.list(&List::within(Some(namespace), "events", "EventList", selector), deadline)
    }

    /// Returns the events about the pod with a UID, in the same form; they contain its name. It must not be
    /// called from asynchronous code.
    /// Fails unless all of them arrived, and for an invalid UID.
    pub fn events_of_uid(&self, uid: &str, deadline: Duration) -> Result<Vec<Vec<u8>>, ApiError> {
        check(None, &uid.to_ascii_lowercase())?;
        let selector = format!("involvedObject.kind=Pod,involvedObject.uid={uid}");
        self.list(&List::within(None, "events", "EventList", selector), deadline)
    }
}

/// Rejects a name that would change the request: a comma extends a selector, a slash a path.
fn check(namespace: Option<&str>, name: &str) -> Result<(), ApiError> {
    match is_node_name(name) && namespace.is_none_or(is_node_name) {
        true => Ok(()),
        false => Err(ApiError::PodName {
            namespace: namespace.map(str::to_owned),
            name: name.to_owned(),
        }),
    }
}
