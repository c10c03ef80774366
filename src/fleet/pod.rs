//! The pod that runs a question on a node, and its states.

use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The label that has [`MANAGED_BY`].
pub const MANAGED_BY_LABEL: &str = "app.kubernetes.io/managed-by";

/// Marks the pods of all fleets.
pub const MANAGED_BY: &str = "kq-fleet";

/// The label that has the run.
pub const RUN_LABEL: &str = "kq.fleet/run";

/// kq in its image.
const PROGRAM: &str = "/usr/bin/kq";

/// Reasons of a container that waits, from which it does not recover within a question.
const STUCK: [&str; 7] = [
    "ImagePullBackOff",
    "InvalidImageName",
    "ErrImageNeverPull",
    "CreateContainerConfigError",
    "CreateContainerError",
    "RunContainerError",
    "CrashLoopBackOff",
];

/// How pods are made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PodSettings {
    /// Where they are.
    pub namespace: String,
    /// The image of kq.
    pub image: String,
    /// `Always`, `IfNotPresent` or `Never`; `None`: the API server's default.
    pub image_pull_policy: Option<String>,
    /// The service account; `None`: the default one. Its token is not mounted.
    pub service_account: Option<String>,
    /// The priority class; `None`: the cluster's default.
    pub priority_class: Option<String>,
    /// The requests of its container, by resource; empty: none.
    pub requests: BTreeMap<String, String>,
    /// After so many seconds the kubelet ends the pod, whatever becomes of kq.
    pub deadline_seconds: u64,
    /// What distinguishes this run from others.
    pub run: String,
}

impl PodSettings {
    /// Returns the name of the pod of the node with this number.
    pub fn name(&self, number: usize) -> String {
        format!("kq-fleet-{}-{number}", self.run)
    }

    /// Returns the pod that asks a question on a node. It is bound to the node by its name, so that no scheduler decides.
    pub fn pod(&self, number: usize, node: &str, question: &[String]) -> Value {
        let mut command = vec![PROGRAM.to_owned(), "fleet".to_owned(), "answer".to_owned()];
        command.push("--".to_owned());
        command.extend(question.iter().cloned());
        let mut container = json!({
            "name": "kq",
            "image": self.image,
            "command": command,
            "securityContext": {
                "privileged": true,
                "readOnlyRootFilesystem": true,
                "runAsUser": 0,
            },
            "volumeMounts": [{
                "name": "host",
                "mountPath": "/host",
                "readOnly": true,
                // The mounts below it too, where the runtime can.
                "recursiveReadOnly": "IfPossible",
            }],
        });
        if let Some(policy) = &self.image_pull_policy {
            container["imagePullPolicy"] = json!(policy);
        }
        if !self.requests.is_empty() {
            container["resources"] = json!({"requests": self.requests});
        }
        let mut spec = json!({
            "nodeName": node,
            "restartPolicy": "Never",
            "activeDeadlineSeconds": self.deadline_seconds,
            "terminationGracePeriodSeconds": 0,
            "automountServiceAccountToken": false,
            "enableServiceLinks": false,
            "hostNetwork": true,
            "hostPID": true,
            "tolerations": [{"operator": "Exists"}],
            "containers": [container],
            "volumes": [{"name": "host", "hostPath": {"path": "/", "type": "Directory"}}],
        });
        if let Some(account) = &self.service_account {
            spec["serviceAccountName"] = json!(account);
        }
        if let Some(class) = &self.priority_class {
            spec["priorityClassName"] = json!(class);
        }
        json!({
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": self.name(number),
                "namespace": self.namespace,
                "labels": {
                    "app.kubernetes.io/name": "kq",
                    MANAGED_BY_LABEL: MANAGED_BY,
                    RUN_LABEL: self.run,
                },
            },
            "spec": spec,
        })
    }
}

/// The state of a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PodState {
    /// It has not ended: what it waits for, where the kubelet says it.
    Running {
        /// The reason.
        waits_for: Option<String>,
    },
    /// Its container has ended; the log has the rest.
    Ended,
    /// It does not come to an answer.
    Failed {
        /// Why, in the kubelet's words.
        why: String,
    },
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Pod {
    kind: String,
    status: Status,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Status {
    phase: String,
    reason: String,
    message: String,
    container_statuses: Vec<ContainerStatus>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ContainerStatus {
    state: State,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct State {
    waiting: Option<Reason>,
    terminated: Option<Reason>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Reason {
    reason: String,
    message: String,
    exit_code: i64,
}

/// Returns the UID of a Pod object if it belongs to a run; `None`: it is another one's.
pub fn uid_of_run(object: &[u8], run: &str) -> Option<String> {
    let pod: Value = serde_json::from_slice(object).ok()?;
    let metadata = pod.get("metadata")?;
    let is_own = metadata.get("labels")?.get(RUN_LABEL)?.as_str()? == run;
    is_own.then(|| metadata.get("uid")?.as_str().map(str::to_owned)).flatten()
}

impl PodState {
    /// Reads a Pod object.
    ///
    /// # Errors
    ///
    /// Fails for what is no Pod.
    pub fn of(object: &[u8]) -> Result<Self, String> {
        let pod: Pod = serde_json::from_slice(object).map_err(|error| error.to_string())?;
        if pod.kind != "Pod" {
            return Err(format!("kind {:?}, expected Pod", pod.kind));
        }
        let status = pod.status;
        let state = status.container_statuses.into_iter().next().unwrap_or_default().state;
        let both = |reason: &str, message: &str| match (reason, message) {
            ("", message) => message.to_owned(),
            (reason, "") => reason.to_owned(),
            (reason, message) => format!("{reason}: {message}"),
        };
        Ok(match (status.phase.as_str(), state) {
            ("Succeeded", _) => Self::Ended,
            ("Failed", State { terminated: Some(ended), .. }) if status.reason.is_empty() => {
                let why = both(&ended.reason, &ended.message);
                Self::Failed { why: format!("its container ended with {}: {why}", ended.exit_code) }
            }
            ("Failed", _) => Self::Failed { why: both(&status.reason, &status.message) },
            (_, State { waiting: Some(waiting), .. }) => {
                let why = both(&waiting.reason, &waiting.message);
                match STUCK.contains(&waiting.reason.as_str()) {
                    true => Self::Failed { why },
                    false => Self::Running { waits_for: Some(why).filter(|why| !why.is_empty()) },
                }
            }
            _ => Self::Running { waits_for: None },
        })
    }
}
