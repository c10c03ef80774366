//! Pods and nodes for tests, as JSON. What a test does not set is what most pods have: one container `c`, priority 0,
//! running.

use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// A pod that is being described.
#[derive(Clone)]
pub struct Pod(Value);

/// Describes a pod, given as NAME or NAMESPACE/NAME; NAME is its UID, too.
pub fn pod(name: &str) -> Pod {
    let (namespace, name) = name.split_once('/').unwrap_or(("", name));
    let pod = Pod(json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "uid": name},
        "spec": {"priority": 0, "containers": [{"name": "c", "image": "i"}]},
        "status": {"phase": "Running"},
    }));
    if namespace.is_empty() { pod } else { pod.set("/metadata/namespace", namespace) }
}

/// Describes a pod whose init containers `i0`, ... and containers `c0`, ... have limits of a resource.
pub fn with_limits(name: &str, resource: &str, init: &[i64], app: &[i64]) -> Pod {
    let containers = |kind: &str, limits: &[i64]| -> Vec<Value> {
        let one = |(at, limit): (usize, &i64)| {
            let limits = json!({resource: limit.to_string()});
            json!({"name": format!("{kind}{at}"), "image": "i", "resources": {"limits": limits}})
        };
        limits.iter().enumerate().map(one).collect()
    };
    let pod = pod(name).set("/spec/initContainers", containers("i", init));
    pod.set("/spec/containers", containers("c", app))
}

/// Returns a node with these CPUs, 4Gi of memory and room for 10 pods.
pub fn node(name: &str, cpu: &str) -> Value {
    let list = json!({"cpu": cpu, "memory": "4Gi", "pods": "10"});
    json!({
        "apiVersion": "v1", "kind": "Node", "metadata": {"name": name},
        "status": {"capacity": list, "allocatable": list},
    })
}

/// Returns a list of objects.
pub fn list(items: impl IntoIterator<Item = Value>) -> Value {
    json!({"apiVersion": "v1", "kind": "List", "items": items.into_iter().collect::<Vec<_>>()})
}

impl Pod {
    /// Sets a field, given as a JSON pointer; objects above it are made.
    pub fn set(mut self, pointer: &str, value: impl Into<Value>) -> Self {
        let mut at = &mut self.0;
        for part in pointer.split('/').skip(1) {
            at = match part.parse::<usize>() {
                Ok(index) => &mut at[index],
                Err(_) => &mut at[part],
            };
        }
        *at = value.into();
        self
    }

    /// Binds it to a node.
    pub fn on(self, node: &str) -> Self {
        self.set("/spec/nodeName", node)
    }

    /// Gives it a priority.
    pub fn priority(self, priority: i32) -> Self {
        self.set("/spec/priority", priority)
    }

    /// Sets the requests of its container.
    pub fn requests(self, requests: Value) -> Self {
        self.set("/spec/containers/0/resources/requests", requests)
    }

    /// Returns it as JSON.
    pub fn json(self) -> Value {
        self.0
    }

    /// Reads it as kq does.
    pub fn read<T: DeserializeOwned>(self) -> T {
        serde_json::from_value(self.0).expect("a pod")
    }
}
