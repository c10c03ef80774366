//! The owners of cgroups, containers and sandboxes: names for IDs, from every source.

use crate::runtime::{Container, ContainerState, RuntimeFacts};
use kq_k8s::pod::{ContainerStatus, Pod};
use serde::Serialize;
use std::collections::BTreeMap;

/// The names of the pods and containers of a node by their ids.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Workloads {
    pods: BTreeMap<String, PodName>,
    containers: BTreeMap<String, ContainerName>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PodName {
    pub namespace: String,
    pub name: String,
    /// Its specification is known, not only that the runtime has a sandbox of it.
    pub known: bool,
    /// A sandbox of it is ready, or no source answered.
    pub alive: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ContainerName {
    pub pod_uid: String,
    /// The name; `None`: the sandbox itself.
    pub name: Option<String>,
    pub state: ContainerState,
}

/// Returns the UID under which the kubelet runs a pod: of a mirror pod, that of the static pod.
pub fn effective_uid(pod: &Pod) -> &str {
    pod.metadata.annotations.config_mirror.as_deref().unwrap_or(&pod.metadata.uid)
}

/// Returns the identity of a pod: the UID under which the kubelet runs it, else NAMESPACE/NAME.
pub fn pod_id(pod: &Pod) -> String {
    match effective_uid(pod) {
        "" => pod.metadata.qualified_name(),
        uid => uid.to_owned(),
    }
}

impl Workloads {
    /// Collects the names from pods and from the runtime.
    pub fn of<'p>(pods: impl IntoIterator<Item = &'p Pod>, runtime: Option<&RuntimeFacts>) -> Self {
        let mut workloads = Self::default();
        for pod in pods {
            workloads.add_pod(pod);
        }
        if let Some(runtime) = runtime {
            workloads.add_runtime(runtime);
        }
        workloads
    }

    /// Returns the pod of a UID.
    pub fn pod(&self, uid: &str) -> Option<&PodName> {
        self.pods.get(uid)
    }

    /// Returns the container of an id.
    pub fn container(&self, id: &str) -> Option<&ContainerName> {
        self.containers.get(id)
    }

    /// Walks over the containers by ID.
    pub fn containers(&self) -> impl Iterator<Item = (&str, &ContainerName)> {
        self.containers.iter().map(|(id, container)| (id.as_str(), container))
    }

    /// Walks over the pods by UID.
    pub fn pods(&self) -> impl Iterator<Item = (&str, &PodName)> {
        self.pods.iter().map(|(uid, pod)| (uid.as_str(), pod))
    }

    fn add_pod(&mut self, pod: &Pod) {
        let uid = effective_uid(pod);
        if uid.is_empty() {
            return;
        }
        let metadata = &pod.metadata;
        let ended = pod.status.has_ended();
        let name = PodName {
            namespace: metadata.namespace.clone(),
            name: metadata.name.clone(),
            known: true,
            alive: !ended,
        };
        self.pods.insert(uid.to_owned(), name);
        for status in statuses(pod) {
            if let Some((_, id)) = status.container_id.split_once("://") {
                let container = ContainerName {
                    pod_uid: uid.to_owned(),
                    name: Some(status.name.clone()),
                    state: state_of(status),
                };
                self.containers.insert(id.to_owned(), container);
            }
        }
    }

    fn add_runtime(&mut self, runtime: &RuntimeFacts) {
        if runtime.sandboxes.found.is_some() {
            // The runtime's answer takes precedence over a list.
            self.pods.values_mut().for_each(|pod| pod.alive = false);
        }
        for sandbox in runtime.sandboxes.value().into_iter().flatten() {
            let pod = self.pods.entry(sandbox.uid.clone()).or_insert_with(|| PodName {
                namespace: sandbox.namespace.clone(),
                name: sandbox.name.clone(),
                known: false,
                alive: false,
            });
            pod.alive |= sandbox.ready;
            let state =
                if sandbox.ready { ContainerState::Running } else { ContainerState::Exited };
            let container = ContainerName { pod_uid: sandbox.uid.clone(), name: None, state };
            self.containers.insert(sandbox.id.clone(), container);
        }
        for container in runtime.containers.value().into_iter().flatten() {
            let name = ContainerName {
                pod_uid: container.pod_uid.clone(),
                name: Some(container.name.clone()),
                state: container.state,
            };
            self.containers.insert(container.id.clone(), name);
        }
    }
}

/// Sets the UID of a pod without one to that of the pod of its name on the node.
pub fn adopt_uid(pod: &mut Pod, workloads: &Workloads) {
    if !effective_uid(pod).is_empty() {
        return;
    }
    let metadata = &pod.metadata;
    let same = workloads
        .pods()
        .filter(|(_, name)| name.namespace == metadata.namespace && name.name == metadata.name);
    if let Some((uid, _)) = same.max_by_key(|(_, name)| name.alive) {
        pod.metadata.uid = uid.to_owned();
    }
}

