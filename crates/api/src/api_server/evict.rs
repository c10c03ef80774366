//! Evicts or deletes a pod, and checks whether it still exists.
//!
//! Both requests carry the UID as a precondition, which the server checks atomically. `dryRun` is in the
//! body and in the query: admission reads only the query.

use crate::api_server::client::{Call, SHORTEST_WAIT};
use crate::api_server::pods::absent_as_none;
use crate::api_server::status::Status;
use crate::api_server::{ApiError, ApiServer};
use crate::http::HttpError;
use hyper::Method;
use hyper::body::Bytes;
use kq_facts::pod_removal::{EvictionResponse, PodPresence, Removal, Target};
use kq_k8s::pod::is_final;
use kq_k8s::validation::{is_namespace_name, is_pod_name};
use serde::Deserialize;
use serde_json::json;
use std::time::Duration;

/// The largest pod, or answer to an eviction, that is read: etcd stores no larger object.
const MAX_POD: u64 = 16 << 20;

/// The fields of a pod that are read.
#[derive(Deserialize)]
struct Object {
    kind: String,
    metadata: Metadata,
    #[serde(default)]
    status: PodStatus,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata {
    uid: String,
    deletion_timestamp: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct PodStatus {
    phase: String,
}

impl ApiServer {
    /// Evicts or deletes a pod, with its own grace period and only if it has this UID.
    ///
    /// If the server is busy, kq retries when the server asks for it; a budget that forbids the eviction is an answer. It must
    /// not be called from asynchronous code.
    pub fn remove_pod(&self, target: &Target, how: Removal, dry_run: bool) -> EvictionResponse {
        let asked = request(target, how, dry_run).and_then(|(method, path, body)| {
            let work = async |call: Call<'_>| call.remove(&method, &path, &body).await;
            self.call(self.deadline(), work)
        });
        match asked {
            Ok(_) => EvictionResponse::Accepted,
            Err(error) => said(&error),
        }
    }

    /// Checks whether a pod exists. It must not be called from asynchronous code.
    /// Fails if that is unknown.
    pub fn find_pod(&self, target: &Target) -> Result<PodPresence, ApiError> {
        let path = path_of(target)?;
        let found = self.call(self.deadline(), async |call| call.ask(&path, MAX_POD).await);
        let Some(answer) = absent_as_none(found)? else { return Ok(PodPresence::Gone) };
        let pod: Object = serde_json::from_slice(&answer)
            .map_err(|error| self.unexpected(&path, format!("not a pod: {error}")))?;
        if pod.kind != "Pod" {
            return Err(self.unexpected(&path, format!("kind {:?}, expected Pod", pod.kind)));
        }
        Ok(match pod.metadata {
            Metadata { uid, .. } if uid != target.uid => PodPresence::Other { uid },
            Metadata { deletion_timestamp, .. } => PodPresence::There {
                is_going: deletion_timestamp.is_some(),
                has_ended: is_final(&pod.status.phase),
            },
        })
    }
}

impl Call<'_> {
    /// Sends the request; retries when a busy server asks for it. Retrying is safe, because the UID is a
    /// precondition. After another failure the request may have succeeded, so the pod must be checked.
    async fn remove(&self, method: &Method, path: &str, body: &Bytes) -> Result<Vec<u8>, ApiError> {
        loop {
            let sent = self.send(method.clone(), path, body.clone(), MAX_POD).await;
            let Err(ApiError::Http(error)) = sent else { return sent };
            let wait = match &error {
                HttpError::Status { code: 429, refusal, retry_after, .. }
                    if Status::parse(refusal).is_none_or(|it| it.budgets().is_empty()) =>
                {
                    *retry_after
                }
                _ => None,
            };
            match wait.map(|wait| wait.max(SHORTEST_WAIT)) {
                Some(wait) if self.deadline.allows(wait) => tokio::time::sleep(wait).await,
                _ => return Err(error.into()),
            }
        }
    }
}

/// Returns the path of a pod; nothing but names becomes a part of it.
fn path_of(target: &Target) -> Result<String, ApiError> {
    let Target { namespace, name, .. } = target;
    if !is_namespace_name(namespace) || !is_pod_name(name) {
        let (namespace, name) = (Some(namespace.clone()), name.clone());
        return Err(ApiError::PodName { namespace, name });
    }
    Ok(format!("/api/v1/namespaces/{namespace}/pods/{name}"))
}

fn request(
    target: &Target,
    how: Removal,
    dry_run: bool,
) -> Result<(Method, String, Bytes), ApiError> {
    let path = path_of(target)?;
    let mut options = json!({
        "gracePeriodSeconds": target.grace_period_seconds,
        "preconditions": {"uid": target.uid},
    });
    if dry_run {
        options["dryRun"] = json!(["All"]);
    }
    let query = if dry_run { "?dryRun=All" } else { "" };
    let (method, path, body) = match how {
        Removal::Eviction => {
            let eviction = json!({
                "apiVersion": "policy/v1",
                "kind": "Eviction",
                "metadata": {"namespace": target.namespace, "name": target.name},
                "deleteOptions": options,
            });
            (Method::POST, format!("{path}/eviction{query}"), eviction)
        }
        Removal::Deletion => {
            options["apiVersion"] = json!("v1");
            options["kind"] = json!("DeleteOptions");
            (Method::DELETE, format!("{path}{query}"), options)
        }
    };
    Ok((method, path, Bytes::from(body.to_string())))
}

/// Returns the outcome of a request that was not a success.
fn said(error: &ApiError) -> EvictionResponse {
    let reason = error.reason();
    let ApiError::Http(http) = error else {
        return match error {
            ApiError::Unexpected { .. } => EvictionResponse::Unclear { reason, is_over: true },
            _ => EvictionResponse::Unsent { reason },
        };
    };
    if http.is_unsent() {
        return EvictionResponse::Unsent { reason };
    }
    let HttpError::Status { code, refusal, retry_after, .. } = http else {
        return EvictionResponse::Unclear { reason, is_over: false };
    };
    match code {
        404 => EvictionResponse::NotFound { reason },
        409 => EvictionResponse::Conflict { reason },
        429 => match Status::parse(refusal).map(|status| (status.budgets(), status)) {
            Some((causes, status)) if !causes.is_empty() => {
                let seconds = status.retry_after().map(Duration::from_secs);
                EvictionResponse::Budget {
                    message: status.message,
                    causes,
                    retry_after: retry_after.or(seconds),
                }
            }
            _ => EvictionResponse::Refused { reason },
        },
        // A proxy in between may not have seen the deletion.
        502 | 504 => EvictionResponse::Unclear { reason, is_over: false },
        500.. => EvictionResponse::Unclear { reason, is_over: true },
        _ => EvictionResponse::Refused { reason },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    fn target(namespace: &str, name: &str) -> Target {
        Target {
            pod: format!("{namespace}/{name}"),
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            uid: "u-1".to_owned(),
            grace_period_seconds: 7,
        }
    }

    #[test]
    fn requests_name_the_pod_its_uid_and_its_grace() {
        let read = |bytes: &Bytes| serde_json::from_slice::<Value>(bytes).expect("JSON");
        let (method, path, body) =
            request(&target("shop", "web.1"), Removal::Eviction, true).expect("a request");
        assert_eq!(method, Method::POST);
        assert_eq!(path, "/api/v1/namespaces/shop/pods/web.1/eviction?dryRun=All");
        let expected = json!({
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"namespace": "shop", "name": "web.1"},
            "deleteOptions": {
                "gracePeriodSeconds": 7, "preconditions": {"uid": "u-1"}, "dryRun": ["All"],
            },
        });
        assert_eq!(read(&body), expected);
        let (method, path, body) =
            request(&target("shop", "web"), Removal::Deletion, false).expect("a request");
        assert_eq!((method, path.as_str()), (Method::DELETE, "/api/v1/namespaces/shop/pods/web"));
        let expected = json!({
            "apiVersion": "v1", "kind": "DeleteOptions",
            "gracePeriodSeconds": 7, "preconditions": {"uid": "u-1"},
        });
        assert_eq!(read(&body), expected);
    }

    #[test]
    fn nothing_but_names_becomes_a_part_of_a_path() {
        for (namespace, name) in [
            ("", "web"),
            ("shop", ""),
            ("shop", ".."),
            ("a/b", "web"),
            ("a.b", "web"),
            ("shop", "web/../../x"),
            ("shop", "web?dryRun=All"),
            ("shop", "web%2f"),
            ("Shop", "web"),
        ] {
            let refused = request(&target(namespace, name), Removal::Deletion, false);
            assert!(matches!(refused, Err(ApiError::PodName { .. })), "{namespace}/{name}");
        }
    }
}
