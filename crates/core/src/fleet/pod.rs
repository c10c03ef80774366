//! The pod that runs a question on a node, and its states; the pods of a run that may exist, which the guard
//! process of the run keeps in mind.

use super::own_pod::SECRET_ANNOTATION;
use kq_k8s::validation::is_pod_name;
use kq_output::terminal::brief;
use serde::{Deserialize, Serialize};
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

/// The capabilities of a pod: it reads files of other users, looks into processes, and starts the node's programs in the
/// node's root.
const CAPABILITIES: [&str; 3] = ["DAC_READ_SEARCH", "SYS_CHROOT", "SYS_PTRACE"];

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
    /// It has every privilege, and not only three capabilities.
    pub privileged: bool,
    /// The requests of its container, by resource; empty: none.
    pub requests: BTreeMap<String, String>,
    /// After so many seconds the kubelet ends the pod, whatever becomes of kq.
    pub deadline_seconds: u64,
    /// What distinguishes this run from others.
    pub run: String,
}

impl PodSettings {
    /// Returns the name of the pod of the node with this number. `unique` distinguishes it from what other clients can
    /// foresee: a name that is taken costs the node its answer.
    pub fn name(&self, number: usize, unique: &str) -> String {
        format!("kq-fleet-{}-{number}-{unique}", self.run)
    }

    /// Returns the privileges of the container. Security modules would keep one out of the files of the node, and a filter of
    /// system calls would keep it from changing its root.
    fn security_context(&self) -> Value {
        let mut context = json!({"readOnlyRootFilesystem": true, "runAsUser": 0});
        let more = match self.privileged {
            true => json!({"privileged": true}),
            false => json!({
                "allowPrivilegeEscalation": false,
                "appArmorProfile": {"type": "Unconfined"},
                "capabilities": {"drop": ["ALL"], "add": CAPABILITIES},
                "seLinuxOptions": {"type": "spc_t"},
                "seccompProfile": {"type": "Unconfined"},
            }),
        };
        if let (Value::Object(context), Value::Object(more)) = (&mut context, more) {
            context.extend(more);
        }
        context
    }

    /// Returns the pod that runs a command on a node. It is bound to the node by its name, so that no scheduler decides.
    /// `secret` is of this pod alone.
    pub fn pod(&self, name: &str, secret: &str, node: &str, command: &NodeCommand<'_>) -> Value {
        let mut host = json!({"name": "host", "mountPath": "/host"});
        if !command.writes_files {
            host["readOnly"] = json!(true);
            // The mounts below it too, where the runtime can.
            host["recursiveReadOnly"] = json!("IfPossible");
        }
        let start = [PROGRAM, "fleet", "answer", "--"].map(str::to_owned);
        let words: Vec<String> = start.into_iter().chain(command.words.iter().cloned()).collect();
        let mut container = json!({
            "name": "kq",
            "image": self.image,
            "command": words,
            "securityContext": self.security_context(),
            "volumeMounts": [host],
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
                "name": name,
                "namespace": self.namespace,
                "annotations": {SECRET_ANNOTATION: secret},
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

/// A command of kq that runs on a node.
#[derive(Clone, Copy, Debug)]
pub struct NodeCommand<'a> {
    /// Its words, without `kq`.
    pub words: &'a [String],
    /// It writes files of the node.
    pub writes_files: bool,
}

impl<'a> NodeCommand<'a> {
    /// Returns a command that only reads files.
    pub fn reading(words: &'a [String]) -> Self {
        Self { words, writes_files: false }
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

impl PodState {
    /// Reads a Pod object.
    /// Fails for what is no Pod.
    pub fn of(object: &[u8]) -> Result<Self, String> {
        let pod: Pod = serde_json::from_slice(object).map_err(|error| error.to_string())?;
        if pod.kind != "Pod" {
            return Err(format!("kind {:?}, expected Pod", pod.kind));
        }
        let status = pod.status;
        let state = status.container_statuses.into_iter().next().unwrap_or_default().state;
        let both = |reason: &str, message: &str| match (brief(reason), brief(message)) {
            (reason, message) if reason.is_empty() => message.into_owned(),
            (reason, message) if message.is_empty() => reason.into_owned(),
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

/// A step of a pod's life, as the run reports it to its guard process, one in a line of JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "step", rename_all = "camelCase")]
pub enum PodStep {
    /// It is about to be created, with this secret.
    Planned { name: String, secret: String },
    /// The API server created it.
    Created { name: String, uid: String },
    /// It does not exist, or the run has named it as one that may be left behind.
    Closed { name: String },
}

/// The pods that may exist, by their names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OpenPods(BTreeMap<String, OpenPod>);

/// A pod that may exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenPod {
    /// The secret that it was sent with.
    pub secret: String,
    /// `None`: not known.
    pub uid: Option<String>,
}

impl PodStep {
    /// Returns the line.
    pub fn to_line(&self) -> String {
        let json = serde_json::to_string(self).unwrap_or_default();
        format!("{json}\n")
    }
}

impl OpenPods {
    /// Records a line. The rest of a line that was cut, and a name that no pod can have, change nothing.
    pub fn record(&mut self, line: &[u8]) {
        match serde_json::from_slice(line) {
            Ok(PodStep::Planned { name, .. }) if !is_pod_name(&name) => {}
            Ok(PodStep::Planned { name, secret }) => {
                self.0.insert(name, OpenPod { secret, uid: None });
            }
            Ok(PodStep::Created { name, uid }) => {
                if let Some(known) = self.0.get_mut(&name) {
                    known.uid = Some(uid);
                }
            }
            Ok(PodStep::Closed { name }) => drop(self.0.remove(&name)),
            Err(_) => {}
        }
    }

    /// Returns the pods with their names.
    pub fn into_pods(self) -> Vec<(String, OpenPod)> {
        self.0.into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pod_is_open_from_its_plan_until_it_is_closed() {
        let name = |name: &str| name.to_owned();
        let mut open = OpenPods::default();
        let planned = |of: &str| PodStep::Planned { name: name(of), secret: format!("s-{of}") };
        for step in [
            planned("../a"),
            planned("a"),
            planned("b"),
            PodStep::Created { name: name("b"), uid: "u\n1".to_owned() },
            planned("c"),
            PodStep::Closed { name: name("c") },
        ] {
            let line = step.to_line();
            assert_eq!(line.matches('\n').count(), 1, "{line}");
            open.record(line.trim_end().as_bytes());
        }
        let cut = PodStep::Closed { name: name("a") }.to_line();
        open.record(&cut.as_bytes()[..20]);
        open.record(b"");
        let pod = |secret: &str, uid: Option<&str>| OpenPod {
            secret: secret.to_owned(),
            uid: uid.map(str::to_owned),
        };
        let expected = [(name("a"), pod("s-a", None)), (name("b"), pod("s-b", Some("u\n1")))];
        assert_eq!(open.into_pods(), expected);
    }
}
