//! Making a pod, looking at it, reading its log and deleting it.

use crate::edge::api_server::client::{Call, SHORTEST_WAIT};
use crate::edge::api_server::status::Status;
use crate::edge::api_server::{ApiError, ApiServer};
use crate::edge::http::{Deadline, HttpError, run};
use crate::k8s::validation::{is_namespace_name, is_pod_name};
use hyper::Method;
use hyper::body::Bytes;
use serde::Deserialize;
use serde_json::{Value, json};

/// More is not read of a pod: etcd keeps no object larger than that.
const MAX_POD: u64 = 16 << 20;

/// A pod that was made.
#[derive(Deserialize)]
struct Made {
    metadata: MadeMetadata,
}

#[derive(Deserialize)]
struct MadeMetadata {
    uid: String,
}

impl ApiServer {
    /// Makes a pod, and returns its UID. A server that is busy is asked again when it says. Not to be called from
    /// asynchronous code.
    ///
    /// # Errors
    ///
    /// Fails where the pod was refused, and where it is not known whether it was made.
    pub fn create_pod(&self, namespace: &str, pod: &Value) -> Result<String, ApiError> {
        let path = pods(namespace)?;
        let made = self.patiently(&Method::POST, &path, &Bytes::from(pod.to_string()))?;
        let made: Made = serde_json::from_slice(&made)
            .map_err(|error| self.unexpected(&path, format!("no pod: {error}")))?;
        Ok(made.metadata.uid)
    }

    /// Returns a pod as JSON; `None`: there is none. Not to be called from asynchronous code.
    ///
    /// # Errors
    ///
    /// Fails when that is not known.
    pub fn read_pod(&self, namespace: &str, name: &str) -> Result<Option<Vec<u8>>, ApiError> {
        let path = pod(namespace, name)?;
        let found = run(async {
            let deadline = Deadline::after(self.deadline());
            let call = Call { server: self, client: self.client(deadline)?, deadline };
            call.ask(&path, MAX_POD).await
        });
        absent_as_none(found)
    }

    /// Returns the log of a pod's only container. Not to be called from asynchronous code.
    ///
    /// # Errors
    ///
    /// Fails when it did not come as a whole, or is larger than so many bytes.
    pub fn pod_log(&self, namespace: &str, name: &str, limit: u64) -> Result<Vec<u8>, ApiError> {
        let path = format!("{}/log", pod(namespace, name)?);
        run(async {
            let deadline = Deadline::after(self.deadline());
            let call = Call { server: self, client: self.client(deadline)?, deadline };
            call.receive("text/plain", Method::GET, &path, Bytes::new(), limit).await
        })
    }

    /// Deletes the pod with this UID at once. One that is not there is deleted. Not to be called from asynchronous code.
    ///
    /// # Errors
    ///
    /// Fails when it may still be there.
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
            // The precondition does not hold: the pod of this name is another one.
            Err(ApiError::Http(HttpError::Status { code: 409, .. })) => Ok(()),
            deleted => deleted.map(drop),
        }
    }

    /// Sends a request, again where a server that is too busy says when.
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
        // Only a server of this API says so in a Status; another one has no pods at all.
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
