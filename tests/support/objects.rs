//! Pods and nodes for tests. What a test does not set is what most of them have: a pod has one container `c` and
//! priority 0, and runs; a node has 2 CPUs, 4Gi of memory and room for 10 pods.

#![allow(dead_code, reason = "each crate uses a part of it")]

use kq_k8s::manifest::{LoadedPod, load};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::ops::{Deref, DerefMut};

/// The conditions of a node that is ready.
pub const READY: &str = "MemoryPressure=False,DiskPressure=False,PIDPressure=False,Ready=True";

/// An object that is being described; it can be read and changed as JSON, too.
#[derive(Clone, Debug, Serialize)]
#[serde(transparent)]
pub struct Object(Value);

/// Describes a pod, given as NAME or NAMESPACE/NAME; NAME is its UID, too.
pub fn pod(name: &str) -> Object {
    let (namespace, name) = name.split_once('/').unwrap_or(("", name));
    let pod = Object(json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "uid": name},
        "spec": {"priority": 0, "containers": [{"name": "c", "image": "i"}]},
        "status": {"phase": "Running"},
    }));
    if namespace.is_empty() { pod } else { pod.set("/metadata/namespace", namespace) }
}

/// Describes a node.
pub fn node(name: &str) -> Object {
    Object(json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "status": {}}))
        .amounts("cpu=2,memory=4Gi,pods=10")
}

/// Returns a list of objects.
pub fn list(items: impl IntoIterator<Item = Object>) -> Object {
    let items: Vec<Object> = items.into_iter().collect();
    Object(json!({"apiVersion": "v1", "kind": "List", "items": items}))
}

/// Reads pods as kq reads a file with their list.
pub fn loaded(pods: impl IntoIterator<Item = Object>) -> Vec<LoadedPod> {
    let loaded = load("pods.json", list(pods).to_string().as_bytes());
    assert_eq!(loaded.problems, []);
    loaded.pods
}

/// Reads amounts of resources, such as `cpu=1,memory=1Gi`.
fn amounts_of(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let one = |text| str::split_once(text, '=').expect("NAME=AMOUNT");
    text.split(',').filter(|text| !text.is_empty()).map(one)
}

impl Object {
    /// Sets a field, given as a JSON pointer; objects above it are made.
    pub fn set(mut self, pointer: &str, value: impl Into<Value>) -> Self {
        let mut at = &mut self.0;
        for part in pointer.split('/').skip(1) {
            let part = part.replace("~1", "/").replace("~0", "~");
            at = match part.parse::<usize>() {
                Ok(index) => &mut at[index],
                Err(_) => &mut at[part.as_str()],
            };
        }
        *at = value.into();
        self
    }

    pub fn uid(self, uid: &str) -> Self {
        self.set("/metadata/uid", uid)
    }

    pub fn created(self, time: impl Into<Value>) -> Self {
        self.set("/metadata/creationTimestamp", time)
    }

    /// Sets the time since which it is being deleted.
    pub fn deleted(self, time: impl Into<Value>) -> Self {
        self.set("/metadata/deletionTimestamp", time)
    }

    /// Sets an annotation of the kubelet: `source`, `mirror`, ...
    pub fn config(mut self, name: &str, value: &str) -> Self {
        self["metadata"]["annotations"][format!("kubernetes.io/config.{name}")] = value.into();
        self
    }

    /// Reads it as kq does.
    pub fn read<T: DeserializeOwned>(self) -> T {
        serde_json::from_value(self.0).expect("an object")
    }
}

/// Fields of pods.
impl Object {
    /// Binds it to a node.
    pub fn on(self, node: &str) -> Self {
        self.set("/spec/nodeName", node)
    }

    pub fn priority(self, priority: impl Into<Value>) -> Self {
        self.set("/spec/priority", priority)
    }

    /// Gives it containers, given as JSON, in place of its own one.
    pub fn containers(self, containers: Value) -> Self {
        self.set("/spec/containers", containers)
    }

    /// Gives it init containers, given as JSON.
    pub fn init_containers(self, containers: Value) -> Self {
        self.set("/spec/initContainers", containers)
    }

    /// Sets the requests of its first container, such as `cpu=1,memory=1Gi`.
    pub fn requests(self, amounts: &str) -> Self {
        let list: Value = amounts_of(amounts).collect();
        self.set("/spec/containers/0/resources/requests", list)
    }

    /// Sets the limits of its first container.
    pub fn limits(self, amounts: &str) -> Self {
        let list: Value = amounts_of(amounts).collect();
        self.set("/spec/containers/0/resources/limits", list)
    }

    /// Gives it init containers `i0`, ... and containers `c0`, ... with limits of a resource.
    pub fn limits_of(self, resource: &str, init: &[i64], app: &[i64]) -> Self {
        let containers = |kind: &str, limits: &[i64]| -> Value {
            let one = |(at, limit): (usize, &i64)| {
                let limits = json!({resource: limit.to_string()});
                json!({"name": format!("{kind}{at}"), "image": "i", "resources": {"limits": limits}})
            };
            limits.iter().enumerate().map(one).collect()
        };
        self.init_containers(containers("i", init)).containers(containers("c", app))
    }

    pub fn phase(self, phase: &str) -> Self {
        self.set("/status/phase", phase)
    }

    pub fn started(self, time: &str) -> Self {
        self.set("/status/startTime", time)
    }

    /// Sets the statuses of its containers, given as JSON.
    pub fn statuses(self, statuses: Value) -> Self {
        self.set("/status/containerStatuses", statuses)
    }
}

/// Fields of nodes.
impl Object {
    /// Sets amounts that it has and that are for pods, such as `cpu=2`; the others stay.
    pub fn amounts(self, amounts: &str) -> Self {
        self.capacity(amounts).allocatable(amounts)
    }

    /// Sets amounts that it has.
    pub fn capacity(mut self, amounts: &str) -> Self {
        amounts_of(amounts).for_each(|(name, it)| self["status"]["capacity"][name] = it.into());
        self
    }

    /// Sets amounts that are for pods.
    pub fn allocatable(mut self, amounts: &str) -> Self {
        amounts_of(amounts).for_each(|(name, it)| self["status"]["allocatable"][name] = it.into());
        self
    }

    /// Sets the version of its kubelet.
    pub fn version(self, version: &str) -> Self {
        self.set("/status/nodeInfo/kubeletVersion", version)
    }

    /// Sets its conditions, such as `Ready=True,DiskPressure=False`.
    pub fn conditions(self, conditions: &str) -> Self {
        let one = |(kind, status): (&str, &str)| json!({"type": kind, "status": status});
        let conditions: Value = amounts_of(conditions).map(one).collect();
        self.set("/status/conditions", conditions)
    }
}

impl Deref for Object {
    type Target = Value;

    fn deref(&self) -> &Value {
        &self.0
    }
}

impl DerefMut for Object {
    fn deref_mut(&mut self) -> &mut Value {
        &mut self.0
    }
}

impl From<Value> for Object {
    fn from(object: Value) -> Self {
        Self(object)
    }
}

impl From<Object> for Value {
    fn from(object: Object) -> Self {
        object.0
    }
}
