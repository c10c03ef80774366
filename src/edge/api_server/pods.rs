//! Creates, reads and deletes a pod, and reads its log.

use crate::edge::api_server::client::{Call, SHORTEST_WAIT};
use crate::edge::api_server::page::List;
use crate::edge::api_server::status::Status;
use crate::edge::api_server::{ApiError, ApiServer};
use crate::edge::http::{Deadline, HttpError, run};
use crate::k8s::validation::{is_namespace_name, is_pod_name};
use hyper::Method;
use hyper::body::Bytes;
use serde::Deserialize;
use serde_json::{Value, json};
use std::time::Duration;

/// The largest pod that is read: etcd stores no larger object.
const MAX_POD: u64 = 16 << 20;

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
    ///
    /// # Errors
    ///
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
    ///
    /// # Errors
    ///
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
    ///
    /// # Errors
    ///
    /// Fails if that is unknown.
    pub fn read_pod(&self, namespace: &str, name: &str) -> Result<Option<Vec<u8>>, ApiError> {
        let path = pod(namespace, name)?;
        let found = run(async {
            let deadline = Deadline::after(self.deadline());
            let call = Call { server: self, client: self.client(deadline)?, deadline };
            call.ask(&path, MAX_POD).await
        });
        absent_as_none(found)
    }

    /// Returns the log of a pod's only container. It must not be called from asynchronous code.
    ///
    /// # Errors
    ///
    /// Fails if it is incomplete, or exceeds the limit.
    pub fn pod_log(&self, namespace: &str, name: &str, limit: u64) -> Result<Vec<u8>, ApiError> {
        let path = format!("{}/log", pod(namespace, name)?);
        run(async {
            let deadline = Deadline::after(self.deadline());
            let call = Call { server: self, client: self.client(deadline)?, deadline };
            call.receive("text/plain", Method::GET, &path, Bytes::new(), limit).await
        })
    }

    /// Deletes the pod with this UID at once. A missing pod counts as deleted. It must not be called from asynchronous code.
    ///
    /// # Errors
    ///
    /// Fails if it may still exist.
    pub fn delete_pod(&self, namespace: &str, name: &str, uid: &str) -> Result<(), ApiError> {
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
            Err(ApiError::Http(HttpError::Status { code: 409, .. })) => Ok(()),
            deleted => deleted.map(drop),
        }
    }

    /// Sends a request; retries when a busy server asks for it.
    fn patiently(&self, method: &Method, path: &str, body: &Bytes) -> Result<Vec<u8>, ApiError> {
        run(async {
            let deadline = Deadline::after(self.deadline());
            let call = Call { server: self, client: self.client(deadline)?, deadline };
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

fn absent_as_none(found: Result<Vec<u8>, ApiError>) -> Result<Option<Vec<u8>>, ApiError> {
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
