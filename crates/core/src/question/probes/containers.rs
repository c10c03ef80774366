//! The containers of probes in the runtime.

use super::pods::{NOT_QUERIED, ProbedPod, fill_in};
use anyhow::anyhow;
use kq_answer::Failure;
use kq_facts::node::Node;
use kq_facts::runtime::{Container as Running, ContainerState};
use kq_facts::workloads::effective_uid;
use kq_k8s::nearest::nearest;
use kq_k8s::pod::{Container, ContainerStatus, Pod, Probe, ProbeType};
use kq_probe::subject::display_name;
use kq_probe::worker::{PodFacts, State};

/// Replaces the probes of a container by one.
pub fn put(pod: &mut Pod, container: &str, kind: Option<ProbeType>, probe: Probe) {
    let spec = &mut pod.spec;
    let mut all = spec.containers_and_init_mut();
    let Some(container) = all.find(|it| it.name == container) else { return };
    (container.startup_probe, container.readiness_probe, container.liveness_probe) =
        (None, None, None);
    let place = match kind.unwrap_or(ProbeType::Liveness) {
        ProbeType::Startup => &mut container.startup_probe,
        ProbeType::Readiness => &mut container.readiness_probe,
        ProbeType::Liveness => &mut container.liveness_probe,
    };
    *place = Some(Box::new(probe));
}

/// Returns the pod of a container that the runtime knows by its ID, by the start of its ID, or by a unique name of a
/// running container.
pub fn pod_of_container(node: &Node, named: &str) -> Result<(ProbedPod, String), Failure> {
    let containers = node.containers()?;
    let exactly = |it: &&Running| it.id == named;
    let by_name = |it: &&Running| it.name == named && it.state == ContainerState::Running;
    let by_start = |it: &&Running| named.len() >= 4 && it.id.starts_with(named);
    let mut found: Vec<&Running> = containers.iter().filter(exactly).collect();
    if found.is_empty() {
        found = containers.iter().filter(by_name).collect();
    }
    if found.is_empty() {
        found = containers.iter().filter(by_start).collect();
    }
    let container = match &found[..] {
        [container] => *container,
        [] => {
            let error = anyhow!("no container {named} on this node");
            let running = containers.iter().filter(|it| it.state == ContainerState::Running);
            let near = nearest(named, running.map(|it| it.name.as_str()));
            let failure = Failure::not_found(error, None).meant(near);
            return Err(failure.hint(
                "crictl ps lists the containers; kq probe run POD -c NAME selects one of a pod",
            ));
        }
        several => {
            let ids: Vec<&str> = several.iter().map(|it| it.id.as_str()).collect();
            return Err(Failure::usage(anyhow!("{named} means {}", ids.join(", ")))
                .hint("use its ID, or kq probe run POD -c NAME --exec -- COMMAND"));
        }
    };
    let mut pod = Pod::default();
    pod.metadata.uid.clone_from(&container.pod_uid);
    if let Some(name) = node.workloads.pod(&container.pod_uid) {
        pod.metadata.name.clone_from(&name.name);
        pod.metadata.namespace.clone_from(&name.namespace);
    }
    pod.spec.containers.push(Container { name: container.name.clone(), ..Container::default() });
    // This container and no other one of its name.
    pod.status.container_statuses.push(ContainerStatus {
        name: container.name.clone(),
        container_id: format!("cri://{}", container.id),
        ..ContainerStatus::default()
    });
    fill_in(&mut pod);
    let probed = ProbedPod {
        pod,
        source: "the runtime".to_owned(),
        ip: Err(NOT_QUERIED.to_owned()),
        sandbox: None,
    };
    Ok((probed, container.name.clone()))
}

/// Returns the runtime's ID of a container.
pub fn container_id(node: &Node, pod: &Pod, name: &str) -> Result<String, String> {
    let status = &pod.status;
    let mut all = status.containers_and_init();
    let found = all.find(|it| it.name == name).and_then(|it| it.container_id.split_once("://"));
    match (found, node.snapshot.runtime.value()) {
        (Some((_, id)), Some(_)) if !id.is_empty() => Ok(id.to_owned()),
        (_, None) => Err("no container runtime answers (--runtime-endpoint names one)".to_owned()),
        (_, Some(_)) => {
            Err(format!("the runtime has no container {name} of pod {}", display_name(pod)))
        }
    }
}

/// Returns true if a container runs according to the runtime, else to its status; `None`: unknown.
pub fn running(node: &Node, pod: &Pod, name: &str) -> Option<bool> {
    let Some(containers) = node.snapshot.runtime.value().and_then(|it| it.containers.value())
    else {
        let facts = PodFacts::from(&pod.status);
        return Some(matches!(facts.container(name)?.state, State::Running { .. }));
    };
    let uid = effective_uid(pod);
    let mut own = containers.iter().filter(|it| it.pod_uid == uid && it.name == name);
    Some(own.any(|it| it.state == ContainerState::Running))
}
