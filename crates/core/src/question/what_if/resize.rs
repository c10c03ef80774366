//! Resizes of pods, as they are asked for: new resources in the specs of a node's pods.

use super::apply::{ALLOCATED, id, pod_of, pods};
use super::state::NodeState;
use crate::what_if::change::{Change, Resize};
use anyhow::anyhow;
use kq_answer::Failure;
use kq_facts::checkpoint::pod_allocation;
use kq_facts::host::Text;
use kq_k8s::pod::{Container, Pod, ResourceName, ResourceRequirements};
use kq_k8s::qos::computed_qos_class;
use kq_k8s::quantity::Quantity;
use std::collections::BTreeMap;

pub(super) fn resize(
    state: &mut NodeState,
    change: &Change,
    resize: &Resize,
) -> Result<(), Failure> {
    let uid = pod_of(state, change, &resize.pod)?;
    let gates = state.node()?.kubelet.rules.gates;
    let all = &mut pods(state, change)?.pods;
    let pod = all.iter_mut().map(|it| &mut it.pod).find(|pod| id(pod) == uid);
    let Some(pod) = pod else { return Ok(()) };
    let class = computed_qos_class(pod, gates);
    let resources = &mut container(pod, change, resize)?.resources;
    put(resources, &resize.amounts);
    for name in ["cpu", "memory"].map(ResourceName::from) {
        let (request, limit) = (resources.requests.get(&name), resources.limits.get(&name));
        if let Some((request, limit)) =
            request.zip(limit).filter(|(request, limit)| request.compare(limit).is_gt())
        {
            let failure = Failure::usage(anyhow!(
                "{change}: {name}: the request {request} is above the limit {limit}"
            ));
            return Err(failure.hint(format!("set the limit too: {name}-limit={request}")));
        }
    }
    let is_other_class = computed_qos_class(pod, gates) != class;
    if is_other_class {
        let failure =
            Failure::usage(anyhow!("{change}: the QoS class would not be {class} any more"));
        return Err(failure.hint(
            "the API server rejects this resize: Pod QOS Class may not change as a result of resizing",
        ));
    }
    Ok(())
}

/// Returns the container that a resize names: one of the pod's containers, or of its init containers.
fn container<'p>(
    pod: &'p mut Pod,
    change: &Change,
    resize: &Resize,
) -> Result<&'p mut Container, Failure> {
    let name = |it: &Container| it.name.clone();
    let regular: Vec<String> = pod.spec.containers.iter().map(name).collect();
    let all = pod.spec.containers.iter().chain(&pod.spec.init_containers);
    let names: Vec<String> = all.map(name).collect();
    let wanted = match (&resize.container, regular.as_slice()) {
        (Some(name), _) => name.clone(),
        (None, [only]) => only.clone(),
        (None, _) => {
            let failure =
                Failure::usage(anyhow!("{change}: the pod has {} containers", regular.len()));
            return Err(failure.hint(format!(
                "name one: resize {}:{} ...",
                resize.pod,
                regular.join(" or :")
            )));
        }
    };
    let mut all = pod.spec.containers.iter_mut().chain(&mut pod.spec.init_containers);
    all.find(|it| it.name == wanted).ok_or_else(|| {
        let failure = Failure::usage(anyhow!("{change}: the pod has no container {wanted}"));
        failure.hint(format!("its containers: {}", names.join(", ")))
    })
}

/// Puts new amounts over those of a container.
fn put(resources: &mut ResourceRequirements, amounts: &BTreeMap<String, Quantity>) {
    for (name, amount) in amounts {
        match name.strip_suffix("-limit") {
            Some(name) => resources.limits.insert(ResourceName::from(name), amount.clone()),
            None => {
                let resource = ResourceName::from(name.as_str());
                // A Guaranteed pod stays one.
                let is_equal = resources.limits.get(&resource).is_some()
                    && resources.requests.get(&resource) == resources.limits.get(&resource);
                if is_equal && !amounts.contains_key(&format!("{name}-limit")) {
                    resources.limits.insert(resource.clone(), amount.clone());
                }
                resources.requests.insert(resource, amount.clone())
            }
        };
    }
}

/// Allocates to a pod what its spec asks for: the status and the kubelet's file say nothing else any more.
pub(super) fn allocate(state: &mut NodeState, uid: &str) {
    let all = state.snapshot.pods.found.iter_mut().flat_map(|it| &mut it.value.pods);
    for pod in all.map(|it| &mut it.pod).filter(|pod| id(pod) == uid) {
        let status = &mut pod.status;
        (status.allocated_resources, status.resources) = (None, None);
        for it in status.container_statuses.iter_mut().chain(&mut status.init_container_statuses) {
            (it.allocated_resources, it.resources) = (None, None);
        }
    }
    let files = state.snapshot.state_files.iter_mut().flat_map(|it| &mut it.files);
    for (_, text) in files.filter(|(name, _)| *name == ALLOCATED) {
        if let Text::Read(text) = text
            && let Ok(mut pods) = pod_allocation::load(text.as_bytes()).shown
        {
            pods.remove(uid);
            *text = pod_allocation::encode(&pods).text;
        }
    }
}