/// Puts into a pod's status the containers that the runtime has for it: the newest of each name, a
/// running one first. The runtime's data is newer than any list of pods.
pub fn add_container_ids(pod: &mut Pod, runtime: &RuntimeFacts) {
    let Some(containers) = runtime.containers.value() else { return };
    let scheme = match runtime.version.runtime_name.as_str() {
        "" => "containerd",
        name => name,
    };
    let uid = effective_uid(pod).to_owned();
    if uid.is_empty() {
        return;
    }
    let first = containers.partition_point(|container| container.pod_uid.as_str() < uid.as_str());
    let own = containers[first..].iter().take_while(|container| container.pod_uid == uid);
    let mut newest: BTreeMap<&str, &Container> = BTreeMap::new();
    let rank = |container: &Container| {
        (container.state == ContainerState::Running, container.attempt, container.created_at)
    };
    for container in own {
        let best = newest.entry(&container.name).or_insert(container);
        if rank(container) > rank(best) {
            *best = container;
        }
    }
    let spec = &pod.spec;
    let kinds = [
        (&spec.containers, &mut pod.status.container_statuses),
        (&spec.init_containers, &mut pod.status.init_container_statuses),
        (&spec.ephemeral_containers, &mut pod.status.ephemeral_container_statuses),
    ];
    for (declared, statuses) in kinds {
        let mut places: BTreeMap<String, usize> = BTreeMap::new();
        for (at, status) in statuses.iter().enumerate() {
            places.entry(status.name.clone()).or_insert(at);
        }
        for container in declared {
            let Some(found) = newest.get(container.name.as_str()) else { continue };
            let id = format!("{scheme}://{}", found.id);
            let place = places.get(&container.name).and_then(|at| statuses.get_mut(*at));
            match place {
                Some(status) => status.container_id = id,
                None => {
                    places.insert(container.name.clone(), statuses.len());
                    statuses.push(ContainerStatus {
                        name: container.name.clone(),
                        container_id: id,
                        ..ContainerStatus::default()
                    });
                }
            }
        }
    }
}

/// Walks over the statuses of all containers of a pod.
fn statuses(pod: &Pod) -> impl Iterator<Item = &ContainerStatus> {
    let status = &pod.status;
    status.every_container()
}

fn state_of(status: &ContainerStatus) -> ContainerState {
    match (status.state.running.is_some(), status.state.terminated.is_some()) {
        (true, _) => ContainerState::Running,
        (false, true) => ContainerState::Exited,
        (false, false) => ContainerState::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lookup::Lookup;
    use crate::objects;
    use crate::runtime::{RuntimeVersion, Sandbox};
    use serde_json::json;

    fn web() -> Pod {
        let status =
            json!({"name": "c", "containerID": "containerd://old", "state": {"running": {}}});
        let pod = objects::pod("shop/web").uid("u1");
        pod.containers(json!([{"name": "c"}, {"name": "d"}])).statuses(json!([status])).read()
    }

    fn container(id: &str, name: &str, attempt: u32, state: ContainerState) -> Container {
        Container {
            id: id.to_owned(),
            name: name.to_owned(),
            pod_uid: "u1".to_owned(),
            attempt,
            state,
            ..Container::default()
        }
    }

    fn runtime() -> RuntimeFacts {
        let sandbox = |uid: &str, id: &str, ready| Sandbox {
            id: id.to_owned(),
            uid: uid.to_owned(),
            name: format!("pod-{uid}"),
            namespace: "shop".to_owned(),
            ready,
            ..Sandbox::default()
        };
        let containers = vec![
            container("c-run", "c", 1, ContainerState::Running),
            container("c-exit", "c", 2, ContainerState::Exited),
            container("gone", "old", 0, ContainerState::Exited),
        ];
        RuntimeFacts {
            version: RuntimeVersion {
                runtime_name: "containerd".to_owned(),
                ..RuntimeVersion::default()
            },
            sandboxes: Lookup::found(
                "runtime",
                vec![sandbox("u1", "s1", true), sandbox("u2", "s2", false)].into(),
            ),
            containers: Lookup::found("runtime", containers.into()),
            ..RuntimeFacts::default()
        }
    }

    #[test]
    fn names_come_from_pods_and_runtime() {
        let workloads = Workloads::of([&web()], Some(&runtime()));
        let web = workloads.pod("u1").expect("known");
        assert_eq!((web.name.as_str(), web.known, web.alive), ("web", true, true));
        let other = workloads.pod("u2").expect("a sandbox");
        assert_eq!((other.name.as_str(), other.known, other.alive), ("pod-u2", false, false));
        assert_eq!(workloads.container("s1").expect("a sandbox").name, None);
        assert_eq!(workloads.container("old").expect("a status").name.as_deref(), Some("c"));
    }

    #[test]
    fn the_runtime_knows_the_newest_ids() {
        let mut pod = web();
        add_container_ids(&mut pod, &runtime());
        let ids: Vec<&str> = statuses(&pod).map(|status| status.container_id.as_str()).collect();
        assert_eq!(ids, ["containerd://c-run"], "the running one, not the newer that has ended");
        let mut stranger = Pod::default();
        add_container_ids(&mut stranger, &runtime());
        assert_eq!(stranger, Pod::default(), "a pod without UID has no containers");
    }
}
