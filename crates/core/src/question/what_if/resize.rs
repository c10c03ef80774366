//! Resizes of pods: applied to the facts of a node, and reverted where the kubelet does not actuate them.

use super::apply::{ALLOCATED, id, pod_of, pods};
use super::pods::admission_node;
use super::state::NodeState;
use crate::question::admission::{AdmissionNode, Detail, plan, sort};
use crate::what_if::change::{Change, Resize};
use anyhow::anyhow;
use kq_admission::qualified;
use kq_answer::Failure;
use kq_facts::checkpoint::pod_allocation;
use kq_facts::host::Text;
use kq_k8s::pod::{Container, Pod, ResourceName};
use kq_k8s::priority::is_static_pod;
use kq_k8s::qos::{QosClass, computed_qos_class, effective_qos_class};
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
    let names: Vec<String> = pod.spec.containers.iter().map(|it| it.name.clone()).collect();
    let wanted = match (&resize.container, names.as_slice()) {
        (Some(name), _) => name.clone(),
        (None, [only]) => only.clone(),
        (None, _) => {
            let failure =
                Failure::usage(anyhow!("{change}: the pod has {} containers", names.len()));
            return Err(failure.hint(format!(
                "name one: resize {}:{} ...",
                resize.pod,
                names.join(" or :")
            )));
        }
    };
    let Some(container) = pod.spec.containers.iter_mut().find(|it| it.name == wanted) else {
        let failure = Failure::usage(anyhow!("{change}: the pod has no container {wanted}"));
        return Err(failure.hint(format!("its containers: {}", names.join(", "))));
    };
    let resources = &mut container.resources;
    for (name, amount) in &resize.amounts {
        match name.strip_suffix("-limit") {
            Some(name) => resources.limits.insert(ResourceName::from(name), amount.clone()),
            None => {
                let resource = ResourceName::from(name.as_str());
                // A Guaranteed pod stays one.
                let is_equal = resources.limits.get(&resource).is_some()
                    && resources.requests.get(&resource) == resources.limits.get(&resource);
                if is_equal && !resize.amounts.contains_key(&format!("{name}-limit")) {
                    resources.limits.insert(resource.clone(), amount.clone());
                }
                resources.requests.insert(resource, amount.clone());
            }
        }
    }
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
        return Err(failure.hint("the API server rejects this resize"));
    }
    let status = &mut pod.status;
    (status.allocated_resources, status.resources) = (None, None);
    for it in status.container_statuses.iter_mut().chain(&mut status.init_container_statuses) {
        (it.allocated_resources, it.resources) = (None, None);
    }
    forget_allocation(state, &uid);
    Ok(())
}

/// Removes a pod from the kubelet's allocations, so that its spec counts.
fn forget_allocation(state: &mut NodeState, uid: &str) {
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

/// Finds the resizes that the kubelet does not actuate, and reverts them.
///
/// # Errors
///
/// Fails where the pods or the Node object are unknown.
pub fn waiting_resizes(
    before: &NodeState,
    after: &mut NodeState,
) -> Result<BTreeMap<String, (String, String)>, Failure> {
    let mut waiting = BTreeMap::new();
    let loaded = |state: &NodeState| -> Vec<Pod> {
        let pods = state.snapshot.pods.value().into_iter().flat_map(|it| &it.pods);
        pods.map(|loaded| loaded.pod.clone()).collect()
    };
    let old = loaded(before);
    let about = admission_node(&after.node()?);
    for pod in loaded(after) {
        let is_same = |it: &&Pod| qualified(it) == qualified(&pod);
        let Some(was) = old.iter().find(is_same).filter(|was| was.spec != pod.spec) else {
            continue;
        };
        let known = about.node.allocated_pods().into_iter().find(is_same);
        if let Some(reason) = known.map(|pod| infeasible(&about, was, pod)).transpose()?.flatten() {
            waiting.insert(qualified(&pod), reason);
            let pods = after.snapshot.pods.found.iter_mut().flat_map(|it| &mut it.value.pods);
            for loaded in pods.filter(|loaded| qualified(&loaded.pod) == qualified(&pod)) {
                loaded.pod = was.clone();
            }
        }
    }
    Ok(waiting)
}

/// Returns why a resize of a pod is not actuated (`podResizesAdmitHandler`, `pkg/kubelet/allocation/handlers.go`, and
/// `setPodResizePendingCondition`, read in 1.36.2). Before 1.36 a request above what is allocatable is infeasible.
fn infeasible(
    about: &AdmissionNode,
    was: &Pod,
    pod: &Pod,
) -> Result<Option<(String, String)>, Failure> {
    let kubelet = &about.node.kubelet;
    let never = |message: String| Ok(Some(("Infeasible".to_owned(), message)));
    if !kubelet.version.resizes_static_pods() && is_static_pod(pod) {
        return never("In-place resize of static-pods is not supported".to_owned());
    }
    let is_guaranteed = effective_qos_class(pod, kubelet.rules.gates) == QosClass::Guaranteed;
    let config = about.node.config();
    let managed = [
        ("CPU", ResourceName::Cpu, config.cpu_manager_policy.as_str(), "static"),
        ("Memory", ResourceName::Memory, config.memory_manager_policy.as_str(), "Static"),
    ];
    for (manager, resource, policy, fixed) in managed {
        if is_guaranteed && policy == fixed && changes(was, pod, &resource) {
            return never(format!(
                "Resize is infeasible for Guaranteed Pods alongside {manager} Manager policy \"{policy}\""
            ));
        }
    }
    let others = |others: &mut [_]| sort(others, &[]);
    let planned = plan(about, pod, others, Detail::BRIEF)?;
    let Some(refusal) = planned.admission.refusals.first() else { return Ok(None) };
    let is_too_large = planned.admission.resources.iter().any(|it| it.requested > it.allocatable);
    let reason = match is_too_large && kubelet.version.refuses_too_large_resizes() {
        true => "Infeasible",
        false => "Deferred",
    };
    Ok(Some((reason.to_owned(), refusal.message.trim_end().to_owned())))
}

/// Returns true if a container's request of a resource is another one (`guaranteedPodResourceResizeRequired`).
fn changes(was: &Pod, pod: &Pod, resource: &ResourceName) -> bool {
    let of = |pod: &Pod| -> BTreeMap<String, Option<Quantity>> {
        let containers = pod.spec.containers.iter().chain(&pod.spec.init_containers);
        let request = |it: &Container| it.resources.requests.get(resource).cloned();
        containers.map(|it| (it.name.clone(), request(it))).collect()
    };
    of(was) != of(pod)
}
